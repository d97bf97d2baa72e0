/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_IPT_FLOW_H
#define HWT_FLOW_IPT_FLOW_H

/* The state of an Intel PT flow stream, for flow_ipt.c and those parts of it that share it. */
#include "emit.h"
#include "ipt_bridge.h"
#include "ipt_code.h"
#include "ipt_lib.h"
#include "ipt_owner.h"
#include "ipt_rets.h"
#include "ipt_scan.h"
#include "ipt_time.h"

#define IPT_IMAGES	16	/* versions of address spaces kept */
#define IPT_HELD	64	/* ranges kept back until a packet proves them */
#define IPT_ROOM	(2 * IPT_HELD + 8 * EMIT_STEP)	/* ring entries that one step may take */

struct ipt_image {
	struct pt_image *img;
	int32_t pid;
	uint64_t from, until;	/* base ns; [from, until). Unknown: made without a time */
	uint32_t gen;
	/*
	 * For code of 32 and 16 bits: it has no sections. What libipt 2.0.5 keeps of a section it
	 * takes for any mode, so that one wrong MODE packet would be seen to the end.
	 */
	bool plain;
	uint64_t used;		/* when it was last chosen */
};

/* told once a buffer */
enum ipt_noted { IPT_NOTED_RATIO = 1, IPT_NOTED_CUT = 2, IPT_NOTED_BACK = 4 };

enum ipt_state { AT_SPAN, AT_SEG, IN_FLOW, IN_HOLE, AT_TAIL, AT_END };

/* Packets that say something even if flow is not known. */
enum ipt_told { IPT_TOLD_CR3, IPT_TOLD_VMCS, IPT_TOLD_CBR, IPT_TOLD_PTW, IPT_TOLD_KINDS };

struct ipt_pass {		/* on the way over a hole */
	uint64_t at, end;	/* in the span; flow goes on at @end */
	uint64_t tsc;		/* of the last TSC packet on this way, HWT_TIME_UNKNOWN */
	struct ipt_ctx ctx;
	uint32_t given[IPT_TOLD_KINDS];	/* so many from the start on were told by the library */
};

struct flow_ipt {
	struct flow_stream fs;
	struct emit emit;
	const struct trace_buf *buf;
	struct hwt_image *image;
	uint32_t src;
	struct notes *notes;		/* or NULL */
	uint8_t noted;			/* enum ipt_noted */
	bool timed;			/* time is wanted for each block */
	struct ipt_lib *lib;
	bool plain;			/* code is not 64-bit now */
	struct ipt_image images[IPT_IMAGES], *cur;
	uint64_t picks;
	uint32_t gens;
	struct ipt_owner owner;
	/* where we are */
	enum ipt_state state;		/* AT_TAIL: what is left after a run */
	size_t span;
	struct ipt_seg seg;
	uint64_t done;			/* bytes of the span that are accounted for */
	uint64_t hint;			/* bytes of the span that the system was told of */
	uint8_t *copy;			/* the run without foreign packets, or NULL */
	struct file *spool;		/* where @copy is if it is long, or NULL */
	struct ipt_foreign_walk walk;
	struct ipt_foreign item;	/* waits for its event; size 0: none */
	struct pt_block_decoder *dec;	/* the one that works: that of the run, or @over */
	struct pt_block_decoder *whole, *over;
	struct ipt_bridge bridge;
	uint64_t base, least;		/* in the span: first byte of @dec, and of what is new */
	uint64_t bridge_end;		/* PSB or end of the run to which @over goes */
	int status;			/* enum ipt_lib_status, or a fault */
	uint64_t sync;			/* offset in the span of the PSB that was reached last */
	bool reached;			/* flow came to the address in it */
	uint64_t psb_from, psb;		/* in [psb_from, psb) of the span none starts */
	uint64_t tsc_from, tsc_at;	/* in [tsc_from, tsc_at) of the span no TSC packet starts */
	uint64_t tsc_next;		/* its value */
	uint64_t ovf;			/* no OVF that was not told of lies before this */
	uint64_t began;			/* in the span: the library started here, or an OVF ended */
	uint32_t given[IPT_TOLD_KINDS];	/* events that it gave since */
	struct ipt_pass pass;
	bool tracing;			/* between enable and disable */
	int error;			/* final */
	struct ipt_time t;
	bool kernel;			/* its code ran: user code is not all that is traced */
	/* ticks of a switch that user code which comes now is behind, if it is of whom we think */
	uint64_t guessed;
	uint64_t due;			/* ticks at which the owner or the image may change */
	/* blocks since a packet was needed */
	uint64_t mark, mark_off;	/* one of them: its address, its place in the span */
	uint32_t quiet, next_mark;
	unsigned nheld;
	struct hwt_event held[IPT_HELD];
	struct ipt_rets rets;
	bool ret_open;			/* after a RET: where flow goes on tells ipt_rets_went() */
	bool at_ret;			/* after a RET that may be where tracing was switched off */
	/* the TIP that it went over: its address bits, and which there are; 0: none */
	uint64_t ret_tip, ret_mask;
	uint64_t ret_off;		/* in the span: packets from here on are behind it */
	uint16_t cbr;			/* last ratio told */
	unsigned steps;
	struct ipt_block block;
	struct ipt_code code;
	/*
	 * Code that is rewritten (text patches, JIT): read for the interval in which it may run.
	 * [calm_from, calm_until): base ns in which process @calm_pid has no other code.
	 */
	bool rewritten;
	uint64_t calm_from, calm_until;
	int32_t calm_pid;
	uint64_t differs;		/* versions do not agree from here on, or HWT_NO_ADDR */
};

