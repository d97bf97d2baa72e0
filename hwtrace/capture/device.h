/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_DEVICE_H
#define HWT_CAPTURE_DEVICE_H

/* The device of the kernel module (hwtrace/kmod.h): opening it, and what it can give. */
#include <stdbool.h>
#include <stdint.h>

#include <hwtrace/err.h>
#include <hwtrace/kmod.h>

/* A file that reads do not wait for. A negative code with words in @diag (id 182). */
int device_open(int *fd, struct hwt_kmod_info *info, struct hwt_diag *diag);
/* What the module says of an event; flags 0: it knows none of that id. */
struct hwt_kmod_event device_event(int fd, const struct hwt_kmod_info *info, unsigned id);
/* This kernel can give it, and to this user. */
bool device_gives(const struct hwt_kmod_info *info, const struct hwt_kmod_event *e);
/*
 * Words for a session that was refused with @err (negative), if the reason is that there are too
 * many: who has them, as far as this user may know (id 197). False: it is another reason.
 */
bool device_full(int fd, const struct hwt_kmod_info *info, uint64_t bytes, int err,
		 struct hwt_diag *diag);

#endif
