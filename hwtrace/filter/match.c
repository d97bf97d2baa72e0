/* SPDX-License-Identifier: BSD-2-Clause */
/* A compiled filter and a record. */
#include <hwtrace/event.h>
#include <hwtrace/uapi.h>
#include <string.h>

#include "../events/own.h"
#include "../events/record.h"
#include "filter.h"

int filter_glob(const char *pat, size_t npat, const char *s, size_t n)
{
	size_t i = 0, k = 0, star = npat, back = 0;

	/* a later "*" can do all that an earlier one could, so only the last one is tried again */
	while (k < n) {
		if (i < npat && pat[i] == '*') {
			star = i++;
			back = k;
		} else if (i < npat && (pat[i] == '?' || pat[i] == s[k])) {
			i++;
			k++;
		} else if (star < npat) {
			i = star + 1;
			k = ++back;
		} else {
			return 0;
		}
	}
	while (i < npat && pat[i] == '*')
		i++;
	return i == npat;
}

size_t filter_context(const struct filter_event *e, unsigned version)
{
	return e->own ? e->own->size : (record_fixed(e->e, version) + 7) & ~(size_t)7;
}

/* A record, and what is known of it. */
struct what {
	const struct filter_event *e;
	const void *rec;
	size_t ctx;	/* where context lies, 0: there is none */
	int32_t cpu;
};

/* As hwt_abi_value(), also for fields of the header and context. */
static int value(struct hwt_abi_value *v, const struct filter_test *t, const struct what *w)
{
	struct hwt_abi_field f = t->f;
	struct hwt_rec h;

	*v = (struct hwt_abi_value){ 0 };
	if (t->ctx) {
		f.offset = (uint16_t)(w->ctx + f.offset);
		return w->ctx ? hwt_abi_value(v, &f, w->rec) : 0;
	}
	if (f.offset == FILTER_CPU) {
		v->u = (uint64_t)(int64_t)w->cpu;
		return w->cpu >= 0;
	}
	if (f.offset == FILTER_HIT) {
		memcpy(&h, w->rec, sizeof(h));
		if (!(h.flags & HWT_REC_HIT)) {
			v->u = h.hit;
			return 0;
		}
	}
	if (f.since)
		return hwt_abi_value(v, &f, w->rec);
	for (unsigned i = 0; i < w->e->nfields; i++)
		if (w->e->fields[i].offset == f.offset)
			own_value(v, w->e->own, &w->e->fields[i], w->rec);
	return 1;
}

static int holds(const struct filter_test *t, const struct what *w)
{
	uint64_t flip = filter_signed(t->f.type) ? 1ull << 63 : 0;
	struct hwt_abi_value v;
	int known;

	if (t->op == TEST_TRUE)
		return 1;
	known = value(&v, t, w);
	if (t->ctx && !w->ctx)
		return 0;
	switch (t->op) {
	case TEST_KNOWN:
		return known;
	case TEST_EQ:
		return v.u == t->value;
	case TEST_GT:
		return (v.u ^ flip) > (t->value ^ flip);
	case TEST_GE:
		return (v.u ^ flip) >= (t->value ^ flip);
	case TEST_BITS:
		return (v.u & t->value) != 0;
	case TEST_STR:
		return v.n == t->len && !memcmp(v.p, t->str, t->len);
	case TEST_GLOB:
		return filter_glob(t->str, t->len, v.p, v.n);
	}
	return 0;
}

int hwt_filter_match_on(const struct hwt_filter *f, const void *rec, size_t size, int32_t cpu)
{
	struct what w = { .rec = rec, .cpu = cpu };
	const struct hwt_abi_event *e;
	const struct filter_prog *p;
	const struct filter_test *t;
	struct hwt_rec h;
	size_t i = 0;

	if (hwt_abi_record(&e, rec, size) < 0)
		return 0;
	memcpy(&h, rec, sizeof(h));
	p = filter_prog(f, h.id);
	if (!p || p->e.e != e || (p->e.own && !own_fits(p->e.own, rec, h.size)))
		return 0;
	w.e = &p->e;
	w.ctx = f->ctx_size ? filter_context(w.e, h.version) : 0;
	if (w.ctx + f->ctx_size > h.size)
		w.ctx = 0;
	for (t = p->tests.v; i < p->tests.n; )
		i = holds(&t[i], &w) ? t[i].yes : t[i].no;
	return i == FILTER_YES;
}

int hwt_filter_wants(const struct hwt_filter *f, const struct hwt_event *ev)
{
	/* what is not ours may be anything but such a record */
	if (ev->type != HWT_EV_RECORD || !ev->u.rec.data ||
	    (ev->u.rec.id >= HWT_ID_DIRTY && !filter_prog(f, ev->u.rec.id)))
		return 0;
	return hwt_filter_match_on(f, ev->u.rec.data, ev->u.rec.size, ev->cpu);
}

int hwt_filter_match(const struct hwt_filter *f, const void *rec, size_t size)
{
	return hwt_filter_match_on(f, rec, size, HWT_NONE);
}
