/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ETMv4 unit under all pairs of its options: random programs, whose runs are the truth, are
 * traced and decoded by OpenCSD from the bare bytes, and by a session from CoreSight frames with a
 * second unit in between. HWT_LONG=N: N times as many branches.
 * Longer than other files: two ways to decode, held against the same runs.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <opencsd/c_api/opencsd_c_api.h>

#include <hwtrace/hwtrace.h>

#include "correlate/session.h"
#include "hwtrace/model/frame.h"
#include "hwtrace/time/fit.h"
#include "tests/support/armcmp.h"
#include "tests/support/pairs.h"
#include "tests/support/scratch.h"
#include "tests/support/simclock.h"

#define BRANCHES 10000u		/* of each row */

/* value 0 first: the plainest unit */
static const struct pairs_option options[] = {
	{ "code", 2, { "A64", "A32+T32" } }, { "packets", 2, { "any", "shortest" } },
	{ "return_stack", 2, { "0", "1" } }, { "cid", 2, { "0", "1" } },
	{ "vmid", 3, { "0", "8", "32" } }, { "timestamps", 3, { "off", "sync", "often" } },
	{ "cycles", 4, { "off", "1", "16", "900" } }, { "commit1", 2, { "0", "1" } },
	{ "max_spec", 3, { "0", "3", "40" } }, { "wfx", 2, { "0", "1" } },
	{ "exclude", 3, { "none", "EL1", "EL0" } }, { "sync", 3, { "once", "2^8", "2^12" } },
	{ "cc_bits", 2, { "20", "12" } }, { "overflow", 2, { "0", "1" } },
	{ "events", 2, { "0", "1" } }, { "traps", 2, { "0", "1" } }, { "ns", 2, { "1", "0" } },
	{ "kernel", 2, { "seen", "unseen" } }, { "ratio", 2, { "1", "3/7" } },
	{ "address", 2, { "64", "32" } },
};
enum { CODE, PACKETS, RS, CID, VMID, TS, CC, COMMIT1, SPEC, WFX, EXCLUDE, SYNC, CC_BITS, OVERFLOWS,
	EVENTS, TRAPS, NS, KERNEL, RATIO, ADDRESS, OPTIONS };

static struct pairs pairs;

struct unit {
	struct armrun run;
	struct armrun_cfg rcfg;
	struct model_etm4_cfg cfg;
	struct model_etm4 *m;
	uint8_t *bytes;
	size_t n, room;
	uint64_t (*lost)[2];
	size_t nlost;
};

static struct model_etm4_count sum;	/* of all rows */

static int put_bytes(void *arg, const void *p, size_t n)
{
	struct unit *u = arg;

	if (u->n + n > u->room) {
		u->room = 2 * (u->n + n);
		u->bytes = realloc(u->bytes, u->room);
		assert_non_null(u->bytes);
	}
	memcpy(u->bytes + u->n, p, n);
	u->n += n;
	return 0;
}

static void put_lost(void *arg, uint64_t from, uint64_t to)
{
	struct unit *u = arg;

	assert_true(from < to);
	assert_true(!u->nlost || u->lost[u->nlost - 1][1] <= from);
	u->lost = realloc(u->lost, (u->nlost + 1) * sizeof(u->lost[0]));
	assert_non_null(u->lost);
	u->lost[u->nlost][0] = from;
	u->lost[u->nlost++][1] = to;
}

static int put_event(void *arg, const struct model_event *ev)
{
	struct unit *u = arg;

	return model_etm4_put(u->m, ev);
}

static unsigned scale(void)
{
	const char *s = getenv("HWT_LONG");

	return s && atoi(s) > 0 ? (unsigned)atoi(s) : 1;
}

