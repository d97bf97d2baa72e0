/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens on CPUs and in calls: interrupts, softirqs, work, timers, sleep, system calls. */
#include "contract.h"

#define UNKNOWN32 UINT32_MAX
#define UNKNOWN64 UINT64_MAX

enum contract_kind contract_kind(unsigned id)
{
	switch (id) {
#define HWT_EVENT(sec, name, number, since, stamp, order, often) \
	case HWT_ID_##sec##_##name: return KIND_##sec##_##name;
#include <hwtrace/events.def>
	}
	return KIND_NONE;
}

void contract_begin(struct contract *c, struct contract_open *o, uint64_t what,
		  enum contract_rule rule, enum contract_kind end, int32_t cpu, const char *name)
{
	contract_check(c, rule);
	if (o->open)
		contract_broken(c, rule, end, cpu, &o->mark, c->ev->tid,
				"%s begins before the one before has ended: its end is missing, "
				"its length is not known", name);
	*o = (struct contract_open){ .mark = c->now, .what = what, .open = true };
}

void contract_close(struct contract *c, struct contract_open *o, uint64_t what,
		enum contract_rule rule, enum contract_kind begun, int32_t cpu, const char *name)
{
	contract_check(c, rule);
	if (o->mark.seq && (!o->open || (o->what != what && what != UNKNOWN64 &&
					 o->what != UNKNOWN64)))
		contract_broken(c, rule, begun, cpu, &o->mark, c->ev->tid,
				"%s ends that has not begun: its begin is missing, its length is "
				"not known", name);
	*o = (struct contract_open){ .mark = c->now, .what = what };
}

/*
 * Those that nest. At the start and after a loss some may be open that began before; they are not
 * when all that was seen to begin has ended so many times.
 */
#define SURELY_EMPTY 64

static void push(struct contract *c, struct contract_open *v, unsigned *n, uint64_t what,
		 unsigned *empty)
{
	if (*n == NEST)
		*n = *empty = 0;
	v[(*n)++] = (struct contract_open){ .mark = c->now, .what = what, .open = true };
}

static void pop(struct contract *c, struct contract_open *v, unsigned *n, uint64_t what,
		unsigned *empty, enum contract_rule rule, enum contract_kind begun,
		const char *name)
{
	contract_check(c, rule);
	if (*n && v[*n - 1].what == what) {
		v[--*n].mark = c->now;
		*empty += !*n && *empty < SURELY_EMPTY;
		return;
	}
	if (*empty == SURELY_EMPTY)
		contract_broken(c, rule, begun, c->now.at.cpu, &v[*n ? *n - 1 : 0].mark,
				c->ev->tid, "%s ends that is not the last one begun on CPU %d: a "
				"record of it is missing, lengths are not known", name,
				c->now.at.cpu);
	v[0].mark = c->now;
	*n = 0;
}

static uint64_t irq_of(uint32_t irq, uint32_t kind)
{
	return (uint64_t)kind << 32 | irq;
}

static void softirq(struct contract *c, struct contract_cpu *k, uint16_t id, uint64_t vec)
{
	int32_t cpu = c->now.at.cpu;

	if (vec >= 10)
		return;
	switch (id) {
	case HWT_ID_softirq_raise:
		k->raised[vec]++;
		return;
	case HWT_ID_softirq_entry:
		contract_begin(c, &k->softirq, vec, RULE_SOFTIRQ, KIND_softirq_exit, cpu,
			       "a softirq");
		contract_check(c, RULE_RAISED);
		/* a bit that is raised twice may run once, or twice */
		if (!k->raised[vec] && k->ran_vec[vec].seq)
			contract_broken(c, RULE_RAISED, KIND_softirq_raise, cpu, &k->ran_vec[vec],
					c->ev->tid, "softirq %u runs on CPU %d, but nobody raised "
					"it since it ran last: why it runs is not known",
					(unsigned)vec, cpu);
		if (k->raised[vec])
			k->raised[vec]--;
		k->ran_vec[vec] = c->now;
		return;
	}
	contract_close(c, &k->softirq, vec, RULE_SOFTIRQ, KIND_softirq_entry, cpu, "a softirq");
}

/* Timers and work items run once for each time that they are set or queued. */
static void thing_set(struct contract *c, uint64_t addr, uint16_t id)
{
	contract_thing(c, addr, id)->ran = (struct contract_mark){ 0 };
}

static void thing_runs(struct contract *c, uint64_t addr, uint16_t id, enum contract_rule rule,
		       enum contract_kind kind, const char *what)
{
	struct contract_thing *t = contract_thing(c, addr, id);

