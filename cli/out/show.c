/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as lines of text. Longer than other files: one line format for each kind of event. */
#include "show.h"

#include <stdio.h>
#include <stdlib.h>

void show_init(struct show *v, struct out *o, struct hwt_session *s, bool abs)
{
	struct hwt_capture_info info;

	hwt_session_info(s, &info);
	*v = (struct show){ .o = o, .session = s, .image = hwt_session_image(s) };
	v->time_start = info.time_start == HWT_TIME_UNKNOWN ? 0 : info.time_start;
	v->zero = abs ? 0 : v->time_start;
	v->tick_zero = abs ? 0 : HWT_TIME_UNKNOWN;
}

void show_fini(struct show *v)
{
	hwt_disasm_free(v->disasm);
	free(v->insns);
}

struct hwt_where show_where(const struct hwt_event *ev)
{
	return (struct hwt_where){
		.pid = ev->pid,
		.time = ev->clock == HWT_CLOCK_BASE ? ev->time : HWT_TIME_UNKNOWN,
	};
}

/* Each CPU has an idle thread of its own, and all of them are task 0: "swapper/3". */
static const char *idle_comm(struct show *v, const char *comm, int32_t cpu)
{
	const char *slash = strchr(comm, '/');

	if (!slash)
		return comm;
	if (cpu == HWT_NONE)
		snprintf(v->idle, sizeof(v->idle), "%.*s", (int)(slash - comm), comm);
	else
		snprintf(v->idle, sizeof(v->idle), "%.*s/%d", (int)(slash - comm), comm, cpu);
	return v->idle;
}

const char *show_comm(struct show *v, const struct hwt_event *ev, int32_t tid)
{
	const char *comm = hwt_session_comm_at(v->session, tid, ev ? show_where(ev).time :
					       HWT_TIME_UNKNOWN);

	return tid ? comm : idle_comm(v, comm, ev ? ev->cpu : HWT_NONE);
}

static unsigned slot(uint64_t addr)
{
	return (unsigned)(addr * 0x9e3779b97f4a7c15u >> 40) & (SHOW_DISASM - 1);
}

/* True if @e is the instruction that begins the @n bytes at @code. */
static bool remembered(const struct show_insn *e, uint64_t addr, unsigned isa,
		       const uint8_t *code, unsigned n)
{
	if (!e->size || e->addr != addr || e->isa != isa)
		return false;
	/* what was not understood may have been cut */
	return (e->whole ? e->size <= n : e->size == n) && !memcmp(e->code, code, e->size);
}

/*
 * The text depends on address, bytes and instruction set only, so it can be remembered: code that
 * changed has other bytes.
 */
const char *show_disasm(struct show *v, const struct hwt_event *ev, uint64_t addr, unsigned isa,
			unsigned *size)
{
	struct hwt_where w = show_where(ev);
	struct hwt_insn in;
	struct show_insn *e;
	uint8_t code[16];
	int n;

	*size = 0;
	if (!v->insns)
		v->insns = calloc(SHOW_DISASM, sizeof(*v->insns));
	if (!v->insns || (!v->disasm && hwt_disasm_new(&v->disasm) < 0))
		return "";
	n = hwt_image_read(v->image, &w, addr, code, sizeof(code));
	if (n <= 0 || n > (int)sizeof(code))
		return "";
	e = &v->insns[slot(addr)];
	if (!remembered(e, addr, isa, code, (unsigned)n)) {
		e->whole = !hwt_insn_decode(&in, isa, addr, code, (size_t)n);
		e->size = e->whole ? in.size : (uint8_t)n;
		e->addr = addr;
		e->isa = (uint8_t)isa;
		memcpy(e->code, code, e->size);
		if (hwt_disasm_text(v->disasm, isa, addr, code, e->size, e->text,
				    sizeof(e->text)) < 0)
			e->text[0] = 0;
	}
	*size = e->size;
	return e->text;
}

static void time_ns(struct out *o, uint64_t ns, bool column)
{
	uint64_t part = ns % 1000000000;
	char buf[9];

	out_udecw(o, ns / 1000000000, column ? 5 : 1);
	out_ch(o, '.');
	for (int i = 8; i >= 0; i--, part /= 10)
		buf[i] = (char)('0' + part % 10);
	out_mem(o, buf, sizeof(buf));
}

