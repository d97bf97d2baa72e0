/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SUPPORT_NUMBERS_H
#define TESTS_SUPPORT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Figures of a simulation, for its mean and its quantiles. Without memory the test fails. */
struct numbers {
	uint64_t *v;
	size_t n, cap;
};

void numbers_add(struct numbers *l, uint64_t v);
/* What so many of a thousand are not above; sorts. 0 of none. */
uint64_t numbers_share(struct numbers *l, unsigned permille);
double numbers_mean(const struct numbers *l);

/* @n zeroed things and room for one more; never NULL: without memory the test fails. */
void *numbers_room(size_t n, size_t size);

#endif
