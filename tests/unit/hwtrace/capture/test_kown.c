/* SPDX-License-Identifier: BSD-2-Clause */
/* What a user asks for, as the structs of kmod.h and the metadata say it; expected by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "hwtrace/capture/kown.h"

static struct kown *o;
static struct hwt_diag d;

static void functions(void **state)
{
	static const struct hwt_kmod_arg args[] = { { 0, 8, 0, 0 }, { 2, 1, 1, 0 },
		{ 2, 4, 0, 0 }, { 3, 2, 0, 0 } };

	assert_int_equal(kown_new(&o, "kprobe:vfs_read(file, low:s8@2, count:u32@2,"
				  "pos:x16), sched.switch where next_comm in {\"a,b\", \"c\"}, "
				  "kretprobe:vfs_read.part.0/64,\n# kprobe:no\n"
				  "kprobe:f+0x10  ,irq.*", NULL, &d), 0);
	assert_int_equal(o->n, 3);
	assert_string_equal(o->probes[0].symbol, "vfs_read");
	assert_int_equal(o->probes[0].nargs, 4);
	assert_memory_equal(o->probes[0].arg, args, sizeof(args));
	assert_int_equal(o->probes[0].flags | o->probes[0].offset | o->probes[0].active, 0);
	assert_string_equal(o->events[0].name, "kprobe:vfs_read");
	assert_int_equal(o->events[0].id, HWT_ID_DIRTY);
	assert_int_equal(o->events[0].size, 32 + 8 + 4 * 8);
	assert_int_equal(o->events[0].nfields, 5);
	assert_string_equal(o->fields[0][0].name, "ip");
	assert_string_equal(o->fields[0][2].name, "low");
	assert_int_equal(o->fields[0][2].type, HWT_ABI_s64);
	assert_int_equal(o->fields[0][3].type, HWT_ABI_u64);
	assert_int_equal(o->fields[0][4].type, HWT_ABI_x64);
	assert_int_equal(o->fields[0][4].offset, 64);
	assert_string_equal(o->probes[1].symbol, "vfs_read.part.0");
	assert_int_equal(o->probes[1].flags, HWT_KMOD_RETURN);
	assert_int_equal(o->probes[1].active, 64);
	assert_int_equal(o->probes[1].nargs, 1);
	assert_memory_equal(o->probes[1].arg, (&(struct hwt_kmod_arg){ 0, 8, 1, 0 }), 4);
	assert_string_equal(o->events[1].name, "kretprobe:vfs_read.part.0");
	assert_string_equal(o->fields[1][1].name, "ret");
	assert_int_equal(o->probes[2].offset, 16);
	assert_int_equal(o->probes[2].nargs, 0);
	assert_string_equal(o->events[2].name, "kprobe:f+0x10");
	assert_int_equal(o->events[2].id, HWT_ID_DIRTY + 2);
	/* what is left is where it was, and nothing of the functions is */
	assert_null(strstr(o->rest, "vfs_read"));
	assert_non_null(strstr(o->rest, "sched.switch where next_comm in {\"a,b\", \"c\"},"));
	assert_non_null(strstr(o->rest, ",irq.*"));
	kown_free(o);
	assert_int_equal(kown_new(&o, "kretprobe:f(n:u16)", "", &d), 0);
	assert_string_equal(o->rest, "clock.sync");
	assert_int_equal(o->probes[0].arg[0].bytes, 2);
	kown_free(o);
	assert_int_equal(kown_new(&o, "sched.*", "", &d), 0);
	assert_int_equal(o->n | o->contexts, 0);
	assert_string_equal(o->rest, "sched.*");
	kown_free(o);
}

static void contexts(void **state)
{
	assert_int_equal(kown_new(&o, "irq.*", "prio,comm , tid, vtid,cgroup", &d), 0);
	assert_int_equal(o->contexts, 1 | 2 | 4 | 8);
	kown_free(o);
	assert_int_equal(kown_new(&o, "irq.*", "counter:page-faults,aspace,preempt_count",
				  &d), 0);
	assert_int_equal(o->contexts, 64 | 32 | 16);
	/* perf_event_open(2): software, page faults */
	assert_int_equal(o->counter_type, 1);
	assert_int_equal(o->counter_config, 2);
	kown_free(o);
	assert_int_equal(kown_new(&o, "irq.*", "counter:4/0x1a8,prio", &d), 0);
	assert_int_equal(o->contexts, 64 | 4);
	assert_int_equal(o->counter_type, 4);
	assert_int_equal(o->counter_config, 0x1a8);
	kown_free(o);
}

static void refused(void **state)
{
	static const char *const bad[] = { "kprobe:", "kprobe:f(", "kprobe:f(a", "kprobe:f(a:u7)",
		"kprobe:f(a:u32@x)", "kprobe:f(a b)x", "kprobe:f+", "kprobe:f+x", "kretprobe:f+4",
		"kretprobe:f(a, b)", "kretprobe:f(a@1)", "kprobe:f/4", "kretprobe:f/", "kprobe:f g",
		"kprobe:f(a,b,c,d,e,f,g,h,i)", "kprobe:f(:u8)", "kprobe:f(a:)" };
	static const char *const ctx[] = { "priority", "counter", "counter:", "counter:nothing",
		"counter:1", "counter:1/", "counter:1/x", "counter:1/2x", "prio;comm" };
	char name[200] = "kprobe:";
	char many[65 * 10 + 1] = "";

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (kown_new(&o, bad[i], NULL, &d) != -HWT_E_FILTER)
			fail_msg("%s", bad[i]);
	for (unsigned i = 0; i < sizeof(ctx) / sizeof(ctx[0]); i++)
		if (kown_new(&o, "irq.*", ctx[i], &d) != -HWT_E_FILTER)
			fail_msg("%s", ctx[i]);
	memset(name + 7, 'f', 128);
	assert_int_equal(kown_new(&o, name, NULL, &d), -HWT_E_FILTER);
	for (unsigned i = 0; i < 65; i++)
		strcat(many, "kprobe:f, ");
	assert_int_equal(kown_new(&o, many, NULL, &d), -HWT_E_FILTER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions), cmocka_unit_test(contexts), cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
