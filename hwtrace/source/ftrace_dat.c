/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.dat, as trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) describe it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ftrace.h"
#include "tep.h"

#define MAX_OPTIONS 65536	/* of a file */
#define MAX_SECTIONS 4096	/* of options */

enum {	/* options of both versions */
	OPT_DONE, OPT_DATE, OPT_CPUSTAT, OPT_BUFFER, OPT_TRACECLOCK, OPT_UNAME, OPT_HOOK,
	OPT_OFFSET, OPT_CPUCOUNT, OPT_VERSION, OPT_PROCMAPS, OPT_TRACEID, OPT_TIME_SHIFT,
	OPT_GUEST, OPT_TSC2NSEC,
	/* only of version 7: where a section is */
	OPT_HEADER_INFO = 16, OPT_FTRACE_EVENTS, OPT_EVENT_FORMATS, OPT_KALLSYMS, OPT_PRINTK,
	OPT_CMDLINES, OPT_BUFFER_TEXT, OPT_END
};

#define SECTION_FLYRECORD 3
#define SECTION_PACKED 1u	/* flag of a section */

struct dat {
	struct ftrace *ft;
	const struct file *f;
	uint32_t file;
	uint32_t page_size;
	unsigned noptions;
	uint64_t at[OPT_END];		/* of the sections, 0: none */
	const char *clock;		/* NULL: not told */
	struct vec visited;		/* uint64_t: sections of options */
	struct vec bufs6;		/* struct buf6: instances of version 6 */
	uint64_t bytes;			/* of data of all CPUs so far */
	bool told_shared;
};

struct buf6 { uint64_t off; const char *name; };

/* A section of version 7, unpacked. */
struct section {
	struct cur c;
	uint16_t id, flags;
	uint8_t *heap;
};

static void note(struct dat *d, unsigned id, unsigned severity, uint64_t off, const char *what)
{
	notes_add(&d->ft->c->notes, severity, id, d->ft->path, off, "%s", what);
}

static void cut(struct dat *d, uint64_t off, const char *what)
{
	notes_add(&d->ft->c->notes, HWT_NOTE_CUT, E_FT_CUT, d->ft->path, off,
		  "%s, from here on: the file ends in it, at %" PRIu64, what, d->f->size);
}

/* A NUL-terminated string at @c, as long as the rest. */
static const char *string(struct cur *c)
{
	const uint8_t *end = memchr(c->p, 0, cur_left(c));

	return cur_str(c, end ? (size_t)(end - c->p) + 1 : cur_left(c) + 1);
}

/* @n bytes at @c, fewer where they end; *n is what is there. */
static const char *take(struct dat *d, struct cur *c, uint64_t *n, const char *what)
{
	if (*n > cur_left(c)) {
		cut(d, cur_pos(c), what);
		*n = cur_left(c);
		c->bad = true;
	}
	return (const char *)cur_take(c, (size_t)*n);
}

/* header_page and header_event. */
static void read_headers(struct dat *d, struct cur *c)
{
	uint64_t off, n;
	const char *name = string(c), *p;

	n = cur_u64(c);
	off = cur_pos(c);
	p = take(d, c, &n, "the layout of the pages");
	if (!name || strcmp(name, "header_page") || c->bad)
		n = 0;
	ftrace_header_page(d->ft, p, (size_t)n, off);
	string(c);
	n = cur_u64(c);
	take(d, c, &n, "the layout of the records");
}

/* @off: where they begin in the file. */
static void read_formats(struct dat *d, struct cur *c, bool systems, uint64_t off)
{
	trace_fmt_read(d->ft->fmt, c, systems, &d->ft->nformats);
	if (c->bad)
		notes_add(&d->ft->c->notes, HWT_NOTE_CUT, E_FT_FORMATS, d->ft->path, off,
			  "formats of %s, which begin here, are cut: %u were read, and the file "
			  "ends at %" PRIu64, systems ? "events" : "the tracer's own events",
			  d->ft->nformats, d->f->size);
}

static void read_printk(struct dat *d, const char *p, size_t n)
{
	if (n && !d->ft->printk)
		printk_new(&d->ft->printk, p, n);
}

static void text_fact(struct dat *d, const char *key, const uint8_t *p, size_t n)
{
	char text[256];

	n = strnlen((const char *)p, n < sizeof(text) - 1 ? n : sizeof(text) - 1);
	memcpy(text, p, n);
	text[n] = 0;
	if (n)
		capture_fact(d->ft->c, key, "%s", text);
}

