/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a static x86-64 program and the addresses that it ran (tests/tools/step) to an Intel PT
 * capture.
 *
 *   mkdemo [-plain] [-psb N] [-repeat N] [-lose FROM:TO] [-raw OUT.pt] [-name PATH] ELF ADDRS
 *	OUT.perf.data
 *
 * -plain: no time, one PSB at each start; -psb: instructions from one PSB to the next; -repeat:
 * the run N times; -lose: instructions FROM to TO fall into an internal overflow; -raw: the trace
 * alone as well; -name: path of the program in the capture. Written by a model, not by hardware.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/mkperf.h"
#include "tests/support/ptmodel.h"
#include "tests/support/slurp.h"

static void save(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(p, 1, n, f) != n || fclose(f)) {
		fprintf(stderr, "mkdemo: can not write %s\n", path);
		exit(1);
	}
}

/* Build-id of the ELF's PT_NOTE; returns its size, 0 if none. */
static unsigned build_id(const uint8_t *elf, const uint8_t **id)
{
	const Elf64_Ehdr *eh = (const void *)elf;
	const Elf64_Phdr *ph = (const void *)(elf + eh->e_phoff);

	for (unsigned i = 0; i < eh->e_phnum; i++) {
		const uint8_t *p = elf + ph[i].p_offset, *end = p + ph[i].p_filesz;

		while (ph[i].p_type == PT_NOTE && p + sizeof(Elf64_Nhdr) <= end) {
			const Elf64_Nhdr *nh = (const void *)p;

			*id = p + sizeof(*nh) + ((nh->n_namesz + 3) & ~3u);
			if (nh->n_type == NT_GNU_BUILD_ID)
				return nh->n_descsz;
			p = *id + ((nh->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

/* Intel PT with TSC, MTC and return compression; a TSC tick is a nanosecond. */
static void pt_info(struct mkperf *m)
{
	static const uint64_t words[] = {
		MKPERF_TYPE, 10, 1024, 0, 1,	/* PMU type; time shift, mult, zero, cap */
		1 << 10, 1 << 11,		/* config masks: TSC, no return compression */
		0, 0, 0,			/* sched_switch, snapshot, per-CPU maps */
		1 << 9, 0xf << 14, 1, 1,	/* MTC, MTC frequency; TSC : crystal */
		1 << 1, 30, 0,			/* CYC; max non-turbo ratio; filter length */
	};

	m->config = 1 << 13 | 1 << 10 | 1 << 9 | (uint64_t)PTMODEL_MTC_FREQ << 14;
	mkperf_info(m, 1, words, sizeof(words) / sizeof(words[0]));
}

static void perf_data(const char *path, const char *name, const uint8_t *elf,
		      const struct model_pt_buf *e, bool plain)
{
	const Elf64_Ehdr *eh = (const void *)elf;
	const Elf64_Phdr *ph = (const void *)(elf + eh->e_phoff);
	const uint8_t *id = NULL;
	unsigned nid = build_id(elf, &id);
	const uint64_t no_index = 0;
	struct mkperf m;

	mkperf_init(&m, false);
	m.pid = m.tid = 1234;
	m.time = 1000000;
	if (plain)
		mkperf_pt(&m);
	else
		pt_info(&m);
	mkperf_comm(&m, "demo", true);
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		uint64_t slack = ph[i].p_vaddr & 0xfff;

		if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X)
			mkperf_mmap2_id(&m, ph[i].p_vaddr - slack,
					(ph[i].p_memsz + slack + 0xfff) & ~0xfffull,
					ph[i].p_offset - slack, id, nid, name);
	}
	mkperf_itrace_start(&m);
	m.time += 1000000;
	mkperf_aux(&m, 0, e->n, 0);
	mkperf_auxtrace(&m, 0, e->n, 0, 1234, 0, e->p, e->n);
	mkperf_feature_str(&m, 6, "x86_64");
	/* says that there is trace; perf script prints fields of what it makes of it only then */
	mkperf_feature(&m, 18, &no_index, sizeof(no_index));
	if (mkperf_write(&m, path)) {
		fprintf(stderr, "mkdemo: can not write %s\n", path);
		exit(1);
	}
	mkperf_free(&m);
}

int main(int argc, char **argv)
{
	struct ptmodel m = { .retcomp = true, .timed = true, .psb_every = 100, .tsc = 1000000 };
	const char *raw = NULL, *name = NULL;
	unsigned long repeat = 1;
	size_t n, where = 0, room, start = 0;
	struct model_pt_buf e;
	uint64_t *addrs;
	char *text, *p;
	bool plain = false;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-plain")) {
			plain = true;
			m.timed = false;
			m.psb_every = 0;
		} else if (i + 1 < argc && !strcmp(argv[i], "-repeat")) {
			repeat = strtoul(argv[++i], NULL, 0);
		} else if (i + 1 < argc && !strcmp(argv[i], "-psb")) {
			m.psb_every = strtoul(argv[++i], NULL, 0);
		} else if (i + 1 < argc && !strcmp(argv[i], "-raw")) {
			raw = argv[++i];
		} else if (i + 1 < argc && !strcmp(argv[i], "-name")) {
			name = argv[++i];
		} else if (i + 1 < argc && !strcmp(argv[i], "-lose")) {
			m.lost_from = strtoul(argv[++i], &p, 0);
			m.lost_to = *p == ':' ? strtoul(p + 1, NULL, 0) : 0;
		}
	}
	if (argc - i != 3) {
		fprintf(stderr,
			"usage: mkdemo [-plain] [-psb N] [-repeat N] [-lose FROM:TO] [-raw F] "
			"[-name PATH] ELF ADDRS OUT\n");
		return 2;
	}
	m.elf = slurp(argv[i], &m.elf_size);
	text = (char *)slurp(argv[i + 1], &n);
	addrs = calloc(n / 2 + 1, sizeof(*addrs));
	for (p = text; addrs && *p; p++) {
		uint64_t a = strtoull(p, &p, 16);

		/* a step is an iteration of a REP instruction, which is one in the trace */
		if (!m.n || a != addrs[m.n - 1])
			addrs[m.n++] = a;
		if (*p != '\n')
			break;
	}
	m.addr = addrs;
	room = (m.n * 2 + 4096) * repeat;
	model_pt_init(&e, malloc(room), room);
	for (unsigned long k = 0; k < repeat; k++) {
		if (k && !m.timed) {		/* each run gives the same bytes */
			model_pt_raw(&e, e.p, start);
			continue;
		}
		if (ptmodel_encode(&m, &e, &where)) {
			fprintf(stderr, "mkdemo: instruction %zu at %llx is not understood\n",
				where,
				(unsigned long long)addrs[where]);
			return 1;
		}
		start = e.n;
	}
	if (raw)
		save(raw, e.p, e.n);
	perf_data(argv[i + 2], name ? name : argv[i], m.elf, &e, plain);
	free(text);
	free(addrs);
	free(e.p);
	free((void *)m.elf);
	return 0;
}
