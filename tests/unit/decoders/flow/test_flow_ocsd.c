/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight flow on hand-made streams. The bytes are ETMv4 packets by the manual (Arm IHI 0064,
 * chapter 6) and 16-byte frames (CoreSight Architecture Specification, "Formatter"); the
 * expectations follow from the packets alone. The code at L and M is hand-assembled A64.
 * Longer than other files: all cases walk the same code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../decoders/flow/flow.h"

#define L 0xffffff8008080000ull
#define M 0xffffff8008090000ull
#define EVENTS 256

/* A-sync, Trace Info, Trace On, Context (64-bit, EL0, secure) and an address: 27 bytes */
#define S_AT(b) "0000000000000000000000800101000481109d0000" b "0880ffffff"
#define S S_AT("08")
#define S2 S_AT("09")
#define BASIC_FRAMES \
	"2100000000000000000000008001008021000481109d0000080880fffefff6c0" \
	"21f6f600010001000100010001000102"
#define BARRIER "ffffff7fffffff7fffffff7fffffff7f"

struct run {
	uint8_t bytes[4096];
	size_t n;
	struct hwt_image *image;
	struct notes notes;
	struct machine *machine;
	struct trace_span span[2];
	struct trace_cfg cfg[4];
	struct trace_buf buf;
	struct hwt_event ev[EVENTS];
	int nev;
	struct hwt_flow_stats st;
};

static size_t unhex(uint8_t *out, size_t max, const char *s)
{
	size_t n = 0;
	unsigned v;

	for (; s[0] && s[1]; s += 2) {
		assert_true(n < max);
		assert_int_equal(sscanf(s, "%2x", &v), 1);
		out[n++] = (uint8_t)v;
	}
	return n;
}

/* nop; b.ne . + 8; nop; nop ... : each atom walks two instructions, taken or not */
static void code(struct run *r, uint64_t at)
{
	uint32_t w[64];

	for (unsigned i = 0; i < 64; i += 2) {
		w[i] = 0xd503201f;
		w[i + 1] = 0x54000021;		/* b.ne to the next instruction */
	}
	assert_int_equal(image_add_bytes(r->image, HWT_NONE, 0, at, w, sizeof(w), NULL), 0);
}

static void start(struct run *r, const char *hex, unsigned framing)
{
	memset(r, 0, sizeof(*r));
	r->n = unhex(r->bytes, sizeof(r->bytes), hex);
	assert_int_equal(image_new(&r->image, &r->notes), 0);
	assert_int_equal(machine_new(&r->machine), 0);
	code(r, L);
	code(r, M);
	r->span[0] = (struct trace_span){ .p = r->bytes, .size = r->n, .time = HWT_TIME_UNKNOWN,
					  .pid = HWT_NONE, .tid = HWT_NONE };
	r->cfg[0] = (struct trace_cfg){ .name = "ETM_0", .core = "", .proto = HWT_PROTO_ETM4,
					.trace_id = 0x10, .arch = 8, .profile = 'A', .cpu = 2 };
	r->cfg[0].r.etm4.idr0 = 0x28000ea1;
	r->cfg[0].r.etm4.idr1 = 0x4100f403;
	r->cfg[0].r.etm4.idr2 = 0x20001088;
	r->cfg[0].r.etm4.configr = 0x811;
	r->buf = (struct trace_buf){ .name = "test", .spans = r->span, .nspans = 1,
				     .cfgs = r->cfg, .ncfgs = 1, .cpu = HWT_NONE, .pid = HWT_NONE,
				     .tid = HWT_NONE, .framing = (uint8_t)framing };
}

static struct hwt_stream *open_flow(struct run *r, unsigned level)
{
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct flow_args a = { .want = &want, .buf = &r->buf, .image = r->image,
			       .machine = r->machine, .src = 3 };
	struct hwt_stream *s = NULL;

	want.level = level;
	assert_int_equal(flow_ocsd_new(&s, &a, NULL), 0);
	return s;
}

static void dump(const struct run *r)
{
	for (int i = 0; i < r->nev; i++) {
		const struct hwt_event *e = &r->ev[i];

		printf("# off %u type %u", (unsigned)e->off, e->type);
		if (e->type == HWT_EV_GAP)
			printf(" %s %u bytes", hwt_gap_name((unsigned)e->u.gap.cause),
			       (unsigned)e->u.gap.bytes);
		if (e->type == HWT_EV_RANGE)
			printf(" %llx n %u", (unsigned long long)e->u.range.first,
			       e->u.range.insns);
		printf("\n");
	}
}

