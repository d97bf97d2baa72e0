/* SPDX-License-Identifier: BSD-2-Clause */
#include "mkperf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTR_SIZE 128		/* PERF_ATTR_SIZE_VER7 */

void mkperf_init(struct mkperf *m, bool big)
{
	*m = (struct mkperf){ .big = big, .sample_type = MKPERF_SAMPLE, .id = 1, .pid = 1234,
			      .tid = 1234, .time = 1000000 };
	/* disabled, exclude_kernel, exclude_hv, mmap, comm, task, sample_id_all, mmap2,
	 * comm_exec, context_switch */
	m->flags = 1u << 0 | 1u << 5 | 1u << 6 | 1u << 8 | 1u << 9 | 1u << 13 | 1u << 18 |
		1u << 23 | 1u << 24 | 1u << 26;
}

void mkperf_free(struct mkperf *m)
{
	for (unsigned i = 0; i < m->nfeatures; i++)
		free(m->feature[i].p);
	free(m->p);
	free(m->file);
	*m = (struct mkperf){ 0 };
}

void mkperf_put(struct mkperf *m, const void *p, size_t n)
{
	if (m->n + n > m->cap) {
		m->cap = (m->n + n) * 2;
		m->p = realloc(m->p, m->cap);
		if (!m->p) {
			fprintf(stderr, "mkperf: out of memory\n");
			exit(1);
		}
	}
	if (n)
		memcpy(m->p + m->n, p, n);
	m->n += n;
}

