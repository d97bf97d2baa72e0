/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>

#include <cmocka.h>

#include "../../../../decoders/flow/emit.h"

#define BR_X30 0x1204

/*
 * A tiny world in place of the image, so that the test alone says what the code is: functions of
 * 0x100 bytes at 0x1000, 0x1100 and 0x1200; every instruction is two bytes, memory ends at 0x1300.
 */
int hwt_image_read(const struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		   void *buf, size_t n)
{
	if (addr < 0x1000 || addr >= 0x1300)
		return 0;
	if (n > 0x1300 - addr)
		n = 0x1300 - addr;
	memset(buf, 0x90, n);
	if (addr == BR_X30 && n >= 4)
		memcpy(buf, "\xc0\x03\x1f\xd6", 4);
	return (int)n;
}

int hwt_insn_decode(struct hwt_insn *out, unsigned isa, uint64_t addr, const void *p, size_t n)
{
	if (n < 2)
		return -HWT_E_MORE;
	*out = (struct hwt_insn){ .addr = addr, .size = 2, .isa = (uint8_t)isa,
		.target = HWT_NO_ADDR };
	return 0;
}

int image_entry(struct hwt_image *img, const struct hwt_where *w, uint64_t addr, uint64_t *func)
{
	if (addr < 0x1000 || addr >= 0x1300)
		return 0;
	*func = addr & ~0xffull;
	return addr == *func;
}

static struct hwt_flow_stats st;
static struct emit e;

static void start(struct hwt_interest w)
{
	struct flow_args a = { .want = &w };

	memset(&st, 0, sizeof(st));
	assert_int_equal(emit_init(&e, &a, &st, 1), 0);
}

static struct hwt_event event(unsigned type, uint64_t time)
{
	return (struct hwt_event){ .type = (uint16_t)type, .time = time, .cpu = 1, .pid = 10,
		.tid = 11 };
}

static void range(uint64_t time, uint64_t first, uint64_t last, unsigned kind)
{
	struct hwt_event ev = event(HWT_EV_RANGE, time);

	ev.u.range.first = first;
	ev.u.range.last = last;
	ev.u.range.insns = (uint32_t)(last - first) / 2 + 1;
	ev.u.range.kind = (uint8_t)kind;
	ev.u.range.isa = HWT_ISA_X86_64;
	emit_range(&e, 0, &ev);
}

static void at(unsigned type, uint64_t time, uint64_t addr)
{
	struct hwt_event ev = event(type, time);

	ev.u.at.addr = addr;
	emit_event(&e, 0, &ev);
}

/* NONE tells a time that was reached, nothing more. */
static int take(struct hwt_event *ev)
{
	int n;

	do {
		n = emit_take(&e, ev, 1);
	} while (n && ev->type == HWT_EV_NONE);
	return n;
}

static struct hwt_event next(void)
{
	struct hwt_event ev;

	assert_int_equal(take(&ev), 1);
	return ev;
}

static void none(void)
{
	struct hwt_event ev;

	assert_int_equal(take(&ev), 0);
}

static void edge(unsigned type, unsigned flags, uint64_t from, uint64_t to)
{
	struct hwt_event ev = next();

	assert_int_equal(ev.type, type);
	assert_int_equal(ev.flags, flags);
	assert_int_equal(ev.u.edge.from, from);
	assert_int_equal(ev.u.edge.to, to);
}

static void test_holes(void **state)
{
	struct hwt_event gap = event(HWT_EV_GAP, 5);

	start((struct hwt_interest){ .level = HWT_LEVEL_HOLES, .time_hi = HWT_TIME_UNKNOWN });
	range(1, 0x1000, 0x1008, HWT_INSN_CALL);
	at(HWT_EV_ON, 2, 0x1000);
	gap.u.gap.bytes = 7;
	gap.u.gap.lost = 9;
	gap.u.gap.cause = HWT_GAP_AUX_LOST;
	emit_event(&e, 0, &gap);
	assert_int_equal(next().type, HWT_EV_GAP);
	none();
	/* an address in its place is no loss */
	gap.u.gap.bytes = 0;
	gap.u.gap.cause = HWT_GAP_NO_IMAGE;
	emit_event(&e, 0, &gap);
	next();
	assert_int_equal(st.insns, 5);
	assert_int_equal(st.ranges, 1);
	assert_int_equal(st.gaps, 2);
	assert_int_equal(st.bytes_skipped, 7);
	assert_int_equal(st.bytes_lost, 9);
	assert_int_equal(st.events, 2);
	emit_fini(&e);
}

