/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random filter programs by the hundred thousand: one for each of a session's probes, all of the
 * same function. One probe has no program, and tells what the others saw; what each of them let
 * through must be what the library takes of that. A program that may not run is refused alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/rndprog.h"

#include "cases.h"
#include "client.h"

#define AT_ONCE	(HWT_KMOD_PROBES - 1)	/* programs of a session */
#define CALLS	12
#define LONGEST	24
#define NARGS	4
#define SIZE	((uint32_t)(sizeof(struct hwt_rec_probe) + NARGS * sizeof(uint64_t)))

struct prog {
	struct sock_filter v[LONGEST];
	uint32_t n;
	uint64_t want, want_sum, got, got_sum;
};

struct round {
	struct prog p[AT_ONCE];
	unsigned calls;		/* that the bare probe saw */
};

static uint64_t mark_of(unsigned cpu, const struct hwt_rec *rec)
{
	return (rec->hit * 0x9e3779b97f4a7c15u ^ cpu) * 0xbf58476d1ce4e5b9u;
}

/* A record of the bare probe is what the others saw, but for its number. */
static void offered(struct round *r, unsigned cpu, const struct hwt_rec *rec)
{
	union { struct hwt_rec rec; uint8_t bytes[SIZE]; } u;

	if (rec->size != SIZE) {
		client_fail("a probe's record of %u bytes", rec->size);
		return;
	}
	r->calls++;
	memcpy(&u, rec, SIZE);
	for (unsigned i = 0; i < AT_ONCE; i++) {
		struct prog *p = &r->p[i];

		u.rec.id = (uint16_t)(HWT_ID_DIRTY + i);
		if (!hwt_bpf_run((struct hwt_bpf_insn *)p->v, p->n, &u.rec, SIZE, (int32_t)cpu))
			continue;
		p->want++;
		p->want_sum += mark_of(cpu, rec);
	}
}

static void look(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct round *r = arg;
	unsigned i = rec->id - HWT_ID_DIRTY;

	if (rec->id < HWT_ID_DIRTY || i > AT_ONCE)
		return;
	if (i == AT_ONCE) {
		offered(r, cpu, rec);
		return;
	}
	r->p[i].got++;
	r->p[i].got_sum += mark_of(cpu, rec);
}

/* What the library takes the kernel's own verifier may refuse all the same. */
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

static struct hwt_kmod_probe probe(const struct prog *p)
{
	return (struct hwt_kmod_probe){ .symbol = "vfs_read", .nargs = NARGS,
		.nfilter = p ? (uint16_t)p->n : 0, .filter = p ? (uintptr_t)p->v : 0,
		.arg = { { 1, 8, 0, 0 }, { 2, 8, 0, 0 }, { 2, 4, 1, 0 }, { 2, 2, 0, 0 } } };
}

static void refused(const struct prog *p)
{
	struct hwt_kmod_probe one = probe(p);
	struct client_opts o = { .sub_size = 4096, .subs = 2, .probes = &one, .nprobes = 1 };
	struct client c;
	int rc = client_open(&c, &o);

	if (rc != -EINVAL)
		client_fail("a program that may not run: %s", strerror(-rc));
	close(c.fd);
}

/*
 * Of those that are made blindly most are short and take all records. Every second one looks at
 * arguments, reckons with them, and goes on here or there; each of its ways ends somewhere.
 */
static void make(struct prog *p)
{
	static const uint16_t alu[] = { BPF_ADD, BPF_AND, BPF_OR, BPF_XOR, BPF_LSH, BPF_RSH };
	static const uint16_t jump[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	const uint32_t args = sizeof(struct hwt_rec_probe);
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
				args + (uint32_t)rnd() % ((SIZE - args) / 4) * 4 };
		else if (i % 3 == 1)
			p->v[i] = (struct sock_filter){ (uint16_t)(BPF_ALU | op | BPF_K), 0, 0,
				op == BPF_LSH || op == BPF_RSH ? k % 32 : k };
		else
			p->v[i] = (struct sock_filter){
				(uint16_t)(BPF_JMP | jump[rnd() % 4] | BPF_K),
				(uint8_t)(rnd() % (left + 1)), (uint8_t)(rnd() % (left + 1)), k };
	}
}

