// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/printk.h>

#include "hook.h"

static struct hook *const lists[] = {
	/* code that changes first: the others change code when they are put in place */
	hooks_text, hooks_sched, hooks_task, hooks_irq, hooks_io, hooks_timer
};

#define for_each_hook(l, h) \
	for (l = 0; l < ARRAY_SIZE(lists); l++) \
		for (h = lists[l]; h->name; h++)

/* On a function of the kernel, not on a tracepoint. */
static bool on_function(const struct hook *h)
{
	return h->handler || h->leave;
}

static bool gives(const struct hook *h, int vtp)
{
	int i;

	for (i = 0; i < HOOK_GIVES; i++)
		if (h->gives[i] == vtp && vtp)
			return true;
	return false;
}

static void found(struct tracepoint *tp, void *unused)
{
	struct hook *h;
	int l;

	for_each_hook(l, h)
		if (!on_function(h) && !strcmp(h->name, tp->name))
			h->tp = tp;
}

static bool there(const char *name)
{
	struct hook *h;
	int l;

	for_each_hook(l, h)
		if (!strcmp(h->name, name))
			return h->there;
	return false;
}

void hook_init(void)
{
	struct hook *h;
	int l;

	for_each_kernel_tracepoint(found, NULL);
	for_each_hook(l, h) {
		if (h->unless && there(h->unless))
			continue;
		if (!on_function(h)) {
			h->there = h->tp;
			continue;
		}
		/* prepared, not in place: nothing of the kernel changes */
		h->rp.kp.symbol_name = h->name;
		h->rp.kp.pre_handler = h->handler;
		h->rp.kp.flags = KPROBE_FLAG_DISABLED;
		h->rp.handler = h->leave;
		h->there = !(h->leave ? register_kretprobe(&h->rp) : register_kprobe(&h->rp.kp));
	}
}

void hook_exit(void)
{
	struct hook *h;
	int l;

	for_each_hook(l, h)
		if (h->leave && h->there)
			unregister_kretprobe(&h->rp);
		else if (h->handler && h->there)
			unregister_kprobe(&h->rp.kp);
}

bool hook_gives(int vtp)
{
	struct hook *h;
	int l;

	for_each_hook(l, h)
		if (h->there && gives(h, vtp))
			return true;
	return false;
}

static int put_in(struct hook *h)
{
	int rc = 0;

	if (!h->users)
		rc = on_function(h) ? enable_kprobe(&h->rp.kp) :
			tracepoint_probe_register(h->tp, h->probe, NULL);
	if (!rc)
		h->users++;
	return rc;
}

static void take_out(struct hook *h)
{
	if (--h->users)
		return;
	if (on_function(h))
		disable_kprobe(&h->rp.kp);
	else
		tracepoint_probe_unregister(h->tp, h->probe, NULL);
}

int hook_get(int vtp)
{
	struct hook *h, *failed = NULL;
	int l, rc = 0;

	for_each_hook(l, h) {
		if (failed || !h->there || !gives(h, vtp))
			continue;
		rc = put_in(h);
		if (rc)
			failed = h;
	}
	if (!failed)
		return 0;
	for_each_hook(l, h) {
		if (h == failed)
			return rc;
		if (h->there && gives(h, vtp))
			take_out(h);
	}
	return rc;
}

void hook_put(int vtp)
{
	struct hook *h;
	int l;

	for_each_hook(l, h)
		if (h->there && gives(h, vtp))
			take_out(h);
}

void hook_sync(void)
{
	tracepoint_synchronize_unregister();
}
