/* SPDX-License-Identifier: BSD-2-Clause */
/* mm and text: include/trace/events/exceptions.h and module.h of Linux, and LTTng's. */
#include "priv.h"

/*
 * Bits of the error code of an x86 page fault (Intel SDM volume 3, 4.7): 0 not for absence, 1
 * write, 2 by user code, 4 fetch. Other architectures have codes of their own.
 */
static int make_fault(const struct virt_in *in, void *rec)
{
	struct hwt_rec_mm_fault *r = rec;
	enum virt_arch a = in->s->arch;
	__u64 code;

	if (!get_u64(in, "address", &r->addr))
		return 0;
	get_u64(in, "ip", &r->ip);
	if (!get_u64(in, "error_code", &code) ||
	    (a != ARCH_X86_64 && a != ARCH_X86_32 && !in->m->arg))
		return 1;
	r->access = (code & 2 ? HWT_access_bit_write : 0u) |
		(code & 16 ? HWT_access_bit_fetch : 0u) |
		(code & 4 ? HWT_access_bit_user : 0u) |
		(code & 1 ? HWT_access_bit_present : 0u);
	return 1;
}

static int make_load(const struct virt_in *in, void *rec)
{
	struct hwt_rec_text_module_load *r = rec;
	const char *p;
	size_t n;

	if (in->g->string(in->g->arg, "name", &p, &n) <= 0)
		return 0;
	get_u32(in, "taints", &r->taints);
	virt_set_text(rec, p, n);
	return 1;
}

static int make_unload(const struct virt_in *in, void *rec)
{
	const char *p;
	size_t n;

	if (in->g->string(in->g->arg, "name", &p, &n) <= 0)
		return 0;
	virt_set_text(rec, p, n);
	return 1;
}

#define BOTH	(ON_LINUX | ON_LTTNG)
#define X86	1	/* by the event's name */

const struct virt_map virt_memory_maps[] = {
	MAP(ON_LINUX, "exceptions", "page_fault_user", mm, fault, make_fault),
	MAP(ON_LINUX, "exceptions", "page_fault_kernel", mm, fault, make_fault),
	MAP(ON_LTTNG, NULL, "x86_exceptions_page_fault_user", mm, fault, make_fault, .arg = X86),
	MAP(ON_LTTNG, NULL, "x86_exceptions_page_fault_kernel", mm, fault, make_fault, .arg = X86),
	MAP(BOTH, "module", "module_load", text, module_load, make_load),
	MAP(BOTH, "module", "module_free", text, module_unload, make_unload),
	{ 0 }
};
