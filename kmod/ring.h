/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_RING_H
#define HWT_KMOD_RING_H

/*
 * The records of one CPU of one session: a ring of sub-buffers of fixed size, each a packet as
 * struct hwt_ctf_packet (hwtrace/uapi.h) has it.
 *
 * Writers are code on that CPU and what interrupts it, NMIs too; preemption is off. They take no
 * lock, allocate nothing and do not wait. The counter is read between looking at the ring's head
 * and moving it, so records lie in order of their times, whoever interrupts whom. There is one
 * reader at a time, on any CPU; it may stop for good anywhere. It hands over nothing but "done
 * with it", and nothing that the ring relies on lies in the sub-buffers: they may be mapped.
 *
 * Units that are counted are records, or bytes in a raw ring. Each unit that a writer offered is
 * in exactly one sub-buffer, or counted as lost, at once; those of a sub-buffer that is written
 * over before the reader was done with it count as overwritten.
 *
 * What is lost ends the sub-buffer, and the next one begins with a record stream.lost for each
 * cause, which counts as any other record. A raw ring has no records: there ring_view.lost tells.
 */
#include <hwtrace/uapi.h>

#include "ring_shim.h"

#define RING_SUB_MIN	4096u
#define RING_SUB_MAX	(256u * 1024)
#define RING_SUBS_MIN	2u
#define RING_SUBS_MAX	65536u
#define RING_SIZE_MAX	(1ull << 32)	/* bytes of all sub-buffers */

#define RING_CONTEXT	16u		/* words of context in a record */
#define RING_UNIT_BITS	13u		/* of a head: more records are in no sub-buffer */

/* Why something is lost. */
enum ring_cause {
	RING_LOST_FULL,		/* no room */
	RING_LOST_NESTED,	/* interrupted too often */
	RING_LOST_SIZE,		/* too long for a sub-buffer, or of a size that can not be */
	RING_LOST_UNSEEN,	/* the kernel did not let anyone offer it */
	RING_CAUSES
};

enum ring_mode {
	RING_DISCARD,	/* no room: what is new is lost */
	RING_OVERWRITE	/* no room: what is oldest is lost */
};

struct ring_cfg {
	u32 sub_size;	/* bytes, a power of two */
	u32 subs;	/* number, a power of two */
	u8 mode;	/* enum ring_mode */
	bool raw;	/* bytes without any headers ("ad hoc"), pieces of any size */
	u32 cpu;
	/* context fields of records (hwtrace/uapi.h): words, and what they hold where not known */
	u32 context;
	u64 none[RING_CONTEXT];
	u8 uuid[16];	/* of the trace, for packets */
};

/*
 * A sub-buffer's own state. @state is its number among all since the start, times 2; the lowest
 * bit is set when it is whole and waits for the reader. When it is read or dropped, it becomes the
 * number of the next one that will lie here.
 */
struct ring_sub {
	ring_shared state;
	ring_local open;	/* bytes behind the header that are not written yet */
	ring_local base;	/* units in all sub-buffers before it */
	ring_local told[RING_CAUSES];	/* units lost that records up to its first ones tell */
	u64 begin, end;		/* times */
	u64 lost;		/* units lost until its end */
	u32 content;		/* bytes, with the header */
	u32 units;
	u64 pad[5];		/* 128 bytes in all */
};

