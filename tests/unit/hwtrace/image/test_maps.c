/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps over time. The truth is a model that copies whole address spaces at each step, and cases
 * from kernel and tool histories worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../../hwtrace/image/image.h"
#include "../../../support/imgfix.h"

#define FILE_SIZE 0x3000

static char dir[64];

static uint8_t file_byte(char name, uint64_t off)
{
	return (uint8_t)(name * 31 + off * 7 + off / 256);
}

static void write_file(char name)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%c", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	for (uint64_t i = 0; i < FILE_SIZE; i++)
		fputc(file_byte(name, i), f);
	fclose(f);
}

static int make_files(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/hwt-maps-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	for (char c = 'a'; c <= 'c'; c++)
		write_file(c);
	return 0;
}

static int drop_files(void **state)
{
	char path[80];

	for (char c = 'a'; c <= 'c'; c++) {
		snprintf(path, sizeof(path), "%s/%c", dir, c);
		unlink(path);
	}
	return rmdir(dir);
}

static int setup(void **state)
{
	return imgfix_setup(state) || image_set_base(((struct fix *)*state)->img, dir);
}

static void map(struct fix *f, int32_t pid, uint64_t time, uint64_t addr, uint64_t size,
		const char *name, uint64_t off)
{
	struct hwt_map m = { .addr = addr, .size = size, .file_off = off, .from = time,
			     .path = name, .pid = pid, .raw = 1 };

	assert_int_equal(image_add_map(f->img, &m), 0);
}

static void expect(struct fix *f, int32_t pid, uint64_t time, uint64_t addr, int byte)
{
	struct hwt_where w = { .pid = pid, .time = time };
	uint8_t b;
	int rc = hwt_image_read(f->img, &w, addr, &b, 1);

	assert_int_equal(rc, byte >= 0);
	if (byte >= 0)
		assert_int_equal(b, byte);
}

/* J01: a map over the middle; the tail goes on at its own offset. */
static void over_the_middle(void **state)
{
	struct fix *f = *state;

	map(f, 7, 10, 0x10000, 0x3000, "a", 0);
	map(f, 7, 20, 0x11000, 0x1000, "b", 0x24);
	expect(f, 7, 9, 0x11000, -1);
	expect(f, 7, 10, 0x11000, file_byte('a', 0x1000));
	expect(f, 7, 20, 0x11000, file_byte('b', 0x24));
	expect(f, 7, 20, 0x10fff, file_byte('a', 0xfff));
	expect(f, 7, 20, 0x12000, file_byte('a', 0x2000));
	expect(f, 7, HWT_TIME_UNKNOWN, 0x12fff, file_byte('a', 0x2fff));
	expect(f, 7, 20, 0x13000, -1);
	expect(f, 8, 20, 0x11000, -1);
	expect(f, HWT_NONE, 20, 0x11000, -1);
}

