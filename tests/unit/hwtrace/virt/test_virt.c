/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instances of events written by hand, as the kernel's format files and LTTng's metadata describe
 * their fields, and what they mean by the words of events.def. Longer than other files: one table
 * with a row for each map.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/abi.h>
#include <hwtrace/event.h>

#include "hwtrace/virt/virt.h"

/* fields: "name=number", "name='text'", "name=[size:number,number]", in their order */
struct inst { const char *text; };

static const char *value_of(const char *text, const char *field, unsigned index)
{
	size_t n = field ? strlen(field) : 0;

	for (unsigned i = 0; text && *text; i++) {
		const char *eq = strchr(text, '=');

		assert_non_null(eq);
		if (field ? (size_t)(eq - text) == n && !memcmp(text, field, n) : i == index)
			return eq + 1;
		text = eq[1] == '\'' ? strchr(eq + 2, '\'') + 1 : eq + 1;
		text = strchr(text, ' ');
		if (text)
			text++;
	}
	return NULL;
}

static int number(void *arg, const char *field, uint64_t *v)
{
	const char *p = value_of(((struct inst *)arg)->text, field, 0);

	if (!p || *p == '\'' || *p == '[')
		return 0;
	*v = strtoull(p, NULL, 0);
	return 1;
}

static int string(void *arg, const char *field, const char **s, size_t *n)
{
	const char *p = value_of(((struct inst *)arg)->text, field, 0);

	if (!p || *p != '\'')
		return 0;
	*s = p + 1;
	*n = (size_t)(strchr(p + 1, '\'') - *s);
	return 1;
}

static int item(void *arg, const char *field, unsigned i, uint64_t *v)
{
	const char *p = value_of(((struct inst *)arg)->text, field, i);
	int size;

	if (!field) {
		if (!p || *p == '\'' || *p == '[')
			return 0;
		*v = strtoull(p, NULL, 0);
		return 8;
	}
	if (!p || *p != '[')
		return 0;
	size = atoi(p + 1);
	p = strchr(p, ':') + 1;
	for (; i; i--) {
		p += strcspn(p, ",]");
		if (*p++ == ']')
			return 0;
	}
	*v = strtoull(p, NULL, 0);
	return size;
}

static uint64_t buf[VIRT_REC_MAX / 8];

/* The record of one instance as text; "dirty" if it is none. */
static const char *turn(struct virt_state *s, const struct virt_ctx *c, enum virt_provider p,
			const char *system, const char *name, const char *fields)
{
	static char text[2048];
	const struct virt_map *m = virt_find(p, system, name);
	struct inst in = { fields };
	const struct virt_get g = { number, string, item, &in };
	const struct hwt_abi_event *e;
	int n, k;

	if (!m)
		return "dirty";
	n = virt_make(m, s, c, &g, buf);
	assert_true(n >= 0);
	if (!n)
		return "dirty";
	assert_int_equal(hwt_abi_record(&e, buf, sizeof(buf)), n);
	assert_non_null(e);
	k = snprintf(text, sizeof(text), "%s ", e->name);
	hwt_abi_format(text + k, sizeof(text) - (size_t)k, e, buf);
	if (text[k] == 0)
		text[k - 1] = 0;
	return text;
}

static const struct hwt_rec *header(void)
{
	return (const void *)buf;
}

static struct virt_state *fresh(const char *arch, const char *release)
{
	struct virt_state *s;

	assert_int_equal(virt_state_new(&s), 0);
	virt_state_kernel(s, arch, release);
	return s;
}

static const struct virt_ctx ctx = { .time = 1000, .cpu = 2, .pid = 70, .tid = 71 };

struct row { const char *system, *name, *fields, *want; };

