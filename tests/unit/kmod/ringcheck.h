/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_RINGCHECK_H
#define TESTS_RINGCHECK_H

/*
 * A ring, records that tell which they are, and a reader that holds what it gets against what was
 * written. Included once, behind what RING_POINT is to be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kmod/ring.c"

#define RC_WORDS 246		/* of a record behind its header, at most: 2000 bytes */

struct rc_rec {
	struct hwt_rec rec;
	uint64_t w[RC_WORDS];
};

struct rc {
	struct ring *r;
	uint8_t *data, *copy;
	size_t sub;
	bool raw, overwrite;
	/* by writers */
	uint64_t stored, lost;		/* what ring_reserve() said, in units */
	/* by the reader */
	uint64_t got;			/* records */
	uint64_t stale;			/* views that were overwritten in its hands */
	uint64_t last_time, last_number, last_lost, last_produced;
	uint64_t missing;		/* units in packets that it never got */
	uint64_t packets;
	uint64_t bytes;			/* of a raw ring: the next in the sequence */
	uint64_t says, told;		/* records of losses, and the losses that they tell */
	bool in_order;			/* each record's number is one more than the one before */
	uint64_t serial;		/* of the record before */
	uint64_t run;			/* told since then */
	void (*see)(struct rc *rc, const struct rc_rec *r);	/* or NULL */
};

#define RC_MUST(cond) do { if (!(cond)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
	#cond); abort(); } } while (0)

static uint64_t rc_mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

static void rc_new(struct rc *rc, uint32_t sub, uint32_t subs, unsigned mode, bool raw)
{
	struct ring_cfg c = { .sub_size = sub, .subs = subs, .mode = (u8)mode, .raw = raw,
		.cpu = 3 };

	memset(rc, 0, sizeof(*rc));
	memcpy(c.uuid, "0123456789abcdef", 16);
	rc->r = malloc(ring_bytes(subs));
	rc->data = calloc(subs, sub);
	rc->copy = malloc(sub);
	rc->sub = sub;
	rc->raw = raw;
	rc->overwrite = mode == RING_OVERWRITE;
	rc->last_number = UINT64_MAX;
	RC_MUST(rc->r && rc->data && rc->copy);
	RC_MUST(!ring_init(rc->r, rc->data, &c));
}

static void rc_free(struct rc *rc)
{
	free(rc->r);
	free(rc->data);
	free(rc->copy);
}

/* The record number @serial has a size and words that follow from it. */
static void rc_fill(struct rc_rec *r, uint64_t serial, unsigned words)
{
	memset(r, 0, sizeof(r->rec));
	r->rec.id = 0x7f01;
	r->rec.size = (uint16_t)(sizeof(r->rec) + 8 * words);
	r->rec.version = 1;
	r->rec.hit = serial;
	for (unsigned i = 0; i < words; i++)
		r->w[i] = rc_mix(serial + i);
}

/* Stores a record as put.c does, @fast: the short way first. */
static bool __attribute__((unused)) rc_write(struct rc *rc, struct rc_rec *r, bool fast)
{
	bool whole;

	return (fast && r->rec.size <= rc->r->size_max &&
		ring_try(rc->r, &r->rec, r->rec.size, &whole)) || ring_write(rc->r, &r->rec);
}

static void rc_check(const struct rc_rec *r, size_t left)
{
	RC_MUST(left >= sizeof(r->rec) && r->rec.size >= sizeof(r->rec) && r->rec.size <= left);
	RC_MUST(r->rec.size % 8 == 0 && r->rec.size <= sizeof(*r) && r->rec.id == 0x7f01);
	for (unsigned i = 0; i < (r->rec.size - sizeof(r->rec)) / 8; i++)
		RC_MUST(r->w[i] == rc_mix(r->rec.hit + i));
}

/* The bytes that the CTF packet of @v begins with, by their places, of a little-endian machine. */
static void rc_header(const struct rc *rc, const struct ring_view *v, const uint8_t *p)
{
	uint64_t n;

	RC_MUST(!memcmp(p, "\xc1\x1f\xfc\xc1" "0123456789abcdef" "\0\0\0\0", 24));
	memcpy(&n, p + 24, 8);
	RC_MUST(n == v->begin);
	memcpy(&n, p + 32, 8);
	RC_MUST(n == v->end && v->end >= v->begin);
	memcpy(&n, p + 40, 8);
	RC_MUST(n == 8 * (uint64_t)v->size);
	memcpy(&n, p + 48, 8);
	RC_MUST(n == 8 * rc->sub);
	memcpy(&n, p + 56, 8);
	RC_MUST(n == v->lost);
	memcpy(&n, p + 64, 8);
	RC_MUST(n == v->number);
	memcpy(&n, p + 72, 8);
	RC_MUST(n == (3 | 2ull << 32));
	memcpy(&n, p + 80, 8);
	RC_MUST(n == v->units);
	memcpy(&n, p + 88, 8);
	RC_MUST(n == v->produced);
}

