/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/idmap.h"

#define COMM_MAX 256	/* bytes kept of a name; the kernel's own limit is 16 */

struct task {
	int32_t pid, tid;
	char *comm;			/* NULL: not known */
};

struct cpu_runs {
	struct machine_run *v;
	size_t n, cap;
	bool unsorted;
};

struct machine {
	struct task *tasks;
	size_t ntasks, cap_tasks;
	struct idmap task_of;		/* tid to index in @tasks */
	struct cpu_runs *cpus;
	size_t ncpus, cap_cpus;
	struct idmap cpu_of;		/* CPU number to index in @cpus */
	struct idmap aspaces;		/* address space to pid */
};

/*
 * Room for one more element of @size bytes in the array that the pointer at @array is for; doubles.
 * 0, or -ENOMEM with the array as it was.
 */
static int room(void *array, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? *cap * 2 : 16;
	void *old, *p;

	if (n < *cap)
		return 0;
	if (want > SIZE_MAX / size)
		return -ENOMEM;
	memcpy(&old, array, sizeof(old));
	p = realloc(old, want * size);
	if (!p)
		return -ENOMEM;
	memcpy(array, &p, sizeof(p));
	*cap = want;
	/* cppcheck-suppress memleak ; the array has it */
	return 0;
}

int machine_new(struct machine **out)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*out = m;
	return 0;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->ntasks; i++)
		free(m->tasks[i].comm);
	for (size_t i = 0; i < m->ncpus; i++)
		free(m->cpus[i].v);
	free(m->tasks);
	free(m->cpus);
	idmap_free(&m->task_of);
	idmap_free(&m->cpu_of);
	idmap_free(&m->aspaces);
	free(m);
}

static struct task *find_task(const struct machine *m, int32_t tid)
{
	uint32_t i = idmap_get(&m->task_of, (uint32_t)tid);

	return i == IDMAP_NONE ? NULL : &m->tasks[i];
}

static struct task *get_task(struct machine *m, int32_t tid)
{
	struct task *t = find_task(m, tid);

	if (t)
		return t;
	if (room(&m->tasks, &m->cap_tasks, m->ntasks, sizeof(*t)) ||
	    idmap_set(&m->task_of, (uint32_t)tid, (uint32_t)m->ntasks))
		return NULL;
	t = &m->tasks[m->ntasks++];
	*t = (struct task){ .pid = HWT_NONE, .tid = tid };
	return t;
}

int machine_task(struct machine *m, int32_t pid, int32_t tid)
{
	struct task *t = get_task(m, tid);

	if (!t)
		return -ENOMEM;
	if (pid != HWT_NONE)
		t->pid = pid;
	return 0;
}

int machine_set_comm(struct machine *m, int32_t tid, const char *comm, size_t n)
{
	struct task *t = get_task(m, tid);
	char *s;

	if (!t)
		return -ENOMEM;
	n = strnlen(comm, n < COMM_MAX ? n : COMM_MAX);
	if (t->comm && strlen(t->comm) == n && !memcmp(t->comm, comm, n))
		return 0;
	s = strndup(comm, n);
	if (!s)
		return -ENOMEM;
	free(t->comm);
	t->comm = s;
	return 0;
}

const char *machine_comm(const struct machine *m, int32_t tid)
{
	const struct task *t = find_task(m, tid);

	return t && t->comm ? t->comm : "";
}

int32_t machine_pid(const struct machine *m, int32_t tid)
{
	const struct task *t = find_task(m, tid);

	return t ? t->pid : HWT_NONE;
}

size_t machine_tasks(const struct machine *m)
{
	return m->ntasks;
}

void machine_task_at(const struct machine *m, size_t i, int32_t *pid, int32_t *tid)
{
	*pid = m->tasks[i].pid;
	*tid = m->tasks[i].tid;
}

int machine_switch(struct machine *m, int32_t cpu, uint64_t time, int32_t pid, int32_t tid,
		   uint8_t flags)
{
	uint32_t i = idmap_get(&m->cpu_of, (uint32_t)cpu);
	struct cpu_runs *c;

	if (i == IDMAP_NONE) {
		if (room(&m->cpus, &m->cap_cpus, m->ncpus, sizeof(*c)) ||
		    idmap_set(&m->cpu_of, (uint32_t)cpu, (uint32_t)m->ncpus))
			return -ENOMEM;
		i = (uint32_t)m->ncpus++;
		m->cpus[i] = (struct cpu_runs){ 0 };
	}
	c = &m->cpus[i];
	if (c->n >= UINT32_MAX || room(&c->v, &c->cap, c->n, sizeof(*c->v)))
		return -ENOMEM;
	if (c->n && c->v[c->n - 1].time > time)
		c->unsorted = true;
	c->v[c->n] = (struct machine_run){ .time = time, .pid = pid, .tid = tid, .flags = flags,
					   .seq = (uint32_t)c->n };
	c->n++;
	return 0;
}

/* Equal times stay in the order of addition. */
static int by_time(const void *pa, const void *pb)
{
	const struct machine_run *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

void machine_sort(struct machine *m)
{
	for (size_t i = 0; i < m->ncpus; i++) {
		struct cpu_runs *c = &m->cpus[i];

		if (c->unsorted)
			qsort(c->v, c->n, sizeof(*c->v), by_time);
		c->unsorted = false;
	}
}

void machine_cursor_init(struct machine_cursor *c, const struct machine *m, int32_t cpu)
{
	uint32_t i = idmap_get(&m->cpu_of, (uint32_t)cpu);

	*c = (struct machine_cursor){ .pid = HWT_NONE, .tid = HWT_NONE };
	if (i != IDMAP_NONE) {
		c->v = m->cpus[i].v;
		c->n = m->cpus[i].n;
	}
}

int machine_set_aspace(struct machine *m, uint64_t aspace, int32_t pid)
{
	/* HWT_NONE has the bits of IDMAP_NONE: "never seen", which is what it means */
	return idmap_get(&m->aspaces, aspace) == (uint32_t)pid ? 0 :
		pid == HWT_NONE ? -EINVAL : idmap_set(&m->aspaces, aspace, (uint32_t)pid);
}

int32_t machine_aspace(const struct machine *m, uint64_t aspace)
{
	return (int32_t)idmap_get(&m->aspaces, aspace);
}
