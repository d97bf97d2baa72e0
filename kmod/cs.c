// SPDX-License-Identifier: GPL-2.0-only
/*
 * CoreSight of a session: one session has it. Trace units and buffers of CPUs are touched on their
 * CPU; controllers and what lies before them anywhere, while all units that feed them are stopped.
 */
#include <linux/cpu.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <asm/virt.h>

#include "cs.h"
#include "mem.h"

static DEFINE_MUTEX(owner_lock);	/* of what it points to, for who is not of its session */
static struct cs_session *owner;	/* taken by cmpxchg(), one at a time */

static bool is(const struct cs_cpu *c, enum etm4_state state)
{
	return c->dev && c->e.state == state;
}

/* The units that feed @s, NULL: all. */
static void units_stop(struct cs_session *p, const struct cs_sink *s)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (is(&p->cpu[cpu], ETM4_RUNNING) && (!s || p->cpu[cpu].sink == s))
			cs_here_stop(p, cpu);
}

/* A buffer that has ended, which tells why, keeps no CPU off but its own. */
static int units_start(struct cs_session *p, const struct cs_sink *s)
{
	bool ended = false, runs = false;
	unsigned int cpu;
	int rc = 0;

	for_each_online_cpu(cpu) {
		struct cs_cpu *c = &p->cpu[cpu];

		if (rc || !is(c, ETM4_READY) || (s && c->sink != s))
			continue;
		if (c->sink && c->sink->ended) {
			ended = true;
			continue;
		}
		rc = cs_here_start(p, cpu);
		runs = true;
	}
	return !rc && ended && !runs ? -EIO : rc;
}

/* Controllers; trace buffers go with their units. */
static void sinks_stop(struct cs_session *p)
{
	unsigned int i;

	for (i = 0; i < p->nsinks; i++)
		if (!cs_sink_here(&p->sink[i]))
			cs_sink_stop(&p->sink[i]);
}

static int sinks_start(struct cs_session *p)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < p->nsinks && !rc; i++)
		if (!cs_sink_here(&p->sink[i]) && !p->sink[i].ended)
			rc = cs_sink_start(&p->sink[i]);
	return rc;
}

/* What is on its way has come when controllers are stopped: then the ways are closed. */
static void stop_all(struct cs_session *p)
{
	unsigned int cpu;

	units_stop(p, NULL);
	sinks_stop(p);
	for_each_possible_cpu(cpu)
		cs_way_close(&p->cpu[cpu].way);
}

static int start_all(struct cs_session *p)
{
	unsigned int cpu;
	int rc = sinks_start(p);

	for_each_online_cpu(cpu)
		if (!rc && is(&p->cpu[cpu], ETM4_READY))
			rc = cs_way_open(&p->cpu[cpu].way);
	if (!rc)
		rc = units_start(p, NULL);
	if (rc)
		stop_all(p);
	return rc;
}

/* All of these with cpus_read_lock() held. */
static int start(struct cs_session *p)
{
	int rc;

	mutex_lock(&p->lock);
	rc = start_all(p);
	p->runs = !rc;
	mutex_unlock(&p->lock);
	return rc;
}

static void stop(struct cs_session *p)
{
	mutex_lock(&p->lock);
	stop_all(p);
	p->runs = p->sleeps = false;
	mutex_unlock(&p->lock);
}

static int cs_session_start(struct unit *u)
{
	int rc;

	cpus_read_lock();
	rc = start(container_of(u, struct cs_session, unit));
	cpus_read_unlock();
	return rc;
}

static void cs_session_stop(struct unit *u)
{
	cpus_read_lock();
	stop(container_of(u, struct cs_session, unit));
	cpus_read_unlock();
}

static void unit_off(struct cs_session *p, unsigned int cpu)
{
	struct cs_cpu *c = &p->cpu[cpu];

	if (!is(c, ETM4_READY) && !is(c, ETM4_RUNNING))
		return;
	c->off = !cs_here_save(p, cpu);
	cs_sink_flush(c->sink);
	cs_way_close(&c->way);
}

/* One that was off at the beginning is taken now; if that can not be, it stays without trace. */
static void unit_on(struct cs_session *p, unsigned int cpu)
{
	struct cs_cpu *c = &p->cpu[cpu];

	if (!c->dev || (p->runs && cs_way_open(&c->way)))
		return;
	if (c->off) {
		c->off = cs_here_restore(p, cpu);
	} else if (c->e.state == ETM4_CLOSED && !cs_here_open(p, cpu)) {
		if (cs_here_config(p, cpu))
			cs_here_close(p, cpu);
	}
	if (p->runs && is(c, ETM4_READY))
		cs_here_start(p, cpu);
	if (!p->runs && is(c, ETM4_RUNNING))
		cs_here_stop(p, cpu);
}

