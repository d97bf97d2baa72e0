/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU TCG plugin: writes what each CPU of a guest ran, user and kernel, between two marker
 * instructions (marker.h). Format and ways: README.md. Longer than other files: a plugin is one
 * object, and how registers and traps of both architectures are read goes through all of it.
 *
 * Every instruction calls back before it runs. A trap is seen as the block of its handler begins:
 * handlers are known from the CPU's own vectors, and where the flow was interrupted from the frame
 * on the stack (x86) or from ELR_EL1 as the kernel reads it (Arm). Registers are read through
 * functions that Debian's build exports; without them the plugin refuses to load.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../qemu_plugin.h"
#include "../recorder.h"

#define CPUS		16
#define GATES		256	/* of the IDT */
#define SLOTS		1024	/* more than gates */
#define NUMBER		10	/* bytes of the longest LEB128 */

enum { BOOT, ARMED, ON, OFF };

/* MSR and MRS with Xt = 0 (DDI 0487 C5.2, D13.2), and what each is to us. */
enum { W_CONTEXTIDR = 1, W_VBAR, W_TTBR0, W_TPIDR, W_REGS };
static const uint32_t msr[W_REGS] = {
	[W_CONTEXTIDR] = 0xd518d020, [W_VBAR] = 0xd518c000, [W_TTBR0] = 0xd5182000,
	[W_TPIDR] = 0xd51bd040,
};
#define MRS_ELR		0xd5384020u
#define MRS_ESR		0xd5385200u

/* @thread: the register that programs find their thread by, of who ran user code last. */
struct context { uint64_t aspace, table, thread; unsigned level; };

struct cpu {
	struct out o;
	int open, ended;
	void *qemu;
	const struct blk *cur;
	uint32_t done;			/* instructions of @cur that were begun */
	uint64_t tick, blocks;
	struct context ctx;
	uint64_t written[W_REGS];	/* Arm: last value of each register */
	/* Arm: where in @o the trap is told, and its address will be; 0: none waits */
	size_t trap_at, elr_at;
	size_t kind_at;			/* where its kind is told that ESR_EL1 says, 0: none */
	int elr_reg, esr_reg;		/* read at the next block, or -1 */
};

struct regs { uint8_t *data; unsigned len; };	/* GByteArray */
struct gate { uint64_t addr; unsigned vector; };

static struct {
	qemu_plugin_id_t id;
	volatile int phase;
	int arm;
	uint64_t max;
	struct cpu cpu[CPUS];
	struct gate gate[SLOTS];
	pthread_mutex_t idt;		/* of @gate, while it is filled */
	int idt_read;
	void *(*get_cpu)(int);
	int (*read_reg)(void *, struct regs *, int);
	struct regs *(*array_new)(void);
	struct regs *(*array_size)(struct regs *, unsigned);
	int (*read_mem)(void *cpu, uint64_t addr, void *p, uint64_t n, int write);
	void (*dump)(void *cpu, FILE *f, int flags);
	int64_t (*ticks)(void);
	int64_t (*clock_ns)(int);
	FILE *export;			/* what the guest hands over; NULL: nobody wants it */
} g = { .idt = PTHREAD_MUTEX_INITIALIZER };

static uint64_t reg(const struct cpu *c, int number)
{
	static __thread struct regs *a;
	uint64_t v = 0;

	if (!a)
		a = g.array_new();
	g.array_size(a, 0);
	g.read_reg(c->qemu, a, number);
	memcpy(&v, a->data, a->len < 8 ? a->len : 8);
	return v;
}

static struct gate *gate_at(uint64_t addr)
{
	size_t i = addr * 0x9e3779b97f4a7c15 >> 54;

	while (g.gate[i].addr && g.gate[i].addr != addr)
		i = (i + 1) % SLOTS;
	return &g.gate[i];
}

/* Intel SDM vol. 3, "64-Bit Mode IDT". All CPUs of Linux have the same. */
static void read_idt(const struct cpu *c)
{
	static uint8_t idt[GATES * 16];
	unsigned long long base = 0;
	char *text = NULL, *at;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (f) {
		g.dump(c->qemu, f, 0);
		fclose(f);
		at = strstr(text, "IDT=");
		base = at ? strtoull(at + 4, NULL, 16) : 0;
		free(text);
	}
	if (!base || g.read_mem(c->qemu, base, idt, sizeof(idt), 0)) {
		recorder_fail("the interrupt descriptor table can not be read");
		return;
	}
	for (unsigned i = 0; i < GATES; i++) {
		const uint8_t *p = idt + i * 16;
		uint64_t addr = (uint64_t)p[0] | (uint64_t)p[1] << 8;

		for (unsigned k = 6; k < 12; k++)
			addr |= (uint64_t)p[k] << (k - 4) * 8;
		if (addr)
			*gate_at(addr) = (struct gate){ addr, i };
	}
}

