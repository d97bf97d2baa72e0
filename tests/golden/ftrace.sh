#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# trace.dat of other people (Arm, 32 and 64 bits) and of tests/support/mkftrace.c against trace-cmd report of the same file: every event in
# order, with time, CPU, task, all fields, and what trace_printk() said.
. tests/golden/common
need trace-cmd
need python3
same() {
	python3 tests/golden/ftrace.py "$HWT" "$@" >"$TMP/out" || { cat "$TMP/out"; die "$1: not what trace-cmd reports"; }
	echo "# $(basename "$1"): $(cat "$TMP/out")"
}
# The writer's file: trace-cmd 3.1 reads pages as small as these only if they are packed, and knows no "%c" and no "-" in trace_printk().
f=tests/fuzz/corpus/ftrace/v7-zstd
trace-cmd report -t -R --raw-ts $f 2>/dev/null | grep -E 'sched_switch|bprint' |
	sed -E 's/^.*-([0-9]+) +\[([0-9]+)\] *([0-9.]+): ([a-z_]+): *(.*)$/\2 \1 \4 \5/;s/ (buf|text)=.*//;s/=0x1 /=1 /' >"$TMP/want"
"$HWT" list -q --jsonl $f | python3 -c '
import json, sys
for s in sys.stdin:
    j = json.loads(s)
    if j["type"] == "record" and ("sched_switch" in j["name"] or "bprint" in j["name"]):
        print("%03d %d %s %s" % (j["cpu"], j["tid"], j["name"].split(":")[1], j["fields"].split(" text=")[0]))' >"$TMP/got"
[ "$(wc -l <"$TMP/want")" = 5 ] || die "$f: the peer reads other events: $(cat "$TMP/want")"
cmp "$TMP/want" "$TMP/got" || die "$f: other events: $(diff "$TMP/want" "$TMP/got" | head -n 5)"
# cut before its data: nothing can be shown, and it is said where the file ends and what it ends in
ends() {
	head -c "$2" "$1" >"$TMP/cut.dat"
	"$HWT" info "$TMP/cut.dat" >"$TMP/l" 2>"$TMP/err"
	rc=$?
	[ $rc = 3 ] && [ ! -s "$TMP/l" ] || die "$1 cut at $2: exit $rc"
	grep -q "^hwtrace: $TMP/cut.dat+0x[0-9a-f]*: .*the file ends .*$3" "$TMP/err" || die "$1 cut at $2: $(cat "$TMP/err")"
}
ends $f 20 header
ends $f 600 'at 600 '
need_captures
d=$CAP/kernel/arm-ftrace/in
published $d/trace.dat 2523136 && same $d/trace.dat
published $d/raw_trace.dat 2437120 && same $d/raw_trace.dat
ends $d/trace.dat 100 'at 100 '
ends $d/trace.dat 3000 'at 3000 '
ends $d/trace.dat 100000 'at 100000 '
ends $d/trace.dat 800000 'at 800000 '
# cut in its data, or a page of it gone: no crash, exit 3, and what is before the fault is shown
for at in 2400000 2433026 2434000; do
	head -c $at $d/raw_trace.dat >"$TMP/cut.dat"
	"$HWT" list --jsonl "$TMP/cut.dat" >"$TMP/l" 2>"$TMP/err"
	rc=$?
	[ $rc = 3 ] || die "cut at $at: exit $rc"
	grep -q 'E004' "$TMP/err" || die "cut at $at: nothing is said: $(cat "$TMP/err")"
done
[ "$(grep -c '"record"' "$TMP/l")" -gt 300 ] || die "cut at $at: $(wc -l <"$TMP/l") lines"
exit 0
