/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_OBJ_H
#define HWT_IMAGE_OBJ_H

/* One ELF file, as far as code needs it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/diag.h"

struct obj;

struct obj_seg {
	uint64_t off, filesz;	/* lies in the file */
	uint64_t addr, memsz;	/* addr + memsz does not wrap past the end */
};

struct obj_sym {
	const char *name;	/* alive as long as the object */
	uint64_t value, size;	/* as linked, Thumb bit removed */
	uint64_t limit;		/* last byte of its section */
	bool global, weak;
	uint8_t plt;		/* 1: show as "name@plt" */
};

/*
 * Looks at @n bytes at @p, which stay borrowed. Program headers are checked here, before anything
 * else sees them: a fault among them does not make this fail but obj_fault(). @ns may be NULL.
 */
int obj_open(struct obj **out, const void *p, size_t n, const char *path, struct notes *ns,
	     struct hwt_diag *diag);
void obj_close(struct obj *o);		/* NULL is fine */

/* The first fault of the program headers, 0 if there is none. */
int obj_fault(const struct obj *o, struct hwt_diag *diag);
/* Loadable segments without fault, in the order of the file. */
size_t obj_segs(const struct obj *o, const struct obj_seg **out);
bool obj_relocatable(const struct obj *o);	/* ET_REL */
bool obj_core(const struct obj *o);		/* ET_CORE */
/* The GNU build-id: bytes written to @id (20), 0 if there is none. */
size_t obj_build_id(struct obj *o, uint8_t *id);
/* Linked address of the file offset @off: 1 found. */
int obj_link(const struct obj *o, uint64_t off, uint64_t *addr);
/* Name and CRC of .gnu_debuglink, NULL if there is none. */
const char *obj_debuglink(struct obj *o, uint32_t *crc);
/* Functions of .symtab (or, @dynamic, .dynsym and PLT); *out is freed by the caller. */
int obj_syms(struct obj *o, bool dynamic, struct obj_sym **out, size_t *n);

#endif
