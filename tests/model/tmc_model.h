/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_TESTS_MODEL_TMC_MODEL_H
#define HWT_TESTS_MODEL_TMC_MODEL_H

/*
 * A CoreSight Trace Memory Controller as Arm DDI 0461 tells how it behaves in circular buffer mode:
 * states, pointers, flush, trigger, its own memory or the machine's. Bytes are what the test gives
 * it; their format is nothing to it. Written from the manual: it shares no table with kmod/.
 *
 * Who emulates memory shows @now, and calls tmc_model_read() and tmc_model_write() after accesses.
 */
#include "kmod/hwreg.h"
#include "tests/model/rules.h"
#include "tests/model/sink_model.h"

#define TMC_RULES(X) \
	X(TMC_R_POWER_UNKNOWN,	"a controller whose power nobody knows is left alone") \
	X(TMC_R_ABSENT,		"what it does not have is left alone") \
	X(TMC_R_READ_ONLY,	"what is read-only is not written") \
	X(TMC_R_SOFT_LOCK,	"nothing is written, and no trace read, while the lock is closed") \
	X(TMC_R_CLAIM,		"it is programmed by who has set a claim tag") \
	X(TMC_R_CLAIM_OTHER,	"claim tags of others are left alone") \
	X(TMC_R_STATE,		"it is programmed while it is disabled") \
	X(TMC_R_NOT_READY,	"nor before TMCReady") \
	X(TMC_R_RESERVED,	"reserved bits are not set, reserved values not used") \
	X(TMC_R_UNSET,		"what matters has been written since the reset") \
	X(TMC_R_FLUSH,		"a flush is asked for while it captures, one at a time") \
	X(TMC_R_POINTER,	"the place is read when it has stopped") \
	X(TMC_R_DATA,		"trace is read when it has stopped, whole words of its memory") \
	X(TMC_R_MEMORY,		"it writes to memory that it was given") \
	X(TMC_R_LEFT,		"it is given back as it was found")

enum tmc_rule {
#define X(id, text) id,
	TMC_RULES(X)
#undef X
	TMC_RULE_COUNT
};

#define TMC_NEVER	0xffffffffu

enum tmc_config { TMC_IS_ETB, TMC_IS_ETR, TMC_IS_ETF };

struct tmc_unit {
	enum tmc_config kind;
	bool soc600;		/* pointers and Full are software's */
	bool soft_lock, soft_stuck, power_known;
	uint32_t width_log2;	/* of a word of its memory, 2 to 5 */
	uint32_t claims;
	uint32_t ram_bytes;	/* ETB, ETF */
	uint32_t address_bits;	/* ETR; 0: not told, 40 */
	uint32_t flush_delay, ready_delay;	/* accesses and relax() calls; TMC_NEVER */
};

struct tmc_model {
	struct hwreg r;		/* first */
	struct tmc_unit u;
	struct rules rules;
	uint32_t now[1024];
	struct sink_model k;	/* memory: its own; of an ETR what it may write */
	uint64_t error_after;	/* bytes after which the bus refuses; 0: never */
	uint32_t fail_at, claim_at, claim_tags, accesses;
	uint64_t padded;	/* what was added to fill a word; it is in the log, too */
	/* the rest is the model's own */
	bool set[1024];
	uint32_t ours;
	bool soft_locked, capture, stopped, ready, flushing, full, triggered, mem_err;
	uint32_t flush_in, ready_in, words_read, trigger_left;
	bool trigger_runs;
	uint64_t rrp, rwp, unread;
};

/* @mem: of an ETR @bytes at @base as the bus sees them, else @u->ram_bytes. */
void tmc_model_init(struct tmc_model *m, const struct tmc_unit *u, uint8_t *mem, uint64_t base,
		    uint64_t bytes);
void tmc_model_log(struct tmc_model *m, uint8_t *log, uint64_t cap);
uint32_t tmc_model_read(struct tmc_model *m, uint32_t reg);
void tmc_model_write(struct tmc_model *m, uint32_t reg, uint32_t v);
/* Trace comes over the bus. */
void tmc_model_trace(struct tmc_model *m, const uint8_t *p, uint32_t n);
void tmc_model_trigger(struct tmc_model *m);
void tmc_model_claim(struct tmc_model *m, uint32_t tags);
/* Others let it capture. */
void tmc_model_enable(struct tmc_model *m);
void tmc_model_end(struct tmc_model *m);

#endif
