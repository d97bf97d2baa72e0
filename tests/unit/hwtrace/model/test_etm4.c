/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of the ETMv4 unit against bytes put together by hand from Arm IHI 0064, chapter 6. The
 * sections are those of its issue F. Longer than other files: all cases drive the same unit.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/model/etm4.h"

#define ASYNC "000000000000000000000080"
/* A-sync, trace info with nothing enabled, trace on */
#define START ASYNC "010100" "04"
/* address with context: long, 32 bits, IS0: 0x400000; EL0, 64-bit, non-secure */
#define AT "8200004000" "30"

struct run {
	struct model_etm4_cfg cfg;
	struct model_etm4 *m;
	uint8_t out[8192];
	size_t n;
	uint64_t pc, tick, events;
	unsigned isa;
	struct { uint64_t from, to; } lost[4];
	unsigned nlost;
};

static int put(void *arg, const void *p, size_t n)
{
	struct run *r = arg;

	assert_true(r->n + n <= sizeof(r->out));
	memcpy(r->out + r->n, p, n);
	r->n += n;
	return 0;
}

static void lost(void *arg, uint64_t from, uint64_t to)
{
	struct run *r = arg;

	assert_true(r->nlost < 4);
	r->lost[r->nlost].from = from;
	r->lost[r->nlost++].to = to;
}

static void begin(struct run *r, uint64_t pc, unsigned isa)
{
	const struct model_out to = { put, lost, r };

	r->n = 0;
	r->pc = pc;
	r->isa = isa;
	r->tick = 100;
	r->events = r->nlost = 0;
	assert_int_equal(model_etm4_new(&r->m, &r->cfg, &to), 0);
}

static void give(struct run *r, struct model_event *ev)
{
	ev->tick = r->tick;
	assert_int_equal(model_etm4_put(r->m, ev), 0);
	r->events++;
}

/* One instruction that goes to @to, if it is @taken; @target: of a direct branch. */
static void insn(struct run *r, unsigned kind, bool cond, bool taken, uint64_t target, uint64_t to)
{
	struct model_block b = { .first = r->pc, .last = r->pc, .target = target, .insns = 1,
		.last_size = r->isa == MODEL_T32 ? 2 : 4, .isa = (uint8_t)r->isa,
		.kind = (uint8_t)kind, .cond = cond };
	struct model_event ev = { .op = MODEL_RUN, .insns = 1, .block = &b, .taken = taken };

	ev.to = to == MODEL_NO_ADDR ? r->pc + b.last_size : to;
	give(r, &ev);
	r->pc = ev.to;
}

static void branch(struct run *r, bool taken)
{
	insn(r, MODEL_JUMP, true, taken, r->pc + 8, taken ? r->pc + 8 : MODEL_NO_ADDR);
}

static void go(struct run *r, uint64_t to)
{
	insn(r, MODEL_IJUMP, false, true, MODEL_NO_ADDR, to);
}

static void plain(struct run *r)
{
	insn(r, MODEL_PLAIN, false, false, MODEL_NO_ADDR, MODEL_NO_ADDR);
}

static void irq(struct run *r, uint64_t to)
{
	struct model_event ev = { .op = MODEL_TRAP, .trap = MODEL_TRAP_IRQ, .from = r->pc,
				  .to = to };

	give(r, &ev);
	r->pc = to;
}

static void context(struct run *r, unsigned level, uint32_t cid, uint32_t vmid, bool secure)
{
	struct model_event ev = { .op = MODEL_CONTEXT, .ctx = { .aspace = cid, .vmid = vmid,
		.level = (uint8_t)level, .secure = secure, .isa = MODEL_A64, .valid = 7 } };

	give(r, &ev);
}

static void ends(struct run *r, const char *hex)
{
	char s[2 * sizeof(r->out) + 1] = "";

	assert_int_equal(model_etm4_end(r->m), 0);
	for (size_t i = 0; i < r->n; i++)
		sprintf(s + 2 * i, "%02x", r->out[i]);
	assert_string_equal(s, hex);
	model_etm4_free(r->m);
}

static const struct model_etm4_cfg shortest = { .trace_id = 0x10, .greedy = 1 };

