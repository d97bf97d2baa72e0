// SPDX-License-Identifier: GPL-2.0-only
/*
 * What makes it right, in short; tests/spin/ring.pml has the whole:
 *
 * - Contexts of one CPU nest. So whoever finds the head as it was has seen no other writer between,
 *   and whoever moves it knows the time, the units of the sub-buffer that it leaves and what was
 *   lost until then, all of one instant.
 * - Who moves the head to or over the end of a sub-buffer closes it, and who moves it into one has
 *   opened it; both tell what they know before they commit their own bytes of it. Who commits the
 *   last byte is the last one in there, and hands it to the reader.
 * - A sub-buffer is written only in a state that says so, which is never one that the reader can
 *   take it in. In an overwriting ring the writer first takes the oldest away, then moves the head.
 */
#include "ring.h"
#include "ring_try.h"

#define RING_TRIES 32		/* each that fails was undone by a record of an interrupt */

#define WHOLE 1u		/* in ring_sub.state */

enum edge { EDGE_DONE, EDGE_AGAIN, EDGE_FULL };

static inline u64 ring_position(const struct ring *r, u64 head)
{
	return head >> r->unit_bits;
}

static inline u32 units(const struct ring *r, u64 head)
{
	return (u32)(head & ((1ull << r->unit_bits) - 1));
}

static inline u32 index_of(const struct ring *r, u64 pos)
{
	return (u32)((pos & r->mask) >> r->sub_shift);
}

static inline u32 weight(const struct ring *r, u32 size)
{
	return r->raw ? size : 1;
}

static u32 log2_of(u32 n)
{
	u32 i = 0;

	while (n >> i > 1)
		i++;
	return i;
}

static bool is_power(u32 n, u32 min, u32 max)
{
	return n >= min && n <= max && !(n & (n - 1));
}

int ring_init(struct ring *r, void *data, const struct ring_cfg *c)
{
	u32 i;

	if (c->context > RING_CONTEXT || !is_power(c->sub_size, RING_SUB_MIN, RING_SUB_MAX) ||
	    !is_power(c->subs, RING_SUBS_MIN, RING_SUBS_MAX) || c->mode > RING_OVERWRITE ||
	    (u64)c->sub_size * c->subs > RING_SIZE_MAX || (unsigned long)data % 8)
		return -EINVAL;
	memset(r, 0, sizeof(*r));
	r->data = data;
	r->mask = (u64)c->sub_size * c->subs - 1;
	r->sub_mask = c->sub_size - 1;
	r->sub_shift = log2_of(c->sub_size);
	r->subs = c->subs;
	r->mode = c->mode;
	r->raw = c->raw;
	r->cpu = c->cpu;
	r->context = c->context * 8;
	r->loss_size = sizeof(struct hwt_rec_stream_lost) + r->context;
	memcpy(r->none, c->none, r->context);
	memcpy(r->uuid, c->uuid, sizeof(r->uuid));
	r->head_size = c->raw ? 0 : sizeof(struct hwt_ctf_packet);
	r->size_min = c->raw ? 1 : sizeof(struct hwt_rec);
	/* behind records of all losses; without a header, all of it could not be told from none */
	r->size_max = c->sub_size - (c->raw ? 8 : r->head_size +
				     RING_CAUSES * r->loss_size);
	r->align = c->raw ? 0 : 7;
	/* as many as can be in a sub-buffer; of records a constant, for those who write them */
	r->unit_bits = c->raw ? r->sub_shift + 1 : RING_UNIT_BITS;
	r->edge = ~0ull << (r->unit_bits + r->sub_shift);
	r->step = (1ull << r->unit_bits) + c->raw;
	r->one = !c->raw;
	r->full = c->sub_size - r->head_size;
	memset(r->sub, 0, c->subs * sizeof(r->sub[0]));
	for (i = 0; i < c->subs; i++) {
		ring_local_set(&r->sub[i].open, r->full);
		ring_shared_set(&r->sub[i].state, (u64)i << 1);
	}
	return 0;
}

