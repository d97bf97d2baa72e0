/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_TESTS_MODEL_RULES_H
#define HWT_TESTS_MODEL_RULES_H

/*
 * What a model of a unit does not let pass. A model lists its rules as X(id, what they say), and
 * counts how often each is broken; it goes on as a real unit might.
 */
#define RULES_MAX	32

struct rules {
	const char *const *text;	/* of each rule */
	unsigned int total;
	unsigned int broken[RULES_MAX];
	unsigned int last;		/* the rule that was broken last, if @total */
	unsigned int where;		/* its register */
	/* for each one that is broken; NULL: nothing more */
	void (*tell)(struct rules *r, unsigned int rule, unsigned int where);
};

static inline void rules_break(struct rules *r, unsigned int rule, unsigned int where)
{
	r->total++;
	r->broken[rule]++;
	r->last = rule;
	r->where = where;
	if (r->tell)
		r->tell(r, rule, where);
}

static inline void rules_clear(struct rules *r)
{
	unsigned int i;

	for (i = 0; i < RULES_MAX; i++)
		r->broken[i] = 0;
	r->total = 0;
}

#endif
