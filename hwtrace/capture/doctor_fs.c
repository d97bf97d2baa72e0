/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doctor.h"

/* Links of a copied tree are meant inside of it. */
int doctor_open(const struct doctor *d, const char *path, int flags)
{
	/* a copy may have a pipe where a file was */
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC |
						    (flags & O_PATH ? 0 : O_NONBLOCK)),
		.resolve = RESOLVE_IN_ROOT };

	if (d->root < 0)
		return open(path, (int)how.flags);
	return (int)syscall(SYS_openat2, d->root, path, &how, sizeof(how));
}

bool doctor_has(const struct doctor *d, const char *path)
{
	int fd = doctor_open(d, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool doctor_text(const struct doctor *d, const char *path, char *out, size_t size)
{
	int fd = doctor_open(d, path, O_RDONLY);
	ssize_t k = fd < 0 ? -1 : 1;
	size_t n = 0;

	while (k > 0 && n < size - 1) {
		k = read(fd, out + n, size - 1 - n);
		n += k > 0 ? (size_t)k : 0;
	}
	if (fd >= 0)
		close(fd);
	out[n] = 0;
	while (n && strchr(" \t\n", out[n - 1]))
		out[--n] = 0;
	return k >= 0;
}

long doctor_number(const struct doctor *d, const char *path)
{
	char text[32], *end;
	long v;

	if (!doctor_text(d, path, text, sizeof(text)))
		return -1;
	v = strtol(text, &end, 0);
	return end == text ? -1 : v;
}

DIR *doctor_dir(const struct doctor *d, const char *path)
{
	int fd = doctor_open(d, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

bool doctor_grep(const struct doctor *d, const char *path, const char *word)
{
	size_t len = strlen(word), n = 0;
	int fd = doctor_open(d, path, O_RDONLY);
	char b[8192];
	bool found = false;
	ssize_t k;

	while (fd >= 0 && !found && (k = read(fd, b + n, sizeof(b) - n)) > 0) {
		n += (size_t)k;
		found = memmem(b, n, word, len);
		if (n >= len) {	/* a word may go on in what comes next */
			memmove(b, b + n - (len - 1), len - 1);
			n = len - 1;
		}
	}
	if (fd >= 0)
		close(fd);
	return found;
}
