/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel PT to events through libipt's block decoder (2.0.x). Longer than other files, as no other
 * one may see the library's types; what needs none of them is in ipt_*.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

#if __has_include(<intel-pt.h>)
#include <intel-pt.h>

#include "ipt_bridge.h"
#include "ipt_code.h"
#include "ipt_owner.h"
#include "ipt_rets.h"
#include "ipt_scan.h"

#define IMAGES		16	/* versions of address spaces kept */
/*
 * libipt maps code in sections, each with a table of 8 bytes a byte, of which only what is used is
 * ever touched. Address space of both that stays: less than a program needs means starting again.
 */
#define CODE_CACHE	(1ULL << 34)
#define SECTION_MAX	(8ULL << 20)	/* bytes of code in one section */
#define HELD		64	/* ranges kept back until a packet proves them */
#define ROOM		(HELD + 8 * EMIT_STEP)	/* ring entries that one step may take */
#define COPY_MAX	(1U << 20)	/* bytes of a copy of trace in memory */
#define QUIET_STEPS	(1U << 16)	/* library calls in one next() without an event */

struct ipt_image {
	struct pt_image *img;
	int32_t pid;
	uint64_t from, until;	/* base ns; [from, until). Unknown: made without a time */
	uint32_t gen;
	uint64_t used;		/* when it was last chosen */
};

enum ipt_state { AT_SPAN, AT_SEG, IN_FLOW, AT_TAIL, AT_END };

struct flow_ipt {
	struct flow_stream fs;
	struct emit emit;
	const struct trace_buf *buf;
	struct hwt_image *image;
	struct machine *machine;
	const struct time_map *map;	/* NULL: events stay in TSC ticks */
	uint32_t src;
	bool timed;			/* time is wanted for each block */
	struct pt_config cfg;
	struct pt_image_section_cache *isc;
	struct ipt_image images[IMAGES], *cur;
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
	int status;
	uint64_t sync;			/* offset in the span of the PSB that was reached last */
	bool reached;			/* flow came to the address in it */
	uint64_t psb_from, psb;		/* in [psb_from, psb) of the span none starts */
	uint64_t tsc_from, tsc_at;	/* in [tsc_from, tsc_at) of the span no TSC packet starts */
	uint64_t tsc_next;		/* its value */
	uint64_t ovf;			/* no OVF that was not told of lies before this */
	bool tracing;			/* between enable and disable */
	int error;			/* final */
	/* time */
	uint64_t tsc;			/* never decreases on a CPU; HWT_TIME_UNKNOWN */
	uint64_t since;			/* it when flow broke */
	/*
	 * A trace unit keeps branches back until a packet is full or must be sent, but not the
	 * timing packets between: what a packet decides is only surely later than the packet
	 * before it.
	 */
	uint64_t lo;			/* what flow does now is not earlier; at most @tsc */
	uint64_t sent;			/* time in force at the last packet that was used */
	uint64_t pkt;			/* the library looks at this one, HWT_NO_OFF: any */
	bool kept;			/* TIPs that come now may be as old as the TNT before */
	uint64_t ns_of, ns, lo_of, lo_ns;	/* @tsc and @lo that were converted last */
	uint64_t due;			/* ticks at which the owner or the image may change */
	/* blocks since a packet was needed */
	uint64_t mark, mark_off;	/* one of them: its address, its place in the span */
	uint32_t quiet, next_mark;
	unsigned nheld;
	struct hwt_event held[HELD];
	struct ipt_rets rets;
	bool at_ret;			/* after a RET that may be where tracing was switched off */
	uint64_t ret_off;		/* in the span: packets from here on are behind it */
	uint16_t cbr;			/* last ratio told */
	unsigned steps;
	struct pt_block block;
	struct ipt_code code;
};

static const struct trace_span *span_of(const struct flow_ipt *f)
{
	return &f->buf->spans[f->span];
}

static uint64_t now_ns(struct flow_ipt *f)
{
	if (f->tsc == HWT_TIME_UNKNOWN || !f->map)
		return HWT_TIME_UNKNOWN;
	if (f->tsc != f->ns_of) {
		f->ns = time_map_ns(f->map, f->tsc);
		f->ns_of = f->tsc;
	}
	return f->ns;
}

/* Offset of the library in the span: the packet that it looks at next. */
static uint64_t at(const struct flow_ipt *f)
{
	uint64_t off = 0;

	if (pt_blk_get_offset(f->dec, &off) < 0)
		return f->sync;
	off += f->base;
	return off > f->least ? off : f->least;
}

static uint64_t lo_ns(struct flow_ipt *f)
{
	if (f->lo != HWT_TIME_UNKNOWN && f->lo != f->lo_of) {
		f->lo_ns = time_map_ns(f->map, f->lo);
		f->lo_of = f->lo;
	}
	return f->lo == HWT_TIME_UNKNOWN ? HWT_TIME_UNKNOWN : f->lo_ns;
}

/* Sets how far the event reaches: to the packet that was used last. */
static void reach(struct flow_ipt *f, struct hwt_event *ev)
{
	uint64_t d = f->map ? now_ns(f) : f->tsc;

	ev->span = HWT_SPAN_UNKNOWN;
	if (d == HWT_TIME_UNKNOWN || d < ev->time)
		return;
	d -= ev->time;
	ev->span = d < FLOW_REACH_UNKNOWN ? (uint32_t)d : FLOW_REACH_UNKNOWN;
}

static struct hwt_event event(struct flow_ipt *f, unsigned type, uint64_t off)
{
	struct hwt_event ev = { .type = (uint16_t)type, .src = f->src,
		.cpu = f->buf->cpu, .pid = f->owner.pid, .tid = f->owner.tid };

	ev.time = f->map ? lo_ns(f) : f->lo;
	reach(f, &ev);
	ev.clock = f->map ? HWT_CLOCK_BASE : HWT_CLOCK_TSC;
	ev.off = (f->span < f->buf->nspans ? span_of(f)->pos : 0) + off;
	return ev;
}

/* @proven: by the packet that was used last; else nothing says how long they took. */
static void release(struct flow_ipt *f, bool proven)
{
	for (unsigned i = 0; i < f->nheld; i++) {
		if (proven)
			reach(f, &f->held[i]);
		else if (f->held[i].time != HWT_TIME_UNKNOWN)
			f->held[i].span = FLOW_REACH_UNKNOWN;
		emit_range(&f->emit, 0, &f->held[i]);
	}
	f->nheld = 0;
}

/* [off, off + bytes) of the span was not decoded; what lies before it and is open was. */
static void gap(struct flow_ipt *f, unsigned cause, int code, uint64_t off, uint64_t bytes,
		uint64_t addr)
{
	struct hwt_event ev;

	if (off < f->done) {
		bytes = off + bytes > f->done ? off + bytes - f->done : 0;
		off = f->done;
	}
	f->fs.stats.bytes_decoded += off - f->done;
	f->done = off + bytes;
	ev = event(f, HWT_EV_GAP, off);
	ev.u.gap.bytes = bytes;
	ev.u.gap.cause = (int16_t)cause;
	ev.u.gap.code = code;
	if (hwt_gap_has_addr(cause))
		ev.u.gap.addr = addr;
	emit_event(&f->emit, 0, &ev);
}

