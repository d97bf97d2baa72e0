/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AUX and AUXTRACE records to trace buffers: the bytes are known because the test cut them. Longer
 * than other files: one maker of recordings serves all cases.
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

enum { TRUNCATED = 1, OVERWRITE = 2, PARTIAL = 4, COLLISION = 8, RAW = 0x100 };

static uint8_t data[65536];	/* trace: byte i is known from i */

static int setup(void **state)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 + (i >> 8));
	return 0;
}

static void done(struct capture *c, struct mkperf *m)
{
	capture_free(c);
	mkperf_free(m);
}

static unsigned notes(const struct capture *c, unsigned id)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < c->notes.n; i++)
		if (c->notes.v[i].diag.id == id)
			n += c->notes.v[i].count;
	return n;
}

static void span(const struct trace_buf *b, size_t i, uint64_t pos, uint64_t size, unsigned cause,
		 uint64_t lost)
{
	const struct trace_span *s;

	assert_true(i < b->nspans);
	s = &b->spans[i];
	assert_int_equal(s->pos, pos);
	assert_int_equal(s->size, size);
	assert_int_equal(s->cause_before, cause);
	assert_int_equal(s->lost_before, lost);
	assert_memory_equal(s->p, data + (pos & 0xffff), size);
	if (s->file->size > s->file_off)
		assert_memory_equal(s->file->p + s->file_off, s->p, size);
}

/* pd-aux-gap, -ooo, -overlap, -trunc0, -coll */
static void cases_pt(void **state)
{
	struct mkperf m;
	struct capture *c;

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, 0x20, 0);
	mkperf_aux(&m, 0x80, 0x20, PARTIAL);
	mkperf_auxtrace(&m, 0, 0x20, 0, 1, 0, data, 0x20);
	mkperf_auxtrace(&m, 0x80, 0x20, 0, 1, 0, data + 0x80, 0x20);
	c = mkperf_open(&m);
	assert_int_equal(c->nbufs, 1);
	assert_int_equal(c->bufs[0].nspans, 2);
	span(&c->bufs[0], 0, 0, 0x20, HWT_GAP_NONE, 0);
	span(&c->bufs[0], 1, 0x80, 0x20, HWT_GAP_AUX_LOST, 96);
	assert_int_equal(notes(c, 53), 1);
	done(c, &m);

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0x40, 0x20, 0);
	mkperf_aux(&m, 0, 0x40, 0);
	mkperf_auxtrace(&m, 0, 0x60, 0, 1, 0, data, 0x60);
	c = mkperf_open(&m);
	assert_int_equal(c->bufs[0].nspans, 1);
	span(&c->bufs[0], 0, 0, 0x60, HWT_GAP_NONE, 0);
	done(c, &m);

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, 0x40, OVERWRITE);
	mkperf_aux(&m, 0x20, 0x40, OVERWRITE);
	mkperf_auxtrace(&m, 0, 0x40, 0, 1, 0, data, 0x40);
	mkperf_auxtrace(&m, 0x20, 0x40, 0, 1, 0, data + 0x20, 0x40);
	c = mkperf_open(&m);
	assert_int_equal(c->bufs[0].nspans, 1);
	span(&c->bufs[0], 0, 0, 0x60, HWT_GAP_NONE, 0);
	assert_true(notes(c, 22) > 0);
	done(c, &m);

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, 0, TRUNCATED);
	mkperf_auxtrace(&m, 0, 0x20, 0, 1, 0, data, 0x20);
	c = mkperf_open(&m);
	assert_int_equal(notes(c, 20), 1);
	assert_int_equal(notes(c, 37), 1);
	span(&c->bufs[0], 0, 0, 0x20, HWT_GAP_AUX_LOST, 0);
	done(c, &m);

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, 0x20, COLLISION);
	mkperf_auxtrace(&m, 0, 0x20, 0, 1, 0, data, 0x20);
	c = mkperf_open(&m);
	assert_int_equal(notes(c, 23), 1);
	span(&c->bufs[0], 0, 0, 0x20, HWT_GAP_COLLISION, 0);
	done(c, &m);
}

