// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace buffer of a CPU in a session: it writes to the memory that user space maps. That lies
 * twice in a row in the kernel's map, so that all room, which may go over the end, is one piece.
 * Nobody asks for its interrupt, which stays masked: it stops when it is full, and whoever asks for
 * trace finds that.
 */
#include <linux/mm.h>
#include <linux/printk.h>

#include "cs_sink.h"
#include "cs_sys.h"
#include "mem.h"
#include "ring_shim.h"

#define IGNORE	0x70	/* a packet of an ETE that says nothing (Arm ARM, "Ignore instruction") */

int cs_trbe_open(struct cs_sink *s)
{
	int rc = trbe_open(&s->b, cs_sys_buffer(s->cpu));

	s->why = trbe_why_text(s->b.why);
	return rc;
}

int cs_trbe_memory(struct cs_sink *s)
{
	u64 n = s->bytes >> PAGE_SHIFT, i;

	s->page = mem_alloc(2 * n * sizeof(*s->page));
	if (!s->page)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		s->page[i] = s->page[n + i] = mem_piece(0, s->cpu);
		if (!s->page[i])
			return -ENOMEM;
	}
	s->data = mem_vmap(s->page, 2 * n);
	return s->data ? 0 : -ENOMEM;
}

static void forget_oldest(struct cs_sink *s)
{
	if (s->head - s->tail > s->bytes)
		s->tail = s->head - s->bytes;
}

/* It begins at places that are aligned, so there is a little between the runs. */
static void fill(struct cs_sink *s, u64 to)
{
	u64 n = to - s->head;

	memset(s->data + (s->head & (s->bytes - 1)), IGNORE, n);
	s->head = to;
	forget_oldest(s);
}

/* Up to where the reader is, whole pages; false: no room. */
static bool place_fill(struct cs_sink *s, struct trbe_wish *w)
{
	u64 from = ALIGN(s->head, s->b.align), first = round_down(from, PAGE_SIZE);
	u64 last = round_down(s->tail + s->bytes, PAGE_SIZE);

	if (from >= last)
		return false;
	fill(s, from);
	w->mode = TRBE_FILL;
	w->base = (unsigned long)s->data + (first & (s->bytes - 1));
	w->from = from - first;
	w->bytes = last - first;
	return true;
}

/* Round and round, from a page of its own on: what is oldest goes first. */
static void place_newest(struct cs_sink *s, struct trbe_wish *w)
{
	fill(s, ALIGN(s->head, PAGE_SIZE));
	w->mode = TRBE_CIRCULAR;
	w->base = (unsigned long)s->data + (s->head & (s->bytes - 1));
	w->bytes = s->bytes;
}

int cs_trbe_start(struct cs_sink *s)
{
	struct trbe_wish w = { 0 };
	bool waited = s->waits;
	int rc;

	s->waits = false;
	if (s->newest) {
		place_newest(s, &w);
	} else if (!place_fill(s, &w)) {
		/* what comes from here on is lost, unless that was told already */
		s->cuts += !waited;
		s->waits = true;
		return 0;
	}
	rc = trbe_start(&s->b, &w);
	if (rc)
		cs_sink_end(s, trbe_why_text(s->b.why));
	return rc;
}

static const char *end_words(enum trbe_end end)
{
	switch (end) {
	case TRBE_END_FAULT: return "its trace buffer found its memory not mapped";
	case TRBE_END_ABORT: return "the bus refused what its trace buffer wrote";
	default: return "its trace buffer stopped for a reason that is not known";
	}
}

void cs_trbe_stop(struct cs_sink *s)
{
	struct trbe_got got;

	if (!s->b.running)
		return;
	if (trbe_stop(&s->b, &got))
		cs_sink_end(s, trbe_why_text(s->b.why));
	else if (got.end != TRBE_END_ASKED && got.end != TRBE_END_FULL)
		cs_sink_end(s, end_words(got.end));
	s->waits = got.end == TRBE_END_FULL;
	s->cuts += got.end != TRBE_END_ASKED;
	/* once round, and behind that up to where it writes next */
	s->head += got.wrapped ? s->bytes + got.from : got.bytes;
	forget_oldest(s);
	s->time = ring_clock();
}

/* One that could not be stopped may still write. */
void cs_trbe_free(struct cs_sink *s)
{
	u64 n = s->bytes >> PAGE_SHIFT, i;

	if (s->b.running) {
		pr_warn("hwtrace: a trace buffer can not be stopped; its memory stays\n");
		return;
	}
	mem_vunmap(s->data);
	for (i = 0; s->page && i < n && s->page[i]; i++)
		__free_page(s->page[i]);
	mem_free(s->page);
}
