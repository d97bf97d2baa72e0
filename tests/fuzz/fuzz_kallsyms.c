/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as kallsyms and as a perf map; what is found lies where it says. */
#include <stdlib.h>

#include "../../hwtrace/image/priv.h"
#include "../support/imgfix.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void use(struct hwt_image *img, struct file *f)
{
	struct hwt_where w = { .pid = 1, .time = HWT_TIME_UNKNOWN };
	struct hwt_diag d;
	uint64_t r[8][2];
	size_t k;

	kallsyms_load(img, f, &d);
	k = hwt_image_find(img, "*", r, 8);
	for (size_t i = 0; i < k && i < 8; i++) {
		struct hwt_symbol s;

		if (r[i][1] < r[i][0] || !hwt_image_symbol(img, &w, r[i][0], &s) ||
		    s.start != r[i][0] || !hwt_image_symbol(img, &w, r[i][1], &s) ||
		    s.start != r[i][0])
			abort();
	}
	perf_map_load(img, 1, f, &d);
	hwt_image_find(img, "a*", r, 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	imgfix_with_file(p, n, use);
	return 0;
}
