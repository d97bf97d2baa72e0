/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is done to the module inside of the guest: guest CASE... Says FAIL with a reason
 * for whatever is wrong, and lines of figures that begin with "#".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hwtrace/abi.h>

#include "cases.h"
#include "client.h"
#include "work.h"

#define EVENTS	256
#define INSTANCE "/sys/kernel/tracing/instances/twin"

static uint16_t ids[EVENTS];
static unsigned nids;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		client_fail("%s: %s", path, strerror(errno));
	close(fd);
}

static void all_events(void)
{
	int fd = open(HWT_KMOD_DEVICE, O_RDWR);

	if (fd < 0)
		client_fail("%s: %s", HWT_KMOD_DEVICE, strerror(errno));
	nids = client_events(fd, ids, EVENTS, false);
	close(fd);
}

static void list(void)
{
	int fd = open(HWT_KMOD_DEVICE, O_RDWR);
	struct hwt_kmod_info i = { .size = sizeof(i) };

	if (ioctl(fd, HWT_KMOD_INFO, &i) || i.version != HWT_KMOD_VERSION ||
	    i.abi != HWT_ABI_VERSION || i.flags != HWT_KMOD_ALL)
		client_fail("info");
	printf("# %u events, counter %u of %" PRIu64 " Hz\n", i.events, i.counter,
	       (uint64_t)i.hz);
	for (unsigned k = 0; k < i.events; k++) {
		struct hwt_kmod_event e = { .size = sizeof(e), .index = k };
		const struct hwt_abi_event *a;

		if (ioctl(fd, HWT_KMOD_EVENT, &e))
			client_fail("event %u", k);
		a = hwt_abi_event_by_id(e.id);
		if (!a)
			client_fail("event %u: id %x", k, e.id);
		else if (!(e.flags & HWT_KMOD_EV_HERE))
			printf("# absent: %s\n", a->name);
		if (!(e.flags & HWT_KMOD_EV_OWN) && (e.anchor >> 47) != 0x1ffff)
			client_fail("event %x: anchor %" PRIx64, e.id, (uint64_t)e.anchor);
	}
	close(fd);
}

static atomic_bool done;

static void *reader(void *arg)
{
	struct client *c = arg;

	while (!done) {
		struct pollfd p = { .fd = c->fd, .events = POLLIN };

		if (poll(&p, 1, 100) > 0 && client_read(c) < 0)
			client_fail("reading while it runs");
	}
	return NULL;
}

/* What of the calls of one thread is seen. */
struct calls { int tid; uint64_t enter, leave, wrong; bool seen[WORK_CALLS]; };

static void count_calls(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct calls *k = arg;

	if (rec->tid != k->tid)
		return;
	if (rec->id == HWT_ID_syscall_enter) {
		const struct hwt_rec_syscall_enter *r = (const void *)rec;

		if (r->nr != SYS_getppid)
			return;
		/* packets of one CPU may come before those of the one that it ran on earlier */
		if (r->arg0 != 1 || r->arg1 != 2 || r->arg2 != 3 || r->arg3 != 4 ||
		    r->arg4 != 5 || r->arg5 >= WORK_CALLS || k->seen[r->arg5])
			k->wrong++;
		else
			k->seen[r->arg5] = true;
		k->enter++;
	} else if (rec->id == HWT_ID_syscall_exit) {
		const struct hwt_rec_syscall_exit *r = (const void *)rec;

		if (r->nr != SYS_getppid)
			return;
		k->wrong += r->ret != getppid();
		k->leave++;
	}
}

static void write_metadata(const struct client *c, const char *dir)
{
	struct hwt_kmod_info i = { .size = sizeof(i) };
	struct hwt_abi_trace t = { .host = "guest" };
	char name[256], *text;
	size_t n;
	FILE *f;

	ioctl(c->fd, HWT_KMOD_INFO, &i);
	t.clock = i.counter == HWT_KMOD_TSC ? "tsc" : "cntvct";
	t.freq = i.hz;
	memcpy(t.uuid, c->uuid, 16);
	n = hwt_abi_metadata(NULL, 0, &t);
	text = malloc(n + 1);
	hwt_abi_metadata(text, n + 1, &t);
	snprintf(name, sizeof(name), "%s/metadata", dir);
	f = fopen(name, "w");
	if (!f || fwrite(text, 1, n, f) != n || fclose(f))
		client_fail("%s", name);
	free(text);
}

