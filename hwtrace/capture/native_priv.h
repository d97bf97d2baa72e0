/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_NATIVE_PRIV_H
#define HWT_CAPTURE_NATIVE_PRIV_H

/* What the files of the writer share. */
#include <dirent.h>

#include "../base/diag.h"
#include "../base/idmap.h"
#include "../source/native_fmt.h"
#include "native.h"

#define INI_BUF 16384		/* bytes of a section in memory: above one line, below ini.h's */
#define LINE_MAX_SIZE (3 * NATIVE_VALUE + 512)

enum native_sub { SUB_KERNEL, SUB_HW, SUB_IMAGES, SUB_DIRTY, SUBS };

/* A file that only grows. */
struct native_out {
	int fd;			/* -1: not open */
	uint64_t size;
	char name[80];		/* in the capture, for messages */
};

struct native_buf {
	struct native_out bin, idx;
	uint8_t *block;		/* NATIVE_BLOCK bytes */
	size_t fill;
	struct native_entry next;	/* of the block that is being filled */
};

struct native_copy { char *path; uint8_t id[20], id_size; };

/* kernel/ or dirty/: a CTF trace. */
struct native_cpu;
struct native_ctf {
	uint8_t sub;			/* enum native_sub */
	struct native_cpu **cpus;	/* in order of appearance */
	size_t ncpus;
	struct idmap cpu_of;		/* CPU number to index in @cpus */
	uint8_t uuid[16];
	char counter[33];
	uint64_t frequency;		/* of the counter, 0: not known */
	bool have_uuid;
	uint32_t contexts;
	const struct hwt_abi_own *own;	/* not ours */
	unsigned nown;
	bool described;			/* its metadata is written */
	uint64_t metadata;		/* bytes of it */
};

struct native_disk;
struct native_writer {
	char *dir;
	int dirfd, sub[SUBS];
	bool made;		/* @dir was not there */
	struct hwt_diag diag;	/* code 0: nothing is wrong */
	uint64_t bytes;
	struct native_out ini;
	char text[INI_BUF];	/* the section that is being filled */
	size_t len;
	char section[64];
	struct native_buf *bufs;
	size_t nbufs;
	struct native_buf pages;	/* no block of its own */
	struct native_copy *copies;
	size_t ncopies, nfiles;
	struct native_clock clock;	/* its strings are not kept */
	bool have_clock;
	struct native_ctf kernel, dirty;
	char host[65], label[65];	/* as native_set() has them, "" */
	uint64_t records;		/* of kernel/ and dirty/ */
	uint64_t readings;		/* of them: of clocks, given one by one */
	struct native_disk *disk;	/* NULL: the system puts it on the disk when it likes */
};

/* The error stays; its words are those of the first. Returns the code that stays. */
int native_fail(struct native_writer *w, int code, const char *file, const char *what);
/* The code that stayed, 0. */
static inline int native_failed(const struct native_writer *w)
{
	return w->diag.code;
}

/* Makes folder @sub, or opens the one that is there. 0 or a negative errno. */
int native_open_sub(struct native_writer *w, unsigned sub);
/* Opens a new file in folder @sub (SUBS: the capture's own). */
int native_open(struct native_writer *w, struct native_out *o, unsigned sub, const char *name);
int native_write(struct native_writer *w, struct native_out *o, const void *p, size_t n);
void native_shut(struct native_out *o);

/* One line "key=value" of hwtrace.ini; @value is escaped already. */
int native_line(struct native_writer *w, const char *section, const char *key, const char *value);
/* The section so far with its checksum, to the file. The next line begins a new one. */
int native_end_section(struct native_writer *w);

/* Folder @name of @dirfd, to read which files it has; the caller closes it. 0, or negative. */
int native_folder(DIR **out, int dirfd, const char *name);

/* A line of [end]: how long the file is. */
int native_end_file(struct native_writer *w, const struct native_out *o);

/* native_buf.c */
int native_flush_buf(struct native_writer *w, struct native_buf *b);
void native_free_buf(struct native_buf *b);
/* native_disk.c */
#define NATIVE_DISK_S	1	/* from one time to the next, seconds */
int native_disk_failed(struct native_writer *w);
int native_disk_now(struct native_writer *w);	/* by the caller itself */
void native_disk_stop(struct native_writer *w);
/* native_ctf.c */
int native_describe(struct native_writer *w, struct native_ctf *t);	/* its metadata, once */
int native_flush_cpus(struct native_writer *w);
int native_end_cpus(struct native_writer *w);	/* their lines of [end] */
void native_free_cpus(struct native_writer *w);

#endif
