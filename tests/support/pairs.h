/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PAIRS_H
#define TESTS_PAIRS_H

/*
 * All pairs of options: rows in which any two options take all combinations of their values, far
 * fewer than all combinations of all options.
 */
#include <stdio.h>

#define PAIRS_OPTIONS	40
#define PAIRS_VALUES	8	/* of one option */
#define PAIRS_ROWS	256

struct pairs_option {
	const char *name;
	unsigned n;				/* values, 1 to PAIRS_VALUES */
	const char *value[PAIRS_VALUES];	/* as text, for the list; NULL: their number */
};

struct pairs {
	const struct pairs_option *option;	/* of the caller, alive as long as this */
	unsigned noptions, nrows;
	unsigned char row[PAIRS_ROWS][PAIRS_OPTIONS];	/* number of the value of each option */
};

/*
 * The same rows for the same options. Row 0 has value 0 of each. 0, or -1 if there are fewer than
 * two options, or more options, values or rows than fit.
 */
int pairs_make(struct pairs *p, const struct pairs_option *option, unsigned n);
/* "name=value name=value ..." */
void pairs_print(FILE *f, const struct pairs *p, unsigned row);

#endif
