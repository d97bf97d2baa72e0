/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of libbabeltrace2 in order of time: the earliest message of all is sent next. */
#include <stdio.h>
#include <string.h>

#include "ctf_bt.h"

#define TICK		65536		/* events */
#define NS		1000000000u

/* --- what streams are --- */

/* The number of @p, which gets the next one if it is new. */
static uint32_t number_of(struct ctf_lib *l, struct idmap *m, const void *p, bool *fresh)
{
	uint32_t i = idmap_get(m, (uintptr_t)p);

	*fresh = i == IDMAP_NONE;
	if (!*fresh)
		return i;
	i = m->n;
	if (idmap_set(m, (uintptr_t)p, i))
		l->failed = true;
	return i;
}

/* The earliest instant that @cs may stand for. */
static uint64_t time_of(const struct ctf_port *p, const bt_clock_snapshot *cs)
{
	int64_t ns;

	if (!cs || bt_clock_snapshot_get_ns_from_origin(cs, &ns)) {
		bt_current_thread_clear_error();
		return HWT_TIME_UNKNOWN;
	}
	return ns < p->early ? HWT_TIME_UNKNOWN : (uint64_t)ns - p->early;
}

/* The latest, where @lo is the earliest. */
static uint64_t latest(const struct ctf_port *p, uint64_t lo)
{
	return lo == HWT_TIME_UNKNOWN ? lo : lo + p->early + p->late;
}

/*
 * The clock's own precision (ticks, CTF 1.8.3 section 8), and what the library cuts off: offset and
 * value become nanoseconds each by itself.
 */
static void set_doubt(struct ctf_port *p, const bt_clock_class *c)
{
	uint64_t f = bt_clock_class_get_frequency(c), ticks = bt_clock_class_get_precision(c);
	unsigned __int128 ns = ((unsigned __int128)ticks * NS + f - 1) / f;

	p->early = ns > UINT32_MAX / 4 ? UINT32_MAX / 4 : (uint32_t)ns;
	p->late = p->early + (f == NS ? 0 : 2);
}

static uint32_t say_trace(struct ctf_lib *l, const bt_trace *t)
{
	const bt_value *v;
	const char *name;
	char number[32];
	bool fresh;
	uint32_t id = number_of(l, &l->traces, t, &fresh);

	if (!fresh)
		return id;
	ctf_begin(l, CTF_TRACE, id);
	ctf_put_text(l, bt_trace_get_name(t));
	for (uint64_t i = 0; i < bt_trace_get_environment_entry_count(t); i++) {
		bt_trace_borrow_environment_entry_by_index_const(t, i, &name, &v);
		ctf_put_text(l, name);
		if (bt_value_get_type(v) == BT_VALUE_TYPE_STRING) {
			ctf_put_text(l, bt_value_string_get(v));
			continue;
		}
		snprintf(number, sizeof(number), "%lld",
			 bt_value_get_type(v) == BT_VALUE_TYPE_SIGNED_INTEGER ?
			 (long long)bt_value_integer_signed_get(v) : 0);
		ctf_put_text(l, number);
	}
	ctf_end(l);
	return id;
}

const char *ctf_port_file(const struct ctf_port *p, const bt_stream *s)
{
	const char *bar = strrchr(p->name, '|'), *name = s ? bt_stream_get_name(s) : NULL;

	return name ? name : bar && bar[1] == ' ' ? bar + 2 : p->name;
}

static void uuid_text(char *s, bt_uuid u)
{
	*s = 0;
	for (int i = 0; u && i < 16; i++)
		s += sprintf(s, "%02x", u[i]);
}

/* Two clocks that count from instants nobody knows can not be joined, unless they are the same. */
static bool joined(const bt_clock_class *a, const bt_clock_class *b)
{
	bt_uuid ua = bt_clock_class_get_uuid(a), ub = bt_clock_class_get_uuid(b);

	if (a == b || (bt_clock_class_origin_is_unix_epoch(a) &&
		       bt_clock_class_origin_is_unix_epoch(b)))
		return true;
	return ua && ub && !memcmp(ua, ub, 16);
}

