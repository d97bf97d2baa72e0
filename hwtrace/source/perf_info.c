/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/* AUXTRACE_INFO: how the trace units were set up, and the clock conversion. */

enum {	/* words of Intel PT, in the order in which perf has added them */
	PT_PMU_TYPE, PT_TIME_SHIFT, PT_TIME_MULT, PT_TIME_ZERO, PT_CAP_TIME_ZERO, PT_TSC_BIT,
	PT_NORETCOMP_BIT, PT_SCHED_SWITCH, PT_SNAPSHOT, PT_PER_CPU, PT_MTC_BIT, PT_MTC_FREQ_BITS,
	PT_CTC_N, PT_CTC_D, PT_CYC_BIT, PT_NONTURBO, PT_FILTER_LEN, PT_FILTER,
};

enum {	/* words of cs_etm */
	CS_VERSION, CS_PMU_CPUS, CS_SNAPSHOT, CS_BLOCKS,
};

#define MAGIC_ETM3 0x3030303030303030u	/* also PTM */
#define MAGIC_ETM4 0x4040404040404040u
#define MAGIC_ETE  0x5050505050505050u
#define TRACEID_UNUSED (1u << 31)	/* version 2: the id comes in AUX_OUTPUT_HW_ID */
#define MAX_CFGS (1u << 20)		/* in all buffers; bounds a product of two input counts */

static uint64_t word(const struct perf *pf, size_t i)
{
	return i < pf->ninfo ? pf->info[i] : 0;
}

static void set_map(struct perf *pf, const struct time_map *m, uint64_t shift, uint64_t mult,
		    uint64_t off)
{
	if (shift >= 64 || !mult || mult > UINT32_MAX) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_TIME_CONV, pf->c->path, off,
			  "clock conversion with shift %" PRIu64 ", multiplier %" PRIu64, shift,
			  mult);
		return;
	}
	pf->c->tsc = *m;
	pf->c->tsc.shift = (uint16_t)shift;
	pf->c->tsc.mult = (uint32_t)mult;
}

void perf_time_conv(struct perf *pf, const struct perf_rec *r)
{
	struct cur c = cur_new(r->p + 8, r->size - 8, pf->swap);
	uint64_t shift = cur_u64(&c), mult = cur_u64(&c);
	struct time_map m = { .zero = cur_u64(&c) };
	uint64_t cycles, mask;
	uint8_t cap;

	if (c.bad) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_TIME_CONV, pf->c->path, r->off,
			  "TIME_CONV record of %u bytes", r->size);
		return;
	}
	/* added later: cycles, mask, two bytes of capabilities; judged by the size of the record */
	cycles = cur_u64(&c);
	mask = cur_u64(&c);
	cap = cur_u8(&c);
	if (!c.bad && !cap && shift < 64)	/* a recorder that says so has no conversion */
		return;
	m.cap_short = cur_u8(&c);
	if (m.cap_short) {
		m.cycles = cycles;
		m.mask = mask;
	}
	set_map(pf, &m, shift, mult, r->off);
}

static void pt_facts(struct perf *pf, uint64_t off)
{
	struct time_map m = { .zero = word(pf, PT_TIME_ZERO) };

	if (pf->ninfo <= PT_CAP_TIME_ZERO)
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_AUXINFO, pf->c->path, off,
			  "Intel PT AUXTRACE_INFO has %zu of 17 words", pf->ninfo);
	/* a TIME_CONV record says the same and more */
	if (word(pf, PT_CAP_TIME_ZERO) && !time_map_valid(&pf->c->tsc))
		set_map(pf, &m, word(pf, PT_TIME_SHIFT), word(pf, PT_TIME_MULT), off);
	capture_fact(pf->c, "trace", "Intel PT%s%s",
		     word(pf, PT_SNAPSHOT) ? ", snapshot" : "",
		     word(pf, PT_PER_CPU) ? ", each CPU" : "");
}

/* One block of registers: words from @at on. */
struct block { uint64_t magic; int32_t cpu; size_t at, n; };

/* The block at *pos; false if there is no whole one. */
static bool next_block(const struct perf *pf, size_t *pos, struct block *b)
{
	size_t at = *pos, left;

	left = pf->ninfo > at ? pf->ninfo - at : 0;
	if (left < 3)
		return false;
	b->magic = word(pf, at);
	b->cpu = (int32_t)word(pf, at + 1);
	if (word(pf, CS_VERSION) == 0) {	/* the number of registers was fixed */
		b->n = b->magic == MAGIC_ETM3 ? 4 : 7;
		b->at = at + 2;
	} else {
		if (word(pf, at + 2) > left - 3)
			return false;
		b->n = (size_t)word(pf, at + 2);
		b->at = at + 3;
	}
	if (b->n > pf->ninfo - b->at)
		return false;
	*pos = b->at + b->n;
	return true;
}

