/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_EVLIST_H
#define TESTS_EVLIST_H

#include <hwtrace/stream.h>

/* A stream of the @n events at @v, which stay the caller's. Fails the test without memory. */
struct hwt_stream *evlist(const struct hwt_event *v, size_t n);

#endif
