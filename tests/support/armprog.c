/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encodings: Arm DDI 0487, chapters C4 and F3. Longer than other files: the program's maker and its
 * interpreter, for two instruction sets, share their tables.
 */
#include "armprog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 64		/* calls and exceptions remembered */

static uint32_t rnd(struct armprog *p, uint32_t n)
{
	p->rnd = p->rnd * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(p->rnd >> 33) % n;
}

struct shape { uint32_t code; uint8_t size, kind, cond, weight, it; };

/* @it: 1 opens an IT block of one, 2 of two; the instruction before the present one does */
static const struct shape a64[] = {
	{ 0xd503201f, 4, MODEL_PLAIN, 0, 60, 0 }, { 0x91000400, 4, MODEL_PLAIN, 0, 60, 0 },
	{ 0x14000000, 4, MODEL_JUMP, 0, 8, 0 }, { 0x54000000, 4, MODEL_JUMP, 1, 24, 0 },
	{ 0xb4000000, 4, MODEL_JUMP, 1, 8, 0 }, { 0x37000000, 4, MODEL_JUMP, 1, 8, 0 },
	{ 0x94000000, 4, MODEL_CALL, 0, 10, 0 }, { 0xd61f0060, 4, MODEL_IJUMP, 0, 4, 0 },
	{ 0xd63f0060, 4, MODEL_ICALL, 0, 4, 0 }, { 0xd65f03c0, 4, MODEL_RETURN, 0, 12, 0 },
	{ 0xd4000001, 4, MODEL_SYSCALL, 0, 2, 0 }, { 0xd5033fdf, 4, MODEL_BARRIER, 0, 3, 0 },
	{ 0xd503207f, 4, MODEL_WAIT, 0, 1, 0 }, { 0xd503205f, 4, MODEL_WAIT, 0, 1, 0 },
};

/* handlers: short, and they come to an end */
static const struct shape kernel[] = {
	{ 0xd503201f, 4, MODEL_PLAIN, 0, 40, 0 }, { 0x54000001, 4, MODEL_JUMP, 1, 12, 0 },
	{ 0x94000000, 4, MODEL_CALL, 0, 6, 0 }, { 0xd65f03c0, 4, MODEL_RETURN, 0, 6, 0 },
	{ 0xd5033fdf, 4, MODEL_BARRIER, 0, 6, 0 }, { 0xd69f03e0, 4, MODEL_FAR_RETURN, 0, 12, 0 },
};

static const struct shape t32[] = {
	{ 0xbf00, 2, MODEL_PLAIN, 0, 60, 0 }, { 0xf3af8000, 4, MODEL_PLAIN, 0, 40, 0 },
	{ 0xe000, 2, MODEL_JUMP, 0, 6, 0 }, { 0xd000, 2, MODEL_JUMP, 1, 24, 0 },
	{ 0xb100, 2, MODEL_JUMP, 1, 8, 0 }, { 0xf0009000, 4, MODEL_JUMP, 0, 4, 0 },
	{ 0xf000d000, 4, MODEL_CALL, 0, 8, 0 }, { 0xf000c000, 4, MODEL_CALL, 0, 4, 0 },
	{ 0x4718, 2, MODEL_IJUMP, 0, 4, 0 }, { 0x4770, 2, MODEL_RETURN, 0, 6, 0 },
	{ 0xbd00, 2, MODEL_RETURN, 0, 6, 0 }, { 0x4798, 2, MODEL_ICALL, 0, 4, 0 },
	{ 0xe8d1f002, 4, MODEL_IJUMP, 0, 4, 0 }, { 0xdf00, 2, MODEL_SYSCALL, 0, 2, 0 },
	{ 0xf3bf8f6f, 4, MODEL_BARRIER, 0, 2, 0 }, { 0xbf30, 2, MODEL_WAIT, 0, 2, 0 },
	{ 0x4770, 2, MODEL_RETURN, 1, 6, 1 }, { 0xbd00, 2, MODEL_RETURN, 1, 4, 2 },
	{ 0xe000, 2, MODEL_JUMP, 1, 6, 2 },
};

