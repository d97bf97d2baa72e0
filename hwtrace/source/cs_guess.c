/* SPDX-License-Identifier: BSD-2-Clause */
#include "cs_guess.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * Every trace protocol of Arm begins its alignment synchronisation with zeros and 0x80: at least
 * five zeros for ETMv3, PTM and ITM, eleven for ETMv4 and ETE (ETM manuals, "A-Sync"). What
 * follows is never zero: Trace Info, I-Sync, a packet header. STM has 21 nibbles of ones, then a
 * zero nibble (MIPI STPv2, "ASYNC").
 */
struct sync { uint32_t zeros, ones; bool armed; };

static bool sync_step(struct sync *s, uint8_t b)
{
	bool hit = (s->armed && b) || (s->ones >= 10 && (b == 0x0f || !(b & 0x0f)));

	s->armed = b == 0x80 && s->zeros >= 5;
	s->zeros = b ? 0 : s->zeros + 1;
	s->ones = b == 0xff ? s->ones + 1 : 0;
	return hit;
}

/* The byte at @i, with 32-bit words reversed if @swap. */
static uint8_t at(const uint8_t *p, size_t i, bool swap)
{
	return p[swap ? i ^ 3 : i];
}

static uint32_t raw_syncs(const uint8_t *p, size_t n, bool swap)
{
	struct sync s = { 0, 0, false };
	uint32_t hits = 0;

	for (size_t i = 0; i < n; i++)
		hits += sync_step(&s, at(p, i, swap));
	return hits;
}

struct frames {
	struct sync s[128];
	uint32_t hits[128];	/* A-syncs of each id */
	uint32_t ids, bad;	/* id changes, and those to a reserved id */
	uint8_t id;
};

static void frame_id(struct frames *f, uint8_t id)
{
	f->id = id;
	f->ids++;
	/* CoreSight Architecture Specification, D4.2.4 */
	f->bad += id >= 0x70 && id != 0x7d;
}

static void frame_data(struct frames *f, uint8_t b)
{
	f->hits[f->id] += sync_step(&f->s[f->id], b);
}

/* One 16-byte frame; CoreSight Architecture Specification, D4.2. */
static void frame(struct frames *f, const uint8_t *p, size_t i, bool swap)
{
	uint8_t aux = at(p, i + 15, swap);

	for (unsigned k = 0; k < 15; k += 2) {
		uint8_t b = at(p, i + k, swap), low = aux >> (k / 2) & 1;

		if (!(b & 1)) {
			frame_data(f, b | low);
			if (k < 14)
				frame_data(f, at(p, i + k + 1, swap));
			continue;
		}
		/* with the flag set, the next byte still belongs to the old id */
		if (low && k < 14)
			frame_data(f, at(p, i + k + 1, swap));
		frame_id(f, b >> 1);
		if (!low && k < 14)
			frame_data(f, at(p, i + k + 1, swap));
	}
}

static uint32_t le32(const uint8_t *p, size_t i, bool swap)
{
	return at(p, i, swap) | (uint32_t)at(p, i + 1, swap) << 8 |
		(uint32_t)at(p, i + 2, swap) << 16 | (uint32_t)at(p, i + 3, swap) << 24;
}

/*
 * All frames; sync words and half syncs are stepped over, as a TPIU inserts them at any even
 * place. Four sync words in a row on a frame's place are a barrier of a memory buffer and
 * hold no data.
 */
static void deframe(struct frames *f, const uint8_t *p, size_t n, bool swap, bool tpiu)
{
	uint8_t buf[16];
	size_t i = 0, k = 0;

	memset(f, 0, sizeof(*f));
	while (i + 4 <= n) {
		uint32_t w = le32(p, i, swap);

		if (w == 0x7fffffff && !tpiu && i + 16 <= n && !(i & 15)) {
			i += 16;
			continue;
		}
		if (tpiu && w == 0x7fffffff) {
			i += 4;
			k = 0;
			continue;
		}
		if (tpiu && (w & 0xffff) == 0x7fff) {
			i += 2;
			continue;
		}
		if (!tpiu) {
			if (i + 16 > n)
				break;
			frame(f, p, i, swap);
			i += 16;
			continue;
		}
		buf[k++] = at(p, i, swap);
		buf[k++] = at(p, i + 1, swap);
		i += 2;
		if (k == 16) {
			frame(f, buf, 0, false);
			k = 0;
		}
	}
}

