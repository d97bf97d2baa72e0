/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "tep.h"
#include "../image/image.h"

#define HEADER_SIZE 104
#define ATTR_MIN 80		/* bytes: PERF_ATTR_SIZE_VER0 and the place of its ids */
#define ATTR_MAX 4096		/* page size, the kernel's own limit of an attr */
#define MAX_LIST 4096		/* entries kept of any list in a feature */

enum {	/* bits of the header, in the order of perf's file format */
	F_TRACING_DATA = 1, F_BUILD_ID, F_HOSTNAME, F_OSRELEASE, F_VERSION, F_ARCH, F_NRCPUS,
	F_CPUDESC, F_CPUID, F_TOTAL_MEM, F_CMDLINE, F_EVENT_DESC, F_PMU_MAPPINGS = 16,
	F_SAMPLE_TIME = 21, F_CLOCKID = 23, F_DIR_FORMAT, F_COMPRESSED = 27, F_CLOCK_DATA = 29,
};

static int bad_header(struct hwt_diag *d, const struct file *f, uint64_t off, const char *what,
		      uint64_t v)
{
	return diag_set(d, -HWT_E_FORMAT, E_HEADER, f->path, off, "%s %" PRIu64 " is impossible",
			what, v);
}

/* What can be an offset at all is most often that of a file that was cut. */
static int outside(struct hwt_diag *d, const struct file *f, uint64_t off, const char *what,
		   uint64_t v)
{
	if (v > INT64_MAX)
		return bad_header(d, f, off, "offset", v);
	return diag_set(d, -HWT_E_FORMAT, E_CUT, f->path, off, "%s should begin at %" PRIu64
			", the file ends at %" PRIu64, what, v, f->size);
}

