/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Truth: hwtrace/model/pt_packet.c, which was written from the manual and which test_packet_ipt.c
 * compares with libipt. Packets that libipt 2.0.5 does not know are also in fixtures/packets/pt,
 * whose meaning tests/golden/pt_perf.sh compares with perf's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "decoders/pt/packet.h"
#include "tests/support/ptenc.h"
#include "tests/support/rnd.h"

#define SLOT	24		/* bytes: longer than any packet */

static void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)rnd();
}

/* size > 0 and <= n, a packet does not change with the bytes after it, a cut one is -MORE. */
static void properties(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 400000; i++) {
		uint8_t b[SLOT];
		struct ipt_packet k, l;
		struct ipt_ctx c0 = { .bbp = i % 3 }, c1 = c0, c2;
		int rc;

		fill(b, sizeof(b));
		if (i & 1)
			b[0] = 0x02;
		memset(&k, 0xa5, sizeof(k));
		l = k;
		rc = ipt_packet_decode(&k, &c1, b, sizeof(b));
		if (rc < 0) {
			assert_int_equal(rc, -HWT_E_PACKET);	/* no packet is as long as b */
			assert_memory_equal(&k, &l, sizeof(k));
			assert_int_equal(c1.bbp, c0.bbp);
			assert_string_not_equal(ipt_packet_why(b, sizeof(b)), "");
			continue;
		}
		assert_in_range(rc, 1, IPT_PACKET_MAX);
		assert_int_equal(rc, k.size);
		for (int n = 0; n < rc; n++) {
			c2 = c0;
			assert_int_equal(ipt_packet_decode(&l, &c2, b, n), -HWT_E_MORE);
			assert_int_equal(c2.bbp, c0.bbp);
		}
		c2 = c0;
		fill(b + rc, sizeof(b) - rc);
		assert_int_equal(ipt_packet_decode(&l, &c2, b, sizeof(b)), rc);
		assert_memory_equal(&k, &l, sizeof(k));
		assert_int_equal(c1.bbp, c2.bbp);
	}
}

/* A block item reads like a short TNT: only the block around it tells. */
static void blocks(void **state)
{
	const uint8_t bip[] = { 0x34, 1, 2, 3, 4, 5, 6, 7, 8 };
	const struct { const char *end; uint8_t kind; } ends[] = {
		{ "0233", IPT_BEP }, { "02b3", IPT_BEP }, { "02f3", IPT_OVF },
		{ "01", IPT_TIP_PGD },
		{ "0d", IPT_TIP }, { "11", IPT_TIP_PGE }, { "06", IPT_TNT8 },
		{ "02a3 0400 0000 0000", IPT_TNT64 },
		{ "0282 0282 0282 0282 0282 0282 0282 0282", IPT_PSB },
	};
	const struct { const char *in; uint8_t kind; } keeps[] = {
		{ "00", IPT_PAD }, { "03", IPT_CYC }, { "5901", IPT_MTC }, { "1d", IPT_FUP },
		{ "1900000000000000", IPT_TSC }, { "02032000", IPT_CBR },
	};
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet k;
	struct model_pt_buf e;
	uint8_t b[32];

	(void)state;
	assert_int_equal(ipt_packet_decode(&k, &ctx, bip, 9), 1);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		for (unsigned bytes = 4; bytes <= 8; bytes += 4) {
			model_pt_init(&e, b, sizeof(b));
			model_pt_bbp(&e, 5, bytes);
			assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), 3);
			assert_int_equal(k.kind, IPT_BBP);
			assert_int_equal(k.count, 5);
			assert_int_equal(k.flag, bytes == 4);
			assert_int_equal(ipt_packet_decode(&k, &ctx, bip, 9), 1 + bytes);
			assert_int_equal(k.kind, IPT_BIP);
			assert_int_equal(k.count, 6);
			assert_int_equal(k.payload, bytes == 4 ? 0x04030201 : 0x0807060504030201);
			model_pt_init(&e, b, sizeof(b));
			ptenc_hex(&e, ends[i].end);
			assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), e.n);
			assert_int_equal(k.kind, ends[i].kind);
			assert_int_equal(ipt_packet_decode(&k, &ctx, bip, 9), 1);
			assert_int_equal(k.kind, IPT_TNT8);
		}
	}
	ctx.bbp = 1;
	for (unsigned i = 0; i < sizeof(keeps) / sizeof(keeps[0]); i++) {
		model_pt_init(&e, b, sizeof(b));
		ptenc_hex(&e, keeps[i].in);
		assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), e.n);
		assert_int_equal(k.kind, keeps[i].kind);
		assert_int_equal(ctx.bbp, 1);
	}
}

