/* SPDX-License-Identifier: BSD-2-Clause */
#include "ptmodel.h"

#include <elf.h>
#include <string.h>

#define TICKS 3		/* TSC ticks an instruction takes here: any constant will do */

#define TIPS	4	/* deferred at most; the manual gives no number */

struct run {
	struct ptmodel *m;
	struct model_pt_buf *e;
	char tnt[7];		/* branches not sent yet; a short TNT packet holds six */
	unsigned ntnt;
	uint64_t stack[64];	/* return addresses: the depth of the hardware's call stack */
	unsigned depth;
	uint64_t mtc;		/* count of the last MTC sent */
	uint64_t cyc;		/* time of the last CYC sent */
	uint64_t now;
	uint64_t tips[TIPS];	/* kept back behind @tnt */
	unsigned ntips;
};

static const uint8_t *code(const struct ptmodel *m, uint64_t addr, size_t *n)
{
	const Elf64_Ehdr *eh = (const void *)m->elf;
	const Elf64_Phdr *ph = (const void *)(m->elf + eh->e_phoff);

	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && addr - ph[i].p_vaddr < ph[i].p_filesz) {
			*n = ph[i].p_filesz - (addr - ph[i].p_vaddr);
			return m->elf + ph[i].p_offset + (addr - ph[i].p_vaddr);
		}
	return NULL;
}

/* SDM, "CYC Packet": it tells the cycles since the one before, and stands before what it times. */
static void cycles(struct run *r)
{
	if (!r->m->cyc || r->now == r->cyc)
		return;
	model_pt_cyc(r->e, r->now - r->cyc);
	r->cyc = r->now;
}

static void flush(struct run *r)
{
	r->tnt[r->ntnt] = 0;
	if (r->ntnt) {
		cycles(r);
		ptenc_tnt(r->e, r->tnt);
	}
	r->ntnt = 0;
	for (unsigned i = 0; i < r->ntips; i++) {
		cycles(r);
		model_pt_tip(r->e, r->tips[i]);
	}
	r->ntips = 0;
}

static void tip(struct run *r, uint64_t to)
{
	if (r->m->keep && r->ntnt && r->ntips < TIPS) {
		r->tips[r->ntips++] = to;
		return;
	}
	flush(r);
	cycles(r);
	model_pt_tip(r->e, to);
}

static void branch(struct run *r, bool taken)
{
	r->tnt[r->ntnt++] = taken ? 'T' : 'N';
	if (r->ntnt == 6)
		flush(r);
}

static void psb(struct run *r, uint64_t ip, bool on)
{
	struct ptmodel *m = r->m;

	flush(r);
	model_pt_psb(r->e);
	if (m->timed) {
		model_pt_tsc(r->e, m->tsc);
		model_pt_tma(r->e, (uint16_t)m->tsc, 0);
		model_pt_cbr(r->e, (uint8_t)(m->ratio ? m->ratio : 30));
		r->mtc = m->tsc >> PTMODEL_MTC_FREQ;
		r->cyc = m->tsc;
	}
	model_pt_exec(r->e, 64);
	if (on)
		model_pt_fup(r->e, ip);
	model_pt_psbend(r->e);
	r->depth = 0;
}

static void clock_to(struct run *r, uint64_t tsc)
{
	struct ptmodel *m = r->m;

	m->tsc = r->now = tsc;
	if (!m->timed || m->no_mtc)
		return;
	while (r->mtc < tsc >> PTMODEL_MTC_FREQ) {
		r->now = ++r->mtc << PTMODEL_MTC_FREQ;
		if (!m->keep)
			flush(r);
		cycles(r);
		model_pt_mtc(r->e, (uint8_t)r->mtc);
	}
	r->now = tsc;
}

static void call(struct run *r, uint64_t ret)
{
	if (r->depth == 64) {
		memmove(r->stack, r->stack + 1, 63 * sizeof(r->stack[0]));
		r->depth--;
	}
	r->stack[r->depth++] = ret;
}

static void near_return(struct run *r, uint64_t to)
{
	if (r->m->retcomp && r->depth && r->stack[r->depth - 1] == to) {
		r->depth--;
		branch(r, true);
		return;
	}
	if (r->depth)
		r->depth--;
	/* never deferred: a bit that is left would be taken for a compressed return */
	flush(r);
	tip(r, to);
}

