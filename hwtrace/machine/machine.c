/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/idmap.h"
#include "../base/idtab.h"
#include "../base/spill.h"
#include "../base/vec.h"

#define LEAD_MAX 0xffffffu	/* of a machine_run: 24 bits */
#define COMM_MAX 256	/* bytes kept of a name; the kernel's own limit is 16 */

#define STEP	65536	/* records that are read before memory is given back */
#define ASKED	4096	/* the same of names that are looked up, here and there */

struct task {
	int32_t pid;
	uint32_t named;			/* the last one added, index in @named; NO_NAME: none */
	const char *comm;		/* the last one set, NULL: not known */
	const char *other;		/* if none is set, NULL: not known */
};

#define NO_NAME	UINT32_MAX

/* From @time on a task has a name: its own, or that which @parent has then. */
struct named {
	uint64_t time, until;		/* base ns; it was seen with it again, the last time */
	const char *comm;		/* NULL: that of @parent */
	int32_t tid, parent;		/* a parent that is the task: what it is seen with next */
	uint32_t seq;			/* order of addition, decides between equal times */
	bool seen;			/* it may have had the name before */
};

#define FORKS_MAX	256		/* generations that are asked for a name */

struct cpu_runs {
	int32_t cpu;
	struct spill runs;	/* of struct machine_run: as many as there were switches */
	uint64_t out;		/* the running task is about to go, HWT_TIME_UNKNOWN: not known */
	bool unsorted;
};

struct machine {
	struct idtab tasks;		/* of struct task, by tid */
	struct spill tids;		/* of int32_t: of all tasks, in order of addition */
	struct arena arena;		/* of names, each once */
	const char **comms;
	size_t ncomms, cap_comms;
	struct idmap comm_of;		/* hash of a name to index in @comms */
	struct spill named;		/* of struct named: as many as there were execs and forks */
	bool named_sorted;		/* by tid, then time */
	unsigned asked;			/* names, since memory was given back */
	struct cpu_runs *cpus;
	size_t ncpus, cap_cpus;
	struct idmap cpu_of;		/* CPU number to index in @cpus */
	struct idmap aspaces;		/* address space to pid, as the source says last */
	struct idmap owners;		/* ... and all that it says, by owner_key() */
	struct idmap guessed;		/* ... as the schedule and the trace together suggest */
};

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
	for (size_t i = 0; i < m->ncpus; i++)
		spill_free(&m->cpus[i].runs);
	spill_free(&m->named);
	arena_free(&m->arena);
	free(m->comms);
	idmap_free(&m->comm_of);
	idtab_free(&m->tasks);
	spill_free(&m->tids);
	free(m->cpus);
	idmap_free(&m->cpu_of);
	idmap_free(&m->aspaces);
	idmap_free(&m->owners);
	idmap_free(&m->guessed);
	free(m);
}

static struct task *find_task(const struct machine *m, int32_t tid)
{
	return idtab_get(&m->tasks, sizeof(struct task), (uint32_t)tid);
}

static struct task *get_task(struct machine *m, int32_t tid)
{
	struct task *t = find_task(m, tid);

