/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "client.h"
#include "work.h"

#define CALLS	250000	/* of each of two threads; two records each. CALLS=N: others */
#define CPU_TIMES 10	/* that a CPU goes and comes, or CPU_TIMES=N */
#define KILLS	10
#define CPU1	"/sys/devices/system/cpu/cpu1/online"
#define FAIL_ALLOC "/sys/module/hwtrace/parameters/fail_alloc"

static const uint16_t calls[] = { HWT_ID_syscall_enter, HWT_ID_syscall_exit };

int cases_number(const char *name, int usual)
{
	const char *text = getenv(name);
	int n = text ? atoi(text) : 0;

	return n > 0 ? n : usual;
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		client_fail("%s: %s", path, strerror(errno));
	close(fd);
}

static struct client_opts small(const uint16_t *ids, unsigned n)
{
	return (struct client_opts){ .ids = ids, .nids = n, .sub_size = 4096, .subs = 4 };
}

static void begin(struct client *c, const struct client_opts *o)
{
	int rc = client_open(c, o);

	if (!rc)
		rc = client_start(c);
	if (rc)
		client_fail("a session: %s", strerror(-rc));
}

static struct client_opts all_events(uint16_t *ids, unsigned max)
{
	int fd = open(HWT_KMOD_DEVICE, O_RDWR);
	struct client_opts o = { .ids = ids, .sub_size = 16384, .subs = 16 };

	o.nids = client_events(fd, ids, max, false);
	close(fd);
	return o;
}

/* How long the reader sleeps: 1 s of each 4, in a short run 0.1 s now and then. */
static unsigned rest(bool is_long, int i, time_t *since)
{
	if (!is_long)
		return i % 16 == 0 ? 100000 : 1000;
	if (time(NULL) - *since < 4)
		return 1000;
	*since = time(NULL);
	return 1000000;
}

static void overload(bool overwrite)
{
	int n_calls = cases_number("CALLS", CALLS);
	bool is_long = n_calls > CALLS;
	struct client_opts o = small(calls, 2);
	struct client c;
	uint64_t produced = 0, gone = 0;
	time_t start = time(NULL), since = start;

	if (is_long) {
		o.sub_size = 65536;
		o.subs = 16;
	}
	o.overwrite = overwrite;
	begin(&c, &o);
	fcntl(c.fd, F_SETFL, O_NONBLOCK);
	work_load(n_calls);
	for (int i = 0; work_loads(); i++) {
		ssize_t n = client_read(&c);

		if (n < 0 && n != -EAGAIN)
			client_fail("read: %s", strerror((int)-n));
		usleep(rest(is_long, i, &since));
	}
	work_loaded();
	client_finish(&c);
	for (int i = 0; i < CLIENT_CPUS; i++) {
		produced += c.cpu[i].produced;
		gone += c.cpu[i].lost + c.cpu[i].missing;
	}
	if (produced < 4 * (uint64_t)n_calls || !gone)
		client_fail("overload: produced %" PRIu64 ", gone %" PRIu64, produced, gone);
	printf("# %s: %" PRIu64 " produced, %" PRIu64 " gone, in %" PRId64 " s\n",
	       overwrite ? "overwrite" : "discard", produced, gone,
	       (int64_t)(time(NULL) - start));
}

void case_overload(void)
{
	overload(false);
	overload(true);
}

void case_slots(void)
{
	static const uint16_t id[2] = { HWT_ID_user_mark, HWT_ID_user_begin };
	static struct client c[HWT_KMOD_SESSIONS + 1];
	struct client_opts o;
	int fd;

	for (int i = 0; i <= HWT_KMOD_SESSIONS; i++) {
		int rc;

		o = small(&id[i & 1], 1);
		rc = client_open(&c[i], &o);
		if (rc != (i < HWT_KMOD_SESSIONS ? 0 : -EBUSY))
			client_fail("session %d: %s", i, strerror(-rc));
		if (!rc && client_start(&c[i]))
			client_fail("start of session %d", i);
	}
	close(c[HWT_KMOD_SESSIONS].fd);
	fd = open(HWT_KMOD_DEVICE, O_RDWR);
	work_marks(fd);
	close(fd);
	for (int i = 0; i < HWT_KMOD_SESSIONS; i++) {
		client_finish(&c[i]);
		if (c[i].of_id[id[i & 1]] != WORK_MARKS || c[i].of_id[id[!(i & 1)]])
			client_fail("session %d has %" PRIu64 " of its marks, %" PRIu64 " others",
				    i, c[i].of_id[id[i & 1]], c[i].of_id[id[!(i & 1)]]);
	}
}

