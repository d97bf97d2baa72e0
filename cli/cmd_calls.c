/* SPDX-License-Identifier: BSD-2-Clause */
/* calls: a tree as it unfolds, or a table of functions. */
#include <errno.h>

#include "tree.h"

#define BATCH 256

static bool buffer(struct tree *t, size_t i, const struct hwt_buf_info *b, struct functions *f)
{
	struct run *r = t->r;
	struct hwt_stream *st = run_flow(r, i, HWT_LEVEL_CALLS, false);
	struct hwt_calls *calls;
	struct hwt_call c;
	bool go = true;
	int rc;

	if (!st)
		return true;
	rc = hwt_calls_new(&calls, r->session, st);
	if (rc < 0) {
		run_error(r, rc, b->name);
		return false;
	}
	if (r->opts.format == OPT_TEXT && !f && hwt_session_bufs(r->session) > 1) {
		out_str(r->out, "== ");
		out_safe(r->out, b->name);
		out_nl(r->out);
	}
	tree_begin(t);
	for (unsigned k = 0; go && (rc = hwt_calls_next(calls, &c)) > 0; k++) {
		if (!f && tree_selected(t, &c))
			go = tree_print(t, &c);
		else if (f && c.what == HWT_CALL_GAP && tree_selected(t, &c))
			show_count(&r->show, &c.ev);
		else if (f && tree_selected(t, &c))
			rc = functions_count(f, r, &c);
		if (rc < 0)
			break;
		if (k % 256 == 0)
			go = go && run_tick(r, st, c.ev.off);
	}
	if (rc < 0)
		run_error(r, rc, b->name);
	tree_flush(t);
	run_count(r, st);
	hwt_calls_free(calls);	/* closes the flow stream */
	return go && !r->stopped;
}

/* The buffer once more, for --insns: calls alone do not tell how long a function ran. */
static bool count_insns(struct tree *t, size_t i, const struct hwt_buf_info *b,
			struct functions *f)
{
	struct run *r = t->r;
	struct hwt_event ev[BATCH];
	struct hwt_stream *st;
	bool go = true;
	int n = 0;

	r->time_lo = t->time_lo;
	st = run_flow(r, i, HWT_LEVEL_RANGES, false);
	r->time_lo = 0;
	if (!st)
		return true;
	while (go && (n = hwt_stream_next(st, ev, BATCH)) > 0) {
		for (int k = 0; k < n; k++) {
			int rc = 0;

			if (ev[k].type == HWT_EV_RANGE && tree_in_syms(t, ev[k].u.range.first))
				rc = functions_range(f, r, &ev[k]);
			if (rc < 0) {
				run_error(r, rc, b->name);
				go = false;
			}
		}
		go = go && run_tick(r, st, ev[n - 1].off);
	}
	if (n < 0)
		run_error(r, n, b->name);
	hwt_stream_close(st);
	return go;
}

int cmd_calls(struct run *r)
{
	struct functions *f = NULL;
	struct tree t = { .r = r };
	struct hwt_buf_info b;
	int rc;

	if (r->opts.insns && !r->opts.summary) {
		say("hwtrace calls --summary --insns FILE", "--insns needs --summary");
		return EXIT_USAGE;
	}
	rc = run_open(r);
	if (rc)
		return rc;
	if (!run_trace(r, true))
		return 0;
	if (r->opts.summary) {
		f = functions_new();
		if (!f) {
			run_error(r, -ENOMEM, "table of functions");
			return 0;
		}
	}
	/*
	 * A stack needs all calls, so what is selected is taken from the whole tree; what is open
	 * where a window begins was called before it
	 */
	t.addrs = r->addrs;
	t.naddrs = r->naddrs;
	r->naddrs = 0;
	t.time_lo = r->time_lo;
	r->time_lo = 0;
	for (size_t i = 0; i < hwt_session_bufs(r->session); i++)
		if (run_buf(r, i, &b) && (!buffer(&t, i, &b, f) ||
					  (r->opts.insns && !count_insns(&t, i, &b, f))))
			break;
	if (f)
		functions_print(f, r);
	functions_free(f);
	return 0;
}
