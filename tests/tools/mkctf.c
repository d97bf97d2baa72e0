/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mkctf DIR SEED EVENTS [be]: a CTF 1.8 trace with fields of all classes, in several streams of two
 * kinds, with lost events and packets; on standard output, what kevents should print of it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/rnd.h"

#define FREQ	2400000000u
#define OFF_S	1600000000u
#define OFF	777777u
#define DOUBT	5		/* ticks of the clock's precision: 3 ns, rounded up */
#define EARLY	3
#define LATE	(3 + 2)		/* each of two roundings of babeltrace2 takes less than 1 ns */
#define STREAMS	4
#define STEP	3		/* ticks: no two things happen in one ns */
#define PACKET	(64u << 10)	/* bytes */
#define UUID	"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"

static int be;			/* byte order of the trace */
static uint64_t now = 1000;	/* ticks; each use is another instant */

struct line { uint64_t time; uint64_t seq; char *s; };
static struct line *lines;
static size_t nlines;

static struct stream {
	FILE *f;
	int kind, cpu;
	uint8_t buf[PACKET];
	uint64_t at;		/* bits */
	uint64_t begin, last_end, last, seq, discarded, told;
	uint64_t ctx;		/* bit of the packet context */
	int open, events;
} streams[STREAMS];

static struct stream *cur;
static char text[1 << 16];
static size_t len;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(rnd() >> 32) % n;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static __attribute__((format(printf, 1, 2))) void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	len += (size_t)vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	va_end(ap);
}

static uint64_t ns(uint64_t ticks)
{
	return (uint64_t)OFF_S * 1000000000u + (uint64_t)OFF * 1000000000u / FREQ +
		(uint64_t)((unsigned __int128)ticks * 1000000000u / FREQ);
}

static void add_line(uint64_t time, const char *s)
{
	if (!(nlines & (nlines - 1)) &&
	    !(lines = realloc(lines, (nlines ? 2 * nlines : 1) * sizeof(*lines))))
		die("memory");
	lines[nlines] = (struct line){ time, nlines, strdup(s) };
	nlines++;
}

/* --- bits: CTF 1.8.3 section 4.1.5; in a little endian trace from the lowest bit on --- */

static void align(unsigned n)
{
	cur->at = (cur->at + n - 1) / n * n;
}

static void bits_as(unsigned n, uint64_t v, int big)
{
	for (unsigned i = 0; i < n; i++, cur->at++) {
		unsigned bit = big ? n - 1 - i : i;
		unsigned in = big ? 7 - cur->at % 8 : cur->at % 8;

		if (v >> bit & 1)
			cur->buf[cur->at / 8] |= (uint8_t)(1u << in);
	}
}

static void bits(unsigned n, uint64_t v)
{
	bits_as(n, v, be);
}

static void num(unsigned n, uint64_t v)
{
	align(8);
	bits(n, v);
}

static void chars(const char *s, size_t n)
{
	align(8);
	for (size_t i = 0; i < n; i++)
		bits(8, (uint8_t)s[i]);
}

static void patch(uint64_t at, uint64_t v)
{
	uint64_t was = cur->at;

	cur->at = at;
	memset(cur->buf + at / 8, 0, 8);
	bits(64, v);
	cur->at = was;
}

/* --- packets --- */

static void open_packet(struct stream *s)
{
	cur = s;
	memset(s->buf, 0, sizeof(s->buf));
	s->at = 0;
	s->open = 1;
	s->events = 0;
	s->begin = now += STEP;
	s->last = s->begin;
	num(32, 0xc1fc1fc1u);
	chars(UUID, 16);
	num(32, (uint64_t)s->kind);
	s->ctx = s->at;
	for (int i = 0; i < 6; i++)	/* begin, end, content, packet, discarded, number */
		num(64, 0);
	num(32, (uint64_t)s->cpu);
}

static void lost_line(struct stream *s, uint64_t from, uint64_t to, uint64_t n)
{
	char line[256], count[32] = "";
	uint64_t lo = ns(from) - EARLY, hi = ns(to) + LATE;

	if (n != UINT64_MAX)
		snprintf(count, sizeof(count), "count=%" PRIu64 " ", n);
	snprintf(line, sizeof(line), "%" PRIu64 "+%" PRIu64 " %d -1 -1 %d stream.lost: %s"
		 "cause=provider event=0", lo, hi - lo, s->seq || !from ? s->cpu : -1,
		 (int)(s - streams), count);
	add_line(lo, line);
}