/* @code: of the program, which several units may share. */
static void configure(struct unit *u, unsigned row, uint64_t seed, unsigned code)
{
	static const uint8_t vmid[] = { 0, 1, 4 }, spec[] = { 0, 3, 40 }, sync[] = { 0, 8, 12 };
	static const uint16_t threshold[] = { 0, 1, 16, 900 };
	const unsigned char *o = pairs.row[row];
	bool unseen = o[KERNEL];

	u->rcfg = (struct armrun_cfg){ .seed = seed, .run_seed = row,
		.branches = BRANCHES * scale(),
		.aarch32 = (uint8_t)code, .ns = !o[NS], .unseen = unseen, .traps = o[TRAPS] };
	u->cfg = (struct model_etm4_cfg){ .seed = seed, .trace_id = 0x10, .greedy = o[PACKETS],
		.ret_stack = o[RS], .cid = o[CID], .vmid_size = vmid[o[VMID]],
		.timestamps = o[TS] > 0, .ts_every = o[TS] > 1 ? 300 : 0, .cycles = o[CC] > 0,
		.cc_threshold = threshold[o[CC]], .commit1 = o[COMMIT1], .cc_format2 = 2,
		.max_spec = spec[o[SPEC]], .wfx_branch = o[WFX],
		.exclude = (uint8_t)(o[EXCLUDE] == 1 ? 2 : o[EXCLUDE] == 2 ? 1 : 0),
		.sync_period = sync[o[SYNC]], .cc_bits = o[CC_BITS] ? 12 : 0,
		.overflow_every = o[OVERFLOWS] ? 100 : 0, .event_every = o[EVENTS] ? 30 : 0 };
	u->cfg.exc_at_target = !u->cfg.ret_stack;
	if (o[RATIO]) {
		u->cfg.ts_mul = u->cfg.cc_mul = 3;
		u->cfg.ts_div = u->cfg.cc_div = 7;
	}
	/* what can not be together */
	if (u->cfg.cycles && !u->cfg.commit1 && !u->cfg.max_spec)
		u->cfg.max_spec = 2;
	if (unseen && u->cfg.exclude == 1)
		u->cfg.exclude = 0;
	/*
	 * OpenCSD 1.3.3 does not commit by cycle counts: an overflow takes more from it than was
	 * lost, and trace info empties its return stack before it is used
	 */
	if (u->cfg.cycles && !u->cfg.commit1) {
		u->cfg.overflow_every = 0;
		u->cfg.ret_stack &= !u->cfg.sync_period;
	}
	u->cfg.addr32 = o[ADDRESS] && code && unseen;
}

static void add_counts(const struct model_etm4_count *c)
{
	const uint64_t *from = (const uint64_t *)c;
	uint64_t *to = (uint64_t *)&sum;

	for (size_t i = 0; i < sizeof(*c) / 8; i++)
		to[i] += from[i];
}

static void trace(struct unit *u)
{
	const struct model_out out = { put_bytes, put_lost, u };

	assert_int_equal(model_etm4_new(&u->m, &u->cfg, &out), 0);
	assert_int_equal(armrun_make(&u->run, &u->rcfg, put_event, u), 0);
	assert_int_equal(model_etm4_end(u->m), 0);
	assert_int_equal(model_etm4_counts(u->m)->bytes, u->n);
	armcmp_mark(&u->run, &u->cfg, (const uint64_t (*)[2])u->lost, u->nlost);
	add_counts(model_etm4_counts(u->m));
}

static void drop(struct unit *u)
{
	model_etm4_free(u->m);
	armrun_free(&u->run);
	free(u->bytes);
	free(u->lost);
	memset(u, 0, sizeof(*u));
}

static unsigned isa_of(ocsd_isa isa)
{
	return isa == ocsd_isa_aarch64 ? MODEL_A64 : isa == ocsd_isa_arm ? MODEL_A32 :
		isa == ocsd_isa_thumb2 ? MODEL_T32 : 0;
}

