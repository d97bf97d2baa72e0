/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damages one file of a capture in every way that the rules name (each byte to 00, ff, ^01, ^80;
 * cut at each offset), opens each variant in this process, decodes it whole, and checks what must
 * hold for any input: a typed error with words or a readable capture, bytes in = decoded +
 * skipped, packets cover the buffer, times that do not go back, work and memory at most linear.
 *
 * damage [-full|-few] [-seed N] [-n COUNT] [-at LO-HI] [-part N] [-declared|-pipe|-trace|-probe]
 *	[-open NAME] [-as FORMAT] [-config F] [-cpu F/M/S] [-sysroot DIR] [-elf FILE[@ADDR]]
 *	CAPTURE [FILE]
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
 * -probe: a trace as a DSTREAM probe stores it, 8 bytes of its own behind each 504.
 *
 * -part N, for captures whose decoding takes long: where trace is damaged only a part of it around
 * the damage is decoded, by a session that stays open; where other bytes are damaged the capture
 * is opened and its own events are read, but of its trace only 1 KiB is decoded, another one each
 * time. Each Nth variant is decoded whole as well, and then what the part gave must be in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/dmg.h"

#define FULL_SIZE	2048	/* bytes up to which every offset is tried */

static struct hwt_elf_arg elf;

static struct {
	bool full, few;
	unsigned long count, seed, part;
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
	dmg.declared |= !strcmp(o, "-declared");
	dmg.is_pipe |= !strcmp(o, "-pipe");
	dmg.is_probe |= !strcmp(o, "-probe");
	dmg.is_trace |= !strcmp(o, "-trace") || !strcmp(o, "-probe");
	if (!strcmp(o, "-full") || !strcmp(o, "-few") || !strcmp(o, "-declared") ||
	    !strcmp(o, "-pipe") || !strcmp(o, "-trace") || !strcmp(o, "-probe"))
		return i;
	if (!v)
		return -1;
	if (!strcmp(o, "-seed")) {
		how_much.seed = strtoul(v, NULL, 0);
	} else if (!strcmp(o, "-n")) {
		how_much.count = strtoul(v, NULL, 0);
	} else if (!strcmp(o, "-part")) {
		how_much.part = strtoul(v, NULL, 0);
	} else if (!strcmp(o, "-at")) {
		how_much.lo = strtoul(v, &at, 0);
		how_much.hi = *at ? strtoul(at + 1, NULL, 0) : how_much.lo + 1;
	} else if (!strcmp(o, "-open")) {
		how_much.open = v;
	} else if (!strcmp(o, "-as")) {
		dmg.opts.as = v;
	} else if (!strcmp(o, "-config")) {
		dmg.opts.config = v;
	} else if (!strcmp(o, "-cpu")) {
		dmg.opts.cpu = v;
	} else if (!strcmp(o, "-sysroot")) {
		dmg.opts.sysroot = v;
	} else if (!strcmp(o, "-elf")) {
		at = strrchr(argv[i + 1], '@');
		elf = (struct hwt_elf_arg){ v, HWT_NO_ADDR };
		if (at) {
			*at = 0;
			elf.addr = strtoull(at + 1, NULL, 0);
		}
		dmg.opts.elfs = &elf;
		dmg.opts.nelfs = 1;
	} else {
		return -1;
	}
	return i + 1;
}


/* Is this variant's turn to be decoded whole? */
static bool whole_turn(void)
{
	static unsigned long n;

	return !how_much.part || !(++n % how_much.part);
}

/* One variant of the victim; @bad holds its first @n bytes. */
static void one(const char *how, size_t off, const unsigned char *bad, size_t n, bool cut)
{
	struct dmg_variant v = { .how = how, .off = off, .p = bad, .n = n, .buf = SIZE_MAX };
	struct dmg_events part = { 0 };
	struct dmg_window w;
	struct dmg_variant pv;
	struct dmg_result r;
	bool whole = whole_turn(), windowed = false, in_trace = dmg_window(&w, off);

	if (in_trace)
		v.buf = w.buf;
	if (how_much.part && in_trace && (!cut || (dmg.is_trace && off > w.at))) {
		windowed = true;
		pv = v;
		pv.w = &w;
		pv.p = bad + w.at;
		pv.n = cut ? off - w.at : (size_t)(w.hi - w.lo);
		dmg_try(&pv, &r);
		if (whole) {
			part.v = dmg_need(malloc((dmg.evs.n + 1) * sizeof(*part.v)));
			part.n = dmg.evs.n;
			if (part.n)
				memcpy(part.v, dmg.evs.v, part.n * sizeof(*part.v));
		}
		if (cut)
			dmg_check_cut(&pv, &r);
		else
			dmg_check_blocks(&pv, &r);
		if (!whole)
			return;
	}
	v.brief = !whole;
	dmg_try(&v, &r);
	if (windowed && r.opened)
		dmg_compare(&pv, &part, &v);
	free(part.v);
	if (cut)
		dmg_check_cut(&v, &r);
	else if (in_trace && dmg.is_trace)
		dmg_check_blocks(&v, &r);
}

static void bytes_at(size_t off, unsigned char *bad)
{
	static const char *const how[] = { "byte to 00", "byte to ff", "byte ^01", "byte ^80" };
	const unsigned char was = dmg.good[off], v[] = { 0, 0xff, was ^ 1, was ^ 0x80 };

	for (int m = 0; m < 4; m++) {
		if (v[m] == was)
			continue;
		bad[off] = v[m];
		one(how[m], off, bad, dmg.good_n, false);
	}
	bad[off] = was;
}

static void report(size_t done)
{
	printf("%zu of %zu offsets, %lu variants: %lu opened, %lu refused, heap %zu KiB",
	       done, dmg.good_n, dmg.variants, dmg.opened, dmg.refused, dmg.heap_peak >> 10);
	if (how_much.part)
		printf("; %lu in part, %lu in brief, %lu compared", dmg.windows, dmg.briefs,
		       dmg.compared);
	if (dmg.is_trace)
		printf("; cuts %lu inside, %lu between packets", dmg.cuts_inside,
		       dmg.cuts_between);
	if (dmg.blocks)
		printf("; %lu with other blocks, %lu with another time, %lu over one more sync",
		       dmg.blocks, dmg.times, dmg.spilled);
	printf("; %lu failures\n", dmg.failures);
	fflush(stdout);
}

static void damage_all(void)
{
	unsigned char *bad = dmg_need(malloc(dmg.good_n + 1));
	size_t hi = dmg.good_n < how_much.hi ? dmg.good_n : how_much.hi, n, done = 0;
	size_t lo = how_much.lo < hi ? how_much.lo : hi;
	bool full;

	memcpy(bad, dmg.good, dmg.good_n);
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
		one("cut", off, bad, off, true);
		done++;
	}
	free(bad);
	report(done);
}

int main(int argc, char **argv)
{
	const char *from;
	int i;

	dmg.opts.size = sizeof(dmg.opts);
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
	if (!dmg_copy(from, i + 1 < argc ? argv[i + 1] : "", how_much.open)) {
		fprintf(stderr, "damage: %s can not be read or copied\n", from);
		return 1;
	}
	dmg_learn();
	damage_all();
	return dmg.failures != 0;
}
