/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How well records are put to the instructions that wrote them: random programs, their Intel PT by
 * the software unit, flow of this project with its times; records with a clock of their own. The
 * error of a record is how many ticks lie between the instruction that it is put to and the one
 * that wrote it. The figures must be those of fixtures/align/expect.txt; "-p" only prints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/anchor_win.h"
#include "correlate/bound.h"
#include "hwtrace/base/ini.h"
#include "tests/support/numbers.h"
#include "tests/support/ptflow.h"
#include "tests/support/ptrun.h"
#include "tests/support/slurp.h"

#define SITES	8
#define OFTEN	16384
#define DIR	"fixtures/align/"

struct scenario {
	const char *name;
	int64_t seeds, branches, gap, skew, drift, step, steps, bound, jitter, rate, mtc_freq, psb,
		lose, ovf, times;
};

/*
 * Instructions of one block with one time, as the trace has it. The last one of them retired from
 * @since to @tick: at @tick if it is the last one that ran of the block.
 */
struct instant { uint64_t lo, hi, since, tick, insns; };

struct record {
	uint64_t tick, stamp;		/* when it was written; what its clock said */
	struct anchor_record r;
	size_t place;			/* instant that wrote it, SIZE_MAX: in a hole */
	size_t anchor;			/* that the anchor says, SIZE_MAX: none */
	size_t guess;			/* of what is possible the nearest, SIZE_MAX: none */
	uint64_t far;			/* how near that is, in half ticks */
};

/* What is known of a program's run. */
struct run {
	const struct scenario *sc;
	struct ptprog prog;
	struct ptrun pt;
	const struct model_block *site[SITES];
	unsigned nsites;
	struct instant *at;
	size_t nat;
	struct record *rec;
	size_t nrec;
	struct visit { struct anchor_visit v; size_t at; } *visit;
	size_t nvisit;
	size_t *commit;			/* record of each event of the program, or SIZE_MAX */
	uint64_t unseen;		/* instructions that flow has not, and are in no hole */
	uint64_t x;
};

/* Of all programs of a scenario. */
struct figures {
	struct numbers plain, interval, anchored;	/* errors, ticks */
	struct numbers width, narrow;		/* of times, without and with anchors */
	uint64_t insns, unknown, outside;	/* instructions */
	uint64_t records, certain, wrong;
};

static uint64_t rnd(struct run *r)
{
	r->x ^= r->x << 13;
	r->x ^= r->x >> 7;
	r->x ^= r->x << 17;
	return r->x;
}

static bool whole(const struct model_event *m)
{
	return m->op == MODEL_RUN && m->insns == m->block->insns;
}

static int site_of(const struct run *r, const struct model_event *m)
{
	for (unsigned k = 0; whole(m) && k < r->nsites; k++)
		if (r->site[k] == m->block)
			return (int)k;
	return -1;
}

/* How often a block ran; the table has room for more blocks than a program has. */
struct often { const struct model_block *b; uint64_t n; };

static struct often *often_of(struct often *t, const struct model_block *b)
{
	size_t i = (size_t)((uintptr_t)b / sizeof(void *) % OFTEN);

	while (t[i].b && t[i].b != b)
		i = (i + 1) % OFTEN;
	t[i].b = b;
	return &t[i];
}

/* Blocks that run about as often, together, as records are wanted. */
static void choose_sites(struct run *r)
{
	const struct ptprog *p = &r->prog;
	uint64_t ticks = p->ev[p->nev - 1].tick - p->ev[0].tick;
	uint64_t want = ticks / (uint64_t)r->sc->gap, have = 0;
	struct often *t = numbers_room(OFTEN, sizeof(*t));

	for (size_t i = 0; i < p->nev; i++)
		if (whole(&p->ev[i]))
			often_of(t, p->ev[i].block)->n++;
	for (size_t i = 0; i < p->nev && r->nsites < SITES && have < want; i++) {
		const struct model_event *m = &p->ev[i];
		uint64_t n;

		if (!whole(m) || site_of(r, m) >= 0)
			continue;
		n = often_of(t, m->block)->n;
		if (n * 20 < want || have + n > want + want / 4)
			continue;
		r->site[r->nsites++] = m->block;
		have += n;
	}
	free(t);
}

