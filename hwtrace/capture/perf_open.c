/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hwside.h"

#define LEAST_AUX	(64u << 10)	/* bytes: less is lost before it can be read */
#define SIZE_CONFIG3	136		/* bytes of perf_event_attr that has config3 */

/* Headers of older kernels end before config3. */
union attr { struct perf_event_attr a; uint8_t bytes[SIZE_CONFIG3 + 64]; };

static int sys_open(union attr *u, int32_t pid, int32_t cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, &u->a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void set_clock(struct perf_event_attr *a, const struct perf_open *o)
{
	a->use_clockid = o->monotonic;
	a->clockid = o->monotonic ? CLOCK_MONOTONIC : 0;
}

static void trace_attr(union attr *u, const struct perf_open *o)
{
	struct perf_event_attr *a = &u->a;

	memset(u, 0, sizeof(*u));
	a->size = sizeof(*a);
	a->type = o->type;
	a->config = o->event.config[0];
	a->config1 = o->event.config[1];
	a->config2 = o->event.config[2];
	if (o->event.config[3]) {
		memcpy(u->bytes + SIZE_CONFIG3 - 8, &o->event.config[3], 8);
		a->size = sizeof(*a) > SIZE_CONFIG3 ? sizeof(*a) : SIZE_CONFIG3;
	}
	a->sample_period = 1;
	a->sample_type = HWSIDE_SAMPLE;
	a->sample_id_all = 1;
	set_clock(a, o);
	a->disabled = 1;
	a->inherit = o->inherit;
	a->enable_on_exec = o->on_exec;
	a->exclude_kernel = !o->event.kernel;
	a->exclude_user = !o->event.user;
	a->exclude_hv = !o->event.kernel || !o->event.user;
	a->exclude_guest = 1;
	/* a quarter of the ring, so that the reader has time for the rest; not where none reads */
	a->aux_watermark = o->snapshot ? 0 : (uint32_t)(o->aux_bytes / 4);
	a->watermark = 1;
	a->wakeup_watermark = (uint32_t)(o->data_bytes / 4);
	a->write_backward = o->backward;
}

/* A software event that never counts, for the records. */
static void side_attr(union attr *u, const struct perf_open *o, unsigned less)
{
	struct perf_event_attr *a = &u->a;

	memset(u, 0, sizeof(*u));
	a->size = sizeof(*a);
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_DUMMY;
	a->sample_period = 1;
	a->sample_type = HWSIDE_SAMPLE;
	a->sample_id_all = 1;
	a->exclude_kernel = 1;
	a->inherit = o->inherit;
	a->mmap = a->mmap2 = 1;		/* only the module tells of maps, too: the same facts */
	set_clock(a, o);
	a->comm = !o->told.comm || !o->told.exec;
	a->comm_exec = a->comm && less < 3;
	a->task = !o->told.fork || !o->told.exit;
	a->context_switch = !o->told.sched_switch;
	/* code of the kernel that changes: Linux 5.1, 5.9 */
	a->ksymbol = o->event.kernel && less < 2;
	a->text_poke = o->event.kernel && less < 1;
	a->watermark = 1;
	a->wakeup_watermark = (uint32_t)(o->data_bytes / 4);
	a->write_backward = o->backward;
}

/* What an older kernel does not know is left out. */
static int open_side(const struct perf_open *o, int32_t tid, int32_t cpu)
{
	union attr u;
	int fd = -EINVAL;

	for (unsigned less = 0; less < 4 && fd == -EINVAL; less++) {
		side_attr(&u, o, less);
		fd = sys_open(&u, tid, cpu);
	}
	return fd;
}

int perf_open_try(const struct perf_open *o, int32_t pid, int32_t cpu)
{
	union attr u;
	int fd;

	trace_attr(&u, o);
	u.a.enable_on_exec = 0;
	fd = sys_open(&u, pid, cpu);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int map_aux(struct perf_cpu *c, struct perf_open *o, int fd, uint64_t page)
{
	void *p;

	c->page->aux_offset = page + o->data_bytes;
	for (;;) {
		c->page->aux_size = o->aux_bytes;
		/* the kernel takes a ring that nobody can give back for one that runs over */
		p = mmap(NULL, (size_t)o->aux_bytes, PROT_READ | (o->snapshot ? 0 : PROT_WRITE),
			 MAP_SHARED, fd, (off_t)c->page->aux_offset);
		if (p != MAP_FAILED)
			break;
		if (errno != EPERM && errno != ENOMEM)
			return -errno;
		/* also what the driver says where no path leads to a sink */
		if (o->aux_bytes <= LEAST_AUX)
			return errno == ENOMEM ? -ENXIO : -errno;
		o->aux_bytes /= 2;
	}
	c->aux = p;
	c->aux_size = o->aux_bytes;
	return 0;
}

static int map_rings(struct perf_cpu *c, struct perf_open *o, int fd)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	void *p = MAP_FAILED;

	for (;;) {
		/* as with trace below */
		p = mmap(NULL, (size_t)(page + o->data_bytes),
			 PROT_READ | (o->backward ? 0 : PROT_WRITE), MAP_SHARED, fd, 0);
		if (p != MAP_FAILED)
			break;
		if ((errno != EPERM && errno != ENOMEM) || o->data_bytes <= 4 * page)
			return -errno;
		o->data_bytes /= 2;
	}
	c->page = p;
	c->data = (const uint8_t *)p + page;
	c->size = o->data_bytes;
	return o->aux_bytes ? map_aux(c, o, fd, page) : 0;
}

static int room(struct perf_cpu *c)
{
	size_t cap = c->cap ? 2 * c->cap : 8;
	int *v, *t;

	if (c->nfds + 2 <= c->cap)
		return 0;
	v = realloc(c->fds, cap * sizeof(*v));
	if (v)
		c->fds = v;
	t = v ? realloc(c->traces, cap * sizeof(*t)) : NULL;
	if (!t)
		return -ENOMEM;
	c->traces = t;
	c->cap = cap;
	return 0;
}

int perf_open_task(struct perf_cpu *c, struct perf_open *o, int32_t tid)
{
	union attr u;
	int fd, side, rc = room(c);

	if (rc)
		return rc;
	trace_attr(&u, o);
	fd = sys_open(&u, tid, c->cpu);
	if (fd < 0)
		return fd;
	if (!c->page)
		rc = map_rings(c, o, fd);
	else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c->fds[0]))
		rc = -errno;
	c->traces[c->ntraces++] = fd;
	c->fds[c->nfds++] = fd;
	if (rc)
		return rc;
	side = open_side(o, tid, c->cpu);
	if (side < 0)
		return side;
	c->fds[c->nfds++] = side;
	return ioctl(side, PERF_EVENT_IOC_SET_OUTPUT, c->fds[0]) ? -errno : 0;
}

