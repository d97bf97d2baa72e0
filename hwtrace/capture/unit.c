/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace unit of a thread: one each, as a kernel makes of one unit when it switches it with the
 * threads. So what a thread ran is exact whatever is known of time.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#if defined(__aarch64__)
#include "unit_cfg.h"
#else
#include "../model/pt.h"
#endif

struct unit {
	struct rec *r;
	int buf;
	uint64_t tick;		/* of the event that is told now */
	bool outside;		/* flow is where nothing is seen */
#if defined(__aarch64__)
	struct model_etm4 *enc;
#else
	struct model_pt *enc;
#endif
	struct model_walk walk;
};

static int put_bytes(void *arg, const void *p, size_t n)
{
	struct unit *u = arg;

	u->r->sum.trace_bytes += n;
	return native_trace(u->r->w, u->buf, rec_ns(u->r, u->tick), p, n);
}

#if defined(__aarch64__)

#define TS_EVERY	4096	/* ticks; of a counter of 62.5 MHz: 66 us, some steps */
#define FIRST_ID	0x10	/* trace ids 0x01 to 0x6f may be used (IHI 0029, D4.2.4) */

static int make(struct unit *u, const struct step_task *t, const char *name)
{
	const struct hwt_record_opts *o = u->r->o;
	struct model_etm4_cfg c = { .seed = o->seed + (uint64_t)t->tid, .trace_id = FIRST_ID,
		.ret_stack = !o->no_retcomp, .timestamps = 1, .cycles = o->cycles, .exclude = 2,
		.sync_period = 12, .greedy = 1, .commit1 = 1,
		.ts_every = o->ts_every ? o->ts_every : TS_EVERY };
	struct model_out to = { .put = put_bytes, .arg = u };
	struct trace_cfg cfg;

	unit_cfg_etm4(&cfg, &c);
	cfg.name = "ETM";
	cfg.cpu = u->r->cpu;
	u->buf = native_add_buf(u->r->w, name, u->r->cpu, t->proc->pid, t->tid, FRAMING_NONE,
				&cfg, 1);
	return u->buf < 0 ? u->buf : model_etm4_new(&u->enc, &c, &to);
}

static int put(struct unit *u, struct model_event *ev)
{
	u->tick = ev->tick;
	return model_etm4_put(u->enc, ev);
}

/*
 * A unit that a filter turns off writes nothing, and what ran behind the last branch is not told
 * then. Where a debugger halts the CPU both are known: the place, and that no handler runs.
 */
static int leave(struct unit *u, uint64_t pc, uint64_t tick)
{
	struct model_event ev = { .op = MODEL_TRAP, .trap = MODEL_TRAP_HALT, .tick = tick,
		.from = pc, .to = MODEL_UNSEEN };

	return put(u, &ev);
}

static int finish(struct unit *u)
{
	return model_etm4_end(u->enc);
}

static void drop(struct unit *u)
{
	model_etm4_free(u->enc);
}

#else

#define PSB_BYTES	4096
#define RATIO		30	/* core to bus, as the unit takes it when nothing is said */

static int make(struct unit *u, const struct step_task *t, const char *name)
{
	const struct hwt_record_opts *o = u->r->o;
	const struct ticks_clock *k = &u->r->clock;
	struct model_pt_cfg c = { .seed = o->seed + (uint64_t)t->tid, .no_kernel = true,
		.psb_bytes = o->psb_bytes ? o->psb_bytes : PSB_BYTES, .tnt = MODEL_PT_TNT8,
		.retcomp = !o->no_retcomp, .ret_clear = true, .tsc = true, .mtc = o->mtc >= 0,
		.mtc_freq = o->mtc >= 0 ? (uint8_t)o->mtc : 0, .ctc_eax = k->ctc_eax,
		.ctc_ebx = k->ctc_ebx, .cyc = o->cycles, .ratio = RATIO };
	struct model_out to = { .put = put_bytes, .arg = u };
	struct trace_cfg cfg = { .name = "PT", .core = "", .proto = HWT_PROTO_PT,
		.cpu = u->r->cpu };

	/* a CPU that needs no workaround of errata: Alder Lake */
	cfg.r.pt.family = 6;
	cfg.r.pt.model = 0x97;
	cfg.r.pt.mtc_freq = c.mtc_freq;
	cfg.r.pt.nom_freq = RATIO;
	cfg.r.pt.cpuid_15_eax = c.ctc_eax;
	cfg.r.pt.cpuid_15_ebx = c.ctc_ebx;
	cfg.r.pt.noretcomp = o->no_retcomp;
	u->buf = native_add_buf(u->r->w, name, u->r->cpu, t->proc->pid, t->tid, FRAMING_NONE,
				&cfg, 1);
	return u->buf < 0 ? u->buf : model_pt_new(&u->enc, &c, &to);
}

static int put(struct unit *u, struct model_event *ev)
{
	u->tick = ev->tick;
	return model_pt_put(u->enc, ev);
}

