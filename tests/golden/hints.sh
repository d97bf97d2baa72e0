#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a command says to do next fits the capture at hand, and does what is said.
. tests/golden/common
err() {	# WANT ARG...: its messages
	want=$1
	shift
	"$HWT" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
	[ $rc = "$want" ] || die "$*: exit $rc, not $want: $(cat "$TMP/err")"
}
says() { grep -qE -e "$1" "$TMP/err" || die "\"$1\" is not said: $(cat "$TMP/err")"; }
silent() { ! grep -qE -e "$1" "$TMP/err" || die "\"$1\" is said: $(cat "$TMP/err")"; }

# a capture in place of a command; its name can not move the cursor
demo=fixtures/captures/demo/in
err 2 "$demo/perf.data"
says "^try: hwtrace info $demo/perf.data\$"
evil=$(printf '%s/a\033[2J\nb' "$TMP")
: >"$evil"
err 2 "$evil"
says 'try: hwtrace info .*a\\x1b\[2J\\x0ab$'
err 2 lst
says '^try: hwtrace list$'
# no program: the other ways
err 2 record -k 'sched.*'
says '-a --time SECONDS'
err 2 record --model
silent '-a --time'
# a point without an end of its own
err 2 latency --sysroot $demo --from 0x401000 $demo/perf.data
says '\(--to\)'

# a directory that is not there is not one in which nothing is found
for o in sysroot perf-map debuginfod-cache; do
	err 3 info --$o "$TMP/nowhere" $demo/perf.data
	says "^hwtrace: --$o .*nowhere: there is no such directory\$"
	err 3 info --$o $demo/perf.data $demo/perf.data
done

# boards of others: no kernel events, no list of files, no symbols, marks
[ -d "$CAP/arm" ] || { echo "# left out: the captures of others are not in $CAP"; exit 0; }
err 0 list --level events "$CAP/arm/juno_r1_1/in"
says '^try: hwtrace list --level events .*holes name the addresses'
silent "kernel's events alone"
grep -q 'hole: no-image at ffffffc000594ac0' "$TMP/out" || die "the list does not name the addresses"
err 1 check "$CAP/pt/skylake-kernel/in/perf.data"
says '^try: hwtrace info .*code that is missing.*kernel.s events alone'
err 0 calls --summary "$CAP/arm/TC2/in"
says 'no function has a name'
# what it says gives names: c003f95c is called most
printf 'c003f95c T busiest\n' >"$TMP/kallsyms"
err 0 calls --summary --kallsyms "$TMP/kallsyms" "$CAP/arm/TC2/in"
silent 'no function has a name'
[ "$(awk '$8 == "busiest" { print $1 }' "$TMP/out")" -gt 0 ] || die "the symbol is not shown: $(head -3 "$TMP/out")"
for c in calls timeline "list --level events"; do
	err 0 $c "$CAP/arm/stm_only/in"
	says 'STM_0 is a source of marks'
done
err 0 timeline --level range "$CAP/arm/stm_only/in"
silent 'source of marks'
grep -q -e '-- mark 0x' "$TMP/out" || die "no marks where they are said to be"
# no check was made: nothing holds
err 0 check "$CAP/kernel/arm-ftrace/in/trace.dat"
grep -q '; 0 checks .*: nothing here that can be checked$' "$TMP/out" || die "$(cat "$TMP/out")"
err 0 check "$CAP/arm/a57_single_step/in"
grep -q '; 1 instruction$' "$TMP/out" || die "$(cat "$TMP/out")"
echo "# hints of captures with and without kernel events, files, symbols, marks"
