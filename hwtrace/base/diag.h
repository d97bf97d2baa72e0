/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_DIAG_H
#define HWT_BASE_DIAG_H

#include <stdint.h>

#include <hwtrace/err.h>
#include <hwtrace/session.h>

/*
 * Fills @d (NULL is fine) and returns @code, so that "return diag_set(...)" is the whole error
 * path.
 * @id is a number of errors.def, @file and @fmt may be NULL. Text is cut, never overrun.
 */
int diag_set(struct hwt_diag *d, int code, unsigned id, const char *file, uint64_t off,
	     const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/*
 * Notes: what the user should know about an input. Equal (id, file) pairs past the 16th are only
 * counted.
 */
struct notes {
	struct hwt_note *v;
	uint32_t n, cap;
};

void notes_add(struct notes *ns, unsigned severity, unsigned id, const char *file, uint64_t off,
	       const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void notes_free(struct notes *ns);

#endif
