/* SPDX-License-Identifier: BSD-2-Clause */
#include "stamps.h"

#include <errno.h>
#include <stdlib.h>

#include "../pt/packet.h"
#include "ocsd_feed.h"
#include "ocsd_lib.h"

#define CHUNK 4096u		/* bytes given to the library at once */

struct reader {
	int (*use)(void *arg, const struct stamp *s);
	void *arg;
	int rc;
	struct stamp now;	/* @off: start of what is fed, @cfg and @span of it */
	size_t first;		/* span that the library's numbers begin with */
	uint64_t fed;		/* index of what is fed, modulo 2^32 for the library */
};

/* ETMv4: TRCIDR0.TSSIZE, 0b00110 48 and 0b01000 64; PTM, ETMv3: ETMCCER bit 29 is 64 (IHI 0014). */
unsigned stamps_bits(const struct trace_cfg *cfg)
{
	switch (cfg->proto) {
	case HWT_PROTO_PT: return 56;
	case HWT_PROTO_ETM4: case HWT_PROTO_ETE:
		return (cfg->r.etm4.idr0 >> 24 & 0x1f) == 6 ? 48 : 64;
	case HWT_PROTO_PTM: case HWT_PROTO_ETM3:
		return cfg->r.etm3.ccer >> 29 & 1 ? 64 : 48;
	}
	return 64;
}

static void take(struct reader *r, uint64_t off, uint64_t ticks)
{
	struct stamp s = r->now;

	if (r->rc)
		return;
	s.span += r->first;
	s.off = off;
	s.ticks = ticks;
	r->rc = r->use(r->arg, &s);
}

/* TSC packets; behind damage from the next PSB on. */
static void read_pt(struct reader *r, const struct trace_span *s)
{
	uint64_t at = ipt_sync_forward(s->p, s->size), told = 0;
	struct ipt_packet pkt;
	struct ipt_ctx ctx = { 0 };

	while (at < s->size && !r->rc) {
		unsigned size = ipt_packet_sizes[s->p[at]];
		int n;

		if (size && size <= s->size - at && !ctx.bbp) {
			at += size;
			continue;
		}
		n = ipt_packet_decode(&pkt, &ctx, s->p + at, s->size - at);
		if (n < 0) {
			ctx = (struct ipt_ctx){ 0 };
			at++;
			at += ipt_sync_forward(s->p + at, s->size - at);
			continue;
		}
		if (pkt.kind == IPT_TSC)
			take(r, s->pos + at, pkt.payload);
		at += (unsigned)n;
		span_done_before(s, at, &told);
	}
}

static void on_packet(void *ctx, const struct cslib_packet *p)
{
	struct reader *r = ctx;

	if (p->has_stamp)
		take(r, r->now.off + (uint64_t)(int32_t)(p->index - (uint32_t)r->fed), p->stamp);
}

struct units {
	struct reader r;
	struct cslib_dec **dec;	/* of each configuration, NULL: none */
	size_t n;
};

static void feed(struct units *u, const struct trace_buf *b, const struct feed_piece *pc)
{
	size_t k = 0;
	uint64_t done = 0;

	while (b->framing != FRAMING_NONE && k < u->n && b->cfgs[k].trace_id != pc->id)
		k++;
	if (k == u->n || !u->dec[k])
		return;
	u->r.now.cfg = k;
	u->r.now.off = pc->off;
	u->r.fed = pc->off;
	while (done < pc->n) {
		uint32_t n = pc->n - done < CHUNK ? (uint32_t)(pc->n - done) : CHUNK, used = 0;
		int32_t code;

		if (cslib_data(u->dec[k], pc->off + done, pc->p + done, n, &used, &code) ==
		    CSLIB_FATAL)
			cslib_reset(u->dec[k]);
		done += used && used <= n ? used : n;
	}
}

static void reset(struct units *u)
{
	for (size_t k = 0; k < u->n; k++)
		if (u->dec[k])
			cslib_reset(u->dec[k]);
}

static void read_cs(struct units *u, const struct trace_buf *b)
{
	struct feed_piece pc;
	struct feed f;

	feed_init(&f, b);
	for (;;) {
		feed_next(&f, &pc);
		switch (pc.what) {
		case FEED_SPAN: u->r.now.span = f.span; break;
		case FEED_DATA: feed(u, b, &pc); break;
		case FEED_BREAK: case FEED_SPAN_END: reset(u); break;
		case FEED_END: return;
		default: break;
		}
		if (u->r.rc)
			return;
	}
}

static int open_units(struct units *u, const struct trace_buf *b)
{
	static const struct cslib_calls calls = { .packet = on_packet };
	int rc = 0;

	u->dec = calloc(b->ncfgs ? b->ncfgs : 1, sizeof(*u->dec));
	if (!u->dec)
		return -ENOMEM;
	u->n = b->ncfgs;
	cslib_lock();
	for (size_t k = 0; k < u->n && !rc; k++) {
		int32_t refused;

		rc = cslib_open(&u->dec[k], &b->cfgs[k], &calls, &u->r, &refused);
	}
	cslib_unlock();
	return rc;
}

static void close_units(struct units *u)
{
	cslib_lock();
	for (size_t k = 0; u->dec && k < u->n; k++)
		cslib_close(u->dec[k]);
	cslib_unlock();
	free(u->dec);
}

int stamps_read(const struct trace_buf *b, size_t from, size_t to,
		int (*use)(void *arg, const struct stamp *s), void *arg)
{
	struct units u = { .r = { .use = use, .arg = arg } };
	struct trace_buf part = *b;
	int rc;

	to = to < b->nspans ? to : b->nspans;
	if (!b->ncfgs || from >= to)
		return 0;
	if (b->cfgs[0].proto == HWT_PROTO_PT) {
		for (; from < to && !u.r.rc; from++) {
			u.r.now.span = from;
			read_pt(&u.r, &b->spans[from]);
		}
		return u.r.rc;
	}
	/* the feeder begins with the first span it is given */
	part.spans += from;
	part.nspans = to - from;
	rc = open_units(&u, b);
	u.r.first = from;
	if (!rc)
		read_cs(&u, &part);
	close_units(&u);
	return rc ? rc : u.r.rc;
}
