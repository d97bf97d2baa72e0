/* SPDX-License-Identifier: BSD-2-Clause */
/* What trace.dat and a directory of saved pages have in common, and pass 1 over their records. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "../image/image.h"
#include "../time/clock.h"
#include "ftrace.h"
#include "tep.h"

#define PAGE_SIZE_MIN 64
#define MAX_HEADER 65536	/* bytes of header_page; the kernel writes at most a page */
#define MAX_TASKS 1000000	/* lines of saved_cmdlines and saved_tgids */

struct ftrace_buf *ftrace_add_buf(struct ftrace *ft, const char *name, const char *clock,
				  uint32_t page_size)
{
	struct ftrace_buf *b = ft->bufs.n < FTRACE_BUFS_MAX ?
		vec_push(&ft->bufs, sizeof(*b)) : NULL;

	if (!b)
		return NULL;
	b->name = arena_str(&ft->c->arena, name);
	if (!b->name)
		b->name = "";
	b->clock = clock && *clock ? clock : "local";
	b->domain = (uint8_t)time_clock_of(b->clock);
	if (page_size < PAGE_SIZE_MIN || page_size > RING_PAGE_MAX)
		page_size = ft->layout.page_size;
	b->page_size = page_size;
	return b;
}

struct ftrace_cpu *ftrace_add_cpu(struct ftrace *ft)
{
	struct ftrace_cpu *s = ft->cpus.n < FTRACE_CPUS_MAX ?
		vec_push(&ft->cpus, sizeof(*s)) : NULL;

	if (s)
		s->buf = (uint32_t)ft->bufs.n - 1;
	return s;
}

void ftrace_header_page(struct ftrace *ft, const char *p, size_t n, uint64_t off)
{
	bool wide = ft->long_size != 4;
	char *text;

	ft->layout = (struct ring_layout){ .page_size = 4096, .data_off = wide ? 16 : 12,
		.long_size = wide ? 8 : 4, .swap = ft->swap };
	if (!p)
		return;
	text = arena_strn(&ft->c->arena, p, n < MAX_HEADER ? n : MAX_HEADER);
	if (text && ring_layout_read(&ft->layout, text)) {
		if (ft->layout.page_size < PAGE_SIZE_MIN || ft->layout.page_size > RING_PAGE_MAX)
			ft->layout.page_size = 4096;
		return;
	}
	notes_add(&ft->c->notes, HWT_NOTE_WARN, E_FT_FORMATS, ft->path, off,
		  "header_page does not tell how pages are laid out; taken as %u-bit Linux has it",
		  wide ? 64 : 32);
}

/* Up to the first blank, or what stands in brackets. */
const char *ftrace_clock_name(struct ftrace *ft, const char *p, size_t n)
{
	const char *open = memchr(p, '[', n), *end;

	if (open) {
		end = memchr(open, ']', n - (size_t)(open - p));
		n = end ? (size_t)(end - open) - 1 : 0;
		p = open + 1;
	}
	for (size_t i = 0; i < n; i++)
		if (p[i] <= ' ')
			n = i;
	return n ? arena_strn(&ft->c->arena, p, n < 64 ? n : 64) : "local";
}

void ftrace_kallsyms(struct ftrace *ft, const char *p, size_t n)
{
	struct hwt_diag d;

	/* symbols are a help, not what the capture is about */
	if (n && image_add_kallsyms_text(ft->c->image, ft->path, p, n, &d) < 0)
		notes_add(&ft->c->notes, HWT_NOTE_INFO, d.id, ft->path, HWT_NO_OFF, "kallsyms: %s",
			  d.text);
}

/* "PID NAME" in each line, two numbers of saved_tgids alike. */
static bool task_line(const char **p, size_t *n, int32_t *tid, const char **rest, size_t *len)
{
	const char *end = memchr(*p, '\n', *n), *s = *p;
	size_t all = end ? (size_t)(end - s) + 1 : *n, i = 0;
	int64_t v = 0;

	while (i < all && s[i] == ' ')
		i++;
	*tid = HWT_NONE;
	for (; i < all && s[i] >= '0' && s[i] <= '9' && v <= INT32_MAX; i++)
		v = v * 10 + s[i] - '0';
	if (i && i < all && s[i] == ' ' && v <= INT32_MAX)
		*tid = (int32_t)v;
	*rest = s + i + (i < all);
	*len = all - i - (i < all);
	if (*len && end)
		--*len;
	*p += all;
	*n -= all;
	return *n || all;
}

