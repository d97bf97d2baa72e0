/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_TRACEPOINT_H
#define HWT_CAPTURE_TRACEPOINT_H

/*
 * Records of the kernel's tracepoints, as its tracer and perf give them, turned into the virtual
 * events that are wanted.
 */
#include "../virt/virt.h"
#include "kprov.h"

struct tracepoints;

/* Formats are read below @root, of tracefs. 0 or -ENOMEM. */
int tracepoint_new(struct tracepoints **out, const char *root, const struct kprov_want *want);
void tracepoint_free(struct tracepoints *t);	/* NULL is fine */
/*
 * The @i-th tracepoint that has to be recorded and this kernel has: number and names; those that
 * only tell which process a task belongs to are among them. False past the end.
 */
bool tracepoint_at(const struct tracepoints *t, unsigned i, uint32_t *id, const char **system,
		   const char **name);
/*
 * What of the condition on the @i-th the kernel's tracer can look at itself, see kfilter.h; *out is
 * to be freed, NULL: nothing. 0 or -ENOMEM.
 */
int tracepoint_filter(const struct tracepoints *t, unsigned i, char **out);
/* Leaves out those that @may says no to. 0 or -ENOMEM. */
int tracepoint_keep(struct tracepoints *t, bool (*may)(void *arg, uint32_t id), void *arg);
/* Is there a tracepoint that tells event @id? */
bool tracepoint_tells(const struct tracepoints *t, unsigned id);
/* What is wanted and no tracepoint tells is said; -EOPNOTSUPP with words if that is all of it. */
int tracepoint_lacks(const struct tracepoints *t);
/* Takes all tasks of /proc for known. 0 or -ENOMEM. */
int tracepoint_tasks(struct tracepoints *t);
/*
 * The virtual event of the @n bytes at @p in @rec (VIRT_REC_MAX bytes, aligned to 8); task and
 * flags of @ctx are taken from the record. Its size; 0: none that is wanted; or -ENOMEM.
 */
int tracepoint_turn(struct tracepoints *t, const uint8_t *p, size_t n, struct virt_ctx *ctx,
		    void *rec);
/* stream.lost of @count records before @ctx. Its size. */
int tracepoint_lost(struct tracepoints *t, const struct virt_ctx *ctx, uint64_t count, void *rec);

#endif
