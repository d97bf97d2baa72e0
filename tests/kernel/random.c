/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of random bytes: an error each, or what was asked for, and nothing else. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"
#include "client.h"

#define REQUESTS 6000	/* or REQUESTS=N; SEED=N: others */
#define CMDS	(sizeof(cmds) / sizeof(cmds[0]))

void case_random(void)
{
	static const unsigned cmds[] = { HWT_KMOD_INFO, HWT_KMOD_EVENT, HWT_KMOD_OPEN,
		HWT_KMOD_START, HWT_KMOD_STOP, HWT_KMOD_COUNTS, HWT_KMOD_MARK_IT, HWT_KMOD_STATE,
		HWT_KMOD_GET, HWT_KMOD_PUT, HWT_KMOD_PROBED, HWT_KMOD_HOLDER, HWT_KMOD_UNIT,
		HWT_KMOD_TRACE, HWT_KMOD_TRACE_READ, HWT_KMOD_CS_REGS };
	struct hwt_kmod_probe probe[2] = { { .symbol = "vfs_read" }, { .symbol = "vfs_write" } };
	struct hwt_kmod_want want[2] = { { .id = HWT_ID_syscall_enter },
		{ .id = HWT_ID_syscall_exit } };
	uint64_t buf[64], in[512];
	int fd = open(HWT_KMOD_DEVICE, O_RDWR | O_NONBLOCK), done = 0;
	int all = cases_number("REQUESTS", REQUESTS);

	srandom((unsigned)cases_number("SEED", 7));
	for (int i = 0; i < all; i++) {
		unsigned cmd = cmds[(size_t)random() % CMDS];
		struct hwt_kmod_session *s = (void *)buf;

		for (int k = 0; k < 64; k++)
			buf[k] = random() % 3 ? (uint64_t)random() % 5 :
				(uint64_t)random() << 33 ^ (uint64_t)random();
		s->size = random() % 4 ? _IOC_SIZE(cmd) : (uint32_t)random() % 600;
		if (cmd == HWT_KMOD_OPEN && random() % 2) {	/* one that is fine, mostly */
			s->flags &= 1;
			s->sub_size = 4096;
			s->subs = 2u << random() % 3;
			s->wants = (uintptr_t)want;
			s->nwants = 2;
			s->pid = 0;
			s->contexts &= 0xff;
			s->counter_type = (uint32_t)random() % 6;
			if (random() % 4)
				s->counter_type = s->counter_config = s->pad = 0;
			s->probes = (uintptr_t)probe;
			s->nprobes = (uint32_t)random() % 4;
			probe[0].flags = random() % 2;
			probe[0].offset = random() % 3 ? 0 : (uint64_t)random() % 16;
			probe[0].nargs = (uint32_t)random() % 3;
			memcpy(probe[0].arg, buf + 20, sizeof(probe[0].arg));
			probe[0].nfilter = random() % 4 ? 0 : (uint16_t)random() % 9;
			probe[0].filter = (uintptr_t)(buf + 16);
			/* bytes of any kind as a program */
			want[0].nfilter = random() % 2 ? (uint16_t)random() % 9 : 0;
			want[0].filter = (uintptr_t)(buf + 16);
		} else if (cmd == HWT_KMOD_OPEN) {		/* not all of the memory */
			s->subs &= 15;
		}
		if (random() % 50 == 0)
			cmd ^= 1u << random() % 32;
		done += ioctl(fd, cmd, random() % 20 ? (void *)buf : (void *)random()) >= 0;
		if (random() % 20 == 0 && read(fd, in, (size_t)random() % sizeof(in)) > 0)
			done++;
		if (random() % 20 == 0) {
			size_t n = 4096ul << random() % 4;
			void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd,
				       (off_t)(4096 * (random() % 40)));

			done += p != MAP_FAILED && !munmap(p, n);
		}
		if (random() % 30 == 0) {
			close(fd);
			fd = open(HWT_KMOD_DEVICE, O_RDWR | O_NONBLOCK);
		}
	}
	close(fd);
	printf("# %d of %d requests were fine\n", done, all);
}
