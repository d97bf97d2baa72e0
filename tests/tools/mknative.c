/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any capture as a native one, so that both can be listed and compared.
 *
 * mknative IN OUT.hwt [SYSROOT [CONFIG]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"
#include "hwtrace/image/image.h"
#include "hwtrace/source/capture.h"

static struct hwt_diag diag;

static void die(const char *what)
{
	fprintf(stderr, "mknative: %s: %s: %s\n", what, diag.file, diag.text);
	exit(1);
}

static void check(struct native_writer *w, int rc, const char *what)
{
	if (rc >= 0)
		return;
	if (native_diag(w)->code)
		diag = *native_diag(w);
	else
		snprintf(diag.text, sizeof(diag.text), "%s", hwt_strerror(rc));
	die(what);
}

static void bufs(struct native_writer *w, const struct capture *c)
{
	for (size_t i = 0; i < c->nbufs; i++) {
		const struct trace_buf *b = &c->bufs[i];
		int n = native_add_buf(w, b->name, b->cpu, b->pid, b->tid, b->framing, b->cfgs,
				       b->ncfgs);

		check(w, n, b->name);
		for (size_t k = 0; k < b->nspans; k++) {
			check(w, native_span(w, n, &b->spans[k]), "span");
			check(w, native_trace(w, n, b->spans[k].time, b->spans[k].p,
					      b->spans[k].size), "trace");
		}
		if (b->cause_after)
			check(w, native_hole(w, n, b->cause_after, b->lost_after), "hole");
	}
}

static void maps(struct native_writer *w, const struct capture *c, const char *sysroot)
{
	struct hwt_map m;
	char from[4096];

	for (size_t i = 0; hwt_image_map_at(c->image, i, &m); i++) {
		m.missing = 0;
		check(w, native_map(w, &m), m.path);
		snprintf(from, sizeof(from), "%s%s%s", sysroot, *sysroot ? "/" : "", m.path);
		if (*m.path == '[' || !strncmp(m.path, "//", 2) || m.stands_in)
			continue;
		/* another place, or no file at all: then there is no copy */
		if (native_file(w, m.path, from, m.build_id, m.build_id_size))
			native_file(w, m.path, NULL, m.build_id, m.build_id_size);
	}
}

static void tasks(struct native_writer *w, const struct capture *c)
{
	for (size_t i = 0; i < machine_tasks(c->machine); i++) {
		int32_t pid, tid;

		machine_task_at(c->machine, i, &pid, &tid);
		check(w, native_task(w, pid, tid, machine_comm(c->machine, tid)), "task");
	}
}

/* Listings count time from the first record on: one where the capture has its own first. */
static void start(struct native_writer *w, const struct capture *c)
{
	struct hwt_rec_stream_state r = { .rec = { .id = HWT_ID_stream_state, .size = sizeof(r),
		.version = 1, .pid = -1, .tid = -1 }, .state = 1 };

	if (!time_map_valid(&c->tsc) || c->time_start == HWT_TIME_UNKNOWN)
		return;
	r.rec.time = time_map_ticks(&c->tsc, c->time_start);
	check(w, native_event(w, 0, &r, sizeof(r)), "start");
}

/* The schedule as sched.switch; nobody known is the task -1. */
static void switches(struct native_writer *w, const struct capture *c)
{
	for (int32_t cpu = 0; cpu < 256 && time_map_valid(&c->tsc); cpu++) {
		struct machine_cursor cur;
		struct hwt_rec_sched_switch r = { 0 };

		machine_cursor_init(&cur, c->machine, cpu);
		r.rec = (struct hwt_rec){ .id = HWT_ID_sched_switch, .size = sizeof(r),
			.version = 1, .pid = -1, .tid = -1 };
		r.prev_pid = r.prev_tid = -1;
		r.next_aspace = UINT64_MAX;
		while (machine_cursor_due(&cur) != HWT_TIME_UNKNOWN) {
			const struct machine_run *run = machine_cursor_step(&cur);

			r.rec.time = time_map_ticks(&c->tsc, run->time);
			r.next_pid = run->pid;
			r.next_tid = run->tid;
			r.preempted = !!(run->flags & HWT_F_PREEMPT);
			check(w, native_event(w, cpu, &r, sizeof(r)), "switch");
			r.prev_pid = run->pid;
			r.prev_tid = run->tid;
		}
	}
}

int main(int argc, char **argv)
{
	const char *sysroot = argc > 3 ? argv[3] : "";
	struct hwt_open_opts o = { .size = sizeof(o), .sysroot = *sysroot ? sysroot : NULL,
		.config = argc > 4 ? argv[4] : NULL };
	struct native_writer *w;
	struct capture *c;

	if (argc < 3)
		return 2;
	if (source_open(&c, argv[1], &o, &diag) < 0)
		die(argv[1]);
	if (native_create(&w, argv[2], true, &diag) < 0)
		die(argv[2]);
	native_set(w, "capture", "arch", "%s", c->arch);
	native_set(w, "capture", "cpu", "%s", c->cpu);
	native_set(w, "capture", "host", "%s", c->host);
	native_set(w, "capture", "release", "%s", c->release);
	native_set(w, "capture", "cmdline", "%s", c->cmdline);
	native_clock(w, &(struct native_clock){ .counter = "tsc", .base = c->clock,
		.map = c->tsc });
	maps(w, c, sysroot);
	tasks(w, c);
	bufs(w, c);
	start(w, c);
	switches(w, c);
	if (native_close(w, &diag) < 0)
		die(argv[2]);
	capture_free(c);
	return 0;
}