/* 6.4.19: atom packets, first atom in bit 0. */
static void atoms(void **state)
{
	static const struct { const char *atoms, *hex; } t[] = {
		{ "N", "f6" }, { "E", "f7" },
		{ "NN", "d8" }, { "EN", "d9" }, { "NE", "da" }, { "EE", "db" },
		{ "NNN", "f8" }, { "ENN", "f9" }, { "NNE", "fc" }, { "EEE", "ff" },
		{ "NEEE", "dc" }, { "NNNN", "dd" }, { "NENE", "de" }, { "ENEN", "df" },
		{ "NEEEE", "f5" }, { "NNNNN", "d5" }, { "NENEN", "d6" }, { "ENENE", "d7" },
		{ "EEEE", "c0" }, { "EEEN", "e0" }, { "EEEEEEN", "e3" }, { "EEEEEEE", "c3" },
		{ "EEEEEEEEEEEEEEEEEEEEEEEN", "f4" }, { "EEEEEEEEEEEEEEEEEEEEEEEE", "d4" },
		{ "EEEEEEEEEEEEEEEEEEEEEEEEE", "d4f7" }, { "ENNE", "f9f7" },
	};
	char want[100];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct run r = { .cfg = shortest };

		begin(&r, 0x400000, MODEL_A64);
		for (const char *a = t[i].atoms; *a; a++)
			branch(&r, *a == 'E');
		snprintf(want, sizeof(want), START AT "%s", t[i].hex);
		ends(&r, want);
	}
}

/* 6.4.12 to 6.4.16: the target of an indirect branch is told when the next atom needs it. */
static void addresses(void **state)
{
	struct run r = { .cfg = shortest };

	begin(&r, 0x400000, MODEL_A64);
	go(&r, 0x400010);		/* [8:2] */
	go(&r, 0x400410);		/* [16:2] */
	go(&r, 0x400010);		/* the last but one */
	go(&r, 0x7f45670000);
	go(&r, 0x7f00000004);		/* [31:2] */
	go(&r, 0x400010);		/* the third of the history */
	go(&r, 0x400010);		/* the first */
	go(&r, 0x500000);
	ends(&r, START AT "f7" "9504" "f7" "958402" "f7" "91" "f7" "9d0000" "67457f000000" "f7"
	     "9a01000000" "f7" "92" "f7" "90" "f7");
}

/* IS1: bits from 1 on; the second byte of the long form has eight bits. SF is 0. */
static void t32(void **state)
{
	struct run r = { .cfg = shortest };

	begin(&r, 0x10000, MODEL_T32);
	go(&r, 0x10100);
	go(&r, 0x10104);
	go(&r, 0x18aa2);
	go(&r, 0x76543200);
	r.isa = MODEL_A32;		/* there: IS0 */
	go(&r, 0x76543300);
	go(&r, 0x76543300);
	ends(&r, START "8300000100" "20" "f7" "968001" "f7" "9602" "f7" "96d18a" "f7"
	     "9a00195476" "f7" "9540" "f7");
}

/* 6.4.11: 01 an address follows, type 14 IRQ and 2 call; context of the handler with its address */
static void exceptions(void **state)
{
	struct run r = { .cfg = shortest };

	begin(&r, 0x400000, MODEL_A64);
	branch(&r, true);		/* to 0x400008 */
	plain(&r);
	irq(&r, 0xffff800008080480);	/* before 0x40000c */
	context(&r, 1, 0, 0, false);
	insn(&r, MODEL_FAR_RETURN, false, true, MODEL_NO_ADDR, 0x40000c);
	context(&r, 0, 0, 0, false);
	insn(&r, MODEL_SYSCALL, false, true, MODEL_NO_ADDR, 0xffff800008080400);
	context(&r, 1, 0, 0, false);
	branch(&r, false);
	ends(&r, START AT "f7" "061d" "9503"
	     "85200208080080ffff" "31" "f7" "8130" "91" "07" "0605" "9504"
	     "85000208080080ffff" "31" "f6");
}

