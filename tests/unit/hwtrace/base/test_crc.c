/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hwtrace/base/crc.h"

/* Check value of the catalogue of parametrised CRC algorithms, CRC-32/ISO-HDLC. */
static void test_check_value(void **state)
{
	assert_int_equal(crc32_add(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_add(0, "", 0), 0);
	assert_int_equal(crc32_add(0, "a", 1), 0xe8b7be43);
	/* 32 zero bytes, known from Ethernet test vectors */
	assert_int_equal(crc32_add(0, (uint8_t [32]){ 0 }, 32), 0x190a55ad);
}

/* RFC 3720 section B.4 */
static void test_castagnoli(void **state)
{
	uint8_t p[32];

	assert_int_equal(crc32c_add(0, (uint8_t [32]){ 0 }, 32), 0x8a9136aa);
	for (unsigned i = 0; i < 32; i++)
		p[i] = 0xff;
	assert_int_equal(crc32c_add(0, p, 32), 0x62a8ab43);
	for (unsigned i = 0; i < 32; i++)
		p[i] = (uint8_t)i;
	assert_int_equal(crc32c_add(0, p, 32), 0x46dd794e);
	for (unsigned i = 0; i < 32; i++)
		p[i] = (uint8_t)(31 - i);
	assert_int_equal(crc32c_add(0, p, 32), 0x113fdb5c);
}

static void test_parts(void **state)
{
	uint8_t p[100];
	uint32_t whole;

	for (unsigned i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(i * 37 + 11);
	whole = crc32_add(0, p, sizeof(p));
	for (unsigned i = 0; i <= sizeof(p); i++)
		assert_int_equal(crc32_add(crc32_add(0, p, i), p + i, sizeof(p) - i), whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_value), cmocka_unit_test(test_castagnoli),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
