/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random filters over random records. The truth is a tree that this test made before it wrote the
 * filter's text from it, evaluated over the C structs of uapi.h; asked are the interpreter, our
 * classic BPF machine and the kernel's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/filter.h>
#include <hwtrace/uapi.h>

#include "tests/support/rnd.h"
#include "tests/support/virec.h"

enum type { U32, S32, PID, U64, S64, NAME };

struct field {
	const char *name;
	unsigned off;
	enum type type;
};

struct event {
	const char *name;
	unsigned id, size, n;
	struct field f[8];
};

#define AT(s, m) #m, offsetof(struct hwt_rec_##s, m)
#define HEAD(m) #m, offsetof(struct hwt_rec, m)

static const struct event events[] = {
	{ "sched.switch", HWT_ID_sched_switch, sizeof(struct hwt_rec_sched_switch), 8, {
		{ AT(sched_switch, prev_prio), S32 }, { AT(sched_switch, next_tid), PID },
		{ AT(sched_switch, prev_state), U32 }, { AT(sched_switch, next_aspace), U64 },
		{ AT(sched_switch, prev_comm), NAME }, { AT(sched_switch, next_comm), NAME },
		{ HEAD(time), U64 }, { HEAD(pid), PID } } },
	{ "syscall.exit", HWT_ID_syscall_exit, sizeof(struct hwt_rec_syscall_exit), 4, {
		{ AT(syscall_exit, nr), U32 }, { AT(syscall_exit, ret), S64 },
		{ HEAD(tid), PID }, { HEAD(time), U64 } } },
	{ "block.queue", HWT_ID_block_queue, sizeof(struct hwt_rec_block_queue), 4, {
		{ AT(block_queue, sector), U64 }, { AT(block_queue, bytes), U32 },
		{ AT(block_queue, op_flags), U32 }, { AT(block_queue, comm), NAME } } },
};

static const int64_t numbers[] = { 0, 1, 2, 5, 0x7ffffffe, 0x7fffffff, 0x80000000, 0xfffffffe,
	0xffffffff, 0x100000000, 0x100000001, 0x500000005, INT64_MAX, -1, -2, -0x7fffffff,
	-0x80000000ll, -0x100000000ll, INT64_MIN + 1 };
static const char *const names[] = { "a", "ab", "abc", "b", "ba", "abab", "init", "aXbXc",
	"kworker/0:1H-ab", "aaaaaaaaaaaaaaa", "-a", "*?" };
static const char *const patterns[] = { "a*", "*a", "*", "a*b*c", "?", "??*", "*b?", "a?*",
	"*ab*", "init", "*:1*-*b", "a*a*a*", "?????????????*", "-*", "*aaaaaaaaaaaaaaa" };

static uint64_t mark(enum type t)
{
	switch (t) {
	case U32:
	case PID:
		return UINT32_MAX;
	case S32:
		return 0x80000000;
	case U64:
		return UINT64_MAX;
	default:
		return 1ull << 63;
	}
}

static int wide(enum type t)
{
	return t == U64 || t == S64;
}

/* A constant that the type can hold and that is not its mark, as text. */
static int64_t constant(enum type t, char *buf)
{
	for (;;) {
		int64_t v = numbers[rnd() % (sizeof(numbers) / sizeof(numbers[0]))];

		if ((t == U32 && (v < 0 || v > 0xfffffffe)) || (t == PID && (v < 0 ||
		    v > INT32_MAX)) || (t == U64 && v < 0) ||
		    (t == S32 && (v > INT32_MAX || v <= INT32_MIN)))
			continue;
		if (rnd() % 2 && v >= 0)
			sprintf(buf, "0x%llx", (unsigned long long)v);
		else
			sprintf(buf, "%lld", (long long)v);
		return v;
	}
}

struct node {
	char op;		/* & | ! and: < l g > = n for comparisons, b, k, i, ~ */
	const struct field *f;
	int64_t v, w;
	const char *s;
	int a, b;
};

static struct node nodes[256];
static int nnodes;
static char text[16384];

static void put(const char *s)
{
	strcat(text, s);
}

static void leaf(const struct event *e, struct node *n)
{
	static const char ops[] = "<lg>=nbki~~";
	static const char *const words[] = { " < ", " <= ", " >= ", " > ", " == ", " != ", " & " };
	char buf[32];

	n->f = &e->f[rnd() % e->n];
	n->op = ops[rnd() % 11];
	if (n->op == 'k') {
		put("known(");
		put(n->f->name);
		put(")");
		return;
	}
	put(n->f->name);
	if (n->f->type == NAME) {
		n->op = "=n~~"[rnd() % 4];
		n->s = n->op == '~' ? patterns[rnd() % 15] : names[rnd() % 12];
		put(n->op == '=' ? " == \"" : n->op == 'n' ? " != \"" : " ~ \"");
		put(n->s);
		put("\"");
		return;
	}
	if (n->op == '~')
		n->op = 'i';
	n->v = constant(n->f->type, buf);
	if (n->op == 'b' && !n->v)
		n->op = '=';
	if (n->op == 'i') {
		put(" in {");
		put(buf);
		put("..");
		do
			n->w = constant(n->f->type, buf);
		while (n->w < n->v);
		put(buf);
		put("}");
		return;
	}
	put(words[strchr("<lg>=nb", n->op) - "<lg>=nb"]);
	put(buf);
}

