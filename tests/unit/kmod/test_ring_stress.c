/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel module's ring under load: a thread is a CPU, its signal handlers are the interrupts
 * and NMIs that interrupt its own writing and each other, and another thread reads, or does not for
 * a while. What was offered is what was stored, read and lost, to the last record.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "ringcheck.h"

/* of each of four runs, without those of handlers */
#ifdef __SANITIZE_ADDRESS__
#define RECORDS	30000
#else
#define RECORDS	300000
#endif
#define HANDLERS 2
#define SIGNALS	10000		/* of each, then it is quiet: a slow machine does nothing else */

static struct rc rc;
static timer_t timers[HANDLERS];
static bool ended;			/* nothing more is written */
/* by level of nesting: no level sees another change its own */
static struct { uint64_t serial, stored, lost; } by[HANDLERS + 1];
static uint64_t seen[HANDLERS + 1];

u64 ring_clock(void)
{
	/* of this thread alone, as a CPU's counter; each call gives another */
	static uint64_t now;

	return __atomic_add_fetch(&now, 1, __ATOMIC_RELAXED);
}

static void put(unsigned level, uint64_t x)
{
	struct rc_rec r;

	rc_fill(&r, by[level].serial++ * (HANDLERS + 1) + level, (unsigned)(x % 5));
	if (rc_write(&rc, &r, x & 1))
		by[level].stored++;
	else
		by[level].lost++;
}

/* SIGUSR1 is an interrupt, SIGUSR2 an NMI that may come into it. */
static void handler(int sig)
{
	unsigned level = sig == SIGUSR1 ? 1 : 2;

	for (unsigned i = 0; i < 3; i++)
		put(level, by[level].serial);
	if (by[level].serial >= 3 * SIGNALS)
		timer_settime(timers[level - 1], 0, &(struct itimerspec){ .it_value.tv_sec = 0 },
			      NULL);
}

/* Records of one level are there in the order of their writing, none twice. */
static void see(struct rc *c, const struct rc_rec *r)
{
	unsigned level = (unsigned)(r->rec.hit % (HANDLERS + 1));
	uint64_t n = r->rec.hit / (HANDLERS + 1) + 1;

	RC_MUST(n > seen[level]);
	seen[level] = n;
}

/* A timer of this thread, which signals it each @ns. */
static void start_timer(timer_t *id, int sig, long ns)
{
	struct sigevent e = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig,
		._sigev_un._tid = gettid() };
	struct itimerspec t = { { 0, ns }, { 0, ns } };

	RC_MUST(!timer_create(CLOCK_MONOTONIC, &e, id) && !timer_settime(*id, 0, &t, NULL));
}

static void *write_all(void *arg)
{
	struct timespec some = { 0, 100000 };
	uint64_t x = 0;
	sigset_t set;

	start_timer(&timers[0], SIGUSR1, 17000);
	start_timer(&timers[1], SIGUSR2, 23000);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (unsigned i = 0; i < RECORDS; i++) {
		put(0, rc_mix(i));
		/* as fast as it can, and not so fast: a CPU does other things, too */
		for (unsigned k = 0; i & 4096 && k < 400; k++)
			x = rc_mix(x + k);
		if (i % 8192 == 0)
			nanosleep(&some, NULL);
	}
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	timer_delete(timers[0]);
	timer_delete(timers[1]);
	__atomic_store_n(&ended, true, __ATOMIC_RELEASE);
	return (void *)(uintptr_t)(x & 0);
}

static void handle(int sig, const sigset_t *mask)
{
	struct sigaction a = { .sa_handler = handler, .sa_mask = *mask, .sa_flags = SA_RESTART };

	sigaction(sig, &a, NULL);
}

static void stress(unsigned mode, unsigned subs)
{
	struct timespec pause = { 0, 10000000 };
	pthread_t writer;
	sigset_t set;

	rc_new(&rc, 4096, subs, mode, false);
	rc.see = see;
	memset(by, 0, sizeof(by));
	memset(seen, 0, sizeof(seen));
	ended = false;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	/* the NMI waits for no one, the interrupt for the NMI */
	handle(SIGUSR2, &set);
	sigdelset(&set, SIGUSR2);
	handle(SIGUSR1, &set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	assert_int_equal(pthread_create(&writer, NULL, write_all, NULL), 0);
	for (unsigned i = 1; !__atomic_load_n(&ended, __ATOMIC_ACQUIRE); i++) {
		if (!rc_read(&rc))
			sched_yield();
		if (i % 4000 == 0)
			nanosleep(&pause, NULL);
	}
	pthread_join(writer, NULL);
	for (unsigned i = 0; i <= HANDLERS; i++) {
		rc.stored += by[i].stored;
		rc.lost += by[i].lost;
	}
	rc_end(&rc);
	printf("# %s, %u sub-buffers: %lu records of interrupts %lu and NMIs %lu, lost %lu, "
	       "overwritten %lu, taken from the reader's hands %lu packets\n",
	       mode == RING_DISCARD ? "discard" : "overwrite", subs,
	       (unsigned long)(rc.stored + rc.lost), (unsigned long)by[1].serial,
	       (unsigned long)by[2].serial, (unsigned long)rc.lost, (unsigned long)rc.missing,
	       (unsigned long)rc.stale);
	assert_true(by[1].serial && by[2].serial && by[0].serial == RECORDS);
	assert_int_equal(rc.stored + rc.lost, by[0].serial + by[1].serial + by[2].serial);
	rc_free(&rc);
}

static void discard(void **state)
{
	stress(RING_DISCARD, 2);
	stress(RING_DISCARD, 64);
}

static void overwrite(void **state)
{
	stress(RING_OVERWRITE, 2);
	stress(RING_OVERWRITE, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(discard), cmocka_unit_test(overwrite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
