/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may run on records in the kernel. Programs of the compiler must pass, for each event and
 * field; random ones are refused, or run as the kernel itself would run what it gets (a machine of
 * this test's own, on the changed program, with nothing around the record) and as the original does
 * offline. What passes is also given to the kernel of this machine, which must run it alike.
 * PROGRAMS=N: so many random ones.
 */
#include <endian.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <hwtrace/abi.h>
#include <hwtrace/filter.h>

#include "kmod/filter.c"
#include "tests/support/rndprog.h"

#define MAX	64		/* instructions of a random program */
#define SIZE	104		/* bytes of its record */
#define LD_ABS	RND_LD_ABS
#define LDX_ABS	(BPF_LDX | BPF_W | BPF_ABS)
#define CPU	RND_CPU

static u16 work[BPF_MAXINSNS];
static int sock[2] = { -1, -1 };

u64 ring_clock(void)
{
	return 0;
}

static int check(struct sock_filter *v, u32 n, u32 size)
{
	return filter_check(v, n, size, work);
}

/* The verifier of the kernel that we run on; true also if it can not be asked. */
static bool kernel_takes(const struct sock_filter *v, u32 n)
{
	struct sock_fprog p = { .len = (unsigned short)n, .filter = (struct sock_filter *)v };

	if (sock[0] < 0 || !setsockopt(sock[0], SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p)))
		return true;
	return errno != EINVAL;
}

/* linux/filter.h in words: 32-bit A and X, 16 words; nothing but what is allowed runs. */
static uint32_t run(const struct sock_filter *v, u32 n, const uint8_t *rec, u32 size, uint32_t cpu)
{
	uint32_t a = 0, x = 0, mem[16];
	bool set[16] = { false };

	for (u32 pc = 0; pc < n; pc++) {
		uint32_t k = v[pc].k;
		bool t;

		switch (v[pc].code) {
		case LD_ABS:
			assert_int_equal(k, CPU);
			a = cpu;
			continue;
		case LDX_ABS:
			assert_true(k % 4 == 0 && k < size && size - k >= 4);
			a = rec[k] | rec[k + 1] << 8 | rec[k + 2] << 16 |
				(uint32_t)rec[k + 3] << 24;
			continue;
		case BPF_LD | BPF_IMM: a = k; continue;
		case BPF_LDX | BPF_IMM: x = k; continue;
		case BPF_LD | BPF_MEM:
		case BPF_LDX | BPF_MEM:
			assert_true(k < 16 && set[k]);
			*(BPF_CLASS(v[pc].code) == BPF_LD ? &a : &x) = mem[k];
			continue;
		case BPF_ST:
		case BPF_STX:
			assert_true(k < 16);
			mem[k] = v[pc].code == BPF_ST ? a : x;
			set[k] = true;
			continue;
		case BPF_ALU | BPF_ADD | BPF_K: a += k; continue;
		case BPF_ALU | BPF_AND | BPF_K: a &= k; continue;
		case BPF_ALU | BPF_AND | BPF_X: a &= x; continue;
		case BPF_ALU | BPF_OR | BPF_K: a |= k; continue;
		case BPF_ALU | BPF_OR | BPF_X: a |= x; continue;
		case BPF_ALU | BPF_XOR | BPF_K: a ^= k; continue;
		case BPF_ALU | BPF_LSH | BPF_K:
			assert_true(k < 32);
			a <<= k;
			continue;
		case BPF_ALU | BPF_RSH | BPF_K:
			assert_true(k < 32);
			a >>= k;
			continue;
		case BPF_MISC | BPF_TAX: x = a; continue;
		case BPF_MISC | BPF_TXA: a = x; continue;
		case BPF_RET | BPF_K: return k;
		case BPF_JMP | BPF_JA:
			assert_true(k < n);
			pc += k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K: t = a == k; break;
		case BPF_JMP | BPF_JGT | BPF_K: t = a > k; break;
		case BPF_JMP | BPF_JGE | BPF_K: t = a >= k; break;
		case BPF_JMP | BPF_JSET | BPF_K: t = a & k; break;
		default:
			fail_msg("instruction %#x passed", v[pc].code);
			return 0;
		}
		pc += t ? v[pc].jt : v[pc].jf;
	}
	fail_msg("ran past the end");
	return 0;
}

