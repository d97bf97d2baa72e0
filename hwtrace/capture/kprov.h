/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_KPROV_H
#define HWT_CAPTURE_KPROV_H

/*
 * A provider of kernel events as one recording (krecord.c) uses it: opened, started, pumped until
 * it is stopped and all is written. A new start begins anew: with another capture, or after a
 * snapshot.
 */
#include <stdbool.h>
#include <stdint.h>

#include <hwtrace/capture.h>
#include <hwtrace/filter.h>

struct dirty;
struct kown;
struct native_writer;
struct time_map;

/* What is wanted. All of it outlives the provider. */
struct kprov_want {
	const struct hwt_filter *events;	/* and their conditions */
	const struct hwt_filter *narrow;	/* more conditions for some of them; NULL: none */
	uint64_t buffer_bytes;		/* of each CPU; 0: the provider's own */
	bool overwrite;			/* nothing is read before it is stopped: newest wins */
	bool all;			/* the whole machine */
	const struct kown *own;		/* only the module has that; NULL: nothing */
	/*
	 * Of @events and @narrow only those that are tracepoints of this, to dirty/ of the capture.
	 * NULL: only those that are virtual, to kernel/.
	 */
	const struct dirty *dirty;
	bool sync;			/* of dirty/: clock.sync too, as its clock is another */
	bool beside;			/* another provider records, too: nothing need be wanted */
	/*
	 * Of this kernel, where trace is recorded, too: ticks of its counter to ns of perf's clock.
	 * A provider that has no records on the counter can make them of such. NULL: not known.
	 */
	const struct time_map *perf_clock;
	const char *tag;		/* tells several of one process apart */
	void (*note)(void *arg, const struct hwt_diag *d);	/* NULL: none */
	void *arg;
	struct hwt_diag *diag;		/* words of a failure */
};

struct kprov_sum {
	uint64_t events;		/* records given, those of the recorder included */
	uint64_t lost;
	uint64_t matched;	/* wanted ones, where they were only counted */
};

struct kprov;
struct kprov_ops {
	/* Begins to record tasks of process @pid and what it forks, 0: all tasks. */
	int (*start)(struct kprov *p, int32_t pid);
	/* Its clock, and what only it knows. Before the first record; between start and pump. */
	int (*describe)(struct kprov *p, struct native_writer *w);
	/*
	 * Tasks and maps that are there already, right after the start. 1: it can not, or no more,
	 * and /proc is to be read; NULL: neither.
	 */
	int (*state)(struct kprov *p, struct native_writer *w);
	/* Writes what there is; @w NULL: only counts. 1: it was stopped, and nothing is left. */
	int (*pump)(struct kprov *p, struct native_writer *w);
	int (*stop)(struct kprov *p);
	void (*close)(struct kprov *p);
	const char *lacks;		/* what its records do not have, for a note; NULL */
};

struct kprov {
	const struct kprov_ops *ops;
	const char *counter;		/* of its stamps, as native_clock() has it */
	uint64_t frequency;		/* of it; 0: not known */
	struct kprov_sum sum;		/* since the start */
	int fd;				/* readable when there is something; -1: none */
	bool inside;	/* since the start: only what is told while one of some tasks runs */
};

/* The provider itself. A negative code with words in @want->diag. */
int kprov_new(struct kprov **out, enum hwt_provider which, const struct kprov_want *want);

/* The provider of @want->dirty. */
int kprov_dirty(struct kprov **out, const struct kprov_want *want);

/* Those there are, see kprov.c. */
int module_new(struct kprov **out, const struct kprov_want *want);
int ftring_new(struct kprov **out, const struct kprov_want *want);
int pring_new(struct kprov **out, const struct kprov_want *want);
/* May this user have perf's records: of the machine, or of own tasks? */
int pring_try(bool all, struct hwt_diag *diag);
bool pring_tells(unsigned id);	/* without any tracepoint */

/* The filter whose condition event @id has. */
const struct hwt_filter *kprov_condition(const struct kprov_want *want, unsigned id);
/* A program that asks for nothing: it begins with its return (BPF_RET | BPF_K). */
static inline bool kprov_returns(const struct hwt_bpf_insn *v)
{
	return v->code == 0x06;
}

/* A line for the user. */
void kprov_note(const struct kprov_want *want, unsigned id, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
