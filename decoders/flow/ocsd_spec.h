/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_SPEC_H
#define HWT_FLOW_OCSD_SPEC_H

/*
 * What lies uncommitted in OpenCSD's ETMv4 decoder, by kind only. Version 1.3.3 walks past the end
 * of its elements when a mispredict drops an address that lies in the older half of them: after it
 * any packet can crash. So that packet must not reach it. How many there are is not known where
 * its count of the speculation depth may have run below zero: then it commits everything at once.
 */
#include <stdbool.h>
#include <stdint.h>

#define SPEC_MAX	512	/* elements kept; more are not speculative on any core */

enum spec_kind {
	SPEC_ADDR, SPEC_ATOM,
	SPEC_P0,	/* an exception, Q or source address: cancelled like an atom */
	SPEC_OTHER
};

struct spec {
	unsigned n;
	uint8_t kind[SPEC_MAX];		/* oldest first; starts zeroed */
	uint32_t depth;			/* atoms and P0 that the library counts, or fewer */
	uint32_t max;			/* above this it commits the oldest by itself */
	bool unsure;			/* its count may be wrong */
	/*
	 * The newest element is an exception or Q that takes its address from the next one. If it
	 * is committed without one, the library reads an element that is not there.
	 */
	bool owes_addr;
};

/*
 * Version 1.3.3 reads an element that is not there when an exception follows a taken indirect
 * branch whose target it wants to have from its return stack, and that is empty. Where the
 * exception itself tells the target (E1:E0 is 10, IHI 0064), it takes an address off all the same,
 * and later returns go wrong.
 */
struct spec_rets {
	uint8_t n;		/* addresses that are there, at most those that it keeps */
	bool pending;		/* the next atom or exception takes one, unless an address comes */
};

#define SPEC_RETS	16

/* A range was told. */
void spec_rets_range(struct spec_rets *r, bool taken, bool link, bool indirect);
/* False if this exception must not reach the library. */
bool spec_rets_exception(struct spec_rets *r, bool tells_target);

/* The library dropped everything. */
void spec_reset(struct spec *s);
/*
 * A trace information packet says how deep speculation is. False if the unit can not do that: the
 * library would commit each element at once, also one that owes its address.
 */
bool spec_info(struct spec *s, uint32_t depth);
void spec_push(struct spec *s, enum spec_kind kind, unsigned n);
void spec_commit(struct spec *s, uint32_t n);
/* The newest @n of atoms and P0. */
void spec_cancel(struct spec *s, uint32_t n);
/* The newest atom was mispredicted: false if the library can not do what follows. */
bool spec_mispredict(struct spec *s);

#endif