static void test_calls(void **state)
{
	struct hwt_event ev;

	start((struct hwt_interest){ .level = HWT_LEVEL_CALLS, .unfolded = true,
		.time_hi = HWT_TIME_UNKNOWN });
	range(1, 0x1000, 0x1004, HWT_INSN_CALL);
	none();
	range(2, 0x1100, 0x1100, HWT_INSN_JUMP);	/* inside the function */
	edge(HWT_EV_CALL, 0, 0x1004, 0x1100);
	range(3, 0x1110, 0x1112, HWT_INSN_JUMP);	/* back to its own start: a loop */
	range(4, 0x1100, 0x1100, HWT_INSN_IJUMP);	/* to another one's: a tail call */
	none();
	range(5, 0x1200, 0x12fe, HWT_INSN_RETURN);
	edge(HWT_EV_CALL, HWT_F_TAIL, 0x1100, 0x1200);
	range(6, 0x1006, 0x1006, HWT_INSN_FAR_CALL);
	edge(HWT_EV_RETURN, 0, 0x12fe, 0x1006);
	range(7, 0x1200, 0x1200, HWT_INSN_FAR_RETURN);
	edge(HWT_EV_CALL, 0, 0x1006, 0x1200);
	range(8, 0x1008, 0x1008, HWT_INSN_OTHER);
	edge(HWT_EV_RETURN, HWT_F_INTR, 0x1200, 0x1008);
	/* not taken, runs into the next function: no call; taken: a call */
	range(9, 0x10f0, 0x10fe, HWT_INSN_BRANCH);
	range(9, 0x1100, 0x1102, HWT_INSN_BRANCH);
	none();
	range(9, 0x1200, 0x1200, HWT_INSN_ICALL);
	edge(HWT_EV_CALL, HWT_F_TAIL, 0x1102, 0x1200);
	/* a hole: the target is not known */
	ev = event(HWT_EV_GAP, 10);
	emit_event(&e, 0, &ev);
	edge(HWT_EV_CALL, 0, 0x1200, HWT_NO_ADDR);
	assert_int_equal(next().type, HWT_EV_GAP);
	/* an interrupt at the callee's first instruction tells where the call went */
	range(11, 0x1000, 0x1004, HWT_INSN_CALL);
	ev = event(HWT_EV_EXCEPTION, 12);
	ev.u.exc.from = 0x1100;
	emit_event(&e, 0, &ev);
	edge(HWT_EV_CALL, 0, 0x1004, 0x1100);
	assert_int_equal(next().type, HWT_EV_EXCEPTION);
	range(13, 0x1000, 0x1004, HWT_INSN_CALL);
	emit_flush(&e);
	edge(HWT_EV_CALL, 0, 0x1004, HWT_NO_ADDR);
	none();
	emit_fini(&e);
}

static void cycles(uint64_t time, uint64_t n)
{
	struct hwt_event ev = event(HWT_EV_CYCLES, time);

	ev.u.value.value = n;
	ev.u.value.what = HWT_CYCLES_BEFORE;
	emit_event(&e, 0, &ev);
}

