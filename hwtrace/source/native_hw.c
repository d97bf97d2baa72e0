/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of bytes and their index: trace to spans, pages of code to the image. */
#include <errno.h>
#include <inttypes.h>

#include "../base/crc.h"
#include "../image/image.h"
#include "native.h"

struct build {
	struct native *n;
	struct trace_buf *b;
	const struct file *bin, *idx;
	struct trace_span *sp;	/* the last one; valid until the next is added */
	uint64_t end;		/* bytes of @bin that entries have spoken of */
	uint64_t pos;		/* in the buffer's numbering, behind those */
	uint64_t lost;		/* before the next block */
	uint16_t cause;
	uint64_t told;		/* bytes of @bin that need not stay in memory */
	bool more;		/* the next block may continue the last span */
};

#define DONE_STEP (1u << 20)	/* bytes between two hints to the system */

static void note(struct build *b, unsigned severity, unsigned id, const struct file *f,
		 uint64_t off, const char *what, uint64_t n)
{
	notes_add(&b->n->c->notes, severity, id, f->path, off, "%s: %" PRIu64 " bytes", what, n);
}

/* The worst of several causes in a row is the first; their bytes are added. */
static void hole(struct build *b, unsigned cause, uint64_t lost)
{
	if (!b->cause)
		b->cause = (uint16_t)cause;
	b->lost = lost > UINT64_MAX - b->lost ? UINT64_MAX : b->lost + lost;
	b->more = false;
}

/* Bytes that no entry describes, up to @to. */
static void undescribed(struct build *b, uint64_t to)
{
	if (to <= b->end)
		return;
	note(b, HWT_NOTE_WARN, E_NAT_IDX, b->bin, b->end, "the index does not describe", to -
	     b->end);
	hole(b, HWT_GAP_DAMAGED, to - b->end);
	b->end = to;
}

static int add_block(struct build *b, const struct native_entry *e, uint64_t have)
{
	struct trace_span *s;

	if (!have)
		return 0;
	if (e->kind == NATIVE_MORE && b->more && b->sp && e->pos == b->pos) {
		b->sp->size += have;
	} else {
		s = capture_add_span(b->n->c, b->b);
		if (!s)
			return -ENOMEM;
		*s = (struct trace_span){ .p = b->bin->p + e->off, .size = have, .pos = e->pos,
			.file_off = e->off, .file = b->bin, .time = e->time, .pid = e->pid,
			.tid = e->tid, .flags = e->flags, .lost_before = b->lost,
			.cause_before = b->cause };
		b->sp = s;
		b->lost = 0;
		b->cause = HWT_GAP_NONE;
	}
	b->pos = e->pos + have;
	b->more = true;
	return 0;
}

static int block(struct build *b, const struct native_entry *e)
{
	uint64_t have;
	int rc;

	if (!e->size || e->off < b->end || e->size > UINT64_MAX - e->off ||
	    e->size > UINT64_MAX - e->pos) {
		note(b, HWT_NOTE_WARN, E_NAT_IDX, b->idx, HWT_NO_OFF,
		     "an entry does not fit those before it", e->size);
		hole(b, HWT_GAP_DAMAGED, 0);
		return 0;
	}
	undescribed(b, e->off < b->bin->size ? e->off : b->bin->size);
	have = e->off >= b->bin->size ? 0 : b->bin->size - e->off;
	if (have > e->size)
		have = e->size;
	b->end = e->off + e->size;
	if (e->off - b->told >= DONE_STEP) {
		file_done(b->bin, b->told, e->off);
		b->told = e->off;
	}
	if (have == e->size && crc32c_add(0, b->bin->p + e->off, (size_t)have) != e->crc) {
		note(b, HWT_NOTE_WARN, E_NAT_DAMAGED, b->bin, e->off, "wrong checksum", have);
		hole(b, HWT_GAP_DAMAGED, have);
		return 0;
	}
	rc = add_block(b, e, have);
	if (!rc && have < e->size) {
		note(b, HWT_NOTE_CUT, E_NAT_CUT, b->bin, b->bin->size,
		     "the file ends inside a block", e->size - have);
		hole(b, HWT_GAP_AUX_MISSING, e->size - have);
	}
	return rc;
}

int native_read_buf(struct native *n, struct trace_buf *buf, const struct file *bin,
		    const struct file *idx)
{
	struct build b = { .n = n, .b = buf, .bin = bin, .idx = idx };
	struct cur c = cur_new(idx->p, (size_t)idx->size, false);
	struct native_entry e;
	int rc = 0;

	while (!rc && cur_left(&c) >= NATIVE_ENTRY) {
		uint64_t off = cur_pos(&c);

		if (!native_entry_get(&e, &c) || e.kind == NATIVE_PAGES) {
			note(&b, HWT_NOTE_WARN, E_NAT_IDX, idx, off, "damaged entry",
			     NATIVE_ENTRY);
			hole(&b, HWT_GAP_DAMAGED, 0);
		} else if (e.kind == NATIVE_HOLE) {
			hole(&b, e.cause < HWT_GAP_CAUSES ? e.cause : HWT_GAP_AUX_LOST, e.lost);
		} else {
			rc = block(&b, &e);
		}
	}
	if (rc)
		return rc;
	if (cur_left(&c)) {
		note(&b, HWT_NOTE_CUT, E_NAT_IDX, idx, cur_pos(&c), "the index is cut in an entry",
		     cur_left(&c));
		hole(&b, HWT_GAP_DAMAGED, 0);
	}
	undescribed(&b, bin->size);
	buf->cause_after = b.cause;
	buf->lost_after = b.lost;
	return 0;
}

int native_read_pages(struct native *n, const struct file *bin, const struct file *idx)
{
	struct build b = { .n = n, .bin = bin, .idx = idx };
	struct cur c = cur_new(idx->p, (size_t)idx->size, false);
	struct native_entry e;
	int rc = 0;

	while (!rc && cur_left(&c)) {
		uint64_t off = cur_pos(&c);

		if (!native_entry_get(&e, &c) || e.kind != NATIVE_PAGES || !e.size ||
		    e.size > UINT64_MAX - e.pos) {
			note(&b, c.bad ? HWT_NOTE_CUT : HWT_NOTE_WARN, E_NAT_IDX, idx, off,
			     "damaged entry of code", NATIVE_ENTRY);
		} else if (e.off < b.end) {
			note(&b, HWT_NOTE_WARN, E_NAT_IDX, idx, off,
			     "an entry of code does not fit those before it", e.size);
		} else if (e.off > bin->size || e.size > bin->size - e.off) {
			note(&b, HWT_NOTE_CUT, E_NAT_IMAGE, bin, e.off,
			     "the file ends before code", e.size);
		} else if (crc32c_add(0, bin->p + e.off, (size_t)e.size) != e.crc) {
			note(&b, HWT_NOTE_WARN, E_NAT_IMAGE, bin, e.off,
			     "wrong checksum of code", e.size);
			b.end = e.off + e.size;
		} else {
			b.end = e.off + e.size;
			rc = image_add_bytes(n->c->image, e.pid, e.time, e.pos, bin->p + e.off,
					     (size_t)e.size, NULL);
		}
	}
	return rc;
}
