/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mkevents DIR SEED EVENTS: a CTF trace in DIR (which must exist) with random records of all events
 * in two streams, and on standard output what babeltrace2 --clock-cycles --no-delta should print.
 * The structs of uapi.h are filled by their members; of the library only the metadata is used, so
 * names, offsets and types there are proven by another reader.
 */
#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS		2
#define PACKET_BYTES	65536
#define FREQ		2445434000u

static const uint8_t uuid[16] = { 0x68, 0x77, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };
static uint64_t seed;

static uint64_t rnd(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed ^ seed >> 29;
}

/* Small, large and extreme numbers. */
static uint64_t number(void)
{
	uint64_t v = rnd();

	switch (v >> 61) {
	case 0: return 0;
	case 1: return UINT64_MAX;
	case 2: return UINT64_C(1) << 63 | UINT64_C(1) << 31;
	case 3: return v & 0xff;
	default: return v;
	}
}

struct maker {
	FILE *out;
	const char *sep;
	char text[HWT_TEXT_MAX];	/* of the event, "" if none */
	const char *text_name;
	uint32_t text_size;		/* bytes in the record */
};

/* @n of them, "-" for none */
static void letters(char *p, size_t n)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyz/._-:0123456789 {}=,[]";

	if (!n)
		*p = '-';
	for (; n; n--)
		*p++ = set[rnd() % (sizeof(set) - 1)];
}

static void put(struct maker *m, const char *name)
{
	fprintf(m->out, "%s%s = ", m->sep, name);
	m->sep = ", ";
}

static void put_bytes(struct maker *m, uint8_t *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		p[i] = (uint8_t)rnd();
		fprintf(m->out, "%s[%u] = %u", i ? ", " : "[ ", i, p[i]);
	}
	fprintf(m->out, " ]");
}

static uint32_t make_text(struct maker *m, const char *name)
{
	/* 7, 8, 9, 4095 are the lengths around which sizes change; 0 is "-" */
	static const uint16_t lens[] = { 0, 2, 7, 8, 9, 100, HWT_TEXT_MAX - 1 };
	size_t n = lens[rnd() % (sizeof(lens) / sizeof(lens[0]))];

	memset(m->text, 0, sizeof(m->text));
	letters(m->text, n);
	m->text_name = name;
	m->text_size = (uint32_t)(n / 8 + 1) * 8;
	return m->text_size;
}

#define FILL_u32(n)	r->n = (uint32_t)number(); put(m, #n); fprintf(m->out, "%" PRIu32, r->n);
#define FILL_u64(n)	r->n = number(); put(m, #n); fprintf(m->out, "%" PRIu64, (uint64_t)r->n);
#define FILL_x32(n)	r->n = (uint32_t)number(); put(m, #n); \
			fprintf(m->out, "0x%" PRIX32, r->n);
#define FILL_x64(n)	r->n = number(); put(m, #n); fprintf(m->out, "0x%" PRIX64, (uint64_t)r->n);
#define FILL_s32(n)	r->n = (int32_t)number(); put(m, #n); fprintf(m->out, "%" PRId32, r->n);
#define FILL_s64(n)	r->n = (int64_t)number(); put(m, #n); \
			fprintf(m->out, "%" PRId64, (int64_t)r->n);
