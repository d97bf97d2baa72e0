/* SPDX-License-Identifier: BSD-2-Clause */
/* How the trace units were set up, as the AUXTRACE_INFO record tells it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../decoders/pt/packet.h"
#include "export.h"

enum {	/* bits of IA32_RTIT_CTL, which the event's configuration has in the same places */
	PT_ON = 1 << 0, PT_CYC = 1 << 1, PT_MTC = 1 << 9, PT_TSC = 1 << 10, PT_NORETCOMP = 1 << 11,
	PT_BRANCH = 1 << 13, PT_MTC_FREQ = 0x3c000,
};
#define MTC_SHIFT	14

enum {	/* TRCCONFIGR, and the bits of a cs_etm event that set them */
	CFG_CCI = 1 << 4, CFG_CID = 1 << 6, CFG_VMID = 1 << 7, CFG_TS = 1 << 11, CFG_RS = 1 << 12,
	OPT_CYCACC = 1 << 12, OPT_CTXTID = 1 << 14, OPT_TS = 1 << 28, OPT_RETSTK = 1 << 29,
};

#define AUXTRACE_PT	1u
#define AUXTRACE_CS_ETM	3u
#define MAGIC_ETM4	0x4040404040404040u
#define MAGIC_ETE	0x5050505050505050u
#define ETM4_WORDS	7u	/* CONFIGR, TRACEIDR, IDR0, 1, 2, 8, AUTHSTATUS */
#define ETE_WORDS	8u	/* and DEVARCH */
#define ID_FIRST	0x10	/* trace ids for units that had none */
#define ID_END		0x70	/* reserved from here on (IHI 0029, trace ids); so units are few */

/* --- Intel PT --- */

struct seen {
	bool tsc, mtc, cyc, kernel;
	uint64_t first;		/* TSC of a chunk, 0: none so far */
};

static void look(struct seen *s, struct ipt_last_ip *last, const struct ipt_packet *p)
{
	switch (p->kind) {
	case IPT_TSC:
		s->tsc = true;
		if (!s->first)
			s->first = p->payload;
		break;
	case IPT_MTC: s->mtc = true; break;
	case IPT_CYC: s->cyc = true; break;
	case IPT_PSB: *last = (struct ipt_last_ip){ 0 }; break;
	case IPT_TIP: case IPT_TIP_PGE: case IPT_TIP_PGD: case IPT_FUP:
		if (ipt_last_ip_apply(last, p) && last->ip >= KERNEL_START)
			s->kernel = true;
	}
}

/* The setup does not say which packets were asked for: the trace itself does. */
static void scan(struct seen *s, const struct ex_chunk *c)
{
	size_t n = (size_t)c->size, at = ipt_sync_forward(c->p, n);
	struct ipt_last_ip last = { 0 };
	struct ipt_ctx ctx = { 0 };

	s->first = 0;
	while (at < n && !(s->first && s->mtc && s->cyc && s->kernel)) {
		struct ipt_packet p;
		int rc = ipt_packet_decode(&p, &ctx, c->p + at, n - at);

		if (rc > 0) {
			look(s, &last, &p);
			at += (size_t)rc;
		} else {
			ctx = (struct ipt_ctx){ 0 };
			at++;
			at += ipt_sync_forward(c->p + at, n - at);
		}
	}
}

static const struct trace_cfg *first_cfg(const struct ex *e)
{
	return list_at(&e->queues, struct ex_queue, 0)->b->cfgs;
}

static bool same_pt(const struct trace_cfg *a, const struct trace_cfg *b)
{
	return a->r.pt.mtc_freq == b->r.pt.mtc_freq && a->r.pt.nom_freq == b->r.pt.nom_freq &&
		a->r.pt.cpuid_15_eax == b->r.pt.cpuid_15_eax &&
		a->r.pt.cpuid_15_ebx == b->r.pt.cpuid_15_ebx &&
		a->r.pt.noretcomp == b->r.pt.noretcomp && a->r.pt.nfilter == b->r.pt.nfilter &&
		a->r.pt.filter_stop == b->r.pt.filter_stop &&
		!memcmp(a->r.pt.filter, b->r.pt.filter, sizeof(a->r.pt.filter));
}

