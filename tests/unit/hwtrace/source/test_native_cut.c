/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A native capture with each of its files cut at every byte, taken away, and with every byte
 * changed: it opens, nothing is in it that was not recorded, runs are never joined across what is
 * missing, what lies before a cut is there, and it is told that something is missing.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "hwtrace/image/image.h"
#include "hwtrace/source/capture.h"
#include "tests/support/mknat.h"
#include "tests/support/scratch.h"
#include "tests/support/slurp.h"

#define HEAD 96			/* bytes of a kernel packet's header */

static struct capture *c;
static char name[64];		/* of the file that is damaged */
static char where[120];

static int setup(void **state)
{
	uint8_t image[256];

	if (scratch_make(state))
		return -1;
	for (unsigned i = 0; i < sizeof(image); i++)
		image[i] = (uint8_t)(255 - i);
	scratch_write("image", image, sizeof(image));
	mknat(scratch("a.hwt"), scratch("image"));
	return 0;
}

#define MUST(cond) do { if (!(cond)) fail_msg("%s: " #cond, where); } while (0)

/* The runs of buffer 0 as they were recorded, and the place of each in the file. */
static const struct { uint64_t pos, size, off; } runs[] = {
	{ 0, 100, 0 }, { 1000, 40, 100 }, { 1040, 20, 140 },
};

static unsigned check_span(const struct trace_buf *b, const struct trace_span *s, unsigned buf)
{
	unsigned k = 0;

	for (uint64_t i = 0; i < s->size; i++)
		MUST(s->p[i] == mknat_byte(buf, s->pos + i));
	if (buf == 1) {
		MUST(s->pos + s->size <= 50);
		return (unsigned)s->size;
	}
	while (k < 3 && (s->pos < runs[k].pos || s->pos >= runs[k].pos + runs[k].size))
		k++;
	MUST(k < 3 && s->pos + s->size <= runs[k].pos + runs[k].size);
	MUST(s->file_off == runs[k].off + s->pos - runs[k].pos);
	/* what begins in the middle of a run has something missing before it */
	if (s->pos != runs[k].pos)
		MUST(s->cause_before);
	if (k == 1 && s->pos == 1000)
		MUST(s->cause_before == HWT_GAP_COLLISION || s->cause_before == HWT_GAP_DAMAGED ||
		     s->cause_before == HWT_GAP_AUX_MISSING);
	return (unsigned)s->size;
}

/* Bytes of trace that are there, each the right one; holes are told. */
static unsigned check_trace(unsigned *holes)
{
	unsigned n = 0;

	for (size_t i = 0; i < c->nbufs; i++) {
		const struct trace_buf *b = &c->bufs[i];
		uint64_t end = 0;

		for (size_t k = 0; k < b->nspans; k++) {
			const struct trace_span *s = &b->spans[k];
			const char *file = strrchr(s->file->path, '/') + 1;

			MUST(s->size && (!k || s->pos >= end));
			end = s->pos + s->size;
			n += check_span(b, s, (unsigned)(*file - '0'));
			*holes += s->cause_before >= HWT_GAP_AUX_LOST &&
				s->cause_before != HWT_GAP_COLLISION;
		}
		*holes += b->cause_after >= HWT_GAP_AUX_LOST;
	}
	return n;
}

/* Kernel records that are there, each as it was written. */
static unsigned check_events(void)
{
	struct hwt_stream *st;
	struct hwt_event ev[4];
	struct hwt_diag d;
	unsigned k = 0;
	int n;

	if (!c->events)
		return 0;
	MUST(!c->events(c, &st, &d));
	while ((n = hwt_stream_next(st, ev, 4)) > 0)
		for (int i = 0; i < n; i++, k++) {
			uint64_t tick = ev[i].clock == HWT_CLOCK_BASE ?
				(ev[i].time - 500) * 2 : ev[i].time;
			unsigned rec = (unsigned)(tick - MKNAT_TICK) / 10;

			MUST(rec < MKNAT_RECS && tick == MKNAT_TICK + 10 * rec);
			MUST(ev[i].cpu == 0 || ev[i].cpu == 3);
			MUST(ev[i].type == (rec % 4 == 3 ? HWT_EV_MAP : HWT_EV_SCHED_SWITCH));
			if (ev[i].type == HWT_EV_SCHED_SWITCH)
				MUST(ev[i].u.sched.next_tid == (int32_t)(20 + rec));
		}
	MUST(!n);
	hwt_stream_close(st);
	MUST(k == c->nevents);
	return k;
}

/* Code that is there is right. */
static void check_code(void)
{
	struct hwt_where w = { .pid = 10, .time = 700 };
	uint8_t b[4];
	int n = hwt_image_read(c->image, &w, 0x500010, b, 2);

	MUST(n <= 0 || (b[0] == 0xef && (n == 1 || b[1] == 0xee)));
	n = hwt_image_read(c->image, &w, 0x600000, b, 1);
	MUST(n <= 0 || b[0] == 0xcc || b[0] == 0x90);
}

