/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_IPT_LIB_H
#define HWT_FLOW_IPT_LIB_H

/*
 * libipt's block decoder (2.0.x) in plain types. Nothing here knows streams, holes or time;
 * ipt_lib.c is the only file that sees the library's types.
 */
#include <stdbool.h>

#include <hwtrace/event.h>

#include "../../hwtrace/image/image.h"
#include "../../hwtrace/source/capture.h"
#include "ipt_code.h"
#include "ipt_rets.h"

/* Configuration of a buffer, and the files that its code lies in. */
struct ipt_lib;

/* Bytes that lie in no section: how many of @n there are at @ip, at most 0 if none. */
typedef int ipt_lib_read(void *ctx, uint64_t ip, uint8_t *buf, size_t n);

/* @cfg may be NULL. -ENOMEM */
int ipt_lib_new(struct ipt_lib **out, const struct trace_cfg *cfg, ipt_lib_read *read, void *ctx);
void ipt_lib_free(struct ipt_lib *l);		/* NULL is fine */
/* An overflow may be written over the second byte of a CYC (errata SKD007, SKL049, KBL041). */
bool ipt_lib_cyc_cut(const struct ipt_lib *l);

/* One version of an address space, for the decoders of one ipt_lib. */
struct pt_image;

struct pt_image *ipt_lib_image_new(struct ipt_lib *l);	/* NULL without memory */
void ipt_lib_image_free(struct pt_image *img);	/* NULL is fine */
/* Code from a file. One that the library can not open is left to the callback. */
void ipt_lib_image_add(struct ipt_lib *l, struct pt_image *img, const struct image_section *s);

struct pt_block_decoder;

/* A decoder of [@begin, @end), which must outlive it; NULL without memory. */
struct pt_block_decoder *ipt_lib_open(const struct ipt_lib *l, const uint8_t *begin,
				      const uint8_t *end);
void ipt_lib_close(struct pt_block_decoder *d);	/* NULL is fine */
void ipt_lib_use(struct pt_block_decoder *d, struct pt_image *img);

/* What the three below return: bits, or a negative number for ipt_lib_fault(). */
enum ipt_lib_status {
	IPT_LIB_EVENT	= 1,	/* an event comes next */
	IPT_LIB_NO_IP	= 2,	/* tracing is off */
	IPT_LIB_END	= 4	/* no packet is left */
};

struct ipt_block {
	uint64_t ip, end_ip;	/* first and last instruction */
	uint32_t insns;		/* 0: nothing was walked */
	uint8_t isa;		/* enum hwt_isa */
	uint8_t kind;		/* of the last one, as far as the library names it */
	uint8_t cut;		/* size of the last one if a section ends inside it, else 0 */
};

enum ipt_lib_type {
	IPT_LIB_ENABLED, IPT_LIB_DISABLED, IPT_LIB_ASYNC_DISABLED, IPT_LIB_ASYNC_BRANCH,
	IPT_LIB_CR3, IPT_LIB_VMCS, IPT_LIB_OVERFLOW, IPT_LIB_TSX, IPT_LIB_STOP, IPT_LIB_EXSTOP,
	IPT_LIB_MWAIT, IPT_LIB_PWRE, IPT_LIB_PWRX, IPT_LIB_PTWRITE, IPT_LIB_CBR, IPT_LIB_EXEC,
	IPT_LIB_OTHER		/* nothing that is not known from elsewhere */
};

struct ipt_lib_event {
	enum ipt_lib_type type;
	bool update;		/* a PSB repeats it */
	bool has_tsc;
	bool no_ip;		/* the address is suppressed: @ip is HWT_NO_ADDR */
	bool resumed;		/* ENABLED where tracing stopped last */
	uint64_t tsc;
	uint64_t ip;		/* where it happened; HWT_NO_ADDR if it has no place */
	uint64_t to;		/* ASYNC_BRANCH: where it went, HWT_NO_ADDR */
	/*
	 * CR3; VMCS address; PTWRITE payload; CBR ratio; MWAIT hints and, from bit 32 on,
	 * extensions; PWRE and PWRX as in the packet (SDM); TSX: enum hwt_tx; EXEC: 1 if not 64-bit
	 */
	uint64_t value;
	uint8_t size;		/* PTWRITE: bytes of @value */
};

int ipt_lib_sync(struct pt_block_decoder *d, uint64_t psb);	/* a PSB at this offset */
int ipt_lib_next(struct pt_block_decoder *d, struct ipt_block *out);
int ipt_lib_event(struct pt_block_decoder *d, struct ipt_lib_event *out);

/* What a walk needs to know of calls, and what it counts. */
struct ipt_lib_walk {
	struct ipt_rets *rets;
	struct ipt_code *code;
	const struct hwt_image *image;
	struct hwt_where where;
	uint32_t gen;		/* of the image, for @code */
	unsigned most;		/* steps at most, not 0 */
	bool ret;		/* in, out: a RET was passed, where it went is not taken yet */
	bool branch;		/* out: something was passed that takes a packet */
	bool user;		/* out: code of the lower half ran */
	bool fresh;		/* out: @last was walked, and is not counted */
	/* out: the last one is a RET for which the stacks do not agree */
	bool apart;
	uint64_t off;		/* out, behind a RET: where the library looked before @last */
	bool stale;		/* out: the library went to @last by a call that is over */
	uint64_t end_ip;	/* in, out: last instruction before @last */
	unsigned steps;		/* out: blocks */
	uint64_t insns;		/* out: of the blocks that are counted */
};
/*
 * ipt_lib_next() over and over, for those who want counts: direct calls, conditional branches and
 * RETs that the stacks agree on are passed. Ends behind any other block (@last), and before a
 * block when the stacks do not agree. Needs stacks that agree.
 */
int ipt_lib_walk(struct pt_block_decoder *d, struct ipt_lib_walk *w, struct ipt_block *last);
/* Offset of the packet that is looked at next; false if there is none. */
bool ipt_lib_offset(struct pt_block_decoder *d, uint64_t *off);
/* False before the first TSC packet: the library counts from 0, which is no time. */
bool ipt_lib_time(struct pt_block_decoder *d, uint64_t *tsc);

struct ipt_lib_fault {
	int code;		/* the library's own */
	uint16_t cause;		/* enum hwt_gap_cause; NONE: the trace is at its end */
	bool came;		/* flow came to the end of the block */
	bool behind;		/* what follows the block is at fault, not its last instruction */
};
struct ipt_lib_fault ipt_lib_fault(int status);

#endif
