/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programming of trace units, against a model that keeps the manual's rules: any unit, any wish,
 * any delays. The truth of what is traced is the wish itself, asked at random places. Longer than
 * other files: each way in which a unit can fail is a case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kmod/etm4_prog.h"
#include "tests/unit/kmod/etm4_units.h"

static bool seen[64];	/* reasons that were given */
static struct etm4_model m;
static struct etm4 e;

static int say(int rc)
{
	seen[e.why] = true;
	assert_true((rc == 0) == (e.why == ETM4_FINE));
	assert_true(etm4_why_text(e.why)[0]);
	return rc;
}

static struct etm4_place place(void)
{
	return (struct etm4_place){ .r = &m.r, .system = m.u.system, .trf = m.u.trf,
		.powered = m.u.power_known };
}

static int open_it(void)
{
	struct etm4_place p = place();

	return say(etm4_open(&e, &p));
}

static void kept(void)
{
	if (m.rules.total)
		print_error("%s (register 0x%x)\n", m.rules.text[m.rules.last], m.rules.where);
	assert_int_equal(m.rules.total, 0);
}

static struct etm4_wish plain(void)
{
	struct etm4_wish w = { .id = 0x10, .levels = m.u.id[3] >> 20 & 3 };

	return w;
}

static uint64_t any_address(void)
{
	uint64_t a = rnd() >> dice(60);

	return (m.u.id[2] & 31) == 8 ? a : (uint32_t)a;
}

static void any_filters(struct etm4_wish *w, const struct etm4_caps *c)
{
	w->nranges = (uint8_t)dice(c->ranges + 1u);
	for (unsigned i = 0; i < w->nranges; i++) {
		uint64_t a = any_address(), b = any_address();

		w->range[i] = (struct etm4_range){ a < b ? a : b, a < b ? b : a, dice(2) };
	}
	if (c->selectors < 4)
		return;
	if (dice(2))
		w->ncontexts = (uint8_t)dice(c->contexts + 1u);
	else
		w->nvmids = (uint8_t)dice(c->vmids + 1u);
	for (unsigned i = 0; i < ETM4_MAX; i++) {
		w->contexts[i] = dice(40);
		w->vmids[i] = dice(40);
	}
}

/* One that the unit can do. */
static struct etm4_wish any_wish(const struct etm4_caps *c)
{
	struct etm4_wish w = plain();

	w.id = (uint8_t)(1 + dice(0x6f));
	if (!c->id_bits)
		w.id = 0;
	do
		w.levels = (uint8_t)(1 + dice(7)) & c->levels;
	while (!w.levels);
	w.sync = c->sync_fixed || dice(2) ? 0 : (uint8_t)(8 + dice(13));
	w.cycles = c->cycles && dice(2);
	if (w.cycles && dice(2))
		w.threshold = (uint16_t)(c->threshold_min + dice(100));
	w.time = c->time_bits && dice(2);
	if (w.time && c->counters && c->selectors >= 4 && dice(2))
		w.time_every = (uint16_t)(1 + dice(65535));
	w.context = c->context_bits && dice(2);
	w.vmid = c->vmid_bits && dice(2);
	w.vmid_ctx = w.vmid && c->vmid_ctx && dice(2);
	w.return_stack = c->return_stack && dice(2);
	w.branch_broadcast = c->branch_broadcast && dice(2);
	w.stall = c->stall && dice(2);
	w.no_overflow = c->no_overflow && dice(2);
	any_filters(&w, c);
	return w;
}

/* What the wish means. */
static bool wished(const struct etm4_wish *w, const struct etm4_at *at)
{
	bool in = true, hit = !w->ncontexts && !w->nvmids;
	bool any_in = false;

	if (at->secure || !(w->levels >> at->level & 1))
		return false;
	for (unsigned i = 0; i < w->ncontexts; i++)
		hit |= w->contexts[i] == at->context;
	for (unsigned i = 0; i < w->nvmids; i++)
		hit |= w->vmids[i] == at->vmid;
	for (unsigned i = 0; i < w->nranges; i++) {
		const struct etm4_range *r = &w->range[i];
		bool inside = at->address >= r->first && at->address <= r->last;

		if (r->exclude && inside)
			return false;
		if (!r->exclude && !any_in)
			in = false;
		if (!r->exclude) {
			any_in = true;
			in |= inside;
		}
	}
	return in && hit;
}

