/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel PT packet listing. The first byte chooses the CPU and where the input is cut into two
 * spans; all bytes must be in packets, once and in order.
 */
#include <stdint.h>
#include <stdlib.h>

#include "decoders/flow/flow.h"
#include "decoders/pt/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void listing(const uint8_t *p, size_t n, unsigned how)
{
	size_t cut = how % 4 ? n : n / 2;
	struct trace_span s[2] = { { .p = p, .size = cut },
				   { .p = p + cut, .size = n - cut, .pos = cut } };
	struct trace_cfg cfg = { .proto = HWT_PROTO_PT };
	struct trace_buf b = { .spans = s, .nspans = 2, .cfgs = &cfg, .ncfgs = 1 };
	struct flow_args a = { .buf = &b };
	struct hwt_packets *ps;
	struct hwt_packet k;
	uint64_t off = 0;

	cfg.r.pt.family = 6;
	cfg.r.pt.model = how & 4 ? 0x5e : 0;
	if (packets_pt_new(&ps, &a, NULL))
		return;
	while (ps->next(ps, &k) == 1) {
		check(k.off == off && k.size > 0 && k.size <= n - off);
		off += k.size;
	}
	check(off == n);
	ps->close(ps);
}

/* What is decoded at any place does not depend on how much follows it. */
static void places(const uint8_t *p, size_t n, unsigned how)
{
	for (size_t i = 0; i < n && i < 256; i++) {
		struct ipt_ctx a = { .bbp = how % 3 }, b = a;
		struct ipt_packet k, l;
		int rc = ipt_packet_decode(&k, &a, p + i, n - i);

		check(rc == -HWT_E_MORE || rc == -HWT_E_PACKET || (rc > 0 && (size_t)rc <= n - i));
		if (rc > 0)
			check(ipt_packet_decode(&l, &b, p + i, rc) == rc && a.bbp == b.bbp);
		b = (struct ipt_ctx){ .bbp = how % 3 };
		if (rc > 0)
			check(ipt_packet_decode(&l, &b, p + i, rc - 1) == -HWT_E_MORE);
	}
	check(ipt_sync_forward(p, n) <= n && ipt_sync_backward(p, n) <= n);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (!n)
		return 0;
	listing(p + 1, n - 1, p[0]);
	places(p + 1, n - 1, p[0]);
	return 0;
}
