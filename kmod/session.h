/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_SESSION_H
#define HWT_KMOD_SESSION_H

/*
 * Event management: who wants which events, and rings for them. Locks, none of them in probes:
 * sessions_lock, then cpus_read_lock(), then running_lock. The first is held while hooks come and
 * go, which takes cpus_read_lock() itself; the last by CPUs that come and go.
 */
#include <linux/cred.h>
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <hwtrace/kmod.h>

#include "context.h"
#include "ring.h"
#include "vtp.h"

struct bpf_prog;
struct pid;
struct unit;
struct pipe_inode_info;
struct vm_area_struct;

#define SESSION_PATH	PAGE_SIZE	/* bytes of a path in state.map; longer ones are cut */

/* How far the state is told: state.c goes on there. */
struct session_told {
	enum { TOLD_NOTHING, TOLD_PROCESSES, TOLD_MODULES } step;
	int nr;			/* the next process */
	u64 addr;		/* where its maps go on, or the last module */
	u64 bytes;		/* in this call */
	u64 since, tasks, maps, modules;	/* for state.end */
};

enum session_state { SESSION_READY, SESSION_RUNS, SESSION_STOPPED };

#define CLOCKS (HWT_clock_id_sched + 1)

/* The first reading of a clock. */
struct clock_start { u64 counter, value, width; };

/* What one CPU of a session has. */
struct session_cpu {
	struct ring *ring;
	void *data;
	struct irq_work wake;
	struct session *s;
	struct perf_event *counter;	/* of its context, NULL: none */
};

struct session {
	unsigned int slot;		/* in the table, also its bit in vtp.sessions */
	enum session_state state;	/* changed with sessions_lock held */
	bool writes;			/* read by probes */
	bool own;			/* only tasks of @owner, user side only */
	kuid_t owner;
	struct pid *opener;		/* the process that opened it */
	bool overwrite;
	u32 sub_size;
	u64 ring_size;			/* bytes of each CPU's sub-buffers */
	s32 pid;			/* 0: all; as its opener numbers it */
	unsigned long *tids;		/* bit set of tasks; NULL: all */
	DECLARE_BITMAP(events, VTP_COUNT);
	struct bpf_prog *filter[VTP_COUNT];	/* NULL: none */
	DECLARE_BITMAP(hooked, VTP_COUNT);	/* of those, hooks are in place */
	bool follows;			/* and that of forks, to know who belongs to it */
	struct context_cfg context;
	struct func **funcs;		/* events of its own */
	void **probes;			/* of those, when they are taken away */
	unsigned int nfuncs;
	struct unit *unit;		/* trace units, NULL: none; set before the start */
	wait_queue_head_t wait;
	struct delayed_work clock;
	struct clock_start clocks[CLOCKS];	/* by enum clock_id; read one after the other */
	struct mutex read_lock;		/* one reader at a time */
	struct mutex change_lock;	/* start, stop and state, one at a time; taken first */
	struct session_told told;
	char *path;			/* SESSION_PATH bytes, for state.c */
	unsigned int next_cpu;		/* where the reader goes on */
	struct session_cpu cpu[];	/* nr_cpu_ids; no ring: not possible */
};

/* A record that a probe made, complete but for its time. */
struct session_rec {
	struct vtp *v;
	struct hwt_rec *rec;
	const char *text;
	u32 text_len;
};

extern struct session *sessions[HWT_KMOD_SESSIONS];

/* put.c. For probes: gives the record to all sessions that want it. @more: its text, or NULL. */
void session_give(struct vtp *v, struct hwt_rec *rec, const struct vtp_more *more);
/* A record of the session's own events, if its tasks have it; preemption is off. */
void session_put_own(struct session *s, struct hwt_rec *rec, const struct bpf_prog *filter);
bool session_wants_task(const struct session *s, s32 tid);
/* A record of the session itself; preemption is off, and the CPU is this one or is off. */
void session_note(struct session_cpu *c, struct hwt_rec *rec, unsigned int vtp, size_t size);

/* The same of any task, on this CPU, by a task of the recorder; returns its size. */
size_t session_tell(struct session *s, struct hwt_rec *rec, unsigned int vtp, size_t size,
		    const char *text, u32 len);

/*
 * 0, or what is wrong with the request; -EBUSY, -EDQUOT: quota.h. @all: the caller may record the
 * whole machine.
 */
int session_open(struct session **out, const struct hwt_kmod_session *c, bool all);
/* -EINVAL: it has been started before; -ESRCH: there is no such process. */
int session_start(struct session *s);
int session_stop(struct session *s);
/* Stops and frees. */
void session_close(struct session *s);
ssize_t session_read(struct session *s, char __user *buf, size_t n, bool wait);
bool session_readable(struct session *s);
/* state.c: some of what there is, as records. 1: there is more; 0: that is all. */
int session_state(struct session *s);
int session_count(struct session *s, struct hwt_kmod_counts *c);
/* Who has a place in the table, as far as the caller may know. */
int session_holder(struct hwt_kmod_holder *h, bool all);

/* read.c: the oldest packet of @r, if there is one; read_lock is held. */
int session_next(struct session *s, struct ring *r, struct ring_view *v);

/* pages.c */
int session_mmap(struct session *s, struct vm_area_struct *v);
ssize_t session_splice(struct session *s, loff_t *pos, struct pipe_inode_info *pipe, size_t len);
int session_get(struct session *s, struct hwt_kmod_packet *p);
int session_put_back(struct session *s, const struct hwt_kmod_packet *p);

/* A CPU that is off will come now, or is gone. */
void session_cpu_state(unsigned int cpu, bool online);
/* This CPU, on which this runs, is on, or will be off. */
void session_cpu_here(bool online);
/* Adds trace units. 0, or why not, also in @c. */
int session_unit(struct session *s, struct hwt_kmod_unit *c);

/* clock.c: on this CPU, preemption is off. */
void clock_first(struct session_cpu *c);
void clock_sync(struct session_cpu *c);
u64 clock_hz(void);
u32 clock_counter(void);

#endif