static uint64_t now(void)
{
	return (uint64_t)(g.arm ? g.clock_ns(1) : g.ticks());
}

static void put_event(struct cpu *c, unsigned what)
{
	recorder_put(&c->o, REC_T_EVENT);
	recorder_put(&c->o, what);
}

/* A number of fixed size in what waits to be written. */
static void put_fixed(struct cpu *c, size_t at, uint64_t v)
{
	for (unsigned i = 0; i < NUMBER; i++, v >>= 7)
		c->o.buf[at + i] = (uint8_t)(v & 127) | (i < NUMBER - 1 ? 128 : 0);
}

static void put_left(struct cpu *c)
{
	if (c->cur && c->done < c->cur->n) {
		put_event(c, REC_LEFT);
		recorder_put(&c->o, c->done);
	}
}

static void cpu_end(struct cpu *c)
{
	if (!c->open)
		return;
	if (c->elr_at)		/* nobody read where it was */
		c->o.n = c->trap_at;
	else
		put_left(c);
	put_event(c, REC_END);
	recorder_flush(&c->o);
	c->open = 0;
	c->ended = 1;
}

static void put_trap(struct cpu *c, unsigned kind, unsigned level)
{
	put_event(c, REC_TRAP);
	recorder_put(&c->o, kind);
	recorder_put(&c->o, level);
}

static unsigned x86_kind(unsigned vector)
{
	switch (vector) {
	case 1: case 3: return MODEL_TRAP_DEBUG;
	case 2: return MODEL_TRAP_NMI;
	case 6: return MODEL_TRAP_UNDEFINED;
	case 14: return MODEL_TRAP_DATA_FAULT;
	default: return vector < 32 ? MODEL_TRAP_OTHER : MODEL_TRAP_IRQ;
	}
}

/*
 * Intel SDM vol. 3, "64-Bit Mode Stack Frame": the frame is aligned to 16 bytes, so its size tells
 * whether an error code lies before RIP and CS.
 */
static void x86_trap(struct cpu *c, const struct blk *b)
{
	const struct gate *gate = gate_at(b->first);
	uint64_t rsp, frame[2];

	if (!gate->addr || !c->cur)
		return;
	rsp = reg(c, 7);
	if (g.read_mem(c->qemu, rsp & 15 ? rsp : rsp + 8, frame, sizeof(frame), 0)) {
		recorder_fail("the frame of a trap can not be read");
		return;
	}
	put_trap(c, x86_kind(gate->vector), frame[1] & 3);
	recorder_put(&c->o, frame[0]);
}

/* DDI 0487, "Exception vectors": 0x200 same level, 0x400 from the lower one; four kinds each. */
static void arm_trap(struct cpu *c, const struct blk *b)
{
	static const uint8_t kinds[] = { MODEL_TRAP_DATA_FAULT, MODEL_TRAP_IRQ, MODEL_TRAP_NMI,
					 MODEL_TRAP_OTHER };
	uint64_t off = b->first - c->written[W_VBAR];

	if (!c->written[W_VBAR] || off >= 0x800 || off & 0x7f || !c->cur)
		return;
	if (c->elr_at) {
		recorder_fail("a trap in a trap whose address nobody read");
		return;
	}
	c->trap_at = c->o.n;
	put_trap(c, kinds[off >> 7 & 3], off < 0x400);
	c->kind_at = off & 0x180 ? 0 : c->o.n - 2;
	c->elr_at = c->o.n;
	c->elr_reg = -1;
	c->o.n += NUMBER;
	put_fixed(c, c->elr_at, 0);
}

static void elr_is(struct cpu *c, int xt)
{
	if (c->elr_at)
		put_fixed(c, c->elr_at, xt == 31 ? 0 : reg(c, xt));
	c->elr_at = 0;
	c->elr_reg = -1;
}

