/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU TCG plugin: writes what each thread of an emulated program ran (format: README.md).
 *
 * Every instruction calls back before it runs, so where a block was left is exact. A signal is seen
 * as its handler is entered: handlers are known from the program's own system calls, and the
 * interrupted address is read from the frame that the emulator, as a kernel would, left on the
 * stack. The registers are read through functions that Debian's build exports; without them the
 * plugin refuses to load.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"
#include "recorder.h"

#define THREADS		1024
#define HANDLERS	64
#define NONE		UINT32_MAX

struct thread {
	int open;
	const struct blk *cur;
	uint32_t done;		/* instructions of @cur that were begun */
	uint64_t run, blocks;	/* blocks guessed right in a row; all blocks */
	uint32_t (*succ)[2];	/* by block, the last two that followed it */
	uint32_t nsucc;
	struct out o;		/* numbers of the emulator are used again, its are not */
};

struct regs { uint8_t *data; unsigned len; };	/* GByteArray */
struct handler { uint64_t addr, restorer; int info; };

static struct {
	struct thread *t[THREADS];
	uint64_t skip, max, from, to;
	int on, isa;
	uint64_t handler_bits;	/* a bit for each handler's hash */
	struct handler handlers[HANDLERS];
	unsigned nhandlers;
	const uintptr_t *guest_base;
	const uint64_t *default_return;
	void *(*get_cpu)(int);
	int (*read_reg)(void *, struct regs *, int);
	struct regs *(*array_new)(void);
	struct regs *(*array_size)(struct regs *, unsigned);
} g = { .from = UINT64_MAX, .to = UINT64_MAX };

static void put_run(struct thread *t)
{
	if (t->run)
		recorder_put(&t->o, (t->run - 1) * 2 + REC_T_MORE);
	t->run = 0;
}

/* The block that runs now: a guess that was right costs nothing until it ends. */
static void put_block(struct thread *t, uint32_t id)
{
	uint32_t last = t->cur ? t->cur->id : 0, *s;

	if (last >= t->nsucc) {
		uint32_t n = last * 2 + 4096;
		uint32_t (*p)[2] = realloc(t->succ, n * sizeof(*p));

		if (!p) {
			recorder_fail("no memory");
			return;
		}
		memset(p + t->nsucc, 255, (n - t->nsucc) * sizeof(*p));
		t->succ = p;
		t->nsucc = n;
	}
	s = t->succ[last];
	if (s[0] == id) {
		t->run++;
		return;
	}
	put_run(t);
	recorder_put(&t->o, s[1] == id ? REC_T_SECOND : (uint64_t)id * 2 + REC_T_MORE + 1);
	s[1] = s[0];
	s[0] = id;
}

/* Instructions of the last block that were begun, if that was not all of them. */
static void put_left(struct thread *t)
{
	if (t->cur && t->done < t->cur->n) {
		put_run(t);
		recorder_put(&t->o, REC_T_EVENT);
		recorder_put(&t->o, REC_LEFT);
		recorder_put(&t->o, t->done);
	}
}

static uint64_t reg(void *cpu, int number)
{
	static __thread struct regs *a;
	uint64_t v = 0;

	if (!a)
		a = g.array_new();
	g.array_size(a, 0);
	g.read_reg(cpu, a, number);
	memcpy(&v, a->data, a->len < 8 ? a->len : 8);
	return v;
}

/* Memory of the program, which shares the emulator's address space. */
static uint64_t peek(uint64_t addr, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, (void *)(*g.guest_base + addr), n);
	return v;
}

static const struct handler *handler_at(uint64_t addr)
{
	if (!(g.handler_bits >> (addr * 0x9e3779b97f4a7c15 >> 58) & 1))
		return NULL;
	for (unsigned i = 0; i < g.nhandlers; i++) {
		if (g.handlers[i].addr == addr)
			return &g.handlers[i];
	}
	return NULL;
}

/* Where the stack pointer, link register and PC are in the frame of a signal. */
struct frame { uint64_t at, link; };

static uint64_t saved(const struct frame *f, const struct handler *h, unsigned what)
{
	/* Linux struct rt_sigframe; sp, lr, pc. x86-64 has the return address at the frame */
	static const uint16_t x86[] = { 168, 0, 176 }, a64[] = { 560, 552, 568 };
	static const uint16_t a32[] = { 84, 88, 92 };

	if (g.isa == MODEL_X86_64)
		return peek(f->at + x86[what], 8);
	if (g.isa == MODEL_A64)
		return peek(f->at + a64[what], 8);
	return peek(f->at + (h->info ? 128 : 0) + a32[what], 4);
}

static int is_frame(const struct frame *f, const struct handler *h)
{
	uint64_t back = f->link & ~1ull, page = g.default_return ? *g.default_return >> 12 : 0;

	/* on Arm the emulator's own return code has several entries in one page */
	if (g.isa == MODEL_A32)
		return !h->restorer || back == (h->restorer & ~1ull) || back >> 12 == page;
	return f->link == h->restorer || (g.default_return && f->link == *g.default_return);
}