/* What the compiler makes of each comparison with each field of each event passes. */
static void compiled(void **state)
{
	static const char *const conds[] = { "%s == 5", "%s > 70000 && cpu == 3",
		"%s < 3 || tid == 7", "known(%s)",
		"%s & 0x100000001", "%s == \"init\"", "%s ~ \"a*b?c*\"",
		"!(%s ~ \"kwork*\")", "%s in {1, 5..9, 0x7fffffff}" };
	static struct hwt_bpf_insn v[HWT_BPF_MAX];
	unsigned progs = 0, events = 0;
	const struct hwt_abi_event *e;

	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++, events++) {
		unsigned n;
		const struct hwt_abi_field *f = e->fields(&n);

		for (unsigned k = 0; k < n * (sizeof(conds) / sizeof(conds[0])); k++) {
			struct hwt_filter *flt;
			struct hwt_diag d;
			char cond[64], text[160];
			int len;

			snprintf(cond, sizeof(cond), conds[k / n], f[k % n].name);
			snprintf(text, sizeof(text), "%s where %s", e->name, cond);
			/* not each comparison is one of each field */
			if (hwt_filter_new(&flt, text, &d))
				continue;
			len = hwt_filter_bpf(flt, e->id, v, HWT_BPF_MAX, &d);
			hwt_filter_free(flt);
			if (len < 0)
				continue;
			progs++;
			if (!kernel_takes((struct sock_filter *)v, (u32)len) ||
			    check((struct sock_filter *)v, (u32)len, e->size))
				fail_msg("%s: refused", text);
			/* in a record that ends before the field it can not be */
			for (int j = 0; j < len; j++)
				if (v[j].code == LDX_ABS)
					v[j].code = LD_ABS;
			assert_int_equal(check((struct sock_filter *)v, (u32)len,
					       f[k % n].offset), len > 2 ? -EINVAL : 0);
		}
	}
	printf("# %u programs for the fields of %u events\n", progs, events);
	assert_true(events > 50 && progs > 1000);
}

struct bad { const char *what; u32 n; struct sock_filter v[6]; };

#define END { BPF_RET | BPF_K, 0, 0, 1 }

