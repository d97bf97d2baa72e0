/* SPDX-License-Identifier: BSD-2-Clause */
/* "Did you mean": edit distance of short words. */
#include <string.h>

#include "filter.h"

#define NEAR_MAX 31	/* bytes of a word; longer ones are near to nothing */

void near_init(struct near *a, const char *word, size_t n)
{
	/* up to a third of the word may be wrong, and one letter of a short one */
	*a = (struct near){ .word = word, .n = n, .dist = 2 + (unsigned)(n > 30 ? 10 : n / 3) };
	if (n < 4)
		a->dist = 2;
}

void near_try(struct near *a, const char *name)
{
	size_t n = strlen(name);
	unsigned row[NEAR_MAX + 1];

	if (n > NEAR_MAX || a->n > NEAR_MAX)
		return;
	for (size_t k = 0; k <= n; k++)
		row[k] = (unsigned)k;
	for (size_t i = 1; i <= a->n; i++) {
		unsigned diag = row[0];

		row[0] = (unsigned)i;
		for (size_t k = 1; k <= n; k++) {
			unsigned best = diag + (a->word[i - 1] != name[k - 1]);

			if (row[k] + 1 < best)
				best = row[k] + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			diag = row[k];
			row[k] = best;
		}
	}
	if (row[n] < a->dist) {
		a->dist = row[n];
		a->best = name;
	}
}
