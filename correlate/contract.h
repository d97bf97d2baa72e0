/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_CONTRACT_H
#define HWT_CORRELATE_CONTRACT_H

/*
 * Private to contract*.c and their test. contract.c keeps what was seen and judges; the
 * other files know the events.
 */
#include <stdbool.h>
#include <stddef.h>

#include <hwtrace/contract.h>
#include <hwtrace/event.h>
#include <hwtrace/uapi.h>

enum contract_rule {
	RULE_TIME, RULE_SWITCH, RULE_RUNS, RULE_WOKEN, RULE_IRQ, RULE_RAISED, RULE_SOFTIRQ,
	RULE_QUEUED, RULE_WORK, RULE_SYSCALL, RULE_IDLE, RULE_SET, RULE_TIMER, RULE_EXIT,
	RULE_VALUE, RULE_WHERE, RULE_WAKING, RULE_BORN, RULE_MOVED, RULE_NAMED, RULE_SIGNAL,
	RULE_IPI, RULE_BLOCK, RULE_CHANGE, RULE_MARK, RULE_CLOCK, RULE_TWICE, RULE_NUMBER, RULES
};

/* Kinds of records: which one is missed. */
#define HWT_EVENT(sec, name, number, since, stamp, order, often) KIND_##sec##_##name,
enum contract_kind {
	KIND_NONE,
#include <hwtrace/events.def>
	KINDS
};

/* In place of a CPU: all of them, each has records before and after, some of the kind. */
#define CONTRACT_ANY (-2)

/* A record that was seen; seq 0: none. */
struct contract_mark {
	struct hwt_contract_at at;
	uint64_t seq;
};

#define NEST	16	/* interrupts inside one another */

struct contract_open {	/* what was begun and not ended */
	struct contract_mark mark;
	uint64_t what;
	bool open;
};

struct contract_cpu {
	uint64_t first[KINDS], last[KINDS];	/* sequence numbers of records, 0: none */
	uint64_t begin, end;	/* of the first and the last record of any kind */
	uint64_t time;		/* of the last record */
	/* of each kind: number of the last record that has one, and that record */
	struct contract_number { uint64_t hit; struct contract_mark mark; } number[KINDS];
	uint64_t skipped;	/* seq: numbers may be missing up to here, as is told */
	struct contract_mark ran;	/* record of who came in */
	int32_t running, running_pid;
	struct contract_open softirq, idle, timer;
	struct contract_open irq[NEST], hr[NEST];
	unsigned nirq, nhr;
	unsigned irq_empty, hr_empty;	/* times that all of them had ended */
	struct contract_mark ran_vec[10];	/* softirq.entry of a vector */
	uint32_t raised[10];
	/* the last records, to know them again, and hashes of their bytes */
	struct contract_mark recent[8];
	uint64_t recent_hash[8];
	unsigned next_recent;
	unsigned again;		/* how many are left of @recent since one was known again */
};

/* By hash; what falls on the place of another replaces it, and that is forgotten. */
struct contract_task {
	int32_t tid;
	uint32_t life;		/* contract.life of its facts */
	struct contract_mark slept, forked, new, exit;
	struct contract_open call, work, waking;
	bool exited, renamed;	/* @renamed: @name is from a record of the change */
	int32_t cpu;		/* where it is, HWT_NONE */
	struct contract_mark moved;	/* record that told @cpu */
	char name[16], old[16];		/* its name, and the one before; empty: not known */
	struct contract_mark told;	/* record that told @name */
};
/* A timer, work item, request, ..., by its address or a hash of what names it. */
struct contract_thing {
	uint64_t key;
	uint32_t life;
	uint16_t id;		/* of the event that begins its life */
	struct contract_mark ran;	/* since it was set or queued last */
	struct contract_open open;
	struct contract_mark took;	/* record that took the last of @count */
	uint32_t count;
	bool counted;		/* some was counted, so @count is known */
	uint64_t bytes;		/* of a request that was issued last */
};

