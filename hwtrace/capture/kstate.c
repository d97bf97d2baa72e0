/* SPDX-License-Identifier: BSD-2-Clause */
/* Tasks and code that are there already, as /proc shows them. */
#include "kstate.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "native.h"
#include "proc.h"

#define TASKS	(1u << 20)	/* whose state is written */

static int tell_maps(struct native_writer *w, int32_t pid)
{
	struct proc *p;
	int rc = proc_new(&p, pid);

	if (rc)
		return rc == -ENOMEM ? rc : 0;	/* it is gone */
	rc = 0;
	if (!proc_remap(p))
		for (size_t i = 0; i < p->nmaps && !rc; i++) {
			const struct proc_map *v = &p->maps[i];
			struct hwt_map map = { .addr = v->start, .size = v->end - v->start,
				.file_off = v->off, .path = v->path, .pid = pid };

			rc = native_map(w, &map);
		}
	proc_free(p);
	return rc;
}

/* Threads and code of a process, as they are now; what is gone meanwhile is left out. */
static int tell_process(struct native_writer *w, int32_t pid, unsigned *left)
{
	char path[64], comm[16];
	struct dirent *d;
	int rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/task", pid);
	dir = opendir(path);
	while (dir && !rc && *left && (d = readdir(dir))) {
		int32_t tid = (int32_t)strtol(d->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		proc_comm(tid, comm);
		rc = native_task(w, pid, tid, comm);
		(*left)--;
	}
	if (dir)
		closedir(dir);
	return rc ? rc : tell_maps(w, pid);
}

int kstate_tell(struct native_writer *w, int32_t one)
{
	unsigned left = TASKS;
	struct dirent *d;
	int rc = 0;
	DIR *dir;

	if (one)
		return tell_process(w, one, &left);
	dir = opendir("/proc");
	while (dir && !rc && left && (d = readdir(dir)))
		if (isdigit((unsigned char)*d->d_name))
			rc = tell_process(w, (int32_t)strtol(d->d_name, NULL, 10), &left);
	if (dir)
		closedir(dir);
	return rc;
}