/* J05: an instruction cut by the edge of two maps reads as a whole; so do the last bytes of all. */
static void over_edges(void **state)
{
	struct fix *f = *state;
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	uint8_t b[16];

	map(f, HWT_NONE, 0, 0x1000, 2, "a", 0x10);
	map(f, HWT_NONE, 0, 0x1002, 3, "b", 0x20);
	assert_int_equal(hwt_image_read(f->img, &w, 0x1000, b, 16), 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(b[i], i < 2 ? file_byte('a', 0x10 + i) : file_byte('b', 0x1e + i));

	map(f, HWT_NONE, 0, UINT64_MAX - 3, 4, "c", 0);
	assert_int_equal(hwt_image_read(f->img, &w, UINT64_MAX - 3, b, 16), 4);
	assert_int_equal(b[3], file_byte('c', 3));
	assert_int_equal(hwt_image_read(f->img, &w, UINT64_MAX, b, 1), 1);
	assert_int_equal(hwt_image_read(f->img, &w, UINT64_MAX - 4, b, 1), 0);
	assert_int_equal(f->ns.n, 0);

	/* no such map can be */
	map(f, HWT_NONE, 0, UINT64_MAX - 3, 5, "c", 0);
	map(f, HWT_NONE, 0, 0x5000, 0, "c", 0);
	assert_int_equal(f->ns.n, 2);
	assert_int_equal(f->ns.v[0].diag.id, 101);
}

/* A map larger than its file reads as far as the file goes; a missing file is noted once. */
static void file_end(void **state)
{
	struct fix *f = *state;
	struct hwt_where w = { .pid = 1, .time = 0 };
	uint8_t b[8];

	map(f, 1, 0, 0x1000, 0x10000, "a", 0x1000);
	assert_int_equal(hwt_image_read(f->img, &w, 0x2ffc, b, 8), 4);
	expect(f, 1, 0, 0x3000, -1);
	expect(f, 1, 0, 0x2fff, file_byte('a', 0x2fff));
	map(f, 1, 0, 0x20000, 0x1000, "a", UINT64_MAX - 10);
	expect(f, 1, 0, 0x20000, -1);
	expect(f, 1, 0, 0x20800, -1);
	map(f, 1, 0, 0x40000, 0x1000, "none", 0);
	expect(f, 1, 0, 0x40000, -1);
	expect(f, 1, 0, 0x40010, -1);
	assert_int_equal(f->ns.n, 1);
	assert_int_equal(f->ns.v[0].diag.id, 93);
}

/* A list of maps says what is missing, but only who needs the code makes a note. */
static void listing(void **state)
{
	struct fix *f = *state;
	static const struct { const char *path; int32_t pid; uint8_t raw, missing; } v[] = {
		{ "a", 1, 1, 0 }, { "gone", 1, 1, 1 }, { "/gone/lib.so", 1, 0, 1 },
		{ "[vdso]", 1, 0, 1 }, { "[heap]", 1, 0, 0 }, { "//anon", 1, 0, 0 },
		{ "[kernel.kallsyms]_text", HWT_NONE, 0, 1 }, { "/gone/x.ko", HWT_NONE, 0, 1 },
	};
	struct hwt_map m;

	for (size_t i = 0; i < 8; i++) {
		m = (struct hwt_map){ .addr = 0x1000 * (i + 1), .size = 0x1000, .pid = v[i].pid,
				      .path = v[i].path, .raw = v[i].raw };
		assert_int_equal(image_add_map(f->img, &m), 0);
	}
	for (unsigned round = 0; round < 2; round++) {
		for (size_t i = 0; i < 8; i++) {
			assert_int_equal(hwt_image_map_at(f->img, i, &m), 1);
			assert_string_equal(m.path, v[i].path);
			assert_int_equal(m.missing, round && i == 7 ? 0 : v[i].missing);
		}
		/* memory of the kernel that another file holds is not missing */
		map(f, HWT_NONE, 0, 0x8000, 16, "b", 0);
	}
	assert_int_equal(hwt_image_map_at(f->img, 10, &m), 0);
	assert_int_equal(f->ns.n, 0);
}

/* 10^5 equal maps are one, in the list, for the clock of changes and in the sections. */
static void repeats(void **state)
{
	struct fix *f = *state;
	struct hwt_where w = { .pid = 5, .time = 0 };
	struct image_section *v;
	struct hwt_map m;
	size_t n;

	for (unsigned i = 0; i < 100000; i++)
		map(f, 5, i, 0x1000 + 0x4000 * (i % 50), 0x1000, "a", 0);
	assert_int_equal(hwt_image_map_at(f->img, 49, &m), 1);
	assert_int_equal(hwt_image_map_at(f->img, 50, &m), 0);
	w.time = 49;
	assert_int_equal(image_next_change(f->img, &w), HWT_TIME_UNKNOWN);
	assert_int_equal(image_sections(f->img, &w, &v, &n), 0);
	assert_int_equal(n, 50);
	free(v);
	/* but what was covered in between is a change */
	map(f, 5, 100, 0x1000, 0x1000, "b", 0);
	map(f, 5, 101, 0x1000, 0x1000, "a", 0);
	expect(f, 5, 100, 0x1000, file_byte('b', 0));
	expect(f, 5, 101, 0x1000, file_byte('a', 0));
	assert_int_equal(image_next_change(f->img, &w), 100);
}

/* Arm: one address is several things, by security and exception level. */
static void memory_spaces(void **state)
{
	struct fix *f = *state;
	struct hwt_map m = { .addr = 0x8000, .size = 16, .path = "a", .pid = HWT_NONE, .raw = 1,
			     .space = HWT_SPACE_EL1N };
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	struct { uint32_t space; int byte; } q[] = {
		{ HWT_SPACE_EL1N, file_byte('a', 0) }, { HWT_SPACE_EL3, file_byte('b', 0) },
		{ HWT_SPACE_EL3 | HWT_SPACE_EL1S, file_byte('b', 0) }, { 0, file_byte('b', 0) },
		{ HWT_SPACE_EL2, -1 }, { HWT_SPACE_EL1N, file_byte('a', 0) },
	};
	uint8_t b;

	assert_int_equal(image_add_map(f->img, &m), 0);
	m.path = "b";
	m.space = HWT_SPACE_EL3;
	assert_int_equal(image_add_map(f->img, &m), 0);
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		w.space = q[i].space;
		assert_int_equal(hwt_image_read(f->img, &w, 0x8000, &b, 1), q[i].byte >= 0);
		if (q[i].byte >= 0)
			assert_int_equal(b, q[i].byte);
	}
}

