/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files: damaged ones as bytes, with the outcome that the format demands, and sound ones made
 * by compilers, with binutils (nm, readelf, objdump, objcopy) as the other opinion.
 */
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

static void put(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

struct seg { uint64_t off, addr, filesz, memsz, align; };

/* A 64-bit x86 file with its program headers at 64. */
static void tiny(uint8_t *b, const struct seg *v, unsigned n)
{
	static const uint8_t head[] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };

	memcpy(b, head, sizeof(head));
	put(b + 16, 3, 2);		/* ET_DYN */
	put(b + 18, 62, 2);
	put(b + 20, 1, 4);
	put(b + 24, 0x1000, 8);
	put(b + 32, 64, 8);
	put(b + 52, 64, 2);
	put(b + 54, 56, 2);
	put(b + 56, n, 2);
	put(b + 58, 64, 2);
	for (unsigned i = 0; i < n; i++) {
		uint8_t *p = b + 64 + 56 * i;

		put(p, 1, 4);
		put(p + 4, 5, 4);
		put(p + 8, v[i].off, 8);
		put(p + 16, v[i].addr, 8);
		put(p + 32, v[i].filesz, 8);
		put(p + 40, v[i].memsz, 8);
		put(p + 48, v[i].align, 8);
	}
}

static int add(struct fix *f, const void *p, size_t n)
{
	scratch_write("x", p, n);
	memset(&f->diag, 0, sizeof(f->diag));
	return image_add_elf(f->img, HWT_NONE, scratch("x"), HWT_NO_ADDR, &f->diag);
}

static int byte_at(struct fix *f, uint64_t addr)
{
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	uint8_t b;

	return hwt_image_read(f->img, &w, addr, &b, 1) == 1 ? b : -1;
}

static void expect_fault(const void *p, size_t n, unsigned id, const char *words)
{
	struct hwt_map m;
	struct fix *f;

	imgfix_setup((void **)&f);
	assert_int_equal(add(f, p, n), -HWT_E_FORMAT);
	assert_int_equal(f->diag.id, id);
	assert_non_null(strstr(f->diag.text, words));
	assert_int_equal(hwt_image_map_at(f->img, 0, &m), 0);
	assert_int_equal(byte_at(f, 0), -1);
	assert_int_equal(f->ns.n, 0);
	imgfix_teardown((void **)&f);
}

static void bad_segments(void **state)
{
	const struct { struct seg s; const char *words; } v[] = {
		{ { 0, 0, 1ull << 63, 1ull << 63, 0x1000 }, "beyond the end of the file" },
		{ { UINT64_MAX - 15, 0, 64, 64, 0x1000 }, "offset and size of a segment wrap" },
		{ { 0, UINT64_MAX - 31, 64, 64, 0x1000 }, "address and size of a segment wrap" },
		{ { 0, 0, 0x1000, 0x10, 0x1000 }, "more bytes in the file than in memory" },
		{ { 60, 0, 61, 61, 0 }, "beyond the end of the file" },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		uint8_t b[0x1078] = { 0 };

		tiny(b, &v[i].s, 1);
		expect_fault(b, v[i].s.filesz == 0x1000 ? sizeof(b) : 120, 92, v[i].words);
	}
}

static void bad_headers(void **state)
{
	const struct seg s = { 0, 0, 64, 64, 0x1000 };
	uint8_t b[120] = { 0 };

	tiny(b, &s, 1);
	expect_fault(b, 70, 4, "truncated at 70");
	expect_fault(b, 40, 4, "truncated at 40");
	expect_fault(b, 3, 90, "not an ELF file");
	expect_fault(b, 0, 90, "not an ELF file");
	put(b + 56, 0xffff, 2);		/* PN_XNUM without section 0 */
	expect_fault(b, 120, 92, "number of program headers");
	put(b + 40, UINT64_MAX - 7, 8);
	expect_fault(b, 120, 92, "number of program headers");
	put(b + 40, 0, 8);
	put(b + 56, 1, 2);
	put(b + 54, 1, 2);
	expect_fault(b, 120, 92, "program headers of 1 bytes");
	put(b + 54, 56, 2);
	put(b + 32, UINT64_MAX - 8, 8);
	expect_fault(b, 120, 4, "truncated");
	put(b + 32, 64, 8);
	b[4] = 3;
	expect_fault(b, 120, 90, "class 3");
}