/* How often each event came, and those that were expected and did not. */
static void summary(const struct client *c)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < nids; i++) {
		const struct hwt_abi_event *e = hwt_abi_event_by_id(ids[i]);

		all += c->of_id[ids[i]];
		printf("# %s %" PRIu64 "\n", e->name, c->of_id[ids[i]]);
	}
	printf("# sum %" PRIu64 "\n", all);
}

/* All events, read while they are written, and the function tracer beside it. */
static void matrix(const char *dir, const char *disk, const char *module)
{
	struct client c;
	struct client_opts o = { .ids = ids, .sub_size = 65536, .subs = 32, .dir = dir };
	struct calls calls = { .tid = (int)syscall(SYS_gettid) };
	static char trace[1 << 20];
	pthread_t t;
	int rc, in, out;
	ssize_t n;

	all_events();
	o.nids = nids;
	rc = client_open(&c, &o);
	if (rc) {
		client_fail("open: %s", strerror(-rc));
		return;
	}
	c.record = count_calls;
	c.arg = &calls;
	write_metadata(&c, dir);
	rc = client_start(&c);
	if (rc)
		client_fail("start: %s", strerror(-rc));
	client_state(&c);
	pthread_create(&t, NULL, reader, &c);
	put(INSTANCE "/tracing_on", "1");
	work_all(c.fd, disk, module);
	put(INSTANCE "/tracing_on", "0");
	sleep(2);	/* clock records of two seconds */
	done = true;
	pthread_join(t, NULL);
	client_finish(&c);
	if (calls.enter != WORK_CALLS || calls.leave != WORK_CALLS || calls.wrong)
		client_fail("calls: %" PRIu64 " entries, %" PRIu64 " exits, %" PRIu64 " wrong",
			    calls.enter, calls.leave, calls.wrong);
	summary(&c);
	in = open(INSTANCE "/trace", O_RDONLY);
	snprintf(trace, sizeof(trace), "%s/../trace", dir);
	out = open(trace, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	while ((n = read(in, trace, sizeof(trace))) > 0)
		if (write(out, trace, (size_t)n) != n)
			client_fail("the other trace");
	close(in);
	close(out);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "list", list }, { "overload", case_overload }, { "slots", case_slots },
		{ "others", case_others }, { "own", case_own },
		{ "owners", case_owners }, { "owners_user", case_owners_user },
		{ "process", case_process },
		{ "requests", case_requests }, { "random", case_random }, { "cpus", case_cpus },
		{ "memory", case_memory }, { "kills", case_kills }, { "calls", work_calls },
		{ "filter", case_filter }, { "state", case_state }, { "pages", case_pages },
		{ "programs", case_programs }, { "context", case_context }, { "func", case_func },
		{ "reads", case_reads }, { "quota", case_quota },
		{ "programs_many", case_programs_many },
		{ "unit", case_unit }, { "unit_sim", case_unit_sim },
		{ "load", case_load }, { "record", case_record }, { "killed", case_killed },
		{ "killed20", case_killed20 }, { "snapshots", case_snapshots },
		{ "stop", case_stop },
	};
	unsigned i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int k = 1; k < argc; k++) {
		time_t start = time(NULL);

		if (!strcmp(argv[k], "matrix") && k + 4 == argc) {
			matrix(argv[k + 1], argv[k + 2], argv[k + 3]);
			k += 3;
			printf("%s matrix\n", client_failed() ? "bad:" : "ok:");
			continue;
		}
		if (!strcmp(argv[k], "readers")) {
			case_readers(8);
			continue;	/* said often */
		}
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			if (!strcmp(argv[k], cases[i].name))
				break;
		if (i == sizeof(cases) / sizeof(cases[0]))
			client_fail("%s: no such case", argv[k]);
		else
			cases[i].run();
		printf("%s %s %" PRId64 " s\n", client_failed() ? "bad:" : "ok:", argv[k],
		       (int64_t)(time(NULL) - start));
	}
	return client_failed() != 0;
}
