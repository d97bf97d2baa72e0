/* SPDX-License-Identifier: BSD-2-Clause */
/* A compiled filter as classic BPF. */
#include <errno.h>
#include <hwtrace/uapi.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>

#include "../base/diag.h"
#include "bpf_asm.h"
#include "filter.h"

#define ID_NO_BPF 163
#define GLOB_MAX 16		/* bytes of a pattern: its states are bits of a word */
#define WORD(off) ((off) & ~3u)

_Static_assert(sizeof(struct hwt_bpf_insn) == sizeof(struct sock_filter) &&
	       offsetof(struct hwt_bpf_insn, k) == offsetof(struct sock_filter, k),
	       "the kernel's layout");
_Static_assert(HWT_BPF_CPU == (uint32_t)SKF_AD_OFF + SKF_AD_CPU && HWT_BPF_MAX == BPF_MAXINSNS,
	       "the kernel's numbers");

static const int big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static void load(struct bpf_asm *a, unsigned off)
{
	bpf_op(a, BPF_LD | BPF_W | BPF_ABS, off == FILTER_CPU ? HWT_BPF_CPU : off);
}

static void load_byte(struct bpf_asm *a, unsigned off)
{
	unsigned shift = 8 * (big ? 3 - off % 4 : off % 4);

	load(a, WORD(off));
	if (shift)
		bpf_op(a, BPF_ALU | BPF_RSH | BPF_K, shift);
	bpf_op(a, BPF_ALU | BPF_AND | BPF_K, 0xff);
}

static void load_half(struct bpf_asm *a, unsigned off)
{
	unsigned shift = 8 * (big ? 2 - off % 4 : off % 4);

	load(a, WORD(off));
	if (shift)
		bpf_op(a, BPF_ALU | BPF_RSH | BPF_K, shift);
	bpf_op(a, BPF_ALU | BPF_AND | BPF_K, 0xffff);
}

static unsigned high(const struct hwt_abi_field *f)
{
	return f->offset + (big ? 0u : 4u);
}

static unsigned low(const struct hwt_abi_field *f)
{
	return f->offset + (big ? 4u : 0u);
}

/* Is it @v: all its words. */
static void emit_equal(struct bpf_asm *a, const struct hwt_abi_field *f, uint64_t v, unsigned yes,
		       unsigned no)
{
	unsigned next;

	if (f->size == 4) {
		load(a, f->offset);
		bpf_jump(a, BPF_JEQ, (uint32_t)v, yes, no);
		return;
	}
	next = bpf_label(a);
	load(a, low(f));
	bpf_jump(a, BPF_JEQ, (uint32_t)v, next, no);
	bpf_here(a, next);
	load(a, high(f));
	bpf_jump(a, BPF_JEQ, (uint32_t)(v >> 32), yes, no);
}

/* The order of signed numbers is that of unsigned ones with the sign flipped. */
static void emit_above(struct bpf_asm *a, const struct filter_test *t, unsigned yes, unsigned no)
{
	unsigned cond = t->op == TEST_GT ? BPF_JGT : BPF_JGE;
	uint32_t flip = filter_signed(t->f.type) ? 0x80000000u : 0;
	uint32_t k = (uint32_t)(t->f.size == 4 ? t->value : t->value >> 32) ^ flip;
	unsigned same, equal;

	load(a, t->f.size == 4 ? t->f.offset : high(&t->f));
	if (flip)
		bpf_op(a, BPF_ALU | BPF_XOR | BPF_K, flip);
	if (t->f.size == 4) {
		bpf_jump(a, cond, k, yes, no);
		return;
	}
	same = bpf_label(a);
	equal = bpf_label(a);
	bpf_jump(a, BPF_JGT, k, yes, same);
	bpf_here(a, same);
	bpf_jump(a, BPF_JEQ, k, equal, no);
	bpf_here(a, equal);
	load(a, low(&t->f));
	bpf_jump(a, cond, (uint32_t)t->value, yes, no);
}

static void emit_bits(struct bpf_asm *a, const struct filter_test *t, unsigned yes, unsigned no)
{
	unsigned next;

	if (t->f.size == 4) {
		load(a, t->f.offset);
		bpf_jump(a, BPF_JSET, (uint32_t)t->value, yes, no);
		return;
	}
	next = bpf_label(a);
	load(a, high(&t->f));
	bpf_jump(a, BPF_JSET, (uint32_t)(t->value >> 32), yes, next);
	bpf_here(a, next);
	load(a, low(&t->f));
	bpf_jump(a, BPF_JSET, (uint32_t)t->value, yes, no);
}

/* The first @n of 16 bytes are @s. */
static void emit_bytes(struct bpf_asm *a, unsigned off, const char *s, size_t n, unsigned yes,
		       unsigned no)
{
	for (size_t i = 0; i < n; i += 4) {
		size_t left = n - i < 4 ? n - i : 4;
		uint32_t word = 0, mask = 0;
		unsigned next = bpf_label(a);

		memcpy(&word, s + i, left);
		memset(&mask, 0xff, left);
		load(a, off + (unsigned)i);
		if (left < 4)
			bpf_op(a, BPF_ALU | BPF_AND | BPF_K, mask);
		bpf_jump(a, BPF_JEQ, word, next, no);
		bpf_here(a, next);
	}
	bpf_goto(a, yes);
}

