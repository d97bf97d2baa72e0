/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of an event against what perf makes of it: "perf record -vv" with a tree of sysfs that
 * this test writes, and the attributes of recordings that others made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hwtrace/base/diag.h"
#include "hwtrace/capture/pmu.h"
#include "hwtrace/source/file.h"
#include "tests/support/scratch.h"

#define BUS	"bus/event_source/devices"
#define PT	BUS "/intel_pt/"
#define ETM	BUS "/cs_etm/"

/* The layout of IA32_RTIT_CTL (SDM vol. 3, 33.2.7.2), which the driver's format files repeat. */
static const char *const tree[][2] = {
	{ PT "type", "8" }, { PT "format/pt", "config:0" }, { PT "format/cyc", "config:1" },
	{ PT "format/pwr_evt", "config:4" }, { PT "format/fup_on_ptw", "config:5" },
	{ PT "format/mtc", "config:9" }, { PT "format/tsc", "config:10" },
	{ PT "format/noretcomp", "config:11" }, { PT "format/ptw", "config:12" },
	{ PT "format/branch", "config:13" }, { PT "format/mtc_period", "config:14-17" },
	{ PT "format/cyc_thresh", "config:19-22" }, { PT "format/psb_period", "config:24-27" },
	{ PT "caps/mtc", "1" }, { PT "caps/mtc_periods", "249" }, { PT "caps/psb_cyc", "1" },
	{ PT "caps/psb_periods", "3f" }, { PT "caps/cycle_thresholds", "1fff" },
	{ PT "caps/ptwrite", "0" }, { PT "nr_addr_filters", "2" },
	{ ETM "type", "9" }, { ETM "format/contextid", "config:14" },
	{ ETM "format/contextid2", "config:15" }, { ETM "format/cycacc", "config:12" },
	{ ETM "format/timestamp", "config:28" }, { ETM "format/retstack", "config:29" },
	{ ETM "format/sinkid", "config2:0-31" }, { ETM "format/preset", "config:0-3" },
	{ ETM "format/configid", "config2:32-63" }, { ETM "sinks/tmc_etr0", "0xa61eb707" },
	/* of invented units: a field in two pieces, and of another word */
	{ BUS "/odd/type", "77" }, { BUS "/odd/format/split", "config:0-3,8-11" },
	{ BUS "/odd/format/all", "config1:0-63" },
	{ BUS "/worse/type", "78" }, { BUS "/worse/format/far", "config3:60-63" },
	{ BUS "/worse/format/bad1", "config:64" }, { BUS "/worse/format/bad2", "config:5-3" },
	{ BUS "/worse/format/bad3", "config9:1" }, { BUS "/worse/format/bad4", "umask" },
	{ BUS "/typeless/format/a", "config:0" },
};

static int make_tree(void **state)
{
	if (scratch_make(state))
		return -1;
	for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]); i++) {
		char cmd[400];

		snprintf(cmd, sizeof(cmd), "p=%s; mkdir -p \"${p%%/*}\" && printf '%s\\n' >$p",
			 scratch(tree[i][0]), tree[i][1]);
		if (system(cmd))
			return -1;
	}
	return 0;
}

static int parse(struct pmu_event *e, const char *text, struct hwt_diag *d)
{
	struct pmu p;
	char name[64];
	int rc;

	*d = (struct hwt_diag){ 0 };
	pmu_name(text, name, sizeof(name));
	rc = pmu_read(&p, scratch(BUS), name, d);
	return rc ? rc : pmu_event(e, &p, text, d);
}

/* What perf would open, as it prints it. False: it does not run here. */
static bool ask_perf(const char *text, struct pmu_event *e)
{
	char cmd[600], line[400];
	bool seen = false;
	FILE *f;

	memset(e, 0, sizeof(*e));
	e->user = e->kernel = true;
	snprintf(cmd, sizeof(cmd), "cd %s && SYSFS_PATH=%s perf record -o x.data -e %s -vv -- true "
		 "2>&1 </dev/null", scratch("."), scratch("."), text);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char key[64];
		uint64_t v;

		if (!strncmp(line, "sys_perf_event_open", 19))
			break;	/* what follows is another attempt */
		seen |= !strncmp(line, "perf_event_attr:", 16);
		/* shares its place with the address of a breakpoint */
		if (strstr(line, "{ bp_addr, config1 }"))
			e->config[1] = strtoull(strrchr(line, ' '), NULL, 0);
		if (sscanf(line, " %63s %" SCNi64, key, (int64_t *)&v) != 2)
			continue;
		if (!strcmp(key, "config"))
			e->config[0] = v;
		else if (!strcmp(key, "exclude_kernel"))
			e->kernel = false;
		else if (!strcmp(key, "exclude_user"))
			e->user = false;
		else
			continue;
	}
	rewind(f);
	pclose(f);
	return seen;
}

