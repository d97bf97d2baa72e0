#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# Threads of a program, traced, with the kernel's events: whose calls they are, where their time went, and why one took long, against what
# the program says of itself. One sleeps with a lock in its hand, another waits for that.
. tests/golden/common
need python3
need gcc
case "$(uname -m)" in x86_64|aarch64) ;; *) echo "programs can not be stepped here"; exit 77 ;; esac
[ "$(id -u)" = 0 ] || { echo "kernel events are recorded by root only"; exit 77; }
gcc -g -O1 -static -pthread -o "$TMP/prog" tests/golden/latency_threads.c || die "no program"
"$HWT" record --model --cyc -o "$TMP/c.hwt" "$TMP/prog" >"$TMP/said" 2>"$TMP/err" || { echo "ptrace is not permitted here: $(tail -n 2 "$TMP/err")"; exit 77; }
"$HWT" timeline --jsonl --filter sched.switch "$TMP/c.hwt" 2>/dev/null | grep -q sched.switch || { echo "no events of this machine's kernel"; exit 77; }
python3 tests/golden/latency_threads.py "$HWT" "$TMP/c.hwt" "$TMP/said" 2>"$TMP/err" || die "$(tail -n 3 "$TMP/err" | cut -c1-1500)"
# between two events of the first thread, whose id is that of the process, nothing of the others ran
"$HWT" timeline --jsonl "$TMP/c.hwt" 2>/dev/null | python3 -c '
import json, sys
v = [o for o in map(json.loads, sys.stdin) if o.get("name", "").startswith("syscall.")]
first = v[0]["tid"]
mine = [o for o in v if o["tid"] == first][-6:]
print(first, *["%d %d" % (a["number"], b["number"]) for a, b in zip(mine, mine[1:]) if a["name"] == "syscall.exit"])' >"$TMP/events" || die "no system calls"
read -r tid from to rest <"$TMP/events"
: "$rest"
"$HWT" between -q --jsonl "$TMP/c.hwt" "$from" "$to" >"$TMP/out" || die "between $from $to"
[ "$(grep -c "\"type\":\"insn\".*\"tid\":$tid," "$TMP/out")" -gt 0 ] || die "between: nothing of $tid"
grep '"type":"insn"' "$TMP/out" | grep -v "\"tid\":$tid," && die "between: of others than $tid"
exit 0
