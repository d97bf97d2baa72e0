/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The least that a program can do over the same library: what "make bench" compares "hwtrace
 * check" with.
 *
 *   bare version
 *   bare ipt FILE.pt CODE.elf
 *	libipt's block decoder, code as image sections
 *   bare ocsd BUFFER TRCCONFIGR TRCTRACEIDR TRCIDR0 TRCIDR1 TRCIDR2 TRCIDR8 DUMP ADDR [DUMP ADDR]..
 *	OpenCSD C API, ETMv4, memory frames, code as file accessors
 *
 * Prints counts, so that nothing can be left out.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <intel-pt.h>
#include <opencsd/c_api/opencsd_c_api.h>

#include "tests/support/slurp.h"

static int ipt(const char *trace, const char *code)
{
	uint64_t insns = 0, blocks = 0, errors = 0;
	struct pt_block_decoder *dec;
	struct pt_config cfg;
	size_t n, en;
	uint8_t *p = slurp(trace, &n), *e = slurp(code, &en);
	const Elf64_Ehdr *eh = (void *)e;
	const Elf64_Phdr *ph = (void *)(e + eh->e_phoff);
	int status;

	pt_config_init(&cfg);
	cfg.begin = p;
	cfg.end = p + n;
	dec = pt_blk_alloc_decoder(&cfg);
	if (!dec)
		return 1;
	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_filesz)
			pt_image_add_file(pt_blk_get_image(dec), code, ph[i].p_offset,
					  ph[i].p_filesz, NULL, ph[i].p_vaddr);
	while ((status = pt_blk_sync_forward(dec)) >= 0) {
		while (status >= 0) {
			struct pt_block b;
			struct pt_event ev;

			if (status & pts_event_pending) {
				status = pt_blk_event(dec, &ev, sizeof(ev));
				continue;
			}
			if (status & pts_eos)
				break;
			memset(&b, 0, sizeof(b));
			status = pt_blk_next(dec, &b, sizeof(b));
			insns += b.ninsn;
			blocks += b.ninsn != 0;
		}
		errors += status < 0 && status != -pte_eos;
	}
	printf("%llu instructions %llu blocks %llu errors\n", (unsigned long long)insns,
	       (unsigned long long)blocks, (unsigned long long)errors);
	pt_blk_free_decoder(dec);
	return 0;
}

struct sums {
	uint64_t ranges, insns, elems;
};

static ocsd_datapath_resp_t element(const void *ctx, const ocsd_trc_index_t off, const uint8_t id,
				    const ocsd_generic_trace_elem *e)
{
	struct sums *s = (struct sums *)ctx;

	s->elems++;
	if (e->elem_type == OCSD_GEN_TRC_ELEM_INSTR_RANGE) {
		s->ranges++;
		s->insns += e->num_instr_range;
	}
	return OCSD_RESP_CONT;
}

static uint32_t num(const char *s)
{
	return (uint32_t)strtoul(s, NULL, 0);
}

static int ocsd(int argc, char **argv)
{
	ocsd_etmv4_cfg cfg = {
		.reg_configr = num(argv[3]), .reg_traceidr = num(argv[4]),
		.reg_idr0 = num(argv[5]), .reg_idr1 = num(argv[6]), .reg_idr2 = num(argv[7]),
		.reg_idr8 = num(argv[8]), .arch_ver = ARCH_V8, .core_prof = profile_CortexA,
	};
	struct sums s = { 0 };
	dcd_tree_handle_t tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_FRAME_FORMATTED,
						      OCSD_DFRMTR_FRAME_MEM_ALIGN);
	unsigned char id;
	size_t n, pos = 0;
	uint8_t *p = slurp(argv[2], &n);

	if (ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I, OCSD_CREATE_FLG_FULL_DECODER,
				   &cfg, &id) ||
	    ocsd_dt_set_gen_elem_outfn(tree, element, &s))
		return 1;
	for (int i = 9; i + 1 < argc; i += 2)
		if (ocsd_dt_add_binfile_mem_acc(tree, strtoull(argv[i + 1], NULL, 0),
						OCSD_MEM_SPACE_ANY, argv[i]))
			return 1;
	while (pos < n) {
		uint32_t used = 0;
		ocsd_datapath_resp_t r = ocsd_dt_process_data(tree, OCSD_OP_DATA, pos,
							      (uint32_t)(n - pos), p + pos, &used);

		pos += used;
		if (OCSD_DATA_RESP_IS_FATAL(r))
			break;
	}
	ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
	printf("%llu instructions %llu ranges %llu elements\n", (unsigned long long)s.insns,
	       (unsigned long long)s.ranges, (unsigned long long)s.elems);
	ocsd_destroy_dcd_tree(tree);
	return 0;
}

static int version(void)
{
	struct pt_version v = pt_library_version();

	printf("libipt %u.%u.%u, OpenCSD %s\n", v.major, v.minor, v.patch, ocsd_get_version_str());
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "version"))
		return version();
	if (argc == 4 && !strcmp(argv[1], "ipt"))
		return ipt(argv[2], argv[3]);
	if (argc >= 11 && !strcmp(argv[1], "ocsd"))
		return ocsd(argc, argv);
	fprintf(stderr, "usage: see the top of tests/bench/bare.c\n");
	return 2;
}
