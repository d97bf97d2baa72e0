#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# latency and why against what ran (tests/oracle/length): every pair of a recording with its ticks, holes, and planted causes.
. tests/golden/common
need qemu-x86_64
need python3
need nm
[ "$(uname -m)" = x86_64 ] || { echo "the program is built for x86-64"; exit 77; }
P=$O/tests/oracle
[ -x "$P/length/length" ] && [ -e "$P/plugin.so" ] ||
	make -s --no-print-directory O="$O" "$P/length/length" "$P/plugin.so" || die "not built"
gcc -O1 -static -fno-inline -foptimize-sibling-calls -pthread -o "$TMP/prog" tests/oracle/length/prog.c || die "no program"
# where its stack is, and so when its loops end, depends on the size of the environment
env -i qemu-x86_64 -plugin "$P/plugin.so,out=$TMP/rec" "$TMP/prog" 2>"$TMP/err" || { echo "can not be recorded: $(tail -n 1 "$TMP/err")"; exit 77; }
# shellcheck disable=SC2046
python3 tests/golden/lengths.py "$HWT" "$P/length/length" "$TMP/rec" "$TMP/prog" "$TMP/c.hwt" \
	$(nm "$TMP/prog" | sed -n 's/^0*\([0-9a-f]*\) T \(work\|leaf\|fact\|chain\)$/\2=\1/p') 2>"$TMP/err" || die "$(tail -n 3 "$TMP/err" | cut -c1-1500)"
