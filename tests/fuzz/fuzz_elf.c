/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as an ELF file: headers, segments, build-id, sections and symbols. */
#include <stdlib.h>

#include "../../hwtrace/image/obj.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void need(int yes)
{
	if (!yes)
		abort();
}

static void symbols(struct obj *o, bool dynamic)
{
	struct obj_sym *v;
	size_t n;

	if (obj_syms(o, dynamic, &v, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		need(*v[i].name && v[i].limit >= v[i].value);
	free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct obj_seg *v;
	struct notes ns = { 0 };
	struct hwt_diag d;
	uint64_t addr;
	uint32_t crc;
	uint8_t id[20];
	struct obj *o;
	size_t k;

	if (obj_open(&o, p, n, "fuzz", &ns, &d) < 0) {
		need(d.code < 0 && d.id);
		notes_free(&ns);
		return 0;
	}
	k = obj_segs(o, &v);
	for (size_t i = 0; i < k; i++) {
		need(v[i].off <= n && v[i].filesz <= n - v[i].off && v[i].filesz <= v[i].memsz);
		if (v[i].filesz)
			need(obj_link(o, v[i].off, &addr) == 1);
	}
	need(obj_build_id(o, id) <= sizeof(id));
	obj_debuglink(o, &crc);
	symbols(o, false);
	symbols(o, true);
	obj_close(o);
	notes_free(&ns);
	return 0;
}
