/* SPDX-License-Identifier: BSD-2-Clause */
/* Foreign CTF, first pass: what traces and streams there are, what was lost, what is wrong. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/vec.h"
#include "ctf.h"

#define MAX_TRACES	4096
#define MAX_STREAMS	65536
#define MAX_CLASSES	65536

#define MAX_FACTS	64	/* of all traces; there may be one of each process */

static bool told(const struct capture *c, const char *name, const char *value)
{
	for (size_t i = 0; i < c->nfacts; i++)
		if (!strcmp(c->facts[i].key, name) && !strcmp(c->facts[i].value, value))
			return true;
	return false;
}

static int add_env(struct ctf *x, struct ctf_trace *t, const char *name, const char *value)
{
	struct capture *c = x->c;
	const char **to = !strcmp(name, "hostname") ? &c->host :
		!strcmp(name, "kernel_release") ? &c->release :
		!strcmp(name, "domain") ? &t->domain :
		!strcmp(name, "tracer_name") ? &t->tracer : NULL;

	if (to && !**to)
		*to = arena_str(&c->arena, value);
	if (to && !*to)
		return -ENOMEM;
	/* traces in one folder are of one machine: of the others, what differs (domain, tracer) */
	if (t == x->traces || (c->nfacts < MAX_FACTS && !told(c, name, value)))
		capture_fact(c, name, "%.200s", value);
	return 0;
}

static int add_trace(struct ctf *x, const struct ctf_msg *m)
{
	struct cur c = ctf_body(m);
	struct ctf_trace *t;
	int rc = 0;

	if (m->stream != x->ntraces || x->ntraces == MAX_TRACES)
		return 0;
	if (vec_room(&x->traces, &x->captraces, x->ntraces, sizeof(*t)))
		return -ENOMEM;
	t = &x->traces[x->ntraces++];
	*t = (struct ctf_trace){ .name = arena_str(&x->c->arena, ctf_text(&c)),
		.domain = "", .tracer = "" };
	if (!t->name)
		return -ENOMEM;
	while (cur_left(&c) && !rc) {
		const char *name = ctf_text(&c), *value = ctf_text(&c);

		if (*name)
			rc = add_env(x, t, name, value);
	}
	return rc;
}

/* Path @file of the library, begun as the user named the trace. @buf: room for the result. */
static const char *as_given(const struct ctf *x, const char *file, char *buf, size_t size)
{
	for (size_t i = 0; i < x->ndirs; i++) {
		size_t n = strlen(x->plain[i]);

		if (!strncmp(file, x->plain[i], n) && (file[n] == '/' || !file[n]) &&
		    snprintf(buf, size, "%s%s", x->dirs[i], file + n) < (int)size)
			return buf;
	}
	return file;
}

static int add_stream(struct ctf *x, const struct ctf_msg *m)
{
	struct cur c = ctf_body(m);
	const char *file = ctf_text(&c), *clock = ctf_text(&c);
	struct ctf_stream *s;
	char given[4096];

	if (m->stream != x->nstreams || x->nstreams == MAX_STREAMS)
		return 0;
	if (vec_room(&x->streams, &x->capstreams, x->nstreams, sizeof(*s)))
		return -ENOMEM;
	s = &x->streams[x->nstreams++];
	file = as_given(x, file, given, sizeof(given));
	*s = (struct ctf_stream){ .file = arena_str(&x->c->arena, file), .trace = m->klass };
	if (!s->file)
		return -ENOMEM;
	if (!m->count || *x->c->clock)
		return 0;
	x->c->clock = arena_str(&x->c->arena, *clock ? clock : "trace");
	if (!x->c->clock)
		return -ENOMEM;
	capture_fact(x->c, "clock", "%.80s, %" PRIu64 " Hz, exact to %" PRIu64 " ticks, from %s",
		     x->c->clock, m->count, m->lo,
		     m->flags & CTF_F_ABSOLUTE ? "1970 on" : "an instant that is not told");
	return 0;
}

