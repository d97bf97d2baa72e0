/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes code, runs it, and writes other code to the same place: a loop that adds up to N, with
 * another N and another step each time. jit [TURNS [PLACES]]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef unsigned (*code_fn)(unsigned);

/*
 * unsigned f(unsigned n) { unsigned s = 0; do s += step; while (--n); return s; }
 * Behind some instructions that do nothing, so that the same address holds other ones each time.
 */
static size_t emit(uint8_t *p, unsigned step)
{
	size_t pad = step % 4;

#if defined(__x86_64__)
	static const uint8_t code[] = {
		0x31, 0xc0,			/* xor eax, eax */
		0x05, 0, 0, 0, 0,		/* add eax, step */
		0xff, 0xcf,			/* dec edi */
		0x75, 0xf7,			/* jnz to the add */
		0xc3
	};

	memset(p, 0x90, pad);
	memcpy(p + pad, code, sizeof(code));
	memcpy(p + pad + 3, &step, 4);
	return pad + sizeof(code);
#elif defined(__aarch64__)
	uint32_t code[] = {
		0x52800001,			/* mov w1, #0 */
		0x11000021 | (step & 0xfff) << 10,	/* add w1, w1, #step */
		0x71000400,			/* subs w0, w0, #1 */
		0x54ffffc1,			/* b.ne to the add */
		0x2a0103e0,			/* mov w0, w1 */
		0xd65f03c0			/* ret */
	};

	for (size_t i = 0; i < pad; i++)
		memcpy(p + 4 * i, &(uint32_t){ 0xd503201f }, 4);
	memcpy(p + 4 * pad, code, sizeof(code));
	return 4 * pad + sizeof(code);
#elif defined(__arm__)
	uint16_t code[] = {
		0x2100,				/* movs r1, #0 */
		0x3100 | (step & 0xff),		/* adds r1, #step */
		0x3801,				/* subs r0, #1 */
		0xd1fc,				/* bne to the add */
		0x4608,				/* mov r0, r1 */
		0x4770				/* bx lr */
	};

	for (size_t i = 0; i < pad; i++)
		memcpy(p + 2 * i, &(uint16_t){ 0xbf00 }, 2);
	memcpy(p + 2 * pad, code, sizeof(code));
	return 2 * pad + sizeof(code);
#endif
}

/* What a compiler does before its code runs takes longer. */
static void work(void)
{
	static volatile unsigned sink;

	for (unsigned i = 0; i < 4000; i++)
		sink += i;
}

static unsigned run(uint8_t *at, unsigned n)
{
	uintptr_t p = (uintptr_t)at;
	code_fn f;

#ifdef __arm__
	p |= 1;		/* T32 */
#endif
	memcpy(&f, &p, sizeof(f));
	return f(n);
}

int main(int argc, char **argv)
{
	unsigned turns = argc > 1 ? (unsigned)atoi(argv[1]) : 20, bad = 0;
	unsigned places = argc > 2 ? (unsigned)atoi(argv[2]) : 3;
	size_t size = (places + 1) * 4096ul;
	uint8_t *mem = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED || !places)
		return 1;
	for (unsigned i = 0; i < turns; i++) {
		/* some places, each written again and again */
		uint8_t *at = mem + i % places * 4096 + 64;
		unsigned step = i % 200 + 1, n = 20 + i % 50;
		size_t used = emit(at, step);

		__builtin___clear_cache((char *)at, (char *)at + used);
		work();		/* the trace has a time before it runs */
		bad += run(at, n) != step * n;
	}
	printf("%u wrong\n", bad);
	return bad != 0;
}
