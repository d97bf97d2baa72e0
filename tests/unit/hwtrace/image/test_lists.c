/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and code that do not come from ELF files of programs: kallsyms, kcore, perf maps, jitdump.
 * Files are written here byte by byte after their documentation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../../hwtrace/image/image.h"
#include "../../../support/imgfix.h"

static int setup(void **state)
{
	int rc = imgfix_setup(state);
	struct fix *f = *state;

	strcpy(f->path, "/tmp/hwt-lists-XXXXXX");
	close(mkstemp(f->path));
	return rc;
}

static int teardown(void **state)
{
	struct fix *f = *state;

	unlink(f->path);
	return imgfix_teardown(state);
}

static void write_file(struct fix *f, const void *p, size_t n)
{
	FILE *o = fopen(f->path, "wb");

	assert_non_null(o);
	assert_int_equal(fwrite(p, 1, n, o), n);
	fclose(o);
}

static int kallsyms(struct fix *f, const char *text)
{
	write_file(f, text, strlen(text));
	return image_add_kallsyms(f->img, f->path, &f->diag);
}

/* @name NULL: nothing there. */
static void expect(struct fix *f, int32_t pid, uint64_t time, uint64_t addr, const char *name,
		   uint64_t start, const char *module)
{
	struct hwt_where w = { .pid = pid, .time = time };
	struct hwt_symbol s = { 0 };

	assert_int_equal(hwt_image_symbol(f->img, &w, addr, &s), name != NULL);
	if (!name)
		return;
	assert_string_equal(s.name, name);
	assert_int_equal(s.start, start);
	if (module)
		assert_string_equal(s.module, module);
}

static void kexpect(struct fix *f, uint64_t addr, const char *name, uint64_t start,
		    const char *module)
{
	expect(f, 77, HWT_TIME_UNKNOWN, addr, name, start, module);
	expect(f, HWT_NONE, HWT_TIME_UNKNOWN, addr, name, start, module);
}

/* J12: modules before the kernel, and addresses in any order. */
static void kallsyms_unsorted(void **state)
{
	struct fix *f = *state;
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	uint64_t r[3][2], func;

	assert_int_equal(kallsyms(f,
		"ffffffffc0200100 t second\t[mod]\n"
		"ffffffff81000200 T third\n"
		"ffffffffc0200000 t first\t[mod]\n"
		"ffffffff81000100 t second\n"
		"ffffffff81000000 T _stext\n"
		"ffffffff81000000 T startup\n"
		"ffffffff81000280 D table\n"
		"ffffffff81000300 W fourth\n"
		"ffffffff81000304 t $x\n"), 0);
	kexpect(f, 0xffffffff81000000, "startup", 0xffffffff81000000, "[kernel]");
	kexpect(f, 0xffffffff810000ff, "startup", 0xffffffff81000000, "[kernel]");
	kexpect(f, 0xffffffff81000100, "second", 0xffffffff81000100, "[kernel]");
	kexpect(f, 0xffffffff8100027f, "third", 0xffffffff81000200, "[kernel]");
	kexpect(f, 0xffffffff81000280, NULL, 0, NULL);
	kexpect(f, 0xffffffff81000308, "fourth", 0xffffffff81000300, "[kernel]");
	/* the last one does not reach up to the modules */
	kexpect(f, 0xffffffff81000fff, "fourth", 0xffffffff81000300, "[kernel]");
	kexpect(f, 0xffffffff81001000, NULL, 0, NULL);
	kexpect(f, 0xffffffffc01fffff, NULL, 0, NULL);
	kexpect(f, 0xffffffffc02000ff, "first", 0xffffffffc0200000, "[mod]");
	kexpect(f, 0xffffffffc0200fff, "second", 0xffffffffc0200100, "[mod]");
	kexpect(f, 0, NULL, 0, NULL);
	assert_int_equal(hwt_image_find(f->img, "second", r, 3), 2);
	assert_int_equal(r[0][0], 0xffffffff81000100);
	assert_int_equal(r[0][1], 0xffffffff810001ff);
	assert_int_equal(image_entry(f->img, &w, 0xffffffff81000200, &func), 1);
	assert_int_equal(image_entry(f->img, &w, 0xffffffff81000204, &func), 0);
	assert_int_equal(func, 0xffffffff81000200);
	assert_int_equal(f->ns.n, 0);
}

