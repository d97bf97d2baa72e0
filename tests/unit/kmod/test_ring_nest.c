/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel module's ring when it is interrupted: at each access to the ring's own words another
 * writer, a flush or the reader may come between, and another one into that. All places are tried,
 * in rings that are about to do something, so the code itself is explored, not a model of it.
 */
#include <stdbool.h>
#include <stdint.h>

static void point(void);
#define RING_POINT() point()

#include "ringcheck.h"

#define LEVELS	3
#define SERIALS	256
#ifdef __SANITIZE_ADDRESS__
#define CHANCES	20000
#else
#define CHANCES	200000
#endif

enum op { OP_NONE, OP_HALF, OP_THIRD, OP_BURST, OP_FLUSH, OP_READ, OP_LONG, OPS };

static struct rc rc;
static uint64_t now;
/* what comes into level i - 1 at its point @at[i]; level 0 is what all begins with */
static struct { enum op op; unsigned at, points; bool done; } level[LEVELS + 1];
static unsigned depth;
static bool reading;
static void run(enum op op);
static uint64_t serial;
static uint8_t took[SERIALS], seen[SERIALS];
static uint64_t lost_before[SERIALS];	/* what was lost when the record began */
static unsigned long runs;

static unsigned undo;		/* so many times something comes in when the counter is read */

u64 ring_clock(void)
{
	if (undo && !depth) {
		undo--;
		depth = 1;
		run(OP_HALF);
		depth = 0;
	}
	point();
	return ++now;
}

static void put(unsigned words)
{
	static struct rc_rec recs[LEVELS + 1];
	struct rc_rec *r = &recs[depth];
	uint64_t time, id = serial++;
	void *p;

	rc_fill(r, id, words);
	lost_before[id] = rc.lost;
	p = ring_reserve(rc.r, r->rec.size, &time);
	if (!p) {
		rc.lost++;
		return;
	}
	took[id] = 1;
	rc.stored++;
	r->rec.time = time;
	point();
	memcpy(p, r, r->rec.size);
	ring_commit(rc.r, p, r->rec.size);
}

static void run(enum op op)
{
	switch (op) {
	case OP_HALF:		/* 2000 bytes: two fill a packet */
		put(246);
		break;
	case OP_THIRD:		/* 1800: two leave 400 */
		put(221);
		break;
	case OP_BURST:
		for (unsigned i = 0; i < 5; i++)
			put(246);
		break;
	case OP_FLUSH:
		ring_flush(rc.r);
		break;
	case OP_READ:
		/* there is one reader */
		if (reading)
			break;
		reading = true;
		rc_read(&rc);
		rc_read(&rc);
		reading = false;
		break;
	case OP_LONG:		/* can not be stored, so it is lost whatever room there is */
		ring_reserve(rc.r, 4096, &(uint64_t){ 0 });
		rc.lost++;
		break;
	default:
		break;
	}
}

static void point(void)
{
	unsigned next = depth + 1;

	if (next > LEVELS || level[next].op == OP_NONE || level[next].done ||
	    level[next].points++ != level[next].at)
		return;
	level[next].done = true;
	depth = next;
	run(level[next].op);
	depth = next - 1;
}

static void see(struct rc *c, const struct rc_rec *r)
{
	RC_MUST(r->rec.hit < serial && took[r->rec.hit]);
	RC_MUST(!seen[r->rec.hit]);
	seen[r->rec.hit] = 1;
	if (!c->overwrite)
		RC_MUST(c->told >= lost_before[r->rec.hit]);
}

static void reset(unsigned mode)
{
	struct ring_cfg c = { .sub_size = 4096, .subs = 2, .mode = (u8)mode, .cpu = 3 };

	memcpy(c.uuid, "0123456789abcdef", 16);
	RC_MUST(!ring_init(rc.r, rc.data, &c));
	rc = (struct rc){ .r = rc.r, .data = rc.data, .copy = rc.copy, .sub = 4096,
		.overwrite = mode == RING_OVERWRITE, .last_number = UINT64_MAX, .see = see };
	memset(took, 0, sizeof(took));
	memset(seen, 0, sizeof(seen));
	serial = 0;
}

/* What was done before: so many records, of which so many packets were read. */
static const struct { enum op op; unsigned n, reads; } before[] = {
	{ OP_HALF, 1, 0 }, { OP_HALF, 2, 0 }, { OP_HALF, 3, 0 }, { OP_HALF, 4, 0 },
	{ OP_HALF, 5, 0 }, { OP_HALF, 4, 1 }, { OP_THIRD, 2, 0 }, { OP_THIRD, 4, 0 },
	{ OP_THIRD, 5, 0 }, { OP_THIRD, 4, 1 }, { OP_NONE, 0, 0 },
};
#define BEFORES (sizeof(before) / sizeof(before[0]))

