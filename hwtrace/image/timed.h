/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_TIMED_H
#define HWT_IMAGE_TIMED_H

/*
 * Address ranges that appear over time, the newest hiding older ones. Ranges are only appended; an
 * index is built at the first question after that. A question costs O(log n) per level of a segment
 * tree, whatever overlaps.
 */
#include <stdbool.h>
#include <stdint.h>

struct timed_item {
	uint64_t addr, last;	/* both included */
	uint64_t time;		/* first instant, base ns */
	uint32_t seq;		/* order of addition, breaks ties of @time */
	uint32_t space;		/* HWT_SPACE_*, 0: any */
	uint8_t  rank;		/* at one time a higher rank is newer, whatever its @seq */
	uint8_t  tag;		/* what @val is; the owner's, 0 for most */
	const void *val;
};

struct timed {
	struct timed_item *v;	/* in order of addition */
	uint32_t n, cap;
	bool built;
	uint32_t *order;	/* indices of @v by (time, rank, seq) */
	uint64_t *edges;	/* addresses where the answer may change, sorted */
	uint32_t nedges;
	uint32_t base;		/* leaves of the tree, a power of two >= @nedges */
	uint32_t *start;	/* 2 * @base + 1: first entry of each node in @lists */
	uint32_t *lists;	/* positions in @order, ascending within a node */
};

/* Answer: newest item with the given address, and where else it is the same. */
struct timed_hit {
	const struct timed_item *item;	/* NULL: none */
	uint64_t lo, hi;		/* addresses, both included */
	uint64_t t0, t1;		/* instants, both included */
};

/* 0 or -ENOMEM. */
int timed_add(struct timed *t, const struct timed_item *it);
int timed_build(struct timed *t);
void timed_free(struct timed *t);
/* Time of the first item after @time, UINT64_MAX if none. The index must be built. */
uint64_t timed_next(const struct timed *t, uint64_t time);

/*
 * Newest item at @addr among those up to (@time, @seq), and of memory space @space, without those
 * of tag @skip (0: all). The index must be built. Items with a @rank allow only @seq UINT32_MAX.
 */
void timed_find(const struct timed *t, uint64_t addr, uint64_t time, uint32_t seq, uint32_t space,
		uint8_t skip, struct timed_hit *out);

#endif
