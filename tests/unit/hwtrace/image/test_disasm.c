/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of the hints of A64, which capstone has no names for. Truth: objdump on the same words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/event.h>
#include <hwtrace/image.h>

#include "../../../support/scratch.h"

#define HINT	0xd503201fu	/* HINT #0; the number is in bits 11:5 */

/* "bti c" of "  88:	d503245f 	bti	c"; false: no line of code */
static bool words_of(char *line, char *out, size_t size)
{
	char *tab = strrchr(line, '\t'), *first = strchr(line, '\t');
	unsigned addr;

	if (sscanf(line, " %x:", &addr) != 1 || !first)
		return false;
	first = strchr(first + 1, '\t');
	if (!first)
		return false;
	tab[strcspn(tab, "\n")] = 0;
	if (tab != first)
		*tab = ' ';
	/* its name in the Arm ARM (C6.2, CLRBHB) is younger than this objdump */
	snprintf(out, size, "%s", strcmp(first + 1, "clearbhb") ? first + 1 : "clrbhb");
	return true;
}

static void hints(void **state)
{
	struct hwt_disasm *d;
	uint32_t code[128];
	char line[256], want[128], text[128];
	unsigned seen = 0, named = 0;
	FILE *f;

	for (uint32_t i = 0; i < 128; i++)
		code[i] = HINT | i << 5;
	scratch_write("hints", code, sizeof(code));
	scratch_sh("aarch64-linux-gnu-objdump -D -b binary -m aarch64 hints > hints.txt");
	f = fopen(scratch("hints.txt"), "r");
	assert_non_null(f);
	assert_int_equal(hwt_disasm_new(&d), 0);
	while (fgets(line, sizeof(line), f)) {
		if (!words_of(line, want, sizeof(want)))
			continue;
		assert_true(seen < 128);
		assert_int_equal(hwt_disasm_text(d, HWT_ISA_A64, 4 * seen, &code[seen], 4, text,
						 sizeof(text)), 0);
		if (strncmp(want, "hint", 4)) {
			if (strcmp(text, want))
				fail_msg("hint %u: %s, objdump: %s", seen, text, want);
			named++;
		}
		seen++;
	}
	fclose(f);
	hwt_disasm_free(d);
	assert_int_equal(seen, 128);
	assert_true(named > 20);
	printf("# %u hints as objdump names them\n", named);
}

/* A buffer of any size is never overrun, and always ends in NUL. */
static void short_buffers(void **state)
{
	static const uint8_t x86[] = { 0x48, 0x8b, 0x84, 0xc8, 0x78, 0x56, 0x34, 0x12 };
	struct hwt_disasm *d;
	char whole[128], cut[128];

	assert_int_equal(hwt_disasm_new(&d), 0);
	assert_int_equal(hwt_disasm_text(d, HWT_ISA_X86_64, 0, x86, sizeof(x86), whole,
					 sizeof(whole)), 0);
	assert_string_equal(whole, "mov rax, qword ptr [rax + rcx*8 + 0x12345678]");
	for (size_t n = 1; n < sizeof(whole); n++) {
		memset(cut, 'x', sizeof(cut));
		assert_int_equal(hwt_disasm_text(d, HWT_ISA_X86_64, 0, x86, sizeof(x86), cut, n),
				 0);
		assert_true(strlen(cut) < n);
		assert_memory_equal(cut, whole, strlen(cut));
		assert_int_equal(cut[n], 'x');
	}
	assert_int_equal(hwt_disasm_text(d, 99, 0, x86, 4, cut, sizeof(cut)), -EINVAL);
	hwt_disasm_free(d);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(hints), cmocka_unit_test(short_buffers),
	};

	return cmocka_run_group_tests(t, scratch_make, scratch_drop);
}
