/* SPDX-License-Identifier: BSD-2-Clause */
#include "ptprog.h"

#include <stdlib.h>
#include <string.h>

#define FUNCS	24	/* of a segment */
#define BLOCKS	7	/* of a function */
#define PER_SEG	(FUNCS * BLOCKS)
#define ALL	(PTPROG_SEGS * PER_SEG)
#define SEG_SIZE	8192u	/* bytes: more than PER_SEG blocks need */
#define DEPTH	200	/* calls; the oldest are forgotten */
#define FRAMES	6	/* nested interrupts */

enum { LOW, HIGH, COMPAT, KERNEL };
enum { SYSCALL_FUNC, TRAP_FUNC };	/* of the kernel */

/* Where an instruction pointer is: instruction @k of block @b. */
struct at {
	unsigned b, k;
};

struct stack {
	unsigned v[DEPTH];	/* blocks to return to */
	unsigned n;
};

struct thread {
	struct at at;
	struct stack s;
	unsigned seg;
	uint64_t aspace;
};

struct state {
	struct ptprog *p;
	struct ptprog_cfg cfg;
	uint64_t rnd, tick;
	/* [k]: from instruction k on, as after an interrupt there */
	struct ptprog_block block[ALL][PTPROG_INSNS];
	unsigned to[ALL];	/* block of the direct branch */
	struct thread thread[PTPROG_THREADS];
	unsigned cur;		/* thread */
	struct at kat;		/* in the kernel */
	struct stack ks;
	struct { struct at at; struct stack s; } frame[FRAMES];
	unsigned nframes;
	bool kernel;
	size_t cap;
	bool nomem;
};

static unsigned rnd(struct state *s, unsigned n)
{
	s->rnd = s->rnd * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((s->rnd >> 33) % n);
}

static struct model_block *whole(struct state *s, unsigned b)
{
	return &s->block[b][0].b;
}

/* Bytes of the last instruction of a block; its target is filled in later. */
static unsigned last_bytes(uint8_t *p, struct model_block *b, unsigned what)
{
	static const struct { uint8_t n, kind, code[4]; } t[] = {
		{ 6, MODEL_JUMP, { 0x0f, 0x84 } }, { 5, MODEL_JUMP, { 0xe9 } },
		{ 5, MODEL_CALL, { 0xe8 } }, { 2, MODEL_ICALL, { 0xff, 0xd0 } },
		{ 2, MODEL_IJUMP, { 0xff, 0xe0 } }, { 1, MODEL_RETURN, { 0xc3 } },
		{ 2, MODEL_SYSCALL, { 0x0f, 0x05 } }, { 2, MODEL_INT, { 0xcd, 0x80 } },
		{ 2, MODEL_FAR_RETURN, { 0x48, 0xcf } },
		{ 3, MODEL_FAR_RETURN, { 0x48, 0x0f, 0x07 } },
		{ 3, MODEL_PLAIN, { 0x0f, 0x22, 0xd8 } },	/* MOV CR3, RAX */
		{ 4, MODEL_PTWRITE, { 0xf3, 0x0f, 0xae, 0xe0 } },
	};

	memcpy(p, t[what].code, 4);
	b->kind = t[what].kind;
	b->cond = what == 0;
	b->last_size = t[what].n;
	return t[what].n;
}

enum { JCC, JMP, CALL, ICALL, IJUMP, RET, SYSCALL, INT, IRET, SYSRET, CR3, PTW };

