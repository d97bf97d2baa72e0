/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's tracer as provider: an instance of tracefs for all CPUs. Pages of all CPUs are read
 * up to an instant, then turned in order of time, since who a task is may be told on another CPU.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/event.h>
#include <hwtrace/uapi.h>

#include "../base/diag.h"
#include "../source/ring_page.h"
#include "kprov.h"
#include "native.h"
#include "ticks.h"
#include "tracefs.h"
#include "tracepoint.h"

#define BUFFER		(4u << 20)	/* of each CPU, if not asked for */
#define CHUNK		(1u << 20)	/* bytes of a CPU that are read at a time */
#define CPUS		8192
#define SYNC_NS		1000000000	/* between readings of the clock */

#if defined(__x86_64__)
#define CLOCK		"x86-tsc"
#define COUNTER		TICKS_COUNTER
#else
#define CLOCK		"mono_raw"	/* the tracer has no clock of plain CNTVCT, but see at() */
#define COUNTER		CLOCK
#endif

struct ft_cpu {
	int fd, cpu;
	uint8_t *buf;			/* CHUNK bytes: whole pages */
	size_t n, at;			/* bytes in it, and where the next page begins */
	struct ring_page page;
	struct ring_rec next;
	bool in_page, have;		/* @have: @next was not given yet */
	bool full;			/* there may be more that is older than the instant */
	uint64_t last;			/* time of the last record written */
};

struct ft {
	struct kprov p;
	const struct kprov_want *want;
	char dir[TRACEFS_DIR];		/* of the instance, "" */
	struct ring_layout layout;
	struct tracepoints *points;
	struct ft_cpu *cpus;
	unsigned ncpus;
	struct native_writer *w;	/* of this pump */
	bool stopped, ended;
	int64_t wall;			/* from CLOCK_MONOTONIC to nanoseconds since 1970 */
	/* CLOCK_MONOTONIC of the last reading that was told, and of the first */
	uint64_t told, told_first;
	uint64_t rec[(VIRT_REC_MAX + 7) / 8];
};

static struct ft *ft_of(struct kprov *p)
{
	return hwt_container_of(p, struct ft, p);
}