/* Right behind an indirect branch the exception's address may tell where that led: 10. */
static void at_target(void **state)
{
	struct run r = { .cfg = shortest };

	r.cfg.exc_at_target = 1;
	begin(&r, 0x400000, MODEL_A64);
	go(&r, 0x400020);
	irq(&r, 0x400800);
	branch(&r, true);
	ends(&r, START AT "f7" "065c" "9508" "958004" "f7");
	r.cfg.exc_at_target = 0;
	begin(&r, 0x400000, MODEL_A64);
	go(&r, 0x400020);
	irq(&r, 0x400800);
	branch(&r, true);
	ends(&r, START AT "f7" "9508" "061d" "90" "958004" "f7");
	/* where the return stack tells it, the exception's address does not (01) */
	r.cfg.exc_at_target = r.cfg.ret_stack = 1;
	begin(&r, 0x400000, MODEL_A64);
	insn(&r, MODEL_CALL, false, true, 0x400020, 0x400020);
	insn(&r, MODEL_RETURN, false, true, MODEL_NO_ADDR, 0x400004);
	irq(&r, 0x400800);
	branch(&r, true);
	ends(&r, START AT "db" "061d" "9501" "958004" "f7");
}

/* 6.4.17: V and C announce VMID and CONTEXTIDR, which are there only if they are new. */
static void contexts(void **state)
{
	struct run r = { .cfg = shortest };

	r.cfg.cid = 1;
	r.cfg.vmid_size = 4;
	begin(&r, 0x400000, MODEL_A64);
	context(&r, 1, 0x11223344, 0x123, true);
	branch(&r, true);
	insn(&r, MODEL_BARRIER, false, false, MODEL_NO_ADDR, MODEL_NO_ADDR);
	context(&r, 1, 0x11223345, 0x123, true);
	branch(&r, true);
	plain(&r);
	context(&r, 2, 0x11223345, 0x124, false);	/* not before the next atom */
	branch(&r, true);
	branch(&r, true);
	ends(&r, START "8200004000" "d1" "23010000" "44332211" "db"
	     "81" "91" "45332211" "db" "81" "72" "24010000" "f7");
}

/* 6.4.7; 6.4.2: after trace info all bits are told. Ticks are times 3/2. */
static void timestamps(void **state)
{
	struct run r = { .cfg = shortest };

	r.cfg.timestamps = 1;
	r.cfg.ts_every = 1;
	r.cfg.ts_mul = 3;
	r.cfg.ts_div = 2;
	begin(&r, 0x400000, MODEL_A64);
	r.tick = 0xc22;			/* 0x1233 */
	context(&r, 0, 0, 0, false);
	r.tick = 0xc24;			/* 0x1236 */
	branch(&r, true);
	r.tick = 0xc80;			/* 0x12c0 */
	branch(&r, true);
	r.tick = 0xc000000000000000 / 3 * 2;	/* all nine bytes */
	branch(&r, false);
	ends(&r, ASYNC "010100" "02b324" "04" AT "f7"
	     "0236" "f7" "02c025" "f6" "028080808080808080c0");
}

/* 6.4.3, cycle counts that do not commit: threshold 4 is told once and subtracted. */
static void cycles(void **state)
{
	struct run r = { .cfg = shortest };

	r.cfg.cycles = 1;
	r.cfg.commit1 = 1;
	r.cfg.cc_threshold = 4;
	r.cfg.cc_bits = 12;
	begin(&r, 0x400000, MODEL_A64);
	branch(&r, true);		/* the first count is unknown */
	r.tick += 5;
	branch(&r, true);
	r.tick += 3;			/* too few */
	branch(&r, true);
	r.tick += 27;			/* 30 */
	branch(&r, true);
	r.tick += 4095;
	branch(&r, true);
	r.tick += 4096;			/* more than the counter has */
	branch(&r, true);
	ends(&r, ASYNC "01090104" "04" AT "f7" "0f" "f7" "11" "db" "0e1a" "f7" "0efb1f" "f7" "0f");
}

/* ... that commit: the number of elements is in formats 1 to 3. */
static void commits(void **state)
{
	struct run r = { .cfg = shortest };

	r.cfg.cycles = 1;
	r.cfg.max_spec = 30;
	r.cfg.cc_threshold = 10;
	r.cfg.cc_format2 = 1;
	begin(&r, 0x400000, MODEL_A64);
	branch(&r, true);
	r.tick += 12;
	branch(&r, true);		/* 1, 2: format 3 */
	r.tick += 5;
	branch(&r, true);
	r.tick += 6;
	branch(&r, true);		/* 2, 1 */
	r.tick += 19;
	branch(&r, true);		/* 1, 9: format 2 */
	for (int i = 0; i < 19; i++)
		branch(&r, true);
	r.tick += 15;
	branch(&r, true);		/* 20, 5: format 2 counts up to MAXSPEC: 30 + 5 - 15 */
	r.tick += 100;
	branch(&r, true);		/* 1, 90: format 1 */
	ends(&r, ASYNC "0109010a" "04" AT "f7" "0f01" "f7" "12" "db" "15" "f7" "0c09"
	     "d0" "0d55" "f7" "0e015a");
}

