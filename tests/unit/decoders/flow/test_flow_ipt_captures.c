/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel PT of real processors against the instruction lists that LLDB's own tool printed from the
 * same bytes (captures/README.md of the captures). Every address in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "../../../../hwtrace/source/file.h"
#include "../../../support/ptflow.h"

static const char *top;

struct list {
	uint64_t *v;
	size_t n, cap;
	size_t hole;	/* instructions before the last hole in the image */
};

static void add(struct list *l, uint64_t addr)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 1024;
		l->v = realloc(l->v, l->cap * sizeof(*l->v));
		assert_non_null(l->v);
	}
	l->v[l->n++] = addr;
}

/* Lines "ADDRESS  text"; what is in brackets is an event or an error. */
static void read_list(struct list *l, const char *name)
{
	char path[512], line[512];
	gzFile f;

	snprintf(path, sizeof(path), "%s/pt/%s", top, name);
	f = gzopen(path, "rb");
	assert_non_null(f);
	while (gzgets(f, line, sizeof(line)))
		if (line[0] != '[')
			add(l, strtoull(line, NULL, 16));
		else if (strstr(line, "error: no memory mapped"))
			l->hole = l->n;
	gzclose(f);
}

static void expand(struct list *l, struct hwt_image *img, const struct hwt_event *ev)
{
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	uint64_t at = ev->u.range.first;
	struct hwt_insn in = { .size = 1 };
	uint32_t n = 0;

	for (; at <= ev->u.range.last && n < ev->u.range.insns; n++, at += in.size) {
		uint8_t buf[16];
		int got = hwt_image_read(img, &w, at, buf, sizeof(buf));

		assert_true(got > 0);
		assert_int_equal(hwt_insn_decode(&in, ev->u.range.isa, at, buf, (size_t)got), 0);
		add(l, at);
	}
	/* first, last, count and size of the last one agree with the code */
	assert_int_equal(n, ev->u.range.insns);
	assert_int_equal(at, ev->u.range.last + in.size);
	assert_int_equal(ev->u.range.last_size, in.size);
	assert_int_equal(ev->u.range.kind, in.kind);
}

static void walk(struct ptflow *f, struct list *got)
{
	struct flow_args a = { .want = &f->want, .buf = &f->buf, .image = f->image,
		.machine = f->machine, .tsc = &f->tsc };
	struct hwt_event ev[100];
	struct hwt_stream *s;
	int n;

	assert_int_equal(flow_ipt_new(&s, &a, NULL), 0);
	while ((n = hwt_stream_next(s, ev, 100)) > 0)
		for (int i = 0; i < n; i++)
			if (ev[i].type == HWT_EV_RANGE)
				expand(got, f->image, &ev[i]);
	assert_int_equal(n, 0);
	hwt_stream_close(s);
}

static void compare(const char *trace, const char *elf, const char *expect, unsigned model,
		    unsigned stepping, size_t count, size_t extra)
{
	struct list want = { 0 }, got = { 0 };
	struct ptflow f;
	char path[512];
	struct file *file;
	char text[4096];

	read_list(&want, expect);
	assert_int_equal(want.n, count);
	snprintf(path, sizeof(path), "%s/pt/%s", top, trace);
	assert_int_equal(file_open(&file, path, NULL), 0);
	ptflow_init(&f);
	ptflow_span(&f, file->p, file->size);
	snprintf(path, sizeof(path), "%s/pt/%s", top, elf);
	assert_int_equal(image_add_elf(f.image, HWT_NONE, path, 0x400000, NULL), 0);
	f.cfg.r.pt.family = 6;
	f.cfg.r.pt.model = (uint8_t)model;
	f.cfg.r.pt.stepping = (uint8_t)stepping;
	walk(&f, &got);
	assert_int_equal(got.n, want.n);
	assert_memory_equal(got.v, want.v, want.n * sizeof(*want.v));
	count = got.n;
	/* the same count at each level, and the bytes add up */
	ptflow_run(&f, text, sizeof(text));
	assert_int_equal(f.stats.insns, count);
	f.want.level = HWT_LEVEL_CALLS;
	ptflow_run(&f, text, sizeof(text));
	assert_int_equal(f.stats.insns, count);
	f.want.level = HWT_LEVEL_HOLES;
	ptflow_run(&f, text, sizeof(text));
	assert_int_equal(f.stats.insns, count);
	/* behind a missing library flow goes on where a packet names code that is there */
	f.want.level = HWT_LEVEL_RANGES;
	f.want.resync = HWT_RESYNC_PACKET;
	got.n = 0;
	walk(&f, &got);
	assert_int_equal(got.n, want.n + extra);
	for (size_t i = 0; i < want.n; i++)
		assert_int_equal(got.v[i < want.hole ? i : i + extra], want.v[i]);
	ptflow_fini(&f);
	file_close(file);
	free(want.v);
	free(got.v);
}

static void test_thread(void **state)
{
	compare("lldb-thread/in/3842849.trace", "lldb-thread/in/a.out",
		"lldb-thread/expect.insn.txt.gz", 79, 1, 21, 0);
}

static void test_cpu45(void **state)
{
	compare("lldb-cpus/in/cores/45.intelpt_trace", "lldb-cpus/in/modules/m.out",
		"lldb-cpus/expect.cpu45.insn.txt.gz", 85, 4, 61825, 0);
}

static void test_cpu51(void **state)
{
	compare("lldb-cpus/in/cores/51.intelpt_trace", "lldb-cpus/in/modules/m.out",
		"lldb-cpus/expect.cpu51.insn.txt.gz", 85, 4, 19521, 50003 - 19521);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread), cmocka_unit_test(test_cpu45),
		cmocka_unit_test(test_cpu51),
	};
	char path[512];

	if (ptflow_missing())
		return 77;
	top = getenv("HWT_CAPTURES");
	if (!top)
		top = "../shared/captures";
	snprintf(path, sizeof(path), "%s/pt/lldb-thread/in/a.out", top);
	if (access(path, R_OK)) {
		printf("no captures at %s\n", top);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
