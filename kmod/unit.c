// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpu.h>
#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/log2.h>
#include <linux/reboot.h>
#include <linux/string.h>
#include <linux/suspend.h>

#include "unit.h"

/* An architecture has one kind. */
#ifdef CONFIG_X86_64
#define the_kind pt_kind
#else
#define the_kind cs_kind
#endif

#define BYTES_MIN	(64ull << 10)
#define BYTES_MAX	(1ull << 30)

static int none(struct hwt_kmod_unit *c, const char *why, int rc)
{
	strscpy(c->why, why, sizeof(c->why));
	return rc;
}

int unit_open(struct unit **out, struct hwt_kmod_unit *c)
{
	*out = NULL;
	memset(c->why, 0, sizeof(c->why));
	c->cpu = -1;
	c->offer = 0;
	if (c->flags & ~(HWT_KMOD_UNIT_NEWEST | HWT_KMOD_UNIT_TRY | HWT_KMOD_UNIT_MARKS) || c->pad)
		return none(c, "a flag that is not known", -EINVAL);
	if (c->bytes < BYTES_MIN || c->bytes > BYTES_MAX || !is_power_of_2(c->bytes))
		return none(c, "a buffer has 64 KiB to 1 GiB, a power of two", -EINVAL);
	if (c->kind == HWT_KMOD_PT && !IS_ENABLED(CONFIG_X86_64))
		return none(c, "CPUs of this architecture have no Intel PT", -ENODEV);
	if (c->kind == HWT_KMOD_CS && !IS_ENABLED(CONFIG_ARM64))
		return none(c, "CPUs of this architecture have no CoreSight", -ENODEV);
	if (c->kind != HWT_KMOD_PT && c->kind != HWT_KMOD_CS)
		return none(c, "a kind of trace unit that is not known", -EOPNOTSUPP);
	return the_kind.open(out, c);
}

static int sleep(struct notifier_block *nb, unsigned long action, void *arg)
{
	bool down = action == PM_SUSPEND_PREPARE || action == PM_HIBERNATION_PREPARE;

	if (!down && action != PM_POST_SUSPEND && action != PM_POST_HIBERNATION)
		return NOTIFY_DONE;
	cpus_read_lock();
	if (down)
		the_kind.sleep();
	else
		the_kind.wake();
	cpus_read_unlock();
	return NOTIFY_DONE;
}

static struct notifier_block sleep_notifier = { .notifier_call = sleep };

/* The next kernel must not find its memory written to. Sessions end with their files later. */
static int reboot(struct notifier_block *nb, unsigned long action, void *arg)
{
	cpus_read_lock();
	the_kind.off();
	cpus_read_unlock();
	return NOTIFY_DONE;
}

static struct notifier_block reboot_notifier = { .notifier_call = reboot };

void unit_init(void)
{
	register_pm_notifier(&sleep_notifier);
	register_reboot_notifier(&reboot_notifier);
}

void unit_exit(void)
{
	unregister_reboot_notifier(&reboot_notifier);
	unregister_pm_notifier(&sleep_notifier);
}
