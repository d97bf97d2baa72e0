/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of a bundle whose files are not there: all of it is read, then there is no trace. */
#include <stdlib.h>

#include "hwtrace/source/lldb.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct capture *c;
	struct hwt_diag d;
	struct file *f;

	if (capture_new(&c))
		return 0;
	if (!file_mem(&f, "fuzz", p, n)) {
		if (lldb_read(c, f, "fuzz", "/nonexistent", &d) && d.off != HWT_NO_OFF && d.off > n)
			abort();
		file_close(f);
	}
	capture_free(c);
	return 0;
}
