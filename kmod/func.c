// SPDX-License-Identifier: GPL-2.0-only
#include <linux/filter.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>

#include "filter.h"
#include "func.h"
#include "mem.h"
#include "session.h"

#ifdef CONFIG_X86
#define REGISTERS	6	/* that arguments are passed in */
#else
#define REGISTERS	8
#endif

struct func_cpu {
	ring_local hits;
	u64 missed, nested;
	u64 told;		/* of both, as lost */
	bool noted;		/* the kernel took note of the call that is looked at */
};

struct func {
	struct kretprobe rp;	/* of a call only its kprobe is used */
	kprobe_pre_handler_t take;	/* of a return: what the kernel does at the call */
	struct session *s;
	struct hwt_kmod_probe p;
	struct bpf_prog *filter;
	unsigned long nested;	/* kprobe.nmissed at the start; after the end, since then */
	u16 id;
	bool there, in_place;	/* registered, enabled */
	bool on;		/* handlers tell */
	struct func_cpu cpu[];	/* nr_cpu_ids */
};

struct func_rec {
	struct hwt_rec_probe r;
	u64 arg[HWT_KMOD_ARGS];
};

static struct func *of_kprobe(struct kprobe *kp)
{
	return container_of(kp, struct func, rp.kp);
}

static u64 extend(const struct hwt_kmod_arg *a, u64 v)
{
	unsigned int shift = 64 - 8 * a->bytes;

	return a->is_signed ? (u64)((s64)(v << shift) >> shift) : v << shift >> shift;
}

/* Interrupts may come in between, and be told themselves. */
static void tell(struct func *f, struct pt_regs *regs, unsigned long ip)
{
	struct func_rec r;
	unsigned int i;

	preempt_disable_notrace();
	if (READ_ONCE(f->on)) {
		r.r.rec.id = f->id;
		r.r.rec.size = sizeof(r.r) + f->p.nargs * sizeof(r.arg[0]);
		r.r.rec.version = HWT_ABI_VERSION;
		r.r.rec.flags = HWT_REC_HIT;
		r.r.rec.hit = ring_local_add(&f->cpu[raw_smp_processor_id()].hits, 1);
		vtp_task(&r.r.rec.pid, &r.r.rec.tid, current);
		r.r.ip = ip;
		for (i = 0; i < f->p.nargs; i++)
			r.arg[i] = extend(&f->p.arg[i], f->p.flags & HWT_KMOD_RETURN ?
				regs_return_value(regs) :
				regs_get_kernel_argument(regs, f->p.arg[i].number));
		session_put_own(f->s, &r.r.rec, f->filter);
	}
	preempt_enable_notrace();
}

static int on_call(struct kprobe *kp, struct pt_regs *regs)
{
	tell(of_kprobe(kp), regs, (unsigned long)kp->addr);
	return 0;
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		tell(container_of(rp, struct func, rp), regs, get_kretprobe_retaddr(ri));
	return 0;
}

/* The kernel found room to remember the call. */
static int on_note(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		container_of(rp, struct func, rp)->cpu[raw_smp_processor_id()].noted = true;
	return 0;
}

/*
 * The call of a function whose return is wanted. The kernel counts those that it can not remember
 * for all CPUs in one word, and not exactly. Preemption is off, and nothing that interrupts comes
 * here: the kernel skips probes inside of probes.
 */
static int on_entry(struct kprobe *kp, struct pt_regs *regs)
{
	struct func *f = of_kprobe(kp);
	struct func_cpu *c = &f->cpu[raw_smp_processor_id()];
	int rc;

	c->noted = false;
	rc = f->take(kp, regs);
	if (!c->noted && READ_ONCE(f->on) && session_wants_task(f->s, current->pid))
		WRITE_ONCE(c->missed, c->missed + 1);
	return rc;
}

static int check(const struct hwt_kmod_probe *p)
{
	bool ret = p->flags & HWT_KMOD_RETURN;
	u32 i;

	if (strnlen(p->symbol, sizeof(p->symbol)) == sizeof(p->symbol) || !p->symbol[0] ||
	    p->flags & ~HWT_KMOD_RETURN || p->pad || p->nargs > (ret ? 1 : HWT_KMOD_ARGS) ||
	    p->active > (ret ? HWT_KMOD_ACTIVE : 0) || p->offset > (ret ? 0 : S32_MAX))
		return -EINVAL;
	for (i = 0; i < p->nargs; i++) {
		const struct hwt_kmod_arg *a = &p->arg[i];

		if (a->number >= (ret ? 1 : REGISTERS) || !a->bytes || a->bytes > 8 ||
		    a->bytes & (a->bytes - 1) || a->is_signed > 1 || a->pad)
			return -EINVAL;
	}
	return 0;
}

/*
 * Where it is, if the session has a probe there already: to look for a name the kernel goes through
 * all that it has (6.1).
 */
static kprobe_opcode_t *known_place(const struct func *f)
{
	unsigned int i;

	for (i = 0; i < f->s->nfuncs; i++) {
		struct func *o = f->s->funcs[i];

		if (o->there && !kprobe_gone(&o->rp.kp) &&
		    o->p.offset == f->p.offset && !strcmp(o->p.symbol, f->p.symbol))
			return o->rp.kp.addr;
	}
	return NULL;
}

