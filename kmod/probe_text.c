// SPDX-License-Identifier: GPL-2.0-only
/* Code that changes: modules, text patches, code made at run time. */
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <trace/events/module.h>

#include "compat/compat.h"
#include "hook.h"
#include "probe.h"

static void on_load(void *data, struct module *m)
{
	struct vtp_more more = { .text = m->name };
	struct hwt_rec_text_module_load r = { .taints = m->taints };

	compat_module_text(m, &r.addr, &r.size);
#ifdef CONFIG_STACKTRACE_BUILD_ID
	if (memchr_inv(m->build_id, 0, BUILD_ID_SIZE_MAX)) {
		r.build_id[0] = BUILD_ID_SIZE_MAX;
		memcpy(r.build_id + 1, m->build_id, BUILD_ID_SIZE_MAX);
	}
#endif
	probe_text(&more, sizeof(r));
	r.name_size = vtp_text_size(more.len);
	vtp_text_module_load(&r, &more);
}

static void on_unload(void *data, struct module *m)
{
	struct vtp_more more = { .text = m->name };
	struct hwt_rec_text_module_unload r;
	u64 size;

	compat_module_text(m, &r.addr, &size);
	r.size = size;
	probe_text(&more, sizeof(r));
	r.name_size = vtp_text_size(more.len);
	vtp_text_module_unload(&r, &more);
}

static const struct vtp_more no_ctx = { .no_ctx = true };

/* Pieces of up to 16 bytes; of what is not known (a length of 0) there are zeroes. */
static void __maybe_unused put_patch(const u8 *addr, const u8 *old, size_t old_len, const u8 *new,
				     size_t new_len)
{
	size_t n = max(old_len, new_len), at;

	for (at = 0; at < n; at += 16) {
		struct hwt_rec_text_patch r = { .addr = (unsigned long)(addr + at),
			.size = min_t(size_t, n - at, 16), .kind = HWT_patch_kind_other };

		if (at < old_len)
			memcpy(r.old_code, old + at, min_t(size_t, old_len - at, 16));
		if (at < new_len)
			memcpy(r.new_code, new + at, min_t(size_t, new_len - at, 16));
		vtp_text_patch(&r, &no_ctx);
	}
}

#ifdef CONFIG_X86
/*
 * perf_event_text_poke(addr, old, old_len, new, new_len): all patches of a running x86 kernel come
 * here. A trampoline that is longer than PATCH_MAX is told by its first bytes: the handler must
 * not stay long.
 */
#define PATCH_MAX	512

static int on_patch(struct kprobe *kp, struct pt_regs *regs)
{
	const u8 *old = (void *)regs_get_kernel_argument(regs, 1);
	const u8 *new = (void *)regs_get_kernel_argument(regs, 3);
	size_t old_len = regs_get_kernel_argument(regs, 2);
	size_t new_len = regs_get_kernel_argument(regs, 4);

	put_patch((void *)regs_get_kernel_argument(regs, 0), old,
		  old ? min_t(size_t, old_len, PATCH_MAX) : 0, new,
		  new ? min_t(size_t, new_len, PATCH_MAX) : 0);
	return 0;
}
#else
/*
 * The last static branch that was told and that a CPU may still run as it was. The kernel's lock of
 * static branches is held from the first one of several to what makes all CPUs see them.
 */
static struct hwt_rec_text_patch last_branch;

/*
 * arch_jump_label_transform_queue(entry, type): static branches of arm64, which tells perf nothing.
 * What the function tracer patches is not seen.
 */
static int on_branch(struct kprobe *kp, struct pt_regs *regs)
{
	struct jump_entry *entry = (void *)regs_get_kernel_argument(regs, 0);
	unsigned long addr = jump_entry_code(entry), to = jump_entry_target(entry);
	struct hwt_rec_text_patch r = { .addr = addr, .size = 4,
		.kind = HWT_patch_kind_branch };
	/* NOP, or B with its offset in words (Arm DDI 0487, C6.2) */
	__le32 code = cpu_to_le32(0xd503201f);

	if (regs_get_kernel_argument(regs, 1) == JUMP_LABEL_JMP)
		code = cpu_to_le32(0x14000000 | ((to - addr) >> 2 & 0x3ffffff));
	memcpy(r.old_code, (void *)addr, 4);
	memcpy(r.new_code, &code, 4);
	last_branch = r;
	vtp_text_patch(&r, &no_ctx);
	return 0;
}

/*
 * arch_jump_label_transform_apply() has interrupted each CPU, which then fetches code anew. What
 * was told before the hook was in place is not known, and needs no end.
 */
static int on_branches(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct hwt_rec_text_patch r = last_branch;

	if (!r.size)
		return 0;
	last_branch.size = 0;
	r.kind = HWT_patch_kind_branch_done;
	memcpy(r.old_code, r.new_code, sizeof(r.old_code));
	vtp_text_patch(&r, &no_ctx);
	return 0;
}
#endif

/* perf_event_ksymbol(type, addr, len, unregister, name) */
static int on_ksymbol(struct kprobe *kp, struct pt_regs *regs)
{
	u16 type = regs_get_kernel_argument(regs, 0);
	struct vtp_more more = { .text = (void *)regs_get_kernel_argument(regs, 4),
		.no_ctx = true };
	struct hwt_rec_text_ksymbol r = { .addr = regs_get_kernel_argument(regs, 1),
		.size = regs_get_kernel_argument(regs, 2) };

	r.kind = type == PERF_RECORD_KSYMBOL_TYPE_BPF ? HWT_code_kind_bpf :
		type == PERF_RECORD_KSYMBOL_TYPE_OOL ? HWT_code_kind_page : U32_MAX;
	r.removed = !!(regs_get_kernel_argument(regs, 3) & 0xff);
	probe_text(&more, sizeof(r));
	r.name_size = vtp_text_size(more.len);
	vtp_text_ksymbol(&r, &more);
	return 0;
}

struct hook hooks_text[] = {
#ifdef CONFIG_X86
	{ HOOK_KP("perf_event_text_poke", on_patch, VTP_text_patch) },
#else
	/* first, so that no branch is told whose end is not */
	{ HOOK_RET("arch_jump_label_transform_apply", on_branches, VTP_text_patch) },
	{ HOOK_KP("arch_jump_label_transform_queue", on_branch, VTP_text_patch) },
#endif
	{ HOOK_KP("perf_event_ksymbol", on_ksymbol, VTP_text_ksymbol) },
	{ HOOK_TP(module_load, on_load, VTP_text_module_load) },
	{ HOOK_TP(module_free, on_unload, VTP_text_module_unload) },
	{}
};
