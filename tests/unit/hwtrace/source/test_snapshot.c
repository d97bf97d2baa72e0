/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots written by hand, in memory; the values beside them are read from their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/source/cs_unit.h"
#include "tests/support/vdir.h"

static struct capture *c;
static struct hwt_diag diag;
static struct vdir vd;

static int read_text(const char *text)
{
	int rc;

	vdir_init(&vd, text, strlen(text));
	assert_int_equal(capture_new(&c), 0);
	diag = (struct hwt_diag){ .text = "" };
	rc = snapshot_read(c, &vd.dir, &diag);
	if (rc)
		assert_int_equal(diag.code, rc);
	return rc;
}

static int clean(void **state)
{
	capture_free(c);
	c = NULL;
	return 0;
}

/* The only note of that id. */
static const struct hwt_note *note(unsigned id)
{
	const struct hwt_note *found = NULL;

	for (uint32_t i = 0; i < c->notes.n; i++) {
		if (c->notes.v[i].diag.id != id)
			continue;
		if (found)
			fail_msg("two notes E%03u: %s; %s", id, found->diag.text,
				 c->notes.v[i].diag.text);
		found = &c->notes.v[i];
	}
	if (!found)
		fail_msg("no note E%03u", id);
	return found;
}

#define TRACE "=== snapshot.ini\n[snapshot]\nversion=1.0\n" \
	"[device_list]\nd1=cpu.ini\nd2=etm.ini\n[trace]\nmetadata=trace.ini\n" \
	"=== trace.ini\n[trace_buffers]\nbuffers=b0\n[b0]\nname=ETB\n" \
	"file=t.bin\nformat=coresight\n" \
	"[source_buffers]\nETM_0=ETB\n[core_trace_sources]\ncpu_0=ETM_0\n" \
	"=== t.bin\n0123456789abcdef\n"
#define ETM "=== etm.ini\n[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4.2\n[regs]\n" \
	"TRCCONFIGR=0xc1\nTRCTRACEIDR=0x10\nTRCIDR0=1\nTRCIDR1=2\nTRCIDR2=3\n"
#define CPU "=== cpu.ini\n[device]\nname=cpu_0\nclass=core\ntype=Cortex-A57\n"

static void plain(void **state)
{
	assert_int_equal(read_text(TRACE ETM CPU), 0);
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(c->nbufs, 1);
	assert_string_equal(c->bufs[0].name, "ETB");
	assert_int_equal(c->bufs[0].framing, FRAMING_MEM);
	assert_int_equal(c->bufs[0].cpu, 0);
	assert_int_equal(c->bufs[0].nspans, 1);
	assert_int_equal(c->bufs[0].spans[0].size, 17);
	assert_memory_equal(c->bufs[0].spans[0].p, "0123456789abcdef\n", 17);
	assert_int_equal(c->bufs[0].cfgs[0].trace_id, 0x10);
	assert_string_equal(c->bufs[0].cfgs[0].core, "Cortex-A57");
	assert_string_equal(c->arch, "aarch64");
}