/* The hole where flow broke begins at the time that flow had, whatever was read since. */
static void gap_of_flow(struct flow_ipt *f, unsigned cause, int code, uint64_t off, uint64_t bytes,
			uint64_t addr)
{
	uint64_t now = f->tsc;

	f->tsc = f->since;
	gap(f, cause, code, off, bytes, addr);
	f->tsc = now;
}

static void lost(struct flow_ipt *f, unsigned cause, uint64_t bytes, uint64_t off)
{
	struct hwt_event ev = event(f, HWT_EV_GAP, off);

	ev.u.gap.cause = (int16_t)cause;
	ev.u.gap.lost = hwt_gap_has_addr(cause) ? 0 : bytes;
	emit_event(&f->emit, 0, &ev);
}

/* The library's time, or that of an event. Kept from going backwards: case C07. */
static void take_tsc(struct flow_ipt *f, uint64_t tsc)
{
	if (f->tsc == HWT_TIME_UNKNOWN || tsc > f->tsc)
		f->tsc = tsc;
}

/* What flow does from now on is not earlier than @tsc. */
static void not_before(struct flow_ipt *f, uint64_t tsc)
{
	if (tsc != HWT_TIME_UNKNOWN && (f->lo == HWT_TIME_UNKNOWN || tsc > f->lo))
		f->lo = tsc;
}

/* The packet that was used last had nothing kept back behind it. */
static void flushed(struct flow_ipt *f)
{
	not_before(f, f->tsc);
	f->sent = f->tsc;
	f->pkt = at(f);
	f->kept = false;
}

static void take_time(struct flow_ipt *f)
{
	uint64_t tsc;

	/* without a TSC packet the library counts from 0: that is no time */
	if (!pt_blk_time(f->dec, &tsc, NULL, NULL))
		take_tsc(f, tsc);
}

enum used { USED_TNT, USED_TIP, USED_EVENT };

static enum used packet_at(const struct flow_ipt *f, uint64_t off)
{
	const uint8_t *p = span_of(f)->p + off;

	if (off >= span_of(f)->size)
		return USED_EVENT;
	if ((p[0] & 0x1f) == 0x0d)
		return USED_TIP;
	if (p[0] == 0x02 && span_of(f)->size - off > 1)
		return p[1] == 0xa3 ? USED_TNT : USED_EVENT;
	return (p[0] & 1) || !p[0] ? USED_EVENT : USED_TNT;
}

/*
 * True if no time stands between the packet at @off, a TNT or TIP, and the event behind it, or the
 * end.
 */
static bool event_follows(const struct flow_ipt *f, uint64_t off)
{
	const struct trace_span *s = span_of(f);
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;
	int n;

	for (int i = 0; i < 16 && off < f->seg.end; i++, off += (unsigned)n) {
		n = ipt_packet_decode(&pkt, &ctx, s->p + off, f->seg.end - off);
		if (n < 0)
			return false;
		switch (pkt.kind) {
		case IPT_TSC: case IPT_TMA: case IPT_MTC: case IPT_CYC:
			return false;
		}
		if (i && pkt.kind != IPT_PAD)
			return true;
	}
	return off >= f->seg.end;
}

/*
 * The library may have gone on to another packet. Branches in the one that it used are later than
 * the packet before that; TIPs behind a TNT may have waited with it (SDM, "Deferred TIPs"). An
 * event is told when flow comes to it. @sure: the library's time is not that of an event ahead.
 */
static void next_packet(struct flow_ipt *f, bool sure)
{
	uint64_t off = at(f), pkt = f->pkt;
	enum used used;

	if (off == f->pkt)
		return;
	used = packet_at(f, pkt);
	f->pkt = off;
	if (used == USED_EVENT)
		return;
	if (used == USED_TNT || !f->kept)
		not_before(f, f->sent);
	f->kept |= used == USED_TNT;
	if (sure || event_follows(f, pkt))
		f->sent = f->tsc;
}

/* --- code --- */

static struct hwt_where where(struct flow_ipt *f)
{
	return (struct hwt_where){ .pid = f->owner.pid, .time = now_ns(f) };
}

/* What is in no file: text that is patched, generated, or was dumped without one. */
static int read_memory(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip,
		       void *ctx)
{
	struct flow_ipt *f = ctx;
	struct hwt_where w = where(f);
	int n = hwt_image_read(f->image, &w, ip, buf, size);

	return n > 0 ? n : -pte_nomap;
}

/* A file that the library can not open is read through the callback. */
static void add_section(struct flow_ipt *f, struct ipt_image *im, const struct image_section *s)
{
	for (uint64_t at = 0; at < s->size; at += SECTION_MAX) {
		uint64_t n = s->size - at < SECTION_MAX ? s->size - at : SECTION_MAX;
		int isid = pt_iscache_add_file(f->isc, s->path, s->file_off + at, n,
					       s->addr + at);

		if (isid <= 0)
			return;
		pt_image_add_cached(im->img, f->isc, isid, NULL);
	}
}

static int fill_image(struct flow_ipt *f, struct ipt_image *im, const struct hwt_where *w)
{
	const struct hwt_where first = { .pid = w->pid, .space = w->space, .time = 0 };
	struct image_section *v = NULL;
	size_t n = 0;
	int rc = image_sections(f->image, w, &v, &n);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		add_section(f, im, &v[i]);
	free(v);
	pt_image_set_callback(im->img, read_memory, f);
	im->pid = w->pid;
	/* without a time the newest version is asked for; once there is one, it may be too new */
	im->from = w->time == HWT_TIME_UNKNOWN && image_next_change(f->image, &first) ==
		HWT_TIME_UNKNOWN ? 0 : w->time;
	im->until = image_next_change(f->image, w);
	im->gen = ++f->gens;
	return 0;
}

static struct ipt_image *find_image(struct flow_ipt *f, const struct hwt_where *w)
{
	struct ipt_image *free_slot = NULL;
	int rc;

	for (unsigned i = 0; i < IMAGES; i++) {
		struct ipt_image *im = &f->images[i];

		if (im->img && im->pid == w->pid && (w->time == HWT_TIME_UNKNOWN ?
		    im->until == HWT_TIME_UNKNOWN :
		    w->time >= im->from && w->time < im->until))
			return im;
		if (im != f->cur && (!free_slot || im->used < free_slot->used))
			free_slot = im;
	}
	pt_image_free(free_slot->img);
	*free_slot = (struct ipt_image){ .img = pt_image_alloc(NULL) };
	if (!free_slot->img)
		rc = -ENOMEM;
	else
		rc = fill_image(f, free_slot, w);
	if (rc < 0) {
		pt_image_free(free_slot->img);
		*free_slot = (struct ipt_image){ 0 };
		f->error = rc;
		return NULL;
	}
	return free_slot;
}

/* The image of who runs now, and when to look again. */
static void choose_image(struct flow_ipt *f)
{
	struct hwt_where w = where(f);
	struct ipt_image *im = f->cur;
	uint64_t next;

	if (!im || im->pid != w.pid || (w.time != HWT_TIME_UNKNOWN &&
	    (w.time < im->from || w.time >= im->until)))
		im = find_image(f, &w);
	if (!im)
		return;
	im->used = ++f->picks;
	f->cur = im;
	if (f->dec)
		pt_blk_set_image(f->dec, im->img);
	next = ipt_owner_due(&f->owner);
	if (im->until < next)
		next = im->until;
	if (im->from == HWT_TIME_UNKNOWN)
		next = 0;	/* as soon as there is a time */
	f->due = !f->map || next == HWT_TIME_UNKNOWN ? HWT_TIME_UNKNOWN :
		next ? time_map_ticks(f->map, next) : 0;
}

