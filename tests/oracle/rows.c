/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "rows.h"

enum pt_factor { PT_RET, PT_TNT, PT_IP, PT_DEFER, PT_PSB, PT_TIME, PT_FLUSH, PT_OVF, PT_CBR,
	PT_END };

const struct factor rows_pt[] = {
	[PT_RET] = { "retcomp", 2, { "off", "on" } },
	[PT_TNT] = { "tnt", 3, { "short", "long", "mixed" } },
	[PT_IP] = { "ip", 3, { "auto", "wide", "mixed" } },
	[PT_DEFER] = { "defer", 2, { "off", "on" } },
	[PT_PSB] = { "psb", 3, { "512", "4k", "64k" } },
	[PT_TIME] = { "time", 6, { "tsc+mtc3", "tsc+mtc6", "tsc+cyc", "tsc+mtc3+cyc",
				   "tsc+mtc5+cyc5", "none" } },
	[PT_FLUSH] = { "flush", 2, { "off", "on" } },
	[PT_OVF] = { "overflow", 3, { "none", "seldom", "often" } },
	[PT_CBR] = { "cbr", 2, { "fixed", "changes" } },
};
const unsigned rows_npt = PT_END;

enum etm4_factor { E4_GREEDY, E4_RS, E4_CID, E4_VMID, E4_TS, E4_CC, E4_SPEC, E4_SYNC, E4_EVENT,
	E4_OVF, E4_FRAMED, E4_END };

const struct factor rows_etm4[] = {
	[E4_GREEDY] = { "packets", 2, { "any", "shortest" } },
	[E4_RS] = { "retstack", 2, { "off", "on" } },
	[E4_CID] = { "contextid", 2, { "off", "on" } },
	[E4_VMID] = { "vmid", 3, { "off", "1", "4" } },
	[E4_TS] = { "ts", 3, { "off", "every100", "every5000" } },
	[E4_CC] = { "cycles", 3, { "off", "on", "threshold64" } },
	[E4_SPEC] = { "speculation", 2, { "off", "8" } },
	[E4_SYNC] = { "sync", 3, { "256", "4k", "once" } },
	[E4_EVENT] = { "events", 2, { "off", "on" } },
	[E4_OVF] = { "overflow", 3, { "none", "seldom", "often" } },
	[E4_FRAMED] = { "frames", 2, { "off", "on" } },
};
const unsigned rows_netm4 = E4_END;

void rows_text(const struct row *row, const struct factor *f, unsigned nf, char *buf, size_t size)
{
	size_t n = 0;

	*buf = 0;
	for (unsigned i = 0; i < nf && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s=%s", i ? " " : "", f[i].name,
				      f[i].value[row->v[i]]);
}

/* Pairs that no row has yet. */
struct pairs { uint8_t left[FACTORS_MAX][FACTORS_MAX][8][8]; unsigned n; };

static unsigned gain(const struct pairs *p, const struct row *row, const uint8_t *set, unsigned nf,
		     unsigned i, unsigned v)
{
	unsigned n = 0;

	for (unsigned k = 0; k < nf; k++) {
		if (k != i && set[k])
			n += i < k ? p->left[i][k][v][row->v[k]] : p->left[k][i][row->v[k]][v];
	}
	return n;
}

static void take(struct pairs *p, const struct row *row, unsigned nf)
{
	for (unsigned i = 0; i < nf; i++) {
		for (unsigned k = i + 1; k < nf; k++) {
			p->n -= p->left[i][k][row->v[i]][row->v[k]];
			p->left[i][k][row->v[i]][row->v[k]] = 0;
		}
	}
}

/*
 * OpenCSD 1.3.3 does not commit by cycle counts (IHI 0064, TRCIDR0.COMMOPT 0), which are where
 * cycles are counted and elements wait: an overflow takes more from it than was lost, and trace
 * info empties its return stack too early. No row has that; each pair of it is in another one.
 */
static int left_out(const struct factor *f, const struct row *row, const uint8_t *set)
{
	const uint8_t *v = row->v;

	/* a guest has some factors more */
	if (f->name != rows_etm4->name || !(set[E4_CC] && v[E4_CC] && set[E4_SPEC] && v[E4_SPEC]))
		return 0;
	return (set[E4_OVF] && v[E4_OVF]) ||
		(set[E4_RS] && v[E4_RS] && set[E4_SYNC] && v[E4_SYNC] != 2);
}

/* The first pair that is left; the others to take the most of the rest with them. */
static void fill(const struct pairs *p, const struct factor *f, unsigned nf, struct row *row)
{
	uint8_t set[FACTORS_MAX] = { 0 };
	int found = 0;

	for (unsigned i = 0; i < nf && !found; i++) {
		for (unsigned k = i + 1; k < nf && !found; k++) {
			for (unsigned a = 0; a < f[i].n * f[k].n && !found; a++) {
				unsigned x = a / f[k].n, y = a % f[k].n;

				if (!p->left[i][k][x][y])
					continue;
				row->v[i] = (uint8_t)x;
				row->v[k] = (uint8_t)y;
				found = set[i] = set[k] = 1;
			}
		}
	}
	for (unsigned i = 0; i < nf; i++) {
		unsigned best = f[i].n, most = 0;

		if (set[i])
			continue;
		set[i] = 1;
		for (unsigned v = 0; v < f[i].n; v++) {
			unsigned g = gain(p, row, set, nf, i, v);

			row->v[i] = (uint8_t)v;
			if ((best == f[i].n || g > most) && !left_out(f, row, set)) {
				most = g;
				best = v;
			}
		}
		row->v[i] = (uint8_t)best;
	}
}

