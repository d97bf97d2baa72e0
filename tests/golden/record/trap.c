/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for the recorder's tests: what it does with SIGTRAP, by which steps are told. It prints
 * what came of that, and nothing that differs from run to run.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPAQUE __attribute__((noinline, noipa))

static volatile sig_atomic_t hits, depth, deepest;
static char *self;

/* Some hundred instructions. */
OPAQUE void spin(void)
{
	for (volatile int i = 0; i < 60; i++)
		;
}

static void say(const char *what, long n)
{
	printf("%s %ld\n", what, n);
	fflush(stdout);
}

static void on_signal(int sig)
{
	hits++;
	spin();
}

/* The second one waits until the first is done. */
static void on_nested(int sig)
{
	if (++depth > deepest)
		deepest = depth;
	if (!hits++)
		raise(SIGTRAP);
	spin();
	depth--;
}

static void breakpoint(void)
{
#if defined(__x86_64__)
	__asm__ volatile("int3");
#else
	__asm__ volatile("brk #0");	/* a handler returns to it */
#endif
}

static void on_break(int sig)
{
	breakpoint();
}

static void block(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(how, &set, NULL);
}

static void block_all(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, old);
}

static void disposition(const char *what)
{
	struct sigaction sa;

	sigaction(SIGTRAP, NULL, &sa);
	say(what, sa.sa_handler == SIG_IGN ? 1 : sa.sa_handler == SIG_DFL ? 0 : 2);
}

static int pending(void)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, SIGTRAP);
}

static int blocked(void)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, SIGTRAP);
}

static long reap(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void ignored(void)
{
	disposition("at the start");
	signal(SIGTRAP, SIG_IGN);
	spin();
	raise(SIGTRAP);
	disposition("ignored");
	spin();
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid) {
			disposition("child");
			raise(SIGTRAP);
			if (i)
				execl(self, self, "inherited", (char *)NULL);
			_exit(5);
		}
		say("child ends", reap(pid));
	}
	signal(SIGTRAP, on_signal);
	spin();
	raise(SIGTRAP);
	say("handled", hits);
}

static void inherited(void)
{
	disposition("inherited");
	spin();
	raise(SIGTRAP);
	say("alive", 1);
}

static volatile int flag;

static void *spinner(void *arg)
{
	while (!flag)
		spin();
	raise(SIGTRAP);
	return NULL;
}

static void ignored_by_thread(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, spinner, NULL);
	for (int i = 0; i < 5; i++)
		spin();
	signal(SIGTRAP, SIG_IGN);
	for (int i = 0; i < 5; i++)
		spin();
	flag = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	kill(getpid(), SIGTRAP);
	disposition("after threads");
}

static void *setter(void *arg)
{
	for (int i = 0; i < 10; i++) {
		signal(SIGTRAP, i % 3 ? SIG_DFL : on_signal);
		spin();
	}
	return NULL;
}

/* All at once, and none of it may be lost. */
static void set_by_threads(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, setter, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	disposition("in the end");
	raise(SIGTRAP);
	say("hits", hits);
}

/* With a handler it runs when the mask lets it. */
static void blocks(void)
{
	signal(SIGTRAP, on_signal);
	block(SIG_BLOCK, SIGTRAP);
	spin();
	raise(SIGTRAP);
	spin();
	say("hits", hits);
	say("pending", pending());
	spin();
	say("blocked", blocked());
	block(SIG_UNBLOCK, SIGTRAP);
	say("hits", hits);
#if defined(__x86_64__)
	breakpoint();
	say("hits", hits);
#endif
}