void ftrace_cmdlines(struct ftrace *ft, const char *p, size_t n)
{
	struct machine *m = ft->c->machine;
	const char *name;
	unsigned lines = 0;
	int32_t tid;
	size_t len;

	while (n && lines++ < MAX_TASKS && task_line(&p, &n, &tid, &name, &len))
		if (tid > 0 && len && !machine_task(m, HWT_NONE, tid))
			machine_default_comm(m, tid, name, strnlen(name, len));
}

void ftrace_tgids(struct ftrace *ft, const char *p, size_t n)
{
	const char *rest;
	struct ftrace_tgid *t;
	unsigned lines = 0;
	int32_t tid;
	size_t len;

	while (n && lines++ < MAX_TASKS && task_line(&p, &n, &tid, &rest, &len)) {
		char number[16];
		long pid;

		snprintf(number, sizeof(number), "%.*s", (int)(len < 15 ? len : 15), rest);
		pid = strtol(number, NULL, 10);
		if (tid <= 0 || pid <= 0 || pid > INT32_MAX)
			continue;
		machine_task(ft->c->machine, (int32_t)pid, tid);
		t = vec_push(&ft->tgids, sizeof(*t));
		if (t)
			*t = (struct ftrace_tgid){ tid, (int32_t)pid };
	}
}

void ftrace_uname(struct ftrace *ft, const char *p, size_t n)
{
	struct capture *c = ft->c;
	char text[256], os[64], host[64], release[80], arch[40];

	n = strnlen(p, n < sizeof(text) - 1 ? n : sizeof(text) - 1);
	memcpy(text, p, n);
	text[n] = 0;
	if (sscanf(text, "%63s %63s %79s %39s", os, host, release, arch) != 4)
		return;
	c->host = arena_str(&c->arena, host);
	c->release = arena_str(&c->arena, release);
	c->arch = arena_str(&c->arena, arch);
}

void ftrace_stats(struct ftrace *ft, const char *p, size_t n)
{
	static const char *const what[] = { "overrun", "commit overrun", "dropped events" };
	unsigned long long v[3] = { 0 };
	char text[512], *line;
	int cpu = -1;

	n = strnlen(p, n < sizeof(text) - 2 ? n : sizeof(text) - 2);
	text[0] = '\n';		/* so that each line begins behind one */
	memcpy(text + 1, p, n);
	text[n + 1] = 0;
	line = strstr(text, "\nCPU: ");
	if (line)
		sscanf(line, "\nCPU: %9d", &cpu);
	for (unsigned i = 0; i < 3; i++) {
		char key[32];

		snprintf(key, sizeof(key), "\n%s: ", what[i]);
		line = strstr(text, key);
		if (line)
			v[i] = strtoull(line + strlen(key), NULL, 10);
	}
	if (v[0] || v[1] || v[2])
		capture_fact(ft->c, "lost", "cpu %d: %llu overwritten, %llu nested too deep, "
			     "%llu dropped", cpu, v[0], v[1], v[2]);
}

