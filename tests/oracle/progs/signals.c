/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals from itself, from a timer and from bad memory; jumps out of handlers and out of deep
 * calls. signals [TURNS]
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf out_of_fault;
static jmp_buf out_of_calls;
static volatile sig_atomic_t usr, alarms, faults;
static char *wall;
static size_t page;
static volatile unsigned sink;

static void on_usr(int sig)
{
	usr++;
}

static void on_alarm(int sig, siginfo_t *info, void *ctx)
{
	alarms++;
}

/* Every other fault is repaired so that the instruction runs again. */
static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	faults++;
	if (faults & 1)
		siglongjmp(out_of_fault, 1);
	mprotect(wall, page, PROT_READ | PROT_WRITE);
}

static void leave(void)
{
	if (sink != 1)
		longjmp(out_of_calls, 7);
}

__attribute__((noinline)) static int deep(int n)
{
	if (!n)
		leave();
	return n ? deep(n - 1) + n : 0;
}

static void busy(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink * 31 + (unsigned)(i % 3 ? i : -i);
}

int main(int argc, char **argv)
{
	static volatile int jumps, i;
	int turns = argc > 1 ? atoi(argv[1]) : 40;
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } };
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_usr;
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_flags = SA_SIGINFO;
	sa.sa_sigaction = on_alarm;
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_sigaction = on_fault;
	sigaction(SIGSEGV, &sa, NULL);
	page = (size_t)sysconf(_SC_PAGESIZE);
	wall = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (wall == MAP_FAILED)
		return 1;
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < turns; i++) {
		raise(SIGUSR1);
		busy(2000);
		if (!sigsetjmp(out_of_fault, 1))
			wall[i % 64] = (char)i;
		else
			jumps++;
		mprotect(wall, page, PROT_NONE);
		if (setjmp(out_of_calls) == 7)
			jumps++;
		else
			deep(i % 11);
	}
	every.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &every, NULL);
	printf("%d %d %s\n", (int)usr, (int)faults, alarms ? "alarms" : "no alarm");
	return jumps < turns;
}