static unsigned choose(struct state *s, unsigned seg, unsigned func, unsigned i)
{
	static const uint8_t usual[] = { JCC, JCC, JCC, JCC, JCC, JMP, CALL, ICALL, IJUMP, RET,
		RET };
	unsigned what;

	if (i == BLOCKS - 1) {
		if (seg == KERNEL && func <= TRAP_FUNC)
			return func == TRAP_FUNC ? IRET : SYSRET;
		return RET;
	}
	if (seg == KERNEL && i == 3 && func == SYSCALL_FUNC)
		return CR3;
	/*
	 * libipt takes a TIP.PGD without address for one of MOV to CR3 (a CR3 filter) if nothing
	 * stands between, SYSRET into code that is not traced: a branch keeps them apart
	 */
	if (seg == KERNEL && i == 4 && func == SYSCALL_FUNC)
		return JCC;
	/* an entry must be left by its end */
	if (seg == KERNEL && func <= TRAP_FUNC)
		return rnd(s, 2) ? JCC : CALL;
	if (seg != KERNEL && !rnd(s, 20))
		return seg == COMPAT ? INT : SYSCALL;
	if (seg != COMPAT && !rnd(s, 25))
		return PTW;
	/* the kernel calls functions behind only: it comes to an end */
	while ((what = usual[rnd(s, sizeof(usual))]) == ICALL && seg == KERNEL)
		;
	return what;
}

static unsigned lay_block(struct state *s, unsigned seg, unsigned func, unsigned i, unsigned at)
{
	struct ptprog_seg *g = &s->p->seg[seg];
	struct ptprog_block *pb = s->block[seg * PER_SEG + func * BLOCKS + i];
	struct model_block *b = &pb->b;
	unsigned n = rnd(s, PTPROG_INSNS), start = at;

	if (func == FUNCS / 2 && !i)
		g->half = g->addr + at;
	*b = (struct model_block){ .first = g->addr + at, .target = MODEL_NO_ADDR, .insns = n + 1,
		.isa = g->bits == 64 ? MODEL_X86_64 : MODEL_X86_32 };
	pb->level = g->level;
	for (unsigned k = 0; k < n; k++) {
		static const uint8_t nop[3][3] = { { 0x90 }, { 0x31, 0xc0 }, { 0x0f, 0x1f, 0x00 } };
		unsigned size = 1 + rnd(s, 3);

		pb->off[k] = (uint8_t)(at - start);
		memcpy(g->code + at, nop[size - 1], size);
		at += size;
	}
	pb->off[n] = (uint8_t)(at - start);
	b->last = g->addr + at;
	at += last_bytes(g->code + at, b, choose(s, seg, func, i));
	for (unsigned k = 1; k <= n; k++) {
		pb[k] = *pb;
		pb[k].b.first += pb->off[k];
		pb[k].b.insns -= k;
		for (unsigned j = 0; j + k <= n; j++)
			pb[k].off[j] = (uint8_t)(pb->off[j + k] - pb->off[k]);
	}
	return at;
}

/*
 * Direct branches: in the function; calls to a function behind, or to the next instruction. No loop
 * without a packet: nothing in a trace would say in which turn an interrupt came.
 */
static void link_block(struct state *s, unsigned seg, unsigned b)
{
	struct ptprog_seg *g = &s->p->seg[seg];
	struct model_block *m = whole(s, b);
	unsigned func = (b - seg * PER_SEG) / BLOCKS, to;
	unsigned first = func < 2 ? 2 : func + 1;	/* not into an entry of the kernel */
	int32_t rel;
	uint8_t *p;

	if (m->kind == MODEL_JUMP && m->cond)
		to = seg * PER_SEG + func * BLOCKS + rnd(s, BLOCKS);
	else if (m->kind == MODEL_JUMP)
		to = b + 1 + rnd(s, BLOCKS - 1 - b % BLOCKS);
	else if (m->kind == MODEL_CALL && func < FUNCS - 1 && rnd(s, 8))
		to = seg * PER_SEG + (first + rnd(s, FUNCS - first)) * BLOCKS;
	else if (m->kind == MODEL_CALL)
		to = b + 1;
	else
		return;
	s->to[b] = to;
	rel = (int32_t)(whole(s, to)->first - (m->last + m->last_size));
	p = g->code + (m->last - g->addr) + m->last_size - 4;
	memcpy(p, &rel, 4);
	for (unsigned k = 0; k < m->insns; k++)
		s->block[b][k].b.target = whole(s, to)->first;
}

