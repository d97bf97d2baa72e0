/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known while a capture is read forwards: tasks, CPUs, the kernel's encodings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <hwtrace/event.h>

#include "priv.h"

#define TASK_NEW 1u	/* in a value of @tasks: told before its fork was */

int virt_state_new(struct virt_state **out)
{
	struct virt_state *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->call_tid = -1;
	virt_state_kernel(s, NULL, NULL);
	*out = s;
	return 0;
}

void virt_state_free(struct virt_state *s)
{
	if (!s)
		return;
	idmap_free(&s->tasks);
	idmap_free(&s->cpu_of);
	free(s->cpus.v);
	free(s);
}

/*
 * Bits of the kernel's task states, 4.14 and later: include/linux/sched.h TASK_REPORT and
 * task_state_index(); the tracepoint gives one bit of them. Before, it gave the bits of the task
 * themselves, of which the first four mean the same.
 */
static const struct virt_states states_new = {
	.of = { HWT_task_state_sleep, HWT_task_state_wait, HWT_task_state_stopped,
		HWT_task_state_traced, HWT_task_state_dead, HWT_task_state_zombie,
		HWT_task_state_parked, HWT_task_state_idle },
	.bits = 8,
};
static const struct virt_states states_old = {
	.of = { HWT_task_state_sleep, HWT_task_state_wait, HWT_task_state_stopped,
		HWT_task_state_traced, HWT_task_state_other, HWT_task_state_other,
		HWT_task_state_dead /* TASK_DEAD */, HWT_task_state_other /* wakekill */,
		HWT_task_state_other /* waking */, HWT_task_state_parked,
		HWT_task_state_other /* noload */, HWT_task_state_other /* new */ },
	.bits = 12, .noload = 10,
};
static const struct virt_states states_unknown = {
	.of = { HWT_task_state_sleep, HWT_task_state_wait, HWT_task_state_stopped,
		HWT_task_state_traced, UNKNOWN32, UNKNOWN32, UNKNOWN32, UNKNOWN32 },
	.bits = 8,
};

/* The bit above the states of a task: TASK_STATE_MAX of that release. */
static unsigned old_bits(unsigned minor3, unsigned major)
{
	if (major == 4)
		return minor3 >= 8 ? 12 : minor3 >= 2 ? 11 : 10;
	return major == 3 && minor3 >= 9 ? 10 : 9;
}

static void states_of_release(struct virt_state *s, const char *release)
{
	unsigned major, minor;

	if (!release || sscanf(release, "%3u.%3u", &major, &minor) != 2) {
		s->states = states_unknown;
	} else if (major > 4 || (major == 4 && minor >= 14)) {
		s->states = states_new;
	} else {
		s->states = states_old;
		s->states.bits = old_bits(minor, major);
		if (s->states.bits < 11)
			s->states.noload = 0;
	}
}

void virt_state_kernel(struct virt_state *s, const char *arch, const char *release)
{
	static const struct { const char *name; enum virt_arch arch; } known[] = {
		{ "x86_64", ARCH_X86_64 }, { "i386", ARCH_X86_32 }, { "i486", ARCH_X86_32 },
		{ "i586", ARCH_X86_32 }, { "i686", ARCH_X86_32 }, { "aarch64", ARCH_ARM64 },
		{ "arm64", ARCH_ARM64 },
	};

	arch = arch ? arch : "";
	s->arch = *arch ? ARCH_OTHER : ARCH_UNKNOWN;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(arch, known[i].name))
			s->arch = known[i].arch;
	if (s->arch == ARCH_OTHER && !strncmp(arch, "arm", 3))
		s->arch = ARCH_ARM;
	if (!s->formatted)
		states_of_release(s, release);
}

