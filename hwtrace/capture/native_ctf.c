/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel/ and dirty/: CTF 1.8 traces, one stream file of packets for each CPU (hwtrace/uapi.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../base/crc.h"
#include "native_priv.h"

#define PACKET 65536		/* bytes of a packet in memory */
#define SIDE (1ull << 32)	/* key of a CPU's second file */

struct native_cpu {
	struct native_out out;
	uint8_t *packet;	/* PACKET bytes, records behind the header */
	size_t fill;
	uint64_t first, last;	/* times of records in it; @last also after it went out */
	uint64_t seq, discarded, stored;
	uint32_t events;
	int32_t cpu;
	bool foreign;		/* its packets are made by others */
};

static const char *folder(const struct native_ctf *t)
{
	return t->sub == SUB_DIRTY ? "dirty" : "kernel";
}

static int put_packet(struct native_writer *w, const struct native_ctf *t, struct native_cpu *c)
{
	struct hwt_ctf_packet h = {
		.magic = HWT_PACKET_MAGIC, .timestamp_begin = c->first, .timestamp_end = c->last,
		.content_size = c->fill * 8, .packet_size = c->fill * 8,
		.events_discarded = c->discarded, .packet_seq_num = c->seq,
		.cpu_id = (uint32_t)c->cpu, .flags = HWT_PACKET_CRC | HWT_PACKET_PRODUCED,
		.events = c->events, .produced = c->stored + c->events + c->discarded,
	};
	size_t n = c->fill;

	if (!c->events)
		return native_failed(w);
	memcpy(h.uuid, t->uuid, sizeof(h.uuid));
	memcpy(c->packet, &h, sizeof(h));
	h.crc = crc32c_add(0, c->packet, n);
	memcpy(c->packet, &h, sizeof(h));
	c->seq++;
	c->stored += c->events;
	c->events = 0;
	c->fill = sizeof(h);
	return native_write(w, &c->out, c->packet, n);
}

static struct native_cpu *make_cpu(struct native_writer *w, struct native_ctf *t, int32_t cpu,
				   uint64_t side)
{
	struct native_cpu **v = realloc(t->cpus, (t->ncpus + 1) * sizeof(*v)), *c;
	char name[32];

	if (v)
		t->cpus = v;
	c = v ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		native_fail(w, -ENOMEM, folder(t), "");
		return NULL;
	}
	t->cpus[t->ncpus++] = c;
	c->cpu = cpu;
	c->out.fd = -1;
	c->fill = sizeof(struct hwt_ctf_packet);
	c->packet = malloc(PACKET);
	if (!c->packet || idmap_set(&t->cpu_of, side | (uint32_t)cpu,
				    (uint32_t)t->ncpus - 1)) {
		native_fail(w, -ENOMEM, folder(t), "");
		return NULL;
	}
	snprintf(name, sizeof(name), "cpu%" PRId32 "%s", cpu, side ? "-trace" : "");
	return native_open(w, &c->out, t->sub, name) ? NULL : c;
}

/* Where counter 0 lies after 1970, in seconds and ticks; CTF has no other way to say it. */
static void set_offset(const struct native_writer *w, struct hwt_abi_trace *t)
{
	const struct native_clock *k = &w->clock;
	uint64_t f = k->frequency;
	int64_t ns = (int64_t)(k->map.zero + (uint64_t)k->wall), rest;

	if (!k->wall || !k->map.mult || !f)
		return;
	rest = ns % 1000000000;
	t->offset_s = ns / 1000000000 - (rest < 0);
	rest += rest < 0 ? 1000000000 : 0;
	t->offset = (uint64_t)((unsigned __int128)rest * f / 1000000000);
	t->absolute = 1;
}

