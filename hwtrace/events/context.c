/* SPDX-License-Identifier: BSD-2-Clause */
/* Context fields as a table, and where they lie in a record (hwtrace/uapi.h). */
#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#define SIZE_u32	4
#define SIZE_s32	4
#define SIZE_pid	4
#define SIZE_u64	8
#define SIZE_x64	8
#define SIZE_name16	16

#define HWT_CONTEXT(nm, number, tp, un, tx) \
	[number] = { .name = #nm, .unit = un, .text = tx, .size = SIZE_##tp, \
		     .type = HWT_ABI_##tp, .since = 1 },
static const struct hwt_abi_field contexts[] = {
#include <hwtrace/contexts.def>
};

#define COUNT (sizeof(contexts) / sizeof(contexts[0]))

_Static_assert(COUNT < HWT_ABI_CONTEXTS, "bits of a mask");

const struct hwt_abi_field *hwt_abi_context_at(unsigned i)
{
	return i < COUNT ? &contexts[i] : NULL;
}

unsigned hwt_abi_context(uint32_t mask, struct hwt_abi_field *v, unsigned *n)
{
	unsigned size = 0;

	*n = 0;
	/* first those that are aligned to 8 */
	for (unsigned small = 0; small < 2; small++)
		for (unsigned i = 0; i < COUNT; i++) {
			if (!(mask & 1u << i) || (contexts[i].size < 8) != small)
				continue;
			v[*n] = contexts[i];
			v[(*n)++].offset = (uint16_t)size;
			size += contexts[i].size;
		}
	return (size + 7) & ~7u;
}