static int add_class(struct ctf *x, const struct ctf_msg *m)
{
	struct cur c = ctf_body(m);
	const char *name = ctf_text(&c);
	const struct ctf_trace *t;
	struct ctf_class *k;
	char *p;

	if (m->klass != x->nclasses || x->nclasses == MAX_CLASSES)
		return 0;
	if (vec_room(&x->classes, &x->capclasses, x->nclasses, sizeof(*k)))
		return -ENOMEM;
	k = &x->classes[x->nclasses++];
	*k = (struct ctf_class){ 0 };
	p = arena_alloc(&x->c->arena, sizeof("dirty:") + strlen(name));
	if (!p)
		return -ENOMEM;
	sprintf(p, "dirty:%s", name);
	k->name = p;
	if (m->stream < x->nstreams && x->streams[m->stream].trace < x->ntraces) {
		t = &x->traces[x->streams[m->stream].trace];
		ctf_class_bind(k, t->tracer, t->domain);
	}
	return 0;
}

static const char *stream_file(const struct ctf *x, uint32_t i)
{
	return i < x->nstreams ? x->streams[i].file : x->c->path;
}

static void note_lost(struct ctf *x, const struct ctf_msg *m)
{
	const char *what = m->flags & CTF_F_PACKETS ? "packets" : "events";

	if (m->flags & CTF_F_BACK)
		notes_add(&x->c->notes, HWT_NOTE_WARN, E_CTF_BACK, stream_file(x, m->stream),
			  HWT_NO_OFF, m->flags & CTF_F_PACKETS ? "numbers of packets go back: "
			  "there twice, or not in order" :
			  "the count of lost events goes back: packets are not in order");
	else if (m->count == UINT64_MAX)
		notes_add(&x->c->notes, HWT_NOTE_WARN, E_CTF_LOST, stream_file(x, m->stream),
			  HWT_NO_OFF, "%s were lost, how many is not known", what);
	else
		notes_add(&x->c->notes, HWT_NOTE_WARN, E_CTF_LOST, stream_file(x, m->stream),
			  HWT_NO_OFF, "%" PRIu64 " %s were lost", m->count, what);
}

/* Takes addresses of the library's memory out of @s: they tell nothing and differ each time. */
static void no_addresses(char *s)
{
	char *at, *from, *to;

	while ((at = strstr(s, "-addr=0x"))) {
		for (from = at; from > s && from[-1] != ' '; from--)
			;
		to = at + strcspn(at, ",");
		to += strspn(to, ", ");
		memmove(from, to, strlen(to) + 1);
	}
	for (at = s + strlen(s); at > s && strchr(" ,:", at[-1]);)
		*--at = 0;
}

/* Offset of line @n (from 1) of a text. HWT_NO_OFF: there is none, or it is no plain text. */
static uint64_t line_off(const char *path, unsigned long n)
{
	struct hwt_diag d;
	uint64_t at = 0;
	struct file *f;

	if (file_open(&f, path, &d))
		return HWT_NO_OFF;
	if (f->size < 4 || f->p[0] != '/' || !n)
		at = HWT_NO_OFF;
	while (at < f->size && n > 1)
		n -= f->p[at++] == '\n';
	if (at >= f->size)
		at = HWT_NO_OFF;
	file_close(f);
	return at;
}

