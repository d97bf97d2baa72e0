/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_OTHER_H
#define HWT_FLOW_OCSD_OTHER_H

/* Holes of a buffer that belong to no source: bytes of other ids, of no frame, and lost ones. */
#include "ocsd_dec.h"

struct csother { uint64_t off, bytes; uint32_t places; };	/* of one id; off: the first */

struct csothers {
	struct emit *emit;
	const struct trace_buf *buf;
	uint32_t src;			/* index of the buffer, for events */
	uint8_t first_id;		/* of the first source: holes of the whole buffer */
	struct csdec *by_id[CSDEC_IDS];	/* NULL: no source has this id */
	/* not decoded and not told yet, by id; the last one: before the first id of the frames */
	struct csother v[CSDEC_IDS + 1];
};

void csothers_gap(struct csothers *o, uint64_t off, uint64_t bytes, uint64_t lost, unsigned cause,
		  int32_t code, unsigned id);
void csothers_add(struct csothers *o, unsigned id, uint64_t off, uint64_t n);
/* The first bytes with an id are here: those before them are a hole in front of what they tell. */
void csothers_known(struct csothers *o);
/*
 * One hole for each id, in order of their first places; their bytes lie between those of other
 * sources. The ring of @emit has room for as many events as there are ids.
 */
void csothers_tell(struct csothers *o);
/* What the recorder says of the bytes before @sp, or (NULL) behind the last span. */
void csothers_lost(struct csothers *o, const struct trace_span *sp);

#endif
