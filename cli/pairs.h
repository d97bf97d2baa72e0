/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_PAIRS_H
#define CLI_PAIRS_H

/* What latency and why share. */
#include "cli.h"

/* The pairs of --from, --to and --key; NULL if they are wrong, which is said. */
struct hwt_pairs *pairs_open(struct run *r);
/* The capture has what is needed to see their ends; if not, it is said. */
bool pairs_seen(struct run *r);
/* The timeline that they need, NULL if it can not be read. */
struct hwt_stream *pairs_stream(struct run *r, const struct hwt_pairs *p);

/* "1.84 us", "1.8 us to 2 us", "at least 5 us" */
void pair_length(struct out *o, struct hwt_interval v, bool ticks);
/* "at most 5 us": of one that touches a hole only the upper bound holds */
void pair_most(struct out *o, uint64_t hi, bool ticks);
/* "on-cpu 2 us, blocked 9 us" */
void pair_parts(struct out *o, const struct hwt_interval *part, unsigned known, bool ticks);
/* A stepping recorder made the capture: that a task does not run may be its doing. */
bool pair_stepped(const struct run *r);
/*
 * "only 3 tasks were recorded"; @bits and @tasks as in struct hwt_pair_stats, which have
 * HWT_SCOPE_TASKS
 */
void pair_scope(struct out *o, unsigned bits, uint64_t tasks);
void pair_scope_json(struct jsonl *j, unsigned bits, uint64_t tasks);
/*
 * What was waited for, a line for each wait and who ended it, from column @indent on; names of
 * tasks are those that they had at @ev
 */
void pair_waits(struct run *r, const struct hwt_event *ev, const struct hwt_wait *v, unsigned n,
		unsigned indent);
/* Of pair @number: an object for each wait, and behind it those of who ended it, or who ran. */
void pair_waits_json(struct run *r, uint64_t number, const struct hwt_wait *v, unsigned n);
/* The command line that shows what ran meanwhile. */
void pair_where(struct run *r, const struct hwt_pair *p);
/* "tid 7 sh", "no task"; with the name that it has at @ev; NULL: its last one */
void pair_task(struct run *r, const struct hwt_event *ev, int32_t tid);
void pair_json(struct jsonl *j, const struct show *v, const struct hwt_pair *p, unsigned known);

/* Pairs by the id of their task or CPU. NULL without memory; for free(). Printing sorts them. */
struct groups;
struct groups *groups_new(void);
void groups_add(struct groups *g, int32_t id, struct hwt_interval took);
void groups_json(struct groups *g, struct run *r, bool tasks);
void groups_print(struct groups *g, struct run *r, bool tasks, bool ticks);

#endif
