/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_TESTS_MODEL_LINK_MODEL_H
#define HWT_TESTS_MODEL_LINK_MODEL_H

/*
 * A trace funnel or replicator as Arm DDI 0480 tells how it behaves for who programs it, with the
 * trace that goes through: a funnel keeps some of it until more comes or it is flushed. Written
 * from the manual: it shares no table with kmod/.
 *
 * Who emulates memory shows @now, and calls link_model_read() and link_model_write() after each
 * access.
 */
#include "kmod/hwreg.h"
#include "tests/model/rules.h"

#define LINK_RULES(X) \
	X(LINK_R_POWER_UNKNOWN,	"a part whose power nobody knows is left alone") \
	X(LINK_R_ABSENT,	"what it does not have is left alone") \
	X(LINK_R_READ_ONLY,	"what is read-only is not written") \
	X(LINK_R_SOFT_LOCK,	"nothing is written while the software lock is closed") \
	X(LINK_R_CLAIM,		"it is programmed by who has set a claim tag") \
	X(LINK_R_CLAIM_OTHER,	"claim tags of others are left alone") \
	X(LINK_R_RESERVED,	"reserved bits are not set, reserved values not used") \
	X(LINK_R_HOLD,		"hold time and priorities change while all ports are closed") \
	X(LINK_R_DRAIN,		"a port is closed when all trace has left it") \
	X(LINK_R_CLOSED,	"no trace comes to a closed port") \
	X(LINK_R_LEFT,		"it is given back as it was found")

enum link_rule {
#define X(id, text) id,
	LINK_RULES(X)
#undef X
	LINK_RULE_COUNT
};

struct link_unit {
	bool replicator;
	uint32_t ports;			/* inputs of a funnel, outputs of a replicator */
	bool soft_lock, soft_stuck, power_known;
	bool stuck;			/* its ports do not change */
	uint32_t claims;
	uint32_t found;			/* what its registers have at the beginning */
};

#define LINK_KEEPS	8		/* bytes in each port of a funnel, at most */

struct link_model {
	struct hwreg r;			/* first */
	struct link_unit u;
	struct rules rules;
	uint32_t now[1024];
	uint32_t fail_at, claim_at, claim_tags, accesses;
	uint64_t lost;
	/* where trace goes: output @port, 0 of a funnel */
	void (*out)(void *arg, uint32_t port, uint32_t id, const uint8_t *p, uint32_t n);
	void *arg;
	/* the rest is the model's own */
	uint32_t ours;
	bool soft_locked;
	struct { uint8_t b[LINK_KEEPS]; uint32_t n, id; } kept[8];
};

void link_model_init(struct link_model *m, const struct link_unit *u);
uint32_t link_model_read(struct link_model *m, uint32_t reg);
void link_model_write(struct link_model *m, uint32_t reg, uint32_t v);
/* Trace with @id comes to input @port of a funnel, or to a replicator. */
void link_model_trace(struct link_model *m, uint32_t port, uint32_t id, const uint8_t *p,
		      uint32_t n);
void link_model_flush(struct link_model *m);
void link_model_claim(struct link_model *m, uint32_t tags);
/* Whoever had it says that he is done. */
void link_model_end(struct link_model *m);

#endif
