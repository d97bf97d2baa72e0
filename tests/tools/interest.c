/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interest CAPTURE [ELF]: the events that each level of interest makes flow produce, by type, as
 * "level NAME COUNT" lines; "events" is the flow stream's own count, "ranges" what was walked.
 * interest CAPTURE ELF FROM TO: the same of a timeline for pairs of these points, as "points".
 */
#include <stdio.h>
#include <stdlib.h>

#include <hwtrace/hwtrace.h>

static const char *const names[HWT_EV_TYPES] = {
	[HWT_EV_RANGE] = "range", [HWT_EV_NOPATH] = "nopath", [HWT_EV_CALL] = "call",
	[HWT_EV_RETURN] = "return", [HWT_EV_ON] = "on", [HWT_EV_OFF] = "off",
	[HWT_EV_GAP] = "gap", [HWT_EV_ASPACE] = "aspace", [HWT_EV_EXCEPTION] = "exception",
	[HWT_EV_ERET] = "eret", [HWT_EV_CYCLES] = "cycles", [HWT_EV_TIMESTAMP] = "timestamp",
	[HWT_EV_TX] = "tx", [HWT_EV_FREQ] = "freq", [HWT_EV_SCHED_SWITCH] = "switch",
};

static int count(struct hwt_session *s, const char *name, enum hwt_level level)
{
	const struct hwt_interest want = { .level = level, .time_hi = HWT_TIME_UNKNOWN };
	unsigned long long n[HWT_EV_TYPES] = { 0 }, tail = 0, events = 0, ranges = 0;
	struct hwt_flow_stats st;
	struct hwt_stream *flow;
	struct hwt_event ev[256];
	int k;

	for (size_t i = 0; i < hwt_session_bufs(s); i++) {
		if (hwt_session_flow(s, i, &want, &flow, NULL) < 0)
			return 1;
		while ((k = hwt_stream_next(flow, ev, 256)) > 0)
			for (int j = 0; j < k; j++) {
				n[ev[j].type]++;
				tail += ev[j].type == HWT_EV_CALL && ev[j].flags & HWT_F_TAIL;
			}
		hwt_flow_stats(flow, &st);
		events += st.events;
		ranges += st.ranges;
		hwt_stream_close(flow);
		if (k < 0)
			return 1;
	}
	printf("%s events %llu\n%s ranges %llu\n%s tail %llu\n", name, events, name, ranges, name,
	       tail);
	for (unsigned t = HWT_EV_NONE + 1; t < HWT_EV_TYPES; t++)
		if (n[t])
			printf("%s %s %llu\n", name, names[t] ? names[t] : "other", n[t]);
	return 0;
}

static int count_points(struct hwt_session *s, const char *from, const char *to)
{
	struct hwt_pairs_opts po = { .size = sizeof(po), .from = from, .to = to };
	struct hwt_timeline_opts o = { .size = sizeof(o), .want = HWT_INTEREST_ALL };
	unsigned long long n[HWT_EV_TYPES] = { 0 }, pairs = 0;
	struct hwt_timeline_stats st;
	struct hwt_stream *timeline;
	struct hwt_event ev[256];
	struct hwt_pairs *p;
	struct hwt_pair pair;
	int k;

	if (hwt_pairs_new(&p, s, &po, NULL) < 0)
		return 1;
	hwt_pairs_want(p, &o);
	if (hwt_session_timeline(s, &o, &timeline, NULL) < 0)
		return 1;
	while ((k = hwt_stream_next(timeline, ev, 256)) > 0)
		for (int j = 0; j < k; j++) {
			n[ev[j].type]++;
			pairs += hwt_pairs_event(p, &ev[j], &pair) == 1;
		}
	hwt_timeline_stats(timeline, &st);
	printf("points events %llu\npoints ranges %llu\npoints pairs %llu\n",
	       (unsigned long long)st.flow.events, (unsigned long long)st.flow.ranges, pairs);
	for (unsigned t = HWT_EV_NONE + 1; t < HWT_EV_TYPES; t++)
		if (n[t])
			printf("points %s %llu\n", names[t] ? names[t] : "other", n[t]);
	hwt_stream_close(timeline);
	hwt_pairs_free(p);
	return k < 0;
}

int main(int argc, char **argv)
{
	const struct hwt_elf_arg elf = { argc > 2 ? argv[2] : NULL, HWT_NO_ADDR };
	const struct hwt_open_opts o = { .size = sizeof(o), .elfs = &elf, .nelfs = argc > 2 };
	struct hwt_diag diag;
	struct hwt_session *s;
	int rc;

	if (argc < 2 || argc == 4 || argc > 5) {
		fprintf(stderr, "usage: interest CAPTURE [ELF [FROM TO]]\n");
		return 2;
	}
	if (hwt_session_open(&s, argv[1], &o, &diag) < 0) {
		fprintf(stderr, "interest: %s\n", diag.text);
		return 1;
	}
	rc = argc > 3 ? count_points(s, argv[3], argv[4]) :
		count(s, "holes", HWT_LEVEL_HOLES) || count(s, "calls", HWT_LEVEL_CALLS) ||
		count(s, "ranges", HWT_LEVEL_RANGES);
	hwt_session_close(s);
	return rc;
}
