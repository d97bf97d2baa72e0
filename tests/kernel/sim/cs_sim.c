// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each CPU of a guest has models of an ETE and of a trace buffer in place of its system registers.
 * While a unit traces, each access gives bytes that count, not trace; of what found no room the
 * numbers come again. sim_given: bytes that buffers took, sim_dropped: that found no room.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "cs_sys.h"
#include "tests/model/etm4_model.h"
#include "tests/model/trbe_model.h"

#define GIVEN		48	/* bytes for each access while a unit traces */
#define NUMBERS		0x70	/* that count, from 0 on; the next one is what fills gaps */
#define PAGES		4096ull

struct sim {
	struct hwreg unit, buffer;
	struct etm4_model e;
	struct trbe_model b;
	u32 next;
};

static struct sim *sims[NR_CPUS];
static atomic_t broken, on, given, dropped;
static bool sim_none, sim_bare, sim_owned;	/* there are none; no buffer; firmware has it */
static ulong sim_fault;		/* the byte of a buffer that is not mapped, 0: none */
module_param(sim_none, bool, 0644);
module_param(sim_bare, bool, 0644);
module_param(sim_owned, bool, 0644);
module_param(sim_fault, ulong, 0644);

static int show(char *to, const struct kernel_param *p)
{
	return sysfs_emit(to, "%d\n", atomic_read((atomic_t *)p->arg));
}

static const struct kernel_param_ops counter = { .get = show };
module_param_cb(sim_broken, &counter, &broken, 0444);
module_param_cb(sim_on, &counter, &on, 0444);
module_param_cb(sim_given, &counter, &given, 0444);
module_param_cb(sim_dropped, &counter, &dropped, 0444);

static void tell(struct rules *r, unsigned int rule, unsigned int where)
{
	atomic_inc(&broken);
	pr_err("sim: %s (0x%x)\n", r->text[rule], where);
}

/* What runs between two accesses is traced, and goes to the buffer if that collects. */
static void run(struct sim *s)
{
	u8 b[GIVEN];
	u64 dropped_before = s->b.k.dropped;
	unsigned int i;

	if (!(s->e.now[1] & 1) || s->e.idle || !(s->e.trfcr & 3))
		return;
	for (i = 0; i < GIVEN; i++)
		b[i] = s->next++ % NUMBERS;
	trbe_model_trace(&s->b, b, GIVEN);
	i = (unsigned int)(s->b.k.dropped - dropped_before);
	s->next -= i;
	atomic_add(GIVEN - i, &given);
	atomic_add(i, &dropped);
}

static void account(struct sim *s, bool was)
{
	bool is = (s->e.now[1] & 1) || (s->b.limitr & 1);

	atomic_add((int)is - was, &on);
}

static bool is_on(const struct sim *s)
{
	return (s->e.now[1] & 1) || (s->b.limitr & 1);
}

#define UNIT(r)		container_of(r, struct sim, unit)
#define BUFFER(r)	container_of(r, struct sim, buffer)

static int unit_rd32(struct hwreg *r, u32 reg, u32 *v)
{
	struct sim *s = UNIT(r);

	run(s);
	return s->e.r.rd32(&s->e.r, reg, v);
}

static int unit_wr32(struct hwreg *r, u32 reg, u32 v)
{
	struct sim *s = UNIT(r);
	bool was = is_on(s);
	int rc;

	run(s);
	rc = s->e.r.wr32(&s->e.r, reg, v);
	account(s, was);
	return rc;
}

static int unit_rd64(struct hwreg *r, u32 reg, u64 *v)
{
	struct sim *s = UNIT(r);

	return s->e.r.rd64(&s->e.r, reg, v);
}

static int unit_wr64(struct hwreg *r, u32 reg, u64 v)
{
	struct sim *s = UNIT(r);

	run(s);
	return s->e.r.wr64(&s->e.r, reg, v);
}

static int buffer_rd64(struct hwreg *r, u32 reg, u64 *v)
{
	struct sim *s = BUFFER(r);

	return s->b.r.rd64(&s->b.r, reg, v);
}

/* The memory is what it is told of: whether that is mapped would fault otherwise. */
static int buffer_wr64(struct hwreg *r, u32 reg, u64 v)
{
	struct sim *s = BUFFER(r);
	bool was = is_on(s);
	int rc;

	if (reg == 0 && v & 1) {
		s->b.k.mem_base = s->b.baser;
		s->b.k.mem = (u8 *)(uintptr_t)s->b.baser;
		s->b.k.mem_bytes = (v & ~(PAGES - 1)) - s->b.baser;
		s->b.fault_at = READ_ONCE(sim_fault);
	}
	rc = s->b.r.wr64(&s->b.r, reg, v);
	account(s, was);
	return rc;
}

static int none_rd32(struct hwreg *r, u32 reg, u32 *v)
{
	return -EFAULT;
}

static int none_wr32(struct hwreg *r, u32 reg, u32 v)
{
	return -EFAULT;
}

/* Both see all barriers of their CPU. */
static void fence(struct sim *s, enum hwreg_barrier kind)
{
	hwreg_barrier(&s->e.r, kind);
	hwreg_barrier(&s->b.r, kind);
}

static void unit_fence(struct hwreg *r, enum hwreg_barrier kind)
{
	fence(UNIT(r), kind);
}

static void buffer_fence(struct hwreg *r, enum hwreg_barrier kind)
{
	fence(BUFFER(r), kind);
}

static void unit_relax(struct hwreg *r)
{
	struct sim *s = UNIT(r);

	(s->e.r.relax)(&s->e.r);
}

static void nothing(struct hwreg *r)
{
}

/* TRCIDR0 to 6 as captures of a unit have them; its trace goes to no bus. */
static void build(struct sim *s, unsigned int cpu)
{
	static const struct etm4_unit ete = {
		.id = { 0x2801cea1, 0x4100fff0, 0xd0001088, 0x0d770004, 0x11170004, 0x28c00824,
			0x7 },
		.ete = true, .system = true, .trf = true, .os_lock = ETM4_OSLOCK_CPU,
		.claims = 0xf, .power_known = true, .idle_delay = 5, .stable_delay = 7,
		.start_delay = 1 };
	struct trbe_unit u = { .align = 6, .owned = sim_owned };

	s->unit = (struct hwreg){ unit_rd32, unit_wr32, unit_rd64, unit_wr64, unit_fence,
		unit_relax };
	s->buffer = (struct hwreg){ none_rd32, none_wr32, buffer_rd64, buffer_wr64, buffer_fence,
		nothing };
	etm4_model_init(&s->e, &ete, cpu + 3);
	trbe_model_init(&s->b, &u, NULL, 0, 0);
	s->e.rules.tell = s->b.rules.tell = tell;
}

static struct sim *sim_of(unsigned int cpu)
{
	struct sim *s = sims[cpu];

	if (!s) {
		s = kzalloc(sizeof(*s), GFP_ATOMIC);
		if (s)
			build(s, cpu);
		sims[cpu] = s;
	}
	return s;
}

/* They stay while the module is there; what is short of memory has no unit. */
void cs_sys_look(struct cs_sys *to)
{
	struct sim *s = sim_of(raw_smp_processor_id());

	if (s)
		s->b.u.owned = sim_owned;
	*to = (struct cs_sys){ .unit = s && !sim_none, .buffer = s && !sim_bare,
		.trf = !sim_none };
}

struct hwreg *cs_sys_unit(unsigned int cpu)
{
	return &sims[cpu]->unit;
}

struct hwreg *cs_sys_buffer(unsigned int cpu)
{
	return &sims[cpu]->buffer;
}