static int add_seg(struct perf *pf, const struct file *f, uint64_t off, uint64_t end)
{
	struct perf_seg *v = realloc(pf->segs, (pf->nsegs + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	pf->segs = v;
	v[pf->nsegs++] = (struct perf_seg){ .f = f, .off = off, .end = end };
	return 0;
}

static int read_attrs(struct perf *pf, const struct file *f, uint64_t attr_size, uint64_t off,
		      uint64_t size, struct hwt_diag *diag)
{
	struct notes *ns = &pf->c->notes;

	if (off > f->size)
		return outside(diag, f, 24, "the attributes", off);
	if (size > f->size - off) {
		notes_add(ns, HWT_NOTE_CUT, E_HEADER, f->path, 32,
			  "attributes need %" PRIu64 " bytes, %" PRIu64 " are there", size,
			  f->size - off);
		size = f->size - off;
	}
	for (uint64_t i = 0; i < size / attr_size; i++) {
		const uint8_t *p = f->p + off + i * attr_size;
		struct cur c = cur_new(p + (attr_size - 16), 16, pf->swap), ids;
		uint64_t ids_off = cur_u64(&c), ids_size = cur_u64(&c);
		int rc;

		if (ids_off > f->size || ids_size > f->size - ids_off) {
			notes_add(ns, HWT_NOTE_CUT, E_ATTR, f->path, off + i * attr_size,
				  "ids of attribute %" PRIu64 " lie outside the file", i);
			ids_off = ids_size = 0;
		}
		ids = cur_new(f->p + ids_off, (size_t)ids_size, pf->swap);
		rc = perf_add_attr(pf, p, (size_t)attr_size - 16, &ids);
		if (rc == -HWT_E_FORMAT)
			return bad_header(diag, f, off, "number of attributes", i);
		if (rc)
			return diag_set(diag, rc, 3, f->path, HWT_NO_OFF, "out of memory");
	}
	return 0;
}

static bool has_feature(const struct perf *pf, unsigned i)
{
	return pf->feature_bits[i / 64] >> (i % 64) & 1;
}

/* What a cut inside the data takes with it. */
static const char *behind_data(const struct perf *pf)
{
	if (has_feature(pf, F_TRACING_DATA))
		return "; the formats of events, which stand behind it, are missing, too, so "
			"tracepoints have no fields";
	return has_feature(pf, F_EVENT_DESC) ? "; machine, build-ids and names of events, which "
		"stand behind it, are missing, too" : "";
}

/* The data section, as far as it is there. */
static int data_section(struct perf *pf, const struct file *f, uint64_t off, uint64_t size,
			struct hwt_diag *diag)
{
	struct notes *ns = &pf->c->notes;
	uint64_t left;

	if (off > f->size)
		return outside(diag, f, 40, "the data", off);
	left = f->size - off;
	if (!size && left) {
		notes_add(ns, HWT_NOTE_CUT, E_UNCLOSED, f->path, 48,
			  "recording not closed: data size 0, %" PRIu64
			  " bytes follow; unclean end", left);
		memset(pf->feature_bits, 0, sizeof(pf->feature_bits));
		size = left;
	} else if (size > left) {
		notes_add(ns, HWT_NOTE_CUT, E_DATA_SIZE, f->path, 48,
			  "data section of %" PRIu64 " bytes, %" PRIu64 " are there%s", size, left,
			  behind_data(pf));
		memset(pf->feature_bits, 0, sizeof(pf->feature_bits));
		size = left;
	}
	pf->data_end = off + size;
	if (add_seg(pf, f, off, off + size))
		return diag_set(diag, -ENOMEM, 3, f->path, HWT_NO_OFF, "out of memory");
	return 0;
}

int perf_header(struct perf *pf, const struct file *f, struct hwt_diag *diag)
{
	struct cur c = cur_new(f->p, (size_t)f->size, false);
	uint64_t size, attr_size, attrs[2], data[2];
	const uint8_t *magic = cur_take(&c, 8);
	int rc;

	if (!f->size)
		return diag_set(diag, -HWT_E_FORMAT, 5, f->path, 0, "the file is empty");
	if (magic && !memcmp(magic, "PERFFILE", 8))
		return diag_set(diag, -HWT_E_FORMAT, E_VERSION, f->path, 0,
				"version 1 of perf.data (PERFFILE)");
	if (magic && memcmp(magic, "PERFILE2", 8) && memcmp(magic, "2ELIFREP", 8))
		return diag_set(diag, -HWT_E_FORMAT, 2, f->path, 0, "no perf.data magic");
	/* the magic is a number: its bytes are in the other order on the other kind of machine */
	pf->swap = c.swap = magic &&
		(magic[0] == '2') == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	size = cur_u64(&c);
	if (!c.bad && size == 16) {
		pf->pipe = true;
		pf->data_end = f->size;
		return add_seg(pf, f, 16, f->size) ?
			diag_set(diag, -ENOMEM, 3, f->path, HWT_NO_OFF, "out of memory") : 0;
	}
	attr_size = cur_u64(&c);
	for (int i = 0; i < 2; i++)
		attrs[i] = cur_u64(&c);
	for (int i = 0; i < 2; i++)
		data[i] = cur_u64(&c);
	cur_skip(&c, 16);	/* event types, not used since Linux 2.6.39 */
	for (int i = 0; i < 4; i++)
		pf->feature_bits[i] = cur_u64(&c);
	if (c.bad)
		return diag_set(diag, -HWT_E_FORMAT, E_CUT, f->path, f->size,
				"truncated at %" PRIu64 " of %d header bytes", f->size,
				HEADER_SIZE);
	if (size < HEADER_SIZE || size > f->size)
		return bad_header(diag, f, 8, "header size", size);
	if (attr_size < ATTR_MIN || attr_size > ATTR_MAX)
		return bad_header(diag, f, 16, "size of an attribute entry", attr_size);
	rc = read_attrs(pf, f, attr_size, attrs[0], attrs[1], diag);
	return rc ? rc : data_section(pf, f, data[0], data[1], diag);
}

void perf_features(struct perf *pf, const struct file *f)
{
	struct cur c;

	if (pf->pipe)
		return;
	c = cur_new(f->p + pf->data_end, (size_t)(f->size - pf->data_end), pf->swap);
	for (unsigned i = 0; i < 256; i++) {
		uint64_t off, size;

		if (!has_feature(pf, i))
			continue;
		off = cur_u64(&c);
		size = cur_u64(&c);
		if (c.bad || off > f->size || size > f->size - off) {
			notes_add(&pf->c->notes, HWT_NOTE_CUT, E_FEATURE, f->path,
				  c.bad ? f->size : off,
				  "feature %u of the header is not in the file", i);
			if (c.bad)
				return;
			continue;
		}
		perf_feature(pf, i, f, off, f->p + off, (size_t)size);
	}
}

/* Strings of features: u32 bytes with padding, then the bytes. NULL and c->bad if cut. */
static const char *string(struct perf *pf, struct cur *c)
{
	uint32_t n = cur_u32(c);
	const uint8_t *p = cur_take(c, n);
	const char *s = p ? arena_strn(&pf->c->arena, (const char *)p, n) : NULL;

	return s ? s : "";
}

/* "GenuineIntel,6,78,3": what errata depend on. Other vendors and Arm ids are only kept as text. */
static void cpuid(struct perf *pf, const char *s)
{
	unsigned family, model, stepping;

	if (sscanf(s, "GenuineIntel,%u,%u,%u", &family, &model, &stepping) != 3 ||
	    family > UINT16_MAX || model > UINT8_MAX || stepping > UINT8_MAX)
		return;
	pf->cpu_family = (uint16_t)family;
	pf->cpu_model = (uint8_t)model;
	pf->cpu_stepping = (uint8_t)stepping;
}

static void cmdline(struct perf *pf, struct cur *c)
{
	uint32_t nr = cur_u32(c);
	char text[4096];
	size_t n = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < nr && i < MAX_LIST && !c->bad && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "",
				      string(pf, c));
	pf->c->cmdline = arena_str(&pf->c->arena, text);
	if (!pf->c->cmdline)
		pf->c->cmdline = "";
}

static void event_desc(struct perf *pf, struct cur *c)
{
	uint32_t nr = cur_u32(c), size = cur_u32(c);

	for (uint32_t i = 0; i < nr && i < MAX_LIST && !c->bad; i++) {
		const char *name;
		uint32_t nids, k = IDMAP_NONE;
		uint64_t id;

		cur_skip(c, size);
		nids = cur_u32(c);
		name = string(pf, c);
		for (uint32_t j = 0; j < nids && !c->bad; j++) {
			id = cur_u64(c);
			if (j == 0)
				k = idmap_get(&pf->ids, id);
		}
		if (c->bad)
			return;
		if (!nids && nr == pf->nattrs)
			k = i;
		if (k != IDMAP_NONE)
			pf->attrs[k].name = name;
		capture_fact(pf->c, "event", "%s", name);
	}
}

static void pmu_mappings(struct perf *pf, struct cur *c)
{
	uint32_t nr = cur_u32(c);

	for (uint32_t i = 0; i < nr && i < MAX_LIST && !c->bad; i++) {
		uint32_t type = cur_u32(c);
		const char *name = string(pf, c);

		for (size_t k = 0; k < pf->nattrs && !c->bad; k++)
			if (pf->attrs[k].type == type && !pf->attrs[k].name[0])
				pf->attrs[k].name = name;
		/* only the trace units are of interest */
		if (!c->bad && (strstr(name, "intel_pt") || strstr(name, "cs_etm") ||
				strstr(name, "arm_spe")))
			capture_fact(pf->c, "pmu", "%s = %u", name, type);
	}
}

void perf_build_id(struct perf *pf, uint16_t misc, struct cur *c)
{
	const uint8_t *id;
	bool whole;
	char path[4096];
	const char *s;
	size_t n;

	cur_u32(c);	/* pid of the kernel it belongs to */
	id = cur_take(c, 24);
	if (!id)
		return;
	s = perf_name(c, &n, &whole);
	if (n >= sizeof(path))
		return;
	memcpy(path, s, n);
	path[n] = 0;
	/* 20 bytes with zero padding, or the true length behind them where misc says so */
	n = misc & MISC_BUILD_ID_SIZE && id[20] <= 20 ? id[20] : 20;
	pf->no_memory |= image_set_build_id(pf->c->image, path, id, n) == -ENOMEM;
}

static void build_ids(struct perf *pf, const struct file *f, uint64_t off, struct cur *c)
{
	while (cur_left(c) >= 8) {
		const uint8_t *start = c->p;
		struct cur body;
		uint16_t misc, size;

		cur_u32(c);
		misc = cur_u16(c);
		size = cur_u16(c);
		if (size < 8 || size - 8u > cur_left(c)) {
			notes_add(&pf->c->notes, HWT_NOTE_WARN, E_FEATURE, f->path,
				  off + (uint64_t)(start - c->start),
				  "build-id table: entry size %u", size);
			return;
		}
		body = cur_new(c->p, size - 8u, c->swap);
		cur_skip(c, size - 8u);
		perf_build_id(pf, misc, &body);
	}
}

static void tracing_data(struct perf *pf, const struct file *f, uint64_t off, const uint8_t *p,
			 size_t n)
{
	unsigned used = 0;
	bool cut = false;

	if (pf->fmt)
		return;
	if (trace_fmt_new(&pf->fmt, p, n, &used, &cut) || cut)
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_TRACING_DATA, f->path, off,
			  "tracepoint formats are damaged; %u were read", used);
	capture_fact(pf->c, "tracepoint formats", "%u", used);
}

