/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_KERNEL_H
#define HWT_CAPTURE_KERNEL_H

/*
 * Events of the kernel of this machine, on the same counter as the trace: an instance of tracefs
 * with its clock set to the counter, turned into the virtual events of <hwtrace/events.def>.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/err.h>

struct kernel;
struct hwt_rec;

/*
 * Makes the instance and starts it for @cpu, without what process @tracer does. A negative code
 * with words in @diag if the system does not permit it.
 */
int kernel_open(struct kernel **out, int cpu, int32_t tracer, struct hwt_diag *diag);
/* Gives all events so far, in order of time, to @put; its negative code ends it. */
int kernel_read(struct kernel *k, int (*put)(void *arg, const struct hwt_rec *rec), void *arg);
/* Takes the instance away. NULL is fine. */
void kernel_close(struct kernel *k);

#endif