static ocsd_datapath_resp_t element(const void *arg, const ocsd_trc_index_t index,
				    const uint8_t id, const ocsd_generic_trace_elem *e)
{
	struct armcmp *c = (struct armcmp *)(uintptr_t)arg;

	if (*c->why)
		return OCSD_RESP_CONT;
	switch (e->elem_type) {
	case OCSD_GEN_TRC_ELEM_TRACE_ON:
		c->on = true;
		break;
	case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
		c->el = (uint8_t)e->context.exception_level;
		c->ns = e->context.security_level == ocsd_sec_nonsecure;
		if (e->context.ctxt_id_valid)
			c->cid = e->context.context_id;
		if (e->context.vmid_valid)
			c->vmid = e->context.vmid;
		break;
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		armcmp_range(c, e->st_addr, e->en_addr, isa_of(e->isa));
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		armcmp_exception(c, e->exception_number, e->en_addr);
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
		armcmp_eret(c);
		break;
	case OCSD_GEN_TRC_ELEM_TIMESTAMP:
		armcmp_timestamp(c, e->timestamp);
		break;
	case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
		armcmp_cycles(c, e->cycle_count);
		break;
	case OCSD_GEN_TRC_ELEM_EVENT:
		c->events++;
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_NACC:
		snprintf(c->why, sizeof(c->why), "item %zu: no code at %" PRIx64, c->at,
			 (uint64_t)e->st_addr);
		break;
	default:
		break;
	}
	return OCSD_RESP_CONT;
}

static uint32_t read_code(const void *arg, const ocsd_vaddr_t a, const ocsd_mem_space_acc_t space,
			  const uint32_t n, uint8_t *buf)
{
	return (uint32_t)armprog_read(arg, a, buf, n);
}

static void by_opencsd(const struct unit *u, struct armcmp *c)
{
	struct model_etm4_regs r;
	ocsd_etmv4_cfg cfg = { .arch_ver = ARCH_V8, .core_prof = profile_CortexA };
	dcd_tree_handle_t tree;
	uint32_t used = 0, n;
	unsigned char id;

	model_etm4_regs(&r, &u->cfg);
	cfg.reg_idr0 = r.idr[0];
	cfg.reg_idr1 = r.idr[1];
	cfg.reg_idr2 = r.idr[2];
	cfg.reg_idr8 = r.idr[8];
	cfg.reg_configr = r.configr;
	cfg.reg_traceidr = r.traceidr;
	ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
	tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
	assert_true(tree != C_API_INVALID_TREE_HANDLE);
	assert_int_equal(ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I,
						OCSD_CREATE_FLG_FULL_DECODER, &cfg, &id), 0);
	assert_int_equal(ocsd_dt_add_callback_mem_acc(tree, 0, ~(ocsd_vaddr_t)0,
						      OCSD_MEM_SPACE_ANY, read_code,
						      &u->run.prog), 0);
	assert_int_equal(ocsd_dt_set_gen_elem_outfn(tree, element, c), 0);
	for (size_t at = 0; at < u->n && !*c->why; at += used) {
		n = u->n - at > 65536 ? 65536 : (uint32_t)(u->n - at);
		if (ocsd_dt_process_data(tree, OCSD_OP_DATA, at, n, u->bytes + at, &used) >=
		    OCSD_RESP_FATAL_NOT_INIT) {
			snprintf(c->why, sizeof(c->why), "fatal at %zu", at);
			break;
		}
	}
	ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, &used);
	ocsd_destroy_dcd_tree(tree);
}

/* A file of the snapshot in the scratch folder. */
static FILE *snap_file(const char *name)
{
	FILE *f = fopen(scratch(name), "wb");

	assert_non_null(f);
	return f;
}

