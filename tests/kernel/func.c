/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of the kernel that a session names, against what the program that calls them knows, and
 * against probes of the function tracer in the same run.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases.h"
#include "client.h"
#include "work.h"

#define READS	200
#define SLEEPS	20	/* of each of SLEEPERS threads */
#define SLEEPERS 4
#define COUNT	0x12381u	/* bytes of the first read: its low ones are negative */
#define FIRST	HWT_ID_DIRTY
#define TRACING	"/sys/kernel/tracing/"
#define OWN	TRACING "instances/func/"

static char buf[COUNT + READS];
static volatile int child_tid;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		client_fail("%s: %s", path, strerror(errno));
	close(fd);
}

static const struct hwt_kmod_probe probes[] = {
	{ .symbol = "vfs_read", .nargs = 8, .arg = { { 1, 8, 0, 0 }, { 2, 8, 0, 0 },
		{ 2, 1, 1, 0 }, { 2, 1, 0, 0 }, { 2, 2, 1, 0 }, { 2, 2, 0, 0 }, { 2, 4, 1, 0 },
		{ 2, 4, 0, 0 } } },
	{ .symbol = "vfs_read", .flags = HWT_KMOD_RETURN, .nargs = 1, .arg = { { 0, 8, 1, 0 } } },
	{ .symbol = "vfs_read", .flags = HWT_KMOD_RETURN, .nargs = 1, .arg = { { 0, 4, 0, 0 } } },
	{ .symbol = "vfs_read" },
};

struct seen {
	int tid;
	unsigned calls, returns, words, bare;
	uint64_t ip[4], hit[CLIENT_CPUS][4];
	uint64_t count[READS];
	int64_t ret[READS];
};

/* The bytes that read number @i asks for; every tenth one fails. */
static unsigned count_of(unsigned i)
{
	return COUNT + i;
}

static int64_t ret_of(unsigned i)
{
	return i % 10 == 9 ? -EFAULT : (int64_t)count_of(i);
}

static void look_at_call(struct seen *s, const uint64_t *a)
{
	uint64_t n = s->calls < READS ? count_of(s->calls) : 0;
	char *to = s->calls % 10 == 9 ? NULL : buf;

	if (a[0] != (uintptr_t)to || a[1] != n || a[2] != (uint64_t)(int64_t)(int8_t)n ||
	    a[3] != (uint8_t)n || a[4] != (uint64_t)(int64_t)(int16_t)n || a[5] != (uint16_t)n ||
	    a[6] != (uint64_t)(int64_t)(int32_t)n || a[7] != (uint32_t)n)
		client_fail("read %u: %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64, s->calls, a[0],
			    a[1], a[2], a[3]);
	if (s->calls < READS)
		s->count[s->calls] = a[1];
	s->calls++;
}

static void look(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	const struct hwt_rec_probe *r = (const void *)rec;
	const uint64_t *a = (const void *)(r + 1);
	struct seen *s = arg;
	unsigned i = rec->id - FIRST;

	if (rec->id < FIRST)
		return;
	if (i > 3 || rec->size != sizeof(*r) + 8 * probes[i].nargs)
		client_fail("event %u of %u bytes", i, rec->size);
	/* each one of this CPU is here */
	if (!(rec->flags & HWT_REC_HIT) || rec->hit != ++s->hit[cpu][i])
		client_fail("event %u: hit %" PRIu64 " for %" PRIu64, i, (uint64_t)rec->hit,
			    s->hit[cpu][i]);
	if (r->ip >> 48 != 0xffff || (!(probes[i].flags & HWT_KMOD_RETURN) && s->ip[i] &&
				      r->ip != s->ip[i]))
		client_fail("event %u at %" PRIx64, i, (uint64_t)r->ip);
	s->ip[i] = r->ip;
	if (rec->tid != s->tid)
		return;
	if (i == 0) {
		look_at_call(s, a);
	} else if (i == 1 && s->returns < READS) {
		s->ret[s->returns] = (int64_t)a[0];
		if (s->ret[s->returns] != ret_of(s->returns))
			client_fail("read %u returned %" PRId64, s->returns, s->ret[s->returns]);
		s->returns++;
	} else if (i == 2) {
		if (a[0] != (uint32_t)ret_of(s->words))
			client_fail("read %u returned %" PRIx64, s->words, a[0]);
		s->words++;
	} else if (i == 3) {
		s->bare++;
	}
}

static void *reads(void *arg)
{
	int fd = open("/dev/zero", O_RDONLY);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	child_tid = (int)syscall(SYS_gettid);
	for (unsigned i = 0; i < READS; i++)
		if (syscall(SYS_read, fd, ret_of(i) < 0 ? NULL : buf, count_of(i)) !=
		    (ret_of(i) < 0 ? -1 : ret_of(i)))
			client_fail("read %u", i);
	close(fd);
	return NULL;
}

