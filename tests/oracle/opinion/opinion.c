/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opinion [-a TICKS] -d DIR [-l] [-r ROW] [-s SEED] -t HWTRACE RECORDING...: makes the trace of
 * each recording under each row of options and holds what other decoders make of it against what
 * ran: perf and libipt (Intel PT), OpenCSD's lister (ETMv4), and this tool on the directory that
 * the lister reads. -l: libipt only where returns are not compressed (README.md). Exit 0: all
 * equal; 1: not; 2: the test itself can not be done.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../encode.h"
#include "opinion.h"

static struct options {
	const char *dir, *tool;
	uint64_t seed;
	int row;	/* -1: all */
	int no_rets;	/* libipt does not get compressed returns */
	uint32_t away;
} opt = { .tool = "hwtrace", .row = -1, .away = 4000 };

/* What each decoder did in all. */
static struct sum { const char *name; uint64_t insns, holes, behind; unsigned rows; } sums[8];
static int failed;

void peer_wrong(struct peer *p, const char *fmt, ...)
{
	va_list ap;

	if (p->wrong++)
		return;
	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
}

int peer_new(struct peer *p, const char *name, struct rec *r, const struct rec_clock *clk,
	     const struct truth_holes *holes)
{
	int err = 0;

	memset(p, 0, sizeof(*p));
	p->name = name;
	p->n = rec_threads(r);
	for (size_t i = 0; i < p->n && !err; i++)
		err = truth_new(&p->t[i], r, i, clk, &holes[i]);
	return err;
}

void peer_free(struct peer *p)
{
	for (size_t i = 0; i < p->n; i++)
		truth_free(p->t[i]);
}

static void feed(struct peer *p, size_t thread, const struct hwt_event *ev)
{
	if (thread >= p->n) {
		peer_wrong(p, "an instruction of thread %zu, which is none", thread);
		return;
	}
	if (p->bad[thread] || !truth_event(p->t[thread], ev))
		return;
	if (truth_ended(p->t[thread]) && p->behind[thread] < p->behind_max) {
		p->behind[thread]++;
		return;
	}
	p->bad[thread] = 1;
	peer_wrong(p, "thread %zu: %s", thread, truth_why(p->t[thread]));
}

void peer_range(struct peer *p, size_t thread, uint64_t first, uint64_t last, uint32_t n,
		unsigned isa)
{
	struct hwt_event ev = { .type = HWT_EV_RANGE, .time = HWT_TIME_UNKNOWN,
				.span = HWT_SPAN_UNKNOWN };

	ev.u.range.first = first;
	ev.u.range.last = last;
	ev.u.range.insns = n;
	ev.u.range.isa = (uint8_t)isa;
	feed(p, thread, &ev);
}

void peer_gap(struct peer *p, size_t thread)
{
	feed(p, thread, &(struct hwt_event){ .type = HWT_EV_GAP });
}

struct job {
	const char *name;
	struct rec *rec;
	const struct rec_clock *clk;
	int row, framed;
	unsigned open;		/* branches that OpenCSD does not commit, see rows.c */
	char text[512];
	struct truth_holes holes[THREADS_MAX];
	struct capture *c;
	struct code code;
};

/* The end of what @p has to say; it is freed. */
static void verdict(struct job *j, struct peer *p, int err)
{
	struct sum *s = sums;

	while (s->name && strcmp(s->name, p->name))
		s++;
	s->name = p->name;
	s->rows++;
	if (err)
		peer_wrong(p, "%s", hwt_strerror(err));
	for (size_t i = 0; i < p->n; i++) {
		const struct truth_stats *st;

		if (!p->wrong && truth_end(p->t[i], j->open))
			peer_wrong(p, "thread %zu: %s", i, truth_why(p->t[i]));
		st = truth_stats(p->t[i]);
		s->insns += st->insns;
		s->holes += st->holes;
		s->behind += p->behind[i];
	}
	if (p->wrong) {
		printf("FAIL %s row %d %s: %s: %s\n", j->name, j->row, j->text, p->name, p->why);
		failed = 1;
	}
	peer_free(p);
}