/* three ways to write a register, CRLF, case, comments, quotes, decimal */
static void spelling(void **state)
{
	assert_int_equal(read_text(
		"=== snapshot.ini\r\n; c\r\n[Snapshot]\r\nVersion=1\r\n[DEVICE_LIST]\r\n"
		"device0=a.ini\r\ndevice1=b.ini # two\r\n[Trace]\r\nMetadata = t.ini\r\n"
		"=== t.ini\r\n// c\r\n[trace_buffers]\r\nbuffers=b0,\r\n[b0]\r\nName=ETB\r\n"
		"FILE=\"t.bin\"\r\nformat=Source_Data\r\n[source_buffers]\r\nPTM_0=ETB\r\n"
		"[core_trace_sources]\r\nCortex-A15_0=PTM_0\r\n"
		"[timestamp]\r\nfrequency=25000000\r\n"
		"=== a.ini\r\n[device]\r\nname=Cortex-A15_0\r\nclass=Core\r\ntype=Cortex-A15\r\n"
		"=== b.ini\r\n[device]\r\nname=PTM_0\r\nclass=TRACE_SOURCE\r\ntype=PFT1.1\r\n"
		"[REGS]\r\nETMCR(id:0x0)=0x10001000\r\nETMTRACEIDR(0x080)=19\r\n"
		"etmccer(size:32)=0x34C01AC2\r\nETMIDR=0X411CF312\r\nETMOTHER=zzz\r\n"
		"=== t.bin\r\nx"), 0);
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(c->bufs[0].framing, FRAMING_NONE);
	assert_int_equal(c->bufs[0].cfgs[0].proto, HWT_PROTO_PTM);
	assert_int_equal(c->bufs[0].cfgs[0].r.etm3.cr, 0x10001000);
	assert_int_equal(c->bufs[0].cfgs[0].r.etm3.ccer, 0x34c01ac2);
	assert_int_equal(c->bufs[0].cfgs[0].r.etm3.idr, 0x411cf312);
	assert_int_equal(c->bufs[0].cfgs[0].trace_id, 19);
	assert_int_equal(c->bufs[0].cfgs[0].arch, 7);
	assert_int_equal(c->bufs[0].cfgs[0].cpu, 0);
	/* 25 MHz is 40 ns a tick */
	assert_int_equal(time_map_ns(&c->tsc, 1000), 40000);
}

/* 24 MHz: a tick is 41 2/3 ns, so times are between two whole ns; 3 MHz ticks are 333 1/3. */
static void odd_frequency(void **state)
{
	static const struct { const char *hz; uint64_t ticks, lo; } t[] = {
		{ "24000000", 1, 41 }, { "24000000", 1000, 41666 }, { "24000000", 3000, 125000 },
		{ "24000000", 24000000ull * 86400 * 365, 1000000000ull * 86400 * 365 },
		{ "3000000", 1, 333 }, { "3000000", 3000000, 1000000000 },
	};
	char text[512];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t lo, hi;

		snprintf(text, sizeof(text),
			 "=== snapshot.ini\n[snapshot]\nversion=1\n[device_list]\na=a.ini\n"
			 "b=b.ini\n[trace]\nmetadata=t.ini\n=== t.ini\n[trace_buffers]\n"
			 "buffers=b0\n[b0]\nname=ETB\nfile=t.bin\nformat=source_data\n"
			 "[source_buffers]\nPTM_0=ETB\n[core_trace_sources]\nCPU_0=PTM_0\n"
			 "[timestamp]\nfrequency=%s\n=== a.ini\n[device]\nname=CPU_0\n"
			 "class=core\ntype=Cortex-A15\n=== b.ini\n[device]\nname=PTM_0\n"
			 "class=trace_source\ntype=PFT1.1\n[regs]\nETMCR=0\n"
			 "ETMTRACEIDR=19\nETMCCER=0\nETMIDR=0\n=== t.bin\nx", t[i].hz);
		assert_int_equal(read_text(text), 0);
		assert_true(time_map_valid(&c->tsc));
		lo = time_map_ns_ordered(&c->tsc, t[i].ticks);
		hi = time_fit_late(c->tsc.fit, lo);
		/* the rate has 40 bits of fraction: less than 1 us in a year */
		assert_true(lo <= t[i].lo && hi >= t[i].lo);
		assert_true(t[i].lo - lo <= (t[i].ticks > 1ull << 40 ? 1000 : 1));
		capture_free(c);
		c = NULL;
	}
}

