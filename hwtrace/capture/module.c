/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel module as provider: packets of its device as they are. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <hwtrace/abi.h>
#include <hwtrace/event.h>
#include <hwtrace/uapi.h>

#include "../base/diag.h"
#include "../events/record.h"
#include "device.h"
#include "kown.h"
#include "kprov.h"
#include "native.h"
#include "ticks.h"

#define SUB_SIZE	65536u		/* bytes of a packet in the kernel */
#define BUFFER		(4u << 20)	/* of each CPU, if not asked for */
#define STATE_CALLS	100000		/* each tells up to half a ring, if there is room */
#define READ		(1u << 20)	/* bytes at a time */
#define WANTS		256		/* more than there are events */

struct mod {
	struct kprov p;
	const struct kprov_want *want;
	struct hwt_kmod_info info;
	struct hwt_kmod_want wants[WANTS];	/* programs are owned */
	unsigned nwants;
	uint8_t uuid[16];
	uint8_t *buf;
	uint64_t *lost;			/* of each CPU, of the session */
	bool opened;			/* a session */
	int32_t pid;			/* of the session */
	uint64_t looked;		/* records that it had when it was looked at last */
};

static struct mod *mod_of(struct kprov *p)
{
	return hwt_container_of(p, struct mod, p);
}

static int failed(struct mod *m, int rc, unsigned id, const char *what)
{
	return diag_set(m->want->diag, rc, id, NULL, HWT_NO_OFF, "%s: %s", what, strerror(-rc));
}

