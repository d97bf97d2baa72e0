/* SPDX-License-Identifier: BSD-2-Clause */
/* How long each request of the guest took, and where that time went, by what ran. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <hwtrace/uapi.h>

#include "whole.h"

struct request {
	uint64_t begin_lo, begin_hi, end_lo, end_hi;
	uint64_t faults, fault_ticks;	/* from the trap until the program goes on */
	uint64_t irq_ticks;		/* of interrupts, until what they interrupted goes on */
	uint64_t extra_ticks;		/* of the function that one does more, itself */
	uint64_t other_ticks;	/* at least: programs of others ran */
};

struct walk {
	struct whole *w;
	uint64_t request, extra;	/* addresses of the functions */
	uint64_t before, thread, main;	/* registers: of the program now, of who serves */
	unsigned level, user, n;	/* level of programs: CPL 3, EL 0 */
	int depth, extra_depth;		/* calls below the function, -1: it does not run */
	uint64_t fault_at, irq_at, irq_from;
	bool fault, irq, returned;	/* @returned: by an IRET or ERET */
	bool called;		/* it is, but was interrupted before its first instruction */
	uint64_t called_lo, called_hi;
	struct request r;
};

/* What the records of the CPU say of a request, whose thread is the first that is switched from. */
struct told {
	uint64_t off, irq;	/* it was on no CPU; interrupts, but for those meanwhile */
	unsigned switches, irqs;
};

static struct told records(const struct whole_cpu *c, const struct request *r)
{
	struct told t = { 0 };
	uint64_t off = 0, irq = 0;
	unsigned depth = 0;	/* on Arm what an IPI is for is told within the interrupt */
	int32_t tid = -1;

	for (size_t i = 0; i < c->nrec; i++) {
		const struct hwt_rec_sched_switch *s = (const void *)c->rec[i].data;
		uint64_t at = s->rec.time;

		if (at < r->begin_hi || at > r->end_lo)
			continue;
		if (s->rec.id == HWT_ID_sched_switch && tid < 0) {
			tid = s->prev_tid;
			off = at;
			t.switches++;
		} else if (s->rec.id == HWT_ID_sched_switch && s->next_tid == tid) {
			t.off += at - off;
			tid = -1;
		} else if (s->rec.id == HWT_ID_irq_entry && tid < 0) {
			if (!depth++)
				irq = at;
			t.irqs += depth == 1;
		} else if (s->rec.id == HWT_ID_irq_exit && tid < 0 && depth) {
			if (!--depth)
				t.irq += at - irq;
		}
	}
	return t;
}

static void tell(struct walk *k)
{
	const struct request *r = &k->r;
	const struct told t = records(&k->w->cpu[0], r);

	printf("{\"number\":%u,\"from\":[%" PRIu64 ",%" PRIu64 "],\"to\":[%" PRIu64 ",%" PRIu64 "],"
	       "\"preempted\":%" PRIu64 ",\"switches\":%u,\"others\":%" PRIu64 ",\"irq\":%" PRIu64
	       ",\"irqs\":%u,\"trap\":%" PRIu64 ",\"fault\":%" PRIu64 ",\"faults\":%" PRIu64
	       ",\"extra\":%" PRIu64 "}\n", ++k->n, r->begin_lo, r->begin_hi, r->end_lo, r->end_hi,
	       t.off, t.switches, r->other_ticks, t.irq, t.irqs, r->irq_ticks, r->fault_ticks,
	       r->faults, r->extra_ticks);
}

/* Code of the program that serves; of what it calls in the request the returns are counted. */
static void own_code(struct walk *k, const struct model_event *ev)
{
	const struct model_block *b = ev->block;
	bool call = b->kind == MODEL_CALL || b->kind == MODEL_ICALL, whole = ev->insns == b->insns;

	if (b->first == k->request && k->depth < 0) {
		k->r = (struct request){ .begin_lo = k->called ? k->called_lo : k->before,
			.begin_hi = k->called ? k->called_hi : ev->tick };
		k->called = false;
		k->depth = 0;
	}
	if (k->depth < 0)
		return;
	if (k->fault)
		k->r.fault_ticks += k->before - k->fault_at;
	k->fault = false;
	if (b->first == k->extra && k->extra_depth < 0)
		k->extra_depth = 0;
	if (k->extra_depth >= 0)
		k->r.extra_ticks += ev->tick - k->before;
	if (!whole)
		return;
	if (k->extra_depth >= 0)
		k->extra_depth += call - (b->kind == MODEL_RETURN);
	k->depth += call;
	if (b->kind == MODEL_RETURN && k->depth-- == 0) {
		k->r.end_lo = k->before;
		k->r.end_hi = ev->tick;
		tell(k);
	}
}

static void trap(struct walk *k, const struct model_event *ev)
{
	/* a function begins when it is called */
	if (k->depth < 0 && ev->from == k->request && !k->called) {
		k->called_lo = k->before;
		k->called_hi = ev->tick;
		k->called = true;
	}
	if (k->depth < 0 || k->thread != k->main)
		return;
	if (ev->trap == MODEL_TRAP_DATA_FAULT && k->level == k->user) {
		k->r.faults++;
		k->fault_at = k->before;
		k->fault = true;
	} else if (ev->trap == MODEL_TRAP_IRQ && !k->irq) {
		k->irq_at = k->before;
		k->irq_from = ev->from;
		k->irq = true;
	}
}

static void run(struct walk *k, const struct model_event *ev)
{
	/* what runs there may be the handler, which calls what it interrupted */
	if (k->irq && ((ev->block->first == k->irq_from && k->returned) ||
		       !(ev->block->first >> 63))) {
		k->r.irq_ticks += k->before - k->irq_at;
		k->irq = false;
	}
	k->returned = ev->block->kind == MODEL_FAR_RETURN && ev->insns == ev->block->insns;
	if (ev->block->first >> 63)
		return;
	if (ev->block->first == k->request && k->depth < 0)
		k->main = k->thread;
	if (k->thread == k->main)
		own_code(k, ev);
	else if (k->depth >= 0)
		k->r.other_ticks += ev->tick - k->before;
}

int whole_requests(struct whole *w, uint64_t request, uint64_t extra)
{
	struct walk k = { .w = w, .request = request, .extra = extra, .depth = -1,
		.extra_depth = -1, .user = whole_is_pt(w) ? 3 : 0 };
	struct model_event ev;
	struct rec_iter *it;
	int rc = rec_iter_new(&it, w->rec, 0, &w->clk);

	while (!rc && (rc = rec_next(it, &ev)) > 0) {
		rc = 0;
		if (ev.op == MODEL_CONTEXT) {
			k.thread = ev.to;
			k.level = ev.ctx.level;
		}
		if (ev.op == MODEL_TRAP)
			trap(&k, &ev);
		if (ev.op == MODEL_RUN)
			run(&k, &ev);
		k.before = ev.tick;
	}
	rec_iter_free(it);
	return rc < 0 ? rc : k.n ? 0 : -ENOENT;
}
