/* SPDX-License-Identifier: BSD-2-Clause */
/* Listings of other tools, line by line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opinion.h"

#define PERF_OVERFLOW	7	/* perf's number for "Overflow packet" of Intel PT */

static int done(struct peer *p, FILE *f, const char *cmd)
{
	int rc = pclose(f);

	if (rc)
		peer_wrong(p, "exit %d of %s", rc, cmd);
	return 0;
}

/* Of "perf script --itrace=...e -F tid,ip": samples and, among them, errors. */
int listing_perf(struct peer *p, const char *cmd, unsigned isa)
{
	FILE *f = popen(cmd, "r");
	char line[1024];

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		const char *error = strstr(line, "instruction trace error"), *s;
		uint64_t ip;
		int tid, code;

		if (error) {
			s = strstr(error, " tid ");
			tid = s ? atoi(s + 5) : 0;
			s = strstr(error, " code ");
			code = s ? atoi(s + 6) : 0;
			if (code == PERF_OVERFLOW)
				peer_gap(p, (size_t)(tid - FIRST_TID));
			else
				peer_wrong(p, "%s", error);
		} else if (sscanf(line, " %d %" SCNx64, &tid, &ip) == 2) {
			/* trace in frames is that of one thread, whose number is perf's choice */
			size_t i = p->n == 1 ? 0 : (size_t)(tid - FIRST_TID);

			peer_range(p, i, ip, ip, 1, isa);
		} else if (line[strspn(line, " \n")]) {
			peer_wrong(p, "a line that is none: %s", line);
		}
	}
	return done(p, f, cmd);
}

static unsigned isa_named(const char *s, size_t n)
{
	static const struct { const char *name; uint8_t isa; } t[] = {
		{ "A64", HWT_ISA_A64 }, { "A32", HWT_ISA_A32 }, { "T32", HWT_ISA_T32 },
		{ "a64", HWT_ISA_A64 }, { "a32", HWT_ISA_A32 }, { "t32", HWT_ISA_T32 },
		{ "x86-64", HWT_ISA_X86_64 }
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (strlen(t[i].name) == n && !memcmp(t[i].name, s, n))
			return t[i].isa;
	}
	return HWT_ISA_UNKNOWN;
}

static void ocsd_line(struct peer *p, const char *line, size_t only, bool framed)
{
	const char *s = strstr(line, "ID:"), *e = strstr(line, "OCSD_GEN_TRC_ELEM_");
	unsigned long id = s ? strtoul(s + 3, NULL, 16) : 0;
	size_t thread = framed ? id - FIRST_ID : only;
	uint64_t first, end;
	unsigned n, size;
	char isa[8];

	if (!e)
		return;
	e += strlen("OCSD_GEN_TRC_ELEM_");
	/* one for each overflow packet; TRACE_ON comes when an address follows */
	if (!strncmp(e, "NO_SYNC", 7)) {
		if (strstr(e, "overflow"))
			peer_gap(p, thread);
		return;
	}
	if (strncmp(e, "INSTR_RANGE", 11)) {
		if (!strncmp(e, "ADDR_NACC", 9))
			peer_wrong(p, "no code: %s", e);
		return;
	}
	if (sscanf(e, "INSTR_RANGE(exec range=0x%" SCNx64 ":[0x%" SCNx64 "] num_i(%u) last_sz(%u) "
		   "(ISA=%7[A-Z0-9])", &first, &end, &n, &size, isa) == 5)
		peer_range(p, thread, first, end - size, n, isa_named(isa, strlen(isa)));
	else
		peer_wrong(p, "a range that is none: %s", e);
}

/* Of "trc_pkt_lister -decode_only -logstdout". Of thread @only, or by trace id if @framed. */
int listing_ocsd(struct peer *p, const char *cmd, size_t only, bool framed)
{
	FILE *f = popen(cmd, "r");
	char line[4096];

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, "fatal error") || strstr(line, "OCSD_ERR"))
			peer_wrong(p, "%s", line);
		ocsd_line(p, line, only, framed);
	}
	return done(p, f, cmd);
}

static const char *member(const char *line, const char *key)
{
	const char *s = strstr(line, key);

	return s ? s + strlen(key) : "";
}

/* Of "hwtrace list --jsonl". */
int listing_own(struct peer *p, const char *cmd)
{
	FILE *f = popen(cmd, "r");
	char line[4096];

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		size_t thread = (size_t)strtoul(member(line, "\"trace_id\":"), NULL, 10) - FIRST_ID;
		const char *isa = member(line, "\"isa\":\"");
		uint64_t addr;

		if (!strncmp(line, "{\"type\":\"gap\"", 13)) {
			peer_gap(p, thread);
		} else if (!strncmp(line, "{\"type\":\"insn\"", 14)) {
			addr = strtoull(member(line, "\"addr\":\""), NULL, 16);
			peer_range(p, thread, addr, addr, 1, isa_named(isa, strcspn(isa, "\"")));
		}
	}
	return done(p, f, cmd);
}
