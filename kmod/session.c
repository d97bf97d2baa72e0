// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitmap.h>
#include <linux/cpu.h>
#include <linux/filter.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include "filter.h"
#include "func.h"
#include "hook.h"
#include "mem.h"
#include "own.h"
#include "place.h"
#include "quota.h"
#include "session.h"
#include "unit.h"

#define CLOCK_EVERY	HZ

static DEFINE_MUTEX(sessions_lock);
static DEFINE_MUTEX(running_lock);
struct session *sessions[HWT_KMOD_SESSIONS];	/* see put.c, too */

static void note_state(struct session_cpu *c, u32 state)
{
	struct hwt_rec_stream_state r = { .state = state, .reason = HWT_stream_reason_asked };

	session_note(c, &r.rec, VTP_stream_state, sizeof(r));
}

/* These run on the CPU that they are about, with interrupts off. */
static void begin_here(void *session)
{
	struct session_cpu *c = &((struct session *)session)->cpu[raw_smp_processor_id()];

	note_state(c, HWT_stream_state_start);
	clock_first(c);
}

static void end_here(void *session)
{
	struct session_cpu *c = &((struct session *)session)->cpu[raw_smp_processor_id()];

	func_lost(c);
	clock_sync(c);
	note_state(c, HWT_stream_state_stop);
}

static void flush_here(void *session)
{
	struct session_cpu *c = &((struct session *)session)->cpu[raw_smp_processor_id()];

	func_lost(c);
	/* else the reader is late, and each second would take a sub-buffer for few records */
	if (!c->s->overwrite && ring_all_read(c->ring))
		ring_flush(c->ring);
	if (ring_wake(c->ring))
		irq_work_queue(&c->wake);
}

static void on_each_online(struct session *s, smp_call_func_t f)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		smp_call_function_single(cpu, f, s, 1);
}

/* Each second: clocks, and what a reader waits for comes also where little happens. */
static void on_clock(struct work_struct *work)
{
	struct session *s = container_of(to_delayed_work(work), struct session, clock);

	preempt_disable();
	clock_sync(&s->cpu[smp_processor_id()]);
	preempt_enable();
	cpus_read_lock();
	if (!s->overwrite || s->nfuncs)
		on_each_online(s, flush_here);
	cpus_read_unlock();
	schedule_delayed_work(&s->clock, CLOCK_EVERY);
}

static void on_wake(struct irq_work *work)
{
	wake_up(&container_of(work, struct session_cpu, wake)->s->wait);
}

/* The process with all its threads; what they forked before is not followed. */
static int add_process(struct session *s, s32 nr)
{
	struct task_struct *t, *p;
	struct pid *pid;
	int rc = -ESRCH;

	rcu_read_lock();
	pid = find_vpid(nr);
	p = pid ? pid_task(pid, PIDTYPE_TGID) : NULL;
	if (p) {
		for_each_thread(p, t)
			set_bit(t->pid, s->tids);
		rc = 0;
	}
	rcu_read_unlock();
	return rc;
}

/*
 * What probes of an event find at once (place.h). Somewhere a probe may still run that found what
 * was there before; each of these words is right for as long as its session has hooks.
 */
static void aim(unsigned int vtp, struct session *s)
{
	unsigned int cpu;

	if (s && (s->own || s->tids || s->context.size))
		s = NULL;
	for_each_possible_cpu(cpu) {
		struct vtp_cpu *h = &per_cpu(vtp_here, cpu)[vtp];
		struct session_cpu *c = s ? &s->cpu[cpu] : NULL;
		bool filtered = s && s->filter[vtp];

		smp_store_release(&h->ring, c && !filtered ? c->ring : NULL);
		smp_store_release(&h->filtered, filtered ? c : NULL);
	}
}

static void set_wants(struct session *s, bool on)
{
	u64 bit = 1ull << s->slot;
	unsigned int i;

	for (i = 0; i < VTP_COUNT; i++) {
		u64 all = on ? vtps[i].sessions | bit : vtps[i].sessions & ~bit;

		if (!test_bit(i, s->events) && !(s->tids && i == VTP_sched_fork))
			continue;
		aim(i, NULL);
		WRITE_ONCE(vtps[i].sessions, all);
		if (is_power_of_2(all))
			aim(i, sessions[__ffs64(all)]);
	}
}

