/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damages one file of a capture in every way that the rules name (each byte to 00, ff, ^01, ^80;
 * cut at each offset), opens each variant in this process, decodes it whole, and checks what must
 * hold for any input: a typed error with words or a readable capture, bytes in = decoded +
 * skipped, packets cover the buffer, times that do not go back, work and memory at most linear.
 *
 * damage [-full|-few] [-seed N] [-n COUNT] [-at LO-HI] [-declared|-pipe|-trace] [-open NAME]
 *	[-as FORMAT] [-config F] [-cpu F/M/S] [-sysroot DIR] [-elf FILE[@ADDR]] CAPTURE [FILE]
 *
 * CAPTURE is a file, or a directory that is copied with FILE (relative to it) damaged; CAPTURE of
 * such a copy is the directory, or with -open NAME a file in it. All offsets if FILE is at most
 * 2 KiB (not with -few) or -full is given, else COUNT (500) seeded ones; -at keeps to a part of
 * the file.
 *
 * -declared: each byte of FILE lies inside a declared length, so every cut must be refused or
 * noted as a cut. -pipe: FILE is perf.data as written to a pipe, where only a cut between two
 * records can not be known. -trace: FILE is the trace itself. Then the undamaged packets tell
 * whether a cut lies between two packets, and if it does not there must be a hole at the end; and
 * damage between two synchronisation points must leave what a decoder makes of the others alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <hwtrace/hwtrace.h>

#include "../support/heap.h"

#define FULL_SIZE	2048	/* bytes up to which every offset is tried */
#define STEPS_BASE	20000	/* library calls allowed for any input ... */
#define STEPS_PER_BYTE	64	/* ... and per byte of trace: one TNT bit may stand for one block */
#define HEAP_BASE	(24u << 20)	/* heap allowed for any input, and per byte of it: */
#define HEAP_PER_BYTE	64
#define CPU_SECONDS	120	/* of one variant; the work is counted, this ends an endless one */
#define FRAME		16	/* bytes of a formatter frame */
#define IDS		128
#define SWALLOW		48	/* bytes of frames that may hold a packet's 16 */
#define SHOWN		20	/* failures that are told */
#define MAX_SYNCS	65536

struct events { struct hwt_event *v; size_t n, cap; };

struct result {
	uint64_t gaps, truncated, cut_notes, opened, refused;
	uint64_t hole_end;	/* largest end of a hole in the trace */
	size_t events;		/* in evs */
};

/* Where the packets of a source end, in bytes of that source. */
struct ends { uint64_t *v; size_t n; bool overlap; };

static char work[256];		/* temporary directory */
static const char *victim;	/* file that is damaged, absolute, inside @work */
static const char *capture;	/* what is opened, inside @work */
static struct hwt_open_opts opts = { .size = sizeof(opts) };
static struct hwt_elf_arg elf;
static unsigned long failures, variants, opened, refused, cuts_inside, cuts_between;
static unsigned long blocks_tried;
static const char *now_how = "start";
static size_t now_off, heap_peak;
static bool declared, is_pipe, is_trace;
static size_t trace_buf = SIZE_MAX;	/* index of the buffer that @victim holds */

/* of the undamaged trace */
static const unsigned char *good;
static size_t good_n;
static struct ends ends[IDS];
static uint8_t framing, hole_slack;
static bool coresight;
static uint64_t sync_at[MAX_SYNCS];
static size_t nsyncs;
static struct events evs, clean_evs;
static size_t *head, *tail;	/* events that block k leaves alone, plus 1; 0: not known yet */

static void fail(const char *what, const char *how, size_t off)
{
	if (failures++ < SHOWN)
		fprintf(stderr, "damage: %s (%s at offset %zu of %s)\n", what, how, off, victim);
}

static void too_long(int sig)
{
	static const char text[] = "damage: a variant does not end: ";

	if (write(2, text, sizeof(text) - 1) < 0 || write(2, now_how, strlen(now_how)) < 0)
		_exit(1);
	dprintf(2, " at offset %zu of %s\n", now_off, victim);
	_exit(1);
}

/* ASan ends the process: say which variant it was. */
static void died(void)
{
	dprintf(2, "damage: died (%s at offset %zu of %s)\n", now_how, now_off, victim);
}

static void *need(void *p)
{
	if (!p) {
		fprintf(stderr, "damage: out of memory\n");
		exit(1);
	}
	return p;
}

