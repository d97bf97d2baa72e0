/* SPDX-License-Identifier: BSD-2-Clause */
#include "kmachine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>

#define T(cpu)	(10 + (cpu))	/* a task, and a kernel thread, that stay on their CPU */
#define W(cpu)	(20 + (cpu))
#define ROAMER	30
#define CHILD	62

#define ADD(m, cpu, sec, ev) (&add(m, cpu, HWT_ID_##sec##_##ev)->sec##_##ev)

static union kmachine_rec *add(struct kmachine *m, int32_t cpu, unsigned id)
{
	const struct hwt_abi_event *e = hwt_abi_event_by_id(id);
	struct kmachine_item *i = &m->items[m->n];

	if (m->n == KMACHINE_MAX)
		abort();
	memset(i, 0, sizeof(*i));
	i->cpu = cpu;
	i->time = 1000 + 10 * m->n++;
	i->r.rec = (struct hwt_rec){ .time = i->time, .id = (uint16_t)id, .size = e->size,
		.version = HWT_ABI_VERSION, .pid = m->running[cpu], .tid = m->running[cpu] };
	return &i->r;
}

/* Up to seven characters at the end of a record, and their length where the struct has it. */
static void text(union kmachine_rec *r, uint32_t *size, const char *p)
{
	snprintf(r->bytes + r->rec.size, 8, "%s", p);
	r->rec.size += 8;
	*size = 8;
}

static const char *name(const struct kmachine *m, int32_t tid)
{
	return m->names[tid < 63 ? tid : 63];
}

static void go(struct kmachine *m, int32_t cpu, int32_t next, unsigned state)
{
	struct hwt_rec_sched_switch *e = ADD(m, cpu, sched, switch);

	e->prev_pid = e->prev_tid = m->running[cpu];
	e->next_pid = e->next_tid = next;
	e->prev_prio = e->next_prio = 120;
	e->prev_state = state;
	e->preempted = state ? HWT_yesno_no : UINT32_MAX;
	memcpy(e->prev_comm, name(m, m->running[cpu]), 16);
	memcpy(e->next_comm, name(m, next), 16);
	m->running[cpu] = next;
}

static void woken(struct kmachine *m, int32_t cpu, unsigned id, int32_t tid)
{
	struct hwt_rec_sched_wakeup *e = &add(m, cpu, id)->sched_wakeup;

	e->wake_pid = e->wake_tid = tid;
	e->prio = 120;
	e->target_cpu = (uint32_t)cpu;
	memcpy(e->comm, name(m, tid), 16);
}

static void wake(struct kmachine *m, int32_t cpu, int32_t tid)
{
	woken(m, cpu, HWT_ID_sched_waking, tid);
	woken(m, cpu, HWT_ID_sched_wakeup, tid);
}

static void softirq(struct kmachine *m, int32_t cpu, unsigned id, unsigned vec)
{
	add(m, cpu, id)->softirq_entry.vec = vec;
}

/* The clock's interrupt, and what it puts off. */
static void tick(struct kmachine *m, int32_t cpu)
{
	uint64_t timer = 0x100 + (unsigned)cpu, hr = 0x200 + (unsigned)cpu;

	ADD(m, cpu, timer, start)->timer = timer;
	ADD(m, cpu, timer, cancel)->timer = timer;
	ADD(m, cpu, timer, start)->timer = timer;
	ADD(m, cpu, timer, hr_start)->timer = hr;
	ADD(m, cpu, timer, hr_cancel)->timer = hr;
	ADD(m, cpu, timer, hr_start)->timer = hr;
	ADD(m, cpu, irq, entry)->irq = 236;
	ADD(m, cpu, timer, hr_expire)->timer = hr;
	softirq(m, cpu, HWT_ID_softirq_raise, HWT_softirq_timer);
	softirq(m, cpu, HWT_ID_softirq_raise, HWT_softirq_net_rx);
	ADD(m, cpu, timer, hr_done)->timer = hr;
	ADD(m, cpu, irq, exit)->irq = 236;
	softirq(m, cpu, HWT_ID_softirq_entry, HWT_softirq_timer);
	ADD(m, cpu, timer, cancel)->timer = timer;
	ADD(m, cpu, timer, expire)->timer = timer;
	ADD(m, cpu, timer, done)->timer = timer;
	softirq(m, cpu, HWT_ID_softirq_exit, HWT_softirq_timer);
	softirq(m, cpu, HWT_ID_softirq_entry, HWT_softirq_net_rx);
	ADD(m, cpu, net, rx)->packet = 0x300;
	ADD(m, cpu, net, drop)->packet = 0x300;
	ADD(m, cpu, net, poll)->budget = 64;
	softirq(m, cpu, HWT_ID_softirq_exit, HWT_softirq_net_rx);
}