/* The owner or the code may change at the present time. One switch a call. */
static bool change(struct flow_ipt *f)
{
	struct hwt_event ev = event(f, HWT_EV_SCHED_SWITCH, at(f));
	int got = ipt_owner_step(&f->owner, now_ns(f), &ev);

	if (got) {
		emit_event(&f->emit, 0, &ev);
		/* whose code runs is a guess within one interval; times go with it */
		not_before(f, time_map_ticks(f->map, ev.time));
	}
	choose_image(f);
	return got;
}

/* The first TSC packet of the run at or after @off, HWT_TIME_UNKNOWN if none. */
static uint64_t next_tsc(struct flow_ipt *f, uint64_t off)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;

	if (off >= f->tsc_from && off <= f->tsc_at)
		return f->tsc_next;
	f->tsc_from = off;
	f->tsc_next = HWT_TIME_UNKNOWN;
	for (f->tsc_at = off; f->tsc_at < f->seg.end;) {
		int n = ipt_packet_decode(&pkt, &ctx, span_of(f)->p + f->tsc_at,
					  f->seg.end - f->tsc_at);

		if (n < 0)
			break;
		if (pkt.kind == IPT_TSC) {
			f->tsc_next = pkt.payload;
			break;
		}
		f->tsc_at += (unsigned)n;
	}
	return f->tsc_next;
}

/*
 * Flow is at @ip at the place @off. The idle task runs no user code: if the schedule still has it,
 * the next switch has been, provided that the trace does not say that it comes later.
 */
static void no_idle(struct flow_ipt *f, uint64_t ip, uint64_t off)
{
	struct hwt_event ev;
	uint64_t due;

	while (ipt_owner_idle(&f->owner) && !(ip >> 47) &&
	       emit_room(&f->emit) > HELD + 4 * EMIT_STEP) {
		due = ipt_owner_due(&f->owner);
		if (!f->map || due == HWT_TIME_UNKNOWN ||
		    next_tsc(f, off) == HWT_TIME_UNKNOWN ||
		    time_map_ns(f->map, f->tsc_next) < due)
			return;
		take_tsc(f, time_map_ticks(f->map, due));
		not_before(f, time_map_ticks(f->map, due));
		ev = event(f, HWT_EV_SCHED_SWITCH, off);
		if (ipt_owner_step(&f->owner, due, &ev))
			emit_event(&f->emit, 0, &ev);
		choose_image(f);
	}
}

/* Time was read that is behind the next switch, which comes first: true if it was told. */
static inline bool overdue(struct flow_ipt *f)
{
	return f->tsc != HWT_TIME_UNKNOWN && f->tsc >= f->due && change(f);
}

/* --- blocks --- */

static unsigned isa_of(enum pt_exec_mode mode)
{
	switch (mode) {
	case ptem_64bit: return HWT_ISA_X86_64;
	case ptem_32bit: return HWT_ISA_X86_32;
	case ptem_16bit: return HWT_ISA_X86_16;
	case ptem_unknown: break;
	}
	return HWT_ISA_UNKNOWN;
}

static unsigned kind_of(enum pt_insn_class c)
{
	switch (c) {
	case ptic_call: return HWT_INSN_CALL;
	case ptic_return: return HWT_INSN_RETURN;
	case ptic_jump: return HWT_INSN_JUMP;
	case ptic_cond_jump: return HWT_INSN_BRANCH;
	case ptic_far_call: return HWT_INSN_FAR_CALL;
	case ptic_far_return: return HWT_INSN_FAR_RETURN;
	case ptic_far_jump: return HWT_INSN_FAR_JUMP;
	case ptic_ptwrite: return HWT_INSN_PTWRITE;
	case ptic_other: case ptic_error: break;
	}
	return HWT_INSN_OTHER;
}

static void range(struct flow_ipt *f, struct hwt_event *ev, const struct pt_block *b)
{
	struct hwt_where w = where(f);
	const struct ipt_code_insn *in;

	*ev = event(f, HWT_EV_RANGE, at(f));
	ev->u.range.first = b->ip;
	ev->u.range.last = b->end_ip;
	ev->u.range.insns = b->ninsn;
	ev->u.range.isa = (uint8_t)isa_of(b->mode);
	in = ipt_code_at(&f->code, f->image, &w, f->cur->gen, ev->u.range.isa, b->end_ip);
	ev->u.range.kind = in->size ? in->kind : (uint8_t)kind_of(b->iclass);
	ev->u.range.last_size = b->truncated ? b->size : in->size;
}

/* True if the last instruction of a whole block can not be passed without a packet. */
static bool needs_packet(unsigned kind)
{
	switch (kind) {
	case HWT_INSN_BRANCH: case HWT_INSN_RETURN: case HWT_INSN_ICALL: case HWT_INSN_IJUMP:
	case HWT_INSN_FAR_CALL: case HWT_INSN_FAR_RETURN: case HWT_INSN_FAR_JUMP:
		return true;
	}
	return false;
}

/*
 * A block that ended without a packet is only shown when a later packet proves that flow got there.
 * @whole: the library found the way on.
 */
static void walked(struct flow_ipt *f, const struct pt_block *b, bool whole)
{
	struct hwt_event ev;

	f->owner.user |= !(b->ip >> 47);
	if (f->emit.want.level == HWT_LEVEL_HOLES) {
		f->fs.stats.insns += b->ninsn;
		f->fs.stats.ranges++;
		return;
	}
	range(f, &ev, b);
	take_time(f);
	if (whole && needs_packet(ev.u.range.kind)) {
		reach(f, &ev);
		release(f, true);
		emit_range(&f->emit, 0, &ev);
		return;
	}
	if (f->nheld == HELD)
		release(f, false);
	f->held[f->nheld++] = ev;
}

static void moved(struct flow_ipt *f)
{
	f->quiet = f->next_mark = 0;
}

/*
 * Code that comes to the same address again without having needed a packet will do so for ever: it
 * holds direct jumps and calls only (case B17). One earlier address is kept, ever farther apart.
 */
static bool endless(struct flow_ipt *f, const struct pt_block *b)
{
	if (b->iclass == ptic_cond_jump || b->iclass == ptic_return) {
		moved(f);
		return false;
	}
	/* an indirect branch takes a packet, but the library does not always name its class */
	if (f->quiet && b->ip == f->mark && at(f) == f->mark_off)
		return true;
	if (f->quiet++ == f->next_mark) {
		f->mark = b->ip;
		f->mark_off = at(f);
		f->next_mark = f->next_mark * 2 + 1;
	}
	return false;
}

