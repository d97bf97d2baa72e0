/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_SPEC_H
#define HWT_FLOW_OCSD_SPEC_H

/*
 * What lies uncommitted in OpenCSD's ETMv4 decoder, by kind only. Version 1.3.3 frees a wrong
 * element when a mispredict drops an address that is not the newest element: after it any packet
 * can crash. So that packet must not reach it.
 */
#include <stdbool.h>
#include <stdint.h>

#define SPEC_MAX	512	/* elements kept; more are not speculative on any core */

enum spec_kind {
	SPEC_ADDR, SPEC_ATOM,
	SPEC_P0,	/* an exception, Q or source address: cancelled like an atom */
	SPEC_OTHER
};

struct spec { unsigned n; uint8_t kind[SPEC_MAX]; };	/* oldest first; starts zeroed */

void spec_push(struct spec *s, enum spec_kind kind, unsigned n);
/* The newest @n of atoms and P0. */
void spec_cancel(struct spec *s, unsigned n);
/* The newest atom was mispredicted: false if the library can not do what follows. */
bool spec_mispredict(struct spec *s);

#endif
