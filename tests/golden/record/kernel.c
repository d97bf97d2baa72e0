/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For record_kernel.sh: does a known number of known system calls, in a child process and in a
 * thread, and says which.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void calls(const char *who, unsigned from, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		/* a call without arguments: what it is given does not matter, and is recorded */
		syscall(SYS_getppid, from + i, 2, 3, 4, 5, 6);
	printf("%s %d %d %u %u %d\n", who, (int)getpid(), (int)gettid(), from, n, (int)getppid());
	fflush(stdout);
}

static void *thread(void *arg)
{
	calls("thread", 0x20000, 300);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int status;
	pid_t p;

	if (argc > 1 && !strcmp(argv[1], "loop"))	/* until it is killed */
		for (unsigned i = 0;; i++) {
			syscall(SYS_getppid, i, 2, 3, 4, 5, 6);
			if (i % 200 == 0)
				usleep(1000);
		}
	calls("main", 0x10000, 1000);
	p = fork();
	if (!p) {
		calls("child", 0x30000, 200);
		_exit(3);
	}
	waitpid(p, &status, 0);
	if (pthread_create(&t, NULL, thread, NULL))
		return 1;
	pthread_join(t, NULL);
	return 7;
}
