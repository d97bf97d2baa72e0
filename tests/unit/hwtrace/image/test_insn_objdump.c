/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Truth: the disassembler of binutils (x86, A64) and of LLVM (A32, T32) on real programs: length,
 * branch class and target of each instruction. Arguments are files: then all of them is compared.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/image.h>

struct line {
	uint64_t addr, target;
	uint8_t bytes[16];
	unsigned n;
	char mnem[48], ops[200];
};

static const char *const kinds[] = {
	"other", "call", "icall", "return", "jump", "ijump", "branch", "far-call", "far-return",
	"far-jump", "ptwrite", "barrier",
};

/* "  addr:\tbytes\tmnemonic operands"; 0 for any other line. @word: bytes a group, little endian */
static int parse(struct line *l, char *s, unsigned isa)
{
	char *end, *tab;

	memset(l, 0, sizeof(*l));
	l->addr = strtoull(s, &end, 16);
	if (end == s || *end != ':')
		return 0;
	s = end + 1;
	while (isspace((unsigned char)*s))
		s++;
	tab = strchr(s, '\t');
	if (!tab)
		return 0;
	while (s < tab && l->n < sizeof(l->bytes)) {
		char *g = s;
		unsigned size;

		while (g < tab && isxdigit((unsigned char)*g))
			g++;
		size = (unsigned)(g - s) / 2;
		for (unsigned i = 0; i < size && l->n < sizeof(l->bytes); i++) {
			unsigned at = size > 1 ? size - 1 - i : i;
			char hex[3] = { s[2 * at], s[2 * at + 1], 0 };

			l->bytes[l->n++] = (uint8_t)strtoul(hex, NULL, 16);
		}
		for (s = g; s < tab && *s == ' '; s++)
			;
		if (!size)
			break;
	}
	sscanf(tab + 1, "%47s %199[^\n]", l->mnem, l->ops);
	return l->n > 0 && l->mnem[0];
}

static int one_of(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; n && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return 1;
	return 0;
}

/* Text of AT&T syntax: takes prefixes off. */
static void strip_prefixes(struct line *l)
{
	while (one_of("bnd notrack data16 addr32 lock rep repz repnz cs ds es ss fs gs data32 "
		      "addr16 xacquire xrelease", l->mnem) || !strncmp(l->mnem, "rex", 3) ||
	       (l->mnem[0] && !strcmp(l->mnem + strlen(l->mnem) - 1, ","))) {
		char rest[200];

		strcpy(rest, l->ops);
		l->mnem[0] = l->ops[0] = 0;
		if (sscanf(rest, "%47s %199[^\n]", l->mnem, l->ops) < 1)
			return;
	}
	char *pt = strstr(l->mnem, ",p");	/* branch hint */

	if (pt)
		*pt = 0;
}

static int x86_kind(struct line *l)
{
	const char *m = l->mnem;

	strip_prefixes(l);
	m = l->mnem;
	if (one_of("call callq calll callw", m))
		return l->ops[0] == '*' ? HWT_INSN_ICALL : HWT_INSN_CALL;
	if (one_of("jmp jmpq jmpl jmpw", m))
		return l->ops[0] == '*' ? HWT_INSN_IJUMP : HWT_INSN_JUMP;
	if (one_of("ret retq retl retw", m))
		return HWT_INSN_RETURN;
	if (one_of("lcall lcallw lcallq lcalll syscall sysenter int int3 int1 into vmcall vmmcall "
		   "seamcall tdcall", m))
		return HWT_INSN_FAR_CALL;
	if (one_of("lret lretq lretw lretl iret iretq iretw iretl sysret sysretq sysretl sysexit "
		   "sysexitq sysexitl rsm uiret seamret eretu erets", m))
		return HWT_INSN_FAR_RETURN;
	if (one_of("ljmp ljmpw ljmpq ljmpl vmlaunch vmresume vmrun", m))
		return HWT_INSN_FAR_JUMP;
	if (m[0] == 'j' || !strncmp(m, "loop", 4))
		return HWT_INSN_BRANCH;
	return !strncmp(m, "ptwrite", 7) ? HWT_INSN_PTWRITE : HWT_INSN_OTHER;
}

