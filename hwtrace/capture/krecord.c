/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hwt_record_kernel(): from a provider of kernel events, one of trace, or both, to native captures.
 * It is one thing with two sources; what only trace needs is in hwprov.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/diag.h"
#include "dirty.h"
#include "kown.h"
#include "krecord.h"
#include "kstate.h"
#include "native.h"

#define WAIT_MS		50
#define SYNC_NS		100000000	/* what came before is handed to the system then */
#define SNAPSHOTS	1000	/* of one recording; and numbers that are tried for a name */

static int failed(struct krec *k, int rc, unsigned id, const char *what)
{
	return diag_set(k->want.diag, rc, id, NULL, HWT_NO_OFF, "%s: %s", what, strerror(-rc));
}

/* The program waits until the recording has begun. */
static int start_child(struct krec *k)
{
	int go[2], back[2];
	char c;

	if (pipe2(go, O_CLOEXEC))
		return failed(k, -errno, 170, k->o->argv[0]);
	if (pipe2(back, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return failed(k, -errno, 170, k->o->argv[0]);
	}
	k->child = fork();
	if (!k->child) {
		int e;

		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(127);	/* the recorder is gone */
		execvp(k->o->argv[0], k->o->argv);
		e = errno;
		_exit(write(back[1], &e, sizeof(e)) == sizeof(e) ? 127 : 126);
	}
	close(go[0]);
	close(back[1]);
	k->go = go[1];
	k->err = back[0];
	return k->child < 0 ? failed(k, -errno, 170, k->o->argv[0]) : 0;
}

static int let_go(struct krec *k)
{
	ssize_t n;
	int e = 0;

	if (k->go < 0)
		return 0;
	n = write(k->go, "", 1);
	close(k->go);
	k->go = -1;
	n = n == 1 ? read(k->err, &e, sizeof(e)) : 0;
	return n == sizeof(e) ? failed(k, -e, 170, k->o->argv[0]) : 0;
}

static int describe_events(struct krec *k)
{
	int rc = native_set(k->w, "capture", "events", "%s", k->o->events);
	const struct hwt_abi_own *own;
	unsigned n;

	if (!rc && k->o->narrow)
		rc = native_set(k->w, "capture", "filter", "%s", k->o->narrow);
	if (!rc && k->o->contexts)
		rc = native_set(k->w, "capture", "context", "%s", k->o->contexts);
	if (!rc)
		rc = k->p->ops->describe(k->p, k->w);
	if (!rc && k->beside) {
		own = dirty_own(k->dirty, &n);
		rc = native_dirty(k->w, k->beside->counter, k->beside->frequency, own, n);
	}
	return rc;
}

static int describe(struct krec *k)
{
	bool some = k->o->narrow || (k->o->events && strstr(k->o->events, "where"));
	bool inside = k->p && k->p->inside, all = k->o->all && !inside;
	int rc = native_origin(k->w, k->p ? hwt_provider_name(k->out->provider) :
			       hwt_via_name(k->o->via), k->o->argv);

	if (!rc && (!all || some))
		rc = native_set(k->w, "capture", "scope", "%s%s%s%s", all ? "" : "some tasks",
				inside ? ", while they run" : "", !all && some ? ", " : "",
				some ? "events that a filter lets through" : "");
	if (!rc && k->target)
		rc = native_set(k->w, "capture", "process", "%" PRId32, k->target);
	if (!rc && k->p)
		rc = describe_events(k);
	/* its clock is the one that stays: that of the trace, exact */
	return rc || !k->hw ? rc : k->hw->ops->describe(k->hw, k->w);
}

/* Has what is recorded ended? */
static bool over(struct krec *k)
{
	int status;

	if (k->child > 0 && waitpid(k->child, &status, WNOHANG) == k->child) {
		k->child = 0;
		k->out->end = WIFEXITED(status) ? HWT_RECORD_EXITED : HWT_RECORD_KILLED;
		k->out->code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
		return true;
	}
	return k->o->pid && kill(k->o->pid, 0) && errno == ESRCH;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool ends(struct krec *k, uint64_t end)
{
	return (k->o->stop && *k->o->stop) || over(k) || (k->o->limit_ns && now_ns() >= end);
}

/* Of what has something to read; without a descriptor it just waits. */
static void rest(const struct kprov *p, const struct kprov *q)
{
	struct pollfd v[2] = { { .fd = p ? p->fd : -1, .events = POLLIN },
			       { .fd = q ? q->fd : -1, .events = POLLIN } };

	poll(v, 2, WAIT_MS);
}

static uint64_t lost(const struct kprov *p)
{
	return p ? p->sum.lost : 0;
}

static int pump_all(struct krec *k)
{
	struct kprov *v[] = { k->p, k->beside, k->hw };
	int rc = 0;

	for (unsigned i = 0; i < 3 && rc >= 0; i++)
		do {
			rc = v[i] ? v[i]->ops->pump(v[i], k->w) : 1;
		} while (!rc);
	k->out->lost += lost(k->p) + lost(k->beside) + lost(k->hw);
	k->out->trace_bytes += k->hw ? k->hw->sum.events : 0;
	return rc < 0 ? rc : 0;
}

static int pump(struct krec *k, struct native_writer *w)
{
	int rc = k->p ? k->p->ops->pump(k->p, w) : 0;

	if (rc >= 0 && k->beside)
		rc = k->beside->ops->pump(k->beside, w);
	return rc < 0 || !k->hw ? rc : k->hw->ops->pump(k->hw, w);
}

/* Trace that can not be opened is no reason to go without kernel events. */
static int start(struct krec *k)
{
	int rc = k->p ? k->p->ops->start(k->p, k->target) : 0;

	if (!rc && k->beside)
		rc = k->beside->ops->start(k->beside, k->target);
	if (rc || !k->hw)
		return rc;
	rc = k->hw->ops->start(k->hw, k->target);
	if (!rc || !k->p)
		return rc;
	kprov_note(&k->want, k->want.diag->id, "no trace: %.200s", k->want.diag->text);
	k->want.diag->text[0] = 0;
	k->out->no_trace = true;
	k->hw->ops->close(k->hw);
	k->hw = NULL;
	return 0;
}

static int stop(struct krec *k)
{
	int rc = k->hw ? k->hw->ops->stop(k->hw) : 0;

	if (!rc && k->beside)
		rc = k->beside->ops->stop(k->beside);
	return rc || !k->p ? rc : k->p->ops->stop(k->p);
}

static int tell_state(struct krec *k)
{
	int rc = k->p && k->p->ops->state ? k->p->ops->state(k->p, k->w) : 1;

	return rc == 1 ? kstate_tell(k->w, k->target) : rc;
}

/*
 * The state has the name that the program's process had before its exec: ours. The new one is that
 * of the file, and it may take the kernel a while to set it.
 */
static int tell_program(struct krec *k)
{
	const char *name, *slash;
	char comm[16];

	if (!k->o->argv)
		return 0;
	slash = strrchr(k->o->argv[0], '/');
	name = slash ? slash + 1 : k->o->argv[0];
	snprintf(comm, sizeof(comm), "%.15s", name);
	return native_task(k->w, k->child, k->child, comm);
}

static int stream(struct krec *k)
{
	uint64_t end, synced = 0;
	int rc = start(k);

	if (!rc)
		rc = describe(k);
	if (!rc)
		rc = tell_state(k);
	if (!rc)
		rc = native_durable(k->w);
	if (!rc)
		rc = let_go(k);
	if (!rc)
		rc = tell_program(k);
	end = now_ns() + k->o->limit_ns;
	while (!rc && !ends(k, end)) {
		rest(k->p, k->hw);
		rc = pump(k, k->w);
		if (!rc && now_ns() - synced >= SYNC_NS) {
			rc = native_sync(k->w);
			synced = now_ns();
		}
	}
	if (rc >= 0)
		rc = stop(k);
	return rc ? rc : pump_all(k);
}

/* The first capture NAME-N.hwt that is not there: none is ever written over. */
static int next_capture(struct krec *k, char *name, size_t size)
{
	size_t n = strlen(k->o->output);
	struct stat st;

	if (n > 4 && !strcmp(k->o->output + n - 4, ".hwt"))
		n -= 4;
	while (k->number < SNAPSHOTS) {
		k->number++;
		if (snprintf(name, size, "%.*s-%u.hwt", (int)n, k->o->output, k->number) >=
		    (int)size)
			return failed(k, -ENAMETOOLONG, 0, k->o->output);
		if (lstat(name, &st) && errno == ENOENT)
			return native_create(&k->w, name, false, k->want.diag);
	}
	return diag_set(k->want.diag, -EEXIST, 0, NULL, HWT_NO_OFF, "%.*s-%u.hwt: there are so "
			"many snapshots already", (int)n, k->o->output, k->number);
}

static int close_capture(struct krec *k, int rc)
{
	struct hwt_diag why = { .off = HWT_NO_OFF };
	int err;

	k->out->bytes += native_bytes(k->w);
	k->out->events += native_records(k->w);
	k->out->readings += native_readings(k->w);
	if (rc && !(k->p && k->p->sum.events) && !(k->hw && k->hw->sum.events)) {
		why = *native_diag(k->w);
		native_discard(k->w);
		err = why.code;
	} else {
		err = native_close(k->w, &why);
	}
	k->w = NULL;
	if (err && (!rc || rc == err)) {
		*k->want.diag = why;
		return err;
	}
	if (rc && !k->want.diag->text[0])
		diag_set(k->want.diag, rc, 0, NULL, HWT_NO_OFF, "%s", hwt_strerror(rc));
	return rc;
}

/* What the rings hold becomes a capture; the provider is stopped then. */
static int snapshot(struct krec *k, const char *why)
{
	const uint64_t before = k->out->events;
	char name[4096];
	int rc = stop(k);

	if (!rc)
		rc = next_capture(k, name, sizeof(name));
	if (rc)
		return rc;
	rc = describe(k);
	if (!rc)
		rc = kstate_tell(k->w, k->target);
	if (!rc)
		rc = native_set(k->w, "capture", "snapshot", "%s", why);
	if (!rc)
		rc = pump_all(k);
	rc = close_capture(k, rc);
	if (!rc) {
		k->out->snapshots++;
		kprov_note(&k->want, 0, "%s: %" PRIu64 " kernel events%s (%s)", name,
			   k->out->events - before, k->hw ? ", and trace" : "", why);
	}
	return rc;
}

/* 1: a snapshot is asked for by a signal, 2: by an event; 0: none. */
static int asked(struct krec *k)
{
	uint64_t seen;
	int rc;

	if (k->o->take && *k->o->take != k->taken) {
		k->taken = *k->o->take;
		return 1;
	}
	if (!k->watch)
		return 0;
	seen = k->watch->sum.matched;
	rc = k->watch->ops->pump(k->watch, NULL);
	return rc < 0 ? rc : k->watch->sum.matched != seen ? 2 : 0;
}

static int flight(struct krec *k)
{
	uint64_t end;
	int rc = start(k), why;

	if (!rc && k->watch)
		rc = k->watch->ops->start(k->watch, k->target);
	if (!rc)
		rc = let_go(k);
	end = now_ns() + k->o->limit_ns;
	while (!rc && !ends(k, end) && k->number < SNAPSHOTS) {
		rest(k->watch ? k->watch : k->p, k->hw);
		/* trace stays where it is; of the records beside it the newest are kept */
		rc = k->hw ? k->hw->ops->pump(k->hw, NULL) : 0;
		why = rc < 0 ? rc : asked(k);
		if (why < 0)
			return why;
		if (why)
			rc = snapshot(k, why == 1 ? "signal" : k->o->trigger);
		if (why && !rc)
			rc = start(k);
		if (why && rc && over(k)) {	/* it ended meanwhile */
			k->want.diag->text[0] = 0;
			return 0;
		}
	}
	return rc ? rc : snapshot(k, "end of the recording");
}

static int check(const struct hwt_record_kernel_opts *o, struct hwt_diag *diag)
{
	if (o->size < sizeof(*o) || !o->output || (o->argv && o->pid) ||
	    (!o->argv && !o->pid && !o->all) || o->provider > HWT_PROVIDERS ||
	    (!o->events && !o->trace) || o->via >= HWT_VIAS ||
	    (o->trigger && !o->snapshot))
		return diag_set(diag, -EINVAL, 0, NULL, HWT_NO_OFF, "options make no sense");
	return 0;
}

static int run(struct krec *k)
{
	int rc = krec_open(k);

	if (!rc && k->o->argv)
		rc = start_child(k);
	k->target = k->o->all ? 0 : k->o->argv ? k->child : k->o->pid;
	if (!rc)
		rc = k->o->snapshot ? flight(k) : stream(k);
	if (k->w)
		rc = close_capture(k, rc);
	if (!rc && k->out->lost)
		kprov_note(&k->want, 184, "%" PRIu64 " of %" PRIu64 " records of the kernel are "
			   "lost", k->out->lost, k->out->lost + k->out->events);
	return rc;
}

int hwt_record_kernel(const struct hwt_record_kernel_opts *o,
		      struct hwt_record_kernel_result *out, struct hwt_diag *diag)
{
	struct krec k = { .o = o, .out = out, .go = -1, .err = -1,
		.taken = o->take ? *o->take : 0,
		.want = { .buffer_bytes = o->buffer_bytes, .overwrite = o->snapshot,
			  .all = o->all, .sync = true, .tag = "", .note = o->note, .arg = o->arg,
			  .diag = diag } };
	int rc = check(o, diag);

	if (rc)
		return rc;
	memset(out, 0, sizeof(*out));
	out->end = HWT_RECORD_DETACHED;
	rc = run(&k);
	if (k.go >= 0) {	/* it never ran */
		kill(k.child, SIGKILL);
		close(k.go);
	}
	if (k.child > 0 && (rc || k.go >= 0))
		waitpid(k.child, NULL, k.go >= 0 ? 0 : WNOHANG);
	if (k.err >= 0)
		close(k.err);
	if (k.watch)
		k.watch->ops->close(k.watch);
	if (k.p)
		k.p->ops->close(k.p);
	if (k.beside)
		k.beside->ops->close(k.beside);
	dirty_free(k.dirty);
	if (k.hw)
		k.hw->ops->close(k.hw);
	hwt_filter_free(k.trigger);
	hwt_filter_free(k.narrow);
	hwt_filter_free(k.events);
	kown_free(k.own);
	return rc;
}