/* names and fields of Linux 6.18 where nothing else is said */
static const struct row on_linux[] = {
	{ "sched", "sched_switch", "prev_comm='a b' prev_pid=71 prev_prio=120 prev_state=0x2 "
	  "next_comm='swapper/2' next_pid=0 next_prio=120",
	  "sched.switch prev_pid=70 prev_tid=71 next_pid=0 next_tid=0 prev_prio=120 "
	  "next_prio=120 "
	  "prev_state=wait preempted=no prev_comm=\"a b\" next_comm=\"swapper/2\"" },
	{ "sched", "sched_switch", "prev_comm='a' prev_pid=71 prev_prio=-1 prev_state=0x100 "
	  "next_comm='b' next_pid=72 next_prio=99",
	  "sched.switch prev_pid=70 prev_tid=71 next_tid=72 prev_prio=-1 next_prio=99 "
	  "prev_state=ready preempted=yes prev_comm=\"a\" next_comm=\"b\"" },
	{ "sched", "sched_switch", "prev_pid=71 prev_state=0 next_pid=72",
	  "sched.switch prev_pid=70 prev_tid=71 next_tid=72 prev_state=ready" },
	{ "sched", "sched_waking", "comm='x' pid=5 prio=98 target_cpu=3",
	  "sched.waking wake_tid=5 prio=98 target_cpu=3 comm=\"x\"" },
	/* Linux 4.1: a wakeup that found the task awake */
	{ "sched", "sched_wakeup", "comm='x' pid=5 prio=98 success=0 target_cpu=3", "dirty" },
	{ "sched", "sched_wakeup", "comm='x' pid=5 prio=98 success=1 target_cpu=3",
	  "sched.wakeup wake_tid=5 prio=98 target_cpu=3 comm=\"x\"" },
	{ "sched", "sched_wakeup_new", "comm='x' pid=5 prio=98 target_cpu=3",
	  "sched.wakeup_new wake_tid=5 prio=98 target_cpu=3 comm=\"x\"" },
	{ "sched", "sched_migrate_task", "comm='x' pid=5 prio=98 orig_cpu=0 dest_cpu=1",
	  "sched.migrate task_tid=5 from_cpu=0 to_cpu=1 comm=\"x\"" },
	{ "sched", "sched_process_fork", "parent_comm='p' parent_pid=71 child_comm='c' "
	  "child_pid=90",
	  "sched.fork parent_pid=70 parent_tid=71 child_tid=90 comm=\"c\"" },
	{ "sched", "sched_process_exec", "filename='/bin/x y' pid=90 old_pid=91",
	  "sched.exec task_pid=90 task_tid=90 old_tid=91 path=\"/bin/x y\"" },
	{ "sched", "sched_process_exit", "comm='x' pid=71 prio=120 group_dead=0",
	  "sched.exit task_pid=70 task_tid=71 prio=120 last=no comm=\"x\"" },
	{ "sched", "sched_process_exit", "comm='x' pid=71 prio=120",
	  "sched.exit task_pid=70 task_tid=71 prio=120 comm=\"x\"" },
	{ "sched", "sched_process_free", "comm='x' pid=1000 prio=120",
	  "sched.free task_tid=1000 comm=\"x\"" },
	{ "task", "task_rename", "pid=71 oldcomm='old' newcomm='a name that is too long' oom=0",
	  "sched.comm task_pid=70 task_tid=71 comm=\"a name that is \"" },
	{ "sched", "sched_pi_setprio", "comm='x' pid=5 oldprio=120 newprio=49",
	  "sched.inherit task_tid=5 old_prio=120 new_prio=49 comm=\"x\"" },
	{ "signal", "signal_generate", "sig=17 errno=0 code=-6 comm='x' pid=5 group=1 result=4",
	  "sched.signal_send to_tid=5 signal=17 code=-6 group=yes result=no_data comm=\"x\"" },
	{ "signal", "signal_deliver", "sig=11 errno=0 code=1 sa_handler=0x401000 "
	  "sa_flags=0x4000000",
	  "sched.signal_deliver signal=11 code=1 handler=0x401000 handler_flags=0x4000000" },
	{ "irq", "irq_handler_entry", "irq=19 name='a device of a name'",
	  "irq.entry irq=19 kind=device name=\"a device of a n\"" },
	{ "irq", "irq_handler_exit", "irq=19 ret=2",
	  "irq.exit irq=19 kind=device result=wake_thread" },
	{ "irq_vectors", "local_timer_entry", "vector=236",
	  "irq.entry irq=236 kind=timer name=\"local_timer\"" },
	{ "irq_vectors", "reschedule_exit", "vector=253", "irq.exit irq=253 kind=reschedule "
	  "result=handled" },
	{ "irq_vectors", "call_function_entry", "vector=252",
	  "irq.entry irq=252 kind=call_many name=\"call_function\"" },
	{ "irq_vectors", "call_function_single_entry", "vector=251",
	  "irq.entry irq=251 kind=call_one name=\"call_function_s\"" },
	{ "irq_vectors", "irq_work_entry", "vector=246", "irq.entry irq=246 kind=irq_work "
	  "name=\"irq_work\"" },
	{ "irq_vectors", "thermal_apic_entry", "vector=250",
	  "irq.entry irq=250 kind=other name=\"thermal_apic\"" },
	{ "irq_vectors", "vector_setup", "irq=1 is_legacy=0 ret=0", "dirty" },
	/* Arm */
	{ "ipi", "ipi_entry", "reason='Rescheduling interrupts'",
	  "irq.entry kind=reschedule name=\"Rescheduling in\"" },
	{ "ipi", "ipi_exit", "reason='Function call interrupts'",
	  "irq.exit kind=call_many result=handled" },
	{ "ipi", "ipi_raise", "target_cpus=[8:0x6] reason='CPU stop interrupts'",
	  "irq.ipi_send kind=other first_cpu=0 cpus=0x6" },
	{ "ipi", "ipi_send_cpu", "cpu=70 callsite=0xffff callback=0",
	  "irq.ipi_send kind=reschedule first_cpu=64 cpus=0x40 callsite=0xffff callback=0x0" },
	{ "ipi", "ipi_send_cpumask", "cpumask=[4:0,0,1] callsite=0xfff callback=0xff0",
	  "irq.ipi_send kind=call_many first_cpu=64 cpus=0x1 callsite=0xfff callback=0xff0" },
	{ "ipi", "ipi_send_cpumask", "cpumask=[8:1,1] callsite=0xfff callback=0xff0", "dirty" },
	{ "irq", "softirq_raise", "vec=9", "softirq.raise vec=rcu" },
	{ "irq", "softirq_entry", "vec=3", "softirq.entry vec=net_rx" },
	{ "irq", "softirq_exit", "vec=1", "softirq.exit vec=timer" },
	{ "workqueue", "workqueue_queue_work", "work=0x10 function=0x20 workqueue='events' "
	  "req_cpu=1 cpu=1",
	  "softirq.work_queue work=0x10 function=0x20 wanted_cpu=1 target_cpu=1 "
	  "queue=\"events\"" },
	/* any CPU: the number of CPUs that the kernel was built for; a pool of no CPU */
	{ "workqueue", "workqueue_queue_work", "work=0x10 function=0x20 req_cpu=8192 cpu=-1",
	  "softirq.work_queue work=0x10 function=0x20" },
	{ "workqueue", "workqueue_execute_start", "work=0x10 function=0x20",
	  "softirq.work_start work=0x10 function=0x20" },
	/* 5.4 and older do not tell the function at the end */
	{ "workqueue", "workqueue_execute_end", "work=0x10", "softirq.work_end work=0x10" },
	{ "workqueue", "workqueue_activate_work", "work=0x10", "dirty" },
	{ "block", "block_bio_queue", "dev=0xfe00001 sector=8 nr_sector=16 rwbs='FWFSM' comm='x'",
	  "block.queue sector=8 dev=266338305 op=write bytes=8192 "
	  "op_flags=sync|meta|fua|preflush comm=\"x\"" },
	{ "block", "block_rq_insert", "dev=1 sector=8 nr_sector=8 bytes=0 ioprio=0 "
	  "rwbs='RA' comm='x' cmd=''",
	  "block.insert sector=8 dev=1 op=read bytes=4096 op_flags=ahead comm=\"x\"" },
	{ "block", "block_rq_issue", "dev=1 sector=0 nr_sector=0 bytes=36 rwbs='N' comm='x' "
	  "cmd='12 0'",
	  "block.issue sector=0 dev=1 op=other bytes=36 op_flags=0 comm=\"x\"" },
	{ "block", "block_rq_issue", "dev=1 sector=0 nr_sector=0 bytes=0 rwbs='FF' comm='x'",
	  "block.issue sector=0 dev=1 op=flush bytes=0 op_flags=preflush comm=\"x\"" },
	{ "block", "block_rq_issue", "dev=1 sector=0 nr_sector=8 bytes=4096 rwbs='DES' comm='x'",
	  "block.issue sector=0 dev=1 op=secure_erase bytes=4096 op_flags=sync comm=\"x\"" },
	{ "block", "block_rq_issue", "dev=1 sector=0 nr_sector=8 bytes=4096 rwbs='ZRA' comm='x'",
	  "block.issue sector=0 dev=1 op=zone bytes=4096 op_flags=0 comm=\"x\"" },
	{ "block", "block_rq_requeue", "dev=1 sector=8 nr_sector=8 rwbs='D' cmd=''",
	  "block.requeue sector=8 dev=1 op=discard bytes=4096 op_flags=0" },
	{ "block", "block_rq_complete", "dev=1 sector=8 nr_sector=8 error=-5 rwbs='WS'",
	  "block.complete sector=8 dev=1 op=write bytes=4096 error=-5" },
	/* before 4.13 */
	{ "block", "block_rq_complete", "dev=1 sector=8 errors=0 nr_sector=8 rwbs='WS'",
	  "block.complete sector=8 dev=1 op=write bytes=4096 error=0" },
	{ "net", "netif_receive_skb", "skbaddr=0x99 len=52 name='eth0'",
	  "net.rx packet=0x99 bytes=52 dev=\"eth0\"" },
	{ "net", "net_dev_queue", "skbaddr=0x99 len=66 name='eth0'",
	  "net.tx packet=0x99 bytes=66 dev=\"eth0\"" },
	{ "net", "net_dev_xmit", "skbaddr=0x99 len=66 rc=16 name='eth0'",
	  "net.xmit packet=0x99 bytes=66 result=16 dev=\"eth0\"" },
	{ "napi", "napi_poll", "napi=0x1 dev_name='eth0' work=7 budget=64",
	  "net.poll work=7 budget=64 dev=\"eth0\"" },
	{ "napi", "napi_poll", "napi=0x1 dev_name='eth0'", "net.poll dev=\"eth0\"" },
	{ "skb", "kfree_skb", "skbaddr=0x99 location=0xfff rx_sk=0 protocol=8 reason=2",
	  "net.drop packet=0x99 location=0xfff" },
	{ "skb", "consume_skb", "skbaddr=0x99 location=0xfff", "dirty" },
	{ "exceptions", "page_fault_user", "address=0x1000 ip=0x401000 error_code=0x6",
	  "mm.fault addr=0x1000 ip=0x401000 access=write|user" },
	{ "exceptions", "page_fault_kernel", "address=0x1000 ip=0xfff error_code=0x11",
	  "mm.fault addr=0x1000 ip=0xfff access=fetch|present" },
	{ "module", "module_load", "taints=0x1000 name='mod'",
	  "text.module_load taints=0x1000 name=\"mod\"" },
	{ "module", "module_free", "name='mod'", "text.module_unload name=\"mod\"" },
	{ "power", "cpu_idle", "state=2 cpu_id=1", "power.idle_enter state=2 target_cpu=1" },
	{ "power", "cpu_idle", "state=4294967295 cpu_id=1",
	  "power.idle_exit state=2 target_cpu=1" },
	{ "power", "cpu_idle", "state=4294967295 cpu_id=3", "power.idle_exit target_cpu=3" },
	{ "power", "cpu_frequency", "state=2400000 cpu_id=1",
	  "power.frequency khz=2400000 target_cpu=1" },
	{ "power", "suspend_resume", "action='machine_suspend' val=3 start=1",
	  "power.suspend begin=yes mode=memory" },
	{ "power", "suspend_resume", "action='dpm_suspend' val=2 start=1", "dirty" },
	{ "power", "suspend_resume", "action=0xffff val=2 start=1", "dirty" },
	{ "timer", "timer_start", "timer=0x10 function=0x20 expires=100 bucket_expiry=100 "
	  "now=90 flags=0",
	  "timer.start timer=0x10 function=0x20" },
	{ "timer", "timer_cancel", "timer=0x10", "timer.cancel timer=0x10" },
	{ "timer", "timer_expire_entry", "timer=0x10 now=1 function=0x20 baseclk=1",
	  "timer.expire timer=0x10 function=0x20" },
	{ "timer", "timer_expire_exit", "timer=0x10", "timer.done timer=0x10" },
	{ "timer", "hrtimer_start", "hrtimer=0x10 function=0x20 expires=-5 softexpires=-6 mode=1",
	  "timer.hr_start timer=0x10 function=0x20 expires=-5 soft_expires=-6" },
	{ "timer", "hrtimer_cancel", "hrtimer=0x10", "timer.hr_cancel timer=0x10" },
	{ "timer", "hrtimer_expire_entry", "hrtimer=0x10 now=7 function=0x20",
	  "timer.hr_expire timer=0x10 function=0x20 now=7" },
	{ "timer", "hrtimer_expire_exit", "hrtimer=0x10", "timer.hr_done timer=0x10" },
	/* an event of that name in another system is another event */
	{ "other", "sched_switch", "prev_pid=1 next_pid=2", "dirty" },
	{ "sched", "sched_stat_runtime", "comm='x' pid=1 runtime=5", "dirty" },
	/* what it is about is missing */
	{ "sched", "sched_switch", "prev_comm='x' prev_pid=71", "dirty" },
	{ "irq", "irq_handler_entry", "name='x'", "dirty" },
};