static void snap_unit(const struct unit *u, unsigned k)
{
	struct model_etm4_regs r;
	char name[32];
	FILE *f;

	model_etm4_regs(&r, &u->cfg);
	snprintf(name, sizeof(name), "etm_%u.ini", k);
	f = snap_file(name);
	fprintf(f, "[device]\nname=ETM_%u\nclass=trace_source\ntype=ETM4\n\n[regs]\n"
		"TRCCONFIGR=0x%x\nTRCTRACEIDR=0x%x\nTRCDEVARCH=0x%x\n", k, r.configr, r.traceidr,
		r.devarch);
	for (unsigned i = 0; i < 14; i++)
		if (i < 3 || i >= 8)
			fprintf(f, "TRCIDR%u=0x%x\n", i, r.idr[i]);
	fclose(f);
	snprintf(name, sizeof(name), "cpu_%u.ini", k);
	f = snap_file(name);
	fprintf(f, "[device]\nname=cpu_%u\nclass=core\ntype=Cortex-A72\n", k);
	for (unsigned i = 0; i < u->run.prog.nchunks && !k; i++) {
		const struct arm_chunk *c = &u->run.prog.chunk[i];

		fprintf(f, "\n[dump%u]\nfile=code%u\naddress=0x%" PRIx64 "\nlength=0x%x\n", i, i,
			c->addr, c->bytes);
		snprintf(name, sizeof(name), "code%u", i);
		scratch_write(name, c->mem, c->bytes);
	}
	fclose(f);
}

/* A directory as DS-5 writes it, with the trace of some units of one program. */
static void snapshot(const struct unit *u, unsigned n, const void *p, size_t size,
		     const char *format)
{
	FILE *f = snap_file("snapshot.ini");

	fputs("[snapshot]\nversion=1.0\n\n[device_list]\n", f);
	for (unsigned k = 0; k < n; k++)
		fprintf(f, "device%u=cpu_%u.ini\ndevice%u=etm_%u.ini\n", 2 * k, k, 2 * k + 1, k);
	fputs("\n[trace]\nmetadata=trace.ini\n", f);
	fclose(f);
	f = snap_file("trace.ini");
	fprintf(f, "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB_0\nfile=trace.bin\n"
		"format=%s\n\n[source_buffers]\n", format);
	for (unsigned k = 0; k < n; k++)
		fprintf(f, "ETM_%u=ETB_0\n", k);
	fputs("\n[core_trace_sources]\n", f);
	for (unsigned k = 0; k < n; k++)
		fprintf(f, "cpu_%u=ETM_%u\n", k, k);
	fclose(f);
	for (unsigned k = 0; k < n; k++)
		snap_unit(&u[k], k);
	scratch_write("trace.bin", p, size);
}

static void check(const struct unit *u, struct armcmp *c, unsigned row, const char *who)
{
	unsigned slack = u->cfg.cycles && !u->cfg.commit1 ? u->cfg.max_spec : 0;

	armcmp_end(c, slack);
	if (!*c->why && !slack && c->events != model_etm4_counts(u->m)->event_packets)
		snprintf(c->why, sizeof(c->why), "%" PRIu64 " events", c->events);
	if (!*c->why)
		return;
	pairs_print(stdout, &pairs, row);
	printf("\n");
	fail_msg("row %u, %s: %s", row, who, c->why);
}

static void bare(void **state)
{
	uint64_t insns = 0, branches = 0;
	const char *only = getenv("ROW");

	for (unsigned row = 0; row < pairs.nrows; row++) {
		struct unit u = { .n = 0 };
		struct armcmp c;

		if (only && (unsigned)atoi(only) != row)
			continue;
		configure(&u, row, 1000 + row, pairs.row[row][CODE]);
		trace(&u);
		armcmp_start(&c, &u.run, &u.cfg);
		by_opencsd(&u, &c);
		check(&u, &c, row, "OpenCSD");
		insns += c.insns;
		branches += u.run.branches;
		drop(&u);
	}
	printf("# %u rows, %" PRIu64 " branches, %" PRIu64 " instructions as they ran\n",
	       pairs.nrows, branches, insns);
}