static void decode(struct run *r, int step)
{
	struct hwt_stream *s = open_flow(r, HWT_LEVEL_RANGES);
	int n;

	r->nev = 0;
	while ((n = hwt_stream_next(s, r->ev + r->nev,
				    step < EVENTS - r->nev ? step : EVENTS - r->nev)) > 0) {
		r->nev += n;
		assert_true(r->nev < EVENTS);
	}
	assert_int_equal(n, 0);
	r->st = hwt_container_of(s, struct flow_stream, s)->stats;
	hwt_stream_close(s);
	assert_int_equal(r->st.bytes_in, r->st.bytes_decoded + r->st.bytes_skipped);
	assert_int_equal(r->st.events, r->nev);
	if (getenv("DUMP"))
		dump(r);
}

static void stop(struct run *r)
{
	image_free(r->image);
	machine_free(r->machine);
	notes_free(&r->notes);
}

/* The @k-th event of a type, or NULL. */
static const struct hwt_event *nth(const struct run *r, unsigned type, int k)
{
	for (int i = 0; i < r->nev; i++)
		if (r->ev[i].type == type && !k--)
			return &r->ev[i];
	return NULL;
}

static int count(const struct run *r, unsigned type)
{
	int n = 0;

	while (nth(r, type, n))
		n++;
	return n;
}

static void is_range(const struct hwt_event *e, uint64_t first, bool taken)
{
	assert_non_null(e);
	assert_int_equal(e->u.range.first, first);
	assert_int_equal(e->u.range.last, first + 4);
	assert_int_equal(e->u.range.last_size, 4);
	assert_int_equal(e->u.range.insns, 2);
	assert_int_equal(e->u.range.isa, HWT_ISA_A64);
	assert_int_equal(e->u.range.kind, HWT_INSN_BRANCH);
	assert_int_equal(e->u.range.trace_id, 0x10);
	assert_int_equal(!!(e->flags & HWT_F_TAKEN), taken);
	assert_true(e->flags & HWT_F_COND);
	assert_int_equal(e->cpu, 2);
	assert_int_equal(e->src, 3);
}

static void is_gap(const struct run *r, int k, unsigned cause, uint64_t off, uint64_t bytes)
{
	const struct hwt_event *e = nth(r, HWT_EV_GAP, k);

	assert_non_null(e);
	assert_string_equal(hwt_gap_name((unsigned)e->u.gap.cause), hwt_gap_name(cause));
	assert_int_equal(e->off, off);
	assert_int_equal(e->u.gap.bytes, bytes);
}

/* The three atoms of ETM-BASIC: E, N, E. */
static void is_basic(const struct run *r, int from)
{
	is_range(nth(r, HWT_EV_RANGE, from), L, true);
	is_range(nth(r, HWT_EV_RANGE, from + 1), L + 8, false);
	is_range(nth(r, HWT_EV_RANGE, from + 2), L + 16, true);
}

static void test_basic(void **state)
{
	struct run r;

	start(&r, S "f7f6f7", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_RANGE), 3);
	is_basic(&r, 0);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 1)->off, 28);
	assert_int_equal(count(&r, HWT_EV_GAP), 0);
	assert_int_equal(count(&r, HWT_EV_ON), 1);
	assert_int_equal(count(&r, HWT_EV_OFF), 1);
	assert_int_equal(nth(&r, HWT_EV_ASPACE, 0)->u.aspace.valid, 4 | 8);
	assert_int_equal(nth(&r, HWT_EV_ASPACE, 0)->u.aspace.secure, 1);
	assert_int_equal(r.st.insns, 6);
	assert_int_equal(r.st.ranges, 3);
	assert_int_equal(r.st.bytes_decoded, 30);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 0)->time, HWT_TIME_UNKNOWN);
	stop(&r);
}

/* The counter is set back: nothing is before what was, and how far it reaches is not known. */
static void test_ts_back(void **state)
{
	struct run r;

	start(&r, S "028501f70203f70204f6", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_TIMESTAMP), 3);
	assert_int_equal(count(&r, HWT_EV_RANGE), 3);
	for (int i = 0; i < 3; i++) {
		const struct hwt_event *e = nth(&r, HWT_EV_RANGE, i);

		assert_int_equal(e->time, 0x85);
		assert_int_equal(e->span, i ? FLOW_REACH_UNKNOWN : HWT_SPAN_UNKNOWN);
	}
	assert_int_equal(count(&r, HWT_EV_GAP), 0);
	stop(&r);
}