/* Address that could not be passed: the last instruction, or what follows it. */
static uint64_t stuck_at(struct flow_ipt *f, enum pt_error_code code)
{
	const struct pt_block *b = &f->block;
	struct hwt_where w = where(f);
	const struct ipt_code_insn *in;

	if (!b->ninsn || (code != pte_nomap && code != pte_bad_insn))
		return b->ninsn ? b->end_ip : b->ip;
	in = ipt_code_at(&f->code, f->image, &w, f->cur->gen, isa_of(b->mode), b->end_ip);
	if (in->target != HWT_NO_ADDR && in->kind != HWT_INSN_BRANCH)
		return in->target;
	return in->size ? b->end_ip + in->size : HWT_NO_ADDR;
}

static unsigned cause_of(enum pt_error_code code)
{
	switch (code) {
	case pte_nomap: return HWT_GAP_NO_IMAGE;
	case pte_bad_insn: case pte_bad_query: case pte_bad_retcomp: return HWT_GAP_BAD_IMAGE;
	case pte_retstack_empty: return HWT_GAP_NO_RETURN;
	case pte_noip: case pte_ip_suppressed: return HWT_GAP_NO_PATH;
	case pte_bad_packet: case pte_bad_opc: case pte_bad_context: case pte_no_enable:
	case pte_bad_status_update: return HWT_GAP_BAD_PACKET;
	/* pte_nomem too: mostly it says that its small queue of events is full */
	default: return HWT_GAP_LIB;
	}
}

static void start_at(struct flow_ipt *f, uint64_t off)
{
	moved(f);
	ipt_rets_start(&f->rets);
	f->at_ret = false;
	f->block = (struct pt_block){ 0 };
	f->status = pt_blk_sync_set(f->dec, off);
	f->tracing = f->status >= 0 && !(f->status & pts_ip_suppressed);
	f->steps++;
	take_time(f);
	flushed(f);
}

/* The PSB at @off of the span. */
static void sync_at(struct flow_ipt *f, uint64_t off)
{
	pt_blk_free_decoder(f->over);
	f->over = NULL;
	f->dec = f->whole;
	f->base = f->seg.begin;
	f->least = f->sync = f->ovf = off;
	f->reached = false;
	ipt_bridge_period(&f->bridge, off);
	pt_blk_set_image(f->dec, f->cur->img);
	start_at(f, off - f->seg.begin);
}

/* What the library is given of the run. */
static const uint8_t *bytes_at(const struct flow_ipt *f, uint64_t off)
{
	return f->copy ? f->copy + (off - f->seg.begin) : span_of(f)->p + off;
}

/* PSB in the run at or after @off, or its end. Each byte is searched once. */
static uint64_t next_psb(struct flow_ipt *f, uint64_t off)
{
	if (off >= f->seg.end)
		return f->seg.end;
	if (off < f->psb_from || off > f->psb) {
		f->psb_from = off;
		f->psb = off + ipt_sync_forward(bytes_at(f, off), f->seg.end - off);
	}
	return f->psb;
}

/* End of the PSB group at @psb, so that code up to the address in it can be walked. */
static uint64_t group_end(const struct flow_ipt *f, uint64_t psb)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;
	uint64_t off = psb;

	for (int i = 0; i < 32 && off < f->seg.end; i++) {
		int n = ipt_packet_decode(&pkt, &ctx, bytes_at(f, off), f->seg.end - off);

		if (n < 0)
			break;
		off += (unsigned)n;
		if (pkt.kind == IPT_PSBEND)
			return off;
	}
	return psb;
}

/* Does the PSB group at @psb tell the mode, as it should? Each that does gives an event. */
static bool tells_mode(const struct flow_ipt *f, uint64_t psb)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;

	for (int i = 0; i < 32 && psb < f->seg.end; i++) {
		int n = ipt_packet_decode(&pkt, &ctx, bytes_at(f, psb), f->seg.end - psb);

		if (n < 0 || pkt.kind == IPT_PSBEND || pkt.kind == IPT_OVF)
			break;
		if (pkt.kind == IPT_MODE_EXEC)
			return true;
		psb += (unsigned)n;
	}
	return false;
}

/*
 * The library gives the mode of a PSB group that flow came to: moves f->sync there. The library's
 * place does not tell which one it is, as it reads ahead, maybe over another group.
 */
static void came_to_psb(struct flow_ipt *f)
{
	uint64_t psb = f->sync;

	if (f->reached || !tells_mode(f, psb))
		do
			psb = next_psb(f, psb + 1);
		while (psb < at(f) && !tells_mode(f, psb));
	if (psb < at(f))
		f->sync = psb;
	f->reached = true;
}

/* What a packet in a hole says that must not be missed. */
static void passed(struct flow_ipt *f, const struct ipt_packet *pkt)
{
	switch (pkt->kind) {
	case IPT_PIP:
		ipt_owner_cr3(&f->owner, pkt->payload);
		choose_image(f);
		break;
	case IPT_TSC:
		take_tsc(f, pkt->payload);
		break;
	case IPT_OVF:
		ipt_owner_lost(&f->owner);
		choose_image(f);
		break;
	}
}

static bool has_code(struct flow_ipt *f, uint64_t ip)
{
	struct hwt_where w = where(f);
	uint8_t byte;

	return ip != HWT_NO_ADDR && hwt_image_read(f->image, &w, ip, &byte, 1) > 0;
}

/*
 * Brings the reader of the bridge to the first packet that flow did not use. The library was at
 * @off, but has read ahead; if flow broke at the address @addr that a packet before named, what
 * follows that packet was not used.
 */
static uint64_t unused(struct flow_ipt *f, const uint8_t *p, uint64_t off, uint64_t addr)
{
	struct ipt_bridge *b = &f->bridge, named = { 0 };
	struct ipt_packet pkt;
	uint64_t ip;

	while (b->at < off && ipt_bridge_read(b, p, off, &pkt, &ip))
		if (ip == addr && ip != HWT_NO_ADDR)
			named = *b;
	if (named.at)
		*b = named;
	return b->at;
}

/*
 * The first packet before @psb that names an address with code: true, the reader is behind it and
 * *@kind, *@ip and *@pkt_at tell it.
 */
static bool find_restart(struct flow_ipt *f, const uint8_t *p, uint64_t psb, unsigned *kind,
			 uint64_t *ip, uint64_t *pkt_at, uint64_t *ovf)
{
	struct ipt_packet pkt;

	*ovf = HWT_NO_OFF;
	for (;;) {
		*pkt_at = f->bridge.at;
		if (!ipt_bridge_read(&f->bridge, p, psb, &pkt, ip))
			return false;
		passed(f, &pkt);
		*kind = pkt.kind;
		switch (pkt.kind) {
		case IPT_OVF:
			*ovf = *pkt_at;
			break;
		case IPT_TIP_PGD:
			*ovf = HWT_NO_OFF;
			break;
		case IPT_FUP:	/* it may only say where flow is, as after an OVF */
			if (*ovf != HWT_NO_OFF || !ipt_fup_has_target(p, f->bridge.at, psb))
				*kind = IPT_TIP;
			/* fallthrough */
		case IPT_TIP:
		case IPT_TIP_PGE:
			no_idle(f, *ip, *pkt_at);
			if (has_code(f, *ip))
				return true;
			*ovf = HWT_NO_OFF;
			break;
		}
	}
}

