/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/opt.h"

#define MAX 16

static struct opts o;

/* Parses @line split at blanks as options of @cmd. */
static int parse(unsigned cmd, const char *line)
{
	static char buf[512], *argv[MAX + 1];
	int argc = 0;

	opt_free(&o);
	strcpy(buf, line);
	for (char *p = strtok(buf, " "); p && argc < MAX; p = strtok(NULL, " "))
		argv[argc++] = p;
	argv[argc] = NULL;
	return opt_parse(&o, cmd, argc, argv);
}

static void selection(void **state)
{
	assert_true(parse(CMD_LIST, "list --cpu 0,2-4 f --tid 7 --cpu 9 --limit 12") > 0);
	assert_int_equal(o.ncpus, 5);
	assert_int_equal(o.cpus[0], 0);
	assert_int_equal(o.cpus[3], 4);
	assert_int_equal(o.cpus[4], 9);
	assert_int_equal(o.ntids, 1);
	assert_int_equal(o.limit, 12);
	assert_int_equal(o.nargs, 1);
	assert_string_equal(o.args[0], "f");
	assert_null(o.open.cpu);
}

/* With slashes it is the kind of CPU, not a number. */
static void cpu_model(void **state)
{
	assert_true(parse(CMD_LIST, "list --pt t.bin --cpu 6/79/1 --elf a.out") > 0);
	assert_string_equal(o.open.cpu, "6/79/1");
	assert_int_equal(o.ncpus, 0);
	assert_string_equal(o.open.as, "pt");
	assert_int_equal(o.nargs, 1);
	assert_string_equal(o.args[0], "t.bin");
	assert_int_equal(o.open.nelfs, 1);
	assert_true(o.open.elfs[0].addr == HWT_NO_ADDR);
}

static void elfs(void **state)
{
	assert_true(parse(CMD_LIST, "list --elf a@0x400000 --elf b@c --elf d@16 --elf e") > 0);
	assert_int_equal(o.open.nelfs, 4);
	assert_string_equal(o.open.elfs[0].path, "a");
	assert_true(o.open.elfs[0].addr == 0x400000);
	assert_string_equal(o.open.elfs[1].path, "b@c");
	assert_true(o.open.elfs[1].addr == HWT_NO_ADDR);
	assert_true(o.open.elfs[2].addr == 16);
	assert_string_equal(o.open.elfs[3].path, "e");
	assert_true(parse(CMD_LIST, "list --elf a@0x4zz") < 0);
	assert_true(parse(CMD_LIST, "list --elf a@99999999999999999999999") < 0);
}

static void times(void **state)
{
	static const struct { const char *s; int kind; uint64_t v; } good[] = {
		{ "", OPT_TIME_OPEN, 0 }, { "12ns", OPT_TIME_NS, 12 },
		{ "1.5us", OPT_TIME_NS, 1500 }, { "+2ms", OPT_TIME_NS, 2000000 },
		{ "0.000000001s", OPT_TIME_NS, 1 }, { "3s", OPT_TIME_NS, 3000000000 },
		{ "1.23456789123s", OPT_TIME_NS, 1234567891 },
		{ "10%", OPT_TIME_PERCENT, 10000 }, { "%20", OPT_TIME_PERCENT, 20000 },
		{ "0.5%", OPT_TIME_PERCENT, 500 }, { "100%", OPT_TIME_PERCENT, 100000 },
		{ "12", OPT_TIME_NS, 12000000000 }, { "4.640", OPT_TIME_NS, 4640000000 },
		{ "18446744073s", OPT_TIME_NS, 18446744073000000000u },
	};
	static const char *const bad[] = { ".", "s", "+", "+1240cs", "1 s", "-1s", "101%", "%",
		"1..2s", "18446744074s", "99999999999999999999ns", "1h", "0x1s", "1sx" };
	char err[256];
	struct opt_time t;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(opt_parse_time(&t, good[i].s, strlen(good[i].s), err,
						sizeof(err)), 0);
		assert_int_equal(t.kind, good[i].kind);
		if (t.kind != OPT_TIME_OPEN)
			assert_true(t.v == good[i].v);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err[0] = 0;
		assert_true(opt_parse_time(&t, bad[i], strlen(bad[i]), err, sizeof(err)) < 0);
		assert_true(err[0] != 0);
	}
}

