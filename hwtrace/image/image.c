/* SPDX-License-Identifier: BSD-2-Clause */
/* The code image as a whole: its life, reading bytes, and what it lists. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/vec.h"
#include "priv.h"

int image_new(struct hwt_image **out, struct notes *ns)
{
	struct hwt_image *img = calloc(1, sizeof(*img));

	if (!img)
		return -ENOMEM;
	img->ns = ns;
	*out = img;
	return 0;
}

void image_free(struct hwt_image *img)
{
	if (!img)
		return;
	module_free_all(img);
	maps_free(img);
	free(img->kallsyms.v);
	arena_free(&img->arena);
	free(img);
}

static int set_str(struct hwt_image *img, const char **field, const char *s)
{
	if (!s)
		return 0;
	*field = arena_str(&img->arena, s);
	return *field ? 0 : -ENOMEM;
}

int image_set_opts(struct hwt_image *img, const struct hwt_open_opts *o)
{
	int rc = set_str(img, &img->sysroot, o->sysroot);

	return rc ? rc : set_str(img, &img->cache, o->debuginfod_cache);
}

int image_set_base(struct hwt_image *img, const char *dir)
{
	return set_str(img, &img->base, dir);
}

/* Bytes of a file end where the file ends, whatever the map says. */
static void resolve_file(struct hwt_image *img, const struct spot *s, uint64_t addr,
			 struct read_slot *out)
{
	struct module *m = s->part->mod;
	uint64_t off, left;

	if (!module_open(img, m))
		return;
	/* an offset that wraps is far beyond any file */
	if (__builtin_add_overflow(s->part->file_off, s->lo - s->item->addr, &off))
		return;
	left = off < m->file->size ? m->file->size - off : 0;
	if (addr - s->lo >= left) {
		out->lo = s->lo + left;
		return;
	}
	if (s->hi - s->lo >= left)
		out->hi = s->lo + left - 1;
	out->p = m->file->p + off;
	out->used = 1;
}

/* The slot for @addr, filled; NULL with *@err 0 or negative if nothing is there. */
static const struct read_slot *lookup(struct hwt_image *img, const struct hwt_where *w,
				      uint64_t addr, int *err)
{
	struct read_slot *r = &img->reads[(addr >> 12 ^ (uint32_t)w->pid) % READ_CACHE];
	struct spot s;

	*err = 0;
	if (r->used && addr >= r->lo && addr <= r->hi && r->pid == w->pid &&
	    w->time >= r->t0 && w->time <= r->t1 && r->space == w->space)
		return r->used == 1 ? r : NULL;
	*err = maps_locate(img, w, addr, &s);
	if (*err < 0)
		return NULL;
	*r = (struct read_slot){ .lo = s.lo, .hi = s.hi, .t0 = s.t0, .t1 = s.t1,
				 .space = w->space, .pid = w->pid, .used = 2 };
	img->warm = true;
	*err = 0;
	if (!s.part)
		return NULL;
	if (s.part->kind == PART_FILE) {
		resolve_file(img, &s, addr, r);
	} else {
		r->used = 1;
		if (s.part->kind == PART_BYTES)
			r->p = s.part->bytes + (s.lo - s.item->addr);
	}
	return r->used == 1 ? r : NULL;
}

int hwt_image_read(const struct hwt_image *cimg, const struct hwt_where *w, uint64_t addr,
		   void *buf, size_t n)
{
	/* a read opens files and fills caches; every image was made writable by image_new() */
	struct hwt_image *img = (struct hwt_image *)(uintptr_t)cimg;
	uint8_t *to = buf;
	size_t done = 0;

	if (n > INT32_MAX)
		n = INT32_MAX;
	while (done < n) {
		int err;
		const struct read_slot *r = lookup(img, w, addr, &err);
		uint64_t left;
		size_t k;

		if (!r)
			return done || !err ? (int)done : err;
		left = r->hi - addr;	/* one less than the bytes left */
		k = left >= n - done ? n - done : (size_t)left + 1;
		if (r->p)
			memcpy(to + done, r->p + (addr - r->lo), k);
		else
			memset(to + done, 0, k);
		done += k;
		if (addr > UINT64_MAX - k)
			break;		/* that was the last byte of all */
		addr += k;
	}
	return (int)done;
}

