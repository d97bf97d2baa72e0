/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call stacks from scripted event streams; what must come out is what the program did. Longer than
 * other files: all cases are written in one script language.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/analysis/calls.h"

/* Functions are 0x1000 apart, so that 0x5123 lies in the function at 0x5000. */
static uint64_t func(void *ctx, const struct hwt_event *ev, uint64_t addr)
{
	return addr & ~(uint64_t)0xfff;
}

struct script {
	struct hwt_stream s;
	const struct hwt_event *ev;
	size_t n, at;
	bool closed;
};

static int script_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct script *sc = hwt_container_of(s, struct script, s);

	if (sc->at == sc->n || max < 1)
		return 0;
	*ev = sc->ev[sc->at++];
	return 1;
}

static void script_close(struct hwt_stream *s)
{
	hwt_container_of(s, struct script, s)->closed = true;
}

static const struct hwt_stream_ops script_ops = { script_next, script_close };

/* Calls are 5 bytes long. */
#define EV(type_, time_, ...) { .time = (time_), .type = HWT_EV_##type_, .cpu = 0, .pid = 7, \
	.tid = 7, __VA_ARGS__ }
#define EDGE(from_, to_, kind_) .u.edge = { .from = (from_), .to = (to_), \
	.kind = HWT_INSN_##kind_, .last_size = 5 }
#define CALL(t, from, to) EV(CALL, t, EDGE(from, to, CALL))
#define TAIL(t, from, to) EV(CALL, t, .flags = HWT_F_TAIL, EDGE(from, to, JUMP))
#define RET(t, from, to) EV(RETURN, t, EDGE(from, to, RETURN))
#define SYSCALL(t, from, to) EV(CALL, t, EDGE(from, to, FAR_CALL))
#define IRET(t, from, to) EV(RETURN, t, .flags = HWT_F_INTR, EDGE(from, to, FAR_RETURN))
#define EXC(t, from_, to_) EV(EXCEPTION, t, .u.exc = { .from = (from_), .to = (to_) })
#define ERET(t) EV(ERET, t, .u.at = { .addr = HWT_NO_ADDR })
#define ERET_TO(t, addr_) EV(ERET, t, .u.at = { .addr = (addr_) })
#define FAULT(t, from_, n) EV(EXCEPTION, t, .u.exc = { .from = (from_), .to = HWT_NO_ADDR, \
	.number = (n), .isa = HWT_ISA_A64 })
#define HALT(t, from_) EV(EXCEPTION, t, .u.exc = { .from = (from_), .to = HWT_NO_ADDR, \
	.number = 1, .isa = HWT_ISA_A64, .what = HWT_EXC_DEBUG_HALT })
#define X86_IRET(t, from_, to_) EV(RETURN, t, .flags = HWT_F_INTR, .u.edge = { .from = (from_), \
	.to = (to_), .kind = HWT_INSN_FAR_RETURN, .isa = HWT_ISA_X86_64 })
#define ON(t, addr_) EV(ON, t, .u.at = { .addr = (addr_) })
#define OFF(t, addr_) EV(OFF, t, .u.at = { .addr = (addr_) })
#define CUT(t, addr_) EV(OFF, t, .flags = HWT_F_CUT, .u.at = { .addr = (addr_) })
#define STOP(t) EV(TRIGGER, t, .u.value = { .addr = HWT_NO_ADDR, .what = HWT_TRIGGER_STOP })
#define LEVEL(t, level) EV(ASPACE, t, .u.aspace = { .el = (level), .valid = 4 })
#define GAP(t) EV(GAP, t, .u.gap = { .cause = HWT_GAP_OVERFLOW })
#define ON_TID(e, n) ({ struct hwt_event e_ = e; e_.tid = (n); e_; })

/* "+5000@1 call" entered at depth 1, "-5000@1 return !~" left, inferred, tainted. */
static void text(const struct hwt_event *ev, size_t n, calls_func fn, char *out, size_t size)
{
	static const char *const why[] = { "call", "tail", "intr", "sys", "signal", "ret",
		"unwind", "lost", "run", "again", "open" };
	struct script sc = { .s.ops = &script_ops, .ev = ev, .n = n };
	struct hwt_calls *c;
	struct hwt_call o;
	size_t at = 0;
	int rc;

	assert_int_equal(calls_new(&c, fn, NULL, &sc.s), 0);
	out[0] = 0;
	while ((rc = hwt_calls_next(c, &o)) > 0) {
		if (o.what == HWT_CALL_GAP || o.what == HWT_CALL_SWITCH)
			at += (size_t)snprintf(out + at, size - at, "%s ",
				o.what == HWT_CALL_GAP ? "gap" : "switch");
		else if (o.what == HWT_CALL_UNTRACED)
			at += (size_t)snprintf(out + at, size - at, "%llx..%llx ",
				(unsigned long long)o.site, (unsigned long long)o.func);
		else if (o.what == HWT_CALL_RESUME)
			at += (size_t)snprintf(out + at, size - at, "=%llx@%d ",
				(unsigned long long)o.func, o.depth);
		else
			at += (size_t)snprintf(out + at, size - at, "%c%llx@%d:%s%s%s ",
				o.what == HWT_CALL_ENTER ? '+' : '-', (unsigned long long)o.func,
				o.depth, why[o.why], o.inferred ? "!" : "", o.tainted ? "~" : "");
		assert_true(at < size);
		if (o.what == HWT_CALL_LEAVE && o.enter_time != HWT_TIME_UNKNOWN)
			assert_true(o.enter_time <= o.ev.time + o.ev.span);
	}
	assert_int_equal(rc, 0);
	if (at)
		out[at - 1] = 0;
	hwt_calls_free(c);
	assert_true(sc.closed);
}

