/* SPDX-License-Identifier: BSD-2-Clause */
/* Truth: addr2line -i and objdump on programs that are compiled here with -O2 -g. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hwtrace/image/dwarf.h"

static char dir[] = "/tmp/hwt-dwarf-XXXXXX";

static const char src_c[] =
	"#include <stdio.h>\n"
	"static inline __attribute__((always_inline)) int leaf(int x)\n"
	"{\n"
	"	return x * 3 + 1;\n"
	"}\n"
	"static inline __attribute__((always_inline)) int mid(int x)\n"
	"{\n"
	"	int y = 0;\n"
	"	for (int i = 0; i < x; i++)\n"
	"		y += leaf(y ^ i);\n"
	"	return y;\n"
	"}\n"
	"__attribute__((noinline)) int top(int x)\n"
	"{\n"
	"	return mid(x) + leaf(x);\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	printf(\"%d\\n\", top(argc));\n"
	"	return 0;\n"
	"}\n";
static const char src_cc[] =
	"#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
	"namespace deep { template<class T> struct box { T v;\n"
	"	T twice() const { return v + v; }\n"
	"	__attribute__((noinline)) T slow(T k) const { return twice() * k; } }; }\n"
	"namespace deep { struct gt {\n"
	"	bool operator()(int a, int b) const { return a > b; } }; }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	std::vector<int> v(argv + argc == argv ? 1 : 100);\n"
	"	std::map<std::string, int> m;\n"
	"	for (int i = 0; i < 100; i++)\n"
	"		v[i] = (i * 7919) % 101;\n"
	"	std::sort(v.begin(), v.end(), deep::gt());\n"
	"	m[\"a\"] = v[3]; m[argv[0]] = deep::box<int>{v[1]}.slow(argc);\n"
	"	return m.size();\n"
	"}\n";

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int sh(const char *fmt, const char *a, const char *b)
{
	char cmd[1024];

	snprintf(cmd, sizeof(cmd), fmt, dir, a, b);
	return system(cmd);
}

static const char *base(const char *s)
{
	const char *p = strrchr(s, '/');

	return p ? p + 1 : s;
}

/*
 * Some entries have no linkage name; addr2line then names the symbol around the address, which is
 * the outermost frame; so it does for the padding between functions, which are in none. The
 * program has no lambdas, and version 4: addr2line 2.40 gives wrong files for them and for the
 * call sites of version 5.
 */
static int quirk(const char *name, const struct hwt_line *fr, int at, int n)
{
	const char *outer = fr[n - 1].func;

	if (n == 1 && !outer)
		return 1;
	return at < n - 1 && fr[at].func && outer && !strncmp(name, outer, strlen(name));
}

/* Compares every address of .text of @prog, frame by frame; returns the number of frames. */
static unsigned compare(const char *prog, const char *debug)
{
	char path[256], dbg[256], cmd[1024], name[8192], place[8192];
	struct arena strings = { 0 };
	struct hwt_line fr[64];
	unsigned frames = 0, bad = 0, inlined = 0, nameless = 0;
	struct dwarf *d;
	int n = 0, at = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, prog);
	snprintf(dbg, sizeof(dbg), "%s/%s", dir, debug ? debug : prog);
	d = dwarf_open(path, debug ? dbg : NULL);
	assert_non_null(d);
	snprintf(cmd, sizeof(cmd), "objdump -d -j .text %s | "
		 "sed -n 's/^ *\\([0-9a-f]*\\):\\t.*/\\1/p' | "
		 "addr2line -a -i -f -C -e %s", path, dbg);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(name, sizeof(name), f)) {
		name[strcspn(name, "\n")] = 0;
		if (!strncmp(name, "0x", 2)) {
			assert_int_equal(at, n);
			n = dwarf_lines(d, strtoull(name, NULL, 16), fr, 64, &strings);
			at = 0;
			continue;
		}
		assert_non_null(fgets(place, sizeof(place), f));
		place[strcspn(place, "\n")] = 0;
		if (!n && strlen(place) > 1 && !strcmp(place + strlen(place) - 2, ":?"))
			continue;	/* no line there; the name is of the symbol table */
		if (at >= n)
			fail_msg("%s: addr2line has frame %d: %s %s", prog, at, name, place);
		char *colon = strrchr(place, ':');

		assert_non_null(colon);
		*colon = 0;
		if (strcmp(base(place), base(fr[at].file)) || atoi(colon + 1) != fr[at].line ||
		    (strcmp(name, fr[at].func ? fr[at].func : "??") && !quirk(name, fr, at, n))) {
			if (bad++ < 5)
				printf("%s: addr2line %s %s:%s, ours %s %s:%d\n", prog, name,
				       place, colon + 1, fr[at].func, fr[at].file, fr[at].line);
		}
		nameless += !fr[at].func;
		inlined += at > 0;
		frames++;
		at++;
	}
	pclose(f);
	dwarf_close(d);
	arena_free(&strings);
	printf("# %s: %u frames as addr2line, %u of inlined calls\n", prog, frames, inlined);
	assert_int_equal(bad, 0);
	assert_true(inlined > 3 && nameless * 20 < frames + 20);
	return frames;
}