static const struct shape a32[] = {
	{ 0xe320f000, 4, MODEL_PLAIN, 0, 60, 0 }, { 0xea000000, 4, MODEL_JUMP, 0, 6, 0 },
	{ 0x1a000000, 4, MODEL_JUMP, 1, 16, 0 }, { 0xeb000000, 4, MODEL_CALL, 0, 6, 0 },
	{ 0xfa000000, 4, MODEL_CALL, 0, 4, 0 }, { 0xe12fff1e, 4, MODEL_RETURN, 0, 4, 0 },
	{ 0x012fff1e, 4, MODEL_RETURN, 1, 6, 0 }, { 0xe12fff33, 4, MODEL_ICALL, 0, 4, 0 },
	{ 0xe12fff13, 4, MODEL_IJUMP, 0, 4, 0 }, { 0xe49df004, 4, MODEL_RETURN, 0, 6, 0 },
	{ 0xef000000, 4, MODEL_SYSCALL, 0, 2, 0 }, { 0xf57ff06f, 4, MODEL_BARRIER, 0, 2, 0 },
	{ 0x03a01001, 4, MODEL_PLAIN, 0, 8, 0 },
};

static const struct shape *shapes_of(const struct arm_chunk *c, unsigned *n)
{
	if (!c->user) {
		*n = sizeof(kernel) / sizeof(kernel[0]);
		return kernel;
	}
	switch (c->isa) {
	case MODEL_T32:
		*n = sizeof(t32) / sizeof(t32[0]);
		return t32;
	case MODEL_A32:
		*n = sizeof(a32) / sizeof(a32[0]);
		return a32;
	default:
		*n = sizeof(a64) / sizeof(a64[0]);
		return a64;
	}
}

static const struct shape *pick_shape(struct armprog *p, const struct arm_chunk *c)
{
	const struct shape *s;
	unsigned n, sum = 0, k;

	s = shapes_of(c, &n);
	for (unsigned i = 0; i < n; i++)
		sum += s[i].weight;
	k = rnd(p, sum);
	while (k >= s->weight)
		k -= s++->weight;
	return s;
}

static void add(struct armprog *p, struct arm_chunk *c, const struct shape *s, bool entry)
{
	p->v[p->n++] = (struct arm_insn){
		.addr = c->addr + c->bytes, .target = MODEL_NO_ADDR, .code = s->code,
		.size = s->size, .isa = c->isa, .kind = s->kind, .cond = s->cond,
		.entry = entry, .chunk = (uint8_t)(c - p->chunk),
	};
	c->bytes += s->size;
	c->n++;
}

static void fill(struct armprog *p, unsigned insns)
{
	struct arm_chunk *c = &p->chunk[p->nchunks - 1];
	static const struct shape it = { 0xbf08, 2, MODEL_PLAIN, 0, 0, 0 };	/* IT EQ */
	static const struct shape itt = { 0xbf04, 2, MODEL_PLAIN, 0, 0, 0 };	/* ITT EQ */
	const struct shape *end = c->isa == MODEL_T32 ? &t32[5] : c->isa == MODEL_A32 ? &a32[1] :
		c->user ? &a64[2] : &kernel[5];

	c->first = p->n;
	while (c->n < insns) {
		const struct shape *s = pick_shape(p, c);

		if (s->it)
			add(p, c, s->it == 1 ? &it : &itt, true);
		if (s->it == 2)
			add(p, c, &t32[0], false);
		add(p, c, s, !s->it);
	}
	add(p, c, end, true);
}

/* Bytes that a direct branch reaches, both ways. */
static int64_t reach(const struct arm_insn *i)
{
	if (i->isa != MODEL_T32)
		return 32000;
	if (i->size == 4)
		return 1 << 20;
	return (i->code & 0xf000) == 0xd000 ? 250 : (i->code & 0xf000) == 0xb000 ? 120 : 2000;
}

static bool may_go(const struct armprog *p, const struct arm_insn *i, const struct arm_insn *to)
{
	int64_t d = (int64_t)(to->addr - i->addr);
	bool exchange = (i->isa == MODEL_T32 && (i->code & 0xf800d000) == 0xf000c000) ||
		(i->isa == MODEL_A32 && i->code >> 25 == 0x7d);

	if (!to->entry || (to->isa != i->isa) != exchange)
		return false;
	if (p->chunk[i->chunk].user != p->chunk[to->chunk].user)
		return false;
	if (i->isa == MODEL_T32 && i->size == 2 && (i->code & 0xf000) == 0xb000)
		return d >= 4 && d <= reach(i);		/* CBZ goes forward */
	/* nor do loops without a condition help anybody */
	if (!i->cond && !exchange && d <= 0 && to != &p->v[p->chunk[i->chunk].first])
		return false;
	return exchange ? d > -1000000 && d < 1000000 : d >= -reach(i) && d <= reach(i);
}