/* A record stream.lost, by the places that events.def gives it. */
static void rc_loss(struct rc *rc, const struct ring_view *v, const uint8_t *p, size_t left)
{
	uint64_t count;
	uint32_t cause;

	RC_MUST(left >= 48 && p[8] == 1 && p[9] == 0 && p[10] == 48 && p[11] == 0);
	RC_MUST(!memcmp(p + 12, "\2\0\0\0" "\0\0\0\0\0\0\0\0", 12));
	RC_MUST(!memcmp(p + 24, "\377\377\377\377\377\377\377\377", 8));
	memcpy(&count, p + 32, 8);
	memcpy(&cause, p + 40, 4);
	RC_MUST(count && (cause == 1 || cause == 2 || cause == 4 || cause == 5));
	RC_MUST(!memcmp(p, &v->begin, 8) && !memcmp(p + 44, "\0\0\0\0", 4));
	rc->says++;
	rc->told += count;
	rc->run += count;
}

static void rc_see(struct rc *rc, const struct rc_rec *r)
{
	/* what was lost is told where it would have been */
	RC_MUST(!rc->in_order || r->rec.hit == rc->serial + rc->run + 1);
	rc->serial = r->rec.hit;
	rc->run = 0;
	if (rc->see)
		rc->see(rc, r);
}

static void rc_records(struct rc *rc, const struct ring_view *v, const uint8_t *p)
{
	uint64_t n = 0;

	rc_header(rc, v, p);
	for (size_t at = 96, first = 96; at < v->size; n++) {
		const struct rc_rec *r = (const void *)(p + at);

		/* first of all, and with the time of what comes behind */
		if (at == first && v->size - at >= sizeof(r->rec) && r->rec.id == 1) {
			rc_loss(rc, v, p + at, v->size - at);
			at = first += 48;
			continue;
		}
		rc_check(r, v->size - at);
		RC_MUST(r->rec.time > rc->last_time && r->rec.time <= v->end);
		RC_MUST(at != first || r->rec.time == v->begin);
		rc->last_time = r->rec.time;
		rc_see(rc, r);
		at += r->rec.size;
	}
	RC_MUST(n == v->units);
	if (v->number == rc->last_number + 1 && !rc->overwrite)
		RC_MUST(rc->told >= rc->last_lost && rc->told <= v->lost);
	rc->got += n;
}

/* Bytes of a raw ring count up, each by one: those that are lost leave a step. */
static void rc_raw(struct rc *rc, const struct ring_view *v, const uint8_t *p)
{
	RC_MUST(v->size == v->units);
	for (size_t i = 0; i < v->size; i++)
		RC_MUST(p[i] == (uint8_t)(p[0] + i));
	rc->got += v->size;
}

static void rc_account(struct rc *rc, const struct ring_view *v)
{
	uint64_t lost = v->lost - rc->last_lost;

	RC_MUST(v->number > rc->last_number || rc->last_number == UINT64_MAX);
	RC_MUST(v->lost >= rc->last_lost && v->produced >= rc->last_produced + lost + v->units);
	rc->missing += v->produced - rc->last_produced - lost - v->units;
	if (v->number == rc->last_number + 1)
		RC_MUST(v->produced == rc->last_produced + lost + v->units);
	else
		RC_MUST(rc->overwrite);
	RC_MUST(v->produced == rc->got + v->lost + rc->missing);
	rc->last_number = v->number;
	rc->last_lost = v->lost;
	rc->last_produced = v->produced;
}

/* One packet, if there is one. */
static bool rc_read(struct rc *rc)
{
	struct ring_view v;

	if (!ring_get(rc->r, &v))
		return false;
	RC_MUST(v.size <= rc->sub);
	RING_POINT();
	memcpy(rc->copy, v.p, v.size);
	RING_POINT();
	if (ring_put(rc->r, &v)) {
		RC_MUST(rc->overwrite);
		rc->stale++;
		return true;
	}
	if (rc->raw)
		rc_raw(rc, &v, rc->copy);
	else
		rc_records(rc, &v, rc->copy);
	rc_account(rc, &v);
	rc->packets++;
	return true;
}

/* Nobody writes any more: everything is told, and adds up with what the writers were told. */
static void rc_end(struct rc *rc)
{
	struct ring_counts c;
	int rc_flush;

	do {
		rc_flush = ring_flush(rc->r);
		while (rc_read(rc))
			;
	} while (rc_flush);
	ring_count(rc->r, &c);
	RC_MUST(c.lost == rc->lost);
	if (rc->overwrite)
		RC_MUST(c.produced >= rc->stored + rc->lost + rc->says);
	else
		RC_MUST(c.produced == rc->stored + rc->lost + rc->says);
	if (!rc->raw && !rc->missing)
		RC_MUST(rc->told == rc->lost);
	RC_MUST(c.read == rc->got && c.overwritten == rc->missing);
	RC_MUST(c.produced == c.read + c.overwritten + c.lost);
	RC_MUST(rc->last_produced == c.produced && rc->last_lost == c.lost);
	RC_MUST(rc->overwrite || !rc->missing);
}

#endif
