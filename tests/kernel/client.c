/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <hwtrace/abi.h>

#include "client.h"

#define BUF	(4u << 20)

static unsigned failed;

void client_fail(const char *fmt, ...)
{
	va_list ap;

	if (failed++ > 20)
		return;
	va_start(ap, fmt);
	printf("FAIL ");
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
	va_end(ap);
}

unsigned client_failed(void)
{
	return failed;
}

unsigned client_events(int fd, uint16_t *ids, unsigned max, bool user)
{
	struct hwt_kmod_event e;
	unsigned n = 0;

	for (unsigned i = 0; n < max; i++) {
		e = (struct hwt_kmod_event){ .size = sizeof(e), .index = i };
		if (ioctl(fd, HWT_KMOD_EVENT, &e))
			break;
		if (e.flags & HWT_KMOD_EV_HERE && (!user || e.flags & HWT_KMOD_EV_USER))
			ids[n++] = (uint16_t)e.id;
	}
	return n;
}

int client_open(struct client *c, const struct client_opts *o)
{
	struct hwt_kmod_want want[256] = { 0 };
	struct hwt_kmod_session s = { .size = sizeof(s), .sub_size = o->sub_size, .subs = o->subs,
		.flags = o->overwrite ? HWT_KMOD_OVERWRITE : 0, .wants = (uintptr_t)want,
		.nwants = o->nids, .pid = o->pid, .contexts = o->contexts,
		.counter_type = o->counter_type, .counter_config = o->counter_config,
		.probes = (uintptr_t)o->probes, .nprobes = o->nprobes };

	for (unsigned i = 0; o->ids && i < o->nids && i < 256; i++)
		want[i].id = o->ids[i];
	want[0].filter = (uintptr_t)o->filter;
	want[0].nfilter = (uint16_t)o->nfilter;
	if (o->wants)
		s.wants = (uintptr_t)o->wants;
	memset(c, 0, sizeof(*c));
	c->sub_size = o->sub_size;
	c->overwrite = o->overwrite;
	c->dir = o->dir;
	c->context = o->context;
	for (int i = 0; i < CLIENT_CPUS; i++)
		c->cpu[i].out = -1;
	c->fd = open(HWT_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	if (c->fd < 0)
		return -errno;
	if (getrandom(s.uuid, sizeof(s.uuid), 0) != sizeof(s.uuid))
		return -EIO;
	memcpy(c->uuid, s.uuid, sizeof(c->uuid));
	if (ioctl(c->fd, HWT_KMOD_OPEN, &s))
		return -errno;
	c->ring_size = o->sub_size * o->subs;
	for (int i = 0; o->mapped && i < CLIENT_CPUS; i++) {
		void *p = mmap(NULL, c->ring_size, PROT_READ, MAP_SHARED, c->fd,
			       (off_t)c->ring_size * i);

		if (p != MAP_FAILED)
			c->map[i] = p;
	}
	return o->mapped && !c->map[0] ? -EIO : 0;
}

int client_start(struct client *c)
{
	return ioctl(c->fd, HWT_KMOD_START) ? -errno : 0;
}

static void keep(struct client *c, unsigned cpu, const void *p, size_t n)
{
	struct client_cpu *u = &c->cpu[cpu];
	char name[256];

	if (!c->dir)
		return;
	if (u->out < 0) {
		snprintf(name, sizeof(name), "%s/cpu%u", c->dir, cpu);
		u->out = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	}
	if (write(u->out, p, n) != (ssize_t)n)
		client_fail("writing a stream file: %s", strerror(errno));
}

/* The record without context, which lies behind the header. */
static const struct hwt_rec *strip(struct client *c, const struct hwt_rec *r)
{
	static uint64_t copy[8192];
	struct hwt_rec *to = (void *)copy;

	if (!c->context)
		return r;
	if (r->size < sizeof(*r) + c->context) {
		client_fail("a record of %u bytes has no room for context", r->size);
		return r;
	}
	c->at = (const uint8_t *)(r + 1);
	memcpy(to, r, sizeof(*r));
	memcpy(to + 1, c->at + c->context, r->size - sizeof(*r) - c->context);
	to->size = (uint16_t)(r->size - c->context);
	return to;
}

static void look_at_record(struct client *c, unsigned cpu, const struct hwt_rec *r)
{
	struct client_cpu *u = &c->cpu[cpu];
	const struct hwt_abi_event *e;
	int rc;

	r = strip(c, r);
	rc = hwt_abi_record(&e, r, r->size);
	if (rc < 0 || (!e && r->id < HWT_ID_DIRTY))
		client_fail("cpu %u: a record of id %u, size %u: %d", cpu, r->id, r->size, rc);
	if (r->time < u->time)
		client_fail("cpu %u: %" PRIu64 " after %" PRIu64 " (id %u)", cpu,
			    (uint64_t)r->time, u->time, r->id);
	u->time = r->time;
	u->records++;
	if (r->id == HWT_ID_stream_lost)
		u->told += ((const struct hwt_rec_stream_lost *)r)->count;
	if (r->id >= HWT_ID_DIRTY)
		c->own[r->id % HWT_KMOD_PROBES]++;
	else
		c->of_id[r->id & 0xfff]++;
	if (c->record)
		c->record(c->arg, cpu, r);
}

/* Returns the bytes of the packet. */
static size_t look_at_packet(struct client *c, const uint8_t *p, size_t n)
{
	struct hwt_ctf_packet h;
	struct client_cpu *u;
	uint64_t before, first;
	size_t size, off = sizeof(h);

	if (n < sizeof(h)) {
		client_fail("half a packet header");
		return n;
	}
	memcpy(&h, p, sizeof(h));
	size = h.content_size / 8;
	if (h.flags >> 16 != c->context / 8)
		client_fail("a packet with flags %x", h.flags);
	if (h.magic != HWT_PACKET_MAGIC || memcmp(h.uuid, c->uuid, 16) || h.cpu_id >= CLIENT_CPUS ||
	    h.packet_size != (c->map[0] ? 8ull * c->sub_size : h.content_size) ||
	    size < off || size > n || size > c->sub_size) {
		client_fail("a packet header: magic %x cpu %u size %" PRIu64, h.magic, h.cpu_id,
			    (uint64_t)h.content_size);
		return n;
	}
	u = &c->cpu[h.cpu_id];
	if (h.packet_seq_num < u->packets || (h.packet_seq_num > u->packets && !c->overwrite))
		client_fail("cpu %u: packet %" PRIu64 " after %" PRIu64 " packets", h.cpu_id,
			    (uint64_t)h.packet_seq_num, u->packets);
	u->packets = h.packet_seq_num + 1;
	keep(c, h.cpu_id, p, size);
	before = u->records;
	first = u->told;
	while (off < size) {
		const struct hwt_rec *r = (const void *)(p + off);

		if (size - off < sizeof(*r) || r->size < sizeof(*r) || r->size > size - off) {
			client_fail("cpu %u: a record that is cut", h.cpu_id);
			break;
		}
		look_at_record(c, h.cpu_id, r);
		if (r->time < h.timestamp_begin || r->time > h.timestamp_end)
			client_fail("cpu %u: a record outside of its packet's time", h.cpu_id);
		off += r->size;
	}
	if (u->records - before != h.events)
		client_fail("cpu %u: %" PRIu64 " records, the packet says %u", h.cpu_id,
			    u->records - before, h.events);
	/* nothing is lost inside of packets here; so it is told by what begins the next one */
	if (!c->overwrite && u->told - first != h.events_discarded - u->lost)
		client_fail("cpu %u: records tell of %" PRIu64 " that are lost, the packet of %"
			    PRIu64, h.cpu_id, u->told - first,
			    (uint64_t)h.events_discarded - u->lost);
	u->lost = h.events_discarded;
	/* of those before, all that was not read was overwritten */
	u->missing = h.produced - h.events_discarded - u->records;
	if (h.produced < u->produced || (!c->overwrite && u->missing))
		client_fail("cpu %u: produced %" PRIu64 ", lost %" PRIu64 ", read %" PRIu64,
			    h.cpu_id, (uint64_t)h.produced, u->lost, u->records);
	u->produced = h.produced;
	return size;
}

/* What the kernel says of a packet is what its header says. */
static void look_at_place(const struct hwt_kmod_packet *p, const uint8_t *bytes)
{
	struct hwt_ctf_packet h;

	memcpy(&h, bytes, sizeof(h));
	if (h.content_size != 8ull * p->bytes || h.packet_seq_num != p->number ||
	    h.cpu_id != p->cpu || h.timestamp_begin != p->begin || h.timestamp_end != p->end ||
	    h.events_discarded != p->lost || h.produced != p->produced)
		client_fail("cpu %u: packet %" PRIu64 " is another one in the map", p->cpu,
			    (uint64_t)p->number);
}

/* Copied, as it may be overwritten meanwhile, and looked at if it was not. */
static ssize_t read_mapped(struct client *c, uint8_t *buf)
{
	ssize_t done = 0;

	for (unsigned cpu = 0; cpu < CLIENT_CPUS; cpu++) {
		struct hwt_kmod_packet p = { .size = sizeof(p), .cpu = cpu };

		while (c->map[cpu] && !ioctl(c->fd, HWT_KMOD_GET, &p)) {
			uint64_t at = p.offset - (uint64_t)c->ring_size * cpu;

			if (at >= c->ring_size || p.bytes > c->ring_size - at) {
				client_fail("cpu %u: a packet at %" PRIu64, cpu,
					    (uint64_t)p.offset);
				return done;
			}
			memcpy(buf, c->map[cpu] + at, p.bytes);
			if (ioctl(c->fd, HWT_KMOD_PUT, &p)) {
				if (errno != ESTALE || !c->overwrite)
					client_fail("put: %s", strerror(errno));
				c->stale++;
				continue;
			}
			look_at_place(&p, buf);
			done += (ssize_t)look_at_packet(c, buf, p.bytes);
		}
	}
	return done;
}

ssize_t client_read(struct client *c)
{
	static uint8_t *buf;
	ssize_t n;

	if (!buf)
		buf = malloc(BUF);
	if (c->map[0])
		return read_mapped(c, buf);
	n = read(c->fd, buf, BUF);
	if (n < 0)
		return -errno;
	for (size_t at = 0; at < (size_t)n;)
		at += look_at_packet(c, buf + at, (size_t)n - at);
	return n;
}

static void compare(struct client *c, unsigned cpu)
{
	struct client_cpu *u = &c->cpu[cpu];
	struct hwt_kmod_counts k = { .size = sizeof(k), .cpu = cpu };

	if (ioctl(c->fd, HWT_KMOD_COUNTS, &k))
		return;		/* no such CPU */
	if (k.produced != u->records + k.lost + k.overwritten || k.read != u->records ||
	    k.produced != u->produced || k.lost != u->lost || k.overwritten != u->missing)
		client_fail("cpu %u: produced %" PRIu64 " lost %" PRIu64 " overwritten %" PRIu64
			    " read %" PRIu64 "; packets: produced %" PRIu64 " lost %" PRIu64
			    " missing %" PRIu64 " records %" PRIu64, cpu, (uint64_t)k.produced,
			    (uint64_t)k.lost, (uint64_t)k.overwritten, (uint64_t)k.read,
			    u->produced, u->lost, u->missing, u->records);
}

void client_finish(struct client *c)
{
	ssize_t n;

	if (ioctl(c->fd, HWT_KMOD_STOP))
		client_fail("stop: %s", strerror(errno));
	do {
		n = client_read(c);
	} while (n > 0);
	if (n < 0)
		client_fail("read: %s", strerror((int)-n));
	for (unsigned i = 0; i < CLIENT_CPUS; i++) {
		compare(c, i);
		if (c->map[i])
			munmap((void *)c->map[i], c->ring_size);
		if (c->cpu[i].out >= 0)
			close(c->cpu[i].out);
	}
	close(c->fd);
}
