/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "perf.h"
#include "tep.h"
#include "../image/image.h"

/*
 * The perf.data reader: one pass over all records into image, machine, notes and trace buffers.
 * Longer than other files: file, pipe and directory are three ways into the same pass.
 */

#define MAX_MEMBERS 65536	/* data.N files of a directory */
#define PATH_SIZE 4096

static bool has_magic(const struct file *f)
{
	return f->size >= 8 && (!memcmp(f->p, "PERFILE2", 8) || !memcmp(f->p, "2ELIFREP", 8) ||
				!memcmp(f->p, "PERFFILE", 8));
}

static int perf_probe(const struct file *f, const char *path)
{
	char name[PATH_SIZE];
	struct file *data;
	bool ok;

	if (f)
		return has_magic(f) ? 2 : 0;
	if (snprintf(name, sizeof(name), "%s/data", path) >= (int)sizeof(name) ||
	    file_open(&data, name, NULL))
		return 0;
	ok = has_magic(data);
	file_close(data);
	return ok ? 2 : 0;
}

static const char *file_path(const struct perf *pf, uint32_t i)
{
	return i < pf->c->nfiles ? pf->c->files[i]->path : pf->c->path;
}

/* Of an image or machine call: what it refuses is the input's, what it can not store is ours. */
static void keep(struct perf *pf, int rc)
{
	pf->no_memory |= rc == -ENOMEM;
}

static void add_map(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	struct perf_mmap m;
	unsigned mode = r->misc & MISC_CPUMODE;

	if (!perf_mmap(pf, r, s, &m) || !m.exec)
		return;
	/* a guest's addresses are not ours */
	if (mode == MISC_GUEST_KERNEL || mode == MISC_GUEST_USER)
		return;
	if (!m.map.size || m.map.size > UINT64_MAX - m.map.addr) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_FIELD, file_path(pf, r->file), r->off,
			  "map at 0x%" PRIx64 " of 0x%" PRIx64 " bytes is impossible", m.map.addr,
			  m.map.size);
		return;
	}
	if (!m.whole) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_FIELD, file_path(pf, r->file), r->off,
			  "name of a map has no end; cut at %zu bytes", m.path_len);
		m.map.path = arena_strn(&pf->c->arena, m.map.path, m.path_len);
		if (!m.map.path) {
			pf->no_memory = true;
			return;
		}
	}
	keep(pf, image_add_map(pf->c->image, &m.map));
	if (m.map.build_id_size)
		keep(pf, image_set_build_id(pf->c->image, m.map.path, m.map.build_id,
					    m.map.build_id_size));
}

static uint64_t known(uint64_t time)
{
	return time == HWT_TIME_UNKNOWN ? 0 : time;
}

static void task(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	struct cur c = perf_body(pf, r, s);
	struct machine *m = pf->c->machine;
	int32_t pid = (int32_t)cur_u32(&c), other = (int32_t)cur_u32(&c), tid;
	const char *name;
	bool whole;
	size_t n;

	if (r->type == REC_COMM) {
		name = perf_name(&c, &n, &whole);
		keep(pf, machine_task(m, pid, other));
		keep(pf, machine_set_comm_at(m, other, known(s->time), name, n));
		if (r->misc & MISC_COMM_EXEC)
			keep(pf, image_exec(pf->c->image, known(s->time), pid));
		return;
	}
	/* FORK and EXIT: pid, parent's pid, tid, parent's tid */
	tid = (int32_t)cur_u32(&c);
	keep(pf, machine_task(m, pid, tid));
	if (r->type == REC_FORK)
		keep(pf, machine_fork_comm(m, tid, (int32_t)cur_u32(&c), known(s->time)));
	if (r->type == REC_FORK && pid != other && other != HWT_NONE &&
	    !(r->misc & MISC_FORK_EXEC))
		keep(pf, image_fork(pf->c->image, known(s->time), other, pid));
}

