/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions with trace units and trace buffers of CPUs, whose registers are the models of
 * ../sim/cs_sim.c: bytes of each CPU count from 0 to 0x6f, with 0x70 where nothing is. COMMAND:
 * refused TEXT; all; hold, until it is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hwtrace/kmod.h>

#define BYTES	(64u << 10)
#define CPUS	2
#define PARAM	"/sys/module/hwtrace/parameters/"

static const uint8_t *map[CPUS];
static uint64_t came;		/* bytes that count */
static int last[CPUS];		/* the last number, -1: none yet */
static int fails;

static void fail(const char *what, long a, long b)
{
	printf("FAIL ete: %s (%ld, %ld): %s\n", what, a, b, strerror(errno));
	fails++;
}

static long param(const char *name)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), PARAM "%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		fail(name, 0, 0);
	close(fd);
	return *text == 'Y' ? 1 : atol(text);
}

static void set(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path, 0, 0);
	close(fd);
}

static struct hwt_kmod_unit unit(uint32_t flags)
{
	return (struct hwt_kmod_unit){ .size = sizeof(struct hwt_kmod_unit), .kind = HWT_KMOD_CS,
		.bytes = BYTES, .flags = flags, .cs.bits = HWT_KMOD_CS_OS | HWT_KMOD_CS_USER |
		HWT_KMOD_CS_TIME | HWT_KMOD_CS_CONTEXT };
}

static int open_session(void)
{
	struct hwt_kmod_session s = { .size = sizeof(s), .sub_size = 4096, .subs = 4 };
	int fd = open(HWT_KMOD_DEVICE, O_RDWR);

	if (fd < 0 || ioctl(fd, HWT_KMOD_OPEN, &s))
		fail("a session", 0, 0);
	return fd;
}

static int start(uint32_t flags)
{
	struct hwt_kmod_unit u = unit(flags);
	int fd = open_session();

	if (ioctl(fd, HWT_KMOD_UNIT, &u)) {
		printf("# %s\n", u.why);
		fail("refused", u.cpu, 0);
	}
	for (unsigned i = 0; i < CPUS; i++) {
		map[i] = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd,
			      (off_t)(HWT_KMOD_TRACE_AT + (uint64_t)i * BYTES));
		if (map[i] == MAP_FAILED)
			fail("a map", i, 0);
		last[i] = -1;
	}
	came = 0;
	if (ioctl(fd, HWT_KMOD_START))
		fail("start", 0, 0);
	return fd;
}

static void finish(int fd)
{
	for (unsigned i = 0; i < CPUS; i++)
		munmap((void *)(uintptr_t)map[i], BYTES);
	close(fd);
	if (param("sim_on"))
		fail("units are left on", param("sim_on"), 0);
}

static struct hwt_kmod_trace ask(int fd, unsigned i)
{
	struct hwt_kmod_trace t = { .size = sizeof(t), .buffer = i };

	if (ioctl(fd, HWT_KMOD_TRACE, &t))
		fail("HWT_KMOD_TRACE", i, 0);
	if (t.end < t.begin || t.end - t.begin > BYTES || t.cpu != (int)i)
		fail("trace", t.end - t.begin, t.cpu);
	return t;
}

/* Numbers follow each other, from the first one on. */
static void count(unsigned i, uint64_t begin, uint64_t end)
{
	for (uint64_t at = begin; at < end; at++) {
		uint8_t b = map[i][at % BYTES];

		if (b == 0x70)
			continue;
		if (b > 0x70 || (last[i] >= 0 && b != (last[i] + 1) % 0x70)) {
			fail("bytes do not follow", b, last[i]);
			return;
		}
		last[i] = b;
		came++;
	}
}

static struct hwt_kmod_trace look(int fd, unsigned i)
{
	struct hwt_kmod_trace t = ask(fd, i);

	count(i, t.begin, t.end);
	t.begin = t.end;
	if (ioctl(fd, HWT_KMOD_TRACE_READ, &t))
		fail("HWT_KMOD_TRACE_READ", i, 0);
	return t;
}

static void cpu1(const char *to)
{
	set("/sys/devices/system/cpu/cpu1/online", to);
}

/* All that the buffers took is read, whatever comes between. */
static void plain(void)
{
	long given = param("sim_given");
	struct hwt_kmod_cs_regs r = { .size = sizeof(r), .cpu = 1 };
	int fd = start(0);

	if (ioctl(fd, HWT_KMOD_CS_REGS, &r) || r.buffer != 1 || r.trace_id ||
	    r.devarch != 0x47705a13 || r.idr[0] != 0x2801cea1)
		fail("regs", r.devarch, r.trace_id);
	for (int k = 0; k < 200; k++) {
		for (unsigned i = 0; i < CPUS; i++) {
			struct hwt_kmod_trace t = look(fd, i);

			if (t.cuts || t.state == HWT_KMOD_TRACE_ENDED)
				fail("cuts", t.cuts, t.state);
		}
		if (k % 20 == 10)
			cpu1("0");
		if (k % 20 == 15)
			cpu1("1");
	}
	if (ioctl(fd, HWT_KMOD_STOP))
		fail("stop", 0, 0);
	for (unsigned i = 0; i < CPUS; i++)
		look(fd, i);
	if ((long)came != param("sim_given") - given || came < 20000)
		fail("bytes", came, param("sim_given") - given);
	printf("ok: plain, %lu bytes\n", (unsigned long)came);
	finish(fd);
}

