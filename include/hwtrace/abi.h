/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_ABI_H
#define HWTRACE_ABI_H

/*
 * The virtual events at run time: what events.def defines, as tables, and records read by them.
 * Everything here is constant or a pure function; all strings are static.
 */
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/err.h>

enum hwt_abi_type {
	HWT_ABI_u32, HWT_ABI_u64,
	HWT_ABI_x32, HWT_ABI_x64,	/* shown hexadecimal */
	HWT_ABI_s32, HWT_ABI_s64, HWT_ABI_pid,
	HWT_ABI_name16,			/* characters, zeroes */
	HWT_ABI_code16,			/* bytes of code */
	HWT_ABI_id24,			/* number of bytes, the bytes, zeroes */
	HWT_ABI_text,			/* at @offset: its length; it ends the record */
	HWT_ABI_TYPES
};

struct hwt_abi_field {
	const char *name;
	const char *unit;	/* "" if none; or the name of a list of values */
	const char *text;	/* meaning, "" if the name says it */
	uint16_t offset, size;	/* bytes, from the start of the record; text: of its length */
	uint8_t  type;		/* enum hwt_abi_type */
	/* HWT_ABI_VERSION that it came with; 0: of a recording's own event, any value is one */
	uint8_t  since;
};

/* A value that has a name. */
struct hwt_abi_named {
	uint64_t value;		/* lists that end in "_bit": a bit, more than one may be set */
	uint8_t  since;		/* HWT_ABI_VERSION that it came with */
	const char *name;
	const char *text;	/* "" if the name says it */
};

struct hwt_abi_event {
	const char *name;	/* "sched.switch" */
	uint16_t id;		/* section * 256 + number */
	uint16_t size;		/* bytes of the record without its text */
	uint8_t  since;		/* HWT_ABI_VERSION that it came with */
	const char *stamp;	/* where exactly it is stamped */
	const char *order;	/* which events come before, "" if none must */
	const char *often;
	const struct hwt_abi_field *(*fields)(unsigned *n);
};

/* Version of the tables, HWT_ABI_VERSION of the library's build. */
unsigned hwt_abi_version(void);
/* Name of section @number ("sched") and what it is about; NULL if there is none. */
const char *hwt_abi_section(unsigned number, const char **text);
/* The @i-th event in order of ids, NULL past the end; that of an id or a name, or NULL. */
const struct hwt_abi_event *hwt_abi_event_at(unsigned i);
const struct hwt_abi_event *hwt_abi_event_by_id(unsigned id);
const struct hwt_abi_event *hwt_abi_event_by_name(const char *name);
/* Field of that name, or NULL. */
const struct hwt_abi_field *hwt_abi_field_by_name(const struct hwt_abi_event *e, const char *name);
/* The @i-th value of a list such as "irq_kind", NULL past the end or if it is no list. */
const struct hwt_abi_named *hwt_abi_value_at(const char *list, unsigned i);
/* "u32", "name16", ...; "" if @type is none. */
const char *hwt_abi_type_name(unsigned type);

/*
 * Looks whether @n bytes at @rec (aligned to 8) begin with a whole record. Returns its size in
 * bytes and its event in @e (NULL: an id that is not in the tables), -HWT_E_MORE if it does not end
 * within @n bytes, -HWT_E_FORMAT if no writer of its version makes such a record.
 */
int hwt_abi_record(const struct hwt_abi_event **e, const void *rec, size_t n);

struct hwt_abi_value {
	uint64_t u;		/* numbers; pid, s32 and s64 extended to 64 bits */
	const char *p;		/* name16, text, code16, id24: @n bytes inside the record */
	size_t n;
};

/*
 * Value of field @f in a record that hwt_abi_record() has passed. 1, or 0 if it is not known: the
 * writer is older than the field, or says so.
 */
int hwt_abi_value(struct hwt_abi_value *v, const struct hwt_abi_field *f, const void *rec);

/*
 * "prev_pid=1 prev_state=sleep prev_comm="init" ...", the fields that are known, of such a record;
 * values by their names. As snprintf(): returns the length of the whole text.
 */
size_t hwt_abi_format(char *buf, size_t size, const struct hwt_abi_event *e, const void *rec);

#define HWT_ABI_CONTEXTS 32	/* more than there are context fields */

/*
 * Context fields (hwtrace/contexts.def). The one of number @i, NULL past the end; its offset is
 * of no meaning.
 */
const struct hwt_abi_field *hwt_abi_context_at(unsigned i);
/*
 * Those whose bits are set in @mask as they lie in a record behind its header: fills up to
 * HWT_ABI_CONTEXTS of @v, with offsets from there, and their number. Returns the bytes that all of
 * them take, with zeroes at the end.
 */
unsigned hwt_abi_context(uint32_t mask, struct hwt_abi_field *v, unsigned *n);

/*
 * An event that a recording has of its own, with an id from HWT_ID_DIRTY of hwtrace/uapi.h on. Its
 * fields lie one behind the other: u64, x64, s64, or the lengths of texts. The texts come behind
 * all of them, in the same order; zeroes at the end of the last one fill the record.
 */
struct hwt_abi_own {
	const char *name;	/* "kprobe:vfs_read" */
	uint16_t id;
	uint16_t size;		/* bytes of the record without its texts */
	const struct hwt_abi_field *fields;
	unsigned nfields;
};

/* What the metadata of a CTF trace says besides the events. */
struct hwt_abi_trace {
	uint8_t  uuid[16];	/* as in each packet */
	unsigned version;	/* events and fields up to this version; 0: all */
	int      big_endian;
	const char *clock;	/* name, an identifier; NULL: "counter" */
	uint64_t freq;		/* Hz of the counter, 0: not known */
	uint64_t precision;	/* ticks */
	int64_t  offset_s;	/* counter 0 is this many seconds ... */
	uint64_t offset;	/* ... and ticks after 1970 if @absolute, else after an instant that
				   nobody knows */
	int      absolute;
	const char *label;	/* kind of recording, "model"; NULL: none */
	const char *host;	/* NULL: not told */
	uint32_t contexts;	/* context fields of each record, bits by their numbers */
	const struct hwt_abi_own *own;
	unsigned nown;
};

/* CTF 1.8 metadata of a folder of stream files as in uapi.h. As snprintf(). */
size_t hwt_abi_metadata(char *buf, size_t size, const struct hwt_abi_trace *t);

/* As hwt_abi_format(), of one field whose value is known. */
size_t hwt_abi_format_value(char *buf, size_t size, const struct hwt_abi_field *f,
			    const struct hwt_abi_value *v);

/*
 * Which of @n event names are "dirty": no events of the tables. Fills @dirty with the indices of
 * the first @max, returns how many there are.
 */
size_t hwt_abi_dirty(const char *const *names, size_t n, size_t *dirty, size_t max);

/* A line of a script that names an event. */
struct hwt_abi_use {
	const char *name;	/* @len bytes, not terminated */
	size_t len;
	unsigned line;		/* from 1 on */
	const struct hwt_abi_event *event;	/* NULL: dirty */
};

/*
 * Reads a script: each line an event's name, with "where CONDITION" behind it if wanted, or
 * "abi=stable"; "#" begins a comment. Calls @use for each name, if it is not NULL. Returns the
 * number of names; -HWT_E_FILTER with words in @diag if a line can not be understood, or if the
 * script declares abi=stable and names a dirty event.
 */
int hwt_abi_script(const char *text, size_t n, void (*use)(void *arg, const struct hwt_abi_use *u),
		   void *arg, struct hwt_diag *diag);

#endif
