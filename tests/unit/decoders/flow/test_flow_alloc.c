/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory runs out at every allocation of ours in turn, and at those of libipt: a constructor says
 * so, touches nothing and gives back what it had, and a stream that was made ends, with that error
 * or with holes. OpenCSD's own allocations are left alone: it is C++ and throws.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../support/ptenc.h"
#include "../../../support/ptflow.h"

#ifndef __SANITIZE_ADDRESS__

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void __libc_free(void *p);
extern char __executable_start, etext;	/* of the linker: the code of this program, library in it */

#define BLOCKS	4096

static bool on, others;		/* @others: calls by shared libraries count, too */
static long countdown, nblocks;
static void *blocks[BLOCKS];	/* that counted calls gave out */

static bool counts(const void *caller)
{
	return on && (others || ((const char *)caller >= &__executable_start &&
				 (const char *)caller < &etext));
}

static bool fails(bool counted)
{
	return counted && --countdown < 0;
}

static void gave(void *p, bool counted)
{
	if (!counted || !p)
		return;
	if (nblocks == BLOCKS)
		__builtin_trap();
	blocks[nblocks++] = p;
}

static void took(const void *p)
{
	for (long i = nblocks; on && p && i--;) {
		if (blocks[i] != p)
			continue;
		blocks[i] = blocks[--nblocks];
		return;
	}
}

void *malloc(size_t n)
{
	bool counted = counts(__builtin_return_address(0));
	void *p = fails(counted) ? NULL : __libc_malloc(n);

	gave(p, counted);
	return p;
}

void *calloc(size_t n, size_t size)
{
	bool counted = counts(__builtin_return_address(0));
	void *p = fails(counted) ? NULL : __libc_calloc(n, size);

	gave(p, counted);
	return p;
}

void *realloc(void *old, size_t n)
{
	bool counted = counts(__builtin_return_address(0));
	void *p;

	if (fails(counted))
		return NULL;
	p = __libc_realloc(old, n);
	if (p)
		took(old);
	gave(p, counted);
	return p;
}

void free(void *p)
{
	took(p);
	__libc_free(p);
}

static struct ptflow pf;
static uint8_t bytes[1024];
static struct flow_args args;
static int32_t cpus[] = { 3 };

/* Holes, foreign packets (a copy is made), a bridge, and code in a file and in memory. */
static void make_pt(void)
{
	struct model_pt_buf e;

	ptflow_init(&pf);
	pf.want.resync = HWT_RESYNC_PACKET;
	pf.want.cpus = cpus;
	pf.want.ncpus = 1;
	ptflow_code(&pf, HWT_NONE, 0x401000, "7502 7502 90 ff");
	model_pt_init(&e, bytes, sizeof(bytes));
	for (int i = 0; i < 2; i++) {
		ptenc_psb_plus(&e, 0, false);
		model_pt_mnt(&e, 7);
		model_pt_pge(&e, 0x401000);
		ptenc_tnt(&e, "NN");
		model_pt_tip(&e, 0x500000);
		model_pt_tip(&e, 0x401000);
		ptenc_tnt(&e, "N");
		model_pt_fup(&e, 0x401002);
		model_pt_pgd_noip(&e);
	}
	assert_false(e.full);
	ptflow_span(&pf, bytes, e.n);
	args = (struct flow_args){ .want = &pf.want, .buf = &pf.buf, .image = pf.image,
		.machine = pf.machine };
}

static struct hwt_interest want = HWT_INTEREST_ALL;
static struct trace_span cs_span;
static struct trace_cfg cs_cfg[2];
static struct trace_buf cs_buf;