static int pt_units(struct ex *e)
{
	const struct trace_cfg *g = first_cfg(e);
	struct seen s = { 0 };

	for (size_t i = 0; i < e->queues.n; i++) {
		const struct trace_buf *b = list_at(&e->queues, struct ex_queue, i)->b;

		if (!same_pt(g, b->cfgs))
			return diag_set(e->diag, -HWT_E_FORMAT, E_EXPORT_NO, e->c->path,
					HWT_NO_OFF, "the trace unit of %s was set up differently "
					"from another one", b->name);
	}
	for (size_t i = 0; i < e->chunks.n; i++) {
		struct ex_chunk *c = list_at(&e->chunks, struct ex_chunk, i);

		scan(&s, c);
		c->ref = s.first;
	}
	e->kernel = s.kernel;
	e->config = PT_ON | PT_BRANCH | (s.tsc ? PT_TSC : 0) | (s.cyc ? PT_CYC : 0) |
		(s.mtc || g->r.pt.mtc_freq ? PT_MTC : 0) |
		(g->r.pt.noretcomp ? PT_NORETCOMP : 0) |
		(uint64_t)(g->r.pt.mtc_freq & 15) << MTC_SHIFT;
	return 0;
}

/* "filter START/SIZE", as perf record --filter takes it. */
static void filter_text(const struct trace_cfg *g, char *buf, size_t size)
{
	size_t n = 0;

	*buf = 0;
	for (unsigned i = 0; i < g->r.pt.nfilter && i < 4 && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s 0x%" PRIx64 "/0x%" PRIx64,
				      i ? "," : "",
				      g->r.pt.filter_stop >> i & 1 ? "tracestop" : "filter",
				      g->r.pt.filter[i][0],
				      g->r.pt.filter[i][1] - g->r.pt.filter[i][0] + 1);
}

/* Of the schedule perf is told only where it has to find out who ran. */
static void pt_info(struct ex *e)
{
	const struct trace_cfg *g = first_cfg(e);
	const struct time_map *m = &e->c->tsc;
	bool timed = time_map_valid(m);
	char filter[256];
	const uint64_t head[] = {
		PERF_PMU, timed ? m->shift : 0, timed ? m->mult : 0, timed ? m->zero : 0, timed,
		PT_TSC, PT_NORETCOMP, e->per_cpu ? e->switches : 0, e->snapshot, e->per_cpu,
		PT_MTC, PT_MTC_FREQ,
		g->r.pt.cpuid_15_ebx, g->r.pt.cpuid_15_eax, PT_CYC, g->r.pt.nom_freq,
	};

	filter_text(g, filter, sizeof(filter));
	bytes_u32(&e->rec, AUXTRACE_PT);
	bytes_u32(&e->rec, 0);
	bytes_put(&e->rec, head, sizeof(head));
	bytes_u64(&e->rec, strlen(filter));
	if (*filter)
		bytes_str(&e->rec, filter);
}

/* --- CoreSight --- */

static bool same_etm(const struct trace_cfg *a, const struct trace_cfg *b)
{
	return a->proto == b->proto && a->r.etm4.configr == b->r.etm4.configr &&
		a->r.etm4.idr0 == b->r.etm4.idr0 && a->r.etm4.idr1 == b->r.etm4.idr1 &&
		a->r.etm4.idr2 == b->r.etm4.idr2 && a->r.etm4.idr8 == b->r.etm4.idr8 &&
		a->r.etm4.devarch == b->r.etm4.devarch;
}

static struct ex_unit *unit_of_id(const struct ex *e, uint8_t id)
{
	for (size_t i = 0; i < e->units.n; i++)
		if (list_at(&e->units, struct ex_unit, i)->id == id)
			return list_at(&e->units, struct ex_unit, i);
	return NULL;
}

static bool cpu_taken(const struct ex *e, int32_t cpu)
{
	for (size_t i = 0; i < e->units.n; i++)
		if (list_at(&e->units, struct ex_unit, i)->cpu == cpu)
			return true;
	return false;
}

/*
 * A unit of @q. Those of buffers without frames are told apart by nothing but their CPU, so
 * the buffers of several threads on one CPU share a unit.
 */
