/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_RAW_H
#define HWT_SOURCE_RAW_H

/* Raw dumps with the text that describes them, without the file system. README.md has its keys. */
#include "../base/ini.h"
#include "capture.h"

struct raw_config {
	struct ini ini;		/* empty: no text was given */
	const char *dir;	/* of the text, for dump=; NULL: no files are opened */
	const char *cpu;	/* --cpu, NULL */
};

/* Each takes @f, also on failure. A bad value is an error (E085), an unknown key a note. */
int raw_read_pt(struct capture *c, struct file *f, const struct raw_config *cfg,
		struct hwt_diag *diag);
int raw_read_cs(struct capture *c, struct file *f, const struct raw_config *cfg,
		struct hwt_diag *diag);

/* "6/85/4", "6/85": false if it is neither or does not fit. */
bool raw_x86_cpu(struct trace_cfg *g, const char *s);

#endif