/* How far the recorder's clock is off at @tick: it steps there and back. */
static int64_t clock_error(const struct run *r, uint64_t tick)
{
	const struct scenario *sc = r->sc;
	uint64_t first = r->prog.ev[0].tick, all = r->prog.ev[r->prog.nev - 1].tick - first + 1;
	uint64_t part = (tick - first) * (uint64_t)(sc->steps + 1) / all;

	return sc->skew + (int64_t)((double)tick * (double)sc->drift / 1e9) +
		(part & 1 ? sc->step : 0);
}

static void make_records(struct run *r)
{
	const struct scenario *sc = r->sc;
	uint64_t hit[SITES] = { 0 }, before = 0;
	bool lost = false;

	for (size_t i = 0; i < r->prog.nev; i++) {
		const struct model_event *m = &r->prog.ev[i];
		int k = site_of(r, m);
		struct record *rec = &r->rec[r->nrec];
		int64_t off = clock_error(r, m->tick);
		uint64_t at;

		r->commit[i] = SIZE_MAX;
		if (k < 0)
			continue;
		hit[k]++;
		if (off > sc->bound || off < -sc->bound)
			fail_msg("%s: the clock leaves its bound", sc->name);
		at = m->tick - rnd(r) % (uint64_t)(sc->jitter + 1);
		at = at > before ? at : before;
		before = m->tick;
		if ((int64_t)(rnd(r) % 1000) < sc->lose) {
			lost = true;
			continue;
		}
		*rec = (struct record){ .tick = m->tick, .stamp = at + (uint64_t)off,
			.place = SIZE_MAX, .anchor = SIZE_MAX, .guess = SIZE_MAX };
		rec->r = (struct anchor_record){ .site = (uint32_t)k, .hit = hit[k], .lost = lost,
			.t = { rec->stamp - (uint64_t)sc->bound,
				rec->stamp + (uint64_t)(sc->bound + sc->jitter) } };
		r->commit[i] = r->nrec++;
		lost = false;
	}
}

/* The last of @n instructions of the flow that are of one block: the one that the cursor is at. */
static void instant(struct run *r, const struct ptprog_cur *c, const struct hwt_event *ev,
		    uint64_t n, bool *hidden)
{
	const struct model_event *m = &r->prog.ev[c->ev];
	bool end = c->k + 1 == m->insns;
	struct instant *a = &r->at[r->nat];
	int k = end ? site_of(r, m) : -1;

	*a = (struct instant){ .lo = ev->time == HWT_TIME_UNKNOWN ? 0 : ev->time,
		.hi = HWT_TIME_UNKNOWN, .since = end ? m->tick : c->ev ? m[-1].tick : 0,
		.tick = m->tick, .insns = n };
	if (ev->time != HWT_TIME_UNKNOWN && ev->span != HWT_SPAN_UNKNOWN)
		a->hi = ev->time + ev->span;
	if (k >= 0) {
		r->visit[r->nvisit++] = (struct visit){ .at = r->nat,
			.v = { { a->lo, a->hi }, (uint32_t)k, *hidden ? ANCHOR_ANY : 0 } };
		*hidden = false;
		if (r->commit[c->ev] != SIZE_MAX)
			r->rec[r->commit[c->ev]].place = r->nat;
	}
	r->nat++;
}

/* Flow has nothing from the cursor up to event @to: what is in no hole should have been there. */
static void unshown(struct run *r, struct ptprog_cur *c, size_t from, size_t to)
{
	uint64_t addr;

	while (ptprog_at(&r->prog, c, ptrun_traced, &r->pt.cfg, &addr) && c->ev < from) {
		r->unseen++;
		c->k++;
	}
	*c = (struct ptprog_cur){ .ev = to };
}

