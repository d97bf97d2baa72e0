/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

#define MAX_ATTRS 65536

/* perf_event_attr.read_format */
enum { RF_ENABLED = 1, RF_RUNNING = 2, RF_ID = 4, RF_GROUP = 8, RF_LOST = 16 };

/*
 * The bit fields of an attr. A big-endian compiler puts the first one in the highest bit of the
 * first byte, so such a file has the bits of each byte in the other order.
 */
static uint64_t attr_bits(struct cur *c)
{
	const uint8_t *p = cur_take(c, 8);
	bool big = c->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	uint64_t v = 0;

	for (int i = 0; p && i < 8; i++)
		for (int k = 0; k < 8; k++)
			v |= (uint64_t)(p[i] >> (big ? 7 - k : k) & 1) << (8 * i + k);
	return v;
}

int perf_add_attr(struct perf *pf, const uint8_t *p, size_t n, struct cur *ids)
{
	struct cur c = cur_new(p, n, pf->swap);
	struct perf_attr a = { .name = "" };
	struct perf_attr *v;
	uint64_t bits, six;
	uint32_t size;

	/* a shorter attr ends with zeros: what an older recorder did not know is off */
	a.type = cur_u32(&c);
	size = cur_u32(&c);
	if (size >= 64 && size < n)
		c.end = p + size;
	a.config = cur_u64(&c);
	cur_u64(&c);	/* sample_period */
	a.sample_type = cur_u64(&c);
	a.read_format = cur_u64(&c);
	bits = attr_bits(&c);
	if (c.bad)
		return -HWT_E_FORMAT;
	cur_skip(&c, 24);
	a.branches = cur_u64(&c);
	a.regs_user = cur_u64(&c);
	cur_skip(&c, 4);
	a.clockid = (int32_t)cur_u32(&c);
	a.regs_intr = cur_u64(&c);
	a.sample_id_all = bits >> 18 & 1;
	a.use_clockid = bits >> 25 & 1;
	a.inherit = bits >> 1 & 1;
	a.on_exec = bits >> 12 & 1;
	six = a.sample_type & (S_TID | S_TIME | S_ID | S_STREAM_ID | S_CPU | S_IDENTIFIER);
	a.trailer = a.sample_id_all ? (uint8_t)(8 * __builtin_popcountll(six)) : 0;
	if (pf->nattrs >= MAX_ATTRS)
		return -HWT_E_FORMAT;
	if (!(pf->nattrs & (pf->nattrs - 1))) {
		v = realloc(pf->attrs, (pf->nattrs ? pf->nattrs * 2 : 1) * sizeof(*v));
		if (!v)
			return -ENOMEM;
		pf->attrs = v;
	}
	pf->attrs[pf->nattrs] = a;
	while (cur_left(ids) >= 8)
		if (idmap_set(&pf->ids, cur_u64(ids), (uint32_t)pf->nattrs))
			return -ENOMEM;
	pf->nattrs++;
	return 0;
}

/*
 * Only events of tasks begin when a program is executed: perf leaves that to the kernel where it
 * starts the program and records no more than that. Its list of ids names the task of each event;
 * with trace of a task it may record the switches of all.
 */
void perf_scope(struct perf *pf)
{
	bool inherit = true, on_exec = false;

	for (size_t i = 0; i < pf->nattrs; i++) {
		inherit = inherit && pf->attrs[i].inherit;
		on_exec = on_exec || pf->attrs[i].on_exec;
	}
	if (on_exec || pf->task_events)
		pf->c->scope.bits = HWT_SCOPE_TASKS | (inherit ? HWT_SCOPE_FORKS : 0) |
			(pf->cpu_wide ? 0 : HWT_SCOPE_INSIDE);
	if (on_exec || pf->task_events || pf->all_events)
		pf->c->scope.bits |= HWT_SCOPE_STATED;
}

/* Entries of id, index, CPU and task. */
void perf_id_index(struct perf *pf, struct cur *c)
{
	uint64_t n = cur_u64(c);

	for (; n && cur_left(c) >= 32; n--) {
		int64_t tid;

		cur_skip(c, 24);
		tid = (int64_t)cur_u64(c);
		pf->task_events |= tid > 0;
		pf->all_events |= tid == -1;
	}
}

/* Least bytes behind the 8-byte header of a record of this type; the end of a name counts. */
static uint32_t least(unsigned type)
{
	static const uint8_t size[REC_AUX_OUTPUT_HW_ID + 1] = {
		[REC_MMAP] = 33, [REC_LOST] = 16, [REC_COMM] = 9, [REC_EXIT] = 24,
		[REC_THROTTLE] = 24, [REC_UNTHROTTLE] = 24, [REC_FORK] = 24, [REC_READ] = 16,
		[REC_MMAP2] = 65, [REC_AUX] = 24, [REC_ITRACE_START] = 8, [REC_LOST_SAMPLES] = 8,
		[REC_SWITCH_CPU_WIDE] = 8, [REC_NAMESPACES] = 16, [REC_KSYMBOL] = 17,
		[REC_BPF_EVENT] = 16, [REC_CGROUP] = 9, [REC_TEXT_POKE] = 12,
		[REC_AUX_OUTPUT_HW_ID] = 8,
	};

	return type < sizeof(size) ? size[type] : 0;
}