const char *perf_clock_name(int64_t id)
{
	static const char *const names[] = { "CLOCK_REALTIME", "CLOCK_MONOTONIC", "", "",
		"CLOCK_MONOTONIC_RAW", "", "", "CLOCK_BOOTTIME", "", "", "", "CLOCK_TAI" };

	return id >= 0 && id < 12 && names[id][0] ? names[id] : "other clock";
}

static void clock_data(struct perf *pf, struct cur *c)
{
	uint32_t version = cur_u32(c), id = cur_u32(c);
	uint64_t wall = cur_u64(c), trace = cur_u64(c);

	if (!c->bad)
		capture_fact(pf->c, "clock pair", "version %u, %s %" PRIu64 " ns = wall clock %"
			     PRIu64 " ns", version, perf_clock_name(id), trace, wall);
}

void perf_feature(struct perf *pf, unsigned id, const struct file *f, uint64_t off,
		  const uint8_t *p, size_t n)
{
	struct cur c = cur_new(p, n, pf->swap);
	struct capture *cap = pf->c;
	uint64_t a, b;
	uint32_t v[5];

	switch (id) {
	case F_TRACING_DATA: tracing_data(pf, f, off, p, n); return;
	case F_BUILD_ID: build_ids(pf, f, off, &c); return;
	case F_HOSTNAME: cap->host = string(pf, &c); break;
	case F_OSRELEASE: cap->release = string(pf, &c); break;
	case F_VERSION: capture_fact(cap, "perf version", "%s", string(pf, &c)); break;
	case F_ARCH: cap->arch = string(pf, &c); break;
	case F_NRCPUS:
		v[0] = cur_u32(&c);
		v[1] = cur_u32(&c);
		capture_fact(cap, "cpus", "%u online, %u possible", v[1], v[0]);
		break;
	case F_CPUDESC: cap->cpu = string(pf, &c); break;
	case F_CPUID:
		capture_fact(cap, "cpuid", "%s", string(pf, &c));
		cpuid(pf, cap->facts && cap->nfacts ? cap->facts[cap->nfacts - 1].value : "");
		break;
	case F_TOTAL_MEM: capture_fact(cap, "memory", "%" PRIu64 " KiB", cur_u64(&c)); break;
	case F_CMDLINE: cmdline(pf, &c); break;
	case F_EVENT_DESC: event_desc(pf, &c); break;
	case F_PMU_MAPPINGS: pmu_mappings(pf, &c); break;
	case F_SAMPLE_TIME:
		a = cur_u64(&c);
		b = cur_u64(&c);
		capture_fact(cap, "sample time", "%" PRIu64 " .. %" PRIu64 " ns", a, b);
		break;
	case F_CLOCKID:
		capture_fact(cap, "clock resolution", "%" PRIu64 " ns", cur_u64(&c));
		break;
	case F_DIR_FORMAT:
		capture_fact(cap, "directory format", "%" PRIu64, cur_u64(&c));
		break;
	case F_COMPRESSED:
		for (int i = 0; i < 5; i++)
			v[i] = cur_u32(&c);
		capture_fact(cap, "compressed", "%s, level %u, ratio %u",
			     v[1] == 1 ? "zstd" : "unknown method", v[2], v[3]);
		break;
	case F_CLOCK_DATA: clock_data(pf, &c); break;
	default: return;
	}
	if (c.bad)
		notes_add(&cap->notes, HWT_NOTE_WARN, E_FEATURE, f->path, off,
			  "feature %u of the header is cut", id);
}
