/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TESTS_KERNEL_CASES_H
#define HWT_TESTS_KERNEL_CASES_H

/* Cases of guest.c that need no other recording to be compared with. */
#include <stdint.h>

struct client;

/* A number that is given to init, or the usual one. */
int cases_number(const char *name, int usual);

void case_overload(void);	/* more than the reader takes, both modes */
void case_slots(void);		/* 64 sessions at once */
void case_others(void);		/* a user without rights, while root works */
void case_own(void);		/* that user's part, in a program of its own */
void case_process(void);	/* a process and what it forks */
void case_requests(void);	/* what is refused, and how */
void case_cpus(void);		/* a CPU goes and comes while all is recorded */
void case_memory(void);		/* each allocation fails once */
void case_kills(void);		/* readers that are killed at any time */
void case_readers(int n);	/* so many at once, for a moment */

/* quota.c */
void case_quota(void);	/* users who take all that they get */
/* owners.c */
void case_owners(void);	/* all sessions, two owners, each with another filter */
void case_owners_user(void);	/* part of it, in a program of its own */
/* state.c */
void case_state(void);		/* what there is, as records and in /proc */
void client_state(struct client *c);	/* lets the module tell it, and reads */
/* pages.c */
void case_pages(void);		/* rings that are mapped and spliced */
/* filter.c */
void case_filter(void);		/* the kernel filters as the library does */
void case_programs(void);	/* random programs, too */
/* programs.c */
void case_programs_many(void);	/* many of them */
/* context.c */
void case_context(void);	/* context fields of a program's records */
void case_context_user(void);	/* part of case_own() */
/* func.c */
void case_reads(void);		/* calls of one of them, for recordings */
void case_func(void);		/* functions of the kernel that are called and return */
/* record.c: the library's recorder, into captures in /tmp/out */
void case_record(void);		/* a program, and the machine */
void case_user(void);		/* part of case_own() */
void case_load(void);		/* calls on both CPUs, for recordings */
void case_killed(void);		/* a recorder that is killed */
void case_killed20(void);	/* at 20 instants */
void case_snapshots(void);	/* by a signal, by an event, at the end */
/* random.c */
void case_random(void);		/* requests of random bytes */
/* unit.c */
void case_unit(void);		/* no trace unit here */
void case_unit_user(void);	/* part of case_own() */
void case_unit_sim(void);	/* with the module of sim/ */
/* stop.c */
void case_stop(void);		/* onto a disk that stops at any time */

#endif
