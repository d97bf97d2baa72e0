// SPDX-License-Identifier: GPL-2.0-only
/* What ties the counter to other clocks: records clock.freq, clock.sync and clock.rate. */
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/timekeeping.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "session.h"

#define TRIES	8	/* the narrowest of so many readings is told */

u32 clock_counter(void)
{
	return IS_ENABLED(CONFIG_X86) ? HWT_KMOD_TSC : HWT_KMOD_CNTVCT;
}

u64 clock_hz(void)
{
#ifdef CONFIG_X86
	return (u64)tsc_khz * 1000;
#else
	return arch_timer_get_cntfrq();
#endif
}

/*
 * How fast the counter was by that clock since the session began. Not after the clock was set: then
 * it tells nothing.
 */
static void put_rate(struct session_cpu *c, const struct hwt_rec_clock_sync *now)
{
	const struct clock_start *was = &c->s->clocks[now->clock];
	u64 hz = clock_hz(), ticks = now->counter - was->counter, ns = now->value - was->value;
	u64 should, milli = hz * 1000, off;
	struct hwt_rec_clock_rate r = { .interval = ticks, .width = now->width,
		.clock = now->clock };

	if (!hz || ticks < hz / 10 || ticks > 1ull << 62)
		return;
	should = mul_u64_u64_div_u64(ticks, NSEC_PER_SEC, hz);
	if (ns < should / 2 || ns / 2 > should)
		return;
	r.rate = mul_u64_u64_div_u64(ticks, 1000ull * NSEC_PER_SEC, ns);
	off = r.rate > milli ? r.rate - milli : milli - r.rate;
	r.drift = mul_u64_u64_div_u64(off, NSEC_PER_SEC, milli);
	if (r.rate < milli)
		r.drift = -r.drift;
	/* both readings, and their whole nanoseconds */
	r.error = 1 + mul_u64_u64_div_u64(was->width + now->width + 2 * (hz / NSEC_PER_SEC + 1),
					  NSEC_PER_SEC, ticks);
	session_note(c, &r.rec, VTP_clock_rate, sizeof(r));
}

static void put_sync(struct session_cpu *c, u32 clock, u64 counter, u64 value, u64 width)
{
	struct hwt_rec_clock_sync r = { .counter = counter, .value = value, .clock = clock,
		.width = min_t(u64, width, U32_MAX) };

	session_note(c, &r.rec, VTP_clock_sync, sizeof(r));
	if (c->s->clocks[clock].counter)
		put_rate(c, &r);
	else
		c->s->clocks[clock] = (struct clock_start){ counter, value, r.width };
}

/* A clock that can be read anywhere, between two readings of the counter. */
static void put_between(struct session_cpu *c, u32 clock, u64 (*now)(void))
{
	u64 counter = 0, value = 0, width = U64_MAX;
	int i;

	for (i = 0; i < TRIES; i++) {
		unsigned long flags;
		u64 a, b, v;

		local_irq_save(flags);
		a = ring_clock();
		v = now();
		b = ring_clock();
		local_irq_restore(flags);
		if (b - a < width) {
			width = b - a;
			counter = a;
			value = v;
		}
	}
	put_sync(c, clock, counter, value, width);
}

/*
 * The kernel's own reading has both other clocks of one reading of its clock source, if that is
 * our counter: it lies between two readings of ours.
 */
void clock_sync(struct session_cpu *c)
{
	struct system_time_snapshot t;
	u64 a = ring_clock(), b;

	ktime_get_snapshot(&t);
	b = ring_clock();
	if (t.cycles - a <= b - a) {
		put_sync(c, HWT_clock_id_raw, t.cycles, ktime_to_ns(t.raw), 0);
		put_sync(c, HWT_clock_id_wall, t.cycles, ktime_to_ns(t.real), 0);
	} else {
		put_between(c, HWT_clock_id_raw, ktime_get_raw_fast_ns);
		put_between(c, HWT_clock_id_wall, ktime_get_real_fast_ns);
	}
	put_between(c, HWT_clock_id_monotonic, ktime_get_mono_fast_ns);
}

void clock_first(struct session_cpu *c)
{
	struct hwt_rec_clock_freq r = { .hz = clock_hz(), .error = U64_MAX };

	session_note(c, &r.rec, VTP_clock_freq, sizeof(r));
	clock_sync(c);
}
