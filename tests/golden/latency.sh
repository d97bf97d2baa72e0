#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# latency against what a script makes of the lines of perf script: each pair to the nanosecond, with where its time went.
. tests/golden/common
need python3
need perf
# programs that sleep and compute, so that tasks wait, are woken and lose their CPU
cat >"$TMP/load.sh" <<'END'
k=0; while [ $k -lt $1 ]; do k=$((k + 1)); (n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); done; sleep 0.01; sleep 0.01; sleep 0.01; sleep 0.01) & done
wait
END
# a busy machine loses records now and then, and pairs of what is lost are none: recorded again with more room and fewer programs
jobs=8 pages=1024
for try in 1 2 3; do
	perf record -q -m $pages -e sched:sched_switch,sched:sched_wakeup,irq:irq_handler_entry,irq:irq_handler_exit,irq:softirq_entry,irq:softirq_exit \
		-e raw_syscalls:sys_enter,raw_syscalls:sys_exit -a -o "$TMP/s.data" -- sh "$TMP/load.sh" $jobs >/dev/null 2>"$TMP/err" ||
		{ echo "perf can not record here: $(tail -n 1 "$TMP/err")"; exit 77; }
	"$HWT" info "$TMP/s.data" >"$TMP/info" 2>&1
	grep -q 'E046' "$TMP/info" || break
	[ $try = 3 ] && die "perf loses records, whatever room it has: $(grep E046 "$TMP/info")"
	jobs=$((jobs - 2)) pages=$((pages * 4))
	echo "# again: perf lost records"
done
perf script --ns --show-task-events -F comm,tid,cpu,time,event,trace -i "$TMP/s.data" >"$TMP/script" 2>/dev/null
"$HWT" latency -q --jsonl --from sched.wakeup "$TMP/s.data" >"$TMP/wakeup" || die "latency: exit $?"
"$HWT" latency -q --jsonl --from syscall.enter "$TMP/s.data" >"$TMP/syscall" || die "latency: exit $?"
python3 tests/golden/latency.py "$TMP/script" wakeup "$TMP/wakeup" syscall "$TMP/syscall" || die "pairs"