/* Zero is a value. What follows a timestamp is not before it. */
static void test_ts_zero(void **state)
{
	struct run r;

	start(&r, S "0200f70200f6", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_TIMESTAMP), 2);
	for (int i = 0; i < 2; i++) {
		const struct hwt_event *e = nth(&r, HWT_EV_TIMESTAMP, i);

		assert_int_equal(e->u.value.value, 0);
		assert_int_equal(e->time, 0);
		assert_int_equal(e->clock, HWT_CLOCK_CS);
		assert_int_equal(nth(&r, HWT_EV_RANGE, i)->time, 0);
	}
	assert_int_equal(count(&r, HWT_EV_GAP), 0);
	stop(&r);
}

/* A timestamp has the cycles of its own packet, not what the library had for an earlier one. */
static void test_ts_cycles(void **state)
{
	struct run r;

	/* a cycle count of 1, which damage can make, and timestamps; TRCCONFIGR.CCI is 0 */
	start(&r, S "f7" "11" "0205" "f7" "0206" "f7" "0207" "f7" "0208" "f7" "0209" "f7" "020a",
	      FRAMING_NONE);
	r.cfg[0].r.etm4.configr = 0x801;
	decode(&r, EVENTS);
	assert_int_equal(nth(&r, HWT_EV_CYCLES, 0)->u.value.value, 1);
	assert_int_equal(count(&r, HWT_EV_TIMESTAMP), 6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(nth(&r, HWT_EV_TIMESTAMP, i)->u.value.what, 0);
	stop(&r);
	/* a timestamp with a count of 7, and one without */
	start(&r, S "f7" "11" "030507" "f7" "0206" "f7", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_int_equal(nth(&r, HWT_EV_TIMESTAMP, 0)->u.value.what, 7);
	assert_int_equal(nth(&r, HWT_EV_TIMESTAMP, 1)->u.value.what, 0);
	stop(&r);
}

static void words(struct run *r, uint64_t at, uint32_t w)
{
	assert_int_equal(image_add_bytes(r->image, HWT_NONE, 0, at, &w, sizeof(w), NULL), 0);
}

/* ETMv3 (IHI 0014): 80 is the end of an A-sync; elsewhere it is a P-header of no atoms: damage. */
static void test_no_atoms(void **state)
{
	struct run r;

	start(&r, "000000000080" "0821" "00100000" "84" "80" "84"
	      "000000000080" "0821" "08100000" "84" "84", FRAMING_NONE);
	r.cfg[0].proto = HWT_PROTO_ETM3;
	r.cfg[0].arch = 7;
	r.cfg[0].r.etm3 = (__typeof__(r.cfg[0].r.etm3)){ .idr = 0x4114f250, .cr = 0xc40 };
	for (unsigned i = 0; i < 4; i++)
		words(&r, 0x1000 + 4 * i, 0xe1a00000);		/* nop of A32 */
	decode(&r, EVENTS);
	assert_int_equal(nth(&r, HWT_EV_GAP, 0)->u.gap.cause, HWT_GAP_BAD_PACKET);
	assert_int_equal(nth(&r, HWT_EV_GAP, 0)->off, 13);
	/* what ran behind the next sync, and nothing made of the header */
	assert_int_equal(count(&r, HWT_EV_RANGE), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(nth(&r, HWT_EV_RANGE, i)->u.range.insns, 1);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 0)->u.range.first, 0x1008);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 1)->u.range.first, 0x100c);
	stop(&r);
}

static void test_overflow(void **state)
{
	struct run r;

	start(&r, S "f7" "0005" S2 "f7", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_GAP), 1);
	is_gap(&r, 0, HWT_GAP_OVERFLOW, 28, 0);
	is_range(nth(&r, HWT_EV_RANGE, 0), L, true);
	is_range(nth(&r, HWT_EV_RANGE, 1), M, true);
	assert_int_equal(count(&r, HWT_EV_RANGE), 2);
	assert_true(nth(&r, HWT_EV_GAP, 0) > nth(&r, HWT_EV_RANGE, 0));
	assert_true(nth(&r, HWT_EV_GAP, 0) < nth(&r, HWT_EV_ON, 1));
	stop(&r);
}

static void test_discard(void **state)
{
	struct run r;

	start(&r, S "f7" "0003" S2 "f6", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_GAP), 1);
	is_gap(&r, 0, HWT_GAP_BREAK, 28, 0);
	is_range(nth(&r, HWT_EV_RANGE, 1), M, false);
	stop(&r);
}

