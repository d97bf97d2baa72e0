/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose code is live at the present time, and the switches between tasks. */
#include <errno.h>
#include <stdlib.h>

#include "ipt_flow.h"

static uint64_t next_tsc(struct flow_ipt *f, uint64_t off);

/*
 * Code that is rewritten, for as long as flow may be here: from the earliest instant to the latest
 * one of the packet that comes next. Where versions do not agree there is none, and flow breaks.
 * A CPU that runs over the breakpoint of a text patch has a FUP with its address: such code is not
 * looked at.
 */
static int read_during(struct flow_ipt *f, struct hwt_where *w, uint64_t ip, uint8_t *buf, size_t n)
{
	uint64_t hi = ipt_time_ns_next(&f->t), differs;
	int got;

	if (w->pid != f->calm_pid || w->time < f->calm_from || w->time >= f->calm_until) {
		f->calm_pid = w->pid;
		f->calm_from = w->time;
		f->calm_until = image_code_change(f->image, w->pid, w->time);
	}
	if (f->calm_until == HWT_TIME_UNKNOWN || hi < f->calm_until)
		return hwt_image_read(f->image, w, ip, buf, n);
	got = image_read_during(f->image, w, hi, ip, buf, n, &differs);
	if (differs != HWT_NO_ADDR)
		f->differs = differs;
	return got;
}

/*
 * What is in no file: text that is patched, generated, or was dumped without one. And what is not
 * there yet at the time that is known, which may be early: it ran before the next TSC packet.
 */
int ipt_read_code(void *ctx, uint64_t ip, uint8_t *buf, size_t n)
{
	struct flow_ipt *f = ctx;
	struct hwt_where w = ipt_code_where(f, ip);
	int got;

	if (w.time != HWT_TIME_UNKNOWN && ipt_is_rewritten(f, ip))
		return read_during(f, &w, ip, buf, n);
	got = hwt_image_read(f->image, &w, ip, buf, n);
	if (got > 0 || w.time == HWT_TIME_UNKNOWN)
		return got;
	next_tsc(f, ipt_at(f));
	w.time = f->tsc_next == HWT_TIME_UNKNOWN ? HWT_TIME_UNKNOWN :
		time_map_ns_ordered(f->t.map, f->tsc_next);
	return hwt_image_read(f->image, &w, ip, buf, n);
}

static int fill_image(struct flow_ipt *f, struct ipt_image *im, const struct hwt_where *w)
{
	const struct hwt_where first = { .pid = w->pid, .space = w->space, .time = 0 };
	struct image_section *v = NULL;
	size_t n = 0;
	int rc = image_sections(f->image, w, &v, &n);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n && !f->plain; i++)
		ipt_lib_image_add(f->lib, im->img, &v[i]);
	free(v);
	im->pid = w->pid;
	im->plain = f->plain;
	/* without a time the newest version is asked for; once there is one, it may be too new */
	im->from = w->time == HWT_TIME_UNKNOWN && image_next_change(f->image, &first) ==
		HWT_TIME_UNKNOWN ? 0 : w->time;
	im->until = image_next_change(f->image, w);
	im->gen = ++f->gens;
	return 0;
}

static struct ipt_image *find_image(struct flow_ipt *f, const struct hwt_where *w)
{
	struct ipt_image *free_slot = NULL;
	int rc;

	for (unsigned i = 0; i < IPT_IMAGES; i++) {
		struct ipt_image *im = &f->images[i];

		if (im->img && im->pid == w->pid && im->plain == f->plain &&
		    (w->time == HWT_TIME_UNKNOWN ?
		    im->until == HWT_TIME_UNKNOWN :
		    w->time >= im->from && w->time < im->until))
			return im;
		if (im != f->cur && (!free_slot || im->used < free_slot->used))
			free_slot = im;
	}
	ipt_lib_image_free(free_slot->img);
	*free_slot = (struct ipt_image){ .img = ipt_lib_image_new(f->lib) };
	if (!free_slot->img)
		rc = -ENOMEM;
	else
		rc = fill_image(f, free_slot, w);
	if (rc < 0) {
		ipt_lib_image_free(free_slot->img);
		*free_slot = (struct ipt_image){ 0 };
		f->error = rc;
		return NULL;
	}
	return free_slot;
}

