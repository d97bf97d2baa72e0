/* SPDX-License-Identifier: BSD-2-Clause */
/* Truth: every pair of every two options is looked for in the rows, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/pairs.h"
#include "tests/support/rnd.h"

static unsigned missing(const struct pairs *p)
{
	unsigned n = 0;

	for (unsigned a = 0; a < p->noptions; a++)
		for (unsigned b = a + 1; b < p->noptions; b++)
			for (unsigned v = 0; v < p->option[a].n * p->option[b].n; v++) {
				unsigned r = 0;

				while (r < p->nrows && (p->row[r][a] != v % p->option[a].n ||
							p->row[r][b] != v / p->option[a].n))
					r++;
				n += r == p->nrows;
			}
	return n;
}

static void all_pairs(void **state)
{
	static struct pairs p, q;
	struct pairs_option op[PAIRS_OPTIONS] = { { NULL, 0, { NULL } } };

	(void)state;
	for (unsigned turn = 0; turn < 40; turn++) {
		unsigned n = turn ? 2 + (unsigned)(rnd() % 24) : PAIRS_OPTIONS, most = 0, next = 0;

		for (unsigned i = 0; i < n; i++) {
			op[i].n = 1 + (unsigned)(rnd() % 4);
			next = op[i].n > most ? most : op[i].n > next ? op[i].n : next;
			most = op[i].n > most ? op[i].n : most;
		}
		assert_int_equal(pairs_make(&p, op, n), 0);
		assert_int_equal(missing(&p), 0);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(p.row[0][i], 0);
			for (unsigned r = 0; r < p.nrows; r++)
				assert_true(p.row[r][i] < op[i].n);
		}
		assert_in_range(p.nrows, most * next, 3 * most * next + 10);
		assert_int_equal(pairs_make(&q, op, n), 0);
		assert_memory_equal(&p, &q, sizeof(p));
	}
}

static void limits(void **state)
{
	static struct pairs p;
	struct pairs_option op[PAIRS_OPTIONS + 1] = { { "a", 2, { "x", NULL } },
		{ "b", 3, { NULL } } };
	char line[64] = "";
	FILE *f = fmemopen(line, sizeof(line), "w");

	(void)state;
	assert_int_equal(pairs_make(&p, op, 1), -1);
	assert_int_equal(pairs_make(&p, op, 3), -1);	/* no values */
	op[2].n = PAIRS_VALUES + 1;
	assert_int_equal(pairs_make(&p, op, 3), -1);
	assert_int_equal(pairs_make(&p, op, PAIRS_OPTIONS + 1), -1);
	assert_int_equal(pairs_make(&p, op, 2), 0);
	assert_int_equal(p.nrows, 6);
	assert_non_null(f);
	pairs_print(f, &p, 0);
	fclose(f);
	assert_string_equal(line, "a=x b=0");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_pairs), cmocka_unit_test(limits) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
