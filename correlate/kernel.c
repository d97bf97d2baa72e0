/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel events of a session: virtual ones by the tables, dirty ones by their reader. */
#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <string.h>

#include <hwtrace/kernel.h>
#include <hwtrace/uapi.h>

#include "../hwtrace/base/text.h"
#include "../hwtrace/events/names.h"
#include "../hwtrace/filter/filter.h"
#include "../hwtrace/virt/virt.h"
#include "session.h"
#include "tighten.h"

#define PEEK	4096	/* events, of which one has bounds if any has */
#define VAGUE	1000	/* ns: orders say nothing of clocks that are known better */

/*
 * Whether orders narrow times: there are bounds, and nothing contradicts them. All events are read
 * for it once, but only then.
 */
static bool narrows(struct capture *c)
{
	struct tighten_stats st;
	struct hwt_event ev[64];
	struct hwt_stream *up;
	struct hwt_diag d;
	bool vague = false;
	unsigned seen = 0;
	int n = 0;

	if (c->orders)
		return c->orders > 0;
	c->orders = -1;
	if (c->kernel(c, &up, &d) < 0)
		return false;
	while (!vague && seen < PEEK && (n = hwt_stream_next(up, ev, 64)) > 0) {
		for (int i = 0; i < n; i++)
			vague |= ev[i].span >= VAGUE && ev[i].span != HWT_SPAN_UNKNOWN &&
				ev[i].clock == HWT_CLOCK_BASE;
		seen += (unsigned)n;
	}
	hwt_stream_close(up);
	if (!vague || c->kernel(c, &up, &d) < 0 || tighten_new(&up, up) < 0)
		return false;
	while ((n = hwt_stream_next(up, ev, 64)) > 0)
		;
	tighten_stats(up, &st);
	hwt_stream_close(up);
	if (!st.contradictions && st.narrowed)
		c->orders = 1;
	return c->orders > 0;
}

int session_kernel(struct hwt_session *s, struct hwt_stream **out, struct hwt_diag *diag)
{
	struct capture *c = session_capture(s);
	int rc;

	if (!c->kernel)
		return diag_set(diag, -ENOENT, 0, c->path, HWT_NO_OFF,
				"a %s capture holds no kernel-side events",
				c->format ? c->format : "");
	rc = c->kernel(c, out, diag);
	if (rc < 0 || !narrows(c))
		return rc;
	rc = tighten_new(out, *out);
	return rc < 0 ? diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "out of memory") : rc;
}

/* Of a record of this version: it has all fields. */
static int note_names(struct machine *m, const struct hwt_event *ev)
{
	const struct hwt_rec_sched_fork *f = ev->u.rec.data;
	const struct hwt_rec_sched_comm *n = ev->u.rec.data;
	const char *name;
	int32_t tid;
	int rc = 0;

	if (ev->type != HWT_EV_RECORD || ev->u.rec.id >> 8 != HWT_SECTION_sched ||
	    ev->clock != HWT_CLOCK_BASE || ev->time == HWT_TIME_UNKNOWN)
		return 0;
	if (ev->u.rec.id == HWT_ID_sched_fork && f->comm[0] && strncmp(f->comm, "-", 2))
		return machine_set_comm_at(m, f->child_tid, ev->time, f->comm, 16);
	if (ev->u.rec.id == HWT_ID_sched_fork)
		return machine_fork_comm(m, f->child_tid, f->parent_tid, ev->time);
	if (ev->u.rec.id == HWT_ID_sched_comm && n->comm[0])
		return machine_set_comm_at(m, n->task_tid, ev->time, n->comm, 16);
	for (unsigned i = 0; !rc && names_of(ev->u.rec.data, i, &tid, &name); i++)
		if (tid >= 0)
			rc = machine_see_comm(m, tid, ev->time, name, 16);
	return rc;
}

/*
 * One pass, at the first question for a name: most that is asked of such captures is not about
 * names. Without memory tasks keep the names that they have so far.
 */
void session_names(const struct hwt_session *s)
{
	struct capture *c = session_capture((struct hwt_session *)s);
	struct hwt_event ev[64];
	struct hwt_stream *st;
	struct hwt_diag diag;
	int n, rc = 0;

	if (!c->names_unread || !c->kernel)
		return;
	c->names_unread = false;
	if (c->kernel(c, &st, &diag))
		return;
	while (!rc && (n = hwt_stream_next(st, ev, 64)) > 0)
		for (int i = 0; !rc && i < n; i++)
			rc = note_names(c->machine, &ev[i]);
	hwt_stream_close(st);
	machine_sort(c->machine);
}