/* Cycles stay behind what they came after, and none is left out unsaid. */
static void test_cycles(void **state)
{
	struct hwt_event ev;

	start((struct hwt_interest){ .level = HWT_LEVEL_CALLS, .unfolded = true,
		.time_hi = HWT_TIME_UNKNOWN });
	cycles(1, 5);
	ev = next();
	assert_int_equal(ev.type, HWT_EV_CYCLES);
	assert_int_equal(ev.u.value.value, 5);
	range(1, 0x1000, 0x1004, HWT_INSN_CALL);
	for (int i = 0; i < 20; i++)
		cycles(2, 3);
	at(HWT_EV_TIMESTAMP, 2, 0);
	cycles(3, 4);
	none();
	range(3, 0x1200, 0x1200, HWT_INSN_OTHER);
	edge(HWT_EV_CALL, 0, 0x1004, 0x1200);
	ev = next();
	assert_int_equal(ev.u.value.value, 60);
	assert_int_equal(next().type, HWT_EV_TIMESTAMP);
	assert_int_equal(next().u.value.value, 4);
	/* no room: from the last place on counts are not known, which is said there */
	range(4, 0x1000, 0x1004, HWT_INSN_CALL);
	at(HWT_EV_TIMESTAMP, 5, 0);
	cycles(5, 7);
	at(HWT_EV_TIMESTAMP, 5, 0);
	at(HWT_EV_SCHED_SWITCH, 5, 0);
	cycles(5, 7);
	range(6, 0x1200, 0x1200, HWT_INSN_OTHER);
	edge(HWT_EV_CALL, 0, 0x1004, 0x1200);
	assert_int_equal(next().type, HWT_EV_TIMESTAMP);
	ev = next();
	assert_int_equal(ev.u.value.what, HWT_CYCLES_BEFORE);
	ev = next();
	assert_int_equal(ev.type, HWT_EV_CYCLES);
	assert_int_equal(ev.u.value.what, HWT_CYCLES_BEHIND);
	assert_int_equal(next().type, HWT_EV_SCHED_SWITCH);
	none();
	emit_fini(&e);
	/* calls alone: nobody makes times of them */
	start((struct hwt_interest){ .level = HWT_LEVEL_CALLS, .time_hi = HWT_TIME_UNKNOWN });
	cycles(1, 5);
	at(HWT_EV_TIMESTAMP, 2, 0);
	none();
	emit_fini(&e);
}

static void test_return_by_jump(void **state)
{
	struct hwt_event ev = event(HWT_EV_RANGE, 1);

	start((struct hwt_interest){ .level = HWT_LEVEL_CALLS, .unfolded = true,
		.time_hi = HWT_TIME_UNKNOWN });
	ev.u.range.isa = HWT_ISA_A64;
	ev.u.range.kind = HWT_INSN_IJUMP;
	ev.u.range.first = 0x1200;
	ev.u.range.last = BR_X30;
	ev.u.range.last_size = 4;
	emit_range(&e, 0, &ev);
	range(2, 0x1008, 0x1010, HWT_INSN_OTHER);
	edge(HWT_EV_RETURN, 0, BR_X30, 0x1008);
	/* through another register it stays a jump */
	ev.u.range.last = BR_X30 + 4;
	emit_range(&e, 0, &ev);
	range(3, 0x1008, 0x1010, HWT_INSN_OTHER);
	none();
	emit_fini(&e);
}

static void test_order_behind_an_edge(void **state)
{
	start((struct hwt_interest){ .level = HWT_LEVEL_CALLS, .unfolded = true,
		.time_hi = HWT_TIME_UNKNOWN });
	range(1, 0x1000, 0x1004, HWT_INSN_CALL);
	at(HWT_EV_SCHED_SWITCH, 2, 0);
	at(HWT_EV_TIMESTAMP, 2, 0);
	none();
	range(3, 0x1200, 0x1200, HWT_INSN_OTHER);
	edge(HWT_EV_CALL, 0, 0x1004, 0x1200);
	assert_int_equal(next().type, HWT_EV_SCHED_SWITCH);
	assert_int_equal(next().type, HWT_EV_TIMESTAMP);	/* for who makes times */
	none();
	/* many events behind an edge do not pile up */
	range(4, 0x1000, 0x1004, HWT_INSN_CALL);
	for (int i = 0; i < 10; i++)
		at(HWT_EV_SCHED_SWITCH, 5, 0);
	edge(HWT_EV_CALL, 0, 0x1004, HWT_NO_ADDR);
	for (int i = 0; i < 10; i++)
		assert_int_equal(next().type, HWT_EV_SCHED_SWITCH);
	none();
	emit_fini(&e);
}

static void exception(uint64_t time, uint64_t from)
{
	struct hwt_event ev = event(HWT_EV_EXCEPTION, time);

	ev.u.exc.from = from;
	ev.u.exc.to = HWT_NO_ADDR;
	emit_event(&e, 0, &ev);
}

static void gap(uint64_t time, int cause, uint64_t addr)
{
	struct hwt_event ev = event(HWT_EV_GAP, time);

	ev.u.gap.cause = (int16_t)cause;
	ev.u.gap.addr = addr;
	emit_event(&e, 0, &ev);
}

