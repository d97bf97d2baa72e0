/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What only one recording has: its own events and context fields. Records are put together here,
 * and each answer is computed from the values that went in; for context the interpreter and the
 * program for the kernel are held against the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/event.h>
#include <hwtrace/filter.h>
#include <hwtrace/uapi.h>

#include "tests/support/rnd.h"

static const struct hwt_abi_field fields[] = {
	{ .name = "bytes", .unit = "", .type = HWT_ABI_u64, .size = 8, .offset = 32 },
	{ .name = "name", .unit = "", .type = HWT_ABI_text, .size = 4, .offset = 40 },
	{ .name = "left", .unit = "", .type = HWT_ABI_s64, .size = 8, .offset = 44 },
	{ .name = "cmd", .unit = "", .type = HWT_ABI_text, .size = 4, .offset = 52 },
};
static const struct hwt_abi_own own[] = {
	{ .name = "kmem:alloc", .id = HWT_ID_DIRTY, .size = 56, .fields = fields, .nfields = 4 },
	/* as the reader of a capture has them */
	{ .name = "dirty:kmem:free", .id = HWT_ID_DIRTY + 1, .size = 40, .fields = fields,
	  .nfields = 1 },
};

static union { struct hwt_rec rec; uint8_t bytes[256]; uint64_t align; } r;

static void alloc(uint64_t bytes, const char *name, int64_t left, const char *cmd)
{
	uint32_t a = (uint32_t)strlen(name), b = (uint32_t)strlen(cmd) + 1;

	memset(&r, 0, sizeof(r));
	r.rec = (struct hwt_rec){ .time = 5, .id = HWT_ID_DIRTY, .version = 1, .pid = 7, .tid = 8,
		.size = (uint16_t)((56 + a + b + 7) & ~7u) };
	b = r.rec.size - 56 - a;
	memcpy(r.bytes + 32, &bytes, 8);
	memcpy(r.bytes + 40, &a, 4);
	memcpy(r.bytes + 44, &left, 8);
	memcpy(r.bytes + 52, &b, 4);
	memcpy(r.bytes + 56, name, a);
	memcpy(r.bytes + 56 + a, cmd, strlen(cmd));
}

static struct hwt_filter *make(const char *text, uint32_t contexts)
{
	const struct hwt_filter_opts o = { .size = sizeof(o), .own = own, .nown = 2,
		.arch = "x86_64", .contexts = contexts };
	struct hwt_diag d = { .text = "" };
	struct hwt_filter *f = NULL;

	if (hwt_filter_new_opts(&f, text, &o, &d))
		fail_msg("%s: %s", text, d.text);
	return f;
}

static int matches(const char *text)
{
	struct hwt_filter *f = make(text, 0);
	int yes = hwt_filter_match_on(f, &r, r.rec.size, 1);

	hwt_filter_free(f);
	return yes;
}

static void own_events(void **state)
{
	alloc(UINT64_MAX, "sda", -1, "");
	assert_int_equal(matches("dirty:kmem:alloc"), 1);
	assert_int_equal(matches("dirty:kmem:*"), 1);
	assert_int_equal(matches("dirty:*:free"), 0);
	assert_int_equal(matches("*"), 0);
	/* all values are known, whatever they are */
	assert_int_equal(matches("dirty:kmem:alloc where bytes == 0xffffffffffffffff"), 1);
	assert_int_equal(matches("dirty:kmem:alloc where bytes > 1 && known(bytes)"), 1);
	assert_int_equal(matches("dirty:kmem:alloc where left == -1 && left < 0"), 1);
	assert_int_equal(matches("dirty:kmem:alloc where left >= 0"), 0);
	assert_int_equal(matches("dirty:kmem:alloc where name == \"sda\" && cmd == \"\""), 1);
	assert_int_equal(matches("dirty:kmem:alloc where name != \"sda\""), 0);
	assert_int_equal(matches("dirty:kmem:alloc where name ~ \"s?a*\" && cmd !~ \"?*\""), 1);
	assert_int_equal(matches("dirty:kmem:alloc where cpu == 1 && tid == 8 && pid in {7}"), 1);
	assert_int_equal(matches("dirty:kmem:alloc where cpu == 2"), 0);
	alloc(4096, "", INT64_MIN, "flush all");
	assert_int_equal(matches("dirty:kmem:alloc where cmd in {\"a\", \"flush all\"}"), 1);
	assert_int_equal(matches("dirty:kmem:alloc where left == -9223372036854775808"), 1);
	assert_int_equal(matches("dirty:kmem:alloc where bytes in {1..4095, 4097}"), 0);
	assert_int_equal(matches("dirty:kmem:alloc where bytes & 0x1000"), 1);
	assert_int_equal(matches("sched.switch, dirty:kmem:* where bytes == 4096"), 1);
	/* texts that do not lie in the record: it is none */
	memcpy(r.bytes + 40, &(uint32_t){ 200 }, 4);
	assert_int_equal(matches("dirty:kmem:alloc"), 0);
}

static void refused(void **state)
{
	static const char *const bad[] = { "dirty:kmem:allok", "dirty:", "kmem:alloc",
		"dirty:kmem:alloc where size == 1", "dirty:kmem:alloc where bytes == -1",
		"dirty:kmem:* where left == 1", "dirty:kmem:alloc where name > 3",
		"dirty:kmem:alloc where ctx.prio == 1", "sched.switch where ctx.comm == \"a\"" };
	const struct hwt_filter_opts o = { .size = sizeof(o), .own = own, .nown = 2 };
	struct hwt_diag d;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hwt_filter *f = NULL;

		if (hwt_filter_new_opts(&f, bad[i], &o, &d) != -HWT_E_FILTER || f)
			fail_msg("%s", bad[i]);
	}
	assert_non_null(strstr(d.text, "no record here has \"ctx.comm\""));
}