static void look(const struct etm4_wish *w, bool runs)
{
	for (unsigned i = 0; i < 100; i++) {
		struct etm4_at at = { .address = any_address(), .context = dice(40),
			.vmid = dice(40), .secure = !dice(8) };

		/* ends of ranges */
		if (w->nranges && dice(2)) {
			const struct etm4_range *r = &w->range[dice(w->nranges)];

			at.address = (dice(2) ? r->first : r->last) + dice(3) - 1;
			if ((m.u.id[2] & 31) != 8)
				at.address = (uint32_t)at.address;
		}
		/* levels that the unit's CPU has */
		at.level = dice(3);
		if (!(m.u.id[3] >> ((at.secure ? 16 : 20) + at.level) & 1))
			continue;
		assert_int_equal(etm4_model_traces(&m, &at), runs && wished(w, &at));
	}
	assert_int_equal(etm4_model_time_every(&m), w->time_every);
}

static void any(void **state)
{
	for (unsigned round = 0; round < 4000; round++) {
		struct etm4_unit u = any_unit();
		struct etm4_wish w;

		etm4_model_init(&m, &u, (uint32_t)rnd());
		assert_int_equal(open_it(), 0);
		for (unsigned i = dice(3); i < 3; i++) {
			w = any_wish(&e.caps);
			assert_int_equal(say(etm4_config(&e, &w)), 0);
			assert_int_equal(say(etm4_start(&e)), 0);
			look(&w, true);
			if (dice(2)) {
				assert_int_equal(say(etm4_save(&e)), 0);
				look(&w, false);
				if (dice(2))
					etm4_model_reset(&m);
				assert_int_equal(say(etm4_restore(&e)), 0);
				look(&w, true);
			}
			assert_int_equal(say(etm4_stop(&e)), 0);
			look(&w, false);
			if (dice(2)) {
				assert_int_equal(say(etm4_save(&e)), 0);
				etm4_model_reset(&m);
				assert_int_equal(say(etm4_restore(&e)), 0);
				look(&w, false);
				/* the manual says it is locked after a reset */
				m.was_os_locked = e.os_was && m.u.os_lock == ETM4_OSLOCK_UNIT;
			}
		}
		if (dice(2))
			assert_int_equal(say(etm4_start(&e)), 0);
		assert_int_equal(say(etm4_close(&e)), 0);
		etm4_model_end(&m);
		kept();
		assert_int_equal(etm4_close(&e), 0);
	}
}

/* What the two units can, as their manuals say. */
static void caps(void **state)
{
	etm4_model_init(&m, &unit_a57, 1);
	assert_int_equal(open_it(), 0);
	assert_true(e.caps.cycles && e.caps.branch_broadcast && e.caps.return_stack);
	assert_false(e.caps.ete || e.caps.data || e.caps.q_filter || e.caps.no_overflow);
	assert_int_equal(e.caps.time_bits, 64);
	assert_int_equal(e.caps.context_bits, 32);
	assert_int_equal(e.caps.vmid_bits, 8);
	assert_int_equal(e.caps.address_bits, 64);
	assert_int_equal(e.caps.threshold_min, 4);
	assert_int_equal(e.caps.threshold_max, 4095);
	assert_int_equal(e.caps.levels, 7);
	assert_int_equal(e.caps.levels_s, 0xb);
	assert_int_equal(e.caps.ranges, 4);
	assert_int_equal(e.caps.contexts, 1);
	assert_int_equal(e.caps.vmids, 1);
	assert_int_equal(e.caps.selectors, 16);
	assert_int_equal(e.caps.singles, 1);
	assert_int_equal(e.caps.counters, 2);
	assert_int_equal(e.caps.id_bits, 7);
	assert_int_equal(etm4_close(&e), 0);
	etm4_model_init(&m, &unit_ete, 1);
	assert_int_equal(open_it(), 0);
	assert_true(e.caps.ete && e.caps.q_filter && !e.caps.vmid_ctx);
	assert_int_equal(e.caps.vmid_bits, 32);
	assert_int_equal(e.caps.levels_rl, 7);
	assert_int_equal(etm4_close(&e), 0);
	etm4_model_end(&m);
	kept();
}

