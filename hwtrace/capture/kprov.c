/* SPDX-License-Identifier: BSD-2-Clause */
/* Which providers there are. Apart from krecord.c: some are built without libraries of others. */
#include "kprov.h"

#include <errno.h>

#include "../base/diag.h"

static const struct {
	const char *name;
	int (*make)(struct kprov **out, const struct kprov_want *want);
} all[HWT_PROVIDERS] = {
	[HWT_PROVIDER_MODULE] = { "module", module_new },
	[HWT_PROVIDER_TRACEFS] = { "tracefs", ftring_new },
	[HWT_PROVIDER_PERF] = { "perf", pring_new },
};

const char *hwt_provider_name(unsigned provider)
{
	return provider < HWT_PROVIDERS ? all[provider].name : NULL;
}

int kprov_dirty(struct kprov **out, const struct kprov_want *want)
{
	return ftring_new(out, want);
}

int kprov_new(struct kprov **out, enum hwt_provider which, const struct kprov_want *want)
{
	if (want->own && which != HWT_PROVIDER_MODULE)
		return diag_set(want->diag, -EOPNOTSUPP, 183, NULL, HWT_NO_OFF,
				"context fields and functions are for the kernel module");
	return all[which].make(out, want);
}