/* ETMv4 in frames: A-sync, trace info, trace on, context, address, atoms; IHI 0064, chapter 6. */
static void make_cs(void)
{
	static const uint8_t etm4[] = { 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0,
		0x80, 0x21, 0, 0x04, 0x81, 0x10, 0x9d, 0, 0, 0x08, 0x08, 0x80, 0xff, 0xfe, 0xff,
		0xf6, 0xc0, 0x21, 0xf6, 0xf6, 0, 0x01, 0, 0x01, 0, 0x01, 0, 0x01, 0, 0x01, 0, 0x01,
		0x02 };

	ptflow_init(&pf);
	ptflow_code(&pf, HWT_NONE, 0xffffff8008080000,
		    "1f2003d5 21000054 1f2003d5 21000054 1f2003d5 21000054");
	cs_span = (struct trace_span){ .p = etm4, .size = sizeof(etm4), .time = HWT_TIME_UNKNOWN,
		.pid = HWT_NONE, .tid = HWT_NONE };
	for (unsigned i = 0; i < 2; i++) {
		cs_cfg[i] = (struct trace_cfg){ .name = "ETM", .core = "", .arch = 8,
			.proto = HWT_PROTO_ETM4, .trace_id = (uint8_t)(0x10 + i), .profile = 'A' };
		cs_cfg[i].r.etm4.idr0 = 0x28000ea1;
		cs_cfg[i].r.etm4.idr1 = 0x4100f403;
		cs_cfg[i].r.etm4.idr2 = 0x20001088;
	}
	cs_buf = (struct trace_buf){ .name = "test", .spans = &cs_span, .nspans = 1,
		.cfgs = cs_cfg, .ncfgs = 2, .cpu = HWT_NONE, .pid = HWT_NONE, .tid = HWT_NONE,
		.framing = FRAMING_MEM };
	args = (struct flow_args){ .want = &want, .buf = &cs_buf, .image = pf.image,
		.machine = pf.machine };
}

static int flow(int (*open)(struct hwt_stream **, const struct flow_args *, struct hwt_diag *),
		struct hwt_diag *d)
{
	struct hwt_event ev[16];
	struct hwt_stream *s = NULL;
	int rc = open(&s, &args, d);

	if (rc < 0) {
		if (s || d->id != 3 || rc != -ENOMEM)
			return -EINVAL;
		return rc;
	}
	do
		rc = hwt_stream_next(s, ev, 16);
	while (rc > 0);
	hwt_stream_close(s);
	return rc;
}

static int packets(int (*open)(struct hwt_packets **, const struct flow_args *, struct hwt_diag *),
		   struct hwt_diag *d)
{
	struct hwt_packets *ps = NULL;
	struct hwt_packet k;
	int rc = open(&ps, &args, d);

	if (rc < 0) {
		if (ps || d->id != 3 || rc != -ENOMEM)
			return -EINVAL;
		return rc;
	}
	do
		rc = ps->next(ps, &k);
	while (rc > 0);
	ps->close(ps);
	return rc;
}

static int flow_pt(struct hwt_diag *d) { return flow(flow_ipt_new, d); }
static int flow_cs(struct hwt_diag *d) { return flow(flow_ocsd_new, d); }
static int list_pt(struct hwt_diag *d) { return packets(packets_pt_new, d); }
static int list_cs(struct hwt_diag *d) { return packets(packets_ocsd_new, d); }

/* Ends at the first run in which nothing failed. */
static long every_allocation(int (*run)(struct hwt_diag *d), bool all)
{
	struct hwt_diag d;
	long n;
	int rc;

	/* what image and machine keep is theirs */
	assert_int_equal(run(&d), 0);
	for (n = 0; ; n++) {
		d.id = 0;
		nblocks = 0;
		countdown = n;
		others = all;
		on = true;
		rc = run(&d);
		on = false;
		if (nblocks)
			fail_msg("allocation %ld fails: %ld blocks leak", n, nblocks);
		if (rc && rc != -ENOMEM)
			fail_msg("allocation %ld fails: %d", n, rc);
		if (countdown >= 0)
			break;
		assert_true(n < 10000);
	}
	assert_int_equal(rc, 0);
	return n;
}

static void test_pt(void **state)
{
	long f, p;

	make_pt();
	f = every_allocation(flow_pt, true);
	p = every_allocation(list_pt, true);
	ptflow_fini(&pf);
	assert_true(f > 10 && p == 1);
	printf("# Intel PT: out of memory at %ld + %ld places\n", f, p);
}

static void test_cs(void **state)
{
	long f, p;

	make_cs();
	f = every_allocation(flow_cs, false);
	p = every_allocation(list_cs, false);
	ptflow_fini(&pf);
	assert_true(f > 4 && p > 2);
	printf("# CoreSight: out of memory at %ld + %ld places\n", f, p);
}

int main(void)
{
	const struct CMUnitTest cs[] = { cmocka_unit_test(test_cs) };
	const struct CMUnitTest pt[] = { cmocka_unit_test(test_pt) };
	int failed = cmocka_run_group_tests(cs, NULL, NULL);

	if (failed)
		return failed;
	return ptflow_missing() ? 77 : cmocka_run_group_tests(pt, NULL, NULL);
}

#else

int main(void)
{
	puts("the sanitizer has its own malloc");
	return 77;
}

#endif