static int put(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	const char *c = p;

	if (fd < 0)
		return -errno;
	while (n) {
		ssize_t w = write(fd, c, n);

		if (w <= 0) {
			close(fd);
			return -EIO;
		}
		c += w;
		n -= (size_t)w;
	}
	return close(fd) ? -errno : 0;
}

static void put_victim(const void *p, size_t n)
{
	if (put(victim, p, n)) {
		fprintf(stderr, "damage: can not write %s\n", victim);
		exit(1);
	}
}

static unsigned char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	unsigned char *p = NULL;
	struct stat st;

	if (f && !fstat(fileno(f), &st) && S_ISREG(st.st_mode)) {
		*n = (size_t)st.st_size;
		p = malloc(*n + 1);
		if (p && fread(p, 1, *n, f) != *n) {
			free(p);
			p = NULL;
		}
	}
	if (f)
		fclose(f);
	return p;
}

/* --- one variant --- */

static void keep(const struct hwt_event *ev)
{
	/* a frequency is told when it is not what it was */
	if (ev->type == HWT_EV_NONE || ev->type == HWT_EV_FREQ)
		return;
	if (evs.n == evs.cap) {
		bool was = heap_watch(false);

		evs.cap = evs.cap ? 2 * evs.cap : 4096;
		evs.v = need(realloc(evs.v, evs.cap * sizeof(*evs.v)));
		heap_watch(was);
	}
	evs.v[evs.n++] = *ev;
}

/* Times of one CPU do not go back. */
static void check_time(uint64_t *last, const struct hwt_event *ev, const char *how, size_t off)
{
	uint64_t *t = &last[ev->cpu & 255];

	if (ev->time == HWT_TIME_UNKNOWN)
		return;
	if (ev->time < *t)
		fail("time goes back", how, off);
	*t = ev->time;
}

static void see(struct result *r, const struct hwt_event *ev, const char *how, size_t off)
{
	int cause = ev->u.gap.cause;

	if (ev->type >= HWT_EV_TYPES)
		fail("event of no type", how, off);
	if (ev->type != HWT_EV_GAP)
		return;
	r->gaps++;
	if (cause <= HWT_GAP_NONE || cause >= HWT_GAP_CAUSES)
		fail("hole without a cause", how, off);
	if (cause == HWT_GAP_TRUNCATED)
		r->truncated++;
	if (ev->u.gap.bytes && ev->off != HWT_NO_OFF && ev->off + ev->u.gap.bytes > r->hole_end)
		r->hole_end = ev->off + ev->u.gap.bytes;
}

/* Decodes buffer @i at @level; checks the sums. */
static void flow(struct hwt_session *s, size_t i, enum hwt_level level, const char *how, size_t off,
		 struct result *r, struct hwt_flow_stats *st)
{
	struct hwt_interest want = HWT_INTEREST_ALL;
	uint64_t last[256] = { 0 }, gaps = 0, skipped = 0;
	struct hwt_event ev[256];
	struct hwt_stream *fs;
	struct hwt_diag d;
	int n;

	*st = (struct hwt_flow_stats){ 0 };
	want.level = level;
	n = hwt_session_flow(s, i, &want, &fs, &d);
	if (n < 0) {
		if (!d.text[0])
			fail("flow refused without words", how, off);
		return;
	}
	while ((n = hwt_stream_next(fs, ev, 256)) > 0) {
		for (int k = 0; k < n; k++) {
			check_time(last, &ev[k], how, off);
			if (ev[k].type == HWT_EV_GAP) {
				gaps++;
				skipped += ev[k].u.gap.bytes;
			}
			see(r, &ev[k], how, off);
			if (i == trace_buf && level == HWT_LEVEL_INSNS)
				keep(&ev[k]);
		}
	}
	if (n < 0)
		fail("stream ended in an error", how, off);
	hwt_flow_stats(fs, st);
	if (st->bytes_in != st->bytes_decoded + st->bytes_skipped)
		fail("bytes do not balance", how, off);
	if (skipped != st->bytes_skipped || gaps != st->gaps)
		fail("holes are not what was counted", how, off);
	if (st->steps > STEPS_BASE + STEPS_PER_BYTE * st->bytes_in)
		fail("more work than linear", how, off);
	hwt_stream_close(fs);
}

