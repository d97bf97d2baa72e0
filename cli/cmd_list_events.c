/* SPDX-License-Identifier: BSD-2-Clause */
/* list-events: what the kernel of this machine can tell, and who records it. */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

#define DIRTY	"dirty:"

static const char *or_none(const char *s)
{
	return *s ? s : "-";
}

static void label(struct out *o, const char *name)
{
	o->line = o->flushed + o->n;
	out_fmt(o, "  %s", name);
	out_tab(o, 14);
}

static void text_providers(struct out *o, const struct hwt_providers *p)
{
	struct hwt_offer f;
	const char *name;

	for (unsigned i = 0; (name = hwt_provider_name(i)); i++) {
		hwt_providers_ask(p, i, 0, &f);
		out_fmt(o, "%s: ", name);
		out_safe(o, f.here ? "can be used" : f.why);
		out_nl(o);
	}
	out_nl(o);
}

/* One line: the name, and the providers that have it. */
static void text_line(struct out *o, const struct hwt_providers *p, const struct hwt_abi_event *e)
{
	struct hwt_offer f;
	const char *name;
	bool any = false;

	o->line = o->flushed + o->n;
	out_str(o, e->name);
	out_tab(o, 26);
	for (unsigned i = 0; (name = hwt_provider_name(i)); i++) {
		hwt_providers_ask(p, i, e->id, &f);
		if (!f.here)
			continue;
		out_fmt(o, "%s%s", any ? " " : "", name);
		any = true;
	}
	out_str(o, any ? "\n" : "-\n");
}

/* Which tracepoints it comes from, or why it does not come. */
static void text_offers(struct out *o, const struct hwt_providers *p,
			const struct hwt_abi_event *e)
{
	struct hwt_offer f;
	const char *name;

	for (unsigned i = 0; (name = hwt_provider_name(i)); i++) {
		hwt_providers_ask(p, i, e->id, &f);
		label(o, name);
		out_str(o, !f.here ? "no:" : *f.from ? "yes:" : "yes");
		opt_wrap(o, f.here ? f.from : f.why, 14);
	}
}

static void text_event(struct out *o, const struct hwt_providers *p, const struct hwt_abi_event *e)
{
	const struct hwt_abi_field *f;
	unsigned n;

	out_fmt(o, "%s\n", e->name);
	text_offers(o, p, e);
	label(o, "stamped");
	opt_wrap(o, e->stamp, 14);
	label(o, "before");
	opt_wrap(o, or_none(e->order), 14);
	label(o, "how often");
	opt_wrap(o, e->often, 14);
	for (f = e->fields(&n); n; n--, f++) {
		o->line = o->flushed + o->n;
		out_fmt(o, "  %s %s", hwt_abi_type_name(f->type), f->name);
		out_tab(o, 26);
		if (f->unit[0])
			out_fmt(o, "[%s]", f->unit);
		opt_wrap(o, f->text, 26);
	}
	out_nl(o);
}

static void json_providers(struct jsonl *j, const struct hwt_providers *p)
{
	struct hwt_offer f;
	const char *name;

	for (unsigned i = 0; (name = hwt_provider_name(i)); i++) {
		hwt_providers_ask(p, i, 0, &f);
		jsonl_open(j, "provider");
		jsonl_str(j, "name", name);
		jsonl_bool(j, "here", f.here);
		jsonl_known(j, "why", f.why);
		jsonl_close(j);
	}
}

static void json_fields(struct jsonl *j, const struct hwt_abi_event *e)
{
	const struct hwt_abi_field *f;
	unsigned n;

	jsonl_key(j, "fields");
	out_ch(j->o, '[');
	f = e->fields(&n);
	for (unsigned i = 0; i < n; i++, f++) {
		out_str(j->o, i ? ",{" : "{");
		j->member = false;
		jsonl_str(j, "name", f->name);
		jsonl_str(j, "type", hwt_abi_type_name(f->type));
		jsonl_known(j, "unit", f->unit);
		jsonl_known(j, "text", f->text);
		jsonl_u64(j, "since", f->since);
		out_ch(j->o, '}');
	}
	out_ch(j->o, ']');
	j->member = true;
}

static void json_offers(struct jsonl *j, const struct hwt_providers *p,
			const struct hwt_abi_event *e)
{
	struct hwt_offer f;
	const char *name;

	jsonl_key(j, "providers");
	out_ch(j->o, '[');
	for (unsigned i = 0; (name = hwt_provider_name(i)); i++) {
		hwt_providers_ask(p, i, e->id, &f);
		out_str(j->o, i ? ",{" : "{");
		j->member = false;
		jsonl_str(j, "name", name);
		jsonl_bool(j, "here", f.here);
		jsonl_known(j, "from", f.from);
		jsonl_known(j, "why", f.why);
		out_ch(j->o, '}');
	}
	out_ch(j->o, ']');
	j->member = true;
}

static void json_event(struct jsonl *j, const struct hwt_providers *p,
		       const struct hwt_abi_event *e)
{
	jsonl_open(j, "event");
	jsonl_str(j, "name", e->name);
	jsonl_u64(j, "id", e->id);
	jsonl_u64(j, "since", e->since);
	jsonl_str(j, "stamped", e->stamp);
	jsonl_known(j, "before", e->order);
	jsonl_str(j, "often", e->often);
	json_fields(j, e);
	json_offers(j, p, e);
	jsonl_close(j);
}