	if (t)
		return t;
	if (spill_room(&m->tids, sizeof(tid)))
		return NULL;
	t = idtab_make(&m->tasks, sizeof(*t), (uint32_t)tid);
	if (!t)
		return NULL;
	((int32_t *)m->tids.v)[m->tids.n++] = tid;
	*t = (struct task){ .pid = HWT_NONE, .named = NO_NAME };
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

/* The name as it is kept; NULL without memory. */
static const char *intern(struct machine *m, const char *comm, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325u;	/* FNV-1a */
	const char *s;
	uint32_t i;

	n = strnlen(comm, n < COMM_MAX ? n : COMM_MAX);
	for (size_t k = 0; k < n; k++)
		hash = (hash ^ (uint8_t)comm[k]) * 0x100000001b3u;
	for (; (i = idmap_get(&m->comm_of, hash)) != IDMAP_NONE; hash++)
		if (strlen(m->comms[i]) == n && !memcmp(m->comms[i], comm, n))
			return m->comms[i];
	s = arena_strn(&m->arena, comm, n);
	if (!s || vec_room(&m->comms, &m->cap_comms, m->ncomms, sizeof(*m->comms)) ||
	    idmap_set(&m->comm_of, hash, (uint32_t)m->ncomms))
		return NULL;
	m->comms[m->ncomms++] = s;
	return s;
}

static int add_name(struct machine *m, struct named e)
{
	struct named *v;

	if (m->named.n >= UINT32_MAX || spill_room(&m->named, sizeof(*v)))
		return -ENOMEM;
	e.seq = (uint32_t)m->named.n;
	e.until = e.time;
	v = m->named.v;
	v[m->named.n++] = e;
	m->named_sorted = false;
	return 0;
}

static int add_own_name(struct machine *m, struct task *t, struct named e)
{
	int rc = add_name(m, e);

	t->comm = e.comm ? e.comm : t->comm;
	t->named = rc ? NO_NAME : (uint32_t)m->named.n - 1;
	return rc;
}

int machine_set_comm_at(struct machine *m, int32_t tid, uint64_t time, const char *comm, size_t n)
{
	struct task *t = get_task(m, tid);
	const char *s = t ? intern(m, comm, n) : NULL;

	if (!s)
		return -ENOMEM;
	return add_own_name(m, t, (struct named){ .time = time, .comm = s, .tid = tid });
}

int machine_set_comm(struct machine *m, int32_t tid, const char *comm, size_t n)
{
	return machine_set_comm_at(m, tid, 0, comm, n);
}

int machine_see_comm(struct machine *m, int32_t tid, uint64_t time, const char *comm, size_t n)
{
	struct task *t = get_task(m, tid);
	const char *s = t ? intern(m, comm, n) : NULL;
	struct named *last;

	if (!s)
		return -ENOMEM;
	/* it is seen at each switch; a file that is read later begins anew */
	last = t->named == NO_NAME || m->named_sorted ? NULL :
		(struct named *)m->named.v + t->named;
	if (last && last->comm == s && last->until <= time) {
		last->until = time;
		return 0;
	}
	return add_own_name(m, t, (struct named){ .time = time, .comm = s, .tid = tid,
						  .seen = true });
}

int machine_renamed(struct machine *m, int32_t tid, uint64_t time)
{
	struct task *t = get_task(m, tid);

	return !t ? -ENOMEM :
		add_own_name(m, t, (struct named){ .time = time, .tid = tid, .parent = tid });
}

int machine_default_comm(struct machine *m, int32_t tid, const char *comm, size_t n)
{
	struct task *t = get_task(m, tid);
	const char *s = t ? intern(m, comm, n) : NULL;

	if (!s)
		return -ENOMEM;
	t->other = s;
	return 0;
}

int machine_fork_comm(struct machine *m, int32_t tid, int32_t parent, uint64_t time)
{
	struct task *t = find_task(m, tid);

	if (t)
		t->named = NO_NAME;	/* another one with its id */
	return tid == parent ? 0 :
		add_name(m, (struct named){ .time = time, .tid = tid, .parent = parent });
}

static int by_task(const void *x, const void *y)
{
	const struct named *a = x, *b = y;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/*
 * Names are added file by file, so one may have been seen again after another one that is told
 * elsewhere: that is a name of its own then. 0 or -ENOMEM.
 */
static int split_names(struct machine *m)
{
	const size_t n = m->named.n;
	size_t longest = 0;
	int rc = 0;

	for (size_t i = 1; i < n && !rc; i++) {
		const struct named *v = m->named.v, *a = &v[longest], *b = &v[i];

		if (i % STEP == 0)
			spill_done(&m->named, sizeof(*v), 0, i);
		if (a->tid != b->tid || a->until <= b->time) {
			longest = i;
			continue;
		}
		if (a->comm != b->comm)
			rc = add_name(m, (struct named){ .time = a->until, .comm = a->comm,
							 .tid = a->tid, .seen = true });
		v = m->named.v;
		if (v[i].until > v[longest].until || v[i].comm != v[longest].comm)
			longest = i;
	}
	return rc;
}

static void sort_names(struct machine *m)
{
	const struct named *v;
	struct task *t;
	size_t n;

	if (!m->named.n)
		return;
	spill_sort(&m->named, sizeof(struct named), by_task);
	n = m->named.n;
	(void)split_names(m);	/* without memory a name may hold too long */
	if (m->named.n > n)
		spill_sort(&m->named, sizeof(struct named), by_task);
	v = m->named.v;
	for (size_t i = 0; i < m->named.n; i++) {
		if (i % STEP == 0) {
			spill_done(&m->named, sizeof(*v), 0, i);
			idtab_rest(&m->tasks);
		}
		t = find_task(m, v[i].tid);
		if (!t)
			continue;
		t->named = NO_NAME;
		t->comm = v[i].comm ? v[i].comm : t->comm;
	}
}

static bool is_renamed(const struct named *e)
{
	return !e->comm && e->parent == e->tid;
}

/* The last name of @tid that begins at @time or before; else its first, if that was only seen. */
static const struct named *name_at(const struct machine *m, int32_t tid, uint64_t time)
{
	const struct named *v = m->named.v;
	size_t lo = 0, hi = m->named.n;
	unsigned renamed = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].tid < tid || (v[mid].tid == tid && v[mid].time <= time))
			lo = mid + 1;
		else
			hi = mid;
	}
	/*
	 * That which it is seen with next. If it is not seen any more nothing tells, but what holds
	 * for all times may be the name behind its first change.
	 */
	for (; renamed < 2 && lo && v[lo - 1].tid == tid && is_renamed(&v[lo - 1]);
	     lo--, renamed++)
		if (!renamed && lo < m->named.n && v[lo].tid == tid && v[lo].seen)
			return &v[lo];
	if (renamed && (renamed > 1 || !lo || v[lo - 1].tid != tid || v[lo - 1].time))
		return NULL;
	if (lo && v[lo - 1].tid == tid)
		return &v[lo - 1];
	return lo < m->named.n && v[lo].tid == tid && v[lo].seen ? &v[lo] : NULL;
}

