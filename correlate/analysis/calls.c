/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of open calls. A return belongs to the frame whose call it comes back from, found by
 * address and not by counting, so that longjmp, exceptions and code that plays with its stack
 * unwind what they really leave.
 */
#include "calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BATCH	64
#define SEARCH	4096	/* frames looked at for one return */
#define QUEUE	8
#define A64_EXC_CALL 2	/* SVC, HVC, SMC (Arm IHI 0064, "Exception instruction trace element") */

enum away {		/* tracing stopped where the kernel or a handler took over */
	AWAY_NO,
	AWAY_OFF,	/* told by an OFF */
	AWAY_EXC	/* told by an exception whose handler is not seen */
};

struct frame {
	uint64_t func, site;
	uint64_t ret;		/* where the frame returns to, HWT_NO_ADDR if not known */
	uint64_t enter_time;
	uint64_t holes;		/* thread_holes() at the entry */
	uint32_t enter_span;
	uint8_t clock;
	uint8_t why;		/* enum hwt_call_why */
	uint8_t exc;		/* left by a return from exception, not by a return */
	uint8_t any;		/* where it returns to was never seen: any place will do */
	uint8_t inferred;
	int16_t el;		/* exception level that it was entered from, -1 not known */
};

struct thread {
	int64_t key;		/* tid, or below zero a CPU */
	struct frame *v;
	uint32_t n, cap;
	int32_t base;		/* depth of v[0] */
	uint64_t holes;		/* of this thread alone */
	uint64_t off_addr;	/* of the last OFF */
	int16_t el;		/* exception level now, -1 not known */
	uint8_t away;		/* enum away */
	uint64_t resume;	/* where tracing came back before its level was told, or none */
	bool far_ret;		/* the event before was a far return: its ERET is the same */
	bool left;		/* the level told the return: an ERET or ON after it is the same */
	uint64_t left_ret;	/* where that return was expected */
	bool far_call;		/* @pend waits for the exception that it makes (Arm) */
	struct hwt_event pend;
};

struct hwt_calls {
	struct hwt_stream *flow;
	calls_func func;
	void *ctx;
	struct thread **threads;	/* hash by key, open addressing */
	size_t nthreads, cap;
	uint64_t holes;			/* that any thread may have run through */
	int64_t last_key;
	int32_t last_cpu;
	struct hwt_event ev[BATCH];
	int at, n;			/* position in @ev, events in it */
	/* what the current event makes: @pre, then an unwinding of @t, then @post */
	struct hwt_call pre[QUEUE], post[QUEUE];
	unsigned npre, npost, pre_at, post_at;
	struct thread *t;		/* NULL: no unwinding */
	uint32_t to;			/* frames that stay */
	uint8_t why, last_why;		/* of the frames, of the lowest one */
	struct hwt_event cause;
	struct frame then;		/* entered after the unwinding */
	bool has_then;
	struct thread *below;	/* its outermost frame is left last, NULL: none */
};

static uint64_t func_of(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t addr)
{
	return c->func && addr != HWT_NO_ADDR ? c->func(c->ctx, ev, addr) : HWT_NO_ADDR;
}

static bool is_entry(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t addr)
{
	return addr != HWT_NO_ADDR && func_of(c, ev, addr) == addr;
}

static size_t hash(int64_t key, size_t cap)
{
	return (size_t)(((uint64_t)key * 0x9e3779b97f4a7c15u) >> 32) & (cap - 1);
}

static int grow_table(struct hwt_calls *c)
{
	size_t cap = c->cap ? c->cap * 2 : 64;
	struct thread **v = calloc(cap, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < c->cap; i++) {
		size_t k;

		if (!c->threads[i])
			continue;
		for (k = hash(c->threads[i]->key, cap); v[k]; k = (k + 1) & (cap - 1))
			;
		v[k] = c->threads[i];
	}
	free(c->threads);
	c->threads = v;
	c->cap = cap;
	return 0;
}

/* The stack that @ev belongs to, or NULL without memory. */
static struct thread *thread_of(struct hwt_calls *c, int64_t key)
{
	struct thread *t;
	size_t k;

