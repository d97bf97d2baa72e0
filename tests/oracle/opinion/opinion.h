/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_OPINION_H
#define TESTS_ORACLE_OPINION_H

/* What other decoders make of a capture of the oracle, held against what ran. */
#include "../code.h"
#include "../truth.h"

#include "hwtrace/source/capture.h"

#define THREADS_MAX	64
#define FIRST_ID	0x10	/* trace id of the first thread, as encode.c gives them */
#define FIRST_TID	1000

/* One decoder over one capture. Its instructions are fed in the order of each thread. */
struct peer {
	const char *name;
	struct truth *t[THREADS_MAX];
	int bad[THREADS_MAX];
	size_t n;
	/*
	 * Goes on behind the last packet until a branch needs one: so many instructions at most,
	 * which nothing proves. Of each thread, and how many there were.
	 */
	unsigned behind_max, behind[THREADS_MAX];
	unsigned wrong;
	char why[512];		/* the first that is wrong */
};

int peer_new(struct peer *p, const char *name, struct rec *r, const struct rec_clock *clk,
	     const struct truth_holes *holes);
void peer_free(struct peer *p);
/* Instructions from @first to @last in a row. */
void peer_range(struct peer *p, size_t thread, uint64_t first, uint64_t last, uint32_t n,
		unsigned isa);
void peer_gap(struct peer *p, size_t thread);
/* What makes the whole comparison wrong. */
void peer_wrong(struct peer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ipt.c: each thread's trace by libipt's instruction decoder; 0, -ENOSYS without libipt. */
int ipt_listen(struct peer *p, const struct capture *c, const struct code *code);

/* snapshot.c: @c as a directory that OpenCSD's lister reads. 0 or negative. */
int snapshot_write(const char *dir, const struct capture *c, const struct code *code);

/* listing.c: runs @cmd and takes its lines. Negative if it can not be run. */
int listing_perf(struct peer *p, const char *cmd, unsigned isa);
int listing_ocsd(struct peer *p, const char *cmd, size_t only, bool framed);
int listing_own(struct peer *p, const char *cmd);

#endif