/* Frames are believed if hardly any id is reserved: random bytes would give one in nine. */
static uint32_t frame_syncs(const struct frames *f)
{
	uint32_t hits = 0;

	if (!f->ids || f->bad * 30 > f->ids)
		return 0;
	for (unsigned i = 1; i < 0x70; i++)
		hits += f->hits[i];
	return hits;
}

/* Sync words that are not the four of a barrier at a frame's place. */
static uint32_t lone_fsyncs(const uint8_t *p, size_t n, bool swap)
{
	uint32_t lone = 0;

	for (size_t i = 0; i + 4 <= n; i += 2) {
		unsigned run = 0;
		size_t j = i;

		if (swap && i & 3)
			continue;
		for (; j + 4 <= n && le32(p, j, swap) == 0x7fffffff; j += 4)
			run++;
		if (!run)
			continue;
		if (i & 15 || run & 3)
			lone += run;
		i = j - 2;
	}
	return lone;
}

/* A-syncs in frames, and whether sync words of a TPIU lie between them. */
static uint32_t framed(struct frames *f, const uint8_t *p, size_t n, bool swap, uint32_t *fsync)
{
	uint32_t hits;

	*fsync = lone_fsyncs(p, n, swap);
	if (*fsync) {
		deframe(f, p, n, swap, true);
		hits = frame_syncs(f);
		if (hits)
			return hits;
	}
	deframe(f, p, n, swap, false);
	hits = frame_syncs(f);
	if (hits)
		*fsync = 0;
	return hits;
}

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

void cs_guess(struct cs_guess *g, const void *data, size_t n)
{
	const uint8_t *p = data;
	size_t words;
	struct frames f;
	uint32_t fsync;

	memset(g, 0, sizeof(*g));
	if (n > CS_LOOK_MAX)
		n = CS_LOOK_MAX;
	words = n & ~(size_t)3;
	g->raw_sync = raw_syncs(p, n, false);
	g->swapped_sync = max(raw_syncs(p, words, true), framed(&f, p, words, true, &fsync));
	g->frame_sync = framed(&f, p, n, false, &g->fsync);
	for (unsigned i = 1; i < 0x70 && g->nids < sizeof(g->ids); i++)
		if (g->frame_sync && f.hits[i])
			g->ids[g->nids++] = (uint8_t)i;

	if (g->swapped_sync > max(g->frame_sync, g->raw_sync))
		g->look = CS_LOOK_SWAPPED;
	else if (g->frame_sync && g->frame_sync * 2 >= g->raw_sync)
		g->look = g->fsync ? CS_LOOK_FSYNC : CS_LOOK_FRAMES;
	else if (g->raw_sync)
		g->look = CS_LOOK_RAW;
}

void cs_guess_text(const struct cs_guess *g, char *buf, size_t size)
{
	static const char *const look[] = {
		[CS_LOOK_NOTHING] = "no known form",
		[CS_LOOK_RAW] = "raw trace of one source (framing=none)",
		[CS_LOOK_FRAMES] = "16-byte frames (framing=memory)",
		[CS_LOOK_FSYNC] = "frames with sync words (framing=tpiu)",
		[CS_LOOK_SWAPPED] = "trace with the bytes of each 32-bit word reversed",
	};
	char ids[64] = "";
	size_t n = 0;

	for (unsigned i = 0; i < g->nids && n < sizeof(ids); i++)
		n += (size_t)snprintf(ids + n, sizeof(ids) - n, "%s0x%02x", i ? " " : " of ids ",
				      g->ids[i]);
	snprintf(buf, size, "looks like %s: %u A-syncs as raw bytes, %u as frames%s, %u in swapped "
		 "words, %u lone frame sync words", look[g->look], g->raw_sync, g->frame_sync, ids,
		 g->swapped_sync, g->fsync);
}
