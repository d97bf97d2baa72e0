/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace units of a session: refused where there are none, or those of sim/. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hwtrace/capture/hwprov.h"
#include "hwtrace/capture/native.h"

#include "cases.h"
#include "client.h"

#define BYTES	(128u << 10)
#define CPUS	2	/* at most */
#define PARAM	"/sys/module/hwtrace/parameters/"

static const uint16_t calls[] = { HWT_ID_sched_switch };
static const struct client_opts opts = { .ids = calls, .nids = 1, .sub_size = 4096, .subs = 4 };

static unsigned cpus;

static struct hwt_kmod_unit usual(void)
{
	return (struct hwt_kmod_unit){ .size = sizeof(struct hwt_kmod_unit), .kind = HWT_KMOD_PT,
		.bytes = BYTES, .pt.bits = HWT_KMOD_PT_OS | HWT_KMOD_PT_USER |
		HWT_KMOD_PT_BRANCH | HWT_KMOD_PT_TSC };
}

static void open_it(struct client *c)
{
	int rc = client_open(c, &opts);

	if (rc)
		client_fail("a session: %s", strerror(-rc));
}

static void no(struct client *c, struct hwt_kmod_unit u, int error, const char *why)
{
	int rc = ioctl(c->fd, HWT_KMOD_UNIT, &u) ? errno : 0;

	if (rc != error || !strstr(u.why, why))
		client_fail("%s, not %s: %s", strerror(rc), strerror(error), u.why);
}

static int param(const char *name)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), PARAM "%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		return -1;
	close(fd);
	return atoi(text);
}

static void set(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		client_fail("%s: %s", path, strerror(errno));
	close(fd);
}

/* What is wrong whatever the machine has. */
static void wrong(struct client *c)
{
	struct hwt_kmod_trace t = { .size = sizeof(t) };
	struct hwt_kmod_unit u = usual();

	if (!ioctl(c->fd, HWT_KMOD_TRACE, &t) || errno != EINVAL)
		client_fail("trace of no unit");
	if (!ioctl(c->fd, HWT_KMOD_TRACE_READ, &t) || errno != EINVAL)
		client_fail("trace of no unit is read");
	if (mmap(NULL, BYTES, PROT_READ, MAP_SHARED, c->fd, (off_t)HWT_KMOD_TRACE_AT) !=
	    MAP_FAILED)
		client_fail("a map of no unit");
	u.kind = 77;
	no(c, u, EOPNOTSUPP, "not known");
	u = usual();
	u.bytes = 3 << 16;
	no(c, u, EINVAL, "a power of two");
	u.bytes = 32768;
	no(c, u, EINVAL, "a power of two");
	u = usual();
	u.flags = 128;
	no(c, u, EINVAL, "not known");
}

/* This machine has no trace unit: that is said, and nothing else happens. */
void case_unit(void)
{
	struct hwt_kmod_unit u = usual();
	struct client c;

	open_it(&c);
	wrong(&c);
#if defined(__x86_64__)
	no(&c, u, ENODEV, "the hypervisor does not show Intel PT");
#else
	no(&c, u, ENODEV, "CPUs of this architecture have no Intel PT");
#endif
	u.kind = HWT_KMOD_CS;
#if defined(__x86_64__)
	no(&c, u, ENODEV, "CPUs of this architecture have no CoreSight");
#else
	no(&c, u, ENODEV, "the device tree tells of no ETMv4");
	u.cs.bits = 1u << 31;
	no(&c, u, EINVAL, "not known");
	u.cs.bits = 0;
	u.cs.nranges = 5;
	no(&c, u, EINVAL, "ranges");
	u.cs.nranges = 0;
	u.flags = HWT_KMOD_UNIT_MARKS;
	no(&c, u, EOPNOTSUPP, "no instruction");
#endif
	u = usual();
	u.flags = HWT_KMOD_UNIT_TRY;
	if (!ioctl(c.fd, HWT_KMOD_UNIT, &u) || errno != ENODEV)
		client_fail("a question is answered with yes");
	if (client_start(&c))
		client_fail("the session does not start without the unit");
	u.flags = 0;
	if (!ioctl(c.fd, HWT_KMOD_UNIT, &u) || errno != EINVAL)
		client_fail("a unit for a session that runs");
	client_finish(&c);
}

