/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_HWTRACE_H
#define HWTRACE_HWTRACE_H

/* The whole public API. */
#include <hwtrace/abi.h>
#include <hwtrace/calls.h>
#include <hwtrace/capture.h>
#include <hwtrace/contract.h>
#include <hwtrace/decode.h>
#include <hwtrace/err.h>
#include <hwtrace/event.h>
#include <hwtrace/export.h>
#include <hwtrace/filter.h>
#include <hwtrace/image.h>
#include <hwtrace/latency.h>
#include <hwtrace/kernel.h>
#include <hwtrace/order.h>
#include <hwtrace/packet.h>
#include <hwtrace/session.h>
#include <hwtrace/stream.h>
#include <hwtrace/time.h>
#include <hwtrace/why.h>
#include <hwtrace/timeline.h>

#define HWT_VERSION "0.1.0"

/* Version of the library in use, HWT_VERSION of its build. */
const char *hwt_version(void);
/* The @i-th backend as "libipt 2.0.5", NULL past the end. */
const char *hwt_backend(unsigned i);

#endif
