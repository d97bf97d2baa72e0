/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_VIREC_H
#define TESTS_VIREC_H

/* Virtual records from text, and the kernel's own classic BPF with records as packets. */
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/filter.h>

#define VIREC_MAX	4608

struct virec {
	uint64_t buf[VIREC_MAX / 8];
	size_t size;
	int32_t cpu;		/* "cpu=", else -1 */
};

/*
 * "sched.switch tid=7 prev_prio=-1 prev_comm=init": all that is not given is not known; also pid,
 * tid, time, hit, cpu and version of the record. Names of values are not understood;
 * "\\xNN" is a byte. Ends the
 * program with a message if the text is wrong.
 */
void virec_make(struct virec *r, const char *text);

/*
 * Runs a program over a record in the kernel: 1 if it passes, 0 if not, -1 if the kernel can not be
 * asked here (why is then on stderr). Programs that load HWT_BPF_CPU see the CPU that sends.
 */
int virec_kernel(const struct hwt_bpf_insn *v, size_t n, const void *rec, size_t size);

#endif