/*
 * SWITCH says that its own task comes or goes. SWITCH_CPU_WIDE names the other one too: only the
 * "in" of a switch is entered, at which the task's own code can run again; the "out" tells from
 * when on that may be.
 */
static void cpu_switch(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	struct machine *m = pf->c->machine;
	bool out = r->misc & MISC_SWITCH_OUT;
	uint8_t flags = r->misc & MISC_SWITCH_PREEMPT ? HWT_F_PREEMPT : 0;

	pf->have_switch = true;
	pf->cpu_wide |= r->type == REC_SWITCH_CPU_WIDE;
	if (s->cpu == HWT_NONE || s->time == HWT_TIME_UNKNOWN)
		return;
	if (s->tid != HWT_NONE)
		keep(pf, machine_task(m, s->pid, s->tid));
	if (!out)
		keep(pf, machine_switch(m, s->cpu, s->time, s->pid, s->tid, flags));
	else if (r->type == REC_SWITCH)
		keep(pf, machine_switch(m, s->cpu, s->time, HWT_NONE, HWT_NONE, flags));
	else
		keep(pf, machine_switch_out(m, s->cpu, s->time));
}

static void itrace_start(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	struct cur c = perf_body(pf, r, s);
	int32_t pid = (int32_t)cur_u32(&c), tid = (int32_t)cur_u32(&c);

	keep(pf, machine_task(pf->c->machine, pid, tid));
	if (s->cpu != HWT_NONE && s->time != HWT_TIME_UNKNOWN)
		keep(pf, machine_switch(pf->c->machine, s->cpu, s->time, pid, tid, 0));
}

/*
 * perf writes LOST_SAMPLES at its end, one for each event and CPU, and its sample id names neither:
 * what the events counted is one sum.
 */
static struct perf_lost *lost_of(struct perf *pf, const struct perf_rec *r, int32_t cpu)
{
	struct perf_lost *v = pf->lost.v;
	bool samples = r->type == REC_LOST_SAMPLES;

	for (size_t i = 0; i < pf->lost.n; i++)
		if (v[i].samples == samples && (samples || v[i].cpu == cpu))
			return &v[i];
	v = vec_push(&pf->lost, sizeof(*v));
	if (v)
		*v = (struct perf_lost){ .off = r->off, .file = r->file, .cpu = cpu,
					 .samples = samples };
	else
		pf->no_memory = true;
	return v;
}

static void lost(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	struct cur c = perf_body(pf, r, s);
	struct perf_lost *l = lost_of(pf, r, s->cpu);
	uint64_t n;

	if (r->type == REC_LOST)
		cur_u64(&c);	/* id */
	n = cur_u64(&c);
	if (l) {
		l->places++;
		l->count = n > UINT64_MAX - l->count ? UINT64_MAX : l->count + n;
	}
	/* a switch may be among them */
	if (r->type == REC_LOST && s->cpu != HWT_NONE && s->time != HWT_TIME_UNKNOWN)
		keep(pf, machine_switch(pf->c->machine, s->cpu, s->time, HWT_NONE, HWT_NONE, 0));
}

/* One note with the sum: hundreds of records with a number each tell nobody how many it was. */
static void lost_notes(struct perf *pf)
{
	const struct perf_lost *v = pf->lost.v;
	char cpu[32];

	for (size_t i = 0; i < pf->lost.n; i++) {
		if (v[i].cpu == HWT_NONE)
			snprintf(cpu, sizeof(cpu), "a CPU that is not told");
		else
			snprintf(cpu, sizeof(cpu), "CPU %d", v[i].cpu);
		if (v[i].samples && pf->lost.n > 1)
			notes_add(&pf->c->notes, HWT_NOTE_WARN, E_LOST, file_path(pf, v[i].file),
				  v[i].off, "%" PRIu64 " sample%s lost on all CPUs as the events "
				  "counted them; they count what is lost on a CPU, too",
				  v[i].count, text_s(v[i].count));
		else if (v[i].samples)
			notes_add(&pf->c->notes, HWT_NOTE_WARN, E_LOST, file_path(pf, v[i].file),
				  v[i].off, "%" PRIu64 " sample%s lost on all CPUs as the events "
				  "counted them", v[i].count, text_s(v[i].count));
		else
			notes_add(&pf->c->notes, HWT_NOTE_WARN, E_LOST, file_path(pf, v[i].file),
				  v[i].off, "%" PRIu64 " record%s lost on %s, in %" PRIu64
				  " place%s", v[i].count, text_s(v[i].count), cpu, v[i].places,
				  text_s(v[i].places));
	}
}

