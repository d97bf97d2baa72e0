/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf as provider of kernel events: tracepoints where their formats can be read, and the records
 * that perf writes of switches, tasks and maps, which need no more rights than tracing oneself.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <hwtrace/abi.h>
#include <hwtrace/event.h>

#include "../base/diag.h"
#include "../base/vec.h"
#include "hwside.h"
#include "kprov.h"
#include "native.h"
#include "perf_open.h"
#include "perf_ring.h"
#include "tracefs.h"
#include "tracepoint.h"

#define BUFFER		(4u << 20)	/* of each CPU, if not asked for; a power of two */
#define LATE_NS		10000000	/* a record is there that long after its instant */
#define FIXED		36u		/* bytes of a sample before its raw data */
#define TASKS		4096		/* threads that a process may have when it is begun with */

struct pr_cpu {
	struct perf_cpu open;
	struct perf_ring ring;
	const struct perf_event_header *next;	/* NULL: none that was looked at */
	uint64_t time;				/* of it */
	uint64_t last;				/* of the last record written */
	uint8_t held[PERF_RING_REC];		/* @next, when its room was given back */
};

struct pr {
	struct kprov p;
	const struct kprov_want *want;
	struct tracepoints *points;
	struct hwside side;
	struct pr_cpu **cpus;
	unsigned ncpus;
	struct vec fds;			/* of tracepoints */
	struct native_writer *w;	/* of this pump */
	/*
	 * Events begin and end one after the other; what is told lies between the last that began
	 * and the first that ended.
	 */
	uint64_t begin, end;
	int64_t wall;			/* from CLOCK_MONOTONIC to nanoseconds since 1970 */
	bool stopped, ended, have_side;
	uint64_t rec[(VIRT_REC_MAX + 7) / 8];
};

static struct pr *pr_of(struct kprov *p)
{
	return hwt_container_of(p, struct pr, p);
}

