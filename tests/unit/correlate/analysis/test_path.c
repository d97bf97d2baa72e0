/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths: loops are folded so that the number of rounds does not matter and no visit is lost; the
 * common part of two paths against the longest common subsequence by dynamic programming.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/analysis/path.h"
#include "tests/support/rnd.h"

static const struct hwt_interval at = { 1, 1 };

static void push(struct path *p, const char *s)
{
	for (; *s; s++)
		assert_int_equal(path_token(p, at, (uint8_t)*s, (uint8_t)*s, false), 0);
}

static uint64_t hash_of(const char *s)
{
	struct path p = { .cut = false };
	uint64_t h;

	path_begin(&p, at, HWT_PART_RUN, true);
	push(&p, s);
	h = path_hash(&p);
	path_free(&p);
	return h;
}

static void same(const char *a, const char *b)
{
	assert_true(hash_of(a) == hash_of(b));
}

static void differ(const char *a, const char *b)
{
	assert_true(hash_of(a) != hash_of(b));
}

static void folds(void **state)
{
	same("xabababy", "xaby");
	same("xaaaay", "xay");
	same("xabcabcabcz", "xabcabcz");
	/* inner loops of other lengths in each round */
	same("xabbbcabcabbcy", "xabcy");
	differ("xaby", "xbay");
	differ("xaby", "xay");
	/* the last round is left in the middle: another way out of the loop */
	differ("xababy", "xabay");
	same("xababay", "xabay");
}

/* Each visit has a number of its own in its token, whatever was folded when. */
static void visits(void **state)
{
	for (unsigned run = 0; run < 300; run++) {
		struct path p = { .cut = false };
		unsigned n = (unsigned)(rnd() % 400), sum = 0;
		static uint8_t seen[512][512];

		memset(seen, 0, sizeof(seen));
		path_begin(&p, at, HWT_PART_RUN, true);
		for (unsigned i = 0; i < n; i++) {
			char c[2] = { (char)('a' + rnd() % (run % 7 + 1)), 0 };

			push(&p, c);
		}
		assert_int_equal(p.steps.n, n + 1);
		for (size_t i = 0; i < p.tokens.n; i++)
			sum += ((struct path_token *)p.tokens.v)[i].visits;
		assert_int_equal(sum, n + 1);
		for (size_t i = 0; i < p.steps.n; i++) {
			const struct path_step *s = (struct path_step *)p.steps.v + i;
			const struct path_token *t = (struct path_token *)p.tokens.v + s->pos;

			assert_true(s->pos < p.tokens.n && s->round >= 1 &&
				    s->round <= t->visits && !seen[s->pos][s->round]++);
		}
		path_free(&p);
	}
}

static unsigned lcs(const struct path *a, const struct path *b)
{
	static unsigned t[512][512];

	for (size_t i = 0; i <= a->tokens.n; i++)
		for (size_t k = 0; k <= b->tokens.n; k++) {
			const struct path_token *x = (struct path_token *)a->tokens.v + i - 1;
			const struct path_token *y = (struct path_token *)b->tokens.v + k - 1;

			t[i][k] = !i || !k ? 0 : x->value == y->value ? t[i - 1][k - 1] + 1 :
				t[i - 1][k] > t[i][k - 1] ? t[i - 1][k] : t[i][k - 1];
		}
	return t[a->tokens.n][b->tokens.n];
}

static void matches(void **state)
{
	for (unsigned run = 0; run < 2000; run++) {
		struct path a = { .cut = false }, b = { .cut = false };
		unsigned letters = run % 20 + 1, found = 0;
		uint32_t match[512], last = 0;

		path_begin(&a, at, HWT_PART_RUN, false);
		path_begin(&b, at, HWT_PART_RUN, false);
		for (unsigned i = (unsigned)(rnd() % 60); i; i--) {
			char c[2] = { (char)('a' + rnd() % letters), 0 };

			if (rnd() % 4)
				push(&a, c);
			if (rnd() % 4)
				push(&b, c);
		}
		assert_int_equal(path_match(&a, &b, match), 0);
		for (size_t i = 0; i < a.tokens.n; i++) {
			if (match[i] == UINT32_MAX)
				continue;
			assert_true(!found || match[i] > last);
			assert_true(((struct path_token *)a.tokens.v)[i].value ==
				    ((struct path_token *)b.tokens.v)[match[i]].value);
			last = match[i];
			found++;
		}
		assert_int_equal(found, lcs(&a, &b));
		path_free(&a);
		path_free(&b);
	}
}

/* What is too long is not compared, and said. */
static void limits(void **state)
{
	struct path a = { .cut = false }, b = { .cut = false };
	uint32_t *match = malloc((PATH_TOKENS + 1) * sizeof(*match));

	path_begin(&a, at, HWT_PART_RUN, false);
	path_begin(&b, at, HWT_PART_RUN, false);
	for (unsigned i = 0; i < PATH_TOKENS + 10; i++) {
		assert_int_equal(path_token(&a, at, i * 2, i, false), 0);
		assert_int_equal(path_token(&b, at, i * 2 + 1, i, false), 0);
	}
	assert_true(a.cut && a.tokens.n == PATH_TOKENS);
	assert_true(path_hash(&a) != path_hash(&b));
	assert_int_equal(path_match(&a, &b, match), 0);
	assert_true(match[0] == 0);
	for (unsigned i = 1; i < PATH_TOKENS; i++)
		assert_true(match[i] == UINT32_MAX);
	free(match);
	path_free(&a);
	path_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folds),
		cmocka_unit_test(visits),
		cmocka_unit_test(matches),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
