/* SPDX-License-Identifier: BSD-2-Clause */
/* From a recorded path to the file that is here: where it is searched, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../hwtrace/image/image.h"
#include "../../../support/imgfix.h"
#include "../../../support/scratch.h"

/* A map of a file as the kernel makes it, and symbols through file offsets; not stripped or so. */
static void map_file_of(struct fix *f, int32_t pid, const char *path, const uint8_t *id, uint8_t n)
{
	struct hwt_map m = { .path = path, .pid = pid, .build_id_size = n };
	unsigned long long off, addr, size;

	if (n)
		memcpy(m.build_id, id, n);
	scratch_text("q", &off, &addr, &size);
	m.addr = 0x7f1200000000 + addr;
	m.file_off = off;
	m.size = (size + 0xfff) & ~0xfffull;
	assert_int_equal(image_add_map(f->img, &m), 0);
}

static void map_file(struct fix *f, const char *path, const uint8_t *id, uint8_t n)
{
	map_file_of(f, 9, path, id, n);
}

static size_t gnu_id(const char *file, uint8_t *id)
{
	char cmd[300], hex[100] = "";
	size_t n = 0;
	FILE *p;

	snprintf(cmd, sizeof(cmd), "readelf -n %s | sed -n 's/.*Build ID: //p'", scratch(file));
	p = popen(cmd, "r");
	assert_non_null(p);
	assert_int_equal(fscanf(p, "%99s", hex), 1);
	pclose(p);
	for (; hex[2 * n]; n++) {
		unsigned b;

		assert_int_equal(sscanf(hex + 2 * n, "%2x", &b), 1);
		id[n] = (uint8_t)b;
	}
	return n;
}

static void expect_name(struct fix *f, uint64_t addr, const char *name)
{
	struct hwt_where w = { .pid = 9, .time = HWT_TIME_UNKNOWN };
	struct hwt_symbol s;

	assert_int_equal(hwt_image_symbol(f->img, &w, 0x7f1200000000 + addr, &s), name != NULL);
	if (name)
		assert_string_equal(s.name, name);
}

/* Where a recorded file is searched, and what its build-id decides. */
static void search_order(void **state)
{
	static const char *const places[] = {
		"mkdir -p root/opt && cp q root/opt/q",
		"mkdir -p cache/$(readelf -n q | sed -n 's/.*Build ID: //p') && "
		"cp q cache/$(readelf -n q | sed -n 's/.*Build ID: //p')/executable",
		"b=$(readelf -n q | sed -n 's/.*Build ID: //p'); r=${b#??}; "
		"d=cache/.build-id/${b%$r}/$r; mkdir -p $d && cp q $d/elf",
	};
	char root[100], cache[100];
	struct hwt_open_opts o = { .sysroot = root, .debuginfod_cache = cache };
	uint8_t id[20], wrong[20] = { 1, 2, 3 };
	uint64_t twice;
	struct fix *f;
	size_t n;

	snprintf(root, sizeof(root), "%s", scratch("root"));
	snprintf(cache, sizeof(cache), "%s", scratch("cache"));
	scratch_write("q.c", scratch_source, strlen(scratch_source));
	scratch_sh("gcc -O1 -g -pie -Wl,--build-id=sha1 -o q q.c");
	twice = scratch_nm("q", "twice");
	n = gnu_id("q", id);
	assert_int_equal(n, 20);
	for (size_t i = 0; i < 3; i++) {
		scratch_sh("rm -rf root cache");
		scratch_sh(places[i]);
		imgfix_setup((void **)&f);
		assert_int_equal(image_set_opts(f->img, &o), 0);
		map_file(f, "/opt/q", id, 20);
		expect_name(f, twice, "twice");
		assert_int_equal(f->ns.n, 0);
		imgfix_teardown((void **)&f);
	}
	/* refused, with both ids in the note, then found to be missing */
	imgfix_setup((void **)&f);
	map_file(f, scratch("q"), wrong, 20);
	expect_name(f, twice, NULL);
	assert_int_equal(f->ns.n, 2);
	assert_int_equal(f->ns.v[0].diag.id, 91);
	assert_non_null(strstr(f->ns.v[0].diag.text, "recorded build-id 010203"));
	assert_int_equal(f->ns.v[1].diag.id, 93);
	imgfix_teardown((void **)&f);
	/* the same without build-id: the path is all that is known */
	imgfix_setup((void **)&f);
	map_file(f, scratch("q"), NULL, 0);
	expect_name(f, twice, "twice");
	imgfix_teardown((void **)&f);
	/* told later, before the file is opened */
	imgfix_setup((void **)&f);
	map_file(f, scratch("q"), NULL, 0);
	assert_int_equal(image_set_build_id(f->img, scratch("q"), wrong, 20), 0);
	expect_name(f, twice, NULL);
	imgfix_teardown((void **)&f);
	/* an unlinked file: what has its name now must prove itself */
	imgfix_setup((void **)&f);
	map_file(f, scratch("q (deleted)"), NULL, 0);
	expect_name(f, twice, NULL);
	map_file(f, scratch("q (deleted)"), id, 20);
	expect_name(f, twice, "twice");
	imgfix_teardown((void **)&f);
}

