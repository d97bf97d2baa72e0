/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace.ini: sections of lines, each with a checksum as its last line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <hwtrace/abi.h>

#include "../base/crc.h"
#include "../image/image.h"
#include "../time/clock.h"
#include "native.h"

struct reader {
	struct native *n;
	const struct ini *ini;
	uint64_t base;		/* offset of the section in the file */
};

static struct notes *notes(struct reader *r)
{
	return &r->n->c->notes;
}

static void bad(struct reader *r, const struct ini_item *it)
{
	r->n->wrong = true;
	notes_add(notes(r), HWT_NOTE_WARN, E_NAT_VALUE, r->n->ini_path, r->base + it->off,
		  "[%.40s] %.40s can not be \"%.60s\"", it->section, it->key, it->value);
}

static bool s32(const char *s, int32_t *out)
{
	bool minus = *s == '-';
	uint64_t v;

	if (!ini_u64(s + minus, &v) || v > (uint64_t)INT32_MAX + minus)
		return false;
	*out = minus ? (int32_t)-(int64_t)v : (int32_t)v;
	return true;
}

static bool num(const char *s, uint64_t max, uint64_t *out)
{
	return ini_u64(s, out) && *out <= max;
}

/* Takes the next of the words that blanks separate off *@s. False: none, or too long. */
static bool next_word(const char **s, char *buf, size_t size)
{
	size_t n;

	*s += strspn(*s, " ");
	n = strcspn(*s, " ");
	if (!n || n >= size)
		return false;
	memcpy(buf, *s, n);
	buf[n] = 0;
	*s += n;
	if (**s)
		++*s;
	return true;
}

static bool next_s32(const char **s, int32_t *out)
{
	char w[16];

	return next_word(s, w, sizeof(w)) && s32(w, out);
}

static bool next_u64(const char **s, uint64_t *out)
{
	char w[32];

	return next_word(s, w, sizeof(w)) && ini_u64(w, out);
}

/* "-": none. */
static bool build_id(const char *s, uint8_t id[20], uint8_t *n)
{
	size_t len = strlen(s);

	*n = 0;
	if (!strcmp(s, "-"))
		return true;
	if (!len || len % 2 || len > 40 || strspn(s, "0123456789abcdef") != len)
		return false;
	for (size_t i = 0; i < len; i++) {
		uint8_t d = (uint8_t)(s[i] <= '9' ? s[i] - '0' : s[i] - 'a' + 10);

		id[i / 2] = (uint8_t)(i & 1 ? id[i / 2] | d : d << 4);
	}
	*n = (uint8_t)(len / 2);
	return true;
}

/* --- sections --- */

static int sec_hwtrace(struct reader *r, const struct ini_item *it)
{
	uint64_t v;

	if (!strcmp(it->key, "writer"))
		capture_fact(r->n->c, "writer", "%s", it->value);
	else if (strcmp(it->key, "version"))
		return 1;
	else if (!ini_u64(it->value, &v) || v > NATIVE_VERSION)
		notes_add(notes(r), HWT_NOTE_WARN, E_NAT_VERSION, r->n->ini_path,
			  r->base + it->off, "format version %.20s, known is %u", it->value,
			  NATIVE_VERSION);
	return 0;
}

static int sec_capture(struct reader *r, const struct ini_item *it)
{
	struct capture *c = r->n->c;
	const struct { const char *key, **to; } known[] = {
		{ "arch", &c->arch }, { "host", &c->host }, { "release", &c->release },
		{ "cmdline", &c->cmdline }, { "cpu", &c->cpu },
	};
	uint64_t pid;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(it->key, known[i].key)) {
			*known[i].to = it->value;
			return 0;
		}
	capture_fact(c, it->key, "%s", it->value);
	if (!strcmp(it->key, "clock_error"))
		r->n->clock_error = strtoull(it->value, NULL, 10);
	if (!strcmp(it->key, "scope"))
		native_scope(r->n, it->value);
	if (!strcmp(it->key, "process") && ini_u64(it->value, &pid) && pid <= INT32_MAX)
		c->scope.pid = (int32_t)pid;
	if (!strcmp(it->key, "recorder") && !strcmp(it->value, "model")) {
		capture_fact(c, "simulation", "no trace hardware was involved");
		image_set_stepped(c->image);
	}
	return 0;
}