static const char *other(const struct machine *m, int32_t tid)
{
	const struct task *t = find_task(m, tid);

	return t && t->other ? t->other : "";
}

/* What was read need not stay resident. A question changes nothing else. */
static void asked(const struct machine *cm)
{
	struct machine *m = (struct machine *)(uintptr_t)cm;

	if (++m->asked % ASKED)
		return;
	spill_done(&m->named, sizeof(struct named), 0, m->named.n);
	idtab_rest(&m->tasks);
}

const char *machine_comm_at(const struct machine *m, int32_t tid, uint64_t time)
{
	const struct named *e;

	asked(m);
	if (time == HWT_TIME_UNKNOWN || !m->named_sorted)
		return machine_comm(m, tid);
	for (unsigned i = 0; i < FORKS_MAX; i++) {
		e = name_at(m, tid, time);
		if (!e)
			return other(m, tid);
		if (e->comm)
			return e->comm;
		tid = e->parent;
		time = e->time;
	}
	return "";
}

const char *machine_comm(const struct machine *m, int32_t tid)
{
	const struct task *t = find_task(m, tid);

	return t && t->comm ? t->comm : other(m, tid);
}

int32_t machine_pid(const struct machine *m, int32_t tid)
{
	const struct task *t = find_task(m, tid);

	return t ? t->pid : HWT_NONE;
}

size_t machine_tasks(const struct machine *m)
{
	return m->tids.n;
}

void machine_task_at(const struct machine *m, size_t i, int32_t *pid, int32_t *tid)
{
	*tid = ((const int32_t *)m->tids.v)[i];
	*pid = machine_pid(m, *tid);
}

static struct cpu_runs *get_cpu(struct machine *m, int32_t cpu)
{
	uint32_t i = idmap_get(&m->cpu_of, (uint32_t)cpu);
	struct cpu_runs *c;

	if (i == IDMAP_NONE) {
		if (vec_room(&m->cpus, &m->cap_cpus, m->ncpus, sizeof(*c)) ||
		    idmap_set(&m->cpu_of, (uint32_t)cpu, (uint32_t)m->ncpus))
			return NULL;
		i = (uint32_t)m->ncpus++;
		m->cpus[i] = (struct cpu_runs){ .cpu = cpu, .out = HWT_TIME_UNKNOWN };
	}
	return &m->cpus[i];
}

int machine_switch_out(struct machine *m, int32_t cpu, uint64_t time)
{
	struct cpu_runs *c = get_cpu(m, cpu);

	if (!c)
		return -ENOMEM;
	c->out = time;
	return 0;
}

int machine_switch(struct machine *m, int32_t cpu, uint64_t time, int32_t pid, int32_t tid,
		   uint8_t flags)
{
	struct cpu_runs *c = get_cpu(m, cpu);
	struct machine_run *v;
	uint64_t lead;

	if (!c || c->runs.n >= UINT32_MAX || spill_room(&c->runs, sizeof(*v)))
		return -ENOMEM;
	v = c->runs.v;
	v += c->runs.n;
	if (c->runs.n && v[-1].time > time)
		c->unsorted = true;
	lead = c->out <= time ? time - c->out : 0;	/* not known: later than any time */
	*v = (struct machine_run){ .time = time, .pid = pid, .tid = tid, .flags = flags,
				   .lead = lead < LEAD_MAX ? (uint32_t)lead : LEAD_MAX,
				   .seq = (uint32_t)c->runs.n++ };
	c->out = HWT_TIME_UNKNOWN;
	return 0;
}