/* The letters that the kernel prints for a state. */
static uint32_t state_of_letter(char ch)
{
	switch (ch) {
	case 'S': return HWT_task_state_sleep;
	case 'D': return HWT_task_state_wait;
	case 'T': return HWT_task_state_stopped;
	case 't': return HWT_task_state_traced;
	case 'X': case 'x': return HWT_task_state_dead;
	case 'Z': return HWT_task_state_zombie;
	case 'P': return HWT_task_state_parked;
	case 'I': return HWT_task_state_idle;
	default: return HWT_task_state_other;
	}
}

/*
 * The states that are printed, { 0x0001, "S" }, in rising order; one that is no plain number is the
 * bit above the one before.
 */
static bool states_of_format(struct virt_states *st, const char *p, const char *end)
{
	*st = (struct virt_states){ 0 };
	for (; p < end; p++) {
		unsigned long v;
		const char *q;
		char *stop;

		if (p[0] == '}' && p + 1 < end && p[1] == ')')
			break;		/* the list ends */
		if (*p != '{')
			continue;
		q = memchr(p, '"', (size_t)(end - p));
		if (!q || end - q < 3)
			break;
		v = strtoul(p + 1, &stop, 0);
		if (*stop == ',' && v) {
			if (v & (v - 1) || v >> 15)
				return false;
			st->bits = (unsigned)__builtin_ctzl(v);
		}
		if (st->bits > 15)
			return false;
		st->of[st->bits] = state_of_letter(q[1]);
		if (q[1] == 'N')
			st->noload = st->bits;
		st->bits++;
		p = q + 1;
	}
	return st->bits >= 4;
}

void virt_state_format(struct virt_state *s, const char *system, const char *name,
		       const char *text, size_t n)
{
	static const char head[] = "print fmt:";
	struct virt_states st;
	const char *p;
	char *copy;

	if (strcmp(name, "sched_switch") || (system && strcmp(system, "sched")))
		return;
	copy = malloc(n + 1);
	if (!copy)
		return;		/* the release tells the same, but for kernels that lie about it */
	memcpy(copy, text, n);
	copy[n] = 0;
	p = strstr(copy, head);
	p = p ? strstr(p, "__print_flags(") : NULL;
	if (p && states_of_format(&st, p, copy + n)) {
		s->states = st;
		s->formatted = true;
	}
	free(copy);
}

/*
 * A task that is ready was made to leave, or called sched_yield(): only where the kernel says that
 * it was preempted is it known. One that waits left of its own will.
 */
void virt_task_state(const struct virt_state *s, uint64_t v, uint32_t *state, uint32_t *preempted)
{
	const struct virt_states *st = &s->states;
	uint64_t known = v & ((1ull << st->bits) - 1);

	if (v >> st->bits) {
		*preempted = HWT_yesno_yes;
		*state = HWT_task_state_ready;
	} else if (!known) {
		*state = HWT_task_state_ready;
	} else {
		*preempted = HWT_yesno_no;
		*state = st->of[__builtin_ctzll(known)];
		if (st->noload && known >> st->noload & 1 && *state == HWT_task_state_wait)
			*state = HWT_task_state_idle;
	}
}

int virt_task(struct virt_state *s, int32_t tid, int32_t pid)
{
	uint32_t v = pid > 0 ? (uint32_t)pid << 1 : 0, old;

	if (tid <= 0)
		return 0;
	old = idmap_get(&s->tasks, (uint32_t)tid);
	if (old == IDMAP_NONE ? !v : (old & ~TASK_NEW) == v)
		return 0;
	return idmap_set(&s->tasks, (uint32_t)tid, v);
}

int32_t virt_pid(const struct virt_state *s, int32_t tid)
{
	uint32_t v = tid > 0 ? idmap_get(&s->tasks, (uint32_t)tid) : IDMAP_NONE;

	if (!tid)
		return 0;	/* idle */
	return v == IDMAP_NONE || v < 2 ? -1 : (int32_t)(v >> 1);
}

struct virt_cpu *virt_cpu_of(struct virt_state *s, int32_t cpu, bool make)
{
	uint32_t i = cpu < 0 ? IDMAP_NONE : idmap_get(&s->cpu_of, (uint32_t)cpu);
	struct virt_cpu *c;

