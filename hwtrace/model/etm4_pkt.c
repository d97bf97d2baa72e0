/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodings: Arm IHI 0064, chapter 6, "Descriptions of instruction trace packets". */
#include "etm4_pkt.h"

#include <string.h>

#define CC_PACKET_MAX 0xfffff		/* COUNT fields have 20 bits */

/* splitmix64 (Steele, Lea, Flood 2014) */
uint32_t etm4_rnd(struct etm4_pkt *k, uint32_t n)
{
	uint64_t z = k->rnd += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)(z ^ z >> 31) % n;
}

/* True every other time, never with shortest packets: then the plain form is the shortest one. */
static bool odd(struct etm4_pkt *k)
{
	return !k->cfg->greedy && etm4_rnd(k, 2);
}

void etm4_send(struct etm4_pkt *k)
{
	if (k->n && !k->err)
		k->err = k->to.put(k->to.arg, k->out, k->n);
	k->n = 0;
}

static void byte(struct etm4_pkt *k, unsigned b)
{
	if (k->n == sizeof(k->out))
		etm4_send(k);
	k->out[k->n++] = (uint8_t)b;
	k->count->bytes++;
	k->since_sync++;
}

/* Seven bits a byte, bit 7 says that another one follows; at most @max bytes. */
static void uleb(struct etm4_pkt *k, uint64_t v, unsigned max)
{
	while (--max && v >> 7) {
		byte(k, 0x80 | (v & 0x7f));
		v >>= 7;
	}
	byte(k, v & 0x7f);
}

static void p0(struct etm4_pkt *k, unsigned n)
{
	k->spec += n;
	if (k->spec > k->cfg->max_spec)
		k->spec = k->cfg->max_spec;	/* the oldest are committed by themselves */
}

/* Sequences of formats 4 and 5, first atom in bit 0. */
static const struct { uint8_t header, len, bits; } fixed[] = {
	{ 0xdc, 4, 0x0e }, { 0xdd, 4, 0x00 }, { 0xde, 4, 0x0a }, { 0xdf, 4, 0x05 },
	{ 0xf5, 5, 0x1e }, { 0xd5, 5, 0x00 }, { 0xd6, 5, 0x0a }, { 0xd7, 5, 0x15 },
};

struct form { uint8_t header, len, format; };

/* All packets that can tell the first atoms; returns how many. */
static unsigned atom_forms(const struct etm4_pkt *k, struct form *f)
{
	unsigned n = 0, run;

	for (unsigned len = 1; len <= 3 && len <= k->natoms; len++) {
		static const uint8_t base[] = { 0, 0xf6, 0xd8, 0xf8 };
		unsigned bits = k->atoms & ((1u << len) - 1);

		f[n++] = (struct form){ (uint8_t)(base[len] | bits), (uint8_t)len, (uint8_t)len };
	}
	for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (fixed[i].len <= k->natoms &&
		    (k->atoms & ((1u << fixed[i].len) - 1)) == fixed[i].bits)
			f[n++] = (struct form){ fixed[i].header, fixed[i].len, fixed[i].len };
	/* three E or more, then one of either kind: bit 5 set is N */
	for (run = 0; run < k->natoms && k->atoms >> run & 1; run++)
		;
	for (unsigned e = 3; e <= run && e < k->natoms; e++)
		f[n++] = (struct form){ (uint8_t)(0xc0 | (e == run ? 0x20 : 0) | (e - 3)),
					(uint8_t)(e + 1), 6 };
	return n;
}

static void send_atoms(struct etm4_pkt *k)
{
	struct form f[3 + 2 + ETM4_ATOMS], best;
	unsigned n = atom_forms(k, f);

	best = f[0];
	if (!k->cfg->greedy)
		best = f[etm4_rnd(k, n)];
	else
		for (unsigned i = 1; i < n; i++)
			if (f[i].len > best.len)
				best = f[i];
	byte(k, best.header);
	p0(k, best.len);
	k->count->atom_packets[best.format]++;
	for (unsigned i = 0; i < best.len; i++)
		k->count->atoms[k->atoms >> i & 1]++;
	k->proven = k->event[best.len - 1] + 1;
	k->atoms >>= best.len;
	k->natoms -= best.len;
	memmove(k->event, k->event + best.len, k->natoms * sizeof(k->event[0]));
}

