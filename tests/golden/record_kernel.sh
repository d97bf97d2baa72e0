#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# record -k without the kernel module: what a program says of itself, what perf recorded of it at the same time, filters, and what
# is refused. The module is tested in guests (tests/kernel).
. tests/golden/common
need gcc
need python3
gcc -D_GNU_SOURCE -O1 -pthread -o "$TMP/prog" tests/golden/record/kernel.c 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
rec() { "$HWT" record "$@" 2>"$TMP/err"; }
all="$("$HWT" list-events --jsonl sched.switch | sed -n 's/.*"provider","name":"\([a-z]*\)","here":true.*/\1/p')"
providers=$(echo "$all" | grep -v 'module\|perf')
[ -n "$providers" ] || { "$HWT" list-events sched.switch | head -n 3; echo "no provider can be used"; exit 77; }
events='sched.*, syscall.*'
for p in $providers; do
	C=$TMP/$p.hwt
	# 1. a program and what it forks
	rec -k "$events" --provider "$p" -o "$C" -- "$TMP/prog" >"$TMP/said"
	[ $? = 1 ] && grep -q 'ended with exit code 7' "$TMP/err" || die "$p: $(cat "$TMP/err")"
	"$HWT" timeline -q --filter '*' --jsonl "$C" >"$TMP/t" 2>"$TMP/err2" || die "$p: $(cat "$TMP/err2")"
	python3 tests/golden/record/kernel.py "$TMP/said" "$TMP/t" || die "$p: not what the program did"
	"$HWT" info "$C" >"$TMP/info"
	grep -q "recorder  *$p" "$TMP/info" && grep -q 'clock map .*\(counter\|exact\)' "$TMP/info" || die "$p: info: $(cat "$TMP/info")"
	grep -q "$p: no hit counts" "$TMP/err" || die "$p: what it lacks is not said: $(cat "$TMP/err")"
	# nothing of other tasks runs there: records are of the program, or of who wakes it or makes room for it
	tids=$(awk '{ print $3 }' "$TMP/said" | tr '\n' ' ')
	python3 - "$TMP/t" $tids <<'PY' || die "$p: records of others"
import json, sys
mine = set(map(int, sys.argv[2:]))
other = [j for j in map(json.loads, open(sys.argv[1])) if j['type'] == 'kernel' and j.get('tid') not in mine and
         j['name'] not in ('stream.lost', 'clock.sync') and
         not mine & {v for k, v in j['values'].items() if k.endswith('_tid')}]
for j in other[:3]:
    print(j)