int perf_open_each(const struct perf_cpu *c, unsigned long request, const void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < c->ntraces; i++)
		if (ioctl(c->traces[i], request, arg) && !rc)
			rc = -errno;
	return rc;
}

void perf_open_close(struct perf_cpu *c)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (c->aux)
		munmap((void *)c->aux, (size_t)c->aux_size);
	if (c->page)
		munmap(c->page, page + (size_t)c->size);
	/* the first one is that whose rings the others write to */
	while (c->nfds)
		close(c->fds[--c->nfds]);
	free(c->fds);
	free(c->traces);
	*c = (struct perf_cpu){ .cpu = c->cpu };
}

static bool read_clock(const struct perf_event_mmap_page *page, struct time_map *map)
{
	uint32_t seq;
	bool told;

	/* the kernel counts @lock before and after it writes; odd: it is writing */
	do {
		seq = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		*map = (struct time_map){ .zero = page->time_zero, .mult = page->time_mult,
			.shift = page->time_shift, .cap_short = page->cap_user_time_short,
			.cycles = page->time_cycles, .mask = page->time_mask };
		told = page->cap_user_time_zero;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != seq || seq & 1);
	return told && map->mult && map->shift < 64;
}

bool perf_open_clock(struct time_map *map)
{
	struct perf_open o = { .data_bytes = 4096 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *p;
	int fd = open_side(&o, 0, -1);
	bool told = false;

	if (fd < 0)
		return false;
	p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		told = read_clock(p, map);
		munmap(p, 2 * page);
	}
	close(fd);
	return told;
}

void perf_open_limits(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}