void etm4_atom(struct etm4_pkt *k, bool taken, uint64_t event)
{
	k->atoms |= (uint32_t)taken << k->natoms;
	k->event[k->natoms++] = event;
	if (k->natoms == ETM4_ATOMS)
		send_atoms(k);
}

void etm4_flush_atoms(struct etm4_pkt *k)
{
	while (k->natoms)
		send_atoms(k);
}

/* Trace info: IHI 0064 6.4.2; the fields that are 0 need not be there. */
void etm4_sync(struct etm4_pkt *k)
{
	unsigned threshold = k->cfg->cycles ? etm4_cc_threshold(k->cfg) : 0;
	bool spec = k->spec || odd(k);

	for (int i = 0; i < 11; i++)
		byte(k, 0);
	byte(k, 0x80);
	byte(k, 0x01);
	byte(k, 0x01 | (spec ? 0x04 : 0) | (threshold ? 0x08 : 0));
	byte(k, k->cfg->cycles ? 0x01 : 0);
	if (spec)
		uleb(k, k->spec, 5);
	if (threshold)
		uleb(k, threshold, 2);
	k->nhist = 0;
	k->ts = 0;
	k->ctx_known = false;
	k->since_sync = 0;
	k->count->sync++;
}

void etm4_trace_on(struct etm4_pkt *k)
{
	byte(k, 0x04);
	k->count->trace_on++;
}

void etm4_overflow(struct etm4_pkt *k)
{
	byte(k, 0x00);
	byte(k, 0x05);
	k->count->overflow++;
}

static void remember(struct etm4_pkt *k, uint64_t a, unsigned is)
{
	memmove(k->hist + 1, k->hist, sizeof(k->hist) - sizeof(k->hist[0]));
	k->hist[0].a = a;
	k->hist[0].is = (uint8_t)is;
	if (k->nhist < ETM4_HISTORY)
		k->nhist++;
}

/* Bits [8:2] and [15:9], or [7:1] and [15:8] of T32, then whole bytes. */
static void long_address(struct etm4_pkt *k, uint64_t a, unsigned is, unsigned bits)
{
	byte(k, is ? a >> 1 & 0x7f : a >> 2 & 0x7f);
	byte(k, is ? a >> 8 & 0xff : a >> 9 & 0x7f);
	for (unsigned shift = 16; shift < bits; shift += 8)
		byte(k, a >> shift & 0xff);
}

enum { MATCH = 0, SHORT1 = 3, SHORT2, LONG32, LONG64 };

/*
 * Forms that can tell @a after what was sent, shortest first. After trace info the other end's
 * history is all 0, which only helps an address of 32 bits.
 */
static unsigned address_forms(const struct etm4_pkt *k, uint64_t a, unsigned is, uint8_t *f)
{
	uint64_t diff = k->nhist ? a ^ k->hist[0].a : a;
	unsigned n = 0;

	for (unsigned i = 0; i < k->nhist; i++)
		if (k->hist[i].a == a && k->hist[i].is == is)
			f[n++] = (uint8_t)(MATCH + i);
	if (k->nhist && !(diff >> (is ? 8 : 9)))
		f[n++] = SHORT1;
	if (k->nhist && !(diff >> (is ? 16 : 17)))
		f[n++] = SHORT2;
	if (!(diff >> 32))
		f[n++] = LONG32;
	if (!k->cfg->addr32)
		f[n++] = LONG64;
	return n;
}

