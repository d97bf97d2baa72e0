/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exceptions, system calls and signals: frames that no return instruction pops. Their end is told
 * by the return from exception, by the exception level, or by tracing that starts again.
 */
#include "stack.h"

#define A64_EXC_CALL 2	/* SVC, HVC, SMC (Arm IHI 0064, "Exception" element) */

int exc_far_call(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame f = { .func = ev->u.edge.to, .site = ev->u.edge.from, .ret = HWT_NO_ADDR,
		.why = HWT_WHY_SYSCALL, .exc = 1 };

	if (ev->u.edge.last_size)
		f.ret = ev->u.edge.from + ev->u.edge.last_size;
	if (f.func == f.ret || f.func == f.site)
		f.func = HWT_NO_ADDR;	/* the kernel is not traced */
	t->away = f.func == HWT_NO_ADDR ? AWAY_EXC : AWAY_NO;
	return stack_push_enter(c, t, &f, ev);
}

/*
 * A function that was entered where the code at @ret was interrupted. Without symbols it can not
 * be told from other places.
 */
static bool is_signal(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t ret,
		uint64_t addr)
{
	return ret != HWT_NO_ADDR && addr != ret && stack_is_entry(c, ev, addr);
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
	/* what the handler went over into without a call, and returns from here */
	bool over = t->n == i + 2 && t->v[i + 1].any;
	bool sig = (f->el == 0 || x86_to_user(ev, f)) && is_signal(c, ev, f->ret, addr);

	if (f->el >= 0)
		t->el = f->el;
	t->away = AWAY_NO;
	t->resume = HWT_NO_ADDR;
	if (sig) {
		c->then = signal_frame(addr, f->ret);
		c->has_then = true;
	}
	/* it came back to the very instruction: what was interrupted goes on */
	if (!sig && addr != HWT_NO_ADDR && addr == f->ret && i > t->lost &&
	    t->seen != stack_holes(c, t))
		locate_resume(c, t, ev, i - 1);
	stack_unwind(c, t, i, over ? HWT_WHY_RETURN : HWT_WHY_UNWIND,
		     sig ? HWT_WHY_RETURN : last, ev);
}

/* The frame that ends when the kernel comes back at @addr, or -1. */
static int64_t find_interrupted(const struct thread *t, uint64_t addr)
{
	for (uint32_t i = t->n; addr != HWT_NO_ADDR && i-- > stack_bottom(t);)
		if ((t->v[i].exc || t->v[i].why == HWT_WHY_SIGNAL) && t->v[i].ret == addr)
			return i;
	return -1;
}

void exc_far_return(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev,
		uint64_t to)
{
	int64_t found = find_interrupted(t, to);

	for (uint32_t i = t->n; found < 0 && i-- > stack_bottom(t);)
		if (t->v[i].exc)
			found = i;
	if (found >= 0) {
		came_back(c, t, ev, (uint32_t)found, to, HWT_WHY_RETURN);
		return;
	}
	/* what ran when the trace began is the handler */
	stack_unwind(c, t, t->lost, HWT_WHY_UNWIND, HWT_WHY_RETURN, ev);
}

/* ETMv3 and PTM say as tracing restarts that debug state was left: the stack stays. */
bool exc_halts(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_EXCEPTION && ev->u.exc.what == HWT_EXC_DEBUG_HALT &&
		ev->u.exc.isa == HWT_ISA_A64;
}

int exc_taken(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame f = { .func = ev->u.exc.to, .site = ev->u.exc.from, .ret = ev->u.exc.from,
		.why = HWT_WHY_INTERRUPT, .exc = 1 };

	if (exc_halts(ev)) {
		t->off_addr = ev->u.exc.from;
		t->away = AWAY_STOP;
		return 0;
	}
	if (ev->u.exc.isa == HWT_ISA_A64 && ev->u.exc.number == A64_EXC_CALL)
		f.why = HWT_WHY_SYSCALL;
	t->away = f.func == HWT_NO_ADDR ? AWAY_EXC : AWAY_NO;
	t->resume = HWT_NO_ADDR;
	return stack_push_enter(c, t, &f, ev);
}

