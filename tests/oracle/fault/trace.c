/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "hwtrace/model/frame.h"

static void *grow(void *p, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 4096;
	void *q;

	if (n < *room)
		return p;
	q = realloc(p, more * size);
	if (q)
		*room = more;
	return q;
}

static int load_events(struct trace *t)
{
	struct rec_iter *it;
	size_t room = 0;
	int r = rec_iter_new(&it, t->r, 0, &t->clk);

	while (!r) {
		struct model_event *p = grow(t->ev, t->nev, &room, sizeof(*p));

		if (!p) {
			r = -ENOMEM;
			break;
		}
		t->ev = p;
		r = rec_next(it, &t->ev[t->nev]);
		if (r <= 0)
			break;
		t->nev++;
		r = 0;
	}
	rec_iter_free(it);
	return r;
}

static int load_insns(struct trace *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->nev; i++)
		n += t->ev[i].op == MODEL_RUN ? t->ev[i].insns : 0;
	t->insn = calloc(n + 1, sizeof(*t->insn));
	t->first = calloc(t->nev + 1, sizeof(*t->first));
	if (!t->insn || !t->first)
		return -ENOMEM;
	for (size_t i = 0; i < t->nev; i++) {
		const struct model_event *ev = &t->ev[i];
		uint64_t addr = ev->op == MODEL_RUN ? ev->block->first : 0;

		t->first[i] = t->ninsn;
		for (uint32_t k = 0; ev->op == MODEL_RUN && k < ev->insns; k++) {
			uint8_t size = rec_sizes(ev->block)[k];

			t->insn[t->ninsn++] = (struct insn){ addr, (uint32_t)i, size, 1 };
			addr += size;
		}
	}
	t->first[t->nev] = t->ninsn;
	for (size_t i = t->ninsn; i-- > 1;) {
		struct insn *a = &t->insn[i - 1];

		if (a->addr + a->size == a[1].addr)
			a->line = a[1].line + 1;
	}
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* All code that ran, put together where it touches. */
static int load_code(struct trace *t)
{
	struct code *c = NULL, *p;
	size_t n = 0, room = 0, bytes = 0, size;
	const struct model_block *b;
	uint8_t *to;

	for (size_t i = 0; (p = grow(c, n, &room, sizeof(*c))); i++) {
		const uint8_t *code;

		c = p;
		b = rec_block(t->r, i, &code, &size);
		if (!b)
			break;
		c[n++] = (struct code){ b->first, size, code };
		bytes += size;
	}
	t->code = c;
	t->code_bytes = to = malloc(bytes + 1);
	if (!p || !to)
		return -ENOMEM;
	qsort(c, n, sizeof(*c), by_addr);
	for (size_t i = 0; i < n; i++) {
		struct code *last = t->ncode ? &c[t->ncode - 1] : NULL, now = c[i];
		size_t have = 0;

		if (last && now.addr <= last->addr + last->n)
			have = last->addr + last->n - now.addr;
		else
			c[t->ncode++] = (struct code){ now.addr, 0, to };
		if (now.n <= have)
			continue;
		memcpy(to, now.p + have, now.n - have);
		to += now.n - have;
		c[t->ncode - 1].n += now.n - have;
	}
	return 0;
}

int trace_load(struct trace *t, struct rec *r, const struct rec_clock *clk)
{
	int err;

	t->r = r;
	t->clk = *clk;
	t->pt = rec_isa(r) == MODEL_X86_64;
	err = load_events(t);
	err = err ? err : load_insns(t);
	return err ? err : load_code(t);
}

#define AWAY	20000	/* ticks between turns: MTC packets are less far apart */

/*
 * About @n events of @a from *@at on, the first at @now; an interrupt ends them if the program is
 * not in the kernel as it is. Returns the tick at the end.
 */
static uint64_t turn(struct trace *t, const struct trace *a, size_t *at, uint64_t now, uint64_t n)
{
	uint64_t last = *at ? a->ev[*at - 1].tick : a->clk.start;
	const struct model_event *before = *at ? &a->ev[*at - 1] : NULL;
	struct model_event ev;

	if (before && before->to < MODEL_UNSEEN)
		t->ev[t->nev++] = (struct model_event){ .op = MODEL_ENTER, .to = before->to,
							.tick = now };
	for (; *at < a->nev; ++*at) {
		ev = a->ev[*at];
		now += ev.tick - last;
		last = ev.tick;
		ev.tick = now;
		if (ev.op != MODEL_END && (ev.op != MODEL_CONTEXT || !t->nev))
			t->ev[t->nev++] = ev;
		if (n)
			n--;
		else if (ev.op == MODEL_RUN || ev.to == MODEL_UNSEEN)
			break;
	}
	if (*at < a->nev)
		++*at;
	if (*at < a->nev && ev.to < MODEL_UNSEEN)
		t->ev[t->nev++] = (struct model_event){ .op = MODEL_TRAP, .trap = MODEL_TRAP_IRQ,
			.from = ev.to, .to = MODEL_UNSEEN, .tick = now };
	return now;
}

