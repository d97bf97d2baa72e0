/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_KSTATE_H
#define HWT_CAPTURE_KSTATE_H

#include <stdint.h>

struct native_writer;

/* Writes tasks and maps of code of process @pid, 0: of all. What is gone then is left out. */
int kstate_tell(struct native_writer *w, int32_t pid);

#endif
