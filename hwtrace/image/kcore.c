/* SPDX-License-Identifier: BSD-2-Clause */
/* A copy of /proc/kcore or of parts of it: the kernel's memory as an ELF core file. */
#include "priv.h"

/*
 * Only what is in the file counts: memory that the copy left out is unknown, not zero. Addresses
 * are those of the machine, so nothing is moved.
 */
int image_add_kcore(struct hwt_image *img, const char *path, struct hwt_diag *diag)
{
	const struct obj_seg *v;
	struct hwt_diag fault;
	struct module *m;
	size_t n, used = 0;
	int rc = module_user(img, &m, path, diag);

	if (rc)
		return rc;
	if (!obj_core(m->obj))
		return diag_set(diag, -HWT_E_FORMAT, 92, path, 16, "not an ELF core file");
	if (obj_fault(m->obj, &fault))
		notes_add(img->ns, HWT_NOTE_WARN, fault.id, path, fault.off, "%s", fault.text);
	n = obj_segs(m->obj, &v);
	for (size_t i = 0; i < n; i++) {
		struct part part = { .kind = PART_FILE, .mod = m, .file_off = v[i].off,
				     .link = v[i].addr, .has_link = true };
		struct hwt_map map = { .addr = v[i].addr, .size = v[i].filesz,
				       .file_off = v[i].off, .path = m->path, .pid = HWT_NONE,
				       .raw = MODULE_USER };
		uint32_t seq = img->seq;

		if (!v[i].filesz)
			continue;
		used++;
		rc = maps_add(img, HWT_NONE, 0, v[i].addr, v[i].addr + (v[i].filesz - 1), 0,
			      &part);
		if (!rc && seq != img->seq)
			rc = maps_list(img, &map);
		if (rc)
			return diag_set(diag, rc, 3, path, HWT_NO_OFF, "out of memory");
	}
	if (used)
		return 0;
	if (obj_fault(m->obj, diag))
		return diag ? diag->code : -HWT_E_FORMAT;
	return diag_set(diag, -HWT_E_FORMAT, 92, path, HWT_NO_OFF, "no loadable segment");
}