/* Nobody reads until it is full; then it waits, and goes on when there is room. */
static void full(void)
{
	long given = param("sim_given");
	uint64_t cuts = 0;
	int fd = start(0);

	for (int round = 0; round < 5; round++) {
		struct hwt_kmod_trace t = ask(fd, 0);

		for (int k = 0; k < 3000 && t.state != HWT_KMOD_TRACE_WAITS; k++)
			t = ask(fd, 0);
		if (t.state != HWT_KMOD_TRACE_WAITS || t.end - t.begin < BYTES - 8192)
			fail("it is not full", t.state, t.end - t.begin);
		cuts = t.cuts;
		for (unsigned i = 0; i < CPUS; i++)
			look(fd, i);
		if (ask(fd, 0).state != HWT_KMOD_TRACE_RUNS)
			fail("it does not go on", round, 0);
	}
	ioctl(fd, HWT_KMOD_STOP);
	for (unsigned i = 0; i < CPUS; i++)
		look(fd, i);
	if ((long)came != param("sim_given") - given || cuts != 5)
		fail("bytes", came, cuts);
	printf("ok: full, %lu bytes, %lu cuts\n", (unsigned long)came, (unsigned long)cuts);
	finish(fd);
}

/* The newest: all of the buffer but what was begun anew. */
static void newest(void)
{
	int fd = start(HWT_KMOD_UNIT_NEWEST);
	struct hwt_kmod_trace t;

	for (int k = 0; k < 300; k++)
		ask(fd, k & 1);
	ioctl(fd, HWT_KMOD_STOP);
	for (unsigned i = 0; i < CPUS; i++) {
		t = ask(fd, i);
		came = 0;
		count(i, t.begin, t.end);
		if (t.end - t.begin != BYTES || came < 16 * 48 || t.cuts)
			fail("newest", came, t.cuts);
	}
	printf("ok: newest, %lu bytes\n", (unsigned long)came);
	finish(fd);
}

/* Memory that is not there ends it, with the reason; the other CPU goes on. */
static void fault(void)
{
	struct hwt_kmod_trace t;
	int fd;

	set(PARAM "sim_fault", "2000");
	fd = start(0);
	t = ask(fd, 0);
	for (int k = 0; k < 500 && t.state != HWT_KMOD_TRACE_ENDED; k++)
		t = ask(fd, 0);
	set(PARAM "sim_fault", "0");
	if (t.state != HWT_KMOD_TRACE_ENDED || !strstr(t.why, "not mapped") || t.cuts != 1)
		fail(t.why, t.state, t.cuts);
	ioctl(fd, HWT_KMOD_STOP);
	finish(fd);
	printf("ok: fault, %s\n", t.why);
}

static void refused(const char *why)
{
	struct hwt_kmod_unit u = unit(0);
	int fd = open_session();

	if (!ioctl(fd, HWT_KMOD_UNIT, &u) || !strstr(u.why, why))
		fail(u.why, u.cpu, 0);
	else
		printf("ok: refused, %s\n", u.why);
	close(fd);
}

static void refusals(void)
{
	static const struct { const char *param, *why; } t[] = {
		{ PARAM "sim_none", "neither an ETMv4 nor an ETE" },
		{ PARAM "sim_bare", "does not say where its trace goes" },
		{ PARAM "sim_owned", "firmware or a hypervisor keeps it" },
	};

	for (unsigned i = 0; i < 3; i++) {
		set(t[i].param, "1");
		refused(t[i].why);
		set(t[i].param, "0");
	}
}

static void no_memory(void)
{
	char text[16];
	int i;

	for (i = 1; i < 200; i++) {
		struct hwt_kmod_unit u = unit(0);
		int fd = open_session(), rc;

		snprintf(text, sizeof(text), "%d", i);
		set(PARAM "fail_alloc", text);
		rc = ioctl(fd, HWT_KMOD_UNIT, &u) ? errno : 0;
		if (rc && rc != ENOMEM)
			fail(u.why, rc, i);
		if (param("fail_alloc") > 0) {
			set(PARAM "fail_alloc", "0");
			close(fd);
			break;
		}
		close(fd);
	}
	if (i < 30 || i == 200)
		fail("allocations", i, 0);
	printf("ok: %d allocations, each failed once\n", i - 1);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 3 && !strcmp(argv[1], "refused")) {
		refused(argv[2]);
	} else if (argc == 2 && !strcmp(argv[1], "all")) {
		plain();
		full();
		newest();
		fault();
		refusals();
		no_memory();
		plain();
		if (param("sim_broken"))
			fail("rules are broken", param("sim_broken"), 0);
	} else if (argc == 2 && !strcmp(argv[1], "hold")) {
		start(0);
		printf("ok: held, %ld on\n", param("sim_on"));
		pause();
	}
	return fails != 0;
}
