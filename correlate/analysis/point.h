/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_POINT_H
#define HWT_CORRELATE_POINT_H

/* A place in the stream that a user names: a kernel event, a function, an address, a line. */
#include <hwtrace/filter.h>
#include <hwtrace/timeline.h>

enum point_kind { POINT_KERNEL, POINT_ENTRY, POINT_EXIT, POINT_ADDR };

#define POINT_PLACES	4096	/* addresses of one point */

struct point {
	uint8_t kind;			/* enum point_kind */
	struct hwt_filter *filter;	/* KERNEL */
	const struct hwt_abi_event *e;	/* KERNEL: the event, the first of several */
	unsigned nevents;		/* KERNEL */
	uint64_t *addr;			/* of the others: first instructions, sorted */
	size_t n;
	char *text;			/* what it is understood as, owned */
};

/* 0, or a negative code with @diag filled. */
int point_init(struct point *p, struct hwt_session *s, const char *text, struct hwt_diag *diag);
void point_fini(struct point *p);
/*
 * Whether the event is at the point, which is no return of a function: tail.h tells that. Functions
 * by the frames of a timeline with calls, if it has them.
 */
bool point_at(const struct point *p, const struct hwt_event *ev);
/* Whether one of its places lies in [@lo, @hi]. */
bool point_in(const struct point *p, uint64_t lo, uint64_t hi);

#endif
