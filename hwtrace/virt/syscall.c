/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall: include/trace/events/syscalls.h of Linux, one event for all calls or one for each. */
#include "priv.h"

#define X32_BIT		0x40000000u	/* of the number of an x32 call */
#define ABI_OWN		0xff		/* that of the kernel, which is not told */
#define OWN_ARGS	1u		/* item() with no name: behind the call's number */

/* A 64-bit kernel does not tell how it was called where one event is for all calls. */
static void set_number(const struct virt_in *in, __u64 id, uint32_t *nr, uint32_t *abi)
{
	*nr = (uint32_t)id;
	if (in->s->arch == ARCH_X86_64 && *nr & X32_BIT && *nr != UNKNOWN32) {
		*nr &= ~X32_BIT;
		*abi = HWT_syscall_abi_x32;
	} else if (in->s->arch == ARCH_X86_32 || in->s->arch == ARCH_ARM) {
		*abi = HWT_syscall_abi_bits32;
	}
}

/* The same call was told by an event of its own just before. */
static bool told(const struct virt_in *in, uint32_t nr)
{
	struct virt_state *s = in->s;
	bool same = !s->raw_syscalls && s->call_id == in->m->id && s->call_nr == nr &&
		s->call_tid == in->c->tid;

	s->raw_syscalls = true;
	return same;
}

static void set_args(const struct virt_in *in, const char *field, unsigned first,
		     struct hwt_rec_syscall_enter *r)
{
	uint64_t v;
	__u64 *const args[] = { &r->arg0, &r->arg1, &r->arg2, &r->arg3, &r->arg4, &r->arg5 };

	for (unsigned i = 0; in->g->item && i < 6; i++) {
		if (in->g->item(in->g->arg, field, first + i, &v) <= 0)
			break;
		*args[i] = v;
	}
}

static int make_raw_enter(const struct virt_in *in, void *rec)
{
	struct hwt_rec_syscall_enter *r = rec;
	__u64 id;

	if (!get_u64(in, "id", &id))
		return 0;
	set_number(in, id, &r->nr, &r->abi);
	if (told(in, r->nr))
		return 0;
	set_args(in, "args", 0, r);
	return 1;
}

static int make_raw_exit(const struct virt_in *in, void *rec)
{
	struct hwt_rec_syscall_exit *r = rec;
	__u64 id, ret;

	/* of sigreturn the kernel has no number any more, and the event is none */
	if (!get_u64(in, "id", &id) || (int64_t)id < 0)
		return 0;
	set_number(in, id, &r->nr, &r->abi);
	if (told(in, r->nr))
		return 0;
	if (get_u64(in, "ret", &ret))
		r->ret = (int64_t)ret;
	return 1;
}

/* Events for each call: those of other ABIs than the kernel's own do not come here. */
static bool own_number(const struct virt_in *in, uint32_t *nr, uint32_t *abi)
{
	struct virt_state *s = in->s;
	__u64 id;

	if (s->raw_syscalls || (!get_u64(in, "__syscall_nr", &id) && !get_u64(in, "nr", &id)))
		return false;
	set_number(in, id, nr, abi);
	if (s->arch == ARCH_X86_64 || s->arch == ARCH_ARM64)
		*abi = HWT_syscall_abi_bits64;
	s->call_id = in->m->id;
	s->call_nr = *nr;
	s->call_tid = in->c->tid;
	return true;
}

static int make_own_enter(const struct virt_in *in, void *rec)
{
	struct hwt_rec_syscall_enter *r = rec;

	if (!own_number(in, &r->nr, &r->abi))
		return 0;
	set_args(in, NULL, OWN_ARGS, r);
	return 1;
}

static int make_own_exit(const struct virt_in *in, void *rec)
{
	struct hwt_rec_syscall_exit *r = rec;
	__u64 ret;

	if (!own_number(in, &r->nr, &r->abi))
		return 0;
	if (get_u64(in, "ret", &ret))
		r->ret = (int64_t)ret;
	return 1;
}

/*
 * LTTng names the call but not its number, and arguments it gives by their meaning. Old releases
 * said "sys_open" and "exit_syscall".
 */
static int make_lttng_enter(const struct virt_in *in, void *rec)
{
	struct hwt_rec_syscall_enter *r = rec;

	get_u32(in, "id", &r->nr);	/* of a call that it does not know */
	if (in->m->arg != ABI_OWN)
		r->abi = in->m->arg;
	return 1;
}

static int make_lttng_exit(const struct virt_in *in, void *rec)
{
	struct hwt_rec_syscall_exit *r = rec;
	__u64 ret;

	get_u32(in, "id", &r->nr);
	if (get_u64(in, "ret", &ret))
		r->ret = (int64_t)ret;
	if (in->m->arg != ABI_OWN)
		r->abi = in->m->arg;
	return 1;
}

#define LTTNG_ENTER(name, abi) \
	MAP(ON_LTTNG, NULL, name, syscall, enter, make_lttng_enter, .arg = abi)
#define LTTNG_EXIT(name, abi) \
	MAP(ON_LTTNG, NULL, name, syscall, exit, make_lttng_exit, .arg = abi)

const struct virt_map virt_syscall_maps[] = {
	MAP(ON_LINUX, "raw_syscalls", "sys_enter", syscall, enter, make_raw_enter),
	MAP(ON_LINUX, "raw_syscalls", "sys_exit", syscall, exit, make_raw_exit),
	MAP(ON_LINUX, "syscalls", "sys_enter_*", syscall, enter, make_own_enter),
	MAP(ON_LINUX, "syscalls", "sys_exit_*", syscall, exit, make_own_exit),
	LTTNG_ENTER("syscall_entry_*", ABI_OWN),
	LTTNG_EXIT("syscall_exit_*", ABI_OWN),
	LTTNG_ENTER("compat_syscall_entry_*", HWT_syscall_abi_bits32),
	LTTNG_EXIT("compat_syscall_exit_*", HWT_syscall_abi_bits32),
	LTTNG_ENTER("sys_*", ABI_OWN),
	LTTNG_ENTER("compat_sys_*", HWT_syscall_abi_bits32),
	LTTNG_EXIT("exit_syscall", ABI_OWN),
	{ 0 }
};
