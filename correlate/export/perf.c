/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.data: header, one attribute, records, features. Layout: perf.data-file-format of perf. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "perf.h"

#define MAGIC		0x32454c4946524550u	/* "PERFILE2" as a number of 64 bits */
#define HEADER_SIZE	104u
#define ATTR_SIZE	128u			/* PERF_ATTR_SIZE_VER7 */
#define DATA_OFF	(HEADER_SIZE + 8 + ATTR_SIZE + 16)
#define ROUND		4096	/* events between two marks behind which perf need not look back */

enum {	/* features, in the order of their bits */
	F_BUILD_ID = 2, F_HOSTNAME, F_OSRELEASE, F_VERSION, F_ARCH, F_NRCPUS, F_CPUDESC, F_CPUID,
	F_CMDLINE = 11, F_EVENT_DESC, F_AUXTRACE = 18, F_END,
};

void ex_note(struct ex *e, unsigned id, const char *fmt, ...)
{
	struct hwt_diag d = { .off = HWT_NO_OFF, .id = (uint16_t)id };
	va_list ap;

	if (!e->o->note)
		return;
	va_start(ap, fmt);
	vsnprintf(d.text, sizeof(d.text), fmt, ap);
	va_end(ap);
	e->o->note(e->o->arg, &d);
}

int ex_nomem(struct ex *e)
{
	return diag_set(e->diag, -ENOMEM, 3, e->c->path, HWT_NO_OFF, "out of memory");
}

/* --- header --- */

static void attr(const struct ex *e, struct bytes *b)
{
	size_t start = b->n;
	uint64_t flags = 1u << 0	/* disabled */ | (e->kernel || e->cs ? 0 : 1u << 5) |
		1u << 6 /* no hypervisor */ | 1u << 8 /* mmap */ | 1u << 9 /* comm */ |
		1u << 13 /* task */ | 1u << 18 /* sample_id_all */ | 1u << 23 /* mmap2 */ |
		1u << 24 /* comm_exec */ | (e->switches ? 1u << 26 : 0);

	bytes_u32(b, PERF_PMU);
	bytes_u32(b, ATTR_SIZE);
	bytes_u64(b, e->config);
	bytes_u64(b, 1);		/* period */
	bytes_u64(b, rec_sample_type(e));
	bytes_u64(b, 4);		/* read_format: ID */
	bytes_u64(b, flags);
	bytes_zero(b, ATTR_SIZE - (b->n - start));
}

static void header(const struct ex *e, struct bytes *b, uint64_t data_size, uint64_t features)
{
	bytes_u64(b, MAGIC);
	bytes_u64(b, HEADER_SIZE);
	bytes_u64(b, ATTR_SIZE + 16);
	bytes_u64(b, HEADER_SIZE + 8);		/* attributes: offset, size */
	bytes_u64(b, ATTR_SIZE + 16);
	bytes_u64(b, DATA_OFF);
	bytes_u64(b, data_size);
	bytes_zero(b, 16);			/* event types, not used any more */
	bytes_u64(b, features);
	bytes_zero(b, 24);
	bytes_u64(b, 1);			/* the attribute's id */
	attr(e, b);
	bytes_u64(b, HEADER_SIZE);		/* place of its ids */
	bytes_u64(b, 8);
}

/* --- features --- */

/* Length with padding, then the string. */
static void string(struct bytes *b, const char *s)
{
	size_t n = (strlen(s) + 64) & ~(size_t)63;

	bytes_u32(b, (uint32_t)n);
	bytes_put(b, s, strlen(s));
	bytes_zero(b, n - strlen(s));
}

static const char *arch(const struct ex *e)
{
	if (*e->c->arch)
		return e->c->arch;
	return e->cs ? "aarch64" : "x86_64";
}

static const char *cpuid(const struct ex *e, char *buf, size_t size)
{
	const struct trace_cfg *g = list_at(&e->queues, struct ex_queue, 0)->b->cfgs;

	*buf = 0;
	if (!e->cs && g->r.pt.family)
		snprintf(buf, size, "GenuineIntel,%u,%u,%u", g->r.pt.family, g->r.pt.model,
			 g->r.pt.stepping);
	return buf;
}