static void ksymbol(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	struct cur c = perf_body(pf, r, s);
	uint64_t addr = cur_u64(&c);
	uint32_t size = cur_u32(&c);
	uint16_t flags;
	const char *name;
	bool whole;
	size_t n;

	cur_u16(&c);	/* BPF or out of line code */
	flags = cur_u16(&c);
	name = perf_name(&c, &n, &whole);
	if (whole && size && size <= UINT64_MAX - addr)
		keep(pf, image_add_symbol(pf->c->image, HWT_NONE, known(s->time), addr, size,
					  flags & 1 ? NULL : name));
}

static int text_poke(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	struct cur c = perf_body(pf, r, s);
	uint64_t addr = cur_u64(&c);
	uint16_t nold = cur_u16(&c), nnew = cur_u16(&c);
	const uint8_t *old = cur_take(&c, nold), *new = cur_take(&c, nnew);
	struct perf_poke *p;
	uint8_t *copy;

	if (c.bad || nnew > UINT64_MAX - addr) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_FIELD, file_path(pf, r->file), r->off,
			  "TEXT_POKE of %u and %u bytes does not fit", nold, nnew);
		return 0;
	}
	p = vec_push(&pf->pokes, sizeof(*p));
	copy = arena_alloc(&pf->c->arena, (size_t)nold + nnew + 1);
	if (!p || !copy)
		return -ENOMEM;
	memcpy(copy, old, nold);
	memcpy(copy + nold, new, nnew);
	*p = (struct perf_poke){ known(s->time), addr, copy, copy + nold, nold, nnew };
	return 0;
}

static int aux(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	struct cur c = perf_body(pf, r, s);
	struct perf_aux *a = vec_push(&pf->aux, sizeof(*a));

	if (!a || pf->aux.n >= UINT32_MAX)
		return -ENOMEM;
	a->off = cur_u64(&c);
	a->size = cur_u64(&c);
	a->flags = cur_u64(&c);
	a->time = s->time;
	a->file_off = r->off;
	a->pid = s->pid;
	a->tid = s->tid;
	a->cpu = s->cpu;
	a->seq = (uint32_t)pf->aux.n;
	return 0;
}

static int auxtrace(struct perf *pf, const struct perf_rec *r)
{
	struct cur c = cur_new(r->p + 8, r->size - 8, pf->swap);
	struct perf_chunk *k = vec_push(&pf->chunks, sizeof(*k));

	if (!k)
		return -ENOMEM;
	cur_u64(&c);	/* size */
	k->off = cur_u64(&c);
	cur_u64(&c);	/* reference: only says that chunks differ */
	k->idx = cur_u32(&c);
	k->tid = (int32_t)cur_u32(&c);
	k->cpu = (int32_t)cur_u32(&c);
	if (c.bad) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_FIELD, file_path(pf, r->file), r->off,
			  "AUXTRACE record of %u bytes", r->size);
		pf->chunks.n--;
		return 0;
	}
	k->p = r->extra;
	k->size = r->extra_have;
	k->missing = r->extra_want - r->extra_have;
	k->file = r->file;
	k->file_off = r->off + r->size;
	if (k->missing)
		notes_add(&pf->c->notes, HWT_NOTE_CUT, E_AUXTRACE_CUT, file_path(pf, r->file),
			  r->off, "trace data truncated: %" PRIu64 " bytes are there, %" PRIu64
			  " are missing", k->size, k->missing);
	return 0;
}

