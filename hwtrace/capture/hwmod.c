/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel module drives the trace units: a session of its own with them (hwtrace/kmod.h), and in
 * it the kernel's events that a reader of trace needs. Of the whole machine. What differs from unit
 * to unit is in hwmod_pt.c and hwmod_cs.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <hwtrace/abi.h>
#include <hwtrace/event.h>
#include <hwtrace/uapi.h>

#include "../base/diag.h"
#include "../base/text.h"
#include "device.h"
#include "hwhold.h"
#include "hwmod.h"
#include "native.h"
#include "ticks.h"

#define TRACE_BYTES	(4u << 20)	/* of each CPU, if not asked for */
#define TRACE_MIN	65536u
#define TRACE_MAX	(1u << 30)
#define SUB_SIZE	65536u		/* of packets with events */
#define SUBS		16u
#define READ		(1u << 20)
#define CPUS		4096

/* What events a reader of trace needs: who runs, and where code is. */
static const uint16_t needed[] = {
	HWT_ID_sched_switch, HWT_ID_sched_fork, HWT_ID_sched_exec, HWT_ID_sched_comm,
	HWT_ID_sched_exit, HWT_ID_mm_map, HWT_ID_mm_unmap, HWT_ID_text_patch,
	HWT_ID_text_ksymbol, HWT_ID_text_module_load, HWT_ID_text_module_unload
};

#define NEEDED	(sizeof(needed) / sizeof(needed[0]))

struct hwmod_buf {
	const uint8_t *map;
	int buf;		/* in the capture, -1: nothing came yet */
	uint64_t cuts;
	uint64_t lost;		/* records of events, of the CPU with that number */
	bool cut;		/* a hole is due before what comes next */
	bool ended;		/* that was told */
};

struct hwmod {
	struct kprov p;
	const struct hw_want *want;
	const struct hwmod_kind *kind;
	struct hwmod_unit u;
	struct hwt_kmod_info info;
	struct hwmod_buf *bufs;	/* @info.cpus */
	uint8_t *read;		/* READ bytes */
	uint64_t places;	/* where trace is missing */
	bool fresh;		/* the session was not started yet */
	bool stopped, taken, ended;
};

static struct hwmod *of(struct kprov *p)
{
	return hwt_container_of(p, struct hwmod, p);
}

static int failed(struct hwmod *h, int rc, const char *what)
{
	return diag_set(h->want->k->diag, rc, 182, NULL, HWT_NO_OFF, "%s: %s", what,
			strerror(-rc));
}