/*
 * Where a signal interrupted. 0 if the handler was called by something else: it returns elsewhere
 * then. Of several signals at once the last has its frame on top, and interrupted the first
 * instruction of another handler, which has not run: the lowest frame tells.
 */
static int interrupted_at(unsigned vcpu, const struct handler *h, uint64_t *pc)
{
	void *cpu = g.get_cpu((int)vcpu);
	struct frame f;
	int found = 0;

	f.at = reg(cpu, g.isa == MODEL_X86_64 ? 7 : g.isa == MODEL_A64 ? 31 : 13);
	f.link = g.isa == MODEL_X86_64 ? peek(f.at, 8) : reg(cpu, g.isa == MODEL_A64 ? 30 : 14);
	while (h && is_frame(&f, h) && found++ < HANDLERS) {
		struct frame next = { .at = saved(&f, h, 0) };

		*pc = saved(&f, h, 2);
		next.link = g.isa == MODEL_X86_64 ? 0 : saved(&f, h, 1);
		h = handler_at(*pc);
		if (h && g.isa == MODEL_X86_64)
			next.link = peek(next.at, 8);
		f = next;
	}
	return found;
}

static struct thread *thread_new(unsigned vcpu)
{
	struct thread *t = g.t[vcpu];

	if (!t)
		t = g.t[vcpu] = calloc(1, sizeof(*t));
	if (!t) {
		recorder_fail("no memory");
		return NULL;
	}
	t->cur = NULL;
	t->done = 0;
	t->run = t->blocks = 0;
	t->o.n = 0;
	free(t->succ);
	t->succ = NULL;
	t->nsucc = 0;
	t->o.number = recorder_stream();
	t->open = 1;
	return t;
}

static void thread_end(struct thread *t)
{
	if (!t || !t->open)
		return;
	put_left(t);
	put_run(t);
	recorder_put(&t->o, REC_T_EVENT);
	recorder_put(&t->o, REC_END);
	recorder_flush(&t->o);
	t->open = 0;
	t->cur = NULL;
}

static int in_window(const struct blk *b)
{
	if (b->first == g.from)
		g.on = 1;
	else if (b->first == g.to)
		g.on = 0;
	return g.on;
}

static void on_block(unsigned vcpu, void *arg)
{
	const struct blk *b = arg;
	const struct handler *h;
	struct thread *t = vcpu < THREADS ? g.t[vcpu] : NULL;
	uint64_t pc = 0;

	if (recorder_failed() || (t && !t->open))
		return;
	if (!t) {
		if (!in_window(b) || vcpu >= THREADS)
			return;
		t = thread_new(vcpu);
		if (!t)
			return;
	}
	if (!in_window(b) || t->blocks >= g.max + g.skip) {
		thread_end(t);
		return;
	}
	if (t->blocks++ < g.skip)
		return;
	put_left(t);
	h = handler_at(b->first);
	if (h && t->cur && interrupted_at(vcpu, h, &pc)) {
		put_run(t);
		recorder_put(&t->o, REC_T_EVENT);
		recorder_put(&t->o, REC_SIGNAL);
		recorder_put(&t->o, pc);
	}
	put_block(t, b->id);
	t->cur = b;
	t->done = 0;
	if (t->o.n >= RECORDER_CHUNK)
		recorder_flush(&t->o);
}

static void on_insn(unsigned vcpu, void *arg)
{
	struct thread *t = vcpu < THREADS ? g.t[vcpu] : NULL;

	if (t)
		t->done = (uint32_t)(uintptr_t)arg;
}

/* T32 or A32, and ITSTATE: of CPSR, as set while the block is translated (DDI 0487 G8.2.33). */
static void set_isa(struct blk *b)
{
	static __thread void **cpu;
	uint64_t cpsr;

	b->isa = (uint8_t)g.isa;
	if (g.isa != MODEL_A32)
		return;
	if (!cpu)
		cpu = dlsym(RTLD_DEFAULT, "current_cpu");
	cpsr = cpu && *cpu ? reg(*cpu, 25) : 0;
	if (cpsr & 32) {
		b->isa = MODEL_T32;
		b->it = (uint8_t)((cpsr >> 8 & 0xfc) | (cpsr >> 25 & 3));
	}
}

/*
 * QEMU 7.2 looks at the next T32 instruction where a page ends, and counts its bytes to the one
 * before; the first halfword tells the size (DDI 0487 F3.1).
 */