static int a64_kind(struct line *l)
{
	const char *m = l->mnem;

	if (!strcmp(m, "b"))
		return HWT_INSN_JUMP;
	if (!strcmp(m, "bl"))
		return HWT_INSN_CALL;
	if (!strncmp(m, "b.", 2) || !strncmp(m, "bc.", 3) || one_of("cbz cbnz tbz tbnz", m))
		return HWT_INSN_BRANCH;
	if (one_of("br braa brab braaz brabz", m))
		return HWT_INSN_IJUMP;
	if (!strncmp(m, "blr", 3))
		return HWT_INSN_ICALL;
	if (one_of("ret retaa retab", m))
		return HWT_INSN_RETURN;
	if (one_of("eret eretaa eretab", m))
		return HWT_INSN_FAR_RETURN;
	if (one_of("svc hvc smc", m))
		return HWT_INSN_FAR_CALL;
	return one_of("isb dsb dmb wfi wfe wfet wfit ssbb pssbb", m) ? HWT_INSN_BARRIER :
		HWT_INSN_OTHER;
}

/* Removes the condition from an Arm mnemonic, and the width; 1 if there was a condition. */
static int arm_base(char *m)
{
	static const char conds[] = "eq ne hs lo cs cc mi pl vs vc hi ls ge lt gt le al";
	char *dot = strrchr(m, '.');
	size_t n;

	if (dot && (!strcmp(dot, ".w") || !strcmp(dot, ".n")))
		*dot = 0;
	n = strlen(m);
	if (n > 2 && one_of(conds, m + n - 2) &&
	    !one_of("teq bls svc hvc smc movs subs adds muls sbcs adcs bics rscs", m)) {
		m[n - 2] = 0;
		return 1;
	}
	return 0;
}

static int arm_to_pc(const struct line *l)
{
	return !strncmp(l->ops, "pc,", 3);
}

static int arm_kind(struct line *l, unsigned isa)
{
	char *m = l->mnem;
	int cond;

	if (!strcmp(m, "bls") || !strcmp(m, "bls.w"))
		return HWT_INSN_BRANCH;
	cond = arm_base(m);
	if (one_of("b", m))
		return cond ? HWT_INSN_BRANCH : HWT_INSN_JUMP;
	if (one_of("bl", m) || (one_of("blx", m) && strchr(l->ops, '#')))
		return HWT_INSN_CALL;
	if (one_of("blx", m))
		return HWT_INSN_ICALL;
	if (one_of("cbz cbnz", m))
		return HWT_INSN_BRANCH;
	if (one_of("bx bxj", m))
		return !strcmp(l->ops, "lr") && m[2] != 'j' ? HWT_INSN_RETURN : HWT_INSN_IJUMP;
	if (one_of("tbb tbh", m))
		return HWT_INSN_IJUMP;
	if (one_of("svc hvc smc swi", m))
		return HWT_INSN_FAR_CALL;
	if (!strncmp(m, "rfe", 3) || one_of("eret", m))
		return HWT_INSN_FAR_RETURN;
	if ((!strncmp(m, "ldm", 3) || !strcmp(m, "pop")) && strstr(l->ops, "pc}")) {
		if (strchr(l->ops, '^'))
			return HWT_INSN_FAR_RETURN;
		return !strcmp(m, "pop") || !strncmp(l->ops, "sp", 2) ||
		       (isa == HWT_ISA_A32 && strstr(l->ops, "sp, ")) ?
			HWT_INSN_RETURN : HWT_INSN_IJUMP;
	}
	if (one_of("isb dsb dmb wfi wfe", m))
		return HWT_INSN_BARRIER;
	if (!arm_to_pc(l) || one_of("cmp cmn tst teq msr mcr", m) || !strncmp(m, "str", 3) ||
	    !strncmp(m, "pld", 3) || !strncmp(m, "pli", 3))
		return HWT_INSN_OTHER;
	if (!strcmp(m, "ldr"))
		return !strcmp(l->ops, "pc, [sp], #4") ? HWT_INSN_RETURN : HWT_INSN_IJUMP;
	if (one_of("subs movs adds ands orrs eors mvns bics rsbs adcs sbcs rscs lsls lsrs asrs "
		   "rors rrxs", m))
		return HWT_INSN_FAR_RETURN;
	if (!strcmp(m, "mov") && !strcmp(l->ops, "pc, lr"))
		return HWT_INSN_RETURN;
	return one_of("mov add sub and orr eor mvn bic rsb adc sbc rsc lsl lsr asr ror rrx adr",
		      m) ? HWT_INSN_IJUMP : HWT_INSN_OTHER;
}