unsigned rows_make(struct row *rows, const struct factor *f, unsigned nf)
{
	static struct pairs p;
	unsigned n = 0;

	memset(&p, 0, sizeof(p));
	for (unsigned i = 0; i < nf; i++) {
		for (unsigned k = i + 1; k < nf; k++) {
			for (unsigned a = 0; a < f[i].n * f[k].n; a++, p.n++)
				p.left[i][k][a / f[k].n][a % f[k].n] = 1;
		}
	}
	while (p.n && n < ROWS_MAX) {
		fill(&p, f, nf, &rows[n]);
		take(&p, &rows[n++], nf);
	}
	return n;
}

void rows_pt_cfg(const struct row *row, uint64_t seed, struct model_pt_cfg *out)
{
	static const uint8_t tnt[] = { MODEL_PT_TNT8, MODEL_PT_TNT64, MODEL_PT_TNT_MIX };
	static const uint8_t ips[] = { MODEL_PT_IP_AUTO, MODEL_PT_IP_WIDE, MODEL_PT_IP_MIX };
	static const uint32_t psb[] = { 512, 4096, 65536 }, ovf[] = { 0, 3000, 200 };
	struct model_pt_cfg c = { .seed = seed, .no_kernel = true, .ratio = 30 };
	unsigned time = row->v[PT_TIME];

	c.retcomp = row->v[PT_RET];
	c.tnt = tnt[row->v[PT_TNT]];
	c.ips = ips[row->v[PT_IP]];
	c.defer_tips = row->v[PT_DEFER];
	c.psb_bytes = psb[row->v[PT_PSB]];
	c.mtc_flush = row->v[PT_FLUSH];
	c.ovf_every = ovf[row->v[PT_OVF]];
	c.cbr_every = row->v[PT_CBR] ? 100000 : 0;
	c.tsc = time != 5;
	c.mtc = time == 0 || time == 1 || time == 3 || time == 4;
	c.mtc_freq = time == 1 ? 6 : time == 4 ? 5 : 3;
	c.cyc = time == 2 || time == 3 || time == 4;
	c.cyc_thresh = time == 4 ? 5 : 0;
	/* the TSC of a 24 MHz crystal at 3 GHz, as on the desktop parts */
	c.ctc_eax = 2;
	c.ctc_ebx = 250;
	*out = c;
}

int rows_pt_timed(const struct row *row)
{
	unsigned time = row->v[PT_TIME];

	if (time == 5 || time < 2)
		return time < 2;
	return time > 2 && row->v[PT_TNT] != 1 && row->v[PT_OVF] != 2 ? 2 : 3;
}

/*
 * libipt 2.0.5 turns cycle counts into ticks with a rounded core clock, which is wrong around a
 * change of it, and knows no CycThresh, below which a packet has no count: its times are off by up
 * to what passes between two MTCs.
 */
int rows_pt_exact(const struct row *row)
{
	unsigned time = row->v[PT_TIME];

	return time < 2 || (time < 4 && !row->v[PT_CBR]);
}

void rows_etm4_cfg(const struct row *row, uint64_t seed, struct model_etm4_cfg *out, int *framed)
{
	static const uint8_t vmid[] = { 0, 1, 4 }, sync[] = { 8, 12, 0 };
	static const uint32_t ts[] = { 0, 100, 5000 }, ovf[] = { 0, 3000, 200 };
	struct model_etm4_cfg c = { .seed = seed, .trace_id = 0x10, .exclude = 0xe };

	c.greedy = row->v[E4_GREEDY];
	c.ret_stack = row->v[E4_RS];
	c.cid = row->v[E4_CID];
	c.vmid_size = vmid[row->v[E4_VMID]];
	c.timestamps = row->v[E4_TS] != 0;
	c.ts_every = ts[row->v[E4_TS]];
	c.cycles = row->v[E4_CC] != 0;
	c.cc_threshold = row->v[E4_CC] == 2 ? 64 : 4;
	c.max_spec = row->v[E4_SPEC] ? 8 : 0;
	c.commit1 = !c.max_spec;	/* counts that commit need something that waits */
	c.sync_period = sync[row->v[E4_SYNC]];
	c.event_every = row->v[E4_EVENT] ? 200 : 0;
	c.overflow_every = ovf[row->v[E4_OVF]];
	*framed = row->v[E4_FRAMED];
	*out = c;
}

int rows_etm4_timed(const struct row *row)
{
	return !row->v[E4_TS] ? 0 : row->v[E4_CC] ? 2 : 1;
}