sys.exit(bool(other))
PY
	# a switch between two others is not missing: nobody asked for it
	"$HWT" check "$C" >"$TMP/o" 2>&1 || die "$p: check: $(cat "$TMP/o")"
	# 2. filters: in -k, one for all, and one for some
	rm -rf "$C"
	rec -k 'syscall.enter:getppid where arg0 < 0x10064, sched.exit' --provider "$p" -o "$C" -- "$TMP/prog" >"$TMP/said"
	[ "$("$HWT" timeline -q --filter 'syscall.*' "$C" | grep -c 'syscall.enter: getppid')" -ge 100 ] || die "$p: where"
	[ "$("$HWT" timeline -q --filter 'syscall.enter where arg0 >= 0x10064 && arg0 < 0x40000' "$C" | grep -c '#')" = 0 ] || die "$p: where"
	main=$(awk '$1 == "main" { print $3 }' "$TMP/said")
	rm -rf "$C"
	rec -k 'syscall.enter, syscall.exit' --filter 'nr == 110 || nr == 173' --provider "$p" -o "$C" -- "$TMP/prog" >"$TMP/said"
	n=$("$HWT" timeline -q --filter 'syscall.*' "$C" | grep -c '#')
	# 1500 calls and three that printf's arguments are made of, twice
	[ "$n" = 3006 ] || die "$p: --filter CONDITION: $n"
	rm -rf "$C"
	rec -k 'syscall.enter, syscall.exit' --filter 'syscall.enter where arg0 in {0x10000..0x10063}' --provider "$p" -o "$C" -- "$TMP/prog" >"$TMP/said"
	[ "$("$HWT" timeline -q --filter 'syscall.enter' "$C" | grep -c '#')" = 100 ] || die "$p: --filter FILTER"
	[ "$("$HWT" timeline -q --filter 'syscall.exit' "$C" | grep -c '#')" -gt 1500 ] || die "$p: --filter FILTER, the other event"
	# 3. the machine for a time, with the same number from all who count
	rm -rf "$C"
	rec -k "$events" -a --time 0.3 --provider "$p" -o "$C" || die "$p: -a: $(cat "$TMP/err")"
	said=$(sed -n 's/.*: \([0-9]*\) kernel events.*/\1/p' "$TMP/err")
	[ "$("$HWT" info "$C" | sed -n 's/^kernel events *//p' | tr -d ' ')" = "$said" ] || die "$p: -a: record says $said, info $("$HWT" info "$C" | grep '^kernel events')"
	[ "$("$HWT" timeline -q --filter '*' --jsonl "$C" | grep -c '"type":"kernel"')" = "$said" ] || die "$p: -a: record says $said, timeline another number"
	# Ctrl-C ends it in good order
	rm -rf "$C"
	"$HWT" record -k "$events" -a --provider "$p" -o "$C" 2>"$TMP/err" &
	rec=$!
	i=0
	while [ $i -lt 6000 ] && [ ! -e "$C/kernel/metadata" ]; do
		sleep 0.01
		i=$((i + 1))
	done
	kill -INT $rec
	wait $rec
	[ $? = 130 ] && grep -q 'kernel events.*; interrupted' "$TMP/err" || die "$p: Ctrl-C: $(cat "$TMP/err")"
	"$HWT" info "$C" 2>&1 | grep E140 && die "$p: Ctrl-C leaves it open"
	# 4. a process that runs
	rm -rf "$C"
	"$TMP/prog" loop &
	pid=$!
	rec -k 'syscall.*' -p $pid --time 0.3 --provider "$p" -o "$C" || die "$p: -p: $(cat "$TMP/err")"
	kill -0 $pid || die "$p: -p: the process is gone"
	kill $pid
	wait $pid 2>/dev/null
	[ "$("$HWT" timeline -q --filter 'syscall.enter:getppid' "$C" | grep -c " $pid/prog ")" -gt 100 ] || die "$p: -p: its calls are not there"
	# 5. what is refused, with nothing left
	rm -rf "$C"
	code() {	# EXPECTED WORDS OPTIONS...
		want=$1 words=$2
		shift 2
		rec --provider "$p" -o "$C" "$@" >/dev/null
		got=$?
		[ $got = "$want" ] && grep -q "$words" "$TMP/err" && [ ! -e "$C" ] || die "$p: $*: exit $got: $(cat "$TMP/err")"
	}
	code 2 'no event' -k 'no.such' -a
	code 2 'E183' -k 'text.patch' -a
	code 2 'has a condition already' -k 'sched.switch where next_prio < 3' --filter 'cpu == 1' -a
	code 2 'is not recorded' -k 'sched.switch' --filter 'irq.entry where irq == 1' -a
	code 3 'E170' -k 'sched.switch' -- "$TMP/nothing"
	code 3 'E174' -k 'sched.switch' -p 4194303
	echo "# $p: filters, the machine, a process, what is refused"
done
ls /sys/kernel/tracing/instances 2>/dev/null | grep "hwtrace-" | while read -r i; do
	[ -d "/proc/$(echo "$i" | sed 's/hwtrace-\([0-9]*\).*/\1/')" ] || echo "$i"
done | grep . && die "an instance is left"

