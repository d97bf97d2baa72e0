/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames: Arm IHI 0029, "Frame data packet format". Byte 15 holds for each even byte the bit that
 * the byte has no room for: of data its bit 0, of an id 1 if it takes effect one byte late.
 */
#include "frame.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SOURCES 16		/* ids that can wait at once */
#define ROOM 1024		/* bytes that wait of each */
#define RUN_MAX 64

struct source {
	uint8_t id;		/* 0: free */
	unsigned first, n;
	uint8_t wait[ROOM];	/* ring */
};

struct model_frame {
	struct model_frame_cfg cfg;
	struct model_out to;
	struct model_frame_count count;
	uint64_t rnd;
	int err;
	uint8_t id;		/* that the next data byte belongs to, 0: none */
	unsigned k;		/* place in @frame */
	uint8_t frame[16];
	struct source src[SOURCES];
};

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint32_t pick(struct model_frame *f, uint32_t n)
{
	uint64_t z = f->rnd += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)(z ^ z >> 31) % n;
}

static void send(struct model_frame *f, const void *p, size_t n)
{
	if (!f->err)
		f->err = f->to.put(f->to.arg, p, n);
	f->count.bytes += n;
}

/* A whole frame. Half sync stands between byte pairs, full sync between frames. */
static void send_frame(struct model_frame *f)
{
	uint8_t out[16 + 8 * 2], n = 0;

	if (f->cfg.sync != MODEL_FRAME_MEM && (!f->count.frames || !pick(f, 8))) {
		send(f, "\xff\xff\xff\x7f", 4);
		f->count.full++;
	}
	for (unsigned i = 0; i < 16; i += 2) {
		out[n++] = f->frame[i];
		out[n++] = f->frame[i + 1];
		if (f->cfg.sync == MODEL_FRAME_HALF && !pick(f, 16)) {
			out[n++] = 0xff;
			out[n++] = 0x7f;
			f->count.half++;
		}
	}
	send(f, out, n);
	f->count.frames++;
	f->k = 0;
	memset(f->frame, 0, sizeof(f->frame));
}

static void put_byte(struct model_frame *f, uint8_t b)
{
	if (f->k % 2) {
		f->frame[f->k] = b;
	} else {
		f->frame[f->k] = b & 0xfe;
		f->frame[15] |= (uint8_t)((b & 1) << f->k / 2);
	}
	if (++f->k == 15)
		send_frame(f);
}

static void put_id(struct model_frame *f, unsigned id, bool late)
{
	if (f->k == 14)
		f->count.id_last++;
	else if (late)
		f->count.id_late++;
	else
		f->count.id_now++;
	f->frame[f->k] = (uint8_t)(id << 1 | 1);
	if (late && f->k < 14)
		f->frame[15] |= (uint8_t)(1 << f->k / 2);
	if (++f->k == 15)
		send_frame(f);
}

static uint8_t take(struct model_frame *f, struct source *s)
{
	uint8_t b = s->wait[s->first];

	s->first = (s->first + 1) % ROOM;
	s->n--;
	f->count.data++;
	return b;
}

static struct source *find(struct model_frame *f, unsigned id)
{
	for (unsigned i = 0; i < SOURCES; i++)
		if (f->src[i].id == id)
			return &f->src[i];
	return NULL;
}

/* At an odd place: the data byte before becomes an id that takes effect behind that byte. */
static void put_id_back(struct model_frame *f, unsigned id)
{
	unsigned even = f->k - 1;
	uint8_t b = f->frame[even] | (f->frame[15] >> even / 2 & 1);

	f->frame[15] &= (uint8_t)~(1 << even / 2);
	f->k = even;
	put_id(f, id, true);
	put_byte(f, b);
}

/* From now on bytes are of @id. */
static void change(struct model_frame *f, unsigned id)
{
	struct source *old = f->id && f->id != id ? find(f, f->id) : NULL;
	bool late;

	f->count.id_again += f->id == id;
	f->id = (uint8_t)id;
	if (f->k % 2) {
		if (!old || !old->n || pick(f, 2)) {
			put_id_back(f, id);
			return;
		}
		put_byte(f, take(f, old));
	}
	late = old && old->n && f->k < 14 && pick(f, 2);
	put_id(f, id, late);
	if (late)
		put_byte(f, take(f, old));
}

/* Null bytes, which belong to id 0. */
static void pad(struct model_frame *f, unsigned n)
{
	if (f->id)
		change(f, 0);
	while (n-- && f->k) {
		put_byte(f, 0);
		f->count.pad++;
	}
}

/* Some bytes of a source that has some; 0 if there is none. */
static unsigned send_run(struct model_frame *f)
{
	unsigned first = pick(f, SOURCES), n;
	struct source *s;

	for (unsigned i = 0; i < SOURCES; i++) {
		s = &f->src[(first + i) % SOURCES];
		if (!s->n)
			continue;
		if (f->cfg.idle && !pick(f, 8))
			pad(f, 1 + pick(f, 20));
		if (!s->n)
			return 1;	/* its last byte went out before the padding */
		if (f->id != s->id || !pick(f, 16))
			change(f, s->id);
		n = 1 + pick(f, f->cfg.run_max ? f->cfg.run_max : RUN_MAX);
		while (n-- && s->n)
			put_byte(f, take(f, s));
		return 1;
	}
	return 0;
}

int model_frame_put(struct model_frame *f, unsigned id, const void *p, size_t n)
{
	const uint8_t *b = p;
	struct source *s;

	if (!id || id > 0x6f)
		return -EINVAL;
	s = find(f, id);
	if (!s)
		s = find(f, 0);
	if (!s)
		return -ENOSPC;
	s->id = (uint8_t)id;
	while (n && !f->err) {
		if (s->n == ROOM) {
			send_run(f);
			continue;
		}
		s->wait[(s->first + s->n++) % ROOM] = *b++;
		n--;
	}
	return f->err;
}

int model_frame_flush(struct model_frame *f)
{
	while (send_run(f) && !f->err)
		;
	if (f->k)
		pad(f, 16);
	return f->err;
}

int model_frame_new(struct model_frame **out, const struct model_frame_cfg *cfg,
		    const struct model_out *to)
{
	struct model_frame *f;

	if (!to->put || cfg->sync > MODEL_FRAME_HALF)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->cfg = *cfg;
	f->to = *to;
	f->rnd = cfg->seed;
	*out = f;
	return 0;
}

void model_frame_free(struct model_frame *f)
{
	free(f);
}

const struct model_frame_count *model_frame_counts(const struct model_frame *f)
{
	return &f->count;
}