/* DDI 0487, ESR_ELx.EC, bits 26 to 31. */
static unsigned arm_kind(uint64_t esr)
{
	switch (esr >> 26 & 63) {
	case 0x20: case 0x21: return MODEL_TRAP_INST_FAULT;
	case 0x24: case 0x25: return MODEL_TRAP_DATA_FAULT;
	case 0x30: case 0x31: case 0x32: case 0x33: case 0x34: case 0x35: case 0x3c:
		return MODEL_TRAP_DEBUG;
	case 0x15: return MODEL_TRAP_OTHER;	/* SVC, which tells itself */
	default: return MODEL_TRAP_UNDEFINED;
	}
}

static void esr_is(struct cpu *c, int xt)
{
	if (c->kind_at && xt != 31)
		c->o.buf[c->kind_at] = (uint8_t)arm_kind(reg(c, xt));
	c->kind_at = 0;
	c->esr_reg = -1;
}

static void put_context(struct cpu *c)
{
	struct context x;
	unsigned user;

	if (g.arm) {
		x.aspace = c->written[W_CONTEXTIDR];
		x.table = c->written[W_TTBR0] & 0xfffffffffffe;	/* without ASID and CnP */
		x.level = reg(c, 33) >> 2 & 3;	/* PSTATE.EL */
		user = 0;
	} else {
		x.aspace = x.table = reg(c, 29);	/* CR3 */
		x.level = reg(c, 18) & 3;		/* CS */
		user = 3;
	}
	x.thread = c->ctx.thread;
	/* the kernel sets it when it likes, if only in time */
	if (x.level == user)
		x.thread = g.arm ? c->written[W_TPIDR] : reg(c, 24);	/* FS base */
	if (c->cur && x.aspace == c->ctx.aspace && x.table == c->ctx.table &&
	    x.level == c->ctx.level && x.thread == c->ctx.thread)
		return;
	c->ctx = x;
	put_event(c, REC_CONTEXT);
	recorder_put(&c->o, x.aspace);
	recorder_put(&c->o, x.level);
	recorder_put(&c->o, x.table);
	recorder_put(&c->o, x.thread);
}

static void put_tick(struct cpu *c)
{
	uint64_t t = now();

	if (t <= c->tick)
		return;
	put_event(c, REC_TICK);
	recorder_put(&c->o, t - c->tick);
	c->tick = t;
}

static void cpu_begin(struct cpu *c, unsigned vcpu)
{
	c->o.number = vcpu;
	c->open = 1;
	if (g.arm)
		return;
	/* whichever CPU is the first: it may be interrupted before the others ran anything */
	pthread_mutex_lock(&g.idt);
	if (!g.idt_read)
		read_idt(c);
	g.idt_read = 1;
	pthread_mutex_unlock(&g.idt);
}

static void on_block(unsigned vcpu, void *arg)
{
	const struct blk *b = arg;
	struct cpu *c = &g.cpu[vcpu];

	if (g.phase < ON || c->ended || recorder_failed())
		return;
	if (g.phase == OFF || c->blocks == g.max) {
		cpu_end(c);
		return;
	}
	c->qemu = g.get_cpu((int)vcpu);
	if (!c->open)
		cpu_begin(c, vcpu);
	put_left(c);
	if (c->elr_reg >= 0)
		elr_is(c, c->elr_reg);
	if (c->esr_reg >= 0)
		esr_is(c, c->esr_reg);
	if (g.arm)
		arm_trap(c, b);
	else
		x86_trap(c, b);
	put_context(c);
	put_tick(c);
	recorder_put(&c->o, (uint64_t)b->id * 2 + REC_T_MORE + 1);
	c->cur = b;
	c->done = 0;
	c->blocks++;
	if (c->o.n >= RECORDER_CHUNK && !c->elr_at && !c->kind_at)
		recorder_flush(&c->o);
	else if (c->o.n > sizeof(c->o.buf) - 256)
		recorder_fail("a trap whose address nobody reads");
}

static void on_insn(unsigned vcpu, void *arg)
{
	g.cpu[vcpu].done = (uint32_t)(uintptr_t)arg;
}

/* The kernel has read ELR_EL1 (ESR_EL1) into a register. */
static void on_elr(unsigned vcpu, void *arg)
{
	if (g.phase == ON)
		elr_is(&g.cpu[vcpu], (int)(uintptr_t)arg);
}

static void on_elr_last(unsigned vcpu, void *arg)
{
	g.cpu[vcpu].elr_reg = (int)(uintptr_t)arg;
}