static int lay(struct state *s)
{
	static const uint64_t addr[] = { 0x401000, 0x7f5512345000, 0x8048000, 0xffffffff81000000 };

	for (unsigned seg = 0; seg < PTPROG_SEGS; seg++) {
		struct ptprog_seg *g = &s->p->seg[seg];
		unsigned at = 0;

		*g = (struct ptprog_seg){ .addr = addr[seg], .size = SEG_SIZE,
			.bits = seg == COMPAT ? 32 : 64, .level = seg == KERNEL ? 0 : 3,
			.code = calloc(1, SEG_SIZE) };
		if (!g->code)
			return -1;
		for (unsigned i = 0; i < PER_SEG; i++)
			at = lay_block(s, seg, i / BLOCKS, i % BLOCKS, at);
	}
	for (unsigned b = 0; b < ALL; b++)
		link_block(s, b / PER_SEG, b);
	return 0;
}

static struct model_event *add(struct state *s, unsigned op)
{
	struct ptprog *p = s->p;
	struct model_event *ev;

	if (p->nev == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 1024;

		ev = realloc(p->ev, cap * sizeof(*ev));
		if (!ev) {
			s->nomem = true;
			return &p->ev[p->nev - 1];
		}
		p->ev = ev;
		s->cap = cap;
	}
	ev = &p->ev[p->nev++];
	*ev = (struct model_event){ .op = (uint8_t)op, .tick = s->tick };
	return ev;
}

static void pass_time(struct state *s, unsigned insns)
{
	s->tick += rnd(s, 3 * insns);
	if (!rnd(s, 1000))
		s->tick += rnd(s, 3000);
	if (s->cfg.pauses && !rnd(s, 20000))
		s->tick += 100000000 + rnd(s, 1000);
}

static bool seen(const struct state *s)
{
	return !s->kernel || !s->cfg.unseen;
}

static void tell_context(struct state *s)
{
	const struct thread *t = &s->thread[s->cur];
	struct model_event *ev;

	if (s->cfg.no_context)
		return;
	ev = add(s, MODEL_CONTEXT);
	ev->ctx = (struct model_ctx){ .aspace = t->aspace, .level = s->kernel ? 0 : 3,
		.isa = s->kernel || t->seg != COMPAT ? MODEL_X86_64 : MODEL_X86_32, .valid = 5 };
}

static uint64_t addr_of(const struct state *s, struct at at)
{
	return s->block[at.b][at.k].b.first;
}

static struct at *now(struct state *s)
{
	return s->kernel ? &s->kat : &s->thread[s->cur].at;
}

static struct stack *calls(struct state *s)
{
	return s->kernel ? &s->ks : &s->thread[s->cur].s;
}

/* The kernel starts at a function; what ran is kept. */
static void enter_kernel(struct state *s, unsigned func)
{
	if (s->kernel) {
		s->frame[s->nframes].at = s->kat;
		s->frame[s->nframes++].s = s->ks;
	}
	s->kernel = true;
	s->ks.n = 0;
	s->kat = (struct at){ KERNEL * PER_SEG + func * BLOCKS, 0 };
	if (seen(s))
		tell_context(s);
}

static void leave_kernel(struct state *s)
{
	if (s->nframes) {
		s->kat = s->frame[--s->nframes].at;
		s->ks = s->frame[s->nframes].s;
	} else {
		s->kernel = false;
	}
	if (s->cfg.unseen && !s->kernel)
		add(s, MODEL_ENTER)->to = addr_of(s, *now(s));
	if (seen(s))
		tell_context(s);
}

static unsigned entry(struct state *s, unsigned seg)
{
	return seg * PER_SEG + (2 + rnd(s, FUNCS - 2)) * BLOCKS;
}

