/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TEST_IMGFIX_H
#define HWT_TEST_IMGFIX_H

/* A code image of its own for each test: the state of cmocka's setup and teardown. */
#include "hwtrace/image/image.h"
#include "hwtrace/source/file.h"

struct fix {
	struct notes ns;
	struct hwt_image *img;
	struct hwt_diag diag;
	char path[40];		/* for a file of the test's, "" if it has none */
};

int imgfix_setup(void **state);
int imgfix_teardown(void **state);
/* An image, and a file of these bytes, for a fuzz target; nothing if memory lacks. */
void imgfix_with_file(const uint8_t *p, size_t n,
		      void (*use)(struct hwt_image *img, struct file *f));

#endif
