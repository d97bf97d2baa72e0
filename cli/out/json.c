/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON lines, schema version 1: see hwtrace-jsonl(5). A member is never renamed or retyped. */
#include "show.h"

#include <hwtrace/uapi.h>

void jsonl_init(struct jsonl *j, struct out *o, bool array)
{
	*j = (struct jsonl){ .o = o, .array = array };
	if (array)
		out_str(o, "[\n");
}

void jsonl_fini(struct jsonl *j)
{
	if (j->array)
		out_str(j->o, j->started ? "\n]\n" : "]\n");
}

void jsonl_key(struct jsonl *j, const char *key)
{
	if (j->member)
		out_ch(j->o, ',');
	j->member = true;
	out_ch(j->o, '"');
	out_str(j->o, key);
	out_str(j->o, "\":");
}

void jsonl_str(struct jsonl *j, const char *key, const char *v)
{
	jsonl_key(j, key);
	out_json_str(j->o, v ? v : "");
}

void jsonl_known(struct jsonl *j, const char *key, const char *v)
{
	if (v && *v)
		jsonl_str(j, key, v);
}

void jsonl_u64(struct jsonl *j, const char *key, uint64_t v)
{
	jsonl_key(j, key);
	out_udec(j->o, v);
}

void jsonl_hex(struct jsonl *j, const char *key, uint64_t v)
{
	jsonl_key(j, key);
	out_str(j->o, "\"0x");
	out_hex(j->o, v, 1);
	out_ch(j->o, '"');
}

void jsonl_bool(struct jsonl *j, const char *key, bool v)
{
	jsonl_key(j, key);
	out_str(j->o, v ? "true" : "false");
}

static void jsonl_dec(struct jsonl *j, const char *key, int64_t v)
{
	jsonl_key(j, key);
	out_dec(j->o, v);
}

static void jsonl_begin(struct jsonl *j)
{
	if (j->array && j->started)
		out_str(j->o, ",\n");
	j->started = true;
	j->member = false;
	out_ch(j->o, '{');
}

void jsonl_open(struct jsonl *j, const char *type)
{
	jsonl_begin(j);
	jsonl_str(j, "type", type);
}

void jsonl_close(struct jsonl *j)
{
	out_ch(j->o, '}');
	if (!j->array)
		out_nl(j->o);
}

void jsonl_header(struct jsonl *j, const struct hwt_session *s)
{
	struct hwt_capture_info info;

	hwt_session_info(s, &info);
	jsonl_begin(j);
	jsonl_u64(j, "v", 1);
	jsonl_str(j, "type", "header");
	jsonl_str(j, "format", info.format);
	jsonl_known(j, "path", info.path);
	jsonl_u64(j, "size", info.size);
	if (info.time_start != HWT_TIME_UNKNOWN)
		jsonl_u64(j, "time_start", info.time_start);
	jsonl_known(j, "clock", info.clock);
	jsonl_known(j, "arch", info.arch);
	jsonl_close(j);
}

/* One end of an interval; base ns may lie before the first timed thing by its error. */
static void jsonl_instant(struct jsonl *j, const struct show *v, uint64_t t, unsigned clock)
{
	if (clock == HWT_CLOCK_BASE)
		out_dec(j->o, (int64_t)(t - v->time_start));
	else
		out_udec(j->o, t);
}

void jsonl_length(struct jsonl *j, const char *key, struct hwt_interval v)
{
	if (v.lo == HWT_TIME_UNKNOWN)
		return;
	jsonl_key(j, key);
	out_fmt(j->o, "{\"lo\":%llu", (unsigned long long)v.lo);
	if (v.hi != HWT_TIME_UNKNOWN)
		out_fmt(j->o, ",\"hi\":%llu", (unsigned long long)v.hi);
	out_ch(j->o, '}');
}

void jsonl_interval(struct jsonl *j, const char *key, const struct show *v, uint64_t time,
		   uint32_t span, unsigned clock)
{
	if (time == HWT_TIME_UNKNOWN)
		return;
	jsonl_key(j, key);
	out_str(j->o, "{\"lo\":");
	jsonl_instant(j, v, time, clock);
	if (span != HWT_SPAN_UNKNOWN) {
		out_str(j->o, ",\"hi\":");
		jsonl_instant(j, v, time + span, clock);
	}
	out_ch(j->o, '}');
}