static void write_header(struct ring *r, struct ring_sub *s, u64 number, void *p)
{
	struct hwt_ctf_packet h = {
		.magic = HWT_PACKET_MAGIC, .timestamp_begin = s->begin, .timestamp_end = s->end,
		.content_size = (u64)s->content * 8, .packet_size = ((u64)r->sub_mask + 1) * 8,
		.events_discarded = s->lost, .packet_seq_num = number, .cpu_id = r->cpu,
		.flags = HWT_PACKET_PRODUCED | r->context / 8 << 16, .events = s->units,
		.produced = ring_local_read(&s->base) + s->units + s->lost,
	};

	memcpy(h.uuid, r->uuid, sizeof(h.uuid));
	memcpy(p, &h, sizeof(h));
}

/* All bytes of sub-buffer @i are written. */
noinline RING_CODE void ring_hand_over(struct ring *r, u64 i)
{
	struct ring_sub *s = &r->sub[i];
	u64 state;

	/* nobody else is in here, and nobody gets in before the state says so */
	ring_local_set(&s->open, r->full);
	state = ring_shared_read(&s->state);
	if (!r->raw)
		write_header(r, s, state >> 1, r->data + (i << r->sub_shift));
	ring_shared_set(&s->state, state | WHOLE);
	WRITE_ONCE(r->wake, 1);
}

/* What was lost at one instant, and what no record tells of it yet. */
struct losses {
	u64 n[RING_CAUSES], all;
	u64 untold[RING_CAUSES];
	u32 records;		/* stream.lost, to tell that */
};

static RING_CODE u64 lost_of(struct ring *r)
{
	u64 n = 0;
	int i;

	for (i = 0; i < RING_CAUSES; i++)
		n += ring_local_read(&r->lost[i]);
	return n;
}

/* @before: the sub-buffer that the head is in, or was in last. */
static RING_CODE void look_at_losses(struct ring *r, struct ring_sub *before, struct losses *l)
{
	int i;

	l->all = 0;
	l->records = 0;
	for (i = 0; i < RING_CAUSES; i++) {
		l->n[i] = ring_local_read(&r->lost[i]);
		l->all += l->n[i];
		l->untold[i] = r->raw ? 0 : l->n[i] - ring_local_read(&before->told[i]);
		l->records += l->untold[i] != 0;
	}
}

static RING_CODE void write_losses(const struct ring *r, const struct losses *l, u64 time, u8 *p)
{
	static const u32 cause[RING_CAUSES] = { [RING_LOST_FULL] = HWT_lost_cause_full,
		[RING_LOST_NESTED] = HWT_lost_cause_nested,
		[RING_LOST_SIZE] = HWT_lost_cause_too_long,
		[RING_LOST_UNSEEN] = HWT_lost_cause_provider };
	const u32 head = sizeof(struct hwt_rec);
	int i;

	for (i = 0; i < RING_CAUSES; i++) {
		struct hwt_rec_stream_lost e = { .rec = { .time = time,
			.id = HWT_ID_stream_lost, .size = r->loss_size, .version = HWT_ABI_VERSION,
			.pid = -1, .tid = -1 }, .count = l->untold[i], .cause = cause[i] };

		if (!l->untold[i])
			continue;
		memcpy(p, &e, head);
		memcpy(p + head, r->none, r->context);
		memcpy(p + head + r->context, (const u8 *)&e + head, sizeof(e) - head);
		p += r->loss_size;
	}
}

/* What the one who moved the head from @old knows of the sub-buffer that this ended. */
static RING_CODE void close_sub(struct ring *r, u32 i, u32 content, u32 n, u64 time, u64 lost)
{
	struct ring_sub *s = &r->sub[i];

	s->content = content;
	s->units = n;
	s->end = time;
	s->lost = lost;
}

/* The head goes to the end of the sub-buffer that it is in. */
static RING_CODE enum edge shut(struct ring *r, u64 old)
{
	u64 pos = ring_position(r, old), lost = lost_of(r), time = ring_clock();
	u32 off = (u32)pos & r->sub_mask, left = r->sub_mask + 1 - off, i = index_of(r, pos);

	if (!ring_local_cas(&r->head, old, old + ((u64)left << r->unit_bits)))
		return EDGE_AGAIN;
	close_sub(r, i, off, units(r, old), time, lost);
	ring_written(r, i, left);
	return EDGE_DONE;
}

