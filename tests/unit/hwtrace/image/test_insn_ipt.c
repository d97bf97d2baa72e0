/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Truth: libipt's classes and lengths, of a trace that starts at one made-up instruction each.
 * What it does not know is left out: XOP, VIA's 0f a6 and 0f a7, REX2; UD0 and UD1, whose ModRM it
 * does not count; RSM, which is no branch there, FRED, TDX, AMD's VMRUN and VMMCALL. So are VEX and
 * EVEX, where it goes by the legacy maps for undefined opcodes: their lengths are compared with
 * objdump, and none of them branches.
 * Direct and indirect branches are one class there.
 */
#if __has_include(<intel-pt.h>)
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/image.h>

#include "tests/support/ptenc.h"

#define AT	0x400000u

static uint8_t code[32];

static int read_code(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip, void *ctx)
{
	size_t n = sizeof(code);

	if (ip < AT || ip >= AT + n)
		return -pte_nomap;
	n -= ip - AT;
	n = n < size ? n : size;
	memcpy(buf, code + (ip - AT), n);
	return (int)n;
}

/* Class and size of the instruction in @code; negative if libipt has none. */
static int peer(unsigned bits, unsigned *size)
{
	static uint8_t trace[64];
	struct pt_insn_decoder *d;
	struct pt_config c;
	struct pt_image *image = pt_image_alloc(NULL);
	struct pt_insn insn = { .iclass = ptic_error };
	struct pt_event ev;
	struct model_pt_buf e;
	int st;

	model_pt_init(&e, trace, sizeof(trace));
	model_pt_psb(&e);
	model_pt_exec(&e, bits);
	model_pt_psbend(&e);
	model_pt_pge(&e, AT);
	pt_config_init(&c);
	c.begin = trace;
	c.end = trace + e.n;
	d = pt_insn_alloc_decoder(&c);
	if (!d || !image)
		exit(1);
	pt_image_set_callback(image, read_code, NULL);
	pt_insn_set_image(d, image);
	st = pt_insn_sync_forward(d);
	while (st >= 0 && st & pts_event_pending)
		st = pt_insn_event(d, &ev, sizeof(ev));
	if (st >= 0)
		st = pt_insn_next(d, &insn, sizeof(insn));
	*size = insn.size;
	pt_insn_free_decoder(d);
	pt_image_free(image);
	return insn.iclass == ptic_error ? -1 : (int)insn.iclass;
}

static int class_of(unsigned kind)
{
	switch (kind) {
	case HWT_INSN_CALL: case HWT_INSN_ICALL: return ptic_call;
	case HWT_INSN_RETURN: return ptic_return;
	case HWT_INSN_JUMP: case HWT_INSN_IJUMP: return ptic_jump;
	case HWT_INSN_BRANCH: return ptic_cond_jump;
	case HWT_INSN_FAR_CALL: return ptic_far_call;
	case HWT_INSN_FAR_RETURN: return ptic_far_return;
	case HWT_INSN_FAR_JUMP: return ptic_far_jump;
	case HWT_INSN_PTWRITE: return ptic_ptwrite;
	default: return ptic_other;
	}
}

static int not_there(unsigned isa)
{
	const uint8_t *b = code;
	const uint8_t ext[] = { 0xa6, 0xa7, 0xaa, 0xb9, 0xff };

	while (*b == 0x66 || *b == 0xf2 || *b == 0xf3 || *b == 0xf0 || *b == 0x67 ||
	       (*b & 0xe7) == 0x26 || (*b & 0xfe) == 0x64 ||
	       (isa == HWT_ISA_X86_64 && *b >> 4 == 4))
		if (++b == code + 14)
			return 1;
	if (b[0] == 0x0f)
		return memchr(ext, b[1], sizeof(ext)) || (b[1] == 1 && b[2] >= 0xc0);
	return b[0] == 0xd5 || b[0] == 0x8f || b[0] == 0xc4 || b[0] == 0xc5 || b[0] == 0x62;
}

static uint32_t rnd(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 16);
}

int main(void)
{
	static const unsigned isas[] = { HWT_ISA_X86_64, HWT_ISA_X86_32, HWT_ISA_X86_16 };
	static const uint8_t lead[] = { 0x0f, 0x0f, 0xf3, 0xf2, 0x66, 0x48, 0xff, 0xe0 };
	unsigned long seen = 0, branches = 0, unknown = 0, bad = 0;

	for (unsigned i = 0; i < 120000; i++) {
		unsigned isa = isas[i % 3], size;
		struct hwt_insn in;
		int want, err;

		for (size_t k = 0; k < sizeof(code); k++)
			code[k] = (uint8_t)rnd();
		/* the opcodes of both maps in turn, behind nothing, an escape or a prefix */
		code[0] = (uint8_t)(i / 3);
		if (i / 3 & 256) {
			code[1] = code[0];
			code[0] = lead[i / 1536 % sizeof(lead)];
			if (code[0] != 0x0f && i & 1) {
				code[2] = code[1];
				code[1] = 0x0f;
			}
		}
		want = peer(isa == HWT_ISA_X86_64 ? 64 : isa == HWT_ISA_X86_32 ? 32 : 16, &size);
		err = hwt_insn_decode(&in, isa, AT, code, sizeof(code));
		if (want < 0 || err || not_there(isa)) {
			unknown++;
			continue;
		}
		seen++;
		branches += want != ptic_other;
		if (want == class_of(in.kind) && size == in.size)
			continue;
		if (bad++ < 30) {
			for (unsigned k = 0; k < 12; k++)
				printf("%02x ", code[k]);
			printf("isa %u: libipt class %d size %u, ours kind %u size %u\n", isa,
			       want, size, in.kind, in.size);
		}
	}
	printf("# %lu instructions, %lu branches as libipt, %lu unknown to one, %lu differ\n", seen,
	       branches, unknown, bad);
	return bad || branches < 1000;
}

#else
#include <stdio.h>

int main(void)
{
	puts("no libipt on this machine");
	return 77;
}
#endif
