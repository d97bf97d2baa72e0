/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON texts, and all that is asked of the tree. */
#include <stdlib.h>

#include "hwtrace/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct arena a = { .head = NULL };
	struct hwt_diag d;
	struct json *j;
	uint64_t v;

	if (!json_parse(&j, &a, "fuzz", p, n, &d)) {
		for (const struct json *k = j; k; k = k->child ? k->child : k->next) {
			if (json_u64(k, &v) && !k->text)
				abort();
			if (json_get(k, "pid") && k->type != JSON_OBJECT)
				abort();
			if (k->off > n)
				abort();
		}
	} else if (d.off != HWT_NO_OFF && d.off > n) {
		abort();
	}
	arena_free(&a);
	return 0;
}
