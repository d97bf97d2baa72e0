/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_PROC_H
#define HWT_CAPTURE_PROC_H

/* A process that is recorded: its memory, what it has mapped, and the code pages that ran. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/err.h>

#define PROC_PAGE	4096u

struct proc_map {
	uint64_t start, end, off;
	char *path;		/* as /proc/PID/maps has it, "" if none, "[vdso]"; owned */
	bool file;		/* @path is that of a file */
	bool deleted;		/* its name is gone, or names another file now */
	bool told;		/* the owner's */
};

struct proc_page {
	uint64_t addr;
	uint64_t tick;		/* when code in it ran last */
	uint8_t bytes[PROC_PAGE];
};

#define PROC_BEGINS	4	/* as many as there are debug registers */
#define PROC_ENDS	32

struct proc_place { uint64_t addr; uint32_t window; };

struct proc {
	int32_t pid;
	uint32_t refs;		/* threads */
	uint64_t since;		/* tick of its exec or fork, 0: it was there before */
	int mem;		/* /proc/PID/mem, -1 */
	struct proc_map *maps;	/* executable ones, sorted */
	size_t nmaps;
	struct proc_page **pages;	/* open hash, @npages of @cap */
	size_t npages, cap;
	struct proc_place begins[PROC_BEGINS], ends[PROC_ENDS];	/* of windows */
	uint32_t nbegins, nends;
	bool ignores_trap;	/* SIGTRAP: may not be stepped */
	bool catches_trap;	/* has a handler for it */
	uint32_t calls;		/* that were looked at since exec, outside of windows */
	bool resolved;		/* all symbols of windows were found */
	uint64_t entry;		/* breakpoint there until they are, 0: none */
};

int proc_new(struct proc **out, int32_t pid);
void proc_free(struct proc *p);		/* NULL is fine */
/* Another program runs: forgets all, opens its memory. */
int proc_exec(struct proc *p);
/* Bytes of memory at @addr: how many could be read. */
size_t proc_read(const struct proc *p, uint64_t addr, void *buf, size_t n);
/*
 * Reads /proc/PID/maps again. Maps that are as before keep @told. A negated errno if it can not be
 * read.
 */
int proc_remap(struct proc *p);
const struct proc_map *proc_map(const struct proc *p, uint64_t addr);

/*
 * The page of @addr as it was when code last ran in it; *@fresh: it never did. NULL without memory
 * or when there are PROC_PAGES of them.
 */
#define PROC_PAGES	(1u << 18)	/* of code in a process: 1 GiB */
struct proc_page *proc_page(struct proc *p, uint64_t addr, bool *fresh);

/* A number of /proc/PID/status ("Tgid", "TracerPid"), decimal; -1 if not there. */
int64_t proc_status(int32_t pid, const char *key);
/* The signals of /proc/PID/status ("SigPnd"). */
uint64_t proc_signals(int32_t pid, const char *key);
/* Name of a thread, "" if it is gone. */
void proc_comm(int32_t tid, char out[16]);
/* Entry of the auxiliary vector, 0 if not there. */
uint64_t proc_auxv(int32_t pid, uint64_t type);

/*
 * Looks for a program as execvp() does and checks that it can be stepped: 0 with its path in @out,
 * or a negative code with words in @diag.
 */
int proc_find(const char *name, char *out, size_t size, struct hwt_diag *diag);

#endif
