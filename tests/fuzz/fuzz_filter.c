/* SPDX-License-Identifier: BSD-2-Clause */
/* A filter's text, a zero, and records one behind the other; the interpreter and BPF must agree. */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>
#include <hwtrace/filter.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static struct hwt_bpf_insn prog[HWT_BPF_MAX];

static void record(const struct hwt_filter *f, const struct hwt_abi_event *e, const void *rec,
		   size_t size, int32_t cpu)
{
	struct hwt_diag d = { .text = "" };
	int want = hwt_filter_match_on(f, rec, size, cpu);
	int len = hwt_filter_bpf(f, e->id, prog, HWT_BPF_MAX, &d);

	if (len < 0) {
		if (!d.text[0] || d.code != len)
			abort();
		return;
	}
	if (hwt_bpf_check(prog, (size_t)len, e->size) ||
	    (hwt_bpf_run(prog, (size_t)len, rec, size, cpu) != 0) != want)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const uint8_t *zero = memchr(p, 0, n);
	size_t len = zero ? (size_t)(zero - p) : n, left = n - len;
	char *text = malloc(len + 1);
	struct hwt_diag d = { .text = "", .off = HWT_NO_OFF };
	const struct hwt_abi_event *e;
	struct hwt_filter *f;
	uint8_t *rec = malloc(left ? left : 1);
	int rc;

	if (!text || !rec)
		abort();
	memcpy(text, p, len);
	text[len] = 0;
	rc = hwt_filter_new_for(&f, text, "x86_64", &d);
	if (rc && (!d.text[0] || d.code != rc || d.off > len))
		abort();
	if (!rc) {
		left -= left > 0;
		if (left)
			memcpy(rec, zero + 1, left);
		for (size_t at = 0; at < left; at += (size_t)rc) {
			rc = hwt_abi_record(&e, rec + at, left - at);
			if (rc < 0)
				break;
			if (e)
				record(f, e, rec + at, (size_t)rc, (int32_t)(at / 64) - 1);
		}
		hwt_filter_free(f);
	}
	free(rec);
	free(text);
	return 0;
}