static void number(struct mkperf *m, uint64_t v, unsigned n)
{
	uint8_t b[8];

	for (unsigned i = 0; i < n; i++)
		b[m->big ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
	mkperf_put(m, b, n);
}

void mkperf_u16(struct mkperf *m, uint16_t v) { number(m, v, 2); }
void mkperf_u32(struct mkperf *m, uint32_t v) { number(m, v, 4); }
void mkperf_u64(struct mkperf *m, uint64_t v) { number(m, v, 8); }

void mkperf_str(struct mkperf *m, const char *s)
{
	static const uint8_t zero[8];
	size_t n = strlen(s) + 1;

	mkperf_put(m, s, n);
	mkperf_put(m, zero, -n & 7);
}

size_t mkperf_begin(struct mkperf *m, uint32_t type, uint16_t misc)
{
	size_t at = m->n;

	mkperf_u32(m, type);
	mkperf_u16(m, misc);
	mkperf_u16(m, 0);
	return at;
}

void mkperf_sample_id(struct mkperf *m)
{
	mkperf_u32(m, m->pid);
	mkperf_u32(m, m->tid);
	mkperf_u64(m, m->time);
	mkperf_u32(m, m->cpu);
	mkperf_u32(m, 0);
	mkperf_u64(m, m->id);
}

void mkperf_end(struct mkperf *m, size_t at)
{
	size_t n = m->n;

	m->n = at + 6;
	mkperf_u16(m, (uint16_t)(n - at));
	m->n = n;
}

void mkperf_comm(struct mkperf *m, const char *comm, bool exec)
{
	size_t at = mkperf_begin(m, 3, exec ? 1 << 13 : 0);

	mkperf_u32(m, m->pid);
	mkperf_u32(m, m->tid);
	mkperf_str(m, comm);
	mkperf_sample_id(m);
	mkperf_end(m, at);
}

void mkperf_mmap(struct mkperf *m, uint32_t pid, uint64_t addr, uint64_t size, uint64_t off,
		 const char *path)
{
	size_t at = mkperf_begin(m, 1, pid == UINT32_MAX ? 1 : 2);

	mkperf_u32(m, pid);
	mkperf_u32(m, pid == UINT32_MAX ? 0 : m->tid);
	mkperf_u64(m, addr);
	mkperf_u64(m, size);
	mkperf_u64(m, off);
	mkperf_str(m, path);
	mkperf_sample_id(m);
	mkperf_end(m, at);
}

static size_t mmap2_head(struct mkperf *m, uint16_t misc, uint64_t addr, uint64_t size,
			 uint64_t off)
{
	size_t at = mkperf_begin(m, 10, misc);

	mkperf_u32(m, m->pid);
	mkperf_u32(m, m->tid);
	mkperf_u64(m, addr);
	mkperf_u64(m, size);
	mkperf_u64(m, off);
	return at;
}

static void mmap2_tail(struct mkperf *m, size_t at, uint32_t prot, const char *path)
{
	mkperf_u32(m, prot);
	mkperf_u32(m, 2);	/* MAP_PRIVATE */
	mkperf_str(m, path);
	mkperf_sample_id(m);
	mkperf_end(m, at);
}

void mkperf_mmap2(struct mkperf *m, uint64_t addr, uint64_t size, uint64_t off, uint32_t prot,
		  const char *path)
{
	size_t at = mmap2_head(m, 2, addr, size, off);

	mkperf_u32(m, 8);	/* major, minor, inode, generation */
	mkperf_u32(m, 1);
	mkperf_u64(m, 99);
	mkperf_u64(m, 0);
	mmap2_tail(m, at, prot, path);
}

void mkperf_mmap2_id(struct mkperf *m, uint64_t addr, uint64_t size, uint64_t off,
		     const uint8_t *id, unsigned nid, const char *path)
{
	size_t at = mmap2_head(m, 2 | 1 << 14, addr, size, off);
	uint8_t b[24] = { 0 };

	b[0] = (uint8_t)nid;
	memcpy(b + 4, id, nid < 20 ? nid : 20);
	mkperf_put(m, b, sizeof(b));
	mmap2_tail(m, at, 5, path);
}

void mkperf_task(struct mkperf *m, uint32_t type, uint16_t misc, uint32_t ppid, uint32_t ptid)
{
	size_t at = mkperf_begin(m, type, misc);

	mkperf_u32(m, m->pid);
	mkperf_u32(m, ppid);
	mkperf_u32(m, m->tid);
	mkperf_u32(m, ptid);
	mkperf_u64(m, m->time);
	mkperf_sample_id(m);
	mkperf_end(m, at);
}

void mkperf_itrace_start(struct mkperf *m)
{
	size_t at = mkperf_begin(m, 12, 2);

	mkperf_u32(m, m->pid);
	mkperf_u32(m, m->tid);
	mkperf_sample_id(m);
	mkperf_end(m, at);
}

void mkperf_aux(struct mkperf *m, uint64_t off, uint64_t size, uint64_t flags)
{
	size_t at = mkperf_begin(m, 11, 2);

	mkperf_u64(m, off);
	mkperf_u64(m, size);
	mkperf_u64(m, flags);
	mkperf_sample_id(m);
	mkperf_end(m, at);
}

void mkperf_auxtrace(struct mkperf *m, uint64_t off, uint64_t size, uint32_t idx, uint32_t tid,
		     int32_t cpu, const void *p, size_t have)
{
	size_t at = mkperf_begin(m, 71, 0);

	mkperf_u64(m, size);
	mkperf_u64(m, off);
	mkperf_u64(m, m->time);	/* reference */
	mkperf_u32(m, idx);
	mkperf_u32(m, tid);
	mkperf_u32(m, (uint32_t)cpu);
	mkperf_u32(m, 0);
	mkperf_end(m, at);
	mkperf_put(m, p, have);
}

void mkperf_switch(struct mkperf *m, bool out)
{
	size_t at = mkperf_begin(m, 14, out ? 1 << 13 : 0);

	mkperf_sample_id(m);
	mkperf_end(m, at);
}

void mkperf_switch_wide(struct mkperf *m, bool out, uint32_t other_pid, uint32_t other_tid)
{
	size_t at = mkperf_begin(m, 15, out ? 1 << 13 : 0);

	mkperf_u32(m, other_pid);
	mkperf_u32(m, other_tid);
	mkperf_sample_id(m);
	mkperf_end(m, at);
}

void mkperf_time_conv(struct mkperf *m, uint64_t shift, uint64_t mult, uint64_t zero)
{
	size_t at = mkperf_begin(m, 79, 0);

	mkperf_u64(m, shift);
	mkperf_u64(m, mult);
	mkperf_u64(m, zero);
	mkperf_end(m, at);
}

void mkperf_info(struct mkperf *m, uint32_t type, const uint64_t *words, size_t n)
{
	size_t at = mkperf_begin(m, 70, 0);

	mkperf_u32(m, type);
	mkperf_u32(m, 0);
	for (size_t i = 0; i < n; i++)
		mkperf_u64(m, words[i]);
	mkperf_end(m, at);
}

void mkperf_pt(struct mkperf *m)
{
	/* pmu type, shift, multiplier, zero, cap, TSC bit, no-return-compression bit, switches,
	 * snapshot, each CPU, MTC bit, MTC period, CTC N, CTC D, CYC bit, ratio, filter length */
	static const uint64_t words[] = {
		MKPERF_TYPE, 10, 1024, 0, 1, 0x400, 0x800, 0, 0, 1, 0x200, 0x3c000, 2, 1, 2, 20, 0,
	};

	m->config = 0x2000 | 0x400 | 1;
	mkperf_info(m, 1, words, sizeof(words) / sizeof(words[0]));
}

void mkperf_feature(struct mkperf *m, unsigned id, const void *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (!copy || m->nfeatures == 16) {
		fprintf(stderr, "mkperf: no room for a feature\n");
		exit(1);
	}
	memcpy(copy, p, n);
	m->feature[m->nfeatures].id = id;
	m->feature[m->nfeatures].p = copy;
	m->feature[m->nfeatures++].n = n;
}

void mkperf_feature_str(struct mkperf *m, unsigned id, const char *s)
{
	struct mkperf t = { .big = m->big };
	size_t n = (strlen(s) + 64) & ~(size_t)63;

	mkperf_u32(&t, (uint32_t)n);
	mkperf_put(&t, s, strlen(s));
	while (t.n < 4 + n)
		mkperf_put(&t, "", 1);
	mkperf_feature(m, id, t.p, t.n);
	free(t.p);
}

void mkperf_sample(struct mkperf *m, const void *aux, size_t n)
{
	size_t at = mkperf_begin(m, 9, 2);

	mkperf_u64(m, m->id);
	mkperf_u64(m, 0x401000);
	mkperf_u32(m, m->pid);
	mkperf_u32(m, m->tid);
	mkperf_u64(m, m->time);
	mkperf_u32(m, m->cpu);
	mkperf_u32(m, 0);
	if (m->sample_type & 1 << 20) {
		mkperf_u64(m, n);
		mkperf_put(m, aux, n);
	}
	mkperf_end(m, at);
}

/* Bit fields of C start at the other end of each byte on a big-endian machine. */
static void bits(struct mkperf *f, uint64_t v)
{
	uint8_t b[8] = { 0 };

	for (unsigned i = 0; i < 64; i++)
		b[i / 8] |= (uint8_t)((v >> i & 1) << (f->big ? 7 - i % 8 : i % 8));
	mkperf_put(f, b, 8);
}

static void attr(const struct mkperf *m, struct mkperf *f, uint64_t ids_off)
{
	size_t start = f->n;

	mkperf_u32(f, MKPERF_TYPE);
	mkperf_u32(f, ATTR_SIZE);
	mkperf_u64(f, m->config);
	mkperf_u64(f, 1);	/* sample_period */
	mkperf_u64(f, m->sample_type);
	mkperf_u64(f, 4);	/* read_format: ID */
	bits(f, m->flags);
	while (f->n < start + 112)
		mkperf_put(f, "", 1);
	mkperf_u32(f, m->aux_sample);
	while (f->n < start + ATTR_SIZE)
		mkperf_put(f, "", 1);
	mkperf_u64(f, ids_off);
	mkperf_u64(f, 8);
}

uint8_t *mkperf_file(const struct mkperf *m, size_t *n)
{
	struct mkperf f = { .big = m->big };
	uint64_t features = 0, end = MKPERF_DATA + m->n, at;

	for (unsigned i = 0; i < m->nfeatures; i++)
		features |= 1ull << m->feature[i].id;
	at = end + 16 * m->nfeatures;
	for (unsigned i = 0; i < m->nfeatures; i++)
		at += m->feature[i].n;
	/* a number too */
	mkperf_put(&f, m->big ? "2ELIFREP" : "PERFILE2", 8);
	number(&f, 104, 8);
	number(&f, ATTR_SIZE + 16, 8);
	number(&f, 104, 8);
	number(&f, ATTR_SIZE + 16, 8);
	number(&f, MKPERF_DATA, 8);
	number(&f, m->n, 8);
	number(&f, 0, 8);
	number(&f, 0, 8);
	number(&f, features, 8);
	for (int i = 0; i < 3; i++)
		number(&f, 0, 8);
	attr(m, &f, at);
	mkperf_put(&f, m->p, m->n);
	at = end + 16 * m->nfeatures;
	for (unsigned i = 0; i < m->nfeatures; i++) {
		number(&f, at, 8);
		number(&f, m->feature[i].n, 8);
		at += m->feature[i].n;
	}
	for (unsigned i = 0; i < m->nfeatures; i++)
		mkperf_put(&f, m->feature[i].p, m->feature[i].n);
	number(&f, m->id, 8);
	*n = f.n;
	return f.p;
}

int mkperf_write(const struct mkperf *m, const char *path)
{
	size_t n;
	uint8_t *p = mkperf_file(m, &n);
	FILE *f = fopen(path, "wb");
	int rc = f && fwrite(p, 1, n, f) == n ? 0 : -1;

	if (f && fclose(f))
		rc = -1;
	free(p);
	return rc;
}