/* pd-auxtrace-short, pd-auxinfo-type; an AUX record of a CPU without any bytes */
static void missing(void **state)
{
	static const uint64_t words[5];
	struct mkperf m;
	struct capture *c;

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, 4096, 0);
	mkperf_auxtrace(&m, 0, 4096, 0, 1, 0, data, 4096);
	m.n -= 3996;
	c = mkperf_open(&m);
	/* the ids behind the section are not trace bytes */
	assert_int_equal(notes(c, 38), 1);
	span(&c->bufs[0], 0, 0, 100, HWT_GAP_NONE, 0);
	assert_int_equal(c->bufs[0].cause_after, HWT_GAP_AUX_MISSING);
	assert_int_equal(c->bufs[0].lost_after, 3996);
	done(c, &m);

	mkperf_init(&m, false);
	mkperf_info(&m, 0xdeadbeef, words, 5);
	mkperf_auxtrace(&m, 0, 64, 0, 1, 0, data, 64);
	c = mkperf_open(&m);
	assert_int_equal(notes(c, 39), 1);
	assert_int_equal(c->nbufs, 0);
	assert_string_equal(c->facts[0].key, "trace not decoded");
	assert_string_equal(c->facts[0].value, "64 bytes");
	done(c, &m);

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_auxtrace(&m, 0, 64, 0, 1, 0, data, 64);
	m.cpu = 3;
	mkperf_aux(&m, 0, 0x100, TRUNCATED);
	c = mkperf_open(&m);
	assert_int_equal(c->nbufs, 2);
	assert_int_equal(c->bufs[1].cpu, 3);
	assert_int_equal(c->bufs[1].nspans, 0);
	assert_int_equal(c->bufs[1].cause_after, HWT_GAP_AUX_MISSING);
	assert_int_equal(c->bufs[1].lost_after, 0x100);
	done(c, &m);
}

/* After a truncated record the unit was started again, though the offsets continue. */
static void truncated_splits(void **state)
{
	struct mkperf m;
	struct capture *c;

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, 0x20, 0);
	mkperf_aux(&m, 0x20, 0x20, TRUNCATED);
	mkperf_aux(&m, 0x40, 0x20, 0);
	mkperf_auxtrace(&m, 0, 0x60, 0, 1, 0, data, 0x60);
	c = mkperf_open(&m);
	assert_int_equal(c->bufs[0].nspans, 2);
	span(&c->bufs[0], 0, 0, 0x40, HWT_GAP_NONE, 0);
	span(&c->bufs[0], 1, 0x40, 0x20, HWT_GAP_AUX_LOST, 0);
	assert_int_equal(c->bufs[0].cause_after, HWT_GAP_NONE);
	done(c, &m);
}

static uint32_t rnd(uint32_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 17;
	*s ^= *s << 5;
	return *s;
}

/*
 * Any cutting of the trace of three CPUs into AUX and AUXTRACE records, in any order, from an
 * offset beyond 32 bits (case I13): each CPU has one span with exactly its bytes.
 */
static void any_cut_any_order(void **state)
{
	const uint64_t base = 0xfffffffff0000;
	uint32_t seed = 7;

	for (int round = 0; round < 60; round++) {
		struct { int cpu; bool aux; uint64_t off, size; } job[600], t;
		unsigned n = 0;
		struct mkperf m;
		struct capture *c;

		for (int cpu = 0; cpu < 3; cpu++)
			for (int aux = 0; aux < 2; aux++)
				for (uint64_t at = 0, k; at < 8192; at += k) {
					k = (1 + rnd(&seed) % 64) * 16;
					if (k > 8192 - at)
						k = 8192 - at;
					job[n].cpu = cpu;
					job[n].aux = aux;
					job[n].off = at;
					job[n++].size = k;
				}
		for (unsigned i = n - 1; i > 0; i--) {
			unsigned k = rnd(&seed) % (i + 1);

			t = job[i];
			job[i] = job[k];
			job[k] = t;
		}
		mkperf_init(&m, round & 1);
		mkperf_pt(&m);
		for (unsigned i = 0; i < n; i++) {
			m.cpu = (uint32_t)job[i].cpu;
			if (job[i].aux)
				mkperf_aux(&m, base + job[i].off, job[i].size, 0);
			else
				mkperf_auxtrace(&m, base + job[i].off, job[i].size, m.cpu, 1,
						job[i].cpu, data + 8192 * job[i].cpu + job[i].off,
						job[i].size);
		}
		c = mkperf_open(&m);
		assert_int_equal(c->nbufs, 3);
		assert_int_equal(c->notes.n, 0);
		for (int cpu = 0; cpu < 3; cpu++) {
			assert_int_equal(c->bufs[cpu].cpu, cpu);
			assert_int_equal(c->bufs[cpu].nspans, 1);
			assert_int_equal(c->bufs[cpu].spans[0].pos, base);
			assert_int_equal(c->bufs[cpu].spans[0].size, 8192);
			assert_memory_equal(c->bufs[cpu].spans[0].p, data + 8192 * cpu, 8192);
		}
		done(c, &m);
	}
}

