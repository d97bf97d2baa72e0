/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel records, first pass: who runs where, what is mapped or lost. Longer than other files:
 * each kind of record is a few lines, and what they share is the state of one pass.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../base/idtab.h"
#include "../base/text.h"
#include "../base/vec.h"
#include "../events/names.h"
#include "../filter/filter.h"
#include "../image/image.h"
#include "native.h"

/* What is noted of a task, or of a process by its first task. */
struct seen {
	uint64_t changed;	/* the first change of its mappings, if @has_changed */
	bool has_changed;
	bool named, execs;	/* sched.comm, or sched.exec, told a name */
};

/* A mapping that was there when the state was told. */
struct there {
	struct hwt_map map;	/* owns its path */
	uint64_t time;
};

/* A task got a name, or a process another program. */
struct changed { int32_t tid, pid; uint64_t time; };

struct pass {
	struct native *n;
	struct native_walk w;
	/* of the record, base ns; unknown without a clock map; and how much later it may be */
	uint64_t time;
	uint32_t span;
	struct idtab seen;	/* of struct seen */
	/* all names and execs: used at the end, as tasks move between CPUs */
	struct changed *names, *begun;
	size_t nnames, names_cap, nbegun, begun_cap;
	struct there *there;
	size_t nthere, there_cap;
	struct patches patches;
	int32_t in_cpu, in_tid;	/* who came in last, and where; HWT_NONE: not known */
	uint64_t in_time;
	int execve, execveat;	/* numbers of these calls on the machine, below 0: not known */
	struct pairs pairs;	/* compared with the clock map */
};

/* The text field of @size bytes at the end of a record; "" if there is none. */
static const char *text_of(const struct native_rec *r, uint32_t size)
{
	return size && size <= r->size ? (const char *)r->p + r->size - size : "";
}

static void id_of(struct hwt_map *m, const uint8_t *id24)
{
	if (!id24[0] || id24[0] > sizeof(m->build_id))
		return;
	m->build_id_size = id24[0];
	memcpy(m->build_id, id24 + 1, id24[0]);
}

/* What has no file is named by what it is. */
static void name_map(struct hwt_map *m, uint32_t kind)
{
	if (!*m->path)
		m->path = kind == HWT_map_kind_memory ? "//anon" :
			kind == HWT_map_kind_kernel ? "[vdso]" : "";
}

bool native_rec_map(const struct native_rec *r, struct hwt_map *m)
{
	const uint8_t *p = r->p;

	if (!(native_u32(p, mm_map, prot) & 4))
		return false;
	*m = (struct hwt_map){ .addr = native_u64(p, mm_map, addr),
		.size = native_u64(p, mm_map, length), .file_off = native_u64(p, mm_map, offset),
		.pid = (int32_t)native_u32(p, mm_map, map_pid),
		.path = text_of(r, native_u32(p, mm_map, path_size)) };
	name_map(m, native_u32(p, mm_map, kind));
	id_of(m, p + offsetof(struct hwt_rec_mm_map, build_id));
	return m->size && m->size <= UINT64_MAX - m->addr;
}

void native_scope(struct native *n, const char *words)
{
	struct hwt_scope *s = &n->c->scope;

	n->partial = true;
	if (strstr(words, "some tasks"))
		s->bits |= HWT_SCOPE_TASKS | HWT_SCOPE_FORKS;
	if (strstr(words, "while they run"))
		s->bits |= HWT_SCOPE_INSIDE;
	if (strstr(words, "filter"))
		s->bits |= HWT_SCOPE_EVENTS;
}

/*
 * Who leaves is not who came in: a switch between is missing. When it was is not known, so neither
 * is who ran since.
 */
static int switch_missing(struct pass *p, const struct native_rec *r)
{
	int32_t tid = (int32_t)native_u32(r->p, sched_switch, prev_tid);

	if (p->in_cpu != p->w.cpu || p->w.cpu == HWT_NONE || p->in_tid == HWT_NONE ||
	    tid == HWT_NONE || tid == p->in_tid || p->in_time == HWT_TIME_UNKNOWN)
		return 0;
	if (!p->n->partial)
		notes_add(&p->n->c->notes, HWT_NOTE_WARN, E_NAT_LOST, p->w.f->path, r->off,
			  "a task switch is missing on CPU %d: task %d came in, and %d leaves",
			  p->w.cpu, p->in_tid, tid);
	return machine_switch(p->n->c->machine, p->w.cpu, p->in_time, HWT_NONE, HWT_NONE, 0);
}

