/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Truth: the fixtures of fixtures/packets/pt, whose meaning is assembled by hand from the manual,
 * and listings that ptdump made of captures of real hardware.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "decoders/flow/flow.h"
#include "tests/support/fixture.h"
#include "tests/support/slurp.h"

static struct hwt_packets *open_buf(const struct trace_buf *b)
{
	struct flow_args a = { .buf = b };
	struct hwt_packets *ps = NULL;

	assert_int_equal(packets_pt_new(&ps, &a, NULL), 0);
	assert_non_null(ps);
	return ps;
}

/*
 * Packets of @n bytes: all bytes once, in order; the first @rows are those of @f. Returns how many
 * packets.
 */
static size_t account(const uint8_t *p, size_t n, const struct fixture *f, size_t rows)
{
	struct trace_span s = { .p = p, .size = n, .pos = 0x10000 };
	struct trace_buf b = { .spans = &s, .nspans = 1 };
	struct hwt_packets *ps = open_buf(&b);
	struct hwt_packet k;
	size_t count = 0;
	uint64_t off = s.pos;

	while (ps->next(ps, &k) == 1) {
		assert_int_equal(k.off, off);
		if (count < rows) {
			assert_int_equal(k.size, f->rows[count].n);
			assert_string_equal(k.name, f->rows[count].name);
		}
		assert_true(k.size > 0 && k.size <= s.pos + n - off);
		assert_int_equal(k.raw_size, k.size < 32 ? k.size : 32);
		assert_memory_equal(k.raw, p + (off - s.pos), k.raw_size);
		assert_int_equal(k.proto, HWT_PROTO_PT);
		assert_int_equal(k.hole, strcmp(k.name, "ovf") ? HWT_GAP_NONE : HWT_GAP_OVERFLOW);
		off += k.size;
		count++;
	}
	assert_int_equal(off, s.pos + n);
	assert_int_equal(ps->next(ps, &k), 0);
	ps->close(ps);
	return count;
}

static void set_cpu(struct trace_cfg *cfg, const struct fixture *f)
{
	const char *cpu = fixture_value(f, "cpu"), *mtc = fixture_value(f, "mtc");
	unsigned family, model, freq;

	cfg->proto = HWT_PROTO_PT;
	if (mtc) {
		assert_int_equal(sscanf(mtc, "%u/%u/%u", &freq, &cfg->r.pt.cpuid_15_eax,
					&cfg->r.pt.cpuid_15_ebx), 3);
		cfg->r.pt.mtc_freq = (uint8_t)freq;
	}
	if (!cpu)
		return;
	assert_int_equal(sscanf(cpu, "%u/%u", &family, &model), 2);
	cfg->r.pt.family = (uint16_t)family;
	cfg->r.pt.model = (uint8_t)model;
}

static void check_fixture(const struct fixture *f)
{
	struct trace_cfg cfg = { 0 };
	struct trace_span s = { .p = f->bytes, .size = f->size };
	struct trace_buf b = { .spans = &s, .nspans = 1, .cfgs = &cfg, .ncfgs = 1 };
	struct hwt_packets *ps = open_buf(&b);
	struct hwt_packet k;

	set_cpu(&cfg, f);
	ps->close(ps);
	ps = open_buf(&b);
	for (size_t i = 0; i < f->nrows; i++) {
		const struct fixture_row *r = &f->rows[i];

		if (ps->next(ps, &k) != 1)
			fail_msg("%s:%u: no packet", f->path, r->line);
		if (k.off != r->off || k.size != r->n || strcmp(k.name, r->name) ||
		    strcmp(k.text, r->text) || k.bad != !strcmp(r->name, "bad"))
			fail_msg("%s:%u: got %" PRIu64 "+%u %s %s", f->path, r->line, k.off, k.size,
				 k.name, k.text);
	}
	assert_int_equal(ps->next(ps, &k), 0);
	ps->close(ps);
}

static struct fixture fixtures[64];
static int nfixtures;

static void all_fixtures(void **state)
{
	(void)state;
	for (int i = 0; i < nfixtures; i++)
		check_fixture(&fixtures[i]);
}

