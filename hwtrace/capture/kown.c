/* SPDX-License-Identifier: BSD-2-Clause */
#include "kown.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/uapi.h>

#include "../base/diag.h"

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define DIRTY "dirty:"
#define ALWAYS "clock.sync"	/* is in each recording */

static const struct { const char *name; uint32_t type; uint64_t config; } counters[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};

static int wrong(struct hwt_diag *diag, const char *at, size_t n, const char *why)
{
	return diag_set(diag, -HWT_E_FILTER, 183, NULL, HWT_NO_OFF, "%.*s: %s",
			n < 80 ? (int)n : 80, at, why);
}

/* "counter:NAME", or the type and config of perf_event_open(2): "counter:4/0x1a8". */
static int set_counter(struct kown *o, const char *p, size_t n, struct hwt_diag *diag)
{
	char *end;

	o->contexts |= 1u << HWT_CONTEXT_counter;
	for (unsigned i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (strlen(counters[i].name) == n && !memcmp(counters[i].name, p, n)) {
			o->counter_type = counters[i].type;
			o->counter_config = counters[i].config;
			return 0;
		}
	o->counter_type = (uint32_t)strtoul(p, &end, 0);
	if (!isdigit((unsigned char)*p) || *end != '/')
		return wrong(diag, p, n, "no counter; a name such as cycles, cache-misses, "
			     "page-faults, context-switches, or TYPE/CONFIG");
	p = end + 1;
	o->counter_config = strtoull(p, &end, 0);
	return isdigit((unsigned char)*p) && (!*end || *end == ',' || *end == ' ') ? 0 :
		wrong(diag, p, strcspn(p, ","), "no number");
}

static int one_context(struct kown *o, const char *p, size_t n, struct hwt_diag *diag)
{
	const struct hwt_abi_field *f;

	/* in each record anyway */
	if (n == 3 && (!memcmp(p, "pid", 3) || !memcmp(p, "tid", 3)))
		return 0;
	if (n > 8 && !memcmp(p, "counter:", 8))
		return set_counter(o, p + 8, n - 8, diag);
	for (unsigned i = 0; (f = hwt_abi_context_at(i)); i++)
		if (i != HWT_CONTEXT_counter && strlen(f->name) == n && !memcmp(f->name, p, n)) {
			o->contexts |= 1u << i;
			return 0;
		}
	return wrong(diag, p, n, "no context field; there are tid, vtid, comm, prio, cgroup, "
		     "preempt_count, aspace, and counter:NAME");
}

static int contexts(struct kown *o, const char *p, struct hwt_diag *diag)
{
	int rc = 0;

	while (!rc && *p) {
		size_t n;

		p += strspn(p, ", \t\n");
		n = strcspn(p, ", \t\n");
		if (n)
			rc = one_context(o, p, n, diag);
		p += n;
	}
	return rc;
}

/* "u32", "s8", "x64": false: it is none. */
static bool set_type(struct hwt_kmod_arg *a, struct hwt_abi_field *f, const char *p, size_t n)
{
	static const char *const bits[] = { "8", "16", "32", "64" };

	f->type = *p == 'u' ? HWT_ABI_u64 : *p == 's' ? HWT_ABI_s64 : HWT_ABI_x64;
	a->is_signed = *p == 's';
	for (unsigned i = 0; i < 4; i++)
		if (strchr("usx", *p) && n == 1 + strlen(bits[i]) &&
		    !memcmp(p + 1, bits[i], n - 1)) {
			a->bytes = (uint8_t)(1u << i);
			return true;
		}
	return false;
}

static struct hwt_abi_field *add_field(struct kown *o, const char *name, unsigned type)
{
	struct hwt_abi_own *e = &o->events[o->n];
	struct hwt_abi_field *f = &o->fields[o->n][e->nfields++];

	*f = (struct hwt_abi_field){ .name = name, .unit = "", .text = "", .type = (uint8_t)type,
		.size = 8, .offset = e->size };
	e->size = (uint16_t)(e->size + 8);
	return f;
}

/* NAME[:TYPE][@NUMBER] */
static int add_arg(struct kown *o, const char *p, size_t n, struct hwt_diag *diag)
{
	struct hwt_kmod_probe *k = &o->probes[o->n];
	struct hwt_kmod_arg *a = &k->arg[k->nargs];
	size_t name = strspn(p, WORD), type;
	const char *at = p;
	char *text = o->args[o->n][k->nargs];
	struct hwt_abi_field *f;

	if (k->nargs == (k->flags & HWT_KMOD_RETURN ? 1 : HWT_KMOD_ARGS))
		return wrong(diag, p, n, "too many values");
	if (!name || name > n || name >= sizeof(o->args[0][0]))
		return wrong(diag, p, n, "no name of an argument");
	memcpy(text, p, name);
	*a = (struct hwt_kmod_arg){ .bytes = 8, .number = (uint8_t)
		(k->flags & HWT_KMOD_RETURN ? 0 : k->nargs) };
	f = add_field(o, text, HWT_ABI_x64);
	p += name;
	if (*p == ':') {
		type = strspn(p + 1, WORD);
		if (!set_type(a, f, p + 1, type))
			return wrong(diag, at, n, "types are u8 to u64, s8 to s64, x8 to x64");
		p += 1 + type;
	}
	if (*p == '@' && isdigit((unsigned char)p[1]) && !(k->flags & HWT_KMOD_RETURN)) {
		a->number = (uint8_t)(p[1] - '0');
		p += 2;
	}
	k->nargs++;
	return p == at + n ? 0 : wrong(diag, at, n, "expected NAME:TYPE@NUMBER");
}

/* What stands in parentheses; @end: behind them. */
static int args(struct kown *o, const char *p, const char *end, struct hwt_diag *diag)
{
	int rc = 0;

	if (end[-1] != ')')
		return wrong(diag, p, (size_t)(end - p), "\"(\" without \")\"");
	for (p++, end--; !rc && p < end;) {
		size_t n;

		p += strspn(p, ", \t");
		n = strcspn(p, ",) \t");
		if (n && p < end)
			rc = add_arg(o, p, n, diag);
		p += n;
	}
	return rc;
}

/* kprobe:FUNCTION[+OFFSET][(ARGS)] or kretprobe:FUNCTION[/ACTIVE][(VALUE)], of @n bytes. */
static int add_probe(struct kown *o, const char *p, size_t n, bool ret, struct hwt_diag *diag)
{
	struct hwt_kmod_probe *k = &o->probes[o->n];
	struct hwt_abi_own *e = &o->events[o->n];
	const char *at = strchr(p, ':') + 1, *end = p + n;
	size_t name = strspn(at, WORD "."), whole;
	char *stop = NULL;
	int rc = 0;

	if (o->n == HWT_KMOD_PROBES)
		return wrong(diag, p, n, "more functions than a recording can have");
	if (!name || name >= sizeof(k->symbol))
		return wrong(diag, p, n, "no name of a function");
	memcpy(k->symbol, at, name);
	k->flags = ret ? HWT_KMOD_RETURN : 0;
	at += name;
	if (at < end && *at == (ret ? '/' : '+')) {
		unsigned long v = strtoul(at + 1, &stop, 0);

		if (!isdigit((unsigned char)at[1]))
			return wrong(diag, p, n, "no number");
		if (ret)
			k->active = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
		else
			k->offset = v;
		at = stop;
	}
	whole = ret ? (size_t)(strchr(p, ':') + 1 + name - p) : (size_t)(at - p);
	snprintf(o->names[o->n], sizeof(o->names[0]), "%.*s", (int)whole, p);
	*e = (struct hwt_abi_own){ .name = o->names[o->n], .id = (uint16_t)(HWT_ID_DIRTY + o->n),
		.size = sizeof(struct hwt_rec), .fields = o->fields[o->n] };
	add_field(o, "ip", HWT_ABI_x64);
	if (at < end && *at == '(')
		rc = args(o, at, end, diag);
	else if (at != end)
		rc = wrong(diag, p, n, ret ? "expected kretprobe:FUNCTION/ACTIVE(NAME:TYPE)" :
			   "expected kprobe:FUNCTION+OFFSET(NAME:TYPE@NUMBER, ...)");
	else if (ret)
		rc = add_arg(o, "ret:s64", 7, diag);
	o->n += !rc;
	return rc;
}

/* Bytes up to the end of an item: a comma or line's end outside of parentheses and strings. */
static size_t item(const char *p)
{
	unsigned depth = 0;
	bool quoted = false;
	size_t n = 0;

	for (; p[n] && (p[n] != '\n' || depth); n++) {
		if (p[n] == '"')
			quoted = !quoted;
		if (quoted)
			continue;
		if (p[n] == ',' && !depth)
			break;
		if (strchr("({", p[n]))
			depth++;
		else if (strchr(")}", p[n]) && depth)
			depth--;
	}
	return n;
}

/* The pattern behind "dirty:". */
static int add_dirty(struct kown *o, const char *p, struct hwt_diag *diag)
{
	size_t n = strcspn(p, " \t\r\n,#");
	char text[256];

	if (n >= sizeof(text))
		return wrong(diag, p, n, "no name of a tracepoint");
	snprintf(text, sizeof(text), "%.*s", (int)n, p);
	return strlist_add(&o->dirty, text) ?
		diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory") : 0;
}

/* A provider records something virtual: what is there anyway, if nothing is asked for. */
static int add_always(struct kown *o, struct hwt_diag *diag)
{
	size_t size = strlen(o->rest) + sizeof("\n" ALWAYS);
	char *text = malloc(size);

	if (!text)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	snprintf(text, size, "%s%s" ALWAYS, o->dirty.n ? o->rest : "", o->dirty.n ? "\n" : "");
	free(o->rest);
	o->rest = text;
	return 0;
}

/* Functions become blanks in the rest, so that all else is where it was. */
static int events(struct kown *o, struct hwt_diag *diag)
{
	char *p = o->rest;
	bool others = false;
	int rc = 0;

	while (!rc && *(p += strspn(p, ", \t\n"))) {
		bool ret = !strncmp(p, "kretprobe:", 10);
		size_t n = item(p), used = n;

		if (*p == '#') {
			p += strcspn(p, "\n");
			continue;
		}
		while (used && strchr(" \t", p[used - 1]))
			used--;
		if (ret || !strncmp(p, "kprobe:", 7)) {
			rc = add_probe(o, p, used, ret, diag);
			memset(p, ' ', n);
		} else if (!strncmp(p, DIRTY, strlen(DIRTY))) {
			rc = add_dirty(o, p + strlen(DIRTY), diag);
		} else {
			others = true;
		}
		p += n;
	}
	return rc || others || !(o->n + o->dirty.n) ? rc : add_always(o, diag);
}

int kown_new(struct kown **out, const char *text, const char *list, struct hwt_diag *diag)
{
	struct kown *o = calloc(1, sizeof(*o));
	int rc;

	if (o)
		o->rest = strdup(text);
	if (!o || !o->rest)
		rc = diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	else
		rc = events(o, diag);
	if (!rc && list)
		rc = contexts(o, list, diag);
	if (rc) {
		kown_free(o);
		return rc;
	}
	*out = o;
	return 0;
}

void kown_free(struct kown *o)
{
	if (!o)
		return;
	strlist_free(&o->dirty);
	free(o->rest);
	free(o);
}
