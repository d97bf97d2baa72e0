/* SPDX-License-Identifier: BSD-2-Clause */
/* Single steps on arm64. Encodings are those of the Arm ARM (DDI 0487), C4.1. */
#include <string.h>

#include "step_arch.h"

static uint32_t word(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* LDXR, LDAXR, LDXP, STXR, ...: not CASP, which has the same class and a size below 2. */
static bool is_exclusive(uint32_t w, bool load)
{
	return (w & 0x3f800000) == 0x08000000 && !!(w & 1u << 22) == load &&
		(!(w & 1u << 21) || w >> 31);
}

/* Conditional branches; *@to from the place @pc. */
static bool is_conditional(uint32_t w, uint64_t pc, uint64_t *to)
{
	int32_t off;

	if ((w & 0xff000010) == 0x54000000 || (w & 0x7e000000) == 0x34000000)
		off = (int32_t)(w << 8) >> 13;		/* B.cond, CBZ, CBNZ: imm19 at bit 5 */
	else if ((w & 0x7e000000) == 0x36000000)
		off = (int32_t)(w << 13) >> 18;		/* TBZ, TBNZ: imm14 at bit 5 */
	else
		return false;
	*to = pc + (uint64_t)((int64_t)off * 4);
	return true;
}

/* Everything else that does not go on with the next instruction. */
static bool is_other_flow(uint32_t w)
{
	return (w & 0x7c000000) == 0x14000000 ||	/* B, BL */
		(w & 0xfe000000) == 0xd6000000 ||	/* BR, BLR, RET, ERET */
		(w & 0xff000000) == 0xd4000000;		/* SVC, BRK, HLT, ... */
}

/*
 * One conditional branch out of the sequence is understood: compilers make no more of them. With
 * two to one place it would not be known which was taken.
 */
void arch_a64_sequence(struct arch_sequence *q, uint64_t pc, const uint8_t *p, size_t n)
{
	uint64_t to, out = 0;
	uint32_t left = 0;

	q->pc = pc;
	q->nends = 0;
	if (n < 8 || !is_exclusive(word(p), true))
		return;
	for (uint32_t i = 1; i < n / 4; i++) {
		uint32_t w = word(p + i * 4);
		uint64_t at = pc + i * 4;

		if (is_conditional(w, at, &to)) {
			if (left)
				return;
			out = to;
			left = i + 1;
		} else if (is_other_flow(w) || is_exclusive(w, true)) {
			return;
		} else if (is_exclusive(w, false)) {
			if (left && out >= pc && out <= at + 4)
				return;
			q->ends[0] = at + 4;
			q->ran[0] = i + 1;
			q->ends[1] = out;
			q->ran[1] = left;
			q->nends = left ? 2 : 1;
			return;
		}
	}
}

#if defined(__aarch64__)
#include <asm/ptrace.h>
#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "../model/model.h"

bool arch_begins(const uint8_t *p, size_t n)
{
	return n >= 4 && is_exclusive(word(p), true);
}

void arch_sequence(struct arch_sequence *q, uint64_t pc, const uint8_t *p, size_t n)
{
	arch_a64_sequence(q, pc, p, n);
}

int arch_regs(int32_t tid, struct arch_regs *r)
{
	struct user_regs_struct u;
	struct iovec iov = { &u, sizeof(u) };
	int call = -1;

	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &iov))
		return -errno;
	/* the kernel gives the smaller set of a 32-bit thread */
	if (iov.iov_len != sizeof(u))
		return -ENOSYS;
	iov = (struct iovec){ &call, sizeof(call) };
	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_ARM_SYSTEM_CALL, &iov))
		call = -1;
	*r = (struct arch_regs){ .pc = u.pc, .sp = u.sp, .lr = u.regs[30], .result = u.regs[0],
		.call = call, .args = { u.regs[0], u.regs[1], u.regs[2], u.regs[3], u.regs[4],
		u.regs[5] }, .isa = MODEL_A64 };
	return 0;
}

bool arch_is_call(unsigned isa, const uint8_t *p, size_t n)
{
	return n >= 4 && (word(p) & 0xffe0001f) == 0xd4000001;	/* SVC */
}

bool arch_is_break(unsigned isa, const uint8_t *p, size_t n)
{
	return false;	/* BRK has a code of its own */
}

bool arch_traps(unsigned isa, const uint8_t *p, size_t n)
{
	return n >= 4 && (word(p) & 0xffe0001f) == 0xd4200000;	/* BRK */
}

int arch_rewind(int32_t tid, const struct arch_regs *r, int mem)
{
	uint8_t b[4];

	/* BRK leaves the thread where it is */
	return pread(mem, b, sizeof(b), (off_t)r->pc) == sizeof(b) &&
		arch_traps(r->isa, b, sizeof(b)) ? 0 : -ENOENT;
}

bool arch_is_vsyscall(uint64_t pc)
{
	return false;
}

uint64_t arch_return(const struct arch_regs *r, int mem)
{
	return r->lr;
}

enum arch_stop arch_stop(const siginfo_t *si, bool broke, bool call)
{
	switch (si->si_code) {
	case TRAP_TRACE: return ARCH_STEPPED;
	case TRAP_HWBKPT: return ARCH_BREAK;
	case SIGTRAP: return ARCH_HANDLER;	/* ptrace_notify() of the kernel */
	/* generic report of a system call's end: a code of users, but nobody sent it */
	case SI_USER: return si->si_pid ? ARCH_SIGNAL : ARCH_CALLED;
	default: return ARCH_SIGNAL;
	}
}

int arch_breaks(int32_t tid, const uint64_t *addr, size_t n)
{
	struct user_hwdebug_state st = { 0 };
	struct iovec iov = { &st, sizeof(st) };
	size_t have;

	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_ARM_HW_BREAK, &iov))
		return -errno;
	have = st.dbg_info & 0xff;
	if (n > have)
		return -ENOSPC;
	for (size_t i = 0; i < have && i < ARCH_BREAKS; i++) {
		st.dbg_regs[i].addr = i < n ? addr[i] : 0;
		/* DBGBCR: all four bytes, EL0, enabled */
		st.dbg_regs[i].ctrl = i < n ? 0xf << 5 | 2 << 1 | 1 : 0;
	}
	iov = (struct iovec){ &st, offsetof(struct user_hwdebug_state, dbg_regs) +
		(have < ARCH_BREAKS ? have : ARCH_BREAKS) * sizeof(st.dbg_regs[0]) };
	return ptrace(PTRACE_SETREGSET, tid, (void *)(uintptr_t)NT_ARM_HW_BREAK, &iov) ?
		-errno : 0;
}

void arch_fix(const struct arch_regs *r, const uint8_t *p, size_t n, int mem)
{
}
#endif