static void emit_known_name(struct bpf_asm *a, unsigned off, unsigned yes, unsigned no)
{
	unsigned next = bpf_label(a);

	load_byte(a, off);
	bpf_jump(a, BPF_JEQ, 0, no, next);
	bpf_here(a, next);
	emit_bytes(a, off, "-", 2, no, yes);
}

static void emit_known(struct bpf_asm *a, const struct hwt_abi_field *f, unsigned yes, unsigned no)
{
	unsigned next, more;

	if (!f->since) {
		bpf_goto(a, yes);
		return;
	}
	next = bpf_label(a);
	more = bpf_label(a);
	if (f->since > 1) {
		load_half(a, offsetof(struct hwt_rec, version));
		bpf_jump(a, BPF_JGE, f->since, next, no);
	} else if (f->offset == FILTER_HIT) {
		load_half(a, offsetof(struct hwt_rec, flags));
		bpf_jump(a, BPF_JSET, HWT_REC_HIT, next, no);
	}
	bpf_here(a, next);
	switch (f->type) {
	case HWT_ABI_s32:
		emit_equal(a, f, (uint32_t)INT32_MIN, no, yes);
		break;
	case HWT_ABI_s64:
		emit_equal(a, f, (uint64_t)INT64_MIN, no, yes);
		break;
	case HWT_ABI_name16:
		emit_known_name(a, f->offset, yes, no);
		break;
	case HWT_ABI_code16:
		bpf_goto(a, yes);
		break;
	case HWT_ABI_id24:
		load_byte(a, f->offset);
		bpf_jump(a, BPF_JEQ, 0, no, more);
		bpf_here(a, more);
		bpf_jump(a, BPF_JGT, 20, no, yes);
		return;
	default:
		emit_equal(a, f, UINT64_MAX, no, yes);
	}
	bpf_here(a, more);
}

/* The text of a name16 is @s, and ends there. */
static void emit_str(struct bpf_asm *a, const struct filter_test *t, unsigned yes, unsigned no)
{
	char s[16] = { 0 };

	/* 15 characters at most, as the parser sees to: the zero is a part of it */
	memcpy(s, t->str, t->len);
	emit_bytes(a, t->f.offset, s, t->len + 1, yes, no);
}

/*
 * A pattern as a machine whose states are bits of a word: bit j is set when the first j characters
 * of the pattern without its stars fit what was read.
 */
struct states {
	char c[GLOB_MAX];	/* 0: any */
	unsigned n;
	uint32_t any;		/* states that fit any character */
	uint32_t stay;		/* states before a star: they stay whatever comes */
};

static void make_states(struct states *s, const char *pat, size_t n)
{
	*s = (struct states){ .n = 0 };
	for (size_t i = 0; i < n; i++) {
		if (pat[i] == '*') {
			s->stay |= 1u << s->n;
			continue;
		}
		if (pat[i] == '?')
			s->any |= 1u << s->n;
		s->c[s->n++] = pat[i] == '?' ? 0 : pat[i];
	}
}

/* States that go on with @c; X is to hold them. */
static uint32_t fits(const struct states *s, char c)
{
	uint32_t m = s->any;

	for (unsigned j = 0; j < s->n; j++)
		if (s->c[j] && s->c[j] == c)
			m |= 1u << j;
	return m;
}

/* A holds a character that is not zero; its states go to X. */
static void emit_fits(struct bpf_asm *a, const struct states *s)
{
	unsigned join = bpf_label(a);

	for (unsigned j = 0; j < s->n; j++) {
		unsigned hit, next;

		if (!s->c[j] || memchr(s->c, s->c[j], j))
			continue;
		hit = bpf_label(a);
		next = bpf_label(a);
		bpf_jump(a, BPF_JEQ, (uint8_t)s->c[j], hit, next);
		bpf_here(a, hit);
		bpf_op(a, BPF_LDX | BPF_W | BPF_IMM, fits(s, s->c[j]));
		bpf_goto(a, join);
		bpf_here(a, next);
	}
	bpf_op(a, BPF_LDX | BPF_W | BPF_IMM, s->any);
	bpf_here(a, join);
}

