/* SPDX-License-Identifier: BSD-2-Clause */
#include "ptrun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int put(void *arg, const void *p, size_t n)
{
	struct ptrun *r = arg;

	if (n > r->cap - r->n) {
		size_t cap = (r->n + n) * 2;
		uint8_t *q = realloc(r->p, cap);

		if (!q)
			return -ENOMEM;
		r->p = q;
		r->cap = cap;
	}
	memcpy(r->p + r->n, p, n);
	r->n += n;
	return 0;
}

static void lost(void *arg, uint64_t from, uint64_t to)
{
	struct ptrun *r = arg;

	if (r->nlost < PTRUN_LOST) {
		r->lost[r->nlost].from = from;
		r->lost[r->nlost].to = to;
	}
	r->nlost++;
}

int ptrun_encode(struct ptrun *r, const struct ptprog *prog, const struct model_pt_cfg *cfg)
{
	struct model_out out = { .put = put, .lost = lost, .arg = r };
	struct model_pt *m = NULL;
	int rc;

	r->n = r->nlost = 0;
	r->cfg = *cfg;
	rc = model_pt_new(&m, cfg, &out);
	for (size_t i = 0; !rc && i < prog->nev; i++)
		rc = model_pt_put(m, &prog->ev[i]);
	if (!rc)
		rc = model_pt_end(m);
	if (!rc)
		r->count = *model_pt_counts(m);
	if (!rc && (r->nlost > PTRUN_LOST || r->count.bytes != r->n))
		rc = -ERANGE;
	model_pt_free(m);
	return rc;
}

void ptrun_free(struct ptrun *r)
{
	free(r->p);
	r->p = NULL;
}

enum { LEVELS, PSB, TNT, IPS, RETCOMP, DEFER, PTW, STATUS, TSC, MTC, RATIO, FLUSH, CYC, CBR, OVF,
	RANGES };

static const struct pairs_option options[] = {
	[LEVELS] = { "levels", 3, { "all", "user", "kernel" } },
	[PSB] = { "psb", 4, { "start", "128", "2048", "16384" } },
	[TNT] = { "tnt", 3, { "8", "64", "mix" } },
	[IPS] = { "ip", 3, { "auto", "wide", "mix" } },
	[RETCOMP] = { "retcomp", 2, { "off", "on" } },
	[DEFER] = { "defer", 2, { "off", "on" } },
	[PTW] = { "ptw", 3, { "off", "on", "fup" } },
	[STATUS] = { "status", 2, { "usual", "vmcs+tsx+nr" } },
	[TSC] = { "tsc", 2, { "off", "on" } },
	[MTC] = { "mtc", 4, { "off", "3", "6", "8" } },
	[RATIO] = { "ctc", 3, { "1:1", "2:7", "2:168" } },
	[FLUSH] = { "mtcflush", 2, { "off", "on" } },
	[CYC] = { "cyc", 4, { "off", "0", "4", "12" } },
	[CBR] = { "cbr", 2, { "fixed", "5000" } },
	[OVF] = { "ovf", 3, { "none", "seed", "buffer" } },
	[RANGES] = { "ranges", 2, { "none", "half" } },
};

int ptrun_pairs(struct pairs *p)
{
	return pairs_make(p, options, sizeof(options) / sizeof(options[0]));
}

/* The first half of each segment's functions, all of the last one. */
void ptrun_ranges(struct model_pt_cfg *c, const struct ptprog *prog)
{
	for (unsigned i = 0; i < c->nranges; i++) {
		const struct ptprog_seg *g = &prog->seg[i];

		c->range[i].first = g->addr;
		c->range[i].last = (i == PTPROG_SEGS - 1 ? g->addr + g->size : g->half) - 1;
	}
}

void ptrun_cfg(struct model_pt_cfg *c, const struct pairs *p, unsigned row)
{
	static const uint32_t psb[] = { 0, 128, 2048, 16384 }, ratio[][2] = { { 1, 1 }, { 2, 7 },
		{ 2, 168 } };
	static const uint8_t mtc[] = { 0, 3, 6, 8 }, thresh[] = { 0, 0, 4, 12 };
	const unsigned char *v = p->row[row];

	*c = (struct model_pt_cfg){ .seed = row + 1, .no_kernel = v[LEVELS] == 1,
		.no_user = v[LEVELS] == 2, .psb_bytes = psb[v[PSB]], .tnt = v[TNT],
		.ips = v[IPS], .retcomp = v[RETCOMP], .defer_tips = v[DEFER], .ptw = v[PTW],
		.ptw_fup = v[PTW] == 2, .tsx = v[STATUS], .nr = v[STATUS],
		.vmcs = v[STATUS] ? 0x77000 : 0, .tsc = v[TSC], .mtc = v[MTC],
		.mtc_freq = mtc[v[MTC]], .ctc_eax = ratio[v[RATIO]][0],
		.ctc_ebx = ratio[v[RATIO]][1], .mtc_flush = v[FLUSH], .cyc = v[CYC],
		.cyc_thresh = thresh[v[CYC]], .ratio = 30, .cbr_every = v[CBR] ? 5000 : 0,
		.ovf_every = v[OVF] == 1 ? 2000 : 0 };
	if (v[OVF] == 2) {
		c->buf_bytes = 256;
		c->drain_bytes = 1;
		c->drain_ticks = 8;
	}
	c->nranges = v[RANGES] ? PTPROG_SEGS : 0;
}

bool ptrun_traced(const struct ptprog_block *b, const void *arg)
{
	const struct model_pt_cfg *c = arg;
	bool in = !c->nranges;

	for (unsigned i = 0; i < c->nranges; i++)
		in |= c->range[i].first <= b->b.first && b->b.first <= c->range[i].last;
	return in && !(b->level ? c->no_user : c->no_kernel);
}

void ptrun_sum(struct model_pt_count *sum, const struct model_pt_count *c)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)c;

	_Static_assert(sizeof(*c) % sizeof(*to) == 0, "counters of 64 bits only");
	for (size_t i = 0; i < sizeof(*c) / sizeof(*to); i++)
		to[i] += from[i];
}
