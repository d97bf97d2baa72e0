/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_TEP_H
#define HWT_SOURCE_TEP_H

/* Formats of tracepoints, as ftrace describes them in text ("format" files of tracefs). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_fmt;

/*
 * From a TRACING_DATA section (the preamble of a version 6 trace.dat). 0 with *used formats;
 * -HWT_E_FORMAT if it is none; what was read before damage is kept and *cut is set.
 */
int trace_fmt_new(struct trace_fmt **out, const void *p, size_t n, unsigned *used, bool *cut);
void trace_fmt_free(struct trace_fmt *t);
/* "sched:sched_switch" of the tracepoint id, NULL if not known; lives as long as @t. */
const char *trace_fmt_name(struct trace_fmt *t, uint32_t id);
/* The id of "sched", "sched_switch"; -1 if not there. */
int64_t trace_fmt_id(struct trace_fmt *t, const char *sys, const char *event);
/* An integer field of @id in the record bytes @p; false if it is not there. */
bool trace_fmt_number(struct trace_fmt *t, uint32_t id, const char *field, const uint8_t *p,
		      size_t n, uint64_t *v);
/* "name=value ..." of all fields but the common ones; like snprintf. */
size_t trace_fmt_text(struct trace_fmt *t, uint32_t id, const uint8_t *p, size_t n, char *buf,
		      size_t size);

#endif
