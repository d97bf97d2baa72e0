/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each rule against each event that it is about: records of a machine that keeps all rules, with
 * one wrong thing planted. The rule must find it, and no other one that has no reason to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/abi.h>

#include "correlate/contract.h"
#include "tests/support/kmachine.h"

#define ROUNDS	160

enum op {
	DROP,		/* it is missing */
	DROP2,		/* and the one behind it */
	REPEAT,		/* it comes a second time, a moment later */
	SET,		/* a field has another value */
	NAME,		/* a name that the task never had */
	IDLE,		/* told by the idle task */
	LOST		/* a loss for no cause that there is, in its place */
};

#define R(rule)	(1u << RULE_##rule)
/* a task that is not there makes these of what follows */
#define WHO	(R(RUNS) | R(SWITCH) | R(MOVED))

static const struct plant {
	const char *about;	/* event that the rule is about */
	const char *event;	/* event that is changed: the @nth from some round on */
	unsigned nth;
	enum op op;
	const char *field;
	int64_t value;
	uint32_t must, may;	/* rules */
} plants[] = {
	{ "sched.switch", "sched.switch", 0, DROP, NULL, 0, R(RUNS), 0 },
	{ "sched.switch", "sched.switch", 3, DROP, NULL, 0, R(SWITCH), 0 },
	{ "sched.switch", "sched.switch", 3, SET, "next_tid", 77, R(SWITCH), 0 },
	{ "sched.switch", "sched.switch", 0, SET, "prev_tid", 77, R(WHERE), WHO | R(WOKEN) },
	{ "sched.switch", "sched.migrate", 0, DROP, NULL, 0, R(MOVED), 0 },
	{ "sched.switch", "sched.waking", 0, DROP2, NULL, 0, R(WOKEN), 0 },
	{ "sched.switch", "sched.switch", 1, NAME, "prev_comm", 0, R(NAMED), 0 },
	{ "sched.switch", "sched.switch", 3, NAME, "next_comm", 0, R(NAMED), 0 },
	{ "sched.switch", "sched.switch", 0, SET, "prev_prio", 140, R(VALUE), 0 },
	{ "sched.waking", "sched.waking", 0, DROP, NULL, 0, R(WAKING), 0 },
	{ "sched.waking", "sched.waking", 0, NAME, "comm", 0, R(NAMED), 0 },
	{ "sched.wakeup", "sched.wakeup", 0, DROP, NULL, 0, R(WAKING), 0 },
	{ "sched.wakeup", "sched.waking", 1, DROP2, NULL, 0, R(WOKEN), 0 },
	{ "sched.wakeup", "sched.wakeup", 0, NAME, "comm", 0, R(NAMED), 0 },
	{ "sched.wakeup_new", "sched.wakeup_new", 0, REPEAT, NULL, 0, R(BORN), 0 },
	{ "sched.wakeup_new", "sched.wakeup_new", 0, NAME, "comm", 0, R(NAMED), 0 },
	{ "sched.migrate", "sched.migrate", 0, DROP, NULL, 0, R(MOVED), 0 },
	{ "sched.migrate", "sched.migrate", 0, SET, "task_tid", 10, R(MOVED), R(NAMED) },
	{ "sched.migrate", "sched.migrate", 0, REPEAT, NULL, 0, R(MOVED), 0 },
	{ "sched.migrate", "sched.migrate", 0, NAME, "comm", 0, R(NAMED), 0 },
	{ "sched.migrate", "sched.migrate", 0, SET, "to_cpu", 1, R(VALUE), R(MOVED) },
	{ "sched.migrate", "sched.migrate", 1, SET, "to_cpu", 0, R(VALUE), R(MOVED) },
	{ "sched.fork", "sched.fork", 0, REPEAT, NULL, 0, R(BORN), 0 },
	{ "sched.fork", "sched.fork", 0, SET, "parent_tid", 77, R(WHERE), 0 },
	{ "sched.fork", "sched.fork", 0, SET, "child_tid", 0, R(VALUE), R(BORN) },
	{ "sched.exec", "sched.exec", 0, SET, "task_tid", 77, R(WHERE), WHO },
	{ "sched.exec", "sched.exec", 0, SET, "task_tid", 0, R(VALUE), WHO | R(WHERE) },
	{ "sched.exit", "sched.exit", 0, DROP, NULL, 0, R(EXIT), 0 },
	{ "sched.exit", "sched.exit", 0, REPEAT, NULL, 0, R(EXIT), 0 },
	{ "sched.exit", "sched.exit", 0, SET, "task_tid", 77, R(WHERE), R(EXIT) },
	{ "sched.exit", "sched.exit", 0, NAME, "comm", 0, R(NAMED), 0 },
	{ "sched.exit", "sched.exit", 0, SET, "prio", -2, R(VALUE), 0 },
	{ "sched.comm", "sched.comm", 0, DROP, NULL, 0, R(NAMED), 0 },
	{ "sched.free", "sched.exit", 1, DROP, NULL, 0, R(EXIT), 0 },
	{ "sched.free", "sched.free", 0, SET, "task_tid", 0, R(VALUE), R(BORN) },
	{ "sched.inherit", "sched.inherit", 0, NAME, "comm", 0, R(NAMED), 0 },
	{ "sched.inherit", "sched.inherit", 0, SET, "new_prio", 50, R(VALUE), 0 },
	{ "sched.inherit", "sched.inherit", 1, SET, "new_prio", 120, R(VALUE), 0 },
	{ "sched.signal_send", "sched.signal_send", 0, DROP, NULL, 0, R(SIGNAL), 0 },
	{ "sched.signal_send", "sched.signal_send", 0, NAME, "comm", 0, R(NAMED), 0 },
	{ "sched.signal_send", "sched.signal_send", 0, SET, "signal", 65, R(VALUE), R(SIGNAL) },
	{ "sched.signal_deliver", "sched.signal_deliver", 0, REPEAT, NULL, 0, R(SIGNAL), 0 },
	{ "sched.signal_deliver", "sched.signal_deliver", 0, IDLE, NULL, 0, R(WHERE), WHO },
	{ "sched.signal_deliver", "sched.signal_deliver", 0, SET, "signal", 0, R(VALUE), 0 },
	{ "irq.entry", "irq.entry", 0, DROP, NULL, 0, R(IRQ), 0 },
	{ "irq.entry", "irq.ipi_send", 0, DROP, NULL, 0, R(IPI), 0 },
	{ "irq.exit", "irq.exit", 0, SET, "irq", 1, R(IRQ), 0 },
	{ "irq.ipi_send", "irq.ipi_send", 1, DROP, NULL, 0, R(IPI), 0 },
	{ "softirq.raise", "softirq.raise", 0, DROP, NULL, 0, R(RAISED), 0 },
	{ "softirq.entry", "softirq.entry", 0, DROP, NULL, 0, R(SOFTIRQ) | R(WHERE), 0 },
	{ "softirq.entry", "softirq.entry", 1, DROP, NULL, 0, R(SOFTIRQ), 0 },
	{ "softirq.exit", "softirq.exit", 0, DROP, NULL, 0, R(SOFTIRQ), 0 },
	{ "softirq.work_queue", "softirq.work_queue", 0, DROP, NULL, 0, R(QUEUED), 0 },
	{ "softirq.work_start", "softirq.work_start", 0, DROP, NULL, 0, R(WORK), 0 },
	{ "softirq.work_start", "softirq.work_start", 0, REPEAT, NULL, 0, R(QUEUED) | R(WORK), 0 },
	{ "softirq.work_start", "softirq.work_start", 0, IDLE, NULL, 0, R(WHERE), WHO | R(WORK) },
	{ "softirq.work_start", "softirq.work_start", 0, SET, "function", 0, R(VALUE), 0 },
	{ "softirq.work_end", "softirq.work_end", 0, DROP, NULL, 0, R(WORK), 0 },
	{ "softirq.work_end", "softirq.work_end", 0, IDLE, NULL, 0, R(WHERE), WHO | R(WORK) },
	{ "syscall.enter", "syscall.enter", 0, DROP, NULL, 0, R(SYSCALL), 0 },
	{ "syscall.enter", "syscall.enter", 0, IDLE, NULL, 0, R(WHERE), WHO | R(SYSCALL) },
	{ "syscall.exit", "syscall.exit", 0, SET, "nr", 9, R(SYSCALL), 0 },
	{ "syscall.exit", "syscall.exit", 0, IDLE, NULL, 0, R(WHERE), WHO | R(SYSCALL) },
	{ "block.issue", "block.issue", 1, DROP, NULL, 0, R(BLOCK), 0 },
	{ "block.complete", "block.complete", 1, REPEAT, NULL, 0, R(BLOCK), 0 },
	{ "block.complete", "block.complete", 0, SET, "error", 1, R(VALUE), 0 },
	{ "net.rx", "net.rx", 0, SET, "bytes", 1 << 25, R(VALUE), 0 },
	{ "net.tx", "net.tx", 0, SET, "bytes", 1 << 25, R(VALUE), 0 },
	{ "net.xmit", "net.xmit", 0, SET, "result", -5000, R(VALUE), 0 },
	{ "net.poll", "net.poll", 0, SET, "work", 65, R(VALUE), 0 },
	{ "net.drop", "net.drop", 0, SET, "packet", 0, R(VALUE), 0 },
	{ "mm.map", "mm.map", 0, SET, "map_tid", 77, R(WHERE), 0 },
	{ "mm.map", "mm.map", 0, SET, "addr", -4095, R(VALUE), 0 },
	{ "mm.unmap", "mm.unmap", 0, SET, "map_tid", 77, R(WHERE), 0 },
	{ "mm.unmap", "mm.unmap", 0, SET, "length", 0, R(VALUE), 0 },
	{ "text.patch", "text.patch", 0, SET, "size", 17, R(VALUE), 0 },
	{ "text.ksymbol", "text.ksymbol", 0, DROP, NULL, 0, R(CHANGE), 0 },
	{ "text.module_load", "text.module_load", 0, DROP, NULL, 0, R(CHANGE), 0 },
	{ "text.module_load", "text.module_load", 0, SET, "addr", -4095, R(VALUE), 0 },
	{ "text.module_unload", "text.module_unload", 0, DROP, NULL, 0, R(CHANGE), 0 },
	{ "power.idle_enter", "power.idle_enter", 0, DROP, NULL, 0, R(IDLE), 0 },
	{ "power.idle_enter", "power.idle_enter", 0, SET, "target_cpu", 5, R(WHERE), R(IDLE) },
	{ "power.idle_enter", "power.idle_enter", 0, SET, "state", 256, R(VALUE), R(IDLE) },
	{ "power.idle_exit", "power.idle_exit", 0, DROP, NULL, 0, R(IDLE), 0 },
	{ "power.idle_exit", "power.idle_exit", 0, SET, "state", 9, R(IDLE), 0 },
	{ "power.idle_exit", "power.idle_exit", 0, SET, "target_cpu", 5, R(WHERE), R(IDLE) },
	{ "power.idle_exit", "power.idle_exit", 0, SET, "state", 256, R(VALUE), R(IDLE) },
	{ "power.frequency", "power.frequency", 0, SET, "khz", 0, R(VALUE), 0 },
	{ "power.suspend", "power.suspend", 0, DROP, NULL, 0, R(CHANGE), 0 },
	{ "power.cpu", "power.cpu", 0, DROP, NULL, 0, R(CHANGE), 0 },
	{ "stream.lost", "stream.state", 0, LOST, "cause", 7, R(VALUE), 0 },
	{ "stream.lost", "stream.state", 0, LOST, "count", 0, R(VALUE), 0 },
	{ "stream.state", "stream.state", 0, DROP, NULL, 0, R(CHANGE), 0 },
	{ "stream.state", "stream.state", 1, DROP, NULL, 0, R(CHANGE), 0 },
	{ "timer.start", "timer.start", 0, DROP, NULL, 0, R(SET), 0 },
	{ "timer.start", "timer.start", 1, DROP, NULL, 0, R(SET), 0 },
	{ "timer.cancel", "timer.cancel", 0, DROP, NULL, 0, R(SET), 0 },
	{ "timer.cancel", "timer.cancel", 1, DROP, NULL, 0, R(SET), 0 },
	{ "timer.expire", "timer.expire", 0, DROP, NULL, 0, R(TIMER), 0 },
	{ "timer.expire", "timer.expire", 0, REPEAT, NULL, 0, R(SET) | R(TIMER), 0 },
	{ "timer.expire", "softirq.entry", 0, DROP, NULL, 0, R(WHERE), R(SOFTIRQ) },
	{ "timer.done", "timer.done", 0, DROP, NULL, 0, R(TIMER), 0 },
	{ "timer.hr_start", "timer.hr_start", 0, DROP, NULL, 0, R(SET), 0 },
	{ "timer.hr_start", "timer.hr_start", 1, SET, "soft_expires", 5, R(VALUE), 0 },
	{ "timer.hr_cancel", "timer.hr_cancel", 0, DROP, NULL, 0, R(SET), 0 },
	{ "timer.hr_expire", "timer.hr_expire", 0, DROP, NULL, 0, R(TIMER), R(SET) },
	{ "timer.hr_expire", "timer.hr_expire", 0, REPEAT, NULL, 0, R(SET), R(TIMER) },
	{ "timer.hr_done", "timer.hr_done", 0, REPEAT, NULL, 0, R(TIMER), 0 },
	{ "user.mark", "user.mark", 0, IDLE, NULL, 0, R(WHERE), WHO },
	{ "user.begin", "user.begin", 0, DROP, NULL, 0, R(MARK), 0 },
	{ "user.begin", "user.begin", 0, IDLE, NULL, 0, R(WHERE), WHO },
	{ "user.end", "user.end", 0, REPEAT, NULL, 0, R(MARK), 0 },
	{ "user.end", "user.end", 0, IDLE, NULL, 0, R(WHERE), WHO },
	{ "clock.sync", "clock.sync", 0, SET, "counter", 5, R(CLOCK), 0 },
	{ "clock.sync", "clock.sync", 0, SET, "value", 5, R(CLOCK), 0 },
	{ "clock.freq", "clock.freq", 0, SET, "hz", 0, R(VALUE), 0 },
	{ "clock.rate", "clock.rate", 0, SET, "rate", 0, R(VALUE), 0 },
	{ "state.task", "state.task", 0, NAME, "comm", 0, R(NAMED), 0 },
	{ "state.task", "state.task", 0, SET, "prio", 140, R(VALUE), 0 },
	{ "state.map", "state.map", 0, SET, "addr", -4095, R(VALUE), 0 },
	{ "state.module", "state.module", 0, SET, "addr", -4095, R(VALUE), 0 },
};