/* Tasks that are known, and those of records: packets of one CPU may come before the fork. */
struct tasks { int32_t known[64], seen[64]; unsigned n, nseen; uint64_t calls; };

static void add(int32_t *v, unsigned *n, int32_t tid)
{
	for (unsigned i = 0; i < *n; i++)
		if (v[i] == tid)
			return;
	if (*n < 64)
		v[(*n)++] = tid;
}

static bool knows(const struct tasks *t, int32_t tid)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->known[i] == tid)
			return true;
	return false;
}

static unsigned strangers(const struct tasks *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->nseen; i++)
		n += !knows(t, t->seen[i]);
	return n;
}

/* Tasks of the program, no counts, and no word that is an address of the kernel. */
static void look_own(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct tasks *o = arg;
	const uint64_t *w = (const void *)rec;

	if (rec->id >> 8 == HWT_SECTION_stream || rec->id >> 8 == HWT_SECTION_clock)
		return;
	add(o->seen, &o->nseen, rec->tid);
	if (rec->hit || rec->flags & HWT_REC_HIT)
		client_fail("event %x has hit %" PRIu64, rec->id, (uint64_t)rec->hit);
	if (rec->id == HWT_ID_sched_fork)
		add(o->known, &o->n, ((const struct hwt_rec_sched_fork *)rec)->child_tid);
	if (rec->id == HWT_ID_state_task &&
	    (((const struct hwt_rec_state_task *)rec)->task_tid != getpid() ||
	     ~((const struct hwt_rec_state_task *)rec)->aspace))
		client_fail("a user is told of another's task, or a page table");
	if (rec->id == HWT_ID_syscall_enter)
		o->calls += ((const struct hwt_rec_syscall_enter *)rec)->nr == SYS_getppid;
	/* addresses of the kernel begin so; errors and "not known" are above */
	for (unsigned k = sizeof(*rec) / 8; k < rec->size / 8u; k++)
		if (w[k] >> 48 == 0xffff && w[k] < (uint64_t)-4096)
			client_fail("event %x has %" PRIx64, rec->id, w[k]);
	if (rec->id == HWT_ID_sched_exec &&
	    ~((const struct hwt_rec_sched_exec *)rec)->aspace)
		client_fail("exec tells a page table");
}

void case_own(void)
{
	static const uint16_t no = HWT_ID_sched_switch;
	struct hwt_kmod_info info = { .size = sizeof(info) };
	struct tasks own = { .known = { getpid() }, .n = 1 };
	struct client_opts o = small(&no, 1);
	uint16_t ids[256];
	struct client c;

	if (client_open(&c, &o) != -EACCES)
		client_fail("a user may record sched.switch");
	if (ioctl(c.fd, HWT_KMOD_INFO, &info) || info.flags)
		client_fail("a user may record the machine");
	for (unsigned i = 0; i < info.events; i++) {
		struct hwt_kmod_event e = { .size = sizeof(e), .index = i };

		if (ioctl(c.fd, HWT_KMOD_EVENT, &e) || e.anchor)
			client_fail("event %u: its anchor is told", i);
	}
	o.ids = ids;
	o.nids = client_events(c.fd, ids, 256, true);
	close(c.fd);
	o.sub_size = 262144;
	o.subs = 1024;
	if (client_open(&c, &o) != -EDQUOT)
		client_fail("a user gets any memory");
	close(c.fd);
	o.sub_size = 65536;
	o.subs = 16;
	begin(&c, &o);
	c.record = look_own;
	c.arg = &own;
	client_state(&c);
	work_calls();
	for (int i = 0; i < 5; i++) {
		pid_t p = fork();

		if (!p) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(p, NULL, 0);
	}
	client_finish(&c);
	if (c.of_id[HWT_ID_state_task] != 1 || !c.of_id[HWT_ID_state_map] ||
	    c.of_id[HWT_ID_state_module] || c.of_id[HWT_ID_state_end] != 1)
		client_fail("a user is told of %" PRIu64 " tasks, %" PRIu64 " modules",
			    c.of_id[HWT_ID_state_task], c.of_id[HWT_ID_state_module]);
	if (own.calls != WORK_CALLS || own.n != 6 || strangers(&own))
		client_fail("%" PRIu64 " calls, %u tasks, %u others", own.calls, own.n,
			    strangers(&own));
	case_user();
	case_context_user();
	case_unit_user();
}

