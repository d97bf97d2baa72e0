/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_ORDER_H
#define HWTRACE_ORDER_H

/*
 * Whether the clocks of the CPUs agree with what must come first: a task is woken before it runs,
 * made before it runs, on one CPU at a time. No clock is taken to be right and nothing to take any
 * time; what is proven is proven by order alone. Events must be timed, and wakeups among them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/session.h>

enum hwt_order_rule {
	HWT_ORDER_WAKING_WAKEUP,	/* sched.waking before sched.wakeup of the task */
	HWT_ORDER_WAKE_RUN,		/* the wakeup before the task runs */
	HWT_ORDER_FORK_RUN,		/* sched.fork before the child runs */
	HWT_ORDER_ONE_CPU,		/* a task leaves one CPU before it runs on another */
	HWT_ORDER_IPI,		/* irq.ipi_send before irq.entry of that kind on a target */
	HWT_ORDER_BLOCK,		/* block.issue before block.complete of the request */
	HWT_ORDER_SYSCALL,		/* syscall.enter before syscall.exit of the task */
	HWT_ORDER_RULES
};

enum hwt_order_kind {
	HWT_ORDER_SKEW,	/* the clock of @cpu is off */
	HWT_ORDER_PAIR,	/* that of @cpu or of @other */
	HWT_ORDER_STEP,	/* no shift of @cpu or @other explains it: a clock changed */
	HWT_ORDER_SWAPPED	/* what is told of @cpu is of @other */
};

/* An event of a counter-example. */
struct hwt_order_mark {
	uint64_t lo, hi;	/* ns */
	uint64_t off;
	uint32_t src;
	int32_t cpu;
	int32_t tid;		/* the task, or HWT_NONE */
};

struct hwt_order_finding {
	uint8_t kind;		/* enum hwt_order_kind */
	uint8_t rule;		/* enum hwt_order_rule, of the counter-example */
	bool early;		/* SKEW: its clock is behind the others, times are too early */
	int32_t cpu, other;
	uint64_t least;		/* ns that are proven */
	uint64_t from, to;	/* ns: start of the first window, end of the last */
	uint64_t windows;
	uint64_t edges;		/* orders that are broken */
	struct hwt_order_mark a, b;	/* @a must be first */
	struct hwt_order_mark c, d;	/* STEP: and @c before @d, both together are impossible */
};

struct hwt_order_sum {
	uint64_t edges[HWT_ORDER_RULES];	/* between two CPUs */
	uint64_t broken[HWT_ORDER_RULES];
	uint64_t windows;
	uint64_t scale;	/* ns that clocks are apart at most; 0: that can not be said */
	/*
	 * By order alone: how far the clocks of two CPUs may be apart, ns, the least of all
	 * windows and pairs, and the median of pairs; HWT_TIME_UNKNOWN: no bound
	 */
	uint64_t best, median;
	size_t nfindings;
};

/*
 * Reads the kernel's events and calls @finding for each contradiction, the one with the most
 * windows first. @out may be NULL. 0; -ENOENT without kernel events; or another negative code, with
 * @diag filled.
 */
int hwt_session_order(struct hwt_session *s, struct hwt_order_sum *out,
		      void (*finding)(void *arg, const struct hwt_order_finding *f), void *arg,
		      struct hwt_diag *diag);
/* "a task is woken before it runs"; static. */
const char *hwt_order_rule_text(unsigned rule);
/* One line about a finding. As snprintf(). */
size_t hwt_order_text(const struct hwt_order_finding *f, char *buf, size_t size);

#endif
