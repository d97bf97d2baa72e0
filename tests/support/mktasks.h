/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MKTASKS_H
#define TESTS_MKTASKS_H

/*
 * Kernel records of a machine of one CPU that starts many short programs one after the other, each
 * with an id of its own, as a large build does. Each calls getpid, and exit_group, which does not
 * return. One in 1000 is slow: 50000 ns more in getpid.
 */
#include <stdint.h>

#include <hwtrace/hwtrace.h>

/* The capture @dir of @n programs, at most 4000000. 0 or a negative error. */
int mktasks(const char *dir, uint32_t n, struct hwt_diag *diag);

#endif