/* One CPU asks the other one to look what it should run. */
static void ipi(struct kmachine *m, int32_t cpu)
{
	struct hwt_rec_irq_ipi_send *s = ADD(m, !cpu, irq, ipi_send);
	struct hwt_rec_irq_entry *e;

	s->kind = HWT_irq_kind_reschedule;
	s->cpus = 1u << cpu;
	e = ADD(m, cpu, irq, entry);
	e->irq = 253;
	e->kind = HWT_irq_kind_reschedule;
	e = (void *)ADD(m, cpu, irq, exit);	/* the same fields */
	e->irq = 253;
	e->kind = HWT_irq_kind_reschedule;
}

static void request(struct kmachine *m, int32_t cpu, unsigned id, uint64_t sector, uint32_t bytes)
{
	struct hwt_rec_block_issue *r = &add(m, cpu, id)->block_issue;

	r->sector = sector;
	r->dev = 8 << 20;
	r->op = HWT_block_op_write;
	r->bytes = bytes;
}

/* Written, given back once, written again, and done in two parts. */
static void disk(struct kmachine *m, int32_t cpu)
{
	uint64_t at = 4096 * (unsigned)cpu;
	struct hwt_rec_block_queue *q = ADD(m, cpu, block, queue);

	q->sector = at;
	q->dev = 8 << 20;
	q->op = HWT_block_op_write;
	q->bytes = 4096;
	request(m, cpu, HWT_ID_block_insert, at, 4096);
	request(m, cpu, HWT_ID_block_issue, at, 4096);
	request(m, cpu, HWT_ID_block_requeue, at, 4096);
	request(m, cpu, HWT_ID_block_issue, at + 8, 4096);
	request(m, cpu, HWT_ID_block_complete, at + 8, 1024);
	request(m, cpu, HWT_ID_block_complete, at + 10, 3072);
}

/* What is there already, told by the task that runs. */
static void state(struct kmachine *m, int32_t cpu)
{
	int32_t me = m->running[cpu];
	union kmachine_rec *r = add(m, cpu, HWT_ID_state_task);

	r->state_task.task_pid = r->state_task.task_tid = me;
	r->state_task.prio = 120;
	r->state_task.task_cpu = (uint32_t)cpu;
	memcpy(r->state_task.comm, name(m, me), 16);
	r = add(m, cpu, HWT_ID_state_map);
	r->state_map.map_pid = me;
	r->state_map.addr = 0x400000;
	r->state_map.length = 4096;
	r->state_map.prot = HWT_prot_bit_read | HWT_prot_bit_exec;
	text(r, &r->state_map.path_size, "/prog");
	r = add(m, cpu, HWT_ID_state_module);
	r->state_module.size = 4096;
	text(r, &r->state_module.name_size, "mod");
	r = add(m, cpu, HWT_ID_state_end);
	r->state_end.tasks = r->state_end.maps = r->state_end.modules = 1;
}

static void code(struct kmachine *m, int32_t cpu)
{
	union kmachine_rec *r = add(m, cpu, HWT_ID_text_ksymbol);

	r->text_ksymbol.addr = 0x9000;
	r->text_ksymbol.size = 64;
	r->text_ksymbol.kind = HWT_code_kind_bpf;
	text(r, &r->text_ksymbol.name_size, "prog");
	r = add(m, cpu, HWT_ID_text_module_load);
	r->text_module_load.size = 4096;
	text(r, &r->text_module_load.name_size, "mod");
	r = add(m, cpu, HWT_ID_text_module_unload);
	text(r, &r->text_module_unload.name_size, "mod");
	r = add(m, cpu, HWT_ID_text_ksymbol);
	r->text_ksymbol.addr = 0x9000;
	r->text_ksymbol.size = 64;
	r->text_ksymbol.kind = HWT_code_kind_bpf;
	r->text_ksymbol.removed = 1;
	text(r, &r->text_ksymbol.name_size, "prog");
	ADD(m, cpu, text, patch)->size = 5;
}

