#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Case J14: a line table that is cut, or of a version that nobody knows, costs lines and never an instruction.
. tests/golden/common
if [ "$(uname -m)" = x86_64 ]; then p=; else p=x86_64-linux-gnu-; fi
need "${p}as"
need "${p}objcopy"
printf '\t.globl _start\n\t.type _start,@function\n_start:\n\tnop\n\tnop\n\tnop\n\tret\n\t.size _start, . - _start\n' >"$TMP/a.s"
"${p}as" --gdwarf-5 -o "$TMP/a.o" "$TMP/a.s" && "${p}ld" -Ttext=0x401000 -o "$TMP/good" "$TMP/a.o" || die "as or ld"
# PSB, MODE.Exec 64, PSBEND, TIP.PGE 401000, FUP 401003, TIP.PGD
printf '\002\202\002\202\002\202\002\202\002\202\002\202\002\202\002\202\231\001\002\043\161\000\020\100\000\000\000\075\003\020\001' >"$TMP/pt"
want() {	# program, what is wrong
	"$HWT" list --pt "$TMP/pt" --elf "$1" --lines --jsonl >"$TMP/out" 2>"$TMP/err" || die "$2: exit $?: $(cat "$TMP/err")"
	[ "$(sed -n 's/.*"type":"insn".*"addr":"\([^"]*\)".*"sym":"_start".*/\1/p' "$TMP/out" | tr '\n' ' ')" = "0x401000 0x401001 0x401002 " ] ||
		die "$2: $(cat "$TMP/out")"
}
want "$TMP/good" "whole table"
grep -q '"line":4' "$TMP/out" || die "no line in the sound file: $(cat "$TMP/out")"
"${p}objcopy" -O binary --only-section=.debug_line --set-section-flags .debug_line=alloc "$TMP/good" "$TMP/table"
size=$(stat -c %s "$TMP/table")
n=0 i=0
while [ "$i" -lt "$size" ]; do
	head -c "$i" "$TMP/table" >"$TMP/cut"
	"${p}objcopy" --update-section .debug_line="$TMP/cut" "$TMP/good" "$TMP/bad" 2>/dev/null && want "$TMP/bad" "cut at $i" && n=$((n + 1))
	i=$((i + 3))
done
[ "$n" -gt 10 ] || die "only $n tables were cut"
for v in 1 6 143; do
	{ head -c 4 "$TMP/table"; printf "\\$(printf %o $v)\\000"; tail -c +7 "$TMP/table"; } >"$TMP/cut"
	"${p}objcopy" --update-section .debug_line="$TMP/cut" "$TMP/good" "$TMP/bad" && want "$TMP/bad" "version $v"
	grep -q '"line":' "$TMP/out" && die "version $v: lines from a table of no known version"
done
echo "# $n cuts of a table of $size bytes, 3 versions"
