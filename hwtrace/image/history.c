/* SPDX-License-Identifier: BSD-2-Clause */
#include "history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

static void set_id(struct image_change *c, const struct module *m)
{
	c->id_size = m->id_size;
	memcpy(c->id, m->id, m->id_size);
	if (!c->id_size && m->obj)
		c->id_size = (uint8_t)obj_build_id(m->obj, c->id);
}

/* False for what says nothing of code: memory beyond the end of a file. */
static bool change_of(struct hwt_image *img, const struct aspace *as, const struct timed_item *it,
		      struct image_change *c)
{
	const struct part *p = it->val;

	*c = (struct image_change){ .time = it->time, .addr = it->addr, .last = it->last,
		.pid = as->pid, .parent = HWT_NONE, .seq = it->seq, .space = it->space };
	switch (p->kind) {
	case PART_FILE:
		c->kind = IMAGE_MAP;
		c->file_off = p->file_off;
		c->path = p->mod->path;
		if (module_find(img, p->mod)) {
			c->file = p->mod->file;
			c->found = p->mod->found;
		}
		set_id(c, p->mod);
		return true;
	case PART_BYTES:
		c->kind = IMAGE_BYTES;
		c->bytes = p->bytes;
		return true;
	case PART_FORK:
		c->kind = IMAGE_FORK;
		c->parent = img->spaces[p->parent]->pid;
		return true;
	case PART_NONE:
		c->kind = it->addr || it->last != UINT64_MAX ? IMAGE_UNMAP : IMAGE_EXEC;
		return true;
	case PART_ZERO:
		break;
	}
	return false;
}

static void change_of_name(const struct hwt_map *m, struct image_change *c)
{
	*c = (struct image_change){ .time = m->from == HWT_TIME_UNKNOWN ? 0 : m->from,
		.addr = m->addr, .last = m->addr + (m->size - 1), .file_off = m->file_off,
		.path = m->path, .pid = m->pid, .parent = HWT_NONE, .space = m->space,
		.kind = IMAGE_NAME, .id_size = m->build_id_size };
	memcpy(c->id, m->build_id, sizeof(c->id));
}

static int by_time(const void *pa, const void *pb)
{
	const struct image_change *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

int image_history(struct hwt_image *img, struct image_change **out, size_t *n)
{
	size_t max = img->nlist + 1, k = 0;
	struct image_change *v;

	for (uint32_t i = 0; i < img->nspaces; i++)
		max += img->spaces[i]->maps.n;
	v = calloc(max, sizeof(*v));
	if (!v)
		return -ENOMEM;
	/* names have no number among the others, and say of no address what code is there */
	for (size_t i = 0; i < img->nlist; i++)
		if (img->list[i].raw <= MODULE_RAW && maps_name_only(&img->list[i]))
			change_of_name(&img->list[i], &v[k++]);
	for (uint32_t i = 0; i < img->nspaces; i++)
		for (uint32_t j = 0; j < img->spaces[i]->maps.n; j++)
			k += change_of(img, img->spaces[i], &img->spaces[i]->maps.v[j], &v[k]);
	qsort(v, k, sizeof(*v), by_time);
	*out = v;
	*n = k;
	return 0;
}