static void expect(const struct hwt_event *ev, size_t n, const char *want)
{
	char got[4096];

	text(ev, n, func, got, sizeof(got));
	assert_string_equal(got, want);
}

#define EXPECT(want, ...) do { \
	const struct hwt_event ev_[] = { __VA_ARGS__ }; \
	expect(ev_, sizeof(ev_) / sizeof(ev_[0]), want); \
} while (0)

static void plain(void **state)
{
	EXPECT("+1000@0:run! +2000@1:call +3000@2:call -3000@2:ret -2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x3000), RET(3, 0x3020, 0x2015),
	       RET(4, 0x2030, 0x1015));
	/* function before the trace, and its caller */
	EXPECT("+1000@0:run! -1000@0:ret! +4000@-1:run! -4000@-1:ret! +5000@-2:run! +2000@-1:call "
	       "-2000@-1:ret -5000@-2:open!",
	       RET(1, 0x1010, 0x4080), RET(2, 0x4090, 0x5080), CALL(3, 0x5090, 0x2000),
	       RET(4, 0x2030, 0x5095));
}

/* f calls itself from one place: frames differ by nothing but their number. */
static void recursion(void **state)
{
	EXPECT("+1000@0:run! +2000@1:call +2000@2:call +2000@3:call -2000@3:ret -2000@2:ret "
	       "-2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x2000), CALL(3, 0x2010, 0x2000),
	       RET(4, 0x2030, 0x2015), RET(5, 0x2030, 0x2015), RET(6, 0x2030, 0x1015));
}

/* main calls setjmp (2000), a (3000) calls b (4000), b jumps back; main returns later. */
static void longjmp_(void **state)
{
	EXPECT("+1000@0:run! +2000@1:call -2000@1:ret +3000@1:call +4000@2:call -4000@2:unwind "
	       "-3000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), RET(2, 0x2010, 0x1015), CALL(3, 0x1020, 0x3000),
	       CALL(4, 0x3010, 0x4000), RET(5, 0x4020, 0x1025));
	/* a return into the middle of a caller that made no call there: its callees are gone */
	EXPECT("+1000@0:run! +2000@1:call +3000@2:call +4000@3:call -4000@3:unwind -3000@2:unwind "
	       "-2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x3000), CALL(3, 0x3010, 0x4000),
	       RET(4, 0x4020, 0x2abc), RET(5, 0x2ac0, 0x1015));
	/* to a function that was never seen: all that was called is left */
	EXPECT("+1000@0:run! +2000@1:call +3000@2:call -3000@2:unwind -2000@1:unwind "
	       "-1000@0:unwind! +9000@-1:run! -9000@-1:open!",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x3000), RET(3, 0x3020, 0x9123));
}

static void tails(void **state)
{
	EXPECT("+1000@0:run! +2000@1:call -2000@1:tail +3000@1:tail +4000@2:call -4000@2:ret "
	       "-3000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), TAIL(2, 0x2020, 0x3000), CALL(3, 0x3010, 0x4000),
	       RET(4, 0x4010, 0x3015), RET(5, 0x3020, 0x1015));
	/* tail call of a function that ran before the trace: it returns to an unknown place */
	EXPECT("+1000@0:run! -1000@0:tail! +3000@0:tail -3000@0:ret +9000@-1:run! +5000@0:call "
	       "-5000@0:open -9000@-1:open!",
	       TAIL(1, 0x1020, 0x3000), RET(2, 0x3010, 0x9123), CALL(3, 0x9130, 0x5000));
	/* retpoline: a call inside 2000 pushes an address, and a return jumps to 6000 */
	EXPECT("+1000@0:run! +2000@1:call +2010@2:call -2010@2:unwind -2000@1:tail +6000@1:tail "
	       "-6000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2000, 0x2010), RET(3, 0x2018, 0x6000),
	       RET(4, 0x6010, 0x1015));
}

static void interrupts(void **state)
{
	/* an interrupt in an interrupt; returns inside leave no frame of the other */
	EXPECT("+1000@0:run! +2000@1:call +8000@2:intr +8100@3:call +9000@4:intr -9000@4:ret "
	       "-8100@3:ret "
	       "-8000@2:ret -2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, 0x8000), CALL(3, 0x8010, 0x8100),
	       EXC(4, 0x8110, 0x9000), IRET(5, 0x9010, 0x8110), RET(6, 0x8120, 0x8015),
	       IRET(7, 0x8020, 0x2020), RET(8, 0x2030, 0x1015));
	/* Arm: a far return comes with its own event, and without an address */
	EXPECT("+1000@0:run! +8000@1:intr -8000@1:ret +2000@1:call -2000@1:open "
	       "-1000@0:open!",
	       EXC(1, 0x1020, 0x8000), IRET(2, 0x8010, 0x1020), ERET(2),
	       CALL(3, 0x1030, 0x2000));
	EXPECT("+1000@0:run! +8000@1:intr +9000@2:intr -9000@2:ret -8000@1:ret -1000@0:open!",
	       EXC(1, 0x1020, 0x8000), EXC(2, 0x8020, 0x9000), ERET(3), ERET(4));
	/* a handler that returns to nowhere known does not unwind the interrupted code */
	EXPECT("+1000@0:run! +2000@1:call +8000@2:intr +a000@3:run! -a000@3:ret! -8000@2:ret "
	       "-2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, 0x8000), RET(3, 0x8010, 0xa123),
	       IRET(4, 0xa130, 0x2020), RET(5, 0x2030, 0x1015));
	/* a return from exception that was taken for a jump: the interrupted code goes on */
	EXPECT("+1000@0:run! +2000@1:call +8000@2:intr +8100@3:call -8100@3:ret -8000@2:unwind "
	       "-2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, 0x8000), CALL(3, 0x8010, 0x8100),
	       RET(4, 0x8120, 0x8015), RET(5, 0x2030, 0x1015));
	/* Arm, user code only: the handler is not traced, but the level comes back */
	EXPECT("+1000@0:run! +2000@1:call +ffffffffffffffff@2:intr -ffffffffffffffff@2:ret "
	       "+3000@2:call "
	       "-3000@2:ret -2000@1:ret -1000@0:open!",
	       LEVEL(1, 0), CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, HWT_NO_ADDR), LEVEL(2, 1),
	       ON(3, HWT_NO_ADDR), LEVEL(3, 0), CALL(4, 0x2024, 0x3000), RET(5, 0x3010, 0x2029),
	       RET(6, 0x2030, 0x1015));
	/* nested: the inner one was taken from level 1 */
	EXPECT("+1000@0:run! +8000@1:intr +9000@2:intr -9000@2:ret -8000@1:ret -1000@0:open!",
	       LEVEL(1, 0), EXC(1, 0x1020, 0x8000), LEVEL(1, 1), EXC(2, 0x8020, 0x9000),
	       LEVEL(2, 2), LEVEL(3, 1), LEVEL(4, 0));
	/* trace that begins in the handler */
	EXPECT("+8000@0:run! +8100@1:call -8100@1:unwind -8000@0:ret! +1000@-1:run! "
	       "-1000@-1:open!",
	       CALL(1, 0x8010, 0x8100), IRET(2, 0x8110, 0x1020));
}

