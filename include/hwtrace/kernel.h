/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_KERNEL_H
#define HWTRACE_KERNEL_H

/*
 * Kernel events of any capture as one stream in order of time: the virtual events of
 * hwtrace-events(7), whoever recorded them, and the capture's own ("dirty") ones.
 */
#include <stddef.h>

#include <hwtrace/abi.h>
#include <hwtrace/err.h>
#include <hwtrace/event.h>
#include <hwtrace/filter.h>
#include <hwtrace/session.h>
#include <hwtrace/stream.h>

/*
 * Each event is a HWT_EV_RECORD with time (base ns if the clock is known), cpu, pid, tid, src and
 * off. u.rec.id below HWT_ID_DIRTY of <hwtrace/uapi.h>: u.rec.data is the whole virtual record, as
 * <hwtrace/abi.h> reads it; the time in its header is that of the source, not converted. From
 * HWT_ID_DIRTY on: private to the reader. Events that were lost are records stream.lost. What was
 * there before the recording began (maps, tasks) is no event. The session must outlive the stream,
 * which the caller closes. 0; -ENOENT if the capture has no kernel events; or another negative
 * code; with @diag filled and *@out untouched.
 */
int hwt_session_kernel(struct hwt_session *s, struct hwt_stream **out, struct hwt_diag *diag);

/*
 * A filter (hwtrace/filter.h) for them: it may name system calls of the capture's machine, its own
 * events and its context fields. To be freed before the session.
 */
int hwt_kernel_filter(const struct hwt_session *s, struct hwt_filter **out, const char *text,
		      struct hwt_diag *diag);

/* "sched.switch"; "dirty:sched:sched_stat_runtime". Lives as long as the session. */
const char *hwt_kernel_name(const struct hwt_session *s, const struct hwt_event *ev);
/*
 * The virtual event that a container's own name of an event stands for: "sched.switch" for
 * "sched:sched_switch", "sched.fork" for perf's "fork"; NULL if there is none. Static.
 */
const char *hwt_kernel_name_of(const char *own);
/*
 * The system call of a syscall.enter or syscall.exit, "read", as filters name it; NULL for other
 * events, and where the machine, or a call of that number, is not known. Static.
 */
const char *hwt_kernel_call(const struct hwt_session *s, const struct hwt_event *ev);
/*
 * The arguments of a syscall.enter by their names, "fd=3 buf=0x7ffe40 count=832", for people:
 * decimal where they are numbers, sizes or descriptors, else hexadecimal. As snprintf(); 0 where
 * hwt_kernel_call() gives NULL, the arguments of the call are not known, or there are none.
 */
size_t hwt_kernel_args(const struct hwt_session *s, const struct hwt_event *ev, char *buf,
		       size_t size);
/*
 * Its fields as "name=value ..." text; as snprintf(). Context fields that a recording has in each
 * record (hwtrace/contexts.def) are behind them, as "ctx.name=value".
 */
size_t hwt_kernel_text(const struct hwt_session *s, const struct hwt_event *ev, char *buf,
		       size_t size);
/*
 * One of its fields: 1, or 0 if it has none of that name or the value is not known. Fields of
 * dirty events are numbers (@p is NULL) or texts (@p, @n), valid until the stream's next call.
 */
int hwt_kernel_field(const struct hwt_session *s, const struct hwt_event *ev, const char *name,
		     struct hwt_abi_value *v);

#endif
