#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every command that README.md shows on a fixture works and prints something; the targets that it names exist.
. tests/golden/common
n=0
sed -n 's/^    \$ build\/hwtrace //p' README.md | sed "s|^record|record -o $TMP/echo.hwt|; s| echo.hwt| $TMP/echo.hwt|; /^export/s| /tmp/| $TMP/|g" >"$TMP/cmds"
while read -r args; do
	# shellcheck disable=SC2086
	"$HWT" $args >"$TMP/out" 2>"$TMP/err"
	rc=$?
	case "$args" in check*) want=1 ;; *) want=0 ;; esac	# the demo has one hole on purpose
	[ $rc = $want ] || die "hwtrace $args: exit $rc, not $want: $(tail -n 2 "$TMP/err")"
	[ -s "$TMP/out" ] || { [ "${args%% *}" = export ] && [ -s "$TMP/etm.perf" ]; } || die "hwtrace $args: no output"
	n=$((n + 1))
done <"$TMP/cmds"
[ "$n" -ge 8 ] || die "README.md shows $n commands only"
for t in $(grep -o 'make [a-z][a-z0-9-]*' README.md | awk '{ print $2 }' | sort -u); do
	grep -qE "^([a-z0-9-]+ )*$t( [a-z0-9-]+)*:" Makefile || die "no target \"$t\" in the Makefile"
done
grep -q "$("$HWT" help E010 | sed -n 's/^cause: *//p')" hwtrace/base/errors.def || die "help E010"
echo "# $n commands"
