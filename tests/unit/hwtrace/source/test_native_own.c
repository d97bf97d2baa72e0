/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records with context fields and events of the recording's own: a stream of bytes put together
 * here after uapi.h, as our reader has them, and as babeltrace2 has them, if it is installed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "hwtrace/source/native.h"
#include "tests/support/scratch.h"

/* comm, cgroup, vtid, prio, preempt_count as they lie, and zeroes */
struct context {
	char comm[16];
	uint64_t cgroup;
	int32_t vtid, prio;
	uint32_t preempt, zero;
};
#define MASK	(1u << HWT_CONTEXT_comm | 1u << HWT_CONTEXT_cgroup | 1u << HWT_CONTEXT_vtid | \
		 1u << HWT_CONTEXT_prio | 1u << HWT_CONTEXT_preempt_count)

static uint8_t stream[4096];
static size_t fill;

static const struct hwt_abi_field arg_fields[] = {
	{ .name = "ip", .unit = "", .type = HWT_ABI_x64 },
	{ .name = "count", .unit = "", .type = HWT_ABI_u64 },
	{ .name = "ret", .unit = "", .type = HWT_ABI_s64 },
};
static const struct hwt_abi_own own[] = {
	{ .name = "kprobe:vfs_read", .id = HWT_ID_DIRTY, .fields = arg_fields, .nfields = 2 },
	{ .name = "kretprobe:\"odd\"", .id = HWT_ID_DIRTY + 1, .fields = arg_fields,
	  .nfields = 3 },
};

static void put(const void *p, size_t n)
{
	if (n)
		memcpy(stream + fill, p, n);
	fill += n;
}

/* Fields of @n bytes, with context if there is any, and a text behind them. */
static void put_record(uint64_t time, uint16_t id, const struct context *x, const void *fields,
		       size_t n, const char *text, size_t text_size)
{
	struct hwt_rec r = { .time = time, .id = id, .version = HWT_ABI_VERSION, .pid = 7,
		.tid = 8, .size = (uint16_t)(sizeof(r) + (x ? sizeof(*x) : 0) + n + text_size) };

	put(&r, sizeof(r));
	if (x)
		put(x, sizeof(*x));
	put(fields, n);
	put(text, text_size);
}

static void put_records(bool context)
{
	static const struct context a = { "worker", 4711, 12, 89, 1, 0 },
		none = { "-", UINT64_MAX, -1, INT32_MIN, UINT32_MAX, 0 };
	static const char path[16] = "/bin/true";
	struct hwt_rec_sched_exec e = { .aspace = 0x1000, .task_pid = 7, .task_tid = 8,
		.old_tid = 8, .path_size = sizeof(path) };
	struct hwt_rec_softirq_raise s = { .vec = 3 };
	const uint64_t args[] = { 0xffffffff81000010, 100, UINT64_MAX };

	put_record(10, HWT_ID_softirq_raise, context ? &a : NULL, &s.rec + 1,
		   sizeof(s) - sizeof(s.rec), NULL, 0);
	put_record(20, HWT_ID_sched_exec, context ? &a : NULL, &e.rec + 1,
		   sizeof(e) - sizeof(e.rec), path, sizeof(path));
	put_record(30, HWT_ID_DIRTY, context ? &a : NULL, args, 16, NULL, 0);
	put_record(40, HWT_ID_DIRTY + 1, context ? &none : NULL, args, 24, NULL, 0);
	/* one that nobody described */
	put_record(50, HWT_ID_DIRTY + 2, context ? &a : NULL, args, 8, NULL, 0);
}

static void make(bool context, bool described)
{
	struct hwt_abi_trace t = { .freq = 1000000000, .contexts = context ? MASK : 0, .own = own,
		.nown = 2 };
	struct hwt_ctf_packet h = { .magic = HWT_PACKET_MAGIC, .timestamp_begin = 10,
		.timestamp_end = 50, .flags = HWT_PACKET_PRODUCED | (context ? 5u << 16 : 0),
		.events = 5, .produced = 5 };
	static char text[1 << 17];

	fill = sizeof(h);
	put_records(context);
	h.content_size = h.packet_size = fill * 8;
	memcpy(stream, &h, sizeof(h));
	mkdir(scratch("kernel"), 0777);
	scratch_write("kernel/cpu0", stream, fill);
	assert_true(hwt_abi_metadata(text, sizeof(text), &t) < sizeof(text));
	if (described)
		scratch_write("kernel/metadata", text, strlen(text));
	else
		unlink(scratch("kernel/metadata"));
	mkdir(scratch("hw"), 0777);
}

static const char *const with[] = {
	"vec=net_rx ctx.comm=\"worker\" ctx.cgroup=4711 ctx.vtid=12 ctx.prio=89 "
	"ctx.preempt_count=1",
	"task_pid=7 task_tid=8 old_tid=8 path=\"/bin/true\" aspace=0x1000 ctx.comm=\"worker\" "
	"ctx.cgroup=4711 ctx.vtid=12 ctx.prio=89 ctx.preempt_count=1",
	"ip=0xffffffff81000010 count=100 ctx.comm=\"worker\" ctx.cgroup=4711 ctx.vtid=12 "
	"ctx.prio=89 ctx.preempt_count=1",
	"ip=0xffffffff81000010 count=100 ret=-1", "40 bytes",
};
static const char *const names[] = { "softirq.raise", "sched.exec", "dirty:kprobe:vfs_read",
	"dirty:kretprobe:\\", "dirty:record" };