static void linux_events(void **state)
{
	struct virt_state *s = fresh("x86_64", "6.18.1");

	for (size_t i = 0; i < sizeof(on_linux) / sizeof(on_linux[0]); i++) {
		const struct row *r = &on_linux[i];

		assert_string_equal(turn(s, &ctx, VIRT_LINUX, r->system, r->name, r->fields),
				    r->want);
		if (strcmp(r->want, "dirty"))
			assert_int_equal(header()->time, 1000);
	}
	virt_state_free(s);
}

/* lttng-modules 2.10 to 2.13; priorities are less 100, x_pid is a process */
static const struct row on_lttng[] = {
	{ NULL, "sched_switch", "prev_comm='a' prev_tid=71 prev_prio=20 prev_state=1 "
	  "next_comm='b' "
	  "next_tid=72 next_prio=-1",
	  "sched.switch prev_pid=70 prev_tid=71 next_tid=72 prev_prio=120 next_prio=99 "
	  "prev_state=sleep preempted=no prev_comm=\"a\" next_comm=\"b\"" },
	{ NULL, "sched_waking", "comm='x' tid=5 prio=20 target_cpu=3",
	  "sched.waking wake_tid=5 prio=120 target_cpu=3 comm=\"x\"" },
	{ NULL, "sched_process_fork", "parent_comm='p' parent_tid=71 parent_pid=70 "
	  "parent_ns_inum=1 child_comm='c' child_tid=90 child_pid=70 child_ns_inum=1",
	  "sched.fork parent_pid=70 parent_tid=71 child_pid=70 child_tid=90 comm=\"c\"" },
	{ NULL, "sched_process_exec", "filename='/bin/x' tid=90 old_tid=91",
	  "sched.exec task_pid=90 task_tid=90 old_tid=91 path=\"/bin/x\"" },
	{ NULL, "sched_process_exit", "comm='x' tid=71 prio=20",
	  "sched.exit task_pid=70 task_tid=71 prio=120 comm=\"x\"" },
	{ NULL, "sched_pi_setprio", "comm='x' tid=5 oldprio=20 newprio=-51",
	  "sched.inherit task_tid=5 old_prio=120 new_prio=49 comm=\"x\"" },
	{ NULL, "signal_generate", "sig=17 errno=0 code=1 comm='x' pid=5 group=0 result=0",
	  "sched.signal_send to_tid=5 signal=17 code=1 group=no result=queued comm=\"x\"" },
	{ NULL, "irq_handler_entry", "irq=19 name='ahci'",
	  "irq.entry irq=19 kind=device name=\"ahci\"" },
	{ NULL, "irq_softirq_entry", "vec=3", "softirq.entry vec=net_rx" },
	{ NULL, "softirq_exit", "vec=3", "softirq.exit vec=net_rx" },
	{ NULL, "x86_irq_vectors_local_timer_entry", "vector=239",
	  "irq.entry irq=239 kind=timer name=\"local_timer\"" },
	{ NULL, "x86_exceptions_page_fault_user", "address=0x1000 ip=0x40 error_code=4",
	  "mm.fault addr=0x1000 ip=0x40 access=user" },
	{ NULL, "timer_hrtimer_start", "hrtimer=0x10 function=0x20 expires=5 softexpires=5",
	  "timer.hr_start timer=0x10 function=0x20 expires=5 soft_expires=5" },
	{ NULL, "hrtimer_expire_entry", "hrtimer=0x10 now=7 function=0x20",
	  "timer.hr_expire timer=0x10 function=0x20 now=7" },
	{ NULL, "timer_start", "timer=0x10 function=0x20 expires=9 now=9",
	  "timer.start timer=0x10 function=0x20 delay=0" },
	{ NULL, "block_rq_issue", "dev=0x800001 sector=8 nr_sector=8 bytes=0 tid=1 "
	  "rwbs=0x421 comm='x'",
	  "block.issue sector=8 dev=8388609 op=write bytes=4096 op_flags=sync|preflush "
	  "comm=\"x\"" },
	{ NULL, "block_rq_complete", "dev=1 sector=8 nr_sector=8 error=0 rwbs=0x82",
	  "block.complete sector=8 dev=1 op=secure_erase bytes=4096 error=0" },
	{ NULL, "net_if_receive_skb", "skbaddr=0x99 len=52 name='eth0' network_header_type=0",
	  "net.rx packet=0x99 bytes=52 dev=\"eth0\"" },
	{ NULL, "net_dev_xmit", "skbaddr=0x99 rc=0 len=66 name='eth0'",
	  "net.xmit packet=0x99 bytes=66 result=0 dev=\"eth0\"" },
	{ NULL, "skb_kfree", "skbaddr=0x99 location=0xfff protocol=8",
	  "net.drop packet=0x99 location=0xfff" },
	{ NULL, "power_cpu_idle", "state=1 cpu_id=0", "power.idle_enter state=1 target_cpu=0" },
	{ NULL, "power_machine_suspend", "state=4294967295", "power.suspend begin=no" },
	{ NULL, "module_load", "taints=0 name='mod'",
	  "text.module_load taints=0x0 name=\"mod\"" },
	{ NULL, "syscall_entry_openat", "dfd=-100 filename='/etc' flags=0 mode=0",
	  "syscall.enter" },
	{ NULL, "syscall_exit_openat", "ret=3", "syscall.exit ret=3" },
	{ NULL, "compat_syscall_exit_read", "ret=-4 buf=1", "syscall.exit abi=bits32 ret=-4" },
	{ NULL, "syscall_entry_unknown", "id=555 args=[8:1,2,3]", "syscall.enter nr=555" },
	{ NULL, "exit_syscall", "ret=0", "syscall.exit ret=0" },
	{ NULL, "lttng_statedump_process_state", "tid=1 pid=1", "dirty" },
	{ NULL, "sched_stat_runtime", "comm='x' tid=1", "dirty" },
};

