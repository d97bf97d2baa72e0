/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * Bytes. In code of its own the library walks to the next branch, however far that is, for each
 * atom: a large memory dump of zeros and little trace would take days. Asked for, it has an end.
 */
#define PART_MAX (2u << 20)

struct parts {
	struct code_part *v;
	size_t n, cap;
};

static int add(struct parts *ps, uint64_t addr, const uint8_t *p, uint64_t size, uint32_t space)
{
	/* the library takes ranges of whole halfwords only */
	if (addr & 1 && size) {
		addr++;
		p++;
		size--;
	}
	size &= ~1ull;
	if (size > PART_MAX)
		return -EFBIG;
	if (!size)
		return 0;
	if (ps->n == ps->cap) {
		size_t cap = ps->cap ? 2 * ps->cap : 16;
		struct code_part *v = reallocarray(ps->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		ps->v = v;
		ps->cap = cap;
	}
	ps->v[ps->n++] = (struct code_part){ addr, p, (uint32_t)size, space };
	return 0;
}

/* Sections of one space. Neighbours in the file are joined: an instruction may lie across. */
static int add_space(struct parts *ps, struct hwt_image *img, uint32_t space)
{
	struct hwt_where w = { .pid = HWT_NONE, .space = space, .time = HWT_TIME_UNKNOWN };
	struct image_section *s = NULL;
	size_t n = 0, i = 0;
	int rc = image_sections(img, &w, &s, &n);

	while (rc >= 0 && i < n) {
		uint64_t addr = s[i].addr, size = s[i].size;
		const uint8_t *p = s[i].p;

		if (!p) {
			rc = -ENOENT;
			break;
		}
		while (++i < n && s[i].addr == addr + size && s[i].p == p + size)
			size += s[i].size;
		rc = add(ps, addr, p, size, space);
	}
	free(s);
	return rc;
}

/* Which spaces are named; false if code depends on the process or on the time. */
static bool is_static(struct hwt_image *img, uint32_t *spaces)
{
	struct hwt_where w = { .pid = HWT_NONE, .time = 0 };
	struct hwt_map m;

	*spaces = 0;
	for (size_t i = 0; hwt_image_map_at(img, i, &m); i++) {
		if (m.pid != HWT_NONE || m.from)
			return false;
		*spaces |= m.space;
	}
	return image_next_change(img, &w) == HWT_TIME_UNKNOWN;
}

int code_parts(struct hwt_image *img, struct code_part **out, size_t *n)
{
	struct parts ps = { 0 };
	uint32_t spaces;
	int rc = 0;

	if (!is_static(img, &spaces))
		return 0;
	if (!spaces) {
		rc = add_space(&ps, img, 0);
	} else {
		for (uint32_t bit = HWT_SPACE_EL1S; rc >= 0 && bit <= HWT_SPACE_EL2S; bit <<= 1)
			rc = add_space(&ps, img, bit);
	}
	if (rc < 0) {
		free(ps.v);
		return rc == -ENOMEM ? rc : 0;
	}
	*out = ps.v;
	*n = ps.n;
	return 1;
}