/* Interrupt or fault before instruction @k of the block that was to run. */
static void trap(struct state *s, unsigned k)
{
	struct at *at = now(s);
	struct ptprog_block *pb = &s->block[at->b][at->k];
	struct model_event *ev;
	bool was = seen(s);

	if (k && was) {
		s->p->insns += k;
		ev = add(s, MODEL_RUN);
		ev->block = &pb->b;
		ev->insns = k;
		ev->to = MODEL_NO_ADDR;
		pass_time(s, 3);
	}
	at->k += k;
	if (was) {
		ev = add(s, MODEL_TRAP);
		ev->trap = MODEL_TRAP_IRQ;
		ev->from = addr_of(s, *at);
		ev->to = s->cfg.unseen ? MODEL_UNSEEN : whole(s, KERNEL * PER_SEG + TRAP_FUNC *
							      BLOCKS)->first;
	}
	enter_kernel(s, TRAP_FUNC);
}

/* Where the last instruction of the block goes; the block to go on at. */
static unsigned follow(struct state *s, unsigned b, unsigned kind, bool taken)
{
	unsigned seg = b / PER_SEG;
	struct stack *st = calls(s);

	switch (kind) {
	case MODEL_CALL: case MODEL_ICALL:
		if (kind == MODEL_CALL && s->to[b] == b + 1)
			return b + 1;
		if (st->n == DEPTH)
			memmove(st->v, st->v + 1, --st->n * sizeof(st->v[0]));
		st->v[st->n++] = b + 1;
		return kind == MODEL_CALL ? s->to[b] :
			entry(s, seg == LOW || seg == HIGH ? rnd(s, 2) : seg);
	case MODEL_JUMP:
		return taken ? s->to[b] : b + 1;
	case MODEL_IJUMP:
		return entry(s, seg == LOW || seg == HIGH ? rnd(s, 2) : seg);
	case MODEL_RETURN:
		if (!st->n)	/* in the kernel: to the IRET */
			return seg != KERNEL ? entry(s, seg) :
				KERNEL * PER_SEG + TRAP_FUNC * BLOCKS + BLOCKS - 1;
		b = st->v[--st->n];
		return s->cfg.tricks && !rnd(s, 50) ? entry(s, seg) : b;
	default:
		return b + 1;
	}
}

static void after_far(struct state *s, unsigned kind)
{
	if (kind == MODEL_SYSCALL || kind == MODEL_INT)
		enter_kernel(s, s->thread[s->cur].seg == COMPAT ? TRAP_FUNC : SYSCALL_FUNC);
	else
		leave_kernel(s);
}

/* Address at which a far transfer goes on. */
static uint64_t far_to(struct state *s, unsigned kind)
{
	if (kind == MODEL_SYSCALL || kind == MODEL_INT)
		return s->cfg.unseen ? MODEL_UNSEEN :
			whole(s, KERNEL * PER_SEG + (s->thread[s->cur].seg == COMPAT ? TRAP_FUNC :
						     SYSCALL_FUNC) * BLOCKS)->first;
	return s->nframes ? addr_of(s, s->frame[s->nframes - 1].at) :
		addr_of(s, s->thread[s->cur].at);
}

/* A software interrupt is told at its own address, as if it had not run (SDM, "FUP Cases"). */
static void run_int(struct state *s, const struct model_block *b)
{
	struct model_event *ev;

	if (b->insns > 1) {
		s->p->insns += b->insns - 1;
		ev = add(s, MODEL_RUN);
		ev->block = b;
		ev->insns = b->insns - 1;
		ev->to = MODEL_NO_ADDR;
	}
	ev = add(s, MODEL_TRAP);
	ev->trap = MODEL_TRAP_OTHER;
	ev->from = b->last;
	ev->to = far_to(s, b->kind);
}

