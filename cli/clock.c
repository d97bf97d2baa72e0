/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of clocks: how ticks become time, and what the hardware's timestamps are worth. */
#include <string.h>

#include "cli.h"

#define SOURCES 128	/* of one buffer: CoreSight has 111 trace ids */

static const char *const hows[] = { "none", "exact", "fitted", "counter" };

/* The recorder's own word on its conversion, next to what its readings tell. */
static void stated(struct run *r)
{
	const char *key, *value;

	for (size_t i = 0; (key = hwt_session_fact(r->session, i, &value)); i++)
		if (!strcmp(key, "clock_error") && value) {
			out_str(r->out, "; the recorder states an error of ");
			out_safe(r->out, value);
		}
}

void clock_row(struct run *r)
{
	struct hwt_clock_info k;
	struct out *o = r->out;

	hwt_session_clock(r->session, &k);
	if (k.counter == HWT_CLOCK_BASE && !k.pairs)
		return;
	out_str(o, "clock map         ");
	if (k.how == HWT_MAP_NONE)
		out_fmt(o, "none: times are ticks of %s", hwt_clock_name(k.counter));
	else
		out_fmt(o, "%s, from %s", hows[k.how < 4 ? k.how : 0],
			k.counter == HWT_CLOCK_BASE ? "the counter" : hwt_clock_name(k.counter));
	if (k.base != HWT_CLOCK_BASE && k.base != k.counter && k.how != HWT_MAP_NONE)
		out_fmt(o, " to %s", hwt_clock_name(k.base));
	if (k.how == HWT_MAP_COUNTER)
		out_fmt(o, ": times are of one counter, its rate is known to %u.%03u ppm; "
			"%llu pair%s of readings place%s them on the other clock to %llu ns",
			k.rate_ppb / 1000, k.rate_ppb % 1000, (unsigned long long)k.pairs,
			out_s(k.pairs), k.pairs == 1 ? "s" : "",
			(unsigned long long)k.pairs_off);
	else if (k.how == HWT_MAP_FITTED)
		out_fmt(o, ", %llu pair%s of readings, known to %llu ns (at most %llu), drift up "
			"to %u ppm", (unsigned long long)k.pairs, out_s(k.pairs),
			(unsigned long long)k.width_mid, (unsigned long long)k.width_max,
			(k.drift_ppb + 999) / 1000);
	else if (k.pairs)
		out_fmt(o, "; %llu pair%s of readings, at most %llu ns off it",
			(unsigned long long)k.pairs, out_s(k.pairs),
			(unsigned long long)k.pairs_off);
	if (k.how == HWT_MAP_EXACT && k.pairs)
		stated(r);
	if (k.steps)
		out_fmt(o, ", %llu step%s [E240]", (unsigned long long)k.steps,
			out_s(k.steps));
	out_nl(o);
}

void clock_json(struct run *r)
{
	struct jsonl *j = &r->json;
	struct hwt_clock_info k;

	hwt_session_clock(r->session, &k);
	jsonl_open(j, "clock");
	jsonl_str(j, "map", hows[k.how < 4 ? k.how : 0]);
	if (k.counter != HWT_CLOCK_BASE)
		jsonl_str(j, "counter", hwt_clock_name(k.counter));
	if (k.base != HWT_CLOCK_BASE)
		jsonl_str(j, "base", hwt_clock_name(k.base));
	if (k.pairs)
		jsonl_u64(j, "pairs", k.pairs);
	if (k.pairs && k.how == HWT_MAP_EXACT)
		jsonl_u64(j, "pairs_off", k.pairs_off);
	if (k.how == HWT_MAP_COUNTER) {
		jsonl_u64(j, "rate_ppb", k.rate_ppb);
		jsonl_u64(j, "off", k.pairs_off);
	}
	if (k.how == HWT_MAP_FITTED) {
		jsonl_u64(j, "drift_ppb", k.drift_ppb);
		jsonl_u64(j, "width", k.width_mid);
		jsonl_u64(j, "width_max", k.width_max);
	}
	if (k.pairs)
		jsonl_u64(j, "steps", k.steps);
	jsonl_close(j);
}

/* The id of what is wrong, 0 if nothing is. One value of its own says nothing. */
static unsigned wrong(const struct hwt_stamps *s)
{
	if (s->back)
		return 196;
	if (s->count < 2 || s->changes)
		return 0;
	return s->zero == s->count ? 244 : 245;
}

