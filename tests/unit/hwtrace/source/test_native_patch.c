/* SPDX-License-Identifier: BSD-2-Clause */
/* text.patch to code by time: of x86 at its stamp, of arm64 in doubt until all CPUs have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"
#include "hwtrace/image/image.h"
#include "hwtrace/source/capture.h"
#include "tests/support/scratch.h"

#define A	0xffff800000001000
#define B	0xffff800000002000
#define C	0xffff800000003000

static struct native_writer *w;
static struct capture *c;

static void patch(int32_t cpu, uint64_t time, uint64_t addr, uint32_t kind, const char *from,
		  const char *to)
{
	struct hwt_rec_text_patch r = { .rec = { .time = time, .id = HWT_ID_text_patch,
		.size = sizeof(r), .version = HWT_ABI_VERSION, .pid = 1, .tid = 1 },
		.addr = addr, .size = 4, .kind = kind };

	memcpy(r.old_code, from, 4);
	memcpy(r.new_code, to, 4);
	assert_int_equal(native_event(w, cpu, &r, sizeof(r)), 0);
}

static void make(const char *arch)
{
	struct native_clock k = { .counter = "cntvct", .base = "CLOCK_MONOTONIC",
		.frequency = 1000000000 };
	const struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_diag diag;

	assert_int_equal(native_create(&w, scratch("p.hwt"), true, &diag), 0);
	native_set(w, "capture", "arch", arch);
	assert_int_equal(native_clock(w, &k), 0);
	/* two branches and their end; the end is told on the CPU that is read first */
	patch(0, 2000, B, HWT_patch_kind_branch_done, "bbbb", "bbbb");
	patch(0, 5000, A, HWT_patch_kind_branch_done, "cccc", "cccc");
	patch(1, 1000, A, HWT_patch_kind_branch, "aaaa", "bbbb");
	patch(1, 1500, B, HWT_patch_kind_branch, "aaaa", "bbbb");
	patch(1, 4000, A, HWT_patch_kind_branch, "bbbb", "cccc");
	/* nothing tells of its end: not what is told of branches, nor of an earlier one */
	patch(1, 4500, C, HWT_patch_kind_ftrace, "aaaa", "bbbb");
	patch(1, 6000, B, HWT_patch_kind_branch, "bbbb", "aaaa");
	assert_int_equal(native_close(w, &diag), 0);
	assert_int_equal(source_open(&c, scratch("p.hwt"), &o, &diag), 0);
}

/* All four bytes from @lo to @hi are @want; 0: they differ. */
static void during(uint64_t lo, uint64_t hi, uint64_t addr, char want)
{
	struct hwt_where at = { .pid = HWT_NONE, .time = lo };
	char code[4] = "";
	uint64_t differs;
	int n = image_read_during(c->image, &at, hi, addr, code, 4, &differs);

	assert_int_equal(n, want ? 4 : 0);
	if (!want) {
		assert_true(differs == addr);
		return;
	}
	assert_true(differs == HWT_NO_ADDR);
	for (int i = 0; i < 4; i++)
		assert_int_equal(code[i], want);
}

static void in_doubt(void **state)
{
	make("aarch64");
	during(0, 999, A, 'a');
	during(900, 1000, A, 0);
	during(1000, 1000, A, 0);
	during(1300, 1700, A, 0);
	during(1999, 2000, A, 0);
	during(2000, 3999, A, 'b');
	during(2000, 4000, A, 0);
	during(4999, 4999, A, 0);
	during(5000, HWT_TIME_UNKNOWN, A, 'c');
	during(1000, 1499, B, 'a');
	during(1500, 1500, B, 0);
	during(2000, 5999, B, 'b');
	/* its end never comes */
	during(6000, 6000, B, 0);
	during(9000, 9000, B, 0);
	during(0, 4499, C, 'a');
	during(9000, 9000, C, 0);
	capture_free(c);
}

static void at_once(void **state)
{
	make("x86_64");
	during(0, 999, A, 'a');
	during(999, 1000, A, 0);
	during(1000, 3999, A, 'b');
	during(4000, HWT_TIME_UNKNOWN, A, 'c');
	during(1500, 5999, B, 'b');
	during(6000, 6000, B, 'a');
	during(4500, 4500, C, 'b');
	capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(in_doubt), cmocka_unit_test(at_once) };

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
