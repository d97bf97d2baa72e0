/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory runs out at every allocation in turn: each reader says so or does without, and what it
 * had is given back (counted here).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hwtrace/source/capture.h"
#include "hwtrace/source/raw.h"
#include "tests/support/vdir.h"

#ifndef __SANITIZE_ADDRESS__

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void __libc_free(void *p);

static bool on;
static long countdown, balance;

static bool fails(void)
{
	return on && --countdown < 0;
}

void *malloc(size_t n)
{
	void *p = fails() ? NULL : __libc_malloc(n);

	balance += on && p;
	return p;
}

void *calloc(size_t n, size_t size)
{
	void *p = fails() ? NULL : __libc_calloc(n, size);

	balance += on && p;
	return p;
}

void *realloc(void *old, size_t n)
{
	void *p = fails() ? NULL : __libc_realloc(old, n);

	balance += on && p && !old;
	return p;
}

void free(void *p)
{
	balance -= on && p;
	__libc_free(p);
}

static const char snap[] = "=== snapshot.ini\n[snapshot]\nversion=1.0\n[device_list]\nd1=cpu.ini\n"
	"d2=etm.ini\n[trace]\nmetadata=trace.ini\n=== trace.ini\n[trace_buffers]\nbuffers=b0\n"
	"[b0]\nname=ETB\nfile=t.bin\nformat=coresight\n[source_buffers]\nETM_0=ETB\n"
	"[core_trace_sources]\ncpu_0=ETM_0\n=== t.bin\n0123456789abcdef\n"
	"=== etm.ini\n[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4.2\n[regs]\nTRCIDR0=x\n"
	"=== cpu.ini\n[device]\nname=cpu_0\nclass=core\ntype=Cortex-A57\n"
	"[dump1]\nfile=t.bin\naddress=0\n[dump2]\nfile=t.bin\naddress=0x1000\n";

static int read_snapshot(struct hwt_diag *d)
{
	static struct vdir v;
	struct capture *c;
	int rc = capture_new(&c);

	if (rc)
		return rc;
	vdir_init(&v, snap, sizeof(snap) - 1);
	rc = snapshot_read(c, &v.dir, d);
	capture_free(c);
	return rc;
}

static char path[] = "/tmp/hwt-alloc-XXXXXX";
static char name[64];

/* the bundle names itself as trace and as switches */
static int read_bundle(struct hwt_diag *d)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct capture *c;
	int rc = source_open(&c, name, &o, d);

	if (!rc)
		capture_free(c);
	return rc;
}

static int read_raw(struct hwt_diag *d)
{
	static const char text[] = "framing=memory\n[source]\nproto=ETM4\nTRCIDR0=1\nx=y\n";
	struct raw_config cfg = { .dir = NULL };
	struct capture *c;
	struct file *f;
	int rc = capture_new(&c);

	if (rc)
		return rc;
	rc = ini_parse(&cfg.ini, &c->arena, "cfg", text, sizeof(text) - 1, &c->notes);
	if (!rc)
		rc = file_mem(&f, "t", text, sizeof(text));
	if (!rc)
		rc = raw_read_cs(c, f, &cfg, d);
	capture_free(c);
	return rc;
}

/* Ends at the first run in which nothing failed. */
static long every_allocation(int (*run)(struct hwt_diag *d))
{
	struct hwt_diag d;
	long n;
	int rc;

	for (n = 0; ; n++) {
		balance = 0;
		countdown = n;
		on = true;
		rc = run(&d);
		on = false;
		if (balance)
			fail_msg("allocation %ld fails: %ld blocks leak", n, balance);
		if (rc && rc != -ENOMEM && rc != -HWT_E_FORMAT)
			fail_msg("allocation %ld fails: %d", n, rc);
		if (countdown >= 0)
			break;
		assert_true(n < 10000);
	}
	assert_int_equal(rc, 0);
	return n;
}

static void readers(void **state)
{
	long s = every_allocation(read_snapshot), b = every_allocation(read_bundle);
	long r = every_allocation(read_raw);

	assert_true(s > 10 && b > 10 && r > 5);
	printf("# out of memory at %ld + %ld + %ld places\n", s, b, r);
}

static int setup(void **state)
{
	FILE *f;

	if (!mkdtemp(path))
		return -1;
	snprintf(name, sizeof(name), "%s/trace.json", path);
	f = fopen(name, "w");
	if (!f)
		return -1;
	fputs("{\"type\":\"intel-pt\",\"cpuInfo\":{\"vendor\":\"x\",\"family\":6,\"model\":1,"
	      "\"stepping\":1},\"cpus\":[{\"id\":1,\"iptTrace\":\"trace.json\","
	      "\"contextSwitchTrace\":\"trace.json\"}],\"processes\":[{\"pid\":1,"
	      "\"threads\":[{\"tid\":1,\"iptTrace\":\"trace.json\"}],\"modules\":"
	      "[{\"file\":\"none\",\"loadAddress\":4096,\"uuid\":\"0011\"}]}]}", f);
	return fclose(f);
}

static int teardown(void **state)
{
	unlink(name);
	return rmdir(path);
}

int main(void)
{
	static const struct CMUnitTest t[] = { cmocka_unit_test(readers) };

	return cmocka_run_group_tests(t, setup, teardown);
}

#else

int main(void)
{
	puts("the sanitizer has its own malloc");
	return 77;
}

#endif