static const struct bad bad[] = {
	{ "nothing", 0, { END } },
	{ "no end", 1, { { BPF_LD | BPF_IMM, 0, 0, 1 } } },
	{ "behind the record", 2, { { LD_ABS, 0, 0, SIZE }, END } },
	{ "over its end", 2, { { LD_ABS, 0, 0, SIZE - 2 }, END } },
	{ "unaligned", 2, { { LD_ABS, 0, 0, 2 }, END } },
	{ "far", 2, { { LD_ABS, 0, 0, 0xfffffffc }, END } },
	{ "before it", 2, { { LD_ABS, 0, 0, (u32)SKF_LL_OFF }, END } },
	{ "network header", 2, { { LD_ABS, 0, 0, (u32)SKF_NET_OFF }, END } },
	{ "protocol", 2, { { LD_ABS, 0, 0, (u32)SKF_AD_OFF + SKF_AD_PROTOCOL }, END } },
	{ "interface", 2, { { LD_ABS, 0, 0, (u32)SKF_AD_OFF + SKF_AD_IFINDEX }, END } },
	{ "netlink", 2, { { LD_ABS, 0, 0, (u32)SKF_AD_OFF + SKF_AD_NLATTR }, END } },
	{ "random", 2, { { LD_ABS, 0, 0, (u32)SKF_AD_OFF + SKF_AD_RANDOM }, END } },
	{ "byte", 2, { { BPF_LD | BPF_B | BPF_ABS, 0, 0, 0 }, END } },
	{ "half", 2, { { BPF_LD | BPF_H | BPF_ABS, 0, 0, 0 }, END } },
	{ "already ours", 2, { { LDX_ABS, 0, 0, 0 }, END } },
	{ "behind X", 2, { { BPF_LD | BPF_W | BPF_IND, 0, 0, 0 }, END } },
	{ "byte behind X", 2, { { BPF_LD | BPF_B | BPF_IND, 0, 0, 0 }, END } },
	{ "length", 2, { { BPF_LD | BPF_W | BPF_LEN, 0, 0, 0 }, END } },
	{ "length to X", 2, { { BPF_LDX | BPF_W | BPF_LEN, 0, 0, 0 }, END } },
	{ "header length", 2, { { BPF_LDX | BPF_B | BPF_MSH, 0, 0, 0 }, END } },
	{ "scratch word", 2, { { BPF_ST, 0, 0, 16 }, END } },
	{ "scratch word never written", 2, { { BPF_LD | BPF_MEM, 0, 0, 3 }, END } },
	{ "scratch word written on one way", 5, { { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0 },
		{ BPF_ST, 0, 0, 3 }, { BPF_LDX | BPF_MEM, 0, 0, 3 }, END, END } },
	{ "scratch word written before another way", 5, { { BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0 },
		{ BPF_STX, 0, 0, 3 }, { BPF_LD | BPF_MEM, 0, 0, 3 }, END, END } },
	{ "divided", 2, { { BPF_ALU | BPF_DIV | BPF_K, 0, 0, 1 }, END } },
	{ "divided by X", 2, { { BPF_ALU | BPF_DIV | BPF_X, 0, 0, 0 }, END } },
	{ "shifted far", 2, { { BPF_ALU | BPF_LSH | BPF_K, 0, 0, 32 }, END } },
	{ "shifted by X", 2, { { BPF_ALU | BPF_RSH | BPF_X, 0, 0, 0 }, END } },
	{ "compared with X", 2, { { BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 0 }, END } },
	{ "returned A", 1, { { BPF_RET | BPF_A, 0, 0, 0 } } },
	{ "backward", 2, { { BPF_JMP | BPF_JA, 0, 0, 0xffffffff }, END } },
	{ "backward further", 3, { { BPF_LD | BPF_IMM, 0, 0, 0 },
		{ BPF_JMP | BPF_JA, 0, 0, 0xfffffffe }, END } },
	{ "to the end", 2, { { BPF_JMP | BPF_JA, 0, 0, 1 }, END } },
	{ "if so, over the end", 2, { { BPF_JMP | BPF_JGT | BPF_K, 1, 0, 5 }, END } },
	{ "if not, over the end", 2, { { BPF_JMP | BPF_JGT | BPF_K, 0, 255, 5 }, END } },
	{ "at the end", 2, { END, { BPF_JMP | BPF_JA, 0, 0, 0 } } },
	{ "not known", 2, { { 0xffff, 0, 0, 0 }, END } },
	{ "atomic", 2, { { 0xdb, 0, 0, 0 }, END } },
};

static void refused(void **state)
{
	struct sock_filter v[6], *big = calloc(BPF_MAXINSNS + 1, sizeof(*big));

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(v, bad[i].v, sizeof(v));
		if (check(v, bad[i].n, SIZE) != -EINVAL)
			fail_msg("%s: passed", bad[i].what);
	}
	/* the same with what is right */
	memcpy(v, (struct sock_filter[]){ { LD_ABS, 0, 0, SIZE - 4 }, { LD_ABS, 0, 0, CPU }, END },
	       3 * sizeof(v[0]));
	assert_int_equal(check(v, 3, SIZE), 0);
	assert_int_equal(v[0].code, LDX_ABS);
	assert_int_equal(v[1].code, LD_ABS);
	/* a record of no bytes has none to load */
	for (u32 size = 0; size < 4; size++) {
		v[0] = (struct sock_filter){ LD_ABS, 0, 0, 0 };
		assert_int_equal(check(v, 3, size), -EINVAL);
	}
	for (u32 i = 0; i <= BPF_MAXINSNS; i++)
		big[i] = (struct sock_filter)END;
	assert_int_equal(check(big, BPF_MAXINSNS, SIZE), 0);
	assert_int_equal(check(big, BPF_MAXINSNS + 1, SIZE), -EINVAL);
	free(big);
}