/* The names that a record tells of tasks, besides new ones. */
static int see_names(struct pass *p, const struct native_rec *r)
{
	uint64_t when = p->time == HWT_TIME_UNKNOWN ? 0 : p->time;
	const char *name;
	int32_t tid;
	int rc = 0;

	for (unsigned i = 0; !rc && names_of(r->p, i, &tid, &name); i++)
		if (tid >= 0)
			rc = machine_see_comm(p->n->c->machine, tid, when, name, 16);
	return rc;
}

/* A task that a record tells of, with its address space; UINT64_MAX: not known. */
static int see_task(struct pass *p, int32_t pid, int32_t tid, uint64_t aspace)
{
	struct machine *m = p->n->c->machine;
	int rc = machine_task(m, pid, tid);

	/* it is the trace that tells address spaces */
	if (!rc && p->n->traced && aspace != UINT64_MAX && pid > 0)
		rc = machine_set_aspace(m, aspace, pid);
	return rc;
}

static int sched_switch(struct pass *p, const uint8_t *r)
{
	struct machine *m = p->n->c->machine;
	int32_t pid = (int32_t)native_u32(r, sched_switch, next_pid);
	int32_t tid = (int32_t)native_u32(r, sched_switch, next_tid);
	int rc = see_task(p, pid, tid, native_u64(r, sched_switch, next_aspace));

	if (!rc && p->time != HWT_TIME_UNKNOWN)
		rc = machine_switch(m, p->w.cpu, p->time, pid, tid,
				    native_u32(r, sched_switch, preempted) ? HWT_F_PREEMPT : 0);
	p->in_cpu = p->w.cpu;
	p->in_tid = tid;
	p->in_time = p->time;
	return rc;
}

/* NULL: no memory. */
static struct seen *see(struct pass *p, int32_t id)
{
	return idtab_make(&p->seen, sizeof(struct seen), (uint32_t)id);
}

static bool is_named(const struct pass *p, int32_t tid)
{
	const struct seen *t = idtab_get(&p->seen, sizeof(*t), (uint32_t)tid);

	return t && t->named;
}

/* Each CPU's records are in order, but not those of all. */
static int note_change(struct pass *p, int32_t pid)
{
	struct seen *t = see(p, pid);

	if (!t)
		return -ENOMEM;
	if (!t->has_changed || p->time < t->changed)
		t->changed = p->time;
	t->has_changed = true;
	return 0;
}

static int note(struct changed **v, size_t *n, size_t *cap, const struct changed *c)
{
	int rc = vec_room(v, cap, *n, sizeof(**v));

	if (!rc)
		(*v)[(*n)++] = *c;
	return rc;
}

static int by_task(const void *x, const void *y)
{
	const struct changed *a = x, *b = y;

	return a->tid != b->tid ? (a->tid > b->tid) - (a->tid < b->tid) :
		(a->time > b->time) - (a->time < b->time);
}

/*
 * When the task got its last name before @e, or just before @e, whose time the maps of the new
 * program may have.
 */
