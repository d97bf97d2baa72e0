/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces over time: what is mapped where, since when, and inherited from whom. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define POKE_PAGE 4096u		/* bytes around changed code that are left to hwt_image_read() */
#define REPEAT_SCAN 4096u	/* later maps looked at before a repeat is taken as new */

void maps_forget(struct hwt_image *img)
{
	if (!img->warm)
		return;
	img->warm = false;
	memset(img->reads, 0, sizeof(img->reads));
	memset(img->names, 0, sizeof(img->names));
}

struct aspace *maps_find_space(const struct hwt_image *img, int32_t pid)
{
	uint32_t i = idmap_get(&img->by_pid, (uint32_t)pid);

	return i == IDMAP_NONE ? NULL : img->spaces[i];
}

int64_t maps_space(struct hwt_image *img, int32_t pid)
{
	uint32_t i = idmap_get(&img->by_pid, (uint32_t)pid);
	struct aspace *as;

	if (i != IDMAP_NONE)
		return i;
	if (img->nspaces == img->spaces_cap) {
		uint32_t cap = img->spaces_cap ? img->spaces_cap * 2 : 16;
		struct aspace **v = realloc(img->spaces, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		img->spaces = v;
		img->spaces_cap = cap;
	}
	as = calloc(1, sizeof(*as));
	if (!as)
		return -ENOMEM;
	as->pid = pid;
	if (idmap_set(&img->by_pid, (uint32_t)pid, img->nspaces) < 0) {
		free(as);
		return -ENOMEM;
	}
	img->spaces[img->nspaces] = as;
	return img->nspaces++;
}

static int note_change(struct aspace *as, uint64_t time)
{
	if (as->nchanges == as->changes_cap) {
		uint32_t cap = as->changes_cap ? as->changes_cap * 2 : 8;
		uint64_t *v = realloc(as->changes, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		as->changes = v;
		as->changes_cap = cap;
	}
	as->changes[as->nchanges++] = time;
	as->sorted = false;
	return 0;
}

static int note_poke(struct hwt_image *img, uint64_t addr, uint64_t last)
{
	uint64_t mask = POKE_PAGE - 1;
	struct page_range r = { addr & ~mask, last | mask };

	/* code of a JIT grows page by page: most ranges repeat the one before */
	if (img->npokes && img->pokes[img->npokes - 1].lo <= r.lo &&
	    img->pokes[img->npokes - 1].hi >= r.hi)
		return 0;
	if (img->npokes == img->pokes_cap) {
		uint32_t cap = img->pokes_cap ? img->pokes_cap * 2 : 8;
		struct page_range *v = realloc(img->pokes, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		img->pokes = v;
		img->pokes_cap = cap;
	}
	img->pokes[img->npokes++] = r;
	img->pokes_sorted = false;
	return 0;
}

static uint64_t map_hash(const struct timed_item *it, const struct part *p)
{
	uint64_t k[] = { it->addr, it->last, it->space, (uintptr_t)p->mod, p->file_off, p->kind };
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof(k) / sizeof(k[0]); i++) {
		h = (h ^ k[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	return h;
}

/*
 * The same map is there already and nothing was laid over it since. Tools repeat the maps of a
 * process for each of its threads.
 */
static bool is_repeat(const struct aspace *as, uint64_t hash, const struct timed_item *it,
		      const struct part *p)
{
	uint32_t i = idmap_get(&as->same, hash);
	const struct timed_item *old;
	const struct part *q;

	if (i == IDMAP_NONE || i < as->anew || as->maps.n - i > REPEAT_SCAN)
		return false;
	old = &as->maps.v[i];
	q = old->val;
	if (old->addr != it->addr || old->last != it->last || old->space != it->space ||
	    q->mod != p->mod || q->file_off != p->file_off || q->kind != p->kind ||
	    q->has_link != p->has_link || q->link != p->link || old->time > it->time)
		return false;
	for (i++; i < as->maps.n; i++) {
		const struct timed_item *over = &as->maps.v[i];
		const struct part *r = over->val;

		if (over->addr <= it->last && over->last >= it->addr &&
		    !(it->tag == TAG_ANON && r->kind == PART_BYTES))
			return false;
	}
	return true;
}

/*
 * Memory without file. A runtime writes code and then makes its memory executable, which recorders
 * tell as a new map: it hides files but not the bytes that the runtime told.
 */
static bool is_anon(const struct module *m)
{
	return m->kind == MODULE_MAPPED && !module_is_file(m->path) &&
		strncmp(m->path, "[vdso", 5);
}

int maps_add(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr, uint64_t last,
	     uint32_t space, const struct part *part)
{
	struct timed_item it = { .addr = addr, .last = last, .time = time, .space = space };
	int64_t k = maps_space(img, pid);
	uint64_t hash = 0;
	struct aspace *as;
	struct part *copy;
	int rc;

	if (k < 0)
		return (int)k;
	if (img->seq >= UINT32_MAX - 1)
		return -ENOMEM;
	as = img->spaces[k];
	if (it.time == HWT_TIME_UNKNOWN)
		it.time = 0;
	if (pid != HWT_NONE && part->kind == PART_FILE && is_anon(part->mod))
		it.tag = TAG_ANON;
	if (part->kind == PART_FILE || part->kind == PART_ZERO) {
		hash = map_hash(&it, part);
		if (is_repeat(as, hash, &it, part))
			return 0;
	}
	copy = arena_alloc(&img->arena, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *part;
	it.val = copy;
	it.seq = ++img->seq;
	/* the kernel's file is often given after its changes were read: what was recorded wins */
	it.rank = pid == HWT_NONE && part->kind == PART_BYTES;
	img->rewritten |= part->kind == PART_BYTES && it.time && !img->stepped;
	rc = part->kind == PART_BYTES ? note_poke(img, addr, last) : note_change(as, it.time);
	if (!rc)
		rc = timed_add(&as->maps, &it);
	if (!rc && hash)
		rc = idmap_set(&as->same, hash, as->maps.n - 1);
	maps_forget(img);
	return rc;
}

/* A range that ends where 64 bits end is fine: @last is its last byte. */
static bool range_last(uint64_t addr, uint64_t size, uint64_t *last)
{
	return size && !__builtin_add_overflow(addr, size - 1, last);
}

static int bad_map(struct hwt_image *img, const char *path, uint64_t addr, uint64_t size)
{
	notes_add(img->ns, HWT_NOTE_WARN, 101, path, HWT_NO_OFF,
		  "map of 0x%llx bytes at 0x%llx is not possible, left out",
		  (unsigned long long)size, (unsigned long long)addr);
	return 0;
}

int maps_list(struct hwt_image *img, const struct hwt_map *m)
{
	struct hwt_map *slot;

	if (img->nlist == img->list_cap) {
		size_t cap = img->list_cap ? img->list_cap * 2 : 16;

		slot = realloc(img->list, cap * sizeof(*slot));
		if (!slot)
			return -ENOMEM;
		img->list = slot;
		img->list_cap = cap;
	}
	img->list[img->nlist++] = *m;
	return 0;
}

/*
 * Recorders announce the kernel and its modules as maps of "[kernel.kallsyms]" or of relocatable
 * files, which hold no byte that ran. They must not hide a kcore or dump that does.
 */
bool maps_name_only(const struct hwt_map *m)
{
	const char *path = m->path ? m->path : "", *ko;

	if (m->pid != HWT_NONE || m->raw)
		return false;
	ko = strstr(path, ".ko");
	return !module_is_file(path) || (ko && (!ko[3] || ko[3] == '.'));
}

int image_add_map(struct hwt_image *img, const struct hwt_map *m)
{
	struct part part = { .kind = PART_FILE, .file_off = m->file_off };
	struct hwt_map copy = *m;
	uint32_t seq = img->seq;
	uint64_t last;
	int rc;

	if (!range_last(m->addr, m->size, &last))
		return bad_map(img, m->path, m->addr, m->size);
	if (m->build_id_size > sizeof(m->build_id))
		return -EINVAL;
	part.mod = module_get(img, m->path ? m->path : "",
			      m->raw ? MODULE_RAW : MODULE_MAPPED, m->build_id, m->build_id_size);
	if (!part.mod)
		return -ENOMEM;
	copy.path = part.mod->path;
	if (maps_name_only(m))
		return maps_list(img, &copy);
	rc = maps_add(img, m->pid, m->from, m->addr, last, m->space, &part);
	if (rc || seq == img->seq)
		return rc;
	return maps_list(img, &copy);
}

int image_unmap(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr, uint64_t size)
{
	struct part part = { .kind = PART_NONE };
	uint64_t last;

	if (!range_last(addr, size, &last))
		return bad_map(img, NULL, addr, size);
	return maps_add(img, pid, time, addr, last, 0, &part);
}

/* Functions without file follow their address space. */
static int reset_syms(struct hwt_image *img, struct aspace *as, uint64_t time,
		      const struct part *fork)
{
	struct timed_item it = { .last = UINT64_MAX, .time = time, .val = fork };

	if (it.time == HWT_TIME_UNKNOWN)
		it.time = 0;
	it.seq = img->seq;
	it.tag = fork ? TAG_FORK : TAG_SYM;
	return timed_add(&as->syms, &it);
}

int image_fork(struct hwt_image *img, uint64_t time, int32_t parent, int32_t child)
{
	struct part part = { .kind = PART_FORK };
	struct aspace *as;
	int64_t k;
	int rc;

	/* a thread; and nobody is the child of all or has all as its child */
	if (parent == child || parent == HWT_NONE || child == HWT_NONE)
		return 0;
	k = maps_space(img, parent);
	if (k < 0)
		return (int)k;
	part.parent = (uint32_t)k;
	rc = maps_add(img, child, time, 0, UINT64_MAX, 0, &part);
	if (rc)
		return rc;
	as = maps_find_space(img, child);
	return reset_syms(img, as, time, as->maps.v[as->maps.n - 1].val);
}

int image_exec(struct hwt_image *img, uint64_t time, int32_t pid)
{
	struct part part = { .kind = PART_NONE };
	int rc;

	if (pid == HWT_NONE)
		return 0;
	rc = maps_add(img, pid, time, 0, UINT64_MAX, 0, &part);
	return rc ? rc : reset_syms(img, maps_find_space(img, pid), time, NULL);
}

void image_maps_anew(struct hwt_image *img, int32_t pid)
{
	struct aspace *as = maps_find_space(img, pid);

	if (as)
		as->anew = as->maps.n;
}

static int add_bytes(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
		     const void *p, size_t n, const char *name, bool doubt)
{
	struct part part = { .kind = PART_BYTES, .doubt = doubt };
	uint64_t last;
	uint8_t *copy;
	int rc;

	if (!range_last(addr, n, &last))
		return bad_map(img, name, addr, n);
	copy = arena_alloc(&img->arena, n);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, p, n);
	part.bytes = copy;
	rc = maps_add(img, pid, time, addr, last, 0, &part);
	return rc || !name ? rc : image_add_symbol(img, pid, time, addr, n, name);
}

int image_add_bytes(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
		    const void *p, size_t n, const char *name)
{
	return add_bytes(img, pid, time, addr, p, n, name, false);
}

int image_add_doubt(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
		    const void *p, size_t n)
{
	return add_bytes(img, pid, time, addr, p, n, NULL, true);
}

int image_add_symbol(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
		     uint64_t size, const char *name)
{
	return maps_add_symbol(img, pid, time, addr, size, name, NULL);
}

int maps_add_symbol(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
		    uint64_t size, const char *name, const struct jit_lines *lines)
{
	struct timed_item it = { .addr = addr, .last = addr, .time = time };
	int64_t k = maps_space(img, pid);
	struct loose_sym *s = NULL;

	if (k < 0)
		return (int)k;
	if (size && !range_last(addr, size, &it.last))
		return bad_map(img, name, addr, size);
	if (img->seq >= UINT32_MAX - 1)
		return -ENOMEM;
	if (name && *name) {
		s = arena_alloc(&img->arena, sizeof(*s));
		if (!s)
			return -ENOMEM;
		s->sym = (struct sym){ .addr = addr, .size = size, .last = it.last };
		s->sym.name = arena_str(&img->arena, name);
		s->lines = lines;
		if (!s->sym.name)
			return -ENOMEM;
	}
	if (it.time == HWT_TIME_UNKNOWN)
		it.time = 0;
	it.val = s;
	it.seq = ++img->seq;
	maps_forget(img);
	return timed_add(&img->spaces[k]->syms, &it);
}

uint64_t maps_last_reset(const struct hwt_image *img, int32_t pid)
{
	const struct aspace *as = maps_find_space(img, pid);
	uint64_t last = 0;

	for (uint32_t i = 0; as && i < as->syms.n; i++) {
		const struct timed_item *it = &as->syms.v[i];

		if ((it->tag == TAG_FORK || (!it->val && it->last == UINT64_MAX)) &&
		    it->time > last)
			last = it->time;
	}
	return last;
}

static void narrow(struct spot *s, const struct timed_hit *h)
{
	if (h->lo > s->lo)
		s->lo = h->lo;
	if (h->hi < s->hi)
		s->hi = h->hi;
}

/* Where a walk from child to parent is. */
struct walk {
	struct aspace *as;
	uint64_t time;
	uint32_t seq;
	bool first;
	bool bytes_only;	/* memory without file was met: only told bytes are in it */
};

static void look(struct walk *k, const struct timed *t, const struct hwt_where *w, uint64_t addr,
		 uint8_t skip, struct spot *out, struct timed_hit *h)
{
	timed_find(t, addr, k->time, k->seq, w->space, skip, h);
	narrow(out, h);
	if (!k->first)
		return;
	out->t0 = h->t0 > out->t0 ? h->t0 : out->t0;
	out->t1 = h->t1 < out->t1 ? h->t1 : out->t1;
}

/* One address space: 1 found, 0 nothing there, 2 go on in the parent, negative error. */
static int step(struct hwt_image *img, struct walk *k, const struct hwt_where *w, uint64_t addr,
		struct spot *out)
{
	const struct part *p;
	struct timed_hit h;
	int rc = timed_build(&k->as->maps);

	if (rc < 0)
		return rc;
	look(k, &k->as->maps, w, addr, 0, out, &h);
	if (h.item && h.item->tag == TAG_ANON) {
		k->bytes_only = true;
		look(k, &k->as->maps, w, addr, TAG_ANON, out, &h);
	}
	p = h.item ? h.item->val : NULL;
	if (!p || p->kind == PART_NONE)
		return 0;
	if (p->kind == PART_FORK) {
		*k = (struct walk){ img->spaces[p->parent], h.item->time, h.item->seq, false,
				    k->bytes_only };
		return 2;
	}
	if (k->bytes_only && p->kind != PART_BYTES)
		return 0;
	out->item = h.item;
	out->part = p;
	return 1;
}

static int step_sym(struct hwt_image *img, struct walk *k, const struct hwt_where *w,
		    uint64_t addr, struct spot *out)
{
	struct timed_hit h;
	int rc = timed_build(&k->as->syms);

	if (rc < 0)
		return rc;
	look(k, &k->as->syms, w, addr, 0, out, &h);
	if (!h.item || !h.item->val)
		return 0;
	if (h.item->tag == TAG_FORK) {
		const struct part *p = h.item->val;

		*k = (struct walk){ img->spaces[p->parent], h.item->time, h.item->seq, false,
				    false };
		return 2;
	}
	out->item = h.item;
	return 1;
}

/* A step goes back in (time, seq), so the walk ends; FORKS_MAX only bounds the work. */
static int locate_in(struct hwt_image *img, struct aspace *as, bool syms,
		     const struct hwt_where *w, uint64_t addr, struct spot *out)
{
	struct walk k = { as, w->time, UINT32_MAX, true, false };

	for (unsigned i = 0; i < FORKS_MAX; i++) {
		int rc = syms ? step_sym(img, &k, w, addr, out) : step(img, &k, w, addr, out);

		if (rc != 2)
			return rc;
	}
	return 0;
}

static int locate(struct hwt_image *img, const struct hwt_where *w, uint64_t addr, bool syms,
		  struct spot *out)
{
	struct aspace *as = w->pid == HWT_NONE ? NULL : maps_find_space(img, w->pid);
	int rc = 0;

	*out = (struct spot){ NULL, NULL, 0, UINT64_MAX, 0, UINT64_MAX };
	if (as)
		rc = locate_in(img, as, syms, w, addr, out);
	if (rc)
		return rc;
	as = maps_find_space(img, HWT_NONE);
	return as ? locate_in(img, as, syms, w, addr, out) : 0;
}

int maps_locate(struct hwt_image *img, const struct hwt_where *w, uint64_t addr, struct spot *out)
{
	return locate(img, w, addr, false, out);
}

int maps_locate_sym(struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		    struct spot *out)
{
	return locate(img, w, addr, true, out);
}

void maps_free(struct hwt_image *img)
{
	for (uint32_t i = 0; i < img->nspaces; i++) {
		struct aspace *as = img->spaces[i];

		timed_free(&as->maps);
		timed_free(&as->syms);
		idmap_free(&as->same);
		free(as->changes);
		free(as);
	}
	free(img->spaces);
	idmap_free(&img->by_pid);
	free(img->list);
	free(img->pokes);
}
