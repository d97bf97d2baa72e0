/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions counted: the table of "calls --summary". */
#include <errno.h>
#include <stdlib.h>

#include "cli.h"

/* A function in the table of --summary. */
struct func {
	const char *name, *module;	/* NULL: no symbol */
	uint64_t addr;
	int32_t pid;			/* without a symbol, whose address it is */
	bool unknown;			/* all code without symbol that no call led to */
	/* calls + running == leaves + lost + open */
	uint64_t calls, running, leaves, lost, open;
	uint64_t tails, inferred, unwound, tainted;
	uint64_t insns;
	int32_t max_depth;
};

struct functions {
	struct func *v;		/* open addressing */
	size_t n, cap;
};

static uint64_t hash_str(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return h;
}

static uint64_t func_hash(const struct func *f)
{
	if (f->name)
		return hash_str(hash_str(0xcbf29ce484222325u, f->name), f->module);
	return (f->addr ^ (uint32_t)f->pid) * 0x9e3779b97f4a7c15u;
}

static bool func_equal(const struct func *a, const struct func *b)
{
	if (a->name && b->name)
		return !strcmp(a->name, b->name) && !strcmp(a->module, b->module);
	return !a->name && !b->name && a->addr == b->addr && a->pid == b->pid &&
		a->unknown == b->unknown;
}

static bool empty(const struct func *f)
{
	return !(f->calls | f->running | f->leaves | f->lost | f->open | f->insns);
}

static struct func *find(struct func *v, size_t cap, const struct func *key)
{
	size_t k = (size_t)(func_hash(key) >> 20) & (cap - 1);

	while (!empty(&v[k]) && !func_equal(&v[k], key))
		k = (k + 1) & (cap - 1);
	return &v[k];
}

static bool grow(struct functions *t)
{
	size_t cap = t->cap ? t->cap * 2 : 256;
	struct func *v = calloc(cap, sizeof(*v));

	if (!v)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (!empty(&t->v[i]))
			*find(v, cap, &t->v[i]) = t->v[i];
	free(t->v);
	t->v = v;
	t->cap = cap;
	return true;
}

static void count_leave(struct func *f, const struct hwt_call *c)
{
	if (c->why == HWT_WHY_OPEN) {
		f->open++;
		return;
	}
	f->inferred += c->inferred;
	f->tainted += c->tainted;
	if (c->why == HWT_WHY_LOST) {
		f->lost++;
		return;
	}
	f->leaves++;
	f->unwound += c->why == HWT_WHY_UNWIND;
}

/*
 * The function at @addr, which is @entered or was found running; NULL without memory. It stays
 * in the table if something is counted for it.
 */
static struct func *at(struct functions *t, struct run *r, const struct hwt_event *ev,
		       uint64_t addr, bool entered)
{
	struct func key = { .addr = addr, .pid = ev->pid, .max_depth = INT32_MIN }, *f;
	struct hwt_where w = show_where(ev);
	struct hwt_symbol sym;

	if (t->n * 2 >= t->cap && !grow(t))
		return NULL;
	if (addr == HWT_NO_ADDR) {
		key.pid = HWT_NONE;
	} else if (hwt_image_symbol(r->show.image, &w, addr, &sym) == 1) {
		key.name = sym.name;
		key.module = sym.module ? sym.module : "";
		key.addr = sym.start;
	} else if (!entered) {
		/* found at any of its instructions: the address names no function */
		key.addr = HWT_NO_ADDR;
		key.pid = HWT_NONE;
		key.unknown = true;
	}
	f = find(t->v, t->cap, &key);
	if (empty(f)) {
		*f = key;
		t->n++;
	}
	return f;
}

int functions_count(struct functions *t, struct run *r, const struct hwt_call *c)
{
	struct func *f;

	if (c->what != HWT_CALL_ENTER && c->what != HWT_CALL_LEAVE)
		return 0;
	f = at(t, r, &c->ev, c->func, c->inferred != 1);
	if (!f)
		return -ENOMEM;
	if (c->what == HWT_CALL_LEAVE) {
		count_leave(f, c);
	} else if (c->why == HWT_WHY_RUNNING || c->why == HWT_WHY_AGAIN) {
		f->running++;
	} else {
		f->calls++;
		f->tails += c->why == HWT_WHY_TAIL;
	}
	if (c->depth > f->max_depth)
		f->max_depth = c->depth;
	return 0;
}