static uint64_t target_of(const struct line *l)
{
	const char *p = strrchr(l->ops, ',');
	char *end;
	uint64_t v;

	p = p && strncmp(p + 1, "0x", 2) && !strchr(l->ops, '<') ? l->ops : p ? p + 1 : l->ops;
	while (*p == ' ')
		p++;
	v = strtoull(p, &end, 16);
	return end == p || (*end && *end != ' ') ? HWT_NO_ADDR : v;
}

struct sum { unsigned long seen, branches, unknown, bad; };

/*
 * Where the peer is known to differ, on data between functions and on made-up bytes:
 *  - it takes WAIT as a prefix of the x87 instruction behind it;
 *  - it lets VEX, EVEX and XOP have prefixes in front with which they fault (SDM vol. 2, 2.3.2);
 *  - it knows the test registers of the 80486 (0f 24, 0f 26);
 *  - it does not cut the target where a 66 in 32-bit mode makes the address 16 bits wide.
 */
static int peer_quirk(const struct line *l, unsigned isa)
{
	const uint8_t *b = l->bytes, *end = b + l->n;
	int fatal = 0, p66 = 0;

	for (; b < end; b++) {
		if (*b == 0x66)
			p66 = 1;
		if (*b == 0x66 || *b == 0xf0 || *b == 0xf2 || *b == 0xf3 ||
		    (isa == HWT_ISA_X86_64 && *b >> 4 == 4))
			fatal = 1;
		else if (*b != 0x67 && (*b & 0xe7) != 0x26 && (*b & 0xfe) != 0x64)
			break;
	}
	if (b + 1 >= end)
		return 0;
	if (*b == 0x9b || (*b == 0x0f && (b[1] == 0x24 || b[1] == 0x26)))
		return 1;
	if (isa == HWT_ISA_X86_32 && p66 && (*b >> 4 == 7 || *b >> 4 == 14 || *b == 0x0f))
		return *b != 0x0f || b[1] >> 4 == 8;
	if (*b == 0xc4 || *b == 0xc5 || *b == 0x62 || *b == 0x8f)
		return fatal;
	return 0;
}

static void check(struct line *l, unsigned isa, struct sum *s)
{
	struct hwt_insn in;
	uint8_t buf[32];
	int want, err;
	uint64_t to;

	/* behind what it does not know LLVM goes on at the next byte */
	if (isa == HWT_ISA_T32 && (strstr(l->mnem, "<und>") ||	/* condition of such an IT */
	    (l->n == 4 && arm_to_pc(l) && strncmp(l->mnem, "ldr", 3)))) {	/* unpredictable */
		s->unknown++;
		return;
	}
	if ((isa <= HWT_ISA_X86_16 && peer_quirk(l, isa)) ||
	    (isa >= HWT_ISA_A64 && l->addr & 1)) {
		s->unknown++;
		return;
	}
	if (strstr(l->mnem, "(bad)") || strstr(l->ops, "(bad)") || l->mnem[0] == '.' ||
	    l->mnem[0] == '<' || !strcmp(l->mnem, "udf") || strstr(l->ops, "<unknown>")) {
		s->unknown++;
		return;
	}
	want = isa <= HWT_ISA_X86_16 ? x86_kind(l) : isa == HWT_ISA_A64 ? a64_kind(l) :
		arm_kind(l, isa);
	if (!l->mnem[0]) {
		s->unknown++;	/* prefixes only */
		return;
	}
	to = target_of(l);
	/* bytes behind the instruction must not matter */
	memset(buf, 0xcc, sizeof(buf));
	memcpy(buf, l->bytes, l->n);
	err = hwt_insn_decode(&in, isa, l->addr, buf, sizeof(buf));
	s->seen++;
	s->branches += want != HWT_INSN_OTHER;
	/* made-up IT instructions lend their condition to what the peer prints behind them */
	if (isa == HWT_ISA_T32 && (in.kind == HWT_INSN_JUMP || in.kind == HWT_INSN_BRANCH) &&
	    (want == HWT_INSN_JUMP || want == HWT_INSN_BRANCH))
		want = in.kind;
	if (!err && in.size == l->n && in.kind == want &&
	    (in.target == HWT_NO_ADDR || to == HWT_NO_ADDR || in.target == to) &&
	    hwt_insn_decode(&in, isa, l->addr, buf, l->n - 1) == -HWT_E_MORE)
		return;
	if (s->bad++ < 20) {
		printf("%llx:", (unsigned long long)l->addr);
		for (unsigned i = 0; i < l->n; i++)
			printf(" %02x", l->bytes[i]);
		printf(" %s %s: peer %s %u bytes, ours %s %u bytes to %llx (%d)\n", l->mnem, l->ops,
		       kinds[want], l->n, err ? "?" : kinds[in.kind], err ? 0 : in.size,
		       err ? 0 : (unsigned long long)in.target, err);
	}
}

