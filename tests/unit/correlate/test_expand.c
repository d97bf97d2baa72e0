/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges to instructions over hand-assembled code; the truth is the assembly in the comments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/expand.h"
#include "hwtrace/image/image.h"

#define L 0x401000

/* push rbp; mov eax, 1; cmp eax, 2; jne L; ret */
static const uint8_t code[] = { 0x55, 0xb8, 1, 0, 0, 0, 0x83, 0xf8, 2, 0x75, 0xf5, 0xc3 };
/* the same place from time 100 on: nop; nop; ... */
static const uint8_t later[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf5,
	0xc3 };

struct fake {
	struct hwt_stream s;
	const struct hwt_event *ev;
	int n, closed;
};

static int fake_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct fake *f = hwt_container_of(s, struct fake, s);
	int n = f->n < max ? f->n : max;

	memcpy(ev, f->ev, (size_t)n * sizeof(*ev));
	f->ev += n;
	f->n -= n;
	return n;
}

static void fake_close(struct hwt_stream *s)
{
	hwt_container_of(s, struct fake, s)->closed++;
}

static const struct hwt_stream_ops fake_ops = { fake_next, fake_close };

static struct hwt_event range(uint64_t time, uint64_t first, uint64_t last, uint32_t insns)
{
	return (struct hwt_event){
		.type = HWT_EV_RANGE, .time = time, .cpu = 0, .pid = 7, .tid = 7,
			.flags = HWT_F_TAKEN,
		.u.range = { .first = first, .last = last, .insns = insns, .isa = HWT_ISA_X86_64,
			     .kind = HWT_INSN_BRANCH, .last_size = 2 },
	};
}

static int run(const struct hwt_event *in, int n, const struct hwt_interest *want,
	struct hwt_event *out,
	       int max, int batch)
{
	struct fake f = { .s = { &fake_ops, "fake" }, .ev = in, .n = n };
	struct hwt_image *img;
	struct hwt_stream *x;
	struct notes notes = { 0 };
	int got = 0, rc;

	assert_int_equal(image_new(&img, &notes), 0);
	assert_int_equal(image_add_bytes(img, 7, 0, L, code, sizeof(code), "code"), 0);
	assert_int_equal(image_add_bytes(img, 7, 100, L, later, sizeof(later), "later"), 0);
	assert_int_equal(expand_new(&x, img, want, &f.s), 0);
	while ((rc = hwt_stream_next(x, out + got, batch < max - got ? batch : max - got)) > 0)
		got += rc;
	assert_int_equal(rc, 0);
	assert_int_equal(hwt_stream_next(x, out + got, 1), 0);
	hwt_stream_close(x);
	assert_int_equal(f.closed, 1);
	image_free(img);
	notes_free(&notes);
	return got;
}

static const struct hwt_interest all = HWT_INTEREST_ALL;

static void every_instruction(void **state)
{
	static const uint64_t want[] = { L, L + 1, L + 6, L + 9 };
	struct hwt_event in = range(5, L, L + 9, 4), out[16];

	for (int batch = 1; batch < 8; batch++) {
		int n = run(&in, 1, &all, out, 16, batch);

		assert_int_equal(n, 4);
		for (int i = 0; i < n; i++) {
			assert_int_equal(out[i].type, HWT_EV_INSN);
			assert_int_equal(out[i].u.range.first, want[i]);
			assert_int_equal(out[i].u.range.last, want[i]);
			assert_int_equal(out[i].u.range.insns, 1);
			assert_int_equal(out[i].flags, i == 3 ? HWT_F_TAKEN : 0);
			assert_int_equal(out[i].u.range.kind,
				i == 3 ? HWT_INSN_BRANCH : HWT_INSN_OTHER);
		}
		assert_int_equal(out[1].u.range.last_size, 5);
		assert_int_equal(out[2].u.range.last_size, 3);
	}
}

static void code_of_its_time(void **state)
{
	struct hwt_event in[] = { range(5, L, L + 9, 4), range(100, L, L + 9, 10), range(5, L + 1,
		L + 9, 3) };
	struct hwt_event out[32];

	assert_int_equal(run(in, 3, &all, out, 32, 32), 4 + 10 + 3);
	assert_int_equal(out[4].u.range.last_size, 1);
	assert_int_equal(out[5].u.range.first, L + 1);
	assert_int_equal(out[15].u.range.first, L + 6);
}

