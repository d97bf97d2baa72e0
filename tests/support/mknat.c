/* SPDX-License-Identifier: BSD-2-Clause */
#include "mknat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

static struct native_writer *w;

/* @n bytes of buffer @buf from @pos on, in pieces, as a unit would send them. */
static void trace(int buf, uint64_t pos, size_t n, uint64_t time)
{
	uint8_t p[16];

	for (size_t i = 0; i < n;) {
		size_t k = n - i < 1 + i % sizeof(p) ? n - i : 1 + i % sizeof(p);

		for (size_t j = 0; j < k; j++)
			p[j] = mknat_byte((unsigned)buf, pos + i + j);
		assert_int_equal(native_trace(w, buf, time, p, k), 0);
		i += k;
	}
}

static void records(int32_t cpu, unsigned from, unsigned to)
{
	struct hwt_rec_sched_switch s = { .rec = { .id = HWT_ID_sched_switch, .size = sizeof(s),
		.version = 1, .pid = 10, .tid = 11 }, .prev_prio = 120, .next_prio = 99,
		.prev_state = 1, .next_aspace = 0x7000 + (uint64_t)cpu };
	struct { struct hwt_rec_mm_map r; char path[16]; } m = { .r = { .rec = {
		.id = HWT_ID_mm_map, .size = sizeof(m), .version = 1, .pid = 20, .tid = 20 },
		.map_pid = 20, .map_tid = 20, .length = 0x2000, .offset = 0x1000, .prot = 5,
		.build_id = { 4, 1, 2, 3, 4 }, .path_size = 16 }, .path = "/lib/late.so" };

	for (unsigned i = from; i < to; i++) {
		s.rec.time = m.r.rec.time = MKNAT_TICK + 10 * i;
		if (i % 4 == 3) {
			m.r.addr = 0x7f0000000000 + 0x10000 * i + 0x1000000 * (unsigned)cpu;
			assert_int_equal(native_event(w, cpu, &m, sizeof(m)), 0);
			continue;
		}
		s.rec.hit = i + 1;
		s.prev_pid = (int32_t)i;
		/* the one that came before, three of four records are of switches */
		s.prev_tid = i ? 20 + (int32_t)(i - 1 - (i % 4 == 0)) : 0;
		s.next_pid = 20;
		s.next_tid = 20 + (int32_t)i;
		s.preempted = i & 1;
		memcpy(s.next_comm, "worker", 7);
		assert_int_equal(native_event(w, cpu, &s, sizeof(s)), 0);
	}
}

static void units(void)
{
	struct trace_cfg pt = { .name = "pt", .core = "", .proto = HWT_PROTO_PT, .cpu = 0,
		.r.pt = { .family = 6, .model = 0x8f, .stepping = 4, .mtc_freq = 3,
			.nom_freq = 21, .cpuid_15_eax = 2, .cpuid_15_ebx = 168,
			.noretcomp = true, .nfilter = 2, .filter_stop = 2,
			.filter = { { 0x1000, 0x1fff }, { 0xffff800000000000, UINT64_MAX } } } };
	struct trace_cfg cs[] = {
		{ .name = "ETM_0", .core = "Cortex-A72", .proto = HWT_PROTO_ETM4, .trace_id = 0x10,
		  .arch = 8, .profile = 'A', .cpu = 0, .r.etm4 = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
			11, 12 } },
		{ .name = "ETM_1", .core = "ARMv9", .proto = HWT_PROTO_ETE, .trace_id = 0x11,
		  .arch = 8, .profile = 'A', .cpu = 1, .r.etm4 = { .configr = UINT32_MAX,
			.devarch = 0x47705a13 } },
		{ .name = "PTM_2", .core = "Cortex-A15", .proto = HWT_PROTO_PTM, .trace_id = 0x12,
		  .arch = 7, .profile = 'A', .cpu = 2, .r.etm3 = { 21, 22, 23, 24 } },
		{ .name = "ETM3_3", .core = "Cortex-M4", .proto = HWT_PROTO_ETM3, .trace_id = 0x13,
		  .arch = 7, .profile = 'M', .cpu = 3, .r.etm3 = { 31, 32, 33, 34 } },
		{ .name = "STM", .core = "", .proto = HWT_PROTO_STM, .trace_id = 0x20,
		  .cpu = HWT_NONE, .r.stm = { 41, 42, 43 } },
		{ .core = "", .proto = HWT_PROTO_ITM, .trace_id = 0x21, .cpu = HWT_NONE,
		  .r.itm = { 51 } },
	};

	assert_int_equal(native_add_buf(w, "cpu 0", 0, HWT_NONE, HWT_NONE, FRAMING_NONE, &pt, 1),
			 0);
	assert_int_equal(native_add_buf(w, "ETB/0", HWT_NONE, 77, 78, FRAMING_TPIU, cs,
					sizeof(cs) / sizeof(cs[0])), 1);
	assert_int_equal(native_add_buf(w, "never used", 5, HWT_NONE, HWT_NONE, FRAMING_MEM, cs, 1),
			 2);
}

