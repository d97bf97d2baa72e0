/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does what tracepoints tell that are no virtual events: "dirty [N]" takes the names n0 ... nN-1,
 * one after the other, and after each tenth sends itself a signal whose number goes round. Prints
 * its tid. "dirty N go" waits for a line first, and for another one at the end; "dirty N slow"
 * rests a little with each signal.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_signal(int sig)
{
}

int main(int argc, char **argv)
{
	static const int sigs[] = { SIGUSR1, SIGUSR2, SIGWINCH };
	long n = argc > 1 ? atol(argv[1]) : 200;
	char name[16], line[8];
	int go;

	for (int i = 0; i < 3; i++)
		signal(sigs[i], on_signal);
	printf("%ld\n", (long)syscall(SYS_gettid));
	fflush(stdout);
	go = argc > 2 && !strcmp(argv[2], "go");
	if (go && !fgets(line, sizeof(line), stdin))
		return 1;
	for (long i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%ld", i);
		prctl(PR_SET_NAME, name);
		if (i % 10 == 9)
			kill(getpid(), sigs[i / 10 % 3]);
		if (i % 10 == 9 && argc > 2 && !go)
			usleep(500);
	}
	return go && !fgets(line, sizeof(line), stdin);
}
