/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_PAIRS_H
#define HWT_SOURCE_PAIRS_H

/*
 * What a container says of its counter and its base clock at one instant. Without a conversion the
 * map is fitted to it; a conversion is compared with it.
 */
#include "../time/fit.h"
#include "capture.h"

struct pairs {
	struct fitter *f;
	uint32_t drift_ppb;	/* that is normal; 0: as Linux lets the base clock drift */
	uint64_t n;
	/* of those that the exact map does not agree with */
	uint64_t off_n, off_max;	/* ns outside */
	const char *file;		/* the first */
	uint64_t off;
	uint64_t begin, end;	/* ticks of the first and of the last, after a fit */
};

/* One more. @file lives as long as the capture; NULL and HWT_NO_OFF: no place. 0 or -ENOMEM. */
int pairs_add(struct pairs *ps, struct capture *c, const struct time_pair *p, const char *file,
	      uint64_t off);
/*
 * All are given. Without an exact map c->tsc is fitted if they allow it; @hz of the counter, known
 * to @ppm parts in 10^6, or 0. With one, differences of more than @stated ns are a finding. What
 * is found goes to c->how and to the notes. Frees what @ps holds, also on failure. 0 or -ENOMEM.
 */
int pairs_use(struct pairs *ps, struct capture *c, uint64_t hz, uint32_t ppm, uint64_t stated);

#endif
