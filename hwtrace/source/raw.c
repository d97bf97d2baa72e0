/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a trace buffer with nothing around them. */
#include "raw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cs_guess.h"
#include "cs_unit.h"

#define PROBE 65536		/* bytes in which a PSB must be */
#define MAX_SOURCES 128		/* trace ids */

static int bad(const struct ini *ini, const struct ini_item *it, const char *must,
	       struct hwt_diag *diag)
{
	return diag_set(diag, -HWT_E_FORMAT, 85, ini->file, it->off,
			"line %u: %.40s=%.60s: must be %s", it->line, it->key, it->value, must);
}

static void unknown(struct capture *c, const struct ini *ini, const struct ini_item *it)
{
	notes_add(&c->notes, HWT_NOTE_WARN, 85, ini->file, it->off,
		  "line %u: key %.60s means nothing here", it->line, it->key);
}

static bool upto(const char *s, uint64_t max, uint64_t *out)
{
	return ini_u64(s, out) && *out <= max;
}

static int add_span(struct capture *c, struct trace_buf *b, struct file *f, struct hwt_diag *diag)
{
	struct trace_span *sp;

	if (capture_add_file(c, f))
		return diag_set(diag, -ENOMEM, 3, c->path, HWT_NO_OFF, "out of memory");
	sp = b ? capture_add_span(c, b) : NULL;
	if (!sp)
		return diag_set(diag, -ENOMEM, 3, c->path, HWT_NO_OFF, "out of memory");
	*sp = (struct trace_span){ .p = f->p, .size = f->size, .file = f,
		.time = HWT_TIME_UNKNOWN, .pid = HWT_NONE, .tid = HWT_NONE };
	return 0;
}

/* dump=FILE@ADDR[,OFFSET[,LENGTH]] */
static int add_dump(struct capture *c, const struct raw_config *cfg, const struct ini_item *it,
		    struct hwt_diag *diag)
{
	static const char form[] = "FILE@ADDRESS[,OFFSET[,LENGTH]]";
	const char *at = strrchr(it->value, '@'), *list = at ? at + 1 : "";
	struct cs_dump d = { .ini = cfg->ini.file, .ini_off = it->off };
	uint64_t v[3] = { 0, 0, 0 };
	char part[32], path[4096];
	unsigned n = 0;
	struct file *f;
	int rc;

	while (ini_list(&list, part, sizeof(part)))
		if (n == 3 || !ini_u64(part, &v[n++]))
			return bad(&cfg->ini, it, form, diag);
	if (!at || !n || at == it->value)
		return bad(&cfg->ini, it, form, diag);
	if (!cfg->dir)
		return 0;
	rc = snprintf(path, sizeof(path), "%s%s%.*s", *it->value == '/' ? "" : cfg->dir,
		      *it->value == '/' ? "" : "/", (int)(at - it->value), it->value);
	if (rc >= (int)sizeof(path))
		return bad(&cfg->ini, it, form, diag);
	rc = file_open(&f, path, diag);
	if (rc)
		return rc;
	d.path = path;
	d.file_size = f->size;
	d.addr = v[0];
	d.offset = v[1];
	d.size = v[2];
	rc = cs_add_dump(c, &d);
	file_close(f);
	return rc ? diag_set(diag, rc, 3, path, HWT_NO_OFF, "out of memory") : 0;
}

/* --- Intel PT --- */

bool raw_x86_cpu(struct trace_cfg *g, const char *s)
{
	static const uint16_t max[3] = { UINT16_MAX, UINT8_MAX, UINT8_MAX };
	uint64_t v[3] = { 0, 0, 0 };
	unsigned n = 0;

	while (*s) {
		size_t len = strcspn(s, "/");
		char part[16];

		if (n == 3 || !len || len >= sizeof(part))
			return false;
		memcpy(part, s, len);
		part[len] = 0;
		if (!upto(part, max[n], &v[n]))
			return false;
		n++;
		s += len;
		if (*s && !*++s)
			return false;
	}
	if (n < 2)
		return false;
	g->r.pt.family = (uint16_t)v[0];
	g->r.pt.model = (uint8_t)v[1];
	g->r.pt.stepping = (uint8_t)v[2];
	return true;
}