/* An exception was left as its level told; now it is known where to. */
int exc_left_to(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	uint64_t addr = ev->u.at.addr;
	struct frame f = signal_frame(addr, t->left_ret);

	t->left = false;
	if (t->el != 0 || !is_signal(c, ev, t->left_ret, addr))
		return 0;
	return stack_push_enter(c, t, &f, ev);
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

/*
 * A filter left the callee out: tracing starts again where its frame returns to. Where it had
 * stopped, or goes on as before, it is an interruption of this function.
 */
static bool is_back(const struct thread *t, const struct hwt_event *ev)
{
	const struct frame *f = stack_top(t);

	return f && !f->exc && !f->any && f->ret != HWT_NO_ADDR && f->ret == ev->u.at.addr &&
		!(ev->flags & HWT_F_RESUMED) && ev->u.at.addr != t->off_addr;
}

/* A part of the handler runs, or its level is yet to come. */
static bool in_handler(const struct thread *t, const struct frame *f)
{
	return f->el >= 0 && t->el >= 0 && t->el != f->el;
}

/* Tracing starts again after an exception whose handler was not seen. */
static void back_from_exception(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame *f = stack_top(t);
	uint64_t addr = ev->u.at.addr, func = stack_func_of(c, ev, addr);
	bool other;

	if (!f || !f->exc)
		return;
	other = t->n - t->lost > 1 && func != HWT_NO_ADDR && func != f[-1].func;
	if (f->ret == HWT_NO_ADDR && other) {
		/* nothing tells what was interrupted (ETMv3), but this is not it: the handler */
		t->astray = true;
		return;
	}
	if (in_handler(t, f)) {
		t->away = AWAY_EXC;
		t->resume = addr;
		return;
	}
	came_back(c, t, ev, t->n - 1, addr, why_elsewhere(f, addr));
	t->astray = other && !c->has_then;
}

/*
 * The exception in frame @f may have ended at @addr: there or nearby, in a function that is open,
 * or in a signal's handler. Where another program was loaded it has not.
 */
static bool may_end_at(const struct hwt_calls *c, const struct thread *t,
		const struct hwt_event *ev, const struct frame *f, uint64_t addr)
{
	uint64_t func = stack_func_of(c, ev, addr);

	if (stack_func_of(c, ev, f->ret) == HWT_NO_ADDR || in_handler(t, f) || func == addr ||
	    why_elsewhere(f, addr) == HWT_WHY_RETURN)
		return true;
	for (uint32_t i = t->n; func != HWT_NO_ADDR && i-- > stack_bottom(t);)
		if (t->v[i].func == func)
			return true;
	return false;
}

bool exc_explains(const struct hwt_calls *c, const struct thread *t, const struct hwt_event *ev)
{
	const struct frame *top = stack_top(t);
	uint64_t addr = ev->u.at.addr;

	if (t->away == AWAY_STOP)
		return addr == t->off_addr;
	if (t->left || addr == HWT_NO_ADDR || addr == t->off_addr || addr == t->last ||
	    (ev->flags & (HWT_F_RESUMED | HWT_F_INTR)) || find_interrupted(t, addr) >= 0)
		return true;
	if (t->away != AWAY_NO && top->exc)
		return may_end_at(c, t, ev, top, addr);
	if (t->away == AWAY_OFF)
		return stack_is_entry(c, ev, addr);
	return t->away == AWAY_NO && is_back(t, ev);
}

int exc_on(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	uint64_t addr = ev->u.at.addr;
	struct frame f = { .func = addr, .site = t->off_addr, .ret = HWT_NO_ADDR,
		.why = HWT_WHY_SIGNAL };
	uint8_t away = t->away;
	int64_t i;

	if (c->located) {
		t->away = AWAY_NO;
		return 0;
	}
	if (t->left)
		return exc_left_to(c, t, ev);
	if (addr == HWT_NO_ADDR)
		return 0;
	t->away = AWAY_NO;
	i = find_interrupted(t, addr);
	if (i >= 0) {
		came_back(c, t, ev, (uint32_t)i, addr, HWT_WHY_RETURN);
		return 0;
	}
	if (away == AWAY_NO && is_back(t, ev)) {
		stack_unwind(c, t, t->n - 1, HWT_WHY_RETURN, HWT_WHY_RETURN, ev);
		return 0;
	}
	if (away == AWAY_EXC)
		back_from_exception(c, t, ev);
	if (away != AWAY_OFF)
		return 0;
	/* the kernel came back at a function that nobody called */
	if (!(ev->flags & HWT_F_RESUMED) && addr != t->off_addr && stack_is_entry(c, ev, addr))
		return stack_push_enter(c, t, &f, ev);
	/* it came back elsewhere, as after a signal's own system call */
	if (stack_top(t) && stack_top(t)->exc)
		stack_unwind(c, t, t->n - 1, HWT_WHY_UNWIND, HWT_WHY_UNWIND, ev);
	return 0;
}

/*
 * Where the handler is not traced, no return from it is seen; but that the exception level is
 * again the one from which the exception was taken.
 */
void exc_level(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	int16_t el = ev->u.aspace.el;

	if (!(ev->u.aspace.valid & 4) || el == t->el)
		return;
	for (uint32_t i = t->n; i-- > stack_bottom(t);) {
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
