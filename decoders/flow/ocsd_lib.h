/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_LIB_H
#define HWT_FLOW_OCSD_LIB_H

/*
 * OpenCSD in plain types: one decode tree per trace source. Nothing here knows streams, holes or
 * packet lists; ocsd_lib.c is the only file that sees the library's types.
 *
 * Trees are made and freed under cslib_lock(); one that exists may be used from its own thread.
 */
#include <stdbool.h>

#include <hwtrace/event.h>

#include "../../hwtrace/source/capture.h"

/* What a packet type means for the bytes of the packet. */
enum cslib_use {
	CSLIB_GOOD, CSLIB_SYNC, CSLIB_UNSYNC, CSLIB_BAD, CSLIB_CUT, CSLIB_OVERFLOW, CSLIB_DISCARD
};

struct cslib_packet {
	enum cslib_use use;
	int32_t type;		/* the library's number, within its protocol */
	bool unexpected;	/* resolves speculation that the trace unit does not have */
	uint16_t blame;		/* enum hwt_gap_cause if the library gives up on it */
	bool has_addr;		/* @addr is where the flow goes on */
	bool has_source;	/* @addr is the next branch that is taken */
	bool exception;
	bool has_time;		/* @time: a timestamp of ETMv4 or ETE */
	bool has_stamp;		/* @stamp: a timestamp of any protocol */
	bool no_returns;	/* the return stacks of unit and library are empty now */
	uint64_t addr, time, stamp;
	uint32_t index;		/* byte index of its first byte, modulo 2^32 */
	uint32_t size;		/* bytes */
	const uint8_t *bytes;
	uint32_t have;		/* bytes that may be read there: not all of an unsynchronised run */
	const void *raw;	/* for cslib_packet_text() */
};

struct cslib_owner {		/* who runs, as a packet says */
	bool id_valid, vmid_valid;
	uint32_t id, vmid;
};

enum cslib_what {
	CSLIB_PLAIN,		/* an event, no more */
	CSLIB_RANGE, CSLIB_NOPATH, CSLIB_ON, CSLIB_OFF,
	CSLIB_CONTEXT,		/* and whose code runs: @owner */
	CSLIB_NO_SYNC,		/* @cause; HWT_GAP_NO_SYNC: start, reset or end */
	CSLIB_LOST,		/* no way on at @addr, for @cause */
	CSLIB_NOTHING		/* no event: only cycles or time */
};

struct cslib_elem {
	enum cslib_what what;
	uint32_t index;		/* of its packet; not set by some elements of 1.3.3 (Q) */
	bool has_cycles, has_time;	/* @cycles, @time: seen before the event */
	bool cycles_before;	/* @cycles end with what came before; those of a timestamp, too */
	bool overflow;		/* ON because of one */
	uint16_t cause;		/* enum hwt_gap_cause */
	uint32_t cycles;
	uint64_t addr, time;
	struct cslib_owner owner;
	struct hwt_event ev;	/* type, flags and u */
};

/* Calls made while bytes are given. @ctx is that of cslib_open(). */
struct cslib_calls {
	/* a packet, before it is decoded */
	void (*packet)(void *ctx, const struct cslib_packet *p);
	/* an element; false: no room for more now. NULL: packets only */
	bool (*element)(void *ctx, const struct cslib_elem *e);
	/* up to @n bytes of code; @space is an HWT_SPACE_* bit or 0; returns how many */
	uint32_t (*code)(void *ctx, uint64_t addr, uint32_t space, uint32_t n, uint8_t *buf);
};

enum cslib_answer { CSLIB_CONT, CSLIB_WAIT, CSLIB_FATAL };

struct cslib_dec;

void cslib_lock(void);		/* the library keeps its trees in one map without a lock */
void cslib_unlock(void);

/*
 * A decoder for @cfg. 0 and *out; or *out is NULL and *refused the library's reason: no decoder
 * for this protocol or configuration. -ENOMEM is the only failure. Under cslib_lock().
 */
int cslib_open(struct cslib_dec **out, const struct trace_cfg *cfg, const struct cslib_calls *calls,
	     void *ctx, int32_t *refused);
void cslib_close(struct cslib_dec *l);	/* NULL is fine. Under cslib_lock() */

/* *used tells how many of the @n bytes were taken. *code is the library's own answer. */
enum cslib_answer cslib_data(struct cslib_dec *l, uint64_t index, const uint8_t *p, uint32_t n,
			   uint32_t *used, int32_t *code);
enum cslib_answer cslib_flush(struct cslib_dec *l, int32_t *code);	/* after CSLIB_WAIT */
enum cslib_answer cslib_eot(struct cslib_dec *l, int32_t *code);
void cslib_reset(struct cslib_dec *l);

/* Code: mapped, or asked for with cslib_calls.code from @lo to @hi, both included. */
int cslib_add_code(struct cslib_dec *l, uint64_t addr, uint32_t space, const uint8_t *p,
		   uint32_t n);
int cslib_add_asked(struct cslib_dec *l, uint64_t lo, uint64_t hi);
/* Ends the asking from address 0 on, and forgets what was kept of the answers. */
void cslib_drop_asked(struct cslib_dec *l);

/* Who runs, if @p says so. */
bool cslib_packet_owner(const struct cslib_dec *l, const struct cslib_packet *p,
			struct cslib_owner *o);
void cslib_packet_text(const struct cslib_dec *l, const struct cslib_packet *p, char *buf, int n);

#endif
