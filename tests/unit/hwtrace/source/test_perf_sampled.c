/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace in samples: the truth is one long trace, of which the test gives pieces, as the kernel's
 * driver copies them out of its buffer; the layout of a sample is that of perf_event.h. perf itself
 * says how much trace it finds in which sample of the same file.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hwtrace/source/capture.h"
#include "tests/support/mkperf.h"

#define BYTES	16384
#define AUX	(1u << 20)

static uint8_t data[BYTES];

/* A PSB with a timestamp of its own each 512 bytes, and the same TNT packet for ever. */
static int setup(void **state)
{
	memset(data, 0x06, sizeof(data));
	for (unsigned at = 0; at < BYTES; at += 512) {
		for (unsigned i = 0; i < 16; i += 2) {
			data[at + i] = 0x02;
			data[at + i + 1] = 0x82;
		}
		data[at + 16] = 0x19;
		memset(data + at + 17, 0, 7);
		data[at + 18] = (uint8_t)(at >> 9);
		data[at + 24] = 0x02;
		data[at + 25] = 0x23;
	}
	return 0;
}

static void begin(struct mkperf *m)
{
	mkperf_init(m, false);
	mkperf_pt(m);
	m->sample_type |= AUX;
	m->aux_sample = 4096;
	m->pid = m->tid = 77;
}

static void give(struct mkperf *m, unsigned cpu, uint64_t time, unsigned from, unsigned to)
{
	m->cpu = cpu;
	m->time = time;
	mkperf_sample(m, data + from, to - from);
}

static void done(struct capture *c, struct mkperf *m)
{
	capture_free(c);
	mkperf_free(m);
}

static void span(const struct trace_buf *b, size_t i, unsigned from, unsigned to, unsigned cause)
{
	const struct trace_span *s;

	assert_true(i < b->nspans);
	s = &b->spans[i];
	assert_int_equal(s->size, to - from);
	assert_int_equal(s->cause_before, cause);
	assert_int_equal(s->lost_before, 0);
	assert_memory_equal(s->p, data + from, to - from);
}

/* Those that are close are one span without the bytes that both have; others are apart. */
static void pieces(void **state)
{
	const struct trace_buf *b;
	struct capture *c;
	struct mkperf m;

	begin(&m);
	give(&m, 0, 1000, 0, 4096);
	give(&m, 1, 1100, 512, 2048);
	give(&m, 0, 2000, 3000, 7000);
	give(&m, 0, 2100, 3400, 7000);	/* nothing came between */
	give(&m, 0, 3000, 9000, 12000);
	give(&m, 0, 4000, 12000, 13000);	/* right behind it, which nothing tells */
	c = mkperf_open(&m);
	assert_int_equal(c->nbufs, 2);
	b = &c->bufs[0];
	assert_int_equal(b->cpu, 0);
	assert_int_equal(b->nspans, 3);
	span(b, 0, 0, 7000, HWT_GAP_NONE);
	span(b, 1, 9000, 12000, HWT_GAP_AUX_LOST);
	span(b, 2, 12000, 13000, HWT_GAP_AUX_LOST);
	assert_int_equal(c->bufs[1].cpu, 1);
	span(&c->bufs[1], 0, 512, 2048, HWT_GAP_NONE);
	done(c, &m);
}

/* The same bytes again are not the same trace: only a timestamp proves that. */
static void alike(void **state)
{
	struct capture *c;
	struct mkperf m;

	begin(&m);
	give(&m, 0, 1000, 100, 500);
	give(&m, 0, 2000, 100, 500);
	c = mkperf_open(&m);
	assert_int_equal(c->bufs[0].nspans, 2);
	span(&c->bufs[0], 0, 100, 500, HWT_GAP_NONE);
	span(&c->bufs[0], 1, 100, 500, HWT_GAP_AUX_LOST);
	done(c, &m);
}

