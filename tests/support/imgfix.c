/* SPDX-License-Identifier: BSD-2-Clause */
#include "imgfix.h"

#include <errno.h>
#include <stdlib.h>

int imgfix_setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	*state = f;
	return f ? image_new(&f->img, &f->ns) : -ENOMEM;
}

int imgfix_teardown(void **state)
{
	struct fix *f = *state;

	image_free(f->img);
	notes_free(&f->ns);
	free(f);
	return 0;
}

void imgfix_with_file(const uint8_t *p, size_t n,
		      void (*use)(struct hwt_image *img, struct file *f))
{
	struct notes ns = { 0 };
	struct hwt_image *img;
	struct file *f;

	if (image_new(&img, &ns) < 0)
		return;
	if (file_mem(&f, "fuzz", p, n) == 0) {
		use(img, f);
		file_close(f);
	}
	image_free(img);
	notes_free(&ns);
}