/* J15: names have no limit of ours; damaged lines are counted. */
static void kallsyms_odd(void **state)
{
	struct fix *f = *state;
	char name[1001], text[1400];

	memset(name, 'n', 1000);
	name[1000] = 0;
	snprintf(text, sizeof(text),
		 "\nffffffff81000000 T %s\nzz T bad\nffffffff81000100\n"
		 "11112222333344445 T long\nffffffff81000200 T ok\r\nffffffff81000300 T", name);
	assert_int_equal(kallsyms(f, text), 0);
	kexpect(f, 0xffffffff81000010, name, 0xffffffff81000000, NULL);
	kexpect(f, 0xffffffff81000210, "ok", 0xffffffff81000200, NULL);
	assert_int_equal(f->ns.n, 1);
	assert_int_equal(f->ns.v[0].diag.id, 97);
	assert_memory_equal(f->ns.v[0].diag.text, "4 lines", 7);
}

static void kallsyms_hidden(void **state)
{
	struct fix *f = *state;

	assert_int_equal(kallsyms(f, "0000000000000000 T a\n0000000000000000 t b\t[m]\n"), 0);
	kexpect(f, 0, NULL, 0, NULL);
	kexpect(f, 0xffffffff81000000, NULL, 0, NULL);
	assert_int_equal(f->ns.n, 1);
	assert_int_equal(f->ns.v[0].diag.id, 94);
	assert_non_null(strstr(f->ns.v[0].diag.text, "kptr_restrict"));
	assert_int_equal(kallsyms(f, "nothing here\n"), -HWT_E_FORMAT);
	assert_int_equal(kallsyms(f, ""), -HWT_E_FORMAT);
}

static void put(uint8_t *p, uint64_t v, unsigned bytes, bool big)
{
	for (unsigned i = 0; i < bytes; i++)
		p[big ? bytes - 1 - i : i] = (uint8_t)(v >> 8 * i);
}

/* An ELF core file: kernel text and a module, far apart; recorded maps must not hide it. */
static void kcore(void **state)
{
	struct fix *f = *state;
	static const struct { uint64_t addr, off, filesz, memsz; } v[] = {
		{ 0xffffffff81000000, 0x1000, 0x100, 0x100 },
		{ 0xffffffffc0200000, 0x1100, 0x80, 0x1000 },
		{ 0xffff888000000000, 1ull << 46, 0x1000, 0x1000 },	/* not in the copy */
	};
	struct hwt_where w = { .pid = 5, .time = 9 };
	struct hwt_map m = { .addr = 0xffffffffc0200000, .size = 0x1000, .from = 5,
			     .path = "/lib/modules/x/mod.ko.xz", .pid = HWT_NONE };
	uint8_t b[0x1200] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 }, out[0x200];
	struct image_section *s;
	size_t n;

	put(b + 16, 4, 2, false);	/* ET_CORE */
	put(b + 18, 62, 2, false);
	put(b + 32, 64, 8, false);
	put(b + 54, 56, 2, false);
	put(b + 56, 3, 2, false);
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *p = b + 64 + 56 * i;

		put(p, 1, 4, false);
		put(p + 8, v[i].off, 8, false);
		put(p + 16, v[i].addr, 8, false);
		put(p + 32, v[i].filesz, 8, false);
		put(p + 40, v[i].memsz, 8, false);
	}
	memset(b + 0x1000, 'k', 0x100);
	memset(b + 0x1100, 'm', 0x80);
	write_file(f, b, sizeof(b));
	assert_int_equal(image_add_kcore(f->img, f->path, &f->diag), 0);
	assert_int_equal(f->ns.n, 1);
	assert_int_equal(f->ns.v[0].diag.id, 92);
	assert_int_equal(image_add_map(f->img, &m), 0);
	m.path = "[kernel.kallsyms]_text";
	m.addr = 0xffffffff81000000;
	assert_int_equal(image_add_map(f->img, &m), 0);
	assert_int_equal(hwt_image_read(f->img, &w, 0xffffffff81000000, out, 0x200), 0x100);
	assert_int_equal(out[0xff], 'k');
	/* memory that the copy left out is unknown, not zero */
	assert_int_equal(hwt_image_read(f->img, &w, 0xffffffffc0200000, out, 0x200), 0x80);
	assert_int_equal(out[0x7f], 'm');
	assert_int_equal(hwt_image_read(f->img, &w, 0xffff888000000000, out, 1), 0);
	assert_int_equal(image_sections(f->img, &w, &s, &n), 0);
	assert_int_equal(n, 2);
	free(s);
	b[16] = 3;
	write_file(f, b, sizeof(b));
	image_free(f->img);
	assert_int_equal(image_new(&f->img, &f->ns), 0);
	assert_int_equal(image_add_kcore(f->img, f->path, &f->diag), -HWT_E_FORMAT);
}

