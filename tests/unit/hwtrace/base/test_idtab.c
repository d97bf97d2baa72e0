/* SPDX-License-Identifier: BSD-2-Clause */
/* Records by id, against an array of them; and how many bytes of heap a million takes. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/base/idtab.h"
#include "hwtrace/base/spill.h"
#include "tests/support/heap.h"

struct thing { uint64_t a, b; void *self; };

#define SIZE	sizeof(struct thing)
#define N	200000u

static uint32_t id_of(uint32_t i, unsigned pattern)
{
	switch (pattern) {
	case 0: return i;
	case 1: return 4194303 - i;		/* PID_MAX_LIMIT - 1, downwards */
	case 2: return (uint32_t)(i * 7) % N;	/* all of them, as 7 does not divide it */
	default: return i % 2 ? UINT32_MAX - i : i;
	}
}

static void patterns(void **state)
{
	for (unsigned pattern = 0; pattern < 4; pattern++) {
		struct idtab t = { .fd = 0 };
		struct thing *v;
		uint32_t n = 0;

		assert_null(idtab_get(&t, SIZE, 0));
		for (uint32_t i = 0; i < N; i++) {
			uint32_t id = id_of(i, pattern);

			assert_null(idtab_get(&t, SIZE, id));
			v = idtab_make(&t, SIZE, id);
			assert_non_null(v);
			assert_int_equal(v->a | v->b | (uintptr_t)v->self, 0);
			*v = (struct thing){ id, ~(uint64_t)id, v };
			assert_ptr_equal(idtab_make(&t, SIZE, id), v);
		}
		idtab_rest(&t);
		for (uint32_t i = 0; i < N; i++) {
			v = idtab_get(&t, SIZE, id_of(i, pattern));
			assert_non_null(v);
			assert_int_equal(v->a, id_of(i, pattern));
			assert_ptr_equal(v->self, v);	/* it never moved */
		}
		for (uint32_t at = 0; (v = idtab_next(&t, SIZE, &at)); n++)
			assert_int_equal(v->b, ~v->a);
		assert_int_equal(n, N);
		assert_true(t.fd > 0);
		idtab_free(&t);
		assert_null(idtab_get(&t, SIZE, 0));
	}
}

/* Ids that lie far from each other end at a limit, and what is there stays. */
static void sparse(void **state)
{
	struct idtab t = { .fd = 0 };
	uint32_t n = 0;

	while (idtab_make(&t, 8, n * 4099))
		n++;
	assert_int_equal(n, IDTAB_BLOCKS);
	assert_null(idtab_get(&t, 8, n * 4099));
	for (uint32_t i = 0; i < n; i += 1000)
		assert_non_null(idtab_get(&t, 8, i * 4099));
	idtab_free(&t);
}

/* The C library counts what is allocated now, or the sanitizer's hooks the most there was. */
static size_t held(void)
{
	struct mallinfo2 m = mallinfo2();
	size_t most = heap_most();

	return most ? most : m.uordblks + m.hblkhd;
}

static void bytes(void **state)
{
	const uint32_t n = 1000000;
	struct idtab t = { .fd = 0 };
	size_t before, took;

	heap_start();
	before = heap_most() ? 0 : held();
	for (uint32_t i = 0; i < n; i++)
		assert_non_null(idtab_make(&t, 128, i));
	took = held() - before;
	heap_watch(false);
	/*
	 * The first MiB, and a chunk that goes beyond it; of each 32 ids four slots of 16 bytes,
	 * and two more while the table grows; the list of chunks, of 32 blocks each, doubled and
	 * beside the old one.
	 */
	assert_true(took <= SPILL_HEAP + 33 * 32 * 128 + n / 32 * 6 * 16 + n / 1024 * 3 * 16);
	idtab_free(&t);
}

int main(void)
{
	const struct CMUnitTest t[] = { cmocka_unit_test(patterns), cmocka_unit_test(sparse),
		cmocka_unit_test(bytes) };

	return cmocka_run_group_tests(t, NULL, NULL);
}