/* Lets flow go on behind a hole at @off, before the PSB at @psb. */
static bool bridge(struct flow_ipt *f, unsigned cause, int code, uint64_t addr, uint64_t off,
		   uint64_t psb)
{
	const uint8_t *p = bytes_at(f, f->seg.begin) - f->seg.begin;
	uint64_t to = group_end(f, psb), ip, pkt_at, ovf;
	struct pt_config cfg = f->cfg;
	unsigned kind;
	size_t n;

	off = unused(f, p, off, cause == HWT_GAP_NO_RETURN ? HWT_NO_ADDR : addr);
	if (!find_restart(f, p, psb, &kind, &ip, &pkt_at, &ovf))
		return false;
	n = ipt_bridge_make(&f->bridge, p, to, kind, ip, f->tsc, &cfg.begin);
	if (!n)
		return false;
	cfg.end = cfg.begin + n + (to - f->bridge.at);
	pt_blk_free_decoder(f->over);
	f->over = pt_blk_alloc_decoder(&cfg);
	if (!f->over)
		return false;
	gap_of_flow(f, cause, code, off, pkt_at - off, addr);
	if (ovf != HWT_NO_OFF)
		lost(f, HWT_GAP_OVERFLOW, 0, ovf);
	f->dec = f->over;
	f->base = f->bridge.at - n;
	f->least = f->ovf = f->bridge.at;
	f->bridge_end = psb;
	pt_blk_set_image(f->dec, f->cur->img);
	start_at(f, 0);
	return true;
}

/* Flow can not go on at @off: a hole up to the next address that is known, or the next PSB. */
static void broken_at(struct flow_ipt *f, unsigned cause, int code, uint64_t addr, uint64_t off)
{
	uint64_t next = next_psb(f, f->sync + 1);

	f->since = f->tsc;
	if (f->dec == f->whole)
		take_time(f);
	/* the library reads ahead: it may be past a PSB that flow did not come to */
	if (next < off) {
		off = next;
	} else {
		if (off <= f->sync)
			off = f->sync;
		if (f->emit.want.resync == HWT_RESYNC_PACKET &&
		    bridge(f, cause, code, addr, off, next))
			return;
	}
	ipt_owner_lost(&f->owner);
	gap_of_flow(f, cause, code, off, next - off, addr);
	choose_image(f);
	if (next < f->seg.end)
		sync_at(f, next);
	else
		f->state = AT_TAIL;
}

static void broken(struct flow_ipt *f, unsigned cause, int code, uint64_t addr)
{
	broken_at(f, cause, code, addr, at(f));
}

/* No packet is left for the library. */
static void end_of_input(struct flow_ipt *f)
{
	f->nheld = 0;
	if (f->dec == f->over && f->bridge_end < f->seg.end)
		sync_at(f, f->bridge_end);
	else
		f->state = AT_TAIL;
}

static void failed(struct flow_ipt *f)
{
	enum pt_error_code code = pt_errcode(f->status);
	unsigned cause = cause_of(code);

	if (code == pte_eos) {		/* nothing proves the instructions up to here */
		end_of_input(f);
		return;
	}
	release(f, false);
	broken(f, cause, code, hwt_gap_has_addr(cause) ? stuck_at(f, code) : HWT_NO_ADDR);
}

/* False if nothing proves the block, or what there is of it. */
static bool shown(struct flow_ipt *f)
{
	if (f->status >= 0)
		return true;
	switch (pt_errcode(f->status)) {
	case pte_nomap: case pte_bad_insn:		/* flow came to the end of what is known */
	case pte_retstack_empty: case pte_bad_query:	/* and to a branch */
		return true;
	default:
		return false;
	}
}

static void called(struct flow_ipt *f, const struct pt_block *b)
{
	struct hwt_where w = where(f);
	const struct ipt_code_insn *in = ipt_code_at(&f->code, f->image, &w, f->cur->gen,
						     isa_of(b->mode), b->end_ip);
	uint64_t ret = b->end_ip + (b->truncated ? b->size : in->size);

	if (in->kind != HWT_INSN_CALL || in->target != ret)
		ipt_rets_call(&f->rets, ret);
}

/* What told the library where the RET leads that it went over from @off on. */
static void returned(struct flow_ipt *f, uint64_t off)
{
	uint64_t end = at(f);
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;
	int n;

	f->ret_off = off;
	for (; off < end; off += (unsigned)n) {
		n = ipt_packet_decode(&pkt, &ctx, bytes_at(f, off), end - off);
		if (n < 0)
			break;
		switch (pkt.kind) {
		case IPT_TIP:
			ipt_rets_return(&f->rets, false);
			return;
		case IPT_TIP_PGD:	/* the next step tells whether it is for the RET */
			f->at_ret = true;
			return;
		case IPT_TNT8: case IPT_TNT64: case IPT_FUP:
			off = end;
			n = 0;
			break;
		}
	}
	f->at_ret = true;
}

/*
 * Flow went on behind a RET, by a TNT bit. False if the library took the address from a call that
 * is over: it is in no packet.
 */
static bool return_holds(struct flow_ipt *f)
{
	if (!f->at_ret)
		return true;
	f->at_ret = false;
	return ipt_rets_return(&f->rets, true);
}

static void step_block(struct flow_ipt *f)
{
	uint64_t off = at(f), ret = f->block.end_ip;

	if (f->timed || f->due != HWT_TIME_UNKNOWN)
		take_time(f);
	if (f->timed)
		next_packet(f, true);
	if (overdue(f))
		return;
	f->status = pt_blk_next(f->dec, &f->block, sizeof(f->block));
	f->steps++;
	if (f->status == -pte_eos)
		return;
	if (!f->block.ninsn)
		return;
	if (!f->tracing) {
		/* as in step_event(); the library walks from where tracing was switched off */
		broken(f, HWT_GAP_BREAK, 0, HWT_NO_ADDR);
		return;
	}
	if (!return_holds(f)) {
		broken_at(f, HWT_GAP_NO_RETURN, 0, ret, f->ret_off);
		return;
	}
	if (!shown(f))
		return;
	walked(f, &f->block, f->status >= 0);
	if (f->status >= 0 && f->block.iclass == ptic_call)
		called(f, &f->block);
	else if (f->status >= 0 && f->block.iclass == ptic_return)
		returned(f, off);
	if (f->status >= 0 && endless(f, &f->block)) {
		f->nheld = 0;
		broken(f, HWT_GAP_NO_PROGRESS, 0, f->block.ip);
	}
}

/* --- events --- */

static void put(struct flow_ipt *f, const struct hwt_event *ev)
{
	emit_event(&f->emit, 0, ev);
}

static void put_at(struct flow_ipt *f, unsigned type, uint64_t addr, unsigned flags)
{
	struct hwt_event ev = event(f, type, at(f));

	ev.flags = (uint8_t)flags;
	ev.u.at.addr = addr;
	put(f, &ev);
}

static void put_value(struct flow_ipt *f, unsigned type, uint64_t value, uint64_t addr,
		      unsigned what)
{
	struct hwt_event ev = event(f, type, at(f));

	ev.u.value.value = value;
	ev.u.value.addr = addr;
	ev.u.value.what = what;
	put(f, &ev);
}

static void put_power(struct flow_ipt *f, unsigned what, uint64_t payload, uint64_t addr)
{
	struct hwt_event ev = event(f, HWT_EV_POWER, at(f));

	ev.u.power.what = what;
	ev.u.power.payload = payload;
	ev.u.power.addr = addr;
	put(f, &ev);
}

