/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SLURP_H
#define TESTS_SLURP_H

#include <stddef.h>
#include <stdint.h>

/* A whole file and a zero behind it; the program ends with a message if it can not be read. */
uint8_t *slurp(const char *path, size_t *n);

#endif
