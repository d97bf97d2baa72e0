/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that changes while it is traced, and code that ends in an instruction of two bytes. Bytes
 * are ETMv4 packets by the manual (Arm IHI 0064, chapter 6) and hand-assembled A64, A32 and T32;
 * what ran follows from both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../../decoders/flow/flow.h"

#define L	0xffffff8008080000ull
#define EVENTS	128

/* A-sync, Trace Info, Trace On */
#define SYNC	"000000000000000000000080" "010100" "04"
/* Context (64-bit, EL0, secure), address L */
#define AT_L	SYNC "8110" "9d0000080880ffffff"
/* Context (32-bit), address 0x8000 of T32 and A32 */
#define AT_T32	SYNC "8100" "9b00800000"
#define AT_A32	SYNC "8100" "9a00400000"
#define TS500	"02f403"
#define TS900	"028407"
#define TS1100	"02cc08"
#define TS1200	"02b009"
#define E_ATOM	"f7"

struct run {
	uint8_t bytes[1024];
	struct hwt_image *image;
	struct notes notes;
	struct machine *machine;
	struct hwt_event ev[EVENTS];
	int nev;
};

static void start(struct run *r)
{
	memset(r, 0, sizeof(*r));
	assert_int_equal(image_new(&r->image, &r->notes), 0);
	assert_int_equal(machine_new(&r->machine), 0);
}

static void stop(struct run *r)
{
	image_free(r->image);
	machine_free(r->machine);
	notes_free(&r->notes);
}

static void put(struct run *r, uint64_t time, uint64_t at, const void *p, size_t n)
{
	assert_int_equal(image_add_bytes(r->image, HWT_NONE, time, at, p, n, NULL), 0);
}

/* @hz: of the counter; 0: it has no map to the base clock */
static void decode(struct run *r, const char *hex, uint64_t hz, uint64_t span_time)
{
	struct trace_cfg cfg = { .name = "ETM_0", .core = "", .proto = HWT_PROTO_ETM4,
				 .trace_id = 0x10, .arch = 8, .profile = 'A', .cpu = 2 };
	struct trace_span span = { .p = r->bytes, .time = span_time, .pid = HWT_NONE,
				   .tid = HWT_NONE };
	struct trace_buf buf = { .name = "test", .spans = &span, .nspans = 1, .cfgs = &cfg,
				 .ncfgs = 1, .cpu = HWT_NONE, .pid = HWT_NONE, .tid = HWT_NONE };
	struct hwt_interest want = { .level = HWT_LEVEL_RANGES, .time_hi = HWT_TIME_UNKNOWN };
	struct time_map map = { 0 };
	struct flow_args a = { .want = &want, .buf = &buf, .image = r->image,
			       .machine = r->machine, .tsc = hz ? &map : NULL };
	struct hwt_stream *s;
	unsigned v;
	int n;

	for (; hex[0] && hex[1]; hex += 2) {
		assert_int_equal(sscanf(hex, "%2x", &v), 1);
		assert_true(span.size < sizeof(r->bytes));
		r->bytes[span.size++] = (uint8_t)v;
	}
	cfg.r.etm4.idr0 = 0x28000ea1;
	cfg.r.etm4.idr1 = 0x4100f403;
	cfg.r.etm4.idr2 = 0x20001088;
	cfg.r.etm4.configr = 0x801;
	if (hz)
		assert_true(time_map_exact(&map, hz));
	assert_int_equal(flow_ocsd_new(&s, &a, NULL), 0);
	r->nev = 0;
	while ((n = hwt_stream_next(s, r->ev + r->nev, EVENTS - r->nev)) > 0)
		r->nev += n;
	assert_int_equal(n, 0);
	hwt_stream_close(s);
}

/* The @k-th RANGE or GAP. */
static const struct hwt_event *nth(const struct run *r, int k)
{
	for (int i = 0; i < r->nev; i++)
		if ((r->ev[i].type == HWT_EV_RANGE || r->ev[i].type == HWT_EV_GAP) && !k--)
			return &r->ev[i];
	return NULL;
}

static void ran(const struct run *r, int k, uint64_t first, uint64_t last, uint32_t insns)
{
	const struct hwt_event *e = nth(r, k);

	assert_non_null(e);
	assert_int_equal(e->type, HWT_EV_RANGE);
	assert_int_equal(e->u.range.first, first);
	assert_int_equal(e->u.range.last, last);
	assert_int_equal(e->u.range.insns, insns);
	assert_false(e->flags & HWT_F_DOUBT);
}