static void place(unsigned type, uint64_t addr)
{
	struct hwt_event ev = next();

	assert_int_equal(ev.type, type);
	assert_int_equal(type == HWT_EV_EXCEPTION ? ev.u.exc.to : ev.u.at.addr, addr);
}

/* Trace units of Arm do not say where an exception leads; the code that runs next does. */
static void test_places(void **state)
{
	start((struct hwt_interest){ .level = HWT_LEVEL_CALLS, .unfolded = true,
		.time_hi = HWT_TIME_UNKNOWN });
	at(HWT_EV_ON, 1, HWT_NO_ADDR);
	at(HWT_EV_ASPACE, 1, 0);
	none();
	range(1, 0x1010, 0x1020, HWT_INSN_OTHER);
	place(HWT_EV_ON, 0x1010);
	assert_int_equal(next().type, HWT_EV_ASPACE);
	exception(2, 0x1022);
	none();
	range(2, 0x1200, 0x1202, HWT_INSN_OTHER);
	place(HWT_EV_EXCEPTION, 0x1200);
	at(HWT_EV_ERET, 3, HWT_NO_ADDR);
	range(3, 0x1022, 0x1030, HWT_INSN_CALL);
	place(HWT_EV_ERET, 0x1022);
	/* what is known stays as it is */
	at(HWT_EV_ON, 4, 0x1040);
	edge(HWT_EV_CALL, 0, 0x1030, HWT_NO_ADDR);
	place(HWT_EV_ON, 0x1040);
	/* the handler is not traced: the place where tracing comes back is not its start */
	exception(5, 0x1050);
	at(HWT_EV_ON, 6, HWT_NO_ADDR);
	place(HWT_EV_EXCEPTION, HWT_NO_ADDR);
	exception(7, 0x1060);		/* before one instruction */
	place(HWT_EV_ON, 0x1060);
	at(HWT_EV_ERET, 8, HWT_NO_ADDR);
	place(HWT_EV_EXCEPTION, HWT_NO_ADDR);
	at(HWT_EV_ERET, 8, HWT_NO_ADDR);
	place(HWT_EV_ERET, HWT_NO_ADDR);
	at(HWT_EV_OFF, 9, 0x1070);
	place(HWT_EV_ERET, 0x1070);
	place(HWT_EV_OFF, 0x1070);
	/* no code there: but the hole says where */
	exception(10, 0x1080);
	gap(10, HWT_GAP_NO_IMAGE, 0x5000);
	place(HWT_EV_EXCEPTION, 0x5000);
	next();
	exception(11, 0x1080);
	gap(11, HWT_GAP_OVERFLOW, 0x5000);
	place(HWT_EV_EXCEPTION, HWT_NO_ADDR);
	next();
	/* a return instruction and the packet of it */
	range(12, 0x1200, 0x1204, HWT_INSN_FAR_RETURN);
	at(HWT_EV_ERET, 12, HWT_NO_ADDR);
	range(13, 0x1080, 0x1082, HWT_INSN_OTHER);
	edge(HWT_EV_RETURN, HWT_F_INTR, 0x1204, 0x1080);
	exception(14, 0x1084);
	emit_flush(&e);
	place(HWT_EV_EXCEPTION, HWT_NO_ADDR);
	none();
	emit_fini(&e);
}

static void context(uint64_t time, uint64_t id, unsigned el, int32_t tid)
{
	struct hwt_event ev = event(HWT_EV_ASPACE, time);

	ev.tid = tid;
	ev.u.aspace.id = id;
	ev.u.aspace.el = (uint8_t)el;
	ev.u.aspace.valid = el < 4 ? 5 : 1;
	emit_event(&e, 0, &ev);
}

static void told(uint64_t id, unsigned el)
{
	struct hwt_event ev = next();

	assert_int_equal(ev.type, HWT_EV_ASPACE);
	assert_int_equal(ev.u.aspace.id, id);
	assert_int_equal(ev.u.aspace.el, el);
}

#define NO_LEVEL 9

