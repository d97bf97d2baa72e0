/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dirty/: texts, and a clock of its own. Records are put together here, on clocks whose rates are
 * chosen here, so the instant of each is known; babeltrace2 reads them too, if it is installed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"
#include "hwtrace/source/native.h"
#include "tests/support/scratch.h"

static const struct hwt_abi_field alloc_fields[] = {
	{ .name = "call_site", .unit = "", .type = HWT_ABI_x64, .size = 8, .offset = 32 },
	{ .name = "name", .unit = "", .type = HWT_ABI_text, .size = 4, .offset = 40 },
	{ .name = "left", .unit = "", .type = HWT_ABI_s64, .size = 8, .offset = 44 },
	{ .name = "cmd", .unit = "", .type = HWT_ABI_text, .size = 4, .offset = 52 },
};
static const struct hwt_abi_own own[] = {
	{ .name = "block:rq", .id = HWT_ID_DIRTY + 3, .size = 56, .fields = alloc_fields,
	  .nfields = 4 },
};

/* The instant @ns of CLOCK_MONOTONIC by the two counters: 62.5 MHz, and ns that run 40 ppm fast. */
static uint64_t cntvct(uint64_t ns)
{
	return ns / 16;
}

static uint64_t raw(uint64_t ns)
{
	return 5000000000 + ns + ns / 25000;
}

/* The other clock of kernel/, as the kernel module tells it. */
static void put_raw(struct native_writer *w, uint64_t ns)
{
	struct hwt_rec_clock_sync e = { .rec = { .time = cntvct(ns) + 40, .id = HWT_ID_clock_sync,
		.size = sizeof(e), .version = HWT_ABI_VERSION, .pid = -1, .tid = -1 },
		.counter = cntvct(ns), .value = raw(ns), .width = 0, .clock = HWT_clock_id_raw };

	assert_int_equal(native_event(w, 0, &e, sizeof(e)), 0);
}

static void put_sync(struct native_writer *w, bool dirty, uint64_t ns)
{
	uint64_t now = dirty ? raw(ns) : cntvct(ns);
	struct hwt_rec_clock_sync e = { .rec = { .time = now + 30, .id = HWT_ID_clock_sync,
		.size = sizeof(e), .version = HWT_ABI_VERSION, .pid = -1, .tid = -1 },
		.counter = now - 20, .value = ns, .width = 50, .clock = HWT_clock_id_monotonic };

	assert_int_equal(dirty ? native_dirty_event(w, 0, &e, sizeof(e)) :
			 native_event(w, 0, &e, sizeof(e)), 0);
}

static void put_mark(struct native_writer *w, uint64_t ns)
{
	struct hwt_rec_softirq_raise r = { .rec = { .time = cntvct(ns), .id = HWT_ID_softirq_raise,
		.size = sizeof(r), .version = HWT_ABI_VERSION, .pid = 7, .tid = 8 }, .vec = 3 };

	assert_int_equal(native_event(w, 0, &r, sizeof(r)), 0);
}

static void put_dirty(struct native_writer *w, uint64_t time, int32_t cpu, const char *name,
		      const char *cmd)
{
	struct {
		struct hwt_rec rec;
		uint8_t bytes[64];
	} r = { .rec = { .time = time, .id = HWT_ID_DIRTY + 3, .version = HWT_ABI_VERSION,
			 .pid = 7, .tid = 8 } };
	uint32_t a = (uint32_t)strlen(name) + 1, b = (uint32_t)strlen(cmd) + 1;
	int64_t left = -5;
	uint64_t site = 0xffffffff81000010;

	r.rec.size = (uint16_t)((56 + a + b + 7) & ~7u);
	b = r.rec.size - 56 - a;	/* the last one has the zeroes */
	memcpy(r.bytes, &site, 8);
	memcpy(r.bytes + 8, &a, 4);
	memcpy(r.bytes + 12, &left, 8);
	memcpy(r.bytes + 20, &b, 4);
	memcpy(r.bytes + 24, name, strlen(name));
	memcpy(r.bytes + 24 + a, cmd, strlen(cmd));
	assert_int_equal(native_dirty_event(w, cpu, &r, r.rec.size), 0);
}

static struct native_writer *begin(const char *counter, uint64_t hz)
{
	struct native_clock clock = { .counter = "cntvct", .base = "CLOCK_MONOTONIC",
		.frequency = 62500000, .from_records = true };
	struct native_writer *w;
	struct hwt_diag d;

	assert_int_equal(native_create(&w, scratch("c.hwt"), true, &d), 0);
	assert_int_equal(native_clock(w, &clock), 0);
	assert_int_equal(native_dirty(w, counter, hz, own, 1), 0);
	return w;
}

