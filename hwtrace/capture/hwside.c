/* SPDX-License-Identifier: BSD-2-Clause */
#include "hwside.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <hwtrace/abi.h>

#include "hwvdso.h"
#include "native.h"
#include "ticks.h"

int hwside_init(struct hwside *s, const struct time_map *map, const struct perf_told *told)
{
	unsigned major, minor;
	struct utsname u;

	memset(s, 0, sizeof(*s));
	s->map = *map;
	s->attr = (struct perf_attr){ .sample_type = HWSIDE_SAMPLE, .sample_id_all = true,
		.trailer = 24, .name = "" };
	s->pf.attrs = &s->attr;
	s->pf.nattrs = 1;
	s->turn.pf = &s->pf;
	s->turn.told = *told;
	if (virt_state_new(&s->turn.virt))
		return -ENOMEM;
	if (uname(&u))
		return 0;
	virt_state_kernel(s->turn.virt, u.machine, u.release);
	/* a switch says since then whether the task could run on */
	s->turn.runnable_known = sscanf(u.release, "%3u.%3u", &major, &minor) == 2 &&
		(major > 4 || (major == 4 && minor >= 17));
	return 0;
}

void hwside_free(struct hwside *s)
{
	virt_state_free(s->turn.virt);
	idmap_free(&s->cpus);
	free(s->times);
	strlist_free(&s->paths);
}

static struct perf_rec record_of(const struct perf_event_header *h)
{
	return (struct perf_rec){ .type = h->type, .misc = h->misc, .size = h->size,
		.p = (const uint8_t *)h };
}

bool hwside_sample(const struct hwside *s, const struct perf_event_header *h,
		   struct perf_sample *out)
{
	struct perf_rec r = record_of(h);

	perf_sample(&s->pf, &r, out);
	return !out->bad;
}

/* The time of the last record of @cpu; NULL: no memory. */
static uint64_t *last_of(struct hwside *s, int32_t cpu)
{
	uint32_t i = idmap_get(&s->cpus, (uint32_t)cpu);

	if (i == IDMAP_NONE) {
		uint64_t *v = realloc(s->times, (s->ncpus + 1) * sizeof(*v));

		if (!v)
			return NULL;
		s->times = v;
		if (idmap_set(&s->cpus, (uint32_t)cpu, s->ncpus))
			return NULL;
		i = s->ncpus++;
		v[i] = 0;
	}
	return &s->times[i];
}

/* The kernel writes some records a little after the instant that they are of. */
static int put(struct hwside *s, struct native_writer *w, int32_t cpu, struct hwt_rec *rec)
{
	uint64_t *last = last_of(s, cpu);

	if (!last)
		return -ENOMEM;
	if (rec->time < *last)
		rec->time = *last;
	*last = rec->time;
	if (rec->time > s->last)
		s->last = rec->time;
	return native_side(w, cpu, rec, rec->size);
}

/* Files only: what begins with another sign ("[vdso]", "//anon") is none. */
static int note_path(struct hwside *s, const struct perf_rec *r, const struct perf_sample *at)
{
	struct perf_mmap m;

	if ((r->type != REC_MMAP && r->type != REC_MMAP2) || s->paths.n >= HWSIDE_PATHS ||
	    !perf_mmap(&s->pf, r, at, &m) || !m.exec || !m.whole || m.map.pid < 0 ||
	    m.map.path[0] != '/' || m.map.path[1] == '/')
		return 0;
	for (size_t i = s->paths.n; i--;)
		if (!strcmp(s->paths.v[i], m.map.path))
			return 0;
	return strlist_add(&s->paths, m.map.path);
}

int hwside_put(struct hwside *s, struct native_writer *w, int32_t cpu,
	       const struct perf_event_header *h)
{
	struct hwt_rec_stream_lost *lost = (struct hwt_rec_stream_lost *)s->rec;
	struct hwt_rec *rec = &lost->rec;
	struct perf_turn *t = &s->turn;
	bool more = true;
	uint64_t tick;
	int rc;

	t->r = record_of(h);
	perf_sample(&s->pf, &t->r, &t->s);
	/* without a conversion what is counted is ns of perf's clock */
	tick = t->s.time == HWT_TIME_UNKNOWN ? s->last : !time_map_valid(&s->map) ? t->s.time :
		time_map_ticks(&s->map, t->s.time);
	t->ctx = (struct virt_ctx){ .time = tick, .cpu = cpu, .pid = t->s.pid, .tid = t->s.tid };
	rc = t->s.bad ? 0 : note_path(s, &t->r, &t->s);
	for (t->part = 0; !rc && more; t->part++) {
		rc = perf_side(t, s->rec, &more);
		if (rc <= 0)
			return rc;
		if (rec->id == HWT_ID_stream_lost)
			s->lost += lost->count == UINT64_MAX ? 1 : lost->count;
		rc = put(s, w, cpu, rec);
	}
	return rc;
}

int hwside_lost(struct hwside *s, struct native_writer *w, int32_t cpu)
{
	struct hwt_rec_stream_lost e = { .rec = { .time = s->last, .id = HWT_ID_stream_lost,
		.size = sizeof(e), .version = HWT_ABI_VERSION, .pid = -1, .tid = -1 },
		.count = UINT64_MAX, .cause = HWT_lost_cause_other };

	s->lost++;
	return put(s, w, cpu, &e.rec);
}

int hwside_clock(struct hwside *s, struct native_writer *w, int32_t cpu)
{
	struct ticks_pair p = ticks_read(CLOCK_MONOTONIC);
	struct hwt_rec_clock_sync e = { .rec = { .time = p.ticks + p.width,
		.id = HWT_ID_clock_sync, .size = sizeof(e), .version = HWT_ABI_VERSION,
		.pid = -1, .tid = -1 }, .counter = p.ticks, .value = p.ns,
		.width = p.width > UINT32_MAX ? UINT32_MAX : (uint32_t)p.width,
		.clock = HWT_clock_id_monotonic };
	const uint64_t *last = last_of(s, cpu);

	if (!last)
		return -ENOMEM;
	/* records of before this reading may come yet, and keep their times */
	if (*last && *last < e.rec.time)
		e.rec.time = *last;
	return put(s, w, cpu, &e.rec);
}

int hwside_files(struct hwside *s, struct native_writer *w)
{
	for (size_t i = 0; i < s->paths.n; i++) {
		/* a file that is gone is no error; one that can not be written stays */
		native_file(w, s->paths.v[i], NULL, NULL, 0);
		if (native_diag(w)->code)
			return native_diag(w)->code;
	}
	return hwvdso_copy(w);
}
