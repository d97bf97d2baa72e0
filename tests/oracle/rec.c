/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings as events. Longer than other files: chunks, blocks and the habits of QEMU that are
 * undone are one walk over the same tables.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/err.h>

#include "hwtrace/base/arena.h"
#include "hwtrace/base/cur.h"
#include "rec.h"
#include "rec_format.h"

#define THREADS_MAX	(1 << 16)
#define REC_PARTS	512		/* of a block, one for each that is not plain */
#define REC_VALUES	8		/* of a block */
#define EVENTS_MAX	(REC_PARTS + REC_VALUES + 4)	/* that one block can make */

/* What the events point to. */
struct part { struct model_block b; const uint8_t *sizes, *bytes; };

/* The first instructions of a part that was left early. */
struct sub { struct part p; struct sub *next; };

/* A block of the emulator, and what it is to the model: parts, of which the last may branch. */
struct tb {
	struct part *parts;
	const uint8_t *sizes, *bytes;
	struct sub *subs;
	uint64_t first, last;
	uint32_t n, nbytes, nparts;
	uint8_t rep;		/* the last instruction is a repeated string instruction */
};

struct chunk { const uint8_t *p; size_t n; size_t next; };	/* @next: index + 1 */
struct thread { size_t head, tail; };				/* index + 1 */

struct rec {
	uint8_t *data;
	struct arena mem;
	struct model_insns *insns;
	struct tb *tb;
	size_t ntb, room_tb;
	struct chunk *chunk;
	size_t nchunk, room_chunk;
	struct thread *thread;
	size_t nthread, room_thread;
	unsigned isa, flags;
};

/* Room for one more of @size in @p; 0 or -ENOMEM. */
static int one_more(void *p, size_t n, size_t *room, size_t size)
{
	void **q = p, *new;
	size_t want = *room ? *room * 2 : 64;

	if (n < *room)
		return 0;
	new = realloc(*q, want * size);
	if (!new)
		return -ENOMEM;
	*q = new;
	*room = want;
	return 0;
}

static int is_plain(const struct model_insn *in)
{
	return in->kind == MODEL_PLAIN;
}

/* Cuts a block into parts; @t has all else. */
static int classify(struct rec *r, struct tb *t, unsigned isa, uint8_t it)
{
	static struct part parts[REC_PARTS];
	struct part *q = parts;
	struct model_block *b;
	uint64_t addr = t->first;
	const uint8_t *p = t->bytes;
	uint32_t n = 0, begun = 0;

	for (uint32_t i = 0; i < t->n; i++, addr += t->sizes[i - 1], p += t->sizes[i - 1]) {
		struct model_insn in = { .target = MODEL_NO_ADDR };

		/* the emulator ran it: what the classifier does not know does not branch */
		if (model_insn_get(r->insns, isa, addr, p, t->sizes[i], &it, &in) == -ENOMEM)
			return -ENOMEM;
		b = &q->b;
		if (!begun) {
			*b = (struct model_block){ .first = addr, .isa = (uint8_t)isa };
			q->sizes = t->sizes + i;
			q->bytes = p;
		}
		begun++;
		b->last = addr;
		b->insns = begun;
		b->last_size = t->sizes[i];
		b->kind = in.kind;
		b->cond = in.cond;
		b->target = in.target;
		t->last = addr;
		t->rep = in.rep;
		if (i + 1 == t->n || !is_plain(&in)) {
			n = (uint32_t)(++q - parts);
			begun = 0;
			if (n == REC_PARTS && i + 1 < t->n)
				return -HWT_E_FORMAT;
		}
	}
	t->nparts = n;
	t->parts = arena_alloc(&r->mem, n * sizeof(*parts));
	if (!t->parts)
		return -ENOMEM;
	memcpy(t->parts, parts, n * sizeof(*parts));
	return 0;
}

/*
 * QEMU 7.2 lists an x86 instruction that it gave up, because it goes on in the next page, as the
 * last of the block. It has only the bytes of this page.
 */
static void drop_phantom(struct rec *r, struct tb *t, unsigned isa)
{
	uint32_t size = t->sizes[t->n - 1];
	struct model_insn in;

	if (isa == MODEL_X86_64 && t->n > 1 &&
	    model_insn_get(r->insns, isa, 0, t->bytes + t->nbytes - size, size, NULL, &in) ==
	    -HWT_E_MORE) {
		t->n--;
		t->nbytes -= size;
	}
}

