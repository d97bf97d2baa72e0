/* SPDX-License-Identifier: BSD-2-Clause */
#include "dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demangle.h"

#define RANGES_MAX	(1u << 22)	/* address ranges of all units, or of functions of one */
#define NEST_MAX	64		/* depth of namespaces, and of inlined calls */
#define OVERLAP_MAX	8		/* ranges looked at that overlap an address */
#define NAMES		4096		/* buckets of names; a power of two */

struct range {
	uint64_t lo, hi;	/* hi is behind the last byte */
	uint64_t id;		/* index of the unit, or offset of the function's entry */
};

struct ranges {
	struct range *v;
	uint32_t n, cap;
};

struct unit {
	Dwarf_Die line_die;	/* has the line table */
	Dwarf_Die die;		/* has the functions; differs from @line_die in split DWARF */
	struct ranges funcs;
	uint8_t walked;		/* @funcs is filled */
};

struct name {
	struct name *next;
	uint64_t off;		/* of the entry in .debug_info */
	char text[];
};

struct dwarf {
	Dwarf *dw;
	int fd;
	struct unit *units;
	uint32_t nunits, cap;
	struct ranges ranges;
	struct name *names[NAMES];
};

static int ranges_add(struct ranges *r, uint64_t lo, uint64_t hi, uint64_t id)
{
	if (lo >= hi)
		return 0;
	if (r->n == r->cap) {
		uint32_t cap = r->cap ? 2 * r->cap : 64;
		struct range *v = cap > RANGES_MAX ? NULL : realloc(r->v, cap * sizeof(*v));

		if (!v)
			return -1;
		r->v = v;
		r->cap = cap;
	}
	r->v[r->n++] = (struct range){ .lo = lo, .hi = hi, .id = id };
	return 0;
}

static int range_cmp(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->hi != y->hi ? (x->hi < y->hi ? 1 : -1) : 0;
}

static void ranges_sort(struct ranges *r)
{
	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), range_cmp);
}

/* All ranges of @die. */
static int ranges_of(struct ranges *r, Dwarf_Die *die, uint64_t id)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0)
		if (ranges_add(r, lo, hi, id) < 0)
			return -1;
	return 0;
}

/* The @skip-th range that holds @addr, latest start first; NULL past the last one. */
static const struct range *ranges_find(const struct ranges *r, uint64_t addr, unsigned skip)
{
	uint32_t lo = 0, hi = r->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->v[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = 0; i < OVERLAP_MAX && i < lo; i++) {
		const struct range *x = &r->v[lo - 1 - i];

		if (addr < x->hi && !skip--)
			return x;
	}
	return NULL;
}

static int unit_add(struct dwarf *d, Dwarf_Die *line_die, Dwarf_Die *die)
{
	if (d->nunits == d->cap) {
		uint32_t cap = d->cap ? 2 * d->cap : 64;
		struct unit *v = cap > RANGES_MAX ? NULL : realloc(d->units, cap * sizeof(*v));

		if (!v)
			return -1;
		d->units = v;
		d->cap = cap;
	}
	d->units[d->nunits] = (struct unit){ .line_die = *line_die, .die = *die };
	if (ranges_of(&d->ranges, line_die, d->nunits) < 0)
		return -1;
	d->nunits++;
	return 0;
}

static void units_read(struct dwarf *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	uint8_t type;

	while (!dwarf_get_units(d->dw, cu, &cu, NULL, &type, &die, &sub)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (unit_add(d, &die, type == DW_UT_skeleton && sub.addr ? &sub : &die) < 0)
			break;
	}
	ranges_sort(&d->ranges);
}

static Dwarf *open_one(const char *path, int *fd)
{
	Dwarf *dw;

	*fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (*fd < 0)
		return NULL;
	dw = dwarf_begin(*fd, DWARF_C_READ);
	if (!dw)
		close(*fd);
	return dw;
}

struct dwarf *dwarf_open(const char *elf_path, const char *debug_path)
{
	const char *paths[] = { debug_path, elf_path };
	struct dwarf *d = calloc(1, sizeof(*d));

	for (int i = 0; d && i < 2; i++) {
		d->dw = open_one(paths[i], &d->fd);
		if (!d->dw)
			continue;
		units_read(d);
		if (d->ranges.n)
			return d;
		dwarf_end(d->dw);
		close(d->fd);
		d->nunits = 0;
	}
	if (d) {
		free(d->units);
		free(d->ranges.v);
		free(d);
	}
	return NULL;
}

void dwarf_close(struct dwarf *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->nunits; i++)
		free(d->units[i].funcs.v);
	free(d->units);
	free(d->ranges.v);
	dwarf_end(d->dw);
	close(d->fd);
	free(d);
}

/* Entries that may hold functions with code. */
static int holds_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return 1;
	default:
		return 0;
	}
}

/* Collects the functions of @u that have code. */
static void unit_walk(struct unit *u)
{
	Dwarf_Die at[NEST_MAX];
	int depth = 0;

	u->walked = 1;
	if (dwarf_child(&u->die, &at[0]))
		return;
	while (depth >= 0) {
		Dwarf_Die *die = &at[depth];
		int tag = dwarf_tag(die);

		if (tag == DW_TAG_subprogram &&
		    ranges_of(&u->funcs, die, dwarf_dieoffset(die)) < 0)
			break;
		if (holds_functions(tag) && depth + 1 < NEST_MAX &&
		    !dwarf_child(die, &at[depth + 1])) {
			depth++;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&at[depth], &at[depth]))
			depth--;
	}
	ranges_sort(&u->funcs);
}

/*
 * The inlined calls at @addr, outermost first: chain[0] is the function itself. Returns how many
 * were filled. Lexical blocks are walked through.
 */