/* One AUXTRACE record holds the span: the bytes are those of the file, not a copy. */
static void no_copy(void **state)
{
	struct mkperf m;
	struct capture *c;

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, 0x800, 0);
	mkperf_aux(&m, 0x800, 0x800, 0);
	mkperf_auxtrace(&m, 0, 0x1000, 0, 1, 0, data, 0x1000);
	c = mkperf_open(&m);
	assert_true(c->bufs[0].spans[0].p == m.file + c->bufs[0].spans[0].file_off);
	assert_int_equal(c->nfiles, 1);
	done(c, &m);
}

static void pt_config(void **state)
{
	static const char filter[] = "filter 0xffffffff81000000/0x1000,tracestop 0x10/0x10,"
		"filter 0x0/0x10@/bin/a,filter 0xffffffffffffffff/2";
	uint64_t words[17 + 16] = { MKPERF_TYPE, 31, 672770777, 5, 1, 0x400, 0x800, 0, 0, 1, 0x200,
				    0x3c000, 84, 2, 2, 36, sizeof(filter) };
	const struct trace_cfg *g;
	struct mkperf m;
	struct capture *c;

	memcpy(words + 17, filter, sizeof(filter));
	mkperf_init(&m, false);
	mkperf_info(&m, 1, words, 33);
	m.config = 0x200 | 0x800 | 5 << 14;
	mkperf_feature_str(&m, 9, "GenuineIntel,6,94,3");
	mkperf_auxtrace(&m, 0, 8, 0, 1, 0, data, 8);
	c = mkperf_open(&m);
	g = &c->bufs[0].cfgs[0];
	assert_int_equal(c->bufs[0].ncfgs, 1);
	assert_int_equal(g->proto, HWT_PROTO_PT);
	assert_int_equal(g->r.pt.family, 6);
	assert_int_equal(g->r.pt.model, 94);
	assert_int_equal(g->r.pt.stepping, 3);
	assert_int_equal(g->r.pt.mtc_freq, 5);
	assert_int_equal(g->r.pt.nom_freq, 36);
	assert_int_equal(g->r.pt.cpuid_15_eax, 2);
	assert_int_equal(g->r.pt.cpuid_15_ebx, 84);
	assert_true(g->r.pt.noretcomp);
	assert_int_equal(g->r.pt.nfilter, 2);
	assert_true(g->r.pt.filter[0][0] == 0xffffffff81000000);
	assert_true(g->r.pt.filter[0][1] == 0xffffffff81000fff);
	assert_int_equal(g->r.pt.filter_stop, 2);
	assert_int_equal(c->tsc.shift, 31);
	assert_int_equal(c->tsc.mult, 672770777);
	done(c, &m);
}

#define E4 0x4040404040404040u
#define ETE 0x5050505050505050u
#define E3 0x3030303030303030u

static struct capture *open_cs(struct mkperf *m, const uint64_t *words, size_t n, uint32_t flags)
{
	mkperf_init(m, false);
	mkperf_info(m, 3, words, n);
	m->cpu = 1;
	mkperf_aux(m, 0, 0x30, flags);
	mkperf_aux(m, 0x30, 0x1c, flags);
	/* the tool pads to 8 bytes */
	mkperf_auxtrace(m, 0, 0x50, 1, 1, 1, data, 0x50);
	return mkperf_open(m);
}