static void cs_session_cpu(struct unit *u, bool on)
{
	struct cs_session *p = container_of(u, struct cs_session, unit);
	unsigned int cpu = raw_smp_processor_id();	/* the thread is bound to it */

	mutex_lock(&p->lock);
	if (on)
		unit_on(p, cpu);
	else
		unit_off(p, cpu);
	mutex_unlock(&p->lock);
}

/* Units that feed @s stop for a moment, and all that ran before is in memory. */
static void turn(struct cs_session *p, struct cs_sink *s)
{
	int rc = 0;

	units_stop(p, s);
	if (!cs_sink_here(s)) {
		cs_sink_stop(s);
		rc = cs_sink_start(s);
	}
	if (!rc)
		units_start(p, s);
}

static int cs_session_get(struct unit *u, struct hwt_kmod_trace *t)
{
	struct cs_session *p = container_of(u, struct cs_session, unit);
	struct cs_sink *s;

	if (t->buffer >= p->nsinks)
		return -EINVAL;
	s = &p->sink[t->buffer];
	cpus_read_lock();
	mutex_lock(&p->lock);
	if (p->runs && !s->ended)
		turn(p, s);
	cs_sink_tell(s, t);
	mutex_unlock(&p->lock);
	cpus_read_unlock();
	return 0;
}

static int cs_session_read(struct unit *u, const struct hwt_kmod_trace *t)
{
	struct cs_session *p = container_of(u, struct cs_session, unit);
	int rc = -EINVAL;

	if (t->buffer >= p->nsinks)
		return rc;
	mutex_lock(&p->lock);
	rc = cs_sink_read(&p->sink[t->buffer], t->begin);
	mutex_unlock(&p->lock);
	return rc;
}

static int cs_session_mmap(struct unit *u, struct vm_area_struct *v, u64 off)
{
	struct cs_session *p = container_of(u, struct cs_session, unit);
	u64 i = off >> ilog2(p->bytes);

	if (i >= p->nsinks || off & (p->bytes - 1))
		return -EINVAL;
	return cs_sink_mmap(&p->sink[i], v);
}

static int cs_session_regs(struct unit *u, struct hwt_kmod_cs_regs *r)
{
	struct cs_session *p = container_of(u, struct cs_session, unit);
	const struct cs_cpu *c;

	if (r->cpu >= nr_cpu_ids || !p->cpu[r->cpu].dev)
		return -ENODEV;
	BUILD_BUG_ON(sizeof(c->e.id) > sizeof(r->idr));
	c = &p->cpu[r->cpu];
	mutex_lock(&p->lock);
	r->buffer = c->sink - p->sink;
	r->trace_id = cs_own_buffer(c) ? 0 : CS_ID(r->cpu);
	r->devarch = c->e.devarch;
	r->configr = etm4_has(&c->e, TRC_CONFIGR);
	memset(r->idr, 0, sizeof(r->idr));
	memcpy(r->idr, c->e.id, sizeof(c->e.id));
	mutex_unlock(&p->lock);
	return 0;
}

/* With cpus_read_lock() held. Of a CPU that is off the unit has been given back. */
static void free_session(struct cs_session *p)
{
	unsigned int cpu, i;

	for_each_online_cpu(cpu)
		if (p->cpu[cpu].sink)
			cs_here_close(p, cpu);
	cs_links_give(&p->links);
	for (i = 0; i < p->nsinks; i++)
		cs_sink_close(&p->sink[i]);
	mutex_lock(&owner_lock);
	if (owner == p) {
		cs_let_go();
		owner = NULL;
	}
	mutex_unlock(&owner_lock);
	mem_free(p->sink);
	mem_free(p);
}

static void cs_session_close(struct unit *u)
{
	struct cs_session *p = container_of(u, struct cs_session, unit);

	cpus_read_lock();
	stop(p);
	free_session(p);
	cpus_read_unlock();
}

static const struct unit_ops ops = {
	.start = cs_session_start,
	.stop = cs_session_stop,
	.cpu = cs_session_cpu,
	.get = cs_session_get,
	.read = cs_session_read,
	.mmap = cs_session_mmap,
	.regs = cs_session_regs,
	.close = cs_session_close,
};

