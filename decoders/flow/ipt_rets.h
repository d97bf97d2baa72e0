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

#endif
