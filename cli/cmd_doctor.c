/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor: what this machine can record, why not more, and what to do about it. */
#include <hwtrace/capture.h>

#include "cli.h"

#define COLUMN	16

static const char *const verdicts[] = { [HWT_DOCTOR_INFO] = "", [HWT_DOCTOR_NO] = "no",
	[HWT_DOCTOR_PARTLY] = "partly", [HWT_DOCTOR_YES] = "yes" };

static void text_line(struct out *o, const char *name, const char *text)
{
	if (!*text)
		return;
	o->line = o->flushed + o->n;
	out_fmt(o, "  %s", name);
	out_tab(o, COLUMN);
	opt_wrap(o, text, COLUMN);
}

static void text_item(struct out *o, const struct hwt_doctor_item *i)
{
	o->line = o->flushed + o->n;
	out_str(o, i->what);
	if (i->verdict != HWT_DOCTOR_INFO) {
		out_tab(o, COLUMN);
		out_str(o, verdicts[i->verdict]);
	}
	out_nl(o);
	text_line(o, "found", i->found);
	text_line(o, i->verdict == HWT_DOCTOR_YES ? "note" : "why", i->why);
	text_line(o, "works", i->works);
	text_line(o, "next", i->next);
}

static void print(void *arg, const struct hwt_doctor_item *i)
{
	struct run *r = arg;
	struct jsonl *j = &r->json;

	if (r->opts.format == OPT_TEXT) {
		text_item(r->out, i);
		return;
	}
	jsonl_open(j, "item");
	jsonl_str(j, "what", i->what);
	jsonl_known(j, "verdict", verdicts[i->verdict]);
	jsonl_known(j, "found", i->found);
	jsonl_known(j, "why", i->why);
	jsonl_known(j, "works", i->works);
	jsonl_known(j, "next", i->next);
	jsonl_close(j);
}

int cmd_doctor(struct run *r)
{
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	bool json = r->opts.format != OPT_TEXT;
	int rc;

	if (r->opts.nargs > 1) {
		say("hwtrace help doctor", "doctor: takes one directory, or none for this machine");
		return EXIT_USAGE;
	}
	rc = run_output(r);
	if (rc)
		return rc;
	if (json)
		jsonl_init(&r->json, r->out, r->opts.format == OPT_JSON);
	rc = hwt_doctor(r->opts.nargs ? r->opts.args[0] : NULL, print, r, &diag);
	if (json)
		jsonl_fini(&r->json);
	if (rc < 0) {
		say_diag(&diag, rc, r->opts.nargs ? r->opts.args[0] : NULL);
		return EXIT_INPUT;
	}
	if (!rc)
		say("what stands behind \"next\" above", "nothing can be recorded here");
	return rc ? EXIT_OK : EXIT_FINDINGS;
}