struct ring {
	/* position in bytes of all that ever lay here, above the units of this sub-buffer */
	ring_local head;
	u8 *data;
	u64 mask;		/* size of all sub-buffers - 1 */
	u64 edge;		/* of records: bits of @head that say which sub-buffer */
	u32 sub_mask;		/* size of one - 1 */
	u32 unit_bits;		/* of @head */
	u64 step, one;		/* what @head grows by: @step a byte, and @one */
	u32 size_min, size_max;	/* of a reservation; its bits in @align are 0 */
	u32 align;
	u32 full;		/* bytes of a sub-buffer without its header */
	u32 sub_shift;
	u32 subs;
	u32 head_size;		/* bytes of a packet header, or 0 */
	u32 cpu;
	u32 context;		/* bytes in each record */
	u32 loss_size;		/* bytes of a stream.lost */
	u64 none[RING_CONTEXT];
	ring_local lost[RING_CAUSES], overwritten;
	void *owner;		/* the caller's own */
	u8 mode;
	u8 wake;
	bool raw;
	u8 uuid[16];
	u64 tail;		/* reader: the next sub-buffer */
	u64 read;		/* reader: units that it is done with */
	struct ring_sub sub[];
};

/* A sub-buffer in the hands of the reader. */
struct ring_view {
	const void *p;		/* the bytes; @size of them count */
	u32 size;
	u32 units;
	u64 number;		/* from 0 on; what is missing between was overwritten */
	u64 begin, end;
	u64 lost;		/* until its end, since the start */
	u64 produced;		/* units in all sub-buffers up to this one, and @lost */
};

struct ring_counts {
	u64 produced;		/* lost + all that was ever stored */
	u64 lost;
	u64 overwritten;
	u64 read;
};

/* Bytes of a struct ring for @subs sub-buffers, which the caller allocates. */
static inline size_t ring_bytes(u32 subs)
{
	return sizeof(struct ring) + (size_t)subs * sizeof(struct ring_sub);
}

/*
 * @data: @c->sub_size * @c->subs bytes that are zero, aligned to 8, and stay the caller's.
 * 0, or -EINVAL for numbers outside of the limits above.
 */
int ring_init(struct ring *r, void *data, const struct ring_cfg *c);

/*
 * Writers. Room for @size bytes, and the time that the record has; NULL: counted as lost. @size is
 * a multiple of 8 from sizeof(struct hwt_rec) on, or 1 and more in a raw ring; at most
 * @r->size_max. What was reserved is filled and committed soon, by the same context.
 */
void *ring_reserve(struct ring *r, u32 size, u64 *time);
void ring_commit(struct ring *r, const void *p, u32 size);
/* @n units that nobody could offer count as lost: RING_LOST_UNSEEN. Runs as ring_flush() does. */
void ring_miss(struct ring *r, u64 n);
/* Stamps and stores the record at @rec, of @rec->size bytes. False: lost. */
bool ring_write(struct ring *r, struct hwt_rec *rec);

/* Writers: true once after a sub-buffer became whole. Ask after ring_commit(), then wake. */
static inline bool ring_wake(struct ring *r)
{
	if (likely(!READ_ONCE(r->wake)))
		return false;
	WRITE_ONCE(r->wake, 0);
	return true;
}

/*
 * Makes what is stored so far readable, and what is lost so far told: closes the open sub-buffer;
 * if there is none and loss is untold, makes an empty one. Runs as a writer does: on the ring's CPU
 * with preemption off, or when there are no writers (the CPU is off, the session has stopped).
 * 0; -EAGAIN if there is no room to tell it: read, and call again.
 */
int ring_flush(struct ring *r);

/* Runs as a writer does. Is there no whole sub-buffer that the reader still has to take? */
bool ring_all_read(struct ring *r);

/* Runs as a writer does. Is about half of the ring free, or would be if the oldest goes? */
bool ring_has_room(struct ring *r);

/*
 * The reader. 1: the oldest whole sub-buffer; 0: there is none. Its bytes stay as they are until
 * ring_put(), but in an overwriting ring they may be written over at any time: copy them, and use
 * the copy only if ring_put() says so.
 */
int ring_get(struct ring *r, struct ring_view *v);
/* Done with it. 0; -ESTALE: it was overwritten before, and what was seen of it may be wrong. */
int ring_put(struct ring *r, const struct ring_view *v);

/* Exact when there are no writers and no reader. */
void ring_count(struct ring *r, struct ring_counts *c);

#endif
