/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_VIRT_VIRT_H
#define HWT_VIRT_VIRT_H

/*
 * Events of any provider as the virtual events of <hwtrace/events.def>. A reader finds the map of
 * each type of event once (virt_find()), then makes a record of each instance (virt_make()), in
 * order of time, because what a provider leaves out is known from the events before: the process of
 * a task, who runs on a CPU. What is not known stays so; nothing is guessed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/uapi.h>

enum virt_provider {
	VIRT_LINUX,	/* tracepoints as ftrace, perf and trace.dat have them; x_pid is a task */
	VIRT_LTTNG	/* kernel events of LTTng; x_tid is a task, x_pid a process */
};

#define VIRT_REC_MAX (1024 + HWT_TEXT_MAX)	/* bytes of any record */

/*
 * How a reader gives a field of its own event. Each returns 0 if there is none of that name and
 * kind. Numbers that are signed in the source are extended to 64 bits. Texts need no zero at the
 * end; bytes behind a zero do not count.
 */
struct virt_get {
	int (*number)(void *arg, const char *field, uint64_t *v);
	int (*string)(void *arg, const char *field, const char **p, size_t *n);
	/*
	 * Element @i of an array of numbers: its size in bytes (1, 2, 4 or 8). @field NULL: the
	 * @i-th of the event's own fields, if it is a number. May be NULL.
	 */
	int (*item)(void *arg, const char *field, unsigned i, uint64_t *v);
	void *arg;
};

/* The header of the record. */
struct virt_ctx {
	uint64_t time;		/* of the source; hwt_rec.time */
	uint64_t hit;		/* only with HWT_REC_HIT in @flags */
	int32_t cpu;		/* HWT_NONE if not known */
	int32_t pid, tid;	/* who runs: process and task; -1: not known */
	uint16_t flags;		/* enum hwt_rec_flag */
};

struct virt_map;
struct virt_state;

/* What is known of a capture while it is read forwards. 0 or -ENOMEM. */
int virt_state_new(struct virt_state **out);
void virt_state_free(struct virt_state *s);	/* NULL is fine */
/*
 * The kernel that was traced: "x86_64" and "6.1.0-13-amd64" as uname has them; NULL or "" if not
 * known. Task states and codes of page faults are read by it.
 */
void virt_state_kernel(struct virt_state *s, const char *arch, const char *release);
/*
 * The "format" text of a tracepoint (any; those that do not matter are left alone): what
 * sched_switch prints tells the encoding of its states, whatever the release is called.
 */
void virt_state_format(struct virt_state *s, const char *system, const char *name,
		       const char *text, size_t n);
/* Task @tid belongs to process @pid from now on; -1: not known any more. 0 or -ENOMEM. */
int virt_task(struct virt_state *s, int32_t tid, int32_t pid);
/*
 * A new task of process @pid (-1: not known), told before its fork is: sched_process_fork of Linux
 * does not tell the process.
 */
int virt_new_task(struct virt_state *s, int32_t tid, int32_t pid);
int32_t virt_pid(const struct virt_state *s, int32_t tid);	/* -1 if not known */
/* Task that runs on @cpu; -1 if not known. */
int32_t virt_running(const struct virt_state *s, int32_t cpu);
/* Events of @cpu are missing here (HWT_NONE: of any): forgets what they may have changed. */
void virt_lost(struct virt_state *s, int32_t cpu);

/*
 * The map of a type of event; NULL: none of the list, it is dirty. @system may be NULL for LTTng,
 * which has none. Static.
 */
const struct virt_map *virt_find(enum virt_provider p, const char *system, const char *name);
/*
 * The @i-th map of @p with the name of its tracepoint (the system of LTTng's is NULL); "x*": all
 * that begin with x. NULL past the end.
 */
const struct virt_map *virt_at(enum virt_provider p, unsigned i, const char **system,
			       const char **name);
/* Id of the records that it makes; 0: it makes none, but virt_make() is to see it. */
unsigned virt_id(const struct virt_map *m);
/*
 * Fills @rec (VIRT_REC_MAX bytes, aligned to 8). Returns its size; 0: this instance is no virtual
 * event (the same fact came from a better event, or a field is missing), it is dirty; negative:
 * no memory.
 */
int virt_make(const struct virt_map *m, struct virt_state *s, const struct virt_ctx *c,
	      const struct virt_get *g, void *rec);

/*
 * For readers with records of their own kinds: a record of @id with nothing known but its header.
 * Pid and tid of the header are completed as virt_make() does. Its size, or 0 without such an id.
 */
int virt_blank(const struct virt_state *s, const struct virt_ctx *c, unsigned id, void *rec);
/* Gives it its text, cut to what fits. Its new size. */
int virt_set_text(void *rec, const char *p, size_t n);
/* A name, cut and ended; "-" for an empty one. */
void virt_set_name(char out[16], const char *p, size_t n);
/* stream.lost of @count records (UINT64_MAX: not known), and virt_lost(). Its size. */
int virt_make_lost(struct virt_state *s, const struct virt_ctx *c, uint64_t count, void *rec);
/* The record is handed out: takes note of what it tells (switch, fork, free). 0 or -ENOMEM. */
int virt_note(struct virt_state *s, const void *rec, int32_t cpu);

/* hwt_rec.flags of the common fields of a Linux tracepoint, "common_flags" and so on. */
uint16_t virt_flags(unsigned common_flags, unsigned common_preempt_count);

#endif
