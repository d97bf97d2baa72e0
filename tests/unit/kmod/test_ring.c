/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel module's ring, one writer at a time: packets byte by byte as hwtrace/uapi.h has them,
 * and what becomes of each record. The truth is what was written.
 */
#include <stdbool.h>
#include <stdint.h>

#include "ringcheck.h"

static uint64_t now;
static struct rc rc;

u64 ring_clock(void)
{
	return ++now;
}

static bool put(uint64_t serial, unsigned words)
{
	struct rc_rec r;
	bool done;

	rc_fill(&r, serial, words);
	done = rc_write(&rc, &r, serial & 1);
	rc.stored += done;
	rc.lost += !done;
	return done;
}

static void limits(void **state)
{
	static const struct { uint32_t size, subs; unsigned mode; int rc; } t[] = {
		{ 4096, 2, RING_DISCARD, 0 }, { 4096, 1, RING_DISCARD, -EINVAL },
		{ 4096, 3, RING_DISCARD, -EINVAL }, { 2048, 2, RING_DISCARD, -EINVAL },
		{ 5000, 2, RING_DISCARD, -EINVAL }, { 4096, 2, 2, -EINVAL },
		{ 524288, 2, RING_DISCARD, -EINVAL }, { 0, 2, RING_DISCARD, -EINVAL },
		{ 4096, 0, RING_DISCARD, -EINVAL }, { 4096, 65536, RING_OVERWRITE, 0 },
		{ 262144, 16384, RING_OVERWRITE, 0 }, { 262144, 32768, RING_OVERWRITE, -EINVAL },
		{ 4096, 131072, RING_OVERWRITE, -EINVAL },
	};
	struct ring *r = malloc(ring_bytes(65536));
	uint64_t data;

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct ring_cfg c = { .sub_size = t[i].size, .subs = t[i].subs,
			.mode = (u8)t[i].mode };

		assert_int_equal(ring_init(r, &data, &c), t[i].rc);
		assert_int_equal(ring_init(r, (char *)&data + 1, &c), -EINVAL);
	}
	free(r);
}

/* Closing what is open each second only when all is read takes no room from who is late. */
static void late(void **state)
{
	uint64_t serial = 0;

	rc_new(&rc, 4096, 4, RING_DISCARD, false);
	assert_true(ring_all_read(rc.r));
	for (unsigned i = 0; i < 100; i++) {
		assert_true(put(serial++, 5));
		/* the first is closed, and nobody takes it */
		assert_int_equal(ring_all_read(rc.r), !i);
		if (ring_all_read(rc.r))
			assert_int_equal(ring_flush(rc.r), 0);
	}
	assert_false(ring_all_read(rc.r));
	while (rc_read(&rc))
		;
	assert_true(ring_all_read(rc.r));
	rc_end(&rc);
	rc_free(&rc);
}

/* What can not be stored is lost, and counted. */
static void sizes(void **state)
{
	static const uint32_t bad[] = { 0, 8, 31, 33, 36, 4096 - 96 - 3 * 48 + 8, 4096, 65536,
		UINT32_MAX };
	uint64_t time;
	struct ring_counts c;

	rc_new(&rc, 4096, 2, RING_DISCARD, false);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(ring_reserve(rc.r, bad[i], &time));
	ring_count(rc.r, &c);
	assert_int_equal(c.lost, sizeof(bad) / sizeof(bad[0]));
	assert_int_equal(c.produced, c.lost);
	rc.lost = c.lost;
	rc_end(&rc);
	assert_int_equal(rc.packets, 1);
	assert_int_equal(rc.says, 1);
	rc_free(&rc);
}