static void address_as(struct etm4_pkt *k, unsigned form, uint64_t a, unsigned is)
{
	switch (form) {
	case SHORT1:
		byte(k, 0x95 + is);
		byte(k, is ? a >> 1 & 0x7f : a >> 2 & 0x7f);
		k->count->short1[is]++;
		break;
	case SHORT2:
		byte(k, 0x95 + is);
		byte(k, 0x80 | (is ? a >> 1 & 0x7f : a >> 2 & 0x7f));
		byte(k, is ? a >> 8 & 0xff : a >> 9 & 0xff);
		k->count->short2[is]++;
		break;
	case LONG32:
		byte(k, 0x9a + is);
		long_address(k, a, is, 32);
		k->count->long32[is]++;
		break;
	case LONG64:
		byte(k, 0x9d + is);
		long_address(k, a, is, 64);
		k->count->long64[is]++;
		break;
	default:
		byte(k, 0x90 + form - MATCH);
		k->count->match[form - MATCH]++;
		break;
	}
	remember(k, a, is);
}

static unsigned pick_form(struct etm4_pkt *k, uint64_t a, unsigned is)
{
	uint8_t f[ETM4_HISTORY + 4];
	unsigned n = address_forms(k, a, is, f);

	/* an address above 32 bits has no form on a PE of 32: its low bits are told */
	if (!n)
		return LONG32;
	return f[k->cfg->greedy ? 0 : etm4_rnd(k, n)];
}

void etm4_address(struct etm4_pkt *k, uint64_t a, unsigned is)
{
	address_as(k, pick_form(k, a, is), a, is);
}

bool etm4_same_ctx(const struct etm4_pkt *k, const struct etm4_ctx *c)
{
	return k->ctx_known && k->ctx.el == c->el && k->ctx.ns == c->ns && k->ctx.sf == c->sf &&
		(!k->cfg->cid || k->ctx.cid == c->cid) &&
		(!k->cfg->vmid_size || k->ctx.vmid == c->vmid);
}

/* The information byte, then VMID and CONTEXTIDR where they are new. */
static void ctx_payload(struct etm4_pkt *k, const struct etm4_ctx *c)
{
	bool v = k->cfg->vmid_size && (!k->ctx_known || k->ctx.vmid != c->vmid || odd(k));
	bool cid = k->cfg->cid && (!k->ctx_known || k->ctx.cid != c->cid || odd(k));

	byte(k, c->el | c->sf << 4 | c->ns << 5 | v << 6 | cid << 7);
	for (unsigned i = 0; v && i < k->cfg->vmid_size; i++)
		byte(k, c->vmid >> 8 * i & 0xff);
	for (unsigned i = 0; cid && i < 4; i++)
		byte(k, c->cid >> 8 * i & 0xff);
	k->ctx = *c;
	k->ctx_known = true;
}

static void context(struct etm4_pkt *k, const struct etm4_ctx *c)
{
	byte(k, 0x81);
	ctx_payload(k, c);
	k->count->context++;
}

static void address_context(struct etm4_pkt *k, unsigned form, const struct etm4_ctx *c,
			    uint64_t a, unsigned is)
{
	byte(k, (form == LONG32 ? 0x82 : 0x85) + is);
	long_address(k, a, is, form == LONG32 ? 32 : 64);
	if (form == LONG32)
		k->count->ctx_long32[is]++;
	else
		k->count->ctx_long64[is]++;
	remember(k, a, is);
	ctx_payload(k, c);
}

void etm4_place(struct etm4_pkt *k, const struct etm4_ctx *c, bool addr, uint64_t a, unsigned is)
{
	bool same = etm4_same_ctx(k, c);
	unsigned form = addr ? pick_form(k, a, is) : MATCH;

	if (form >= LONG32 && (same ? odd(k) && odd(k) : k->cfg->greedy || odd(k))) {
		address_context(k, form, c, a, is);
		return;
	}
	if (!same) {
		context(k, c);
	} else if (addr && odd(k) && odd(k)) {
		byte(k, 0x80);		/* as it was */
		k->count->context_same++;
	}
	if (addr)
		address_as(k, form, a, is);
}

/* E1:E0: 01 an address follows; 10 it is also the target of the branch before. */
void etm4_exception(struct etm4_pkt *k, unsigned type, bool at_target)
{
	unsigned info = (at_target ? 0x40 : 0x01) | (type & 0x1f) << 1;

	byte(k, 0x06);
	if (type > 0x1f || odd(k)) {
		byte(k, info | 0x80);
		byte(k, type >> 5 & 0x1f);
		k->count->exception2++;
	} else {
		byte(k, info);
		k->count->exception1++;
	}
	k->count->exception_at_target += at_target;
	p0(k, 1);
}

