/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All sessions that there are, of two owners, each with another filter: root's have what both do,
 * those of a user without rights only what the user does, and each no more than its filter takes.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "client.h"

#define USER_GETS	HWT_KMOD_USER_SESSIONS
#define ROOT_GETS	(HWT_KMOD_SESSIONS - USER_GETS)

struct owned {
	struct client c;
	unsigned least;		/* what its filter takes of values */
	pid_t only;		/* nobody else is to be seen; 0: all are */
	uint64_t n[2];		/* records of this process, and of others */
	uint64_t sum;		/* of their values */
};

static void look(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	const struct hwt_rec_user_mark *r = (const void *)rec;
	struct owned *o = arg;

	if (rec->id != HWT_ID_user_mark)
		return;
	if (r->value < o->least || r->value >= HWT_KMOD_SESSIONS)
		client_fail("session %u has value %" PRIu64, o->least, (uint64_t)r->value);
	if (o->only && (rec->tid != o->only || r->ip >> 47))
		client_fail("a user sees task %d at %" PRIx64, rec->tid, (uint64_t)r->ip);
	o->n[rec->tid != getpid()]++;
	o->sum += r->value;
}

/* One that takes values from @least on. */
static int begin(struct owned *o, unsigned least, pid_t only)
{
	static const uint16_t id = HWT_ID_user_mark;
	const struct hwt_bpf_insn f[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct hwt_rec_user_mark, value) },
		{ BPF_JMP | BPF_JGE | BPF_K, 0, 1, least },
		{ BPF_RET | BPF_K, 0, 0, 1 }, { BPF_RET | BPF_K, 0, 0, 0 } };
	struct client_opts opts = { .ids = &id, .nids = 1, .sub_size = 8192, .subs = 4,
		.filter = f, .nfilter = 4 };
	int rc = client_open(&o->c, &opts);

	o->least = least;
	o->only = only;
	o->c.record = look;
	o->c.arg = o;
	if (rc)
		close(o->c.fd);
	return rc ? rc : client_start(&o->c);
}

/* A mark of each value. */
static void marks(int fd)
{
	for (unsigned i = 0; i < HWT_KMOD_SESSIONS; i++) {
		struct hwt_kmod_mark m = { .size = sizeof(m), .value = i };

		if (ioctl(fd, HWT_KMOD_MARK_IT, &m))
			client_fail("a mark");
	}
}

/* @others: so often each value was marked by others. */
static void end(struct owned *o, unsigned n, unsigned others)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t all = HWT_KMOD_SESSIONS, k = o[i].least, each = all - k;
		uint64_t sum = (all * (all - 1) - k * (k - 1)) / 2;

		client_finish(&o[i].c);
		if (o[i].n[0] != each || o[i].n[1] != each * others ||
		    o[i].sum != sum * (1 + others))
			client_fail("session %u has %" PRIu64 " own and %" PRIu64
				    " other records", o[i].least, o[i].n[0], o[i].n[1]);
	}
}

/* The user's part; its end of a socket is standard input. */
void case_owners_user(void)
{
	struct owned *o = calloc(USER_GETS + 1, sizeof(*o));
	char c = 0;

	for (unsigned i = 0; o && i <= USER_GETS; i++) {
		int rc = begin(&o[i], ROOT_GETS + i, getpid());

		if (rc != (i < USER_GETS ? 0 : -EDQUOT))
			client_fail("a user's session %u: %s", i, strerror(-rc));
	}
	if (!o || write(0, &c, 1) != 1 || read(0, &c, 1) != 1)
		client_fail("the user is alone");
	else
		marks(o[0].c.fd);
	if (write(0, &c, 1) != 1)
		client_fail("nobody waits for the user");
	end(o, o ? USER_GETS : 0, 0);
	free(o);
}

void case_owners(void)
{
	struct owned *o = calloc(ROOT_GETS + 1, sizeof(*o));
	int pair[2], status;
	char c = 0;
	pid_t p;

	if (!o || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		client_fail("owners: %s", strerror(errno));
		return;
	}
	p = fork();
	if (!p) {
		if (dup2(pair[1], 0) || setgid(1000) || setuid(1000))
			_exit(2);
		/* only a new program may be looked into */
		execl("/bin/guest", "guest", "owners_user", NULL);
		_exit(3);
	}
	close(pair[1]);
	if (read(pair[0], &c, 1) != 1)
		client_fail("no user");
	for (unsigned i = 0; i <= ROOT_GETS; i++) {
		int rc = begin(&o[i], i, 0);

		if (rc != (i < ROOT_GETS ? 0 : -EBUSY))
			client_fail("session %u: %s", i, strerror(-rc));
	}
	marks(o[0].c.fd);
	if (write(pair[0], &c, 1) != 1 || read(pair[0], &c, 1) != 1)
		client_fail("the user does nothing");
	end(o, ROOT_GETS, 1);
	close(pair[0]);
	if (waitpid(p, &status, 0) != p || status)
		client_fail("the user's part: %x", status);
	free(o);
}
