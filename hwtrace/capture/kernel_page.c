/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <hwtrace/event.h>
#include <hwtrace/uapi.h>

#include "../base/cur.h"
#include "kernel_page.h"

struct kpage_turn {
	const char *group, *name, *filter;
	const char *field[KPAGE_FIELDS];	/* what hwtrace/virt reads of it */
};

/* One record of the kernel: its bytes, and where its fields are. */
struct raw {
	const uint8_t *p;
	size_t n;
	const struct kpage_event *ev;
};

static const struct ring_field *field_of(const struct raw *r, const char *name)
{
	const char *const *v = r->ev->turn->field;

	for (unsigned i = 0; i < KPAGE_FIELDS && v[i]; i++)
		if (!strcmp(v[i], name))
			return &r->ev->field[i];
	return NULL;
}

static int load(const struct raw *r, const struct ring_field *f, uint64_t *v)
{
	struct cur c = cur_new(r->p, r->n, false);

	cur_skip(&c, f->off);
	switch (f->size) {
	case 1: *v = cur_u8(&c); break;
	case 2: *v = cur_u16(&c); break;
	case 4: *v = cur_u32(&c); break;
	case 8: *v = cur_u64(&c); break;
	default: return 0;
	}
	return !c.bad;
}

static int number(void *arg, const char *name, uint64_t *v)
{
	const struct ring_field *f = field_of(arg, name);

	return f && !f->far ? load(arg, f, v) : 0;
}

/*
 * A text: a fixed array, or at a place that a word tells, offset and, in the upper half, length.
 * Which one it is for an event differs from kernel to kernel.
 */
static int string(void *arg, const char *name, const char **p, size_t *n)
{
	const struct raw *r = arg;
	const struct ring_field *f = field_of(r, name);
	struct cur c = cur_new(r->p, r->n, false);
	uint64_t at;
	size_t off;

	if (!f)
		return 0;
	off = f->off;
	*n = f->size;
	if (f->far) {
		if (!load(r, f, &at))
			return 0;
		off = (at & 0xffff) + (f->relative ? off + *n : 0);
		*n = at >> 16 & 0xffff;
	}
	cur_skip(&c, off);
	*p = (const char *)cur_take(&c, *n);
	return *p != NULL;
}

/* What the tracer itself makes happen is left out: %d stands for its number. */
#define NOT_OURS	"common_pid != %d"
#define NOT_TO_US	"common_pid != %d && pid != %d"

#define WAKE	{ "comm", "pid", "prio", "target_cpu" }

static const struct kpage_turn turns[] = {
	{ "irq", "irq_handler_entry", "", { "irq", "name" } },
	{ "irq", "irq_handler_exit", "", { "irq", "ret" } },
	{ "irq_vectors", "local_timer_entry", "", { "vector" } },
	{ "irq_vectors", "local_timer_exit", "", { "vector" } },
	{ "irq", "softirq_raise", "", { "vec" } },
	{ "irq", "softirq_entry", "", { "vec" } },
	{ "irq", "softirq_exit", "", { "vec" } },
	{ "sched", "sched_waking", NOT_TO_US, WAKE },
	{ "sched", "sched_wakeup", NOT_TO_US, WAKE },
	{ "sched", "sched_wakeup_new", NOT_TO_US, WAKE },
	{ "sched", "sched_migrate_task", NOT_TO_US, { "comm", "pid", "orig_cpu", "dest_cpu" } },
	/* SIGTRAP is how each step is told */
	{ "signal", "signal_generate", NOT_TO_US " && sig != 5",
	  { "sig", "code", "comm", "pid", "group", "result" } },
	{ "exceptions", "page_fault_user", NOT_OURS, { "address", "ip", "error_code" } },
};

#define NTURNS	(sizeof(turns) / sizeof(turns[0]))
_Static_assert(NTURNS <= KPAGE_EVENTS, "room for all kinds");

bool kpage_wanted(unsigned i, const char **group, const char **event, const char **filter)
{
	if (i >= NTURNS)
		return false;
	*group = turns[i].group;
	*event = turns[i].name;
	*filter = turns[i].filter;
	return true;
}

bool kpage_format(struct kpage *k, unsigned i, const char *text)
{
	const char *id = strstr(text, "ID:");
	struct kpage_event *e;

	if (i >= NTURNS || k->nevents == KPAGE_EVENTS || !id)
		return false;
	e = &k->events[k->nevents];
	*e = (struct kpage_event){ .turn = &turns[i], .id = (uint32_t)strtoul(id + 3, NULL, 10),
		.map = virt_find(VIRT_LINUX, turns[i].group, turns[i].name) };
	if (!e->map)
		return false;
	for (unsigned f = 0; f < KPAGE_FIELDS && turns[i].field[f]; f++)
		if (!ring_field(text, turns[i].field[f], &e->field[f]))
			return false;
	k->nevents++;
	return true;
}

int kpage_init(struct kpage *k)
{
	struct utsname u;
	int rc;

	*k = (struct kpage){ 0 };
	rc = virt_state_new(&k->virt);
	if (!rc && !uname(&u))
		virt_state_kernel(k->virt, u.machine, u.release);
	return rc;
}

void kpage_fini(struct kpage *k)
{
	virt_state_free(k->virt);
}

bool kpage_header(struct kpage *k, const char *text)
{
	return ring_layout_read(&k->layout, text);
}

/* One record with its common fields: type (16 bits), flags, preempt count, pid (32 bits). */
static int turn(struct kpage *k, const uint8_t *p, size_t n, uint64_t time,
		int (*put)(void *arg, const struct hwt_rec *rec), void *arg)
{
	struct cur c = cur_new(p, n, false);
	uint16_t type = cur_u16(&c);
	uint8_t flags = cur_u8(&c), preempt = cur_u8(&c);
	struct raw r = { p, n, NULL };
	const struct virt_get g = { .number = number, .string = string, .arg = &r };
	struct virt_ctx ctx = { .time = time, .cpu = HWT_NONE, .pid = -1,
		.flags = virt_flags(flags, preempt) };
	union { struct hwt_rec rec; char bytes[VIRT_REC_MAX]; } e;
	int rc;

	ctx.tid = (int32_t)cur_u32(&c);
	for (uint32_t i = 0; i < k->nevents && !r.ev; i++)
		if (k->events[i].id == type)
			r.ev = &k->events[i];
	rc = c.bad || !r.ev ? 0 : virt_make(r.ev->map, k->virt, &ctx, &g, &e);
	if (rc <= 0) {
		k->left_out++;
		return rc;
	}
	k->turned++;
	return put(arg, &e.rec);
}

static int lost(struct kpage *k, const struct ring_page *w,
		int (*put)(void *arg, const struct hwt_rec *rec), void *arg)
{
	struct virt_ctx ctx = { .time = w->time, .cpu = HWT_NONE, .pid = -1, .tid = -1 };
	union { struct hwt_rec rec; struct hwt_rec_stream_lost lost; } e;

	virt_make_lost(k->virt, &ctx, w->missed, &e);
	return put(arg, &e.rec);
}

int kpage_read(struct kpage *k, const void *page, size_t n,
	       int (*put)(void *arg, const struct hwt_rec *rec), void *arg)
{
	struct ring_page w;
	struct ring_rec r;
	int rc = 0;

	ring_page_start(&w, &k->layout, page, n);
	if (w.lost)
		rc = lost(k, &w, put, arg);
	while (!rc && ring_page_next(&w, &r))
		rc = turn(k, r.p, r.size, r.time, put, arg);
	return rc;
}