static int add_block(struct rec *r, struct cur *c)
{
	struct tb t = { 0 };
	uint32_t isa, it;
	uint64_t sum = 0;
	int err;

	t.first = cur_u64(c);
	t.n = cur_u32(c);
	t.nbytes = cur_u32(c);
	isa = cur_u32(c);
	it = cur_u32(c);
	t.sizes = cur_take(c, t.n);
	t.bytes = cur_take(c, t.nbytes);
	if (c->bad || !t.n)
		return -HWT_E_FORMAT;
	for (uint32_t i = 0; i < t.n; i++)
		sum += t.sizes[i];
	if (sum != t.nbytes)
		return -HWT_E_FORMAT;
	drop_phantom(r, &t, isa);
	err = classify(r, &t, isa, (uint8_t)it);
	if (!err)
		err = one_more(&r->tb, r->ntb, &r->room_tb, sizeof(*r->tb));
	if (!err)
		r->tb[r->ntb++] = t;
	return err;
}

static int add_chunk(struct rec *r, uint32_t thread, const uint8_t *p, size_t n)
{
	struct thread *t;
	int err;

	if (thread >= THREADS_MAX)
		return -HWT_E_FORMAT;
	while (thread >= r->nthread) {
		err = one_more(&r->thread, r->nthread, &r->room_thread, sizeof(*r->thread));
		if (err)
			return err;
		r->thread[r->nthread++] = (struct thread){ 0 };
	}
	err = one_more(&r->chunk, r->nchunk, &r->room_chunk, sizeof(*r->chunk));
	if (err)
		return err;
	r->chunk[r->nchunk++] = (struct chunk){ .p = p, .n = n };
	t = &r->thread[thread];
	if (t->tail)
		r->chunk[t->tail - 1].next = r->nchunk;
	else
		t->head = r->nchunk;
	t->tail = r->nchunk;
	return 0;
}

static int read_file(const char *path, uint8_t **out, size_t *size)
{
	FILE *f = fopen(path, "rb");
	long n = -1;

	if (!f)
		return -errno;
	if (!fseek(f, 0, SEEK_END))
		n = ftell(f);
	rewind(f);
	*out = n > 0 ? malloc((size_t)n) : NULL;
	if (!*out || fread(*out, (size_t)n, 1, f) != 1) {
		fclose(f);
		free(*out);
		return n > 0 ? -ENOMEM : -HWT_E_FORMAT;
	}
	fclose(f);
	*size = (size_t)n;
	return 0;
}

static int parse(struct rec *r, struct cur c)
{
	const uint8_t *magic = cur_take(&c, 8);
	int err = 0;

	r->isa = cur_u32(&c);
	r->flags = cur_u32(&c);
	if (c.bad || memcmp(magic, REC_MAGIC, 8))
		return -HWT_E_FORMAT;
	while (!err) {
		uint32_t kind = cur_u32(&c), thread = cur_u32(&c), n = cur_u32(&c);
		const uint8_t *p;

		if (c.bad)
			return -HWT_E_MORE;
		if (kind == REC_FILE_END)
			return 0;
		if (kind == REC_BLOCK) {
			err = add_block(r, &c);
		} else {
			p = cur_take(&c, n);
			err = p && kind == REC_STREAM ? add_chunk(r, thread, p, n) : -HWT_E_FORMAT;
		}
	}
	return err;
}

int rec_open(struct rec **out, const char *path, const char **why)
{
	struct rec *r = calloc(1, sizeof(*r));
	size_t n = 0;
	int err = r ? read_file(path, &r->data, &n) : -ENOMEM;

	*why = "can not be read";
	if (err) {
		free(r);
		return err;
	}
	err = model_insns_new(&r->insns);
	if (!err)
		err = parse(r, cur_new(r->data, n, false));
	if (err) {
		*why = err == -HWT_E_MORE ? "is cut off: the program or the recorder died" :
			"is no recording";
		rec_close(r);
		return err;
	}
	*out = r;
	return 0;
}

void rec_close(struct rec *r)
{
	if (!r)
		return;
	model_insns_free(r->insns);
	arena_free(&r->mem);
	free(r->tb);
	free(r->chunk);
	free(r->thread);
	free(r->data);
	free(r);
}

size_t rec_threads(const struct rec *r)
{
	return r->nthread;
}

