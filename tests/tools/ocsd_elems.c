/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ocsd_elems CAPTURE [BUFFER] [-m MAX] [-s|-p|-l]: the events of a CoreSight buffer in words that
 * can be compared with the listing of the library's own tool. -m: taken so many at a time; instead
 * of the events, -s: the sums, -p: the packets, -l: the names of the buffers.
 * tests/golden/elems.py has the other half.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/hwtrace.h>

static const char *isa_name(unsigned isa)
{
	return isa == HWT_ISA_A64 ? "A64" : isa == HWT_ISA_A32 ? "A32" :
	       isa == HWT_ISA_T32 ? "T32" : "?";
}

static void print_range(const struct hwt_event *e, const char *what)
{
	printf("%" PRIu64 " %x %s %" PRIx64 " %" PRIx64 " %u %u %s %c %u%s\n", e->off,
	       e->u.range.trace_id, what, e->u.range.first,
	       e->u.range.last + e->u.range.last_size, e->u.range.insns, e->u.range.last_size,
	       isa_name(e->u.range.isa), e->flags & HWT_F_TAKEN ? 'E' : 'N', e->u.range.kind,
	       e->flags & HWT_F_COND ? " cond" : "");
}

static void print_gap(const struct hwt_event *e)
{
	printf("%" PRIu64 " %x gap %s %" PRIu64, e->off, e->u.gap.trace_id,
	       hwt_gap_name((unsigned)e->u.gap.cause), e->u.gap.bytes);
	if (hwt_gap_has_addr((unsigned)e->u.gap.cause))
		printf(" at %" PRIx64, e->u.gap.addr);
	printf(" code %d\n", e->u.gap.code);
}

static void print(const struct hwt_event *e)
{
	switch (e->type) {
	case HWT_EV_RANGE:
		if (e->flags & HWT_F_DOUBT)
			printf("%" PRIu64 " %x gap doubt\n", e->off, e->u.range.trace_id);
		print_range(e, "range");
		break;
	case HWT_EV_NOPATH:
		print_range(e, "nopath");
		break;
	case HWT_EV_GAP:
		print_gap(e);
		break;
	case HWT_EV_ON:
		printf("%" PRIu64 " %x on%s\n", e->off, e->u.at.trace_id,
		       e->flags & HWT_F_INTR ? " debug" : "");
		break;
	case HWT_EV_OFF:
		printf("%" PRIu64 " %x off\n", e->off, e->u.at.trace_id);
		break;
	case HWT_EV_ERET:
		printf("%" PRIu64 " %x eret\n", e->off, e->u.at.trace_id);
		break;
	case HWT_EV_ASPACE:
		printf("%" PRIu64 " %x context", e->off, e->u.aspace.trace_id);
		if (e->u.aspace.valid & 4)
			printf(" EL%u", e->u.aspace.el);
		printf(" %c %s", "NSTR"[e->u.aspace.secure & 3],
		       e->u.aspace.valid & 8 ? "64" : "32");
		if (e->u.aspace.valid & 2)
			printf(" vmid %x", e->u.aspace.vmid);
		if (e->u.aspace.valid & 1)
			printf(" ctxt %" PRIx64, e->u.aspace.id);
		printf("\n");
		break;
	case HWT_EV_EXCEPTION:
		printf("%" PRIu64 " %x exception %x", e->off, e->u.exc.trace_id, e->u.exc.number);
		if (e->u.exc.from != HWT_NO_ADDR)
			printf(" from %" PRIx64, e->u.exc.from);
		printf("\n");
		break;
	case HWT_EV_CYCLES:
		printf("%" PRIu64 " %x cycles %" PRIu64 "\n", e->off, e->u.value.trace_id,
		       e->u.value.value);
		break;
	case HWT_EV_TIMESTAMP:
		printf("%" PRIu64 " %x timestamp %" PRIx64 " %u\n", e->off, e->u.value.trace_id,
		       e->u.value.value, e->u.value.what);
		break;
	case HWT_EV_TX:
		printf("%" PRIu64 " %x tx %u %" PRIu64 "\n", e->off, e->u.value.trace_id,
		       e->u.value.what, e->u.value.value);
		break;
	case HWT_EV_FREQ:
		printf("%" PRIu64 " %x freq %" PRIu64 "\n", e->off, e->u.value.trace_id,
		       e->u.value.value);
		break;
	case HWT_EV_TRIGGER:
		printf("%" PRIu64 " %x trigger %u %" PRIx64 "\n", e->off, e->u.value.trace_id,
		       e->u.value.what, e->u.value.value);
		break;
	case HWT_EV_MARK:
		printf("%" PRIu64 " %x mark", e->off, e->u.mark.trace_id);
		if (e->flags & HWT_F_SW)
			printf(" %x:%x", e->u.mark.master, e->u.mark.channel);
		printf(" bits %u value %" PRIx64 " kind %x\n", e->u.mark.bits, e->u.mark.value,
		       e->u.mark.kind);
		break;
	case HWT_EV_RECORD:
		printf("%" PRIu64 " 0 record %u\n", e->off, e->u.rec.id);
		break;
	default:
		printf("%" PRIu64 " 0 type %u\n", e->off, e->type);
		break;
	}
}