static int leave(struct unit *u, uint64_t pc, uint64_t tick)
{
	u->tick = tick;
	return model_pt_leave(u->enc, pc, tick);
}

static int finish(struct unit *u)
{
	return model_pt_end(u->enc);
}

static void drop(struct unit *u)
{
	model_pt_free(u->enc);
}

#endif

int unit_new(struct rec *r, struct step_task *t)
{
	struct unit *u = calloc(1, sizeof(*u));
	char name[32];
	int rc;

	if (!u)
		return -ENOMEM;
	snprintf(name, sizeof(name), "thread %d", t->tid);
	u->r = r;
	u->walk.blocks = r->blocks;
	u->outside = true;
	rc = make(u, t, name);
	if (rc < 0) {
		free(u);
		return rc;
	}
	t->unit = u;
	return 0;
}

void unit_free(struct step_task *t)
{
	struct unit *u = t->unit;

	if (!u)
		return;
	drop(u);
	free(u);
	t->unit = NULL;
}

/* What the walk keeps back; @to comes next. */
static int flush(struct unit *u, uint64_t to)
{
	struct model_event ev;
	int rc;

	/* a string instruction that is to go on has not run, and is told when it has */
	if (u->walk.insns && u->walk.insn.rep && u->walk.last == to)
		u->r->sum.steps--;
	rc = model_walk_flush(&u->walk, to, &ev);
	return rc > 0 ? put(u, &ev) : rc;
}

int unit_enter(struct step_task *t, uint64_t pc, uint64_t tick)
{
	struct unit *u = t->unit;
	struct model_event ev = { .op = MODEL_CONTEXT, .tick = tick };
	int rc;

	/* the exit level of a system call is told with the place that follows it */
	rc = flush(u, MODEL_UNSEEN);
	if (rc)
		return rc;
	ev.ctx.level = ARCH_USER_LEVEL;
	ev.ctx.isa = ARCH_USER_ISA;
	ev.ctx.valid = 1 << 2;
	if (!u->tick)
		rc = put(u, &ev);
	ev = (struct model_event){ .op = MODEL_ENTER, .tick = tick, .to = pc };
	u->outside = false;
	return rc ? rc : put(u, &ev);
}

/* An instruction that the classifier does not know is left out, as if tracing stopped for it. */
static int left_out(struct step_task *t, const struct step_insn *i)
{
	struct unit *u = t->unit;

	if (!u->r->unknown++)
		rec_note(u->r, 176, "the instruction at 0x%llx is not known: it is not in the "
			 "trace", (unsigned long long)i->addr);
	return unit_trap(t, i->addr, SIGILL, i->tick);
}

int unit_insn(struct step_task *t, const struct step_insn *i)
{
	struct unit *u = t->unit;
	struct model_event ev;
	int rc;

	if (u->outside) {
		rc = unit_enter(t, i->addr, i->tick);
		if (rc)
			return rc;
	}
	/* repetitions of a string instruction are steps, but one instruction */
	if (!u->walk.insns || !u->walk.insn.rep || u->walk.last != i->addr)
		u->r->sum.steps++;
	rc = model_walk_insn(&u->walk, i->isa, i->addr, i->bytes, i->n, i->tick, &ev);
	if (rc == -HWT_E_PACKET || rc == -HWT_E_MORE)
		return left_out(t, i);
	if (rc > 0)
		rc = put(u, &ev);
	if (rc)
		return rc;
	rc = code_ran(u->r, t, i->addr, i->bytes, u->walk.insn.size, i->tick);
	if (rc || !i->call)
		return rc;
	u->outside = true;
	return flush(u, MODEL_UNSEEN);
}

static uint8_t kind_of(int sig)
{
	switch (sig) {
	case SIGSEGV:
	case SIGBUS: return MODEL_TRAP_DATA_FAULT;
	case SIGILL: return MODEL_TRAP_UNDEFINED;
	case SIGTRAP: return MODEL_TRAP_DEBUG;
	case SIGFPE: return MODEL_TRAP_OTHER;
	default: return MODEL_TRAP_IRQ;
	}
}

int unit_trap(struct step_task *t, uint64_t pc, int sig, uint64_t tick)
{
	struct unit *u = t->unit;
	struct model_event ev = { .op = MODEL_TRAP, .trap = kind_of(sig), .tick = tick, .from = pc,
		.to = MODEL_UNSEEN };
	int rc;

	if (u->outside)
		return flush(u, MODEL_UNSEEN);
	rc = flush(u, pc);
	u->outside = true;
	return rc ? rc : put(u, &ev);
}

int unit_leave(struct step_task *t, uint64_t pc, uint64_t tick)
{
	struct unit *u = t->unit;
	int rc;

	if (u->outside)
		return flush(u, MODEL_UNSEEN);
	rc = flush(u, pc);
	u->outside = true;
	return rc ? rc : leave(u, pc, tick);
}

int unit_end(struct step_task *t)
{
	struct unit *u = t->unit;
	int rc = flush(u, u->outside ? MODEL_UNSEEN : MODEL_NO_ADDR);

	return rc ? rc : finish(u);
}