static void lttng_events(void **state)
{
	struct virt_state *s = fresh("", "4.15.0-65-generic");

	for (size_t i = 0; i < sizeof(on_lttng) / sizeof(on_lttng[0]); i++) {
		const struct row *r = &on_lttng[i];

		assert_string_equal(turn(s, &ctx, VIRT_LTTNG, r->system, r->name, r->fields),
				    r->want);
	}
	virt_state_free(s);
}

/* What each provider can tell at all; a new map must be added to the rows above. */
static void coverage(void **state)
{
	const struct hwt_abi_event *e;
	char missing[2048] = "";

	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
		bool found = false;

		for (size_t k = 0; k < sizeof(on_linux) / sizeof(on_linux[0]); k++) {
			size_t n = strlen(e->name);

			found |= !strncmp(on_linux[k].want, e->name, n) &&
				(on_linux[k].want[n] == ' ' || !on_linux[k].want[n]);
		}
		if (!found)
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing),
				 "%s ", e->name);
	}
	/* losses, sideband of perf, calls (below), our own recorders */
	assert_string_equal(missing, "stream.lost stream.state syscall.enter syscall.exit mm.map "
			    "mm.unmap text.patch text.ksymbol power.cpu user.mark user.begin "
			    "user.end clock.sync clock.freq clock.rate state.task state.map "
			    "state.module state.end ");
}