/* Who may not record the machine. */
void case_unit_user(void)
{
	static const uint16_t own[] = { HWT_ID_syscall_enter };
	struct client_opts o = opts;
	struct client c;

	o.ids = own;
	if (client_open(&c, &o))
		client_fail("a session of a user");
	no(&c, usual(), EACCES, "CAP_PERFMON");
	close(c.fd);
}

/* Who reads: bytes are 1 to 251 by turns, and a PSB where a unit was started. */
struct reader {
	const uint8_t *map;
	uint64_t at, cuts, bytes, starts;
	unsigned last;		/* 0: any may follow */
};

static bool is_psb(const struct reader *r, uint64_t at, uint64_t n)
{
	for (uint64_t i = 0; i < 16 && i < n; i++)
		if (r->map[(at + i) % BYTES] != (i & 1 ? 0x82 : 2))
			return false;
	return n > 0;
}

static void look(struct reader *r, uint64_t begin, uint64_t end, bool cut)
{
	for (uint64_t i = begin; i < end;) {
		uint8_t b = r->map[i % BYTES];

		if (is_psb(r, i, end - i) && (end - i >= 16 || cut)) {
			i += 16;
			r->starts++;
			continue;
		}
		if (r->last && b != r->last % 251 + 1) {
			client_fail("byte %" PRIu64 ": %u after %u", i, b, r->last);
			return;
		}
		r->last = b;
		i++;
	}
	r->bytes += end - begin;
	if (cut)
		r->last = 0;
}

static struct hwt_kmod_trace ask(struct client *c, unsigned cpu)
{
	struct hwt_kmod_trace t = { .size = sizeof(t), .buffer = cpu };

	if (ioctl(c->fd, HWT_KMOD_TRACE, &t))
		client_fail("trace of %u: %s", cpu, strerror(errno));
	if (t.cpu != (int)cpu || t.end < t.begin || t.end - t.begin > BYTES)
		client_fail("trace of %u: %" PRIu64 " to %" PRIu64, cpu, (uint64_t)t.begin,
			    (uint64_t)t.end);
	return t;
}

/* Once; what is there is looked at, and given back. */
static struct hwt_kmod_trace take(struct client *c, struct reader *r, unsigned cpu)
{
	struct hwt_kmod_trace t = ask(c, cpu);

	if (t.begin != r->at)
		client_fail("trace of %u begins at %" PRIu64 ", %" PRIu64 " were read", cpu,
			    (uint64_t)t.begin, r->at);
	look(r, t.begin, t.end, t.cuts != r->cuts);
	r->cuts = t.cuts;
	r->at = t.begin = t.end;
	if (ioctl(c->fd, HWT_KMOD_TRACE_READ, &t))
		client_fail("trace of %u is not given back: %s", cpu, strerror(errno));
	return t;
}

static void map_all(struct client *c, struct reader *r)
{
	for (unsigned i = 0; i < cpus; i++) {
		off_t at = (off_t)(HWT_KMOD_TRACE_AT + i * BYTES);

		if (mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, at) !=
		    MAP_FAILED)
			client_fail("trace can be written");
		if (mmap(NULL, BYTES / 2, PROT_READ, MAP_SHARED, c->fd, at) != MAP_FAILED)
			client_fail("half a buffer can be mapped");
		r[i] = (struct reader){ .map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, c->fd,
						    at) };
		if (r[i].map == MAP_FAILED)
			client_fail("trace of %u: %s", i, strerror(errno));
	}
}

static void unmap_all(struct reader *r)
{
	for (unsigned i = 0; i < cpus; i++)
		munmap((void *)(uintptr_t)r[i].map, BYTES);
}

static void is_on(int n, const char *when)
{
	if (param("sim_on") != n)
		client_fail("%d units are on %s, not %d", param("sim_on"), when, n);
}

