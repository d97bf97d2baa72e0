/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_EVENTS_OWN_H
#define HWT_EVENTS_OWN_H

/* Records of events that a recording has of its own. */
#include <hwtrace/abi.h>

/* Whether all of a record of @size bytes, a number and its texts, lies inside of it. */
int own_fits(const struct hwt_abi_own *e, const void *rec, size_t size);
/* Value of field @f of @e in such a record. A text is without the zeroes at its end. */
void own_value(struct hwt_abi_value *v, const struct hwt_abi_own *e, const struct hwt_abi_field *f,
	       const void *rec);

#endif
