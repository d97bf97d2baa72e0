/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc.h"

/* table[k][b]: byte @b with k zero bytes behind it; so eight bytes are taken at a time */
typedef uint32_t crc_table[8][256];
static crc_table ieee, castagnoli;

static void make_table(crc_table t, uint32_t poly)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t v = i;

		for (int k = 0; k < 8; k++)
			v = v & 1 ? poly ^ v >> 1 : v >> 1;
		t[0][i] = v;
	}
	for (int k = 1; k < 8; k++)
		for (int i = 0; i < 256; i++)
			t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 0xff];
}

/* before main(): no thread can see half a table */
__attribute__((constructor)) static void make_tables(void)
{
	make_table(ieee, 0xedb88320);	/* both polynomials with the lowest bit first */
	make_table(castagnoli, 0x82f63b78);
}

static uint32_t add(const crc_table t, uint32_t crc, const uint8_t *p, size_t n)
{
	uint32_t c = ~crc;

	for (; n >= 8; n -= 8, p += 8) {
		uint32_t a = c ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
				  (uint32_t)p[3] << 24);

		c = t[7][a & 0xff] ^ t[6][a >> 8 & 0xff] ^ t[5][a >> 16 & 0xff] ^ t[4][a >> 24] ^
			t[3][p[4]] ^ t[2][p[5]] ^ t[1][p[6]] ^ t[0][p[7]];
	}
	for (; n; n--)
		c = t[0][(c ^ *p++) & 0xff] ^ c >> 8;
	return ~c;
}

uint32_t crc32_add(uint32_t crc, const void *p, size_t n)
{
	return add(ieee, crc, p, n);
}

uint32_t crc32c_add(uint32_t crc, const void *p, size_t n)
{
	return add(castagnoli, crc, p, n);
}