/* sessions: one core, two sources, a buffer each; a source in two buffers; a buffer of two files */
static void sessions(void **state)
{
	assert_int_equal(read_text(
		"=== snapshot.ini\n[device_list]\na=c7.ini\nb=c1.ini\nc=e1.ini\nd=e2.ini\n"
		"[trace]\nmetadata=trace.ini\n"
		"=== trace.ini\n[trace_buffers]\nbuffers=second, first\n"
		"[first]\nname=B1\nfile=1.bin\nformat=source_data\n"
		"[second]\nname=B2\nfile=2.bin,1.bin\nformat=dstream_coresight\n"
		"[source_buffers]\ns1=B1,B2\ns2=B2\n"
		"[core_trace_sources]\ncpu_7=s1\ncpu_7=s2\n"
		"=== c7.ini\n[device]\nname=cpu_7\nclass=core\ntype=ARM-AA64\n"
		"=== c1.ini\n[device]\nname=big\nclass=core\ntype=ARM-AA64\n"
		"=== e1.ini\n[device]\nname=s1\nclass=trace_source\ntype=ETE\n[regs]\n"
		"TRCCONFIGR=1\nTRCTRACEIDR=2\nTRCIDR0=0\nTRCIDR1=0\nTRCIDR2=0\nTRCDEVARCH=5\n"
		"=== e2.ini\n[device]\nname=s2\nclass=trace_source\ntype=ETE\n[regs]\n"
		"TRCCONFIGR=1\nTRCTRACEIDR=3\nTRCIDR0=0\nTRCIDR1=0\nTRCIDR2=0\nTRCDEVARCH=6\n"
		"=== 1.bin\nabc=== 2.bin\ndefg"), 0);
	/* "=== 2.bin" above is not at the start of a line: 2.bin is missing */
	assert_int_equal(note(62)->severity, HWT_NOTE_CUT);
	assert_int_equal(c->nbufs, 2);
	assert_string_equal(c->bufs[0].name, "B2");
	assert_int_equal(c->bufs[0].framing, FRAMING_TPIU);
	assert_int_equal(c->bufs[0].ncfgs, 2);
	assert_int_equal(c->bufs[0].cfgs[1].cpu, 7);
	assert_int_equal(c->bufs[0].cfgs[1].r.etm4.devarch, 6);
	assert_int_equal(c->bufs[0].nspans, 1);
	assert_int_equal(c->bufs[1].ncfgs, 1);
	assert_string_equal(c->bufs[1].cfgs[0].name, "s1");
	assert_int_equal(c->bufs[1].spans[0].size, 17);
}

static void two_files(void **state)
{
	assert_int_equal(read_text(
		"=== snapshot.ini\n[device_list]\nd1=cpu.ini\nd2=etm.ini\n[trace]\nmetadata=t.ini\n"
		"=== t.ini\n[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=1.bin,2.bin\n"
		"format=coresight\n[source_buffers]\nETM_0=B\n[core_trace_sources]\ncpu_0=ETM_0\n"
		"=== 1.bin\nabc\n=== 2.bin\ndefgh\n" ETM CPU), 0);
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(c->bufs[0].nspans, 2);
	assert_int_equal(c->bufs[0].spans[0].pos, 0);
	assert_int_equal(c->bufs[0].spans[1].pos, 4);
	assert_memory_equal(c->bufs[0].spans[1].p, "defgh\n", 6);
}

static void dumps(void **state)
{
	struct hwt_map m;

	/* m.bin has 16 bytes */
	assert_int_equal(read_text(TRACE ETM CPU
		"[dump]\nfile=m.bin\naddress=0x1000\nlength=8\noffset=4\nspace=EL1N\n"
		"[Dump.text]\naddress=8192\nfile='m.bin'\nspace=\"S\"\n"
		"[dump3]\nfile=m.bin\naddress=0x3000\nlength=0xffffffffffffffff\n"
		"[dump4]\nfile=m.bin\naddress=0x4000\noffset=16\n"
		"[dump5]\nfile=m.bin\naddress=0xfffffffffffffff8\n"
		"[dump6]\nfile=m.bin\n[dump7]\naddress=1\n[dump8]\nfile=m.bin\naddress=1x\n"
		"[dump9]\nfile=none.bin\naddress=1\n"
		"[dump10]\nfile=m.bin\naddress=0x5000\nspace=moon\ncolour=red\n"
		"=== m.bin\n0123456789abcde\n"), 0);
	assert_true(hwt_image_map_at(c->image, 0, &m));
	assert_true(m.addr == 0x1000 && m.size == 8 && m.file_off == 4 && m.raw);
	assert_int_equal(m.space, HWT_SPACE_EL1N);
	assert_int_equal(m.pid, HWT_NONE);
	assert_true(hwt_image_map_at(c->image, 1, &m));
	assert_true(m.addr == 0x2000 && m.size == 16 && m.file_off == 0);
	assert_int_equal(m.space, HWT_SPACE_EL1S | HWT_SPACE_EL2S | HWT_SPACE_EL3);
	assert_true(hwt_image_map_at(c->image, 2, &m));
	assert_true(m.addr == 0x3000 && m.size == 16);
	assert_true(hwt_image_map_at(c->image, 3, &m));
	assert_true(m.addr == 0x5000 && m.size == 16 && m.space == 0);
	assert_false(hwt_image_map_at(c->image, 4, &m));
	note(62);
	note(61);
	for (uint32_t i = 0, bad = 0, cut = 0; i <= c->notes.n; i++) {
		if (i == c->notes.n) {
			assert_int_equal(bad, 6);
			assert_int_equal(cut, 2);
		} else if (c->notes.v[i].diag.id == 69) {
			bad++;
			cut += c->notes.v[i].severity == HWT_NOTE_CUT;
			assert_string_equal(c->notes.v[i].diag.file, "cpu.ini");
			assert_true(c->notes.v[i].diag.off != HWT_NO_OFF);
		}
	}
}