/* Core files that hold no code: a segment without bytes, one whose bytes are past the end. */
static void kcore_empty(void **state)
{
	struct fix *f = *state;
	static const struct { uint64_t off, filesz; } v[] = { { 0x100, 0 }, { 1 << 20, 0x100 } };

	for (unsigned i = 0; i < 2; i++) {
		uint8_t b[0x200] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };

		put(b + 16, 4, 2, false);	/* ET_CORE */
		put(b + 18, 62, 2, false);
		put(b + 32, 64, 8, false);
		put(b + 54, 56, 2, false);
		put(b + 56, 1, 2, false);
		put(b + 64, 1, 4, false);
		put(b + 72, v[i].off, 8, false);
		put(b + 80, 0xffffffff81000000, 8, false);
		put(b + 96, v[i].filesz, 8, false);
		put(b + 104, 0x1000, 8, false);
		write_file(f, b, sizeof(b));
		image_free(f->img);
		assert_int_equal(image_new(&f->img, &f->ns), 0);
		assert_int_equal(image_add_kcore(f->img, f->path, &f->diag), -HWT_E_FORMAT);
		assert_int_equal(f->diag.id, 92);
		assert_non_null(strstr(f->diag.text, i ? "segment" : "no loadable segment"));
	}
}

/* Names of a runtime: for the program after exec, the newer line of two wins. */
static void perf_map(void **state)
{
	struct fix *f = *state;
	static const char text[] = "7f0000001000 40 old name\n"
		"7f0000001000 20 LazyCompile:*run /app/a.js:7\n"
		"0x7f0000002000 0x10 withprefix\nbroken\n7f0000003000 8\n7f0000004000 8 \n";

	write_file(f, text, sizeof(text) - 1);
	assert_int_equal(image_exec(f->img, 50, 12), 0);
	assert_int_equal(image_add_perf_map(f->img, 12, f->path, &f->diag), 0);
	expect(f, 12, 60, 0x7f000000101f, "LazyCompile:*run /app/a.js:7", 0x7f0000001000, NULL);
	expect(f, 12, 60, 0x7f0000001020, "old name", 0x7f0000001000, NULL);
	expect(f, 12, 60, 0x7f0000001040, NULL, 0, NULL);
	expect(f, 12, 60, 0x7f0000002001, "withprefix", 0x7f0000002000, NULL);
	expect(f, 12, 49, 0x7f0000001000, NULL, 0, NULL);
	expect(f, 13, 60, 0x7f0000001000, NULL, 0, NULL);
	assert_int_equal(f->ns.n, 1);
	assert_memory_equal(f->ns.v[0].diag.text, "3 lines", 7);
}