/* "0x1000-0x1fff", both included */
static bool add_filter(struct trace_cfg *g, const char *s, bool stop)
{
	unsigned n = g->r.pt.nfilter;
	const char *dash = strchr(s, '-');
	uint64_t lo, hi;
	char first[32];

	if (!dash || (size_t)(dash - s) >= sizeof(first) || n == 4)
		return false;
	memcpy(first, s, (size_t)(dash - s));
	first[dash - s] = 0;
	if (!ini_u64(first, &lo) || !ini_u64(dash + 1, &hi) || lo > hi)
		return false;
	g->r.pt.filter[n][0] = lo;
	g->r.pt.filter[n][1] = hi;
	g->r.pt.filter_stop |= (uint8_t)(stop << n);
	g->r.pt.nfilter++;
	return true;
}

enum pt_key { K_CPU, K_MTC, K_NOM, K_EAX, K_EBX, K_MULT, K_SHIFT, K_ZERO, K_NORETCOMP, K_FILTER,
	K_STOP, K_CPUNO, K_PID, K_TID, K_DUMP, K_COUNT };

static const struct { const char *name, *must; uint64_t max; } pt_keys[K_COUNT] = {
	[K_CPU] = { "cpu", "family/model[/stepping]", 0 },
	[K_MTC] = { "mtc_freq", "0 to 15", 15 },
	[K_NOM] = { "nom_freq", "0 to 255", 255 },
	[K_EAX] = { "cpuid_0x15_eax", "a 32-bit number", UINT32_MAX },
	[K_EBX] = { "cpuid_0x15_ebx", "a 32-bit number", UINT32_MAX },
	[K_MULT] = { "tsc_mult", "a 32-bit number", UINT32_MAX },
	[K_SHIFT] = { "tsc_shift", "0 to 63", 63 },
	[K_ZERO] = { "tsc_zero", "a number", UINT64_MAX },
	[K_NORETCOMP] = { "noretcomp", "0 or 1", 1 },
	[K_FILTER] = { "filter", "LOW-HIGH, at most 4", 0 },
	[K_STOP] = { "filter_stop", "LOW-HIGH, at most 4", 0 },
	[K_CPUNO] = { "cpu_number", "a CPU number", 65535 },
	[K_PID] = { "pid", "a process id", INT32_MAX },
	[K_TID] = { "tid", "a thread id", INT32_MAX },
	[K_DUMP] = { "dump", "", 0 },
};

static void pt_set(struct capture *c, struct trace_buf *b, struct trace_cfg *g, enum pt_key k,
		   uint64_t v)
{
	switch (k) {
	case K_MTC: g->r.pt.mtc_freq = (uint8_t)v; break;
	case K_NOM: g->r.pt.nom_freq = (uint8_t)v; break;
	case K_EAX: g->r.pt.cpuid_15_eax = (uint32_t)v; break;
	case K_EBX: g->r.pt.cpuid_15_ebx = (uint32_t)v; break;
	case K_MULT: c->tsc.mult = (uint32_t)v; break;
	case K_SHIFT: c->tsc.shift = (uint16_t)v; break;
	case K_ZERO: c->tsc.zero = v; break;
	case K_NORETCOMP: g->r.pt.noretcomp = v; break;
	case K_CPUNO: g->cpu = b->cpu = (int32_t)v; break;
	case K_PID: b->pid = (int32_t)v; break;
	case K_TID: b->tid = (int32_t)v; break;
	default: break;
	}
}

static int pt_item(struct capture *c, struct trace_buf *b, const struct raw_config *cfg,
		   const struct ini_item *it, struct hwt_diag *diag)
{
	struct trace_cfg *g = b->cfgs;
	uint64_t v = 0;
	unsigned k;
	bool ok;

	for (k = 0; k < K_COUNT && !ini_eq(pt_keys[k].name, it->key); k++)
		;
	switch (k) {
	case K_COUNT:
		unknown(c, &cfg->ini, it);
		return 0;
	case K_DUMP:
		return add_dump(c, cfg, it, diag);
	case K_CPU:
		ok = raw_x86_cpu(g, it->value);
		break;
	case K_FILTER:
	case K_STOP:
		ok = add_filter(g, it->value, k == K_STOP);
		break;
	default:
		ok = upto(it->value, pt_keys[k].max, &v);
		if (ok)
			pt_set(c, b, g, (enum pt_key)k, v);
	}
	return ok ? 0 : bad(&cfg->ini, it, pt_keys[k].must, diag);
}