static struct capture *open_it(const char *name)
{
	static const struct hwt_open_opts o = { .size = sizeof(o) };
	struct capture *c;
	struct hwt_diag d;

	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(source_native.open(c, NULL, scratch(name), &o, &d), 0);
	return c;
}

/* All events of the capture that are none of the clock. */
static int events(struct capture *c, struct hwt_event *ev, int max, struct hwt_stream **st)
{
	struct hwt_diag d;
	int n = 0, k;

	assert_int_equal(native_kernel(c, st, &d), 0);
	k = hwt_stream_next(*st, ev, max);
	for (int i = 0; i < k; i++)
		if (ev[i].u.rec.id != HWT_ID_clock_sync)
			ev[n++] = ev[i];
	return n;
}

/* What is known of the time of an event of dirty/ is @most ns wide. */
static const uint64_t instants[] = { 1000001000, 1200000000, 1999999000, 2500000000, 3400000000 };

static void look(bool with_raw, uint32_t most)
{
	struct native_writer *w = begin("mono_raw", 1000000000);
	struct hwt_event ev[32];
	struct hwt_stream *st;
	struct capture *c;
	char text[200];

	for (uint64_t s = 1; s < 4; s++) {
		put_sync(w, false, s * 1000000000);
		put_sync(w, true, s * 1000000000);
		if (with_raw)
			put_raw(w, s * 1000000000);
		for (unsigned i = 0; i < 5; i++)
			if (instants[i] / 1000000000 == s) {
				put_mark(w, instants[i] - 200);
				put_dirty(w, raw(instants[i]), 0, "sda", i & 1 ? "" : "flush all");
			}
	}
	put_sync(w, false, 4000000000);
	put_sync(w, true, 4000000000);
	if (with_raw)
		put_raw(w, 4000000000);
	assert_int_equal(native_close(w, NULL), 0);
	c = open_it("c.hwt");
	assert_int_equal(c->nevents, with_raw ? 18 : 14);
	assert_int_equal(c->orders, -1);
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(events(c, ev, 32, &st), 10);
	for (int i = 0; i < 10; i++) {
		uint64_t when = instants[i / 2] - (i & 1 ? 0 : 200);

		assert_int_equal(ev[i].u.rec.id, i & 1 ? HWT_ID_DIRTY + 3 : HWT_ID_softirq_raise);
		assert_int_equal(ev[i].clock, HWT_CLOCK_BASE);
		assert_true(ev[i].time <= when);
		/* kernel/ is told by the lower line of its map */
		if (!(i & 1))
			continue;
		if (ev[i].span >= most)
			fail_msg("event %d: %u ns", i, ev[i].span);
		if (with_raw)	/* on the line that those of kernel/ are on */
			assert_in_range(ev[i].time + ev[i].span - ev[i - 1].time, 200 - 40,
					200 + 40);
		else
			assert_true(ev[i].time + ev[i].span >= when);
		assert_string_equal(native_event_name(c, &ev[i]), "dirty:block:rq");
		native_event_text(c, &ev[i], text, sizeof(text));
		assert_string_equal(text, i / 2 & 1 ?
				    "call_site=0xffffffff81000010 name=\"sda\" left=-5 cmd=\"\"" :
				    "call_site=0xffffffff81000010 name=\"sda\" left=-5 "
				    "cmd=\"flush all\"");
	}
	hwt_stream_close(st);
	capture_free(c);
}

static void two_clocks(void **state)
{
	/* between two readings the base clock may drift */
	look(false, 1100000);
	look(true, 60);
}

/* One counter: ticks order all, those of one tick and CPU as the folders come. */
static void one_clock(void **state)
{
	struct native_writer *w = begin("cntvct", 62500000);
	struct hwt_event ev[32];
	struct hwt_abi_value v;
	struct hwt_stream *st;
	struct capture *c;

	put_sync(w, false, 1000000000);
	put_mark(w, 1000001600);
	put_dirty(w, cntvct(1000001600), 0, "a", "b");
	put_dirty(w, cntvct(1000000800), 1, "123456789012345", "c");
	put_sync(w, false, 2000000000);
	assert_int_equal(native_close(w, NULL), 0);
	c = open_it("c.hwt");
	assert_int_equal(events(c, ev, 32, &st), 3);
	assert_int_equal(ev[0].cpu, 1);
	assert_int_equal(ev[1].u.rec.id, HWT_ID_softirq_raise);
	assert_int_equal(ev[2].u.rec.id, HWT_ID_DIRTY + 3);
	assert_int_equal(ev[1].time, ev[2].time);
	assert_int_equal(c->dirty_field(c, &ev[0], "name", &v), 1);
	assert_int_equal(v.n, 15);
	assert_memory_equal(v.p, "123456789012345", 15);
	assert_int_equal(c->dirty_field(c, &ev[0], "cmd", &v), 1);
	assert_int_equal(v.n, 1);
	assert_int_equal(c->dirty_field(c, &ev[2], "left", &v), 1);
	assert_int_equal((int64_t)v.u, -5);
	assert_int_equal(c->dirty_field(c, &ev[2], "ctx.prio", &v), 0);
	hwt_stream_close(st);
	capture_free(c);
}