/* Kernel functions without file (KSYMBOL), registered and gone; J09, J11. */
static void loose_symbols(void **state)
{
	struct fix *f = *state;

	assert_int_equal(image_add_symbol(f->img, HWT_NONE, 10, 0xffffffffc0300000, 0x40,
					  "bpf_prog_1"), 0);
	assert_int_equal(image_add_symbol(f->img, HWT_NONE, 20, 0xffffffffc0300000, 0x40, NULL), 0);
	assert_int_equal(image_add_symbol(f->img, HWT_NONE, 30, 0xffffffffc0300020, 0x40,
					  "bpf_prog_2"), 0);
	expect(f, 4, 9, 0xffffffffc0300000, NULL, 0, NULL);
	expect(f, 4, 10, 0xffffffffc030003f, "bpf_prog_1", 0xffffffffc0300000, NULL);
	expect(f, 4, 20, 0xffffffffc0300000, NULL, 0, NULL);
	expect(f, 4, 30, 0xffffffffc0300020, "bpf_prog_2", 0xffffffffc0300020, NULL);
	expect(f, 4, 30, 0xffffffffc0300000, NULL, 0, NULL);
}

/* A jitdump file in the making. */
struct dump {
	uint8_t b[4096];
	size_t n;
	bool big;
};

static void num(struct dump *d, uint64_t v, unsigned bytes)
{
	put(d->b + d->n, v, bytes, d->big);
	d->n += bytes;
}

static void raw(struct dump *d, const void *p, size_t n)
{
	memcpy(d->b + d->n, p, n);
	d->n += n;
}

static void dump_start(struct dump *d, bool big, uint64_t flags)
{
	memset(d, 0, sizeof(*d));
	d->big = big;
	num(d, 0x4a695444, 4);
	num(d, 1, 4);
	num(d, 40, 4);
	num(d, 62, 4);
	num(d, 0, 4);
	num(d, 321, 4);
	num(d, 5, 8);
	num(d, flags, 8);
}

static void record(struct dump *d, unsigned id, size_t body, uint64_t time)
{
	num(d, id, 4);
	num(d, 16 + body, 4);
	num(d, time, 8);
}

static void code_load(struct dump *d, uint64_t time, uint64_t addr, uint64_t index,
		      const char *name, const char *code)
{
	size_t n = strlen(code);

	record(d, 0, 40 + strlen(name) + 1 + n, time);
	num(d, 321, 4);
	num(d, 321, 4);
	num(d, addr, 8);
	num(d, addr, 8);
	num(d, n, 8);
	num(d, index, 8);
	raw(d, name, strlen(name) + 1);
	raw(d, code, n);
}

static void code_move(struct dump *d, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		      uint64_t index)
{
	record(d, 1, 48, time);
	num(d, 321, 4);
	num(d, 321, 4);
	num(d, to, 8);
	num(d, from, 8);
	num(d, to, 8);
	num(d, size, 8);
	num(d, index, 8);
}

static void code_lines(struct dump *d, uint64_t addr)
{
	record(d, 2, 16 + 2 * 16 + 5 + 2, 1);
	num(d, addr, 8);
	num(d, 2, 8);
	num(d, addr, 8);
	num(d, 10, 4);
	num(d, 0, 4);
	raw(d, "a.js", 5);
	num(d, addr + 2, 8);
	num(d, 12, 4);
	num(d, 0, 4);
	raw(d, "\xff", 2);
}

static int add_dump(struct fix *f, const struct dump *d, int32_t pid)
{
	write_file(f, d->b, d->n);
	return image_add_jitdump(f->img, pid, f->path, &f->diag);
}