static int no_memory(struct mod *m)
{
	return diag_set(m->want->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
}

/* The condition of one event for the kernel, which wants it as the program @v of @n. */
static int add_want(struct mod *m, unsigned id, const struct hwt_bpf_insn *v, int n)
{
	struct hwt_kmod_want *w = &m->wants[m->nwants];
	void *p;

	*w = (struct hwt_kmod_want){ .id = (uint16_t)id };
	/* all of them, or none */
	if (kprov_returns(v)) {
		m->nwants += v->k != 0;
		return 0;
	}
	p = malloc((size_t)n * sizeof(*v));
	if (!p)
		return no_memory(m);
	memcpy(p, v, (size_t)n * sizeof(*v));
	w->nfilter = (uint16_t)n;
	w->filter = (uintptr_t)p;
	m->nwants++;
	return 0;
}

/* The place of context differs in a module of another version that has not all of our fields. */
static bool context_fits(const struct mod *m, unsigned id)
{
	const struct hwt_abi_event *e = hwt_abi_event_by_id(id);

	return !m->want->own || !m->want->own->contexts || m->info.abi >= HWT_ABI_VERSION ||
		record_fixed(e, m->info.abi) == record_fixed(e, HWT_ABI_VERSION);
}

/* What patterns take in, and this kernel or user can not have, is said. */
static int choose_all(struct mod *m, struct hwt_bpf_insn *v)
{
	const struct hwt_filter *f = m->want->events;
	char left[160] = "";
	unsigned id;
	size_t k = 0;
	int rc = 0;

	for (unsigned i = 0; !rc && (id = hwt_filter_event(f, i)); i++) {
		struct hwt_kmod_event e;
		int n;

		if (id >= HWT_ID_DIRTY)
			continue;
		e = device_event(m->p.fd, &m->info, id);
		if (e.flags & HWT_KMOD_EV_OWN || m->nwants == WANTS)
			continue;
		if (!device_gives(&m->info, &e)) {
			if (k < sizeof(left))
				k += (size_t)snprintf(left + k, sizeof(left) - k, " %s",
						      hwt_abi_event_by_id(id)->name);
			continue;
		}
		n = hwt_filter_bpf(kprov_condition(m->want, id), id, v, HWT_BPF_MAX,
				   m->want->diag);
		if (n > 0 && !kprov_returns(v) && !context_fits(m, id))
			n = diag_set(m->want->diag, -EOPNOTSUPP, 183, NULL, HWT_NO_OFF,
				     "the module is too old for conditions of %s beside context",
				     hwt_abi_event_by_id(id)->name);
		rc = n < 0 ? n : add_want(m, id, v, n);
	}
	if (!rc && !m->nwants && !m->want->beside && (!m->want->own || !m->want->own->n))
		return diag_set(m->want->diag, -EOPNOTSUPP, 183, NULL, HWT_NO_OFF,
				"this kernel can not give any of it, or not to this user:%s", left);
	if (!rc && *left)
		kprov_note(m->want, 183, "not given by this kernel, or not to this user:%s", left);
	return rc;
}

static int choose(struct mod *m)
{
	struct hwt_bpf_insn *v = malloc(HWT_BPF_MAX * sizeof(*v));
	int rc = v ? choose_all(m, v) : no_memory(m);

	free(v);
	return rc;
}

/* Who may not record the machine gets HWT_KMOD_OWN_BYTES for all CPUs together. */
static uint32_t subs(const struct mod *m)
{
	uint64_t bytes = m->want->buffer_bytes ? m->want->buffer_bytes : BUFFER;
	uint32_t n = 2;

	if (!(m->info.flags & HWT_KMOD_ALL) && m->info.cpus &&
	    bytes > HWT_KMOD_OWN_BYTES / m->info.cpus)
		bytes = HWT_KMOD_OWN_BYTES / m->info.cpus / 2;	/* it is rounded up */
	while (n < (1u << 15) && (uint64_t)n * SUB_SIZE < bytes)
		n *= 2;
	return n;
}

/* A session is used once: after a stop another one is opened with the same wants. */
static int mod_start(struct kprov *p, int32_t pid)
{
	struct mod *m = mod_of(p);
	struct hwt_kmod_session s = { .size = sizeof(s), .sub_size = SUB_SIZE, .subs = subs(m),
		.flags = m->want->overwrite ? HWT_KMOD_OVERWRITE : 0,
		.wants = (uintptr_t)m->wants, .nwants = m->nwants, .pid = pid };
	int rc;

	if (m->want->own) {
		s.contexts = m->want->own->contexts;
		s.counter_type = m->want->own->counter_type;
		s.counter_config = m->want->own->counter_config;
		s.probes = (uintptr_t)m->want->own->probes;
		s.nprobes = m->want->own->n;
	}
	if (m->opened) {
		struct hwt_kmod_info info;
		int fd;

		rc = device_open(&fd, &info, m->want->diag);
		if (rc)
			return rc;
		close(p->fd);
		p->fd = fd;
	}
	m->opened = true;
	m->pid = pid;
	p->inside = !(m->info.flags & HWT_KMOD_ALL);
	p->sum = (struct kprov_sum){ 0 };
	memset(m->lost, 0, m->info.cpus * sizeof(*m->lost));
	if (getrandom(m->uuid, sizeof(m->uuid), 0) != sizeof(m->uuid))
		return failed(m, -errno, 0, "no random number for the trace");
	memcpy(s.uuid, m->uuid, sizeof(s.uuid));
	if (ioctl(p->fd, HWT_KMOD_OPEN, &s)) {
		rc = -errno;
		if (device_full(p->fd, &m->info, (uint64_t)s.sub_size * s.subs * m->info.cpus, rc,
				m->want->diag))
			return rc;
		return failed(m, rc, 182, s.nprobes ? "the session; a function is not there, "
			      "or may not be probed" : s.counter_config || s.counter_type ?
			      "the session; the counter is not there" : "the session");
	}
	if (ioctl(p->fd, HWT_KMOD_START))
		return failed(m, -errno, errno == ESRCH ? 174 : 182, "start");
	return 0;
}

/*
 * Where records of a whole machine are counted: a trace of the kernel can be put to them. Not for
 * events with a filter: there the instruction also runs for records that are not wanted.
 */
static int tell_anchors(struct mod *m, struct native_writer *w)
{
	int rc = 0;

	for (unsigned i = 0; m->want->all && i < m->nwants && !rc; i++) {
		struct hwt_kmod_event e = device_event(m->p.fd, &m->info, m->wants[i].id);

		if (e.anchor && !m->wants[i].nfilter)
			rc = native_commit(w, hwt_abi_event_by_id(e.id)->name, e.anchor);
	}
	return rc;
}

static int mod_describe(struct kprov *p, struct native_writer *w)
{
	struct native_clock clock = { .counter = TICKS_COUNTER, .base = "CLOCK_MONOTONIC",
		.from_records = true };
	struct mod *m = mod_of(p);
	struct ticks_clock t;
	int rc;

	ticks_measure(&t);
	clock.frequency = m->info.hz;
	clock.wall = t.wall;
	rc = native_clock(w, &clock);
	if (!rc && m->want->own)
		native_own(w, m->want->own->contexts, m->want->own->events, m->want->own->n);
	if (!rc)
		rc = native_take_uuid(w, m->uuid);
	return rc ? rc : tell_anchors(m, w);
}

/* Records of a packet that were asked for; those of the session itself are not. */
static void count_matches(struct mod *m, const uint8_t *p, size_t n, int32_t cpu)
{
	struct hwt_rec r;

	for (size_t at = sizeof(struct hwt_ctf_packet); at + sizeof(r) <= n; at += r.size) {
		memcpy(&r, p + at, sizeof(r));
		if (r.size < sizeof(r) || r.size > n - at)
			return;
		m->p.sum.matched += hwt_filter_match_on(m->want->events, p + at, r.size, cpu);
	}
}

static int put_packets(struct mod *m, struct native_writer *w, size_t n)
{
	struct hwt_ctf_packet h;
	int rc = 0;

	for (size_t at = 0, size; at < n && !rc; at += size) {
		if (n - at < sizeof(h))
			return failed(m, -EIO, 182, "a packet of the kernel");
		memcpy(&h, m->buf + at, sizeof(h));
		size = h.content_size / 8;
		if (size < sizeof(h) || size > n - at || h.cpu_id >= m->info.cpus)
			return failed(m, -EIO, 182, "a packet of the kernel");
		m->p.sum.events += h.events;
		if (!w)
			count_matches(m, m->buf + at, size, (int32_t)h.cpu_id);
		m->p.sum.lost += h.events_discarded - m->lost[h.cpu_id];
		m->lost[h.cpu_id] = h.events_discarded;
		rc = w ? native_packet(w, m->buf + at, size) : 0;
	}
	return rc;
}

static uint64_t produced(const struct mod *m)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < m->info.cpus; i++) {
		struct hwt_kmod_counts c = { .size = sizeof(c), .cpu = i };

		if (!ioctl(m->p.fd, HWT_KMOD_COUNTS, &c))
			n += c.produced;
	}
	return n;
}