/* Two exceptions around an exception return; the second variant announces its return address. */
static void test_exception(void **state)
{
	struct run r;

	start(&r, S "f7" "061d9d0400080880ffffff" "81109d2002010880ffffff" "f7" "07" "0205"
	      "061d9d0800080880ffffff", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_EXCEPTION), 2);
	assert_int_equal(nth(&r, HWT_EV_EXCEPTION, 0)->u.exc.number, 0xe);
	assert_int_equal(nth(&r, HWT_EV_EXCEPTION, 0)->u.exc.from, L + 0x10);
	assert_int_equal(nth(&r, HWT_EV_EXCEPTION, 0)->u.exc.to, HWT_NO_ADDR);
	assert_int_equal(nth(&r, HWT_EV_EXCEPTION, 1)->u.exc.from, L + 0x20);
	assert_int_equal(count(&r, HWT_EV_ERET), 1);
	assert_int_equal(nth(&r, HWT_EV_TIMESTAMP, 0)->u.value.value, 5);
	/* there is no code at the handler: said, with its address */
	assert_int_equal(nth(&r, HWT_EV_GAP, 0)->u.gap.cause, HWT_GAP_NO_IMAGE);
	assert_int_equal(nth(&r, HWT_EV_GAP, 0)->u.gap.addr, 0xffffff8008010480);
	stop(&r);
}

/* What the library has no words for: a system call, and a return from exception of A32. */
static void test_far(void **state)
{
	const struct hwt_event *e;
	struct run r;

	start(&r, S "f7" "06059d0300080880ffffff", FRAMING_NONE);
	words(&r, L + 8, 0xd4000001);		/* svc #0 */
	decode(&r, EVENTS);
	e = nth(&r, HWT_EV_RANGE, 1);
	assert_int_equal(e->u.range.last, L + 8);
	assert_int_equal(e->u.range.kind, HWT_INSN_FAR_CALL);
	assert_int_equal(nth(&r, HWT_EV_EXCEPTION, 0)->u.exc.number, 2);
	assert_int_equal(nth(&r, HWT_EV_EXCEPTION, 0)->u.exc.from, L + 12);
	stop(&r);
	/* context: AArch32; addresses of 32 bits */
	start(&r, "000000000000000000000080010100048100" "9a00400000" "f7" "9a04400000" "f7",
	      FRAMING_NONE);
	words(&r, 0x8000, 0xe25ef004);		/* subs pc, lr, #4 */
	words(&r, 0x8010, 0xe12fff13);		/* bx r3 */
	decode(&r, EVENTS);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 0)->u.range.isa, HWT_ISA_A32);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 0)->u.range.kind, HWT_INSN_FAR_RETURN);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 1)->u.range.last, 0x8010);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 1)->u.range.kind, HWT_INSN_IJUMP);
	stop(&r);
}

/*
 * An exception right behind a return. With an empty return stack (0x5c: the exception tells the
 * return's target; 0x1d: it does not, so something is missing) the library must not see it; a
 * return stack that holds the target is used.
 */
static void test_return_exception(void **state)
{
	struct run r;

	for (unsigned k = 0; k < 3; k++) {
		start(&r, k == 0 ? S "f7" "065c9504" "9508" "f7" S2 "f7" :
			  k == 1 ? S "f7" "061d9504" "9508" "f7" S2 "f7" :
			  S "f7f7" "061d9501" "9510" "f7" S2 "f7", FRAMING_NONE);
		r.cfg[0].r.etm4.configr |= 1 << 12;
		r.cfg[0].r.etm4.idr0 |= 1 << 9;
		words(&r, L, k == 2 ? 0x94000008 : 0xd65f03c0);	/* bl L + 0x20, or ret */
		words(&r, L + 0x20, 0xd65f03c0);
		decode(&r, EVENTS);
		if (k < 2) {
			is_gap(&r, 0, HWT_GAP_BAD_PACKET, 28, 7);
			assert_int_equal(count(&r, HWT_EV_EXCEPTION), 0);
			is_range(nth(&r, HWT_EV_RANGE, 1), M, true);
		} else {
			assert_int_equal(count(&r, HWT_EV_GAP), 0);
			assert_int_equal(nth(&r, HWT_EV_EXCEPTION, 0)->u.exc.from, L + 4);
			is_range(nth(&r, HWT_EV_RANGE, 3), M, true);
		}
		stop(&r);
	}
}