static int run(const char *cmd, unsigned isa, const char *what, struct sum *all)
{
	static char s[1024];
	struct sum sum = { 0 };
	struct line l;
	FILE *f = popen(cmd, "r");

	if (!f)
		return 1;
	while (fgets(s, sizeof(s), f))
		if (parse(&l, s, isa))
			check(&l, isa, &sum);
	pclose(f);
	if (sum.seen)
		printf("# %s: %lu instructions, %lu branches, %lu unknown to the peer, "
		       "%lu differ\n", what, sum.seen, sum.branches, sum.unknown, sum.bad);
	all->seen += sum.seen;
	all->bad += sum.bad;
	return 0;
}

/* near branches ignore the operand size prefix, as on the processors that have this trace */
#define X86	"objdump -dwM intel64 %s"
#define A64	"aarch64-linux-gnu-objdump -d %s"

static const struct target {
	const char *cmd;	/* prints a listing of the file %s */
	const char *file;	/* "@..." lies in the captures */
	unsigned isa;
	unsigned lines;		/* compared in a normal run */
} targets[] = {
	{ X86, "/usr/bin/perf", HWT_ISA_X86_64, 400000 },
	{ X86, "/usr/lib/x86_64-linux-gnu/libc.so.6", HWT_ISA_X86_64, 400000 },
	{ X86, "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", HWT_ISA_X86_64, 300000 },
	{ A64, "/usr/aarch64-linux-gnu/lib/libc.so.6", HWT_ISA_A64, 300000 },
	{ A64, "@arm/fib-files/libc-2.31.so", HWT_ISA_A64, 300000 },
};

/* xorshift: the same words in each run */
static uint32_t rnd(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 16);
}

/* Made-up instructions: what no compiler emits. */
#define IN	"exec 2>/dev/null; cd %s && "
#define LLVM	"clang --target=armv8a-none-eabi -c -o o -x assembler s && llvm-objdump -d o"

static const struct made {
	const char *cmd;	/* %s is the directory */
	const char *what;
	unsigned isa, count;
} mades[] = {
	{ IN "objdump -D -b binary -m i386:x86-64 -wM intel64 bin", "x86-64 bytes",
		HWT_ISA_X86_64, 300000 },
	{ IN "objdump -D -b binary -m i386 -w bin", "x86-32 bytes", HWT_ISA_X86_32, 300000 },
	{ IN "objdump -D -b binary -m i8086 -w bin", "x86-16 bytes", HWT_ISA_X86_16, 300000 },
	{ IN "aarch64-linux-gnu-objdump -D -b binary -m aarch64 bin", "A64 words",
		HWT_ISA_A64, 400000 },
	{ IN LLVM, "A32 words", HWT_ISA_A32, 200000 },
	{ IN LLVM, "T32 words", HWT_ISA_T32, 200000 },
};