static int make(const struct event *e, int depth)
{
	int i = nnodes++;
	unsigned what = depth > 4 ? 9 : rnd() % 10;

	if (what < 6) {
		nodes[i].op = what < 3 ? '&' : '|';
		put("(");
		nodes[i].a = make(e, depth + 1);
		put(what < 3 ? " && " : " || ");
		nodes[i].b = make(e, depth + 1);
		put(")");
	} else if (what < 7) {
		nodes[i].op = '!';
		put("!(");
		nodes[i].a = make(e, depth + 1);
		put(")");
	} else {
		leaf(e, &nodes[i]);
	}
	return i;
}

static int glob(const char *p, const char *s)
{
	if (*p == '*')
		return glob(p + 1, s) || (*s && glob(p, s + 1));
	if (!*p || !*s)
		return !*p && !*s;
	return (*p == '?' || *p == *s) && glob(p + 1, s + 1);
}

static int compare(const struct node *n, const void *rec)
{
	char name[17] = { 0 };
	uint64_t raw = 0;
	int64_t v;

	if (n->f->type == NAME) {
		int known;

		memcpy(name, (const char *)rec + n->f->off, 16);
		known = name[0] && strcmp(name, "-");
		if (n->op == 'k')
			return known;
		return known && (n->op == '~' ? glob(n->s, name) :
			(n->op == '=') == !strcmp(n->s, name));
	}
	memcpy(&raw, (const char *)rec + n->f->off, wide(n->f->type) ? 8 : 4);
	if (n->op == 'k' || raw == mark(n->f->type))
		return raw != mark(n->f->type);
	if (n->op == 'b')
		return (raw & (uint64_t)n->v) != 0;
	if (n->f->type == U64 && raw > INT64_MAX)	/* above all constants */
		return n->op == '>' || n->op == 'g' || n->op == 'n';
	v = n->f->type == S32 || n->f->type == PID ? (int32_t)raw : (int64_t)raw;
	switch (n->op) {
	case '<': return v < n->v;
	case 'l': return v <= n->v;
	case 'g': return v >= n->v;
	case '>': return v > n->v;
	case '=': return v == n->v;
	case 'n': return v != n->v;
	}
	return v >= n->v && v <= n->w;
}

static int truth(int i, const void *rec)
{
	const struct node *n = &nodes[i];

	switch (n->op) {
	case '&': return truth(n->a, rec) && truth(n->b, rec);
	case '|': return truth(n->a, rec) || truth(n->b, rec);
	case '!': return !truth(n->a, rec);
	}
	return compare(n, rec);
}

static void fill(const struct event *e, struct virec *r)
{
	struct hwt_rec *h = (struct hwt_rec *)r->buf;

	virec_make(r, e->name);
	for (unsigned i = 0; i < e->n; i++) {
		char *p = (char *)r->buf + e->f[i].off;
		int64_t v = numbers[rnd() % (sizeof(numbers) / sizeof(numbers[0]))];

		if (rnd() % 6 == 0)
			continue;
		if (e->f[i].type == NAME)
			strncpy(p, names[rnd() % 12], 16);
		else
			memcpy(p, &v, wide(e->f[i].type) ? 8 : 4);
	}
	assert_int_equal(h->id, e->id);
	assert_int_equal(r->size, e->size);
}

#define FILTERS	3000
#define RECORDS	20

static void agree(void **state)
{
	static struct hwt_bpf_insn prog[HWT_BPF_MAX];
	unsigned yes = 0, all = 0, kernel = 0, refused = 0;

	for (unsigned i = 0; i < FILTERS; i++) {
		const struct event *e = &events[rnd() % 3];
		struct hwt_filter *f = NULL;
		struct hwt_diag d;
		int root, n;

		nnodes = 0;
		sprintf(text, "%s where ", e->name);
		root = make(e, 0);
		if (hwt_filter_new(&f, text, &d))
			fail_msg("%s: %s", text, d.text);
		n = hwt_filter_bpf(f, e->id, prog, HWT_BPF_MAX, &d);
		if (n < 0)
			refused++;	/* many patterns: too long */
		else if (hwt_bpf_check(prog, (size_t)n, e->size))
			fail_msg("%s: program not allowed", text);
		for (unsigned k = 0; k < RECORDS; k++) {
			struct virec r;
			int want, got;

			fill(e, &r);
			want = truth(root, r.buf);
			if (hwt_filter_match(f, r.buf, r.size) != want)
				fail_msg("%s: want %d", text, want);
			yes += (unsigned)want;
			all++;
			if (n < 0)
				continue;
			if ((hwt_bpf_run(prog, (size_t)n, r.buf, r.size, -1) != 0) != want)
				fail_msg("%s: our machine says %d", text, !want);
			got = k < 3 ? virec_kernel(prog, (size_t)n, r.buf, r.size) : -1;
			if (got >= 0 && got != want)
				fail_msg("%s: the kernel says %d", text, got);
			kernel += got >= 0;
		}
		hwt_filter_free(f);
	}
	print_message("%u records, %u wanted, the kernel asked for %u, %u programs too long\n",
		      all, yes, kernel, refused);
	assert_true(yes > all / 5 && yes < all * 4 / 5);
	assert_true(refused < FILTERS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