static uint32_t wide(uint32_t code, int64_t d)
{
	uint32_t s = d < 0, i1 = d >> 23 & 1, i2 = d >> 22 & 1;

	return code | s << 26 | (d >> 12 & 0x3ff) << 16 | (!i1 ^ s) << 13 | (!i2 ^ s) << 11 |
		(d >> 1 & 0x7ff);
}

static void encode(struct arm_insn *i)
{
	int64_t d = (int64_t)(i->target - i->addr);

	switch (i->isa) {
	case MODEL_A64:
		if (i->code >> 26 == 0x05 || i->code >> 26 == 0x25)
			i->code |= d >> 2 & 0x3ffffff;
		else if (i->code >> 24 == 0x37)
			i->code |= (d >> 2 & 0x3fff) << 5;
		else
			i->code |= (d >> 2 & 0x7ffff) << 5;
		break;
	case MODEL_A32:
		d -= 8;
		i->code |= d >> 2 & 0xffffff;
		if (i->code >> 25 == 0x7d)
			i->code |= (d >> 1 & 1) << 24;
		break;
	default:
		d -= 4;
		if (i->size == 4 && (i->code & 0xd000) == 0xc000)
			i->code = wide(i->code, (int64_t)(i->target - ((i->addr + 4) & ~3ull)));
		else if (i->size == 4)
			i->code = wide(i->code, d);
		else if ((i->code & 0xf000) == 0xd000)
			i->code |= d >> 1 & 0xff;
		else if ((i->code & 0xf000) == 0xb000)
			i->code |= (d >> 1 & 0x1f) << 3 | (d >> 6 & 1) << 9;
		else
			i->code |= d >> 1 & 0x7ff;
		break;
	}
}

/* Branches that reach nothing become NOPs. */
static void aim(struct armprog *p)
{
	for (uint32_t k = 0; k < p->n; k++) {
		struct arm_insn *i = &p->v[k];
		const struct arm_chunk *c = &p->chunk[i->chunk];
		const struct arm_insn *to = NULL;

		if (i->kind != MODEL_JUMP && i->kind != MODEL_CALL)
			continue;
		for (unsigned try = 0; try < 200; try++) {
			bool far = (i->isa == MODEL_A32 && i->code >> 25 == 0x7d) ||
				(i->isa == MODEL_T32 && i->size == 4);
			uint32_t at = far ? rnd(p, p->n) : k + rnd(p, 201) - 100;

			/* the last one of a chunk goes back to its first */
			if (k + 1 == c->first + c->n)
				at = c->first;
			if (at < p->n && may_go(p, i, &p->v[at])) {
				to = &p->v[at];
				break;
			}
		}
		if (to) {
			i->target = to->addr;
			encode(i);
			continue;
		}
		i->kind = MODEL_PLAIN;
		i->cond = 0;
		i->code = i->isa == MODEL_A64 ? 0xd503201f : i->isa == MODEL_A32 ? 0xe320f000 :
			i->size == 4 ? 0xf3af8000 : 0xbf00;
	}
}

static void chunk(struct armprog *p, uint64_t addr, bool user, unsigned isa, unsigned insns)
{
	p->chunk[p->nchunks++] = (struct arm_chunk){ .addr = addr, .user = user,
						     .isa = (uint8_t)isa };
	fill(p, insns);
}

static int lay_out(struct armprog *p)
{
	for (unsigned k = 0; k < p->nchunks; k++) {
		struct arm_chunk *c = &p->chunk[k];
		uint8_t *m = c->mem = malloc(c->bytes);

		if (!m)
			return -ENOMEM;
		for (uint32_t i = c->first; i < c->first + c->n; i++) {
			uint32_t w = p->v[i].code;

			if (c->isa == MODEL_T32 && p->v[i].size == 4)
				w = w >> 16 | w << 16;
			for (unsigned b = 0; b < p->v[i].size; b++)
				*m++ = (uint8_t)(w >> 8 * b);
		}
	}
	return 0;
}

