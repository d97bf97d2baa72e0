/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_OUT_OUT_H
#define CLI_OUT_OUT_H

/*
 * The one writer of the tool: a buffer, and numbers printed by hand, so that a listing costs no
 * printf for a field. The first failing write is kept in @err and all later output is dropped.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define OUT_BUF 65536

struct out {
	int fd;
	int err;		/* errno of the first write that failed, 0 */
	bool color;
	bool owned;		/* @fd is closed by out_close() */
	unsigned n;		/* bytes in @buf */
	uint64_t flushed;	/* bytes written before @buf */
	uint64_t line;		/* total position where the line's column 0 is */
	char buf[OUT_BUF];
};

enum out_style { OUT_PLAIN, OUT_BOLD, OUT_DIM, OUT_RED, OUT_GREEN, OUT_YELLOW, OUT_CYAN };

void out_init(struct out *o, int fd);
/* Writes what is buffered. Returns 0 or the negated errno of the first failure. */
int out_flush(struct out *o);
/* Flushes, closes an owned descriptor; as out_flush(). */
int out_close(struct out *o);

void out_more(struct out *o, const void *p, size_t n);	/* out_mem() across a flush */
void out_udec(struct out *o, uint64_t v);
void out_dec(struct out *o, int64_t v);
/* Right-aligned in @width columns. */
void out_udecw(struct out *o, uint64_t v, unsigned width);
/* Lower case, no prefix; at least @digits digits. */
void out_hex(struct out *o, uint64_t v, unsigned digits);
void out_bytes(struct out *o, const uint8_t *p, size_t n);	/* "02 82" as "0282" */
/* Blanks up to @col, at least one. */
void out_tab(struct out *o, unsigned col);
void out_fmt(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_style(struct out *o, enum out_style s);
/* A string from the input: control bytes, ESC and bidirectional marks can not reach a terminal. */
void out_safe(struct out *o, const char *s);
/* A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void out_json_str(struct out *o, const char *s);
/* What stands behind "hole" if there are @n: "1 hole", "2 holes"; and both. */
static inline const char *out_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}
void out_count(struct out *o, uint64_t n, const char *what);
/* 12345678 as "12 345 678". */
void out_group(struct out *o, uint64_t v);
/* A length of time, "1.25 us", and a size, "3.4 MB". */
void out_span(struct out *o, uint64_t ns);
void out_spans(struct out *o, uint64_t lo, uint64_t hi);	/* "1.352 s to 1.354 s" */
void out_spans_sep(struct out *o, uint64_t first, uint64_t second, const char *sep);
void out_size(struct out *o, uint64_t bytes);

static inline void out_mem(struct out *o, const void *p, size_t n)
{
	if (n > OUT_BUF - o->n) {
		out_more(o, p, n);
		return;
	}
	memcpy(o->buf + o->n, p, n);
	o->n += (unsigned)n;
}

static inline void out_ch(struct out *o, char c)
{
	if (o->n == OUT_BUF)
		out_flush(o);
	o->buf[o->n++] = c;
}

static inline void out_str(struct out *o, const char *s)
{
	out_mem(o, s, strlen(s));
}

/* Ends the line. Lines are only ever cut by a failing write. */
static inline void out_nl(struct out *o)
{
	out_ch(o, '\n');
	o->line = o->flushed + o->n;
}

/*
 * Decodes one UTF-8 character of the NUL-terminated @s. Returns its length, and the character, or
 * 1 and -1 for a byte that begins none (RFC 3629: no surrogates, no overlong forms).
 */
unsigned out_utf8(const char *s, int32_t *cp);

#endif
