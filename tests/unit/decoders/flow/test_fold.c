/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is told in another event at HWT_LEVEL_CALLS, as hwtrace/decode.h promises it. Each case: the
 * events that go in, by a letter and a number, and those that must come out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../decoders/flow/fold.h"

static struct fold f;
static char got[512];
static uint64_t now;
static int32_t tid;

static struct hwt_event event(unsigned type)
{
	return (struct hwt_event){ .type = (uint16_t)type, .time = now, .off = 100 + now, .cpu = 1,
		.pid = tid, .tid = tid };
}

static void see(const struct hwt_event *ev)
{
	static const char letters[HWT_EV_TYPES] = { [HWT_EV_NONE] = '-', [HWT_EV_ON] = 'O',
		[HWT_EV_OFF] = 'F', [HWT_EV_EXCEPTION] = 'X', [HWT_EV_ERET] = 'E',
		[HWT_EV_GAP] = 'G', [HWT_EV_CALL] = 'C', [HWT_EV_RETURN] = 'R',
		[HWT_EV_ASPACE] = 'A', [HWT_EV_SCHED_SWITCH] = 'S' };
	const uint8_t *level = hwt_event_level(ev);
	size_t n = strlen(got);

	n += (size_t)snprintf(got + n, sizeof(got) - n, " %c", letters[ev->type]);
	if (ev->type == HWT_EV_ASPACE)
		snprintf(got + n, sizeof(got) - n, "%u", ev->u.aspace.el);
	else if (level && *level)
		snprintf(got + n, sizeof(got) - n, "%u+%u", *level - 1, level[1]);
}

static void take(void)
{
	struct hwt_event ev;

	while (fold_take(&f, &ev))
		see(&ev);
}

static void put(struct hwt_event ev)
{
	fold_put(&f, &ev);
	take();
}

/*
 * Words of @in: A and a level, An: without one; C: a call, Cs: a system call; R, Ri: from an
 * exception; F: cut, Or: tracing resumes there; O, X, E, G, S, -; t and a thread, which is that of
 * the events behind it.
 */
static void one(const char *w)
{
	static const char letters[] = "OFXEGCRAS-";
	static const uint16_t types[] = { HWT_EV_ON, HWT_EV_OFF, HWT_EV_EXCEPTION, HWT_EV_ERET,
		HWT_EV_GAP, HWT_EV_CALL, HWT_EV_RETURN, HWT_EV_ASPACE, HWT_EV_SCHED_SWITCH,
		HWT_EV_NONE };
	struct hwt_event ev;

	if (*w == 't') {
		tid = w[1] == '?' ? HWT_NONE : w[1] - '0';
		return;
	}
	now++;
	ev = event(types[strchr(letters, *w) - letters]);
	if (*w == 'F' || *w == 'O')
		ev.u.at.addr = 0x1000;
	if (*w == 'F')
		ev.flags = HWT_F_CUT;
	if (w[1] == 'r')
		ev.flags = HWT_F_RESUMED;
	if (w[1] == 'i')
		ev.flags = HWT_F_INTR;
	if (w[1] == 's')
		ev.u.edge.kind = HWT_INSN_FAR_CALL;
	if (*w == 'X') {
		ev.u.exc.number = 2;
		ev.u.exc.to = 0x5000;
	}
	if (*w == 'A' && w[1] != 'n') {
		ev.u.aspace.valid = 4;
		ev.u.aspace.el = (uint8_t)(w[1] - '0');
	}
	put(ev);
}

static void check(bool on, const char *in, const char *out)
{
	char words[256], *save = NULL;

	memset(&f, 0, sizeof(f));
	f.on = on;
	got[0] = 0;
	now = 0;
	tid = 7;
	snprintf(words, sizeof(words), "%s", in);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		one(w);
	while (fold_end(&f))
		take();
	assert_string_equal(got[0] ? got + 1 : got, out);
	assert_null(fold_first(&f));
}

/* The level goes into what changed it, with the distance; its time stays. */
static void test_levels(void **state)
{
	check(true, "O A0 C R", "O0+1 - C R");
	check(true, "X A1 E A0", "X1+1 - E0+1 -");
	check(true, "C Ri A0 G A1", "C R0+1 - G1+1 -");
	check(true, "X - A1", "X1+2 - -");
	/* a return that is none from an exception has no level; nor has a call */
	check(true, "R A1 C A0", "R A1 C A0");
	/* two different ones: nothing says which of them came first */
	check(true, "O A1 A0", "O1+1 - A0");
	check(true, "O A1 A1 C", "O1+1 - - C");
	check(false, "O A0 A0 F Or", "O A0 A0 F O");
}

/* What says nothing new: neither another level nor another owner. */
static void test_repeats(void **state)
{
	check(true, "O A0 C A0 R An", "O0+1 - C - R -");
	/* what may have changed the level ends that */
	check(true, "O A0 C X C A0", "O0+1 - C X C A0");
	check(true, "O A0 C t8 A0 C t7 A0", "O0+1 - C A0 C A0");
	check(true, "O C t8 An t? An t8 C", "O C A0 - C");
	check(true, "t? An O An", "- O -");
}

/* A system call and the exception that it makes. */
static void test_system_calls(void **state)
{
	check(true, "Cs X A1 C", "C1+2 - - C");
	check(true, "Cs A1 X", "C A1 X");
	check(true, "Cs C X", "C C X");
	check(true, "C X", "C X");
	memset(&f, 0, sizeof(f));
	f.on = true;
	got[0] = 0;
	one("Cs");
	one("X");
	assert_int_equal(fold_first(&f)->type, HWT_EV_CALL);
	assert_int_equal(fold_first(&f)->flags, HWT_F_INTR);
	assert_int_equal(fold_first(&f)->u.edge.number, 2);
	assert_int_equal(fold_first(&f)->u.edge.to, 0x5000);
}

/* Tracing that stops and goes on at the same place. */
static void test_cuts(void **state)
{
	check(true, "C F Or R", "C - - R");
	check(true, "C F O R", "C F O R");
	check(true, "F t8 Or", "F O");
	check(true, "F S Or", "F S O");
}

/* Times behind what waits are not lost, however many. */
static void test_times(void **state)
{
	check(true, "O - - - - - - - - - A0", "O - - - - - - - - - A0");
	check(true, "X - - O A1", "X - - O1+1 -");
	check(true, "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels), cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_system_calls), cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
