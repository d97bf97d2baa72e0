/* SPDX-License-Identifier: BSD-2-Clause */
/* The other process of the guest: answers numbers from a pipe. */
#include <stdint.h>
#include <unistd.h>

static uint32_t mix(uint32_t v)
{
	for (int i = 0; i < 20; i++)
		v = v & 1 ? v * 3 + 1 : v >> 1 ^ v << 5;
	return v;
}

int main(void)
{
	uint32_t v;

	while (read(0, &v, sizeof(v)) == sizeof(v)) {
		v = mix(v);
		if (write(1, &v, sizeof(v)) != sizeof(v))
			return 1;
	}
	return 0;
}