static void contradiction_is_a_hole(void **state)
{
	struct hwt_event in[] = { range(5, L, L + 8, 4), range(5, L, L + 9, 3), range(5, L, L + 9,
		5),
				  range(5, 0x500000, 0x500004, 2), range(5, L, L + 9, 4) };
	struct hwt_event out[32];
	int n = run(in, 5, &all, out, 32, 32), gaps = 0, cause[8], after[8];

	for (int i = 0, insns = 0; i < n; i++) {
		if (out[i].type == HWT_EV_GAP) {
			cause[gaps] = out[i].u.gap.cause;
			after[gaps++] = insns;
			insns = 0;
		} else {
			insns++;
		}
	}
	assert_int_equal(gaps, 4);
	assert_int_equal(cause[0], HWT_GAP_BAD_IMAGE);
	/* L, L+1, L+6 are proven; the fourth is not at L+8 */
	assert_int_equal(after[0], 3);
	assert_int_equal(cause[1], HWT_GAP_BAD_IMAGE);
	assert_int_equal(after[1], 2);		/* the third is not the last one */
	assert_int_equal(cause[2], HWT_GAP_BAD_IMAGE);
	assert_int_equal(after[2], 3);		/* the last one comes too early */
	assert_int_equal(cause[3], HWT_GAP_NO_IMAGE);
	assert_int_equal(after[3], 0);
	assert_int_equal(out[n - 1].u.range.last, L + 9);	/* the next range is whole again */
}

static void only_what_is_asked_for(void **state)
{
	static const struct hwt_addr_range addr = { L + 6, L + 6 };
	const struct hwt_interest some = {
		.level = HWT_LEVEL_INSNS, .time_hi = HWT_TIME_UNKNOWN, .addrs = &addr, .naddrs = 1,
	};
	struct hwt_event in[3] = { range(5, L, L + 9, 4), { .type = HWT_EV_ON }, range(6, L,
		L + 9, 4) };
	struct hwt_event out[16];

	assert_int_equal(run(in, 3, &some, out, 16, 16), 3);
	assert_int_equal(out[0].u.range.first, L + 6);
	assert_int_equal(out[1].type, HWT_EV_ON);
	assert_int_equal(out[2].time, 6);
}

/*
 * Dropping everything must not hide progress: one NONE event at least for each batch taken
 * upstream.
 */
static void progress_is_seen(void **state)
{
	static const struct hwt_addr_range addr = { 1, 1 };
	const struct hwt_interest none = {
		.level = HWT_LEVEL_INSNS, .time_hi = HWT_TIME_UNKNOWN, .addrs = &addr, .naddrs = 1,
	};
	struct hwt_event in[1000], out[64];
	int n;

	for (int i = 0; i < 1000; i++)
		in[i] = range((uint64_t)i, L + 9, L + 9, 1);
	n = run(in, 1000, &none, out, 64, 64);
	assert_in_range(n, 1000 / 64, 63);
	for (int i = 0; i < n; i++)
		assert_int_equal(out[i].type, HWT_EV_NONE);
	assert_int_equal(out[n - 1].time, 999);
}

/* The library's ranges past a branch: the proven instructions, the hole, nothing after it. */
static void doubt(void **state)
{
	struct hwt_event in[5], out[16];
	int n;

	/* as if "jne" at L + 9 were not known; then what the library makes of it */
	in[0] = range(5, L, L + 11, 5);
	in[0].flags |= HWT_F_DOUBT;
	in[1] = (struct hwt_event){ .type = HWT_EV_GAP, .time = 5 };
	in[1].u.gap.cause = HWT_GAP_UNKNOWN_BRANCH;
	in[1].u.gap.addr = L + 9;
	in[2] = range(6, L + 6, L + 9, 2);
	in[2].flags |= HWT_F_DOUBT;
	in[3] = range(7, L + 11, L + 11, 1);	/* the trace named its address */
	in[4] = in[0];
	n = run(in, 5, &all, out, 16, 16);
	assert_int_equal(n, 10);
	for (int i = 0; i < 4; i++)
		assert_int_equal(out[i].type, HWT_EV_INSN);
	assert_int_equal(out[3].u.range.first, L + 9);
	assert_int_equal(out[3].u.range.kind, HWT_INSN_BRANCH);
	assert_int_equal(out[3].flags, HWT_F_DOUBT);
	assert_int_equal(out[4].type, HWT_EV_GAP);
	assert_int_equal(out[5].u.range.first, L + 11);
	assert_int_equal(out[6].u.range.first, L);
	/* the hole first: not even the beginning is proven */
	n = run(in + 1, 3, &all, out, 16, 16);
	assert_int_equal(n, 2);
	assert_int_equal(out[0].type, HWT_EV_GAP);
	assert_int_equal(out[1].u.range.first, L + 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction),
		cmocka_unit_test(code_of_its_time),
		cmocka_unit_test(contradiction_is_a_hole),
		cmocka_unit_test(only_what_is_asked_for),
		cmocka_unit_test(progress_is_seen),
		cmocka_unit_test(doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
