/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_src.h"

#define CONFIGR_VMIDOPT (1u << 15)	/* TRCCONFIGR: VMID packets hold CONTEXTIDR_EL2 */

void src_init(struct src *s, const struct flow_args *a, struct emit *emit,
	      const struct trace_cfg *cfg)
{
	bool map = a->tsc && time_map_valid(a->tsc);

	*s = (struct src){
		.cfg = cfg, .emit = emit, .machine = a->machine, .buf = a->src,
		.id = cfg->trace_id, .map = map ? a->tsc : NULL,
		.clock = map ? HWT_CLOCK_BASE : HWT_CLOCK_CS, .time = HWT_TIME_UNKNOWN,
		.notes = a->notes,
		.sync_off = HWT_NO_OFF, .span_pid = HWT_NONE, .span_tid = HWT_NONE,
		.pid = HWT_NONE, .tid = HWT_NONE, .code_pid = HWT_NONE,
	};
	if (cfg->proto == HWT_PROTO_ETM4 || cfg->proto == HWT_PROTO_ETE)
		s->by_vmid = cfg->r.etm4.configr & CONFIGR_VMIDOPT;
}

void src_start(struct src *s)
{
	s->fed = s->packed = s->holed = 0;
	s->fed_any = false;
	s->hunting = true;
	s->hunt_cause = HWT_GAP_NO_SYNC;
	s->hunt_code = 0;
	s->sync_off = HWT_NO_OFF;
	s->last_size = 0;
}

void src_span(struct src *s, const struct trace_span *sp, const struct trace_buf *b)
{
	s->start = s->end = s->last_off = sp->pos;
	s->span_pid = sp->pid != HWT_NONE ? sp->pid : b->pid;
	s->span_tid = sp->tid != HWT_NONE ? sp->tid : b->tid;
	s->pid = s->code_pid = s->span_pid;
	s->tid = s->span_tid;
}

uint64_t src_off(const struct src *s, uint32_t index)
{
	return s->base + (uint64_t)(int64_t)(int32_t)(index - (uint32_t)s->base);
}

struct hwt_event src_event(const struct src *s, unsigned type, uint64_t off)
{
	return (struct hwt_event){
		.time = s->time, .span = s->back ? FLOW_REACH_UNKNOWN : HWT_SPAN_UNKNOWN,
		.type = (uint16_t)type,
		.clock = s->clock, .cpu = s->cfg->cpu, .pid = s->pid, .tid = s->tid,
		.src = s->buf, .off = off,
	};
}

void src_emit(struct src *s, const struct hwt_event *ev)
{
	emit_event(s->emit, s->emit->ncpus > 1 ? s->id : 0, ev);
}

void src_hole_flush(struct src *s)
{
	struct hwt_event ev;

	if (!s->hole.open)
		return;
	s->hole.open = false;
	ev = src_event(s, HWT_EV_GAP, s->hole.off);
	ev.u.gap.bytes = s->hole.bytes;
	if (hwt_gap_has_addr(s->hole.cause))
		ev.u.gap.addr = HWT_NO_ADDR;
	ev.u.gap.cause = (int16_t)s->hole.cause;
	ev.u.gap.code = s->hole.code;
	ev.u.gap.trace_id = s->id;
	src_emit(s, &ev);
}

void src_hole(struct src *s, uint64_t off, uint64_t bytes, unsigned cause, int32_t code)
{
	/* packets of half bytes (STM) overlap: never more than what came in */
	if (bytes > s->fed - s->holed)
		bytes = s->fed - s->holed;
	if (s->hole.open && (s->hole.cause != cause || s->hole.code != code))
		src_hole_flush(s);
	if (!s->hole.open)
		s->hole = (struct src_hole){ .open = true, .cause = (uint16_t)cause,
					     .code = code, .off = off };
	s->hole.bytes += bytes;
	s->holed += bytes;
}

void src_hole_at(struct src *s, uint64_t off, uint64_t addr, unsigned cause, int32_t code)
{
	struct hwt_event ev = src_event(s, HWT_EV_GAP, off);

	ev.u.gap.addr = addr;
	ev.u.gap.cause = (int16_t)cause;
	ev.u.gap.code = code;
	ev.u.gap.trace_id = s->id;
	src_emit(s, &ev);
}

void src_hunt(struct src *s, unsigned cause, int32_t code)
{
	s->hunting = true;
	s->hunt_cause = (uint16_t)cause;
	s->hunt_code = code;
}

void src_packet(struct src *s, uint64_t off, uint64_t size, bool sync)
{
	s->packed += size;
	s->last_off = off;
	s->last_size = size;
	if (sync) {
		s->hunting = false;
		s->sync_off = off;
	}
	if (s->hunting)
		src_hole(s, off, size, s->hunt_cause, s->hunt_code);
	else if (s->hole.open)
		src_hole_flush(s);
}

uint64_t src_settle(struct src *s, unsigned cause)
{
	uint64_t left = s->fed > s->packed ? s->fed - s->packed : 0, used;

	if (s->cfg->proto == HWT_PROTO_STM && left < 2)
		left = 0;	/* packets of half bytes */
	if (left)
		src_hole(s, s->last_size ? s->last_off + s->last_size : s->base, left,
			 s->hunting ? s->hunt_cause : cause, s->hunting ? s->hunt_code : 0);
	src_hole_flush(s);
	used = s->fed - s->holed;
	s->fed = s->packed = s->holed = 0;
	return used;
}

void src_timestamp(struct src *s, uint64_t ticks)
{
	uint64_t t = s->map ? time_map_ns_ordered(s->map, ticks) : ticks;

	if (t == HWT_TIME_UNKNOWN)
		return;
	if (ticks < s->ticks && s->notes)
		notes_add(s->notes, HWT_NOTE_WARN, 196, s->cfg->name, s->last_off,
			  "this timestamp is before the one it follows: the counter was set");
	s->ticks = ticks;
	s->back = s->time != HWT_TIME_UNKNOWN && t < s->time;
	if (!s->back)
		s->time = t;
}

int32_t src_owner(const struct src *s, bool id_valid, uint32_t id, bool vmid_valid, uint32_t vmid,
		  int32_t *tid)
{
	int32_t pid;

	if (s->by_vmid && vmid_valid)
		id = vmid;
	else if (!id_valid)
		return HWT_NONE;
	if (!s->machine)
		return HWT_NONE;
	*tid = (int32_t)id;
	pid = machine_aspace(s->machine, id);
	return pid != HWT_NONE ? pid : machine_pid(s->machine, (int32_t)id);
}
