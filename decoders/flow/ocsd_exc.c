/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_exc.h"

#include <hwtrace/event.h>

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))

unsigned csexc_v4(uint32_t n, bool m)
{
	static const uint8_t a[] = {
		[0x00] = HWT_EXC_RESET, [0x01] = HWT_EXC_DEBUG_HALT, [0x02] = HWT_EXC_CALL,
		[0x03] = HWT_EXC_TRAP, [0x04] = HWT_EXC_SERROR, [0x06] = HWT_EXC_INST_DEBUG,
		[0x07] = HWT_EXC_DATA_DEBUG, [0x0a] = HWT_EXC_ALIGNMENT,
		[0x0b] = HWT_EXC_INST_FAULT, [0x0c] = HWT_EXC_DATA_FAULT,
		[0x0e] = HWT_EXC_IRQ, [0x0f] = HWT_EXC_FIQ,
		[0x10] = HWT_EXC_IMPDEF, [0x11] = HWT_EXC_IMPDEF, [0x12] = HWT_EXC_IMPDEF,
		[0x13] = HWT_EXC_IMPDEF, [0x14] = HWT_EXC_IMPDEF, [0x15] = HWT_EXC_IMPDEF,
		[0x16] = HWT_EXC_IMPDEF, [0x17] = HWT_EXC_IMPDEF,
	};
	static const uint8_t v[] = {
		[0x01] = HWT_EXC_RESET, [0x02] = HWT_EXC_NMI, [0x03] = HWT_EXC_HARDFAULT,
		[0x04] = HWT_EXC_MEMMANAGE, [0x05] = HWT_EXC_BUSFAULT,
		[0x06] = HWT_EXC_USAGEFAULT, [0x07] = HWT_EXC_SECUREFAULT,
		[0x0b] = HWT_EXC_SVC, [0x0c] = HWT_EXC_DEBUGMON, [0x0e] = HWT_EXC_PENDSV,
		[0x0f] = HWT_EXC_SYSTICK,
		[0x10] = HWT_EXC_IRQ, [0x11] = HWT_EXC_IRQ, [0x12] = HWT_EXC_IRQ,
		[0x13] = HWT_EXC_IRQ, [0x14] = HWT_EXC_IRQ, [0x15] = HWT_EXC_IRQ,
		[0x16] = HWT_EXC_IRQ, [0x17] = HWT_EXC_IRQ,
		[0x18] = HWT_EXC_DEBUG_HALT, [0x19] = HWT_EXC_LAZYFP, [0x1a] = HWT_EXC_LOCKUP,
	};

	if (m && n >= 0x208 && n <= 0x3ef)	/* IRQ 8 to 495 */
		return HWT_EXC_IRQ;
	if (m)
		return n < COUNT(v) ? v[n] : HWT_EXC_UNKNOWN;
	return n < COUNT(a) ? a[n] : HWT_EXC_UNKNOWN;
}

unsigned csexc_v3(uint32_t n, bool m)
{
	static const uint8_t a[] = {
		[1] = HWT_EXC_DEBUG_HALT, [2] = HWT_EXC_SMC, [3] = HWT_EXC_HVC,
		[4] = HWT_EXC_ASYNC_ABORT, [5] = HWT_EXC_JAZELLE, [8] = HWT_EXC_RESET,
		[9] = HWT_EXC_UNDEFINED, [10] = HWT_EXC_SVC, [11] = HWT_EXC_INST_FAULT,
		[12] = HWT_EXC_DATA_FAULT, [13] = HWT_EXC_GENERIC, [14] = HWT_EXC_IRQ,
		[15] = HWT_EXC_FIQ,
	};
	/* interrupts 1 to 7, then 0; from 24 on 8 and up */
	static const uint8_t v[] = {
		[1] = HWT_EXC_IRQ, [2] = HWT_EXC_IRQ, [3] = HWT_EXC_IRQ, [4] = HWT_EXC_IRQ,
		[5] = HWT_EXC_IRQ, [6] = HWT_EXC_IRQ, [7] = HWT_EXC_IRQ, [8] = HWT_EXC_IRQ,
		[9] = HWT_EXC_USAGEFAULT, [10] = HWT_EXC_NMI, [11] = HWT_EXC_SVC,
		[12] = HWT_EXC_DEBUGMON, [13] = HWT_EXC_MEMMANAGE, [14] = HWT_EXC_PENDSV,
		[15] = HWT_EXC_SYSTICK, [17] = HWT_EXC_RESET, [19] = HWT_EXC_HARDFAULT,
		[21] = HWT_EXC_BUSFAULT,
	};

	if (m && n >= 24 && n < 512)
		return HWT_EXC_IRQ;
	if (m)
		return n < COUNT(v) ? v[n] : HWT_EXC_UNKNOWN;
	return n < COUNT(a) ? a[n] : HWT_EXC_UNKNOWN;
}
