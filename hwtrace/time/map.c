/* SPDX-License-Identifier: BSD-2-Clause */
#include "map.h"

/*
 * With c = q * 2^shift + r the definition is floor(c * mult / 2^shift): the product is taken in
 * 128 bits, so no bit of the remainder is lost for any shift below 64.
 */
uint64_t time_map_ns(const struct time_map *m, uint64_t c)
{
	unsigned shift = m->shift & 63;

	if (m->fit)
		return time_fit_lo(m->fit, c);
	if (m->cap_short)
		c = m->cycles + ((c - m->cycles) & m->mask);
	return m->zero + (uint64_t)(((unsigned __int128)c * m->mult) >> shift);
}

uint64_t time_map_ns_ordered(const struct time_map *m, uint64_t c)
{
	__int128 ns;

	if (m->fit)
		return time_fit_lo(m->fit, c);
	if (m->cap_short)
		c = m->cycles + ((c - m->cycles) & m->mask);
	/* @zero is negative for a clock that began after the counter */
	ns = (int64_t)m->zero + (__int128)(((unsigned __int128)c * m->mult) >> (m->shift & 63));
	return ns < 0 ? 0 : ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

uint64_t time_map_ticks(const struct time_map *m, uint64_t ns)
{
	unsigned shift = m->shift & 63;
	uint64_t t = ns - m->zero, c;
	unsigned __int128 q;

	if (m->fit)
		return time_fit_lo_tick(m->fit, ns);
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

bool time_map_exact(struct time_map *m, uint64_t frequency)
{
	for (unsigned shift = 0; shift < 32 && frequency; shift++) {
		uint64_t n = 1000000000ull << shift;

		if (n % frequency || n / frequency > UINT32_MAX)
			continue;
		*m = (struct time_map){ .mult = (uint32_t)(n / frequency),
			.shift = (uint16_t)shift };
		return true;
	}
	return false;
}

void time_map_rate(struct time_map *m, uint64_t rate)
{
	for (m->shift = TIME_RATE_BITS; rate > UINT32_MAX && m->shift; rate >>= 1)
		m->shift--;
	m->mult = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate;
}