/* Each prefix ends at a page that has no page after it; it has the packets of the whole. */
static void every_prefix(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *m = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	(void)state;
	assert_true(m != MAP_FAILED);
	assert_int_equal(mprotect(m + page, page, PROT_NONE), 0);
	for (int i = 0; i < nfixtures; i++) {
		const struct fixture *f = &fixtures[i];

		if (f->nkeys)
			continue;
		for (size_t n = 1; n <= f->size && n <= page; n++) {
			uint8_t *p = m + page - n;
			size_t count, whole = 0;

			memcpy(p, f->bytes, n);
			while (whole < f->nrows && f->rows[whole].off + f->rows[whole].n <= n)
				whole++;
			/* damage ends at a whole PSB only */
			if (whole && whole < f->nrows && !strcmp(f->rows[whole - 1].name, "bad"))
				whole--;
			count = account(p, n, f, whole);
			assert_true(count == whole || count == whole + 1);
		}
	}
	assert_int_equal(munmap(m, 2 * page), 0);
}

/* Every byte made 00, ff, ^1 and ^80: bytes still add up, and what lies before it is the same. */
static void every_byte_damaged(void **state)
{
	(void)state;
	for (int i = 0; i < nfixtures; i++) {
		const struct fixture *f = &fixtures[i];
		uint8_t *p = malloc(f->size);

		assert_non_null(p);
		memcpy(p, f->bytes, f->size);
		for (size_t at = 0; at < f->size; at++) {
			uint8_t was = p[at];
			const uint8_t made[] = { 0, 0xff, was ^ 1, was ^ 0x80 };

			for (unsigned k = 0; k < 4; k++) {
				p[at] = made[k];
				assert_true(account(p, f->size, NULL, 0) > 0);
			}
			p[at] = was;
		}
		free(p);
	}
}

/* A span starts afresh: last ip and block are forgotten, bytes before its PSB are no packets. */
static void spans(void **state)
{
	static const uint8_t a[] = {
		2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
		0xcd, 0, 0x10, 0, 0x81, 0xff, 0xff, 0xff, 0xff, 0x02, 0x63, 0x04
	};
	static const uint8_t b[] = {
		0x04, 0x00,
		2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
		0x2d, 0x34, 0x12, 0x0c
	};
	static const struct { uint64_t off; const char *name, *text; } want[] = {
		{ 0x1000, "psb", "" },
		{ 0x1010, "tip", "6: ffffffff81001000 ip ffffffff81001000" },
		{ 0x1019, "bbp", "type 4, 8-byte items" },
		{ 0x9000, "bad", "(not synchronised)" },
		{ 0x9002, "psb", "" },
		{ 0x9012, "tip", "1: ????????????1234 ip 0000000000001234" },
		{ 0x9015, "tnt.8", "!." },
	};
	struct trace_span s[] = { { .p = a, .size = sizeof(a), .pos = 0x1000 }, { .pos = 0x5000 },
				  { .p = b, .size = sizeof(b), .pos = 0x9000 } };
	struct trace_buf buf = { .spans = s, .nspans = 3 };
	struct hwt_packets *ps = open_buf(&buf);
	struct hwt_packet k;

	(void)state;
	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(ps->next(ps, &k), 1);
		assert_int_equal(k.off, want[i].off);
		assert_string_equal(k.name, want[i].name);
		assert_string_equal(k.text, want[i].text);
	}
	assert_int_equal(ps->next(ps, &k), 0);
	ps->close(ps);
}

/* The words of @ours against those that ptdump wrote, with what it makes of MTC and TMA. */
static bool same_words(char *ours, char *theirs)
{
	char *so, *st, *o = strtok_r(ours, " ", &so), *t = strtok_r(theirs, " \n", &st);

	for (; o && t; o = strtok_r(NULL, " ", &so), t = strtok_r(NULL, " \n", &st))
		if (strcmp(o, t))
			return false;
	return !o && !t;
}

/* Good packets of @p are exactly those of the listing; the rest are bad ones. */
static void against_listing(const uint8_t *p, size_t n, const char *path)
{
	struct trace_span s = { .p = p, .size = n };
	struct trace_cfg cfg = { .proto = HWT_PROTO_PT };
	struct trace_buf b = { .spans = &s, .nspans = 1, .cfgs = &cfg, .ncfgs = 1 };
	struct hwt_packets *ps = open_buf(&b);
	gzFile in = gzopen(path, "rb");
	struct hwt_packet k;
	char line[256];
	unsigned count = 0;

	/* of the Skylake machine; the others send no MTC */
	cfg.r.pt.mtc_freq = 3;
	cfg.r.pt.cpuid_15_eax = 2;
	cfg.r.pt.cpuid_15_ebx = 100;
	if (!in)
		fail_msg("%s: can not read", path);
	while (gzgets(in, line, sizeof(line))) {
		char name[32] = "", copy[256];
		uint64_t off;
		int at = 0;

		if (sscanf(line, "%16" SCNx64 " %31s %n", &off, name, &at) < 2)
			continue;	/* its exit status */
		do {
			assert_int_equal(ps->next(ps, &k), 1);
		} while (k.bad || !strcmp(k.text, "(never written)"));
		snprintf(copy, sizeof(copy), "%s", k.text);
		if (k.off != off || strcmp(k.name, name) || !same_words(copy, line + at))
			fail_msg("%s: %s: got %" PRIx64 " %s %s", path, line, k.off, k.name,
				 k.text);
		count++;
	}
	assert_true(count > 0);
	while (ps->next(ps, &k) == 1)
		assert_int_equal(k.bad, 1);
	ps->close(ps);
	gzclose(in);
	account(p, n, NULL, 0);
	printf("# %u packets as in %s\n", count, strrchr(path, '/') + 1);
}

