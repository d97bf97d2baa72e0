/* SPDX-License-Identifier: BSD-2-Clause */
#include "mkftrace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#define COMMON \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\t" \
	"signed:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char sched_switch[] = "name: sched_switch\nID: 314\nformat:\n" COMMON
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:4;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:36;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:52;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:56;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"%d\", REC->prev_pid\n";

static void *take(void *p)
{
	if (!p)
		exit(2);
	return p;
}

void mkft_put(struct mkft_bytes *b, const void *p, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = (b->n + n) * 2;
		b->p = take(realloc(b->p, b->cap));
	}
	if (p)
		memcpy(b->p + b->n, p, n);
	else
		memset(b->p + b->n, 0, n);
	b->n += n;
}

static void set(const struct mkftrace *m, uint8_t *p, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> 8 * (m->big ? size - 1 - i : i));
}

void mkft_num(struct mkftrace *m, struct mkft_bytes *b, uint64_t v, unsigned size)
{
	uint8_t p[8];

	set(m, p, v, size);
	mkft_put(b, p, size);
}

void mkft_init(struct mkftrace *m, unsigned version, bool big, unsigned long_size)
{
	*m = (struct mkftrace){ .version = version, .big = big, .long_size = long_size,
				.clock = "local", .ncpus = 1 };
}

void mkft_free(struct mkftrace *m)
{
	for (unsigned i = 0; i < 4; i++)
		free(m->cpu[i].p);
	free(m->instance_cpu.p);
}

void mkft_page(struct mkftrace *m, struct mkft_bytes *out, uint64_t time)
{
	m->out = out;
	m->start = out->n;
	mkft_num(m, out, time, 8);
	mkft_num(m, out, 0, m->long_size);
}

static void header(struct mkftrace *m, unsigned type, uint32_t delta)
{
	mkft_num(m, m->out, m->big ? type << 27 | delta : delta << 5 | type, 4);
}

void mkft_record(struct mkftrace *m, uint32_t delta, const void *p, size_t n)
{
	header(m, (unsigned)n / 4, delta);
	mkft_put(m->out, p, n);
}

void mkft_long_record(struct mkftrace *m, uint32_t delta, const void *p, size_t n)
{
	header(m, 0, delta);
	mkft_num(m, m->out, n + 4, 4);
	mkft_put(m->out, p, n);
}

void mkft_extend(struct mkftrace *m, uint64_t delta)
{
	header(m, 30, delta & ((1u << 27) - 1));
	mkft_num(m, m->out, delta >> 27, 4);
}

void mkft_stamp(struct mkftrace *m, uint64_t time)
{
	header(m, 31, time & ((1u << 27) - 1));
	mkft_num(m, m->out, time >> 27 & UINT32_MAX, 4);
}

void mkft_discarded(struct mkftrace *m, uint32_t delta, size_t n)
{
	header(m, 29, delta);
	mkft_num(m, m->out, n, 4);
	mkft_put(m->out, NULL, n - 4);
}

void mkft_page_end(struct mkftrace *m, bool lost, bool stored, uint64_t missed)
{
	size_t head = 8 + m->long_size, used = m->out->n - m->start - head;
	uint64_t commit = used | (lost ? 1u << 31 : 0) | (stored ? 1u << 30 : 0);

	if (stored)
		mkft_num(m, m->out, missed, m->long_size);
	if (m->out->n - m->start > MKFT_PAGE)
		exit(2);
	mkft_put(m->out, NULL, MKFT_PAGE - (m->out->n - m->start));
	set(m, m->out->p + m->start + 8, commit, m->long_size);
}

void mkft_switch(struct mkftrace *m, uint32_t delta, int32_t prev, int32_t next)
{
	uint8_t p[60] = { 0 };

	set(m, p, MKFT_SWITCH, 2);
	set(m, p + 4, (uint32_t)prev, 4);
	snprintf((char *)p + 8, 16, "t%d", prev);
	set(m, p + 24, (uint32_t)prev, 4);
	set(m, p + 28, 120, 4);
	set(m, p + 32, 1, 4);
	snprintf((char *)p + 36, 16, "t%d", next);
	set(m, p + 52, (uint32_t)next, 4);
	set(m, p + 56, 100, 4);
	mkft_record(m, delta, p, sizeof(p));
}

