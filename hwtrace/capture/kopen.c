/* SPDX-License-Identifier: BSD-2-Clause */
/* Who can record what was asked for. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../base/diag.h"
#include "dirty.h"
#include "kown.h"
#include "krecord.h"
#include "native.h"
#include "perf_open.h"
#include "ticks.h"

#define NAME_MAX_SIZE	600	/* bytes of an event's name with what is put around it */

void kprov_note(const struct kprov_want *want, unsigned id, const char *fmt, ...)
{
	struct hwt_diag d = { .off = HWT_NO_OFF, .id = (uint16_t)id };
	va_list ap;

	if (!want->note)
		return;
	if (want->diag && id && want->diag->id == id)
		d.code = want->diag->code;	/* told before as a refusal */
	va_start(ap, fmt);
	vsnprintf(d.text, sizeof(d.text), fmt, ap);
	va_end(ap);
	want->note(want->arg, &d);
}

static bool names_event(const struct hwt_filter *f, unsigned id)
{
	unsigned k;

	for (unsigned i = 0; (k = hwt_filter_event(f, i)); i++)
		if (k == id)
			return true;
	return false;
}

const struct hwt_filter *kprov_condition(const struct kprov_want *want, unsigned id)
{
	return want->narrow && names_event(want->narrow, id) ? want->narrow : want->events;
}

/* A condition alone is one for each event of -k: "pid == 12" beside "sched.switch where ...". */
static bool is_condition(const char *text)
{
	size_t n = strspn(text, " \t\n(!");
	size_t end = n + strcspn(text + n, " \t\n=!<>~&,:()");

	if (!strncmp(text + n, "ctx.", 4) || !strncmp(text + n, "dirty:", 6))
		return text[n] == 'c';
	return !memchr(text + n, '.', end - n) && !memchr(text + n, '*', end - n);
}

static const char *event_name(const struct krec *k, unsigned id)
{
	const struct hwt_abi_own *own;
	unsigned n;

	if (id < HWT_ID_DIRTY)
		return hwt_abi_event_by_id(id)->name;
	own = dirty_own(k->dirty, &n);
	return own[id - own->id].name;
}

