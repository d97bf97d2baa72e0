/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_RING_TRY_H
#define HWT_KMOD_RING_TRY_H

/*
 * What a writer does most of the time: a record that ends inside the open sub-buffer, and nothing
 * interrupts. Inlined, for its few instructions; ring.c has all else.
 */
#include "ring.h"

/* All bytes of sub-buffer @i are written. */
void ring_hand_over(struct ring *r, u64 i);

/* @size bytes of sub-buffer @i are written. True: these were the last, and it is whole. */
static __always_inline bool ring_written(struct ring *r, u64 i, u32 size)
{
	if (likely(!ring_local_take(&r->sub[i].open, size)))
		return false;
	ring_hand_over(r, i);
	return true;
}

/*
 * ring_reserve() of a ring of records, for a size that a record may have: the place goes to @p.
 * False: it is not that simple, and nothing was done.
 */
static __always_inline bool ring_try_reserve(struct ring *r, u32 size, u64 *time, void **p)
{
	u64 old = ring_local_read(&r->head), now;
	u64 new = old + ((u64)size << RING_UNIT_BITS) + 1;

	/* behind the first byte of a sub-buffer, and it does not end at the last: see r->edge */
	if (unlikely(((old - (8u << RING_UNIT_BITS)) ^ new) & r->edge))
		return false;
	now = ring_clock();
	if (unlikely(!ring_local_cas(&r->head, old, new)))
		return false;
	*time = now;
	*p = r->data + (old >> RING_UNIT_BITS & r->mask);
	return true;
}

/* ring_commit() and, if a sub-buffer became whole, true. */
static __always_inline bool ring_done(struct ring *r, const void *p, u32 size)
{
	return ring_written(r, (u64)((const u8 *)p - r->data) >> r->sub_shift, size);
}

/* Stamps and stores the record at @rec, of @size bytes. False: as ring_try_reserve(). */
static __always_inline bool ring_try(struct ring *r, struct hwt_rec *rec, u32 size, bool *whole)
{
	u64 time, *p;
	void *to;
	u32 i;

	if (unlikely(!ring_try_reserve(r, size, &time, &to)))
		return false;
	rec->time = time;
	p = to;
	/* too short for a string instruction, which the compiler would make of it */
#pragma GCC unroll 16
	for (i = 0; i < size / 8; i++)
		WRITE_ONCE(p[i], ((const u64 *)rec)[i]);
	*whole = ring_done(r, p, size);
	return true;
}

#endif
