/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_RING_PAGE_H
#define HWT_SOURCE_RING_PAGE_H

/*
 * Pages of the ring buffer of Linux' tracer (Documentation/trace/ring-buffer-design.rst), of files
 * and of a live buffer. libtraceevent's kbuffer is not used: it takes lengths of records and of
 * pages from the bytes and reads past the page where they are wrong.
 */
#include "../base/cur.h"

#define RING_PAGE_MAX (1u << 20)	/* bytes of a page; the kernel makes up to 512 KiB */

/* A field as a "format" file describes it. */
struct ring_field {
	uint16_t off, size;
	bool far, relative;	/* a word that tells where the text is; from behind itself on */
};

/* "field:TYPE NAME[...];  offset:N;  size:N;" in @text: the field called @name. */
bool ring_field(const char *text, const char *name, struct ring_field *f);

/* How pages of one kernel are laid out. */
struct ring_layout {
	uint32_t page_size;	/* bytes; 0: not known */
	uint16_t data_off;	/* of the first record in a page */
	uint8_t long_size;	/* of the kernel: 4 or 8 */
	bool swap;		/* pages have the other byte order */
};

/* Takes the text of events/header_page. False, @l as it was: not a layout known here. */
bool ring_layout_read(struct ring_layout *l, const char *text);

/* Reads one page forwards. A plain value. */
struct ring_page {
	struct cur c;
	uint64_t time;		/* of the page, then of the record given last; clock's own unit */
	uint64_t missed;	/* if @lost: number of records, UINT64_MAX if not known */
	bool lost;		/* records before this page were overwritten or dropped */
	bool big;		/* byte order of the page */
	const char *bad;	/* why it ended early; NULL: it did not */
	size_t data_off;
};

struct ring_rec {
	const uint8_t *p;	/* inside the page */
	uint32_t size;		/* bytes, a multiple of 4 */
	uint32_t off;		/* in the page */
	uint64_t time;
};

/* @n bytes of a page; fewer than a header are an empty page that is bad. */
void ring_page_start(struct ring_page *w, const struct ring_layout *l, const void *page, size_t n);
/* The next record. False at the end of the page or where it is damaged. */
bool ring_page_next(struct ring_page *w, struct ring_rec *r);

#endif