static void odd_alignment(void **state)
{
	static const uint64_t align[] = { 0, 1, 3 };

	for (unsigned i = 0; i < 3; i++) {
		const struct seg s = { 0, 0x4000, 64, 64, align[i] };
		uint8_t b[120] = { 0 };
		struct fix *f;

		imgfix_setup((void **)&f);
		tiny(b, &s, 1);
		assert_int_equal(add(f, b, 120), 0);
		assert_int_equal(byte_at(f, 0x4000), 0x7f);
		assert_int_equal(byte_at(f, 0x403f), 0);
		assert_int_equal(byte_at(f, 0x4040), -1);
		assert_int_equal(f->ns.n, align[i] == 3);
		if (f->ns.n)
			assert_int_equal(f->ns.v[0].diag.id, 96);
		imgfix_teardown((void **)&f);
	}
}

/* Offset and address do not agree: noted, and served by exact offset. */
static void unaligned(void **state)
{
	struct fix *f = *state;
	const struct seg s = { 0x123, 0x401234, 64, 64, 0x1000 };
	uint8_t b[632] = { 0 };

	tiny(b, &s, 1);
	for (unsigned i = 120; i < sizeof(b); i++)
		b[i] = (uint8_t)(i * 3);
	assert_int_equal(add(f, b, sizeof(b)), 0);
	assert_int_equal(byte_at(f, 0x401233), -1);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(byte_at(f, 0x401234 + i), (uint8_t)((0x123 + i) * 3));
	assert_int_equal(byte_at(f, 0x401274), -1);
	assert_int_equal(f->ns.n, 1);
	assert_int_equal(f->ns.v[0].diag.id, 96);
}

/* The later segment is used where two overlap. */
static void overlap(void **state)
{
	struct fix *f = *state;
	const struct seg v[] = { { 0x200, 0x1000, 0x1000, 0x1000, 0 },
				 { 0x200, 0x1800, 0x1000, 0x1000, 0 } };
	uint8_t b[5296] = { 0 };

	tiny(b, v, 2);
	for (unsigned i = 0x200; i < sizeof(b); i++)
		b[i] = (uint8_t)(i / 16);
	assert_int_equal(add(f, b, sizeof(b)), 0);
	assert_int_equal(f->ns.n, 1);
	assert_int_equal(f->ns.v[0].diag.id, 95);
	assert_int_equal(byte_at(f, 0x17ff), b[0x200 + 0x7ff]);
	assert_int_equal(byte_at(f, 0x1800), b[0x200]);
	assert_int_equal(byte_at(f, 0x27ff), b[0x200 + 0xfff]);
	assert_int_equal(byte_at(f, 0x2800), -1);
}

static void bad_sections(void **state)
{
	struct fix *f = *state;
	const struct seg s = { 0, 0, 64, 64, 0x1000 };
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	struct hwt_symbol sym;
	uint8_t b[120] = { 0 };

	tiny(b, &s, 1);
	put(b + 40, 64, 8);
	put(b + 60, 0xff00, 2);
	assert_int_equal(add(f, b, 120), 0);
	assert_int_equal(f->ns.n, 1);
	assert_int_equal(f->ns.v[0].diag.id, 100);
	assert_int_equal(byte_at(f, 1), 'E');
	assert_int_equal(hwt_image_symbol(f->img, &w, 0, &sym), 0);
}

