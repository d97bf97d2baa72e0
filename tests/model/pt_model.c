/* SPDX-License-Identifier: GPL-2.0-only */
#ifdef __KERNEL__
#include <linux/string.h>
/* with alias and quiet nothing is allocated */
#define calloc(n, size)		NULL
#define realloc(p, size)	NULL
#define free(p)			((void)0)
#define exit(code)		((void)0)
#else
#include <stdlib.h>
#endif

#include "tests/model/pt_model.h"

#define ON		(1ull << 0)
#define TOPA		(1ull << 8)
#define FABRIC		(1ull << 6)
#define TRIGGER		(1ull << 2)
#define ERROR		(1ull << 4)
#define STOPPED		(1ull << 5)
#define PMI		(1ull << 55)

static unsigned dice(struct ptm *m, unsigned n)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(m->seed >> 33) % n;
}

static void breaks(struct ptm *m, enum ptm_rule rule)
{
	m->broken[rule]++;
}

static int gp(struct ptm *m, enum ptm_rule rule)
{
	breaks(m, rule);
	return -EFAULT;
}

const char *ptm_rule_text(unsigned rule)
{
	static const char *const t[] = {
#define X(id, text) #id ": " text,
		PTM_RULES(X)
#undef X
	};

	return t[rule];
}

unsigned ptm_broken(const struct ptm *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PTM_NRULES; i++)
		n += m->broken[i];
	return n;
}

static struct ptm_area *find(struct ptm *m, u64 phys, bool table)
{
	for (unsigned i = 0; i < m->nareas; i++) {
		struct ptm_area *a = &m->area[i];

		if (a->table == table && phys >= a->phys && phys - a->phys < a->bytes)
			return a;
	}
	return NULL;
}

static bool triggers(const struct ptm *m)
{
	return m->ctl & ON && !(m->status & (ERROR | STOPPED));
}

/* An operational error; when it is told is not said. */
static void fails(struct ptm *m, enum ptm_rule rule)
{
	breaks(m, rule);
	m->status |= ERROR;
	m->dropped += m->nfifo;
	m->nfifo = 0;
}

/* The entry at place (base, index); false: an error. */
static bool entry(struct ptm *m, u64 base, unsigned n, u64 *e)
{
	struct ptm_area *a;
	u64 at = base + 8ull * n;

	if (base & 4095)
		fails(m, PTM_TOPA_TABLE);
	else if (base >> m->phys_bits)
		fails(m, PTM_TOPA_PHYS);
	else if (a = find(m, at, true), !a)
		fails(m, PTM_MEMORY);
	else {
		memcpy(e, a->unit + (at - a->phys), 8);
		return true;
	}
	return false;
}

static bool sound(struct ptm *m, unsigned n, u64 e)
{
	u64 size = 4096ull << (e >> 6 & 15);

	if (e & 0xc2a)
		fails(m, PTM_TOPA_RESERVED);
	else if (e >> m->phys_bits)
		fails(m, PTM_TOPA_PHYS);
	else if (e & 1 && e & 0x14)
		fails(m, PTM_TOPA_END_BITS);
	else if (e & 1 && !n)
		fails(m, PTM_TOPA_END_FIRST);
	else if (!(m->ecx >> 1 & 1) && n && (!(e & 1) || (e & ~4095ull) != m->base))
		fails(m, PTM_TOPA_ONE);
	else if (!(e & 1) && (e & ~4095ull) & (size - 1))
		fails(m, PTM_TOPA_ALIGN);
	else
		return true;
	return false;
}

static void set_place(struct ptm *m, unsigned n, u64 off)
{
	m->ptrs = off << 32 | (u64)n << 7 | 0x7f;
}

/* The place to write next, in memory: 0, if there is none now. */
static u64 topa_place(struct ptm *m)
{
	for (;;) {
		unsigned n = (u32)m->ptrs >> 7;
		u64 off = m->ptrs >> 32, e, size;

		if (!entry(m, m->base, n, &e) || !sound(m, n, e))
			return 0;
		if (e & 1) {
			m->base = e & ~4095ull;
			set_place(m, 0, 0);
			continue;
		}
		size = 4096ull << (e >> 6 & 15);
		if (off < size)
			return (e & ~4095ull) + off;
		fails(m, PTM_TOPA_OFFSET);
		return 0;
	}
}

