/* SPDX-License-Identifier: BSD-2-Clause */
/* CoreSight packets for listing, in the library's words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ocsd_feed.h"
#include "ocsd_other.h"

#define PACKET_RING	128	/* a power of two */
#define PACKET_STEP	32	/* bytes given at a time, so that all their packets have room */

struct packets;

struct lister {			/* a source */
	struct csdec d;
	struct packets *ps;
};

struct packets {
	struct hwt_packets ps;
	struct feed feed;
	const struct trace_buf *buf;
	struct lister *listers;
	unsigned n;
	/* the same account of every byte as flow has; the holes themselves are not listed */
	struct emit emit;
	struct hwt_flow_stats stats;
	struct csdec_env env;
	struct csothers others;
	struct csdec *cur;
	const uint8_t *p;
	uint64_t left;
	bool done;
	unsigned head, tail;
	struct hwt_packet ring[PACKET_RING];
};

static struct hwt_packet *packet_add(struct packets *ps, uint64_t off, uint64_t size,
				     const uint8_t *p, uint64_t have, unsigned id)
{
	struct hwt_packet *k;

	if (ps->head - ps->tail == PACKET_RING)
		ps->tail++;	/* can not be: a step makes fewer */
	k = &ps->ring[ps->head++ % PACKET_RING];
	memset(k, 0, sizeof(*k));
	k->off = off;
	k->size = (uint32_t)size;
	k->trace_id = (uint8_t)id;
	k->raw_size = have < sizeof(k->raw) ? (uint8_t)have : sizeof(k->raw);
	memcpy(k->raw, p, k->raw_size);
	return k;
}

static void packet_bad(struct packets *ps, uint64_t off, uint64_t size, const uint8_t *p,
		       unsigned id, unsigned proto, const char *name, const char *why)
{
	struct hwt_packet *k = packet_add(ps, off, size, p, size, id);

	k->bad = 1;
	k->proto = (uint8_t)proto;
	snprintf(k->name, sizeof(k->name), "%s", name);
	snprintf(k->text, sizeof(k->text), "%s", why);
}

/* "NAME : meaning; fields" of the library into name and text. */
static void packet_words(struct hwt_packet *k, char *s)
{
	size_t n = strcspn(s, " :\t"), len;
	char *t = s + n;

	while (*t == ' ' || *t == ':' || *t == '\t')
		t++;
	for (len = strlen(t); len && (t[len - 1] == ' ' || t[len - 1] == '\n' ||
				      t[len - 1] == ';'); )
		t[--len] = 0;
	snprintf(k->text, sizeof(k->text), "%s", t);
	snprintf(k->name, sizeof(k->name), "%.*s", (int)(n < sizeof(k->name) ? n : 0), s);
}

/* A packet that was not in sync is shown without the bytes that are not there, see csdec_give(). */
static void cut_pad(const struct csdec *d, const struct cslib_packet *p, uint64_t off,
		    const uint8_t **bytes, uint64_t *size)
{
	if (d->s.cfg->proto != HWT_PROTO_STM || p->use != CSLIB_UNSYNC || off < d->s.base ||
	    off >= d->s.base + d->given)
		return;
	*bytes = d->pad + (off - d->s.base);
	if (*size > d->given - (off - d->s.base))
		*size = d->given - (off - d->s.base);
}

/* As csdec_account() counts them, if the decoder was not @hunting before. */
static uint8_t own_hole(const struct cslib_packet *p, bool hunting)
{
	if (hunting)
		return HWT_GAP_NONE;
	if (p->use == CSLIB_OVERFLOW)
		return HWT_GAP_OVERFLOW;
	if (p->use == CSLIB_DISCARD)
		return HWT_GAP_BREAK;
	return p->use == CSLIB_GOOD && p->unexpected ? HWT_GAP_BAD_PACKET : HWT_GAP_NONE;
}

