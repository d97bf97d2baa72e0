/* SPDX-License-Identifier: BSD-2-Clause */
/* mktasks OUT.hwt TASKS: see tests/support/mktasks.h. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/mktasks.h"

int main(int argc, char **argv)
{
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	long n = argc == 3 ? atol(argv[2]) : 0;

	if (n <= 0 || n > 4000000)
		return 2;
	if (mktasks(argv[1], (uint32_t)n, &diag) < 0) {
		fprintf(stderr, "mktasks: %s\n", diag.text);
		return 1;
	}
	return 0;
}