static void put_exception(struct flow_ipt *f, uint64_t from, uint64_t to)
{
	struct hwt_event ev = event(f, HWT_EV_EXCEPTION, at(f));

	ev.flags = HWT_F_CUT;
	ev.u.exc.from = from;
	ev.u.exc.to = to;
	ev.u.exc.what = HWT_EXC_ASYNC;
	put(f, &ev);
}

static void put_record(struct flow_ipt *f, unsigned kind, uint64_t off, uint64_t size)
{
	struct hwt_event ev = event(f, HWT_EV_RECORD, off);

	ev.u.rec.data = span_of(f)->p + off;
	ev.u.rec.size = (uint32_t)size;
	ev.u.rec.id = FLOW_RECORD_PT | kind;
	put(f, &ev);
}

static void aspace(struct flow_ipt *f, uint64_t cr3, bool update)
{
	struct hwt_event ev;

	/* a PSB repeats what is known */
	if (update && cr3 == f->owner.cr3)
		return;
	ipt_owner_cr3(&f->owner, cr3);
	choose_image(f);
	ev = event(f, HWT_EV_ASPACE, at(f));
	ev.u.aspace.id = cr3;
	ev.u.aspace.valid = 1;
	put(f, &ev);
}

static void vmcs(struct flow_ipt *f, uint64_t base)
{
	struct hwt_event ev = event(f, HWT_EV_ASPACE, at(f));

	ev.u.aspace.vmid = (uint32_t)(base >> 12);	/* page of the VMCS */
	ev.u.aspace.valid = 2;
	put(f, &ev);
}

static void ptwrite(struct flow_ipt *f, const struct pt_event *e, uint64_t ip)
{
	struct hwt_event ev = event(f, HWT_EV_MARK, at(f));

	ev.u.mark.value = e->variant.ptwrite.payload;
	ev.u.mark.addr = ip;
	ev.u.mark.bits = (uint8_t)(e->variant.ptwrite.size * 8);
	put(f, &ev);
}

static void tsx(struct flow_ipt *f, const struct pt_event *e, uint64_t ip)
{
	if (e->status_update)
		return;
	put_value(f, HWT_EV_TX, 0, ip, e->variant.tsx.aborted ? HWT_TX_ABORT :
		  e->variant.tsx.speculative ? HWT_TX_BEGIN : HWT_TX_COMMIT);
}

static void cbr(struct flow_ipt *f, const struct pt_event *e)
{
	uint16_t ratio = e->variant.cbr.ratio;

	if (e->status_update && ratio == f->cbr)
		return;
	f->cbr = ratio;
	put_value(f, HWT_EV_FREQ, ratio, HWT_NO_ADDR, 0);
}

/* What a power event says, laid out as in its packet (SDM, "PWRE Packet", "PWRX Packet"). */
static uint64_t pwre_bits(const struct pt_event *e)
{
	return (uint64_t)e->variant.pwre.hw << 7 | (uint64_t)e->variant.pwre.sub_state << 8 |
		(uint64_t)e->variant.pwre.state << 12;
}

static uint64_t pwrx_bits(const struct pt_event *e)
{
	return e->variant.pwrx.last | (uint64_t)e->variant.pwrx.deepest << 4 |
		(uint64_t)e->variant.pwrx.interrupt << 8 |
		(uint64_t)e->variant.pwrx.store << 10 |
		(uint64_t)e->variant.pwrx.autonomous << 11;
}

/* Foreign packets before @limit, up to one that an EXSTOP event of the library stands for. */
static void foreign(struct flow_ipt *f, uint64_t limit, bool all)
{
	while (f->copy && emit_room(&f->emit) > ROOM) {
		if (!f->item.size && !ipt_foreign_next(&f->item, &f->walk, span_of(f), limit))
			return;
		if (f->item.bound && !all)
			return;
		if (f->item.kind != IPT_EXSTOP)
			put_record(f, f->item.kind, f->item.off, f->item.size);
		f->item.size = 0;
	}
}

/* True if an EXSTOP event of the library stands for a foreign packet, which is given. */
static bool stands_for_foreign(struct flow_ipt *f)
{
	bool other;

	if (!f->copy)
		return false;
	foreign(f, f->seg.end, false);
	if (!f->item.size)
		return false;
	other = f->item.kind != IPT_EXSTOP;
	if (other)
		put_record(f, f->item.kind, f->item.off, f->item.size);
	f->item.size = 0;
	return other;
}

static void exstop(struct flow_ipt *f, const struct pt_event *e, uint64_t ip)
{
	if (!e->ip_suppressed && stands_for_foreign(f))
		return;
	put_power(f, HWT_POWER_EXSTOP, 0, ip);
}

/* The library is past the OVF; our own packets tell where it is. */
static void overflow(struct flow_ipt *f, bool on)
{
	uint64_t end = at(f);
	uint64_t ovf = ipt_next_ovf(span_of(f), f->ovf, end, f->cfg.errata.skd007);

	f->tracing = on;
	ipt_rets_forget(&f->rets);
	f->ovf = ovf < end ? ovf + 2 : end;
	foreign(f, at(f), true);	/* the overflow may have taken the FUP they wait for */
	ipt_owner_lost(&f->owner);
	gap(f, HWT_GAP_OVERFLOW, 0, ovf, 0, 0);
	choose_image(f);
}

/* @e's own address, where it has one that is not suppressed. */
#define IP(member) (e->ip_suppressed ? HWT_NO_ADDR : e->variant.member)

static void translate(struct flow_ipt *f, const struct pt_event *e)
{
	switch (e->type) {
	case ptev_enabled:
		f->tracing = true;
		no_idle(f, IP(enabled.ip), at(f));
		put_at(f, HWT_EV_ON, IP(enabled.ip),
		       e->variant.enabled.resumed ? HWT_F_RESUMED : 0);
		break;
	case ptev_disabled:
		f->tracing = false;
		put_at(f, HWT_EV_OFF, IP(disabled.ip), 0);
		break;
	case ptev_async_disabled:
		f->tracing = false;
		put_at(f, HWT_EV_OFF, e->variant.async_disabled.at, HWT_F_CUT);
		break;
	case ptev_async_branch:
		put_exception(f, e->variant.async_branch.from, IP(async_branch.to));
		break;
	case ptev_paging:
		aspace(f, e->variant.paging.cr3, e->status_update);
		break;
	case ptev_async_paging:
		aspace(f, e->variant.async_paging.cr3, e->status_update);
		break;
	case ptev_vmcs:
		vmcs(f, e->variant.vmcs.base);
		break;
	case ptev_async_vmcs:
		vmcs(f, e->variant.async_vmcs.base);
		break;
	case ptev_overflow:
		overflow(f, !e->ip_suppressed);
		break;
	case ptev_tsx:
		tsx(f, e, IP(tsx.ip));
		break;
	case ptev_stop:
		put_value(f, HWT_EV_TRIGGER, 0, HWT_NO_ADDR, HWT_TRIGGER_STOP);
		break;
	case ptev_exstop:
		exstop(f, e, IP(exstop.ip));
		break;
	case ptev_mwait:
		put_power(f, HWT_POWER_MWAIT, e->variant.mwait.hints |
			  (uint64_t)e->variant.mwait.ext << 32, IP(mwait.ip));
		break;
	case ptev_pwre:
		put_power(f, HWT_POWER_PWRE, pwre_bits(e), HWT_NO_ADDR);
		break;
	case ptev_pwrx:
		put_power(f, HWT_POWER_PWRX, pwrx_bits(e), HWT_NO_ADDR);
		break;
	case ptev_ptwrite:
		ptwrite(f, e, IP(ptwrite.ip));
		break;
	case ptev_cbr:
		cbr(f, e);
		break;
	case ptev_exec_mode:	/* seen in each block */
	case ptev_tick:		/* not asked for */
	case ptev_mnt:		/* a foreign packet for us */
		break;
	}
}