/* Equal times stay in the order of addition. */
static bool earlier(const struct machine_run *a, const struct machine_run *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

static void sift(struct machine_run *v, size_t i, size_t n)
{
	struct machine_run x = v[i];

	for (size_t k; (k = 2 * i + 1) < n; i = k) {
		if (k + 1 < n && earlier(&v[k], &v[k + 1]))
			k++;
		if (!earlier(&x, &v[k]))
			break;
		v[i] = v[k];
	}
	v[i] = x;
}

#define NEAR	64	/* places that an entry is moved forward one by one */

/*
 * In place, as qsort() may take as much memory again. Nearly all entries are in order or near to
 * it; where one is not, all are sorted by a heap.
 */
static void sort(struct machine_run *v, size_t n)
{
	struct machine_run x;

	for (size_t i = 1, k; i < n; i++) {
		x = v[i];
		for (k = i; k && i - k < NEAR && earlier(&x, &v[k - 1]); k--)
			v[k] = v[k - 1];
		v[k] = x;
		if (k && earlier(&x, &v[k - 1]))
			goto heap;
	}
	return;
heap:
	for (size_t i = n / 2; i--;)
		sift(v, i, n);
	for (size_t i = n; i-- > 1;) {
		x = v[0];
		v[0] = v[i];
		v[i] = x;
		sift(v, 0, i);
	}
}

void machine_sort(struct machine *m)
{
	if (!m->named_sorted)
		sort_names(m);
	m->named_sorted = true;
	for (size_t i = 0; i < m->ncpus; i++) {
		struct cpu_runs *c = &m->cpus[i];

		if (c->unsorted)
			sort(c->runs.v, c->runs.n);
		c->unsorted = false;
		spill_done(&c->runs, sizeof(struct machine_run), 0, c->runs.n);
	}
}

void machine_cursor_init(struct machine_cursor *c, const struct machine *m, int32_t cpu)
{
	uint32_t i = idmap_get(&m->cpu_of, (uint32_t)cpu);

	*c = (struct machine_cursor){ .pid = HWT_NONE, .tid = HWT_NONE };
	if (i != IDMAP_NONE) {
		c->v = m->cpus[i].runs.v;
		c->n = m->cpus[i].runs.n;
		c->spill = m->cpus[i].runs.fd ? &m->cpus[i].runs : NULL;
	}
}

void machine_cursor_done(const struct machine_cursor *c)
{
	spill_done(c->spill, sizeof(*c->v), c->i > 2 * MACHINE_STEP ? c->i - 2 * MACHINE_STEP : 0,
		   c->i);
}

size_t machine_ncpus(const struct machine *m)
{
	return m->ncpus;
}

int32_t machine_cpu_at(const struct machine *m, size_t i)
{
	return m->cpus[i].cpu;
}

static int set_aspace(struct idmap *map, uint64_t aspace, int32_t pid)
{
	/* HWT_NONE has the bits of IDMAP_NONE: "never seen", which is what it means */
	return idmap_get(map, aspace) == (uint32_t)pid ? 0 :
		pid == HWT_NONE ? -EINVAL : idmap_set(map, aspace, (uint32_t)pid);
}

/* Two that have one key are taken for each other: then the schedule is believed, as without any. */
static uint64_t owner_key(uint64_t aspace, int32_t pid)
{
	return (aspace ^ (uint64_t)(uint32_t)pid << 32) * 0x9e3779b97f4a7c15 ^ (uint32_t)pid;
}

int machine_set_aspace(struct machine *m, uint64_t aspace, int32_t pid)
{
	int rc = set_aspace(&m->aspaces, aspace, pid);

	return rc ? rc : idmap_set(&m->owners, owner_key(aspace, pid), 1);
}

bool machine_owns(const struct machine *m, uint64_t aspace, int32_t pid)
{
	return pid != HWT_NONE && idmap_get(&m->owners, owner_key(aspace, pid)) == 1;
}

int machine_guess_aspace(struct machine *m, uint64_t aspace, int32_t pid)
{
	return set_aspace(&m->guessed, aspace, pid);
}

int32_t machine_aspace(const struct machine *m, uint64_t aspace)
{
	uint32_t pid = idmap_get(&m->aspaces, aspace);

	return (int32_t)(pid != IDMAP_NONE ? pid : idmap_get(&m->guessed, aspace));
}
