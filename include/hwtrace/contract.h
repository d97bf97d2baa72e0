/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_CONTRACT_H
#define HWTRACE_CONTRACT_H

/*
 * Whether the kernel events of a capture behave as hwtrace-events(7) promises: which come before,
 * how often, told where and by whom, with which values. One pass, in memory that does not grow
 * with the capture. What only the beginning, the end or a loss could explain is no finding: an
 * event is missed only where its kind was being recorded before and after.
 */
#include <stdint.h>

#include <hwtrace/err.h>
#include <hwtrace/session.h>

/* One record. */
struct hwt_contract_at {
	uint64_t time;		/* base ns */
	uint64_t off;		/* HWT_NO_OFF: there is none */
	uint32_t src;
	int32_t cpu;
};

struct hwt_contract_finding {
	const char *rule;	/* "switch", ...: as hwtrace-check(1) lists them; static */
	struct hwt_contract_at at;	/* the record that can not be */
	struct hwt_contract_at before;	/* the one that it contradicts */
	int32_t tid;		/* of the task it is about, HWT_NONE */
	char text[192];		/* what is wrong, and what follows from it */
};

struct hwt_contract_stats {
	uint64_t records;	/* read, without @dirty */
	uint64_t checks;	/* of a record against a rule */
	uint64_t findings;	/* also those that were too many to be given */
	/*
	 * Rules that are not held against the recording (bit i: rule i). So many records break
	 * them that it must leave out tasks or events; or a recorder that steps programs made the
	 * switches, which are then not those that the kernel's other events tell of.
	 */
	uint32_t rules_off;
	uint32_t rules_stepping;	/* those of @rules_off for the second reason */
	uint64_t losses;	/* stream.lost */
	uint64_t dirty;		/* events of this capture only, which no rule is about */
};

/* Name of rule @i ("switch"), as in findings; NULL past the end. */
const char *hwt_contract_rule(unsigned i);

/*
 * Gives each finding, in order of time, at most 64 of a rule, to @found, at the end. 0; -ENOENT if
 * there are no kernel events; or another negative code; with @diag filled.
 */
int hwt_session_contract(struct hwt_session *s,
			 void (*found)(void *arg, const struct hwt_contract_finding *f), void *arg,
			 struct hwt_contract_stats *stats, struct hwt_diag *diag);

#endif