static void test_before_sync(void **state)
{
	struct run r;
	char hex[700] = "";

	for (int i = 0; i < 256; i++)
		strcat(hex, "70");
	strcat(hex, S "f7");
	start(&r, hex, FRAMING_NONE);
	decode(&r, EVENTS);
	is_gap(&r, 0, HWT_GAP_NO_SYNC, 0, 256);
	assert_int_equal(count(&r, HWT_EV_GAP), 1);
	is_range(nth(&r, HWT_EV_RANGE, 0), L, true);
	stop(&r);
	/* the last eleven zeros are the A-sync's */
	start(&r, "0000" S "f7", FRAMING_NONE);
	decode(&r, EVENTS);
	is_gap(&r, 0, HWT_GAP_NO_SYNC, 0, 2);
	is_range(nth(&r, HWT_EV_RANGE, 0), L, true);
	stop(&r);
	start(&r, "7070707070", FRAMING_NONE);
	decode(&r, EVENTS);
	is_gap(&r, 0, HWT_GAP_NO_SYNC, 0, 5);
	stop(&r);
}

static void test_cut(void **state)
{
	struct run r;

	start(&r, S "f7" "00000000000000", FRAMING_NONE);
	decode(&r, EVENTS);
	is_range(nth(&r, HWT_EV_RANGE, 0), L, true);
	is_gap(&r, 0, HWT_GAP_TRUNCATED, 28, 7);
	assert_int_equal(count(&r, HWT_EV_GAP), 1);
	stop(&r);
}

/* 00 07 is reserved here: what follows it is not used until the next A-sync. */
static void test_reserved(void **state)
{
	struct run r;

	start(&r, S "0007" "f7ffff" S2 "f7", FRAMING_NONE);
	decode(&r, EVENTS);
	is_gap(&r, 0, HWT_GAP_BAD_PACKET, 27, 5);
	assert_int_equal(count(&r, HWT_EV_GAP), 1);
	assert_int_equal(count(&r, HWT_EV_RANGE), 1);
	is_range(nth(&r, HWT_EV_RANGE, 0), M, true);
	stop(&r);
}

/* Q without count and address, in a configuration that has no Q elements: never silent. */
static void test_q(void **state)
{
	struct run r;

	start(&r, S "af" "f7" S2 "f7", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_true(count(&r, HWT_EV_GAP) >= 1);
	assert_int_equal(nth(&r, HWT_EV_GAP, 0)->off, 27);
	is_range(nth(&r, HWT_EV_RANGE, count(&r, HWT_EV_RANGE) - 1), M, true);
	assert_int_equal(r.st.bytes_skipped, 2);
	stop(&r);
	/* with TRCIDR0.QSUPP and TRCCONFIGR.QE: something ran, the path is not known */
	start(&r, S "af" "9d00000908" "80ffffff" "f7", FRAMING_NONE);
	r.cfg[0].r.etm4.idr0 |= 3 << 15;
	r.cfg[0].r.etm4.configr |= 3 << 13;
	decode(&r, EVENTS);
	assert_int_equal(nth(&r, HWT_EV_GAP, 0)->u.gap.cause, HWT_GAP_NO_PATH);
	assert_int_equal(nth(&r, HWT_EV_GAP, 0)->u.gap.addr, L);
	assert_int_equal(count(&r, HWT_EV_NOPATH), 1);
	assert_in_range(nth(&r, HWT_EV_NOPATH, 0)->off, 27, 36);
	is_range(nth(&r, HWT_EV_RANGE, 0), M, true);
	assert_int_equal(r.st.bytes_skipped, 0);
	stop(&r);
}

/* Commit and cancel where nothing can be speculative: the configuration contradicts the stream. */
static void test_commit(void **state)
{
	struct run r;

	start(&r, S "f7f7" "2f01" "2d01" "f6" S2 "f7", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_true(count(&r, HWT_EV_GAP) >= 1);
	is_gap(&r, 0, HWT_GAP_BAD_PACKET, 29, nth(&r, HWT_EV_GAP, 0)->u.gap.bytes);
	is_range(nth(&r, HWT_EV_RANGE, count(&r, HWT_EV_RANGE) - 1), M, true);
	stop(&r);
	/* with room for speculation the second E becomes a committed N */
	start(&r, S "f7f7" "2f01" "2d01", FRAMING_NONE);
	r.cfg[0].r.etm4.idr8 = 8;
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_GAP), 0);
	assert_int_equal(count(&r, HWT_EV_RANGE), 1);
	is_range(nth(&r, HWT_EV_RANGE, 0), L, false);
	stop(&r);
}

static void test_frames(void **state)
{
	struct run r;

	start(&r, BASIC_FRAMES, FRAMING_MEM);
	decode(&r, EVENTS);
	is_basic(&r, 0);
	/* the trailing byte of id 0x10 begins a packet that never ends */
	is_gap(&r, 0, HWT_GAP_TRUNCATED, nth(&r, HWT_EV_GAP, 0)->off, 1);
	assert_int_equal(count(&r, HWT_EV_GAP), 1);
	stop(&r);
}