	contract_check(c, rule);
	t->open.open = false;
	if (t->ran.seq)
		contract_broken(c, rule, kind, HWT_NONE, &t->ran, c->ev->tid,
				"%s 0x%llx since it ran last: who caused it is not known", what,
				(unsigned long long)addr);
	t->ran = c->now;
}

/* Numbers of calls whose exit may have another enter, or none: fork and exec, on all machines. */
static bool odd_exit(uint32_t nr)
{
	switch (nr) {
	case 2: case 11: case 56: case 57: case 58: case 59: case 120: case 190: case 220:
	case 221: case 281: case 322: case 358: case 387: case 435: case UNKNOWN32:
		return true;
	}
	return false;
}

static void call(struct contract *c, const struct hwt_rec *h, uint32_t nr, int64_t ret)
{
	struct contract_task *t = contract_task(c, h->tid);
	struct contract_open *o;
	bool wrong;

	if (!t)
		return;
	o = &t->call;
	if (h->id == HWT_ID_syscall_enter) {
		/* the task may have died in the call before, and another one has its id */
		*o = (struct contract_open){ .mark = c->now, .what = nr, .open = true };
		return;
	}
	contract_check(c, RULE_SYSCALL);
	/* calls that seccomp answers have no enter; their results are errors, or 0 */
	if (o->open)
		wrong = o->what != nr && o->what != UNKNOWN32 && !odd_exit((uint32_t)o->what);
	else
		wrong = ret > 0;
	if (o->mark.seq && !odd_exit(nr) && wrong)
		contract_broken(c, RULE_SYSCALL, KIND_syscall_enter, HWT_NONE, &o->mark, h->tid,
				"task %d leaves system call %u that it has not entered: its "
				"begin is missing, its length is not known", h->tid, nr);
	*o = (struct contract_open){ .mark = c->now, .what = nr };
}

static void work(struct contract *c, const struct hwt_rec *h)
{
	const struct hwt_rec_softirq_work_queue *q = (const void *)h;
	struct contract_task *t = contract_task(c, h->tid);

	if (h->id == HWT_ID_softirq_work_queue) {
		thing_set(c, q->work, h->id);
		return;
	}
	if (h->id == HWT_ID_softirq_work_start) {	/* the address is where it is in all */
		thing_runs(c, q->work, HWT_ID_softirq_work_queue, RULE_QUEUED,
			   KIND_softirq_work_queue, "nobody queued work");
		if (t)
			contract_begin(c, &t->work, q->work, RULE_WORK, KIND_softirq_work_end,
				       HWT_NONE, "work");
	} else if (t) {
		contract_close(c, &t->work, q->work, RULE_WORK, KIND_softirq_work_start,
			       HWT_NONE, "work");
	}
}

static void timer(struct contract *c, struct contract_cpu *k, const struct hwt_rec *h)
{
	const struct hwt_rec_timer_cancel *r = (const void *)h;	/* the same place in all */
	const struct contract_thing *t;
	int32_t cpu = c->now.at.cpu;

	switch (h->id) {
	case HWT_ID_timer_start:
		thing_set(c, r->timer, h->id);
		break;
	case HWT_ID_timer_expire:
		t = contract_thing(c, r->timer, HWT_ID_timer_start);
		if (t->open.open)
			contract_broken(c, RULE_SET, KIND_timer_cancel, HWT_NONE, &t->open.mark,
					h->tid, "a timer runs that has not left its queue: when it "
					"left is not known");
		thing_runs(c, r->timer, HWT_ID_timer_start, RULE_SET, KIND_timer_start,
			   "nobody set timer");
		if (k)
			contract_begin(c, &k->timer, r->timer, RULE_TIMER, KIND_timer_done, cpu,
				       "a timer");
		break;
	case HWT_ID_timer_done:
		if (k)
			contract_close(c, &k->timer, r->timer, RULE_TIMER, KIND_timer_expire, cpu,
				       "a timer");
		break;
	case HWT_ID_timer_hr_start:
		thing_set(c, r->timer, h->id);
		break;
	case HWT_ID_timer_hr_expire:
		thing_runs(c, r->timer, HWT_ID_timer_hr_start, RULE_SET, KIND_timer_hr_start,
			   "nobody set timer");
		if (k)
			push(c, k->hr, &k->nhr, r->timer, &k->hr_empty);
		break;
	case HWT_ID_timer_hr_done:
		if (k)
			pop(c, k->hr, &k->nhr, r->timer, &k->hr_empty, RULE_TIMER,
			    KIND_timer_hr_expire, "a high resolution timer");
		break;
	}
}

