/* SPDX-License-Identifier: BSD-2-Clause */
/* What latency and why share. */
#include <string.h>

#include "cli.h"
#include "pairs.h"

void pair_length(struct out *o, struct hwt_interval v, bool ticks)
{
	if (v.lo == HWT_TIME_UNKNOWN) {
		out_str(o, "not known");
	} else if (v.hi == HWT_TIME_UNKNOWN) {
		out_str(o, "at least ");
		if (ticks)
			out_count(o, v.lo, "tick");
		else
			out_span(o, v.lo);
	} else if (ticks) {
		out_udec(o, v.lo);
		if (v.hi != v.lo)
			out_fmt(o, "..%llu", (unsigned long long)v.hi);
		out_str(o, " ticks");
	} else if (v.lo == v.hi) {
		out_span(o, v.lo);
	} else {
		out_spans(o, v.lo, v.hi);
	}
}

void pair_most(struct out *o, uint64_t hi, bool ticks)
{
	if (hi == HWT_TIME_UNKNOWN) {
		out_str(o, "any time");
		return;
	}
	out_str(o, "at most ");
	if (ticks)
		out_count(o, hi, "tick");
	else
		out_span(o, hi);
}

void pair_parts(struct out *o, const struct hwt_interval *part, unsigned known, bool ticks)
{
	const char *sep = "";

	for (unsigned k = 0; k < HWT_PARTS; k++) {
		/* what is not told is part of another one, what is zero says nothing */
		if (!(known & 1u << k) || !part[k].hi)
			continue;
		out_fmt(o, "%s%s ", sep, hwt_part_name(k));
		pair_length(o, part[k], ticks);
		sep = ", ";
	}
}

void pair_json(struct jsonl *j, const struct show *v, const struct hwt_pair *p, unsigned known)
{
	jsonl_open(j, "pair");
	jsonl_u64(j, "number", p->number);
	if (p->pid >= 0)
		jsonl_u64(j, "pid", (uint64_t)p->pid);
	if (p->tid >= 0)
		jsonl_u64(j, "tid", (uint64_t)p->tid);
	if (p->cpu >= 0)
		jsonl_u64(j, "cpu", (uint64_t)p->cpu);
	jsonl_interval(j, "from", v, p->from.time, p->from.span, p->from.clock);
	jsonl_interval(j, "to", v, p->to.time, p->to.span, p->to.clock);
	jsonl_length(j, "took", p->took);
	for (unsigned k = 0; p->split && k < HWT_PARTS; k++)
		if (known & 1u << k)
			jsonl_length(j, hwt_part_name(k), p->part[k]);
	jsonl_bool(j, "tainted", p->tainted);
	if (p->outside)
		jsonl_bool(j, "outside", true);
	jsonl_close(j);
}

void pair_where(struct run *r, const struct hwt_pair *p)
{
	struct out *o = r->out;
	uint64_t zero = r->opts.abs ? 0 : r->show.zero, end = hwt_event_end(&p->to);

	if (p->from.clock != HWT_CLOCK_BASE || p->from.time < zero)
		return;
	out_str(o, "hwtrace timeline --time ");
	out_fmt(o, "%lluns..", (unsigned long long)(p->from.time - zero));
	if (end != HWT_TIME_UNKNOWN && end >= zero)
		out_fmt(o, "%lluns", (unsigned long long)(end - zero));
	if (p->tid > 0)
		out_fmt(o, " --tid %d", p->tid);
	if (r->opts.abs)
		out_str(o, " --abs");
	out_ch(o, ' ');
	out_safe(o, r->opts.args[0]);
}

bool pair_stepped(const struct run *r)
{
	const char *key, *value;

	for (size_t i = 0; (key = hwt_session_fact(r->session, i, &value)); i++)
		if (!strcmp(key, "recorder"))
			return !strcmp(value, "model");
	return false;
}

void pair_scope(struct out *o, unsigned bits, uint64_t tasks)
{
	out_str(o, bits & HWT_SCOPE_GUESSED ? "it seems that only " : "only ");
	if (tasks)
		out_count(o, tasks, "task");
	else
		out_str(o, "some tasks");
	out_str(o, tasks == 1 ? " was recorded" : " were recorded");
	if (bits & HWT_SCOPE_GUESSED)
		out_str(o, " (who leaves a CPU is not who came)");
}

void pair_scope_json(struct jsonl *j, unsigned bits, uint64_t tasks)
{
	if (!(bits & (HWT_SCOPE_TASKS | HWT_SCOPE_EVENTS)))
		return;
	jsonl_str(j, "scope", !(bits & HWT_SCOPE_TASKS) ? "filtered events" :
		  bits & HWT_SCOPE_EVENTS ? "filtered events of some tasks" : "some tasks");
	if (bits & HWT_SCOPE_TASKS) {
		jsonl_bool(j, "scope_stated", !(bits & HWT_SCOPE_GUESSED));
		jsonl_u64(j, "scope_tasks", tasks);
	}
}
