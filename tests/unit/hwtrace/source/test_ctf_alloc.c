/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory runs out at every allocation in turn while the messages about a trace are read: it is
 * told, or done without, and everything is given back. The messages are those of the fuzz corpus.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <hwtrace/kernel.h>

#include "hwtrace/source/ctf.h"

#ifndef __SANITIZE_ADDRESS__
#include "tests/support/nomem.h"

static uint8_t messages[65536];
static size_t size;
static char dir[] = "/tmp/hwt-ctf-XXXXXX";

bool ctf_lib_here(void)
{
	return true;
}

/* In the process: no memory is needed for what is there already. */
void ctf_lib_run(const struct ctf_job *job, int fd, int log)
{
	const uint8_t *p = messages;
	const struct ctf_msg *m;
	size_t left = size;

	while (left) {
		m = (const struct ctf_msg *)(const void *)p;
		if ((!job->scan || m->type != CTF_EVENT) &&
		    write(fd, p, m->size) != (ssize_t)m->size)
			_exit(1);
		p += m->size;
		left -= m->size;
	}
}

static int read_it(struct hwt_diag *d, int *events)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_stream *st;
	struct hwt_event ev[8];
	struct hwt_session *s;
	int n, rc = hwt_session_open(&s, dir, &o, d);

	*events = 0;
	if (rc)
		return rc;
	rc = hwt_session_kernel(s, &st, d);
	if (!rc) {
		while ((n = hwt_stream_next(st, ev, 8)) > 0)
			*events += n;
		rc = n;
		hwt_stream_close(st);
	}
	hwt_session_close(s);
	return rc;
}

static void test_memory(void **state)
{
	struct hwt_diag d;
	int want, events, rc;

	assert_int_equal(read_it(&d, &want), 0);
	assert_true(want > 3);
	for (long i = 0; ; i++) {
		countdown = i;
		balance = 0;
		on = true;
		rc = read_it(&d, &events);
		on = false;
		if (balance)
			fail_msg("allocation %ld: %ld blocks lost", i, balance);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		if (countdown >= 0)
			break;
		if (rc && rc != -ENOMEM)
			fail_msg("allocation %ld: %d", i, rc);
		if (!rc && events != want)
			fail_msg("allocation %ld: %d events", i, events);
		assert_true(i < 1000);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(events, want);
}

static int setup(void **state)
{
	FILE *f = fopen("tests/fuzz/corpus/ctf/lttng", "rb");
	char path[64];

	if (!f || !mkdtemp(dir))
		return -1;
	size = fread(messages, 1, sizeof(messages), f);
	fclose(f);
	snprintf(path, sizeof(path), "%s/metadata", dir);
	f = fopen(path, "w");
	if (!f)
		return -1;
	fputs("/* CTF 1.8 */\n", f);
	return fclose(f);
}

static int teardown(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/metadata", dir);
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_memory) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
#else
int main(void)
{
	puts("a sanitized build has its own malloc");
	return 77;
}
#endif