/* The buffer of a framed trace. */
struct frames {
	struct model_frame *f;
	uint8_t *p;
	size_t n, room;
};

static int put_frames(void *arg, const void *p, size_t n)
{
	struct frames *b = arg;

	assert_true(b->n + n <= b->room);
	memcpy(b->p + b->n, p, n);
	b->n += n;
	return 0;
}

static struct model_frame_count frame_sum;

/* Pieces of both, in turn and of any size, as two units would send them. */
static void frame(struct frames *b, const struct unit *u, unsigned row)
{
	const struct model_frame_cfg cfg = { .seed = row, .idle = row % 2,
					     .run_max = row % 3 ? 0 : 3 };
	const struct model_out out = { put_frames, NULL, b };
	const uint64_t *from;
	size_t at[2] = { 0, 0 };

	*b = (struct frames){ .room = 4 * (u[0].n + u[1].n) + 4096 };
	b->p = malloc(b->room);
	assert_non_null(b->p);
	assert_int_equal(model_frame_new(&b->f, &cfg, &out), 0);
	while (at[0] < u[0].n || at[1] < u[1].n) {
		for (unsigned k = 0; k < 2; k++) {
			size_t n = u[k].n - at[k];

			if (n > 100 + 37 * k)
				n = 100 + 37 * k;
			assert_int_equal(model_frame_put(b->f, u[k].cfg.trace_id,
							 u[k].bytes + at[k], n), 0);
			at[k] += n;
		}
	}
	assert_int_equal(model_frame_flush(b->f), 0);
	assert_int_equal(b->n % 16, 0);
	from = (const uint64_t *)model_frame_counts(b->f);
	for (size_t i = 0; i < sizeof(frame_sum) / 8; i++)
		((uint64_t *)&frame_sum)[i] += from[i];
	model_frame_free(b->f);
}

static unsigned model_isa(unsigned isa)
{
	return isa == HWT_ISA_A64 ? MODEL_A64 : isa == HWT_ISA_A32 ? MODEL_A32 :
		isa == HWT_ISA_T32 ? MODEL_T32 : 0;
}

static unsigned id_of(const struct hwt_event *e)
{
	switch (e->type) {
	case HWT_EV_RANGE:	return e->u.range.trace_id;
	case HWT_EV_ON:
	case HWT_EV_OFF:
	case HWT_EV_ERET:	return e->u.at.trace_id;
	case HWT_EV_ASPACE:	return e->u.aspace.trace_id;
	case HWT_EV_EXCEPTION:	return e->u.exc.trace_id;
	case HWT_EV_GAP:	return e->u.gap.trace_id;
	default:		return e->u.value.trace_id;
	}
}

static void aspace(struct armcmp *c, const struct hwt_event *e)
{
	if (e->u.aspace.valid & 4)
		c->el = e->u.aspace.el;
	c->ns = !e->u.aspace.secure;
	if (e->u.aspace.valid & 1)
		c->cid = (uint32_t)e->u.aspace.id;
	if (e->u.aspace.valid & 2)
		c->vmid = e->u.aspace.vmid;
}

static uint64_t ranges, timed, bounded;
static bool fitted;		/* times are of @sim, which readings alone tie to the timestamps */
static struct sim sim;

/* Each instruction of the range, from item @at on, ran within the time that the event gives. */
static void in_time(struct armcmp *c, size_t at, const struct hwt_event *e)
{
	ranges++;
	if (e->time == HWT_TIME_UNKNOWN || *c->why)
		return;
	timed++;
	bounded += e->span != HWT_SPAN_UNKNOWN;
	for (; at < c->at; at++) {
		const struct arm_item *it = &c->run->v[at];
		uint64_t t = armcmp_time(c, it->tick);

		t = fitted ? sim_clock(&sim, t) : t;

		if (!it->skip && it->what == ARM_INSN && (t < e->time ||
		    (e->span != HWT_SPAN_UNKNOWN && t > e->time + e->span)))
			snprintf(c->why, sizeof(c->why), "item %zu: at %" PRIu64 ", not %" PRIu64
				 " + %" PRIu32, at, t, e->time, e->span);
	}
}

