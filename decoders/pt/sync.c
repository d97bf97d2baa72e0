/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>

#include "packet.h"

#define PSB_SIZE	16	/* bytes: eight times 02 82 */

/* At most 16 bytes are looked at, from the end: the last byte rules most places out. */
static bool is_psb(const uint8_t *p)
{
	for (int i = PSB_SIZE - 1; i >= 0; i--)
		if (p[i] != (i & 1 ? 0x82 : 0x02))
			return false;
	return true;
}

size_t ipt_sync_forward(const uint8_t *p, size_t n)
{
	size_t i = 0;

	while (n - i >= PSB_SIZE) {
		uint8_t last = p[i + PSB_SIZE - 1];

		if (last != 0x02 && last != 0x82)
			i += PSB_SIZE;		/* no PSB holds this byte */
		else if (is_psb(p + i))
			return i;
		else
			i++;
	}
	return n;
}

size_t ipt_sync_backward(const uint8_t *p, size_t n)
{
	size_t i;

	if (n < PSB_SIZE)
		return n;
	i = n - PSB_SIZE;
	for (;;) {
		if (p[i] != 0x02 && p[i] != 0x82) {
			if (i < PSB_SIZE)
				return n;
			i -= PSB_SIZE;
		} else if (is_psb(p + i)) {
			return i;
		} else if (i-- == 0) {
			return n;
		}
	}
}