static void add_end(struct ends *e, uint64_t off, uint64_t size, uint64_t *last)
{
	bool was = heap_watch(false);

	if (!(e->n & (e->n + 1)))
		e->v = need(realloc(e->v, 2 * (e->n + 1) * sizeof(*e->v)));
	e->overlap |= e->n && off == *last;	/* packets of half bytes */
	*last = off;
	e->v[e->n] = (e->n ? e->v[e->n - 1] : 0) + size;
	e->n++;
	heap_watch(was);
}

static bool is_sync(const struct hwt_packet *p)
{
	return !p->bad && (!strcmp(p->name, "psb") || !strcmp(p->name, "I_ASYNC") ||
			   !strcmp(p->name, "ASYNC") || !strcmp(p->name, "A_SYNC"));
}

static void packets(struct hwt_session *s, size_t i, const char *how, size_t off, bool learn)
{
	uint64_t sum = 0, last[IDS] = { 0 };
	struct hwt_buf_info b;
	struct hwt_packets *ps;
	struct hwt_packet pkt;
	struct hwt_diag d;
	int rc;

	hwt_session_buf(s, i, &b);
	rc = hwt_session_packets(s, i, &ps, &d);
	if (rc < 0) {
		if (!d.text[0])
			fail("packets refused without words", how, off);
		return;
	}
	while ((rc = hwt_packets_next(ps, &pkt)) > 0) {
		sum += pkt.size;
		if (pkt.raw_size > sizeof(pkt.raw) || !memchr(pkt.text, 0, sizeof(pkt.text)))
			fail("packet without an end", how, off);
		if (!learn)
			continue;
		add_end(&ends[b.formatted ? pkt.trace_id % IDS : 0], pkt.off, pkt.size,
			&last[b.formatted ? pkt.trace_id % IDS : 0]);
		if (is_sync(&pkt) && nsyncs < MAX_SYNCS)
			sync_at[nsyncs++] = b.formatted ? pkt.off & -(uint64_t)FRAME : pkt.off;
	}
	if (rc < 0)
		fail("packets ended in an error", how, off);
	if (b.proto == HWT_PROTO_PT && sum != b.size)
		fail("packets do not cover the buffer", how, off);
	hwt_packets_close(ps);
}

static void kernel_events(struct hwt_session *s, const char *how, size_t off)
{
	struct hwt_event ev[64];
	struct hwt_stream *es;
	struct hwt_diag d;
	char text[128];
	int n;

	if (hwt_session_events(s, &es, &d) < 0)
		return;
	while ((n = hwt_stream_next(es, ev, 64)) > 0)
		for (int k = 0; k < n; k++)
			if (!hwt_event_name(s, &ev[k]) ||
			    (hwt_event_text(s, &ev[k], text, sizeof(text)),
			     !memchr(text, 0, sizeof(text))))
				fail("kernel event without name or end", how, off);
	if (n < 0)
		fail("kernel events ended in an error", how, off);
	hwt_stream_close(es);
}

/* True if @victim is buffer @i, and nothing but it. */
static bool learn_buf(struct hwt_session *s, size_t i)
{
	struct hwt_buf_info b;
	struct stat file, own;

	hwt_session_buf(s, i, &b);
	if (trace_buf != SIZE_MAX || b.nspans != 1 || b.size != good_n || stat(b.file, &file) ||
	    stat(victim, &own) || file.st_dev != own.st_dev || file.st_ino != own.st_ino)
		return false;
	trace_buf = i;
	framing = b.formatted;
	coresight = b.proto != HWT_PROTO_PT;
	/* a hole may begin with a packet of overflow or discard (ETM), not in its bytes */
	hole_slack = framing ? FRAME : b.proto == HWT_PROTO_PT ? 0 : 2;
	return true;
}

/*
 * Instructions that the walk of a range can not name are holes as well. @rough: holes are found in
 * larger blocks, so that damaged maps or times may take effect a few instructions later.
 */
static bool agree(const struct hwt_flow_stats *insns, const struct hwt_flow_stats *other,
		  bool rough)
{
	return rough || (insns->gaps >= other->gaps && insns->insns == other->insns &&
			 insns->bytes_skipped == other->bytes_skipped);
}