#define SCAN_MAX 65536	/* events of a buffer that are looked at for its first timestamp */

/* First time in ticks of one buffer, HWT_TIME_UNKNOWN if it begins without. */
static uint64_t first_tick(struct show *v, size_t buf)
{
	const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
		.time_hi = HWT_TIME_UNKNOWN };
	uint64_t first = HWT_TIME_UNKNOWN;
	struct hwt_event ev[64];
	struct hwt_stream *st;
	int n = 0;

	if (hwt_session_flow(v->session, buf, &want, &st, NULL) < 0)
		return first;
	for (unsigned seen = 0; first == HWT_TIME_UNKNOWN && seen < SCAN_MAX &&
	     (n = hwt_stream_next(st, ev, 64)) > 0; seen += (unsigned)n)
		for (int i = 0; i < n && first == HWT_TIME_UNKNOWN; i++)
			if (ev[i].clock != HWT_CLOCK_BASE)
				first = ev[i].time;
	hwt_stream_close(st);
	return first;
}

/* The same for every selection of events, so it is not that of the first event shown. */
static void find_tick_zero(struct show *v)
{
	for (size_t i = 0; i < hwt_session_bufs(v->session); i++) {
		uint64_t t = first_tick(v, i);

		if (t < v->tick_zero)
			v->tick_zero = t;
	}
	if (v->tick_zero == HWT_TIME_UNKNOWN)
		v->tick_zero = 0;
}

/* A counter of the trace hardware's; the others are clocks of a kernel, which count ns. */
static bool is_counter(unsigned clock)
{
	return clock < HWT_CLOCK_PERF;
}

static const char *clock_unit(unsigned clock)
{
	return clock == HWT_CLOCK_CS ? "cs" : hwt_clock_name(clock);
}

/* "+1240 cs": ticks since the first timestamp of the capture; another core may be earlier. */
static void time_ticks(struct show *v, const struct hwt_event *ev, bool column)
{
	char buf[24], *end = buf + sizeof(buf), *p = end;
	uint64_t t, zero;
	bool early;

	if (v->tick_zero == HWT_TIME_UNKNOWN)
		find_tick_zero(v);
	zero = is_counter(ev->clock) ? v->tick_zero : 0;
	early = ev->time < zero;
	t = early ? zero - ev->time : ev->time - zero;
	do
		*--p = (char)('0' + t % 10);
	while (t /= 10);
	if (early || zero)
		*--p = early ? '-' : '+';
	while (column && end - p < 12)
		*--p = ' ';
	out_mem(v->o, p, (size_t)(end - p));
	out_fmt(v->o, " %s", clock_unit(ev->clock));
}

/* An instant is an interval: its earliest end and, where it is not a point, how long it is. */
static void show_time(struct show *v, const struct hwt_event *ev, bool column)
{
	struct out *o = v->o;

	if (ev->time == HWT_TIME_UNKNOWN) {
		out_str(o, column ? "              -" : "-");
	} else if (ev->clock != HWT_CLOCK_BASE) {
		time_ticks(v, ev, column);
	} else {
		bool before = ev->time < v->zero;
		uint64_t t = before ? v->zero - ev->time : ev->time - v->zero;

		/* synthesized records may be older than the trace */
		if (before)
			out_fmt(o, v->ns ? "-%llu" : "-%llu.%09llu",
				(unsigned long long)(v->ns ? t : t / 1000000000),
				(unsigned long long)(t % 1000000000));
		else if (v->ns)
			out_udecw(o, t, column ? 15 : 1);
		else
			time_ns(o, t, column);
	}
	if (ev->time != HWT_TIME_UNKNOWN && ev->span) {
		out_ch(o, '+');
		if (ev->span == HWT_SPAN_UNKNOWN)
			out_ch(o, '?');
		else
			out_udec(o, ev->span);
	}
}

/* Before the first line whose time is no time. */
static void tell_ticks(struct show *v, unsigned clock)
{
	static const char *const names[HWT_CLOCK_PERF] = {
		[HWT_CLOCK_BASE] = "", [HWT_CLOCK_TSC] = "time stamp counter",
		[HWT_CLOCK_CS] = "CoreSight timestamp", [HWT_CLOCK_CNTVCT] = "virtual counter",
		[HWT_CLOCK_CYC] = "cycle counter",
	};

	v->told_ticks |= 1u << clock;
	if (is_counter(clock))
		out_fmt(v->o, "== times in %s are ticks of the %s; their frequency is not known\n",
			clock_unit(clock), names[clock]);
	else
		out_fmt(v->o, "== times in %s are of that clock; they have no place among the "
			"others\n", clock_unit(clock));
	v->o->line = v->o->flushed + v->o->n;
}