/*
 * True if flow came to the PSB that was read: the mode in it holds at its address. If tracing is
 * off, the enable is missing, and if it is on where the PSB has no address, the disable: the PSB
 * is believed, and read again from its start.
 */
static bool at_psb(const struct pt_event *e)
{
	return e->status_update && (e->type == ptev_exec_mode || e->type == ptev_tsx);
}

/* True if branches may have been kept back while its packet was sent. */
static bool passes_by(const struct pt_event *e)
{
	switch (e->type) {
	case ptev_cbr: case ptev_pwre: case ptev_pwrx: case ptev_mnt: case ptev_tick:
		return true;
	case ptev_exstop: case ptev_mwait:
		return e->ip_suppressed;
	default:
		return false;
	}
}

static void step_event(struct flow_ipt *f)
{
	struct pt_event e;

	if (f->timed)
		next_packet(f, false);
	f->status = pt_blk_event(f->dec, &e, sizeof(e));
	f->steps++;
	if (f->status < 0) {
		f->block.ninsn = 0;
		return;
	}
	if (e.has_tsc)
		take_tsc(f, e.tsc);
	release(f, true);
	moved(f);
	if (f->at_ret && e.type == ptev_disabled) {
		f->at_ret = false;
		ipt_rets_return(&f->rets, false);
	}
	if (!return_holds(f)) {
		broken_at(f, HWT_GAP_NO_RETURN, 0, f->block.end_ip, f->ret_off);
		return;
	}
	if (!f->tracing || !passes_by(&e))
		flushed(f);
	else
		f->pkt = at(f);		/* no branch was in it */
	while (emit_room(&f->emit) > ROOM && overdue(f))
		;
	if (at_psb(&e)) {
		if (f->tracing == !!e.ip_suppressed) {
			broken(f, HWT_GAP_BREAK, 0, HWT_NO_ADDR);
			return;
		}
		if (e.type == ptev_exec_mode) {
			came_to_psb(f);
			ipt_rets_forget(&f->rets);
		}
	}
	translate(f, &e);
}

/* --- runs, spans, buffer --- */

static void close_run(struct flow_ipt *f)
{
	pt_blk_free_decoder(f->whole);
	pt_blk_free_decoder(f->over);
	if (!f->spool)
		free(f->copy);
	file_close(f->spool);
	f->spool = NULL;
	f->dec = f->whole = f->over = NULL;
	f->copy = NULL;
	f->nheld = 0;
}

static void step_span(struct flow_ipt *f)
{
	const struct trace_span *s;

	if (f->span == f->buf->nspans) {
		if (f->buf->cause_after != HWT_GAP_NONE)
			lost(f, f->buf->cause_after, f->buf->lost_after, 0);
		emit_flush(&f->emit);
		f->state = AT_END;
		return;
	}
	s = span_of(f);
	f->fs.stats.bytes_in += s->size;
	f->done = f->hint = 0;
	f->seg.next = 0;
	ipt_owner_span(&f->owner, f->buf, s);
	/* a decoder that starts afresh while tracing was on loses its way */
	if (s->cause_before != HWT_GAP_NONE || f->tracing) {
		ipt_owner_lost(&f->owner);
		lost(f, s->cause_before != HWT_GAP_NONE ? s->cause_before : HWT_GAP_BREAK,
		     s->lost_before, 0);
	}
	f->tracing = false;
	choose_image(f);
	f->state = AT_SEG;
}

/* A long copy is written to a file, so that memory does not grow with the trace. */
static int spool_run(struct flow_ipt *f, struct ipt_patch *w)
{
	uint8_t *piece = malloc(COPY_MAX);
	uint64_t told = 0;
	size_t n = 0;
	int rc = piece ? file_spool_new(&f->spool, "trace without foreign packets") : -ENOMEM;

	while (!rc && (n = ipt_scan_patch(piece, COPY_MAX, w, span_of(f), &f->seg))) {
		rc = file_spool_write(f->spool, piece, n);
		span_done_before(span_of(f), w->at, &told);
	}
	free(piece);
	if (!rc)
		rc = file_spool_map(f->spool);
	if (!rc)
		f->copy = (uint8_t *)(uintptr_t)f->spool->p;
	return rc;
}

/* The run without foreign packets, in memory if it is short. */
static int copy_run(struct flow_ipt *f)
{
	struct ipt_patch w = { .at = f->seg.begin };
	size_t n = f->seg.end - f->seg.begin;

	if (n > COPY_MAX)
		return spool_run(f, &w);
	f->copy = malloc(n);
	if (!f->copy)
		return -ENOMEM;
	ipt_scan_patch(f->copy, n, &w, span_of(f), &f->seg);
	return 0;
}

static void open_run(struct flow_ipt *f)
{
	const struct trace_span *s = span_of(f);
	size_t n = f->seg.end - f->seg.begin;

	if (f->seg.foreign) {
		f->error = copy_run(f);
		if (f->error)
			return;
		f->walk = (struct ipt_foreign_walk){ .at = f->seg.begin, .end = f->seg.end };
		f->item.size = 0;
	}
	f->cfg.begin = f->copy ? f->copy : (uint8_t *)s->p + f->seg.begin;
	f->cfg.end = f->cfg.begin + n;
	f->dec = f->whole = pt_blk_alloc_decoder(&f->cfg);
	if (!f->dec) {
		f->error = -ENOMEM;
		return;
	}
	f->psb_from = f->tsc_from = 1;	/* nothing is known of the run */
	f->psb = f->tsc_at = 0;
	sync_at(f, f->seg.begin);
	f->state = IN_FLOW;
}

/*
 * Memory that the trace unit never wrote, in front of what it wrote: read as PAD, which it may as
 * well be. Without a PSB behind it zeros are no trace.
 */
static bool unwritten(const struct trace_span *s, uint64_t n)
{
	return n < s->size && !s->p[0] && !memcmp(s->p, s->p + 1, n - 1);
}

static void step_seg(struct flow_ipt *f)
{
	const struct trace_span *s = span_of(f);
	uint64_t from = f->seg.next;

	if (from == s->size) {
		f->fs.stats.bytes_decoded += s->size - f->done;
		f->span++;
		f->state = AT_SPAN;
		return;
	}
	ipt_scan(&f->seg, s, from);
	if (f->seg.begin > from && !(from == 0 && unwritten(s, f->seg.begin)))
		gap(f, HWT_GAP_NO_SYNC, 0, from, f->seg.begin - from, 0);
	if (f->seg.begin < f->seg.end)
		open_run(f);
	else if (f->seg.cause != HWT_GAP_NONE)
		gap(f, f->seg.cause, 0, f->seg.bad, f->seg.next - f->seg.bad, 0);
}

