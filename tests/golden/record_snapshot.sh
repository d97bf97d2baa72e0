#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# record --snapshot: the newest events of a program that numbers its calls, each time that they are asked for, by a signal, an event, and
# at the end. None overwrites another.
. tests/golden/common
need gcc
need python3
gcc -D_GNU_SOURCE -O1 -pthread -o "$TMP/prog" tests/golden/record/kernel.c 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
providers=$("$HWT" list-events --jsonl sched.switch | sed -n 's/.*"provider","name":"\([a-z]*\)","here":true.*/\1/p' | grep -v module)
[ -n "$providers" ] || { "$HWT" list-events sched.switch | head -n 3; echo "no provider can be used"; exit 77; }
wait_for() {	# FILE WORDS
	i=0
	while [ $i -lt 600 ] && ! grep -q "$2" "$1"; do
		sleep 0.1
		i=$((i + 1))
	done
	[ $i -lt 600 ] || die "nothing says \"$2\": $(cat "$1")"
}
taskset 1 true 2>/dev/null && one="taskset 1"
for p in $providers; do
	mkdir "$TMP/s-1.hwt"	# is no snapshot of ours, and stays
	$one "$TMP/prog" loop &	# each CPU keeps its own newest events
	prog=$!
	"$HWT" record -k 'syscall.enter:getppid' --snapshot --size 1 -p $prog --provider "$p" -o "$TMP/s.hwt" 2>"$TMP/log" &
	rec=$!
	# it fills its buffer more than once: 1 MiB has some 10^4 calls
	wait_for "$TMP/log" "$p:"
	# (one is told of before it goes on, which takes a slow machine a while)
	sleep 2
	kill -USR2 $rec
	wait_for "$TMP/log" 's-2.hwt: [1-9]'
	sleep 2
	kill -USR2 $rec
	wait_for "$TMP/log" 's-3.hwt: [1-9]'
	sleep 2
	kill -INT $rec
	wait $rec
	[ $? = 130 ] || die "$p: Ctrl-C: exit $?"
	grep -q 's-4.hwt: .*(end of the recording)' "$TMP/log" && grep -q '3 snapshots, .*; interrupted' "$TMP/log" || die "$p: $(cat "$TMP/log")"
	kill -0 $prog || die "$p: the program is gone"
	kill $prog
	wait $prog 2>/dev/null
	[ -z "$(ls "$TMP/s-1.hwt")" ] && [ ! -e "$TMP/s.hwt" ] && [ ! -e "$TMP/s-5.hwt" ] || die "$p: names"
	for n in 2 3 4; do
		"$HWT" timeline -q --filter '*' --jsonl "$TMP/s-$n.hwt" >"$TMP/t$n" || die "$p: s-$n.hwt can not be read"
		"$HWT" info "$TMP/s-$n.hwt" | grep -q '^snapshot' || die "$p: info does not say that it is a snapshot"
	done
	python3 - $prog "$TMP/t2" "$TMP/t3" "$TMP/t4" <<'PY' || die "$p: not the newest calls"
import json, sys
last, bad = -1, []
for f in sys.argv[2:]:
    calls = [int(j['values']['arg0'], 16) for j in map(json.loads, open(f)) if j.get('name') == 'syscall.enter' and j.get('tid') == int(sys.argv[1])]
    if calls != list(range(calls[0], calls[0] + len(calls))):
        bad.append('a call is missing')
    # not from the start on: what came before was overwritten, or is in the snapshot before
    if calls[0] <= max(last, 0) or len(calls) < 100:
        bad.append(f'from {calls[0]} on, {len(calls)} calls, the last one before was {last}')
    last = calls[-1]
    print(f'# {len(calls)} calls, {calls[0]} to {last}')
for b in bad:
    print(b)
sys.exit(bool(bad))
PY
	rm -rf "$TMP"/s-*.hwt
	# by an event: the end of a program
	"$HWT" record -k 'syscall.*, sched.*' -a --provider "$p" --snapshot-on 'sched.exit where comm == "prog"' -o "$TMP/s.hwt" 2>"$TMP/log" &
	rec=$!
	wait_for "$TMP/log" "$p:"
	# it says so before it begins, and nothing tells when it has: programs run until one is seen to end
	sleep 1
	i=0
	: >"$TMP/said"
	while [ $i -lt 60 ] && ! grep -q 's-1.hwt: .*sched.exit' "$TMP/log"; do
		"$TMP/prog" >>"$TMP/said"
		sleep 1
		i=$((i + 1))
	done
	wait_for "$TMP/log" 's-1.hwt: .*sched.exit'
	kill -INT $rec
	wait $rec
	"$HWT" timeline -q --filter '*' --jsonl "$TMP/s-1.hwt" >"$TMP/t" || die "$p: s-1.hwt can not be read"
	# of the last one whose end is in it
	child=
	for c in $(awk '$1 == "child" { print $3 }' "$TMP/said"); do
		grep '"name":"sched.exit"' "$TMP/t" | grep -q "\"task_tid\":$c[,}]" && child=$c
	done
	[ -n "$child" ] || die "$p: the end that it is about is not there"
	[ "$(grep '"name":"syscall.enter"' "$TMP/t" | grep -c "\"tid\":$child,")" -ge 200 ] || die "$p: what came before is not there"
	rm -rf "$TMP"/s-*.hwt
	"$HWT" record -k 'syscall.*' -a --provider "$p" --snapshot-on 'no.such' -o "$TMP/s.hwt" 2>"$TMP/log"
	[ $? = 2 ] && ! ls "$TMP"/s-*.hwt 2>/dev/null || die "$p: an event that is none: $(cat "$TMP/log")"
	echo "# $p: by signal, by an event, at the end"
done
exit 0
