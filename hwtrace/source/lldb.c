/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace bundles of LLDB: trace.json beside raw Intel PT buffers. The schema is what LLDB prints
 * for "trace schema intel-pt".
 */
#include "lldb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/json.h"
#include "../image/image.h"

#define MAX_BUFS 4096		/* CPUs and threads with trace */
#define MAX_MODULES 65536


struct bundle {
	struct capture *c;
	struct hwt_diag *diag;
	const char *json;		/* path of trace.json */
	const char *dir;
	struct trace_cfg cfg;
	struct lldb_switch_file *sw;		/* arena */
	size_t nsw, nmodules;
};

static int bad(struct bundle *b, const struct json *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int bad(struct bundle *b, const struct json *at, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return diag_set(b->diag, -HWT_E_FORMAT, 81, b->json, at ? at->off : HWT_NO_OFF, "%s", text);
}

static int nomem(struct bundle *b)
{
	return diag_set(b->diag, -ENOMEM, 3, b->json, HWT_NO_OFF, "out of memory");
}

/* A whole number up to @max; addresses and times may be strings, as 2^53 ends JSON's numbers. */
static int number(struct bundle *b, const struct json *o, const char *name, uint64_t max,
		  bool text, uint64_t *out)
{
	const struct json *j = json_get(o, name);

	if (!j)
		return bad(b, o, "%s is missing", name);
	if ((!text && j->type != JSON_NUMBER) || !json_u64(j, out) || *out > max)
		return bad(b, j, "%s must be a whole number up to %" PRIu64, name, max);
	return 0;
}

/* *@out is NULL if it is missing and may be. */
static int string(struct bundle *b, const struct json *o, const char *name, bool must,
		  const char **out)
{
	const struct json *j = json_get(o, name);

	*out = NULL;
	if (!j || j->type == JSON_NULL)
		return must ? bad(b, o, "%s is missing", name) : 0;
	if (j->type != JSON_STRING || !*j->text)
		return bad(b, j, "%s must be a string", name);
	*out = j->text;
	return 0;
}

/* The first element of an array that may be missing; each element must be an object. */
static int array(struct bundle *b, const struct json *o, const char *name, struct json **first)
{
	struct json *j = json_get(o, name);

	*first = NULL;
	if (!j || j->type == JSON_NULL)
		return 0;
	if (j->type != JSON_ARRAY)
		return bad(b, j, "%s must be an array", name);
	for (struct json *e = j->child; e; e = e->next)
		if (e->type != JSON_OBJECT)
			return bad(b, e, "elements of %s must be objects", name);
	*first = j->child;
	return 0;
}

static char *join(struct bundle *b, const char *name)
{
	char path[4096];

	if (*name == '/')
		return arena_str(&b->c->arena, name);
	if (snprintf(path, sizeof(path), "%s/%s", b->dir, name) >= (int)sizeof(path))
		return arena_str(&b->c->arena, name);
	return arena_str(&b->c->arena, path);
}

/* Opens a file of the bundle for the capture. 0; 1: noted that it is not there; -ENOMEM. */
static int get(struct bundle *b, const char *name, const struct json *at, const struct file **out)
{
	struct hwt_diag d = { .text = "" };
	char *path = join(b, name);
	struct file *f;
	int rc;

	if (!path)
		return nomem(b);
	rc = file_open(&f, path, &d);
	if (rc == -ENOMEM)
		return nomem(b);
	if (rc) {
		notes_add(&b->c->notes, HWT_NOTE_CUT, 82, path, HWT_NO_OFF,
			  "named at byte %" PRIu64 " of the bundle: %s", at->off, d.text);
		return 1;
	}
	*out = f;
	return capture_add_file(b->c, f) ? nomem(b) : 0;
}

static int add_buf(struct bundle *b, const char *name, const char *trace, const struct json *at,
		   int32_t cpu, int32_t pid, int32_t tid)
{
	struct trace_buf *buf;
	struct trace_span *sp;
	struct trace_cfg *g;
	const struct file *f;
	int rc;

	if (b->c->nbufs == MAX_BUFS)
		return bad(b, at, "more than %u trace buffers", MAX_BUFS);
	buf = capture_add_buf(b->c, name);
	g = buf ? capture_add_cfg(b->c, buf) : NULL;
	if (!g)
		return nomem(b);
	*g = b->cfg;
	g->cpu = buf->cpu = cpu;
	buf->pid = pid;
	buf->tid = tid;
	rc = get(b, trace, at, &f);
	if (rc)
		return rc < 0 ? rc : 0;
	if (!f->size) {
		notes_add(&b->c->notes, HWT_NOTE_WARN, 5, f->path, HWT_NO_OFF, "%s has no trace",
			  name);
		return 0;
	}
	sp = capture_add_span(b->c, buf);
	if (!sp)
		return nomem(b);
	*sp = (struct trace_span){ .p = f->p, .size = f->size, .file = f, .pid = pid, .tid = tid,
		.time = HWT_TIME_UNKNOWN };
	return 0;
}

static int cpu_info(struct bundle *b, const struct json *root)
{
	const struct json *o = json_get(root, "cpuInfo");
	uint64_t family, model, stepping;
	const char *vendor;
	char text[64];
	int rc;

	b->cfg = (struct trace_cfg){ .core = "", .proto = HWT_PROTO_PT, .cpu = HWT_NONE };
	if (!o)
		return bad(b, root, "cpuInfo is missing");
	if (o->type != JSON_OBJECT)
		return bad(b, o, "cpuInfo must be an object");
	rc = string(b, o, "vendor", true, &vendor);
	if (!rc)
		rc = number(b, o, "family", UINT16_MAX, false, &family);
	if (!rc)
		rc = number(b, o, "model", UINT8_MAX, false, &model);
	if (!rc)
		rc = number(b, o, "stepping", UINT8_MAX, false, &stepping);
	if (rc)
		return rc;
	/* errata are known by Intel's numbers only */
	if (!strcmp(vendor, "GenuineIntel") || !strcmp(vendor, "intel")) {
		b->cfg.r.pt.family = (uint16_t)family;
		b->cfg.r.pt.model = (uint8_t)model;
		b->cfg.r.pt.stepping = (uint8_t)stepping;
	}
	snprintf(text, sizeof(text), "%.20s %" PRIu64 "/%" PRIu64 "/%" PRIu64, vendor, family,
		 model, stepping);
	b->c->cpu = arena_str(&b->c->arena, text);
	return b->c->cpu ? 0 : nomem(b);
}

static int clock_map(struct bundle *b, const struct json *root)
{
	const struct json *o = json_get(root, "tscPerfZeroConversion");
	uint64_t mult, shift, zero;
	int rc;

	if (!o || o->type == JSON_NULL)
		return 0;
	if (o->type != JSON_OBJECT)
		return bad(b, o, "tscPerfZeroConversion must be an object");
	rc = number(b, o, "timeMult", UINT32_MAX, false, &mult);
	if (!rc)
		rc = number(b, o, "timeShift", 63, false, &shift);
	if (!rc)
		rc = number(b, o, "timeZero", UINT64_MAX, true, &zero);
	if (rc)
		return rc;
	b->c->tsc = (struct time_map){ .zero = zero, .mult = (uint32_t)mult,
		.shift = (uint16_t)shift };
	capture_base(b->c, "perf");
	return 0;
}

static void set_build_id(struct bundle *b, const char *path, const char *uuid)
{
	uint8_t id[20];
	size_t n = 0;

	for (; uuid && *uuid; uuid++) {
		int d = *uuid >= '0' && *uuid <= '9' ? *uuid - '0' :
			(*uuid | 32) >= 'a' && (*uuid | 32) <= 'f' ? (*uuid | 32) - 'a' + 10 : -1;

		if (*uuid == '-')
			continue;
		if (d < 0 || n == 2 * sizeof(id))
			return;
		id[n / 2] = (uint8_t)(n & 1 ? id[n / 2] | d : d << 4);
		n++;
	}
	if (n && !(n & 1))
		image_set_build_id(b->c->image, path, id, n / 2);
}

static int add_module(struct bundle *b, const struct json *m, int32_t pid)
{
	const char *file, *system = NULL, *uuid = NULL;
	struct hwt_diag d = { .text = "" };
	uint64_t addr;
	char *path;
	int rc = string(b, m, "file", false, &file);

	if (!rc)
		rc = string(b, m, "systemPath", !file, &system);
	if (!rc)
		rc = string(b, m, "uuid", false, &uuid);
	if (!rc)
		rc = number(b, m, "loadAddress", UINT64_MAX, true, &addr);
	if (rc)
		return rc;
	if (b->nmodules++ == MAX_MODULES)
		return bad(b, m, "more than %u modules", MAX_MODULES);
	path = join(b, file ? file : system);
	if (!path)
		return nomem(b);
	set_build_id(b, path, uuid);
	rc = image_add_elf(b->c->image, pid, path, addr, &d);
	if (rc == -ENOMEM)
		return nomem(b);
	if (rc < 0)
		notes_add(&b->c->notes, HWT_NOTE_WARN, d.id ? d.id : 82, path, d.off,
			  "module at 0x%" PRIx64 ": %s", addr, d.text);
	return 0;
}

static int add_thread(struct bundle *b, const struct json *t, int32_t pid)
{
	const char *trace;
	char name[32];
	uint64_t tid;
	int rc = number(b, t, "tid", INT32_MAX, false, &tid);

	if (!rc)
		rc = string(b, t, "iptTrace", false, &trace);
	if (rc)
		return rc;
	if (machine_task(b->c->machine, pid, (int32_t)tid))
		return nomem(b);
	snprintf(name, sizeof(name), "thread %" PRIu64, tid);
	return trace ? add_buf(b, name, trace, t, HWT_NONE, pid, (int32_t)tid) : 0;
}

static int processes(struct bundle *b, const struct json *root)
{
	struct json *p, *e;
	uint64_t pid;
	int rc = array(b, root, "processes", &p);

	for (; p && !rc; p = p->next) {
		rc = number(b, p, "pid", INT32_MAX, false, &pid);
		if (!rc)
			rc = array(b, p, "threads", &e);
		for (; !rc && e; e = e->next)
			rc = add_thread(b, e, (int32_t)pid);
		if (!rc)
			rc = array(b, p, "modules", &e);
		for (; !rc && e; e = e->next)
			rc = add_module(b, e, (int32_t)pid);
	}
	if (rc)
		return rc;
	p = json_get(root, "kernel");
	return p && p->type == JSON_OBJECT ? add_module(b, p, HWT_NONE) : 0;
}

static int read_switches(struct bundle *b, const struct lldb_switch_file *sf)
{
	struct capture *c = b->c;
	struct lldb_switches w;
	struct lldb_switch s;

	lldb_switches_init(&w, sf->f->p, (size_t)sf->f->size, sf->cpu);
	while (lldb_switches_next(&w, &s)) {
		if (machine_switch(c->machine, sf->cpu, s.time, s.pid, s.tid, s.flags) ||
		    (s.tid >= 0 && machine_task(c->machine, s.pid, s.tid)))
			return nomem(b);
		if (s.time < c->time_start)
			c->time_start = s.time;
		c->nevents++;
	}
	if (w.bad)
		notes_add(&c->notes, w.cut ? HWT_NOTE_CUT : HWT_NOTE_WARN, 83, sf->f->path, s.off,
			  "%s, the rest of CPU %d's switches is not read", w.bad, sf->cpu);
	return 0;
}

static int add_cpu(struct bundle *b, const struct json *o)
{
	const char *trace, *switches;
	struct lldb_switch_file *sf = &b->sw[b->nsw];
	char name[32];
	uint64_t id;
	int rc = number(b, o, "id", 65535, false, &id);

	if (!rc)
		rc = string(b, o, "iptTrace", true, &trace);
	if (!rc)
		rc = string(b, o, "contextSwitchTrace", false, &switches);
	if (rc)
		return rc;
	snprintf(name, sizeof(name), "cpu %" PRIu64, id);
	rc = add_buf(b, name, trace, o, (int32_t)id, HWT_NONE, HWT_NONE);
	if (rc || !switches)
		return rc;
	rc = get(b, switches, o, &sf->f);
	if (rc)
		return rc < 0 ? rc : 0;
	sf->cpu = (int32_t)id;
	sf->buf = (uint32_t)b->c->nbufs - 1;
	b->nsw++;
	return read_switches(b, sf);
}

static int cpus(struct bundle *b, const struct json *root)
{
	struct json *o, *e;
	size_t n = 0;
	int rc = array(b, root, "cpus", &o);

	for (e = o; e; e = e->next)
		n++;
	if (rc || !n)
		return rc;
	if (n > MAX_BUFS)
		return bad(b, o, "more than %u CPUs", MAX_BUFS);
	b->sw = arena_alloc(&b->c->arena, n * sizeof(*b->sw));
	if (!b->sw)
		return nomem(b);
	for (; o && !rc; o = o->next)
		rc = add_cpu(b, o);
	machine_sort(b->c->machine);
	return rc;
}

/* --- opening --- */

static int read_bundle(struct bundle *b, const struct file *f)
{
	struct capture *c = b->c;
	struct lldb_switch_list *l;
	struct json *root, *j;
	size_t spans = 0;
	int rc = json_parse(&root, &c->arena, b->json, f->p, (size_t)f->size, b->diag);

	if (rc)
		return rc;
	j = json_get(root, "type");
	if (!j || j->type != JSON_STRING || strcmp(j->text, "intel-pt"))
		return bad(b, j ? j : root, "type must be \"intel-pt\"");
	rc = cpu_info(b, root);
	if (!rc)
		rc = clock_map(b, root);
	if (!rc)
		rc = cpus(b, root);
	if (!rc)
		rc = processes(b, root);
	if (rc)
		return rc;
	for (size_t i = 0; i < c->nbufs; i++)
		spans += c->bufs[i].nspans;
	if (!spans)
		return bad(b, root, "no trace in it%s%.120s", c->notes.n ? ": " : "",
			   c->notes.n ? c->notes.v[0].diag.text : "");
	c->arch = "x86_64";
	if (!b->nsw)
		return 0;
	l = arena_alloc(&c->arena, sizeof(*l));
	if (!l)
		return nomem(b);
	*l = (struct lldb_switch_list){ b->sw, b->nsw };
	c->priv = l;
	c->events = lldb_events;
	c->kernel = lldb_kernel;
	return 0;
}

int lldb_read(struct capture *c, const struct file *f, const char *path, const char *dir,
	      struct hwt_diag *diag)
{
	struct bundle b = { .c = c, .diag = diag, .json = path, .dir = dir };

	c->format = "lldb";
	return read_bundle(&b, f);
}

static int probe(const struct file *f, const char *path)
{
	char buf[4096];
	struct stat st;
	size_t i = 0, n;

	if (!f)
		return snprintf(buf, sizeof(buf), "%s/trace.json", path) < (int)sizeof(buf) &&
			!stat(buf, &st) && S_ISREG(st.st_mode) ? 2 : 0;
	n = f->size < JSON_MAX_FILE ? (size_t)f->size : 0;
	while (i < n && strchr(" \t\r\n", f->p[i]) && f->p[i])
		i++;
	return i < n && f->p[i] == '{' && memmem(f->p, n, "intel-pt", 8) ? 2 : 0;
}

static int open_lldb(struct capture *c, struct file *f, const char *path,
		     const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	const char *slash = strrchr(path, '/'), *json, *dir = path;
	char name[4096];
	int rc = 0;

	if (f) {
		json = arena_str(&c->arena, path);
		dir = !slash ? "." : arena_strn(&c->arena, path, (size_t)(slash - path) +
						(slash == path));
	} else {
		if (snprintf(name, sizeof(name), "%s/trace.json", path) >= (int)sizeof(name))
			return diag_set(diag, -ENAMETOOLONG, 1, path, HWT_NO_OFF, "path too long");
		json = arena_str(&c->arena, name);
		rc = file_open(&f, name, diag);
	}
	if (!rc && (!json || !dir))
		rc = diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	if (!rc)
		rc = lldb_read(c, f, json, dir, diag);
	file_close(f);
	return rc;
}

const struct source source_lldb = {
	.name = "lldb", .what = "Intel PT bundle of LLDB (trace.json)",
	.probe = probe, .open = open_lldb,
};