static void read_is(struct fix *f, uint64_t time, uint64_t addr, const char *code)
{
	struct hwt_where w = { .pid = 321, .time = time };
	char b[16] = "";

	assert_int_equal(hwt_image_read(f->img, &w, addr, b, sizeof(b) - 1), strlen(code));
	assert_string_equal(b, code);
}

/* J09: one address, two functions in time; code that moves takes name, bytes and lines along. */
static void jitdump(void **state)
{
	for (unsigned big = 0; big < 2; big++) {
		struct hwt_where w = { .pid = 321, .time = 60 };
		struct hwt_line l;
		struct dump d;
		struct fix *f;

		setup((void **)&f);
		dump_start(&d, big, 0);
		code_load(&d, 10, 0x5000, 1, "first", "abcd");
		record(&d, 4, 8, 11);		/* unwind tables */
		num(&d, 0, 8);
		code_lines(&d, 0x5000);
		code_load(&d, 20, 0x5000, 2, "second", "efghi");
		record(&d, 99, 3, 21);		/* of the future */
		raw(&d, "???", 3);
		code_move(&d, 30, 0x5000, 0x6000, 5, 2);
		record(&d, 3, 0, 40);
		code_load(&d, 50, 0x5000, 3, "after close", "zz");
		assert_int_equal(add_dump(f, &d, big ? 321 : HWT_NONE), 0);
		assert_int_equal(f->ns.n, 0);
		read_is(f, 9, 0x5000, "");
		read_is(f, 10, 0x5000, "abcd");
		expect(f, 321, 19, 0x5003, "first", 0x5000, "[jit]");
		read_is(f, 29, 0x5001, "fghi");
		expect(f, 321, 20, 0x5004, "second", 0x5000, NULL);
		read_is(f, 30, 0x5000, "");
		expect(f, 321, 30, 0x5000, NULL, 0, NULL);
		read_is(f, 30, 0x6000, "efghi");
		expect(f, 321, 99, 0x6001, "second", 0x6000, NULL);
		expect(f, 322, 99, 0x6001, NULL, 0, NULL);
		assert_int_equal(hwt_image_lines(f->img, &w, 0x6001, &l, 1), 1);
		assert_int_equal(l.line, 10);
		assert_int_equal(hwt_image_lines(f->img, &w, 0x6004, &l, 1), 1);
		assert_int_equal(l.line, 12);
		assert_string_equal(l.file, "a.js");
		assert_string_equal(l.func, "second");
		w.time = 15;
		assert_int_equal(hwt_image_lines(f->img, &w, 0x5001, &l, 1), 0);
		teardown((void **)&f);
	}
}

/* Every cut leaves what was before it, and says so. */
static void jitdump_cut(void **state)
{
	struct dump d;
	size_t full, first;

	dump_start(&d, false, 0);
	code_load(&d, 10, 0x5000, 1, "first", "abcd");
	first = d.n;
	code_lines(&d, 0x6000);
	code_load(&d, 20, 0x6000, 2, "second", "efgh");
	full = d.n;
	for (size_t n = 0; n <= full; n++) {
		struct fix *f;
		int rc;

		setup((void **)&f);
		d.n = n;
		rc = add_dump(f, &d, HWT_NONE);
		assert_int_equal(rc, n < 40 ? -HWT_E_FORMAT : 0);
		read_is(f, 15, 0x5000, n < first ? "" : "abcd");
		read_is(f, 25, 0x6000, n < full ? "" : "efgh");
		if (n == 40 || n == full)
			assert_int_equal(f->ns.n, 0);
		teardown((void **)&f);
	}
}

