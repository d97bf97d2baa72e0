/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds of the same work between getppid() and getuid(). Before one of them the pages that it
 * writes are given back: says how many page faults the kernel counted in it, and in the one before.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES	8
#define PAGE	4096
#define ROUNDS	12
#define FRESH	7

static char *pages;

__attribute__((noinline)) void touch(int k)
{
	for (int i = 0; i < PAGES; i++)
		pages[i * PAGE] += (char)k;
}

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt;
}

int main(void)
{
	long before, n[ROUNDS];

	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return 1;
	madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
	touch(0);
	for (int k = 0; k < ROUNDS; k++) {
		if (k == FRESH)
			madvise(pages, PAGES * PAGE, MADV_DONTNEED);
		before = faults();
		syscall(SYS_getppid);
		touch(k);
		syscall(SYS_getuid);
		n[k] = faults() - before;
	}
	printf("%ld %ld\n", n[FRESH], n[FRESH - 1]);
	return 0;
}
