/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_HWTRACE_H
#define HWTRACE_HWTRACE_H

/* The whole public API. */
#include <hwtrace/calls.h>
#include <hwtrace/decode.h>
#include <hwtrace/err.h>
#include <hwtrace/event.h>
#include <hwtrace/image.h>
#include <hwtrace/packet.h>
#include <hwtrace/session.h>
#include <hwtrace/stream.h>
#include <hwtrace/time.h>

#define HWT_VERSION "0.1.0"

/* Version of the library in use, HWT_VERSION of its build. */
const char *hwt_version(void);
/* The @i-th backend as "libipt 2.0.5", NULL past the end. */
const char *hwt_backend(unsigned i);

#endif
