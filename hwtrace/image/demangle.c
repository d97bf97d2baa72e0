/* SPDX-License-Identifier: BSD-2-Clause */
#include "demangle.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_IN	4096		/* bytes; longer names stay as they are */
#define NAME_MAX_OUT	(1u << 20)	/* bytes a demangled name may possibly have */
#define SUBST_MAX	128		/* back references that are told apart */

/* of the C++ runtime, which has no C header for it */
char *__cxa_demangle(const char *name, char *buf, size_t *n, int *status);

/* The number of a back reference "S_" (0), "S0_" (1) ... at @s, -1 if it is none. */
static int subst_id(const char *s, const char **end)
{
	int id = 0;

	if (*++s == '_') {
		*end = s + 1;
		return 0;
	}
	for (; (*s >= '0' && *s <= '9') || (*s >= 'A' && *s <= 'Z'); s++) {
		id = id * 36 + (*s <= '9' ? *s - '0' : *s - 'A' + 10);
		if (id > NAME_MAX_IN)
			return -1;
	}
	if (*s != '_')
		return -1;
	*end = s + 1;
	return id + 1;
}

/*
 * A back reference repeats an earlier part, and parts with back references can be repeated again:
 * 300 bytes can stand for gigabytes. This is an upper bound of the size: a part is at most
 * all that precedes the first reference to it or to a later part.
 */
static int too_big(const char *name)
{
	uint64_t total = 0, first[SUBST_MAX];
	const char *s = name;

	memset(first, 0xff, sizeof(first));
	while (*s) {
		if (*s >= '1' && *s <= '9') {
			size_t n = strtoul(s, (char **)&s, 10), left = strlen(s);

			n = n < left ? n : left;
			total += n;
			s += n;
			continue;
		}
		const char *end = s + 1;
		int id = *s == 'S' ? subst_id(s, &end) : -1;

		if (id >= 0) {
			uint64_t size = total;

			for (int i = id; i < SUBST_MAX; i++)
				size = first[i] < size ? first[i] : size;
			if (id < SUBST_MAX && first[id] > size)
				first[id] = size;
			total += size;
		} else {
			total += 8;
		}
		if (total > NAME_MAX_OUT)
			return 1;
		s = end;
	}
	return 0;
}

/* Rust's legacy mangling ends in a hash that looks like a namespace. */
static size_t rust_hash(const char *s, size_t n)
{
	if (n < 19 || memcmp(s + n - 19, "::h", 3))
		return 0;
	return strspn(s + n - 16, "0123456789abcdef") == 16 ? 19 : 0;
}

/* One "$..$" escape of Rust's legacy mangling: bytes used, 0 if it is none. */
static size_t rust_escape(const char *s, char *c)
{
	static const struct { const char *from; char to; } esc[] = {
		{ "$SP$", '@' }, { "$BP$", '*' }, { "$RF$", '&' }, { "$LT$", '<' },
		{ "$GT$", '>' }, { "$LP$", '(' }, { "$RP$", ')' }, { "$C$", ',' },
	};
	char *end;
	unsigned long u;

	for (size_t i = 0; i < sizeof(esc) / sizeof(esc[0]); i++) {
		size_t n = strlen(esc[i].from);

		if (!strncmp(s, esc[i].from, n)) {
			*c = esc[i].to;
			return n;
		}
	}
	if (s[1] != 'u' || strspn(s + 2, "0123456789abcdef") > 6)
		return 0;
	u = strtoul(s + 2, &end, 16);
	if (end == s + 2 || *end != '$' || u < 0x20 || u > 0x7e)
		return 0;
	*c = (char)u;
	return (size_t)(end + 1 - s);
}

static void rust_name(const char *s, size_t n, char *buf, size_t size)
{
	size_t o = 0;

	for (size_t i = 0; i < n && o + 1 < size; ) {
		size_t used = s[i] == '$' ? rust_escape(s + i, &buf[o]) : 0;
		int fresh = !i || (i > 1 && s[i - 1] == ':' && s[i - 2] == ':');

		if (used) {
			i += used;
			o++;
		} else if (s[i] == '_' && s[i + 1] == '$' && fresh) {
			i++;		/* an identifier may not begin with '$' */
		} else if (s[i] == '.' && s[i + 1] == '.') {
			buf[o++] = ':';
			if (o + 1 < size)
				buf[o++] = ':';
			i += 2;
		} else {
			buf[o++] = s[i++];
		}
	}
	buf[o] = 0;
}

char *demangle(const char *name, char *buf, size_t n)
{
	const char *m = name;
	char *out = NULL;
	int status;
	size_t len, hash;

	if (m[0] == '_' && m[1] == '_' && m[2] == 'Z')
		m++;		/* Mach-O and some old compilers put one more in front */
	if (m[0] == '_' && m[1] == 'Z' && strnlen(m, NAME_MAX_IN + 1) <= NAME_MAX_IN &&
	    !too_big(m + 2))
		out = __cxa_demangle(m, NULL, NULL, &status);
	if (!out) {
		snprintf(buf, n, "%s", name);
		return buf;
	}
	len = strlen(out);
	hash = rust_hash(out, len);
	if (hash)
		rust_name(out, len - hash, buf, n);
	else
		snprintf(buf, n, "%s", out);
	free(out);
	return buf;
}