static const struct perf_attr *attr_of(const struct perf *pf, uint64_t id)
{
	uint32_t i = idmap_get(&pf->ids, id);

	return i == IDMAP_NONE ? NULL : &pf->attrs[i];
}

/* The fields that stand together, in this order, in a sample and in the sample id of a record. */
static void who_and_when(struct cur *c, uint64_t st, struct perf_sample *s)
{
	if (st & S_TID) {
		s->pid = (int32_t)cur_u32(c);
		s->tid = (int32_t)cur_u32(c);
	}
	if (st & S_TIME)
		s->time = cur_u64(c);
}

static void id_and_cpu(struct cur *c, uint64_t st, struct perf_sample *s)
{
	if (st & S_ID)
		s->id = cur_u64(c);
	if (st & S_STREAM_ID)
		cur_u64(c);
	if (st & S_CPU) {
		s->cpu = (int32_t)cur_u32(c);
		cur_u32(c);
	}
}

/* The sample id at the end, by the layout of @a; @c holds exactly its bytes. */
static void trailer(struct cur *c, const struct perf_attr *a, struct perf_sample *s)
{
	uint64_t st = a->sample_type;

	who_and_when(c, st, s);
	id_and_cpu(c, st, s);
	if (st & S_IDENTIFIER)
		s->id = cur_u64(c);
}

static bool skip_read(struct cur *c, uint64_t rf)
{
	uint64_t nr = 1, each = 1 + !!(rf & RF_ID) + !!(rf & RF_LOST);

	if (rf & RF_GROUP)
		nr = cur_u64(c);
	cur_skip(c, 8 * (size_t)(!!(rf & RF_ENABLED) + !!(rf & RF_RUNNING)));
	if (nr > cur_left(c) / 8)
		return false;
	cur_skip(c, (size_t)(nr * each * 8));
	return !c->bad;
}

static void skip_regs(struct cur *c, uint64_t mask)
{
	/* the word before says which registers the task has: none, 32 or 64 bits */
	if (cur_u64(c))
		cur_skip(c, 8 * (size_t)__builtin_popcountll(mask));
}

/* Entries of 24 bytes, behind a word where the event asks for one; and counters, a word each. */
static bool skip_branches(struct cur *c, uint64_t what)
{
	const uint64_t hw_index = 1 << 17, counters = 1 << 19;
	uint64_t nr = cur_u64(c);
	size_t each = what & counters ? 32 : 24;

	if (what & hw_index)
		cur_u64(c);
	if (nr > cur_left(c) / each)
		return false;
	cur_skip(c, (size_t)nr * each);
	return !c->bad;
}

static bool skip_stack(struct cur *c)
{
	uint64_t n = cur_u64(c);

	if (n > cur_left(c))
		return false;
	cur_skip(c, (size_t)n);
	if (n)
		cur_u64(c);
	return !c->bad;
}

/* From behind the raw data to trace, which is last, in the order of perf_event.h. */
static bool sample_aux(struct cur *c, const struct perf_attr *a, struct perf_sample *s)
{
	uint64_t st = a->sample_type, n;

	if (st & S_BRANCHES && !skip_branches(c, a->branches))
		return false;
	if (st & S_REGS_USER)
		skip_regs(c, a->regs_user);
	if (st & S_STACK_USER && !skip_stack(c))
		return false;
	cur_skip(c, 8 * (size_t)(!!(st & (S_WEIGHT | S_WEIGHT_STRUCT)) + !!(st & S_DATA_SRC) +
				 !!(st & S_TRANSACTION)));
	if (st & S_REGS_INTR)
		skip_regs(c, a->regs_intr);
	cur_skip(c, 8 * (size_t)__builtin_popcountll(st & (S_PHYS_ADDR | S_CGROUP | S_DATA_PAGE |
							   S_CODE_PAGE)));
	n = cur_u64(c);
	if (c->bad || n > cur_left(c))
		return false;
	s->aux = cur_take(c, (size_t)n);
	s->aux_size = n;
	return true;
}

