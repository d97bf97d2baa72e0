/* SPDX-License-Identifier: BSD-2-Clause */
/* A filter's text: its events, each with a condition or none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/diag.h"
#include "parse.h"

#define DIRTY "dirty:"

const struct filter_prog *filter_prog(const struct hwt_filter *f, unsigned id)
{
	const struct filter_prog *v = f->progs.v;
	size_t lo = 0, hi = f->progs.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].e.id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->progs.n && v[lo].e.id == id ? &v[lo] : NULL;
}

/* The program of an event, made if there is none; NULL without memory. */
static struct filter_prog *prog_for(struct hwt_filter *f, const struct filter_event *e)
{
	struct filter_prog *p = (struct filter_prog *)filter_prog(f, e->id);
	size_t i;

	if (p)
		return p;
	if (!vec_push(&f->progs, sizeof(*p)))
		return NULL;
	p = f->progs.v;
	for (i = f->progs.n - 1; i && p[i - 1].e.id > e->id; i--)
		p[i] = p[i - 1];
	p[i] = (struct filter_prog){ .e = *e };
	return &p[i];
}

/* What was parsed before says no: the tests from @base on are asked then. */
static void go_on(struct vec *tests, size_t base)
{
	struct filter_test *t = tests->v;

	for (size_t i = 0; i < base; i++) {
		if (t[i].yes == FILTER_NO)
			t[i].yes = (uint16_t)base;
		if (t[i].no == FILTER_NO)
			t[i].no = (uint16_t)base;
	}
}

/* One event's name in the text: "syscall.enter" and, behind a colon, "read". */
struct name {
	const char *p, *call;
	size_t n, ncall;
};

static struct name split(const struct tok *t)
{
	const char *colon = memchr(t->p, ':', t->n);
	struct name a = { t->p, NULL, t->n, 0 };

	if (colon && colon > t->p) {
		a.n = (size_t)(colon - t->p);
		a.call = colon + 1;
		a.ncall = t->n - a.n - 1;
	}
	return a;
}

static int call_number(struct parse *ps, const struct name *a, unsigned *nr)
{
	const char *near;
	int n;

	if (!ps->o->arch)
		return parse_fail(ps, a->call, "names of system calls need a machine; use nr == N");
	n = filter_syscall(ps->o->arch, a->call, a->ncall);
	if (n < 0) {
		near = filter_syscall_near(ps->o->arch, a->call, a->ncall);
		return parse_fail(ps, a->call, "%s has no system call \"%.*s\"%s%s%s", ps->o->arch,
				  a->ncall < 32 ? (int)a->ncall : 32, a->call,
				  near ? "; did you mean " : "", near ? near : "",
				  near ? "?" : "");
	}
	*nr = (unsigned)n;
	return 0;
}

/* The clause of event @e; the word becomes what stands behind it. */
static int clause(struct parse *ps, const struct filter_event *e, const struct name *a,
		  const struct tok *where)
{
	struct filter_prog *p = prog_for(ps->f, e);
	struct filter_test all = { .op = TEST_TRUE };
	struct part part, call;
	size_t base;
	unsigned nr = 0;
	int rc = 0;

	if (!p)
		return diag_set(ps->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	ps->e = e;
	ps->tests = &p->tests;
	base = p->tests.n;
	if (a->call) {
		rc = call_number(ps, a, &nr);
		if (!rc)
			rc = parse_syscall(ps, &call, nr);
	}
	ps->t = *where;
	if (!rc && where->kind == TOK_WORD)
		rc = parse_cond(ps, &part);
	else if (!rc && !a->call)
		rc = part_test(ps, &part, &all);
	if (rc)
		return rc;
	if (a->call && where->kind == TOK_WORD)
		part_and(ps, &call, &part);
	part_end(ps, a->call ? &call : &part);
	go_on(&p->tests, base);
	return 0;
}

static const char *own_name(const struct hwt_abi_own *o)
{
	return strncmp(o->name, DIRTY, strlen(DIRTY)) ? o->name : o->name + strlen(DIRTY);
}

/* Events of the recording's own whose name fits what stands behind "dirty:". */
static int own_events(struct parse *ps, const struct tok *name, const struct tok *where)
{
	const char *p = name->p + strlen(DIRTY);
	size_t n = name->n - strlen(DIRTY);
	const struct name none = { .p = name->p, .n = name->n };
	unsigned found = 0;
	struct near near;
	char buf[80];
	int rc;

	near_init(&near, p, n);
	for (unsigned i = 0; i < ps->o->nown; i++) {
		const struct hwt_abi_own *o = &ps->o->own[i];
		const struct filter_event e = { .name = own_name(o), .id = o->id, .own = o,
			.fields = o->fields, .nfields = o->nfields };

		near_try(&near, e.name);
		if (!filter_glob(p, n, e.name, strlen(e.name)))
			continue;
		rc = clause(ps, &e, &none, where);
		if (rc)
			return rc;
		found++;
	}
	return found ? 0 : parse_fail(ps, name->p, "there is no event %s here%s%s%s",
				      parse_show(name, buf, sizeof(buf)),
				      near.best ? "; did you mean dirty:" : "",
				      near.best ? near.best : "", near.best ? "?" : "");
}

static int no_event(struct parse *ps, const struct name *a)
{
	const struct hwt_abi_event *e;
	struct near near;
	char name[40];

	/* what ftrace and perf call it, "sched:sched_switch", is another namespace */
	if (a->call)
		return parse_fail(ps, a->p, "filters name virtual events, as sched.switch "
				  "(\"hwtrace help events\" lists them), or dirty:%.*s",
				  (int)(a->n + a->ncall < 60 ? a->n + a->ncall + 1 : 60), a->p);
	near_init(&near, a->p, a->n);
	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++)
		near_try(&near, e->name);
	return parse_fail(ps, a->p, "there is no event %s%s%s%s",
			  parse_show(&(struct tok){ .kind = TOK_WORD, .p = a->p, .n = a->n }, name,
				     sizeof(name)),
			  near.best ? "; did you mean " : "; \"hwtrace help events\" lists them",
			  near.best ? near.best : "", near.best ? "?" : "");
}