#define NOWHERE "ffffffffffffffff"

/*
 * Arm with only user code traced (CoreSight, Linux perf's "u"): the handler is a hole of the
 * recording, in the order in which trace units tell it: exception, level, trace on, level.
 */
static void untraced_handlers(void **state)
{
	/* three faults in a row, the last at a callee's first instruction: it is no signal */
	EXPECT("+1000@0:run! +2000@1:call +" NOWHERE "@2:intr -" NOWHERE "@2:ret "
	       "+" NOWHERE "@2:intr -"
	       NOWHERE "@2:ret +3000@2:call +" NOWHERE "@3:intr -" NOWHERE "@3:ret -3000@2:ret "
	       "-2000@1:ret -1000@0:open!",
	       LEVEL(1, 0), CALL(1, 0x1010, 0x2000),
	       FAULT(2, 0x2020, 12), LEVEL(2, 2), ON(3, 0x2020), LEVEL(3, 0),
	       FAULT(4, 0x2024, 14), LEVEL(4, 1), ON(5, 0x2024), LEVEL(5, 0),
	       CALL(6, 0x2030, 0x3000), FAULT(7, 0x3000, 11), LEVEL(7, 1), ON(8, 0x3000),
	       LEVEL(8, 0), RET(9, 0x3010, 0x2035), RET(10, 0x2040, 0x1015));
	/* a system call, told by the instruction and by the exception's number */
	EXPECT("+1000@0:run! +" NOWHERE "@1:sys -" NOWHERE "@1:ret +" NOWHERE "@1:sys -"
	       NOWHERE "@1:ret -1000@0:open!",
	       LEVEL(1, 0), SYSCALL(2, 0x1010, 0x1015), FAULT(2, 0x1015, 2), LEVEL(2, 1),
	       ON(3, 0x1015), LEVEL(3, 0), FAULT(4, 0x1030, 2), LEVEL(4, 1), ON(5, 0x1030),
	       LEVEL(5, 0));
	/* interrupted by a signal without handler, it is made again: back before the SVC */
	EXPECT("+1000@0:run! +" NOWHERE "@1:sys -" NOWHERE "@1:ret +" NOWHERE "@1:sys -"
	       NOWHERE "@1:ret -1000@0:open!",
	       LEVEL(1, 0), FAULT(2, 0x1014, 2), LEVEL(2, 1), ON(3, 0x1010), LEVEL(3, 0),
	       FAULT(4, 0x1014, 2), LEVEL(4, 1), ON(5, 0x1014), LEVEL(5, 0));
	/* a trapped instruction that the kernel carried out: back behind it */
	EXPECT("+1000@0:run! +" NOWHERE "@1:intr -" NOWHERE "@1:ret -1000@0:open!",
	       LEVEL(1, 0), FAULT(2, 0x1014, 3), LEVEL(2, 2), ON(3, 0x1018), LEVEL(3, 0));
	/* trace units without levels: where tracing comes back is all there is */
	EXPECT("+1000@0:run! +2000@1:call +" NOWHERE "@2:intr -" NOWHERE "@2:ret "
	       "+" NOWHERE "@2:intr -"
	       NOWHERE "@2:unwind -2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), FAULT(2, 0x2020, 1), ON(3, 0x2020),
	       FAULT(4, 0x2020, 1), ON(5, 0x2abc), RET(6, 0x2040, 0x1015));
	/* interrupted before the trace says where (ETMv3) */
	EXPECT("+" NOWHERE "@0:intr -" NOWHERE "@0:ret +8000@-1:run! +8100@0:call -8100@0:ret "
	       "-8000@-1:ret! +2000@-2:run! -2000@-2:open!",
	       FAULT(1, HWT_NO_ADDR, 1), ON(2, 0x8000), CALL(3, 0x8010, 0x8100),
	       RET(4, 0x8120, 0x8015), IRET(5, 0x8020, 0x2020));
	/* the last one of the trace stays open */
	EXPECT("+1000@0:run! +2000@1:call +" NOWHERE "@2:sys -" NOWHERE "@2:open -2000@1:open "
	       "-1000@0:open!", LEVEL(1, 0), CALL(1, 0x1010, 0x2000),
	       FAULT(2, 0x2010, 2), OFF(3, 0x2010));
	/* a filter shows a part of the handler: it is still inside */
	EXPECT("+1000@0:run! +2000@1:call +" NOWHERE "@2:intr +9100@3:call -9100@3:ret "
	       "-" NOWHERE "@2:ret "
	       "-2000@1:ret -1000@0:open!",
	       LEVEL(1, 0), CALL(1, 0x1010, 0x2000), FAULT(2, 0x2020, 14), LEVEL(2, 1),
	       ON(3, 0x9010), CALL(4, 0x9020, 0x9100), RET(5, 0x9110, 0x9025), OFF(6, 0x9030),
	       ON(7, 0x2020), LEVEL(7, 0), RET(8, 0x2030, 0x1015));
}