/* A stream's event whose record is none of ours, but begins like one that the filter names. */
static void foreign(void **state)
{
	struct hwt_rec_softirq_raise s = { .rec = { .time = 1, .id = HWT_ID_softirq_raise,
		.size = sizeof(s), .version = 1 } };
	struct hwt_event ev = { .type = HWT_EV_RECORD, .u.rec = { .data = &s, .size = sizeof(s),
		.id = HWT_ID_DIRTY + 1 } };
	struct hwt_filter *f = make("softirq.raise", 0);

	assert_int_equal(hwt_filter_wants(f, &ev), 0);
	ev.u.rec.id = HWT_ID_softirq_raise;
	assert_int_equal(hwt_filter_wants(f, &ev), 1);
	ev.type = HWT_EV_FRAME;
	assert_int_equal(hwt_filter_wants(f, &ev), 0);
	hwt_filter_free(f);
}

#define MASK	(1u << HWT_CONTEXT_comm | 1u << HWT_CONTEXT_prio | 1u << HWT_CONTEXT_counter)

struct context {
	char comm[16];
	uint64_t counter;
	int32_t prio;
	uint32_t zero;
};

/* Values that are compared with, beside those that mean "not known". */
static const char *const comms[] = { "-", "a", "kworker/1:2", "rcu" };
static const uint64_t counts[] = { UINT64_MAX, 0, 7, UINT64_MAX - 1 };
static const int32_t prios[] = { INT32_MIN, -100, 98, 120 };

static bool truth(unsigned cond, const struct context *x)
{
	bool comm = x->comm[0] && strcmp(x->comm, "-"), count = x->counter != UINT64_MAX;
	bool prio = x->prio != INT32_MIN;

	switch (cond) {
	case 0: return comm && !strcmp(x->comm, "a");
	case 1: return comm && !strncmp(x->comm, "kworker", 7);
	case 2: return prio && x->prio < 100;
	case 3: return count && x->counter >= 7;
	case 4: return !(count && x->counter == 7);
	case 5: return count;
	case 6: return (prio && x->prio != 98) || (comm && strcmp(x->comm, "rcu"));
	default: return prio && x->prio >= -100 && x->prio <= 98;
	}
}

static const char *const conds[] = {
	"ctx.comm == \"a\"", "ctx.comm ~ \"kworker*\"", "ctx.prio < 100", "ctx.counter >= 7",
	"!(ctx.counter == 7)", "known(ctx.counter)", "ctx.prio != 98 || ctx.comm != \"rcu\"",
	"ctx.prio in {-100..98}",
};

/* Context behind the fields of events of different sizes, and of one with a text. */
static void context(void **state)
{
	static const struct { const char *name; uint16_t id; size_t size; } events[] = {
		{ "softirq.raise", HWT_ID_softirq_raise, sizeof(struct hwt_rec_softirq_raise) },
		{ "sched.switch", HWT_ID_sched_switch, sizeof(struct hwt_rec_sched_switch) },
		{ "sched.exec", HWT_ID_sched_exec, sizeof(struct hwt_rec_sched_exec) },
		{ "dirty:kmem:free", HWT_ID_DIRTY + 1, 40 },
	};
	static struct hwt_bpf_insn v[HWT_BPF_MAX];
	struct hwt_diag d;
	char text[128];

	for (unsigned k = 0; k < 4 * 8; k++) {
		unsigned e = k / 8;
		struct hwt_filter *f;
		int n;

		snprintf(text, sizeof(text), "%s where %s", events[e].name, conds[k % 8]);
		f = make(text, MASK);
		n = hwt_filter_bpf(f, events[e].id, v, HWT_BPF_MAX, &d);
		assert_true(n > 0);
		assert_int_equal(hwt_bpf_check(v, (size_t)n, events[e].size + 32), 0);
		for (unsigned i = 0; i < 200; i++) {
			struct context x = { .counter = counts[rnd() % 4],
				.prio = prios[rnd() % 4] };
			bool want, got, prog;

			strcpy(x.comm, comms[rnd() % 4]);
			memset(&r, 0, sizeof(r));
			r.rec = (struct hwt_rec){ .time = 1, .id = events[e].id,
				.size = (uint16_t)(events[e].size + sizeof(x)),
				.version = HWT_ABI_VERSION };
			memcpy(r.bytes + events[e].size, &x, sizeof(x));
			want = truth(k % 8, &x);
			got = hwt_filter_match_on(f, &r, r.rec.size, 0);
			prog = hwt_bpf_run(v, (size_t)n, &r, r.rec.size, 0) != 0;
			if (got != want || prog != want)
				fail_msg("%s: %d, program %d; %s %llu %d", text, got, prog, x.comm,
					 (unsigned long long)x.counter, x.prio);
		}
		/* a record without context has none of it, whatever is asked */
		r.rec.size = (uint16_t)events[e].size;
		if (hwt_filter_match_on(f, &r, r.rec.size, 0) != (k % 8 == 4))
			fail_msg("%s: without context", text);
		hwt_filter_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_events), cmocka_unit_test(refused), cmocka_unit_test(foreign),
		cmocka_unit_test(context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