static void hole(const struct run *r, int k, unsigned cause, uint64_t addr)
{
	const struct hwt_event *e = nth(r, k);

	assert_non_null(e);
	assert_int_equal(e->type, HWT_EV_GAP);
	assert_string_equal(hwt_gap_name((unsigned)e->u.gap.cause), hwt_gap_name(cause));
	assert_int_equal(e->u.gap.addr, addr);
}

static const uint32_t NOP = 0xd503201f, BNE = 0x54000021;	/* b.ne to the next instruction */

/* At first a NOP and a branch at L, from 1000 ns on a branch at once. */
static void versions(struct run *r)
{
	const uint32_t old[] = { NOP, BNE, NOP, NOP }, new[] = { BNE, BNE };

	put(r, 0, L, old, sizeof(old));
	put(r, 1000, L, new, sizeof(new));
}

/* Before the change, over it, and after it. */
static void test_change(void **state)
{
	struct run r;

	start(&r);
	versions(&r);
	decode(&r, AT_L TS500 E_ATOM TS900 AT_L E_ATOM TS1100 AT_L E_ATOM TS1200, 1000000000,
	       HWT_TIME_UNKNOWN);
	ran(&r, 0, L, L + 4, 2);
	hole(&r, 1, HWT_GAP_BAD_IMAGE, L);
	ran(&r, 2, L, L, 1);
	assert_null(nth(&r, 3));
	/* the change at the very edge of the interval may be in it */
	stop(&r);
	start(&r);
	put(&r, 0, L, (uint32_t[]){ NOP, BNE }, 8);
	put(&r, 900, L, (uint32_t[]){ BNE }, 4);
	decode(&r, AT_L TS500 E_ATOM TS900 AT_L E_ATOM TS1100, 1000000000, HWT_TIME_UNKNOWN);
	hole(&r, 0, HWT_GAP_BAD_IMAGE, L);
	ran(&r, 1, L, L, 1);
	assert_null(nth(&r, 2));
	stop(&r);
}

/* Before the first timestamp all is possible that was before the next one. */
static void test_first(void **state)
{
	struct run r;

	start(&r);
	versions(&r);
	decode(&r, AT_L E_ATOM TS500 AT_L E_ATOM TS900, 1000000000, 5000);
	ran(&r, 0, L, L + 4, 2);
	ran(&r, 1, L, L + 4, 2);
	stop(&r);
	start(&r);
	versions(&r);
	decode(&r, AT_L E_ATOM TS1100 AT_L E_ATOM TS1200, 1000000000, 5000);
	hole(&r, 0, HWT_GAP_BAD_IMAGE, L);
	ran(&r, 1, L, L, 1);
	stop(&r);
	/* behind the last one as well */
	start(&r);
	versions(&r);
	decode(&r, AT_L TS900 E_ATOM, 1000000000, 5000);
	hole(&r, 0, HWT_GAP_BAD_IMAGE, L);
	stop(&r);
}

/* What is the same in all versions is known; so is what was the only thing there. */
static void test_same(void **state)
{
	struct run r;

	start(&r);
	put(&r, 0, L, (uint32_t[]){ NOP, BNE, NOP, NOP }, 16);
	put(&r, 1000, L, (uint32_t[]){ NOP, BNE, BNE }, 12);
	put(&r, 1050, L, (uint32_t[]){ NOP, BNE, NOP, BNE }, 16);
	decode(&r, AT_L TS900 E_ATOM E_ATOM TS1100 AT_L E_ATOM E_ATOM TS1200, 1000000000,
	       HWT_TIME_UNKNOWN);
	ran(&r, 0, L, L + 4, 2);
	hole(&r, 1, HWT_GAP_BAD_IMAGE, L + 8);
	ran(&r, 2, L, L + 4, 2);
	ran(&r, 3, L + 8, L + 12, 2);
	assert_null(nth(&r, 4));
	stop(&r);
	start(&r);
	put(&r, 1000, L, (uint32_t[]){ NOP, BNE }, 8);
	decode(&r, AT_L TS500 E_ATOM TS900 AT_L E_ATOM TS1100, 1000000000, HWT_TIME_UNKNOWN);
	hole(&r, 0, HWT_GAP_NO_IMAGE, L);
	ran(&r, 1, L, L + 4, 2);
	assert_null(nth(&r, 2));
	stop(&r);
}