static int make_prog(struct armprog *p, const struct armrun_cfg *cfg)
{
	memset(p, 0, sizeof(*p));
	p->rnd = cfg->seed;
	p->v = calloc(2200 + 5 * 8, sizeof(*p->v));
	if (!p->v)
		return -ENOMEM;
	if (cfg->aarch32) {
		chunk(p, 0x10000, true, MODEL_T32, 700);
		chunk(p, 0x20000, true, MODEL_A32, 400);
		chunk(p, 0x76543100, true, MODEL_T32, 400);
	} else {
		chunk(p, 0x400000, true, MODEL_A64, 600);
		chunk(p, 0x410000, true, MODEL_A64, 200);
		chunk(p, 0x7f45670000, true, MODEL_A64, 400);
	}
	chunk(p, 0xffff800008081000, false, MODEL_A64, 300);
	chunk(p, 0xffff800010002000, false, MODEL_A64, 200);
	aim(p);
	return lay_out(p);
}

const struct arm_insn *armprog_at(const struct armprog *p, uint64_t addr)
{
	for (unsigned k = 0; k < p->nchunks; k++) {
		const struct arm_chunk *c = &p->chunk[k];
		uint32_t lo = c->first, hi = c->first + c->n;

		if (addr < c->addr || addr - c->addr >= c->bytes)
			continue;
		while (hi - lo > 1) {
			uint32_t mid = (lo + hi) / 2;

			if (p->v[mid].addr <= addr)
				lo = mid;
			else
				hi = mid;
		}
		return p->v[lo].addr == addr ? &p->v[lo] : NULL;
	}
	return NULL;
}

size_t armprog_read(const struct armprog *p, uint64_t addr, void *buf, size_t n)
{
	for (unsigned k = 0; k < p->nchunks; k++) {
		const struct arm_chunk *c = &p->chunk[k];
		uint64_t off = addr - c->addr;

		if (addr < c->addr || off >= c->bytes)
			continue;
		if (n > c->bytes - off)
			n = c->bytes - off;
		memcpy(buf, c->mem + off, n);
		return n;
	}
	return 0;
}

struct run {
	struct armrun *r;
	struct armprog *p;
	const struct armrun_cfg *cfg;
	int (*put)(void *arg, const struct model_event *ev);
	void *arg;
	uint64_t tick, events;
	uint32_t pc;			/* number of the instruction */
	uint8_t el;
	uint32_t cid, vmid;
	uint32_t calls[DEPTH];
	struct { uint32_t pc; uint8_t el; } saved[DEPTH];
	unsigned ncalls, nsaved;
	bool gap;
	int err;
};

static void item(struct run *x, unsigned what, uint64_t pc, unsigned isa, unsigned exc)
{
	struct armrun *r = x->r;

	if (r->n == r->room) {
		size_t room = r->room ? 2 * r->room : 4096;
		struct arm_item *v = realloc(r->v, room * sizeof(*v));

		if (!v) {
			x->err = -ENOMEM;
			return;
		}
		r->v = v;
		r->room = room;
	}
	r->v[r->n++] = (struct arm_item){ .pc = pc, .tick = x->tick, .event = x->events,
		.cid = x->cid, .vmid = x->vmid, .what = (uint8_t)what, .isa = (uint8_t)isa,
		.el = x->el, .ns = x->cfg->ns, .exc = (uint8_t)exc, .gap = x->gap };
	x->gap = false;
}

static void tell(struct run *x, const struct model_event *ev)
{
	if (!x->err)
		x->err = x->put(x->arg, ev);
	x->events++;
}

static void tell_context(struct run *x)
{
	struct model_event ev = { .op = MODEL_CONTEXT, .tick = x->tick };

	ev.ctx = (struct model_ctx){ .aspace = x->cid, .vmid = x->vmid, .level = x->el,
		.secure = !x->cfg->ns, .isa = x->p->v[x->pc].isa, .valid = 7 };
	tell(x, &ev);
}

static uint32_t number(const struct armprog *p, uint64_t addr)
{
	return (uint32_t)(armprog_at(p, addr) - p->v);
}