static void test_barrier(void **state)
{
	struct run r;

	start(&r, BASIC_FRAMES BARRIER BASIC_FRAMES, FRAMING_MEM);
	decode(&r, EVENTS);
	is_basic(&r, 0);
	is_basic(&r, 3);
	assert_int_equal(count(&r, HWT_EV_RANGE), 6);
	is_gap(&r, 1, HWT_GAP_BREAK, 48, 0);
	assert_int_equal(count(&r, HWT_EV_GAP), 3);
	assert_int_equal(r.st.bytes_skipped, 2);
	stop(&r);
}

static void test_misaligned(void **state)
{
	static const char hex[] = "21000000000000000000000080010080" "ffffff7f"
		"21000481109d0000080880fffefff6c0" "21f6f600010001000100010001000102";
	struct run r;

	start(&r, hex, FRAMING_TPIU);
	decode(&r, EVENTS);
	is_basic(&r, 0);
	stop(&r);
	start(&r, hex, FRAMING_MEM);
	decode(&r, EVENTS);
	assert_true(count(&r, HWT_EV_GAP) >= 2);
	for (int i = 0; i < r.nev; i++)
		if (r.ev[i].type == HWT_EV_GAP && r.ev[i].off == 16 &&
		    r.ev[i].u.gap.cause == HWT_GAP_BAD_PACKET)
			break;
		else
			assert_int_not_equal(i, r.nev - 1);
	stop(&r);
}

static void test_ids(void **state)
{
	struct run r;

	/* a byte of the trigger's id, twelve zeros of 0x10 */
	start(&r, "fb002100000000000000000000000000" BASIC_FRAMES, FRAMING_MEM);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_TRIGGER), 1);
	assert_int_equal(nth(&r, HWT_EV_TRIGGER, 0)->u.value.what, HWT_TRIGGER_MARK);
	assert_int_equal(nth(&r, HWT_EV_TRIGGER, 0)->off, 0);
	is_gap(&r, 0, HWT_GAP_NO_SYNC, nth(&r, HWT_EV_GAP, 0)->off, 12);
	is_basic(&r, 0);
	stop(&r);
	/* 13 bytes of reserved ids */
	start(&r, "fd00e300000000000000000000000000" BASIC_FRAMES, FRAMING_MEM);
	decode(&r, EVENTS);
	is_basic(&r, 0);
	is_gap(&r, 1, HWT_GAP_RESERVED, 0, 1);
	is_gap(&r, 2, HWT_GAP_RESERVED, 2, 12);
	assert_int_equal(r.st.bytes_skipped, 14);
	stop(&r);
}

static void test_tails(void **state)
{
	struct run r;

	start(&r, BASIC_FRAMES "2100000000", FRAMING_MEM);
	decode(&r, EVENTS);
	is_basic(&r, 0);
	is_gap(&r, 0, HWT_GAP_TRUNCATED, 48, 5);
	assert_int_equal(r.st.bytes_skipped, 6);
	stop(&r);
	start(&r, BASIC_FRAMES "ffff", FRAMING_MEM);
	decode(&r, EVENTS);
	is_basic(&r, 0);
	is_gap(&r, 0, HWT_GAP_TRUNCATED, 48, 2);
	stop(&r);
}

static void test_nothing(void **state)
{
	char hex[129];
	struct run r;

	memset(hex, 'f', 128);
	hex[128] = 0;
	start(&r, hex, FRAMING_MEM);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_RANGE), 0);
	assert_true(r.st.bytes_skipped > 0);
	stop(&r);
	memset(hex, '0', 128);
	start(&r, hex, FRAMING_MEM);
	decode(&r, EVENTS);
	/* 15 bytes of each frame have no owner, the last one is the frame's */
	is_gap(&r, 0, HWT_GAP_NO_SYNC, 0, 60);
	stop(&r);
	start(&r, "ffffff7fffffff7fffffff7fffffff7fffffff7f", FRAMING_TPIU);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_RANGE), 0);
	assert_int_equal(r.st.bytes_in, 20);
	stop(&r);
	start(&r, "", FRAMING_NONE);
	decode(&r, EVENTS);
	assert_int_equal(r.nev, 0);
	stop(&r);
}

