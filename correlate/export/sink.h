/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_EXPORT_SINK_H
#define HWT_EXPORT_SINK_H

/* Where bytes go: a descriptor, or only a count. And bytes that are put together before. */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink {
	int fd;
	bool count;		/* nothing is written */
	int err;		/* negated errno of the first failure; later bytes are dropped */
	uint64_t pos;		/* bytes put so far */
	const volatile sig_atomic_t *stop;	/* NULL: never */
	size_t n;
	uint8_t buf[65536];
};

void sink_put(struct sink *s, const void *p, size_t n);
int sink_flush(struct sink *s);		/* 0 or @err */

/* Grows as needed; a failing allocation is remembered and later bytes are dropped. */
struct bytes {
	uint8_t *p;
	size_t n, cap;
	bool failed;
};

void bytes_put(struct bytes *b, const void *p, size_t n);
void bytes_zero(struct bytes *b, size_t n);
/* The string with its NUL, zeroes up to a multiple of 8. */
void bytes_str(struct bytes *b, const char *s);

static inline void bytes_u16(struct bytes *b, uint16_t v) { bytes_put(b, &v, 2); }
static inline void bytes_u32(struct bytes *b, uint32_t v) { bytes_put(b, &v, 4); }
static inline void bytes_u64(struct bytes *b, uint64_t v) { bytes_put(b, &v, 8); }

/* Element @i of a struct vec. */
#define list_at(l, type, i) (&((type *)(l)->v)[i])

#endif
