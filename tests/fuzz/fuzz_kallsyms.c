/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as kallsyms and as a perf map; what is found lies where it says. */
#include <stdlib.h>

#include "../../hwtrace/image/priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct hwt_where w = { .pid = 1, .time = HWT_TIME_UNKNOWN };
	struct notes ns = { 0 };
	struct hwt_image *img;
	struct hwt_diag d;
	struct file *f;
	uint64_t r[8][2];
	size_t k;

	if (image_new(&img, &ns) < 0)
		return 0;
	if (file_mem(&f, "fuzz", p, n) == 0) {
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
		file_close(f);
	}
	image_free(img);
	notes_free(&ns);
	return 0;
}
