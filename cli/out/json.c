/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON lines, schema version 1: see hwtrace-jsonl(5). A member is never renamed or retyped. */
#include "show.h"

void json_init(struct json *j, struct out *o, bool array)
{
	*j = (struct json){ .o = o, .array = array };
	if (array)
		out_str(o, "[\n");
}

void json_fini(struct json *j)
{
	if (j->array)
		out_str(j->o, j->started ? "\n]\n" : "]\n");
}

void json_key(struct json *j, const char *key)
{
	if (j->member)
		out_ch(j->o, ',');
	j->member = true;
	out_ch(j->o, '"');
	out_str(j->o, key);
	out_str(j->o, "\":");
}

void json_str(struct json *j, const char *key, const char *v)
{
	json_key(j, key);
	out_json_str(j->o, v ? v : "");
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	out_udec(j->o, v);
}

void json_hex(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	out_str(j->o, "\"0x");
	out_hex(j->o, v, 1);
	out_ch(j->o, '"');
}

void json_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	out_str(j->o, v ? "true" : "false");
}

static void json_dec(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	out_dec(j->o, v);
}

static void json_begin(struct json *j)
{
	if (j->array && j->started)
		out_str(j->o, ",\n");
	j->started = true;
	j->member = false;
	out_ch(j->o, '{');
}

void json_open(struct json *j, const char *type)
{
	json_begin(j);
	json_str(j, "type", type);
}

void json_close(struct json *j)
{
	out_ch(j->o, '}');
	if (!j->array)
		out_nl(j->o);
}

void json_header(struct json *j, const struct hwt_session *s)
{
	struct hwt_capture_info info;

	hwt_session_info(s, &info);
	json_begin(j);
	json_u64(j, "v", 1);
	json_str(j, "type", "header");
	json_str(j, "format", info.format);
	json_str(j, "path", info.path);
	json_u64(j, "size", info.size);
	if (info.time_start != HWT_TIME_UNKNOWN)
		json_u64(j, "time_start", info.time_start);
	if (*info.clock)
		json_str(j, "clock", info.clock);
	if (*info.arch)
		json_str(j, "arch", info.arch);
	json_close(j);
}

static void json_time(struct json *j, const struct show *v, const struct hwt_event *ev)
{
	if (ev->time == HWT_TIME_UNKNOWN)
		return;
	json_key(j, ev->clock == HWT_CLOCK_BASE ? "time" : "ticks");
	out_str(j->o, "{\"lo\":");
	if (ev->clock == HWT_CLOCK_BASE)
		/* may lie before the first timed thing by its error */
		out_dec(j->o, (int64_t)(ev->time - v->time_start));
	else
		out_udec(j->o, ev->time);
	if (ev->span != HWT_SPAN_UNKNOWN) {
		uint64_t hi = ev->time + ev->span;

		out_str(j->o, ",\"hi\":");
		if (ev->clock == HWT_CLOCK_BASE)
			out_dec(j->o, (int64_t)(hi - v->time_start));
		else
			out_udec(j->o, hi);
	}
	out_ch(j->o, '}');
	if (ev->clock != HWT_CLOCK_BASE)
		json_str(j, "clock", ev->clock == HWT_CLOCK_TSC ? "tsc" : "coresight");
}

void json_common(struct json *j, const struct show *v, const struct hwt_event *ev)
{
	if (ev->cpu != HWT_NONE)
		json_dec(j, "cpu", ev->cpu);
	if (ev->pid != HWT_NONE)
		json_dec(j, "pid", ev->pid);
	if (ev->tid != HWT_NONE)
		json_dec(j, "tid", ev->tid);
	json_time(j, v, ev);
	json_u64(j, "src", ev->src);
	if (ev->off != HWT_NO_OFF)
		json_u64(j, "off", ev->off);
}

static void json_addr(struct json *j, const char *key, uint64_t addr)
{
	if (addr != HWT_NO_ADDR)
		json_hex(j, key, addr);
}