int rec_is_guest(const struct rec *r)
{
	return (r->flags & REC_GUEST) != 0;
}

unsigned rec_isa(const struct rec *r)
{
	return r->isa;
}

const struct model_block *rec_block(const struct rec *r, size_t i, const uint8_t **p, size_t *n)
{
	if (i >= r->ntb)
		return NULL;
	*p = r->tb[i].bytes;
	*n = r->tb[i].nbytes;
	return &r->tb[i].parts->b;
}

const uint8_t *rec_sizes(const struct model_block *b)
{
	return ((const struct part *)b)->sizes;
}

const uint8_t *rec_bytes(const struct model_block *b)
{
	return ((const struct part *)b)->bytes;
}

struct rec_iter {
	struct rec *r;
	struct rec_clock clk;
	struct cur c;
	size_t chunk;		/* the next one, index + 1 */
	uint32_t (*succ)[2];
	struct tb *cur;		/* ran last; the guesses hang on it */
	struct tb *wait;	/* ran and is not told yet: @cur, or what turns in it */
	uint64_t more;		/* times that the first guess holds */
	uint64_t rnd, tick;
	uint64_t raw;		/* guests: the recorded counter */
	uint64_t runs;
	size_t thread;
	struct model_ctx ctx;	/* guests: of @wait */
	uint64_t user_thread;	/* guests */
	struct model_event ev[EVENTS_MAX];
	int nev, at;
	int ended;		/* 2: MODEL_END was given */
	char why[160];
};

int rec_iter_new(struct rec_iter **out, struct rec *r, size_t thread, const struct rec_clock *clk)
{
	struct rec_iter *it = calloc(1, sizeof(*it));

	if (!it || thread >= r->nthread) {
		free(it);
		return it ? -EINVAL : -ENOMEM;
	}
	it->succ = malloc((r->ntb + 1) * sizeof(*it->succ));
	if (!it->succ) {
		free(it);
		return -ENOMEM;
	}
	memset(it->succ, 255, (r->ntb + 1) * sizeof(*it->succ));
	it->r = r;
	it->clk = *clk;
	if (!it->clk.per_tick)
		it->clk.per_tick = 2;
	it->rnd = (clk->seed + 1) * 0x9e3779b97f4a7c15 ^ (thread + 1) * 0xd1342543de82ef95;
	it->tick = clk->start;
	it->thread = thread;
	it->chunk = r->thread[thread].head;
	*out = it;
	return 0;
}

void rec_iter_free(struct rec_iter *it)
{
	if (it)
		free(it->succ);
	free(it);
}

const char *rec_why(const struct rec_iter *it)
{
	return it->why;
}

static int bad(struct rec_iter *it, const char *what, uint64_t a, uint64_t b)
{
	snprintf(it->why, sizeof(it->why), "%s: %llx, %llx", what, (unsigned long long)a,
		 (unsigned long long)b);
	return -HWT_E_FORMAT;
}

static uint64_t rnd_below(struct rec_iter *it, uint64_t n)
{
	it->rnd ^= it->rnd << 13;
	it->rnd ^= it->rnd >> 7;
	it->rnd ^= it->rnd << 17;
	return n ? it->rnd % n : 0;
}

static int number(struct rec_iter *it, uint64_t *v)
{
	unsigned shift = 0;
	uint8_t b;

	*v = 0;
	while (!cur_left(&it->c) && it->chunk) {
		const struct chunk *c = &it->r->chunk[it->chunk - 1];

		it->c = cur_new(c->p, c->n, false);
		it->chunk = c->next;
	}
	do {
		b = cur_u8(&it->c);
		*v |= (uint64_t)(b & 127) << shift;
		shift += 7;
	} while (b & 128 && shift < 64 && !it->c.bad);
	return it->c.bad || shift > 70 ? bad(it, "the stream is cut", 0, 0) : 0;
}

/* What came after the block that waits. */
struct next {
	struct tb *tb;		/* NULL: the end */
	uint32_t left;		/* 0: all instructions were begun */
	int signal;		/* or a trap of a guest */
	uint64_t pc;
	/* guests */
	uint8_t trap, trap_level, has_ctx;
	struct model_ctx ctx;
	uint64_t table, user_thread, ticks;
	uint64_t value[REC_VALUES];	/* that the block which waits wrote */
	unsigned nvalues;
};

