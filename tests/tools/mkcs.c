/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ETMv4 trace of fixtures/captures/etm/a64.S as perf.data: packets by hand from the ETMv4
 * architecture specification (IHI 0064), in 16-byte formatter frames of one trace id.
 *
 * mkcs ELF START OUT.perf.data [OUT.bin] START: address of _start, hex; OUT.bin: the frames alone
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/mkperf.h"

#define TRACE_ID 0x10

static uint8_t out[512];
static size_t n;

static void put(const void *p, size_t len)
{
	memcpy(out + n, p, len);
	n += len;
}

static void byte(uint8_t b)
{
	put(&b, 1);
}

/*
 * Long 64-bit address of instruction set IS0: bits [8:2], [15:9] of seven bits, then whole bytes.
 */
static void address(uint8_t header, uint64_t a)
{
	byte(header);
	byte((a >> 2) & 0x7f);
	byte((a >> 9) & 0x7f);
	for (int shift = 16; shift < 64; shift += 8)
		byte((uint8_t)(a >> shift));
}

static void atoms(const char *s)
{
	for (; *s; s++)
		byte(*s == 'E' ? 0xf7 : 0xf6);	/* format 1, one atom each */
}

static void packets(uint64_t start)
{
	static const uint8_t a_sync[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80 };

	put(a_sync, sizeof(a_sync));
	put("\x01\x01\x00", 3);		/* trace info: nothing enabled */
	byte(0x04);			/* trace on */
	address(0x85, start);		/* address with context: EL0, non-secure, 64-bit */
	byte(0x30);
	atoms("EEN" "E" "EE");		/* b.ne three times, bl f, cbz, ret */
	address(0x9d, start + 0x10);
	atoms("E" "E" "EE");		/* bl g, bl f, cbz, ret */
	address(0x9d, start + 0x2c);
	atoms("E");			/* ret of g */
	address(0x9d, start + 0x14);
	atoms("EEE");			/* b to itself; an even place in the frame ends the data */
}

/*
 * CoreSight formatter: byte 0 of the first frame sets the id, even bytes lend their bit 0 to byte
 * 15.
 */
static size_t frames(uint8_t *to)
{
	size_t used = 0, at = 0;

	for (bool first = true; used < n; at += 16) {
		uint8_t *f = to + at;

		memset(f, 0, 16);
		for (int k = 0; k < 15; k++) {
			uint8_t b;

			if (first) {
				f[k] = TRACE_ID << 1 | 1;
				first = false;
				continue;
			}
			if (used == n) {
				if (k % 2 == 0)
					f[k] = 1;	/* id 0: padding from here */
				continue;
			}
			b = out[used++];
			f[k] = k % 2 ? b : b & 0xfe;
			if (k % 2 == 0)
				f[15] |= (uint8_t)((b & 1) << k / 2);
		}
	}
	return at;
}

int main(int argc, char **argv)
{
	/*
	 * header version 1, one CPU: ETMv4 magic, cpu, number of words, TRCCONFIGR, TRCTRACEIDR,
	 * TRCIDR0, 1, 2, 8, AUTHSTATUS
	 */
	static const uint64_t info[] = {
		1, (uint64_t)MKPERF_TYPE << 32 | 1, 0, 0x4040404040404040, 0, 7,
		1, TRACE_ID, 0x28000ea1, 0x4100f403, 0x488, 0, 0xcc,
	};
	static uint8_t elf[1 << 16], trace[1024];
	const Elf64_Ehdr *eh = (const void *)elf;
	struct mkperf m;
	size_t size, len;
	FILE *f;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: mkcs ELF START OUT.perf.data [OUT.bin]\n");
		return 2;
	}
	f = fopen(argv[1], "rb");
	len = f ? fread(elf, 1, sizeof(elf), f) : 0;
	if (f)
		fclose(f);
	if (len < sizeof(*eh) || eh->e_phoff + eh->e_phnum * sizeof(Elf64_Phdr) > len) {
		fprintf(stderr, "mkcs: can not read %s\n", argv[1]);
		return 1;
	}
	packets(strtoull(argv[2], NULL, 16));
	size = frames(trace);
	if (argc == 5) {
		f = fopen(argv[4], "wb");
		if (!f || fwrite(trace, 1, size, f) != size || fclose(f)) {
			fprintf(stderr, "mkcs: can not write %s\n", argv[4]);
			return 1;
		}
	}
	mkperf_init(&m, false);
	m.pid = m.tid = 1234;
	m.config = 0;
	mkperf_info(&m, 3, info, sizeof(info) / sizeof(info[0]));
	mkperf_comm(&m, "a64", true);
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		const Elf64_Phdr *ph = (const void *)(elf + eh->e_phoff + i * sizeof(*ph));
		uint64_t slack = ph->p_vaddr & 0xfff;

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X)
			mkperf_mmap2(&m, ph->p_vaddr - slack,
				(ph->p_memsz + slack + 0xfff) & ~0xfffull,
				     ph->p_offset & ~0xfffull, 5, argv[1]);
	}
	mkperf_itrace_start(&m);
	mkperf_aux(&m, 0, size, 0);
	mkperf_auxtrace(&m, 0, size, 0, 1234, -1, trace, size);
	mkperf_feature_str(&m, 6, "aarch64");
	if (mkperf_write(&m, argv[3])) {
		fprintf(stderr, "mkcs: can not write %s\n", argv[3]);
		return 1;
	}
	mkperf_free(&m);
	return 0;
}
