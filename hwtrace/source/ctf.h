/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_CTF_H
#define HWT_SOURCE_CTF_H

/*
 * What the files of the reader of foreign CTF share. libbabeltrace2 ends the program where it meets
 * what it did not expect, and a trace can make it do so. So it runs in a process of its own, which
 * sends messages through a pipe; how that process ends is no more than an error of the trace.
 */
#include <sys/types.h>

#include "../base/cur.h"
#include "../virt/virt.h"
#include "capture.h"

enum {	/* error ids, see errors.def */
	E_CTF_LOST = 46, E_CTF_NO_LIB = 125, E_CTF_LIB, E_CTF_META = 200, E_CTF_STREAM,
	E_CTF_CLOCK, E_CTF_BACK, E_CTF_LIMIT,
};

enum ctf_type {
	CTF_TRACE,	/* @stream: its number; name, then pairs of name and value */
	/* file, clock, clock's uuid; @klass: trace; @count: Hz; @lo: ticks of doubt */
	CTF_STREAM,
	CTF_CLASS,	/* @klass: its number, @stream: where it was met; name */
	CTF_EVENT,	/* fields */
	CTF_LOST,	/* @count of them; UINT64_MAX: not known */
	/* event or packet @count (from 1) of @stream has the time @lo, what is before it @hi */
	CTF_BACK,
	/* what, file; @klass: enum ctf_err; @stream ends here, or CTF_NO_STREAM: was not begun */
	CTF_ERROR,
	CTF_TICK,	/* @count events were read; shows the reader that nobody waits for them */
	CTF_END,	/* @count: events in all, @lo: earliest time */
	CTF_TYPES
};

enum ctf_err {
	CTF_ERR_DATA,		/* @file: trace or stream */
	CTF_ERR_META,		/* of the description; @file: the trace's directory */
	CTF_ERR_CLOCK,		/* clock @what can not be joined with those of streams before */
};

#define CTF_NO_STREAM	UINT32_MAX
#define CTF_MSG_MAX	(4u << 20)	/* bytes of a message; what does not fit is left out */

enum ctf_flag {
	CTF_F_CUT	= 1 << 0,	/* EVENT: fields were left out */
	CTF_F_PACKETS	= 1 << 1,	/* LOST, BACK: whole packets */
	CTF_F_BACK	= 1 << 3,	/* LOST: the count of them goes back */
	CTF_F_ABSOLUTE	= 1 << 2,	/* STREAM: its clock counts from 1970 on */
};

/* Begins each message; texts and fields follow. In the byte order of this machine. */
struct ctf_msg {
	uint32_t size;		/* bytes with this header, a multiple of 8 */
	uint16_t type;		/* enum ctf_type */
	uint16_t flags;		/* enum ctf_flag */
	uint32_t stream, klass;	/* from 0 on, in order of first use */
	/* ns since the clock's origin; HWT_TIME_UNKNOWN: not told, or not in 64 bits from 0 on */
	uint64_t lo, hi;
	uint64_t count;
};

enum ctf_kind {
	CTF_K_UNSIGNED, CTF_K_SIGNED,	/* 8 bytes */
	CTF_K_UENUM, CTF_K_SENUM,	/* 8 bytes, then its labels, each ended by 0 */
	CTF_K_BOOL,			/* 8 bytes */
	CTF_K_REAL,			/* a double */
	CTF_K_STRING,			/* its bytes */
	CTF_K_STRUCT, CTF_K_ARRAY,	/* without members: nothing */
	CTF_KINDS
};

enum ctf_scope { CTF_S_PACKET, CTF_S_STREAM, CTF_S_EVENT, CTF_S_FIELDS, CTF_SCOPES };

/* A field of an event; name and value follow, not aligned. "a.b[2]" is flattened. */
struct ctf_field {
	uint32_t size;		/* bytes of the value */
	uint16_t name;		/* bytes of the name */
	uint8_t  kind;		/* enum ctf_kind, bit 7: shown hexadecimal */
	uint8_t  scope;		/* enum ctf_scope */
};
#define CTF_K_HEX	0x80

