/* SPDX-License-Identifier: BSD-2-Clause */
/* A small machine that keeps all contracts by construction, and what is taken out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/abi.h>

#include "correlate/contract.h"
#include "tests/support/kmachine.h"
#include "tests/support/rnd.h"

#define ROUNDS	150

static struct kmachine m;

static void machine(void)
{
	kmachine_run(&m, ROUNDS);
}

static struct hwt_contract_finding seen[256];
static unsigned nseen;

static void found(void *arg, const struct hwt_contract_finding *f)
{
	if (nseen < 256)
		seen[nseen++] = *f;
}

/* What is found in m.items[from..to), without item @skip; with @loss in place of some, if not 0 */
static struct hwt_contract_stats run(size_t from, size_t to, size_t skip, size_t loss)
{
	struct hwt_contract_stats st;
	struct contract *c;

	nseen = 0;
	assert_int_equal(contract_new(&c), 0);
	for (size_t i = from; i < to; i++) {
		struct kmachine_item *k = &m.items[i];
		struct hwt_event ev = { .type = HWT_EV_RECORD,
			.time = k->time, .cpu = k->cpu, .clock = k->clock,
			.pid = k->r.rec.pid, .tid = k->r.rec.tid, .off = i,
			.u.rec = { &k->r, k->r.rec.size, k->r.rec.id } };

		if (i >= skip && i < skip + (loss ? loss : 1))
			continue;
		assert_int_equal(contract_feed(c, &ev), 0);
	}
	contract_end(c, found, NULL);
	st = c->stats;
	contract_free(c);
	return st;
}

static void clean(void **state)
{
	struct hwt_contract_stats st;

	machine();
	st = run(0, m.n, SIZE_MAX, 0);
	assert_int_equal(st.findings, 0);
	assert_int_equal(st.records, m.n);
	assert_int_equal(st.rules_off, 0);
	assert_true(st.checks > m.n);
}

/* Whatever part of the records there is: where it begins and ends proves nothing. */
static void parts(void **state)
{
	machine();
	for (size_t i = 1; i < 400; i += 3) {
		assert_int_equal(run(i, m.n, SIZE_MAX, 0).findings, 0);
		assert_int_equal(run(0, m.n - i, SIZE_MAX, 0).findings, 0);
	}
}

/* The same records missing, but said so: a loss is no finding, and neither is what it hides. */
static void losses(void **state)
{

	machine();
	for (unsigned k = 0; k < 120; k++) {
		size_t n = 1 + rnd() % 40, at = 100 + rnd() % (m.n - 300);
		struct kmachine_item keep[2];
		size_t lost[2] = { SIZE_MAX, SIZE_MAX };

		/* each CPU tells its own loss in the first record that it has room for */
		for (size_t i = at + n; i < m.n && (lost[0] == SIZE_MAX ||
						       lost[1] == SIZE_MAX); i++)
			if (lost[m.items[i].cpu] == SIZE_MAX)
				lost[m.items[i].cpu] = i;
		for (unsigned c = 0; c < 2; c++) {
			struct kmachine_item *i = &m.items[lost[c]];

			keep[c] = *i;
			memset(&i->r, 0, sizeof(i->r));
			i->r.rec = (struct hwt_rec){ .time = i->time, .version = 1, .pid = -1,
				.id = HWT_ID_stream_lost, .tid = -1,
				.size = sizeof(i->r.stream_lost) };
			i->r.stream_lost.count = n;
		}
		assert_int_equal(run(0, m.n, at, n).findings, 0);
		m.items[lost[0]] = keep[0];
		m.items[lost[1]] = keep[1];
	}
}

/* A recording of one task only: nothing that it says of CPUs can be held against it. */
static void partial(void **state)
{
	struct hwt_contract_stats st;
	size_t n = 0;

	machine();
	for (size_t i = 0; i < m.n; i++)
		if (m.items[i].r.rec.tid == 10 || m.items[i].r.rec.tid == 11)
			m.items[n++] = m.items[i];
	st = run(0, n, SIZE_MAX, 0);
	assert_int_equal(st.findings, 0);
	assert_true(st.rules_off != 0);
}

static void backwards(void **state)
{
	machine();
	m.items[5000].time = 3;
	assert_int_equal(run(0, m.n, SIZE_MAX, 0).findings, 1);
	assert_string_equal(seen[0].rule, "time");
	assert_int_equal(seen[0].at.off, 5000);
}

/* A record without a time, or of another clock, is no reason to say that time goes back. */
static void not_backwards(void **state)
{
	machine();
	m.items[5000].time = HWT_TIME_UNKNOWN;
	m.items[m.n - 1].time = 3;
	m.items[m.n - 1].clock = HWT_CLOCK_MONOTONIC;
	assert_int_equal(run(0, m.n, SIZE_MAX, 0).findings, 0);
}

