/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fixtures/filter: what each filter says of each record was worked out by hand. Asked are the
 * interpreter, our own classic BPF machine, and the kernel's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/abi.h>
#include <hwtrace/filter.h>
#include <hwtrace/uapi.h>

#include "tests/support/slurp.h"
#include "tests/support/virec.h"

static struct hwt_bpf_insn prog[HWT_BPF_MAX];
static struct hwt_diag diag;
static unsigned line, vectors, asked, refused;
static int no_kernel;

/* "\n" of the files; other escapes are the language's own. */
static void newlines(char *s)
{
	char *out = s;

	for (; *s; s++)
		if (s[0] == '\\' && s[1] == 'n') {
			*out++ = '\n';
			s++;
		} else {
			*out++ = *s;
		}
	*out = 0;
}

static void check(const struct hwt_filter *f, const char *text, int want, int nobpf)
{
	const struct hwt_abi_event *e;
	struct virec r;
	uint32_t got;
	int n, k;

	virec_make(&r, text);
	assert_int_equal(hwt_abi_record(&e, r.buf, r.size), r.size);
	if (hwt_filter_match_on(f, r.buf, r.size, r.cpu) != want)
		fail_msg("line %u: match says %d", line, !want);
	vectors++;
	n = hwt_filter_bpf(f, e->id, prog, HWT_BPF_MAX, &diag);
	if (nobpf) {
		assert_int_equal(n, -HWT_E_FILTER);
		assert_int_equal(diag.id, 163);
		refused++;
		return;
	}
	if (n <= 0 || hwt_bpf_check(prog, (size_t)n, r.size))
		fail_msg("line %u: program of %d", line, n);
	got = hwt_bpf_run(prog, (size_t)n, r.buf, r.size, r.cpu);
	if (got != (want ? UINT32_MAX : 0))
		fail_msg("line %u: our machine says %u", line, got);
	k = no_kernel ? -1 : virec_kernel(prog, (size_t)n, r.buf, r.size);
	if (k < 0)
		no_kernel = 1;
	else if (k != want)
		fail_msg("line %u: the kernel says %d", line, k);
	else
		asked++;
}

static void language(void **state)
{
	size_t size;
	char *text = (char *)slurp("fixtures/filter/language.txt", &size), *save = NULL;
	char *copy = text, *p;
	struct hwt_filter *f = NULL;
	int nobpf = 0;

	while ((p = strsep(&copy, "\n"))) {
		line++;
		save = strchr(p, ' ');
		if (!*p || *p == '#')
			continue;
		if (!strncmp(p, "filter ", 7)) {
			hwt_filter_free(f);
			f = NULL;
			newlines(++save);
			nobpf = 0;
			if (hwt_filter_new_for(&f, save, "x86_64", &diag))
				fail_msg("line %u: %s", line, diag.text);
		} else if (!strcmp(p, "nobpf")) {
			nobpf = 1;
		} else if (!strncmp(p, "yes ", 4)) {
			check(f, p + 4, 1, nobpf);
		} else if (!strncmp(p, "no ", 3)) {
			check(f, p + 3, 0, nobpf);
		} else {
			fail_msg("line %u: %s", line, p);
		}
	}
	hwt_filter_free(f);
	free(text);
	assert_true(vectors > 200);
	if (no_kernel)
		print_message("the kernel could not be asked\n");
	else
		assert_int_equal(asked + refused, vectors);
}

static void errors(void **state)
{
	size_t size;
	char *text = (char *)slurp("fixtures/filter/errors.txt", &size), *copy = text, *p;
	unsigned n = 0;

	for (line = 1; (p = strsep(&copy, "\n")); line++) {
		struct hwt_filter *f = NULL;
		char *filter, *at;

		if (!*p || *p == '#')
			continue;
		filter = strchr(p, '\t');
		*filter++ = 0;
		newlines(filter);
		at = strchr(filter, '@');
		memmove(at, at + 1, strlen(at));
		diag = (struct hwt_diag){ .code = 0 };
		if (hwt_filter_new_for(&f, filter, "x86_64", &diag) != -HWT_E_FILTER || f)
			fail_msg("line %u: taken", line);
		assert_int_equal(diag.id, 162);
		if (diag.off != (uint64_t)(at - filter) || !strstr(diag.text, p))
			fail_msg("line %u: byte %u: %s", line, (unsigned)diag.off, diag.text);
		n++;
	}
	free(text);
	assert_true(n > 40);
}

static void machines(void **state)
{
	struct hwt_filter *f = NULL;
	struct virec r;

	assert_int_equal(hwt_filter_new(&f, "syscall.enter:read", &diag), -HWT_E_FILTER);
	assert_int_equal(hwt_filter_new_for(&f, "syscall.enter:read", "arm", &diag),
			 -HWT_E_FILTER);
	assert_int_equal(hwt_filter_new_for(&f, "syscall.enter:read", "aarch64", &diag), 0);
	virec_make(&r, "syscall.enter nr=63");
	assert_int_equal(hwt_filter_match(f, r.buf, r.size), 1);
	virec_make(&r, "syscall.enter nr=0");
	assert_int_equal(hwt_filter_match(f, r.buf, r.size), 0);
	hwt_filter_free(f);
	/* calls that only one of them has */
	assert_int_equal(hwt_filter_new_for(&f, "syscall.enter:open", "aarch64", &diag),
			 -HWT_E_FILTER);
	assert_int_equal(hwt_filter_new_for(&f, "syscall.enter:open", "x86_64", &diag), 0);
	hwt_filter_free(f);
}

