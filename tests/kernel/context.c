/* SPDX-License-Identifier: BSD-2-Clause */
/* Context fields against what a program knows of itself, and against the function tracer. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "client.h"
#include "work.h"

#define GROUPS	"/tmp/groups"
#define GROUP	GROUPS "/hwt"
#define TRACING	"/sys/kernel/tracing/instances/context"
#define CPU1	"/sys/devices/system/cpu/cpu1/online"
#define ALL	((1u << 7) - 1)
#define COUNTER	(1u << HWT_CONTEXT_counter)
#define USER	(1u << HWT_CONTEXT_vtid | 1u << HWT_CONTEXT_comm | 1u << HWT_CONTEXT_prio | \
		 1u << HWT_CONTEXT_cgroup)

/* All of them, and those of a user, as uapi.h says that they lie. */
struct all {
	char comm[16];
	uint64_t cgroup, aspace, counter;
	int32_t vtid, prio;
	uint32_t preempt, zero;
};
struct some {
	char comm[16];
	uint64_t cgroup;
	int32_t vtid, prio;
};

struct seen {
	struct client *c;
	int tid;		/* of the program */
	uint64_t cgroup;
	uint64_t aspace;	/* of the last record, 0: none */
	uint64_t plain, urgent;	/* calls before and after it changed itself */
	uint64_t switches[CLIENT_CPUS];
	uint64_t counter[CLIENT_CPUS];
	unsigned preempt[2];	/* bits: depths at sched.switch and syscall.enter */
};

/* Small kernels have none: then a task has one number. */
static bool namespaces;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		client_fail("%s: %s", path, strerror(errno));
	close(fd);
}

static void look_at_call(struct seen *s, const struct all *x)
{
	bool urgent = s->plain == WORK_CALLS;

	if (x->vtid != (namespaces ? 1 : s->tid) ||
	    x->prio != (urgent ? 89 : 125) || x->cgroup != s->cgroup ||
	    strncmp(x->comm, urgent ? "other name" : "first", 16))
		client_fail("call %" PRIu64 ": vtid %d prio %d cgroup %" PRIu64 " comm %.16s",
			    s->plain + s->urgent, x->vtid, x->prio, x->cgroup, x->comm);
	if (!x->aspace || x->aspace == UINT64_MAX || (s->aspace && x->aspace != s->aspace))
		client_fail("address space %" PRIx64, x->aspace);
#ifdef __aarch64__
	if (x->aspace != (uint64_t)s->tid)
		client_fail("address space %" PRIx64 " of %d", x->aspace, s->tid);
#endif
	s->aspace = x->aspace;
	*(urgent ? &s->urgent : &s->plain) += 1;
}

static void look(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	const struct hwt_rec_syscall_enter *r = (const void *)rec;
	struct seen *s = arg;
	struct all x;

	memcpy(&x, s->c->at, sizeof(x));
	if (x.zero)
		client_fail("context does not end in zeroes");
	if (rec->id >> 8 == HWT_SECTION_stream || rec->id >> 8 == HWT_SECTION_clock) {
		if (x.vtid != -1 || x.prio != INT32_MIN || x.preempt != UINT32_MAX ||
		    ~x.cgroup || ~x.aspace || ~x.counter || strcmp(x.comm, "-"))
			client_fail("a record of the session itself has context");
		return;
	}
	if (x.preempt != UINT32_MAX)
		s->preempt[rec->id == HWT_ID_syscall_enter] |= 1u << (x.preempt & 31);
	if (rec->id == HWT_ID_sched_switch) {
		const struct hwt_rec_sched_switch *w = (const void *)rec;

		/* it is told before the kernel counts it */
		if (s->switches[cpu]++ && x.counter != s->counter[cpu] + 1)
			client_fail("cpu %u: switch %" PRIu64 " is %" PRIu64 " after %" PRIu64, cpu,
				    s->switches[cpu], x.counter, s->counter[cpu]);
		s->counter[cpu] = x.counter;
		if (memcmp(x.comm, w->prev_comm, 16) || x.prio != w->prev_prio)
			client_fail("a switch from %.16s with comm %.16s", w->prev_comm, x.comm);
	} else if (rec->tid == s->tid && r->nr == SYS_getppid) {
		look_at_call(s, &x);
	}
}

