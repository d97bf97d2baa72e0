/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.dat, from its bytes to the text of every event, as its own and as virtual ones. */
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

static void one(struct capture *c, const struct hwt_event *ev, bool kernel)
{
	const struct hwt_abi_event *e;
	struct hwt_abi_value v;
	char text[256];
	unsigned char sum = 0;

	check(ev->type == HWT_EV_RECORD);
	for (uint32_t i = 0; i < ev->u.rec.size; i++)
		sum ^= ((const unsigned char *)ev->u.rec.data)[i];
	text[0] = (char)sum;
	if (ev->u.rec.id < HWT_ID_DIRTY) {
		/* what is told is whole */
		check(hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) ==
		      (int)ev->u.rec.size && e);
		hwt_abi_format(text, sizeof(text), e, ev->u.rec.data);
	} else if (kernel) {
		check(c->dirty_name(c, ev) != NULL);
		c->dirty_text(c, ev, text, sizeof(text));
		c->dirty_field(c, ev, "comm", &v);
	}
	if (!kernel) {
		check(c->event_name(c, ev) != NULL);
		c->event_text(c, ev, text, sizeof(text));
	}
}

static void events(struct capture *c, bool kernel)
{
	struct hwt_event ev[16];
	struct hwt_stream *s;
	uint64_t total = 0;
	int n;

	if ((kernel ? c->kernel : c->events)(c, &s, NULL))
		return;
	while ((n = hwt_stream_next(s, ev, 16)) > 0) {
		total += (uint64_t)n;
		for (int i = 0; i < n; i++)
			one(c, &ev[i], kernel);
	}
	check(n == 0 && total == c->nevents);
	hwt_stream_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct hwt_diag d;
	struct capture *c;
	struct file *f;

	if (capture_new(&c))
		return 0;
	if (!file_mem(&f, "fuzz", p, n) && !source_ftrace.open(c, f, "fuzz", NULL, &d)) {
		events(c, false);
		events(c, true);
	}
	capture_free(c);
	return 0;
}
