/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What damage must leave alone: blocks of trace between two synchronisation points, in a whole
 * capture or in a part of it. A part begins where a decoder can begin, so that the undamaged part
 * gives what the whole gives there, and what follows the damage is cut off soon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dmg.h"

#define SWALLOW	48	/* bytes of frames that may hold a packet's 16 */
#define NEAR	1024	/* a sync that is not farther behind the damage is in the part ... */
#define AFTER	1024	/* ... with so many bytes of its block */
#define BEHIND	256	/* bytes of a part behind the damage where no sync is near, at least */
#define STEP	256	/* ends of parts are its multiples: one serves many places */
#define FIRST	8	/* events of a part that need not be in the whole */
#define MARGIN	256	/* bytes before the end of a part: their events wait for what is cut off */

/* What the undamaged bytes give, whole or in one part. */
struct ref {
	struct dmg_window w;
	struct dmg_events evs;
	size_t *head, *tail;	/* events that block k leaves alone, plus 1; 0: not known yet */
	bool valid;
};
static struct ref whole_ref, part_ref;

/*
 * libipt cuts blocks where other ones began before, so that the packet an instruction is placed at
 * may be an earlier one.
 */
static bool same_off(const struct hwt_event *a, const struct hwt_event *b)
{
	return a->off == b->off || (a->type == HWT_EV_INSN && a->src < dmg.nbufs &&
				    dmg.buf[a->src].proto == HWT_PROTO_PT);
}

static bool same(const struct hwt_event *a, const struct hwt_event *b)
{
	/* times, owners found by them and context ids are learned from blocks before */
	if (a->type != b->type || a->flags != b->flags || a->src != b->src || !same_off(a, b))
		return false;
	if (a->type == HWT_EV_GAP)	/* the first byte of a block may end a hole before it */
		return a->u.gap.cause == b->u.gap.cause;
	if (a->type == HWT_EV_ASPACE)
		return a->u.aspace.el == b->u.aspace.el;
	if (a->type == HWT_EV_EXCEPTION)	/* its ISA is that of the last known range */
		return a->u.exc.what == b->u.exc.what && a->u.exc.from == b->u.exc.from &&
			a->u.exc.to == b->u.exc.to && a->u.exc.number == b->u.exc.number;
	if (a->type == HWT_EV_RECORD)
		return a->u.rec.id == b->u.rec.id && a->u.rec.size == b->u.rec.size;
	return !memcmp(&a->u, &b->u, sizeof(a->u));
}

static size_t common_head(const struct dmg_events *a, const struct dmg_events *b)
{
	size_t n = 0;

	/* nothing before the damage lies elsewhere */
	while (n < a->n && n < b->n && same(&a->v[n], &b->v[n]) && a->v[n].off == b->v[n].off)
		n++;
	return n;
}

static size_t common_tail(const struct dmg_events *a, const struct dmg_events *b)
{
	size_t n = 0;

	while (n < a->n && n < b->n && same(&a->v[a->n - 1 - n], &b->v[b->n - 1 - n]))
		n++;
	return n;
}

static void differ(const struct hwt_event *is, const struct hwt_event *was)
{
	if (!dmg_more_words())
		return;
	if (was)
		fprintf(stderr, "damage:   event of type %u at %#llx", was->type,
			(unsigned long long)was->off);
	else
		fprintf(stderr, "damage:   no event");
	if (!is)
		fprintf(stderr, " is missing\n");
	else
		fprintf(stderr, " is of type %u at %#llx, flags %#x was %#x, %#llx was %#llx\n",
			is->type, (unsigned long long)is->off, is->flags, was ? was->flags : 0,
			(unsigned long long)is->u.range.first,
			(unsigned long long)(was ? was->u.range.first : 0));
}

/* --- parts --- */

static const struct dmg_place *place_of(size_t off)
{
	for (size_t i = 0; i < dmg.nplaces; i++)
		if (off >= dmg.place[i].lo && off < dmg.place[i].hi)
			return &dmg.place[i];
	return NULL;
}