static int begin(struct job *j, struct peer *p, const char *name)
{
	int err = peer_new(p, name, j->rec, j->clk, j->holes);

	if (err)
		verdict(j, p, err);
	return err;
}

__attribute__((format(printf, 3, 4)))
static void command(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= size)
		*buf = 0;
}

/*
 * By perf, through the exported file. @isa is not in its listing. @how: options of --itrace; with
 * "e" an overflow stands among the instructions.
 */
static void by_perf(struct job *j, const char *how, unsigned isa)
{
	char cmd[4096];
	struct peer p;

	if (begin(j, &p, "perf"))
		return;
	command(cmd, sizeof(cmd), "'%s' export --to perf -q -f -o '%s/perf' --images '%s/img' "
		"'%s/hwt' 2>'%s/err'", opt.tool, opt.dir, opt.dir, opt.dir, opt.dir);
	if (system(cmd))
		peer_wrong(&p, "failed: %s", cmd);
	command(cmd, sizeof(cmd), "perf script -i '%s/perf' --itrace=%s --symfs '%s/img' "
		"-F tid,ip 2>'%s/err'", opt.dir, how, opt.dir, opt.dir);
	verdict(j, &p, listing_perf(&p, cmd, isa));
}

static void by_ipt(struct job *j)
{
	struct peer p;
	int err;

	if (begin(j, &p, "libipt"))
		return;
	err = ipt_listen(&p, j->c, &j->code);
	if (err == -ENOSYS)
		peer_free(&p);
	else
		verdict(j, &p, err);
}

/* The lister takes one buffer at a time. */
static void by_lister(struct job *j)
{
	char cmd[4096];
	struct peer p;
	int err = 0;

	if (begin(j, &p, "trc_pkt_lister"))
		return;
	for (size_t i = 0; i < j->c->nbufs && !err; i++) {
		command(cmd, sizeof(cmd), "cd '%s' && trc_pkt_lister -ss_dir snap -src_name "
			"BUF_%zu -decode_only -logstdout 2>err", opt.dir, i);
		err = listing_ocsd(&p, cmd, i, j->framed);
	}
	verdict(j, &p, err);
}

static void by_list(struct job *j)
{
	char cmd[4096];
	struct peer p;

	if (begin(j, &p, "hwtrace list"))
		return;
	command(cmd, sizeof(cmd), "'%s' list --jsonl '%s/snap' 2>'%s/err'", opt.tool, opt.dir,
		opt.dir);
	verdict(j, &p, listing_own(&p, cmd));
}

static int open_capture(struct job *j)
{
	const struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_diag diag;
	char path[4096];
	int err;

	command(path, sizeof(path), "%s/hwt", opt.dir);
	err = source_open(&j->c, path, &o, &diag);
	if (err)
		fprintf(stderr, "opinion: %s: %s\n", path, diag.text);
	return err;
}

static int pt(struct job *j, const struct row *row, struct encode_sum *sum)
{
	struct model_pt_cfg cfg;
	char path[4096];
	int err;

	rows_pt_cfg(row, opt.seed, &cfg);
	rows_text(row, rows_pt, rows_npt, j->text, sizeof(j->text));
	command(path, sizeof(path), "%s/hwt", opt.dir);
	err = encode_pt(path, j->rec, j->clk, &cfg, j->holes, sum);
	if (!err)
		err = open_capture(j);
	if (err)
		return err;
	if (!cfg.retcomp || !opt.no_rets)
		by_ipt(j);
	by_perf(j, "i0nse", HWT_ISA_X86_64);
	return 0;
}

