/* SPDX-License-Identifier: BSD-2-Clause */
/* hwt_providers: which kernel events can be recorded here, by whom, and why not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/abi.h>
#include <hwtrace/capture.h>
#include <hwtrace/uapi.h>

#include "../base/diag.h"
#include "../virt/virt.h"
#include "device.h"
#include "dirty.h"
#include "kprov.h"
#include "tracefs.h"

struct hwt_providers {
	int fd;			/* of the module, -1 */
	struct hwt_kmod_info info;
	const char *root;	/* of tracefs, NULL */
	struct hwt_diag why[HWT_PROVIDERS];	/* code 0: it can be used */
};

int hwt_providers_new(struct hwt_providers **out)
{
	struct hwt_providers *p = calloc(1, sizeof(*p));
	struct hwt_diag *why;
	char dir[TRACEFS_DIR];

	if (!p)
		return -ENOMEM;
	p->fd = -1;
	why = &p->why[HWT_PROVIDER_MODULE];
	why->code = device_open(&p->fd, &p->info, why);
	why = &p->why[HWT_PROVIDER_TRACEFS];
	why->code = tracefs_instance(dir, "", why);
	if (!why->code)
		tracefs_remove(dir);
	why = &p->why[HWT_PROVIDER_PERF];
	why->code = pring_try(false, why);
	p->root = tracefs_root();
	*out = p;
	return 0;
}

void hwt_providers_free(struct hwt_providers *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

static void ask_module(const struct hwt_providers *p, unsigned id, struct hwt_offer *o)
{
	struct hwt_kmod_event e = device_event(p->fd, &p->info, id);

	o->here = device_gives(&p->info, &e) || e.flags & HWT_KMOD_EV_OWN;
	if (!o->here)
		snprintf(o->why, sizeof(o->why), "%s", e.flags & HWT_KMOD_EV_HERE ?
			 "not of own tasks, but of the machine: not for this user" :
			 e.flags ? "this kernel can not give it" :
			 "not built into the module, or not given by this kernel");
}

/* Adds a name to a list, as long as there is room for it. */
static void add(char *list, size_t size, const char *system, const char *name)
{
	size_t n = strlen(list);

	if (n + strlen(system) + strlen(name) + 3 < size)
		snprintf(list + n, size - n, "%s%s:%s", n ? " " : "", system, name);
}

static bool has_tracepoint(const struct hwt_providers *p, const char *system, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/events/%s/%s/format", p->root, system, name);
	return !access(path, R_OK);
}

static void ask_tracefs(const struct hwt_providers *p, unsigned id, struct hwt_offer *o)
{
	const char *system, *name;
	const struct virt_map *m;
	char absent[96] = "";

	/* these are no events of the kernel: the recorder itself writes them */
	o->here = id == HWT_ID_stream_lost || id == HWT_ID_clock_sync;
	for (unsigned i = 0; (m = virt_at(VIRT_LINUX, i, &system, &name)); i++) {
		if (virt_id(m) != id || strchr(name, '*'))
			continue;
		if (has_tracepoint(p, system, name))
			add(o->from, sizeof(o->from), system, name);
		else
			add(absent, sizeof(absent), system, name);
	}
	o->here |= *o->from != 0;
	if (!o->here && *absent)
		snprintf(o->why, sizeof(o->why), "this kernel has no tracepoint %s", absent);
	else if (!o->here)
		snprintf(o->why, sizeof(o->why), "no tracepoint of Linux tells it");
}

/* Tracepoints where they can be read; of own tasks also some without. */
static void ask_perf(const struct hwt_providers *p, unsigned id, struct hwt_offer *o)
{
	if (p->root)
		ask_tracefs(p, id, o);
	o->here = (o->here && id != HWT_ID_clock_sync) || pring_tells(id);
	if (o->here)
		*o->why = 0;
	else if (!*o->why)
		snprintf(o->why, sizeof(o->why), "perf has no record of it");
}

void hwt_providers_ask(const struct hwt_providers *p, unsigned provider, unsigned id,
		       struct hwt_offer *o)
{
	const struct hwt_diag *why;

	*o = (struct hwt_offer){ .here = false };
	if (provider >= HWT_PROVIDERS)
		return;
	why = &p->why[provider];
	if (why->code)
		snprintf(o->why, sizeof(o->why), "%.150s", why->text);
	else if (!id)
		o->here = true;
	else if (provider == HWT_PROVIDER_MODULE)
		ask_module(p, id, o);
	else if (provider == HWT_PROVIDER_TRACEFS)
		ask_tracefs(p, id, o);
	else
		ask_perf(p, id, o);
}

#define ALL_MAX		20000	/* tracepoints; kernels have some thousands */

struct hwt_tracepoints {
	struct dirty *d;
};

int hwt_tracepoints_new(struct hwt_tracepoints **out, const char *const *patterns, unsigned n,
			struct hwt_diag *diag)
{
	struct hwt_tracepoints *t = calloc(1, sizeof(*t));
	struct strlist l = { 0 };
	int rc = t ? 0 : -ENOMEM;

	for (unsigned i = 0; i < n && !rc; i++)
		rc = strlist_add(&l, patterns[i]);
	if (rc)
		diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "no memory");
	else
		rc = dirty_new(&t->d, &l, HWT_ID_DIRTY, ALL_MAX, diag);
	strlist_free(&l);
	if (rc)
		free(t);
	else
		*out = t;
	return rc;
}

const struct hwt_abi_own *hwt_tracepoint_at(const struct hwt_tracepoints *t, unsigned i)
{
	unsigned n;
	const struct hwt_abi_own *own = dirty_own(t->d, &n);

	return i < n ? &own[i] : NULL;
}

void hwt_tracepoints_free(struct hwt_tracepoints *t)
{
	if (!t)
		return;
	dirty_free(t->d);
	free(t);
}
