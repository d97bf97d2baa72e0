/* SPDX-License-Identifier: BSD-2-Clause */
/* Times of packets, worked out by hand from the SDM: TSC, TMA, MTC, CYC, CBR and OVF. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "decoders/pt/time.h"

static struct ipt_clock pt_clock;
static struct ipt_clock_time at;

#define TNT	0x06		/* one branch, taken */
#define TSC(n)	0x19, (n) & 0xff, (n) >> 8, 0, 0, 0, 0, 0
#define TMA(ctc, fc)	0x02, 0x73, (ctc) & 0xff, (ctc) >> 8, 0, fc, 0
#define MTC(n)	0x59, n
#define CBR(n)	0x02, 0x03, n, 0
#define CYC(n)	((n) << 3 & 0xf8) | 3 | ((n) > 31 ? 4 : 0), (n) >> 5 << 1	/* 32 and more */
#define OVF	0x02, 0xf3

/* Clock of a run: an MTC each 8 crystal clocks of 10 ticks, as many core cycles as ticks. */
static void start(const uint8_t *p, size_t n)
{
	static const struct ipt_clock_cfg cfg = { .ctc_eax = 1, .ctc_ebx = 10, .mtc_freq = 3,
		.nom_freq = 20 };

	ipt_clock_init(&pt_clock, &cfg);
	ipt_clock_start(&pt_clock, p, 0, n);
}

static void sent(uint64_t off, uint64_t lo, uint64_t hi)
{
	ipt_clock_at(&pt_clock, off, &at);
	if (at.lo != lo || at.hi != hi)
		fail_msg("packet at %d: [%lld, %lld], not [%lld, %lld]", (int)off,
			 (long long)at.lo, (long long)at.hi, (long long)lo, (long long)hi);
}

/* Between two TSCs nothing more is known; before the first and after the last nothing. */
static void between_tsc(void **state)
{
	static const uint8_t p[] = { TNT, TSC(1000), TNT, TNT, TSC(3000), TNT };

	start(p, sizeof(p));
	sent(0, IPT_NO_TIME, IPT_NO_TIME);
	sent(9, 1000, 3000);
	sent(10, 1000, 3000);
	sent(19, 3000, IPT_NO_TIME);
	assert_int_equal(at.used_lo, 1000);
	assert_int_equal(at.used_hi, 3000);
}

/* TMA: clock 13 stepped 4 ticks before, at 996; MTC 2 is clock 16, MTC 3 is clock 24. */
static void through_tma(void **state)
{
	static const uint8_t p[] = { TSC(1000), TMA(13, 4), TNT, MTC(2), TNT, MTC(3), TNT };

	start(p, sizeof(p));
	sent(15, 1000, 1026);
	sent(18, 1026, 1106);
	sent(21, 1106, IPT_NO_TIME);
}

/* MTCs that an overflow took: 4 is clock 32. The count may come round, but not by half unseen. */
static void lost_mtc(void **state)
{
	static const uint8_t p[] = { TSC(1000), TMA(16, 0), OVF, MTC(4), TNT, MTC(250), TNT };

	start(p, sizeof(p));
	sent(17, 1000, 1160);
	sent(19, 1160, IPT_NO_TIME);
	sent(22, 1160, IPT_NO_TIME);
}

/*
 * 100 cycles of one tick, once the cycle of the instant before is known: the packet behind a CYC is
 * sent with it. Of the cycles one may be missing or one more have passed, and 1/128 is drift.
 */
static void by_cycles(void **state)
{
	static const uint8_t p[] = { TSC(1000), CBR(20), CYC(50), TNT, CYC(100), TNT, TNT,
		CYC(40), TNT, TSC(1400) };

	start(p, sizeof(p));
	/* the first: its cycles may have begun before */
	ipt_clock_at(&pt_clock, 14, &at);
	assert_int_equal(at.lo, 1000);
	assert_true(at.hi >= 1051 && at.hi <= 1052);
	ipt_clock_at(&pt_clock, 17, &at);
	assert_in_range(at.lo, 1098, 1099);
	assert_in_range(at.hi, 1151, 1153);
	/* not in the cycle of the CYC: up to the next one */
	ipt_clock_at(&pt_clock, 18, &at);
	assert_in_range(at.lo, 1098, 1099);
	assert_in_range(at.hi, 1191, 1194);
}

/* A core at half the speed counts half: 100 cycles are 200 ticks. */
static void by_ratio(void **state)
{
	static const uint8_t p[] = { TSC(1000), CBR(10), CYC(50), TNT, CYC(100), TNT, TSC(5000) };

	start(p, sizeof(p));
	ipt_clock_at(&pt_clock, 17, &at);
	assert_in_range(at.lo, 1195, 1198);
	assert_in_range(at.hi, 1302, 1306);
}

/* What passed in an overflow, or at which ratio, is not known: only that the TSC was not yet. */
static void after_overflow(void **state)
{
	static const uint8_t p[] = { TSC(1000), CBR(20), CYC(50), OVF, TNT, CYC(100), TNT,
		TSC(9000) };

	start(p, sizeof(p));
	ipt_clock_at(&pt_clock, 19, &at);
	assert_true(at.lo >= 1000 && at.lo <= 1010);
	assert_true(at.hi == 9000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_tsc), cmocka_unit_test(through_tma),
		cmocka_unit_test(lost_mtc), cmocka_unit_test(by_cycles), cmocka_unit_test(by_ratio),
		cmocka_unit_test(after_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