static int sec_clock(struct reader *r, const struct ini_item *it)
{
	struct capture *c = r->n->c;
	uint64_t v;

	if (!strcmp(it->key, "base")) {
		capture_base(c, it->value);
	} else if (!strcmp(it->key, "counter")) {
		r->n->counter_cs = strcmp(it->value, "tsc") != 0;
		c->counter = (uint8_t)time_clock_of(it->value);
		capture_fact(c, "counter", "%s", it->value);
	} else if (!strcmp(it->key, "wall")) {
		if (strcmp(it->value, "0"))
			capture_fact(c, "wall clock", "base %s%s ns", *it->value == '-' ? "" : "+",
				     it->value);
	} else if (!ini_u64(it->value, &v)) {
		return 1;
	} else if (!strcmp(it->key, "frequency")) {
		r->n->hz = v;
		r->n->hz_ppm = NATIVE_HZ_PPM;
		if (v)
			capture_fact(c, "counter frequency", "%" PRIu64 " Hz", v);
	} else if (!strcmp(it->key, "mult") && v <= UINT32_MAX) {
		c->tsc.mult = (uint32_t)v;
	} else if (!strcmp(it->key, "shift") && v < 64) {
		c->tsc.shift = (uint16_t)v;
	} else if (!strcmp(it->key, "zero")) {
		c->tsc.zero = v;
	} else if (!strcmp(it->key, "cycles")) {
		c->tsc.cycles = v;
		c->tsc.cap_short = true;
	} else if (!strcmp(it->key, "mask")) {
		c->tsc.mask = v;
		c->tsc.cap_short = true;
	} else {
		return 1;
	}
	return 0;
}

static int sec_tasks(struct reader *r, const struct ini_item *it)
{
	const char *s = it->value;
	int32_t pid, tid;
	int rc;

	if (strcmp(it->key, "task") || !next_s32(&s, &pid) || !next_s32(&s, &tid))
		return 1;
	rc = machine_task(r->n->c->machine, pid, tid);
	if (!rc && *s)
		rc = machine_set_comm(r->n->c->machine, tid, s, strlen(s));
	return rc;
}

static int sec_aspaces(struct reader *r, const struct ini_item *it)
{
	const char *s = it->value;
	uint64_t id;
	int32_t pid;

	if (strcmp(it->key, "aspace") || !next_u64(&s, &id) || !next_s32(&s, &pid) ||
	    pid == HWT_NONE)
		return 1;
	return machine_set_aspace(r->n->c->machine, id, pid);
}

static int sec_commits(struct reader *r, const struct ini_item *it)
{
	const struct hwt_abi_event *e;
	const char *s = it->value;
	char name[64];
	uint64_t addr;
	int rc;

	if (!strcmp(it->key, "symbols")) {
		r->n->c->commit_by = it->value;
		return 0;
	}
	/* of another kind of mark: nothing is known of it */
	if (!strcmp(it->key, "marks")) {
		r->n->c->commit_marks = !strcmp(it->value, "ptwrite");
		return 0;
	}
	if (strcmp(it->key, "commit") || !next_word(&s, name, sizeof(name)) || !next_u64(&s, &addr))
		return 1;
	e = hwt_abi_event_by_name(name);
	if (!e)
		return 0;	/* of a later list of events */
	rc = capture_add_commit(r->n->c, e->id, addr);
	return rc == -E2BIG ? 1 : rc;
}

static int sec_maps(struct reader *r, const struct ini_item *it)
{
	struct hwt_map m = { 0 };
	const char *s = it->value;
	char flags[8], id[48];
	uint64_t space;

	if (strcmp(it->key, "map") || !next_s32(&s, &m.pid) || !next_u64(&s, &m.addr) ||
	    !next_u64(&s, &m.size) || !next_u64(&s, &m.file_off) || !next_u64(&s, &m.from) ||
	    !next_u64(&s, &space) || space > UINT32_MAX || !next_word(&s, flags, sizeof(flags)) ||
	    !next_word(&s, id, sizeof(id)) || !build_id(id, m.build_id, &m.build_id_size) ||
	    !m.size || m.size > UINT64_MAX - m.addr)
		return 1;
	m.space = (uint32_t)space;
	m.raw = strchr(flags, 'r') != NULL;
	m.missing = strchr(flags, 'm') != NULL;
	m.path = s;
	return image_add_map(r->n->c->image, &m);
}

static const char *value(struct reader *r, const char *section, const char *key)
{
	const struct ini_item *it = ini_find(r->ini, section, key);

	return it ? it->value : NULL;
}

