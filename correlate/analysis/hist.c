/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log-linear histograms, one of lower and one of upper bounds: the k-th smallest value lies between
 * the k-th smallest lower and the k-th smallest upper bound.
 */
#include <errno.h>
#include <stdlib.h>

#include <hwtrace/latency.h>

#define SUB_BITS 6
#define SUB	(1u << SUB_BITS)
/* values below SUB have a bucket each, and each power of two from there on SUB of them */
#define BUCKETS	((64 - SUB_BITS + 1) * SUB)

struct side {
	uint64_t bucket[BUCKETS];
	uint64_t unknown;	/* without bound */
	uint64_t min, max;	/* of those with one */
};

struct hwt_hist {
	struct side lo, hi;
	uint64_t n;
};

int hwt_hist_new(struct hwt_hist **out)
{
	struct hwt_hist *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->lo.min = h->hi.min = UINT64_MAX;
	*out = h;
	return 0;
}

void hwt_hist_free(struct hwt_hist *h)
{
	free(h);
}

static unsigned bucket_of(uint64_t v)
{
	unsigned shift;

	if (v < SUB)
		return (unsigned)v;
	shift = 63 - (unsigned)__builtin_clzll(v) - SUB_BITS;
	return (shift + 1) * SUB + (unsigned)(v >> shift) - SUB;
}

static uint64_t first_of(unsigned b)
{
	return b < SUB ? b : (uint64_t)(SUB + b % SUB) << (b / SUB - 1);
}

static uint64_t last_of(unsigned b)
{
	return b < SUB ? b : first_of(b) + (1ull << (b / SUB - 1)) - 1;
}

static void add(struct side *s, uint64_t v)
{
	if (v == HWT_TIME_UNKNOWN) {
		s->unknown++;
		return;
	}
	s->bucket[bucket_of(v)]++;
	if (v < s->min)
		s->min = v;
	if (v > s->max)
		s->max = v;
}

void hwt_hist_add(struct hwt_hist *h, struct hwt_interval v)
{
	add(&h->lo, v.lo);
	add(&h->hi, v.hi);
	h->n++;
}

uint64_t hwt_hist_count(const struct hwt_hist *h)
{
	return h->n;
}

/* Bucket of the value of rank @k (from 1 on), BUCKETS if it has no bound. */
static unsigned ranked(const struct side *s, uint64_t k)
{
	unsigned b = 0;

	for (; b < BUCKETS; b++) {
		if (k <= s->bucket[b])
			break;
		k -= s->bucket[b];
	}
	return b;
}

struct hwt_interval hwt_hist_quantile(const struct hwt_hist *h, unsigned permille)
{
	struct hwt_interval v = { 0, 0 };
	unsigned lo, hi;
	uint64_t k;

	if (!h->n)
		return v;
	if (permille > 1000)
		permille = 1000;
	/* ceil(n * permille / 1000) without overflow */
	k = h->n / 1000 * permille + (h->n % 1000 * permille + 999) / 1000;
	if (!k)
		k = 1;
	lo = ranked(&h->lo, k);
	hi = ranked(&h->hi, k);
	/* the bounds are those of the bucket, closer where it is the first or last one in use */
	v.lo = lo == BUCKETS ? HWT_TIME_UNKNOWN : first_of(lo) > h->lo.min ? first_of(lo) :
		h->lo.min;
	v.hi = hi == BUCKETS ? HWT_TIME_UNKNOWN : last_of(hi) < h->hi.max ? last_of(hi) : h->hi.max;
	if (k == h->n && lo != BUCKETS)
		v.lo = h->lo.max;
	if (k == 1 && hi != BUCKETS)
		v.hi = h->hi.min;
	return v;
}

/* Values up to @v, counting those in the bucket of @v by @whole. */
static uint64_t upto(const struct side *s, uint64_t v, int whole)
{
	uint64_t n = 0;
	unsigned end = bucket_of(v);

	for (unsigned b = 0; b < end; b++)
		n += s->bucket[b];
	return whole || last_of(end) == v ? n + s->bucket[end] : n;
}

struct hwt_interval hwt_hist_between(const struct hwt_hist *h, uint64_t lo, uint64_t hi)
{
	uint64_t below_sure = lo ? upto(&h->hi, lo - 1, 0) : 0;
	uint64_t below_most = lo ? upto(&h->lo, lo - 1, 1) : 0;
	uint64_t upto_sure = upto(&h->hi, hi, 0), upto_most = upto(&h->lo, hi, 1);

	return (struct hwt_interval){
		upto_sure > below_most ? upto_sure - below_most : 0,
		upto_most > below_sure ? upto_most - below_sure : 0,
	};
}