void case_others(void)
{
	pid_t p = fork();
	int status;

	if (!p) {
		if (setgid(1000) || setuid(1000))
			_exit(2);
		/* only a new program may be looked into */
		execl("/bin/guest", "guest", "own", NULL);
		_exit(3);
	}
	while (waitpid(p, &status, WNOHANG) == 0)
		work_calls();
	if (status)
		client_fail("the user's part: %x", status);
}

/* One of both tasks of a switch belongs to it. */
static void look_family(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct tasks *f = arg;

	if (rec->id >> 8 == HWT_SECTION_stream || rec->id >> 8 == HWT_SECTION_clock ||
	    rec->id >> 8 == HWT_SECTION_state)
		return;
	if (rec->id == HWT_ID_sched_fork)
		add(f->known, &f->n, ((const struct hwt_rec_sched_fork *)rec)->child_tid);
	if (rec->id == HWT_ID_syscall_enter)
		f->calls += ((const struct hwt_rec_syscall_enter *)rec)->nr == SYS_getppid;
	if (rec->id != HWT_ID_sched_switch)
		add(f->seen, &f->nseen, rec->tid);
}

void case_process(void)
{
	static const uint16_t ids[] = { HWT_ID_sched_switch, HWT_ID_sched_fork,
		HWT_ID_syscall_enter, HWT_ID_syscall_exit };
	struct client_opts o = { .ids = ids, .nids = 4, .sub_size = 65536, .subs = 16 };
	struct tasks f = { .n = 1 };
	struct client c;
	int go[2];
	pid_t p;
	char b;

	if (pipe(go))
		return;
	p = fork();
	if (!p) {
		close(go[1]);
		if (read(go[0], &b, 1) != 0)
			_exit(1);
		for (int i = 0; i < 3; i++) {
			pid_t k = fork();

			if (!k) {
				work_calls();
				_exit(0);
			}
			waitpid(k, NULL, 0);
		}
		_exit(0);
	}
	f.known[0] = p;
	o.pid = p;
	begin(&c, &o);
	client_state(&c);
	c.record = look_family;
	c.arg = &f;
	work_calls();	/* ours are not wanted */
	close(go[0]);
	close(go[1]);
	waitpid(p, NULL, 0);
	client_finish(&c);
	if (c.of_id[HWT_ID_state_task] != 1 || !c.of_id[HWT_ID_state_map])
		client_fail("a process: %" PRIu64 " tasks are told", c.of_id[HWT_ID_state_task]);
	if (f.n != 4 || f.calls != 3 * WORK_CALLS || strangers(&f))
		client_fail("a process: %u tasks, %" PRIu64 " calls, %u others", f.n, f.calls,
			    strangers(&f));
	o.pid = 0x3fffff;
	if (client_open(&c, &o) || client_start(&c) != -ESRCH)
		client_fail("a process that is not there");
	close(c.fd);
}

