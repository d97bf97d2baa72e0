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

#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"
#include "hwtrace/source/capture.h"
#include "hwtrace/source/raw.h"
#include "tests/support/mkperf.h"
#include "tests/support/vdir.h"

#ifndef __SANITIZE_ADDRESS__
#include "tests/support/nomem.h"

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
static char name[64], native[64];

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

/* What could be written is read, and what is written last says that it is whole. */
static int write_native(struct hwt_diag *d)
{
	struct trace_cfg g = { .proto = HWT_PROTO_PT, .core = "" };
	struct hwt_map m = { .addr = 0x1000, .size = 0x1000, .path = name, .pid = 1 };
	struct hwt_rec r = { .id = HWT_ID_DIRTY, .size = sizeof(r), .version = 1 };
	struct native_writer *w;
	int rc = native_create(&w, native, true, d);

	if (rc)
		return rc;
	native_map(w, &m);
	native_file(w, name, NULL, NULL, 0);
	native_pages(w, 1, 0x3000, 0, "abc", 3);
	native_task(w, 1, 2, "x");
	native_add_buf(w, "b", 0, 1, 2, FRAMING_NONE, &g, 1);
	native_trace(w, 0, 5, "abc", 3);
	native_event(w, 0, &r, sizeof(r));
	return native_close(w, d);
}

static int read_native(struct hwt_diag *d)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_stream *s;
	struct hwt_event ev;
	struct capture *c;
	int rc = source_open(&c, native, &o, d);

	if (rc)
		return rc;
	assert_int_equal(c->nbufs, 1);
	assert_int_equal(c->bufs[0].nspans, 1);
	assert_int_equal(c->nevents, 1);
	rc = c->events(c, &s, d);
	if (!rc) {
		assert_int_equal(hwt_stream_next(s, &ev, 1), 1);
		hwt_stream_close(s);
	}
	capture_free(c);
	return rc;
}

static uint8_t *perf_file;
static size_t perf_size;

/* a span in two pieces, a text poke, a feature, a compressed record (RFC 8878, raw block) */
static void make_perf(void)
{
	static const char trace[64];
	struct mkperf m, z;
	size_t at;

	mkperf_init(&m, false);
	mkperf_feature_str(&m, 9, "GenuineIntel,6,94,3");
	mkperf_pt(&m);
	mkperf_mmap2(&m, 0x400000, 0x1000, 0, 5, "/x");
	mkperf_comm(&m, "a", true);
	mkperf_task(&m, 7, 0, 5, 5);
	mkperf_switch(&m, false);
	mkperf_aux(&m, 0, 64, 1);
	mkperf_auxtrace(&m, 0, 32, 0, 1, 0, trace, 32);
	mkperf_auxtrace(&m, 32, 32, 0, 1, 0, trace, 32);
	at = mkperf_begin(&m, 20, 1);
	mkperf_u64(&m, 0x1000);
	mkperf_u16(&m, 2);
	mkperf_u16(&m, 2);
	mkperf_put(&m, "aabb", 4);
	mkperf_sample_id(&m);
	mkperf_end(&m, at);
	mkperf_init(&z, false);
	mkperf_comm(&z, "b", false);
	at = mkperf_begin(&m, 81, 0);
	mkperf_put(&m, "\x28\xb5\x2f\xfd\x00\x38", 6);
	mkperf_put(&m, (uint8_t[]){ (uint8_t)(z.n << 3 | 1), (uint8_t)(z.n >> 5), 0 }, 3);
	mkperf_put(&m, z.p, z.n);
	mkperf_end(&m, at);
	perf_file = mkperf_file(&m, &perf_size);
	mkperf_free(&z);
	mkperf_free(&m);
}

static int read_perf(struct hwt_diag *d)
{
	struct capture *c;
	struct hwt_stream *s;
	struct hwt_event ev[8];
	struct file *f;
	int rc = capture_new(&c);

	if (rc)
		return rc;
	rc = file_mem(&f, "t", perf_file, perf_size);
	if (!rc)
		rc = source_perf.open(c, f, "t", NULL, d);
	if (!rc)
		rc = c->events(c, &s, d);
	if (!rc) {
		do
			rc = hwt_stream_next(s, ev, 8);
		while (rc > 0);
		hwt_stream_close(s);
	}
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
			fail_msg("allocation %ld fails: %d: %s: %s", n, rc, d.file, d.text);
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
	long r = every_allocation(read_raw), p, w = every_allocation(write_native);
	long n = every_allocation(read_native);

	make_perf();
	p = every_allocation(read_perf);
	free(perf_file);
	assert_true(s > 10 && b > 10 && r > 5 && p > 30 && w > 10 && n > 30);
	printf("# out of memory at %ld + %ld + %ld + %ld + %ld + %ld places\n", s, b, r, p, w, n);
}

static int setup(void **state)
{
	FILE *f;

	if (!mkdtemp(path))
		return -1;
	snprintf(name, sizeof(name), "%s/trace.json", path);
	snprintf(native, sizeof(native), "%s/n.hwt", path);
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
	char cmd[80];

	snprintf(cmd, sizeof(cmd), "rm -r %s", path);
	return system(cmd);
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
