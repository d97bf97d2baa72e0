/* SPDX-License-Identifier: BSD-2-Clause */
#include "cs_unit.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "../image/image.h"

unsigned cs_proto(const char *type)
{
	static const struct { const char *prefix; uint8_t proto; } t[] = {
		{ "ETMv3", HWT_PROTO_ETM3 }, { "ETM3", HWT_PROTO_ETM3 },
		{ "ETMv4", HWT_PROTO_ETM4 }, { "ETM4", HWT_PROTO_ETM4 },
		{ "PTM", HWT_PROTO_PTM }, { "PFT", HWT_PROTO_PTM },
		{ "ETE", HWT_PROTO_ETE }, { "STM", HWT_PROTO_STM }, { "ITM", HWT_PROTO_ITM },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (!strncasecmp(type, t[i].prefix, strlen(t[i].prefix)))
			return t[i].proto;
	return HWT_PROTO_NONE;
}

struct core { const char *name; uint8_t arch; char profile; };

/*
 * The longest name that @name begins with counts. Numbers end where digits end, so that A7 is not
 * the start of A72. Source: the products' technical reference manuals, section "Compliance".
 */
static const struct core cores[] = {
	{ "Cortex-A5", 7, 'A' }, { "Cortex-A7", 7, 'A' }, { "Cortex-A8", 7, 'A' },
	{ "Cortex-A9", 7, 'A' }, { "Cortex-A12", 7, 'A' }, { "Cortex-A15", 7, 'A' },
	{ "Cortex-A17", 7, 'A' }, { "Cortex-A", 8, 'A' }, { "Cortex-X", 8, 'A' },
	{ "Neoverse", 8, 'A' }, { "C1-", 8, 'A' },
	{ "Cortex-R4", 7, 'R' }, { "Cortex-R5", 7, 'R' }, { "Cortex-R7", 7, 'R' },
	{ "Cortex-R8", 7, 'R' }, { "Cortex-R52", 8, 'R' }, { "Cortex-R82", 8, 'R' },
	{ "Cortex-M3", 7, 'M' }, { "Cortex-M4", 7, 'M' }, { "Cortex-M7", 7, 'M' },
	{ "Cortex-M23", 8, 'M' }, { "Cortex-M33", 8, 'M' }, { "Cortex-M35P", 8, 'M' },
	{ "Cortex-M52", 8, 'M' }, { "Cortex-M55", 8, 'M' }, { "Cortex-M85", 8, 'M' },
	{ "STAR", 8, 'M' }, { "ARM-AA64", 8, 'A' }, { "AArch64", 8, 'A' },
	{ "Denver", 8, 'A' }, { "Carmel", 8, 'A' }, { "Kryo", 8, 'A' }, { "Oryon", 8, 'A' },
	{ "A64FX", 8, 'A' },
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "ARMv7-A", "ARMv8.1M", "v8-R", "ARMv9A" */
static bool arch_name(const char *s, uint8_t *arch, uint8_t *profile)
{
	int n = 0;

	if (!strncasecmp(s, "ARM", 3))
		s += 3;
	if ((*s | 32) != 'v')
		return false;
	for (s++; digit(*s) && n < 100; s++)
		n = n * 10 + (*s - '0');
	while (*s == '.' || *s == '-' || digit(*s))
		s++;
	if (n < 7)
		return false;
	*arch = n == 7 ? 7 : 8;
	*profile = strchr("ARM", *s & ~32) && *s ? (uint8_t)(*s & ~32) : 'A';
	return true;
}

bool cs_core(const char *name, uint8_t *arch, uint8_t *profile)
{
	const struct core *best = NULL;
	size_t len = 0;

	if (arch_name(name, arch, profile))
		return true;
	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		size_t n = strlen(cores[i].name);

		if (n <= len || strncasecmp(name, cores[i].name, n) ||
		    (digit(cores[i].name[n - 1]) && digit(name[n])))
			continue;
		best = &cores[i];
		len = n;
	}
	if (!best)
		return false;
	*arch = best->arch;
	*profile = (uint8_t)best->profile;
	return true;
}

void cs_set_core(struct trace_cfg *cfg, const char *core, struct notes *ns, const char *file,
		 uint64_t off)
{
	cfg->core = core;
	if (cfg->proto == HWT_PROTO_STM || cfg->proto == HWT_PROTO_ITM)
		return;
	if (cs_core(core, &cfg->arch, &cfg->profile))
		return;
	cfg->arch = cfg->proto == HWT_PROTO_ETM3 || cfg->proto == HWT_PROTO_PTM ? 7 : 8;
	cfg->profile = 'A';
	notes_add(ns, HWT_NOTE_WARN, 66, file, off, "%s: core %s%s, taken as ARMv%u-A",
		  cfg->name ? cfg->name : "trace unit", *core ? core : "not named",
		  *core ? " is not known" : "", cfg->arch);
}

#define AT(member) offsetof(struct trace_cfg, r.member)
#define ETM34 (1u << HWT_PROTO_ETM3 | 1u << HWT_PROTO_PTM)
#define ETE (1u << HWT_PROTO_ETE)
#define ETM4 (1u << HWT_PROTO_ETM4 | ETE)
#define STM (1u << HWT_PROTO_STM)
#define ITM (1u << HWT_PROTO_ITM)

static const struct {
	const char *name;
	uint8_t protos, need;	/* bits of protocols that have it, and cannot do without it */
	uint16_t at;
} regs[] = {
	{ "ETMCR", ETM34, ETM34, AT(etm3.cr) }, { "ETMTRACEIDR", ETM34, ETM34, AT(etm3.trcidr) },
	{ "ETMCCER", ETM34, ETM34, AT(etm3.ccer) }, { "ETMIDR", ETM34, ETM34, AT(etm3.idr) },
	{ "TRCCONFIGR", ETM4, ETM4, AT(etm4.configr) },
	{ "TRCTRACEIDR", ETM4, ETM4, AT(etm4.traceidr) },
	{ "TRCIDR0", ETM4, ETM4, AT(etm4.idr0) }, { "TRCIDR1", ETM4, ETM4, AT(etm4.idr1) },
	{ "TRCIDR2", ETM4, ETM4, AT(etm4.idr2) }, { "TRCIDR8", ETM4, 0, AT(etm4.idr8) },
	{ "TRCIDR9", ETM4, 0, AT(etm4.idr9) }, { "TRCIDR10", ETM4, 0, AT(etm4.idr10) },
	{ "TRCIDR11", ETM4, 0, AT(etm4.idr11) }, { "TRCIDR12", ETM4, 0, AT(etm4.idr12) },
	{ "TRCIDR13", ETM4, 0, AT(etm4.idr13) }, { "TRCDEVARCH", ETM4, ETE, AT(etm4.devarch) },
	{ "STMTCSR", STM, STM, AT(stm.tcsr) }, { "STMFEAT3R", STM, 0, AT(stm.feat3r) },
	{ "STMDEVID", STM, 0, AT(stm.devid) }, { "ITMTCR", ITM, ITM, AT(itm.tcr) },
	{ "ITM_TCR", ITM, 0, AT(itm.tcr) },
};
#define NREGS (sizeof(regs) / sizeof(regs[0]))
_Static_assert(NREGS <= 32, "cs_reg() returns one bit a register");

uint32_t cs_reg(struct trace_cfg *cfg, const char *name, uint64_t value)
{
	size_t n = strcspn(name, "( \t");
	uint32_t v = (uint32_t)value;

	for (unsigned i = 0; i < NREGS; i++) {
		if (strlen(regs[i].name) != n || strncasecmp(regs[i].name, name, n) ||
		    !(regs[i].protos >> cfg->proto & 1))
			continue;
		memcpy((char *)cfg + regs[i].at, &v, sizeof(v));
		return 1u << i;
	}
	return 0;
}

uint32_t cs_reg_trace_id(const struct trace_cfg *cfg)
{
	uint32_t seen = 0;

	for (unsigned i = 0; i < NREGS; i++)
		if ((regs[i].protos >> cfg->proto & 1) && (regs[i].at == AT(etm3.trcidr) ||
							  regs[i].at == AT(etm4.traceidr)))
			seen |= 1u << i;
	return seen;
}

static bool given(uint32_t seen, size_t at)
{
	for (unsigned i = 0; i < NREGS; i++)
		if (regs[i].at == at && (seen >> i & 1))
			return true;
	return false;
}

void cs_finish(struct trace_cfg *cfg, uint32_t seen, struct notes *ns, const char *file)
{
	char list[160] = "";
	size_t n = 0;

	for (unsigned i = 0; i < NREGS; i++) {
		if (!(regs[i].need >> cfg->proto & 1) || given(seen, regs[i].at) ||
		    n + strlen(regs[i].name) + 2 > sizeof(list))
			continue;
		n = (size_t)(stpcpy(stpcpy(list + n, n ? " " : ""), regs[i].name) - list);
	}
	if (n)
		notes_add(ns, HWT_NOTE_WARN, 70, file, HWT_NO_OFF,
			  "%s: not given, taken as zero: %s", cfg->name, list);
	switch (cfg->proto) {
	case HWT_PROTO_ETM3:
	case HWT_PROTO_PTM:
		cfg->trace_id = cfg->r.etm3.trcidr & 0x7f;
		break;
	case HWT_PROTO_ETM4:
	case HWT_PROTO_ETE:
		cfg->trace_id = cfg->r.etm4.traceidr & 0x7f;
		break;
	case HWT_PROTO_STM:	/* STM-500 TRM, STMTCSR.TRACEID; 65536 channels, 128 masters */
		cfg->trace_id = cfg->r.stm.tcsr >> 16 & 0x7f;
		if (!given(seen, AT(stm.feat3r)))
			cfg->r.stm.feat3r = 0x7f;
		if (!given(seen, AT(stm.devid)))
			cfg->r.stm.devid = 0x10000;
		break;
	case HWT_PROTO_ITM:	/* ARMv7-M ARM, ITM_TCR.TraceBusID */
		cfg->trace_id = cfg->r.itm.tcr >> 16 & 0x7f;
		break;
	}
}

bool cs_space(const char *name, uint32_t *space)
{
	static const struct { const char *name; uint32_t space; } t[] = {
		{ "", 0 }, { "any", 0 },
		{ "EL1S", HWT_SPACE_EL1S }, { "EL0S", HWT_SPACE_EL1S },
		{ "EL1N", HWT_SPACE_EL1N }, { "EL0N", HWT_SPACE_EL1N },
		{ "EL1NS", HWT_SPACE_EL1N }, { "EL0NS", HWT_SPACE_EL1N },
		{ "EL2", HWT_SPACE_EL2 }, { "EL2N", HWT_SPACE_EL2 }, { "EL2NS", HWT_SPACE_EL2 },
		{ "H", HWT_SPACE_EL2 }, { "HYP", HWT_SPACE_EL2 },
		{ "EL2S", HWT_SPACE_EL2S }, { "EL3", HWT_SPACE_EL3 },
		{ "S", HWT_SPACE_EL1S | HWT_SPACE_EL2S | HWT_SPACE_EL3 },
		{ "N", HWT_SPACE_EL1N | HWT_SPACE_EL2 },
		{ "NS", HWT_SPACE_EL1N | HWT_SPACE_EL2 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (strcasecmp(name, t[i].name))
			continue;
		*space = t[i].space;
		return true;
	}
	return false;
}

int cs_add_dump(struct capture *c, const struct cs_dump *d)
{
	struct hwt_map m = { .addr = d->addr, .file_off = d->offset, .size = d->size,
		.path = d->path, .space = d->space, .pid = HWT_NONE, .raw = 1 };
	uint64_t left, end;
	int rc;

	if (d->offset >= d->file_size) {
		notes_add(&c->notes, HWT_NOTE_CUT, 69, d->ini, d->ini_off,
			  "dump at 0x%llx starts past the end of its file (%llu of %llu bytes)",
			  (unsigned long long)d->addr, (unsigned long long)d->offset,
			  (unsigned long long)d->file_size);
		return 0;
	}
	left = d->file_size - d->offset;
	if (!m.size)
		m.size = left;
	if (m.size > left) {
		notes_add(&c->notes, HWT_NOTE_CUT, 69, d->ini, d->ini_off,
			  "dump at 0x%llx has %llu bytes where %llu are declared",
			  (unsigned long long)d->addr, (unsigned long long)left,
			  (unsigned long long)m.size);
		m.size = left;
	}
	if (__builtin_add_overflow(m.addr, m.size, &end)) {
		notes_add(&c->notes, HWT_NOTE_WARN, 69, d->ini, d->ini_off,
			  "dump at 0x%llx with %llu bytes runs past the last address",
			  (unsigned long long)d->addr, (unsigned long long)m.size);
		return 0;
	}
	rc = image_add_map(c->image, &m);
	if (rc && rc != -ENOMEM) {
		notes_add(&c->notes, HWT_NOTE_WARN, 69, d->ini, d->ini_off,
			  "dump at 0x%llx can not be used: %s", (unsigned long long)d->addr,
			  hwt_strerror(rc));
		rc = 0;
	}
	return rc;
}

void cs_check_buf(struct capture *c, struct trace_buf *b, const char *file)
{
	uint8_t seen[128] = { 0 };

	b->cpu = b->ncfgs == 1 ? b->cfgs[0].cpu : HWT_NONE;
	b->pid = b->tid = HWT_NONE;
	for (size_t i = 0; i < b->ncfgs; i++) {
		const struct trace_cfg *g = &b->cfgs[i];

		if (b->framing == FRAMING_NONE)
			continue;
		/* CoreSight Architecture Specification, "ATB trace ID": 0 and 0x70.. are not
		 * for sources */
		if (!g->trace_id || g->trace_id >= 0x70)
			notes_add(&c->notes, HWT_NOTE_WARN, 68, file, HWT_NO_OFF,
				  "%s: trace id 0x%02x can not be in a formatted buffer",
				  g->name, g->trace_id);
		else if (seen[g->trace_id]++)
			notes_add(&c->notes, HWT_NOTE_WARN, 68, file, HWT_NO_OFF,
				  "%s: trace id 0x%02x is used twice in %s", g->name,
				  g->trace_id, b->name);
	}
	if (b->framing == FRAMING_NONE && b->ncfgs > 1)
		notes_add(&c->notes, HWT_NOTE_WARN, 68, file, HWT_NO_OFF,
			  "%s: unformatted trace holds one source, %zu are named: %s is used",
			  b->name, b->ncfgs, b->cfgs[0].name);
}