void show_unit(struct show *v, const struct hwt_event *ev)
{
	if (ev->clock != HWT_CLOCK_BASE && ev->time != HWT_TIME_UNKNOWN &&
	    !(v->told_ticks >> ev->clock & 1))
		tell_ticks(v, ev->clock);
}

void show_when(struct show *v, const struct hwt_event *ev)
{
	show_time(v, ev, false);
}

void show_head(struct show *v, const struct hwt_event *ev)
{
	struct out *o = v->o;
	const char *comm;

	show_unit(v, ev);
	show_time(v, ev, true);
	out_tab(o, 24);		/* a length of up to 10 ms, as steps take, fits before it */
	if (ev->cpu == HWT_NONE) {
		out_ch(o, '-');
	} else {
		out_ch(o, '[');
		out_dec(o, ev->cpu);
		out_ch(o, ']');
	}
	out_tab(o, 30);
	if (ev->tid == HWT_NONE) {
		out_ch(o, '-');
	} else {
		out_dec(o, ev->tid);
		comm = show_comm(v, ev, ev->tid);
		if (*comm) {
			out_ch(o, '/');
			out_safe(o, comm);
		}
	}
	out_tab(o, 48);
}

void show_sym(struct show *v, const struct hwt_event *ev, uint64_t addr)
{
	struct hwt_where w = show_where(ev);
	struct hwt_symbol sym;

	if (addr == HWT_NO_ADDR || hwt_image_symbol(v->image, &w, addr, &sym) != 1)
		return;
	out_ch(v->o, ' ');
	out_style(v->o, OUT_CYAN);
	out_safe(v->o, sym.name);
	out_style(v->o, OUT_PLAIN);
	if (addr != sym.start) {
		out_str(v->o, "+0x");
		out_hex(v->o, addr - sym.start, 1);
	}
}

void show_addr(struct show *v, const struct hwt_event *ev, uint64_t addr)
{
	if (addr == HWT_NO_ADDR) {
		out_str(v->o, "(unknown address)");
		return;
	}
	out_hex(v->o, addr, 1);
	show_sym(v, ev, addr);
}

static bool covers(const struct hwt_map *m, int32_t pid, uint64_t addr)
{
	return (m->pid == HWT_NONE || m->pid == pid) && addr >= m->addr &&
		addr - m->addr < m->size;
}

void show_code(struct show *v, int32_t pid, uint64_t addr)
{
	const char *slash;
	struct hwt_map m;

	/* the same module most times; the newest map of several */
	if (!covers(&v->map, pid, addr)) {
		v->map.size = 0;
		for (size_t i = 0; hwt_image_map_at(v->image, i, &m); i++)
			if (covers(&m, pid, addr))
				v->map = m;
	}
	/* a dump that is an ELF file has a build-id; of another one the offset tells nothing */
	if (!v->map.size || !v->map.path || !*v->map.path ||
	    (v->map.raw && !v->map.build_id_size)) {
		v->nameless++;
		out_hex(v->o, addr, 1);
		return;
	}
	slash = strrchr(v->map.path, '/');
	out_safe(v->o, slash && slash[1] ? slash + 1 : v->map.path);
	out_str(v->o, "+0x");
	/* what is no file ("[kernel.kallsyms]_text") gives an address as its offset */
	out_hex(v->o, addr - v->map.addr + (*v->map.path == '[' ? 0 : v->map.file_off), 1);
}

static void show_line(struct show *v, const struct hwt_event *ev, uint64_t addr)
{
	struct hwt_where w = show_where(ev);
	struct hwt_line line;
	const char *file;

	if (hwt_image_lines(v->image, &w, addr, &line, 1) < 1 || !line.file)
		return;
	/* only where it changes; the pointer lives as long as the image */
	if (line.file == v->last_file && line.line == v->last_line)
		return;
	v->last_file = line.file;
	v->last_line = line.line;
	file = strrchr(line.file, '/');
	out_tab(v->o, 120);
	out_style(v->o, OUT_DIM);
	out_str(v->o, "; ");
	out_safe(v->o, file && !v->verbose ? file + 1 : line.file);
	out_ch(v->o, ':');
	out_dec(v->o, line.line);
	out_style(v->o, OUT_PLAIN);
}