static int no(struct hwt_kmod_unit *c, int cpu, const char *why, int rc)
{
	c->cpu = cpu;
	strscpy(c->why, why, sizeof(c->why));
	return rc;
}

static int take_wish(struct cs_session *p, struct hwt_kmod_unit *c)
{
	const struct hwt_kmod_cs *w = &c->cs;
	bool hyp = is_kernel_in_hyp_mode(), context = w->bits & HWT_KMOD_CS_CONTEXT;
	unsigned int i;

	if (w->bits >> 8 || memchr_inv(w->pad, 0, sizeof(w->pad)))
		return no(c, -1, "a bit that is not known", -EINVAL);
	if (c->flags & HWT_KMOD_UNIT_MARKS)
		return no(c, -1, "no instruction writes into this trace", -EOPNOTSUPP);
	if (w->nranges > ARRAY_SIZE(w->range))
		return no(c, -1, etm4_why_text(ETM4_RANGES), -EINVAL);
	p->wish = (struct etm4_wish){ .levels = (w->bits & HWT_KMOD_CS_USER ? 1 : 0) |
			(w->bits & HWT_KMOD_CS_OS ? hyp ? 4 : 2 : 0),
		.sync = w->sync, .cycles = w->bits & HWT_KMOD_CS_CYCLES,
		.time = w->bits & HWT_KMOD_CS_TIME, .context = context && !hyp,
		.vmid = context && hyp, .vmid_ctx = context && hyp,
		.return_stack = w->bits & HWT_KMOD_CS_RETURN,
		.branch_broadcast = w->bits & HWT_KMOD_CS_BROADCAST,
		.stall = w->bits & HWT_KMOD_CS_STALL, .threshold = w->threshold,
		.time_every = w->time_every, .nranges = w->nranges };
	for (i = 0; i < w->nranges; i++) {
		if (w->range[i].stop > 1 || w->range[i].pad)
			return no(c, -1, etm4_why_text(ETM4_RANGE), -EINVAL);
		p->wish.range[i] = (struct etm4_range){ w->range[i].first, w->range[i].last,
			w->range[i].stop };
	}
	p->bytes = c->bytes;
	p->newest = c->flags & HWT_KMOD_UNIT_NEWEST;
	return 0;
}

/* @dev NULL: the CPU's own trace buffer, which is opened with its unit. */
static int add_sink(struct cs_session *p, struct hwt_kmod_unit *c, unsigned int cpu,
		    struct cs_dev *dev)
{
	struct cs_sink *s;
	unsigned int i;
	int rc;

	for (i = 0; i < p->nsinks; i++)
		if (dev && p->sink[i].dev == dev) {
			p->sink[i].cpu = -1;
			p->cpu[cpu].sink = &p->sink[i];
			return 0;
		}
	s = &p->sink[p->nsinks];
	s->cpu = cpu;
	rc = dev ? cs_sink_open(s, dev, cpu) : 0;
	if (rc)
		return no(c, cpu, s->why, rc);
	p->nsinks++;
	p->cpu[cpu].sink = s;
	if (c->flags & HWT_KMOD_UNIT_TRY)
		return 0;
	rc = cs_sink_memory(s, p->bytes, p->newest);
	return rc ? no(c, cpu, "no memory", rc) : 0;
}

/* A CPU with a trace buffer of its own needs no way; one that is off is taken to be as others. */
static int add_way(struct cs_session *p, struct hwt_kmod_unit *c, unsigned int cpu)
{
	struct cs_cpu *u = &p->cpu[cpu];
	struct cs_path path;
	const char *why;
	int rc;

	if (u->dev->kind == CS_SYS_UNIT) {
		cs_here_look(p, cpu_online(cpu) ? cpu : cpumask_first(cpu_online_mask));
		u->sys = p->cpu[cpu_online(cpu) ? cpu : cpumask_first(cpu_online_mask)].sys;
	}
	if (u->dev->kind == CS_SYS_UNIT && u->sys.buffer && !u->sys.erratum)
		return add_sink(p, c, cpu, NULL);
	rc = cs_path_of(u->dev, &path, &why);
	if (rc)
		return no(c, cpu, u->sys.erratum ? u->sys.erratum : why, rc);
	rc = add_sink(p, c, cpu, path.sink);
	if (rc)
		return rc;
	rc = cs_way_take(&u->way, &p->links, &path, &why);
	return rc ? no(c, cpu, why, rc) : 0;
}