void mkft_bprint(struct mkftrace *m, uint32_t delta, int32_t tid, uint64_t fmt, const void *args,
		 size_t n)
{
	uint8_t p[128] = { 0 };
	size_t at = 8;

	set(m, p, MKFT_BPRINT, 2);
	set(m, p + 4, (uint32_t)tid, 4);
	set(m, p + at, 0x81002000, m->long_size);
	at += m->long_size;
	set(m, p + at, fmt, m->long_size);
	at += m->long_size;
	memcpy(p + at, args, n);
	mkft_record(m, delta, p, (at + n + 3) & ~(size_t)3);
}

static void text(struct mkftrace *m, struct mkft_bytes *b, const char *s, unsigned size)
{
	mkft_num(m, b, strlen(s), size);
	mkft_put(b, s, strlen(s));
}

static void put_headers(struct mkftrace *m, struct mkft_bytes *b)
{
	char page[512];
	unsigned data = 8 + m->long_size;

	snprintf(page, sizeof(page), "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		 "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
		 "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		 "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:0;\n", m->long_size, data,
		 MKFT_PAGE - data);
	mkft_put(b, "header_page", 12);
	text(m, b, page, 8);
	mkft_put(b, "header_event", 13);
	text(m, b, "# compressed entry header\n", 8);
}

static void put_formats(struct mkftrace *m, struct mkft_bytes *b, bool systems)
{
	char f[1024];
	unsigned l = m->long_size;

	if (m->no_formats) {
		mkft_num(m, b, 0, 4);
		return;
	}
	if (systems) {
		mkft_num(m, b, 1, 4);
		mkft_put(b, "sched", 6);
		mkft_num(m, b, 1, 4);
		text(m, b, sched_switch, 8);
		return;
	}
	mkft_num(m, b, 2, 4);
	snprintf(f, sizeof(f), "name: bprint\nID: %u\nformat:\n" COMMON
		 "\tfield:unsigned long ip;\toffset:8;\tsize:%u;\tsigned:0;\n"
		 "\tfield:const char * fmt;\toffset:%u;\tsize:%u;\tsigned:0;\n"
		 "\tfield:u32 buf[];\toffset:%u;\tsize:0;\tsigned:0;\n\n"
		 "print fmt: \"%%ps: %%s\", (void *)REC->ip, REC->fmt\n", MKFT_BPRINT, l, 8 + l, l,
		 8 + 2 * l);
	text(m, b, f, 8);
	snprintf(f, sizeof(f), "name: print\nID: %u\nformat:\n" COMMON
		 "\tfield:unsigned long ip;\toffset:8;\tsize:%u;\tsigned:0;\n"
		 "\tfield:char buf[];\toffset:%u;\tsize:0;\tsigned:0;\n\n"
		 "print fmt: \"%%s\", REC->buf\n", MKFT_PRINT, l, 8 + l);
	text(m, b, f, 8);
}

static const char kallsyms[] = "81002000 T do_it\n81002100 t other\t[mod]\n";
static const char printk[] = "0x81001000 : \"n=%d s=%s c=%c %5lu|%-4x|%%\\n\"\n";
static const char cmdlines[] = "10 ten\n20 a b\n";

/* A run of pages as version 7 packs it: two pages in a chunk. */
static void put_pages(struct mkftrace *m, struct mkft_bytes *b, const struct mkft_bytes *pages)
{
	size_t step = 2 * MKFT_PAGE;
	uint8_t out[4096];

	if (m->pack == MKFT_PLAIN) {
		mkft_put(b, pages->p, pages->n);
		return;
	}
	mkft_num(m, b, (pages->n + step - 1) / step, 4);
	for (size_t i = 0; i < pages->n; i += step) {
		size_t n = pages->n - i < step ? pages->n - i : step, size;
		uLongf got = sizeof(out);

		if (m->pack == MKFT_ZLIB) {
			if (compress2(out, &got, pages->p + i, n, 6) != Z_OK)
				exit(2);
			size = got;
		} else {
			size = ZSTD_compress(out, sizeof(out), pages->p + i, n, 1);
			if (ZSTD_isError(size))
				exit(2);
		}
		mkft_num(m, b, size, 4);
		mkft_num(m, b, n, 4);
		mkft_put(b, out, size);
	}
}