/* Commit elements by themselves where cycle counts do not commit; at the end, at the latest. */
static void commit_packets(void **state)
{
	struct run r = { .cfg = shortest };

	r.cfg.max_spec = 3;
	begin(&r, 0x400000, MODEL_A64);
	branch(&r, true);
	branch(&r, true);
	ends(&r, START AT "db" "2d02");
}

/* 5.3.3: three return addresses; a branch to the newest one needs no address. */
static void return_stack(void **state)
{
	struct run r = { .cfg = shortest };

	r.cfg.ret_stack = 1;
	begin(&r, 0x400000, MODEL_A64);
	insn(&r, MODEL_CALL, false, true, 0x400100, 0x400100);
	insn(&r, MODEL_CALL, false, true, 0x400200, 0x400200);
	insn(&r, MODEL_CALL, false, true, 0x400300, 0x400300);
	insn(&r, MODEL_CALL, false, true, 0x400400, 0x400400);
	insn(&r, MODEL_RETURN, false, true, MODEL_NO_ADDR, 0x400304);
	insn(&r, MODEL_RETURN, false, true, MODEL_NO_ADDR, 0x400204);
	insn(&r, MODEL_RETURN, false, true, MODEL_NO_ADDR, 0x400104);
	insn(&r, MODEL_RETURN, false, true, MODEL_NO_ADDR, 0x400004);	/* forgotten */
	branch(&r, false);
	ends(&r, START AT "c4" "9501" "f6");
	/* not the newest one: an address, and it stays */
	begin(&r, 0x400000, MODEL_A64);
	insn(&r, MODEL_CALL, false, true, 0x400100, 0x400100);
	insn(&r, MODEL_RETURN, false, true, MODEL_NO_ADDR, 0x400008);
	insn(&r, MODEL_RETURN, false, true, MODEL_NO_ADDR, 0x400004);
	branch(&r, false);
	ends(&r, START AT "db" "9502" "d9");
}

/* WFI is a branch or nothing; a barrier always is one; a condition that fails makes an N. */
static void waypoints(void **state)
{
	struct run r = { .cfg = shortest };

	for (unsigned wfx = 0; wfx < 2; wfx++) {
		r.cfg.wfx_branch = (uint8_t)wfx;
		begin(&r, 0x400000, MODEL_A64);
		insn(&r, MODEL_WAIT, false, false, MODEL_NO_ADDR, MODEL_NO_ADDR);
		insn(&r, MODEL_BARRIER, false, false, MODEL_NO_ADDR, MODEL_NO_ADDR);
		insn(&r, MODEL_RETURN, true, false, MODEL_NO_ADDR, MODEL_NO_ADDR);
		ends(&r, wfx ? START AT "fb" : START AT "d9");
	}
}

/* Only EL0 leaves a trace: the exception ends it, and it starts anew. */
static void excluded(void **state)
{
	struct run r = { .cfg = shortest };

	r.cfg.exclude = 2;
	begin(&r, 0x400000, MODEL_A64);
	branch(&r, true);
	irq(&r, 0xffff800008080480);
	context(&r, 1, 0, 0, false);
	branch(&r, true);
	insn(&r, MODEL_FAR_RETURN, false, true, MODEL_NO_ADDR, 0x400008);
	context(&r, 0, 0, 0, false);
	branch(&r, false);
	ends(&r, START AT "f7" "061d" "9502" "04" "8130" "90" "f6");
	assert_int_equal(r.nlost, 0);
	/* only EL1: its ERET is the last thing seen */
	r.cfg.exclude = 1;
	begin(&r, 0x400000, MODEL_A64);
	branch(&r, true);
	irq(&r, 0x400080);
	context(&r, 1, 0, 0, false);
	insn(&r, MODEL_FAR_RETURN, false, true, MODEL_NO_ADDR, 0x400008);
	context(&r, 0, 0, 0, false);
	branch(&r, false);
	ends(&r, START "8220004000" "31" "f7" "07");
}

