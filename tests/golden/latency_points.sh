#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# Points of latency in a program whose calls are known from its source: functions, returns, recursion, a line, an address, system calls.
. tests/golden/common
need python3
need gcc
need nm
case "$(uname -m)" in x86_64|aarch64) ;; *) echo "programs can not be stepped here"; exit 77 ;; esac
gcc -g -O1 -static -fno-inline -fno-optimize-sibling-calls -o "$TMP/prog" tests/golden/latency_points.c || die "no program"
"$HWT" record --model -o "$TMP/c.hwt" "$TMP/prog" 2>"$TMP/err" || { echo "ptrace is not permitted here: $(tail -n 2 "$TMP/err")"; exit 77; }
pairs() {	# want, arguments
	want=$1
	shift
	"$HWT" latency --jsonl "$@" "$TMP/c.hwt" >"$TMP/out" 2>"$TMP/err" || die "latency $*: $(cat "$TMP/err")"
	got=$(grep -c '"type":"pair"' "$TMP/out")
	[ "$got" = "$want" ] || die "latency $*: $got pairs, not $want"
	grep -q '"type":"latency".*"pairs":'"$want," "$TMP/out" || die "latency $*: sum"
}
left() {	# member, want
	grep -q '"type":"latency".*"'"$1"'":'"$2"'[,}]' "$TMP/out" || die "$1 is not $2: $(tail -n 1 "$TMP/out")"
}
# a window has the calls of the whole, at the depths that they have there
"$HWT" calls --jsonl --abs "$TMP/c.hwt" >"$TMP/whole" 2>/dev/null || die "calls"
mid=$(sed -n 's/.*"type":"call".*"lo":\([0-9]*\).*"sym":"work".*/\1/p' "$TMP/whole" | sed -n 10p)
for cmd in calls timeline; do
	"$HWT" $cmd --jsonl --abs "$TMP/c.hwt" >"$TMP/whole" 2>/dev/null || die "$cmd"
	"$HWT" $cmd --jsonl --abs --time "${mid}ns.." "$TMP/c.hwt" 2>/dev/null | grep '"type":"\(call\|return\)"' >"$TMP/part"
	[ "$(grep -c '"sym":"work"' "$TMP/part")" -ge 21 ] || die "$cmd: window: $(grep -c '"sym":"work"' "$TMP/part")"
	grep -v -x -F -f "$TMP/whole" "$TMP/part" >"$TMP/odd" && die "$cmd --time: not in the whole: $(head -n 2 "$TMP/odd")"
done
pairs 20 --from work
left unended 0; left unbegun 0; left tainted 0; left replaced 0
pairs 20 --from work:entry --to work:exit
# one leaf of each work counts: the last one before its end
pairs 20 --from leaf --to work:exit
left replaced 5
pairs 25 --from leaf
# recursion nests: five calls and four, each longer than those inside it
pairs 9 --from fact
python3 - "$TMP/out" <<'END' || die "recursion"
import json, sys
v = [o for o in map(json.loads, open(sys.argv[1])) if o['type'] == 'pair']
assert all(a['from']['hi'] >= b['from']['lo'] and a['to']['lo'] <= b['to']['hi'] for w in (v[:5], v[5:]) for a, b in zip(w, w[1:])), v
assert all(a['took'].get('hi', 1e30) >= 0 and b['took'].get('hi', 1e30) >= a['took']['lo'] for w in (v[:5], v[5:]) for a, b in zip(w, w[1:])), v
END
"$HWT" latency --from latency_points.c:10 --to work:exit "$TMP/c.hwt" >/dev/null 2>&1
[ $? = 2 ] || die "a line and a return are of two walks"
pairs 20 --from work --to latency_points.c:10
pairs 20 --from latency_points.c:9 --to golden/latency_points.c:10
pairs 19 --from work --to work
left unended 1
addr=0x$(nm "$TMP/prog" | sed -n 's/ T work$//p')
pairs 20 --from "$addr" --to latency_points.c:10
pairs 1 --from main --to fact
for bad in nosuch latency_points.c:9999 0xzz "sched.swich where" "sched.switch where a == 1" ""; do
	"$HWT" latency --from "$bad" "$TMP/c.hwt" >/dev/null 2>"$TMP/err"
	[ $? = 2 ] || die "--from '$bad' is no usage error: $(cat "$TMP/err")"
	grep -q '\[E16[0-9]\]' "$TMP/err" || die "--from '$bad': $(cat "$TMP/err")"