/* Of each CPU that has a unit the way of its trace, and, if it is on, the unit. */
static int add_one(struct cs_session *p, struct hwt_kmod_unit *c, unsigned int cpu)
{
	struct cs_cpu *u = &p->cpu[cpu];
	int rc;

	u->dev = cs_unit_of(cpu);
	if (!u->dev)
		return 0;
	if (CS_ID(cpu) > 0x6f)
		return no(c, cpu, "there are no trace ids for so many CPUs", -EOPNOTSUPP);
	rc = add_way(p, c, cpu);
	if (rc || !cpu_online(cpu))
		return rc;
	rc = cs_here_open(p, cpu);
	if (rc && u->e.why == ETM4_FINE)
		return no(c, cpu, u->sink->why, rc);
	if (!rc)
		rc = cs_here_config(p, cpu);
	if (rc && u->e.why == ETM4_THRESHOLD)
		c->offer = u->e.caps.threshold_min;
	return rc ? no(c, cpu, etm4_why_text(u->e.why), rc) : 0;
}

static int ask(struct cs_session *p, struct hwt_kmod_unit *c)
{
	unsigned int cpu;
	int rc = 0;

	p->sink = mem_alloc(nr_cpu_ids * sizeof(*p->sink));
	if (!p->sink)
		return no(c, -1, "no memory", -ENOMEM);
	for_each_possible_cpu(cpu)
		if (!rc)
			rc = add_one(p, c, cpu);
	return rc;
}

/* Called with cpus_read_lock() held, so that no CPU comes before the session knows of it. */
static int cs_open(struct unit **out, struct hwt_kmod_unit *c)
{
	struct cs_session *p = mem_alloc(struct_size(p, cpu, nr_cpu_ids));
	int rc;

	if (!p)
		return no(c, -1, "no memory", -ENOMEM);
	p->unit.ops = &ops;
	mutex_init(&p->lock);
	rc = take_wish(p, c);
	if (!rc && cmpxchg(&owner, NULL, p))
		rc = no(c, -1, "another session of this module has CoreSight", -EBUSY);
	else if (!rc) {
		int n = cs_find();

		if (n < 0) {
			owner = NULL;
			rc = no(c, -1, "its driver can not be registered", n);
		} else if (!n) {
			cs_why_none(c->why, sizeof(c->why));
			rc = -ENODEV;
		} else {
			rc = ask(p, c);
		}
	}
	if (rc || c->flags & HWT_KMOD_UNIT_TRY)
		free_session(p);
	else
		*out = &p->unit;
	return rc;
}

/* Registers are lost while the machine sleeps: units are given back, and taken again. */
static void sleep_now(struct cs_session *p)
{
	unsigned int cpu, i;

	mutex_lock(&p->lock);
	p->sleeps = p->runs;
	stop_all(p);
	p->runs = false;
	for_each_online_cpu(cpu)
		unit_off(p, cpu);
	cs_links_give(&p->links);
	for (i = 0; i < p->nsinks; i++)
		if (!cs_sink_here(&p->sink[i]))
			cs_sink_give(&p->sink[i]);
	mutex_unlock(&p->lock);
}

static void wake_now(struct cs_session *p)
{
	unsigned int cpu, i;

	mutex_lock(&p->lock);
	for (i = 0; i < p->nsinks; i++)
		if (!cs_sink_here(&p->sink[i]))
			cs_sink_take(&p->sink[i]);
	cs_links_take(&p->links);
	for_each_online_cpu(cpu)
		unit_on(p, cpu);
	if (p->sleeps)
		p->runs = !start_all(p);
	p->sleeps = false;
	mutex_unlock(&p->lock);
}

static void cs_sleep(void)
{
	mutex_lock(&owner_lock);
	if (owner)
		sleep_now(owner);
	mutex_unlock(&owner_lock);
}

static void cs_wake(void)
{
	mutex_lock(&owner_lock);
	if (owner)
		wake_now(owner);
	mutex_unlock(&owner_lock);
}

static void cs_off(void)
{
	mutex_lock(&owner_lock);
	if (owner)
		stop(owner);
	mutex_unlock(&owner_lock);
}

const struct unit_kind cs_kind = { cs_open, cs_sleep, cs_wake, cs_off };