/* A number as strtoll() takes it, in nanoseconds per @unit. */
static int64_t read_number(const uint8_t *p, size_t n, int64_t unit)
{
	char text[64];
	int64_t v;

	n = strnlen((const char *)p, n < sizeof(text) - 1 ? n : sizeof(text) - 1);
	memcpy(text, p, n);
	text[n] = 0;
	v = strtoll(text, NULL, 0);
	return __builtin_mul_overflow(v, unit, &v) ? 0 : v;
}

static void add_data(struct dat *d, int32_t cpu, uint64_t off, uint64_t size, bool packed)
{
	struct ftrace_cpu *s;

	if (!size)
		return;
	/* the number of chunks, which stands before them, is not counted */
	if (packed && size <= UINT64_MAX - 4)
		size += 4;
	if (off > d->f->size || size > d->f->size - off) {
		notes_add(&d->ft->c->notes, HWT_NOTE_CUT, E_FT_CUT, d->ft->path, d->f->size,
			  "cpu %d: %" PRIu64 " bytes at %" PRIu64 " are declared, the file has %"
			  PRIu64, cpu, size, off, d->f->size);
		if (off >= d->f->size)
			return;
		size = d->f->size - off;
	}
	/* a damaged table may name some bytes twice; more would be as many walks over one file */
	if (size > 2 * d->f->size - d->bytes) {
		if (!d->told_shared)
			notes_add(&d->ft->c->notes, HWT_NOTE_WARN, E_FT_SECTION, d->ft->path, off,
				  "cpu %d: its data is said to be that of other CPUs, too, and is "
				  "left out, as that of later ones like it", cpu);
		d->told_shared = true;
		return;
	}
	d->bytes += size;
	s = ftrace_add_cpu(d->ft);
	if (!s) {
		note(d, E_FT_SECTION, HWT_NOTE_WARN, off, "too many CPUs: their data is left out");
		return;
	}
	s->cpu = cpu;
	s->p = d->f->p + off;
	s->size = size;
	s->off = off;
	s->file = d->file;
	s->packed = packed;
}

/* The header of a section, and whether it is packed. */
static bool section_head(struct dat *d, struct section *s, uint64_t off)
{
	uint64_t size;

	s->c = cur_new(d->f->p, (size_t)d->f->size, d->ft->swap);
	cur_skip(&s->c, off < d->f->size ? (size_t)off : (size_t)d->f->size);
	s->id = cur_u16(&s->c);
	s->flags = cur_u16(&s->c);
	cur_u32(&s->c);		/* its name */
	size = cur_u64(&s->c);
	if (s->c.bad) {
		notes_add(&d->ft->c->notes, off > d->f->size ? HWT_NOTE_WARN : HWT_NOTE_CUT,
			  E_FT_SECTION, d->ft->path, off, "a section should begin here, the "
			  "file ends at %" PRIu64, d->f->size);
		return false;
	}
	if (size > cur_left(&s->c)) {
		cut(d, off, "a section");
		return true;
	}
	s->c.end = s->c.p + size;
	return true;
}

/* Opens section @id at @off; s->heap is the caller's. False (noted): it can not be read. */
static bool section_open(struct dat *d, struct section *s, uint64_t off, unsigned id)
{
	uint32_t packed, size;
	const uint8_t *p;

	*s = (struct section){ 0 };
	if (!section_head(d, s, off))
		return false;
	if (s->id != id) {
		notes_add(&d->ft->c->notes, HWT_NOTE_WARN, E_FT_SECTION, d->ft->path, off,
			  "section %u where %u was declared", s->id, id);
		return false;
	}
	if (!(s->flags & SECTION_PACKED)) {
		s->c = cur_new(s->c.p, cur_left(&s->c), d->ft->swap);
		return true;
	}
	packed = cur_u32(&s->c);
	size = cur_u32(&s->c);
	p = cur_take(&s->c, packed);
	if (!p || !size || size > FTRACE_SECTION_MAX) {
		notes_add(&d->ft->c->notes, HWT_NOTE_WARN, E_FT_PACKED, d->ft->path, off,
			  "section %u: its compressed size or its size (%u) can not be", id, size);
		return false;
	}
	s->heap = malloc(size);
	if (!s->heap || unpack(d->ft->pack, s->heap, size, p, packed)) {
		notes_add(&d->ft->c->notes, HWT_NOTE_WARN, E_FT_PACKED, d->ft->path, off,
			  "section %u can not be unpacked", id);
		free(s->heap);
		s->heap = NULL;
		return false;
	}
	s->c = cur_new(s->heap, size, d->ft->swap);
	return true;
}