#define REFUSED(what, expected) \
	do { \
		errno = 0; \
		if ((what) >= 0 || errno != (expected)) \
			client_fail("%s: %s", #what, strerror(errno)); \
	} while (0)

static void wrong_sessions(int fd)
{
	static const struct { struct hwt_kmod_session s; int error; } row[] = {
		{ { .size = 4 }, EINVAL },
		{ { .size = 1u << 20 }, EINVAL },
		{ { .size = sizeof(row[0].s), .sub_size = 4096 }, EINVAL },
		{ { .size = sizeof(row[0].s), .sub_size = 5000, .subs = 4 }, EINVAL },
		{ { .size = sizeof(row[0].s), .sub_size = 4096, .subs = 3 }, EINVAL },
		{ { .size = sizeof(row[0].s), .sub_size = 1u << 31, .subs = 1u << 31 }, EINVAL },
		{ { .size = sizeof(row[0].s), .sub_size = 4096, .subs = 4, .flags = 2 }, EINVAL },
		{ { .size = sizeof(row[0].s), .sub_size = 4096, .subs = 4, .pid = -1 }, EINVAL },
		{ { .size = sizeof(row[0].s), .sub_size = 4096, .subs = 4, .nwants = 5000 },
		  EINVAL },
		{ { .size = sizeof(row[0].s), .sub_size = 4096, .subs = 4, .nwants = 2 },
		  EFAULT },
	};
	struct { struct hwt_kmod_session s; uint64_t more; } young = { .more = 1 };

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		errno = 0;
		if (ioctl(fd, HWT_KMOD_OPEN, &row[i].s) >= 0 || errno != row[i].error)
			client_fail("session %u: %s", i, strerror(errno));
	}
	young.s = (struct hwt_kmod_session){ .size = sizeof(young), .sub_size = 4096, .subs = 4 };
	REFUSED(ioctl(fd, HWT_KMOD_OPEN, &young), E2BIG);
	REFUSED(ioctl(fd, HWT_KMOD_OPEN, NULL), EFAULT);
}

void case_requests(void)
{
	static const uint16_t unknown = 0x7fff, twice[] = { HWT_ID_irq_entry, HWT_ID_irq_entry };
	struct client_opts o = small(&unknown, 1);
	struct hwt_kmod_counts k = { .size = sizeof(k), .cpu = 1u << 30 };
	struct hwt_kmod_mark m = { .size = sizeof(m), .kind = 3 };
	struct client c;
	char buf[8192];
	int fd = open(HWT_KMOD_DEVICE, O_RDWR);
	pid_t p;

	REFUSED(read(fd, buf, sizeof(buf)), EINVAL);
	REFUSED(ioctl(fd, HWT_KMOD_START), EINVAL);
	REFUSED(ioctl(fd, HWT_KMOD_STOP), EINVAL);
	REFUSED(ioctl(fd, HWT_KMOD_COUNTS, &k), EINVAL);
	REFUSED(ioctl(fd, HWT_KMOD_MARK_IT, &m), EINVAL);
	REFUSED(ioctl(fd, 0x1234), ENOTTY);
	REFUSED(lseek(fd, 0, SEEK_SET), ESPIPE);
	REFUSED(write(fd, buf, 1), EINVAL);
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
		client_fail("the device can be mapped");
	wrong_sessions(fd);
	close(fd);
	if (client_open(&c, &o) != -ENOENT)
		client_fail("an event that nobody knows");
	close(c.fd);
	o = small(twice, 2);
	if (client_open(&c, &o) != -EINVAL)
		client_fail("an event that is wanted twice");
	close(c.fd);
	o = small(calls, 2);
	begin(&c, &o);
	REFUSED(ioctl(c.fd, HWT_KMOD_START), EINVAL);
	REFUSED(ioctl(c.fd, HWT_KMOD_COUNTS, &k), EINVAL);
	REFUSED(read(c.fd, buf, 4095), EINVAL);
	work_calls();
	REFUSED(syscall(SYS_read, c.fd, 1, sizeof(buf)), EFAULT);
	/* another process has it, too, and goes away last */
	p = fork();
	if (!p) {
		usleep(100000);
		_exit(ioctl(c.fd, HWT_KMOD_STOP) || read(c.fd, buf, sizeof(buf)) <= 0);
	}
	close(c.fd);
	waitpid(p, &fd, 0);
	if (fd)
		client_fail("the session that another process has");
	client_open(&c, &o);
	if (client_start(&c) || ioctl(c.fd, HWT_KMOD_STOP))
		client_fail("start and stop");
	REFUSED(ioctl(c.fd, HWT_KMOD_START), EINVAL);
	REFUSED(ioctl(c.fd, HWT_KMOD_STOP), EINVAL);
	close(c.fd);
}

