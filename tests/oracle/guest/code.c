/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/event.h>

#include "code.h"

#define PAGE		4096u
#define CPUS		16
#define SPACES		1024
#define KERNEL		UINT64_MAX	/* space of addresses in the upper half */

struct page {
	uint64_t space, addr;
	uint8_t first[PAGE], now[PAGE];
	uint8_t have[PAGE];
	uint64_t ran[PAGE];		/* tick of the last event of a block with this byte */
};

/* From @since on there is other code. */
struct change {
	uint64_t space, addr, since;
	const uint8_t *p;
	size_t n;
};

struct space { uint64_t aspace; int32_t pid; };	/* what the trace says, and whose it is */

struct code {
	struct page **page;		/* open addressing */
	size_t npage, slots;
	struct change *change;
	size_t nchange, room;
	uint64_t table[SPACES];		/* its index is the process */
	int32_t pid[SPACES];		/* that it is called by */
	unsigned ntable;
	struct space space[SPACES];
	unsigned nspace, moved;
	struct code_sum sum;
	unsigned isa;			/* enum model_isa */
};

static size_t slot_of(const struct code *c, struct page **v, size_t slots, uint64_t space,
		      uint64_t addr)
{
	size_t i = ((addr / PAGE ^ space * 31) * 0x9e3779b97f4a7c15 >> 20) & (slots - 1);

	while (v[i] && (v[i]->addr != addr || v[i]->space != space))
		i = (i + 1) & (slots - 1);
	return i;
}

static struct page *page_at(struct code *c, uint64_t space, uint64_t addr)
{
	size_t i;

	if (c->npage * 2 >= c->slots) {
		size_t slots = c->slots ? c->slots * 2 : 1024;
		struct page **v = calloc(slots, sizeof(*v));

		if (!v)
			return NULL;
		for (size_t k = 0; k < c->slots; k++) {
			if (c->page[k])
				v[slot_of(c, v, slots, c->page[k]->space, c->page[k]->addr)] =
					c->page[k];
		}
		free(c->page);
		c->page = v;
		c->slots = slots;
	}
	i = slot_of(c, c->page, c->slots, space, addr);
	if (!c->page[i]) {
		c->page[i] = calloc(1, sizeof(**c->page));
		if (!c->page[i])
			return NULL;
		c->page[i]->space = space;
		c->page[i]->addr = addr;
		c->npage++;
	}
	return c->page[i];
}

static int add_change(struct code *c, const struct change *ch)
{
	if (c->nchange == c->room) {
		size_t room = c->room ? c->room * 2 : 256;
		struct change *p = realloc(c->change, room * sizeof(*p));

		if (!p)
			return -ENOMEM;
		c->change = p;
		c->room = room;
	}
	c->change[c->nchange++] = *ch;
	return 0;
}

/*
 * A block ran that began after @before. What is not as it was, was written between the last time
 * that it ran and then; half the way leaves room for a time that is told late.
 */
static int ran(struct code *c, uint64_t table, const struct model_event *ev, uint64_t before)
{
	uint64_t addr = ev->block->first;
	uint64_t space = addr >> 63 ? KERNEL : table;
	const uint8_t *p = rec_bytes(ev->block);
	size_t left = ev->block->last + ev->block->last_size - addr;

	while (left) {
		size_t o = addr % PAGE, n = left < PAGE - o ? left : PAGE - o;
		struct page *pg = page_at(c, space, addr - o);
		uint64_t from = 0;
		int differs = 0;

		if (!pg)
			return -ENOMEM;
		for (size_t i = o; i < o + n; i++) {
			if (!pg->have[i])
				pg->first[i] = p[i - o];
			else
				differs |= pg->now[i] != p[i - o];
			from = pg->ran[i] > from ? pg->ran[i] : from;
			pg->have[i] = 1;
			pg->ran[i] = ev->tick;
		}
		memcpy(pg->now + o, p, n);
		from = from < before ? from : before;
		if (differs && add_change(c, &(struct change){ space, addr,
					  from + (before - from) / 2, p, n }))
			return -ENOMEM;
		addr += n;
		p += n;
		left -= n;
	}
	return 0;
}

static int32_t pid_of(struct code *c, uint64_t table)
{
	unsigned i;

	for (i = 0; i < c->ntable && c->table[i] != table; i++)
		;
	if (i == SPACES)
		return HWT_NONE;
	if (i == c->ntable) {
		c->pid[i] = CODE_FIRST_PID + (int32_t)i;
		c->table[c->ntable++] = table;
	}
	return c->pid[i];
}

