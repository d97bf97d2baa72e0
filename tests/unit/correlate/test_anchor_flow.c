/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow and records by hand: which times get narrower, and which must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/anchor_flow.h"
#include "hwtrace/image/image.h"
#include "tests/support/evlist.h"

#define MAX	32

/* A stream of events that lie in an array. */
static struct hwt_event flow[MAX], kernel[MAX];
static struct hwt_rec_syscall_enter rec[MAX];
static size_t nflow, nkernel;
static struct hwt_image *image;

static struct hwt_event *add(unsigned type, uint64_t lo, uint64_t hi, uint64_t off)
{
	struct hwt_event *ev = &flow[nflow++];

	*ev = (struct hwt_event){ .type = (uint16_t)type, .time = lo, .off = off, .cpu = 0,
		.pid = HWT_NONE };
	ev->span = lo == HWT_TIME_UNKNOWN ? HWT_SPAN_UNKNOWN : (uint32_t)(hi - lo);
	return ev;
}

static void run(uint64_t lo, uint64_t hi, uint64_t off, uint64_t addr, unsigned kind)
{
	struct hwt_event *ev = add(HWT_EV_RANGE, lo, hi, off);

	ev->u.range.first = ev->u.range.last = addr;
	ev->u.range.kind = (uint8_t)kind;
	ev->u.range.isa = HWT_ISA_X86_64;
	ev->u.range.last_size = 2;
}

/* A system call of a user-only trace: instruction, off, on. */
static void call(uint64_t lo, uint64_t hi, uint64_t back, uint64_t off)
{
	run(lo, hi, off, 0x401000, HWT_INSN_FAR_CALL);
	add(HWT_EV_OFF, lo, hi, off + 1);
	add(HWT_EV_ON, lo, back, off + 2)->flags = HWT_F_RESUMED;
	run(lo, back, off + 3, 0x401002, HWT_INSN_OTHER);
}

static void record(unsigned id, uint64_t time, int32_t cpu, int32_t tid)
{
	struct hwt_rec_syscall_enter *r = &rec[nkernel];
	struct hwt_event *ev = &kernel[nkernel++];
	size_t size = id == HWT_ID_syscall_enter ? sizeof(*r) :
		id == HWT_ID_syscall_exit ? sizeof(struct hwt_rec_syscall_exit) :
		sizeof(struct hwt_rec_stream_lost);

	memset(r, 0, sizeof(*r));
	r->rec = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1 };
	*ev = (struct hwt_event){ .type = HWT_EV_RECORD, .time = time, .cpu = cpu, .tid = tid };
	ev->u.rec.data = r;
	ev->u.rec.size = (uint32_t)size;
	ev->u.rec.id = id;
}

static int start(void **state)
{
	(void)state;
	nflow = nkernel = 0;
	return 0;
}

/* The code that calls: SYSCALL (SDM vol. 2, 0F 05), NOP. */
static int open_code(void **state)
{
	static const uint8_t code[] = { 0x0f, 0x05, 0x66, 0x90 };

	(void)state;
	return image_new(&image, NULL) ||
		image_add_bytes(image, HWT_NONE, 0, 0x401000, code, sizeof(code), "code");
}

static int close_code(void **state)
{
	(void)state;
	image_free(image);
	return 0;
}

/* Reads all; what came out is in @out. The sum of the anchors. */
static struct anchor_sum read_all(struct hwt_event *out, int32_t tid)
{
	struct anchor_book *book;
	struct anchor_sum sum;
	struct hwt_stream *s;

	assert_int_equal(anchor_book_new(&book, evlist(flow, nflow), evlist(kernel, nkernel), image,
					 0, tid), 0);
	sum = *anchor_book_sum(book);
	assert_int_equal(anchor_flow_new(&s, book, evlist(flow, nflow)), 0);
	assert_int_equal(hwt_stream_next(s, out, MAX), nflow);
	assert_int_equal(hwt_stream_next(s, out + nflow, (int)(MAX - nflow)), 0);
	hwt_stream_close(s);
	return sum;
}

static void times(const struct hwt_event *ev, uint64_t lo, uint64_t hi)
{
	assert_int_equal(ev->time, lo);
	assert_int_equal(ev->time + ev->span, hi);
}