static void section(struct mkftrace *m, struct mkft_bytes *b, unsigned id,
		    const struct mkft_bytes *body)
{
	uint8_t out[8192];
	uLongf got = sizeof(out);
	size_t size;
	bool packed = m->pack != MKFT_PLAIN && id;

	mkft_num(m, b, id, 2);
	mkft_num(m, b, packed, 2);
	mkft_num(m, b, 0, 4);
	if (!packed) {
		mkft_num(m, b, body->n, 8);
		mkft_put(b, body->p, body->n);
		return;
	}
	if (m->pack == MKFT_ZLIB) {
		if (compress2(out, &got, body->p, body->n, 6) != Z_OK)
			exit(2);
		size = got;
	} else {
		size = ZSTD_compress(out, sizeof(out), body->p, body->n, 1);
		if (ZSTD_isError(size))
			exit(2);
	}
	mkft_num(m, b, size + 8, 8);
	mkft_num(m, b, size, 4);
	mkft_num(m, b, body->n, 4);
	mkft_put(b, out, size);
}

static void option(struct mkftrace *m, struct mkft_bytes *b, unsigned id, const void *p, size_t n)
{
	mkft_num(m, b, id, 2);
	mkft_num(m, b, n, 4);
	mkft_put(b, p, n);
}

/*
 * A buffer's data, and behind it a section of options that describes it. Returns where that is;
 * *next: where the offset of the next section of options is to be.
 */
static size_t put_buffer(struct mkftrace *m, struct mkft_bytes *b, const char *name,
			 const struct mkft_bytes *cpus, unsigned n, size_t *next)
{
	struct mkft_bytes o = { 0 }, buf = { 0 };
	uint64_t at = b->n, off[4], size[4];
	size_t head;

	mkft_num(m, b, 3, 2);
	mkft_num(m, b, m->pack != MKFT_PLAIN, 2);
	mkft_num(m, b, 0, 4);
	mkft_num(m, b, 0, 8);
	for (unsigned i = 0; i < n; i++) {
		off[i] = b->n;
		put_pages(m, b, &cpus[i]);
		/* the number of chunks is not counted */
		size[i] = b->n - off[i] - (m->pack == MKFT_PLAIN ? 0 : 4);
	}
	set(m, b->p + at + 8, b->n - at - 16, 8);
	mkft_num(m, &buf, at, 8);
	mkft_put(&buf, name, strlen(name) + 1);
	mkft_put(&buf, m->clock, strlen(m->clock) + 1);
	mkft_num(m, &buf, MKFT_PAGE, 4);
	mkft_num(m, &buf, n, 4);
	for (unsigned i = 0; i < n; i++) {
		mkft_num(m, &buf, i, 4);
		mkft_num(m, &buf, off[i], 8);
		mkft_num(m, &buf, size[i], 8);
	}
	option(m, &o, 3, buf.p, buf.n);
	option(m, &o, 0, "\0\0\0\0\0\0\0", 8);
	head = b->n;
	section(m, b, 0, &o);
	*next = b->n - 8;
	free(o.p);
	free(buf.p);
	return head;
}

static void sections7(struct mkftrace *m, struct mkft_bytes *b, uint64_t at[6])
{
	for (unsigned i = 0; i < 6; i++) {
		struct mkft_bytes body = { 0 };

		switch (i) {
		case 0: put_headers(m, &body); break;
		case 1: put_formats(m, &body, false); break;
		case 2: put_formats(m, &body, true); break;
		case 3: text(m, &body, kallsyms, 4); break;
		case 4: text(m, &body, printk, 4); break;
		default: text(m, &body, cmdlines, 8);
		}
		at[i] = b->n;
		section(m, b, 16 + i, &body);
		free(body.p);
	}
}

