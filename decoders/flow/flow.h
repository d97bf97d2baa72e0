/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_FLOW_H
#define HWT_FLOW_FLOW_H

/* Trace bytes and code to events. One stream per trace buffer. */
#include <stdbool.h>

#include <hwtrace/decode.h>
#include <hwtrace/packet.h>
#include <hwtrace/stream.h>

#include "../../hwtrace/image/image.h"
#include "../../hwtrace/source/capture.h"

struct flow_args {
	/* copied by the constructor with what it points to */
	const struct hwt_interest *want;
	const struct trace_buf *buf;		/* must outlive the stream, as all below */
	struct hwt_image *image;
	struct machine *machine;
	/* not valid: events stay in their own clock domain */
	const struct time_map *tsc;
	uint32_t src;				/* index of the buffer */
	struct notes *notes;			/* takes what is no hole; NULL: nobody asks */
};

/*
 * Every flow stream starts with this, so that its work can be asked for.
 *
 * @time of its events is a true lower bound. With @bounded time + @span is the upper one, where it
 * is known; else that of a later event is (not of a switch). Without, @span is how far the event
 * reaches at least: the time in force at the last packet that proves it. The first later time of
 * the same CPU that is past time + span is an upper bound; HWT_SPAN_UNKNOWN is 0.
 * correlate/bound.c makes the real span of it.
 */
#define FLOW_REACH_UNKNOWN	(HWT_SPAN_UNKNOWN - 1)	/* nothing bounds it, and it nothing */
struct flow_stream {
	struct hwt_stream s;
	struct hwt_flow_stats stats;
	bool bounded;
};

int flow_ipt_new(struct hwt_stream **out, const struct flow_args *a, struct hwt_diag *diag);
int flow_ocsd_new(struct hwt_stream **out, const struct flow_args *a, struct hwt_diag *diag);

/*
 * RECORD events of PT flow: u.rec.data is the raw packet (or the whole PEBS block, BBP to BEP) in
 * the trace buffer, alive as long as the capture; the low byte of the id is its enum ipt_kind.
 */
#define FLOW_RECORD_PT	0x50540000u
bool flow_is_record(const struct hwt_event *ev);	/* a RECORD that flow made */
const char *flow_record_name(const struct hwt_event *ev);	/* static */
/* Its packets in words, always NUL-terminated; the full length. */
size_t flow_record_text(const struct hwt_event *ev, char *buf, size_t n);

/* Packets of a buffer. Every packet source starts with this. */
struct hwt_packets {
	int (*next)(struct hwt_packets *ps, struct hwt_packet *pkt);
	void (*close)(struct hwt_packets *ps);
	const struct hwt_flow_stats *stats;	/* NULL: not kept */
};
int packets_pt_new(struct hwt_packets **out, const struct flow_args *a, struct hwt_diag *diag);
int packets_ocsd_new(struct hwt_packets **out, const struct flow_args *a, struct hwt_diag *diag);

/* "libipt 2.0.5", "OpenCSD 1.3.3": of the library in use. Static. */
const char *flow_ipt_version(void);
/* libipt's words for an error code of a hole, NULL if it is none. Static. */
const char *flow_ipt_error(int32_t code);
const char *flow_ocsd_version(void);

#endif