done
"$HWT" latency "$TMP/c.hwt" >/dev/null 2>&1
[ $? = 2 ] || die "no --from"
"$HWT" latency --from work "$TMP/c.hwt" >"$TMP/text" 2>&1 || die "text"
grep -q '^20 pairs   p50 ' "$TMP/text" || die "$(cat "$TMP/text")"
# edges of rows are powers of two, to the digit
sed -n 's/^ *\([0-9.]*\) \([a-z]*\) *\.\. .*/\1 \2/p' "$TMP/text" | awk '{
	v = $1 * ($2 == "s" ? 1e9 : $2 == "ms" ? 1e6 : $2 == "us" ? 1e3 : 1)
	for (e = 1; e < v - 0.01; e *= 2) ;
	if (v > 0.5 && (e - v > 0.01 || v - e > 0.01)) exit 1
} END { if (!NR) exit 1 }' || die "edges: $(cat "$TMP/text")"
# the command that is offered works
sed -n 's/^ *hwtrace \(timeline .*\)/\1/p' "$TMP/text" | head -n 1 >"$TMP/cmd"
# shellcheck disable=SC2046
"$HWT" $(cat "$TMP/cmd") >"$TMP/tl" 2>/dev/null || die "$(cat "$TMP/cmd")"
grep -q 'work' "$TMP/tl" || die "$(cat "$TMP/cmd"): no work in it"
# why has the numbers and the instants of latency, also where some were begun again or ended without a begin
same() {
	"$HWT" latency -q --jsonl "$@" "$TMP/c.hwt" | grep '"type":"pair"' >"$TMP/pairs"
	for line in 3 14 20; do
		want=$(sed -n "${line}p" "$TMP/pairs" | sed 's/.*\("number":[0-9]*\),.*\("from":.*"took":{[^}]*}\).*/\1 \2/')
		call=$(echo "$want" | sed 's/"number":\([0-9]*\).*/\1/')
		[ -n "$call" ] || return 0
		"$HWT" why -q --jsonl "$@" --call "$call" "$TMP/c.hwt" | sed -n '/"type":"this"/s/.*\("number":[0-9]*\),.*\("from":.*"took":{[^}]*}\).*/\1 \2/p' >"$TMP/this"
		[ "$(cat "$TMP/this")" = "$want" ] || die "why $* --call $call: $(cat "$TMP/this"), not $want"
	done
}
same --from work
same --from leaf
same --from leaf --to work:exit
same --from work --to leaf
same --from work --to latency_points.c:10
# each call of a recursion has its number, and the outermost ones are explained
for n in 5 9; do
	"$HWT" latency -q --jsonl --from fact "$TMP/c.hwt" | grep '"type":"pair","number":'"$n," | sed 's/.*\("from":.*"took":{[^}]*}\).*/\1/' >"$TMP/pairs"
	"$HWT" why -q --jsonl --from fact --call $n "$TMP/c.hwt" | sed -n '/"type":"this"/s/.*\("from":.*"took":{[^}]*}\).*/\1/p' >"$TMP/this"
	[ -s "$TMP/this" ] && diff "$TMP/pairs" "$TMP/this" >"$TMP/diff" || die "recursion: $(cat "$TMP/diff")"
done
"$HWT" why -q --from fact --call 4 "$TMP/c.hwt" >/dev/null 2>"$TMP/err"
[ $? = 2 ] && grep -q 'inside another' "$TMP/err" || die "a call inside another: $(cat "$TMP/err")"
for point in work leaf; do
	python3 tests/golden/latency_holes.py "$HWT" "$TMP/c.hwt" "$TMP/d.hwt" $point 2>"$TMP/err" || die "damaged trace: $(tail -n 3 "$TMP/err")"
