/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that reads CTF, with a stand-in for the library that goes wrong in every way: what is
 * left is an error with words, and what came before is given.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "hwtrace/source/ctf.h"

/* --- in the process --- */

static void put(int fd, const void *p, size_t n)
{
	while (n) {
		ssize_t k = write(fd, p, n);

		if (k <= 0)
			_exit(9);
		p = (const char *)p + k;
		n -= (size_t)k;
	}
}

static void message(int fd, unsigned type, uint64_t count, size_t size)
{
	struct ctf_msg *m = calloc(1, size);

	m->size = (uint32_t)size;
	m->type = (uint16_t)type;
	m->count = count;
	put(fd, m, size);
	free(m);
}

bool ctf_lib_here(void)
{
	return true;
}

/* What goes wrong is named by the trace. */
void ctf_lib_run(const struct ctf_job *job, int fd, int log)
{
	const char *how = job->dirs[0];
	struct rlimit r = { 1, 60 };	/* seconds */
	struct stat st;

	message(fd, CTF_TICK, 1, sizeof(struct ctf_msg));
	if (!strcmp(how, "abort")) {
		dprintf(log, "01-01 10:00:00.000 1 1 F LIB f@x.c:12 it is \"broken\"\n"
			"01-01 10:00:00.000 1 1 F LIB f@x.c:13 Aborting...\n");
		abort();
	} else if (!strcmp(how, "quiet")) {
		setrlimit(RLIMIT_CPU, &r);
		for (;;)
			;
	} else if (!strcmp(how, "memory")) {
		for (size_t i = 0; i < 1024; i++) {
			char *p = malloc(1 << 20);

			/* an emulator takes no such limit */
			getrlimit(RLIMIT_DATA, &r);
			if (!p || r.rlim_cur == RLIM_INFINITY)
				raise(SIGTRAP);
			memset(p, 1, 1 << 20);
		}
	} else if (!strcmp(how, "garbage")) {
		message(fd, CTF_TYPES, 0, sizeof(struct ctf_msg));
	} else if (!strcmp(how, "short")) {
		put(fd, "1234", 4);
	} else if (!strcmp(how, "large")) {
		for (uint64_t i = 0; i < 9; i++)
			message(fd, CTF_EVENT, i, CTF_MSG_MAX);
		message(fd, CTF_END, 9, sizeof(struct ctf_msg));
	} else if (!strcmp(how, "place")) {
		/* no handler of the parent is left, none of its files is open */
		struct sigaction sa;
		uint64_t bad = 0;
		char c;

		sigaction(SIGTERM, NULL, &sa);
		bad += sa.sa_handler != SIG_DFL;
		sigaction(SIGINT, NULL, &sa);
		bad += sa.sa_handler != SIG_IGN;
		bad += read(0, &c, 1) != 0;
		for (int i = 5; i < 200; i++)
			bad += !fstat(i, &st);
		getrlimit(RLIMIT_CORE, &r);
		bad += r.rlim_cur != 0;
		message(fd, CTF_END, bad, sizeof(struct ctf_msg));
	} else if (!strcmp(how, "endless")) {
		for (;;)
			message(fd, CTF_EVENT, 0, sizeof(struct ctf_msg));
	} else if (!strcmp(how, "wait")) {
		pause();
	}
}

/* --- the other side --- */

static struct ctf_pipe *begin(const char *how)
{
	const char *dirs[] = { how };
	const struct ctf_job job = { .dirs = dirs, .ndirs = 1 };
	const struct ctf_msg *m;
	struct ctf_pipe *p;

	assert_int_equal(ctf_pipe_open(&p, &job), 0);
	assert_int_equal(ctf_pipe_next(p, &m, NULL), 1);
	assert_int_equal(m->type, CTF_TICK);
	assert_int_equal(m->count, 1);
	return p;
}

static void fails(const char *how, const char *words)
{
	struct hwt_diag d = { .off = HWT_NO_OFF };
	struct ctf_pipe *p = begin(how);
	const struct ctf_msg *m;

	assert_int_equal(ctf_pipe_next(p, &m, &d), -HWT_E_LIB);
	assert_int_equal(d.id, E_CTF_LIB);
	/* an emulator has the last word */
	if (!strstr(d.text, words) && !strstr(d.text, "qemu: uncaught"))
		fail_msg("%s: %s", how, d.text);
	assert_int_equal(ctf_pipe_next(p, &m, &d), 0);
	ctf_pipe_close(p);
	/* nobody is left */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_fails(void **state)
{
	fails("abort", "signal 6");
	fails("abort", "it is \"broken\"");
	fails("quiet", "20 seconds");
	fails("garbage", "no message");
	fails("short", "too early");
	fails("nothing", "too early");
#ifndef __SANITIZE_ADDRESS__
	fails("memory", "signal 5");
#endif
}

static void test_large(void **state)
{
	struct ctf_pipe *p = begin("large");
	const struct ctf_msg *m, *first;
	uint64_t n = 0;
	int rc;

	ctf_pipe_release(p);
	assert_int_equal(ctf_pipe_next(p, &first, NULL), 1);
	assert_int_equal(first->size, CTF_MSG_MAX);
	n = 1;
	while ((rc = ctf_pipe_next(p, &m, NULL)) == 1 || rc == -EAGAIN) {
		if (rc == -EAGAIN) {
			/* all that were given stay until they are let go */
			if (first)
				assert_int_equal(first->count, 0);
			first = NULL;
			ctf_pipe_release(p);
			continue;
		}
		if (m->type == CTF_EVENT)
			assert_int_equal(m->count, n++);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(n, 9);
	ctf_pipe_close(p);
}

static void test_place(void **state)
{
	struct ctf_pipe *p;
	const struct ctf_msg *m;

	signal(SIGTERM, SIG_IGN);
	p = begin("place");
	signal(SIGTERM, SIG_DFL);
	assert_int_equal(ctf_pipe_next(p, &m, NULL), 1);
	assert_int_equal(m->type, CTF_END);
	assert_int_equal(m->count, 0);
	assert_int_equal(ctf_pipe_next(p, &m, NULL), 0);
	ctf_pipe_close(p);
}

static void on_alarm(int sig)
{
}

/* A signal gives the reader its turn; closing ends the process, whatever it does. */
static void test_signal(void **state)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval in = { .it_value = { .tv_usec = 20000 },
		.it_interval = { .tv_usec = 20000 } };
	struct ctf_pipe *p = begin("wait");
	const struct ctf_msg *m;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &in, NULL);
	assert_int_equal(ctf_pipe_next(p, &m, NULL), -EINTR);
	assert_int_equal(ctf_pipe_next(p, &m, NULL), -EINTR);
	memset(&in, 0, sizeof(in));
	setitimer(ITIMER_REAL, &in, NULL);
	ctf_pipe_close(p);
	p = begin("endless");
	for (int i = 0; i < 1000; i++)
		assert_int_equal(ctf_pipe_next(p, &m, NULL), 1);
	ctf_pipe_close(p);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	ctf_pipe_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fails), cmocka_unit_test(test_large),
		cmocka_unit_test(test_place), cmocka_unit_test(test_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