static struct kmachine m;
static uint32_t fired;

static void found(void *arg, const struct hwt_contract_finding *f)
{
	for (unsigned r = 0; hwt_contract_rule(r); r++)
		if (!strcmp(hwt_contract_rule(r), f->rule))
			fired |= 1u << r;
	assert_true(strlen(f->text) > 20);
}

/* Record @at with what is planted, the others as they are. */
static void run(size_t at, size_t skip, const union kmachine_rec *rec, int times)
{
	struct contract *c;

	fired = 0;
	assert_int_equal(contract_new(&c), 0);
	for (size_t i = 0; i < m.n; i++) {
		for (int k = 0; k < (i == at ? times : i > at && i < at + skip ? 0 : 1); k++) {
			union kmachine_rec copy = i == at ? *rec : m.items[i].r;
			struct hwt_event ev = { .type = HWT_EV_RECORD, .cpu = m.items[i].cpu,
				.time = m.items[i].time + (unsigned)k, .off = i,
				.pid = copy.rec.pid, .tid = copy.rec.tid,
				.u.rec = { &copy, copy.rec.size, copy.rec.id } };

			copy.rec.time = ev.time;
			assert_int_equal(contract_feed(c, &ev), 0);
		}
	}
	contract_end(c, found, NULL);
	assert_int_equal(c->stats.rules_off, 0);
	contract_free(c);
}