static size_t insn_size(const struct blk *b, const struct qemu_plugin_insn *in)
{
	const uint8_t *p = qemu_plugin_insn_data(in);
	size_t n = qemu_plugin_insn_size(in);

	if (b->isa == MODEL_T32 && n >= 2)
		return p[1] >> 3 >= 0x1d ? 4 : 2;
	return n;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), bytes = 0, room = 0;
	struct blk *b;

	for (size_t i = 0; i < n; i++)
		room += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
	b = n ? malloc(sizeof(*b) + n + room) : NULL;
	if (!b) {
		recorder_fail("no memory");
		return;
	}
	*b = (struct blk){ .first = qemu_plugin_tb_vaddr(tb), .n = (uint32_t)n };
	set_isa(b);
	bytes = n;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(tb, i);
		size_t size = insn_size(b, in);

		b->data[i] = (uint8_t)size;
		memcpy(b->data + bytes, qemu_plugin_insn_data(in), size);
		bytes += size;
		qemu_plugin_register_vcpu_insn_exec_cb(in, on_insn, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(i + 1));
	}
	b->nbytes = (uint32_t)(bytes - n);
	b = recorder_intern(b);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, b);
}

static void on_syscall(qemu_plugin_id_t id, unsigned vcpu, int64_t num, uint64_t a1, uint64_t a2,
		       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	int64_t rt_sigaction = g.isa == MODEL_X86_64 ? 13 : g.isa == MODEL_A64 ? 134 : 174;
	size_t word = g.isa == MODEL_A32 ? 4 : 8;
	struct handler h;

	if (num != rt_sigaction || !a2)
		return;
	h.addr = peek(a2, word);
	if (h.addr < 2)		/* default, ignored */
		return;
	h.info = (peek(a2 + word, 4) & 4) != 0;
	h.restorer = peek(a2 + word, 4) & 0x04000000 ? peek(a2 + 2 * word, word) : 0;
	if (g.isa == MODEL_A32)
		h.addr &= ~1ull;
	recorder_lock();
	if (!handler_at(h.addr)) {
		if (g.nhandlers == HANDLERS) {
			recorder_fail("too many signal handlers");
		} else {
			g.handlers[g.nhandlers++] = h;
			g.handler_bits |= 1ull << (h.addr * 0x9e3779b97f4a7c15 >> 58);
		}
	}
	recorder_unlock();
}

static void on_thread_exit(qemu_plugin_id_t id, unsigned vcpu)
{
	if (vcpu >= THREADS)
		return;
	thread_end(g.t[vcpu]);
	if (g.t[vcpu]) {
		free(g.t[vcpu]->succ);
		free(g.t[vcpu]);
		g.t[vcpu] = NULL;
	}
}

static void on_exit_all(qemu_plugin_id_t id, void *arg)
{
	for (unsigned i = 0; i < THREADS; i++)
		thread_end(g.t[i]);
	recorder_close();
}

static int find_symbols(const char *target)
{
	static const struct { const char *target, *reader; int isa; } t[] = {
		{ "x86_64", "x86_cpu_gdb_read_register", MODEL_X86_64 },
		{ "aarch64", "aarch64_cpu_gdb_read_register", MODEL_A64 },
		{ "arm", "arm_cpu_gdb_read_register", MODEL_A32 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (strcmp(target, t[i].target))
			continue;
		g.isa = t[i].isa;
		g.read_reg = dlsym(RTLD_DEFAULT, t[i].reader);
	}
	g.get_cpu = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
	g.guest_base = dlsym(RTLD_DEFAULT, "guest_base");
	g.default_return = dlsym(RTLD_DEFAULT, "default_rt_sigreturn");
	g.array_new = dlsym(RTLD_DEFAULT, "g_byte_array_new");
	g.array_size = dlsym(RTLD_DEFAULT, "g_byte_array_set_size");
	return g.read_reg && g.get_cpu && g.guest_base && g.array_new && g.array_size;
}

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((visibility("default")))
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *out = NULL;

	g.max = UINT64_MAX / 2;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = argv[i] + 4;
		else if (!strncmp(argv[i], "skip=", 5))
			g.skip = strtoull(argv[i] + 5, NULL, 0);
		else if (!strncmp(argv[i], "max=", 4))
			g.max = strtoull(argv[i] + 4, NULL, 0);
		else if (!strncmp(argv[i], "from=", 5))
			g.from = strtoull(argv[i] + 5, NULL, 0);
		else if (!strncmp(argv[i], "to=", 3))
			g.to = strtoull(argv[i] + 3, NULL, 0);
		else
			recorder_fail("unknown argument; there are out= skip= max= from= to=");
	}
	g.on = g.from == UINT64_MAX;
	if (!out)
		recorder_fail("out=FILE is missing");
	if (info->system_emulation)
		recorder_fail("only programs are recorded, not systems");
	if (!recorder_failed() && !find_symbols(info->target_name))
		recorder_fail("this QEMU does not export what is needed to read registers");
	if (recorder_failed())
		return 1;
	if (recorder_open(out, (unsigned)g.isa, 0))
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_exit_cb(id, on_thread_exit);
	qemu_plugin_register_atexit_cb(id, on_exit_all, NULL);
	return 0;
}
