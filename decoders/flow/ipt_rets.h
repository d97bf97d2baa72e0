/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_IPT_RETS_H
#define HWT_FLOW_IPT_RETS_H

/*
 * Return addresses, as the hardware keeps them for return compression and as libipt does. They
 * differ: each RET takes an entry from the hardware's stack, and a PSB or an overflow empties it
 * (SDM, "RET Compression", "PSB Packet", "OVF Packet"); libipt takes one only for a compressed RET,
 * and forgets nothing. After a RET that goes elsewhere (a retpoline, what comes after longjmp), or
 * over a PSB or an overflow, it would follow a compressed RET to an address that is long over,
 * without an error.
 */
#include <stdbool.h>
#include <stdint.h>

#define IPT_RETS	64	/* entries of either stack; a power of two */

struct ipt_ret_stack {
	uint64_t v[IPT_RETS];	/* a ring: the oldest entry gives way */
	unsigned top, n;
};

struct ipt_rets {
	struct ipt_ret_stack hw, lib;
};

/* A decoder starts. */
void ipt_rets_start(struct ipt_rets *r);
/* Flow came to a PSB or an overflow. */
void ipt_rets_forget(struct ipt_rets *r);
/* A call that is followed by @ret; not one to the next instruction. */
void ipt_rets_call(struct ipt_rets *r, uint64_t ret);
/* A RET, @compressed or with its address in a TIP. False if libipt follows a wrong entry. */
bool ipt_rets_return(struct ipt_rets *r, bool compressed);

/* Both stacks give the same address now: it does not matter which packet tells where a RET goes. */
static inline bool ipt_rets_agree(const struct ipt_rets *r)
{
	return r->hw.n && r->lib.n && r->hw.v[r->hw.top] == r->lib.v[r->lib.top];
}

/*
 * A RET that went to @to; it is not known whether a packet told that. Hardware that has an entry
 * compresses when it can, so where libipt's entry leads is taken as compressed. Exact when the
 * stacks agree. False if libipt follows a wrong entry.
 */
static inline bool ipt_rets_went(struct ipt_rets *r, uint64_t to)
{
	bool compressed = r->hw.n && r->lib.n && to == r->lib.v[r->lib.top];
	bool holds = !compressed || to == r->hw.v[r->hw.top];

	if (r->hw.n) {
		r->hw.top = (r->hw.top + IPT_RETS - 1) % IPT_RETS;
		r->hw.n--;
	}
	if (compressed) {
		r->lib.top = (r->lib.top + IPT_RETS - 1) % IPT_RETS;
		r->lib.n--;
	}
	return holds;
}

#endif