/* A buffer of version 7. */
static void read_buffer(struct dat *d, struct cur c, uint64_t off)
{
	uint64_t at = cur_u64(&c), data, size;
	const char *name = string(&c), *clock = string(&c);
	uint32_t page = cur_u32(&c), n = cur_u32(&c);
	struct section s;

	if (c.bad || !name || !clock) {
		note(d, E_FT_SECTION, HWT_NOTE_WARN, off, "the description of a buffer is cut");
		return;
	}
	if (!section_head(d, &s, at))
		return;
	if (s.id != SECTION_FLYRECORD) {
		note(d, E_FT_SECTION, HWT_NOTE_WARN, at, "a buffer's data is of another kind");
		return;
	}
	if (!ftrace_add_buf(d->ft, name, ftrace_clock_name(d->ft, clock, strlen(clock)),
			    page ? page : d->page_size)) {
		note(d, E_FT_SECTION, HWT_NOTE_WARN, off, "too many buffers");
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t cpu = cur_u32(&c);

		data = cur_u64(&c);
		size = cur_u64(&c);
		if (c.bad) {
			note(d, E_FT_SECTION, HWT_NOTE_WARN, off, "the table of CPUs is cut");
			return;
		}
		add_data(d, cpu <= INT32_MAX ? (int32_t)cpu : HWT_NONE, data, size,
			 s.flags & SECTION_PACKED);
	}
}

static void read_tsc(struct dat *d, struct cur c)
{
	uint32_t mult = cur_u32(&c), shift = cur_u32(&c);
	uint64_t offset = cur_u64(&c);

	/* what the offset is for is not described; trace-cmd report 3.1 does not use it either */
	if (c.bad || !mult || shift > 63) {
		note(d, E_FT_CLOCK, HWT_NOTE_WARN, HWT_NO_OFF,
		     "the conversion of TSC to nanoseconds can not be used");
		return;
	}
	d->ft->tsc = (struct time_map){ .mult = mult, .shift = (uint16_t)shift };
	capture_fact(d->ft->c, "tsc to ns", "mult %u, shift %u, offset %" PRIu64, mult, shift,
		     offset);
}

/* Takes option @id, its bytes at @c. */
static void option(struct dat *d, unsigned id, struct cur c, uint64_t off, bool v7)
{
	struct ftrace *ft = d->ft;
	size_t n = cur_left(&c);
	struct buf6 *b;

	switch (id) {
	case OPT_DATE:
		text_fact(d, "date offset", c.p, n);
		break;
	case OPT_CPUSTAT:
		ftrace_stats(ft, (const char *)c.p, n);
		break;
	case OPT_BUFFER:
		if (v7) {
			read_buffer(d, c, off);
			break;
		}
		b = d->bufs6.n < FTRACE_BUFS_MAX ? vec_push(&d->bufs6, sizeof(*b)) : NULL;
		if (b) {
			b->off = cur_u64(&c);
			b->name = arena_strn(&ft->c->arena, (const char *)c.p, cur_left(&c));
		}
		break;
	case OPT_TRACECLOCK:
		if (!d->clock)
			d->clock = ftrace_clock_name(ft, (const char *)c.p, n);
		break;
	case OPT_UNAME:
		ftrace_uname(ft, (const char *)c.p, n);
		break;
	case OPT_OFFSET:
		ft->offset = read_number(c.p, n, 1);
		capture_fact(ft->c, "offset", "%" PRId64 " ns", ft->offset);
		break;
	case OPT_VERSION:
		text_fact(d, "recorder", c.p, n);
		break;
	case OPT_TRACEID:
		capture_fact(ft->c, "trace id", "0x%" PRIx64, cur_u64(&c));
		break;
	case OPT_TIME_SHIFT:
		note(d, E_FT_CLOCKS, HWT_NOTE_INFO, off, "this is the trace of a guest; its "
		     "times are left as the guest took them, not put on the host's clock");
		break;
	case OPT_TSC2NSEC:
		read_tsc(d, c);
		break;
	case OPT_BUFFER_TEXT:
		note(d, E_FT_TEXT, HWT_NOTE_WARN, off,
		     "a buffer of a latency tracer holds text only, and is left out");
		break;
	default:
		if (id >= OPT_HEADER_INFO && id < OPT_END && v7 && !d->at[id])
			d->at[id] = cur_u64(&c);
	}
}