/* The handler's code is traced or is a hole in the image; the trace tells the return. */
static void traced_handlers(void **state)
{
	/* the new level comes before the return that made it, which is left once */
	EXPECT("+1000@0:run! +2000@1:call +8000@2:intr -8000@2:ret +8000@2:intr -8000@2:ret "
	       "-2000@1:ret "
	       "-1000@0:open!",
	       LEVEL(1, 0), CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, 0x8000), LEVEL(2, 1),
	       LEVEL(3, 0), ERET_TO(3, 0x2020), EXC(4, 0x2024, 0x8000), LEVEL(4, 1), LEVEL(5, 0),
	       ERET_TO(5, 0x2024), RET(6, 0x2030, 0x1015));
	/* the return that made it is traced too, and the level comes last */
	EXPECT("+1000@0:run! +2000@1:call +8000@2:intr -8000@2:ret -2000@1:ret -1000@0:open!",
	       LEVEL(1, 0), CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, 0x8000), LEVEL(2, 1),
	       IRET(3, 0x8010, 0x2020), ERET_TO(3, HWT_NO_ADDR), LEVEL(3, 0),
	       RET(6, 0x2030, 0x1015));
	/* an interrupt of the handler, whose return a hole hides */
	EXPECT("+1000@0:run! +8000@1:intr +9000@2:intr gap -9000@2:lost~ -8000@1:ret~ =1000@0 "
	       "-1000@0:open!~",
	       LEVEL(1, 0), EXC(1, 0x1020, 0x8000), LEVEL(1, 1), EXC(2, 0x8020, 0x9000), GAP(3),
	       LEVEL(4, 0), ERET_TO(4, 0x1020));
	/* by address where two are open */
	EXPECT("+1000@0:run! +8000@1:intr +9000@2:intr -9000@2:unwind -8000@1:ret +2000@1:call "
	       "-2000@1:open -1000@0:open!",
	       EXC(1, 0x1020, 0x8000), EXC(2, 0x8020, 0x9000), ERET_TO(3, 0x1020),
	       CALL(4, 0x1030, 0x2000));
}

/* main is interrupted at 2020, its handler is 6000, and sigreturn (7114) goes back to 2020. */
static void arm_signals(void **state)
{
	EXPECT("+1000@0:run! +2000@1:call +" NOWHERE "@2:intr -" NOWHERE "@2:ret +6000@2:signal "
	       "+3000@3:call "
	       "-3000@3:ret -6000@2:ret +" NOWHERE "@2:sys -" NOWHERE "@2:unwind -2000@1:ret "
	       "-1000@0:open!",
	       LEVEL(1, 0), CALL(1, 0x1010, 0x2000), FAULT(2, 0x2020, 14), LEVEL(2, 1),
	       ON(3, 0x6000), LEVEL(3, 0), CALL(4, 0x6010, 0x3000), RET(5, 0x3010, 0x6015),
	       RET(6, 0x6020, 0x7110), FAULT(7, 0x7114, 2), LEVEL(7, 1), ON(8, 0x2020),
	       LEVEL(8, 0), RET(9, 0x2030, 0x1015));
	/* the handler makes the system call itself: coming back to 2020 ends both */
	EXPECT("+1000@0:run! +2000@1:call +" NOWHERE "@2:intr -" NOWHERE "@2:ret +6000@2:signal "
	       "+" NOWHERE
	       "@3:sys -" NOWHERE "@3:unwind -6000@2:ret -2000@1:ret -1000@0:open!",
	       LEVEL(1, 0), CALL(1, 0x1010, 0x2000), FAULT(2, 0x2020, 14), LEVEL(2, 1),
	       ON(3, 0x6000), LEVEL(3, 0), FAULT(7, 0x6014, 2), LEVEL(7, 1), ON(8, 0x2020),
	       LEVEL(8, 0), RET(9, 0x2030, 0x1015));
	/* the kernel is traced: the level, then the return */
	EXPECT("+1000@0:run! +2000@1:call +8000@2:intr -8000@2:ret +6000@2:signal -6000@2:ret "
	       "+8000@2:sys "
	       "-8000@2:ret -2000@1:ret -1000@0:open!",
	       LEVEL(1, 0), CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, 0x8000), LEVEL(2, 1),
	       LEVEL(3, 0), ERET_TO(3, 0x6000), RET(4, 0x6020, 0x7110),
	       SYSCALL(5, 0x7110, 0x7115), EXC(5, 0x7115, 0x8000), LEVEL(5, 1), LEVEL(6, 0),
	       ERET_TO(6, 0x2020), RET(7, 0x2030, 0x1015));
	/* x86 with kernel: the return instruction goes to the handler instead */
	EXPECT("+1000@0:run! +2000@1:call +ffffffff80001000@2:intr -ffffffff80001000@2:ret "
	       "+6000@2:signal "
	       "-6000@2:ret -2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, 0xffffffff80001000),
	       X86_IRET(3, 0xffffffff80001100, 0x6000), RET(4, 0x6020, 0x7110),
	       RET(5, 0x2030, 0x1015));
	/* a kernel's own exception that returns to another function's start is none */
	EXPECT("+a000@0:run! +8000@1:intr -8000@1:ret -a000@0:open!",
	       LEVEL(1, 1), EXC(2, 0xa020, 0x8000), ERET_TO(3, 0x6000));
}