/*
 * May the head move into sub-buffer @i, which would lie at @pos? Takes the oldest away if that is
 * what it takes.
 */
static RING_CODE enum edge make_room(struct ring *r, u32 i, u64 pos)
{
	struct ring_sub *s = &r->sub[i];
	u64 state = ring_shared_read(&s->state), number = state >> 1;
	u64 there = ring_position(r, ~0ull) >> r->sub_shift;
	u32 n = s->units;

	if (state & WHOLE)
		number += r->subs;
	/* another number: it is open, and who writes in it was interrupted */
	if ((number ^ pos >> r->sub_shift) & there)
		return EDGE_FULL;
	if (!(state & WHOLE))
		return EDGE_DONE;
	if (r->mode != RING_OVERWRITE)
		return EDGE_FULL;
	if (ring_shared_cas(&s->state, state, number << 1))
		ring_local_add(&r->overwritten, n);
	else	/* the reader was done with it just now; what failed orders nothing */
		ring_shared_read(&s->state);
	return EDGE_DONE;
}

/*
 * @word, which belongs to the sub-buffer that the head of @old is to move into, gets @value before
 * it does. This may be undone by an interrupt, and that may have been undone, so it is written only
 * over what stood there while the head was @old: from then on it only grows.
 */
static RING_CODE bool tell_before(struct ring *r, ring_local *word, u64 value, u64 old)
{
	u64 was = ring_local_read(word);

	if (ring_local_read(&r->head) != old)
		return false;
	return was == value || ring_local_cas(word, was, value);
}

/* What the sub-buffer begins with: the units before it, and what is told of losses. */
static RING_CODE bool tell_start(struct ring *r, u32 i, u64 old, struct losses *l)
{
	struct ring_sub *s = &r->sub[i], *before = &r->sub[(i - 1) & (r->subs - 1)];
	int k;

	if (!tell_before(r, &s->base, ring_local_read(&before->base) + units(r, old), old))
		return false;
	look_at_losses(r, before, l);
	for (k = 0; k < RING_CAUSES; k++)
		if (!tell_before(r, &s->told[k], l->n[k], old))
			return false;
	return true;
}

/* What enter() makes of a sub-buffer. */
struct entry {
	u64 time;
	u64 lost;		/* until then */
	u32 first;		/* offset of what comes behind records of losses */
};

/*
 * Moves the head into the next sub-buffer, which is at @next, and behind @size bytes; @size 0: to
 * its end.
 */
static RING_CODE enum edge enter(struct ring *r, u64 old, u64 next, u32 size, struct entry *e)
{
	u64 pos = ring_position(r, old);
	u32 off = (u32)pos & r->sub_mask, i = index_of(r, next), last = index_of(r, next - 1);
	u32 end = r->sub_mask + 1, n;
	struct losses l;
	enum edge rc;

	rc = make_room(r, i, next);
	if (rc != EDGE_DONE)
		return rc;
	if (!tell_start(r, i, old, &l))
		return EDGE_AGAIN;
	e->first = r->head_size + l.records * r->loss_size;
	e->lost = l.all;
	if (size)
		end = e->first + size;
	n = l.records + (size ? weight(r, size) : 0);
	e->time = ring_clock();
	if (!ring_local_cas(&r->head, old, (next + end) << r->unit_bits | n))
		return EDGE_AGAIN;
	r->sub[i].begin = e->time;
	write_losses(r, &l, e->time, r->data + (next & r->mask) + r->head_size);
	if (end == r->sub_mask + 1)
		close_sub(r, i, size ? end : e->first, n, e->time, l.all);
	if (off) {
		close_sub(r, last, off, units(r, old), e->time, l.all);
		ring_written(r, last, r->sub_mask + 1 - off);
	}
	if (size && l.records)
		ring_written(r, i, e->first - r->head_size);
	return EDGE_DONE;
}

