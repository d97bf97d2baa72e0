/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_HWPROV_H
#define HWT_CAPTURE_HWPROV_H

/*
 * Who drives the trace units for a recording (krecord.c): to it a provider like those of kernel
 * events, whose records are native_trace() and what the trace needs beside it (native_side()).
 */
#include "kprov.h"

struct hw_want {
	const struct kprov_want *k;	/* what the whole recording wants */
	const char *event;		/* "intel_pt/cyc/u", "cs_etm/@tmc_etr0/" */
	const char *const *filters;	/* of addresses, see addr_filter.h */
	size_t nfilters;
	uint64_t bytes;			/* of trace, of each CPU; 0: the provider's own */
	bool on_exec;			/* start() names a child that did not exec() yet */
};

/* A negative code with words in @want->k->diag; *out is untouched then. */
int hwprov_new(struct kprov **out, enum hwt_via via, const struct hw_want *want);

/* Those there are, see hwprov.c. */
int hwperf_new(struct kprov **out, const struct hw_want *want);
int hwmod_new(struct kprov **out, const struct hw_want *want);

#endif
