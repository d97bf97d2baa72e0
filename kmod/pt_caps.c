// SPDX-License-Identifier: GPL-2.0-only
/* What a CPU's Intel PT can do, and whether a wish can be had. */
#include "pt_regs.h"

static const struct { u32 bit; enum pt_why why; u64 ctl; } bits[] = {
	{ PT_BIT_OS, PT_FINE, CTL_OS }, { PT_BIT_USER, PT_FINE, CTL_USER },
	{ PT_BIT_BRANCH, PT_FINE, CTL_BRANCH }, { PT_BIT_TSC, PT_FINE, CTL_TSC },
	{ PT_BIT_NO_RETC, PT_FINE, CTL_NO_RETC }, { PT_BIT_MTC, PT_MTC, CTL_MTC },
	{ PT_BIT_CYC, PT_CYC, CTL_CYC }, { PT_BIT_PTW, PT_PTW, CTL_PTW },
	{ PT_BIT_PTW_IP, PT_PTW, CTL_PTW_IP }, { PT_BIT_POWER, PT_POWER, CTL_POWER },
	{ PT_BIT_EVENTS, PT_EVENTS, CTL_EVENTS }, { PT_BIT_NO_TNT, PT_TNT, CTL_NO_TNT },
	{ PT_BIT_CR3, PT_CR3, CTL_CR3 }
};

#define NBITS	(sizeof(bits) / sizeof(bits[0]))

const char *pt_why_text(enum pt_why why)
{
	static const char *const text[] = {
#define X(id, text) text,
		PT_WHYS(X)
#undef X
	};

	return (size_t)why < sizeof(text) / sizeof(text[0]) ? text[why] : "";
}

static int no(enum pt_why *why, enum pt_why is, int rc)
{
	*why = is;
	return rc;
}

/* Table "CPUID Leaf 14H Enumeration of Intel Processor Trace Capabilities". */
static void read_leaves(const struct pt_leaves *l, struct pt_caps *c)
{
	u32 b = l->l14_ebx;

	*c = (struct pt_caps){
		.cr3 = b >> 0 & 1, .cyc = b >> 1 & 1, .mtc = b >> 3 & 1, .ptw = b >> 4 & 1,
		.power = b >> 5 & 1, .events = b >> 7 & 1, .no_tnt = b >> 8 & 1,
		.topa = l->l14_ecx >> 0 & 1, .pieces = l->l14_ecx >> 1 & 1,
		.single = l->l14_ecx >> 2 & 1, .must_branch = l->must_branch,
		.phys_bits = l->phys_bits, .virt_bits = l->virt_bits };
	if (b >> 2 & 1)
		c->ranges = l->l14_1_eax & 7;
	if (c->ranges > PT_RANGE_MAX)
		c->ranges = PT_RANGE_MAX;
	if (c->mtc)
		c->mtc_map = l->l14_1_eax >> 16;
	/* the distance of PSB is fixed, as value 0 says it, where it can not be chosen */
	c->psb_map = 1;
	if (c->cyc)
		c->cyc_map = l->l14_1_ebx;
	if (c->cyc && l->l14_1_ebx >> 16)
		c->psb_map = l->l14_1_ebx >> 16;
}

int pt_probe(struct hwreg *r, const struct pt_leaves *l, struct pt_caps *caps, enum pt_why *why)
{
	u64 v;

	*why = PT_FINE;
	if (l->max < 0x14 || !(l->l7_ebx >> 25 & 1))
		return no(why, l->hypervisor ? PT_HIDDEN : PT_NONE, -ENODEV);
	read_leaves(l, caps);
	if ((!caps->topa && !caps->single) || caps->phys_bits < 32 || caps->phys_bits > 52 ||
	    caps->virt_bits < 48 || caps->virt_bits > 57)
		return no(why, PT_NO_OUTPUT, -ENODEV);
	if (r->rd64(r, MSR_CTL, &v))
		return no(why, PT_DENIED, -EACCES);
	if (v & CTL_ON)
		return no(why, PT_TAKEN, -EBUSY);
	/* section "VMX Operation": VMXON switches tracing off, and nothing can switch it on */
	if (l->vmx && (r->rd64(r, MSR_VMX_MISC, &v) || !(v & VMX_TRACE)))
		return no(why, PT_VMX, -EBUSY);
	return 0;
}

/* The set bit of @map that is nearest to @n. */
static u64 nearest(u16 map, unsigned int n)
{
	unsigned int d;

	if (n > 15)
		n = 15;
	for (d = 0; d < 16; d++) {
		if (n + d < 16 && map >> (n + d) & 1)
			return n + d;
		if (d <= n && n - d < 16 && map >> (n - d) & 1)
			return n - d;
	}
	return 0;
}