/* Packets with room left, without, and of one record that fills all. */
static void fits(void **state)
{
	uint64_t serial = 0, time;
	uint8_t *p;

	/* 4000 bytes: 125 of 32, 100 of 40, 50 of 80 fill a packet; 62 of 64 leave 32 */
	for (unsigned words = 0; words <= 8; words++) {
		unsigned each = 4000 / (32 + 8 * words);

		rc_new(&rc, 4096, 4, RING_DISCARD, false);
		for (unsigned i = 0; i < 3 * each + 1; i++) {
			assert_true(put(++serial, words));
			/* whole as soon as nothing more can be in it, or something more came */
			assert_int_equal(ring_wake(rc.r), i && (4000 % (32 + 8 * words) ?
					 i % each == 0 : (i + 1) % each == 0));
		}
		rc_end(&rc);
		assert_int_equal(rc.packets, 4);
		assert_int_equal(rc.got, 3 * each + 1);
		rc_free(&rc);
	}
	rc_new(&rc, 4096, 2, RING_DISCARD, false);
	for (unsigned i = 0; i < 2; i++) {
		p = ring_reserve(rc.r, rc.r->size_max, &time);
		assert_ptr_equal(p, rc.data + 4096 * i + 96);
		assert_int_equal(time, now);
		ring_commit(rc.r, p, rc.r->size_max);
		/* the first one is whole when the second has begun */
		assert_int_equal(ring_wake(rc.r), i);
		assert_false(ring_wake(rc.r));
	}
	assert_non_null(ring_reserve(rc.r, 32, &time));
	rc_free(&rc);
}

/* No room: the new is lost, and loss lies between two packets. */
static void discard(void **state)
{
	struct ring_view v;
	uint64_t serial = 0, end;

	rc_new(&rc, 4096, 2, RING_DISCARD, false);
	rc.in_order = true;
	/* 62 records of 64 in a packet */
	for (unsigned i = 0; i < 2 * 62; i++)
		assert_true(put(++serial, 4));
	for (unsigned i = 0; i < 10; i++)
		assert_false(put(++serial, 4));
	/* the second packet was closed when the first record was lost */
	assert_int_equal(ring_get(rc.r, &v), 1);
	assert_int_equal(v.number, 0);
	assert_int_equal(ring_get(rc.r, &v), 1);
	assert_int_equal(v.number, 0);
	assert_true(rc_read(&rc));
	assert_int_equal(ring_get(rc.r, &v), 1);
	assert_int_equal(v.lost, 0);
	end = v.end;
	/* there is room for one now; the first packet's view is of no use any more */
	v.number = 0;
	assert_int_equal(ring_put(rc.r, &v), -ESTALE);
	for (unsigned i = 0; i < 61; i++)	/* and one of what was lost */
		assert_true(put(++serial, 4));
	assert_false(put(++serial, 4));
	assert_int_equal(ring_flush(rc.r), -EAGAIN);
	assert_true(rc_read(&rc));
	assert_int_equal(ring_get(rc.r, &v), 1);
	assert_int_equal(v.lost, 10);
	assert_true(v.begin > end);
	rc_end(&rc);
	assert_int_equal(rc.lost, 11);
	/* the last loss has a packet of its own */
	assert_int_equal(rc.packets, 4);
	rc_end(&rc);
	assert_int_equal(rc.packets, 4);
	rc_free(&rc);
}

