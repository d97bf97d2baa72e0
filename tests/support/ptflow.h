/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PTFLOW_H
#define TESTS_PTFLOW_H

/* An Intel PT buffer made by hand, with code, and what flow makes of it as text. */
#include "../../decoders/flow/flow.h"

#define PTFLOW_SPANS	8

struct ptflow {
	struct notes notes;
	struct hwt_image *image;
	struct machine *machine;
	struct time_map tsc;	/* zeroed: none */
	struct trace_buf buf;
	struct trace_cfg cfg;
	struct trace_span spans[PTFLOW_SPANS];
	struct hwt_interest want;
	struct hwt_flow_stats stats;	/* after ptflow_run() */
};

/* True, and the reason is on stdout, where the library has no Intel PT flow. */
bool ptflow_missing(void);
/* All levels default to RANGES. Abort the test on failure. */
void ptflow_init(struct ptflow *f);
void ptflow_fini(struct ptflow *f);
/* Code bytes as hex at @addr; in a file, so that libipt's own cache is used, if @file is a path. */
void ptflow_code(struct ptflow *f, int32_t pid, uint64_t addr, const char *hex);
void ptflow_code_file(struct ptflow *f, int32_t pid, uint64_t addr, const char *file,
		      uint64_t size);
struct trace_span *ptflow_span(struct ptflow *f, const void *p, size_t n);
/*
 * Runs the stream to its end, checks what must hold for every input (bytes are accounted for
 * exactly, times do not go back, gaps add up), and writes one line an event:
 *
 *	on 401000 | off 401004 cut | 401000-401004 2 branch | exc 401004>ffffffff81e00000
 *	gap overflow 27+0 | gap no-image 41+4 at 401020 | call 401000>401030 | ...
 */
const char *ptflow_run(struct ptflow *f, char *buf, size_t n);

#endif