/* "{ bp_len, config2 }  0xa61eb707" has its value at the end of the line. */
static uint64_t perf_config2(const char *text)
{
	char cmd[600], line[400];
	uint64_t v = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "cd %s && SYSFS_PATH=%s perf record -o x.data -e %s -vv -- true "
		 "2>&1 </dev/null", scratch("."), scratch("."), text);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "config2") && !v)
			v = strtoull(strrchr(line, ' '), NULL, 0);
	pclose(f);
	return v;
}

static void same_as_perf(void **state)
{
	/* CoreSight with all that we switch on by ourselves, since perf only does so on Arm */
	static const char *const ours[] = { "intel_pt//", "intel_pt/cyc,mtc_period=3/u",
		"intel_pt/cyc,cyc_thresh=4,psb_period=0/", "intel_pt/tsc=0,psb_period=5/k",
		"intel_pt/mtc=0,noretcomp/u", "intel_pt/config=0x400/u", "intel_pt//uk",
		"intel_pt/branch=0,pwr_evt/", "intel_pt/mtc_period=9/k", "intel_pt/tsc,mtc/u",
		"cs_etm/timestamp,contextid,@tmc_etr0/u", "cs_etm/timestamp,contextid,cycacc/k",
		"cs_etm/timestamp,contextid,retstack,preset=2/",
		"cs_etm/timestamp,contextid,configid=5/",
		"odd/split=0xa5/u", "odd/all=0x123456789abcdef0/k" };
	struct pmu_event e, peer;
	struct hwt_diag d;

	if (!ask_perf("intel_pt//", &peer)) {
		print_message("no perf that prints what it opens\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		assert_int_equal(parse(&e, ours[i], &d), 0);
		assert_true(ask_perf(ours[i], &peer));
		if (e.config[0] != peer.config[0] || e.config[1] != peer.config[1] ||
		    e.user != peer.user || e.kernel != peer.kernel)
			fail_msg("%s: config %#" PRIx64 " %#" PRIx64 " u%d k%d, perf %#" PRIx64
				 " %#" PRIx64 " u%d k%d", ours[i], e.config[0], e.config[1],
				 e.user, e.kernel, peer.config[0], peer.config[1], peer.user,
				 peer.kernel);
		/* on other machines than Arm's it leaves the sink out: see the recordings below */
		if (!strchr(ours[i], '@'))
			assert_int_equal(e.config[2], perf_config2(ours[i]));
	}
}

/* An attribute of a recording: word 0, word 2, and whether user and kernel are left out. */
static bool recorded(const char *file, uint32_t type, struct pmu_event *e)
{
	const char *root = getenv("HWT_CAPTURES");
	struct hwt_diag d;
	struct file *f;
	char path[600];
	bool found = false;

	snprintf(path, sizeof(path), "%s/%s", root ? root : "../shared/captures", file);
	if (file_open(&f, path, &d))
		return false;
	memset(e, 0, sizeof(*e));
	for (uint64_t at = 0; at + 128 <= f->size && at < 4096 && !found; at += 8) {
		uint32_t head[2];
		uint64_t bits;

		/* type and size of perf_event_attr, then its words at fixed places */
		memcpy(head, f->p + at, 8);
		if (head[0] != type || (head[1] != 112 && head[1] != 128))
			continue;
		memcpy(&e->config[0], f->p + at + 8, 8);
		memcpy(&bits, f->p + at + 40, 8);
		memcpy(&e->config[2], f->p + at + 64, 8);
		e->user = !(bits >> 4 & 1);
		e->kernel = !(bits >> 5 & 1);
		found = true;
	}
	file_close(f);
	return found;
}

static void same_as_recordings(void **state)
{
	static const struct { const char *file; uint32_t type; const char *text; } all[] = {
		{ "pt/skylake-kernel/in/perf.data", 6, "intel_pt//" },
		/* simpleperf names its sink, and asks for context ids but for no timestamps */
		{ "arm/pixel/in/perf_etm.data", 8, "cs_etm/timestamp=0,@tmc_etr0/u" },
		{ "arm/pixel/in/perf_kernel.data", 8, "cs_etm/timestamp=0,@tmc_etr0/k" },
		{ "arm/pixel/in/perf_with_unformatted_trace.data", 8,
		  "cs_etm/timestamp=0,contextid=0,contextid2/u" },
	};
	struct pmu_event e, was;
	struct hwt_diag d;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!recorded(all[i].file, all[i].type, &was)) {
			print_message("%s is not there\n", all[i].file);
			skip();
		}
		assert_int_equal(parse(&e, all[i].text, &d), 0);
		assert_int_equal(e.config[0], was.config[0]);
		assert_int_equal(e.config[2], was.config[2]);
		assert_int_equal(e.user, was.user);
		assert_int_equal(e.kernel, was.kernel);
	}
}