static void test_thread(void **state)
{
	struct hwt_event out[MAX];

	(void)state;
	call(100, 200, 220, 10);
	call(210, 300, 330, 20);
	record(HWT_ID_syscall_enter, 150, 0, 7);
	record(HWT_ID_syscall_enter, 155, 0, 8);	/* another thread's */
	record(HWT_ID_syscall_exit, 190, 0, 7);
	record(HWT_ID_syscall_enter, 260, 1, 7);	/* on another CPU */
	record(HWT_ID_syscall_exit, 270, 1, 7);
	assert_int_equal(read_all(out, 7).certain, 2);
	times(&out[0], 100, 150);	/* the instruction */
	times(&out[1], 100, 150);	/* off */
	times(&out[2], 190, 220);	/* on: the call was over */
	times(&out[3], 190, 220);
	times(&out[4], 210, 260);
	times(&out[5], 210, 260);
	times(&out[6], 270, 330);
}

/* On a CPU another thread may run before the call is over. */
static void test_cpu(void **state)
{
	struct hwt_event out[MAX];

	(void)state;
	call(100, 200, 220, 10);
	call(210, 300, 330, 20);
	record(HWT_ID_syscall_enter, 150, 0, 7);
	record(HWT_ID_syscall_enter, 155, 1, 7);
	record(HWT_ID_syscall_exit, 190, 0, 7);
	record(HWT_ID_syscall_enter, 260, 0, 8);
	assert_int_equal(read_all(out, HWT_NONE).certain, 2);
	times(&out[0], 100, 150);
	times(&out[2], 150, 220);
	times(&out[6], 260, 330);
}

/* Two records in the time of one instruction, and one of them may be another's: none is taken. */
static void test_doubt(void **state)
{
	struct hwt_event out[MAX];
	struct anchor_sum sum;

	(void)state;
	call(100, 200, 220, 10);
	record(HWT_ID_syscall_enter, 150, 0, 7);
	record(HWT_ID_syscall_enter, 170, 0, 7);
	sum = read_all(out, 7);
	assert_int_equal(sum.certain, 0);
	assert_int_equal(sum.possible, 1);
	assert_memory_equal(out, flow, nflow * sizeof(flow[0]));
	/* it stays so where one of them may be that of an instruction in a hole behind */
	add(HWT_EV_GAP, 230, 240, 30);
	call(250, 300, 330, 40);
	call(340, 400, 420, 50);
	record(HWT_ID_syscall_enter, 260, 0, 7);
	record(HWT_ID_syscall_enter, 350, 0, 7);
	sum = read_all(out, 7);
	assert_int_equal(sum.certain, 2);
	assert_int_equal(sum.possible, 1);
	times(&out[0], 100, 200);
	times(&out[5], 250, 260);
}

/* No packet tells the time: from one call to the next. */
static void test_untimed(void **state)
{
	struct hwt_event out[MAX];

	(void)state;
	for (unsigned k = 0; k < 3; k++)
		call(HWT_TIME_UNKNOWN, 0, 0, 10 + 10 * k);
	for (unsigned k = 0; k < 3; k++)
		record(HWT_ID_syscall_enter, 100 + 100 * k, 0, 7);
	/* records may be missing at both ends: nothing is certain */
	assert_int_equal(read_all(out, 7).certain, 0);
	assert_memory_equal(out, flow, nflow * sizeof(flow[0]));
}

/* Code of the kernel between the instruction and the record ran before that was written. */
static void test_kernel_traced(void **state)
{
	struct hwt_event out[MAX];
	struct anchor_sum sum;

	(void)state;
	run(100, 110, 10, 0x401000, HWT_INSN_FAR_CALL);
	run(105, 120, 11, 0xffffffff81000000, HWT_INSN_OTHER);
	run(105, 400, 12, 0xffffffff81000100, HWT_INSN_FAR_RETURN);
	run(390, 400, 13, 0x401002, HWT_INSN_OTHER);
	run(410, 415, 14, 0x401000, HWT_INSN_FAR_CALL);
	run(410, 500, 15, 0xffffffff81000000, HWT_INSN_OTHER);
	run(490, 500, 16, 0x401002, HWT_INSN_OTHER);
	record(HWT_ID_syscall_enter, 150, 0, 7);
	record(HWT_ID_syscall_exit, 390, 0, 7);
	record(HWT_ID_syscall_enter, 450, 0, 7);
	sum = read_all(out, 7);
	assert_int_equal(sum.certain, 2);
	assert_int_equal(sum.contradictions, 0);
	assert_memory_equal(out, flow, nflow * sizeof(flow[0]));
}

