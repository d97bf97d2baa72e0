#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# record -k by perf: the same virtual events as by tracefs, of the same run; a user without rights gets switches, tasks and maps of own tasks.
. tests/golden/common
need gcc
need python3
gcc -O1 -static -o "$TMP/prog" tests/golden/record/dirty.c 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
here() { "$HWT" list-events --jsonl sched.switch | grep -q '"provider","name":"'"$1"'","here":true'; }
here perf || { "$HWT" list-events sched.switch | head -n 4; echo "perf can not be used"; exit 77; }
C=$TMP/c.hwt
begun() {
	i=0
	while [ $i -lt 6000 ] && [ ! -e "$1/kernel/metadata" ]; do
		sleep 0.01
		i=$((i + 1))
	done
}
# 1. two recorders of the machine at once
events='syscall.enter, syscall.exit, sched.switch, sched.wakeup, sched.fork, sched.exec, sched.exit, softirq.entry, softirq.exit'
if here tracefs && { [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 0 ]; }; then
	for p in perf tracefs; do
		"$HWT" record -q -k "$events" -a --size 16 --provider $p -o "$TMP/$p.hwt" 2>"$TMP/err-$p" &
		eval "$p=\$!"
		begun "$TMP/$p.hwt"
	done
	"$TMP/prog" 400 >"$TMP/tid"
	sleep 0.05
	# shellcheck disable=SC2154
	kill -INT "$perf" "$tracefs"
	wait "$perf"
	[ $? = 130 ] || die "perf: $(cat "$TMP/err-perf")"
	wait "$tracefs"
	[ $? = 130 ] || die "tracefs: $(cat "$TMP/err-tracefs")"
	for p in perf tracefs; do
		"$HWT" timeline -q --tid "$(cat "$TMP/tid")" --filter '*' --jsonl "$TMP/$p.hwt" >"$TMP/$p" || die "$p: timeline"
	done
	python3 tests/golden/record_perf.py "$TMP/perf" "$TMP/tracefs" "$TMP/tid" || die "perf and tracefs have different events"
else
	echo "# left out: the machine by perf and tracefs, not for this user"
fi
# 2. a program, with what perf tells besides
"$HWT" record -k 'sched.exec, sched.exit, sched.comm, syscall.*, mm.map' --provider perf -o "$C" -- "$TMP/prog" 100 >"$TMP/tid" 2>"$TMP/err" || die "$(cat "$TMP/err")"
grep -q 'perf: no hit counts' "$TMP/err" || die "what it lacks is not said: $(cat "$TMP/err")"
"$HWT" check "$C" >"$TMP/o" 2>&1 || die "check: $(cat "$TMP/o")"
"$HWT" timeline -q --filter 'mm.map' "$C" | grep -q 'path="'"$TMP/prog"'"' || die "its code is not told"
# a tracepoint beside it, on another clock where that is the TSC: its time is known less well, and truly
if here tracefs; then
	rm -rf "$C"
	"$HWT" record -q -k 'dirty:task:task_rename, syscall.enter:prctl, syscall.exit:prctl' --provider perf -o "$C" -- "$TMP/prog" 100 >"$TMP/tid" 2>"$TMP/err" ||
		die "$(cat "$TMP/err")"
	"$HWT" timeline -q --filter '*, dirty:*' --jsonl "$C" >"$TMP/t" || die "timeline"
	python3 - "$TMP/t" <<'PY' || die "a name outside of its call"
import json, re, sys
ev = [j for j in map(json.loads, open(sys.argv[1])) if j['type'] == 'kernel']
t = {k: [j['time'] for j in ev if re.search(k, j['name'] + j['fields'])] for k in ('syscall.enter', 'syscall.exit', 'newcomm="n')}
n = [len(v) for v in t.values()]
bad = [i for i, (a, b, c) in enumerate(zip(*t.values())) if c['lo'] > b['lo'] or c.get('hi', 1 << 63) < a['lo']]
print(f'# {n[2]} names, each may be inside of its call; known within', max(c['hi'] - c['lo'] for c in t['newcomm="n']), 'ns')
sys.exit(n != [100] * 3 or bool(bad))
PY
fi
# 3. a user without rights, who may not read tracefs
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir "$TMP/user"
	cp "$HWT" "$TMP/user/hwtrace"
	cp "$TMP/prog" "$TMP/user/prog"
	chmod 711 "$TMP"
	chmod 777 "$TMP/user"
	(cd "$TMP/user" && setpriv --reuid 65534 --regid 65534 --clear-groups ./hwtrace record -k '*' -o u.hwt -- ./prog 100) >"$TMP/tid" 2>"$TMP/err"
	rc=$?
	if [ $rc = 0 ]; then
		grep -q 'recorded by perf (/dev/hwtrace.*tracefs' "$TMP/err" && grep -q 'perf can not tell this user: ' "$TMP/err" ||
			die "it does not say what it used: $(cat "$TMP/err")"
		"$HWT" timeline -q --filter '*' "$TMP/user/u.hwt" >"$TMP/t" 2>"$TMP/err" || die "a user's: $(cat "$TMP/err")"
		t=$(cat "$TMP/tid")
		for what in "sched.comm: task_pid=$t task_tid=$t comm=\"n99\"" "sched.exec: task_pid=$t" "sched.exit: .*pid=$t" "mm.map: .*prog" \
			"sched.switch: .*next_tid=$t"; do
			grep -q "$what" "$TMP/t" || die "a user's: no $what"
		done
		[ "$(grep -c "sched.comm: .*comm=\"n[0-9]*\"" "$TMP/t")" = 100 ] || die "a user's: names"
		"$HWT" check "$TMP/user/u.hwt" >"$TMP/o" 2>&1 || die "a user's: check: $(cat "$TMP/o")"
		echo "# a user without rights: $(grep -c '#' "$TMP/t") events of a program"
	else
		grep -q 'E189' "$TMP/err" || die "a user: exit $rc: $(cat "$TMP/err")"
		echo "# left out: perf is not for users here (perf_event_paranoid $(cat /proc/sys/kernel/perf_event_paranoid))"
	fi
fi
# 4. what is refused, with nothing left
rm -rf "$C"
"$HWT" record -k 'clock.sync' -a --provider perf -o "$C" 2>"$TMP/err"
[ $? = 2 ] && grep -q E183 "$TMP/err" && [ ! -e "$C" ] || die "nothing to record: $(cat "$TMP/err")"
"$HWT" record -k 'sched.switch' -p 4194303 --provider perf -o "$C" 2>"$TMP/err"
[ $? = 3 ] && grep -q E174 "$TMP/err" && [ ! -e "$C" ] || die "no process: $(cat "$TMP/err")"
exit 0