/* What the library said, as a diagnosis. */
static int to_diag(struct ctf *x, const struct ctf_msg *m, struct hwt_diag *d)
{
	static const char line[] = "At line ";
	struct cur c = ctf_body(m);
	const char *what = ctf_text(&c), *file = ctf_text(&c), *rest;
	char text[256], path[4096], given[4096];
	unsigned long n;
	char *end;

	file = as_given(x, file, given, sizeof(given));
	snprintf(text, sizeof(text), "%s", what);
	no_addresses(text);
	if (m->klass == CTF_ERR_CLOCK)
		return diag_set(d, -HWT_E_CLOCK, E_CTF_CLOCK, file, HWT_NO_OFF, "its clock \"%s\" "
				"and that of the streams before it count from instants that are "
				"not known: left out", text);
	if (m->klass != CTF_ERR_META || snprintf(path, sizeof(path), "%s/metadata", file) >=
	    (int)sizeof(path))
		return diag_set(d, -HWT_E_FORMAT, E_CTF_STREAM, *file ? file : x->c->path,
				HWT_NO_OFF, "%s", text);
	if (strncmp(text, line, sizeof(line) - 1))
		return diag_set(d, -HWT_E_FORMAT, E_CTF_META, path, HWT_NO_OFF, "%s", text);
	n = strtoul(text + sizeof(line) - 1, &end, 10);
	rest = strstr(end, ": ");
	return diag_set(d, -HWT_E_FORMAT, E_CTF_META, path, line_off(path, n), "line %lu%s", n,
			rest ? rest : "");
}

static void note(struct ctf *x, const struct hwt_diag *d)
{
	notes_add(&x->c->notes, HWT_NOTE_CUT, d->id, d->file, d->off, "%s", d->text);
}

static int take(struct ctf *x, const struct ctf_msg *m, struct hwt_diag *first)
{
	struct hwt_diag d = { .off = HWT_NO_OFF };

	switch (m->type) {
	case CTF_TRACE:	return add_trace(x, m);
	case CTF_STREAM: return add_stream(x, m);
	case CTF_CLASS:	return add_class(x, m);
	case CTF_LOST:
		note_lost(x, m);
		break;
	case CTF_BACK:
		notes_add(&x->c->notes, HWT_NOTE_WARN, E_CTF_BACK, stream_file(x, m->stream),
			  HWT_NO_OFF, m->flags & CTF_F_PACKETS ?
			  "packet %" PRIu64 " begins at %" PRIu64 " ns, and the one before it ends "
			  "at %" PRIu64 ": there twice, or not in order" :
			  "event %" PRIu64 " has the time %" PRIu64 " ns, and one before it %"
			  PRIu64, m->count, m->lo, m->hi);
		break;
	case CTF_ERROR:
		to_diag(x, m, &d);
		note(x, &d);
		if (!first->id)
			*first = d;
		break;
	case CTF_END:
		x->c->nevents = m->count;
		x->c->time_start = m->lo;
		if (m->count > x->max_events)
			notes_add(&x->c->notes, HWT_NOTE_CUT, E_CTF_LIMIT, x->c->path, HWT_NO_OFF,
				  "more events than its files have bits: some take no room, and "
				  "would never end");
		break;
	}
	return 0;
}

int ctf_scan(struct ctf *x, struct hwt_diag *diag)
{
	const struct ctf_job job = { .dirs = x->dirs, .ndirs = x->ndirs, .scan = true,
		.max_events = x->max_events };
	struct hwt_diag first = { .off = HWT_NO_OFF }, died = { .off = HWT_NO_OFF };
	const struct ctf_msg *m;
	struct ctf_pipe *p;
	int rc = ctf_pipe_open(&p, &job);

	if (rc)
		return diag_set(diag, rc, E_CTF_LIB, x->c->path, HWT_NO_OFF,
				"the process for libbabeltrace2 can not be made: %s",
				strerror(-rc));
	do {
		ctf_pipe_release(p);
		rc = ctf_pipe_next(p, &m, &died);
		if (rc > 0 && take(x, m, &first))
			rc = diag_set(diag, -ENOMEM, 3, x->c->path, HWT_NO_OFF, "out of memory");
	} while (rc > 0 || rc == -EINTR);
	ctf_pipe_close(p);
	if (rc < 0 && died.id) {
		no_addresses(died.text);
		snprintf(died.file, sizeof(died.file), "%s", x->c->path);
		note(x, &died);
		if (!first.id)
			first = died;
		rc = 0;
	}
	if (rc || x->nstreams || !first.id)
		return rc;
	*diag = first;
	return first.code;
}
