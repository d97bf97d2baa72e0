/* SPDX-License-Identifier: BSD-2-Clause */
/* Truth: c++filt on the names of the largest C++ libraries at hand; Rust names by its rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/image/demangle.h"

static void plain(void **state)
{
	static const char *const t[][2] = {
		{ "main", "main" },
		{ "", "" },
		{ "_Z", "_Z" },
		{ "_ZN3foo3barEi", "foo::bar(int)" },
		{ "__ZN3foo3barEi", "foo::bar(int)" },
		{ "_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]" },
		{ "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
			"core::fmt::Formatter::write_str" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
			"3bar17h930b740aa94f1d3aE", "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h00000000deadbeefE",
			"std::rt::lang_start::{{closure}}" },
		{ "_ZN13_$RF$$BP$$C$x3fooE", "_$RF$$BP$$C$x::foo" },	/* no hash: not Rust */
	};
	char buf[256];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_string_equal(demangle(t[i][0], buf, sizeof(buf)), t[i][1]);
}

static void cut(void **state)
{
	char buf[8];

	assert_string_equal(demangle("_ZN3foo3barEi", buf, sizeof(buf)), "foo::ba");
	assert_string_equal(demangle("_ZN3foo3bar17h0123456789abcdefE", buf, 4), "foo");
	assert_string_equal(demangle("abcdef", buf, 1), "");
}

/* Each level names the one before twice: 2^levels bytes. Must come back at once, as it is. */
static void bomb(void **state)
{
	char name[8192], buf[64];
	size_t n = (size_t)sprintf(name, "_Z1fPFvvE");

	for (int i = 0; i < 200; i++) {
		const char *d = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char id[4] = "";

		/* function and pointer make two candidates a level */
		if (i * 2 < 36)
			sprintf(id, "%c", d[i * 2]);
		else
			sprintf(id, "%c%c", d[i * 2 / 36 % 36], d[i * 2 % 36]);
		n += (size_t)sprintf(name + n, "PFvS%s_S%s_E", id, id);
	}
	demangle(name, buf, sizeof(buf));
	assert_memory_equal(buf, name, 40);

	memset(name, '1', sizeof(name) - 1);	/* too long */
	memcpy(name, "_Z", 2);
	name[sizeof(name) - 1] = 0;
	demangle(name, buf, sizeof(buf));
	assert_memory_equal(buf, name, 40);
}

/* Versions of the demangler differ in parentheses and blanks inside expressions. */
static char *bare(char *s)
{
	char *o = s;

	for (char *p = s; *p; p++)
		if (!strchr("() ", *p))
			*o++ = *p;
	*o = 0;
	return s;
}

#define NAMES "nm -DP %s 2>/dev/null | sed 's/[@ ].*//' | grep ^_Z | " \
	"awk 'NR %% 7 == 0' | head -n 20000"

static void peer(void **state)
{
	static const char *const libs[] = {
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libopencsd.so.1",
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
		"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
	};
	unsigned seen = 0, kept = 0;

	for (size_t i = 0; i < sizeof(libs) / sizeof(libs[0]); i++) {
		static char line[65536], want[65536], buf[65536];
		char cmd[512];
		FILE *f, *peer;

		snprintf(cmd, sizeof(cmd), NAMES, libs[i]);
		f = popen(cmd, "r");
		snprintf(cmd, sizeof(cmd), NAMES " | c++filt -i", libs[i]);
		peer = popen(cmd, "r");
		assert_true(f && peer);
		while (fgets(line, sizeof(line), f) && fgets(want, sizeof(want), peer)) {
			line[strcspn(line, "\n")] = 0;
			want[strcspn(want, "\n")] = 0;
			demangle(line, buf, sizeof(buf));
			seen++;
			if (!strcmp(buf, line) && strcmp(want, line))
				kept++;		/* refused by the bound of its size */
			else if (strcmp(bare(buf), bare(want)))
				fail_msg("%s: %s, c++filt: %s", line, buf, want);
		}
		pclose(f);
		pclose(peer);
	}
	printf("# %u names as c++filt has them, %u of them refused\n", seen, kept);
	assert_true(kept * 1000 <= seen);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(plain), cmocka_unit_test(cut), cmocka_unit_test(bomb),
		cmocka_unit_test(peer),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
