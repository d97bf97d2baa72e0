/* SPDX-License-Identifier: BSD-2-Clause */
/* events.def as tables. The list's macros are given a meaning anew for each of them. */
#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>
#include <string.h>

/* Sizes by type; their sum proves that no struct has a hole, so every field is aligned. */
#define SIZE_u32	4
#define SIZE_u64	8
#define SIZE_x32	4
#define SIZE_x64	8
#define SIZE_s32	4
#define SIZE_s64	8
#define SIZE_pid	4
#define SIZE_name16	16
#define SIZE_code16	16
#define SIZE_id24	24
#define SIZE_text	4

_Static_assert(sizeof(struct hwt_rec) == 32, "record header");
_Static_assert(offsetof(struct hwt_rec, hit) == 16, "record header");
_Static_assert(sizeof(struct hwt_ctf_packet) == 96, "packet header");
_Static_assert(offsetof(struct hwt_ctf_packet, timestamp_begin) == 24, "packet header");
_Static_assert(offsetof(struct hwt_ctf_packet, crc) == 84, "packet header");

#define HWT_EVENT(sec, nm, number, since, stamp, order, often) \
	_Static_assert((number) >= 1 && (number) <= 255 && (since) >= 1 && \
		       (since) <= HWT_ABI_VERSION, "number or version"); \
	_Static_assert(sizeof(struct hwt_rec_##sec##_##nm) == sizeof(struct hwt_rec)
#define HWT_F(type, name, unit, since, text) + SIZE_##type
#define HWT_EVENT_END , "the fields leave a hole or no multiple of 8 bytes");
#include <hwtrace/events.def>

#define HWT_F(type, name, unit, since, text) \
	_Static_assert((since) >= 1 && (since) <= HWT_ABI_VERSION, "version of a field");
#define HWT_VALUE(list, number, name, since, text) \
	_Static_assert((since) >= 1 && (since) <= HWT_ABI_VERSION, "version of a value");
#include <hwtrace/events.def>

/* The fields of each event; "rec" is its struct, which the list's field lines do not name. */
#define MEMBER_u32(n)	n
#define MEMBER_u64(n)	n
#define MEMBER_x32(n)	n
#define MEMBER_x64(n)	n
#define MEMBER_s32(n)	n
#define MEMBER_s64(n)	n
#define MEMBER_pid(n)	n
#define MEMBER_name16(n) n
#define MEMBER_code16(n) n
#define MEMBER_id24(n)	n
#define MEMBER_text(n)	n##_size
#define HWT_EVENT(sec, nm, number, since, stamp, order, often) \
static const struct hwt_abi_field *fields_##sec##_##nm(unsigned *n) \
{ \
	typedef struct hwt_rec_##sec##_##nm rec; \
	static const struct hwt_abi_field f[] = {
#define HWT_F(type, name, unit, since, text) \
	{ #name, unit, text, offsetof(rec, MEMBER_##type(name)), SIZE_##type, HWT_ABI_##type, \
	  since },
#define HWT_EVENT_END \
	}; \
	*n = sizeof(f) / sizeof(f[0]); \
	return f; \
}
#include <hwtrace/events.def>

#define HWT_EVENT(sec, nm, number, since, stamp, order, often) \
	{ #sec "." #nm, HWT_ID_##sec##_##nm, sizeof(struct hwt_rec_##sec##_##nm), since, stamp, \
	  order, often, fields_##sec##_##nm },
static const struct hwt_abi_event events[] = {
#include <hwtrace/events.def>
};

#define HWT_SECTION(sec, number, text) [number] = { #sec, text },
static const char *const sections[][2] = {
#include <hwtrace/events.def>
};

struct value {
	const char *list;
	struct hwt_abi_named named;
};

#define HWT_VALUE(list, number, name, since, text) { #list, { number, since, #name, text } },
static const struct value values[] = {
#include <hwtrace/events.def>
};

#define NVALUES (sizeof(values) / sizeof(values[0]))
#define NEVENTS (sizeof(events) / sizeof(events[0]))

static const char *const types[HWT_ABI_TYPES] = {
	"u32", "u64", "x32", "x64", "s32", "s64", "pid", "name16", "code16", "id24", "text"
};

unsigned hwt_abi_version(void)
{
	return HWT_ABI_VERSION;
}

const char *hwt_abi_section(unsigned number, const char **text)
{
	if (number >= sizeof(sections) / sizeof(sections[0]) || !sections[number][0])
		return NULL;
	if (text)
		*text = sections[number][1];
	return sections[number][0];
}

const struct hwt_abi_event *hwt_abi_event_at(unsigned i)
{
	return i < NEVENTS ? &events[i] : NULL;
}

const struct hwt_abi_event *hwt_abi_event_by_id(unsigned id)
{
	size_t lo = 0, hi = NEVENTS;

	while (lo < hi) {	/* the list is sorted by id */
		size_t mid = lo + (hi - lo) / 2;

		if (events[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < NEVENTS && events[lo].id == id ? &events[lo] : NULL;
}

const struct hwt_abi_event *hwt_abi_event_by_name(const char *name)
{
	for (size_t i = 0; i < NEVENTS; i++)
		if (!strcmp(events[i].name, name))
			return &events[i];
	return NULL;
}

const struct hwt_abi_field *hwt_abi_field_by_name(const struct hwt_abi_event *e, const char *name)
{
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);

	for (; n; n--, f++)
		if (!strcmp(f->name, name))
			/* cppcheck-suppress returnDanglingLifetime ; it is static, not @n */
			return f;
	return NULL;
}

const struct hwt_abi_named *hwt_abi_value_at(const char *list, unsigned i)
{
	for (size_t k = 0; k < NVALUES; k++)
		if (!strcmp(values[k].list, list) && !i--)
			return &values[k].named;
	return NULL;
}

const char *hwt_abi_type_name(unsigned type)
{
	return type < HWT_ABI_TYPES ? types[type] : "";
}