static bool is_dirty(const char *word)
{
	return !strncmp(word, DIRTY, strlen(DIRTY));
}

static void text_tracepoint(struct run *r, const struct hwt_abi_own *e, bool full)
{
	struct out *o = r->out;

	out_fmt(o, DIRTY "%s\n", e->name);
	for (unsigned i = 0; full && i < e->nfields; i++)
		out_fmt(o, "  %s %s\n", hwt_abi_type_name(e->fields[i].type), e->fields[i].name);
}

static void json_tracepoint(struct jsonl *j, const struct hwt_abi_own *e)
{
	jsonl_open(j, "tracepoint");
	out_str(j->o, ",\"name\":\"" DIRTY);
	out_str(j->o, e->name);
	out_ch(j->o, '"');
	jsonl_key(j, "fields");
	out_ch(j->o, '[');
	for (unsigned i = 0; i < e->nfields; i++) {
		out_str(j->o, i ? ",{" : "{");
		j->member = false;
		jsonl_str(j, "name", e->fields[i].name);
		jsonl_str(j, "type", hwt_abi_type_name(e->fields[i].type));
		out_ch(j->o, '}');
	}
	out_ch(j->o, ']');
	j->member = true;
	jsonl_close(j);
}

/* Those of this kernel; one that is named without a pattern in full. */
static void print_dirty(struct run *r, const struct hwt_tracepoints *t)
{
	const struct hwt_abi_own *e;
	bool full = r->opts.verbose;

	for (int i = 0; i < r->opts.nargs; i++)
		full |= is_dirty(r->opts.args[i]) && !strpbrk(r->opts.args[i], "*?");
	for (unsigned i = 0; t && (e = hwt_tracepoint_at(t, i)); i++)
		if (r->opts.format != OPT_TEXT)
			json_tracepoint(&r->json, e);
		else
			text_tracepoint(r, e, full);
}

/* What goes on to record, though its recorder was killed. */
static void say_left(void *arg, const char *dir)
{
	char step[256];

	snprintf(step, sizeof(step), "sudo rmdir %s (the next recording does it, too)", dir);
	say(step, "%s: its recorder was killed, and it goes on to record", dir);
}

static void print_all(struct run *r, const struct hwt_providers *p, const struct hwt_filter *f,
		      const struct hwt_tracepoints *t)
{
	const struct hwt_abi_event *e;
	bool json = r->opts.format != OPT_TEXT;
	unsigned id;

	if (json) {
		jsonl_init(&r->json, r->out, r->opts.format == OPT_JSON);
		if (f)
			json_providers(&r->json, p);
	} else if (f) {
		text_providers(r->out, p);
	}
	for (unsigned i = 0; f && (id = hwt_filter_event(f, i)); i++) {
		e = hwt_abi_event_by_id(id);
		if (json)
			json_event(&r->json, p, e);
		else if (r->opts.nargs || r->opts.verbose)
			text_event(r->out, p, e);
		else
			text_line(r->out, p, e);
	}
	print_dirty(r, t);
	if (json)
		jsonl_fini(&r->json);
}

/* The events that the words name, as a filter; no words: all of them. NULL: none is virtual. */
static int select_events(struct run *r, struct hwt_filter **f)
{
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	char text[4096];
	size_t n = 0;
	int rc;

	for (int i = 0; i < r->opts.nargs && n < sizeof(text); i++)
		if (!is_dirty(r->opts.args[i]))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? "," : "",
					      r->opts.args[i]);
	if (!n && r->opts.nargs)
		return 0;
	rc = hwt_filter_new(f, n ? text : "*", &diag);
	if (rc)
		say("hwtrace list-events", "%s", diag.text);
	return rc;
}

/* Tracepoints that the words name; NULL: no word does. 0 or an exit code. */
static int select_dirty(struct run *r, struct hwt_tracepoints **t)
{
	const char **v = calloc((size_t)r->opts.nargs + 1, sizeof(*v));
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	unsigned n = 0;
	int rc = 0;

	if (!v) {
		say(NULL, "out of memory");
		return EXIT_OUTPUT;
	}
	for (int i = 0; i < r->opts.nargs; i++)
		if (is_dirty(r->opts.args[i]))
			v[n++] = r->opts.args[i] + strlen(DIRTY);
	if (n)
		rc = hwt_tracepoints_new(t, v, n, &diag);
	free(v);
	if (rc)
		say_diag(&diag, rc, NULL);
	return !rc ? 0 : rc == -HWT_E_FILTER ? EXIT_USAGE : EXIT_OUTPUT;
}

int cmd_list_events(struct run *r)
{
	struct hwt_tracepoints *t = NULL;
	struct hwt_providers *p = NULL;
	struct hwt_filter *f = NULL;
	int rc;

	if (select_events(r, &f))
		return EXIT_USAGE;
	rc = select_dirty(r, &t);
	if (rc) {
		hwt_filter_free(f);
		return rc;
	}
	if (hwt_providers_new(&p)) {
		say(NULL, "out of memory");
		hwt_tracepoints_free(t);
		hwt_filter_free(f);
		return EXIT_OUTPUT;
	}
	rc = run_output(r);
	if (!rc)
		print_all(r, p, f, t);
	if (!rc && !r->opts.quiet)
		hwt_tracers_left(say_left, NULL);
	hwt_tracepoints_free(t);
	hwt_providers_free(p);
	hwt_filter_free(f);
	return rc;
}
