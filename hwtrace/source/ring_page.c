/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "ring_page.h"

/* Bits of the word "commit"; the rest of its lower half is not used. */
#define COMMIT_SIZE	0xfffffu	/* bytes of a page that are records */
#define COMMIT_MISSED	(1u << 31)	/* records before this page were overwritten */
#define COMMIT_STORED	(1u << 30)	/* how many of them stands behind the page's records */

/* type_len of a record's header, from 29 on; below it is a length in words, 0: a word follows */
enum { TYPE_PADDING = 29, TYPE_EXTEND, TYPE_STAMP };

bool ring_field(const char *text, const char *name, struct ring_field *f)
{
	size_t n = strlen(name);
	unsigned off, size;

	for (const char *line = strstr(text, "field:"); line; line = strstr(line + 6, "field:")) {
		const char *end = strchr(line, ';'), *p;

		if (!end)
			return false;
		p = memchr(line, '[', (size_t)(end - line));
		/* brackets also stand in the type of a text: "__data_loc char[] name" */
		if (!p || (size_t)(p - line) < n || p[1] == ']')
			p = end;
		if ((size_t)(p - line) <= n || memcmp(p - n, name, n) ||
		    p[-(ptrdiff_t)n - 1] != ' ')
			continue;
		if (sscanf(end, "; offset:%u; size:%u;", &off, &size) != 2 || off > 0xffff ||
		    size > 0xffff)
			continue;
		/* __rel_loc counts from the end of its word on */
		*f = (struct ring_field){ .off = (uint16_t)off, .size = (uint16_t)size,
			.relative = !strncmp(line, "field:__rel_loc ", 16),
			.far = !strncmp(line, "field:__data_loc ", 17) ||
				!strncmp(line, "field:__rel_loc ", 16) };
		return true;
	}
	return false;
}

bool ring_layout_read(struct ring_layout *l, const char *text)
{
	struct ring_field time, commit, data;

	if (!ring_field(text, "timestamp", &time) || !ring_field(text, "commit", &commit) ||
	    !ring_field(text, "data", &data) || time.off || time.size != 8 || commit.off != 8 ||
	    (commit.size != 4 && commit.size != 8) || data.off < 8 + commit.size)
		return false;
	l->data_off = data.off;
	l->long_size = (uint8_t)commit.size;
	l->page_size = (uint32_t)data.off + data.size;
	return true;
}

/* The number of lost records, a long behind the records where it fits. */
static uint64_t stored(const struct ring_layout *l, const void *page, size_t n, size_t at)
{
	struct cur c = cur_new(page, n, l->swap);
	uint64_t v;

	cur_skip(&c, at);
	v = l->long_size == 4 ? cur_u32(&c) : cur_u64(&c);
	return c.bad ? UINT64_MAX : v;
}

void ring_page_start(struct ring_page *w, const struct ring_layout *l, const void *page, size_t n)
{
	struct cur c = cur_new(page, n, l->swap);
	uint32_t commit;
	size_t size;

	*w = (struct ring_page){ .missed = UINT64_MAX, .data_off = l->data_off,
		.big = l->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) };
	w->time = cur_u64(&c);
	commit = l->long_size == 4 ? cur_u32(&c) : (uint32_t)cur_u64(&c);
	if (c.bad || l->data_off > n) {
		w->c = cur_new(page, 0, l->swap);
		w->bad = "is shorter than its header";
		return;
	}
	size = commit & COMMIT_SIZE;
	w->lost = commit & COMMIT_MISSED;
	if (w->lost && commit & COMMIT_STORED)
		w->missed = stored(l, page, n, l->data_off + size);
	if (size > n - l->data_off) {
		size = n - l->data_off;
		w->bad = "says that it holds more bytes than a page";
	}
	w->c = cur_new((const uint8_t *)page + l->data_off, size, l->swap);
}

static bool damaged(struct ring_page *w, const char *why)
{
	if (!w->bad)
		w->bad = why;
	w->c.p = w->c.end;
	return false;
}

/* Adds the 59 bits of an extended time, or sets them; the upper bits are those before. */
static void set_time(struct ring_page *w, uint32_t type, uint32_t delta)
{
	uint64_t v = (uint64_t)cur_u32(&w->c) << 27 | delta;

	if (type == TYPE_EXTEND)
		w->time += v;
	else
		w->time = (w->time & ~((1ull << 59) - 1)) | v;
}

bool ring_page_next(struct ring_page *w, struct ring_rec *r)
{
	while (cur_left(&w->c) >= 4) {
		uint32_t head = cur_u32(&w->c), type = head & 31, delta = head >> 5, len;

		if (w->big) {
			type = head >> 27;
			delta = head & ((1u << 27) - 1);
		}
		if (type == TYPE_EXTEND || type == TYPE_STAMP) {
			set_time(w, type, delta);
			if (w->c.bad)
				break;
			continue;
		}
		if (type == TYPE_PADDING && !delta) {
			w->c.p = w->c.end;	/* nothing more in this page */
			return false;
		}
		w->time += delta;
		len = type * 4;
		if (!type || type == TYPE_PADDING) {
			len = cur_u32(&w->c);	/* with itself */
			if (len < 4)
				return damaged(w, "has a record without a length");
			len = (len - 4 + 3) & ~3u;
		}
		r->off = (uint32_t)(w->data_off + cur_pos(&w->c));
		r->size = len;
		r->time = w->time;
		r->p = cur_take(&w->c, len);
		if (!r->p)
			break;
		if (type != TYPE_PADDING)	/* else one that was taken back */
			return true;
	}
	return w->c.bad ? damaged(w, "ends inside a record") :
		cur_left(&w->c) ? damaged(w, "ends inside a record's header") : false;
}