/* Nobody can say what ticks of an undescribed clock are; texts that lie outside are none. */
static void damaged(void **state)
{
	static const uint32_t lengths[] = { 4, 1000, UINT32_MAX };
	struct hwt_event ev[32];
	struct hwt_stream *st;
	struct capture *c;
	char text[200];

	for (unsigned i = 0; i < 3; i++) {
		struct native_writer *w = begin("mono_raw", 1000000000);
		struct {
			struct hwt_rec rec;
			uint8_t bytes[32];
		} r = { .rec = { .time = 10, .id = HWT_ID_DIRTY + 3, .size = sizeof(r),
				 .version = HWT_ABI_VERSION } };

		memcpy(r.bytes + 8, &lengths[i], 4);
		memcpy(r.bytes + 20, &(uint32_t){ 5 }, 4);
		put_sync(w, false, 1000000000);
		put_sync(w, false, 2000000000);
		assert_int_equal(native_dirty_event(w, 0, &r, sizeof(r)), 0);
		assert_int_equal(native_close(w, NULL), 0);
		c = open_it("c.hwt");
		assert_int_equal(events(c, ev, 32, &st), 1);
		native_event_text(c, &ev[0], text, sizeof(text));
		assert_string_equal(text, "64 bytes");
		hwt_stream_close(st);
		capture_free(c);
	}
	scratch_sh("rm c.hwt/dirty/metadata");
	c = open_it("c.hwt");
	assert_int_equal(events(c, ev, 32, &st), 1);
	assert_true(ev[0].time == HWT_TIME_UNKNOWN);
	assert_string_equal(native_event_name(c, &ev[0]), "dirty:record");
	hwt_stream_close(st);
	capture_free(c);
}

/* As many tracepoints as one recording may take: each is known by its name, the last one, too. */
static void many(void **state)
{
	enum { MANY = 2000 };
	static struct hwt_abi_own v[MANY];
	static char names[MANY][16];
	struct native_clock clock = { .counter = "cntvct", .base = "CLOCK_MONOTONIC",
		.frequency = 62500000, .from_records = true };
	struct hwt_event ev[4];
	struct hwt_stream *st;
	struct native_writer *w;
	struct capture *c;
	struct hwt_diag d;

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "a:b%u", i);
		v[i] = own[0];
		v[i].name = names[i];
		v[i].id = (uint16_t)(HWT_ID_DIRTY + 4 + i);
	}
	v[MANY - 1].id = HWT_ID_DIRTY + 3;
	assert_int_equal(native_create(&w, scratch("c.hwt"), true, &d), 0);
	assert_int_equal(native_clock(w, &clock), 0);
	assert_int_equal(native_dirty(w, "cntvct", 62500000, v, MANY), 0);
	put_dirty(w, cntvct(1000001600), 0, "a", "b");
	assert_int_equal(native_close(w, NULL), 0);
	c = open_it("c.hwt");
	assert_int_equal(events(c, ev, 4, &st), 1);
	assert_string_equal(native_event_name(c, &ev[0]), "dirty:a:b1999");
	hwt_stream_close(st);
	capture_free(c);
}

static void peer(void **state)
{
	struct native_writer *w;
	char cmd[400], line[1024];
	FILE *f;

	if (system("command -v babeltrace2 >/dev/null"))
		skip();
	w = begin("mono_raw", 1000000000);
	put_dirty(w, 5000000001, 0, "sda", "flush all");
	assert_int_equal(native_close(w, NULL), 0);
	snprintf(cmd, sizeof(cmd), "babeltrace2 --clock-cycles %s 2>&1", scratch("c.hwt/dirty"));
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	if (!strstr(line, "[00000000005000000001]") || !strstr(line, "block:rq:") ||
	    !strstr(line, "call_site = 0xFFFFFFFF81000010, name_size = 4, left = -5, "
		    "cmd_size = 12, name = \"sda\", cmd = \"flush all\" }"))
		fail_msg("%s", line);
	assert_null(fgets(line, sizeof(line), f));
	assert_int_equal(pclose(f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_clocks), cmocka_unit_test(one_clock),
		cmocka_unit_test(damaged), cmocka_unit_test(many), cmocka_unit_test(peer),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