static void waits(int kind)
{
	struct timespec second = { 1, 0 };
	struct signalfd_siginfo fi = { 0 };
	siginfo_t si = { 0 };
	sigset_t set;
	pid_t pid = getpid();
	int fd;

	block_all(NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	spin();
	if (kind == 1) {
		raise(SIGTRAP);
	} else if (kind == 2) {
		sigqueue(pid, SIGTRAP, (union sigval){ .sival_int = 77 });
	} else {
		pid = fork();
		if (!pid) {
			kill(getppid(), SIGTRAP);
			_exit(0);
		}
		say("child", reap(pid));
	}
	spin();
	if (kind == 2) {
		fd = signalfd(-1, &set, 0);
		spin();
		say("read", read(fd, &fi, sizeof(fi)));
		say("signal", (long)fi.ssi_signo);
		say("code", fi.ssi_code);
		say("from", (pid_t)fi.ssi_pid == pid);
		say("value", fi.ssi_int);
	} else {
		say("sigtimedwait", sigtimedwait(&set, &si, &second));
		say("code", si.si_code);
		say("from", si.si_pid == pid);
	}
	say("pending", pending());
	spin();
}

static void *waiter(void *arg)
{
	sigset_t set;
	int sig = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigwait(&set, &sig);
	say("thread got", sig);
	flag = 1;
	return NULL;
}

/* All threads block all signals, and one waits for them. */
static void waited_by_thread(void)
{
	struct timespec ms = { 0, 1000000 };
	pthread_t t;

	block_all(NULL);
	pthread_create(&t, NULL, waiter, NULL);
	spin();
	kill(getpid(), SIGTRAP);
	for (int i = 0; i < 3000 && !flag; i++) {
		spin();
		nanosleep(&ms, NULL);
	}
	say("seen", flag);
	pthread_join(t, NULL);
}

static void nested(void)
{
	signal(SIGTRAP, on_nested);
	raise(SIGTRAP);
	say("hits", hits);
	say("deepest", deepest);
}

/* A signal that nothing is done about comes while SIGTRAP is blocked. */
static void unhandled(void)
{
	pid_t pid;

	signal(SIGTRAP, on_signal);
	block(SIG_BLOCK, SIGTRAP);
	pid = fork();
	if (!pid)
		_exit(3);
	for (int i = 0; i < 12; i++)
		spin();
	say("child", reap(pid));
	say("blocked", blocked());
	disposition("handler");
	raise(SIGTRAP);
	block(SIG_UNBLOCK, SIGTRAP);
	say("hits", hits);
}

/* A call with a mask of its own, which lets one signal through. */
static void own_mask(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct itimerspec soon = { .it_value = { 0, 50000000 } };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct epoll_event e;
	sigset_t none;
	timer_t timer;
	int fd = epoll_create1(0);

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGTRAP, &sa, NULL);
	block_all(NULL);
	sigemptyset(&none);
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	timer_settime(timer, 0, &soon, NULL);
	say("epoll_pwait", epoll_pwait(fd, &e, 1, 3000, &none));
	say("hits", hits);
	raise(SIGUSR1);
	say("hits", hits);
	timer_settime(timer, 0, &soon, NULL);
	say("sigsuspend", sigsuspend(&none));
	say("hits", hits);
	say("blocked", blocked());
	disposition("handler");
}

/* The instruction behind a call that blocks all is one that has to run in one go. */
static void sequence(void)
{
	sigset_t all;
	long old = 0, n = 5;

	signal(SIGTRAP, on_signal);
	sigfillset(&all);
#if defined(__x86_64__)
	long rc = 14;	/* rt_sigprocmask */
	register long size __asm__("r10") = 8;

	__asm__ volatile("sub $128, %%rsp; pushfq; syscall; popfq; add $128, %%rsp" : "+a"(rc) :
			 "D"((long)SIG_SETMASK), "S"(&all), "d"(&old), "r"(size) :
			 "rcx", "r11", "memory", "cc");
#else
	register long nr __asm__("x8") = 135, x0 __asm__("x0") = SIG_SETMASK;
	register void *x1 __asm__("x1") = &all, *x2 __asm__("x2") = &old;
	register long x3 __asm__("x3") = 8;
	int fail;
	long v;

	__asm__ volatile("svc #0\n1: ldxr %0, [%2]\nadd %0, %0, #1\nstxr %w1, %0, [%2]\n"
			 "cbnz %w1, 1b" : "=&r"(v), "=&r"(fail) :
			 "r"(&n), "r"(nr), "r"(x0), "r"(x1), "r"(x2), "r"(x3) : "memory", "cc");
	n--;
#endif
	say("n", n);
	say("blocked", blocked());
	disposition("handler");
	raise(SIGTRAP);
	say("hits", hits);
	block(SIG_UNBLOCK, SIGTRAP);
	say("hits", hits);
}

