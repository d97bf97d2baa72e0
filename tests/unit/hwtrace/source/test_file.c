/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hwtrace/source/file.h"

static char dir[] = "/tmp/hwt-file-XXXXXX";

static char *in_dir(const char *name)
{
	static char buf[256];

	snprintf(buf, sizeof(buf), "%s/%s", dir, name);
	return buf;
}

/* byte i of the file is a function of i, so that a wrong offset shows */
static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 131 + (i >> 8));
}

static void make(const char *path, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		putc(byte_at(i), f);
	assert_int_equal(fclose(f), 0);
}

static void check(const struct file *f, size_t n)
{
	assert_int_equal(f->size, n);
	for (size_t i = 0; i < n; i++)
		if (f->p[i] != byte_at(i))
			fail_msg("byte %zu", i);
}

static void sizes(void **state)
{
	static const size_t n[] = { 0, 1, 4095, 1 << 20, (1 << 20) + 1, (3 << 20) + 17 };
	struct hwt_diag d = { 0 };

	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
		struct file *f = NULL;
		char *path = in_dir("f");

		make(path, n[i]);
		assert_int_equal(file_open(&f, path, &d), 0);
		check(f, n[i]);
		assert_string_equal(f->path, path);
		/* pages given back are read again from the file */
		file_done(f, 0, n[i] / 2);
		file_done(f, 1, UINT64_MAX);
		check(f, n[i]);
		file_close(f);
	}
}

static void refused(void **state)
{
	struct hwt_diag d = { 0 };
	struct file *f = NULL;

	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(file_open(&f, in_dir("fifo"), &d), -EINVAL);
	assert_int_equal(d.id, 1);
	assert_non_null(strstr(d.text, "FIFO"));
	assert_int_equal(file_open(&f, "/dev/zero", &d), -EINVAL);
	assert_non_null(strstr(d.text, "device"));
	assert_int_equal(file_open(&f, dir, &d), -EISDIR);
	assert_int_equal(d.id, 1);
	assert_int_equal(file_open(&f, in_dir("none"), &d), -ENOENT);
	assert_int_equal(d.code, -ENOENT);
	assert_string_equal(d.file, in_dir("none"));
	assert_null(f);
	file_close(NULL);
}

static void from_stdin(void **state)
{
	int p[2], keep = dup(STDIN_FILENO);
	struct file *f = NULL;
	uint8_t b[3000];

	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = byte_at(i);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], b, sizeof(b)), sizeof(b));
	close(p[1]);
	dup2(p[0], STDIN_FILENO);
	assert_int_equal(file_open(&f, "-", NULL), 0);
	check(f, sizeof(b));
	file_close(f);
	close(p[0]);
	dup2(keep, STDIN_FILENO);
	close(keep);
}

static void memory(void **state)
{
	struct file *f = NULL;
	uint8_t b[4] = { 1, 2, 3, 4 };

	assert_int_equal(file_mem(&f, "mem", b, sizeof(b)), 0);
	assert_ptr_equal(f->p, b);
	assert_int_equal(f->fd, -1);
	file_done(f, 0, 4);
	file_close(f);
	assert_int_equal(b[3], 4);
}

static void spool(void **state)
{
	static uint8_t b[100000];
	struct file *f = NULL;

	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = byte_at(i);
	assert_int_equal(file_spool_new(&f, "spool"), 0);
	for (size_t i = 0; i < sizeof(b); i += 1000)
		assert_int_equal(file_spool_write(f, b + i, 1000), 0);
	assert_int_equal(file_spool_map(f), 0);
	check(f, sizeof(b));
	file_close(f);
	assert_int_equal(file_spool_new(&f, "empty"), 0);
	assert_int_equal(file_spool_map(f), 0);
	assert_int_equal(f->size, 0);
	file_close(f);
}

/* no place to spool to is an error with a reason, not a hang or a crash */
static void no_room(void **state)
{
	const char *old = getenv("TMPDIR");
	char *keep = old ? strdup(old) : NULL;
	struct hwt_diag d = { 0 };
	struct file *f = NULL;

	setenv("TMPDIR", "/nonexistent", 1);
	assert_int_equal(file_spool_new(&f, "spool"), -ENOENT);
	assert_int_equal(file_open(&f, "-", &d), -ENOENT);
	assert_int_equal(d.id, 1);
	assert_null(f);
	if (keep)
		setenv("TMPDIR", keep, 1);
	else
		unsetenv("TMPDIR");
	free(keep);
}

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	unlink(in_dir("f"));
	unlink(in_dir("fifo"));
	return rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test(sizes), cmocka_unit_test(refused),
		cmocka_unit_test(from_stdin), cmocka_unit_test(memory),
		cmocka_unit_test(spool), cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(t, setup, teardown);
}