static const char format_49[] =
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s\", "
	"REC->prev_comm, REC->prev_pid, REC->prev_prio, REC->prev_state & (4096-1) ? "
	"__print_flags(REC->prev_state & (4096-1), \"|\", { 1, \"S\"} , { 2, \"D\" }, { 4, "
	"\"T\" }, "
	"{ 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, { 64, \"x\" }, { 128, \"K\"}, { 256, "
	"\"W\" }, "
	"{ 512, \"P\" }, { 1024, \"N\" }, { 2048, \"n\" }) : \"R\", REC->prev_state & 4096 "
	"? \"+\" : \"\"";
static const char format_618[] =
	"print fmt: \"prev_state=%s%s\", (REC->prev_state & ((((0x00000000 | 0x00000001) + "
	"1) << 1) - 1))"
	" ? __print_flags(REC->prev_state & ((((0x0 | 0x1) + 1) << 1) - 1), \"|\", { "
	"0x00000001, \"S\" }, "
	"{ 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, { 0x00000010, "
	"\"X\" }, "
	"{ 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { (((0x0 | 0x1) + 1)), \"I\" }) : \"R\", "
	"REC->prev_state & (((0x0 | 0x1) + 1) << 1) ? \"+\" : \"\"";

static void expect_state(struct virt_state *s, unsigned v, const char *want)
{
	char fields[128];
	const char *got;

	snprintf(fields, sizeof(fields), "prev_pid=71 prev_state=%u next_pid=71", v);
	got = turn(s, &ctx, VIRT_LINUX, "sched", "sched_switch", fields);
	got = strstr(got, "next_tid=71");
	assert_non_null(got);
	assert_string_equal(got + strlen("next_tid=71"), want);
}