/* Other levels than that of instructions take turns: each costs a whole walk. */
static void buffers(struct hwt_session *s, const char *how, size_t off, struct result *r)
{
	struct hwt_flow_stats a, b;
	struct result dummy;

	for (size_t i = 0; i < hwt_session_bufs(s); i++) {
		bool learn = is_trace && variants == 1 && learn_buf(s, i);

		packets(s, i, how, off, learn);
		flow(s, i, HWT_LEVEL_INSNS, how, off, i == trace_buf ? r : &dummy, &a);
		for (int level = HWT_LEVEL_HOLES; level < HWT_LEVEL_INSNS; level++) {
			if (variants > 1 && variants % 3 != (unsigned)level)
				continue;
			flow(s, i, (enum hwt_level)level, how, off, &dummy, &b);
			if (!agree(&a, &b, level == HWT_LEVEL_HOLES && variants > 1))
				fail("what is found depends on what is asked for", how, off);
		}
	}
}

static void try(const char *how, size_t off, size_t size, struct result *r)
{
	static const struct itimerval limit = { .it_value.tv_sec = CPU_SECONDS };
	struct hwt_session *s = NULL;
	struct hwt_diag d;
	int rc;

	*r = (struct result){ 0 };
	evs.n = 0;
	now_how = how;
	now_off = off;
	variants++;
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	heap_start();
	rc = hwt_session_open(&s, capture, &opts, &d);
	if (rc < 0) {
		refused++;
		r->refused = 1;
		if (s)
			fail("handle written on failure", how, off);
		if (!d.text[0] || !d.id)
			fail("refused without words or error id", how, off);
	} else {
		opened++;
		r->opened = 1;
		for (size_t i = 0; hwt_session_note(s, i); i++)
			r->cut_notes += hwt_session_note(s, i)->severity == HWT_NOTE_CUT;
		kernel_events(s, how, off);
		buffers(s, how, off, r);
		hwt_session_close(s);
	}
	heap_watch(false);
	if (heap_peak < heap_most())
		heap_peak = heap_most();
	if (heap_most() > HEAP_BASE + HEAP_PER_BYTE * (size + good_n))
		fail("more memory than linear", how, off);
	r->events = evs.n;
}

/* --- cuts --- */

/* Bytes of each source in the whole frames of the first @n bytes; returns the bytes left over. */
static size_t deframe(size_t n, uint64_t *count)
{
	unsigned char f[FRAME];
	unsigned id = 0, k = 0;
	size_t at = 0, left = 0;

	while (n - at >= 2) {
		const unsigned char *p = good + at;

		if (framing == 2 && n - at >= 4 && !memcmp(p, "\xff\xff\xff\x7f", 4)) {
			at += 4;
			left = k = 0;
			continue;
		}
		at += 2;
		if (framing == 2 && p[0] == 0xff && p[1] == 0x7f)
			continue;
		f[k++] = p[0];
		f[k++] = p[1];
		left = k;
		if (k < FRAME)
			continue;
		left = k = 0;
		/* CoreSight Architecture Specification, "Formatter data processing" */
		for (unsigned i = 0; i < FRAME - 1; i++) {
			bool flag = f[FRAME - 1] >> (i / 2) & 1;

			if (i & 1) {
				count[id]++;
			} else if (!(f[i] & 1)) {
				count[id]++;
			} else if (flag && i < FRAME - 2) {
				count[id]++;	/* the next byte is of the old source */
				i++;
				id = f[i - 1] >> 1;
			} else {
				id = f[i] >> 1;
			}
		}
	}
	return left + (n - at);
}

static bool is_end(const struct ends *e, uint64_t n)
{
	size_t lo = 0, hi = e->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->v[mid] < n)
			lo = mid + 1;
		else
			hi = mid;
	}
	return !n || (lo < e->n && e->v[lo] == n);
}

/* Does a cut after @n bytes lie between two packets of each source, and between two frames? */
static bool between(size_t n)
{
	uint64_t count[IDS] = { 0 };

	if (!framing)
		return ends[0].overlap || is_end(&ends[0], n);
	if (deframe(n, count))
		return false;
	for (unsigned i = 1; i < IDS; i++)
		if (ends[i].n && !ends[i].overlap && !is_end(&ends[i], count[i]))
			return false;
	return true;
}

/*
 * Does a cut after @n bytes lie between two records of a pipe? The data behind an AUXTRACE (71)
 * or TRACING_DATA (66) record belongs to it, padding does not.
 */