/* True if what was to come in at @levels came. */
static bool try(unsigned mode, unsigned b, enum op op, unsigned levels)
{
	bool all = true;

	for (unsigned i = 0; i <= LEVELS; i++) {
		level[i].done = true;
		level[i].points = 0;
	}
	reset(mode);
	for (unsigned i = 0; i < before[b].n; i++)
		run(before[b].op);
	for (unsigned i = 0; i < before[b].reads; i++)
		rc_read(&rc);
	for (unsigned i = 1; i <= levels; i++)
		level[i].done = false;
	depth = 0;
	run(op);
	for (unsigned i = 1; i <= levels; i++) {
		all &= level[i].done;
		level[i].done = true;
	}
	rc_end(&rc);
	if (mode == RING_DISCARD)
		for (unsigned i = 0; i < serial; i++)
			RC_MUST(took[i] == seen[i]);
	runs++;
	return all;
}

static void each_before(bool (*f)(unsigned mode, unsigned b, enum op op))
{
	for (unsigned mode = RING_DISCARD; mode <= RING_OVERWRITE; mode++)
		for (unsigned b = 0; b < BEFORES; b++)
			for (enum op op = OP_HALF; op < OPS; op++)
				assert_true(f(mode, b, op));
}

/* Each thing at each point of each other. */
static bool one(unsigned mode, unsigned b, enum op op)
{
	bool any = false;

	for (level[1].op = OP_HALF; level[1].op < OPS; level[1].op++)
		for (level[1].at = 0; try(mode, b, op, 1); level[1].at++)
			any = true;
	return any || op == OP_FLUSH || op == OP_READ;
}

static void nested(void **state)
{
	each_before(one);
}

/* And each at each point of that. */
static bool two(unsigned mode, unsigned b, enum op op)
{
	/* these come into others: as the outermost they only make more of the same */
	if (op == OP_BURST || op == OP_LONG)
		return true;
	for (level[1].op = OP_HALF; level[1].op < OP_LONG; level[1].op++)
		for (level[2].op = OP_HALF; level[2].op < OPS; level[2].op++)
			for (level[1].at = 0;; level[1].at++) {
				unsigned n = 0;

				for (level[2].at = 0; try(mode, b, op, 2); level[2].at++)
					n++;
				if (!n && !level[1].points)
					break;
				if (level[1].points <= level[1].at)
					break;
			}
	return true;
}

static void nested_twice(void **state)
{
	each_before(two);
}

/* Three deep, by chance. */
static void nested_more(void **state)
{
	uint64_t x = 1;

	for (unsigned i = 0; i < CHANCES; i++) {
		x = rc_mix(x + i);
		for (unsigned k = 1; k <= 3; k++) {
			level[k].op = (enum op)(1 + (x >> 8 * k) % (OPS - 1));
			level[k].at = (unsigned)((x >> (8 * k + 24)) % 24);
		}
		try(x & 1, (unsigned)((x >> 1) % BEFORES), (enum op)(1 + (x >> 5) % (OPS - 1)), 3);
	}
	printf("# %lu runs\n", runs);
}

/* Interrupted in each try: lost, told for what it is, and before the next one. */
static void undone(void **state)
{
	struct ring_view v;
	unsigned n = 0;

	for (unsigned i = 1; i <= LEVELS; i++)
		level[i].done = true;
	rc_free(&rc);
	rc_new(&rc, 4096, 64, RING_DISCARD, false);
	rc.see = see;
	serial = 0;
	memset(took, 0, sizeof(took));
	memset(seen, 0, sizeof(seen));
	run(OP_HALF);
	undo = 1 + RING_TRIES;
	run(OP_HALF);
	assert_int_equal(undo, 0);
	assert_int_equal(rc.lost, 1);
	run(OP_HALF);
	while (ring_get(rc.r, &v) && v.number < 17) {
		assert_true(rc_read(&rc));
		n += 2;
	}
	assert_int_equal(n, 34);
	ring_flush(rc.r);
	assert_int_equal(ring_get(rc.r, &v), 1);
	assert_int_equal(v.units, 2);
	assert_int_equal(((const uint8_t *)v.p)[96 + 40], 2);
	rc_end(&rc);
	assert_int_equal(rc.says, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested), cmocka_unit_test(nested_twice),
		cmocka_unit_test(nested_more), cmocka_unit_test(undone),
	};
	int rc_tests;

	rc_new(&rc, 4096, 2, RING_DISCARD, false);
	rc_tests = cmocka_run_group_tests(tests, NULL, NULL);
	rc_free(&rc);
	return rc_tests;
}
