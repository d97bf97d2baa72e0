/* SPDX-License-Identifier: BSD-2-Clause */
/* Truth: libipt's sync functions on the same bytes where there is one, and a plain search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "decoders/pt/packet.h"
#include "tests/support/rnd.h"

static const uint8_t psb[16] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
				 2, 0x82 };
static size_t plain_forward(const uint8_t *p, size_t n)
{
	const uint8_t *at = memmem(p, n, psb, sizeof(psb));

	return at ? (size_t)(at - p) : n;
}

static size_t plain_backward(const uint8_t *p, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (n - i >= sizeof(psb) && !memcmp(p + i, psb, sizeof(psb)))
			return i;
	return n;
}

#if __has_include(<intel-pt.h>)
#include <intel-pt.h>

static void against_peer(uint8_t *p, size_t n)
{
	struct pt_packet_decoder *d;
	struct pt_config c;
	uint64_t off;
	int rc;

	memset(&c, 0, sizeof(c));
	pt_config_init(&c);
	c.begin = p;
	c.end = p + n;
	d = pt_pkt_alloc_decoder(&c);
	assert_non_null(d);
	rc = pt_pkt_sync_forward(d);
	off = n;
	if (rc >= 0)
		assert_int_equal(pt_pkt_get_offset(d, &off), 0);
	assert_int_equal(ipt_sync_forward(p, n), off);
	pt_pkt_free_decoder(d);
}
#else
static void against_peer(uint8_t *p, size_t n)
{
	/* the plain search is left */
}
#endif

/* Short inputs over few byte values, so that near misses and overlapping patterns are common. */
static void random_inputs(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 40000; i++) {
		size_t n = 1 + rnd() % 96;
		uint8_t *p = malloc(n);

		assert_non_null(p);
		for (size_t k = 0; k < n; k++)
			p[k] = i % 4 == 0 ? (uint8_t)rnd() : rnd() % 12 ? (k & 1 ? 0x82 : 0x02) :
			       rnd() & 1 ? 0x02 : 0x82;
		if (i % 3 == 0 && n > 40)
			memcpy(p + rnd() % (n - 16), psb, 16);
		assert_int_equal(ipt_sync_forward(p, n), plain_forward(p, n));
		assert_int_equal(ipt_sync_backward(p, n), plain_backward(p, n));
		/* where patterns overlap libipt takes another one than the first */
		if (plain_forward(p, n) == plain_backward(p, n))
			against_peer(p, n);
		free(p);
	}
}

/* A PSB cut at each length at the end of a page that has no page after it. */
static void cut_at_page_end(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *m = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	(void)state;
	assert_true(m != MAP_FAILED);
	assert_int_equal(mprotect(m + page, page, PROT_NONE), 0);
	for (size_t cut = 0; cut <= 16; cut++) {
		struct ipt_packet k;
		struct ipt_ctx ctx = { 0 };
		uint8_t *p = m + page - cut;

		memset(m, 6, page);
		memcpy(p, psb, cut);
		assert_int_equal(ipt_sync_forward(p, cut), cut == 16 ? 0 : cut);
		assert_int_equal(ipt_sync_forward(m, page), cut == 16 ? page - 16 : page);
		assert_int_equal(ipt_sync_backward(m, page), cut == 16 ? page - 16 : page);
		assert_int_equal(ipt_packet_decode(&k, &ctx, p, cut),
				 cut == 16 ? 16 : -HWT_E_MORE);
	}
	assert_int_equal(munmap(m, 2 * page), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_inputs),
		cmocka_unit_test(cut_at_page_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