/* Loss of each cause has a record; with all of them the longest record fills a packet. */
static void all_causes(unsigned context)
{
	struct ring_cfg c = { .sub_size = 4096, .subs = 2, .cpu = 3, .context = context,
		.none = { 0x1111, 0x2222 } };
	const unsigned size = 48 + 8 * context;
	struct hwt_ctf_packet h;
	struct ring_view v;
	uint64_t time;
	uint8_t *p;

	rc_new(&rc, 4096, 2, RING_DISCARD, false);
	assert_int_equal(ring_init(rc.r, rc.data, &c), 0);
	/* how NESTED comes about is in test_ring_nest.c */
	ring_local_set(&rc.r->lost[RING_LOST_FULL], 7);
	ring_local_set(&rc.r->lost[RING_LOST_NESTED], 8);
	ring_local_set(&rc.r->lost[RING_LOST_SIZE], 9);
	ring_miss(rc.r, 10);
	p = ring_reserve(rc.r, rc.r->size_max, &time);
	assert_ptr_equal(p, rc.data + 96 + 4 * size);
	assert_false(ring_get(rc.r, &v));
	ring_commit(rc.r, p, rc.r->size_max);
	assert_true(ring_wake(rc.r));
	assert_int_equal(ring_get(rc.r, &v), 1);
	assert_int_equal(v.size, 4096);
	assert_int_equal(v.units, 5);
	assert_int_equal(v.produced, 5 + 34);
	memcpy(&h, rc.data, sizeof(h));
	assert_int_equal(h.flags, HWT_PACKET_PRODUCED | context << 16);
	for (unsigned i = 0; i < 4; i++) {
		static const uint8_t cause[] = { 1, 2, 5, 4 };
		const uint8_t *e = rc.data + 96 + size * i;

		assert_int_equal(e[10], size);
		assert_memory_equal(e + 32, c.none, 8 * context);
		assert_int_equal(e[32 + 8 * context], 7 + i);
		assert_int_equal(e[40 + 8 * context], cause[i]);
		if (!context)
			rc_loss(&rc, &v, e, 48);
	}
	assert_int_equal(ring_put(rc.r, &v), 0);
	assert_int_equal(ring_flush(rc.r), 0);
	assert_int_equal(ring_get(rc.r, &v), 0);
	rc_free(&rc);
}

static void causes(void **state)
{
	all_causes(0);
	all_causes(2);
}

/* What nobody could offer lies between what was stored before and after. */
static void missed(void **state)
{
	struct ring_view v;

	rc_new(&rc, 4096, 4, RING_DISCARD, false);
	assert_true(put(1, 4));
	ring_miss(rc.r, 0);
	assert_int_equal(ring_get(rc.r, &v), 0);
	ring_miss(rc.r, 3);
	assert_int_equal(ring_get(rc.r, &v), 1);
	assert_int_equal(v.lost, 0);
	assert_int_equal(v.produced, 1);
	assert_int_equal(ring_put(rc.r, &v), 0);
	assert_int_equal(ring_flush(rc.r), 0);
	assert_int_equal(ring_get(rc.r, &v), 1);
	assert_int_equal(v.units, 1);
	assert_int_equal(v.lost, 3);
	assert_int_equal(v.produced, 5);
	rc_free(&rc);
}

/* No room: the oldest is lost, also from the reader's hands. */
static void overwrite(void **state)
{
	struct ring_view v;
	uint64_t serial = 0;

	rc_new(&rc, 4096, 4, RING_OVERWRITE, false);
	for (unsigned i = 0; i < 62 * 10; i++)
		assert_true(put(++serial, 4));
	assert_int_equal(ring_get(rc.r, &v), 1);
	assert_int_equal(v.number, 6);
	/* the tenth goes on: its first record takes packet 6 away */
	assert_true(put(++serial, 4));
	assert_int_equal(ring_put(rc.r, &v), -ESTALE);
	assert_true(rc_read(&rc));
	assert_int_equal(rc.last_number, 7);
	assert_int_equal(rc.missing, 7 * 62);
	for (unsigned i = 0; i < 62 * 100; i++)
		assert_true(put(++serial, 4));
	rc_end(&rc);
	assert_int_equal(rc.lost, 0);
	assert_int_equal(rc.stored, serial);
	rc_free(&rc);
}

/* A record that is not committed: its packet is not taken, neither by the reader nor the writer. */
static void uncommitted(void **state)
{
	struct rc_rec r;
	uint64_t serial = 1, time;
	void *p;

	rc_new(&rc, 4096, 2, RING_OVERWRITE, false);
	rc_fill(&r, serial, 4);
	p = ring_reserve(rc.r, r.rec.size, &time);
	for (unsigned i = 0; i < 61 + 62; i++)
		assert_true(put(++serial, 4));
	assert_false(put(++serial, 4));
	assert_false(rc_read(&rc));
	/* what came later is whole, but not its turn */
	assert_int_equal(ring_flush(rc.r), -EAGAIN);
	assert_false(rc_read(&rc));
	r.rec.time = time;
	memcpy(p, &r, r.rec.size);
	ring_commit(rc.r, p, r.rec.size);
	rc.stored++;
	assert_true(rc_read(&rc));
	assert_true(put(++serial, 4));
	rc_end(&rc);
	assert_int_equal(rc.lost, 1);
	rc_free(&rc);
}

