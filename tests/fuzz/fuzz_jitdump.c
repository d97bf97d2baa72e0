/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a jitdump; then code, names and lines are asked for where there may be some. */
#include <stdlib.h>
#include <string.h>

#include "../../hwtrace/image/priv.h"
#include "../support/imgfix.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void use(struct hwt_image *img, struct file *f)
{
	struct hwt_where w = { .pid = 1, .time = HWT_TIME_UNKNOWN };
	struct hwt_diag d;
	uint64_t r[8][2];
	size_t k;

	jitdump_load(img, 1, f, &d);
	k = hwt_image_find(img, "*", r, 8);
	for (size_t i = 0; i < k && i < 8; i++) {
		struct image_section *v;
		struct hwt_symbol s;
		struct hwt_line l[2];
		uint8_t b[64];
		size_t nv;

		w.time = i & 1 ? HWT_TIME_UNKNOWN : i;
		hwt_image_read(img, &w, r[i][0], b, sizeof(b));
		if (hwt_image_symbol(img, &w, r[i][1], &s))
			(void)strlen(s.name);
		hwt_image_lines(img, &w, r[i][1], l, 2);
		if (!image_sections(img, &w, &v, &nv))
			free(v);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	imgfix_with_file(p, n, use);
	return 0;
}