void jsonl_time(struct jsonl *j, const struct show *v, const struct hwt_event *ev)
{
	bool base = ev->clock == HWT_CLOCK_BASE;

	if (ev->time == HWT_TIME_UNKNOWN)
		return;
	jsonl_interval(j, base ? "time" : "ticks", v, ev->time, ev->span, ev->clock);
	if (!base)
		jsonl_str(j, "clock", hwt_clock_name(ev->clock));
}

void jsonl_common(struct jsonl *j, const struct show *v, const struct hwt_event *ev)
{
	if (ev->cpu != HWT_NONE)
		jsonl_dec(j, "cpu", ev->cpu);
	if (ev->pid != HWT_NONE)
		jsonl_dec(j, "pid", ev->pid);
	if (ev->tid != HWT_NONE)
		jsonl_dec(j, "tid", ev->tid);
	jsonl_time(j, v, ev);
	jsonl_u64(j, "src", ev->src);
	if (ev->off != HWT_NO_OFF)
		jsonl_u64(j, "off", ev->off);
}

static void jsonl_addr(struct jsonl *j, const char *key, uint64_t addr)
{
	if (addr != HWT_NO_ADDR)
		jsonl_hex(j, key, addr);
}

static void jsonl_sym(struct jsonl *j, struct show *v, const struct hwt_event *ev, uint64_t addr)
{
	struct hwt_where w = show_where(ev);
	struct hwt_symbol sym;

	if (addr == HWT_NO_ADDR || hwt_image_symbol(v->image, &w, addr, &sym) != 1)
		return;
	jsonl_str(j, "sym", sym.name);
	jsonl_u64(j, "sym_off", addr - sym.start);
}

static void jsonl_id(struct jsonl *j, unsigned trace_id)
{
	if (trace_id)
		jsonl_u64(j, "trace_id", trace_id);
}

static void jsonl_line(struct jsonl *j, struct show *v, const struct hwt_event *ev, uint64_t addr)
{
	struct hwt_where w = show_where(ev);
	struct hwt_line line;

	if (hwt_image_lines(v->image, &w, addr, &line, 1) < 1 || !line.file)
		return;
	jsonl_str(j, "file", line.file);
	jsonl_dec(j, "line", line.line);
}

static void jsonl_range(struct jsonl *j, struct show *v, const struct hwt_event *ev)
{
	unsigned size = 0;

	if (ev->type == HWT_EV_INSN) {
		jsonl_hex(j, "addr", ev->u.range.first);
		jsonl_sym(j, v, ev, ev->u.range.first);
		jsonl_str(j, "text", show_disasm(v, ev, ev->u.range.first, ev->u.range.isa,
						&size));
		jsonl_u64(j, "size", size);
	} else {
		jsonl_hex(j, "first", ev->u.range.first);
		jsonl_hex(j, "last", ev->u.range.last);
		if (ev->type == HWT_EV_RANGE)
			jsonl_u64(j, "n", ev->u.range.insns);
		jsonl_sym(j, v, ev, ev->u.range.first);
	}
	jsonl_str(j, "isa", show_isa(ev->u.range.isa));
	if (ev->type != HWT_EV_NOPATH) {
		jsonl_str(j, "kind", show_kind(ev->u.range.kind));
		/* Arm trace has a bit for it; for x86 the next address tells, not this event */
		if (ev->u.range.isa >= HWT_ISA_A64 &&
		    !(ev->type == HWT_EV_INSN && (ev->flags & HWT_F_DOUBT)))
			jsonl_bool(j, "taken", ev->flags & HWT_F_TAKEN);
		if (ev->flags & HWT_F_DOUBT)
			jsonl_bool(j, "doubt", true);
	}
	if (v->lines)
		jsonl_line(j, v, ev, ev->u.range.first);
	jsonl_id(j, ev->u.range.trace_id);
}

static void jsonl_edge(struct jsonl *j, struct show *v, const struct hwt_event *ev)
{
	jsonl_addr(j, "from", ev->u.edge.from);
	jsonl_addr(j, "to", ev->u.edge.to);
	jsonl_sym(j, v, ev, ev->u.edge.to);
	jsonl_str(j, "kind", show_kind(ev->u.edge.kind));
	jsonl_bool(j, "tail", ev->flags & HWT_F_TAIL);
	jsonl_id(j, ev->u.edge.trace_id);
}