static void file7(struct mkftrace *m, struct mkft_bytes *b)
{
	static const char *const names[] = { "none\0001", "zlib\0001", "zstd\0001" };
	struct mkft_bytes o = { 0 };
	uint64_t at[6], first = b->n + 7;
	size_t next;

	mkft_put(b, names[m->pack], 7);
	mkft_num(m, b, 0, 8);
	sections7(m, b, at);
	for (unsigned i = 0; i < 6; i++) {
		uint8_t v[8];

		set(m, v, at[i], 8);
		option(m, &o, 16 + i, v, 8);
	}
	for (size_t i = 0; i < m->noptions; i++)
		option(m, &o, m->options[i].id, m->options[i].p, m->options[i].n);
	option(m, &o, 0, "\0\0\0\0\0\0\0", 8);
	set(m, b->p + first, b->n, 8);
	section(m, b, 0, &o);
	next = b->n - 8;
	free(o.p);
	for (unsigned i = 0; i < (m->instance ? 2 : 1); i++) {
		size_t place = next, head;

		head = put_buffer(m, b, i ? m->instance : "", i ? &m->instance_cpu : m->cpu,
				  i ? 1 : m->ncpus, &next);
		set(m, b->p + place, head, 8);
	}
}

static void flyrecord(struct mkftrace *m, struct mkft_bytes *b, const struct mkft_bytes *cpus,
		      unsigned n, size_t table[4])
{
	mkft_put(b, "flyrecord", 10);
	for (unsigned i = 0; i < m->ncpus; i++) {
		table[i] = b->n;
		mkft_num(m, b, 0, 8);
		mkft_num(m, b, i < n ? cpus[i].n : 0, 8);
	}
	text(m, b, m->clock, 8);
}

static void file6(struct mkftrace *m, struct mkft_bytes *b)
{
	size_t table[4], inst = 0;
	uint8_t v[64] = { 0 };

	put_headers(m, b);
	put_formats(m, b, false);
	put_formats(m, b, true);
	text(m, b, kallsyms, 4);
	text(m, b, printk, 4);
	text(m, b, cmdlines, 8);
	mkft_num(m, b, m->ncpus, 4);
	mkft_put(b, "options  ", 10);
	for (size_t i = 0; i < m->noptions; i++)
		option(m, b, m->options[i].id, m->options[i].p, m->options[i].n);
	if (m->instance) {
		inst = b->n + 6;
		memcpy(v + 8, m->instance, strlen(m->instance) + 1);
		option(m, b, 3, v, 8 + strlen(m->instance) + 1);
	}
	mkft_num(m, b, 0, 2);
	flyrecord(m, b, m->cpu, m->ncpus, table);
	for (unsigned i = 0; i < m->ncpus; i++) {
		set(m, b->p + table[i], b->n, 8);
		mkft_put(b, m->cpu[i].p, m->cpu[i].n);
	}
	if (!m->instance)
		return;
	set(m, b->p + inst, b->n, 8);
	flyrecord(m, b, &m->instance_cpu, 1, table);
	set(m, b->p + table[0], b->n, 8);
	mkft_put(b, m->instance_cpu.p, m->instance_cpu.n);
}

uint8_t *mkft_file(struct mkftrace *m, size_t *n)
{
	struct mkft_bytes b = { 0 };

	mkft_put(&b, "\x17\x08\x44tracing", 10);
	mkft_put(&b, m->version == 6 ? "6" : "7", 2);
	mkft_num(m, &b, m->big, 1);
	mkft_num(m, &b, m->long_size, 1);
	mkft_num(m, &b, MKFT_PAGE, 4);
	if (m->version == 6)
		file6(m, &b);
	else
		file7(m, &b);
	*n = b.n;
	return b.p;
}