/* Nor do the bytes behind a PSB, where no timestamp follows it. */
static void no_timestamp(void **state)
{
	struct capture *c;
	struct mkperf m;

	for (unsigned at = 16; at < BYTES; at += 512)
		memset(data + at, 0x06, 10);
	begin(&m);
	give(&m, 0, 1000, 512, 1536);
	give(&m, 0, 2000, 512, 1536);
	c = mkperf_open(&m);
	assert_int_equal(c->bufs[0].nspans, 2);
	span(&c->bufs[0], 1, 512, 1536, HWT_GAP_AUX_LOST);
	done(c, &m);
}

/* All that may stand before the trace (perf_event.h, PERF_RECORD_SAMPLE). */
static void fields(void **state)
{
	/* BRANCH_STACK, REGS_USER, STACK_USER, WEIGHT, DATA_SRC, TRANSACTION, REGS_INTR, PHYS_ADDR,
	 * CGROUP, DATA_PAGE_SIZE, CODE_PAGE_SIZE */
	const uint64_t more = 1 << 11 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 | 1 << 17 | 1 << 18 |
		1 << 19 | 1 << 21 | 1 << 22 | 1 << 23;

	for (unsigned cut = 0; cut < 2; cut++) {
		struct capture *c;
		struct mkperf m;
		size_t at;

		begin(&m);
		m.sample_type |= more;
		at = mkperf_begin(&m, 9, 2);
		mkperf_u64(&m, m.id);
		mkperf_u64(&m, 0x401000);
		mkperf_u32(&m, 77);
		mkperf_u32(&m, 77);
		mkperf_u64(&m, 1000);
		mkperf_u32(&m, 3);
		mkperf_u32(&m, 0);
		mkperf_u64(&m, 2);		/* branches of 24 bytes */
		for (unsigned i = 0; i < 6; i++)
			mkperf_u64(&m, i);
		mkperf_u64(&m, 0);		/* no registers: the masks are 0, too */
		mkperf_u64(&m, 16);		/* stack, and how much of it counts */
		for (unsigned i = 0; i < 3; i++)
			mkperf_u64(&m, 16);
		for (unsigned i = 0; i < 3; i++)
			mkperf_u64(&m, 5);
		mkperf_u64(&m, 2);		/* registers of 64 bits, none */
		for (unsigned i = 0; i < 4; i++)
			mkperf_u64(&m, 6);
		mkperf_u64(&m, cut ? 4097 : 1024);
		mkperf_put(&m, data, 1024);
		mkperf_end(&m, at);
		c = mkperf_open(&m);
		if (cut) {
			assert_int_equal(c->nbufs, 0);
			assert_true(c->notes.n > 0);
		} else {
			assert_int_equal(c->nbufs, 1);
			assert_int_equal(c->bufs[0].cpu, 3);
			span(&c->bufs[0], 0, 0, 1024, HWT_GAP_NONE);
		}
		done(c, &m);
	}
}

/* What perf finds: the size of each piece, in order of the file. */
static void peer(void **state)
{
	static const unsigned sizes[] = { 4096, 1536, 4000 };
	char path[] = "/tmp/sampled-XXXXXX", cmd[256], line[512];
	int fd = mkstemp(path);
	struct mkperf m;
	unsigned n = 0;
	FILE *f;

	assert_true(fd >= 0);
	begin(&m);
	give(&m, 0, 1000, 0, 4096);
	give(&m, 1, 1100, 512, 2048);
	give(&m, 0, 2000, 3000, 7000);
	assert_int_equal(mkperf_write(&m, path), 0);
	snprintf(cmd, sizeof(cmd), "perf script -D -i %s 2>/dev/null", path);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const char *p = strstr(line, "Intel Processor Trace data: size ");

		if (p && n < 3)
			assert_int_equal(strtoul(p + 33, NULL, 0), sizes[n]);
		n += p != NULL;
	}
	pclose(f);
	close(fd);
	unlink(path);
	mkperf_free(&m);
	if (!n) {
		print_message("perf does not show trace of samples here\n");
		skip();
	}
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces), cmocka_unit_test(alike), cmocka_unit_test(fields),
		cmocka_unit_test(peer), cmocka_unit_test(no_timestamp),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