/* Behind what has times, the records of a buffer that has none: of another time, whatever it is. */
static void untimed(void **state)
{
	size_t half;

	machine();
	half = m.n;
	memcpy(&m.items[half], m.items, half / 2 * sizeof(m.items[0]));
	m.n += half / 2;
	for (size_t i = half; i < m.n; i++)
		m.items[i].time = HWT_TIME_UNKNOWN;
	assert_int_equal(run(0, m.n, SIZE_MAX, 0).findings, 0);
	/* where none has a time, their order is what there is */
	machine();
	for (size_t i = 0; i < m.n; i++)
		m.items[i].time = HWT_TIME_UNKNOWN;
	assert_int_equal(run(0, m.n, SIZE_MAX, 0).findings, 0);
	for (size_t i = m.n * 3 / 4; i < m.n; i++)
		if (m.items[i].r.rec.id == HWT_ID_power_idle_exit) {
			assert_true(run(0, m.n, i, 0).findings > 0);
			break;
		}
}

/*
 * Each kind of record is counted on its CPU, as recorders do. Nothing tells of the recording
 * itself, which may explain what is missing.
 */
static void count(void)
{
	static uint64_t hits[2][1 << 16];
	size_t n = 0;

	memset(hits, 0, sizeof(hits));
	for (size_t i = 0; i < m.n; i++) {
		struct hwt_rec *r = &m.items[n].r.rec;

		m.items[n] = m.items[i];
		if (r->id >> 8 == HWT_SECTION_stream)
			continue;
		r->hit = 1000 + ++hits[m.items[n++].cpu][r->id];
		r->flags |= HWT_REC_HIT;
	}
	m.n = n;
}

/* Of those on @cpu the first from @from on that is of @id. */
static size_t item(size_t from, int32_t cpu, unsigned id)
{
	while (m.items[from].cpu != cpu || m.items[from].r.rec.id != id)
		from++;
	return from;
}

static void numbers(void **state)
{
	const unsigned id = HWT_ID_net_rx;
	size_t a, b, c;

	machine();
	count();
	assert_int_equal(run(0, m.n, SIZE_MAX, 0).findings, 0);
	assert_int_equal(run(500, m.n, SIZE_MAX, 0).findings, 0);
	a = item(m.n / 2, 0, id);
	b = item(a + 1, 0, id);
	c = item(b + 1, 0, id);
	/* one that no other rule misses is not there, and nobody says so */
	assert_int_equal(run(0, m.n, b, 0).findings, 1);
	assert_string_equal(seen[0].rule, "number");
	assert_int_equal(seen[0].at.off, c);
	assert_int_equal(seen[0].before.off, a);
	/* a number twice, and one that goes back */
	m.items[b].r.rec.hit = m.items[a].r.rec.hit;
	assert_int_equal(run(0, m.n, SIZE_MAX, 0).findings, 2);
	assert_int_equal(seen[0].at.off, b);
	assert_int_equal(seen[1].at.off, c);
	m.items[b].r.rec.hit = 7;
	assert_int_equal(run(0, m.n, SIZE_MAX, 0).findings, 2);
	assert_int_equal(seen[0].at.off, b);
	/* without numbers there is nothing to miss */
	m.items[b].r.rec.flags &= (uint16_t)~HWT_REC_HIT;
	m.items[b].r.rec.hit = m.items[a].r.rec.hit + 1;
	m.items[c].r.rec.flags |= HWT_REC_HIT;
	assert_int_equal(run(0, m.n, b, 0).findings, 1);
}

/* A loss of that CPU that is told before the next one explains a gap, but no number twice. */
static void numbers_lost(void **state)
{
	const unsigned id = HWT_ID_softirq_raise;
	struct kmachine_item *l;
	size_t a, b, c;

	machine();
	count();
	a = item(m.n / 2, 0, id);
	b = item(a + 1, 0, id);
	c = item(b + 1, 0, id);
	for (l = &m.items[b + 1]; l->cpu; l++)
		;
	assert_true(l < &m.items[c]);
	memset(&l->r, 0, sizeof(l->r));
	l->r.rec = (struct hwt_rec){ .time = l->time, .version = 1, .pid = -1, .tid = -1,
		.id = HWT_ID_stream_lost, .size = sizeof(l->r.stream_lost) };
	l->r.stream_lost.count = 2;
	assert_int_equal(run(0, m.n, b, 0).findings, 0);
	m.items[c].r.rec.hit = m.items[a].r.rec.hit;
	assert_true(run(0, m.n, b, 0).findings > 0);
	assert_string_equal(seen[0].rule, "number");
	assert_int_equal(seen[0].at.off, c);
}

/* Many findings are counted, and some are given. */
static void many(void **state)
{
	struct hwt_contract_stats st;
	unsigned exits = 0;

	machine();
	for (size_t i = m.n / 2; i < m.n - 500; i++)
		if (m.items[i].r.rec.id == HWT_ID_power_idle_exit && exits++ % 3 == 0)
			m.items[i].r.rec.id = HWT_ID_power_idle_enter;
	st = run(0, m.n, SIZE_MAX, 0);
	assert_true(st.rules_off || st.findings > 1);
	assert_non_null(hwt_contract_rule(0));
	assert_null(hwt_contract_rule(RULES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean), cmocka_unit_test(parts),
		cmocka_unit_test(losses), cmocka_unit_test(partial),
		cmocka_unit_test(backwards), cmocka_unit_test(not_backwards),
		cmocka_unit_test(untimed), cmocka_unit_test(many),
		cmocka_unit_test(numbers), cmocka_unit_test(numbers_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
