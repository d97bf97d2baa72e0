/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that come in pairs, each about one thing that some fields name: as a table. */
#include <string.h>

#include <hwtrace/abi.h>

#include "contract.h"

enum op {
	OPEN,		/* not twice without a CLOSE */
	AGAIN,		/* as OPEN, but may be told again */
	CLOSE,		/* not twice without an OPEN */
	COUNT,		/* one more */
	TAKE,		/* not more often than counted */
};

enum key { FIELD, PLACE, TEXT, ONE };

struct pair {
	uint16_t id, group;	/* records of one group are about the same things */
	uint8_t rule, op, key;
	uint8_t miss;		/* enum contract_kind, KIND_NONE: of this record's own */
	struct { uint16_t at, size; } keys[2];
	struct { uint16_t at, size; uint32_t value; } when;	/* the row is for these */
	const char *wrong;
};

#define AT(sec, ev, field) \
	{ offsetof(struct hwt_rec_##sec##_##ev, field), \
	  sizeof(((struct hwt_rec_##sec##_##ev *)0)->field) }
#define IS(sec, ev, field, v) \
	.when = { offsetof(struct hwt_rec_##sec##_##ev, field), \
		  sizeof(((struct hwt_rec_##sec##_##ev *)0)->field), v }
#define ROW(sec, ev, grp, r, o, k, m) \
	.id = HWT_ID_##sec##_##ev, .group = HWT_ID_##grp, .rule = RULE_##r, .op = o, .key = k, \
	.miss = KIND_##m

static const struct pair pairs[] = {
	{ ROW(timer, start, timer_start, SET, OPEN, FIELD, timer_cancel),
	  .keys = { AT(timer, start, timer) },
	  .wrong = "a timer is set that is set already: when it left its queue is not known" },
	{ ROW(timer, cancel, timer_start, SET, CLOSE, FIELD, timer_start),
	  .keys = { AT(timer, cancel, timer) },
	  .wrong = "a timer leaves its queue that was not set: who set it is not known" },
	{ ROW(timer, hr_start, timer_hr_start, SET, OPEN, FIELD, timer_hr_cancel),
	  .keys = { AT(timer, hr_start, timer) },
	  .wrong = "a high resolution timer is set that is set already: when it left its queue is "
		"not known" },
	{ ROW(timer, hr_cancel, timer_hr_start, SET, CLOSE, FIELD, timer_hr_start),
	  .keys = { AT(timer, hr_cancel, timer) },
	  .wrong = "a high resolution timer leaves its queue that was not set: who set it is not "
		"known" },

	{ ROW(stream, state, stream_state, CHANGE, OPEN, PLACE, NONE),
	  IS(stream, state, state, HWT_stream_state_start),
	  .wrong = "the recording starts a second time: when it stopped is not known" },
	{ ROW(stream, state, stream_state, CHANGE, CLOSE, PLACE, NONE),
	  IS(stream, state, state, HWT_stream_state_stop),
	  .wrong = "the recording stops a second time: when it started is not known" },
	{ ROW(stream, state, stream_lost, CHANGE, OPEN, PLACE, NONE),
	  IS(stream, state, state, HWT_stream_state_pause),
	  .wrong = "the recording pauses a second time: when it went on is not known" },
	{ ROW(stream, state, stream_lost, CHANGE, CLOSE, PLACE, NONE),
	  IS(stream, state, state, HWT_stream_state_resume),
	  .wrong = "the recording goes on a second time: when it paused is not known" },
	{ ROW(stream, state, power_cpu, CHANGE, OPEN, PLACE, NONE),
	  IS(stream, state, state, HWT_stream_state_online),
	  .wrong = "the CPU comes a second time: when it went is not known" },
	{ ROW(stream, state, power_cpu, CHANGE, CLOSE, PLACE, NONE),
	  IS(stream, state, state, HWT_stream_state_offline),
	  .wrong = "the CPU goes a second time: when it came is not known" },
	{ ROW(power, suspend, power_suspend, CHANGE, OPEN, ONE, NONE),
	  IS(power, suspend, begin, HWT_yesno_yes),
	  .wrong = "the machine goes to sleep a second time: when it woke is not known" },
	{ ROW(power, suspend, power_suspend, CHANGE, CLOSE, ONE, NONE),
	  IS(power, suspend, begin, HWT_yesno_no),
	  .wrong = "the machine wakes a second time: when it went to sleep is not known" },
	{ ROW(power, cpu, power_cpu, CHANGE, OPEN, FIELD, NONE),
	  .keys = { AT(power, cpu, target_cpu) }, IS(power, cpu, online, HWT_yesno_yes),
	  .wrong = "a CPU comes a second time: when it went is not known" },
	{ ROW(power, cpu, power_cpu, CHANGE, CLOSE, FIELD, NONE),
	  .keys = { AT(power, cpu, target_cpu) }, IS(power, cpu, online, HWT_yesno_no),
	  .wrong = "a CPU goes a second time: when it came is not known" },
	{ ROW(text, module_load, text_module_load, CHANGE, OPEN, TEXT, text_module_unload),
	  .wrong = "a module is loaded that is loaded already: when it went is not known" },
	{ ROW(text, module_unload, text_module_load, CHANGE, CLOSE, TEXT, text_module_load),
	  .wrong = "a module goes that is gone already: when it came is not known" },
	{ ROW(text, ksymbol, text_ksymbol, CHANGE, AGAIN, FIELD, NONE),
	  .keys = { AT(text, ksymbol, addr) }, IS(text, ksymbol, removed, HWT_yesno_no) },
	{ ROW(text, ksymbol, text_ksymbol, CHANGE, CLOSE, FIELD, NONE),
	  .keys = { AT(text, ksymbol, addr) }, IS(text, ksymbol, removed, HWT_yesno_yes),
	  .wrong = "code goes that is gone already: what there was is not known" },

	{ ROW(user, begin, user_begin, MARK, COUNT, FIELD, NONE),
	  .keys = { AT(user, begin, value), AT(user, begin, channel) } },
	{ ROW(user, end, user_begin, MARK, TAKE, FIELD, user_begin),
	  .keys = { AT(user, end, value), AT(user, end, channel) },
	  .wrong = "a program's mark of an end has no begin: its length is not known" },
};

static uint64_t number(const void *rec, uint16_t at, uint16_t size)
{
	uint64_t v = 0;
	uint32_t w;

	if (size == sizeof(v)) {
		memcpy(&v, (const char *)rec + at, sizeof(v));
		return v;
	}
	memcpy(&w, (const char *)rec + at, sizeof(w));
	return w;
}

/* FNV-1a, of the name that ends the record */
static bool text_key(const struct contract *c, uint64_t *key)
{
	const struct hwt_abi_event *e = hwt_abi_event_by_id(c->ev->u.rec.id);
	const struct hwt_abi_field *f = hwt_abi_field_by_name(e, "name");
	struct hwt_abi_value v;

	if (!f || !hwt_abi_value(&v, f, c->ev->u.rec.data))
		return false;
	*key = 0xcbf29ce484222325u;
	for (size_t i = 0; i < v.n; i++)
		*key = (*key ^ (uint8_t)v.p[i]) * 0x100000001b3u;
	return true;
}

static bool find_key(const struct contract *c, const struct pair *p, const void *rec,
		     uint64_t *key)
{
	*key = 0;
	if (p->key == PLACE)
		*key = (uint64_t)(uint32_t)c->now.at.cpu;
	if (p->key == TEXT)
		return text_key(c, key);
	for (unsigned i = 0; p->key == FIELD && i < 2 && p->keys[i].size; i++)
		*key = (*key ^ (*key >> 29)) * 0xbf58476d1ce4e5b9u +
			number(rec, p->keys[i].at, p->keys[i].size);
	return true;
}

/*
 * Timers are set and run by all CPUs at any time; the others are rare, and most CPUs have none. A
 * record whose own kind was forgotten is no proof of anything missing beyond the CPUs' losses.
 */
static void wrong(struct contract *c, const struct pair *p, const struct contract_mark *before)
{
	int32_t cpu = p->rule == RULE_SET ? HWT_NONE : p->key == PLACE ? c->now.at.cpu :
		CONTRACT_ANY;

	contract_broken(c, p->rule, p->miss, cpu, before, c->ev->tid, "%s", p->wrong);
}

static void apply(struct contract *c, const struct pair *p, struct contract_thing *t)
{
	contract_check(c, p->rule);
	switch (p->op) {
	case OPEN:
		if (t->open.open)
			wrong(c, p, &t->open.mark);
		break;
	case CLOSE:
		if (!t->open.open && t->open.mark.seq)
			wrong(c, p, &t->open.mark);
		break;
	case COUNT:
		t->count++;
		t->counted = true;
		return;
	case TAKE:
		if (t->counted && !t->count && t->took.seq)
			wrong(c, p, &t->took);
		t->count -= t->count != 0;
		t->took = c->now;
		return;
	}
	t->open = (struct contract_open){ .mark = c->now, .open = p->op != CLOSE };
}

/*
 * What is done to a device: each part that completes was issued. Without a request's address it is
 * known by its first sector; of a request that completes in parts, the rest begins behind each.
 * Flushes complete more than once (block/blk-flush.c), and a driver's own requests have no sector.
 */
static void request(struct contract *c, const struct hwt_rec_block_issue *r)
{
	struct contract_thing *t, *rest;
	uint64_t key;

	if (r->op == HWT_block_op_other || r->op == HWT_block_op_flush ||
	    r->op == HWT_block_op_zone || r->op == UINT32_MAX || !r->bytes ||
	    r->bytes == UINT32_MAX || r->sector == UINT64_MAX)
		return;
	key = (uint64_t)r->dev << 40 ^ r->sector;
	t = contract_thing(c, key, HWT_ID_block_issue);
	if (r->rec.id == HWT_ID_block_issue) {
		t->count++;
		t->counted = true;
		t->bytes = r->bytes;
		return;
	}
	contract_check(c, RULE_BLOCK);
	if (t->counted && !t->count && t->took.seq)
		contract_broken(c, RULE_BLOCK, KIND_block_issue, CONTRACT_ANY, &t->took,
				c->ev->tid, "the device has done sector %llu again, but nobody "
				"asked for it: how long it took is not known",
				(unsigned long long)r->sector);
	key += r->bytes >> 9;
	if (!t->counted || t->bytes != r->bytes) {
		uint64_t left = t->counted && t->bytes > r->bytes ? t->bytes - r->bytes : 0;

		rest = contract_thing(c, key, HWT_ID_block_issue);
		rest->count++;
		rest->bytes = left ? left : rest->bytes;
		rest->counted = left != 0;
	}
	t = contract_thing(c, (uint64_t)r->dev << 40 ^ r->sector, HWT_ID_block_issue);
	t->count -= t->count != 0;
	t->took = c->now;
}

void contract_pairs(struct contract *c, const struct hwt_rec *rec)
{
	if (rec->id == HWT_ID_block_issue || rec->id == HWT_ID_block_complete)
		request(c, (const void *)rec);	/* the fields used have the same places */
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct pair *p = &pairs[i];
		uint64_t key;

		if (p->id != rec->id ||
		    (p->when.size &&
		     number(rec, p->when.at, p->when.size) != p->when.value))
			continue;
		if (find_key(c, p, rec, &key))
			apply(c, p, contract_thing(c, key, p->group));
	}
}
