/* SPDX-License-Identifier: BSD-2-Clause */
/* The check of order for a session, and its findings in words. */
#include <stdio.h>

#include <hwtrace/kernel.h>

#include "../hwtrace/base/diag.h"
#include "order.h"

int hwt_session_order(struct hwt_session *s, struct hwt_order_sum *out,
		      void (*finding)(void *arg, const struct hwt_order_finding *f), void *arg,
		      struct hwt_diag *diag)
{
	struct hwt_order_sum sum;
	struct hwt_event ev[256];
	struct hwt_stream *st;
	struct order *o;
	int n = 0, rc = hwt_session_kernel(s, &st, diag);

	if (rc < 0)
		return rc;
	rc = order_new(&o);
	if (rc < 0) {
		hwt_stream_close(st);
		return diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "out of memory");
	}
	while (!rc && (n = hwt_stream_next(st, ev, 256)) > 0)
		for (int i = 0; i < n && !rc; i++)
			rc = order_event(o, &ev[i]);
	if (rc < 0)
		diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "out of memory");
	else if (n < 0)
		rc = diag_set(diag, n, 0, NULL, HWT_NO_OFF, "the kernel's events end too early");
	if (!rc) {
		order_end(o);
		order_sum(o, &sum);
		for (size_t i = 0; i < sum.nfindings; i++)
			finding(arg, order_finding(o, i));
		if (out)
			*out = sum;
	}
	order_free(o);
	hwt_stream_close(st);
	return rc;
}

const char *hwt_order_rule_text(unsigned rule)
{
	static const char *const text[HWT_ORDER_RULES] = {
		[HWT_ORDER_WAKING_WAKEUP] = "a task is to be woken before it can run",
		[HWT_ORDER_WAKE_RUN] = "a task is woken before it runs",
		[HWT_ORDER_FORK_RUN] = "a task is made before it runs",
		[HWT_ORDER_ONE_CPU] = "a task leaves one CPU before it runs on another",
		[HWT_ORDER_IPI] = "an interrupt is sent before it comes",
		[HWT_ORDER_BLOCK] = "a request is issued before it is complete",
		[HWT_ORDER_SYSCALL] = "a system call begins before it ends",
	};

	return rule < HWT_ORDER_RULES ? text[rule] : "";
}

size_t hwt_order_text(const struct hwt_order_finding *f, char *buf, size_t size)
{
	unsigned long long least = f->least, edges = f->edges;
	char what[160];
	int n;

	switch (f->kind) {
	case HWT_ORDER_SKEW:
		snprintf(what, sizeof(what), "the clock of cpu %d is %s by %llu ns at least",
			 f->cpu, f->early ? "behind" : "ahead", least);
		break;
	case HWT_ORDER_PAIR:
		snprintf(what, sizeof(what), "the clock of cpu %d is ahead, or that of cpu %d "
			 "behind, by %llu ns at least", f->cpu, f->other, least);
		break;
	case HWT_ORDER_STEP:
		snprintf(what, sizeof(what), "the clock of cpu %d or cpu %d changes by %llu ns at "
			 "least within 200 ms", f->cpu, f->other, least);
		break;
	default:
		n = snprintf(buf, size, "what is told of cpu %d is of cpu %d: %llu tasks came "
			     "there that were sent here", f->cpu, f->other, edges);
		return n < 0 ? 0 : (size_t)n;
	}
	n = snprintf(buf, size, "%s: %s, which %llu times is not so (cpu %d at 0x%llx, cpu %d at "
		     "0x%llx)", what, hwt_order_rule_text(f->rule), edges, f->a.cpu,
		     (unsigned long long)f->a.off, f->b.cpu, (unsigned long long)f->b.off);
	return n < 0 ? 0 : (size_t)n;
}