/* Lines of a moved file, its debug information inside or beside it, against addr2line. */
static void lines(void **state)
{
	static const char *const names[] = { "helper", "twice", "main", "done" };

	scratch_write("q.c", scratch_source, strlen(scratch_source));
	scratch_sh("gcc -O1 -g -pie -o q q.c");
	for (unsigned split = 0; split < 2; split++) {
		struct hwt_where w = { .pid = 9, .time = HWT_TIME_UNKNOWN };
		struct fix *f;

		if (split)
			scratch_sh("rm -f q2; objcopy --only-keep-debug q q.debug && "
				   "strip -o q2 q && objcopy --add-gnu-debuglink=q.debug q2");
		imgfix_setup((void **)&f);
		map_file(f, scratch(split ? "q2" : "q"), NULL, 0);
		for (unsigned i = 0; i < 4; i++) {
			uint64_t addr = scratch_nm("q", names[i]);
			char cmd[300], func[100] = "", place[300] = "";
			struct hwt_line l = { 0 };
			FILE *p;

			snprintf(cmd, sizeof(cmd), "addr2line -f -e %s 0x%llx", scratch("q"),
				 (unsigned long long)addr);
			p = popen(cmd, "r");
			assert_non_null(p);
			assert_int_equal(fscanf(p, "%99s %299s", func, place), 2);
			pclose(p);
			assert_int_equal(hwt_image_lines(f->img, &w, 0x7f1200000000 + addr, &l, 1),
					 1);
			assert_string_equal(l.func, func);
			assert_int_equal(l.line, atoi(strrchr(place, ':') + 1));
			assert_non_null(strstr(l.file, "q.c"));
		}
		imgfix_teardown((void **)&f);
	}
}

/* A file of the user's takes the place of a recorded one: by build-id, else by name. */
static void offered(void **state)
{
	uint8_t id[20], wrong[20] = { 1, 2, 3 };
	uint64_t twice;
	struct fix *f;

	scratch_write("q.c", scratch_source, strlen(scratch_source));
	scratch_sh("gcc -O1 -g -pie -Wl,--build-id=sha1 -o q q.c; mkdir -p o; cp q o/vdso64.so");
	twice = scratch_nm("q", "twice");
	assert_int_equal(gnu_id("q", id), 20);
	for (unsigned i = 0; i < 6; i++) {
		static const struct { const char *user, *recorded; int id, found; } v[] = {
			{ "q", "/gone/other", 1, 1 }, { "q", "/gone/other", 0, 0 },
			{ "q", "/gone/q", 0, 1 }, { "q", "/gone/q", 2, 0 },
			{ "o/vdso64.so", "[vdso]", 0, 1 }, { "q", "[vdso]", 0, 0 },
		};

		imgfix_setup((void **)&f);
		assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch(v[i].user), HWT_NO_ADDR,
					       NULL), 0);
		map_file(f, v[i].recorded, v[i].id == 2 ? wrong : id, v[i].id ? 20 : 0);
		expect_name(f, twice, v[i].found ? "twice" : NULL);
		imgfix_teardown((void **)&f);
	}
	/* a reader told the build-id before it named the file with its address */
	imgfix_setup((void **)&f);
	assert_int_equal(image_set_build_id(f->img, scratch("q"), wrong, 20), 0);
	assert_int_equal(image_add_elf(f->img, 9, scratch("q"), 0x10000, &f->diag), -HWT_E_FORMAT);
	assert_int_equal(f->diag.id, 91);
	imgfix_teardown((void **)&f);
	imgfix_setup((void **)&f);
	assert_int_equal(image_set_build_id(f->img, scratch("q"), id, 20), 0);
	assert_int_equal(image_add_elf(f->img, 9, scratch("q"), 0x10000, &f->diag), 0);
	imgfix_teardown((void **)&f);
}