/* A sample up to its raw data, in the order of perf_event.h; of the rest only trace is needed. */
static bool sample_fields(struct cur *c, const struct perf_attr *a, struct perf_sample *s)
{
	uint64_t st = a->sample_type, nr;

	if (st & S_IDENTIFIER)
		s->id = cur_u64(c);
	if (st & S_IP)
		s->ip = cur_u64(c);
	who_and_when(c, st, s);
	if (st & S_ADDR)
		s->addr = cur_u64(c);
	id_and_cpu(c, st, s);
	if (st & S_PERIOD)
		s->period = cur_u64(c);
	if (c->bad || ((st & S_READ) && !skip_read(c, a->read_format)))
		return false;
	if (st & S_CALLCHAIN) {
		nr = cur_u64(c);
		if (nr > cur_left(c) / 8)
			return false;
		cur_skip(c, (size_t)nr * 8);
	}
	if (st & S_RAW) {
		s->raw_size = cur_u32(c);
		s->raw = cur_take(c, s->raw_size);
	}
	return !c->bad && (!(st & S_AUX) || sample_aux(c, a, s));
}

/* Place of the id in a sample of @a: only what may stand before it. */
static uint64_t sample_id(const struct perf *pf, const struct perf_rec *r,
			  const struct perf_attr *a)
{
	uint64_t st = a->sample_type;
	struct cur c = cur_new(r->p, r->size, pf->swap);

	cur_skip(&c, 8);
	if (!(st & S_IDENTIFIER))
		cur_skip(&c, 8 * (size_t)__builtin_popcountll(st & (S_IP | S_TID | S_TIME |
								    S_ADDR)));
	return cur_u64(&c);
}

static void sample_record(const struct perf *pf, const struct perf_rec *r, struct perf_sample *s)
{
	const struct perf_attr *a = &pf->attrs[0];
	struct cur c = cur_new(r->p, r->size, pf->swap);

	if (pf->nattrs > 1 && a->sample_type & (S_IDENTIFIER | S_ID))
		a = attr_of(pf, sample_id(pf, r, a));
	s->attr = a;
	cur_skip(&c, 8);
	s->bad = !a || !sample_fields(&c, a, s);
}

void perf_sample(const struct perf *pf, const struct perf_rec *r, struct perf_sample *s)
{
	const struct perf_attr *a = pf->nattrs ? &pf->attrs[0] : NULL, *b;
	struct cur c;

	*s = (struct perf_sample){ .time = HWT_TIME_UNKNOWN, .pid = HWT_NONE, .tid = HWT_NONE,
				   .cpu = HWT_NONE, .body = r->size - 8 };
	if (r->type >= REC_KERNEL_END)
		return;
	s->bad = s->body < least(r->type);
	if (!a || s->bad)
		return;
	if (r->type == REC_SAMPLE) {
		sample_record(pf, r, s);
		return;
	}
	/* the identifier is last; records that the tool made up have 0 there: the first attr */
	if (a->sample_type & S_IDENTIFIER && a->trailer && s->body >= 8) {
		c = cur_new(r->p + (r->size - 8), 8, pf->swap);
		b = attr_of(pf, cur_u64(&c));
		a = b ? b : a;
	}
	s->attr = a;
	if (!a->trailer)
		return;
	if (s->body < least(r->type) + a->trailer) {
		s->bad = true;
		return;
	}
	c = cur_new(r->p + (r->size - a->trailer), a->trailer, pf->swap);
	trailer(&c, a, s);
	s->body -= a->trailer;
}

struct cur perf_body(const struct perf *pf, const struct perf_rec *r, const struct perf_sample *s)
{
	return cur_new(r->p + 8, s->body, pf->swap);
}

const char *perf_name(struct cur *c, size_t *n, bool *whole)
{
	const char *s = (const char *)c->p;

	*n = strnlen(s, cur_left(c));
	*whole = *n < cur_left(c);
	c->p = c->end;
	return s;
}

bool perf_mmap(const struct perf *pf, const struct perf_rec *r, const struct perf_sample *s,
	       struct perf_mmap *m)
{
	struct cur c = perf_body(pf, r, s);
	const uint8_t *id;
	uint8_t n;

	*m = (struct perf_mmap){ .exec = !(r->misc & MISC_MMAP_DATA) };
	if (s->body < least(r->type) - 1)
		return false;
	m->map.pid = (int32_t)cur_u32(&c);
	cur_u32(&c);
	m->map.addr = cur_u64(&c);
	m->map.size = cur_u64(&c);
	m->map.file_off = cur_u64(&c);
	if (r->type == REC_MMAP2) {
		/* device and inode, or a build-id in their place: size, 3 reserved, 20 bytes */
		id = cur_take(&c, 24);
		n = id[0] < 20 ? id[0] : 20;
		if (r->misc & MISC_BUILD_ID) {
			m->map.build_id_size = n;
			memcpy(m->map.build_id, id + 4, n);
		}
		m->exec = cur_u32(&c) & 4;	/* PROT_EXEC */
		cur_u32(&c);
	}
	if (m->map.pid == -1 || (r->misc & MISC_CPUMODE) == MISC_KERNEL)
		m->map.pid = HWT_NONE;
	if (s->time != HWT_TIME_UNKNOWN)
		m->map.from = s->time;
	m->map.path = perf_name(&c, &m->path_len, &m->whole);
	return true;
}
