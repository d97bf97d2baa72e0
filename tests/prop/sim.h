/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROP_SIM_H
#define TESTS_PROP_SIM_H

/*
 * One CPU that commits records, and what two witnesses with clocks of their own make of it: trace
 * that sees visits between timing packets and has holes, and a recorder that loses records. Which
 * record belongs to which visit is known.
 */
#include <stdbool.h>
#include <stdint.h>

#include "correlate/anchor.h"

struct sim_cfg {
	uint64_t seed;
	unsigned sites;		/* kinds of commits, some rarer than others */
	unsigned gap;		/* ns between commits, on average */
	unsigned timing;	/* ns between timing packets: visits lie between two */
	unsigned skew;		/* ns: the trace's clock is off by up to this, which is known */
	unsigned drift;		/* ppb that the offset changes with, within the skew */
	unsigned jitter;	/* ns from the stamp of a record to its commit, at most */
	unsigned hole_every;	/* commits between holes, on average; 0: none */
	unsigned hole_length;	/* commits in a hole, on average */
	unsigned lose;		/* records of 1000 that are lost one by one */
	unsigned burst_every, burst_length;	/* runs of lost records, in commits */
	bool hits;
	bool rigid;		/* what is not known of the clocks is in the times of records */
};

struct sim_one {		/* a commit */
	uint64_t time;		/* the truth, ns */
	bool seen, kept;	/* in the trace; in the recording */
	struct anchor_visit v;
	struct anchor_record r;
};

struct sim {
	struct sim_cfg cfg;
	uint64_t x;		/* random state */
	uint64_t now, tick;	/* truth; of the timing packet before */
	uint64_t hit[ANCHOR_SITES];
	int64_t offset;		/* of the trace's clock now */
	int64_t rate;		/* ppb */
	uint64_t hole, burst;	/* commits left in it */
	bool hidden, lost;	/* since the last one that was seen, kept */
};

void sim_start(struct sim *s, const struct sim_cfg *cfg);
void sim_next(struct sim *s, struct sim_one *o);

#endif