/* Case G08: header versions 0 and 1, registers that we do not know, ETE's place of TRCDEVARCH */
static void cs_versions(void **state)
{
	static const uint64_t v0[] = { 0, 8ull << 32 | 2, 0, E4, 0, 0xc1, 0x10, 0x28000ea1,
		0x4100f403, 0x488, 0, 0xcc, E3, 1, 0x10001000, 0x12, 0x8d294004, 0x4114f250 };
	static const uint64_t v1[] = { 1, 8ull << 32 | 3, 0, E4, 0, 10, 0xc1, 0x10, 0x28000ea1,
		0x4100f403, 0x488, 7, 0xcc, 1, 2, 3, E3, 1, 4, 0x10001000, 0x12, 0x8d294004,
		0x411cf300, ETE, 2, 9, 0x8080, 0x14, 0x288006a1, 0x4100fff0, 0xc0001088, 0, 0xcc,
		0x47715a13, 1 };
	struct mkperf m;
	struct capture *c;
	const struct trace_cfg *g;

	c = open_cs(&m, v0, sizeof(v0) / 8, 0);
	assert_int_equal(c->bufs[0].framing, FRAMING_MEM);
	assert_int_equal(c->bufs[0].ncfgs, 2);
	g = c->bufs[0].cfgs;
	assert_int_equal(g[0].proto, HWT_PROTO_ETM4);
	assert_int_equal(g[0].trace_id, 0x10);
	assert_int_equal(g[0].r.etm4.configr, 0xc1);
	assert_int_equal(g[1].proto, HWT_PROTO_ETM3);
	assert_int_equal(g[1].trace_id, 0x12);
	assert_int_equal(g[1].cpu, 1);
	/* one span for each AUX record; 4 bytes of padding are no trace */
	assert_int_equal(c->bufs[0].nspans, 2);
	span(&c->bufs[0], 0, 0, 0x30, HWT_GAP_NONE, 0);
	span(&c->bufs[0], 1, 0x30, 0x1c, HWT_GAP_NONE, 0);
	assert_int_equal(c->notes.n, 0);
	done(c, &m);

	c = open_cs(&m, v1, sizeof(v1) / 8, 0);
	assert_int_equal(c->bufs[0].ncfgs, 3);
	g = c->bufs[0].cfgs;
	assert_int_equal(g[0].r.etm4.idr8, 7);
	assert_int_equal(g[0].r.etm4.devarch, 0);
	assert_int_equal(g[1].proto, HWT_PROTO_PTM);
	assert_int_equal(g[1].r.etm3.ccer, 0x8d294004);
	assert_int_equal(g[2].proto, HWT_PROTO_ETE);
	assert_int_equal(g[2].r.etm4.devarch, 0x47715a13);
	assert_int_equal(g[2].trace_id, 0x14);
	done(c, &m);

	/* unformatted: the unit of that CPU only */
	c = open_cs(&m, v1, sizeof(v1) / 8, RAW);
	assert_int_equal(c->bufs[0].framing, FRAMING_NONE);
	assert_int_equal(c->bufs[0].ncfgs, 1);
	assert_int_equal(c->bufs[0].cfgs[0].cpu, 1);
	done(c, &m);
}

static void cs_hostile(void **state)
{
	static const uint64_t big[] = { 1, 8ull << 32 | 2, 0, E4, 0, 1ull << 63, 1, 2, 3 };
	static const uint64_t none[] = { 1, 8ull << 32 | 0xffffffff, 0 };
	static const uint64_t kind[] = { 1, 8ull << 32 | 1, 0, 0x123, 1, 7, 1, 2, 3, 4, 5, 6, 7 };
	struct mkperf m;
	struct capture *c;

	c = open_cs(&m, big, sizeof(big) / 8, 0);
	assert_int_equal(c->bufs[0].ncfgs, 0);
	assert_true(notes(c, 40) > 0);
	done(c, &m);
	c = open_cs(&m, none, 3, 0);
	assert_true(notes(c, 40) > 0);
	done(c, &m);
	c = open_cs(&m, kind, sizeof(kind) / 8, 0);
	assert_int_equal(c->bufs[0].ncfgs, 0);
	assert_true(notes(c, 40) > 0);
	done(c, &m);
}

