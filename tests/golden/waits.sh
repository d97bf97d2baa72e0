#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# Who woke a task, what that one did meanwhile, and who had the CPU, against what a program measured of itself; and in a recording of that
# program alone, beside one of the whole machine at the same time: lengths that are called certain are those of the other one.
. tests/golden/common
need python3
need gcc
[ "$(id -u)" = 0 ] || { echo "kernel events are recorded by root only"; exit 77; }
gcc -O1 -D_GNU_SOURCE -o "$TMP/prog" tests/golden/waits.c -lpthread || die "no program"
# a busy machine loses records, or runs others meanwhile: then it is tried again
for try in 1 2 3 4 5 6 7 8; do
	rm -rf "$TMP/all.hwt" "$TMP/some.hwt"
	"$HWT" record -k 'sched.switch, sched.wakeup' -a --size 64 --time 60 -o "$TMP/all.hwt" >/dev/null 2>"$TMP/err" &
	all=$!
	sleep 1
	kill -0 $all 2>/dev/null || { echo "no events of this machine's kernel: $(tail -n 1 "$TMP/err")"; exit 77; }
	"$HWT" record -k 'sched.switch, sched.waking, sched.wakeup, sched.fork, irq.*, syscall.exit:getppid, syscall.enter:getuid' --size 64 -o "$TMP/some.hwt" -- "$TMP/prog" >"$TMP/said" 2>"$TMP/err2"
	rc=$?
	kill -INT $all
	wait $all
	[ $rc = 77 ] && { echo "no task of higher priority here"; exit 77; }
	[ $rc = 0 ] || die "record: $(cat "$TMP/err2")"
	again="records were lost"
	if ! "$HWT" info "$TMP/some.hwt" 2>&1 | grep -q E046 && ! "$HWT" info "$TMP/all.hwt" 2>&1 | grep -q 'records lost'; then
		for call in 1 2 3 4; do
			"$HWT" why -q --jsonl --from syscall.exit:getppid --to syscall.enter:getuid --call $call "$TMP/some.hwt" >"$TMP/why$call" || die "why $call"
		done
		again=$(python3 tests/golden/waits.py waits "$TMP/said" "$TMP/why" 2>"$TMP/py") || die "$(tail -n 2 "$TMP/py" | cut -c1-1500)"
	fi
	[ -z "$again" ] && break
	echo "# again: $again"
done
[ -z "$again" ] || die "each time: $again"
# where the machine hides some threads from tracers, so many lengths of the whole may be missing
missing=$("$HWT" info -v "$TMP/all.hwt" 2>&1 | grep -c 'switch is missing')
for from in sched.wakeup sched.switch; do
	"$HWT" latency -q --jsonl --from $from "$TMP/some.hwt" >"$TMP/some" || die "latency $from"
	"$HWT" latency -q --jsonl --from $from "$TMP/all.hwt" >"$TMP/all" || die "latency $from"
	python3 tests/golden/waits.py scope "$TMP/some" "$TMP/all" "$missing" 2>"$TMP/py" || die "$from: $(tail -n 2 "$TMP/py" | cut -c1-1500)"
done
"$HWT" latency --from sched.wakeup "$TMP/some.hwt" >"$TMP/text" 2>/dev/null || die "text"
grep -q 'not certain, as only [0-9]* tasks were recorded' "$TMP/text" || die "text: $(tail -n 3 "$TMP/text")"
