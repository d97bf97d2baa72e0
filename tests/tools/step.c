/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program by single steps and prints the address of every instruction that ran, one a
 * line, to
 * stdout: an independent truth for decoders. The program's own output goes to stderr. Exit 77 if
 * the system forbids ptrace.
 * x86-64 and arm64.
 */
#include <errno.h>
#include <signal.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int read_pc(pid_t pid, uint64_t *pc)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)(uintptr_t)NT_PRSTATUS, &iov))
		return -errno;
#if defined(__x86_64__)
	*pc = regs.rip;
#elif defined(__aarch64__)
	*pc = regs.pc;
#else
	return -ENOSYS;
#endif
	return 0;
}

int main(int argc, char **argv)
{
	pid_t pid;
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: step PROGRAM [ARGS]\n");
		return 2;
	}
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		dup2(2, 1);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	if (WIFEXITED(status)) {
		fprintf(stderr, "step: ptrace is not permitted here, or no such program\n");
		return WEXITSTATUS(status);
	}
	while (WIFSTOPPED(status)) {
		uint64_t pc = 0;
		int sig = WSTOPSIG(status);

		if (read_pc(pid, &pc))
			return 1;
		printf("%llx\n", (unsigned long long)pc);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL,
			(void *)(uintptr_t)(sig == SIGTRAP ? 0 : sig)))
			return 1;
		if (waitpid(pid, &status, 0) != pid)
			return 1;
	}
	return 0;
}