static void state(const char *image)
{
	struct hwt_map m = { .addr = 0x400000, .size = 0x1000, .file_off = 0x2000, .from = 55,
		.path = MKNAT_TEXT, .space = HWT_SPACE_EL1N | HWT_SPACE_EL2, .pid = 10,
		.build_id = { 0xde, 0xad }, .build_id_size = 2 };
	struct hwt_map copied = { .addr = 0x500000, .size = 0x100, .path = "/bin/copied",
		.pid = HWT_NONE, .raw = 1 };

	assert_int_equal(native_set(w, "capture", "recorder", "model"), 0);
	assert_int_equal(native_set(w, "capture", "cmdline", "%s", MKNAT_TEXT), 0);
	assert_int_equal(native_set(w, "capture", "arch", "%s", "x86_64"), 0);
	assert_int_equal(native_set(w, "model", "seed", "%d", 42), 0);
	assert_int_equal(native_clock(w, &(struct native_clock){ .counter = "tsc",
		.base = "CLOCK_MONOTONIC", .frequency = 2000000000,
		.map = { .zero = 500, .mult = 1u << 30, .shift = 31 }, .wall = -3 }), 0);
	assert_int_equal(native_map(w, &m), 0);
	assert_int_equal(native_map(w, &copied), 0);
	assert_int_equal(native_task(w, 10, 11, MKNAT_TEXT), 0);
	assert_int_equal(native_task(w, 10, 12, NULL), 0);
	assert_int_equal(native_aspace(w, 0xabc000, 10), 0);
	assert_int_equal(native_commit(w, "sched.switch", 0xffffffff81000100), 0);
	assert_int_equal(native_commit(w, "sched.waking", 0xffffffff81000200), 0);
	assert_int_equal(native_commit(w, "of.tomorrow", 0xffffffff81000300), 0);
	assert_int_equal(native_set(w, "commits", "symbols", "trace_event_raw_event_"), 0);
	assert_int_equal(native_file(w, "/bin/copied", image, NULL, 0), 0);
	assert_int_equal(native_pages(w, 10, 0x600000, 0, "\x90\x90\xc3", 3), 0);
	assert_int_equal(native_pages(w, 10, 0x600000, 700, "\xcc", 1), 0);
}

void mknat(const char *dir, const char *image)
{
	struct trace_span s = { .pos = 1000, .time = 3000, .pid = 10, .tid = 11, .flags = 0x100,
		.cause_before = HWT_GAP_COLLISION, .lost_before = 321 };
	struct hwt_diag d;

	assert_int_equal(native_create(&w, dir, true, &d), 0);
	state(image);
	units();
	trace(0, 0, 70, 2000);
	assert_int_equal(native_sync(w), 0);
	trace(0, 70, 30, 2100);		/* a block of its own, the same span */
	assert_int_equal(native_span(w, 0, &s), 0);
	trace(0, 1000, 40, 3000);
	assert_int_equal(native_hole(w, 0, HWT_GAP_NONE, 0), 0);
	trace(0, 1040, 20, 3100);
	assert_int_equal(native_hole(w, 0, HWT_GAP_OVERFLOW, 99), 0);
	trace(1, 0, 50, HWT_TIME_UNKNOWN);
	records(0, 0, MKNAT_SPLIT);
	records(3, 0, MKNAT_SPLIT);
	assert_int_equal(native_sync(w), 0);
	records(0, MKNAT_SPLIT, MKNAT_RECS);
	records(3, MKNAT_SPLIT, MKNAT_RECS);
	assert_int_equal(native_close(w, &d), 0);
}
