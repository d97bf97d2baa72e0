/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Users without rights who take all sessions that they get, while root wants some, too: each user
 * is a process that holds its own, and is told to end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/capture.h>

#include "cases.h"
#include "client.h"

#define FIRST_UID	1000
#define USERS		3	/* of them take all that they together get */
#define ROOT_GETS	(HWT_KMOD_SESSIONS - HWT_KMOD_USERS_SESSIONS)

struct user { pid_t pid; int end; };

static const uint16_t id = HWT_ID_user_mark;

static int open_small(struct client *c)
{
	struct client_opts o = { .ids = &id, .nids = 1, .sub_size = 4096, .subs = 2 };

	return client_open(c, &o);
}

/* What a recorder says that gets no session. */
static int refused(const char *name, struct hwt_diag *d)
{
	struct hwt_record_kernel_result r;
	struct hwt_record_kernel_opts o = { .size = sizeof(o), .output = name,
		.events = "user.mark", .pid = getpid(), .limit_ns = 1, .buffer_bytes = 65536 };

	*d = (struct hwt_diag){ 0 };
	return hwt_record_kernel(&o, &r, d);
}

static bool says(const struct hwt_diag *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static bool says(const struct hwt_diag *d, const char *fmt, ...)
{
	char words[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	if (d->id == 197 && strstr(d->text, words))
		return true;
	client_fail("no \"%s\" in E%03u: %s", words, d->id, d->text);
	return false;
}

/* How many sessions this caller is told of: with who has them, and without. */
static void count_held(int fd, unsigned *told, unsigned *others)
{
	*told = *others = 0;
	for (uint32_t i = 0; i < HWT_KMOD_SESSIONS; i++) {
		struct hwt_kmod_holder h = { .size = sizeof(h), .index = i };

		if (ioctl(fd, HWT_KMOD_HOLDER, &h)) {
			client_fail("holder %u: %s", i, strerror(errno));
			return;
		}
		if (h.flags & HWT_KMOD_HELD)
			++*(h.uid == UINT32_MAX && !h.pid && !h.bytes ? others : told);
	}
}

/* The first user: all that one gets. */
static void one_user(struct client *c)
{
	struct client more;
	struct hwt_diag d;
	unsigned told, others;
	char name[64];
	int rc;

	rc = open_small(&more);
	if (rc != -EDQUOT)
		client_fail("one session more than a user gets: %s", strerror(-rc));
	close(more.fd);
	snprintf(name, sizeof(name), "/tmp/quota-%d.hwt", (int)getuid());
	rc = refused(name, &d);
	if (rc != -EDQUOT || !access(name, F_OK))
		client_fail("the recorder of a user who has enough: %d", rc);
	says(&d, "this user may have no more sessions");
	says(&d, "user %d has %d", (int)getuid(), HWT_KMOD_USER_SESSIONS);
	says(&d, "process %d: %d", (int)getpid(), HWT_KMOD_USER_SESSIONS);
	close(c->fd);
	count_held(c[1].fd, &told, &others);
	if (told != HWT_KMOD_USER_SESSIONS - 1 || others != 1)
		client_fail("a user is told of %u sessions, and %u of others", told, others);
	rc = open_small(c);
	if (rc)
		client_fail("a session in place of one that is closed: %s", strerror(-rc));
}

/* The last one finds nothing left. */
static void none_left(void)
{
	struct hwt_diag d;
	int rc = refused("/tmp/quota-none.hwt", &d);

	if (rc != -EBUSY || !access("/tmp/quota-none.hwt", F_OK))
		client_fail("the recorder of a user who finds nothing: %d", rc);
	says(&d, "others have %d", HWT_KMOD_USERS_SESSIONS + 1);
}

static void hold(unsigned number, int ready, int end)
{
	static struct client c[HWT_KMOD_USER_SESSIONS];
	unsigned n = number < USERS ? HWT_KMOD_USER_SESSIONS : 0;
	char b = 0;

	/* the group of the device */
	if (setgid(1000) || setuid(FIRST_UID + number))
		client_fail("user %u", number);
	for (unsigned i = 0; i < n; i++) {
		int rc = open_small(&c[i]);

		if (rc)
			client_fail("session %u of user %u: %s", i, number, strerror(-rc));
	}
	if (!number)
		one_user(c);
	if (number == USERS)
		none_left();
	b = client_failed() != 0;
	if (write(ready, &b, 1) == 1 && read(end, &b, 1) < 0)
		_exit(2);
	_exit(client_failed() != 0);
}

static struct user begin(unsigned number)
{
	int ready[2], end[2];
	struct user u;
	char b = 1;

	if (pipe(ready) || pipe(end))
		client_fail("pipe: %s", strerror(errno));
	u.pid = fork();
	if (!u.pid) {
		close(end[1]);
		hold(number, ready[1], end[0]);
	}
	close(ready[1]);
	close(end[0]);
	u.end = end[1];
	if (read(ready[0], &b, 1) != 1 || b)
		client_fail("user %u", number);
	close(ready[0]);
	return u;
}

static void finish(struct user *u)
{
	close(u->end);
	waitpid(u->pid, NULL, 0);
}

/* Rings of all of a user's sessions: three as large as one may be, then one that is too much. */
static void memory(void)
{
	struct client_opts o = { .ids = &id, .nids = 1, .sub_size = 262144 };
	uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	static struct client c[5];
	int rc = 0;

	if (setgid(1000) || setuid(FIRST_UID))
		client_fail("a user");
	o.subs = (uint32_t)(HWT_KMOD_OWN_BYTES / o.sub_size / cpus);
	for (unsigned i = 0; !rc && i < 4; i++) {
		o.subs /= i == 3 ? 2 : 1;
		rc = client_open(&c[i], &o);
	}
	/* what the machine does not have it does not give */
	if (rc == -ENOMEM) {
		printf("# quota: no memory for that\n");
		_exit(0);
	}
	o.subs *= 2;
	if (rc || client_open(&c[4], &o) != -EDQUOT)
		client_fail("a user has more memory than a user gets: %s", strerror(-rc));
	_exit(client_failed() != 0);
}

void case_quota(void)
{
	static struct client c[ROOT_GETS + 1];
	struct user u[USERS + 1];
	unsigned told, others;
	struct hwt_diag d;
	int rc, status;
	pid_t p;

	if (open_small(&c[0]))
		client_fail("the first session of root");
	for (unsigned i = 0; i <= USERS; i++)
		u[i] = begin(i);
	count_held(c[0].fd, &told, &others);
	if (told != HWT_KMOD_USERS_SESSIONS + 1 || others)
		client_fail("root is told of %u sessions, and of %u without who", told, others);
	for (unsigned i = 1; i <= ROOT_GETS; i++) {
		rc = open_small(&c[i]);
		if (rc != (i < ROOT_GETS ? 0 : -EBUSY))
			client_fail("session %u of root: %s", i, strerror(-rc));
	}
	rc = refused("/tmp/quota-root.hwt", &d);
	if (rc != -EBUSY)
		client_fail("the recorder of root finds a session: %d", rc);
	says(&d, "64 of 64 sessions");
	says(&d, "user %d has %d", FIRST_UID, HWT_KMOD_USER_SESSIONS);
	says(&d, "(process %d: %d)", (int)u[0].pid, HWT_KMOD_USER_SESSIONS);
	printf("# %s\n", d.text);
	/* a later one has the pipes of those before it, too */
	for (unsigned i = USERS + 1; i-- > 0;)
		finish(&u[i]);
	for (unsigned i = 0; i <= ROOT_GETS; i++)
		close(c[i].fd);
	p = fork();
	if (!p)
		memory();
	waitpid(p, &status, 0);
	if (status)
		client_fail("memory of a user: %x", status);
}