const char *show_kind(unsigned kind)
{
	static const char *const names[HWT_INSN_KINDS] = {
		"other", "call", "icall", "return", "jump", "ijump", "branch", "far-call",
		"far-return", "far-jump", "ptwrite", "barrier",
	};

	return kind < HWT_INSN_KINDS ? names[kind] : "unknown";
}

const char *show_isa(unsigned isa)
{
	static const char *const names[] = { "unknown", "x86-64", "x86-32", "x86-16", "a64",
		"a32", "t32" };

	return isa < sizeof(names) / sizeof(names[0]) ? names[isa] : "unknown";
}

const char *show_type(const struct show *v, const struct hwt_event *ev)
{
	static const char *const names[HWT_EV_TYPES] = {
		[HWT_EV_NONE] = "none", [HWT_EV_INSN] = "insn", [HWT_EV_RANGE] = "range",
		[HWT_EV_NOPATH] = "nopath", [HWT_EV_CALL] = "call", [HWT_EV_RETURN] = "return",
		[HWT_EV_ON] = "on", [HWT_EV_OFF] = "off", [HWT_EV_GAP] = "gap",
		[HWT_EV_ASPACE] = "aspace", [HWT_EV_EXCEPTION] = "exception",
		[HWT_EV_ERET] = "eret", [HWT_EV_CYCLES] = "cycles",
		[HWT_EV_TIMESTAMP] = "timestamp", [HWT_EV_MARK] = "mark", [HWT_EV_TX] = "tx",
		[HWT_EV_FREQ] = "freq", [HWT_EV_POWER] = "power",
		[HWT_EV_TRIGGER] = "trigger", [HWT_EV_SCHED_SWITCH] = "sched.switch",
		[HWT_EV_MAP] = "map", [HWT_EV_TASK] = "task", [HWT_EV_CLOCK_SYNC] = "clock.sync",
		[HWT_EV_RECORD] = "record", [HWT_EV_FRAME] = "frame",
	};

	if (ev->type == HWT_EV_RECORD && ev->u.rec.number)
		return "kernel";
	return ev->type < HWT_EV_TYPES ? names[ev->type] : "unknown";
}

bool show_wanted(const struct show *v, const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_NONE:
		return false;
	case HWT_EV_TIMESTAMP:
	case HWT_EV_CYCLES:
	case HWT_EV_FREQ:
	case HWT_EV_MAP:
	case HWT_EV_CLOCK_SYNC:
	case HWT_EV_NOPATH:		/* its hole says as much */
		return v->verbose;
	case HWT_EV_ASPACE:
		return v->verbose || (ev->u.aspace.valid & 7);
	}
	return true;
}

static void at(struct show *v, const struct hwt_event *ev, uint64_t addr)
{
	if (addr == HWT_NO_ADDR)
		return;
	out_str(v->o, " at ");
	show_addr(v, ev, addr);
}

void show_count(struct show *v, const struct hwt_event *ev)
{
	v->holes++;
	v->code_holes += ev->u.gap.cause == HWT_GAP_NO_IMAGE;
	v->skipped += ev->u.gap.bytes;
	if (!hwt_gap_has_addr((unsigned)ev->u.gap.cause))
		v->lost += ev->u.gap.lost;
	else if (ev->u.gap.cause == HWT_GAP_NO_IMAGE && ev->u.gap.addr >> 63 &&
		 ev->u.gap.addr != HWT_NO_ADDR && !v->kernel_holes++)
		v->kernel_addr = ev->u.gap.addr;
}