void case_reads(void)
{
	reads(NULL);
}

/* What the tracer's own probes say of the same calls, word by word. */
static void compare(const struct seen *s)
{
	FILE *f = fopen(OWN "trace", "r");
	unsigned calls = 0, returns = 0;
	char line[512], who[32];

	snprintf(who, sizeof(who), "-%d ", s->tid);
	while (f && fgets(line, sizeof(line), f)) {
		const char *n = strstr(line, " count="), *v = strstr(line, " ret=");

		if (!strstr(line, who))
			continue;
		if (n && calls < READS && strtoull(n + 7, NULL, 0) == s->count[calls])
			calls++;
		if (v && returns < READS && strtoll(v + 5, NULL, 0) == s->ret[returns])
			returns++;
	}
	if (f)
		fclose(f);
	if (calls != READS || returns != READS)
		client_fail("the tracer has %u calls and %u returns of ours", calls, returns);
}

static void begin(struct client *c, const struct client_opts *o)
{
	int rc = client_open(c, o);

	if (!rc)
		rc = client_start(c);
	if (rc)
		client_fail("a session with functions: %s", strerror(-rc));
}

static void values(void)
{
	struct client_opts o = { .sub_size = 65536, .subs = 32, .probes = probes, .nprobes = 4 };
	bool traced = !access(TRACING "kprobe_events", F_OK);
	static struct seen s;
	struct client c;
	pthread_t t;

	if (traced) {
		mkdir(OWN, 0755);
		put(TRACING "kprobe_events", "p:hwt/call vfs_read count=$arg3:u64\n");
		put(TRACING "kprobe_events", "r:hwt/back vfs_read ret=$retval:s64\n");
		put(OWN "events/hwt/enable", "1");
	} else {
		printf("# the tracer of this kernel has no probes of its own\n");
	}
	begin(&c, &o);
	pthread_create(&t, NULL, reads, NULL);
	pthread_join(t, NULL);
	if (traced)
		put(OWN "events/hwt/enable", "0");
	s.tid = child_tid;
	c.record = look;
	c.arg = &s;
	client_finish(&c);
	if (s.calls != READS || s.returns != READS || s.words != READS || s.bare != READS)
		client_fail("%u calls, %u and %u returns, %u without arguments", s.calls,
			    s.returns, s.words, s.bare);
	if (s.ip[0] != s.ip[3])
		client_fail("one function at two places");
	if (!traced)
		return;
	compare(&s);
	rmdir(OWN);
	put(TRACING "kprobe_events", "-:hwt/call\n");
	put(TRACING "kprobe_events", "-:hwt/back\n");
}

static void *sleeps(void *arg)
{
	struct timespec t = { 0, 5000000 };

	for (int i = 0; i < SLEEPS; i++)
		syscall(SYS_nanosleep, &t, NULL);
	return NULL;
}

static uint64_t hits_of(struct client *c, unsigned i, uint64_t *missed)
{
	struct hwt_kmod_probed p = { .size = sizeof(p), .index = i };

	if (ioctl(c->fd, HWT_KMOD_PROBED, &p) || p.nested)
		client_fail("counts of event %u: %" PRIu64 " nested", i, (uint64_t)p.nested);
	*missed = p.missed;
	return p.hits;
}

/* Room for one open call, and several sleep at a time: each call returns, seen or counted. */
static void missed(bool overwrite)
{
	static const struct hwt_kmod_probe p[] = {
		{ .symbol = "hrtimer_nanosleep" },
		{ .symbol = "hrtimer_nanosleep", .flags = HWT_KMOD_RETURN, .active = 1 },
	};
	struct client_opts o = { .sub_size = 65536, .subs = 32, .probes = p, .nprobes = 2,
		.overwrite = overwrite };
	uint64_t lost = 0, told = 0, calls, returns, none, gone;
	pthread_t t[SLEEPERS];
	struct client c;

	begin(&c, &o);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_create(&t[i], NULL, sleeps, NULL);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(t[i], NULL);
	if (ioctl(c.fd, HWT_KMOD_STOP))
		client_fail("stop");
	calls = hits_of(&c, 0, &none);
	returns = hits_of(&c, 1, &gone);
	while (client_read(&c) > 0)
		;
	for (int i = 0; i < CLIENT_CPUS; i++) {
		lost += c.cpu[i].lost;
		told += c.cpu[i].told;
	}
	close(c.fd);
	if (calls != SLEEPS * SLEEPERS || none || !gone || calls != returns + gone ||
	    lost != gone || told != gone || c.own[0] != calls ||
	    c.own[1] != returns)
		client_fail("%" PRIu64 " calls, %" PRIu64 " returns, %" PRIu64 " missed, %" PRIu64
			    " lost, %" PRIu64 " told", calls, returns, gone, lost, told);
	printf("# of %" PRIu64 " returns %" PRIu64 " missed and told\n", calls, gone);
}