int trace_turns(struct trace *t, const struct trace *a, const struct trace *b, uint64_t seed)
{
	const struct trace *p[2] = { a, b };
	size_t at[2] = { 0, 0 }, room = 0;
	uint64_t now = a->clk.start;
	int who = 0;

	*t = (struct trace){ .r = a->r, .clk = a->clk, .pt = a->pt, .other = b };
	/* each turn may add two events, and has a hundred or more */
	t->ev = malloc((a->nev + b->nev) * 2 * sizeof(*t->ev));
	if (!t->ev)
		return -ENOMEM;
	for (; at[who] < p[who]->nev; who = !who) {
		struct turn *v = grow(t->turn, t->nturns, &room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->turn = v;
		v[t->nturns++] = (struct turn){ now + AWAY / 2, (uint32_t)t->nev, who };
		now = turn(t, p[who], &at[who], now + AWAY, 100 + (seed >> t->nturns % 48 & 1023));
	}
	t->code = a->code;
	t->ncode = a->ncode;
	return load_insns(t);
}

void trace_free(struct trace *t)
{
	if (t->other)
		t->code = NULL;		/* of the first */
	free(t->turn);
	free(t->ev);
	free(t->insn);
	free(t->first);
	free(t->p);
	free(t->sent);
	free(t->sync);
	free(t->holes.h);
	free(t->code);
	free(t->code_bytes);
}

/* --- bytes --- */

static int put_bytes(void *arg, const void *p, size_t n)
{
	struct trace *t = arg;

	while (t->n + n > t->room) {
		size_t room = t->room ? t->room * 2 : 65536;
		uint8_t *q = realloc(t->p, room);

		if (!q)
			return -ENOMEM;
		t->p = q;
		t->room = room;
	}
	memcpy(t->p + t->n, p, n);
	t->n += n;
	return 0;
}

static void put_lost(void *arg, uint64_t from, uint64_t to)
{
	struct trace *t = arg;

	truth_hole_add(&t->holes, from, to);
}

static int add_sync(struct trace *t, uint64_t off, uint64_t end, uint64_t id, size_t *room)
{
	struct sync *p = grow(t->sync, t->nsync, room, sizeof(*p));

	if (!p)
		return -ENOMEM;
	t->sync = p;
	p[t->nsync++] = (struct sync){ off, end, id, trace_event_at(t, off) };
	return 0;
}

/* Bytes of a packet that a PSB+ may hold; 0: none. SDM, "Trace Packets and Data Types" */
static unsigned in_group(const uint8_t *p)
{
	static const uint8_t ip[8] = { 1, 3, 5, 7, 7, 0, 9, 0 };

	if (p[0] == 0x02) {
		switch (p[1]) {
		case 0x82: return 16;	/* PSB */
		case 0x23: return 2;	/* PSBEND */
		case 0x43: return 8;	/* PIP */
		case 0xc8: return 7;	/* VMCS */
		case 0x03: return 4;	/* CBR */
		case 0x73: return 7;	/* TMA */
		}
		return 0;
	}
	if (p[0] == 0x19)
		return 8;		/* TSC */
	if (p[0] == 0x99 || p[0] == 0x59)
		return 2;		/* MODE, MTC */
	if (!p[0])
		return 1;
	if ((p[0] & 0x1f) == 0x1d)
		return ip[p[0] >> 5];	/* FUP */
	if ((p[0] & 3) == 3) {		/* CYC */
		unsigned n = 1;

		if (p[0] & 4)
			while (p[n++] & 1)
				;
		return n;
	}
	return 0;
}

void trace_set_tsc(const struct trace *t, uint8_t *bytes, const struct plan *p)
{
	for (size_t i = 0; i < t->nsync; i++) {
		uint64_t off = t->sync[i].off, v = 0;

		while (off < t->sync[i].end && t->p[off] != 0x19)
			off += in_group(t->p + off);
		if (off >= t->sync[i].end)
			continue;
		memcpy(&v, t->p + off + 1, 7);
		v = plan_clock(p, v);
		memcpy(bytes + off + 1, &v, 7);
	}
}

static int find_psb(struct trace *t)
{
	static const uint8_t psb[16] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
					 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
	size_t room = 0, end;
	int err = 0;

	t->nsync = 0;
	for (size_t i = 0; i + 64 < t->n && !err; i++) {
		if (memcmp(t->p + i, psb, sizeof(psb)))
			continue;
		for (end = i; end + 16 < t->n;) {
			unsigned n = in_group(t->p + end);

			if (!n)
				break;
			end += n;
			if (n == 2 && t->p[end - 2] == 0x02 && t->p[end - 1] == 0x23)
				break;
		}
		err = add_sync(t, i, end, i, &room);
		i = end - 1;
	}
	return err;
}

/* Of a byte in frames; and where its id was told. */
struct place { uint64_t off, id; };

/* A-sync packets in the bytes of the unit; @at tells where in frames each byte went, or NULL. */
static int find_async(struct trace *t, const uint8_t *p, size_t n, const struct place *at)
{
	static const uint8_t async[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80 };
	const size_t len = sizeof(async);
	size_t room = 0;
	int err = 0;

	t->nsync = 0;
	for (size_t i = 0; i + len <= n && !err; i++) {
		if (!memcmp(p + i, async, len))
			err = add_sync(t, at ? at[i].off : i,
				       at ? at[i + len - 1].off + 1 : i + len,
				       at ? at[i].id : i, &room);
	}
	return err;
}

/*
 * Where in the frames the bytes of the one source went: Arm IHI 0029, "Formatter frame". 0, or
 * -EINVAL if they are not @n.
 */
static int unframe(const struct trace *t, struct place *at, size_t n)
{
	unsigned id = 0, next = 0;
	uint64_t told = 0;
	size_t k = 0;
	bool later;

	for (size_t f = 0; f + 16 <= t->n; f += 16) {
		later = false;
		for (unsigned i = 0; i < 15; i++) {
			uint8_t b = t->p[f + i];
			bool data = i % 2 || !(b & 1);

			if (!data) {
				next = b >> 1;
				told = f + i;
				later = i < 14 && t->p[f + 15] >> i / 2 & 1;
				id = later ? id : next;
				continue;
			}
			if (id == 0x10) {
				if (k == n)
					return -EINVAL;
				at[k++] = (struct place){ f + i, told };
			}
			id = later ? next : id;
			later = false;
		}
	}
	return k == n ? 0 : -EINVAL;
}

static int encode_pt(struct trace *t)
{
	const struct model_out out = { put_bytes, put_lost, t };
	struct model_pt *m;
	int err = model_pt_new(&m, &t->ptc, &out);

	if (err)
		return err;
	for (size_t i = 0; i < t->nev && !err; i++) {
		err = model_pt_put(m, &t->ev[i]);
		t->sent[i] = model_pt_counts(m)->bytes;
	}
	err = err ? err : model_pt_end(m);
	model_pt_free(m);
	return err ? err : find_psb(t);
}

/* The bytes of @raw in frames; what t->sent counts follows them. */
static int frame(struct trace *t, const struct trace *raw)
{
	const struct model_frame_cfg fc = { .seed = t->etmc.seed, .idle = 1 };
	const struct model_out out = { put_bytes, NULL, t };
	struct place *at = calloc(raw->n + 1, sizeof(*at));
	struct model_frame *f = NULL;
	int err = at ? model_frame_new(&f, &fc, &out) : -ENOMEM;

	for (size_t i = 0; i < raw->n && !err; i += 64)
		err = model_frame_put(f, 0x10, raw->p + i, raw->n - i < 64 ? raw->n - i : 64);
	err = err ? err : model_frame_flush(f);
	err = err ? err : unframe(t, at, raw->n);
	for (size_t i = 0; i < t->nev && !err; i++)
		t->sent[i] = t->sent[i] ? at[t->sent[i] - 1].off + 1 : 0;
	err = err ? err : find_async(t, raw->p, raw->n, at);
	model_frame_free(f);
	free(at);
	return err;
}

static int encode_etm4(struct trace *t)
{
	struct trace raw = { 0 };
	const struct model_out out = { put_bytes, put_lost, t->framed ? &raw : t };
	struct model_etm4 *m;
	int err = model_etm4_new(&m, &t->etmc, &out);

	if (err)
		return err;
	for (size_t i = 0; i < t->nev && !err; i++) {
		err = model_etm4_put(m, &t->ev[i]);
		t->sent[i] = model_etm4_counts(m)->bytes;
	}
	err = err ? err : model_etm4_end(m);
	if (t->framed && !err)
		err = frame(t, &raw);
	else if (!err)
		err = find_async(t, t->p, t->n, NULL);
	if (t->framed)
		t->holes = raw.holes;
	model_etm4_free(m);
	free(raw.p);
	return err;
}

int trace_encode(struct trace *t)
{
	if (!t->sent)
		t->sent = calloc(t->nev, sizeof(*t->sent));
	if (!t->sent)
		return -ENOMEM;
	t->n = 0;
	free(t->holes.h);
	t->holes = (struct truth_holes){ 0 };
	free(t->sync);
	t->sync = NULL;
	t->nsync = 0;
	return t->pt ? encode_pt(t) : encode_etm4(t);
}

uint32_t trace_event_at(const struct trace *t, uint64_t off)
{
	size_t lo = 0, hi = t->nev;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->sent[mid] <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (uint32_t)(lo < t->nev ? lo : t->nev - 1);
}

const struct sync *trace_sync_from(const struct trace *t, uint64_t off)
{
	for (size_t i = 0; i < t->nsync; i++) {
		if (t->sync[i].off >= off && t->sync[i].id >= off)
			return &t->sync[i];
	}
	return NULL;
}