/* Between the end of the packet before and that of this one, or its own begin for packets. */
static void close_packet(struct stream *s)
{
	uint64_t end = now += STEP;

	cur = s;
	if (!s->open)
		return;
	s->open = 0;
	patch(s->ctx, s->begin);
	patch(s->ctx + 64, end);
	patch(s->ctx + 128, s->at);
	patch(s->ctx + 192, (uint64_t)PACKET * 8);
	if (s->last_end && below(4) == 0)
		s->discarded += 1 + below(50);
	patch(s->ctx + 256, s->discarded);
	if (s->last_end && s->discarded != s->told)
		lost_line(s, s->last_end, end, s->discarded - s->told);
	patch(s->ctx + 320, s->seq);
	s->told = s->discarded;
	s->seq++;
	s->last_end = end;
	if (fwrite(s->buf, 1, PACKET, s->f) != PACKET)
		die("write");
}

/* --- events --- */

static void header(unsigned id)
{
	struct stream *s = cur;
	uint64_t t = now += STEP;

	if (!s->kind) {
		align(8);
		num(32, id);
		num(64, t);
	} else if (t - s->last < 1u << 27 && below(3)) {
		/* LTTng's compact header: 5 bits of id, 27 of time */
		align(8);
		bits(5, id);
		bits(27, t & ((1u << 27) - 1));
	} else {
		align(8);
		bits(5, 31);
		num(32, id);
		num(64, t);
	}
	s->last = t;
	s->events++;
}

static void word(char *s, size_t max)
{
	static const char some[] = "abcXYZ 019_.:;-+*\"\\/{}[]=,()|\t~";
	size_t n = below((uint32_t)max);

	for (size_t i = 0; i < n; i++)
		s[i] = some[below(sizeof(some) - 1)];
	s[n] = 0;
}

static void say_word(const char *s)
{
	say("\"");
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			say("\\%c", *s);
		else if (*s < ' ')
			say("\\x%02x", *s);
		else
			say("%c", *s);
	say("\"");
}

static void ev_numbers(void)
{
	uint64_t v = rnd();
	float f = (float)(int32_t)v / 1024;
	double d = (double)(int64_t)v / 4096;
	uint32_t f_bits;
	uint64_t d_bits;

	memcpy(&f_bits, &f, sizeof(f_bits));
	memcpy(&d_bits, &d, sizeof(d_bits));
	num(8, v);
	num(16, v);
	num(32, v);
	num(64, v);
	num(8, v);
	num(16, v);
	num(32, v);
	num(64, v);
	num(64, v);
	align(8);
	bits_as(32, v, !be);		/* the other byte order */
	bits(3, v);
	bits(13, v >> 3);
	bits(1, v >> 16);
	align(8);
	bits(32, f_bits);
	num(64, d_bits);
	say("u8=%u u16=%u u32=%u u64=%" PRIu64 " s8=%d s16=%d s32=%d s64=%" PRId64,
	    (uint8_t)v, (uint16_t)v, (uint32_t)v, v, (int8_t)v, (int16_t)v, (int32_t)v,
	    (int64_t)v);
	say(" x64=0x%" PRIx64 " other=%u b3=%u b13=%d b1=%u f=%.17g d=%.17g", v, (uint32_t)v,
	    (unsigned)v & 7, (int)((v >> 3 & 0x1fff) ^ 0x1000) - 0x1000, (unsigned)(v >> 16) & 1,
	    (double)f, d);
}

static void ev_texts(void)
{
	char s[24], a[16] = "";

	word(s, sizeof(s));
	chars(s, strlen(s) + 1);
	say("s=");
	say_word(s);
	word(a, sizeof(a));
	chars(a, sizeof(a));
	say(" a=");
	say_word(a);
	word(s, sizeof(s));
	num(16, strlen(s) + 1);
	chars(s, strlen(s) + 1);
	say(" n=%zu q=", strlen(s) + 1);
	say_word(s);
}

