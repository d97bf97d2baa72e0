/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_DOCTOR_H
#define HWT_CAPTURE_DOCTOR_H

/*
 * What a machine can record, from files that the kernel keeps. Nothing is switched on, and no file
 * is read behind which the kernel reads a register of a trace unit (mgmt/ and trcidr/ of CoreSight
 * devices): a unit without power may stop the bus.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/capture.h>

struct doctor {
	int root;			/* directory of a copied tree; -1: this machine */
	hwt_doctor_fn put;
	void *arg;
	struct hwt_doctor_item item;	/* being filled */
	unsigned ways;			/* of recording that work, at least in part */
	/* facts that several items are made of */
	char arch[16];			/* "x86_64", "aarch64", "arm", or what uname says */
	char release[80];		/* of the kernel */
	char flags[8192];		/* of x86, between blanks */
	char vendor[32];
	char model[96];
	unsigned cpus;
	bool vm;			/* a hypervisor is below */
	bool root_user;
	uint64_t caps;			/* effective; bits of capabilities(7) */
	char lockdown[32];		/* "none", "integrity", "confidentiality"; "" not known */
	int paranoid;			/* perf_event_paranoid; 4 where not known */
};

/* Of capabilities(7). */
enum { DOCTOR_SYS_MODULE = 16, DOCTOR_SYS_PTRACE = 19, DOCTOR_SYS_ADMIN = 21, DOCTOR_PERFMON = 38 };

/* doctor_fs.c: files of the tree */
int doctor_open(const struct doctor *d, const char *path, int flags);
bool doctor_has(const struct doctor *d, const char *path);
/* The first @size - 1 bytes without blanks at the end; false, and "", if it can not be read. */
bool doctor_text(const struct doctor *d, const char *path, char *out, size_t size);
/* -1 if it can not be read. */
long doctor_number(const struct doctor *d, const char *path);
/* NULL if there is none; closedir() it. */
DIR *doctor_dir(const struct doctor *d, const char *path);
/* Is @word in a file of any size? */
bool doctor_grep(const struct doctor *d, const char *path, const char *word);

/* doctor.c */
bool doctor_flag(const struct doctor *d, const char *flag);
bool doctor_may(const struct doctor *d, unsigned cap);
/* Adds to a text of the item; what has no room is cut. */
void doctor_add(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* That nobody has recorded with hardware so far. */
void doctor_untried(struct doctor *d);
/* Who records with a trace unit through perf: it can not be had meanwhile. */
void doctor_taken(struct doctor *d);
#define doctor_say(field, ...)	doctor_add(field, sizeof(field), __VA_ARGS__)

/* Each fills d->item. */
void doctor_pt(struct doctor *d);
void doctor_coresight(struct doctor *d);
void doctor_ete(struct doctor *d);
void doctor_module(struct doctor *d);
void doctor_tracefs(struct doctor *d);
void doctor_perf(struct doctor *d);
void doctor_code(struct doctor *d);
void doctor_model(struct doctor *d);
void doctor_counter(struct doctor *d);

#endif
