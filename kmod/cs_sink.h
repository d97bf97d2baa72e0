/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_CS_SINK_H
#define HWT_KMOD_CS_SINK_H

/*
 * What keeps the trace of a session, with the buffer that user space maps.
 *
 * A trace memory controller writes over what is oldest and can not be told where the reader is: its
 * trace is copied behind that of before, whenever it is stopped. It may be called anywhere.
 *
 * The trace buffer of a CPU (cs_trbe.c) writes to that memory itself, up to where the reader is; it
 * is called on its CPU, but for memory, tell, read, mmap and close, and with interrupts off.
 */
#include <hwtrace/kmod.h>

#include "cs_find.h"
#include "tmc_prog.h"
#include "trbe_prog.h"

struct page;
struct vm_area_struct;

struct cs_sink {
	struct cs_dev *dev;		/* a controller; NULL: the trace buffer of @cpu */
	struct tmc t;
	void *mem;			/* of an ETR */
	dma_addr_t dma;
	u64 mem_bytes;
	struct trbe b;
	struct page **page;		/* of a trace buffer */
	bool waits;			/* it was full, and there is no room yet */
	u8 *data;			/* what is mapped, @bytes of it; of a trace buffer twice */
	u64 bytes, head, tail, cuts, time;
	bool newest;			/* without room the oldest goes */
	bool ended;
	const char *why;		/* it ended */
	int cpu;			/* the only one that feeds it, -1: several */
	u8 piece[1024];			/* what is read of an ETB at once */
};

static inline bool cs_sink_here(const struct cs_sink *s)
{
	return !s->dev;
}

/* Takes it; @dev NULL: the trace buffer of @cpu. A refusal is told in @s->why. */
int cs_sink_open(struct cs_sink *s, struct cs_dev *dev, int cpu);
int cs_sink_memory(struct cs_sink *s, u64 bytes, bool newest);
/* 0 also when there is no room: cs_sink_runs() tells. */
int cs_sink_start(struct cs_sink *s);
bool cs_sink_runs(const struct cs_sink *s);
/* Units that feed it are stopped. */
void cs_sink_stop(struct cs_sink *s);
/* What is on its way arrives. */
void cs_sink_flush(struct cs_sink *s);
/* Before and after the machine sleeps, or the CPU is off, stopped. */
void cs_sink_give(struct cs_sink *s);
void cs_sink_take(struct cs_sink *s);
void cs_sink_close(struct cs_sink *s);
void cs_sink_tell(const struct cs_sink *s, struct hwt_kmod_trace *t);
int cs_sink_read(struct cs_sink *s, u64 begin);
int cs_sink_mmap(struct cs_sink *s, struct vm_area_struct *v);
void cs_sink_end(struct cs_sink *s, const char *why);

/* cs_trbe.c: the same of a trace buffer. */
int cs_trbe_open(struct cs_sink *s);
int cs_trbe_memory(struct cs_sink *s);
int cs_trbe_start(struct cs_sink *s);
void cs_trbe_stop(struct cs_sink *s);
void cs_trbe_free(struct cs_sink *s);

#endif