static int no_memory(struct hwmod *h)
{
	return diag_set(h->want->k->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
}

static uint64_t power_of_two(uint64_t v)
{
	uint64_t p = TRACE_MIN;

	while (p < v && p < TRACE_MAX)
		p *= 2;
	return p;
}

/* --- a session --- */

/* Events that the rest of the recording does not have by itself. */
static int open_session(struct hwmod *h)
{
	struct hwt_kmod_want wants[NEEDED] = { 0 };
	struct hwt_kmod_session s = { .size = sizeof(s), .sub_size = SUB_SIZE, .subs = SUBS,
		.wants = (uintptr_t)wants,
		.flags = h->want->k->overwrite ? HWT_KMOD_OVERWRITE : 0 };
	int rc;

	for (unsigned i = 0; i < NEEDED; i++) {
		struct hwt_kmod_event e = device_event(h->p.fd, &h->info, needed[i]);

		if (device_gives(&h->info, &e) && !(e.flags & HWT_KMOD_EV_OWN))
			wants[s.nwants++].id = needed[i];
	}
	if (!ioctl(h->p.fd, HWT_KMOD_OPEN, &s))
		return 0;
	rc = -errno;
	return device_full(h->p.fd, &h->info, 0, rc, h->want->k->diag) ? rc :
		failed(h, rc, "a session of the module");
}

/* @flags: of the request. What the module says of a refusal is told. */
static int ask_unit(struct hwmod *h, uint32_t flags)
{
	char who[160] = "";
	int rc;

	h->u.ask.size = sizeof(h->u.ask);
	h->u.ask.flags = flags | (h->want->k->overwrite ? HWT_KMOD_UNIT_NEWEST : 0) |
		(h->u.ask.pt.bits & HWT_KMOD_PT_PTW ? HWT_KMOD_UNIT_MARKS : 0);
	if (!ioctl(h->p.fd, HWT_KMOD_UNIT, &h->u.ask))
		return 0;
	rc = -errno;
	if (h->u.ask.offer)
		return diag_set(h->want->k->diag, rc, 186, NULL, HWT_NO_OFF,
				"%s: %s; the nearest is %" PRIu64, h->want->event, h->u.ask.why,
				(uint64_t)h->u.ask.offer);
	if (rc == -EBUSY)
		hwhold_perf(opendir("/proc"), who, sizeof(who));
	return diag_set(h->want->k->diag, rc, rc == -EINVAL ? 186 : 185, NULL, HWT_NO_OFF,
			"%s: %s%s%s", h->kind->name, *h->u.ask.why ? h->u.ask.why : strerror(-rc),
			*who ? "; perf's buffer of trace is mapped by " : "", who);
}

static void unmap(struct hwmod *h)
{
	for (uint32_t i = 0; h->bufs && i < h->info.cpus; i++)
		if (h->bufs[i].map)
			munmap((void *)(uintptr_t)h->bufs[i].map, h->u.ask.bytes);
	if (h->bufs)
		memset(h->bufs, 0, h->info.cpus * sizeof(*h->bufs));
}

static int map_all(struct hwmod *h)
{
	for (uint32_t i = 0; i < h->info.cpus; i++) {
		void *p = mmap(NULL, h->u.ask.bytes, PROT_READ, MAP_SHARED, h->p.fd,
			       (off_t)(HWT_KMOD_TRACE_AT + i * h->u.ask.bytes));

		h->bufs[i] = (struct hwmod_buf){ .buf = -1 };
		/* there is no buffer with that number */
		if (p == MAP_FAILED && errno != EINVAL)
			return failed(h, -errno, "a buffer of trace");
		h->bufs[i].map = p == MAP_FAILED ? NULL : p;
	}
	return 0;
}

static int hw_start(struct kprov *p, int32_t pid)
{
	struct hwmod *h = of(p);
	int rc = 0;

	p->sum = (struct kprov_sum){ 0 };
	h->stopped = h->taken = h->ended = false;
	h->places = 0;
	if (!h->fresh) {
		unmap(h);
		close(p->fd);
		p->fd = -1;
		rc = device_open(&p->fd, &h->info, h->want->k->diag);
		if (!rc)
			rc = open_session(h);
	}
	h->fresh = false;
	if (!rc)
		rc = ask_unit(h, 0);
	if (!rc)
		rc = map_all(h);
	if (!rc && ioctl(p->fd, HWT_KMOD_START))
		rc = failed(h, -errno, "start of the trace units");
	return rc;
}

/* As that of the module's events: clock.sync records tell it. */
static int hw_describe(struct kprov *p, struct native_writer *w)
{
	struct hwmod *h = of(p);
	struct ticks_clock c;
	struct native_clock clock = { .counter = TICKS_COUNTER, .base = "CLOCK_MONOTONIC",
		.frequency = h->info.hz, .from_records = true };
	struct timespec t;
	int rc;

	ticks_measure(&c);
	clock_gettime(CLOCK_REALTIME, &t);
	clock.wall = (int64_t)((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec -
			       time_map_ns(&c.map, step_ticks()));
	rc = native_clock(w, &clock);
	if (!rc)
		rc = native_set(w, "capture", "trace", "%s", h->want->event);
	/* then ask_unit() has records marked in the trace */
	if (!rc && h->u.ask.flags & HWT_KMOD_UNIT_MARKS)
		rc = native_set(w, "commits", "marks", "ptwrite");
	return rc ? rc : native_set(w, "capture", "trace_by", "module%s",
				    h->want->k->overwrite ? ", snapshot" : "");
}

static int put_records(struct hwmod *h, struct native_writer *w, size_t n)
{
	struct hwt_ctf_packet pk;
	struct hwt_rec r;

	for (size_t at = 0, end; at < n; at = end) {
		if (n - at < sizeof(pk))
			return failed(h, -EIO, "a packet of the kernel");
		memcpy(&pk, h->read + at, sizeof(pk));
		end = at + pk.content_size / 8;
		if (pk.content_size / 8 < sizeof(pk) || end > n || pk.cpu_id >= h->info.cpus)
			return failed(h, -EIO, "a packet of the kernel");
		h->p.sum.lost += pk.events_discarded - h->bufs[pk.cpu_id].lost;
		h->bufs[pk.cpu_id].lost = pk.events_discarded;
		for (at += sizeof(pk); end - at >= sizeof(r); at += r.size) {
			int rc;

			memcpy(&r, h->read + at, sizeof(r));
			if (r.size < sizeof(r) || r.size > end - at)
				return failed(h, -EIO, "a record of the kernel");
			rc = native_side(w, (int32_t)pk.cpu_id, h->read + at, r.size);
			if (rc)
				return rc;
		}
	}
	return 0;
}

/* 1: it was stopped, and no more will come. */
static int drain(struct hwmod *h, struct native_writer *w)
{
	for (;;) {
		ssize_t n = read(h->p.fd, h->read, READ);
		int rc;

		if (!n)
			return 1;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : failed(h, -errno, "read");
		rc = put_records(h, w, (size_t)n);
		if (rc || (size_t)n < READ / 2)
			return rc;
	}
}

static int add_buf(struct hwmod *h, struct native_writer *w, const struct hwt_kmod_trace *t)
{
	struct trace_cfg *cfgs = calloc(h->info.cpus, sizeof(*cfgs));
	unsigned framing = FRAMING_NONE;
	char name[24];
	int rc;

	if (!cfgs)
		return no_memory(h);
	if (t->cpu >= 0)
		snprintf(name, sizeof(name), "cpu %" PRId32, t->cpu);
	else
		snprintf(name, sizeof(name), "sink %" PRIu32, t->buffer);
	rc = h->kind->cfgs(&h->u, h->p.fd, h->info.cpus, t, cfgs, &framing);
	if (rc < 0)
		rc = failed(h, rc, "what the trace is read with");
	else
		rc = native_add_buf(w, name, t->cpu >= 0 ? t->cpu : HWT_NONE, HWT_NONE, HWT_NONE,
				    framing, cfgs, (size_t)rc);
	free(cfgs);
	return rc;
}

/* Bytes @t->begin to @t->end of a buffer, which may run over its end. */
static int put_trace(struct hwmod *h, struct native_writer *w, const struct hwt_kmod_trace *t)
{
	struct hwmod_buf *c = &h->bufs[t->buffer];
	uint64_t begin = t->begin;
	bool fresh = c->buf < 0;
	int rc = 0;

	if (begin == t->end)
		return 0;
	if (fresh) {
		c->buf = add_buf(h, w, t);
		if (c->buf < 0)
			return c->buf;
	}
	if (c->cut)
		rc = native_hole(w, c->buf, HWT_GAP_AUX_LOST, 0);
	else if (h->kind->begins_anew && !fresh)
		rc = native_hole(w, c->buf, HWT_GAP_NONE, 0);
	c->cut = false;
	while (!rc && begin < t->end) {
		uint64_t at = begin & (h->u.ask.bytes - 1), n = h->u.ask.bytes - at;

		if (n > t->end - begin)
			n = t->end - begin;
		rc = native_trace(w, c->buf, HWT_TIME_UNKNOWN, c->map + at, n);
		h->p.sum.events += n;
		begin += n;
	}
	return rc;
}

/* What one buffer has by now. */
static int take(struct hwmod *h, struct native_writer *w, uint32_t i)
{
	struct hwt_kmod_trace t = { .size = sizeof(t), .buffer = i };
	struct hwmod_buf *c = &h->bufs[i];
	int rc;

	if (!c->map)
		return 0;
	if (ioctl(h->p.fd, HWT_KMOD_TRACE, &t))
		return failed(h, -errno, "trace");
	if (t.end < t.begin || t.end - t.begin > h->u.ask.bytes)
		return failed(h, -EIO, "trace");
	/* of the newest: what was never written is zeroes, which come first */
	if (h->want->k->overwrite && h->kind->zeroes)
		while (t.begin < t.end && !c->map[t.begin & (h->u.ask.bytes - 1)])
			t.begin++;
	rc = put_trace(h, w, &t);
	if (rc)
		return rc;
	if (t.cuts != c->cuts) {
		h->places += t.cuts - c->cuts;
		c->cuts = t.cuts;
		c->cut = true;
	}
	if (t.state == HWT_KMOD_TRACE_ENDED && !c->ended) {
		t.why[sizeof(t.why) - 1] = 0;
		kprov_note(h->want->k, 188, "trace of buffer %" PRIu32 " ended: %s", i, t.why);
		c->ended = true;
	}
	t.begin = t.end;
	if (!h->want->k->overwrite && ioctl(h->p.fd, HWT_KMOD_TRACE_READ, &t))
		return failed(h, -errno, "trace");
	return 0;
}

static int end(struct hwmod *h, struct native_writer *w)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < h->info.cpus; i++)
		if (h->bufs[i].cut && h->bufs[i].buf >= 0)
			rc = native_hole(w, h->bufs[i].buf, HWT_GAP_AUX_LOST, 0);
	if (h->places)
		kprov_note(h->want->k, 188, "trace is missing in %" PRIu64 " place%s: the buffer "
			   "was full, or the unit found an error", h->places,
			   text_s(h->places));
	h->ended = true;
	return rc ? rc : 1;
}