/* What comes is later than the last packet, and that bounds what came before. */
static void all_used(struct flow_ipt *f)
{
	struct hwt_event ev;

	next_packet(f, false);
	not_before(f, f->sent);
	ev = event(f, HWT_EV_NONE, at(f));
	emit_event(&f->emit, 0, &ev);
}

/* The run is over: foreign packets at its end, then why it ended. */
static void step_tail(struct flow_ipt *f)
{
	if (f->copy) {
		foreign(f, f->seg.end, true);
		if (f->item.size || emit_room(&f->emit) <= ROOM)
			return;
	}
	take_time(f);
	if (overdue(f))
		return;
	if (f->timed)
		all_used(f);
	if (f->seg.cause != HWT_GAP_NONE) {
		f->tracing = false;
		gap(f, f->seg.cause, 0, f->seg.bad, f->seg.next - f->seg.bad, 0);
		ipt_owner_lost(&f->owner);
	}
	close_run(f);
	f->state = AT_SEG;
}

static void tell_system(struct flow_ipt *f)
{
	uint64_t before = f->hint;

	if (f->state != IN_FLOW)
		return;
	span_done_before(span_of(f), at(f), &f->hint);
	if (f->spool && f->hint > before)
		file_done(f->spool, before > f->seg.begin ? before - f->seg.begin : 0,
			  f->hint - f->seg.begin);
}

static void step_flow(struct flow_ipt *f)
{
	if (overdue(f))
		return;
	if (f->copy)
		foreign(f, at(f), false);
	if (f->status < 0)
		failed(f);
	else if (f->status & pts_event_pending)
		step_event(f);
	else if (f->status & pts_eos)	/* case B16: no packet is left to prove more code */
		end_of_input(f);
	else
		step_block(f);
}

/* Fills the ring, as far as one call may go. */
static void run(struct flow_ipt *f)
{
	f->steps = 0;
	while (f->state != AT_END && !f->error && f->steps < QUIET_STEPS &&
	       emit_room(&f->emit) > ROOM) {
		switch (f->state) {
		case AT_SPAN: step_span(f); break;
		case AT_SEG: step_seg(f); break;
		case IN_FLOW: step_flow(f); break;
		case AT_TAIL: step_tail(f); break;
		case AT_END: break;
		}
	}
	tell_system(f);
	f->fs.stats.steps += f->steps;
}

static int ipt_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct flow_ipt *f = hwt_container_of(s, struct flow_ipt, fs.s);
	int n;

	if (max <= 0)
		return -EINVAL;
	if (emit_room(&f->emit) == EMIT_RING)
		run(f);
	n = emit_take(&f->emit, ev, max);
	if (n)
		return n;
	if (f->error)
		return f->error;
	if (f->state == AT_END)
		return 0;
	*ev = event(f, HWT_EV_NONE, f->dec ? at(f) : 0);
	return 1;
}

static void ipt_close(struct hwt_stream *s)
{
	struct flow_ipt *f = hwt_container_of(s, struct flow_ipt, fs.s);

	close_run(f);
	for (unsigned i = 0; i < IMAGES; i++)
		pt_image_free(f->images[i].img);
	pt_iscache_free(f->isc);
	ipt_bridge_free(&f->bridge);
	emit_fini(&f->emit);
	free(f);
}

static const struct hwt_stream_ops ipt_ops = { ipt_next, ipt_close };

/* Address filter ranges; TraceStop ranges are of the other kind. SDM, "IA32_RTIT_CTL MSR". */
static void set_filter(struct pt_conf_addr_filter *af, const struct trace_cfg *c)
{
	uint64_t *const a[4] = { &af->addr0_a, &af->addr1_a, &af->addr2_a, &af->addr3_a };
	uint64_t *const b[4] = { &af->addr0_b, &af->addr1_b, &af->addr2_b, &af->addr3_b };

	for (unsigned i = 0; i < 4 && i < c->r.pt.nfilter; i++) {
		*a[i] = c->r.pt.filter[i][0];
		*b[i] = c->r.pt.filter[i][1];
		af->config.addr_cfg |= (c->r.pt.filter_stop >> i & 1 ? 2ull : 1ull) << (4 * i);
	}
}

static void set_config(struct flow_ipt *f, const struct trace_cfg *c)
{
	struct pt_config *p = &f->cfg;

	pt_config_init(p);
	/* blocks that are ranges: without direct calls and jumps inside; calls are counted */
	p->flags.variant.block.end_on_call = 1;
	p->flags.variant.block.end_on_jump = f->emit.want.level > HWT_LEVEL_HOLES;
	if (!c)
		return;
	if (c->r.pt.family) {
		p->cpu = (struct pt_cpu){ .vendor = pcv_intel, .family = c->r.pt.family,
			.model = c->r.pt.model, .stepping = c->r.pt.stepping };
		pt_cpu_errata(&p->errata, &p->cpu);	/* a CPU it does not know has none */
	}
	/*
	 * A PSB with a FUP right before an enable is a contradiction but for this erratum; the
	 * parts that have it are more than the library knows.
	 */
	p->errata.bdm70 = 1;
	/* MTC gives time only with the ratio to the crystal; without it the TSC packets remain */
	p->mtc_freq = c->r.pt.mtc_freq;
	p->nom_freq = c->r.pt.nom_freq;
	p->cpuid_0x15_eax = c->r.pt.cpuid_15_eax;
	p->cpuid_0x15_ebx = c->r.pt.cpuid_15_ebx;
	set_filter(&p->addr_filter, c);
}

int flow_ipt_new(struct hwt_stream **out, const struct flow_args *a, struct hwt_diag *diag)
{
	struct flow_ipt *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	f->fs.s.ops = &ipt_ops;
	f->fs.s.name = a->buf->name;
	f->buf = a->buf;
	f->image = a->image;
	f->machine = a->machine;
	f->map = a->tsc && time_map_valid(a->tsc) ? a->tsc : NULL;
	f->src = a->src;
	f->tsc = f->ns_of = f->lo = f->lo_of = f->sent = HWT_TIME_UNKNOWN;
	f->pkt = HWT_NO_OFF;
	f->timed = a->want->level > HWT_LEVEL_HOLES;
	f->isc = pt_iscache_alloc(NULL);
	rc = emit_init(&f->emit, a, &f->fs.stats, 1);
	if (!rc && (!f->isc || pt_iscache_set_limit(f->isc, CODE_CACHE) < 0))
		rc = -ENOMEM;
	if (rc < 0) {
		ipt_close(&f->fs.s);
		return diag_set(diag, rc, rc == -ENOMEM ? 3 : 0, NULL, HWT_NO_OFF, "%s",
				rc == -ENOMEM ? "out of memory" : "no valid interest");
	}
	set_config(f, a->buf->ncfgs ? &a->buf->cfgs[0] : NULL);
	ipt_owner_init(&f->owner, a->machine, a->buf);
	*out = &f->fs.s;
	return 0;
}

const char *flow_ipt_version(void)
{
	static char text[32];
	struct pt_version v = pt_library_version();

	snprintf(text, sizeof(text), "libipt %u.%u.%u", v.major, v.minor, v.patch);
	return text;
}

#endif
