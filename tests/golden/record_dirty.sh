#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine, and any other recorder would take away what a killed one left.
# record -k dirty:...: tracepoints that are no virtual events, against what a program says that it did and what perf has of the same run;
# conditions on their own fields; loss, to the last record; instances of killed recorders; what is refused.
. tests/golden/common
need gcc
need python3
gcc -O1 -o "$TMP/prog" tests/golden/record/dirty.c 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
"$HWT" list-events 'dirty:task:task_rename' >"$TMP/o" 2>&1 || { cat "$TMP/o"; echo "tracepoints can not be read"; exit 77; }
grep -q '^  text newcomm$' "$TMP/o" || die "fields: $(cat "$TMP/o")"
providers=$("$HWT" list-events --jsonl sched.switch | sed -n 's/.*"provider","name":"\([a-z]*\)","here":true.*/\1/p')
[ -n "$providers" ] || { "$HWT" list-events sched.switch | head -n 3; echo "no provider can be used"; exit 77; }
left() {
	ls /sys/kernel/tracing/instances 2>/dev/null | grep "hwtrace-" | while read -r i; do
		[ -d "/proc/$(echo "$i" | sed 's/hwtrace-\([0-9]*\).*/\1/')" ] || echo "$i"
	done
}
rec() { "$HWT" record "$@" 2>"$TMP/err"; }
C=$TMP/c.hwt
# 1. names and signals as the program has them, between the system calls that it made them by
rec -k 'dirty:task:task_rename, dirty:signal:signal_generate, syscall.enter:prctl, syscall.exit:prctl' -o "$C" -- "$TMP/prog" >"$TMP/tid" || die "$(cat "$TMP/err")"
"$HWT" timeline -q --filter '*, dirty:*' --jsonl "$C" >"$TMP/t" || die timeline
cat >"$TMP/look.py" <<'PY'
import json, re, sys
tid, n = int(open(sys.argv[1]).read()), int(sys.argv[3])
ev = [j for j in map(json.loads, open(sys.argv[2])) if j['type'] == 'kernel' and j.get('tid') == tid]
def text(j, f):
    return re.search(rf'\b{f}=("[^"]*"|\S+)', j['fields'])[1].strip('"')
ren = [j for j in ev if j['name'] == 'dirty:task:task_rename']
ren = [(text(j, 'oldcomm'), text(j, 'newcomm')) for j in ren if re.fullmatch(r'n\d+', text(j, 'newcomm'))]
sig = [int(text(j, 'sig')) for j in ev if j['name'] == 'dirty:signal:signal_generate' and int(text(j, 'pid')) == tid]
bad = []
if [b for a, b in ren] != [f'n{i}' for i in range(n)] or [a for a, b in ren[1:]] != [b for a, b in ren[:-1]]:
    bad.append(f'names: {len(ren)} {ren[:3]}')