/* The timestamps of a unit whose CPU has FEAT_TRF are CNTVCT, and EL2 is told apart. */
static void trf(void **state)
{
	struct etm4_unit u = unit_ete;
	struct etm4_wish w;

	u.id[2] = (u.id[2] & ~(3u << 29)) | 1u << 29;
	etm4_model_init(&m, &u, 1);
	m.trfcr = 0x60;
	assert_int_equal(open_it(), 0);
	w = plain();
	w.levels = 5;
	w.vmid = w.vmid_ctx = true;
	assert_int_equal(etm4_config(&e, &w), 0);
	assert_int_equal(m.trfcr, 0x60);
	assert_int_equal(etm4_start(&e), 0);
	assert_int_equal(m.trfcr, 0x2b);
	assert_int_equal(m.now[TRC_CONFIGR / 4], 1 | 1 << 7 | 1 << 15);
	assert_int_equal(etm4_has(&e, TRC_CONFIGR), m.now[TRC_CONFIGR / 4]);
	assert_int_equal(etm4_has(&e, TRC_STATR), 0);
	assert_int_equal(e.id[0], u.id[0]);
	assert_int_equal(e.devarch, 0x47705a13);
	assert_int_equal(etm4_stop(&e), 0);
	assert_int_equal(m.trfcr, 0x60);
	assert_int_equal(etm4_close(&e), 0);
	kept();
}

/* A unit that others have, or that can not be taken, is left as it is. */
static void refused(void **state)
{
	struct etm4_unit u = unit_a57;
	struct etm4_model was;

	u.power_known = false;
	etm4_model_init(&m, &u, 1);
	assert_int_equal(open_it(), -ENODEV);
	assert_int_equal(e.why, ETM4_POWER);
	assert_int_equal(m.accesses, 0);
	for (unsigned i = 0; i < 5; i++) {
		static const enum etm4_why why[] = { ETM4_DEBUGGER, ETM4_CLAIMED, ETM4_CLAIMED,
			ETM4_DEBUGGER, ETM4_RUNS };
		static const uint32_t tags[] = { 1, 2, 4, 3, 0 };

		etm4_model_init(&m, &unit_a57, 1);
		if (tags[i])
			etm4_model_claim(&m, tags[i]);
		else
			etm4_model_enable(&m);
		was = m;
		assert_int_equal(open_it(), -EBUSY);
		assert_int_equal(e.why, why[i]);
		assert_int_equal(m.now[CSUNIT_CLAIMCLR / 4], tags[i]);
		assert_int_equal(m.now[TRC_PRGCTLR / 4], was.now[TRC_PRGCTLR / 4]);
		assert_memory_equal(m.set, was.set, sizeof(m.set));
		etm4_model_end(&m);
		kept();
		assert_int_equal(etm4_close(&e), 0);
	}
	etm4_model_init(&m, &unit_a57, 1);
	m.now[TRC_DEVARCH / 4] = 0x47700a14;
	assert_int_equal(open_it(), -ENODEV);
	assert_int_equal(e.why, ETM4_KIND);
	u = unit_a57;
	u.soft_stuck = true;
	etm4_model_init(&m, &u, 1);
	assert_int_equal(open_it(), -EIO);
	assert_int_equal(e.why, ETM4_SOFT_LOCK);
	kept();
	u = unit_a57;
	u.os_stuck = true;
	etm4_model_init(&m, &u, 1);
	assert_int_equal(open_it(), -EIO);
	assert_int_equal(e.why, ETM4_OS_LOCK);
	etm4_model_end(&m);
	kept();
	u = unit_ete;
	etm4_model_init(&m, &u, 1);
	m.os_locked = m.was_os_locked = true;
	m.now[TRC_OSLSR / 4] |= 2;
	assert_int_equal(open_it(), -EBUSY);
	assert_int_equal(e.why, ETM4_OS_LOCK);
	etm4_model_end(&m);
	kept();
	u = unit_a57;
	u.claims = 0;
	etm4_model_init(&m, &u, 1);
	assert_int_equal(open_it(), -EBUSY);
	assert_int_equal(e.why, ETM4_NO_CLAIM);
	u = unit_a57;
	u.power_delay = ETM4_NEVER;
	etm4_model_init(&m, &u, 1);
	assert_int_equal(open_it(), -ETIMEDOUT);
	assert_int_equal(e.why, ETM4_NO_POWER);
	etm4_model_end(&m);
	kept();
}