/* Options up to the last one. Of version 7, returns where more of them are; else 0. */
static uint64_t read_options(struct dat *d, struct cur *c, bool v7, uint64_t base)
{
	while (d->noptions++ < MAX_OPTIONS) {
		uint64_t off = base + cur_pos(c);
		unsigned id = cur_u16(c);
		uint32_t n;
		const uint8_t *p;

		if (!id && !v7)
			return 0;
		n = cur_u32(c);
		p = cur_take(c, n);
		if (!p) {
			cut(d, off, "the options");
			return 0;
		}
		if (!id) {
			struct cur next = cur_new(p, n, c->swap);

			return cur_u64(&next);
		}
		option(d, id, cur_new(p, n, c->swap), off, v7);
	}
	note(d, E_FT_SECTION, HWT_NOTE_WARN, base, "too many options");
	c->bad = true;
	return 0;
}

/* True if this section of options was not read yet. */
static bool visit(struct dat *d, uint64_t off)
{
	const uint64_t *v = d->visited.v;
	uint64_t *slot;

	for (size_t i = 0; i < d->visited.n; i++)
		if (v[i] == off)
			return false;
	slot = d->visited.n < MAX_SECTIONS ? vec_push(&d->visited, sizeof(*slot)) : NULL;
	if (slot)
		*slot = off;
	return slot;
}

/* The sections that options point to: texts and formats. */
static void read_sections(struct dat *d)
{
	static const uint8_t order[] = { OPT_HEADER_INFO, OPT_FTRACE_EVENTS, OPT_EVENT_FORMATS,
		OPT_KALLSYMS, OPT_PRINTK, OPT_CMDLINES };

	for (size_t i = 0; i < sizeof(order); i++) {
		unsigned id = order[i];
		struct section s;
		const char *p;
		uint64_t n;

		if (!d->at[id] || !section_open(d, &s, d->at[id], id))
			continue;
		switch (id) {
		case OPT_HEADER_INFO:
			read_headers(d, &s.c);
			break;
		case OPT_FTRACE_EVENTS:
		case OPT_EVENT_FORMATS:
			read_formats(d, &s.c, id == OPT_EVENT_FORMATS, d->at[id]);
			break;
		default:
			n = id == OPT_CMDLINES ? cur_u64(&s.c) : cur_u32(&s.c);
			p = take(d, &s.c, &n, "a list of names");
			if (id == OPT_KALLSYMS)
				ftrace_kallsyms(d->ft, p, (size_t)n);
			else if (id == OPT_PRINTK)
				read_printk(d, p, (size_t)n);
			else
				ftrace_cmdlines(d->ft, p, (size_t)n);
		}
		free(s.heap);
	}
}

static int read_v7(struct dat *d, struct cur *c, struct hwt_diag *diag)
{
	const char *name = string(c), *version = string(c);
	uint64_t off = cur_u64(c);
	struct section s;

	if (c->bad || !name || !version)
		return diag_set(diag, -HWT_E_FORMAT, E_FT_CUT, d->ft->path, d->f->size,
				"the file ends in its header");
	d->ft->pack = !strcmp(name, "zstd") ? UNPACK_ZSTD : !strcmp(name, "zlib") ? UNPACK_ZLIB :
		!strcmp(name, "none") ? UNPACK_NONE : UNPACK_UNKNOWN;
	if (d->ft->pack == UNPACK_UNKNOWN)
		notes_add(&d->ft->c->notes, HWT_NOTE_WARN, E_FT_PACKED, d->ft->path, HWT_NO_OFF,
			  "compression \"%.40s\" is not known", name);
	capture_fact(d->ft->c, "compression", "%s", name);
	while (off && visit(d, off) && section_open(d, &s, off, 0)) {
		uint64_t next = read_options(d, &s.c, true, s.heap ? off : off + 16);

		free(s.heap);
		off = next;
	}
	read_sections(d);
	return 0;
}