/* Version 2: the trace ids come from the kernel, one record for each CPU. */
static void cs_hw_id(void **state)
{
	static const uint64_t v2[] = { 2, 8ull << 32 | 2, 0,
		E4, 0, 8, 0xc1, 1u << 31, 0x28000ea1, 0x4100f403, 0x488, 0, 0xcc, 1,
		E4, 1, 8, 0xc1, 1u << 31, 0x28000ea1, 0x4100f403, 0x488, 0, 0xcc, 1 };
	struct mkperf m;
	struct capture *c;
	size_t at;

	mkperf_init(&m, false);
	mkperf_info(&m, 3, v2, sizeof(v2) / 8);
	m.cpu = 1;
	at = mkperf_begin(&m, 21, 0);
	mkperf_u64(&m, 0x35);
	mkperf_sample_id(&m);
	mkperf_end(&m, at);
	mkperf_aux(&m, 0, 0x10, 0);
	mkperf_auxtrace(&m, 0, 0x10, 1, 1, 1, data, 0x10);
	c = mkperf_open(&m);
	assert_int_equal(c->bufs[0].ncfgs, 2);
	assert_int_equal(c->bufs[0].cfgs[0].trace_id, 0);
	assert_int_equal(c->bufs[0].cfgs[1].trace_id, 0x35);
	assert_int_equal(notes(c, 50), 1);
	done(c, &m);
}

/* A thread that moves between CPUs, unformatted: each CPU has a unit of its own. */
static void cs_raw_thread(void **state)
{
	static const uint64_t v1[] = { 1, 8ull << 32 | 2, 0,
		E4, 0, 7, 0xc1, 0x10, 0x28000ea1, 0x4100f403, 0x488, 0, 0xcc,
		E4, 1, 7, 0xc1, 0x12, 0x28000ea1, 0x4100f403, 0x488, 0, 0xcc };
	struct mkperf m;
	struct capture *c;

	mkperf_init(&m, false);
	mkperf_info(&m, 3, v1, sizeof(v1) / 8);
	for (uint32_t i = 0; i < 4; i++) {
		m.cpu = i & 1;
		mkperf_aux(&m, i * 0x10, 0x10, RAW);
	}
	mkperf_auxtrace(&m, 0, 0x40, 0, 1234, -1, data, 0x40);
	c = mkperf_open(&m);
	assert_int_equal(c->nbufs, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(c->bufs[i].tid, 1234);
		assert_int_equal(c->bufs[i].ncfgs, 1);
		assert_int_equal(c->bufs[i].cfgs[0].trace_id, 0x10 + 2 * i);
		span(&c->bufs[i], 0, 0x10 * i, 0x10, HWT_GAP_NONE, 0);
		span(&c->bufs[i], 1, 0x20 + 0x10 * i, 0x10, HWT_GAP_NONE, 0);
	}
	done(c, &m);
}

/*
 * Snapshots of a buffer of 0x100 bytes: the AUX record gives the head as offset and a size that is
 * larger than what was kept.
 */
static void cs_snapshot(void **state)
{
	static const uint64_t v1[] = { 1, 8ull << 32 | 1, 1,
		E4, 0, 7, 0xc1, 0x10, 0x28000ea1, 0x4100f403, 0x488, 0, 0xcc };
	struct mkperf m;
	struct capture *c;

	mkperf_init(&m, false);
	mkperf_info(&m, 3, v1, sizeof(v1) / 8);
	mkperf_aux(&m, 0x1230, 0x1230, OVERWRITE);
	mkperf_auxtrace(&m, 0x1130, 0x100, 0, 1234, 0, data + 0x1130, 0x100);
	mkperf_aux(&m, 0x1400, 0x100, OVERWRITE);
	mkperf_auxtrace(&m, 0x1300, 0x100, 0, 1234, 0, data + 0x1300, 0x100);
	c = mkperf_open(&m);
	assert_int_equal(c->bufs[0].nspans, 2);
	span(&c->bufs[0], 0, 0x1130, 0x100, HWT_GAP_NONE, 0);
	span(&c->bufs[0], 1, 0x1300, 0x100, HWT_GAP_AUX_LOST, 0xd0);
	done(c, &m);
}

