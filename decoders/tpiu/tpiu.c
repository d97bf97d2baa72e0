/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "tpiu.h"

#define FRAME		16		/* bytes */
#define BLOCK		512		/* bytes of a DSTREAM block, */
#define BLOCK_DATA	504		/* and those of them that come from the port */
#define FULL_SYNC	0xffffff7fu	/* ff ff ff 7f in order of arrival */

void tpiu_init(struct tpiu *t, bool sync_words)
{
	memset(t, 0, sizeof(*t));
	t->id = TPIU_ID_UNKNOWN;
	t->sync_words = sync_words;
	t->synced = !sync_words;
}

static uint64_t *counter(struct tpiu_stats *st, uint8_t id)
{
	if (id == TPIU_ID_NULL)
		return &st->null_bytes;
	if (id <= TPIU_ID_LAST)
		return &st->data_bytes;
	if (id == TPIU_ID_TRIGGER)
		return &st->trigger_bytes;
	return id == TPIU_ID_UNKNOWN ? &st->unowned_bytes : &st->reserved_bytes;
}

/* Adds a byte of the current source; @runs are those of this frame. Returns their new number. */
static int put(struct tpiu *t, struct tpiu_run *runs, int n, uint8_t byte, uint64_t off,
	       bool unsure)
{
	struct tpiu_run *r = n ? &runs[n - 1] : NULL;

	++*counter(&t->st, t->id);
	if (t->id == TPIU_ID_NULL)
		return n;
	if (!r || r->id != t->id) {
		r = &runs[n++];
		r->off = off;
		r->id = t->id;
		r->n = 0;
		r->unsure = unsure;
	}
	r->data[r->n++] = byte;
	return n;
}

/*
 * The first @have bytes of a frame. Bit 0 of an even byte tells an id from data; its real value, or
 * for an id whether the next byte is still of the old source, is in the last byte of the frame.
 */
static int frame_runs(struct tpiu *t, const uint8_t *f, unsigned have, struct tpiu_run *runs)
{
	bool whole = have == FRAME;
	uint8_t aux = whole ? f[15] : 0;
	unsigned end = whole ? 15 : have;
	int n = 0;

	for (unsigned i = 0; i < end; i += 2, aux >>= 1) {
		uint64_t off = t->off[i / 2];
		bool late = f[i] & 1 && aux & 1;

		if (!(f[i] & 1))
			n = put(t, runs, n, f[i] | (aux & 1), off, !whole);
		else if (!late)
			t->id = f[i] >> 1;
		if (i + 1 < end)
			n = put(t, runs, n, f[i + 1], off + 1, !whole);
		if (late)
			t->id = f[i] >> 1;
	}
	return n;
}

static void set_offsets(struct tpiu *t, uint64_t first)
{
	for (unsigned i = 0; i < 8; i++)
		t->off[i] = first + 2 * i;
}

/* An even byte of ff names a reserved id, so it is damage or part of a sync word. */
static bool has_even_ff(const uint8_t *f)
{
	for (unsigned i = 0; i < FRAME; i += 2)
		if (f[i] == 0xff)
			return true;
	return false;
}

static int whole_frame(struct tpiu *t, const uint8_t *f, struct tpiu_run *runs)
{
	t->st.frame_bytes += FRAME;
	t->fsync_run = 0;
	t->have = 0;
	return frame_runs(t, f, FRAME, runs);
}

/* The first sync word: the 16 bytes before it are a frame, what lies before those is skipped. */
static int first_sync(struct tpiu *t, struct tpiu_run *runs)
{
	const uint8_t *f = t->frame + t->have - 4 - FRAME;
	unsigned before = t->have - 4;
	int n = 0;

	t->synced = true;
	t->st.sync_bytes += 4;
	t->st.skipped += before;
	t->st.skip_end = t->pos - 4;
	/* where probe bytes may lie between, the place of the frame is not known */
	if (before >= FRAME && !t->dstream && !has_even_ff(f)) {
		set_offsets(t, t->pos - 4 - FRAME);
		t->st.skipped -= FRAME;
		t->st.skip_end -= FRAME;
		n = whole_frame(t, f, runs);
	}
	t->have = 0;
	t->fsync_run = 1;
	return n;
}

