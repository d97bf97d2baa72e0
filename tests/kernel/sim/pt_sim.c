// SPDX-License-Identifier: GPL-2.0-only
/* Each CPU of a guest has a model of Intel PT in place of its registers. */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "pt_msr.h"
#include "tests/model/pt_model.h"

#define MSR_CTL		0x570
#define MAX_RUN		12000	/* bytes that came since the last look, at most */

struct sim {
	struct hwreg r;
	struct ptm m;
};

static struct sim *sims[NR_CPUS];
static atomic_t broken, on, marks;
static u64 mark[NR_CPUS];

static int show(char *to, const struct kernel_param *p)
{
	return sysfs_emit(to, "%d\n", atomic_read(p->arg));
}

static const struct kernel_param_ops counter = { .get = show };
module_param_cb(sim_broken, &counter, &broken, 0444);
module_param_cb(sim_on, &counter, &on, 0444);
module_param_cb(sim_marks, &counter, &marks, 0444);

static bool known(struct ptm *m, u64 phys)
{
	unsigned int i;

	for (i = 0; i < m->nareas; i++)
		if (m->area[i].phys == phys)
			return true;
	return false;
}

static void give(struct ptm *m, u64 phys, u64 bytes, bool table)
{
	if (!known(m, phys) && m->nareas < PTM_AREAS)
		ptm_give(m, phys, phys_to_virt(phys), bytes, table);
}

/* Memory is what the tables name, once round: others are the model's to complain about. */
static void discover(struct ptm *m)
{
	u64 table = m->base;
	unsigned int tables, i;

	m->nareas = 0;
	for (tables = 0; tables < 8 && !known(m, table); tables++) {
		const u64 *e = phys_to_virt(table);

		give(m, table, 4096, true);
		for (i = 0; i < 511 && !(e[i] & 1); i++)
			give(m, e[i] & ~4095ull, 4096ull << (e[i] >> 6 & 15), false);
		table = e[i] & ~4095ull;
	}
}

static void account(struct ptm *m, unsigned int before, bool was)
{
	unsigned int i;

	atomic_add(ptm_broken(m) - before, &broken);
	for (i = 0; ptm_broken(m) != before && i < PTM_NRULES; i++)
		if (m->broken[i])
			pr_err("sim: %s\n", ptm_rule_text(i));
	atomic_add((int)(m->ctl & 1) - was, &on);
}

static int rd64(struct hwreg *r, u32 reg, u64 *v)
{
	struct ptm *m = &container_of(r, struct sim, r)->m;
	unsigned int before = ptm_broken(m);
	int rc;

	if (reg == MSR_CTL)
		ptm_run(m, 1 + (unsigned int)(m->seed >> 20) % MAX_RUN);
	rc = m->r.rd64(&m->r, reg, v);
	account(m, before, m->ctl & 1);
	return rc;
}

static int wr64(struct hwreg *r, u32 reg, u64 v)
{
	struct ptm *m = &container_of(r, struct sim, r)->m;
	unsigned int before = ptm_broken(m);
	bool was = m->ctl & 1;
	int rc;

	if (reg == MSR_CTL && v & 1)
		discover(m);
	rc = m->r.wr64(&m->r, reg, v);
	account(m, before, was);
	return rc;
}

static int rd32(struct hwreg *r, u32 reg, u32 *v)
{
	return -EFAULT;
}

static int wr32(struct hwreg *r, u32 reg, u32 v)
{
	return -EFAULT;
}

static void fence(struct hwreg *r, enum hwreg_barrier kind)
{
	struct ptm *m = &container_of(r, struct sim, r)->m;

	hwreg_barrier(&m->r, kind);
}

static void relax(struct hwreg *r)
{
}

/* They stay while the module is there; what is short of memory has no unit. */
struct hwreg *pt_msr(unsigned int cpu)
{
	static struct hwreg none = { rd32, wr32, rd64, wr64, fence, relax };
	struct sim *s = sims[cpu];

	if (s)
		return &s->r;
	s = kzalloc(sizeof(*s), GFP_ATOMIC);
	if (!s)
		return &none;
	s->r = none;
	s->m.ebx = 0x1ff;
	s->m.ecx = 7;
	s->m.sub1_eax = 0x02490004;
	s->m.sub1_ebx = 0x003f0fff;
	s->m.phys_bits = 46;
	s->m.virt_bits = 48;
	s->m.seed = cpu + 1;
	s->m.alias = s->m.quiet = s->m.numbered = true;
	ptm_init(&s->m);
	sims[cpu] = s;
	return &s->r;
}

void pt_msr_leaves(struct pt_leaves *l)
{
	*l = (struct pt_leaves){ .max = 0x1f, .l7_ebx = 1u << 25, .l14_ebx = 0x1ff, .l14_ecx = 7,
		.l14_1_eax = 0x02490004, .l14_1_ebx = 0x003f0fff, .phys_bits = 46,
		.virt_bits = 48 };
}

/* Those of one event and CPU are numbered without holes. */
notrace void pt_msr_mark(u64 value)
{
	unsigned int cpu = raw_smp_processor_id();

	if (mark[cpu] >> 48 == value >> 48 && mark[cpu] + 1 != value)
		atomic_inc(&broken);
	mark[cpu] = value;
	atomic_inc(&marks);
	/* an instruction that does nothing, which tests/oracle/guest/ records as PTWRITE of RAX */
	asm volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 'W'" : : "a" (value) : "memory");
}

bool pt_msr_driver(void)
{
	return false;
}