/* An identifier of TSDL; NULL: the counter's name is none. */
static const char *clock_name(const struct native_ctf *t)
{
	size_t n = strspn(t->counter, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return n && !t->counter[n] && (t->counter[0] > '9') ? t->counter : NULL;
}

int native_describe(struct native_writer *w, struct native_ctf *k)
{
	struct hwt_abi_trace t = { .clock = clock_name(k), .freq = k->frequency,
		.contexts = k->contexts, .own = k->own, .nown = k->nown,
		.label = w->label[0] ? w->label : NULL, .host = w->host[0] ? w->host : NULL };
	struct native_out o = { .fd = -1 };
	size_t n;
	char *text;

	if (k->described)
		return native_failed(w);
	k->described = true;
	if (!k->have_uuid && getrandom(k->uuid, sizeof(k->uuid), 0) != sizeof(k->uuid))
		return native_fail(w, -errno, folder(k), "no random number for the trace");
	memcpy(t.uuid, k->uuid, sizeof(t.uuid));
	if (k == &w->kernel)
		set_offset(w, &t);
	n = hwt_abi_metadata(NULL, 0, &t);
	text = malloc(n + 1);
	if (!text)
		return native_fail(w, -ENOMEM, folder(k), "");
	hwt_abi_metadata(text, n + 1, &t);
	if (!native_open(w, &o, k->sub, "metadata"))
		native_write(w, &o, text, n);
	k->metadata = o.size;
	native_shut(&o);
	free(text);
	return native_failed(w);
}

static int put_event(struct native_writer *w, struct native_ctf *t, int32_t cpu, uint64_t side,
		     const void *rec, size_t n)
{
	uint32_t i = idmap_get(&t->cpu_of, side | (uint32_t)cpu);
	struct native_cpu *c = i == IDMAP_NONE ? NULL : t->cpus[i];
	struct hwt_rec_stream_lost lost;
	struct hwt_rec r;

	if (native_failed(w))
		return native_failed(w);
	if (n < sizeof(r) || n > PACKET - sizeof(struct hwt_ctf_packet) || n % 8 || cpu < 0 ||
	    (!c && t->ncpus >= NATIVE_MAX_CPUS) || (c && c->foreign))
		return -EINVAL;
	memcpy(&r, rec, sizeof(r));
	if (r.size != n || !r.id || (c && r.time < c->last))
		return -EINVAL;
	if (native_describe(w, t))
		return native_failed(w);
	if (!c)
		c = make_cpu(w, t, cpu, side);
	if (!c)
		return native_failed(w);
	if (c->fill + n > PACKET)
		put_packet(w, t, c);
	if (r.id == HWT_ID_stream_lost && n >= sizeof(lost)) {
		memcpy(&lost, rec, sizeof(lost));
		/* a number that is not known is at least one */
		c->discarded += lost.count == UINT64_MAX ? 1 : lost.count;
	}
	if (!c->events++)
		c->first = r.time;
	c->last = r.time;
	memcpy(c->packet + c->fill, rec, n);
	c->fill += n;
	/* readings of a clock that only dirty/ has are no events of the capture */
	w->records += t == &w->kernel || r.id != HWT_ID_clock_sync;
	w->readings += t == &w->kernel && r.id == HWT_ID_clock_sync;
	return native_failed(w);
}

int native_event(struct native_writer *w, int32_t cpu, const void *rec, size_t n)
{
	return put_event(w, &w->kernel, cpu, 0, rec, n);
}

int native_side(struct native_writer *w, int32_t cpu, const void *rec, size_t n)
{
	return put_event(w, &w->kernel, cpu, SIDE, rec, n);
}

int native_dirty(struct native_writer *w, const char *counter, uint64_t frequency,
		 const struct hwt_abi_own *events, unsigned n)
{
	struct native_ctf *t = &w->dirty;
	int rc;

	if (t->described || w->disk)
		return -EINVAL;
	rc = native_open_sub(w, SUB_DIRTY);
	if (rc)
		return native_fail(w, rc, folder(t), "can not make the folder");
	snprintf(t->counter, sizeof(t->counter), "%.32s", counter);
	t->frequency = frequency;
	t->own = events;
	t->nown = n;
	return native_describe(w, t);
}

int native_dirty_event(struct native_writer *w, int32_t cpu, const void *rec, size_t n)
{
	return w->dirty.described ? put_event(w, &w->dirty, cpu, 0, rec, n) : -EINVAL;
}

int native_uuid(struct native_writer *w, uint8_t uuid[16])
{
	int rc = native_describe(w, &w->kernel);

	if (!rc)
		memcpy(uuid, w->kernel.uuid, sizeof(w->kernel.uuid));
	return rc;
}

void native_own(struct native_writer *w, uint32_t contexts, const struct hwt_abi_own *events,
		unsigned n)
{
	w->kernel.contexts = contexts;
	w->kernel.own = events;
	w->kernel.nown = n;
}

int native_take_uuid(struct native_writer *w, const uint8_t uuid[16])
{
	if (w->kernel.described)
		return -EINVAL;
	memcpy(w->kernel.uuid, uuid, sizeof(w->kernel.uuid));
	w->kernel.have_uuid = true;
	return native_describe(w, &w->kernel);
}

int native_packet(struct native_writer *w, void *packet, size_t n)
{
	struct native_ctf *t = &w->kernel;
	struct hwt_ctf_packet h;
	struct native_cpu *c;
	uint32_t i;

	if (native_failed(w))
		return native_failed(w);
	if (n < sizeof(h) || n > UINT32_MAX || n % 8)
		return -EINVAL;
	memcpy(&h, packet, sizeof(h));
	if (h.magic != HWT_PACKET_MAGIC || h.content_size != n * 8 || h.packet_size != n * 8 ||
	    memcmp(h.uuid, t->uuid, sizeof(h.uuid)) || h.cpu_id > INT32_MAX || !t->described)
		return -EINVAL;
	i = idmap_get(&t->cpu_of, h.cpu_id);
	c = i == IDMAP_NONE ? NULL : t->cpus[i];
	if (c ? !c->foreign : t->ncpus >= NATIVE_MAX_CPUS)
		return -EINVAL;
	if (!c)
		c = make_cpu(w, t, (int32_t)h.cpu_id, 0);
	if (!c)
		return native_failed(w);
	c->foreign = true;
	w->records += h.events;
	h.flags |= HWT_PACKET_CRC;
	h.crc = 0;
	memcpy(packet, &h, sizeof(h));
	h.crc = crc32c_add(0, packet, n);
	memcpy(packet, &h, sizeof(h));
	return native_write(w, &c->out, packet, n);
}

int native_flush_cpus(struct native_writer *w)
{
	struct native_ctf *v[] = { &w->kernel, &w->dirty };

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < v[k]->ncpus; i++)
			put_packet(w, v[k], v[k]->cpus[i]);
	return native_failed(w);
}

int native_end_cpus(struct native_writer *w)
{
	struct native_ctf *v[] = { &w->kernel, &w->dirty };

	for (unsigned k = 0; k < 2; k++) {
		if (v[k]->metadata)
			native_set(w, "end", "file", "%" PRIu64 " %s/metadata", v[k]->metadata,
				   folder(v[k]));
		for (size_t i = 0; i < v[k]->ncpus; i++)
			native_end_file(w, &v[k]->cpus[i]->out);
	}
	return native_failed(w);
}

static void free_ctf(struct native_ctf *t)
{
	for (size_t i = 0; i < t->ncpus; i++) {
		native_shut(&t->cpus[i]->out);
		free(t->cpus[i]->packet);
		free(t->cpus[i]);
	}
	free(t->cpus);
	idmap_free(&t->cpu_of);
}

void native_free_cpus(struct native_writer *w)
{
	free_ctf(&w->kernel);
	free_ctf(&w->dirty);
}