void show_gap(struct show *v, const struct hwt_event *ev)
{
	struct out *o = v->o;
	unsigned cause = (unsigned)ev->u.gap.cause, id = hwt_gap_error(cause);

	show_count(v, ev);
	out_str(o, "hole: ");
	out_str(o, hwt_gap_name(cause));
	if (ev->u.gap.bytes) {
		out_str(o, ", ");
		out_count(o, ev->u.gap.bytes, "byte");
		out_str(o, " skipped");
	}
	if (hwt_gap_has_addr(cause)) {
		at(v, ev, ev->u.gap.addr);
	} else if (ev->u.gap.lost) {
		out_str(o, ", ");
		out_count(o, ev->u.gap.lost, "byte");
		out_str(o, " lost");
	}
	if (cause == HWT_GAP_RESERVED || cause == HWT_GAP_NO_DECODER)
		out_fmt(o, ", trace id 0x%02x", ev->u.gap.trace_id);
	if (cause == HWT_GAP_RESERVED && ev->u.gap.code > 1) {
		out_str(o, " in ");
		out_count(o, (uint64_t)ev->u.gap.code, "place");
		out_str(o, " from");
	} else if (ev->u.gap.code && cause != HWT_GAP_RESERVED) {
		const char *words = hwt_gap_code_text(v->session, ev);

		out_str(o, ", code ");
		out_dec(o, ev->u.gap.code);
		if (words) {
			out_str(o, " (");
			out_safe(o, words);
			out_ch(o, ')');
		}
	}
	if (ev->off != HWT_NO_OFF) {
		bool from = cause == HWT_GAP_RESERVED && ev->u.gap.code > 1;

		out_str(o, from ? " trace offset 0x" : ", at trace offset 0x");
		out_hex(o, ev->off, 1);
	}
	if (id)
		out_fmt(o, " [E%03u]", id);
}

static void two(struct show *v, const struct hwt_event *ev, uint64_t from, uint64_t to)
{
	show_addr(v, ev, from);
	out_str(v->o, " -> ");
	show_addr(v, ev, to);
}

static void task(struct show *v, const struct hwt_event *ev, int32_t tid)
{
	const char *comm = show_comm(v, ev, tid);

	if (tid == HWT_NONE) {
		out_ch(v->o, '?');
		return;
	}
	out_dec(v->o, tid);
	if (*comm) {
		out_ch(v->o, '/');
		out_safe(v->o, comm);
	}
}

/* Fields; of a system call its arguments by their names, and what the recording has beside them. */
static size_t fields(struct show *v, const struct hwt_event *ev, bool call, char *buf, size_t size)
{
	size_t n = call ? hwt_kernel_args(v->session, ev, buf, size) : 0;
	char all[512], *more;

	if (!n || n + 1 >= size)
		return n ? n : hwt_kernel_text(v->session, ev, buf, size);
	hwt_kernel_text(v->session, ev, all, sizeof(all));
	more = strstr(all, " ctx.");
	if (more)
		snprintf(buf + n, size - n, "%s", more);
	return n;
}

/* A container's own record by the name that timeline has for it: virtual, or dirty. */
static const char *show_own_name(struct show *v, const struct hwt_event *ev)
{
	const char *own = hwt_event_name(v->session, ev);

	if (own != v->own) {
		v->own = own;
		v->own_virtual = hwt_kernel_name_of(own);
	}
	return v->own_virtual ? v->own_virtual : own;
}

static void record(struct show *v, const struct hwt_event *ev)
{
	const char *call = NULL;
	struct hwt_abi_value ip;
	struct hwt_symbol sym;
	struct hwt_where w;
	char text[512];
	size_t n;

	if (ev->u.rec.number) {
		out_ch(v->o, '#');
		out_udec(v->o, ev->u.rec.number);
		out_ch(v->o, ' ');
		out_style(v->o, OUT_GREEN);
		out_safe(v->o, hwt_kernel_name(v->session, ev));
		out_style(v->o, OUT_PLAIN);
		call = hwt_kernel_call(v->session, ev);
		n = fields(v, ev, call, text, sizeof(text));
	} else {
		out_style(v->o, OUT_GREEN);
		out_safe(v->o, show_own_name(v, ev));
		out_style(v->o, OUT_PLAIN);
		n = hwt_event_text(v->session, ev, text, sizeof(text));
	}
	if (call)
		out_fmt(v->o, ": %s", call);
	if (n) {
		out_str(v->o, call ? " " : ": ");
		out_safe(v->o, text);
	}
	/* the instruction that faulted */
	w = show_where(ev);
	if (ev->u.rec.number && hwt_kernel_field(v->session, ev, "ip", &ip) && !ip.p &&
	    hwt_image_symbol(v->image, &w, ip.u, &sym) == 1) {
		out_str(v->o, ", in");
		show_sym(v, ev, ip.u);
	}
}

