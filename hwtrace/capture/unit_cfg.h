/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_UNIT_CFG_H
#define HWT_CAPTURE_UNIT_CFG_H

/* What a capture says of a software trace unit. */
#include "../model/etm4.h"
#include "../source/capture.h"

/* Architecture, trace id and registers of the unit that @c makes; name and CPU are left empty. */
void unit_cfg_etm4(struct trace_cfg *out, const struct model_etm4_cfg *c);

#endif
