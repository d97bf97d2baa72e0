/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of a stream file of kernel/, and the records in them (hwtrace/uapi.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../base/crc.h"
#include "native.h"

/* of a packet that does not say how many records there were */
#define HEAD offsetof(struct hwt_ctf_packet, produced)
#define WRONG_MAX 8		/* times the file's size, of packets with a wrong checksum */

#define REC_MAX 65536		/* bytes of a record: its size is 16 bits */

/* Without context in any packet nobody writes to the copy, and it costs nothing. */
int native_walk_init(struct native_walk *w, const struct native *n, const struct native_stream *s)
{
	*w = (struct native_walk){ .f = s->f, .own = s->dirty ? &n->dirty : &n->own, .first = true,
		.cpu = HWT_NONE };
	w->copy = malloc(REC_MAX);
	return w->copy ? 0 : -ENOMEM;
}

void native_walk_free(struct native_walk *w)
{
	free(w->copy);
	w->copy = NULL;
}

/*
 * As hwt_abi_record(), and @rec is the record with context, if it is known, behind its own fields:
 * there appended fields are looked for, so all that reads records goes on to do so.
 */
static int record_at(const struct native_walk *w, const struct hwt_abi_event **e,
		     const uint8_t *p, size_t left, const uint8_t **rec)
{
	struct hwt_rec h;
	size_t size, end;
	int rc;

	*rec = p;
	if (!w->ctx)
		return hwt_abi_record(e, p, left);
	if (left < sizeof(h))
		return -HWT_E_MORE;
	memcpy(&h, p, sizeof(h));
	if (h.size < sizeof(h) + w->ctx || h.size % 8)
		return -HWT_E_FORMAT;
	if (h.size > left)
		return -HWT_E_MORE;
	size = h.size - w->ctx;
	h.size = (uint16_t)size;
	memcpy(w->copy, &h, sizeof(h));
	memcpy(w->copy + sizeof(h), p + sizeof(h) + w->ctx, size - sizeof(h));
	*rec = w->copy;
	rc = hwt_abi_record(e, w->copy, size);
	if (rc < 0)
		return rc;
	end = w->own->ctx_size ? native_fields_end(w->own, *e, w->copy) : 0;
	if (end && end <= size) {
		memmove(w->copy + end + w->ctx, w->copy + end, size - end);
		memcpy(w->copy + end, p + sizeof(h), w->ctx);
		h.size = (uint16_t)(size + w->ctx);
		memcpy(w->copy, &h, sizeof(h));
	}
	return (int)(size + w->ctx);
}

static void note(const struct native_walk *w, struct notes *ns, unsigned severity, unsigned id,
		 uint64_t off, const char *what, uint64_t n)
{
	if (!w->quiet)
		notes_add(ns, severity, id, w->f->path, off, "%s: %" PRIu64, what, n);
}

/* The next place after @from where a packet can begin, or the end of the file. */
static uint64_t next_magic(const struct native_walk *w, uint64_t from)
{
	const struct file *f = w->f;

	for (from = (from + 7) & ~7ull; from + HEAD <= f->size; from += 8)
		if (native_load32(f->p + from) == HWT_PACKET_MAGIC)
			return from;
	return f->size;
}

static uint32_t context_size(const struct hwt_ctf_packet *h)
{
	return (h->flags & HWT_PACKET_CONTEXT) >> 16 << 3;
}

static size_t head_size(const struct hwt_ctf_packet *h)
{
	return h->flags & HWT_PACKET_PRODUCED ? sizeof(*h) : HEAD;
}

/* The checksum counts its own field as zero. */
static uint32_t content_crc(const uint8_t *p, size_t n)
{
	static const uint8_t zero[4];
	const size_t at = offsetof(struct hwt_ctf_packet, crc);
	uint32_t crc = crc32c_add(0, p, at);

	crc = crc32c_add(crc, zero, sizeof(zero));
	return crc32c_add(crc, p + at + 4, n - at - 4);
}

/* What the header promises can be, and the bytes are those that were written. NULL: yes. */
static const char *damage(struct native_walk *w, const struct hwt_ctf_packet *h)
{
	uint64_t left = w->f->size - w->pos, content = h->content_size / 8;
	size_t head = head_size(h);

	if (h->packet_size % 64 || h->content_size % 64 || h->packet_size / 8 < head ||
	    h->content_size > h->packet_size || (h->content_size && content < head))
		return "a packet has impossible sizes";
	if (h->cpu_id > INT32_MAX || (!w->first && h->cpu_id != (uint32_t)w->cpu))
		return "a packet is of another CPU";
	if (w->own->ctx_size && context_size(h) != w->own->ctx_size)
		return "a packet has other context fields than the metadata tells";
	if (!h->content_size || !(h->flags & HWT_PACKET_CRC) || content > left ||
	    content_crc(w->f->p + w->pos, (size_t)content) == h->crc)
		return NULL;
	w->spent += content;
	return "wrong checksum of a packet";
}

/* Drops that records of this packet tell, with their place, need not be told for the packet. */
static uint64_t told(const struct native_walk *w, const struct hwt_ctf_packet *h)
{
	uint64_t at = w->pos + head_size(h), n = 0, end = w->pos + h->content_size / 8;
	const struct hwt_abi_event *e;
	const uint8_t *rec;

	while (at < end && end <= w->f->size) {
		int size = record_at(w, &e, w->f->p + at, (size_t)(end - at), &rec);

		if (size <= 0)
			break;
		if (e && e->id == HWT_ID_stream_lost) {
			uint64_t count = native_u64(rec, stream_lost, count);

			n += count == UINT64_MAX ? 1 : count;	/* not known: at least one */
		}
		at += (uint64_t)size;
	}
	return n;
}

/* Records in packets that are missing before this one; 0: none, or nobody knows. */
static uint64_t missing(const struct native_walk *w, const struct hwt_ctf_packet *h)
{
	uint64_t lost = h->events_discarded - w->discarded;
	uint64_t all = h->produced - w->produced;

	/* both headers say how many there were, less what is here and what is told as lost */
	if (!(h->flags & HWT_PACKET_PRODUCED) || (!w->first && !w->counted) ||
	    h->produced < w->produced || h->events_discarded < w->discarded || lost > all ||
	    h->events > all - lost)
		return 0;
	return all - lost - h->events;
}

static void lose(struct native_walk *w, uint64_t n, uint32_t cause)
{
	if (!w->lost) {
		w->nlost = n;
		w->cause = cause;
	} else {
		w->nlost = n == UINT64_MAX || w->nlost > UINT64_MAX - n ? UINT64_MAX :
			w->nlost + n;
		if (w->cause != cause)
			w->cause = HWT_lost_cause_other;
	}
	w->lost = true;
}

/* Records were dropped by the kernel, or packets are not there. */
static void account(struct native_walk *w, const struct hwt_ctf_packet *h, struct notes *ns)
{
	uint64_t n = missing(w, h), dropped = 0, here;

	if (!w->first && h->packet_seq_num != w->seq + 1) {
		/* what was there is in the past then: its records are left out */
		note(w, ns, HWT_NOTE_WARN, E_NAT_KERNEL, w->pos, h->packet_seq_num <= w->seq ?
		     "a packet is there twice, or behind later ones: packet" :
		     "packets are missing before packet", h->packet_seq_num);
		/* unless the file is damaged, nobody came to read them in time */
		lose(w, n ? n : UINT64_MAX, w->lost || h->packet_seq_num <= w->seq ?
		     HWT_lost_cause_other : HWT_lost_cause_overwritten);
	} else if (w->first && h->packet_seq_num) {
		note(w, ns, HWT_NOTE_WARN, E_NAT_KERNEL, w->pos, "the stream begins with packet",
		     h->packet_seq_num);
	}
	if (n && h->packet_seq_num > (w->first ? 0 : w->seq))
		note(w, ns, HWT_NOTE_WARN, E_NAT_KERNEL, w->pos, "records in packets that are "
		     "missing before this one", n);
	if (!w->first && h->packet_seq_num > w->seq && h->events_discarded < w->discarded)
		note(w, ns, HWT_NOTE_WARN, E_NAT_KERNEL, w->pos, "fewer records are told to be "
		     "lost up to here than before, so how many is not known: packet",
		     h->packet_seq_num);
	if (h->events_discarded > w->discarded)
		dropped = h->events_discarded - w->discarded;
	here = dropped ? told(w, h) : 0;
	if (dropped > here) {
		note(w, ns, HWT_NOTE_WARN, E_NAT_LOST, w->pos, "records lost up to the end of "
		     "this packet", dropped - here);
		lose(w, dropped - here, HWT_lost_cause_other);
	}
	if (w->first || h->packet_seq_num > w->seq)
		w->seq = h->packet_seq_num;
	w->discarded = h->events_discarded;
	w->counted = h->flags & HWT_PACKET_PRODUCED;
	w->produced = w->counted ? h->produced : 0;
	w->cpu = (int32_t)h->cpu_id;
	w->first = false;
}

/* 1: a packet is open; 0: the file is at its end. */
static int open_packet(struct native_walk *w, struct notes *ns)
{
	struct hwt_ctf_packet h;
	uint64_t left, size;
	const char *why;

	file_done_before(w->f, 0, w->pos, &w->told);
	for (;;) {
		left = w->f->size - w->pos;
		if (!left)
			return 0;
		memset(&h, 0, sizeof(h));
		memcpy(&h, w->f->p + w->pos, left < sizeof(h) ? (size_t)left : sizeof(h));
		if (left < HEAD || (h.magic == HWT_PACKET_MAGIC && left < head_size(&h))) {
			note(w, ns, HWT_NOTE_CUT, E_NAT_KERNEL, w->pos,
			     "the file ends in the header of a packet, bytes", left);
			w->pos = w->f->size;
			return 0;
		}
		if (h.magic == __builtin_bswap32(HWT_PACKET_MAGIC) && w->first) {
			note(w, ns, HWT_NOTE_WARN, E_NAT_KERNEL, w->pos,
			     "records of the other byte order are not read, bytes", left);
			w->pos = w->f->size;
			return 0;
		}
		why = h.magic == HWT_PACKET_MAGIC ? damage(w, &h) : "no packet begins here";
		if (!why)
			break;
		/* made so that one look costs the whole file, again and again */
		size = w->spent / WRONG_MAX > w->f->size ? left :
			next_magic(w, w->pos + 8) - w->pos;
		note(w, ns, HWT_NOTE_WARN, E_NAT_KERNEL, w->pos, why, size);
		lose(w, UINT64_MAX, HWT_lost_cause_other);
		w->pos += size;
	}
	w->ctx = context_size(&h);
	account(w, &h, ns);
	size = h.content_size ? h.content_size / 8 : h.packet_size / 8;
	w->unclosed = !h.content_size;
	if (size > left) {
		note(w, ns, HWT_NOTE_CUT, E_NAT_KERNEL, w->f->size,
		     "the file ends in a packet, missing bytes", size - left);
		size = left;
		w->unclosed = true;
	}
	w->rec = w->pos + head_size(&h);
	w->end = w->pos + size;
	w->pos = h.packet_size / 8 < left ? w->pos + h.packet_size / 8 : w->f->size;
	return 1;
}

int native_next(struct native_walk *w, struct native_rec *r, struct notes *ns)
{
	w->lost = false;
	for (;;) {
		uint64_t left = w->end - w->rec;
		const uint8_t *p, *rec;
		struct hwt_rec h;
		int n;

		if (!left) {
			if (!open_packet(w, ns))
				return 0;
			continue;
		}
		p = w->f->p + w->rec;
		n = record_at(w, &r->e, p, (size_t)left, &rec);
		/* time that goes back is no record of this stream */
		if (n > 0 && native_load64(p) >= w->last) {
			memcpy(&h, rec, sizeof(h));
			*r = (struct native_rec){ rec, rec != p, h.size, w->rec, r->e };
			w->last = native_load64(p);
			w->rec += (uint64_t)n;
			return 1;
		}
		if (!w->unclosed) {
			note(w, ns, HWT_NOTE_WARN, E_NAT_KERNEL, w->rec, n > 0 ?
			     "a record is before the one that was written ahead of it (or the "
			     "counter was set), bytes left out" :
			     "a record that can not be, bytes left out", left);
			lose(w, UINT64_MAX, HWT_lost_cause_other);
		}
		w->rec = w->end;
	}
}