static void syscalls(void **state)
{
	EXPECT("+1000@0:run! +a000@1:sys +b000@2:call -b000@2:ret -a000@1:ret -1000@0:open!",
	       SYSCALL(1, 0x1010, 0xa000), CALL(2, 0xa010, 0xb000), RET(3, 0xb010, 0xa015),
	       IRET(4, 0xa020, 0x1015));
	/* only user code is traced */
	EXPECT("+1000@0:run! +ffffffffffffffff@1:sys -ffffffffffffffff@1:ret +2000@1:call "
	       "-2000@1:open -1000@0:open!",
	       SYSCALL(1, 0x1010, 0x1015), OFF(1, 0x1015), ON(2, 0x1015),
	       CALL(3, 0x1020, 0x2000));
	/* execve: what was open is gone */
	EXPECT("+1000@0:run! +2000@1:call +" NOWHERE "@2:sys 2015..9123 -" NOWHERE "@2:lost~ "
	       "-2000@1:lost~ -1000@0:lost!~ +9000@0:run!~ -9000@0:open!",
	       CALL(1, 0x1010, 0x2000), SYSCALL(2, 0x2010, 0x2015), OFF(2, 0x2015),
	       ON(3, 0x9123));
	/* Arm: the SVC's target is in the exception */
	EXPECT("+1000@0:run! +a000@1:sys -a000@1:ret -1000@0:open!",
	       SYSCALL(1, 0x1010, 0x1015), EXC(1, 0x1015, 0xa000), ERET(2));
}

/* main is interrupted, the kernel enters handler 6000; it returns to the restorer 7100. */
static void signals(void **state)
{
	EXPECT("+1000@0:run! +2000@1:call +6000@2:signal +3000@3:call -3000@3:ret -6000@2:ret "
	       "+ffffffffffffffff@2:sys -ffffffffffffffff@2:unwind -2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), CUT(2, 0x2020), ON(3, 0x6000), CALL(4, 0x6010, 0x3000),
	       RET(5, 0x3010, 0x6015), RET(6, 0x6020, 0x7100), SYSCALL(7, 0x7110, 0x7115),
	       OFF(7, 0x7115), ON(8, 0x2020), RET(9, 0x2030, 0x1015));
	/* in a system call: coming back from it ends the signal's own system call too */
	EXPECT("+1000@0:run! +ffffffffffffffff@1:sys +6000@2:signal -6000@2:ret "
	       "+ffffffffffffffff@2:sys "
	       "-ffffffffffffffff@2:unwind -ffffffffffffffff@1:ret -1000@0:open!",
	       SYSCALL(1, 0x1010, 0x1015), OFF(1, 0x1015), ON(2, 0x6000),
	       RET(3, 0x6020, 0x7100), SYSCALL(4, 0x7110, 0x7115), OFF(4, 0x7115),
	       ON(5, 0x1015));
	/* a filter that starts at a function's entry is no signal */
	EXPECT("+1000@0:run! +2000@1:call 5000..6000 -2000@1:lost~ -1000@0:lost!~ "
	       "+6000@0:run!~ -6000@0:ret! +1000@0:again!~ -1000@0:open!~",
	       CALL(1, 0x1010, 0x2000), OFF(2, 0x5000), ON(3, 0x6000), RET(4, 0x6010, 0x1015));
}

/* Stretches of trace that nothing connects: windows of a recorder. */
static void windows(void **state)
{
	/* where tracing stops as a function returns, its caller did not run */
	EXPECT("+2000@0:run! -2000@0:ret! +2000@0:run! +3000@1:call -3000@1:ret -2000@0:ret! "
	       "+2000@0:run! -2000@0:open!",
	       ON(1, 0x2000), RET(2, 0x2010, 0x1015), CUT(2, 0x1015), STOP(2),
	       ON(3, 0x2000), CALL(4, 0x2010, 0x3000), RET(5, 0x3010, 0x2015),
	       RET(6, 0x2020, 0x1025), CUT(6, 0x1025), STOP(6), ON(7, 0x2000));
	/* it stops inside: neither a signal, nor the function that is open */
	EXPECT("+2000@0:run! +3000@1:call 3010..2000 -3000@1:lost~ -2000@0:lost!~ +2000@0:run! "
	       "-2000@0:open!",
	       ON(1, 0x2000), CALL(2, 0x2010, 0x3000), CUT(3, 0x3010), STOP(3), ON(4, 0x2000));
	/* it goes on where it stopped */
	EXPECT("+2000@0:run! +3000@1:call -3000@1:ret -2000@0:open!",
	       ON(1, 0x2000), CALL(2, 0x2010, 0x3000), CUT(3, 0x3010), STOP(3), ON(4, 0x3010),
	       RET(5, 0x3020, 0x2015));
	/* the same where a debugger halts the PE */
	EXPECT("+2000@0:run! -2000@0:ret! +2000@0:run! +3000@1:call -3000@1:ret -2000@0:ret! "
	       "+2000@0:run! -2000@0:open!",
	       ON(1, 0x2000), RET(2, 0x2010, 0x1015), HALT(2, 0x1015),
	       ON(3, 0x2000), CALL(4, 0x2010, 0x3000), RET(5, 0x3010, 0x2015),
	       RET(6, 0x2020, 0x1025), HALT(6, 0x1025), ON(7, 0x2000));
	EXPECT("+2000@0:run! +3000@1:call 3010..2000 -3000@1:lost~ -2000@0:lost!~ +2000@0:run! "
	       "-2000@0:open!",
	       ON(1, 0x2000), CALL(2, 0x2010, 0x3000), HALT(3, 0x3010), ON(4, 0x2000));
	EXPECT("+2000@0:run! +3000@1:call -3000@1:ret -2000@0:open!",
	       ON(1, 0x2000), CALL(2, 0x2010, 0x3000), HALT(3, 0x3010), ON(4, 0x3010),
	       RET(5, 0x3020, 0x2015));
}

