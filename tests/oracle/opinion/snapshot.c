/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A snapshot directory (Arm's "CoreSight Access Library" layout: snapshot.ini, an ini for each
 * device, trace.ini) of a native capture with ETMv4.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "opinion.h"

__attribute__((format(printf, 2, 3)))
static FILE *open_in(const char *dir, const char *fmt, ...)
{
	char name[64], path[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return NULL;
	return fopen(path, "wb");
}

static int shut(FILE *f)
{
	int bad = !f || ferror(f);

	return (f && fclose(f)) || bad ? -EIO : 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct code_page *const *x = a, *const *y = b;

	return ((*x)->addr > (*y)->addr) - ((*x)->addr < (*y)->addr);
}

/* Pages in a row are one dump, as an instruction may lie in two; bytes that never ran are zero. */
struct dumps { uint64_t addr[1024]; unsigned n; };

static int put_dumps(const char *dir, const struct code *code, struct dumps *d)
{
	struct code_page **pg = calloc(code->n + 1, sizeof(*pg));
	FILE *f = NULL;
	size_t n = 0;
	int err = pg ? 0 : -ENOMEM;

	for (size_t i = 0; pg && i < code->slots; i++) {
		if (code->page[i])
			pg[n++] = code->page[i];
	}
	if (pg)
		qsort(pg, n, sizeof(*pg), by_addr);
	for (size_t i = 0; i < n && !err; i++) {
		if (!i || pg[i - 1]->addr + CODE_PAGE != pg[i]->addr) {
			err = f ? shut(f) : 0;
			if (d->n == sizeof(d->addr) / sizeof(d->addr[0]))
				err = -E2BIG;
			f = err ? NULL : open_in(dir, "dump%u.bin", d->n);
			if (!f)
				err = err ? err : -EIO;
			else
				d->addr[d->n++] = pg[i]->addr;
		}
		if (!err)
			fwrite(pg[i]->byte, CODE_PAGE, 1, f);
	}
	if (f && shut(f))
		err = -EIO;
	free(pg);
	return err;
}

static int put_core(const char *dir, unsigned k, const struct dumps *d)
{
	FILE *f = open_in(dir, "core%u.ini", k);

	if (!f)
		return -EIO;
	fprintf(f, "[device]\nname=CPU_%u\nclass=core\ntype=Cortex-A57\n\n[regs]\n", k);
	for (unsigned i = 0; i < d->n; i++)
		fprintf(f, "\n[dump%u]\nspace=0\naddress=0x%" PRIx64 "\nfile=dump%u.bin\n", i,
			d->addr[i], i);
	return shut(f);
}

static int put_unit(const char *dir, unsigned k, const struct trace_cfg *g)
{
	FILE *f = open_in(dir, "unit%u.ini", k);

	if (!f)
		return -EIO;
	fprintf(f, "[device]\nname=ETM_%u\nclass=trace_source\ntype=ETM4\n\n[regs]\n", k);
	fprintf(f, "TRCCONFIGR(id:0x4)=0x%08x\nTRCTRACEIDR(id:0x10)=0x%08x\n", g->r.etm4.configr,
		g->r.etm4.traceidr);
	fprintf(f, "TRCIDR0(id:0x78)=0x%08x\nTRCIDR1(id:0x79)=0x%08x\nTRCIDR2(id:0x7A)=0x%08x\n",
		g->r.etm4.idr0, g->r.etm4.idr1, g->r.etm4.idr2);
	fprintf(f, "TRCIDR8(id:0x60)=0x%08x\nTRCIDR9(id:0x61)=0x%08x\nTRCIDR10(id:0x62)=0x%08x\n",
		g->r.etm4.idr8, g->r.etm4.idr9, g->r.etm4.idr10);
	fprintf(f, "TRCIDR11(id:0x63)=0x%08x\nTRCIDR12(id:0x64)=0x%08x\nTRCIDR13(id:0x65)=0x%08x\n",
		g->r.etm4.idr11, g->r.etm4.idr12, g->r.etm4.idr13);
	fprintf(f, "TRCDEVARCH=0x%08x\n", g->r.etm4.devarch);
	return shut(f);
}

static int put_trace(const char *dir, const struct capture *c)
{
	int err = 0;

	for (size_t i = 0; i < c->nbufs && !err; i++) {
		const struct trace_buf *b = &c->bufs[i];
		FILE *f = open_in(dir, "buffer%zu.bin", i);

		for (size_t k = 0; f && k < b->nspans; k++)
			fwrite(b->spans[k].p, (size_t)b->spans[k].size, 1, f);
		err = shut(f);
	}
	return err;
}

/* Which unit is of which core, and in which buffer its trace is. */
static int put_index(const char *dir, const struct capture *c, unsigned units)
{
	FILE *f = open_in(dir, "snapshot.ini");
	unsigned k = 0;
	int err;

	if (!f)
		return -EIO;
	fprintf(f, "[snapshot]\nversion=1.0\n\n[device_list]\n");
	for (k = 0; k < units; k++)
		fprintf(f, "device%u=core%u.ini\ndevice%u=unit%u.ini\n", 2 * k, k, 2 * k + 1, k);
	fprintf(f, "\n[trace]\nmetadata=trace.ini\n");
	err = shut(f);
	f = err ? NULL : open_in(dir, "trace.ini");
	if (!f)
		return -EIO;
	fprintf(f, "[trace_buffers]\nbuffers=");
	for (size_t i = 0; i < c->nbufs; i++)
		fprintf(f, "%sbuffer%zu", i ? "," : "", i);
	for (size_t i = 0; i < c->nbufs; i++)
		fprintf(f, "\n\n[buffer%zu]\nname=BUF_%zu\nfile=buffer%zu.bin\nformat=%s\n", i, i,
			i, c->bufs[i].framing == FRAMING_NONE ? "source_data" : "coresight");
	fprintf(f, "\n[core_trace_sources]\n");
	for (k = 0; k < units; k++)
		fprintf(f, "CPU_%u=ETM_%u\n", k, k);
	fprintf(f, "\n[source_buffers]\n");
	k = 0;
	for (size_t i = 0; i < c->nbufs; i++) {
		for (size_t g = 0; g < c->bufs[i].ncfgs; g++)
			fprintf(f, "ETM_%u=BUF_%zu\n", k++, i);
	}
	return shut(f);
}

int snapshot_write(const char *dir, const struct capture *c, const struct code *code)
{
	struct dumps dumps = { .n = 0 };
	unsigned k = 0;
	int err;

	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return -errno;
	err = put_dumps(dir, code, &dumps);
	for (size_t i = 0; i < c->nbufs && !err; i++) {
		for (size_t g = 0; g < c->bufs[i].ncfgs && !err; g++, k++) {
			err = put_core(dir, k, &dumps);
			if (!err)
				err = put_unit(dir, k, &c->bufs[i].cfgs[g]);
		}
	}
	if (!err)
		err = put_trace(dir, c);
	return err ? err : put_index(dir, c, k);
}