static void refused(struct client *c)
{
	struct hwt_kmod_unit u = usual();

	u.pt.bits |= HWT_KMOD_PT_MTC;
	u.pt.mtc = 4;
	if (!ioctl(c->fd, HWT_KMOD_UNIT, &u) || errno != EINVAL || u.offer != 3 || u.cpu)
		client_fail("MTC at a rate that is none: %s, offer %" PRIu64, u.why,
			    (uint64_t)u.offer);
	u = usual();
	u.pt.nranges = 5;
	no(c, u, EINVAL, "address ranges");
	u = usual();
	u.perf_type = 1;	/* software events */
	no(c, u, EINVAL, "perf_type");
	u = usual();
	u.flags = HWT_KMOD_UNIT_TRY;
	if (ioctl(c->fd, HWT_KMOD_UNIT, &u) || *u.why)
		client_fail("a question: %s, %s", strerror(errno), u.why);
}

/* Another session may not have it meanwhile, and may when this one is gone. */
static void busy(void)
{
	struct client c;

	open_it(&c);
	no(&c, usual(), EBUSY, "another session");
	close(c.fd);
}

static void fills(struct client *c, struct reader *r)
{
	struct hwt_kmod_trace t;
	unsigned n = 0;

	do {
		t = ask(c, 0);
	} while (t.state == HWT_KMOD_TRACE_RUNS && ++n < 1000);
	if (t.state != HWT_KMOD_TRACE_WAITS || t.cuts != r[0].cuts + 1 ||
	    !strstr(t.why, "full"))
		client_fail("a full buffer: state %u, %" PRIu64 " cuts, %s", t.state,
			    (uint64_t)t.cuts, t.why);
	take(c, &r[0], 0);
	t = take(c, &r[0], 0);
	if (t.state != HWT_KMOD_TRACE_RUNS)
		client_fail("it does not go on when there is room");
	t.begin = t.end + 1;
	if (!ioctl(c->fd, HWT_KMOD_TRACE_READ, &t) || errno != EINVAL)
		client_fail("what is not there can be read");
}

static void cpu_goes(struct client *c, struct reader *r)
{
	struct hwt_kmod_trace t;

	for (unsigned i = 0; i < 10; i++) {
		set("/sys/devices/system/cpu/cpu1/online", "0");
		is_on((int)cpus - 1, "when a CPU is off");
		t = take(c, &r[1], 1);
		if (t.state != HWT_KMOD_TRACE_OFF)
			client_fail("state %u of a CPU that is off", t.state);
		set("/sys/devices/system/cpu/cpu1/online", "1");
		is_on((int)cpus, "when it is on again");
		t = take(c, &r[1], 1);
		if (t.state != HWT_KMOD_TRACE_RUNS)
			client_fail("state %u of a CPU that came: %s", t.state, t.why);
	}
}

/* A CPU that was off when the session was opened is looked at when it comes. */
static void late_cpu(void)
{
	struct hwt_kmod_unit u = usual();
	struct reader r[CPUS];
	struct client c;

	set("/sys/devices/system/cpu/cpu1/online", "0");
	open_it(&c);
	if (ioctl(c.fd, HWT_KMOD_UNIT, &u) || client_start(&c))
		client_fail("with a CPU that is off: %s", u.why);
	map_all(&c, r);
	is_on(1, "where a CPU is off from the start");
	set("/sys/devices/system/cpu/cpu1/online", "1");
	is_on(2, "when it comes");
	for (unsigned i = 0; i < 20; i++)
		if (take(&c, &r[1], 1).state != HWT_KMOD_TRACE_RUNS)
			client_fail("a CPU that comes late does not run");
	if (!r[1].bytes)
		client_fail("a CPU that comes late has no trace");
	close(c.fd);
	unmap_all(r);
	is_on(0, "after that");
}

/* Notifiers of suspend run; nothing sleeps for long. */
static void machine_sleeps(struct client *c, struct reader *r)
{
	if (access("/sys/power/pm_test", W_OK)) {
		printf("# this kernel can not try to sleep\n");
		return;
	}
	set("/sys/power/pm_test", "freezer");
	set("/sys/power/state", "freeze");
	is_on((int)cpus, "when the machine is awake again");
	take(c, &r[0], 0);
}