static uint64_t name_before(const struct pass *p, const struct changed *e)
{
	uint64_t last = e->time && e->time != HWT_TIME_UNKNOWN ? e->time - 1 : e->time;
	size_t lo = 0, hi = p->nnames;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (by_task(&p->names[mid], e) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && p->names[lo - 1].tid == e->tid && p->names[lo - 1].time < last ?
		p->names[lo - 1].time : last;
}

/*
 * Maps of the new program may come before the record of the exec, but after that of its new name,
 * which is told when the old memory is gone. Nothing is dropped if @rc is an error, which is
 * returned.
 */
static int use_execs(struct pass *p, int rc)
{
	if (p->nnames)
		qsort(p->names, p->nnames, sizeof(*p->names), by_task);
	for (size_t i = 0; i < p->nbegun && !rc; i++) {
		uint64_t when = name_before(p, &p->begun[i]);

		rc = image_exec(p->n->c->image, when == HWT_TIME_UNKNOWN ? 0 : when,
				p->begun[i].pid);
	}
	free(p->names);
	free(p->begun);
	return rc;
}

/*
 * An exec gives the name of its file, which sched.comm tells before, if that is recorded. For what
 * is not recorded at all the end of the system call stands.
 */
static int exec_name(struct pass *p, const struct native_rec *r, int32_t tid, uint64_t when)
{
	const char *path = text_of(r, native_u32(r->p, sched_exec, path_size)), *slash;
	struct seen *t;

	if (!*path || is_named(p, tid))
		return 0;
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path;
	if (!*path)
		return 0;
	t = see(p, tid);
	if (!t)
		return -ENOMEM;
	t->execs = true;
	return machine_set_comm_at(p->n->c->machine, tid, when, path, 15);
}

static int syscall_exit(struct pass *p, const uint8_t *r)
{
	const struct hwt_rec *h = (const struct hwt_rec *)r;
	uint32_t abi = native_u32(r, syscall_exit, abi);	/* all ones: not told */
	int64_t nr = native_u32(r, syscall_exit, nr);
	const struct seen *t;

	if ((nr != p->execve && nr != p->execveat) || native_u64(r, syscall_exit, ret) ||
	    (abi != HWT_syscall_abi_bits64 && abi != UINT32_MAX) || h->tid <= 0 ||
	    p->time == HWT_TIME_UNKNOWN)
		return 0;
	t = idtab_get(&p->seen, sizeof(*t), (uint32_t)h->tid);
	return t && (t->named || t->execs) ? 0 :
		machine_renamed(p->n->c->machine, h->tid, p->time);
}

static int sched_task(struct pass *p, uint16_t id, const struct native_rec *rec)
{
	const uint8_t *r = rec->p;
	struct capture *c = p->n->c;
	uint64_t when = p->time == HWT_TIME_UNKNOWN ? 0 : p->time;
	int32_t pid, tid, parent;
	const char *comm;
	struct seen *t;
	uint64_t aspace;
	int rc;

	switch (id) {
	case HWT_ID_sched_fork:
		pid = (int32_t)native_u32(r, sched_fork, child_pid);
		tid = (int32_t)native_u32(r, sched_fork, child_tid);
		parent = (int32_t)native_u32(r, sched_fork, parent_pid);
		comm = (const char *)r + offsetof(struct hwt_rec_sched_fork, comm);
		rc = machine_task(c->machine, pid, tid);
		if (!rc && *comm)
			rc = machine_set_comm_at(c->machine, tid, when, comm, 16);
		else if (!rc)
			rc = machine_fork_comm(c->machine, tid, (int32_t)
					       native_u32(r, sched_fork, parent_tid), when);
		if (rc || pid == parent || !p->n->traced)
			return rc;
		rc = note_change(p, pid);
		return rc ? rc : image_fork(c->image, when, parent, pid);
	case HWT_ID_sched_exec:
		pid = (int32_t)native_u32(r, sched_exec, task_pid);
		aspace = native_u64(r, sched_exec, aspace);
		tid = (int32_t)native_u32(r, sched_exec, task_tid);
		rc = machine_task(c->machine, pid, tid);
		if (!rc)
			rc = exec_name(p, rec, tid, when);
		p->in_tid = HWT_NONE;	/* a thread that calls exec gets the id of its process */
		if (rc || !p->n->traced)
			return rc;
		if (aspace != UINT64_MAX && pid > 0)
			rc = machine_set_aspace(c->machine, aspace, pid);
		if (!rc)
			rc = note_change(p, pid);
		image_maps_anew(c->image, pid);
		return rc ? rc : note(&p->begun, &p->nbegun, &p->begun_cap,
				      &(struct changed){ tid, pid, p->time });
	case HWT_ID_sched_comm:
		tid = (int32_t)native_u32(r, sched_comm, task_tid);
		comm = (const char *)r + offsetof(struct hwt_rec_sched_comm, comm);
		pid = (int32_t)native_u32(r, sched_comm, task_pid);
		rc = machine_task(c->machine, pid, tid);
		t = see(p, tid);
		if (rc || !t)
			return -ENOMEM;
		t->named = true;
		image_maps_anew(c->image, pid);
		if (p->n->traced)
			rc = note(&p->names, &p->nnames, &p->names_cap,
				  &(struct changed){ tid, HWT_NONE, p->time });
		return rc || !*comm ? rc :
			machine_set_comm_at(c->machine, tid, when, comm, 16);
	}
	return 0;
}

static int state_task(struct pass *p, const uint8_t *r)
{
	return see_task(p, (int32_t)native_u32(r, state_task, task_pid),
			(int32_t)native_u32(r, state_task, task_tid),
			native_u64(r, state_task, aspace));
}

static int state_map(struct pass *p, const struct native_rec *r)
{
	struct hwt_map m = { .addr = native_u64(r->p, state_map, addr),
		.size = native_u64(r->p, state_map, length),
		.file_off = native_u64(r->p, state_map, offset),
		.pid = (int32_t)native_u32(r->p, state_map, map_pid),
		.path = text_of(r, native_u32(r->p, state_map, path_size)) };

	if (!(native_u32(r->p, state_map, prot) & HWT_prot_bit_exec) || !m.size ||
	    m.size > UINT64_MAX - m.addr)
		return 0;
	if (vec_room(&p->there, &p->there_cap, p->nthere, sizeof(*p->there)))
		return -ENOMEM;
	name_map(&m, native_u32(r->p, state_map, kind));
	id_of(&m, r->p + offsetof(struct hwt_rec_state_map, build_id));
	m.path = strdup(m.path);
	if (!m.path)
		return -ENOMEM;
	p->there[p->nthere++] = (struct there){ m, p->time };
	return 0;
}

/*
 * It was there before it was told: always, unless records tell that mappings of the process changed
 * in between. Nothing is added if @rc is an error, which is returned.
 */
static int use_state(struct pass *p, int rc)
{
	for (size_t i = 0; i < p->nthere; i++) {
		struct there *t = &p->there[i];
		const struct seen *k = idtab_get(&p->seen, sizeof(*k), (uint32_t)t->map.pid);

		if (k && k->has_changed && k->changed < t->time && t->time != HWT_TIME_UNKNOWN)
			t->map.from = t->time;
		if (!rc)
			rc = image_add_map(p->n->c->image, &t->map);
		free((char *)t->map.path);
	}
	p->nthere = 0;
	return rc;
}

static int ksymbol(struct pass *p, const struct native_rec *r)
{
	uint64_t addr = native_u64(r->p, text_ksymbol, addr);
	uint32_t size = native_u32(r->p, text_ksymbol, size);
	const char *name = text_of(r, native_u32(r->p, text_ksymbol, name_size));

	if (!size || size > UINT64_MAX - addr)
		return 0;
	return image_add_symbol(p->n->c->image, HWT_NONE,
				p->time == HWT_TIME_UNKNOWN ? 0 : p->time, addr, size,
				native_u32(r->p, text_ksymbol, removed) ? NULL : name);
}

static int unmap(struct pass *p, const uint8_t *r)
{
	uint64_t addr = native_u64(r, mm_unmap, addr), size = native_u64(r, mm_unmap, length);
	int32_t pid = (int32_t)native_u32(r, mm_unmap, map_pid);
	int rc;

	if (!size || size > UINT64_MAX - addr || p->time == HWT_TIME_UNKNOWN || !p->n->traced)
		return 0;
	rc = note_change(p, pid);
	return rc ? rc : image_unmap(p->n->c->image, pid, p->time, addr, size);
}

/* Who runs is not known from here on: a switch may be among what is missing. */
static int lost(struct pass *p, uint64_t time)
{
	p->in_tid = HWT_NONE;
	return time == HWT_TIME_UNKNOWN || p->w.cpu == HWT_NONE ? 0 :
		machine_switch(p->n->c->machine, p->w.cpu, time, HWT_NONE, HWT_NONE, 0);
}

static void note_lost(struct pass *p, const struct native_rec *r)
{
	uint64_t count = native_u64(r->p, stream_lost, count);

	if (count == UINT64_MAX)
		notes_add(&p->n->c->notes, HWT_NOTE_WARN, E_NAT_LOST, p->w.f->path, r->off,
			  "records lost on CPU %d, how many is not known", p->w.cpu);
	else
		notes_add(&p->n->c->notes, HWT_NOTE_WARN, E_NAT_LOST, p->w.f->path, r->off,
			  "%" PRIu64 " record%s lost on CPU %d", count, text_s(count), p->w.cpu);
}

static int record(struct pass *p, const struct native_rec *r)
{
	struct hwt_map m;
	int rc;

	if (!r->e)
		return 0;
	if (r->e->id >> 8 == HWT_SECTION_sched || r->e->id == HWT_ID_state_task) {
		rc = see_names(p, r);
		if (rc)
			return rc;
	}
	switch (r->e->id) {
	case HWT_ID_stream_lost:
		note_lost(p, r);
		return lost(p, p->time);
	case HWT_ID_sched_switch:
		rc = switch_missing(p, r);
		return rc ? rc : sched_switch(p, r->p);
	case HWT_ID_sched_fork: case HWT_ID_sched_exec: case HWT_ID_sched_comm:
		return sched_task(p, r->e->id, r);
	case HWT_ID_syscall_exit: return syscall_exit(p, r->p);
	case HWT_ID_mm_map:
		if (!p->n->traced || !native_rec_map(r, &m))
			return 0;
		m.from = p->time == HWT_TIME_UNKNOWN ? 0 : p->time;
		rc = note_change(p, m.pid);
		return rc ? rc : image_add_map(p->n->c->image, &m);
	case HWT_ID_mm_unmap: return unmap(p, r->p);
	case HWT_ID_state_task: return state_task(p, r->p);
	case HWT_ID_state_map: return state_map(p, r);
	case HWT_ID_text_patch: return patches_add(&p->patches, p->time, p->span, r->p);
	case HWT_ID_text_ksymbol: return ksymbol(p, r);
	case HWT_ID_clock_rate:
		native_rate(p->n, r->p);
		return 0;
	case HWT_ID_clock_sync: case HWT_ID_clock_freq:
		return p->n->c->fit.lo.n ? 0 : native_pair(p->n, &p->pairs, r, p->w.f->path);
	}
	return 0;
}

static int stream(struct pass *p, const struct native_stream *s)
{
	struct native *n = p->n;
	uint64_t before = HWT_TIME_UNKNOWN;
	struct native_rec r;
	int rc = native_walk_init(&p->w, n, s);

	p->in_tid = HWT_NONE;	/* a CPU may have several files, each in its own order */
	while (!rc && native_next(&p->w, &r, &n->c->notes)) {
		p->time = native_time(n, s, native_load64(r.p), &p->span);
		if (p->w.lost)
			rc = lost(p, before);
		if (!rc)
			rc = record(p, &r);
		if (p->time < n->c->time_start)
			n->c->time_start = p->time;
		before = p->time;
		n->c->nevents++;
	}
	native_walk_free(&p->w);
	return rc;
}

/* Records that change nothing; what is lost of them is no switch. */
static int dirty_stream(struct pass *p, const struct native_stream *s)
{
	struct native *n = p->n;
	struct native_rec r;
	uint32_t span;
	int rc = native_walk_init(&p->w, n, s);

	while (!rc && native_next(&p->w, &r, &n->c->notes)) {
		uint64_t time = native_time(n, s, native_load64(r.p), &span);

		/* readings of a clock that nothing else is on */
		if (r.e && r.e->id == HWT_ID_clock_sync && n->dirty_apart)
			continue;
		if (r.e && r.e->id == HWT_ID_stream_lost)
			note_lost(p, &r);
		if (time < n->c->time_start)
			n->c->time_start = time;
		n->c->nevents++;
	}
	native_walk_free(&p->w);
	return rc;
}

int native_read_kernel(struct native *n)
{
	const char *arch = n->c->arch ? n->c->arch : "";
	struct pass p = { .n = n, .in_cpu = HWT_NONE, .in_tid = HWT_NONE,
		.execve = filter_syscall(arch, "execve", 6),
		.execveat = filter_syscall(arch, "execveat", 8) };
	int rc = 0;

	for (size_t i = 0; i < n->nstreams && !rc; i++)
		rc = n->streams[i].dirty ? dirty_stream(&p, &n->streams[i]) :
			stream(&p, &n->streams[i]);
	rc = use_state(&p, use_execs(&p, rc));
	rc = patches_use(&p.patches, n->c->image, !strcmp(arch, "aarch64"), rc);
	idtab_free(&p.seen);
	free(p.there);
	native_rates(n);
	machine_sort(n->c->machine);
	if (!rc && p.pairs.f)
		return pairs_use(&p.pairs, n->c, n->hz, n->hz_ppm, n->clock_error);
	fitter_free(p.pairs.f);
	return rc;
}
