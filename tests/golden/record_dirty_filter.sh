#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Conditions on dirty events that the kernel's tracer takes itself: of one run, each recorder with a condition must have what the same
# condition takes offline of a recorder without any; which text the kernel got; and a small ring of a recorder that does not read loses
# nothing where the kernel leaves out what is not wanted.
. tests/golden/common
need gcc
need python3
gcc -O1 -o "$TMP/prog" tests/golden/record/dirty.c 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
"$HWT" list-events 'dirty:task:task_rename' >"$TMP/o" 2>&1 || { cat "$TMP/o"; echo "tracepoints can not be read"; exit 77; }
[ -w /sys/kernel/tracing/instances ] || { echo "this user may not make an instance of the tracer"; exit 77; }
I=/sys/kernel/tracing/instances
pids=
# shellcheck disable=SC2086
trap '[ -z "$pids" ] || kill $pids 2>/dev/null; rm -rf "$TMP"' EXIT
wait_for() {	# FILE
	i=0
	while [ $i -lt 1500 ] && [ ! -e "$1" ]; do
		sleep 0.02
		i=$((i + 1))
	done
	[ -e "$1" ] || die "no $1"
}
rename() { cat <<'LIST'
newcomm == "n77"
newcomm ~ "n1?" || newcomm ~ "*99"
!(newcomm ~ "n*") || oldcomm == "n5"
newcomm ~ "n*" && !(newcomm ~ "*5" || newcomm ~ "?2*") && oom_score_adj >= -1000
newcomm in {"n3", "n33", "n133"} && pid > 0 || oldcomm ~ "pro*"
oldcomm == "n8" && (newcomm == "n9" || newcomm == "n10") || oldcomm ~ "n[1]" || oldcomm == "n11"
oom_score_adj < -5
tid > 0 && newcomm ~ "n?9"
LIST
}
signal() { cat <<'LIST'
sig == 12
sig != 10 && errno == 0
sig in {1..11, 28..64} && code <= 0
!(sig >= 12 && sig < 28)
sig & 4
!(sig & 4) || result > 100
sig > 300 || sig < -1 || sig == 4294967295 || sig == 28
group == 1 && (sig == 10 || pid < 0)
LIST
}
# 1. one run
n=0
record() {	# EVENT CONDITION
	n=$((n + 1))
	echo "$1 where $2" >"$TMP/cond.$n"
	"$HWT" record -q -k "$1 where $2" -a --provider tracefs -o "$TMP/c.$n.hwt" >/dev/null 2>"$TMP/err.$n" &
	pids="$pids $!"
	eval "pid_$n=$!"
}
"$HWT" record -q -k 'dirty:task:task_rename, dirty:signal:signal_generate' -a --provider tracefs --size 4 -o "$TMP/all.hwt" >/dev/null 2>"$TMP/err.all" &
pids=$!
rename >"$TMP/list"
while read -r c; do record dirty:task:task_rename "$c"; done <"$TMP/list"
signal >"$TMP/list"
while read -r c; do record dirty:signal:signal_generate "$c"; done <"$TMP/list"
for c in "$TMP/all.hwt" $(seq -f "$TMP/c.%g.hwt" 1 $n); do
	wait_for "$c/dirty/metadata"
done
sleep 0.2
# what the kernel was given: nothing where it says less than we do
given=0
for k in $(seq 1 $n); do
	eval "p=\$pid_$k"
	cat $I/hwtrace-"$p"-*d/events/task/task_rename/filter $I/hwtrace-"$p"-*d/events/signal/signal_generate/filter 2>/dev/null | grep -v '^none$' >"$TMP/kernel.$k"
	given=$((given + $(wc -l <"$TMP/kernel.$k")))
done
grep -qx 'newcomm == "n77"' "$TMP/kernel.1" || die "the kernel's condition: $(cat "$TMP/kernel.1")"
grep -qx 'newcomm ~ "n?9"' "$TMP/kernel.8" || die "what it does not know is left out: $(cat "$TMP/kernel.8")"
[ ! -s "$TMP/kernel.6" ] && [ ! -s "$TMP/kernel.15" ] || die "a pattern that the kernel knows otherwise, or a number that the field can not have"
[ $given = $((n - 2)) ] || die "the kernel was given $given of $n conditions: $(grep . "$TMP"/kernel.*)"
"$TMP/prog" 200 >"$TMP/tid"
sleep 0.2
# shellcheck disable=SC2086
kill -INT $pids
for p in $pids; do
	wait "$p"
	[ $? = 130 ] || die "a recorder: $(cat "$TMP"/err.*)"
done
pids=
tid=$(cat "$TMP/tid")
events() {	# CAPTURE FILTER: those that the program, or somebody about it, made
	# where nothing was taken there is no such event
	"$HWT" timeline -q --jsonl --filter "$2" "$1" 2>/dev/null | grep -o '"name":"dirty:.*' | grep -w "$tid" | sed 's/.*"name":"\([^"]*\)".*"fields":\("[^}]*"\).*/\1 \2/; s/"time".*//'
}
some=0
for k in $(seq 1 $n); do
	c=$(cat "$TMP/cond.$k")
	events "$TMP/c.$k.hwt" '*, dirty:*' >"$TMP/got"
	events "$TMP/all.hwt" "$c" >"$TMP/want"
	cmp -s "$TMP/got" "$TMP/want" || { diff "$TMP/got" "$TMP/want" | head -n 4; die "$c ($(cat "$TMP/kernel.$k")): $(wc -l <"$TMP/got") events, offline $(wc -l <"$TMP/want")"; }
	[ ! -s "$TMP/got" ] || some=$((some + 1))
done
[ $some -ge 12 ] || die "only $some of $n conditions take anything"
echo "# $n conditions of one run: the kernel's tracer was given $given of them, all take what they take offline, $some of them something"
# 2. nobody reads while 40000 names are taken; 400 of them are wanted, and there is room for those only
mkfifo "$TMP/go"
"$TMP/prog" 40000 go <"$TMP/go" >"$TMP/tid" &
prog=$!
exec 3>"$TMP/go"
"$HWT" record -k 'dirty:task:task_rename where newcomm ~ "n*00"' -p $prog --size 1 --provider tracefs -o "$TMP/few.hwt" 2>"$TMP/err" &
rec=$!
pids="$prog $rec"
wait_for "$TMP/few.hwt/dirty/metadata"
sleep 0.2
kill -STOP $rec
echo >&3
i=0
while [ $i -lt 600 ] && [ "$(cat "/proc/$prog/comm")" != n39999 ]; do
	sleep 0.05
	i=$((i + 1))
done
kill -CONT $rec
echo >&3
exec 3>&-
wait $prog
wait $rec
pids=
grep -q 'are lost' "$TMP/err" && die "the kernel kept what is not wanted: $(cat "$TMP/err")"
"$HWT" timeline -q --jsonl --filter 'dirty:*' "$TMP/few.hwt" | grep -o 'newcomm=\\"n[0-9]*00\\"' | grep -o 'n[0-9][0-9]*' >"$TMP/names"
seq 100 100 39900 | sed 's/^/n/' | cmp - "$TMP/names" || die "names: $(wc -l <"$TMP/names")"
echo "# 399 of 40000 names in a ring of 1 MiB that nobody read, none lost"
exit 0
