// SPDX-License-Identifier: GPL-2.0-only
/* A unit: its buffer, and how it is started and stopped. */
#include "pt_regs.h"

#define PIECE_MIN	4096ull
#define PIECE_MAX	(128ull << 20)
#define NO_PIECE	(~0u)
#define ERRORS		3	/* in a row; then it is given up */

static int no(enum pt_why *why, enum pt_why is, int rc)
{
	*why = is;
	return rc;
}

int pt_config(struct pt_unit *u, struct hwreg *r, const struct pt_caps *caps,
	      const struct pt_wish *w, u64 *offer)
{
	int rc;

	*offer = 0;
	if (u->state == PT_RUNS || u->state == PT_OTHERS)
		return no(&u->why, PT_ORDER, -EINVAL);
	rc = pt_check(caps, w, &u->why, offer);
	if (rc)
		return rc;
	u->r = r;
	u->caps = *caps;
	u->wish = *w;
	u->ctl = pt_ctl(caps, w);
	u->state = PT_EMPTY;
	return 0;
}

u32 pt_join(struct pt_piece *p, u32 n, u64 max)
{
	u32 i, top = 0;

	if (max > PIECE_MAX)
		max = PIECE_MAX;
	for (i = 0; i < n; i++) {
		p[top++] = p[i];
		/* two halves of a larger piece: as addition carries */
		while (top > 1 && p[top - 2].bytes == p[top - 1].bytes &&
		       p[top - 1].bytes * 2 <= max &&
		       p[top - 2].phys + p[top - 2].bytes == p[top - 1].phys &&
		       !(p[top - 2].phys & (p[top - 2].bytes * 2 - 1))) {
			top--;
			p[top - 1].bytes *= 2;
		}
	}
	return top;
}

u32 pt_tables_for(u32 npieces)
{
	return (npieces + PT_TABLE_PIECES - 1) / PT_TABLE_PIECES;
}

static u64 *word_of(const struct pt_unit *u, u32 piece)
{
	return &u->table[piece / PT_TABLE_PIECES].word[piece % PT_TABLE_PIECES];
}

static u64 topa_size(u64 bytes)
{
	u64 n = 0;

	while (PIECE_MIN << n < bytes)
		n++;
	return n << TOPA_SIZE_AT;
}

static void fill_tables(struct pt_unit *u)
{
	u32 i, last, quarter = u->npieces < 4 ? 1 : u->npieces / 4;

	for (i = 0; i < u->npieces; i++) {
		*word_of(u, i) = u->piece[i].phys | topa_size(u->piece[i].bytes);
		if (u->wish.pmi && (i + 1) % quarter == 0)
			*word_of(u, i) |= TOPA_INT;
	}
	for (i = 0; i < u->ntables; i++) {
		last = i + 1 == u->ntables ? (u->npieces - 1) % PT_TABLE_PIECES + 1 :
			PT_TABLE_PIECES;
		u->table[i].word[last] = u->table[(i + 1) % u->ntables].phys | TOPA_END;
	}
	u->stop = NO_PIECE;
}

static bool can_write(const struct pt_unit *u, const struct pt_piece *p)
{
	return p->bytes >= PIECE_MIN && p->bytes <= PIECE_MAX && !(p->bytes & (p->bytes - 1)) &&
		!(p->phys & (p->bytes - 1)) && !(p->phys >> u->caps.phys_bits);
}

int pt_buffer(struct pt_unit *u, struct pt_piece *p, u32 n, const struct pt_table *t,
	      u32 ntables)
{
	u64 bytes = 0;
	u32 i;

	if (u->state != PT_EMPTY || !u->r)
		return no(&u->why, PT_ORDER, -EINVAL);
	if (n != 1 && (!n || !u->caps.topa || !u->caps.pieces))
		return no(&u->why, PT_PIECES, -EINVAL);
	for (i = 0; i < n; i++) {
		if (!can_write(u, &p[i]))
			return no(&u->why, PT_PIECE, -EINVAL);
		p[i].at = bytes;
		bytes += p[i].bytes;
	}
	if (u->caps.topa && pt_tables_for(n) > ntables)
		return no(&u->why, PT_TABLES, -EINVAL);
	for (i = 0; u->caps.topa && i < pt_tables_for(n); i++)
		if (t[i].phys & (PT_TABLE_BYTES - 1) || t[i].phys >> u->caps.phys_bits)
			return no(&u->why, PT_TABLES, -EINVAL);
	u->piece = p;
	u->npieces = n;
	u->table = t;
	u->ntables = u->caps.topa ? pt_tables_for(n) : 0;
	u->bytes = bytes;
	u->head = u->limit = u->tail = u->cuts = 0;
	u->wrapped = false;
	u->errors = 0;
	if (u->ntables)
		fill_tables(u);
	u->state = PT_READY;
	u->why = PT_FINE;
	return 0;
}

