// SPDX-License-Identifier: GPL-2.0-only
/* What probes run of sessions: which of them want a record, and storing it. */
#include <linux/filter.h>

#include "filter.h"
#include "own.h"
#include "place.h"
#include "ring_try.h"
#include "session.h"

#define OWN_REC		192		/* of records of a session without rights, without text */
#define STAGE_BYTES	320		/* of any record with context, without text */

static bool has_task(const struct session *s, s32 tid)
{
	return tid >= 0 && tid < PID_MAX_LIMIT && test_bit(tid, s->tids);
}

/* The child of one of the tasks becomes one, the number of another task is given away. */
static void follow(struct session *s, const struct hwt_rec_sched_fork *r)
{
	if (r->child_tid < 0 || r->child_tid >= PID_MAX_LIMIT)
		return;
	if (has_task(s, r->parent_tid))
		set_bit(r->child_tid, s->tids);
	else if (has_task(s, r->child_tid))
		clear_bit(r->child_tid, s->tids);
}

static bool wanted(struct session *s, const struct vtp *v, const struct hwt_rec *rec)
{
	if (!s->tids)
		return true;
	if (rec->id == HWT_ID_sched_fork)
		follow(s, (const struct hwt_rec_sched_fork *)rec);
	if (!test_bit(v->index, s->events))
		return false;
	return has_task(s, rec->tid) ||
		(v->other && has_task(s, *(const s32 *)((const u8 *)rec + v->other)));
}

/* @ctx: NULL: not known. */
static void store(struct session_cpu *c, const struct session_rec *r, const u64 *ctx)
{
	const u32 head = sizeof(*r->rec), n = r->rec->size - vtp_text_size(r->text_len);
	u32 more = c->s->context.size, size = r->rec->size + more;
	u64 time;
	u8 *p = ring_reserve(c->ring, size, &time), *own;

	if (!p)
		return;
	own = p + head + more;
	memcpy(p, r->rec, head);
	if (more && ctx)
		memcpy(p + head, ctx, more);
	else if (more)
		context_none(&c->s->context, (u64 *)(p + head));
	memcpy(own, (const u8 *)r->rec + head, n - head);
	if (r->text_len) {
		memcpy(own + n - head, r->text, r->text_len);
		memset(own + n - head + r->text_len, 0, r->rec->size - n - r->text_len);
	}
	((struct hwt_rec *)p)->time = time;
	((struct hwt_rec *)p)->size = size;
	ring_commit(c->ring, p, size);
	if (ring_wake(c->ring))
		irq_work_queue(&c->wake);
}

