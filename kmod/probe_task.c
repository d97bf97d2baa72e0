// SPDX-License-Identifier: GPL-2.0-only
/* What a task does for itself: system calls, page faults, mappings of code. */
#include <linux/mm.h>
#include <linux/compat.h>
#include <asm/syscall.h>
#include <trace/events/syscalls.h>
#ifdef CONFIG_X86
#include <asm/trap_pf.h>
#include <asm/trace/exceptions.h>
#endif

#include "hook.h"
#include "place.h"
#include "probe.h"
#include "vma.h"

#define PATH_BYTES	1024	/* longer ones are told as "-" and cut */

static DEFINE_PER_CPU(char[PATH_BYTES], path_buf);

static u32 abi_of_call(void)
{
#ifdef CONFIG_X86_X32_ABI
	if (in_x32_syscall())
		return HWT_syscall_abi_x32;
#endif
	return in_compat_syscall() ? HWT_syscall_abi_bits32 : HWT_syscall_abi_bits64;
}

static __always_inline void fill_enter(struct hwt_rec_syscall_enter *r, struct pt_regs *regs,
				       long id)
{
	unsigned long args[6] VTP_ALL_SET;
	u32 abi = abi_of_call();

	syscall_get_arguments(current, regs, args);
	r->nr = id;
	r->abi = abi;
	r->arg0 = args[0];
	r->arg1 = args[1];
	r->arg2 = args[2];
	r->arg3 = args[3];
	r->arg4 = args[4];
	r->arg5 = args[5];
}

static noinline notrace void enter_staged(u64 hit, struct pt_regs *regs, long id)
{
	struct hwt_rec_syscall_enter r VTP_ALL_SET;

	fill_enter(&r, regs, id);
	PLACE_GIVE(syscall, enter, &r, hit);
}

static PLACE_PROBE void on_enter(void *data, struct pt_regs *regs, long id)
{
	struct hwt_rec_syscall_enter *r;
	struct place at;

	compat_call_begin();
	if (PLACE_OPEN(syscall, enter, &at, &r)) {
		fill_enter(r, regs, id);
		PLACE_DONE(syscall, enter, &at, r);
	} else {
		enter_staged(at.hit, regs, id);
	}
	PLACE_RETURN();
	compat_call_end();
}

static __always_inline void fill_exit(struct hwt_rec_syscall_exit *r, int nr, long ret)
{
	r->nr = nr;
	r->abi = abi_of_call();
	r->ret = ret;
}

static noinline notrace void exit_staged(u64 hit, int nr, long ret)
{
	struct hwt_rec_syscall_exit r VTP_ALL_SET;

	fill_exit(&r, nr, ret);
	PLACE_GIVE(syscall, exit, &r, hit);
}

static PLACE_PROBE void on_leave(void *data, struct pt_regs *regs, long ret)
{
	struct hwt_rec_syscall_exit *r;
	int nr = syscall_get_nr(current, regs);
	struct place at;

	/* sigreturn has put other registers in place: its number is gone */
	if (nr < 0)
		return;
	compat_call_begin();
	if (PLACE_OPEN(syscall, exit, &at, &r)) {
		fill_exit(r, nr, ret);
		PLACE_DONE(syscall, exit, &at, r);
	} else {
		exit_staged(at.hit, nr, ret);
	}
	PLACE_RETURN();
	compat_call_end();
}

#ifdef CONFIG_X86
static void on_fault(void *data, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	struct hwt_rec_mm_fault r = { .addr = address, .ip = regs->ip };

	r.access = (code & X86_PF_WRITE ? HWT_access_bit_write : 0) |
		(code & X86_PF_INSTR ? HWT_access_bit_fetch : 0) |
		(code & X86_PF_USER ? HWT_access_bit_user : 0) |
		(code & X86_PF_PROT ? HWT_access_bit_present : 0);
	vtp_mm_fault(&r, NULL);
}
#else
/*
 * handle_mm_fault(vma, address, flags, regs): the exception's own functions can not be probed. A
 * fault outside of all mappings does not come here, one that is tried again comes again.
 */
