// SPDX-License-Identifier: GPL-2.0-only
/* Timers, idle states, frequencies: include/trace/events/timer.h and power.h. */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/suspend.h>
#include <linux/timer.h>
#include <trace/events/timer.h>
#include <trace/events/power.h>

#include "hook.h"
#include "probe.h"

static void put_start(struct timer_list *timer)
{
	struct hwt_rec_timer_start r = { .timer = (unsigned long)timer,
		.function = (unsigned long)timer->function };
	long ticks = timer->expires - jiffies;

	r.delay = ticks > 0 ? (u64)ticks * (NSEC_PER_SEC / HZ) : 0;
	vtp_timer_start(&r, NULL);
}

static void on_start(void *data, struct timer_list *timer, unsigned long bucket_expiry)
{
	put_start(timer);
}

static void on_start_flags(void *data, struct timer_list *timer, unsigned long expires,
			   unsigned int flags)
{
	put_start(timer);
}

static void on_cancel(void *data, struct timer_list *timer)
{
	struct hwt_rec_timer_cancel r = { .timer = (unsigned long)timer };

	vtp_timer_cancel(&r, NULL);
}

static void on_expire(void *data, struct timer_list *timer, unsigned long baseclk)
{
	struct hwt_rec_timer_expire r = { .timer = (unsigned long)timer,
		.function = (unsigned long)timer->function };

	vtp_timer_expire(&r, NULL);
}

/* The timer may be gone: nothing of it is looked at. */
static void on_done(void *data, struct timer_list *timer)
{
	struct hwt_rec_timer_done r = { .timer = (unsigned long)timer };

	vtp_timer_done(&r, NULL);
}

static void put_hr_start(struct hrtimer *t)
{
	struct hwt_rec_timer_hr_start r = { .timer = (unsigned long)t,
		.function = (unsigned long)t->function, .expires = hrtimer_get_expires(t),
		.soft_expires = hrtimer_get_softexpires(t) };

	vtp_timer_hr_start(&r, NULL);
}

static void on_hr_start(void *data, struct hrtimer *t, enum hrtimer_mode mode)
{
	put_hr_start(t);
}

static void on_hr_cancel(void *data, struct hrtimer *t)
{
	struct hwt_rec_timer_hr_cancel r = { .timer = (unsigned long)t };

	vtp_timer_hr_cancel(&r, NULL);
}

/* Set anew: these kernels do not tell that it left its queue before. */
static void on_hr_start_armed(void *data, struct hrtimer *t, enum hrtimer_mode mode, bool armed)
{
	if (armed)
		on_hr_cancel(data, t);
	put_hr_start(t);
}

static void on_hr_expire(void *data, struct hrtimer *t, ktime_t *now)
{
	struct hwt_rec_timer_hr_expire r = { .timer = (unsigned long)t,
		.function = (unsigned long)t->function, .now = *now };

	vtp_timer_hr_expire(&r, NULL);
}

static void on_hr_done(void *data, struct hrtimer *t)
{
	struct hwt_rec_timer_hr_done r = { .timer = (unsigned long)t };

	vtp_timer_hr_done(&r, NULL);
}

/* The end does not say which state it was; all ones before the first begin was seen. */
static DEFINE_PER_CPU(u32, idle_state) = U32_MAX;

static void on_idle(void *data, unsigned int state, unsigned int cpu)
{
	struct hwt_rec_power_idle_enter enter = { .state = state, .target_cpu = cpu };
	struct hwt_rec_power_idle_exit leave = { .target_cpu = cpu };

	if (state == (u32)PWR_EVENT_EXIT) {
		leave.state = this_cpu_read(idle_state);
		vtp_power_idle_exit(&leave, NULL);
	} else {
		this_cpu_write(idle_state, state);
		vtp_power_idle_enter(&enter, NULL);
	}
}

static void on_frequency(void *data, unsigned int khz, unsigned int cpu)
{
	struct hwt_rec_power_frequency r = { .khz = khz, .target_cpu = cpu };

	vtp_power_frequency(&r, NULL);
}

/* Each step of a suspend has such an event: the one around the sleep itself is meant. */
static void on_suspend(void *data, const char *action, int val, bool start)
{
	struct hwt_rec_power_suspend r = { .begin = start, .mode = U32_MAX };

	if (strcmp(action, "machine_suspend"))
		return;
	/* 1 to 3 are PM_SUSPEND_*, 4 is a machine that is stored on disk (PM_EVENT_HIBERNATE) */
	if (val >= HWT_sleep_mode_idle && val <= HWT_sleep_mode_disk)
		r.mode = val;
	vtp_power_suspend(&r, NULL);
}

struct hook hooks_timer[] = {
	{ HOOK_TP2(timer_start, on_start, on_start_flags, VTP_timer_start) },
	{ HOOK_TP(timer_cancel, on_cancel, VTP_timer_cancel) },
	{ HOOK_TP(timer_expire_entry, on_expire, VTP_timer_expire) },
	{ HOOK_TP(timer_expire_exit, on_done, VTP_timer_done) },
	{ HOOK_TP2(hrtimer_start, on_hr_start, on_hr_start_armed, VTP_timer_hr_start,
		   VTP_timer_hr_cancel) },
	{ HOOK_TP(hrtimer_cancel, on_hr_cancel, VTP_timer_hr_cancel) },
	{ HOOK_TP(hrtimer_expire_entry, on_hr_expire, VTP_timer_hr_expire) },
	{ HOOK_TP(hrtimer_expire_exit, on_hr_done, VTP_timer_hr_done) },
	{ HOOK_TP(cpu_idle, on_idle, VTP_power_idle_enter, VTP_power_idle_exit) },
	{ HOOK_TP(cpu_frequency, on_frequency, VTP_power_frequency) },
	{ HOOK_TP(suspend_resume, on_suspend, VTP_power_suspend) },
	{}
};