const char *show_security(unsigned secure)
{
	static const char *const names[] = { "non-secure", "secure", "root", "realm" };

	return secure < 4 ? names[secure] : "unknown";
}

static void aspace(struct show *v, const struct hwt_event *ev)
{
	struct out *o = v->o;

	out_str(o, "address space");
	if (ev->u.aspace.valid & 1) {
		out_str(o, " 0x");
		out_hex(o, ev->u.aspace.id, 1);
	}
	if (ev->u.aspace.valid & 2)
		out_fmt(o, " vmid %u", ev->u.aspace.vmid);
	if (ev->u.aspace.valid & 4)
		out_fmt(o, " el %u%s%s", ev->u.aspace.el, ev->u.aspace.secure ? " " : "",
			ev->u.aspace.secure ? show_security(ev->u.aspace.secure) : "");
	if (v->repeats > 1)
		out_fmt(o, " (the last of %llu, with nothing known to run between)",
			(unsigned long long)v->repeats);
}

const char *show_what(const struct hwt_event *ev)
{
	static const char *const tx[] = { "begin", "commit", "abort" };
	static const char *const trigger[] = { "event", "mark", "stop", "sync" };
	static const char *const power_names[] = { "mwait", "pwre", "pwrx", "exstop" };

	if (ev->type == HWT_EV_TX && ev->u.value.what < 3)
		return tx[ev->u.value.what];
	if (ev->type == HWT_EV_TRIGGER && ev->u.value.what < 4)
		return trigger[ev->u.value.what];
	if (ev->type == HWT_EV_POWER && ev->u.power.what < 4)
		return power_names[ev->u.power.what];
	return "unknown";
}

/* The address that an event is bound to, if one is. */
static void where(struct show *v, const struct hwt_event *ev, uint64_t addr)
{
	if (addr == HWT_NO_ADDR)
		return;
	out_str(v->o, " at ");
	out_hex(v->o, addr, 1);
	show_sym(v, ev, addr);
}

static void trigger(struct out *o, const struct hwt_event *ev)
{
	uint64_t n = ev->u.value.value;

	switch (ev->u.value.what) {
	case HWT_TRIGGER_EVENT:
		/* a set: several may come at once */
		out_str(o, "event of the trace unit, number");
		for (unsigned i = 0; i < 64; i++)
			if (n >> i & 1)
				out_fmt(o, " %u", i);
		break;
	case HWT_TRIGGER_STOP:
		out_str(o, "TraceStop: an address range of the filter ends the trace");
		break;
	case HWT_TRIGGER_SYNC:
		out_str(o, "place of the next timestamp, marker ");
		out_udec(o, n);
		break;
	default:
		out_str(o, "trigger ");
		out_udec(o, n);
	}
}

static void value(struct show *v, const struct hwt_event *ev)
{
	struct out *o = v->o;

	if (ev->type == HWT_EV_TX) {
		out_fmt(o, "transaction %s", show_what(ev));
		where(v, ev, ev->u.value.addr);
		return;
	}
	if (ev->type == HWT_EV_TRIGGER) {
		trigger(o, ev);
		return;
	}
	out_str(o, show_type(v, ev));
	out_ch(o, ' ');
	out_udec(o, ev->u.value.value);
}

const char *show_mark(unsigned bit)
{
	static const char *const names[] = { "flag", "trigger", "merr", "gerr", "timestamped" };

	return bit < 5 ? names[bit] : NULL;
}

static void mark_kind(struct out *o, unsigned kind)
{
	for (unsigned i = 0; show_mark(i); i++)
		if (kind & (1u << i))
			out_fmt(o, " %s", show_mark(i));
}