void ipt_choose_image(struct flow_ipt *f)
{
	struct hwt_where w = ipt_where(f);
	struct ipt_image *im = f->cur;
	uint64_t next;

	if (!im || im->pid != w.pid || im->plain != f->plain || (w.time != HWT_TIME_UNKNOWN &&
	    (w.time < im->from || w.time >= im->until)))
		im = find_image(f, &w);
	if (!im)
		return;
	im->used = ++f->picks;
	f->cur = im;
	if (f->dec)
		ipt_lib_use(f->dec, im->img);
	next = ipt_owner_due(&f->owner);
	if (im->until < next)
		next = im->until;
	if (im->from == HWT_TIME_UNKNOWN)
		next = 0;	/* as soon as there is a time */
	f->due = !f->t.map || next == HWT_TIME_UNKNOWN ? HWT_TIME_UNKNOWN :
		next ? time_map_ticks(f->t.map, next) : 0;
}

/* One switch a call. */
bool ipt_change(struct flow_ipt *f)
{
	struct hwt_event ev = ipt_event(f, HWT_EV_SCHED_SWITCH, ipt_at(f));
	int got = ipt_owner_step(&f->owner, ipt_time_ns(&f->t), &ev);

	if (got) {
		/* from before what was told: too late to be told, times never go back */
		bool late = ev.time != HWT_TIME_UNKNOWN &&
			f->emit.told != HWT_TIME_UNKNOWN && ev.time < f->emit.told;
		uint64_t at = ev.time;

		/*
		 * Whose code runs is a guess within one interval, and times go with it. Where the
		 * trace itself says whose it is, or the kernel runs, the place of the switch is.
		 */
		f->guessed = ipt_owner_told(&f->owner) ? HWT_TIME_UNKNOWN :
			time_map_ticks(f->t.map, at);
		if (!f->kernel)
			ipt_guessed(f);
		ipt_time_place(&f->t, &ev);
		if (!late)
			emit_event(&f->emit, 0, &ev);
	}
	ipt_choose_image(f);
	return got;
}

/* The first TSC packet of the run at or after @off, HWT_TIME_UNKNOWN if none. */
static uint64_t next_tsc(struct flow_ipt *f, uint64_t off)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;
	uint64_t told = off;

	if (off >= f->tsc_from && off <= f->tsc_at)
		return f->tsc_next;
	f->tsc_from = off;
	f->tsc_next = HWT_TIME_UNKNOWN;
	for (f->tsc_at = off; f->tsc_at < f->seg.end;) {
		int n = ipt_packet_decode(&pkt, &ctx, ipt_span(f)->p + f->tsc_at,
					  f->seg.end - f->tsc_at);

		if (n < 0)
			break;
		if (pkt.kind == IPT_TSC) {
			f->tsc_next = pkt.payload;
			break;
		}
		f->tsc_at += (unsigned)n;
		/* the next one may be far: what was looked through need not stay in memory */
		span_done_before(ipt_span(f), f->tsc_at, &told);
	}
	return f->tsc_next;
}

/*
 * The idle task runs no user code: if the schedule still has it, the next switch has been, provided
 * that the trace does not say that it comes later.
 */
void ipt_no_idle(struct flow_ipt *f, uint64_t ip, uint64_t off)
{
	struct hwt_event ev;
	uint64_t due;

	while (ipt_owner_idle(&f->owner) && !(ip >> 47) &&
	       emit_room(&f->emit) > 2 * IPT_HELD + 4 * EMIT_STEP) {
		due = ipt_owner_due(&f->owner);
		if (!f->t.map || due == HWT_TIME_UNKNOWN ||
		    next_tsc(f, off) == HWT_TIME_UNKNOWN ||
		    time_map_ns_ordered(f->t.map, f->tsc_next) < due)
			return;
		ipt_time_take(&f->t, time_map_ticks(f->t.map, due));
		ipt_time_not_before(&f->t, time_map_ticks(f->t.map, due));
		ev = ipt_event(f, HWT_EV_SCHED_SWITCH, off);
		if (ipt_owner_step(&f->owner, due, &ev))
			emit_event(&f->emit, 0, &ev);
		ipt_choose_image(f);
	}
}

void ipt_free_images(struct flow_ipt *f)
{
	for (unsigned i = 0; i < IPT_IMAGES; i++)
		ipt_lib_image_free(f->images[i].img);
}