/* False if it stands there and is no number. */
static bool opt_s32(struct reader *r, const char *section, const char *key, int32_t *out)
{
	const char *v = value(r, section, key);

	return !v || s32(v, out);
}

static bool opt_num(struct reader *r, const char *section, const char *key, uint64_t max,
		    uint64_t *out)
{
	const char *v = value(r, section, key);

	return !v || num(v, max, out);
}

/* A name that stays in its folder. */
static bool plain(const char *name)
{
	return name && *name && *name != '.' && !strchr(name, '/') && strlen(name) < 80;
}

static int sec_buffer(struct reader *r)
{
	static const char *const framings[] = { "none", "memory", "tpiu" };
	const char *name = value(r, "buffer", "name"), *file = value(r, "buffer", "file");
	const char *framing = value(r, "buffer", "framing");
	struct native *n = r->n;
	int32_t cpu = HWT_NONE, pid = HWT_NONE, tid = HWT_NONE;
	uint64_t number = NATIVE_MAX_BUFS, units = 0, f = 0;
	struct trace_buf *b;

	while (framing && f < 3 && strcmp(framing, framings[f]))
		f++;
	if (!name || !plain(file) || f == 3 || n->c->nbufs >= NATIVE_MAX_BUFS ||
	    !opt_num(r, "buffer", "number", NATIVE_MAX_BUFS - 1, &number) ||
	    number >= NATIVE_MAX_BUFS || n->buf_of[number] >= 0 ||
	    !opt_num(r, "buffer", "units", NATIVE_MAX_UNITS, &units) ||
	    !opt_s32(r, "buffer", "cpu", &cpu) || !opt_s32(r, "buffer", "pid", &pid) ||
	    !opt_s32(r, "buffer", "tid", &tid))
		return 1;
	b = capture_add_buf(n->c, name);
	if (!b)
		return -ENOMEM;
	b->framing = (uint8_t)f;
	b->cpu = cpu;
	b->pid = pid;
	b->tid = tid;
	n->file_of[n->c->nbufs - 1] = file;
	n->units[n->c->nbufs - 1] = (uint32_t)units;
	n->buf_of[number] = (int64_t)n->c->nbufs - 1;
	return 0;
}

static unsigned proto_of(const char *name)
{
	unsigned p = HWT_PROTO_PT;

	while (native_proto(p) && (!name || strcmp(name, native_proto(p))))
		p++;
	return native_proto(p) ? p : HWT_PROTO_NONE;
}

/* "LOW-HIGH" of an address filter of PT. */
static bool add_filter(struct trace_cfg *g, const char *s, bool stop)
{
	const char *dash = strchr(s, '-');
	char lo[32];
	unsigned i = g->r.pt.nfilter;

	if (i >= 4 || !dash || dash - s >= (int)sizeof(lo))
		return false;
	snprintf(lo, sizeof(lo), "%.*s", (int)(dash - s), s);
	if (!ini_u64(lo, &g->r.pt.filter[i][0]) || !ini_u64(dash + 1, &g->r.pt.filter[i][1]))
		return false;
	g->r.pt.nfilter++;
	g->r.pt.filter_stop |= (uint8_t)(stop << i);
	return true;
}

static bool set_field(struct trace_cfg *g, const struct ini_item *it)
{
	const struct native_field *f;
	uint64_t v;

	for (unsigned i = 0; (f = native_field(g->proto, i)); i++) {
		if (strcmp(it->key, f->name))
			continue;
		if (!num(it->value, f->size == 4 ? UINT32_MAX : (1u << 8 * f->size) - 1, &v))
			return false;
		if (g->proto == HWT_PROTO_PT && !strcmp(f->name, "noretcomp"))
			g->r.pt.noretcomp = v != 0;
		else if (f->size == 1)
			*((uint8_t *)g + f->off) = (uint8_t)v;
		else if (f->size == 2)
			memcpy((char *)g + f->off, &(uint16_t){ (uint16_t)v }, 2);
		else
			memcpy((char *)g + f->off, &(uint32_t){ (uint32_t)v }, 4);
		return true;
	}
	if (g->proto == HWT_PROTO_PT && !strcmp(it->key, "filter"))
		return add_filter(g, it->value, false);
	return g->proto == HWT_PROTO_PT && !strcmp(it->key, "filter_stop") &&
		add_filter(g, it->value, true);
}