/* A byte was written; a piece that is full is left. */
static void topa_next(struct ptm *m)
{
	unsigned n = (u32)m->ptrs >> 7;
	u64 off = (m->ptrs >> 32) + 1, e, size;

	set_place(m, n, off);
	if (!entry(m, m->base, n, &e))
		return;
	size = 4096ull << (e >> 6 & 15);
	/* the interrupt of a CPU with one piece comes before that is full */
	if (e >> 2 & 1 && off == (m->ecx >> 1 & 1 ? size : size - size / 4)) {
		m->global |= PMI;
		m->told = true;
		m->pmis++;
	}
	if (off < size)
		return;
	if (e >> 4 & 1) {
		m->status |= STOPPED;
		m->dropped += m->nfifo;
		m->nfifo = 0;
		return;
	}
	set_place(m, n + 1, 0);
	/* whether it has looked at what follows is not said */
	if (!entry(m, m->base, n + 1, &e) || !(e & 1) || dice(m, 2))
		return;
	if (sound(m, n + 1, e)) {
		m->base = e & ~4095ull;
		set_place(m, 0, 0);
	}
}

static u64 single_place(struct ptm *m)
{
	u64 mask = (u32)m->ptrs | 0x7f, off = m->ptrs >> 32;

	if (mask & (mask + 1))
		fails(m, PTM_SINGLE_MASK);
	else if (m->base & mask)
		fails(m, PTM_SINGLE_ALIGN);
	else if (off > mask)
		fails(m, PTM_SINGLE_OFFSET);
	else
		return m->base + off;
	return 0;
}

static void single_next(struct ptm *m)
{
	u64 mask = (u32)m->ptrs | 0x7f, off = ((m->ptrs >> 32) + 1) & mask;

	m->ptrs = off << 32 | mask;
}

static void note(struct ptm *m, u8 c)
{
	if (m->quiet) {
		m->written++;
		return;
	}
	if (m->written >= m->log_cap) {
		m->log_cap = 2 * m->written + 65536;
		m->log = realloc(m->log, m->log_cap);
		if (!m->log)
			exit(1);
	}
	m->log[m->written++] = c;
}

/* One byte leaves the CPU. */
static void put(struct ptm *m, u8 c)
{
	u64 at = m->ctl & TOPA ? topa_place(m) : single_place(m);
	struct ptm_area *a;

	if (m->status & ERROR)
		return;
	a = find(m, at, false);
	if (!a) {
		fails(m, PTM_MEMORY);
		return;
	}
	note(m, c);
	a->unit[at - a->phys] = c;
	if (dice(m, 4))
		m->unseen++;
	else
		a->mem[at - a->phys] = c;
	if (m->ctl & TOPA)
		topa_next(m);
	else
		single_next(m);
}

static void drain(struct ptm *m, unsigned keep)
{
	while (m->nfifo > keep && triggers(m)) {
		u8 c = m->fifo[0];

		memmove(m->fifo, m->fifo + 1, --m->nfifo);
		put(m, c);
	}
}

static void make(struct ptm *m, const u8 *p, unsigned n)
{
	for (unsigned i = 0; i < n && triggers(m); i++) {
		m->fifo[m->nfifo++] = p[i];
		if (m->nfifo == sizeof(m->fifo))
			drain(m, dice(m, sizeof(m->fifo)));
	}
}

void ptm_run(struct ptm *m, unsigned n)
{
	while (n && triggers(m)) {
		u8 packet[16];
		unsigned k = 1 + dice(m, n < 16 ? n : 16);

		for (unsigned i = 0; i < k; i++)
			packet[i] = (u8)(m->numbered ? 1 + m->made++ % 251 : 1 + dice(m, 255));
		make(m, packet, k);
		n -= k;
	}
	drain(m, dice(m, sizeof(m->fifo)));
}

void ptm_trace_stop(struct ptm *m)
{
	if (triggers(m))
		m->status |= STOPPED;
}

static void begin(struct ptm *m)
{
	static const u8 psb[16] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
		2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
	struct ptm_area *a;

	for (unsigned i = 0; i < m->nareas; i++) {
		a = &m->area[i];
		if (a->table && memcmp(a->mem, a->unit, a->bytes))
			breaks(m, PTM_TABLE_NO_FENCE);
	}
	if (m->status & (ERROR | STOPPED))
		breaks(m, PTM_DEAD_START);
	if (m->told)
		breaks(m, PTM_PMI_LEFT);
	/* an error of the place may be told at once, or with the first byte */
	if (dice(m, 2) && !(m->ctl & TOPA ? topa_place(m) : single_place(m)))
		return;
	if (!(m->status >> 32)) {
		if (m->nstarts < sizeof(m->psb) / sizeof(m->psb[0]))
			m->psb[m->nstarts++] = m->written;
		make(m, psb, sizeof(psb));
	}
}

