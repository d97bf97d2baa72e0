/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FILTER_FILTER_H
#define HWT_FILTER_FILTER_H

/* A compiled filter: for each event a list of tests that jump forward only, as classic BPF does. */
#include <hwtrace/abi.h>
#include <hwtrace/filter.h>

#include "../base/arena.h"
#include "../base/vec.h"

enum test_op {
	TEST_TRUE,
	TEST_KNOWN,
	TEST_EQ, TEST_GT, TEST_GE,	/* with @value, of the field's sign */
	TEST_BITS,			/* any bit of @value is set */
	TEST_STR, TEST_GLOB		/* with @str */
};

#define FILTER_TESTS	1024		/* of one event */
#define FILTER_DEPTH	64		/* of open parentheses and operators */
#define FILTER_TEXT	(64 * 1024)	/* bytes of a filter */
#define FILTER_GLOB	256		/* bytes of a pattern */

/* Where a test goes on: a later test of the list, or one of these. */
#define FILTER_YES	0xffff
#define FILTER_NO	0xfffe

/* Fields of the record's header have offsets in it; the CPU is in no record. */
#define FILTER_CPU	0xffff
#define FILTER_HIT	16

struct filter_test {
	struct hwt_abi_field f;	/* of context: offsets are from its start */
	uint8_t op;		/* enum test_op */
	uint8_t ctx;		/* it is one of context */
	uint16_t yes, no;
	uint64_t value;
	const char *str;	/* in the filter's arena, @len bytes and a NUL */
	size_t len;
};

/* An event of the tables, or one of a recording's own. */
struct filter_event {
	const char *name;
	unsigned id;
	const struct hwt_abi_field *fields;
	unsigned nfields;
	const struct hwt_abi_event *e;	/* NULL: it is @own */
	const struct hwt_abi_own *own;
};

struct filter_prog {
	struct filter_event e;
	struct vec tests;	/* of struct filter_test */
};

struct hwt_filter {
	struct arena arena;
	unsigned ctx_size;	/* bytes of context in a record */
	struct vec progs;	/* of struct filter_prog, in order of ids */
};

/* The program of event @id, or NULL. */
const struct filter_prog *filter_prog(const struct hwt_filter *f, unsigned id);
/* Where context begins in a record of @version. */
size_t filter_context(const struct filter_event *e, unsigned version);
/* True if the order of the type's values is that of signed numbers. */
int filter_signed(unsigned type);
/* Whether the @n bytes at @s are of the pattern; work is at most their product. */
int filter_glob(const char *pat, size_t npat, const char *s, size_t n);

/* Number of the system call named by @n bytes on @arch, whose 64-bit programs it is for; or -1. */
int filter_syscall(const char *arch, const char *name, size_t n);
/* Name of the one that is number @nr there, or NULL. Static. */
const char *filter_syscall_name(const char *arch, uint64_t nr);
/*
 * Argument @i of call @name there as Linux declares it ("const char * buf"); "" if it has fewer,
 * NULL if its arguments are not known. Static.
 */
const char *filter_syscall_arg(const char *arch, const char *name, unsigned i);
/* The nearest name of one, or NULL. */
const char *filter_syscall_near(const char *arch, const char *name, size_t n);

/* The candidate that is nearest to a word that is none of them. */
struct near {
	const char *word;
	size_t n;
	const char *best;	/* NULL: none is near */
	unsigned dist;
};
void near_init(struct near *a, const char *word, size_t n);
void near_try(struct near *a, const char *name);

#endif