/* An event with what belongs to it; the word is its name. */
static int event(struct parse *ps)
{
	struct tok name = ps->t, where = lex_event(name.p + name.n, ps->end);
	struct name a = split(&name);
	const struct hwt_abi_event *e;
	struct filter_event fe;
	unsigned found = 0;
	char buf[40];
	int rc;

	if (where.kind == TOK_WORD && (where.n != 5 || memcmp(where.p, "where", 5)))
		return parse_fail(ps, where.p, "expected \"where\", \",\" or the end, found %s",
				  parse_show(&where, buf, sizeof(buf)));
	if (where.kind == TOK_BAD)
		return parse_fail(ps, where.p, "%s is no part of a filter",
				  parse_show(&where, buf, sizeof(buf)));
	if (name.n > strlen(DIRTY) && !memcmp(name.p, DIRTY, strlen(DIRTY)))
		return own_events(ps, &name, &where);
	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
		if (!filter_glob(a.p, a.n, e->name, strlen(e->name)) ||
		    (a.call && strncmp(e->name, "syscall.", 8)))
			continue;
		fe = (struct filter_event){ .name = e->name, .id = e->id, .e = e };
		fe.fields = e->fields(&fe.nfields);
		rc = clause(ps, &fe, &a, &where);
		if (rc)
			return rc;
		found++;
	}
	return found ? 0 : no_event(ps, &a);
}

static int parse(struct parse *ps)
{
	unsigned found = 0;
	int rc;

	ps->t = lex_event(ps->text, ps->end);
	for (;;) {
		if (ps->t.kind == TOK_WORD) {
			if (ps->t.n == 10 && !memcmp(ps->t.p, "abi=stable", 10)) {
				ps->t = lex_event(ps->t.p + ps->t.n, ps->end);
				continue;
			}
			rc = event(ps);
			if (rc)
				return rc;
			found++;
			if (ps->t.kind == TOK_END)
				break;
		} else if (ps->t.kind == TOK_BAD) {
			char buf[40];

			return parse_fail(ps, ps->t.p, "expected an event, found %s",
					  parse_show(&ps->t, buf, sizeof(buf)));
		} else if (ps->t.kind == TOK_END) {
			break;
		}
		ps->t = lex_event(ps->t.p + ps->t.n, ps->end);
	}
	return found ? 0 : parse_fail(ps, ps->text, "no event is named");
}

int hwt_filter_new_opts(struct hwt_filter **out, const char *text, const struct hwt_filter_opts *o,
			struct hwt_diag *diag)
{
	size_t n = strnlen(text, FILTER_TEXT + 1);
	struct parse ps = { .text = text, .end = text + n, .o = o, .diag = diag };
	int rc;

	if (o->size < sizeof(*o))
		return diag_set(diag, -EINVAL, 0, NULL, HWT_NO_OFF, "options make no sense");

	if (n > FILTER_TEXT)
		return parse_fail(&ps, text, "longer than %d bytes", FILTER_TEXT);
	ps.f = calloc(1, sizeof(*ps.f));
	if (!ps.f)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	ps.f->ctx_size = hwt_abi_context(o->contexts, ps.ctx, &ps.nctx);
	rc = parse(&ps);
	if (rc) {
		hwt_filter_free(ps.f);
		return rc;
	}
	*out = ps.f;
	return 0;
}

int hwt_filter_new_for(struct hwt_filter **out, const char *text, const char *arch,
		       struct hwt_diag *diag)
{
	const struct hwt_filter_opts o = { .size = sizeof(o), .arch = arch };

	return hwt_filter_new_opts(out, text, &o, diag);
}

int hwt_filter_new(struct hwt_filter **out, const char *text, struct hwt_diag *diag)
{
	return hwt_filter_new_for(out, text, NULL, diag);
}

void hwt_filter_free(struct hwt_filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->progs.n; i++)
		free(((struct filter_prog *)f->progs.v)[i].tests.v);
	free(f->progs.v);
	arena_free(&f->arena);
	free(f);
}

unsigned hwt_filter_event(const struct hwt_filter *f, unsigned i)
{
	return i < f->progs.n ? ((const struct filter_prog *)f->progs.v)[i].e.id : 0;
}