/* .bss reads as zero up to the memory size; a load address moves the lowest segment there. */
static void bss_and_base(void **state)
{
	struct fix *f = *state;
	const struct seg v[] = { { 0x200, 0x5000, 16, 16, 0 }, { 0x180, 0x3000, 8, 0x900, 0 } };
	uint8_t b[0x300] = { 0 };

	tiny(b, v, 2);
	memset(b + 0x180, 'd', 8);
	memset(b + 0x200, 'c', 16);
	scratch_write("y", b, sizeof(b));
	assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("y"), 0x7f0000003000, NULL), 0);
	assert_int_equal(byte_at(f, 0x7f0000003007), 'd');
	assert_int_equal(byte_at(f, 0x7f0000003008), 0);
	assert_int_equal(byte_at(f, 0x7f00000038ff), 0);
	assert_int_equal(byte_at(f, 0x7f0000003900), -1);
	assert_int_equal(byte_at(f, 0x7f0000005000), 'c');
	assert_int_equal(byte_at(f, 0x7f000000500f), 'c');
	assert_int_equal(byte_at(f, 0x5000), -1);
	/* no room for it */
	assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("y"), UINT64_MAX - 0x1000,
				       &f->diag), -22);
	assert_int_equal(f->diag.id, 101);
}

/* Every code symbol of nm is found with its size; the name is one that nm knows there. */
static unsigned against_nm(struct fix *f, const char *file, uint64_t bias)
{
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	unsigned long long code_off, code, code_size;
	char cmd[300], line[600];
	unsigned n = 0;
	FILE *p;

	scratch_text(file, &code_off, &code, &code_size);
	snprintf(cmd, sizeof(cmd), "nm -S --defined-only %s", scratch(file));
	p = popen(cmd, "r");
	assert_non_null(p);
	while (fgets(line, sizeof(line), p)) {
		unsigned long long addr, size = 0;
		char type, name[500];
		struct hwt_symbol s;
		uint64_t func;

		if (sscanf(line, "%llx %llx %c %499s", &addr, &size, &type, name) != 4) {
			size = 0;
			if (sscanf(line, "%llx %c %499s", &addr, &type, name) != 3)
				continue;
		}
		if (!strchr("TtWi", type) || (type == 't' && !size) || addr - code >= code_size)
			continue;
		memset(&s, 0, sizeof(s));
		if (!hwt_image_symbol(f->img, &w, addr + bias, &s))
			fail_msg("%s: %s at 0x%llx is not found", file, name, addr);
		assert_int_equal(s.start, addr + bias);
		if (size)
			assert_int_equal(s.size, size);
		assert_int_equal(image_entry(f->img, &w, addr + bias, &func),
				 !strstr(name, ".cold"));
		assert_int_equal(func, addr + bias);
		if (size > 1) {
			assert_int_equal(image_entry(f->img, &w, addr + bias + 1, &func), 0);
			assert_int_equal(func, addr + bias);
			assert_int_equal(image_entry(f->img, &w, addr + bias + size - 1, &func), 0);
			assert_int_equal(func, addr + bias);
		}
		n++;
	}
	pclose(p);
	return n;
}

/* Bytes of all segments that readelf lists, from the file itself. */
static unsigned against_readelf(struct fix *f, const char *file, uint64_t bias)
{
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	char cmd[300], line[600];
	unsigned n = 0;
	FILE *p, *e = fopen(scratch(file), "rb");

	snprintf(cmd, sizeof(cmd), "readelf -lW %s", scratch(file));
	p = popen(cmd, "r");
	assert_non_null(p);
	assert_non_null(e);
	while (fgets(line, sizeof(line), p)) {
		unsigned long long off, addr, filesz, memsz;
		uint8_t *a, *b;

		if (sscanf(line, " LOAD %llx %llx %*x %llx %llx", &off, &addr, &filesz,
			   &memsz) != 4)
			continue;
		a = calloc(1, memsz + 1);
		b = calloc(1, memsz + 1);
		assert_int_equal(fseek(e, (long)off, SEEK_SET), 0);
		assert_int_equal(fread(a, 1, filesz, e), filesz);
		assert_int_equal(hwt_image_read(f->img, &w, addr + bias, b, memsz), memsz);
		assert_memory_equal(a, b, memsz);
		free(a);
		free(b);
		n++;
	}
	pclose(p);
	fclose(e);
	return n;
}