static void cs_facts(struct perf *pf, uint64_t off)
{
	uint32_t want = (uint32_t)word(pf, CS_PMU_CPUS), n = 0;
	size_t pos = CS_BLOCKS;
	struct block b;

	if (word(pf, CS_VERSION) > 2)
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_AUXINFO, pf->c->path, off,
			  "cs_etm AUXTRACE_INFO has the unknown version %" PRIu64
			  "; read like version 2", word(pf, CS_VERSION));
	while (n < want && next_block(pf, &pos, &b))
		n++;
	if (n < want || !want)
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_AUXINFO, pf->c->path, off,
			  "cs_etm AUXTRACE_INFO describes %u CPUs, %u of them whole", want, n);
	capture_fact(pf->c, "trace", "CoreSight, %u trace units, header version %" PRIu64 "%s", n,
		     word(pf, CS_VERSION), word(pf, CS_SNAPSHOT) ? ", snapshot" : "");
}

void perf_auxtrace_info(struct perf *pf, const struct perf_rec *r)
{
	struct cur c = cur_new(r->p + 8, r->size - 8, pf->swap);
	uint32_t type = cur_u32(&c);
	uint8_t *raw;

	cur_u32(&c);
	if (c.bad || pf->have_info) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_AUXINFO, pf->c->path, r->off,
			  pf->have_info ? "a second AUXTRACE_INFO is not used" :
			  "AUXTRACE_INFO record of 8 to 15 bytes");
		return;
	}
	pf->have_info = true;
	pf->info_type = type;
	pf->ninfo = cur_left(&c) / 8;
	pf->info = arena_alloc(&pf->c->arena, pf->ninfo * 8 + 8);
	raw = arena_alloc(&pf->c->arena, pf->ninfo * 8 + 8);
	if (!pf->info || !raw) {
		pf->ninfo = 0;
		pf->no_memory = true;
		return;
	}
	memcpy(raw, c.p, pf->ninfo * 8);
	pf->info_raw = raw;
	for (size_t i = 0; i < pf->ninfo; i++)
		pf->info[i] = cur_u64(&c);
	if (type == AUXTRACE_PT)
		pt_facts(pf, r->off);
	else if (type == AUXTRACE_CS_ETM)
		cs_facts(pf, r->off);
	else
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_TRACE_TYPE, pf->c->path, r->off,
			  "unknown trace type 0x%" PRIx32, type);
}

/*
 * Address filter of perf record --filter, as far as its addresses are absolute: "filter START/SIZE"
 * and "tracestop START/SIZE". Those with "@FILE" depend on where the file was mapped.
 */
static void pt_filter(const struct perf *pf, struct trace_cfg *cfg)
{
	uint64_t len = word(pf, PT_FILTER_LEN);
	char text[512], *save = NULL;

	if (!len || pf->ninfo <= PT_FILTER || len > (pf->ninfo - PT_FILTER) * 8 ||
	    len >= sizeof(text))
		return;
	memcpy(text, pf->info_raw + PT_FILTER * 8, (size_t)len);
	text[len] = 0;
	for (char *item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		bool stop = !strncmp(item, "tracestop ", 10);
		uint64_t start, size;
		char *end;

		if ((!stop && strncmp(item, "filter ", 7)) || strchr(item, '@') ||
		    cfg->r.pt.nfilter == 4)
			continue;
		errno = 0;
		start = strtoull(strchr(item, ' ') + 1, &end, 0);
		if (errno || *end != '/')
			continue;
		size = strtoull(end + 1, &end, 0);
		if (errno || *end || !size || size - 1 > UINT64_MAX - start)
			continue;
		cfg->r.pt.filter[cfg->r.pt.nfilter][0] = start;
		cfg->r.pt.filter[cfg->r.pt.nfilter][1] = start + size - 1;
		cfg->r.pt.filter_stop |= (uint8_t)(stop << cfg->r.pt.nfilter);
		cfg->r.pt.nfilter++;
	}
}

