/* SPDX-License-Identifier: BSD-2-Clause */
/* Lengths, and what was waited for in them. */
#include <errno.h>

#include "../../hwtrace/time/span.h"
#include "pairs.h"

const char *hwt_part_name(unsigned part)
{
	static const char *const names[HWT_PARTS] = {
		"on-cpu", "preempted", "blocked", "ready", "irq", "softirq", "off-cpu",
		"unknown"
	};

	return part < HWT_PARTS ? names[part] : "?";
}

struct hwt_interval pairs_instant(const struct hwt_event *ev)
{
	return (struct hwt_interval){ ev->time, hwt_event_end(ev) };
}

struct hwt_interval pairs_between(const struct hwt_pairs *p, unsigned clock,
				  struct hwt_interval a, struct hwt_interval b)
{
	struct hwt_interval d = { 0, HWT_TIME_UNKNOWN };

	if (a.lo == HWT_TIME_UNKNOWN || b.lo == HWT_TIME_UNKNOWN)
		return (struct hwt_interval){ HWT_TIME_UNKNOWN, HWT_TIME_UNKNOWN };
	if (a.hi != HWT_TIME_UNKNOWN && b.lo > a.hi)
		d.lo = b.lo - a.hi;
	if (b.hi != HWT_TIME_UNKNOWN)
		d.hi = b.hi > a.lo ? b.hi - a.lo : 0;
	if (p->fit && clock == HWT_CLOCK_BASE)
		time_fit_between(p->fit, a, b, &d);
	return d;
}

int pairs_keep_story(struct hwt_pairs *p)
{
	return p->story ? 0 : story_new(&p->story, &p->tasks);
}

unsigned hwt_pairs_waits(const struct hwt_pairs *p, const struct hwt_pair *pair,
			 struct hwt_wait *v, unsigned max)
{
	struct hwt_capture_info info;
	unsigned n;

	if (!p->story || !pair->split || pair->tid <= 0 || pair->from.clock != HWT_CLOCK_BASE ||
	    pair->to.clock != HWT_CLOCK_BASE)
		return 0;
	hwt_session_info(p->s, &info);
	n = story_waits(p->story, pair->tid, pairs_instant(&pair->from), pairs_instant(&pair->to),
			info.arch, v, max);
	for (unsigned i = 0; i < n; i++)
		v[i].certain = v[i].certain && !pair->tainted;
	return n;
}