/* A CPU that records nothing comes and goes, the machine sleeps, clocks are read. */
static void power(struct kmachine *m, int32_t cpu)
{
	struct hwt_rec_power_cpu *p = ADD(m, cpu, power, cpu);
	struct hwt_rec_power_suspend *s;
	struct hwt_rec_clock_sync *c;
	struct hwt_rec_clock_rate *f;

	p->target_cpu = 7;
	p->online = 1;
	ADD(m, cpu, power, frequency)->khz = 1000000;
	s = ADD(m, cpu, power, suspend);
	s->begin = 1;
	s->mode = HWT_sleep_mode_memory;
	s = ADD(m, cpu, power, suspend);
	s->mode = HWT_sleep_mode_memory;
	p = ADD(m, cpu, power, cpu);
	p->target_cpu = 7;
	c = ADD(m, cpu, clock, sync);
	c->counter = c->rec.time;
	c->value = c->rec.time + 500;
	c->clock = HWT_clock_id_monotonic;
	f = ADD(m, cpu, clock, rate);
	f->interval = 1000;
	f->rate = 1000000000000;
	f->clock = HWT_clock_id_monotonic;
	ADD(m, cpu, clock, freq)->hz = 1000000000;
	ADD(m, cpu, stream, state)->state = HWT_stream_state_pause;
	ADD(m, cpu, stream, state)->state = HWT_stream_state_resume;
}

/* What a task does to itself. */
static void program(struct kmachine *m, int32_t cpu, unsigned i)
{
	int32_t me = m->running[cpu];
	union kmachine_rec *r = add(m, cpu, HWT_ID_sched_comm);

	snprintf(m->names[me], 16, "task-%u", i % 7);
	r->sched_comm.task_pid = r->sched_comm.task_tid = me;
	memcpy(r->sched_comm.comm, name(m, me), 16);
	r = add(m, cpu, HWT_ID_mm_map);
	r->mm_map.map_pid = r->mm_map.map_tid = me;
	r->mm_map.addr = 0x400000;
	r->mm_map.length = 4096;
	r->mm_map.prot = HWT_prot_bit_read | HWT_prot_bit_exec;
	text(r, &r->mm_map.path_size, "/prog");
	ADD(m, cpu, mm, fault)->access = HWT_access_bit_user;
	r = add(m, cpu, HWT_ID_mm_unmap);
	r->mm_unmap.map_pid = r->mm_unmap.map_tid = me;
	r->mm_unmap.length = 4096;
	for (unsigned id = HWT_ID_user_mark; id <= HWT_ID_user_end; id++) {
		r = add(m, cpu, id);
		r->user_begin.value = (unsigned)cpu;
		text(r, &r->user_begin.text_size, "here");
	}
	r = add(m, cpu, HWT_ID_sched_signal_send);
	r->sched_signal_send.to_pid = r->sched_signal_send.to_tid = me;
	r->sched_signal_send.signal = 10;
	memcpy(r->sched_signal_send.comm, name(m, me), 16);
	ADD(m, cpu, sched, signal_deliver)->signal = 10;
	r = add(m, cpu, HWT_ID_sched_inherit);
	r->sched_inherit.task_pid = r->sched_inherit.task_tid = me;
	r->sched_inherit.old_prio = i % 2 ? 120 : 50;
	r->sched_inherit.new_prio = i % 2 ? 50 : 120;
	memcpy(r->sched_inherit.comm, name(m, me), 16);
	ADD(m, cpu, net, tx)->packet = 0x301;
	ADD(m, cpu, net, xmit)->packet = 0x301;
}