/* Where all sources that synchronise before @at did so last; UINT64_MAX: none does. */
static uint64_t synced_at(const struct dmg_buf *b, uint64_t pos, uint64_t at)
{
	uint64_t last[DMG_IDS], lo = UINT64_MAX;

	memset(last, 0xff, sizeof(last));
	for (size_t k = 0; k < b->nsyncs && b->sync[k] <= at; k++)
		if (b->sync[k] >= pos)
			last[b->sync_id[k]] = b->sync[k];
	for (size_t i = 0; i < DMG_IDS; i++)
		if (last[i] < lo)
			lo = last[i];
	return lo;
}

static uint64_t next_sync(const struct dmg_buf *b, uint64_t at)
{
	size_t k = 0;

	while (k < b->nsyncs && b->sync[k] <= at)
		k++;
	return k < b->nsyncs ? b->sync[k] : UINT64_MAX;
}

/* From where the id of the frames at @at is known. */
static size_t frame_start(const struct dmg_place *p, unsigned framing, size_t at)
{
	size_t unit = framing == 2 ? DMG_PROBE : DMG_FRAME;

	at = at - p->lo > DMG_ID_BACK ? at - DMG_ID_BACK : p->lo;
	return at - (at - p->lo) % unit;
}

bool dmg_window(struct dmg_window *w, size_t off)
{
	const struct dmg_place *p = dmg.session ? place_of(off) : NULL;
	const struct dmg_buf *b;
	uint64_t at, sync, next;
	size_t lo, hi;

	if (!p)
		return false;
	b = &dmg.buf[p->buf];
	at = p->pos + (off - p->lo);
	sync = synced_at(b, p->pos, at);
	next = next_sync(b, at);
	lo = sync == UINT64_MAX ? p->lo : p->lo + (size_t)(sync - p->pos);
	if (b->framing == 2 && off - lo < DMG_PROBE_SHORTEST)
		lo = off - p->lo < DMG_PROBE_SHORTEST ? p->lo : off - DMG_PROBE_SHORTEST;
	if (b->framing)
		lo = frame_start(p, b->framing, lo);
	hi = p->lo + (off - p->lo + BEHIND + STEP - 1) / STEP * STEP;
	if (b->framing == 2 && hi - lo < DMG_PROBE_SHORTEST)
		hi = lo + DMG_PROBE_SHORTEST;
	if (next != UINT64_MAX && next - at <= NEAR && p->hi - p->lo > next - p->pos)
		hi = p->lo + (size_t)(next - p->pos) + AFTER;
	if (hi > p->hi)
		hi = p->hi;
	*w = (struct dmg_window){ .lo = p->pos + (lo - p->lo), .hi = p->pos + (hi - p->lo),
		.at = lo, .buf = p->buf, .span = p->span };
	return true;
}

/* --- references --- */

static void take_events(struct dmg_events *e)
{
	struct dmg_events old = *e;

	*e = dmg.evs;
	dmg.evs = old;
}

/* What undamaged bytes give where @v is damaged. dmg.evs is kept. */
static struct ref *reference(const struct dmg_variant *v)
{
	struct ref *f = v->w ? &part_ref : &whole_ref;
	struct dmg_variant good = { .how = "undamaged", .p = dmg.good, .n = dmg.good_n,
		.buf = v->buf, .reference = true };
	struct dmg_events evs = { 0 };
	struct dmg_result r;
	size_t n = dmg.buf[v->buf].nsyncs + 1;

	if (f->valid && f->w.buf == v->buf &&
	    (!v->w || (f->w.span == v->w->span && f->w.lo == v->w->lo && f->w.hi == v->w->hi)))
		return f;
	if (v->w) {
		f->w = *v->w;
		good.w = &f->w;
		good.p = dmg.good + f->w.at;
		good.n = (size_t)(f->w.hi - f->w.lo);
	}
	f->w.buf = v->buf;
	f->valid = true;
	free(f->head);
	free(f->tail);
	f->head = dmg_need(calloc(n, sizeof(*f->head)));
	f->tail = dmg_need(calloc(n, sizeof(*f->tail)));
	take_events(&evs);
	dmg_try(&good, &r);
	take_events(&f->evs);
	take_events(&evs);
	free(evs.v);
	return f;
}

/* Where block @k of buffer @b ends: at the next synchronisation, or not before the end. */
static uint64_t block_end(const struct dmg_buf *b, size_t k)
{
	return k + 1 < b->nsyncs ? b->sync[k + 1] : UINT64_MAX;
}