/* A debugger sets its tag before any access of ours: then it has the unit, and we do not. */
static void debugger_comes(void **state)
{
	for (unsigned at = 1; at < 1000; at++) {
		struct etm4_wish w;
		int rc;

		etm4_model_init(&m, &unit_a57, at);
		m.claim_at = at;
		m.claim_tags = 1;
		rc = open_it();
		w = plain();
		if (!rc)
			rc = say(etm4_config(&e, &w));
		if (!rc)
			rc = say(etm4_start(&e));
		if (m.accesses < at)
			return;
		if (rc) {
			assert_int_equal(rc, -EBUSY);
			assert_true(e.why == ETM4_DEBUGGER || e.why == ETM4_LOST);
		}
		assert_int_equal(etm4_close(&e), 0);
		assert_int_equal(m.now[CSUNIT_CLAIMCLR / 4], 1);
		assert_int_equal(m.now[TRC_PRGCTLR / 4] & 1, 0);
		/* it may come right before the tag is set, which nobody can see in time */
		assert_true(m.rules.total == m.rules.broken[ETM4_R_CLAIM_OTHER]);
		assert_true(m.rules.total <= 1);
	}
	fail();
}

/* A status that never comes: an end after a bounded number of looks, and nothing left running. */
static void endless(void **state)
{
	struct etm4_unit u = unit_a57;
	struct etm4_wish w;

	u.start_delay = ETM4_NEVER;
	etm4_model_init(&m, &u, 1);
	assert_int_equal(open_it(), 0);
	w = plain();
	assert_int_equal(etm4_config(&e, &w), 0);
	assert_int_equal(say(etm4_start(&e)), -ETIMEDOUT);
	assert_int_equal(e.why, ETM4_NO_START);
	assert_int_equal(say(etm4_stop(&e)), -EINVAL);
	assert_int_equal(say(etm4_close(&e)), 0);
	etm4_model_end(&m);
	kept();

	u = unit_a57;
	u.idle_delay = ETM4_NEVER;
	etm4_model_init(&m, &u, 1);
	assert_int_equal(open_it(), 0);
	assert_int_equal(etm4_config(&e, &w), 0);
	assert_int_equal(etm4_start(&e), 0);
	assert_int_equal(say(etm4_stop(&e)), -ETIMEDOUT);
	assert_int_equal(e.why, ETM4_NO_IDLE);
	/* as it never was idle, it can neither be programmed nor started again */
	assert_int_equal(say(etm4_config(&e, &w)), -EINVAL);
	assert_int_equal(say(etm4_start(&e)), -EINVAL);
	assert_int_equal(say(etm4_stop(&e)), -ETIMEDOUT);
	assert_int_equal(say(etm4_close(&e)), -ETIMEDOUT);
	assert_true(m.accesses < 5000);
	etm4_model_end(&m);
	kept();

	/* the same when it is saved */
	etm4_model_init(&m, &u, 1);
	assert_int_equal(open_it(), 0);
	assert_int_equal(etm4_config(&e, &w), 0);
	assert_int_equal(etm4_start(&e), 0);
	assert_int_equal(say(etm4_save(&e)), -ETIMEDOUT);
	assert_int_equal(say(etm4_restore(&e)), -EINVAL);
	assert_int_equal(say(etm4_close(&e)), -ETIMEDOUT);
	assert_int_equal(m.now[TRC_PRGCTLR / 4], 0);
	etm4_model_end(&m);
	kept();

	/* not idle since somebody else had it; or not any more when we start */
	etm4_model_init(&m, &unit_a57, 1);
	m.idle = false;
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(etm4_config(&e, &w)), -ETIMEDOUT);
	assert_int_equal(e.why, ETM4_NO_IDLE);
	m.idle = true;
	assert_int_equal(say(etm4_config(&e, &w)), 0);
	m.idle = false;
	assert_int_equal(say(etm4_start(&e)), -ETIMEDOUT);
	assert_int_equal(e.why, ETM4_NO_IDLE);
	assert_int_equal(say(etm4_close(&e)), 0);
	etm4_model_end(&m);
	kept();
}