/* Bits 7:0 are the trace id that the unit of this CPU uses; the last record counts. */
static int hw_id(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	struct cur c = perf_body(pf, r, s);
	uint64_t id = cur_u64(&c);

	return c.bad ? 0 : idmap_set(&pf->hw_ids, (uint32_t)s->cpu, id & 0x7f);
}

/* sched:sched_switch: used only where the recording has no SWITCH records. */
static int sched_sample(struct perf *pf, const struct perf_sample *s)
{
	struct perf_switch *w;
	uint64_t next, state = 0;

	if (pf->have_switch || s->cpu == HWT_NONE || s->time == HWT_TIME_UNKNOWN ||
	    !trace_fmt_number(pf->fmt, (uint32_t)pf->sched_switch, "next_pid", s->raw, s->raw_size,
			      &next))
		return 0;
	trace_fmt_number(pf->fmt, (uint32_t)pf->sched_switch, "prev_state", s->raw, s->raw_size,
			 &state);
	w = vec_push(&pf->switches, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct perf_switch){ s->time, s->cpu, (int32_t)next,
				   state ? 0 : HWT_F_PREEMPT };
	return 0;
}

static int sample(struct perf *pf, const struct perf_sample *s)
{
	if (s->tid != HWT_NONE)
		keep(pf, machine_task(pf->c->machine, s->pid, s->tid));
	if (!s->attr || !s->raw || s->attr->type != PERF_TYPE_TP || !pf->fmt)
		return 0;
	if (pf->sched_switch < 0)
		pf->sched_switch = trace_fmt_id(pf->fmt, "sched", "sched_switch");
	if (pf->sched_switch >= 0 && s->attr->config == (uint64_t)pf->sched_switch)
		return sched_sample(pf, s);
	return 0;
}

static int kernel_record(struct perf *pf, const struct perf_rec *r)
{
	struct perf_sample s;
	int rc;

	perf_sample(pf, r, &s);
	pf->c->nevents++;
	if (s.bad)
		notes_add(&pf->c->notes, HWT_NOTE_WARN, r->type == REC_SAMPLE ? E_SAMPLE : E_FIELD,
			  file_path(pf, r->file), r->off, "%s record of %u bytes is %s",
			  perf_type_name(r->type), r->size, r->type == REC_SAMPLE && !s.attr ?
			  "of an unknown event" : "too short for its fields and sample id");
	if (s.time != HWT_TIME_UNKNOWN && s.time && s.time < pf->c->time_start)
		pf->c->time_start = s.time;
	switch (r->type) {
	case REC_MMAP: case REC_MMAP2: add_map(pf, r, &s); return 0;
	case REC_COMM: case REC_FORK: case REC_EXIT: task(pf, r, &s); return 0;
	case REC_SWITCH: case REC_SWITCH_CPU_WIDE: cpu_switch(pf, r, &s); return 0;
	case REC_ITRACE_START: itrace_start(pf, r, &s); return 0;
	case REC_LOST: case REC_LOST_SAMPLES: lost(pf, r, &s); return 0;
	case REC_KSYMBOL: ksymbol(pf, r, &s); return 0;
	case REC_TEXT_POKE: return text_poke(pf, r, &s);
	case REC_AUX: return aux(pf, r, &s);
	case REC_AUX_OUTPUT_HW_ID: return hw_id(pf, r, &s);
	case REC_SAMPLE:
		rc = s.aux_size ? perf_sampled(pf, r, &s) : 0;
		return rc ? rc : sample(pf, &s);
	}
	return 0;
}