/* A record that can be none of the instructions: told, and nothing moves. */
static void test_contradiction(void **state)
{
	struct hwt_event out[MAX];
	struct anchor_sum sum;

	(void)state;
	call(100, 200, 220, 10);
	call(300, 400, 420, 20);
	record(HWT_ID_syscall_enter, 90, 0, 7);
	record(HWT_ID_syscall_enter, 250, 0, 7);
	record(HWT_ID_syscall_enter, 450, 0, 7);
	sum = read_all(out, 7);
	assert_int_equal(sum.contradictions, 1);
	assert_int_equal(sum.certain, 0);
	assert_memory_equal(out, flow, nflow * sizeof(flow[0]));
}

/* A record that may be of either of two calls: of the first, unless one was lost before it. */
static void test_lost(void **state)
{
	struct hwt_event out[MAX];
	struct anchor_sum sum;

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		nkernel = nflow = 0;
		call(100, 190, 200, 10);
		call(210, 290, 300, 20);
		call(280, 390, 400, 30);
		record(HWT_ID_syscall_enter, 150, 0, 7);
		if (k)
			record(HWT_ID_stream_lost, 283, k == 1 ? 0 : 1, HWT_NONE);
		record(HWT_ID_syscall_enter, 285, 0, 7);
		/* of a CPU it counts where that CPU lost some, of a thread anywhere */
		sum = read_all(out, HWT_NONE);
		assert_int_equal(sum.certain, k == 1 ? 0 : 2);
		assert_int_equal(sum.contradictions, 0);
		times(&out[4], 210, k == 1 ? 290 : 285);
		sum = read_all(out, 7);
		assert_int_equal(sum.certain, k ? 0 : 2);
	}
}

/* What may be a system call, or not, between two: it may have written the record of the second. */
static void test_no_code(void **state)
{
	struct hwt_event out[MAX];

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		nkernel = nflow = 0;
		call(100, 190, 200, 10);
		run(210, 290, 20, 0x402000, k ? HWT_INSN_FAR_CALL : HWT_INSN_OTHER);
		call(210, 290, 300, 30);
		call(280, 390, 400, 40);
		record(HWT_ID_syscall_enter, 150, 0, 7);
		record(HWT_ID_syscall_enter, 250, 0, 7);
		record(HWT_ID_syscall_enter, 290, 0, 7);
		assert_int_equal(read_all(out, 7).certain, k ? 0 : 3);
	}
}

/* A record whose time is vague: code before it was over at its latest, that behind begins later. */
static void test_vague(void **state)
{
	struct hwt_event out[MAX];

	(void)state;
	call(100, 200, 220, 10);
	call(210, 300, 330, 20);
	record(HWT_ID_syscall_enter, 150, 0, 7);
	record(HWT_ID_syscall_enter, 260, 0, 7);
	kernel[0].span = 20;
	kernel[1].span = 10;
	assert_int_equal(read_all(out, HWT_NONE).certain, 2);
	times(&out[0], 100, 170);
	times(&out[2], 150, 220);
	times(&out[4], 210, 270);
	times(&out[6], 260, 330);
}

/* Numbers of records that stand twice, or go back: no order can be had of them, which is told. */
static void test_numbers(void **state)
{
	struct hwt_event out[MAX];
	struct anchor_sum sum;

	(void)state;
	call(100, 200, 220, 10);
	call(210, 300, 330, 20);
	record(HWT_ID_syscall_enter, 150, 0, 7);
	record(HWT_ID_syscall_enter, 260, 0, 7);
	for (unsigned k = 0; k < 2; k++) {
		rec[k].rec.flags = HWT_REC_HIT;
		rec[k].rec.hit = 5 + k;
	}
	sum = read_all(out, HWT_NONE);
	assert_int_equal(sum.certain, 2);
	assert_int_equal(sum.contradictions, 0);
	for (uint64_t hit = 5; hit >= 4; hit--) {
		rec[1].rec.hit = hit;
		sum = read_all(out, HWT_NONE);
		assert_int_equal(sum.certain, 0);
		assert_int_equal(sum.contradictions, 1);
		assert_memory_equal(out, flow, nflow * sizeof(flow[0]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_thread, start),
		cmocka_unit_test_setup(test_cpu, start),
		cmocka_unit_test_setup(test_doubt, start),
		cmocka_unit_test_setup(test_untimed, start),
		cmocka_unit_test_setup(test_kernel_traced, start),
		cmocka_unit_test_setup(test_contradiction, start),
		cmocka_unit_test_setup(test_lost, start),
		cmocka_unit_test_setup(test_no_code, start),
		cmocka_unit_test_setup(test_vague, start),
		cmocka_unit_test_setup(test_numbers, start),
	};

	return cmocka_run_group_tests(tests, open_code, close_code);
}