/* A place of user code, or of handlers, that may be branched to. */
static uint32_t anywhere(struct run *x, bool user)
{
	uint32_t k;

	do
		k = rnd(x->p, x->p->n);
	while (!x->p->v[k].entry || x->p->chunk[x->p->v[k].chunk].user != user);
	return k;
}

/* Exception at EL0 or EL1, to EL1. */
static void enter_kernel(struct run *x, uint32_t back)
{
	if (!rnd(x->p, 8))
		back = anywhere(x, !x->el);	/* another task, or out of a loop for ever */
	if (x->nsaved == DEPTH)
		x->nsaved = 0;		/* a kernel that never returned */
	x->saved[x->nsaved].pc = back;
	x->saved[x->nsaved++].el = x->el;
	x->el = 1;
}

/* Whether the instruction that runs next is followed by what the recorder does not see. */
static bool goes_unseen(struct run *x)
{
	return x->cfg->unseen && !x->el;
}

static void leave_unseen(struct run *x, uint32_t back)
{
	struct model_event ev = { .op = MODEL_ENTER };

	x->pc = rnd(x->p, 8) ? back : anywhere(x, true);
	x->tick += rnd(x->p, 2000);
	ev.tick = x->tick;
	ev.to = x->p->v[x->pc].addr;
	tell(x, &ev);
	x->gap = true;
}

static void trap(struct run *x)
{
	static const uint8_t kinds[] = { MODEL_TRAP_IRQ, MODEL_TRAP_IRQ, MODEL_TRAP_NMI,
		MODEL_TRAP_INST_FAULT, MODEL_TRAP_DATA_FAULT, MODEL_TRAP_UNDEFINED,
		MODEL_TRAP_DEBUG, MODEL_TRAP_OTHER, MODEL_TRAP_HALT };
	const struct arm_insn *i = &x->p->v[x->pc];
	struct model_event ev = { .op = MODEL_TRAP, .from = i->addr };
	bool unseen = goes_unseen(x);
	uint32_t back = x->pc;

	x->tick += rnd(x->p, 4);
	ev.tick = x->tick;
	/* the last one has no handler */
	ev.trap = kinds[rnd(x->p, sizeof(kinds) - !unseen)];
	ev.ctx.isa = i->isa;
	item(x, ARM_EXC, i->addr, i->isa, ev.trap);
	if (unseen) {
		ev.to = MODEL_UNSEEN;
		tell(x, &ev);
		leave_unseen(x, back);
		return;
	}
	x->pc = anywhere(x, false);
	ev.to = x->p->v[x->pc].addr;
	tell(x, &ev);
	enter_kernel(x, back);
	tell_context(x);
}

static void push_call(struct run *x, uint32_t back)
{
	if (x->ncalls == DEPTH) {
		memmove(x->calls, x->calls + 1, (DEPTH - 1) * sizeof(x->calls[0]));
		x->ncalls--;
	}
	x->calls[x->ncalls++] = back;
}

/* Where the present instruction leads if it is executed; the exception level may change. */
static uint32_t leads_to(struct run *x, uint32_t k)
{
	const struct arm_insn *i = &x->p->v[k];
	bool user = !x->el;

	switch (i->kind) {
	case MODEL_CALL:
	case MODEL_ICALL:
		push_call(x, k + 1);
		return i->kind == MODEL_CALL ? number(x->p, i->target) : anywhere(x, user);
	case MODEL_JUMP:
		return number(x->p, i->target);
	case MODEL_IJUMP:
		/* a jump table: some places are more likely */
		return rnd(x->p, 2) && x->ncalls ? x->calls[x->ncalls - 1] : anywhere(x, user);
	case MODEL_RETURN:
		while (x->ncalls) {
			uint32_t to = x->calls[--x->ncalls];

			if (x->p->chunk[x->p->v[to].chunk].user == user && rnd(x->p, 16))
				return to;
		}
		return anywhere(x, user);
	case MODEL_FAR_RETURN:
		if (x->nsaved) {
			x->el = x->saved[--x->nsaved].el;
			return x->saved[x->nsaved].pc;
		}
		x->el = 0;
		return anywhere(x, true);
	default:
		return k + 1;
	}
}

