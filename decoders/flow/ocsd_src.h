/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_SRC_H
#define HWT_FLOW_OCSD_SRC_H

/*
 * One trace source of a buffer: what is known of its time and owner, and where its bytes went.
 * Nothing here knows the library.
 *
 * Bytes: all that were fed are either in a packet that was used, or in a hole. A hole grows while
 * packets can not be used and is told when it ends, so that its size is known then.
 */
#include "emit.h"

struct src_hole {
	bool open;
	uint16_t cause;		/* enum hwt_gap_cause */
	int32_t code;
	uint64_t off, bytes;
};

struct src {
	const struct trace_cfg *cfg;
	struct emit *emit;
	struct machine *machine;
	const struct time_map *map;	/* NULL: times stay ticks */
	uint32_t buf;			/* index of the buffer, for events */
	uint8_t id;			/* trace id, 0 if none; the slot of @emit */
	bool by_vmid;			/* the task's number is traced as VMID: kernel at EL2 */
	bool fed_any;			/* since the last start */
	/* since the last start; in packets; of those, in holes */
	uint64_t fed, packed, holed;
	uint64_t base, end;		/* offsets of what is fed now */
	uint64_t start;			/* offset of the span */
	bool hunting;			/* packets are not used until the next A-sync */
	uint16_t hunt_cause;
	int32_t hunt_code;
	struct src_hole hole;
	uint64_t last_off, last_size;	/* packet that the library works on */
	uint64_t sync_off;		/* of the last A-sync, or HWT_NO_OFF */
	uint64_t time;			/* lower bound for what comes, HWT_TIME_UNKNOWN */
	uint64_t ticks;			/* the last timestamp */
	bool back;			/* it is before one of the others */
	struct notes *notes;		/* or NULL */
	uint8_t clock;
	int32_t span_pid, span_tid;	/* what the recorder says of the owner */
	int32_t pid, tid;		/* of the events */
	int32_t code_pid;		/* whose code is read: known a little earlier */
};

void src_init(struct src *s, const struct flow_args *a, struct emit *emit,
	      const struct trace_cfg *cfg);
/* A span begins, or the frames broke: bytes are counted anew. */
void src_start(struct src *s);
/* What the recorder says of span @sp of @b. */
void src_span(struct src *s, const struct trace_span *sp, const struct trace_buf *b);
/* The library's byte index is 32 bits wide: the place near what is fed now. */
uint64_t src_off(const struct src *s, uint32_t index);

/* An event of this source with everything filled but its type and union. */
struct hwt_event src_event(const struct src *s, unsigned type, uint64_t off);
void src_emit(struct src *s, const struct hwt_event *ev);

/* @bytes from @off on are not used; 0 bytes: something is missing there. */
void src_hole(struct src *s, uint64_t off, uint64_t bytes, unsigned cause, int32_t code);
void src_hole_flush(struct src *s);
/* A hole at an instruction, told at once. */
void src_hole_at(struct src *s, uint64_t off, uint64_t addr, unsigned cause, int32_t code);
/* Nothing is used until the next A-sync, for this reason. */
void src_hunt(struct src *s, unsigned cause, int32_t code);
/* A packet of @size bytes that is used unless the source hunts. */
void src_packet(struct src *s, uint64_t off, uint64_t size, bool sync);
/* Bytes fed that no packet was made of are given to a hole; returns how many bytes were used. */
uint64_t src_settle(struct src *s, unsigned cause);

/* A timestamp was seen. */
void src_timestamp(struct src *s, uint64_t ticks);
/* pid of a context; HWT_NONE if it is not known. */
int32_t src_owner(const struct src *s, bool id_valid, uint32_t id, bool vmid_valid, uint32_t vmid,
		  int32_t *tid);

#endif