/* Only some functions are traced: the others are calls that lead nowhere. */
static void filters(void **state)
{
	/* Arm tells no end of tracing, only that it starts again */
	EXPECT("+1000@0:run! +2000@1:call +" NOWHERE "@2:call -" NOWHERE "@2:ret "
	       "+" NOWHERE "@2:call -"
	       NOWHERE "@2:ret -2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, HWT_NO_ADDR), ON(3, 0x2015),
	       CALL(4, 0x2020, HWT_NO_ADDR), ON(5, 0x2025), RET(6, 0x2030, 0x1015));
	EXPECT("+1000@0:run! +2000@1:call +6000@2:call -6000@2:ret -2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x6000), OFF(2, 0x6000), ON(3, 0x2015),
	       RET(6, 0x2030, 0x1015));
	/* recursive, stopped where the outer one is returned to: nothing is left */
	EXPECT("+1000@0:run! +2000@1:call +2000@2:call -2000@2:ret -2000@1:ret -1000@0:open!",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x2000), OFF(3, 0x2015), ON(4, 0x2015),
	       RET(5, 0x2020, 0x2015), RET(6, 0x2030, 0x1015));
}

static void holes(void **state)
{
	/* flow goes on in a function that was open */
	EXPECT("+1000@0:run! +2000@1:call gap =2000@1 -2000@1:ret~ +3000@1:call -3000@1:ret "
	       "-1000@0:open!~",
	       CALL(1, 0x1010, 0x2000), GAP(2), RET(3, 0x2010, 0x1015), CALL(4, 0x1020, 0x3000),
	       RET(5, 0x3010, 0x1025));
	/* entered in the hole, from a function that was open: that is known when it returns */
	EXPECT("+1000@0:run! +2000@1:call gap -2000@1:lost~ -1000@0:lost!~ +5000@0:run!~ "
	       "-5000@0:ret! +2000@1:again!~ -2000@1:ret~ +1000@0:again!~ -1000@0:open!~",
	       CALL(1, 0x1010, 0x2000), GAP(2), RET(3, 0x5010, 0x2456), RET(4, 0x2460, 0x1015));
	/* entered in the hole, from a function that was too */
	EXPECT("+1000@0:run! +2000@1:call gap -2000@1:lost~ -1000@0:lost!~ +5000@0:run!~ "
	       "-5000@0:ret! +6000@-1:run! -6000@-1:ret! +1000@0:again!~ -1000@0:open!~",
	       CALL(1, 0x1010, 0x2000), GAP(2), RET(3, 0x5010, 0x6456), RET(4, 0x6460, 0x1015));
	/* left in the hole */
	EXPECT("+1000@0:run! +2000@1:call +3000@2:call gap -3000@2:lost~ =2000@1 -2000@1:ret~ "
	       "-1000@0:open!~",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x3000), GAP(3),
	       RET(4, 0x2460, 0x1015));
	/* the interrupt ended in the hole */
	EXPECT("+1000@0:run! +2000@1:call +8000@2:intr gap -8000@2:lost~ =2000@1 -2000@1:ret~ "
	       "-1000@0:open!~",
	       CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, 0x8000), GAP(3), RET(4, 0x2460, 0x1015));
	/* of two open calls of one function none is taken, unless a return address tells */
	EXPECT("+1000@0:run! +2000@1:call +2000@2:call gap -2000@2:lost~ -2000@1:lost~ "
	       "-1000@0:lost!~ +2000@0:run!~ +3000@1:call -3000@1:open -2000@0:open!",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x2000), GAP(3), CALL(4, 0x2020, 0x3000));
	EXPECT("+1000@0:run! +2000@1:call +2000@2:call gap -2000@2:lost~ =2000@1 +3000@2:call "
	       "-3000@2:open -2000@1:open~ -1000@0:open!~",
	       CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x2000), GAP(3), ON(4, 0x2015),
	       CALL(4, 0x2020, 0x3000));
	/* nothing behind it: neither left nor open */
	EXPECT("+1000@0:run! +2000@1:call gap -2000@1:lost~ -1000@0:lost!~",
	       CALL(1, 0x1010, 0x2000), GAP(2));
	/* several in a row are one uncertainty; what ran between two stays apart */
	EXPECT("+1000@0:run! gap gap -1000@0:lost!~ +5000@0:run!~ gap -5000@0:lost!~ +6000@0:run!~ "
	       "-6000@0:open!",
	       ON(1, 0x1010), GAP(2), GAP(2), ON(3, 0x5010), GAP(4), ON(5, 0x6010));
}

