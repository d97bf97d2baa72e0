/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_CUR_H
#define HWT_BASE_CUR_H

/*
 * A bounded cursor over bytes from outside. A read past the end yields zero and makes @bad stick;
 * callers read a whole group and look at @bad once. Container parsers use nothing else.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cur {
	const uint8_t *p, *end;
	const uint8_t *start;	/* for offsets */
	bool swap;		/* file has the other byte order */
	bool bad;		/* something was read past the end */
};

static inline struct cur cur_new(const void *p, size_t n, bool swap)
{
	/* an empty file has no address; arithmetic on NULL is undefined even with 0 */
	const uint8_t *b = p ? p : (const uint8_t *)"";

	/* cppcheck-suppress pointerOutOfBounds ; it adds lengths to offsets from the end */
	return (struct cur){ .p = b, .end = b + n, .start = b, .swap = swap };
}

static inline size_t cur_left(const struct cur *c)
{
	return (size_t)(c->end - c->p);
}

static inline size_t cur_pos(const struct cur *c)
{
	return (size_t)(c->p - c->start);
}

/* @n bytes, or NULL (and @bad) if there are fewer. */
static inline const uint8_t *cur_take(struct cur *c, size_t n)
{
	const uint8_t *p = c->p;

	if (n > cur_left(c)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += n;
	return p;
}

static inline void cur_skip(struct cur *c, size_t n)
{
	(void)cur_take(c, n);
}

static inline uint8_t cur_u8(struct cur *c)
{
	const uint8_t *p = cur_take(c, 1);

	return p ? *p : 0;
}

static inline uint16_t cur_u16(struct cur *c)
{
	uint16_t v = 0;
	const uint8_t *p = cur_take(c, sizeof(v));

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t cur_u32(struct cur *c)
{
	uint32_t v = 0;
	const uint8_t *p = cur_take(c, sizeof(v));

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t cur_u64(struct cur *c)
{
	uint64_t v = 0;
	const uint8_t *p = cur_take(c, sizeof(v));

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap64(v) : v;
}

/*
 * A string that must end inside the next @n bytes; NULL (and @bad) if it does not. Skips all @n
 * bytes.
 */
static inline const char *cur_str(struct cur *c, size_t n)
{
	const uint8_t *p = cur_take(c, n);

	if (!p || !memchr(p, 0, n)) {
		c->bad = true;
		return NULL;
	}
	return (const char *)p;
}

#endif
