/* SPDX-License-Identifier: BSD-2-Clause */
#include "whole.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/uapi.h>

#include "correlate/session.h"

#define BATCH	256
#define COUNTING	4096	/* bytes of a counting function behind its instruction, at most */
#define PAGE_BITS ((1ull << 12) - 1)	/* of CR3 that say something else */

/* Doubles an array when it is full. */
static int room(void *array, size_t n, size_t size)
{
	void *p, *old;

	memcpy(&old, array, sizeof(old));
	if (n & (n - 1))
		return 0;
	p = realloc(old, (n ? 2 * n : 1) * size);
	if (!p)
		return -ENOMEM;
	memcpy(array, &p, sizeof(p));
	return 0;
}

int whole_line(const struct whole *w, uint32_t id)
{
	for (size_t i = 0; i < w->nlines; i++)
		if (w->line[i].id == id)
			return (int)i;
	return -1;
}

static int keep(struct whole *w, const struct hwt_event *ev)
{
	struct whole_cpu *c;
	void *copy;

	if (ev->type != HWT_EV_RECORD || ev->cpu < 0 || (size_t)ev->cpu >= w->ncpus ||
	    ev->u.rec.id >= HWT_ID_DIRTY)
		return 0;
	c = &w->cpu[ev->cpu];
	copy = malloc(ev->u.rec.size);
	if (!copy || room(&c->rec, c->nrec, sizeof(*c->rec))) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, ev->u.rec.data, ev->u.rec.size);
	c->rec[c->nrec++] = (struct whole_rec){ .data = copy, .size = ev->u.rec.size,
		.visit = SIZE_MAX };
	return 0;
}

/* A counting function ends where the next symbol of the module is. */
static int find_ends(struct whole *w)
{
	char path[4096], text[512];
	FILE *in;

	snprintf(path, sizeof(path), "%s/../symbols", w->guest);
	in = fopen(path, "r");
	if (!in) {
		fprintf(stderr, "whole: %s: %s\n", path, strerror(errno));
		return -errno;
	}
	while (fgets(text, sizeof(text), in)) {
		uint64_t addr = strtoull(text, NULL, 16);

		for (size_t i = 0; i < w->nlines; i++)
			if (addr > w->line[i].addr && addr < w->line[i].end)
				w->line[i].end = addr;
	}
	fclose(in);
	return 0;
}

/* What the guest recorded, and where its kernel counts what it records. */
static int read_guest(struct whole *w)
{
	static struct hwt_event ev[BATCH];
	const struct hwt_open_opts opts = { .size = sizeof(opts) };
	const struct capture *c;
	struct hwt_session *s;
	struct hwt_stream *st;
	struct hwt_diag diag;
	int n, rc = hwt_session_open(&s, w->guest, &opts, &diag);

	if (rc) {
		fprintf(stderr, "whole: %s\n", diag.text);
		return rc;
	}
	c = session_capture(s);
	for (size_t i = 0; i < c->ncommits && w->nlines < WHOLE_LINES; i++) {
		w->line[w->nlines].id = c->commits[i].id;
		w->line[w->nlines].name = hwt_abi_event_by_id(c->commits[i].id)->name;
		w->line[w->nlines++].addr = c->commits[i].addr;
	}
	for (size_t i = 0; i < w->nlines; i++)
		w->line[i].end = w->line[i].addr + COUNTING;
	rc = find_ends(w);
	if (rc) {
		hwt_session_close(s);
		return rc;
	}
	rc = hwt_session_kernel(s, &st, &diag);
	while (!rc && (n = hwt_stream_next(st, ev, BATCH)) != 0) {
		if (n < 0)
			rc = n;
		for (int i = 0; i < n && !rc; i++)
			rc = keep(w, &ev[i]);
	}
	if (!rc)
		hwt_stream_close(st);
	hwt_session_close(s);
	return rc;
}

/* Walk of one CPU of the recording. */
struct walk {
	struct whole *w;
	struct whole_cpu *c;
	uint64_t before, table, aspace, thread;
	size_t at;		/* the next record that may be a switch */
	int32_t tid;		/* who runs, by the stamps of the switches */
	uint64_t next;		/* space that the last switch tells; UINT64_MAX: none */
	bool told;
	bool open[WHOLE_LINES];	/* the counting function runs */
};