void etm4_exception_return(struct etm4_pkt *k)
{
	byte(k, 0x07);
	k->count->exception_return++;
}

void etm4_event(struct etm4_pkt *k, unsigned bits)
{
	byte(k, 0x70 | bits);
	k->count->event_packets++;
}

/* Bytes up to the highest bit that changed; the ninth has eight bits. */
void etm4_timestamp(struct etm4_pkt *k, uint64_t value, uint64_t cycles)
{
	uint64_t diff = value ^ k->ts;
	unsigned n = 1;

	while (n < 9 && diff >> 7 * n)
		n++;
	if (n < 9 && odd(k))
		n += etm4_rnd(k, 10 - n);
	byte(k, 0x02 | (k->cfg->cycles ? 1 : 0));
	for (unsigned i = 0; i + 1 < n; i++)
		byte(k, 0x80 | (value >> 7 * i & 0x7f));
	byte(k, value >> 7 * (n - 1) & (n == 9 ? 0xff : 0x7f));
	k->ts = value;
	if (!k->cfg->cycles) {
		k->count->timestamp++;
		return;
	}
	uleb(k, cycles < CC_PACKET_MAX ? cycles : CC_PACKET_MAX, 3);
	k->count->timestamp_cc++;
}

void etm4_commit(struct etm4_pkt *k)
{
	if (!k->spec)
		return;
	byte(k, 0x2d);
	uleb(k, k->spec, 5);
	k->spec = 0;
	k->count->commit++;
}

unsigned etm4_cc_threshold(const struct model_etm4_cfg *cfg)
{
	return cfg->cc_threshold ? cfg->cc_threshold : 1;
}

unsigned etm4_cc_bits(const struct model_etm4_cfg *cfg)
{
	return cfg->cc_bits ? cfg->cc_bits : 20;
}

/*
 * Format 2: four bits of count, and of commits, from 1 or up to MAXSPEC (F). Where cycle counts do
 * not commit, format 2 has no use for half of its payload and is not sent.
 */
static bool format2(const struct etm4_pkt *k, uint64_t over, unsigned commit)
{
	if (!k->cfg->cc_format2 || !commit || over >= 16)
		return false;
	if (commit > 16 && commit + 15 < k->cfg->max_spec)
		return false;
	return k->cfg->cc_format2 == 1 || (over & 1) == (commit > 16);
}

/* Format 3: up to 4 commits and 2 bits of count; format 1: any. */
void etm4_cycles(struct etm4_pkt *k, uint64_t cycles, bool known)
{
	unsigned commit = k->cfg->commit1 ? 0 : k->spec, form[3], n = 0;
	uint64_t over = cycles - etm4_cc_threshold(k->cfg);

	known = known && cycles >> etm4_cc_bits(k->cfg) == 0;
	if (known && over < 4 && commit <= 4)
		form[n++] = 3;
	if (known && format2(k, over, commit))
		form[n++] = 2;
	form[n++] = 1;
	switch (form[k->cfg->greedy ? 0 : etm4_rnd(k, n)]) {
	case 3:
		byte(k, 0x10 | (commit ? commit - 1 : 0) << 2 | (unsigned)over);
		k->count->cc3++;
		break;
	case 2:
		byte(k, commit <= 16 ? 0x0c : 0x0d);
		byte(k, (commit <= 16 ? commit - 1 : commit + 15 - k->cfg->max_spec) << 4 |
		     (unsigned)over);
		k->count->cc2++;
		break;
	default:
		byte(k, known ? 0x0e : 0x0f);
		if (!k->cfg->commit1)
			uleb(k, commit, 5);
		if (known)
			uleb(k, over, 3);
		if (known)
			k->count->cc1++;
		else
			k->count->cc1_unknown++;
		break;
	}
	if (!k->cfg->commit1)
		k->spec = 0;
}