/* ATTR of a pipe: the attr has its own size in it, ids follow to the end of the record. */
static int pipe_attr(struct perf *pf, const struct perf_rec *r)
{
	struct cur c = cur_new(r->p + 8, r->size - 8, pf->swap), ids;
	uint32_t size;
	int rc;

	cur_u32(&c);
	size = cur_u32(&c);
	if (size < 64 || size > r->size - 8u) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_ATTR, file_path(pf, r->file), r->off,
			  "attribute of %u bytes", size);
		return 0;
	}
	ids = cur_new(r->p + 8 + size, r->size - 8 - size, pf->swap);
	rc = perf_add_attr(pf, r->p + 8, size, &ids);
	return rc == -ENOMEM ? rc : 0;
}

static int tool_record(struct perf *pf, const struct perf_rec *r)
{
	struct cur c = cur_new(r->p + 8, r->size - 8, pf->swap);
	const struct file *f = pf->c->files[r->file];
	uint64_t id;

	switch (r->type) {
	case REC_ATTR: return pipe_attr(pf, r);
	case REC_TRACING_DATA:
		if (r->extra_have < r->extra_want)
			notes_add(&pf->c->notes, HWT_NOTE_CUT, E_TRACING_DATA,
				  file_path(pf, r->file), r->off, "tracing data truncated: %" PRIu64
				  " of %" PRIu64 " bytes are there", r->extra_have, r->extra_want);
		else if (pf->pipe)
			perf_feature(pf, 1, f, r->off, r->extra, (size_t)r->extra_have);
		return 0;
	case REC_BUILD_ID: perf_build_id(pf, r->misc, &c); return 0;
	case REC_FEATURE:
		id = cur_u64(&c);
		/* 1 and 2 come as records of their own */
		if (!c.bad && id > 2 && id < 256)
			perf_feature(pf, (unsigned)id, f, r->off + 16, c.p, cur_left(&c));
		return 0;
	case REC_AUXTRACE_INFO: perf_auxtrace_info(pf, r); return 0;
	case REC_ID_INDEX: perf_id_index(pf, &c); return 0;
	case REC_AUXTRACE: return auxtrace(pf, r);
	case REC_TIME_CONV: perf_time_conv(pf, r); return 0;
	}
	return 0;
}

/* Pass 1. The first damage is the error if nothing could be read. */
static int read_records(struct perf *pf, struct hwt_diag *diag)
{
	struct perf_walk w;
	struct perf_rec r;
	int rc;

	perf_walk_init(&w, pf);
	for (;;) {
		rc = perf_next(&w, &r);
		if (w.bad_id) {
			if (!pf->nrecs && !rc) {
				rc = diag_set(diag, -HWT_E_FORMAT, w.bad_id,
					      file_path(pf, w.bad_file), w.bad_off, "%s",
					      w.bad_text);
				break;
			}
			notes_add(&pf->c->notes, w.bad_severity, w.bad_id,
				  file_path(pf, w.bad_file), w.bad_off, "%s", w.bad_text);
		}
		if (rc <= 0)
			break;
		pf->nrecs++;
		rc = r.type < REC_KERNEL_END ? kernel_record(pf, &r) : tool_record(pf, &r);
		if (!rc && pf->no_memory)
			rc = -ENOMEM;
		if (rc)
			break;
	}
	perf_walk_fini(&w);
	if (rc == -ENOMEM)
		diag_set(diag, rc, 3, pf->c->path, HWT_NO_OFF, "out of memory");
	return rc;
}

