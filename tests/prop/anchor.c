/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Anchors of simulated CPUs against the truth: none that is called certain may be wrong. "anchor N"
 * simulates until N were called certain in all.
 */
#include <stdio.h>
#include <stdlib.h>

#include "correlate/anchor_win.h"
#include "sim.h"

static const struct {
	const char *name;
	struct sim_cfg cfg;
	unsigned recall;	/* percent at least of the visits whose record is there */
} rows[] = {
	{ "no loss", { .sites = 6, .gap = 3000, .timing = 1000, .skew = 1000, .drift = 30000,
		.jitter = 300, .hits = true }, 99 },
	{ "no loss, one site, coarse", { .sites = 1, .gap = 3000, .timing = 40000, .skew = 20000,
		.drift = 30000, .jitter = 2000, .hits = true }, 99 },
	{ "no loss, no numbers", { .sites = 6, .gap = 3000, .timing = 1000, .skew = 1000,
		.drift = 30000, .jitter = 300 }, 99 },
	{ "1 % lost on both sides", { .sites = 6, .gap = 3000, .timing = 1000, .skew = 1000,
		.drift = 30000, .jitter = 300, .hits = true, .hole_every = 2000, .hole_length = 20,
		.lose = 10 }, 90 },
	{ "1 % lost, no numbers", { .sites = 6, .gap = 3000, .timing = 1000, .skew = 1000,
		.drift = 30000, .jitter = 300, .hole_every = 2000, .hole_length = 20, .lose = 10 },
		90 },
	{ "1 % lost, one site, coarse", { .sites = 1, .gap = 3000, .timing = 10000, .skew = 5000,
		.drift = 30000, .jitter = 500, .hits = true, .hole_every = 2000, .hole_length = 20,
		.lose = 10 }, 90 },
	{ "1 % lost, one site, wide skew", { .sites = 1, .gap = 3000, .timing = 1000,
		.skew = 20000, .drift = 30000, .jitter = 300, .hits = true, .hole_every = 2000,
		.hole_length = 20, .lose = 10, .rigid = true }, 90 },
	{ "half of both, wide skew", { .sites = 3, .gap = 3000, .timing = 1000, .skew = 20000,
		.drift = 1000, .jitter = 300, .hole_every = 30, .hole_length = 30,
		.lose = 300, .burst_every = 50, .burst_length = 20, .rigid = true }, 0 },
	{ "half of the trace lost", { .sites = 6, .gap = 3000, .timing = 1000, .skew = 1000,
		.drift = 30000, .jitter = 300, .hits = true, .hole_every = 10, .hole_length = 10 },
		0 },
	{ "half of the records lost", { .sites = 6, .gap = 3000, .timing = 1000, .skew = 1000,
		.drift = 30000, .jitter = 300, .hits = true, .lose = 500 }, 0 },
	{ "half of both, no numbers", { .sites = 6, .gap = 3000, .timing = 1000, .skew = 1000,
		.drift = 30000, .jitter = 300, .hole_every = 10, .hole_length = 10,
		.burst_every = 20, .burst_length = 20 }, 0 },
	{ "half of both", { .sites = 3, .gap = 3000, .timing = 5000, .skew = 3000,
		.drift = 50000, .jitter = 1000, .hits = true, .hole_every = 15, .hole_length = 15,
		.lose = 300, .burst_every = 50, .burst_length = 20 }, 0 },
	{ "half of both, dense", { .sites = 4, .gap = 300, .timing = 5000, .skew = 3000,
		.drift = 50000, .jitter = 1000, .hits = true, .hole_every = 15, .hole_length = 15,
		.lose = 300, .burst_every = 50, .burst_length = 20 }, 0 },
	{ "half of both, dense, no numbers", { .sites = 4, .gap = 300, .timing = 5000,
		.skew = 3000, .drift = 50000, .jitter = 1000, .hole_every = 15, .hole_length = 15,
		.lose = 300, .burst_every = 50, .burst_length = 20 }, 0 },
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

/* Truths that wait: the record's number of each visit in the window, and its time. */
struct truth { uint64_t record, time; bool kept; };

struct count {
	uint64_t visits, kept;		/* seen; of these, with a record */
	uint64_t certain, wrong;
	uint64_t lost, wrong_lost;	/* called lost */
	uint64_t outside;		/* the truth is not in the interval */
	uint64_t width, narrowed;	/* ns, sums over the certain ones: before and after */
};

static struct truth *truth;
static uint64_t ntruth, base;	/* number of truth[0] */

static void judge(const struct anchor_win *w, size_t upto, struct count *c)
{
	for (size_t i = w->told; i < upto; i++) {
		const struct anchor_match *m = &w->m[i];
		const struct truth *t = &truth[w->v0 + i - base];

		c->visits++;
		c->kept += t->kept;
		if (m->state == ANCHOR_CERTAIN) {
			c->certain++;
			c->wrong += !t->kept || w->r0 + m->first != t->record;
			c->width += w->v[i].t.hi - w->v[i].t.lo;
			c->narrowed += m->t.hi - m->t.lo;
		} else if (m->state == ANCHOR_LOST) {
			c->lost++;
			c->wrong_lost += t->kept;
		}
		c->outside += t->time < m->t.lo || t->time > m->t.hi;
	}
}

/* The skew of @o is not in the visit's time, but in the record's. */
static void swap_skew(struct sim_one *o, const struct sim *s)
{
	o->v.t.lo += s->cfg.skew;
	o->v.t.hi -= s->cfg.skew;
	o->r.t.lo -= s->cfg.skew;
	o->r.t.hi += s->cfg.skew;
	o->time += (uint64_t)s->offset;
}

static int run(unsigned row, uint64_t seed, uint64_t want, struct count *c, struct anchor_sum *sum)
{
	struct sim_cfg cfg = rows[row].cfg;
	struct anchor_win w;
	struct sim_one o;
	struct sim s;
	uint64_t records = 0, last = 0;
	size_t upto;
	bool all;
	int rc;

	cfg.seed = seed;
	sim_start(&s, &cfg);
	if (anchor_win_init(&w) < 0)
		return -1;
	if (cfg.rigid)
		w.rigid = (struct anchor_rigid){ 2 * cfg.skew, cfg.drift };
	ntruth = base = 0;
	do {
		/* visits fill the window, with the records that they can have */
		while (anchor_win_room(&w) && anchor_win_room_records(&w)) {
			sim_next(&s, &o);
			if (w.rigid.slack)
				swap_skew(&o, &s);
			if (o.kept) {
				anchor_win_record(&w, &o.r);
				records++;
			}
			if (!o.seen)
				continue;
			anchor_win_visit(&w, &o.v);
			truth[ntruth++] = (struct truth){ records - 1, o.time, o.kept };
			last = o.v.t.hi;
		}
		while (anchor_win_room_records(&w) && s.now <= last + 2 * w.rigid.slack) {
			sim_next(&s, &o);
			if (w.rigid.slack)
				swap_skew(&o, &s);
			if (o.kept) {
				anchor_win_record(&w, &o.r);
				records++;
			}
			s.hidden = true;	/* what it saw is not told: as if it were a hole */
		}
		all = c->certain >= want || c->visits > 4 * want;
		rc = anchor_win_solve(&w, all, &upto);
		if (rc < 0)
			break;
		judge(&w, upto, c);
		anchor_win_slide(&w, upto);
		for (uint64_t i = w.v0; i < base + ntruth; i++)
			truth[i - w.v0] = truth[i - base];
		ntruth = base + ntruth - w.v0;
		base = w.v0;
	} while (!all);
	*sum = w.sum;
	anchor_win_free(&w);
	return rc;
}

int main(int argc, char **argv)
{
	uint64_t want = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000, certain = 0;
	int bad = 0;

	truth = malloc(4 * ANCHOR_WINDOW * sizeof(*truth));
	if (!truth)
		return 2;
	printf("%-32s %9s %9s %6s %7s %8s %8s %9s %9s %6s\n", "", "visits", "certain", "wrong",
	       "recall", "lost", "outside", "width ns", "narrowed", "steps");
	for (unsigned row = 0; row < NROWS; row++) {
		struct anchor_sum sum = { 0 };
		struct count c = { 0 };
		double recall;

		/* all rows but one reach their share: there nearly nothing is certain */
		if (run(row, row + 1, want / (NROWS - 1) + 1, &c, &sum) < 0)
			return 2;
		recall = c.kept ? 100.0 * (double)(c.certain - c.wrong) / (double)c.kept : 0;
		printf("%-32s %9llu %9llu %6llu %6.2f%% %8llu %8llu %9.0f %9.0f %6.1f\n",
		       rows[row].name, (unsigned long long)c.visits,
		       (unsigned long long)c.certain, (unsigned long long)(c.wrong + c.wrong_lost),
		       recall, (unsigned long long)c.lost, (unsigned long long)c.outside,
		       (double)c.width / (double)(c.certain + !c.certain),
		       (double)c.narrowed / (double)(c.certain + !c.certain),
		       (double)sum.steps / (double)(c.visits + !c.visits));
		certain += c.certain;
		if (c.wrong || c.wrong_lost || c.outside || sum.contradictions ||
		    recall < rows[row].recall) {
			printf("%s: %llu contradictions; recall must be %u %% at least\n",
			       rows[row].name, (unsigned long long)sum.contradictions,
			       rows[row].recall);
			bad = 1;
		}
	}
	printf("%llu certain\n", (unsigned long long)certain);
	if (certain < want) {
		printf("less than %llu\n", (unsigned long long)want);
		bad = 1;
	}
	free(truth);
	return bad;
}