static int add_unit(struct ex *e, struct ex_queue *q, const struct trace_cfg *g)
{
	uint8_t id = g->trace_id;
	struct ex_unit *u = NULL;
	int32_t cpu = g->cpu;

	if (q->raw)
		for (size_t i = 0; i < e->units.n && !u; i++) {
			u = list_at(&e->units, struct ex_unit, i);
			if (u->cpu != cpu || !same_etm(u->cfg, g))
				u = NULL;
		}
	if (!u && id)
		u = unit_of_id(e, id);
	if (u && !same_etm(u->cfg, g))
		return diag_set(e->diag, -HWT_E_FORMAT, E_EXPORT_NO, e->c->path, HWT_NO_OFF,
				"two trace units that were set up differently have the id 0x%02x",
				id);
	if (!u) {
		for (unsigned i = ID_FIRST; !id && i < ID_END; i++)
			id = unit_of_id(e, (uint8_t)i) ? 0 : (uint8_t)i;
		for (int32_t k = 0; cpu == HWT_NONE || cpu_taken(e, cpu); k++)
			cpu = k;
		if (!id)
			return diag_set(e->diag, -HWT_E_FORMAT, E_EXPORT_NO, e->c->path,
					HWT_NO_OFF, "more trace units than there are trace ids");
		u = vec_push(&e->units, sizeof(*u));
		if (!u)
			return ex_nomem(e);
		*u = (struct ex_unit){ .cfg = g, .cpu = cpu, .id = id };
	}
	q->unit_id = u->id;
	return 0;
}

static int cs_units(struct ex *e)
{
	unsigned profiles = 0;

	for (size_t i = 0; i < e->queues.n; i++) {
		struct ex_queue *q = list_at(&e->queues, struct ex_queue, i);

		for (size_t k = 0; k < q->b->ncfgs; k++) {
			const struct trace_cfg *g = &q->b->cfgs[k];
			int rc;

			if (g->proto != HWT_PROTO_ETM4 && g->proto != HWT_PROTO_ETE)
				continue;
			rc = add_unit(e, q, g);
			if (rc)
				return rc;
			profiles += g->profile && g->profile != 'A';
			e->config |= (g->r.etm4.configr & CFG_CCI ? OPT_CYCACC : 0) |
				(g->r.etm4.configr & CFG_CID ? OPT_CTXTID : 0) |
				(g->r.etm4.configr & CFG_TS ? OPT_TS : 0) |
				(g->r.etm4.configr & CFG_RS ? OPT_RETSTK : 0);
		}
	}
	if (profiles)
		ex_note(e, E_EXPORT_PART, "%u trace unit%s of a core that is not of the A profile: "
			"perf takes all for A", profiles, profiles == 1 ? " is" : "s are");
	return 0;
}

static void cs_info(struct ex *e)
{
	struct bytes *b = &e->rec;

	bytes_u32(b, AUXTRACE_CS_ETM);
	bytes_u32(b, 0);
	bytes_u64(b, 1);		/* version: blocks tell their length */
	bytes_u64(b, (uint64_t)PERF_PMU << 32 | e->units.n);
	bytes_u64(b, 0);		/* no snapshot */
	for (size_t i = 0; i < e->units.n; i++) {
		const struct ex_unit *u = list_at(&e->units, struct ex_unit, i);
		const struct trace_cfg *g = u->cfg;
		bool ete = g->proto == HWT_PROTO_ETE;

		bytes_u64(b, ete ? MAGIC_ETE : MAGIC_ETM4);
		bytes_u64(b, (uint64_t)u->cpu);
		bytes_u64(b, ete ? ETE_WORDS : ETM4_WORDS);
		bytes_u64(b, g->r.etm4.configr);
		bytes_u64(b, u->id);
		bytes_u64(b, g->r.etm4.idr0);
		bytes_u64(b, g->r.etm4.idr1);
		bytes_u64(b, g->r.etm4.idr2);
		bytes_u64(b, g->r.etm4.idr8);
		bytes_u64(b, 0xcc);	/* TRCAUTHSTATUS: non-secure trace implemented, enabled */
		if (ete)
			bytes_u64(b, g->r.etm4.devarch);
	}
}

int ex_units(struct ex *e)
{
	return e->cs ? cs_units(e) : pt_units(e);
}

void ex_auxtrace_info(struct ex *e)
{
	rec_begin(e, P_AUXTRACE_INFO, 0);
	if (e->cs)
		cs_info(e);
	else
		pt_info(e);
	rec_end(e);
}
