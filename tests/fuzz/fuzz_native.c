/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of a native capture; the first byte says which: 'i' hwtrace.ini, 'b' the index of a trace
 * buffer and its bytes behind it, 'p' those of pages, 'k' a kernel stream, 'm' metadata before it,
 * 'd' the same of dirty/, on a clock of its own if the metadata names one.
 * Checksums are made right first (bit 5 of the first byte clear: not), so that what they protect is
 * read too.
 */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/uapi.h>

#include "hwtrace/base/crc.h"
#include "hwtrace/source/native.h"
#include "hwtrace/time/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check_spans(const struct trace_buf *b, const struct file *bin)
{
	uint64_t end = 0;

	for (size_t i = 0; i < b->nspans; i++) {
		const struct trace_span *s = &b->spans[i];

		/* inside of the file, in order, each byte once */
		if (!s->size || s->file_off < end || s->file_off > bin->size ||
		    s->size > bin->size - s->file_off || s->p != bin->p + s->file_off)
			abort();
		end = s->file_off + s->size;
	}
}

static void fix_entries(uint8_t *idx, size_t n, const uint8_t *bin, size_t size)
{
	for (size_t i = 0; i + NATIVE_ENTRY <= n; i += NATIVE_ENTRY) {
		uint64_t off = native_load64(idx + i), len = native_load64(idx + i + 8);
		uint32_t crc;

		if (off <= size && len <= size - off) {
			crc = crc32c_add(0, bin + off, len);
			memcpy(idx + i + 56, &crc, 4);
		}
		crc = crc32c_add(0, idx + i, NATIVE_ENTRY_CRC);
		memcpy(idx + i + NATIVE_ENTRY_CRC, &crc, 4);
	}
}

static void blocks(struct native *nt, uint8_t *p, size_t n, bool pages, bool fix)
{
	size_t len = n ? p[0] % 64 * NATIVE_ENTRY + p[0] / 64 : 0;
	struct file *idx, *bin;
	struct trace_buf *b;

	if (!n || len > n - 1)
		return;
	if (fix)
		fix_entries(p + 1, len, p + 1 + len, n - 1 - len);
	b = capture_add_buf(nt->c, "b");
	if (!b || file_mem(&idx, "idx", p + 1, len) || capture_add_file(nt->c, idx) ||
	    file_mem(&bin, "bin", p + 1 + len, n - 1 - len) || capture_add_file(nt->c, bin))
		return;
	if (pages)
		native_read_pages(nt, bin, idx);
	else if (!native_read_buf(nt, b, bin, idx))
		check_spans(b, bin);
}

static void fix_packets(uint8_t *p, size_t n)
{
	const size_t head = offsetof(struct hwt_ctf_packet, produced);
	const size_t at = offsetof(struct hwt_ctf_packet, crc);

	for (size_t pos = 0; pos + head <= n; pos += 8) {
		uint64_t size = native_load64(p + pos + offsetof(struct hwt_ctf_packet,
							       content_size)) / 8;
		uint32_t crc = 0;

		if (native_load32(p + pos) != HWT_PACKET_MAGIC || size < head || size > n - pos)
			continue;
		memset(p + pos + at, 0, 4);
		crc = crc32c_add(0, p + pos, size);
		memcpy(p + pos + at, &crc, 4);
		pos += (size & ~(uint64_t)7) - 8;
	}
}

static void kernel(struct native *nt, uint8_t *p, size_t n, bool fix, bool dirty)
{
	struct native_stream s = { 0 };
	struct hwt_stream *st;
	struct hwt_event ev[16];
	struct hwt_diag d;
	struct file *f;
	uint64_t events = 0, last = 0;
	char text[300];
	int got;

	if (fix)
		fix_packets(p, n);
	if (file_mem(&f, "cpu0", p, n) || capture_add_file(nt->c, f))
		return;
	s.f = f;
	s.dirty = dirty;
	nt->dirty_src = !dirty;	/* the one file is of kernel/, or of dirty/ */
	nt->streams = &s;
	nt->nstreams = 1;
	nt->c->tsc = (struct time_map){ .mult = 1, .shift = 0 };
	nt->c->priv = nt;
	if (dirty && native_fit_dirty(nt))
		return;
	if (native_read_kernel(nt) || native_events(nt->c, &st, &d))
		return;
	while ((got = hwt_stream_next(st, ev, 16)) > 0)
		for (int i = 0; i < got; i++) {
			uint64_t time = ev[i].time == HWT_TIME_UNKNOWN &&
				ev[i].clock == HWT_CLOCK_BASE ? 0 : ev[i].time;

			if (time < last || ev[i].off >= n)
				abort();
			last = time;
			native_event_name(nt->c, &ev[i]);
			native_event_text(nt->c, &ev[i], text, sizeof(text));
			events++;
		}
	hwt_stream_close(st);
	/* both passes see the same; readings of a clock of its own are no events */
	if (!nt->dirty_apart && events != nt->c->nevents)
		abort();
}

/* Metadata up to a zero byte, then a stream. */
static void described(struct native *nt, uint8_t *p, size_t n, bool fix, bool dirty)
{
	uint8_t *end = memchr(p, 0, n);

	if (!end || native_parse_own(nt, dirty ? &nt->dirty : &nt->own, p, (size_t)(end - p)))
		return;
	if (dirty && nt->dirty.clock) {
		nt->dirty_apart = true;
		nt->dirty_clock = (uint8_t)time_clock_of(nt->dirty.clock);
		capture_base(nt->c, "CLOCK_MONOTONIC");
	}
	n -= (size_t)(end + 1 - p);
	memmove(p, end + 1, n);
	kernel(nt, p, n, fix, dirty);
}

static void ini(struct native *nt, const uint8_t *p, size_t n)
{
	struct file *f;

	if (file_mem(&f, "ini", p, n) || capture_add_file(nt->c, f) || native_read_ini(nt, f))
		return;
	for (size_t i = 0; i < nt->c->nbufs; i++) {
		const struct trace_buf *b = &nt->c->bufs[i];

		if (strchr(nt->file_of[i], '/') || *nt->file_of[i] == '.' ||
		    b->ncfgs > NATIVE_MAX_UNITS || b->framing > FRAMING_TPIU)
			abort();
		for (size_t k = 0; k < b->ncfgs; k++)
			if (!native_proto(b->cfgs[k].proto) ||
			    (b->cfgs[k].proto == HWT_PROTO_PT && b->cfgs[k].r.pt.nfilter > 4))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct native *nt = calloc(1, sizeof(*nt));
	uint8_t *copy = malloc(n + 1);

	if (!nt || !copy || !n || capture_new(&nt->c))
		goto out;
	nt->dir = "/nowhere";
	nt->ini_path = "ini";
	for (size_t i = 0; i < NATIVE_MAX_BUFS; i++)
		nt->buf_of[i] = -1;
	memcpy(copy, p + 1, n - 1);
	switch (p[0] | 0x20) {
	case 'i': ini(nt, copy, n - 1); break;
	case 'b': blocks(nt, copy, n - 1, false, p[0] & 0x20); break;
	case 'p': blocks(nt, copy, n - 1, true, p[0] & 0x20); break;
	case 'm': described(nt, copy, n - 1, p[0] & 0x20, false); break;
	case 'd': described(nt, copy, n - 1, p[0] & 0x20, true); break;
	case 'k': kernel(nt, copy, n - 1, p[0] & 0x20, false); break;
	}
	time_fit_free(&nt->dirty_fit);
	capture_free(nt->c);
out:
	free(copy);
	free(nt);
	return 0;
}