/* User code ran in @aspace with this page table: so it is this process. */
static int owner(struct code *c, uint64_t aspace, uint64_t table)
{
	int32_t pid = pid_of(c, table);
	unsigned i;

	for (i = 0; i < c->nspace && c->space[i].aspace != aspace; i++)
		;
	if (pid == HWT_NONE || i == SPACES)
		return -E2BIG;
	if (i < c->nspace)
		c->moved += c->space[i].pid != pid;
	else
		c->nspace++;
	c->space[i] = (struct space){ aspace, pid };
	return 0;
}

/* One CPU of the recording, read ahead by one event. */
struct head {
	struct rec_iter *it;
	struct model_event ev;
	uint64_t before, table, aspace;
	int more, level;
};

static int advance(struct head *h)
{
	h->before = h->ev.tick;
	h->more = rec_next(h->it, &h->ev);
	if (h->more < 0)
		fprintf(stderr, "guest: recording: %s\n", rec_why(h->it));
	return h->more < 0 ? h->more : 0;
}

static int take(struct code *c, struct head *h)
{
	if (h->ev.op == MODEL_TRAP) {
		c->sum.irqs += h->ev.trap == MODEL_TRAP_IRQ;
		c->sum.faults += h->ev.trap != MODEL_TRAP_IRQ;
	}
	if (h->ev.op == MODEL_CONTEXT) {
		c->sum.switches += h->aspace && h->aspace != h->ev.ctx.aspace;
		h->aspace = h->ev.ctx.aspace;
		h->level = h->ev.ctx.level;
		if (h->ev.value != MODEL_NO_ADDR)
			h->table = h->ev.value;
	}
	if (h->ev.op != MODEL_RUN)
		return 0;
	c->sum.insns[h->ev.block->first >> 63] += h->ev.insns;
	c->sum.calls += h->ev.block->kind == MODEL_SYSCALL && h->ev.insns == h->ev.block->insns;
	if (!(h->ev.block->first >> 63) && owner(c, h->aspace, h->table)) {
		fprintf(stderr, "guest: too many processes\n");
		return -E2BIG;
	}
	return ran(c, h->table, &h->ev, h->before);
}

static int walk(struct code *c, struct rec *r, const struct rec_clock *clk, struct head *h)
{
	size_t n = rec_threads(r);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = rec_iter_new(&h[i].it, r, i, clk);
		if (!err)
			err = advance(&h[i]);
	}
	while (!err) {
		struct head *next = NULL;

		for (size_t i = 0; i < n; i++) {
			if (h[i].more && (!next || h[i].ev.tick < next->ev.tick))
				next = &h[i];
		}
		if (!next)
			break;
		err = take(c, next);
		if (!err)
			err = advance(next);
	}
	return err;
}

int code_new(struct code **out, struct rec *r, const struct rec_clock *clk)
{
	struct head h[CPUS] = { 0 };
	struct code *c = calloc(1, sizeof(*c));
	int err = !c ? -ENOMEM : rec_threads(r) > CPUS ? -E2BIG : walk(c, r, clk, h);

	for (size_t i = 0; i < CPUS; i++)
		rec_iter_free(h[i].it);
	if (err) {
		code_free(c);
		return err;
	}
	c->isa = rec_isa(r);
	*out = c;
	return 0;
}

void code_free(struct code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->slots; i++)
		free(c->page[i]);
	free(c->page);
	free(c->change);
	free(c);
}

static int write_page(struct code *c, struct native_writer *w, const struct page *pg)
{
	int32_t pid = pg->space == KERNEL ? HWT_NONE : pid_of(c, pg->space);
	int err = 0;

	for (size_t o = 0; o < PAGE && !err; o++) {
		size_t from = o;

		while (o < PAGE && pg->have[o])
			o++;
		if (o > from)
			err = native_pages(w, pid, pg->addr + from, 0, pg->first + from, o - from);
	}
	return err;
}

