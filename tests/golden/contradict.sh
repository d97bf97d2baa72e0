#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Captures of the kernel's events by hand (contradict.py), each with one thing that can not be: clocks, order, numbers, packets. It is told with its
# place and what it means, as text and as JSON, by check; nothing is told of one without it. Times in ticks are nowhere shown as ns.
. tests/golden/common
need python3
python3 tests/golden/contradict.py "$TMP" || die "contradict.py"
told() {	# NAME TEXT: a line of check has it, and a line of JSON has its id
	rc=0
	"$HWT" check "$TMP/$1" >"$TMP/out" 2>/dev/null || rc=$?
	[ $rc = 1 ] && grep -q "$2" "$TMP/out" || die "$1: exit $rc: $(cat "$TMP/out")"
	"$HWT" check --jsonl "$TMP/$1" 2>/dev/null | python3 -c '
import json, sys
v = [json.loads(l) for l in sys.stdin]
sys.exit(not any(x.get("id") == sys.argv[1] or x["type"] == sys.argv[1] for x in v))' "$3" || die "$1: no $3 in the JSON"
}
for k in good filtered; do
	"$HWT" check "$TMP/$k" >"$TMP/out" 2>&1 || die "$k: $(cat "$TMP/out")"
	grep -q '^no findings' "$TMP/out" || die "$k: $(cat "$TMP/out")"
done
# what a filter left out is said where it may change an answer: where records are complete, nothing of it is
for k in good filtered; do
	[ $k = good ] && n=0 || n=1
	for c in check "latency -q --from syscall.enter" "why -q --from syscall.enter"; do
		"$HWT" $c "$TMP/$k" >"$TMP/out" 2>/dev/null || die "$c $k: exit $?"
		[ "$(grep -c '^note: a filter chose which events of the kernel were recorded: where it left one out' "$TMP/out")" = $n ] || die "$c $k: $(cat "$TMP/out")"
	done
	"$HWT" check --jsonl "$TMP/$k" 2>/dev/null | grep '"type":"contract"' >"$TMP/out"
	[ "$(grep -c '"filtered":true' "$TMP/out")" = $n ] || die "check --jsonl $k: $(cat "$TMP/out")"
done
told twice '^  number  .* 0x[0-9a-f]*, after 0x.*: syscall.enter of CPU 0 has number 100, the one before has 100: it is there twice' E250
told missing '^  number  .*: syscall.enter of CPU 0 has number 102, the one before has 100: what is between is missing, and no loss is told' E250
told packet-twice '^note: .*cpu0+0x[0-9a-f]*: a packet is there twice' E144
told packet-missing '^note: .*cpu0+0x[0-9a-f]*: packets are missing before packet: 2' E144
told fewer-lost '^note: .*cpu0+0x[0-9a-f]*: fewer records are told to be lost up to here than before' E144
told order '^note: .*cpu0+0x[0-9a-f]*: a record is before the one that was written ahead of it .*, bytes left out: [0-9]' E144
told anew '^note: .*cpu0+0x[0-9a-f]*: a record is before the one that was written ahead of it (or the counter was set)' E144
told skew '^clocks: the clock of cpu 0 is ahead, or that of cpu 1 behind, by 9000 ns at least' order
told no-map '^clock: times of 1600 kernel events are ticks of tsc, and nothing relates them to CLOCK_MONOTONIC \[E242\]' E242
told map '^note: .*: 20 of 20 clock pairs are not where the capture.s conversion puts them, by up to 49990 ns' E241
told frequency '^note: a counter of 1000000000 Hz does not fit the clock pairs' E241
told step '^note: CLOCK_MONOTONIC went ahead by at least 69[0-9]* ns against the counter, between ticks 91500000 and 101500010' E240
told reading '^  clock  .*: the clock beside the counter goes back between two readings' E250
# what is lost between is no length
"$HWT" latency -q --from "sched.switch where next_tid == 5" --to "sched.switch where prev_tid == 5" "$TMP/packet-missing" >"$TMP/out" || die "latency: exit $?"
grep -q '^1 touches a hole' "$TMP/out" || die "a length over packets that are missing: $(cat "$TMP/out")"
# what is measured in ticks has no ns anywhere
"$HWT" latency -q --from syscall.enter "$TMP/no-map" >"$TMP/out" || die "latency: exit $?"
grep -q '^in all: on-cpu 80000 ticks$' "$TMP/out" && ! grep -q '[0-9] [num]s' "$TMP/out" || die "ticks as ns: $(cat "$TMP/out")"
echo "# 13 captures with one thing that can not be, and 2 without"
