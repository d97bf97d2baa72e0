/* SPDX-License-Identifier: BSD-2-Clause */
/* The virtual events: what help and the man page say of them, and --abi-check. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

#define SCRIPT_MAX	(1u << 20)	/* bytes */
#define SECTIONS	256

static void wrapped(struct out *o, unsigned col, const char *s)
{
	out_tab(o, col);
	opt_wrap(o, s, col);
}

static void start(struct out *o)
{
	o->line = o->flushed + o->n;
}

static void list_section(struct out *o, unsigned number)
{
	const struct hwt_abi_event *e;
	const char *text, *name = hwt_abi_section(number, &text);

	out_fmt(o, "%s: %s\n", name, text);
	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
		if (e->id >> 8 != number)
			continue;
		start(o);
		out_fmt(o, "  %s", e->name);
		wrapped(o, 26, e->stamp);
	}
}

static void list_all(struct out *o)
{
	out_fmt(o, "Virtual events, version %u. Their fields and behaviour do not change from "
		"kernel to\nkernel; \"hwtrace help NAME\" tells them.\n", hwt_abi_version());
	for (unsigned s = 0; s < SECTIONS; s++)
		if (hwt_abi_section(s, NULL)) {
			out_nl(o);
			list_section(o, s);
		}
}

static void field_values(struct out *o, const struct hwt_abi_field *f)
{
	const struct hwt_abi_named *v;

	if (!strcmp(f->unit, "yesno"))
		return;
	for (unsigned k = 0; (v = hwt_abi_value_at(f->unit, k)); k++) {
		start(o);
		out_tab(o, 28);
		out_fmt(o, "%llu %s", (unsigned long long)v->value, v->name);
		if (v->text[0]) {
			out_ch(o, ':');
			opt_wrap(o, v->text, 28);
		} else {
			out_nl(o);
		}
	}
}

static void definition(struct out *o, const struct hwt_abi_event *e)
{
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);

	out_fmt(o, "%s, event %u since version %u of the virtual events\n\n", e->name, e->id,
		e->since);
	start(o);
	out_str(o, "stamped");
	wrapped(o, 10, e->stamp);
	if (e->order[0]) {
		start(o);
		out_str(o, "before");
		wrapped(o, 10, e->order);
	}
	start(o);
	out_str(o, "how often");
	wrapped(o, 10, e->often);
	out_str(o, "\nFields:\n");
	for (; n; n--, f++) {
		start(o);
		out_fmt(o, "  %s", f->name);
		out_tab(o, 18);
		out_str(o, hwt_abi_type_name(f->type));
		out_tab(o, 26);
		if (f->unit[0])
			out_fmt(o, "[%s]", f->unit);
		if (f->since != e->since)
			out_fmt(o, " (since version %u)", f->since);
		opt_wrap(o, f->text, 26);
		field_values(o, f);
	}
}

static int section_number(const char *word)
{
	for (unsigned s = 0; s < SECTIONS; s++) {
		const char *name = hwt_abi_section(s, NULL);

		if (name && !strcmp(name, word))
			return (int)s;
	}
	return -1;
}

bool events_topic(struct out *o, const char *word)
{
	const struct hwt_abi_event *e = hwt_abi_event_by_name(word);
	int s = section_number(word);

	if (strcmp(word, "events") && !e && s < 0)
		return false;
	if (!o)
		return true;
	if (e)
		definition(o, e);
	else if (s >= 0)
		list_section(o, (unsigned)s);
	else
		list_all(o);
	return true;
}

static void man_values(struct out *o, const struct hwt_abi_field *f)
{
	const struct hwt_abi_named *v;

	if (!strcmp(f->unit, "yesno"))
		return;
	for (unsigned k = 0; (v = hwt_abi_value_at(f->unit, k)); k++) {
		out_fmt(o, ".br\n%llu %s", (unsigned long long)v->value, v->name);
		if (v->text[0])
			gen_line(o, ": ", v->text, "");
		else
			out_nl(o);
	}
}

static void man_event(struct out *o, const struct hwt_abi_event *e)
{
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);

	out_fmt(o, ".SS %s (%u)\n", e->name, e->id);
	gen_line(o, "", e->stamp, ".");
	if (e->order[0]) {
		out_str(o, ".br\nBefore: ");
		gen_line(o, "", e->order, ".");
	}
	out_str(o, ".br\nHow often: ");
	gen_line(o, "", e->often, ".");
	for (; n; n--, f++) {
		out_fmt(o, ".TP\n.BI %s \" %s\"\n", f->name, hwt_abi_type_name(f->type));
		if (f->unit[0])
			out_fmt(o, "[%s] ", f->unit);
		if (f->since != e->since)
			out_fmt(o, "(since version %u) ", f->since);
		gen_line(o, "", f->text, "");
		man_values(o, f);
	}
}