static int write_ctl(struct ptm *m, u64 v)
{
	u64 bad = 0x7full << 57 | 1ull << 56 | 0x7full << 48 | 7ull << 28 | 1ull << 23 | 1ull << 18;
	unsigned ranges = m->ebx >> 2 & 1 ? m->sub1_eax & 7 : 0;

	if (v == m->ctl)
		return 0;
	if (m->ctl & ON && v & ON)
		return gp(m, PTM_CTL_WHILE_ON);
	bad |= m->ebx >> 0 & 1 ? 0 : 1ull << 7;
	bad |= m->ebx >> 1 & 1 ? 0 : 1ull << 1 | 15ull << 19 | 15ull << 24;
	bad |= m->ebx >> 3 & 1 ? 0 : 1ull << 9 | 15ull << 14;
	bad |= m->ebx >> 4 & 1 ? 0 : 1ull << 12 | 1ull << 5;
	bad |= m->ebx >> 5 & 1 ? 0 : 1ull << 4;
	bad |= m->ebx >> 7 & 1 ? 0 : 1ull << 31;
	bad |= m->ebx >> 8 & 1 ? 0 : 1ull << 55;
	bad |= m->ecx >> 3 & 1 ? 0 : FABRIC;
	if (v & bad)
		return gp(m, PTM_CTL_RESERVED);
	if ((v >> 9 & 1 && !(m->sub1_eax >> (16 + (v >> 14 & 15)) & 1)) ||
	    (v >> 1 & 1 && !(m->sub1_ebx >> (v >> 19 & 15) & 1)) ||
	    (v >> 24 & 15 && !(m->sub1_ebx >> (16 + (v >> 24 & 15)) & 1)))
		return gp(m, PTM_CTL_VALUE);
	for (unsigned i = 0; i < 4; i++)
		if ((v >> (32 + 4 * i) & 15) > (i < ranges ? 2 : 0))
			return gp(m, PTM_CTL_RANGE);
	if ((v & TOPA && !(m->ecx & 1)) || ((v & (ON | TOPA)) == ON && !(m->ecx >> 2 & 1)))
		return gp(m, PTM_CTL_OUTPUT);
	if (v & ON && m->vmx && !m->vmx_trace)
		return gp(m, PTM_CTL_VMX);
	if (m->ctl & ON)	/* off: all that is inside goes out */
		drain(m, 0);
	m->nfifo = 0;
	m->ctl = v;
	if (v & ON)
		begin(m);
	return 0;
}

static int write_status(struct ptm *m, u64 v)
{
	u64 bad = 0x7fffull << 49 | 0xffffffull << 8 | 1ull << 3;

	bad |= m->ebx >> 1 & 1 ? 0 : 0x1ffffull << 32;
	bad |= m->ebx >> 6 & 1 ? 0 : 3ull << 6;
	if (v & bad)
		return gp(m, PTM_STATUS_RESERVED);
	m->status = v & ~7ull;
	return 0;
}

static int write_base(struct ptm *m, u64 v)
{
	if (v & 0x7f || v >> m->phys_bits)
		return gp(m, PTM_BASE_RESERVED);
	m->base = v;
	return 0;
}

static bool has(const struct ptm *m, u32 reg)
{
	unsigned ranges = m->ebx >> 2 & 1 ? m->sub1_eax & 7 : 0;

	switch (reg) {
	case 0x38e:
	case 0x390:
	case 0x485:
	case 0x570:
	case 0x571: return true;
	case 0x560:
	case 0x561: return m->ecx & 5;
	case 0x572: return m->ebx & 1;
	default: return reg >= 0x580 && reg < 0x580 + 2 * ranges;
	}
}

static void look_at_tables(struct ptm *m)
{
	if (!(m->ctl & ON) || m->foreign)
		return;
	for (unsigned i = 0; i < m->nareas; i++)
		if (m->area[i].table && memcmp(m->area[i].mem, m->area[i].unit, m->area[i].bytes)) {
			breaks(m, PTM_TABLE_WHILE_ON);
			return;
		}
}

/* What happens meanwhile; true: this access is refused. */
static bool access_starts(struct ptm *m)
{
	m->accesses++;
	if (m->meddle)
		m->meddle(m);
	ptm_run(m, dice(m, 8));
	look_at_tables(m);
	return m->fault && !--m->fault;
}

