/* SPDX-License-Identifier: BSD-2-Clause */
/* Context switches of a bundle, as the reader's events and as virtual ones. */
#include <errno.h>
#include <stdlib.h>

#include "../virt/virt.h"
#include "lldb.h"

#define BATCH	64	/* events of one call, for they need room */

struct cpu {
	struct lldb_switches w;
	struct lldb_switch next;
	bool more;
};

struct switches {
	struct hwt_stream s;
	const struct lldb_switch_list *list;
	struct virt_state *virt;	/* NULL: the reader's events */
	union { struct hwt_rec_sched_switch sw; struct hwt_rec_stream_lost lost; } rec[BATCH];
	struct cpu cpu[];
};

/* The CPU whose record is the earliest; NULL at the end. */
static struct cpu *first(struct switches *st)
{
	struct cpu *c = NULL;

	for (size_t i = 0; i < st->list->n; i++)
		if (st->cpu[i].more && (!c || st->cpu[i].next.time < c->next.time))
			c = &st->cpu[i];
	return c;
}

static struct hwt_event event(const struct switches *st, const struct cpu *c, unsigned type)
{
	return (struct hwt_event){ .time = c->next.time, .type = (uint16_t)type,
		.clock = HWT_CLOCK_BASE, .cpu = c->w.cpu, .pid = c->next.prev_pid,
		.tid = c->next.prev_tid, .src = st->list->v[c - st->cpu].buf, .off = c->next.off };
}

static void plain(const struct switches *st, const struct cpu *c, struct hwt_event *ev)
{
	*ev = event(st, c, HWT_EV_SCHED_SWITCH);
	ev->flags = c->next.flags;
	ev->u.sched.prev_pid = c->next.prev_pid;
	ev->u.sched.prev_tid = c->next.prev_tid;
	ev->u.sched.next_pid = c->next.pid;
	ev->u.sched.next_tid = c->next.tid;
}

static int virtual(struct switches *st, const struct cpu *c, void *rec, struct hwt_event *ev)
{
	const struct virt_ctx ctx = { .time = c->next.time, .cpu = c->w.cpu,
		.pid = c->next.prev_pid, .tid = c->next.prev_tid };
	struct hwt_rec_sched_switch *w = rec;
	const struct hwt_rec *h = rec;

	if (c->next.lost) {
		virt_make_lost(st->virt, &ctx, c->next.lost, rec);
	} else {
		virt_blank(st->virt, &ctx, HWT_ID_sched_switch, rec);
		w->prev_pid = c->next.prev_pid;
		w->prev_tid = c->next.prev_tid;
		w->next_pid = c->next.pid;
		w->next_tid = c->next.tid;
		/* it could have run on: preempted, or it called sched_yield() */
		if (c->next.flags & HWT_F_PREEMPT)
			w->prev_state = HWT_task_state_ready;
	}
	*ev = event(st, c, HWT_EV_RECORD);
	ev->u.rec.data = rec;
	ev->u.rec.size = h->size;
	ev->u.rec.id = h->id;
	return virt_note(st->virt, rec, c->w.cpu);
}

static int next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct switches *st = hwt_container_of(s, struct switches, s);
	struct cpu *c;
	int n, rc;

	for (n = 0; n < max && (n < BATCH || !st->virt); n++) {
		c = first(st);
		if (!c)
			break;
		if (!st->virt) {
			plain(st, c, &ev[n]);
		} else {
			rc = virtual(st, c, &st->rec[n], &ev[n]);
			if (rc)
				return n ? n : rc;
		}
		c->more = lldb_switches_next(&c->w, &c->next);
	}
	return n;
}

static void close_switches(struct hwt_stream *s)
{
	struct switches *st = hwt_container_of(s, struct switches, s);

	virt_state_free(st->virt);
	free(st);
}

static int open_switches(struct capture *c, bool is_virtual, struct hwt_stream **out,
			 struct hwt_diag *diag)
{
	static const struct hwt_stream_ops ops = { next, close_switches };
	const struct lldb_switch_list *l = c->priv;
	struct switches *st = calloc(1, sizeof(*st) + l->n * sizeof(st->cpu[0]));

	if (!st || (is_virtual && virt_state_new(&st->virt))) {
		free(st);
		return diag_set(diag, -ENOMEM, 3, c->path, HWT_NO_OFF, "out of memory");
	}
	st->s = (struct hwt_stream){ .ops = &ops, .name = "lldb switches" };
	st->list = l;
	for (size_t i = 0; i < l->n; i++) {
		struct cpu *k = &st->cpu[i];

		lldb_switches_init(&k->w, l->v[i].f->p, (size_t)l->v[i].f->size, l->v[i].cpu);
		k->more = lldb_switches_next(&k->w, &k->next);
	}
	*out = &st->s;
	return 0;
}

int lldb_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	return open_switches(c, false, out, diag);
}

int lldb_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	return open_switches(c, true, out, diag);
}