static void idle(struct contract *c, const struct hwt_rec *h)
{
	const struct hwt_rec_power_idle_enter *r = (const void *)h;	/* and idle_exit */
	struct contract_cpu *k = r->target_cpu <= INT32_MAX ?
		contract_cpu(c, (int32_t)r->target_cpu) : NULL;
	uint64_t state = r->state == UNKNOWN32 ? UNKNOWN64 : r->state;

	if (!k)
		return;
	if (h->id == HWT_ID_power_idle_enter)
		contract_begin(c, &k->idle, state, RULE_IDLE, KIND_power_idle_exit, c->now.at.cpu,
			       "sleep of a CPU");
	else
		contract_close(c, &k->idle, state, RULE_IDLE, KIND_power_idle_enter,
			       c->now.at.cpu, "sleep of a CPU");
}

/* Which interrupts a CPU may get of others: to reschedule, and to call functions. */
static struct contract_thing *ipi(struct contract *c, uint32_t cpu, bool reschedule)
{
	return contract_thing(c, (uint64_t)cpu << 1 | reschedule, HWT_ID_irq_ipi_send);
}

static void ipi_send(struct contract *c, const struct hwt_rec_irq_ipi_send *r)
{
	for (unsigned i = 0; i < 64; i++)
		if (r->cpus >> i & 1 && r->cpus != UNKNOWN64) {
			struct contract_thing *t = ipi(c, r->first_cpu + i,
						       r->kind == HWT_irq_kind_reschedule);

			t->count++;
			t->counted = true;
		}
}

static void ipi_entry(struct contract *c, const struct hwt_rec_irq_entry *e)
{
	bool reschedule = e->kind == HWT_irq_kind_reschedule;
	struct contract_thing *t;

	if ((!reschedule && e->kind != HWT_irq_kind_call_one &&
	     e->kind != HWT_irq_kind_call_many) || c->now.at.cpu < 0)
		return;
	t = ipi(c, (uint32_t)c->now.at.cpu, reschedule);
	contract_check(c, RULE_IPI);
	if (t->counted && !t->count && t->took.seq)
		contract_broken(c, RULE_IPI, KIND_irq_ipi_send, CONTRACT_ANY, &t->took,
				c->ev->tid, "CPU %d is interrupted by another one, but none sent "
				"an interrupt since the last one: who did is not known",
				c->now.at.cpu);
	t->count -= t->count != 0;
	t->took = c->now;
}

static void on_cpu(struct contract *c, struct contract_cpu *k, const struct hwt_rec *h)
{
	const struct hwt_rec_irq_entry *e = (const void *)h;
	const struct hwt_rec_irq_exit *x = (const void *)h;
	const struct hwt_rec_softirq_entry *s = (const void *)h;

	switch (h->id) {
	case HWT_ID_irq_entry:
		ipi_entry(c, e);
		push(c, k->irq, &k->nirq, irq_of(e->irq, e->kind), &k->irq_empty);
		break;
	case HWT_ID_irq_exit:
		pop(c, k->irq, &k->nirq, irq_of(x->irq, x->kind), &k->irq_empty, RULE_IRQ,
		    KIND_irq_entry, "an interrupt");
		break;
	case HWT_ID_softirq_raise: case HWT_ID_softirq_entry: case HWT_ID_softirq_exit:
		softirq(c, k, h->id, s->vec);
		break;
	}
}

void contract_apply(struct contract *c, const struct hwt_rec *h)
{
	struct contract_cpu *k = contract_cpu(c, c->now.at.cpu);
	const struct hwt_rec_syscall_exit *x = (const void *)h;

	contract_values(c, h);
	contract_sched(c, k, h);
	contract_pairs(c, h);
	switch (h->id) {
	case HWT_ID_stream_lost:
		c->stats.losses++;
		contract_forget(c, c->now.at.cpu);
		break;
	case HWT_ID_syscall_enter: case HWT_ID_syscall_exit:
		call(c, h, x->nr, x->ret);
		break;
	case HWT_ID_softirq_work_queue: case HWT_ID_softirq_work_start:
	case HWT_ID_softirq_work_end:
		work(c, h);
		break;
	case HWT_ID_power_idle_enter: case HWT_ID_power_idle_exit:
		idle(c, h);
		break;
	case HWT_ID_irq_ipi_send: ipi_send(c, (const void *)h); break;
	default:
		timer(c, k, h);
		if (k)
			on_cpu(c, k, h);
	}
}