# 6. perf, of the same run
if command -v perf >/dev/null && perf record -q -o "$TMP/x.data" -e raw_syscalls:sys_enter -- true >/dev/null 2>&1; then
	rm -rf "$TMP/peer.hwt"
	perf record -q -m 4M -o "$TMP/peer.data" -e raw_syscalls:sys_enter,raw_syscalls:sys_exit,sched:sched_process_exit -- \
		"$HWT" record -q -k 'syscall.enter, syscall.exit, sched.exit' -o "$TMP/peer.hwt" -- "$TMP/prog" >"$TMP/said" 2>"$TMP/err"
	perf script -i "$TMP/peer.data" --ns -F tid,time,event,trace >"$TMP/peer" 2>/dev/null
	"$HWT" timeline -q --filter '*' --jsonl "$TMP/peer.hwt" >"$TMP/t"
	python3 - "$TMP/said" "$TMP/peer" "$TMP/t" <<'PY' || die "not what perf recorded"
import json, re, sys
tids = {int(line.split()[2]) for line in open(sys.argv[1])}
want, got, when, ours = {}, {}, {}, {}
for s in open(sys.argv[2]):
    m = re.match(r'\s*(\d+)\s+(\d+)\.(\d{9}):\s+raw_syscalls:sys_(\w+):\s+NR (\d+) (?:\((.*)\)|= (.*))', s)
    if m and int(m[1]) in tids:
        v = tuple(int(x, 16) for x in m[6].split(', ')) if m[6] else int(m[7])
        want.setdefault(int(m[1]), []).append((m[4], int(m[5]), v))
        when.setdefault(int(m[1]), []).append(int(m[2] + m[3]))
for j in map(json.loads, open(sys.argv[3])):
    if j['type'] == 'kernel' and j['name'].startswith('syscall.') and j['tid'] in tids:
        v, name = j['values'], j['name'][8:]
        ours.setdefault(j['tid'], []).append(j['time'])
        got.setdefault(j['tid'], []).append((name, v['nr'], tuple(int(v[f'arg{i}'], 16) for i in range(6)) if name == 'enter' else v['ret']))
bad = 0
for t in tids:
    w, g = want.get(t, []), got.get(t, [])
    # perf was there before, with what the recorder's child did until it was let go
    w = w[len(w) - len(g):] if len(w) >= len(g) else w
    if w != g or len(g) < 400:
        bad += 1
        print(t, len(w), len(g), next(((a, b) for a, b in zip(w, g) if a != b), ''))
print(f'# {sum(map(len, got.values()))} system calls of {len(tids)} threads as perf has them')
# Both stamp one after the other: each length differs by what one of them takes, or a preemption between; and the whole by ppm.
assert all(t['lo'] == t['hi'] for v in ours.values() for t in v), 'times of one counter have a span'
diff, ends = [], []
for t in tids:
    w, g = when[t][-len(ours[t]):], [x['lo'] for x in ours[t]]
    diff += [abs((g[i + 1] - g[i]) - (w[i + 1] - w[i])) for i in range(len(g) - 1)]
    # a preemption between the two stamps of an event is not at all of the first five and the last five
    ends.append(min((abs((g[-j] - g[i]) - (w[-j] - w[i])), w[-j] - w[i]) for i in range(5) for j in range(1, 6)))
diff.sort()
worst = max(d - 100e-6 * n for d, n in ends)
print(f'# lengths: {diff[len(diff) // 2]} ns from those of perf (median), {max(ends)[0]} ns of {max(ends)[1]} ns from first to last')
sys.exit(bool(bad) or diff[len(diff) // 2] > 1000 or worst > 100000)
PY
else
	echo "# left out: perf may not record tracepoints here"
fi
# what was asked for did not come: readings of the clock are no answer
"$HWT" record -k 'sched.exit where prio == 99' --provider tracefs -o "$TMP/none.hwt" -- true 2>"$TMP/err" || die "none: $(cat "$TMP/err")"
grep -q 'none.hwt: no event of those that were asked for came, only [0-9]* readings\{0,1\} of the clock' "$TMP/err" || die "none: $(cat "$TMP/err")"
exit 0