/* Code that changes is told first: all other hooks change code when they are put in place. */
static bool is_first(unsigned int vtp)
{
	return vtps[vtp].id >> 8 == HWT_SECTION_text;
}

static void put_hooks(struct session *s)
{
	unsigned int i;

	for_each_set_bit(i, s->hooked, VTP_COUNT)
		hook_put(i);
	if (s->follows)
		hook_put(VTP_sched_fork);
	bitmap_zero(s->hooked, VTP_COUNT);
	s->follows = false;
}

static int get_hooks(struct session *s)
{
	unsigned int i, first;
	int rc;

	if (s->tids) {
		rc = hook_get(VTP_sched_fork);
		if (rc)
			return rc;
		s->follows = true;
	}
	for (first = 2; first-- > 0;)
		for_each_set_bit(i, s->events, VTP_COUNT) {
			if (is_first(i) != first)
				continue;
			rc = hook_get(i);
			if (rc)
				return rc;
			set_bit(i, s->hooked);
		}
	return 0;
}

static void stop_locked(struct session *s)
{
	unsigned int cpu;

	if (s->unit)
		s->unit->ops->stop(s->unit);
	set_wants(s, false);
	func_stop(s);
	put_hooks(s);
	/* no probe writes from here on */
	hook_sync();
	cancel_delayed_work_sync(&s->clock);
	cpus_read_lock();
	mutex_lock(&running_lock);
	WRITE_ONCE(s->writes, false);
	func_nested(s);
	on_each_online(s, end_here);
	for_each_possible_cpu(cpu)
		ring_flush(s->cpu[cpu].ring);
	WRITE_ONCE(s->state, SESSION_STOPPED);
	mutex_unlock(&running_lock);
	cpus_read_unlock();
	wake_up(&s->wait);
}

int session_start(struct session *s)
{
	int rc = -EINVAL;

	mutex_lock(&s->change_lock);
	mutex_lock(&sessions_lock);
	if (s->state != SESSION_READY)
		goto out;
	cpus_read_lock();
	mutex_lock(&running_lock);
	on_each_online(s, begin_here);
	WRITE_ONCE(s->writes, true);
	WRITE_ONCE(s->state, SESSION_RUNS);
	mutex_unlock(&running_lock);
	cpus_read_unlock();
	set_wants(s, true);
	schedule_delayed_work(&s->clock, CLOCK_EVERY);
	rc = get_hooks(s);
	if (!rc && s->pid)
		rc = add_process(s, s->pid);
	if (!rc)
		rc = func_start(s);
	/* last: what hooks change of the code is told before it runs */
	if (!rc && s->unit)
		rc = s->unit->ops->start(s->unit);
	if (rc)
		stop_locked(s);
out:
	mutex_unlock(&sessions_lock);
	mutex_unlock(&s->change_lock);
	return rc;
}

int session_stop(struct session *s)
{
	int rc = -EINVAL;

	mutex_lock(&s->change_lock);
	mutex_lock(&sessions_lock);
	if (s->state == SESSION_RUNS) {
		stop_locked(s);
		rc = 0;
	}
	mutex_unlock(&sessions_lock);
	mutex_unlock(&s->change_lock);
	return rc;
}

/* Nobody writes any more. */
static void free_rings(struct session *s)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct session_cpu *c = &s->cpu[cpu];

		irq_work_sync(&c->wake);
		mem_free(c->ring);
		mem_free(c->data);
		c->ring = NULL;
		c->data = NULL;
	}
}

static void free_session(struct session *s)
{
	unsigned int i;

	if (s->unit)
		s->unit->ops->close(s->unit);
	func_close(s);
	context_close(s);
	free_rings(s);
	for (i = 0; i < VTP_COUNT; i++)
		if (s->filter[i])
			bpf_prog_destroy(s->filter[i]);
	mem_free(s->path);
	mem_free(s->tids);
	put_pid(s->opener);
	mem_free(s);
}