/* A filter sees the event's own fields where they are without context, which comes behind them. */
static noinline bool passes_with(const struct bpf_prog *filter, const struct hwt_rec *rec, u32 n,
				 const struct context_cfg *x, const u64 *ctx)
{
	union { struct hwt_rec rec; u8 bytes[STAGE_BYTES]; } u;

#define HWT_EVENT(sec, name, number, since, stamp, order, often) \
	BUILD_BUG_ON(sizeof(struct hwt_rec_##sec##_##name) + CONTEXT_MAX * 8 > sizeof(u));
#include <hwtrace/events.def>
	memcpy(&u, rec, n);
	memcpy(u.bytes + n, ctx, x->size);
	return filter_wants(filter, &u.rec);
}

/* Stores the record if the filter wants it. */
static void offer(struct session_cpu *c, const struct session_rec *r,
		  const struct bpf_prog *filter)
{
	const struct context_cfg *x = &c->s->context;
	u64 ctx[CONTEXT_MAX];

	if (x->size)
		context_put(c, r->rec->flags, ctx);
	if (filter) {
		r->rec->time = ring_clock();
		if (x->size ? !passes_with(filter, r->rec, r->rec->size -
					   vtp_text_size(r->text_len), x, ctx) :
		    !filter_wants(filter, r->rec))
			return;
	}
	store(c, r, ctx);
}

static void offer_own(struct session *s, struct session_cpu *c, const struct session_rec *r)
{
	union { struct hwt_rec rec; u8 bytes[OWN_REC]; } u;
	struct session_rec own = *r;

	BUILD_BUG_ON(sizeof(struct hwt_rec_mm_map) > sizeof(u));	/* the longest of them */
	if (!own_runs(s))
		return;
	memcpy(&u, r->rec, r->v->size);
	own.rec = &u.rec;
	if (own_hide(&u.rec))
		offer(c, &own, s->filter[r->v->index]);
}

static noinline void put(unsigned int slot, struct vtp *v, struct hwt_rec *rec,
			 const struct vtp_more *more)
{
	struct session_rec r = { .v = v, .rec = rec, .text = more ? more->text : NULL,
		.text_len = more ? more->len : 0 };
	struct session *s = READ_ONCE(sessions[slot]);
	struct session_cpu *c;

	if (!s || !READ_ONCE(s->writes) || !wanted(s, v, rec))
		return;
	c = &s->cpu[raw_smp_processor_id()];
	if (s->own)
		offer_own(s, c, &r);
	else
		offer(c, &r, s->filter[v->index]);
}

notrace void place_wake(struct session_cpu *c)
{
	if (ring_wake(c->ring))
		irq_work_queue(&c->wake);
}

/* The ring of this CPU of a session that wants all that there is of it, without context. */
static __always_inline void put_in(struct session_cpu *c, struct hwt_rec *rec)
{
	bool whole;

	if (unlikely(!ring_try(c->ring, rec, rec->size, &whole)))
		whole = ring_write(c->ring, rec);
	if (unlikely(whole))
		place_wake(c);
}

static noinline notrace void put_all(u64 todo, struct vtp *v, struct hwt_rec *rec,
				     const struct vtp_more *more)
{
	while (todo) {
		put(__ffs64(todo), v, rec, more);
		todo &= todo - 1;
	}
}

/* put_all() for what is most common, in few instructions: one session, of all tasks. */
notrace void session_give(struct vtp *v, struct hwt_rec *rec, const struct vtp_more *more)
{
	struct ring *r = this_cpu_read(vtp_here[v->index].ring);
	struct session_cpu *c;

	if (likely(r && !more)) {
		put_in(r->owner, rec);
		return;
	}
	c = this_cpu_read(vtp_here[v->index].filtered);
	if (c && !more) {
		rec->time = ring_clock();
		if (filter_wants(c->s->filter[v->index], rec))
			put_in(c, rec);
		return;
	}
	put_all(READ_ONCE(v->sessions), v, rec, more);
}

bool session_wants_task(const struct session *s, s32 tid)
{
	return !s->tids || has_task(s, tid);
}

void session_put_own(struct session *s, struct hwt_rec *rec, const struct bpf_prog *filter)
{
	struct session_rec r = { .rec = rec };

	if (session_wants_task(s, rec->tid))
		offer(&s->cpu[raw_smp_processor_id()], &r, filter);
}

void session_note(struct session_cpu *c, struct hwt_rec *rec, unsigned int vtp, size_t size)
{
	struct session_rec r = { .rec = rec };

	rec->id = vtps[vtp].id;
	rec->size = size;
	rec->version = HWT_ABI_VERSION;
	rec->flags = 0;
	rec->hit = 0;
	rec->pid = rec->tid = -1;
	store(c, &r, NULL);
}

size_t session_tell(struct session *s, struct hwt_rec *rec, unsigned int vtp, size_t size,
		    const char *text, u32 len)
{
	struct session_rec r = { .rec = rec, .text = text, .text_len = len };

	rec->id = vtps[vtp].id;
	rec->size = size + vtp_text_size(len);
	rec->version = HWT_ABI_VERSION;
	rec->flags &= HWT_REC_CUT;
	rec->hit = 0;
	vtp_task(&rec->pid, &rec->tid, current);
	preempt_disable();
	store(&s->cpu[smp_processor_id()], &r, NULL);
	preempt_enable();
	return rec->size;
}
