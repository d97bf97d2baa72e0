/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCG plugin for an arm64 guest: pages of its memory are the registers of CoreSight, behind which
 * are the models of tests/model/. A guest's store is seen right behind it, and what registers then
 * read as is put into the page, before the next instruction. Each unit that traces gives bytes that
 * count, not trace: what arrives where is what is looked at.
 *
 * ram=FILE: the guest's memory; out=DIR: DIR/access has each access, barrier and broken rule,
 * DIR/bytes-N what the n-th capture was given. way=on: both units lead into a funnel, behind which
 * a replicator has both controllers (nodes-way.dts); else each unit has one of its own. trace=on:
 * what units give is trace, always the same, in frames.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/model/etm4_model.h"
#include "tests/model/link_model.h"
#include "tests/model/tmc_model.h"
#include "tests/oracle/qemu_plugin.h"

int qemu_plugin_version __attribute__((visibility("default"))) = 1;

#define RAM_BASE	0x40000000ull
#define RAM_BYTES	(512ull << 20)
#define UNITS_BASE	0x5f000000ull	/* a page each: etm0, etr, etm1, etb, funnel, replicator */
#define FUNNEL		4
#define REPLICATOR	5
#define UNITS		6
#define PAGE		4096u
#define LOG_BYTES	(8u << 20)
#define GIVEN		48		/* bytes for each access while a unit traces */
#define PIECE		32		/* bytes of trace, two frames */

static struct etm4_model etm[2];
static struct tmc_model tmc[2];
static struct link_model lnk[2];
static bool way, real;
static uint8_t *ram, etb_mem[8192], *bytes[2];
static const char *dir = ".";
static FILE *out;
static unsigned int captures, accesses, touching;
static uint8_t next_byte;

static uint32_t *page(unsigned int unit)
{
	return (uint32_t *)(ram + (UNITS_BASE - RAM_BASE) + unit * PAGE);
}

static const char *name_of(unsigned int unit)
{
	static const char *const name[UNITS] = { "etm0", "tmc0", "etm1", "tmc1", "funnel",
		"replicator" };

	return name[unit];
}

static struct rules *rules_of(unsigned int unit)
{
	return unit >= FUNNEL ? &lnk[unit - FUNNEL].rules :
		unit & 1 ? &tmc[unit / 2].rules : &etm[unit / 2].rules;
}

static const uint32_t *now_of(unsigned int unit)
{
	return unit >= FUNNEL ? lnk[unit - FUNNEL].now :
		unit & 1 ? tmc[unit / 2].now : etm[unit / 2].now;
}

static bool is_on(unsigned int unit)
{
	if (unit >= FUNNEL)
		return lnk[unit - FUNNEL].ours || (unit == FUNNEL && lnk[0].now[0] & 0xff);
	return unit & 1 ? tmc[unit / 2].capture : etm[unit / 2].now[1] & 1;
}

static void tell(struct rules *r, unsigned int rule, unsigned int where)
{
	fprintf(out, "BROKEN %s 0x%03x %s\n", touching >= FUNNEL ? "LNK" : touching & 1 ? "TMC" :
		"ETM", where, r->text[rule]);
}

static void show(unsigned int unit)
{
	memcpy(page(unit), now_of(unit), PAGE);
}

static void save_capture(unsigned int i)
{
	char name[4096];
	FILE *f;

	snprintf(name, sizeof(name), "%s/bytes-%u", dir, captures++);
	f = fopen(name, "w");
	if (f && fwrite(tmc[i].k.log, 1, tmc[i].k.logged, f) == tmc[i].k.logged && !fclose(f))
		fprintf(out, "CAPTURE %u %s %" PRIu64 "\n", captures - 1, i ? "etb" : "etr",
			tmc[i].k.logged);
	tmc[i].k.logged = 0;
}

static void behind_funnel(void *arg, uint32_t port, uint32_t id, const uint8_t *p, uint32_t n)
{
	link_model_trace(&lnk[1], 0, id, p, n);
}

static void behind_replicator(void *arg, uint32_t port, uint32_t id, const uint8_t *p, uint32_t n)
{
	/* an output that nobody takes from */
	if (tmc[port].capture)
		tmc_model_trace(&tmc[port], p, n);
}

/*
 * Alignment, trace info, trace on, an address with its context (EL0, 64 bits, non-secure), three
 * atoms (IHI 0064, chapter 6), in two frames of which the first begins with the id (IHI 0029,
 * "Formatter"): bytes 0, 2... of a frame have their lowest bit in its last one.
 */
