/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.data, from its bytes to trace spans and the text of every event. */
#include <stdint.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

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

/* The same in order of time: it does not go back, and what is called virtual is. */
static void kernel(struct capture *c)
{
	const struct hwt_abi_event *e;
	struct hwt_abi_value v;
	struct hwt_event ev[16];
	struct hwt_stream *s;
	uint64_t last = 0;
	char text[256];
	int n;

	if (c->kernel(c, &s, NULL))
		return;
	while ((n = hwt_stream_next(s, ev, 16)) > 0)
		for (int i = 0; i < n; i++) {
			check(ev[i].type == HWT_EV_RECORD && ev[i].time >= last);
			last = ev[i].time;
			if (ev[i].u.rec.id < HWT_ID_DIRTY) {
				check(hwt_abi_record(&e, ev[i].u.rec.data, ev[i].u.rec.size) ==
				      (int)ev[i].u.rec.size && e);
				hwt_abi_format(text, sizeof(text), e, ev[i].u.rec.data);
				continue;
			}
			c->dirty_name(c, &ev[i]);
			c->dirty_text(c, &ev[i], text, sizeof(text));
			c->dirty_field(c, &ev[i], "comm", &v);
		}
	check(n == 0);
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
			kernel(c);
		}
	}
	capture_free(c);
	return 0;
}
