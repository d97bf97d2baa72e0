/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "kinds.h"

#define C(x)	(1u << HWT_GAP_##x)

/* What a trace and code that do not belong together lead to, sooner or later. */
#define CONTRADICTION	(C(BAD_PACKET) | C(BREAK) | C(BAD_IMAGE) | C(NO_IMAGE) | C(NO_RETURN) | \
	C(NO_PROGRESS) | C(NO_PATH) | C(UNKNOWN_BRANCH) | C(LIB) | C(TRUNCATED) | C(RESERVED))

const struct fault_kind fault_kinds[FAULTS] = {
	[F_OVERFLOW] = { "overflow", C(OVERFLOW), .declared = true,
		.why = "the unit sends a packet that says so" },
	[F_LOST] = { "lost bytes, told", C(AUX_LOST), .declared = true,
		.why = "the recorder says so" },
	[F_LOST_SILENT] = { "lost bytes, not told", CONTRADICTION, .silent = true,
		.why = "what follows does not fit what was before" },
	[F_WRAP] = { "ring wrap", C(NO_SYNC), .declared = true,
		.why = "the trace starts without synchronisation" },
	[F_CUT] = { "file cut", C(AUX_MISSING), .declared = true,
		.why = "the index tells of bytes that the file has not" },
	[F_CUT_SILENT] = { "trace cut", C(TRUNCATED) | C(BAD_PACKET), .silent = true,
		.why = "the last packet is not whole, or lacks the address that it needs "
			"(ETMv4, bad-packet); between packets nothing can tell" },
	[F_ZERO_PAGE] = { "zeroed 4 KiB", CONTRADICTION | C(AUX_MISSING), .silent = true,
		.why = "zeros are padding or no packet; what follows does not fit" },
	[F_ZERO_LINE] = { "zeroed 64 B", CONTRADICTION | C(AUX_MISSING), .silent = true,
		.why = "as before" },
	[F_ZERO_FILE] = { "zeroed in the file", C(DAMAGED), .declared = true,
		.why = "the checksum of the block is wrong" },
	[F_FRAME_DROP] = { "frames dropped", CONTRADICTION, .silent = true, .frames = true,
		.why = "as lost bytes" },
	[F_FRAME_TWICE] = { "frames twice", CONTRADICTION, .silent = true, .frames = true,
		.why = "what follows does not fit" },
	[F_NO_SYNC] = { "sync removed", CONTRADICTION, .silent = true,
		.why = "only what rests on it: last address, return stack" },
	[F_NO_CODE] = { "code not mapped", C(NO_IMAGE), .code = true,
		.why = "there are no bytes at the address" },
	[F_OTHER_BUILD] = { "other build", CONTRADICTION, .silent = true, .code = true,
		.why = "trace and code contradict each other" },
	[F_PATCHED] = { "code patched", CONTRADICTION, .silent = true, .code = true,
		.why = "trace and code contradict each other" },
	[F_SWITCH] = { "switch not recorded", C(NO_IMAGE),
		.why = "who leaves is not who came, so nobody is known to run; without an owner no "
			"code" },
	[F_FLIP] = { "bit flip", .silent = true,
		.causes = CONTRADICTION | C(OVERFLOW) | C(NO_SYNC) | C(AUX_MISSING),
		.why = "whatever the packet became" },
	[F_CLOCK_BACK] = { "clock set back", .why = "a note: a timestamp is before the last" },
	[F_CLOCK_ON] = { "clock set on", .silent = true,
		.why = "none: one clock alone can not tell it from a pause" },
	[F_DRIFT] = { "clock drifts", .silent = true,
		.why = "none: one clock alone can not tell its own rate" },
	[F_ZERO_TIME] = { "timestamps are zero",
		.why = "a note, or no times: no counter reads 0 twice" },
};

uint64_t rnd(uint64_t *seed, uint64_t n)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ull;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return n ? z % n : 0;
}

static struct piece whole_piece(uint64_t from, uint64_t to)
{
	return (struct piece){ .from = from, .to = to };
}

/* All of the trace but [from, to). */
static void without(struct plan *p, const struct trace *t, uint64_t from, uint64_t to)
{
	p->from = from;
	p->to = to;
	p->piece[0] = whole_piece(0, from);
	p->piece[1] = whole_piece(to, t->n);
	p->npieces = 2;
}