static void piece(unsigned int i, uint8_t *f)
{
	uint8_t t[29] = { [11] = 0x80, 0x01, 0x01, 0x00, 0x04, 0x85, 0, (uint8_t)(i << 3), 0x40,
		[25] = 0x30, 0xf7, 0xf6, 0xf7 };
	unsigned int at = 0;

	memset(f, 0, PIECE);
	for (unsigned int k = 0; k < PIECE; k++) {
		bool even = !(k & 1);

		if (k % 16 == 15)
			continue;
		if (!k) {
			f[k] = (uint8_t)(etm[i].now[0x040 / 4] << 1 | 1);
			continue;
		}
		f[k] = even ? t[at] & 0xfe : t[at];
		f[k | 15] |= even ? (uint8_t)((t[at] & 1) << k % 16 / 2) : 0;
		at++;
	}
}

/* What the unit traces goes where it is wired to. */
static void trace(unsigned int i)
{
	const struct etm4_model *m = &etm[i];
	uint8_t b[GIVEN];

	if (!(m->now[1] & 1) || m->idle)
		return;
	if (real) {
		piece(i, b);
		tmc_model_trace(&tmc[i], b, PIECE);
		/* Linux takes an ETB that goes over its end for one that lost trace */
		if (!i)
			tmc_model_trace(&tmc[i], b, PIECE);
		return;
	}
	for (unsigned int k = 0; k < GIVEN; k++)
		b[k] = next_byte++ & 0x7f;
	if (way)
		link_model_trace(&lnk[0], i, m->now[0x040 / 4], b, GIVEN);
	else
		tmc_model_trace(&tmc[i], b, GIVEN);
}

/* A flush goes up the way first. */
static void write_unit(unsigned int unit, uint32_t reg, uint32_t v)
{
	if (unit >= FUNNEL) {
		link_model_write(&lnk[unit - FUNNEL], reg, v);
	} else if (unit & 1) {
		if (way && reg == 0x304 && v & 0x40)
			link_model_flush(&lnk[0]);
		tmc_model_write(&tmc[unit / 2], reg, v);
	} else {
		etm4_model_write(&etm[unit / 2], reg, v);
	}
}

static void read_unit(unsigned int unit, uint32_t reg)
{
	if (unit >= FUNNEL)
		link_model_read(&lnk[unit - FUNNEL], reg);
	else if (unit & 1)
		tmc_model_read(&tmc[unit / 2], reg);
	else
		etm4_model_read(&etm[unit / 2], reg);
}

static void one(unsigned int unit, uint32_t reg, bool store, uint32_t v)
{
	bool was[2] = { tmc[0].capture, tmc[1].capture };

	fprintf(out, "%s %s 0x%03x %08x\n", store ? "W" : "R", name_of(unit), reg, v);
	touching = unit;
	if (store)
		write_unit(unit, reg, v);
	else
		read_unit(unit, reg);
	accesses++;
	if (way) {
		trace(0);
		trace(1);
	} else if (unit < FUNNEL) {
		trace(unit / 2);
	}
	for (unsigned int i = 0; i < UNITS; i++)
		show(i);
	for (unsigned int i = 0; i < 2; i++)
		if (was[i] && !tmc[i].capture)
			save_capture(i);
}

static void on_memory(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t va, void *arg)
{
	bool store = qemu_plugin_mem_is_store(info);
	uint32_t reg, lo, hi;
	struct qemu_plugin_hwaddr *h;
	unsigned int unit;
	uint64_t at;

	/* not in the kernel's map of all memory, where nobody knows of these pages */
	if (va < 0xffff800000000000ull)
		return;
	h = qemu_plugin_get_hwaddr(info, va);
	if (!h || qemu_plugin_hwaddr_is_io(h))
		return;
	at = qemu_plugin_hwaddr_phys_addr(h) - UNITS_BASE;
	if (at >= UNITS * PAGE)
		return;
	unit = (unsigned int)(at / PAGE);
	reg = at % PAGE & ~3u;
	lo = page(unit)[reg / 4];
	hi = page(unit)[(reg / 4 + 1) % 1024];
	one(unit, reg, store, lo);
	if (qemu_plugin_mem_size_shift(info) == 3)
		one(unit, reg + 4, store, store ? hi : page(unit)[reg / 4 + 1]);
}

static void on_barrier(unsigned int cpu, void *arg)
{
	etm4_model_barrier(&etm[0], (enum hwreg_barrier)(uintptr_t)arg);
	etm4_model_barrier(&etm[1], (enum hwreg_barrier)(uintptr_t)arg);
}

static int barrier_of(uint32_t word)
{
	if (word == 0xd503225f)
		return HWREG_TRACE;
	if (word == 0xd5033fdf)
		return HWREG_CONTEXT;
	return (word & 0xfffff0ff) == 0xd503309f ? HWREG_MEMORY : -1;
}

