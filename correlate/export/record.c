/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of perf.data, layouts by linux/perf_event.h and perf's own for those from 64 on. */
#include "export.h"

#include <string.h>

enum {	/* perf_event_attr.sample_type */
	S_IP = 1 << 0, S_TID = 1 << 1, S_TIME = 1 << 2, S_CPU = 1 << 7, S_IDENTIFIER = 1 << 16,
};

uint64_t rec_sample_type(const struct ex *e)
{
	return S_IP | S_TID | S_CPU | S_IDENTIFIER | (e->timed ? S_TIME : 0);
}

void rec_begin(struct ex *e, uint32_t type, uint16_t misc)
{
	e->rec.n = 0;
	bytes_u32(&e->rec, type);
	bytes_u16(&e->rec, misc);
	bytes_u16(&e->rec, 0);
}

void rec_end(struct ex *e)
{
	uint16_t n = (uint16_t)e->rec.n;

	if (!e->rec.failed)
		memcpy(e->rec.p + 6, &n, 2);
}

/* The end of each record of the kernel's: who, when, where, of which event. */
static void sample_id(struct ex *e, int32_t pid, int32_t tid, uint64_t time, int32_t cpu)
{
	struct bytes *b = &e->rec;

	bytes_u32(b, (uint32_t)pid);
	bytes_u32(b, (uint32_t)tid);
	if (e->timed)
		bytes_u64(b, time);
	bytes_u32(b, (uint32_t)cpu);
	bytes_u32(b, 0);
	bytes_u64(b, 1);
	rec_end(e);
}

static void comm(struct ex *e, const struct ex_event *ev)
{
	const char *name = machine_comm(e->c->machine, ev->tid);

	rec_begin(e, P_COMM, ev->kind == EX_EXEC ? P_EXEC : 0);
	bytes_u32(&e->rec, (uint32_t)ev->pid);
	bytes_u32(&e->rec, (uint32_t)ev->tid);
	bytes_str(&e->rec, ev->tid || *name ? name : "swapper");
	sample_id(e, ev->pid, ev->tid, ev->time, ev->cpu);
}

static void fork_record(struct ex *e, const struct ex_event *ev)
{
	struct bytes *b = &e->rec;

	rec_begin(e, P_FORK, P_USER);
	bytes_u32(b, (uint32_t)ev->pid);
	bytes_u32(b, (uint32_t)ev->pid2);
	bytes_u32(b, (uint32_t)ev->tid);
	bytes_u32(b, (uint32_t)ev->tid2);
	bytes_u64(b, ev->time);
	sample_id(e, ev->pid2, ev->tid2, ev->time, ev->cpu);
}

static void kernel_map(struct ex *e, const struct ex_map *m)
{
	struct bytes *b = &e->rec;

	rec_begin(e, P_MMAP, P_KERNEL);
	bytes_u32(b, UINT32_MAX);
	bytes_u32(b, 0);
	bytes_u64(b, m->addr);
	bytes_u64(b, m->last - m->addr + 1);
	bytes_u64(b, m->file_off);
	bytes_str(b, m->path);
	sample_id(e, -1, 0, m->time, 0);
}

static void map(struct ex *e, const struct ex_map *m)
{
	static const uint8_t zero[24];
	struct bytes *b = &e->rec;

	if (m->pid == HWT_NONE) {
		kernel_map(e, m);
		return;
	}
	rec_begin(e, P_MMAP2, P_USER | (m->id_size ? P_BUILD_ID : 0));
	bytes_u32(b, (uint32_t)m->pid);
	bytes_u32(b, (uint32_t)m->pid);
	bytes_u64(b, m->addr);
	bytes_u64(b, m->last - m->addr + 1);
	bytes_u64(b, m->file_off);
	if (m->id_size) {
		bytes_u32(b, m->id_size);
		bytes_put(b, m->id, m->id_size);
		bytes_put(b, zero, 20u - m->id_size);
	} else {
		bytes_put(b, zero, 24);		/* device, inode, generation */
	}
	bytes_u32(b, 5);			/* PROT_READ, PROT_EXEC */
	bytes_u32(b, 2);			/* MAP_PRIVATE */
	bytes_str(b, m->path);
	sample_id(e, m->pid, m->pid, m->time, 0);
}