static int take_block(struct rec_iter *it, uint32_t id, int first, struct next *n)
{
	size_t last = it->cur ? (size_t)(it->cur - it->r->tb) : 0;
	uint32_t *s = it->succ[last];

	if (id >= it->r->ntb)
		return bad(it, "no such block", id, it->r->ntb);
	if (!first) {
		s[1] = s[0];
		s[0] = id;
	}
	n->tb = &it->r->tb[id];
	return 0;
}

/* The values of an event that only guests have. */
static int guest_event(struct rec_iter *it, uint64_t what, struct next *n)
{
	int n_of = what == REC_TICK || what == REC_VALUE ? 1 : what == REC_TRAP ? 3 : 4, err = 0;
	uint64_t v[4] = { 0 };

	for (int i = 0; i < n_of && !err; i++)
		err = number(it, &v[i]);
	if (what == REC_VALUE) {
		if (n->nvalues == REC_VALUES)
			return bad(it, "too many values of a block", v[0], 0);
		n->value[n->nvalues++] = v[0];
	} else if (what == REC_TICK) {
		n->ticks = v[0];
	} else if (what == REC_TRAP) {
		n->signal = 1;
		n->trap = (uint8_t)v[0];
		n->trap_level = (uint8_t)v[1];
		n->pc = v[2];
	} else {
		n->has_ctx = 1;
		n->ctx = (struct model_ctx){ .aspace = v[0], .level = (uint8_t)v[1],
					     .isa = (uint8_t)it->r->isa, .valid = 5 };
		n->table = v[2];
		n->user_thread = v[3];
	}
	return err;
}

static int read_next(struct rec_iter *it, struct next *n)
{
	size_t last = it->cur ? (size_t)(it->cur - it->r->tb) : 0;
	uint64_t v, left;
	int err;

	*n = (struct next){ 0 };
	while (!it->more) {
		err = number(it, &v);
		if (err)
			return err;
		if (v >= REC_T_MORE) {
			if (v & 1)
				return take_block(it, (uint32_t)((v - REC_T_MORE) / 2), 0, n);
			it->more = (v - REC_T_MORE) / 2 + 1;
			break;
		}
		if (v == REC_T_SECOND)
			return take_block(it, it->succ[last][1], 0, n);
		err = number(it, &v);
		if (!err && v == REC_END) {
			return 0;
		} else if (!err && v == REC_LEFT) {
			err = number(it, &left);
			n->left = (uint32_t)left;
		} else if (!err && v == REC_SIGNAL) {
			n->signal = 1;
			err = number(it, &n->pc);
		} else if (!err && v >= REC_VALUE && v <= REC_TICK && rec_is_guest(it->r)) {
			err = guest_event(it, v, n);
		} else if (!err) {
			err = bad(it, "unknown event", v, 0);
		}
		if (err)
			return err;
	}
	it->more--;
	return take_block(it, it->succ[last][0], 1, n);
}

static struct model_event *emit(struct rec_iter *it, unsigned op, uint64_t to)
{
	struct model_event *ev = &it->ev[it->nev++];

	*ev = (struct model_event){ .op = (uint8_t)op, .to = to, .tick = it->tick };
	return ev;
}

static void pass_time(struct rec_iter *it, uint32_t insns)
{
	uint64_t per = it->clk.per_tick;

	if (rec_is_guest(it->r))
		return;		/* its blocks tell */
	/* half to double speed, rounded by chance so that short blocks take time too */
	it->tick += (insns * (2 + rnd_below(it, 5)) + rnd_below(it, 4 * per)) / (4 * per);
	if (it->clk.pause_every && !rnd_below(it, it->clk.pause_every))
		it->tick += rnd_below(it, it->clk.pause_ticks + 1ull);
}

static int ends_flow(unsigned kind)
{
	return kind != MODEL_PLAIN && kind != MODEL_BARRIER && kind != MODEL_WAIT &&
		kind != MODEL_PTWRITE;
}

static void emit_run(struct rec_iter *it, const struct model_block *b, uint64_t to)
{
	struct model_event *ev;

	pass_time(it, b->insns);
	if (++it->runs == it->clk.slow_run && it->thread == it->clk.slow_thread)
		it->tick += it->clk.slow_ticks;
	ev = emit(it, MODEL_RUN, to);
	ev->block = b;
	ev->insns = b->insns;
	ev->taken = ends_flow(b->kind) && (!b->cond || to != b->last + b->last_size);
}