/* One that may run; those before it, which may not, are refused. Returns how many they all are. */
static unsigned next_program(struct prog *p)
{
	for (unsigned tried = 1;; tried++) {
		*p = (struct prog){ .n = 1 + (uint32_t)rnd() % LONGEST };
		/* the time is not that of the bare one */
		if (rnd() % 2)
			make(p);
		else
			rnd_program(p->v, p->n, 8, SIZE);
		if (!hwt_bpf_check((struct hwt_bpf_insn *)p->v, p->n, SIZE))
			return tried;
		refused(p);
	}
}

/* Nobody else calls it here, so all probes count the same calls. */
static void call(int zero)
{
	static char buf[64];

	for (unsigned i = 0; i < CALLS; i++) {
		bool wide = rnd() % 3 == 0;
		size_t n = wide ? (size_t)(rnd() >> 1) : (size_t)rnd() % 32;

		if (read(zero, wide ? NULL : buf + rnd() % 32, n) < 0 && errno != EFAULT)
			client_fail("read: %s", strerror(errno));
	}
}

/* Other programs for those that the kernel's verifier does not take. Returns how many they are. */
static unsigned replace(struct round *r, struct hwt_kmod_probe *probes)
{
	unsigned n = 0;

	for (unsigned i = 0; i < AT_ONCE; i++)
		while (!kernel_takes(&r->p[i])) {
			refused(&r->p[i]);
			n += next_program(&r->p[i]);
			probes[i] = probe(&r->p[i]);
		}
	return n;
}

/* Returns how many programs there were. */
static unsigned round_of(struct round *r, int zero)
{
	struct hwt_kmod_probe probes[HWT_KMOD_PROBES];
	struct client_opts o = { .sub_size = 65536, .subs = 4, .probes = probes,
		.nprobes = HWT_KMOD_PROBES };
	struct client c;
	unsigned tried = 0;
	int rc;

	memset(r, 0, sizeof(*r));
	for (unsigned i = 0; i < AT_ONCE; i++) {
		tried += next_program(&r->p[i]);
		probes[i] = probe(&r->p[i]);
	}
	probes[AT_ONCE] = probe(NULL);
	rc = client_open(&c, &o);
	if (rc == -EINVAL) {
		close(c.fd);
		tried += replace(r, probes);
		rc = client_open(&c, &o);
	}
	if (!rc)
		rc = client_start(&c);
	if (rc) {
		client_fail("programs that may run: %s", strerror(-rc));
		return tried;
	}
	c.record = look;
	c.arg = r;
	call(zero);
	client_finish(&c);
	if (r->calls != CALLS)
		client_fail("%u of %u calls are told", r->calls, CALLS);
	for (unsigned i = 0; i < AT_ONCE; i++)
		if (r->p[i].got != r->p[i].want || r->p[i].got_sum != r->p[i].want_sum)
			client_fail("a random program: %" PRIu64 " records, the library %" PRIu64,
				    r->p[i].got, r->p[i].want);
	return tried;
}

void case_programs_many(void)
{
	unsigned all = (unsigned)cases_number("PROGRAMS", 2 * AT_ONCE), n = 0, taken = 0;
	struct round *r = malloc(sizeof(*r));
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	time_t end = time(NULL) + cases_number("LONGEST", 7200);
	uint64_t some = 0;

	/* other programs */
	for (int i = cases_number("SKIP", 0); i > 0; i--)
		rnd();
	while (r && zero >= 0 && n < all && time(NULL) < end) {
		n += round_of(r, zero);
		taken += AT_ONCE;
		for (unsigned i = 0; i < AT_ONCE; i++)
			some += r->p[i].got && r->p[i].got < CALLS;
	}
	if (n < AT_ONCE || some < n / 50)
		client_fail("%u programs, %" PRIu64 " tell records apart", n, some);
	printf("# %u random programs, %u of them run by the module as the library runs them, %"
	       PRIu64 " take some records and leave some\n", n, taken, some);
	close(zero);
	free(r);
}
