/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_WHOLE_WHOLE_H
#define TESTS_ORACLE_WHOLE_WHOLE_H

/* A recording of a guest, what hwtrace recorded in it meanwhile, and how both belong together. */
#include <hwtrace/session.h>

#include "../guest/code.h"
#include "../truth.h"
#include "hwtrace/model/etm4.h"
#include "hwtrace/model/pt.h"

#define WHOLE_CPUS	2
#define WHOLE_LINES	64	/* instructions that count an event */

/* An instruction that counts an event ran; in instructions of the CPU, and ticks. */
struct whole_visit {
	uint64_t insn, end;		/* its number, and that of the end of its function */
	uint64_t before, tick, over;	/* its block began behind, was over by; the function was */
	size_t record;			/* that it wrote, of the CPU; SIZE_MAX: none */
};

struct whole_rec {
	struct hwt_rec *data;
	uint32_t size;
	size_t visit;		/* that wrote it; SIZE_MAX: none, it is outside of the recording */
	uint64_t nth;		/* of this event and CPU, among those that are kept */
	bool lost;
};

/* User code from instruction @insn on; @aspace: CR3 or CONTEXTIDR. */
struct whole_seg { uint64_t insn, tick, table, aspace, thread; int32_t tid; };

/*
 * The address space, CR3 or CONTEXTIDR, became another one; trace has it by @told: that of an ETM
 * behind the next P0 element (IHI 0064, chapter 5).
 */
struct whole_change { uint64_t tick, told; };

/* PTWRITE wrote @value when the CPU had run @insn instructions. */
struct whole_mark { uint64_t insn, value; };

struct whole_cpu {
	uint64_t from, upto;		/* ticks of what was recorded */
	uint64_t insns;
	struct whole_rec *rec;
	size_t nrec;
	struct whole_visit *visit[WHOLE_LINES];
	size_t nvisit[WHOLE_LINES];
	struct whole_seg *seg;
	size_t nseg;
	struct whole_mark *mark;
	size_t nmark;
	struct whole_change *change;
	size_t nchange;
};

struct whole {
	struct rec *rec;
	struct code *code;
	struct rec_clock clk;
	const char *guest;		/* the capture that it made */
	char kcore[4096];		/* where the kernel's code is */
	bool marked;			/* records have marks in the trace */
	size_t ncpus, nlines;
	/* an instruction that counts, and the end of its function or the next one's */
	struct { uint32_t id; uint64_t addr, end; const char *name; } line[WHOLE_LINES];
	struct whole_cpu cpu[WHOLE_CPUS];
	uint64_t patches;		/* of the kernel's code, while it was recorded */
	/* user code of another thread came: with another register, another address space */
	uint64_t threads, spaces;
};

/* 0, or a negative code and said; to be closed in any case. */
int whole_open(struct whole *w, const char *recording, const char *guest);
void whole_close(struct whole *w);
/* So many records of 1000 are lost from now on, the others come back. */
void whole_lose(struct whole *w, unsigned permille);

/* Of @pt and @etm4 that of the guest's architecture is used. */
struct whole_setting {
	const char *name;
	struct model_pt_cfg pt;
	struct model_etm4_cfg etm4;
	unsigned lose;		/* records of 1000 */
	unsigned spaces;	/* counting instructions are not told; percent that must be tied */
	bool symbols;		/* functions are told by name, not their counting instructions */
	bool guest_clock;	/* the clock is that of the guest, else a tick is a ns */
};

bool whole_is_pt(const struct whole *w);
/* Writes the capture: trace of what ran, and what the guest recorded. */
int whole_write(struct whole *w, const char *dir, const struct whole_setting *set,
		struct truth_holes holes[WHOLE_CPUS]);
/* User code at instruction @insn of a CPU; NULL: none was before. */
const struct whole_seg *whole_seg_at(const struct whole_cpu *c, uint64_t insn);
/*
 * Prints what is true of each request, a line of JSON: the functions are at these addresses. On the
 * first CPU. 0 or a negative code.
 */
int whole_requests(struct whole *w, uint64_t request, uint64_t extra);
int whole_line(const struct whole *w, uint32_t id);	/* or -1 */

#endif
