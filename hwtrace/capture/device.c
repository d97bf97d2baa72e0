/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../base/diag.h"

static int failed(struct hwt_diag *diag, int rc)
{
	return diag_set(diag, rc, 182, NULL, HWT_NO_OFF, "%s: %s", HWT_KMOD_DEVICE, strerror(-rc));
}

int device_open(int *fd, struct hwt_kmod_info *info, struct hwt_diag *diag)
{
	int f = open(HWT_KMOD_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK), rc = 0;

	if (f < 0)
		return failed(diag, errno == ENXIO || errno == ENODEV ? -ENOENT : -errno);
	*info = (struct hwt_kmod_info){ .size = sizeof(*info) };
	if (ioctl(f, HWT_KMOD_INFO, info))
		rc = failed(diag, -errno);
	else if (info->version != HWT_KMOD_VERSION)
		rc = diag_set(diag, -EOPNOTSUPP, 182, NULL, HWT_NO_OFF, "the kernel module is "
			      "of version %u, this program knows %u", info->version,
			      HWT_KMOD_VERSION);
	if (rc)
		close(f);
	else
		*fd = f;
	return rc;
}

struct hwt_kmod_event device_event(int fd, const struct hwt_kmod_info *info, unsigned id)
{
	for (unsigned i = 0; i < info->events; i++) {
		struct hwt_kmod_event e = { .size = sizeof(e), .index = i };

		if (!ioctl(fd, HWT_KMOD_EVENT, &e) && e.id == id)
			return e;
	}
	return (struct hwt_kmod_event){ .id = id };
}

bool device_gives(const struct hwt_kmod_info *info, const struct hwt_kmod_event *e)
{
	return e->flags & HWT_KMOD_EV_HERE &&
		(info->flags & HWT_KMOD_ALL || e->flags & HWT_KMOD_EV_USER);
}

#define SHOWN	4	/* processes of a user that are named */

/* Sessions of one user, as the module tells them. */
struct holder {
	uint32_t uid;
	unsigned sessions;
	uint64_t bytes;
	unsigned n;
	struct { int32_t pid; unsigned sessions; } of[HWT_KMOD_SESSIONS];	/* @n processes */
};

struct held {
	struct holder user[HWT_KMOD_SESSIONS + 1];
	unsigned n, all, users;		/* @users: sessions of those without rights */
};

static struct holder *holder_of(struct held *h, uint32_t uid)
{
	for (unsigned i = 0; i < h->n; i++)
		if (h->user[i].uid == uid)
			return &h->user[i];
	h->user[h->n].uid = uid;
	return &h->user[h->n++];
}

static void add(struct held *h, const struct hwt_kmod_holder *k)
{
	struct holder *u = holder_of(h, k->uid);
	unsigned i = 0;

	h->all++;
	h->users += k->flags & HWT_KMOD_HELD_USER ? 1 : 0;
	u->sessions++;
	u->bytes += k->bytes;
	while (i < u->n && u->of[i].pid != k->pid)
		i++;
	u->n += i == u->n;
	u->of[i].pid = k->pid;
	u->of[i].sessions++;
}

/* Adds to a text of @size bytes; what has no room is cut. */
static void put(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void put(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, size - n, fmt, ap);
	va_end(ap);
}

/* "user 1000 has 16, 64 MiB (process 812: 15, process 920)" */
static void say(char *text, size_t size, const struct holder *u)
{
	const char *before = *text ? "; " : "";

	if (u->uid == UINT32_MAX) {
		put(text, size, "%sothers have %u", before, u->sessions);
		return;
	}
	put(text, size, "%suser %u has %u", before, u->uid, u->sessions);
	if (u->bytes >> 20)
		put(text, size, ", %u MiB", (unsigned)(u->bytes >> 20));
	for (unsigned i = 0; i < u->n && i < SHOWN; i++) {
		put(text, size, "%sprocess %" PRId32, i ? ", " : " (", u->of[i].pid);
		if (u->of[i].sessions > 1)
			put(text, size, ": %u", u->of[i].sessions);
	}
	put(text, size, "%s)", u->n > SHOWN ? ", and more" : "");
}

bool device_full(int fd, const struct hwt_kmod_info *info, uint64_t bytes, int err,
		 struct hwt_diag *diag)
{
	bool may = info->flags & HWT_KMOD_ALL;
	const struct holder *mine;
	struct held h = { .n = 0 };
	char text[200] = "";

	if (err != -EBUSY && err != -EDQUOT)
		return false;
	for (uint32_t i = 0; i < HWT_KMOD_SESSIONS; i++) {
		struct hwt_kmod_holder one = { .size = sizeof(one), .index = i };

		if (ioctl(fd, HWT_KMOD_HOLDER, &one))
			return false;	/* an older module */
		if (one.flags & HWT_KMOD_HELD)
			add(&h, &one);
	}
	mine = holder_of(&h, getuid());
	if (err == -EDQUOT) {
		if (mine->sessions < HWT_KMOD_USER_SESSIONS &&
		    mine->bytes + bytes <= HWT_KMOD_USER_BYTES)
			return false;
		say(text, sizeof(text), mine);
		diag_set(diag, err, 197, NULL, HWT_NO_OFF, "%s: %s", mine->sessions <
			 HWT_KMOD_USER_SESSIONS ? "no more memory for this user's sessions of the "
			 "module" : "this user may have no more sessions of the module", text);
		return true;
	}
	if (h.all < HWT_KMOD_SESSIONS && (may || h.users < HWT_KMOD_USERS_SESSIONS))
		return false;
	for (unsigned i = 0; i < h.n; i++)
		if (h.user[i].sessions)
			say(text, sizeof(text), &h.user[i]);
	diag_set(diag, err, 197, NULL, HWT_NO_OFF, "%u of %u sessions of the module are taken: %s",
		 h.all, HWT_KMOD_SESSIONS, text);
	return true;
}
