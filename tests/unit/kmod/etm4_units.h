/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_UNIT_KMOD_ETM4_UNITS_H
#define TESTS_UNIT_KMOD_ETM4_UNITS_H

/* Trace units for tests: two as they are built, and any that the manual allows. */
#include "tests/model/etm4_model.h"
#include "tests/support/rnd.h"

/* TRCIDR0..2 of Arm's Juno (Cortex-A57), as captures of it have them; 3 to 5 as its manual. */
static const struct etm4_unit unit_a57 = {
	.id = { 0x28000ea1, 0x4100f403, 0x00000488, 0x0d7b0004, 0x11170004, 0x28c70824 },
	.soft_lock = true, .os_lock = ETM4_OSLOCK_UNIT, .claims = 0xf, .power_known = true,
	.power_delay = 3, .idle_delay = 5, .stable_delay = 2, .start_delay = 4,
};

/* An ETE: TRCIDR0..2 as captures of one have them. */
static const struct etm4_unit unit_ete = {
	.id = { 0x2801cea1, 0x4100fff0, 0xd0001088, 0x0d770004, 0x11170004, 0x28c70824, 0x7 },
	.ete = true, .system = true, .trf = true, .os_lock = ETM4_OSLOCK_CPU, .claims = 0xf,
	.power_known = true, .idle_delay = 5, .stable_delay = 7, .start_delay = 1,
};

static inline uint32_t dice(uint32_t n)
{
	return (uint32_t)(rnd() >> 16) % n;
}

static inline struct etm4_unit any_unit(void)
{
	struct etm4_unit u = { .claims = dice(2) ? 0xf : 3, .power_known = true };

	u.system = dice(2);
	u.trf = dice(2);
	u.ete = u.system && dice(2);
	u.minor = u.ete ? 0 : (uint8_t)dice(6);
	u.soft_lock = !u.system && dice(4);
	u.os_lock = (enum etm4_oslock)dice(3);
	u.power_delay = u.system ? 0 : dice(200);
	u.idle_delay = dice(300);
	u.stable_delay = dice(300);
	u.start_delay = dice(300);
	u.id[0] = 1 | dice(2) << 5 | dice(2) << 7 | dice(2) << 9 | dice(4) << 10 | dice(2) << 14 |
		(uint32_t[]){ 0, 6, 8 }[dice(3)] << 24;
	if (!u.ete && !dice(8))
		u.id[0] |= 1u << 3;
	u.id[2] = (dice(4) ? 8 : 4) | (dice(4) ? 4 : 0) << 5 |
		(uint32_t[]){ 0, 1, 4 }[dice(3)] << 10 |
		dice(3) << 25 | dice(2) << 29;
	u.id[3] = (4 + dice(60)) | (dice(2) ? 0xb : 0) << 16 | (dice(2) ? 7 : 3) << 20 |
		dice(2) << 24 | dice(2) << 25 | (dice(2) ? 3 : 0) << 26 | dice(2) << 31;
	u.id[4] = dice(9) | dice(9) << 12 | dice(16) << 16 | dice(9) << 20 |
		(u.id[2] >> 5 & 31 ? dice(9) : 0) << 24 | (u.id[2] >> 10 & 31 ? dice(9) : 0) << 28;
	u.id[5] = 4 | dice(5) << 9 | 7u << 16 | dice(2) << 22 | dice(2) << 23 |
		(dice(2) ? 4 : 0) << 25 | dice(5) << 28;
	if (u.ete && dice(2))
		u.id[5] &= ~(0x3fu << 16);
	if (u.ete)
		u.id[6] = dice(8);
	return u;
}

#endif