/* A full sync word ends here. It restarts the frame; four in a row in memory are a barrier. */
static void full_sync(struct tpiu *t)
{
	unsigned mine = t->have < 4 ? t->have : 4, cut = t->have - mine;

	t->st.sync_bytes += mine;
	t->st.skipped += cut;
	if (cut) {
		t->st.skip_end = t->pos - 4;
		t->fsync_run = 0;
		t->id = TPIU_ID_UNKNOWN;
	}
	t->have = 0;
	t->fsync_run++;
	if (t->sync_words)
		return;
	if (!t->st.stray_syncs++)
		t->st.stray_off = t->pos - 4;
	if (t->fsync_run == 4) {
		t->st.stray_syncs -= 4;
		t->fsync_run = 0;
		t->barrier = true;
		t->id = TPIU_ID_UNKNOWN;
	}
}

static int push_unsynced(struct tpiu *t, uint8_t byte, struct tpiu_run *runs)
{
	if (t->have == sizeof(t->frame)) {
		memmove(t->frame, t->frame + 1, sizeof(t->frame) - 1);
		t->have--;
		t->st.skipped++;
		t->st.skip_end = t->pos - sizeof(t->frame);
	}
	t->frame[t->have++] = byte;
	return t->last == FULL_SYNC ? first_sync(t, runs) : 0;
}

/* One byte. Returns the number of runs that it completed. */
static int push(struct tpiu *t, uint8_t byte, struct tpiu_run *runs)
{
	t->pos++;
	t->last = t->last << 8 | byte;
	if (!t->synced)
		return push_unsynced(t, byte, runs);
	if (!(t->have & 1))
		t->off[t->have / 2] = t->pos - 1;
	t->frame[t->have++] = byte;
	if (t->last == FULL_SYNC) {
		full_sync(t);
	} else if (t->sync_words && !(t->have & 1) && (t->last & 0xffff) == 0xff7f) {
		t->have -= 2;
		t->st.sync_bytes += 2;
	} else if (t->have == FRAME) {
		return whole_frame(t, t->frame, runs);
	}
	return 0;
}

/* A whole frame at @p that no sync word touches. */
static bool plain_frame(const struct tpiu *t, const uint8_t *p)
{
	if (t->dstream && t->pos % BLOCK > BLOCK_DATA - FRAME)
		return false;
	return t->synced && !t->have && (t->last & 0xff) != 0xff && !has_even_ff(p);
}

int tpiu_decode(struct tpiu *t, const uint8_t *p, size_t n, size_t *used, struct tpiu_run *out,
		int max)
{
	size_t at = 0;
	int got = 0;

	*used = 0;
	if (max < TPIU_FRAME_RUNS)
		return -EINVAL;
	t->barrier = false;
	while (at < n && !t->barrier && max - got >= TPIU_FRAME_RUNS) {
		if (t->dstream && t->pos % BLOCK >= BLOCK_DATA) {
			t->st.probe++;
			t->pos++;
			at++;
		} else if (n - at >= FRAME && plain_frame(t, p + at)) {
			set_offsets(t, t->pos);
			got += whole_frame(t, p + at, out + got);
			t->last = p[at + 14] << 8 | p[at + 15];
			t->pos += FRAME;
			at += FRAME;
		} else {
			got += push(t, p[at++], out + got);
		}
	}
	*used = at;
	return got;
}

int tpiu_flush(struct tpiu *t, struct tpiu_run *out, int max)
{
	unsigned have = t->have, ff = 0;

	if (max < TPIU_FRAME_RUNS)
		return -EINVAL;
	t->have = 0;
	if (!t->synced) {
		t->st.skipped += have;
		t->st.skip_end = t->pos;
		return 0;
	}
	t->st.tail += have;
	while (ff < have && t->frame[ff] == 0xff)
		ff++;
	if (ff == have && have < 4)		/* nothing, or a cut sync word */
		return 0;
	return frame_runs(t, t->frame, have, out);
}

bool tpiu_is_dstream(const uint8_t *p, size_t n)
{
	size_t blocks = n / BLOCK < 64 ? n / BLOCK : 64;

	for (size_t i = 1; i < blocks; i++) {
		const uint8_t *a = p + i * BLOCK - 2, *b = a + BLOCK;

		if (((a[0] | a[1] << 8) - (b[0] | b[1] << 8) - 1) & 0xfff)
			return false;
	}
	return blocks >= 3;
}
