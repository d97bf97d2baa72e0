/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_FILTER_H
#define HWTRACE_FILTER_H

/*
 * Which kernel events are wanted: a text such as
 *
 *	sched.switch where next_prio < 100 && prev_comm ~ "kworker*", irq.entry
 *
 * that is matched with records offline, or made into classic BPF that the kernel runs; both give
 * the same answer. Names and types are those of events.def. The language:
 *
 *	FILTER	one or more EVENT [where COND], separated by "," or lines; "#" begins a comment
 *	EVENT	a virtual event, or a pattern of them (sched.*); syscall.enter:NAME and
 *		syscall.exit:NAME are those of one system call; dirty:NAME, or a pattern of
 *		them, are events of a recording's own: tracepoints (dirty:kmem:kmalloc) and
 *		functions (dirty:kprobe:vfs_read)
 *	COND	FIELD OP VALUE, FIELD in {VALUE, LOW..HIGH, ...}, FIELD ~ "PATTERN" (!~: not),
 *		FIELD & BITS (any of them is set), known(FIELD), joined by && || ! ( )
 *	FIELD	a field of the event, or cpu pid tid time hit of the record, or ctx.NAME: a
 *		context field (hwtrace/contexts.def) that the recording has in each record
 *	OP	== != < <= > >=
 *	VALUE	a number (decimal, 0x), the name of a value (prev_state == sleep), names joined
 *		with "|", or a "string"; in a PATTERN * is any text and ? one character
 *
 * A comparison with a field whose value is not known is false, whatever it asks; "!" before it
 * makes it true. All fields of events of a recording's own are known. Time is that of the record,
 * in ticks of its counter.
 */
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/abi.h>
#include <hwtrace/err.h>

struct hwt_filter;

/*
 * Compiles @text. 0; or a negative code with @diag filled (its @off is the byte of @text that is
 * wrong) and *@out untouched: -HWT_E_FILTER, -ENOMEM. @arch is that of the traced machine
 * ("x86_64", "aarch64"), whose numbers names of system calls have; NULL: they are an error.
 */
int hwt_filter_new(struct hwt_filter **out, const char *text, struct hwt_diag *diag);
int hwt_filter_new_for(struct hwt_filter **out, const char *text, const char *arch,
		       struct hwt_diag *diag);
/*
 * The same with what only one recording has; hwt_kernel_filter() (hwtrace/kernel.h) knows it of a
 * capture. Zero is the default of each field.
 */
struct hwt_filter_opts {
	size_t size;			/* sizeof(struct hwt_filter_opts) */
	const char *arch;
	const struct hwt_abi_own *own;	/* events of its own, which outlive the filter */
	unsigned nown;
	uint32_t contexts;		/* fields of each record, bits of enum hwt_context */
};
int hwt_filter_new_opts(struct hwt_filter **out, const char *text, const struct hwt_filter_opts *o,
			struct hwt_diag *diag);
void hwt_filter_free(struct hwt_filter *f);	/* NULL is fine */

/*
 * 1 if the virtual record of @size bytes at @rec (aligned to 8) is wanted, or that of an event of
 * the recording's own; else 0, also for what is no whole record. Context lies behind the event's
 * own fields and before its text, as <hwtrace/kernel.h> has it. The first knows no CPU: @cpu is
 * HWT_NONE.
 */
int hwt_filter_match(const struct hwt_filter *f, const void *rec, size_t size);
int hwt_filter_match_on(const struct hwt_filter *f, const void *rec, size_t size, int32_t cpu);

/*
 * The same for an event of hwt_session_kernel(); 0 for events of a capture's own that the filter
 * does not name, and for what is no record.
 */
struct hwt_event;
int hwt_filter_wants(const struct hwt_filter *f, const struct hwt_event *ev);

/* Id of the @i-th event that the filter names, in order of ids; 0 past the end. */
unsigned hwt_filter_event(const struct hwt_filter *f, unsigned i);

/* Same layout as the kernel's struct sock_filter. */
struct hwt_bpf_insn {
	uint16_t code;
	uint8_t  jt, jf;
	uint32_t k;
};

#define HWT_BPF_MAX	4096	/* instructions of a program, as in the kernel */
#define HWT_BPF_CPU	0xfffff024u	/* place of a load: the CPU that runs (SKF_AD_CPU) */

/*
 * The filter's condition for records of event @event_id as classic BPF that returns all ones or 0.
 * Context is behind the event's own fields, as a kernel module of this version has it.
 * Loads are 32-bit words at offsets in the record, in the byte order of this machine: who attaches
 * it converts BPF_LD|BPF_W|BPF_ABS, which loads big-endian words, as seccomp does. Returns the
 * number of instructions; -HWT_E_FILTER with @diag filled if classic BPF can not tell: a text of
 * variable length, or a pattern over 16 bytes; -ENOSPC if @max or HWT_BPF_MAX is too small;
 * -ENOMEM.
 */
int hwt_filter_bpf(const struct hwt_filter *f, unsigned event_id, struct hwt_bpf_insn *v,
		   size_t max, struct hwt_diag *diag);
/*
 * Whether a program is one of those: it loads aligned words inside the first @size bytes of a
 * record (or HWT_BPF_CPU), computes without division, keeps words in the scratch memory that it
 * wrote before, jumps forward inside itself and ends with a return. 0 or -EINVAL.
 */
int hwt_bpf_check(const struct hwt_bpf_insn *v, size_t n, size_t size);
/*
 * Runs a checked program on a record; returns what the program does, 0 if a load lies outside of
 * the record. At most @n steps.
 */
uint32_t hwt_bpf_run(const struct hwt_bpf_insn *v, size_t n, const void *rec, size_t size,
		     int32_t cpu);

#endif
