/* SPDX-License-Identifier: BSD-2-Clause */
/* What is in the messages of ctf_pipe.c. The process that made them may have gone wrong. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "ctf.h"

static const char *const scopes[CTF_SCOPES] = { "packet.", "stream.", "context.", "" };

int ctf_msg_whole(const uint8_t *p, size_t n)
{
	struct ctf_msg h;

	if (n < sizeof(h))
		return 0;
	memcpy(&h, p, sizeof(h));
	if (h.size < sizeof(h) || h.size % 8 || h.size > CTF_MSG_MAX || h.type >= CTF_TYPES)
		return -HWT_E_LIB;
	return n >= h.size;
}

struct cur ctf_body(const struct ctf_msg *m)
{
	return cur_new(m + 1, m->size - sizeof(*m), false);
}

const char *ctf_text(struct cur *c)
{
	const uint8_t *end = cur_left(c) ? memchr(c->p, 0, cur_left(c)) : NULL;

	if (end)
		return (const char *)cur_take(c, (size_t)(end - c->p) + 1);
	cur_skip(c, cur_left(c));
	return "";
}

int ctf_next_field(struct cur *c, struct ctf_value *v)
{
	/* what is left may be what fills the message up to a multiple of 8 */
	if (cur_left(c) < sizeof(v->h))
		return 0;
	memcpy(&v->h, cur_take(c, sizeof(v->h)), sizeof(v->h));
	v->name = (const char *)cur_take(c, v->h.name);
	v->p = cur_take(c, v->h.size);
	return !c->bad && v->h.scope < CTF_SCOPES;
}

bool ctf_find(const struct ctf_msg *m, const char *name, struct ctf_value *v)
{
	struct cur c = ctf_body(m);
	size_t len = strlen(name);

	/* the event's own are first in the message, and may have dots of their own */
	while (ctf_next_field(&c, v)) {
		const char *scope = scopes[v->h.scope];
		size_t n = strlen(scope);

		if (v->h.name == len && !memcmp(v->name, name, len))
			return true;
		if (n && len == n + v->h.name && !memcmp(name, scope, n) &&
		    !memcmp(name + n, v->name, v->h.name))
			return true;
	}
	return false;
}

bool ctf_number(const struct ctf_value *v, uint64_t *n)
{
	if ((v->h.kind & ~CTF_K_HEX) > CTF_K_BOOL || v->h.size < sizeof(*n))
		return false;
	memcpy(n, v->p, sizeof(*n));
	return true;
}

static void put_enum(struct text *o, const struct ctf_value *v, uint64_t n)
{
	struct cur c = cur_new(v->p, v->h.size, false);
	const char *sep = "";

	cur_skip(&c, sizeof(n));
	while (cur_left(&c)) {
		const char *s = ctf_text(&c);

		text_put(o, "%s", sep);
		text_quoted(o, s, strlen(s));
		sep = "|";
	}
	if ((v->h.kind & ~CTF_K_HEX) == CTF_K_SENUM)
		text_put(o, *sep ? "(%" PRId64 ")" : "%" PRId64, (int64_t)n);
	else
		text_put(o, *sep ? "(%" PRIu64 ")" : "%" PRIu64, n);
}

static void put_value(struct text *o, const struct ctf_value *v)
{
	uint64_t n = 0;
	double d = 0;

	ctf_number(v, &n);
	switch (v->h.kind) {
	case CTF_K_UENUM: case CTF_K_SENUM: case CTF_K_UENUM | CTF_K_HEX:
	case CTF_K_SENUM | CTF_K_HEX:
		put_enum(o, v, n);
		break;
	case CTF_K_UNSIGNED | CTF_K_HEX: case CTF_K_SIGNED | CTF_K_HEX:
		text_put(o, "0x%" PRIx64, n);
		break;
	case CTF_K_SIGNED:
		text_put(o, "%" PRId64, (int64_t)n);
		break;
	case CTF_K_REAL:
		if (v->h.size == sizeof(d))
			memcpy(&d, v->p, sizeof(d));
		text_put(o, "%.17g", d);
		break;
	case CTF_K_STRING:
		text_quoted(o, (const char *)v->p, v->h.size);
		break;
	case CTF_K_STRUCT:
		text_put(o, "{}");
		break;
	case CTF_K_ARRAY:
		text_put(o, "[]");
		break;
	default:
		text_put(o, "%" PRIu64, n);
	}
}

/* Bytes of the name of the array that @v is element @i of, 0: of none. */
static size_t element_of(const struct ctf_value *v, uint64_t i)
{
	char index[24];
	size_t n = (size_t)snprintf(index, sizeof(index), "[%" PRIu64 "]", i);

	return v->h.name > n && !memcmp(v->name + v->h.name - n, index, n) ? v->h.name - n : 0;
}

/* Elements of an array stand in one pair of brackets if they have no parts. */
size_t ctf_format(const struct ctf_msg *m, char *buf, size_t size)
{
	struct text o = { .buf = buf, .size = size };
	struct cur c = ctf_body(m);
	struct ctf_value v, of = { .name = "" };
	uint64_t next = 0;	/* element of @of; 0: there is no array */
	size_t n;

	if (size)
		buf[0] = 0;
	while (ctf_next_field(&c, &v)) {
		n = element_of(&v, next);
		if (next && n && v.h.scope == of.h.scope && n == of.h.name &&
		    !memcmp(v.name, of.name, n)) {
			text_put(&o, ", ");
			next++;
		} else {
			if (next)
				text_put(&o, "]");
			n = element_of(&v, 0);
			next = n > 0;
			of = v;
			of.h.name = (uint16_t)n;
			text_put(&o, "%s%s%.*s=%s", o.len ? " " : "", scopes[v.h.scope],
				 n ? (int)n : (int)v.h.name, v.name, n ? "[" : "");
		}
		put_value(&o, &v);
	}
	if (next)
		text_put(&o, "]");
	if (m->flags & CTF_F_CUT)
		text_put(&o, "%s...", o.len ? " " : "");
	return o.len;
}