/* The block that begins at instruction @k, up to the next that may change the flow. */
static const struct model_block *block_at(struct armrun *r, uint32_t k)
{
	const struct armprog *p = &r->prog;
	struct model_block *b = &r->block[k];
	uint32_t last = k;

	if (b->insns)
		return b;
	/* some end for no reason, as a recorder's do at a page or after so many instructions */
	while (p->v[last].kind == MODEL_PLAIN && (last - k < 6 || !p->v[last + 1].entry))
		last++;
	*b = (struct model_block){ .first = p->v[k].addr, .last = p->v[last].addr,
		.target = p->v[last].target, .insns = last - k + 1, .last_size = p->v[last].size,
		.isa = p->v[last].isa, .kind = p->v[last].kind, .cond = p->v[last].cond };
	return b;
}

static void finish(struct run *x, const struct arm_insn *i, struct model_event *ev)
{
	uint32_t k = (uint32_t)(i - x->p->v);
	bool executed = ev->block->kind != MODEL_PLAIN && (!i->cond || rnd(x->p, 3));
	uint8_t el = x->el;

	ev->taken = executed;
	x->pc = executed ? leads_to(x, k) : k + 1;
	if (ev->block->kind != MODEL_PLAIN)
		x->r->branches++;
	if (i->kind == MODEL_SYSCALL) {
		item(x, ARM_EXC, i->addr + i->size, i->isa, 0xff);
		if (goes_unseen(x)) {
			ev->to = MODEL_UNSEEN;
			tell(x, ev);
			leave_unseen(x, k + 1);
			return;
		}
		enter_kernel(x, k + 1);
		x->pc = anywhere(x, false);
	}
	if (i->kind == MODEL_FAR_RETURN) {
		uint8_t now = x->el;

		x->el = el;
		item(x, ARM_ERET, 0, i->isa, 0);
		x->el = now;
	}
	ev->to = x->p->v[x->pc].addr;
	tell(x, ev);
	/* a new context holds from the barrier on */
	if (i->kind == MODEL_BARRIER && el && !rnd(x->p, 3)) {
		x->cid = rnd(x->p, 4) * 0x1001001;
		x->vmid = rnd(x->p, 2) ? 7 : 0x23;
		tell_context(x);
	} else if (x->el != el) {
		tell_context(x);
	}
}

static void run_block(struct run *x)
{
	const struct model_block *b = block_at(x->r, x->pc);
	struct model_event ev = { .op = MODEL_RUN, .block = b, .insns = b->insns };
	const struct arm_insn *i = &x->p->v[x->pc];
	bool cut = x->cfg->traps && b->insns > 1 && !rnd(x->p, 40);

	for (uint32_t n = 0; n < b->insns; n++, i++) {
		if (cut && n && i->entry && !rnd(x->p, 2)) {
			ev.insns = n;
			ev.to = i->addr;
			ev.tick = x->tick;
			x->pc = (uint32_t)(i - x->p->v);
			tell(x, &ev);
			trap(x);
			return;
		}
		x->tick += rnd(x->p, 5);
		item(x, ARM_INSN, i->addr, i->isa, 0);
	}
	ev.tick = x->tick;
	finish(x, i - 1, &ev);
}

int armrun_make(struct armrun *r, const struct armrun_cfg *cfg,
		int (*put)(void *arg, const struct model_event *ev), void *arg)
{
	struct run x = { .r = r, .p = &r->prog, .cfg = cfg, .put = put, .arg = arg,
			 .tick = 1000000, .cid = 0x1001001, .vmid = 7, .gap = true };
	struct model_event end = { .op = MODEL_END };

	memset(r, 0, sizeof(*r));
	if (make_prog(&r->prog, cfg))
		return -ENOMEM;
	r->block = calloc(r->prog.n, sizeof(*r->block));
	if (!r->block)
		return -ENOMEM;
	x.p->rnd += cfg->run_seed;
	x.pc = anywhere(&x, true);
	tell_context(&x);
	while (r->branches < cfg->branches && !x.err) {
		if (!rnd(x.p, cfg->traps ? 60 : 700))
			trap(&x);
		run_block(&x);
	}
	end.tick = x.tick;
	tell(&x, &end);
	return x.err;
}

void armrun_free(struct armrun *r)
{
	for (unsigned k = 0; k < r->prog.nchunks; k++)
		free(r->prog.chunk[k].mem);
	free(r->prog.v);
	free(r->block);
	free(r->v);
	memset(r, 0, sizeof(*r));
}
