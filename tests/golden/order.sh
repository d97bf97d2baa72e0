#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# check: the clocks of this machine's CPUs agree with what must come first, in recordings of perf and of the tracer, under load.
. tests/golden/common
load='for i in 1 2 3 4 5 6; do (for j in 1 2 3 4 5 6 7 8; do sh -c "echo | cat | cat >/dev/null"; done) & done; wait'
sound() {	# FILE: no finding about clocks, and something was looked at
	"$HWT" check "$1" >"$TMP/out" 2>"$TMP/err"
	grep '^clocks: .* events of two CPUs are in the order that they must have' "$TMP/out" >"$TMP/line" ||
		die "$1: $(cat "$TMP/out" "$TMP/err")"
	echo "# $(cut -d' ' -f2- <"$TMP/line")"
}
[ "$(nproc)" -gt 1 ] || { echo "one CPU only"; exit 77; }
done=0
s=sched:sched_
if ! command -v perf >/dev/null; then
	echo "# perf is not installed"
elif ! perf record -q -e ${s}switch,${s}waking,${s}wakeup,${s}wakeup_new,${s}migrate_task,${s}process_fork,${s}process_free -a \
		-o "$TMP/p.data" -- sh -c "$load" >/dev/null 2>"$TMP/err"; then
	echo "# perf can not record here: $(head -n 1 "$TMP/err")"
else
	sound "$TMP/p.data"
	done=1
fi
if ! command -v trace-cmd >/dev/null; then
	echo "# trace-cmd is not installed"
elif ! trace-cmd record -q -e ${s}switch -e ${s}waking -e ${s}wakeup -e ${s}wakeup_new -e ${s}migrate_task -e ${s}process_fork \
		-e ${s}process_free -b 4096 -o "$TMP/t.dat" sh -c "$load" >/dev/null 2>"$TMP/err"; then
	echo "# trace-cmd can not record here: $(head -n 1 "$TMP/err")"
else
	sound "$TMP/t.dat"
	done=1
fi
[ $done = 1 ] || { echo "nothing can be recorded here"; exit 77; }
