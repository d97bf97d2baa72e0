/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's perf drives the trace units. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <hwtrace/abi.h>

#include "../base/diag.h"
#include "../base/text.h"
#include "addr_filter.h"
#include "hwprov.h"
#include "hwhold.h"
#include "hwtake.h"
#include "hwunit.h"
#include "native.h"
#include "perf_open.h"
#include "ticks.h"

#define DATA_BYTES	(512u << 10)	/* of records, of each CPU */
#define AUX_BYTES	(4u << 20)	/* of trace */
#define CPUS		4096
#define TASKS		4096		/* threads of a process that is attached to */
#define ROUNDS		16		/* looks for threads that came meanwhile */
#define FILTERS		8
#define CPUINFO		8192

struct hwperf {
	struct kprov p;
	const struct hw_want *want;
	struct pmu pmu;
	struct perf_open open;
	struct hwunit unit;
	struct time_map map;		/* to perf's clock, or if @fit to CLOCK_MONOTONIC */
	bool fit;
	struct hwtake *take;		/* NULL: nothing is open yet */
	struct perf_cpu *cpus;
	unsigned ncpus;
	char *filter;			/* for the kernel, "" if none */
	bool stopped, ended;
};

static struct hwperf *of(struct kprov *p)
{
	return hwt_container_of(p, struct hwperf, p);
}

