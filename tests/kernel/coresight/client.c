/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What uses the module's CoreSight in the guest. COMMAND: mark; no TEXT, it is refused with that;
 * run N OUT [cpu], N looks at each buffer, bytes to OUT-BUFFER, and with "cpu" CPU 1 off and on in
 * between; way, the same where all units have one buffer; hold, until it is killed.
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
#define SINKS	2

static unsigned sinks = SINKS;
static const uint8_t *map[SINKS];
static FILE *out[SINKS];

static void die(const char *what)
{
	printf("FAIL client: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_session(void)
{
	struct hwt_kmod_session s = { .size = sizeof(s), .sub_size = 4096, .subs = 4 };
	int fd = open(HWT_KMOD_DEVICE, O_RDWR);

	if (fd < 0 || ioctl(fd, HWT_KMOD_OPEN, &s))
		die("a session");
	return fd;
}

static struct hwt_kmod_unit unit(void)
{
	return (struct hwt_kmod_unit){ .size = sizeof(struct hwt_kmod_unit), .kind = HWT_KMOD_CS,
		.bytes = BYTES, .cs.bits = HWT_KMOD_CS_OS | HWT_KMOD_CS_USER };
}

static void no(const char *why)
{
	struct hwt_kmod_unit u = unit();
	int fd = open_session();

	if (!ioctl(fd, HWT_KMOD_UNIT, &u)) {
		errno = 0;
		die("it is not refused");
	}
	if (!strstr(u.why, why))
		printf("FAIL client: refused with \"%s\", not \"%s\"\n", u.why, why);
	else
		printf("ok: refused, %s\n", u.why);
	u = unit();
	u.flags = HWT_KMOD_UNIT_TRY;
	if (!ioctl(fd, HWT_KMOD_UNIT, &u))
		die("a question is answered with yes");
}

/* What is new in a buffer; its place was told. */
static void look(int fd, unsigned i)
{
	struct hwt_kmod_trace t = { .size = sizeof(t), .buffer = i };

	if (ioctl(fd, HWT_KMOD_TRACE, &t))
		die("HWT_KMOD_TRACE");
	if (t.cpu != (sinks == 1 ? -1 : (int)i) || t.cuts ||
	    t.state == HWT_KMOD_TRACE_ENDED)
		printf("FAIL client: buffer %u of CPU %d, %llu cuts, state %u %s\n", i, t.cpu,
		       (unsigned long long)t.cuts, t.state, t.why);
	for (uint64_t at = t.begin; at < t.end; at++)
		fputc(map[i][at % BYTES], out[i]);
	t.begin = t.end;
	if (ioctl(fd, HWT_KMOD_TRACE_READ, &t))
		die("HWT_KMOD_TRACE_READ");
}

static void cpu1(const char *to)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY);

	if (fd < 0 || write(fd, to, 1) != 1)
		die("cpu1");
	close(fd);
}

static int start(void)
{
	struct hwt_kmod_unit u = unit();
	int fd = open_session();

	if (ioctl(fd, HWT_KMOD_UNIT, &u)) {
		printf("FAIL client: refused, CPU %d: %s\n", u.cpu, u.why);
		exit(1);
	}
	return fd;
}

/* What the plugin's units have, see build() there. */
static void regs(int fd)
{
	struct hwt_kmod_cs_regs r = { .size = sizeof(r), .cpu = 1 };

	if (ioctl(fd, HWT_KMOD_CS_REGS, &r))
		die("HWT_KMOD_CS_REGS");
	if (r.buffer != sinks - 1 || r.trace_id != 2 || r.devarch != 0x47704a13 || r.configr != 1 ||
	    r.idr[0] != 0x28000ea1 || r.idr[1] != 0x4100f403 || r.idr[5] != 0x28c70824)
		printf("FAIL client: regs\n");
	r.cpu = 7;
	if (!ioctl(fd, HWT_KMOD_CS_REGS, &r) || errno != ENODEV)
		printf("FAIL client: regs of no CPU\n");
}

static void run(int n, const char *to, int cpu)
{
	int fd = start();

	for (unsigned i = 0; i < sinks; i++) {
		char name[256];

		snprintf(name, sizeof(name), "%s-%u", to, i);
		out[i] = fopen(name, "w");
		map[i] = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd,
			      (off_t)(HWT_KMOD_TRACE_AT + (uint64_t)i * BYTES));
		if (!out[i] || map[i] == MAP_FAILED)
			die(name);
	}
	if (mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd,
		 (off_t)(HWT_KMOD_TRACE_AT + sinks * (uint64_t)BYTES)) != MAP_FAILED)
		die("there is one more");
	no("another session");
	regs(fd);
	if (ioctl(fd, HWT_KMOD_START))
		die("start");
	for (int k = 0; k < n; k++) {
		for (unsigned i = 0; i < sinks; i++)
			look(fd, i);
		if (cpu && k == n / 2)
			cpu1("0");
		if (cpu && k == n / 2 + 1)
			cpu1("1");
	}
	if (ioctl(fd, HWT_KMOD_STOP))
		die("stop");
	for (unsigned i = 0; i < sinks; i++) {
		look(fd, i);
		if (fclose(out[i]))
			die("close");
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "mark"))
		__asm__ volatile("movz xzr, #0x4857");
	else if (!strcmp(argv[1], "no") && argc == 3)
		no(argv[2]);
	sinks = strcmp(argv[1], "way") ? SINKS : 1;
	if ((!strcmp(argv[1], "run") || sinks == 1) && argc >= 4)
		run(atoi(argv[2]), argv[3], argc > 4);
	else if (!strcmp(argv[1], "hold")) {
		if (ioctl(start(), HWT_KMOD_START))
			die("start");
		printf("ok: held\n");
		pause();
	}
	return 0;
}
