/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel events against the contracts of their list, for "check". */
#include <errno.h>
#include <stdlib.h>

#include "cli.h"

#define E_CONTRACT 250

static uint64_t since_start(struct run *r, uint64_t time)
{
	struct hwt_capture_info info;

	hwt_session_info(r->session, &info);
	return info.time_start <= time ? time - info.time_start : time;
}

/* One missing switch makes a finding of each task that comes after it. */
static bool same_cause(const struct hwt_contract_finding *a, const struct hwt_contract_finding *b)
{
	const char *x = strstr(a->text, ", where "), *y = strstr(b->text, ", where ");

	if (a->rule != b->rule || a->at.cpu != b->at.cpu)
		return false;
	return (a->tid != HWT_NONE && a->tid == b->tid) || (x && y && !strcmp(x, y));
}

/* @more: of the same cause, which are not printed. */
static void text(struct run *r, const struct hwt_contract_finding *f, size_t more)
{
	uint64_t t = since_start(r, f->at.time);
	struct out *o = r->out;

	out_fmt(o, "  %-8s %llu.%09llu [%d] 0x%llx", f->rule, (unsigned long long)(t / 1000000000),
		(unsigned long long)(t % 1000000000), f->at.cpu, (unsigned long long)f->at.off);
	if (f->before.off != HWT_NO_OFF)
		out_fmt(o, ", after 0x%llx [%d]", (unsigned long long)f->before.off, f->before.cpu);
	out_str(o, ": ");
	out_safe(o, f->text);
	if (more)
		out_fmt(o, " (and %zu more of this task or cause, -v shows all)", more);
	out_nl(o);
}

static void json(struct run *r, const struct hwt_contract_finding *f)
{
	struct jsonl *j = &r->json;

	jsonl_open(j, "finding");
	jsonl_str(j, "rule", f->rule);
	jsonl_key(j, "id");
	out_fmt(j->o, "\"E%03u\"", E_CONTRACT);
	if (f->at.time != HWT_TIME_UNKNOWN)
		jsonl_u64(j, "time", since_start(r, f->at.time));
	if (f->at.cpu != HWT_NONE)
		jsonl_u64(j, "cpu", (uint64_t)f->at.cpu);
	if (f->tid != HWT_NONE)
		jsonl_u64(j, "tid", (uint64_t)f->tid);
	jsonl_u64(j, "src", f->at.src);
	jsonl_u64(j, "off", f->at.off);
	if (f->before.off != HWT_NO_OFF) {
		jsonl_u64(j, "src2", f->before.src);
		jsonl_u64(j, "off2", f->before.off);
	}
	jsonl_str(j, "text", f->text);
	jsonl_close(j);
}

/* The sum comes first, so findings wait. */
struct list {
	struct hwt_contract_finding v[256];
	size_t n;
};

static void keep(void *arg, const struct hwt_contract_finding *f)
{
	struct list *l = arg;

	if (l->n < sizeof(l->v) / sizeof(l->v[0]))
		l->v[l->n++] = *f;
}

/* Rules that were not looked at, and why. Their names say little to who did not write them. */
static void rules(struct run *r, const char *why, uint32_t set)
{
	struct out *o = r->out;

	if (!set)
		return;
	out_fmt(o, "\n  %d kinds of check left out, for %s", __builtin_popcount(set), why);
	if (!r->opts.verbose) {
		out_str(o, " (-v names them)");
		return;
	}
	out_ch(o, ':');
	for (unsigned i = 0; hwt_contract_rule(i); i++)
		if (set >> i & 1)
			out_fmt(o, " %s", hwt_contract_rule(i));
}

static bool is_filtered(const struct run *r)
{
	struct hwt_scope s;

	hwt_session_scope(r->session, &s);
	return s.bits & HWT_SCOPE_EVENTS;
}

/* What a filter left out is not told by anything else: numbers of records have gaps, too. */
static void filtered_text(struct run *r)
{
	const char *key, *value, *filter = NULL;

	if (!is_filtered(r))
		return;
	for (size_t i = 0; (key = hwt_session_fact(r->session, i, &value)); i++)
		if (!strcmp(key, "filter") || (!filter && !strcmp(key, "events")))
			filter = value;
	out_str(r->out, "note: a filter chose which events of the kernel were recorded");
	if (filter) {
		out_str(r->out, " (");
		out_safe(r->out, filter);
		out_str(r->out, ")");
	}
	out_str(r->out, ": where it left one out, a begin, an end or a cause may be missing\n");
}