/* One life of a task: born, calls the kernel, becomes another program, ends. */
static void life(struct kmachine *m, int32_t cpu, int32_t tid)
{
	struct hwt_rec_sched_fork *f = ADD(m, cpu, sched, fork);
	struct hwt_rec_sched_exit *x;
	union kmachine_rec *r;

	f->parent_pid = f->parent_tid = m->running[cpu];
	f->child_pid = f->child_tid = tid;
	memcpy(f->comm, name(m, tid), 16);
	woken(m, cpu, HWT_ID_sched_wakeup_new, tid);
	go(m, cpu, tid, HWT_task_state_ready);
	ADD(m, cpu, syscall, exit)->nr = 56;
	r = add(m, cpu, HWT_ID_sched_exec);
	r->sched_exec.task_pid = r->sched_exec.task_tid = r->sched_exec.old_tid = tid;
	text(r, &r->sched_exec.path_size, "/prog");
	ADD(m, cpu, syscall, enter)->nr = 60;
	x = ADD(m, cpu, sched, exit);
	x->task_pid = x->task_tid = tid;
	x->prio = 120;
	memcpy(x->comm, name(m, tid), 16);
	go(m, cpu, T(cpu), HWT_task_state_dead);
	r = add(m, cpu, HWT_ID_sched_free);
	r->sched_free.task_pid = r->sched_free.task_tid = tid;
}

/* Woken where it was not the last time. */
static void roam(struct kmachine *m, int32_t cpu)
{
	struct hwt_rec_sched_migrate *g;

	woken(m, cpu, HWT_ID_sched_waking, ROAMER);
	if (m->roamer_cpu != cpu) {
		g = ADD(m, cpu, sched, migrate);
		g->task_pid = g->task_tid = ROAMER;
		g->from_cpu = (uint32_t)m->roamer_cpu;
		g->to_cpu = (uint32_t)cpu;
		memcpy(g->comm, name(m, ROAMER), 16);
		m->roamer_cpu = cpu;
	}
	woken(m, cpu, HWT_ID_sched_wakeup, ROAMER);
	go(m, cpu, ROAMER, HWT_task_state_ready);
	go(m, cpu, T(cpu), HWT_task_state_sleep);
}

static void one_round(struct kmachine *m, unsigned i, int32_t cpu)
{
	struct hwt_rec_power_idle_enter *p = ADD(m, cpu, power, idle_enter);
	struct hwt_rec_syscall_exit *x;

	p->target_cpu = (uint32_t)cpu;
	p->state = i % 3;
	tick(m, cpu);
	ipi(m, cpu);
	p = (void *)ADD(m, cpu, power, idle_exit);	/* the same fields */
	p->target_cpu = (uint32_t)cpu;
	p->state = i % 3;
	wake(m, cpu, T(cpu));
	go(m, cpu, T(cpu), HWT_task_state_ready);
	ADD(m, cpu, syscall, enter)->nr = i % 5;
	ADD(m, cpu, softirq, work_queue)->work = 0x500;
	wake(m, cpu, W(cpu));
	x = ADD(m, cpu, syscall, exit);
	x->nr = i % 5;
	x->ret = 1;
	program(m, cpu, i);
	disk(m, cpu);
	state(m, cpu);
	code(m, cpu);
	power(m, cpu);
	go(m, cpu, W(cpu), HWT_task_state_ready);
	ADD(m, cpu, softirq, work_start)->work = 0x500;
	m->items[m->n - 1].r.softirq_work_start.function = 0x600;
	ADD(m, cpu, softirq, work_end)->work = 0x500;
	go(m, cpu, T(cpu), HWT_task_state_idle);
	roam(m, cpu);
	life(m, cpu, CHILD + (int32_t)(i % 2));
	go(m, cpu, 0, HWT_task_state_sleep);
}

void kmachine_run(struct kmachine *m, unsigned rounds)
{
	m->n = 0;
	m->running[0] = m->running[1] = m->roamer_cpu = 0;
	for (unsigned i = 0; i < 64; i++)
		snprintf(m->names[i], 16, "t%u", i);
	for (unsigned i = 0; i < rounds; i++)
		one_round(m, i, (int32_t)(i % 2));
}
