/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random filter programs by the hundred thousand: one for each event of many sessions. A session
 * without programs tells what the others saw; what each program let through must be what the
 * library takes of that. A program that may not run is refused alone.
 *
 * Nothing waits here but for what a session needs: one more session holds the events all the time,
 * so that no code is changed, and the kernel is asked for grace periods in a hurry.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/rndprog.h"

#include "cases.h"
#include "client.h"

#define SESSIONS 16		/* at once, with programs */
#define TURNS	8		/* that a round makes of all its events */
#define LONGEST	24
#define RANGE	UINT64_C(0x52414e4745)	/* value of the marks around what counts */
#define HURRY	"/sys/kernel/rcu_expedited"

/* Events that turn() makes, and that come only of what programs do, however slow the guest is. */
#define KIND(sec, name) { HWT_ID_##sec##_##name, sizeof(struct hwt_rec_##sec##_##name) }
static const struct kind {
	uint16_t id, size;
} known[] = {
	KIND(syscall, enter), KIND(syscall, exit), KIND(user, mark), KIND(user, begin),
	KIND(user, end), KIND(mm, fault), KIND(mm, map), KIND(mm, unmap), KIND(net, tx),
	KIND(net, xmit), KIND(net, rx)
};
#define KNOWN	(sizeof(known) / sizeof(known[0]))

static struct kind kinds[KNOWN];	/* those that this kernel has */
static unsigned nkinds;

struct prog {
	struct sock_filter v[LONGEST];
	uint32_t n;
	uint64_t want, want_sum, got, got_sum;
};

struct round {
	struct prog p[SESSIONS][KNOWN];
	struct client c[SESSIONS];
	unsigned cpu;			/* all is done there: so its records have one order */
	bool inside;			/* between the two marks */
	uint64_t first[KNOWN], last[KNOWN];	/* hits there */
};

/* Of a session with programs. */
struct seen {
	struct round *r;
	struct prog *p;
};

/* What turn() needs. */
struct work {
	int marks, net, file;
	struct sockaddr_in to;
};

static uint64_t mark_of(unsigned cpu, const struct hwt_rec *rec)
{
	return (rec->hit * 0x9e3779b97f4a7c15u ^ cpu) * 0xbf58476d1ce4e5b9u;
}

static unsigned kind_of(const struct hwt_rec *rec)
{
	unsigned k = 0;

	while (k < nkinds && kinds[k].id != rec->id)
		k++;
	return k;
}

/* Of the session without programs. */
static void offered(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct round *r = arg;
	unsigned k = kind_of(rec);

	if (cpu != r->cpu || k == nkinds)
		return;
	if (rec->id == HWT_ID_user_mark &&
	    ((const struct hwt_rec_user_mark *)rec)->value == RANGE) {
		r->inside = !r->inside;
		return;
	}
	if (!r->inside)
		return;
	if (rec->size != kinds[k].size)
		client_fail("a record of id %x with %u bytes", rec->id, rec->size);
	if (!r->first[k])
		r->first[k] = rec->hit;
	r->last[k] = rec->hit;
	for (unsigned i = 0; i < SESSIONS; i++) {
		struct prog *p = &r->p[i][k];

		if (!hwt_bpf_run((struct hwt_bpf_insn *)p->v, p->n, rec, rec->size, (int32_t)cpu))
			continue;
		p->want++;
		p->want_sum += mark_of(cpu, rec);
	}
}

static void look(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct seen *s = arg;
	unsigned k = kind_of(rec);

	if (cpu != s->r->cpu || k == nkinds || rec->hit < s->r->first[k] ||
	    rec->hit > s->r->last[k])
		return;
	s->p[k].got++;
	s->p[k].got_sum += mark_of(cpu, rec);
}