static int inline_chain(Dwarf_Die *func, uint64_t addr, Dwarf_Die *chain)
{
	Dwarf_Die scope = *func, die;
	int n = 0, nested = 0;

	chain[n++] = *func;
	while (n < NEST_MAX && nested++ < 2 * NEST_MAX) {
		int tag, more = dwarf_child(&scope, &die);

		for (; !more; more = dwarf_siblingof(&die, &die)) {
			tag = dwarf_tag(&die);
			if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
			    dwarf_haspc(&die, addr) == 1)
				break;
		}
		if (more)
			break;
		if (tag == DW_TAG_inlined_subroutine)
			chain[n++] = die;
		scope = die;
	}
	return n;
}

static const char *die_string(Dwarf_Die *die, unsigned at)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, at, &a) ? dwarf_formstring(&a) : NULL;
}

/* Name of a function or an inlined call; demangled once for each entry. */
static const char *die_name(struct dwarf *d, Dwarf_Die *die, struct arena *strings)
{
	uint64_t off = dwarf_dieoffset(die);
	struct name **head = &d->names[(off ^ off >> 12) & (NAMES - 1)], *nm;
	char buf[2048];
	const char *raw;
	size_t len;

	for (nm = *head; nm; nm = nm->next)
		if (nm->off == off)
			return nm->text;
	raw = die_string(die, DW_AT_linkage_name);
	if (!raw)
		raw = die_string(die, DW_AT_MIPS_linkage_name);
	if (!raw)
		return die_string(die, DW_AT_name);	/* lives in the file's mapping */
	len = strlen(demangle(raw, buf, sizeof(buf)));
	nm = arena_alloc(strings, sizeof(*nm) + len + 1);
	if (!nm)
		return NULL;
	nm->off = off;
	memcpy(nm->text, buf, len + 1);
	nm->next = *head;
	*head = nm;
	return nm->text;
}

/* Where the inlined call @die was made. */
static void call_site(struct unit *u, Dwarf_Die *die, struct hwt_line *out)
{
	Dwarf_Attribute a;
	Dwarf_Files *files;
	Dwarf_Word v;
	size_t n;

	if (dwarf_attr(die, DW_AT_call_line, &a) && !dwarf_formudata(&a, &v) && v <= INT32_MAX)
		out->line = (int)v;
	if (dwarf_attr(die, DW_AT_call_file, &a) && !dwarf_formudata(&a, &v) &&
	    !dwarf_getsrcfiles(&u->line_die, &files, &n) && v < n)
		out->file = dwarf_filesrc(files, v, NULL, NULL);
	if (!out->file)
		out->file = "??";
}

static int unit_lines(struct dwarf *d, struct unit *u, uint64_t addr, struct hwt_line *out,
		      int max, struct arena *strings)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->line_die, addr);
	Dwarf_Die chain[NEST_MAX], func;
	const struct range *r;
	const char *file;
	int n = 0, filled = 0, no = 0;

	file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!file || dwarf_lineno(line, &no))
		return 0;
	if (!u->walked)
		unit_walk(u);
	r = ranges_find(&u->funcs, addr, 0);
	if (r && dwarf_offdie(dwarf_cu_getdwarf(u->die.cu), r->id, &func))
		n = inline_chain(&func, addr, chain);
	out[0] = (struct hwt_line){ .file = file, .line = no };
	while (n > 0) {
		out[filled].func = die_name(d, &chain[n - 1], strings);
		filled++;
		if (--n == 0 || filled == max)
			break;
		out[filled] = (struct hwt_line){ 0 };
		call_site(u, &chain[n], &out[filled]);
	}
	return filled ? filled : 1;
}

int dwarf_lines(struct dwarf *d, uint64_t file_addr, struct hwt_line *out, int max,
		struct arena *strings)
{
	const struct range *r;

	for (unsigned skip = 0; d && max > 0; skip++) {
		int n;

		r = ranges_find(&d->ranges, file_addr, skip);
		if (!r)
			break;
		n = unit_lines(d, &d->units[r->id], file_addr, out, max, strings);
		if (n > 0)
			return n;
	}
	return 0;
}

/* @file is the path @src, or its last parts. */
static int is_source(const char *src, const char *file)
{
	size_t n = strlen(src), m = strlen(file);

	return n >= m && !strcmp(src + n - m, file) && (n == m || src[n - m - 1] == '/');
}

/* The row of a line table: 1 if a statement of @line of @file begins there. */
static int begins_line(Dwarf_Line *row, const char *file, int line, Dwarf_Addr *addr, int *next)
{
	const char *src = dwarf_linesrc(row, NULL, NULL);
	bool yes;
	int no;

	if (!src || !is_source(src, file) || dwarf_lineno(row, &no) ||
	    dwarf_lineendsequence(row, &yes) || yes)
		return 0;
	if (no > line && (!*next || no < *next))
		*next = no;
	return no == line && !dwarf_lineaddr(row, addr) &&
		!dwarf_linebeginstatement(row, &yes) && yes;
}

size_t dwarf_find_line(struct dwarf *d, const char *file, int line, uint64_t *out, size_t max,
		       int *next)
{
	Dwarf_Lines *rows;
	Dwarf_Addr addr;
	size_t n, found = 0;

	for (uint32_t k = 0; k < d->nunits; k++) {
		if (dwarf_getsrclines(&d->units[k].line_die, &rows, &n))
			continue;
		for (size_t i = 0; i < n; i++) {
			if (!begins_line(dwarf_onesrcline(rows, i), file, line, &addr, next))
				continue;
			if (found < max)
				out[found] = addr;
			found++;
		}
	}
	return found;
}