static void set_field(union kmachine_rec *r, const char *name, int64_t value)
{
	const struct hwt_abi_field *f;

	f = hwt_abi_field_by_name(hwt_abi_event_by_id(r->rec.id), name);
	assert_non_null(f);
	memcpy(r->bytes + f->offset, &value, f->size);
}

static size_t find(const char *event, unsigned nth)
{
	unsigned id = hwt_abi_event_by_name(event)->id;
	size_t i = m.n / 5 * 4;

	/* a round begins on CPU 0 */
	while (m.items[i].cpu || m.items[i].r.rec.id != HWT_ID_power_idle_enter)
		i++;
	for (; i < m.n; i++)
		if (m.items[i].r.rec.id == id && !nth--)
			return i;
	fail();
	return 0;
}

static void plant(const struct plant *p)
{
	size_t at = find(p->event, p->nth);
	union kmachine_rec r = m.items[at].r;
	const struct hwt_abi_field *f;

	switch (p->op) {
	case DROP: run(at, 1, &r, 0); return;
	case DROP2: run(at, 2, &r, 0); return;
	case REPEAT: run(at, 1, &r, 2); return;
	case SET: set_field(&r, p->field, p->value); break;
	case NAME:
		f = hwt_abi_field_by_name(hwt_abi_event_by_id(r.rec.id), p->field);
		memcpy(r.bytes + f->offset, "nobody\0\0\0\0\0\0\0\0\0", 16);
		break;
	case IDLE: r.rec.tid = 0; break;
	case LOST:
		r.rec.id = HWT_ID_stream_lost;
		r.rec.size = sizeof(r.stream_lost);
		r.stream_lost.count = 1;
		r.stream_lost.cause = r.stream_lost.event = 0;
		set_field(&r, p->field, p->value);
		break;
	}
	run(at, 1, &r, 1);
}

