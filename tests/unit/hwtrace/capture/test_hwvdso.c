/* SPDX-License-Identifier: BSD-2-Clause */
/* The code of the vDSO in a capture: what this program has in its own memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/image.h>
#include <hwtrace/session.h>

#include "hwtrace/capture/hwvdso.h"
#include "hwtrace/capture/native.h"
#include "tests/support/scratch.h"

#define PID	1234
#define AT	0x7f0000000000		/* where that program has it */

/* False: there is none, as in an emulated program. */
static bool own_vdso(const uint8_t **p, size_t *n)
{
	unsigned long from, to;
	char line[256];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "r");

	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", &from, &to) == 2;
	fclose(f);
	if (!found)
		return false;
	*p = (const uint8_t *)from;
	*n = to - from;
	return true;
}

static void capture(const char *dir, bool copy, size_t size)
{
	const struct hwt_map map = { .addr = AT, .size = size, .path = "[vdso]", .pid = PID };
	struct native_writer *w;
	struct hwt_diag diag;

	assert_int_equal(native_create(&w, dir, true, &diag), 0);
	native_set(w, "capture", "recorder", "test");
	assert_int_equal(native_task(w, PID, PID, "one"), 0);
	assert_int_equal(native_map(w, &map), 0);
	if (copy) {
		assert_int_equal(hwvdso_copy(w), 0);
		/* once */
		assert_int_equal(hwvdso_copy(w), 0);
	}
	assert_int_equal(native_close(w, &diag), 0);
}

static int read_all(const char *dir, uint8_t *buf, size_t size)
{
	const struct hwt_where at = { .pid = PID, .time = HWT_TIME_UNKNOWN };
	const struct hwt_open_opts opts = { .size = sizeof(opts) };
	struct hwt_session *s;
	struct hwt_diag diag;
	int n;

	assert_int_equal(hwt_session_open(&s, dir, &opts, &diag), 0);
	n = hwt_image_read(hwt_session_image(s), &at, AT, buf, size);
	hwt_session_close(s);
	return n;
}

static void test_copy(void **state)
{
	const uint8_t *p;
	uint8_t *buf;
	size_t n;

	if (!own_vdso(&p, &n))
		skip();
	buf = malloc(n);
	assert_non_null(buf);
	capture(scratch("with.hwt"), true, n);
	assert_int_equal(read_all(scratch("with.hwt"), buf, n), n);
	assert_memory_equal(buf, p, n);
	/* nobody else has it */
	capture(scratch("without.hwt"), false, n);
	assert_int_equal(read_all(scratch("without.hwt"), buf, n), 0);
	free(buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_copy) };

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