/* Any place behind the first synchronisation. */
static uint64_t place(const struct trace *t, uint64_t *seed)
{
	uint64_t first = t->nsync ? t->sync[0].end + 64 : 64;

	return first + rnd(seed, t->n - first);
}

static bool zeros(struct plan *p, const struct trace *t, uint64_t n, uint64_t *seed)
{
	uint64_t at = place(t, seed) & ~(n - 1);

	if (at + n > t->n || at < (t->nsync ? t->sync[0].end : 0))
		return false;
	p->zero = p->from = at;
	p->nzero = n;
	p->to = at + n;
	return true;
}

/* Bytes of the trace that share a checksum with the damaged ones are not used either. */
static bool zero_file(struct plan *p, const struct trace *t, uint64_t *seed)
{
	p->zero = place(t, seed);
	p->nzero = 1 + rnd(seed, 64);
	if (p->zero + p->nzero > t->n)
		return false;
	for (uint64_t i = 0; i < p->nzero && !t->p[p->zero + i]; i++) {
		if (i + 1 == p->nzero)
			return false;	/* they are zero as it is */
	}
	p->late = true;
	p->from = p->zero & ~511ull;
	p->to = ((p->zero + p->nzero - 1) | 511) + 1;
	return true;
}

static bool frames(struct plan *p, const struct trace *t, bool twice, uint64_t *seed)
{
	uint64_t at = place(t, seed) & ~15ull, n = 16 * (1 + rnd(seed, 8));

	if (at + n > t->n)
		return false;
	if (!twice) {
		without(p, t, at, at + n);
		return true;
	}
	p->piece[0] = whole_piece(0, at + n);
	p->piece[1] = whole_piece(at, t->n);
	p->npieces = 2;
	p->from = at;
	p->to = at + n;
	return true;
}

static bool no_sync(struct plan *p, const struct trace *t, uint64_t *seed)
{
	const struct sync *y;

	if (t->nsync < 3 || t->framed)
		return false;
	y = &t->sync[1 + rnd(seed, t->nsync - 2)];
	without(p, t, y->off, y->end);
	return true;
}

static const struct model_block *any_block(const struct trace *t, uint64_t *seed)
{
	for (int i = 0; i < 100; i++) {
		const struct model_event *ev = &t->ev[rnd(seed, t->nev)];

		if (ev->op == MODEL_RUN)
			return ev->block;
	}
	return NULL;
}

static bool no_code(struct plan *p, const struct trace *t, uint64_t *seed)
{
	const struct model_block *b = any_block(t, seed);

	if (!b)
		return false;
	p->no_code = b->first;
	p->no_code_n = b->last + b->last_size - b->first;
	return true;
}

/* A branch becomes an instruction that goes on, from @tick on. */
static bool patched(struct plan *p, const struct trace *t, bool later, uint64_t *seed)
{
	static const uint8_t nop64[4] = { 0x1f, 0x20, 0x03, 0xd5 };
	static const uint8_t nops[9][8] = {
		{ 0 }, { 0x90 }, { 0x66, 0x90 }, { 0x0f, 0x1f, 0x00 }, { 0x0f, 0x1f, 0x40, 0x00 },
		{ 0x0f, 0x1f, 0x44, 0, 0 }, { 0x66, 0x0f, 0x1f, 0x44, 0, 0 },
		{ 0x0f, 0x1f, 0x80, 0, 0, 0, 0 }, { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 },
	};
	const struct model_block *b = NULL;

	for (int i = 0; i < 100; i++) {
		b = any_block(t, seed);
		if (b && b->last_size <= 8 && (b->kind == MODEL_JUMP || b->kind == MODEL_CALL ||
					       b->kind == MODEL_RETURN || b->kind == MODEL_IJUMP))
			break;
		b = NULL;
	}
	if (!b)
		return false;
	p->patch[0].addr = b->last;
	p->patch[0].n = b->last_size;
	memcpy(p->patch[0].bytes, t->pt ? nops[b->last_size] : nop64, b->last_size);
	if (later)
		p->patch[0].tick = t->ev[rnd(seed, t->nev)].tick;
	p->npatches = 1;
	return true;
}

