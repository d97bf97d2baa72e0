/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots of others: buffers, units, trace ids and memory must be those that OpenCSD's own
 * lister reports for the same directory.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "hwtrace/source/capture.h"

#define MAX 64

struct peer {
	char buf[64];			/* trace buffer in use */
	struct { char proto[16]; unsigned id; } unit[MAX];
	struct { uint64_t lo, hi; } mem[MAX];
	unsigned units, mems, errors;
};

static void peer_line(struct peer *p, const char *line)
{
	const char *s = strstr(line, "FileAcc; Range::");

	if (sscanf(line, "Using %63s as trace source", p->buf) == 1)
		return;
	if (s && p->mems < MAX) {
		unsigned long long lo, hi;

		if (sscanf(s, "FileAcc; Range::%llx:%llx", &lo, &hi) == 2) {
			p->mem[p->mems].lo = lo;
			p->mem[p->mems++].hi = hi;
		}
		return;
	}
	s = strstr(line, "Protocol printer ");
	if (s && p->units < MAX && sscanf(s, "Protocol printer %15s on Trace ID %x",
	    p->unit[p->units].proto, &p->unit[p->units].id) == 2)
		p->units++;
	p->errors += strstr(line, "OCSD_ERR_") != NULL;
}

/* What the lister says before it lists packets. */
static void ask_peer(struct peer *p, const char *dir, const char *buf)
{
	char cmd[8192], line[4096], *full;
	FILE *f;

	memset(p, 0, sizeof(*p));
	full = realpath(dir, NULL);
	assert_non_null(full);
	/* some versions leave a log where they are started */
	snprintf(cmd, sizeof(cmd), "cd \"${TMPDIR:-/tmp}\" && trc_pkt_lister -ss_dir '%s' -decode "
		 "-logstdout -src_name '%s' 2>&1", full, buf);
	free(full);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && strncmp(line, "Idx:", 4) &&
	       strncmp(line, "Gen_Info : ====", 15))
		peer_line(p, line);
	pclose(f);	/* ends it at its next write */
}

static unsigned proto_of(const char *peer)
{
	static const struct { const char *name; unsigned proto; } t[] = {
		{ "ETMV3", HWT_PROTO_ETM3 }, { "PTM", HWT_PROTO_PTM }, { "ETMV4I", HWT_PROTO_ETM4 },
		{ "ETE", HWT_PROTO_ETE }, { "STM", HWT_PROTO_STM }, { "ITM", HWT_PROTO_ITM },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (!strcmp(peer, t[i].name))
			return t[i].proto;
	fail_msg("peer's protocol %s", peer);
	return 0;
}

static unsigned nsnap, nbuf, nunit, nmem;

static void compare_units(const struct trace_buf *b, const struct peer *p, const char *dir)
{
	for (unsigned i = 0; i < p->units; i++) {
		bool found = false;

		/* for unformatted trace the lister calls the only source id 0 */
		for (size_t k = 0; k < b->ncfgs; k++)
			found |= b->cfgs[k].proto == proto_of(p->unit[i].proto) &&
				(b->framing == FRAMING_NONE ||
				 b->cfgs[k].trace_id == p->unit[i].id);
		if (!found)
			fail_msg("%s: %s: no %s with id 0x%x", dir, b->name, p->unit[i].proto,
				 p->unit[i].id);
		nunit++;
	}
	/* it makes no printer for a unit whose decoder it can not make, and says so */
	if (b->framing == FRAMING_MEM && p->units != b->ncfgs && !p->errors)
		fail_msg("%s: %s: %u units, %zu here", dir, b->name, p->units, b->ncfgs);
}

static void compare_memory(const struct capture *c, const struct peer *p, const char *dir)
{
	struct hwt_map m;

	for (unsigned i = 0; i < p->mems; i++) {
		bool found = false;

		for (size_t k = 0; hwt_image_map_at(c->image, k, &m) && !found; k++)
			found = m.addr == p->mem[i].lo && m.addr + m.size - 1 == p->mem[i].hi;
		if (!found)
			fail_msg("%s: no memory at 0x%llx..0x%llx", dir,
				 (unsigned long long)p->mem[i].lo,
				 (unsigned long long)p->mem[i].hi);
		nmem++;
	}
	for (size_t k = 0; p->mems && hwt_image_map_at(c->image, k, &m); k++) {
		bool found = false;

		for (unsigned i = 0; i < p->mems; i++)
			found |= m.addr == p->mem[i].lo;
		if (!found)
			fail_msg("%s: 0x%llx is not in the peer's memory", dir,
				 (unsigned long long)m.addr);
	}
}

static void compare(const char *dir)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_diag d = { .text = "" };
	struct capture *c;
	struct peer p;

	assert_int_equal(source_snapshot.probe(NULL, dir), 2);
	assert_int_equal(capture_new(&c), 0);
	if (source_snapshot.open(c, NULL, dir, &o, &d))
		fail_msg("%s: %s", dir, d.text);
	for (size_t i = 0; i < c->nbufs; i++) {
		const struct trace_buf *b = &c->bufs[i];

		ask_peer(&p, dir, b->name);
		assert_string_equal(p.buf, b->name);
		/* one session of ete-wfet is an empty file */
		if (b->nspans != 1 && !(c->notes.n && c->notes.v[0].diag.id == 5))
			fail_msg("%s: %s: %zu files", dir, b->name, b->nspans);
		compare_units(b, &p, dir);
		compare_memory(c, &p, dir);
		nbuf++;
	}
	nsnap++;
	capture_free(c);
}

