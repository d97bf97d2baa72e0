/* SPDX-License-Identifier: BSD-2-Clause */
/* What latency is asked about: each function is called as often as main() says. */
#include <unistd.h>

#include "../oracle/length/calls.h"

__attribute__((noinline)) void work(int k)
{
	leaf(3);
	sink += k;		/* line 10 */
	if (k % 4 == 0)
		leaf(30);
	getppid();
}

int main(void)
{
	for (int k = 0; k < 20; k++)
		work(k);
	return fact(5) + fact(4) == 144 ? 0 : 1;
}