static void say_stream(struct ctf_port *p, const bt_stream *s)
{
	struct ctf_lib *l = p->lib;
	const bt_clock_class *c = bt_stream_class_borrow_default_clock_class_const(
			bt_stream_borrow_class_const(s));
	uint32_t trace = say_trace(l, bt_stream_borrow_trace_const(s));
	struct ctf_msg *m;
	char uuid[33];

	p->stream = l->nstreams++;
	m = ctf_begin(l, CTF_STREAM, p->stream);
	m->klass = trace;
	if (c) {
		m->count = bt_clock_class_get_frequency(c);
		m->lo = bt_clock_class_get_precision(c);
		m->flags = bt_clock_class_origin_is_unix_epoch(c) ? CTF_F_ABSOLUTE : 0;
	}
	uuid_text(uuid, c ? bt_clock_class_get_uuid(c) : NULL);
	ctf_put_text(l, ctf_port_file(p, s));
	ctf_put_text(l, c ? bt_clock_class_get_name(c) : "");
	ctf_put_text(l, uuid);
	ctf_end(l);
}

/* --- messages of the library --- */

/* @back: up to where time has come already, times are lower bounds only. */
static void put_event(struct ctf_port *p, const bt_message *msg, bool back)
{
	const bt_event *e = bt_message_event_borrow_event_const(msg);
	const bt_event_class *ec = bt_event_borrow_class_const(e);
	struct ctf_lib *l = p->lib;
	struct ctf_msg *m;
	bool fresh;
	uint32_t klass = number_of(l, &l->classes, ec, &fresh);

	if (fresh) {
		m = ctf_begin(l, CTF_CLASS, p->stream);
		m->klass = klass;
		ctf_put_text(l, bt_event_class_get_name(ec));
		ctf_end(l);
	}
	l->events++;
	p->events++;
	if (p->time < l->first)
		l->first = p->time;
	if (l->events % TICK == 0) {
		ctf_begin(l, CTF_TICK, p->stream)->count = l->events;
		ctf_end(l);
		if (l->job->scan)
			ctf_flush(l);
	}
	if (l->job->scan)
		return;
	m = ctf_begin(l, CTF_EVENT, p->stream);
	m->klass = klass;
	m->lo = back ? (uint64_t)p->key : p->time;
	m->hi = back ? HWT_TIME_UNKNOWN : latest(p, p->time);
	ctf_put_fields(l, CTF_S_FIELDS, bt_event_borrow_payload_field_const(e));
	ctf_put_fields(l, CTF_S_EVENT, bt_event_borrow_specific_context_field_const(e));
	ctf_put_fields(l, CTF_S_STREAM, bt_event_borrow_common_context_field_const(e));
	if (bt_stream_class_supports_packets(bt_event_class_borrow_stream_class_const(ec)))
		ctf_put_fields(l, CTF_S_PACKET, bt_packet_borrow_context_field_const(
				bt_event_borrow_packet_const(e)));
	ctf_end(l);
}

static void put_lost(struct ctf_port *p, const bt_message *msg, bool packets)
{
	const bt_stream *s = packets ? bt_message_discarded_packets_borrow_stream_const(msg) :
		bt_message_discarded_events_borrow_stream_const(msg);
	const bt_stream_class *sc = bt_stream_borrow_class_const(s);
	struct ctf_msg *m = ctf_begin(p->lib, CTF_LOST, p->stream);
	uint64_t n = UINT64_MAX;

	if ((packets ? bt_message_discarded_packets_get_count(msg, &n) :
	     bt_message_discarded_events_get_count(msg, &n)) != BT_PROPERTY_AVAILABILITY_AVAILABLE)
		n = UINT64_MAX;
	/* the difference of two counts, of which the second is the smaller one */
	if (n > INT64_MAX && n != UINT64_MAX) {
		n = UINT64_MAX;
		m->flags = CTF_F_BACK;
	}
	m->count = n;
	m->flags |= packets ? CTF_F_PACKETS : 0;
	m->lo = p->time;
	if (packets && bt_stream_class_discarded_packets_have_default_clock_snapshots(sc))
		m->hi = time_of(p,
			bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(msg));
	else if (!packets && bt_stream_class_discarded_events_have_default_clock_snapshots(sc))
		m->hi = time_of(p,
			bt_message_discarded_events_borrow_end_default_clock_snapshot_const(msg));
	m->hi = latest(p, m->hi);
	ctf_end(p->lib);
}

