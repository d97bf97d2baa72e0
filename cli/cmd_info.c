/* SPDX-License-Identifier: BSD-2-Clause */
/* info: what is inside a capture, without decoding it. */
#include <stdio.h>

#include "cli.h"

static void row(struct out *o, const char *key, const char *value)
{
	if (!*value)
		return;
	o->line = o->flushed + o->n;
	out_safe(o, key);
	out_tab(o, 18);
	out_safe(o, value);
	out_nl(o);
}

static void text_head(struct run *r, const struct hwt_capture_info *info)
{
	struct out *o = r->out;

	row(o, "format", info->format);
	row(o, "path", info->path);
	out_str(o, "size              ");
	out_group(o, info->size);
	out_str(o, " bytes (");
	out_size(o, info->size);
	out_str(o, ")\n");
	row(o, "host", info->host);
	row(o, "kernel", info->release);
	row(o, "architecture", info->arch);
	row(o, "cpu", info->cpu);
	row(o, "command", info->cmdline);
	row(o, "clock", *info->clock ? info->clock : "none");
	clock_row(r);
	if (info->time_start != HWT_TIME_UNKNOWN)
		out_fmt(o, "start             %llu ns\n", (unsigned long long)info->time_start);
	out_fmt(o, "kernel events     %llu%s\n", (unsigned long long)info->nevents,
		strcmp(info->format, "perf.data") ? "" :
		" records in the file (those without a time are in no timeline)");
	/* of some formats only the events tell tasks, and info does not read them */
	if (info->ntasks)
		out_fmt(o, "tasks             %zu\n", info->ntasks);
}

static void text_src(struct out *o, const struct hwt_src_info *s)
{
	o->line = o->flushed + o->n;
	out_str(o, "    ");
	out_safe(o, *s->name ? s->name : "source");
	out_tab(o, 20);
	out_str(o, hwt_proto_name(s->proto));
	if (s->trace_id)
		out_fmt(o, " id 0x%02x", s->trace_id);
	if (s->cpu != HWT_NONE)
		out_fmt(o, " cpu %d", s->cpu);
	if (*s->core) {
		out_ch(o, ' ');
		out_safe(o, s->core);
	}
	out_nl(o);
}

static void text_buf(struct run *r, size_t i, const struct hwt_buf_info *b)
{
	static const char *const framing[] = { "", ", frames", ", TPIU frames" };
	struct hwt_src_info s;
	struct out *o = r->out;

	o->line = o->flushed + o->n;
	out_fmt(o, "  %zu ", i);
	out_safe(o, b->name);
	out_tab(o, 20);
	out_size(o, b->size);
	out_fmt(o, " in %zu span%s, %s%s", b->nspans, out_s(b->nspans),
		b->proto ? hwt_proto_name(b->proto) : "several protocols",
		b->formatted < 3 ? framing[b->formatted] : "");
	if (b->tid != HWT_NONE)
		out_fmt(o, ", thread %d", b->tid);
	if (b->lost)
		out_fmt(o, ", %llu byte%s lost", (unsigned long long)b->lost, out_s(b->lost));
	if (r->opts.verbose) {
		out_str(o, ", ");
		out_safe(o, b->file);
	}
	out_nl(o);
	for (size_t k = 0; hwt_session_src(r->session, i, k, &s); k++)
		text_src(o, &s);
}

#define MISSING_SHOWN 8		/* without --verbose, if there are more */

/* "/lib/modules/6.1.0/kernel/net/tun.ko.xz" */
static bool is_module(const struct hwt_map *m)
{
	return m->path && strstr(m->path, ".ko") && strstr(m->path, "/modules/");
}

/* Programs and libraries first: a kernel has a hundred modules. */
static bool folded(const struct run *r, const struct hwt_map *m, size_t missing, size_t shown)
{
	return !r->opts.verbose && missing > MISSING_SHOWN &&
		(is_module(m) || shown == MISSING_SHOWN);
}