/* client.c says that something else begins. */
static void on_mark(unsigned int cpu, void *arg)
{
	fprintf(out, "MARK\n");
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	bool kernel = qemu_plugin_tb_vaddr(tb) >> 63;

	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(tb, i);
		uint32_t word;
		int kind;

		memcpy(&word, qemu_plugin_insn_data(in), 4);
		if (word == 0xd2890aff)
			qemu_plugin_register_vcpu_insn_exec_cb(in, on_mark,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		if (!kernel)
			continue;
		kind = barrier_of(word);
		if (kind >= 0)
			qemu_plugin_register_vcpu_insn_exec_cb(in, on_barrier,
				QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)kind);
		qemu_plugin_register_vcpu_mem_cb(in, on_memory, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
	}
}

static void end(qemu_plugin_id_t id, void *arg)
{
	for (unsigned int unit = 0; unit < UNITS; unit++)
		fprintf(out, "END %s rules broken %u, %s\n", name_of(unit), rules_of(unit)->total,
			is_on(unit) ? "on" : "off");
	fprintf(out, "END %u accesses\n", accesses);
	fclose(out);
}

/* What AMBA drivers are found by: PIDR and CIDR. */
static void identify(uint32_t *now, uint32_t part)
{
	static const uint16_t at[] = { 0xfe4, 0xfe8, 0xfec, 0xff0, 0xff4, 0xff8, 0xffc };
	static const uint32_t ids[] = { 0xb9, 0x0b, 0, 0x0d, 0x90, 0x05, 0xb1 };

	now[0xfd0 / 4] = 4;
	now[0xfe0 / 4] = part;
	for (unsigned int k = 0; k < 7; k++)
		now[at[k] / 4] = ids[k];
	now[0xfb8 / 4] = 0xff;
}

static void build_way(void)
{
	static const struct link_unit u[2] = {
		{ .ports = 2, .soft_lock = true, .power_known = true, .claims = 0xf,
		  .found = 0x300 },
		{ .replicator = true, .ports = 2, .soft_lock = true, .power_known = true,
		  .claims = 0xf } };

	for (unsigned int i = 0; i < 2; i++) {
		link_model_init(&lnk[i], &u[i]);
		lnk[i].out = i ? behind_replicator : behind_funnel;
		identify(lnk[i].now, i ? 0x09 : 0x08);	/* parts 0x909, 0x908 */
	}
}

/* As Arm's Juno has them; statuses come some accesses late. */
static void build(void)
{
	static const struct etm4_unit e = {
		.id = { 0x28000ea1, 0x4100f403, 0x00000488, 0x0d7b0004, 0x11170004, 0x28c70824 },
		.soft_lock = true, .os_lock = ETM4_OSLOCK_UNIT, .claims = 0xf,
		.power_known = true, .idle_delay = 3, .stable_delay = 2, .start_delay = 2,
	};
	static const struct tmc_unit etr = { .kind = TMC_IS_ETR, .soft_lock = true,
		.power_known = true, .width_log2 = 3, .claims = 0xf, .address_bits = 40,
		.flush_delay = 3, .ready_delay = 3 };
	static const struct tmc_unit etb = { .kind = TMC_IS_ETB, .soft_lock = true,
		.power_known = true, .width_log2 = 4, .claims = 0xf, .ram_bytes = sizeof(etb_mem),
		.flush_delay = 3, .ready_delay = 3 };

	for (unsigned int i = 0; i < 2; i++) {
		etm4_model_init(&etm[i], &e, 5 + i);
		if (i)
			tmc_model_init(&tmc[i], &etb, etb_mem, 0, 0);
		else
			tmc_model_init(&tmc[i], &etr, ram, RAM_BASE, RAM_BYTES);
		tmc_model_log(&tmc[i], bytes[i], LOG_BYTES);
		identify(etm[i].now, 0x5a);	/* of Cortex-A57 */
		identify(tmc[i].now, tmc[i].now[0xfe0 / 4]);
	}
	build_way();
	for (unsigned int unit = 0; unit < UNITS; unit++) {
		rules_of(unit)->tell = tell;
		show(unit);
	}
}

__attribute__((visibility("default")))
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *file = "ram";
	char name[4096];
	int fd;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "ram=", 4))
			file = argv[i] + 4;
		if (!strncmp(argv[i], "out=", 4))
			dir = argv[i] + 4;
		way |= !strcmp(argv[i], "way=on");
		real |= !strcmp(argv[i], "trace=on");
	}
	snprintf(name, sizeof(name), "%s/access", dir);
	out = fopen(name, "w");
	fd = open(file, O_RDWR);
	if (!out || fd < 0)
		return 1;
	ram = mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bytes[0] = malloc(LOG_BYTES);
	bytes[1] = malloc(LOG_BYTES);
	if (ram == MAP_FAILED || !bytes[0] || !bytes[1])
		return 1;
	build();
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, end, NULL);
	return 0;
}
