/* SPDX-License-Identifier: BSD-2-Clause */
/* What --cpu, --tid, --pid, --time and --sym mean. An id that the capture lacks is an error. */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

#define IDS_NAMED 8	/* of those the capture has, in a message */

/* Sorted set of ids. */
struct ids {
	int32_t *v;
	size_t n, cap;
	bool nomem;
};

static bool ids_find(const struct ids *s, int32_t id, size_t *at)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	*at = lo;
	return lo < s->n && s->v[lo] == id;
}

static void ids_add(struct ids *s, int32_t id)
{
	size_t at;

	if (id < 0 || s->nomem || ids_find(s, id, &at))
		return;
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		int32_t *v = realloc(s->v, cap * sizeof(*v));

		if (!v) {
			s->nomem = true;
			return;
		}
		s->v = v;
		s->cap = cap;
	}
	memmove(s->v + at + 1, s->v + at, (s->n - at) * sizeof(*s->v));
	s->v[at] = id;
	s->n++;
}

/* What is looked for: CPUs; threads and processes; or the threads of some processes. */
struct look {
	bool cpus;
	const int32_t *pids;	/* NULL: every process */
	size_t npids;
	struct ids ids;		/* CPUs or tasks; of @pids, their threads */
	struct ids owners;	/* with @pids: processes */
};

static void look_task(struct look *l, int32_t pid, int32_t tid)
{
	if (!l->pids) {
		ids_add(&l->ids, pid);
		ids_add(&l->ids, tid);
		return;
	}
	ids_add(&l->owners, pid);
	for (size_t i = 0; i < l->npids; i++)
		if (l->pids[i] == pid)
			ids_add(&l->ids, tid);
}

/* The threads of a switch. */
static void look_switch(struct run *r, struct look *l, const struct hwt_event *ev)
{
	static const char *const names[2][2] = { { "prev_pid", "prev_tid" },
						 { "next_pid", "next_tid" } };
	struct hwt_abi_value pid, tid;

	if (ev->type == HWT_EV_SCHED_SWITCH) {
		look_task(l, ev->u.sched.prev_pid, ev->u.sched.prev_tid);
		look_task(l, ev->u.sched.next_pid, ev->u.sched.next_tid);
	}
	if (ev->type != HWT_EV_RECORD || strcmp(hwt_kernel_name(r->session, ev), "sched.switch"))
		return;
	for (int i = 0; i < 2; i++)
		if (hwt_kernel_field(r->session, ev, names[i][1], &tid))
			look_task(l, hwt_kernel_field(r->session, ev, names[i][0], &pid) ?
				  (int32_t)pid.u : HWT_NONE, (int32_t)tid.u);
}

/*
 * What kernel-side events name; without hardware trace as virtual events, which tell who ran.
 */
static void look_events(struct run *r, struct look *l)
{
	bool kernel = !hwt_session_bufs(r->session);
	struct hwt_event ev[256];
	struct hwt_stream *st;
	int n;

	if ((kernel ? hwt_session_kernel(r->session, &st, NULL) :
	     hwt_session_events(r->session, &st, NULL)) < 0)
		return;
	while (!run_interrupted && (n = hwt_stream_next(st, ev, 256)) > 0) {
		for (int i = 0; i < n; i++) {
			if (l->cpus) {
				ids_add(&l->ids, ev[i].cpu);
				continue;
			}
			look_task(l, ev[i].pid, ev[i].tid);
			if (kernel || ev[i].type == HWT_EV_SCHED_SWITCH)
				look_switch(r, l, &ev[i]);
		}
	}
	hwt_stream_close(st);
}

/* What is known without a look at events. */
static void look_tasks(struct run *r, struct look *l)
{
	struct hwt_buf_info b;
	int32_t pid, tid;

	for (size_t i = 0; !hwt_session_buf(r->session, i, &b); i++)
		look_task(l, b.pid, b.tid);
	for (size_t i = 0; hwt_session_task(r->session, i, &pid, &tid); i++)
		look_task(l, pid, tid);
}

static bool all_in(const struct ids *s, const int32_t *v, size_t n, int32_t *missing)
{
	size_t at;

	for (size_t i = 0; i < n; i++)
		if (!ids_find(s, v[i], &at)) {
			*missing = v[i];
			return false;
		}
	return true;
}

/* "no CPU 77 in this capture; it has 0, 3" */
static int not_there(const struct ids *s, const char *what, const char *option, int32_t id)
{
	char list[128] = "";
	size_t len = 0;

	if (s->nomem) {
		say(NULL, "out of memory");
		return EXIT_INPUT;
	}
	if (!s->n) {
		char hint[64];

		snprintf(hint, sizeof(hint), "the command without %s", option);
		say(hint, "%s: this capture has no %s ids", option, what);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < s->n && i < IDS_NAMED; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%d", i ? ", " : "",
					s->v[i]);
	if (s->n > IDS_NAMED)
		snprintf(list + len, sizeof(list) - len, ", and %zu more", s->n - IDS_NAMED);
	say(NULL, "%s: no %s %d in this capture; it has %s", option, what, id, list);
	return EXIT_USAGE;
}