static const uint8_t psb[16] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
	2, 0x82 };

int raw_read_pt(struct capture *c, struct file *f, const struct raw_config *cfg,
		struct hwt_diag *diag)
{
	struct trace_buf *b = capture_add_buf(c, "pt");
	struct trace_cfg *g = b ? capture_add_cfg(c, b) : NULL;
	int rc;

	c->format = "pt";
	c->arch = "x86_64";
	rc = add_span(c, g ? b : NULL, f, diag);
	if (rc)
		return rc;
	b->cpu = b->pid = b->tid = HWT_NONE;
	*g = (struct trace_cfg){ .core = "", .proto = HWT_PROTO_PT, .cpu = HWT_NONE };
	if (!f->size)
		return diag_set(diag, -HWT_E_FORMAT, 5, f->path, HWT_NO_OFF, "the file is empty");
	if (f->size < sizeof(psb) || !memmem(f->p, (size_t)f->size, psb, sizeof(psb)))
		notes_add(&c->notes, HWT_NOTE_WARN, 11, f->path, HWT_NO_OFF,
			  "no PSB in it: nothing can be decoded");
	for (size_t i = 0; i < cfg->ini.n && !rc; i++)
		if (cfg->ini.v[i].key)
			rc = pt_item(c, b, cfg, &cfg->ini.v[i], diag);
	if (rc)
		return rc;
	b->spans[0].pid = b->pid;
	b->spans[0].tid = b->tid;
	if (cfg->cpu && !raw_x86_cpu(g, cfg->cpu))
		return diag_set(diag, -EINVAL, 85, NULL, HWT_NO_OFF,
				"--cpu %.60s: must be family/model[/stepping]", cfg->cpu);
	if (time_map_valid(&c->tsc))
		capture_base(c, "tsc");
	if (g->r.pt.mtc_freq && !g->r.pt.cpuid_15_eax)
		notes_add(&c->notes, HWT_NOTE_INFO, 85, cfg->ini.file, HWT_NO_OFF,
			  "mtc_freq without cpuid_0x15_eax and _ebx: MTC packets give no time");
	return 0;
}

/* --- CoreSight --- */

static int cs_top(struct capture *c, struct trace_buf *b, const struct raw_config *cfg,
		  const struct ini_item *it, bool *framed, struct hwt_diag *diag)
{
	static const char *const names[] = { [FRAMING_NONE] = "none", [FRAMING_MEM] = "memory",
		[FRAMING_TPIU] = "tpiu" };

	if (ini_eq(it->key, "dump"))
		return add_dump(c, cfg, it, diag);
	if (!ini_eq(it->key, "framing")) {
		unknown(c, &cfg->ini, it);
		return 0;
	}
	for (uint8_t i = 0; i < 3; i++) {
		if (!ini_eq(it->value, names[i]))
			continue;
		b->framing = i;
		*framed = true;
		return 0;
	}
	return bad(&cfg->ini, it, "memory, tpiu or none", diag);
}

struct unit { struct trace_cfg *g; uint32_t seen; uint64_t id; const char *core; };

static int cs_item(struct capture *c, struct unit *u, const struct ini *ini,
		   const struct ini_item *it, struct hwt_diag *diag)
{
	uint64_t v = 0;
	uint32_t bit;

	if (ini_eq(it->key, "name")) {
		u->g->name = it->value;
	} else if (ini_eq(it->key, "core")) {
		u->core = it->value;
	} else if (ini_eq(it->key, "trace_id")) {
		if (!upto(it->value, 0x7f, &u->id))
			return bad(ini, it, "0 to 0x7f", diag);
		u->seen |= cs_reg_trace_id(u->g);
	} else if (ini_eq(it->key, "cpu")) {
		if (!upto(it->value, 65535, &v))
			return bad(ini, it, "a CPU number", diag);
		u->g->cpu = (int32_t)v;
	} else if (!ini_eq(it->key, "proto")) {
		bool number = upto(it->value, UINT32_MAX, &v);

		bit = cs_reg(u->g, it->key, v);
		if (bit && !number)
			return bad(ini, it, "a 32-bit number", diag);
		if (!bit)
			unknown(c, ini, it);
		u->seen |= bit;
	}
	return 0;
}