/* The states are in word 0 of the scratch memory. */
static void emit_glob(struct bpf_asm *a, const struct filter_test *t, unsigned yes, unsigned no)
{
	unsigned end = bpf_label(a);
	struct states s;

	make_states(&s, t->str, t->len);
	bpf_op(a, BPF_LD | BPF_W | BPF_IMM, 1);
	bpf_op(a, BPF_ST, 0);
	for (unsigned i = 0; i < 16; i++) {
		unsigned next = bpf_label(a);

		load_byte(a, t->f.offset + i);
		bpf_jump(a, BPF_JEQ, 0, end, next);
		bpf_here(a, next);
		emit_fits(a, &s);
		bpf_op(a, BPF_LD | BPF_W | BPF_MEM, 0);
		bpf_op(a, BPF_ALU | BPF_AND | BPF_X, 0);
		bpf_op(a, BPF_ALU | BPF_LSH | BPF_K, 1);
		bpf_op(a, BPF_MISC | BPF_TAX, 0);
		bpf_op(a, BPF_LD | BPF_W | BPF_MEM, 0);
		bpf_op(a, BPF_ALU | BPF_AND | BPF_K, s.stay);
		bpf_op(a, BPF_ALU | BPF_OR | BPF_X, 0);
		bpf_op(a, BPF_ST, 0);
	}
	bpf_here(a, end);
	bpf_op(a, BPF_LD | BPF_W | BPF_MEM, 0);
	bpf_jump(a, BPF_JSET, 1u << s.n, yes, no);
}

/* "abc*": bytes are compared a word at a time. */
static int is_prefix(const struct filter_test *t)
{
	return t->len && t->str[t->len - 1] == '*' && !memchr(t->str, '?', t->len) &&
		!memchr(t->str, '*', t->len - 1);
}

static void emit_test(struct bpf_asm *a, const struct filter_test *t, unsigned yes, unsigned no)
{
	switch (t->op) {
	case TEST_TRUE:
		bpf_goto(a, yes);
		break;
	case TEST_KNOWN:
		emit_known(a, &t->f, yes, no);
		break;
	case TEST_EQ:
		emit_equal(a, &t->f, t->value, yes, no);
		break;
	case TEST_GT:
	case TEST_GE:
		emit_above(a, t, yes, no);
		break;
	case TEST_BITS:
		emit_bits(a, t, yes, no);
		break;
	case TEST_STR:
		emit_str(a, t, yes, no);
		break;
	case TEST_GLOB:
		if (is_prefix(t))
			emit_bytes(a, t->f.offset, t->str, t->len - 1, yes, no);
		else
			emit_glob(a, t, yes, no);
		break;
	}
}

static int refuse(const struct filter_prog *p, struct hwt_diag *diag)
{
	const struct filter_test *t = p->tests.v;

	for (size_t i = 0; i < p->tests.n; i++) {
		if (t[i].f.type == HWT_ABI_text && t[i].op != TEST_TRUE)
			return diag_set(diag, -HWT_E_FILTER, ID_NO_BPF, NULL, HWT_NO_OFF,
					"%s of %s is a text of variable length", t[i].f.name,
					p->e.name);
		if (t[i].op == TEST_GLOB && t[i].len > GLOB_MAX)
			return diag_set(diag, -HWT_E_FILTER, ID_NO_BPF, NULL, HWT_NO_OFF,
					"the pattern \"%.40s\" has more than %d bytes", t[i].str,
					GLOB_MAX);
	}
	return 0;
}

static void emit_prog(struct bpf_asm *a, const struct filter_prog *p)
{
	const struct filter_test *t = p->tests.v;
	unsigned n = (unsigned)p->tests.n, yes, no;
	size_t ctx = filter_context(&p->e, HWT_ABI_VERSION);

	/* label i is that of test i */
	for (unsigned i = 0; i < n; i++)
		bpf_label(a);
	yes = bpf_label(a);
	no = bpf_label(a);
	for (unsigned i = 0; i < n && !a->rc; i++) {
		struct filter_test x = t[i];

		if (x.ctx)
			x.f.offset = (uint16_t)(x.f.offset + ctx);
		bpf_here(a, i);
		emit_test(a, &x,
			  t[i].yes == FILTER_YES ? yes : t[i].yes == FILTER_NO ? no : t[i].yes,
			  t[i].no == FILTER_YES ? yes : t[i].no == FILTER_NO ? no : t[i].no);
	}
	bpf_here(a, yes);
	bpf_op(a, BPF_RET | BPF_K, UINT32_MAX);
	bpf_here(a, no);
	bpf_op(a, BPF_RET | BPF_K, 0);
}

int hwt_filter_bpf(const struct hwt_filter *f, unsigned event_id, struct hwt_bpf_insn *v,
		   size_t max, struct hwt_diag *diag)
{
	const struct filter_prog *p = filter_prog(f, event_id);
	struct bpf_asm a = { .rc = 0 };
	int rc = p ? refuse(p, diag) : 0;

	if (rc)
		return rc;
	if (p)
		emit_prog(&a, p);
	else
		bpf_op(&a, BPF_RET | BPF_K, 0);
	rc = bpf_link(&a, v, max);
	bpf_free(&a);
	if (rc == -ENOSPC)
		return diag_set(diag, rc, ID_NO_BPF, NULL, HWT_NO_OFF, "the program of %s has more "
				"than %zu instructions", p ? p->e.name : "this event",
				max < HWT_BPF_MAX ? max : (size_t)HWT_BPF_MAX);
	return rc < 0 ? diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "out of memory") : rc;
}
