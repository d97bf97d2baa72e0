/* SPDX-License-Identifier: BSD-2-Clause */
#include "addr_filter.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/diag.h"
#include "../image/image.h"
#include "../image/obj.h"
#include "../source/file.h"

#define wrong(diag, rc, ...) diag_set(diag, rc, 187, NULL, HWT_NO_OFF, __VA_ARGS__)
#define NAME 256

struct place {
	const char *kind;		/* "filter", ... */
	char name[NAME];		/* of a function or a number */
	char path[PATH_MAX];		/* absolute; "" the kernel's */
	uint64_t addr, size;		/* as linked; @size 0: not said */
};

static bool number(const char *s, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(s, &end, 0);
	return isdigit((unsigned char)*s) && !errno && !*end;
}

static int split(struct place *p, const char *text, struct hwt_diag *diag)
{
	static const char *const kinds[] = { "filter", "start", "stop", "tracestop" };
	const char *at, *end;
	char file[PATH_MAX];

	text += strspn(text, " \t");
	p->kind = kinds[0];
	for (unsigned i = 0; i < 4; i++) {
		size_t n = strlen(kinds[i]);

		if (!strncmp(text, kinds[i], n) && (text[n] == ' ' || text[n] == '\t')) {
			p->kind = kinds[i];
			text += n + strspn(text + n, " \t");
			break;
		}
	}
	at = strchr(text, '@');
	end = at ? at : text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	if (end == text || (size_t)(end - text) >= NAME)
		return wrong(diag, -EINVAL, "\"%.80s\" names no place", text);
	snprintf(p->name, sizeof(p->name), "%.*s", (int)(end - text), text);
	if (!at)
		return 0;
	at += 1 + strspn(at + 1, " \t");
	snprintf(file, sizeof(file), "%.*s", PATH_MAX - 1, at);
	/* the kernel looks at files by their path; a comma would begin another filter */
	if (!realpath(file, p->path))
		return wrong(diag, -ENOENT, "the file %.120s of the filter is not there", at);
	if (strpbrk(p->path, ", \t\n"))
		return wrong(diag, -EINVAL, "the path of %.120s has a comma or blank", at);
	return 0;
}

/* "NAME/SIZE" */
static int cut_size(struct place *p, struct hwt_diag *diag)
{
	char *slash = strrchr(p->name, '/');

	if (!slash)
		return 0;
	*slash++ = 0;
	return number(slash, &p->size) && p->size ? 0 :
		wrong(diag, -EINVAL, "the size of the filter, %.40s, is no number", slash);
}

/* The function of that name; several of one name at different places are none. */
static int find_symbol(struct place *p, struct obj *o, bool dynamic, unsigned *found)
{
	struct obj_sym *v;
	size_t n;
	int rc = obj_syms(o, dynamic, &v, &n);

	for (size_t i = 0; !rc && i < n; i++) {
		if (strcmp(v[i].name, p->name) || v[i].plt || (*found && v[i].value == p->addr))
			continue;
		p->addr = v[i].value;
		if (!p->size)
			p->size = v[i].size;
		++*found;
	}
	if (!rc)
		free(v);
	return rc;
}

static int to_offset(struct place *p, struct obj *o, struct hwt_diag *diag)
{
	const struct obj_seg *v;
	size_t n = obj_segs(o, &v);

	for (size_t i = 0; i < n; i++)
		if (p->addr >= v[i].addr && p->addr - v[i].addr < v[i].filesz) {
			p->addr = p->addr - v[i].addr + v[i].off;
			return 0;
		}
	return wrong(diag, -ENOENT, "0x%" PRIx64 " is no address of %.120s", p->addr, p->path);
}

static int in_file(struct place *p, struct hwt_diag *diag)
{
	unsigned found = 0;
	struct obj *o = NULL;
	struct file *f;
	int rc = file_open(&f, p->path, diag);

	if (rc)
		return rc;
	rc = obj_open(&o, f->p, f->size, p->path, NULL, diag);
	if (!rc && !number(p->name, &p->addr)) {
		rc = find_symbol(p, o, false, &found);
		if (!rc && !found)
			rc = find_symbol(p, o, true, &found);
		if (!rc && found != 1)
			rc = wrong(diag, -ENOENT, "%.100s has %s function %.80s", p->path,
				   found ? "more than one" : "no", p->name);
	}
	if (!rc)
		rc = to_offset(p, o, diag);
	obj_close(o);
	file_close(f);
	return rc;
}

static int in_kernel(struct place *p, const char *kallsyms, struct hwt_diag *diag)
{
	struct hwt_image *img = NULL;
	struct notes notes = { 0 };
	uint64_t v[2][2] = { { 0 } };
	size_t n = 0;
	int rc;

	if (number(p->name, &p->addr))
		return 0;
	rc = image_new(&img, &notes);
	if (!rc)
		rc = image_add_kallsyms(img, kallsyms, diag);
	if (!rc)
		n = hwt_image_find(img, p->name, v, 2);
	if (!rc && (n != 1 || !v[0][0]))
		rc = wrong(diag, -ENOENT, "the kernel shows %s function %.80s (%s); of a program: "
			   "%.80s@FILE", n > 1 ? "more than one" : "no", p->name, kallsyms,
			   p->name);
	p->addr = v[0][0];
	if (!p->size)
		p->size = v[0][1] - v[0][0] + 1;
	image_free(img);
	notes_free(&notes);
	return rc;
}

int addr_filter(const char *text, const char *kallsyms, char *out, size_t size,
		struct hwt_diag *diag)
{
	struct place *p = calloc(1, sizeof(*p));
	bool point;
	int rc, n;

	if (!p)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	rc = split(p, text, diag);
	if (!rc)
		rc = cut_size(p, diag);
	if (!rc)
		rc = *p->path ? in_file(p, diag) : in_kernel(p, kallsyms, diag);
	if (rc) {
		free(p);
		return rc;
	}
	point = p->kind[0] == 's';
	if (!point && !p->size)
		rc = wrong(diag, -EINVAL, "the size of %.80s is not known: write %.80s/SIZE",
			   p->name, p->name);
	n = point ? snprintf(out, size, "%s 0x%" PRIx64 "%s%s", p->kind, p->addr,
			     *p->path ? "@" : "", p->path) :
		snprintf(out, size, "%s 0x%" PRIx64 "/0x%" PRIx64 "%s%s", p->kind, p->addr,
			 p->size, *p->path ? "@" : "", p->path);
	if (!rc && n >= (int)size)
		rc = wrong(diag, -ENAMETOOLONG, "the filter %.80s is too long", text);
	free(p);
	return rc;
}