#define FILL_pid(n)	FILL_s32(n)
#define FILL_name16(n)	letters(r->n, rnd() % 16); put(m, #n); fprintf(m->out, "\"%s\"", r->n);
#define FILL_code16(n)	put(m, #n); put_bytes(m, r->n, 16);
#define FILL_id24(n)	put(m, #n); put_bytes(m, r->n, 24);
#define FILL_text(n)	r->n##_size = make_text(m, #n); put(m, #n "_size"); \
			fprintf(m->out, "%" PRIu32, r->n##_size);

#define HWT_EVENT(sec, nm, number, since, stamp, order, often) \
static size_t make_##sec##_##nm(struct maker *m, void *p) \
{ \
	struct hwt_rec_##sec##_##nm *r = p;
#define HWT_F(type, name, unit, since, text) FILL_##type(name)
#define HWT_EVENT_END \
	return sizeof(*r); \
}
#include <hwtrace/events.def>

#define HWT_EVENT(sec, nm, number, since, stamp, order, often) \
	{ HWT_ID_##sec##_##nm, #sec "." #nm, make_##sec##_##nm },
static const struct {
	uint16_t id;
	const char *name;
	size_t (*make)(struct maker *m, void *p);
} kinds[] = {
#include <hwtrace/events.def>
};

#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

struct stream {
	FILE *f;
	union {
		struct hwt_ctf_packet head;
		uint8_t bytes[PACKET_BYTES];
	} u;
	size_t at;
	uint64_t seq, hits[NKINDS], lost, stored;
	uint32_t events;
};

static void close_packet(struct stream *s, unsigned cpu, uint64_t now)
{
	struct hwt_ctf_packet *h = &s->u.head;

	h->magic = HWT_PACKET_MAGIC;
	memcpy(h->uuid, uuid, sizeof(uuid));
	h->timestamp_end = now;
	h->content_size = s->at * 8;
	h->packet_size = PACKET_BYTES * 8;
	h->events_discarded = s->lost;
	h->packet_seq_num = s->seq++;
	h->cpu_id = cpu;
	h->flags = HWT_PACKET_PRODUCED;
	h->events = s->events;
	h->produced = s->stored += s->events;
	h->produced += s->lost;
	s->events = 0;
	fwrite(&s->u, PACKET_BYTES, 1, s->f);
	memset(&s->u, 0, sizeof(s->u));
	s->at = sizeof(*h);
	s->u.head.timestamp_begin = now;
}

static void event(struct stream *s, unsigned cpu, unsigned k, uint64_t now)
{
	struct maker m = { NULL, "", "", NULL, 0 };
	struct hwt_rec *h = (void *)(s->u.bytes + s->at);
	size_t fixed, len;
	char *fields;

	if (s->at + 512 + HWT_TEXT_MAX > PACKET_BYTES) {
		close_packet(s, cpu, now - 1);
		h = (void *)(s->u.bytes + s->at);
	}
	h->time = now;
	h->id = kinds[k].id;
	h->version = HWT_ABI_VERSION;
	h->flags = (uint16_t)(rnd() & 0x1ff);
	h->hit = ++s->hits[k];
	h->pid = (int32_t)number();
	h->tid = (int32_t)number();
	m.out = open_memstream(&fields, &len);
	if (!m.out)
		exit(1);
	fixed = kinds[k].make(&m, h);
	fclose(m.out);
	h->size = (uint16_t)(fixed + m.text_size);
	printf("[%020" PRIu64 "] %s: { cpu_id = %u }, { size = %u, version = %u, flags = %u, hit = "
	       "%" PRIu64 ", pid = %d, tid = %d }, { %s", now, kinds[k].name, cpu, h->size,
	       h->version, h->flags, (uint64_t)h->hit, h->pid, h->tid, fields);
	free(fields);
	memcpy((char *)h + fixed, m.text, m.text_size);
	if (m.text_name)
		printf(", %s = \"%s\"", m.text_name, m.text);
	printf(" }\n");
	s->at += h->size;
	s->events++;
}

static int metadata(const char *dir)
{
	static char text[65536];
	struct hwt_abi_trace t = { .freq = FREQ, .precision = 2, .offset_s = 1700000000,
				   .offset = 12345, .absolute = 1, .label = "a \"model\"" };
	char path[4096];
	size_t n;
	FILE *f;

	memcpy(t.uuid, uuid, sizeof(uuid));
	n = hwt_abi_metadata(text, sizeof(text), &t);
	snprintf(path, sizeof(path), "%s/metadata", dir);
	f = n < sizeof(text) ? fopen(path, "w") : NULL;
	if (!f || fwrite(text, n, 1, f) != 1)
		return -1;
	return fclose(f);
}

int main(int argc, char **argv)
{
	static struct stream s[CPUS];
	uint64_t now = 1000;

	if (argc != 4 || metadata(argv[1])) {
		fprintf(stderr, "usage: mkevents DIR SEED EVENTS\n");
		return 2;
	}
	seed = strtoull(argv[2], NULL, 0);
	for (unsigned c = 0; c < CPUS; c++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/cpu%u", argv[1], c);
		s[c].f = fopen(path, "w");
		if (!s[c].f)
			return 1;
		s[c].at = sizeof(struct hwt_ctf_packet);
		s[c].u.head.timestamp_begin = now;
	}
	/* each event at least once, then by chance */
	for (unsigned long i = 0, n = strtoul(argv[3], NULL, 0); i < n; i++) {
		unsigned cpu = rnd() % CPUS;

		now += 2 + rnd() % 100000;
		event(&s[cpu], cpu, (unsigned)(i < NKINDS ? i : rnd() % NKINDS), now);
	}
	for (unsigned c = 0; c < CPUS; c++) {
		s[c].lost = 7 + c;
		close_packet(&s[c], c, now);
		if (fclose(s[c].f))
			return 1;
	}
	return fflush(stdout) ? 1 : 0;
}