/* Case D04: what the items of each type of block are, by SDM vol. 3, "Block Item (BIP) Packet". */
static void item_names(void **state)
{
	static const struct { unsigned type; const char *names; } types[] = {
		{ 1, "rflags rip rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15" },
		{ 4, "ip counters timestamp" }, { 5, "address auxiliary latency tsx" },
		{ 8, "lbr0.from lbr0.to lbr0.info lbr1.from lbr1.to lbr1.info lbr2.from lbr2.to "
			"lbr2.info lbr3.from lbr3.to lbr3.info lbr4.from lbr4.to lbr4.info "
			"lbr5.from lbr5.to lbr5.info lbr6.from lbr6.to lbr6.info lbr7.from "
			"lbr7.to lbr7.info "
			"lbr8.from lbr8.to lbr8.info lbr9.from lbr9.to lbr9.info" },
		{ 16, "xmm0.q0 xmm0.q1 xmm1.q0 xmm1.q1 xmm2.q0 xmm2.q1 xmm3.q0 xmm3.q1 xmm4.q0 "
			"xmm4.q1 xmm5.q0 xmm5.q1 xmm6.q0 xmm6.q1 xmm7.q0 xmm7.q1 xmm8.q0 xmm8.q1 "
			"xmm9.q0 xmm9.q1 xmm10.q0 xmm10.q1 xmm11.q0 xmm11.q1 xmm12.q0 xmm12.q1 "
			"xmm13.q0 xmm13.q1 xmm14.q0 xmm14.q1 xmm15.q0 xmm15.q1" },
	};

	(void)state;
	for (unsigned type = 0; type < 32; type++) {
		const char *name = "";

		for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			if (types[i].type == (type == 9 || type == 10 ? 8 : type))
				name = types[i].names;
		for (unsigned id = 0; id < 32; id++) {
			size_t n = strcspn(name, " ");
			struct ipt_last_ip last = { 0 };
			struct ipt_ctx ctx = { 0 };
			struct model_pt_buf e;
			struct ipt_packet k;
			char want[48], got[48];
			uint8_t b[32];

			model_pt_init(&e, b, sizeof(b));
			model_pt_bbp(&e, type, 8);
			model_pt_bip(&e, id, 0xabcd, 8);
			assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), 3);
			assert_int_equal(ipt_packet_decode(&k, &ctx, b + 3, e.n - 3), 9);
			ipt_packet_text(&k, &last, got, sizeof(got));
			snprintf(want, sizeof(want), "%x: abcd%s%.*s", id, n ? " " : "", (int)n,
				 name);
			assert_string_equal(got, want);
			name += n + (name[n] == ' ');
		}
	}
}