/* fs/proc/array.c and include/trace/events/sched.h of 4.9 and 6.18 */
static void expect_new(struct virt_state *s)
{
	expect_state(s, 0, " prev_state=ready");
	expect_state(s, 0x1, " prev_state=sleep preempted=no");
	expect_state(s, 0x10, " prev_state=dead preempted=no");
	expect_state(s, 0x20, " prev_state=zombie preempted=no");
	expect_state(s, 0x40, " prev_state=parked preempted=no");
	expect_state(s, 0x80, " prev_state=idle preempted=no");
	expect_state(s, 0x100, " prev_state=ready preempted=yes");
}

static void expect_old(struct virt_state *s)
{
	expect_state(s, 0, " prev_state=ready");
	expect_state(s, 0x2, " prev_state=wait preempted=no");
	expect_state(s, 0x40, " prev_state=dead preempted=no");
	expect_state(s, 0x82, " prev_state=wait preempted=no");	/* killable */
	expect_state(s, 0x402, " prev_state=idle preempted=no");
	expect_state(s, 0x200, " prev_state=parked preempted=no");
	expect_state(s, 0x1000, " prev_state=ready preempted=yes");
}

static void states(void **state)
{
	struct virt_state *s = fresh("x86_64", "6.18.1");

	expect_new(s);
	/* the text wins over the name */
	virt_state_format(s, "sched", "sched_switch", format_49, strlen(format_49));
	expect_old(s);
	virt_state_kernel(s, "x86_64", "6.18.1");
	expect_old(s);
	virt_state_format(s, "sched", "sched_switch", format_618, strlen(format_618));
	expect_new(s);
	virt_state_free(s);
	s = fresh("", "4.14.300");
	expect_new(s);
	expect_state(s, 0x1000, " prev_state=ready preempted=yes");	/* of 4.14 itself */
	virt_state_free(s);
	s = fresh("", "4.9.0-8-amd64");
	expect_old(s);
	virt_state_free(s);
	s = fresh("", "4.4.1");
	expect_state(s, 0x402, " prev_state=idle preempted=no");
	expect_state(s, 0x800, " prev_state=ready preempted=yes");
	virt_state_free(s);
	s = fresh("", "3.16");
	expect_state(s, 0x400, " prev_state=ready preempted=yes");
	virt_state_free(s);
	/* nobody says what the kernel was: only what is the same in all */
	s = fresh(NULL, NULL);
	expect_state(s, 0x1, " prev_state=sleep preempted=no");
	expect_state(s, 0x8, " prev_state=traced preempted=no");
	expect_state(s, 0x40, " preempted=no");
	/* a text that tells nothing changes nothing */
	virt_state_format(s, "sched", "sched_switch", "print fmt: \"\"", 13);
	virt_state_format(s, "sched", "sched_switch", "", 0);
	virt_state_format(s, "sched", "sched_switch", "print fmt: __print_flags({ 3, \"S\" "
	  "})", 36);
	expect_state(s, 0x40, " preempted=no");
	virt_state_free(s);
}

