/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_STEP_ARCH_H
#define HWT_CAPTURE_STEP_ARCH_H

/* What differs between x86-64 and arm64 when a thread is single-stepped. */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_INSN_BYTES	16	/* read at each address: longest instruction, and more on arm64 */
#define ARCH_BREAKS	4	/* breakpoints used of the debug registers */

#if defined(__x86_64__)
#define ARCH_USER_LEVEL	3	/* CPL */
#define ARCH_USER_ISA	MODEL_X86_64
#else
#define ARCH_USER_LEVEL	0	/* EL */
#define ARCH_USER_ISA	MODEL_A64
#endif

struct arch_regs {
	uint64_t pc, sp;
	uint64_t lr;		/* arm64: return address at the entry of a function */
	uint64_t result;	/* of a system call */
	int64_t call;		/* number of the system call, negative: not in one */
	uint64_t args[6];	/* of it, at its begin */
	uint8_t isa;		/* enum model_isa */
	bool own_trap;		/* x86: the program itself has set the trap flag */
};

/* 0; -ENOSYS: the thread runs code of another architecture; or a negated errno. */
int arch_regs(int32_t tid, struct arch_regs *r);
/* The instruction enters the kernel by itself. */
bool arch_is_call(unsigned isa, const uint8_t *p, size_t n);
/* The instruction raises a SIGTRAP that looks like that of a step. */
bool arch_is_break(unsigned isa, const uint8_t *p, size_t n);
/* The instruction raises a SIGTRAP. */
bool arch_traps(unsigned isa, const uint8_t *p, size_t n);
/* Goes back to it from where it has left the thread; 0, or a negated errno if it was none. */
int arch_rewind(int32_t tid, const struct arch_regs *r, int mem);
/* Of the instruction that calls the kernel, bytes. */
#if defined(__x86_64__)
#define ARCH_CALL_SIZE	2
#else
#define ARCH_CALL_SIZE	4
#endif

/* The system call that returned @r is run again, by the kernel, if no handler comes between. */
bool arch_restarts(const struct arch_regs *r);
/* System call @nr may change what code is mapped. */
bool arch_remaps(int64_t nr);
/* The system call that begins changes what SIGTRAP does. */
bool arch_sets_trap(const struct arch_regs *r);
/* Code that the kernel runs instead of the program: goes on at the return address. */
bool arch_is_vsyscall(uint64_t pc);
/* Return address at the entry of a function, 0 if it can not be read. */
uint64_t arch_return(const struct arch_regs *r, int mem);

enum arch_stop {
	ARCH_STEPPED,		/* one instruction ran */
	ARCH_CALLED,		/* a system call returned */
	ARCH_HANDLER,		/* a signal handler was entered, nothing ran */
	ARCH_BREAK,		/* a breakpoint of ours was reached, nothing ran */
	ARCH_SIGNAL		/* a SIGTRAP of the program's own */
};

/* What a stop by SIGTRAP means. @broke: the instruction was arch_is_break(), @call: a call. */
enum arch_stop arch_stop(const siginfo_t *si, bool broke, bool call);
/*
 * Sets the debug registers to break at @n addresses (0: none). Others of the thread are left. A
 * negated errno if the system has none.
 */
int arch_breaks(int32_t tid, const uint64_t *addr, size_t n);
/* Puts right what the instruction saw of being stepped. */
void arch_fix(const struct arch_regs *r, const uint8_t *p, size_t n, int mem);

/*
 * A sequence that can not succeed while it is stepped (arm64 load and store exclusive), or an
 * instruction that steps would change (POPF), begun at @pc: it has to run in one go, up to one of
 * @ends. ran[i] instructions in a row from @pc on ran if it stopped at ends[i]. @nends is 0 if the
 * instruction begins none.
 */
struct arch_sequence {
	uint64_t pc, ends[2];
	uint32_t nends, ran[2];
};

#define ARCH_SEQUENCE_BYTES	64	/* read to look for one */

/* Whether the instruction may begin one: a quick look. */
bool arch_begins(const uint8_t *p, size_t n);
void arch_sequence(struct arch_sequence *q, uint64_t pc, const uint8_t *p, size_t n);
/* That of arm64, everywhere. */
void arch_a64_sequence(struct arch_sequence *q, uint64_t pc, const uint8_t *p, size_t n);

#endif
