/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the map of an event, and making records with it. */
#include "virt.h"

#include <hwtrace/abi.h>
#include <hwtrace/event.h>

#include "priv.h"

#define LINE 8	/* texts fill a multiple of so many bytes */

static const struct virt_map *const tables[] = {
	virt_sched_maps, virt_irq_maps, virt_timer_maps, virt_syscall_maps, virt_device_maps,
	virt_memory_maps,
};

static bool fits(const struct virt_map *m, enum virt_provider p, const char *system,
		 const char *name)
{
	size_t n = strlen(m->name);

	if (!(m->on >> p & 1))
		return false;
	if (p == VIRT_LINUX && m->system && (!system || strcmp(system, m->system)))
		return false;
	return m->name[n - 1] == '*' ? !strncmp(name, m->name, n - 1) : !strcmp(name, m->name);
}

const struct virt_map *virt_find(enum virt_provider p, const char *system, const char *name)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct virt_map *m = tables[t]; m->name; m++)
			if (fits(m, p, system, name))
				return m;
	return NULL;
}

const struct virt_map *virt_at(enum virt_provider p, unsigned i, const char **system,
			       const char **name)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct virt_map *m = tables[t]; m->name; m++) {
			if (!(m->on >> p & 1) || i--)
				continue;
			*system = m->system;
			*name = m->name;
			return m;
		}
	return NULL;
}

unsigned virt_id(const struct virt_map *m)
{
	return m->id;
}

static void not_known(const struct hwt_abi_event *e, void *rec)
{
	static const int32_t least32 = INT32_MIN;
	static const int64_t least64 = INT64_MIN;
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);

	for (; n; n--, f++) {
		char *p = (char *)rec + f->offset;

		switch (f->type) {
		case HWT_ABI_s32: memcpy(p, &least32, sizeof(least32)); break;
		case HWT_ABI_s64: memcpy(p, &least64, sizeof(least64)); break;
		case HWT_ABI_name16: memcpy(p, "-\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16); break;
		case HWT_ABI_code16: case HWT_ABI_id24: case HWT_ABI_text:
			memset(p, 0, f->size);
			break;
		default: memset(p, 0xff, f->size);
		}
	}
}

int virt_blank(const struct virt_state *s, const struct virt_ctx *c, unsigned id, void *rec)
{
	const struct hwt_abi_event *e = hwt_abi_event_by_id(id);
	struct hwt_rec *h = rec;

	if (!e)
		return 0;
	*h = (struct hwt_rec){ .time = c->time, .id = (uint16_t)id, .size = e->size,
		.version = HWT_ABI_VERSION, .flags = c->flags,
		.hit = c->flags & HWT_REC_HIT ? c->hit : 0, .pid = c->pid, .tid = c->tid };
	if (h->tid < 0)
		h->tid = virt_running(s, c->cpu);
	if (h->pid < 0 && h->tid >= 0)
		h->pid = virt_pid(s, h->tid);
	if (!h->tid)
		h->pid = 0;
	not_known(e, rec);
	return e->size;
}

void virt_set_name(char out[16], const char *p, size_t n)
{
	n = strnlen(p, n < 15 ? n : 15);
	memset(out, 0, 16);
	memcpy(out, n ? p : "-", n ? n : 1);
}

int virt_set_text(void *rec, const char *p, size_t n)
{
	const struct hwt_abi_event *e;
	struct hwt_rec *h = rec;
	unsigned k;
	const struct hwt_abi_field *f;
	uint32_t size;

	e = hwt_abi_event_by_id(h->id);
	f = e ? e->fields(&k) : NULL;
	while (f && k && f->type != HWT_ABI_text)
		k--, f++;
	if (!f || !k)
		return h->size;
	n = strnlen(p, n);
	if (n >= HWT_TEXT_MAX) {
		n = HWT_TEXT_MAX - 1;
		h->flags |= HWT_REC_CUT;
	}
	if (!n) {
		p = "-";
		n = 1;
	}
	size = (uint32_t)(n + LINE) & ~(LINE - 1u);
	memset((char *)rec + e->size, 0, size);
	memcpy((char *)rec + e->size, p, n);
	memcpy((char *)rec + f->offset, &size, sizeof(size));
	h->size = (uint16_t)(e->size + size);
	return h->size;
}

int virt_make(const struct virt_map *m, struct virt_state *s, const struct virt_ctx *c,
	      const struct virt_get *g, void *rec)
{
	const struct virt_in in = { m, s, c, g };
	struct hwt_rec *h = rec;
	int rc = c->pid > 0 && c->tid > 0 ? virt_task(s, c->tid, c->pid) : 0;

	if (rc)
		return rc;
	if (m->id)
		virt_blank(s, c, m->id, rec);
	rc = m->make(&in, rec);
	if (rc <= 0 || !m->id)
		return rc < 0 ? rc : 0;
	rc = virt_note(s, rec, c->cpu);
	return rc ? rc : h->size;
}

int virt_make_lost(struct virt_state *s, const struct virt_ctx *c, uint64_t count, void *rec)
{
	struct hwt_rec_stream_lost *r = rec;

	virt_lost(s, c->cpu);
	virt_blank(s, c, HWT_ID_stream_lost, rec);
	r->count = count;
	r->cause = HWT_lost_cause_provider;
	r->event = 0;
	return r->rec.size;
}

bool virt_get_task(const struct virt_in *in, const char *tid_field, const char *pid_field,
		   int32_t *pid, int32_t *tid)
{
	if (!tid_field || !get_s32(in, tid_field, tid)) {
		if (!get_s32(in, pid_field, tid))
			return false;
	} else {
		get_s32(in, pid_field, pid);
	}
	if (*tid == in->c->tid && in->c->pid >= 0)
		*pid = in->c->pid;
	if (*pid < 0 || !*tid)
		*pid = virt_pid(in->s, *tid);
	return true;
}

/* include/linux/trace_events.h, enum trace_flag_type: bits were added, none changed. */
uint16_t virt_flags(unsigned flags, unsigned preempt_count)
{
	unsigned v = HWT_REC_CTX;

	v |= flags & 0x01 ? HWT_REC_IRQS_OFF : 0;
	v |= flags & 0x04 ? HWT_REC_RESCHED : 0;
	v |= flags & 0x08 ? HWT_REC_HARDIRQ : 0;
	v |= flags & 0x10 ? HWT_REC_SOFTIRQ : 0;
	v |= flags & 0x40 ? HWT_REC_NMI : 0;
	/* the upper half counts how often migration was forbidden, since 5.18 */
	v |= preempt_count & 0x0f ? HWT_REC_PREEMPT_OFF : 0;
	return (uint16_t)v;
}
