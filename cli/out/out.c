/* SPDX-License-Identifier: BSD-2-Clause */
#include "out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void out_init(struct out *o, int fd)
{
	o->fd = fd;
	o->err = 0;
	o->color = false;
	o->owned = false;
	o->n = 0;
	o->flushed = 0;
	o->line = 0;
}

int out_flush(struct out *o)
{
	const char *p = o->buf;
	size_t n = o->n;

	while (n && !o->err) {
		ssize_t rc = write(o->fd, p, n);

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0) {
			o->err = errno;
			break;
		}
		p += rc;
		n -= (size_t)rc;
	}
	o->flushed += o->n;
	o->n = 0;
	return -o->err;
}

int out_close(struct out *o)
{
	out_flush(o);
	/* some file systems report a full disk only here */
	if (o->owned && close(o->fd) < 0 && !o->err)
		o->err = errno;
	o->owned = false;
	return -o->err;
}

void out_more(struct out *o, const void *p, size_t n)
{
	while (n) {
		size_t k = OUT_BUF - o->n;

		if (!k) {
			out_flush(o);
			continue;
		}
		if (k > n)
			k = n;
		memcpy(o->buf + o->n, p, k);
		o->n += (unsigned)k;
		p = (const char *)p + k;
		n -= k;
	}
}

/* Digits of @v, at most 20, written up to @p; returns the first. */
static char *digits(char *p, uint64_t v)
{
	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return p;
}

void out_udec(struct out *o, uint64_t v)
{
	char buf[20], *end = buf + sizeof(buf), *p = digits(end, v);

	out_mem(o, p, (size_t)(end - p));
}

