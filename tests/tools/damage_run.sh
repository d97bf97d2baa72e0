#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# damage_run.sh KEY OPTIONS...: one run of the tool $D for tests/golden/damage.sh. Its last line goes to $TMP/done/KEY if all was well,
# and to $STATE/KEY if that is given; what is there already is not run again.
key=$1
shift
if [ -n "$STATE" ] && [ -s "$STATE/$key" ]; then
	cp "$STATE/$key" "$TMP/done/$key"
	exit 0
fi
start=$(date +%s)
if "$D" "$@" >"$TMP/out.$key" 2>"$TMP/err.$key"; then
	cp "$TMP/out.$key" "$TMP/done/$key"
	[ -z "$STATE" ] || mv "$TMP/out.$key" "$STATE/$key"
	[ -z "${VERBOSE:-}$STATE" ] || echo "$(($(date +%s) - start)) s $*: $(cat "$TMP/done/$key")"
else
	echo "FAIL $*"
	# what LeakSanitizer was told to leave out is no news
	grep -v '^Suppr\|^  *[0-9a-z]* *[0-9a-z]* *ocsd\|^  *[0-9]* *[0-9]* *EtmV4\|^--*$' "$TMP/err.$key" | head -n 30
fi
rm -f "$TMP/out.$key" "$TMP/err.$key"
# xargs goes on after a failure
exit 0
