/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/support/vdir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int get(const struct snapshot_dir *d, struct file **out, const char *name,
	       struct hwt_diag *diag)
{
	const struct vdir *v = (const struct vdir *)d;

	for (unsigned i = 0; i < v->nfiles; i++)
		if (!strcmp(v->file[i].name, name))
			return file_mem(out, name, v->file[i].p, v->file[i].n);
	return diag_set(diag, -ENOENT, 1, name, HWT_NO_OFF, "can not open: no such file");
}

void vdir_init(struct vdir *v, const void *text, size_t n)
{
	const char *p = text, *end = p + n;

	memset(v, 0, sizeof(*v));
	v->dir = (struct snapshot_dir){ .path = "vdir", .get = get, .ini = v->ini };
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *next = nl ? nl + 1 : end;

		if (next - p > 4 && !memcmp(p, "=== ", 4) && v->nfiles < VDIR_MAX) {
			char *name = v->file[v->nfiles].name;
			const char *dot;

			snprintf(name, sizeof(v->file[0].name), "%.*s",
				 (int)((nl ? nl : end) - p - 4), p + 4);
			v->file[v->nfiles++].p = next;
			name[strcspn(name, "\r")] = 0;
			dot = strrchr(name, '.');
			if (dot && !strcmp(dot, ".ini"))
				v->ini[v->dir.nini++] = name;
		} else if (v->nfiles) {
			v->file[v->nfiles - 1].n += (size_t)(next - p);
		}
		p = next;
	}
}
