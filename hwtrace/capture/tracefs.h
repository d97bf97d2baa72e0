/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_TRACEFS_H
#define HWT_CAPTURE_TRACEFS_H

/*
 * Files of the kernel's tracer, and instances of it of our own: nothing of what others trace is
 * touched. An instance is called after our process and when that began, so one that a killed
 * recorder has left behind is known (hwt_tracers_left()).
 */
#include <stdbool.h>

#include <hwtrace/err.h>

#define TRACEFS_DIR	128	/* bytes of the path of an instance */

/* Where it is mounted; NULL: nowhere. */
const char *tracefs_root(void);
/* The text of a small file, to be freed; NULL if it can not be read. */
char *tracefs_read(const char *dir, const char *name);
/* 0 or a negative errno. */
int tracefs_write(const char *dir, const char *name, const char *text);
/*
 * A new instance; @tag ("" or a letter) tells several of one process apart. A negative code with
 * words in @diag (id 180) if the system does not permit it.
 */
int tracefs_instance(char dir[TRACEFS_DIR], const char *tag, struct hwt_diag *diag);
void tracefs_remove(const char *dir);
/* Removes those that killed recorders have left behind. */
void tracefs_clean(void);

#endif
