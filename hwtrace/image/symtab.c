/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of addresses. What fails here costs names, never a decode. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "priv.h"

#define NEST_MAX	64	/* symbols looked back for one that encloses an address */
#define NAME_SIZE	1024	/* bytes of a shown name; longer ones are cut */

static unsigned underscores(const char *s)
{
	unsigned n = 0;

	while (s[n] == '_')
		n++;
	return n;
}

/*
 * By address; then the name that is shown for it first: global before weak before local, with size
 * before without, fewer leading underscores, shorter, and the alphabet last so that the choice does
 * not depend on the order of the table.
 */
static int cmp_sym(const void *a, const void *b)
{
	const struct obj_sym *x = a, *y = b;
	int bx = x->global ? 0 : x->weak ? 1 : 2, by = y->global ? 0 : y->weak ? 1 : 2;
	unsigned ux, uy;
	size_t lx, ly;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	if (x->plt != y->plt)
		return x->plt - y->plt;
	if (bx != by)
		return bx - by;
	if (!x->size != !y->size)
		return !x->size - !y->size;
	ux = underscores(x->name);
	uy = underscores(y->name);
	if (ux != uy)
		return ux < uy ? -1 : 1;
	lx = strcspn(x->name, "@");
	ly = strcspn(y->name, "@");
	if (lx != ly)
		return lx < ly ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A symbol without size reaches to the next one, and none leaves its section. */
static int build(struct symtab *t, struct obj_sym *v, size_t n)
{
	size_t k = 0;

	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), cmp_sym);
	t->v = calloc(n, sizeof(*t->v));
	if (!t->v)
		return -1;
	for (size_t i = 0; i < n; i++) {
		uint64_t size = v[i].size;
		size_t next = i + 1;
		struct sym *s;

		if (k && t->v[k - 1].addr == v[i].value)
			continue;
		s = &t->v[k++];
		*s = (struct sym){ .addr = v[i].value, .size = size, .name = v[i].name,
				   .last = v[i].limit, .plt = v[i].plt };
		while (next < n && v[next].value == v[i].value) {
			/* an alias may know the size */
			if (!s->size)
				s->size = v[next].size;
			next++;
		}
		size = s->size;
		if (size && size - 1 < v[i].limit - s->addr)
			s->last = s->addr + (size - 1);
		else if (!size && next < n && v[next].value <= s->last)
			s->last = v[next].value - 1;
	}
	t->n = k;
	return 0;
}

static void gather(struct obj *o, bool dynamic, struct obj_sym **all, size_t *n)
{
	struct obj_sym *v, *both;
	size_t k;

	if (!o || obj_syms(o, dynamic, &v, &k) < 0)
		return;
	both = k ? realloc(*all, (*n + k) * sizeof(*both)) : NULL;
	if (both) {
		memcpy(both + *n, v, k * sizeof(*v));
		*all = both;
		*n += k;
	}
	free(v);
}

const struct symtab *symtab_module(struct hwt_image *img, struct module *m)
{
	struct obj_sym *v = NULL;
	size_t n = 0;

	if (m->syms_tried)
		return &m->syms;
	m->syms_tried = true;
	if (!module_open(img, m) || !m->obj)
		return &m->syms;
	gather(m->obj, false, &v, &n);
	if (!n)
		gather(module_debug(img, m), false, &v, &n);
	gather(m->obj, true, &v, &n);
	build(&m->syms, v, n);
	free(v);
	return &m->syms;
}

struct sym *symtab_at(const struct symtab *t, uint64_t addr)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (unsigned i = 0; lo && i < NEST_MAX; i++) {
		struct sym *s = &t->v[--lo];

		if (addr <= s->last)
			return s->hidden ? NULL : s;
	}
	return NULL;
}