static void stops(void)
{
	pid_t pid;
	int status;

	signal(SIGTRAP, on_signal);
	block_all(NULL);
	pid = fork();
	if (!pid) {
		raise(SIGTRAP);
		spin();
		raise(SIGSTOP);
		spin();
		say("child is blocked", blocked() + 2 * pending());
		block(SIG_UNBLOCK, SIGTRAP);
		_exit(hits);
	}
	waitpid(pid, &status, WUNTRACED);
	say("stopped", WIFSTOPPED(status) ? WSTOPSIG(status) : -1);
	spin();
	kill(pid, SIGCONT);
	say("child", reap(pid));
	spin();
}

/* Ends by a breakpoint: what is ignored or blocked is no longer then. */
static void ends(int kind)
{
	if (kind == 1) {
		signal(SIGTRAP, SIG_IGN);
	} else if (kind == 2) {
		signal(SIGTRAP, on_signal);
		block(SIG_BLOCK, SIGTRAP);
	} else {
		signal(SIGTRAP, on_break);
		raise(SIGTRAP);
	}
	spin();
	breakpoint();
	say("not reached", hits);
}

/* Its parent is no tracer, and there can be only one: it goes on, untraced by its own wish. */
static void traced(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? errno : 0);
	say("traceme", reap(pid));
}

/* Until it is sent SIGUSR1: @kind 0: ignores SIGTRAP, 1: one waits. */
static void long_wait(int kind)
{
	struct timespec ms = { 0, 1000000 };
	struct sigaction sa;
	sigset_t set;

	block(SIG_BLOCK, SIGUSR1);
	if (kind)
		block(SIG_BLOCK, SIGTRAP);
	signal(SIGTRAP, kind ? on_signal : SIG_IGN);
	raise(SIGTRAP);
	do {
		spin();
		nanosleep(&ms, NULL);
		sigpending(&set);
	} while (!sigismember(&set, SIGUSR1));
	sigaction(SIGTRAP, NULL, &sa);
	say("pending", pending());
	say("as it was", sa.sa_handler == (kind ? on_signal : SIG_IGN));
	block(SIG_UNBLOCK, SIGTRAP);
	raise(SIGTRAP);
	say("hits", hits);
}

int main(int argc, char **argv)
{
	const char *m = argc > 1 ? argv[1] : "";

	self = argv[0];
	spin();
	if (!strcmp(m, "ignored"))
		ignored();
	else if (!strcmp(m, "inherited"))
		inherited();
	else if (!strcmp(m, "ignored-by-thread"))
		ignored_by_thread();
	else if (!strcmp(m, "set-by-threads"))
		set_by_threads();
	else if (!strcmp(m, "blocks"))
		blocks();
	else if (!strcmp(m, "waits"))
		waits(1);
	else if (!strcmp(m, "signalfd"))
		waits(2);
	else if (!strcmp(m, "sent"))
		waits(3);
	else if (!strcmp(m, "waited-by-thread"))
		waited_by_thread();
	else if (!strcmp(m, "nested"))
		nested();
	else if (!strcmp(m, "unhandled"))
		unhandled();
	else if (!strcmp(m, "own-mask"))
		own_mask();
	else if (!strcmp(m, "sequence"))
		sequence();
	else if (!strcmp(m, "stops"))
		stops();
	else if (!strcmp(m, "ends-ignored"))
		ends(1);
	else if (!strcmp(m, "ends-blocked"))
		ends(2);
	else if (!strcmp(m, "ends-in-handler"))
		ends(3);
	else if (!strcmp(m, "traced"))
		traced();
	else if (!strcmp(m, "long-ignored"))
		long_wait(0);
	else if (!strcmp(m, "long-pending"))
		long_wait(1);
	else
		return 3;
	spin();
	say("end", 0);
	return 4;
}