/*
 * What block @k can not change: before it what a trace that ends at it gives, after it what a
 * trace gives that is empty up to the next synchronisation. In a part nothing is before it.
 */
static void learn_block(struct ref *f, const struct dmg_variant *v, size_t k)
{
	const struct dmg_buf *b = &dmg.buf[v->buf];
	const unsigned char *good = v->w ? dmg.good + v->w->at : dmg.good;
	size_t n = v->w ? (size_t)(v->w->hi - v->w->lo) : dmg.good_n, end = n;
	uint64_t lo = v->w ? v->w->lo : 0;
	unsigned char *t = dmg_need(malloc(n + 1));
	struct dmg_variant part = *v;
	struct dmg_events evs = { 0 };
	struct dmg_result r;

	take_events(&evs);
	if (block_end(b, k) < lo + n)
		end = (size_t)(block_end(b, k) - lo);
	f->head[k] = 1;
	part.how = "undamaged block";
	part.reference = true;
	part.p = good;
	part.n = (size_t)(b->sync[k] - lo);
	if (!v->w) {
		dmg_try(&part, &r);
		f->head[k] = 1 + common_head(&f->evs, &dmg.evs);
	}
	memset(t, 0, end);
	memcpy(t + end, good + end, n - end);
	part.p = t;
	part.n = n;
	dmg_try(&part, &r);
	f->tail[k] = 1 + common_tail(&f->evs, &dmg.evs);
	take_events(&evs);
	free(evs.v);
	free(t);
}

/* --- what may depend on time --- */

/* Said by packets alone: neither code nor the schedule is asked. */
static bool by_packets(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_ASPACE || ev->type == HWT_EV_MARK || ev->type == HWT_EV_POWER ||
		ev->type == HWT_EV_TRIGGER || ev->type == HWT_EV_RECORD;
}

/* The next event at or behind @i in [lo, hi), of packets alone if @packets; not a switch. */
static size_t next_in(const struct dmg_events *e, size_t i, uint64_t lo, uint64_t hi, bool packets)
{
	while (i < e->n && (e->v[i].off < lo || e->v[i].off >= hi ||
			    e->v[i].type == HWT_EV_SCHED_SWITCH ||
			    (packets && !by_packets(&e->v[i]))))
		i++;
	return i;
}

/* Compares events in [lo, hi). */
static bool same_in(const struct dmg_events *a, const struct dmg_events *b, uint64_t lo,
		    uint64_t hi, bool packets)
{
	size_t i = next_in(a, 0, lo, hi, packets), k = next_in(b, 0, lo, hi, packets);

	while (i < a->n && k < b->n) {
		if (!same(&a->v[i], &b->v[k])) {
			differ(&a->v[i], &b->v[k]);
			return false;
		}
		i = next_in(a, i + 1, lo, hi, packets);
		k = next_in(b, k + 1, lo, hi, packets);
	}
	if (i < a->n || k < b->n)
		differ(i < a->n ? &a->v[i] : NULL, k < b->n ? &b->v[k] : NULL);
	return i >= a->n && k >= b->n;
}

/* The first time in [lo, hi). */
static uint64_t first_time(const struct dmg_events *e, uint64_t lo, uint64_t hi)
{
	for (size_t i = next_in(e, 0, lo, hi, false); i < e->n;
	     i = next_in(e, i + 1, lo, hi, false))
		if (e->v[i].time != HWT_TIME_UNKNOWN)
			return e->v[i].time;
	return HWT_TIME_UNKNOWN;
}

static bool same_packets(const struct dmg_variant *a, const struct dmg_variant *b, size_t buf,
			 uint64_t lo, uint64_t hi, bool times)
{
	struct dmg_packets p = dmg_list(a, buf, lo, hi, times), q = dmg_list(b, buf, lo, hi, times);
	bool ok = p.n == q.n && (!p.n || !memcmp(p.v, q.v, p.n * sizeof(*p.v)));

	free(p.v);
	free(q.v);
	return ok;
}

static size_t holes_in(const struct dmg_events *e, uint64_t lo, uint64_t hi)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++)
		n += e->v[i].type == HWT_EV_GAP && e->v[i].off >= lo && e->v[i].off < hi;
	return n;
}