static void text(struct out *o, const struct hwt_stamps *s, unsigned id)
{
	const struct hwt_error_info *info = hwt_error_info(id);

	o->line = o->flushed + o->n;
	out_str(o, "  timestamps");
	out_tab(o, 18);
	out_fmt(o, "%llu", (unsigned long long)s->count);
	if (s->trace_id)
		out_fmt(o, " of id 0x%02x", s->trace_id);
	if (s->back)
		out_fmt(o, ", %llu go back, first at 0x%llx, by up to %llu tick%s",
			(unsigned long long)s->back, (unsigned long long)s->back_off,
			(unsigned long long)s->back_by, out_s(s->back_by));
	else if (id == 244)
		out_str(o, ", all are 0: nothing can be placed in time");
	else
		out_fmt(o, ", all are 0x%llx: nothing can be placed in time",
			(unsigned long long)s->first);
	if (info)
		out_fmt(o, " [E%03u]\n      try: %s", info->id, info->hint);
	out_nl(o);
}

static void json(struct jsonl *j, size_t i, const struct hwt_stamps *s, unsigned id)
{
	jsonl_open(j, "timestamps");
	jsonl_u64(j, "src", i);
	jsonl_known(j, "source", s->name);
	if (s->trace_id)
		jsonl_u64(j, "trace_id", s->trace_id);
	jsonl_str(j, "clock", hwt_clock_name(s->clock));
	jsonl_u64(j, "count", s->count);
	if (s->count) {
		jsonl_u64(j, "zero", s->zero);
		jsonl_u64(j, "first", s->first);
		jsonl_u64(j, "last", s->last);
		jsonl_u64(j, "changes", s->changes);
		jsonl_u64(j, "back", s->back);
	}
	if (s->back) {
		jsonl_u64(j, "off", s->back_off);
		jsonl_u64(j, "back_by", s->back_by);
	}
	if (id) {
		jsonl_key(j, "id");
		out_fmt(j->o, "\"E%03u\"", id);
	}
	jsonl_close(j);
}

bool clock_stamps(struct run *r, size_t i, uint64_t *count)
{
	struct hwt_stamps v[SOURCES];
	int n = hwt_session_stamps(r->session, i, v, SOURCES);
	bool any = false;

	for (int k = 0; k < n; k++) {
		unsigned id = wrong(&v[k]);

		*count += v[k].count;
		any = any || id;
		if (r->opts.format != OPT_TEXT)
			json(&r->json, i, &v[k], id);
		else if (id)
			text(r->out, &v[k], id);
	}
	return any;
}

/* @trace: it is on that counter, and the kernel's events on another clock. */
static void missing_text(struct run *r, const struct hwt_clock_info *k,
			 const struct hwt_capture_info *info, bool trace)
{
	const struct hwt_error_info *e = hwt_error_info(242);
	unsigned long long n = info->nevents;

	if (trace) {
		out_fmt(r->out, "clock: ticks of %s in the trace, %llu kernel events on ",
			hwt_clock_name(k->counter), n);
		out_safe(r->out, *info->clock ? info->clock : "another clock");
		out_str(r->out, ", and nothing relates them");
	} else {
		out_fmt(r->out, "clock: times of %llu kernel events are ticks of %s, and nothing "
			"relates them to ", n, hwt_clock_name(k->counter));
		out_safe(r->out, info->clock);
	}
	out_fmt(r->out, " [E242]\n      try: %s\n", e ? e->hint : "");
}

bool clock_missing(struct run *r, uint64_t count)
{
	struct hwt_capture_info info;
	struct hwt_clock_info k;

	hwt_session_info(r->session, &info);
	hwt_session_clock(r->session, &k);
	if (!info.nevents || k.how != HWT_MAP_NONE)
		return false;
	/*
	 * Without times in trace only events in ticks can lack something, which the native format
	 * has, and only if it is said that these lead to another clock.
	 */
	if (!count && (!info.format || strcmp(info.format, "native") ||
		       k.counter == HWT_CLOCK_BASE || k.base == HWT_CLOCK_BASE ||
		       k.base == k.counter))
		return false;
	if (r->opts.format == OPT_TEXT) {
		missing_text(r, &k, &info, count);
		return true;
	}
	jsonl_open(&r->json, "no_conversion");
	jsonl_str(&r->json, "counter", hwt_clock_name(k.counter));
	jsonl_known(&r->json, "clock", info.clock);
	jsonl_u64(&r->json, "timestamps", count);
	jsonl_u64(&r->json, "events", info.nevents);
	jsonl_str(&r->json, "id", "E242");
	jsonl_close(&r->json);
	return true;
}