static const char man_head[] =
	".SH NAME\nhwtrace\\-events \\- virtual events\n.SH DESCRIPTION\n"
	"What a kernel tells, whoever records it and however it is built inside. Fields and\n"
	"behaviour of a released version never change; later ones add fields at the end and new\n"
	"events. Events that depend on how one kernel is built are \"dirty\": each capture\n"
	"describes its own, and a script that declares\n.B abi=stable\nmust not name them\n"
	"(\\fBhwtrace help \\-\\-abi\\-check\\fR).\n.PP\n"
	"Each event is told by where exactly its time is stamped, which events come before it,\n"
	"and how often it occurs. Its record also has the time in ticks of the counter, the CPU,\n"
	"process and task that ran\n.RI ( pid \", \" tid ),\nand\n.IR hit :\n"
	"the number of the event among those of its kind on this CPU, counted before any filter.\n"
	".SH TYPES\n"
	".TP\n.BR u32 \", \" u64 \", \" x32 \", \" x64\nnumbers, x shown hexadecimal; "
	"all ones: not known\n"
	".TP\n.BR s32 \", \" s64\nnumbers with sign; the most negative: not known\n"
	".TP\n.B pid\nid of a process or task; \\-1: not known\n"
	".TP\n.B name16\nat most 15 bytes of text, which filters can compare; "
	"\\(dq\\-\\(dq: not known\n"
	".TP\n.B text\nup to 4095 bytes; \\(dq\\-\\(dq: not known\n"
	".TP\n.B code16\n16 bytes\n"
	".TP\n.B id24\nup to 20 bytes, a build\\-id; none: not known\n"
	".SH PROVIDERS\n"
	"Tracepoints of Linux, in perf.data, trace.dat and pages of tracefs, and kernel events of\n"
	"LTTng are read as these events; whatever else a capture holds is a dirty event,\n"
	".BR dirty:NAME ,\nwith the fields of its source. What a provider does not tell is\n"
	"not known:\n"
	".TP\n.B all of them\n.IR hit ,\n"
	".IR next_aspace ,\naddresses of block requests, numbers of network devices, places of\n"
	"modules, the delay of timers (told in ticks of a length that is not told)\n"
	".TP\n.B ftrace, LTTng\nthe process of a task that no event before has named\n"
	".TP\n.B ftrace, perf\nhow a call was made on a 64\\-bit kernel (abi), where one event\n"
	"is for all calls\n"
	".TP\n.B LTTng\nnumbers of system calls, which it names, and their arguments; mm.map\n"
	".TP\n.B perf without the tracepoint of a switch\nnames, priorities, and what kind of\n"
	"sleep it is\n"
	".PP\nA task that is ready when it leaves was preempted, or called sched_yield(2):\n"
	"preempted is \\(dqyes\\(dq only where the kernel says so, and else not known.\n";

void events_man(struct out *o)
{
	const struct hwt_abi_event *e;
	const char *name, *text;

	out_fmt(o, ".\\\" SPDX-License-Identifier: BSD-2-Clause\n"
		".\\\" made from include/hwtrace/events.def: hwtrace generate events\n"
		".TH HWTRACE-EVENTS 7 \"\" \"hwtrace %s\" \"hwtrace manual\"\n", HWT_VERSION);
	out_str(o, man_head);
	for (unsigned s = 0; s < SECTIONS; s++) {
		name = hwt_abi_section(s, &text);
		if (!name)
			continue;
		out_str(o, ".SH SECTION ");
		for (; *name; name++)
			out_ch(o, (char)(*name - 'a' + 'A'));
		out_nl(o);
		gen_line(o, "", text, "");
		for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++)
			if (e->id >> 8 == s)
				man_event(o, e);
	}
	out_str(o, ".SH SEE ALSO\n.BR hwtrace (1),\n.BR hwtrace\\-help (1)\n");
}

/* The whole file, "-" is standard input. Returns its size, or a negative errno. */
static ssize_t read_script(const char *path, char *buf, size_t size)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	size_t at = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (n && at < size) {
		n = read(fd, buf + at, size - at);
		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? (size_t)n : 0;
		n = n < 0 ? 1 : n;
	}
	n = n < 0 ? -errno : at == size ? -EFBIG : (ssize_t)at;
	if (fd != STDIN_FILENO)
		close(fd);
	return n;
}

static void print_use(void *arg, const struct hwt_abi_use *u)
{
	struct out *o = arg;

	start(o);
	out_mem(o, u->name, u->len);
	out_tab(o, 24);
	out_str(o, u->event ? "stable\n" : "dirty\n");
}

int events_check(struct run *r)
{
	const char *path = r->opts.abi_check;
	char *buf = malloc(SCRIPT_MAX);
	ssize_t n = buf ? read_script(path, buf, SCRIPT_MAX) : -ENOMEM;
	struct hwt_diag diag;
	int rc;

	if (n < 0) {
		say(NULL, "%s: %s", path, strerror((int)-n));
		free(buf);
		return EXIT_INPUT;
	}
	rc = run_output(r);
	if (!rc) {
		int names = hwt_abi_script(buf, (size_t)n, print_use, r->out, &diag);

		if (names < 0) {
			out_flush(r->out);
			say_diag(&diag, names, path);
			rc = EXIT_FINDINGS;
		}
	}
	free(buf);
	return rc;
}