static uint32_t ncpus(const struct ex *e)
{
	const struct machine *m = e->c->machine;
	int32_t max = 0;

	for (size_t i = 0; i < machine_ncpus(m); i++)
		max = machine_cpu_at(m, i) > max ? machine_cpu_at(m, i) : max;
	for (size_t i = 0; i < e->queues.n; i++)
		if (list_at(&e->queues, struct ex_queue, i)->cpu > max)
			max = list_at(&e->queues, struct ex_queue, i)->cpu;
	for (size_t i = 0; i < e->units.n; i++)
		if (list_at(&e->units, struct ex_unit, i)->cpu > max)
			max = list_at(&e->units, struct ex_unit, i)->cpu;
	return (uint32_t)max + 1;
}

/* One entry for each file; maps of one path come one after the other as a rule. */
static void build_ids(struct ex *e, struct bytes *b)
{
	const struct ex_map *last = NULL;

	for (size_t i = 0; i < e->maps.n; i++) {
		const struct ex_map *m = list_at(&e->maps, struct ex_map, i);
		size_t at = b->n;
		uint16_t size;

		if (!m->id_size || (last && !strcmp(last->path, m->path) && last->pid == m->pid))
			continue;
		last = m;
		bytes_u32(b, 67);
		bytes_u16(b, (m->pid == HWT_NONE ? P_KERNEL : P_USER) | 1 << 15);
		bytes_u16(b, 0);
		bytes_u32(b, UINT32_MAX);	/* the host's */
		bytes_put(b, m->id, m->id_size);
		bytes_zero(b, 20u - m->id_size);
		bytes_put(b, &m->id_size, 1);	/* as bit 15 says */
		bytes_zero(b, 3);
		bytes_str(b, m->path);
		size = (uint16_t)(b->n - at);
		if (!b->failed)
			memcpy(b->p + at + 6, &size, 2);
	}
}

static void event_desc(const struct ex *e, struct bytes *b)
{
	bytes_u32(b, 1);
	bytes_u32(b, ATTR_SIZE);
	attr(e, b);
	bytes_u32(b, 1);
	string(b, e->cs ? "cs_etm//" : "intel_pt//");
	bytes_u64(b, 1);
}

/* Where the AUXTRACE records are; perf splits CoreSight by AUX records only with this at hand. */
static void auxtrace_index(const struct ex *e, struct bytes *b)
{
	bytes_u64(b, e->chunks.n);
	for (size_t i = 0; i < e->chunks.n; i++) {
		bytes_u64(b, list_at(&e->chunks, struct ex_chunk, i)->place);
		bytes_u64(b, 48);		/* bytes of the record */
	}
}

/* Puts a feature into @b; leaves it empty if there is nothing to tell. */
static void feature(struct ex *e, unsigned f, struct bytes *b)
{
	const struct capture *c = e->c;
	char buf[64];

	switch (f) {
	case F_BUILD_ID: build_ids(e, b); break;
	case F_HOSTNAME: if (*c->host) string(b, c->host); break;
	case F_OSRELEASE: if (*c->release) string(b, c->release); break;
	case F_ARCH: string(b, arch(e)); break;
	case F_NRCPUS:
		bytes_u32(b, ncpus(e));
		bytes_u32(b, ncpus(e));
		break;
	case F_CPUDESC: if (*c->cpu) string(b, c->cpu); break;
	case F_CPUID: if (*cpuid(e, buf, sizeof(buf))) string(b, buf); break;
	case F_CMDLINE:
		if (*c->cmdline) {
			bytes_u32(b, 1);
			string(b, c->cmdline);
		}
		break;
	case F_EVENT_DESC: event_desc(e, b); break;
	case F_AUXTRACE: auxtrace_index(e, b); break;
	}
}

/* The table of places, then the features; @mask gets their bits, @s NULL: only that. */
static int features(struct ex *e, struct sink *s, uint64_t *mask)
{
	struct bytes all = { 0 }, table = { 0 };
	uint64_t at = 0;
	unsigned n = 0;
	int rc = 0;

	*mask = 0;
	for (unsigned f = 0; f < F_END; f++) {
		size_t before = all.n;

		feature(e, f, &all);
		if (all.n != before) {
			*mask |= 1ull << f;
			n++;
		}
	}
	all.n = 0;
	at = s ? s->pos + 16ull * n : 0;
	for (unsigned f = 0; f < F_END && s; f++) {
		size_t before = all.n;

		feature(e, f, &all);
		if (all.n == before)
			continue;
		bytes_u64(&table, at + before);
		bytes_u64(&table, all.n - before);
	}
	if (all.failed || table.failed)
		rc = ex_nomem(e);
	if (!rc && s) {
		sink_put(s, table.p, table.n);
		sink_put(s, all.p, all.n);
	}
	free(all.p);
	free(table.p);
	return rc;
}

