/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_KERNEL_PAGE_H
#define HWT_CAPTURE_KERNEL_PAGE_H

/* Pages of the function tracer's ring buffer (trace_pipe_raw), turned into virtual events. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../source/ring_page.h"
#include "../virt/virt.h"

#define KPAGE_EVENTS	32	/* kinds that are turned */
#define KPAGE_FIELDS	12	/* of one kind that are looked at */

struct hwt_rec;

/* One kind of event of this kernel, and what it becomes. */
struct kpage_event {
	const struct kpage_turn *turn;
	const struct virt_map *map;
	uint32_t id;		/* this kernel's number */
	struct ring_field field[KPAGE_FIELDS];
};

struct kpage {
	struct kpage_event events[KPAGE_EVENTS];
	uint32_t nevents;
	struct ring_layout layout;
	struct virt_state *virt;
	uint64_t turned, left_out;
};

/* For pages of this machine. 0 or -ENOMEM. */
int kpage_init(struct kpage *k);
void kpage_fini(struct kpage *k);
/* The @i-th kind that we want: its group, name and filter ("" none); false past the end. */
bool kpage_wanted(unsigned i, const char **group, const char **name, const char **filter);
/* Takes the text of a "format" file. False if fields that are needed are missing. */
bool kpage_format(struct kpage *k, unsigned i, const char *text);
/* Takes the text of "events/header_page". False if pages are laid out in a way we do not know. */
bool kpage_header(struct kpage *k, const char *text);
/*
 * Gives the records of a page to @put, in order; times are those of the page. Returns 0 or the
 * negative code of @put; what is damaged ends the page.
 */
int kpage_read(struct kpage *k, const void *page, size_t n,
	       int (*put)(void *arg, const struct hwt_rec *rec), void *arg);

#endif
