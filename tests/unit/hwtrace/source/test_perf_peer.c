/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of records against that of perf: "perf script -D" on the same file, or its stored
 * output. Order differs (perf sorts by time), so both lists are sorted here.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hwtrace/source/perf.h"
#include "tests/support/mkperf.h"

struct line { uint64_t off, time; uint32_t type, size; int32_t cpu; };
struct list { struct line *v; size_t n, cap; };

enum { NO_OFFSETS = 1 };	/* records that were compressed or came from a pipe */

static char dir[] = "/tmp/hwt-perf-XXXXXX";

static struct line *add(struct list *l)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 1024;
		l->v = realloc(l->v, l->cap * sizeof(*l->v));
		assert_non_null(l->v);
	}
	l->v[l->n] = (struct line){ .time = HWT_TIME_UNKNOWN, .cpu = HWT_NONE };
	return &l->v[l->n++];
}

static int cmp(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Two lines of the dump name a record: "0xOFF@file [0xSIZE]: event: TYPE", "CPU TIME 0xOFF". */
static void dump_list(const char *cmd, struct list *l, int how)
{
	FILE *p = popen(cmd, "r");
	static char text[65536];
	struct line *last = NULL;

	assert_non_null(p);
	while (fgets(text, sizeof(text), p)) {
		unsigned long long off, time;
		unsigned size, type;
		const char *at = strchr(text, '@'), *tail = strstr(text, " [0x");
		long long cpu;

		if (text[0] == '0' && text[1] == 'x' && at && tail &&
		    sscanf(text, "0x%llx@", &off) == 1 &&
		    sscanf(tail, " [0x%x]: event: %u", &size, &type) == 2) {
			/* made up by perf from the header; outer ones are opened on both sides */
			last = NULL;
			if ((type == REC_ATTR && !off) || type == REC_COMPRESSED)
				continue;
			last = add(l);
			last->off = how & NO_OFFSETS ? 0 : off;
			last->size = size;
			last->type = type;
		} else if (last && last->type < REC_KERNEL_END && strstr(text, ": PERF_RECORD_") &&
			   sscanf(text, "%lld %llu 0x", &cpu, &time) == 2) {
			last->time = time;
			last->cpu = (int32_t)cpu;
			last = NULL;
		}
	}
	pclose(p);
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), cmp);
}

static void our_list(const struct capture *c, struct list *l, int how)
{
	struct perf_walk w;
	struct perf_rec r;
	int rc;

	perf_walk_init(&w, c->priv);
	while ((rc = perf_next(&w, &r)) > 0) {
		struct line *x;
		struct perf_sample s;

		if (w.bad_id)
			fail_msg("damage in a good file: %s", w.bad_text);
		perf_sample(c->priv, &r, &s);
		x = add(l);
		x->off = how & NO_OFFSETS ? 0 : r.off;
		x->type = r.type;
		x->size = r.size;
		x->time = s.time;
		x->cpu = s.cpu;
	}
	assert_int_equal(rc, 0);
	perf_walk_fini(&w);
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), cmp);
}

static struct capture *open_path(const char *path, bool is_dir)
{
	struct capture *c;
	struct file *f = NULL;
	struct hwt_diag d = { 0 };

	assert_int_equal(capture_new(&c), 0);
	if (!is_dir)
		assert_int_equal(file_open(&f, path, &d), 0);
	assert_int_equal(source_perf.probe(f, path), 2);
	if (source_perf.open(c, f, path, NULL, &d))
		fail_msg("%s: %s", path, d.text);
	return c;
}

static void compare(struct list *ours, struct list *theirs, const char *what)
{
	size_t n = ours->n < theirs->n ? ours->n : theirs->n, timed = 0;

	for (size_t i = 0; i < n; i++) {
		struct line *a = &ours->v[i], *b = &theirs->v[i];

		/* a dump shows 0 where a record has no time, and may leave the second line out */
		if (a->time == HWT_TIME_UNKNOWN || b->time == HWT_TIME_UNKNOWN ||
		    a->time == 0 || b->time == UINT64_MAX)
			a->time = b->time = 0, a->cpu = b->cpu = 0;
		else
			timed++;
		if (cmp(a, b))
			fail_msg("%s: record %zu: ours off 0x%llx type %u size %u time %llu "
				 "cpu %d, perf's off 0x%llx type %u size %u time %llu cpu %d",
				 what, i,
				 (unsigned long long)a->off, a->type, a->size,
				 (unsigned long long)a->time, a->cpu,
				 (unsigned long long)b->off, b->type, b->size,
				 (unsigned long long)b->time, b->cpu);
	}
	assert_int_equal(ours->n, theirs->n);
	assert_true(timed > 0);
	printf("# %s: %zu records, %zu times\n", what, n, timed);
	free(ours->v);
	free(theirs->v);
}

static bool have_perf(void)
{
	return !system("perf --version >/dev/null 2>&1");
}