static void json_sym(struct json *j, struct show *v, const struct hwt_event *ev, uint64_t addr)
{
	struct hwt_where w = show_where(ev);
	struct hwt_symbol sym;

	if (addr == HWT_NO_ADDR || hwt_image_symbol(v->image, &w, addr, &sym) != 1)
		return;
	json_str(j, "sym", sym.name);
	json_u64(j, "sym_off", addr - sym.start);
}

static void json_id(struct json *j, unsigned trace_id)
{
	if (trace_id)
		json_u64(j, "trace_id", trace_id);
}

static void json_line(struct json *j, struct show *v, const struct hwt_event *ev, uint64_t addr)
{
	struct hwt_where w = show_where(ev);
	struct hwt_line line;

	if (hwt_image_lines(v->image, &w, addr, &line, 1) < 1 || !line.file)
		return;
	json_str(j, "file", line.file);
	json_dec(j, "line", line.line);
}

static void json_range(struct json *j, struct show *v, const struct hwt_event *ev)
{
	unsigned size = 0;

	if (ev->type == HWT_EV_INSN) {
		json_hex(j, "addr", ev->u.range.first);
		json_sym(j, v, ev, ev->u.range.first);
		json_str(j, "text", show_disasm(v, ev, ev->u.range.first, ev->u.range.isa,
						&size));
		json_u64(j, "size", size);
	} else {
		json_hex(j, "first", ev->u.range.first);
		json_hex(j, "last", ev->u.range.last);
		if (ev->type == HWT_EV_RANGE)
			json_u64(j, "n", ev->u.range.insns);
		json_sym(j, v, ev, ev->u.range.first);
	}
	json_str(j, "isa", show_isa(ev->u.range.isa));
	if (ev->type != HWT_EV_NOPATH) {
		json_str(j, "kind", show_kind(ev->u.range.kind));
		json_bool(j, "taken", ev->flags & HWT_F_TAKEN);
	}
	if (v->lines)
		json_line(j, v, ev, ev->u.range.first);
	json_id(j, ev->u.range.trace_id);
}

static void json_edge(struct json *j, struct show *v, const struct hwt_event *ev)
{
	json_addr(j, "from", ev->u.edge.from);
	json_addr(j, "to", ev->u.edge.to);
	json_sym(j, v, ev, ev->u.edge.to);
	json_str(j, "kind", show_kind(ev->u.edge.kind));
	json_bool(j, "tail", ev->flags & HWT_F_TAIL);
	json_id(j, ev->u.edge.trace_id);
}

static void json_gap(struct json *j, const struct hwt_event *ev)
{
	unsigned cause = (unsigned)ev->u.gap.cause, id = hwt_gap_error(cause);

	json_str(j, "cause", hwt_gap_name(cause));
	json_u64(j, "bytes", ev->u.gap.bytes);
	if (hwt_gap_has_addr(cause))
		json_addr(j, "addr", ev->u.gap.addr);
	json_u64(j, "lost", hwt_gap_has_addr(cause) ? 0 : ev->u.gap.lost);
	if (ev->u.gap.code)
		json_dec(j, "code", ev->u.gap.code);
	if (id) {
		json_key(j, "id");
		out_fmt(j->o, "\"E%03u\"", id);
	}
	json_id(j, ev->u.gap.trace_id);
}

static void json_aspace(struct json *j, const struct hwt_event *ev)
{
	if (ev->u.aspace.valid & 1)
		json_hex(j, "id", ev->u.aspace.id);
	if (ev->u.aspace.valid & 2)
		json_u64(j, "vmid", ev->u.aspace.vmid);
	if (ev->u.aspace.valid & 4) {
		json_u64(j, "el", ev->u.aspace.el);
		json_str(j, "security", show_security(ev->u.aspace.secure));
	}
	json_id(j, ev->u.aspace.trace_id);
}