/* Any mix of sizes and reads adds up. */
static void mixes(void **state)
{
	uint64_t x = 1, time;

	for (unsigned mode = RING_DISCARD; mode <= RING_OVERWRITE; mode++) {
		rc_new(&rc, 4096, 4, mode, false);
		rc.in_order = mode == RING_DISCARD;
		for (unsigned i = 0; i < 50000; i++) {
			x = rc_mix(x + i);
			if (x >> 48 & 255) {
				put(i + 1, (unsigned)(x % 9));
			} else {
				assert_null(ring_reserve(rc.r, 4096, &time));
				rc.lost++;
			}
			if (x >> 8 & 1 && (x >> 32) % 150 == 0)
				rc_read(&rc);
			if ((x >> 40) % 500 == 0)
				ring_flush(rc.r);
		}
		assert_true(rc.packets > 100);
		rc_end(&rc);
		assert_true(mode == RING_OVERWRITE ? rc.missing > 1000 && rc.lost < 1000 :
			    rc.lost > 1000);
		rc_free(&rc);
	}
}

static void raw_mode(unsigned mode)
{
	uint64_t x = 7, time;
	uint8_t next = 0, *p;

	rc_new(&rc, 8192, 2, mode, true);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t n;

		x = rc_mix(x + i);
		n = 1 + (uint32_t)(x % (i % 100 ? 300 : 8192 - 8));
		p = ring_reserve(rc.r, n, &time);
		if (p) {
			for (uint32_t k = 0; k < n; k++)
				p[k] = next++;
			ring_commit(rc.r, p, n);
			rc.stored += n;
		} else {
			next += (uint8_t)n;
			rc.lost += n;
		}
		if (x >> 20 & 15)
			continue;
		rc_read(&rc);
		/* as after a sub-buffer that is closed: no byte stands for another */
		if (!(x >> 24 & 15))
			ring_flush(rc.r);
	}
	assert_null(ring_reserve(rc.r, 8192 - 7, &time));
	rc.lost += 8192 - 7;
	assert_true(rc.packets > 400);
	rc_end(&rc);
	assert_true(mode == RING_OVERWRITE ? rc.missing > 1000 : rc.lost > 10000);
	rc_free(&rc);
}

static void raw(void **state)
{
	raw_mode(RING_DISCARD);
	raw_mode(RING_OVERWRITE);
}

/* The head's position comes to the end of its bits, and goes on at 0. */
static void wrap(void **state)
{
	for (unsigned mode = RING_DISCARD; mode <= RING_OVERWRITE; mode++) {
		uint64_t serial = 0, bits = 64 - RING_UNIT_BITS, number;

		rc_new(&rc, 4096, 4, mode, false);
		/* as if that many packets had been: 8 more, and the position is 0 */
		number = (1ull << (bits - 12)) - 8;
		for (unsigned i = 0; i < 4; i++)
			ring_shared_set(&rc.r->sub[i].state, (number + i) << 1);
		rc.r->tail = number;
		ring_local_set(&rc.r->head, number << 12 << RING_UNIT_BITS);
		rc.last_number = number - 1;
		for (unsigned i = 0; i < 62 * 20; i++) {
			put(++serial, 4);
			if (i % 31 == 0)
				rc_read(&rc);
		}
		rc_end(&rc);
		assert_int_equal(rc.lost, 0);
		assert_int_equal(rc.last_number, number + 19);
		rc_free(&rc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits), cmocka_unit_test(late), cmocka_unit_test(sizes),
		cmocka_unit_test(fits), cmocka_unit_test(discard), cmocka_unit_test(causes),
		cmocka_unit_test(missed), cmocka_unit_test(overwrite),
		cmocka_unit_test(uncommitted), cmocka_unit_test(mixes), cmocka_unit_test(raw),
		cmocka_unit_test(wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
