/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of the function tracer, put together by hand as events/header_event tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "hwtrace/capture/kernel_page.h"

#define PAGE 4096

static const char header[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

#define COMMON \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char irq_format[] = "name: irq_handler_entry\nID: 225\nformat:\n" COMMON
	"\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)\n";
static const char waking_format[] = "name: sched_waking\nID: 375\nformat:\n" COMMON
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n";

/* the same event has the name of a task as an array or as a place, by the kernel's version */
#define MIGRATE(comm, pid, prio, from, to) "name: sched_migrate_task\nID: 371\nformat:\n" COMMON \
	"\tfield:" comm "\tsigned:0;\n" \
	"\tfield:pid_t pid;\toffset:" pid ";\tsize:4;\tsigned:1;\n" \
	"\tfield:int prio;\toffset:" prio ";\tsize:4;\tsigned:1;\n" \
	"\tfield:int orig_cpu;\toffset:" from ";\tsize:4;\tsigned:1;\n" \
	"\tfield:int dest_cpu;\toffset:" to ";\tsize:4;\tsigned:1;\n\n"

struct page { uint8_t b[PAGE]; size_t n; };

static void put32(struct page *p, uint32_t v)
{
	memcpy(p->b + p->n, &v, 4);
	p->n += 4;
}

static void put(struct page *p, const void *v, size_t n)
{
	memcpy(p->b + p->n, v, n);
	p->n += n;
}

static void begin(struct page *p, uint64_t time)
{
	memset(p, 0, sizeof(*p));
	put(p, &time, 8);
	p->n = 16;
}

static void end(struct page *p, uint32_t flags)
{
	uint32_t commit = (uint32_t)(p->n - 16) | flags;

	memcpy(p->b + 8, &commit, 4);
}

/* sched_waking as its format says; 36 bytes: 9 words */
static void waking(struct page *p, uint32_t delta, int32_t by, const char *comm, int32_t pid)
{
	char name[16] = "";

	snprintf(name, sizeof(name), "%s", comm);
	put32(p, delta << 5 | 9);
	put32(p, 375);
	put32(p, (uint32_t)by);
	put(p, name, 16);
	put32(p, (uint32_t)pid);
	put32(p, 120);
	put32(p, 3);
}

static unsigned find(const char *what)
{
	const char *group, *name, *filter;
	unsigned i = 0;

	while (kpage_wanted(i, &group, &name, &filter) && strcmp(name, what))
		i++;
	assert_true(kpage_wanted(i, &group, &name, &filter));
	return i;
}

static void set_up(struct kpage *k)
{
	assert_int_equal(kpage_init(k), 0);
	assert_true(kpage_header(k, header));
	assert_int_equal(k->layout.data_off, 16);
	assert_true(kpage_format(k, find("irq_handler_entry"), irq_format));
	assert_true(kpage_format(k, find("sched_waking"), waking_format));
}

struct got {
	unsigned n;
	int rc;
	union { struct hwt_rec rec; struct hwt_rec_sched_waking waking;
		struct hwt_rec_irq_entry irq;
		struct hwt_rec_sched_migrate migrate; struct hwt_rec_stream_lost lost; } e[8];
};

static int take(void *arg, const struct hwt_rec *rec)
{
	struct got *g = arg;

	assert_true(g->n < 8 && rec->size <= sizeof(g->e[0]));
	memcpy(&g->e[g->n++], rec, rec->size);
	return g->rc;
}

static void records(void **state)
{
	struct got g = { 0 };
	struct kpage k;
	struct page p;

	set_up(&k);
	begin(&p, 1000);
	waking(&p, 5, 77, "worker", 78);
	/* longer times: 27 bits in the header, the rest in a word */
	put32(&p, 3u << 5 | 30);
	put32(&p, 2);
	/* an interrupt: 8 + 8 + "eth0\0" = 21 bytes, the length in a word of its own */
	put32(&p, 7u << 5);
	put32(&p, 4 + 24);
	put32(&p, 225);
	put32(&p, 0);
	put32(&p, 42);
	put32(&p, 5u << 16 | 16);
	put(&p, "eth0\0\0\0\0", 8);
	/* one that nobody asked for, a discarded one, an absolute time */
	put32(&p, 1u << 5 | 2);
	put32(&p, 999);
	put32(&p, 77);
	put32(&p, 1u << 5 | 29);
	put32(&p, 4 + 8);
	put32(&p, 375);
	put32(&p, 1);
	put32(&p, 9u << 5 | 31);
	put32(&p, 1u << 4);
	waking(&p, 1, 0, "a name of 16 byt", 79);
	end(&p, 0);
	assert_int_equal(kpage_read(&k, p.b, PAGE, take, &g), 0);
	assert_int_equal(g.n, 3);
	assert_int_equal(g.e[0].rec.id, HWT_ID_sched_waking);
	assert_int_equal(g.e[0].rec.time, 1005);
	assert_int_equal(g.e[0].rec.tid, 77);
	assert_string_equal(g.e[0].waking.comm, "worker");
	assert_int_equal(g.e[0].waking.wake_tid, 78);
	assert_int_equal(g.e[0].waking.prio, 120);
	assert_int_equal(g.e[0].waking.target_cpu, 3);
	assert_int_equal(g.e[1].rec.id, HWT_ID_irq_entry);
	assert_int_equal(g.e[1].rec.time, 1005 + 3 + (2ull << 27) + 7);
	assert_int_equal(g.e[1].rec.pid, 0);
	assert_int_equal(g.e[1].irq.irq, 42);
	assert_string_equal(g.e[1].irq.name, "eth0");
	assert_int_equal(g.e[2].rec.time, (16ull << 27) + 9 + 1);
	assert_string_equal(g.e[2].waking.comm, "a name of 16 by");
	assert_int_equal(k.turned, 3);
	assert_int_equal(k.left_out, 1);
	kpage_fini(&k);
}

/* sched_migrate_task of Linux 6.18 (a place), with __rel_loc, and of 6.1 (an array) */
static void names(void **state)
{
	static const char *const formats[] = {
		MIGRATE("__data_loc char[] comm;\toffset:8;\tsize:4;", "12", "16", "20", "24"),
		MIGRATE("__rel_loc char[] comm;\toffset:8;\tsize:4;", "12", "16", "20", "24"),
		MIGRATE("char comm[16];\toffset:8;\tsize:16;", "24", "28", "32", "36"),
	};

	for (unsigned i = 0; i < 3; i++) {
		struct got g = { 0 };
		struct kpage k;
		struct page p;

		set_up(&k);
		assert_true(kpage_format(&k, find("sched_migrate_task"), formats[i]));
		begin(&p, 1000);
		put32(&p, 1u << 5 | (i == 2 ? 10 : 9));
		put32(&p, 371);
		put32(&p, 77);
		if (i == 2)
			put(&p, "kworker/1:2\0\0\0\0", 16);
		else
			put32(&p, 8u << 16 | (i ? 28 - 12 : 28));	/* from 12 on, or from 0 */
		put32(&p, 78);
		put32(&p, 120);
		put32(&p, 1);
		put32(&p, 2);
		if (i < 2)
			put(&p, "rcu_gp\0", 8);
		end(&p, 0);
		assert_int_equal(kpage_read(&k, p.b, PAGE, take, &g), 0);
		assert_int_equal(g.n, 1);
		assert_string_equal(g.e[0].migrate.comm, i == 2 ? "kworker/1:2" : "rcu_gp");
		assert_int_equal(g.e[0].migrate.task_tid, 78);
		assert_int_equal(g.e[0].migrate.to_cpu, 2);
		kpage_fini(&k);
	}
}

static void lost(void **state)
{
	struct got g = { 0 };
	struct kpage k;
	struct page p;

	set_up(&k);
	begin(&p, 5000);
	waking(&p, 0, 1, "x", 2);
	end(&p, 1u << 31);
	assert_int_equal(kpage_read(&k, p.b, PAGE, take, &g), 0);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.e[0].rec.id, HWT_ID_stream_lost);
	assert_int_equal(g.e[0].lost.cause, 4);
	assert_true(g.e[0].lost.count == UINT64_MAX);
	/* the kernel writes the number behind the records if there is room (RB_MISSED_STORED) */
	end(&p, 1u << 31 | 1u << 30);
	put32(&p, 77);
	put32(&p, 0);
	g = (struct got){ 0 };
	assert_int_equal(kpage_read(&k, p.b, PAGE, take, &g), 0);
	assert_int_equal(g.n, 2);
	assert_true(g.e[0].lost.count == 77);
	g = (struct got){ .rc = -28 };
	assert_int_equal(kpage_read(&k, p.b, PAGE, take, &g), -28);
	assert_int_equal(g.n, 1);
	kpage_fini(&k);
}