void out_dec(struct out *o, int64_t v)
{
	if (v < 0)
		out_ch(o, '-');
	out_udec(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void out_udecw(struct out *o, uint64_t v, unsigned width)
{
	char buf[20], *end = buf + sizeof(buf), *p = digits(end, v);

	for (unsigned n = (unsigned)(end - p); n < width; n++)
		out_ch(o, ' ');
	out_mem(o, p, (size_t)(end - p));
}

static const char hexdigit[] = "0123456789abcdef";

void out_hex(struct out *o, uint64_t v, unsigned min)
{
	char buf[16], *p = buf + 16;

	do {
		*--p = hexdigit[v & 15];
		v >>= 4;
	} while (v || (buf + 16 - p < (int)min && p > buf));
	out_mem(o, p, (size_t)(buf + 16 - p));
}

void out_bytes(struct out *o, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		out_ch(o, hexdigit[p[i] >> 4]);
		out_ch(o, hexdigit[p[i] & 15]);
	}
}

void out_tab(struct out *o, unsigned col)
{
	uint64_t at = o->flushed + o->n - o->line;
	unsigned n = at < col ? col - (unsigned)at : 1;

	if (n > OUT_BUF - o->n) {
		while (n--)
			out_ch(o, ' ');
		return;
	}
	memset(o->buf + o->n, ' ', n);
	o->n += n;
}

void out_fmt(struct out *o, const char *fmt, ...)
{
	char buf[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n > 0)
		out_mem(o, buf, (size_t)n < sizeof(buf) ? (size_t)n : sizeof(buf) - 1);
}

void out_style(struct out *o, enum out_style s)
{
	static const char *const code[] = {
		[OUT_PLAIN] = "\033[0m", [OUT_BOLD] = "\033[1m", [OUT_DIM] = "\033[2m",
		[OUT_RED] = "\033[31m", [OUT_GREEN] = "\033[32m", [OUT_YELLOW] = "\033[33m",
		[OUT_CYAN] = "\033[36m",
	};

	if (!o->color)
		return;
	out_str(o, code[s]);
	o->line += strlen(code[s]);	/* takes no column */
}

unsigned out_utf8(const char *s, int32_t *cp)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 :
		p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
	int32_t c = n == 1 ? p[0] : p[0] & (0x7f >> n);

	*cp = -1;
	if (!n)
		return 1;
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)	/* also stops at the NUL */
			return 1;
		c = c << 6 | (p[i] & 0x3f);
	}
	if ((n == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) ||
	    (n == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 1;
	*cp = c;
	return n;
}

/* Characters that move the cursor, change colours or reorder the text around them. */
static bool unsafe(int32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c ||
		(c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
		(c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Bytes of @s before the first that is no printable ASCII or is one of @but. */
static size_t plain(const char *s, const char *but)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != but[0] && s[n] != but[1])
		n++;
	return n;
}

void out_safe(struct out *o, const char *s)
{
	int32_t c;

	for (;;) {
		unsigned n = (unsigned)plain(s, "\x7f\x7f");

		out_mem(o, s, n);
		s += n;
		if (!*s)
			return;
		n = out_utf8(s, &c);
		if (c < 0 || (c < 0x80 && unsafe(c))) {
			out_str(o, "\\x");
			out_hex(o, (unsigned char)*s, 2);
		} else if (unsafe(c)) {
			out_str(o, "\\u");
			out_hex(o, (uint64_t)c, 4);
		} else {
			out_mem(o, s, n);
			o->line += n - 1;	/* one column */
		}
		s += n;
	}
}

void out_json_str(struct out *o, const char *s)
{
	int32_t c;

	out_ch(o, '"');
	for (;;) {
		unsigned n = (unsigned)plain(s, "\"\\");

		out_mem(o, s, n);
		s += n;
		if (!*s)
			break;
		n = out_utf8(s, &c);
		if (c < 0) {
			out_str(o, "\\ufffd");
		} else if (c == '"' || c == '\\') {
			out_ch(o, '\\');
			out_ch(o, (char)c);
		} else if (unsafe(c)) {
			out_str(o, "\\u");
			out_hex(o, (uint64_t)c, 4);
		} else {
			out_mem(o, s, n);
		}
		s += n;
	}
	out_ch(o, '"');
}

void out_count(struct out *o, uint64_t n, const char *what)
{
	out_udec(o, n);
	out_ch(o, ' ');
	out_str(o, what);
	out_str(o, out_s(n));
}

void out_group(struct out *o, uint64_t v)
{
	char buf[20], *end = buf + sizeof(buf), *p = digits(end, v);

	for (; p < buf + 20; p++) {
		out_ch(o, *p);
		if (p + 1 < buf + 20 && (buf + 20 - p - 1) % 3 == 0)
			out_ch(o, ' ');
	}
}

/* @v / @unit with up to three digits that say something, cut, never rounded up. */
static void scaled(struct out *o, uint64_t v, uint64_t unit, const char *name)
{
	uint64_t whole = v / unit, frac = v % unit * 100 / unit;

	out_udec(o, whole);
	if ((whole < 10 && frac) || (whole < 100 && frac / 10)) {
		out_ch(o, '.');
		out_ch(o, (char)('0' + frac / 10));
		if (whole < 10 && frac % 10)
			out_ch(o, (char)('0' + frac % 10));
	}
	out_ch(o, ' ');
	out_str(o, name);
}

void out_span(struct out *o, uint64_t ns)
{
	if (ns < 1000)
		out_udec(o, ns), out_str(o, " ns");
	else if (ns < 1000000)
		scaled(o, ns, 1000, "us");
	else if (ns < 1000000000)
		scaled(o, ns, 1000000, "ms");
	else
		scaled(o, ns, 1000000000, "s");
}

/* Both ends with as many decimals as it takes to tell one from the other. */
void out_spans(struct out *o, uint64_t lo, uint64_t hi)
{
	out_spans_sep(o, lo, hi, " to ");
}

void out_spans_sep(struct out *o, uint64_t first, uint64_t second, const char *sep)
{
	uint64_t lo = first < second ? first : second, hi = first < second ? second : first;
	static const struct { uint64_t ns; const char *name; } units[] = {
		{ 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" },
	};
	const uint64_t ends[] = { first, second };
	unsigned u = lo >= 1000000000 ? 0 : lo >= 1000000 ? 1 : 2, digits = 0;
	uint64_t unit = units[u].ns, step;

	step = unit / (lo < 10 * unit ? 100 : lo < 100 * unit ? 10 : 1);
	if (lo >= hi || lo < 1000 || lo / step != hi / step) {
		out_span(o, first);
		out_str(o, sep);
		out_span(o, second);
		return;
	}
	while (lo / step == hi / step)
		step /= 10;
	for (uint64_t n = step; n < unit; n *= 10)
		digits++;
	for (unsigned i = 0; i < 2; i++)
		out_fmt(o, "%s%llu.%0*llu %s", i ? sep : "",
			(unsigned long long)(ends[i] / unit), (int)digits,
			(unsigned long long)(ends[i] % unit / step), units[u].name);
}

void out_size(struct out *o, uint64_t bytes)
{
	if (bytes < 1024)
		out_udec(o, bytes), out_str(o, " B");
	else if (bytes < 1024 * 1024)
		scaled(o, bytes, 1024, "KiB");
	else if (bytes < 1024 * 1024 * 1024)
		scaled(o, bytes, 1024 * 1024, "MiB");
	else
		scaled(o, bytes, 1024 * 1024 * 1024, "GiB");
}