static bool noted(const struct fix *f, unsigned id)
{
	for (size_t i = 0; i < f->ns.n; i++)
		if (f->ns.v[i].diag.id == id)
			return true;
	return false;
}

/* A file with the address where it was loaded, over what the recording has there. */
static void placed(void **state)
{
	uint8_t id[20], wrong[20] = { 1, 2, 3 };
	uint64_t twice;
	struct fix *f;

	scratch_write("q.c", scratch_source, strlen(scratch_source));
	scratch_sh("gcc -O1 -g -pie -Wl,--build-id=sha1 -o q q.c");
	twice = scratch_nm("q", "twice");
	assert_int_equal(gnu_id("q", id), 20);
	for (unsigned i = 0; i < 7; i++) {
		/* @other: a second recorded file at the same place, in another address space */
		static const struct {
			const char *recorded, *other;
			int id;
			unsigned shift, found, note;
		} v[] = {
			{ "/gone/q", NULL, 1, 0, 1, 0 },
			{ "/gone/renamed", NULL, 0, 0, 1, 0 },
			{ "/gone/q", NULL, 2, 0, 0, 91 },
			/* the same name, or build-id, decides between several */
			{ "/gone/q", "/gone/o", 0, 0, 1, 0 },
			{ "/gone/renamed", "/gone/o", 1, 0, 1, 0 },
			{ "/gone/renamed", "/gone/o", 0, 0, 0, 102 },
			/* a page beside the place where it was */
			{ "/gone/q", NULL, 1, 0x1000, 0, 102 },
		};

		imgfix_setup((void **)&f);
		map_file(f, v[i].recorded, v[i].id == 2 ? wrong : id, v[i].id ? 20 : 0);
		if (v[i].other)
			map_file_of(f, 10, v[i].other, NULL, 0);
		assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("q"),
					       0x7f1200000000 + v[i].shift, NULL), 0);
		expect_name(f, twice, v[i].found ? "twice" : NULL);
		assert_int_equal(noted(f, 91), v[i].note == 91);
		assert_int_equal(noted(f, 102), v[i].note == 102);
		imgfix_teardown((void **)&f);
	}
	/* what was in use before stays; where nothing was recorded there is nothing to say */
	imgfix_setup((void **)&f);
	map_file(f, "/gone/q", id, 20);
	expect_name(f, twice, NULL);
	assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("q"), 0x7f1200000000, NULL), 0);
	expect_name(f, twice, NULL);
	assert_true(noted(f, 102));
	imgfix_teardown((void **)&f);
	imgfix_setup((void **)&f);
	assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("q"), 0x7f1200000000, NULL), 0);
	expect_name(f, twice, "twice");
	assert_false(noted(f, 102));
	imgfix_teardown((void **)&f);
}

