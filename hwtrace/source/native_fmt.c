/* SPDX-License-Identifier: BSD-2-Clause */
#include "native_fmt.h"

#include <stdio.h>
#include <string.h>

#include "../base/crc.h"

static void put(uint8_t **p, uint64_t v, unsigned n)
{
	for (; n; n--, v >>= 8)
		*(*p)++ = (uint8_t)v;
}

void native_entry_put(uint8_t out[NATIVE_ENTRY], const struct native_entry *e)
{
	uint8_t *p = out;

	put(&p, e->off, 8);
	put(&p, e->size, 8);
	put(&p, e->pos, 8);
	put(&p, e->time, 8);
	put(&p, e->lost, 8);
	put(&p, (uint32_t)e->pid, 4);
	put(&p, (uint32_t)e->tid, 4);
	put(&p, e->cause, 2);
	put(&p, e->flags, 2);
	put(&p, e->kind, 4);
	put(&p, e->crc, 4);
	put(&p, crc32c_add(0, out, NATIVE_ENTRY_CRC), 4);
}

bool native_entry_get(struct native_entry *e, struct cur *c)
{
	const uint8_t *raw = c->p;
	bool whole = cur_left(c) >= NATIVE_ENTRY;
	uint32_t kind;

	e->off = cur_u64(c);
	e->size = cur_u64(c);
	e->pos = cur_u64(c);
	e->time = cur_u64(c);
	e->lost = cur_u64(c);
	e->pid = (int32_t)cur_u32(c);
	e->tid = (int32_t)cur_u32(c);
	e->cause = cur_u16(c);
	e->flags = cur_u16(c);
	kind = cur_u32(c);
	e->kind = (uint8_t)kind;
	e->crc = cur_u32(c);
	return cur_u32(c) == (whole ? crc32c_add(0, raw, NATIVE_ENTRY_CRC) : 0) && !c->bad &&
		kind <= NATIVE_PAGES;
}

size_t native_escape(char *out, const char *s)
{
	size_t n = strnlen(s, NATIVE_VALUE), k = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t b = (uint8_t)s[i];

		if (b < 0x20 || b == 0x7f || strchr("%;#\"'", b) ||
		    (b == ' ' && (!i || i + 1 == n)))
			k += (size_t)sprintf(out + k, "%%%02X", b);
		else
			out[k++] = s[i];
	}
	out[k] = 0;
	return k;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 :
		c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void native_unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (*s == '%' && digit(s[1]) >= 0 && digit(s[2]) >= 0) {
			*to++ = (char)(digit(s[1]) << 4 | digit(s[2]));
			s += 3;
		} else {
			*to++ = *s++;
		}
	}
	*to = 0;
}

#define FIELD(name, member) \
	{ name, offsetof(struct trace_cfg, member), sizeof(((struct trace_cfg *)0)->member) }

static const struct native_field pt[] = {
	FIELD("family", r.pt.family), FIELD("model", r.pt.model),
	FIELD("stepping", r.pt.stepping), FIELD("mtc_freq", r.pt.mtc_freq),
	FIELD("nom_freq", r.pt.nom_freq), FIELD("cpuid_0x15_eax", r.pt.cpuid_15_eax),
	FIELD("cpuid_0x15_ebx", r.pt.cpuid_15_ebx), FIELD("noretcomp", r.pt.noretcomp),
	{ NULL, 0, 0 },
};

static const struct native_field etm3[] = {
	FIELD("ETMCR", r.etm3.cr), FIELD("ETMTRACEIDR", r.etm3.trcidr),
	FIELD("ETMCCER", r.etm3.ccer), FIELD("ETMIDR", r.etm3.idr),
	{ NULL, 0, 0 },
};

static const struct native_field etm4[] = {
	FIELD("TRCCONFIGR", r.etm4.configr), FIELD("TRCTRACEIDR", r.etm4.traceidr),
	FIELD("TRCIDR0", r.etm4.idr0), FIELD("TRCIDR1", r.etm4.idr1),
	FIELD("TRCIDR2", r.etm4.idr2), FIELD("TRCIDR8", r.etm4.idr8),
	FIELD("TRCIDR9", r.etm4.idr9), FIELD("TRCIDR10", r.etm4.idr10),
	FIELD("TRCIDR11", r.etm4.idr11), FIELD("TRCIDR12", r.etm4.idr12),
	FIELD("TRCIDR13", r.etm4.idr13), FIELD("TRCDEVARCH", r.etm4.devarch),
	{ NULL, 0, 0 },
};

static const struct native_field stm[] = {
	FIELD("STMTCSR", r.stm.tcsr), FIELD("STMFEAT3R", r.stm.feat3r),
	FIELD("STMDEVID", r.stm.devid), { NULL, 0, 0 },
};

static const struct native_field itm[] = { FIELD("ITMTCR", r.itm.tcr), { NULL, 0, 0 } };

static const struct { const char *name; const struct native_field *fields; } protos[] = {
	[HWT_PROTO_PT] = { "PT", pt }, [HWT_PROTO_ETM3] = { "ETM3", etm3 },
	[HWT_PROTO_PTM] = { "PTM", etm3 }, [HWT_PROTO_ETM4] = { "ETM4", etm4 },
	[HWT_PROTO_ETE] = { "ETE", etm4 }, [HWT_PROTO_STM] = { "STM", stm },
	[HWT_PROTO_ITM] = { "ITM", itm },
};
#define NPROTOS (sizeof(protos) / sizeof(protos[0]))

const char *native_proto(unsigned proto)
{
	return proto < NPROTOS ? protos[proto].name : NULL;
}

const struct native_field *native_field(unsigned proto, unsigned i)
{
	const struct native_field *f = proto < NPROTOS ? protos[proto].fields : NULL;

	for (; f && f->name; f++)
		if (!i--)
			return f;
	return NULL;
}
