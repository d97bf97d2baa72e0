/* SPDX-License-Identifier: BSD-2-Clause */
/* Who drives the trace units. */
#include "hwprov.h"

#include <errno.h>
#include <stddef.h>

#include "../base/diag.h"

static const struct {
	const char *name;
	int (*make)(struct kprov **out, const struct hw_want *want);
} all[HWT_VIAS] = {
	[HWT_VIA_PERF] = { "perf", hwperf_new },
	[HWT_VIA_MODULE] = { "module", hwmod_new },
};

const char *hwt_via_name(unsigned via)
{
	return via < HWT_VIAS ? all[via].name : NULL;
}

int hwprov_new(struct kprov **out, enum hwt_via via, const struct hw_want *want)
{
	if ((unsigned)via >= HWT_VIAS)
		return diag_set(want->k->diag, -EINVAL, 0, NULL, HWT_NO_OFF,
				"who is to drive the trace unit is not known");
	return all[via].make(out, want);
}