static void against_perf(const char *path, int how)
{
	char cmd[1024];
	struct list ours = { 0 }, theirs = { 0 };
	struct capture *c = open_path(path, false);

	snprintf(cmd, sizeof(cmd), "perf script -D -i %s 2>/dev/null", path);
	our_list(c, &ours, how);
	dump_list(cmd, &theirs, how);
	compare(&ours, &theirs, path);
	capture_free(c);
}

static void skip_why(const char *why)
{
	printf("# skipped: %s\n", why);
	skip();
}

/* Files of our own writer, in both byte orders. */
static void written_files(void **state)
{
	static const uint8_t id[20] = { 9 }, trace[64];
	static const uint64_t cs[] = { 1, 8ull << 32 | 1, 0, 0x4040404040404040, 0, 7, 1, 0x10,
		0x28000ea1, 0x4100f403, 0x488, 0, 0xcc };
	char path[128];

	if (!have_perf())
		skip_why("perf is not installed");
	for (int i = 0; i < 3; i++) {
		struct mkperf m;

		mkperf_init(&m, i == 2);
		mkperf_feature_str(&m, 6, i == 1 ? "aarch64" : "x86_64");
		if (i == 1)
			mkperf_info(&m, 3, cs, sizeof(cs) / 8);
		else
			mkperf_pt(&m);
		mkperf_comm(&m, "prog", true);
		mkperf_mmap2(&m, 0x400000, 0x1000, 0, 5, "/no/such/file");
		mkperf_mmap2_id(&m, 0x500000, 0x1000, 0, id, 20, "/no/such/lib");
		mkperf_itrace_start(&m);
		m.time += 100;
		mkperf_switch(&m, true);
		m.time += 100;
		m.pid = m.tid = 1235;
		mkperf_task(&m, 7, 0, 1234, 1234);
		mkperf_switch_wide(&m, false, 1234, 1234);
		m.time += 100;
		mkperf_aux(&m, 0, 64, 0);
		mkperf_auxtrace(&m, 0, 64, 0, 1235, 0, trace, 64);
		mkperf_task(&m, 4, 0, 1234, 1234);
		snprintf(path, sizeof(path), "%s/w%d.data", dir, i);
		assert_int_equal(mkperf_write(&m, path), 0);
		against_perf(path, 0);
		mkperf_free(&m);
	}
}

/* What perf records here. The machine may forbid it. */
static bool record(const char *args, const char *path)
{
	char cmd[1024];

	snprintf(cmd, sizeof(cmd), "perf record -o %s %s >/dev/null 2>&1", path, args);
	return !system(cmd) && !access(path, R_OK);
}

static void recorded(const char *name, const char *args, int how)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s.data", dir, name);
	if (!have_perf())
		skip_why("perf is not installed");
	if (!record(args, path))
		skip_why("perf record is not permitted here");
	against_perf(path, how);
	unlink(path);
}

static void recorded_sched(void **state)
{
	recorded("sched", "-e sched:sched_switch -a -- sleep 0.05", 0);
}

static void recorded_clock(void **state)
{
	recorded("clock", "-e cpu-clock -e sched:sched_switch --switch-events -k CLOCK_MONOTONIC "
		 "-- ls /", 0);
}

/* Samples with addresses, the counts of a group and call chains before their raw data. */
static void recorded_groups(void **state)
{
	recorded("group", "-e '{sched:sched_switch,cpu-clock}:S' -g -d -a -- sleep 0.05", 0);
}

static void recorded_compressed(void **state)
{
	recorded("zstd", "-z -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -- ls -lR /etc",
		 NO_OFFSETS);
}

/* Number and times of the samples of one event, as "perf script" prints them, against ours. */
static void samples(const char *path, bool is_dir, const char *event)
{
	struct capture *c = open_path(path, is_dir);
	struct list ours = { 0 }, theirs = { 0 };
	struct hwt_event ev[64];
	struct hwt_stream *s;
	struct hwt_diag d;
	char cmd[1024], text[4096];
	FILE *p;
	int n;

	assert_int_equal(c->events(c, &s, &d), 0);
	while ((n = hwt_stream_next(s, ev, 64)) > 0)
		for (int i = 0; i < n; i++)
			if (ev[i].type == HWT_EV_SCHED_SWITCH || (ev[i].type == HWT_EV_RECORD &&
			    ev[i].u.rec.id >= 0x10000)) {
				struct line *x = add(&ours);

				x->time = ev[i].time;
				x->cpu = ev[i].cpu;
			}
	hwt_stream_close(s);
	snprintf(cmd, sizeof(cmd), "perf script --ns -F cpu,time -i %s 2>/dev/null", path);
	p = popen(cmd, "r");
	assert_non_null(p);
	while (fgets(text, sizeof(text), p)) {
		unsigned long long sec, ns;
		unsigned cpu;
		struct line *x;

		if (sscanf(text, " [%u] %llu.%llu:", &cpu, &sec, &ns) != 3)
			continue;
		x = add(&theirs);
		x->time = sec * 1000000000 + ns;
		x->cpu = (int32_t)cpu;
	}
	pclose(p);
	if (ours.n)
		qsort(ours.v, ours.n, sizeof(*ours.v), cmp);
	if (theirs.n)
		qsort(theirs.v, theirs.n, sizeof(*theirs.v), cmp);
	compare(&ours, &theirs, event);
	capture_free(c);
}

