/* SPDX-License-Identifier: BSD-2-Clause */
/* Truth: code assembled by hand, so the place of each instruction is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/expand.h"
#include "hwtrace/image/image.h"

#define BASE	0x401000u

/* push rbp; mov rbp,rsp; je +0; call +0; nop; jmp -18 */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x74, 0x00, 0xe8, 0, 0, 0, 0, 0x90, 0xeb,
	0xec };
static const uint8_t at[] = { 0, 1, 4, 6, 11, 12 }, len[] = { 1, 3, 2, 5, 1, 2 };

struct fake {
	struct hwt_stream s;
	const struct hwt_event *ev;
	int n, pos, batch, end, *closed;
};

static int fake_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct fake *f = hwt_container_of(s, struct fake, s);
	int n = 0;

	if (f->pos == f->n)
		return f->end;
	for (; n < max && n < f->batch && f->pos < f->n; n++)
		ev[n] = f->ev[f->pos++];
	return n;
}

static void fake_close(struct hwt_stream *s)
{
	struct fake *f = hwt_container_of(s, struct fake, s);

	++*f->closed;
	free(f);
}

static const struct hwt_stream_ops fake_ops = { fake_next, fake_close };
static int closed;

static struct hwt_stream *open_on(struct hwt_image *img, const struct hwt_event *ev, int n,
				  const struct hwt_interest *want)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hwt_stream *s = NULL;

	assert_non_null(f);
	*f = (struct fake){ .s = { &fake_ops, "fake" }, .ev = ev, .n = n, .batch = 3,
		.closed = &closed };
	assert_int_equal(expand_new(&s, img, want, &f->s), 0);
	return s;
}

static struct hwt_event range(unsigned first, unsigned last, unsigned insns)
{
	struct hwt_event ev = { .time = 1000, .span = 5, .type = HWT_EV_RANGE, .flags = HWT_F_TAKEN,
		.cpu = 2, .pid = 7, .tid = 8, .src = 3, .off = 99 };

	ev.u.range.first = BASE + first;
	ev.u.range.last = BASE + last;
	ev.u.range.insns = insns;
	ev.u.range.isa = HWT_ISA_X86_64;
	ev.u.range.kind = HWT_INSN_JUMP;
	ev.u.range.last_size = 2;
	return ev;
}

static struct hwt_image *image(void)
{
	struct hwt_image *img = NULL;

	assert_int_equal(image_new(&img, NULL), 0);
	assert_int_equal(image_add_bytes(img, HWT_NONE, 0, BASE, code, sizeof(code), "code"), 0);
	return img;
}

/* Everything the stream gives, read @step at a time. */
static int drain(struct hwt_stream *s, struct hwt_event *out, int max, int step)
{
	int n = 0, k;

	while ((k = hwt_stream_next(s, out + n, step < max - n ? step : max - n)) > 0)
		n += k;
	assert_int_equal(k, 0);
	hwt_stream_close(s);
	return n;
}

static void whole(void **state)
{
	struct hwt_event in[] = { { .type = HWT_EV_ON, .time = 1 }, range(0, 12, 6),
		range(12, 12, 1), { .type = HWT_EV_OFF, .time = 2 } }, out[16];
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_image *img = image();

	for (int step = 1; step < 16; step += 7) {
		closed = 0;
		assert_int_equal(drain(open_on(img, in, 4, &want), out, 16, step), 9);
		assert_int_equal(closed, 1);
		assert_int_equal(out[0].type, HWT_EV_ON);
		assert_int_equal(out[8].type, HWT_EV_OFF);
		for (int i = 0; i < 7; i++) {
			const struct hwt_event *ev = &out[i + 1];
			unsigned k = i < 6 ? (unsigned)i : 5;

			assert_int_equal(ev->type, HWT_EV_INSN);
			assert_int_equal(ev->u.range.first, BASE + at[k]);
			assert_int_equal(ev->u.range.last, BASE + at[k]);
			assert_int_equal(ev->u.range.last_size, len[k]);
			assert_int_equal(ev->u.range.insns, 1);
			assert_int_equal(ev->flags, k == 5 ? HWT_F_TAKEN : 0);
			assert_true(ev->time == 1000 && ev->off == 99 && ev->src == 3 &&
				    ev->pid == 7 && ev->cpu == 2);
		}
		assert_int_equal(out[3].u.range.kind, HWT_INSN_BRANCH);
		assert_int_equal(out[4].u.range.kind, HWT_INSN_CALL);
		assert_int_equal(out[6].u.range.kind, HWT_INSN_JUMP);
	}
	image_free(img);
}

