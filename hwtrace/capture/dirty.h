/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_DIRTY_H
#define HWT_CAPTURE_DIRTY_H

/*
 * Tracepoints of this kernel that are no virtual events ("dirty"), as events of a recording's own:
 * each scalar becomes a number of 64 bits, each text or array a text.
 */
#include <hwtrace/abi.h>
#include <hwtrace/err.h>

#include "../base/strlist.h"
#include "../virt/virt.h"

struct dirty;
struct trace_fmt_field;

#define DIRTY_MAX	2000	/* tracepoints of a recording */

/*
 * Those that the patterns ("kmem:kmalloc", "kmem:*") name, with ids from @id on. -HWT_E_FILTER with
 * words in @diag (id 183) if one of them names none, or there are more than @max; or why tracefs
 * can not be read (id 180).
 */
int dirty_new(struct dirty **out, const struct strlist *patterns, unsigned id, unsigned max,
	      struct hwt_diag *diag);
void dirty_free(struct dirty *d);	/* NULL is fine */
/* Their table, in order of names: "kmem:kmalloc". */
const struct hwt_abi_own *dirty_own(const struct dirty *d, unsigned *n);
/* The @i-th tracepoint: its number here and its names; false past the end. */
bool dirty_at(const struct dirty *d, unsigned i, uint32_t *id, const char **system,
	      const char **name);
/* How the kernel has the @k-th field of the @i-th, which are below the numbers of both. */
const struct trace_fmt_field *dirty_field(const struct dirty *d, unsigned i, unsigned k);
/*
 * The record of the @i-th from the @n bytes at @p, in @rec (VIRT_REC_MAX bytes, aligned to 8). What
 * lies outside of the record is 0 or empty; texts that do not fit are cut. Returns its size.
 */
int dirty_make(const struct dirty *d, unsigned i, const uint8_t *p, size_t n,
	       const struct virt_ctx *ctx, void *rec);

#endif