static void set_slot(unsigned int slot, struct session *s)
{
	mutex_lock(&running_lock);
	WRITE_ONCE(sessions[slot], s);
	mutex_unlock(&running_lock);
}

static void give_slot(struct session *s)
{
	mutex_lock(&sessions_lock);
	set_slot(s->slot, NULL);
	mutex_unlock(&sessions_lock);
}

void session_close(struct session *s)
{
	session_stop(s);
	free_rings(s);		/* who has no slot has no memory that is counted */
	give_slot(s);
	free_session(s);
}

static int make_rings(struct session *s, const struct hwt_kmod_session *c)
{
	struct ring_cfg cfg = { .sub_size = c->sub_size, .subs = c->subs,
		.mode = c->flags & HWT_KMOD_OVERWRITE ? RING_OVERWRITE : RING_DISCARD,
		.context = s->context.size / 8 };
	unsigned int cpu;
	int rc;

	BUILD_BUG_ON(CONTEXT_MAX > RING_CONTEXT);
	memcpy(cfg.uuid, c->uuid, sizeof(cfg.uuid));
	if (cfg.context)
		context_none(&s->context, cfg.none);
	for_each_possible_cpu(cpu) {
		struct session_cpu *sc = &s->cpu[cpu];

		sc->ring = mem_alloc(ring_bytes(c->subs));
		sc->data = mem_alloc_pages(s->ring_size);
		if (!sc->ring || !sc->data)
			return -ENOMEM;
		cfg.cpu = cpu;
		rc = ring_init(sc->ring, sc->data, &cfg);
		if (rc)
			return rc;
		sc->ring->owner = sc;
	}
	return 0;
}

static int set_event(struct session *s, const struct hwt_kmod_want *w)
{
	struct sock_fprog p = { .len = w->nfilter, .filter = u64_to_user_ptr(w->filter) };
	int vtp = vtp_find(w->id);

	if (vtp < 0)
		return vtp;
	if (w->pad || test_bit(vtp, s->events))
		return -EINVAL;
	if (s->own && !vtps[vtp].user)
		return -EACCES;
	if (vtps[vtp].own)
		return w->nfilter ? -EINVAL : 0;	/* always there */
	if (!vtps[vtp].made && !hook_gives(vtp))
		return -EOPNOTSUPP;
	set_bit(vtp, s->events);
	return w->nfilter ? filter_make(&s->filter[vtp], &p,
					vtps[vtp].size + s->context.size) : 0;
}

static int set_events(struct session *s, const struct hwt_kmod_session *c)
{
	const struct hwt_kmod_want __user *wants = u64_to_user_ptr(c->wants);
	u32 i;
	int rc = 0;

	if (c->nwants > VTP_COUNT)
		return -EINVAL;
	for (i = 0; i < c->nwants && !rc; i++) {
		struct hwt_kmod_want w;

		if (copy_from_user(&w, wants + i, sizeof(w)))
			return -EFAULT;
		rc = set_event(s, &w);
	}
	return rc;
}

static int check_sizes(const struct hwt_kmod_session *c, bool all)
{
	u64 bytes = (u64)c->sub_size * c->subs;

	if (c->flags & ~HWT_KMOD_OVERWRITE || c->pid < 0 || c->pad || !c->sub_size ||
	    c->sub_size > RING_SUB_MAX || !c->subs || c->subs > RING_SUBS_MAX ||
	    bytes > RING_SIZE_MAX)
		return -EINVAL;
	return !all && bytes * num_possible_cpus() > HWT_KMOD_OWN_BYTES ? -EDQUOT : 0;
}

static int take_slot(struct session *s)
{
	unsigned int i = 0;
	int rc;

	mutex_lock(&sessions_lock);
	rc = quota_allows(s);
	if (!rc) {
		while (sessions[i])
			i++;
		s->slot = i;
		set_slot(i, s);
	}
	mutex_unlock(&sessions_lock);
	return rc;
}