/*
 * libipt goes on over a PSB, and where damage took a branch before it, it takes one from behind it.
 * The next block then is wrong up to a hole, but no other one.
 */
static bool spilled(const struct ref *f, const struct dmg_buf *b, size_t k)
{
	if (b->proto != HWT_PROTO_PT || ++k >= b->nsyncs ||
	    holes_in(&dmg.evs, b->sync[k], block_end(b, k)) <=
	    holes_in(&f->evs, b->sync[k], block_end(b, k)))
		return false;
	for (k++; k < b->nsyncs; k++)
		if (!same_in(&dmg.evs, &f->evs, b->sync[k], block_end(b, k), false))
			return false;
	return true;
}

/*
 * Block @k changed what follows it. Of Intel PT that may be because it says another time: a wrong
 * TSC can not be told from a right one, and time does not go back, so that all up to it happens at
 * that instant, to whom ran then, with his code. Then what follows has the same packets; each
 * block in it that has its time again has all its events again; and in each other one what packets
 * say alone is the same. Nothing of CoreSight is placed by time here: snapshots have no schedule,
 * and perf's owners come from context ids and AUX records.
 */
static void check_time_only(const struct ref *f, const struct dmg_variant *v, size_t k)
{
	const struct dmg_buf *b = &dmg.buf[v->buf];
	struct dmg_variant good = *v;
	uint64_t next = block_end(b, k);

	if (spilled(f, b, k)) {
		dmg.spilled++;
		return;
	}
	good.p = v->w ? dmg.good + v->w->at : dmg.good;
	good.n = v->w ? (size_t)(v->w->hi - v->w->lo) : dmg.good_n;
	if (b->proto != HWT_PROTO_PT ||
	    same_packets(v, &good, v->buf, b->sync[k], next, true)) {
		dmg_fail("damage changes events of a block after it", v);
		return;
	}
	dmg.times++;
	if (!same_packets(v, &good, v->buf, next, UINT64_MAX, false))
		dmg_fail("damage changes packets of a block after it", v);
	for (k++; k < b->nsyncs; k++) {
		uint64_t lo = b->sync[k], hi = block_end(b, k);
		bool timely = first_time(&dmg.evs, lo, hi) == first_time(&f->evs, lo, hi);

		if (!same_in(&dmg.evs, &f->evs, lo, hi, !timely))
			dmg_fail(timely ? "a block after damage has its time but not its events" :
				 "what packets say alone changes with time", v);
	}
}

/* --- one variant --- */

/* A hole in [lo, hi] may be told between events of what follows. */
static void drop_told(struct dmg_events *e, uint64_t lo, uint64_t hi)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++)
		if (e->v[i].type != HWT_EV_GAP || e->v[i].off < lo || e->v[i].off > hi ||
		    (e->v[i].off == hi && e->v[i].u.gap.bytes))
			e->v[n++] = e->v[i];
	e->n = n;
}

static void check_block(const struct dmg_variant *v, size_t k, uint64_t end)
{
	const struct dmg_buf *b = &dmg.buf[v->buf];
	struct ref *f = reference(v);
	size_t h = common_head(&f->evs, &dmg.evs), t;

	if (!f->head[k])
		learn_block(f, v, k);
	dmg.blocks++;
	if (h < f->head[k] - 1) {
		dmg_fail("damage changes events of a block before it", v);
		differ(h < dmg.evs.n ? &dmg.evs.v[h] : NULL, &f->evs.v[h]);
	}
	drop_told(&dmg.evs, b->sync[k], block_end(b, k) < end ? block_end(b, k) : end);
	t = common_tail(&f->evs, &dmg.evs);
	if (t < f->tail[k] - 1)
		check_time_only(f, v, k);
}