int perf_pt_cfg(struct perf *pf, struct trace_buf *b)
{
	struct trace_cfg *cfg = capture_add_cfg(pf->c, b);
	uint64_t config = 0, mtc = word(pf, PT_MTC_FREQ_BITS), noret = word(pf, PT_NORETCOMP_BIT);

	if (!cfg)
		return -ENOMEM;
	for (size_t i = 0; i < pf->nattrs; i++)
		if (pf->attrs[i].type == word(pf, PT_PMU_TYPE))
			config = pf->attrs[i].config;
	cfg->core = "";
	cfg->proto = HWT_PROTO_PT;
	cfg->cpu = b->cpu;
	cfg->r.pt.family = pf->cpu_family;
	cfg->r.pt.model = pf->cpu_model;
	cfg->r.pt.stepping = pf->cpu_stepping;
	if (mtc && config & word(pf, PT_MTC_BIT))
		cfg->r.pt.mtc_freq = (uint8_t)((config & mtc) >> __builtin_ctzll(mtc) & 15);
	cfg->r.pt.nom_freq = (uint8_t)word(pf, PT_NONTURBO);
	cfg->r.pt.cpuid_15_eax = (uint32_t)word(pf, PT_CTC_D);
	cfg->r.pt.cpuid_15_ebx = (uint32_t)word(pf, PT_CTC_N);
	cfg->r.pt.noretcomp = noret && config & noret;
	pt_filter(pf, cfg);
	return 0;
}

static void etm3_regs(const struct perf *pf, const struct block *b, struct trace_cfg *cfg)
{
	cfg->r.etm3.cr = (uint32_t)word(pf, b->at);
	cfg->r.etm3.trcidr = (uint32_t)word(pf, b->at + 1);
	cfg->r.etm3.ccer = (uint32_t)word(pf, b->at + 2);
	cfg->r.etm3.idr = (uint32_t)word(pf, b->at + 3);
	/* ETMIDR[11:8], major version: 2 is ETMv3, 3 is PFT (ARM IHI 0014Q, 0035B) */
	cfg->proto = (cfg->r.etm3.idr >> 8 & 15) == 3 ? HWT_PROTO_PTM : HWT_PROTO_ETM3;
	cfg->arch = 7;
}

static void etm4_regs(const struct perf *pf, const struct block *b, struct trace_cfg *cfg)
{
	cfg->r.etm4.configr = (uint32_t)word(pf, b->at);
	cfg->r.etm4.traceidr = (uint32_t)word(pf, b->at + 1);
	cfg->r.etm4.idr0 = (uint32_t)word(pf, b->at + 2);
	cfg->r.etm4.idr1 = (uint32_t)word(pf, b->at + 3);
	cfg->r.etm4.idr2 = (uint32_t)word(pf, b->at + 4);
	cfg->r.etm4.idr8 = (uint32_t)word(pf, b->at + 5);
	cfg->proto = HWT_PROTO_ETM4;
	if (b->magic == MAGIC_ETE) {
		cfg->proto = HWT_PROTO_ETE;
		cfg->r.etm4.devarch = b->n > 7 ? (uint32_t)word(pf, b->at + 7) : 0;
	}
	cfg->arch = 8;
}

static int add_cfg(struct perf *pf, struct trace_buf *tb, const struct block *b)
{
	struct trace_cfg *cfg;
	bool v3 = b->magic == MAGIC_ETM3;
	uint64_t id = word(pf, b->at + 1);
	uint32_t hw = idmap_get(&pf->hw_ids, (uint32_t)b->cpu);

	if (b->n < (v3 ? 4 : 6)) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_AUXINFO, pf->c->path, HWT_NO_OFF,
			  "trace unit of CPU %d has %zu registers", b->cpu, b->n);
		return 0;
	}
	if (!v3 && b->magic != MAGIC_ETM4 && b->magic != MAGIC_ETE) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_AUXINFO, pf->c->path, HWT_NO_OFF,
			  "trace unit of CPU %d is of unknown kind 0x%" PRIx64, b->cpu, b->magic);
		return 0;
	}
	cfg = capture_add_cfg(pf->c, tb);
	if (!cfg)
		return -ENOMEM;
	pf->ncfgs++;
	cfg->core = "";
	cfg->profile = 'A';
	cfg->cpu = b->cpu;
	if (v3)
		etm3_regs(pf, b, cfg);
	else
		etm4_regs(pf, b, cfg);
	if (hw != IDMAP_NONE)
		cfg->trace_id = (uint8_t)hw;
	else if (!(id & TRACEID_UNUSED))
		cfg->trace_id = id & 0x7f;
	else
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_TRACE_ID, pf->c->path, HWT_NO_OFF,
			  "no record gives the trace id of CPU %d", b->cpu);
	return 0;
}

int perf_cs_cfgs(struct perf *pf, struct trace_buf *tb, int32_t cpu)
{
	uint32_t want = (uint32_t)word(pf, CS_PMU_CPUS);
	size_t pos = CS_BLOCKS;
	struct block b;
	int rc = 0;

	for (uint32_t i = 0; i < want && !rc && next_block(pf, &pos, &b); i++)
		if ((cpu == HWT_NONE || cpu == b.cpu) && pf->ncfgs < MAX_CFGS)
			rc = add_cfg(pf, tb, &b);
	if (!tb->ncfgs)
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_AUXINFO, pf->c->path, HWT_NO_OFF,
			  "no trace unit is described for %s", tb->name);
	return rc;
}
