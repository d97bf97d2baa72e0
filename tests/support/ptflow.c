/* SPDX-License-Identifier: BSD-2-Clause */
#include "ptflow.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../decoders/pt/packet.h"

bool ptflow_missing(void)
{
	if (strncmp(flow_ipt_version(), "no libipt", 9))
		return false;
	printf("no libipt on this machine\n");
	return true;
}

void ptflow_init(struct ptflow *f)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(image_new(&f->image, &f->notes), 0);
	assert_int_equal(machine_new(&f->machine), 0);
	f->buf.name = "test";
	f->buf.cpu = 3;
	f->buf.pid = f->buf.tid = HWT_NONE;
	f->buf.spans = f->spans;
	f->buf.cfgs = &f->cfg;
	f->buf.ncfgs = 1;
	f->cfg.proto = HWT_PROTO_PT;
	f->cfg.cpu = 3;
	f->want = (struct hwt_interest){ .level = HWT_LEVEL_RANGES,
		.time_hi = HWT_TIME_UNKNOWN };
}

void ptflow_fini(struct ptflow *f)
{
	image_free(f->image);
	machine_free(f->machine);
	notes_free(&f->notes);
}

void ptflow_code(struct ptflow *f, int32_t pid, uint64_t addr, const char *hex)
{
	uint8_t b[256];
	size_t n = 0;
	unsigned v;

	for (; sscanf(hex, " %2x", &v) == 1; n++) {
		assert_true(n < sizeof(b));
		b[n] = (uint8_t)v;
		hex += strspn(hex, " ") + 2;
	}
	assert_int_equal(image_add_bytes(f->image, pid, 0, addr, b, n, "test"), 0);
}

void ptflow_code_file(struct ptflow *f, int32_t pid, uint64_t addr, const char *file,
		      uint64_t size)
{
	struct hwt_map m = { .addr = addr, .size = size, .path = file, .pid = pid, .raw = 1 };

	assert_int_equal(image_add_map(f->image, &m), 0);
}

struct trace_span *ptflow_span(struct ptflow *f, const void *p, size_t n)
{
	struct trace_span *s = &f->spans[f->buf.nspans++];

	assert_true(f->buf.nspans <= PTFLOW_SPANS);
	*s = (struct trace_span){ .p = p, .size = n, .time = HWT_TIME_UNKNOWN, .pid = HWT_NONE,
		.tid = HWT_NONE };
	if (s > f->spans)
		s->pos = s[-1].pos + s[-1].size;
	return s;
}

struct out {
	char *buf;
	size_t n, at;
};

static void __attribute__((format(printf, 2, 3))) say(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (o->at >= o->n)
		return;
	va_start(ap, fmt);
	n = vsnprintf(o->buf + o->at, o->n - o->at, fmt, ap);
	va_end(ap);
	o->at += n > 0 ? (size_t)n : 0;
}

static void say_addr(struct out *o, const char *before, uint64_t addr)
{
	if (addr == HWT_NO_ADDR)
		say(o, "%s-", before);
	else
		say(o, "%s%" PRIx64, before, addr);
}

static const char *const kinds[HWT_INSN_KINDS] = {
	"other", "call", "icall", "return", "jump", "ijump", "branch", "far-call", "far-return",
	"far-jump", "ptwrite", "barrier",
};

static void say_edge(struct out *o, const char *what, const struct hwt_event *ev)
{
	say_addr(o, what, ev->u.edge.from);
	say_addr(o, ">", ev->u.edge.to);
	if (ev->flags & HWT_F_TAIL)
		say(o, " tail");
}

static void say_gap(struct out *o, const struct hwt_event *ev)
{
	say(o, "gap %s %" PRIu64 "+%" PRIu64, hwt_gap_name((unsigned)ev->u.gap.cause), ev->off,
	    ev->u.gap.bytes);
	if (hwt_gap_has_addr((unsigned)ev->u.gap.cause))
		say_addr(o, " at ", ev->u.gap.addr);
	else if (ev->u.gap.lost)
		say(o, " lost %" PRIu64, ev->u.gap.lost);
}