static int hw_pump(struct kprov *p, struct native_writer *w)
{
	struct hwmod *h = of(p);
	int rc = 0;

	if (h->ended || !w)
		return h->ended;
	if (h->want->k->overwrite && !h->stopped)
		return 0;
	for (uint32_t i = 0; !rc && !h->taken && i < h->info.cpus; i++)
		rc = take(h, w, i);
	/* when it was stopped that was all, and of the newest nothing is read away */
	h->taken = h->stopped;
	if (!rc)
		rc = drain(h, w);
	if (rc <= 0)
		return rc;
	return end(h, w);
}

static int hw_stop(struct kprov *p)
{
	struct hwmod *h = of(p);

	h->stopped = true;
	return ioctl(p->fd, HWT_KMOD_STOP) ? failed(h, -errno, "stop") : 0;
}

static void hw_close(struct kprov *p)
{
	struct hwmod *h = of(p);

	unmap(h);
	if (p->fd >= 0)
		close(p->fd);
	hwunit_free(&h->u.unit);
	free(h->bufs);
	free(h->read);
	free(h);
}

/* Asks once, before anything is begun. */
static int try_it(struct hwmod *h)
{
	int rc = open_session(h);

	h->fresh = true;
	return rc ? rc : ask_unit(h, HWT_KMOD_UNIT_TRY);
}

