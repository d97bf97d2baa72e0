/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_DEV_H
#define HWT_KMOD_DEV_H

int dev_init(void);
void dev_exit(void);

#endif
