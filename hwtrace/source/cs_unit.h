/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_CS_UNIT_H
#define HWT_SOURCE_CS_UNIT_H

/* What names in Arm trace descriptions mean: trace units, cores, registers, memory spaces. */
#include "capture.h"

/* "ETM4.2", "PFT1.1", "ETE", ...: enum hwt_proto, HWT_PROTO_NONE if not known. */
unsigned cs_proto(const char *type);

/* Architecture and profile of a core by its product or architecture name. False: not known. */
bool cs_core(const char *name, uint8_t *arch, uint8_t *profile);

/*
 * Architecture and profile of @cfg from its core's name; not known: a note (E066) and what the
 * protocol suggests.
 */
void cs_set_core(struct trace_cfg *cfg, const char *core, struct notes *ns, const char *file,
		 uint64_t off);

/*
 * Sets the register called @name, with or without "(id:0x4)" behind it, of a unit of protocol
 * @cfg->proto. Returns its bit for cs_finish(), 0 if the decoder needs no such register.
 */
uint32_t cs_reg(struct trace_cfg *cfg, const char *name, uint64_t value);

/* The bit of the register that holds the trace id: it is known without it. */
uint32_t cs_reg_trace_id(const struct trace_cfg *cfg);

/*
 * After the last register: fills in the trace id, and resets of registers that were not given.
 * @seen are the bits of cs_reg(). Missing ones that the decoder needs are a note (E070).
 */
void cs_finish(struct trace_cfg *cfg, uint32_t seen, struct notes *ns, const char *file);

/* "EL1N", "S", "any", ...: HWT_SPACE_* bits, 0 for all. False: not known. */
bool cs_space(const char *name, uint32_t *space);

/* A memory dump as the description has it. */
struct cs_dump {
	const char *path;	/* of the dump file */
	uint64_t file_size;	/* bytes it has */
	uint64_t addr, offset;
	uint64_t size;		/* 0: to the end of the file */
	uint32_t space;
	const char *ini;	/* where it is described */
	uint64_t ini_off;
};
/* Adds it to the image; what can not be is a note (E069). 0 or -ENOMEM. */
int cs_add_dump(struct capture *c, const struct cs_dump *d);

/* Checks trace ids and sets what holds for the whole buffer once its units are known. */
void cs_check_buf(struct capture *c, struct trace_buf *b, const char *file);

#endif