static void now(struct walk *k, uint64_t tick)
{
	for (; k->at < k->c->nrec && k->c->rec[k->at].data->time <= tick; k->at++) {
		const struct hwt_rec_sched_switch *s = (void *)k->c->rec[k->at].data;

		/* who runs has another space than its switch said */
		if (s->rec.id == HWT_ID_sched_exec)
			k->told = false;
		if (s->rec.id != HWT_ID_sched_switch)
			continue;
		k->tid = s->next_tid;
		k->next = s->next_aspace;
		k->told = true;
	}
}

bool whole_is_pt(const struct whole *w)
{
	return rec_isa(w->rec) == MODEL_X86_64;
}

/* The address space as a switch tells it. */
static uint64_t space_of(const struct walk *k)
{
	return whole_is_pt(k->w) ? k->table & ~PAGE_BITS : k->aspace;
}

static int user_code(struct walk *k, const struct model_event *ev)
{
	struct whole_cpu *c = k->c;
	const struct whole_seg *s = c->nseg ? &c->seg[c->nseg - 1] : NULL;

	now(k, ev->tick);
	if (s && s->tid == k->tid && s->table == k->table && s->aspace == k->aspace &&
	    s->thread == k->thread)
		return 0;
	/* Linux on Arm has the thread's number there */
	if (!whole_is_pt(k->w) && (uint64_t)k->tid != k->aspace) {
		printf("FAIL at %" PRIu64 " thread %" PRIu64 " runs, by the records %d\n", ev->tick,
		       k->aspace, k->tid);
		return -EINVAL;
	}
	/* a switch since then tells the address space, unless the program was replaced */
	if (s && s->tid != k->tid) {
		k->w->threads += s->thread != k->thread;
		k->w->spaces += s->table != k->table;
		if (k->told && k->next != space_of(k)) {
			printf("FAIL at %" PRIu64 " thread %d runs in %" PRIx64
			       ", its switch says %" PRIx64 "\n", ev->tick, k->tid, space_of(k),
			       k->next);
			return -EINVAL;
		}
	}
	if (room(&c->seg, c->nseg, sizeof(*c->seg)))
		return -ENOMEM;
	c->seg[c->nseg++] = (struct whole_seg){ .insn = c->insns, .tick = ev->tick,
		.table = k->table, .aspace = k->aspace, .thread = k->thread, .tid = k->tid };
	return 0;
}

static int begin_visit(struct walk *k, const struct model_event *ev, size_t line, uint32_t insn)
{
	struct whole_cpu *c = k->c;

	if (room(&c->visit[line], c->nvisit[line], sizeof(**c->visit)))
		return -ENOMEM;
	c->visit[line][c->nvisit[line]++] = (struct whole_visit){ .insn = c->insns + insn,
		.end = UINT64_MAX, .before = k->before, .tick = ev->tick, .over = UINT64_MAX,
		.record = SIZE_MAX };
	k->open[line] = true;
	return 0;
}

static int visits(struct walk *k, const struct model_event *ev)
{
	const struct model_block *b = ev->block;
	const uint8_t *sizes = rec_sizes(b);
	uint64_t addr = b->first;
	int rc = 0;

	for (uint32_t i = 0; i < ev->insns && !rc; addr += sizes[i++])
		for (size_t l = 0; l < k->w->nlines && !rc; l++)
			if (addr == k->w->line[l].addr)
				rc = begin_visit(k, ev, l, i);
	if (b->kind != MODEL_RETURN || ev->insns < b->insns)
		return rc;
	/* calls are no measure: a breakpoint in the place of one is none */
	for (size_t l = 0; l < k->w->nlines; l++) {
		struct whole_visit *v;

		if (!k->open[l] || b->last < k->w->line[l].addr || b->last >= k->w->line[l].end)
			continue;
		v = &k->c->visit[l][k->c->nvisit[l] - 1];
		v->end = k->c->insns + ev->insns;
		v->over = ev->tick;
		k->open[l] = false;
	}
	return rc;
}