static int mod_stop(struct kprov *p)
{
	return ioctl(p->fd, HWT_KMOD_STOP) ? failed(mod_of(p), -errno, 182, "stop") : 0;
}

static int drain(struct mod *m, struct native_writer *w)
{
	for (;;) {
		ssize_t n = read(m->p.fd, m->buf, READ);
		int rc;

		if (!n)
			return 1;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 :
				failed(m, -errno, 182, "read");
		rc = put_packets(m, w, (size_t)n);
		if (rc)
			return rc;
		if ((size_t)n < READ / 2)
			return 0;
	}
}

/*
 * As records of the kernel's own, on the clock of all others. A module that is older does not know
 * that; rings that are overwritten would not keep them.
 */
static int mod_state(struct kprov *p, struct native_writer *w)
{
	struct mod *m = mod_of(p);

	for (unsigned i = 0; i < STATE_CALLS; i++) {
		int more = ioctl(p->fd, HWT_KMOD_STATE), rc;

		if (more < 0 && errno != EINTR)
			return errno == ENOTTY ? 1 : failed(m, -errno, 182, "the state");
		if (!more)
			return 0;
		rc = drain(m, w);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 1;
}

/*
 * Packets are read when they are full. Who only counts wants to know now: the session is ended as
 * soon as it has a record, read, and begun anew. What comes between the two is not seen.
 */
static int look(struct mod *m)
{
	struct kprov_sum sum;
	int rc;

	if (produced(m) == m->looked)
		return 0;
	rc = mod_stop(&m->p);
	while (!rc)
		rc = drain(m, NULL);
	sum = m->p.sum;
	if (rc > 0)
		rc = mod_start(&m->p, m->pid);
	m->p.sum = sum;
	m->looked = produced(m);
	return rc;
}

static int mod_pump(struct kprov *p, struct native_writer *w)
{
	return w ? drain(mod_of(p), w) : look(mod_of(p));
}

static void mod_close(struct kprov *p)
{
	struct mod *m = mod_of(p);

	if (p->fd >= 0)
		close(p->fd);
	for (unsigned i = 0; i < m->nwants; i++)
		free((void *)(uintptr_t)m->wants[i].filter);
	free(m->lost);
	free(m->buf);
	free(m);
}

int module_new(struct kprov **out, const struct kprov_want *want)
{
	static const struct kprov_ops ops = { mod_start, mod_describe, mod_state, mod_pump,
		mod_stop, mod_close, NULL };
	struct mod *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return diag_set(want->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	m->want = want;
	m->p = (struct kprov){ .ops = &ops, .fd = -1, .counter = TICKS_COUNTER };
	rc = device_open(&m->p.fd, &m->info, want->diag);
	if (!rc)
		rc = choose(m);
	if (!rc) {
		m->lost = calloc(m->info.cpus, sizeof(*m->lost));
		m->buf = malloc(READ);
		rc = m->lost && m->buf ? 0 : no_memory(m);
	}
	if (rc) {
		mod_close(&m->p);
		return rc;
	}
	*out = &m->p;
	return 0;
}