static int no_memory(struct hwperf *h)
{
	return diag_set(h->want->k->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
}

static int paranoid(void)
{
	char text[16];
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? atoi(text) : 4;
}

/* What is in the way, by what the system says. */
static int refused(struct hwperf *h, int rc)
{
	struct hwt_diag *d = h->want->k->diag;
	const char *unit = h->pmu.name;
	char who[160];

	switch (-rc) {
	case EACCES: case EPERM:
		return diag_set(d, rc, 185, NULL, HWT_NO_OFF, "%s: perf does not permit it to this "
				"user (perf_event_paranoid is %d): record own programs and user "
				"code only (u), or be root", unit, paranoid());
	case EBUSY:
		hwhold_perf(opendir("/proc"), who, sizeof(who));
		return diag_set(d, rc, 185, NULL, HWT_NO_OFF,
				"%s: another user has the trace unit%s%s", unit,
				*who ? ": " : "", who);
	case ENODEV: case ENOENT: case EOPNOTSUPP: case ENXIO:
		return diag_set(d, rc, 185, NULL, HWT_NO_OFF,
				"%s: perf's driver has no such unit for the CPU: %s", unit,
				strerror(-rc));
	case EINVAL:
		return diag_set(d, rc, 186, NULL, HWT_NO_OFF,
				"%s: perf's driver does not take these options: %s", unit,
				h->want->event);
	case EMFILE: case ENFILE:
		return diag_set(d, rc, 185, NULL, HWT_NO_OFF, "%s: it takes a file for each thread "
				"and CPU, and there may be no more of them (ulimit -n)", unit);
	}
	return diag_set(d, rc, 185, NULL, HWT_NO_OFF, "%s: perf_event_open: %s", unit,
			strerror(-rc));
}

/* Are all records of the event asked for by -k? */
static bool wanted(const struct kprov_want *k, unsigned id)
{
	struct hwt_bpf_insn v[64];
	struct hwt_diag d;
	unsigned e;

	for (unsigned i = 0; k->events && (e = hwt_filter_event(k->events, i)); i++) {
		int n = e == id ? hwt_filter_bpf(kprov_condition(k, id), id, v, 64, &d) : 0;

		if (e == id)
			return n > 0 && kprov_returns(v);
	}
	return false;
}

static void set_told(struct hwperf *h)
{
	const struct kprov_want *k = h->want->k;

	h->open.told = (struct perf_told){
		.sched_switch = wanted(k, HWT_ID_sched_switch),
		.fork = wanted(k, HWT_ID_sched_fork), .exec = wanted(k, HWT_ID_sched_exec),
		.comm = wanted(k, HWT_ID_sched_comm), .exit = wanted(k, HWT_ID_sched_exit) };
}

static uint64_t power_of_two(uint64_t v)
{
	uint64_t p = 4096;

	while (p < v && p < 1ull << 40)
		p *= 2;
	return p;
}

/* "0-3,8" to numbers; how many. */
static unsigned online(int32_t *out, unsigned max)
{
	char text[4096];
	int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	unsigned k = 0;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	for (char *s = text; *s >= '0' && *s <= '9';) {
		unsigned long a = strtoul(s, &s, 10), b = a;

		if (*s == '-')
			b = strtoul(s + 1, &s, 10);
		for (; a <= b && k < max; a++)
			out[k++] = (int32_t)a;
		s += *s == ',';
	}
	return k;
}

/* --- what the trace is given to --- */

static int add_buf(void *arg, struct native_writer *w, int32_t cpu, bool raw)
{
	struct hwperf *h = arg;
	const struct trace_cfg *of = hwunit_of(&h->unit, cpu);
	struct trace_cfg one;
	char name[24];

	snprintf(name, sizeof(name), "cpu %" PRId32, cpu);
	if (h->unit.coresight && !raw)
		return native_add_buf(w, name, cpu, HWT_NONE, HWT_NONE, FRAMING_MEM, h->unit.cfgs,
				      h->unit.n < 112 ? h->unit.n : 112);
	if (!of)
		return native_add_buf(w, name, cpu, HWT_NONE, HWT_NONE, FRAMING_NONE, NULL, 0);
	one = *of;
	one.cpu = cpu;
	return native_add_buf(w, name, cpu, HWT_NONE, HWT_NONE, FRAMING_NONE, &one, 1);
}

static void set_id(void *arg, int32_t cpu, uint64_t id)
{
	struct hwperf *h = arg;

	hwunit_id(&h->unit, cpu, id);
}

static void restart(void *arg, int32_t cpu)
{
	struct hwperf *h = arg;

	for (unsigned i = 0; i < h->ncpus && !h->stopped; i++)
		if (h->cpus[i].cpu == cpu)
			perf_open_each(&h->cpus[i], PERF_EVENT_IOC_ENABLE, NULL);
}

/* --- opening --- */

static bool has(const int32_t *v, size_t n, int32_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return false;
}

/* Threads of @pid that are not in @v yet. */
static size_t new_threads(int32_t pid, int32_t *v, size_t n)
{
	char path[48];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/task", pid);
	dir = opendir(path);
	while (dir && n < TASKS && (d = readdir(dir))) {
		int32_t tid = (int32_t)strtol(d->d_name, NULL, 10);

		if (tid > 0 && !has(v, n, tid))
			v[n++] = tid;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* What runs on such a CPU is not in the trace, so it is said. */
static void leave_cpu(struct hwperf *h, unsigned i)
{
	kprov_note(h->want->k, 185, "%s: CPU %" PRId32 " is not traced: no ring for it, or no way "
		   "from its unit to the sink", h->pmu.name, h->cpus[i].cpu);
	perf_open_close(&h->cpus[i]);
	h->ncpus--;
	memmove(&h->cpus[i], &h->cpus[i + 1], (h->ncpus - i) * sizeof(*h->cpus));
}

static int open_task(struct hwperf *h, int32_t tid)
{
	const uint64_t aux = h->open.aux_bytes;

	for (unsigned i = 0; i < h->ncpus;) {
		bool first = !h->cpus[i].page;
		int rc = perf_open_task(&h->cpus[i], &h->open, tid);

		if (rc == -ESRCH && tid > 0)
			return 0;
		if (rc == -ENXIO && first && h->ncpus > 1) {
			h->open.aux_bytes = aux;
			leave_cpu(h, i);
			continue;
		}
		i++;
		if (rc == -ENOMEM)
			return no_memory(h);
		if (rc)
			return refused(h, rc);
	}
	return 0;
}

/* Threads that are begun while the others are opened are children of such, or are seen later. */
static int open_process(struct hwperf *h, int32_t pid)
{
	int32_t *v = malloc(TASKS * sizeof(*v));
	size_t n = 0, done = 0;
	int rc = v ? 0 : no_memory(h);

	for (unsigned round = 0; !rc && round < ROUNDS; round++) {
		n = new_threads(pid, v, n);
		if (n == done)
			break;
		for (; !rc && done < n; done++)
			rc = open_task(h, v[done]);
	}
	free(v);
	if (!rc && n == TASKS)
		kprov_note(h->want->k, 185, "%s: of process %" PRId32 " only %u threads are traced",
			   h->pmu.name, pid, TASKS);
	if (!rc && !h->cpus[0].page)
		rc = diag_set(h->want->k->diag, -ESRCH, 174, NULL, HWT_NO_OFF,
			      "there is no process %" PRId32, pid);
	return rc;
}

static int set_filters(struct hwperf *h)
{
	int rc = 0;

	for (unsigned i = 0; *h->filter && !rc && i < h->ncpus; i++)
		rc = perf_open_each(&h->cpus[i], PERF_EVENT_IOC_SET_FILTER, h->filter);
	return rc ? diag_set(h->want->k->diag, rc, 187, NULL, HWT_NO_OFF,
			     "%s does not take the address filters: %s", h->pmu.name,
			     strerror(-rc)) : 0;
}

static int open_rings(struct hwperf *h)
{
	struct hwtake_opts o = { .map = h->map, .told = h->open.told,
		.coresight = h->unit.coresight, .all = h->want->k->all,
		.overwrite = h->open.snapshot, .clock = true, .fit = h->fit,
		.units = { add_buf, set_id, restart, h } };
	int rc = hwtake_new(&h->take, &o) ? no_memory(h) : 0;

	h->p.fd = epoll_create1(EPOLL_CLOEXEC);
	for (unsigned i = 0; !rc && i < h->ncpus; i++) {
		struct perf_cpu *c = &h->cpus[i];
		struct epoll_event ev = { .events = EPOLLIN };

		if (!c->page)
			continue;
		rc = hwtake_add(h->take, c->cpu, c->page, c->data, c->size, c->aux, c->aux_size) ?
			no_memory(h) : 0;
		if (h->p.fd >= 0)
			epoll_ctl(h->p.fd, EPOLL_CTL_ADD, c->fds[0], &ev);
	}
	return rc;
}

static int open_all(struct hwperf *h, int32_t pid)
{
	uint64_t asked = h->open.aux_bytes;
	int rc;

	perf_open_limits();
	h->open.inherit = pid != 0;
	/* of all tasks nobody executes: it is on from the start */
	h->open.on_exec = h->want->on_exec && pid;
	rc = pid ? open_process(h, pid) : open_task(h, -1);
	if (!rc)
		rc = set_filters(h);
	if (!rc)
		rc = open_rings(h);
	if (!rc && h->open.aux_bytes < asked)
		kprov_note(h->want->k, 188, "%s: %" PRIu64 " KiB for the trace of a CPU, not the %"
			   PRIu64 " asked for: this user may not lock more "
			   "(perf_event_mlock_kb)", h->pmu.name, h->open.aux_bytes >> 10,
			   asked >> 10);
	return rc;
}

/* --- a recording --- */

static int hw_start(struct kprov *p, int32_t pid)
{
	struct hwperf *h = of(p);
	bool first = !h->take;
	int rc = first ? open_all(h, pid) : 0;

	p->sum = (struct kprov_sum){ 0 };
	h->stopped = h->ended = false;
	if (rc)
		return rc;
	if (!first)
		hwtake_begin(h->take);
	for (unsigned i = 0; !rc && i < h->ncpus && !(first && h->open.on_exec); i++)
		rc = perf_open_each(&h->cpus[i], PERF_EVENT_IOC_ENABLE, NULL);
	return rc ? refused(h, rc) : 0;
}

static int hw_describe(struct kprov *p, struct native_writer *w)
{
	struct hwperf *h = of(p);
	struct native_clock clock = { .counter = TICKS_COUNTER, .base = h->fit ?
		"CLOCK_MONOTONIC" : "perf clock", .from_records = h->fit };
	struct timespec t;
	int rc;

	clock.frequency = (uint64_t)(((unsigned __int128)1000000000 << h->map.shift) /
				     h->map.mult);
	clock_gettime(CLOCK_REALTIME, &t);
	clock.wall = (int64_t)((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec -
			       time_map_ns(&h->map, step_ticks()));
	if (!h->fit)
		clock.map = h->map;
	rc = native_clock(w, &clock);
	if (!rc)
		rc = native_set(w, "capture", "trace", "%s", h->want->event);
	if (!rc)
		rc = native_set(w, "capture", "trace_by", "perf%s", h->open.snapshot ?
				", snapshot" : "");
	if (!rc && *h->filter)
		rc = native_set(w, "capture", "trace_filter", "%s", h->filter);
	return rc;
}

static void tell_losses(struct hwperf *h)
{
	struct hwtake_sum s = hwtake_sum(h->take);

	h->p.sum.lost = s.records_lost;
	if (s.lost_places)
		kprov_note(h->want->k, 188, "trace is missing in %" PRIu64 " place%s: the buffer "
			   "was full %" PRIu64 " time%s, %" PRIu64 " time%s the unit was used by "
			   "another", s.lost_places, text_s(s.lost_places), s.truncated,
			   text_s(s.truncated), s.collisions, text_s(s.collisions));
}

static int hw_pump(struct kprov *p, struct native_writer *w)
{
	struct hwperf *h = of(p);
	int rc;

	if (h->ended)
		return 1;
	rc = h->stopped && w ? hwtake_end(h->take, w) : hwtake_pump(h->take, w);
	h->p.sum.events = hwtake_sum(h->take).trace;
	if (!rc && h->stopped && w) {
		h->ended = true;
		tell_losses(h);
	}
	return rc ? rc : h->ended;
}

static int hw_stop(struct kprov *p)
{
	struct hwperf *h = of(p);

	for (unsigned i = 0; i < h->ncpus; i++)
		perf_open_each(&h->cpus[i], PERF_EVENT_IOC_DISABLE, NULL);
	h->stopped = true;
	return 0;
}

static void hw_close(struct kprov *p)
{
	struct hwperf *h = of(p);

	hwtake_free(h->take);
	for (unsigned i = 0; i < h->ncpus; i++)
		perf_open_close(&h->cpus[i]);
	if (h->p.fd >= 0)
		close(h->p.fd);
	hwunit_free(&h->unit);
	free(h->cpus);
	free(h->filter);
	free(h);
}

/* --- looking whether it can be --- */

static int make_filter(struct hwperf *h)
{
	const size_t size = FILTERS * (size_t)ADDR_FILTER_TEXT;
	size_t n = 0;
	int rc = 0;

	h->filter = calloc(1, size);
	if (!h->filter)
		return no_memory(h);
	if (h->want->nfilters > FILTERS)
		return diag_set(h->want->k->diag, -E2BIG, 187, NULL, HWT_NO_OFF,
				"%zu address filters, at most %u are taken", h->want->nfilters,
				FILTERS);
	for (size_t i = 0; !rc && i < h->want->nfilters; i++) {
		if (i)
			h->filter[n++] = ',';
		rc = addr_filter(h->want->filters[i], "/proc/kallsyms", h->filter + n, size - n,
				 h->want->k->diag);
		n += strlen(h->filter + n);
	}
	return rc;
}

/*
 * Virtual machines have clocks that do not follow from the counter, and say so: then times are
 * those of a clock that we can read beside the counter.
 */
static void find_clock(struct hwperf *h)
{
	struct ticks_clock c;

	if (perf_open_clock(&h->map))
		return;
	ticks_measure(&c);
	h->map = c.map;
	h->fit = h->open.monotonic = true;
}

/*
 * Ranges of the kernel's code that alone are traced: a decoder takes what lies outside for a
 * contradiction. Those of files have addresses only where they are mapped.
 */
static void tell_ranges(struct hwperf *h)
{
	struct trace_cfg *g = &h->unit.cfgs[0];

	if (h->unit.coresight)
		return;
	for (const char *s = h->filter, *next; *s; s = next) {
		bool stop = !strncmp(s, "tracestop ", 10);
		size_t n = strcspn(s, ",");
		uint64_t at, size;
		char *end;

		next = s + n + (s[n] == ',');
		if ((!stop && strncmp(s, "filter ", 7)) || memchr(s, '@', n) ||
		    g->r.pt.nfilter == 4)
			continue;
		at = strtoull(s + strcspn(s, " "), &end, 0);
		size = *end == '/' ? strtoull(end + 1, NULL, 0) : 0;
		if (!size)
			continue;
		g->r.pt.filter[g->r.pt.nfilter][0] = at;
		g->r.pt.filter[g->r.pt.nfilter][1] = at + size - 1;
		g->r.pt.filter_stop |= (uint8_t)(stop << g->r.pt.nfilter++);
	}
}

/* Asks the system once, before anything is begun. */
static int try_it(struct hwperf *h)
{
	int32_t pid = h->want->k->all ? -1 : 0, cpu = h->cpus[0].cpu;
	int rc = perf_open_try(&h->open, pid, cpu);

	if (rc == -EACCES && h->open.event.kernel && h->open.event.user && pid == 0) {
		h->open.event.kernel = false;
		rc = perf_open_try(&h->open, pid, cpu);
		if (!rc)
			kprov_note(h->want->k, 185, "%s: without the kernel's side, which this "
				   "user may not record (perf_event_paranoid is %d)", h->pmu.name,
				   paranoid());
	}
	if (rc)
		return refused(h, rc);
	find_clock(h);
	return 0;
}

static int make_cpus(struct hwperf *h)
{
	int32_t v[CPUS];
	unsigned n = online(v, CPUS);

	h->cpus = calloc(n ? n : 1, sizeof(*h->cpus));
	if (!h->cpus)
		return no_memory(h);
	for (unsigned i = 0; i < n; i++)
		if (hwunit_of(&h->unit, v[i]))
			h->cpus[h->ncpus++].cpu = v[i];
	return h->ncpus ? 0 : diag_set(h->want->k->diag, -ENODEV, 185, NULL, HWT_NO_OFF,
				       "%s: no CPU that is online has one", h->pmu.name);
}

static int read_unit(struct hwperf *h)
{
	char cpuinfo[CPUINFO], name[64];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, cpuinfo, sizeof(cpuinfo) - 1);
	int rc;

	if (fd >= 0)
		close(fd);
	cpuinfo[n > 0 ? n : 0] = 0;
	pmu_name(h->want->event, name, sizeof(name));
	rc = pmu_read(&h->pmu, PMU_DEVICES, name, h->want->k->diag);
	if (!rc)
		rc = pmu_event(&h->open.event, &h->pmu, h->want->event, h->want->k->diag);
	if (!rc)
		rc = hwunit_read(&h->unit, &h->pmu, &h->open.event, cpuinfo, h->want->k->diag);
	h->open.type = h->pmu.type;
	return rc;
}

int hwperf_new(struct kprov **out, const struct hw_want *want)
{
	static const struct kprov_ops ops = { .start = hw_start, .describe = hw_describe,
		.pump = hw_pump, .stop = hw_stop, .close = hw_close };
	struct hwperf *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return diag_set(want->k->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	h->want = want;
	h->p = (struct kprov){ .ops = &ops, .fd = -1 };
	h->open.snapshot = want->k->overwrite;
	h->open.data_bytes = DATA_BYTES;
	h->open.aux_bytes = power_of_two(want->bytes ? want->bytes : AUX_BYTES);
	set_told(h);
	rc = read_unit(h);
	if (!rc)
		rc = make_filter(h);
	if (!rc)
		tell_ranges(h);
	if (!rc)
		rc = make_cpus(h);
	if (!rc)
		rc = try_it(h);
	if (rc) {
		hw_close(&h->p);
		return rc;
	}
	*out = &h->p;
	return 0;
}