static int context(struct walk *k, const struct model_event *ev)
{
	struct whole_cpu *c = k->c;

	k->table = ev->value != MODEL_NO_ADDR ? ev->value : k->table;
	k->thread = ev->to;
	if (k->aspace == ev->ctx.aspace)
		return 0;
	if (room(&c->change, c->nchange, sizeof(*c->change)))
		return -ENOMEM;
	c->change[c->nchange++] = (struct whole_change){ ev->tick,
		whole_is_pt(k->w) ? ev->tick : UINT64_MAX };
	k->aspace = ev->ctx.aspace;
	return 0;
}

/* A branch, a barrier or a trap tells the change before. */
static void tell_change(struct whole_cpu *c, const struct model_event *ev)
{
	struct whole_change *ch = c->nchange ? &c->change[c->nchange - 1] : NULL;

	if (ch && ch->told == UINT64_MAX && (ev->op == MODEL_TRAP ||
	    (ev->op == MODEL_RUN && ev->block->kind != MODEL_PLAIN)))
		ch->told = ev->tick;
}

static int walk(struct whole *w, size_t cpu)
{
	struct walk k = { .w = w, .c = &w->cpu[cpu], .next = UINT64_MAX };
	struct model_event ev;
	struct rec_iter *it;
	int rc = rec_iter_new(&it, w->rec, cpu, &w->clk), more = 0;

	if (k.c->nrec)
		k.tid = k.c->rec[0].data->tid;
	while (!rc && (more = rec_next(it, &ev)) > 0) {
		if (ev.op == MODEL_CONTEXT)
			rc = context(&k, &ev);
		tell_change(k.c, &ev);
		if (ev.op == MODEL_RUN) {
			rc = ev.block->first >> 63 ? visits(&k, &ev) : user_code(&k, &ev);
			k.c->insns += ev.insns;
		}
		if (ev.op == MODEL_VALUE) {
			rc = room(&k.c->mark, k.c->nmark, sizeof(*k.c->mark));
			if (!rc)
				k.c->mark[k.c->nmark++] = (struct whole_mark){ k.c->insns,
					ev.value };
		}
		if (!k.before)
			k.c->from = ev.tick;
		k.c->upto = k.before = ev.tick;
	}
	if (more < 0)
		fprintf(stderr, "whole: recording: %s\n", rec_why(it));
	rec_iter_free(it);
	return rc ? rc : more;
}

/* The recording may lack the return that ended a visit: it had ended when the next one began. */
static uint64_t over(const struct whole_cpu *c, size_t line, size_t v)
{
	const struct whole_visit *x = &c->visit[line][v];

	return x->over == UINT64_MAX && v + 1 < c->nvisit[line] ? x[1].before : x->over;
}

/*
 * The records of an event that are stamped while its counting function runs are its. Numbers that
 * the kernel gave them are not looked at here: they are held against this.
 */
static int assign(struct whole *w, struct whole_cpu *c, size_t line)
{
	size_t v = 0;

	for (size_t i = 0; i < c->nrec; i++) {
		uint64_t t = c->rec[i].data->time;

		if (c->rec[i].data->id != w->line[line].id || t < c->from || t > c->upto)
			continue;
		while (v < c->nvisit[line] && over(c, line, v) < t)
			v++;
		if (v == c->nvisit[line] || c->visit[line][v].before > t) {
			/* the function had begun when the recording did */
			if (v == 0)
				continue;
			fprintf(stderr, "whole: nothing wrote the %s of %" PRIu64 "\n",
				w->line[line].name, t);
			return -EINVAL;
		}
		if (c->visit[line][v].record != SIZE_MAX) {
			fprintf(stderr, "whole: two %s of one visit at %" PRIu64 "\n",
				w->line[line].name, t);
			return -EINVAL;
		}
		c->visit[line][v].record = i;
		c->rec[i].visit = v;
	}
	return 0;
}

/* Each visit is the next number. */
static int numbers(const struct whole *w, const struct whole_cpu *c, size_t line)
{
	uint64_t first = 0;
	bool known = false;

	for (size_t v = 0; v < c->nvisit[line]; v++) {
		size_t r = c->visit[line][v].record;

		if (r == SIZE_MAX)
			continue;
		if (known && c->rec[r].data->hit != first + v) {
			printf("FAIL visit %zu of %s wrote the record with number %" PRIu64
			       ", not %" PRIu64 "\n", v, w->line[line].name,
			       (uint64_t)c->rec[r].data->hit, first + v);
			return -EINVAL;
		}
		first = c->rec[r].data->hit - v;
		known = true;
	}
	return 0;
}