static int on_fault(struct kprobe *kp, struct pt_regs *regs)
{
	unsigned long flags = regs_get_kernel_argument(regs, 2);
	struct pt_regs *at = (void *)regs_get_kernel_argument(regs, 3);
	static const struct vtp_more more = { .no_ctx = true };
	struct hwt_rec_mm_fault r;

	if (!at || flags & FAULT_FLAG_TRIED)
		return 0;	/* the kernel asks for a page; or it was told before */
	r.addr = regs_get_kernel_argument(regs, 1);
	r.ip = at->pc;
	r.access = (flags & FAULT_FLAG_WRITE ? HWT_access_bit_write : 0) |
		(flags & FAULT_FLAG_INSTRUCTION ? HWT_access_bit_fetch : 0) |
		(flags & FAULT_FLAG_USER ? HWT_access_bit_user : 0);
	vtp_mm_fault(&r, &more);
	return 0;
}
#endif

/* The kernel tells perf of a mapping here, when it is in place and after its rights changed. */
static int on_map(struct kprobe *kp, struct pt_regs *regs)
{
	struct vm_area_struct *v = (void *)regs_get_kernel_argument(regs, 0);
	struct vtp_more more = { .no_ctx = true };
	struct hwt_rec_mm_map r;
	struct vma_facts f;

	if (!(v->vm_flags & VM_EXEC))
		return 0;
	memset(&r, 0, sizeof(r));
	vma_look(&f, v, this_cpu_ptr(path_buf), PATH_BYTES);
	vtp_task(&r.map_pid, &r.map_tid, current);
	r.addr = v->vm_start;
	r.length = v->vm_end - v->vm_start;
	r.offset = f.offset;
	r.inode = f.inode;
	r.inode_gen = f.inode_gen;
	r.major = f.major;
	r.minor = f.minor;
	r.prot = f.prot;
	r.kind = f.kind;
	r.shared = f.shared;
	more.text = f.path;
	more.flags = f.cut ? HWT_REC_CUT : 0;
	probe_text(&more, sizeof(r));
	r.path_size = vtp_text_size(more.len);
	vtp_mm_map(&r, &more);
	return 0;
}

/* Both functions have (iterator, mm, start, length, ...). */
static int on_unmap(struct kprobe *kp, struct pt_regs *regs)
{
	struct mm_struct *mm = (void *)regs_get_kernel_argument(regs, 1);
	static const struct vtp_more more = { .no_ctx = true };
	struct hwt_rec_mm_unmap r;

	r.addr = regs_get_kernel_argument(regs, 2);
	r.length = PAGE_ALIGN(regs_get_kernel_argument(regs, 3));
	/* a program that is being put in place; or nothing is there, as for most new mappings */
	if (mm != current->mm || !find_vma_intersection(mm, r.addr, r.addr + r.length))
		return 0;
	vtp_task(&r.map_pid, &r.map_tid, current);
	vtp_mm_unmap(&r, &more);
	return 0;
}

struct hook hooks_task[] = {
	{ HOOK_TP(sys_enter, on_enter, VTP_syscall_enter) },
	{ HOOK_TP(sys_exit, on_leave, VTP_syscall_exit) },
#ifdef CONFIG_X86
	{ HOOK_TP(page_fault_user, on_fault, VTP_mm_fault) },
	{ HOOK_TP(page_fault_kernel, on_fault, VTP_mm_fault) },
#else
	{ HOOK_KP("handle_mm_fault", on_fault, VTP_mm_fault) },
#endif
	{ HOOK_KP("perf_event_mmap", on_map, VTP_mm_map) },
	{ HOOK_KP("do_vmi_munmap", on_unmap, VTP_mm_unmap) },
	{ .unless = "do_vmi_munmap", HOOK_KP("do_mas_munmap", on_unmap, VTP_mm_unmap) },
	{}
};
