/* SPDX-License-Identifier: BSD-2-Clause */
/* timer and power: include/trace/events/timer.h and power.h of Linux, and LTTng's. */
#include <errno.h>

#include "priv.h"

#define IDLE_EXIT UINT32_MAX	/* PWR_EVENT_EXIT */

/* The delay is told in the kernel's ticks, whose length it does not tell. */
static int make_start(const struct virt_in *in, void *rec)
{
	struct hwt_rec_timer_start *r = rec;
	__u64 expires, now;

	if (!get_u64(in, "timer", &r->timer))
		return 0;
	get_u64(in, "function", &r->function);
	if (get_u64(in, "expires", &expires) && get_u64(in, "now", &now) && expires == now)
		r->delay = 0;
	return 1;
}

/* timer.cancel and timer.done */
static int make_timer(const struct virt_in *in, void *rec)
{
	struct hwt_rec_timer_cancel *r = rec;

	return get_u64(in, "timer", &r->timer);
}

static int make_expire(const struct virt_in *in, void *rec)
{
	struct hwt_rec_timer_expire *r = rec;

	if (!get_u64(in, "timer", &r->timer))
		return 0;
	get_u64(in, "function", &r->function);
	return 1;
}

static void get_s64(const struct virt_in *in, const char *field, __s64 *v)
{
	__u64 n;

	if (get_u64(in, field, &n))
		*v = (__s64)n;
}

static int make_hr_start(const struct virt_in *in, void *rec)
{
	struct hwt_rec_timer_hr_start *r = rec;

	if (!get_u64(in, "hrtimer", &r->timer))
		return 0;
	get_u64(in, "function", &r->function);
	get_s64(in, "expires", &r->expires);
	get_s64(in, "softexpires", &r->soft_expires);
	return 1;
}

/* timer.hr_cancel and timer.hr_done */
static int make_hr(const struct virt_in *in, void *rec)
{
	struct hwt_rec_timer_hr_cancel *r = rec;

	return get_u64(in, "hrtimer", &r->timer);
}

static int make_hr_expire(const struct virt_in *in, void *rec)
{
	struct hwt_rec_timer_hr_expire *r = rec;

	if (!get_u64(in, "hrtimer", &r->timer))
		return 0;
	get_u64(in, "function", &r->function);
	get_s64(in, "now", &r->now);
	return 1;
}

/* One event tells both; that of the end does not say which state is left. */
static int make_idle(const struct virt_in *in, void *rec)
{
	struct hwt_rec_power_idle_enter *r = rec;
	struct virt_cpu *c;
	uint32_t state, cpu;

	if (!get_u32(in, "state", &state) || !get_u32(in, "cpu_id", &cpu) || cpu > INT32_MAX)
		return 0;
	c = virt_cpu_of(in->s, (int32_t)cpu, true);
	if (!c)
		return -ENOMEM;
	if (state == IDLE_EXIT)
		virt_blank(in->s, in->c, HWT_ID_power_idle_exit, rec);
	r->state = state == IDLE_EXIT ? c->idle : state;
	r->target_cpu = cpu;
	c->idle = state;
	return 1;
}

static int make_frequency(const struct virt_in *in, void *rec)
{
	struct hwt_rec_power_frequency *r = rec;

	return get_u32(in, "state", &r->khz) && get_u32(in, "cpu_id", &r->target_cpu);
}

/* States of include/linux/suspend.h are the list's; 4 is a machine that is stored on disk. */
static void set_mode(struct hwt_rec_power_suspend *r, uint32_t state)
{
	if (state >= HWT_sleep_mode_idle && state <= HWT_sleep_mode_disk)
		r->mode = state;
}

/* Each step of a suspend has such an event: the one around the sleep itself is meant. */
static int make_suspend(const struct virt_in *in, void *rec)
{
	static const char step[] = "machine_suspend";
	struct hwt_rec_power_suspend *r = rec;
	uint32_t state;
	const char *p;
	size_t n;

	if (in->g->string(in->g->arg, "action", &p, &n) <= 0 ||
	    strnlen(p, n) != strlen(step) || memcmp(p, step, strlen(step)) ||
	    !get_u32(in, "start", &r->begin))
		return 0;
	r->begin = !!r->begin;
	if (get_u32(in, "val", &state))
		set_mode(r, state);
	return 1;
}

/* Kernels before 3.16, and LTTng: one event, whose state tells the end. */
static int make_machine(const struct virt_in *in, void *rec)
{
	struct hwt_rec_power_suspend *r = rec;
	uint32_t state;

	if (!get_u32(in, "state", &state))
		return 0;
	r->begin = state != IDLE_EXIT;
	if (r->begin)
		set_mode(r, state);
	return 1;
}

#define BOTH (ON_LINUX | ON_LTTNG)
#define HR(name, ev, fn) \
	MAP(BOTH, "timer", name, timer, ev, fn), \
	MAP(ON_LTTNG, NULL, "timer_" name, timer, ev, fn)

const struct virt_map virt_timer_maps[] = {
	MAP(BOTH, "timer", "timer_start", timer, start, make_start),
	MAP(BOTH, "timer", "timer_cancel", timer, cancel, make_timer),
	MAP(BOTH, "timer", "timer_expire_entry", timer, expire, make_expire),
	MAP(BOTH, "timer", "timer_expire_exit", timer, done, make_timer),
	HR("hrtimer_start", hr_start, make_hr_start),
	HR("hrtimer_cancel", hr_cancel, make_hr),
	HR("hrtimer_expire_entry", hr_expire, make_hr_expire),
	HR("hrtimer_expire_exit", hr_done, make_hr),
	MAP(ON_LINUX, "power", "cpu_idle", power, idle_enter, make_idle),
	MAP(ON_LTTNG, NULL, "power_cpu_idle", power, idle_enter, make_idle),
	MAP(ON_LINUX, "power", "cpu_frequency", power, frequency, make_frequency),
	MAP(ON_LTTNG, NULL, "power_cpu_frequency", power, frequency, make_frequency),
	MAP(ON_LINUX, "power", "suspend_resume", power, suspend, make_suspend),
	MAP(ON_LINUX, "power", "machine_suspend", power, suspend, make_machine),
	MAP(ON_LTTNG, NULL, "power_machine_suspend", power, suspend, make_machine),
	{ 0 }
};
