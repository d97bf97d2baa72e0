/* SPDX-License-Identifier: BSD-2-Clause */
#include "map.h"

/*
 * With c = q * 2^shift + r the definition is floor(c * mult / 2^shift): the product is taken in
 * 128 bits, so no bit of the remainder is lost for any shift below 64.
 */
uint64_t time_map_ns(const struct time_map *m, uint64_t c)
{
	unsigned shift = m->shift & 63;

	if (m->cap_short)
		c = m->cycles + ((c - m->cycles) & m->mask);
	return m->zero + (uint64_t)(((unsigned __int128)c * m->mult) >> shift);
}

uint64_t time_map_ticks(const struct time_map *m, uint64_t ns)
{
	unsigned shift = m->shift & 63;
	uint64_t t = ns - m->zero, c;
	unsigned __int128 q;

	/* t < 2^64 and shift < 64: the shifted value and the rounding fit in 128 bits */
	q = (((unsigned __int128)t << shift) + (m->mult - 1)) / m->mult;
	if (q >> 64)	/* no counter value has this time: it lies before zero, or after the last */
		c = (int64_t)t < 0 ? 0 : UINT64_MAX;
	else
		c = (uint64_t)q;
	if (!m->cap_short)
		return c;
	if (c < m->cycles)
		return m->cycles;
	return c - m->cycles > m->mask ? m->cycles + m->mask : c;
}
