/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HEAP_H
#define TESTS_HEAP_H

/*
 * How much heap a piece of code takes at most. Counted by AddressSanitizer's hooks, so in other
 * builds everything is 0. One thread.
 */
#include <stdbool.h>
#include <stddef.h>

/* Starts to count from nothing. */
void heap_start(void);
/* Turns counting on or off, for allocations of the test itself; returns what it was. */
bool heap_watch(bool on);
/* Largest number of bytes that were allocated at once since heap_start(). */
size_t heap_most(void);
/* Calls @fn before a sanitizer ends the process. */
void heap_on_death(void (*fn)(void));

#endif