static bool kernel_takes(const struct prog *p)
{
	static int pair[2];
	struct sock_fprog prog = { .len = (unsigned short)p->n,
		.filter = (struct sock_filter *)p->v };

	if (!pair[1] && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair)) {
		client_fail("no sockets");
		return false;
	}
	return !setsockopt(pair[0], SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

static void refused(const struct prog *p, unsigned k)
{
	static int fd = -1;
	struct hwt_kmod_want w = { .id = kinds[k].id, .nfilter = (uint16_t)p->n,
		.filter = (uintptr_t)p->v };
	struct hwt_kmod_session s = { .size = sizeof(s), .sub_size = 4096, .subs = 2,
		.wants = (uintptr_t)&w, .nwants = 1 };

	if (fd < 0)
		fd = open(HWT_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	if (!ioctl(fd, HWT_KMOD_OPEN, &s) || errno != EINVAL)
		client_fail("a program that may not run: %s", strerror(errno));
}

/*
 * Of those that are made blindly most are short and take all records. Three of four look at
 * fields, reckon with them, and go on here or there; each of their ways ends somewhere.
 */
static void make(struct prog *p, uint32_t size)
{
	static const uint16_t alu[] = { BPF_ADD, BPF_AND, BPF_OR, BPF_XOR, BPF_LSH, BPF_RSH };
	static const uint16_t jump[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	const uint32_t fields = sizeof(struct hwt_rec);
	uint32_t ends;

	p->n = 8 + (uint32_t)rnd() % (LONGEST - 7);
	ends = 2 + (uint32_t)rnd() % (p->n / 4);
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t left = p->n - 2 - i, k = (uint32_t)(rnd() % 4 ? rnd() % 32 : rnd());
		uint16_t op = alu[rnd() % 6];

		if (i >= p->n - ends)
			p->v[i] = (struct sock_filter){ BPF_RET | BPF_K, 0, 0,
				(uint32_t)rnd() % 2 };
		else if (i % 3 == 0)
			p->v[i] = (struct sock_filter){ RND_LD_ABS, 0, 0,
				fields + (uint32_t)rnd() % ((size - fields) / 4) * 4 };
		else if (i % 3 == 1)
			p->v[i] = (struct sock_filter){ (uint16_t)(BPF_ALU | op | BPF_K), 0, 0,
				op == BPF_LSH || op == BPF_RSH ? k % 32 : k };
		else
			p->v[i] = (struct sock_filter){
				(uint16_t)(BPF_JMP | jump[rnd() % 4] | BPF_K),
				(uint8_t)(rnd() % (left + 1)), (uint8_t)(rnd() % (left + 1)), k };
	}
}

/*
 * What the library takes the kernel's verifier may refuse: behind a return it goes on with the
 * scratch words that were written there.
 */
static bool may_run(const struct prog *p, uint32_t size)
{
	bool returned = false, doubt = false;

	if (hwt_bpf_check((struct hwt_bpf_insn *)p->v, p->n, size))
		return false;
	for (uint32_t i = 0; i < p->n; i++) {
		uint16_t c = p->v[i].code;

		doubt |= returned && (c == (BPF_LD | BPF_MEM) || c == (BPF_LDX | BPF_MEM));
		returned |= BPF_CLASS(c) == BPF_RET;
	}
	return !doubt || kernel_takes(p);
}

/* One that may run; those before it, which may not, are refused. Returns how many they all are. */
static unsigned next_program(struct prog *p, unsigned k)
{
	const uint32_t size = kinds[k].size;

	for (unsigned tried = 1;; tried++) {
		*p = (struct prog){ .n = 1 + (uint32_t)rnd() % LONGEST };
		/* the time is another one for each session */
		if (rnd() % 4)
			make(p, size);
		else
			rnd_program(p->v, p->n, 8, size);
		if (may_run(p, size))
			return tried;
		refused(p, k);
	}
}

static struct hwt_kmod_want want(unsigned k, const struct prog *p)
{
	return (struct hwt_kmod_want){ .id = kinds[k].id, .nfilter = p ? (uint16_t)p->n : 0,
		.filter = p ? (uintptr_t)p->v : 0 };
}

static int open_all(struct client *c, const struct prog *p, uint32_t sub_size)
{
	struct hwt_kmod_want wants[KNOWN];
	struct client_opts o = { .wants = wants, .nids = nkinds, .sub_size = sub_size, .subs = 4,
		.overwrite = sub_size == 4096 };
	int rc;

	for (unsigned k = 0; k < nkinds; k++)
		wants[k] = want(k, p ? &p[k] : NULL);
	rc = client_open(c, &o);
	if (rc)
		close(c->fd);
	return rc;
}

static void begin(struct client *c, int rc)
{
	if (!rc)
		rc = client_start(c);
	if (rc)
		client_fail("programs that may run: %s", strerror(-rc));
}

/* A session with a program for each event. Returns how many programs there were. */
static unsigned begin_with(struct client *c, struct prog *p)
{
	unsigned tried = 0;

	for (unsigned k = 0; k < nkinds; k++)
		tried += next_program(&p[k], k);
	begin(c, open_all(c, p, 16384));
	return tried;
}

static uint64_t number(void)
{
	return rnd() % 3 ? rnd() % 32 : rnd();
}

static void mark(const struct work *w, uint32_t kind, uint64_t value)
{
	struct hwt_kmod_mark m = { .size = sizeof(m), .kind = kind, .value = value,
		.channel = (uint32_t)rnd() % 32 };

	if (ioctl(w->marks, HWT_KMOD_MARK_IT, &m))
		client_fail("a mark: %s", strerror(errno));
}

/* Each of the events at least once. */
static void turn(const struct work *w)
{
	size_t n = 4096 * (1 + rnd() % 16);
	char *p, buf[64];

	for (unsigned i = 0; i < 3; i++)
		syscall(SYS_lseek, w->file, number() >> 1, SEEK_SET, number(), number(), number());
	mark(w, HWT_KMOD_MARK, number());
	mark(w, HWT_KMOD_BEGIN, number());
	mark(w, HWT_KMOD_END, number());
	p = mmap(NULL, n, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		client_fail("mmap: %s", strerror(errno));
		return;
	}
	p[rnd() % n] = 1;
	munmap(p, n);
	n = 1 + rnd() % sizeof(buf);
	memset(buf, 0, n);
	if (sendto(w->net, buf, n, 0, (const void *)&w->to, sizeof(w->to)) != (ssize_t)n ||
	    recv(w->net, buf, sizeof(buf), 0) != (ssize_t)n)
		client_fail("a packet to itself: %s", strerror(errno));
}

static void move(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		client_fail("no CPU %u", cpu);
}

static void compare(const struct round *r)
{
	for (unsigned k = 0; k < nkinds; k++) {
		if (r->last[k] < r->first[k] + TURNS - 1 || !r->first[k])
			client_fail("events of id %x are missing", kinds[k].id);
		for (unsigned i = 0; i < SESSIONS; i++) {
			const struct prog *p = &r->p[i][k];

			if (p->got != p->want || p->got_sum != p->want_sum)
				client_fail("a random program, id %x: %" PRIu64
					    " records, the library %" PRIu64, kinds[k].id, p->got,
					    p->want);
		}
	}
}

static void finish(struct client *c)
{
	client_finish(c);
	for (unsigned i = 0; i < CLIENT_CPUS; i++)
		if (c->cpu[i].lost)
			client_fail("records are lost");
}

/* Returns how many programs there were. */
static unsigned round_of(struct round *r, struct work *w)
{
	unsigned tried = 0;
	struct client all;

	r->cpu = !r->cpu;
	r->inside = false;
	memset(r->first, 0, sizeof(r->first));
	memset(r->last, 0, sizeof(r->last));
	move(r->cpu);
	begin(&all, open_all(&all, NULL, 32768));
	for (unsigned i = 0; i < SESSIONS; i++)
		tried += begin_with(&r->c[i], r->p[i]);
	mark(w, HWT_KMOD_MARK, RANGE);
	for (unsigned i = 0; i < TURNS; i++)
		turn(w);
	mark(w, HWT_KMOD_MARK, RANGE);
	all.record = offered;
	all.arg = r;
	finish(&all);
	for (unsigned i = 0; i < SESSIONS; i++) {
		struct seen s = { r, r->p[i] };

		r->c[i].record = look;
		r->c[i].arg = &s;
		finish(&r->c[i]);
	}
	compare(r);
	return tried;
}

static bool prepare(struct work *w)
{
	socklen_t n = sizeof(w->to);

	*w = (struct work){ .to = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	w->marks = open(HWT_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	w->file = memfd_create("programs", MFD_CLOEXEC);
	w->net = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return w->marks >= 0 && w->file >= 0 && !bind(w->net, (void *)&w->to, n) &&
		!getsockname(w->net, (void *)&w->to, &n);
}

static void done(struct work *w)
{
	cpu_set_t all;

	CPU_ZERO(&all);
	for (unsigned i = 0; i < CLIENT_CPUS; i++)
		CPU_SET(i, &all);
	sched_setaffinity(0, sizeof(all), &all);
	close(w->net);
	close(w->file);
	close(w->marks);
}

static void choose_kinds(int fd)
{
	uint16_t ids[256];
	unsigned n = client_events(fd, ids, 256, false);

	for (unsigned k = 0; k < KNOWN; k++)
		for (unsigned i = 0; i < n; i++)
			if (ids[i] == known[k].id)
				kinds[nkinds++] = known[k];
}

static void hurry(const char *text)
{
	int fd = open(HURRY, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, 1) != 1)
		client_fail("%s: %s", HURRY, strerror(errno));
	close(fd);
}

void case_programs_many(void)
{
	unsigned all = (unsigned)cases_number("PROGRAMS", 2000), n = 0, taken = 0;
	struct round *r = calloc(1, sizeof(*r));
	time_t end = time(NULL) + cases_number("LONGEST", 7200);
	struct client keeper;
	struct work w;
	uint64_t some = 0;

	/* other programs */
	for (int i = cases_number("SKIP", 0); i > 0; i--)
		rnd();
	if (!r || !prepare(&w)) {
		client_fail("nothing to work with: %s", strerror(errno));
		return;
	}
	choose_kinds(w.marks);
	hurry("1");
	begin(&keeper, open_all(&keeper, NULL, 4096));
	while (n < all && time(NULL) < end && !client_failed()) {
		n += round_of(r, &w);
		taken += SESSIONS * nkinds;
		for (unsigned i = 0; i < SESSIONS; i++)
			for (unsigned k = 0; k < nkinds; k++)
				some += r->p[i][k].got &&
					r->p[i][k].got <= r->last[k] - r->first[k];
	}
	client_finish(&keeper);
	hurry("0");
	done(&w);
	if (some < n / 50)
		client_fail("%u programs, %" PRIu64 " tell records apart", n, some);
	printf("# %u random programs for %u events, %u of them run by the module as the library "
	       "runs them, %" PRIu64 " take some records and leave some\n", n, nkinds, taken, some);
	free(r);
}
