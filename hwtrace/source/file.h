/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_FILE_H
#define HWT_SOURCE_FILE_H

/* A regular file read through one bounded view. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/err.h>

struct file {
	char *path;
	const uint8_t *p;	/* all bytes: mapped, or read if small; NULL if empty */
	uint64_t size;
	bool scratch;		/* made by file_spool_new(): no input of the user */
	int fd;			/* -1 for a memory file */
	uint8_t how;		/* private: how @p is to be given back */
};

/*
 * Opens @path; "-" is standard input, spooled to an unlinked file in $TMPDIR or /tmp. FIFOs given
 * by name and
 * anything that is no regular file, except standard input, are refused (E001): a reader must not
 * hang. A file above 1 MiB is mapped and must not be cut while it is open.
 */
int file_open(struct file **out, const char *path, struct hwt_diag *diag);
/*
 * A view of memory that the caller keeps alive, for tests and fuzzers; @name is used in messages.
 */
int file_mem(struct file **out, const char *name, const void *p, size_t n);
void file_close(struct file *f);	/* NULL is fine */

/*
 * A file without a name in $TMPDIR or /tmp, for bytes that must lie in a row and must not stay in
 * memory. Written first, then mapped once; @p is NULL before. Negated errno on failure; after a
 * failed write what was written before is good and nothing more may be written.
 */
int file_spool_new(struct file **out, const char *name);
int file_spool_write(struct file *f, const void *p, size_t n);
int file_spool_map(struct file *f);

/*
 * Tells the system that the whole pages in [from, to) need not stay resident. They can still be
 * read.
 */
void file_done(const struct file *f, uint64_t from, uint64_t to);
/*
 * The same for what lies before @off, from @base on, for who reads forwards. Cheap: the system
 * hears of it once in a MiB. *@told is the caller's, zero when a part begins.
 */
#define FILE_DONE_STEP	(1u << 20)	/* bytes between two hints to the system */
void file_give_back(const struct file *f, uint64_t base, uint64_t off, uint64_t *told);
static inline void file_done_before(const struct file *f, uint64_t base, uint64_t off,
				    uint64_t *told)
{
	if (off >= *told + FILE_DONE_STEP)
		file_give_back(f, base, off, told);
}

#endif
