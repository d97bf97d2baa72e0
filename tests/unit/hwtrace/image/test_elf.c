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
#include <unistd.h>

#include <cmocka.h>

#include "../../../../hwtrace/image/image.h"

static char dir[64];

struct fix {
	struct notes ns;
	struct hwt_image *img;
	struct hwt_diag diag;
};

static int make_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/hwt-elf-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	*state = f;
	return image_new(&f->img, &f->ns);
}

static int teardown(void **state)
{
	struct fix *f = *state;

	image_free(f->img);
	notes_free(&f->ns);
	free(f);
	return 0;
}

static const char *in_dir(const char *name)
{
	static char path[4][200];
	static unsigned k;

	k = (k + 1) % 4;
	snprintf(path[k], sizeof(path[k]), "%s/%s", dir, name);
	return path[k];
}

/* A shell command in the scratch folder; the test is skipped if it can not run. */
static void sh(const char *cmd)
{
	char buf[2000];

	snprintf(buf, sizeof(buf), "cd %s && { %s; } 2>/dev/null", dir, cmd);
	if (system(buf)) {
		print_message("can not run: %s\n", cmd);
		skip();
	}
}

static void write_file(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(in_dir(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

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
	write_file("x", p, n);
	memset(&f->diag, 0, sizeof(f->diag));
	return image_add_elf(f->img, HWT_NONE, in_dir("x"), HWT_NO_ADDR, &f->diag);
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

	setup((void **)&f);
	assert_int_equal(add(f, p, n), -HWT_E_FORMAT);
	assert_int_equal(f->diag.id, id);
	assert_non_null(strstr(f->diag.text, words));
	assert_int_equal(hwt_image_map_at(f->img, 0, &m), 0);
	assert_int_equal(byte_at(f, 0), -1);
	assert_int_equal(f->ns.n, 0);
	teardown((void **)&f);
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

		setup((void **)&f);
		tiny(b, &s, 1);
		assert_int_equal(add(f, b, 120), 0);
		assert_int_equal(byte_at(f, 0x4000), 0x7f);
		assert_int_equal(byte_at(f, 0x403f), 0);
		assert_int_equal(byte_at(f, 0x4040), -1);
		assert_int_equal(f->ns.n, align[i] == 3);
		if (f->ns.n)
			assert_int_equal(f->ns.v[0].diag.id, 96);
		teardown((void **)&f);
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
	write_file("y", b, sizeof(b));
	assert_int_equal(image_add_elf(f->img, HWT_NONE, in_dir("y"), 0x7f0000003000, NULL), 0);
	assert_int_equal(byte_at(f, 0x7f0000003007), 'd');
	assert_int_equal(byte_at(f, 0x7f0000003008), 0);
	assert_int_equal(byte_at(f, 0x7f00000038ff), 0);
	assert_int_equal(byte_at(f, 0x7f0000003900), -1);
	assert_int_equal(byte_at(f, 0x7f0000005000), 'c');
	assert_int_equal(byte_at(f, 0x7f000000500f), 'c');
	assert_int_equal(byte_at(f, 0x5000), -1);
	/* no room for it */
	assert_int_equal(image_add_elf(f->img, HWT_NONE, in_dir("y"), UINT64_MAX - 0x1000,
				       &f->diag), -22);
	assert_int_equal(f->diag.id, 101);
}

static const char source[] =
	"extern int puts(const char *); extern int atexit(void (*)(void));\n"
	"static __attribute__((noinline)) int helper(int a) { return a * 3 + puts(\"x\"); }\n"
	"int twice(int a) { return helper(a) * 2; }\n"
	"int __twice(int) __attribute__((alias(\"twice\")));\n"
	"int atwice(int) __attribute__((weak, alias(\"twice\")));\n"
	"static void done(void) { puts(\"y\"); }\n"
	"char room[5000]; int data = 7;\n"
	"__attribute__((weak)) int maybe(void) { return data; }\n"
	"int main(void) { atexit(done); return twice(room[3]) + maybe(); }\n"
	"__asm__(\".text; .globl label; label: nop; inner: nop; .previous\");\n";

/* The executable segment that readelf lists; @off its place in the file. */
static void exec_segment(const char *file, unsigned long long *off, unsigned long long *addr,
			 unsigned long long *size)
{
	char cmd[300], line[600];
	FILE *p;

	snprintf(cmd, sizeof(cmd), "readelf -lW %s", in_dir(file));
	p = popen(cmd, "r");
	assert_non_null(p);
	*size = 0;
	while (fgets(line, sizeof(line), p))
		if (strstr(line, "R E "))
			sscanf(line, " LOAD %llx %llx %*x %llx", off, addr, size);
	pclose(p);
	assert_true(*size);
}

/* Every code symbol of nm is found with its size; the name is one that nm knows there. */
static unsigned against_nm(struct fix *f, const char *file, uint64_t bias)
{
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	unsigned long long code_off, code, code_size;
	char cmd[300], line[600];
	unsigned n = 0;
	FILE *p;

	exec_segment(file, &code_off, &code, &code_size);
	snprintf(cmd, sizeof(cmd), "nm -S --defined-only %s", in_dir(file));
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
	FILE *p, *e = fopen(in_dir(file), "rb");

	snprintf(cmd, sizeof(cmd), "readelf -lW %s", in_dir(file));
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

	snprintf(cmd, sizeof(cmd), "%s -d -j .plt -j .plt.sec %s", objdump, in_dir(file));
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

	write_file("p.c", source, sizeof(source) - 1);
	write_file("d.c", lib, sizeof(lib) - 1);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
		bool fixed = strstr(v[i].cc, "-static") || strstr(v[i].cc, "-no-pie");
		uint64_t bias = fixed ? 0 : 0x555500000000, r[4][2];
		struct hwt_symbol s;
		struct fix *f;

		snprintf(cmd, sizeof(cmd), "%s -g -o p p.c -Wl,--as-needed %s", v[i].cc,
			 i >= 4 ? "-ld" : "");
		sh(cmd);
		setup((void **)&f);
		assert_int_equal(image_add_elf(f->img, HWT_NONE, in_dir("p"),
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
		teardown((void **)&f);
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

	write_file("cold.c", text, sizeof(text) - 1);
	sh("gcc -O2 -no-pie -o cold cold.c && nm cold | grep -q ' f.cold$'");
	assert_int_equal(image_add_elf(f->img, HWT_NONE, in_dir("cold"), HWT_NO_ADDR, NULL), 0);
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

	write_file("s.c", small, sizeof(small) - 1);
	for (size_t i = 0; i < 2; i++) {
		struct fix *f;

		sh(how[i]);
		setup((void **)&f);
		assert_int_equal(image_add_elf(f->img, HWT_NONE, in_dir("s"), HWT_NO_ADDR,
					       NULL), 0);
		assert_int_equal(against_nm(f, "s", 0), 2);
		assert_true(against_readelf(f, "s", 0) >= 1);
		teardown((void **)&f);
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

	write_file("t.c", small, sizeof(small) - 1);
	sh("clang --target=armv7-linux-gnueabi -mthumb -ffreestanding -c t.c && "
	   "ld.lld -m armelf_linux_eabi t.o -o t");
	snprintf(cmd, sizeof(cmd), "readelf -sW %s | grep 'FUNC.* f$'", in_dir("t"));
	p = popen(cmd, "r");
	assert_non_null(p);
	assert_int_equal(fscanf(p, "%*u: %llx %u", &addr, &size), 2);
	pclose(p);
	assert_int_equal(addr & 1, 1);
	assert_int_equal(image_add_elf(f->img, HWT_NONE, in_dir("t"), HWT_NO_ADDR, NULL), 0);
	assert_int_equal(hwt_image_symbol(f->img, &w, addr - 1, &s), 1);
	assert_string_equal(s.name, "f");
	assert_int_equal(s.start, addr - 1);
	assert_int_equal(s.size, size);
	assert_int_equal(hwt_image_symbol(f->img, &w, addr - 1 + size - 1, &s), 1);
	assert_string_equal(s.name, "f");
	assert_int_equal(hwt_image_find(f->img, "*", NULL, 0), 2);
}

/* A map of a file as the kernel makes it, and symbols through file offsets; not stripped or so. */
static void map_file(struct fix *f, const char *path, const uint8_t *id, uint8_t n)
{
	struct hwt_map m = { .path = path, .pid = 9, .build_id_size = n };
	unsigned long long off, addr, size;

	if (n)
		memcpy(m.build_id, id, n);
	exec_segment("q", &off, &addr, &size);
	m.addr = 0x7f1200000000 + addr;
	m.file_off = off;
	m.size = (size + 0xfff) & ~0xfffull;
	assert_int_equal(image_add_map(f->img, &m), 0);
}

static uint64_t nm_addr(const char *file, const char *name)
{
	unsigned long long addr = 0;
	char cmd[300];
	FILE *p;

	snprintf(cmd, sizeof(cmd), "nm %s | grep ' %s$'", in_dir(file), name);
	p = popen(cmd, "r");
	assert_non_null(p);
	assert_int_equal(fscanf(p, "%llx", &addr), 1);
	pclose(p);
	return addr;
}

static size_t gnu_id(const char *file, uint8_t *id)
{
	char cmd[300], hex[100] = "";
	size_t n = 0;
	FILE *p;

	snprintf(cmd, sizeof(cmd), "readelf -n %s | sed -n 's/.*Build ID: //p'", in_dir(file));
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

	snprintf(root, sizeof(root), "%s/root", dir);
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	write_file("q.c", source, sizeof(source) - 1);
	sh("gcc -O1 -g -pie -Wl,--build-id=sha1 -o q q.c");
	twice = nm_addr("q", "twice");
	n = gnu_id("q", id);
	assert_int_equal(n, 20);
	for (size_t i = 0; i < 3; i++) {
		sh("rm -rf root cache");
		sh(places[i]);
		setup((void **)&f);
		assert_int_equal(image_set_opts(f->img, &o), 0);
		map_file(f, "/opt/q", id, 20);
		expect_name(f, twice, "twice");
		assert_int_equal(f->ns.n, 0);
		teardown((void **)&f);
	}
	/* refused, with both ids in the note, then found to be missing */
	setup((void **)&f);
	map_file(f, in_dir("q"), wrong, 20);
	expect_name(f, twice, NULL);
	assert_int_equal(f->ns.n, 2);
	assert_int_equal(f->ns.v[0].diag.id, 91);
	assert_non_null(strstr(f->ns.v[0].diag.text, "recorded build-id 010203"));
	assert_int_equal(f->ns.v[1].diag.id, 93);
	teardown((void **)&f);
	/* the same without build-id: the path is all that is known */
	setup((void **)&f);
	map_file(f, in_dir("q"), NULL, 0);
	expect_name(f, twice, "twice");
	teardown((void **)&f);
	/* told later, before the file is opened */
	setup((void **)&f);
	map_file(f, in_dir("q"), NULL, 0);
	assert_int_equal(image_set_build_id(f->img, in_dir("q"), wrong, 20), 0);
	expect_name(f, twice, NULL);
	teardown((void **)&f);
	/* an unlinked file: what has its name now must prove itself */
	setup((void **)&f);
	map_file(f, in_dir("q (deleted)"), NULL, 0);
	expect_name(f, twice, NULL);
	map_file(f, in_dir("q (deleted)"), id, 20);
	expect_name(f, twice, "twice");
	teardown((void **)&f);
}

/* Lines of a moved file, its debug information inside or beside it, against addr2line. */
static void lines(void **state)
{
	static const char *const names[] = { "helper", "twice", "main", "done" };

	write_file("q.c", source, sizeof(source) - 1);
	sh("gcc -O1 -g -pie -o q q.c");
	for (unsigned split = 0; split < 2; split++) {
		struct hwt_where w = { .pid = 9, .time = HWT_TIME_UNKNOWN };
		struct fix *f;

		if (split)
			sh("rm -f q2; objcopy --only-keep-debug q q.debug && strip -o q2 q && "
			   "objcopy --add-gnu-debuglink=q.debug q2");
		setup((void **)&f);
		map_file(f, in_dir(split ? "q2" : "q"), NULL, 0);
		for (unsigned i = 0; i < 4; i++) {
			uint64_t addr = nm_addr("q", names[i]);
			char cmd[300], func[100] = "", place[300] = "";
			struct hwt_line l = { 0 };
			FILE *p;

			snprintf(cmd, sizeof(cmd), "addr2line -f -e %s 0x%llx", in_dir("q"),
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
		teardown((void **)&f);
	}
}

/* A file of the user's takes the place of a recorded one: by build-id, else by name. */
static void offered(void **state)
{
	uint8_t id[20], wrong[20] = { 1, 2, 3 };
	uint64_t twice;
	struct fix *f;

	write_file("q.c", source, sizeof(source) - 1);
	sh("gcc -O1 -g -pie -Wl,--build-id=sha1 -o q q.c; mkdir -p o; cp q o/vdso64.so");
	twice = nm_addr("q", "twice");
	assert_int_equal(gnu_id("q", id), 20);
	for (unsigned i = 0; i < 6; i++) {
		static const struct { const char *user, *recorded; int id, found; } v[] = {
			{ "q", "/gone/other", 1, 1 }, { "q", "/gone/other", 0, 0 },
			{ "q", "/gone/q", 0, 1 }, { "q", "/gone/q", 2, 0 },
			{ "o/vdso64.so", "[vdso]", 0, 1 }, { "q", "[vdso]", 0, 0 },
		};

		setup((void **)&f);
		assert_int_equal(image_add_elf(f->img, HWT_NONE, in_dir(v[i].user), HWT_NO_ADDR,
					       NULL), 0);
		map_file(f, v[i].recorded, v[i].id == 2 ? wrong : id, v[i].id ? 20 : 0);
		expect_name(f, twice, v[i].found ? "twice" : NULL);
		teardown((void **)&f);
	}
	/* a reader told the build-id before it named the file with its address */
	setup((void **)&f);
	assert_int_equal(image_set_build_id(f->img, in_dir("q"), wrong, 20), 0);
	assert_int_equal(image_add_elf(f->img, 9, in_dir("q"), 0x10000, &f->diag), -HWT_E_FORMAT);
	assert_int_equal(f->diag.id, 91);
	teardown((void **)&f);
	setup((void **)&f);
	assert_int_equal(image_set_build_id(f->img, in_dir("q"), id, 20), 0);
	assert_int_equal(image_add_elf(f->img, 9, in_dir("q"), 0x10000, &f->diag), 0);
	teardown((void **)&f);
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

	snprintf(root, sizeof(root), "%s/root", dir);
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	write_file("q.c", source, sizeof(source) - 1);
	for (unsigned i = 0; i < 8; i++) {
		/* a link alone must do for files without build-id */
		if (i >= 4 && i < 6)
			sh("gcc -O1 -g -pie -Wl,--build-id=none -o q q.c");
		else if (i < 4)
			sh("gcc -O1 -g -pie -Wl,--build-id=sha1 -o q q.c");
		else
			break;
		helper = nm_addr("q", "helper");
		sh("rm -rf root cache .debug q2 q.debug; mkdir root cache; "
		   "objcopy --only-keep-debug q q.debug && strip -o q.stripped q");
		sh(how[i % 4]);
		setup((void **)&f);
		assert_int_equal(image_set_opts(f->img, &o), 0);
		map_file(f, in_dir("q2"), NULL, 0);
		expect_name(f, helper, "helper");
		teardown((void **)&f);
	}
	/* the debug file of another build: its CRC differs */
	sh("rm -rf root cache .debug; objcopy --only-keep-debug q q.debug && "
	   "objcopy --add-gnu-debuglink=q.debug q.stripped q2 && printf x >> q.debug");
	setup((void **)&f);
	map_file(f, in_dir("q2"), NULL, 0);
	expect_name(f, helper, NULL);
	teardown((void **)&f);
}

/* What is no regular file is not even opened: this test would hang. */
static void no_regular_file(void **state)
{
	static const char *const names[] = { "fifo", "folder" };
	struct fix *f = *state;
	struct hwt_where w = { .pid = 1, .time = 0 };
	struct hwt_map m = { .addr = 0x1000, .size = 0x1000, .pid = 1 };
	uint8_t b;

	sh("mkfifo fifo && mkdir folder");
	for (unsigned i = 0; i < 2; i++) {
		m.path = in_dir(names[i]);
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
		cmocka_unit_test(bad_segments),
		cmocka_unit_test(bad_headers),
		cmocka_unit_test(odd_alignment),
		cmocka_unit_test_setup_teardown(unaligned, setup, teardown),
		cmocka_unit_test_setup_teardown(overlap, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_sections, setup, teardown),
		cmocka_unit_test_setup_teardown(bss_and_base, setup, teardown),
		cmocka_unit_test(compiled),
		cmocka_unit_test_setup_teardown(cold_part, setup, teardown),
		cmocka_unit_test(other_classes),
		cmocka_unit_test_setup_teardown(thumb, setup, teardown),
		cmocka_unit_test(search_order),
		cmocka_unit_test(lines),
		cmocka_unit_test(offered),
		cmocka_unit_test(debug_files),
		cmocka_unit_test_setup_teardown(no_regular_file, setup, teardown),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