/*
 * The same by the kernel of this machine: it filters a datagram, whose words are in the network's
 * order. Returns how much of it came through, UINT32_MAX if nobody can say.
 */
static uint32_t kernel_runs(const uint64_t *rec)
{
	uint32_t words[SIZE / 4];
	uint8_t back[SIZE];
	ssize_t n;

	if (sock[0] < 0)
		return UINT32_MAX;
	memcpy(words, rec, SIZE);
	for (unsigned i = 0; i < SIZE / 4; i++)
		words[i] = htobe32(words[i]);
	if (send(sock[1], words, SIZE, 0) != SIZE)
		return UINT32_MAX;
	n = recv(sock[0], back, sizeof(back), MSG_DONTWAIT);
	return n < 0 ? 0 : (uint32_t)n;
}

/* On one CPU, whose number programs may ask for. */
static int stay(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0 : cpu, &set);
	return cpu < 0 || sched_setaffinity(0, sizeof(set), &set) ? -1 : cpu;
}

static void randoms(void **state)
{
	const char *text = getenv("PROGRAMS");
	unsigned passed = 0, ran = 0, all = text ? (unsigned)atoi(text) : 20000;
	int cpu = stay();

	for (unsigned i = 0; i < all; i++) {
		struct sock_filter v[MAX], was[MAX];
		u32 n = 1 + (u32)(rnd() % (i % 2 ? 8 : MAX));
		uint64_t rec[SIZE / 8];

		rnd_program(v, n, 0, SIZE);
		memcpy(was, v, sizeof(v));
		if (check(v, n, SIZE)) {
			/* what runs offline is the same, but for what the kernel would refuse */
			if (sock[0] >= 0 && kernel_takes(was, n))
				assert_int_equal(hwt_bpf_check((struct hwt_bpf_insn *)was, n, SIZE),
						 -EINVAL);
			continue;
		}
		passed++;
		assert_int_equal(hwt_bpf_check((struct hwt_bpf_insn *)was, n, SIZE), 0);
		assert_true(kernel_takes(was, n));
		for (unsigned k = 0; k < 20; k++) {
			uint32_t want, got;

			for (unsigned w = 0; w < SIZE / 8; w++)
				rec[w] = rnd() % 3 ? rnd() % 32 : rnd();
			assert_int_equal(run(v, n, (uint8_t *)rec, SIZE, k),
					 hwt_bpf_run((struct hwt_bpf_insn *)was, n, rec, SIZE,
						     (int32_t)k));
			got = cpu < 0 || k >= 4 ? UINT32_MAX : kernel_runs(rec);
			if (got == UINT32_MAX)
				continue;
			want = hwt_bpf_run((struct hwt_bpf_insn *)was, n, rec, SIZE, cpu);
			assert_int_equal(got, want < SIZE ? want : SIZE);
			ran++;
		}
	}
	printf("# %u of %u random programs passed; %u runs as the kernel has them\n", passed, all,
	       ran);
	assert_true(passed > all / 20 && passed < all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compiled), cmocka_unit_test(refused), cmocka_unit_test(randoms),
	};
	struct sock_filter end[] = { END };
	struct sock_fprog p = { .len = 1, .filter = end };
	int rc;

	/* a kernel that takes no filter at all is not asked */
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sock) ||
	    setsockopt(sock[0], SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p)))
		sock[0] = -1;
	printf("# this machine's kernel is %sasked\n", sock[0] < 0 ? "not " : "");
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	close(sock[0]);
	close(sock[1]);
	return rc;
}
