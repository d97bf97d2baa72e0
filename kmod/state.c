// SPDX-License-Identifier: GPL-2.0-only
/*
 * What there is when a session begins, as records of section state: tasks, mappings of code,
 * modules. A caller's context, which may sleep between records; each is written while what it
 * tells can not change, so records of changes that come before it are in it, and later ones are
 * not.
 */
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>

#include "compat/compat.h"
#include "own.h"
#include "probe.h"
#include "session.h"
#include "vma.h"

static bool may_tell(const struct session *s, struct task_struct *t, struct mm_struct *mm)
{
	return !s->own || own_task(s, t, mm);
}

/* Room is left to the records that come meanwhile; the caller reads, and asks again. */
static bool has_room(struct session *s, u64 told)
{
	bool yes;

	if (told >= s->ring_size / 2)
		return false;
	preempt_disable();
	yes = ring_has_room(s->cpu[smp_processor_id()].ring);
	preempt_enable();
	return yes;
}

static void tell_task(struct session *s, struct task_struct *t)
{
	struct hwt_rec_state_task r;

	if (!session_wants_task(s, t->pid))
		return;
	vtp_task(&r.task_pid, &r.task_tid, t);
	r.rec.flags = 0;
	/* names change, and address spaces go, with this lock held */
	task_lock(t);
	/*
	 * Of one that is about to end, but can not be seen to have ended yet, sched.exit may have
	 * been told: it would seem to go on.
	 */
	if ((!(t->flags & PF_EXITING) || t->exit_state) && may_tell(s, t, t->mm)) {
		r.parent_pid = rcu_dereference(t->real_parent)->tgid;
		r.prio = t->prio;
		r.state = __task_state_index(READ_ONCE(t->__state), t->exit_state);
		r.task_cpu = task_cpu(t);
		r.aspace = s->own ? U64_MAX : probe_aspace(t);
		vtp_name(r.comm, t->comm);
		s->told.bytes += session_tell(s, &r.rec, VTP_state_task, sizeof(r), NULL, 0);
		s->told.tasks++;
	}
	task_unlock(t);
}

/* A thread of the process that still has memory, held; NULL: none. */
static struct task_struct *tell_threads(struct session *s, struct task_struct *p)
{
	struct task_struct *t, *with = NULL;

	rcu_read_lock();
	for_each_thread(p, t) {
		tell_task(s, t);
		if (!with && READ_ONCE(t->mm) && !(t->flags & PF_KTHREAD) &&
		    session_wants_task(s, t->pid))
			with = t;
	}
	if (with)
		get_task_struct(with);
	rcu_read_unlock();
	return with;
}

static void tell_map(struct session *s, struct task_struct *t, struct vm_area_struct *v)
{
	struct vma_facts f;
	struct vtp_more more = {};
	struct hwt_rec_state_map r;

	vma_look(&f, v, s->path, SESSION_PATH);
	memset(&r, 0, sizeof(r));
	r.rec.flags = f.cut ? HWT_REC_CUT : 0;
	r.map_pid = t->tgid;
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
	r.deleted = f.deleted;
	more.text = f.path;
	probe_text(&more, sizeof(r));
	r.rec.flags |= more.flags;
	r.path_size = vtp_text_size(more.len);
	s->told.bytes += session_tell(s, &r.rec, VTP_state_map, sizeof(r), more.text, more.len);
	s->told.maps++;
}

/* From address @s->told.addr on. 1: there is more. */
static int tell_maps(struct session *s, struct task_struct *t)
{
	struct mm_struct *mm = get_task_mm(t);
	struct vm_area_struct *v;
	int rc = 0;

	if (!mm)
		return 0;	/* it has ended */
	if (may_tell(s, t, mm) && !mmap_read_lock_killable(mm)) {
		while (!rc && (v = find_vma(mm, s->told.addr))) {
			if (v->vm_flags & VM_EXEC) {
				if (has_room(s, s->told.bytes))
					tell_map(s, t, v);
				else
					rc = 1;
			}
			if (!rc)
				s->told.addr = v->vm_end;
			cond_resched();
		}
		mmap_read_unlock(mm);
	}
	mmput(mm);
	return rc;
}

/* The first process from number @nr on, held; @nr becomes its. */
static struct task_struct *next_process(int *nr)
{
	struct task_struct *p = NULL;
	struct pid *pid;