/* Everything that is no instruction. */
static void other(struct show *v, const struct hwt_event *ev)
{
	struct out *o = v->o;

	switch (ev->type) {
	case HWT_EV_NOPATH:
		out_str(o, "path not known: ");
		two(v, ev, ev->u.range.first, ev->u.range.last);
		break;
	case HWT_EV_CALL:
	case HWT_EV_RETURN:
		if (ev->flags & HWT_F_TAIL)
			out_str(o, "tail ");
		out_str(o, show_type(v, ev));
		out_ch(o, ' ');
		two(v, ev, ev->u.edge.from, ev->u.edge.to);
		break;
	case HWT_EV_ON:
		out_str(o, ev->flags & HWT_F_RESUMED ? "trace resumes" : "trace on");
		at(v, ev, ev->u.at.addr);
		break;
	case HWT_EV_OFF:
		out_str(o, ev->flags & HWT_F_CUT ? "trace cut" : "trace off");
		at(v, ev, ev->u.at.addr);
		break;
	case HWT_EV_ERET:
		out_str(o, "return from exception");
		at(v, ev, ev->u.at.addr);
		break;
	case HWT_EV_EXCEPTION:
		out_str(o, "exception ");
		if (ev->u.exc.what != HWT_EXC_ASYNC)
			out_fmt(o, "%u ", ev->u.exc.number);
		if (ev->u.exc.what != HWT_EXC_UNKNOWN)
			out_fmt(o, "(%s) ", hwt_exc_name(ev->u.exc.what));
		two(v, ev, ev->u.exc.from, ev->u.exc.to);
		break;
	case HWT_EV_ASPACE:
		aspace(v, ev);
		break;
	case HWT_EV_MARK:
		out_str(o, "mark");
		if (ev->u.mark.bits)
			out_fmt(o, " 0x%llx (%u bits)", (unsigned long long)ev->u.mark.value,
				ev->u.mark.bits);
		if (ev->flags & HWT_F_SW)
			out_fmt(o, " master %u channel %u", ev->u.mark.master,
				ev->u.mark.channel);
		mark_kind(o, ev->u.mark.kind);
		break;
	case HWT_EV_POWER:
		out_fmt(o, "power %s 0x%llx", show_what(ev),
			(unsigned long long)ev->u.power.payload);
		where(v, ev, ev->u.power.addr);
		break;
	case HWT_EV_SCHED_SWITCH:
		out_style(o, OUT_GREEN);
		out_str(o, show_type(v, ev));
		out_style(o, OUT_PLAIN);
		out_str(o, ": ");
		task(v, ev, ev->u.sched.prev_tid);
		out_str(o, " -> ");
		task(v, ev, ev->u.sched.next_tid);
		if (ev->flags & HWT_F_PREEMPT)
			out_str(o, ", preempted");
		break;
	case HWT_EV_MAP:
	case HWT_EV_TASK:
	case HWT_EV_RECORD:
		record(v, ev);
		break;
	case HWT_EV_CLOCK_SYNC:
		out_str(o, "clock sync ");
		out_udec(o, ev->u.sync.other);
		break;
	default:
		value(v, ev);
	}
}

static void show_range(struct show *v, const struct hwt_event *ev)
{
	struct out *o = v->o;
	unsigned size;

	out_hex(o, ev->u.range.first, 1);
	if (ev->type == HWT_EV_RANGE) {
		out_ch(o, '-');
		out_hex(o, ev->u.range.last, 1);
	}
	show_sym(v, ev, ev->u.range.first);
	out_tab(o, 88);
	if (ev->type == HWT_EV_INSN) {
		out_str(o, show_disasm(v, ev, ev->u.range.first, ev->u.range.isa, &size));
	} else {
		out_udec(o, ev->u.range.insns);
		out_ch(o, ' ');
		out_str(o, show_kind(ev->u.range.kind));
		if (ev->flags & HWT_F_TAKEN)
			out_str(o, " taken");
		if (ev->flags & HWT_F_DOUBT)
			out_str(o, " doubt");
	}
	if (v->lines)
		show_line(v, ev, ev->u.range.first);
}

void show_event(struct show *v, const struct hwt_event *ev)
{
	struct out *o = v->o;

	show_head(v, ev);
	if (ev->type == HWT_EV_INSN || ev->type == HWT_EV_RANGE) {
		show_range(v, ev);
	} else if (ev->type == HWT_EV_GAP) {
		out_style(o, OUT_RED);
		out_str(o, "-- ");
		show_gap(v, ev);
		out_style(o, OUT_PLAIN);
	} else {
		out_str(o, "-- ");
		other(v, ev);
	}
	if (v->verbose && ev->off != HWT_NO_OFF) {
		out_str(o, "  @0x");
		out_hex(o, ev->off, 1);
	}
	out_nl(o);
}