/* Two spans: the decoder starts afresh and what the recorder says of the place between is told. */
static void test_spans(void **state)
{
	struct run r;

	start(&r, S "f7" "9d" S2 "f6", FRAMING_NONE);
	r.span[1] = r.span[0];
	r.span[0].size = 29;
	r.span[1].p += 29;
	r.span[1].size -= 29;
	r.span[1].pos = 1000;
	r.span[1].cause_before = HWT_GAP_AUX_LOST;
	r.span[1].lost_before = 971;
	r.buf.nspans = 2;
	decode(&r, EVENTS);
	is_gap(&r, 0, HWT_GAP_TRUNCATED, 28, 1);
	is_gap(&r, 1, HWT_GAP_AUX_LOST, 1000, 0);
	assert_int_equal(nth(&r, HWT_EV_GAP, 1)->u.gap.lost, 971);
	assert_int_equal(r.st.bytes_lost, 971);
	is_range(nth(&r, HWT_EV_RANGE, 1), M, false);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 1)->off, 1027);
	stop(&r);
}

/* A source that the library can not decode: its bytes are counted, the others are decoded. */
static void test_no_decoder(void **state)
{
	struct run r;

	start(&r, S "f7", FRAMING_NONE);
	r.cfg[0].proto = HWT_PROTO_ITM;
	decode(&r, EVENTS);
	is_gap(&r, 0, HWT_GAP_NO_DECODER, 0, 28);
	assert_int_equal(r.nev, 1);
	stop(&r);
}

/* A branch without condition that falls through: trace and code contradict each other. */
static void test_contradiction(void **state)
{
	static const uint32_t w[2] = { 0x14000004, 0xd503201f };	/* b . + 16 */
	struct run r;

	start(&r, S_AT("07") "f6", FRAMING_NONE);
	assert_int_equal(image_add_bytes(r.image, HWT_NONE, 0, L - 0x10000, w, sizeof(w), NULL),
			 0);
	decode(&r, EVENTS);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 0)->u.range.kind, HWT_INSN_JUMP);
	assert_int_equal(nth(&r, HWT_EV_GAP, 0)->u.gap.cause, HWT_GAP_BAD_IMAGE);
	assert_int_equal(nth(&r, HWT_EV_GAP, 0)->u.gap.addr, L - 0x10000);
	stop(&r);
}

/*
 * Two processes with other code at the same address, told apart by CONTEXTIDR: nothing stale is
 * read after the switch, although the library keeps pages.
 */
static void test_processes(void **state)
{
	static const uint32_t jump = 0x14000004, nop_jump[2] = { 0xd503201f, 0x14000004 };
	/* Context with four bytes of CONTEXTIDR, IHI 0064 6.4.12; the same address each time */
	static const char hex[] =
		"000000000000000000000080" "010100" "04" "8190" "0b000000"
		"9d0020400000000000" "f7"
		"8190" "0c000000" "9d0020400000000000" "f7"
		"8190" "0b000000" "9d0020400000000000" "f7";
	struct run r;

	start(&r, hex, FRAMING_NONE);
	r.cfg[0].r.etm4.configr = 0x851;	/* with CID */
	r.cfg[0].r.etm4.idr2 = 0x20001088;
	assert_int_equal(machine_task(r.machine, 11, 11), 0);
	assert_int_equal(machine_task(r.machine, 12, 12), 0);
	/* long address: bits 8:2 and 15:9 are in the first two bytes */
	assert_int_equal(image_add_bytes(r.image, 11, 0, 0x404000, &jump, 4, NULL), 0);
	assert_int_equal(image_add_bytes(r.image, 12, 0, 0x404000, nop_jump, 8, NULL), 0);
	assert_int_equal(image_add_bytes(r.image, 11, 0, 0x404010, &jump, 4, NULL), 0);
	assert_int_equal(image_add_bytes(r.image, 12, 0, 0x404014, &jump, 4, NULL), 0);
	decode(&r, EVENTS);
	assert_int_equal(count(&r, HWT_EV_RANGE), 3);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 0)->u.range.insns, 1);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 0)->pid, 11);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 1)->u.range.insns, 2);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 1)->pid, 12);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 1)->tid, 12);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 2)->u.range.insns, 1);
	assert_int_equal(nth(&r, HWT_EV_RANGE, 2)->pid, 11);
	stop(&r);
}