static uint64_t addr_of(const struct tb *t, uint32_t i)
{
	uint64_t a = t->first;

	for (uint32_t k = 0; k < i; k++)
		a += t->sizes[k];
	return a;
}

/* The first @n instructions of @part of @t, as a block that just ends. */
static const struct model_block *sub_block(struct rec *r, struct tb *t, uint32_t skip,
					   const struct model_block *part, uint32_t n)
{
	struct sub *s;

	for (s = t->subs; s; s = s->next) {
		if (s->p.b.first == part->first && s->p.b.insns == n)
			return &s->p.b;
	}
	s = arena_alloc(&r->mem, sizeof(*s));
	if (!s)
		return NULL;
	s->p.b = *part;
	s->p.sizes = t->sizes + skip;
	s->p.bytes = ((const struct part *)part)->bytes;
	s->p.b.insns = n;
	s->p.b.last = addr_of(t, skip + n - 1);
	s->p.b.last_size = t->sizes[skip + n - 1];
	s->p.b.kind = MODEL_PLAIN;
	s->p.b.cond = 0;
	s->p.b.target = MODEL_NO_ADDR;
	s->next = t->subs;
	t->subs = s;
	return &s->p.b;
}

/* How many instructions of @t retired; negative where that can not be. */
static int64_t retired(struct rec_iter *it, const struct tb *t, const struct next *n)
{
	const struct model_block *b = &t->parts[t->nparts - 1].b;
	uint64_t at;

	/* all of a block whose last instruction was none: drop_phantom() */
	if (n->left && n->left != t->n) {
		at = addr_of(t, n->left - 1);
		if (n->signal ? n->pc != at : n->tb && n->tb->first != at)
			return bad(it, "left in the middle, but not for here",
				   n->signal ? n->pc : n->tb->first, at);
		return n->left - 1;
	}
	/* a branch to itself is not one that was begun again */
	if (b->kind == MODEL_JUMP && b->target == t->last)
		return t->n;
	if (n->signal && n->pc == t->last)
		return t->n - 1;
	/* begun again, because the emulator had to translate it anew */
	if (!n->signal && n->tb && b->kind == MODEL_PLAIN && n->tb->first == t->last)
		return t->n - 1;
	return t->n;
}

static int is_natural(const struct model_block *b, uint64_t to)
{
	uint64_t fall = b->last + b->last_size;

	if (b->kind == MODEL_JUMP || b->kind == MODEL_CALL)
		return to == b->target || (b->cond && to == fall);
	return ends_flow(b->kind) || to == fall;
}

/* A trap that is what the last instruction was there for: INT n, INT3, SVC. */
static int is_call(const struct rec_iter *it, const struct model_block *b, const struct next *n)
{
	return rec_is_guest(it->r) && (b->kind == MODEL_SYSCALL || b->kind == MODEL_INT) &&
		n->signal && n->tb && n->pc == b->last + b->last_size;
}

/* @table: MODEL_NO_ADDR if it stays. */
static void set_context(struct rec_iter *it, const struct model_ctx *ctx, uint64_t table)
{
	struct model_event *ev = emit(it, MODEL_CONTEXT, it->user_thread);

	it->ctx = ev->ctx = *ctx;
	ev->value = table;
}

/* After @done instructions of @t. */
static void trap(struct rec_iter *it, const struct tb *t, const struct next *n, int64_t done)
{
	const struct model_ctx was = it->ctx;
	struct model_ctx ctx = was;
	struct model_event *ev;

	/* the level of an instruction that never ran: a return to where nothing is mapped */
	ctx.level = n->trap_level;
	if (ctx.level != was.level)
		set_context(it, &ctx, MODEL_NO_ADDR);
	ev = emit(it, MODEL_TRAP, n->tb ? n->tb->first : MODEL_NO_ADDR);
	ev->from = n->pc;
	ev->ctx.isa = t->parts->b.isa;
	ev->trap = n->trap == MODEL_TRAP_DATA_FAULT && !n->left && done == t->n ?
		MODEL_TRAP_INST_FAULT : n->trap;
	if (ctx.level != was.level && !n->has_ctx)
		set_context(it, &was, MODEL_NO_ADDR);
}

