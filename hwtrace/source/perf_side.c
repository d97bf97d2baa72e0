/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of the kernel that are no samples ("sideband", linux/perf_event.h) as virtual events. */
#include "perf_kernel.h"

#define MAP_IS_SHARED	1u	/* MAP_SHARED, the same on every architecture */
#define CODE_MAX	16u	/* bytes of code in a record */

static int blank(struct perf_turn *t, unsigned id, void *rec)
{
	return virt_blank(t->virt, &t->ctx, id, rec);
}

static int done(struct perf_turn *t, void *rec)
{
	const struct hwt_rec *h = rec;
	int rc = virt_note(t->virt, rec, t->ctx.cpu);

	return rc ? rc : h->size;
}

/*
 * A task that could run on was made to leave, or called sched_yield(); the kernel does not say
 * which of them.
 */
static int turn_out(struct perf_turn *t, int32_t next_pid, int32_t next_tid, void *rec)
{
	struct hwt_rec_sched_switch *w = rec;

	blank(t, HWT_ID_sched_switch, rec);
	w->prev_pid = t->s.pid;
	w->prev_tid = t->s.tid;
	w->next_pid = next_pid;
	w->next_tid = next_tid;
	if (t->r.misc & MISC_SWITCH_PREEMPT)
		w->prev_state = HWT_task_state_ready;
	else if (t->runnable_known)
		w->preempted = HWT_yesno_no;
	return done(t, rec);
}

/* Whoever comes in was told by the record of who went, if that is there. */
static int turn_switch(struct perf_turn *t, void *rec)
{
	struct cur c = perf_body(t->pf, &t->r, &t->s);
	struct hwt_rec_sched_switch *w = rec;
	int32_t pid = -1, tid = -1;

	if (t->told.sched_switch || t->s.tid < 0)
		return 0;
	if (t->r.type == REC_SWITCH_CPU_WIDE) {
		pid = (int32_t)cur_u32(&c);
		tid = (int32_t)cur_u32(&c);
	}
	if (t->r.misc & MISC_SWITCH_OUT)
		return turn_out(t, pid, tid, rec);
	if (virt_running(t->virt, t->ctx.cpu) == t->s.tid)
		return 0;
	t->ctx.pid = pid;
	t->ctx.tid = tid;
	blank(t, HWT_ID_sched_switch, rec);
	w->prev_pid = w->rec.pid = pid;
	w->prev_tid = w->rec.tid = tid;
	w->next_pid = t->s.pid;
	w->next_tid = t->s.tid;
	return done(t, rec);
}

static int turn_task(struct perf_turn *t, void *rec)
{
	struct cur c = perf_body(t->pf, &t->r, &t->s);
	int32_t pid = (int32_t)cur_u32(&c), parent_pid = (int32_t)cur_u32(&c);
	int32_t tid = (int32_t)cur_u32(&c), parent_tid = (int32_t)cur_u32(&c);
	struct hwt_rec_sched_fork *f = rec;
	struct hwt_rec_sched_exit *x = rec;
	int rc;

	if (t->r.type == REC_EXIT) {
		if (t->told.exit)
			return 0;
		blank(t, HWT_ID_sched_exit, rec);
		x->task_pid = pid;
		x->task_tid = tid;
		return done(t, rec);
	}
	rc = virt_new_task(t->virt, tid, pid);
	if (rc || t->told.fork)
		return rc;
	blank(t, HWT_ID_sched_fork, rec);
	f->parent_pid = parent_pid;
	f->parent_tid = parent_tid;
	f->child_pid = pid;
	f->child_tid = tid;
	return done(t, rec);
}

/* The name that exec gives: then the new memory is there, too. */
static int turn_comm(struct perf_turn *t, void *rec, bool *more)
{
	struct cur c = perf_body(t->pf, &t->r, &t->s);
	int32_t pid = (int32_t)cur_u32(&c), tid = (int32_t)cur_u32(&c);
	bool exec = t->r.misc & MISC_COMM_EXEC && !t->told.exec, whole;
	struct hwt_rec_sched_comm *m = rec;
	struct hwt_rec_sched_exec *e = rec;
	const char *name;
	size_t n;

	if (t->part || t->told.comm) {
		if (!exec)
			return 0;
		blank(t, HWT_ID_sched_exec, rec);
		e->task_pid = pid;
		e->task_tid = tid;
		virt_set_text(rec, "", 0);
		return done(t, rec);
	}
	name = perf_name(&c, &n, &whole);
	blank(t, HWT_ID_sched_comm, rec);
	m->task_pid = pid;
	m->task_tid = tid;
	virt_set_name(m->comm, name, n);
	*more = exec;
	return done(t, rec);
}

static uint32_t kind_of(const char *path)
{
	if (!strncmp(path, "//anon", 6) || !strncmp(path, "[heap]", 6) ||
	    !strncmp(path, "[stack]", 7) || !strncmp(path, "[anon", 5))
		return HWT_map_kind_memory;
	return *path == '[' ? HWT_map_kind_kernel : HWT_map_kind_file;
}