/* All events; sums are checked against each other. */
static int run(struct hwt_session *s, size_t buf, int max, int sums)
{
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_flow_stats st;
	struct hwt_stream *flow;
	struct hwt_event *ev = calloc((size_t)max, sizeof(*ev));
	struct hwt_diag diag;
	int n;

	want.level = HWT_LEVEL_RANGES;
	if (!ev || hwt_session_flow(s, buf, &want, &flow, &diag) < 0) {
		fprintf(stderr, "ocsd_elems: %s\n", ev ? diag.text : "out of memory");
		free(ev);
		return 1;
	}
	while ((n = hwt_stream_next(flow, ev, max)) > 0) {
		for (int i = 0; i < n && !sums; i++)
			print(&ev[i]);
	}
	hwt_flow_stats(flow, &st);
	hwt_stream_close(flow);
	free(ev);
	if (sums)
		printf("in %" PRIu64 " decoded %" PRIu64 " skipped %" PRIu64 " lost %" PRIu64
		       " insns %" PRIu64 " ranges %" PRIu64 " gaps %" PRIu64 " steps %" PRIu64
		       "\n", st.bytes_in, st.bytes_decoded, st.bytes_skipped, st.bytes_lost,
		       st.insns, st.ranges, st.gaps, st.steps);
	if (st.bytes_in != st.bytes_decoded + st.bytes_skipped) {
		fprintf(stderr, "ocsd_elems: bytes in %" PRIu64 ", decoded %" PRIu64 ", skipped %"
			PRIu64 "\n", st.bytes_in, st.bytes_decoded, st.bytes_skipped);
		return 1;
	}
	return n < 0;
}

static int packets(struct hwt_session *s, size_t buf)
{
	struct hwt_packets *ps;
	struct hwt_packet k;
	struct hwt_diag diag;
	int rc;

	if (hwt_session_packets(s, buf, &ps, &diag) < 0) {
		fprintf(stderr, "ocsd_elems: %s\n", diag.text);
		return 1;
	}
	while ((rc = hwt_packets_next(ps, &k)) > 0) {
		printf("%" PRIu64 "\t%02x\t%s\t", k.off, k.trace_id, k.name);
		for (unsigned i = 0; i < k.raw_size; i++)
			printf("%s%02x", i ? " " : "", k.raw[i]);
		printf("\t%u%s\t%s\n", k.size, k.bad ? "\tbad" : "", k.text);
	}
	hwt_packets_close(ps);
	return rc < 0;
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	struct hwt_session *s;
	struct hwt_diag diag;
	int max = 256, sums = 0, list = 0, names = 0, rc;
	size_t buf = 0;
	struct hwt_buf_info info;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-s"))
			sums = 1;
		else if (!strcmp(argv[i], "-p"))
			list = 1;
		else if (!strcmp(argv[i], "-l"))
			names = 1;
		else if (!strcmp(argv[i], "-m") && i + 1 < argc)
			max = atoi(argv[++i]);
		else if (!path)
			path = argv[i];
		else
			buf = strtoul(argv[i], NULL, 0);
	}
	if (!path || max <= 0) {
		fprintf(stderr, "usage: ocsd_elems CAPTURE [BUFFER] [-m MAX] [-s|-p|-l]\n");
		return 2;
	}
	if (hwt_session_open(&s, path, NULL, &diag) < 0) {
		fprintf(stderr, "ocsd_elems: %s\n", diag.text);
		return 1;
	}
	if (names) {
		rc = 0;
		for (buf = 0; hwt_session_buf(s, buf, &info) >= 0; buf++)
			printf("%s\n", info.name);
	} else {
		rc = list ? packets(s, buf) : run(s, buf, max, sums);
	}
	hwt_session_close(s);
	return rc;
}