/* The CPU is no part of a record: the reader says it; in the kernel it is the one that runs. */
static void cpu(void **state)
{
	struct hwt_filter *f = NULL;
	struct virec r;
	int n;

	assert_int_equal(hwt_filter_new(&f, "irq.entry where cpu in {2..3}", &diag), 0);
	virec_make(&r, "irq.entry irq=1");
	n = hwt_filter_bpf(f, HWT_ID_irq_entry, prog, HWT_BPF_MAX, &diag);
	assert_true(n > 0);
	assert_int_equal(hwt_bpf_check(prog, (size_t)n, r.size), 0);
	for (int c = -1; c < 6; c++) {
		int want = c == 2 || c == 3;

		assert_int_equal(hwt_filter_match_on(f, r.buf, r.size, c), want);
		assert_int_equal(hwt_bpf_run(prog, (size_t)n, r.buf, r.size, c) != 0, want);
	}
	assert_int_equal(hwt_filter_match(f, r.buf, r.size), 0);
	hwt_filter_free(f);
	assert_int_equal(hwt_filter_new(&f, "irq.entry where cpu < 65536", &diag), 0);
	n = hwt_filter_bpf(f, HWT_ID_irq_entry, prog, HWT_BPF_MAX, &diag);
	assert_true(n > 0);
	if (!no_kernel)
		assert_int_equal(virec_kernel(prog, (size_t)n, r.buf, r.size), 1);
	hwt_filter_free(f);
}

static void events(void **state)
{
	struct hwt_filter *f = NULL;
	struct virec r;

	assert_int_equal(hwt_filter_new(&f, "softirq.exit, irq.entry, softirq.exit", NULL), 0);
	assert_int_equal(hwt_filter_event(f, 0), HWT_ID_irq_entry);
	assert_int_equal(hwt_filter_event(f, 1), HWT_ID_softirq_exit);
	assert_int_equal(hwt_filter_event(f, 2), 0);
	/* an event that is not named: a program that says no */
	assert_int_equal(hwt_filter_bpf(f, HWT_ID_irq_exit, prog, 1, NULL), 1);
	assert_int_equal(prog[0].code, 0x06);
	assert_int_equal(prog[0].k, 0);
	assert_int_equal(hwt_filter_bpf(f, HWT_ID_irq_entry, prog, 0, NULL), -ENOSPC);
	/* what is no whole record is not wanted */
	virec_make(&r, "irq.entry irq=1");
	assert_int_equal(hwt_filter_match(f, r.buf, r.size), 1);
	assert_int_equal(hwt_filter_match(f, r.buf, r.size - 8), 0);
	assert_int_equal(hwt_filter_match(f, r.buf, 0), 0);
	hwt_filter_free(f);
	f = NULL;
	hwt_filter_free(f);
}

/* Limits: depth, comparisons, text; long chains are no depth. */
static void limits(void **state)
{
	static char text[70000];
	struct hwt_filter *f = NULL;
	size_t n;

	n = (size_t)sprintf(text, "irq.entry where ");
	memset(text + n, '(', 64);
	strcpy(text + n + 64, "irq == 1");
	memset(text + strlen(text), ')', 64);
	assert_int_equal(hwt_filter_new(&f, text, &diag), 0);
	hwt_filter_free(f);
	f = NULL;
	memset(text + n, '!', 65);
	strcpy(text + n + 65, "irq == 1");
	assert_int_equal(hwt_filter_new(&f, text, &diag), -HWT_E_FILTER);
	assert_non_null(strstr(diag.text, "64"));

	n = (size_t)sprintf(text, "irq.entry where irq == 0");
	for (int i = 1; i < 1024; i++)
		n += (size_t)sprintf(text + n, " || irq == %d", i);
	assert_int_equal(hwt_filter_new(&f, text, &diag), 0);
	assert_int_equal(hwt_filter_bpf(f, HWT_ID_irq_entry, prog, HWT_BPF_MAX, &diag) > 0, 1);
	hwt_filter_free(f);
	f = NULL;
	strcat(text, " || irq == 9");
	assert_int_equal(hwt_filter_new(&f, text, &diag), -HWT_E_FILTER);
	assert_non_null(strstr(diag.text, "1024"));

	memset(text, ' ', 65536);
	memcpy(text, "irq.entry", 9);
	text[65536] = 0;
	assert_int_equal(hwt_filter_new(&f, text, &diag), 0);
	hwt_filter_free(f);
	f = NULL;
	text[65536] = ' ';
	assert_int_equal(hwt_filter_new(&f, text, &diag), -HWT_E_FILTER);

	n = (size_t)sprintf(text, "sched.comm where comm ~ \"");
	memset(text + n, '?', 256);
	strcpy(text + n + 256, "\"");
	assert_int_equal(hwt_filter_new(&f, text, &diag), 0);
	hwt_filter_free(f);
	f = NULL;
	strcpy(text + n + 256, "?\"");
	assert_int_equal(hwt_filter_new(&f, text, &diag), -HWT_E_FILTER);

	/* a program that is too long for the kernel is refused, and still matches offline */
	n = (size_t)sprintf(text, "sched.comm where comm ~ \"?abcdefghijklm*\"");
	for (int i = 0; i < 8; i++)
		n += (size_t)sprintf(text + n, " || comm ~ \"?%cbcdefghijklm*\"", 'n' + i);
	assert_int_equal(hwt_filter_new(&f, text, &diag), 0);
	assert_int_equal(hwt_filter_bpf(f, HWT_ID_sched_comm, prog, HWT_BPF_MAX, &diag), -ENOSPC);
	assert_int_equal(diag.id, 163);
	hwt_filter_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(language),
		cmocka_unit_test(errors),
		cmocka_unit_test(machines),
		cmocka_unit_test(cpu),
		cmocka_unit_test(events),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