static void flow_event(struct run *r, struct ptprog_cur *c, unsigned *holes, bool *hidden,
		       const struct hwt_event *ev)
{
	uint64_t addr = 0, n = 0;

	if (ev->type == HWT_EV_GAP) {
		if (*holes == r->pt.nlost)
			fail_msg("%s: a hole that is none", r->sc->name);
		unshown(r, c, r->pt.lost[*holes].from, r->pt.lost[*holes].to);
		++*holes;
		*hidden = true;
	}
	for (uint32_t i = 0; ev->type == HWT_EV_RANGE && i < ev->u.range.insns; i++) {
		if (!ptprog_at(&r->prog, c, ptrun_traced, &r->pt.cfg, &addr) ||
		    (!i && addr != ev->u.range.first))
			fail_msg("%s: not what ran", r->sc->name);
		n++;
		if (c->k + 1 == r->prog.ev[c->ev].insns || i + 1 == ev->u.range.insns) {
			instant(r, c, ev, n, hidden);
			n = 0;
		}
		c->k++;
	}
}

static void decode(struct run *r, const struct model_pt_cfg *cfg)
{
	struct ptprog_cur c = { 0 };
	struct hwt_event ev[64];
	bool hidden = false;
	unsigned holes = 0;
	struct hwt_stream *s;
	struct flow_args a;
	struct ptflow f;
	int n;

	ptflow_init(&f);
	f.cfg.r.pt.mtc_freq = cfg->mtc_freq;
	f.cfg.r.pt.nom_freq = cfg->ratio;
	f.cfg.r.pt.cpuid_15_eax = cfg->ctc_eax;
	f.cfg.r.pt.cpuid_15_ebx = cfg->ctc_ebx;
	for (unsigned i = 0; i < PTPROG_SEGS; i++)
		assert_int_equal(image_add_bytes(f.image, HWT_NONE, 0, r->prog.seg[i].addr,
						 r->prog.seg[i].code, r->prog.seg[i].size,
						 "test"), 0);
	ptflow_span(&f, r->pt.p, r->pt.n);
	a = (struct flow_args){ .want = &f.want, .buf = &f.buf, .image = f.image,
		.machine = f.machine, .tsc = &f.tsc };
	assert_int_equal(flow_ipt_new(&s, &a, NULL), 0);
	assert_int_equal(bound_new(&s, &f.want, s, true), 0);
	while ((n = hwt_stream_next(s, ev, 64)) > 0)
		for (int i = 0; i < n; i++)
			flow_event(r, &c, &holes, &hidden, &ev[i]);
	assert_int_equal(n, 0);
	unshown(r, &c, r->prog.nev, r->prog.nev);
	hwt_stream_close(s);
	ptflow_fini(&f);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* Of the records that visit @i of the window may have written: is one nearest to it? */
static void guess(struct run *r, const struct anchor_win *w, size_t i)
{
	const struct anchor_match *m = &w->m[i];

	for (uint32_t j = m->first; m->state == ANCHOR_POSSIBLE && j <= m->last; j++) {
		struct record *rec = &r->rec[w->r0 + j];
		uint64_t far = distance(m->t.lo + m->t.hi, w->t[j].lo + w->t[j].hi);

		if (w->r[j].site != w->v[i].site || m->t.hi == HWT_TIME_UNKNOWN ||
		    (rec->guess != SIZE_MAX && rec->far <= far))
			continue;
		rec->guess = r->visit[w->v0 + i].at;
		rec->far = far;
	}
}

static void find_anchors(struct run *r, struct figures *f)
{
	struct anchor_win w;
	size_t v = 0, j = 0, upto;

	assert_int_equal(anchor_win_init(&w), 0);
	w.rigid.slack = 2 * (uint64_t)r->sc->bound;
	w.rigid.ppb = (uint32_t)r->sc->rate;
	do {
		while (v < r->nvisit && anchor_win_room(&w))
			anchor_win_visit(&w, &r->visit[v++].v);
		while (j < r->nrec && anchor_win_room_records(&w) &&
		       (!j || r->rec[j - 1].r.t.lo <= w.v[w.nv - 1].t.hi))
			anchor_win_record(&w, &r->rec[j++].r);
		assert_int_equal(anchor_win_solve(&w, v == r->nvisit, &upto), 0);
		for (size_t i = w.told; i < upto; i++) {
			guess(r, &w, i);
			if (w.m[i].state == ANCHOR_CERTAIN)
				r->rec[w.r0 + w.m[i].first].anchor = r->visit[w.v0 + i].at;
		}
		anchor_win_slide(&w, upto);
	} while (v < r->nvisit || w.nv > w.told);
	assert_int_equal(w.sum.contradictions, 0);
	anchor_win_free(&w);
	for (size_t i = 0; i < r->nrec; i++) {
		f->certain += r->rec[i].anchor != SIZE_MAX;
		f->wrong += r->rec[i].anchor != SIZE_MAX && r->rec[i].anchor != r->rec[i].place;
	}
}

/* The last instant from @lo up to @hi whose earliest time (@middle: middle) is @t at most. */
static size_t last_before(const struct run *r, size_t lo, size_t hi, uint64_t t, bool middle)
{
	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct instant *a = &r->at[mid];
		uint64_t x = a->lo;

		if (middle && a->hi != HWT_TIME_UNKNOWN)
			x += (a->hi - a->lo) / 2;

		if (x <= t)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static void errors(const struct run *r, struct figures *f)
{
	size_t from = 0, upto = r->nat, next = 0;

	for (size_t i = 0; i < r->nrec; i++) {
		const struct record *rec = &r->rec[i];
		uint64_t middle = rec->r.t.lo + (rec->r.t.hi - rec->r.t.lo) / 2, error;

		/* between the anchors around it */
		for (next = next > i ? next : i; next < r->nrec && r->rec[next].anchor == SIZE_MAX;)
			next++;
		upto = next < r->nrec ? r->rec[next].anchor + 1 : r->nat;
		from = rec->anchor != SIZE_MAX ? rec->anchor : from;
		if (rec->place == SIZE_MAX)
			continue;
		f->records++;
		numbers_add(&f->plain,
			    distance(r->at[last_before(r, 0, r->nat, rec->stamp, false)].tick,
					rec->tick));
		numbers_add(&f->interval,
			    distance(r->at[last_before(r, 0, r->nat, middle, true)].tick,
					   rec->tick));
		error = distance(r->at[rec->anchor != SIZE_MAX ? rec->anchor :
			rec->guess != SIZE_MAX ? rec->guess :
			last_before(r, from, upto, middle, true)].tick, rec->tick);
		numbers_add(&f->anchored, error);
	}
}

/* Times of all instants, as flow has them and between the anchors around. */
static void widths(const struct run *r, struct figures *f)
{
	uint64_t *lo = numbers_room(r->nat, sizeof(*lo)), *hi = numbers_room(r->nat, sizeof(*hi));

	for (size_t i = 0; i < r->nat; i++) {
		lo[i] = r->at[i].lo;
		hi[i] = r->at[i].hi;
	}
	for (size_t i = 0; i < r->nrec; i++) {
		const struct record *rec = &r->rec[i];

		if (rec->anchor == SIZE_MAX)
			continue;
		lo[rec->anchor] = rec->r.t.lo > lo[rec->anchor] ? rec->r.t.lo : lo[rec->anchor];
		hi[rec->anchor] = rec->r.t.hi < hi[rec->anchor] ? rec->r.t.hi : hi[rec->anchor];
	}
	for (size_t i = 1; i < r->nat; i++)
		lo[i] = lo[i] > lo[i - 1] ? lo[i] : lo[i - 1];
	for (size_t i = r->nat; i-- > 1;)
		hi[i - 1] = hi[i - 1] < hi[i] ? hi[i - 1] : hi[i];
	for (size_t i = 0; i < r->nat; i++) {
		const struct instant *a = &r->at[i];

		f->insns += a->insns;
		f->outside += a->tick < lo[i] || a->since > hi[i] ? a->insns : 0;
		if (a->hi == HWT_TIME_UNKNOWN || !a->lo) {
			f->unknown += a->insns;
			continue;
		}
		numbers_add(&f->width, a->hi - a->lo);
		numbers_add(&f->narrow, hi[i] - lo[i]);
	}
	f->insns += r->unseen;
	f->unknown += r->unseen;
	free(lo);
	free(hi);
}

static void one(const struct scenario *sc, uint64_t seed, struct figures *f)
{
	struct ptprog_cfg pc = { .seed = seed, .branches = (size_t)sc->branches };
	struct model_pt_cfg cfg = { .seed = seed, .psb_bytes = (uint32_t)sc->psb, .tsc = true,
		.mtc = sc->mtc_freq >= 0,
		.mtc_freq = (uint8_t)(sc->mtc_freq >= 0 ? sc->mtc_freq : 0),
		.ctc_eax = 2, .ctc_ebx = 250, .ratio = 30, .ovf_every = (uint32_t)sc->ovf };
	struct run r = { .sc = sc, .x = seed * 0x9e3779b97f4a7c15 + 1 };

	assert_int_equal(ptprog_make(&r.prog, &pc), 0);
	assert_int_equal(ptrun_encode(&r.pt, &r.prog, &cfg), 0);
	r.at = numbers_room(r.prog.insns, sizeof(*r.at));
	r.rec = numbers_room(r.prog.nev, sizeof(*r.rec));
	r.visit = numbers_room(r.prog.nev, sizeof(*r.visit));
	r.commit = numbers_room(r.prog.nev, sizeof(*r.commit));
	choose_sites(&r);
	make_records(&r);
	decode(&r, &cfg);
	find_anchors(&r, f);
	errors(&r, f);
	widths(&r, f);
	free(r.at);
	free(r.rec);
	free(r.visit);
	free(r.commit);
	ptrun_free(&r.pt);
	ptprog_free(&r.prog);
}

static void line(FILE *out, const char *what, struct numbers *l)
{
	fprintf(out, "  %-22s %8llu %8llu %8llu\n", what, (unsigned long long)numbers_share(l, 500),
		(unsigned long long)numbers_share(l, 990),
		(unsigned long long)numbers_share(l, 1000));
}

static void lines(FILE *out, struct figures *f)
{
	fprintf(out, "  %-22s %8s %8s %8s\n", "error, ticks", "median", "99 %", "largest");
	line(out, "nearest time", &f->plain);
	line(out, "intervals", &f->interval);
	line(out, "intervals and anchors", &f->anchored);
}

static bool many_times(struct figures *f, int64_t times)
{
	uint64_t plain = numbers_share(&f->plain, 990);

	return plain && plain >= (uint64_t)times * numbers_share(&f->anchored, 990);
}

static void pool(struct numbers *all, const struct numbers *l)
{
	for (size_t i = 0; i < l->n; i++)
		numbers_add(all, l->v[i]);
}

static void figures_free(struct figures *f)
{
	free(f->plain.v);
	free(f->interval.v);
	free(f->anchored.v);
	free(f->width.v);
	free(f->narrow.v);
}

/* False where a figure is not what it must be, whatever is expected. Errors are added to @all. */
static bool scenario(FILE *out, const struct scenario *sc, struct figures *all)
{
	struct figures f = { 0 };
	bool good;

	for (int64_t seed = 1; seed <= sc->seeds; seed++)
		one(sc, (uint64_t)seed, &f);
	fprintf(out, "%s: %llu records, %.2f %% anchored, %llu wrong\n", sc->name,
		(unsigned long long)f.records, 100.0 * (double)f.certain / (double)f.records,
		(unsigned long long)f.wrong);
	lines(out, &f);
	fprintf(out, "  median width of a time %llu, with anchors %llu; of %llu instructions "
		"%.2f %% unknown, %llu outside\n", (unsigned long long)numbers_share(&f.width, 500),
		(unsigned long long)numbers_share(&f.narrow, 500), (unsigned long long)f.insns,
		100.0 * (double)f.unknown / (double)f.insns, (unsigned long long)f.outside);
	good = !f.wrong && !f.outside && many_times(&f, sc->times) &&
		(sc->mtc_freq < 0 || f.unknown * 100 <= f.insns);
	all->records += f.records;
	all->certain += f.certain;
	all->wrong += f.wrong;
	pool(&all->plain, &f.plain);
	pool(&all->interval, &f.interval);
	pool(&all->anchored, &f.anchored);
	figures_free(&f);
	return good;
}

static int64_t number(const struct ini *ini, const char *section, const char *key)
{
	const struct ini_item *it = ini_find(ini, section, key);

	if (!it)
		fail_msg("[%s] has no %s", section, key);
	return strtoll(it->value, NULL, 0);
}

static bool file(FILE *out)
{
	struct figures all = { 0 };
	struct arena arena = { 0 };
	struct notes notes = { 0 };
	struct ini ini;
	size_t n;
	char *text = (char *)slurp(DIR "scenarios.ini", &n);
	bool good = true;

	assert_non_null(text);
	assert_int_equal(ini_parse(&ini, &arena, "scenarios.ini", text, n, &notes), 0);
	for (size_t i = 0; i < ini.n; i++) {
		const char *s = ini.v[i].section;
		struct scenario sc = { .name = s };

		if (ini.v[i].key)
			continue;
		sc.seeds = number(&ini, s, "seeds");
		sc.branches = number(&ini, s, "branches");
		sc.gap = number(&ini, s, "gap");
		sc.skew = number(&ini, s, "skew");
		sc.drift = number(&ini, s, "drift");
		sc.step = number(&ini, s, "step");
		sc.steps = number(&ini, s, "steps");
		sc.bound = number(&ini, s, "bound");
		sc.jitter = number(&ini, s, "jitter");
		sc.rate = number(&ini, s, "rate");
		sc.mtc_freq = number(&ini, s, "mtc_freq");
		sc.psb = number(&ini, s, "psb");
		sc.lose = number(&ini, s, "lose");
		sc.ovf = number(&ini, s, "ovf");
		sc.times = number(&ini, s, "times");
		good = scenario(out, &sc, &all) && good;
	}
	fprintf(out, "all scenarios: %llu records, %.2f %% anchored, %llu wrong\n",
		(unsigned long long)all.records, 100.0 * (double)all.certain / (double)all.records,
		(unsigned long long)all.wrong);
	lines(out, &all);
	good = many_times(&all, 10) && good;
	figures_free(&all);
	arena_free(&arena);
	notes_free(&notes);
	free(text);
	return good;
}

static bool print_only;

static void align(void **state)
{
	char *got = NULL, *want;
	size_t n = 0, m;
	FILE *out = open_memstream(&got, &n);
	bool good;

	(void)state;
	assert_non_null(out);
	good = file(out);
	fclose(out);
	fputs(got, stdout);
	want = print_only ? NULL : (char *)slurp(DIR "expect.txt", &m);
	assert_true(good);
	if (!print_only) {
		assert_non_null(want);
		assert_true(n == m && !memcmp(got, want, n));
	}
	free(got);
	free(want);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(align) };

	if (ptflow_missing())
		return 77;
	print_only = argc > 1 && !strcmp(argv[1], "-p");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