static int no_memory(struct ft *f)
{
	return diag_set(f->want->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
}

static int failed(struct ft *f, int rc, const char *what)
{
	return diag_set(f->want->diag, rc, 180, NULL, HWT_NO_OFF, "tracefs: %s: %s", what,
			strerror(-rc));
}

/*
 * Beside trace records must be on the counter. Where the tracer has no clock of it, that of perf
 * leads there.
 */
static const struct time_map *by_perf(const struct ft *f)
{
	return strcmp(CLOCK, "x86-tsc") ? f->want->perf_clock : NULL;
}

static uint64_t at(const struct ft *f, uint64_t time)
{
	return by_perf(f) ? time_map_ticks(by_perf(f), time) : time;
}

/* The instant now, by the clock of the records, and CLOCK_MONOTONIC beside it. */
static struct ticks_pair now(const struct ft *f)
{
#if defined(__x86_64__)
	return ticks_read(CLOCK_MONOTONIC);
#else
	struct timespec a, b, c;

	if (by_perf(f))
		return ticks_read(CLOCK_MONOTONIC);
	clock_gettime(CLOCK_MONOTONIC_RAW, &a);
	clock_gettime(CLOCK_MONOTONIC, &b);
	clock_gettime(CLOCK_MONOTONIC_RAW, &c);
	return (struct ticks_pair){
		.ticks = (uint64_t)a.tv_sec * 1000000000u + (uint64_t)a.tv_nsec,
		.width = (uint64_t)(c.tv_sec - a.tv_sec) * 1000000000u +
			(uint64_t)(c.tv_nsec - a.tv_nsec),
		.ns = (uint64_t)b.tv_sec * 1000000000u + (uint64_t)b.tv_nsec };
#endif
}

/* A record for the capture, or one that only counts. */
static int put(struct ft *f, struct ft_cpu *c, struct hwt_rec *rec)
{
	/* clocks of some CPUs go back by a little; files may not */
	if (rec->time < c->last)
		rec->time = c->last;
	c->last = rec->time;
	f->p.sum.events++;
	if (f->w && f->want->dirty)
		return native_dirty_event(f->w, c->cpu, rec, rec->size);
	if (f->w)
		return native_event(f->w, c->cpu, rec, rec->size);
	f->p.sum.matched += rec->id != HWT_ID_clock_sync && rec->id != HWT_ID_stream_lost;
	return 0;
}

static int put_lost(struct ft *f, struct ft_cpu *c)
{
	struct virt_ctx ctx = { .time = at(f, c->page.time), .cpu = c->cpu, .pid = -1, .tid = -1 };
	struct hwt_rec_stream_lost *r = (void *)f->rec;

	tracepoint_lost(f->points, &ctx, c->page.missed, f->rec);
	r->cause = HWT_lost_cause_overwritten;
	f->p.sum.lost += c->page.missed == UINT64_MAX ? 1 : c->page.missed;
	c->page.lost = false;
	return f->want->overwrite ? 0 : put(f, c, &r->rec);
}

/* Makes the next record of a CPU known, if its pages have one. 0 or a negative code. */
static int look(struct ft *f, struct ft_cpu *c)
{
	int rc;

	while (!c->have) {
		if (!c->in_page) {
			if (c->at >= c->n)
				return 0;
			ring_page_start(&c->page, &f->layout, c->buf + c->at,
					f->layout.page_size);
			c->at += f->layout.page_size;
			c->in_page = true;
		}
		if (c->page.lost) {
			rc = put_lost(f, c);
			if (rc)
				return rc;
		}
		c->have = ring_page_next(&c->page, &c->next);
		c->next.time = at(f, c->next.time);
		c->in_page = c->have;
	}
	return 0;
}

static int give(struct ft *f, struct ft_cpu *c)
{
	struct virt_ctx ctx = { .time = c->next.time, .cpu = c->cpu, .pid = -1, .tid = -1 };
	int n = tracepoint_turn(f->points, c->next.p, c->next.size, &ctx, f->rec);

	c->have = false;
	if (n < 0)
		return no_memory(f);
	return n ? put(f, c, (struct hwt_rec *)f->rec) : 0;
}

/*
 * Gives what is not after @until in order of time. 0; 1: pages of a CPU that may have older ones
 * ran out, and are to be read.
 */
static int merge(struct ft *f, uint64_t until)
{
	for (;;) {
		struct ft_cpu *least = NULL;
		uint64_t bound = until;		/* up to which @least is the first */
		int rc;

		for (unsigned i = 0; i < f->ncpus; i++) {
			struct ft_cpu *c = &f->cpus[i];

			rc = look(f, c);
			if (rc)
				return rc;
			if (!c->have && c->full)
				return 1;
			if (!c->have || c->next.time > until)
				continue;
			if (least && c->next.time >= least->next.time) {
				bound = c->next.time < bound ? c->next.time : bound;
				continue;
			}
			if (least)
				bound = least->next.time;
			least = c;
		}
		if (!least)
			return 0;
		do {
			rc = give(f, least);
			if (!rc)
				rc = look(f, least);
			if (rc)
				return rc;
		} while (least->have && least->next.time <= bound);
	}
}

/* Pages there are, up to CHUNK. */
static int read_cpu(struct ft *f, struct ft_cpu *c)
{
	size_t page = f->layout.page_size;

	if (c->have && c->at > page) {
		/* bytes that are looked at stay where they are: first they are used up */
		c->full = true;
		return 0;
	}
	if (!c->have)
		c->n = c->at = 0;
	c->full = false;
	while (c->n + page <= CHUNK) {
		ssize_t n = read(c->fd, c->buf + c->n, page);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return failed(f, -errno, "reading pages");
		if (n <= 0)
			return 0;
		memset(c->buf + c->n + n, 0, page - (size_t)n);
		c->n += page;
	}
	c->full = true;
	return 0;
}

/* A reading of two clocks, told on the first CPU behind all records up to it. */
static int put_sync(struct ft *f, const struct ticks_pair *p)
{
	struct hwt_rec_clock_sync e = { .rec = { .time = p->ticks + p->width,
		.id = HWT_ID_clock_sync, .size = sizeof(e), .version = HWT_ABI_VERSION,
		.pid = -1, .tid = -1 }, .counter = p->ticks, .value = p->ns,
		.width = p->width > UINT32_MAX ? UINT32_MAX : (uint32_t)p->width,
		.clock = HWT_clock_id_monotonic };

	return put(f, &f->cpus[0], &e.rec);
}

/* A short recording has readings enough, too: between two of them the clock is known less well. */
static bool sync_due(const struct ft *f, uint64_t ns)
{
	uint64_t every = ns - f->told_first < SYNC_NS ? SYNC_NS / 10 : SYNC_NS;

	return f->want->sync && (f->stopped || !f->told || ns - f->told >= every);
}

static int ft_pump(struct kprov *p, struct native_writer *w)
{
	struct ft *f = ft_of(p);
	struct ticks_pair t = now(f);
	bool again;
	int rc = 0;

	if (f->ended)
		return 1;
	f->w = w;
	do {
		for (unsigned i = 0; !rc && i < f->ncpus; i++)
			rc = read_cpu(f, &f->cpus[i]);
		if (!rc)
			rc = merge(f, f->stopped ? UINT64_MAX : t.ticks);
		again = rc == 1;
		rc = again ? 0 : rc;
	} while (again);
	if (!rc && sync_due(f, t.ns)) {
		if (!f->told)
			f->told_first = t.ns;
		f->told = t.ns;
		rc = put_sync(f, &t);
	}
	f->ended = !rc && f->stopped;
	return rc ? rc : f->ended;
}

static int write_tids(struct ft *f, int32_t pid)
{
	char path[64], text[16];
	struct dirent *d;
	int fd, rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/task", pid);
	dir = opendir(path);
	if (!dir)
		return diag_set(f->want->diag, -ESRCH, 174, NULL, HWT_NO_OFF,
				"there is no process %" PRId32, pid);
	while (!rc && (d = readdir(dir))) {
		char file[TRACEFS_DIR + 32];

		if (*d->d_name < '0' || *d->d_name > '9')
			continue;
		snprintf(file, sizeof(file), "%s/set_event_pid", f->dir);
		fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
		snprintf(text, sizeof(text), "%.12s\n", d->d_name);
		if (fd < 0 || write(fd, text, strlen(text)) < 0)
			rc = failed(f, -errno, "set_event_pid");
		if (fd >= 0)
			close(fd);
	}
	closedir(dir);
	return rc;
}

/*
 * The kernel leaves out what it can see is not wanted, so that takes no room; the rest is left out
 * when it is read. A kernel that does not take the condition gives all.
 */
static int narrow(struct ft *f, unsigned i, const char *system, const char *name)
{
	char path[128], *text;
	int rc = tracepoint_filter(f->points, i, &text);

	if (rc)
		return no_memory(f);
	snprintf(path, sizeof(path), "events/%s/%s/filter", system, name);
	if (text && tracefs_write(f->dir, path, text))
		tracefs_write(f->dir, path, "0");	/* what it understood is taken back */
	free(text);
	return 0;
}

static int ft_start(struct kprov *p, int32_t pid)
{
	struct ft *f = ft_of(p);
	const char *system, *name;
	char path[128];
	uint32_t id;
	int rc;

	p->sum = (struct kprov_sum){ 0 };
	f->stopped = f->ended = false;
	f->told = 0;
	for (unsigned i = 0; i < f->ncpus; i++) {
		struct ft_cpu *c = &f->cpus[i];

		c->n = c->at = 0;
		c->in_page = c->have = c->full = false;
		c->last = 0;
	}
	rc = pid ? write_tids(f, pid) : 0;
	if (!rc && pid)
		rc = tracefs_write(f->dir, "options/event-fork", "1");
	tracefs_write(f->dir, "trace", "\n");	/* empties it */
	for (unsigned i = 0; !rc && tracepoint_at(f->points, i, &id, &system, &name); i++) {
		rc = narrow(f, i, system, name);
		if (rc)
			return rc;
		snprintf(path, sizeof(path), "events/%s/%s/enable", system, name);
		rc = tracefs_write(f->dir, path, "1");
		if (rc)
			return failed(f, rc, path);
	}
	if (!rc)
		rc = tracefs_write(f->dir, "tracing_on", "1");
	if (rc)
		return f->want->diag->text[0] ? rc : failed(f, rc, "start");
	return tracepoint_tasks(f->points) ? no_memory(f) : 0;
}

static int ft_describe(struct kprov *p, struct native_writer *w)
{
	struct native_clock clock = { .counter = p->counter, .base = "CLOCK_MONOTONIC",
		.frequency = p->frequency, .wall = ft_of(p)->wall, .from_records = true };

	return native_clock(w, &clock);
}

static int ft_stop(struct kprov *p)
{
	struct ft *f = ft_of(p);
	int rc = tracefs_write(f->dir, "tracing_on", "0");

	f->stopped = true;
	if (rc)
		return failed(f, rc, "stop");
	/* what the first records would tell may be overwritten */
	return f->want->overwrite && tracepoint_tasks(f->points) ? no_memory(f) : 0;
}

static void ft_close(struct kprov *p)
{
	struct ft *f = ft_of(p);

	for (unsigned i = 0; i < f->ncpus; i++) {
		close(f->cpus[i].fd);
		free(f->cpus[i].buf);
	}
	free(f->cpus);
	if (*f->dir)
		tracefs_remove(f->dir);
	tracepoint_free(f->points);
	free(f);
}

static int open_cpus(struct ft *f)
{
	long conf = sysconf(_SC_NPROCESSORS_CONF);
	char path[TRACEFS_DIR + 64];

	if (conf < 1 || conf > CPUS)
		conf = conf < 1 ? 1 : CPUS;
	f->cpus = calloc((size_t)conf, sizeof(*f->cpus));
	if (!f->cpus)
		return no_memory(f);
	for (int i = 0; i < conf; i++) {
		struct ft_cpu *c = &f->cpus[f->ncpus];

		snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_pipe_raw", f->dir, i);
		c->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (c->fd < 0)
			continue;
		c->cpu = i;
		f->ncpus++;
		c->buf = malloc(CHUNK);
		if (!c->buf)
			return no_memory(f);
	}
	return f->ncpus ? 0 : failed(f, -ENOENT, "pages of CPUs");
}

static int set_up(struct ft *f)
{
	uint64_t bytes = f->want->buffer_bytes ? f->want->buffer_bytes : BUFFER;
	char text[32];
	char *header;
	bool known;
	int rc = tracefs_write(f->dir, "tracing_on", "0");

	if (!rc)
		rc = tracefs_write(f->dir, "trace_clock", by_perf(f) ? "perf" : CLOCK);
	if (rc)
		return failed(f, rc, by_perf(f) ? "clock perf" : "clock " CLOCK);
	snprintf(text, sizeof(text), "%" PRIu64, bytes >> 10);
	rc = tracefs_write(f->dir, "buffer_size_kb", text);
	if (rc)
		return failed(f, rc, "buffer");
	header = tracefs_read(f->dir, "events/header_page");
	known = header && ring_layout_read(&f->layout, header) &&
		f->layout.page_size && f->layout.page_size <= CHUNK / 2;
	free(header);
	return known ? open_cpus(f) : failed(f, -EPROTO, "layout of its pages");
}

int ftring_new(struct kprov **out, const struct kprov_want *want)
{
	static const struct kprov_ops ops = { ft_start, ft_describe, NULL, ft_pump, ft_stop,
		ft_close,
		"no hit counts, so no anchors by order; filters are applied to what was recorded" };
	struct ft *f = calloc(1, sizeof(*f));
	struct ticks_clock t;
	int rc;

	if (!f)
		return diag_set(want->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	f->want = want;
	ticks_measure(&t);
	f->wall = t.wall;
	f->p = (struct kprov){ .ops = &ops, .fd = -1, .counter = by_perf(f) ? TICKS_COUNTER :
		COUNTER, .frequency = strcmp(CLOCK, "x86-tsc") && !by_perf(f) ? 1000000000 :
		t.hz };
	tracefs_clean();
	rc = tracefs_instance(f->dir, want->tag, want->diag);
	if (rc)
		f->dir[0] = 0;
	if (!rc && tracepoint_new(&f->points, f->dir, want))
		rc = no_memory(f);
	if (!rc)
		rc = tracepoint_lacks(f->points);
	if (!rc)
		rc = set_up(f);
	if (rc) {
		ft_close(&f->p);
		return rc;
	}
	*out = &f->p;
	return 0;
}