/* Kinds that libipt 2.0.5 does not know: what pt_packet.c writes is what we read. */
static void younger_kinds(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4000; i++) {
		uint64_t v = rnd();
		unsigned type = v >> 9 & 31, vector = v >> 17 & 255, flag = v & 1;
		struct ipt_ctx ctx = { 0 };
		struct ipt_packet k;
		struct model_pt_buf e;
		uint8_t b[16];

		model_pt_init(&e, b, sizeof(b));
		model_pt_cfe(&e, type, (uint8_t)vector, flag);
		assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), e.n);
		assert_int_equal(k.kind, IPT_CFE);
		assert_int_equal(k.payload, type);
		assert_int_equal(k.extra, vector);
		assert_int_equal(k.flag, flag);
		e.n = 0;
		model_pt_evd(&e, type, v);
		assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), e.n);
		assert_int_equal(k.kind, IPT_EVD);
		assert_int_equal(k.payload, v);
		assert_int_equal(k.extra, type);
		e.n = 0;
		model_pt_pwre(&e, type, vector, flag);
		assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), e.n);
		assert_int_equal(k.flag, flag);
		e.n = 0;
		model_pt_bep(&e, flag);
		assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), e.n);
		assert_int_equal(k.kind, IPT_BEP);
		assert_int_equal(k.flag, flag);
		e.n = 0;
		ctx.bbp = 1 + flag;
		model_pt_bip(&e, type, v, flag ? 4 : 8);
		assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), e.n);
		assert_int_equal(k.kind, IPT_BIP);
		assert_int_equal(k.count, type);
		assert_int_equal(k.payload, flag ? (uint32_t)v : v);
	}
}

/* The address written with the shortest form is the one that is read back. */
static void sizes(void **state)
{
	struct ipt_packet pkt;
	unsigned known = 0;
	uint8_t p[16];

	for (unsigned first = 0; first < 256; first++) {
		known += !!ipt_packet_sizes[first];
		for (unsigned k = 0; k < 50; k++) {
			struct ipt_ctx ctx = { 0 };
			int n;

			fill(p, sizeof(p));
			p[0] = (uint8_t)first;
			n = ipt_packet_decode(&pkt, &ctx, p, sizeof(p));
			if (!ipt_packet_sizes[first])
				continue;
			assert_int_equal(n, ipt_packet_sizes[first]);
			assert_int_not_equal(pkt.kind, IPT_TSC);
			assert_int_equal(ctx.bbp, 0);
		}
	}
	/* PAD and short TNT, TIP family, CYC, MTC: SDM, "Packet Definitions" */
	assert_int_equal(known, 127 + 24 + 32 + 1);
}

static void last_ip(void **state)
{
	struct ipt_last_ip last = { 0 };
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet k;
	struct model_pt_buf e;
	uint8_t b[16];
	uint64_t ip = 0;

	(void)state;
	model_pt_init(&e, b, sizeof(b));
	for (unsigned i = 0; i < 20000; i++) {
		ip = i % 7 ? ip ^ rnd() >> rnd() % 64 : rnd();
		e.n = 0;
		assert_true(model_pt_tip(&e, ip));
		assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), e.n);
		assert_int_equal(ipt_last_ip_apply(&last, &k), 1);
		assert_int_equal(last.ip, ip);
		e.n = 0;
		model_pt_pgd_noip(&e);
		assert_int_equal(ipt_packet_decode(&k, &ctx, b, e.n), 1);
		assert_int_equal(ipt_last_ip_apply(&last, &k), 0);
		assert_int_equal(last.suppressed, 1);
		assert_int_equal(last.ip, ip);
	}
}

/* Text is cut, never overrun, and its full length is known. */
static void text_is_bounded(void **state)
{
	struct ipt_last_ip last = { 0 };
	char whole[256], cut[256];

	(void)state;
	for (unsigned kind = 0; kind < IPT_KINDS + 2; kind++) {
		struct ipt_packet k = { .kind = (uint8_t)kind, .count = 0xff, .flag = 1,
					.payload = UINT64_MAX, .extra = UINT64_MAX };
		size_t len = ipt_packet_text(&k, &last, whole, sizeof(whole));

		assert_true(len < 160);
		assert_int_equal(strlen(whole), len);
		for (size_t n = 1; n <= len; n++) {
			memset(cut, 'x', sizeof(cut));
			assert_int_equal(ipt_packet_text(&k, &last, cut, n), len);
			assert_int_equal(strlen(cut), n - 1);
			assert_int_equal(cut[n], 'x');
		}
		assert_non_null(ipt_packet_name(kind));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(properties),
		cmocka_unit_test(blocks),
		cmocka_unit_test(item_names), cmocka_unit_test(younger_kinds),
		cmocka_unit_test(sizes), cmocka_unit_test(last_ip),
		cmocka_unit_test(text_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