static const char *captures;

static void raw_captures(void **state)
{
	static const char *const names[][2] = {
		{ "pt/lldb-thread/in/3842849.trace", "pt/lldb-thread/expect.packets.txt.gz" },
		{ "pt/lldb-cpus/in/cores/45.intelpt_trace",
		  "pt/lldb-cpus/expect.cpu45.packets.txt.gz" },
		{ "pt/lldb-cpus/in/cores/51.intelpt_trace",
		  "pt/lldb-cpus/expect.cpu51.packets.txt.gz" },
	};
	char path[512];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		size_t n;
		uint8_t *p;

		snprintf(path, sizeof(path), "%s/%s", captures, names[i][0]);
		p = slurp(path, &n);
		snprintf(path, sizeof(path), "%s/%s", captures, names[i][1]);
		against_listing(p, n, path);
		free(p);
	}
}

static uint64_t u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The AUXTRACE payloads (record type 71) of one CPU of a perf.data file, one after the other. */
static uint8_t *aux_of(const uint8_t *p, size_t n, unsigned cpu, size_t *out)
{
	uint64_t at = u64(p + 40), end = at + u64(p + 48);
	uint8_t *aux = malloc(n);

	assert_non_null(aux);
	assert_true(end <= n);
	*out = 0;
	while (end - at >= 48) {
		uint32_t type = (uint32_t)u64(p + at);
		uint64_t size = u64(p + at) >> 48, payload = type == 71 ? u64(p + at + 8) : 0;

		assert_true(size >= 8 && size <= end - at && payload <= end - at - size);
		if (type == 71 && (uint32_t)u64(p + at + 40) == cpu) {
			memcpy(aux + *out, p + at + size, payload);
			*out += payload;
		}
		at += size + payload;
	}
	return aux;
}

static void perf_capture(void **state)
{
	char path[512];
	size_t n, size;
	uint8_t *p;

	(void)state;
	snprintf(path, sizeof(path), "%s/pt/skylake-kernel/in/perf.data", captures);
	p = slurp(path, &n);
	for (unsigned cpu = 0; cpu <= 3; cpu += 3) {
		uint8_t *aux = aux_of(p, n, cpu, &size);

		snprintf(path, sizeof(path), "%s/pt/skylake-kernel/expect.aux%u.packets.txt.gz",
			 captures, cpu);
		against_listing(aux, size, path);
		free(aux);
	}
	free(p);
}

int main(void)
{
	const struct CMUnitTest own[] = {
		cmocka_unit_test(all_fixtures),
		cmocka_unit_test(every_prefix),
		cmocka_unit_test(every_byte_damaged),
		cmocka_unit_test(spans),
	};
	const struct CMUnitTest foreign[] = {
		cmocka_unit_test(raw_captures),
		cmocka_unit_test(perf_capture),
	};
	char *paths[64];
	int failed, n = fixture_list("fixtures/packets/pt", ".txt", paths, 64);

	for (int i = 0; i < n; i++) {
		if (fixture_read(&fixtures[nfixtures++], paths[i]))
			return 1;
		free(paths[i]);
	}
	if (nfixtures < 40) {
		fprintf(stderr, "fixtures/packets/pt: only %d fixtures\n", nfixtures);
		return 1;
	}
	failed = cmocka_run_group_tests(own, NULL, NULL);
	captures = getenv("HWT_CAPTURES");
	if (!captures)
		captures = "../shared/captures";
	if (failed)
		return 1;
	if (access(captures, R_OK)) {
		printf("fixtures passed; no captures at %s\n", captures);
		return 77;
	}
	return cmocka_run_group_tests(foreign, NULL, NULL) ? 1 : 0;
}
