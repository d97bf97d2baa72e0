/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation of a fit fails once: an error, and nothing is left behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "hwtrace/time/fit.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#include "tests/support/nomem.h"

/* 1: a map; 0: none; negative: no memory. */
static int fit(void)
{
	const struct time_fit_opts o = { .drift_ppb = 1000 };
	struct time_fit_report r;
	struct time_fit m;
	struct fitter *f;
	int rc = fitter_new(&f, &o);

	if (rc)
		return rc;
	for (uint64_t i = 0; i < 200 && !rc; i++) {
		uint64_t a = 1000000 * i, b = a * 2 + (i > 100 ? 5000000 : 0);
		const struct time_pair p = { a, a + 10, b, b + 1 };

		rc = fitter_add(f, &p);
	}
	if (!rc)
		rc = fitter_done(f, &m, &r);
	fitter_free(f);
	if (rc == 1)
		time_fit_free(&m);
	return rc;
}

static void each_fails_once(void **state)
{
	long fails_at = 0;
	int rc;

	do {
		balance = 0;
		countdown = fails_at++;
		on = true;
		rc = fit();
		on = false;
		assert_int_equal(balance, 0);
		assert_true(rc == 1 || rc == -ENOMEM);
	} while (rc != 1);
	printf("# %ld allocations\n", fails_at - 1);
	assert_true(fails_at > 15);
}
#else
static void each_fails_once(void **state)
{
	print_message("skipped: the allocator can not be replaced here\n");
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_fails_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
