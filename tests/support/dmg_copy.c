/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dmg.h"

#define LINKED	(256 << 10)	/* bytes from which on other files are not copied */

static char work[256];		/* temporary directory */
static int copy_from;		/* length of the source directory's path */

void *dmg_need(void *p)
{
	if (!p) {
		fprintf(stderr, "damage: out of memory\n");
		exit(1);
	}
	return p;
}

static int put(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	const char *c = p;

	if (fd < 0)
		return -errno;
	while (n) {
		ssize_t w = write(fd, c, n);

		if (w <= 0) {
			close(fd);
			return -EIO;
		}
		c += w;
		n -= (size_t)w;
	}
	return close(fd) ? -errno : 0;
}

void dmg_put(const void *p, size_t n)
{
	if (put(dmg.victim, p, n)) {
		fprintf(stderr, "damage: can not write %s\n", dmg.victim);
		exit(1);
	}
}

static unsigned char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	unsigned char *p = NULL;
	struct stat st;

	if (f && !fstat(fileno(f), &st) && S_ISREG(st.st_mode)) {
		*n = (size_t)st.st_size;
		p = malloc(*n + 1);
		if (p && fread(p, 1, *n, f) != *n) {
			free(p);
			p = NULL;
		}
	}
	if (f)
		fclose(f);
	return p;
}

static int rm(const char *p, const struct stat *st, int flag, struct FTW *f)
{
	return remove(p);
}

static void cleanup(void)
{
	if (work[0])
		nftw(work, rm, 16, FTW_DEPTH | FTW_PHYS);
}

static int copy_one(const char *p, const struct stat *st, int flag, struct FTW *f)
{
	char to[1024];
	size_t n;
	unsigned char *b;

	snprintf(to, sizeof(to), "%s/c%s", work, p + copy_from);
	if (flag == FTW_D)
		return mkdir(to, 0700) && errno != EEXIST;
	/* big code dumps are not what is damaged */
	if (st->st_size > LINKED && symlink(p, to) == 0)
		return 0;
	b = slurp(p, &n);
	if (!b || put(to, b, n)) {
		free(b);
		return 1;
	}
	free(b);
	return 0;
}

bool dmg_copy(const char *from, const char *file, const char *open_name)
{
	static char victim[1024], capture[1024];
	struct stat st;

	snprintf(work, sizeof(work), "%s/hwtrace-damage-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(work))
		return false;
	atexit(cleanup);
	snprintf(capture, sizeof(capture), "%s/c", work);
	dmg.victim = dmg.capture = capture;
	if (stat(from, &st) || !S_ISDIR(st.st_mode)) {
		dmg.good = slurp(from, &dmg.good_n);
		return dmg.good;
	}
	copy_from = (int)strlen(from);
	if (nftw(from, copy_one, 16, FTW_PHYS))
		return false;
	snprintf(victim, sizeof(victim), "%s/c/%s", work, file);
	dmg.victim = victim;
	dmg.good = slurp(victim, &dmg.good_n);
	if (!dmg.good || unlink(victim))	/* it may be a link to a large file */
		return false;
	if (open_name)
		snprintf(capture, sizeof(capture), "%s/c/%s", work, open_name);
	return true;
}