static int sec_unit(struct reader *r)
{
	static const char *const done[] = { "buffer", "proto", "name", "core", "cpu", "trace_id",
		"arch", "profile" };
	const char *core = value(r, "unit", "core"), *profile = value(r, "unit", "profile");
	uint64_t buf = NATIVE_MAX_BUFS, id = 0, arch = 0;
	struct trace_cfg g = { .cpu = HWT_NONE }, *slot;
	struct native *n = r->n;
	struct trace_buf *b;

	g.proto = (uint8_t)proto_of(value(r, "unit", "proto"));
	if (!g.proto || !opt_num(r, "unit", "buffer", NATIVE_MAX_BUFS - 1, &buf) ||
	    buf >= NATIVE_MAX_BUFS || n->buf_of[buf] < 0 ||
	    !opt_s32(r, "unit", "cpu", &g.cpu) || !opt_num(r, "unit", "trace_id", 0xff, &id) ||
	    !opt_num(r, "unit", "arch", 0xff, &arch))
		return 1;
	b = &n->c->bufs[n->buf_of[buf]];
	if (b->ncfgs >= NATIVE_MAX_UNITS)
		return 1;
	g.name = value(r, "unit", "name");
	g.core = core ? core : "";
	g.trace_id = (uint8_t)id;
	g.arch = (uint8_t)arch;
	g.profile = profile ? (uint8_t)*profile : 0;
	for (size_t i = 0, k; i < r->ini->n; i++) {
		const struct ini_item *it = &r->ini->v[i];

		for (k = 0; it->key && k < sizeof(done) / sizeof(done[0]); k++)
			if (!strcmp(it->key, done[k]))
				break;
		if (it->key && k == sizeof(done) / sizeof(done[0]) && !set_field(&g, it))
			bad(r, it);
	}
	slot = capture_add_cfg(n->c, b);
	if (!slot)
		return -ENOMEM;
	*slot = g;
	return 0;
}

static int sec_image(struct reader *r)
{
	const char *path = value(r, "image", "path"), *file = value(r, "image", "file");
	const char *id_text = value(r, "image", "build_id"), *at;
	uint64_t size = UINT64_MAX, sum = UINT64_MAX;
	uint8_t id[20], n = 0;

	if (!path || !plain(file) || (id_text && !build_id(id_text, id, &n)) ||
	    !opt_num(r, "image", "size", UINT64_MAX, &size) || size == UINT64_MAX ||
	    !opt_num(r, "image", "sum", UINT32_MAX, &sum) || sum == UINT64_MAX)
		return 1;
	at = native_path(r->n, "images", file);
	if (!at)
		return -ENOMEM;
	return image_add_copy(r->n->c->image, &(struct image_copy){ .path = path, .file = at,
		.size = size, .crc = (uint32_t)sum, .id = id, .id_size = n });
}

/* "file=SIZE NAME": what was there when the capture was closed. */
static int sec_end(struct reader *r, const struct ini_item *it)
{
	const char *s = it->value, *path;
	uint64_t want, have;
	struct stat st;

	if (!strcmp(it->key, "closed")) {
		r->n->closed = true;
		return 0;
	}
	if (strcmp(it->key, "file") || !next_u64(&s, &want) || strstr(s, "..") || *s == '/')
		return 1;
	path = native_path(r->n, "", s);
	if (!path)
		return -ENOMEM;
	have = stat(path, &st) || !S_ISREG(st.st_mode) ? 0 : (uint64_t)st.st_size;
	if (have < want)
		notes_add(notes(r), HWT_NOTE_CUT, E_NAT_CUT, path, have,
			  "%" PRIu64 " of %" PRIu64 " bytes are there", have, want);
	return 0;
}

/* Sections whose lines stand for themselves, and those that are one thing. */
static const struct {
	const char *name;
	int (*line)(struct reader *r, const struct ini_item *it);
	int (*whole)(struct reader *r);
} sections[] = {
	{ "hwtrace", sec_hwtrace, NULL }, { "capture", sec_capture, NULL },
	{ "clock", sec_clock, NULL }, { "tasks", sec_tasks, NULL }, { "maps", sec_maps, NULL },
	{ "aspaces", sec_aspaces, NULL }, { "commits", sec_commits, NULL },
	{ "end", sec_end, NULL },
	{ "buffer", NULL, sec_buffer }, { "unit", NULL, sec_unit }, { "image", NULL, sec_image },
};
#define NSECTIONS (sizeof(sections) / sizeof(sections[0]))

static int other_line(struct reader *r, const struct ini_item *it)
{
	char key[128];

	snprintf(key, sizeof(key), "%s.%s", it->section, it->key);
	capture_fact(r->n->c, key, "%s", it->value);
	return 0;
}

