#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# An ETMv3 P-header that tells of nothing is damage: a hole, no range whose fields nobody wrote.
. tests/golden/common
need_captures
cp -r "$CAP/arm/r5f-freertos/in" "$TMP/in" && chmod -R u+w "$TMP/in" || exit 1
# the third byte of a branch address loses its "more follow", so the next one, 0x80, is a header
printf '\053' | dd of="$TMP/in/freertos.data" bs=1 seek=32045 conv=notrunc 2>/dev/null
"$HWT" packets --jsonl "$TMP/in" 2>/dev/null | grep -q '"off":32046,"pkt":".*"bytes":"80"' || die "no such header"
"$HWT" list --level range --jsonl "$TMP/in" >"$TMP/out" 2>/dev/null || die "list: exit $?"
grep '"off":32046,' "$TMP/out" >"$TMP/at"
grep -q '"type":"range"' "$TMP/at" && die "a range of a header without instructions: $(cat "$TMP/at")"
grep -q '"type":"gap","cpu":0,"src":0,"off":32046,.*"cause":"bad-packet"' "$TMP/at" || die "no hole at the header: $(cat "$TMP/at")"
# the kind of sanitizer that finds it as well: what is read was written
if command -v valgrind >/dev/null; then
	valgrind -q --error-exitcode=9 "$HWT" list --level range --jsonl "$TMP/in" >/dev/null 2>"$TMP/err" || die "$(head -n 12 "$TMP/err")"
fi