/* What is demanded of a field's value; of a record of this version. */
struct contract_field {
	uint16_t offset;
	uint8_t size, type;	/* enum hwt_abi_type */
	bool bits;
	const char *name;
	uint64_t mask;		/* of a list: values as bits, or the bits; 0: @lo to @hi */
	int64_t lo, hi;
};
struct contract_fields {
	struct contract_field *v;
	size_t n, cap;
};

struct contract {
	uint64_t seq;		/* of the record */
	uint32_t life;		/* grows with each loss: what was known of tasks is not any more */
	const struct hwt_event *ev;
	struct contract_mark now;
	struct contract_cpu **cpus;	/* by number, NULL: not seen */
	size_t ncpus;
	struct contract_task *tasks;
	struct contract_thing *things;
	struct hwt_contract_stats stats;
	uint32_t off;		/* rules that do not apply, bits */
	struct contract_rule_state {
		uint64_t checks, broken;
		struct contract_case {
			struct hwt_contract_finding f;
			uint64_t seq;
			int32_t cpu;	/* whose records tell, HWT_NONE: all CPUs' */
			uint8_t kind;	/* that is missed */
		} *v;
		size_t n, cap;
	} rules[RULES];
	struct contract_fields fields[KINDS];
	struct contract_mark sync[8];	/* last clock.sync of each clock, its readings */
	uint64_t sync_counter[8], sync_value[8];
	uint64_t signal_to_any[65];	/* last signal whose process is not known, by number */
	bool no_memory, timed;	/* @timed: @clock is known */
	bool filtered;		/* records that were counted are not all there */
	bool skipped;		/* the last event, which has no time */
	uint8_t clock;		/* enum hwt_clock of what is looked at */
};

int contract_new(struct contract **out);
void contract_free(struct contract *c);		/* NULL is fine */
/* One event of a stream as <hwtrace/kernel.h> has them. 0 or -ENOMEM. */
int contract_feed(struct contract *c, const struct hwt_event *ev);
/* What is left of the findings, once all was fed. */
void contract_end(struct contract *c, void (*found)(void *arg,
		  const struct hwt_contract_finding *f), void *arg);

/* For the rules. */
void contract_check(struct contract *c, enum contract_rule r);
/*
 * The record contradicts @before. It is a finding only if records of @kind were being recorded at
 * @before and still are later: on @cpu, on each CPU (HWT_NONE), or on some (CONTRACT_ANY).
 */
__attribute__((format(printf, 7, 8)))
void contract_broken(struct contract *c, enum contract_rule r, enum contract_kind kind,
		     int32_t cpu, const struct contract_mark *before, int32_t tid,
		     const char *fmt, ...);
struct contract_cpu *contract_cpu(struct contract *c, int32_t cpu);	/* NULL: number unknown */
struct contract_task *contract_task(struct contract *c, int32_t tid);	/* NULL if unknown */
struct contract_thing *contract_thing(struct contract *c, uint64_t key, uint16_t id);
/* Records of @cpu are missing before this one (HWT_NONE: of any). */
void contract_forget(struct contract *c, int32_t cpu);
enum contract_kind contract_kind(unsigned id);
void contract_apply(struct contract *c, const struct hwt_rec *rec);

/* Things that are begun and ended and do not nest: on a CPU, in a task, ... */
void contract_begin(struct contract *c, struct contract_open *o, uint64_t what,
		    enum contract_rule rule, enum contract_kind end, int32_t cpu,
		    const char *name);
void contract_close(struct contract *c, struct contract_open *o, uint64_t what,
		    enum contract_rule rule, enum contract_kind begun, int32_t cpu,
		    const char *name);

/* contract_task.c: sched */
void contract_sched(struct contract *c, struct contract_cpu *k, const struct hwt_rec *rec);
/* contract_pairs.c: what follows what, as a table */
void contract_pairs(struct contract *c, const struct hwt_rec *rec);
/* contract_values.c: what can be in a record, as a table */
int contract_values_new(struct contract *c);	/* 0 or -ENOMEM */
void contract_values(struct contract *c, const struct hwt_rec *rec);
/* contract_cover.c: rules that hold the event to its sentences, bits; why not to all, or NULL */
uint32_t contract_cover(unsigned id, const char **why);

#endif