/* The piece that byte @n lies in; *off: where in it. */
static u32 piece_at(const struct pt_unit *u, u64 n, u64 *off)
{
	u32 lo = 0, hi = u->npieces;
	u64 at = n % u->bytes;

	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (u->piece[mid].at <= at)
			lo = mid;
		else
			hi = mid;
	}
	*off = at - u->piece[lo].at;
	return lo;
}

/*
 * How far the unit may write: it stops at the end of a piece only, and what is not read yet stays.
 * The piece that ends there is marked; no piece is written to at @tail's own place.
 */
static bool set_limit(struct pt_unit *u)
{
	u64 off;
	u32 i = piece_at(u, u->tail, &off);

	if (u->stop != NO_PIECE)
		*word_of(u, u->stop) &= ~TOPA_STOP;
	u->stop = NO_PIECE;
	u->limit = u->tail - off + u->bytes;
	if (u->limit <= u->head)
		return false;
	u->stop = i ? i - 1 : u->npieces - 1;
	*word_of(u, u->stop) |= TOPA_STOP;
	return true;
}

static int set_output(struct pt_unit *u)
{
	struct hwreg *r = u->r;
	u64 off, ptrs;
	u32 i = piece_at(u, u->head, &off);
	int rc;

	if (!u->ntables) {
		rc = r->wr64(r, MSR_BASE, u->piece[0].phys);
		ptrs = u->bytes - 1;
	} else {
		rc = r->wr64(r, MSR_BASE, u->table[i / PT_TABLE_PIECES].phys);
		ptrs = (u64)(i % PT_TABLE_PIECES) << 7 | 0x7f;
	}
	return rc ? rc : r->wr64(r, MSR_PTRS, off << 32 | ptrs);
}

static int set_filters(struct pt_unit *u)
{
	struct hwreg *r = u->r;
	unsigned int i;
	int rc = 0;

	if (u->wish.bits & PT_BIT_CR3)
		rc = r->wr64(r, MSR_CR3, u->wish.cr3);
	for (i = 0; i < u->wish.nranges && !rc; i++) {
		rc = r->wr64(r, MSR_ADDR + 2 * i, u->wish.range[i].first);
		if (!rc)
			rc = r->wr64(r, MSR_ADDR + 2 * i + 1, u->wish.range[i].last);
	}
	return rc;
}

static int end(struct pt_unit *u, enum pt_why why, int rc)
{
	u->state = PT_ENDED;
	return no(&u->why, why, rc);
}

/* Section "Enabling and Disabling Packet Generation with TraceEn": all else is written before. */
static int enable(struct pt_unit *u)
{
	struct hwreg *r = u->r;
	u64 v;
	int rc = r->rd64(r, MSR_CTL, &v);

	if (!rc && v & CTL_ON) {
		u->state = PT_OTHERS;
		return no(&u->why, PT_TAKEN, -EBUSY);
	}
	hwreg_barrier(r, HWREG_MEMORY);
	/* also the bytes since the last PSB: so it begins with one */
	if (!rc)
		rc = r->wr64(r, MSR_STATUS, 0);
	if (!rc)
		rc = set_output(u);
	if (!rc)
		rc = set_filters(u);
	if (!rc && u->wish.pmi)
		rc = r->wr64(r, MSR_GLOBAL_CLEAR, TOPA_PMI);
	if (!rc)
		rc = r->wr64(r, MSR_CTL, u->ctl | CTL_ON);
	if (rc)
		return end(u, PT_DENIED, -EACCES);
	u->state = PT_RUNS;
	u->writes = true;
	u->why = PT_FINE;
	return 0;
}

int pt_start(struct pt_unit *u)
{
	if (u->state != PT_READY && u->state != PT_WAITS && u->state != PT_ENDED)
		return no(&u->why, PT_ORDER, -EINVAL);
	if (!u->wish.overwrite && !set_limit(u)) {
		u->state = PT_WAITS;
		return no(&u->why, PT_FULL, -ENOSPC);
	}
	return enable(u);
}

/* Where in the buffer the unit is, from what it has in its registers. */
static bool find_place(const struct pt_unit *u, u64 base, u64 ptrs, u64 *at)
{
	u64 off = ptrs >> 32;
	u32 t, n = (u32)ptrs >> 7;

	if (!u->ntables) {
		*at = off;
		return base == u->piece[0].phys && off < u->bytes;
	}
	for (t = 0; t < u->ntables && u->table[t].phys != base; t++)
		;
	if (t == u->ntables || n > PT_TABLE_PIECES)
		return false;
	n += t * PT_TABLE_PIECES;
	if (n > u->npieces)
		return false;
	/* the word behind the last piece of a table leads to the next one */
	if (n == u->npieces || n == (t + 1) * PT_TABLE_PIECES) {
		*at = n == u->npieces ? 0 : u->piece[n].at;
		return !off;
	}
	/* behind a piece that ended the trace stands its size: section "ToPA STOP" */
	*at = u->piece[n].at + off;
	if (*at == u->bytes)
		*at = 0;
	return off <= u->piece[n].bytes;
}

