#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# A trace.dat by hand: system calls on one clock, and in an instance switches on another one, whose numbers lie between theirs. What was when is
# not known: no order is shown, no time is split by them, and no time goes back.
. tests/golden/common
f=tests/fuzz/corpus/ftrace/v6-two-clocks
"$HWT" timeline -q "$f" >"$TMP/out" || die "timeline: exit $?"
[ "$(grep -o '#[0-9]* sched.switch' "$TMP/out" | tr '\n' ' ')" = '#5 sched.switch #6 sched.switch #7 sched.switch #8 sched.switch ' ] ||
	die "the clocks are mixed: $(cat "$TMP/out")"
grep -q '^== times in monotonic are of that clock' "$TMP/out" || die "the other clock is not named: $(cat "$TMP/out")"
"$HWT" latency -q --from syscall.enter "$f" >"$TMP/out" || die "latency: exit $?"
grep -q '^2 pairs .*max 1 us' "$TMP/out" || die "$(cat "$TMP/out")"
grep -qE 'on-cpu|blocked' "$TMP/out" && die "a time is split by events of another clock: $(cat "$TMP/out")"
"$HWT" why -q --from syscall.enter "$f" >"$TMP/out" || die "why: exit $?"
grep -q 'rest: no trace tells what ran, no switch whether it did$' "$TMP/out" || die "$(cat "$TMP/out")"
# switches on both clocks, of which one is a counter of unknown rate: what is on the other one is counted apart, not among its ticks. The type of
# two records of system calls is made that of a switch.
sed 's/\[local\] global/[x86-tsc] glob/' "$f" >"$TMP/both"
for k in 2921 3017; do printf '\072\001' | dd of="$TMP/both" bs=1 seek=$k conv=notrunc 2>/dev/null; done
"$HWT" latency -q --key cpu --from sched.switch --to sched.switch "$TMP/both" >"$TMP/out" 2>/dev/null || die "latency: exit $?"
grep -q '^left over: .*, 3 on another clock than the first' "$TMP/out" && ! grep -q '1000000000' "$TMP/out" || die "two clocks in one length: $(cat "$TMP/out")"
"$HWT" latency -q --jsonl --key cpu --from sched.switch --to sched.switch "$TMP/both" 2>/dev/null | grep -q '"other_clock":3[,}]' || die "JSON of two clocks"
"$HWT" check "$f" >"$TMP/out" 2>/dev/null
grep -q '^kernel events: .*: all hold$' "$TMP/out" || die "$(cat "$TMP/out")"
# a page from before the one in front of it: how long what it tells took at most is not known, also in the histogram
"$HWT" latency -q --from syscall.enter tests/fuzz/corpus/ftrace/v6-back >"$TMP/out" || die "latency: exit $?"
grep -q '^ *4.096 us \.\. *?  ' "$TMP/out" || die "$(cat "$TMP/out")"
# The clock of records and trace is one counter, and what it is worth is known within bounds only: anchors hold all the same, and order is that of
# an exact map. The program says which calls it makes.
command -v python3 >/dev/null && command -v gcc >/dev/null && [ "$(uname -m)" = x86_64 ] ||
	{ echo "# a fitted map is left out: no python3 or gcc, or not x86-64"; exit 0; }
gcc -nostdlib -static -o "$TMP/prog" tests/golden/anchors_prog.S 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
"$HWT" record --model --mtc 12 -o "$TMP/c.hwt" "$TMP/prog" 2>"$TMP/err" || { echo "# a fitted map is left out: no ptrace here"; exit 0; }
"$HWT" timeline --level range --jsonl "$TMP/c.hwt" >"$TMP/exact" 2>"$TMP/err"
grep -q '"name":"syscall.enter"' "$TMP/exact" || { echo "# a fitted map is left out: no events of the kernel here"; exit 0; }
python3 tests/golden/anchors.py unmap "$TMP/c.hwt/hwtrace.ini" || die "the clock map is not there"
"$HWT" info "$TMP/c.hwt" 2>/dev/null | grep -q '^clock map *fitted' || die "the clock map is not fitted"
"$HWT" timeline --level range --jsonl "$TMP/c.hwt" >"$TMP/fitted" 2>"$TMP/err"
grep -q ' 401 of 401 system calls tied' "$TMP/err" || die "on a fitted clock map: $(cat "$TMP/err")"
python3 tests/golden/anchors.py order "$TMP/exact" "$TMP/fitted" || die "the order is another one on a fitted clock map"
exit 0
