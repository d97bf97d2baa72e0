/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compressed, piped and divided recordings hold the same records as a plain file. The zstd frame
 * is put together by hand (RFC 8878): magic, window descriptor, raw or RLE blocks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hwtrace/source/capture.h"
#include "tests/support/mkperf.h"

enum { COMPRESSED = 81, COMPRESSED2 = 83, NRECS = 40 };

static struct capture *open_bytes(const uint8_t *p, size_t n)
{
	struct hwt_diag d;
	struct capture *c;
	struct file *f;

	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(file_mem(&f, "t.data", p, n), 0);
	if (source_perf.open(c, f, "t.data", NULL, &d)) {
		capture_free(c);
		return NULL;
	}
	return c;
}

static void records(struct mkperf *m)
{
	char name[40];

	for (unsigned i = 0; i < NRECS; i++) {
		m->tid = 100 + i;
		m->time = 1000 + i;
		snprintf(name, sizeof(name), "n%.*s%u", (int)(i % 23), "abcdefghijklmnopqrstuvw",
			 i);
		mkperf_comm(m, name, false);
	}
}

static void block(struct mkperf *z, unsigned type, bool last, size_t size)
{
	uint32_t h = (uint32_t)(size << 3) | type << 1 | last;
	uint8_t b[3] = { (uint8_t)h, (uint8_t)(h >> 8), (uint8_t)(h >> 16) };

	mkperf_put(z, b, 3);
}

static void frame(struct mkperf *z)
{
	/* magic; no flags; window of 2^(10 + 7) bytes */
	mkperf_put(z, "\x28\xb5\x2f\xfd\x00\x38", 6);
}

/* The records as raw blocks of at most 100 bytes. */
static void compress(struct mkperf *z, const struct mkperf *m)
{
	frame(z);
	for (size_t at = 0, n; at < m->n; at += n) {
		n = m->n - at < 100 ? m->n - at : 100;
		block(z, 0, at + n == m->n, n);
		mkperf_put(z, m->p + at, n);
	}
}

/* The tasks and times that records() made, whatever way they took. */
static void check(struct capture *c, unsigned n)
{
	struct hwt_event ev[16];
	struct hwt_stream *s;
	unsigned seen = 0;
	char text[200], want[40];
	int k;

	assert_non_null(c);
	assert_int_equal(c->nevents, n);
	assert_int_equal(c->events(c, &s, NULL), 0);
	while ((k = hwt_stream_next(s, ev, 16)) > 0)
		for (int i = 0; i < k; i++, seen++) {
			snprintf(want, sizeof(want), "%u", seen % NRECS);
			assert_int_equal(ev[i].time, 1000 + seen % NRECS);
			assert_int_equal(ev[i].tid, 100 + seen % NRECS);
			c->event_text(c, &ev[i], text, sizeof(text));
			assert_string_equal(text + strlen(text) - strlen(want), want);
		}
	assert_int_equal(k, 0);
	assert_int_equal(seen, n);
	hwt_stream_close(s);
	assert_int_equal(machine_tasks(c->machine), NRECS);
	assert_int_equal(machine_pid(c->machine, 100 + NRECS - 1), 1234);
}

/* Every size of the outer records, in both forms: inner records lie across them. */
static void straddle(void **state)
{
	struct mkperf m, z = { 0 };

	mkperf_init(&m, false);
	records(&m);
	compress(&z, &m);
	for (size_t step = 1; step < 400; step += step < 40 ? 1 : 37)
		for (int two = 0; two < 2; two++) {
			struct mkperf o;
			struct capture *c;
			uint8_t *p;
			size_t n;

			mkperf_init(&o, false);
			for (size_t at = 0; at < z.n; at += step) {
				size_t k = z.n - at < step ? z.n - at : step;
				size_t r = mkperf_begin(&o, two ? COMPRESSED2 : COMPRESSED, 0);

				if (two)
					mkperf_u64(&o, k);
				mkperf_put(&o, z.p + at, k);
				if (two)	/* padded, which the size in it does not count */
					mkperf_put(&o, "\xff\xff\xff\xff\xff\xff\xff", -k & 7);
				mkperf_end(&o, r);
			}
			p = mkperf_file(&o, &n);
			c = open_bytes(p, n);
			check(c, NRECS);
			assert_int_equal(c->notes.n, 1);	/* no trace in it */
			capture_free(c);
			free(p);
			mkperf_free(&o);
		}
	mkperf_free(&z);
	mkperf_free(&m);
}

static struct capture *one_slice(struct mkperf *z, uint8_t **p)
{
	struct mkperf o;
	struct capture *c;
	size_t n, r;

	mkperf_init(&o, false);
	mkperf_comm(&o, "before", false);
	r = mkperf_begin(&o, COMPRESSED, 0);
	mkperf_put(&o, z->p, z->n);
	mkperf_end(&o, r);
	*p = mkperf_file(&o, &n);
	c = open_bytes(*p, n);
	mkperf_free(&o);
	return c;
}