static int read_unit(struct hwmod *h)
{
	static const struct hwmod_kind *const kinds[] = { &hwmod_pt, &hwmod_cs };
	struct hwt_diag *diag = h->want->k->diag;
	char name[64];

	pmu_name(h->want->event, name, sizeof(name));
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i]->name))
			h->kind = kinds[i];
	if (!h->kind)
		return diag_set(diag, -EOPNOTSUPP, 185, NULL, HWT_NO_OFF,
				"%s: the kernel module drives intel_pt and cs_etm", name);
	h->u.want = h->want;
	h->u.ask.kind = h->kind->unit;
	return h->kind->read(&h->u);
}

int hwmod_new(struct kprov **out, const struct hw_want *want)
{
	static const struct kprov_ops ops = { .start = hw_start, .describe = hw_describe,
		.pump = hw_pump, .stop = hw_stop, .close = hw_close };
	struct hwmod *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return diag_set(want->k->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	h->want = want;
	h->p = (struct kprov){ .ops = &ops, .fd = -1, .counter = TICKS_COUNTER };
	h->u.ask.bytes = power_of_two(want->bytes ? want->bytes : TRACE_BYTES);
	rc = read_unit(h);
	if (!rc && !want->k->all)
		rc = diag_set(want->k->diag, -EOPNOTSUPP, 185, NULL, HWT_NO_OFF,
			      "%s: the kernel module traces the whole machine only (-a)",
			      h->kind->name);
	if (!rc)
		rc = device_open(&h->p.fd, &h->info, want->k->diag);
	if (!rc && h->info.cpus > CPUS)
		h->info.cpus = CPUS;
	if (!rc) {
		h->bufs = calloc(h->info.cpus, sizeof(*h->bufs));
		h->read = malloc(READ);
		rc = h->bufs && h->read ? try_it(h) : no_memory(h);
	}
	if (rc) {
		hw_close(&h->p);
		return rc;
	}
	h->p.frequency = h->info.hz;
	*out = &h->p;
	return 0;
}
