/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace units as sysfs shows them, against what perf wrote of the same machines into its recordings
 * (AUXTRACE_INFO, as `perf report -D` prints it).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwtrace/base/diag.h"
#include "hwtrace/capture/hwunit.h"
#include "tests/support/scratch.h"

static void put(const char *file, const char *text)
{
	char cmd[400];

	snprintf(cmd, sizeof(cmd), "p=%s; mkdir -p \"${p%%/*}\" && printf '%s\\n' >$p",
		 scratch(file), text);
	assert_int_equal(system(cmd), 0);
}

/* The Skylake of captures/pt/skylake-kernel: CPU 6/78/3, ratio 100:2, 12 times 100 MHz. */
static const char cpuinfo[] = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
	"model\t\t: 78\nmodel name\t: Intel(R) Core(TM) m3\nstepping\t: 3\n\nprocessor\t: 1\n"
	"cpu family\t: 15\nmodel\t\t: 1\nstepping\t: 9\n";

static void intel(void **state)
{
	struct pmu_event e;
	struct hwunit u;
	struct hwt_diag d;
	struct pmu p;

	put("intel_pt/type", "6");
	put("intel_pt/max_nonturbo_ratio", "12");
	put("intel_pt/tsc_art_ratio", "100:2");
	put("intel_pt/caps/mtc", "1");
	put("intel_pt/caps/mtc_periods", "249");
	put("intel_pt/format/mtc", "config:9");
	put("intel_pt/format/mtc_period", "config:14-17");
	put("intel_pt/format/noretcomp", "config:11");
	assert_int_equal(pmu_read(&p, scratch("."), "intel_pt", &d), 0);
	assert_int_equal(pmu_event(&e, &p, "intel_pt//", &d), 0);
	assert_int_equal(hwunit_read(&u, &p, &e, cpuinfo, &d), 0);
	assert_int_equal(u.n, 1);
	assert_int_equal(u.cfgs[0].proto, HWT_PROTO_PT);
	assert_int_equal(u.cfgs[0].r.pt.family, 6);
	assert_int_equal(u.cfgs[0].r.pt.model, 78);
	assert_int_equal(u.cfgs[0].r.pt.stepping, 3);
	assert_int_equal(u.cfgs[0].r.pt.mtc_freq, 3);
	assert_int_equal(u.cfgs[0].r.pt.nom_freq, 12);
	assert_int_equal(u.cfgs[0].r.pt.cpuid_15_ebx, 100);
	assert_int_equal(u.cfgs[0].r.pt.cpuid_15_eax, 2);
	assert_false(u.cfgs[0].r.pt.noretcomp);
	assert_ptr_equal(hwunit_of(&u, 77), &u.cfgs[0]);
	hwunit_free(&u);
	assert_int_equal(pmu_event(&e, &p, "intel_pt/mtc=0,noretcomp/", &d), 0);
	assert_int_equal(hwunit_read(&u, &p, &e, "", &d), 0);
	assert_int_equal(u.cfgs[0].r.pt.family, 0);
	assert_int_equal(u.cfgs[0].r.pt.mtc_freq, 0);
	assert_true(u.cfgs[0].r.pt.noretcomp);
	hwunit_free(&u);
}

