/* SPDX-License-Identifier: BSD-2-Clause */
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char dir[64];

int scratch_make(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/hwt-test-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

int scratch_drop(void **state)
{
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

const char *scratch(const char *name)
{
	static char path[4][200];
	static unsigned k;

	k = (k + 1) % 4;
	snprintf(path[k], sizeof(path[k]), "%s/%s", dir, name);
	return path[k];
}

void scratch_sh(const char *cmd)
{
	char buf[2000];

	snprintf(buf, sizeof(buf), "cd %s && { %s; } 2>/dev/null", dir, cmd);
	if (system(buf)) {
		print_message("can not run: %s\n", cmd);
		skip();
	}
}

void scratch_write(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(scratch(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

void scratch_text(const char *file, unsigned long long *off, unsigned long long *addr,
		  unsigned long long *size)
{
	char cmd[300], line[600];
	FILE *p;

	snprintf(cmd, sizeof(cmd), "readelf -lW %s", scratch(file));
	p = popen(cmd, "r");
	assert_non_null(p);
	*size = 0;
	while (fgets(line, sizeof(line), p))
		if (strstr(line, "R E "))
			sscanf(line, " LOAD %llx %llx %*x %llx", off, addr, size);
	pclose(p);
	assert_true(*size);
}

uint64_t scratch_nm(const char *file, const char *name)
{
	unsigned long long addr = 0;
	char cmd[300];
	FILE *p;

	snprintf(cmd, sizeof(cmd), "nm %s | grep ' %s$'", scratch(file), name);
	p = popen(cmd, "r");
	assert_non_null(p);
	assert_int_equal(fscanf(p, "%llx", &addr), 1);
	pclose(p);
	return addr;
}

const char scratch_source[] =
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