/* Whatever is in a page: no read beyond it (the sanitizer looks), and an end. */
static void damaged(void **state)
{
	struct kpage k;
	struct page p;

	set_up(&k);
	begin(&p, 1);
	waking(&p, 5, 77, "worker", 78);
	waking(&p, 5, 77, "worker", 78);
	end(&p, 0);
	for (size_t i = 0; i < p.n; i++)
		for (unsigned v = 0; v < 256; v += 5) {
			uint8_t *copy = test_malloc(p.n);
			struct got g = { 0 };

			memcpy(copy, p.b, p.n);
			copy[i] = (uint8_t)v;
			kpage_read(&k, copy, p.n, take, &g);
			test_free(copy);
		}
	for (size_t n = 0; n < p.n; n++) {
		uint8_t *copy = test_malloc(n ? n : 1);
		struct got g = { 0 };

		memcpy(copy, p.b, n);
		kpage_read(&k, copy, n, take, &g);
		assert_true(g.n <= 2);
		test_free(copy);
	}
	kpage_fini(&k);
}

static void formats(void **state)
{
	struct kpage k;

	set_up(&k);
	assert_false(kpage_format(&k, find("sched_wakeup"), irq_format));
	assert_false(kpage_format(&k, find("sched_waking"), "no id"));
	assert_false(kpage_format(&k, 9999, waking_format));
	assert_int_equal(k.nevents, 2);
	assert_false(kpage_header(&k, "field: u64 timestamp;\toffset:8;\tsize:8;\n"));
	kpage_fini(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records), cmocka_unit_test(names),
		cmocka_unit_test(lost), cmocka_unit_test(damaged),
		cmocka_unit_test(formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
