/* SPDX-License-Identifier: BSD-2-Clause */
/* What --cpu, --tid, --time and --sym mean in this capture. An id that it lacks is an error. */
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

/* CPUs, or threads and processes, that kernel-side events name. */
static void event_ids(struct run *r, struct ids *s, bool cpus)
{
	struct hwt_event ev[256];
	struct hwt_stream *st;
	int n;

	if (hwt_session_events(r->session, &st, NULL) < 0)
		return;
	while (!run_interrupted && (n = hwt_stream_next(st, ev, 256)) > 0) {
		for (int i = 0; i < n; i++) {
			if (cpus) {
				ids_add(s, ev[i].cpu);
				continue;
			}
			ids_add(s, ev[i].pid);
			ids_add(s, ev[i].tid);
			if (ev[i].type != HWT_EV_SCHED_SWITCH)
				continue;
			ids_add(s, ev[i].u.sched.prev_tid);
			ids_add(s, ev[i].u.sched.next_tid);
		}
	}
	hwt_stream_close(st);
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
	struct ids s = { 0 };
	bool shared = false;
	int32_t id = 0;
	int rc = 0;

	for (size_t i = 0; !hwt_session_buf(r->session, i, &b); i++) {
		ids_add(&s, b.cpu);
		/* the buffer of a thread holds what it did on any CPU */
		shared = shared || (b.cpu == HWT_NONE && b.tid != HWT_NONE);
		for (size_t k = 0; hwt_session_src(r->session, i, k, &src); k++)
			ids_add(&s, src.cpu);
	}
	if (!all_in(&s, o->cpus, o->ncpus, &id) && shared)
		event_ids(r, &s, true);
	if (!all_in(&s, o->cpus, o->ncpus, &id))
		rc = not_there(&s, "CPU", "--cpu", id);
	free(s.v);
	return rc;
}

static int check_tids(struct run *r)
{
	const struct opts *o = &r->opts;
	struct hwt_buf_info b;
	struct ids s = { 0 };
	int32_t pid, tid, id = 0;
	int rc = 0;

	for (size_t i = 0; !hwt_session_buf(r->session, i, &b); i++) {
		ids_add(&s, b.pid);
		ids_add(&s, b.tid);
	}
	for (size_t i = 0; hwt_session_task(r->session, i, &pid, &tid); i++) {
		ids_add(&s, pid);
		ids_add(&s, tid);
	}
	if (!all_in(&s, o->tids, o->ntids, &id))
		event_ids(r, &s, false);
	if (!all_in(&s, o->tids, o->ntids, &id))
		rc = not_there(&s, "thread", "--tid", id);
	free(s.v);
	return rc;
}

/* Latest instant of the capture, for windows in percent; HWT_TIME_UNKNOWN if nothing has a time. */
static uint64_t last_time(struct run *r)
{
	const struct hwt_interest want = { .level = HWT_LEVEL_CALLS,
		.time_hi = HWT_TIME_UNKNOWN };
	struct hwt_stream *st;
	struct hwt_event ev[256];
	struct hwt_diag diag;
	uint64_t last = 0;
	bool any = false;

	for (size_t i = 0; i <= hwt_session_bufs(r->session); i++) {
		int n, rc = i ? hwt_session_flow(r->session, i - 1, &want, &st, &diag) :
			hwt_session_events(r->session, &st, &diag);

		if (rc < 0)
			continue;
		while (!run_interrupted && (n = hwt_stream_next(st, ev, 256)) > 0)
			for (int k = 0; k < n; k++)
				if (ev[k].clock == HWT_CLOCK_BASE &&
				    ev[k].time != HWT_TIME_UNKNOWN && ev[k].time >= last) {
					last = ev[k].time;
					any = true;
				}
		hwt_stream_close(st);
	}
	return any ? last : HWT_TIME_UNKNOWN;
}

static int resolve_time(struct run *r)
{
	struct opt_time t[2] = { r->opts.lo, r->opts.hi };
	uint64_t start = r->show.time_start, end = 0, *out[2] = { &r->time_lo, &r->time_hi };
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
		end = last_time(r);
		if (end == HWT_TIME_UNKNOWN || end < start)
			end = start;
	}
	for (int i = 0; i < 2; i++) {
		uint64_t zero = r->show.zero;

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

bool run_elf_used(struct run *r, const char *path)
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
