#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# The name of a task at each instant: names.c changes its name and says by its system calls which one it has. Recorded with the
# events that tell of names, with some of them, and with none: a name may be missing then, but never be another one's.
# And idle threads, which all are task 0: each has the number of its CPU.
. tests/golden/common
need gcc
gcc -O1 -D_GNU_SOURCE -o "$TMP/first" tests/golden/names.c 2>"$TMP/err" && cp "$TMP/first" "$TMP/second" || die "$(cat "$TMP/err")"
"$HWT" record -q -k syscall.enter -o "$TMP/try.hwt" -- true >"$TMP/err" 2>&1 || { head -n 1 "$TMP/err"; echo "kernel events can not be recorded here"; exit 77; }
rows=0
for events in 'sched.*, syscall.*' 'sched.switch, syscall.*' 'sched.exec, sched.comm, syscall.*' 'sched.exec, sched.switch, syscall.*' \
	'sched.exec, syscall.*' 'sched.wakeup, syscall.*' 'syscall.*'; do
	"$HWT" record -q -f -k "$events" -o "$TMP/n.hwt" -- "$TMP/first" "$TMP/second" >"$TMP/said" 2>"$TMP/err" || die "$events: $(cat "$TMP/err")"
	tid=$(cat "$TMP/said")
	"$HWT" timeline --filter 'syscall.enter' "$TMP/n.hwt" 2>"$TMP/err" >"$TMP/lines" || die "$events: $(cat "$TMP/err")"
	# "TIME [CPU] TID/NAME -- #N syscall.enter: CALL"
	awk -v tid="$tid" -v events="$events" '
	{
		split($3, who, "/")
		call = $7
	}
	who[1] != tid || call !~ /^(getppid|getpgrp|getuid)$/ { next }
	{
		want = call == "getppid" ? "first" : call == "getpgrp" ? "second" : "third"
		n++
		# nothing tells of prctl() but sched.comm and what sees the task later
		known = want == "first" || events ~ /sched\.(\*|switch|wakeup)/ || (events ~ /sched.exec/ && want == "second") || events ~ /sched.comm/
		if (who[2] == want)
			right++
		else if (known || (who[2] != "" && want != "third")) {
			print events ": " $0 ": not " want
			bad = 1
		}
	}
	END {
		if (n != 12)
			print events ": " n " calls of " tid
		exit bad || n != 12
	}' "$TMP/lines" || exit 1
	rows=$((rows + 1))
done
"$HWT" record -q -f -k sched.switch -a --time 0.3 -o "$TMP/i.hwt" 2>"$TMP/err" || die "$(cat "$TMP/err")"
for cmd in list timeline; do
	"$HWT" $cmd "$TMP/i.hwt" 2>/dev/null | awk '$3 ~ /^0\// && $3 != "0/swapper/" substr($2, 2, length($2) - 2) { print "idle: " $0; exit 1 }' || exit 1
done
echo "# $rows recordings"
