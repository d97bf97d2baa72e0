/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kevents [-k] [--as FORMAT] CAPTURE: the container's own events, one a line: time, cpu, pid, tid,
 * file, name, fields; -k: as virtual events, with version, flags and hit number of their record,
 * and dirty ones. The last line says what the stream ended with.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/kernel.h>
#include <hwtrace/session.h>
#include <hwtrace/uapi.h>

#define BATCH 100

static void print(const struct hwt_session *s, const struct hwt_event *ev, int kernel)
{
	static char text[1 << 20];
	const char *name;

	if (ev->type == HWT_EV_NONE)
		return;
	if (ev->time == HWT_TIME_UNKNOWN)
		printf("-");
	else
		printf("%" PRIu64, ev->time);
	if (ev->span == HWT_SPAN_UNKNOWN)
		printf("+?");
	else if (ev->span)
		printf("+%u", ev->span);
	printf(" %d %d %d %u ", ev->cpu, ev->pid, ev->tid, ev->src);
	if (ev->type == HWT_EV_GAP) {
		printf("gap %s\n", hwt_gap_name((unsigned)ev->u.gap.cause));
		return;
	}
	if (kernel)
		hwt_kernel_text(s, ev, text, sizeof(text));
	else
		hwt_event_text(s, ev, text, sizeof(text));
	if (kernel && ev->u.rec.id < HWT_ID_DIRTY) {
		struct hwt_rec h;

		memcpy(&h, ev->u.rec.data, sizeof(h));
		printf("v%u flags=0x%x hit=%" PRIu64 " ", h.version, h.flags, (uint64_t)h.hit);
	}
	name = kernel ? hwt_kernel_name(s, ev) : hwt_event_name(s, ev);
	printf("%s: %s\n", name ? name : "?", text);
}

int main(int argc, char **argv)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_diag d = { .off = HWT_NO_OFF };
	struct hwt_stream *st = NULL;
	struct hwt_session *s = NULL;
	struct hwt_event ev[BATCH];
	int kernel = 0, i = 1, n, rc;

	if (i < argc && !strcmp(argv[i], "-k"))
		kernel = i++;
	if (i + 1 < argc && !strcmp(argv[i], "--as")) {
		o.as = argv[i + 1];
		i += 2;
	}
	if (i >= argc)
		return 2;
	rc = hwt_session_open(&s, argv[i], &o, &d);
	if (!rc)
		rc = kernel ? hwt_session_kernel(s, &st, &d) : hwt_session_events(s, &st, &d);
	if (rc) {
		fprintf(stderr, "%s: %s [E%03u]\n", d.file, d.text, d.id);
		hwt_session_close(s);
		return 1;
	}
	while ((n = hwt_stream_next(st, ev, BATCH)) > 0)
		for (int k = 0; k < n; k++)
			print(s, &ev[k], kernel);
	printf("end %d\n", n);
	hwt_stream_close(st);
	hwt_session_close(s);
	return 0;
}
