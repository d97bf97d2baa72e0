/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for the recorder's tests: it does what single-stepping may break, and says itself what
 * it did. Each thread prints how often it called tick(). What is of the instruction set is for
 * x86-64.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPAQUE __attribute__((noinline, noipa))

static __thread int ticks;
static volatile sig_atomic_t hits;
static sigjmp_buf back;

OPAQUE void tick(void)
{
	ticks++;
}

static void say(const char *what, int n)
{
	printf("tid %ld ticks %d %s %d\n", (long)syscall(SYS_gettid), ticks, what, n);
	fflush(stdout);
}

OPAQUE static void on_signal(int sig)
{
	hits++;
	tick();
}

OPAQUE static void on_fault(int sig)
{
	siglongjmp(back, 1);
}

OPAQUE int work(int n)
{
	tick();
	return n < 2 ? n : work(n - 1) + work(n - 2);
}

OPAQUE void done(void)
{
}

/* A handler returns to what did not call it, in the middle of calls from one place. */
OPAQUE static int deep(int n)
{
	int rc = n ? deep(n - 1) : raise(SIGUSR1);

	tick();
	return rc + n;
}

static void *thread(void *arg)
{
	for (long i = 0; i < (long)arg; i++) {
		tick();
		if (i % 16 == 0)
			sched_yield();
	}
	say("thread", 0);
	return NULL;
}

static void threads(void)
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, (void *)(40 + i));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static void forks(void)
{
	struct timespec now;
	int status;
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 5; i++)
			tick();
		/* code of the kernel's, which its parent has not run */
		clock_gettime(CLOCK_MONOTONIC, &now);
		say("child", 0);
		_exit(7);
	}
	waitpid(pid, &status, 0);
	say("fork", WEXITSTATUS(status));
	pid = vfork();
	if (!pid)
		_exit(8);
	waitpid(pid, &status, 0);
	say("vfork", WEXITSTATUS(status));
}

/* Calls that are interrupted: taken up again, or ended. */
static void restarts(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct timespec long_time = { 5, 0 };
	int p[2], rc;
	char c = 0;
	pid_t pid;

	sigaction(SIGALRM, &sa, NULL);
	if (pipe(p))
		exit(1);
	pid = fork();
	if (!pid) {
		usleep(400000);
		_exit(write(p[1], "x", 1) != 1);
	}
	ualarm(100000, 0);
	rc = (int)read(p[0], &c, 1);
	say("read", rc * 100 + c);
	waitpid(pid, NULL, 0);
	sa.sa_flags = 0;
	sigaction(SIGALRM, &sa, NULL);
	ualarm(100000, 0);
	rc = nanosleep(&long_time, NULL);
	say("nanosleep", rc && errno == EINTR);
	say("hits", hits);
}

static void signals(void)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 3; i++)
		raise(SIGUSR1);
	say("deep", deep(9));
	sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = on_fault, .sa_flags = SA_NODEFER },
		  NULL);
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(back, 1))
			*(volatile int *)8 = 1;
		tick();
	}
	say("hits", hits);
}

#if defined(__x86_64__)
/* Breakpoints and single-step of its own; flags must not keep what stepping sets. */
static void traps(void)
{
	unsigned long flags;
	sigset_t all, old;

	signal(SIGTRAP, on_signal);
	for (int i = 0; i < 3; i++)
		__asm__ volatile("int3");
	__asm__ volatile("sub $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq; nop; nop;"
			 "pushfq; andq $~0x100, (%%rsp); popfq; add $128, %%rsp" ::: "memory",
			 "cc");
	/* stepping through code that blocks all signals must not take the handler away */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	sigprocmask(SIG_SETMASK, &old, &all);
	__asm__ volatile("int3");
	__asm__ volatile("sub $128, %%rsp; pushfq; pop %0; add $128, %%rsp" : "=r"(flags));
	say("traps", hits);
	say("flag", (flags & 0x100) != 0);
	say("masked", sigismember(&all, SIGTRAP));
}

static void strings(void)
{
	static char a[600], b[600];
	const char *s = a;
	char *d = b;
	long n = 333;

	memset(a, 7, sizeof(a));
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) :: "memory");
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) :: "memory");
	tick();
	say("copied", b[332] == 7 && !b[333]);
}

/* Code that is written, run, and written again at the same place. */
static void jit(void)
{
	unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xc3 };	/* mov $1, %eax; ret */
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = 0;

	for (int i = 1; i <= 3; i++) {
		code[1] = (unsigned char)i;
		memcpy(p, code, sizeof(code));
		if (i == 3) {		/* a nop more: other addresses run */
			p[5] = 0x90;
			p[6] = 0xc3;
		}
		sum += ((int (*)(void))p)();
		tick();
	}
	munmap(p, 4096);
	say("jit", sum);
}
#endif

/* Sequences that can not succeed while they are stepped one by one. */
static void atomics(void)
{
	static int n;
	static long pair[2];
	int want = 5;

	for (int i = 0; i < 20; i++)
		__atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(&n, &want, 7, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	want = 20;
	__atomic_compare_exchange_n(&n, &want, 30, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&pair[0], 3, __ATOMIC_RELAXED);
	tick();
	say("atomics", n + (int)pair[0]);
}

static void forbidden(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(f) / sizeof(f[0]), f };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		exit(3);
	tick();
	syscall(SYS_getppid);
}

/* Counts in a page that others can look at. */
static void count(const char *path)
{
	FILE *f = fopen(path, "w+");
	volatile unsigned long *n;

	if (!f || ftruncate(fileno(f), 4096))
		exit(3);
	n = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	for (;;) {
		++*n;
		tick();
		if (!(*n & 1023))
			usleep(1000);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "work"))
		printf("%d\n", work(argc > 2 ? atoi(argv[2]) : 8));
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "forks"))
		forks();
	else if (!strcmp(what, "restarts"))
		restarts();
	else if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "atomics"))
		atomics();
#if defined(__x86_64__)
	else if (!strcmp(what, "traps"))
		traps();
	else if (!strcmp(what, "strings"))
		strings();
	else if (!strcmp(what, "jit"))
		jit();
#endif
	else if (!strcmp(what, "seccomp"))
		forbidden();
	else if (!strcmp(what, "count"))
		count(argv[2]);
	else if (!strcmp(what, "exec"))
		execl(argv[0], argv[0], "strings", (char *)NULL);
	else if (!strcmp(what, "wait"))
		sleep(6);
	else if (!strcmp(what, "uid"))
		printf("uid %d\n", (int)geteuid());
	else if (!strcmp(what, "abort"))
		abort();
	else if (!strcmp(what, "fail"))
		return 42;
	done();
	return 0;
}
