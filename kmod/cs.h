/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_CS_H
#define HWT_KMOD_CS_H

/* CoreSight of a session: cs.c, and cs_here.c, which is what runs on the CPU of a unit. */
#include <linux/mutex.h>

#include "cs_links.h"
#include "cs_sink.h"
#include "cs_sys.h"
#include "etm4_prog.h"
#include "unit.h"

#define CS_ID(cpu)	((cpu) + 1)	/* trace ids */

struct cs_cpu {
	struct cs_dev *dev;		/* NULL: it has no unit */
	struct cs_sink *sink;
	struct cs_sys sys;		/* what it is itself, if it was on */
	struct etm4 e;
	struct cs_way way;
	bool off;			/* saved, because the CPU is off or the machine sleeps */
};

struct cs_session {
	struct unit unit;
	struct mutex lock;	/* taken inside of cpus_read_lock() and session.c's running_lock */
	struct etm4_wish wish;
	u64 bytes;
	bool newest, runs, sleeps;
	unsigned int nsinks;
	struct cs_sink *sink;	/* nr_cpu_ids */
	struct cs_links links;
	struct cs_cpu cpu[];	/* nr_cpu_ids */
};

/* Trace goes to the CPU's own buffer. */
static inline bool cs_own_buffer(const struct cs_cpu *c)
{
	return cs_sink_here(c->sink);
}

/*
 * On @cpu, which is on, with interrupts off, and with cpus_read_lock() held. A trace buffer of the
 * CPU is taken, started, stopped and given back with its unit.
 */
int cs_here_look(struct cs_session *p, unsigned int cpu);
int cs_here_open(struct cs_session *p, unsigned int cpu);
int cs_here_config(struct cs_session *p, unsigned int cpu);
int cs_here_start(struct cs_session *p, unsigned int cpu);
int cs_here_stop(struct cs_session *p, unsigned int cpu);
int cs_here_save(struct cs_session *p, unsigned int cpu);
int cs_here_restore(struct cs_session *p, unsigned int cpu);
int cs_here_close(struct cs_session *p, unsigned int cpu);

#endif
