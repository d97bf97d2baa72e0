/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TESTS_KERNEL_WORK_H
#define HWT_TESTS_KERNEL_WORK_H

#include <stdbool.h>

/* Something of everything that a kernel tells, in known numbers where they can be known. */
#define WORK_CALLS	1000	/* getppid() calls of work_calls() */
#define WORK_MARKS	10	/* of each kind, by work_marks() */
#define WORK_PACKETS	50	/* sent over the loopback device */
#define WORK_BLOCKS	16	/* read from the disk */
#define WORK_CHILDREN	20	/* that run a program each */

void work_calls(void);
void work_marks(int fd);
/* One thread on each of CPU 0 and 1, with so many getppid() calls; while they run; their end. */
void work_load(int calls);
bool work_loads(void);
void work_loaded(void);
void work_all(int fd, const char *disk, const char *module);

#endif
