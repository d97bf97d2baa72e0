/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_KOWN_H
#define HWT_CAPTURE_KOWN_H

/*
 * What a recording of the kernel has of its own: context fields, functions as events, and which
 * tracepoints are events of it.
 */
#include <stdint.h>

#include <hwtrace/abi.h>
#include <hwtrace/err.h>
#include <hwtrace/kmod.h>

#include "../base/strlist.h"

struct kown {
	uint32_t contexts;		/* bits of enum hwt_context */
	uint32_t counter_type;
	uint64_t counter_config;
	struct hwt_kmod_probe probes[HWT_KMOD_PROBES];
	struct hwt_abi_own events[HWT_KMOD_PROBES];	/* the same, for the metadata */
	struct hwt_abi_field fields[HWT_KMOD_PROBES][HWT_KMOD_ARGS + 1];
	char names[HWT_KMOD_PROBES][160];
	char args[HWT_KMOD_PROBES][HWT_KMOD_ARGS][32];
	unsigned n;
	struct strlist dirty;		/* patterns of tracepoints, "kmem:*" */
	char *rest;			/* the virtual events and the dirty ones, a filter */
};

/*
 * @events as <hwtrace/capture.h> has them, @contexts too (NULL: none). Without any virtual event
 * the rest is one that is there anyway. 0, -HWT_E_FILTER or -ENOMEM with words in @diag.
 */
int kown_new(struct kown **out, const char *events, const char *contexts, struct hwt_diag *diag);
void kown_free(struct kown *o);	/* NULL is fine */

#endif