static bool between_records(size_t n)
{
	size_t at = 16, size;
	uint64_t data = 0;
	uint32_t w[4];

	while (at < n && good_n - at >= sizeof(w)) {
		memcpy(w, good + at, sizeof(w));
		size = w[1] >> 16;
		memcpy(&data, w + 2, sizeof(data));
		data = w[0] == 71 ? data : w[0] == 66 ? (uint32_t)data : 0;
		at += size + data;
		if (w[0] == 66 && at < n)
			at = n <= at + (-data & 7) ? n : at + (-data & 7);
	}
	return at == n;
}

static void check_cut(size_t off, const struct result *r)
{
	if (is_pipe && !r->refused && !r->cut_notes && !between_records(off))
		fail("a cut inside a record is silent", "cut", off);
	if (declared && !r->refused && !r->cut_notes)
		fail("a cut inside a declared length is silent", "cut", off);
	if (!is_trace || r->refused || r->cut_notes)
		return;
	if (between(off)) {
		cuts_between++;
		return;
	}
	cuts_inside++;
	/* in frames, other sources may follow the packet that is cut */
	if (r->hole_end + hole_slack < off && !(framing && r->truncated))
		fail("a cut inside a packet or frame is silent", "cut", off);
}

/* --- blocks between synchronisation points --- */

static bool same(const struct hwt_event *a, const struct hwt_event *b)
{
	/* times, owners found by them and context ids are learned from blocks before */
	if (a->type != b->type || a->flags != b->flags || a->src != b->src || a->off != b->off)
		return false;
	if (a->type == HWT_EV_GAP)	/* the first byte of a block may end a hole before it */
		return a->u.gap.cause == b->u.gap.cause;
	if (a->type == HWT_EV_ASPACE)
		return a->u.aspace.el == b->u.aspace.el;
	if (a->type == HWT_EV_RECORD)
		return a->u.rec.id == b->u.rec.id && a->u.rec.size == b->u.rec.size;
	return !memcmp(&a->u, &b->u, sizeof(a->u));
}

static size_t common_head(const struct events *a, const struct events *b)
{
	size_t n = 0;

	while (n < a->n && n < b->n && same(&a->v[n], &b->v[n]))
		n++;
	return n;
}

static size_t common_tail(const struct events *a, const struct events *b)
{
	size_t n = 0;

	while (n < a->n && n < b->n && same(&a->v[a->n - 1 - n], &b->v[b->n - 1 - n]))
		n++;
	return n;
}

/*
 * What block @k can not change: before it what a trace that ends at it gives, after it what a
 * trace gives that is empty up to the next synchronisation.
 */
static void learn_block(size_t k)
{
	size_t end = k + 1 < nsyncs ? sync_at[k + 1] : good_n;
	unsigned char *t = need(malloc(good_n + 1));
	struct result r;

	put_victim(good, sync_at[k]);
	try("cut before a block", sync_at[k], sync_at[k], &r);
	head[k] = 1 + common_head(&clean_evs, &evs);
	memset(t, 0, end);
	memcpy(t + end, good + end, good_n - end);
	put_victim(t, good_n);
	try("only what follows a block", end, good_n, &r);
	tail[k] = 1 + common_tail(&clean_evs, &evs);
	free(t);
}

/* A hole in [lo, hi] may be told between events of what follows. */
static void drop_told(struct events *e, uint64_t lo, uint64_t hi)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++)
		if (e->v[i].type != HWT_EV_GAP || e->v[i].off < lo || e->v[i].off > hi ||
		    (e->v[i].off == hi && e->v[i].u.gap.bytes))
			e->v[n++] = e->v[i];
	e->n = n;
}

static uint64_t last_time(const struct events *e)
{
	return e->n ? e->v[e->n - 1].time : HWT_TIME_UNKNOWN;
}

static void differ(const struct hwt_event *is, const struct hwt_event *was)
{
	if (failures > SHOWN)
		return;
	fprintf(stderr, "damage:   event of type %u at %#llx", was->type,
		(unsigned long long)was->off);
	if (!is)
		fprintf(stderr, " is missing\n");
	else
		fprintf(stderr, " is of type %u at %#llx, flags %#x was %#x, %#llx was %#llx\n",
			is->type, (unsigned long long)is->off, is->flags, was->flags,
			(unsigned long long)is->u.range.first,
			(unsigned long long)was->u.range.first);
}