/* Symbols of a stripped file from its debug file, by link and by build-id. */
static void debug_files(void **state)
{
	static const char *const how[] = {
		"objcopy --add-gnu-debuglink=q.debug q.stripped q2",
		"mkdir -p .debug && mv q.debug .debug/ && "
		"objcopy --add-gnu-debuglink=.debug/q.debug q.stripped q2",
		"cp q.stripped q2; b=$(readelf -n q | sed -n 's/.*Build ID: //p'); "
		"d=root/usr/lib/debug/.build-id/${b%${b#??}}; mkdir -p $d && "
		"mv q.debug $d/${b#??}.debug",
		"cp q.stripped q2; d=cache/$(readelf -n q | sed -n 's/.*Build ID: //p'); "
		"mkdir -p $d && mv q.debug $d/debuginfo",
	};
	char root[100], cache[100];
	struct hwt_open_opts o = { .sysroot = root, .debuginfod_cache = cache };
	uint64_t helper;
	struct fix *f;

	snprintf(root, sizeof(root), "%s", scratch("root"));
	snprintf(cache, sizeof(cache), "%s", scratch("cache"));
	scratch_write("q.c", scratch_source, strlen(scratch_source));
	for (unsigned i = 0; i < 8; i++) {
		/* a link alone must do for files without build-id */
		if (i >= 4 && i < 6)
			scratch_sh("gcc -O1 -g -pie -Wl,--build-id=none -o q q.c");
		else if (i < 4)
			scratch_sh("gcc -O1 -g -pie -Wl,--build-id=sha1 -o q q.c");
		else
			break;
		helper = scratch_nm("q", "helper");
		scratch_sh("rm -rf root cache .debug q2 q.debug; mkdir root cache; "
			   "objcopy --only-keep-debug q q.debug && strip -o q.stripped q");
		scratch_sh(how[i % 4]);
		imgfix_setup((void **)&f);
		assert_int_equal(image_set_opts(f->img, &o), 0);
		map_file(f, scratch("q2"), NULL, 0);
		expect_name(f, helper, "helper");
		imgfix_teardown((void **)&f);
	}
	/* the debug file of another build: its CRC differs */
	scratch_sh("rm -rf root cache .debug; objcopy --only-keep-debug q q.debug && "
		   "objcopy --add-gnu-debuglink=q.debug q.stripped q2 && printf x >> q.debug");
	imgfix_setup((void **)&f);
	map_file(f, scratch("q2"), NULL, 0);
	expect_name(f, helper, NULL);
	imgfix_teardown((void **)&f);
}

/* A part of the file from its text on, as a debugger saves memory; it is run at @at. */
static void dump_file(struct fix *f, const char *name, uint64_t at, uint64_t *bias)
{
	unsigned long long off, addr, size;
	struct hwt_map m = { .path = scratch(name), .pid = HWT_NONE, .raw = 1 };

	scratch_text("q", &off, &addr, &size);
	m.addr = at;
	m.file_off = off + 16;
	m.size = size - 16;
	assert_int_equal(image_add_map(f->img, &m), 0);
	*bias = at - (addr + 16);
}