/* Behind the options, or in the place that an instance has: what kind of data, then where. */
static void read_flyrecord(struct dat *d, struct cur *c, const char *name, uint32_t ncpus)
{
	struct cur table, clock;
	uint64_t n;
	const char *text, *kind = string(c);

	if (kind && !strcmp(kind, "latency  ")) {
		note(d, E_FT_TEXT, HWT_NOTE_WARN, cur_pos(c),
		     "a latency tracer's trace is text only, and is left out");
		return;
	}
	if (!kind || strcmp(kind, "flyrecord")) {
		note(d, E_FT_SECTION, HWT_NOTE_WARN, cur_pos(c), "no data where it was declared");
		return;
	}
	table = *c;
	cur_skip(c, (size_t)ncpus * 16);
	clock = *c;
	n = cur_u64(&clock);
	text = n && n <= cur_left(&clock) ? (const char *)cur_take(&clock, (size_t)n) : NULL;
	if (text)
		d->clock = ftrace_clock_name(d->ft, text, (size_t)n);
	if (!ftrace_add_buf(d->ft, name, d->clock ? d->clock : "local", d->page_size)) {
		note(d, E_FT_SECTION, HWT_NOTE_WARN, cur_pos(c), "too many buffers");
		return;
	}
	for (uint32_t i = 0; i < ncpus; i++) {
		uint64_t off = cur_u64(&table), size = cur_u64(&table);

		if (table.bad) {
			cut(d, cur_pos(&table), "the table of CPUs");
			return;
		}
		add_data(d, (int32_t)i, off, size, false);
	}
}

static void read_v6(struct dat *d, struct cur *c)
{
	const char *p, *kind;
	struct cur look;
	uint32_t ncpus;
	uint64_t n;

	read_headers(d, c);
	read_formats(d, c, false, cur_pos(c));
	if (!c->bad)
		read_formats(d, c, true, cur_pos(c));
	if (c->bad)
		return;
	n = cur_u32(c);
	p = take(d, c, &n, "kallsyms");
	ftrace_kallsyms(d->ft, p, (size_t)n);
	n = cur_u32(c);
	p = take(d, c, &n, "the formats of trace_printk");
	read_printk(d, p, (size_t)n);
	n = cur_u64(c);
	p = take(d, c, &n, "the names of tasks");
	ftrace_cmdlines(d->ft, p, (size_t)n);
	ncpus = cur_u32(c);
	if (c->bad)
		cut(d, d->f->size, "what stands before the data");
	else if (ncpus > FTRACE_CPUS_MAX)
		note(d, E_FT_SECTION, HWT_NOTE_WARN, cur_pos(c), "too many CPUs");
	if (c->bad || ncpus > FTRACE_CPUS_MAX)
		return;
	look = *c;
	kind = string(&look);
	if (kind && !strcmp(kind, "options  ")) {
		*c = look;
		read_options(d, c, false, 0);
	}
	if (!c->bad)
		read_flyrecord(d, c, "", ncpus);
	for (size_t i = 0; i < d->bufs6.n; i++) {
		const struct buf6 *b = (const struct buf6 *)d->bufs6.v + i;

		look = cur_new(d->f->p, (size_t)d->f->size, c->swap);
		cur_skip(&look, b->off < d->f->size ? (size_t)b->off : (size_t)d->f->size);
		read_flyrecord(d, &look, b->name, ncpus);
	}
}

static int read_all(struct dat *d, struct hwt_diag *diag)
{
	struct cur c = cur_new(d->f->p, (size_t)d->f->size, false);
	const char *version;
	unsigned number;
	bool big;
	int rc;

	cur_skip(&c, 10);
	version = string(&c);
	big = cur_u8(&c);
	d->ft->swap = c.swap = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	d->ft->long_size = cur_u8(&c) == 4 ? 4 : 8;
	d->page_size = cur_u32(&c);
	if (!version || c.bad)
		return diag_set(diag, -HWT_E_FORMAT, E_FT_CUT, d->ft->path, d->f->size,
				"the file ends in its header");
	number = (unsigned)strtoul(version, NULL, 10);
	if (number != 6 && number != 7)
		return diag_set(diag, -HWT_E_FORMAT, E_FT_HEADER, d->ft->path, 10,
				"version \"%.20s\" of trace.dat; known are 6 and 7", version);
	capture_fact(d->ft->c, "version", "%u", number);
	rc = trace_fmt_empty(&d->ft->fmt, big, d->ft->long_size);
	if (rc)
		return diag_set(diag, rc, 3, d->ft->path, HWT_NO_OFF, "out of memory");
	ftrace_header_page(d->ft, NULL, 0, HWT_NO_OFF);
	if (number == 7)
		return read_v7(d, &c, diag);
	read_v6(d, &c);
	return 0;
}

int ftrace_dat(struct ftrace *ft, const struct file *f, uint32_t file, struct hwt_diag *diag)
{
	struct dat d = { .ft = ft, .f = f, .file = file };
	int rc = read_all(&d, diag);

	free(d.visited.v);
	free(d.bufs6.v);
	return rc;
}