done
# a window of record begins with the entry of its function
"$HWT" record --model --no-kernel --from work -o "$TMP/w.hwt" "$TMP/prog" 2>"$TMP/err" || die "record --from: $(cat "$TMP/err")"
"$HWT" latency -q --jsonl --from work "$TMP/w.hwt" >"$TMP/out" || die "latency of windows"
[ "$(grep -c '"type":"pair"' "$TMP/out")" = 20 ] || die "windows: $(tail -n 1 "$TMP/out")"
left unended 0; left unbegun 0; left tainted 0
case "$(id -u)" in 0) ;; *) echo "# kernel events are recorded by root only"; exit 0 ;; esac
"$HWT" timeline --jsonl "$TMP/c.hwt" 2>/dev/null | grep -q '"name":"syscall.enter"' || { echo "# no events of this machine's kernel"; exit 0; }
pairs 20 --from syscall.enter:getppid
# what is a point here is one for between; its numbers, by what the events themselves say
"$HWT" timeline --jsonl "$TMP/c.hwt" 2>/dev/null | python3 -c '
import json, sys
v = [o for o in map(json.loads, sys.stdin) if o.get("name", "").startswith("syscall.")]
enter = [i for i, o in enumerate(v) if o["name"] == "syscall.enter" and o.get("call") == "getppid"][2]
end = [o for o in v[enter:] if o["name"] == "syscall.exit" and o["tid"] == v[enter]["tid"]][0]
print(v[enter]["number"], end["number"], v[enter]["values"]["nr"])' >"$TMP/want" 2>"$TMP/err" || die "getppid in the timeline: $(tail -n 1 "$TMP/err")"
read -r from to nr <"$TMP/want"
"$HWT" between -q --jsonl "$TMP/c.hwt" "$from" "$to" >"$TMP/want" || die "between $from $to"
for event in syscall.enter:getppid:3 "syscall.enter where nr == $nr:3"; do
	"$HWT" between -q --jsonl "$TMP/c.hwt" "$event" syscall.exit:getppid >"$TMP/out" || die "between with names"
	cmp -s "$TMP/want" "$TMP/out" || die "between $event: not $from and $to: $(head -n 3 "$TMP/out")"
done
"$HWT" between -q "$TMP/c.hwt" syscall.enter:nosuch syscall.exit 2>"$TMP/err"
[ $? = 2 ] && grep -q 'no system call "nosuch"' "$TMP/err" || die "between: $(cat "$TMP/err")"
"$HWT" latency --from sched.switch:3 "$TMP/c.hwt" 2>"$TMP/err"
[ $? = 2 ] && grep -q 'as between takes it' "$TMP/err" || die "latency: one event: $(cat "$TMP/err")"
rm -rf "$TMP/c.hwt"
"$HWT" record --model --cyc -o "$TMP/c.hwt" "$TMP/prog" 2>"$TMP/err" || die "record: $(cat "$TMP/err")"
for cmd in latency why; do
	"$HWT" $cmd -q --from work "$TMP/c.hwt" >"$TMP/text" || die "$cmd"
	grep -q "^note: the kernel's events are those of one CPU" "$TMP/text" || die "$cmd does not say what is left out: $(cat "$TMP/text")"
done
# who executes is on a CPU: leaf() calls nobody, and all of it is traced
"$HWT" latency -q --jsonl --from leaf "$TMP/c.hwt" | grep '"type":"pair"' >"$TMP/pairs"
grep -q '"unknown":{"lo":0,"hi":0}' "$TMP/pairs" || die "no split: $(head -n 1 "$TMP/pairs")"
grep -v '"unknown":{"lo":0,"hi":0}' "$TMP/pairs" && die "instructions that nobody ran"
# what the recorder does to the program is not told as the program's
"$HWT" latency -q --from syscall.enter:getppid "$TMP/c.hwt" | grep -q '^simulation: where the recorder' || die "the recorder's stops are not told"
"$HWT" why -q --from syscall.enter:getppid "$TMP/c.hwt" >"$TMP/text" || die "why: getppid"
grep -q 'in getppid' "$TMP/text" && ! grep -q 'stepper.*in getppid' "$TMP/text" && die "getppid waits for nobody: $(cat "$TMP/text")"
# a planted sleep is named by its call
cat >"$TMP/sleep.c" <<'END'
#include <unistd.h>
__attribute__((noinline)) void rest(int us) { usleep(us); }
int main(void) { for (int i = 0; i < 6; i++) rest(i == 3 ? 60000 : 200); return 0; }
END
gcc -g -O1 -static -fno-optimize-sibling-calls -o "$TMP/sleep" "$TMP/sleep.c" || die "no program"
"$HWT" record --model --cyc -o "$TMP/s.hwt" "$TMP/sleep" 2>"$TMP/err" || die "record: $(cat "$TMP/err")"
"$HWT" why -q --from rest "$TMP/s.hwt" >"$TMP/text" || die "why: sleep"
grep -q '\(blocked\|off-cpu\): .*, in \(clock_\)*nanosleep' "$TMP/text" || die "a sleep without its call: $(cat "$TMP/text")"
# both sides of a task in one order: the trace's instants are closer than two system calls
pairs 20 --from syscall.exit:getppid --to work:exit