static int32_t rel32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Bytes of a ModRM operand from @p on, SIB and displacement included. SDM vol. 2, table 2-2. */
static unsigned modrm_size(const uint8_t *p)
{
	unsigned mod = p[0] >> 6, rm = p[0] & 7, n = 1;

	if (mod == 3)
		return n;
	if (rm == 4)
		n += 1 + (mod == 0 && (p[1] & 7) == 5 ? 4 : 0);
	else if (rm == 5 && mod == 0)
		n += 4;
	return n + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Legacy and REX prefixes before @p's opcode; none of them changes a branch's length here. */
static unsigned prefixes(const uint8_t *p)
{
	unsigned n = 0;

	while (n < 4 && (p[n] == 0xf2 || p[n] == 0xf3 || p[n] == 0x3e || p[n] == 0x2e ||
			 p[n] == 0x64 || p[n] == 0x66 || p[n] == 0x67))
		n++;
	return n + ((p[n] & 0xf0) == 0x40);
}

/* FF /2 and FF /4, @p at the opcode and @a the address of its end. */
static void indirect(struct run *r, const uint8_t *p, uint64_t a, uint64_t b)
{
	if ((p[1] >> 3 & 7) == 2)
		call(r, a + 1 + modrm_size(p + 1));
	tip(r, b);
}

/*
 * Sends what hardware sends for the instruction at @p going from @a to @b. False: not understood.
 */
static bool step(struct run *r, const uint8_t *bytes, size_t n, uint64_t a, uint64_t b)
{
	uint8_t code[16] = { 0 }, *p = code;	/* code may end earlier */
	uint64_t first = a;
	unsigned k;

	memcpy(code, bytes, n < sizeof(code) ? n : sizeof(code));
	k = prefixes(p);
	p += k;
	a += k;
	if ((p[0] & 0xf0) == 0x70 || (p[0] & 0xfc) == 0xe0) {		/* Jcc, LOOP, JRCXZ rel8 */
		if (b != a + 2 && b != a + 2 + (uint64_t)(int8_t)p[1])
			return false;
		branch(r, b != a + 2);
	} else if (p[0] == 0x0f && (p[1] & 0xf0) == 0x80) {		/* Jcc rel32 */
		if (b != a + 6 && b != a + 6 + (uint64_t)(int64_t)rel32(p + 2))
			return false;
		branch(r, b != a + 6);
	} else if (p[0] == 0xe8) {
		call(r, a + 5);
		return b == a + 5 + (uint64_t)(int64_t)rel32(p + 1);
	} else if (p[0] == 0xe9) {
		return b == a + 5 + (uint64_t)(int64_t)rel32(p + 1);
	} else if (p[0] == 0xeb) {
		return b == a + 2 + (uint64_t)(int8_t)p[1];
	} else if (p[0] == 0xc3 || p[0] == 0xc2) {
		near_return(r, b);
	} else if (p[0] == 0xff && ((p[1] >> 3 & 7) == 2 || (p[1] >> 3 & 7) == 4)) {
		indirect(r, p, a, b);
	} else if (p[0] == 0x0f && p[1] == 0x05) {	/* SYSCALL: the kernel is filtered out */
		flush(r);
		cycles(r);
		model_pt_pgd_noip(r->e);
		if (b)
			model_pt_pge(r->e, b);
		return !b || b == a + 2;
	} else {
		return b > first && b - first <= 15;
	}
	return true;
}

static uint64_t tick(const struct ptmodel *m, uint64_t start, size_t i)
{
	return m->tick ? m->tick[i] : start + i * TICKS;
}

int ptmodel_encode(struct ptmodel *m, struct model_pt_buf *e, size_t *where)
{
	struct run r = { .m = m, .e = e };
	uint64_t start = m->tsc;

	if (!m->n)
		return 0;
	m->tsc = r.now = tick(m, start, 0);
	psb(&r, 0, false);
	model_pt_pge(e, m->addr[0]);
	for (size_t i = 0; i < m->n; i++) {
		size_t n = 0;
		const uint8_t *p = code(m, m->addr[i], &n);

		*where = i;
		if (i == m->lost_from && m->lost_to > i) {
			r.ntnt = r.ntips = 0;	/* what was not sent is lost as well */
			i = m->lost_to;
			if (i >= m->n)
				return -1;
			/* MTCs are lost too */
			m->tsc = r.now = r.cyc = tick(m, start, i);
			r.mtc = m->tsc >> PTMODEL_MTC_FREQ;
			model_pt_ovf(e);
			/* decoders differ on what the last IP is after an overflow */
			model_pt_ip(e, MODEL_PT_FUP, m->addr[i], MODEL_PT_IPB_64);
			r.depth = 0;
			p = code(m, m->addr[i], &n);
		}
		if (i && m->psb_every && i % m->psb_every == 0)
			psb(&r, m->addr[i], true);
		clock_to(&r, tick(m, start, i));
		if (!p || !step(&r, p, n, m->addr[i], i + 1 < m->n ? m->addr[i + 1] : 0))
			return -1;
	}
	flush(&r);
	return e->full ? -1 : 0;
}