	rcu_read_lock();
	while (!p && (pid = idr_get_next(&init_pid_ns.idr, nr))) {
		p = pid_task(pid, PIDTYPE_TGID);
		if (p)
			get_task_struct(p);
		else
			++*nr;
	}
	rcu_read_unlock();
	return p;
}

static int tell_process(struct session *s, struct task_struct *p)
{
	struct task_struct *t;
	int rc = 0;

	if (s->told.addr) {	/* its threads were told before */
		rcu_read_lock();
		t = get_task_struct(p);
		rcu_read_unlock();
	} else {
		t = tell_threads(s, p);
	}
	if (t) {
		rc = tell_maps(s, t);
		put_task_struct(t);
	}
	return rc;
}

static int tell_processes(struct session *s)
{
	struct task_struct *p;
	int rc = 0;

	while (!rc) {
		if (!has_room(s, s->told.bytes) || signal_pending(current))
			return 1;
		p = next_process(&s->told.nr);
		if (!p)
			return 0;
		rc = tell_process(s, p);
		put_task_struct(p);
		if (!rc) {
			s->told.nr++;
			s->told.addr = 0;
		}
		cond_resched();
	}
	return rc;
}

/*
 * The list of modules is a ring that we are in ourselves. Its head is no module and has no name
 * that we may use: but each module that was made known says in its object who it is.
 */
static bool is_module(struct module *m)
{
	struct module *who;

	return !get_kernel_nofault(who, &m->mkobj.mod) && who == m &&
		READ_ONCE(m->state) != MODULE_STATE_UNFORMED;
}

static void tell_module(struct session *s, struct module *m)
{
	struct vtp_more more = { .text = m->name };
	struct hwt_rec_state_module r;

	memset(&r, 0, sizeof(r));
	compat_module_text(m, &r.addr, &r.size);
	r.taints = m->taints;
#ifdef CONFIG_STACKTRACE_BUILD_ID
	if (memchr_inv(m->build_id, 0, BUILD_ID_SIZE_MAX)) {
		r.build_id[0] = BUILD_ID_SIZE_MAX;
		memcpy(r.build_id + 1, m->build_id, BUILD_ID_SIZE_MAX);
	}
#endif
	probe_text(&more, sizeof(r));
	r.name_size = vtp_text_size(more.len);
	s->told.bytes += session_tell(s, &r.rec, VTP_state_module, sizeof(r), more.text, more.len);
	s->told.modules++;
}

/* In order of addresses, so that it is known where to go on. */
static int tell_modules(struct session *s)
{
	struct module *m, *next;
	u64 addr, at, size;

	if (s->own)
		return 0;
	do {
		if (!has_room(s, s->told.bytes))
			return 1;
		next = NULL;
		at = U64_MAX;
		rcu_read_lock();
		list_for_each_entry_rcu(m, &THIS_MODULE->list, list) {
			if (!is_module(m))
				continue;
			compat_module_text(m, &addr, &size);
			if (addr > s->told.addr && addr < at) {
				at = addr;
				next = m;
			}
		}
		compat_module_text(THIS_MODULE, &addr, &size);
		if (addr > s->told.addr && addr < at) {
			at = addr;
			next = THIS_MODULE;
		}
		if (next)
			tell_module(s, next);
		rcu_read_unlock();
		s->told.addr = at;
	} while (next);
	return 0;
}

static void begin(struct session *s)
{
	s->told = (struct session_told){ .step = TOLD_PROCESSES, .nr = 1, .since = ring_clock() };
}

static void end(struct session *s)
{
	struct hwt_rec_state_end r = { .since = s->told.since, .tasks = s->told.tasks,
		.maps = s->told.maps, .modules = s->told.modules };

	session_tell(s, &r.rec, VTP_state_end, sizeof(r), NULL, 0);
	s->told.step = TOLD_NOTHING;
}

static int tell_some(struct session *s)
{
	if (READ_ONCE(s->state) != SESSION_RUNS)
		return -EINVAL;
	if (s->told.step == TOLD_NOTHING)
		begin(s);
	s->told.bytes = 0;
	if (s->told.step == TOLD_PROCESSES) {
		if (tell_processes(s))
			return 1;
		s->told.addr = 0;
		s->told.step = TOLD_MODULES;
	}
	if (tell_modules(s))
		return 1;
	end(s);
	return 0;
}

int session_state(struct session *s)
{
	int rc;

	if (mutex_lock_interruptible(&s->change_lock))
		return -ERESTARTSYS;
	rc = tell_some(s);
	mutex_unlock(&s->change_lock);
	return rc;
}