static int all_of_it(const struct etm4_wish *w)
{
	int rc = open_it();

	if (!rc)
		rc = say(etm4_config(&e, w));
	if (!rc)
		rc = say(etm4_start(&e));
	if (!rc)
		rc = say(etm4_save(&e));
	if (!rc)
		rc = say(etm4_restore(&e));
	if (!rc)
		rc = say(etm4_stop(&e));
	return rc;
}

/*
 * Each access is refused once. Nothing is broken but what that access was to mend, and after close
 * the unit does not run.
 */
static void faults(void **state)
{
	unsigned drains = 0;

	for (unsigned unit = 0; unit < 2; unit++) {
		for (unsigned at = 1; ; at++) {
			struct etm4_wish w;
			int rc;

			etm4_model_init(&m, unit ? &unit_ete : &unit_a57, at);
			m.fail_at = at;
			w = plain();
			w.time = true;
			rc = all_of_it(&w);
			if (m.accesses < at) {
				assert_int_equal(rc, 0);
				m.fail_at = 0;
				assert_int_equal(etm4_close(&e), 0);
				break;
			}
			if (rc) {
				assert_int_equal(rc, -EIO);
				assert_int_equal(e.why, ETM4_BUS);
			}
			m.fail_at = 0;
			etm4_close(&e);
			etm4_model_end(&m);
			/*
			 * What could not be given back is the one access that was refused; if it
			 * was to prohibit tracing, disabling without that is still better.
			 */
			assert_true(m.rules.total == m.rules.broken[ETM4_R_LEFT] +
				    m.rules.broken[ETM4_R_DRAIN]);
			drains += m.rules.broken[ETM4_R_DRAIN];
			assert_int_equal(m.now[TRC_PRGCTLR / 4] & 1, 0);
			assert_int_equal(m.trfcr & 3, 0);
		}
	}
	assert_int_equal(drains, 2);
}

/* Each access of close, too. */
static void faults_at_close(void **state)
{
	for (unsigned unit = 0; unit < 2; unit++)
		for (unsigned at = 1; ; at++) {
			unsigned before;
			struct etm4_wish w;
			int rc;

			etm4_model_init(&m, unit ? &unit_ete : &unit_a57, at);
			assert_int_equal(open_it(), 0);
			w = plain();
			assert_int_equal(etm4_config(&e, &w), 0);
			assert_int_equal(etm4_start(&e), 0);
			before = m.accesses;
			m.fail_at = before + at;
			rc = say(etm4_close(&e));
			if (m.accesses < before + at)
				break;
			/* but for the last word, the software lock */
			assert_true(rc == -EIO || m.accesses == before + at);
			assert_int_equal(etm4_close(&e), 0);
		}
}