/* Tells of @t, which ran before @n. */
static int tell(struct rec_iter *it, struct tb *t, struct next *n)
{
	int64_t done = retired(it, t, n);
	const struct model_block *end = &t->parts[t->nparts - 1].b;
	unsigned values = 0;
	uint32_t k = 0;
	uint64_t to;
	int away = 0;

	if (done < 0)
		return (int)done;
	/* as hardware tells it: an exception at the instruction, not behind it as on the stack */
	if (done == t->n && end->kind == MODEL_INT && is_call(it, end, n)) {
		n->pc = end->last;
		done--;
	}
	for (uint32_t i = 0; i < t->nparts && k < done; i++) {
		const struct model_block *b = &t->parts[i].b;

		if (k + b->insns > done) {
			b = sub_block(it->r, t, k, b, (uint32_t)(done - k));
			if (!b)
				return -ENOMEM;
		}
		k += b->insns;
		if (k < t->n)
			to = b->last + b->last_size;
		else if ((b->kind == MODEL_SYSCALL || b->kind == MODEL_INT) &&
			 !rec_is_guest(it->r) && (n->tb || n->signal))
			to = MODEL_UNSEEN;
		else if (is_call(it, b, n))
			to = n->tb->first;
		else
			to = n->signal ? n->pc : n->tb ? n->tb->first : MODEL_NO_ADDR;
		away = to == MODEL_UNSEEN;
		if (to < MODEL_UNSEEN && !is_natural(b, to))
			return bad(it, "a block is followed by another one than it can be",
				   b->last, to);
		emit_run(it, b, to);
		if (b->kind == MODEL_PTWRITE && values < n->nvalues) {
			struct model_event *ev = emit(it, MODEL_VALUE, to);

			ev->value = n->value[values++];
			ev->size = 8;
		}
	}
	if (rec_is_guest(it->r)) {
		if (n->signal && !(done == t->n && is_call(it, &t->parts[t->nparts - 1].b, n)))
			trap(it, t, n, done);
		if (n->has_ctx) {
			it->user_thread = n->user_thread;
			set_context(it, &n->ctx, n->table);
		}
		return 0;
	}
	if (n->signal && !away) {
		struct model_event *ev = emit(it, MODEL_TRAP, MODEL_UNSEEN);

		ev->from = n->pc;
		ev->ctx.isa = t->parts->b.isa;
		ev->trap = done == t->n ? MODEL_TRAP_IRQ : MODEL_TRAP_DATA_FAULT;
		away = 1;
	}
	if (away && n->tb) {
		it->tick += 1 + rnd_below(it, it->clk.away_ticks + 1ull);
		emit(it, MODEL_ENTER, n->tb->first);
	}
	return 0;
}

static void begin(struct rec_iter *it, const struct tb *t, const struct next *n)
{
	struct model_event *ev;

	if (rec_is_guest(it->r)) {
		it->user_thread = n->user_thread;
		set_context(it, &n->ctx, n->table);
		emit(it, MODEL_ENTER, t->first);
		return;
	}
	ev = emit(it, MODEL_CONTEXT, 0);
	ev->ctx.isa = t->parts->b.isa;
	ev->ctx.level = it->r->isa == MODEL_X86_64 ? 3 : 0;
	ev->ctx.valid = 4;
	emit(it, MODEL_ENTER, t->first);
}

static int step(struct rec_iter *it)
{
	struct next n;
	int err = read_next(it, &n);

	if (err)
		return err;
	it->cur = n.tb;
	it->raw += n.ticks;
	if (rec_is_guest(it->r))
		it->tick = it->clk.start + it->raw / it->clk.per_tick;
	/* one more turn of a repeated string instruction */
	if (!n.left && !n.signal && n.tb && it->wait && it->wait->rep && n.tb->n == 1 &&
	    n.tb->first == it->wait->last && n.tb->rep)
		return 0;
	if (!it->wait && n.tb)
		begin(it, n.tb, &n);
	else if (it->wait)
		err = tell(it, it->wait, &n);
	it->wait = n.tb;
	if (!n.tb) {
		emit(it, MODEL_END, MODEL_NO_ADDR);
		it->ended = 1;
	}
	return err;
}

int rec_next(struct rec_iter *it, struct model_event *ev)
{
	while (it->at == it->nev) {
		int err;

		if (it->ended)
			return 0;
		it->at = it->nev = 0;
		err = step(it);
		if (err)
			return err;
	}
	*ev = it->ev[it->at++];
	return 1;
}
