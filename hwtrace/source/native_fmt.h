/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_NATIVE_FMT_H
#define HWT_SOURCE_NATIVE_FMT_H

/* The parts of hwtrace-capture(5) that writer and reader must agree on. All numbers are LE. */
#include "../base/cur.h"
#include "capture.h"

#define NATIVE_VERSION	1
#define NATIVE_INI	"hwtrace.ini"
#define NATIVE_BLOCK	16384	/* bytes of a block of trace: what one bad byte costs */
#define NATIVE_VALUE	4096	/* bytes of one value, before its escapes */
#define NATIVE_MAX_BUFS	4096
#define NATIVE_MAX_UNITS 128	/* of one buffer: CoreSight ids are 7 bits */
#define NATIVE_MAX_CPUS	4096

enum native_kind {
	NATIVE_START,	/* a block of bytes, the first of a span */
	NATIVE_MORE,	/* a block that continues the one before */
	NATIVE_HOLE,	/* no bytes: some are missing here */
	NATIVE_PAGES	/* a block of code; pos is its address */
};

/* An entry of NAME.idx: what NAME.bin holds at @off. */
struct native_entry {
	uint64_t off, size;	/* bytes in NAME.bin */
	uint64_t pos;		/* START, MORE: place in the buffer's own numbering */
	uint64_t time;
	uint64_t lost;		/* HOLE: bytes */
	int32_t pid, tid;	/* START, PAGES */
	uint16_t cause;		/* HOLE: enum hwt_gap_cause */
	uint16_t flags;		/* START: the recorder's own */
	uint8_t kind;		/* enum native_kind */
	uint32_t crc;		/* of the block's bytes */
};

#define NATIVE_ENTRY 64		/* bytes of an entry, the last four its own CRC */
#define NATIVE_ENTRY_CRC (NATIVE_ENTRY - 4)

void native_entry_put(uint8_t out[NATIVE_ENTRY], const struct native_entry *e);
/* False if the checksum is wrong or the kind is not known. Takes NATIVE_ENTRY bytes. */
bool native_entry_get(struct native_entry *e, struct cur *c);

/*
 * Text as a value of hwtrace.ini: control bytes, '%', comment signs, quotes, and blanks at its ends
 * become %XX. At most NATIVE_VALUE bytes of @s; @out has room for three times that and a NUL.
 */
size_t native_escape(char *out, const char *s);
void native_unescape(char *s);	/* in place; a '%' without two digits stays */

/* The @i-th field of a trace unit's configuration that protocol @proto has, NULL past the end. */
struct native_field {
	const char *name;	/* of the register, or as in a raw description */
	uint16_t off;		/* in struct trace_cfg */
	uint8_t size;		/* bytes: 1, 2 or 4 */
};
const struct native_field *native_field(unsigned proto, unsigned i);

/* "PT", "ETM4", ...: names in [unit]; NULL if @proto is none. */
const char *native_proto(unsigned proto);

#endif