static int no_memory(struct pr *s)
{
	return diag_set(s->want->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
}

static int failed(struct pr *s, int rc, const char *what)
{
	if (rc == -ENOMEM)
		return no_memory(s);
	return diag_set(s->want->diag, rc, 189, NULL, HWT_NO_OFF, "perf: %s: %s", what,
			strerror(-rc));
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- records --- */

static int put(struct pr *s, struct pr_cpu *c, struct hwt_rec *rec)
{
	if (rec->time < s->begin || rec->time > s->end)
		return 0;
	if (rec->time < c->last)
		rec->time = c->last;
	c->last = rec->time;
	s->p.sum.events++;
	if (s->w)
		return native_event(s->w, c->open.cpu, rec, rec->size);
	s->p.sum.matched += rec->id != HWT_ID_stream_lost;
	return 0;
}

/* A record that a tracepoint wrote: task, time, CPU, and the bytes that the tracer would have. */
static int give_sample(struct pr *s, struct pr_cpu *c)
{
	const uint8_t *p = (const uint8_t *)c->next;
	struct virt_ctx ctx = { .time = c->time, .cpu = c->open.cpu };
	uint32_t size;
	int n;

	if (c->next->size < FIXED)
		return 0;
	memcpy(&ctx.pid, p + 8, 4);
	memcpy(&size, p + FIXED - 4, 4);
	if (size > c->next->size - FIXED)
		return 0;
	n = tracepoint_turn(s->points, p + FIXED, size, &ctx, s->rec);
	if (n < 0)
		return no_memory(s);
	return n ? put(s, c, (struct hwt_rec *)s->rec) : 0;
}

/* One of the others; one may tell several things. */
static int give_side(struct pr *s, struct pr_cpu *c)
{
	struct perf_turn *t = &s->side.turn;
	struct hwt_rec *rec = (struct hwt_rec *)s->rec;
	struct hwt_rec_stream_lost *lost = (void *)rec;
	bool more = true;
	int n, rc = 0;

	t->r = (struct perf_rec){ .type = c->next->type, .misc = c->next->misc,
		.size = c->next->size, .p = (const uint8_t *)c->next };
	if (!hwside_sample(&s->side, c->next, &t->s))
		return 0;
	t->ctx = (struct virt_ctx){ .time = c->time, .cpu = c->open.cpu, .pid = t->s.pid,
		.tid = t->s.tid };
	for (t->part = 0; !rc && more; t->part++) {
		n = perf_side(t, s->rec, &more);
		if (n <= 0)
			return n ? no_memory(s) : 0;
		if (rec->id == HWT_ID_stream_lost)
			s->p.sum.lost += lost->count == UINT64_MAX ? 1 : lost->count;
		if (rec->id == HWT_ID_stream_lost ||
		    hwt_filter_match_on(kprov_condition(s->want, rec->id), rec, rec->size,
					c->open.cpu))
			rc = put(s, c, rec);
	}
	return rc;
}

/* Makes the next record of a CPU known, if there is one. */
static void look(struct pr *s, struct pr_cpu *c)
{
	struct perf_sample at;

	if (c->next)
		return;
	c->next = perf_ring_next(&c->ring);
	if (!c->next)
		return;
	if (c->next->type == PERF_RECORD_SAMPLE && c->next->size >= FIXED)
		memcpy(&c->time, (const uint8_t *)c->next + 16, 8);
	else if (hwside_sample(&s->side, c->next, &at) && at.time != HWT_TIME_UNKNOWN)
		c->time = at.time;
	/* one without a time is where it stands */
}

/* Gives what is not after @until in order of time. */
static int merge(struct pr *s, uint64_t until)
{
	for (;;) {
		struct pr_cpu *least = NULL;
		int rc;

		for (unsigned i = 0; i < s->ncpus; i++) {
			struct pr_cpu *c = s->cpus[i];

			look(s, c);
			if (c->next && c->time <= until && (!least || c->time < least->time))
				least = c;
		}
		if (!least)
			return 0;
		rc = least->next->type == PERF_RECORD_SAMPLE ? give_sample(s, least) :
			give_side(s, least);
		least->next = NULL;
		if (rc)
			return rc;
	}
}

static int pr_pump(struct kprov *p, struct native_writer *w)
{
	struct pr *s = pr_of(p);
	uint64_t until = s->stopped ? UINT64_MAX : now_ns(CLOCK_MONOTONIC) - LATE_NS;
	int rc;

	if (s->ended)
		return 1;
	s->w = w;
	rc = merge(s, until);
	for (unsigned i = 0; i < s->ncpus; i++) {
		struct pr_cpu *c = s->cpus[i];

		if (c->next && (const uint8_t *)c->next != c->held) {
			memcpy(c->held, c->next, c->next->size);
			c->next = (const void *)c->held;
		}
		if (!s->want->overwrite)
			perf_ring_done(&c->ring);
	}
	s->ended = !rc && s->stopped;
	return rc ? rc : s->ended;
}

/* --- events of perf --- */

static int sys_open(const struct pr *s, uint32_t id, int32_t tid, int32_t cpu, uint64_t ring)
{
	struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(a), .config = id,
		.sample_period = 1, .sample_type = HWSIDE_SAMPLE | PERF_SAMPLE_RAW,
		.sample_id_all = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
		.inherit = tid != -1, .watermark = 1, .wakeup_watermark = (uint32_t)(ring / 4),
		.write_backward = s->want->overwrite };
	int fd = (int)syscall(SYS_perf_event_open, &a, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Some the kernel gives nobody by perf, as irq_work, by which it wakes us; others only to root. */
static bool may(void *arg, uint32_t id)
{
	struct pr *s = arg;
	int fd = sys_open(s, id, s->want->all ? -1 : 0, s->want->all ? 0 : -1, 4096);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int add_tracepoint(struct pr *s, const struct pr_cpu *c, uint32_t id, int32_t tid)
{
	int *to = vec_push(&s->fds, sizeof(*to));

	if (!to)
		return -ENOMEM;
	*to = sys_open(s, id, tid, c->open.cpu, c->open.size);
	if (*to < 0)
		return ((int *)s->fds.v)[--s->fds.n];
	return ioctl(*to, PERF_EVENT_IOC_SET_OUTPUT, c->open.fds[0]) ? -errno : 0;
}

/* Of a task a switch is told when it comes, too, only by the record of perf. */
static bool is_used(const struct pr *s, const char *name)
{
	return s->want->all || strcmp(name, "sched_switch");
}

static int add_task(struct pr *s, struct pr_cpu *c, struct perf_open *o, int32_t tid)
{
	const char *system, *name;
	uint32_t id;
	int rc = perf_open_task(&c->open, o, tid);

	for (unsigned i = 0; !rc && tracepoint_at(s->points, i, &id, &system, &name); i++)
		if (is_used(s, name))
			rc = add_tracepoint(s, c, id, tid);
	return rc;
}

/* Threads of a process; more that it makes are inherited. */
static int list_tids(struct pr *s, int32_t pid, int32_t *v, size_t *n)
{
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/task", pid);
	d = opendir(path);
	if (!d)
		return diag_set(s->want->diag, -ESRCH, 174, NULL, HWT_NO_OFF,
				"there is no process %" PRId32, pid);
	while (*n < TASKS && (e = readdir(d)))
		if (*e->d_name >= '0' && *e->d_name <= '9')
			v[(*n)++] = (int32_t)strtol(e->d_name, NULL, 10);
	closedir(d);
	return 0;
}

static void close_cpus(struct pr *s)
{
	for (size_t i = 0; i < s->fds.n; i++)
		close(((int *)s->fds.v)[i]);
	s->fds.n = 0;
	for (unsigned i = 0; i < s->ncpus; i++) {
		perf_open_close(&s->cpus[i]->open);
		perf_ring_free(&s->cpus[i]->ring);
		free(s->cpus[i]);
	}
	free(s->cpus);
	s->cpus = NULL;
	s->ncpus = 0;
}

/* What tracepoints tell is not taken from the other records. */
static struct perf_told told(const struct pr *s)
{
	struct tracepoints *t = s->points;

	return (struct perf_told){
		.sched_switch = s->want->all && tracepoint_tells(t, HWT_ID_sched_switch),
		.fork = tracepoint_tells(t, HWT_ID_sched_fork),
		.exec = tracepoint_tells(t, HWT_ID_sched_exec),
		.comm = tracepoint_tells(t, HWT_ID_sched_comm),
		.exit = tracepoint_tells(t, HWT_ID_sched_exit) };
}

static struct perf_open options(const struct pr *s)
{
	uint64_t bytes = s->want->buffer_bytes ? s->want->buffer_bytes : BUFFER;
	struct perf_open o = { .type = PERF_TYPE_SOFTWARE, .data_bytes = 1u << 16,
		.monotonic = true, .backward = s->want->overwrite,
		.inherit = !s->want->all, .told = told(s),
		.event = { .config = { PERF_COUNT_SW_DUMMY }, .user = true } };

	while (o.data_bytes < bytes && o.data_bytes < 1u << 30)
		o.data_bytes *= 2;
	return o;
}

static int open_cpu(struct pr *s, struct perf_open *o, int cpu, const int32_t *tids, size_t n)
{
	struct pr_cpu **v = realloc(s->cpus, (s->ncpus + 1) * sizeof(struct pr_cpu *)), *c;
	int rc = 0;

	if (!v)
		return -ENOMEM;
	s->cpus = v;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	v[s->ncpus++] = c;
	c->open.cpu = cpu;
	for (size_t i = 0; i < n && !rc; i++) {
		rc = add_task(s, c, o, tids[i]);
		if (rc == -ESRCH && n > 1)
			rc = 0;		/* it has ended meanwhile */
	}
	if ((rc == -ENODEV || rc == -ENXIO) && !c->open.page) {
		perf_open_close(&c->open);	/* a CPU that is off */
		free(c);
		s->ncpus--;
		return 0;
	}
	if (!rc && c->open.page)
		perf_ring_init(&c->ring, c->open.page, c->open.data, c->open.size);
	return rc ? rc : c->open.page ? 0 : -ESRCH;
}

/* Opens the events of all CPUs, which run from then on. */
static int open_all(struct pr *s, int32_t pid)
{
	static const int32_t all = -1;
	struct perf_open o = options(s);
	long conf = sysconf(_SC_NPROCESSORS_CONF);
	int32_t *tids = pid ? malloc(TASKS * sizeof(*tids)) : NULL;
	size_t n = 0;
	int rc = pid && !tids ? -ENOMEM : 0;

	close_cpus(s);
	perf_open_limits();
	if (!rc && pid)
		rc = list_tids(s, pid, tids, &n);
	for (int i = 0; i < conf && !rc; i++)
		rc = open_cpu(s, &o, i, pid ? tids : &all, pid ? n : 1);
	free(tids);
	return rc || s->ncpus ? rc : -ENODEV;
}

static void each_event(struct pr *s, unsigned long request)
{
	for (size_t i = 0; i < s->fds.n; i++)
		ioctl(((int *)s->fds.v)[i], request, 0);
	for (unsigned i = 0; i < s->ncpus; i++)
		for (size_t k = 0; k < s->cpus[i]->open.nfds; k++)
			ioctl(s->cpus[i]->open.fds[k], request, 0);
}

/* Rings that run over themselves: nothing is written while they are read. */
static void pause_rings(struct pr *s, bool pause)
{
	for (unsigned i = 0; i < s->ncpus; i++)
		ioctl(s->cpus[i]->open.fds[0], PERF_EVENT_IOC_PAUSE_OUTPUT, pause);
}

/*
 * After a snapshot events go on as they are, with those that children inherited; what rings still
 * hold is older than the begin, and not told again.
 */
static int pr_start(struct kprov *p, int32_t pid)
{
	struct pr *s = pr_of(p);
	bool again = s->want->overwrite && s->ncpus;
	struct perf_told t = told(s);
	int rc;

	p->sum = (struct kprov_sum){ 0 };
	p->inside = pid != 0;
	s->stopped = s->ended = false;
	if (s->have_side)
		hwside_free(&s->side);
	rc = hwside_init(&s->side, &(struct time_map){ 0 }, &t);
	s->have_side = !rc;
	if (!rc && again) {
		for (unsigned i = 0; i < s->ncpus; i++) {
			perf_ring_free(&s->cpus[i]->ring);
			s->cpus[i]->last = 0;
		}
		pause_rings(s, false);
		each_event(s, PERF_EVENT_IOC_ENABLE);
	} else if (!rc) {
		rc = open_all(s, pid);
	}
	if (rc)
		return s->want->diag->text[0] ? rc : failed(s, rc, "start");
	s->begin = now_ns(CLOCK_MONOTONIC);
	s->end = UINT64_MAX;
	return tracepoint_tasks(s->points) ? no_memory(s) : 0;
}

static int pr_stop(struct kprov *p)
{
	struct pr *s = pr_of(p);
	int rc = 0;

	s->end = now_ns(CLOCK_MONOTONIC);
	each_event(s, PERF_EVENT_IOC_DISABLE);
	s->stopped = true;
	if (!s->want->overwrite)
		return 0;
	pause_rings(s, true);
	for (unsigned i = 0; i < s->ncpus && !rc; i++)
		rc = perf_ring_back(&s->cpus[i]->ring);
	/* what the first records would tell of tasks may be gone */
	return rc || tracepoint_tasks(s->points) ? no_memory(s) : 0;
}

static int pr_describe(struct kprov *p, struct native_writer *w)
{
	struct native_clock clock = { .counter = p->counter, .base = "CLOCK_MONOTONIC",
		.frequency = p->frequency, .wall = pr_of(p)->wall };

	return native_clock(w, &clock);
}

static void pr_close(struct kprov *p)
{
	struct pr *s = pr_of(p);

	close_cpus(s);
	free(s->fds.v);
	if (s->have_side)
		hwside_free(&s->side);
	tracepoint_free(s->points);
	free(s);
}

/* --- what it can tell --- */

bool pring_tells(unsigned id)
{
	static const uint16_t v[] = { HWT_ID_sched_switch, HWT_ID_sched_fork, HWT_ID_sched_exec,
		HWT_ID_sched_comm, HWT_ID_sched_exit, HWT_ID_mm_map, HWT_ID_stream_lost };

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (v[i] == id)
			return true;
	return false;
}

static int lacks(struct pr *s)
{
	bool any = s->want->beside;
	char left[160] = "";
	unsigned id;
	size_t k = 0;

	for (unsigned i = 0; (id = hwt_filter_event(s->want->events, i)); i++) {
		if (id >= HWT_ID_DIRTY || id == HWT_ID_clock_sync)
			continue;
		if (tracepoint_tells(s->points, id) || pring_tells(id))
			any |= id != HWT_ID_stream_lost;
		else if (k < sizeof(left))
			k += (size_t)snprintf(left + k, sizeof(left) - k, " %s",
					      hwt_abi_event_by_id(id)->name);
	}
	if (!any)
		return diag_set(s->want->diag, -EOPNOTSUPP, 183, NULL, HWT_NO_OFF,
				"perf can not tell any of it to this user:%s", left);
	if (*left)
		kprov_note(s->want, 183, "perf can not tell this user:%s%s", left,
			   k >= sizeof(left) ? "..." : "");
	return 0;
}

int pring_try(bool all, struct hwt_diag *diag)
{
	struct perf_open o = { .type = PERF_TYPE_SOFTWARE, .monotonic = true,
		.event = { .config = { PERF_COUNT_SW_DUMMY }, .user = true } };
	int rc = perf_open_try(&o, all ? -1 : 0, all ? 0 : -1);

	return rc >= 0 ? 0 : diag_set(diag, rc, 189, NULL, HWT_NO_OFF, "perf: %s: %s", all ?
				      "events of the machine" : "events", strerror(-rc));
}

int pring_new(struct kprov **out, const struct kprov_want *want)
{
	static const struct kprov_ops ops = { .start = pr_start, .describe = pr_describe,
		.pump = pr_pump, .stop = pr_stop, .close = pr_close,
		.lacks = "no hit counts, and times of CLOCK_MONOTONIC, so nothing can be put to "
			"a trace; of a process what happens while it runs" };
	const char *root = tracefs_root();
	struct pr *s;
	int rc;

	rc = pring_try(want->all, want->diag);
	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag_set(want->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	s->want = want;
	s->p = (struct kprov){ .ops = &ops, .fd = -1, .counter = "monotonic",
		.frequency = 1000000000 };
	s->wall = (int64_t)(now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC));
	rc = tracepoint_new(&s->points, root ? root : "/nonexistent", want);
	if (!rc)
		rc = tracepoint_keep(s->points, may, s);
	rc = rc ? no_memory(s) : lacks(s);
	if (rc) {
		pr_close(&s->p);
		return rc;
	}
	*out = &s->p;
	return 0;
}
