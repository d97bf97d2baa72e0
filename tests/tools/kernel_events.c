/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the kernel events of captures: time, CPU, process/task, name, fields; "?" if not known. */
#include <inttypes.h>
#include <stdio.h>

#include <hwtrace/hwtrace.h>

static void print(const struct hwt_session *s, const struct hwt_event *ev)
{
	char text[8192];

	hwt_kernel_text(s, ev, text, sizeof(text));
	if (ev->time == HWT_TIME_UNKNOWN)
		printf("?");
	else
		printf("%" PRIu64, ev->time);
	printf(" %d %d/%d %s %s\n", ev->cpu, ev->pid, ev->tid, hwt_kernel_name(s, ev), text);
}

static int show(const char *path)
{
	struct hwt_diag diag = { 0 };
	struct hwt_session *s;
	struct hwt_stream *st;
	struct hwt_event ev[64];
	uint64_t last = 0;
	int n, rc = hwt_session_open(&s, path, NULL, &diag);

	if (rc) {
		fprintf(stderr, "%s: %s\n", path, diag.text);
		return 1;
	}
	rc = hwt_session_kernel(s, &st, &diag);
	if (rc) {
		fprintf(stderr, "%s: %s\n", path, diag.text);
		hwt_session_close(s);
		return 1;
	}
	while ((n = hwt_stream_next(st, ev, 64)) > 0)
		for (int i = 0; i < n; i++) {
			print(s, &ev[i]);
			if (ev[i].time < last) {
				fprintf(stderr, "%s: time goes back\n", path);
				rc = 1;
			}
			last = ev[i].time;
		}
	hwt_stream_close(st);
	hwt_session_close(s);
	return n < 0 || rc;
}

int main(int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++)
		rc |= show(argv[i]);
	return rc;
}