/* What runs where tracing starts is known by its address. */
static void starts(void **state)
{
	EXPECT("+1000@0:run! -1000@0:open!", ON(1, 0x1010));
	EXPECT("gap +1000@0:run! -1000@0:open!", GAP(1), ON(1, 0x1010));
	/* behind a hole nothing tells where flow goes on, but where it stops */
	EXPECT("gap +1000@0:run! gap -1000@0:lost!~", GAP(1), CUT(2, 0x1010), GAP(3));
	/* it goes on where it stopped */
	EXPECT("+1000@0:run! -1000@0:open!", ON(1, 0x1010), OFF(2, 0x1020), ON(3, 0x1020));
	/* elsewhere: what happened between is not known, whether the end was told (PT) or not */
	EXPECT("+1000@0:run! 1020..2010 -1000@0:lost!~ +2000@0:run!~ -2000@0:open!",
	       ON(1, 0x1010), OFF(2, 0x1020), ON(3, 0x2010));
	EXPECT("+1000@0:run! +3000@1:call -3000@1:ret 1025..2010 -1000@0:lost!~ +2000@0:run!~ "
	       "-2000@0:open!",
	       ON(1, 0x1010), CALL(2, 0x1020, 0x3000), RET(3, 0x3010, 0x1025), ON(4, 0x2010));
	/* a filter left the PLT for main; main calls f, which does not hang under the PLT */
	EXPECT("+6000@0:run! +7000@1:call 7000..1010 -7000@1:lost~ -6000@0:lost!~ +1000@0:run!~ "
	       "+2000@1:call -2000@1:ret -1000@0:open!",
	       ON(1, 0x6010), CALL(2, 0x6020, 0x7000), OFF(3, 0x7000), ON(4, 0x1010),
	       CALL(5, 0x1020, 0x2000), RET(6, 0x2010, 0x1025));
	/* ETMv3 does not tell what was interrupted: the handler is no part of it */
	EXPECT("+1000@0:run! +" NOWHERE "@1:intr +8000@2:run! +8100@3:call -8100@3:ret "
	       "-8000@2:ret! -" NOWHERE "@1:ret -1000@0:open!",
	       ON(1, 0x1010), FAULT(2, HWT_NO_ADDR, 1), ON(3, 0x8000), CALL(4, 0x8010, 0x8100),
	       RET(5, 0x8120, 0x8015), IRET(6, 0x8020, 0x1010));
}

static void threads(void **state)
{
	const struct hwt_event ev[] = {
		CALL(1, 0x1010, 0x2000), ON_TID(((struct hwt_event)CALL(2, 0x1010, 0x3000)), 8),
		ON_TID(((struct hwt_event)CALL(3, 0x3010, 0x4000)), 8), RET(4, 0x2010, 0x1015),
		ON_TID(((struct hwt_event)RET(5, 0x4010, 0x3015)), 8),
	};

	expect(ev, 5, "+1000@0:run! +2000@1:call switch +1000@0:run! +3000@1:call +4000@2:call "
	       "switch -2000@1:ret switch -4000@2:ret -3000@1:open -1000@0:open! "
	       "-1000@0:open!");
}

/* Without symbols only addresses of calls are left to go by. */
static void no_symbols(void **state)
{
	/* an exception that returns to where it was taken tells what goes on behind the hole */
	const struct hwt_event exc[] = {
		CALL(1, 0x1010, 0x2000), EXC(2, 0x2020, 0x8000), GAP(3), GAP(3), ERET_TO(4, 0x2020),
		RET(5, 0x2030, 0x1015),
	};
	const struct hwt_event ev[] = {
		CALL(1, 0x1010, 0x2000), CALL(2, 0x2010, 0x3000), RET(3, 0x3010, 0x2015),
		CUT(4, 0x2020), ON(5, 0x6000), RET(6, 0x6010, 0x7100), RET(7, 0x7110, 0x7200),
	};
	char got[512];

	text(ev, 7, NULL, got, sizeof(got));
	assert_string_equal(got, "+1010@0:run! +2000@1:call +3000@2:call -3000@2:ret 2020..6000 "
			    "-2000@1:lost~ -1010@0:lost!~ +6000@0:run!~ -6000@0:ret! "
			    "+7100@-1:run! -7100@-1:ret! +7200@-2:run! -7200@-2:open!");
	text(exc, 6, NULL, got, sizeof(got));
	assert_string_equal(got, "+1010@0:run! +2000@1:call +8000@2:intr gap gap -8000@2:ret~ "
			    "=2000@1 -2000@1:ret~ -1010@0:open!~");
}

/* Times that overlap, stand still or go back between CPUs never give a negative duration. */
static void durations(void **state)
{
	struct hwt_event ev[] = { CALL(100, 0x1010, 0x2000), RET(90, 0x2010, 0x1015),
		CALL(100, 0x1010, 0x2000), RET(100, 0x2010, 0x1015),
		CALL(HWT_TIME_UNKNOWN, 0x1010, 0x2000), RET(100, 0x2010, 0x1015) };
	struct script sc = { .s.ops = &script_ops, .ev = ev, .n = 6 };
	const uint64_t want[] = { HWT_TIME_UNKNOWN, 100, HWT_TIME_UNKNOWN };
	struct hwt_calls *c;
	struct hwt_call o;

	assert_int_equal(calls_new(&c, func, NULL, &sc.s), 0);
	/* the caller; its entry has no time */
	assert_int_equal(hwt_calls_next(c, &o), 1);
	assert_true(o.enter_time == HWT_TIME_UNKNOWN);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hwt_calls_next(c, &o), 1);
		assert_int_equal(hwt_calls_next(c, &o), 1);
		assert_int_equal(o.what, HWT_CALL_LEAVE);
		assert_true(o.enter_time == want[i]);
	}
	assert_int_equal(hwt_calls_next(c, &o), 1);
	assert_true(o.why == HWT_WHY_OPEN && o.enter_time == HWT_TIME_UNKNOWN);
	assert_int_equal(hwt_calls_next(c, &o), 0);
	hwt_calls_free(c);
}

