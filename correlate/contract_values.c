/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can be in a record: values that the list names, ranges, fields that go together, and the
 * CPU and the task that it must be told by.
 */
#include <inttypes.h>
#include <string.h>

#include <hwtrace/abi.h>

#include "../hwtrace/base/vec.h"
#include "contract.h"

#define CPUS 8192	/* more than any kernel can be built for (CONFIG_NR_CPUS) */

#define AT(sec, ev, field) \
	offsetof(struct hwt_rec_##sec##_##ev, field), \
	sizeof(((struct hwt_rec_##sec##_##ev *)0)->field)

/* Priorities: include/linux/sched/prio.h. Signals: 1 to _NSIG. Results: error numbers. */
static const struct { uint16_t id, at, size; int64_t lo, hi; } ranges[] = {
#define RANGE(sec, ev, field, lo, hi) { HWT_ID_##sec##_##ev, AT(sec, ev, field), lo, hi }
	RANGE(stream, lost, count, 1, INT64_MAX),
	RANGE(sched, switch, prev_prio, -1, 139), RANGE(sched, switch, next_prio, -1, 139),
	RANGE(sched, waking, prio, -1, 139), RANGE(sched, wakeup, prio, -1, 139),
	RANGE(sched, wakeup_new, prio, -1, 139), RANGE(sched, exit, prio, -1, 139),
	RANGE(sched, inherit, old_prio, -1, 139), RANGE(sched, inherit, new_prio, -1, 139),
	RANGE(sched, fork, child_tid, 1, INT32_MAX), RANGE(sched, exit, task_tid, 1, INT32_MAX),
	RANGE(sched, exec, task_tid, 1, INT32_MAX), RANGE(sched, free, task_tid, 1, INT32_MAX),
	RANGE(sched, migrate, task_tid, 1, INT32_MAX),
	RANGE(sched, signal_send, signal, 1, 64), RANGE(sched, signal_deliver, signal, 1, 64),
	RANGE(irq, ipi_send, cpus, 1, 0), RANGE(softirq, work_start, function, 1, 0),
	RANGE(block, complete, error, -4095, 0), RANGE(net, xmit, result, -4095, 0xff),
	RANGE(net, rx, bytes, 0, 1 << 24), RANGE(net, tx, bytes, 0, 1 << 24),
	RANGE(net, drop, packet, 1, 0),
	RANGE(mm, map, length, 1, 0), RANGE(mm, unmap, length, 1, 0),
	RANGE(text, patch, size, 1, 16), RANGE(text, ksymbol, size, 1, INT64_MAX),
	RANGE(power, idle_enter, state, 0, 255), RANGE(power, idle_exit, state, 0, 255),
	RANGE(power, frequency, khz, 1, 100000000),
	RANGE(clock, freq, hz, 1, 100000000000), RANGE(clock, sync, width, 0, INT32_MAX),
	RANGE(clock, rate, interval, 1, INT64_MAX), RANGE(clock, rate, rate, 1, INT64_MAX),
	RANGE(state, task, task_tid, 1, INT32_MAX), RANGE(state, task, prio, -1, 139),
	RANGE(state, map, length, 1, 0),
#undef RANGE
};

/* Pairs of fields of one record; @wrong of the first one says what may not be. */
enum relation { LESS_OR_SAME, NOT_SAME, NO_WRAP };

static const struct {
	uint16_t id, a, na, b, nb;
	uint8_t relation;
	const char *wrong;
} relations[] = {
#define REL(sec, ev, a, b, r, text) \
	{ HWT_ID_##sec##_##ev, AT(sec, ev, a), AT(sec, ev, b), r, text }
	REL(sched, migrate, from_cpu, to_cpu, NOT_SAME, "a task moves to the CPU where it is"),
	REL(sched, inherit, old_prio, new_prio, NOT_SAME, "a task takes the priority it has"),
	REL(net, poll, work, budget, LESS_OR_SAME, "a poll takes more than its budget"),
	REL(timer, hr_start, soft_expires, expires, LESS_OR_SAME,
	    "a timer's earliest instant is after its latest"),
	REL(mm, map, addr, length, NO_WRAP, "a mapping ends after the last address"),
	REL(mm, unmap, addr, length, NO_WRAP, "a range ends after the last address"),
	REL(text, module_load, addr, size, NO_WRAP, "code ends after the last address"),
	REL(state, map, addr, length, NO_WRAP, "a mapping ends after the last address"),
	REL(state, module, addr, size, NO_WRAP, "code ends after the last address"),
#undef REL
};

/* By whom a record must be told. @TASK: by any but the idle one. */
enum place { ON_CPU, BY_TASK, IN_TASK };

static const struct { uint16_t id, at; uint8_t place; } places[] = {
#define PLACE(sec, ev, field, p) \
	{ HWT_ID_##sec##_##ev, offsetof(struct hwt_rec_##sec##_##ev, field), p }
#define TASK(sec, ev) { HWT_ID_##sec##_##ev, 0, IN_TASK }
	PLACE(sched, switch, prev_tid, BY_TASK), PLACE(sched, fork, parent_tid, BY_TASK),
	PLACE(sched, exec, task_tid, BY_TASK), PLACE(sched, exit, task_tid, BY_TASK),
	PLACE(mm, map, map_tid, BY_TASK), PLACE(mm, unmap, map_tid, BY_TASK),
	PLACE(power, idle_enter, target_cpu, ON_CPU), PLACE(power, idle_exit, target_cpu, ON_CPU),
	TASK(sched, signal_deliver), TASK(syscall, enter), TASK(syscall, exit),
	TASK(softirq, work_start), TASK(softirq, work_end),
	TASK(user, mark), TASK(user, begin), TASK(user, end),
#undef PLACE
#undef TASK
};

static bool is_signed(unsigned type)
{
	return type == HWT_ABI_s32 || type == HWT_ABI_s64 || type == HWT_ABI_pid;
}

/* False if it is not known. */
static bool number(const void *rec, size_t at, size_t size, bool sign, int64_t *v)
{
	int32_t w;

	if (size == sizeof(*v)) {
		memcpy(v, (const char *)rec + at, sizeof(*v));
		return *v != (sign ? INT64_MIN : -1);
	}
	memcpy(&w, (const char *)rec + at, sizeof(w));
	*v = sign ? w : (int64_t)(uint32_t)w;
	return w != (sign ? INT32_MIN : -1);
}

static int add(struct contract_fields *l, struct contract_field f)
{
	int rc = vec_room(&l->v, &l->cap, l->n, sizeof(*l->v));

	if (!rc)
		l->v[l->n++] = f;
	return rc;
}

/* What the list of values and the unit demand, in the form that takes no look at names. */
static bool of_list(struct contract_field *f, const char *list)
{
	const struct hwt_abi_named *n;
	size_t len = strlen(list);

	f->bits = len > 4 && !strcmp(list + len - 4, "_bit");
	for (unsigned i = 0; (n = hwt_abi_value_at(list, i)); i++)
		f->mask |= f->bits ? n->value : n->value < 64 ? 1ull << n->value : 0;
	return f->mask != 0;
}

static int event_new(struct contract_fields *l, const struct hwt_abi_event *e)
{
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);
	int rc = 0;

	for (; !rc && n; n--, f++) {
		struct contract_field k = { .offset = f->offset, .size = (uint8_t)f->size,
			.type = f->type, .name = f->name };
		bool wanted = of_list(&k, f->unit) || f->type == HWT_ABI_name16;

		if (!strcmp(f->unit, "CPU")) {
			k.hi = CPUS - 1;
			wanted = true;
		}
		for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
			if (ranges[i].id == e->id && ranges[i].at == f->offset) {
				k.lo = ranges[i].lo;
				k.hi = ranges[i].hi;
				wanted = true;
			}
		if (wanted)
			rc = add(l, k);
	}
	return rc;
}

int contract_values_new(struct contract *c)
{
	const struct hwt_abi_event *e;
	int rc = 0;

	for (unsigned i = 0; !rc && (e = hwt_abi_event_at(i)); i++)
		rc = event_new(&c->fields[contract_kind(e->id)], e);
	return rc;
}

static void field(struct contract *c, const struct contract_field *f, const void *rec)
{
	int64_t v;
	bool good;

	contract_check(c, RULE_VALUE);
	if (f->type == HWT_ABI_name16) {
		if (((const char *)rec)[f->offset + 15])
			contract_broken(c, RULE_VALUE, KIND_NONE, c->now.at.cpu, &c->now,
					c->ev->tid, "%s has no end: the record was not written "
					"by this kernel", f->name);
		return;
	}
	if (!number(rec, f->offset, f->size, is_signed(f->type), &v))
		return;
	if (f->mask && f->bits)
		good = !((uint64_t)v & ~f->mask);
	else if (f->mask)
		good = (uint64_t)v < 64 && f->mask >> v & 1;
	else if (f->hi < f->lo)		/* any but 0, also those of the upper half */
		good = v != 0;
	else
		good = v >= f->lo && v <= f->hi;
	if (!good)
		contract_broken(c, RULE_VALUE, KIND_NONE, c->now.at.cpu, &c->now, c->ev->tid,
				"%s is %" PRId64 ", which it can not be: what the record says is "
				"not to be believed", f->name, v);
}

static void relation(struct contract *c, size_t i, const void *rec)
{
	/* of both, signed ones are times or priorities; the others' upper half is rare */
	bool sign = relations[i].id == HWT_ID_timer_hr_start ||
		relations[i].id == HWT_ID_sched_inherit;
	int64_t a, b;
	bool wrong = false;

	contract_check(c, RULE_VALUE);
	if (!number(rec, relations[i].a, relations[i].na, sign, &a) ||
	    !number(rec, relations[i].b, relations[i].nb, sign, &b))
		return;
	switch (relations[i].relation) {
	case LESS_OR_SAME: wrong = a > b; break;
	case NOT_SAME: wrong = a == b; break;
	case NO_WRAP: wrong = b && (uint64_t)a > UINT64_MAX - (uint64_t)b + 1; break;
	}
	if (wrong)
		contract_broken(c, RULE_VALUE, KIND_NONE, c->now.at.cpu, &c->now, c->ev->tid,
				"%s: what the record says is not to be believed",
				relations[i].wrong);
}

static void place(struct contract *c, size_t i, const struct hwt_rec *rec)
{
	int32_t who, is = places[i].place == ON_CPU ? c->now.at.cpu : rec->tid;

	contract_check(c, RULE_WHERE);
	memcpy(&who, (const char *)rec + places[i].at, sizeof(who));
	if (is < 0 || (places[i].place != IN_TASK && who < 0))
		return;
	if (places[i].place == IN_TASK ? is == 0 : is != who)
		contract_broken(c, RULE_WHERE, KIND_NONE, c->now.at.cpu, &c->now, rec->tid,
				places[i].place == ON_CPU ? "told on CPU %d, but it is about "
				"another one: where it happened is not known" :
				places[i].place == BY_TASK ? "told by task %d, but it is about "
				"another one: who did it is not known" :
				"told by task %d, which is the idle one: who did it is not known",
				is);
}

/* Linux runs timers in their softirq only. */
static void in_softirq(struct contract *c)
{
	struct contract_cpu *k = contract_cpu(c, c->now.at.cpu);

	if (!k || !k->softirq.mark.seq)
		return;
	contract_check(c, RULE_WHERE);
	if (!k->softirq.open || k->softirq.what != HWT_softirq_timer)
		contract_broken(c, RULE_WHERE, KIND_softirq_entry, c->now.at.cpu, &k->softirq.mark,
				c->ev->tid, "a timer runs on CPU %d outside softirq TIMER: a "
				"record of the softirq is missing", c->now.at.cpu);
}

/* Readings of a clock that nobody sets, and of the counter, do not go back. */
static void readings(struct contract *c, const struct hwt_rec_clock_sync *r)
{
	bool back;

	if (r->clock >= 8 || r->clock == HWT_clock_id_wall || r->clock == HWT_clock_id_tai)
		return;
	contract_check(c, RULE_CLOCK);
	back = c->sync[r->clock].seq && (r->counter < c->sync_counter[r->clock] ||
					 r->value < c->sync_value[r->clock]);
	if (back)
		contract_broken(c, RULE_CLOCK, KIND_NONE, c->now.at.cpu, &c->sync[r->clock],
				c->ev->tid, "%s goes back between two readings: times around them "
				"are not to be believed", r->counter < c->sync_counter[r->clock] ?
				"the counter" : "the clock beside the counter");
	c->sync[r->clock] = c->now;
	c->sync_counter[r->clock] = r->counter;
	c->sync_value[r->clock] = r->value;
}

void contract_values(struct contract *c, const struct hwt_rec *rec)
{
	const struct contract_fields *l = &c->fields[contract_kind(rec->id)];

	for (size_t i = 0; i < l->n; i++)
		field(c, &l->v[i], rec);
	for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]); i++)
		if (relations[i].id == rec->id)
			relation(c, i, rec);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].id == rec->id)
			place(c, i, rec);
	if (rec->id == HWT_ID_timer_expire)
		in_softirq(c);
	if (rec->id == HWT_ID_clock_sync)
		readings(c, (const void *)rec);
}