/* The address as linked of @addr, which @s answered: 1 known. */
static int link_of(const struct spot *s, uint64_t addr, uint64_t *out)
{
	const struct part *p = s->part;
	uint64_t delta = addr - s->item->addr;

	if (p->has_link) {
		*out = p->link + delta;
		return 1;
	}
	return p->mod->obj && obj_link(p->mod->obj, p->file_off + delta, out);
}

static bool in_file(struct hwt_image *img, const struct spot *s, uint64_t addr,
		    struct sym_slot *out)
{
	uint64_t at;

	if (!s->part || !s->part->mod || !module_open(img, s->part->mod) ||
	    !link_of(s, addr, &at))
		return false;
	out->sym = symtab_at(symtab_module(img, s->part->mod), at);
	if (!out->sym)
		return false;
	out->start = addr - (at - out->sym->addr);
	/* a copy is named by its build-id, which says nothing to a person */
	out->module = s->part->mod->copied ? s->part->mod->path : s->part->mod->found;
	return true;
}

static bool find(struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		 struct sym_slot *out)
{
	struct spot map, fn;
	int is_map = maps_locate(img, w, addr, &map);
	int is_fn = maps_locate_sym(img, w, addr, &fn);

	out->sym = NULL;
	out->t0 = map.t0 > fn.t0 ? map.t0 : fn.t0;
	out->t1 = map.t1 < fn.t1 ? map.t1 : fn.t1;
	/* a file mapped over the code of a JIT ends it */
	if (is_fn > 0 && !(is_map > 0 && map.part->kind == PART_FILE &&
			   map.item->time > fn.item->time && in_file(img, &map, addr, out))) {
		out->sym = (struct sym *)(uintptr_t)fn.item->val;
		out->start = out->sym->addr;
		out->module = out->sym->module ? out->sym->module : "[jit]";
		return true;
	}
	if (out->sym || (is_map > 0 && in_file(img, &map, addr, out)))
		return true;
	out->sym = symtab_at(&img->kallsyms, addr);
	if (!out->sym)
		return false;
	out->start = out->sym->addr;
	out->module = out->sym->module;
	return true;
}

/*
 * Compilers move unlikely parts of a function elsewhere and name them "f.cold": they are entered
 * by a jump that is no call.
 */
static bool is_part(const struct sym *s)
{
	const char *cold = strstr(s->name, ".cold");

	return cold && (!cold[5] || cold[5] == '.');
}

/* find(), remembered: listings and call trees ask for the same places again and again. */
static const struct sym_slot *sym_at(struct hwt_image *img, const struct hwt_where *w,
				     uint64_t addr)
{
	struct sym_slot *e = &img->names[(addr ^ addr >> 12 ^ (uint32_t)w->pid) % SYM_CACHE];

	if (e->used && e->addr == addr && e->pid == w->pid && e->space == w->space &&
	    w->time >= e->t0 && w->time <= e->t1)
		return e;
	*e = (struct sym_slot){ .addr = addr, .space = w->space, .pid = w->pid, .used = 1 };
	if (!find(img, w, addr, e))
		e->sym = NULL;
	e->is_entry = e->sym && e->start == addr && !is_part(e->sym);
	img->warm = true;
	return e;
}

/* Without the version of a dynamic symbol; "name" itself if memory is short. */
static const char *shown(struct hwt_image *img, struct sym *s)
{
	char raw[NAME_SIZE], buf[NAME_SIZE + 8];
	size_t n;

	if (s->shown)
		return s->shown;
	n = s->name[0] ? 1 + strcspn(s->name + 1, "@") : 0;
	if (n >= sizeof(raw))
		n = sizeof(raw) - 1;
	memcpy(raw, s->name, n);
	raw[n] = 0;
	demangle(raw, buf, NAME_SIZE);
	if (s->plt)
		strcat(buf, "@plt");
	s->shown = arena_str(&img->arena, buf);
	return s->shown ? s->shown : s->name;
}

