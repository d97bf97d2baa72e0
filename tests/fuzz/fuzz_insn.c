/* SPDX-License-Identifier: BSD-2-Clause */
/* The first byte is the instruction set, the rest is code at an odd place. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/image.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void must(int ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct hwt_disasm *d;
	unsigned isa = n ? p[0] % 8 : 0;
	struct hwt_insn in, again;
	char text[80];

	if (!d)
		must(!hwt_disasm_new(&d));
	for (size_t i = 1; i < n; ) {
		uint64_t addr = 0x7ffffffffff0 + i;
		int err = hwt_insn_decode(&in, isa, addr, p + i, n - i);

		must(err == 0 || err == -HWT_E_MORE || err == -HWT_E_PACKET);
		must(err != -HWT_E_MORE || n - i < 15);
		if (!err) {
			must(in.size > 0 && in.size <= 15 && in.size <= n - i);
			must(in.kind < HWT_INSN_KINDS && in.cond < 2 && in.addr == addr);
			/* only the instruction's own bytes count */
			must(!hwt_insn_decode(&again, isa, addr, p + i, in.size));
			must(again.size == in.size && again.kind == in.kind &&
			     again.target == in.target);
		}
		if (isa && isa < 7) {
			size_t left = n - i < 15 ? n - i : 15;

			must(!hwt_disasm_text(d, isa, addr, p + i, left, text, sizeof(text)));
			must(memchr(text, 0, sizeof(text)) != NULL);
		}
		i += err ? 1 : in.size;
	}
	return 0;
}