static int cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t next_in(struct aspace *as, uint64_t time)
{
	uint32_t lo = 0, hi;

	if (!as)
		return HWT_TIME_UNKNOWN;
	if (!as->sorted && as->nchanges) {
		qsort(as->changes, as->nchanges, sizeof(*as->changes), cmp_u64);
		as->sorted = true;
	}
	for (hi = as->nchanges; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (as->changes[mid] <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < as->nchanges ? as->changes[lo] : HWT_TIME_UNKNOWN;
}

uint64_t image_next_change(const struct hwt_image *img, const struct hwt_where *w)
{
	uint64_t all = next_in(maps_find_space(img, HWT_NONE), w->time), own;

	if (w->pid == HWT_NONE)
		return all;
	own = next_in(maps_find_space(img, w->pid), w->time);
	return own < all ? own : all;
}

int image_has_pokes(const struct hwt_image *img)
{
	return img->npokes != 0;
}

void image_set_stepped(struct hwt_image *img)
{
	img->stepped = true;
}

bool image_is_rewritten(const struct hwt_image *img)
{
	return img->rewritten;
}

static int cmp_range(const void *a, const void *b)
{
	const struct page_range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void sort_pokes(struct hwt_image *img)
{
	uint32_t k = 0;

	if (img->pokes_sorted || !img->npokes)
		return;
	qsort(img->pokes, img->npokes, sizeof(*img->pokes), cmp_range);
	for (uint32_t i = 1; i < img->npokes; i++) {
		struct page_range *last = &img->pokes[k], *r = &img->pokes[i];

		if (last->hi == UINT64_MAX || r->lo <= last->hi + 1) {
			if (r->hi > last->hi)
				last->hi = r->hi;
		} else {
			img->pokes[++k] = *r;
		}
	}
	img->npokes = k + 1;
	img->pokes_sorted = true;
}

bool image_is_rewritten_at(const struct hwt_image *cimg, uint64_t addr)
{
	struct hwt_image *img = (struct hwt_image *)(uintptr_t)cimg;
	uint32_t a = 0, b;

	if (!img->rewritten)
		return false;
	sort_pokes(img);
	for (b = img->npokes; a < b;) {
		uint32_t mid = a + (b - a) / 2;

		if (img->pokes[mid].hi < addr)
			a = mid + 1;
		else
			b = mid;
	}
	return a < img->npokes && img->pokes[a].lo <= addr;
}

struct sections {
	struct image_section *v;
	size_t n, cap;
};

static int push(struct sections *l, const struct image_section *s)
{
	struct image_section *last = l->n ? &l->v[l->n - 1] : NULL;

	if (last && last->addr + last->size == s->addr && last->path == s->path &&
	    last->file_off + last->size == s->file_off && last->space == s->space) {
		last->size += s->size;
		return 0;
	}
	if (vec_room(&l->v, &l->cap, l->n, sizeof(*l->v)))
		return -ENOMEM;
	l->v[l->n++] = *s;
	return 0;
}

/* [@lo, @hi] of one file, without the pages that change. */
static int push_clean(struct hwt_image *img, struct sections *l, const struct module *m,
		      const struct spot *s, uint64_t lo, uint64_t hi)
{
	uint32_t a = 0, b = img->npokes;

	while (a < b) {		/* first range that ends at or after @lo */
		uint32_t mid = a + (b - a) / 2;

		if (img->pokes[mid].hi < lo)
			a = mid + 1;
		else
			b = mid;
	}
	for (;; a++) {
		bool cut = a < img->npokes && img->pokes[a].lo <= hi;
		uint64_t end = cut ? img->pokes[a].lo : hi;	/* excluded if cut */

		if (cut ? end > lo : true) {
			uint64_t off = s->part->file_off + (lo - s->item->addr);
			struct image_section sec = {
				.path = m->found, .file_off = off, .addr = lo,
				.size = end - lo + !cut, .space = s->item->space,
				.p = m->file->p + off,
			};
			int rc = push(l, &sec);

			if (rc)
				return rc;
		}
		if (!cut || img->pokes[a].hi >= hi)
			return 0;
		lo = img->pokes[a].hi + 1;
	}
}

int image_sections(struct hwt_image *img, const struct hwt_where *w, struct image_section **out,
		   size_t *n)
{
	struct sections l = { 0 };
	uint64_t addr = 0;
	struct spot s;
	int rc;

	sort_pokes(img);
	for (;;) {
		rc = maps_locate(img, w, addr, &s);
		if (rc < 0)
			break;
		if (rc && s.part->kind == PART_FILE) {
			struct read_slot r = { .hi = s.hi };

			resolve_file(img, &s, s.lo, &r);
			if (r.used)
				rc = push_clean(img, &l, s.part->mod, &s, s.lo, r.hi);
			if (rc < 0)
				break;
		}
		if (s.hi == UINT64_MAX) {
			*out = l.v;
			*n = l.n;
			return 0;
		}
		addr = s.hi + 1;
	}
	free(l.v);
	return rc;
}

size_t image_nmaps(const struct hwt_image *img)
{
	return img->nlist;
}

int hwt_image_map_at(const struct hwt_image *cimg, size_t i, struct hwt_map *out)
{
	struct hwt_image *img = (struct hwt_image *)(uintptr_t)cimg;
	struct hwt_where w = { .time = HWT_TIME_UNKNOWN };
	struct module *m;
	uint8_t byte;

	if (i >= img->nlist)
		return 0;
	*out = img->list[i];
	if (out->raw > MODULE_RAW) {
		m = module_get(img, out->path, out->raw, NULL, 0);
		out->stands_in = m && m->stands_in;
		out->raw = 0;	/* the user's own file, known to be there */
		return 1;
	}
	if (maps_name_only(out)) {
		w.pid = out->pid;
		out->missing = hwt_image_read(img, &w, out->addr, &byte, 1) != 1;
		return 1;
	}
	m = module_get(img, out->path, out->raw, out->build_id, out->build_id_size);
	/* the vDSO is code without a file of its own; other such maps hold data */
	if (m && (module_is_file(out->path) || !strncmp(out->path, "[vdso", 5)) &&
	    !module_find(img, m))
		out->missing = 1;
	/* a dump has no recorded id; its bytes are those of the file */
	if (m && m->kind == MODULE_RAW && m->obj)
		out->build_id_size = (uint8_t)obj_build_id(m->obj, out->build_id);
	return 1;
}

/* The lowest segment goes to @addr and the others keep their distance. */
static uint64_t bias_of(const struct obj_seg *v, size_t n, uint64_t addr)
{
	uint64_t low = UINT64_MAX;

	if (addr == HWT_NO_ADDR)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (v[i].memsz && v[i].addr < low)
			low = v[i].addr;
	return addr - low;
}

static int add_seg(struct hwt_image *img, int32_t pid, struct module *m, const struct obj_seg *s,
		   uint64_t bias)
{
	struct part part = { .kind = PART_FILE, .mod = m, .file_off = s->off, .link = s->addr,
			     .has_link = true };
	uint64_t addr = s->addr + bias;
	struct hwt_map map = { .addr = addr, .size = s->memsz, .file_off = s->off, .path = m->path,
			       .pid = pid, .raw = MODULE_USER };
	uint32_t seq = img->seq;
	int rc = 0;

	if (!s->memsz)
		return 0;
	if (s->filesz)
		rc = maps_add(img, pid, 0, addr, addr + s->filesz - 1, 0, &part);
	if (!rc && s->memsz > s->filesz) {
		part.kind = PART_ZERO;
		part.link += s->filesz;
		rc = maps_add(img, pid, 0, addr + s->filesz, addr + (s->memsz - 1), 0, &part);
	}
	return rc || seq == img->seq ? rc : maps_list(img, &map);
}

int image_add_elf(struct hwt_image *img, int32_t pid, const char *path, uint64_t addr,
		  struct hwt_diag *diag)
{
	const struct obj_seg *v;
	struct module *m;
	uint64_t bias, last;
	size_t n;
	int rc = module_user(img, &m, path, diag);

	if (rc)
		return rc;
	rc = obj_fault(m->obj, diag);
	if (rc)
		return rc;
	if (addr == HWT_NO_ADDR && !m->offered && img->noffers < OFFERS_MAX) {
		m->offered = true;
		img->offers[img->noffers++] = m;
	}
	n = obj_segs(m->obj, &v);
	if (!n)
		return diag_set(diag, -HWT_E_FORMAT, obj_relocatable(m->obj) ? 99 : 92, path,
				HWT_NO_OFF, "no loadable segment");
	bias = bias_of(v, n, addr);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = v[i].addr + bias;

		if (v[i].memsz && (__builtin_add_overflow(at, v[i].memsz - 1, &last) ||
				   (addr != HWT_NO_ADDR && at < addr)))
			return diag_set(diag, -EINVAL, 101, path, HWT_NO_OFF,
					"at 0x%llx the file does not fit into the address space",
					(unsigned long long)addr);
	}
	for (size_t i = 0; i < n; i++) {
		rc = add_seg(img, pid, m, &v[i], bias);
		if (rc)
			return diag_set(diag, rc, 3, path, HWT_NO_OFF, "out of memory");
	}
	if (pid == HWT_NONE && addr != HWT_NO_ADDR && place_user(img, m, bias) < 0)
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	return 0;
}