static void contradictions(void **state)
{
	static const struct { unsigned first, last, insns, good, cause; } t[] = {
		{ 0, 12, 5, 4, HWT_GAP_BAD_IMAGE },	/* the fifth is not the last */
		{ 0, 12, 7, 5, HWT_GAP_BAD_IMAGE },	/* the last comes too early */
		{ 0, 5, 3, 2, HWT_GAP_BAD_IMAGE },	/* inside an instruction */
		{ 0, 7, 9, 4, HWT_GAP_BAD_IMAGE },
		{ 12, 0, 2, 0, HWT_GAP_BAD_IMAGE },
		{ 12, 40, 9, 1, HWT_GAP_NO_IMAGE },	/* leaves the code */
		{ 0x2000, 0x2004, 3, 0, HWT_GAP_NO_IMAGE },
	};
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_image *img = image();
	struct hwt_event out[16];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct hwt_event in[] = { range(t[i].first, t[i].last, t[i].insns),
			range(0, 1, 2) };
		int good = (int)t[i].good;

		assert_int_equal(drain(open_on(img, in, 2, &want), out, 16, 16), good + 3);
		for (int k = 0; k < good; k++)
			assert_int_equal(out[k].type, HWT_EV_INSN);
		assert_int_equal(out[good].type, HWT_EV_GAP);
		assert_int_equal(out[good].u.gap.cause, t[i].cause);
		assert_int_equal(out[good].u.gap.bytes, 0);
		assert_int_equal(out[good].off, 99);
		/* and the next range is not touched */
		assert_int_equal(out[good + 2].u.range.last, BASE + 1);
	}
	image_free(img);
}

static void filter(void **state)
{
	struct hwt_addr_range addrs[] = { { BASE + 4, BASE + 6 } };
	struct hwt_interest want = { .level = HWT_LEVEL_INSNS, .addrs = addrs, .naddrs = 1,
		.time_hi = HWT_TIME_UNKNOWN };
	struct hwt_event in[] = { range(0, 12, 6), range(0, 1, 2), range(0, 1, 2), range(0, 1, 2),
		range(0, 1, 2), range(0, 1, 2), range(0, 1, 2) }, out[16];
	struct hwt_image *img = image();
	struct hwt_stream *s = open_on(img, in, 7, &want);
	int n;

	addrs[0].hi = 0;	/* was copied */
	n = drain(s, out, 16, 16);
	assert_int_equal(out[0].u.range.first, BASE + 4);
	assert_int_equal(out[1].u.range.first, BASE + 6);
	/* a batch of which nothing is left still tells the time */
	assert_int_equal(n, 4);
	for (int i = 2; i < n; i++) {
		assert_int_equal(out[i].type, HWT_EV_NONE);
		assert_int_equal(out[i].time, 1000);
	}
	image_free(img);
}

/* Code that changes: each range is walked in the bytes of its time and task. */
static void versions(void **state)
{
	static const uint8_t nops[] = { 0x90, 0x90, 0x90, 0x90, 0x90 };
	struct hwt_event in[] = { range(0, 1, 2), range(0, 1, 2) }, out[16];
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_image *img = image();

	assert_int_equal(image_add_bytes(img, HWT_NONE, 5000, BASE, nops, 5, "patch"), 0);
	in[1].time = 6000;
	in[1].u.range.last = BASE + 4;
	in[1].u.range.insns = 5;
	assert_int_equal(drain(open_on(img, in, 2, &want), out, 16, 16), 7);
	for (int i = 2; i < 7; i++)
		assert_int_equal(out[i].u.range.first, BASE + (unsigned)i - 2);
	/* ticks of another clock are no time of the image: the newest bytes */
	in[1].time = 1;
	in[1].clock = HWT_CLOCK_CS;
	assert_int_equal(drain(open_on(img, in + 1, 1, &want), out, 16, 16), 5);
	image_free(img);
}

static void errors(void **state)
{
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_image *img = image();
	struct hwt_event in = range(0, 1, 2), out[4];
	struct hwt_stream *s = open_on(img, &in, 1, &want);

	assert_int_equal(hwt_stream_next(s, out, 4), 2);
	assert_int_equal(hwt_stream_next(s, out, 4), 0);
	hwt_stream_close(s);

	struct fake *f = calloc(1, sizeof(*f));

	*f = (struct fake){ .s = { &fake_ops, "fake" }, .end = -11, .closed = &closed };
	assert_int_equal(expand_new(&s, img, &want, &f->s), 0);
	assert_int_equal(hwt_stream_next(s, out, 4), -11);	/* as it is */
	hwt_stream_close(s);
	image_free(img);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(whole), cmocka_unit_test(contradictions),
		cmocka_unit_test(filter),
		cmocka_unit_test(versions), cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