static unsigned severity(const struct capture *c, unsigned id)
{
	for (uint32_t i = 0; i < c->notes.n; i++)
		if (c->notes.v[i].diag.id == id)
			return c->notes.v[i].severity + 1u;
	return 0;
}

/* Damage is a note, what was before it is kept, and a small bomb does not become a large one. */
static void damage(void **state)
{
	struct mkperf m, z = { 0 };
	struct capture *c;
	uint8_t *p;

	mkperf_init(&m, false);
	records(&m);
	compress(&z, &m);
	for (size_t i = 0; i < z.n; i++) {	/* any byte wrong */
		z.p[i] ^= 0x80;
		c = one_slice(&z, &p);
		assert_non_null(c);
		assert_true(c->nevents >= 1);
		capture_free(c);
		free(p);
		z.p[i] ^= 0x80;
	}
	z.n -= 50;	/* cut inside a block */
	c = one_slice(&z, &p);
	assert_int_equal(severity(c, 42), HWT_NOTE_CUT + 1);
	assert_true(c->nevents > NRECS / 2);
	capture_free(c);
	free(p);
	mkperf_free(&z);

	/* 2 GiB of records of 2056 bytes in 60 KB: bytes 08, of no known type */
	frame(&z);
	for (int i = 0; i < 15000; i++) {
		block(&z, 1, false, 128 * 1024);
		mkperf_put(&z, "\x08", 1);
	}
	c = one_slice(&z, &p);
	assert_int_equal(severity(c, 42), HWT_NOTE_WARN + 1);
	assert_int_equal(c->nevents, 1);
	capture_free(c);
	free(p);
	mkperf_free(&z);
	mkperf_free(&m);
}

/* A pipe has its attribute as a record, in either byte order. */
static void piped(void **state)
{
	for (int big = 0; big < 2; big++) {
		struct mkperf m, o;
		struct capture *c;
		uint8_t *file;
		size_t n, r;

		mkperf_init(&m, big);
		records(&m);
		file = mkperf_file(&m, &n);
		mkperf_init(&o, big);
		mkperf_put(&o, file, 8);
		mkperf_u64(&o, 16);
		r = mkperf_begin(&o, 64, 0);
		mkperf_put(&o, file + 104, 128);
		mkperf_u64(&o, 1);
		mkperf_end(&o, r);
		r = mkperf_begin(&o, 80, 0);	/* FEATURE: HOSTNAME */
		mkperf_u64(&o, 3);
		mkperf_u32(&o, 4);
		mkperf_put(&o, "box", 4);
		mkperf_end(&o, r);
		mkperf_put(&o, m.p, m.n);
		c = open_bytes(o.p, o.n);
		check(c, NRECS);
		assert_string_equal(c->host, "box");
		capture_free(c);
		free(file);
		mkperf_free(&o);
		mkperf_free(&m);
	}
}

static void put_file(const char *dir, const char *name, const void *p, size_t n)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* A directory: records of two threads in data.0 and data.1, one compressed, and kcore_dir. */
static void divided(void **state)
{
	static const char syms[] = "ffffffff81000000 T _text\nffffffff81001000 T foo\n"
		"ffffffff81002000 T bar\n";
	char dir[] = "/tmp/hwt-perf-XXXXXX", cmd[64], path[64];
	struct mkperf m, o, z = { 0 };
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	struct hwt_symbol sym;
	struct hwt_diag d;
	struct capture *c;
	size_t r;

	assert_non_null(mkdtemp(dir));
	mkperf_init(&m, false);
	mkperf_end(&m, mkperf_begin(&m, 68, 0));	/* FINISHED_ROUND */
	snprintf(path, sizeof(path), "%s/data", dir);
	assert_int_equal(mkperf_write(&m, path), 0);
	m.n = 0;
	records(&m);
	compress(&z, &m);
	put_file(dir, "data.0", m.p, m.n);
	mkperf_init(&o, false);
	r = mkperf_begin(&o, COMPRESSED, 0);
	mkperf_put(&o, z.p, z.n);
	mkperf_end(&o, r);
	put_file(dir, "data.1", o.p, o.n);
	snprintf(path, sizeof(path), "%s/kcore_dir", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	put_file(path, "kallsyms", syms, sizeof(syms) - 1);
	assert_int_equal(source_perf.probe(NULL, dir), 2);
	assert_int_equal(source_perf.probe(NULL, path), 0);
	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(source_perf.open(c, NULL, dir, NULL, &d), 0);
	check(c, 2 * NRECS);
	assert_int_equal(c->notes.n, 1);	/* no trace in it */
	assert_int_equal(hwt_image_symbol(c->image, &w, 0xffffffff81001004, &sym), 1);
	assert_string_equal(sym.name, "foo");
	capture_free(c);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	assert_int_equal(system(cmd), 0);
	mkperf_free(&z);
	mkperf_free(&o);
	mkperf_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(straddle), cmocka_unit_test(damage), cmocka_unit_test(piped),
		cmocka_unit_test(divided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