int session_holder(struct hwt_kmod_holder *h, bool all)
{
	u32 i = h->index;

	if (i >= HWT_KMOD_SESSIONS)
		return -EINVAL;
	*h = (struct hwt_kmod_holder){ .size = h->size, .index = i, .uid = -1 };
	mutex_lock(&sessions_lock);
	if (sessions[i])
		quota_tell(sessions[i], all, h);
	mutex_unlock(&sessions_lock);
	return 0;
}

/* What the session asks for: it is in the table, and does not run. */
static int fill(struct session *s, const struct hwt_kmod_session *c)
{
	int rc;

	s->path = mem_alloc(SESSION_PATH);
	rc = s->path ? context_open(s, c) : -ENOMEM;
	if (!rc)
		rc = set_events(s, c);
	if (!rc && c->pid) {
		s->tids = mem_alloc(BITS_TO_LONGS(PID_MAX_LIMIT) * sizeof(long));
		rc = s->tids ? 0 : -ENOMEM;
	}
	if (!rc)
		rc = make_rings(s, c);
	return rc ? rc : func_open(s, c);
}

int session_open(struct session **out, const struct hwt_kmod_session *c, bool all)
{
	struct session *s;
	unsigned int cpu;
	int rc = check_sizes(c, all);

	if (rc)
		return rc;
	s = mem_alloc(struct_size(s, cpu, nr_cpu_ids));
	if (!s)
		return -ENOMEM;
	s->own = !all;
	s->owner = current_uid();
	s->opener = get_task_pid(current, PIDTYPE_TGID);
	s->overwrite = c->flags & HWT_KMOD_OVERWRITE;
	s->sub_size = c->sub_size;
	s->ring_size = (u64)c->sub_size * c->subs;
	s->pid = c->pid;
	init_waitqueue_head(&s->wait);
	mutex_init(&s->read_lock);
	mutex_init(&s->change_lock);
	INIT_DELAYED_WORK(&s->clock, on_clock);
	for_each_possible_cpu(cpu) {
		s->cpu[cpu].s = s;
		init_irq_work(&s->cpu[cpu].wake, on_wake);
	}
	/* first, so that nobody has memory of sessions that are not there; nothing runs yet */
	rc = take_slot(s);
	if (rc) {
		free_session(s);
		return rc;
	}
	rc = fill(s, c);
	if (rc) {
		free_rings(s);
		give_slot(s);
		free_session(s);
		return rc;
	}
	*out = s;
	return 0;
}

void session_cpu_state(unsigned int cpu, bool online)
{
	unsigned int i;

	mutex_lock(&running_lock);
	for (i = 0; i < HWT_KMOD_SESSIONS; i++) {
		struct session *s = sessions[i];

		if (!s || !s->writes)
			continue;
		/* the CPU is off, so nobody else writes there */
		preempt_disable();
		note_state(&s->cpu[cpu], online ? HWT_stream_state_online :
			   HWT_stream_state_offline);
		if (!online) {
			func_lost(&s->cpu[cpu]);
			ring_flush(s->cpu[cpu].ring);
		}
		preempt_enable();
	}
	mutex_unlock(&running_lock);
}

int session_unit(struct session *s, struct hwt_kmod_unit *c)
{
	struct unit *u = NULL;
	int rc = -EINVAL;

	mutex_lock(&s->change_lock);
	cpus_read_lock();
	memset(c->why, 0, sizeof(c->why));
	if (s->own) {
		rc = -EACCES;
		strscpy(c->why, "it tells of all tasks: CAP_PERFMON is needed", sizeof(c->why));
	} else if (s->state == SESSION_READY && !s->unit) {
		rc = unit_open(&u, c);
	}
	mutex_lock(&running_lock);
	if (u)
		smp_store_release(&s->unit, u);
	mutex_unlock(&running_lock);
	cpus_read_unlock();
	mutex_unlock(&s->change_lock);
	return rc;
}

void session_cpu_here(bool online)
{
	unsigned int i;

	mutex_lock(&running_lock);
	for (i = 0; i < HWT_KMOD_SESSIONS; i++)
		if (sessions[i] && sessions[i]->unit)
			sessions[i]->unit->ops->cpu(sessions[i]->unit, online);
	mutex_unlock(&running_lock);
}