	if (c->nthreads * 2 >= c->cap && grow_table(c) < 0)
		return NULL;
	for (k = hash(key, c->cap); c->threads[k]; k = (k + 1) & (c->cap - 1))
		if (c->threads[k]->key == key)
			return c->threads[k];
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = key;
	t->off_addr = t->resume = t->left_ret = HWT_NO_ADDR;
	t->el = -1;
	c->threads[k] = t;
	c->nthreads++;
	return t;
}

static int64_t key_of(const struct hwt_event *ev)
{
	return ev->tid != HWT_NONE ? ev->tid : -2 - (int64_t)ev->cpu;
}

static uint64_t thread_holes(const struct hwt_calls *c, const struct thread *t)
{
	return c->holes + t->holes;
}

static struct hwt_call *slot(struct hwt_call *q, unsigned *n)
{
	return &q[*n < QUEUE ? (*n)++ : QUEUE - 1];
}

static void enter(struct hwt_call *o, const struct thread *t, const struct frame *f,
		  const struct hwt_event *ev)
{
	*o = (struct hwt_call){
		.ev = *ev, .what = HWT_CALL_ENTER, .why = f->why, .inferred = f->inferred,
		.depth = t->base + (int32_t)t->n - 1, .func = f->func, .site = f->site,
		.enter_time = HWT_TIME_UNKNOWN,
	};
}

static uint64_t site_of(const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_CALL:
	case HWT_EV_RETURN:
		return ev->u.edge.from;
	case HWT_EV_EXCEPTION:
		return ev->u.exc.from;
	}
	return HWT_NO_ADDR;
}

/* The leave of @t's top frame. */
static void leave(struct hwt_call *o, const struct hwt_calls *c, const struct thread *t,
		  const struct hwt_event *ev, uint8_t why)
{
	const struct frame *f = &t->v[t->n - 1];

	*o = (struct hwt_call){
		.ev = *ev, .what = HWT_CALL_LEAVE, .why = why, .inferred = f->inferred,
		.tainted = f->holes != thread_holes(c, t),
		.depth = t->base + (int32_t)t->n - 1, .func = f->func, .site = site_of(ev),
		.enter_time = f->enter_time, .enter_span = f->enter_span,
	};
	/* an unwinding that a hole explains is not one that was seen */
	if (o->tainted && why == HWT_WHY_UNWIND)
		o->why = HWT_WHY_LOST;
	if (f->clock != ev->clock || ev->time == HWT_TIME_UNKNOWN ||
	    (ev->span != HWT_SPAN_UNKNOWN && ev->time + ev->span < f->enter_time))
		o->enter_time = HWT_TIME_UNKNOWN;
	if (o->enter_time == HWT_TIME_UNKNOWN)
		o->enter_span = HWT_SPAN_UNKNOWN;
}

/* The leave of a frame whose entry was not seen. */
static void leave_unseen(struct hwt_call *o, const struct hwt_calls *c, const struct thread *t,
			 const struct hwt_event *ev, int32_t depth)
{
	uint64_t func = func_of(c, ev, site_of(ev));

	*o = (struct hwt_call){
		.ev = *ev, .what = HWT_CALL_LEAVE, .why = HWT_WHY_RETURN, .inferred = 1,
		.tainted = thread_holes(c, t) != 0, .depth = depth,
		.func = func != HWT_NO_ADDR ? func : site_of(ev), .site = site_of(ev),
		.enter_time = HWT_TIME_UNKNOWN, .enter_span = HWT_SPAN_UNKNOWN,
	};
}

/* After the unwinding, the frame that was open before the outermost known one. */
static void leave_below(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	leave_unseen(slot(c->post, &c->npost), c, t, ev, t->base - 1);
	c->below = t;
}

