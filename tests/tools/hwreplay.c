/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plays the kernel: what a perf.data has of a recording is written into rings in memory, as perf's
 * kernel side would, and the recorder's own reader makes a native capture of it.
 *
 * hwreplay IN OUT.hwt SEED AUX_BYTES DATA_BYTES [snapshot]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/hwtrace.h>

#include "hwtrace/capture/hwtake.h"
#include "hwtrace/capture/native.h"
#include "hwtrace/source/perf.h"

struct ring {
	int32_t cpu;
	struct perf_event_mmap_page page;
	uint8_t *data, *aux;
	uint64_t written;	/* bytes of trace */
};

struct play {
	struct capture *c;
	const struct perf *pf;
	struct hwtake *take;
	struct native_writer *w;
	struct ring *rings[64];
	unsigned n;
	struct perf_chunk *chunks;
	size_t nchunks;
	uint64_t size, aux_size, rnd;
	bool snapshot;
	uint64_t pumps;
};

static void die(const char *what)
{
	fprintf(stderr, "hwreplay: %s\n", what);
	exit(1);
}

static uint64_t below(struct play *p, uint64_t n)
{
	p->rnd ^= p->rnd << 13;
	p->rnd ^= p->rnd >> 7;
	p->rnd ^= p->rnd << 17;
	return (p->rnd >> 11) % n;
}

/* The buffer is that of the original, with all that is known of its units. */
static int add(void *arg, struct native_writer *w, int32_t cpu, bool raw)
{
	struct play *p = arg;

	for (size_t i = 0; i < p->c->nbufs; i++) {
		const struct trace_buf *b = &p->c->bufs[i];

		if (b->cpu == cpu || p->c->nbufs == 1)
			return native_add_buf(w, b->name, b->cpu, b->pid, b->tid, b->framing,
					      b->cfgs, b->ncfgs);
	}
	return -ENOENT;
}

static struct ring *ring_of(struct play *p, int32_t cpu)
{
	struct ring *r;

	for (unsigned i = 0; i < p->n; i++)
		if (p->rings[i]->cpu == cpu)
			return p->rings[i];
	r = p->n < 64 ? calloc(1, sizeof(*r)) : NULL;
	if (!r || !(r->data = calloc(1, p->size)) || !(r->aux = calloc(1, p->aux_size)))
		die("no memory");
	r->cpu = cpu;
	p->rings[p->n++] = r;
	if (hwtake_add(p->take, cpu, &r->page, r->data, p->size, r->aux, p->aux_size))
		die("no memory");
	return r;
}

static void pump(struct play *p)
{
	p->pumps++;
	if (hwtake_pump(p->take, p->snapshot ? NULL : p->w) < 0)
		die("pump");
}

static void put(struct ring *r, uint64_t size, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r->data[(r->page.data_head + i) % size] = ((const uint8_t *)bytes)[i];
	r->page.data_head += n;
}

/* The record with the end that the recorder asks for: task, time, CPU. */
static void put_record(struct play *p, struct ring *r, const struct perf_rec *rec,
		       const struct perf_sample *s)
{
	struct perf_event_header h = { rec->type, rec->misc, (uint16_t)(8 + s->body + 24) };
	struct { int32_t pid, tid; uint64_t time; int32_t cpu, zero; } end = { s->pid, s->tid,
		s->time, s->cpu, 0 };

	if (p->size - (r->page.data_head - r->page.data_tail) < h.size)
		pump(p);
	put(r, p->size, &h, sizeof(h));
	put(r, p->size, rec->p + 8, s->body);
	put(r, p->size, &end, sizeof(end));
}

/* One byte of the trace of @cpu at @off. */
static bool byte_of(const struct play *p, int32_t cpu, uint64_t off, uint8_t *v)
{
	for (size_t i = 0; i < p->nchunks; i++) {
		const struct perf_chunk *c = &p->chunks[i];

		/* a program of one thread was recorded by thread, and on one CPU */
		if ((c->cpu == cpu || (c->cpu == HWT_NONE && p->nchunks == 1)) &&
		    off >= c->off && off - c->off < c->size) {
			*v = c->p[off - c->off];
			return true;
		}
	}
	return false;
}

static void put_aux(struct play *p, struct ring *r, const struct perf_rec *rec,
		    const struct perf_sample *s)
{
	struct cur c = perf_body(p->pf, rec, s);
	uint64_t off = cur_u64(&c), size = cur_u64(&c);

	if (size > p->aux_size && !p->snapshot)
		die("an AUX record is larger than the ring");
	if (!p->snapshot && off + size - r->page.aux_tail > p->aux_size)
		pump(p);
	for (uint64_t i = off; i < off + size; i++)
		if (!byte_of(p, r->cpu, i, &r->aux[i % p->aux_size]))
			die("a byte of trace is not in the file");
	r->written = off + size;
	r->page.aux_head = p->snapshot ? r->written % p->aux_size : r->written;
	put_record(p, r, rec, s);
}

