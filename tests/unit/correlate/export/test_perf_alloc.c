/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory runs out at every allocation of an export in turn: it says so, and leaves none behind. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "correlate/export/perf.h"
#include "hwtrace/image/image.h"
#include "hwtrace/source/capture.h"
#include "tests/support/scratch.h"

#ifndef __SANITIZE_ADDRESS__
#include "tests/support/nomem.h"

/* Exports again with one more allocation each time, until it is done. */
static void each(struct capture *c)
{
	struct hwt_export_opts o = { .size = sizeof(o), .images = scratch("images"), .force = 1 };
	struct hwt_export_result res = { 0 };
	int fd = open("/dev/null", O_WRONLY), rc;
	struct hwt_diag d;
	long n = 0;

	/* what the image keeps of a first search is the image's */
	assert_int_equal(export_perf(c, fd, &o, &res, &d), 0);
	do {
		countdown = n++;
		balance = 0;
		on = true;
		rc = export_perf(c, fd, &o, &res, &d);
		on = false;
		assert_int_equal(balance, 0);
		assert_true(rc == 0 || (rc == -ENOMEM && d.text[0]));
	} while (rc && n < 10000);
	assert_int_equal(rc, 0);
	assert_true(n > 10);
	close(fd);
}

static void test_pt(void **state)
{
	static const uint8_t trace[64] = { 2, 0x82 };
	struct hwt_map m = { .addr = 0x400000, .size = 0x1000, .pid = 7, .path = "/no/file" };
	struct capture *c;
	struct trace_buf *b;
	struct trace_cfg *g;

	(void)state;
	assert_int_equal(capture_new(&c), 0);
	c->format = c->path = "test";
	c->tsc.mult = 1;
	b = capture_add_buf(c, "b");
	b->tid = b->pid = HWT_NONE;
	g = capture_add_cfg(c, b);
	g->proto = HWT_PROTO_PT;
	for (unsigned i = 0; i < 40; i++)
		*capture_add_span(c, b) = (struct trace_span){ .p = trace, .size = sizeof(trace),
			.pos = 100 * i, .cause_before = HWT_GAP_AUX_MISSING, .lost_before = 10,
			.time = i, .pid = HWT_NONE, .tid = HWT_NONE };
	for (int i = 0; i < 40; i++) {
		machine_task(c->machine, i, i);
		machine_set_comm(c->machine, i, "x", 1);
		machine_switch(c->machine, 0, i, i, i, 0);
		image_add_bytes(c->image, i, i, 0x1000, trace, sizeof(trace), NULL);
	}
	image_add_map(c->image, &m);
	each(c);
	capture_free(c);
}

static void test_frames(void **state)
{
	static const uint8_t trace[64] = { 0xff, 0xff, 0xff, 0x7f, 0x21, 1 };
	struct capture *c;

	(void)state;
	assert_int_equal(capture_new(&c), 0);
	c->format = c->path = "test";
	for (uint8_t i = 0; i < 3; i++) {
		struct trace_buf *b = capture_add_buf(c, "b");
		struct trace_cfg *g = capture_add_cfg(c, b);

		b->framing = i ? FRAMING_NONE : FRAMING_TPIU;
		b->cpu = b->tid = b->pid = HWT_NONE;
		*g = (struct trace_cfg){ .core = "Cortex-A57", .proto = HWT_PROTO_ETM4, .cpu = i,
			.trace_id = 0x10 + i, .arch = 8, .profile = 'A' };
		g->r.etm4.configr = 1;
		g->r.etm4.idr0 = 0x28000ea1;
		g->r.etm4.idr1 = 0x4100f403;
		g->r.etm4.idr2 = 0x488;
		*capture_add_span(c, b) = (struct trace_span){ .p = trace, .size = sizeof(trace),
			.time = HWT_TIME_UNKNOWN, .pid = HWT_NONE, .tid = HWT_NONE };
	}
	each(c);
	capture_free(c);
}

#else

static void test_pt(void **state) { skip(); }
static void test_frames(void **state) { skip(); }

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pt), cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