/* The clock of the first buffer with data that has one is that of the capture. */
static void choose_clock(struct ftrace *ft)
{
	const struct ftrace_cpu *cpus = ft->cpus.v;
	struct ftrace_buf *bufs = ft->bufs.v, *base = NULL;
	struct capture *c = ft->c;

	for (size_t i = 0; i < ft->cpus.n && !base; i++)
		if (bufs[cpus[i].buf].domain != HWT_CLOCK_BASE)
			base = &bufs[cpus[i].buf];
	for (size_t i = 0; i < ft->bufs.n; i++) {
		struct ftrace_buf *b = &bufs[i];

		capture_fact(c, "buffer", "%s%sclock %s, pages of %u bytes", b->name,
			     *b->name ? ": " : "", b->clock, b->page_size);
		b->joined = base && b->domain == base->domain;
		if (b->domain == HWT_CLOCK_BASE)
			notes_add(&c->notes, HWT_NOTE_WARN, E_FT_CLOCK, ft->path, HWT_NO_OFF,
				  "buffer \"%s\": clock \"%s\" counts no time that is known here; "
				  "its events have an order, but no time", b->name, b->clock);
		else if (base && !b->joined)
			notes_add(&c->notes, HWT_NOTE_WARN, E_FT_CLOCKS, ft->path, HWT_NO_OFF,
				  "buffer \"%s\" is on clock \"%s\", others are on \"%s\": its "
				  "times stay its own", b->name, b->clock, base->clock);
	}
	if (!base)
		return;
	if (base->domain == HWT_CLOCK_TSC) {
		c->counter = HWT_CLOCK_TSC;
		c->tsc = ft->tsc;
		c->tsc.zero += (uint64_t)ft->offset;
	}
	if (base->domain != HWT_CLOCK_TSC && !ft->offset)
		c->base = base->domain;
	if (base->domain != HWT_CLOCK_TSC || time_map_valid(&ft->tsc))
		c->clock = base->clock;
}

/* A later record has no earlier time: what would be before zero is 0. */
static uint64_t add_offset(uint64_t time, int64_t offset)
{
	uint64_t v = time + (uint64_t)offset;

	if (offset < 0)
		return v > time ? 0 : v;
	return v < time ? HWT_TIME_UNKNOWN - 1 : v;
}

uint64_t ftrace_time(const struct ftrace *ft, const struct ftrace_buf *b, uint64_t time)
{
	if (b->domain == HWT_CLOCK_BASE)
		return HWT_TIME_UNKNOWN;
	if (b->domain == HWT_CLOCK_TSC)
		return b->joined && time_map_valid(&ft->c->tsc) ?
			time_map_ns_ordered(&ft->c->tsc, time) : time;
	return b->joined ? add_offset(time, ft->offset) : time;
}

static void take_damage(struct ftrace *ft, const struct ftrace_walk *w)
{
	if (w->bad_id)
		notes_add(&ft->c->notes, w->bad_severity, w->bad_id,
			  ft->c->files[w->cpu->file]->path, w->bad_off, "%s", w->bad_text);
}

struct sum { uint64_t losses, missed, untold; uint64_t untold_off; bool unknown; };

/* The recording has the format of the record's type. */
static bool known_type(const struct ftrace *ft, const struct ftrace_rec *r)
{
	struct cur c = cur_new(r->p, r->size, ft->swap);

	return trace_fmt_name(ft->fmt, cur_u16(&c)) && !c.bad;
}

static void take(struct ftrace *ft, const struct ftrace_walk *w, const struct ftrace_rec *r,
		 struct sum *s)
{
	struct capture *c = ft->c;
	uint64_t time = ftrace_time(ft, w->buf, r->time);

	c->nevents++;
	/* ticks are no time of the capture's clock */
	if (w->buf->joined && *c->clock && time < c->time_start)
		c->time_start = time;
	if (!r->p) {
		s->losses++;
		s->unknown |= r->missed == UINT64_MAX;
		s->missed += r->missed == UINT64_MAX ? 0 : r->missed;
	}
	if (r->p && !known_type(ft, r) && !s->untold++)
		s->untold_off = r->off;
	if (r->back)
		notes_add(&c->notes, HWT_NOTE_WARN, E_FT_BACK, c->files[w->cpu->file]->path,
			  r->off, "cpu %d: the time of a record is before the one before it",
			  w->cpu->cpu);
}

