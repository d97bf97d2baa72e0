/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_DEC_H
#define HWT_FLOW_OCSD_DEC_H

/*
 * A trace source with its decoder: what the library says of packets and elements becomes events
 * and holes of the source.
 */
#include "ocsd_code.h"
#include "ocsd_doubt.h"
#include "ocsd_lib.h"
#include "ocsd_src.h"
#include "ocsd_when.h"

#define CSDEC_IDS	128	/* trace ids */
#define CSDEC_PAD	64	/* bytes */

struct csdec_env {		/* what the decoders of a stream share */
	struct emit *emit;
	struct hwt_flow_stats *stats;
	struct hwt_image *image;
	bool counts_only;	/* nobody wants ranges */
	bool calls_only;	/* nor their instructions */
	struct proof *proof;
	uint32_t versions;	/* of code that were given a number */
	int rc;			/* negative: the stream ends */
};

struct csdec {
	struct src s;
	struct csdec_env *env;	/* NULL: packets only */
	struct cslib_dec *lib;	/* NULL: no decoder */
	int32_t refused;	/* the library's reason why */
	uint16_t blame;		/* enum hwt_gap_cause if the last packet is the library's last */
	uint16_t blame_before;	/* and that of the packet before it */
	bool live_code;		/* code is asked for, not mapped */
	struct when when;
	uint32_t version;	/* of the code, for @env->proof */
	uint64_t padded;	/* the last instruction of two bytes that got four, HWT_NO_ADDR */
	uint64_t differs;	/* it is not known what ran there, HWT_NO_ADDR */
	uint32_t straight;	/* bytes of code asked for in a row since the last packet */
	uint64_t straight_to;
	bool overflow_told;
	bool on;		/* tracing, as far as told */
	uint32_t space;		/* HWT_SPACE_* that runs */
	struct doubt doubt;
	bool blind;		/* what packets say of the flow can not be followed */
	bool ran;		/* a range did run */
	uint64_t known;		/* bytes of packets used up to the last range that ran */
	uint64_t used, dark;	/* before the last start: bytes used; of those without flow */
	uint32_t given;		/* bytes in @pad */
	uint8_t pad[CSDEC_PAD + 1];	/* what an STM decoder reads */
};

/*
 * Sources of @buf in order of their ids; of two with the same id the first one counts.
 * -HWT_E_FORMAT if an id is impossible.
 */
int csdec_sort(const struct trace_buf *buf, const struct trace_cfg *out[CSDEC_IDS], unsigned *n);
/* Decoder of a stream; @d stays where it is. 0, also without a decoder, or < 0. cslib_lock()ed. */
int csdec_open(struct csdec *d, const struct flow_args *a, const struct trace_cfg *cfg,
	       struct csdec_env *env, const struct code_part *parts, size_t nparts);
/* The words for a failed setup; returns @rc. */
int csdec_refuse(struct hwt_diag *diag, const struct trace_buf *buf, int rc);

enum cslib_answer csdec_give(struct csdec *d, const uint8_t *p, uint32_t n, uint32_t *used,
			     int32_t *code);
/*
 * Ignore packets before the first A-sync: a driver pads the start of a TRBE buffer with them where
 * the hardware may overwrite it (Arm ARM, ETE "Ignore instruction packet").
 */
bool csdec_padding(const struct csdec *d, const struct cslib_packet *p);
/*
 * Where the bytes of a packet go: used, or in a hole. The same for flow and for a list of packets.
 * False if it says nothing.
 */
bool csdec_account(struct csdec *d, const struct cslib_packet *p);
/* Other code may be at the same place now: the library must forget what it keeps. */
void csdec_code_changed(struct csdec *d);
/* Afresh: what the decoder held is gone; bytes that no packet was made of are a hole. */
void csdec_reset(struct csdec *d, unsigned cause);
/* Bytes used, and how many of them say nothing of the flow; after csdec_reset(). */
void csdec_sum(const struct csdec *d, uint64_t *used, uint64_t *dark);
/* After a fatal answer: the packet and what followed up to here is lost, then afresh. */
void csdec_fatal(struct csdec *d, int32_t code);

#endif
