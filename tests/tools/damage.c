/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damages one file of a capture in every way that the rules name (each byte to 00, ff, ^01, ^80;
 * cut at each
 * offset), opens each variant in this process, decodes it whole, and checks what must hold for
 * any input:
 * no crash, a typed error with words or a readable capture, bytes in = decoded + skipped, packets
 * cover
 * the buffer, work at most linear, and a cut is never silent.
 *
 * damage [-full] [-seed N] [-n COUNT] [-as FORMAT] [-config F] [-cpu F/M/S] [-elf FILE[@ADDR]]
 * CAPTURE [FILE]
 *
 * CAPTURE is a file, or a directory that is copied with FILE (relative to it) damaged. All
 * offsets if FILE
 * is at most 2 KiB or -full is given, else COUNT (500) seeded ones. Prints one line of counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hwtrace/hwtrace.h>

#define FULL_SIZE	2048	/* bytes up to which every offset is tried */
#define STEPS_BASE	20000	/* library calls allowed for any input ... */
#define STEPS_PER_BYTE	64	/* ... and per byte of trace: one TNT bit may stand for one block */

struct result {
	uint64_t gaps, truncated, cut_notes, opened, refused;
};

static char work[256];		/* temporary directory */
static const char *victim;	/* file that is damaged, absolute, inside @work */
static const char *capture;	/* what is opened, inside @work */
static struct hwt_open_opts opts = { .size = sizeof(opts) };
static struct hwt_elf_arg elf;
static unsigned long failures, variants, opened, refused;

static void fail(const char *what, const char *how, size_t off)
{
	if (failures++ < 20)
		fprintf(stderr, "damage: %s (%s at offset %zu of %s)\n", what, how, off, victim);
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

/* Decodes buffer @i at @level; checks the sums. */
static void flow(struct hwt_session *s, size_t i, enum hwt_level level, const char *how, size_t off,
		 struct result *r)
{
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_event ev[256];
	struct hwt_flow_stats st;
	struct hwt_stream *fs;
	struct hwt_diag d;
	int n;

	want.level = level;
	n = hwt_session_flow(s, i, &want, &fs, &d);
	if (n < 0) {
		if (!d.text[0])
			fail("flow refused without words", how, off);
		return;
	}
	while ((n = hwt_stream_next(fs, ev, 256)) > 0) {
		for (int k = 0; k < n; k++) {
			int cause = ev[k].u.gap.cause;

			if (ev[k].type != HWT_EV_GAP)
				continue;
			r->gaps++;
			if (cause <= HWT_GAP_NONE || cause >= HWT_GAP_CAUSES)
				fail("hole without a cause", how, off);
			if (cause == HWT_GAP_TRUNCATED)
				r->truncated++;
		}
	}
	if (n < 0)
		fail("stream ended in an error", how, off);
	hwt_flow_stats(fs, &st);
	if (st.bytes_in != st.bytes_decoded + st.bytes_skipped)
		fail("bytes do not balance", how, off);
	if (st.steps > STEPS_BASE + STEPS_PER_BYTE * st.bytes_in)
		fail("more work than linear", how, off);
	hwt_stream_close(fs);
}

static void packets(struct hwt_session *s, size_t i, const char *how, size_t off)
{
	struct hwt_buf_info b;
	struct hwt_packets *ps;
	struct hwt_packet pkt;
	struct hwt_diag d;
	uint64_t sum = 0;
	int rc;

	hwt_session_buf(s, i, &b);
	rc = hwt_session_packets(s, i, &ps, &d);
	if (rc < 0) {
		if (!d.text[0])
			fail("packets refused without words", how, off);
		return;
	}
	while ((rc = hwt_packets_next(ps, &pkt)) > 0)
		sum += pkt.size;
	if (rc < 0)
		fail("packets ended in an error", how, off);
	if (b.proto == HWT_PROTO_PT && sum != b.size)
		fail("packets do not cover the buffer", how, off);
	hwt_packets_close(ps);
}

static void try(const char *how, size_t off, struct result *r)
{
	struct hwt_session *s = NULL;
	struct hwt_diag d;
	int rc;

	*r = (struct result){ 0 };
	variants++;
	rc = hwt_session_open(&s, capture, &opts, &d);
	if (rc < 0) {
		refused++;
		r->refused = 1;
		if (s)
			fail("handle written on failure", how, off);
		if (!d.text[0] || !d.id)
			fail("refused without words or error id", how, off);
		return;
	}
	opened++;
	r->opened = 1;
	for (size_t i = 0; hwt_session_note(s, i); i++)
		r->cut_notes += hwt_session_note(s, i)->severity == HWT_NOTE_CUT;
	for (size_t i = 0; i < hwt_session_bufs(s); i++) {
		packets(s, i, how, off);
		flow(s, i, HWT_LEVEL_HOLES, how, off, r);
		flow(s, i, HWT_LEVEL_INSNS, how, off, r);
	}
	hwt_session_close(s);
}

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
	if (st->st_size > 256 << 10 && symlink(p,
		to) == 0)	/* big code dumps are not what is damaged */
		return 0;
	b = slurp(p, &n);
	if (!b || put(to, b, n)) {
		free(b);
		return 1;
	}
	free(b);
	return 0;
}

