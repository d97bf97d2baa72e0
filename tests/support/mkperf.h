/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MKPERF_H
#define TESTS_MKPERF_H

/*
 * Writes perf.data in memory: one event attribute (at 104), data section at 248, then ids and
 * features. Records carry a sample id of TID, TIME, CPU and IDENTIFIER, taken from the fields that
 * the caller sets before each record. Shares nothing with the reader. A failing allocation exits.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MKPERF_DATA	248		/* file offset of the first record */
#define MKPERF_SAMPLE	0x10087u	/* IP, TID, TIME, CPU, IDENTIFIER */
#define MKPERF_TYPE	8		/* event type of the trace unit */
#define MKPERF_TRAILER	32		/* bytes of a sample id */

struct mkperf {
	uint8_t *p;		/* records so far */
	size_t n, cap;
	bool big;		/* write the other byte order */
	uint64_t config;	/* of the attribute */
	uint64_t sample_type;
	uint32_t aux_sample;	/* aux_sample_size of the attribute */
	uint64_t flags;		/* bits of the attribute, first field lowest */
	uint64_t id;		/* of the attribute */
	uint32_t pid, tid, cpu;
	uint64_t time;		/* ns */
	/* features in order of their ids: strings, or blocks of bytes */
	struct { unsigned id; uint8_t *p; size_t n; } feature[16];
	unsigned nfeatures;
	uint8_t *file;		/* what mkperf_open() has made */
};

void mkperf_init(struct mkperf *m, bool big);
void mkperf_free(struct mkperf *m);
struct capture;
/* The file with all that is in @m, opened, or NULL; its bytes live until mkperf_free(). */
struct capture *mkperf_open(struct mkperf *m);

void mkperf_put(struct mkperf *m, const void *p, size_t n);
void mkperf_u16(struct mkperf *m, uint16_t v);
void mkperf_u32(struct mkperf *m, uint32_t v);
void mkperf_u64(struct mkperf *m, uint64_t v);
/* A string with its NUL, padded to 8 bytes. */
void mkperf_str(struct mkperf *m, const char *s);
/* Opens a record; returns its place for mkperf_end(), which sets the size. */
size_t mkperf_begin(struct mkperf *m, uint32_t type, uint16_t misc);
void mkperf_sample_id(struct mkperf *m);
void mkperf_end(struct mkperf *m, size_t at);

void mkperf_comm(struct mkperf *m, const char *comm, bool exec);
/* As the kernel writes it: of m->pid, or of the kernel if @pid is -1. */
void mkperf_mmap(struct mkperf *m, uint32_t pid, uint64_t addr, uint64_t size, uint64_t off,
		 const char *path);
void mkperf_mmap2(struct mkperf *m, uint64_t addr, uint64_t size, uint64_t off, uint32_t prot,
		  const char *path);
void mkperf_mmap2_id(struct mkperf *m, uint64_t addr, uint64_t size, uint64_t off,
		     const uint8_t *id, unsigned nid, const char *path);
void mkperf_task(struct mkperf *m, uint32_t type, uint16_t misc, uint32_t ppid, uint32_t ptid);
void mkperf_itrace_start(struct mkperf *m);
void mkperf_aux(struct mkperf *m, uint64_t off, uint64_t size, uint64_t flags);
/* @cpu -1: of one thread. The record says @size, @have bytes of @p follow. */
void mkperf_auxtrace(struct mkperf *m, uint64_t off, uint64_t size, uint32_t idx, uint32_t tid,
		     int32_t cpu, const void *p, size_t have);
/* A sample with what m->sample_type says, of those IDENTIFIER, IP, TID, TIME, CPU and AUX. */
void mkperf_sample(struct mkperf *m, const void *aux, size_t n);
void mkperf_switch(struct mkperf *m, bool out);
void mkperf_switch_wide(struct mkperf *m, bool out, uint32_t other_pid, uint32_t other_tid);
void mkperf_time_conv(struct mkperf *m, uint64_t shift, uint64_t mult, uint64_t zero);
/* AUXTRACE_INFO of @type (1 Intel PT, 3 cs_etm) with @n words. */
void mkperf_info(struct mkperf *m, uint32_t type, const uint64_t *words, size_t n);

/*
 * Intel PT whose TSC is in ns: shift 10, multiplier 1024, zero 0. Sets m->config too: branches,
 * TSC.
 */
void mkperf_pt(struct mkperf *m);

void mkperf_feature(struct mkperf *m, unsigned id, const void *p, size_t n);
void mkperf_feature_str(struct mkperf *m, unsigned id, const char *s);

/* The whole file, *n bytes, to be freed. */
uint8_t *mkperf_file(const struct mkperf *m, size_t *n);
/* Writes it to @path; 0 or -1. */
int mkperf_write(const struct mkperf *m, const char *path);

#endif
