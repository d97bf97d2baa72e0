/* SPDX-License-Identifier: BSD-2-Clause */
#include "tracepoint.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <hwtrace/abi.h>
#include <hwtrace/event.h>

#include "../base/cur.h"
#include "../base/diag.h"
#include "../base/idmap.h"
#include "../source/tep.h"
#include "dirty.h"
#include "kfilter.h"
#include "tracefs.h"

#define POINTS	(DIRTY_MAX + 128)	/* more than there are maps beside them */

struct point {
	const char *system, *name;
	const struct virt_map *map;	/* NULL: none is of use */
	const struct hwt_filter *cond;	/* NULL: it is not wanted for itself */
	int dirty;			/* index in @want->dirty, -1: it is none of it */
	uint32_t id;			/* this kernel's number */
};

struct tracepoints {
	const struct kprov_want *want;
	struct trace_fmt *fmt;
	struct virt_state *virt;
	struct point *v;
	struct idmap of;		/* number to index in @v */
	unsigned n;
};

static bool is_wanted(const struct hwt_filter *f, unsigned id)
{
	unsigned k;

	for (unsigned i = 0; (k = hwt_filter_event(f, i)); i++)
		if (k == id)
			return true;
	return false;
}

/* They tell which process a task belongs to. */
static bool tells_tasks(const struct virt_map *m)
{
	return !virt_id(m) || virt_id(m) == HWT_ID_sched_fork || virt_id(m) == HWT_ID_sched_free;
}

static int put(struct tracepoints *t, const struct point *p)
{
	if (t->n == POINTS)
		return 0;
	t->v[t->n] = *p;
	return idmap_set(&t->of, p->id, t->n++);
}

static int add(struct tracepoints *t, const char *root, struct point p)
{
	char path[128], *text;
	int64_t id;

	snprintf(path, sizeof(path), "events/%s/%s/format", p.system, p.name);
	text = tracefs_read(root, path);
	if (!text)
		return 0;	/* this kernel does not have it */
	virt_state_format(t->virt, p.system, p.name, text, strlen(text));
	id = trace_fmt_add(t->fmt, p.system, text, strlen(text)) ?
		trace_fmt_id(t->fmt, p.system, p.name) : -1;
	free(text);
	p.id = (uint32_t)id;
	return id < 0 ? 0 : put(t, &p);
}

/* Those of the recording's own; one may also tell which process a task belongs to. */
static int add_dirty(struct tracepoints *t)
{
	struct point p = { 0 };
	int rc = 0;

	for (unsigned i = 0; !rc && dirty_at(t->want->dirty, i, &p.id, &p.system, &p.name);
	     i++) {
		uint32_t k = idmap_get(&t->of, p.id);

		p.dirty = (int)i;
		if (k != IDMAP_NONE)
			t->v[k].dirty = (int)i;
		else
			rc = put(t, &p);
	}
	return rc;
}

int tracepoint_new(struct tracepoints **out, const char *root, const struct kprov_want *want)
{
	struct tracepoints *t = calloc(1, sizeof(*t));
	struct point p = { .dirty = -1 };
	struct utsname u;
	int rc = 0;

	if (!t)
		return -ENOMEM;
	t->want = want;
	t->v = calloc(POINTS, sizeof(*t->v));
	if (!t->v || virt_state_new(&t->virt) ||
	    trace_fmt_empty(&t->fmt, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long))) {
		tracepoint_free(t);
		return -ENOMEM;
	}
	if (!uname(&u))
		virt_state_kernel(t->virt, u.machine, u.release);
	for (unsigned i = 0; !rc && (p.map = virt_at(VIRT_LINUX, i, &p.system, &p.name)); i++) {
		unsigned id = virt_id(p.map);

		p.cond = !want->dirty && is_wanted(want->events, id) ? kprov_condition(want, id) :
			NULL;
		if (!strchr(p.name, '*') && (tells_tasks(p.map) || p.cond))
			rc = add(t, root, p);
	}
	if (!rc && want->dirty)
		rc = add_dirty(t);
	if (rc) {
		tracepoint_free(t);
		return rc;
	}
	*out = t;
	return 0;
}

int tracepoint_keep(struct tracepoints *t, bool (*may)(void *arg, uint32_t id), void *arg)
{
	unsigned n = t->n;
	int rc = 0;

	t->n = 0;
	idmap_free(&t->of);
	t->of = (struct idmap){ 0 };
	for (unsigned i = 0; i < n && !rc; i++)
		if (may(arg, t->v[i].id))
			rc = put(t, &(struct point){ t->v[i].system, t->v[i].name, t->v[i].map,
					t->v[i].cond, t->v[i].dirty, t->v[i].id });
	return rc;
}

void tracepoint_free(struct tracepoints *t)
{
	if (!t)
		return;
	trace_fmt_free(t->fmt);
	virt_state_free(t->virt);
	idmap_free(&t->of);
	free(t->v);
	free(t);
}

bool tracepoint_at(const struct tracepoints *t, unsigned i, uint32_t *id, const char **system,
		   const char **name)
{
	if (i >= t->n)
		return false;
	*id = t->v[i].id;
	*system = t->v[i].system;
	*name = t->v[i].name;
	return true;
}

