/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_KMACHINE_H
#define TESTS_KMACHINE_H

/*
 * A small machine of two CPUs that makes each of the virtual events and keeps what events.def says
 * of them by construction.
 */
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/uapi.h>

#define HWT_EVENT(sec, name, number, since, stamp, order, often) \
	struct hwt_rec_##sec##_##name sec##_##name;
union kmachine_rec {
	struct hwt_rec rec;
#include <hwtrace/events.def>
	char bytes[320];
};

struct kmachine_item {
	union kmachine_rec r;
	int32_t cpu;
	uint64_t time;
	uint8_t clock;
};

#define KMACHINE_MAX 40000

struct kmachine {
	struct kmachine_item items[KMACHINE_MAX];
	size_t n;
	int32_t running[2];
	char names[64][16];	/* of tasks by number, those above share the last */
	int32_t roamer_cpu;
};

void kmachine_run(struct kmachine *m, unsigned rounds);

#endif