/* Of the contexts that a trace repeats, those that say something new. */
static void test_contexts(void **state)
{
	struct hwt_event ev;

	start((struct hwt_interest){ .level = HWT_LEVEL_CALLS, .unfolded = true,
		.time_hi = HWT_TIME_UNKNOWN });
	context(1, 7, 0, 11);
	range(1, 0x1000, 0x1002, HWT_INSN_OTHER);
	told(7, 0);
	/* user code only is traced: between exception and ON nothing ran */
	for (uint64_t t = 2; t < 5; t++) {
		exception(t, 0x1004);
		context(t, 7, 2, 11);
		at(HWT_EV_ON, t, HWT_NO_ADDR);
		context(t, 7, 0, 11);
		range(t, 0x1004, 0x1006, HWT_INSN_OTHER);
		place(HWT_EV_EXCEPTION, HWT_NO_ADDR);
		place(HWT_EV_ON, 0x1004);
	}
	/* what runs is not what ran: both levels are told, where they were */
	exception(5, 0x1004);
	context(5, 7, 2, 11);
	at(HWT_EV_ON, 6, HWT_NO_ADDR);
	context(6, 7, 1, 11);
	range(6, 0x1200, 0x1202, HWT_INSN_OTHER);
	place(HWT_EV_EXCEPTION, HWT_NO_ADDR);
	told(7, 2);
	place(HWT_EV_ON, 0x1200);
	told(7, 1);
	/* the same again, and after what may have left that level */
	context(7, 7, 1, 11);
	range(7, 0x1202, 0x1204, HWT_INSN_OTHER);
	none();
	at(HWT_EV_ERET, 8, 0x1000);
	context(8, 7, 1, 11);
	range(8, 0x1204, 0x1206, HWT_INSN_FAR_RETURN);
	place(HWT_EV_ERET, 0x1000);
	told(7, 1);
	context(9, 7, 1, 11);
	range(9, 0x1000, 0x1002, HWT_INSN_OTHER);
	edge(HWT_EV_RETURN, HWT_F_INTR, 0x1206, 0x1000);
	told(7, 1);
	/* a run without code: first and last; the time of each was reached all the same */
	for (uint64_t t = 10; t < 16; t++)
		context(t, 20 + t, NO_LEVEL, 12);
	range(16, 0x1000, 0x1004, HWT_INSN_CALL);
	assert_int_equal(emit_take(&e, &ev, 1), 1);
	assert_int_equal(ev.u.aspace.id, 30);
	for (uint64_t t = 11; t < 15; t++) {
		assert_int_equal(emit_take(&e, &ev, 1), 1);
		assert_int_equal(ev.type, HWT_EV_NONE);
		assert_int_equal(ev.time, t);
	}
	told(35, NO_LEVEL);
	/* behind an edge too; another thread in the same address space is news */
	for (uint64_t t = 17; t < 23; t++)
		context(t, 20 + t, NO_LEVEL, 12);
	context(23, 42, NO_LEVEL, 13);
	range(24, 0x1100, 0x1102, HWT_INSN_OTHER);
	edge(HWT_EV_CALL, 0, 0x1004, 0x1100);
	told(37, NO_LEVEL);
	told(42, NO_LEVEL);
	told(42, NO_LEVEL);
	/* and the one that comes back to it */
	at(HWT_EV_OFF, 24, 0x1104);		/* of thread 11 */
	context(24, 42, NO_LEVEL, 13);
	context(24, 42, NO_LEVEL, 13);
	place(HWT_EV_OFF, 0x1104);
	range(24, 0x1106, 0x1108, HWT_INSN_OTHER);
	told(42, NO_LEVEL);
	none();
	/* what waits at the end goes out */
	context(25, 50, NO_LEVEL, 13);
	at(HWT_EV_TX, 26, 0);
	emit_flush(&e);
	told(50, NO_LEVEL);
	assert_int_equal(emit_take(&e, &ev, 1), 1);
	assert_int_equal(ev.type, HWT_EV_NONE);
	assert_int_equal(ev.time, 26);
	none();
	emit_fini(&e);
}