/* --- records --- */

static void send(struct ex *e, struct sink *s)
{
	sink_put(s, e->rec.p, e->rec.failed ? 0 : e->rec.n);
}

static void chunks(struct ex *e, struct sink *s)
{
	static const uint8_t zero[8];

	for (size_t i = 0; i < e->chunks.n && !s->err; i++) {
		struct ex_chunk *c = list_at(&e->chunks, struct ex_chunk, i);

		rec_auxtrace(e, c, (uint32_t)i);
		c->place = s->pos;
		send(e, s);
		sink_put(s, c->p, (size_t)(c->frame ? c->size - EX_FRAME : c->size));
		if (c->frame)
			sink_put(s, c->frame, EX_FRAME);
		sink_put(s, zero, -c->size & 7);
	}
}

static void round_end(struct ex *e, struct sink *s)
{
	rec_begin(e, P_FINISHED_ROUND, 0);
	rec_end(e);
	send(e, s);
}

/* All records, in both passes alike. Trace comes first, so that perf has it when times begin. */
static int data(struct ex *e, struct sink *s)
{
	ex_auxtrace_info(e);
	send(e, s);
	if (time_map_valid(&e->c->tsc)) {
		rec_time_conv(e);
		send(e, s);
	}
	chunks(e, s);
	for (size_t i = 0; i < e->events.n && !s->err; i++) {
		rec_event(e, list_at(&e->events, struct ex_event, i));
		send(e, s);
		if (i % ROUND == ROUND - 1)
			round_end(e, s);
	}
	round_end(e, s);
	return e->rec.failed ? ex_nomem(e) : 0;
}

static int write_out(struct ex *e, struct sink *s)
{
	struct bytes head = { 0 };
	uint64_t size, mask = 0;
	int rc;

	s->count = true;
	rc = data(e, s);
	size = s->pos;
	if (!rc)
		rc = features(e, NULL, &mask);
	if (rc)
		return rc;
	s->count = false;
	s->pos = 0;
	header(e, &head, size, mask);
	if (head.failed)
		rc = ex_nomem(e);
	else
		sink_put(s, head.p, head.n);
	free(head.p);
	if (!rc)
		rc = data(e, s);
	if (!rc)
		rc = features(e, s, &mask);
	if (!rc && sink_flush(s)) {
		rc = s->err;
		diag_set(e->diag, rc, 7, NULL, HWT_NO_OFF, "%s", strerror(-rc));
	}
	e->res->bytes = s->pos;
	e->res->timed = e->timed;
	return rc;
}

static void done(struct ex *e)
{
	for (size_t i = 0; i < e->strips.n; i++)
		free(*list_at(&e->strips, uint8_t *, i));
	free(e->queues.v);
	free(e->auxs.v);
	free(e->chunks.v);
	free(e->maps.v);
	free(e->units.v);
	free(e->events.v);
	free(e->pids.v);
	free(e->threads.v);
	free(e->strips.v);
	free(e->files.v);
	free(e->rec.p);
	free(e->hist);
	arena_free(&e->arena);
}

int export_perf(struct capture *c, int fd, const struct hwt_export_opts *o,
		struct hwt_export_result *res, struct hwt_diag *diag)
{
	struct ex e = { .c = c, .o = o, .res = res, .diag = diag, .new_pid = HWT_NONE };
	struct sink *s = calloc(1, sizeof(*s));
	int rc = s ? ex_plan(&e) : ex_nomem(&e);

	if (!rc && e.cs)
		rc = ex_units(&e);
	if (!rc)
		rc = ex_offsets(&e);
	if (!rc && !e.cs)
		rc = ex_units(&e);
	if (!rc)
		rc = ex_contexts(&e);
	if (!rc)
		rc = ex_code(&e);
	if (!rc)
		rc = ex_list(&e);
	if (!rc) {
		s->fd = fd;
		s->stop = o->stop;
		rc = write_out(&e, s);
	}
	done(&e);
	free(s);
	return rc;
}