/* Without timestamps, or with those of an unknown clock, the recorder's time of the span counts. */
static void test_untimed(void **state)
{
	struct run r;

	start(&r);
	versions(&r);
	decode(&r, AT_L E_ATOM, 1000000000, 999);
	ran(&r, 0, L, L + 4, 2);
	decode(&r, AT_L E_ATOM, 1000000000, 1000);
	ran(&r, 0, L, L, 1);
	decode(&r, AT_L E_ATOM, 1000000000, HWT_TIME_UNKNOWN);
	ran(&r, 0, L, L, 1);
	decode(&r, AT_L TS1100 E_ATOM TS1200, 0, 999);
	ran(&r, 0, L, L + 4, 2);
	stop(&r);
}

/* movs r0, #1; bx lr: told as bytes, as a small dump, and at the end of a large one. */
static void test_t32_end(void **state)
{
	static const uint8_t code[] = { 0x01, 0x20, 0x70, 0x47 };
	/* the end of the large one: b.w to the next; movs; bx lr */
	static const uint8_t bw[] = { 0x00, 0xf0, 0x00, 0xb8, 0x01, 0x20, 0x70, 0x47 };
	char path[] = "/tmp/hwt-t32-XXXXXX";
	int fd = mkstemp(path);
	struct hwt_map m = { .addr = 0x8000, .size = 4, .path = path, .pid = HWT_NONE, .raw = 1 };
	uint8_t big[0x4000];
	struct run r;

	assert_true(fd >= 0);
	start(&r);
	put(&r, 0, 0x8000, code, 4);
	decode(&r, AT_T32 E_ATOM, 0, HWT_TIME_UNKNOWN);
	ran(&r, 0, 0x8000, 0x8002, 2);
	assert_int_equal(nth(&r, 0)->u.range.isa, HWT_ISA_T32);
	assert_int_equal(nth(&r, 0)->u.range.kind, HWT_INSN_RETURN);
	assert_null(nth(&r, 1));
	stop(&r);

	assert_int_equal(pwrite(fd, code, 4, 0), 4);
	start(&r);
	assert_int_equal(image_add_map(r.image, &m), 0);
	decode(&r, AT_T32 E_ATOM, 0, HWT_TIME_UNKNOWN);
	ran(&r, 0, 0x8000, 0x8002, 2);
	assert_null(nth(&r, 1));
	stop(&r);

	for (size_t i = 0; i < sizeof(big); i += 4)	/* b.w to the next, all over */
		memcpy(big + i, bw, 4);
	memcpy(big + sizeof(big) - 8, bw, 8);
	assert_int_equal(pwrite(fd, big, sizeof(big), 0), sizeof(big));
	m.size = sizeof(big);
	m.addr = 0x8008 - sizeof(big);
	start(&r);
	assert_int_equal(image_add_map(r.image, &m), 0);
	decode(&r, AT_T32 E_ATOM E_ATOM, 0, HWT_TIME_UNKNOWN);
	ran(&r, 0, 0x8000, 0x8000, 1);
	ran(&r, 1, 0x8004, 0x8006, 2);
	assert_null(nth(&r, 2));
	stop(&r);
	close(fd);
	unlink(path);
}

/* Half of an instruction is none. */
static void test_half(void **state)
{
	struct run r;

	start(&r);	/* movs, then the first half of b.w */
	put(&r, 0, 0x8000, (uint8_t[]){ 0x01, 0x20, 0x00, 0xf0 }, 4);
	decode(&r, AT_T32 E_ATOM, 0, HWT_TIME_UNKNOWN);
	ran(&r, 0, 0x8000, 0x8000, 1);
	hole(&r, 1, HWT_GAP_NO_IMAGE, 0x8002);
	assert_null(nth(&r, 2));
	stop(&r);
	start(&r);	/* half of an A32 instruction */
	put(&r, 0, 0x8000, (uint8_t[]){ 0x01, 0x20, 0xa0, 0xe3, 0x1e, 0xff }, 6);
	decode(&r, AT_A32 E_ATOM, 0, HWT_TIME_UNKNOWN);
	ran(&r, 0, 0x8000, 0x8000, 1);
	hole(&r, 1, HWT_GAP_NO_IMAGE, 0x8004);
	stop(&r);
	start(&r);	/* the same, where it might be one of T32 */
	put(&r, 0, 0x8000, (uint8_t[]){ 0x01, 0x20 }, 2);
	decode(&r, AT_A32 E_ATOM, 0, HWT_TIME_UNKNOWN);
	hole(&r, 0, HWT_GAP_NO_IMAGE, 0x8000);
	for (int i = 1; nth(&r, i); i++)
		assert_true(nth(&r, i)->type == HWT_EV_GAP || nth(&r, i)->flags & HWT_F_DOUBT);
	stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_untimed),
		cmocka_unit_test(test_t32_end),
		cmocka_unit_test(test_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
