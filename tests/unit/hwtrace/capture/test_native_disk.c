/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is put on the disk, and in which order: fdatasync() and fsync() are those of this test,
 * which asks the kernel how large the file is when each is called.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hwtrace/capture/native.h"
#include "tests/support/scratch.h"

/* As of the last call for it. */
static struct seen { char name[32]; off_t size; unsigned order; } seen[32];
static unsigned nseen, calls;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int fail_with;

static int see(int fd)
{
	char link[64], path[256], *name;
	struct stat st;
	ssize_t n;
	unsigned i;

	if (atomic_load(&fail_with)) {
		errno = atomic_load(&fail_with);
		return -1;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0 || fstat(fd, &st))
		return -1;
	path[n] = 0;
	name = strrchr(path, '/') + 1;
	pthread_mutex_lock(&lock);
	for (i = 0; i < nseen && strcmp(seen[i].name, name); i++)
		;
	if (i < 32) {
		nseen += i == nseen;
		snprintf(seen[i].name, sizeof(seen[i].name), "%.31s", name);
		seen[i].size = st.st_size;
		seen[i].order = ++calls;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

int fdatasync(int fd)
{
	return see(fd);
}

int fsync(int fd)
{
	return see(fd);
}

static struct seen of(const char *name)
{
	struct seen s = { .size = -1 };

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < nseen; i++)
		if (!strcmp(seen[i].name, name))
			s = seen[i];
	pthread_mutex_unlock(&lock);
	return s;
}

static struct native_writer *begin(const char *name)
{
	struct native_writer *w;
	struct hwt_diag diag;

	memset(seen, 0, sizeof(seen));
	nseen = calls = 0;
	assert_int_equal(native_create(&w, scratch(name), false, &diag), 0);
	assert_int_equal(native_set(w, "capture", "recorder", "test"), 0);
	return w;
}

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(scratch(name), &st) ? -1 : st.st_size;
}

/* At the end all is there as it is, and what says so is there last. */
static void test_end(void **state)
{
	struct native_writer *w = begin("end.hwt");
	struct hwt_diag diag;
	off_t ini;

	assert_int_equal(native_durable(w), 0);
	assert_int_equal(native_durable(w), 0);
	assert_int_equal(native_pages(w, 1, 0x1000, 0, "abcd", 4), 0);
	assert_int_equal(native_close(w, &diag), 0);
	assert_int_equal(of("pages.bin").size, size_of("end.hwt/images/pages.bin"));
	assert_int_equal(of("metadata").size, size_of("end.hwt/kernel/metadata"));
	ini = size_of("end.hwt/hwtrace.ini");
	assert_int_equal(of("hwtrace.ini").size, ini);
	assert_true(of("hwtrace.ini").order > of("pages.bin").order);
	assert_true(of("kernel").order > of("metadata").order);
	assert_true(of("end.hwt").order > of("hwtrace.ini").order);
}

/* Without being asked, while it is written. */
static void test_meanwhile(void **state)
{
	struct native_writer *w = begin("while.hwt");
	struct hwt_diag diag;
	off_t size;

	assert_int_equal(native_pages(w, 1, 0x1000, 0, "abcd", 4), 0);
	assert_int_equal(native_sync(w), 0);
	assert_int_equal(of("hwtrace.ini").size, -1);
	assert_int_equal(native_durable(w), 0);
	size = size_of("while.hwt/hwtrace.ini");
	for (int i = 0; i < 1000 && of("while.hwt").size < 0; i++)
		usleep(10000);
	assert_int_equal(of("pages.bin").size, 4);
	assert_int_equal(of("hwtrace.ini").size, size);
	/* and again */
	assert_int_equal(native_pages(w, 1, 0x2000, 0, "efgh", 4), 0);
	for (int i = 0; i < 1000 && of("pages.bin").size < 8; i++)
		usleep(10000);
	assert_int_equal(of("pages.bin").size, 8);
	assert_int_equal(native_close(w, &diag), 0);
}

/* A disk that fails ends the recording; one that has no such call does not. */
static void test_fails(void **state)
{
	struct native_writer *w = begin("fails.hwt");
	struct hwt_diag diag;
	int rc = 0;

	atomic_store(&fail_with, EIO);
	assert_int_equal(native_durable(w), 0);
	for (int i = 0; i < 1000 && !rc; i++) {
		usleep(10000);
		rc = native_sync(w);
	}
	assert_int_equal(rc, -EIO);
	assert_non_null(strstr(native_diag(w)->text, "put on the disk"));
	assert_int_equal(native_close(w, &diag), -EIO);
	atomic_store(&fail_with, EINVAL);
	w = begin("never.hwt");
	assert_int_equal(native_durable(w), 0);
	assert_int_equal(native_close(w, &diag), 0);
	atomic_store(&fail_with, 0);
}

/* A capture that is not asked for that does not wait for any disk. */
static void test_not_asked(void **state)
{
	struct native_writer *w = begin("no.hwt");
	struct hwt_diag diag;

	assert_int_equal(native_close(w, &diag), 0);
	assert_int_equal(calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end), cmocka_unit_test(test_meanwhile),
		cmocka_unit_test(test_fails), cmocka_unit_test(test_not_asked),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