static void list(void *ctx, const struct cslib_packet *p)
{
	struct lister *l = ctx;
	uint64_t off = src_off(&l->d.s, p->index), size = p->size;
	const uint8_t *bytes = p->bytes;
	uint64_t have;
	struct hwt_packet *k;
	bool hunting = l->d.s.hunting;
	char text[512];

	csdec_account(&l->d, p);
	cut_pad(&l->d, p, off, &bytes, &size);
	have = bytes == p->bytes ? p->have : size;
	k = packet_add(l->ps, off, size, bytes, size < have ? size : have, l->d.s.id);
	k->proto = l->d.s.cfg->proto;
	k->bad = p->use == CSLIB_UNSYNC || p->use == CSLIB_BAD || p->use == CSLIB_CUT;
	k->unused = !k->bad && l->d.s.hunting && p->use == CSLIB_GOOD;
	k->hole = own_hole(p, hunting);
	if (csdec_padding(&l->d, p)) {
		k->bad = false;
		snprintf(text, sizeof(text), "I_IGNORE : Ignore; before the first A-sync");
	} else {
		cslib_packet_text(l->d.lib, p, text, sizeof(text));
	}
	packet_words(k, text);
}

static void packets_data(struct packets *ps, const struct feed_piece *pc)
{
	struct csdec *d = pc->id < CSDEC_IDS ? ps->others.by_id[pc->id] : NULL;
	bool frames = ps->buf->framing != FRAMING_NONE;

	if (!frames)
		d = ps->n ? &ps->listers[0].d : NULL;
	if (d && d->lib) {
		ps->cur = d;
		ps->p = pc->p;
		ps->left = pc->n;
		d->s.base = pc->off;
		d->s.fed_any = true;
		return;
	}
	if (frames && (pc->id == TPIU_ID_NULL || pc->id == TPIU_ID_TRIGGER)) {
		ps->stats.bytes_decoded += pc->n;
		if (pc->id == TPIU_ID_TRIGGER)
			snprintf(packet_add(ps, pc->off, pc->n, pc->p, pc->n, pc->id)->name, 32,
				 "TRIGGER");
		return;
	}
	csothers_add(&ps->others, pc->id, pc->off, pc->n);
	if (d)
		packet_bad(ps, pc->off, pc->n, pc->p, pc->id, d->s.cfg->proto, "NO_DECODER",
			   "no decoder for this source");
	else
		packet_bad(ps, pc->off, pc->n, pc->p, pc->id < CSDEC_IDS ? pc->id : 0,
			   HWT_PROTO_NONE, "NO_SOURCE", pc->id < CSDEC_IDS ?
			   "trace id without a source" : "before the first trace id");
}

static void packets_span(struct packets *ps, const struct trace_span *sp)
{
	csothers_lost(&ps->others, sp);
	for (unsigned i = 0; i < ps->n; i++)
		src_span(&ps->listers[i].d.s, sp, ps->buf);
}

/* The end of a span or a barrier (@cause): partial packets are listed as such. */
static void packets_eot(struct packets *ps, uint64_t off, unsigned cause)
{
	int32_t code;

	for (unsigned i = 0; i < ps->n; i++) {
		struct csdec *d = &ps->listers[i].d;

		if (!d->lib || !d->s.fed_any)
			continue;
		cslib_eot(d->lib, &code);
		csdec_reset(d, HWT_GAP_TRUNCATED);
		if (cause == HWT_GAP_BREAK) {
			src_hole(&d->s, off, 0, HWT_GAP_BREAK, 0);
			src_hunt(&d->s, HWT_GAP_BREAK, 0);
		}
	}
	csothers_tell(&ps->others);
}

static void packets_feed(struct packets *ps)
{
	struct csdec *d = ps->cur;
	uint32_t n = ps->left < PACKET_STEP ? (uint32_t)ps->left : PACKET_STEP, used = 0;
	enum cslib_answer what;
	int32_t code;

	d->s.fed += n;
	what = csdec_give(d, ps->p, n, &used, &code);
	if (!used || used > n)
		used = n;
	d->s.fed -= n - used;
	if (what == CSLIB_FATAL) {
		packet_bad(ps, d->s.base, used, ps->p, d->s.id, d->s.cfg->proto, "REFUSED",
			   "the library refused the bytes up to here");
		csdec_fatal(d, code);
	}
	d->s.base += used;
	ps->p += used;
	ps->left -= used;
}

