/* SPDX-License-Identifier: BSD-2-Clause */
#include "contract.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>
#include <hwtrace/kernel.h>

#include "../hwtrace/base/diag.h"
#include "../hwtrace/base/vec.h"

#define MAX_CPUS	8192
#define MAX_CASES	64	/* of a rule that are kept */
#define TASKS		16384u	/* powers of two */
#define THINGS		16384u
/* a rule that more than one in so many records break does not fit what was recorded */
#define RARE		16

static const char *const names[RULES] = {
	"time", "switch", "runs", "woken", "irq", "raised", "softirq", "queued", "work", "syscall",
	"idle", "set", "timer", "exit", "value", "where", "waking", "born", "moved", "named",
	"signal", "ipi", "block", "change", "mark", "clock", "twice", "number",
};

/* Of a recording of some tasks only, nothing of other tasks can be held against it. */
#define OF_ALL_TASKS (1u << RULE_WOKEN | 1u << RULE_QUEUED | 1u << RULE_SET | 1u << RULE_EXIT | \
	1u << RULE_WAKING | 1u << RULE_BORN | 1u << RULE_MOVED | 1u << RULE_NAMED | \
	1u << RULE_SIGNAL | 1u << RULE_IPI | 1u << RULE_BLOCK | 1u << RULE_MARK)

const char *hwt_contract_rule(unsigned i)
{
	return i < RULES ? names[i] : NULL;
}

