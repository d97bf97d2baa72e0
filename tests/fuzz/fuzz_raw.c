/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration text up to the first NUL, then trace bytes, read as Intel PT and as CoreSight;
 * the bytes also as switch records of LLDB.
 */
#include <stdlib.h>
#include <string.h>

#include "hwtrace/source/lldb.h"
#include "hwtrace/source/raw.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void read_as(int (*rd)(struct capture *, struct file *, const struct raw_config *,
			      struct hwt_diag *), const uint8_t *p, size_t n, size_t text)
{
	struct raw_config cfg = { .dir = NULL };
	struct capture *c;
	struct hwt_diag d;
	struct file *f;

	if (capture_new(&c))
		return;
	if (!ini_parse(&cfg.ini, &c->arena, "fuzz", p, text, &c->notes) &&
	    !file_mem(&f, "fuzz", p + text, n - text))
		rd(c, f, &cfg, &d);
	capture_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const uint8_t *nul = n ? memchr(p, 0, n) : NULL;
	size_t text = nul ? (size_t)(nul - p) : 0;
	struct lldb_switches w;
	struct lldb_switch s;
	size_t records = 0;

	read_as(raw_read_pt, p, n, text);
	read_as(raw_read_cs, p, n, text);
	lldb_switches_init(&w, p, n, 0);
	while (lldb_switches_next(&w, &s))
		if (++records > n / 8 || s.off >= n)
			abort();
	return 0;
}