void dmg_check_blocks(const struct dmg_variant *v, const struct dmg_result *r)
{
	const struct dmg_place *p = place_of(v->off);
	const struct dmg_buf *b;
	uint64_t at, end;
	size_t k;

	if (!r->opened || !p || v->buf != p->buf)
		return;
	b = &dmg.buf[p->buf];
	at = p->pos + (v->off - p->lo);
	end = v->w ? v->w->hi : p->pos + (p->hi - p->lo);
	for (k = b->nsyncs; k && b->sync[k - 1] > at; )
		k--;
	if (!k-- || b->sync[k] < p->pos || (v->w && b->sync[k] < v->w->lo))
		return;
	/*
	 * OpenCSD looks for an A-sync from where a bad packet ends: one that a damaged packet
	 * before it swallowed in part is not found, and its block is lost with a hole. So it is if
	 * the id of its bytes was damaged, up to where frames repeat the id.
	 */
	if (b->proto != HWT_PROTO_PT && k + 1 < b->nsyncs &&
	    b->sync[k + 1] - at < SWALLOW + (b->framing ? DMG_ID_BACK : 0))
		return;
	check_block(v, k, end);
}

/*
 * Leaves of @e what source @id says in [lo, hi): holes that end there, or what is no hole. Where
 * decoding begins and ends it says ON and OFF, and switches come with the time.
 */
static void select_in(struct dmg_events *e, uint64_t lo, uint64_t hi, unsigned id, bool holes)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++) {
		const struct hwt_event *ev = &e->v[i];
		bool hole = ev->type == HWT_EV_GAP;

		if (ev->off >= lo && ev->off < hi && ev->type != HWT_EV_SCHED_SWITCH &&
		    ev->type != HWT_EV_OFF && ev->type != HWT_EV_ON && hole == holes &&
		    dmg_trace_id(ev) == id &&
		    (!hole || ev->u.gap.bytes < hi - ev->off))
			e->v[n++] = *ev;
	}
	e->n = n;
}

static struct dmg_events copy_of(const struct dmg_events *e)
{
	struct dmg_events c = { dmg_need(malloc((e->n + 1) * sizeof(*c.v))), e->n, e->n };

	if (e->n)
		memcpy(c.v, e->v, e->n * sizeof(*c.v));
	return c;
}

/*
 * At first the whole knows more, because it did not begin at the synchronisation, and the part says
 * what is no news to the whole. But from one of the first few events of the part on both must have
 * the same ones; a hole that goes on to the end of the part has no like in the whole.
 */
static bool part_of(const struct dmg_events *part, const struct dmg_events *whole, uint64_t lo,
		    uint64_t hi, unsigned id, bool holes)
{
	struct dmg_events p = copy_of(part), w = copy_of(whole);
	size_t i = 0, k = 0;
	bool ok;

	select_in(&p, lo, hi, id, holes);
	select_in(&w, lo, hi, id, holes);
	for (k = 0; k < p.n && k < FIRST; k++) {
		for (i = 0; i < w.n && !same(&p.v[k], &w.v[i]); )
			i++;
		if (i < w.n)
			break;
	}
	while (k < p.n && i < w.n && same(&p.v[k], &w.v[i]))
		k++, i++;
	ok = k == p.n && (i == w.n || p.n <= FIRST);
	if (!ok)
		differ(k < p.n ? &p.v[k] : NULL, i < w.n ? &w.v[i] : NULL);
	free(p.v);
	free(w.v);
	return ok;
}

void dmg_compare(const struct dmg_variant *part, const struct dmg_events *p,
		 const struct dmg_variant *whole)
{
	const struct dmg_window *w = part->w;
	const struct dmg_buf *b = &dmg.buf[w->buf];
	uint64_t lo = w->lo, hi = w->lo + (part->n < MARGIN ? 0 : part->n - MARGIN);

	/* in the part all sources are synchronised from the last sync before the damage on */
	for (size_t k = 0; k < b->nsyncs && b->sync[k] <= w->lo + (part->off - w->at); k++)
		if (b->sync[k] >= w->lo)
			lo = b->sync[k];
	dmg.compared++;
	if (lo >= hi)
		return;
	for (unsigned id = 0; id < DMG_IDS; id++) {
		if (id && !b->ends[id].n)
			continue;
		/* in frames the bytes of a hole do not tell where it ends */
		if (!part_of(p, &dmg.evs, lo, hi, id, false) ||
		    !part_of(p, &dmg.evs, lo, b->framing ? w->lo + (part->off - w->at) : hi, id,
			     true)) {
			dmg_fail("a part gives other events than the whole", whole);
			return;
		}
	}
}