static void json_mark(struct json *j, const struct hwt_event *ev)
{
	json_hex(j, "value", ev->u.mark.value);
	json_u64(j, "bits", ev->u.mark.bits);
	json_addr(j, "addr", ev->u.mark.addr);
	if (ev->flags & HWT_F_SW) {
		json_u64(j, "master", ev->u.mark.master);
		json_u64(j, "channel", ev->u.mark.channel);
	}
	if (ev->u.mark.kind) {
		const char *sep = "";

		json_key(j, "kind");
		out_ch(j->o, '[');
		for (unsigned i = 0; show_mark(i); i++)
			if (ev->u.mark.kind & (1u << i)) {
				out_fmt(j->o, "%s\"%s\"", sep, show_mark(i));
				sep = ",";
			}
		out_ch(j->o, ']');
	}
	json_id(j, ev->u.mark.trace_id);
}

static void json_record(struct json *j, struct show *v, const struct hwt_event *ev)
{
	char text[1024];

	json_str(j, "name", hwt_event_name(v->session, ev));
	if (hwt_event_text(v->session, ev, text, sizeof(text)))
		json_str(j, "fields", text);
}

static void json_sched(struct json *j, struct show *v, const struct hwt_event *ev)
{
	json_dec(j, "prev_tid", ev->u.sched.prev_tid);
	json_dec(j, "next_tid", ev->u.sched.next_tid);
	json_str(j, "prev_comm", hwt_session_comm(v->session, ev->u.sched.prev_tid));
	json_str(j, "next_comm", hwt_session_comm(v->session, ev->u.sched.next_tid));
	json_bool(j, "preempt", ev->flags & HWT_F_PREEMPT);
}

static void json_body(struct json *j, struct show *v, const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_INSN:
	case HWT_EV_RANGE:
	case HWT_EV_NOPATH:
		json_range(j, v, ev);
		break;
	case HWT_EV_CALL:
	case HWT_EV_RETURN:
		json_edge(j, v, ev);
		break;
	case HWT_EV_GAP:
		json_gap(j, ev);
		break;
	case HWT_EV_ON:
	case HWT_EV_OFF:
	case HWT_EV_ERET:
		json_addr(j, "addr", ev->u.at.addr);
		json_sym(j, v, ev, ev->u.at.addr);
		if (ev->type != HWT_EV_ERET)
			json_bool(j, ev->type == HWT_EV_ON ? "resumed" : "cut",
				  ev->flags & (ev->type == HWT_EV_ON ? HWT_F_RESUMED : HWT_F_CUT));
		json_id(j, ev->u.at.trace_id);
		break;
	case HWT_EV_EXCEPTION:
		json_addr(j, "from", ev->u.exc.from);
		json_addr(j, "to", ev->u.exc.to);
		json_u64(j, "number", ev->u.exc.number);
		json_id(j, ev->u.exc.trace_id);
		break;
	case HWT_EV_ASPACE:
		json_aspace(j, ev);
		break;
	case HWT_EV_MARK:
		json_mark(j, ev);
		break;
	case HWT_EV_POWER:
		json_str(j, "what", show_what(ev));
		json_hex(j, "payload", ev->u.power.payload);
		break;
	case HWT_EV_SCHED_SWITCH:
		json_sched(j, v, ev);
		break;
	case HWT_EV_MAP:
	case HWT_EV_TASK:
	case HWT_EV_RECORD:
		json_record(j, v, ev);
		break;
	case HWT_EV_CLOCK_SYNC:
		json_u64(j, "other", ev->u.sync.other);
		break;
	default:
		json_u64(j, "value", ev->u.value.value);
		if (ev->type == HWT_EV_TX || ev->type == HWT_EV_TRIGGER)
			json_str(j, "what", show_what(ev));
		json_id(j, ev->u.value.trace_id);
	}
}

void json_event(struct json *j, struct show *v, const struct hwt_event *ev)
{
	json_open(j, show_type(v, ev));
	json_common(j, v, ev);
	json_body(j, v, ev);
	json_close(j);
}