/* Moves head to @at, which is where the unit is now. */
static int move_head(struct pt_unit *u, u64 at, bool stopped)
{
	u64 was = u->head % u->bytes;
	u64 n = at >= was ? at - was : at + u->bytes - was;

	if (!u->wish.overwrite) {
		/* nothing, or a whole round that ended where it was to end */
		if (!n && stopped && u->limit - u->head == u->bytes)
			n = u->bytes;
		if (n > u->limit - u->head)
			return -ERANGE;
	}
	u->wrapped |= was + n >= u->bytes;
	u->head += n;
	if (n)
		u->errors = 0;
	return 0;
}

/* What is known when it is disabled. */
static int take_stock(struct pt_unit *u)
{
	struct hwreg *r = u->r;
	u64 status, base, ptrs, at;

	if (r->rd64(r, MSR_STATUS, &status) || r->rd64(r, MSR_BASE, &base) ||
	    r->rd64(r, MSR_PTRS, &ptrs))
		return end(u, PT_DENIED, -EACCES);
	if (!find_place(u, base, ptrs, &at) ||
	    move_head(u, at, status & STATUS_STOPPED)) {
		u->cuts++;
		return end(u, status & STATUS_ERROR ? PT_ERROR : PT_LOST_PLACE, -EIO);
	}
	if (status & STATUS_ERROR) {
		u->cuts++;
		/* whatever it was: tables are written anew, and it may be tried again */
		if (u->ntables)
			fill_tables(u);
		if (++u->errors >= ERRORS)
			return end(u, PT_ERROR, -EIO);
		return no(&u->why, PT_ERROR, 0);
	}
	if (status & STATUS_STOPPED) {
		if (u->wish.overwrite || u->head != u->limit)
			return end(u, PT_STOPPED, 0);
		u->cuts++;
		return no(&u->why, PT_FULL, 0);
	}
	return no(&u->why, PT_FINE, 0);
}

int pt_stop(struct pt_unit *u)
{
	struct hwreg *r = u->r;
	bool cleared;
	int rc;
	u64 v;

	if (u->state != PT_RUNS) {
		if (u->state == PT_WAITS)
			u->state = PT_READY;
		return u->state == PT_OTHERS ? -EBUSY : 0;
	}
	rc = r->rd64(r, MSR_CTL, &v);
	if (!rc && (v & ~CTL_ON) != u->ctl) {
		u->state = PT_OTHERS;
		return no(&u->why, PT_STOLEN, -EBUSY);
	}
	cleared = !rc && !(v & CTL_ON);
	/* what was refused once is tried once more: it must not go on writing to memory */
	if (r->wr64(r, MSR_CTL, u->ctl) && r->wr64(r, MSR_CTL, u->ctl))
		rc = -EFAULT;
	else
		u->writes = false;
	if (rc)
		return end(u, PT_DENIED, -EACCES);
	/* "Disabling Packet Generation": only then all bytes can be seen */
	hwreg_barrier(r, HWREG_MEMORY);
	u->state = PT_READY;
	rc = take_stock(u);
	if (!rc && cleared && u->why == PT_FINE)
		u->why = PT_CLEARED;
	return rc;
}

int pt_turn(struct pt_unit *u)
{
	enum pt_why why;
	int rc;

	if (u->state == PT_ENDED)
		return 0;
	if (u->state == PT_WAITS) {
		rc = pt_start(u);
		return rc == -ENOSPC ? 0 : rc;
	}
	rc = pt_stop(u);
	if (rc || u->state != PT_READY)
		return rc;
	why = u->why;
	rc = pt_start(u);
	if (rc == -ENOSPC)
		return 0;
	if (!rc)
		u->why = why;
	return rc;
}

int pt_pmi(struct pt_unit *u)
{
	u64 v;
	int rc;

	if (u->state != PT_RUNS || u->r->rd64(u->r, MSR_GLOBAL_STATUS, &v) || !(v & TOPA_PMI))
		return 0;
	/* it is acknowledged while the unit is disabled, before it is enabled again */
	rc = pt_turn(u);
	if (rc || u->state != PT_RUNS)
		u->r->wr64(u->r, MSR_GLOBAL_CLEAR, TOPA_PMI);
	return 1;
}