static void registers(void **state)
{
	assert_int_equal(read_text(TRACE CPU
		"=== etm.ini\n[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4\n[regs]\n"
		"TRCCONFIGR=0x100000001\nTRCTRACEIDR=ten\nTRCIDR0=1\nTRCIDR0=2\nTRCIDR1=-1\n"), 0);
	assert_int_equal(c->bufs[0].cfgs[0].r.etm4.idr0, 2);
	assert_non_null(strstr(note(64)->diag.text, "line 9: TRCIDR0"));
	assert_non_null(strstr(note(70)->diag.text, "TRCTRACEIDR TRCIDR1 TRCIDR2"));
	assert_non_null(strstr(note(68)->diag.text, "0x00"));
	assert_int_equal(c->notes.v[1].diag.id, 63);
	assert_string_equal(c->notes.v[1].diag.file, "etm.ini");
	assert_non_null(strstr(c->notes.v[1].diag.text, "line 7: TRCTRACEIDR"));
}

static void links(void **state)
{
	assert_int_equal(read_text(
		"=== snapshot.ini\n[snapshot]\nversion=7\n[device_list]\n1=none.ini\n2=etm.ini\n"
		"3=etm.ini\n[trace]\nmetadata=t.ini\n"
		"=== t.ini\n[trace_buffers]\nbuffers=b,ghost\n[b]\nname=B\nfile=x.bin\n"
		"format=strange\n[source_buffers]\nETM_0=B\nETM_9=B\n[core_trace_sources]\n"
		"Cortex-M55_0=ETM_0\n"
		"=== x.bin\nx\n" ETM), 0);
	note(62);
	note(64);
	note(63);
	assert_non_null(strstr(note(67)->diag.text, "strange"));
	assert_int_equal(c->bufs[0].cfgs[0].arch, 8);
	assert_int_equal(c->bufs[0].cfgs[0].profile, 'M');
	assert_string_equal(c->bufs[0].cfgs[0].core, "Cortex-M55");
	assert_int_equal(c->bufs[0].cfgs[0].cpu, HWT_NONE);
}

static void nothing(void **state)
{
	static const char *const text[] = { "", "=== snapshot.ini\n", "=== trace.ini\n[x]\n",
		"=== snapshot.ini\n[device_list]\n1=snapshot.ini\n[trace]\nmetadata=snapshot.ini\n",
		("=== snapshot.ini\n[trace]\nmetadata=t.ini\n=== t.ini\n[trace_buffers]\n"
		 "buffers=b\n[b]\nfile=e\n=== e\n") };

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		assert_int_equal(read_text(text[i]), -HWT_E_FORMAT);
		assert_int_equal(diag.id, 60);
		clean(NULL);
	}
}

