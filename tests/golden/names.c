/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says by its system calls which name it has: getppid() as long as it is that of its file,
 * getpgrp() behind an exec of another file, getuid() behind prctl(). On the CPUs that there are by
 * turns, so that no CPU's records tell all of it.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
	usleep(2000);
}

int main(int argc, char **argv)
{
	int again = argc > 2;

	for (int i = 0; i < 4; i++) {
		on(again ? i + 1 : i);
		if (again)
			getpgrp();
		else
			getppid();
	}
	if (!again) {
		execl(argv[1], argv[1], argv[1], "again", (char *)NULL);
		return 1;
	}
	printf("%d\n", (int)getpid());
	prctl(PR_SET_NAME, "third");
	for (int i = 0; i < 4; i++) {
		on(i);
		getuid();
	}
	return 0;
}