static void run(void)
{
	struct reader r[CPUS];
	struct hwt_kmod_unit u = usual();
	struct hwt_kmod_trace t;
	struct client c;

	open_it(&c);
	wrong(&c);
	refused(&c);
	if (ioctl(c.fd, HWT_KMOD_UNIT, &u))
		client_fail("a unit: %s, %s", strerror(errno), u.why);
	no(&c, usual(), EINVAL, "");
	map_all(&c, r);
	is_on(0, "before the start");
	if (ask(&c, 0).state != HWT_KMOD_TRACE_OFF)
		client_fail("it runs before the start");
	if (client_start(&c))
		client_fail("start");
	is_on((int)cpus, "when it runs");
	busy();
	for (unsigned i = 0; i < 400; i++)
		take(&c, &r[i % cpus], i % cpus);
	fills(&c, r);
	if (cpus > 1)
		cpu_goes(&c, r);
	machine_sleeps(&c, r);
	if (ioctl(c.fd, HWT_KMOD_STOP))
		client_fail("stop");
	is_on(0, "after the stop");
	for (unsigned i = 0; i < cpus; i++) {
		t = take(&c, &r[i], i);
		if (t.state != HWT_KMOD_TRACE_OFF || take(&c, &r[i], i).end != t.end)
			client_fail("it goes on after the stop");
		printf("# CPU %u: %" PRIu64 " bytes, %" PRIu64 " starts, full %" PRIu64
		       " times\n", i, r[i].bytes, r[i].starts, r[i].cuts);
	}
	close(c.fd);
	unmap_all(r);
}

static void newest(void)
{
	struct hwt_kmod_unit u = usual();
	struct reader r[CPUS];
	struct hwt_kmod_trace t;
	struct client c;
	uint64_t at;

	u.flags = HWT_KMOD_UNIT_NEWEST;
	open_it(&c);
	if (ioctl(c.fd, HWT_KMOD_UNIT, &u))
		client_fail("the newest: %s", u.why);
	map_all(&c, r);
	client_start(&c);
	for (unsigned i = 0; i < 100; i++)
		ask(&c, 0);
	ioctl(c.fd, HWT_KMOD_STOP);
	t = ask(&c, 0);
	if (!ioctl(c.fd, HWT_KMOD_TRACE_READ, &t))
		client_fail("the newest can be read away");
	/* the oldest may be the end of a PSB */
	for (at = t.begin; at < t.end && r[0].map[at % BYTES] != 2; at++)
		;
	if (t.end - t.begin != BYTES || t.cuts)
		client_fail("the newest: %" PRIu64 " bytes", (uint64_t)(t.end - t.begin));
	look(&r[0], at, t.end, false);
	close(c.fd);
	unmap_all(r);
}

/* A recorder that is killed leaves nothing on, and memory that is mapped elsewhere stays. */
static void killed(void)
{
	for (unsigned i = 0; i < 5; i++) {
		struct hwt_kmod_unit u = usual();
		int go[2];
		pid_t pid;
		char b;

		if (pipe(go))
			client_fail("pipe");
		pid = fork();
		if (!pid) {
			struct client c;

			open_it(&c);
			if (ioctl(c.fd, HWT_KMOD_UNIT, &u) || client_start(&c))
				client_fail("a recorder to be killed: %s", u.why);
			is_on((int)cpus, "in a recorder to be killed");
			if (write(go[1], "", 1) != 1)
				_exit(1);
			for (;;)
				ask(&c, i % cpus);
		}
		if (read(go[0], &b, 1) != 1)
			client_fail("a recorder to be killed does not begin");
		usleep(1000 * i);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		is_on(0, "after a recorder was killed");
		close(go[0]);
		close(go[1]);
	}
}

static void note(void *arg, const struct hwt_diag *d)
{
	printf("# %s\n", d->text);
}