static void run_block(struct state *s)
{
	struct at at = *now(s);
	const struct model_block *b = &s->block[at.b][at.k].b;
	bool far = b->kind == MODEL_SYSCALL || b->kind == MODEL_FAR_RETURN ||
		b->kind == MODEL_INT, was = seen(s);
	bool taken = b->kind == MODEL_JUMP && (!b->cond || rnd(s, 3));
	struct model_event *ev;
	unsigned to = ALL;

	pass_time(s, b->insns);
	s->p->branches += was && (b->cond || b->kind == MODEL_RETURN || b->kind == MODEL_IJUMP ||
				  b->kind == MODEL_ICALL);
	if (!far)
		to = follow(s, at.b, b->kind, taken);
	*now(s) = (struct at){ far ? at.b + 1 : to, 0 };
	if (was && b->kind == MODEL_INT) {
		run_int(s, b);
	} else if (was) {
		s->p->insns += b->insns;
		ev = add(s, MODEL_RUN);
		ev->block = b;
		ev->insns = b->insns;
		ev->taken = taken;
		ev->to = far ? far_to(s, b->kind) : whole(s, to)->first;
	}
	if (far)
		after_far(s, b->kind);
	if (b->kind == MODEL_PTWRITE && was) {
		ev = add(s, MODEL_VALUE);
		ev->size = (uint8_t)(4 + 4 * rnd(s, 2));
		ev->value = (uint64_t)rnd(s, 1000) << (ev->size * 4);
	}
	if (b->kind == MODEL_PLAIN) {	/* MOV to CR3: the thread to return to */
		if (!s->nframes)
			s->cur = s->cfg.one_thread ? s->cur : rnd(s, PTPROG_THREADS);
		if (was)
			tell_context(s);
	}
}

int ptprog_make(struct ptprog *p, const struct ptprog_cfg *cfg)
{
	struct state *s = calloc(1, sizeof(*s));

	memset(p, 0, sizeof(*p));
	if (!s)
		return -1;
	p->priv = s;
	s->p = p;
	s->cfg = *cfg;
	s->rnd = cfg->seed;
	s->tick = 1000000 + rnd(s, 1000);
	if (lay(s)) {
		ptprog_free(p);
		return -1;
	}
	for (unsigned i = 0; i < PTPROG_THREADS; i++) {
		s->thread[i].seg = i == 2 ? COMPAT : i;
		s->thread[i].at.b = entry(s, s->thread[i].seg);
		s->thread[i].aspace = 0x12345000 + i * 0x1000 + (i ? 0x8000000000000000 : 0);
	}
	s->cur = rnd(s, PTPROG_THREADS);
	tell_context(s);
	for (size_t i = 0; p->branches < cfg->branches && !s->nomem; i++) {
		struct at *at = now(s);

		if (i == 100 * cfg->branches)	/* this seed's kernel does not come to an end */
			break;
		if (!rnd(s, 200) && s->nframes < FRAMES - 1)
			trap(s, rnd(s, s->block[at->b][at->k].b.insns));
		else
			run_block(s);
	}
	if (s->nomem) {
		ptprog_free(p);
		return -1;
	}
	add(s, MODEL_END);
	return 0;
}

void ptprog_free(struct ptprog *p)
{
	for (unsigned i = 0; i < PTPROG_SEGS; i++)
		free(p->seg[i].code);
	free(p->ev);
	free(p->priv);
	memset(p, 0, sizeof(*p));
}

bool ptprog_at(const struct ptprog *p, struct ptprog_cur *c,
	       bool (*want)(const struct ptprog_block *b, const void *arg), const void *arg,
	       uint64_t *addr)
{
	for (; c->ev < p->nev; c->ev++, c->k = 0) {
		const struct model_event *ev = &p->ev[c->ev];
		const struct ptprog_block *b = (const struct ptprog_block *)ev->block;

		if (ev->op != MODEL_RUN || c->k >= ev->insns || (want && !want(b, arg)))
			continue;
		*addr = b->b.first + b->off[c->k];
		return true;
	}
	return false;
}
