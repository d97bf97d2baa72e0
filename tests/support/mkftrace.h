/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MKFTRACE_H
#define TESTS_MKFTRACE_H

/*
 * Writes trace.dat in memory, versions 6 and 7, of either byte order and size of a long, by
 * trace-cmd.dat.v6(5), .v7(5) and the kernel's ring_buffer.c. Shares nothing with the reader. A
 * failing allocation exits.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MKFT_PAGE	256		/* bytes of a page: small, so that there are many */
#define MKFT_SWITCH	314		/* type of sched:sched_switch */
#define MKFT_BPRINT	6
#define MKFT_PRINT	5
#define MKFT_FMT	0x81001000u	/* address of a format, "n=%d s=%s c=%c %5lu|%-4x|%%\n" */

struct mkft_bytes { uint8_t *p; size_t n, cap; };

enum mkft_pack { MKFT_PLAIN, MKFT_ZLIB, MKFT_ZSTD };

struct mkft_option { unsigned id; const void *p; size_t n; };

struct mkftrace {
	bool big;
	unsigned long_size;		/* 4 or 8 */
	unsigned version;		/* 6 or 7 */
	enum mkft_pack pack;		/* 7 only */
	const char *clock;
	bool no_formats;
	const struct mkft_option *options;
	size_t noptions;
	struct mkft_bytes cpu[4];	/* pages */
	unsigned ncpus;
	/* an instance, whose only CPU is 0 */
	const char *instance;
	struct mkft_bytes instance_cpu;
	/* of the page that is being written */
	struct mkft_bytes *out;
	size_t start;
};

void mkft_init(struct mkftrace *m, unsigned version, bool big, unsigned long_size);
void mkft_free(struct mkftrace *m);

/* A page at the end of @out, then its records. */
void mkft_page(struct mkftrace *m, struct mkft_bytes *out, uint64_t time);
/* @delta below 2^27; @n a multiple of 4 */
void mkft_record(struct mkftrace *m, uint32_t delta, const void *p, size_t n);
/* with a word for its length */
void mkft_long_record(struct mkftrace *m, uint32_t delta, const void *p, size_t n);
void mkft_extend(struct mkftrace *m, uint64_t delta);
void mkft_stamp(struct mkftrace *m, uint64_t time);
void mkft_discarded(struct mkftrace *m, uint32_t delta, size_t n);
/* Ends the page. @missed: flags and number of lost records, as ring_buffer_read_page() writes. */
void mkft_page_end(struct mkftrace *m, bool lost, bool stored, uint64_t missed);

/* Records of the three types above. */
void mkft_switch(struct mkftrace *m, uint32_t delta, int32_t prev, int32_t next);
void mkft_bprint(struct mkftrace *m, uint32_t delta, int32_t tid, uint64_t fmt, const void *args,
		 size_t n);

void mkft_put(struct mkft_bytes *b, const void *p, size_t n);
void mkft_num(struct mkftrace *m, struct mkft_bytes *b, uint64_t v, unsigned size);

/* The file; the caller frees it. */
uint8_t *mkft_file(struct mkftrace *m, size_t *n);

#endif
