#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs each test program or script given. Exit 0 is passed, 77 skipped (its last line is the reason), else failed.
# $EMU, if set, is what runs programs of another machine. With $SKIP_OK it is no failure that all were skipped.
# $JOBS of them at once (one for each CPU), but those that say "Runs alone" in a comment, one after another, at the end.
# Prints one line a test (with its time if long), the output of failed ones, and a sum that CI reads.
if [ "${1:-}" = --one ]; then
	# one test, for the loop below: $RUN is its folder of results
	t=$2 out=$(mktemp "$RUN/out.XXXXXX") start=$(date +%s)
	case "$t" in
	*.sh) sh "$t" >"$out" 2>&1 </dev/null ;;
	*) ${EMU:-} "$t" >"$out" 2>&1 </dev/null ;;
	esac
	rc=$?
	long=$(($(date +%s) - start))
	[ $long -ge 10 ] && long=" ($long s)" || long=
	exec 9>>"$RUN/done"
	flock 9
	case $rc in
	0) echo "ok    $t$long$(sed -n 's/^# / - /p' "$out" | tr '\n' ';')"; echo pass >&9 ;;
	77) echo "skip  $t: $(tail -n 1 "$out")"; echo skip >&9 ;;
	*) echo "FAIL  $t (exit $rc)"; sed 's/^/      /' "$out" | tail -n 60; echo fail >&9 ;;
	esac
	rm -f "$out"
	exit 0
fi
RUN=$(mktemp -d) || exit 1
export RUN
trap 'rm -rf "$RUN"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
: >"$RUN/done" >"$RUN/beside" >"$RUN/alone"
for t in "$@"; do
	case "$t" in *.sh) grep -q '^# Runs alone' "$t" && echo "$t" >>"$RUN/alone" && continue ;; esac
	echo "$t" >>"$RUN/beside"
done
xargs -r -P "${JOBS:-$(nproc)}" -n 1 sh "$0" --one <"$RUN/beside"
xargs -r -n 1 sh "$0" --one <"$RUN/alone"
count() { grep -c "^$1\$" "$RUN/done"; }
# a test that gave no result, as it was killed with its shell, has not passed
pass=$(count pass) skip=$(count skip) fail=$(($# - pass - skip))
echo "$pass passed, $fail failed, $skip skipped"
[ "$fail" = 0 ] && [ "$pass${SKIP_OK:-}" != 0 ]