static int etm4(struct job *j, const struct row *row, struct encode_sum *sum)
{
	struct model_etm4_cfg cfg;
	char path[4096];
	size_t lost = 0;
	int err;

	rows_etm4_cfg(row, opt.seed, &cfg, &j->framed);
	cfg.addr32 = rec_isa(j->rec) != MODEL_A64;
	j->open = cfg.cycles && !cfg.commit1 ? cfg.max_spec : 0;
	rows_text(row, rows_etm4, rows_netm4, j->text, sizeof(j->text));
	command(path, sizeof(path), "%s/hwt", opt.dir);
	err = encode_etm4(path, j->rec, j->clk, &cfg, j->framed, j->holes, sum);
	if (!err)
		err = open_capture(j);
	if (err)
		return err;
	command(path, sizeof(path), "%s/snap", opt.dir);
	err = snapshot_write(path, j->c, &j->code);
	if (err)
		return err;
	by_lister(j);
	by_list(j);
	for (size_t i = 0; i < rec_threads(j->rec); i++)
		lost += j->holes[i].n;
	if (!lost && rec_isa(j->rec) == MODEL_A64 && !cfg.cid && !cfg.vmid_size &&
	    (!j->framed || rec_threads(j->rec) == 1))
		by_perf(j, "Zi1ie", HWT_ISA_A64);
	return 0;
}

static int recording(const char *path)
{
	const struct rec_clock clk = { .seed = opt.seed, .start = 1000000, .pause_every = 5000,
				       .pause_ticks = 20000, .away_ticks = opt.away };
	static struct row rows[ROWS_MAX];
	static struct encode_sum sum;
	const char *why, *slash = strrchr(path, '/');
	struct job j = { .name = slash ? slash + 1 : path, .clk = &clk };
	int err = rec_open(&j.rec, path, &why), is_pt;
	unsigned n;

	if (err) {
		fprintf(stderr, "opinion: %s %s\n", path, why);
		return err;
	}
	is_pt = rec_isa(j.rec) == MODEL_X86_64;
	err = rec_threads(j.rec) > THREADS_MAX ? -E2BIG : codemap_collect(&j.code, j.rec);
	n = rows_make(rows, is_pt ? rows_pt : rows_etm4, is_pt ? rows_npt : rows_netm4);
	if (!err && j.code.changes) {
		printf("none %s: code is rewritten\n", j.name);
		n = 0;
	}
	for (unsigned i = 0; i < n && !err; i++) {
		j.row = (int)i;
		if (opt.row >= 0 && opt.row != (int)i)
			continue;
		err = is_pt ? pt(&j, &rows[i], &sum) : etm4(&j, &rows[i], &sum);
		for (size_t k = 0; k < THREADS_MAX; k++)
			free(j.holes[k].h);
		memset(j.holes, 0, sizeof(j.holes));
		capture_free(j.c);
		j.c = NULL;
	}
	codemap_free(&j.code);
	rec_close(j.rec);
	return err;
}

int main(int argc, char **argv)
{
	int c, err = 0;

	while ((c = getopt(argc, argv, "a:d:lr:s:t:")) != -1) {
		switch (c) {
		case 'a': opt.away = (uint32_t)strtoul(optarg, NULL, 0); break;
		case 'd': opt.dir = optarg; break;
		case 'l': opt.no_rets = 1; break;
		case 'r': opt.row = atoi(optarg); break;
		case 's': opt.seed = strtoull(optarg, NULL, 0); break;
		case 't': opt.tool = optarg; break;
		default: return 2;
		}
	}
	if (!opt.dir)
		return 2;
	for (; optind < argc && !err; optind++)
		err = recording(argv[optind]);
	for (const struct sum *s = sums; s->name; s++)
		printf("sum: %s: %u traces, %" PRIu64 " instructions, %" PRIu64 " holes, %" PRIu64
		       " behind the end\n", s->name, s->rows, s->insns, s->holes, s->behind);
	return err ? 2 : failed;
}