/* Branches are rare in random words: every other one lies in their part of the space. */
static uint32_t arm_word(unsigned isa, unsigned i)
{
	static const uint32_t t[][2] = {	/* value, bits that are free */
		{ 0xf0008000, 0x07ff7fff }, { 0xe8100000, 0x01efffff }, { 0xf850f000, 0x00ef0fff },
		{ 0xe8d0f000, 0x000f00ff }, { 0xf3a08000, 0x007f2fff },
	};
	static const uint32_t a[][2] = {
		{ 0x01200000, 0xf07fffff }, { 0x08108000, 0xf1ef7fff }, { 0x0410f000, 0xf3af0fff },
		{ 0x0000f000, 0xf3ff0fff }, { 0x0a000000, 0xf5ffffff }, { 0x012fff00, 0xf00000ff },
	};
	uint32_t w = rnd();

	if (isa == HWT_ISA_T32 && i & 1)
		return t[i / 2 % 5][0] | (w & t[i / 2 % 5][1]);
	if (isa == HWT_ISA_A32 && i & 1)
		return a[i / 2 % 6][0] | (w & a[i / 2 % 6][1]);
	if (isa == HWT_ISA_A64 && i & 1)	/* branches and system instructions */
		return 0x14000000 | (w & 0xe3ffffff);
	if (isa == HWT_ISA_A64 && i & 2)	/* register branches that are nearly valid */
		return 0xd61f0000 | (w & (i & 4 ? 0x01e00fff : 0x01e003e0)) | (i & 8 ? 31 : 0);
	return w;
}

static void made_file(const char *dir, const struct made *m)
{
	char path[256];
	FILE *bin, *s;

	snprintf(path, sizeof(path), "%s/bin", dir);
	bin = fopen(path, "w");
	snprintf(path, sizeof(path), "%s/s", dir);
	s = fopen(path, "w");
	if (!bin || !s)
		exit(1);
	fputs(m->isa == HWT_ISA_T32 ? ".thumb\n" : "", s);
	for (unsigned i = 0; i < m->count; i++) {
		uint32_t w = arm_word(m->isa, i);

		if (m->isa <= HWT_ISA_X86_16 && i % 3 == 0) {
			/* an escape to each of the maps, then what its prefix holds */
			static const uint8_t esc[] = { 0x0f, 0xc4, 0xc5, 0x62, 0x8f, 0xf3, 0x66,
				0xf2 };

			w = (w & 0xffffff00) | esc[i / 3 % sizeof(esc)];
		}
		fwrite(&w, 4, 1, bin);
		if (m->isa == HWT_ISA_A32)
			fprintf(s, ".inst 0x%08x\n", w);
		else if (m->isa == HWT_ISA_T32 && w >> 27 >= 0x1d)
			fprintf(s, ".inst.w 0x%08x\n", w);
		else if (m->isa == HWT_ISA_T32 && (w & 0xffff) >> 11 < 0x1d)
			fprintf(s, ".inst.n 0x%04x\n", w & 0xffff);
	}
	fclose(bin);
	fclose(s);
}

static void made_run(struct sum *all)
{
	char dir[] = "/tmp/hwt-insn-XXXXXX", cmd[512];

	if (!mkdtemp(dir))
		exit(1);
	for (size_t i = 0; i < sizeof(mades) / sizeof(mades[0]); i++) {
		made_file(dir, &mades[i]);
		snprintf(cmd, sizeof(cmd), mades[i].cmd, dir);
		run(cmd, mades[i].isa, mades[i].what, all);
	}
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	if (system(cmd))
		exit(1);
}

int main(int argc, char **argv)
{
	const char *caps = getenv("HWT_CAPTURES");
	struct sum all = { 0 };
	char cmd[1024], path[512];

	if (system("command -v objdump >/dev/null")) {
		puts("objdump is missing");
		return 77;
	}
	if (argc == 4) {	/* command with %s, file, number of the instruction set */
		snprintf(cmd, sizeof(cmd), argv[1], argv[2]);
		run(cmd, (unsigned)atoi(argv[3]), argv[2], &all);
		return all.bad != 0;
	}
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		const struct target *t = &targets[i];

		snprintf(path, sizeof(path), "%s%s%s", *t->file == '@' ?
			 caps ? caps : "../shared/captures" : "", *t->file == '@' ? "/" : "",
			 t->file + (*t->file == '@'));
		if (access(path, R_OK))
			continue;
		int n = snprintf(cmd, sizeof(cmd), t->cmd, path);

		snprintf(cmd + n, sizeof(cmd) - (size_t)n, " 2>/dev/null | head -n %u", t->lines);
		run(cmd, t->isa, strrchr(path, '/') + 1, &all);
	}
	made_run(&all);
	if (!all.seen) {
		puts("none of the files is here");
		return 77;
	}
	return all.bad != 0;
}
