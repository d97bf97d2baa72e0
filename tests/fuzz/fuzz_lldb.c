/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of a bundle whose files are not there: all of it is read, then there is no trace. And
 * the bytes as switch records of two CPUs.
 */
#include <stdlib.h>

#include "hwtrace/source/lldb.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void switches(struct capture *c, const uint8_t *p, size_t n)
{
	struct lldb_switch_file v[2] = { { .cpu = 0 }, { .cpu = 1 } };
	struct lldb_switch_list list = { v, 2 };
	struct hwt_event ev[16];
	struct hwt_stream *st;
	struct file *f;

	if (file_mem(&f, "fuzz", p, n))
		return;
	v[0].f = v[1].f = f;
	c->priv = &list;
	if (!lldb_kernel(c, &st, NULL)) {
		while (hwt_stream_next(st, ev, 16) > 0)
			;
		hwt_stream_close(st);
	}
	c->priv = NULL;
	file_close(f);
}

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
	switches(c, p, n);
	capture_free(c);
	return 0;
}
