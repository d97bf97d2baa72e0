/* SPDX-License-Identifier: BSD-2-Clause */
/* packets: the trace as it is in the buffers. */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

/*
 * Length of a payload without the full value at its end, "tsc 0000000000001234" behind "1234",
 * where that is what was sent.
 */
static size_t once(const char *text)
{
	const char *sent = text[0] && text[1] == ':' ? text + 3 : text;
	const char *last = strrchr(text, ' '), *word = last;
	unsigned long long full, v;
	char *end;

	if (!last || strlen(last + 1) != 16)
		return strlen(text);
	full = strtoull(last + 1, &end, 16);
	if (*end)
		return strlen(text);
	while (word > text && word[-1] != ' ')
		word--;
	v = strtoull(sent, &end, 16);
	if (v != full || end == sent || (*end != ' ' && *end != ','))
		return strlen(text);
	return word > text ? (size_t)(word - 1 - text) : strlen(text);
}

static void text(struct run *r, const struct hwt_packet *p)
{
	struct out *o = r->out;
	char payload[sizeof(p->text)];

	snprintf(payload, sizeof(payload), "%.*s", (int)(p->proto == HWT_PROTO_PT ?
		 once(p->text) : sizeof(p->text) - 1), p->text);
	out_hex(o, p->off, 8);
	if (p->trace_id) {
		out_str(o, " id 0x");
		out_hex(o, p->trace_id, 2);
	}
	out_tab(o, 18);
	if (p->bad) {
		out_style(o, OUT_RED);
		out_str(o, "BAD ");
	} else if (p->unused) {
		out_style(o, OUT_DIM);
		out_str(o, "? ");
	} else if (p->hole) {
		out_style(o, OUT_RED);
	}
	out_safe(o, p->name);
	if (*payload) {
		out_tab(o, 36);
		out_safe(o, payload);
	}
	if (p->hole)
		out_fmt(o, " (a hole: %s [E%03u])", hwt_gap_name(p->hole),
			hwt_gap_error(p->hole));
	if (p->bad || p->unused || p->hole)
		out_style(o, OUT_PLAIN);
	if (p->bad || r->opts.verbose) {
		out_tab(o, 72);
		out_bytes(o, p->raw, p->raw_size);
		if (p->size > p->raw_size)
			out_str(o, "..");
	}
	out_nl(o);
}

static void json(struct run *r, size_t buf, const struct hwt_packet *p)
{
	struct jsonl *j = &r->json;

	jsonl_open(j, "packet");
	jsonl_u64(j, "src", buf);
	jsonl_u64(j, "off", p->off);
	jsonl_str(j, "pkt", p->name);
	jsonl_str(j, "payload", p->text);
	jsonl_u64(j, "size", p->size);
	jsonl_key(j, "bytes");
	out_ch(r->out, '"');
	out_bytes(r->out, p->raw, p->raw_size);
	out_ch(r->out, '"');
	if (p->trace_id)
		jsonl_u64(j, "trace_id", p->trace_id);
	if (p->bad)
		jsonl_bool(j, "bad", true);
	if (p->unused)
		jsonl_bool(j, "unused", true);
	if (p->hole)
		jsonl_str(j, "hole", hwt_gap_name(p->hole));
	jsonl_close(j);
}

/* Adds the account of a buffer; @seen is what the packets themselves say, up to the last one. */
static void count(struct run *r, const struct hwt_packets *ps, struct hwt_flow_stats seen,
		  const struct hwt_buf_info *b, bool whole)
{
	struct hwt_flow_stats st;

	if (whole)
		seen.bytes_decoded = b->size;
	/* decoded is what is left of the bytes read */
	seen.bytes_decoded -= seen.bytes_skipped < seen.bytes_decoded ? seen.bytes_skipped :
		seen.bytes_decoded;
	seen.bytes_lost = b->lost;
	/* it may have read further than was listed */
	if (!whole || !hwt_packets_stats(ps, &st))
		st = seen;
	r->sum.bytes_decoded += st.bytes_decoded;
	r->sum.bytes_skipped += st.bytes_skipped;
	r->sum.bytes_lost += st.bytes_lost;
	r->sum.gaps += st.gaps;
}

/* False if the command should stop. */
static bool buffer(struct run *r, size_t i, const struct hwt_buf_info *b)
{
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	struct hwt_flow_stats seen = { 0 };
	struct hwt_packets *ps;
	struct hwt_packet p;
	int rc = hwt_session_packets(r->session, i, &ps, &diag);
	bool go = true, in_bad = false;

	r->decoded = true;
	r->sum.bytes_in += b->size;
	if (rc < 0) {
		out_flush(r->out);
		say_diag(&diag, rc, r->opts.args[0]);
		r->failed = EXIT_INPUT;
		r->sum.bytes_lost += b->lost;
		r->sum.bytes_skipped += b->size;
		r->sum.gaps++;
		return true;
	}
	if (r->opts.format == OPT_TEXT && hwt_session_bufs(r->session) > 1) {
		out_str(r->out, "== ");
		out_safe(r->out, b->name);
		out_nl(r->out);
	}
	for (unsigned k = 0; go && (rc = hwt_packets_next(ps, &p)) > 0; k++) {
		if (!run_line(r))
			break;
		if (p.bad) {
			seen.gaps += !in_bad;
			seen.bytes_skipped += p.size;
		}
		seen.gaps += p.hole != HWT_GAP_NONE;
		in_bad = p.bad;
		seen.bytes_decoded = p.off + p.size;
		if (r->opts.format == OPT_TEXT)
			text(r, &p);
		else
			json(r, i, &p);
		if (k % 256 == 0)
			go = run_tick(r, NULL, p.off);
	}
	if (rc < 0)
		run_error(r, rc, b->name);
	count(r, ps, seen, b, go && !r->stopped);
	hwt_packets_close(ps);
	r->before += b->size;
	r->pos = 0;
	return go && !r->stopped;
}

int cmd_packets(struct run *r)
{
	struct hwt_buf_info b;
	int rc = run_open(r);

	if (rc)
		return rc;
	if (!run_trace(r, true))
		return 0;
	for (size_t i = 0; i < hwt_session_bufs(r->session); i++)
		if (run_buf(r, i, &b) && !buffer(r, i, &b))
			break;
	return 0;
}
