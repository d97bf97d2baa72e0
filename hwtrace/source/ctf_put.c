/* SPDX-License-Identifier: BSD-2-Clause */
/* What libbabeltrace2 gives, as messages: values with flat names, errors in its words. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ctf_bt.h"

#define MAX_DEPTH	32		/* structures, arrays and variants in each other */
#define MAX_NAME	512		/* bytes of a flattened field name */
#define MAX_TEXT	(256u << 10)	/* bytes */
#define CPU_SECONDS	20		/* without coming on */

/* --- messages --- */

void ctf_flush(struct ctf_lib *l)
{
	const uint8_t *p = l->out;
	size_t left = l->nout;
	struct rusage u;
	struct rlimit r;

	while (left && !l->failed) {
		ssize_t n = write(l->fd, p, left);

		if (n > 0) {
			p += n;
			left -= (size_t)n;
		} else if (n < 0 && errno != EINTR) {
			l->failed = true;
		}
	}
	l->nout = 0;
	/* it comes on: so it may go on */
	if (l->job->guard && !getrusage(RUSAGE_SELF, &u) && !getrlimit(RLIMIT_CPU, &r)) {
		r.rlim_cur = (rlim_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + CPU_SECONDS;
		setrlimit(RLIMIT_CPU, &r);
	}
}

static struct ctf_msg *msg_head(struct ctf_lib *l)
{
	return (struct ctf_msg *)(void *)(l->out + l->msg);
}

struct ctf_msg *ctf_begin(struct ctf_lib *l, enum ctf_type type, uint32_t stream)
{
	if (l->nout >= CTF_OUT_FLUSH)
		ctf_flush(l);
	l->msg = l->nout;
	l->full = l->cut = false;
	*msg_head(l) = (struct ctf_msg){ .type = (uint16_t)type, .stream = stream,
		.lo = HWT_TIME_UNKNOWN, .hi = HWT_TIME_UNKNOWN };
	l->nout += sizeof(struct ctf_msg);
	return msg_head(l);
}

/* Room for @n bytes, or NULL if the message is full: then nothing more goes in. */
static void *msg_room(struct ctf_lib *l, size_t n)
{
	void *p = l->out + l->nout;

	if (l->full || n > CTF_MSG_MAX - 8 - (l->nout - l->msg)) {
		l->full = true;
		return NULL;
	}
	l->nout += n;
	return p;
}

void ctf_put_text(struct ctf_lib *l, const char *s)
{
	size_t n = s ? strlen(s) : 0;
	char *p = msg_room(l, n + 1);

	if (p) {
		memcpy(p, s ? s : "", n);
		p[n] = 0;
	}
}

void ctf_end(struct ctf_lib *l)
{
	struct ctf_msg *m = msg_head(l);

	while (l->nout % 8)
		l->out[l->nout++] = 0;
	m->size = (uint32_t)(l->nout - l->msg);
	if (l->full || l->cut)
		m->flags |= CTF_F_CUT;
}

/* --- errors --- */

/* "DATE TIME PID TID LEVEL TAG PLACE [component] TEXT" to its text; NULL: no such line. */
static char *log_line(char *line, char *level, bool *meta)
{
	char *p = line;

	for (int word = 0; word < 7 && p; word++) {
		p += strspn(p, " ");
		if (word == 4)
			*level = *p;
		if (word == 5)
			*meta = !strncmp(p, "PLUGIN/CTF/META", 15) ||
				!strncmp(p, "PLUGIN-CTF-METADATA", 19);
		p = strchr(p, ' ');
	}
	if (!p)
		return NULL;
	p++;
	if (*p == '[' && strstr(p, "] "))
		p = strstr(p, "] ") + 2;
	return p;
}

/*
 * What the library said of its first error since the last call. A warning right before it has the
 * reason, which the error then does not repeat. True if it is about the description of the trace.
 */
static bool log_reason(struct ctf_lib *l, char *why, size_t size)
{
	char buf[16384], *line = buf, *end, *text, level = 0;
	off_t to = lseek(l->log, 0, SEEK_END);
	ssize_t n = to > 0 ? pread(l->log, buf, sizeof(buf) - 1, 0) : 0;
	bool meta = false, is_meta;

	snprintf(why, size, "the library does not say why");
	buf[n > 0 ? n : 0] = 0;
	for (; *line; line = end + 1) {
		bool warned = level == 'W';

		end = strchr(line, '\n');
		if (!end)
			break;
		*end = 0;
		text = log_line(line, &level, &is_meta);
		if (!text || (level == 'E' && warned))
			break;
		meta = is_meta;
		snprintf(why, size, "%s", text);
		if (level == 'E')
			break;
	}
	return meta;
}

void ctf_forget(struct ctf_lib *l)
{
	bt_current_thread_clear_error();
	if (!ftruncate(l->log, 0))
		lseek(l->log, 0, SEEK_SET);
}

void ctf_put_error(struct ctf_lib *l, uint32_t stream, const char *file)
{
	char why[1024];

	bool meta = log_reason(l, why, sizeof(why));

	ctf_forget(l);
	ctf_begin(l, CTF_ERROR, stream)->klass = meta ? CTF_ERR_META : CTF_ERR_DATA;
	ctf_put_text(l, why);
	ctf_put_text(l, file);
	ctf_end(l);
}

/* --- fields --- */

struct frame {
	const bt_field *f;
	uint64_t i, n;
	uint16_t name;		/* bytes of the name of @f */
};

struct walk {
	struct ctf_lib *lib;
	uint8_t scope;
	unsigned depth;
	struct frame stack[MAX_DEPTH];
	char name[MAX_NAME];
	size_t len;		/* of @name */
};

static uint8_t *put_field(struct walk *w, unsigned kind, size_t size)
{
	struct ctf_lib *l = w->lib;
	const struct ctf_field h = { .size = (uint32_t)size, .name = (uint16_t)w->len,
		.kind = (uint8_t)kind, .scope = w->scope };
	uint8_t *p = size < CTF_MSG_MAX ? msg_room(l, sizeof(h) + w->len + size) : NULL;

	if (!p) {
		l->full = true;
		return NULL;
	}
	memcpy(p, &h, sizeof(h));
	memcpy(p + sizeof(h), w->name, w->len);
	return p + sizeof(h) + w->len;
}

static void put_number(struct walk *w, unsigned kind, uint64_t v)
{
	uint8_t *p = put_field(w, kind, sizeof(v));

	if (p)
		memcpy(p, &v, sizeof(v));
}

static void put_enum(struct walk *w, const bt_field *f, unsigned kind, uint64_t v)
{
	bt_field_class_enumeration_mapping_label_array labels = NULL;
	uint64_t n = 0;
	size_t size = sizeof(v);
	uint8_t *p;
	int rc;

	rc = (kind & ~CTF_K_HEX) == CTF_K_UENUM ?
		(int)bt_field_enumeration_unsigned_get_mapping_labels(f, &labels, &n) :
		(int)bt_field_enumeration_signed_get_mapping_labels(f, &labels, &n);
	if (rc)
		n = 0;
	for (uint64_t i = 0; i < n && size < CTF_MSG_MAX; i++)
		size += strlen(labels[i]) + 1;
	p = put_field(w, kind, size);
	if (!p)
		return;
	memcpy(p, &v, sizeof(v));
	p += sizeof(v);
	for (uint64_t i = 0; i < n; i++) {
		size = strlen(labels[i]) + 1;
		memcpy(p, labels[i], size);
		p += size;
	}
}

static void put_integer(struct walk *w, const bt_field *f, bt_field_class_type t)
{
	bool sign = bt_field_class_type_is(t, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER);
	unsigned kind = sign ? CTF_K_SIGNED : CTF_K_UNSIGNED;
	uint64_t v = sign ? (uint64_t)bt_field_integer_signed_get_value(f) :
		bt_field_integer_unsigned_get_value(f);
	unsigned hex = bt_field_class_integer_get_preferred_display_base(
			bt_field_borrow_class_const(f)) ==
		BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL ? CTF_K_HEX : 0;

	if (bt_field_class_type_is(t, BT_FIELD_CLASS_TYPE_ENUMERATION))
		put_enum(w, f, (sign ? CTF_K_SENUM : CTF_K_UENUM) | hex, v);
	else
		put_number(w, kind | hex, v);
}

static void put_real(struct walk *w, double v)
{
	uint8_t *p = put_field(w, CTF_K_REAL, sizeof(v));

	if (p)
		memcpy(p, &v, sizeof(v));
}

static void put_string(struct walk *w, const bt_field *f)
{
	const char *s = bt_field_string_get_value(f);
	/* 2.0.4 leaves an earlier text in an empty one, and only the length tells */
	size_t n = s ? strnlen(s, bt_field_string_get_length(f)) : 0;
	uint8_t *p;

	w->lib->cut |= n > MAX_TEXT;
	n = n > MAX_TEXT ? MAX_TEXT : n;
	p = put_field(w, CTF_K_STRING, n);
	if (p && n)
		memcpy(p, s, n);
}

/* Appends to the name; a name that is too long is no name, and the event is cut. */
static bool name_add(struct walk *w, const char *dot, const char *s)
{
	int n = snprintf(w->name + w->len, sizeof(w->name) - w->len, "%s%s", dot, s ? s : "");

	if (n < 0 || (size_t)n >= sizeof(w->name) - w->len) {
		w->lib->full = true;
		return false;
	}
	w->len += (size_t)n;
	return true;
}

static void push(struct walk *w, const bt_field *f, unsigned kind, uint64_t n)
{
	if (!n) {
		put_field(w, kind, 0);
		return;
	}
	if (w->depth == MAX_DEPTH) {
		w->lib->full = true;
		return;
	}
	w->stack[w->depth++] = (struct frame){ .f = f, .n = n, .name = (uint16_t)w->len };
}

/* Options of variants and optional fields are gone into until there is something. */
static const bt_field *inside(struct walk *w, const bt_field *f)
{
	bt_field_class_type t;

	for (unsigned k = 0; f && k < MAX_DEPTH; k++) {
		t = bt_field_get_class_type(f);
		if (bt_field_class_type_is(t, BT_FIELD_CLASS_TYPE_VARIANT)) {
			if (!name_add(w, ".", bt_field_class_variant_option_get_name(
					bt_field_variant_borrow_selected_option_class_const(f))))
				return NULL;
			f = bt_field_variant_borrow_selected_option_field_const(f);
		} else if (bt_field_class_type_is(t, BT_FIELD_CLASS_TYPE_OPTION)) {
			f = bt_field_option_borrow_field_const(f);
		} else {
			return f;
		}
	}
	return NULL;
}

static void put_any(struct walk *w, const bt_field *f)
{
	bt_field_class_type t;

	f = inside(w, f);
	if (!f)
		return;
	t = bt_field_get_class_type(f);
	if (bt_field_class_type_is(t, BT_FIELD_CLASS_TYPE_INTEGER))
		put_integer(w, f, t);
	else if (t == BT_FIELD_CLASS_TYPE_BOOL)
		put_number(w, CTF_K_BOOL, bt_field_bool_get_value(f));
	else if (t == BT_FIELD_CLASS_TYPE_BIT_ARRAY)
		put_number(w, CTF_K_UNSIGNED | CTF_K_HEX,
			   bt_field_bit_array_get_value_as_integer(f));
	else if (t == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)
		put_real(w, (double)bt_field_real_single_precision_get_value(f));
	else if (t == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)
		put_real(w, bt_field_real_double_precision_get_value(f));
	else if (t == BT_FIELD_CLASS_TYPE_STRING)
		put_string(w, f);
	else if (t == BT_FIELD_CLASS_TYPE_STRUCTURE)
		push(w, f, CTF_K_STRUCT, bt_field_class_structure_get_member_count(
				bt_field_borrow_class_const(f)));
	else if (bt_field_class_type_is(t, BT_FIELD_CLASS_TYPE_ARRAY))
		push(w, f, CTF_K_ARRAY, bt_field_array_get_length(f));
}

static const bt_field *member(struct walk *w, struct frame *fr)
{
	const bt_field_class_structure_member *m;
	uint64_t i = fr->i++;
	char index[24];

	w->len = fr->name;
	if (bt_field_get_class_type(fr->f) != BT_FIELD_CLASS_TYPE_STRUCTURE) {
		snprintf(index, sizeof(index), "[%llu]", (unsigned long long)i);
		return name_add(w, "", index) ?
			bt_field_array_borrow_element_field_by_index_const(fr->f, i) : NULL;
	}
	m = bt_field_class_structure_borrow_member_by_index_const(
			bt_field_borrow_class_const(fr->f), i);
	return name_add(w, w->len ? "." : "", bt_field_class_structure_member_get_name(m)) ?
		bt_field_structure_borrow_member_field_by_index_const(fr->f, i) : NULL;
}

void ctf_put_fields(struct ctf_lib *l, enum ctf_scope scope, const bt_field *root)
{
	struct walk w = { .lib = l, .scope = (uint8_t)scope };

	if (!root || bt_field_get_class_type(root) != BT_FIELD_CLASS_TYPE_STRUCTURE ||
	    !bt_field_class_structure_get_member_count(bt_field_borrow_class_const(root)))
		return;
	put_any(&w, root);
	while (w.depth && !l->full) {
		struct frame *fr = &w.stack[w.depth - 1];

		if (fr->i == fr->n)
			w.depth--;
		else
			put_any(&w, member(&w, fr));
	}
}

