/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipt_rets.h"

#include <hwtrace/event.h>

static void push(struct ipt_ret_stack *s, uint64_t ret)
{
	s->top = (s->top + 1) % IPT_RETS;
	s->v[s->top] = ret;
	if (s->n < IPT_RETS)
		s->n++;
}

static uint64_t pop(struct ipt_ret_stack *s)
{
	uint64_t ret = s->v[s->top];

	if (!s->n)
		return HWT_NO_ADDR;
	s->top = (s->top + IPT_RETS - 1) % IPT_RETS;
	s->n--;
	return ret;
}

void ipt_rets_start(struct ipt_rets *r)
{
	r->hw.n = r->lib.n = 0;
}

void ipt_rets_forget(struct ipt_rets *r)
{
	r->hw.n = 0;
}

void ipt_rets_call(struct ipt_rets *r, uint64_t ret)
{
	push(&r->hw, ret);
	push(&r->lib, ret);
}

bool ipt_rets_return(struct ipt_rets *r, bool compressed)
{
	uint64_t hw = pop(&r->hw);

	/* libipt finds an empty stack itself */
	return !compressed || pop(&r->lib) == hw;
}
