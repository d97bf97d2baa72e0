/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's recorder in the guest: record OUT.hwt EVENT BYTES [snapshot|all|module] PROGRAM...,
 * "module" by the kernel module, and all CPUs.
 * Kernel events and ELF files need libraries that are not there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/capture.h>

#include "hwtrace/capture/addr_filter.h"
#include "hwtrace/capture/dirty.h"
#include "hwtrace/capture/hwprov.h"
#include "hwtrace/image/obj.h"

const char *hwt_provider_name(unsigned provider)
{
	return NULL;
}

int kprov_new(struct kprov **out, enum hwt_provider which, const struct kprov_want *want)
{
	return -ENOENT;
}

int kprov_dirty(struct kprov **out, const struct kprov_want *want)
{
	return -ENOENT;
}

int dirty_new(struct dirty **out, const struct strlist *patterns, unsigned id, unsigned max,
	      struct hwt_diag *diag)
{
	return -ENOENT;
}

void dirty_free(struct dirty *d)
{
}

const struct hwt_abi_own *dirty_own(const struct dirty *d, unsigned *n)
{
	*n = 0;
	return NULL;
}

int addr_filter(const char *text, const char *kallsyms, char *out, size_t size,
		struct hwt_diag *diag)
{
	return -ENOENT;
}

int obj_open(struct obj **out, const void *p, size_t n, const char *path, struct notes *ns,
	     struct hwt_diag *diag)
{
	return -ENOENT;
}

void obj_close(struct obj *o)
{
}

size_t obj_build_id(struct obj *o, uint8_t *id)
{
	return 0;
}

static void note(void *arg, const struct hwt_diag *d)
{
	printf("# note: %s\n", d->text);
}

int main(int argc, char **argv)
{
	struct hwt_record_kernel_opts o = { .size = sizeof(o), .force = true, .note = note };
	struct hwt_record_kernel_result r;
	struct hwt_diag d = { 0 };
	int rc, at = 4;

	if (argc < 5)
		return 2;
	o.output = argv[1];
	o.trace = argv[2];
	o.trace_bytes = strtoull(argv[3], NULL, 10);
	o.snapshot = !strcmp(argv[at], "snapshot");
	o.via = !strcmp(argv[at], "module") ? HWT_VIA_MODULE : HWT_VIA_PERF;
	o.all = !strcmp(argv[at], "all") || o.via == HWT_VIA_MODULE;
	at += o.snapshot || o.all;
	o.argv = argv + at;
	rc = hwt_record_kernel(&o, &r, &d);
	printf("record: %d %s: trace %llu events %llu end %d code %d lost %llu\n", rc, d.text,
	       (unsigned long long)r.trace_bytes, (unsigned long long)r.events, r.end, r.code,
	       (unsigned long long)r.lost);
	return rc != 0;
}