/* More calls than are remembered: depths go on, the forgotten frames' leaves are inferred. */
static void deep(void **state)
{
	const size_t n = HWT_CALLS_DEPTH + 10;
	struct hwt_event *ev = calloc(2 * n, sizeof(*ev));
	struct script sc = { .s.ops = &script_ops, .ev = ev, .n = 2 * n };
	struct hwt_calls *c;
	struct hwt_call o;
	int32_t depth = 0;
	size_t inferred = 0, i = 0;

	assert_non_null(ev);
	for (i = 0; i < n; i++)
		ev[i] = (struct hwt_event)CALL(i, 0x2010, 0x2000);
	for (; i < 2 * n; i++)
		ev[i] = (struct hwt_event)RET(i, 0x2030, 0x2015);
	assert_int_equal(calls_new(&c, func, NULL, &sc.s), 0);
	for (i = 0; hwt_calls_next(c, &o) > 0; i++) {
		if (o.what == HWT_CALL_ENTER && o.why == HWT_WHY_CALL)
			depth++;
		assert_int_equal(o.depth, depth);
		if (o.what == HWT_CALL_LEAVE)
			depth--;
		else
			inferred += o.inferred;
	}
	/* the caller, and the forgotten ones: one by one found running, as they are returned to */
	assert_int_equal(inferred, HWT_CALLS_DEPTH / 2 + 1);
	assert_int_equal(i, 2 * n + 1 + inferred);
	assert_int_equal(depth, -1);
	hwt_calls_free(c);
	free(ev);
}

/* Small state, so that events that belong together meet often. */
static struct hwt_event any_event(uint32_t *seed)
{
	static const uint16_t types[] = { HWT_EV_CALL, HWT_EV_CALL, HWT_EV_CALL, HWT_EV_RETURN,
		HWT_EV_RETURN, HWT_EV_RETURN, HWT_EV_EXCEPTION, HWT_EV_ERET, HWT_EV_ON, HWT_EV_OFF,
		HWT_EV_GAP, HWT_EV_ASPACE, HWT_EV_NONE, HWT_EV_TX };
	static const uint8_t kinds[] = { HWT_INSN_CALL, HWT_INSN_CALL, HWT_INSN_FAR_CALL,
		HWT_INSN_RETURN, HWT_INSN_FAR_RETURN, HWT_INSN_JUMP };
	struct hwt_event ev = { .cpu = 0, .pid = 7 };
	uint32_t r[8];

	for (int i = 0; i < 8; i++) {
		*seed = *seed * 1664525 + 1013904223;
		r[i] = *seed >> 8;
	}
	ev.type = types[r[0] % (sizeof(types) / sizeof(types[0]))];
	ev.tid = (int32_t)(r[1] % 3) - 1;
	ev.time = r[2] % 1000;
	ev.flags = r[3] % 8 ? 0 : (uint8_t)r[4];
	if (ev.type == HWT_EV_CALL || ev.type == HWT_EV_RETURN) {
		ev.u.edge.from = 0x1000 * (r[5] % 5) + r[6] % 3 * 5;
		ev.u.edge.to = r[7] % 11 ? 0x1000 * (r[7] % 5) + r[4] % 4 * 5 : HWT_NO_ADDR;
		ev.u.edge.kind = kinds[r[2] % sizeof(kinds)];
		ev.u.edge.last_size = r[6] % 7 ? 5 : 0;
	} else if (ev.type == HWT_EV_EXCEPTION) {
		ev.u.exc.from = 0x1000 * (r[5] % 5);
		ev.u.exc.to = r[6] % 3 ? 0x8000 : HWT_NO_ADDR;
	} else if (ev.type == HWT_EV_ON || ev.type == HWT_EV_OFF) {
		ev.u.at.addr = r[5] % 5 ? 0x1000 * (r[6] % 5) + r[7] % 2 * 5 : HWT_NO_ADDR;
	} else if (ev.type == HWT_EV_ASPACE) {
		ev.u.aspace.el = r[5] % 3;
		ev.u.aspace.valid = (uint8_t)r[6];
	}
	return ev;
}

/* Whatever comes in: what is left was entered, the innermost first, and nothing stays. */
static void nesting(void **state)
{
	enum { N = 200000 };
	struct hwt_event *ev = calloc(N, sizeof(*ev));
	struct script sc = { .s.ops = &script_ops, .ev = ev, .n = N };
	static struct { uint64_t func; int32_t depth; } stack[3][N];
	int32_t n[3] = { 0 };
	struct hwt_calls *c;
	struct hwt_call o;
	uint32_t seed = 1;
	size_t seen = 0;
	int rc;

	assert_non_null(ev);
	for (int i = 0; i < N; i++)
		ev[i] = any_event(&seed);
	assert_int_equal(calls_new(&c, func, NULL, &sc.s), 0);
	while ((rc = hwt_calls_next(c, &o)) > 0) {
		int t = o.ev.tid + 1, top = n[t] - 1;

		seen++;
		if (o.what == HWT_CALL_ENTER) {
			if (n[t])
				assert_int_equal(o.depth, stack[t][top].depth + 1);
			stack[t][n[t]].func = o.func;
			stack[t][n[t]++].depth = o.depth;
		} else if (o.what == HWT_CALL_LEAVE || o.what == HWT_CALL_RESUME) {
			assert_true(n[t] > 0);
			assert_int_equal(o.depth, stack[t][top].depth);
			assert_true(stack[t][top].func == o.func);
			n[t] -= o.what == HWT_CALL_LEAVE;
		}
	}
	assert_int_equal(rc, 0);
	assert_int_equal(n[0] | n[1] | n[2], 0);
	assert_true(seen > N / 2);
	hwt_calls_free(c);
	free(ev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain), cmocka_unit_test(recursion), cmocka_unit_test(longjmp_),
		cmocka_unit_test(tails), cmocka_unit_test(interrupts), cmocka_unit_test(syscalls),
		cmocka_unit_test(untraced_handlers), cmocka_unit_test(traced_handlers),
		cmocka_unit_test(arm_signals),
		cmocka_unit_test(signals), cmocka_unit_test(windows),
		cmocka_unit_test(filters),
		cmocka_unit_test(holes), cmocka_unit_test(starts), cmocka_unit_test(threads),
		cmocka_unit_test(no_symbols), cmocka_unit_test(durations), cmocka_unit_test(deep),
		cmocka_unit_test(nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