/* One [source] section, from item @i on. */
static int cs_source(struct capture *c, struct trace_buf *b, const struct ini *ini, size_t i,
		     struct hwt_diag *diag)
{
	const struct ini_item *head = &ini->v[i], *proto = NULL;
	struct unit u = { .id = UINT64_MAX, .core = "" };
	size_t end;
	int rc = 0;

	for (end = i + 1; end < ini->n && ini->v[end].key; end++)
		if (ini_eq(ini->v[end].key, "proto"))
			proto = &ini->v[end];
	if (!proto || cs_proto(proto->value) == HWT_PROTO_NONE)
		return diag_set(diag, -HWT_E_FORMAT, 85, ini->file, head->off,
				"line %u: [source] needs proto=ETM3, PTM, ETM4, ETE, STM or ITM",
				head->line);
	if (b->ncfgs == MAX_SOURCES)
		return diag_set(diag, -HWT_E_FORMAT, 85, ini->file, head->off,
				"line %u: more than %u sources", head->line, MAX_SOURCES);
	u.g = capture_add_cfg(c, b);
	if (!u.g)
		return diag_set(diag, -ENOMEM, 3, ini->file, HWT_NO_OFF, "out of memory");
	*u.g = (struct trace_cfg){ .name = proto->value, .core = "", .cpu = HWT_NONE,
		.proto = (uint8_t)cs_proto(proto->value) };
	for (size_t k = i + 1; k < end && !rc; k++)
		rc = cs_item(c, &u, ini, &ini->v[k], diag);
	if (rc)
		return rc;
	cs_finish(u.g, u.seen, &c->notes, ini->file);
	if (u.id != UINT64_MAX)
		u.g->trace_id = (uint8_t)u.id;
	cs_set_core(u.g, u.core, &c->notes, ini->file, head->off);
	return 0;
}

/* What the bytes look like, where it is not what the text says. */
static void cs_evidence(struct capture *c, struct trace_buf *b, const struct file *f, bool framed)
{
	static const enum cs_look expect[] = { [FRAMING_NONE] = CS_LOOK_RAW,
		[FRAMING_MEM] = CS_LOOK_FRAMES, [FRAMING_TPIU] = CS_LOOK_FSYNC };
	struct cs_guess g;
	char text[200];

	cs_guess(&g, f->p, (size_t)f->size);
	cs_guess_text(&g, text, sizeof(text));
	if (!framed)
		b->framing = g.look == CS_LOOK_RAW ? FRAMING_NONE :
			g.look == CS_LOOK_FSYNC ? FRAMING_TPIU : FRAMING_MEM;
	if (framed && g.look == CS_LOOK_NOTHING && f->size <= CS_LOOK_MAX)
		notes_add(&c->notes, HWT_NOTE_WARN, 11, f->path, HWT_NO_OFF,
			  "no A-sync in it: nothing can be decoded; %s", text);
	if (!framed || (g.look != CS_LOOK_NOTHING && g.look != expect[b->framing]))
		notes_add(&c->notes, framed ? HWT_NOTE_WARN : HWT_NOTE_INFO, 86, f->path, 0, "%s",
			  text);
}

int raw_read_cs(struct capture *c, struct file *f, const struct raw_config *cfg,
		struct hwt_diag *diag)
{
	const struct ini *ini = &cfg->ini;
	struct trace_buf *b = capture_add_buf(c, "cs");
	bool framed = false;
	struct cs_guess g;
	char text[200];
	int rc;

