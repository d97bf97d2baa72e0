/* SPDX-License-Identifier: BSD-2-Clause */
/* What a tick of the counter is worth. */
#include <string.h>

#include "ticks.h"

#define TRIES		16	/* readings, of which the narrowest counts */
#define FIT_NS		20000000	/* between the two pairs of a measurement */
#define NS		1000000000ull

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

struct ticks_pair ticks_read(clockid_t clock)
{
	struct ticks_pair best = { .width = UINT64_MAX };

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t before = step_ticks(), ns = now_ns(clock), after = step_ticks();

		if (after - before < best.width)
			best = (struct ticks_pair){ before, after - before, ns };
	}
	return best;
}

/* Middle of a pair. */
static uint64_t mid(const struct ticks_pair *p)
{
	return p->ticks + p->width / 2;
}

void ticks_fit(struct ticks_clock *c, const struct ticks_pair *a, const struct ticks_pair *b)
{
	uint64_t dt = mid(b) - mid(a), dn = b->ns - a->ns, half;
	unsigned __int128 mult;

	memset(&c->map, 0, sizeof(c->map));
	if (mid(b) <= mid(a) || b->ns <= a->ns)
		return;
	/* as fine as 32 bits allow: 2^-31 of a second in a second */
	c->map.shift = 63;
	do {
		c->map.shift--;
		mult = ((unsigned __int128)dn << c->map.shift) / dt;
	} while (c->map.shift && mult > UINT32_MAX);
	c->map.mult = (uint32_t)mult;
	c->map.zero = a->ns - time_map_ns(&c->map, mid(a));
	c->hz = (uint64_t)((unsigned __int128)dt * NS / dn);
	half = (a->width > b->width ? a->width : b->width) / 2 + 1;
	c->error = (uint64_t)((unsigned __int128)half * NS / c->hz) + 1;
}

#if defined(__x86_64__)
#include <cpuid.h>

/*
 * CPUID leaf 15H (SDM vol. 2): the TSC's ratio to the crystal, and its frequency. Without it we
 * say what holds for a crystal of a 96th of the TSC, which is about that of real ones.
 */
static void crystal(struct ticks_clock *c)
{
	unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

	c->ctc_eax = 2;
	c->ctc_ebx = 192;
	if (__get_cpuid_max(0, NULL) < 0x15)
		return;
	__cpuid_count(0x15, 0, eax, ebx, ecx, edx);
	if (eax && ebx && ebx > eax && ebx / eax < 1000) {
		c->ctc_eax = eax;
		c->ctc_ebx = ebx;
	}
}
#else
static void crystal(struct ticks_clock *c)
{
	c->ctc_eax = c->ctc_ebx = 1;
}
#endif

void ticks_measure(struct ticks_clock *c)
{
	struct ticks_pair a = ticks_read(CLOCK_MONOTONIC), b;
	struct timespec rest = { .tv_nsec = FIT_NS };

	memset(c, 0, sizeof(*c));
	crystal(c);
	nanosleep(&rest, NULL);
	b = ticks_read(CLOCK_MONOTONIC);
	ticks_fit(c, &a, &b);
	c->wall = (int64_t)(now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC));
}