static void on_esr(unsigned vcpu, void *arg)
{
	if (g.phase == ON)
		esr_is(&g.cpu[vcpu], (int)(uintptr_t)arg);
}

static void on_esr_last(unsigned vcpu, void *arg)
{
	g.cpu[vcpu].esr_reg = (int)(uintptr_t)arg;
}

static void on_msr(unsigned vcpu, void *arg)
{
	struct cpu *c = &g.cpu[vcpu];
	uintptr_t v = (uintptr_t)arg;

	c->qemu = g.get_cpu((int)vcpu);
	c->written[v >> 8] = (v & 31) == 31 ? 0 : reg(c, v & 31);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
static void on_exit_all(qemu_plugin_id_t id, void *arg);

static void on_reset(qemu_plugin_id_t id)
{
	g.phase = ON;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_all, NULL);
}

/* First argument: where; second: how many bytes (marker.h). */
static void take_export(unsigned vcpu)
{
	struct cpu *c = &g.cpu[vcpu];
	uint64_t at, left;
	uint8_t buf[4096];

	c->qemu = g.get_cpu((int)vcpu);
	at = reg(c, g.arm ? 0 : 5);
	left = reg(c, g.arm ? 1 : 4);
	while (g.export && left) {
		size_t n = left < sizeof(buf) ? left : sizeof(buf);

		if (g.read_mem(c->qemu, at, buf, n, 0) || fwrite(buf, n, 1, g.export) != 1) {
			recorder_fail("what the guest exports can not be had");
			return;
		}
		at += n;
		left -= n;
	}
}

/* What is recorded is translated anew, with all callbacks. */
static void on_marker(unsigned vcpu, void *arg)
{
	if ((uintptr_t)arg == 3) {
		take_export(vcpu);
		return;
	}
	if ((uintptr_t)arg == 1 && g.phase == BOOT) {
		g.phase = ARMED;
		qemu_plugin_reset(g.id, on_reset);
	} else if ((uintptr_t)arg == 2 && g.phase == ON) {
		g.phase = OFF;
	}
}

/* QEMU has no PTWRITE: this one, which does nothing, is recorded as "ptwrite %rax" (marker.h). */
static const uint8_t value_nop[] = { 0x0f, 0x1f, 0x44, 0x00, 'W' };
static const uint8_t ptwrite_rax[] = { 0xf3, 0x48, 0x0f, 0xae, 0xe0 };

static int is_value(const uint8_t *p, size_t n)
{
	return !g.arm && n == sizeof(value_nop) && !memcmp(p, value_nop, n);
}

static void on_value(unsigned vcpu, void *arg)
{
	struct cpu *c = &g.cpu[vcpu];

	if (g.phase != ON || !c->open)
		return;
	c->qemu = g.get_cpu((int)vcpu);
	put_event(c, REC_VALUE);
	recorder_put(&c->o, reg(c, 0));		/* RAX */
}

static unsigned marker(const uint8_t *p, size_t n)
{
	uint32_t w;

	if (!g.arm)
		return n == 8 && !memcmp(p, "\x0f\x1f\x84\0HWT", 7) && p[7] < 4 ? p[7] : 0;
	memcpy(&w, p, 4);
	for (unsigned k = 1; k < 4; k++)
		if (w == 0xd280001f + ((0x4856 + k) << 5))
			return k;
	return 0;
}