void case_cpus(void)
{
	int times = cases_number("CPU_TIMES", CPU_TIMES);
	uint16_t ids[256];
	struct client_opts o = all_events(ids, 256);
	struct client c;

	if (access(CPU1, F_OK)) {
		printf("# there is one CPU only\n");
		return;
	}
	begin(&c, &o);
	fcntl(c.fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < times; i++) {
		put(CPU1, "0");
		client_read(&c);
		put(CPU1, "1");
		client_read(&c);
	}
	client_finish(&c);
	/* a record each, but for what a reader that was too slow has lost */
	if (!c.cpu[0].lost && !c.cpu[1].lost && c.of_id[HWT_ID_power_cpu] != 2 * (uint64_t)times)
		client_fail("%" PRIu64 " of %d changes", c.of_id[HWT_ID_power_cpu], 2 * times);
	printf("# a CPU off and on %d times: %" PRIu64 " changes, %" PRIu64 " lost\n", times,
	       c.of_id[HWT_ID_power_cpu], c.cpu[0].lost + c.cpu[1].lost);
}

void case_memory(void)
{
	static const struct hwt_kmod_probe probes[] = { { .symbol = "vfs_read" },
		{ .symbol = "vfs_read", .flags = HWT_KMOD_RETURN } };
	uint16_t ids[256];
	struct client_opts o = all_events(ids, 256);
	struct client c;
	char text[16];
	int n, rc = -ENOMEM;

	o.pid = getpid();
	o.contexts = (1u << 7) - 1;
	o.counter_type = 1;
	o.probes = probes;
	o.nprobes = 2;
	for (n = 1; rc == -ENOMEM && n < 100; n++) {
		snprintf(text, sizeof(text), "%d", n);
		put(FAIL_ALLOC, text);
		rc = client_open(&c, &o);
		if (c.fd >= 0)
			close(c.fd);
	}
	put(FAIL_ALLOC, "0");
	if (rc || n < 10)
		client_fail("allocation %d: %s", n, strerror(-rc));
	printf("# %d allocations failed one by one\n", n - 2);
}

void case_kills(void)
{
	uint16_t ids[256];
	struct client_opts o = all_events(ids, 256);

	srandom(3);
	for (int i = 0; i < KILLS; i++) {
		pid_t p = fork();

		if (!p) {
			struct client c;

			begin(&c, &o);
			for (;;)
				client_read(&c);
		}
		usleep((unsigned)random() % 150000);
		kill(p, SIGKILL);
		waitpid(p, NULL, 0);
	}
}

void case_readers(int n)
{
	/* not all events: that many hooks take seconds to come and go in an emulated machine */
	static const uint16_t ids[] = { HWT_ID_text_patch, HWT_ID_sched_switch, HWT_ID_irq_entry,
		HWT_ID_syscall_enter, HWT_ID_syscall_exit, HWT_ID_mm_map };
	struct client_opts o = { .ids = ids, .nids = 6, .sub_size = 4096, .subs = 8 };
	int status;

	for (int i = 0; i < n; i++)
		if (!fork()) {
			struct client c;

			begin(&c, &o);
			work_calls();
			client_finish(&c);
			_exit(client_failed() != 0);
		}
	while (wait(&status) > 0)
		if (status)
			client_fail("one of %d readers: %x", n, status);
}
