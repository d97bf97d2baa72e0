/* SPDX-License-Identifier: BSD-2-Clause */
/* A snapshot directory as one text (tests/support/vdir.h). */
#include <stdlib.h>

#include "tests/support/vdir.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct capture *c;
	struct hwt_diag d;
	struct vdir *v = malloc(sizeof(*v));
	struct hwt_map m;

	if (!v || capture_new(&c)) {
		free(v);
		return 0;
	}
	vdir_init(v, p, n);
	if (!snapshot_read(c, &v->dir, &d)) {
		for (size_t i = 0; i < c->nbufs; i++)
			for (size_t k = 0; k < c->bufs[i].nspans; k++)
				if (c->bufs[i].spans[k].size > n)
					abort();
		for (size_t i = 0; hwt_image_map_at(c->image, i, &m); i++)
			if (m.addr + m.size < m.addr || !m.size || m.size > n)
				abort();
	}
	capture_free(c);
	free(v);
	return 0;
}
