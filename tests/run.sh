#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs each test program or script given. Exit 0 is passed, 77 skipped (its last line is the reason), else failed.
# $EMU, if set, is what runs programs of another machine.
# Prints one line a test (with its time if long), the output of failed ones, and a sum that CI reads.
pass=0 fail=0 skip=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT INT TERM
for t in "$@"; do
	start=$(date +%s)
	case "$t" in
	*.sh) sh "$t" >"$out" 2>&1 </dev/null ;;
	*) ${EMU:-} "$t" >"$out" 2>&1 </dev/null ;;
	esac
	rc=$?
	long=$(($(date +%s) - start))
	[ $long -ge 10 ] && long=" ($long s)" || long=
	case $rc in
	0) pass=$((pass + 1)); echo "ok    $t$long$(sed -n 's/^# / - /p' "$out" | tr '\n' ';')" ;;
	77) skip=$((skip + 1)); echo "skip  $t: $(tail -n 1 "$out")" ;;
	*) fail=$((fail + 1)); echo "FAIL  $t (exit $rc)"; sed 's/^/      /' "$out" | tail -n 60 ;;
	esac
done
echo "$pass passed, $fail failed, $skip skipped"
[ "$fail" = 0 ] && [ "$pass" != 0 ]