int hwt_image_symbol(struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		     struct hwt_symbol *out)
{
	const struct sym_slot *h = sym_at(img, w, addr);

	if (!h->sym)
		return 0;
	*out = (struct hwt_symbol){ .name = shown(img, h->sym), .module = h->module,
				    .start = h->start, .size = h->sym->size };
	return 1;
}

int image_entry(struct hwt_image *img, const struct hwt_where *w, uint64_t addr, uint64_t *func)
{
	const struct sym_slot *h = sym_at(img, w, addr);

	*func = h->sym ? h->start : HWT_NO_ADDR;
	return h->is_entry;
}

/* The line of the last entry at or before @addr, as the runtime told it. */
static int jit_lines(struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		     struct hwt_line *out)
{
	const struct jit_line *best = NULL;
	const struct loose_sym *s;
	struct spot fn;

	if (maps_locate_sym(img, w, addr, &fn) <= 0)
		return 0;
	s = fn.item->val;
	if (!s->lines)
		return 0;
	addr = addr - s->sym.addr + s->lines->base;
	for (uint32_t i = 0; i < s->lines->n; i++) {
		const struct jit_line *l = &s->lines->v[i];

		if (l->addr <= addr && (!best || l->addr >= best->addr))
			best = l;
	}
	if (!best)
		return 0;
	*out = (struct hwt_line){ .func = shown(img, (struct sym *)(uintptr_t)&s->sym),
				  .file = best->file, .line = best->line };
	return 1;
}

/* Debug information of a file that is open, NULL if it has none. */
static struct dwarf *dwarf_of(struct hwt_image *img, struct module *m)
{
	if (!m->dwarf_tried) {
		m->dwarf_tried = true;
		module_debug(img, m);
		m->dwarf = dwarf_open(m->found, m->debug ? m->debug->path : NULL);
	}
	return m->dwarf;
}

int hwt_image_lines(struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		    struct hwt_line *out, int max)
{
	struct module *m;
	struct spot s;
	uint64_t at;

	if (max < 1 || maps_locate(img, w, addr, &s) <= 0)
		return 0;
	if (s.part->kind != PART_FILE)
		return jit_lines(img, w, addr, out);
	m = s.part->mod;
	if (!module_open(img, m) || !m->obj || !link_of(&s, addr, &at))
		return 0;
	return dwarf_of(img, m) ? dwarf_lines(m->dwarf, at, out, max, &img->arena) : 0;
}

struct ranges {
	uint64_t (*v)[2];
	size_t n, cap;
	bool full;		/* no memory: the rest is left out */
};

static void add_range(struct ranges *r, uint64_t lo, uint64_t hi)
{
	if (r->n == r->cap && !r->full) {
		size_t cap = r->cap ? r->cap * 2 : 64;
		uint64_t (*v)[2] = realloc(r->v, cap * sizeof(*v));

		r->full = !v;
		if (v) {
			r->v = v;
			r->cap = cap;
		}
	}
	if (r->full)
		return;
	r->v[r->n][0] = lo;
	r->v[r->n++][1] = hi;
}

static bool matches(struct hwt_image *img, struct sym *s, const char *pattern)
{
	return !s->hidden && (!fnmatch(pattern, s->name, 0) || !fnmatch(pattern, shown(img, s), 0));
}

/* Which symbols of a file match; it is asked for once, however often the file is mapped. */
static const struct symtab *match_all(struct hwt_image *img, struct module *m,
				      const char *pattern)
{
	const struct symtab *t = symtab_module(img, m);

	if (m->finds == img->finds)
		return t;
	m->finds = img->finds;
	for (size_t i = 0; i < t->n; i++)
		t->v[i].match = matches(img, &t->v[i], pattern);
	return t;
}

/* Functions of the file that lie in this map. */
static void find_in_map(struct hwt_image *img, const struct timed_item *it, const char *pattern,
			struct ranges *r)
{
	const struct spot s = { .item = it, .part = it->val };
	const struct symtab *t;
	uint64_t base;