/* The events in @evs are of a trace with byte @off changed. */
static void check_blocks(size_t off, const char *how, const struct result *r)
{
	size_t k = nsyncs, h, t;

	while (k && sync_at[k - 1] > off)
		k--;
	if (!r->opened || !k--)
		return;
	/*
	 * OpenCSD looks for an A-sync from where a bad packet ends: one that a damaged packet
	 * before it swallowed in part is not found, and its block is lost with a hole.
	 */
	if (coresight && k + 1 < nsyncs && sync_at[k + 1] - off < SWALLOW)
		return;
	h = common_head(&clean_evs, &evs);
	drop_told(&evs, sync_at[k], k + 1 < nsyncs ? sync_at[k + 1] : good_n);
	t = common_tail(&clean_evs, &evs);
	if (!head[k])
		learn_block(k);
	blocks_tried++;
	if (h < head[k] - 1) {
		fail("damage changes events of a block before it", how, off);
		differ(h < evs.n ? &evs.v[h] : NULL, &clean_evs.v[h]);
	}
	/*
	 * A wrong TSC can not be told from a right one, and time does not go back: it chooses whose
	 * code ran to the end.
	 */
	if (!coresight && last_time(&evs) != last_time(&clean_evs))
		return;
	if (t < tail[k] - 1) {
		fail("damage changes events of a block after it", how, off);
		differ(t < evs.n ? &evs.v[evs.n - 1 - t] : NULL,
		       &clean_evs.v[clean_evs.n - 1 - t]);
	}
}

/* --- the capture --- */

static int rm(const char *p, const struct stat *st, int flag, struct FTW *f)
{
	return remove(p);
}

static void cleanup(void)
{
	if (work[0])
		nftw(work, rm, 16, FTW_DEPTH | FTW_PHYS);
}

static int copy_from;	/* length of the source directory's path */
static int copy_one(const char *p, const struct stat *st, int flag, struct FTW *f)
{
	char to[1024];
	size_t n;
	unsigned char *b;

	snprintf(to, sizeof(to), "%s/c%s", work, p + copy_from);
	if (flag == FTW_D)
		return mkdir(to, 0700) && errno != EEXIST;
	/* big code dumps are not what is damaged */
	if (st->st_size > 256 << 10 && symlink(p, to) == 0)
		return 0;
	b = slurp(p, &n);
	if (!b || put(to, b, n)) {
		free(b);
		return 1;
	}
	free(b);
	return 0;
}