static void find_chunks(struct play *p)
{
	struct perf_walk w;
	struct perf_rec r;

	perf_walk_init(&w, p->pf);
	while (perf_next(&w, &r) > 0) {
		struct cur c = cur_new(r.p + 8, r.size - 8, false);
		struct perf_chunk k = { .p = r.extra };

		if (r.type != REC_AUXTRACE)
			continue;
		k.size = cur_u64(&c);
		k.off = cur_u64(&c);
		cur_u64(&c);
		cur_u64(&c);
		k.cpu = (int32_t)cur_u32(&c);
		if (k.size > r.extra_have)
			k.size = r.extra_have;
		p->chunks = realloc(p->chunks, (p->nchunks + 1) * sizeof(k));
		if (!p->chunks)
			die("no memory");
		p->chunks[p->nchunks++] = k;
	}
	perf_walk_fini(&w);
}

static void play(struct play *p)
{
	struct perf_sample s;
	struct perf_walk w;
	struct perf_rec r;
	int32_t cpu = HWT_NONE;		/* of the last record that tells of a task there */

	perf_walk_init(&w, p->pf);
	while (perf_next(&w, &r) > 0) {
		if (r.type >= REC_KERNEL_END || r.type == REC_SAMPLE)
			continue;
		perf_sample(p->pf, &r, &s);
		cpu = r.type == REC_ITRACE_START && s.cpu != HWT_NONE ? s.cpu : cpu;
		/* of a program of one thread, see byte_of() */
		if (r.type == REC_AUX && s.cpu == HWT_NONE)
			s.cpu = cpu;
		/* what the tool made up itself has no CPU */
		if (s.bad || s.cpu == HWT_NONE || s.time == HWT_TIME_UNKNOWN || !s.time)
			continue;
		if (r.type == REC_AUX)
			put_aux(p, ring_of(p, s.cpu), &r, &s);
		else
			put_record(p, ring_of(p, s.cpu), &r, &s);
		if (!below(p, 8))
			pump(p);
	}
	perf_walk_fini(&w);
}

/* Tasks and code from before the recording, which the tool made records of. */
static void before(struct play *p)
{
	struct hwt_map m;

	for (size_t i = 0; hwt_image_map_at(p->c->image, i, &m); i++) {
		m.missing = 0;
		if (!m.from && native_map(p->w, &m))
			die("map");
	}
	for (size_t i = 0; i < machine_tasks(p->c->machine); i++) {
		int32_t pid, tid;

		machine_task_at(p->c->machine, i, &pid, &tid);
		native_task(p->w, pid, tid, machine_comm(p->c->machine, tid));
	}
}

int main(int argc, char **argv)
{
	struct hwt_open_opts open = { .size = sizeof(open) };
	struct hwt_diag d = { .off = HWT_NO_OFF };
	struct hwtake_opts o = { .overwrite = argc > 6 };
	struct native_clock clock = { .counter = "tsc", .base = "perf clock" };
	struct play p = { .snapshot = argc > 6 };
	struct hwtake_sum sum;

	if (argc < 6)
		die("IN OUT.hwt SEED AUX_BYTES DATA_BYTES [snapshot]");
	p.rnd = strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15ull | 1;
	p.aux_size = strtoull(argv[4], NULL, 10);
	p.size = strtoull(argv[5], NULL, 10);
	if (source_open(&p.c, argv[1], &open, &d) || strncmp(p.c->format, "perf", 4))
		die(d.text);
	p.pf = p.c->priv;
	o.map = p.c->tsc;
	o.coresight = p.c->nbufs && p.c->bufs[0].ncfgs &&
		p.c->bufs[0].cfgs[0].proto != HWT_PROTO_PT;
	o.all = p.pf->cpu_wide;
	o.units = (struct hwtake_units){ .add = add, .arg = &p };
	if (hwtake_new(&p.take, &o) || native_create(&p.w, argv[2], true, &d))
		die("can not begin");
	clock.map = p.c->tsc;
	clock.counter = o.coresight ? "cntvct" : "tsc";
	native_set(p.w, "capture", "recorder", "replay");
	native_set(p.w, "capture", "arch", "%s", p.c->arch);
	native_clock(p.w, &clock);
	before(&p);
	find_chunks(&p);
	play(&p);
	if (hwtake_end(p.take, p.w))
		die("end");
	sum = hwtake_sum(p.take);
	if (native_close(p.w, &d))
		die(d.text);
	printf("trace %" PRIu64 " cpus %u pumps %" PRIu64 " holes %" PRIu64 " truncated %" PRIu64
	       " lost %" PRIu64 "\n", sum.trace, p.n, p.pumps, sum.lost_places, sum.truncated,
	       sum.records_lost);
	hwtake_free(p.take);
	for (unsigned i = 0; i < p.n; i++) {
		free(p.rings[i]->data);
		free(p.rings[i]->aux);
		free(p.rings[i]);
	}
	free(p.chunks);
	capture_free(p.c);
	return 0;
}
