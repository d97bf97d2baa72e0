/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replays inputs through a fuzz target without libFuzzer:
 *   fuzz_x [-mutate=N] [-seed=S] [FILE|DIRECTORY]...
 * Without a name: tests/fuzz/corpus/x. -mutate runs N variants of the inputs as well; the same
 * seed gives the same variants. Each input lies in a heap block of its exact size, so that a
 * sanitizer sees the first byte read past it.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define INPUT_MAX (1 << 20)	/* bytes of a mutated input */

struct input { uint8_t *p; size_t n; };
static struct input *inputs;
static size_t ninputs;

static void fail(const char *what, const char *name)
{
	fprintf(stderr, "%s: %s\n", name, what);
	exit(1);
}

static void *need(void *p)
{
	if (!p)
		fail("out of memory", "driver");
	return p;
}

static void run(const uint8_t *p, size_t n)
{
	uint8_t *copy = need(malloc(n ? n : 1));

	if (n)
		memcpy(copy, p, n);
	LLVMFuzzerTestOneInput(n ? copy : NULL, n);
	free(copy);
}

static void add_file(const char *path, off_t size)
{
	FILE *f = fopen(path, "rb");
	struct input in = { need(malloc((size_t)size + 1)), 0 };

	if (!f)
		fail("can not open", path);
	in.n = fread(in.p, 1, (size_t)size, f);
	fclose(f);
	inputs = need(realloc(inputs, (ninputs + 1) * sizeof(*inputs)));
	inputs[ninputs++] = in;
}

static void add(const char *path)
{
	struct dirent **v;
	struct stat st;
	char name[4096];
	int n;

	if (stat(path, &st))
		fail("can not open", path);
	if (S_ISREG(st.st_mode)) {
		add_file(path, st.st_size);
		return;
	}
	n = scandir(path, &v, NULL, alphasort);
	if (n < 0)
		fail("can not read directory", path);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, v[i]->d_name);
		if (v[i]->d_name[0] != '.' && !stat(name, &st) && S_ISREG(st.st_mode))
			add_file(name, st.st_size);
		free(v[i]);
	}
	free(v);
}

static uint64_t state;

/* xorshift64*, Vigna 2016; enough to choose places */
static size_t below(size_t n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return n ? (size_t)((state * 0x2545f4914f6cdd1dull) >> 16) % n : 0;
}

/* Puts @n bytes at @at; what does not fit is dropped. */
static void insert(struct input *b, size_t at, const uint8_t *p, size_t n)
{
	if (n > INPUT_MAX - b->n)
		n = INPUT_MAX - b->n;
	memmove(b->p + at + n, b->p + at, b->n - at);
	memcpy(b->p + at, p, n);
	b->n += n;
}

static void mutate_once(struct input *b, uint8_t *tmp)
{
	const struct input *o = &inputs[below(ninputs)];
	size_t at = below(b->n + 1), len = below(b->n - at + 1), from;

	if (len > 64 && below(4))
		len = below(64);
	switch (below(8)) {
	case 0: if (at < b->n) b->p[at] = 0; break;
	case 1: if (at < b->n) b->p[at] = 0xff; break;
	case 2: if (at < b->n) b->p[at] ^= 1; break;
	case 3: if (at < b->n) b->p[at] ^= 0x80; break;
	case 4: b->n = at; break;
	case 5:
		memmove(b->p + at, b->p + at + len, b->n - at - len);
		b->n -= len;
		break;
	case 6:
		memcpy(tmp, b->p + at, len);
		insert(b, at, tmp, len);
		break;
	case 7:
		from = below(o->n + 1);
		len = below(o->n - from + 1);
		insert(b, at, o->p + from, len);
		break;
	}
}

static void mutate(unsigned long count, unsigned long seed)
{
	struct input b = { need(malloc(INPUT_MAX)), 0 };
	uint8_t *tmp = need(malloc(INPUT_MAX));

	state = seed * 2 + 1;
	for (unsigned long i = 0; i < count; i++) {
		const struct input *in = &inputs[i % ninputs];

		b.n = in->n < INPUT_MAX ? in->n : INPUT_MAX;
		memcpy(b.p, in->p, b.n);
		for (size_t k = below(4) + 1; k; k--)
			mutate_once(&b, tmp);
		run(b.p, b.n);
	}
	free(b.p);
	free(tmp);
}

static void add_default(const char *argv0)
{
	const char *base = strrchr(argv0, '/'), *t;
	char name[4096];

	base = base ? base + 1 : argv0;
	t = strncmp(base, "fuzz_", 5) ? base : base + 5;
	snprintf(name, sizeof(name), "tests/fuzz/corpus/%s", t);
	add(name);
}

int main(int argc, char **argv)
{
	unsigned long count = 0, seed = 1;
	int named = 0;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "-mutate=", 8)) {
			count = strtoul(argv[i] + 8, NULL, 0);
		} else if (!strncmp(argv[i], "-seed=", 6)) {
			seed = strtoul(argv[i] + 6, NULL, 0);
		} else {
			add(argv[i]);
			named = 1;
		}
	}
	if (!named)
		add_default(argv[0]);
	if (!ninputs)
		fail("no inputs", argv[0]);
	for (size_t i = 0; i < ninputs; i++)
		run(inputs[i].p, inputs[i].n);
	mutate(count, seed);
	printf("# %lu inputs\n", (unsigned long)ninputs + count);
	for (size_t i = 0; i < ninputs; i++)
		free(inputs[i].p);
	free(inputs);
	return 0;
}