/* Dumps that are parts of ELF files: bytes by file offset, names and lines by segment. */
static void dumps(void **state)
{
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	uint64_t twice, main_, bias, func, found[4][2];
	struct hwt_symbol s;
	struct hwt_line l;
	struct hwt_map m;
	uint8_t id[20], a[4], b[4];
	struct fix *f;

	scratch_write("q.c", scratch_source, strlen(scratch_source));
	scratch_sh("gcc -O1 -g -pie -Wl,--build-id=sha1 -o q q.c && strip -o stripped q && "
		   "gcc -O1 -g -c -o q.o q.c && tr '\\177' x <q >plain");
	twice = scratch_nm("q", "twice");
	main_ = scratch_nm("q", "main");
	assert_int_equal(gnu_id("q", id), 20);
	imgfix_setup((void **)&f);
	dump_file(f, "q", 0x70000010, &bias);
	assert_int_equal(hwt_image_symbol(f->img, &w, bias + main_ + 1, &s), 1);
	assert_string_equal(s.name, "main");
	assert_int_equal(s.start, bias + main_);
	assert_int_equal(hwt_image_lines(f->img, &w, bias + main_, &l, 1), 1);
	assert_string_equal(l.func, "main");
	assert_int_equal(image_entry(f->img, &w, bias + main_, &func), 1);
	assert_int_equal(image_entry(f->img, &w, bias + main_ + 1, &func), 0);
	assert_int_equal(func, bias + main_);
	assert_int_equal(hwt_image_find(f->img, "main", found, 4), 1);
	assert_int_equal(found[0][0], bias + main_);
	assert_int_equal(hwt_image_map_at(f->img, 0, &m), 1);
	assert_int_equal(m.build_id_size, 20);
	assert_memory_equal(m.build_id, id, 20);
	assert_int_equal(hwt_image_read(f->img, &w, bias + twice, a, 4), 4);
	imgfix_teardown((void **)&f);
	/* names of a dump without them, from the file of the same build that the user gives */
	imgfix_setup((void **)&f);
	assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("q"), HWT_NO_ADDR, NULL), 0);
	dump_file(f, "stripped", 0x70000010, &bias);
	assert_int_equal(hwt_image_symbol(f->img, &w, bias + main_, &s), 1);
	assert_string_equal(s.name, "main");
	imgfix_teardown((void **)&f);
	/* bytes are served whatever the file is; a relocatable one's sections are nowhere */
	imgfix_setup((void **)&f);
	dump_file(f, "plain", 0x70000010, &bias);
	assert_int_equal(hwt_image_read(f->img, &w, bias + twice, b, 4), 4);
	assert_memory_equal(a, b, 4);
	assert_int_equal(hwt_image_symbol(f->img, &w, bias + twice, &s), 0);
	/* names for the same place from the user's file */
	assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("q"), bias, NULL), 0);
	assert_int_equal(hwt_image_symbol(f->img, &w, bias + main_, &s), 1);
	assert_string_equal(s.name, "main");
	m = (struct hwt_map){ .path = scratch("q.o"), .pid = HWT_NONE, .raw = 1, .addr = 0x1000,
			      .size = 64 };
	assert_int_equal(image_add_map(f->img, &m), 0);
	assert_int_equal(hwt_image_read(f->img, &w, 0x1001, b, 3), 3);
	assert_memory_equal(b, "ELF", 3);
	assert_int_equal(hwt_image_symbol(f->img, &w, 0x1001, &s), 0);
	assert_int_equal(f->ns.n, 0);
	imgfix_teardown((void **)&f);
}

/* What is no regular file is not even opened: this test would hang. */
static void no_regular_file(void **state)
{
	static const char *const names[] = { "fifo", "folder" };
	struct fix *f = *state;
	struct hwt_where w = { .pid = 1, .time = 0 };
	struct hwt_map m = { .addr = 0x1000, .size = 0x1000, .pid = 1 };
	uint8_t b;

	scratch_sh("mkfifo fifo && mkdir folder");
	for (unsigned i = 0; i < 2; i++) {
		m.path = scratch(names[i]);
		assert_int_equal(image_add_map(f->img, &m), 0);
		assert_int_equal(hwt_image_read(f->img, &w, 0x1000, &b, 1), 0);
		assert_int_equal(f->ns.n, i + 1);
		assert_int_equal(f->ns.v[i].diag.id, 93);
		assert_int_not_equal(image_add_elf(f->img, 1, m.path, 0, &f->diag), 0);
	}
	m.path = "/dev/zero";
	assert_int_equal(image_add_map(f->img, &m), 0);
	assert_int_equal(hwt_image_read(f->img, &w, 0x1000, &b, 1), 0);
	assert_int_equal(f->ns.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(search_order),
		cmocka_unit_test(lines),
		cmocka_unit_test(offered),
		cmocka_unit_test(placed),
		cmocka_unit_test(debug_files),
		cmocka_unit_test(dumps),
		cmocka_unit_test_setup_teardown(no_regular_file, imgfix_setup, imgfix_teardown),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
