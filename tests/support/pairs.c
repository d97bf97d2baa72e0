/* SPDX-License-Identifier: BSD-2-Clause */
#include "pairs.h"

#include <string.h>

#define TRIES	40	/* random rows to choose the best from */
#define ANY	255	/* value not chosen yet */

/* Pairs that no row has yet: bit (value of b) of [a][value of a][b], a < b. */
struct open {
	unsigned char bits[PAIRS_OPTIONS][PAIRS_VALUES][PAIRS_OPTIONS];
	unsigned left;
	unsigned long x;	/* of the order in which a row is filled */
};

static unsigned pick(struct open *o, unsigned n)
{
	o->x = o->x * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(o->x >> 33) % n;
}

static int is_open(const struct open *o, unsigned a, unsigned va, unsigned b, unsigned vb)
{
	return a < b ? o->bits[a][va][b] >> vb & 1 : o->bits[b][vb][a] >> va & 1;
}

/* Open pairs that value @v of option @a closes with those that are in @row. */
static unsigned gain(const struct open *o, const unsigned char *row, unsigned n, unsigned a,
		     unsigned v)
{
	unsigned sum = 0;

	for (unsigned b = 0; b < n; b++)
		if (b != a && row[b] != ANY)
			sum += (unsigned)is_open(o, a, v, b, row[b]);
	return sum;
}

/* The first open pair of a random row: each row closes one at least. */
static void first_pair(struct open *o, unsigned char *row, const struct pairs_option *op,
		       unsigned n)
{
	unsigned skip = pick(o, o->left);

	for (unsigned a = 0; a < n; a++)
		for (unsigned va = 0; va < op[a].n; va++)
			for (unsigned b = a + 1; b < n; b++)
				for (unsigned vb = 0; vb < op[b].n; vb++)
					if (is_open(o, a, va, b, vb) && !skip--) {
						row[a] = (unsigned char)va;
						row[b] = (unsigned char)vb;
						return;
					}
}

/* A row, greedy in a random order; returns how many open pairs it closes. */
static unsigned fill(struct open *o, unsigned char *row, const struct pairs_option *op, unsigned n)
{
	unsigned order[PAIRS_OPTIONS], sum = 1;

	memset(row, ANY, n);
	first_pair(o, row, op, n);
	for (unsigned i = 0; i < n; i++) {
		unsigned k = pick(o, i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned a = order[i], best = 0, from = pick(o, op[a].n);

		if (row[a] != ANY)
			continue;
		row[a] = (unsigned char)from;
		for (unsigned k = 0; k < op[a].n; k++) {
			unsigned v = (from + k) % op[a].n, g = gain(o, row, n, a, v);

			if (g > best) {
				best = g;
				row[a] = (unsigned char)v;
			}
		}
		sum += best;
	}
	return sum;
}

static void close_pairs(struct open *o, const unsigned char *row, unsigned n)
{
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = a + 1; b < n; b++) {
			unsigned char *w = &o->bits[a][row[a]][b];
			unsigned char bit = (unsigned char)(1 << row[b]);

			o->left -= (*w & bit) != 0;
			*w &= (unsigned char)~bit;
		}
}

int pairs_make(struct pairs *p, const struct pairs_option *option, unsigned n)
{
	static struct open o;
	unsigned char row[PAIRS_OPTIONS];

	memset(&o, 0, sizeof(o));
	memset(p, 0, sizeof(*p));
	if (n < 2 || n > PAIRS_OPTIONS)
		return -1;
	p->option = option;
	p->noptions = n;
	for (unsigned a = 0; a < n; a++) {
		if (!option[a].n || option[a].n > PAIRS_VALUES)
			return -1;
		for (unsigned b = a + 1; b < n; b++)
			for (unsigned v = 0; v < option[a].n; v++) {
				o.bits[a][v][b] = (unsigned char)((1 << option[b].n) - 1);
				o.left += option[b].n;
			}
	}
	close_pairs(&o, p->row[p->nrows++], n);
	while (o.left) {
		unsigned best = 0;

		if (p->nrows == PAIRS_ROWS)
			return -1;
		for (unsigned t = 0; t < TRIES; t++) {
			unsigned g = fill(&o, row, option, n);

			if (g > best) {
				best = g;
				memcpy(p->row[p->nrows], row, n);
			}
		}
		close_pairs(&o, p->row[p->nrows++], n);
	}
	return 0;
}

void pairs_print(FILE *f, const struct pairs *p, unsigned row)
{
	for (unsigned a = 0; a < p->noptions; a++) {
		const struct pairs_option *op = &p->option[a];
		unsigned v = p->row[row][a];

		if (op->value[v])
			fprintf(f, "%s%s=%s", a ? " " : "", op->name, op->value[v]);
		else
			fprintf(f, "%s%s=%u", a ? " " : "", op->name, v);
	}
}