int hwt_session_kernel(struct hwt_session *s, struct hwt_stream **out, struct hwt_diag *diag)
{
	struct hwt_stream *st;
	int rc = session_kernel(s, &st, diag);

	if (rc >= 0)
		rc = session_widen(s, &st);
	if (rc >= 0)
		*out = st;
	return rc;
}

int hwt_kernel_filter(const struct hwt_session *s, struct hwt_filter **out, const char *text,
		      struct hwt_diag *diag)
{
	const struct capture *c = session_capture((struct hwt_session *)s);
	const struct hwt_filter_opts o = { .size = sizeof(o), .own = c->own, .nown = c->nown,
		.arch = c->arch && *c->arch ? c->arch : NULL, .contexts = c->contexts };

	return hwt_filter_new_opts(out, text, &o, diag);
}

/* The virtual event of @ev; NULL: it is dirty, or of a younger list than ours. */
static const struct hwt_abi_event *virtual_event(const struct hwt_event *ev)
{
	const struct hwt_abi_event *e;

	if (ev->type != HWT_EV_RECORD || ev->u.rec.id >= HWT_ID_DIRTY ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0)
		return NULL;
	return e;
}

static bool is_dirty(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_RECORD && ev->u.rec.id >= HWT_ID_DIRTY;
}

const char *hwt_kernel_name(const struct hwt_session *s, const struct hwt_event *ev)
{
	const struct capture *c = session_capture((struct hwt_session *)s);
	const struct hwt_abi_event *e = virtual_event(ev);
	const char *name = NULL;

	if (e)
		return e->name;
	if (is_dirty(ev) && c->dirty_name)
		name = c->dirty_name(c, ev);
	return name ? name : "dirty:record";
}

const char *hwt_kernel_name_of(const char *own)
{
	static const char *const of_perf[][2] = {
		{ "fork", "sched.fork" }, { "comm", "sched.comm" }, { "exec", "sched.exec" },
		{ "exit", "sched.exit" }, { "mmap", "mm.map" }, { "mmap2", "mm.map" },
		{ "ksymbol", "text.ksymbol" }, { "text_poke", "text.patch" },
		{ "lost", "stream.lost" },
	};
	const char *colon = strchr(own, ':');
	const struct hwt_abi_event *e;
	const struct virt_map *m;
	char system[64];

	for (size_t i = 0; i < sizeof(of_perf) / sizeof(of_perf[0]); i++)
		if (!strcmp(own, of_perf[i][0]))
			return of_perf[i][1];
	if (!colon || (size_t)(colon - own) >= sizeof(system))
		return NULL;
	snprintf(system, sizeof(system), "%.*s", (int)(colon - own), own);
	m = virt_find(VIRT_LINUX, system, colon + 1);
	e = m ? hwt_abi_event_by_id(virt_id(m)) : NULL;
	return e ? e->name : NULL;
}

const char *hwt_kernel_call(const struct hwt_session *s, const struct hwt_event *ev)
{
	const struct capture *c = session_capture((struct hwt_session *)s);
	struct hwt_abi_value v;

	if (ev->type != HWT_EV_RECORD || !c->arch ||
	    (ev->u.rec.id != HWT_ID_syscall_enter && ev->u.rec.id != HWT_ID_syscall_exit))
		return NULL;
	/* the table is of 64-bit programs; who does not tell has those of the machine */
	if (hwt_kernel_field(s, ev, "abi", &v) && v.u != HWT_syscall_abi_bits64)
		return NULL;
	return hwt_kernel_field(s, ev, "nr", &v) ? filter_syscall_name(c->arch, v.u) : NULL;
}

enum arg_kind { ARG_HEX, ARG_HEX32, ARG_INT, ARG_LONG, ARG_SIZE };

