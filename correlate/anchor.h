/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_H
#define HWT_CORRELATE_ANCHOR_H

/*
 * The same fact seen twice: which record was written by which visit of an instruction. Plain arrays
 * in, no session; one call is about one CPU (or one thread), whose visits and records are both in
 * the order in which they happened.
 *
 * An assignment gives each visit its record, or a record that is not there any more (lost). What is
 * demanded of it: order stays; both can have been at one time; between two visits with no hole
 * between them there was no other visit, so their records are neighbours, too; hit numbers count
 * each site's visits. Of each visit the earliest and the latest record are found that some
 * assignment gives it. All demands are monotone, so the earliest ones of all visits together are
 * an assignment, and so are the latest ones: where both are the same there is no other possibility,
 * and only that is called certain. Nothing is ever chosen for being near.
 *
 * It is the caller's part that times are honest, that no site is missing, and that a record of each
 * visit was made. Where one of the two sequences may hold more than the other (address spaces), it
 * is given as the records, and each visit has a hole before it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/time.h>

#define ANCHOR_SITES	256		/* kinds of visits and records, numbered from 0 */
#define ANCHOR_ANY	UINT32_MAX	/* no bound on what a hole hides */
#define ANCHOR_NO_HIT	0		/* the source does not count */

struct anchor_visit {
	struct hwt_interval t;
	uint32_t site;
	uint32_t hidden;	/* visits that a hole before this one may hide; 0: no hole */
	uint64_t hit;		/* of the record that it wrote; ANCHOR_NO_HIT: not known */
};

struct anchor_record {
	struct hwt_interval t;	/* of the visit that wrote it */
	uint64_t hit;		/* number among those of its site; ANCHOR_NO_HIT in all records */
	uint32_t site;
	bool lost;		/* records before this one may be lost */
};

enum anchor_state {
	ANCHOR_POSSIBLE,	/* more than one assignment */
	ANCHOR_CERTAIN,		/* record @first wrote it, nothing else is possible */
	ANCHOR_LOST,		/* its record is not there, nothing else is possible */
	ANCHOR_BAD		/* it is part of a contradiction */
};

struct anchor_match {
	struct hwt_interval t;	/* of the visit, by all that is known now */
	uint64_t hit_lo, hit_hi;	/* ANCHOR_NO_HIT: not known */
	uint32_t first, last;	/* records that it may be; first > last: none of them */
	uint8_t state;		/* enum anchor_state */
};

/* No assignment is possible, and two things (perhaps the same) are enough to show it. */
enum anchor_why {
	ANCHOR_NO_RECORD,	/* visit @a is not before record @after, @b not behind @until */
	ANCHOR_VISITS,		/* visit @a was over later than @b, which follows, began */
	ANCHOR_RECORDS		/* the same of records @a and @b */
};
struct anchor_finding {
	uint64_t a, b;
	uint64_t after, until;	/* ANCHOR_NONE: behind the last record, before the first */
	uint8_t why;		/* enum anchor_why */
};
#define ANCHOR_FINDINGS	8
#define ANCHOR_NONE	UINT64_MAX

struct anchor_args {
	const struct anchor_visit *visits;
	size_t nvisits;		/* below 2^30, as is nrecords */
	const struct anchor_record *records;
	size_t nrecords;
	/* visits may have records before the first one, behind the last one, that are not here */
	bool front, back;
	bool pinned;		/* the first visit wrote the first record */
	/* hit number of each site's last record before the first one here; NULL: all 0 */
	const uint64_t *before;
};

struct anchor_sum {
	uint64_t certain, possible, lost, bad;	/* visits */
	uint64_t steps;				/* work, of the order of visits plus records */
	uint64_t contradictions;		/* found; the first ANCHOR_FINDINGS are told */
	struct anchor_finding finding[ANCHOR_FINDINGS];
};

/*
 * Fills @match, one for each visit, and @times (may be NULL), one for each record: when it was
 * written, by all that is known now. 0, -ENOMEM, or -EINVAL: a site out of range, hit numbers of a
 * site that do not rise or are there for some records only.
 */
int anchor_solve(const struct anchor_args *a, struct anchor_match *match,
		 struct hwt_interval *times, struct anchor_sum *sum);
/* 1: nothing contradicts; 0: something does; or the codes of anchor_solve(). Adds to @steps. */
int anchor_possible(const struct anchor_args *a, uint64_t *steps);

#endif