/* The clock of a message, NULL if it is of a kind or a stream without. */
static const bt_clock_snapshot *clock_of(const bt_message *msg)
{
	const bt_stream_class *sc;

	switch (bt_message_get_type(msg)) {
	case BT_MESSAGE_TYPE_EVENT:
		sc = bt_event_class_borrow_stream_class_const(bt_event_borrow_class_const(
				bt_message_event_borrow_event_const(msg)));
		return bt_stream_class_borrow_default_clock_class_const(sc) ?
			bt_message_event_borrow_default_clock_snapshot_const(msg) : NULL;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		sc = bt_stream_borrow_class_const(
				bt_message_discarded_events_borrow_stream_const(msg));
		return bt_stream_class_discarded_events_have_default_clock_snapshots(sc) ?
			bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(
				msg) : NULL;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		sc = bt_stream_borrow_class_const(
				bt_message_discarded_packets_borrow_stream_const(msg));
		return bt_stream_class_discarded_packets_have_default_clock_snapshots(sc) ?
			bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(
				msg) : NULL;
	default:
		return NULL;
	}
}

static void say_back(struct ctf_port *p, uint64_t time)
{
	struct ctf_msg *m = ctf_begin(p->lib, CTF_BACK, p->stream);

	m->count = p->events + 1;
	m->lo = time;
	m->hi = (uint64_t)p->key;
	ctf_end(p->lib);
	p->back = true;
}

/* The library does not tell numbers of packets, and of one that is there twice not even that. */
static void packet_begins(struct ctf_port *p, const bt_message *msg)
{
	const bt_stream_class *sc = bt_stream_borrow_class_const(bt_packet_borrow_stream_const(
			bt_message_packet_beginning_borrow_packet_const(msg)));
	uint64_t time = HWT_TIME_UNKNOWN;
	struct ctf_msg *m;

	if (bt_stream_class_packets_have_beginning_default_clock_snapshot(sc))
		time = time_of(p,
			bt_message_packet_beginning_borrow_default_clock_snapshot_const(msg));
	p->packets++;
	if (time >= p->packet_end || p->packet_back)
		return;
	m = ctf_begin(p->lib, CTF_BACK, p->stream);
	m->flags = CTF_F_PACKETS;
	m->count = p->packets;
	m->lo = time;
	m->hi = p->packet_end;
	ctf_end(p->lib);
	p->packet_back = true;
}

static void packet_ends(struct ctf_port *p, const bt_message *msg)
{
	const bt_stream_class *sc = bt_stream_borrow_class_const(bt_packet_borrow_stream_const(
			bt_message_packet_end_borrow_packet_const(msg)));
	uint64_t time = HWT_TIME_UNKNOWN;

	if (bt_stream_class_packets_have_end_default_clock_snapshot(sc))
		time = time_of(p,
			bt_message_packet_end_borrow_default_clock_snapshot_const(msg));
	p->packet_end = time == HWT_TIME_UNKNOWN ? 0 : time;
}