/* In a pid namespace of its own, and a group; on one CPU, so that its records are in order. */
static void program(void)
{
	struct sched_param p = { .sched_priority = 10 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	put(GROUP "/cgroup.procs", "0");
	prctl(PR_SET_NAME, "first");
	if ((namespaces && getpid() != 1) || setpriority(PRIO_PROCESS, 0, 5))
		client_fail("the program is not what it should be");
	work_calls();
	prctl(PR_SET_NAME, "other name");
	if (sched_setscheduler(0, SCHED_FIFO, &p))
		client_fail("real time: %s", strerror(errno));
	work_calls();
	_exit(client_failed() != 0);
}

/* Runs program() in a namespace; returns its number in ours. */
static int run(void)
{
	int *tid = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, n;
	pid_t p;

	namespaces = !access("/proc/self/ns/pid", F_OK);
	p = fork();
	if (!p) {
		if (namespaces && unshare(CLONE_NEWPID))
			_exit(1);
		p = fork();
		if (!p)
			program();
		*tid = p;
		waitpid(p, &status, 0);
		_exit(status != 0);
	}
	waitpid(p, &status, 0);
	if (status)
		client_fail("the program: %x", status);
	n = *tid;
	munmap(tid, 4096);
	return n;
}

/* Depths of preemption that the tracer has: a sign of its flags, which one its heading draws. */
static void tracer_depths(unsigned depth[2])
{
	FILE *f = fopen(TRACING "/trace", "r");
	char line[512];
	unsigned at = 0;

	while (f && fgets(line, sizeof(line), f)) {
		const char *p = strchr(line, ']');
		char sign[2] = { p && strlen(p) > 3 + at ? p[2 + at] : 0, 0 };

		if (*line == '#' && strstr(line, "=> preempt-depth"))
			for (at = 1, p = line; (p = strchr(p, '|')) != NULL; p++)
				at++;
		if (*line == '#' || !p)
			continue;
		depth[!strstr(p, ": sched_switch: ")] |=
			1u << (sign[0] == '.' ? 0 : strtoul(sign, NULL, 16));
	}
	if (f)
		fclose(f);
}

static void compare(const struct seen *s)
{
	unsigned depth[2] = { 0 };

	tracer_depths(depth);
	if (s->plain != WORK_CALLS || s->urgent != WORK_CALLS || s->switches[0] < 10)
		client_fail("%" PRIu64 " and %" PRIu64 " calls, %" PRIu64 " switches", s->plain,
			    s->urgent, s->switches[0]);
	/* where the kernel does not count it is not known, and the tracer shows none */
	if ((s->preempt[0] || s->preempt[1]) ? memcmp(depth, s->preempt, sizeof(depth)) != 0 :
	    (depth[0] | depth[1]) != 1)
		client_fail("preempt depths %x %x, the tracer %x %x", s->preempt[0], s->preempt[1],
			    depth[0], depth[1]);
	printf("# context: %" PRIu64 " calls, %" PRIu64 " switches counted, preempt depths %x %x%s"
	       "\n", s->plain + s->urgent, s->switches[0] + s->switches[1], depth[0], depth[1],
	       namespaces ? "" : "; no namespaces of tasks here");
}

static struct client_opts opts(const uint16_t *ids, unsigned n)
{
	return (struct client_opts){ .ids = ids, .nids = n, .sub_size = 65536, .subs = 32,
		.contexts = ALL, .context = sizeof(struct all),
		.counter_type = PERF_TYPE_SOFTWARE,
		.counter_config = PERF_COUNT_SW_CONTEXT_SWITCHES };
}

static void begin(struct client *c, const struct client_opts *o)
{
	int rc = client_open(c, o);

	if (!rc)
		rc = client_start(c);
	if (rc)
		client_fail("a session with context: %s", strerror(-rc));
}

/* Only calls of tasks with real time priority. */
static void look_urgent(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct seen *s = arg;
	struct all x;

	memcpy(&x, s->c->at, sizeof(x));
	if (rec->id != HWT_ID_syscall_enter)
		return;
	if (x.prio != 89)
		client_fail("the filter lets priority %d through", x.prio);
	s->urgent += ((const struct hwt_rec_syscall_enter *)rec)->nr == SYS_getppid;
}

static void values(void)
{
	static const uint16_t ids[] = { HWT_ID_syscall_enter, HWT_ID_sched_switch };
	/* context lies behind the event's fields */
	static const struct hwt_bpf_insn filter[] = {
		{ 0x20, 0, 0, sizeof(struct hwt_rec_syscall_enter) + offsetof(struct all, prio) },
		{ 0x15, 0, 1, 89 }, { 6, 0, 0, 1 }, { 6, 0, 0, 0 },
	};
	struct client_opts o = opts(ids, 2), f = opts(ids, 1);
	struct client c, d;
	struct seen s = { .c = &c }, u = { .c = &d };
	struct stat st;

	f.filter = filter;
	f.nfilter = 4;
	if (stat(GROUP, &st))
		client_fail("%s: %s", GROUP, strerror(errno));
	s.cgroup = st.st_ino;
	mkdir(TRACING, 0755);
	put(TRACING "/events/sched/sched_switch/enable", "1");
	put(TRACING "/events/raw_syscalls/sys_enter/enable", "1");
	begin(&c, &o);
	begin(&d, &f);
	s.tid = run();
	put(TRACING "/tracing_on", "0");
	c.record = look;
	c.arg = &s;
	d.record = look_urgent;
	d.arg = &u;
	client_finish(&d);
	client_finish(&c);
	if (u.urgent != WORK_CALLS)
		client_fail("a filter by priority: %" PRIu64 " calls", u.urgent);
	compare(&s);
	rmdir(TRACING);
}

static void look_last(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct seen *s = arg;
	struct all x;

	memcpy(&x, s->c->at, sizeof(x));
	if (rec->id == HWT_ID_syscall_enter)
		s->counter[cpu] = x.counter;
}

/* The counter of a CPU that was off counts no more, and that is said. */
static void off_and_on(void)
{
	static const uint16_t id = HWT_ID_syscall_enter;
	struct client_opts o = opts(&id, 1);
	struct client c;
	struct seen s = { .c = &c };
	cpu_set_t set;
	pid_t p;

	begin(&c, &o);
	put(CPU1, "0");
	put(CPU1, "1");
	for (int i = 0; i < 2; i++) {
		p = fork();
		if (!p) {
			CPU_ZERO(&set);
			CPU_SET(i, &set);
			sched_setaffinity(0, sizeof(set), &set);
			work_calls();
			_exit(0);
		}
		waitpid(p, NULL, 0);
	}
	c.record = look_last;
	c.arg = &s;
	client_finish(&c);
	if (s.counter[0] == UINT64_MAX || s.counter[1] != UINT64_MAX)
		client_fail("counters after a CPU was off: %" PRIx64 " %" PRIx64, s.counter[0],
			    s.counter[1]);
}

static void refused(const struct client_opts *o, int expected, const char *what)
{
	struct client c;
	int rc = client_open(&c, o);

	if (rc != expected)
		client_fail("%s: %s", what, strerror(-rc));
	close(c.fd);
}

void case_context(void)
{
	static const uint16_t id = HWT_ID_syscall_enter;
	struct client_opts o = opts(&id, 1);

	mkdir(GROUPS, 0755);
	if (mount("none", GROUPS, "cgroup2", 0, NULL) || mkdir(GROUP, 0755))
		client_fail("groups: %s", strerror(errno));
	values();
	off_and_on();
	o.contexts = 1u << 7;
	o.counter_type = o.counter_config = 0;
	refused(&o, -EINVAL, "a context that nobody knows");
	o.contexts = ALL & ~COUNTER;
	o.counter_config = 1;
	refused(&o, -EINVAL, "a counter without its context");
	o = opts(&id, 1);
	o.counter_type = PERF_TYPE_TRACEPOINT;
	refused(&o, -EINVAL, "a tracepoint as a counter");
	o.counter_type = PERF_TYPE_SOFTWARE;
	o.counter_config = 12345;
	refused(&o, -ENOENT, "a counter that is not there");
}

static void look_user(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct seen *s = arg;
	struct some x;
	bool own = rec->id >> 8 != HWT_SECTION_stream && rec->id >> 8 != HWT_SECTION_clock;

	memcpy(&x, s->c->at, sizeof(x));
	if (own ? x.vtid != s->tid || x.prio != 120 || strcmp(x.comm, "its name") || x.cgroup != 1 :
	    x.vtid != -1 || ~x.cgroup || strcmp(x.comm, "-"))
		client_fail("a user has vtid %d prio %d comm %.16s cgroup %" PRIx64, x.vtid,
			    x.prio, x.comm, x.cgroup);
	s->plain += own;
}

void case_context_user(void)
{
	static const uint16_t id = HWT_ID_syscall_enter;
	static const struct hwt_kmod_probe probe = { .symbol = "vfs_read" };
	struct client_opts o = opts(&id, 1);
	struct client c;
	struct seen s = { .c = &c, .tid = getpid() };

	for (unsigned i = HWT_CONTEXT_preempt_count; i <= HWT_CONTEXT_counter; i++) {
		o.contexts = i == HWT_CONTEXT_cgroup ? COUNTER : 1u << i;
		o.counter_type = o.contexts == COUNTER;
		o.counter_config = 0;
		refused(&o, -EACCES, "a user's context");
	}
	o.contexts = 0;
	o.counter_type = 0;
	o.probes = &probe;
	o.nprobes = 1;
	refused(&o, -EACCES, "a user's probe");
	o.nprobes = 0;
	o.contexts = USER;
	o.context = sizeof(struct some);
	prctl(PR_SET_NAME, "its name");
	begin(&c, &o);
	work_calls();
	c.record = look_user;
	c.arg = &s;
	client_finish(&c);
	if (s.plain < WORK_CALLS)
		client_fail("%" PRIu64 " calls of a user with context", s.plain);
}