static inline const struct trace_span *ipt_span(const struct flow_ipt *f)
{
	return &f->buf->spans[f->span];
}

/* What the library is given of the run. */
static inline const uint8_t *ipt_bytes(const struct flow_ipt *f, uint64_t off)
{
	return f->copy ? f->copy + (off - f->seg.begin) : ipt_span(f)->p + off;
}

/* Offset of the library in the span: the packet that it looks at next. */
static inline uint64_t ipt_at(const struct flow_ipt *f)
{
	uint64_t off = 0;

	if (!ipt_lib_offset(f->dec, &off))
		return f->sync;
	off += f->base;
	return off > f->least ? off : f->least;
}

static inline struct hwt_where ipt_where(struct flow_ipt *f)
{
	return (struct hwt_where){ .pid = f->owner.code, .time = ipt_time_ns(&f->t) };
}

/* Whether an instruction at @ip may lie in code that is rewritten; as long as one may be. */
static inline bool ipt_is_rewritten(const struct flow_ipt *f, uint64_t ip)
{
	return f->rewritten && (image_is_rewritten_at(f->image, ip) ||
				image_is_rewritten_at(f->image, ip + IPT_CODE_INSN - 1));
}

/*
 * For code at @ip that the library has read: what is rewritten was the same at the earliest
 * instant, all other is that of the image, which was chosen by the present time.
 */
static inline struct hwt_where ipt_code_where(struct flow_ipt *f, uint64_t ip)
{
	struct hwt_where w = ipt_where(f);

	if (w.time != HWT_TIME_UNKNOWN && ipt_is_rewritten(f, ip))
		w.time = ipt_time_ns_lo(&f->t);
	return w;
}

static inline void ipt_take_time(struct flow_ipt *f)
{
	uint64_t tsc;

	if (ipt_lib_time(f->dec, &tsc))
		ipt_time_take(&f->t, tsc);
}

/* A packet was needed: code does not run for ever. */
static inline void ipt_moved(struct flow_ipt *f)
{
	f->quiet = f->next_mark = 0;
}

/* --- ipt_put.c --- */

/* An event at the present time, with the rest to be filled in; @off is in the span. */
struct hwt_event ipt_event(struct flow_ipt *f, unsigned type, uint64_t off);
/*
 * Shows the blocks that were kept back. @proven: by the packet that was used last; else they are
 * older than the next one.
 */
void ipt_release(struct flow_ipt *f, bool proven);
/* [off, off + bytes) of the span was not decoded; what lies before it and is open was. */
void ipt_gap(struct flow_ipt *f, unsigned cause, int code, uint64_t off, uint64_t bytes,
	     uint64_t addr);
/* A hole in front of @off: @bytes that never were in the input. */
void ipt_lost(struct flow_ipt *f, unsigned cause, uint64_t bytes, uint64_t off);

/* --- ipt_image.c --- */

int ipt_read_code(void *ctx, uint64_t ip, uint8_t *buf, size_t n);	/* ipt_lib_read */
/* The image of who runs now, and when to look again. */
void ipt_choose_image(struct flow_ipt *f);
void ipt_free_images(struct flow_ipt *f);
/* The owner or the code may change at the present time; true if a switch was told. */
bool ipt_change(struct flow_ipt *f);
/* Flow is at @ip at the place @off, which the idle task does not run if it is user code. */
void ipt_no_idle(struct flow_ipt *f, uint64_t ip, uint64_t off);

/* User code of a guessed owner: what it does is as late as that says. */
static inline void ipt_guessed(struct flow_ipt *f)
{
	ipt_time_not_before(&f->t, f->guessed);
	f->guessed = HWT_TIME_UNKNOWN;
}

/* Time was read that is behind the next switch, which comes first: true if it was told. */
static inline bool ipt_overdue(struct flow_ipt *f)
{
	return f->t.tsc != HWT_TIME_UNKNOWN && f->t.tsc >= f->due && ipt_change(f);
}

/* --- ipt_block.c --- */

void ipt_step_block(struct flow_ipt *f);
/*
 * Flow went on behind a RET, by a TNT bit. False if the library took the address from a call that
 * is over: it is in no packet.
 */
bool ipt_return_holds(struct flow_ipt *f, uint64_t to);

/* --- ipt_event.c --- */

void ipt_step_event(struct flow_ipt *f);
/* A packet of enum ipt_told at @off, without the library. */
void ipt_put_packet(struct flow_ipt *f, const struct ipt_packet *pkt, uint64_t off);
/* Foreign packets before @limit, up to one that an EXSTOP event of the library stands for. */
void ipt_put_foreign(struct flow_ipt *f, uint64_t limit, bool all);

/* --- ipt_hole.c --- */

void ipt_sync_at(struct flow_ipt *f, uint64_t off);	/* starts at the PSB at @off */
void ipt_came_to_psb(struct flow_ipt *f);
void ipt_passed_off(struct flow_ipt *f);
/* Flow can not go on at @off: a hole up to the next address that is known, or the next PSB. */
void ipt_broken_at(struct flow_ipt *f, unsigned cause, int code, uint64_t addr, uint64_t off);
void ipt_broken(struct flow_ipt *f, unsigned cause, int code, uint64_t addr);
void ipt_failed(struct flow_ipt *f);		/* f->status is a fault */
void ipt_end_of_input(struct flow_ipt *f);	/* no packet is left for the library */

/* --- ipt_pass.c --- */

/* Flow goes on at @end, a PSB or the end of the run. @told: by the packets before that. */
void ipt_pass_start(struct flow_ipt *f, uint64_t end, bool told);
void ipt_step_hole(struct flow_ipt *f);

#endif