static void text_maps(struct run *r, size_t n)
{
	const struct hwt_image *img = hwt_session_image(r->session);
	struct out *o = r->out;
	size_t missing = 0, shown = 0, modules = 0;
	struct hwt_map m;

	for (size_t i = 0; hwt_image_map_at(img, i, &m); i++)
		missing += m.missing;
	out_fmt(o, "\ncode: %zu map%s, %zu without %s file%s%s\n", n, out_s(n),
		missing, missing == 1 ? "its" : "their",
		hwt_session_bufs(r->session) ? "" : ", no trace that needs it",
		(n > missing || !hwt_session_bufs(r->session)) && !r->opts.verbose ?
		" (-v lists all)" : "");
	if (!hwt_session_bufs(r->session) && !r->opts.verbose)
		return;
	for (size_t i = 0; hwt_image_map_at(img, i, &m); i++) {
		if (!m.missing && !r->opts.verbose)
			continue;
		if (folded(r, &m, missing, shown)) {
			modules += is_module(&m);
			continue;
		}
		shown++;
		o->line = o->flushed + o->n;
		out_str(o, "  ");
		out_hex(o, m.addr, 8);
		out_ch(o, '-');
		out_hex(o, m.addr + m.size, 8);
		if (m.pid != HWT_NONE)
			out_fmt(o, " pid %d", m.pid);
		out_ch(o, ' ');
		out_safe(o, m.path ? m.path : "");
		if (m.build_id_size) {
			out_str(o, " build-id ");
			out_bytes(o, m.build_id, m.build_id_size);
		}
		if (m.missing)
			out_str(o, " MISSING");
		out_nl(o);
	}
	if (r->opts.verbose || shown == missing)
		return;
	out_fmt(o, "  and %zu more MISSING", missing - shown);
	if (modules)
		out_fmt(o, ", %zu of them modules of the kernel (--kcore FILE has their code)",
			modules);
	out_str(o, "; -v lists all\n");
}

#define EVENTS_SHOWN 8	/* one line each, without --verbose */

/* The i-th fact if it is an event of perf, with the length of its group's name. */
static const char *event_at(const struct run *r, size_t i, size_t *group)
{
	const char *value, *key = hwt_session_fact(r->session, i, &value);

	if (!key || strcmp(key, "event") || !value)
		return NULL;
	*group = strcspn(value, ":");
	return value;
}

static void group_row(struct out *o, const char *sep, const char *s, size_t n, size_t count)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", n < sizeof(name) ? (int)n : 63, s);
	out_str(o, sep);
	out_safe(o, name);
	out_fmt(o, " %zu", count);
}

/* "sched 28, irq 9" for 37 lines that nobody reads. perf has those of a group in a row. */
static void text_events(struct run *r, size_t total)
{
	struct out *o = r->out;
	const char *sep = "", *prev = NULL, *a;
	size_t n, len = 0, same = 0;

	o->line = o->flushed + o->n;
	out_str(o, "events");
	out_tab(o, 18);
	out_fmt(o, "%zu (-v lists all): ", total);
	for (size_t i = 0; hwt_session_fact(r->session, i, &a); i++) {
		a = event_at(r, i, &n);
		if (!a)
			continue;
		if (same && (n != len || memcmp(a, prev, n))) {
			group_row(o, sep, prev, len, same);
			sep = ", ";
			same = 0;
		}
		prev = a;
		len = n;
		same++;
	}
	if (prev)
		group_row(o, sep, prev, len, same);
	out_nl(o);
}

static void text_facts(struct run *r)
{
	struct hwt_clock_info k;
	const char *key, *value;
	size_t n, events = 0;
	bool told = false;

	hwt_session_clock(r->session, &k);
	for (size_t i = 0; hwt_session_fact(r->session, i, &value); i++)
		events += !!event_at(r, i, &n);
	for (size_t i = 0; (key = hwt_session_fact(r->session, i, &value)); i++) {
		/* "clock map" has it */
		if (k.how == HWT_MAP_EXACT && k.pairs && !strcmp(key, "clock_error"))
			continue;
		if (events <= EVENTS_SHOWN || r->opts.verbose || !event_at(r, i, &n)) {
			row(r->out, key, value ? value : "");
		} else if (!told) {
			text_events(r, events);
			told = true;
		}
	}
}

static void text(struct run *r)
{
	struct hwt_capture_info info;
	struct hwt_buf_info b;

	hwt_session_info(r->session, &info);
	text_head(r, &info);
	text_facts(r);
	out_fmt(r->out, "\ntrace buffers: %zu\n", info.nbufs);
	for (size_t i = 0; i < info.nbufs; i++)
		if (run_buf(r, i, &b))
			text_buf(r, i, &b);
	if (info.nmaps)
		text_maps(r, info.nmaps);
}

static void jsonl_source(struct jsonl *j, size_t buf, const struct hwt_src_info *s)
{
	jsonl_open(j, "source");
	jsonl_u64(j, "buffer", buf);
	jsonl_known(j, "name", s->name);
	jsonl_str(j, "protocol", hwt_proto_name(s->proto));
	if (s->trace_id)
		jsonl_u64(j, "trace_id", s->trace_id);
	if (s->cpu != HWT_NONE)
		jsonl_u64(j, "cpu", (uint64_t)s->cpu);
	if (*s->core)
		jsonl_str(j, "core", s->core);
	jsonl_close(j);
}

