/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory runs out at every allocation in turn while trace.dat is read: an error or less of it, and
 * nothing is kept. Formats are left out: libtraceevent keeps memory when it gets no more.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/source/capture.h"
#include "tests/support/mkftrace.h"

#ifndef __SANITIZE_ADDRESS__
#include "tests/support/nomem.h"

static uint8_t *bytes;
static size_t size;

static int read_all(bool kernel)
{
	struct hwt_event ev[8];
	struct hwt_stream *s;
	struct capture *c;
	struct hwt_diag d;
	struct file *f;
	int rc = capture_new(&c);

	if (rc)
		return rc;
	rc = file_mem(&f, "t", bytes, size);
	if (!rc)
		rc = source_ftrace.open(c, f, "t", NULL, &d);
	if (!rc)
		rc = (kernel ? c->kernel : c->events)(c, &s, &d);
	if (!rc) {
		do
			rc = hwt_stream_next(s, ev, 8);
		while (rc > 0);
		hwt_stream_close(s);
	}
	capture_free(c);
	return rc;
}

static long every_allocation(unsigned version, enum mkft_pack pack, bool kernel)
{
	static const struct mkft_option o[] = { { 5, "Linux h 6.1 x86_64", 19 },
		{ 7, "1", 2 }, { 9, "1", 2 } };
	struct mkftrace m;
	long n;
	int rc;

	mkft_init(&m, version, false, 8);
	m.pack = pack;
	m.options = o;
	m.noptions = 3;
	m.instance = "i";
	m.no_formats = true;
	for (int i = 0; i < 3; i++) {
		mkft_page(&m, &m.cpu[0], 1000);
		mkft_switch(&m, 0, 1, 2);
		mkft_page_end(&m, true, false, 0);
	}
	mkft_page(&m, &m.instance_cpu, 1000);
	mkft_switch(&m, 0, 1, 2);
	mkft_page_end(&m, false, false, 0);
	bytes = mkft_file(&m, &size);
	for (n = 0; ; n++) {
		balance = 0;
		countdown = n;
		on = true;
		rc = read_all(kernel);
		on = false;
		if (balance)
			fail_msg("allocation %ld fails: %ld blocks are kept", n, balance);
		if (rc && rc != -ENOMEM && rc != -HWT_E_FORMAT)
			fail_msg("allocation %ld fails: %d", n, rc);
		if (countdown >= 0)
			break;
		assert_true(n < 10000);
	}
	assert_int_equal(rc, 0);
	free(bytes);
	mkft_free(&m);
	return n;
}

static void reader(void **state)
{
	long a = every_allocation(6, MKFT_PLAIN, false), b = every_allocation(7, MKFT_ZLIB, false);
	long c = every_allocation(7, MKFT_ZSTD, true);

	assert_true(a > 20 && b > 20 && c > 20);
	printf("# out of memory at %ld + %ld + %ld places\n", a, b, c);
}

int main(void)
{
	const struct CMUnitTest t[] = { cmocka_unit_test(reader) };

	return cmocka_run_group_tests(t, NULL, NULL);
}

#else

int main(void)
{
	puts("the sanitizer has its own malloc");
	return 77;
}

#endif