/* The other build has one instruction more or less somewhere: the rest of that code moves. */
static bool other_build(struct plan *p, const struct trace *t, uint64_t *seed)
{
	unsigned move = t->pt ? 1 + (unsigned)rnd(seed, 5) : 4;
	const struct model_block *b = any_block(t, seed);
	const struct code *c = t->code;

	if (!b)
		return false;
	while (c + 1 < t->code + t->ncode && c[1].addr <= b->first)
		c++;
	if (c->n < move + 8)
		return false;
	p->shift_code = c->addr + rnd(seed, b->first + 1 - c->addr) / (t->pt ? 1 : 4) *
		(t->pt ? 1 : 4);
	p->shift_by = move;
	return true;
}

/* From the turn before it to the one after it nobody knows who ran. */
static bool no_switch(struct plan *p, const struct trace *t, uint64_t *seed)
{
	size_t i;

	if (t->nturns < 4)
		return false;
	i = 1 + rnd(seed, t->nturns - 2);
	p->no_turn = i;
	p->from = t->turn[i - 1].ev ? t->sent[t->turn[i - 1].ev - 1] : 0;
	p->to = t->sent[t->turn[i + 1].ev - 1];
	return true;
}

static bool choose(struct plan *p, const struct trace *t, uint64_t *seed)
{
	uint64_t at = place(t, seed), n = 1 + rnd(seed, rnd(seed, 2) ? 2000 : 40);

	/* what moves framed trace moves whole frames; a file can be cut anywhere */
	if (t->framed && p->fault != F_CUT && p->fault != F_CUT_SILENT) {
		at &= ~15ull;
		n = (n + 15) & ~15ull;
	}
	switch (p->fault) {
	case F_LOST: case F_LOST_SILENT:
		if (at + n > t->n)
			return false;
		without(p, t, at, at + n);
		if (p->fault == F_LOST) {
			p->piece[1].told = true;
			p->piece[1].cause = HWT_GAP_AUX_LOST;
			p->piece[1].lost = n;
		}
		return true;
	case F_WRAP:
		at = rnd(seed, t->n * 3 / 4) + 1;
		at = t->framed ? (at + 15) & ~15ull : at;
		for (n = at; t->pt && n < t->n && !t->p[n]; n++)
			;	/* PAD before a PSB is no loss */
		for (size_t i = 0; i < t->nsync; i++) {
			if (t->sync[i].off == at || t->sync[i].off == n)
				return false;	/* looks like the start, and is one */
		}
		p->to = at;
		p->piece[0] = whole_piece(at, t->n);
		return true;
	case F_CUT: case F_CUT_SILENT:
		p->from = at;
		p->to = t->n;
		if (p->fault == F_CUT)
			p->chop = t->n - at;
		else
			p->piece[0].to = at;
		return true;
	case F_ZERO_PAGE:
		return zeros(p, t, 4096, seed);
	case F_ZERO_LINE:
		return zeros(p, t, 64, seed);
	case F_ZERO_FILE:
		return zero_file(p, t, seed);
	case F_FRAME_DROP: case F_FRAME_TWICE:
		return frames(p, t, p->fault == F_FRAME_TWICE, seed);
	case F_NO_SYNC:
		return no_sync(p, t, seed);
	case F_NO_CODE:
		return no_code(p, t, seed);
	case F_OTHER_BUILD:
		return other_build(p, t, seed);
	case F_SWITCH:
		return no_switch(p, t, seed);
	case F_PATCHED:
		return patched(p, t, t->timed, seed);
	case F_FLIP:
		p->flip = rnd(seed, t->n * 8);
		p->from = p->flip / 8;
		p->to = p->from + 1;
		return true;
	}
	return true;	/* F_OVERFLOW: the unit did it */
}

bool fault_plan(struct plan *p, unsigned fault, const struct trace *t, uint64_t *seed)
{
	const struct fault_kind *k = &fault_kinds[fault];

	if ((k->frames && !t->framed) || (fault == F_SWITCH) != (t->other != NULL))
		return false;
	for (int i = 0; i < 20; i++) {
		*p = (struct plan){ .fault = fault, .flip = NO_POS, .silent = k->silent,
				    .code = k->code, .piece[0].to = t->n, .npieces = 1 };
		if (choose(p, t, seed))
			return true;
	}
	return false;
}