static int by_poke(const void *pa, const void *pb)
{
	const struct perf_poke *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

/* Before the first poke of an address the old bytes were there, whatever a late dump shows. */
static void add_pokes(struct perf *pf)
{
	struct perf_poke *v = pf->pokes.v;

	if (pf->pokes.n)
		qsort(v, pf->pokes.n, sizeof(*v), by_poke);
	for (size_t i = 0; i < pf->pokes.n; i++) {
		if ((!i || v[i - 1].addr != v[i].addr) && v[i].nold)
			keep(pf, image_add_bytes(pf->c->image, HWT_NONE, 0, v[i].addr, v[i].old,
						 v[i].nold, NULL));
		if (v[i].nnew)
			keep(pf, image_add_bytes(pf->c->image, HWT_NONE, v[i].time, v[i].addr,
						 v[i].new, v[i].nnew, NULL));
	}
}

/* A tracepoint names threads only. The idle task is thread 0 of process 0 on every CPU. */
int32_t perf_pid_of(const struct perf *pf, int32_t tid)
{
	return tid ? machine_pid(pf->c->machine, tid) : 0;
}

static void add_switches(struct perf *pf)
{
	const struct perf_switch *v = pf->switches.v;

	for (size_t i = 0; i < pf->switches.n && !pf->have_switch; i++)
		keep(pf, machine_switch(pf->c->machine, v[i].cpu, v[i].time,
					perf_pid_of(pf, v[i].tid), v[i].tid, v[i].flags));
}

/* Times are of perf's own clock unless the user named one; trace time converts to the former. */
static void clocks(struct perf *pf)
{
	const struct perf_attr *a = pf->nattrs ? &pf->attrs[0] : NULL;

	capture_base(pf->c, "perf clock");
	if (!a || !a->use_clockid)
		return;
	capture_base(pf->c, perf_clock_name(a->clockid));
	if (!time_map_valid(&pf->c->tsc))
		return;
	notes_add(&pf->c->notes, HWT_NOTE_WARN, E_CLOCKID, pf->c->path, HWT_NO_OFF,
		  "events are on %s, trace time converts to perf's own clock", pf->c->clock);
	pf->c->tsc = (struct time_map){ 0 };
}

/* Records of a tracepoint that was opened twice have times of their own: nothing else tells. */
static void opened_twice(struct perf *pf)
{
	struct idmap seen = { 0 };

	for (size_t i = 0; i < pf->nattrs && !pf->no_memory; i++) {
		const struct perf_attr *a = &pf->attrs[i];
		uint32_t before;

		if (a->type != PERF_TYPE_TP)
			continue;
		before = idmap_get(&seen, a->config);
		/* each is told once */
		if (before == 0)
			notes_add(&pf->c->notes, HWT_NOTE_WARN, E_TWICE, pf->c->path, HWT_NO_OFF,
				  "%.64s was opened more than once, so each of its records may be "
				  "there twice", *a->name ? a->name : "a tracepoint");
		pf->no_memory |= idmap_set(&seen, a->config, before != IDMAP_NONE) != 0;
	}
	idmap_free(&seen);
}

static void free_pass1(struct perf *pf)
{
	struct vec *all[] = { &pf->aux, &pf->chunks, &pf->pokes, &pf->switches, &pf->lost,
		&pf->samples };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		free(all[i]->v);
		*all[i] = (struct vec){ 0 };
	}
	idmap_free(&pf->hw_ids);
	idmap_free(&pf->sampled);
}

static void free_perf(struct capture *c)
{
	struct perf *pf = c->priv;

	free(pf->attrs);
	free(pf->segs);
	idmap_free(&pf->ids);
	trace_fmt_free(pf->fmt);
	free_pass1(pf);
	free(pf);
	c->priv = NULL;
}

/* data.0, data.1, ... of perf record --threads: records only, each with its own stream. */
static int add_members(struct perf *pf, const char *dir, struct hwt_diag *diag)
{
	char name[PATH_SIZE];

	for (unsigned i = 0; i < MAX_MEMBERS; i++) {
		struct hwt_diag why = { 0 };
		struct perf_seg *v;
		struct file *f;
		int rc;

		if (snprintf(name, sizeof(name), "%s/data.%u", dir, i) >= (int)sizeof(name))
			return 0;
		rc = file_open(&f, name, &why);
		if (rc == -ENOENT)
			return 0;
		if (rc) {
			notes_add(&pf->c->notes, HWT_NOTE_WARN, E_MEMBER, name, HWT_NO_OFF, "%s",
				  why.text);
			continue;
		}
		v = realloc(pf->segs, (pf->nsegs + 1) * sizeof(*v));
		if (v)
			pf->segs = v;
		if (capture_add_file(pf->c, f) || !v)
			return diag_set(diag, -ENOMEM, 3, name, HWT_NO_OFF, "out of memory");
		v[pf->nsegs++] = (struct perf_seg){ .f = f, .end = f->size,
						    .file = (uint32_t)(pf->c->nfiles - 1) };
	}
	return 0;
}