static void ev_arrays(void)
{
	uint32_t n = below(5), v;

	say("a=[");
	for (int i = 0; i < 3; i++) {
		v = below(1u << 30);
		num(32, v);
		say("%s%d", i ? ", " : "", (int32_t)v);
	}
	say("]");
	for (int i = 0; i < 2; i++) {
		v = below(256);
		num(8, v);
		num(16, v);
		say(" st[%d].x=%u st[%d].y.z=%u", i, v, i, v);
	}
	num(8, n);
	say(" n=%u seq=[", n);
	for (uint32_t i = 0; i < n; i++) {
		v = below(65536);
		num(16, v);
		say("%s%u", i ? ", " : "", v);
	}
	say("]");
	n = below(3);
	num(8, n);
	say(" m=%u", n);
	if (!n)
		say(" seqs=[]");
	for (uint32_t i = 0; i < n; i++) {
		char s[8];

		word(s, sizeof(s));
		chars(s, strlen(s) + 1);
		say(" seqs[%u].s=", i);
		say_word(s);
	}
	say(" none={}");
}

static void ev_enums(void)
{
	uint32_t e = below(12), tag = below(3);
	int32_t g = (int32_t)below(5) - 2;
	char s[12];

	/* one = 1, two = 2, few = 2 ... 5, many = 6 ... 9 */
	num(8, e);
	say("e=%s", e == 1 ? "\"one\"(1)" : e == 2 ? "\"two\"|\"few\"(2)" : "");
	if (e >= 3 && e <= 9)
		say("\"%s\"(%u)", e <= 5 ? "few" : "many", e);
	else if (!e || e > 9)
		say("%u", e);
	num(16, (uint64_t)g);
	say(" g=%s(%d)", g < 0 ? "\"below\"" : g ? "\"above\"" : "\"zero\"", g);
	num(8, tag);
	say(" tag=\"%s\"(%u)", tag == 0 ? "num" : tag == 1 ? "str" : "both", tag);
	if (tag == 0) {
		num(32, e);
		say(" v.num=%u", e);
	} else if (tag == 1) {
		word(s, sizeof(s));
		chars(s, strlen(s) + 1);
		say(" v.str=");
		say_word(s);
	} else {
		num(16, e);
		num(16, e + 1);
		say(" v.both.a=%u v.both.b=%u", e, e + 1);
	}
}

static void event(struct stream *s)
{
	static void (*const make[])(void) = { ev_numbers, ev_texts, ev_arrays, ev_enums };
	static const char *const names[] = { "numbers", "my:texts", "arrays", "with space" };
	unsigned id = below(5);
	int32_t pid = (int32_t)below(1000), tid = pid + 1;
	char *fields;

	if (!s->open)
		open_packet(s);
	cur = s;
	header(id);
	if (!s->kind) {
		num(32, (uint64_t)pid);
		num(32, (uint64_t)tid);
	}
	if (id == 1)
		num(16, 0xbeef);
	len = 0;
	text[0] = 0;
	if (id < 4)
		make[id]();
	if (id == 1)
		say(" context.extra=0xbeef");
	if (!s->kind)
		say("%sstream.pid=%d stream.tid=%d", len ? " " : "", pid, tid);
	say("%spacket.cpu_id=%d", len ? " " : "", s->cpu);
	fields = strdup(text);
	len = 0;
	say("%" PRIu64 "+%d %d %d %d %d %s: %s", ns(s->last) - EARLY, EARLY + LATE, s->cpu,
	    s->kind ? -1 : pid,
	    s->kind ? -1 : tid, (int)(s - streams), id < 4 ? names[id] : "nothing", fields);
	free(fields);
	add_line(ns(s->last) - EARLY, text);
	now += below(1000);
	if (s->at > (PACKET - 1024) * 8 || below(50) == 0)
		close_packet(s);
}

/* --- metadata --- */

static const char meta_types[] =
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"typealias integer { size = 8; align = 8; signed = true; } := s8;\n"
	"typealias integer { size = 16; align = 8; signed = true; } := s16;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := chr;\n";

static const char meta_streams[] =
	"typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := t64;\n"
	"typealias integer { size = 27; align = 1; signed = false; map = clock.c.value; } := t27;\n"
	"struct packet_context { t64 timestamp_begin; t64 timestamp_end; u64 content_size;\n"
	"\tu64 packet_size; u64 events_discarded; u64 packet_seq_num; u32 cpu_id; };\n"
	"stream { id = 0; packet.context := struct packet_context;\n"
	"\tevent.header := struct { u32 id; t64 timestamp; } align(8);\n"
	"\tevent.context := struct { s32 _pid; s32 _tid; }; };\n"
	"stream { id = 1; packet.context := struct packet_context;\n"
	"\tevent.header := struct {\n"
	"\t\tenum : integer { size = 5; align = 1; signed = false; } { compact = 0 ... 30,\n"
	"\t\t\textended = 31 } id;\n"
	"\t\tvariant <id> { struct { t27 timestamp; } compact;\n"
	"\t\t\tstruct { u32 id; t64 timestamp; } extended; } v;\n"
	"\t} align(8); };\n";

