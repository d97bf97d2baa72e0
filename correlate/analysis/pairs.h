/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_PAIRS_H
#define HWT_CORRELATE_PAIRS_H

/* What the files of hwt_pairs share. */
#include "point.h"
#include "story.h"
#include "tail.h"
#include "task.h"

#define PAIRS_OPEN	65536	/* at a time */

enum pairs_by {
	BY_TASK,	/* @field: a task id in the record; "": the one that runs */
	BY_CPU,		/* with @field: also its value */
	BY_FIELD
};

struct pairs_key {
	uint8_t by;		/* enum pairs_by */
	const char *field;	/* owned by struct hwt_pairs, or static; "": none */
};

/* One @from that waits for its @to. */
struct pairs_open {
	struct pairs_open *below;	/* of the same key, older */
	struct pairs_open *next, **link;	/* of the same task */
	struct hwt_pair p;
	struct task *task;		/* NULL: no split */
	struct hwt_interval since;	/* of the part that it is in */
	uint64_t holes;			/* that could hide its end when that part began */
	/* who ran as it began, and tasks_unseen() of it and of @task then */
	struct task *runs;
	uint64_t runs_unseen, unseen;
	bool lost_time;			/* a part has no time */
	bool nested;			/* an entry that was not seen, only its function */
	bool again;			/* ... but before, so it makes a pair */
	bool inner;			/* inside another one of the same key that makes a pair */
};

struct pairs_slot {
	struct pairs_open *top;
	uint32_t free;		/* the next one without a key, from 1 on */
};

/* Who makes more of the pairs; NULL of each: nothing. 0 or -ENOMEM. */
struct pairs_watch {
	/* a task begins to do something else, at @ev */
	int (*changed)(void *ctx, const struct hwt_event *ev, const struct task_change *c);
	/* before the event begins or ends one */
	int (*told)(void *ctx, const struct hwt_event *ev);
	int (*begun)(void *ctx, const struct pairs_open *o, const struct hwt_event *ev);
	/* of the one that was begun as @o; one that is lost or replaced has no end */
	int (*ended)(void *ctx, const struct pairs_open *o, const struct hwt_pair *p);
	void *ctx;
};

struct hwt_pairs {
	struct hwt_session *s;
	struct point from, to;
	struct pairs_key from_key, to_key;
	char *key;			/* copy of the option's text */
	struct hwt_addr_range *addrs;	/* of both points, for the walk */
	bool same_function;		/* entry and return of it: they nest */
	struct tails tails[2];		/* of returns: @from, @to */
	bool lives;			/* the task of the key has to run for the end */
	bool wakes;			/* from a wakeup to the switch to that task */
	bool frames;			/* the timeline has them */
	bool trace;			/* an end is seen by the trace units */
	bool flow;			/* both are */
	bool one_context;		/* both are of what runs on one CPU, as an interrupt */
	struct tasks tasks;
	const struct time_fit *fit;	/* of the counter that stamped both points; NULL */
	struct story *story;		/* NULL: nobody asks for waits */
	struct idmap by_key;
	struct vec slots;		/* of struct pairs_slot, one a key that has an open one */
	uint32_t free_slot;		/* one without a key, from 1 on; 0: none */
	struct pairs_open *unused;
	size_t nopen, waiting;	/* @waiting: those that are no nested call */
	struct hwt_pair_stats st;
	struct pairs_watch watch;
	int failed;			/* what the watch returned */
};

/* Whether both points are the begin and the end of what one task, or an interrupt of it, does. */
bool pairs_one_context(const struct hwt_pairs *p);
/* As it was when it was new, for a second pass. */
void pairs_reset(struct hwt_pairs *p);

/* Which key the two points have, by the option @key or by themselves. 0 or a negative error. */
int pairs_key_init(struct hwt_pairs *p, const char *key, struct hwt_diag *diag);
/* The value for an event at a point: 1, or 0 if it has none. */
int pairs_key_of(const struct hwt_pairs *p, const struct pairs_key *k, const struct hwt_event *ev,
		 uint64_t *v);

/* The slot of a key; NULL if there is none and @make is false, or no room. */
struct pairs_slot *pairs_slot_of(struct hwt_pairs *p, uint64_t key, bool make);
/* A key that nothing waits for any more takes no room. */
void pairs_tidy(struct hwt_pairs *p, uint64_t key);

/* hwt_pairs_waits() is asked from now on. 0 or -ENOMEM. */
int pairs_keep_story(struct hwt_pairs *p);
/* An instant; both unknown without time. */
struct hwt_interval pairs_instant(const struct hwt_event *ev);
/* What lies between two instants of one clock, as an interval. */
struct hwt_interval pairs_between(const struct hwt_pairs *p, unsigned clock,
				  struct hwt_interval a, struct hwt_interval b);

#endif
