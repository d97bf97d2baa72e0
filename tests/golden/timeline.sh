#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# timeline: what list tells of each buffer, in its order, never backwards on a CPU, the same each time; between: a program whose instructions
# between two system calls are known from its source.
. tests/golden/common
need python3
merged() {	# FILE...: of a capture, at each level
	for level in range insn; do
		"$HWT" list --level $level --jsonl "$@" >"$TMP/list" 2>/dev/null
		"$HWT" timeline --level $level --jsonl "$@" >"$TMP/tl" 2>"$TMP/err"
		rc=$?
		[ $rc = 0 ] || [ $rc = 3 ] || die "timeline $*: exit $rc: $(cat "$TMP/err")"
		"$HWT" timeline --level $level --jsonl "$@" 2>/dev/null | cmp - "$TMP/tl" || die "timeline $*: not the same twice"
		python3 tests/golden/timeline.py merged "$TMP/list" "$TMP/tl" || die "timeline --level $level $*"
	done
	"$HWT" calls --jsonl "$@" >"$TMP/list" 2>/dev/null
	"$HWT" timeline --jsonl "$@" >"$TMP/tl" 2>/dev/null
	python3 tests/golden/timeline.py calls "$TMP/list" "$TMP/tl" || die "timeline of calls: $*"
}
merged --sysroot fixtures/captures/demo/in fixtures/captures/demo/in/perf.data
merged fixtures/captures/etm/in
if [ -d "$CAP" ]; then
	merged "$CAP/pt/lldb-cpus/in/trace.json"
	merged "$CAP/pt/skylake-kernel/in/perf.data"
	merged "$CAP/arm/TC2/in"
	merged "$CAP/arm/juno_r1_1/in"
else
	echo "# captures of others are not here (HWT_CAPTURES=$CAP)"
fi

# events of the kernel in a perf.data made here: perf script has the same ones, at the same times
ev="sched:sched_switch sched:sched_wakeup sched:sched_waking irq:softirq_entry irq:softirq_exit"
if ! command -v perf >/dev/null; then
	echo "# perf is not installed"
elif ! perf record -q $(printf -- '-e %s ' $ev) -a -o "$TMP/p.data" -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.02; done' >/dev/null 2>"$TMP/err"; then
	echo "# perf can not record here: $(head -n 1 "$TMP/err")"
else
	perf script -i "$TMP/p.data" --ns -F tid,cpu,time,event,trace >"$TMP/script" 2>/dev/null
	"$HWT" timeline --jsonl "$TMP/p.data" >"$TMP/tl" 2>"$TMP/err" || die "timeline of kernel events: exit $?: $(cat "$TMP/err")"
	grep -q E049 "$TMP/err" && die "kernel events alone are something: $(cat "$TMP/err")"
	python3 tests/golden/timeline.py script "$TMP/script" "$TMP/tl" || die "timeline of kernel events"
	perf script -i "$TMP/p.data" --ns -F comm,tid,time >"$TMP/script" 2>/dev/null
	"$HWT" timeline --abs "$TMP/p.data" >"$TMP/tl" 2>/dev/null
	python3 tests/golden/timeline.py comms "$TMP/script" "$TMP/tl" || die "names of tasks"
fi

case "$(uname -m)" in x86_64) ;; *) echo "the test program of between is for x86-64"; exit 77 ;; esac
need gcc
gcc -nostdlib -static -o "$TMP/prog" tests/golden/timeline_prog.S 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
for opt in "--cyc" "--mtc 12" ""; do
	rm -rf "$TMP/c.hwt"
	# shellcheck disable=SC2086
	"$HWT" record --model $opt -o "$TMP/c.hwt" "$TMP/prog" 2>"$TMP/err" || { echo "ptrace is not permitted here: $(cat "$TMP/err")"; exit 77; }
	"$HWT" timeline --jsonl "$TMP/c.hwt" >"$TMP/tl" 2>/dev/null
	grep -q '"name":"syscall.enter"' "$TMP/tl" || { echo "no events of this machine's kernel: not permitted here"; exit 77; }
	merged "$TMP/c.hwt"
	echo '#include <asm/unistd.h>' | gcc -E -dM - | sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$/\1 \2/p' >"$TMP/nr"
	python3 tests/golden/timeline.py names "$TMP/nr" "$TMP/tl" || die "names of system calls, $opt"
	tid=$(sed -n 's/.*"type":"call",.*"tid":\([0-9]*\),.*/\1/p' "$TMP/tl" | head -n 1)
	"$HWT" timeline --level insn --jsonl --tid "$tid" "$TMP/c.hwt" 2>/dev/null >"$TMP/insns"
	python3 tests/golden/timeline.py calls_of_prog "$TMP/insns" || die "system calls, $opt"
	python3 tests/golden/timeline.py between "$HWT" "$TMP/c.hwt" "$TMP/tl" || die "between, $opt"
done
python3 tests/golden/timeline.py select "$HWT" "$TMP/c.hwt" "$TMP/tl" || die "a selection"
bad() {	# what it says, then arguments
	want=$1
	shift
	"$HWT" "$@" >"$TMP/out" 2>"$TMP/err"
	rc=$?
	[ $rc = 2 ] || die "hwtrace $*: exit $rc, not 2"
	grep -qF -e "$want" "$TMP/err" || die "hwtrace $*: says $(cat "$TMP/err")"
}
c=$TMP/c.hwt
bad 'no event "nothing.at_all"' timeline --filter nothing.at_all "$c"
bad 'one call is syscall.enter:read' timeline --filter 'syscall.enter where name == "read"' "$c"
bad 'takes an input and two events' between "$c" 1
bad 'no event of this name' between "$c" nothing 2
bad 'the capture has ' between "$c" 1 99999999
bad 'the capture has 7 such events' between "$c" syscall.enter:1 syscall.enter:8
bad '1 is not behind 3' between "$c" 3 1
bad 'is no event' between "$c" '#x' 1
bad 'no CPU 99' timeline --cpu 99 "$c"
