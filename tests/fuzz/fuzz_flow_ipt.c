/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel PT flow. The first byte chooses level, CPU and clock, the next one how many of the bytes
 * behind it are code at 401000; the rest is trace. Bytes must add up, time must not go back, and
 * work must be linear in the input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decoders/flow/flow.h"
#include "hwtrace/machine/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void drain(struct hwt_stream *s, uint64_t size)
{
	const struct hwt_flow_stats *st = &hwt_container_of(s, struct flow_stream, s)->stats;
	uint64_t skipped = 0, time = 0, events = 0;
	struct hwt_event ev[33];
	char text[64];
	int got;

	while ((got = hwt_stream_next(s, ev, 33)) > 0) {
		for (int i = 0; i < got; i++) {
			events += ev[i].type != HWT_EV_NONE;
			if (ev[i].time != HWT_TIME_UNKNOWN) {
				check(ev[i].time >= time);
				time = ev[i].time;
			}
			if (ev[i].type == HWT_EV_GAP)
				skipped += ev[i].u.gap.bytes;
			if (flow_is_record(&ev[i]))
				flow_record_text(&ev[i], text, sizeof(text));
		}
	}
	check(got == 0);
	check(st->events == events && st->bytes_in == size && st->bytes_skipped == skipped &&
	      st->bytes_decoded + skipped == size);
	check(st->steps <= 64 * size + 64);
}

static void flow(struct hwt_image *img, struct machine *m, const uint8_t *p, size_t n,
		 unsigned how)
{
	struct hwt_interest want = { .level = how % 4, .time_hi = HWT_TIME_UNKNOWN,
		.resync = n & 1 };
	struct trace_span s = { .p = p, .size = n, .time = HWT_TIME_UNKNOWN, .pid = HWT_NONE,
		.tid = HWT_NONE };
	struct trace_cfg cfg = { .proto = HWT_PROTO_PT };
	struct trace_buf b = { .spans = &s, .nspans = 1, .cfgs = &cfg, .ncfgs = 1, .cpu = 1,
		.pid = HWT_NONE, .tid = HWT_NONE };
	struct time_map tsc = { .mult = how & 8 };
	struct flow_args a = { .want = &want, .buf = &b, .image = img, .machine = m, .tsc = &tsc };
	struct hwt_stream *st;

	cfg.r.pt.family = 6;
	cfg.r.pt.model = how & 4 ? 0x5e : 0;
	cfg.r.pt.cpuid_15_eax = cfg.r.pt.cpuid_15_ebx = how >> 4 & 3;
	cfg.r.pt.mtc_freq = how >> 6;
	if (flow_ipt_new(&st, &a, NULL))
		return;
	drain(st, n);
	hwt_stream_close(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct notes ns = { 0 };
	struct hwt_image *img;
	struct machine *m;
	size_t code;

	if (n < 2 || image_new(&img, &ns))
		return 0;
	code = p[1] < n - 2 ? p[1] : n - 2;
	if (!machine_new(&m)) {
		machine_switch(m, 1, 100, 1, 1, 0);
		machine_switch(m, 1, 0x1000, 2, 2, 0);
		machine_sort(m);
		if (code)
			image_add_bytes(img, HWT_NONE, 0, 0x401000, p + 2, code, "code");
		flow(img, m, p + 2 + code, n - 2 - code, p[0]);
		machine_free(m);
	}
	image_free(img);
	notes_free(&ns);
	return 0;
}
