/* SPDX-License-Identifier: BSD-2-Clause */
/* Records as uapi.h lays them out, read by the tables. */
#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>
#include <inttypes.h>
#include <string.h>

#include "../base/text.h"
#include "record.h"

static uint32_t load32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t load64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

size_t record_fixed(const struct hwt_abi_event *e, unsigned version)
{
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);
	size_t end = sizeof(struct hwt_rec);

	for (; n; n--, f++)
		if (f->since <= version)
			end = f->offset + f->size;
	return end;
}

/* The text is whole: a multiple of 8 behind the fields, zero at its end. */
static int text_fits(const struct hwt_abi_event *e, const struct hwt_rec *h, const void *rec,
		     size_t fixed)
{
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);

	for (; n; n--, f++) {
		uint32_t len;

		if (f->type != HWT_ABI_text || f->since > h->version)
			continue;
		len = load32((const char *)rec + f->offset);
		if (len % 8 || len > HWT_TEXT_MAX || len > h->size - fixed ||
		    (len && ((const char *)rec)[h->size - 1]))
			return 0;
	}
	return 1;
}

int hwt_abi_record(const struct hwt_abi_event **e, const void *rec, size_t n)
{
	struct hwt_rec h;
	size_t fixed;

	*e = NULL;
	if (n < sizeof(h))
		return -HWT_E_MORE;
	memcpy(&h, rec, sizeof(h));
	if (!h.id || !h.version || h.size < sizeof(h) || h.size % 8)
		return -HWT_E_FORMAT;
	if (h.size > n)
		return -HWT_E_MORE;
	*e = hwt_abi_event_by_id(h.id);
	if (!*e)
		return h.size;
	fixed = record_fixed(*e, h.version);
	if (h.size < fixed || !text_fits(*e, &h, rec, fixed)) {
		*e = NULL;
		return -HWT_E_FORMAT;
	}
	return h.size;
}

static int is_told(const struct hwt_abi_value *v)
{
	return v->n > 1 || (v->n == 1 && v->p[0] != '-');
}

int hwt_abi_value(struct hwt_abi_value *v, const struct hwt_abi_field *f, const void *rec)
{
	const char *p = (const char *)rec + f->offset;
	struct hwt_rec h;

	*v = (struct hwt_abi_value){ 0 };
	memcpy(&h, rec, sizeof(h));
	if (f->since > h.version)
		return 0;
	switch (f->type) {
	case HWT_ABI_u32:
	case HWT_ABI_x32:
		v->u = load32(p);
		return v->u != UINT32_MAX;
	case HWT_ABI_u64:
	case HWT_ABI_x64:
		v->u = load64(p);
		return v->u != UINT64_MAX;
	case HWT_ABI_s32:
		v->u = (uint64_t)(int64_t)(int32_t)load32(p);
		return load32(p) != (uint32_t)INT32_MIN;
	case HWT_ABI_s64:
		v->u = load64(p);
		return v->u != (uint64_t)INT64_MIN;
	case HWT_ABI_pid:
		v->u = (uint64_t)(int64_t)(int32_t)load32(p);
		return load32(p) != UINT32_MAX;
	case HWT_ABI_name16:
		v->p = p;
		v->n = strnlen(p, 16);
		return is_told(v);
	case HWT_ABI_code16:
		v->p = p;
		v->n = 16;
		return 1;
	case HWT_ABI_id24:
		v->p = p + 1;
		v->n = (uint8_t)*p <= 20 ? (uint8_t)*p : 0;
		return v->n > 0;
	case HWT_ABI_text:
		v->p = (const char *)rec + h.size - load32(p);
		v->n = strnlen(v->p, load32(p));
		return is_told(v);
	}
	return 0;
}

/* "timer", or "sync|meta" and what is left of bits; 0 if @unit is no list or lacks the value. */
static int put_named(struct text *t, const char *unit, uint64_t u)
{
	size_t n = strlen(unit);
	int bits = n > 4 && !strcmp(unit + n - 4, "_bit");
	const struct hwt_abi_named *v;
	const char *sep = "";

	if (!n)
		return 0;
	for (unsigned i = 0; (v = hwt_abi_value_at(unit, i)); i++) {
		if (bits ? !(u & v->value) : u != v->value)
			continue;
		text_put(t, "%s%s", sep, v->name);
		if (!bits)
			return 1;
		u &= ~v->value;
		sep = "|";
	}
	if (*sep && u)
		text_put(t, "|0x%" PRIx64, u);
	return *sep != 0;
}

static void put_value(struct text *t, const struct hwt_abi_field *f, const struct hwt_abi_value *v)
{
	if (put_named(t, f->unit, v->u))
		return;
	switch (f->type) {
	case HWT_ABI_x32:
	case HWT_ABI_x64:
		text_put(t, "0x%" PRIx64, v->u);
		break;
	case HWT_ABI_s32:
	case HWT_ABI_s64:
	case HWT_ABI_pid:
		text_put(t, "%" PRId64, (int64_t)v->u);
		break;
	case HWT_ABI_name16:
	case HWT_ABI_text:
		text_quoted(t, v->p, v->n);
		break;
	case HWT_ABI_code16:
	case HWT_ABI_id24:
		for (size_t i = 0; i < v->n; i++)
			text_put(t, "%02x", (uint8_t)v->p[i]);
		break;
	default:
		text_put(t, "%" PRIu64, v->u);
	}
}

size_t hwt_abi_format_value(char *buf, size_t size, const struct hwt_abi_field *f,
			    const struct hwt_abi_value *v)
{
	struct text t = { buf, size, 0 };

	text_put(&t, "%s", "");
	put_value(&t, f, v);
	return t.len;
}

size_t hwt_abi_format(char *buf, size_t size, const struct hwt_abi_event *e, const void *rec)
{
	struct text t = { buf, size, 0 };
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);
	struct hwt_abi_value v;

	text_put(&t, "%s", "");
	for (; n; n--, f++) {
		if (!hwt_abi_value(&v, f, rec))
			continue;
		text_put(&t, "%s%s=", t.len ? " " : "", f->name);
		put_value(&t, f, &v);
	}
	return t.len;
}