static void windows(void **state)
{
	assert_true(parse(CMD_LIST, "list --time 1ms..2ms f") > 0);
	assert_true(o.have_time && o.lo.v == 1000000 && o.hi.v == 2000000);
	assert_true(parse(CMD_LIST, "list --time 10%.. f") > 0);
	assert_int_equal(o.lo.kind, OPT_TIME_PERCENT);
	assert_int_equal(o.hi.kind, OPT_TIME_OPEN);
	assert_true(parse(CMD_LIST, "list --time ..3us f") > 0);
	assert_int_equal(o.lo.kind, OPT_TIME_OPEN);
	assert_true(parse(CMD_LIST, "list --time 2ms..1ms f") < 0);
	assert_true(parse(CMD_LIST, "list --time 2ms f") < 0);
}

/* Words that must not be taken, and what the message has to say. */
static void errors(void **state)
{
	static const struct { unsigned cmd; const char *line, *says; } bad[] = {
		{ CMD_LIST, "list --tme 1", "--time" },
		{ CMD_LIST, "list --zzzzzz", "unknown option --zzzzzz" },
		{ CMD_LIST, "list -Z", "unknown option -Z" },
		{ CMD_INFO, "info --lines f", "does not take --lines" },
		{ CMD_LIST, "list --level foo", "insn range events" },
		{ CMD_LIST, "list --color sometimes", "auto always never" },
		{ CMD_LIST, "list --limit", "--limit needs a value" },
		{ CMD_LIST, "list -o", "-o needs a value" },
		{ CMD_LIST, "list --limit 0", "at least one" },
		{ CMD_LIST, "list --limit -1", "not a number" },
		{ CMD_LIST, "list --limit 1.5", "not a number" },
		{ CMD_LIST, "list --limit 99999999999999999999", "not a number" },
		{ CMD_LIST, "list --cpu 1,", "list of numbers" },
		{ CMD_LIST, "list --cpu 5-2", "list of numbers" },
		{ CMD_LIST, "list --cpu 0-2000000000", "list of numbers" },
		{ CMD_LIST, "list --cpu 99999999999", "list of numbers" },
		{ CMD_LIST, "list --cpu x", "list of numbers" },
		{ CMD_LIST, "list --max-loss 101", "percentage" },
		{ CMD_LIST, "list --strict=1", "takes no value" },
		{ CMD_LIST, "list --pt a --cs b", "one input" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(parse(bad[i].cmd, bad[i].line) < 0);
		if (!strstr(o.err, bad[i].says))
			fail_msg("\"%s\" says \"%s\"", bad[i].line, o.err);
	}
}

/* Before the command: up to the first word. */
static void global(void **state)
{
	assert_int_equal(parse(0, "hwtrace -C never -q list --limit 3"), 4);
	assert_int_equal(o.color, OPT_COLOR_NEVER);
	assert_true(o.quiet);
	assert_int_equal(o.limit, 0);
	assert_int_equal(o.nargs, 0);
}

static void numbers(void **state)
{
	assert_true(parse(CMD_CHECK, "check f --max-loss 0.125") > 0);
	assert_int_equal(o.max_loss, 125);
	assert_true(parse(CMD_CHECK, "check f --max-loss 5%") > 0);
	assert_int_equal(o.max_loss, 5000);
	assert_true(parse(CMD_CALLS, "calls --sym a* --sym b --jsonl -- -f") > 0);
	assert_int_equal(o.nsyms, 2);
	assert_int_equal(o.format, OPT_JSONL);
	assert_string_equal(o.args[0], "-f");
}

/* Levenshtein distances from the literature, and their bounds. */
static void distance(void **state)
{
	assert_int_equal(opt_distance("kitten", "sitting"), 3);
	assert_int_equal(opt_distance("saturday", "sunday"), 3);
	assert_int_equal(opt_distance("", "abc"), 3);
	assert_int_equal(opt_distance("abc", ""), 3);
	assert_int_equal(opt_distance("same", "same"), 0);
	assert_int_equal(opt_distance("a", "abcdefghijklmnopqrstuvwxyzabcdefgh"), 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selection), cmocka_unit_test(cpu_model), cmocka_unit_test(elfs),
		cmocka_unit_test(times), cmocka_unit_test(windows), cmocka_unit_test(errors),
		cmocka_unit_test(global), cmocka_unit_test(numbers), cmocka_unit_test(distance),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	opt_free(&o);
	return rc;
}