int functions_range(struct functions *t, struct run *r, const struct hwt_event *ev)
{
	struct func *f;

	/* what is in doubt did not run; the few proven ones at its start are left out with it */
	if (!ev->u.range.insns || (ev->flags & HWT_F_DOUBT))
		return 0;
	f = at(t, r, ev, ev->u.range.first, false);
	if (!f)
		return -ENOMEM;
	f->insns += ev->u.range.insns;
	return 0;
}

static int by_calls(const void *pa, const void *pb)
{
	const struct func *a = pa, *b = pb;

	/* what is no function stands last */
	if ((!a->name && a->addr == HWT_NO_ADDR) != (!b->name && b->addr == HWT_NO_ADDR))
		return a->name || a->addr != HWT_NO_ADDR ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	if (a->running != b->running)
		return a->running < b->running ? 1 : -1;
	if (a->insns != b->insns)
		return a->insns < b->insns ? 1 : -1;
	if (a->name && b->name && strcmp(a->name, b->name))
		return strcmp(a->name, b->name);
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void func_name(struct run *r, const struct func *f)
{
	struct out *o = r->out;

	if (f->name) {
		r->show.named++;
		out_safe(o, f->name);
		if (*f->module) {
			const char *slash = strrchr(f->module, '/');

			out_str(o, "  (");
			out_safe(o, slash ? slash + 1 : f->module);
			out_ch(o, ')');
		}
	} else if (f->addr == HWT_NO_ADDR) {
		out_str(o, f->unknown ? r->opts.insns ? "(all code without symbol)" :
				"(running code without symbol)" : "(not traced)");
	} else {
		show_code(&r->show, f->pid, f->addr);
	}
}

static void func_json(struct run *r, const struct func *f)
{
	struct jsonl *j = &r->json;

	jsonl_open(j, "function");
	if (f->addr != HWT_NO_ADDR)
		jsonl_hex(j, "addr", f->addr);
	if (f->name) {
		jsonl_str(j, "sym", f->name);
		jsonl_str(j, "module", f->module);
	} else if (f->pid != HWT_NONE) {
		jsonl_u64(j, "pid", (uint64_t)f->pid);
	}
	jsonl_u64(j, "calls", f->calls);
	jsonl_u64(j, "tail_calls", f->tails);
	jsonl_u64(j, "running", f->running);
	jsonl_u64(j, "leaves", f->leaves);
	jsonl_u64(j, "lost", f->lost);
	jsonl_u64(j, "open", f->open);
	jsonl_u64(j, "inferred", f->inferred);
	jsonl_u64(j, "unwound", f->unwound);
	jsonl_u64(j, "tainted", f->tainted);
	if (r->opts.insns)
		jsonl_u64(j, "insns", f->insns);
	if (f->calls || f->running) {
		jsonl_key(j, "max_depth");
		out_dec(r->out, f->max_depth);
	}
	jsonl_close(j);
}

void functions_print(struct functions *t, struct run *r)
{
	struct out *o = r->out;
	size_t n = 0;

	for (size_t i = 0; i < t->cap; i++)
		if (!empty(&t->v[i]))
			t->v[n++] = t->v[i];
	if (n)
		qsort(t->v, n, sizeof(*t->v), by_calls);
	if (r->opts.format == OPT_TEXT)
		out_fmt(o, "%s     calls   running    leaves   unwound      lost      open  depth"
			"  function\n", r->opts.insns ? "       insns" : "");
	for (size_t i = 0; i < n && run_line(r); i++) {
		const struct func *f = &t->v[i];

		if (r->opts.format != OPT_TEXT) {
			func_json(r, f);
			continue;
		}
		/* how far it reaches is not known: what ran in it is in the last row */
		if (r->opts.insns && !f->name && f->addr != HWT_NO_ADDR)
			out_str(o, "           -");
		else if (r->opts.insns)
			out_udecw(o, f->insns, 12);
		out_udecw(o, f->calls, 10);
		out_udecw(o, f->running, 10);
		out_udecw(o, f->leaves, 10);
		out_udecw(o, f->unwound, 10);
		out_udecw(o, f->lost, 10);
		out_udecw(o, f->open, 10);
		if (f->calls || f->running)
			out_fmt(o, "%7d  ", f->max_depth);
		else
			out_str(o, "      -  ");
		func_name(r, f);
		out_nl(o);
	}
}

struct functions *functions_new(void)
{
	return calloc(1, sizeof(struct functions));
}

void functions_free(struct functions *t)
{
	if (t)
		free(t->v);
	free(t);
}
