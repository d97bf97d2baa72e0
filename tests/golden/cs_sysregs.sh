#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Numbers of the system registers of trace units and trace buffers (kmod/cs_sys_regs.h), against those that the assembler has under the manual's
# names; which offset in memory has which name is from the manual (Arm IHI 0064, 7.2).
. tests/golden/common
as=aarch64-linux-gnu-as
need $as
cat >"$TMP/list.c" <<'END'
#include <stdio.h>
#include "kmod/cs_sys_regs.h"
#define UNIT(o) printf("%x S2_1_C%d_C%d_%d\n", o, CS_SYS_CRN(o), CS_SYS_CRM(o), CS_SYS_OP2(o));
#define BUFFER(n) printf("b%d S3_0_C9_C11_%d\n", n, n);
int main(void)
{
	CS_SYS_READ(UNIT) CS_SYS_WRITE(UNIT) CS_SYS_BOTH(UNIT) CS_SYS_WIDE(UNIT)
	CS_SYS_BUFFER(BUFFER) CS_SYS_BUFFER_READ(BUFFER)
	return 0;
}
END
${CC:-cc} -I. -o "$TMP/list" "$TMP/list.c" || die "list.c"
"$TMP/list" >"$TMP/ours"
# NAME FIRST-OFFSET NUMBER STEP [FIRST-NUMBER]
python3 - >"$TMP/names" <<'END'
one = """prgctlr 004  statr 00c  configr 010  eventctl0r 020  eventctl1r 024  rsr 028  stallctlr 02c  tsctlr 030  syncpr 034  ccctlr 038
bbctlr 03c  traceidr 040  qctlr 044  victlr 080  viiectlr 084  vissctlr 088  vipcssctlr 08c  vdctlr 0a0  vdsacctlr 0a4  vdarcctlr 0a8
seqrstevr 118  seqstr 11c  oslar 300  oslsr 304  cidcctlr0 680  cidcctlr1 684  vmidcctlr0 688  vmidcctlr1 68c  claimset fa0  claimclr fa4
devarch fbc""".split()
many = {'seqevr': (0x100, 3, 4, 0), 'extinselr': (0x120, 4, 4, 0), 'cntrldvr': (0x140, 4, 4, 0), 'cntctlr': (0x150, 4, 4, 0), 'cntvr': (0x160, 4, 4, 0),
        'idr': (0x1e0, 8, 4, 0), 'rsctlr': (0x208, 30, 4, 2), 'ssccr': (0x280, 8, 4, 0), 'sscsr': (0x2a0, 8, 4, 0), 'sspcicr': (0x2c0, 8, 4, 0),
        'acvr': (0x400, 16, 8, 0), 'acatr': (0x480, 16, 8, 0), 'cidcvr': (0x600, 8, 8, 0), 'vmidcvr': (0x640, 8, 8, 0)}
for name, offset in zip(one[::2], one[1::2]):
    print('%x trc%s' % (int(offset, 16), name))
for i in range(6):
    print('%x trcidr%d' % (0x180 + 4 * i, 8 + i))
for name, (first, n, step, number) in many.items():
    for i in range(n):
        print('%x trc%s%d' % (first + step * i, name, number + i))
for n, name in ((0, 'limitr'), (1, 'ptr'), (2, 'baser'), (3, 'sr'), (6, 'trg'), (7, 'idr')):
    print('b%d trb%s_el1' % (n, name))
END
# a word each: MRS, or MSR where it can not be read
words() {	# FILE
	awk '{ print ($2 == "trcoslar" || $2 == "S2_1_C1_C0_4") ? "msr " $2 ", x0" : "mrs x0, " $2 }' "$1" >"$TMP/s"
	$as -march=armv8.7-a -o "$TMP/o" "$TMP/s" 2>"$TMP/err" || { cat "$TMP/err"; return 1; }
	aarch64-linux-gnu-objcopy -O binary -j .text "$TMP/o" "$TMP/bin"
	od -An -v -tx4 -w4 "$TMP/bin" | paste -d' ' - "$1" | awk '{ print $2, $1 }' | sort
}
words "$TMP/names" >"$TMP/theirs" || die "the assembler does not know all names"
words "$TMP/ours" >"$TMP/mine" || die "numbers that are none"
diff "$TMP/theirs" "$TMP/mine" || die "other registers than the manual has"
# the control of what may be traced
printf 'mrs x0, trfcr_el1\nmrs x0, S3_0_C1_C2_1\n' >"$TMP/s"
$as -march=armv8.4-a -o "$TMP/o" "$TMP/s" && aarch64-linux-gnu-objcopy -O binary -j .text "$TMP/o" "$TMP/bin" &&
	[ "$(od -An -v -tx4 -w4 "$TMP/bin" | sort -u | wc -l)" = 1 ] || die "TRFCR_EL1"
echo "# $(wc -l <"$TMP/mine") registers"