static int check_cpus(struct run *r)
{
	const struct opts *o = &r->opts;
	struct hwt_buf_info b;
	struct hwt_src_info src;
	struct look l = { .cpus = true };
	bool shared = !hwt_session_bufs(r->session);
	int32_t id = 0;
	int rc = 0;

	for (size_t i = 0; !hwt_session_buf(r->session, i, &b); i++) {
		ids_add(&l.ids, b.cpu);
		/* the buffer of a thread holds what it did on any CPU */
		shared = shared || (b.cpu == HWT_NONE && b.tid != HWT_NONE);
		for (size_t k = 0; hwt_session_src(r->session, i, k, &src); k++)
			ids_add(&l.ids, src.cpu);
	}
	if (!all_in(&l.ids, o->cpus, o->ncpus, &id) && shared)
		look_events(r, &l);
	if (!all_in(&l.ids, o->cpus, o->ncpus, &id))
		rc = not_there(&l.ids, "CPU", "--cpu", id);
	free(l.ids.v);
	return rc;
}

static int check_tids(struct run *r)
{
	const struct opts *o = &r->opts;
	struct look l = { 0 };
	int32_t id = 0;
	int rc = 0;

	look_tasks(r, &l);
	if (!all_in(&l.ids, o->tids, o->ntids, &id))
		look_events(r, &l);
	if (!all_in(&l.ids, o->tids, o->ntids, &id))
		rc = not_there(&l.ids, "thread", "--tid", id);
	free(l.ids.v);
	return rc;
}

/* --pid means --tid of all its threads. */
static int resolve_pids(struct run *r)
{
	struct opts *o = &r->opts;
	struct look l = { .pids = o->pids, .npids = o->npids };
	int32_t id = 0, *v;
	int rc = 0;

	look_tasks(r, &l);
	look_events(r, &l);
	if (!all_in(&l.owners, o->pids, o->npids, &id)) {
		rc = not_there(&l.owners, "process", "--pid", id);
		goto out;
	}
	/* also where the thread is not known */
	for (size_t i = 0; i < o->npids; i++)
		ids_add(&l.ids, o->pids[i]);
	v = l.ids.nomem ? NULL : realloc(o->tids, (o->ntids + l.ids.n) * sizeof(*v));
	if (!v) {
		say(NULL, "out of memory");
		rc = EXIT_INPUT;
		goto out;
	}
	memcpy(v + o->ntids, l.ids.v, l.ids.n * sizeof(*v));
	o->tids = v;
	o->ntids += l.ids.n;
out:
	free(l.ids.v);
	free(l.owners.v);
	return rc;
}

/* Widens [*@lo, *@hi] by the times in a stream; switches are the kernel's and may lie outside. */
static void span_of(struct hwt_stream *st, uint64_t *lo, uint64_t *hi)
{
	struct hwt_event ev[256];
	int n;

	while (!run_interrupted && (n = hwt_stream_next(st, ev, 256)) > 0) {
		for (int k = 0; k < n; k++) {
			if (ev[k].clock != HWT_CLOCK_BASE || ev[k].time == HWT_TIME_UNKNOWN ||
			    ev[k].type == HWT_EV_SCHED_SWITCH)
				continue;
			*lo = ev[k].time < *lo ? ev[k].time : *lo;
			*hi = ev[k].time > *hi ? ev[k].time : *hi;
		}
	}
	hwt_stream_close(st);
}

/*
 * First and last instant of the trace, for windows in percent: a recording may be much longer.
 * Of the recording if no trace has a time; @lo > @hi if nothing has one.
 */
static void trace_span(struct run *r, uint64_t *lo, uint64_t *hi)
{
	const struct hwt_interest want = { .level = HWT_LEVEL_CALLS,
		.time_hi = HWT_TIME_UNKNOWN };
	struct hwt_stream *st;

	*lo = HWT_TIME_UNKNOWN;
	*hi = 0;
	for (size_t i = 0; i < hwt_session_bufs(r->session); i++)
		if (hwt_session_flow(r->session, i, &want, &st, NULL) >= 0)
			span_of(st, lo, hi);
	if (*lo > *hi && hwt_session_events(r->session, &st, NULL) >= 0)
		span_of(st, lo, hi);
}

