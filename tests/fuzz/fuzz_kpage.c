/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of a format file and of header_page, a zero, and bytes as a page of the function tracer. */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/uapi.h>

#include "../../hwtrace/capture/kernel_page.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int take(void *arg, const struct hwt_rec *rec)
{
	uint64_t *sum = arg;
	uint8_t bytes[VIRT_REC_MAX];

	/* what is told is whole */
	if (rec->size < sizeof(*rec) || rec->size > sizeof(bytes) || rec->size % 8 || !rec->id)
		abort();
	memcpy(bytes, rec, rec->size);
	for (size_t i = 0; i < rec->size; i++)
		*sum += bytes[i];
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const uint8_t *zero = n ? memchr(p, 0, n) : NULL;
	const char *group, *name, *filter;
	struct kpage k;
	uint64_t sum = 0;

	if (!zero || kpage_init(&k))
		return 0;
	k.layout = (struct ring_layout){ .data_off = 16, .long_size = 8 };
	kpage_header(&k, (const char *)p);
	for (unsigned i = 0; kpage_wanted(i, &group, &name, &filter); i++)
		kpage_format(&k, i, (const char *)p);
	kpage_read(&k, zero + 1, n - (size_t)(zero + 1 - p), take, &sum);
	kpage_fini(&k);
	return 0;
}
