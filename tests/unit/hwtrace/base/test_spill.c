/* SPDX-License-Identifier: BSD-2-Clause */
/* What was put in comes out, in the heap and in a file; and memory stays small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hwtrace/base/spill.h"

struct thing { uint64_t a, b, c; };

static struct thing made(uint64_t i)
{
	return (struct thing){ i, i * 0x9e3779b97f4a7c15u, ~i };
}

static void fill(struct spill *s, size_t n)
{
	struct thing *v;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(spill_room(s, sizeof(*v)), 0);
		v = s->v;
		v[s->n++] = made(i);
	}
}

static void look(const struct spill *s, size_t n)
{
	const struct thing *v = s->v;
	struct thing t;

	assert_int_equal(s->n, n);
	for (size_t i = 0; i < n; i++) {
		t = made(i);
		if (memcmp(&v[i], &t, sizeof(t)))
			assert_int_equal(i, n);
	}
}

static void test_small(void **state)
{
	struct spill s = { 0 };

	spill_free(&s);
	fill(&s, SPILL_HEAP / sizeof(struct thing) / 2);
	assert_int_equal(s.fd, 0);
	spill_done(&s, sizeof(struct thing), 0, s.n);
	look(&s, SPILL_HEAP / sizeof(struct thing) / 2);
	spill_free(&s);
	assert_null(s.v);
}

/* Pages of this process that are in memory. */
static long resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long all, in = -1;

	if (!f || fscanf(f, "%ld %ld", &all, &in) != 2)
		in = -1;
	if (f)
		fclose(f);
	return in * (sysconf(_SC_PAGESIZE) / 1024);
}

static void test_large(void **state)
{
	struct spill s = { 0 };
	long before = resident();
	size_t n = 4000000;	/* 96 MB */

	fill(&s, n);
	assert_true(s.fd > 0);
	if (before > 0)
		assert_in_range(resident() - before, 0, 16 * 1024);
	for (size_t i = 0; i < n; i += 100000)
		spill_done(&s, sizeof(struct thing), i, i + 100000);
	look(&s, n);
	/* written again where it was given back */
	((struct thing *)s.v)[7].a = 99;
	spill_done(&s, sizeof(struct thing), 0, n);
	assert_int_equal(((struct thing *)s.v)[7].a, 99);
	if (before > 0)
		assert_in_range(resident() - before, 0, 16 * 1024);
	spill_free(&s);
	spill_free(&s);
}

/* No file can be made: it stays in the heap. */
static void test_no_place(void **state)
{
	struct spill s = { 0 };
	char *old = getenv("TMPDIR");

	old = old ? strdup(old) : NULL;
	setenv("TMPDIR", "/nonexistent/place", 1);
	assert_true(temp_fd() < 0);
	fill(&s, 200000);
	assert_int_equal(s.fd, 0);
	look(&s, 200000);
	spill_free(&s);
	if (old)
		setenv("TMPDIR", old, 1);
	else
		unsetenv("TMPDIR");
	free(old);
}

static void test_too_large(void **state)
{
	struct spill s = { .n = SIZE_MAX / 8 };

	assert_true(spill_room(&s, 16) < 0);
}

static int by_b(const void *x, const void *y)
{
	const struct thing *a = x, *b = y;

	return a->b < b->b ? -1 : a->b > b->b;
}

/* In order of @b, which is another one than that of addition; each of them once. */
static void test_sort(void **state)
{
	const size_t run = SPILL_HEAP / sizeof(struct thing);
	const size_t sizes[] = { 0, 1, run / 2, 2 * run, 2 * run + 1, 10 * run + 77 };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct spill s = { .n = 0 };
		uint64_t sum = 0, want = 0;
		const struct thing *v;

		fill(&s, sizes[k]);
		spill_sort(&s, sizeof(struct thing), by_b);
		assert_int_equal(s.n, sizes[k]);
		v = s.v;
		for (size_t i = 0; i < s.n; i++) {
			if (i && v[i - 1].b >= v[i].b)
				assert_int_equal(i, s.n);
			if (v[i].b != made(v[i].a).b || v[i].c != ~v[i].a)
				assert_int_equal(i, s.n);
			sum += v[i].a * v[i].a;
			want += i * i;
		}
		assert_int_equal(sum, want);
		fill(&s, 10);	/* it can still grow */
		spill_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small), cmocka_unit_test(test_large),
		cmocka_unit_test(test_sort), cmocka_unit_test(test_no_place),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