/* One thing more than the unit has, of each kind. */
static void wishes(void **state)
{
	static const struct { enum etm4_why why; struct etm4_wish w; } t[] = {
		{ ETM4_ID, { .levels = 1 } }, { ETM4_ID, { .id = 0x70, .levels = 1 } },
		{ ETM4_LEVELS, { .id = 1 } }, { ETM4_LEVELS, { .id = 1, .levels = 8 } },
		{ ETM4_LEVELS, { .id = 1, .levels = 5 } },
		{ ETM4_CYCLES, { .id = 1, .levels = 1, .cycles = true } },
		{ ETM4_TIME, { .id = 1, .levels = 1, .time = true } },
		{ ETM4_TIME_EVERY, { .id = 1, .levels = 1, .time_every = 9 } },
		{ ETM4_CONTEXT, { .id = 1, .levels = 1, .context = true } },
		{ ETM4_VMID, { .id = 1, .levels = 1, .vmid = true } },
		{ ETM4_VMID_CTX, { .id = 1, .levels = 1, .vmid_ctx = true } },
		{ ETM4_STACK, { .id = 1, .levels = 1, .return_stack = true } },
		{ ETM4_BROADCAST, { .id = 1, .levels = 1, .branch_broadcast = true } },
		{ ETM4_STALL, { .id = 1, .levels = 1, .stall = true } },
		{ ETM4_OVERFLOW, { .id = 1, .levels = 1, .no_overflow = true } },
		{ ETM4_SYNC, { .id = 1, .levels = 1, .sync = 12 } },
		{ ETM4_RANGES, { .id = 1, .levels = 1, .nranges = 1 } },
		{ ETM4_CONTEXTS, { .id = 1, .levels = 1, .ncontexts = 1 } },
		{ ETM4_VMIDS, { .id = 1, .levels = 1, .nvmids = 1 } },
		{ ETM4_BOTH, { .id = 1, .levels = 1, .ncontexts = 1, .nvmids = 1 } },
	};
	struct etm4_unit u = unit_a57;
	unsigned before;
	struct etm4_wish w;

	/* as little as there can be: EL0 and EL1, and synchronisation at a fixed distance */
	u.id[0] = 1;
	u.id[2] = 4;
	u.id[3] = 3u << 20 | 1u << 25;
	u.id[4] = 0;
	u.id[5] = 7u << 16;
	etm4_model_init(&m, &u, 1);
	assert_int_equal(open_it(), 0);
	before = m.accesses;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_not_equal(say(etm4_config(&e, &t[i].w)), 0);
		assert_int_equal(e.why, t[i].why);
		assert_int_equal(say(etm4_start(&e)), -EINVAL);
	}
	/* nothing of the unit was touched for that */
	assert_int_equal(m.accesses, before);
	w = plain();
	assert_int_equal(etm4_config(&e, &w), 0);
	assert_int_equal(etm4_start(&e), 0);
	assert_int_equal(say(etm4_config(&e, &w)), -EINVAL);
	assert_int_equal(e.why, ETM4_ORDER);
	assert_int_equal(say(etm4_start(&e)), -EINVAL);
	assert_int_equal(say(etm4_restore(&e)), -EINVAL);
	assert_int_equal(etm4_close(&e), 0);
	assert_int_equal(say(etm4_save(&e)), -EINVAL);
	etm4_model_end(&m);
	kept();

	etm4_model_init(&m, &unit_a57, 1);
	assert_int_equal(open_it(), 0);
	w = plain();
	w.cycles = true;
	w.threshold = 3;
	assert_int_not_equal(say(etm4_check(&e, &w)), 0);
	assert_int_equal(e.why, ETM4_THRESHOLD);
	w.threshold = 4096;
	assert_int_not_equal(say(etm4_check(&e, &w)), 0);
	w.threshold = 4;
	w.sync = 7;
	assert_int_not_equal(say(etm4_check(&e, &w)), 0);
	w.sync = 21;
	assert_int_not_equal(say(etm4_check(&e, &w)), 0);
	w.sync = 20;
	w.nranges = 1;
	w.range[0] = (struct etm4_range){ 2, 1, false };
	assert_int_not_equal(say(etm4_check(&e, &w)), 0);
	assert_int_equal(e.why, ETM4_RANGE);
	w.range[0].last = ~0ull;
	assert_int_equal(say(etm4_check(&e, &w)), 0);
	w.ncontexts = w.nvmids = 1;
	assert_int_not_equal(say(etm4_check(&e, &w)), 0);
	assert_int_equal(e.why, ETM4_BOTH);
	etm4_close(&e);
}

/* Another driver may take it while it has no power: then it stays with that. */
static void taken_meanwhile(void **state)
{
	struct etm4_wish w;

	etm4_model_init(&m, &unit_a57, 1);
	assert_int_equal(open_it(), 0);
	w = plain();
	assert_int_equal(etm4_config(&e, &w), 0);
	assert_int_equal(etm4_start(&e), 0);
	assert_int_equal(etm4_save(&e), 0);
	etm4_model_end(&m);
	etm4_model_reset(&m);
	etm4_model_claim(&m, 2);
	assert_int_equal(say(etm4_restore(&e)), -EBUSY);
	assert_int_equal(e.why, ETM4_CLAIMED);
	assert_int_equal(etm4_close(&e), 0);
	assert_int_equal(m.now[CSUNIT_CLAIMCLR / 4], 2);
	kept();
}

static void all_reasons(void **state)
{
	for (unsigned i = 0; i <= ETM4_BOTH; i++)
		if (!seen[i])
			fail_msg("no test is told: %s", etm4_why_text((enum etm4_why)i));
	assert_string_equal(etm4_why_text((enum etm4_why)1000), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(caps), cmocka_unit_test(any), cmocka_unit_test(trf),
		cmocka_unit_test(refused), cmocka_unit_test(debugger_comes),
		cmocka_unit_test(endless), cmocka_unit_test(faults),
		cmocka_unit_test(faults_at_close), cmocka_unit_test(wishes),
		cmocka_unit_test(taken_meanwhile), cmocka_unit_test(all_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
