/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_DOUBT_H
#define HWT_FLOW_OCSD_DOUBT_H

/*
 * Is a range of OpenCSD what ran? A library that does not know a branch walks past it, takes the
 * atoms that follow for other branches, and is wrong until the trace names an address again. Our
 * own tables know the branches: a range that has one before its end contradicts the trace.
 */
#include <stdbool.h>
#include <stdint.h>

#include <hwtrace/event.h>
#include <hwtrace/image.h>

#define PROOF_SLOTS	1024	/* a power of two */
#define DOUBT_ADDRS	16	/* address packets ahead of the elements; a power of two */

struct proof_entry {
	uint64_t first, last;
	uint64_t branch;	/* that was passed, HWT_NO_ADDR: none */
	uint32_t insns;
	uint32_t proven;	/* instructions up to it, it included */
	uint32_t version;	/* of the code; 0: empty */
	uint32_t space;
	int32_t pid;
	uint8_t isa;
	bool plain;		/* the library knows no branch at the end */
	bool straight;		/* the trace says that no branch before the end was taken */
};

/* Ranges that were looked at. Zeroed at the start. */
struct proof {
	uint32_t version;	/* of the code that the next question is about, 1 or more */
	struct proof_entry e[PROOF_SLOTS];
};

enum trust {
	TRUST_ALL,
	TRUST_PART,	/* the first instructions ran, up to a branch that was passed */
	/* an exception ended it, whose return address is not before the branch: nothing ran */
	TRUST_WRONG,
	TRUST_STACK,	/* first range after a return that the library may have got wrong */
	TRUST_NONE	/* follows one of those */
};

enum seen_what {
	SEEN_TARGET,	/* where the flow goes on */
	/* the next branch that was taken (Arm ARM, ETE source address element): none before it */
	SEEN_SOURCE,
	SEEN_EXCEPTION,	/* no address: what ran before it ends at its return address */
	SEEN_NO_RETURNS	/* no address: the return stack is empty, and so right */
};

/* Zeroed but for @stack at the start. */
struct doubt {
	bool stack;		/* the trace unit leaves out addresses of returns */
	bool on;		/* where the flow is, is not known */
	bool stale;		/* calls and returns were missed: the return stack is not right */
	bool jumped;		/* the last range ended with an indirect branch that was taken */
	unsigned head, tail;	/* of @seen */
	struct { uint64_t off, addr; uint8_t what; } seen[DOUBT_ADDRS];
};

/* A packet at @off that says something of addresses. */
void doubt_packet(struct doubt *d, uint64_t off, enum seen_what what, uint64_t addr);
/* The trace unit started afresh: its return stack is empty, the next address is in the trace. */
void doubt_restart(struct doubt *d);
/* Instructions were not followed, calls and returns may be among them. */
void doubt_missed(struct doubt *d);
/* The trace contradicts the code: where the flow is, is not known until an address is named. */
void doubt_begin(struct doubt *d);
/* Nothing that was seen before counts. */
void doubt_reset(struct doubt *d);
/*
 * How far the RANGE of @ev, from a packet at @off, can be trusted. TRUST_PART and TRUST_WRONG:
 * *branch was passed; TRUST_PART: *proven counts the instructions up to it, it included. @where
 * is the code's.
 */
enum trust doubt_range(struct doubt *d, struct proof *p, const struct hwt_image *img,
		       const struct hwt_where *where, const struct hwt_event *ev, uint64_t off,
		       uint64_t *branch, uint32_t *proven);

#endif
