/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight frames. Bit 0 of the first byte: sync words; the rest: size of the pieces. Runs must
 * not depend on the pieces, and all input must be counted.
 */
#include <stdint.h>
#include <stdlib.h>

#include "decoders/tpiu/tpiu.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(int ok)
{
	if (!ok)
		abort();
}

static uint64_t mix(uint64_t h, const struct tpiu_run *r, int n)
{
	for (int i = 0; i < n; i++) {
		check(r[i].n > 0 && r[i].n <= 15 && r[i].id != TPIU_ID_NULL);
		for (unsigned k = 0; k < r[i].n; k++)
			h = (h ^ r[i].data[k] ^ (uint64_t)r[i].id << 8 ^ r[i].off << 16 ^
			     (uint64_t)r[i].unsure << 60) * 0x100000001b3;
	}
	return h;
}

static uint64_t decode(const uint8_t *p, size_t n, int sync_words, size_t piece)
{
	struct tpiu_run r[TPIU_FRAME_RUNS];
	uint64_t h = 0xcbf29ce484222325;
	size_t at = 0, used;
	struct tpiu t;
	int got;

	tpiu_init(&t, sync_words);
	t.dstream = sync_words && tpiu_is_dstream(p, n);
	while (at < n) {
		got = tpiu_decode(&t, p + at, piece < n - at ? piece : n - at, &used, r,
				  TPIU_FRAME_RUNS);
		check(got >= 0 && (got || used));
		at += used;
		h = mix(h, r, got);
		h += t.barrier ? at : 0;
	}
	got = tpiu_flush(&t, r, TPIU_FRAME_RUNS);
	check(got >= 0);
	check(t.st.frame_bytes + t.st.sync_bytes + t.st.skipped + t.st.tail + t.st.probe ==
	      n);
	return mix(h, r, got);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (!n)
		return 0;
	check(decode(p + 1, n - 1, p[0] & 1, n) ==
	      decode(p + 1, n - 1, p[0] & 1, 1 + (p[0] >> 1) % 40));
	return 0;
}