static int resolve_time(struct run *r)
{
	struct opt_time t[2] = { r->opts.lo, r->opts.hi };
	uint64_t start = 0, end = 0, *out[2] = { &r->time_lo, &r->time_hi };
	struct hwt_capture_info info;

	r->time_lo = 0;
	r->time_hi = HWT_TIME_UNKNOWN;
	if (!r->opts.have_time)
		return 0;
	hwt_session_info(r->session, &info);
	if (info.time_start == HWT_TIME_UNKNOWN) {
		say("the command without --time", "%s: has no times", r->opts.args[0]);
		return EXIT_USAGE;
	}
	if (t[0].kind == OPT_TIME_PERCENT || t[1].kind == OPT_TIME_PERCENT) {
		trace_span(r, &start, &end);
		if (start > end)
			start = end = info.time_start;
	}
	for (int i = 0; i < 2; i++) {
		uint64_t zero = r->show.zero;

		/* all of it, whatever has a time beside the trace */
		if (t[i].kind == OPT_TIME_PERCENT && t[i].v == (i ? 100000 : 0))
			continue;
		if (t[i].kind == OPT_TIME_PERCENT)
			*out[i] = start + (uint64_t)((unsigned __int128)(end - start) * t[i].v /
						     100000);
		else if (t[i].kind == OPT_TIME_NS &&
			 __builtin_add_overflow(zero, t[i].v, out[i]))
			*out[i] = HWT_TIME_UNKNOWN - 1;
	}
	if (r->time_lo > r->time_hi) {
		say(NULL, "--time: the window ends before it begins");
		return EXIT_USAGE;
	}
	return 0;
}

/* --sym patterns to addresses. */
static int resolve_syms(struct run *r)
{
	struct hwt_image *img = hwt_session_image(r->session);

	for (size_t i = 0; i < r->opts.nsyms; i++) {
		size_t n = hwt_image_find(img, r->opts.syms[i], NULL, 0), got;
		struct hwt_addr_range *v;
		uint64_t (*found)[2];

		if (!n) {
			say("a pattern such as '*name*', and check that symbols are found (--elf)",
			    "--sym %s: no function has this name", r->opts.syms[i]);
			return EXIT_USAGE;
		}
		found = calloc(n, sizeof(*found));
		v = realloc(r->addrs, (r->naddrs + n) * sizeof(*v));
		if (v)
			r->addrs = v;
		if (!v || !found) {
			free(found);
			say(NULL, "out of memory");
			return EXIT_INPUT;
		}
		got = hwt_image_find(img, r->opts.syms[i], found, n);
		for (size_t k = 0; k < (got < n ? got : n); k++)
			v[r->naddrs++] = (struct hwt_addr_range){ found[k][0], found[k][1] };
		free(found);
	}
	return 0;
}

int run_select(struct run *r)
{
	int rc = r->opts.ncpus ? check_cpus(r) : 0;
	struct hwt_capture_info info;

	hwt_session_info(r->session, &info);
	if (r->opts.ns && info.time_start == HWT_TIME_UNKNOWN && !r->opts.quiet)
		say("hwtrace help times",
		    "--ns has no effect: no clock here is known in nanoseconds");
	if (!rc && r->opts.ntids)
		rc = check_tids(r);
	if (!rc && r->opts.npids)
		rc = resolve_pids(r);
	if (!rc)
		rc = resolve_time(r);
	return rc ? rc : resolve_syms(r);
}

/* True if an instruction of the trace lies in one of the @n places. */
static bool ran_in(struct run *r, const struct hwt_addr_range *v, size_t n)
{
	const struct hwt_interest want = { .level = HWT_LEVEL_RANGES, .addrs = v, .naddrs = n,
		.time_hi = HWT_TIME_UNKNOWN, .resync = r->opts.resync };
	struct hwt_stream *st;
	struct hwt_event ev[64];
	bool found = false;
	int k;

	for (size_t i = 0; i < hwt_session_bufs(r->session) && !found; i++) {
		if (hwt_session_flow(r->session, i, &want, &st, NULL) < 0)
			continue;
		while (!found && !run_interrupted && (k = hwt_stream_next(st, ev, 64)) > 0)
			while (k--)
				found = found || ev[k].type == HWT_EV_RANGE;
		hwt_stream_close(st);
	}
	return found;
}

static bool elf_used(struct run *r, const char *path)
{
	const struct hwt_image *img = hwt_session_image(r->session);
	struct hwt_addr_range v[16];
	struct hwt_map m;
	size_t n = 0;

	for (size_t i = 0; hwt_image_map_at(img, i, &m); i++) {
		if (!m.path || strcmp(m.path, path) || !m.size)
			continue;
		if (m.stands_in || n == sizeof(v) / sizeof(v[0]))
			return true;
		v[n++] = (struct hwt_addr_range){ m.addr, m.addr + (m.size - 1) };
	}
	return n && ran_in(r, v, n);
}

/* The library has said already why it does not use @path. */
static bool refused(const struct run *r, const char *path)
{
	const struct hwt_note *n;

	for (size_t i = 0; (n = hwt_session_note(r->session, i)); i++)
		if ((n->diag.id == 91 || n->diag.id == 102) && !strcmp(n->diag.file, path))
			return true;
	return false;
}

void run_elf_notes(struct run *r)
{
	const struct hwt_open_opts *o = &r->opts.open;

	for (size_t i = 0; i < o->nelfs; i++)
		if (!refused(r, o->elfs[i].path) && !elf_used(r, o->elfs[i].path))
			say(hwt_error_info(102)->hint, "--elf %s was not used: no recorded map "
			    "has its build-id or name, and no trace address lies in it [E102]",
			    o->elfs[i].path);
}