static void programs(void **state)
{
	write_file("a.c", src_c);
	write_file("b.cc", src_cc);
	assert_int_equal(sh("cd %s && gcc -O2 -g -o c5 %s%s", "a.c", ""), 0);
	assert_int_equal(sh("cd %s && gcc -O2 -g -gdwarf-4 -no-pie -o c4 %s%s", "a.c", ""), 0);
	assert_int_equal(sh("cd %s && g++ -O2 -g -gdwarf-4 -o cc %s%s", "b.cc", ""), 0);
	assert_true(compare("c5", NULL) > 15);
	assert_true(compare("c4", NULL) > 15);
	assert_true(compare("cc", NULL) > 500);
}

/* The program is stripped, its debug information lies in another file. */
/* Starts of the statements of each line of @src, as objdump reads the line table. */
static void line_starts(const char *prog, const char *src)
{
	struct { int line; uint64_t addr; int found; } t[2048];
	unsigned n = 0, lines = 0, starts = 0;
	char path[256], cmd[512], text[512];
	struct dwarf *d;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, prog);
	snprintf(cmd, sizeof(cmd), "objdump --dwarf=decodedline %s | awk '$1 == \"%s\" && "
		 "$NF == \"x\" { print $2, $3 }' | sort -u", path, src);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (n < 2048 && fgets(text, sizeof(text), f))
		if (sscanf(text, "%d %" SCNx64, &t[n].line, &t[n].addr) == 2)
			t[n++].found = 0;
	pclose(f);
	d = dwarf_open(path, NULL);
	assert_non_null(d);
	for (int line = 1; line < 30; line++) {
		uint64_t v[256];
		int next = 0, want_next = 0, any = 0;
		size_t got = dwarf_find_line(d, src, line, v, 256, &next);

		assert_true(got <= 256);
		for (size_t k = 0; k < got; k++) {
			unsigned i = 0;

			while (i < n && (t[i].line != line || t[i].addr != v[k]))
				i++;
			if (i == n)
				fail_msg("%s:%d: 0x%" PRIx64 " is no start", src, line, v[k]);
			t[i].found = 1;
		}
		for (unsigned i = 0; i < n; i++) {
			any |= t[i].line == line;
			if (t[i].line > line && (!want_next || t[i].line < want_next))
				want_next = t[i].line;
			if (t[i].line == line && !t[i].found)
				fail_msg("%s:%d: 0x%" PRIx64 " is missing", src, line, t[i].addr);
		}
		if (!any)
			assert_int_equal(next, want_next);
		lines += any;
		starts += (unsigned)got;
		assert_int_equal(dwarf_find_line(d, "other.c", line, v, 256, &next), 0);
	}
	assert_true(lines > 5 && starts >= lines);
	dwarf_close(d);
}

static void starts(void **state)
{
	line_starts("c5", "a.c");
	line_starts("c4", "a.c");
}

static void separate(void **state)
{
	char path[256];

	assert_int_equal(sh("cd %s && objcopy --only-keep-debug cc cc.debug && strip -o ccs cc%s%s",
			    "", ""), 0);
	snprintf(path, sizeof(path), "%s/ccs", dir);
	assert_null(dwarf_open(path, NULL));
	assert_null(dwarf_open("/nonexistent", NULL));
	assert_true(compare("ccs", "cc.debug") > 500);
}

/* A line table that is cut or overwritten gives no line, or some line, and nothing worse. */
static void broken(void **state)
{
	struct arena strings = { 0 };
	struct hwt_line fr[16];
	unsigned opened = 0;
	char path[256], cmd[512];
	long text = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nm %s/c5 | sed -n 's/ T top$//p'", dir);
	f = popen(cmd, "r");
	assert_int_equal(fscanf(f, "%lx", &text), 1);
	pclose(f);
	for (int i = 0; i < 60; i++) {
		/* sections are replaced by their own first i * 8 bytes, or by bytes set to 0xff */
		snprintf(cmd, sizeof(cmd), "cd %s && objcopy -O binary --only-section=.debug_%s "
			 "--set-section-flags .debug_%s=alloc c5 sec && "
			 "{ head -c %d sec; %s; } > cut && "
			 "objcopy --update-section .debug_%s=cut c5 broken 2>/dev/null", dir,
			 i % 3 ? "line" : "info", i % 3 ? "line" : "info", i * 8,
			 i % 2 ? "true" : "head -c 999 /dev/zero | tr '\\0' '\\377'",
			 i % 3 ? "line" : "info");
		if (system(cmd))
			continue;
		snprintf(path, sizeof(path), "%s/broken", dir);
		struct dwarf *d = dwarf_open(path, NULL);

		opened += d != NULL;
		for (long a = text; d && a < text + 64; a++)
			assert_in_range(dwarf_lines(d, (uint64_t)a, fr, 16, &strings), 0, 16);
		dwarf_close(d);
	}
	arena_free(&strings);
	printf("# %u of 60 broken files still opened\n", opened);
	assert_true(opened > 20);
}

static int teardown(void **state)
{
	return sh("rm -rf %s%s%s", "", "");
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(programs), cmocka_unit_test(starts),
		cmocka_unit_test(separate), cmocka_unit_test(broken),
	};

	if (system("for t in gcc g++ addr2line objcopy nm; do "
		   "command -v $t >/dev/null || exit 1; done")) {
		puts("gcc, g++ or binutils are missing");
		return 77;
	}
	if (!mkdtemp(dir))
		return 1;
	return cmocka_run_group_tests(t, NULL, teardown);
}