/* What the process is to do. */
struct ctf_job {
	const char *const *dirs;	/* traces */
	size_t ndirs;
	bool scan;			/* events are counted only */
	bool guard;			/* in a process of its own, which may take limits */
	uint64_t max_events;		/* more of them can not be: an event has at least a bit */
};

/* ctf_lib.c, or ctf_lib_none.c: no library here */
bool ctf_lib_here(void);
/* Reads all and sends messages to @fd. What the library says on the way, it says on @log. */
void ctf_lib_run(const struct ctf_job *job, int fd, int log);

/* ctf_pipe.c */
struct ctf_pipe;
int ctf_pipe_open(struct ctf_pipe **out, const struct ctf_job *job);
/*
 * From here on, what was given before need not stay; else all messages stay until the end of the
 * buffer is reached, which is -EAGAIN: nothing can be given before what was given is let go.
 */
void ctf_pipe_release(struct ctf_pipe *p);
/*
 * 1: @m, valid until the next release, with a body that can be read as its type says; 0: the end;
 * -EINTR: a signal came; -HWT_E_LIB: the process came to no good end, @diag says how; else negated
 * errno.
 */
int ctf_pipe_next(struct ctf_pipe *p, const struct ctf_msg **m, struct hwt_diag *diag);
void ctf_pipe_close(struct ctf_pipe *p);

/* ctf_msg.c: what is in messages, which may be anything */
/* 1: a whole message is at @p, 0: not yet in these @n bytes, -HWT_E_LIB: they are none. */
int ctf_msg_whole(const uint8_t *p, size_t n);
/* The next text of a body, "" at its end. */
const char *ctf_text(struct cur *c);
struct cur ctf_body(const struct ctf_msg *m);

struct ctf_value {
	struct ctf_field h;
	const char *name;	/* h.name bytes */
	const uint8_t *p;	/* h.size bytes */
};
/* 1: the next field, 0: no more. */
int ctf_next_field(struct cur *c, struct ctf_value *v);
/* Field @name, without its scope or with ("packet.cpu_id"); the event's own before contexts. */
bool ctf_find(const struct ctf_msg *m, const char *name, struct ctf_value *v);
bool ctf_number(const struct ctf_value *v, uint64_t *n);
/* "name=value name=value ..."; like snprintf(). */
size_t ctf_format(const struct ctf_msg *m, char *buf, size_t size);

/* --- of the capture --- */

struct ctf_trace {
	const char *name, *domain, *tracer;	/* "" if not told */
};

struct ctf_stream {
	const char *file;
	uint32_t trace;
};

struct ctf_class {
	const char *name;	/* with "dirty:" before it */
	const struct virt_map *map;	/* of a virtual event, NULL */
	const struct hwt_abi_event *own;	/* the same as in our own traces, NULL */
};

struct ctf {
	struct capture *c;
	const char **dirs;	/* traces, as the user named them */
	const char **plain;	/* the same from / on and without "..", as the library names them */
	size_t ndirs;
	uint64_t max_events;
	struct ctf_trace *traces;
	struct ctf_stream *streams;
	struct ctf_class *classes;
	size_t ntraces, nstreams, nclasses, captraces, capstreams, capclasses;
};

/* ctf_scan.c: pass 1. */
int ctf_scan(struct ctf *x, struct hwt_diag *diag);

/* ctf_virt.c */
void ctf_class_bind(struct ctf_class *k, const char *tracer, const char *domain);
/* A trace that we wrote: its records tell what was lost. */
bool ctf_is_own(const struct ctf *x, uint32_t stream);
bool ctf_is_kernel(const struct ctf *x, uint32_t stream);
/* As virt_make(); 0 also for classes that are no virtual event. */
int ctf_virt_make(const struct ctf_class *k, struct virt_state *s, const struct virt_ctx *c,
		  const struct ctf_msg *m, void *rec);

/* ctf_events.c: the callbacks of struct capture */
int ctf_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
int ctf_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
const char *ctf_event_name(const struct capture *c, const struct hwt_event *ev);
size_t ctf_event_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t size);
const char *ctf_dirty_name(const struct capture *c, const struct hwt_event *ev);
size_t ctf_dirty_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t size);
int ctf_dirty_field(const struct capture *c, const struct hwt_event *ev, const char *name,
		    struct hwt_abi_value *v);

#endif