static void jsonl_gap(struct jsonl *j, struct show *v, const struct hwt_event *ev, uint64_t bytes)
{
	unsigned cause = (unsigned)ev->u.gap.cause, id = hwt_gap_error(cause);

	show_count(v, ev);
	jsonl_str(j, "cause", hwt_gap_name(cause));
	jsonl_u64(j, "bytes", bytes);
	if (hwt_gap_has_addr(cause))
		jsonl_addr(j, "addr", ev->u.gap.addr);
	jsonl_u64(j, "lost", hwt_gap_has_addr(cause) ? 0 : ev->u.gap.lost);
	if (ev->u.gap.code)
		jsonl_dec(j, cause == HWT_GAP_RESERVED ? "places" : "code", ev->u.gap.code);
	if (id) {
		jsonl_key(j, "id");
		out_fmt(j->o, "\"E%03u\"", id);
	}
	jsonl_id(j, ev->u.gap.trace_id);
}

static void jsonl_aspace(struct jsonl *j, const struct hwt_event *ev)
{
	if (ev->u.aspace.valid & 1)
		jsonl_hex(j, "id", ev->u.aspace.id);
	if (ev->u.aspace.valid & 2)
		jsonl_u64(j, "vmid", ev->u.aspace.vmid);
	if (ev->u.aspace.valid & 4) {
		jsonl_u64(j, "el", ev->u.aspace.el);
		jsonl_str(j, "security", show_security(ev->u.aspace.secure));
	}
	jsonl_id(j, ev->u.aspace.trace_id);
}

static void jsonl_mark(struct jsonl *j, const struct hwt_event *ev)
{
	jsonl_hex(j, "value", ev->u.mark.value);
	jsonl_u64(j, "bits", ev->u.mark.bits);
	jsonl_addr(j, "addr", ev->u.mark.addr);
	if (ev->flags & HWT_F_SW) {
		jsonl_u64(j, "master", ev->u.mark.master);
		jsonl_u64(j, "channel", ev->u.mark.channel);
	}
	if (ev->u.mark.kind) {
		const char *sep = "";

		jsonl_key(j, "kind");
		out_ch(j->o, '[');
		for (unsigned i = 0; show_mark(i); i++)
			if (ev->u.mark.kind & (1u << i)) {
				out_fmt(j->o, "%s\"%s\"", sep, show_mark(i));
				sep = ",";
			}
		out_ch(j->o, ']');
	}
	jsonl_id(j, ev->u.mark.trace_id);
}

static void jsonl_value(struct jsonl *j, const struct hwt_abi_field *f,
			const struct hwt_abi_value *x)
{
	char text[HWT_TEXT_MAX + 1];
	size_t n = x->n < HWT_TEXT_MAX ? x->n : HWT_TEXT_MAX;

	switch (f->type) {
	case HWT_ABI_u32: case HWT_ABI_u64:
		jsonl_u64(j, f->name, x->u);
		break;
	case HWT_ABI_x32: case HWT_ABI_x64:
		jsonl_hex(j, f->name, x->u);
		break;
	case HWT_ABI_s32: case HWT_ABI_s64: case HWT_ABI_pid:
		jsonl_dec(j, f->name, (int64_t)x->u);
		break;
	case HWT_ABI_name16: case HWT_ABI_text:
		memcpy(text, x->p, n);
		text[n] = 0;
		jsonl_str(j, f->name, text);
		break;
	default:
		jsonl_key(j, f->name);
		out_ch(j->o, '"');
		out_bytes(j->o, (const uint8_t *)x->p, n);
		out_ch(j->o, '"');
	}
}

/* Fields as text, and of virtual events also each by itself, those that are known. */
static void jsonl_kernel(struct jsonl *j, struct show *v, const struct hwt_event *ev)
{
	const struct hwt_abi_field *f;
	const struct hwt_abi_event *e;
	struct hwt_abi_value x;
	char text[1024];
	unsigned n = 0;

	jsonl_u64(j, "number", ev->u.rec.number);
	jsonl_str(j, "name", hwt_kernel_name(v->session, ev));
	jsonl_known(j, "call", hwt_kernel_call(v->session, ev));
	if (hwt_kernel_text(v->session, ev, text, sizeof(text)))
		jsonl_str(j, "fields", text);
	if (hwt_kernel_args(v->session, ev, text, sizeof(text)))
		jsonl_str(j, "args", text);
	if (ev->u.rec.id >= HWT_ID_DIRTY ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e)
		return;
	jsonl_key(j, "values");
	out_ch(j->o, '{');
	j->member = false;
	f = e->fields(&n);
	for (unsigned i = 0; i < n; i++)
		if (hwt_abi_value(&x, &f[i], ev->u.rec.data))
			jsonl_value(j, &f[i], &x);
	out_ch(j->o, '}');
	j->member = true;
}

