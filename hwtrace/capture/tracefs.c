/* SPDX-License-Identifier: BSD-2-Clause */
#include "tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hwtrace/capture.h>

#include "../base/diag.h"

#define NAME		"hwtrace-"
#define TRACEFS_NAME	64	/* bytes of a name of ours, with its end */
#define TEXT_MAX	65536	/* bytes of a format file */

const char *tracefs_root(void)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[64];

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(path, sizeof(path), "%s/instances", roots[i]);
		if (!access(path, F_OK) || errno == EACCES)
			return roots[i];
	}
	return NULL;
}

int tracefs_write(const char *dir, const char *name, const char *text)
{
	char path[256];
	ssize_t n;
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	rc = n < 0 ? -errno : 0;
	close(fd);
	return rc;
}

char *tracefs_read(const char *dir, const char *name)
{
	char path[256], *text;
	size_t n = 0;
	ssize_t k = 1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	text = fd < 0 ? NULL : malloc(TEXT_MAX);
	while (text && n < TEXT_MAX - 1 && (k = read(fd, text + n, TEXT_MAX - 1 - n)) > 0)
		n += (size_t)k;
	if (fd >= 0)
		close(fd);
	if (text)
		text[n] = 0;
	return text;
}

void tracefs_remove(const char *dir)
{
	tracefs_write(dir, "tracing_on", "0");
	tracefs_write(dir, "events/enable", "0");
	rmdir(dir);
}

/* When a process began, in ticks since the machine did; 0: there is none. */
static uint64_t start_of(long pid)
{
	char path[32], *text;
	const char *p;
	uint64_t v = 0;

	snprintf(path, sizeof(path), "/proc/%ld", pid);
	text = tracefs_read(path, "stat");
	/* the program's name, in parentheses, may have any bytes; behind it comes field 3 */
	p = text ? strrchr(text, ')') : NULL;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		v = strtoull(p, NULL, 10);
	free(text);
	return v;
}

/* Numbers of processes mean something in there only. */
static unsigned long namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (unsigned long)st.st_ino;
}

/* hwtrace-PROCESS-START-NAMESPACE, with a letter perhaps; older ones end behind the process. */
static bool is_left(const char *name)
{
	char *end;
	long pid;

	if (strncmp(name, NAME, strlen(NAME)) || strlen(name) >= TRACEFS_NAME)
		return false;
	pid = strtol(name + strlen(NAME), &end, 10);
	if (pid <= 0 || pid > INT32_MAX)
		return false;
	if (*end == '-') {
		uint64_t start = strtoull(end + 1, &end, 10), now;

		if (*end != '-' || strtoul(end + 1, NULL, 10) != namespace())
			return false;
		now = start_of(pid);
		/* a start that can not be read says nothing: then as of older names */
		if (now && start)
			return now != start;
	}
	return kill((pid_t)pid, 0) && errno == ESRCH;
}

int hwt_tracers_left(void (*put)(void *arg, const char *dir), void *arg)
{
	const char *root = tracefs_root();
	char path[TRACEFS_DIR];
	struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/instances", root ? root : "/nonexistent");
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (!is_left(e->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/instances/%.*s", root, TRACEFS_NAME - 1,
			 e->d_name);
		put(arg, path);
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

static void remove_left(void *arg, const char *dir)
{
	tracefs_remove(dir);
}

void tracefs_clean(void)
{
	hwt_tracers_left(remove_left, NULL);
}

int tracefs_instance(char dir[TRACEFS_DIR], const char *tag, struct hwt_diag *diag)
{
	const char *root = tracefs_root();
	int err;

	if (!root)
		return diag_set(diag, -ENOENT, 180, NULL, HWT_NO_OFF,
				"tracefs: not mounted at /sys/kernel/tracing");
	snprintf(dir, TRACEFS_DIR, "%s/instances/" NAME "%d-%" PRIu64 "-%lu%s", root,
		 (int)getpid(), start_of(getpid()), namespace(), tag);
	if (!mkdir(dir, 0700))
		return 0;
	err = errno;
	return diag_set(diag, -err, 180, NULL, HWT_NO_OFF, "tracefs: %s", strerror(err));
}