static void event(struct armcmp *c, const struct hwt_event *e, uint64_t *overflows)
{
	size_t at;

	switch (e->type) {
	case HWT_EV_ON:
		c->on = true;
		break;
	case HWT_EV_ASPACE:
		aspace(c, e);
		break;
	case HWT_EV_RANGE:
		at = c->at;
		armcmp_range(c, e->u.range.first, e->u.range.last + e->u.range.last_size,
			     model_isa(e->u.range.isa));
		in_time(c, at, e);
		break;
	case HWT_EV_EXCEPTION:
		armcmp_exception(c, e->u.exc.number, e->u.exc.from);
		break;
	case HWT_EV_ERET:
		armcmp_eret(c);
		break;
	case HWT_EV_TIMESTAMP:
		armcmp_timestamp(c, e->u.value.value);
		break;
	case HWT_EV_CYCLES:
		armcmp_cycles(c, e->u.value.value);
		break;
	case HWT_EV_TRIGGER:
		c->events++;
		break;
	case HWT_EV_GAP:
		if (e->u.gap.cause == HWT_GAP_OVERFLOW)
			++*overflows;
		else if (!*c->why)
			snprintf(c->why, sizeof(c->why), "item %zu: gap %s", c->at,
				 hwt_gap_name((unsigned)e->u.gap.cause));
		break;
	default:
		break;
	}
}

/* Skew; drift; a step; wide readings; few of them. */
static void make_fit(struct time_fit *fit, const struct armcmp *c, unsigned row)
{
	struct sim_opts o = { .hz = 100000, .start_ns = 1000000000, .skew_ppm = 300,
		.drift_ppb = row % 5 == 1 ? 50000 : 1000, .changes = 9, .steps = row % 5 == 2,
		.step_min = 500000000, .step_max = 900000000 };
	const struct time_fit_opts fo = { .drift_ppb = o.drift_ppb };
	const unsigned n = row % 5 == 4 ? 4 : 50, wide = row % 5 == 3 ? 300 : 3;
	uint64_t last = 1000;
	struct time_fit_report r;
	struct fitter *f;

	for (unsigned k = 0; k < 2; k++)
		if (c[k].run->n && armcmp_time(&c[k], c[k].run->v[c[k].run->n - 1].tick) > last)
			last = armcmp_time(&c[k], c[k].run->v[c[k].run->n - 1].tick);
	o.ticks = last + 1000;
	sim_make(&sim, row + 1, &o);
	assert_int_equal(fitter_new(&f, &fo), 0);
	for (unsigned i = 0; i <= n; i++) {
		uint64_t at = sim.end * i / n, w = sim_range(&sim, 0, wide);
		uint64_t v = sim_clock(&sim, sim_range(&sim, at, at + w));

		assert_int_equal(fitter_add(f, &(struct time_pair){ at, at + w, v, v + 1 }), 0);
	}
	assert_int_equal(fitter_done(f, fit, &r), 1);
	fitter_free(f);
}

static uint64_t edges, edges_close;

static bool next_range(struct hwt_stream *s, struct hwt_event *v, int *n, int *i)
{
	for (;; ++*i) {
		if (*i == *n) {
			*i = 0;
			*n = hwt_stream_next(s, v, 256);
			if (*n <= 0)
				return false;
		}
		if (v[*i].type == HWT_EV_RANGE)
			return true;
	}
}

static bool holds(const struct hwt_event *wide, const struct hwt_event *e)
{
	if (wide->time == HWT_TIME_UNKNOWN || e->time == HWT_TIME_UNKNOWN)
		return wide->time == HWT_TIME_UNKNOWN;
	return wide->time <= e->time && (wide->span == HWT_SPAN_UNKNOWN ||
		(e->span != HWT_SPAN_UNKNOWN && wide->time + wide->span >= e->time + e->span));
}