/* "ADDRESS <name@plt>:" of objdump. */
static unsigned against_plt(struct fix *f, const char *objdump, const char *file, uint64_t bias)
{
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	char cmd[300], line[600];
	unsigned n = 0;
	FILE *p;

	snprintf(cmd, sizeof(cmd), "%s -d -j .plt -j .plt.sec %s", objdump, scratch(file));
	p = popen(cmd, "r");
	assert_non_null(p);
	while (fgets(line, sizeof(line), p)) {
		unsigned long long addr;
		char name[500];
		struct hwt_symbol s;

		if (sscanf(line, "%llx <%499[^>]>:", &addr, name) != 2 || !strstr(name, "@plt") ||
		    name[0] == '*' || strchr(name, '-'))
			continue;
		memset(&s, 0, sizeof(s));
		assert_int_equal(hwt_image_symbol(f->img, &w, addr + bias, &s), 1);
		assert_string_equal(s.name, name);
		n++;
	}
	pclose(p);
	return n;
}

#define A64 "aarch64-linux-gnu-gcc -shared -nostdlib -o libd.so d.c && " \
	"aarch64-linux-gnu-gcc -O1 -nostdlib -L. -e main "

static void compiled(void **state)
{
	static const char lib[] = "int puts(const char *s) { return *s; }\n"
		"int atexit(void (*f)(void)) { f(); return 0; }\n";
	static const struct { const char *cc, *objdump; unsigned plts; } v[] = {
		{ "gcc -O1 -pie", "objdump", 0 },
		{ "gcc -O1 -pie -fcf-protection -Wl,-z,lazy", "objdump", 1 },
		{ "gcc -O1 -no-pie -Wl,-z,lazy", "objdump", 1 },
		{ "gcc -O0 -static", "objdump", 0 },
		/* there is no C library for it: a shared object of our own has the functions */
		{ A64 "-pie -Wl,-z,lazy", "aarch64-linux-gnu-objdump", 2 },
		{ A64 "-pie -mbranch-protection=standard -Wl,-z,force-bti",
		  "aarch64-linux-gnu-objdump", 2 },
		{ A64 "-no-pie", "aarch64-linux-gnu-objdump", 2 },
	};
	char cmd[300];

	scratch_write("p.c", scratch_source, strlen(scratch_source));
	scratch_write("d.c", lib, sizeof(lib) - 1);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
		bool fixed = strstr(v[i].cc, "-static") || strstr(v[i].cc, "-no-pie");
		uint64_t bias = fixed ? 0 : 0x555500000000, r[4][2];
		struct hwt_symbol s;
		struct fix *f;

		snprintf(cmd, sizeof(cmd), "%s -g -o p p.c -Wl,--as-needed %s", v[i].cc,
			 i >= 4 ? "-ld" : "");
		scratch_sh(cmd);
		imgfix_setup((void **)&f);
		assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("p"),
					       fixed ? HWT_NO_ADDR : bias, NULL), 0);
		assert_true(against_nm(f, "p", bias) >= 6);
		assert_true(against_readelf(f, "p", bias) >= 2);
		assert_true(against_plt(f, v[i].objdump, "p", bias) >= v[i].plts);
		/* the rule for aliases: global before weak, fewer underscores */
		assert_int_equal(hwt_image_find(f->img, "twice", r, 4), 1);
		assert_int_equal(hwt_image_symbol(f->img, &w, r[0][0] + 2, &s), 1);
		assert_string_equal(s.name, "twice");
		assert_int_equal(hwt_image_find(f->img, "__twice", NULL, 0), 0);
		/* a label inside a function is none */
		assert_int_equal(hwt_image_find(f->img, "inner", NULL, 0), 0);
		assert_int_equal(hwt_image_find(f->img, "label", NULL, 0), 1);
		assert_int_equal(hwt_image_find(f->img, "$x", NULL, 0), 0);
		imgfix_teardown((void **)&f);
	}
}