int code_write(const struct code *cc, struct native_writer *w)
{
	struct code *c = (struct code *)cc;
	int err = 0;

	for (unsigned i = 0; i < c->ntable && !err; i++)
		err = native_task(w, c->pid[i], c->pid[i], "guest");
	for (unsigned i = 0; i < c->nspace && !err; i++)
		err = native_aspace(w, c->space[i].aspace, c->space[i].pid);
	for (size_t i = 0; i < c->slots && !err; i++) {
		if (c->page[i])
			err = write_page(c, w, c->page[i]);
	}
	for (size_t i = 0; i < c->nchange && !err; i++) {
		const struct change *ch = &c->change[i];

		err = native_pages(w, ch->space == KERNEL ? HWT_NONE : pid_of(c, ch->space),
				   ch->addr, ch->since, ch->p, ch->n);
	}
	return err;
}

static int by_addr(const void *x, const void *y)
{
	const struct page *a = *(const struct page *const *)x, *b = *(const struct page *const *)y;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

#define SEGMENTS	4096
#define GAP		(1 << 20)	/* bytes, of one segment: many are slow to search */

/* Pages @v, in order, as an ELF core file; zero is what never ran. */
static int put_core(FILE *f, unsigned isa, struct page *const *v, size_t n)
{
	static Elf64_Phdr seg[SEGMENTS];
	Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE, .e_version = EV_CURRENT,
		.e_machine = isa == MODEL_A64 ? EM_AARCH64 : EM_X86_64,
		.e_phoff = sizeof(head), .e_ehsize = sizeof(head), .e_phentsize = sizeof(*seg) };
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (k && v[i]->addr - seg[k - 1].p_vaddr - seg[k - 1].p_filesz <= GAP) {
			seg[k - 1].p_filesz = v[i]->addr + PAGE - seg[k - 1].p_vaddr;
			continue;
		}
		if (k == SEGMENTS)
			return -E2BIG;
		seg[k++] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X,
			.p_vaddr = v[i]->addr, .p_filesz = PAGE };
	}
	for (size_t i = 0; i < k; i++) {
		seg[i].p_memsz = seg[i].p_filesz;
		seg[i].p_offset = i ? seg[i - 1].p_offset + seg[i - 1].p_filesz :
			sizeof(head) + k * sizeof(*seg);
	}
	head.e_phnum = (Elf64_Half)k;
	if (fwrite(&head, sizeof(head), 1, f) != 1 || fwrite(seg, sizeof(*seg), k, f) != k)
		return -EIO;
	for (size_t i = 0, at = 0; i < n; i++) {
		while (v[i]->addr >= seg[at].p_vaddr + seg[at].p_filesz)
			at++;
		if (fseek(f, (long)(seg[at].p_offset + v[i]->addr - seg[at].p_vaddr), SEEK_SET) ||
		    fwrite(v[i]->first, PAGE, 1, f) != 1)
			return -EIO;
	}
	return 0;
}

int code_write_kcore(const struct code *c, const char *path)
{
	struct page **v = calloc(c->npage + 1, sizeof(*v));
	FILE *f = v ? fopen(path, "wb") : NULL;
	int err = v ? f ? 0 : -errno : -ENOMEM;
	size_t n = 0;

	for (size_t i = 0; i < c->slots && !err; i++)
		if (c->page[i] && c->page[i]->space == KERNEL)
			v[n++] = c->page[i];
	if (!err) {
		qsort(v, n, sizeof(*v), by_addr);
		err = put_core(f, c->isa, v, n);
	}
	if (f && fclose(f) && !err)
		err = -errno;
	free(v);
	return err;
}

int32_t code_pid(const struct code *c, uint64_t aspace)
{
	for (unsigned i = 0; i < c->nspace; i++) {
		if (c->space[i].aspace == aspace)
			return c->space[i].pid;
	}
	return HWT_NONE;
}

static int same_code(const struct page *a, const struct page *b)
{
	for (size_t i = 0; i < PAGE; i++) {
		if (a->have[i] && b->have[i] && a->first[i] != b->first[i])
			return 0;
	}
	return 1;
}

void code_sum(const struct code *c, struct code_sum *out)
{
	*out = c->sum;
	out->processes = c->ntable;
	out->pages = (unsigned)c->npage;
	out->changes = (unsigned)c->nchange;
	out->moved = c->moved;
	for (size_t i = 0; i < c->slots; i++) {
		for (size_t k = i + 1; k < c->slots && c->page[i]; k++) {
			const struct page *a = c->page[i], *b = c->page[k];

			if (b && a->addr == b->addr)
				out->shared += !same_code(a, b);
		}
	}
}
