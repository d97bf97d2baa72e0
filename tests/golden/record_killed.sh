#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# record -k killed by SIGKILL at 20 instants: each capture opens, says that its recorder died, and of a program that numbers its calls
# none is missing between the first and the last; the next recorder takes away what the killed ones left in the tracer.
. tests/golden/common
need gcc
need python3
gcc -D_GNU_SOURCE -O1 -pthread -o "$TMP/prog" tests/golden/record/kernel.c 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
providers=$("$HWT" list-events --jsonl sched.switch | sed -n 's/.*"provider","name":"\([a-z]*\)","here":true.*/\1/p' | grep -v 'module\|perf')
[ -n "$providers" ] || { "$HWT" list-events sched.switch | head -n 3; echo "no provider can be used"; exit 77; }
taskset 1 true 2>/dev/null && one="taskset 1"
for p in $providers; do
	$one "$TMP/prog" loop &
	prog=$!
	# one of them, at its own instant; five at once
	one() {
		"$HWT" record -q -k 'syscall.enter:getppid' -p $prog --provider "$p" -o "$TMP/k$1.hwt" 2>"$TMP/err$1" &
		rec=$!
		# some while it opens, most from the first records on
		i=0
		while [ $(($1 % 5)) != 0 ] && [ $i -lt 6000 ] && [ -z "$(find "$TMP/k$1.hwt/kernel" -name 'cpu*' -size +0 2>/dev/null)" ]; do
			sleep 0.01
			i=$((i + 1))
		done
		sleep "0.$(printf %03d $((10 + $1 * 37 % 300)))"
		kill -KILL $rec || echo "$1 had ended: $(cat "$TMP/err$1")" >>"$TMP/bad"
		wait $rec 2>/dev/null
	}
	for k in 0 5 10 15; do
		one $k & a=$!
		one $((k + 1)) & b=$!
		one $((k + 2)) & c=$!
		one $((k + 3)) & d=$!
		one $((k + 4)) & e=$!
		wait $a $b $c $d $e 2>/dev/null
	done
	[ ! -e "$TMP/bad" ] || die "$p: $(cat "$TMP/bad")"
	for c in "$TMP"/k*.hwt; do
		k=${c##*/k}
		k=${k%.hwt}
		# a packet that was being written is cut (E144)
		"$HWT" timeline --filter '*' --jsonl "$c" >"$TMP/t$k" 2>"$TMP/e$k" || grep -q 'no kernel events\|E144' "$TMP/e$k" ||
			die "$p: k$k.hwt does not open: $(cat "$TMP/e$k")"
	done
	# one that comes to its end, for the other answer
	"$HWT" record -q -k 'syscall.enter:getppid' -p $prog --time 0.2 --provider "$p" -o "$TMP/whole.hwt" || die "$p: whole.hwt"
	kill $prog
	wait $prog 2>/dev/null
	"$HWT" info "$TMP/whole.hwt" 2>&1 | grep -q E140 && die "$p: whole.hwt did not end well"
	python3 - "$TMP" $prog <<'PY' || die "$p: not what the program did"
import glob, json, os, sys
bad, n, some, unclean = [], 0, 0, 0
for f in sorted(glob.glob(sys.argv[1] + '/t[0-9]*')):
    v = [int(j['values']['arg0'], 16) for j in map(json.loads, open(f)) if j.get('name') == 'syscall.enter']
    if v and v != list(range(v[0], v[0] + len(v))):
        bad.append(f'{os.path.basename(f)}: a call is missing or wrong')
    n += len(v)
    some += bool(v)
    if v and 'did not come to its end [E140]' not in open(os.path.dirname(f) + '/e' + os.path.basename(f)[1:]).read():
        bad.append(f'{os.path.basename(f)}: does not say that its recorder died')
print(f'# {n} calls in {some} captures of 20 that were killed')
if some < 16:
    bad.append('too few have any')
for b in bad[:5]:
    print(b)
sys.exit(bool(bad))
PY
	rm -rf "$TMP"/*.hwt "$TMP"/t[0-9]* "$TMP"/e[0-9]*
done
I=/sys/kernel/tracing/instances
ls $I 2>/dev/null | grep "hwtrace-" | while read -r i; do
	[ -d "/proc/$(echo "$i" | sed 's/hwtrace-\([0-9]*\).*/\1/')" ] || echo "$i"
done | grep . && die "an instance is left"
# whose instance it is: its process is gone, its number is that of a later one, it runs; one of other processes, and one that is not ours
ns=$(stat -L -c %i /proc/self/ns/pid)
sleep 1000 >/dev/null 2>&1 &
p=$!
start=$(sed 's/.*) //' /proc/$p/stat | cut -d' ' -f20)
mine="hwtrace-4194000-77-$ns hwtrace-$p-$((start - 1))-${ns}d"
others="hwtrace-$p-$start-$ns hwtrace-4194000-77-1 hwtrace-x.$$"
trap 'for i in $mine $others; do rmdir "$I/$i" 2>/dev/null; done; kill $p 2>/dev/null; rm -rf "$TMP"' EXIT
for i in $mine $others; do
	mkdir "$I/$i" || die "no instance"
done
for c in list-events doctor; do
	"$HWT" $c >"$TMP/o" 2>&1 || die "$c: $(cat "$TMP/o")"
	tr -d ' \n' <"$TMP/o" | grep -o "sudormdir$I/hwtrace-[0-9]*-[0-9]*-[0-9]*d*" | sed 's/.*instances.//' | sort >"$TMP/said-$c"
done
printf '%s\n' $mine | sort | cmp -s - "$TMP/said-list-events" || die "list-events names others than $mine: $(cat "$TMP/said-list-events")"
# it has room for one, and a number
[ "$(wc -l <"$TMP/said-doctor")" = 1 ] && comm -23 "$TMP/said-doctor" "$TMP/said-list-events" | cmp -s - /dev/null && tr -d '\n' <"$TMP/o" | tr -s ' ' | grep -q 'and 1 more' ||
	die "doctor: $(cat "$TMP/said-doctor" "$TMP/o")"
for i in $mine $others; do
	[ -d "$I/$i" ] || die "who only looks took $i away"
done
# the step that is named is enough
echo 1 >"$I/${mine%% *}/events/sched/sched_switch/enable"
rmdir "$I/${mine%% *}" || die "rmdir"
"$HWT" record -q -k sched.switch -a --time 0.01 --provider tracefs -o "$TMP/last.hwt" || die "last.hwt"
for i in $mine; do
	[ ! -d "$I/$i" ] || die "a recorder leaves $i"
done
for i in $others; do
	rmdir "$I/$i" || die "a recorder took $i away, which is not that of a dead one"
done
kill $p
wait $p 2>/dev/null
echo "# instances of killed recorders are named, and only those are taken away"
exit 0