static void say_event(struct out *o, const struct hwt_event *ev)
{
	static const char *const tx[] = { "begin", "commit", "abort" };
	static const char *const power[] = { "mwait", "pwre", "pwrx", "exstop" };

	switch (ev->type) {
	case HWT_EV_RANGE:
		say(o, "%" PRIx64 "-%" PRIx64 " %u %s", ev->u.range.first, ev->u.range.last,
		    ev->u.range.insns, kinds[ev->u.range.kind]);
		break;
	case HWT_EV_CALL: say_edge(o, "call ", ev); break;
	case HWT_EV_RETURN: say_edge(o, "return ", ev); break;
	case HWT_EV_ON:
		say_addr(o, "on ", ev->u.at.addr);
		say(o, "%s", ev->flags & HWT_F_RESUMED ? " resumed" : "");
		break;
	case HWT_EV_OFF:
		say_addr(o, "off ", ev->u.at.addr);
		say(o, "%s", ev->flags & HWT_F_CUT ? " cut" : "");
		break;
	case HWT_EV_EXCEPTION:
		say_addr(o, "exc ", ev->u.exc.from);
		say_addr(o, ">", ev->u.exc.to);
		break;
	case HWT_EV_GAP: say_gap(o, ev); break;
	case HWT_EV_TX:
		say_addr(o, "tx ", ev->u.value.addr);
		say(o, " %s", tx[ev->u.value.what]);
		break;
	case HWT_EV_POWER:
		say(o, "%s %" PRIx64, power[ev->u.power.what], ev->u.power.payload);
		say_addr(o, " ", ev->u.power.addr);
		break;
	case HWT_EV_MARK:
		say(o, "mark %" PRIx64 "/%u", ev->u.mark.value, ev->u.mark.bits);
		say_addr(o, " ", ev->u.mark.addr);
		break;
	case HWT_EV_FREQ: say(o, "freq %" PRIu64, ev->u.value.value); break;
	case HWT_EV_ASPACE:
		say(o, "aspace %" PRIx64 " vm %x", ev->u.aspace.id, ev->u.aspace.vmid);
		break;
	case HWT_EV_TRIGGER: say(o, "trigger %u", ev->u.value.what); break;
	case HWT_EV_SCHED_SWITCH:
		say(o, "switch %d>%d", ev->u.sched.prev_tid, ev->u.sched.next_tid);
		break;
	case HWT_EV_RECORD:
		assert_true(flow_is_record(ev));
		say(o, "record %s %" PRIu64 "+%u", ipt_packet_name(ev->u.rec.id & 0xff), ev->off,
		    ev->u.rec.size);
		break;
	default: say(o, "event %u", ev->type); break;
	}
	say(o, "\n");
}

struct sums {
	uint64_t time, skipped, lost, gaps, events, ranges, insns;
};

static void check(struct sums *s, const struct hwt_event *ev)
{
	if (ev->time != HWT_TIME_UNKNOWN) {
		assert_true(s->time <= ev->time);
		s->time = ev->time;
	}
	s->events++;
	if (ev->type == HWT_EV_RANGE) {
		s->ranges++;
		s->insns += ev->u.range.insns;
		assert_true(ev->u.range.insns > 0);
	}
	if (ev->type != HWT_EV_GAP)
		return;
	s->gaps++;
	s->skipped += ev->u.gap.bytes;
	if (!hwt_gap_has_addr((unsigned)ev->u.gap.cause))
		s->lost += ev->u.gap.lost;
}

const char *ptflow_run(struct ptflow *f, char *buf, size_t n)
{
	struct flow_args a = { .want = &f->want, .buf = &f->buf, .image = f->image,
		.machine = f->machine, .tsc = &f->tsc, .notes = &f->notes };
	struct hwt_event ev[7];
	struct hwt_stream *s = NULL;
	struct sums sums = { 0 };
	struct hwt_diag diag;
	struct out o = { .buf = buf, .n = n };
	uint64_t size = 0;
	int got;

	if (n)
		buf[0] = 0;
	for (size_t i = 0; i < f->buf.nspans; i++)
		size += f->spans[i].size;
	assert_int_equal(flow_ipt_new(&s, &a, &diag), 0);
	while ((got = hwt_stream_next(s, ev, 7)) > 0) {
		for (int i = 0; i < got; i++) {
			if (ev[i].type == HWT_EV_NONE)
				continue;
			check(&sums, &ev[i]);
			say_event(&o, &ev[i]);
		}
	}
	assert_int_equal(got, 0);
	f->stats = hwt_container_of(s, struct flow_stream, s)->stats;
	hwt_stream_close(s);
	assert_int_equal(f->stats.bytes_in, size);
	assert_int_equal(f->stats.bytes_decoded + f->stats.bytes_skipped, size);
	assert_int_equal(f->stats.bytes_skipped, sums.skipped);
	assert_int_equal(f->stats.bytes_lost, sums.lost);
	assert_int_equal(f->stats.gaps, sums.gaps);
	assert_int_equal(f->stats.events, sums.events);
	if (f->want.level >= HWT_LEVEL_RANGES) {
		assert_int_equal(f->stats.ranges, sums.ranges);
		assert_int_equal(f->stats.insns, sums.insns);
	}
	/* work is bounded by the input, whatever the code does */
	assert_true(f->stats.steps <= 64 * size + 64);
	return buf;
}