/*
 * With calls, times of ranges, and of what each ends with, hold those that ranges have alone, which
 * in_time() holds against what ran; cycles are counted there, too.
 */
static void with_calls(struct hwt_session *s)
{
	struct hwt_interest want = { .level = HWT_LEVEL_CALLS, .time_hi = HWT_TIME_UNKNOWN,
		.unfolded = true, .ranges = true };
	static struct hwt_event a[256], b[256];
	struct hwt_event last[128];
	int na = 0, ia = 0, nb, more;
	struct hwt_stream *x, *y;

	memset(last, 0, sizeof(last));
	assert_int_equal(hwt_session_flow(s, 0, &want, &y, NULL), 0);
	want.level = HWT_LEVEL_RANGES;
	assert_int_equal(hwt_session_flow(s, 0, &want, &x, NULL), 0);
	while ((nb = hwt_stream_next(y, b, 256)) > 0)
		for (int i = 0; i < nb; i++) {
			const struct hwt_event *e = &b[i];
			struct hwt_event *l = &last[e->type == HWT_EV_RANGE ?
				e->u.range.trace_id : e->u.edge.trace_id];

			assert_true(e->type != HWT_EV_CYCLES && e->type != HWT_EV_TIMESTAMP);
			if (e->type == HWT_EV_RANGE) {
				assert_true(next_range(x, a, &na, &ia));
				assert_int_equal(e->u.range.first, a[ia].u.range.first);
				assert_int_equal(e->off, a[ia].off);
				if (!holds(e, &a[ia]))
					fail_msg("%" PRIx64 ": %" PRIu64 "+%u, not %" PRIu64 "+%u",
						 e->off, e->time, e->span, a[ia].time, a[ia].span);
				*l = a[ia++];
			} else if ((e->type == HWT_EV_CALL || e->type == HWT_EV_RETURN) &&
				   l->type && l->u.range.last == e->u.edge.from &&
				   l->off == e->off) {
				if (!holds(e, l))
					fail_msg("edge at %" PRIx64 ": %" PRIu64 "+%u, not %"
						 PRIu64 "+%u", e->off, e->time, e->span, l->time,
						 l->span);
				edges++;
				edges_close += e->time == l->time && e->span == l->span;
			}
		}
	assert_int_equal(nb, 0);
	more = next_range(x, a, &na, &ia);
	assert_false(more);
	hwt_stream_close(x);
	hwt_stream_close(y);
}

static void by_session(const struct unit *u, struct armcmp *c, unsigned row)
{
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_event ev[256];
	uint64_t overflows[2] = { 0, 0 };
	struct hwt_session *s;
	struct hwt_stream *flow;
	struct hwt_diag diag;
	int n;

	want.level = HWT_LEVEL_RANGES;
	assert_int_equal(hwt_session_open(&s, scratch(""), NULL, &diag), 0);
	if (fitted) {
		make_fit(&session_capture(s)->fit, c, row);
		session_capture(s)->tsc = (struct time_map){ .fit = &session_capture(s)->fit };
		session_capture(s)->one_counter = true;
	}
	assert_int_equal(hwt_session_flow(s, 0, &want, &flow, &diag), 0);
	while ((n = hwt_stream_next(flow, ev, 256)) > 0) {
		for (int i = 0; i < n; i++) {
			unsigned k = id_of(&ev[i]) == u[1].cfg.trace_id;

			event(&c[k], &ev[i], &overflows[k]);
		}
	}
	assert_int_equal(n, 0);
	hwt_stream_close(flow);
	with_calls(s);
	hwt_session_close(s);
	for (unsigned k = 0; k < 2; k++) {
		check(&u[k], &c[k], row, k ? "session, second unit" : "session");
		assert_int_equal(overflows[k], model_etm4_counts(u[k].m)->overflow);
	}
}