/* All lines are of one section, the header is the first. */
static int use_section(struct reader *r)
{
	const struct ini *ini = r->ini;
	size_t k = 0;
	int rc;

	while (k < NSECTIONS && ini->n && strcmp(sections[k].name, ini->v[0].section))
		k++;
	/* the text of a value is in the arena and ours; a header has none */
	for (size_t i = 0; i < ini->n; i++)
		if (ini->v[i].key)
			native_unescape((char *)ini->v[i].value);
	if (k < NSECTIONS && sections[k].whole) {
		rc = sections[k].whole(r);
		if (rc > 0) {
			r->n->wrong = true;
			notes_add(notes(r), HWT_NOTE_WARN, E_NAT_VALUE, r->n->ini_path, r->base,
				  "a section [%.40s] lacks a value, or has one that can not be",
				  ini->v[0].section);
		}
		return rc < 0 ? rc : 0;
	}
	for (size_t i = 0; i < ini->n; i++) {
		if (!ini->v[i].key)
			continue;
		rc = k < NSECTIONS ? sections[k].line(r, &ini->v[i]) : other_line(r, &ini->v[i]);
		if (rc < 0)
			return rc;
		if (rc)
			bad(r, &ini->v[i]);
	}
	return 0;
}

static int take(struct reader *r, const uint8_t *p, size_t n)
{
	struct ini *ini = arena_alloc(&r->n->c->arena, sizeof(*ini));
	int rc = !ini ? -ENOMEM :
		ini_parse(ini, &r->n->c->arena, r->n->ini_path, p, n, notes(r));

	if (rc == -EFBIG) {
		notes_add(notes(r), HWT_NOTE_WARN, E_NAT_INI, r->n->ini_path, r->base,
			  "a section of %zu bytes", n);
		r->n->wrong = true;
		return 0;
	}
	r->ini = ini;
	return rc ? rc : use_section(r);
}

/* Length of the line at @p with its end; 0: none is left. */
static size_t line_size(const uint8_t *p, size_t n)
{
	const uint8_t *nl = n ? memchr(p, '\n', n) : NULL;

	return nl ? (size_t)(nl - p) + 1 : n;
}

/*
 * The section at @c ends with its checksum, at the next header, or with the file. Without a
 * checksum it was changed by hand, but for the last one: that one is cut.
 */
static int section(struct reader *r, struct cur *c)
{
	const uint8_t *p = c->p, *line;
	size_t len, n = 0;
	char text[32];
	uint64_t crc;

	r->base = cur_pos(c);
	for (;;) {
		line = c->p;
		len = line_size(c->p, cur_left(c));
		if (!len || (n && *line == '['))
			break;
		cur_skip(c, len);
		if (len > 4 && !memcmp(line, "crc=", 4))
			break;
		n += len;
	}
	if (len && *line != '[') {
		snprintf(text, sizeof(text), "%.*s", len > 5 ? (int)len - 5 : 0, line + 4);
		if (line[len - 1] == '\n' && ini_u64(text, &crc) && crc == crc32c_add(0, p, n))
			return take(r, p, n);
	} else if (len) {
		notes_add(notes(r), HWT_NOTE_INFO, E_NAT_INI, r->n->ini_path, r->base,
			  "a section has no checksum");
		return take(r, p, n);
	}
	notes_add(notes(r), len ? HWT_NOTE_WARN : HWT_NOTE_CUT, E_NAT_INI, r->n->ini_path,
		  r->base, len ? "a section does not fit its checksum, it is left out" :
		  "the file ends in a section, it is left out");
	r->n->wrong = true;
	return 0;
}

int native_read_ini(struct native *n, const struct file *f)
{
	struct reader r = { .n = n };
	size_t size = (size_t)f->size;
	struct cur c;
	int rc = 0;

	/* after a power cut the file may have the length of what was appended, and zeroes there */
	while (size && !f->p[size - 1])
		size--;
	c = cur_new(f->p, size, false);
	while (!rc && cur_left(&c)) {
		size_t len = line_size(c.p, cur_left(&c));

		if (*c.p == '[') {
			rc = section(&r, &c);
			continue;
		}
		if (*c.p != '\n' && *c.p != '#' && *c.p != ';') {
			notes_add(&n->c->notes, HWT_NOTE_WARN, E_NAT_INI, n->ini_path, cur_pos(&c),
				  "a line of no section");
			n->wrong = true;
		}
		cur_skip(&c, len);
	}
	return rc;
}