	if (s.part->kind != PART_FILE || !module_open(img, s.part->mod) ||
	    !link_of(&s, it->addr, &base))
		return;
	t = match_all(img, s.part->mod, pattern);
	for (size_t i = 0; i < t->n; i++) {
		const struct sym *f = &t->v[i];
		uint64_t off = f->addr - base;

		if (f->match && f->addr >= base && off <= it->last - it->addr)
			add_range(r, it->addr + off, it->addr + off + (f->last - f->addr));
	}
}

static int cmp_pair(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	if (x[0] != y[0])
		return x[0] < y[0] ? -1 : 1;
	return x[1] < y[1] ? -1 : x[1] > y[1];
}

size_t hwt_image_find(struct hwt_image *img, const char *pattern, uint64_t (*out)[2], size_t max)
{
	struct ranges r = { 0 };
	size_t n = 0;

	img->finds++;
	for (uint32_t k = 0; k < img->nspaces; k++) {
		const struct aspace *as = img->spaces[k];

		for (uint32_t i = 0; i < as->maps.n; i++)
			find_in_map(img, &as->maps.v[i], pattern, &r);
		for (uint32_t i = 0; i < as->syms.n; i++) {
			struct sym *s = (struct sym *)(uintptr_t)as->syms.v[i].val;

			if (s && as->syms.v[i].tag == TAG_SYM && matches(img, s, pattern))
				add_range(&r, s->addr, s->last);
		}
	}
	for (size_t i = 0; i < img->kallsyms.n; i++)
		if (matches(img, &img->kallsyms.v[i], pattern))
			add_range(&r, img->kallsyms.v[i].addr, img->kallsyms.v[i].last);
	if (r.n)
		qsort(r.v, r.n, sizeof(*r.v), cmp_pair);
	for (size_t i = 0; i < r.n; i++) {
		if (i && !cmp_pair(r.v[i], r.v[i - 1]))
			continue;
		if (n < max) {
			out[n][0] = r.v[i][0];
			out[n][1] = r.v[i][1];
		}
		n++;
	}
	free(r.v);
	return n;
}

#define LINE_STARTS 4096	/* of one line in one file */

static int cmp_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Starts of the line in the file of one map, as linked, to run-time addresses. */
static void line_in_map(struct hwt_image *img, const struct timed_item *it, const char *file,
			int line, int *next, struct ranges *r)
{
	const struct spot s = { .item = it, .part = it->val };
	uint64_t *v, base;
	size_t n;

	if (s.part->kind != PART_FILE || !module_open(img, s.part->mod) ||
	    !s.part->mod->obj || !link_of(&s, it->addr, &base) || !dwarf_of(img, s.part->mod))
		return;
	v = malloc(LINE_STARTS * sizeof(*v));
	if (!v)
		return;
	n = dwarf_find_line(s.part->mod->dwarf, file, line, v, LINE_STARTS, next);
	for (size_t i = 0; i < n && i < LINE_STARTS; i++)
		if (v[i] >= base && v[i] - base <= it->last - it->addr)
			add_range(r, it->addr + (v[i] - base), 0);
	free(v);
}

size_t hwt_image_find_line(struct hwt_image *img, const char *file, int line, uint64_t *out,
			   size_t max, int *next)
{
	struct ranges r = { 0 };
	size_t n = 0;

	*next = 0;
	for (uint32_t k = 0; k < img->nspaces; k++)
		for (uint32_t i = 0; i < img->spaces[k]->maps.n; i++)
			line_in_map(img, &img->spaces[k]->maps.v[i], file, line, next, &r);
	if (r.n)
		qsort(r.v, r.n, sizeof(*r.v), cmp_u64);
	for (size_t i = 0; i < r.n; i++) {
		if (i && r.v[i][0] == r.v[i - 1][0])
			continue;
		if (n < max)
			out[n] = r.v[i][0];
		n++;
	}
	free(r.v);
	return n;
}