	c->format = "cs";
	rc = add_span(c, b, f, diag);
	if (rc)
		return rc;
	if (!f->size)
		return diag_set(diag, -HWT_E_FORMAT, 5, f->path, HWT_NO_OFF, "the file is empty");
	for (size_t i = 0; i < ini->n && !rc; i++) {
		const struct ini_item *it = &ini->v[i];

		if (!it->key && ini_eq(it->section, "source"))
			rc = cs_source(c, b, ini, i, diag);
		else if (it->key && !ini_eq(it->section, "source"))
			rc = cs_top(c, b, cfg, it, &framed, diag);
	}
	if (rc)
		return rc;
	if (!b->ncfgs) {
		cs_guess(&g, f->p, (size_t)f->size);
		cs_guess_text(&g, text, sizeof(text));
		return diag_set(diag, -HWT_E_FORMAT, 84, f->path, HWT_NO_OFF,
				"needs --config FILE with [source]s; %s", text);
	}
	cs_evidence(c, b, f, framed);
	cs_check_buf(c, b, ini->file);
	for (size_t i = 0; i < b->ncfgs; i++)
		if (b->cfgs[i].arch)
			c->arch = b->cfgs[i].arch == 8 && b->cfgs[i].profile == 'A' ? "aarch64" :
				"arm";
	c->cpu = b->cfgs[0].core;
	return 0;
}

/* --- the file system --- */

static int read_config(struct capture *c, struct raw_config *cfg, const struct hwt_open_opts *o,
		       struct hwt_diag *diag)
{
	const char *path = o->config, *slash;
	struct file *f;
	int rc;

	cfg->cpu = o->cpu;
	if (!path)
		return 0;
	rc = file_open(&f, path, diag);
	if (rc)
		return rc;
	slash = strrchr(path, '/');
	cfg->dir = slash ? arena_strn(&c->arena, path, (size_t)(slash - path) + (slash == path)) :
		".";
	path = arena_str(&c->arena, path);
	rc = path && cfg->dir ? ini_parse(&cfg->ini, &c->arena, path, f->p, (size_t)f->size,
					  &c->notes) : -ENOMEM;
	file_close(f);
	if (rc == -EFBIG)
		return diag_set(diag, -HWT_E_FORMAT, 85, o->config, 0,
				"longer than %u bytes: no configuration", INI_MAX_FILE);
	return rc ? diag_set(diag, rc, 3, o->config, HWT_NO_OFF, "out of memory") : 0;
}

static int open_raw(struct capture *c, struct file *f, const char *path,
		    const struct hwt_open_opts *o, struct hwt_diag *diag,
		    int (*read)(struct capture *, struct file *, const struct raw_config *,
				struct hwt_diag *))
{
	struct raw_config cfg = { .dir = NULL };
	int rc;

	if (!f)
		return diag_set(diag, -EISDIR, 1, path, HWT_NO_OFF,
				"this is a directory, not a trace buffer");
	rc = read_config(c, &cfg, o, diag);
	if (rc) {
		file_close(f);
		return rc;
	}
	return read(c, f, &cfg, diag);
}

static int probe_pt(const struct file *f, const char *path)
{
	size_t n = f && f->size < PROBE ? (size_t)f->size : PROBE;

	if (!f || f->size < sizeof(psb))
		return 0;
	return !memcmp(f->p, psb, sizeof(psb)) ? 2 : memmem(f->p, n, psb, sizeof(psb)) != NULL;
}

static int open_pt(struct capture *c, struct file *f, const char *path,
		   const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	return open_raw(c, f, path, o, diag, raw_read_pt);
}

/* ELF files are full of zeros before 0x80. */
static int probe_cs(const struct file *f, const char *path)
{
	struct cs_guess g;

	if (!f || f->size < 16 || !memcmp(f->p, "\177ELF", 4))
		return 0;
	cs_guess(&g, f->p, (size_t)f->size);
	return g.look != CS_LOOK_NOTHING;
}

static int open_cs(struct capture *c, struct file *f, const char *path,
		   const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	return open_raw(c, f, path, o, diag, raw_read_cs);
}

const struct source source_pt = {
	.name = "pt", .what = "raw Intel PT bytes (--cpu, --config)",
	.probe = probe_pt, .open = open_pt,
};

const struct source source_cs = {
	.name = "cs", .what = "raw CoreSight buffer: ETB, ETR, TPIU dump (--config)",
	.probe = probe_cs, .open = open_cs,
};
