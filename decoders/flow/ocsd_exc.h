/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_EXC_H
#define HWT_FLOW_OCSD_EXC_H

/* What the exception numbers of Arm trace mean: an enum hwt_exc. Pure functions. */
#include <stdbool.h>
#include <stdint.h>

/* ETMv4 and ETE (Arm IHI 0064, TYPE field of the Exception packet); @m: M profile. */
unsigned csexc_v4(uint32_t number, bool m);
/* ETMv3 (Arm IHI 0014, exception information byte) and PTM (Arm IHI 0035). */
unsigned csexc_v3(uint32_t number, bool m);

#endif