if sig != [[10, 12, 28][i % 3] for i in range(n // 10)]:
    bad.append(f'signals: {sig[:5]}')
# each new name is told between entry and return of its call, by time and by order
order, last = [j for j in ev if j['name'] in ('syscall.enter', 'dirty:task:task_rename', 'syscall.exit')], 0
if 'calls' in sys.argv:
    while order and order[0]['name'] != 'syscall.enter':
        order.pop(0)
    if [j['name'] for j in order] != ['syscall.enter', 'dirty:task:task_rename', 'syscall.exit'] * n:
        bad.append('order')
for a, b in zip(ev, ev[1:]):
    if b['time']['lo'] < a['time']['lo']:
        bad.append('time')
if bad:
    print(bad[:3])
sys.exit(bool(bad))
PY
python3 "$TMP/look.py" "$TMP/tid" "$TMP/t" 200 calls || die "not what the program did"
"$HWT" list -q "$C" | grep -q 'dirty:task:task_rename: .* newcomm="n199"' || die "list does not show it"
"$HWT" check "$C" >"$TMP/o" 2>&1 || die "check: $(cat "$TMP/o")"
[ "$("$HWT" timeline -q --filter 'dirty:task:task_rename where newcomm ~ "n1?"' "$C" | grep -c '#')" = 10 ] || die "a filter offline"
said=$(sed -n 's/.*: \([0-9]*\) kernel events.*/\1/p' "$TMP/err")
[ "$("$HWT" info "$C" | sed -n 's/^kernel events *//p' | tr -d ' ')" = "$said" ] || die "record says $said, info another number"
echo "# 200 names and 20 signals as the program has them, each name inside of its call"
# arguments lie in words of 8 bytes that their format calls unsigned: an int is one all the same, and a pointer no number to count with
rm -rf "$C"
if "$HWT" list-events 'dirty:syscalls:sys_enter_openat' >/dev/null 2>&1; then
	rec -k 'dirty:syscalls:sys_enter_openat where dfd == -100, dirty:syscalls:sys_enter_lseek' -o "$C" -- cat /dev/null || die "$(cat "$TMP/err")"
	"$HWT" timeline -q --filter 'dirty:*' "$C" >"$TMP/o"
	grep -q 'sys_enter_openat: .*dfd=-100 filename=0x[0-9a-f]* flags=[0-9]* mode=0' "$TMP/o" || die "openat: $(cat "$TMP/o")"
	[ "$("$HWT" timeline -q --filter 'dirty:syscalls:sys_enter_openat where dfd < 0' "$C" | wc -l)" = "$(grep -c openat "$TMP/o")" ] || die "dfd < 0"
	rm -rf "$C"
fi
# 2. conditions on their own fields, in -k and beside it, and for all
rm -rf "$C"
rec -k 'dirty:signal:*generate, dirty:task:task_rename where newcomm in {"n7", "n77"} || newcomm ~ "n?9"' --filter 'dirty:signal:signal_generate where sig == 12 && pid > 0' -o "$C" -- "$TMP/prog" >"$TMP/tid" || die "$(cat "$TMP/err")"
[ "$("$HWT" timeline -q --filter 'dirty:signal:*' "$C" | grep -c "pid=$(cat "$TMP/tid") ")" = 7 ] || die "--filter FILTER"
[ "$("$HWT" timeline -q --filter 'dirty:task:*' "$C" | grep -c task_rename)" = 11 ] || die "where"
rm -rf "$C"
rec -k 'dirty:signal:signal_generate, dirty:signal:signal_deliver' --filter 'sig == 10' -o "$C" -- "$TMP/prog" >"$TMP/tid" || die "$(cat "$TMP/err")"
[ "$("$HWT" timeline -q --filter 'dirty:*' "$C" | grep -c 'sig=10 ')" = 14 ] && [ "$("$HWT" timeline -q --filter 'dirty:*' "$C" | grep -c '#')" = 14 ] ||
	die "--filter CONDITION"
echo "# conditions on their fields"
# 3. the machine, ended by Ctrl-C; babeltrace2 reads the folder
rm -rf "$C"
mkfifo "$TMP/go"
"$HWT" record -k 'dirty:task:task_rename, dirty:sched:sched_wak*, sched.switch' -a --size 8 -o "$C" 2>"$TMP/err" &
rec=$!
i=0
while [ $i -lt 6000 ] && [ ! -e "$C/kernel/metadata" ]; do
	sleep 0.01
	i=$((i + 1))
done
"$TMP/prog" 300 >"$TMP/tid"
kill -INT $rec
wait $rec
[ $? = 130 ] && grep -q 'kernel events.*; interrupted' "$TMP/err" || die "Ctrl-C: $(cat "$TMP/err")"
"$HWT" timeline -q --filter 'dirty:task:task_rename' --jsonl "$C" >"$TMP/t" || die timeline
sed -n 's/.*"tid":'"$(cat "$TMP/tid")"',.*newcomm=\\"\(n[0-9]*\)\\".*/\1/p' "$TMP/t" >"$TMP/names"
seq 0 299 | sed 's/^/n/' | cmp - "$TMP/names" || die "-a: names"
if command -v babeltrace2 >/dev/null; then
	babeltrace2 "$C/dirty" >"$TMP/peer" 2>"$TMP/err" || die "babeltrace2: $(cat "$TMP/err")"
	ours=$("$HWT" timeline -q --filter 'dirty:*' "$C" | grep -c '#')
	[ "$(grep -vc 'stream.lost' "$TMP/peer")" = "$ours" ] || die "$ours events, babeltrace2 has $(wc -l <"$TMP/peer")"
	echo "# $ours records of the machine, babeltrace2 reads them all"
fi
left | grep . && die "an instance is left"
# 4. a reader that comes too late: what is lost is told, to the last record
rm -rf "$C"
"$TMP/prog" 40000 go <"$TMP/go" >"$TMP/tid" &
prog=$!
exec 3>"$TMP/go"
"$HWT" record -k 'dirty:task:task_rename' -p $prog --size 1 -o "$C" 2>"$TMP/err" &
rec=$!
i=0
while [ $i -lt 6000 ] && [ ! -e "$C/dirty/metadata" ]; do
	sleep 0.01
	i=$((i + 1))
done
sleep 0.2
kill -STOP $rec
echo >&3
i=0
while [ $i -lt 1200 ] && [ "$(cat "/proc/$prog/comm")" != n39999 ]; do
	sleep 0.05
	i=$((i + 1))
done
kill -CONT $rec
echo >&3
exec 3>&-
wait $prog
wait $rec 2>/dev/null
grep -q 'records of the kernel are lost' "$TMP/err" || die "nothing was lost of 40000: $(cat "$TMP/err")"
"$HWT" timeline -q --filter 'dirty:*, stream.lost' --jsonl "$C" >"$TMP/t" || die timeline
python3 - "$TMP/t" <<'PY' || die "loss is not told as it was"
import json, re, sys
n = lost = 0
last, gap = -1, 0
for j in map(json.loads, open(sys.argv[1])):
    if j.get('name') == 'stream.lost':
        lost += j['values']['count']
        gap = True
    m = re.search(r'newcomm="n(\d+)"', j.get('fields', ''))
    if m:
        k = int(m[1])
        if k != last + 1 and not gap:
            sys.exit(f'n{last}, n{k} without a loss')
        n, last, gap = n + 1, k, False
print(f'# {n} of 40000 names recorded, {lost} told as lost')
# in the same rings are some records that tell which process tasks belong to
sys.exit(not 40000 <= n + lost < 40010 or last != 39999)
PY
# 5. killed: it opens, and the next recorder takes its instances away
rm -rf "$C"
"$TMP/prog" 100000000 slow >"$TMP/tid" &
prog=$!
for k in 1; do
	rm -rf "$C"
	"$HWT" record -q -k 'dirty:task:task_rename, sched.switch' -p $prog --size 8 -o "$C" 2>"$TMP/err" &
	rec=$!
	i=0
	# a packet of some hundred names is there
	while [ $i -lt 6000 ] && [ -z "$(find "$C/dirty" -name 'cpu*' -size +16k 2>/dev/null)" ]; do
		sleep 0.01
		i=$((i + 1))
	done
	sleep 0.${k}3
	kill -KILL $rec
	wait $rec 2>/dev/null
	"$HWT" timeline --filter 'dirty:*' --jsonl "$C" >"$TMP/t" 2>"$TMP/e" || grep -q E144 "$TMP/e" || die "killed: $(cat "$TMP/e")"
	[ -s "$TMP/t" ] && grep -q E140 "$TMP/e" || die "killed: it does not say that its recorder died: $(cat "$TMP/e")"
	python3 - "$TMP/t" <<'PY' || die "killed: names are missing"
import json, re, sys
v = [int(m[1]) for j in map(json.loads, open(sys.argv[1])) for m in [re.search(r'newcomm="n(\d+)"', j.get('fields', ''))] if m]
sys.exit(len(v) < 100 or v != list(range(v[0], v[0] + len(v))))
PY
done
kill $prog
wait $prog 2>/dev/null
left | grep -q . || die "a killed recorder left nothing: the next line shows nothing"
rm -rf "$C"
rec -q -k 'dirty:task:task_rename' -o "$C" -- true || die "$(cat "$TMP/err")"
left | grep . && die "an instance of a killed recorder is left"
echo "# a killed recorder: all names from first to last"
# 6. snapshots: the newest are in each
rec -k 'dirty:task:task_rename' --snapshot -o "$TMP/s.hwt" -- "$TMP/prog" 500 >"$TMP/tid" || die "$(cat "$TMP/err")"
"$HWT" timeline -q --filter 'dirty:*' "$TMP/s-1.hwt" | grep -q 'newcomm="n499"' || die "snapshot"
# 7. what is refused, with nothing left
rm -rf "$C"
code() {	# EXPECTED WORDS OPTIONS...
	want=$1 words=$2
	shift 2
	rec -o "$C" "$@" >/dev/null
	got=$?
	[ $got = "$want" ] && grep -q "$words" "$TMP/err" && [ ! -e "$C" ] || die "$*: exit $got: $(cat "$TMP/err")"
}
code 2 'no such tracepoint' -k 'dirty:no:such' -a
code 2 'no such tracepoint' -k 'dirty:kmem:' -a
code 2 'has no field "nothing"' -k 'dirty:task:task_rename where nothing == 1' -a
code 2 'has a condition already' -k 'dirty:task:task_rename where pid == 1' --filter 'dirty:task:task_rename where pid == 2' -a
code 2 'is not recorded' -k 'dirty:task:task_rename' --filter 'sched.switch where next_prio == 1' -a
left | grep . && die "an instance is left"
# 8. perf, of the same run
rm -rf "$TMP/peer.hwt"
if command -v perf >/dev/null && perf record -q -m 4M -o "$TMP/peer.data" -e kmem:kmalloc,task:task_rename -- \
		"$HWT" record -q -k 'dirty:kmem:kmalloc, dirty:task:task_rename' -o "$TMP/peer.hwt" -- "$TMP/prog" 1000 >"$TMP/tid" 2>"$TMP/err"; then
	perf script -i "$TMP/peer.data" -F tid,event,trace >"$TMP/peer" 2>/dev/null
	"$HWT" timeline -q --filter 'dirty:*' --jsonl "$TMP/peer.hwt" >"$TMP/t"
	python3 - "$TMP/tid" "$TMP/peer" "$TMP/t" <<'PY' || die "not what perf recorded"
import json, re, sys
tid = int(open(sys.argv[1]).read())
keys = ('ptr', 'bytes_req', 'bytes_alloc', 'oldcomm', 'newcomm')
def fields(s):
    d = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', s))
    return tuple(int(d[k].replace('(nil)', '0'), 16) if k == 'ptr' else d[k].strip('"') for k in keys if k in d)
want = [(m[1], fields(m[2])) for s in open(sys.argv[2]) for m in [re.match(rf'\s*{tid}\s+(\w+:\w+):\s+(.*)', s)] if m]
got = [(j['name'][6:], fields(j['fields'])) for j in map(json.loads, open(sys.argv[3])) if j.get('tid') == tid and j['type'] == 'kernel']
# perf was there before, with what the recorder's child did until it was let go
want = want[len(want) - len(got):] if len(want) >= len(got) else want
if want != got or len(got) < 1000:
    print(len(want), len(got), next(((a, b) for a, b in zip(want, got) if a != b), ''))
    sys.exit(1)
print(f'# {len(got)} records as perf has them')
PY
else
	echo "# left out: perf may not record tracepoints here"
fi
exit 0