static void jsonl_record(struct jsonl *j, struct show *v, const struct hwt_event *ev)
{
	char text[1024];

	if (ev->u.rec.number) {
		jsonl_kernel(j, v, ev);
		return;
	}
	jsonl_str(j, "name", hwt_event_name(v->session, ev));
	if (hwt_event_text(v->session, ev, text, sizeof(text)))
		jsonl_str(j, "fields", text);
}

static void jsonl_sched(struct jsonl *j, struct show *v, const struct hwt_event *ev)
{
	if (ev->u.sched.prev_tid != HWT_NONE)
		jsonl_dec(j, "prev_tid", ev->u.sched.prev_tid);
	if (ev->u.sched.next_tid != HWT_NONE)
		jsonl_dec(j, "next_tid", ev->u.sched.next_tid);
	jsonl_known(j, "prev_comm", show_comm(v, ev, ev->u.sched.prev_tid));
	jsonl_known(j, "next_comm", show_comm(v, ev, ev->u.sched.next_tid));
	jsonl_bool(j, "preempt", ev->flags & HWT_F_PREEMPT);
}

static void jsonl_body(struct jsonl *j, struct show *v, const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_INSN:
	case HWT_EV_RANGE:
	case HWT_EV_NOPATH:
		jsonl_range(j, v, ev);
		break;
	case HWT_EV_CALL:
	case HWT_EV_RETURN:
		jsonl_edge(j, v, ev);
		break;
	case HWT_EV_GAP:
		jsonl_gap(j, v, ev, ev->u.gap.bytes);
		break;
	case HWT_EV_ON:
	case HWT_EV_OFF:
	case HWT_EV_ERET:
		jsonl_addr(j, "addr", ev->u.at.addr);
		jsonl_sym(j, v, ev, ev->u.at.addr);
		if (ev->type != HWT_EV_ERET)
			jsonl_bool(j, ev->type == HWT_EV_ON ? "resumed" : "cut",
				  ev->flags & (ev->type == HWT_EV_ON ? HWT_F_RESUMED : HWT_F_CUT));
		jsonl_id(j, ev->u.at.trace_id);
		break;
	case HWT_EV_EXCEPTION:
		jsonl_addr(j, "from", ev->u.exc.from);
		jsonl_addr(j, "to", ev->u.exc.to);
		jsonl_u64(j, "number", ev->u.exc.number);
		jsonl_str(j, "name", hwt_exc_name(ev->u.exc.what));
		jsonl_id(j, ev->u.exc.trace_id);
		break;
	case HWT_EV_ASPACE:
		jsonl_aspace(j, ev);
		break;
	case HWT_EV_MARK:
		jsonl_mark(j, ev);
		break;
	case HWT_EV_POWER:
		jsonl_str(j, "what", show_what(ev));
		jsonl_hex(j, "payload", ev->u.power.payload);
		jsonl_addr(j, "addr", ev->u.power.addr);
		break;
	case HWT_EV_SCHED_SWITCH:
		jsonl_sched(j, v, ev);
		break;
	case HWT_EV_MAP:
	case HWT_EV_TASK:
	case HWT_EV_RECORD:
		jsonl_record(j, v, ev);
		break;
	case HWT_EV_CLOCK_SYNC:
		jsonl_u64(j, "other", ev->u.sync.other);
		break;
	default:
		jsonl_u64(j, "value", ev->u.value.value);
		if (ev->type == HWT_EV_TX || ev->type == HWT_EV_TRIGGER)
			jsonl_str(j, "what", show_what(ev));
		if (ev->type == HWT_EV_TX)
			jsonl_addr(j, "addr", ev->u.value.addr);
		jsonl_id(j, ev->u.value.trace_id);
	}
}

void jsonl_event(struct jsonl *j, struct show *v, const struct hwt_event *ev)
{
	jsonl_open(j, show_type(v, ev));
	jsonl_common(j, v, ev);
	if (j->certain)
		jsonl_bool(j, "certain", j->certain == 2);
	jsonl_body(j, v, ev);
	jsonl_close(j);
}

void jsonl_gaps(struct jsonl *j, struct show *v, const struct hwt_event *ev, uint32_t count,
		uint64_t bytes)
{
	jsonl_open(j, show_type(v, ev));
	jsonl_common(j, v, ev);
	jsonl_gap(j, v, ev, bytes);
	jsonl_u64(j, "count", count);
	jsonl_close(j);
}