/* Bytes that change are read by time and are no part of the sections, at any time. */
static void pokes(void **state)
{
	struct fix *f = *state;
	struct hwt_where w = { .pid = 3, .time = 5 };
	struct image_section *v;
	size_t n;

	map(f, HWT_NONE, 0, 0x10000, 0x3000, "a", 0);
	assert_int_equal(image_add_bytes(f->img, HWT_NONE, 0, 0x11800, "old", 3, NULL), 0);
	assert_int_equal(image_add_bytes(f->img, HWT_NONE, 50, 0x11800, "new", 3, NULL), 0);
	/* a dump that comes later with the same time does not hide what was recorded */
	map(f, HWT_NONE, 0, 0x10000, 0x3000, "b", 0);
	expect(f, 3, 5, 0x11800, 'o');
	expect(f, 3, 49, 0x11801, 'l');
	expect(f, 3, 50, 0x11800, 'n');
	expect(f, 3, 50, 0x11803, file_byte('b', 0x1803));
	for (w.time = 5; w.time < 100; w.time += 50) {
		assert_int_equal(image_sections(f->img, &w, &v, &n), 0);
		assert_int_equal(n, 2);
		assert_int_equal(v[0].addr, 0x10000);
		assert_int_equal(v[0].size, 0x1000);
		assert_int_equal(v[1].addr, 0x12000);
		assert_int_equal(v[1].size, 0x1000);
		assert_int_equal(v[1].file_off, 0x2000);
		assert_int_equal(v[1].p[0], file_byte('b', 0x2000));
		free(v);
	}
	assert_int_equal(image_next_change(f->img, &w), HWT_TIME_UNKNOWN);
}

/*
 * A JIT writes code, tells it, then makes its memory executable: the map comes last. It does not
 * hide what was told, but what was there before; a file over it hides both.
 */