/* A recorder that does not see the kernel; instructions that nothing proves are reported. */
static void unseen(void **state)
{
	struct model_event enter = { .op = MODEL_ENTER, .to = 0x400040 };
	struct run r = { .cfg = shortest };

	begin(&r, 0x400000, MODEL_A64);
	branch(&r, true);
	insn(&r, MODEL_SYSCALL, false, true, MODEL_NO_ADDR, MODEL_UNSEEN);
	give(&r, &enter);
	r.pc = 0x400040;
	branch(&r, false);
	plain(&r);
	plain(&r);
	give(&r, &enter);
	ends(&r, START AT "f7" "0605" "9503" "04" "8130" "9510" "f6");
	assert_int_equal(r.nlost, 1);
	assert_int_equal(r.lost[0].from, 4);
	assert_int_equal(r.lost[0].to, 6);
}

/* 6.4.5: overflow, then all that a decoder needs; what it took is reported to the event. */
static void overflow(void **state)
{
	struct run r = { .cfg = shortest };

	r.cfg.overflow_every = 1;	/* whenever tracing is on */
	r.cfg.overflow_len = 1;
	begin(&r, 0x400000, MODEL_A64);
	branch(&r, true);		/* starts the trace */
	branch(&r, true);		/* swallowed, with the atom that waits */
	branch(&r, true);		/* at 0x400010 */
	ends(&r, START AT "0005" START "8204004000" "30" "f7");
	assert_int_equal(r.nlost, 1);
	assert_int_equal(r.lost[0].from, 0);
	assert_int_equal(r.lost[0].to, 2);
}

/* A recorder that contradicts itself: what can not follow is a new start, never a wrong path. */
static void contradictions(void **state)
{
	struct run r = { .cfg = shortest };

	begin(&r, 0x400000, MODEL_A64);
	branch(&r, true);
	r.pc = 0x400100;		/* said 0x400008 */
	branch(&r, true);
	/* a direct branch that went elsewhere */
	insn(&r, MODEL_JUMP, false, true, 0x400200, 0x400300);
	branch(&r, true);
	plain(&r);
	r.pc = 0x400400;
	irq(&r, 0x400500);		/* from where it was not */
	branch(&r, false);
	ends(&r, START AT "f7" "04" "8130"
	     "9540" "db" "04" "8130" "95c001" "f7" "04" "8130" "958002" "061d" "90" "9540"
	     "f6");
	assert_int_equal(r.nlost, 1);	/* the plain instruction */
	assert_int_equal(r.lost[0].from, 4);
	assert_int_equal(r.lost[0].to, 5);
}

/* The same seed makes the same bytes; the events are nonsense, which must do no harm. */
static void nonsense(void **state)
{
	static const uint64_t places[] = { 0, 0x400000, 0x400004, 0x7f0000000000, MODEL_UNSEEN,
					   MODEL_NO_ADDR };
	static uint8_t once[sizeof(((struct run *)0)->out)];
	struct run r = { .cfg = { .trace_id = 1, .ret_stack = 1, .cid = 1, .vmid_size = 4,
		.timestamps = 1, .ts_every = 3, .cycles = 1, .max_spec = 5, .cc_format2 = 1,
		.exc_at_target = 1, .exclude = 4, .sync_period = 8, .overflow_every = 9,
		.event_every = 7 } };
	struct model_block b = { .isa = MODEL_A64 };
	struct model_event ev = { .block = &b };
	size_t n = 0;

	for (unsigned k = 0; k < 400; k++) {
		r.cfg.seed = k / 2;
		r.cfg.greedy = k % 8 == 7;
		srand(k / 2);
		begin(&r, 0, MODEL_A64);
		for (unsigned i = 0; i < 60; i++) {
			b.first = places[rand() % 4];
			b.last = b.first + 4 * (uint64_t)(rand() % 3);
			b.target = places[rand() % 6];
			b.insns = 1 + (uint32_t)rand() % 3;
			b.last_size = rand() % 2 ? 2 : 4;
			b.isa = (uint8_t)(rand() % 6);
			b.kind = (uint8_t)(rand() % 13);
			b.cond = rand() % 2;
			ev.op = (uint8_t)(rand() % 8 < 5 ? MODEL_RUN : rand() % 6);
			ev.taken = rand() % 2;
			ev.trap = (uint8_t)(rand() % 8);
			ev.insns = (uint32_t)rand() % (b.insns + 1);
			ev.from = places[rand() % 4];
			ev.to = places[rand() % 6];
			ev.ctx = (struct model_ctx){ .aspace = (uint64_t)rand(),
				.level = (uint8_t)(rand() % 4), .valid = (uint8_t)(rand() % 8),
				.isa = (uint8_t)(rand() % 6) };
			r.tick += (uint64_t)rand() % 50;
			r.nlost = 0;
			give(&r, &ev);
		}
		r.nlost = 0;
		assert_int_equal(model_etm4_end(r.m), 0);
		assert_int_equal(model_etm4_counts(r.m)->bytes, r.n);
		if (k % 2 && k % 8 != 7) {
			assert_int_equal(r.n, n);
			assert_memory_equal(r.out, once, n);
		}
		n = r.n;
		memcpy(once, r.out, n);
		model_etm4_free(r.m);
	}
}