static uint32_t proved[256 * 16];	/* by event: rules that found what was planted */

static void planted(void **state)
{
	unsigned bad = 0;

	kmachine_run(&m, ROUNDS);
	for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++) {
		const struct plant *p = &plants[i];

		plant(p);
		proved[hwt_abi_event_by_name(p->about)->id] |= fired;
		if ((fired & p->must) == p->must && !(fired & ~(p->must | p->may)))
			continue;
		print_error("row %zu: %s, %s changed: rules 0x%x found it, wanted 0x%x\n", i,
			    p->about, p->event, fired, p->must);
		bad++;
	}
	assert_int_equal(bad, 0);
}

/* Values past those of each list, CPUs that no kernel has, names without an end. */
static void values(void **state)
{
	const struct hwt_abi_event *e;
	unsigned done = 0;

	kmachine_run(&m, ROUNDS);
	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
		unsigned n;
		const struct hwt_abi_field *f = e->fields(&n);

		for (; n && e->id != HWT_ID_stream_lost; n--, f++) {
			size_t at = find(e->name, 0);
			union kmachine_rec r = m.items[at].r;

			if (f->type == HWT_ABI_name16)
				memset(r.bytes + f->offset, 'x', 16);
			else if (!strcmp(f->unit, "CPU") || hwt_abi_value_at(f->unit, 0))
				set_field(&r, f->name, 0x7fff0000);
			else
				continue;
			run(at, 1, &r, 1);
			if (!(fired & R(VALUE)))
				print_error("%s.%s\n", e->name, f->name);
			assert_true(fired & R(VALUE));
			proved[e->id] |= R(VALUE);
			done++;
		}
	}
	assert_true(done > 60);
}

/* No event is left out: it is held to its sentences, and found to be, or it is said why not. */
static void covered(void **state)
{
	const struct hwt_abi_event *e;
	const char *why;

	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
		uint32_t rules = contract_cover(e->id, &why);

		if (!rules && !why)
			print_error("%s: no rule, and no reason\n", e->name);
		assert_true(rules || why);
		/* its values alone are not its behaviour */
		assert_true((rules & ~R(VALUE)) || why);
		if (rules & ~proved[e->id])
			print_error("%s: nothing was planted for rules 0x%x\n", e->name,
				    rules & ~proved[e->id]);
		assert_int_equal(rules & ~proved[e->id], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planted), cmocka_unit_test(values), cmocka_unit_test(covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