/* Without sample ids an AUX record names no CPU: it belongs to the only buffer. */
static void no_sample_id(void **state)
{
	struct mkperf m;
	struct capture *c;

	mkperf_init(&m, false);
	m.flags &= ~(1u << 18);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, 0x20, TRUNCATED);
	mkperf_auxtrace(&m, 0, 0x20, 0, 1, 5, data, 0x20);
	c = mkperf_open(&m);
	assert_int_equal(c->nbufs, 1);
	span(&c->bufs[0], 0, 0, 0x20, HWT_GAP_NONE, 0);
	assert_true(c->bufs[0].spans[0].time == HWT_TIME_UNKNOWN);
	assert_int_equal(c->bufs[0].cause_after, HWT_GAP_AUX_LOST);
	assert_int_equal(notes(c, 37), 0);
	done(c, &m);
}

/* Case L04: the TSC converts to perf's clock, events are on another: never joined. */
static void other_clock(void **state)
{
	struct mkperf m;
	struct capture *c;

	for (int k = 0; k < 2; k++) {
		mkperf_init(&m, k);
		m.flags |= 1u << 25;	/* use_clockid, and clockid 0 */
		mkperf_pt(&m);
		mkperf_aux(&m, 0, 0x20, 0);
		mkperf_auxtrace(&m, 0, 0x20, 0, 1, 0, data, 0x20);
		c = mkperf_open(&m);
		assert_string_equal(c->clock, "CLOCK_REALTIME");
		assert_false(time_map_valid(&c->tsc));
		assert_int_equal(notes(c, 51), 1);
		done(c, &m);
	}
}

/* An AUX record over three chunks is one span, whose bytes lie in a row. */
static void cs_pieces(void **state)
{
	static const uint64_t v1[] = { 1, 8ull << 32 | 1, 0,
		E4, 0, 7, 0xc1, 0x10, 0x28000ea1, 0x4100f403, 0x488, 0, 0xcc };
	struct mkperf m;
	struct capture *c;

	mkperf_init(&m, false);
	mkperf_info(&m, 3, v1, sizeof(v1) / 8);
	mkperf_aux(&m, 0, 0x200, 0);
	mkperf_aux(&m, 0x200, 0x100, 0);
	mkperf_auxtrace(&m, 0, 0x80, 0, 1234, 0, data, 0x80);
	mkperf_auxtrace(&m, 0x80, 0x100, 0, 1234, 0, data + 0x80, 0x100);
	mkperf_auxtrace(&m, 0x180, 0x180, 0, 1234, 0, data + 0x180, 0x180);
	c = mkperf_open(&m);
	assert_int_equal(c->bufs[0].nspans, 2);
	span(&c->bufs[0], 0, 0, 0x200, HWT_GAP_NONE, 0);
	span(&c->bufs[0], 1, 0x200, 0x100, HWT_GAP_NONE, 0);
	assert_int_equal(c->notes.n, 0);
	done(c, &m);
}

/* Case I13: one AUXTRACE record of more than 2 GiB, in a sparse file. */
static void large(void **state)
{
	const uint64_t size = 0x80000008;
	char path[] = "/tmp/hwt-perf-XXXXXX";
	uint64_t total, v;
	struct mkperf m;
	struct capture *c;
	struct hwt_diag d;
	struct file *f;
	uint8_t *p;
	size_t n;
	int fd;

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, size, 0);
	mkperf_auxtrace(&m, 0, size, 0, 1, 0, NULL, 0);
	p = mkperf_file(&m, &n);
	n = MKPERF_DATA + m.n;	/* no ids: the trace lies there */
	memset(p + 104 + 128, 0, 16);
	total = n + size;
	v = m.n + size;
	memcpy(p + 48, &v, 8);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	if (ftruncate(fd, (off_t)total)) {
		printf("# skipped: no sparse file of 2 GiB in /tmp\n");
		unlink(path);
		skip();
	}
	close(fd);
	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(file_open(&f, path, &d), 0);
	unlink(path);
	assert_int_equal(source_perf.open(c, f, path, NULL, &d), 0);
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(c->bufs[0].nspans, 1);
	assert_true(c->bufs[0].spans[0].size == size);
	assert_int_equal(c->bufs[0].spans[0].p[size - 1], 0);
	capture_free(c);
	mkperf_free(&m);
	free(p);
}