static void protected_later(void **state)
{
	struct fix *f = *state;
	struct hwt_map m = { .addr = 0x10000, .size = 0x2000, .pid = 4, .path = "//anon" };
	struct hwt_where w = { .pid = 4, .time = 0 };

	map(f, 4, 1, 0x10000, 0x1000, "a", 0);
	for (m.from = 10; m.from < 1000; m.from += 10) {
		assert_int_equal(image_add_map(f->img, &m), 0);
		assert_int_equal(image_add_bytes(f->img, 4, m.from + 5, 0x10100 + m.from, "j", 1,
						 NULL), 0);
	}
	/* each is the same memory, so nothing changed for who maps files */
	assert_int_equal(image_next_change(f->img, &w), 1);
	w.time = 1;
	assert_int_equal(image_next_change(f->img, &w), 10);
	w.time = 10;
	assert_int_equal(image_next_change(f->img, &w), HWT_TIME_UNKNOWN);
	expect(f, 4, 9, 0x1010a, file_byte('a', 0x10a));
	expect(f, 4, 14, 0x1010a, -1);
	expect(f, 4, 15, 0x1010a, 'j');
	expect(f, 4, 999, 0x1010a, 'j');
	expect(f, 4, 999, 0x1010b, -1);
	/* another form of the same memory, as a child sees it too */
	m.size = 0x1000;
	m.from = 1100;
	assert_int_equal(image_add_map(f->img, &m), 0);
	assert_int_equal(image_fork(f->img, 1200, 4, 5), 0);
	m.pid = 5;
	m.from = 1300;
	assert_int_equal(image_add_map(f->img, &m), 0);
	expect(f, 4, 1100, 0x1010a, 'j');
	expect(f, 5, 1250, 0x1010a, 'j');
	expect(f, 5, 1300, 0x1010a, 'j');
	expect(f, 5, 1300, 0x1010b, -1);
	map(f, 4, 1400, 0x10000, 0x1000, "b", 0);
	expect(f, 4, 1400, 0x1010a, file_byte('b', 0x10a));
	m.pid = 4;
	m.from = 1500;
	assert_int_equal(image_add_map(f->img, &m), 0);
	expect(f, 4, 1500, 0x1010a, -1);
	expect(f, 5, 1500, 0x1010a, 'j');
}

/* The fork is read before its parent's maps; a pid is used again; a thread is no fork. */
static void forks(void **state)
{
	struct fix *f = *state;

	assert_int_equal(image_fork(f->img, 100, 1, 2), 0);
	assert_int_equal(image_fork(f->img, 100, 1, 1), 0);
	map(f, 1, 90, 0x1000, 16, "a", 0);
	map(f, 1, 110, 0x1000, 16, "b", 0);
	expect(f, 2, 99, 0x1000, -1);
	expect(f, 2, 100, 0x1000, file_byte('a', 0));
	expect(f, 2, 500, 0x1000, file_byte('a', 0));
	expect(f, 1, 500, 0x1000, file_byte('b', 0));
	assert_int_equal(image_exec(f->img, 200, 2), 0);
	expect(f, 2, 199, 0x1000, file_byte('a', 0));
	expect(f, 2, 200, 0x1000, -1);
	map(f, 2, 201, 0x1000, 16, "c", 0);
	/* 2 makes a new 1: parent and child in turn */
	assert_int_equal(image_fork(f->img, 300, 2, 1), 0);
	expect(f, 1, 299, 0x1000, file_byte('b', 0));
	expect(f, 1, 300, 0x1000, file_byte('c', 0));
	/* without times the order of the file decides, and nothing runs in circles */
	assert_int_equal(image_fork(f->img, 0, 11, 12), 0);
	assert_int_equal(image_fork(f->img, 0, 12, 11), 0);
	expect(f, 11, 0, 0x1000, -1);
	expect(f, 12, HWT_TIME_UNKNOWN, 0x1000, -1);
}

#define PIDS	4
#define SPAN	96	/* addresses of the model */
#define STEPS	120

