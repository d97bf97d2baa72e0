/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight flow and packet lists. The first byte chooses protocol, framing and level, the second
 * the unit's configuration; the rest is trace of id 0x10, in two spans if bit 7 of the second is
 * set. Bytes must add up, holes have a cause, and work must be linear in the input.
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
	uint64_t skipped = 0, gaps = 0;
	struct hwt_event ev[33];
	int got;

	while ((got = hwt_stream_next(s, ev, 33)) > 0) {
		for (int i = 0; i < got; i++) {
			if (ev[i].type != HWT_EV_GAP)
				continue;
			check(ev[i].u.gap.cause > 0 && ev[i].u.gap.cause < HWT_GAP_CAUSES);
			skipped += ev[i].u.gap.bytes;
			gaps++;
		}
	}
	check(got == 0);
	check(st->bytes_in == size && st->bytes_skipped == skipped && st->gaps == gaps &&
	      st->bytes_decoded + skipped == size);
	check(st->steps <= 64 * size + 20000);
}

static void list(const struct flow_args *a)
{
	struct hwt_packets *ps;
	struct hwt_packet pkt;
	int rc;

	if (packets_ocsd_new(&ps, a, NULL))
		return;
	while ((rc = ps->next(ps, &pkt)) > 0)
		check(pkt.raw_size <= sizeof(pkt.raw) && memchr(pkt.name, 0, sizeof(pkt.name)) &&
		      memchr(pkt.text, 0, sizeof(pkt.text)));
	check(rc == 0);
	ps->close(ps);
}

static void configure(struct trace_cfg *c, unsigned how)
{
	*c = (struct trace_cfg){ .name = "unit", .core = "", .trace_id = 0x10, .cpu = 1,
		.profile = how & 64 ? 'M' : 'A', .proto = c->proto };
	switch (c->proto) {
	case HWT_PROTO_ETM4:
	case HWT_PROTO_ETE:
		c->arch = 8;
		c->r.etm4.idr0 = how & 1 ? 0x28000ea1 : 0x2801dea1;
		c->r.etm4.idr1 = 0x4100f403;
		c->r.etm4.idr2 = 0x20001088;
		c->r.etm4.idr8 = how & 2 ? 0 : 16;	/* speculation depth */
		c->r.etm4.configr = how & 4 ? 0x811 : 0x18d9;	/* cycles, ids, return stack */
		c->r.etm4.devarch = 0x47705a13;
		break;
	case HWT_PROTO_STM:
		c->r.stm.tcsr = 0x100003;
		break;
	default:
		c->arch = 7;
		/* cycles, ids, return stack */
		c->r.etm3.cr = how & 1 ? 0x10001000 : 0x2000d000;
		c->r.etm3.idr = how & 2 ? 0x411cf312 : 0x4114f250;
		c->r.etm3.ccer = 0x34c01ac2;
		break;
	}
}

static void flow(struct hwt_image *img, struct machine *m, const uint8_t *p, size_t n,
		 unsigned how, unsigned unit)
{
	static const uint8_t protos[] = { HWT_PROTO_ETM4, HWT_PROTO_ETE, HWT_PROTO_ETM3,
		HWT_PROTO_PTM, HWT_PROTO_STM };
	size_t cut = unit & 128 ? n / 2 : n;
	struct trace_span s[2] = { { .p = p, .size = cut },
				   { .p = p + cut, .size = n - cut, .pos = cut } };
	struct trace_cfg cfg = { .proto = protos[how % 5] };
	struct trace_buf b = { .name = "fuzz", .spans = s, .nspans = cut < n ? 2 : 1, .cfgs = &cfg,
		.ncfgs = 1, .cpu = HWT_NONE, .pid = HWT_NONE, .tid = HWT_NONE };
	struct hwt_interest want = { .level = how >> 5 & 3, .time_hi = HWT_TIME_UNKNOWN };
	struct flow_args a = { .want = &want, .buf = &b, .image = img, .machine = m };
	struct hwt_stream *st;

	for (int i = 0; i < 2; i++) {
		s[i].time = HWT_TIME_UNKNOWN;
		s[i].pid = s[i].tid = HWT_NONE;
	}
	configure(&cfg, unit);
	b.framing = (uint8_t)((how >> 3 & 3) % 3);
	list(&a);
	if (flow_ocsd_new(&st, &a, NULL))
		return;
	drain(st, n);
	hwt_stream_close(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct notes ns = { 0 };
	struct hwt_image *img;
	struct machine *m;
	uint32_t code[64];

	if (n < 3 || image_new(&img, &ns))
		return 0;
	for (unsigned i = 0; i < 64; i += 4) {
		code[i] = 0xd503201f;
		code[i + 1] = 0x54000040;	/* b.eq over the next one */
		code[i + 2] = 0xd65f03c0;	/* ret */
		code[i + 3] = 0x97fffffd;	/* bl back */
	}
	if (!machine_new(&m)) {
		image_add_bytes(img, HWT_NONE, 0, 0xffffff8008080000, code, sizeof(code), NULL);
		image_add_bytes(img, HWT_NONE, 0, 0, code, sizeof(code), NULL);
		flow(img, m, p + 2, n - 2, p[0], p[1]);
		machine_free(m);
	}
	image_free(img);
	notes_free(&ns);
	return 0;
}