/* perf 6.1 has no fourth word. */
static void fourth_word(void **state)
{
	struct pmu_event e;
	struct hwt_diag d;

	assert_int_equal(parse(&e, "worse/far=9/u", &d), 0);
	assert_int_equal(e.config[3], 9ull << 60);
}

static void refused(void **state)
{
	static const struct { const char *text; int rc; const char *words; } all[] = {
		{ "nothing//", -ENOENT, "no unit nothing" }, { "typeless//", -ENOENT, "no unit" },
		{ "/cyc/", -EINVAL, "no trace unit" }, { "..//", -EINVAL, "no trace unit" },
		{ "intel_pt/cyc", -EINVAL, "slash" }, { "intel_pt/foo/", -EINVAL, "no option foo" },
		{ "intel_pt/cyc=x/", -EINVAL, "needs a number" },
		{ "intel_pt/cyc=-1/", -EINVAL, "needs a number" },
		{ "intel_pt/cyc=2/", -EINVAL, "too large" },
		{ "intel_pt//h", -EINVAL, "user code" },
		{ "intel_pt/mtc_period=4/", -EINVAL, "can be 0, 3, 6, 9" },
		{ "intel_pt/psb_period=6/", -EINVAL, "can be 0, 1, 2, 3, 4, 5" },
		{ "intel_pt/ptw/", -EINVAL, "no PTWRITE" }, { "intel_pt/@etr/", -EINVAL, "sink" },
		{ "cs_etm/@tmc_etr1/", -EINVAL, "no sink tmc_etr1" },
		{ "cs_etm/@../type/", -EINVAL, "no sink" }, { "cs_etm/@/", -EINVAL, "no sink" },
		{ "worse/bad1/", -EINVAL, "no option" }, { "worse/bad2/", -EINVAL, "no option" },
		{ "worse/bad3/", -EINVAL, "no option" }, { "worse/bad4/", -EINVAL, "no option" },
		{ "odd/config9=1/", -EINVAL, "no option" },
		{ "odd/config/", -EINVAL, "no option" },
		{ "odd/split=0x100/", -EINVAL, "too large" },
	};
	struct pmu_event e;
	struct hwt_diag d;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int rc = parse(&e, all[i].text, &d);

		if (rc != all[i].rc || !strstr(d.text, all[i].words))
			fail_msg("%s: %d, \"%s\"", all[i].text, rc, d.text);
	}
}

/* A CPU without MTC and cycle counts records without them; a value that it lacks is replaced. */
static void lesser_cpu(void **state)
{
	struct pmu_event e;
	struct hwt_diag d;

	scratch_write(PT "caps/mtc", "0\n", 2);
	scratch_write(PT "caps/psb_cyc", "0\n", 2);
	assert_int_equal(parse(&e, "intel_pt//", &d), 0);
	assert_int_equal(e.config[0], 0x2401);	/* pt, tsc, branch */
	assert_int_equal(parse(&e, "intel_pt/cyc/", &d), -EINVAL);
	assert_int_equal(parse(&e, "intel_pt/mtc/", &d), -EINVAL);
	scratch_write(PT "caps/mtc", "1\n", 2);
	scratch_write(PT "caps/mtc_periods", "40\n", 3);
	assert_int_equal(parse(&e, "intel_pt//", &d), 0);
	assert_int_equal(e.config[0], 0x2401 | 1 << 9 | 6 << 14);
	scratch_write(PT "caps/psb_cyc", "1\n", 2);
	scratch_write(PT "caps/mtc_periods", "249\n", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_perf),
		cmocka_unit_test(same_as_recordings),
		cmocka_unit_test(fourth_word),
		cmocka_unit_test(refused),
		cmocka_unit_test(lesser_cpu),
	};

	return cmocka_run_group_tests(tests, make_tree, scratch_drop);
}
