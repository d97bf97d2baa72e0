/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_CONTEXT_H
#define HWT_KMOD_CONTEXT_H

/*
 * Context fields of a session (hwtrace/contexts.def). What they need is made when the session is
 * opened; context_put() runs in probes.
 */
#include <hwtrace/kmod.h>
#include <hwtrace/uapi.h>

/* Context fields by their number. */
#define HWT_CONTEXT(name, number, type, unit, text) CONTEXT_##name,
enum context_index {
#include <hwtrace/contexts.def>
	CONTEXT_COUNT
};
#define CONTEXT_MAX	(CONTEXT_COUNT * 2)	/* words of a block: none has more than 16 bytes */

struct perf_event;
struct session;
struct session_cpu;

struct context_cfg {
	u32 mask;			/* bits of enum hwt_context; 0: no block */
	u32 size;			/* bytes of the block, a multiple of 8 */
	u8 at[CONTEXT_COUNT];		/* offsets in it */
};

/* 0 or what is wrong with the request; context_close() in both cases. Sleeps. */
int context_open(struct session *s, const struct hwt_kmod_session *c);
void context_close(struct session *s);
/* The block of an event with these hwt_rec.flags here and now; preemption is off. */
void context_put(const struct session_cpu *c, u16 flags, u64 *to);
/* The block of a record of the session itself: nothing of it is known. */
void context_none(const struct context_cfg *x, u64 *to);

#endif