static void framed(void **state)
{
	uint64_t insns = 0;

	ranges = timed = bounded = 0;
	for (unsigned row = 0; row < pairs.nrows; row++) {
		struct unit u[2] = { { .n = 0 }, { .n = 0 } };
		struct armcmp c[2];
		struct frames b;

		for (unsigned k = 0; k < 2; k++) {
			configure(&u[k], (row + k) % pairs.nrows, 2000 + row,
				  pairs.row[row][CODE]);
			u[k].cfg.trace_id = (uint8_t)(k ? 0x6f : 1);
			trace(&u[k]);
			armcmp_start(&c[k], &u[k].run, &u[k].cfg);
		}
		frame(&b, u, row);
		snapshot(u, 2, b.p, b.n, "coresight");
		by_session(u, c, row);
		insns += c[0].insns + c[1].insns;
		drop(&u[0]);
		drop(&u[1]);
		free(b.p);
	}
	printf("# %u rows of two units, %" PRIu64 " instructions as they ran; %" PRIu64
	       " ranges, %" PRIu64 " with a time, %" PRIu64 " with its end\n", pairs.nrows, insns,
	       ranges, timed, bounded);
	printf("# %" PRIu64 " of %" PRIu64 " calls and returns have the time of their range\n",
	       edges_close, edges);
	assert_true(edges_close > edges - edges / 10);
	assert_true(timed > ranges / 4 && bounded > timed / 2);
}

/* The same with times in ns of another clock. */
static void framed_fitted(void **state)
{
	fitted = true;
	framed(state);
	fitted = false;
}

/* Every packet and every form of it was there. */
static void all_used(void **state)
{
	static const char *const forms[] = { "id_now", "id_late", "id_last", "id_again", "pad" };
	const uint64_t n[] = { frame_sum.id_now, frame_sum.id_late, frame_sum.id_last,
			       frame_sum.id_again, frame_sum.pad };
#define IS(field) { #field, sum.field }
	const struct { const char *name; uint64_t n; } t[] = {
		IS(atom_packets[1]), IS(atom_packets[2]), IS(atom_packets[3]), IS(atom_packets[4]),
		IS(atom_packets[5]), IS(atom_packets[6]), IS(atoms[0]), IS(atoms[1]), IS(match[0]),
		IS(match[1]), IS(match[2]), IS(short1[0]), IS(short1[1]), IS(short2[0]),
		IS(short2[1]), IS(long32[0]), IS(long32[1]), IS(long64[0]), IS(long64[1]),
		IS(ctx_long32[0]), IS(ctx_long32[1]), IS(ctx_long64[0]), IS(ctx_long64[1]),
		IS(context), IS(context_same), IS(ret_matched), IS(ret_missed), IS(exception1),
		IS(exception2), IS(exception_at_target), IS(exception_return), IS(timestamp),
		IS(timestamp_cc), IS(cc1), IS(cc1_unknown), IS(cc2), IS(cc3), IS(commit), IS(sync),
		IS(trace_on), IS(overflow), IS(event_packets),
	};
#undef IS

	if (getenv("ROW"))
		skip();
	printf("#");
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		printf(" %s %" PRIu64, t[i].name, t[i].n);
		assert_true(t[i].n > 0);
	}
	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
		printf(" %s %" PRIu64, forms[i], n[i]);
		assert_true(n[i] > 0);
	}
	printf("\n");
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test(bare), cmocka_unit_test(framed), cmocka_unit_test(framed_fitted),
		cmocka_unit_test(all_used),
	};

	if (pairs_make(&pairs, options, OPTIONS)) {
		puts("no pairs");
		return 1;
	}
	return cmocka_run_group_tests(t, scratch_make, scratch_drop);
}