/* Device and inode, or a build-id in their place; what is allowed. MMAP2 only. */
static void map_rest(struct perf_turn *t, struct cur *c, struct hwt_rec_mm_map *w)
{
	const uint8_t *id;
	uint32_t prot;

	if (t->r.misc & MISC_BUILD_ID) {
		id = cur_take(c, 24);
		if (id && id[0] <= 20) {
			w->build_id[0] = id[0];
			memcpy(w->build_id + 1, id + 4, id[0]);
		}
	} else {
		w->major = cur_u32(c);
		w->minor = cur_u32(c);
		w->inode = cur_u64(c);
		w->inode_gen = cur_u64(c);
	}
	prot = cur_u32(c);	/* PROT_READ 1, WRITE 2, EXEC 4: the list's bits */
	w->prot = prot & 7;
	w->shared = cur_u32(c) & MAP_IS_SHARED ? HWT_yesno_yes : HWT_yesno_no;
}

static int turn_map(struct perf_turn *t, void *rec)
{
	struct hwt_rec_mm_map *w = rec;
	struct perf_mmap m;
	struct cur c;

	if (!perf_mmap(t->pf, &t->r, &t->s, &m) || !m.exec || !m.whole || m.map.pid < 0)
		return 0;
	blank(t, HWT_ID_mm_map, rec);
	c = perf_body(t->pf, &t->r, &t->s);
	w->map_pid = (int32_t)cur_u32(&c);
	w->map_tid = (int32_t)cur_u32(&c);
	w->addr = cur_u64(&c);
	w->length = cur_u64(&c);
	w->offset = cur_u64(&c);
	if (t->r.type == REC_MMAP2)
		map_rest(t, &c, w);
	w->kind = kind_of(m.map.path);
	if (w->kind != HWT_map_kind_file) {	/* zeroes: there is none */
		w->major = w->minor = UINT32_MAX;
		w->inode = w->inode_gen = UINT64_MAX;
	}
	virt_set_text(rec, m.map.path, m.path_len);
	return done(t, rec);
}

static int turn_ksymbol(struct perf_turn *t, void *rec)
{
	struct cur c = perf_body(t->pf, &t->r, &t->s);
	struct hwt_rec_text_ksymbol *w = rec;
	const char *name;
	uint32_t kind;
	bool whole;
	size_t n;

	blank(t, HWT_ID_text_ksymbol, rec);
	w->addr = cur_u64(&c);
	w->size = cur_u32(&c);
	kind = cur_u16(&c);
	if (kind == HWT_code_kind_bpf || kind == HWT_code_kind_page)
		w->kind = kind;
	w->removed = cur_u16(&c) & 1 ? HWT_yesno_yes : HWT_yesno_no;
	name = perf_name(&c, &n, &whole);
	virt_set_text(rec, name, n);
	return done(t, rec);
}

/* Code that comes anew has no old bytes: that is no patch. */
static int turn_poke(struct perf_turn *t, void *rec, bool *more)
{
	struct cur c = perf_body(t->pf, &t->r, &t->s);
	struct hwt_rec_text_patch *w = rec;
	uint64_t addr = cur_u64(&c);
	uint32_t old = cur_u16(&c), fresh = cur_u16(&c), at = t->part * CODE_MAX, n;
	const uint8_t *bytes = cur_take(&c, old + fresh);

	if (!bytes || old != fresh || at >= old)
		return 0;
	n = old - at < CODE_MAX ? old - at : CODE_MAX;
	blank(t, HWT_ID_text_patch, rec);
	w->addr = addr + at;
	w->size = n;
	memcpy(w->old_code, bytes + at, n);
	memcpy(w->new_code, bytes + old + at, n);
	*more = at + n < old;
	return done(t, rec);
}

static int turn_lost(struct perf_turn *t, void *rec)
{
	struct cur c = perf_body(t->pf, &t->r, &t->s);

	if (t->r.type == REC_LOST)
		cur_u64(&c);	/* the event's id */
	t->ctx.pid = t->ctx.tid = -1;
	return virt_make_lost(t->virt, &t->ctx, cur_u64(&c), rec);
}

int perf_side(struct perf_turn *t, void *rec, bool *more)
{
	*more = false;
	if (t->s.bad)
		return 0;
	switch (t->r.type) {
	case REC_SWITCH: case REC_SWITCH_CPU_WIDE: return turn_switch(t, rec);
	case REC_FORK: case REC_EXIT: return turn_task(t, rec);
	case REC_COMM: return turn_comm(t, rec, more);
	case REC_MMAP: case REC_MMAP2: return turn_map(t, rec);
	case REC_KSYMBOL: return turn_ksymbol(t, rec);
	case REC_TEXT_POKE: return turn_poke(t, rec, more);
	case REC_LOST: case REC_LOST_SAMPLES: return turn_lost(t, rec);
	}
	return 0;
}