static bool in(u16 map, unsigned int n)
{
	return n < 16 && map >> n & 1;
}

/* All bits above those that an address has are copies of its highest one. */
static bool is_address(const struct pt_caps *c, u64 a)
{
	u64 high = a >> (c->virt_bits - 1);

	return !high || high == ~0ull >> (c->virt_bits - 1);
}

static u32 has(const struct pt_caps *c)
{
	u32 n = PT_BIT_OS | PT_BIT_USER | PT_BIT_BRANCH | PT_BIT_TSC | PT_BIT_NO_RETC;

	return n | (c->mtc ? PT_BIT_MTC : 0) | (c->cyc ? PT_BIT_CYC : 0) |
		(c->ptw ? PT_BIT_PTW | PT_BIT_PTW_IP : 0) | (c->power ? PT_BIT_POWER : 0) |
		(c->events ? PT_BIT_EVENTS : 0) | (c->no_tnt ? PT_BIT_NO_TNT : 0) |
		(c->cr3 ? PT_BIT_CR3 : 0);
}

static int check_values(const struct pt_caps *c, const struct pt_wish *w, enum pt_why *why,
			u64 *offer)
{
	if (w->bits & PT_BIT_MTC && !in(c->mtc_map, w->mtc)) {
		*offer = nearest(c->mtc_map, w->mtc);
		return no(why, c->mtc_map ? PT_MTC_EVERY : PT_MTC, -EINVAL);
	}
	if (w->bits & PT_BIT_CYC && !in(c->cyc_map, w->cyc)) {
		*offer = nearest(c->cyc_map, w->cyc);
		return no(why, c->cyc_map ? PT_CYC_EVERY : PT_CYC, -EINVAL);
	}
	if (!in(c->psb_map, w->psb)) {
		*offer = nearest(c->psb_map, w->psb);
		return no(why, PT_PSB_EVERY, -EINVAL);
	}
	return 0;
}

static int check_ranges(const struct pt_caps *c, const struct pt_wish *w, enum pt_why *why,
			u64 *offer)
{
	unsigned int i;

	if (w->nranges > c->ranges) {
		*offer = c->ranges;
		return no(why, PT_RANGES, -EINVAL);
	}
	for (i = 0; i < w->nranges; i++)
		if (w->range[i].first > w->range[i].last || !is_address(c, w->range[i].first) ||
		    !is_address(c, w->range[i].last))
			return no(why, PT_RANGE, -EINVAL);
	if (w->bits & PT_BIT_CR3 && w->cr3 & 31)
		return no(why, PT_CR3_VALUE, -EINVAL);
	return 0;
}

int pt_check(const struct pt_caps *c, const struct pt_wish *w, enum pt_why *why, u64 *offer)
{
	unsigned int i;
	int rc;

	*why = PT_FINE;
	*offer = 0;
	if (w->bits & ~(u32)PT_BIT_ALL)
		return no(why, PT_BITS, -EINVAL);
	if (!(w->bits & (PT_BIT_OS | PT_BIT_USER)))
		return no(why, PT_NOBODY, -EINVAL);
	for (i = 0; i < NBITS; i++)
		if (w->bits & ~has(c) & bits[i].bit)
			return no(why, bits[i].why, -EOPNOTSUPP);
	if (c->must_branch && !(w->bits & PT_BIT_BRANCH))
		return no(why, PT_BRANCHES, -EOPNOTSUPP);
	if (!c->topa && !w->overwrite)
		return no(why, PT_NO_STOP, -EOPNOTSUPP);
	if (!c->topa && w->pmi)
		return no(why, PT_NO_PMI, -EOPNOTSUPP);
	rc = check_values(c, w, why, offer);
	return rc ? rc : check_ranges(c, w, why, offer);
}

u64 pt_ctl(const struct pt_caps *c, const struct pt_wish *w)
{
	u64 v = c->topa ? CTL_TOPA : 0;
	unsigned int i;

	for (i = 0; i < NBITS; i++)
		if (w->bits & bits[i].bit)
			v |= bits[i].ctl;
	if (w->bits & PT_BIT_MTC)
		v |= (u64)w->mtc << CTL_MTC_AT;
	if (w->bits & PT_BIT_CYC)
		v |= (u64)w->cyc << CTL_CYC_AT;
	v |= (u64)w->psb << CTL_PSB_AT;
	for (i = 0; i < w->nranges; i++)
		v |= (w->range[i].stop ? 2ull : 1ull) << (CTL_RANGE_AT + 4 * i);
	return v;
}
