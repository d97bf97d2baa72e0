/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_TEP_H
#define HWT_SOURCE_TEP_H

/* Formats of tracepoints, as ftrace describes them in text ("format" files of tracefs). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/cur.h"

struct trace_fmt;

/*
 * From a TRACING_DATA section (the preamble of a version 6 trace.dat). 0 with *used formats;
 * -HWT_E_FORMAT if it is none; what was read before damage is kept and *cut is set.
 */
int trace_fmt_new(struct trace_fmt **out, const void *p, size_t n, unsigned *used, bool *cut);
/* Without formats, of a machine of that byte order and size of a long. 0 or -ENOMEM. */
int trace_fmt_empty(struct trace_fmt **out, bool big, unsigned long_size);
/* One more, from the @n bytes of a "format" file of system @sys. False if it can not be used. */
bool trace_fmt_add(struct trace_fmt *t, const char *sys, const void *p, size_t n);
/*
 * Formats as a trace.dat has them behind its header_event, at @c: those of "ftrace" (false), or
 * those of all other systems (true). Adds to *@used; @c->bad if they are cut.
 */
void trace_fmt_read(struct trace_fmt *t, struct cur *c, bool systems, unsigned *used);
void trace_fmt_free(struct trace_fmt *t);
/* Where the text may stand that a "char *" of a record points to; @find may return NULL. */
void trace_fmt_strings(struct trace_fmt *t, const char *(*find)(void *arg, uint64_t addr),
		       void *arg);
/* "sched:sched_switch" of the tracepoint id, NULL if not known; lives as long as @t. */
const char *trace_fmt_name(struct trace_fmt *t, uint32_t id);
/* The same with "dirty:" before it. */
const char *trace_fmt_dirty(struct trace_fmt *t, uint32_t id);
/* Number of formats, and which of them an id has; -1: none. */
uint32_t trace_fmt_count(const struct trace_fmt *t);
int64_t trace_fmt_index(const struct trace_fmt *t, uint32_t id);
/* The id of "sched", "sched_switch"; -1 if not there. */
int64_t trace_fmt_id(struct trace_fmt *t, const char *sys, const char *event);
/* An integer field of @id in the record bytes @p; false if it is not there. */
bool trace_fmt_number(struct trace_fmt *t, uint32_t id, const char *field, const uint8_t *p,
		      size_t n, uint64_t *v);
/* A text field: *@len bytes of @p without its NUL, not terminated. False if it is none. */
bool trace_fmt_string(struct trace_fmt *t, uint32_t id, const char *field, const uint8_t *p,
		      size_t n, const char **s, size_t *len);
/*
 * Element @i of an array of numbers, and its size in bytes; @field NULL: the @i-th field that is
 * not common, if it is a number. 0 if there is none.
 */
int trace_fmt_item(struct trace_fmt *t, uint32_t id, const char *field, unsigned i,
		   const uint8_t *p, size_t n, uint64_t *v);
/* The bytes of any field, those of a flexible array up to the end of the record. */
bool trace_fmt_bytes(struct trace_fmt *t, uint32_t id, const char *field, const uint8_t *p,
		     size_t n, const uint8_t **bytes, size_t *len);
/* How a field lies in a record. */
struct trace_fmt_field {
	const char *name;
	uint32_t offset, size;	/* size 0: up to the end of the record */
	uint32_t element;	/* of an array: bytes of one */
	bool is_signed, is_address, is_text, is_array;
	bool is_dynamic;	/* there is where it lies: its size << 16 | its offset, */
	bool is_relative;	/* from the end of this field */
	uint8_t narrow;		/* its C type says so many low bytes and the sign; 0: the format */
};
/* The low @size bytes of a number, 0: all of it. */
uint64_t trace_fmt_narrow(uint64_t v, unsigned size, bool is_signed);
/* The @i-th of @id that is not common; false past the end. Names live as long as @t. */
bool trace_fmt_field(struct trace_fmt *t, uint32_t id, unsigned i, struct trace_fmt_field *f);
/* The format of sched_switch, which says how task states are told; NULL if not there. */
const char *trace_fmt_switch(const struct trace_fmt *t, size_t *n);
/* "name=value ..." of all fields but the common ones and @skip (NULL: none); like snprintf. */
size_t trace_fmt_text(struct trace_fmt *t, uint32_t id, const uint8_t *p, size_t n,
		      const char *skip, char *buf, size_t size);

#endif
