/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two sessions at once, one with a filter: it must have what the library takes of the other; many
 * at once, with a random program each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tests/support/rndprog.h"

#include "cases.h"
#include "client.h"
#include "work.h"

#define INSNS	512

/* Records as a number and a sum that does not depend on their order. */
struct set {
	const struct hwt_filter *f;	/* NULL: all of @id */
	unsigned id;
	uint64_t n, sum;
};

static void look(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct set *s = arg;

	if (rec->id != s->id || (s->f && !hwt_filter_match_on(s->f, rec, rec->size, (int32_t)cpu)))
		return;
	s->n++;
	s->sum += (rec->hit * 0x9e3779b97f4a7c15u ^ cpu) * 0xbf58476d1ce4e5b9u;
}

static void begin(struct client *c, const struct client_opts *o, struct set *s)
{
	int rc = client_open(c, o);

	c->record = look;
	c->arg = s;
	if (!rc)
		rc = client_start(c);
	if (rc)
		client_fail("a session with a filter: %s", strerror(-rc));
}

static void one(const char *text, bool some)
{
	static struct hwt_bpf_insn v[INSNS];
	struct client_opts o = { .nids = 1, .sub_size = 65536, .subs = 32 };
	struct set all = { 0 }, want = { 0 };
	struct hwt_filter *f;
	struct client a, b;
	struct hwt_diag d;
	struct utsname u;
	uint16_t id;
	int n;

	uname(&u);
	if (hwt_filter_new_for(&f, text, u.machine, &d)) {
		client_fail("%s: %s", text, d.text);
		return;
	}
	id = (uint16_t)hwt_filter_event(f, 0);
	n = hwt_filter_bpf(f, id, v, INSNS, &d);
	if (n <= 0)
		client_fail("%s: %s", text, d.text);
	o.ids = &id;
	all.id = want.id = id;
	all.f = f;
	/* the one with the filter begins later and ends earlier: of its time the other has all */
	begin(&a, &o, &all);
	o.filter = v;
	o.nfilter = (unsigned)n;
	begin(&b, &o, &want);
	work_calls();
	for (int i = 0; i < 50; i++)
		usleep(200);
	client_finish(&b);
	client_finish(&a);
	hwt_filter_free(f);
	if (want.n > all.n || (some && !want.n))
		client_fail("%s: %" PRIu64 " of %" PRIu64, text, want.n, all.n);
	printf("# filter: %" PRIu64 " records, the library %" PRIu64 ": %s\n", want.n, all.n, text);
}

/* Of known calls, so that begin and end of sessions do not matter. */
static void exact(const char *text, uint64_t expected)
{
	static struct hwt_bpf_insn v[INSNS];
	uint16_t id = HWT_ID_syscall_enter;
	struct client_opts o = { .ids = &id, .nids = 1, .sub_size = 65536, .subs = 32,
		.filter = v };
	struct set all = { .id = id }, want = { .id = id };
	struct hwt_filter *f;
	struct client a, b;
	struct hwt_diag d;
	struct utsname u;
	int n;

	uname(&u);
	if (hwt_filter_new_for(&f, text, u.machine, &d)) {
		client_fail("%s: %s", text, d.text);
		return;
	}
	n = hwt_filter_bpf(f, id, v, INSNS, &d);
	o.nfilter = n > 0 ? (unsigned)n : 0;
	all.f = f;
	begin(&b, &o, &want);
	o.nfilter = 0;
	begin(&a, &o, &all);
	work_calls();
	client_finish(&a);
	client_finish(&b);
	hwt_filter_free(f);
	if (n <= 0 || want.n != expected || all.n != expected || want.sum != all.sum)
		client_fail("%s: %" PRIu64 " records, the library %" PRIu64 ", there were %" PRIu64,
			    text, want.n, all.n, expected);
}

/* Programs that the compiler does not make: the record is left, or the kernel would be harmed. */
static void refused(void)
{
	static const struct hwt_bpf_insn bad[][2] = {
		{ { 0x20, 0, 0, 4096 }, { 6, 0, 0, 1 } },	/* ld [4096] */
		{ { 0x20, 0, 0, 2 }, { 6, 0, 0, 1 } },		/* not aligned */
		{ { 0x28, 0, 0, 0 }, { 6, 0, 0, 1 } },		/* half a word */
		{ { 0x40, 0, 0, 0 }, { 6, 0, 0, 1 } },		/* ld [x] */
		{ { 0x20, 0, 0, 0xfffff000u }, { 6, 0, 0, 1 } },	/* of a packet */
		{ { 0x05, 0, 0, 9 }, { 6, 0, 0, 1 } },		/* out of the program */
		{ { 0x20, 0, 0, 0 }, { 0x20, 0, 0, 0 } },	/* no return */
		{ { 0x60, 0, 0, 3 }, { 6, 0, 0, 1 } },		/* memory not written */
	};
	uint16_t id = HWT_ID_syscall_enter;
	struct client_opts o = { .ids = &id, .nids = 1, .sub_size = 4096, .subs = 4,
		.nfilter = 2 };
	struct client c;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		o.filter = bad[i];
		if (client_open(&c, &o) != -EINVAL)
			client_fail("program %u is not refused", i);
		close(c.fd);
	}
}