static void itrace_start(struct ex *e, const struct ex_event *ev)
{
	rec_begin(e, P_ITRACE_START, P_USER);
	bytes_u32(&e->rec, (uint32_t)ev->pid);
	bytes_u32(&e->rec, (uint32_t)ev->tid);
	sample_id(e, ev->pid, ev->tid, ev->time, ev->cpu);
}

/* @out: the task that leaves, which is of @pid2. */
static void switch_record(struct ex *e, const struct ex_event *ev, bool out)
{
	uint16_t misc = ev->flags & HWT_F_PREEMPT ? P_PREEMPT : 0;
	bool wide = e->switches == 3;

	rec_begin(e, wide ? P_SWITCH_CPU_WIDE : P_SWITCH, misc | (out ? P_OUT : 0));
	if (wide) {
		bytes_u32(&e->rec, (uint32_t)(out ? ev->pid : ev->pid2));
		bytes_u32(&e->rec, (uint32_t)(out ? ev->tid : ev->tid2));
	}
	sample_id(e, out ? ev->pid2 : ev->pid, out ? ev->tid2 : ev->tid, ev->time, ev->cpu);
}

static void aux(struct ex *e, const struct ex_aux *a)
{
	const struct ex_queue *q = list_at(&e->queues, struct ex_queue, a->q);

	rec_begin(e, P_AUX, P_USER);
	bytes_u64(&e->rec, a->off);
	bytes_u64(&e->rec, a->size);
	bytes_u64(&e->rec, a->flags);
	/* perf 6.1 finds the trace of a thread only if no CPU is told here, either */
	sample_id(e, a->pid, a->tid, a->time, q->cpu);
}

void rec_event(struct ex *e, const struct ex_event *ev)
{
	switch (ev->kind) {
	case EX_FORK: fork_record(e, ev); break;
	case EX_EXEC: comm(e, ev); break;
	case EX_TASK: ev->index ? fork_record(e, ev) : comm(e, ev); break;
	case EX_MAP: map(e, list_at(&e->maps, struct ex_map, ev->index)); break;
	case EX_ITRACE: itrace_start(e, ev); break;
	case EX_SWITCH: switch_record(e, ev, ev->index); break;
	case EX_AUX: aux(e, list_at(&e->auxs, struct ex_aux, ev->index)); break;
	}
}

void rec_auxtrace(struct ex *e, const struct ex_chunk *c, uint32_t index)
{
	const struct ex_queue *q = list_at(&e->queues, struct ex_queue, c->q);
	struct bytes *b = &e->rec;

	rec_begin(e, P_AUXTRACE, 0);
	bytes_u64(b, (c->size + 7) & ~7ull);
	bytes_u64(b, c->off);
	/* tells chunks apart; perf completes the 56 bits of TSC packets by it */
	bytes_u64(b, c->ref ? c->ref : index + 1);
	bytes_u32(b, c->q);
	bytes_u32(b, (uint32_t)q->tid);
	bytes_u32(b, (uint32_t)q->cpu);
	bytes_u32(b, 0);
	rec_end(e);
}

void rec_time_conv(struct ex *e)
{
	const struct time_map *m = &e->c->tsc;
	struct bytes *b = &e->rec;

	rec_begin(e, P_TIME_CONV, 0);
	bytes_u64(b, m->shift);
	bytes_u64(b, m->mult);
	bytes_u64(b, m->zero);
	bytes_u64(b, m->cap_short ? m->cycles : 0);
	bytes_u64(b, m->cap_short ? m->mask : 0);
	bytes_u64(b, 0);
	rec_end(e);
	if (!b->failed) {
		b->p[48] = 1;			/* cap_user_time_zero */
		b->p[49] = m->cap_short;	/* cap_user_time_short */
	}
}