static void recorded_threads(void **state)
{
	char path[128], cmd[256];

	snprintf(path, sizeof(path), "%s/threads", dir);
	if (!have_perf())
		skip_why("perf is not installed");
	snprintf(cmd, sizeof(cmd), "perf record --threads -e sched:sched_switch -a -o %s -- "
		 "sleep 0.05 >/dev/null 2>&1", path);
	if (system(cmd) || access(path, R_OK))
		skip_why("perf record --threads is not permitted here");
	samples(path, true, "--threads");
}

static void recorded_pipe(void **state)
{
	char path[128], cmd[256];

	snprintf(path, sizeof(path), "%s/pipe.data", dir);
	if (!have_perf())
		skip_why("perf is not installed");
	snprintf(cmd, sizeof(cmd), "perf record -e sched:sched_switch -a -o - -- sleep 0.05 "
		 "2>/dev/null >%s", path);
	if (system(cmd))
		skip_why("perf record to a pipe is not permitted here");
	samples(path, false, "pipe");
}

/* Fields of a tracepoint, as perf prints them from the same record. */
static void fields(void **state)
{
	char path[128], cmd[512], text[4096], ours[1024];
	struct hwt_event ev;
	struct hwt_stream *s;
	struct hwt_diag d;
	struct capture *c;
	unsigned n = 0;
	FILE *p;

	snprintf(path, sizeof(path), "%s/fields.data", dir);
	if (!have_perf())
		skip_why("perf is not installed");
	if (!record("-e raw_syscalls:sys_exit -- true", path))
		skip_why("perf record is not permitted here");
	c = open_path(path, false);
	snprintf(cmd, sizeof(cmd), "perf script -F trace -i %s 2>/dev/null", path);
	p = popen(cmd, "r");
	assert_non_null(p);
	assert_int_equal(c->events(c, &s, &d), 0);
	while (hwt_stream_next(s, &ev, 1) > 0) {
		long nr, ret, our_nr, our_ret;

		if (ev.type != HWT_EV_RECORD || ev.u.rec.id < 0x10000)
			continue;
		assert_string_equal(c->event_name(c, &ev), "raw_syscalls:sys_exit");
		c->event_text(c, &ev, ours, sizeof(ours));
		assert_int_equal(sscanf(ours, "id=%ld ret=%ld", &our_nr, &our_ret), 2);
		assert_non_null(fgets(text, sizeof(text), p));
		assert_int_equal(sscanf(text, " NR %ld = %ld", &nr, &ret), 2);
		assert_int_equal(nr, our_nr);
		assert_int_equal(ret, our_ret);
		n++;
	}
	assert_true(n > 10);
	hwt_stream_close(s);
	pclose(p);
	capture_free(c);
}

static void stored(const char *data, const char *dump, unsigned switches, unsigned bufs)
{
	const char *top = getenv("HWT_CAPTURES");
	char path[1024], cmd[1100];
	struct list ours = { 0 }, theirs = { 0 };
	struct capture *c;
	unsigned n = 0;

	snprintf(path, sizeof(path), "%s/%s", top ? top : "../shared/captures", data);
	if (access(path, R_OK))
		skip_why("no captures of others; set HWT_CAPTURES");
	c = open_path(path, false);
	snprintf(cmd, sizeof(cmd), "gzip -dc %s/%s", top ? top : "../shared/captures", dump);
	our_list(c, &ours, 0);
	dump_list(cmd, &theirs, 0);
	for (size_t i = 0; i < ours.n; i++)
		n += ours.v[i].type == REC_SWITCH_CPU_WIDE;
	assert_int_equal(n, switches);
	assert_int_equal(c->nbufs, bufs);
	compare(&ours, &theirs, data);
	capture_free(c);
}

static void stored_skylake(void **state)
{
	stored("pt/skylake-kernel/in/perf.data", "pt/skylake-kernel/expect.perf-dump.txt.gz", 152,
	       2);
}

static void stored_pixel(void **state)
{
	stored("arm/pixel/in/perf_etm.data", "arm/pixel/expect.perf_etm.dump.txt.gz", 0, 1);
	stored("arm/pixel/in/perf_kernel.data", "arm/pixel/expect.perf_kernel.dump.txt.gz", 0, 2);
}

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_files), cmocka_unit_test(recorded_sched),
		cmocka_unit_test(recorded_clock), cmocka_unit_test(recorded_groups),
		cmocka_unit_test(recorded_compressed),
		cmocka_unit_test(recorded_threads), cmocka_unit_test(recorded_pipe),
		cmocka_unit_test(fields), cmocka_unit_test(stored_skylake),
		cmocka_unit_test(stored_pixel),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