int whole_open(struct whole *w, const char *recording, const char *guest)
{
	const char *why = "";
	int rc;

	*w = (struct whole){ .clk.per_tick = 1, .guest = guest };
	rc = rec_open(&w->rec, recording, &why);
	if (!rc && (!rec_is_guest(w->rec) || rec_threads(w->rec) > WHOLE_CPUS))
		rc = -EINVAL;
	if (rc) {
		fprintf(stderr, "whole: %s %s\n", recording, why);
		return rc;
	}
	w->ncpus = rec_threads(w->rec);
	/* CNTVCT of QEMU's machine; the recording has nanoseconds */
	if (!whole_is_pt(w))
		w->clk.per_tick = 16;
	rc = read_guest(w);
	if (!rc)
		rc = code_new(&w->code, w->rec, &w->clk);
	for (size_t i = 0; i < w->ncpus && !rc; i++) {
		rc = walk(w, i);
		for (size_t l = 0; l < w->nlines && !rc; l++) {
			rc = assign(w, &w->cpu[i], l);
			if (!rc)
				rc = numbers(w, &w->cpu[i], l);
		}
		for (size_t k = 0; k < w->cpu[i].nrec; k++) {
			const struct hwt_rec *r = w->cpu[i].rec[k].data;

			w->patches += r->id == HWT_ID_text_patch && r->time >= w->cpu[i].from &&
				r->time <= w->cpu[i].upto;
		}
	}
	whole_lose(w, 0);
	return rc;
}

void whole_close(struct whole *w)
{
	for (size_t i = 0; i < WHOLE_CPUS; i++) {
		struct whole_cpu *c = &w->cpu[i];

		for (size_t k = 0; k < c->nrec; k++)
			free(c->rec[k].data);
		free(c->rec);
		for (size_t l = 0; l < WHOLE_LINES; l++)
			free(c->visit[l]);
		free(c->seg);
		free(c->mark);
		free(c->change);
	}
	code_free(w->code);
	rec_close(w->rec);
}

#define SPACES	1024

/* Address spaces of processes that were told. */
struct told { struct { uint64_t aspace; int32_t pid; } v[SPACES]; size_t n; };

/*
 * Those are not lost: without code, and without anybody who says whose the address space is, there
 * are holes, which is another matter.
 */
static bool tells_code(struct told *t, const struct hwt_rec *r)
{
	const struct hwt_rec_sched_switch *s = (const void *)r;
	size_t i = 0;

	switch (r->id) {
	case HWT_ID_text_patch: case HWT_ID_mm_map: case HWT_ID_mm_unmap: case HWT_ID_sched_fork:
	case HWT_ID_sched_exec:
		return true;
	case HWT_ID_sched_switch:
		break;
	default:
		return false;
	}
	while (i < t->n && (t->v[i].aspace != s->next_aspace || t->v[i].pid != s->next_pid))
		i++;
	if (i < t->n || i == SPACES)
		return false;
	t->v[t->n].aspace = s->next_aspace;
	t->v[t->n++].pid = s->next_pid;
	return true;
}

void whole_lose(struct whole *w, unsigned permille)
{
	uint64_t x = 88172645463325252;
	struct told told = { .n = 0 };

	for (size_t i = 0; i < w->ncpus; i++) {
		uint64_t n[WHOLE_LINES] = { 0 };

		for (size_t k = 0; k < w->cpu[i].nrec; k++) {
			struct whole_rec *r = &w->cpu[i].rec[k];
			int line = whole_line(w, r->data->id);

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			r->lost = !tells_code(&told, r->data) && line >= 0 && x % 1000 < permille;
			if (line >= 0 && !r->lost)
				r->nth = n[line]++;
		}
	}
}

const struct whole_seg *whole_seg_at(const struct whole_cpu *c, uint64_t insn)
{
	size_t lo = 0, hi = c->nseg;

	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->seg[mid].insn <= insn)
			lo = mid;
		else
			hi = mid;
	}
	return hi && c->seg[lo].insn <= insn ? &c->seg[lo] : NULL;
}