static struct capture *open_it(const char *name)
{
	static const struct hwt_open_opts o = { .size = sizeof(o) };
	struct capture *c;
	struct hwt_diag d;

	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(source_native.open(c, NULL, scratch(name), &o, &d), 0);
	return c;
}

static void look(const char *name, bool context, bool described)
{
	struct capture *c = open_it(name);
	struct hwt_event ev[8];
	struct hwt_stream *st;
	struct hwt_diag d;
	char text[512], first[600];

	assert_int_equal(c->nevents, 5);
	assert_int_equal(native_kernel(c, &st, &d), 0);
	/* all of them of one call are there at once */
	assert_int_equal(hwt_stream_next(st, ev, 8), 5);
	for (int i = 0; i < 5; i++) {
		const char *end = strstr(with[i], " ctx.");

		snprintf(first, sizeof(first), "%.*s",
			 end && !(context && described) ? (int)(end - with[i]) : 500, with[i]);
		if (i > 1 && !described)
			snprintf(first, sizeof(first), "%u bytes", i == 3 ? 56 : i == 2 ? 48 : 40);
		native_event_text(c, &ev[i], text, sizeof(text));
		assert_string_equal(text, first);
		assert_string_equal(native_event_name(c, &ev[i]),
				    i > 1 && !described ? "dirty:record" : names[i]);
		assert_int_equal(ev[i].u.rec.id, ((const struct hwt_rec *)ev[i].u.rec.data)->id);
		assert_int_equal(ev[i].tid, 8);
	}
	assert_int_equal(hwt_stream_next(st, ev, 8), 0);
	hwt_stream_close(st);
	capture_free(c);
}

static void contexts(void **state)
{
	make(true, true);
	look("", true, true);
	/* kernel/ alone */
	look("kernel", true, true);
}

static void no_contexts(void **state)
{
	make(false, true);
	look("", false, true);
}

/* Packets say how long context is, so all else can be read. */
static void not_described(void **state)
{
	make(true, false);
	look("", true, false);
}

/* Metadata that tells of other context than packets have: none of it is believed. */
static void other_context(void **state)
{
	struct capture *c;

	make(true, true);
	stream[offsetof(struct hwt_ctf_packet, flags) + 2] = 6;
	scratch_write("kernel/cpu0", stream, fill);
	c = open_it("");
	assert_int_equal(c->nevents, 0);
	assert_true(c->notes.n > 0);
	capture_free(c);
}

static void fields(void **state)
{
	struct capture *c;
	struct hwt_abi_value v;
	struct hwt_event ev[8];
	struct hwt_stream *st;
	struct hwt_diag d;

	make(true, true);
	c = open_it("");
	assert_int_equal(native_kernel(c, &st, &d), 0);
	assert_int_equal(hwt_stream_next(st, ev, 8), 5);
	assert_int_equal(c->context_field(c, &ev[0], "prio", &v), 1);
	assert_int_equal(v.u, 89);
	assert_int_equal(c->context_field(c, &ev[0], "counter", &v), 0);
	assert_int_equal(c->dirty_field(c, &ev[2], "count", &v), 1);
	assert_int_equal(v.u, 100);
	assert_int_equal(c->dirty_field(c, &ev[2], "ctx.cgroup", &v), 1);
	assert_int_equal(v.u, 4711);
	assert_int_equal(c->dirty_field(c, &ev[3], "ret", &v), 1);
	assert_int_equal((int64_t)v.u, -1);
	assert_int_equal(c->dirty_field(c, &ev[3], "ctx.prio", &v), 0);
	assert_int_equal(c->dirty_field(c, &ev[4], "ip", &v), 0);
	hwt_stream_close(st);
	capture_free(c);
}

/* What babeltrace2 prints of it. */
static void peer(void **state)
{
	static const char *const lines[] = { "softirq.raise", "sched.exec", "kprobe:vfs_read",
		"kretprobe:" };
	char cmd[400], line[1024];
	unsigned n = 0;
	FILE *f;

	if (system("command -v babeltrace2 >/dev/null"))
		skip();
	make(true, true);
	/* it reads no event that is not described */
	fill -= sizeof(struct hwt_rec) + sizeof(struct context) + 8;
	memcpy(stream + offsetof(struct hwt_ctf_packet, content_size), &(uint64_t){ fill * 8 }, 8);
	memcpy(stream + offsetof(struct hwt_ctf_packet, packet_size), &(uint64_t){ fill * 8 }, 8);
	scratch_write("kernel/cpu0", stream, fill);
	snprintf(cmd, sizeof(cmd), "babeltrace2 --clock-cycles %s 2>&1", scratch("kernel"));
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		assert_true(n < 4);
		if (!strstr(line, lines[n]) ||
		    !strstr(line, n < 3 ? "comm = \"worker\", cgroup = 4711, vtid = 12, prio = 89, "
			    "preempt_count = 1 }" : "comm = \"-\"") ||
		    (n == 0 && !strstr(line, "{ vec = 3 }")) ||
		    (n == 1 && !strstr(line, "path = \"/bin/true\"")) ||
		    (n == 2 && !strstr(line, "count = 100 }")) ||
		    (n == 3 && !strstr(line, "ret = -1 }")))
			fail_msg("line %u: %s", n, line);
		n++;
	}
	assert_int_equal(pclose(f), 0);
	assert_int_equal(n, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts), cmocka_unit_test(no_contexts),
		cmocka_unit_test(not_described), cmocka_unit_test(other_context),
		cmocka_unit_test(fields), cmocka_unit_test(peer),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