/* Sends the message that @p stands at. */
static void put_message(struct ctf_port *p)
{
	const bt_message *msg = p->msgs[p->at];
	bool back = p->time != HWT_TIME_UNKNOWN && (int64_t)p->time < p->key;

	switch (bt_message_get_type(msg)) {
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		say_stream(p, bt_message_stream_beginning_borrow_stream_const(msg));
		break;
	case BT_MESSAGE_TYPE_EVENT:
		if (back && !p->back)
			say_back(p, p->time);
		put_event(p, msg, back);
		break;
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		packet_begins(p, msg);
		break;
	case BT_MESSAGE_TYPE_PACKET_END:
		packet_ends(p, msg);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		put_lost(p, msg, false);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		put_lost(p, msg, true);
		break;
	default:
		break;
	}
}

/* --- the earliest first --- */

static bool before(const struct ctf_port *a, const struct ctf_port *b)
{
	return a->key != b->key ? a->key < b->key : a < b;
}

static void sink(struct ctf_lib *l, size_t i)
{
	struct ctf_port *p = l->heap[i];

	for (;;) {
		size_t k = 2 * i + 1;

		if (k + 1 < l->nheap && before(l->heap[k + 1], l->heap[k]))
			k++;
		if (k >= l->nheap || !before(l->heap[k], p))
			break;
		l->heap[i] = l->heap[k];
		i = k;
	}
	l->heap[i] = p;
}

/* To the next message. False at the end, and after an error, which is told. */
static bool step(struct ctf_port *p)
{
	bt_message_iterator_next_status rc;

	if (p->at < p->n)
		bt_message_put_ref(p->msgs[p->at++]);
	if (p->at == p->n) {
		p->at = p->n = 0;
		do {
			rc = bt_message_iterator_next(p->it, &p->msgs, &p->n);
		} while (rc == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK && !p->n);
		if (rc != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK) {
			p->n = 0;
			if (rc != BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
				ctf_put_error(p->lib, p->stream, ctf_port_file(p, NULL));
			return false;
		}
	}
	p->time = time_of(p, clock_of(p->msgs[p->at]));
	if (p->time != HWT_TIME_UNKNOWN && (int64_t)p->time > p->key)
		p->key = (int64_t)p->time;
	return true;
}

static bool is_begin(const struct ctf_port *p)
{
	return bt_message_get_type(p->msgs[p->at]) == BT_MESSAGE_TYPE_STREAM_BEGINNING;
}

/* False if times of @p and those of the streams before it are not of one clock: it is left out. */
static bool same_time(struct ctf_port *p)
{
	const bt_stream *s = bt_message_stream_beginning_borrow_stream_const(p->msgs[p->at]);
	const bt_clock_class *c = bt_stream_class_borrow_default_clock_class_const(
			bt_stream_borrow_class_const(s));
	struct ctf_lib *l = p->lib;

	if (c)
		set_doubt(p, c);
	if (!c || !l->clock || joined(l->clock, c)) {
		l->clock = l->clock ? l->clock : c;
		return true;
	}
	ctf_begin(l, CTF_ERROR, CTF_NO_STREAM)->klass = CTF_ERR_CLOCK;
	ctf_put_text(l, bt_clock_class_get_name(c));
	ctf_put_text(l, ctf_port_file(p, s));
	ctf_end(l);
	return false;
}

static void stop(struct ctf_port *p)
{
	while (p->at < p->n)
		bt_message_put_ref(p->msgs[p->at++]);
}

void ctf_merge(struct ctf_lib *l)
{
	for (size_t i = 0; i < l->nports; i++) {
		struct ctf_port *p = &l->ports[i];

		if (!p->it || !step(p))
			continue;
		if (is_begin(p) && !same_time(p))
			stop(p);
		else
			l->heap[l->nheap++] = p;
	}
	for (size_t i = l->nheap / 2; i--;)
		sink(l, i);
	while (l->nheap && !l->failed && l->events <= l->job->max_events) {
		put_message(l->heap[0]);
		if (!step(l->heap[0]))
			l->heap[0] = l->heap[--l->nheap];
		if (l->nheap)
			sink(l, 0);
	}
	while (l->nheap)
		stop(l->heap[--l->nheap]);
}