static const char *captures(void)
{
	const char *s = getenv("HWT_CAPTURES");

	return s ? s : "../shared/captures";
}

static void all(void **state)
{
	static const char *const sub[] = { "arm", "ete" };
	char path[2048];
	struct stat st;

	for (unsigned i = 0; i < 2; i++) {
		struct dirent **v;
		int n;

		snprintf(path, sizeof(path), "%s/%s", captures(), sub[i]);
		n = scandir(path, &v, NULL, alphasort);
		for (int k = 0; k < n; k++) {
			snprintf(path, sizeof(path), "%s/%s/%s/in/snapshot.ini", captures(), sub[i],
				 v[k]->d_name);
			if (!stat(path, &st)) {
				*strrchr(path, '/') = 0;
				compare(path);
			}
			free(v[k]);
		}
		if (n >= 0)
			free(v);
	}
	assert_true(nsnap >= 24);
	printf("# %u snapshots, %u buffers, %u units, %u memory ranges as trc_pkt_lister\n", nsnap,
	       nbuf, nunit, nmem);
}

/* which core a unit belongs to is in the text of the snapshots only; read by hand */
static void juno(void **state)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	const struct trace_cfg *g;
	struct capture *c;
	char path[2048];

	snprintf(path, sizeof(path), "%s/arm/juno_r1_1/in", captures());
	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(source_snapshot.open(c, NULL, path, &o, NULL), 0);
	assert_int_equal(c->nbufs, 2);
	assert_int_equal(c->bufs[0].ncfgs, 6);
	g = &c->bufs[0].cfgs[4];
	assert_string_equal(g->name, "ETM_4");
	assert_string_equal(g->core, "Cortex-A57");
	assert_int_equal(g->cpu, 4);
	assert_int_equal(g->arch, 8);
	assert_int_equal(g->profile, 'A');
	assert_int_equal(g->r.etm4.configr, 0xc1);
	assert_int_equal(g->r.etm4.idr0, 0x28000ea1);
	assert_int_equal(g->r.etm4.idr1, 0x4100f402);
	g = &c->bufs[1].cfgs[0];
	assert_int_equal(g->proto, HWT_PROTO_STM);
	assert_int_equal(g->trace_id, 0x20);
	assert_string_equal(c->arch, "aarch64");
	assert_string_equal(c->cpu, "Cortex-A53, Cortex-A57");
	assert_int_equal(c->notes.n, 0);
	capture_free(c);
}

int main(void)
{
	static const struct CMUnitTest t[] = { cmocka_unit_test(all), cmocka_unit_test(juno) };
	char path[2048];
	struct stat st;

	snprintf(path, sizeof(path), "%s/arm", captures());
	if (stat(path, &st)) {
		printf("no captures at %s (HWT_CAPTURES)\n", captures());
		return 77;
	}
	if (system("command -v trc_pkt_lister >/dev/null")) {
		puts("trc_pkt_lister (libopencsd-bin) is not installed");
		return 77;
	}
	return cmocka_run_group_tests(t, NULL, NULL);
}