static int wr64(struct hwreg *r, u32 reg, u64 v)
{
	struct ptm *m = (struct ptm *)r;
	unsigned n = reg - 0x580;
	u64 high = v >> (m->virt_bits - 1);

	if (access_starts(m))
		return -EFAULT;
	if (m->foreign)
		breaks(m, PTM_FOREIGN);
	if (!has(m, reg))
		return gp(m, PTM_NO_SUCH);
	if (m->ctl & ON && reg >= 0x560 && reg != 0x570)
		return gp(m, PTM_REG_WHILE_ON);
	switch (reg) {
	case 0x390:
		if (v & ~PMI)
			breaks(m, PTM_COUNTERS);
		m->global &= ~v;
		m->told &= !(v & PMI);
		return 0;
	case 0x560: return write_base(m, v);
	case 0x561:
		m->ptrs = v | 0x7f;
		return 0;
	case 0x570: return write_ctl(m, v);
	case 0x571: return write_status(m, v);
	case 0x572:
		if (v & 31)
			return gp(m, PTM_CR3_RESERVED);
		m->cr3 = v;
		return 0;
	case 0x38e:
	case 0x485: return gp(m, PTM_NO_SUCH);	/* they are read only */
	default:
		if (high && high != ~0ull >> (m->virt_bits - 1))
			return gp(m, PTM_ADDR_FORM);
		m->addr[n] = v;
		return 0;
	}
}

static int rd64(struct hwreg *r, u32 reg, u64 *v)
{
	struct ptm *m = (struct ptm *)r;

	if (access_starts(m))
		return -EFAULT;
	if (!has(m, reg))
		return gp(m, PTM_NO_SUCH);
	if (m->ctl & ON && !m->foreign && (reg == 0x560 || reg == 0x561))
		breaks(m, PTM_PLACE_WHILE_ON);
	switch (reg) {
	case 0x38e: *v = m->global; break;
	case 0x390: *v = 0; break;
	case 0x485: *v = m->vmx_trace ? 1ull << 14 : 0; break;
	case 0x560: *v = m->base; break;
	case 0x561: *v = m->ctl & ON && dice(m, 2) ? 0x7f : m->ptrs; break;
	case 0x570: *v = m->ctl; break;
	case 0x571: *v = m->status | (triggers(m) ? TRIGGER : 0) | dice(m, 4); break;
	case 0x572: *v = m->cr3; break;
	default: *v = m->addr[reg - 0x580];
	}
	return 0;
}

static int rd32(struct hwreg *r, u32 reg, u32 *v)
{
	return gp((struct ptm *)r, PTM_NO_SUCH);
}

static int wr32(struct hwreg *r, u32 reg, u32 v)
{
	return gp((struct ptm *)r, PTM_NO_SUCH);
}

/* What software stored is seen by the unit, and, when that is off, what the unit stored by all. */
static void fence(struct hwreg *r, enum hwreg_barrier kind)
{
	struct ptm *m = (struct ptm *)r;

	ptm_run(m, dice(m, 8));
	look_at_tables(m);
	if (kind != HWREG_MEMORY)
		return;
	for (unsigned i = 0; i < m->nareas; i++) {
		struct ptm_area *a = &m->area[i];

		if (m->alias)
			break;
		if (a->table)
			memcpy(a->unit, a->mem, a->bytes);
		else if (!(m->ctl & ON))
			memcpy(a->mem, a->unit, a->bytes);
	}
	if (!(m->ctl & ON))
		m->unseen = 0;
}

static void relax(struct hwreg *r)
{
	ptm_run((struct ptm *)r, 64);
}

const u8 *ptm_look(struct ptm *m, u64 phys)
{
	struct ptm_area *a = find(m, phys, false);

	if (m->unseen && !(m->ctl & ON))
		breaks(m, PTM_DATA_NO_FENCE);
	return a ? a->mem + (phys - a->phys) : NULL;
}

void ptm_give(struct ptm *m, u64 phys, void *mem, u64 bytes, bool table)
{
	struct ptm_area *a = &m->area[m->nareas++];

	*a = (struct ptm_area){ phys, bytes, mem, m->alias ? mem : calloc(1, bytes), table };
	if (!a->unit)
		exit(1);
}

void ptm_init(struct ptm *m)
{
	m->r = (struct hwreg){ rd32, wr32, rd64, wr64, fence, relax };
	m->ptrs = 0x7f;
}

void ptm_end(struct ptm *m)
{
	if (m->ctl & ON && !m->foreign)
		breaks(m, PTM_LEFT_ON);
}

void ptm_free(struct ptm *m)
{
	for (unsigned i = 0; i < m->nareas && !m->alias; i++)
		free(m->area[i].unit);
	free(m->log);
}