/* Records are marked in the trace: each of the one event that is recorded, while the unit runs. */
static void marks(void)
{
	struct hwt_kmod_unit u = usual();
	int before = param("sim_marks"), n;
	struct client_opts o = opts;
	struct client c;

	o.sub_size = 65536;	/* nobody reads */
	if (client_open(&c, &o))
		client_fail("a session for marks");
	u.flags = HWT_KMOD_UNIT_MARKS;
	no(&c, u, EINVAL, "PTWRITE");
	u.pt.bits |= HWT_KMOD_PT_PTW;
	if (ioctl(c.fd, HWT_KMOD_UNIT, &u) || client_start(&c))
		client_fail("marks: %s", u.why);
	for (unsigned i = 0; i < 200; i++)
		usleep(1000);
	client_finish(&c);
	n = param("sim_marks") - before;
	printf("# %d marks, %" PRIu64 " records\n", n, c.of_id[HWT_ID_sched_switch]);
	if (n < 100 || (uint64_t)n > c.of_id[HWT_ID_sched_switch])
		client_fail("%d marks", n);
	usleep(10000);
	if (param("sim_marks") - before != n)
		client_fail("marks after the end");
}

/* The library records it. The first round reads in time; the second lets buffers fill. */
static void library(const char *path, bool late, bool newest_only)
{
	struct hwt_diag diag = { 0 };
	struct kprov_want k = { .all = true, .overwrite = newest_only, .note = note,
		.diag = &diag };
	struct hw_want want = { .k = &k, .event = "intel_pt/psb_period=2,mtc,mtc_period=3/",
		.bytes = BYTES };
	struct native_writer *w = NULL;
	struct kprov *p = NULL;
	int rc = native_create(&w, path, true, &diag);

	if (!rc)
		rc = hwmod_new(&p, &want);
	if (!rc)
		rc = p->ops->start(p, 0);
	if (!rc)
		rc = p->ops->describe(p, w);
	for (unsigned i = 0; !rc && i < 100; i++) {
		if (!late || i > 50)
			rc = p->ops->pump(p, w);
		else
			ask(&(struct client){ .fd = p->fd }, 0);
	}
	if (!rc)
		rc = p->ops->stop(p);
	while (!rc)
		rc = p->ops->pump(p, w);
	if (rc != 1)
		client_fail("%s: %s (%d)", path, diag.text, rc);
	else
		printf("# %s: %" PRIu64 " bytes of trace\n", path, p->sum.events);
	if (p)
		p->ops->close(p);
	native_close(w, &diag);
	is_on(0, "after a recording");
}

static void refused_options(void)
{
	struct hwt_diag diag = { 0 };
	struct kprov_want k = { .all = true, .diag = &diag };
	struct hw_want want = { .k = &k, .event = "intel_pt/psb_period=9/" };
	struct kprov *p = NULL;

	if (hwmod_new(&p, &want) != -EINVAL || !strstr(diag.text, "the nearest is 5"))
		client_fail("a distance that the CPU has not: %s", diag.text);
}

static void no_memory(void)
{
	int i;

	for (i = 1; i < 500; i++) {
		struct hwt_kmod_unit u = usual();
		char text[16];
		struct client c;
		int rc;

		open_it(&c);
		snprintf(text, sizeof(text), "%d", i);
		set(PARAM "fail_alloc", text);
		rc = ioctl(c.fd, HWT_KMOD_UNIT, &u) ? errno : 0;
		if (rc && rc != ENOMEM)
			client_fail("allocation %d: %s, %s", i, strerror(rc), u.why);
		/* pieces in a row may fail: smaller ones do as well */
		if (param("fail_alloc") > 0) {
			set(PARAM "fail_alloc", "0");
			close(c.fd);
			break;
		}
		close(c.fd);
	}
	printf("# %d allocations, each failed once\n", i - 1);
	if (i < 10 || i == 500)
		client_fail("allocations of a unit");
}

/* With the module of sim/. */
void case_unit_sim(void)
{
	cpus = sysconf(_SC_NPROCESSORS_ONLN) < CPUS ? 1 : CPUS;
	run();
	newest();
	if (cpus > 1)
		late_cpu();
	marks();
	library("/tmp/out/pt.hwt", false, false);
	library("/tmp/out/full.hwt", true, false);
	library("/tmp/out/newest.hwt", false, true);
	refused_options();
	killed();
	no_memory();
	run();
	if (param("sim_broken"))
		client_fail("%d rules of the unit are broken", param("sim_broken"));
}
