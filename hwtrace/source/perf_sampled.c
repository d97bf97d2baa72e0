/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "perf.h"

/*
 * Trace in samples (perf record --aux-sample): each has the last bytes that the unit wrote before
 * it, and no offset. Two samples that are close have some bytes both; what lies between others was
 * not kept.
 */

#define PSB		16	/* bytes of the packet that decoding begins at */
#define PROOF		48	/* with what follows it up to a timestamp */

struct piece {			/* the last sample of a CPU or thread */
	const uint8_t *p;
	uint64_t size, end;	/* @end: as chunks number it */
};

static const uint8_t psb[PSB] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2,
	0x82 };

/* A TSC packet follows the PSB at @p, maybe behind padding: without it all may come again. */
static bool stamped(const uint8_t *p)
{
	unsigned i = PSB;

	while (i < PROOF - 8 && !p[i])
		i++;
	return p[i] == 0x19;
}

/*
 * How many bytes at the beginning of @b are those at the end of @a. A loop may write the same bytes
 * again, a timestamp not: so they must hold a PSB with what follows it.
 */
static uint64_t same(const struct piece *a, const uint8_t *b, uint64_t n)
{
	const uint8_t *in_b = memmem(b, (size_t)n, psb, PSB), *in_a;
	uint64_t before, k;

	if (!in_b || (uint64_t)(b + n - in_b) < PROOF || !stamped(in_b))
		return 0;
	in_a = memmem(a->p, (size_t)a->size, in_b, PROOF);
	before = (uint64_t)(in_b - b);
	if (!in_a || (uint64_t)(in_a - a->p) < before)
		return 0;
	k = a->size - (uint64_t)(in_a - a->p) + before;
	return k <= n && !memcmp(a->p + (a->size - k), b, (size_t)k) ? k : 0;
}

static struct piece *last_of(struct perf *pf, uint64_t key, bool *first)
{
	uint32_t i = idmap_get(&pf->sampled, key);
	struct piece *k;

	*first = i == IDMAP_NONE;
	if (!*first)
		return (struct piece *)pf->samples.v + i;
	k = vec_push(&pf->samples, sizeof(*k));
	if (!k || idmap_set(&pf->sampled, key, (uint32_t)(pf->samples.n - 1)))
		return NULL;
	*k = (struct piece){ 0 };
	return k;
}

int perf_sampled(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	uint64_t key = s->cpu != HWT_NONE ? (uint32_t)s->cpu : (uint64_t)1 << 32 | (uint32_t)s->tid;
	struct perf_chunk *k;
	struct perf_aux *a;
	struct piece *last;
	uint64_t twice, n;
	bool first;

	if (r->inner) {
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_SAMPLE, pf->c->path, r->off,
			  "%" PRIu64 " bytes of trace in a compressed sample are not read",
			  s->aux_size);
		return 0;
	}
	last = last_of(pf, key, &first);
	if (!last)
		return -ENOMEM;
	twice = first ? 0 : same(last, s->aux, s->aux_size);
	n = s->aux_size - twice;
	pf->nsampled++;
	pf->overlap += twice;
	last->p = s->aux;
	last->size = s->aux_size;
	if (!n)
		return 0;
	k = vec_push(&pf->chunks, sizeof(*k));
	a = vec_push(&pf->aux, sizeof(*a));
	if (!k || !a || pf->aux.n >= UINT32_MAX)
		return -ENOMEM;
	*k = (struct perf_chunk){ .off = last->end, .size = n, .p = s->aux + twice,
		.file_off = r->off + (uint64_t)(s->aux - r->p) + twice, .file = r->file,
		.tid = s->tid, .cpu = s->cpu };
	/* what goes on where the last one ended misses nothing */
	*a = (struct perf_aux){ .off = last->end, .size = n,
		.flags = twice || first ? 0 : AUX_SAMPLED, .time = s->time, .file_off = r->off,
		.pid = s->pid, .tid = s->tid, .cpu = s->cpu, .seq = (uint32_t)pf->aux.n };
	last->end += n;
	return 0;
}

void perf_sampled_fact(struct perf *pf)
{
	capture_fact(pf->c, "trace in samples", "%" PRIu64 " samples, what lies between them was "
		     "not kept; %" PRIu64 " bytes in two of them", pf->nsampled, pf->overlap);
}
