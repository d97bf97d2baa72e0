/* SPDX-License-Identifier: BSD-2-Clause */
/* Single steps on x86-64. */
#if defined(__x86_64__)
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "../model/model.h"
#include "step_arch.h"

#define FLAG_TF		0x100u
#define CS_COMPAT	0x23	/* __USER32_CS: 32-bit code in a 64-bit process */

int arch_regs(int32_t tid, struct arch_regs *r)
{
	struct user_regs_struct u;
	struct iovec iov = { &u, sizeof(u) };

	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &iov))
		return -errno;
	/* the kernel gives the smaller set of an i386 thread */
	if (iov.iov_len != sizeof(u))
		return -ENOSYS;
	*r = (struct arch_regs){ .pc = u.rip, .sp = u.rsp, .result = u.rax,
		.call = (int64_t)u.orig_rax,
		.args = { u.rdi, u.rsi, u.rdx, u.r10, u.r8, u.r9 },
		.isa = u.cs == CS_COMPAT ? MODEL_X86_32 : MODEL_X86_64,
		/* the kernel hides the flag that single-stepping sets */
		.own_trap = u.eflags & FLAG_TF };
	return 0;
}

/* Bytes of legacy and REX prefixes (SDM vol. 2, 2.1.1 and 2.2.1). */
static size_t prefixes(unsigned isa, const uint8_t *p, size_t n)
{
	size_t i = 0;

	while (i < n && (p[i] == 0x66 || p[i] == 0x67 || p[i] == 0x2e || p[i] == 0x36 ||
			 p[i] == 0x3e || p[i] == 0x26 || p[i] == 0x64 || p[i] == 0x65 ||
			 p[i] == 0xf0 || p[i] == 0xf2 || p[i] == 0xf3 ||
			 (isa == MODEL_X86_64 && (p[i] & 0xf0) == 0x40)))
		i++;
	return i;
}

bool arch_is_call(unsigned isa, const uint8_t *p, size_t n)
{
	size_t i = prefixes(isa, p, n);

	if (i + 2 > n)
		return false;
	/* SYSCALL, SYSENTER, INT 80h */
	return (p[i] == 0x0f && (p[i + 1] == 0x05 || p[i + 1] == 0x34)) ||
		(p[i] == 0xcd && p[i + 1] == 0x80);
}

bool arch_is_break(unsigned isa, const uint8_t *p, size_t n)
{
	size_t i = prefixes(isa, p, n);

	/* INT1; INT3 has a code of its own */
	return i < n && p[i] == 0xf1;
}

bool arch_traps(unsigned isa, const uint8_t *p, size_t n)
{
	size_t i = prefixes(isa, p, n);

	/* INT3, INT 3, INT1 */
	return i < n && (p[i] == 0xcc || p[i] == 0xf1 ||
			 (p[i] == 0xcd && i + 1 < n && p[i + 1] == 3));
}

int arch_rewind(int32_t tid, const struct arch_regs *r, int mem)
{
	uint8_t b[2];
	uint64_t n = 1;

	if (pread(mem, b, sizeof(b), (off_t)(r->pc - 2)) != sizeof(b))
		return -EFAULT;
	if (b[0] == 0xcd && b[1] == 3)
		n = 2;
	else if (b[1] != 0xcc && b[1] != 0xf1)
		return -ENOENT;
	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rip), r->pc - n) ?
		-errno : 0;
}

bool arch_is_vsyscall(uint64_t pc)
{
	/* Documentation/arch/x86/x86_64/mm.rst of Linux: one page, emulated on a page fault */
	return pc >> 12 == 0xffffffffff600u;
}

uint64_t arch_return(const struct arch_regs *r, int mem)
{
	uint64_t v = 0;

	return pread(mem, &v, sizeof(v), (off_t)r->sp) == sizeof(v) ? v : 0;
}

enum arch_stop arch_stop(const siginfo_t *si, bool broke, bool call)
{
	/* INT3 has SI_KERNEL, kill(2) and friends codes up to 0 */
	switch (si->si_code) {
	case TRAP_TRACE: return broke ? ARCH_SIGNAL : ARCH_STEPPED;
	/* in virtual machines DR6 is lost now and then, and the kernel takes a step for INT1 */
	case TRAP_BRKPT: return broke ? ARCH_SIGNAL : call ? ARCH_CALLED : ARCH_STEPPED;
	case TRAP_HWBKPT: return ARCH_BREAK;
	case SIGTRAP: return ARCH_HANDLER;	/* ptrace_notify() of the kernel */
	default: return ARCH_SIGNAL;
	}
}

int arch_breaks(int32_t tid, const uint64_t *addr, size_t n)
{
	unsigned long dr7 = 0;

	/* a register can only be changed while it is off */
	if (ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[7]), 0ul))
		return -errno;
	for (size_t i = 0; i < n && i < ARCH_BREAKS; i++) {
		if (ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[i]), addr[i]))
			return -errno;
		/* local enable; type and length 0: execution (SDM vol. 3, 17.2.4) */
		dr7 |= 1ul << (2 * i);
	}
	if (dr7 && ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[7]), dr7))
		return -errno;
	return 0;
}

/* PUSHF stores the flag that stepping has set; POPF would then bring it back for good. */
void arch_fix(const struct arch_regs *r, const uint8_t *p, size_t n, int mem)
{
	size_t i = prefixes(r->isa, p, n);
	uint16_t flags;

	if (i >= n || p[i] != 0x9c || r->own_trap ||
	    pread(mem, &flags, sizeof(flags), (off_t)r->sp) != sizeof(flags) ||
	    !(flags & FLAG_TF))
		return;
	flags &= (uint16_t)~FLAG_TF;
	/* no more can be done if it fails: the page was written a moment ago */
	if (pwrite(mem, &flags, sizeof(flags), (off_t)r->sp) < 0)
		return;
}

bool arch_begins(const uint8_t *p, size_t n)
{
	size_t i = prefixes(MODEL_X86_64, p, n);

	return i < n && p[i] == 0x9d;
}

/*
 * POPF under single-step leaves the flag set for good: the kernel then takes it for the program's.
 * Transactions fall back by themselves.
 */
void arch_sequence(struct arch_sequence *q, uint64_t pc, const uint8_t *p, size_t n)
{
	size_t i = prefixes(MODEL_X86_64, p, n);

	q->nends = 0;
	if (!arch_begins(p, n))
		return;
	q->pc = pc;
	q->nends = q->ran[0] = 1;
	q->ends[0] = pc + i + 1;
}
#endif