/* However few events are taken at a time, they are the same; HOLES counts the same work. */
static void test_steps(void **state)
{
	struct run r;
	struct hwt_event all[EVENTS];
	struct hwt_stream *s;
	struct hwt_flow_stats st;
	int n;

	start(&r, BASIC_FRAMES BARRIER BASIC_FRAMES "2100", FRAMING_MEM);
	decode(&r, EVENTS);
	memcpy(all, r.ev, sizeof(all));
	n = r.nev;
	st = r.st;
	for (int step = 1; step < 4; step++) {
		decode(&r, step);
		assert_int_equal(r.nev, n);
		assert_memory_equal(r.ev, all, (size_t)n * sizeof(all[0]));
	}
	s = open_flow(&r, HWT_LEVEL_HOLES);
	n = hwt_stream_next(s, all, EVENTS);
	assert_int_equal(n, count(&r, HWT_EV_GAP));
	r.st = hwt_container_of(s, struct flow_stream, s)->stats;
	assert_int_equal(r.st.insns, st.insns);
	assert_int_equal(r.st.ranges, st.ranges);
	assert_int_equal(r.st.bytes_decoded, st.bytes_decoded);
	hwt_stream_close(s);
	stop(&r);
}

/* Each byte changed, each cut: no report of a sanitizer, and decode() adds up the bytes. */
static void damage(const char *hex, unsigned framing)
{
	static const uint8_t with[] = { 0x00, 0xff, 0x01, 0x80 };
	struct run r;
	uint8_t keep;

	start(&r, hex, framing);
	for (size_t i = 0; i < r.n; i++) {
		keep = r.bytes[i];
		for (unsigned k = 0; k < 4; k++) {
			r.bytes[i] = k < 2 ? with[k] : keep ^ with[k];
			decode(&r, EVENTS);
		}
		r.bytes[i] = keep;
	}
	for (size_t i = 0; i < r.n; i++) {
		r.span[0].size = i;
		decode(&r, EVENTS);
	}
	stop(&r);
}

static void test_damage(void **state)
{
	damage(S "f7" "0005" S2 "f7" "0200f6" "061d9d0400080880ffffff" "f7", FRAMING_NONE);
	damage("fb002100000000000000000000000000" BASIC_FRAMES BARRIER BASIC_FRAMES, FRAMING_MEM);
	damage("21000000000000000000000080010080" "ffffff7f"
	       "21000481109d0000080880fffefff6c0" "21f6f600010001000100010001000102", FRAMING_TPIU);
}

static void test_packets(void **state)
{
	static const char *const names[] = { "I_ASYNC", "I_TRACE_INFO", "I_TRACE_ON", "I_CTXT",
		"I_ADDR_L_64IS0", "I_ATOM_F1", "I_ATOM_F1", "I_ATOM_F1" };
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_packets *ps;
	struct hwt_packet k;
	struct run r;
	uint64_t at = 0;
	struct flow_args a;

	start(&r, S "f7f6f7" "9d", FRAMING_NONE);
	a = (struct flow_args){ .want = &want, .buf = &r.buf, .image = r.image,
				.machine = r.machine };
	assert_int_equal(packets_ocsd_new(&ps, &a, NULL), 0);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(ps->next(ps, &k), 1);
		assert_string_equal(k.name, names[i]);
		assert_int_equal(k.off, at);
		assert_int_equal(k.bad, 0);
		assert_int_equal(k.trace_id, 0x10);
		assert_int_equal(k.proto, HWT_PROTO_ETM4);
		assert_memory_equal(k.raw, r.bytes + at, k.size);
		at += k.size;
	}
	assert_int_equal(ps->next(ps, &k), 1);
	assert_int_equal(k.bad, 1);
	assert_int_equal(k.off, 30);
	assert_int_equal(k.size, 1);
	assert_int_equal(ps->next(ps, &k), 0);
	ps->close(ps);
	stop(&r);
}

static void test_refused(void **state)
{
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_stream *s = NULL;
	struct hwt_diag diag = { 0 };
	struct flow_args a;
	struct run r;

	start(&r, S "f7", FRAMING_NONE);
	a = (struct flow_args){ .want = &want, .buf = &r.buf, .image = r.image,
				.machine = r.machine };
	r.cfg[0].trace_id = 0x80;
	assert_int_equal(flow_ocsd_new(&s, &a, &diag), -HWT_E_FORMAT);
	assert_int_equal(diag.id, 121);
	assert_null(s);
	stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basic),
		cmocka_unit_test(test_ts_zero), cmocka_unit_test(test_ts_back),
		cmocka_unit_test(test_ts_cycles), cmocka_unit_test(test_no_atoms),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_discard),
		cmocka_unit_test(test_exception), cmocka_unit_test(test_far),
		cmocka_unit_test(test_return_exception),
		cmocka_unit_test(test_before_sync),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_q),
		cmocka_unit_test(test_commit),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_misaligned),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_tails),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_no_decoder),
		cmocka_unit_test(test_contradiction),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
