/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

#include "perf.h"
#include "unpack.h"

#define OUT_SIZE (256 * 1024)	/* bytes; holds the largest record (65,535) several times */
#define WINDOW_LOG 27		/* the format's own default limit: 128 MiB, used only if declared */
/*
 * perf gains at most some hundred to one. A stream of constant bytes gains 30,000 to one and would
 * cost time that the size of the input does not bound.
 */
#define MAX_RATIO 2048
#define RATIO_FREE (16u << 20)	/* bytes of output before the ratio is looked at */

struct perf_zstd {
	ZSTD_DStream *ds;
	ZSTD_inBuffer in;
	uint64_t fed, made;
	uint32_t head, tail;		/* unread bytes are buf[head..tail) */
	bool more;			/* output was full: the library may hold more */
	uint8_t buf[OUT_SIZE];
};

int perf_zstd_new(struct perf_zstd **out)
{
	struct perf_zstd *z = malloc(sizeof(*z));

	if (!z)
		return -ENOMEM;
	z->ds = ZSTD_createDStream();
	if (!z->ds) {
		free(z);
		return -ENOMEM;
	}
	perf_zstd_reset(z);
	*out = z;
	return 0;
}

void perf_zstd_free(struct perf_zstd *z)
{
	if (!z)
		return;
	ZSTD_freeDStream(z->ds);
	free(z);
}

void perf_zstd_reset(struct perf_zstd *z)
{
	ZSTD_DCtx_reset(z->ds, ZSTD_reset_session_only);
	ZSTD_DCtx_setParameter(z->ds, ZSTD_d_windowLogMax, WINDOW_LOG);
	z->in = (ZSTD_inBuffer){ 0 };
	z->fed = z->made = 0;
	z->head = z->tail = 0;
	z->more = false;
}

void perf_zstd_feed(struct perf_zstd *z, const uint8_t *p, size_t n)
{
	z->in = (ZSTD_inBuffer){ .src = p, .size = n };
	z->fed += n;
}

size_t perf_zstd_left(const struct perf_zstd *z)
{
	return z->tail - z->head;
}

/* Size of the record at the head; 0 if its header is not there yet. */
static uint32_t head_size(const struct perf_zstd *z, bool swap)
{
	struct cur c = cur_new(z->buf + z->head, z->tail - z->head, swap);
	uint32_t size;

	if (cur_left(&c) < 8)
		return 0;
	cur_skip(&c, 6);
	size = cur_u16(&c);
	return size < 8 ? UINT32_MAX : size;
}

bool perf_zstd_ready(const struct perf_zstd *z, bool swap)
{
	uint32_t size = head_size(z, swap);

	return size && size <= z->tail - z->head;
}

/* Makes room and gets at least one more byte: 1, 0 if the input is used up, or negative. */
static int refill(struct perf_zstd *z, const char **what)
{
	ZSTD_outBuffer out;
	size_t rc, before;

	memmove(z->buf, z->buf + z->head, z->tail - z->head);
	z->tail -= z->head;
	z->head = 0;
	before = z->tail;
	while (z->tail == before) {
		if (z->in.pos == z->in.size && !z->more)
			return 0;
		out = (ZSTD_outBuffer){ .dst = z->buf, .size = OUT_SIZE, .pos = z->tail };
		rc = ZSTD_decompressStream(z->ds, &out, &z->in);
		if (ZSTD_isError(rc)) {
			*what = ZSTD_getErrorName(rc);
			return -HWT_E_FORMAT;
		}
		z->more = out.pos == out.size;
		z->made += out.pos - z->tail;
		z->tail = (uint32_t)out.pos;
	}
	if (z->made > RATIO_FREE && z->made / MAX_RATIO > z->fed) {
		*what = "more than 2048 bytes for each compressed one";
		return -HWT_E_FORMAT;
	}
	return 1;
}

int perf_zstd_record(struct perf_zstd *z, bool swap, const uint8_t **p, uint32_t *n,
		     const char **what)
{
	for (;;) {
		uint32_t size = head_size(z, swap);
		int rc;

		if (size == UINT32_MAX) {
			*what = "a record inside has a size below 8";
			return -HWT_E_FORMAT;
		}
		if (size && size <= z->tail - z->head) {
			*p = z->buf + z->head;
			*n = size;
			z->head += size;
			return 1;
		}
		rc = refill(z, what);
		if (rc <= 0)
			return rc;
	}
}

int unpack_zstd(void *dst, size_t n, const void *src, size_t m)
{
	size_t got = ZSTD_decompress(dst, n, src, m);

	return ZSTD_isError(got) || got != n ? -HWT_E_FORMAT : 0;
}
