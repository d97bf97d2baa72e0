/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure OUT COMMAND [ARGS]: runs it with its output appended to OUT and prints "exit code, CPU
 * seconds, peak resident KiB". A process of its own because Linux counts the memory of the one
 * that forked into the peak of the one that runs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void command(const char *out, char **argv)
{
	int null = open("/dev/null", O_RDWR), fd = open(out, O_WRONLY | O_CREAT | O_APPEND, 0666);

	if (null < 0 || fd < 0)
		_exit(127);
	dup2(null, 0);
	dup2(fd, 1);
	dup2(null, 2);
	execvp(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	struct rusage ru;
	int status;
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = fork();
	if (!pid)
		command(argv[1], argv + 2);
	if (pid < 0 || wait4(pid, &status, 0, &ru) != pid)
		return 1;
	printf("%d %.6f %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       seconds(ru.ru_utime) + seconds(ru.ru_stime), ru.ru_maxrss);
	return 0;
}
