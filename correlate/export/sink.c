/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP (1u << 20)		/* bytes of one write, so that a stop is soon heard */

static void write_all(struct sink *s, const uint8_t *p, size_t n)
{
	while (n && !s->err) {
		ssize_t k;

		if (s->stop && *s->stop) {
			s->err = -EINTR;
			break;
		}
		k = write(s->fd, p, n < STEP ? n : STEP);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			s->err = -errno;
			break;
		}
		p += k;
		n -= (size_t)k;
	}
}

int sink_flush(struct sink *s)
{
	write_all(s, s->buf, s->n);
	s->n = 0;
	return s->err;
}

void sink_put(struct sink *s, const void *p, size_t n)
{
	s->pos += n;
	if (s->count || s->err || !n)
		return;
	if (n > sizeof(s->buf) - s->n)
		sink_flush(s);
	if (n > sizeof(s->buf)) {
		write_all(s, p, n);
		return;
	}
	memcpy(s->buf + s->n, p, n);
	s->n += n;
}

/* Room for @n more. */
static bool room(struct bytes *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	uint8_t *p;

	if (b->failed || n > SIZE_MAX / 4 - b->n) {
		b->failed = true;
		return false;
	}
	while (cap < b->n + n)
		cap *= 2;
	if (cap == b->cap)
		return true;
	p = realloc(b->p, cap);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->p = p;
	b->cap = cap;
	return true;
}

void bytes_put(struct bytes *b, const void *p, size_t n)
{
	if (!n || !room(b, n))
		return;
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

void bytes_zero(struct bytes *b, size_t n)
{
	if (!n || !room(b, n))
		return;
	memset(b->p + b->n, 0, n);
	b->n += n;
}

void bytes_str(struct bytes *b, const char *s)
{
	size_t n = strlen(s) + 1;

	bytes_put(b, s, n);
	bytes_zero(b, -n & 7);
}
