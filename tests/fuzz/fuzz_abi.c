/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of virtual events one behind the other, and the same bytes as a script. */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void record(const struct hwt_abi_event *e, const uint8_t *p, size_t size)
{
	char buf[32 * 1024], cut[16];
	struct hwt_abi_value v;
	unsigned nf;
	const struct hwt_abi_field *f = e->fields(&nf);
	size_t len = hwt_abi_format(buf, sizeof(buf), e, p);

	if (len >= sizeof(buf) || strlen(buf) != len ||
	    hwt_abi_format(cut, sizeof(cut), e, p) != len || strncmp(buf, cut, 15))
		abort();
	for (; nf; nf--, f++)
		if (hwt_abi_value(&v, f, p) && v.p &&
		    (v.p < (const char *)p || v.p + v.n > (const char *)p + size))
			abort();
}

static void use(void *arg, const struct hwt_abi_use *u)
{
	size_t *left = arg;

	if (!u->len || u->len > *left)
		abort();
	*left -= u->len;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct hwt_abi_event *e;
	size_t left = n;
	struct hwt_diag d = { .text = "" };
	int rc;

	for (size_t at = 0; at < n; at += (size_t)rc) {
		rc = hwt_abi_record(&e, p + at, n - at);
		if (rc < 0)
			break;
		if (rc < 32 || rc % 8 || (size_t)rc > n - at)
			abort();
		if (e)
			record(e, p + at, (size_t)rc);
	}
	rc = hwt_abi_script((const char *)p, n, use, &left, &d);
	if (rc < 0 && (!d.text[0] || d.code != rc))
		abort();
	return 0;
}