static int narrow_new(struct krec *k, const struct hwt_filter_opts *fo)
{
	size_t n = 0, size;
	unsigned id, count = 0;
	char *text;
	int rc;

	if (!is_condition(k->o->narrow))
		return hwt_filter_new_opts(&k->narrow, k->o->narrow, fo, k->want.diag);
	while (hwt_filter_event(k->events, count))
		count++;
	size = count * (strlen(k->o->narrow) + NAME_MAX_SIZE) + 1;
	text = malloc(size);
	if (!text)
		return diag_set(k->want.diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	for (unsigned i = 0; (id = hwt_filter_event(k->events, i)); i++)
		/* beside dirty events it is there for the provider's sake */
		if (id != HWT_ID_clock_sync || !k->dirty)
			n += (size_t)snprintf(text + n, size - n, "%s%s%s where (%s)",
					      n ? ", " : "", id < HWT_ID_DIRTY ? "" : "dirty:",
					      event_name(k, id), k->o->narrow);
	rc = hwt_filter_new_opts(&k->narrow, text, fo, k->want.diag);
	free(text);
	return rc;
}

/* An event has one condition: that of the events or that of the filter. */
static int one_condition(struct krec *k)
{
	struct hwt_bpf_insn v[64];
	unsigned id;

	for (unsigned i = 0; (id = hwt_filter_event(k->narrow, i)); i++) {
		const char *name = event_name(k, id);
		struct hwt_diag d;
		int n;

		if (!names_event(k->events, id))
			return diag_set(k->want.diag, -HWT_E_FILTER, 183, NULL, HWT_NO_OFF,
					"the filter names %s, which is not recorded", name);
		n = hwt_filter_bpf(k->events, id, v, 64, &d);
		if (n < 1 || !kprov_returns(v))
			return diag_set(k->want.diag, -HWT_E_FILTER, 183, NULL, HWT_NO_OFF,
					"%s has a condition already", name);
	}
	return 0;
}

static int trigger_new(struct krec *k, const char *arch)
{
	return k->o->trigger ? hwt_filter_new_for(&k->trigger, k->o->trigger, arch, k->want.diag) :
		0;
}

static int filters(struct krec *k)
{
	struct utsname u = { .machine = "" };
	struct hwt_filter_opts fo = { .size = sizeof(fo), .arch = u.machine };
	int rc;

	uname(&u);
	if (!k->o->events)
		return trigger_new(k, u.machine);
	rc = kown_new(&k->own, k->o->events ? k->o->events : "", k->o->contexts, k->want.diag);
	if (!rc && (k->own->n || k->own->contexts))
		k->want.own = k->own;
	if (!rc && k->own->dirty.n)
		rc = dirty_new(&k->dirty, &k->own->dirty, HWT_ID_DIRTY + k->own->n, DIRTY_MAX,
			       k->want.diag);
	k->want.beside = k->dirty != NULL;
	if (!rc) {
		fo.contexts = k->own->contexts;
		if (k->dirty)
			fo.own = dirty_own(k->dirty, &fo.nown);
		rc = hwt_filter_new_opts(&k->events, k->own->rest, &fo, k->want.diag);
	}
	if (!rc && k->o->narrow)
		rc = narrow_new(k, &fo);
	if (!rc && k->narrow)
		rc = one_condition(k);
	if (!rc)
		rc = trigger_new(k, u.machine);
	k->want.events = k->events;
	k->want.narrow = k->narrow;
	return rc;
}

/* The first provider that can be used; why the better ones can not is said. */
static int choose(struct krec *k, struct kprov **p, const struct kprov_want *want)
{
	enum hwt_provider only = (enum hwt_provider)(k->o->provider - 1);
	char why[256] = "";
	int rc = -ENOENT;

	for (unsigned i = 0; i < HWT_PROVIDERS; i++) {
		if (k->o->provider && only != (enum hwt_provider)i)
			continue;
		rc = kprov_new(p, (enum hwt_provider)i, want);
		if (!rc) {
			k->out->provider = (uint8_t)i;
			break;
		}
		/* what is wrong with what was asked for is so for all */
		if (rc == -HWT_E_FILTER || rc == -ENOMEM || k->want.diag->id == 183)
			break;
		snprintf(why + strlen(why), sizeof(why) - strlen(why), "%s%.100s",
			 *why ? "; " : "", k->want.diag->text);
	}
	if (rc && *why && k->want.diag->id != 183)
		diag_set(k->want.diag, rc, k->want.diag->id, NULL, HWT_NO_OFF, "%s", why);
	if (!rc && *why)
		kprov_note(&k->want, 0, "recorded by %s (%s)", hwt_provider_name(k->out->provider),
			   why);
	if (!rc && (*p)->ops->lacks)
		kprov_note(&k->want, 0, "%s: %s", hwt_provider_name(k->out->provider),
			   (*p)->ops->lacks);
	return rc;
}

/* The user's own mistake, which no other source makes good. */
static bool mistake(const struct krec *k, int rc)
{
	return rc == -HWT_E_FILTER || rc == -ENOMEM || k->want.diag->id == 183 ||
		k->want.diag->id == 186 || k->want.diag->id == 187;
}

/* The tracer's records must be on the counter of the trace. */
static int one_counter(const struct krec *k)
{
	if (!k->p || k->out->provider != HWT_PROVIDER_TRACEFS || k->want.perf_clock ||
	    !strcmp(TICKS_COUNTER, "tsc"))
		return 0;
	return diag_set(k->want.diag, -EOPNOTSUPP, 185, NULL, HWT_NO_OFF, "%s: the tracer's clock "
			"and that of the trace can not be joined on this kernel", k->o->trace);
}

/* What can be had of both. What can not is said, and the other one is recorded. */
static int open_sources(struct krec *k)
{
	struct hwt_diag why = { .code = 0 };
	int rc = 0;

	if (k->o->trace && perf_open_clock(&k->perf_clock))
		k->want.perf_clock = &k->perf_clock;
	if (k->o->events) {
		rc = choose(k, &k->p, &k->want);
		if (rc && (!k->o->trace || mistake(k, rc)))
			return rc;
		why = *k->want.diag;
	}
	if (!k->o->trace)
		return 0;
	if (rc)
		k->want.events = NULL;
	k->hw_want = (struct hw_want){ .k = &k->want, .event = k->o->trace,
		.filters = k->o->trace_filters, .nfilters = k->o->ntrace_filters,
		.bytes = k->o->trace_bytes, .on_exec = k->o->argv && !k->o->all };
	rc = one_counter(k);
	if (!rc)
		rc = hwprov_new(&k->hw, (enum hwt_via)k->o->via, &k->hw_want);
	if (rc && (!k->p || mistake(k, rc)))
		return rc;
	k->out->no_trace = rc != 0;
	k->out->no_events = k->o->events && !k->p;
	if (rc)
		kprov_note(&k->want, k->want.diag->id, "no trace, only kernel events: %.180s",
			   k->want.diag->text);
	else if (k->out->no_events)
		kprov_note(&k->want, why.id, "no kernel events, only trace: %.180s", why.text);
	k->want.diag->text[0] = 0;
	return 0;
}

/* Beside the provider that records, or of those there are. */
static int open_watch(struct krec *k)
{
	k->trigger_want = k->want;
	k->trigger_want.events = k->trigger;
	k->trigger_want.narrow = NULL;
	k->trigger_want.own = NULL;
	k->trigger_want.beside = false;
	k->trigger_want.overwrite = false;
	k->trigger_want.tag = "b";
	return !k->p ? choose(k, &k->watch, &k->trigger_want) :
		kprov_new(&k->watch, (enum hwt_provider)k->out->provider, &k->trigger_want);
}

/* Tracepoints that are no virtual events. */
static int open_beside(struct krec *k)
{
	int rc;

	k->dirty_want = k->want;
	k->dirty_want.dirty = k->dirty;
	k->dirty_want.tag = "d";
	rc = kprov_dirty(&k->beside, &k->dirty_want);
	/* the module reads CLOCK_MONOTONIC_RAW, too: that leads to its counter */
	k->dirty_want.sync = !rc && strcmp(k->beside->counter, k->p->counter) &&
		k->out->provider != HWT_PROVIDER_MODULE;
	return rc;
}

int krec_open(struct krec *k)
{
	int rc = filters(k);

	if (!rc)
		rc = open_sources(k);
	if (!rc && k->trigger)
		rc = open_watch(k);
	if (!rc && k->dirty && k->p)
		rc = open_beside(k);
	if (!rc && !k->o->snapshot)
		rc = native_create(&k->w, k->o->output, k->o->force, k->want.diag);
	return rc;
}