	if (i != IDMAP_NONE)
		return (struct virt_cpu *)s->cpus.v + i;
	if (cpu < 0 || !make)
		return NULL;
	c = vec_push(&s->cpus, sizeof(*c));
	if (!c || idmap_set(&s->cpu_of, (uint32_t)cpu, (uint32_t)s->cpus.n - 1))
		return NULL;
	*c = (struct virt_cpu){ .running = -1, .idle = UNKNOWN32 };
	return c;
}

int32_t virt_running(const struct virt_state *s, int32_t cpu)
{
	const struct virt_cpu *c = virt_cpu_of((struct virt_state *)s, cpu, false);

	return c ? c->running : -1;
}

/* Ids of tasks are given away anew after a while: what was lost may have been their end. */
void virt_lost(struct virt_state *s, int32_t cpu)
{
	struct virt_cpu *v = s->cpus.v;

	for (size_t i = 0; i < s->cpus.n; i++)
		if (cpu < 0 || idmap_get(&s->cpu_of, (uint32_t)cpu) == i)
			v[i] = (struct virt_cpu){ .running = -1, .idle = UNKNOWN32 };
	idmap_free(&s->tasks);
}

/* task_newtask tells more of a child than the fork that follows it. */
static int note_fork(struct virt_state *s, const struct hwt_rec_sched_fork *r)
{
	uint32_t v = r->child_tid > 0 ? idmap_get(&s->tasks, (uint32_t)r->child_tid) : IDMAP_NONE;
	int rc = virt_task(s, r->parent_tid, r->parent_pid >= 0 ? r->parent_pid :
			   virt_pid(s, r->parent_tid));

	if (rc || r->child_tid <= 0)
		return rc;
	if (r->child_pid >= 0)
		return idmap_set(&s->tasks, (uint32_t)r->child_tid, (uint32_t)r->child_pid << 1);
	if (v == IDMAP_NONE)
		return 0;
	return idmap_set(&s->tasks, (uint32_t)r->child_tid, v & TASK_NEW ? v & ~TASK_NEW : 0);
}

int virt_new_task(struct virt_state *s, int32_t tid, int32_t pid)
{
	return tid > 0 ? idmap_set(&s->tasks, (uint32_t)tid,
				   (pid > 0 ? (uint32_t)pid << 1 : 0) | TASK_NEW) : 0;
}

bool virt_is_new(const struct virt_state *s, int32_t tid)
{
	uint32_t v = tid > 0 ? idmap_get(&s->tasks, (uint32_t)tid) : IDMAP_NONE;

	return v != IDMAP_NONE && v & TASK_NEW;
}

static int note_switch(struct virt_state *s, const struct hwt_rec_sched_switch *r, int32_t cpu)
{
	struct virt_cpu *c = virt_cpu_of(s, cpu, true);
	int rc = 0;

	if (!c && cpu >= 0)
		return -ENOMEM;
	if (c)
		c->running = r->next_tid;
	if (r->prev_pid > 0)
		rc = virt_task(s, r->prev_tid, r->prev_pid);
	if (!rc && r->next_pid > 0)
		rc = virt_task(s, r->next_tid, r->next_pid);
	return rc;
}

int virt_note(struct virt_state *s, const void *rec, int32_t cpu)
{
	const struct hwt_rec *h = rec;
	const struct hwt_rec_sched_exec *e = rec;
	const struct hwt_rec_sched_free *f = rec;
	struct virt_cpu *c;

	switch (h->id) {
	case HWT_ID_sched_switch: return note_switch(s, rec, cpu);
	case HWT_ID_sched_fork: return note_fork(s, rec);
	case HWT_ID_sched_free: return virt_task(s, f->task_tid, -1);
	case HWT_ID_sched_exec:
		c = virt_cpu_of(s, cpu, false);
		if (c)
			c->running = e->task_tid;
		return virt_task(s, e->task_tid, e->task_tid);
	}
	return 0;
}
