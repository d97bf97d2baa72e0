/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc/kallsyms: "ADDRESS TYPE NAME [MODULE]", in no reliable order and without sizes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "../base/vec.h"
#include "lines.h"
#include "priv.h"

#define LAST_PAGE 4095u		/* a function without a next one reaches to the end of its page */

struct load {
	struct hwt_image *img;
	struct sym *v;
	size_t n, cap;
	size_t zero, bad;
	const char *module;	/* of the line before: they come in runs */
};

static size_t skip_blanks(const char *s, size_t i, size_t n)
{
	while (i < n && (s[i] == ' ' || s[i] == '\t'))
		i++;
	return i;
}

static size_t word_end(const char *s, size_t i, size_t n)
{
	while (i < n && s[i] != ' ' && s[i] != '\t')
		i++;
	return i;
}

static int set_module(struct load *l, const char *s, size_t n)
{
	if (!n) {
		s = "[kernel]";
		n = strlen(s);
	}
	if (!l->module || strlen(l->module) != n || memcmp(l->module, s, n))
		l->module = arena_strn(&l->img->arena, s, n);
	return l->module ? 0 : -ENOMEM;
}

static int append(struct load *l, const struct sym *s)
{
	if (vec_room(&l->v, &l->cap, l->n, sizeof(*l->v)))
		return -ENOMEM;
	l->v[l->n++] = *s;
	return 0;
}

static int one_line(struct load *l, const char *s, size_t n)
{
	struct sym sym = { 0 };
	size_t i = line_hex(s, n, &sym.addr), name, end, mod;
	char type;

	if (!i || i + 3 >= n || s[i] != ' ') {
		l->bad += n != 0;
		return 0;
	}
	type = s[i + 1];
	name = skip_blanks(s, i + 2, n);
	end = word_end(s, name, n);
	mod = skip_blanks(s, end, n);
	if (name == i + 2 || end == name) {
		l->bad++;
		return 0;
	}
	if (!sym.addr) {
		l->zero++;
		return 0;
	}
	/* marks of Arm between code and data */
	if (s[name] == '$' && end - name >= 2 && strchr("adtx", s[name + 1]) &&
	    (end - name == 2 || s[name + 2] == '.'))
		return 0;
	if (set_module(l, s + mod, word_end(s, mod, n) - mod))
		return -ENOMEM;
	sym.module = l->module;
	sym.name = arena_strn(&l->img->arena, s + name, end - name);
	if (!sym.name)
		return -ENOMEM;
	/* data only bounds the code before it; upper case is global */
	sym.hidden = !strchr("tTwWi", type);
	sym.size = type >= 'A' && type <= 'Z';	/* until build() */
	return append(l, &sym);
}

/* By address; of several names the one to show first: code, global, fewer underscores. */
static int cmp(const void *a, const void *b)
{
	const struct sym *x = a, *y = b;
	size_t ux = strspn(x->name, "_"), uy = strspn(y->name, "_");

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->hidden != y->hidden)
		return x->hidden - y->hidden;
	if (x->size != y->size)
		return x->size ? -1 : 1;
	if (ux != uy)
		return ux < uy ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A function ends where the next symbol begins, but never reaches over the edge of its module. */
static void build(struct load *l)
{
	size_t k = 0;

	qsort(l->v, l->n, sizeof(*l->v), cmp);
	for (size_t i = 0; i < l->n; i++)
		if (!k || l->v[k - 1].addr != l->v[i].addr)
			l->v[k++] = l->v[i];
	for (size_t i = 0; i < k; i++) {
		struct sym *s = &l->v[i], *next = i + 1 < k ? s + 1 : NULL;

		s->size = 0;
		s->last = s->addr | LAST_PAGE;
		if (next && (next->addr <= s->last || !strcmp(next->module, s->module)))
			s->last = next->addr - 1;
	}
	l->n = k;
}

int image_add_kallsyms(struct hwt_image *img, const char *path, struct hwt_diag *diag)
{
	struct file *f;
	int rc = module_file(&f, path, diag);

	if (rc)
		return rc;
	rc = kallsyms_load(img, f, diag);
	file_close(f);
	return rc;
}

int image_add_kallsyms_text(struct hwt_image *img, const char *name, const void *p, size_t n,
			    struct hwt_diag *diag)
{
	struct file *f;
	int rc = file_mem(&f, name, p, n);

	if (rc)
		return diag_set(diag, rc, 3, name, HWT_NO_OFF, "out of memory");
	rc = kallsyms_load(img, f, diag);
	file_close(f);
	return rc;
}

int kallsyms_load(struct hwt_image *img, const struct file *f, struct hwt_diag *diag)
{
	struct load l = { .img = img };
	struct cur c = cur_new(f->p, f->size, false);
	const char *s, *path = f->path;
	size_t n;
	int rc = 0;

	while (!rc && line_next(&c, &s, &n))
		rc = one_line(&l, s, n);
	if (rc) {
		free(l.v);
		return diag_set(diag, rc, 3, path, HWT_NO_OFF, "out of memory");
	}
	if (l.bad)
		notes_add(img->ns, HWT_NOTE_WARN, 97, path, HWT_NO_OFF,
			  "%zu line%s can not be read", l.bad, text_s(l.bad));
	if (!l.n) {
		free(l.v);
		if (!l.zero)
			return diag_set(diag, -HWT_E_FORMAT, 97, path, 0, "no symbol in it");
		notes_add(img->ns, HWT_NOTE_WARN, 94, path, HWT_NO_OFF,
			  "symbols hidden by kptr_restrict: all %zu addresses are zero", l.zero);
		return 0;
	}
	build(&l);
	maps_forget(img);
	free(img->kallsyms.v);
	img->kallsyms.v = l.v;
	img->kallsyms.n = l.n;
	return 0;
}