int tracepoint_filter(const struct tracepoints *t, unsigned i, char **out)
{
	const struct point *v = &t->v[i];
	unsigned n, id;

	*out = NULL;
	/* one that also tells which process a task belongs to is wanted as a whole */
	if (v->dirty < 0 || v->map)
		return 0;
	id = dirty_own(t->want->dirty, &n)[v->dirty].id;
	return kfilter_text(out, kprov_condition(t->want, id), id, t->want->dirty,
			    (unsigned)v->dirty);
}

bool tracepoint_tells(const struct tracepoints *t, unsigned id)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->v[i].map && virt_id(t->v[i].map) == id)
			return true;
	return false;
}

int tracepoint_lacks(const struct tracepoints *t)
{
	char left[160] = "";
	bool any = t->want->beside;
	unsigned id;
	size_t k = 0;

	if (t->want->dirty)
		return 0;	/* they are there: their formats were read */
	for (unsigned i = 0; (id = hwt_filter_event(t->want->events, i)); i++) {
		if (id >= HWT_ID_DIRTY)
			continue;
		if (id == HWT_ID_stream_lost || id == HWT_ID_clock_sync)
			continue;
		if (tracepoint_tells(t, id))
			any = true;
		else if (k < sizeof(left))
			k += (size_t)snprintf(left + k, sizeof(left) - k, " %s",
					      hwt_abi_event_by_id(id)->name);
	}
	if (!any)
		return diag_set(t->want->diag, -EOPNOTSUPP, 183, NULL, HWT_NO_OFF,
				"no tracepoint of this kernel tells any of it:%s", left);
	if (*left)
		kprov_note(t->want, 183, "no tracepoint of this kernel tells:%s%s", left,
			   k >= sizeof(left) ? "..." : "");
	return 0;
}

static int tasks_of(struct tracepoints *t, int32_t pid)
{
	char path[32];
	struct dirent *d;
	DIR *dir;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !rc && (d = readdir(dir)))
		if (isdigit((unsigned char)*d->d_name))
			rc = virt_task(t->virt, (int32_t)strtol(d->d_name, NULL, 10), pid);
	if (dir)
		closedir(dir);
	return rc;
}

int tracepoint_tasks(struct tracepoints *t)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int rc = 0;

	while (dir && !rc && (d = readdir(dir)))
		if (isdigit((unsigned char)*d->d_name))
			rc = tasks_of(t, (int32_t)strtol(d->d_name, NULL, 10));
	if (dir)
		closedir(dir);
	return rc;
}

/* What virt_make() asks of a record. */
struct get { struct trace_fmt *fmt; const uint8_t *p; size_t n; uint32_t id; };

static int get_number(void *arg, const char *field, uint64_t *v)
{
	struct get *g = arg;

	return trace_fmt_number(g->fmt, g->id, field, g->p, g->n, v);
}

static int get_string(void *arg, const char *field, const char **p, size_t *n)
{
	struct get *g = arg;

	return trace_fmt_string(g->fmt, g->id, field, g->p, g->n, p, n);
}

static int get_item(void *arg, const char *field, unsigned i, uint64_t *v)
{
	struct get *g = arg;

	return trace_fmt_item(g->fmt, g->id, field, i, g->p, g->n, v);
}

static int turn_dirty(struct tracepoints *t, const struct point *v, const uint8_t *p, size_t n,
		      struct virt_ctx *ctx, void *rec)
{
	const struct hwt_filter *f;
	unsigned count;
	int size;

	ctx->pid = virt_pid(t->virt, ctx->tid);
	size = dirty_make(t->want->dirty, (unsigned)v->dirty, p, n, ctx, rec);
	f = kprov_condition(t->want, dirty_own(t->want->dirty, &count)[v->dirty].id);
	return hwt_filter_match_on(f, rec, (size_t)size, ctx->cpu) ? size : 0;
}

int tracepoint_turn(struct tracepoints *t, const uint8_t *p, size_t n, struct virt_ctx *ctx,
		    void *rec)
{
	struct cur c = cur_new(p, n, false);
	uint16_t id = cur_u16(&c);
	uint8_t flags = cur_u8(&c), preempt = cur_u8(&c);
	int32_t tid = (int32_t)cur_u32(&c);
	struct get g = { t->fmt, p, n, id };
	const struct virt_get get = { get_number, get_string, get_item, &g };
	uint32_t i = idmap_get(&t->of, id);
	const struct point *v = &t->v[i != IDMAP_NONE ? i : 0];
	int size = 0;

	if (c.bad || i == IDMAP_NONE)
		return 0;
	ctx->tid = tid;
	ctx->flags = virt_flags(flags, preempt);
	if (v->map)
		size = virt_make(v->map, t->virt, ctx, &get, rec);
	if (size >= 0 && v->dirty >= 0)
		return turn_dirty(t, v, p, n, ctx, rec);
	if (size <= 0)
		return size;
	return v->cond && hwt_filter_match_on(v->cond, rec, (size_t)size, ctx->cpu) ? size : 0;
}

int tracepoint_lost(struct tracepoints *t, const struct virt_ctx *ctx, uint64_t count, void *rec)
{
	return virt_make_lost(t->virt, ctx, count, rec);
}