/* A reservation that ends at the end of the sub-buffer, or does not fit into it. */
static RING_CODE enum edge reserve_edge(struct ring *r, u64 old, u32 size, void **p, u64 *time)
{
	u64 pos = ring_position(r, old), next = (pos + r->sub_mask) & ~(u64)r->sub_mask, lost, now;
	u32 off = (u32)pos & r->sub_mask, i = index_of(r, pos);
	struct entry e;
	enum edge rc;

	if (!off || size > r->sub_mask + 1 - off) {
		rc = enter(r, old, next, size, &e);
		if (rc == EDGE_DONE) {
			*p = r->data + (next & r->mask) + e.first;
			*time = e.time;
		}
		return rc;
	}
	lost = lost_of(r);
	now = ring_clock();
	if (!ring_local_cas(&r->head, old, old + size * r->step + r->one))
		return EDGE_AGAIN;
	close_sub(r, i, r->sub_mask + 1, units(r, old) + weight(r, size), now, lost);
	*p = r->data + (pos & r->mask);
	*time = now;
	return EDGE_DONE;
}

/* Whatever is stored next begins a sub-buffer. */
static RING_CODE void end_sub(struct ring *r)
{
	int i;

	for (i = 0; i < RING_TRIES; i++) {
		u64 old = ring_local_read(&r->head);

		if (!((u32)ring_position(r, old) & r->sub_mask) || shut(r, old) == EDGE_DONE)
			return;
	}
}

/* What is lost lies between two sub-buffers, and is told before anything else is stored. */
static noinline RING_CODE void *lose(struct ring *r, u32 size, enum ring_cause cause)
{
	end_sub(r);
	ring_local_add(&r->lost[cause], weight(r, size));
	/* an interrupt may have begun one before this was counted */
	end_sub(r);
	return NULL;
}

/* The sub-buffer that the head was in last. */
static u32 last_of(const struct ring *r, u64 head)
{
	return index_of(r, ring_position(r, head) - 1);
}

/* Is there loss that is told neither by records nor, in a raw ring, by a sub-buffer? */
static RING_CODE bool untold(struct ring *r, u64 head)
{
	struct ring_sub *s = &r->sub[last_of(r, head)];
	struct losses l;

	look_at_losses(r, s, &l);
	return r->raw ? s->lost != l.all : l.records != 0;
}

/* One try to move the head within its sub-buffer; NULL: not so, or an interrupt moved it. */
static RING_CODE void *reserve_within(struct ring *r, u64 old, u32 size, u64 *time)
{
	u64 pos = ring_position(r, old), now;

	/* 0 < offset and offset + size < the sub-buffer's size */
	if (unlikely(((u32)pos & r->sub_mask) - 1 >= r->sub_mask - size))
		return NULL;
	now = ring_clock();
	if (unlikely(!ring_local_cas(&r->head, old, old + size * r->step + r->one)))
		return NULL;
	*time = now;
	return r->data + (pos & r->mask);
}

static noinline RING_CODE void *reserve_slow(struct ring *r, u32 size, u64 *time)
{
	enum edge rc = EDGE_AGAIN;
	void *p;
	int i;

	for (i = 0; i < RING_TRIES && rc == EDGE_AGAIN; i++) {
		u64 old = ring_local_read(&r->head);
		u32 off = (u32)ring_position(r, old) & r->sub_mask;

		if (off && off + size < r->sub_mask + 1) {
			p = reserve_within(r, old, size, time);
			if (p)
				return p;
			continue;
		}
		rc = reserve_edge(r, old, size, &p, time);
		if (rc != EDGE_DONE)
			continue;
		/* what an interrupt lost after enter() had looked */
		if (!r->raw && unlikely(untold(r, ring_local_read(&r->head))))
			end_sub(r);
		return p;
	}
	return lose(r, size, rc == EDGE_FULL ? RING_LOST_FULL : RING_LOST_NESTED);
}

RING_CODE void *ring_reserve(struct ring *r, u32 size, u64 *time)
{
	void *p;

	if (unlikely(size < r->size_min || size > r->size_max || (size & r->align)))
		return lose(r, size, RING_LOST_SIZE);
	p = reserve_within(r, ring_local_read(&r->head), size, time);
	return likely(p) ? p : reserve_slow(r, size, time);
}

RING_CODE void ring_commit(struct ring *r, const void *p, u32 size)
{
	ring_done(r, p, size);
}