static void calls(void **state)
{
	struct virt_state *s = fresh("x86_64", "6.1");

	/* by number and by name; behind the last argument there is nothing */
	assert_string_equal(turn(s, &ctx, VIRT_LINUX, "syscalls", "sys_enter_openat",
				 "__syscall_nr=257 dfd=0xffffff9c filename=0x7f00 flags=0 "
				  "mode=0"),
			    "syscall.enter nr=257 abi=bits64 arg0=0xffffff9c arg1=0x7f00 "
			    "arg2=0x0 arg3=0x0");
	/* the same call, by the event for all: known already */
	assert_string_equal(turn(s, &ctx, VIRT_LINUX, "raw_syscalls", "sys_enter",
				 "id=257 args=[8:1,2,3,4,5,6]"), "dirty");
	/* from here on the event for all tells each of them */
	assert_string_equal(turn(s, &ctx, VIRT_LINUX, "raw_syscalls", "sys_exit",
	  "id=257 ret=-2"),
			    "syscall.exit nr=257 ret=-2");
	assert_string_equal(turn(s, &ctx, VIRT_LINUX, "syscalls", "sys_exit_openat",
				 "__syscall_nr=257 ret=-2"), "dirty");
	assert_string_equal(turn(s, &ctx, VIRT_LINUX, "raw_syscalls", "sys_enter",
				 "id=0x40000101 args=[8:1,2,3,4,5,6]"),
			    "syscall.enter nr=257 abi=x32 arg0=0x1 arg1=0x2 arg2=0x3 arg3=0x4 "
			    "arg4=0x5 arg5=0x6");
	virt_state_free(s);
	/* the other way round, on a kernel of 32 bits that calls the field "nr" */
	s = fresh("armv7l", "4.4");
	assert_string_equal(turn(s, &ctx, VIRT_LINUX, "raw_syscalls", "sys_enter",
				 "id=3 args=[4:1,2,3,4,5,6]"),
			    "syscall.enter nr=3 abi=bits32 arg0=0x1 arg1=0x2 arg2=0x3 arg3=0x4 "
			    "arg4=0x5 arg5=0x6");
	assert_string_equal(turn(s, &ctx, VIRT_LINUX, "syscalls", "sys_enter_read",
				 "nr=3 fd=1 buf=2 count=3"), "dirty");
	virt_state_free(s);
}