static unsigned char *set_up(const char *from, const char *file, const char *open_name, size_t *n)
{
	static char victim_path[1024], capture_path[1024];
	unsigned char *p;
	struct stat st;

	snprintf(work, sizeof(work), "%s/hwtrace-damage-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(work))
		return NULL;
	atexit(cleanup);
	snprintf(capture_path, sizeof(capture_path), "%s/c", work);
	victim = capture = capture_path;
	if (stat(from, &st) || !S_ISDIR(st.st_mode))
		return slurp(from, n);
	copy_from = (int)strlen(from);
	if (nftw(from, copy_one, 16, FTW_PHYS))
		return NULL;
	snprintf(victim_path, sizeof(victim_path), "%s/c/%s", work, file);
	victim = victim_path;
	p = slurp(victim, n);
	if (p && unlink(victim)) {	/* it may be a link to a large file */
		free(p);
		return NULL;
	}
	if (open_name)
		snprintf(capture_path, sizeof(capture_path), "%s/c/%s", work, open_name);
	return p;
}

static void bytes_at(size_t off, unsigned char *bad)
{
	static const char *const how[] = { "byte to 00", "byte to ff", "byte ^01", "byte ^80" };
	const unsigned char v[] = { 0, 0xff, good[off] ^ 1, good[off] ^ 0x80 };
	struct result r;

	memcpy(bad, good, good_n);
	for (int m = 0; m < 4; m++) {
		if (v[m] == good[off])
			continue;
		bad[off] = v[m];
		put_victim(bad, good_n);
		try(how[m], off, good_n, &r);
		if (is_trace)
			check_blocks(off, how[m], &r);
	}
}

static struct {
	bool full, few;
	unsigned long count, seed;
	size_t lo, hi;
	const char *open;
} how_much = { .count = 500, .seed = 1, .hi = SIZE_MAX };

/* Takes the option at @i; the index of its last word, or -1. */
static int option(int argc, char **argv, int i)
{
	const char *o = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
	char *at;

	how_much.full |= !strcmp(o, "-full");
	how_much.few |= !strcmp(o, "-few");
	declared |= !strcmp(o, "-declared");
	is_pipe |= !strcmp(o, "-pipe");
	is_trace |= !strcmp(o, "-trace");
	if (!strcmp(o, "-full") || !strcmp(o, "-few") || !strcmp(o, "-declared") ||
	    !strcmp(o, "-pipe") || !strcmp(o, "-trace"))
		return i;
	if (!v)
		return -1;
	if (!strcmp(o, "-seed")) {
		how_much.seed = strtoul(v, NULL, 0);
	} else if (!strcmp(o, "-n")) {
		how_much.count = strtoul(v, NULL, 0);
	} else if (!strcmp(o, "-at")) {
		how_much.lo = strtoul(v, &at, 0);
		how_much.hi = *at ? strtoul(at + 1, NULL, 0) : how_much.lo + 1;
	} else if (!strcmp(o, "-open")) {
		how_much.open = v;
	} else if (!strcmp(o, "-as")) {
		opts.as = v;
	} else if (!strcmp(o, "-config")) {
		opts.config = v;
	} else if (!strcmp(o, "-cpu")) {
		opts.cpu = v;
	} else if (!strcmp(o, "-sysroot")) {
		opts.sysroot = v;
	} else if (!strcmp(o, "-elf")) {
		at = strrchr(argv[i + 1], '@');
		elf = (struct hwt_elf_arg){ v, HWT_NO_ADDR };
		if (at) {
			*at = 0;
			elf.addr = strtoull(at + 1, NULL, 0);
		}
		opts.elfs = &elf;
		opts.nelfs = 1;
	} else {
		return -1;
	}
	return i + 1;
}

static void undamaged(void)
{
	struct result r;

	put_victim(good, good_n);
	try("undamaged", 0, good_n, &r);
	if (!r.opened && (declared || is_pipe || is_trace))
		fail("the undamaged capture does not open", "undamaged", 0);
	if (r.cut_notes && (declared || is_pipe || is_trace))
		fail("the undamaged capture is said to be cut", "undamaged", 0);
	if (!is_trace)
		return;
	if (trace_buf == SIZE_MAX)
		fail("this file is no trace buffer", "undamaged", 0);
	clean_evs = evs;
	evs = (struct events){ 0 };
	head = need(calloc(nsyncs + 1, sizeof(*head)));
	tail = need(calloc(nsyncs + 1, sizeof(*tail)));
	for (size_t i = 1; i < nsyncs; i++)	/* sources of one buffer take turns */
		if (sync_at[i] < sync_at[i - 1])
			sync_at[i] = sync_at[i - 1];
}

static void damage_all(void)
{
	unsigned char *bad = need(malloc(good_n + 1));
	size_t hi = good_n < how_much.hi ? good_n : how_much.hi, n, done = 0;
	size_t lo = how_much.lo < hi ? how_much.lo : hi;
	struct result r;
	bool full;

	n = hi - lo;
	full = how_much.full || n <= how_much.count || (n <= FULL_SIZE && !how_much.few);
	for (size_t k = 0; k < (full ? n : how_much.count); k++) {
		size_t off = lo + k;

		if (!full) {
			how_much.seed = how_much.seed * 6364136223846793005ul +
					1442695040888963407ul;
			off = lo + (how_much.seed >> 20) % n;
		}
		bytes_at(off, bad);
		put_victim(good, off);
		try("cut", off, off, &r);
		check_cut(off, &r);
		done++;
	}
	free(bad);
	printf("%zu of %zu offsets, %lu variants: %lu opened, %lu refused, heap %zu KiB",
	       done, good_n, variants, opened, refused, heap_peak >> 10);
	if (is_trace)
		printf("; cuts %lu inside, %lu between packets; %zu syncs, %lu with other blocks",
		       cuts_inside, cuts_between, nsyncs, blocks_tried);
	printf("; %lu failures\n", failures);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *from;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-' && i > 0; i++) {
		i = option(argc, argv, i);
		if (i < 0)
			break;
	}
	if (i < 0 || i >= argc) {
		fprintf(stderr, "usage: damage [options] CAPTURE [FILE]\n");
		return 2;
	}
	from = argv[i];
	good = set_up(from, i + 1 < argc ? argv[i + 1] : "", how_much.open, &good_n);
	if (!good) {
		fprintf(stderr, "damage: %s can not be read or copied\n", from);
		return 1;
	}
	signal(SIGVTALRM, too_long);
	heap_on_death(died);
	undamaged();
	damage_all();
	return failures != 0;
}
