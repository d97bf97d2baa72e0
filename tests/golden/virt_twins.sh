#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# Three providers of one workload at once: the same virtual events, field by field, of each section that this machine can
# give; and the same names of tasks. No reader knows the others, and the kernel wrote all. Then the contracts: nothing that
# the kernel really did contradicts them.
. tests/golden/common
need python3
need perf
twins() {	# ARG...
	python3 tests/golden/virt_twins.py "$@" >"$TMP/says" 2>&1
	rc=$?
	[ $rc = 77 ] && { tail -n 1 "$TMP/says"; exit 77; }
	[ $rc = 0 ] || die "$1: $(cat "$TMP/says")"
	cat "$TMP/says"
}
twins sections include/hwtrace/events.def
# one recording, and all that is said of it
round() {
	twins record "$TMP"
	for w in perf.data trace.dat tracefs; do
		[ -e "$TMP/$w" ] || { echo "# $w: trace-cmd is not installed"; continue; }
		"$O/tests/tools/kernel_events" "$TMP/$w" >"$TMP/$w.txt" 2>"$TMP/err" || die "$w: $(cat "$TMP/err")"
		"$HWT" timeline --filter 'syscall.enter where nr == 59 || nr == 231, sched.exit, mm.fault' "$TMP/$w" >"$TMP/$w.names" 2>"$TMP/err" ||
			die "$w: $(cat "$TMP/err")"
	done
	for w in perf.data trace.dat; do
		[ -e "$TMP/$w" ] || continue
		twins compare "$TMP/$w.txt" "$TMP/tracefs.txt"
		twins names "$TMP/$w.names" "$TMP/tracefs.names"
	done
	# trace-cmd's is interrupted between its start and the workload
	for w in perf.data tracefs; do
		"$HWT" check --jsonl "$TMP/$w" >"$TMP/$w.check" 2>"$TMP/err"
		twins findings "$TMP/$w.check" "$TMP/$w.txt" "$TMP/turns"
	done
}
# a machine that is taken away between the stamps of two tracers puts them apart, and one that is busy loses events: not five times
for i in 1 2 3 4 5; do
	(trap - EXIT; round) >"$TMP/round"
	rc=$?
	[ $rc = 0 ] && break
	[ $rc = 77 ] && ! grep -q 'too busy' "$TMP/round" && break
	[ $i = 5 ] || echo "# again: $(head -c 200 "$TMP/round" | tail -n 1)"
	rm -rf "$TMP/perf.data" "$TMP/trace.dat" "$TMP/tracefs"
done
cat "$TMP/round"
exit $rc
