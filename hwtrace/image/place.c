/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that the user placed at an address, where the recording tells of another one. A recorded
 * map is of an address space and goes before what is in every one, so the user's file must stand in
 * for the recorded file, or it is of no use.
 */
#include <errno.h>
#include <string.h>

#include "priv.h"

enum fit {
	FIT_NONE,	/* the map lies elsewhere */
	FIT_OTHER,	/* it holds another part of a file than the user's has there */
	FIT_SAME
};

/* Both map the same part of a file; a recorded map is of whole pages. */
static enum fit fit(const struct hwt_map *map, const struct obj_seg *v, size_t n, uint64_t bias)
{
	enum fit best = FIT_NONE;

	for (size_t i = 0; i < n && best != FIT_SAME; i++) {
		uint64_t addr = v[i].addr + bias;

		if (!v[i].memsz || map->addr > addr + (v[i].memsz - 1) ||
		    addr > map->addr + (map->size - 1))
			continue;
		best = map->addr - map->file_off == addr - v[i].off ? FIT_SAME : FIT_OTHER;
	}
	return best;
}

struct place {
	struct module *user;
	const struct hwt_map *lost;	/* the first map that is not served by the file, NULL */
	enum fit why;
	struct module *only;		/* the recorded file that it fits */
	bool several;			/* it fits others too */
	bool taken;			/* it stands in for one */
};

/* By name, or without any doubt by build-id. */
static bool is_of(const struct module *own, const struct module *user)
{
	uint8_t id[20];
	size_t n = obj_build_id(user->obj, id);

	if (!own->id_size)
		return module_same_name(own->path, user->path);
	return n == own->id_size && !memcmp(id, own->id, n);
}

static int look_at(struct hwt_image *img, struct place *p, const struct hwt_map *map, enum fit f)
{
	struct module *own = NULL;

	if (f == FIT_SAME && !map->raw) {
		own = module_get(img, map->path, MODULE_MAPPED, map->build_id,
				 map->build_id_size);
		if (!own)
			return -ENOMEM;
	}
	if (!own || own->tried) {
		if (!p->lost) {
			p->lost = map;
			p->why = f;
		}
		return 0;
	}
	if (is_of(own, p->user)) {
		own->user = p->user;
		p->taken = true;
	}
	p->several = p->several || (p->only && p->only != own);
	if (!p->only)
		p->only = own;
	return 0;
}

int place_user(struct hwt_image *img, struct module *m, uint64_t bias)
{
	struct place p = { .user = m };
	const struct obj_seg *v;
	size_t n = obj_segs(m->obj, &v);

	for (size_t i = 0; i < img->nlist; i++) {
		const struct hwt_map *map = &img->list[i];
		enum fit f;

		/* what is in every address space gives way to what is added later */
		if (!map->size || map->pid == HWT_NONE || map->raw == MODULE_RAW ||
		    maps_name_only(map) || !strcmp(map->path, m->path))
			continue;
		f = fit(map, v, n, bias);
		if (f != FIT_NONE && look_at(img, &p, map, f) < 0)
			return -ENOMEM;
	}
	/* nothing else is there: a recorded build-id is compared when the file is opened */
	if (!p.taken && !p.several && p.only) {
		p.only->user = m;
		p.taken = true;
	}
	if (p.taken || (!p.lost && !p.only))
		return 0;
	if (p.several)
		notes_add(img->ns, HWT_NOTE_WARN, 102, m->path, HWT_NO_OFF,
			  "not used: several files were recorded there, and none has its "
			  "build-id or name");
	else
		notes_add(img->ns, HWT_NOTE_WARN, 102, m->path, HWT_NO_OFF,
			  "not used at 0x%llx: %s of %.80s was recorded there",
			  (unsigned long long)p.lost->addr,
			  p.why == FIT_OTHER ? "another part" : "code", p.lost->path);
	return 0;
}