/* DS-5: the list may have another name, and the devices none */
static void without_snapshot_ini(void **state)
{
	assert_int_equal(read_text(
		"=== contents.ini\n[trace]\nmetadata=trace.ini\nbuffer0=t.bin\n"
		"=== trace.ini\n[trace_buffers]\nbuffers=b0\n[b0]\nname=D\nfile=t.bin\n"
		"format=dstream_coresight\n[source_buffers]\nETM_0=D\n[core_trace_sources]\n"
		"cpu_0=ETM_0\n=== t.bin\nxyz\n" ETM CPU), 0);
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(c->bufs[0].ncfgs, 1);
	assert_int_equal(c->bufs[0].cfgs[0].cpu, 0);
}

/* from the technical reference manuals of the products and the names of the architectures */
static void cores(void **state)
{
	static const struct { const char *name; uint8_t arch; char profile; } t[] = {
		{ "Cortex-A5", 7, 'A' }, { "cortex-a7", 7, 'A' }, { "Cortex-A53", 8, 'A' },
		{ "Cortex-A72", 8, 'A' }, { "Cortex-A15", 7, 'A' }, { "Cortex-A520", 8, 'A' },
		{ "Cortex-X4", 8, 'A' }, { "Neoverse-N1", 8, 'A' }, { "Cortex-R5F", 7, 'R' },
		{ "Cortex-R52", 8, 'R' }, { "Cortex-R52+", 8, 'R' }, { "Cortex-M4", 7, 'M' },
		{ "Cortex-M33", 8, 'M' }, { "Cortex-M55", 8, 'M' }, { "ARMv7-A", 7, 'A' },
		{ "ARMv7-M", 7, 'M' }, { "ARMv8-A", 8, 'A' }, { "ARMv8.1M", 8, 'M' },
		{ "ARMv8.3-A", 8, 'A' }, { "ARMv9-A", 8, 'A' }, { "ARMv8-R", 8, 'R' },
		{ "ARM-AA64", 8, 'A' }, { "", 0, 0 }, { "Cortex-M9", 0, 0 }, { "ARMv6", 0, 0 },
		{ "ARM1136", 0, 0 }, { "Cortex", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint8_t arch = 0, profile = 0;
		bool known = cs_core(t[i].name, &arch, &profile);

		if (known != (t[i].arch != 0) || (known && (arch != t[i].arch ||
		    profile != t[i].profile)))
			fail_msg("%s: %u-%c", t[i].name, arch, profile);
	}
}

static void unknown_core(void **state)
{
	assert_int_equal(read_text(TRACE ETM
		"=== cpu.ini\n[device]\nname=cpu_0\nclass=core\ntype=Banana\n"), 0);
	assert_non_null(strstr(note(66)->diag.text, "Banana"));
	assert_int_equal(c->bufs[0].cfgs[0].arch, 8);
}

/* a description that is cut anywhere is read as far as it goes */
static void cuts(void **state)
{
	static const char text[] = TRACE ETM CPU "[dump]\nfile=t.bin\naddress=0x1000\nlength=4\n";

	for (size_t n = 0; n < sizeof(text); n++) {
		char *p = malloc(n + 1);
		int rc;

		assert_non_null(p);
		memcpy(p, text, n);
		vdir_init(&vd, p, n);
		assert_int_equal(capture_new(&c), 0);
		rc = snapshot_read(c, &vd.dir, NULL);
		assert_true(rc == 0 || rc == -HWT_E_FORMAT);
		clean(NULL);
		free(p);
	}
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test_teardown(plain, clean),
		cmocka_unit_test_teardown(spelling, clean),
		cmocka_unit_test_teardown(odd_frequency, clean),
		cmocka_unit_test_teardown(sessions, clean),
		cmocka_unit_test_teardown(two_files, clean),
		cmocka_unit_test_teardown(dumps, clean),
		cmocka_unit_test_teardown(registers, clean),
		cmocka_unit_test_teardown(links, clean),
		cmocka_unit_test_teardown(nothing, clean),
		cmocka_unit_test_teardown(without_snapshot_ini, clean),
		cmocka_unit_test_teardown(cores, clean),
		cmocka_unit_test_teardown(unknown_core, clean),
		cmocka_unit_test_teardown(cuts, clean),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
