/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every allocation of an image's life fails once, one a run. The answers are then errors or
 * nothing, or the right ones: never other bytes or another name.
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

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define CAN_FAIL 1
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
#else
#define CAN_FAIL 0
#endif

static unsigned long count, fail_at;	/* 0: none */

#if CAN_FAIL
static bool fails(void)
{
	return fail_at && ++count == fail_at;
}

void *malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}
#endif

static char dump[] = "/tmp/hwt-nomem-XXXXXX", names[] = "/tmp/hwt-nomem-XXXXXX";

static void write_file(char *path, const void *p, size_t n)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	close(fd);
}

static void ask(struct hwt_image *img, bool sound)
{
	struct hwt_where w = { .pid = 3, .time = 25 };
	struct image_section *v;
	struct hwt_symbol s;
	uint64_t func, r[2][2];
	char b[4];
	size_t n;
	int rc = hwt_image_read(img, &w, 0x5002, b, 4);

	assert_true(rc <= 0 || (rc <= 4 && !memcmp(b, "cdef", (size_t)rc)));
	assert_true(!sound || rc == 4);
	rc = hwt_image_symbol(img, &w, 0x7001, &s);
	assert_true(!rc || !strcmp(s.name, "run"));
	assert_true(!sound || rc == 1);
	rc = hwt_image_symbol(img, &w, 0xffffffff81000004, &s);
	assert_true(!rc || !strcmp(s.name, "start"));
	assert_true(!sound || rc == 1);
	rc = image_entry(img, &w, 0xffffffff81000100, &func);
	assert_true(!rc || func == 0xffffffff81000100);
	rc = image_sections(img, &w, &v, &n);
	if (!rc) {
		assert_true(n <= 1);
		free(v);
	}
	hwt_image_find(img, "r*", r, 2);
}

static void life(bool sound)
{
	struct hwt_open_opts o = { .sysroot = "/", .debuginfod_cache = "/tmp" };
	struct hwt_map m = { .addr = 0x5000, .size = 6, .from = 5, .pid = 2, .path = dump,
			     .raw = 1 };
	struct notes ns = { 0 };
	struct hwt_image *img;
	struct hwt_diag d;
	int rc = 0;

	if (image_new(&img, &ns))
		return;
	rc |= image_set_opts(img, &o);
	rc |= image_add_map(img, &m);
	rc |= image_fork(img, 10, 2, 3);
	rc |= image_unmap(img, 2, 11, 0x5000, 6);
	rc |= image_add_symbol(img, 3, 12, 0x7000, 16, "run");
	rc |= image_add_bytes(img, 3, 40, 0x5000, "zz", 2, NULL);
	rc |= image_exec(img, 50, 3);
	rc |= image_add_kallsyms(img, names, &d);
	assert_true(!sound || !rc);
	/* what failed may have left a hole: then nothing is claimed of the answers */
	if (!rc)
		ask(img, sound);
	image_free(img);
	notes_free(&ns);
}

static void each_fails_once(void **state)
{
	static const char text[] = "ffffffff81000100 T second\nffffffff81000000 T start\n";
	unsigned long total;

	write_file(dump, "abcdef", 6);
	write_file(names, text, sizeof(text) - 1);
	life(true);
	if (!CAN_FAIL) {
		unlink(dump);
		unlink(names);
		skip();
	}
	count = 0;
	fail_at = ~0ul;
	life(true);
	total = count;
	assert_true(total > 20);
	for (unsigned long i = 1; i <= total; i++) {
		count = 0;
		fail_at = i;
		life(false);
		fail_at = 0;
	}
	life(true);
	unlink(dump);
	unlink(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_fails_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
