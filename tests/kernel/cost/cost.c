/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost NAME LOAD [EVENTS [FILTER]]: runs LOAD ("call": system calls, "switch": two processes that
 * wake each other) in a guest whose counter counts instructions, with a session of the module for
 * EVENTS ("enter", "both", "switch") if given, and prints what one call or switch takes: "cost
 * NAME LOAD TICKS". FILTER is a condition of the filter language.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/filter.h>

#include "../client.h"

#define BATCHES	40
#define BATCH	250	/* short beside the timer's 4 ms, which most batches must not see */

static uint64_t ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t n;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r"(n));
	return n * 16;	/* 62.5 MHz of a clock of 1 GHz */
#endif
}

static int to[2], from[2];

static void one_call(void)
{
	syscall(SYS_getppid, 1, 2, 3, 4, 5, 6);
}

/* Two switches. */
static void one_round(void)
{
	char c = 0;

	if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
		client_fail("the other process is gone");
}

static pid_t other_process(void)
{
	char c;
	pid_t p;

	if (pipe(to) || pipe(from))
		return -1;
	p = fork();
	if (p)
		return p;
	close(to[1]);
	while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
		;
	_exit(0);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* What a batch takes that nothing disturbed, as half of them do. */
static uint64_t measure(void (*one)(void))
{
	uint64_t t[BATCHES];

	for (int i = 0; i < BATCH; i++)
		one();
	for (int b = 0; b < BATCHES; b++) {
		uint64_t start = ticks();

		for (int i = 0; i < BATCH; i++)
			one();
		t[b] = ticks() - start;
	}
	qsort(t, BATCHES, sizeof(t[0]), by_size);
	return t[BATCHES / 2];
}

static void open_session(struct client *c, const char *events, const char *filter)
{
	static const uint16_t call[] = { HWT_ID_syscall_enter, HWT_ID_syscall_exit },
		sw[] = { HWT_ID_sched_switch };
	bool is_switch = !strcmp(events, "switch");
	struct client_opts o = { .ids = is_switch ? sw : call, .sub_size = 262144, .subs = 64,
		.nids = strcmp(events, "both") ? 1 : 2 };
	static struct hwt_bpf_insn v[HWT_BPF_MAX];
	struct hwt_filter *f;
	struct hwt_diag d;
	char text[256];
	int rc;

	if (filter) {
		snprintf(text, sizeof(text), "%s where %s",
			 is_switch ? "sched.switch" : "syscall.enter", filter);
		rc = hwt_filter_new(&f, text, &d);
		if (!rc)
			rc = hwt_filter_bpf(f, o.ids[0], v, HWT_BPF_MAX, &d);
		if (rc < 0) {
			client_fail("%s: %s", text, d.text);
			return;
		}
		o.filter = v;
		o.nfilter = (unsigned)rc;
	}
	rc = client_open(c, &o);
	if (!rc)
		rc = client_start(c);
	if (rc)
		client_fail("a session: %s", strerror(-rc));
}

int main(int argc, char **argv)
{
	bool is_switch = argc > 2 && !strcmp(argv[2], "switch");
	const char *filter = argc > 4 ? argv[4] : NULL;
	struct client c;
	uint64_t n;
	pid_t p = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: cost NAME call|switch [EVENTS [FILTER]]\n");
		return 2;
	}
	if (is_switch)
		p = other_process();
	if (argc > 3)
		open_session(&c, argv[3], filter);
	n = measure(is_switch ? one_round : one_call);
	if (argc > 3) {
		client_finish(&c);
		printf("# %s: %" PRIu64 " records, %" PRIu64 " lost\n", argv[1], c.cpu[0].records,
		       c.cpu[0].lost);
	}
	if (p > 0) {
		close(to[1]);
		waitpid(p, NULL, 0);
	}
	printf("cost %s %s %.1f\n", argv[1], argv[2],
	       (double)n / BATCH / (is_switch ? 2 : 1));
	return client_failed() != 0;
}