static void sum_text(struct run *r, const struct hwt_contract_stats *st)
{
	const struct hwt_error_info *info = hwt_error_info(E_CONTRACT);
	struct hwt_capture_info cap;
	struct out *o = r->out;

	out_str(o, "kernel events: ");
	out_group(o, st->records + st->dirty);
	out_str(o, st->records + st->dirty == 1 ? " record" : " records");
	if (st->dirty) {
		out_str(o, " = ");
		out_group(o, st->records);
		out_str(o, " of the kernel + ");
		out_group(o, st->dirty);
		out_str(o, " of this capture only, named dirty:");
	}
	hwt_session_info(r->session, &cap);
	if (cap.nevents > st->records + st->dirty) {
		out_str(o, ", of ");
		out_group(o, cap.nevents);
		out_str(o, " in the file (without a time they are in no order)");
	}
	out_str(o, "; ");
	out_group(o, st->checks);
	out_str(o, " checks of order, frequency and values: ");
	if (st->findings)
		out_count(o, st->findings, "finding");
	else
		out_str(o, st->checks ? "all hold" : "nothing here that can be checked");
	if (st->findings && info)
		out_fmt(o, " [E%03u]\n      try: %s", info->id, info->hint);
	rules(r, "the recording leaves out tasks or events", st->rules_off & ~st->rules_stepping);
	rules(r, "the recorder steps the program and has the kernel's events of one CPU only",
	      st->rules_stepping);
	out_nl(o);
	filtered_text(r);
}

void contract_left_out(struct run *r)
{
	struct hwt_contract_stats st = { .records = 0 };
	struct hwt_diag diag;

	filtered_text(r);
	if (run_interrupted || hwt_session_contract(r->session, NULL, NULL, &st, &diag) ||
	    !st.rules_off)
		return;
	out_str(r->out, st.rules_off & ~st.rules_stepping ?
		"note: the recorder leaves out tasks or events of the kernel, so the cause of a "
		"wait may be missing (hwtrace check -v)\n" :
		"note: the kernel's events are those of one CPU: what others did, for which a "
		"task waited, is not recorded\n");
}

static void json_rules(struct jsonl *j, const char *key, uint32_t set)
{
	const char *sep = "";

	jsonl_key(j, key);
	out_str(j->o, "[");
	for (unsigned i = 0; hwt_contract_rule(i); i++)
		if (set >> i & 1) {
			out_fmt(j->o, "%s\"%s\"", sep, hwt_contract_rule(i));
			sep = ",";
		}
	out_str(j->o, "]");
}

static void sum_json(struct run *r, const struct hwt_contract_stats *st)
{
	struct jsonl *j = &r->json;

	jsonl_open(j, "contract");
	jsonl_u64(j, "records", st->records);
	jsonl_u64(j, "dirty", st->dirty);
	jsonl_u64(j, "checks", st->checks);
	jsonl_u64(j, "findings", st->findings);
	jsonl_u64(j, "losses", st->losses);
	if (is_filtered(r))
		jsonl_bool(j, "filtered", true);
	json_rules(j, "rules_off", st->rules_off);
	json_rules(j, "rules_stepping", st->rules_stepping);
	jsonl_close(j);
}

bool contract_report(struct run *r)
{
	struct list *l = calloc(1, sizeof(*l));
	struct hwt_contract_stats st;
	struct hwt_diag diag;
	bool is_text = r->opts.format == OPT_TEXT;
	int rc;

	if (!l) {
		run_error(r, -ENOMEM, "kernel events");
		return true;
	}
	rc = hwt_session_contract(r->session, keep, l, &st, &diag);
	if (rc) {
		free(l);
		if (rc != -ENOENT)
			run_error(r, rc, "kernel events");
		return rc != -ENOENT;
	}
	/* what there is besides trace: a missing trace is no reason to show nothing */
	r->kernel_events = st.records + st.dirty;
	if (is_text && r->kernel_events)
		sum_text(r, &st);
	else if (!is_text)
		sum_json(r, &st);
	for (size_t i = 0; i < l->n; i++) {
		size_t more = 0, k = 0;

		if (!is_text) {
			json(r, &l->v[i]);
			continue;
		}
		for (; !r->opts.verbose && k < l->n; k++) {
			if (k == i || !same_cause(&l->v[i], &l->v[k]))
				continue;
			if (k < i)
				break;
			more++;
		}
		if (r->opts.verbose || k == l->n)
			text(r, &l->v[i], more);
	}
	if (is_text && st.findings > l->n)
		out_fmt(r->out, "  and %llu more\n", (unsigned long long)(st.findings - l->n));
	free(l);
	return st.findings > 0;
}