static uint32_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* One step in both; [pid 0] is the kernel's space. */
static void step(struct fix *f, int16_t now[PIDS][SPAN], uint64_t time)
{
	uint32_t op = rnd(10), p = rnd(PIDS), a = rnd(SPAN), n = 1 + rnd(SPAN - a), off = rnd(64);
	int32_t pid = p ? (int32_t)p : HWT_NONE;
	char name[2] = { (char)('a' + rnd(3)), 0 };
	uint8_t bytes[SPAN];

	if (op < 5) {
		map(f, pid, time, a, n, name, off);
		for (uint32_t i = 0; i < n; i++)
			now[p][a + i] = file_byte(name[0], off + i);
	} else if (op < 6) {
		assert_int_equal(image_unmap(f->img, pid, time, a, n), 0);
		for (uint32_t i = 0; i < n; i++)
			now[p][a + i] = -1;
	} else if (op < 8) {
		memset(bytes, (int)time, sizeof(bytes));
		assert_int_equal(image_add_bytes(f->img, pid, time, a, bytes, n, NULL), 0);
		for (uint32_t i = 0; i < n; i++)
			now[p][a + i] = (uint8_t)time;
	} else if (p && op < 9) {
		assert_int_equal(image_exec(f->img, time, pid), 0);
		memset(now[p], 0xff, sizeof(now[p]));
	} else if (p) {
		uint32_t q = 1 + rnd(PIDS - 1);

		assert_int_equal(image_fork(f->img, time, (int32_t)q, pid), 0);
		memmove(now[p], now[q], sizeof(now[p]));
	}
}

/* Sections at one instant against the model. */
static void check_sections(struct fix *f, int16_t now[PIDS][SPAN], int32_t p, uint64_t time)
{
	struct hwt_where w = { .pid = p ? p : HWT_NONE, .time = time };
	struct image_section *v;
	uint64_t end = 0;
	size_t n;

	assert_int_equal(image_sections(f->img, &w, &v, &n), 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(v[i].addr >= end && v[i].size);
		end = v[i].addr + v[i].size;
		for (uint64_t k = 0; k < v[i].size; k++) {
			int16_t own = now[p][v[i].addr + k];

			assert_int_equal(v[i].p[k], own >= 0 ? own : now[0][v[i].addr + k]);
		}
	}
	free(v);
}

static void against_model(void **state)
{
	for (uint32_t round = 0; round < 40; round++) {
		static int16_t at[STEPS + 1][PIDS][SPAN];
		struct fix *f;

		assert_int_equal(setup((void **)&f), 0);
		seed = round;
		memset(at[0], 0xff, sizeof(at[0]));
		for (uint64_t t = 1; t <= STEPS; t++) {
			memcpy(at[t], at[t - 1], sizeof(at[t]));
			step(f, at[t], t);
		}
		for (uint32_t i = 0; i < 4000; i++) {
			uint32_t t = rnd(STEPS + 1), p = rnd(PIDS), a = rnd(SPAN);
			int16_t own = at[t][p][a];

			expect(f, p ? (int32_t)p : HWT_NONE, t, a, own >= 0 ? own : at[t][0][a]);
			if (i % 100 == 0)
				check_sections(f, at[t], (int32_t)p, t);
		}
		imgfix_teardown((void **)&f);
	}
}

/* Between two changes that are announced nothing changes. */
static void next_change(void **state)
{
	struct fix *f = *state;
	static int16_t at[STEPS + 1][PIDS][SPAN];
	struct hwt_where w = { .pid = 1 };

	seed = 99;
	memset(at[0], 0xff, sizeof(at[0]));
	for (uint64_t t = 1; t <= STEPS; t++) {
		memcpy(at[t], at[t - 1], sizeof(at[t]));
		step(f, at[t], t * 10);
	}
	for (uint64_t t = 0; t <= STEPS; t++) {
		struct image_section *a, *b;
		size_t na, nb;
		uint64_t due;

		w.time = t * 10;
		due = image_next_change(f->img, &w);
		assert_true(due > w.time);
		assert_int_equal(image_sections(f->img, &w, &a, &na), 0);
		w.time = due - 1;
		assert_int_equal(image_sections(f->img, &w, &b, &nb), 0);
		assert_int_equal(na, nb);
		if (na)
			assert_memory_equal(a, b, na * sizeof(*a));
		free(a);
		free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(over_the_middle, setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(over_edges, setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(file_end, setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(listing, setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(repeats, setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(memory_spaces, setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(pokes, setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(protected_later, setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(forks, setup, imgfix_teardown),
		cmocka_unit_test(against_model),
		cmocka_unit_test_setup_teardown(next_change, setup, imgfix_teardown),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
