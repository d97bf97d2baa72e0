/* SPDX-License-Identifier: BSD-2-Clause */
#include <hwtrace/hwtrace.h>

const char *hwt_version(void)
{
	return HWT_VERSION;
}
