/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_EVENTS_RECORD_H
#define HWT_EVENTS_RECORD_H

#include <hwtrace/abi.h>

/* Bytes of the fields that a writer of @version knows, header included. */
size_t record_fixed(const struct hwt_abi_event *e, unsigned version);

#endif