/* TRCCONFIGR of an event: bits by IHI 0064; 0x40 is what that phone's recording has of 0x4000. */
static void coresight(void **state)
{
	static const struct { const char *event; uint32_t configr; } all[] = {
		/* what is on when nothing is said: context id of EL1, timestamps */
		{ "cs_etm//", 1 << 6 | 1 << 11 },
		{ "cs_etm/timestamp=0/", 0x40 },
		{ "cs_etm/timestamp=0,contextid=0/", 0 },
		{ "cs_etm/contextid=0,contextid2/", 1 << 7 | 1 << 15 | 1 << 11 },
		{ "cs_etm/cycacc,retstack,branch_broadcast,timestamp=0,contextid=0/",
		  1 << 4 | 1 << 12 | 1 << 3 },
	};
	struct pmu_event e;
	struct hwunit u;
	struct hwt_diag d;
	struct pmu p;

	put("cs_etm/type", "8");
	put("cs_etm/format/contextid", "config:14");
	put("cs_etm/format/contextid2", "config:15");
	put("cs_etm/format/cycacc", "config:12");
	put("cs_etm/format/branch_broadcast", "config:8");
	put("cs_etm/format/timestamp", "config:28");
	put("cs_etm/format/retstack", "config:29");
	put("cs_etm/format/sinkid", "config2:0-31");
	assert_int_equal(pmu_read(&p, scratch("."), "cs_etm", &d), 0);
	assert_int_equal(pmu_event(&e, &p, "cs_etm//", &d), 0);
	assert_int_equal(hwunit_read(&u, &p, &e, "", &d), -ENODEV);
	/* as recorded of a Pixel phone: CPU 10 and 2, and an ETE */
	put("cs_etm/cpu10/trcidr/trcidr0", "0x28000ea1");
	put("cs_etm/cpu10/trcidr/trcidr1", "0x4100f423");
	put("cs_etm/cpu10/trcidr/trcidr2", "0x488");
	put("cs_etm/cpu10/trcidr/trcidr8", "0x1");
	put("cs_etm/cpu2/trcidr/trcidr0", "0x28000ea1");
	put("cs_etm/cpu2/mgmt/trctraceid", "0x1e");
	put("cs_etm/cpu3/trcidr/trcidr0", "0x28c0e1ff");
	put("cs_etm/cpu3/mgmt/trcdevarch", "0x47705a13");
	put("cs_etm/cpu4/none", "1");
	put("cs_etm/cpuX/trcidr/trcidr0", "0x1");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(pmu_event(&e, &p, all[i].event, &d), 0);
		assert_int_equal(hwunit_read(&u, &p, &e, "", &d), 0);
		assert_int_equal(u.cfgs[0].r.etm4.configr, all[i].configr);
		if (i + 1 < sizeof(all) / sizeof(all[0]))
			hwunit_free(&u);
	}
	assert_int_equal(u.n, 3);
	assert_int_equal(u.cfgs[0].cpu, 2);
	assert_int_equal(u.cfgs[0].trace_id, 0x1e);
	assert_int_equal(u.cfgs[0].proto, HWT_PROTO_ETM4);
	assert_int_equal(u.cfgs[1].cpu, 3);
	assert_int_equal(u.cfgs[1].proto, HWT_PROTO_ETE);
	assert_int_equal(u.cfgs[1].r.etm4.devarch, 0x47705a13);
	assert_int_equal(u.cfgs[2].cpu, 10);
	assert_int_equal(u.cfgs[2].r.etm4.idr0, 0x28000ea1);
	assert_int_equal(u.cfgs[2].r.etm4.idr1, 0x4100f423);
	assert_int_equal(u.cfgs[2].r.etm4.idr2, 0x488);
	assert_int_equal(u.cfgs[2].r.etm4.idr8, 1);
	/* 0x10 + 2 * 10, as the kernel gives them out, until it says another one */
	assert_int_equal(u.cfgs[2].trace_id, 0x24);
	hwunit_id(&u, 10, 0x35 | 1ull << 60);
	assert_int_equal(u.cfgs[2].trace_id, 0x35);
	hwunit_id(&u, 77, 0x35);
	assert_null(hwunit_of(&u, 4));
	hwunit_free(&u);
}

static void others(void **state)
{
	struct pmu_event e = { .config = { 0 } };
	struct hwunit u;
	struct hwt_diag d;
	struct pmu p;

	put("arm_spe_0/type", "9");
	assert_int_equal(pmu_read(&p, scratch("."), "arm_spe_0", &d), 0);
	assert_int_equal(hwunit_read(&u, &p, &e, "", &d), -EINVAL);
	assert_non_null(strstr(d.text, "arm_spe_0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intel),
		cmocka_unit_test(coresight),
		cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