static int packets_next(struct hwt_packets *h, struct hwt_packet *pkt)
{
	struct packets *ps = (struct packets *)h;
	struct feed_piece pc;

	while (ps->head == ps->tail) {
		ps->emit.tail = ps->emit.head;	/* holes are counted only */
		if (ps->done)
			return 0;
		if (ps->left) {
			packets_feed(ps);
			continue;
		}
		feed_next(&ps->feed, &pc);
		switch (pc.what) {
		case FEED_SPAN:
			packets_span(ps, pc.span);
			break;
		case FEED_DATA:
			packets_data(ps, &pc);
			break;
		case FEED_SKIP:
			csothers_gap(&ps->others, pc.off, pc.n, 0, pc.cause, 0, 0);
			packet_bad(ps, pc.off, pc.n, pc.p, 0, HWT_PROTO_NONE, "NO_FRAME",
				   pc.cause == HWT_GAP_TRUNCATED ? "part of a frame" :
				   pc.cause == HWT_GAP_BAD_PACKET ?
				   "sync word, which memory has none of" :
				   "before the first frame sync");
			break;
		case FEED_BREAK:
			packets_eot(ps, pc.off, HWT_GAP_BREAK);
			break;
		case FEED_SPAN_END:
			ps->stats.bytes_decoded += pc.n;
			packets_eot(ps, pc.off, HWT_GAP_NONE);
			break;
		case FEED_END:
			csothers_lost(&ps->others, NULL);
			ps->done = true;
			break;
		default:
			break;
		}
	}
	*pkt = ps->ring[ps->tail++ % PACKET_RING];
	return 1;
}

static void packets_close(struct hwt_packets *h)
{
	struct packets *ps = (struct packets *)h;

	cslib_lock();
	for (unsigned i = 0; ps->listers && i < ps->n; i++)
		cslib_close(ps->listers[i].d.lib);
	cslib_unlock();
	free(ps->listers);
	emit_fini(&ps->emit);
	free(ps);
}

static int packets_open(struct packets *ps, const struct flow_args *a)
{
	static const struct cslib_calls calls = { .packet = list };
	const struct trace_cfg *cfgs[CSDEC_IDS];
	int rc = csdec_sort(a->buf, cfgs, &ps->n);

	if (rc < 0)
		return rc;
	ps->listers = calloc(ps->n ? ps->n : 1, sizeof(*ps->listers));
	if (!ps->listers)
		return -ENOMEM;
	ps->others.first_id = ps->n ? cfgs[0]->trace_id : 0;
	cslib_lock();
	for (unsigned i = 0; rc >= 0 && i < ps->n; i++) {
		struct lister *l = &ps->listers[i];

		l->ps = ps;
		l->d.env = &ps->env;
		src_init(&l->d.s, a, &ps->emit, cfgs[i]);
		src_start(&l->d.s);
		ps->others.by_id[cfgs[i]->trace_id] = &l->d;
		rc = cslib_open(&l->d.lib, cfgs[i], &calls, l, &l->d.refused);
	}
	cslib_unlock();
	return rc;
}

int packets_ocsd_new(struct hwt_packets **out, const struct flow_args *a, struct hwt_diag *diag)
{
	static const struct hwt_interest holes = { .level = HWT_LEVEL_HOLES,
		.time_hi = HWT_TIME_UNKNOWN };
	struct packets *ps = calloc(1, sizeof(*ps));
	struct flow_args args = *a;
	int rc;

	if (!ps)
		return csdec_refuse(diag, a->buf, -ENOMEM);
	ps->ps.next = packets_next;
	ps->ps.close = packets_close;
	ps->buf = a->buf;
	args.want = &holes;
	ps->ps.stats = &ps->stats;
	ps->env = (struct csdec_env){ .emit = &ps->emit, .stats = &ps->stats };
	ps->others = (struct csothers){ .emit = &ps->emit, .buf = a->buf, .src = a->src };
	for (size_t i = 0; i < a->buf->nspans; i++)
		ps->stats.bytes_in += a->buf->spans[i].size;
	feed_init(&ps->feed, a->buf);
	rc = emit_init(&ps->emit, &args, &ps->stats, a->buf->framing == FRAMING_NONE ? 1 :
		       CSDEC_IDS);
	if (rc >= 0)
		rc = packets_open(ps, &args);
	if (rc < 0) {
		packets_close(&ps->ps);
		return csdec_refuse(diag, a->buf, rc);
	}
	*out = &ps->ps;
	return 0;
}