/* Every record once: how many there are, and what is damaged. */
static int pass1(struct ftrace *ft)
{
	const struct ftrace_cpu *cpus = ft->cpus.v;
	struct sum s = { 0 };
	int rc = 0;

	for (size_t i = 0; i < ft->cpus.n && rc >= 0; i++) {
		struct ftrace_walk w;
		struct ftrace_rec r;

		ftrace_walk_init(&w, ft, &cpus[i]);
		while ((rc = ftrace_walk_next(&w, &r)) > 0) {
			take_damage(ft, &w);
			take(ft, &w, &r, &s);
		}
		take_damage(ft, &w);
		ftrace_walk_fini(&w);
	}
	if (s.losses)
		notes_add(&ft->c->notes, HWT_NOTE_WARN, E_FT_LOST, ft->path, HWT_NO_OFF,
			  "events were lost in %" PRIu64 " place%s: %s%" PRIu64, s.losses,
			  text_s(s.losses), s.unknown ? "more than " : "", s.missed);
	if (s.untold)
		notes_add(&ft->c->notes, HWT_NOTE_WARN, E_FT_TYPE, ft->path, s.untold_off,
			  "the format of %" PRIu64 " record%s is not in the recording", s.untold,
			  text_s(s.untold));
	return rc;
}

static void free_priv(struct capture *c)
{
	struct ftrace *ft = c->priv;

	trace_fmt_free(ft->fmt);
	printk_free(ft->printk);
	free(ft->bufs.v);
	free(ft->cpus.v);
	free(ft->tgids.v);
	free(ft);
}

static const char *text_at(void *arg, uint64_t addr)
{
	return printk_format(arg, addr);
}

/* The notes go with the capture, so the first of the worst kind is the error's reason. */
static int nothing(const struct ftrace *ft, struct hwt_diag *diag)
{
	const struct notes *ns = &ft->c->notes;
	const struct hwt_note *why = NULL;

	for (uint32_t i = 0; i < ns->n; i++)
		if (ns->v[i].severity > (why ? why->severity : HWT_NOTE_INFO))
			why = &ns->v[i];
	if (!why)
		return diag_set(diag, -HWT_E_FORMAT, E_FT_EMPTY, ft->path, HWT_NO_OFF,
				"there is no buffer with events in it");
	return diag_set(diag, -HWT_E_FORMAT,
			why->severity == HWT_NOTE_CUT ? E_FT_CUT : why->diag.id,
			why->diag.file, why->diag.off, "no events: %s", why->diag.text);
}

static int finish(struct ftrace *ft, struct hwt_diag *diag)
{
	struct capture *c = ft->c;
	int rc;

	if (!ft->bufs.n)
		return nothing(ft, diag);
	trace_fmt_strings(ft->fmt, text_at, ft->printk);
	choose_clock(ft);
	rc = pass1(ft);
	if (rc < 0)
		return diag_set(diag, rc, 3, ft->path, HWT_NO_OFF, "out of memory");
	c->events = ftrace_events;
	c->event_name = ftrace_event_name;
	c->event_text = ftrace_event_text;
	c->kernel = ftrace_kernel;
	c->names_unread = true;
	c->dirty_name = ftrace_dirty_name;
	c->dirty_text = ftrace_dirty_text;
	c->dirty_field = ftrace_dirty_field;
	return 0;
}

static int open_ftrace(struct capture *c, struct file *f, const char *path,
		       const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	struct ftrace *ft = calloc(1, sizeof(*ft));
	int rc;

	if (!ft) {
		file_close(f);
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	}
	ft->c = c;
	ft->path = arena_str(&c->arena, path);
	c->priv = ft;
	c->free_priv = free_priv;
	if (!ft->path) {
		file_close(f);
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	}
	if (f) {
		rc = capture_add_file(c, f);
		if (rc)
			return diag_set(diag, rc, 3, path, HWT_NO_OFF, "out of memory");
		rc = ftrace_dat(ft, f, 0, diag);
	} else {
		rc = ftrace_dir(ft, path, diag);
	}
	return rc < 0 ? rc : finish(ft, diag);
}

static int probe(const struct file *f, const char *path)
{
	if (!f)
		return ftrace_is_dir(path) ? 2 : 0;
	return f->size >= 10 && !memcmp(f->p, "\x17\x08\x44tracing", 10) ? 2 : 0;
}

const struct source source_ftrace = {
	.name = "ftrace", .what = "trace.dat of trace-cmd, or saved pages of tracefs (directory)",
	.probe = probe, .open = open_ftrace,
};