/* Processes of tasks, and who runs: known, and forgotten when they may have changed. */
static void tasks(void **state)
{
	struct virt_state *s = fresh("x86_64", "6.1");
	struct virt_ctx bare = { .time = 1, .cpu = 0, .pid = -1, .tid = -1 };
	struct virt_ctx parent = { .time = 1, .cpu = 0, .pid = -1, .tid = 40 };
	const struct hwt_rec_stream_lost *lost = (const void *)buf;

	/* a thread, and a process */
	assert_int_equal(virt_task(s, 40, 39), 0);
	turn(s, &parent, VIRT_LINUX, "task", "task_newtask",
	  "pid=41 comm='c' clone_flags=0x10f00");
	assert_string_equal(turn(s, &parent, VIRT_LINUX, "sched", "sched_process_fork",
				 "parent_comm='p' parent_pid=40 child_comm='c' child_pid=41"),
			    "sched.fork parent_pid=39 parent_tid=40 child_pid=39 child_tid=41 "
			    "comm=\"c\"");
	turn(s, &parent, VIRT_LINUX, "task", "task_newtask", "pid=42 comm='c' clone_flags=0x11");
	assert_string_equal(turn(s, &parent, VIRT_LINUX, "sched", "sched_process_fork",
				 "parent_comm='p' parent_pid=40 child_comm='c' child_pid=42"),
			    "sched.fork parent_pid=39 parent_tid=40 child_pid=42 child_tid=42 "
			    "comm=\"c\"");
	assert_int_equal(virt_pid(s, 41), 39);
	/* the id is given to a new task of which nothing was told */
	assert_string_equal(turn(s, &parent, VIRT_LINUX, "sched", "sched_process_fork",
				 "parent_comm='p' parent_pid=40 child_comm='c' child_pid=41"),
			    "sched.fork parent_pid=39 parent_tid=40 child_tid=41 comm=\"c\"");
	assert_int_equal(virt_pid(s, 41), -1);
	/* LTTng does not say who runs: a switch does */
	turn(s, &bare, VIRT_LTTNG, NULL, "sched_switch", "prev_tid=7 next_tid=42 prev_state=1");
	assert_int_equal(header()->tid, 7);
	turn(s, &bare, VIRT_LTTNG, NULL, "irq_softirq_entry", "vec=1");
	assert_int_equal(header()->tid, 42);
	assert_int_equal(header()->pid, 42);
	/* another CPU's losses do not touch who runs here, but tasks may have gone anywhere */
	bare.cpu = 1;
	assert_int_equal(virt_make_lost(s, &bare, 5, buf), sizeof(*lost));
	assert_int_equal(lost->count, 5);
	assert_int_equal(lost->cause, HWT_lost_cause_provider);
	bare.cpu = 0;
	turn(s, &bare, VIRT_LTTNG, NULL, "irq_softirq_exit", "vec=1");
	assert_int_equal(header()->tid, 42);
	assert_int_equal(header()->pid, -1);
	virt_lost(s, 0);
	turn(s, &bare, VIRT_LTTNG, NULL, "irq_softirq_exit", "vec=1");
	assert_int_equal(header()->tid, -1);
	/* idle is process 0, whoever says it; a free task is nobody's */
	parent.tid = 0;
	turn(s, &parent, VIRT_LINUX, "irq", "softirq_entry", "vec=1");
	assert_int_equal(header()->pid, 0);
	assert_int_equal(virt_task(s, 50, 49), 0);
	turn(s, &bare, VIRT_LINUX, "sched", "sched_process_free", "comm='x' pid=50 prio=120");
	assert_int_equal(virt_pid(s, 50), -1);
	virt_state_free(s);
}

static void texts(void **state)
{
	struct virt_state *s = fresh(NULL, NULL);
	static char path[6000];
	const struct hwt_abi_event *e;
	char name[16];

	assert_int_equal(virt_blank(s, &ctx, HWT_ID_sched_exec, buf),
			 sizeof(struct hwt_rec_sched_exec));
	memset(path, 'x', sizeof(path));
	assert_int_equal(virt_set_text(buf, path, sizeof(path)),
			 sizeof(struct hwt_rec_sched_exec) + HWT_TEXT_MAX);
	assert_true(header()->flags & HWT_REC_CUT);
	assert_int_equal(hwt_abi_record(&e, buf, sizeof(buf)), header()->size);
	virt_set_text(buf, "", 0);
	assert_int_equal(hwt_abi_record(&e, buf, sizeof(buf)), header()->size);
	virt_blank(s, &ctx, HWT_ID_irq_exit, buf);
	assert_int_equal(virt_set_text(buf, "no text in it", 13),
	  sizeof(struct hwt_rec_irq_exit));
	assert_int_equal(virt_blank(s, &ctx, 0x7fff, buf), 0);
	virt_set_name(name, "", 0);
	assert_string_equal(name, "-");
	/* irqs off, resched, hard, soft, nmi; two kinds of counts */
	assert_int_equal(virt_flags(0x01 | 0x04 | 0x08 | 0x10 | 0x40, 0x11), HWT_REC_CTX |
			 HWT_REC_IRQS_OFF | HWT_REC_RESCHED | HWT_REC_HARDIRQ | HWT_REC_SOFTIRQ |
			 HWT_REC_NMI | HWT_REC_PREEMPT_OFF);
	assert_int_equal(virt_flags(0x20, 0x10), HWT_REC_CTX);
	virt_state_free(s);
	virt_state_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linux_events), cmocka_unit_test(lttng_events),
		cmocka_unit_test(coverage), cmocka_unit_test(states), cmocka_unit_test(calls),
		cmocka_unit_test(tasks), cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
