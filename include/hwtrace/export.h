/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_EXPORT_H
#define HWTRACE_EXPORT_H

/* A capture written again in the format of another tool. */
#include <signal.h>
#include <stdint.h>

#include <hwtrace/session.h>

/* Zero is the default of each field; strings are borrowed for the call. */
struct hwt_export_opts {
	size_t size;			/* sizeof(struct hwt_export_opts) */
	/*
	 * Directory for the code that ran, made if it is not there: each file below it at its
	 * recorded path, code without a file in hwtrace/. NULL: no code is written, and what is in
	 * no file is told as a note.
	 */
	const char *images;
	int force;			/* files of @images that are there already are replaced */
	const volatile sig_atomic_t *stop;	/* set: ends early with -EINTR; NULL: never */
	/* each thing that the format can not hold; @d lives for the call only; may be NULL */
	void (*note)(void *arg, const struct hwt_diag *d);
	void *arg;
};

struct hwt_export_result {
	uint64_t bytes;			/* written to the file */
	uint64_t trace_bytes;		/* of these, from the trace buffers */
	uint32_t bufs, left_out;	/* trace buffers written, and not written at all */
	uint32_t maps, files;		/* maps of code; files in @images */
	uint8_t  proto;			/* enum hwt_proto of the trace */
	uint8_t  elsewhere;		/* 1: a file of code is not at its recorded path */
	uint8_t  timed;			/* 1: records and samples have times */
};

/*
 * Writes a perf.data file of the capture to the descriptor @fd, in one pass from its first byte to
 * its last: a pipe is fine. Intel PT, ETMv4 and ETE.
 *
 * 0. Negative with @diag filled: -HWT_E_FORMAT if the format can not hold the trace at all (nothing
 * was written), -EINTR, -ENOMEM, or the error of a write: what was written so far is no whole file.
 */
int hwt_export_perf(struct hwt_session *s, int fd, const struct hwt_export_opts *opts,
		    struct hwt_export_result *res, struct hwt_diag *diag);

#endif