static void jsonl_buffer(struct run *r, size_t i, const struct hwt_buf_info *b)
{
	struct jsonl *j = &r->json;
	struct hwt_src_info s;

	jsonl_open(j, "buffer");
	jsonl_u64(j, "buffer", i);
	jsonl_str(j, "name", b->name);
	jsonl_known(j, "file", b->file);
	jsonl_str(j, "protocol", hwt_proto_name(b->proto));
	if (b->cpu != HWT_NONE)
		jsonl_u64(j, "cpu", (uint64_t)b->cpu);
	if (b->tid != HWT_NONE)
		jsonl_u64(j, "tid", (uint64_t)b->tid);
	jsonl_u64(j, "size", b->size);
	jsonl_u64(j, "lost", b->lost);
	jsonl_u64(j, "spans", b->nspans);
	jsonl_u64(j, "framing", b->formatted);
	jsonl_close(j);
	for (size_t k = 0; hwt_session_src(r->session, i, k, &s); k++)
		jsonl_source(j, i, &s);
}

static void jsonl_maps(struct run *r)
{
	const struct hwt_image *img = hwt_session_image(r->session);
	struct jsonl *j = &r->json;
	struct hwt_map m;

	for (size_t i = 0; hwt_image_map_at(img, i, &m); i++) {
		jsonl_open(j, "code");
		jsonl_hex(j, "addr", m.addr);
		jsonl_u64(j, "size", m.size);
		jsonl_hex(j, "file_off", m.file_off);
		jsonl_known(j, "path", m.path);
		if (m.pid != HWT_NONE)
			jsonl_u64(j, "pid", (uint64_t)m.pid);
		if (m.build_id_size) {
			jsonl_key(j, "build_id");
			out_ch(r->out, '"');
			out_bytes(r->out, m.build_id, m.build_id_size);
			out_ch(r->out, '"');
		}
		jsonl_bool(j, "missing", m.missing);
		jsonl_close(j);
	}
}

void notes_json(struct run *r, unsigned least)
{
	static const char *const severity[] = { "info", "warn", "cut" };
	struct jsonl *j = &r->json;
	const struct hwt_note *n;

	for (size_t i = 0; (n = hwt_session_note(r->session, i)); i++) {
		if (n->severity < least)
			continue;
		jsonl_open(j, "note");
		jsonl_str(j, "severity", n->severity < 3 ? severity[n->severity] : "warn");
		jsonl_str(j, "text", n->diag.text);
		if (n->diag.file[0])
			jsonl_str(j, "file", n->diag.file);
		if (n->diag.off != HWT_NO_OFF)
			jsonl_u64(j, "off", n->diag.off);
		if (n->diag.id) {
			jsonl_key(j, "id");
			out_fmt(r->out, "\"E%03u\"", n->diag.id);
		}
		jsonl_u64(j, "count", n->count);
		jsonl_close(j);
	}
}

static void json(struct run *r)
{
	struct hwt_capture_info info;
	const char *key, *value;
	struct hwt_buf_info b;
	struct jsonl *j = &r->json;

	hwt_session_info(r->session, &info);
	jsonl_open(j, "machine");
	jsonl_known(j, "host", info.host);
	jsonl_known(j, "release", info.release);
	jsonl_known(j, "cpu", info.cpu);
	jsonl_known(j, "cmdline", info.cmdline);
	jsonl_u64(j, "events", info.nevents);
	jsonl_u64(j, "tasks", info.ntasks);
	jsonl_close(j);
	clock_json(r);
	for (size_t i = 0; (key = hwt_session_fact(r->session, i, &value)); i++) {
		if (!value || !*value)
			continue;
		jsonl_open(j, "fact");
		jsonl_str(j, "key", key);
		jsonl_str(j, "value", value);
		jsonl_close(j);
	}
	for (size_t i = 0; i < info.nbufs; i++)
		if (run_buf(r, i, &b))
			jsonl_buffer(r, i, &b);
	jsonl_maps(r);
	notes_json(r, HWT_NOTE_INFO);
}

int cmd_info(struct run *r)
{
	int rc = run_open(r);

	if (rc)
		return rc;
	if (r->opts.format == OPT_TEXT)
		text(r);
	else
		json(r);
	return 0;
}