static int full(void *arg, const void *p, size_t n)
{
	return -ENOSPC;
}

static void refusals(void **state)
{
	const struct model_out to = { full, NULL, NULL }, none = { NULL, NULL, NULL };
	static const struct model_etm4_cfg bad[] = {
		{ .trace_id = 0 }, { .trace_id = 0x70 }, { .trace_id = 1, .vmid_size = 2 },
		{ .trace_id = 1, .sync_period = 7 }, { .trace_id = 1, .sync_period = 21 },
		{ .trace_id = 1, .cc_bits = 11 }, { .trace_id = 1, .cc_threshold = 0x1000 },
		{ .trace_id = 1, .cycles = 1 }, { .trace_id = 1, .cc_format2 = 3 },
	};
	struct model_event ev = { .op = MODEL_END };
	struct model_etm4 *m = NULL;
	struct run r = { .cfg = shortest };
	int rc = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(model_etm4_new(&m, &bad[i], &to), -EINVAL);
	assert_int_equal(model_etm4_new(&m, &shortest, &none), -EINVAL);
	assert_null(m);
	assert_int_equal(model_etm4_new(&m, &shortest, &to), 0);
	r.m = m;
	r.isa = MODEL_A64;
	branch(&r, true);
	assert_int_equal(model_etm4_end(m), -ENOSPC);
	rc = model_etm4_put(m, &ev);
	assert_int_equal(rc, -ENOSPC);
	model_etm4_free(m);
	model_etm4_free(NULL);
}

/* 7.3; the values are those that Cortex-A57 and the manual give for the same features. */
static void registers(void **state)
{
	struct model_etm4_cfg c = shortest;
	struct model_etm4_regs r;

	c.cycles = c.commit1 = c.ret_stack = c.timestamps = c.cid = c.vmid_size = 1;
	model_etm4_regs(&r, &c);
	assert_int_equal(r.configr, 1 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 11 | 1 << 12);
	assert_int_equal(r.traceidr, 0x10);
	assert_int_equal(r.idr[0], 0x28000ea1 & ~0x20);	/* no branch broadcast */
	assert_int_equal(r.idr[1] & 0xff0, 0x400);
	assert_int_equal(r.idr[2] & 0x7fff, 0x488);
	assert_int_equal(r.idr[2] >> 25 & 15, 8);
	assert_int_equal(r.devarch, 0x47704a13);
	c.wfx_branch = 1;
	c.vmid_size = 4;
	c.addr32 = 1;
	c.cc_bits = 12;
	model_etm4_regs(&r, &c);
	assert_int_equal(r.idr[1] & 0xff0, 0x430);
	assert_int_equal(r.idr[2], 0x80000000 | 4 << 10 | 4 << 5 | 4);
	assert_int_equal(r.devarch, 0x47734a13);
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test(atoms), cmocka_unit_test(addresses), cmocka_unit_test(t32),
		cmocka_unit_test(exceptions), cmocka_unit_test(at_target),
		cmocka_unit_test(contexts), cmocka_unit_test(timestamps), cmocka_unit_test(cycles),
		cmocka_unit_test(commits), cmocka_unit_test(commit_packets),
		cmocka_unit_test(return_stack), cmocka_unit_test(waypoints),
		cmocka_unit_test(excluded), cmocka_unit_test(unseen), cmocka_unit_test(overflow),
		cmocka_unit_test(contradictions), cmocka_unit_test(nonsense),
		cmocka_unit_test(refusals), cmocka_unit_test(registers),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