static int try(const struct hwt_kmod_probe *p, unsigned n)
{
	struct client_opts o = { .sub_size = 4096, .subs = 4, .probes = p, .nprobes = n };
	struct client c;
	int rc = client_open(&c, &o);

	close(c.fd);
	return rc;
}

/* The first instruction behind the first byte that can be probed. */
static void offset(void)
{
	struct hwt_kmod_probe p[2] = { { .symbol = "vfs_read" }, { .symbol = "vfs_read" } };
	struct client_opts o = { .sub_size = 65536, .subs = 32, .probes = p, .nprobes = 2 };
	struct client c;
	pthread_t t;
	int rc;

	p[0].offset = 1;
	rc = try(p, 1);
	if (rc != -EILSEQ && rc != -EINVAL)
		client_fail("in an instruction: %s", strerror(-rc));
	do {
		p[0].offset++;
		rc = try(p, 1);
	} while (rc && p[0].offset < 64);
	begin(&c, &o);
	pthread_create(&t, NULL, reads, NULL);
	pthread_join(t, NULL);
	client_finish(&c);
	if (c.own[0] != c.own[1] ||
	    c.own[0] < READS)
		client_fail("at +%u: %" PRIu64 " times, %" PRIu64 " calls", (unsigned)p[0].offset,
			    c.own[0], c.own[1]);
}

static void refused(void)
{
	static const struct { struct hwt_kmod_probe p; int error; } row[] = {
		{ { .symbol = "" }, -EINVAL },
		{ { .symbol = "no_such_function" }, -ENOENT },
		{ { .symbol = "get_kprobe" }, -EINVAL },	/* not to be probed */
		{ { .symbol = "vfs_read", .offset = 1ull << 40 }, -EINVAL },
		{ { .symbol = "vfs_read", .flags = 2 }, -EINVAL },
		{ { .symbol = "vfs_read", .flags = 1, .offset = 4 }, -EINVAL },
		{ { .symbol = "vfs_read", .active = 1 }, -EINVAL },
		{ { .symbol = "vfs_read", .flags = 1, .active = 5000 }, -EINVAL },
		{ { .symbol = "vfs_read", .nargs = 9 }, -EINVAL },
		{ { .symbol = "vfs_read", .pad = 1 }, -EINVAL },
		{ { .symbol = "vfs_read", .nargs = 1, .arg = { { 8, 8, 0, 0 } } }, -EINVAL },
		{ { .symbol = "vfs_read", .nargs = 1, .arg = { { 0, 3, 0, 0 } } }, -EINVAL },
		{ { .symbol = "vfs_read", .nargs = 1, .arg = { { 0, 8, 2, 0 } } }, -EINVAL },
		{ { .symbol = "vfs_read", .flags = 1, .nargs = 1, .arg = { { 1, 8, 0, 0 } } },
		  -EINVAL },
		{ { .symbol = "vfs_read", .nfilter = 1 }, -EINVAL },
	};
	struct hwt_kmod_probe p = { .symbol = "vfs_read" };

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int rc = try(&row[i].p, 1);

		if (rc != row[i].error)
			client_fail("function %u: %s", i, strerror(-rc));
	}
	memset(p.symbol, 'a', sizeof(p.symbol));
	if (try(&p, 1) != -EINVAL || try(&p, 65) != -EINVAL || try(NULL, 1) != -EFAULT)
		client_fail("functions that can not be");
}

/* Only reads that ask for an odd number of bytes. */
static void filter(void)
{
	static const struct hwt_bpf_insn odd[] = {
		{ 0x20, 0, 0, sizeof(struct hwt_rec_probe) }, { 0x45, 0, 1, 1 },
		{ 6, 0, 0, 1 }, { 6, 0, 0, 0 },
	};
	struct hwt_kmod_probe p = { .symbol = "vfs_read", .nargs = 1, .arg = { { 2, 4, 0, 0 } },
		.nfilter = 4, .filter = (uintptr_t)odd };
	struct client_opts o = { .sub_size = 65536, .subs = 32, .probes = &p, .nprobes = 1,
		.pid = getpid() };
	struct client c;
	pthread_t t;

	begin(&c, &o);
	pthread_create(&t, NULL, reads, NULL);
	pthread_join(t, NULL);
	client_finish(&c);
	/* a session of the process: a thread that it makes belongs to it */
	if (c.own[0] != READS / 2)
		client_fail("%" PRIu64 " odd reads", c.own[0]);
}

void case_func(void)
{
	values();
	missed(false);
	missed(true);
	offset();
	filter();
	refused();
}
