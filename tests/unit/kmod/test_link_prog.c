/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programming of funnels and replicators, against a model that keeps the manual's rules. The truth
 * is the trace that comes out: all of the ways that are open, and nothing of others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "kmod/link_prog.h"
#include "tests/model/link_model.h"
#include "tests/support/rnd.h"

static bool seen[32];
static struct link_model m;
static struct link l;
static uint64_t came[8];

static uint32_t dice(uint32_t n)
{
	return (uint32_t)(rnd() >> 16) % n;
}

static int say(int rc)
{
	seen[l.why] = true;
	assert_true((rc == 0) == (l.why == LINK_FINE));
	assert_true(link_why_text(l.why)[0]);
	return rc;
}

static void kept(void)
{
	if (m.rules.total)
		print_error("%s (register 0x%x)\n", m.rules.text[m.rules.last], m.rules.where);
	assert_int_equal(m.rules.total, 0);
}

static void out(void *arg, uint32_t port, uint32_t id, const uint8_t *p, uint32_t n)
{
	came[m.u.replicator ? port : id] += n;
}

static void make(const struct link_unit *u)
{
	link_model_init(&m, u);
	m.out = out;
	memset(came, 0, sizeof(came));
}

static struct link_unit any_unit(void)
{
	struct link_unit u = { .replicator = dice(2), .soft_lock = dice(2), .power_known = true,
		.claims = dice(2) ? 0xf : 3 };

	u.ports = u.replicator ? 1 + dice(2) : 1 + dice(8);
	u.found = u.replicator ? dice(256) : dice(15) << 8;
	return u;
}

static int open_it(void)
{
	return say(link_open(&l, &m.r, m.u.replicator ? LINK_REPLICATOR : LINK_FUNNEL,
			     m.u.power_known));
}

/* Trace where it may come, with ids of its port: what is open lets it through. */
static void trace(const uint32_t *ways, uint32_t id)
{
	static const uint8_t b[40];
	uint64_t before[8];

	memcpy(before, came, sizeof(before));
	for (uint32_t i = 0; i < m.u.ports; i++)
		if (ways[i] && !m.u.replicator)
			link_model_trace(&m, i, i, b, sizeof(b));
	for (uint32_t i = 0; i < m.u.ports; i++)
		if (ways[i] && m.u.replicator) {
			link_model_trace(&m, 0, id, b, sizeof(b));
			break;
		}
	link_model_flush(&m);
	for (uint32_t i = 0; i < m.u.ports; i++)
		assert_int_equal(came[i] - before[i], ways[i] ? sizeof(b) : 0);
}

static void any(void **state)
{
	for (unsigned round = 0; round < 2000; round++) {
		struct link_unit u = any_unit();
		uint32_t ways[8] = { 0 };

		make(&u);
		assert_int_equal(open_it(), 0);
		for (unsigned i = dice(30); i; i--) {
			uint32_t port = dice(u.ports);

			if (ways[port] && dice(2)) {
				assert_int_equal(say(link_end(&l, port)), 0);
				ways[port]--;
			} else {
				assert_int_equal(say(link_begin(&l, port)), 0);
				ways[port]++;
			}
			trace(ways, dice(0x70));
		}
		assert_int_equal(say(link_close(&l)), 0);
		link_model_end(&m);
		kept();
		assert_int_equal(say(link_close(&l)), 0);
	}
}

static void refused(void **state)
{
	struct link_unit u = { .ports = 4, .soft_lock = true, .claims = 0xf, .found = 0x300 };

	make(&u);
	assert_int_equal(open_it(), -ENODEV);
	assert_int_equal(l.why, LINK_POWER);
	u.power_known = u.soft_stuck = true;
	make(&u);
	assert_int_equal(open_it(), -EIO);
	assert_int_equal(l.why, LINK_SOFT_LOCK);
	u.soft_stuck = false;
	for (unsigned i = 0; i < 4; i++) {
		static const uint32_t tags[] = { 1, 2, 0, 0 };
		static const enum link_why why[] = { LINK_DEBUGGER, LINK_CLAIMED, LINK_NO_CLAIM,
			LINK_RUNS };

		u.claims = i == 2 ? 0 : 0xf;
		u.found = i == 3 ? 0x301 : 0x300;
		make(&u);
		link_model_claim(&m, tags[i]);
		assert_int_equal(open_it(), -EBUSY);
		assert_int_equal(l.why, why[i]);
		assert_int_equal(say(link_begin(&l, 0)), -EINVAL);
		assert_int_equal(m.now[0], u.found);
		link_model_end(&m);
		kept();
	}
	/* parts of another kind */
	u.found = 0;
	for (unsigned i = 0; i < 4; i++) {
		u.replicator = i > 1;
		u.ports = i == 1 ? 9 : i == 3 ? 3 : 2;
		make(&u);
		assert_int_equal(say(link_open(&l, &m.r, (i > 1) == (i == 3) ? LINK_REPLICATOR :
					       LINK_FUNNEL, true)), -ENODEV);
		assert_int_equal(l.why, LINK_KIND);
	}
}

static void wrong(void **state)
{
	struct link_unit u = { .ports = 2, .soft_lock = true, .claims = 0xf, .power_known = true };

	make(&u);
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(link_end(&l, 0)), -EINVAL);
	assert_int_equal(l.why, LINK_ORDER);
	assert_int_equal(say(link_begin(&l, 2)), -EINVAL);
	assert_int_equal(l.why, LINK_PORT);
	/* a debugger comes: then it is left alone */
	assert_int_equal(say(link_begin(&l, 0)), 0);
	link_model_claim(&m, 1);
	assert_int_equal(say(link_begin(&l, 1)), -EBUSY);
	assert_int_equal(l.why, LINK_LOST);
	assert_int_equal(say(link_close(&l)), -EBUSY);
	assert_int_equal(m.now[0] & 0xff, 1);
	kept();
	u.stuck = true;
	make(&u);
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(link_begin(&l, 0)), -EIO);
	assert_int_equal(l.why, LINK_STUCK);
	assert_int_equal(say(link_close(&l)), 0);
	link_model_end(&m);
	kept();
}

/* Each access is refused once: it is given back as far as it answers. */
static void faults(void **state)
{
	for (unsigned k = 0; k < 2; k++)
		for (unsigned at = 1; ; at++) {
			struct link_unit u = { .replicator = k, .ports = 2, .soft_lock = true,
				.claims = 0xf, .power_known = true, .found = k ? 0x0f : 0x300 };
			int rc;

			make(&u);
			m.fail_at = at;
			rc = open_it();
			if (!rc)
				rc = say(link_begin(&l, 1));
			if (!rc)
				rc = say(link_end(&l, 1));
			if (!rc)
				rc = say(link_close(&l));
			if (m.accesses < at) {
				assert_int_equal(rc, 0);
				link_model_end(&m);
				kept();
				break;
			}
			/* locking is tried, but what it says is nothing that helps */
			assert_true(!rc || rc == -EIO);
			link_close(&l);
			assert_int_equal(m.rules.total - m.rules.broken[LINK_R_LEFT] -
					 m.rules.broken[LINK_R_SOFT_LOCK], 0);
		}
}

static void all_reasons(void **state)
{
	for (unsigned i = 0; i <= LINK_STUCK; i++)
		if (!seen[i])
			fail_msg("no test is told: %s", link_why_text((enum link_why)i));
	assert_string_equal(link_why_text((enum link_why)1000), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any), cmocka_unit_test(refused), cmocka_unit_test(wrong),
		cmocka_unit_test(faults), cmocka_unit_test(all_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
