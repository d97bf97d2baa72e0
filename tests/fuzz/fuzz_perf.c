/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.data, from its bytes to trace spans and the text of every event. */
#include <stdint.h>
#include <stdlib.h>

#include "hwtrace/source/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Every byte of every span can be read, and spans of a buffer do not run backwards. */
static unsigned spans(const struct capture *c)
{
	unsigned sum = 0;

	for (size_t i = 0; i < c->nbufs; i++) {
		const struct trace_buf *b = &c->bufs[i];
		uint64_t pos = 0;

		for (size_t k = 0; k < b->nspans; k++) {
			check(b->spans[k].size > 0 && b->spans[k].pos >= pos);
			pos = b->spans[k].pos + b->spans[k].size;
			for (uint64_t j = 0; j < b->spans[k].size; j++)
				sum += b->spans[k].p[j];
		}
	}
	return sum;
}

static void events(struct capture *c)
{
	struct hwt_event ev[16];
	struct hwt_stream *s;
	char text[256];
	uint64_t total = 0;
	int n;

	if (c->events(c, &s, NULL))
		return;
	while ((n = hwt_stream_next(s, ev, 16)) > 0) {
		total += (uint64_t)n;
		for (int i = 0; i < n; i++) {
			c->event_name(c, &ev[i]);
			c->event_text(c, &ev[i], text, sizeof(text));
		}
	}
	check(n == 0 && total == c->nevents);
	hwt_stream_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct hwt_diag d;
	struct capture *c;
	struct file *f;
	static unsigned sink;

	if (capture_new(&c))
		return 0;
	if (!file_mem(&f, "fuzz", p, n)) {
		if (!source_perf.open(c, f, "fuzz", NULL, &d)) {
			__atomic_add_fetch(&sink, spans(c), __ATOMIC_RELAXED);
			events(c);
		}
	}
	capture_free(c);
	return 0;
}
