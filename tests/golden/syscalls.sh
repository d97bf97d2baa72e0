#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# Real kernel events: the system calls of a program that is stepped (record --model), as its own instructions, as our records and as the
# running kernel told perf at the same time, one to one (tests/golden/syscalls.py).
. tests/golden/common
need perf
need python3
[ "$(uname -m)" = x86_64 ] || { echo "the recorder's program is for x86-64"; exit 77; }
gcc -O1 -static -pthread -o "$TMP/prog" tests/golden/record/prog.c 2>"$TMP/err" || { echo "no static C library: $(tail -n 1 "$TMP/err")"; exit 77; }
perf record -q -e raw_syscalls:sys_enter -o "$TMP/p.data" true 2>"$TMP/err" ||
	{ echo "perf may not record tracepoints here: $(head -n 1 "$TMP/err")"; exit 77; }
# perf's buffers hold more than all that is recorded, without the calls of the recorder (ptrace, process_vm_readv): none may be lost
for mode in signals threads forks restarts exec; do
	rm -rf "$TMP/m.hwt"
	perf record -q -m 16M -e raw_syscalls:sys_enter,raw_syscalls:sys_exit --filter 'id != 101 && id != 310' -o "$TMP/p.data" -- \
		"$HWT" record --model -q -o "$TMP/m.hwt" -- "$TMP/prog" $mode >/dev/null 2>"$TMP/err"
	[ -f "$TMP/m.hwt/hwtrace.ini" ] || { echo "programs can not be stepped here: $(head -n 1 "$TMP/err")"; exit 77; }
	perf script --show-lost-events -i "$TMP/p.data" -F tid,event,trace 2>/dev/null >"$TMP/perf"
	! grep -q LOST "$TMP/perf" || die "$mode: perf lost events"
	"$HWT" list --jsonl "$TMP/m.hwt" >"$TMP/list" 2>"$TMP/err" || die "$mode: list: $(cat "$TMP/err")"
	python3 tests/golden/syscalls.py "$TMP/list" "$TMP/perf" >"$TMP/out" || die "$mode: $(cut -c1-1000 "$TMP/out")"
	echo "# $mode: $(cat "$TMP/out")"
done
