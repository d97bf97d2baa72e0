/* SPDX-License-Identifier: BSD-2-Clause */
#include "ptenc.h"

#include <ctype.h>

static unsigned nibble(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

void ptenc_hex(struct model_pt_buf *e, const char *hex)
{
	while (*hex) {
		uint8_t b;

		if (isspace((unsigned char)*hex)) {
			hex++;
			continue;
		}
		if (!hex[1])
			return;
		b = nibble(hex[0]) << 4 | nibble(hex[1]);
		model_pt_raw(e, &b, 1);
		hex += 2;
	}
}

/* Takes at most @max branches; returns how many. */
static unsigned branch_bits(const char **branches, unsigned max, uint64_t *bits)
{
	unsigned n = 0;

	for (*bits = 0; n < max && **branches; n++, ++*branches)
		*bits = *bits << 1 | (**branches == 'T' || **branches == '!');
	return n;
}

void ptenc_tnt(struct model_pt_buf *e, const char *branches)
{
	uint64_t bits;
	unsigned n;

	while ((n = branch_bits(&branches, 6, &bits)))
		model_pt_tnt(e, bits, n);
}

void ptenc_tnt_long(struct model_pt_buf *e, const char *branches)
{
	uint64_t bits;
	unsigned n;

	while ((n = branch_bits(&branches, 47, &bits)))
		model_pt_tnt_long(e, bits, n);
}

void ptenc_psb_plus(struct model_pt_buf *e, uint64_t ip, bool on)
{
	model_pt_psb(e);
	model_pt_exec(e, 64);
	if (on)
		model_pt_ip(e, MODEL_PT_FUP, ip, MODEL_PT_IPB_48S);
	model_pt_psbend(e);
}