#define AT_ONCE	(HWT_KMOD_SESSIONS - 2)	/* sessions with a program each */
#define MARKS	16
#define LONGEST	24

struct taker { struct sock_filter v[LONGEST]; uint32_t n; struct set got, want; };

/* What the programs make of a record that a session without any has. */
static void take(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	struct taker *t = arg;

	if (rec->id != HWT_ID_user_mark)
		return;
	for (unsigned i = 0; i < AT_ONCE; i++)
		if (t[i].n && hwt_bpf_run((struct hwt_bpf_insn *)t[i].v, t[i].n, rec, rec->size,
					  (int32_t)cpu))
			look(&t[i].want, cpu, rec);
}

static void mark(int fd)
{
	for (unsigned i = 0; i < MARKS; i++) {
		struct hwt_kmod_mark m = { .size = sizeof(m), .value = rnd() % 3 ? rnd() % 32 :
			rnd(), .channel = (uint32_t)rnd() % 32 };

		if (ioctl(fd, HWT_KMOD_MARK_IT, &m))
			client_fail("a mark");
	}
}

/* What the library takes and the module does not, the kernel's verifier does not take, either. */
static bool kernel_takes(const struct taker *t)
{
	struct sock_fprog p = { .len = (unsigned short)t->n,
		.filter = (struct sock_filter *)t->v };
	int pair[2], rc = -1;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		client_fail("no sockets");
	else
		rc = setsockopt(pair[0], SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p));
	close(pair[0]);
	close(pair[1]);
	return !rc;
}

/* Returns how many of AT_ONCE programs the kernel took. */
static unsigned round_of(struct client *c, struct taker *t)
{
	const uint32_t size = sizeof(struct hwt_rec_user_mark);
	uint16_t id = HWT_ID_user_mark;
	struct client_opts o = { .ids = &id, .nids = 1, .sub_size = 4096, .subs = 4 };
	struct client all;
	unsigned taken = 0;

	memset(t, 0, AT_ONCE * sizeof(*t));
	for (unsigned i = 0; i < AT_ONCE; i++) {
		bool fine;
		int rc;

		t[i].n = 1 + (uint32_t)rnd() % LONGEST;
		/* its time is another one for each session */
		rnd_program(t[i].v, t[i].n, 8, size);
		fine = !hwt_bpf_check((struct hwt_bpf_insn *)t[i].v, t[i].n, size);
		o.filter = (struct hwt_bpf_insn *)t[i].v;
		o.nfilter = t[i].n;
		rc = client_open(&c[i], &o);
		if (rc ? rc != -EINVAL || (fine && kernel_takes(&t[i])) : !fine)
			client_fail("a random program: %s, the library says %d", strerror(-rc),
				    fine);
		t[i].got.id = t[i].want.id = id;
		c[i].record = look;
		c[i].arg = &t[i].got;
		if (!rc && client_start(&c[i]))
			client_fail("a session with a random program");
		if (rc) {
			close(c[i].fd);
			t[i].n = 0;
		}
		taken += !rc;
	}
	o.nfilter = 0;
	if (client_open(&all, &o) || client_start(&all))
		client_fail("a session without program");
	all.record = take;
	all.arg = t;
	mark(all.fd);
	client_finish(&all);
	for (unsigned i = 0; i < AT_ONCE; i++) {
		if (!t[i].n)
			continue;
		client_finish(&c[i]);
		if (t[i].got.n != t[i].want.n || t[i].got.sum != t[i].want.sum)
			client_fail("a random program: %" PRIu64 " records, the library %" PRIu64,
				    t[i].got.n, t[i].want.n);
	}
	return taken;
}

void case_programs(void)
{
	struct taker *t = malloc(AT_ONCE * sizeof(*t));
	struct client *c = malloc(AT_ONCE * sizeof(*c));
	unsigned all = (unsigned)cases_number("PROGRAMS", 3 * AT_ONCE), n, taken = 0;

	for (n = 0; t && c && n < all; n += AT_ONCE)
		taken += round_of(c, t);
	if (taken < n / 20)
		client_fail("too few programs are taken");
	printf("# %u random programs, %u of them run by the kernel: as the library has them\n",
	       n, taken);
	free(c);
	free(t);
}

void case_filter(void)
{
	exact("syscall.enter:getppid", WORK_CALLS);
	exact("syscall.enter:getppid where arg5 in {1, 3, 500..599} && arg0 == 1", 102);
	exact("syscall.enter:getppid where arg5 >= 990 || arg4 == 6", 10);
	exact("syscall.enter:getppid where arg1 != 2", 0);
	one("sched.switch where next_comm ~ \"gues*\" && prev_prio >= 100", true);
	one("irq.entry where kind != timer || irq < 300", true);
	one("softirq.raise where !(vec == timer)", false);
	refused();
}
