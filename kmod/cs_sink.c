// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/vmalloc.h>

#include "compat/compat.h"
#include "cs_sink.h"
#include "mem.h"
#include "ring_shim.h"

#define ETR_BYTES	(1u << 20)	/* of the machine's memory, in a row, at most */
#define FRAME		16u

void cs_sink_end(struct cs_sink *s, const char *why)
{
	if (!s->ended)
		s->why = why;
	s->ended = true;
}

int cs_sink_open(struct cs_sink *s, struct cs_dev *dev, int cpu)
{
	int rc;

	s->dev = dev;
	s->cpu = cpu;
	if (!dev)
		return cs_trbe_open(s);
	rc = tmc_open(&s->t, &dev->r, true);
	s->why = tmc_why_text(s->t.why);
	return rc;
}

/* The memory of an ETR has to be in a row. */
static int give_memory(struct cs_sink *s, u64 bytes)
{
	if (s->t.kind != TMC_ETR)
		return 0;
	if (dma_set_mask_and_coherent(s->dev->dev, DMA_BIT_MASK(s->t.address_bits)))
		return -EIO;
	s->mem_bytes = min_t(u64, bytes, ETR_BYTES);
	for (; s->mem_bytes >= PAGE_SIZE; s->mem_bytes /= 2) {
		s->mem = dma_alloc_coherent(s->dev->dev, s->mem_bytes, &s->dma,
					    GFP_KERNEL | __GFP_NOWARN);
		if (s->mem)
			return 0;
	}
	return -ENOMEM;
}

int cs_sink_memory(struct cs_sink *s, u64 bytes, bool newest)
{
	s->bytes = bytes;
	s->newest = newest;
	if (cs_sink_here(s))
		return cs_trbe_memory(s);
	s->data = mem_alloc_pages(bytes);
	return s->data ? give_memory(s, bytes) : -ENOMEM;
}

/* Without room what is newest goes, or what is oldest; frames stay whole. */
static void put(struct cs_sink *s, const u8 *from, u64 n)
{
	u64 room = s->bytes - (s->head - s->tail), at, part;

	if (!s->newest && n > room) {
		n = room & ~(u64)(FRAME - 1);
		s->cuts++;
	}
	while (n) {
		at = s->head & (s->bytes - 1);
		part = min(n, s->bytes - at);
		memcpy(s->data + at, from, part);
		s->head += part;
		from += part;
		n -= part;
	}
	if (s->head - s->tail > s->bytes)
		s->tail = s->head - s->bytes;
}

static void take(struct cs_sink *s, const struct tmc_got *got)
{
	u64 first;
	int n;

	if (s->t.kind == TMC_ETR) {
		dma_rmb();
		first = min(got->bytes, s->mem_bytes - got->from);
		put(s, (u8 *)s->mem + got->from, first);
		put(s, s->mem, got->bytes - first);
		return;
	}
	while ((n = tmc_read(&s->t, s->piece, sizeof(s->piece))) > 0)
		put(s, s->piece, n);
	if (n < 0)
		s->cuts++;
}

void cs_sink_stop(struct cs_sink *s)
{
	struct tmc_got got;

	if (cs_sink_here(s)) {
		cs_trbe_stop(s);
		return;
	}
	if (s->t.state != TMC_RUNNING)
		return;
	if (tmc_stop(&s->t, &got))
		cs_sink_end(s, tmc_why_text(s->t.why));
	s->cuts += got.wrapped || got.end != TMC_END_ASKED;
	take(s, &got);
	s->time = ring_clock();
}

int cs_sink_start(struct cs_sink *s)
{
	struct tmc_wish w = { .base = s->dma, .bytes = s->mem_bytes };
	int rc;

	if (s->ended)
		return -EIO;
	if (cs_sink_here(s))
		return cs_trbe_start(s);
	w.coherent = cs_coherent(s->dev);
	rc = tmc_start(&s->t, &w);
	if (rc)
		cs_sink_end(s, tmc_why_text(s->t.why));
	return rc;
}

bool cs_sink_runs(const struct cs_sink *s)
{
	return cs_sink_here(s) ? s->b.running : s->t.state == TMC_RUNNING;
}

/* One that does not come to an end is found when it is stopped. */
void cs_sink_flush(struct cs_sink *s)
{
	if (!cs_sink_here(s) && s->t.state == TMC_RUNNING)
		tmc_flush(&s->t);
}

void cs_sink_give(struct cs_sink *s)
{
	if (cs_sink_here(s))
		trbe_close(&s->b);
	else
		tmc_close(&s->t);
}

void cs_sink_take(struct cs_sink *s)
{
	const char *why = s->why;
	int rc = cs_sink_open(s, s->dev, s->cpu);

	if (rc)
		cs_sink_end(s, s->why);
	else
		s->why = why;
}

void cs_sink_close(struct cs_sink *s)
{
	int rc;

	if (cs_sink_here(s)) {
		cs_trbe_free(s);
		return;
	}
	rc = tmc_close(&s->t);
	/* better lost than written to by a controller when others have it */
	if (s->mem && rc)
		pr_warn("hwtrace: a trace controller can not be stopped; its buffer stays\n");
	else if (s->mem)
		dma_free_coherent(s->dev->dev, s->mem_bytes, s->mem, s->dma);
	mem_free(s->data);
}

void cs_sink_tell(const struct cs_sink *s, struct hwt_kmod_trace *t)
{
	t->cpu = s->cpu;
	t->state = s->ended ? HWT_KMOD_TRACE_ENDED : cs_sink_runs(s) ? HWT_KMOD_TRACE_RUNS :
		s->waits ? HWT_KMOD_TRACE_WAITS : HWT_KMOD_TRACE_OFF;
	t->begin = s->tail;
	t->end = s->head;
	t->cuts = s->cuts;
	t->time = s->time;
	memset(t->why, 0, sizeof(t->why));
	if (s->ended)
		strscpy(t->why, s->why, sizeof(t->why));
}

int cs_sink_read(struct cs_sink *s, u64 begin)
{
	if (begin < s->tail || begin > s->head)
		return -EINVAL;
	s->tail = begin;
	return 0;
}

int cs_sink_mmap(struct cs_sink *s, struct vm_area_struct *v)
{
	u64 n = v->vm_end - v->vm_start, at;
	int rc;

	if (v->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	if (n != s->bytes)
		return -EINVAL;
	compat_vm_flags(v, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	for (at = 0; at < n; at += PAGE_SIZE) {
		rc = vm_insert_page(v, v->vm_start + at, s->page ? s->page[at / PAGE_SIZE] :
				    vmalloc_to_page(s->data + at));
		if (rc)
			return rc;
		cond_resched();
	}
	return 0;
}
