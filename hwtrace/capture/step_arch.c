/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls, in terms of step_arch.h: what is the same on both architectures. */
#include <sys/syscall.h>

#include "step_arch.h"

bool arch_restarts(const struct arch_regs *r)
{
	int64_t v = (int64_t)r->result;

	/* ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK: tracers see them */
	return r->call >= 0 && (v == -512 || v == -513 || v == -514 || v == -516);
}

bool arch_remaps(int64_t nr)
{
	return nr == SYS_mmap || nr == SYS_munmap || nr == SYS_mprotect || nr == SYS_mremap ||
		nr == SYS_pkey_mprotect || nr == SYS_shmat || nr == SYS_shmdt ||
		nr == SYS_remap_file_pages;
}

bool arch_sets_trap(const struct arch_regs *r)
{
	return r->call == SYS_rt_sigaction && (int)r->args[0] == SIGTRAP && r->args[1];
}