static void jitdump_bad(void **state)
{
	struct fix *f = *state;
	struct dump d;

	/* code larger than its record, lines without end, a move of nothing: noted, and on */
	dump_start(&d, false, 0);
	code_load(&d, 10, 0x5000, 1, "x", "abcd");
	put(d.b + 40 + 16 + 24, 1ull << 40, 8, false);
	record(&d, 2, 16, 11);
	num(&d, 0x5000, 8);
	num(&d, UINT64_MAX / 8, 8);
	code_move(&d, 30, 0x5000, 0x6000, 5, 2);
	code_load(&d, 40, 0x7000, 3, "good", "wxyz");
	assert_int_equal(add_dump(f, &d, HWT_NONE), 0);
	assert_int_equal(f->ns.n, 3);
	read_is(f, 50, 0x7000, "wxyz");
	read_is(f, 50, 0x5000, "");

	/* times of a counter can not be compared with ours: from the start of the program */
	dump_start(&d, false, 1);
	code_load(&d, 1ull << 60, 0x8000, 1, "tsc", "qrst");
	assert_int_equal(add_dump(f, &d, HWT_NONE), 0);
	read_is(f, 5, 0x8000, "qrst");

	put(d.b + 20, UINT32_MAX, 4, false);	/* pid of everybody */
	assert_int_equal(add_dump(f, &d, HWT_NONE), -HWT_E_FORMAT);
	put(d.b + 4, 2, 4, false);
	assert_int_equal(add_dump(f, &d, 321), -HWT_E_FORMAT);
}

static void write_to(const char *path, const void *p, size_t n)
{
	FILE *o = fopen(path, "wb");

	assert_non_null(o);
	assert_int_equal(fwrite(p, 1, n, o), n);
	fclose(o);
}

/* A folder of lists, and a dump that the recorder saw mapped; each for its own process only. */
static void jit_folder(void **state)
{
	static const char text[] = "7000 10 listed\n";
	char dir[] = "/tmp/hwt-jit-XXXXXX", name[60], other[60], dump[60];
	struct dump d;

	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/perf-321.map", dir);
	snprintf(other, sizeof(other), "%s/perf-322.map", dir);
	snprintf(dump, sizeof(dump), "%s/jit-321.dump", dir);
	write_to(name, text, sizeof(text) - 1);
	write_to(other, text, sizeof(text) - 1);
	dump_start(&d, false, 0);
	code_load(&d, 10, 0x5000, 1, "dumped", "abcd");
	write_to(dump, d.b, d.n);
	for (unsigned i = 0; i < 4; i++) {
		struct hwt_map m = { .addr = 0x9000, .size = 0x1000, .from = 1, .pid = 321,
				     .path = dump };
		struct fix *f;

		setup((void **)&f);
		if (i == 3)
			m.pid = 5;	/* not the process of the dump's name */
		assert_int_equal(image_add_map(f->img, &m), 0);
		assert_int_equal(image_add_jit(f->img, i == 1 ? dir : NULL,
					       i == 2 ? "CLOCK_REALTIME" : "CLOCK_MONOTONIC"), 0);
		expect(f, 321, 20, 0x5000, i < 3 ? "dumped" : NULL, 0x5000, NULL);
		expect(f, 321, 9, 0x5000, i == 2 ? "dumped" : NULL, 0x5000, NULL);
		expect(f, 321, 20, 0x7000, i == 1 ? "listed" : NULL, 0x7000, NULL);
		expect(f, 322, 20, 0x7000, NULL, 0, NULL);
		assert_int_equal(f->ns.n, i == 2);
		teardown((void **)&f);
	}
	unlink(name);
	unlink(other);
	unlink(dump);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kallsyms_unsorted, setup, teardown),
		cmocka_unit_test_setup_teardown(kallsyms_odd, setup, teardown),
		cmocka_unit_test_setup_teardown(kallsyms_hidden, setup, teardown),
		cmocka_unit_test_setup_teardown(kcore, setup, teardown),
		cmocka_unit_test_setup_teardown(kcore_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(perf_map, setup, teardown),
		cmocka_unit_test_setup_teardown(loose_symbols, setup, teardown),
		cmocka_unit_test(jitdump),
		cmocka_unit_test(jitdump_cut),
		cmocka_unit_test_setup_teardown(jitdump_bad, setup, teardown),
		cmocka_unit_test(jit_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
