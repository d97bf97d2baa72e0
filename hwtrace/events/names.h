/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_EVENTS_NAMES_H
#define HWT_EVENTS_NAMES_H

#include <stdint.h>

#include <hwtrace/uapi.h>

/*
 * The @i-th task that a record of this version names, other than that which has a new name
 * (sched.comm) or is new (sched.fork): its id, and the 16 bytes of its name. 1, or 0 past the last.
 * A name that is not known is not given, but in its place -1 as id.
 */
int names_of(const void *rec, unsigned i, int32_t *tid, const char **name);

#endif