RING_CODE void ring_miss(struct ring *r, u64 n)
{
	if (!n)
		return;
	end_sub(r);
	ring_local_add(&r->lost[RING_LOST_UNSEEN], n);
	end_sub(r);
}

RING_CODE bool ring_write(struct ring *r, struct hwt_rec *rec)
{
	u64 time;
	void *p = ring_reserve(r, rec->size, &time);

	if (unlikely(!p))
		return false;
	rec->time = time;
	memcpy(p, rec, rec->size);
	ring_commit(r, p, rec->size);
	return true;
}

/* A sub-buffer of nothing but what was lost. */
static RING_CODE enum edge tell_lost(struct ring *r, u64 old)
{
	u64 pos = ring_position(r, old);
	struct entry e;
	enum edge rc;

	if (!untold(r, old))
		return EDGE_DONE;
	rc = enter(r, old, pos, 0, &e);
	if (rc == EDGE_DONE)
		ring_written(r, index_of(r, pos), r->full);
	return rc;
}

int ring_flush(struct ring *r)
{
	enum edge rc = EDGE_AGAIN;
	int i;

	for (i = 0; i < RING_TRIES && rc == EDGE_AGAIN; i++) {
		u64 old = ring_local_read(&r->head);

		if (!(ring_position(r, old) & r->sub_mask))
			rc = tell_lost(r, old);
		else if (shut(r, old) == EDGE_DONE && (r->raw || !untold(r, old)))
			rc = EDGE_DONE;
	}
	return rc == EDGE_DONE ? 0 : -EAGAIN;
}

bool ring_all_read(struct ring *r)
{
	u64 pos = ring_position(r, ring_local_read(&r->head));
	u64 end = pos & ~(u64)r->sub_mask;	/* of the newest that is closed */

	return !(ring_shared_read(&r->sub[index_of(r, end - 1)].state) & WHOLE);
}

bool ring_has_room(struct ring *r)
{
	u64 number = (ring_position(r, ring_local_read(&r->head)) >> r->sub_shift) + r->subs / 2;
	u64 there = ring_position(r, ~0ull) >> r->sub_shift;
	u64 state = ring_shared_read(&r->sub[number & (r->subs - 1)].state);

	return r->mode == RING_OVERWRITE || (!(state & WHOLE) && !((state >> 1 ^ number) & there));
}

int ring_get(struct ring *r, struct ring_view *v)
{
	u64 state, number;
	struct ring_sub *s;
	u32 i;

	for (i = 0; i <= r->subs; i++) {
		s = &r->sub[r->tail & (r->subs - 1)];
		state = ring_shared_read(&s->state);
		number = state >> 1;
		/* the writer came round: the oldest that may be left is the one behind */
		if (number != r->tail) {
			r->tail = number - r->subs + 1;
			continue;
		}
		if (!(state & WHOLE))
			return 0;
		/* if this is overwritten while it is read, ring_put() will say so */
		*v = (struct ring_view){
			.p = r->data + (((u64)(s - r->sub)) << r->sub_shift),
			.size = READ_ONCE(s->content), .units = READ_ONCE(s->units),
			.number = number, .begin = READ_ONCE(s->begin), .end = READ_ONCE(s->end),
			.lost = READ_ONCE(s->lost),
		};
		v->produced = ring_local_read(&s->base) + v->units + v->lost;
		return 1;
	}
	return 0;
}

int ring_put(struct ring *r, const struct ring_view *v)
{
	struct ring_sub *s = &r->sub[v->number & (r->subs - 1)];

	if (v->number != r->tail)
		return -ESTALE;
	r->tail++;
	if (!ring_shared_cas(&s->state, v->number << 1 | WHOLE, (v->number + r->subs) << 1))
		return -ESTALE;
	r->read += v->units;
	return 0;
}

void ring_count(struct ring *r, struct ring_counts *c)
{
	u64 head = ring_local_read(&r->head);

	c->lost = lost_of(r);
	c->produced = c->lost + ring_local_read(&r->sub[last_of(r, head)].base) + units(r, head);
	c->overwritten = ring_local_read(&r->overwritten);
	c->read = READ_ONCE(r->read);
}
