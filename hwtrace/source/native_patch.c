/* SPDX-License-Identifier: BSD-2-Clause */
/* Code of the kernel that is rewritten while it runs, as text.patch tells it. */
#include <errno.h>
#include <stdlib.h>

#include <hwtrace/uapi.h>

#include "../base/vec.h"
#include "../image/image.h"
#include "native.h"

int patches_add(struct patches *ps, uint64_t time, uint32_t span, const uint8_t *r)
{
	struct patched n = { .time = time, .addr = native_u64(r, text_patch, addr),
		.size = native_u32(r, text_patch, size), .kind = native_u32(r, text_patch, kind),
		.nth = ps->n };

	if (!n.size || n.size > 16 || n.size > UINT64_MAX - n.addr)
		return 0;
	if (n.kind == HWT_patch_kind_branch_done) {
		if (time == HWT_TIME_UNKNOWN || span == HWT_SPAN_UNKNOWN)
			return 0;
		n.time = time + span;
	}
	memcpy(n.old, r + offsetof(struct hwt_rec_text_patch, old_code), 16);
	memcpy(n.code, r + offsetof(struct hwt_rec_text_patch, new_code), 16);
	if (vec_room(&ps->v, &ps->cap, ps->n, sizeof(*ps->v)))
		return -ENOMEM;
	ps->v[ps->n++] = n;
	return 0;
}

static int by_time(const void *pa, const void *pb)
{
	const struct patched *a = pa, *b = pb;

	return a->time != b->time ? (a->time > b->time) - (a->time < b->time) :
		(a->nth > b->nth) - (a->nth < b->nth);
}

/*
 * Before the first patch of a place the old bytes were there, whatever a late dump shows: of all
 * that are said to hold from the start on, those of the first patch are told last and win.
 */
static int add_old(const struct patches *ps, struct hwt_image *img)
{
	static const uint8_t unknown[16];
	int rc = 0;

	for (size_t i = ps->n; i-- && !rc;) {
		const struct patched *p = &ps->v[i];

		if (p->kind != HWT_patch_kind_branch_done && p->time != HWT_TIME_UNKNOWN &&
		    memcmp(p->old, unknown, p->size))
			rc = image_add_bytes(img, HWT_NONE, 0, p->addr, p->old, p->size, NULL);
	}
	return rc;
}

/*
 * A CPU of arm64 may run what it has fetched, so the old code, until something makes it fetch anew
 * (Arm DDI 0487, B2.2.5): of static branches that is told. @ended: the first end that is not before
 * @p, or NULL.
 */
static int add_new(const struct patched *p, const struct patched *ended, bool doubt,
		   struct hwt_image *img)
{
	uint64_t time = p->time == HWT_TIME_UNKNOWN ? 0 : p->time;
	int rc;

	if (!doubt)
		return image_add_bytes(img, HWT_NONE, time, p->addr, p->code, p->size, NULL);
	rc = image_add_doubt(img, HWT_NONE, time, p->addr, p->code, p->size);
	if (!rc && ended && p->kind == HWT_patch_kind_branch)
		rc = image_add_bytes(img, HWT_NONE, ended->time, p->addr, p->code, p->size, NULL);
	return rc;
}

int patches_use(struct patches *ps, struct hwt_image *img, bool doubt, int rc)
{
	size_t end = 0;

	if (ps->n && !rc)
		qsort(ps->v, ps->n, sizeof(*ps->v), by_time);
	for (size_t i = 0; i < ps->n && !rc; i++) {
		if (ps->v[i].kind == HWT_patch_kind_branch_done)
			continue;
		if (end < i)
			end = i;
		while (end < ps->n && ps->v[end].kind != HWT_patch_kind_branch_done)
			end++;
		rc = add_new(&ps->v[i], end < ps->n ? &ps->v[end] : NULL, doubt, img);
	}
	if (!rc)
		rc = add_old(ps, img);
	free(ps->v);
	return rc;
}
