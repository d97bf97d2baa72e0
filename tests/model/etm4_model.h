/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_TESTS_MODEL_ETM4_MODEL_H
#define HWT_TESTS_MODEL_ETM4_MODEL_H

/*
 * A trace unit of one CPU as Arm IHI 0064 (ETMv4) and the Arm ARM (ETE) tell how it behaves for who
 * programs it. It makes no trace, but says what would be traced. Written from the manuals: it
 * shares no table with kmod/.
 *
 * etm4_model_r() is what code under test gets. Who emulates memory (a plugin of QEMU) shows the
 * guest @now, and calls etm4_model_read() and etm4_model_write() after each access.
 */

#include "kmod/hwreg.h"
#include "tests/model/rules.h"

#define ETM4_RULES(X) \
	X(ETM4_R_POWER_UNKNOWN,	"a unit whose power nobody knows is left alone") \
	X(ETM4_R_POWER,		"the core power domain is left alone while TRCPDSR.POWER is 0") \
	X(ETM4_R_WAY,		"what exists in memory only is not asked for by system register") \
	X(ETM4_R_ABSENT,	"what the unit does not have is left alone") \
	X(ETM4_R_WIDTH,		"registers are accessed in their width") \
	X(ETM4_R_READ_ONLY,	"what is read-only is not written") \
	X(ETM4_R_SOFT_LOCK,	"nothing is written while the software lock is closed") \
	X(ETM4_R_OS_LOCK,	"trace registers are left alone while the OS lock is set") \
	X(ETM4_R_CPU_LOCK,	"the OS lock of the CPU is left alone") \
	X(ETM4_R_ENABLED,	"the unit is programmed while it is disabled and idle") \
	X(ETM4_R_RESTART,	"it is enabled again when it is idle") \
	X(ETM4_R_STABLE,	"what the unit changes is read when TRCSTATR.PMSTABLE is 1") \
	X(ETM4_R_UNSET,		"what matters has been written since the reset") \
	X(ETM4_R_RESERVED,	"reserved bits are not set, reserved values not used") \
	X(ETM4_R_CLAIM,		"it is programmed by who has set a claim tag") \
	X(ETM4_R_CLAIM_OTHER,	"claim tags of others are left alone") \
	X(ETM4_R_SETTLE,	"the status is read after a barrier behind TRCPRGCTLR") \
	X(ETM4_R_DRAIN,		"tracing is prohibited, then a barrier, before it ends") \
	X(ETM4_R_LEFT,		"it is given back as it was found")

enum etm4_rule {
#define X(id, text) id,
	ETM4_RULES(X)
#undef X
	ETM4_RULE_COUNT
};

#define ETM4_NEVER	0xffffffffu

enum etm4_oslock { ETM4_OSLOCK_NONE, ETM4_OSLOCK_UNIT, ETM4_OSLOCK_CPU };

/* How the unit is built, and how fast it is: in accesses and relax() calls. */
struct etm4_unit {
	uint32_t id[7];			/* TRCIDR0..6 */
	bool ete, system, soft_lock, trf;
	uint8_t minor;			/* of the architecture */
	enum etm4_oslock os_lock;
	uint32_t claims;		/* claim tags that there are */
	bool power_known;		/* the debug power domain */
	bool soft_stuck, os_stuck;	/* locks that do not open */
	uint32_t power_delay;		/* from the request on */
	uint32_t idle_delay, stable_delay, start_delay;
};

struct etm4_model {
	struct hwreg r;			/* first */
	struct etm4_unit u;
	struct rules rules;
	uint32_t now[1024];		/* what an access would see */
	uint64_t trfcr;
	uint32_t fail_at;		/* the access that is refused, from 1 on; 0: none */
	uint32_t claim_at;		/* others set @claim_tags before that access; 0: none */
	uint32_t claim_tags;
	uint32_t accesses;
	/* the rest is the model's own */
	uint8_t kind[1024];
	uint32_t mask[1024];
	bool set[1024];
	uint32_t ours;			/* claim tags that were set here, not by others */
	bool soft_locked, os_locked, core, idle, stable, unsettled, drained;
	uint32_t power_in, idle_in, stable_in, start_in;
	bool was_os_locked;
	uint32_t seed;
};

/* Off and on again: nothing is as it was. The counts of rules stay. */
void etm4_model_reset(struct etm4_model *m);
void etm4_model_init(struct etm4_model *m, const struct etm4_unit *u, uint32_t seed);
uint32_t etm4_model_read(struct etm4_model *m, uint32_t reg);
void etm4_model_write(struct etm4_model *m, uint32_t reg, uint32_t v);
/* The same as enum hwreg_barrier has it. */
void etm4_model_barrier(struct etm4_model *m, enum hwreg_barrier kind);
/* Others: a debugger, another driver. */
void etm4_model_claim(struct etm4_model *m, uint32_t tags);
void etm4_model_enable(struct etm4_model *m);
/* Whoever had it says that he is done. */
void etm4_model_end(struct etm4_model *m);

/* What runs on the CPU. */
struct etm4_at {
	uint64_t address;
	uint32_t context, vmid;
	unsigned int level;
	bool secure;
};

/* Whether it is traced; false also if the unit does not run. */
bool etm4_model_traces(const struct etm4_model *m, const struct etm4_at *at);
/* Cycles from one timestamp that is asked for to the next; 0: none is. */
uint32_t etm4_model_time_every(const struct etm4_model *m);

#endif
