/* SPDX-License-Identifier: BSD-2-Clause */
/* What a task waited for: who woke it and what that was doing, and who had its CPU. */
#include <string.h>

#include "cli.h"
#include "pairs.h"

static void task(struct run *r, const struct hwt_event *ev, int32_t tid)
{
	if (tid)
		pair_task(r, ev, tid);
	else
		out_str(r->out, "idle");
}

static void in_call(struct out *o, const char *call)
{
	if (!*call)
		return;
	out_str(o, " in ");
	out_safe(o, call);
}

static void text_turns(struct run *r, const struct hwt_event *ev, const struct hwt_wait *w)
{
	struct out *o = r->out;

	for (unsigned i = 0; i < w->nturns; i++) {
		out_str(o, i ? ", " : ": ");
		if (w->turn[i].tid == HWT_NONE)
			out_str(o, "who is not told");
		else
			task(r, ev, w->turn[i].tid);
		if (!i)
			out_fmt(o, " had cpu %d for", w->cpu);
		out_ch(o, ' ');
		pair_length(o, w->turn[i].took, false);
	}
	if (w->others.hi) {
		out_str(o, ", others ");
		pair_length(o, w->others, false);
	}
	if (!w->certain)
		out_str(o, " (not certain: it moved, or not all of it is told)");
	out_nl(o);
}

static void text_link(struct run *r, const struct hwt_event *ev, const struct hwt_wait_link *l)
{
	struct out *o = r->out;
	const char *sep = "; meanwhile it was ";

	out_str(o, l->certain ? "woken by " : "woken, perhaps, by ");
	if (l->how == HWT_WAKER_TASK) {
		task(r, ev, l->tid);
	} else {
		out_str(o, l->how == HWT_WAKER_IRQ ? "an interrupt" : "a softirq");
		if (*l->by) {
			out_str(o, ", ");
			out_safe(o, l->by);
		}
	}
	out_fmt(o, " on cpu %d", l->cpu);
	for (unsigned k = 0; l->how == HWT_WAKER_TASK && k < HWT_PARTS; k++) {
		if (!l->part[k].hi)
			continue;
		out_fmt(o, "%s%s ", sep, hwt_part_name(k));
		pair_length(o, l->part[k], false);
		if (k == l->longest)
			in_call(o, l->in);
		sep = ", ";
	}
	if (l->cut)
		out_str(o, *sep == ';' ? ", and what it did is not told" :
			" (from when it is first told)");
	out_nl(o);
}

static void text_links(struct run *r, const struct hwt_event *ev, const struct hwt_wait *w,
		       unsigned indent)
{
	struct out *o = r->out;

	in_call(o, w->in);
	out_str(o, w->part != HWT_PART_BLOCKED ? " (it may have been ready): " :
		w->certain ? ": " : " (not certain, a hole is in it): ");
	if (!w->nlinks) {
		out_str(o, "no record tells who woke it");
		out_nl(o);
	}
	for (unsigned i = 0; i < w->nlinks; i++) {
		if (i) {
			out_fmt(o, "%*s", (int)(indent + 2 * i), "");
			out_str(o, "which was ");
		}
		text_link(r, ev, &w->link[i]);
	}
}

void pair_waits(struct run *r, const struct hwt_event *ev, const struct hwt_wait *v, unsigned n,
		unsigned indent)
{
	for (unsigned i = 0; i < n; i++) {
		out_fmt(r->out, "%*s%s ", (int)indent, "", hwt_part_name(v[i].part));
		pair_length(r->out, v[i].took, false);
		if (v[i].part == HWT_PART_BLOCKED || v[i].part == HWT_PART_AWAY)
			text_links(r, ev, &v[i], indent);
		else
			text_turns(r, ev, &v[i]);
	}
}

static void instant(struct jsonl *j, const char *key, const struct show *s, struct hwt_interval v)
{
	uint64_t span = v.hi == HWT_TIME_UNKNOWN ? HWT_SPAN_UNKNOWN : v.hi - v.lo;

	jsonl_interval(j, key, s, v.lo, span < HWT_SPAN_UNKNOWN ? (uint32_t)span :
		       HWT_SPAN_UNKNOWN, HWT_CLOCK_BASE);
}

static void json_link(struct run *r, const struct hwt_wait_link *l, unsigned level)
{
	struct jsonl *j = &r->json;

	jsonl_open(j, "waker");
	jsonl_u64(j, "level", level);
	jsonl_str(j, "how", hwt_waker_name(l->how));
	jsonl_bool(j, "certain", l->certain);
	if (l->tid >= 0)
		jsonl_u64(j, "tid", (uint64_t)l->tid);
	if (l->tid > 0)
		jsonl_known(j, "comm", hwt_session_comm(r->session, l->tid));
	if (l->cpu >= 0)
		jsonl_u64(j, "cpu", (uint64_t)l->cpu);
	instant(j, "at", &r->show, l->at);
	jsonl_known(j, "by", l->by);
	for (unsigned k = 0; l->how == HWT_WAKER_TASK && k < HWT_PARTS; k++)
		if (l->part[k].hi)
			jsonl_length(j, hwt_part_name(k), l->part[k]);
	jsonl_known(j, "in", l->in);
	jsonl_bool(j, "cut", l->cut);
	jsonl_close(j);
}

static void json_turn(struct run *r, int32_t tid, struct hwt_interval took, bool others)
{
	struct jsonl *j = &r->json;

	jsonl_open(j, "turn");
	if (tid >= 0 && !others)
		jsonl_u64(j, "tid", (uint64_t)tid);
	if (tid > 0 && !others)
		jsonl_known(j, "comm", hwt_session_comm(r->session, tid));
	if (others)
		jsonl_bool(j, "others", true);
	jsonl_length(j, "took", took);
	jsonl_close(j);
}

void pair_waits_json(struct run *r, uint64_t number, const struct hwt_wait *v, unsigned n)
{
	struct jsonl *j = &r->json;

	for (unsigned i = 0; i < n; i++) {
		jsonl_open(j, "wait");
		jsonl_u64(j, "number", number);
		jsonl_str(j, "what", hwt_part_name(v[i].part));
		instant(j, "from", &r->show, v[i].from);
		instant(j, "to", &r->show, v[i].to);
		jsonl_length(j, "took", v[i].took);
		if (v[i].cpu >= 0)
			jsonl_u64(j, "cpu", (uint64_t)v[i].cpu);
		jsonl_bool(j, "certain", v[i].certain);
		jsonl_known(j, "in", v[i].in);
		jsonl_close(j);
		for (unsigned k = 0; k < v[i].nlinks; k++)
			json_link(r, &v[i].link[k], k + 1);
		for (unsigned k = 0; k < v[i].nturns; k++)
			json_turn(r, v[i].turn[k].tid, v[i].turn[k].took, false);
		if (v[i].others.hi)
			json_turn(r, HWT_NONE, v[i].others, true);
	}
}
