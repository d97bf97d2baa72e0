/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a cut must be told: the undamaged packets and records know. */
#include <string.h>

#include "dmg.h"

/* Bytes of each source in the whole frames of the first @n bytes; returns the bytes left over. */
static size_t deframe(size_t n, unsigned framing, uint64_t *count)
{
	unsigned char f[DMG_FRAME];
	unsigned id = 0, k = 0;
	size_t at = 0, left = 0;

	while (n - at >= 2) {
		const unsigned char *p = dmg.good + at;

		if (dmg.is_probe && at % 512 >= 504) {	/* the probe's own */
			at += 2;
			continue;
		}
		if (framing == 2 && n - at >= 4 && !memcmp(p, "\xff\xff\xff\x7f", 4)) {
			at += 4;
			left = k = 0;
			continue;
		}
		at += 2;
		if (framing == 2 && p[0] == 0xff && p[1] == 0x7f)
			continue;
		f[k++] = p[0];
		f[k++] = p[1];
		left = k;
		if (k < DMG_FRAME)
			continue;
		left = k = 0;
		/* CoreSight Architecture Specification, "Formatter data processing" */
		for (unsigned i = 0; i < DMG_FRAME - 1; i++) {
			bool flag = f[DMG_FRAME - 1] >> (i / 2) & 1;

			if (i & 1) {
				count[id]++;
			} else if (!(f[i] & 1)) {
				count[id]++;
			} else if (flag && i < DMG_FRAME - 2) {
				count[id]++;	/* the next byte is of the old source */
				i++;
				id = f[i - 1] >> 1;
			} else {
				id = f[i] >> 1;
			}
		}
	}
	return left + (dmg.is_probe && at % 512 >= 504 ? 0 : n - at);
}

static bool is_end(const struct dmg_ends *e, uint64_t n)
{
	size_t lo = 0, hi = e->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->v[mid] < n)
			lo = mid + 1;
		else
			hi = mid;
	}
	return !n || (lo < e->n && e->v[lo] == n);
}

/*
 * Does a cut after @n bytes lie between two packets of each source, and between two frames? The
 * bytes of a @blind source, one that has not synchronised, are no packets: its hole ends with them.
 */
static bool between(size_t n, const bool *blind)
{
	const struct dmg_buf *b = &dmg.buf[dmg.trace_buf];
	uint64_t count[DMG_IDS] = { 0 };

	if (!b->framing)
		return b->ends[0].overlap || is_end(&b->ends[0], n);
	if (deframe(n, b->framing, count))
		return false;
	for (unsigned i = 1; i < DMG_IDS; i++)
		if (b->ends[i].n && !b->ends[i].overlap && !blind[i] &&
		    !is_end(&b->ends[i], count[i]))
			return false;
	return true;
}

/*
 * Does a cut after @n bytes lie between two records of a pipe? The data behind an AUXTRACE (71)
 * or TRACING_DATA (66) record belongs to it, padding does not.
 */
static bool between_records(size_t n)
{
	size_t at = 16, size;
	uint64_t data = 0;
	uint32_t w[4];

	while (at < n && dmg.good_n - at >= sizeof(w)) {
		memcpy(w, dmg.good + at, sizeof(w));
		size = w[1] >> 16;
		memcpy(&data, w + 2, sizeof(data));
		data = w[0] == 71 ? data : w[0] == 66 ? (uint32_t)data : 0;
		at += size + data;
		if (w[0] == 66 && at < n)
			at = n <= at + (-data & 7) ? n : at + (-data & 7);
	}
	return at == n;
}

void dmg_check_cut(const struct dmg_variant *v, const struct dmg_result *r)
{
	const struct dmg_buf *b;
	unsigned slack;

	if (!v->w && dmg.is_pipe && !r->refused && !r->cut_notes && !between_records(v->off))
		dmg_fail("a cut inside a record is silent", v);
	if (!v->w && dmg.declared && !r->refused && !r->cut_notes)
		dmg_fail("a cut inside a declared length is silent", v);
	if (!dmg.is_trace || dmg.trace_buf == SIZE_MAX || r->refused || r->cut_notes)
		return;
	/* so short it is not known for a probe's, and its blocks are no packets' ends */
	if (dmg.is_probe && v->off < DMG_PROBE_SHORTEST)
		return;
	if (between(v->off, r->blind)) {
		dmg.cuts_between++;
		return;
	}
	dmg.cuts_inside++;
	b = &dmg.buf[dmg.trace_buf];
	/* a hole may begin with a packet of overflow or discard (ETM), not in its bytes */
	slack = b->framing ? DMG_FRAME : b->proto == HWT_PROTO_PT ? 0 : 2;
	/* in frames, other sources may follow the packet that is cut */
	if (r->hole_end + slack < v->off && !(b->framing && r->truncated))
		dmg_fail("a cut inside a packet or frame is silent", v);
}
