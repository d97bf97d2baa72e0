/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_RECORD_H
#define HWT_CAPTURE_RECORD_H

/* One recording by the software trace unit: what its files share. */
#include <hwtrace/capture.h>
#include <hwtrace/uapi.h>

#include "../base/idmap.h"
#include "../image/image.h"
#include "../model/insn.h"
#include "kernel.h"
#include "native.h"
#include "step.h"
#include "ticks.h"

#define RECORD_HITS	(13u << 8)	/* ids of stable events lie below */

/* Records that wait until those of the kernel that came before them were read. */
struct record_queue {
	uint8_t *p;
	size_t n, cap;		/* bytes */
};

struct rec {
	const struct hwt_record_opts *o;
	struct native_writer *w;
	struct step *step;
	struct hwt_diag *diag;
	struct ticks_clock clock;
	uint64_t clock_off;		/* most that a reading was beside the clock map, ns */
	struct model_insns *insns;
	struct model_blocks *blocks;
	struct kernel *kernel;		/* NULL: no events of this machine's kernel */
	struct record_queue queue;
	struct idmap tasks;		/* from threads that were recorded to their process */
	uint64_t hits[RECORD_HITS];
	uint64_t last_tick;		/* of records: none before it can be written */
	int cpu;
	bool began;			/* what is mapped from now on comes as a record */
	struct hwt_record_progress sum;
	uint64_t next_sync;		/* ticks */
	uint64_t next_read;		/* of the kernel's records; ticks */
	uint64_t others, dropped;	/* kernel records of other tasks: kept, not yet told */
	uint64_t wait_steps, wait_since;	/* instructions and ticks when one ran last */
	unsigned wait_said;		/* seconds of waiting that the last note was about */
	uint64_t unknown;		/* instructions that could not be told */
};

uint64_t rec_ns(const struct rec *r, uint64_t tick);
void rec_note(struct rec *r, unsigned id, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* records.c: what happens to tasks, as the kernel would tell it. */
int records_fork(struct rec *r, const struct step_task *parent, const struct step_task *child,
		 uint64_t tick);
int records_exec(struct rec *r, const struct step_task *t, int32_t old_tid, const char *path,
		 uint64_t tick);
int records_exit(struct rec *r, const struct step_task *t, uint64_t tick);
int records_switch(struct rec *r, const struct step_task *prev, const struct step_task *next,
		   uint64_t tick);
int records_map(struct rec *r, const struct step_task *t, const struct proc_map *m, uint64_t tick);
int records_unmap(struct rec *r, const struct step_task *t, uint64_t addr, uint64_t size,
		  uint64_t tick);
int records_signal(struct rec *r, const struct step_task *t, int sig, uint64_t tick);
int records_call(struct rec *r, const struct step_task *t, const struct arch_regs *regs, bool end,
		 uint64_t tick);
int records_clock(struct rec *r, const struct ticks_pair *p);
/* Reads the kernel's and writes all that waits in order of time. */
int records_flush(struct rec *r);

/* code.c: the code that ran goes into the capture. */
/* Reads what is mapped now and tells what is new. */
int code_maps(struct rec *r, struct step_task *t, uint64_t tick);
/* Instruction of @n bytes ran. */
int code_ran(struct rec *r, struct step_task *t, uint64_t addr, const uint8_t *p, size_t n,
	     uint64_t tick);
size_t code_resolve(struct rec *r, struct proc *p, const char *symbol, uint64_t *addr, size_t max);

/* unit.c: the trace unit of a thread. */
int unit_new(struct rec *r, struct step_task *t);
void unit_free(struct step_task *t);
int unit_enter(struct step_task *t, uint64_t pc, uint64_t tick);
int unit_insn(struct step_task *t, const struct step_insn *i);
int unit_trap(struct step_task *t, uint64_t pc, int sig, uint64_t tick);
/* Is not stepped from the instruction at @pc on. */
int unit_leave(struct step_task *t, uint64_t pc, uint64_t tick);
int unit_end(struct step_task *t);

#endif