static const char *const meta_events[] = {
	"name = \"numbers\"; %sfields := struct {\n"
	"\tu8 _u8; u16 _u16; u32 _u32; u64 _u64; s8 _s8; s16 _s16; s32 _s32; s64 _s64;\n"
	"\tinteger { size = 64; align = 8; base = 16; signed = false; } _x64;\n"
	"\tinteger { size = 32; align = 8; signed = false; byte_order = %s; } _other;\n"
	"\tinteger { size = 3; align = 1; signed = false; } _b3;\n"
	"\tinteger { size = 13; align = 1; signed = true; } _b13;\n"
	"\tinteger { size = 1; align = 1; signed = false; } _b1;\n"
	"\tfloating_point { exp_dig = 8; mant_dig = 24; align = 8; } _f;\n"
	"\tfloating_point { exp_dig = 11; mant_dig = 53; align = 8; } _d; };",
	"name = \"my:texts\";\n"
	"context := struct { integer { size = 16; align = 8; base = hex; } _extra; };\n"
	"%sfields := struct { string _s; chr _a[16]; u16 _n; chr _q[_n]; };",
	"name = \"arrays\"; %sfields := struct { s32 _a[3];\n"
	"\tstruct { u8 _x; struct { u16 _z; } _y; } _st[2];\n"
	"\tu8 _n; u16 _seq[_n]; u8 _m; struct { string _s; } _seqs[_m]; struct { } _none; };",
	"name = \"with space\"; %sfields := struct {\n"
	"\tenum : u8 { one = 1, two = 2, few = 2 ... 5, many = 6 ... 9 } _e;\n"
	"\tenum : s16 { below = -9 ... -1, zero = 0, above = 1 ... 9 } _g;\n"
	"\tenum : u8 { num, str, both } _tag;\n"
	"\tvariant <_tag> { u32 num; string str; struct { u16 _a; u16 _b; } both; } _v; };",
	"name = \"nothing\"; %sfields := struct { };",
};

static void metadata(const char *dir)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/metadata", dir);
	f = fopen(path, "w");
	if (!f)
		die(path);
	fprintf(f, "/* CTF 1.8 */\n%s", meta_types);
	fprintf(f, "trace { major = 1; minor = 8; byte_order = %s;\n"
		"\tuuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\";\n"
		"\tpacket.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; }; };\n"
		"env { hostname = \"made\"; number = 7; };\n", be ? "be" : "le");
	fprintf(f, "clock { name = c; freq = %u; offset_s = %u; offset = %u; precision = %u;\n"
		"\tabsolute = true; };\n", FREQ, OFF_S, OFF, DOUBT);
	fputs(meta_streams, f);
	for (int s = 0; s < 2; s++)
		for (int i = 0; i < 5; i++) {
			fprintf(f, "event { stream_id = %d; id = %d; ", s, i);
			fprintf(f, meta_events[i], "", be ? "le" : "be");
			fputs(" };\n", f);
		}
	if (fclose(f))
		die(path);
}

static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int main(int argc, char **argv)
{
	uint64_t n;

	if (argc < 4)
		return 2;
	be = argc > 4;
	for (uint64_t i = strtoull(argv[2], NULL, 0) * 1000; i; i--)
		rnd();
	n = strtoull(argv[3], NULL, 0);
	metadata(argv[1]);
	for (int i = 0; i < STREAMS; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/chan%d_%d", argv[1], i == STREAMS - 1, i);
		streams[i].f = fopen(path, "w");
		streams[i].kind = i == STREAMS - 1;
		streams[i].cpu = i;
		if (!streams[i].f)
			die(path);
	}
	for (uint64_t i = 0; i < n; i++)
		event(&streams[below(STREAMS)]);
	for (int i = 0; i < STREAMS; i++) {
		close_packet(&streams[i]);
		if (fclose(streams[i].f))
			die("close");
	}
	qsort(lines, nlines, sizeof(*lines), by_time);
	for (size_t i = 0; i < nlines; i++)
		puts(lines[i].s);
	puts("end 0");
	return 0;
}