static void test_interest(void **state)
{
	struct hwt_addr_range r[] = { { 0x1004, 0x1007 } };
	int32_t tid = 11, other = 12, cpu = 1;
	struct hwt_event ev;
	struct hwt_interest w = { .level = HWT_LEVEL_RANGES, .addrs = r, .naddrs = 1,
		.time_lo = 10, .time_hi = 20 };

	start(w);
	range(15, 0x1000, 0x1002, 0);
	range(15, 0x1008, 0x1008, 0);
	range(21, 0x1000, 0x1008, 0);
	none();
	range(9, 0x1000, 0x1008, 0);	/* may last until 10: that is told later */
	assert_int_equal(next().time, 9);
	range(10, 0x1000, 0x1004, 0);
	range(20, 0x1006, 0x1010, 0);
	range(HWT_TIME_UNKNOWN, 0x1006, 0x1010, 0);
	assert_int_equal(next().time, 10);
	assert_int_equal(next().time, 20);
	next();
	none();
	/* ranges that nobody wants are counted all the same */
	assert_int_equal(st.ranges, 7);
	emit_fini(&e);

	w = (struct hwt_interest){ .level = HWT_LEVEL_RANGES, .tids = &other, .ntids = 1,
		.time_hi = HWT_TIME_UNKNOWN };
	start(w);
	range(1, 0x1000, 0x1010, 0);
	none();
	at(HWT_EV_GAP, 1, 0);		/* the same thread comes out of it: hides nobody */
	range(2, 0x1000, 0x1010, 0);
	none();
	at(HWT_EV_GAP, 3, 0);		/* another one does: it may hide its beginning */
	at(HWT_EV_GAP, 4, 0);
	none();
	ev = event(HWT_EV_SCHED_SWITCH, 5);
	ev.u.sched.prev_tid = tid;
	ev.u.sched.next_tid = other;
	emit_event(&e, 0, &ev);
	assert_int_equal(next().time, 3);
	assert_int_equal(next().time, 4);
	assert_int_equal(next().type, HWT_EV_SCHED_SWITCH);
	ev.u.sched.next_tid = 13;	/* names two others */
	emit_event(&e, 0, &ev);
	none();
	at(HWT_EV_GAP, 6, 0);		/* nothing comes: who ran is not known */
	emit_flush(&e);
	assert_int_equal(next().time, 6);
	none();
	emit_fini(&e);
	w.tids = &tid;
	w.cpus = &cpu;
	w.ncpus = 1;
	start(w);
	range(1, 0x1000, 0x1010, 0);
	next();
	emit_fini(&e);
	w.cpus = &other;
	start(w);
	range(1, 0x1000, 0x1010, 0);
	none();
	emit_fini(&e);
	w.level = HWT_LEVEL_INSNS + 1;
	assert_int_equal(emit_init(&e, &(struct flow_args){ .want = &w }, &st, 1), -EINVAL);
	emit_fini(&e);
}

/* With ranges: each behind the edge that leads to it, and nothing told in another event. */
static void edges_and_ranges(void **state)
{
	struct hwt_event ev;

	start((struct hwt_interest){ .level = HWT_LEVEL_CALLS, .ranges = true,
		.time_hi = HWT_TIME_UNKNOWN });
	range(10, 0x1000, 0x1008, HWT_INSN_CALL);
	range(20, 0x1100, 0x1104, HWT_INSN_BRANCH);
	range(30, 0x1110, 0x1118, HWT_INSN_RETURN);
	range(40, 0x100a, 0x1010, HWT_INSN_OTHER);
	emit_flush(&e);
	for (int i = 0; i < 6; i++) {
		static const struct { uint16_t type; uint64_t time, to; } want[] = {
			{ HWT_EV_RANGE, 10, 0x1000 }, { HWT_EV_CALL, 10, 0x1100 },
			{ HWT_EV_RANGE, 20, 0x1100 }, { HWT_EV_RANGE, 30, 0x1110 },
			{ HWT_EV_RETURN, 30, 0x100a }, { HWT_EV_RANGE, 40, 0x100a },
		};

		ev = next();
		assert_int_equal(ev.type, want[i].type);
		assert_int_equal(ev.time, want[i].time);
		assert_int_equal(ev.type == HWT_EV_RANGE ? ev.u.range.first : ev.u.edge.to,
				 want[i].to);
	}
	none();
	emit_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_and_ranges),
		cmocka_unit_test(test_holes), cmocka_unit_test(test_calls),
		cmocka_unit_test(test_order_behind_an_edge),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_return_by_jump), cmocka_unit_test(test_places),
		cmocka_unit_test(test_contexts), cmocka_unit_test(test_interest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
