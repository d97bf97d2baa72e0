/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_TESTS_MODEL_TRBE_MODEL_H
#define HWT_TESTS_MODEL_TRBE_MODEL_H

/*
 * The Trace Buffer Extension of a CPU as the Arm ARM tells how it behaves for who programs it:
 * modes, status, faults, and what barriers are needed. Trace is what the test gives it. It shares
 * no table with kmod/. No emulator can show it to a guest, for it has no registers in memory.
 */
#include "kmod/hwreg.h"
#include "tests/model/rules.h"
#include "tests/model/sink_model.h"

#define TRBE_RULES(X) \
	X(TRBE_R_WAY,		"only its registers are accessed, and as 64 bits") \
	X(TRBE_R_OWNED,		"one that firmware or a hypervisor keeps is left alone") \
	X(TRBE_R_READ_ONLY,	"what is read-only is not written") \
	X(TRBE_R_ENABLED,	"it is programmed while it is disabled") \
	X(TRBE_R_RESERVED,	"reserved bits are not set, reserved values not used") \
	X(TRBE_R_PLACE,		"it begins inside of its buffer, at a place that is aligned") \
	X(TRBE_R_UNSET,		"what matters has been written since the reset") \
	X(TRBE_R_STOPPED,	"it is enabled when TRBSR_EL1.S has been cleared") \
	X(TRBE_R_SETTLE_ON,	"what was written has its effect before it is enabled") \
	X(TRBE_R_SETTLE_OFF,	"place and status are read behind a barrier when it is disabled") \
	X(TRBE_R_POINTER,	"the place is read while it is disabled") \
	X(TRBE_R_DRAIN,		"trace has left the CPU before it is disabled") \
	X(TRBE_R_UNSEEN,	"memory is read when what was written there can be seen") \
	X(TRBE_R_MEMORY,	"it writes to memory that it was given") \
	X(TRBE_R_LEFT,		"it is left disabled, with no interrupt")

enum trbe_rule {
#define X(id, text) id,
	TRBE_RULES(X)
#undef X
	TRBE_RULE_COUNT
};

struct trbe_unit {
	uint8_t align;		/* TRBIDR_EL1.Align */
	bool owned;		/* TRBIDR_EL1.P */
	bool stuck_off;		/* does not become enabled */
};

struct trbe_model {
	struct hwreg r;		/* first */
	struct trbe_unit u;
	struct rules rules;
	uint64_t limitr, ptr, baser, sr, trg;
	struct sink_model k;	/* of its memory what it may write */
	uint64_t fault_at;	/* the byte of @mem that is not mapped, 0: none */
	uint64_t abort_after;	/* bytes after which the bus refuses; 0: never */
	uint32_t fail_at, accesses;
	uint32_t interrupts;
	/* the rest is the model's own */
	uint32_t set;
	bool unsettled_on, unsettled_off, unseen, irq;
	bool trigger_runs;
	uint64_t trigger_left;
};

void trbe_model_init(struct trbe_model *m, const struct trbe_unit *u, uint8_t *mem, uint64_t base,
		     uint64_t bytes);
void trbe_model_log(struct trbe_model *m, uint8_t *log, uint64_t cap);
/* The trace unit gives it bytes; its trigger comes. */
void trbe_model_trace(struct trbe_model *m, const uint8_t *p, uint32_t n);
void trbe_model_trigger(struct trbe_model *m);
/* Somebody reads what it wrote. */
const uint8_t *trbe_model_look(struct trbe_model *m);
void trbe_model_end(struct trbe_model *m);

#endif