/* How a value of a type of the kernel is told; what is not listed is an address or bits. */
static enum arg_kind arg_kind(const char *type, size_t n)
{
	static const struct { const char *name; enum arg_kind kind; } kinds[] = {
		{ "int", ARG_INT }, { "pid_t", ARG_INT }, { "clockid_t", ARG_INT },
		{ "const clockid_t", ARG_INT }, { "timer_t", ARG_INT }, { "key_serial_t", ARG_INT },
		{ "mqd_t", ARG_INT }, { "qid_t", ARG_INT }, { "rwf_t", ARG_HEX32 },
		{ "uid_t", ARG_INT }, { "gid_t", ARG_INT }, { "const int", ARG_INT },
		{ "long", ARG_LONG }, { "off_t", ARG_LONG }, { "loff_t", ARG_LONG },
		{ "ssize_t", ARG_LONG }, { "size_t", ARG_SIZE }, { "unsigned int", ARG_HEX32 },
		{ "unsigned", ARG_HEX32 }, { "umode_t", ARG_HEX32 }, { "u32", ARG_HEX32 },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].name) == n && !memcmp(kinds[i].name, type, n))
			return kinds[i].kind;
	return ARG_HEX;
}

/* Of an int only the lower half of the register counts. */
static void put_arg(struct text *o, const char *name, enum arg_kind kind, uint64_t v)
{
	/* a descriptor is declared unsigned here and there, and flags as plain int */
	if ((kind == ARG_HEX || kind == ARG_HEX32) && strlen(name) >= 2 &&
	    !strcmp(name + strlen(name) - 2, "fd"))
		kind = ARG_INT;
	else if (kind == ARG_INT && strstr(name, "flag"))
		kind = ARG_HEX32;
	switch (kind) {
	case ARG_INT: text_put(o, "%" PRId32, (int32_t)v); break;
	case ARG_LONG: text_put(o, "%" PRId64, (int64_t)v); break;
	case ARG_SIZE: text_put(o, "%" PRIu64, v); break;
	case ARG_HEX32: text_put(o, "0x%" PRIx32, (uint32_t)v); break;
	default: text_put(o, "0x%" PRIx64, v);
	}
}

size_t hwt_kernel_args(const struct hwt_session *s, const struct hwt_event *ev, char *buf,
		       size_t size)
{
	const struct capture *c = session_capture((struct hwt_session *)s);
	const char *call = hwt_kernel_call(s, ev), *arg, *name;
	struct text o = { .buf = buf, .size = size };
	struct hwt_abi_value v;

	if (size)
		buf[0] = 0;
	if (!call || ev->u.rec.id != HWT_ID_syscall_enter)
		return 0;
	for (unsigned i = 0; (arg = filter_syscall_arg(c->arch, call, i)) && *arg; i++) {
		const char field[] = { 'a', 'r', 'g', (char)('0' + i), 0 };

		name = strrchr(arg, ' ');
		if (!name || !hwt_kernel_field(s, ev, field, &v))
			break;
		text_put(&o, "%s%s=", o.len ? " " : "", name + 1);
		put_arg(&o, name + 1, arg_kind(arg, (size_t)(name - arg)), v.u);
	}
	return o.len;
}

size_t hwt_kernel_text(const struct hwt_session *s, const struct hwt_event *ev, char *buf,
		       size_t size)
{
	const struct capture *c = session_capture((struct hwt_session *)s);
	const struct hwt_abi_event *e = virtual_event(ev);

	if (size)
		buf[0] = 0;
	if (e) {
		size_t n = hwt_abi_format(buf, size, e, ev->u.rec.data);

		return !c->context_text ? n : n + c->context_text(c, ev, n < size ? buf + n : NULL,
								  n < size ? size - n : 0);
	}
	return is_dirty(ev) && c->dirty_text ? c->dirty_text(c, ev, buf, size) : 0;
}

int hwt_kernel_field(const struct hwt_session *s, const struct hwt_event *ev, const char *name,
		     struct hwt_abi_value *v)
{
	const struct capture *c = session_capture((struct hwt_session *)s);
	const struct hwt_abi_event *e = virtual_event(ev);
	const struct hwt_abi_field *f;

	*v = (struct hwt_abi_value){ 0 };
	if (e && !strncmp(name, "ctx.", 4))
		return c->context_field ? c->context_field(c, ev, name + 4, v) : 0;
	if (e) {
		f = hwt_abi_field_by_name(e, name);
		return f ? hwt_abi_value(v, f, ev->u.rec.data) : 0;
	}
	return is_dirty(ev) && c->dirty_field ? c->dirty_field(c, ev, name, v) : 0;
}