int main(int argc, char **argv)
{
	static char victim_path[1024], capture_path[1024];
	unsigned long count = 500, seed = 1;
	bool full = false;
	struct result r, clean;
	unsigned char *good, *bad;
	struct stat st;
	size_t n, done = 0;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-full")) {
			full = true;
			continue;
		}
		if (i + 1 >= argc)
			break;
		if (!strcmp(argv[i], "-seed"))
			seed = strtoul(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "-n"))
			count = strtoul(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "-as"))
			opts.as = argv[++i];
		else if (!strcmp(argv[i], "-config"))
			opts.config = argv[++i];
		else if (!strcmp(argv[i], "-cpu"))
			opts.cpu = argv[++i];
		else if (!strcmp(argv[i], "-sysroot"))
			opts.sysroot = argv[++i];
		else if (!strcmp(argv[i], "-elf")) {
			char *at = strchr(argv[++i], '@');

			elf = (struct hwt_elf_arg){ argv[i], HWT_NO_ADDR };
			if (at) {
				*at = 0;
				elf.addr = strtoull(at + 1, NULL, 0);
			}
			opts.elfs = &elf;
			opts.nelfs = 1;
		}
	}
	if (i >= argc || stat(argv[i], &st) || (S_ISDIR(st.st_mode) && i + 1 >= argc)) {
		fprintf(stderr, "usage: damage [options] CAPTURE [FILE]\n");
		return 2;
	}
	snprintf(work, sizeof(work), "%s/hwtrace-damage-XXXXXX",
		 access("/dev/shm",
		W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(work))
		return 1;
	atexit(cleanup);
	snprintf(capture_path, sizeof(capture_path), "%s/c", work);
	if (S_ISDIR(st.st_mode)) {
		copy_from = (int)strlen(argv[i]);
		if (nftw(argv[i], copy_one, 16, FTW_PHYS))
			return 1;
		snprintf(victim_path, sizeof(victim_path), "%s/c/%s", work, argv[i + 1]);
		good = slurp(victim_path, &n);
		if (good && unlink(victim_path))	/* it may be a link to a large file */
			return 1;
	} else {
		snprintf(victim_path, sizeof(victim_path), "%s", capture_path);
		good = slurp(argv[i], &n);
	}
	victim = victim_path;
	capture = capture_path;
	bad = malloc(n + 1);
	if (!good || !bad || put(victim, good, n))
		return 1;
	try("undamaged", 0, &clean);
	if (!clean.opened)
		fail("the undamaged capture does not open", "undamaged", 0);
	full |= n <= FULL_SIZE;
	for (size_t k = 0; k < (full ? n : count); k++) {
		static const char *const how[] = { "byte to 00", "byte to ff", "byte ^01",
			"byte ^80" };
		size_t off = k;

		if (!full) {
			seed = seed * 6364136223846793005ul + 1442695040888963407ul;
			off = (seed >> 20) % n;
		}
		for (int m = 0; m < 4; m++) {
			unsigned char v[] = { 0, 0xff, good[off] ^ 1, good[off] ^ 0x80 };

			if (v[m] == good[off])
				continue;
			memcpy(bad, good, n);
			bad[off] = v[m];
			if (put(victim, bad, n))
				return 1;
			try(how[m], off, &r);
		}
		if (put(victim, good, off))
			return 1;
		try("cut", off, &r);
		done++;
	}
	printf("%zu offsets of %zu bytes, %lu variants: %lu opened, %lu refused with words, "
	       "%lu failures\n",
	       done, n, variants, opened, refused, failures);
	free(good);
	free(bad);
	return failures != 0;
}
