/* SPDX-License-Identifier: BSD-2-Clause */
#include "hwvdso.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native.h"
#include "proc.h"

#define NAME "[vdso]"

/* A file in memory that holds these bytes, -1 if there can be none. */
static int file_of(const struct proc_map *m)
{
	const char *p = (const char *)(uintptr_t)m->start;
	size_t left = m->end - m->start;
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	while (fd >= 0 && left) {
		ssize_t n = write(fd, p, left);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		p += n;
		left -= (size_t)n;
	}
	return fd;
}

int hwvdso_copy(struct native_writer *w)
{
	char from[32];
	struct proc *p;
	int rc = proc_new(&p, getpid()), fd = -1;

	if (rc)
		return rc;
	/* a program that is not told what it has mapped has no copy: that is no error */
	if (!proc_remap(p))
		for (size_t i = 0; fd < 0 && i < p->nmaps; i++)
			if (!strcmp(p->maps[i].path, NAME))
				fd = file_of(&p->maps[i]);
	proc_free(p);
	if (fd < 0)
		return 0;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	native_file(w, NAME, from, NULL, 0);
	close(fd);
	return native_diag(w)->code;
}