static bool said(unsigned id)
{
	for (uint32_t i = 0; i < c->notes.n; i++)
		if (!id || c->notes.v[i].diag.id == id)
			return true;
	return false;
}

struct found { unsigned bytes, events, holes; bool told; };

static struct found look(void)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct found f = { 0 };
	struct hwt_diag d;

	c = NULL;
	MUST(!source_open(&c, scratch("a.hwt"), &o, &d));
	f.bytes = check_trace(&f.holes);
	f.events = check_events();
	check_code();
	f.told = said(0) || f.holes;
	capture_free(c);
	c = NULL;
	return f;
}

static void put(const uint8_t *p, size_t n)
{
	char path[100];

	snprintf(path, sizeof(path), "a.hwt/%s", name);
	scratch_write(path, p, n);
}

/* Trace bytes of buffer 0 in whole entries of @n bytes of index. */
static unsigned indexed(size_t n)
{
	/* block, block, hole, block, block, hole */
	static const unsigned sum[] = { 0, 70, 100, 100, 140, 160, 160 };

	return sum[n / 64];
}

static unsigned records_in(const uint8_t *p, size_t n, size_t cut)
{
	unsigned k = 0;

	for (size_t pos = 0; pos + HEAD <= cut;) {
		uint64_t content, at = pos + HEAD;

		memcpy(&content, p + pos + 40, 8);
		for (; at < pos + content / 8; k++) {
			uint16_t size;

			memcpy(&size, p + at + 10, 2);
			at += size;
			if (at > cut)
				return k;
		}
		pos += content / 8;
	}
	return k;
}

/* What must be there of a capture with this file cut to @n of @size bytes. */
static void check_cut(const struct found *f, const uint8_t *p, size_t size, size_t n)
{
	const struct found all = { .bytes = 210, .events = 2 * MKNAT_RECS };
	unsigned bytes = all.bytes, events = all.events;

	if (!strcmp(name, "hw/0_cpu_0.bin"))
		bytes = 50 + (unsigned)n;
	else if (!strcmp(name, "hw/0_cpu_0.idx"))
		bytes = 50 + indexed(n);
	else if (!strcmp(name, "hw/1_ETB_0.bin"))
		bytes = 160 + (unsigned)n;
	else if (!strcmp(name, "hw/1_ETB_0.idx"))
		bytes = n < size ? 160 : 210;
	else if (!strncmp(name, "kernel/cpu", 10))
		events = MKNAT_RECS + records_in(p, size, n);
	MUST(f->bytes == bytes);
	MUST(f->events == events);
}

static void damage_file(void **state, bool cut)
{
	uint8_t *p, *q;
	size_t size;
	char path[100];

	snprintf(path, sizeof(path), "a.hwt/%s", name);
	p = slurp(scratch(path), &size);
	assert_non_null(p);
	q = malloc(size);
	for (size_t i = 0; i < size; i++) {
		struct found f;

		memcpy(q, p, size);
		/* not bit 5: the case of a digit changes nothing */
		q[i] ^= (uint8_t)(1u << i % 5);
		snprintf(where, sizeof(where), "%s, %s byte %zu", name, cut ? "cut at" :
			 "another", i);
		put(q, cut ? i : size);
		f = look();
		if (cut)
			check_cut(&f, p, size, i);
		MUST(f.told);
	}
	if (cut) {
		struct found f;

		unlink(scratch(path));
		snprintf(where, sizeof(where), "%s, away", name);
		f = look();
		MUST(f.told);
	}
	put(p, size);
	free(p);
	free(q);
}

static void every_file(void **state, bool cut)
{
	static const char *const dirs[] = { "hw", "kernel", "images", "" };
	struct found f;

	strcpy(where, "whole");
	f = look();
	MUST(f.bytes == 210 && f.events == 2 * MKNAT_RECS && !f.holes && !f.told);
	for (unsigned i = 0; i < 4; i++) {
		char path[100];
		struct dirent *e;
		DIR *d;

		snprintf(path, sizeof(path), "a.hwt/%s", dirs[i]);
		d = opendir(scratch(path));
		assert_non_null(d);
		while ((e = readdir(d))) {
			/* what babeltrace2 reads in our place: only its length is known */
			if (e->d_name[0] == '.' || (e->d_type == DT_DIR) ||
			    !strcmp(e->d_name, "metadata"))
				continue;
			snprintf(name, sizeof(name), "%s%s%.40s", dirs[i], *dirs[i] ? "/" : "",
				 e->d_name);
			damage_file(state, cut);
		}
		closedir(d);
	}
}

static void cuts(void **state)
{
	every_file(state, true);
}

static void flips(void **state)
{
	every_file(state, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(cuts), cmocka_unit_test(flips) };

	return cmocka_run_group_tests(tests, setup, scratch_drop);
}
