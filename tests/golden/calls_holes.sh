#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Functions that run without having been called, and what holes and filters do to a call tree. The truth is what the programs are.
. tests/golden/common
need python3
nest=tests/golden/calls_nest.py
d=fixtures/captures/demo/in
"$HWT" calls --jsonl --sysroot "$d" "$d/perf.data" >"$TMP/demo" 2>/dev/null || die "demo: exit $?"
# checksum calls nothing (demo.c); fib runs behind the hole
python3 $nest "$TMP/demo" _start fib 'fib>fib' '_start>work' 'work>checksum' || exit 1
"$HWT" calls --sysroot "$d" "$d/perf.data" 2>/dev/null >"$TMP/text" || die "demo: exit $?"
sed -n '/checksum {/,/} checksum/p' "$TMP/text" | grep -q fib && die "fib hangs under checksum"
grep -q '} checksum (end not seen)' "$TMP/text" || die "checksum was seen to end"
grep -q 'work { (open before the hole)' "$TMP/text" || die "work is not known again"
grep -q '} work (hole inside)' "$TMP/text" || die "a duration across a hole, or no end of work"
grep -q '} _start (trace ends inside)' "$TMP/text" || die "_start is not open at the end"
"$HWT" calls --summary --sym 'f*' --sysroot "$d" "$d/perf.data" 2>/dev/null | sed 1d | grep -v ' f[a-z]*  (demo)$' && die "--sym does not select"
n=$("$HWT" calls --sym twice --sysroot "$d" "$d/perf.data" 2>/dev/null | grep -c 'twice()')
[ "$n" = 2 ] || die "work calls twice 2 times, not $n"
need_captures
# the functions that LLDB's own expectation is in; no call or return was traced
"$HWT" calls --jsonl "$CAP/pt/lldb-cpus/in/trace.json" 2>/dev/null >"$TMP/lldb-cpus" || die "lldb-cpus: exit $?"
python3 $nest "$TMP/lldb-cpus" 'bar()' 'foo()' || exit 1
# how many instructions is known from libipt (lldb.sh); both run in one loop
"$HWT" calls --summary --insns "$CAP/pt/lldb-cpus/in/trace.json" 2>/dev/null >"$TMP/insns" || die "--insns: exit $?"
grep -q '^ *61825 .* bar()  ' "$TMP/insns" && grep -q '^ *19521 .* foo()  ' "$TMP/insns" || die "--insns: $(cat "$TMP/insns")"
"$HWT" calls --insns "$CAP/pt/lldb-thread/in" >/dev/null 2>&1
[ $? = 2 ] || die "--insns without --summary"
"$HWT" calls --jsonl "$CAP/pt/lldb-thread/in" 2>/dev/null >"$TMP/lldb-thread" || die "lldb-thread: exit $?"
python3 $nest "$TMP/lldb-thread" main || exit 1
# an address filter leaves out the C library: what tracing starts in again does not hang under the PLT
e=$CAP/arm/pixel/in
"$HWT" calls --elf "$e/etm_test_loop" "$e/perf_etm.data" 2>/dev/null >"$TMP/pixel" || die "pixel: exit $?"
sed -n '/__libc_init@plt {/,/} __libc_init@plt (end not seen)/p' "$TMP/pixel" >"$TMP/plt"
[ "$(wc -l <"$TMP/plt")" = 3 ] && grep -q -- '-- not traced from .* to ' "$TMP/plt" || die "pixel: $(cat "$TMP/pixel")"
# code without symbol is told by its file
grep -q ' etm_test_loop+0x1000 {' "$TMP/pixel" || die "pixel: no file of code without symbol"
# the tree nests, every entry has an end, and no hole is forgotten where several are one line
for c in arm/r5f-freertos arm/fib-1 arm/juno_r1_1 arm/TC2 ete/tme_test ete/002-ack_test_scr; do
	n=$(basename "$c")
	"$HWT" calls --jsonl "$CAP/$c/in" 2>/dev/null >"$TMP/$n" || die "$c: exit $?"
	python3 $nest "$TMP/$n" || exit 1
	"$HWT" list --level events --jsonl "$CAP/$c/in" 2>/dev/null >"$TMP/list"
	python3 tests/golden/calls_gaps.py "$TMP/list" "$TMP/$n" || die "$c: holes"
done
"$HWT" calls "$CAP/arm/juno_r1_1/in" 2>/dev/null | grep -q -- '-- [0-9]* holes, the first: hole: no-image' || die "juno: holes in a row are lines"
# the CPUs of a buffer interleave: what one returns to does not shift the others
"$HWT" calls "$CAP/arm/TC2/in" 2>/dev/null | python3 -c '
import re, sys
base, n = {}, 0
for line in sys.stdin:
    m = re.match(r".*\[(\d+)\] +- +(-?\d+)  ( *)\S", line)
    if not m:
        continue
    cpu, depth = m[1], int(m[2])
    base[cpu] = min(base.get(cpu, 0), depth)
    want, n = 2 * (depth - base[cpu]), n + 1
    if len(m[3]) != want and want < 40:
        sys.exit("indented by %d, not %d: %s" % (len(m[3]), want, line))
sys.exit("%d CPUs, %d lines" % (len(base), n) if len(base) < 3 or n < 500 else 0)' || exit 1
# what is entered or found running is left once, in its own row, also where there are no symbols
for c in fib-1 juno-uname-002 juno_r1_1 TC2; do
	"$HWT" calls --summary --jsonl "$CAP/arm/$c/in" 2>/dev/null | python3 -c '
import json, sys
v = [r for r in map(json.loads, sys.stdin) if r["type"] == "function"]
odd = [r for r in v if r["calls"] + r["running"] != r["leaves"] + r["lost"] + r["open"]]
sys.exit("%s: %d of %d rows do not balance: %s" % (sys.argv[1], len(odd), len(v), odd[0]) if odd or len(v) < 50 else 0)' $c || exit 1
done
"$HWT" calls --summary "$CAP/arm/fib-1/in" 2>/dev/null | tail -n 2 | grep -q '(not traced)' || die "what is no function does not stand last"
echo "# $(grep -c '"type":"call"' "$TMP/demo") calls of the demo"
