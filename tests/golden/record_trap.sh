#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# record --model of programs that use SIGTRAP themselves, by which steps are told: they print and end as they do alone.
. tests/golden/common
case "$(uname -m)" in x86_64) ;; *) echo "the recorder's test program is for x86-64"; exit 77 ;; esac
need gcc
P=$TMP/trap
gcc -O1 -static -pthread -o "$P" tests/golden/record/trap.c 2>"$TMP/err" || die "trap: $(cat "$TMP/err")"
"$O/tests/tools/step" "$P" inherited >/dev/null 2>&1
[ $? = 77 ] && { echo "ptrace is not permitted here"; exit 77; }
ulimit -c 0

# as the recorder says that the program ended, as a shell tells it
ended() {
	code=$(sed -n 's/.* ended with exit code \([0-9]*\)$/\1/p' "$TMP/err")
	sig=$(sed -n 's/.* was killed by signal \([0-9]*\) .*/\1/p' "$TMP/err")
	echo "${code:-$((128 + ${sig:-0}))}"
}
same() {	# MODE OPTIONS...
	m=$1
	shift
	("$P" "$m"; echo "$?" >"$TMP/code") >"$TMP/alone" 2>/dev/null
	rm -rf "$TMP/c.hwt"
	"$HWT" record --model --no-kernel "$@" -o "$TMP/c.hwt" -- "$P" "$m" >"$TMP/out" 2>"$TMP/err"
	diff "$TMP/alone" "$TMP/out" >"$TMP/diff" || die "$m $*: prints something else: $(cat "$TMP/diff" "$TMP/err")"
	[ "$(ended)" = "$(cat "$TMP/code")" ] || die "$m $*: ends with $(ended), alone with $(cat "$TMP/code"): $(cat "$TMP/err")"
	"$HWT" check "$TMP/c.hwt" >"$TMP/check" 2>&1 || die "$m $*: check: $(cat "$TMP/check")"
}
said() {	# WORDS
	[ "$(grep -c "$1.*E181" "$TMP/err")" = 1 ] || die "$m: does not say once \"$1\": $(cat "$TMP/err")"
}
n=0
for m in blocks waits signalfd sent waited-by-thread nested unhandled sequence stops; do
	same $m --from main
	said 'SIGTRAP waits'
	[ $((n % 3)) = 0 ] && same $m --from main --limit $((900 + n * 200))
	n=$((n + 1))
done
for m in own-mask ends-blocked ends-in-handler set-by-threads; do
	same $m --from main
	grep E181 "$TMP/err" && die "$m: $(cat "$TMP/err")"
done
for m in ignored ignored-by-thread ends-ignored; do
	same $m --from main
	said 'ignores SIGTRAP'
done
grep -q '[1-9][0-9]* instructions' "$TMP/err" || die "ends-ignored: nothing recorded before: $(cat "$TMP/err")"
same blocks --limit 3000
# breakpoints have the same force as steps: windows that come again and again, in all of these states
for m in blocks waits signalfd sent waited-by-thread nested unhandled own-mask stops ends-blocked ends-in-handler \
		ignored ignored-by-thread ends-ignored; do
	same $m --from spin
done
same set-by-threads --from spin
same nested --from on_nested
echo "# $((n + 7)) programs that block SIGTRAP, ignore it, wait for it, end by it: as they do alone"

# ignored since before it was started
(trap '' TRAP
same inherited
said 'ignores SIGTRAP'
same inherited --from main
said 'ignores SIGTRAP') || exit 1
grep -q '^inherited 1$' "$TMP/out" || die "inherited: not ignored: $(cat "$TMP/out")"

# there can be only one tracer
rm -rf "$TMP/c.hwt"
"$HWT" record --model --no-kernel --from main -o "$TMP/c.hwt" -- "$P" traced >"$TMP/out" 2>"$TMP/err"
[ "$(cat "$TMP/out")" = "traceme 1
end 0" ] && [ "$(ended)" = 4 ] || die "traced: $(cat "$TMP/out" "$TMP/err")"

# attached to and let go
for m in long-ignored long-pending; do
	"$P" $m >"$TMP/out" &
	pid=$!
	i=0
	while [ $i -lt 1200 ] && ! grep -q '^Sig[PI].*1.$' "/proc/$pid/status"; do
		sleep 0.05
		i=$((i + 1))
	done
	for opt in "--limit 100" "--limit 100 --from spin" "--limit 100 --from nanosleep"; do
		rm -rf "$TMP/c.hwt"
		# shellcheck disable=SC2086
		timeout -s INT 1 "$HWT" record --model --no-kernel $opt -o "$TMP/c.hwt" -p $pid 2>"$TMP/err"
		grep -q '^TracerPid:.0$' "/proc/$pid/status" || die "$m $opt: still traced: $(cat "$TMP/err")"
	done
	kill -USR1 $pid
	wait $pid
	[ $? = 4 ] || die "$m: exit $?"
	grep -q '^as it was 1$' "$TMP/out" || die "$m: $(cat "$TMP/out")"
	grep -q "^hits $([ $m = long-pending ] && echo 2 || echo 0)\$" "$TMP/out" || die "$m: $(cat "$TMP/out")"
done
echo "# SIGTRAP ignored or waiting: attached and let go"
exit 0