static int register_it(struct func *f)
{
	int rc;

	f->rp.kp.addr = known_place(f);
	if (!f->rp.kp.addr) {
		f->rp.kp.symbol_name = f->p.symbol;
		f->rp.kp.offset = f->p.offset;
	}
	f->rp.kp.flags = KPROBE_FLAG_DISABLED;
	if (f->p.flags & HWT_KMOD_RETURN) {
		f->rp.handler = on_return;
		f->rp.entry_handler = on_note;
		f->rp.maxactive = f->p.active;
		rc = register_kretprobe(&f->rp);
		/* it is not in place yet */
		f->take = f->rp.kp.pre_handler;
		f->rp.kp.pre_handler = on_entry;
	} else {
		f->rp.kp.pre_handler = on_call;
		rc = register_kprobe(&f->rp.kp);
	}
	f->there = !rc;
	return rc;
}

static int add(struct session *s, const struct hwt_kmod_probe *p)
{
	struct sock_fprog prog = { .len = p->nfilter, .filter = u64_to_user_ptr(p->filter) };
	struct func *f;
	int rc = check(p);

	if (rc)
		return rc;
	f = mem_alloc(struct_size(f, cpu, nr_cpu_ids));
	if (!f)
		return -ENOMEM;
	f->s = s;
	f->p = *p;
	f->id = HWT_ID_DIRTY + s->nfuncs;
	s->funcs[s->nfuncs++] = f;
	if (p->nfilter)
		rc = filter_make(&f->filter, &prog, sizeof(struct hwt_rec_probe) +
				 p->nargs * sizeof(u64) + s->context.size);
	return rc ? rc : register_it(f);
}

int func_open(struct session *s, const struct hwt_kmod_session *c)
{
	const struct hwt_kmod_probe __user *from = u64_to_user_ptr(c->probes);
	struct hwt_kmod_probe *p;
	u32 i;
	int rc = 0;

	if (!c->nprobes)
		return 0;
	if (c->nprobes > HWT_KMOD_PROBES)
		return -EINVAL;
	if (s->own)
		return -EACCES;
	s->funcs = mem_alloc(c->nprobes * sizeof(*s->funcs));
	s->probes = mem_alloc(2 * c->nprobes * sizeof(*s->probes));
	p = mem_alloc(sizeof(*p));
	if (!s->funcs || !s->probes || !p)
		rc = -ENOMEM;
	for (i = 0; i < c->nprobes && !rc; i++)
		rc = copy_from_user(p, from + i, sizeof(*p)) ? -EFAULT : add(s, p);
	mem_free(p);
	return rc;
}

/* All at once: for each call the kernel waits until no CPU is in a handler any more. */
static void unregister_all(struct session *s)
{
	struct kretprobe **rp = (struct kretprobe **)s->probes;
	struct kprobe **kp = (struct kprobe **)s->probes + s->nfuncs;
	unsigned int i, nr = 0, nk = 0;

	for (i = 0; i < s->nfuncs; i++) {
		struct func *f = s->funcs[i];

		if (f->there && f->p.flags & HWT_KMOD_RETURN)
			rp[nr++] = &f->rp;
		else if (f->there)
			kp[nk++] = &f->rp.kp;
	}
	unregister_kretprobes(rp, nr);
	unregister_kprobes(kp, nk);
}

void func_close(struct session *s)
{
	unsigned int i;

	if (s->nfuncs)
		unregister_all(s);
	for (i = 0; i < s->nfuncs; i++) {
		if (s->funcs[i]->filter)
			bpf_prog_destroy(s->funcs[i]->filter);
		mem_free(s->funcs[i]);
	}
	mem_free(s->funcs);
	mem_free(s->probes);
}

int func_start(struct session *s)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < s->nfuncs && !rc; i++) {
		struct func *f = s->funcs[i];

		f->nested = f->rp.kp.nmissed;
		WRITE_ONCE(f->on, true);
		rc = enable_kprobe(&f->rp.kp);
		f->in_place = !rc;
	}
	if (rc)
		func_stop(s);
	return rc;
}

void func_stop(struct session *s)
{
	unsigned int i;

	for (i = 0; i < s->nfuncs; i++) {
		struct func *f = s->funcs[i];

		/* returns of calls before now still come */
		WRITE_ONCE(f->on, false);
		if (f->in_place)
			disable_kprobe(&f->rp.kp);
		f->nested = f->in_place ? f->rp.kp.nmissed - f->nested : 0;
		f->in_place = false;
	}
}

void func_nested(struct session *s)
{
	unsigned int i, cpu = raw_smp_processor_id();

	for (i = 0; i < s->nfuncs; i++)
		s->funcs[i]->cpu[cpu].nested = s->funcs[i]->nested;
}

void func_lost(struct session_cpu *c)
{
	unsigned int i, cpu = c - c->s->cpu;
	u64 n = 0;

	for (i = 0; i < c->s->nfuncs; i++) {
		struct func_cpu *fc = &c->s->funcs[i]->cpu[cpu];
		u64 all = READ_ONCE(fc->missed) + fc->nested;

		n += all - fc->told;
		fc->told = all;
	}
	ring_miss(c->ring, n);
}

int func_count(struct session *s, struct hwt_kmod_probed *p)
{
	struct func *f;
	unsigned int cpu;

	if (p->index >= s->nfuncs)
		return -EINVAL;
	f = s->funcs[p->index];
	p->hits = p->missed = 0;
	for_each_possible_cpu(cpu) {
		p->hits += ring_local_read(&f->cpu[cpu].hits);
		p->missed += f->cpu[cpu].missed;
	}
	p->nested = f->nested;
	return 0;
}