/* Snapshot mode writes an AUX record whenever the task stops, but keeps bytes only when asked. */
static void pt_snapshot(void **state)
{
	struct mkperf m;
	struct capture *c;

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0x400, 0x1000, OVERWRITE);
	mkperf_aux(&m, 0x1230, 0x1000, OVERWRITE);
	mkperf_auxtrace(&m, 0x1130, 0x100, 0, 1234, 0, data + 0x1130, 0x100);
	mkperf_aux(&m, 0x2000, 0x1000, OVERWRITE);
	c = mkperf_open(&m);
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(c->bufs[0].nspans, 1);
	span(&c->bufs[0], 0, 0x1130, 0x100, HWT_GAP_AUX_LOST, 0xd30);
	done(c, &m);
}

/* Case H18: truncated, partial and collision are counted each for itself. */
static void flag_counts(void **state)
{
	struct mkperf m;
	struct capture *c;
	const char *value = "";

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_aux(&m, 0, 8, TRUNCATED | PARTIAL);
	mkperf_aux(&m, 8, 8, TRUNCATED);
	mkperf_aux(&m, 16, 8, COLLISION | TRUNCATED);
	mkperf_auxtrace(&m, 0, 24, 0, 1234, 0, data, 24);
	c = mkperf_open(&m);
	for (size_t i = 0; i < c->nfacts; i++)
		if (!strcmp(c->facts[i].key, "aux records"))
			value = c->facts[i].value;
	assert_string_equal(value, "3 truncated, 1 partial, 1 with collision");
	assert_int_equal(notes(c, 20), 3);
	assert_int_equal(notes(c, 53), 1);
	assert_int_equal(notes(c, 23), 1);
	done(c, &m);
}

/*
 * Of all tasks of a CPU: the AUX record names the one that ran as it was written, which is not who
 * ran before the switch.
 */
static void cpu_wide_owner(void **state)
{
	for (int wide = 0; wide < 2; wide++) {
		struct mkperf m;
		struct capture *c;

		mkperf_init(&m, false);
		mkperf_pt(&m);
		m.pid = m.tid = 200;
		if (wide)
			mkperf_switch_wide(&m, false, 100, 100);
		else
			mkperf_switch(&m, false);
		mkperf_aux(&m, 0, 0x40, 0);
		mkperf_auxtrace(&m, 0, 0x40, 0, -1, 0, data, 0x40);
		c = mkperf_open(&m);
		assert_int_equal(c->nbufs, 1);
		assert_int_equal(c->bufs[0].nspans, 1);
		assert_int_equal(c->bufs[0].spans[0].tid, wide ? HWT_NONE : 200);
		assert_int_equal(c->bufs[0].spans[0].pid, wide ? HWT_NONE : 200);
		done(c, &m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_pt), cmocka_unit_test(missing),
		cmocka_unit_test(truncated_splits), cmocka_unit_test(any_cut_any_order),
		cmocka_unit_test(no_copy), cmocka_unit_test(pt_config),
		cmocka_unit_test(cs_versions), cmocka_unit_test(cs_hostile),
		cmocka_unit_test(cs_hw_id), cmocka_unit_test(cs_raw_thread),
		cmocka_unit_test(cs_snapshot), cmocka_unit_test(pt_snapshot),
		cmocka_unit_test(flag_counts), cmocka_unit_test(cs_pieces), cmocka_unit_test(large),
		cmocka_unit_test(no_sample_id), cmocka_unit_test(other_clock),
		cmocka_unit_test(cpu_wide_owner),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