/* Arm: registers whose values we must know. */
static void watch_regs(struct qemu_plugin_tb *tb, size_t i, size_t n, const uint8_t *p)
{
	struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(tb, i);
	uint32_t w;
	uintptr_t xt;
	int elr;

	memcpy(&w, p, 4);
	xt = w & 31;
	for (uintptr_t k = 1; k < W_REGS; k++) {
		if ((w & ~31u) == msr[k])
			qemu_plugin_register_vcpu_insn_exec_cb(in, on_msr,
				QEMU_PLUGIN_CB_R_REGS, (void *)(k << 8 | xt));
	}
	if (((w & ~31u) != MRS_ELR && (w & ~31u) != MRS_ESR) || g.phase != ON)
		return;
	elr = (w & ~31u) == MRS_ELR;
	if (i + 1 < n)
		qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i + 1),
						       elr ? on_elr : on_esr,
						       QEMU_PLUGIN_CB_R_REGS, (void *)xt);
	else
		qemu_plugin_register_vcpu_insn_exec_cb(in, elr ? on_elr_last : on_esr_last,
						       QEMU_PLUGIN_CB_NO_REGS, (void *)xt);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), bytes, room = 0;
	struct blk *b;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		room += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
	b = malloc(sizeof(*b) + n + room);
	if (!b) {
		recorder_fail("no memory");
		return;
	}
	*b = (struct blk){ .first = qemu_plugin_tb_vaddr(tb), .n = (uint32_t)n,
			   .isa = g.arm ? MODEL_A64 : MODEL_X86_64 };
	bytes = n;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(tb, i);
		const uint8_t *p = qemu_plugin_insn_data(in);
		size_t size = qemu_plugin_insn_size(in);
		uintptr_t mark = marker(p, size);

		b->data[i] = (uint8_t)size;
		memcpy(b->data + bytes, is_value(p, size) ? ptwrite_rax : p, size);
		bytes += size;
		if (g.phase == ON && is_value(p, size))
			qemu_plugin_register_vcpu_insn_exec_cb(in, on_value,
				QEMU_PLUGIN_CB_R_REGS, NULL);
		if (mark)
			qemu_plugin_register_vcpu_insn_exec_cb(in, on_marker,
				QEMU_PLUGIN_CB_R_REGS, (void *)mark);
		if (g.arm)
			watch_regs(tb, i, n, p);
		if (g.phase == ON)
			qemu_plugin_register_vcpu_insn_exec_cb(in, on_insn,
				QEMU_PLUGIN_CB_NO_REGS, (void *)(i + 1));
	}
	b->nbytes = (uint32_t)(bytes - n);
	if (g.phase != ON) {
		free(b);
		return;
	}
	b = recorder_intern(b);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_R_REGS, b);
}

static void on_exit_all(qemu_plugin_id_t id, void *arg)
{
	if (g.phase < ON)
		recorder_fail("the guest has not come to its marker");
	for (unsigned i = 0; i < CPUS; i++)
		cpu_end(&g.cpu[i]);
	recorder_close();
	if (g.export && fclose(g.export))
		recorder_fail("what the guest exports can not be written");
	g.export = NULL;
}

static int find_symbols(void)
{
	g.get_cpu = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
	g.read_reg = dlsym(RTLD_DEFAULT, g.arm ? "aarch64_cpu_gdb_read_register" :
			   "x86_cpu_gdb_read_register");
	g.array_new = dlsym(RTLD_DEFAULT, "g_byte_array_new");
	g.array_size = dlsym(RTLD_DEFAULT, "g_byte_array_set_size");
	g.read_mem = dlsym(RTLD_DEFAULT, "cpu_memory_rw_debug");
	g.dump = dlsym(RTLD_DEFAULT, "cpu_dump_state");
	g.ticks = dlsym(RTLD_DEFAULT, "cpus_get_elapsed_ticks");
	g.clock_ns = dlsym(RTLD_DEFAULT, "qemu_clock_get_ns");
	return g.get_cpu && g.read_reg && g.array_new && g.array_size && g.read_mem && g.dump &&
		g.ticks && g.clock_ns;
}

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((visibility("default")))
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *out = NULL, *export = NULL;

	g.id = id;
	g.max = UINT64_MAX;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = argv[i] + 4;
		else if (!strncmp(argv[i], "max=", 4))
			g.max = strtoull(argv[i] + 4, NULL, 0);
		else if (!strncmp(argv[i], "export=", 7))
			export = argv[i] + 7;
		else
			recorder_fail("unknown argument; there are out= max= export=");
	}
	g.arm = !strcmp(info->target_name, "aarch64");
	if (!out)
		recorder_fail("out=FILE is missing");
	else if (!info->system_emulation)
		recorder_fail("systems are recorded, not programs");
	else if (!g.arm && strcmp(info->target_name, "x86_64"))
		recorder_fail("only x86_64 and aarch64 guests are recorded");
	else if (!find_symbols())
		recorder_fail("this QEMU does not export what is needed to read registers");
	if (recorder_failed())
		return 1;
	for (unsigned i = 0; i < CPUS; i++)
		g.cpu[i].elr_reg = g.cpu[i].esr_reg = -1;
	if (export) {
		g.export = fopen(export, "wb");
		if (!g.export) {
			recorder_fail("the export file can not be made");
			return 1;
		}
	}
	if (recorder_open(out, g.arm ? MODEL_A64 : MODEL_X86_64, REC_GUEST))
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_all, NULL);
	return 0;
}