static int push(struct hwt_calls *c, struct thread *t, const struct frame *f,
		const struct hwt_event *ev)
{
	if (t->n == HWT_CALLS_DEPTH) {
		/* the outermost half is forgotten; their leaves will be inferred */
		t->n = HWT_CALLS_DEPTH / 2;
		memmove(t->v, t->v + HWT_CALLS_DEPTH / 2, t->n * sizeof(*t->v));
		t->base += HWT_CALLS_DEPTH / 2;
	}
	if (t->n == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 32;
		struct frame *v = realloc(t->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n] = *f;
	t->v[t->n].enter_time = ev->time;
	t->v[t->n].enter_span = ev->span;
	t->v[t->n].clock = ev->clock;
	t->v[t->n].holes = thread_holes(c, t);
	t->v[t->n].el = t->el;
	t->n++;
	return 0;
}

static int push_enter(struct hwt_calls *c, struct thread *t, const struct frame *f,
		      const struct hwt_event *ev)
{
	int rc = push(c, t, f, ev);

	if (!rc)
		enter(slot(c->pre, &c->npre), t, f, ev);
	return rc;
}

/* Frames from the top down to @to leave, the lowest with @last, before what is in @post. */
static void unwind(struct hwt_calls *c, struct thread *t, uint32_t to, uint8_t why, uint8_t last,
		   const struct hwt_event *ev)
{
	if (to >= t->n)
		return;
	c->t = t;
	c->to = to;
	c->why = why;
	c->last_why = last;
	c->cause = *ev;
}

/* The lowest frame that a search may reach. */
static uint32_t bottom(const struct thread *t)
{
	return t->n > SEARCH ? t->n - SEARCH : 0;
}

/* A jump out of the top frame into another function, which returns in its place. */
static int tail(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame f = { .ret = HWT_NO_ADDR, .any = 1, .holes = thread_holes(c, t) };

	if (t->n) {
		f = t->v[t->n - 1];
		leave(slot(c->pre, &c->npre), c, t, ev, HWT_WHY_TAIL);
		t->n--;
	} else {
		/* the function that was running when the trace began */
		t->base--;
		leave_unseen(slot(c->pre, &c->npre), c, t, ev, t->base);
		c->pre[c->npre - 1].why = HWT_WHY_TAIL;
	}
	f.func = ev->u.edge.to;
	f.site = ev->u.edge.from;
	f.why = HWT_WHY_TAIL;
	f.inferred = 0;
	return push_enter(c, t, &f, ev);
}

static int far_call(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame f = { .func = ev->u.edge.to, .site = ev->u.edge.from, .ret = HWT_NO_ADDR,
		.why = HWT_WHY_SYSCALL, .exc = 1 };

	if (ev->u.edge.last_size)
		f.ret = ev->u.edge.from + ev->u.edge.last_size;
	if (f.func == f.ret || f.func == f.site)
		f.func = HWT_NO_ADDR;	/* the kernel is not traced */
	t->away = f.func == HWT_NO_ADDR ? AWAY_EXC : AWAY_NO;
	return push_enter(c, t, &f, ev);
}

static int on_call(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame f = { .func = ev->u.edge.to, .site = ev->u.edge.from, .ret = HWT_NO_ADDR,
		.why = HWT_WHY_CALL };

	if (ev->flags & HWT_F_TAIL)
		return tail(c, t, ev);
	if (ev->u.edge.kind == HWT_INSN_FAR_CALL) {
		t->far_call = true;
		t->pend = *ev;
		return 0;
	}
	if (ev->flags & HWT_F_INTR) {
		f.why = HWT_WHY_INTERRUPT;
		f.exc = 1;
		f.ret = f.site;
	} else if (ev->u.edge.last_size) {
		f.ret = ev->u.edge.from + ev->u.edge.last_size;
	}
	return push_enter(c, t, &f, ev);
}

static bool returns_to(const struct frame *f, uint64_t to)
{
	if (f->exc || f->any)
		return false;
	if (f->ret != HWT_NO_ADDR)
		return f->ret == to;
	/* size of the call not known: 15 bytes is the longest instruction */
	return f->site != HWT_NO_ADDR && to > f->site && to - f->site <= 15;
}

/*
 * The frame that comes back to @to. Below an exception too: to come back there, the exception
 * must have been left by something that was not seen as a return from it.
 */
static int64_t find_return(const struct thread *t, uint64_t to)
{
	for (uint32_t i = t->n; i-- > bottom(t);)
		if (returns_to(&t->v[i], to))
			return i;
	return -1;
}

/*
 * The frame of a function whose body is returned to at a place that made no call. Not below an
 * exception, unless in a hole: its handler may use the same functions.
 */
static int64_t find_func(const struct hwt_calls *c, const struct thread *t, uint64_t func)
{
	for (uint32_t i = t->n; func != HWT_NO_ADDR && i-- > bottom(t);) {
		if (t->v[i].func == func)
			return i;
		if (t->v[i].exc && t->v[i].holes == thread_holes(c, t))
			break;
	}
	return -1;
}

/* A return to an address that no call left. */
static int odd_return(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	uint64_t to = ev->u.edge.to, func = func_of(c, ev, to);
	struct frame *top = t->n ? &t->v[t->n - 1] : NULL;
	uint32_t stay = 0;
	int64_t i;

	if (top && (top->any || top->why == HWT_WHY_SIGNAL)) {
		unwind(c, t, t->n - 1, HWT_WHY_RETURN, HWT_WHY_RETURN, ev);
		return 0;
	}
	if (top && func != HWT_NO_ADDR && func == to) {
		/*
		 * a jump made with a return; a call inside a function (retpoline) only served to
		 * push an address
		 */
		if (t->n > 1 && !is_entry(c, ev, top->func) && !top->exc) {
			leave(slot(c->pre, &c->npre), c, t, ev, HWT_WHY_UNWIND);
			t->n--;
		}
		return tail(c, t, ev);
	}
	i = find_func(c, t, func);
	if (i >= 0 || (top && top->holes != thread_holes(c, t))) {
		/* what was left was entered unseen, above what stays */
		stay = i >= 0 ? (uint32_t)i + 1 : t->n;
		if (stay == t->n)
			leave_unseen(slot(c->post, &c->npost), c, t, ev,
				     t->base + (int32_t)stay);
		unwind(c, t, stay, HWT_WHY_UNWIND, HWT_WHY_UNWIND, ev);
		return 0;
	}
	/* all that was called here is gone, and the frame below was open before */
	for (stay = t->n; stay && !t->v[stay - 1].exc; stay--)
		;
	unwind(c, t, stay, HWT_WHY_UNWIND, HWT_WHY_UNWIND, ev);
	if (stay)
		leave_unseen(slot(c->post, &c->npost), c, t, ev, t->base + (int32_t)stay);
	else
		leave_below(c, t, ev);
	return 0;
}

/*
 * A function that was entered where the code at @ret was interrupted. Without symbols it can not
 * be told from other places.
 */
static bool is_signal(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t ret,
		      uint64_t addr)
{
	return ret != HWT_NO_ADDR && addr != ret && is_entry(c, ev, addr);
}

static struct frame signal_frame(uint64_t func, uint64_t ret)
{
	return (struct frame){ .func = func, .site = ret, .ret = ret, .why = HWT_WHY_SIGNAL };
}

/* From kernel to user code; the other architectures' levels are in struct frame. */
static bool x86_to_user(const struct hwt_event *ev, const struct frame *f)
{
	return ev->type == HWT_EV_RETURN && ev->u.edge.isa == HWT_ISA_X86_64 &&
		ev->u.edge.from >> 63 && !(ev->u.edge.to >> 63) && !(f->ret >> 63);
}

/* The exception in frame @i is over, and the code at @addr runs, which may not be known. */
static void came_back(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev,
		      uint32_t i, uint64_t addr, uint8_t last)
{
	struct frame *f = &t->v[i];
	bool sig = (f->el == 0 || x86_to_user(ev, f)) && is_signal(c, ev, f->ret, addr);

	if (f->el >= 0)
		t->el = f->el;
	t->away = AWAY_NO;
	t->resume = HWT_NO_ADDR;
	if (sig) {
		c->then = signal_frame(addr, f->ret);
		c->has_then = true;
	}
	unwind(c, t, i, HWT_WHY_UNWIND, sig ? HWT_WHY_RETURN : last, ev);
}

/* The frame that ends when the kernel comes back at @addr, or -1. */
static int64_t find_interrupted(const struct thread *t, uint64_t addr)
{
	for (uint32_t i = t->n; addr != HWT_NO_ADDR && i-- > bottom(t);)
		if ((t->v[i].exc || t->v[i].why == HWT_WHY_SIGNAL) && t->v[i].ret == addr)
			return i;
	return -1;
}

/* Leaves the topmost exception, or the one that was taken at @to. */
static void far_return(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev,
		       uint64_t to)
{
	int64_t found = find_interrupted(t, to);

	for (uint32_t i = t->n; found < 0 && i-- > bottom(t);)
		if (t->v[i].exc)
			found = i;
	if (found >= 0) {
		came_back(c, t, ev, (uint32_t)found, to, HWT_WHY_RETURN);
		return;
	}
	unwind(c, t, 0, HWT_WHY_UNWIND, HWT_WHY_UNWIND, ev);
	leave_below(c, t, ev);
}

static int on_return(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	uint64_t to = ev->u.edge.to;
	int64_t i;

	if (ev->u.edge.kind == HWT_INSN_FAR_RETURN || (ev->flags & HWT_F_INTR)) {
		far_return(c, t, ev, to);
		t->far_ret = true;
		return 0;
	}
	if (to == HWT_NO_ADDR) {
		/* ended by a hole: most likely an ordinary return, and if not the next will tell */
		if (t->n && !t->v[t->n - 1].exc)
			unwind(c, t, t->n - 1, HWT_WHY_RETURN, HWT_WHY_RETURN, ev);
		return 0;
	}
	i = find_return(t, to);
	if (i < 0)
		return odd_return(c, t, ev);
	unwind(c, t, (uint32_t)i, HWT_WHY_UNWIND, HWT_WHY_RETURN, ev);
	return 0;
}

static int on_exception(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame f = { .func = ev->u.exc.to, .site = ev->u.exc.from, .ret = ev->u.exc.from,
		.why = HWT_WHY_INTERRUPT, .exc = 1 };

	if (ev->u.exc.isa == HWT_ISA_A64 && ev->u.exc.number == A64_EXC_CALL)
		f.why = HWT_WHY_SYSCALL;
	t->away = f.func == HWT_NO_ADDR ? AWAY_EXC : AWAY_NO;
	t->resume = HWT_NO_ADDR;
	return push_enter(c, t, &f, ev);
}

/* An exception was left as its level told; now it is known where to. */
static int left_to(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	uint64_t addr = ev->u.at.addr;
	struct frame f = signal_frame(addr, t->left_ret);

	t->left = false;
	if (t->el != 0 || !is_signal(c, ev, t->left_ret, addr))
		return 0;
	return push_enter(c, t, &f, ev);
}

/*
 * @addr is not where the exception was taken: an instruction that the handler carried out is
 * passed over, and a system call may be made again (A64, and SYSCALL of x86).
 */
static uint8_t why_elsewhere(const struct frame *f, uint64_t addr)
{
	bool again = f->why == HWT_WHY_SYSCALL && addr < f->ret && f->ret - addr <= 4;

	return f->ret == HWT_NO_ADDR || again || addr - f->ret <= 4 ? HWT_WHY_RETURN :
		HWT_WHY_UNWIND;
}

/* Tracing starts again after an exception whose handler was not seen. */
static void back_from_exception(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame *f = t->n ? &t->v[t->n - 1] : NULL;
	uint64_t addr = ev->u.at.addr;

	if (!f || !f->exc)
		return;
	if (f->el >= 0 && t->el >= 0 && t->el != f->el) {
		/* in a part of the handler, or its level is yet to come */
		t->away = AWAY_EXC;
		t->resume = addr;
		return;
	}
	came_back(c, t, ev, t->n - 1, addr, why_elsewhere(f, addr));
}

static int on_on(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	uint64_t addr = ev->u.at.addr;
	struct frame f = { .func = addr, .site = t->off_addr, .ret = HWT_NO_ADDR,
		.why = HWT_WHY_SIGNAL };
	uint8_t away = t->away;
	int64_t i;

	if (t->left)
		return left_to(c, t, ev);
	if (addr == HWT_NO_ADDR)
		return 0;
	t->away = AWAY_NO;
	i = find_interrupted(t, addr);
	if (i >= 0) {
		came_back(c, t, ev, (uint32_t)i, addr, HWT_WHY_RETURN);
		return 0;
	}
	if (away == AWAY_EXC)
		back_from_exception(c, t, ev);
	if (away != AWAY_OFF)
		return 0;
	/* the kernel came back at a function that nobody called */
	if (!(ev->flags & HWT_F_RESUMED) && addr != t->off_addr && is_entry(c, ev, addr))
		return push_enter(c, t, &f, ev);
	/* it came back elsewhere, as after a signal's own system call */
	if (t->n && t->v[t->n - 1].exc)
		unwind(c, t, t->n - 1, HWT_WHY_UNWIND, HWT_WHY_UNWIND, ev);
	return 0;
}

/*
 * Where the handler is not traced, no return from it is seen; but that the exception level is
 * again the one from which the exception was taken.
 */
static void on_level(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	int16_t el = ev->u.aspace.el;

	if (!(ev->u.aspace.valid & 4) || el == t->el)
		return;
	for (uint32_t i = t->n; i-- > bottom(t);) {
		struct frame *f = &t->v[i];

		/* one that was taken at the level now left is over too, whatever hid its end */
		if (!f->exc || (f->el >= 0 && f->el == t->el && f->el != el))
			continue;
		if (f->el != el)
			break;
		t->left = t->resume == HWT_NO_ADDR;
		t->left_ret = f->ret;
		came_back(c, t, ev, i, t->resume, t->left ? HWT_WHY_RETURN :
			  why_elsewhere(f, t->resume));
		break;
	}
	t->resume = HWT_NO_ADDR;
	t->el = el;
}

static void on_gap(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct hwt_call *o = slot(c->pre, &c->npre);

	/* where threads are known, any of them may have run in the hole */
	if (ev->tid == HWT_NONE && ev->cpu != HWT_NONE)
		t->holes++;
	else
		c->holes++;
	t->away = AWAY_NO;
	t->resume = HWT_NO_ADDR;
	*o = (struct hwt_call){ .ev = *ev, .what = HWT_CALL_GAP, .why = HWT_WHY_LOST,
		.tainted = 1, .depth = t->base + (int32_t)t->n, .func = HWT_NO_ADDR,
		.site = HWT_NO_ADDR, .enter_time = HWT_TIME_UNKNOWN,
		.enter_span = HWT_SPAN_UNKNOWN };
}

static void note_switch(struct hwt_calls *c, const struct thread *t, const struct hwt_event *ev)
{
	bool other = ev->cpu == c->last_cpu && t->key != c->last_key && t->key >= 0 &&
		c->last_key >= 0;

	if (other || ev->type == HWT_EV_SCHED_SWITCH)
		*slot(c->pre, &c->npre) = (struct hwt_call){ .ev = *ev, .what = HWT_CALL_SWITCH,
			.depth = t->base + (int32_t)t->n, .func = HWT_NO_ADDR,
			.site = HWT_NO_ADDR, .enter_time = HWT_TIME_UNKNOWN,
			.enter_span = HWT_SPAN_UNKNOWN };
	c->last_key = t->key;
	c->last_cpu = ev->cpu;
}

/* The far call that waited for what came of it. True if @ev was its exception. */
static int settle(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev, bool *used)
{
	struct hwt_event call = t->pend;

	*used = false;
	if (!t->far_call)
		return 0;
	t->far_call = false;
	if (ev->type == HWT_EV_EXCEPTION) {
		call.u.edge.to = ev->u.exc.to;
		*used = true;
	}
	return far_call(c, t, &call);
}

static int handle(struct hwt_calls *c, const struct hwt_event *ev)
{
	struct thread *t;
	bool used;
	int rc;

	if (ev->type == HWT_EV_NONE)
		return 0;
	t = thread_of(c, key_of(ev));
	if (!t)
		return -ENOMEM;
	rc = settle(c, t, ev, &used);
	note_switch(c, t, ev);
	if (rc < 0 || used)
		return rc;
	switch (ev->type) {
	case HWT_EV_CALL:
		t->away = AWAY_NO;
		rc = on_call(c, t, ev);
		break;
	case HWT_EV_RETURN:
		t->away = AWAY_NO;
		t->left = false;
		return on_return(c, t, ev);
	case HWT_EV_ERET:
		if (t->left)
			rc = left_to(c, t, ev);
		else if (!t->far_ret)
			far_return(c, t, ev, ev->u.at.addr);
		break;
	case HWT_EV_EXCEPTION:
		rc = on_exception(c, t, ev);
		break;
	case HWT_EV_ON:
		rc = on_on(c, t, ev);
		break;
	case HWT_EV_OFF:
		t->off_addr = ev->u.at.addr;
		t->away = (ev->flags & HWT_F_CUT) || (t->n && t->v[t->n - 1].exc) ? AWAY_OFF :
			AWAY_NO;
		break;
	case HWT_EV_GAP:
		on_gap(c, t, ev);
		break;
	case HWT_EV_ASPACE:
		on_level(c, t, ev);
		return 0;
	default:
		/* keeps far_ret: address space and transactions may stand between */
		return 0;
	}
	t->far_ret = false;
	t->left = false;
	return rc;
}

/* What the last event made, one by one: 1 if @out was filled, 0, or -ENOMEM. */
static int take(struct hwt_calls *c, struct hwt_call *out)
{
	int rc;

	if (c->pre_at < c->npre) {
		*out = c->pre[c->pre_at++];
		return 1;
	}
	if (c->t && c->t->n > c->to) {
		leave(out, c, c->t, &c->cause, c->t->n == c->to + 1 ? c->last_why : c->why);
		c->t->n--;
		return 1;
	}
	if (c->has_then) {
		c->has_then = false;
		rc = push(c, c->t, &c->then, &c->cause);
		if (rc < 0)
			return rc;
		enter(out, c->t, &c->then, &c->cause);
		c->t = NULL;
		return 1;
	}
	if (c->post_at < c->npost) {
		*out = c->post[c->post_at++];
		return 1;
	}
	return 0;
}

int hwt_calls_next(struct hwt_calls *c, struct hwt_call *out)
{
	for (;;) {
		int rc = take(c, out);

		if (rc)
			return rc;
		c->npre = c->npost = c->pre_at = c->post_at = 0;
		c->t = NULL;
		if (c->below)
			c->below->base--;
		c->below = NULL;
		if (c->at == c->n) {
			c->at = c->n = 0;
			rc = hwt_stream_next(c->flow, c->ev, BATCH);
			if (rc <= 0)
				return rc;
			c->n = rc;
		}
		rc = handle(c, &c->ev[c->at++]);
		if (rc < 0)
			return rc;
	}
}

int calls_new(struct hwt_calls **out, calls_func func, void *ctx, struct hwt_stream *flow)
{
	struct hwt_calls *c = calloc(1, sizeof(*c));

	if (!c) {
		hwt_stream_close(flow);
		return -ENOMEM;
	}
	c->flow = flow;
	c->func = func;
	c->ctx = ctx;
	c->last_key = -1;
	c->last_cpu = HWT_NONE;
	*out = c;
	return 0;
}

static uint64_t image_func(void *ctx, const struct hwt_event *ev, uint64_t addr)
{
	struct hwt_where w = { .pid = ev->pid,
		.time = ev->clock == HWT_CLOCK_BASE ? ev->time : HWT_TIME_UNKNOWN };
	struct hwt_symbol sym;

	if (hwt_image_symbol(ctx, &w, addr, &sym) != 1)
		return HWT_NO_ADDR;
	/* a program's first instruction is reached after exec, by neither call nor signal */
	return strcmp(sym.name, "_start") ? sym.start : HWT_NO_ADDR;
}

int hwt_calls_new(struct hwt_calls **out, struct hwt_session *s, struct hwt_stream *flow)
{
	return calls_new(out, s ? image_func : NULL, s ? hwt_session_image(s) : NULL, flow);
}

void hwt_calls_free(struct hwt_calls *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->cap; i++)
		if (c->threads[i]) {
			free(c->threads[i]->v);
			free(c->threads[i]);
		}
	free(c->threads);
	hwt_stream_close(c->flow);
	free(c);
}
