/* SPDX-License-Identifier: BSD-2-Clause */
/* In place of flow_ipt.c where there is no libipt: it is packaged for x86 only. See Makefile. */
#include "flow.h"

#include "../../hwtrace/base/diag.h"

int flow_ipt_new(struct hwt_stream **out, const struct flow_args *a, struct hwt_diag *diag)
{
	return diag_set(diag, -HWT_E_LIB, 122, NULL, HWT_NO_OFF,
			"built without libipt: Intel PT can be listed as packets only");
}

const char *flow_ipt_version(void)
{
	return "no libipt (Intel PT as packets only)";
}

const char *flow_ipt_error(int32_t code)
{
	return NULL;
}