int contract_new(struct contract **out)
{
	struct contract *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->tasks = calloc(TASKS, sizeof(*c->tasks));
	c->things = calloc(THINGS, sizeof(*c->things));
	if (!c->tasks || !c->things || contract_values_new(c)) {
		contract_free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void contract_free(struct contract *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->ncpus; i++)
		free(c->cpus[i]);
	free(c->cpus);
	free(c->tasks);
	free(c->things);
	for (unsigned i = 0; i < KINDS; i++)
		free(c->fields[i].v);
	for (unsigned r = 0; r < RULES; r++)
		free(c->rules[r].v);
	free(c);
}

static void forget_cpu(struct contract_cpu *k, uint64_t seq)
{
	struct contract_cpu old = *k;

	*k = (struct contract_cpu){ .running = HWT_NONE, .running_pid = HWT_NONE,
		.time = old.time, .skipped = seq };
	/* that events of a kind are recorded does not change */
	memcpy(k->last, old.last, sizeof(k->last));
	memcpy(k->number, old.number, sizeof(k->number));
	k->end = old.end;
}

struct contract_cpu *contract_cpu(struct contract *c, int32_t cpu)
{
	if (cpu < 0 || cpu >= MAX_CPUS)
		return NULL;
	if ((size_t)cpu >= c->ncpus) {
		size_t n = (size_t)cpu + 1;
		struct contract_cpu **v = realloc(c->cpus, n * sizeof(*v));

		if (!v) {
			c->no_memory = true;
			return NULL;
		}
		memset(v + c->ncpus, 0, (n - c->ncpus) * sizeof(*v));
		c->cpus = v;
		c->ncpus = n;
	}
	if (!c->cpus[cpu]) {
		c->cpus[cpu] = calloc(1, sizeof(**c->cpus));
		if (!c->cpus[cpu])
			c->no_memory = true;
		else
			c->cpus[cpu]->running = c->cpus[cpu]->running_pid = HWT_NONE;
	}
	return c->cpus[cpu];
}

struct contract_task *contract_task(struct contract *c, int32_t tid)
{
	struct contract_task *t = &c->tasks[(uint32_t)tid * 0x9e3779b1u >> 18];

	if (tid <= 0)
		return NULL;
	if (t->tid != tid || t->life != c->life)
		*t = (struct contract_task){ .tid = tid, .life = c->life, .cpu = HWT_NONE };
	return t;
}

struct contract_thing *contract_thing(struct contract *c, uint64_t key, uint16_t id)
{
	uint64_t hash = (key ^ (uint64_t)id << 40) * 0x9e3779b97f4a7c15u;
	struct contract_thing *t = &c->things[hash >> 50];

	if (t->key != key || t->id != id || t->life != c->life)
		*t = (struct contract_thing){ .key = key, .id = id, .life = c->life };
	return t;
}

void contract_check(struct contract *c, enum contract_rule r)
{
	c->stats.checks++;
	c->rules[r].checks++;
}

/* Records of @kind were made at @seq on the CPUs in question, as later ones show, or earlier. */
static bool recorded(const struct contract *c, enum contract_kind kind, int32_t cpu, uint64_t seq,
		     bool later)
{
	bool all = true, some = false;

	for (size_t i = 0; i < c->ncpus; i++) {
		const struct contract_cpu *k = c->cpus[i];
		uint64_t begin, end;

		if (!k || (cpu >= 0 && i != (size_t)cpu))
			continue;
		begin = cpu == CONTRACT_ANY ? k->begin : k->first[kind];
		end = cpu == CONTRACT_ANY ? k->end : k->last[kind];
		all = all && (later ? end > seq : begin && begin <= seq);
		some = some || (later ? k->last[kind] > seq : k->first[kind] &&
				k->first[kind] <= seq);
	}
	return all && (cpu != CONTRACT_ANY || kind == KIND_NONE || some);
}

void contract_broken(struct contract *c, enum contract_rule r, enum contract_kind kind,
		     int32_t cpu, const struct contract_mark *before, int32_t tid,
		     const char *fmt, ...)
{
	struct contract_rule_state *s = &c->rules[r];
	struct contract_case *k;
	va_list ap;

	if (c->off >> r & 1)
		return;
	if ((kind != KIND_NONE || cpu == CONTRACT_ANY) &&
	    !recorded(c, kind, cpu, before->seq, false))
		return;
	s->broken++;
	if (s->n >= MAX_CASES)
		return;
	if (vec_room(&s->v, &s->cap, s->n, sizeof(*s->v))) {
		c->no_memory = true;
		return;
	}
	k = &s->v[s->n++];
	*k = (struct contract_case){ .seq = c->seq, .cpu = cpu, .kind = (uint8_t)kind,
		.f = { .rule = names[r], .at = c->now.at, .before = before->at, .tid = tid } };
	if (!before->seq)
		k->f.before.off = HWT_NO_OFF;
	va_start(ap, fmt);
	vsnprintf(k->f.text, sizeof(k->f.text), fmt, ap);
	va_end(ap);
}

/*
 * A loss is known after it was: it lies behind the last record of the CPU. A case that needs the
 * records of all CPUs is none if they were incomplete when it was seen.
 */
void contract_forget(struct contract *c, int32_t cpu)
{
	uint64_t since = UINT64_MAX;

	for (size_t i = 0; i < c->ncpus; i++)
		if (c->cpus[i] && (cpu == HWT_NONE || i == (size_t)cpu)) {
			since = c->cpus[i]->time < since ? c->cpus[i]->time : since;
			forget_cpu(c->cpus[i], c->seq);
		}
	c->life++;
	for (unsigned r = 0; r < RULES; r++) {
		struct contract_rule_state *s = &c->rules[r];
		size_t n = 0;

		for (size_t i = 0; i < s->n; i++)
			if (s->v[i].cpu >= 0 || s->v[i].f.at.time < since)
				s->v[n++] = s->v[i];
		s->broken -= s->n - n;
		s->n = n;
	}
}

/* FNV-1a, eight bytes at a time: records fill them */
static uint64_t hash_of(const void *rec, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u, w;

	for (size_t i = 0; i + sizeof(w) <= n; i += sizeof(w)) {
		memcpy(&w, (const char *)rec + i, sizeof(w));
		h = (h ^ w) * 0x100000001b3u;
		h ^= h >> 29;
	}
	return h;
}

/*
 * Now and then perf reads a part of its buffer twice. Such a record tells nothing, and would
 * contradict all that is counted.
 */
static bool seen_before(struct contract *c, struct contract_cpu *k, const struct hwt_event *ev)
{
	uint64_t hash = hash_of(ev->u.rec.data, ev->u.rec.size);
	unsigned i = 0;

	contract_check(c, RULE_TWICE);
	while (i < 8 && (k->recent_hash[i] != hash || k->recent[i].at.time != ev->time))
		i++;
	if (i < 8 && !k->again)
		contract_broken(c, RULE_TWICE, KIND_NONE, ev->cpu, &k->recent[i], ev->tid,
				"the same records twice on CPU %d: counts of events are too high "
				"here", ev->cpu);
	k->again = i < 8 ? 8 : k->again ? k->again - 1 : 0;
	if (i < 8)
		return true;
	k->recent_hash[k->next_recent % 8] = hash;
	k->recent[k->next_recent++ % 8] = c->now;
	return false;
}

/*
 * Records of a kind are numbered on each CPU, before any filter: what is tied by numbers is tied to
 * another one where one stands twice, and where one is left out it was dropped.
 */
static void numbered(struct contract *c, struct contract_cpu *k, const struct hwt_rec *rec,
		     const struct hwt_abi_event *e)
{
	struct contract_number *n = &k->number[contract_kind(e->id)];
	bool same = n->mark.seq && n->mark.at.src == c->now.at.src;

	if (!(rec->flags & HWT_REC_HIT) || e->id == HWT_ID_stream_lost)
		return;
	if (same)
		contract_check(c, RULE_NUMBER);
	if (same && rec->hit <= n->hit)
		contract_broken(c, RULE_NUMBER, KIND_NONE, c->now.at.cpu, &n->mark, rec->tid,
				"%s of CPU %d has number %llu, the one before has %llu: it is "
				"there twice or another one's, nothing can be tied by its number",
				e->name, c->now.at.cpu, (unsigned long long)rec->hit,
				(unsigned long long)n->hit);
	else if (same && !c->filtered && rec->hit - n->hit > 1 && n->mark.seq > k->skipped)
		contract_broken(c, RULE_NUMBER, KIND_NONE, c->now.at.cpu, &n->mark, rec->tid,
				"%s of CPU %d has number %llu, the one before has %llu: what is "
				"between is missing, and no loss is told", e->name, c->now.at.cpu,
				(unsigned long long)rec->hit, (unsigned long long)n->hit);
	*n = (struct contract_number){ rec->hit, c->now };
	if (e->id == HWT_ID_stream_state)	/* it may have rested before */
		k->skipped = c->seq;
}

/*
 * Events of two clocks have no order to hold them to, and neither have those without a time among
 * others: what was known before them is not any more.
 */
static bool in_order(struct contract *c, const struct hwt_event *ev)
{
	bool timed = ev->time != HWT_TIME_UNKNOWN, skipped = c->skipped;

	if (timed && !c->timed) {
		if (c->seq)
			contract_forget(c, HWT_NONE);
		c->timed = true;
		c->clock = ev->clock;
	}
	if (timed && ev->clock != c->clock)
		return false;
	c->skipped = !timed && c->timed;
	if (c->skipped && !skipped)
		contract_forget(c, HWT_NONE);
	return !c->skipped;
}

int contract_feed(struct contract *c, const struct hwt_event *ev)
{
	const struct hwt_abi_event *e;
	struct contract_cpu *k;
	union { struct hwt_rec rec; char bytes[1024]; } copy;
	enum contract_kind kind;

	if (ev->type == HWT_EV_RECORD && ev->u.rec.id >= HWT_ID_DIRTY) {
		c->stats.dirty++;
		return 0;
	}
	if (ev->type != HWT_EV_RECORD ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e)
		return 0;
	if (!in_order(c, ev))
		return 0;
	c->seq++;
	c->stats.records++;
	c->ev = ev;
	c->now = (struct contract_mark){ .seq = c->seq, .at = { .time = ev->time, .off = ev->off,
		.src = ev->src, .cpu = ev->cpu } };
	k = contract_cpu(c, ev->cpu);
	if (k && ev->time != HWT_TIME_UNKNOWN) {
		contract_check(c, RULE_TIME);
		if (ev->time < k->time)
			contract_broken(c, RULE_TIME, KIND_NONE, ev->cpu, &c->now, ev->tid,
					"time goes back on CPU %d: order in time means nothing "
					"here", ev->cpu);
	}
	if (k && ev->time != HWT_TIME_UNKNOWN && seen_before(c, k, ev))
		return c->no_memory ? -ENOMEM : 0;
	/* fields of this version, also in a record of an older one: those it lacks are not used */
	memset(&copy, 0xff, sizeof(copy));
	memcpy(&copy, ev->u.rec.data, ev->u.rec.size < sizeof(copy) ? ev->u.rec.size :
	       sizeof(copy));
	if (k)
		numbered(c, k, &copy.rec, e);
	contract_apply(c, &copy.rec);
	kind = contract_kind(ev->u.rec.id);
	if (k && kind != KIND_NONE) {
		k->last[kind] = c->seq;
		if (!k->first[kind])
			k->first[kind] = c->seq;
	}
	if (k) {
		k->begin = k->begin ? k->begin : c->seq;
		k->end = c->seq;
	}
	if (k && ev->time != HWT_TIME_UNKNOWN)
		k->time = ev->time;
	return c->no_memory ? -ENOMEM : 0;
}

static int by_seq(const void *a, const void *b)
{
	const struct contract_case *const *x = a, *const *y = b;

	return ((*x)->seq > (*y)->seq) - ((*x)->seq < (*y)->seq);
}

void contract_end(struct contract *c, void (*found)(void *arg,
		  const struct hwt_contract_finding *f), void *arg)
{
	const struct contract_case *all[RULES * MAX_CASES];
	const struct contract_rule_state *sw = &c->rules[RULE_SWITCH];
	bool some_tasks = sw->broken * RARE > sw->checks;
	size_t n = 0;

	for (unsigned r = 0; r < RULES; r++) {
		struct contract_rule_state *s = &c->rules[r];
		size_t left = 0;

		if (s->broken * RARE > s->checks + 4 * RARE ||
		    (s->broken && some_tasks && OF_ALL_TASKS >> r & 1)) {
			c->stats.rules_off |= 1u << r;
			continue;
		}
		for (size_t i = 0; i < s->n; i++)
			if ((s->v[i].kind == KIND_NONE && s->v[i].cpu != CONTRACT_ANY) ||
			    recorded(c, s->v[i].kind, s->v[i].cpu, s->v[i].seq, true)) {
				all[n++] = &s->v[i];
				left++;
			}
		/* of those that were not kept nobody knows; none of the kept: at the end */
		c->stats.findings += left ? left + (s->broken - s->n) : 0;
	}
	qsort(all, n, sizeof(all[0]), by_seq);
	for (size_t i = 0; i < n && found; i++)
		found(arg, &all[i]->f);
}

/*
 * A recorder that steps programs lets them take turns: its switches are not those that the kernel
 * made, so the kernel's events beside them tell of other sleeps and of other tasks. It learns of a
 * fork when the new task has been woken, of which the kernel told. It has the kernel's events of
 * one CPU: who asked for a wakeup, or moved a task, may have been on another. Some machines hide
 * tasks from those that trace, and what such a task raises: elsewhere the kernel's switches tell
 * that one ran, here nothing does.
 * A recording of some tasks has what they did, and what was done to them by others in part.
 */
static void rules_off(const struct hwt_session *s, struct hwt_contract_stats *st)
{
	const uint32_t tasks = 1u << RULE_RUNS | 1u << RULE_WOKEN | 1u << RULE_BORN |
		1u << RULE_WAKING | 1u << RULE_MOVED;
	const char *key, *value;

	for (size_t i = 0; (key = hwt_session_fact(s, i, &value)); i++) {
		/* of a native capture, and of its kernel/ alone */
		if ((!strcmp(key, "recorder") || !strcmp(key, "label")) && !strcmp(value, "model"))
			st->rules_off |= st->rules_stepping = tasks | 1u << RULE_RAISED;
		else if (!strcmp(key, "scope"))
			st->rules_off |= tasks | 1u << RULE_SWITCH;
	}
}

/* Records that were counted may have been left out on purpose. Only a whole native capture says. */
static bool is_filtered(const struct hwt_session *s)
{
	const char *key, *value;
	struct hwt_capture_info info;

	hwt_session_info(s, &info);
	if (strcmp(info.format, "native"))
		return true;
	for (size_t i = 0; (key = hwt_session_fact(s, i, &value)); i++)
		if (!strcmp(key, "scope") || !strcmp(key, "filter") ||
		    (!strcmp(key, "events") && strpbrk(value, ":=<>")))
			return true;
	return false;
}

int hwt_session_contract(struct hwt_session *s,
			 void (*found)(void *arg, const struct hwt_contract_finding *f), void *arg,
			 struct hwt_contract_stats *stats, struct hwt_diag *diag)
{
	struct hwt_event ev[64];
	struct contract *c = NULL;
	struct hwt_stream *st;
	int n = 0, rc = hwt_session_kernel(s, &st, diag);

	if (rc)
		return rc;
	rc = contract_new(&c);
	if (!rc) {
		rules_off(s, &c->stats);
		c->filtered = is_filtered(s);
		c->off = c->stats.rules_off;
	}
	while (!rc && (n = hwt_stream_next(st, ev, 64)) > 0)
		for (int i = 0; !rc && i < n; i++)
			rc = contract_feed(c, &ev[i]);
	hwt_stream_close(st);
	rc = rc ? rc : n;
	if (!rc) {
		contract_end(c, found, arg);
		*stats = c->stats;
	} else {
		diag_set(diag, rc, rc == -ENOMEM ? 3 : 0, NULL, HWT_NO_OFF, "kernel events: %s",
			 hwt_strerror(rc));
	}
	contract_free(c);
	return rc;
}
