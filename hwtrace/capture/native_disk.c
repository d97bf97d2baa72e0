/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts what was written on the disk, again and again, so that of a machine that loses its power
 * the last moments are missing and not half a minute. A disk may take long for it, and the ring
 * of the one who records does not wait: a thread of its own does it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "native_priv.h"

struct native_disk {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool stop;		/* with the lock held */
	atomic_int err;		/* negative code of what failed first */
	const struct native_writer *w;	/* its directories, which stay as they are */
};

/* A file system that can not do it has nothing to do. */
static int code_of(int rc)
{
	return rc && errno != EINVAL && errno != ENOSYS && errno != EROFS ? -errno : 0;
}

/* What was written to file @name until now; one that is gone is none. */
static int sync_file(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	rc = code_of(fdatasync(fd));
	close(fd);
	return rc;
}

/* All files of a folder, then their names. */
static int sync_folder(int at)
{
	struct dirent *e;
	DIR *d;
	int rc = native_folder(&d, at, "."), err;

	if (rc)
		return rc;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && (err = sync_file(at, e->d_name)) && !rc)
			rc = err;
	err = code_of(fsync(dirfd(d)));
	closedir(d);
	return rc ? rc : err;
}

/* What hwtrace.ini says comes after what it speaks of; the capture's own name comes last. */
static int sync_all(const struct native_writer *w)
{
	int rc = 0, fd;

	for (unsigned i = 0; i < SUBS && !rc; i++)
		rc = w->sub[i] < 0 ? 0 : sync_folder(w->sub[i]);
	if (!rc)
		rc = sync_file(w->dirfd, NATIVE_INI);
	if (!rc)
		rc = code_of(fsync(w->dirfd));
	fd = rc ? -1 : openat(w->dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		rc = code_of(fsync(fd));
		close(fd);
	}
	return rc;
}

static void *run(void *arg)
{
	struct native_disk *d = arg;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		int rc;

		pthread_mutex_unlock(&d->lock);
		rc = sync_all(d->w);
		if (rc && !atomic_load(&d->err))
			atomic_store(&d->err, rc);
		pthread_mutex_lock(&d->lock);
		/* a disk that takes longer than that is always at it */
		next.tv_sec += NATIVE_DISK_S;
		while (!d->stop &&
		       pthread_cond_timedwait(&d->change, &d->lock, &next) != ETIMEDOUT)
			;
		clock_gettime(CLOCK_MONOTONIC, &next);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

static int start(struct native_disk *d)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int rc;

	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->change, &attr);
	pthread_condattr_destroy(&attr);
	/* signals are for the caller's threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&d->thread, NULL, run, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -rc;
}

int native_durable(struct native_writer *w)
{
	struct native_disk *d;
	int rc;

	if (native_failed(w) || w->disk)
		return native_failed(w);
	d = calloc(1, sizeof(*d));
	if (!d)
		return native_fail(w, -ENOMEM, "", "");
	d->w = w;
	rc = start(d);
	if (rc) {
		free(d);
		return native_fail(w, rc, NATIVE_INI, "no thread that puts it on the disk");
	}
	w->disk = d;
	return 0;
}

int native_disk_failed(struct native_writer *w)
{
	int rc = w->disk ? atomic_load(&w->disk->err) : 0;

	return rc ? native_fail(w, rc, "kernel", "can not be put on the disk") : native_failed(w);
}

void native_disk_stop(struct native_writer *w)
{
	struct native_disk *d = w->disk;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->change);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->change);
	pthread_mutex_destroy(&d->lock);
	free(d);
	w->disk = NULL;
}

int native_disk_now(struct native_writer *w)
{
	int rc = native_failed(w) ? 0 : sync_all(w);

	return rc ? native_fail(w, rc, "kernel", "can not be put on the disk") : native_failed(w);
}
