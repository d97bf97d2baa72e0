/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SIMCLOCK_H
#define TESTS_SIMCLOCK_H

/* A counter and a clock that are simulated: what the clock shows at each tick is known. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PARTS 4096

struct sim_part { uint64_t from; __int128 at; uint64_t rate; };	/* ns and ns a tick, 2^-32 */

struct sim {
	uint64_t seed;
	uint64_t begin, end;	/* ticks */
	struct sim_part part[SIM_PARTS];
	size_t n;
};

struct sim_opts {
	uint64_t hz;		/* of the counter, if nothing drifts */
	uint64_t begin, ticks;
	uint64_t start_ns;	/* the clock at @begin */
	uint32_t skew_ppm;	/* the true rate is up to that far off */
	uint32_t drift_ppb;	/* and changes by up to that, each way */
	unsigned changes;	/* of the rate */
	unsigned steps;
	uint64_t step_min, step_max;	/* ns, either way */
};

uint64_t sim_rnd(struct sim *s);
uint64_t sim_range(struct sim *s, uint64_t lo, uint64_t hi);	/* both included */
void sim_make(struct sim *s, uint64_t seed, const struct sim_opts *o);
/* What the clock shows at tick @c, whole ns; not below 0. */
uint64_t sim_clock(const struct sim *s, uint64_t c);
/* The @i-th step: the tick and how far, ns. False past the last. */
bool sim_step(const struct sim *s, size_t i, uint64_t *at, int64_t *ns);

#endif
