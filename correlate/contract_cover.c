/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which rules hold each event to what events.def says of it, and what of that no rule can look at.
 * Time, twice and runs are for all of them. What kernels do not keep of a sentence is no rule.
 */
#include "contract.h"

#define FLOW "what runs before and after it is the trace's to say"
#define ALONE "nothing else tells of it, so none can be missed"
#define CUT "what is asked for is cut and joined without a record"

static const struct { uint16_t id; uint32_t rules; const char *why; } cover[] = {
#define R(rule) (1u << RULE_##rule)
#define COVER(sec, name, rules, why) { HWT_ID_##sec##_##name, rules, why }
	COVER(stream, lost, R(VALUE), ALONE),
	COVER(stream, state, R(CHANGE) | R(VALUE), "what was first on a CPU may be cut off"),
	COVER(sched, switch, R(SWITCH) | R(RUNS) | R(WOKEN) | R(MOVED) | R(NAMED) | R(WHERE) |
	      R(VALUE), NULL),
	COVER(sched, waking, R(WAKING) | R(NAMED) | R(VALUE),
	      "whether it had left its CPU is not told"),
	COVER(sched, wakeup, R(WAKING) | R(WOKEN) | R(NAMED) | R(VALUE), NULL),
	COVER(sched, wakeup_new, R(BORN) | R(NAMED) | R(VALUE),
	      "which threads are io_uring's is not told"),
	COVER(sched, migrate, R(MOVED) | R(NAMED) | R(VALUE), NULL),
	COVER(sched, fork, R(BORN) | R(WHERE) | R(VALUE), NULL),
	COVER(sched, exec, R(WHERE) | R(VALUE), FLOW),
	COVER(sched, exit, R(EXIT) | R(NAMED) | R(WHERE) | R(VALUE), NULL),
	COVER(sched, comm, R(NAMED), NULL),
	COVER(sched, free, R(EXIT) | R(VALUE), NULL),
	COVER(sched, inherit, R(NAMED) | R(VALUE), "programs change priorities without a record"),
	COVER(sched, signal_send, R(SIGNAL) | R(NAMED) | R(VALUE), NULL),
	COVER(sched, signal_deliver, R(SIGNAL) | R(WHERE) | R(VALUE),
	      "which task's end kills its threads is not told"),
	COVER(irq, entry, R(IRQ) | R(IPI) | R(VALUE), NULL),
	COVER(irq, exit, R(IRQ) | R(VALUE), NULL),
	COVER(irq, ipi_send, R(IPI) | R(VALUE), "two may become one interrupt"),
	COVER(softirq, raise, R(RAISED) | R(VALUE), NULL),
	COVER(softirq, entry, R(SOFTIRQ) | R(WHERE) | R(VALUE), NULL),
	COVER(softirq, exit, R(SOFTIRQ) | R(VALUE), NULL),
	COVER(softirq, work_queue, R(QUEUED) | R(VALUE), "work is taken back without a record"),
	COVER(softirq, work_start, R(QUEUED) | R(WORK) | R(WHERE) | R(VALUE), NULL),
	COVER(softirq, work_end, R(WORK) | R(WHERE), NULL),
	COVER(syscall, enter, R(SYSCALL) | R(WHERE) | R(VALUE), NULL),
	COVER(syscall, exit, R(SYSCALL) | R(WHERE) | R(VALUE), NULL),
	COVER(block, queue, R(VALUE), CUT),
	COVER(block, insert, R(VALUE), CUT),
	COVER(block, issue, R(BLOCK) | R(VALUE), CUT),
	COVER(block, requeue, R(VALUE), "whether the driver had begun with it is not told"),
	COVER(block, complete, R(BLOCK) | R(VALUE), NULL),
	COVER(net, rx, R(VALUE), ALONE),
	COVER(net, tx, R(VALUE), ALONE),
	COVER(net, xmit, R(VALUE), "what was cut is sent as packets with addresses of their own"),
	COVER(net, poll, R(VALUE), ALONE),
	COVER(net, drop, R(VALUE), ALONE),
	COVER(mm, map, R(WHERE) | R(VALUE), FLOW),
	COVER(mm, unmap, R(WHERE) | R(VALUE), FLOW),
	COVER(mm, fault, R(VALUE), ALONE),
	COVER(text, patch, R(VALUE), FLOW),
	COVER(text, ksymbol, R(CHANGE) | R(VALUE), FLOW),
	COVER(text, module_load, R(CHANGE) | R(VALUE), FLOW),
	COVER(text, module_unload, R(CHANGE), FLOW),
	COVER(power, idle_enter, R(IDLE) | R(WHERE) | R(VALUE), NULL),
	COVER(power, idle_exit, R(IDLE) | R(WHERE) | R(VALUE), NULL),
	COVER(power, frequency, R(VALUE), "one that is asked for again looks as no change"),
	COVER(power, suspend, R(CHANGE) | R(VALUE), "few recorders tell clock.sync"),
	COVER(power, cpu, R(CHANGE) | R(VALUE), NULL),
	COVER(timer, start, R(SET), NULL),
	COVER(timer, cancel, R(SET), NULL),
	COVER(timer, expire, R(SET) | R(TIMER) | R(WHERE), NULL),
	COVER(timer, done, R(TIMER), NULL),
	COVER(timer, hr_start, R(SET) | R(VALUE), NULL),
	COVER(timer, hr_cancel, R(SET), NULL),
	COVER(timer, hr_expire, R(SET) | R(TIMER), NULL),
	COVER(timer, hr_done, R(TIMER), NULL),
	COVER(user, mark, R(WHERE), ALONE),
	COVER(user, begin, R(MARK) | R(WHERE), NULL),
	COVER(user, end, R(MARK) | R(WHERE), NULL),
	COVER(clock, sync, R(CLOCK) | R(VALUE), "a stopped machine reads no clock every second"),
	COVER(clock, freq, R(VALUE), ALONE),
	COVER(clock, rate, R(VALUE), ALONE),
	COVER(state, task, R(NAMED) | R(VALUE), NULL),
	COVER(state, map, R(VALUE), FLOW),
	COVER(state, module, R(VALUE), FLOW),
	COVER(state, end, 0, "what it counts may have been lost"),
#undef COVER
#undef R
};

uint32_t contract_cover(unsigned id, const char **why)
{
	for (size_t i = 0; i < sizeof(cover) / sizeof(cover[0]); i++)
		if (cover[i].id == id) {
			*why = cover[i].why;
			return cover[i].rules;
		}
	*why = NULL;
	return 0;
}
