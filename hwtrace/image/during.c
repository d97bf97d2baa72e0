/* SPDX-License-Identifier: BSD-2-Clause */
/* Code whose time is known as an interval only. */
#include <string.h>

#include "priv.h"

#define PIECE		256u	/* bytes compared at once */
#define VERSIONS_MAX	256	/* of one place that are compared; more: they differ */

uint64_t image_code_change(struct hwt_image *img, int32_t pid, uint64_t time)
{
	const int32_t pids[2] = { HWT_NONE, pid };
	uint64_t next = HWT_TIME_UNKNOWN;

	for (int i = 0; i < (pid == HWT_NONE ? 1 : 2); i++) {
		struct aspace *as = maps_find_space(img, pids[i]);
		uint64_t t;

		if (!as || !as->maps.n || time == HWT_TIME_UNKNOWN)
			continue;
		/* without memory for the index nothing is sure */
		t = timed_build(&as->maps) ? time + 1 : timed_next(&as->maps, time);
		if (t < next)
			next = t;
	}
	return next;
}

/* How many bytes at @p and @q are the same. */
static size_t same(const uint8_t *p, const uint8_t *q, size_t n)
{
	size_t k = 0;

	while (k < n && p[k] == q[k])
		k++;
	return k;
}

/*
 * Up to @n bytes at @addr in one piece. *@n becomes less where the answer may change. Returns how
 * many there are.
 */
static int piece(struct hwt_image *img, struct hwt_where w, uint64_t hi, uint64_t addr,
		 uint8_t *buf, size_t *n, bool *differs)
{
	uint8_t other[PIECE];
	struct spot s;
	size_t cut = SIZE_MAX;
	int got = 0;

	for (unsigned i = 0;; i++) {
		int rc = maps_locate(img, &w, addr, &s), k;

		if (rc < 0)
			return rc;
		if (s.hi - addr < *n)
			*n = (size_t)(s.hi - addr) + 1;
		k = rc ? hwt_image_read(img, &w, addr, got > 0 ? other : buf, *n) : 0;
		if (k < 0)
			return k;
		if (got > 0 && k > 0) {
			size_t both = (size_t)(k < got ? k : got), m = same(buf, other, both);

			if (m < both && m < cut)
				cut = m;
		} else if (k > 0) {
			got = k;
		}
		if (rc && s.part->doubt)
			cut = 0;
		if (s.t1 >= hi)
			break;
		if (i == VERSIONS_MAX)
			cut = 0;
		if (!cut)
			break;
		w.time = s.t1 + 1;
	}
	if ((size_t)got > *n)
		got = (int)*n;
	*differs = cut < (size_t)got;
	return *differs ? (int)cut : got;
}

int image_read_during(struct hwt_image *img, const struct hwt_where *w, uint64_t hi, uint64_t addr,
		      void *buf, size_t n, uint64_t *differs)
{
	uint8_t *to = buf;
	size_t done = 0;
	bool differ = false;

	*differs = HWT_NO_ADDR;
	if (n > INT32_MAX)
		n = INT32_MAX;
	while (done < n) {
		size_t k = n - done < PIECE ? n - done : PIECE;
		int rc = piece(img, *w, hi, addr, to + done, &k, &differ);

		if (rc < 0)
			return done ? (int)done : rc;
		done += (size_t)rc;
		if (differ)
			*differs = addr + (uint64_t)rc;
		if (differ || !rc || addr > UINT64_MAX - (uint64_t)rc)
			break;
		addr += (uint64_t)rc;
	}
	return (int)done;
}
