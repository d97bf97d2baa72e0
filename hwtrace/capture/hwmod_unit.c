/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kinds of trace units share in reading what a user asks for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/diag.h"
#include "hwmod.h"

void hwmod_format(struct pmu *p, const char *name, unsigned low, unsigned high)
{
	struct pmu_format *g = &p->formats[p->nformats];

	if (p->nformats == PMU_FORMATS)
		return;
	p->nformats++;
	snprintf(g->name, sizeof(g->name), "%s", name);
	g->mask = (2ull << high) - (1ull << low);
}

uint64_t hwmod_option(const struct hwmod_unit *u, const char *name)
{
	return pmu_get(&u->event, pmu_format(&u->pmu, name));
}

static int one(const struct hwmod_unit *u, const char *text, const char *other,
	       struct hwt_kmod_range *r)
{
	size_t len = strlen(other);
	const char *s = text;
	uint64_t addr, n;
	char *end;

	*r = (struct hwt_kmod_range){ 0 };
	if (!strncmp(s, other, len) && s[len] == ' ') {
		r->stop = 1;
		s += len + 1;
	} else if (!strncmp(s, "filter ", 7)) {
		s += 7;
	}
	errno = 0;
	addr = strtoull(s, &end, 0);
	n = *end == '/' ? strtoull(end + 1, &end, 0) : 0;
	if (*end || !n || errno || addr + n - 1 < addr)
		return diag_set(u->want->k->diag, -EINVAL, 187, NULL, HWT_NO_OFF,
				"address filter \"%s\": by the module only ADDRESS/SIZE, and "
				"\"%s\" before it", text, other);
	r->first = addr;
	r->last = addr + n - 1;
	return 0;
}

int hwmod_ranges(const struct hwmod_unit *u, const char *other, struct hwt_kmod_range *range,
		 uint8_t max, uint8_t *n)
{
	int rc = 0;

	for (*n = 0; !rc && *n < u->want->nfilters; ++*n) {
		if (*n == max)
			return diag_set(u->want->k->diag, -E2BIG, 187, NULL, HWT_NO_OFF,
					"%s has up to %u address filters", u->pmu.name, max);
		rc = one(u, u->want->filters[*n], other, &range[*n]);
	}
	return rc;
}
