/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_VIRT_PRIV_H
#define HWT_VIRT_PRIV_H

/* What the files of this folder share: the state of a capture, and how a map makes its record. */
#include <string.h>

#include "../base/idmap.h"
#include "../base/vec.h"
#include "virt.h"

#define UNKNOWN32 UINT32_MAX
#define UNKNOWN64 UINT64_MAX

enum virt_arch { ARCH_UNKNOWN, ARCH_X86_64, ARCH_X86_32, ARCH_ARM64, ARCH_ARM, ARCH_OTHER };

/* How sched_switch tells the state of the task that leaves. */
struct virt_states {
	uint32_t of[16];	/* enum of task_state of each bit, UNKNOWN32 */
	unsigned bits;		/* that mean a state; any above them: preempted */
	unsigned noload;	/* bit that makes "wait" an idle kernel thread, 0: none */
};

struct virt_cpu {
	int32_t running;	/* task, -1 not known */
	uint32_t idle;		/* idle state that it is in, UNKNOWN32 */
};

struct virt_state {
	struct idmap tasks;	/* tid to process << 1 | new, 0: not known */
	struct idmap cpu_of;	/* CPU to index in @cpus */
	struct vec cpus;
	struct virt_states states;
	enum virt_arch arch;
	bool formatted;		/* @states are those of a format text */
	bool raw_syscalls;	/* each call is told by one event for all calls */
	/* the last call that an event of its own told: the event for all calls may tell it again */
	int32_t call_tid;
	uint32_t call_nr, call_id;
};

/* One instance on its way. */
struct virt_in {
	const struct virt_map *m;
	struct virt_state *s;
	const struct virt_ctx *c;
	const struct virt_get *g;
};

#define ON_LINUX	(1 << VIRT_LINUX)
#define ON_LTTNG	(1 << VIRT_LTTNG)

struct virt_map {
	uint8_t on;		/* bits of providers */
	uint8_t arg;		/* of @make */
	uint16_t id;		/* of the record; 0: makes none */
	uint16_t size;
	const char *system;	/* of Linux */
	const char *name;	/* "x*": all that begin with x */
	/* 1: @rec is filled; 0: it is no such event; negative: no memory */
	int (*make)(const struct virt_in *in, void *rec);
	const char *text;	/* of @make */
};

/* A map to one event; @fn fills its struct. */
#define MAP(on, system, name, sec, ev, fn, ...) \
	{ on, .id = HWT_ID_##sec##_##ev, .size = sizeof(struct hwt_rec_##sec##_##ev), \
	  system, name, fn, __VA_ARGS__ }

/* Tables of the files, each ends with an empty name. */
extern const struct virt_map virt_sched_maps[], virt_irq_maps[], virt_timer_maps[],
	virt_syscall_maps[], virt_device_maps[], virt_memory_maps[];

struct virt_cpu *virt_cpu_of(struct virt_state *s, int32_t cpu, bool make);
/* Told by virt_new_task(), and its fork was not. */
bool virt_is_new(const struct virt_state *s, int32_t tid);
void virt_task_state(const struct virt_state *s, uint64_t v, uint32_t *state, uint32_t *preempted);

/* These leave @v as it is where the source has no such field. */
static inline bool get_u64(const struct virt_in *in, const char *field, __u64 *v)
{
	uint64_t n;

	if (in->g->number(in->g->arg, field, &n) <= 0)
		return false;
	*v = n;
	return true;
}

static inline bool get_u32(const struct virt_in *in, const char *field, uint32_t *v)
{
	__u64 n;

	if (!get_u64(in, field, &n))
		return false;
	*v = (uint32_t)n;
	return true;
}

static inline bool get_s32(const struct virt_in *in, const char *field, int32_t *v)
{
	__u64 n;

	if (!get_u64(in, field, &n))
		return false;
	*v = (int32_t)n;
	return true;
}

static inline bool get_name(const struct virt_in *in, const char *field, char out[16])
{
	const char *p;
	size_t n;

	if (in->g->string(in->g->arg, field, &p, &n) <= 0)
		return false;
	virt_set_name(out, p, n);
	return true;
}

/* A task, and its process: told (LTTng) or known. False if there is no task. */
bool virt_get_task(const struct virt_in *in, const char *tid_field, const char *pid_field,
		   int32_t *pid, int32_t *tid);

#endif
