#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# A second opinion on what single steps saw: perf on the exported file has the instructions of each thread that "list" has, and no error.
. tests/golden/common
[ "$(uname -m)" = x86_64 ] || { echo "the recorder's program is for x86-64"; exit 77; }
need gcc
need perf
HOME=$TMP		# perf's cache of files by build-id is there
export HOME
gcc -O1 -static -pthread -o "$TMP/prog" tests/golden/record/prog.c || die "prog: not compiled"
gcc -O2 -static -pthread -o "$TMP/signals" tests/oracle/progs/signals.c || die "signals: not compiled"
gcc -O1 -static -pthread -o "$TMP/threads" tests/oracle/progs/threads.c || die "threads: not compiled"
steps() {
	name=$1
	shift
	"$HWT" record --model -q --limit 60000 -o "$TMP/m.hwt" "$@" >/dev/null 2>"$TMP/err"
	[ -f "$TMP/m.hwt/hwtrace.ini" ] || { echo "programs can not be stepped here: $(head -n 1 "$TMP/err")"; exit 77; }
	"$HWT" export --to perf -q -f -o "$TMP/m.perf" --images "$TMP/m.img" "$TMP/m.hwt" 2>"$TMP/err" || die "$name: export: $(cat "$TMP/err")"
	perf script -i "$TMP/m.perf" --itrace=i0nse --symfs "$TMP/m.img" -F tid,ip 2>/dev/null >"$TMP/p"
	grep -m 3 'trace error' "$TMP/p" && die "$name: perf has errors"
	awk '{ print $1, $2 }' "$TMP/p" | sort -s -n -k1,1 >"$TMP/p2"
	"$HWT" list --jsonl "$TMP/m.hwt" 2>/dev/null | sed -n 's/.*"type":"insn".*"tid":\([0-9]*\),.*"addr":"0x\([0-9a-f]*\)".*/\1 \2/p' |
		sort -s -n -k1,1 >"$TMP/l"
	[ "$(wc -l <"$TMP/l")" -gt 5000 ] || die "$name: only $(wc -l <"$TMP/l") instructions"
	cmp "$TMP/l" "$TMP/p2" || die "$name: perf: other instructions"
	echo "# $name, single steps: $(wc -l <"$TMP/l") instructions of $(cut -d' ' -f1 "$TMP/l" | uniq | wc -l) threads as perf"
	rm -rf "$TMP/m.hwt" "$TMP/m.img" "$TMP/m.perf"
}
steps static -- "$TMP/prog" work 6
steps handlers -- "$TMP/prog" signals
steps signals -- "$TMP/signals" 4
steps threads --from main -- "$TMP/threads"
steps "threads, no compressed returns, cycles" --no-retcomp --cyc --from main -- "$TMP/threads"