/* A part of a function that the compiler moved away is entered by a jump and is no function. */
static void cold_part(void **state)
{
	static const char text[] = "__attribute__((cold, noinline)) int bad(int a) { "
		"__asm__ volatile(\"\"); return a; }\n"
		"int f(int a) { if (__builtin_expect(a == 7, 0)) return bad(a) * 3; return a; }\n"
		"int main(int n, char **v) { return f(n); }\n";
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	struct fix *f = *state;
	uint64_t r[2][2], func;

	scratch_write("cold.c", text, sizeof(text) - 1);
	scratch_sh("gcc -O2 -no-pie -o cold cold.c && nm cold | grep -q ' f.cold$'");
	assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("cold"), HWT_NO_ADDR, NULL), 0);
	assert_int_equal(hwt_image_find(f->img, "f.cold", r, 2), 1);
	assert_int_equal(image_entry(f->img, &w, r[0][0], &func), 0);
	assert_int_equal(func, r[0][0]);
	assert_int_equal(hwt_image_find(f->img, "f", r, 2), 1);
	assert_int_equal(image_entry(f->img, &w, r[0][0], &func), 1);
}

/* 32 bits, and the other byte order. */
static void other_classes(void **state)
{
	static const char small[] = "int f(int a) { return a + 1; }\n"
		"int _start(void) { return f(3); }\n";
	static const char *const how[] = {
		"gcc -m32 -fno-pic -ffreestanding -c s.c && ld -m elf_i386 s.o -o s",
		"clang --target=aarch64_be-linux-gnu -ffreestanding -c s.c && "
		"aarch64-linux-gnu-ld -EB -maarch64linuxb s.o -o s",
	};

	scratch_write("s.c", small, sizeof(small) - 1);
	for (size_t i = 0; i < 2; i++) {
		struct fix *f;

		scratch_sh(how[i]);
		imgfix_setup((void **)&f);
		assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("s"), HWT_NO_ADDR,
					       NULL), 0);
		assert_int_equal(against_nm(f, "s", 0), 2);
		assert_true(against_readelf(f, "s", 0) >= 1);
		imgfix_teardown((void **)&f);
	}
}

/* Bit 0 of a Thumb function is no part of its address; $t and $d are no names. */
static void thumb(void **state)
{
	static const char small[] = "int f(int a) { return a + 1; }\n"
		"int _start(void) { return f(0x12345678); }\n";
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	struct fix *f = *state;
	unsigned long long addr;
	unsigned size;
	struct hwt_symbol s;
	char cmd[200];
	FILE *p;

	scratch_write("t.c", small, sizeof(small) - 1);
	scratch_sh("clang --target=armv7-linux-gnueabi -mthumb -ffreestanding -c t.c && "
	   "ld.lld -m armelf_linux_eabi t.o -o t");
	snprintf(cmd, sizeof(cmd), "readelf -sW %s | grep 'FUNC.* f$'", scratch("t"));
	p = popen(cmd, "r");
	assert_non_null(p);
	assert_int_equal(fscanf(p, "%*u: %llx %u", &addr, &size), 2);
	pclose(p);
	assert_int_equal(addr & 1, 1);
	assert_int_equal(image_add_elf(f->img, HWT_NONE, scratch("t"), HWT_NO_ADDR, NULL), 0);
	assert_int_equal(hwt_image_symbol(f->img, &w, addr - 1, &s), 1);
	assert_string_equal(s.name, "f");
	assert_int_equal(s.start, addr - 1);
	assert_int_equal(s.size, size);
	assert_int_equal(hwt_image_symbol(f->img, &w, addr - 1 + size - 1, &s), 1);
	assert_string_equal(s.name, "f");
	assert_int_equal(hwt_image_find(f->img, "*", NULL, 0), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_segments),
		cmocka_unit_test(bad_headers),
		cmocka_unit_test(odd_alignment),
		cmocka_unit_test_setup_teardown(unaligned, imgfix_setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(overlap, imgfix_setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(bad_sections, imgfix_setup, imgfix_teardown),
		cmocka_unit_test_setup_teardown(bss_and_base, imgfix_setup, imgfix_teardown),
		cmocka_unit_test(compiled),
		cmocka_unit_test_setup_teardown(cold_part, imgfix_setup, imgfix_teardown),
		cmocka_unit_test(other_classes),
		cmocka_unit_test_setup_teardown(thumb, imgfix_setup, imgfix_teardown),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