/* kcore_dir of perf record --kcore: the kernel's code as it was. Its absence is normal. */
static void add_kcore(struct perf *pf, const char *dir, const struct hwt_open_opts *o)
{
	static const char *const names[] = { "kcore", "kallsyms" };
	char name[PATH_SIZE];

	for (int i = 0; i < 2; i++) {
		struct hwt_diag why = { 0 };
		FILE *in;
		int rc;

		if ((i ? o->kallsyms : o->kcore) ||
		    snprintf(name, sizeof(name), "%s/kcore_dir/%s", dir, names[i]) >=
		    (int)sizeof(name))
			continue;
		in = fopen(name, "rbe");
		if (!in)
			continue;
		fclose(in);
		rc = i ? image_add_kallsyms(pf->c->image, name, &why) :
			image_add_kcore(pf->c->image, name, &why);
		if (rc)
			notes_add(&pf->c->notes, HWT_NOTE_WARN, why.id ? why.id : E_MEMBER, name,
				  HWT_NO_OFF, "%s", why.text);
		else
			capture_fact(pf->c, names[i], "%s", name);
	}
}

static int load(struct perf *pf, const struct file *f, const char *dir,
		const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	int rc = perf_header(pf, f, diag);

	if (rc)
		return rc;
	perf_features(pf, f);
	if (dir) {
		rc = add_members(pf, dir, diag);
		if (rc)
			return rc;
		add_kcore(pf, dir, o);
	}
	rc = read_records(pf, diag);
	if (rc)
		return rc;
	lost_notes(pf);
	add_pokes(pf);
	add_switches(pf);
	machine_sort(pf->c->machine);
	clocks(pf);
	perf_scope(pf);
	opened_twice(pf);
	if (pf->no_memory)
		return diag_set(diag, -ENOMEM, 3, pf->c->path, HWT_NO_OFF, "out of memory");
	if (perf_dirty_names(pf))
		return diag_set(diag, -ENOMEM, 3, pf->c->path, HWT_NO_OFF, "out of memory");
	rc = perf_make_bufs(pf, diag);
	free_pass1(pf);
	return rc;
}

static int perf_open(struct capture *c, struct file *f, const char *path,
		     const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	static const struct hwt_open_opts none = { .size = sizeof(none) };
	const char *dir = f ? NULL : path;
	char name[PATH_SIZE];
	struct perf *pf;
	int rc;

	if (dir) {
		if (snprintf(name, sizeof(name), "%s/data", dir) >= (int)sizeof(name))
			return diag_set(diag, -ENAMETOOLONG, 1, path, HWT_NO_OFF, "path too long");
		rc = file_open(&f, name, diag);
		if (rc)
			return rc;
	}
	pf = calloc(1, sizeof(*pf));
	if (!pf) {
		file_close(f);
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	}
	pf->c = c;
	pf->sched_switch = -1;
	c->priv = pf;
	c->free_priv = free_perf;
	c->format = "perf.data";
	c->path = arena_str(&c->arena, f->path);
	if (capture_add_file(c, f) || !c->path) {
		c->path = "";
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	}
	rc = load(pf, f, dir, o ? o : &none, diag);
	c->events = perf_events;
	c->event_name = perf_event_name;
	c->event_text = perf_event_text;
	c->kernel = perf_kernel;
	c->dirty_name = perf_dirty_name;
	c->dirty_text = perf_dirty_text;
	c->dirty_field = perf_dirty_field;
	return rc;
}

const struct source source_perf = {
	.name = "perf",
	.what = "perf.data of Linux perf: file, pipe output, directory",
	.probe = perf_probe,
	.open = perf_open,
};
