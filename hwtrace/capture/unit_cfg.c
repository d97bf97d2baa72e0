/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit_cfg.h"

void unit_cfg_etm4(struct trace_cfg *out, const struct model_etm4_cfg *c)
{
	struct model_etm4_regs r;

	model_etm4_regs(&r, c);
	*out = (struct trace_cfg){ .core = "", .proto = HWT_PROTO_ETM4, .trace_id = c->trace_id,
				   .arch = 8, .profile = 'A' };
	out->r.etm4.configr = r.configr;
	out->r.etm4.traceidr = r.traceidr;
	out->r.etm4.idr0 = r.idr[0];
	out->r.etm4.idr1 = r.idr[1];
	out->r.etm4.idr2 = r.idr[2];
	out->r.etm4.idr8 = r.idr[8];
	out->r.etm4.idr9 = r.idr[9];
	out->r.etm4.idr10 = r.idr[10];
	out->r.etm4.idr11 = r.idr[11];
	out->r.etm4.idr12 = r.idr[12];
	out->r.etm4.idr13 = r.idr[13];
	out->r.etm4.devarch = r.devarch;
}
