#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# An ETMv4 perf.data written by hand: the instructions are those worked out by hand, and those that perf prints. Both
# sides use OpenCSD, so perf is a second opinion on framing, metadata and memory, and the hand on the flow.
. tests/golden/common
need aarch64-linux-gnu-gcc
d=fixtures/captures/etm
aarch64-linux-gnu-gcc -nostdlib -static -o "$TMP/a64" "$d/a64.S" || die "can not assemble"
start=$(aarch64-linux-gnu-nm "$TMP/a64" | awk '$3 == "_start" { print $1 }')
"$O/tests/tools/mkcs" "$TMP/a64" "$start" "$TMP/perf.data" || die "mkcs"
while read -r o; do printf '%x\n' $((0x$start + 0x$o)); done <"$d/expect.offsets" >"$TMP/want"
"$HWT" list --jsonl "$TMP/perf.data" 2>/dev/null | sed -n 's/.*"type":"insn".*"addr":"0x\([0-9a-f]*\)".*/\1/p' >"$TMP/got"
diff "$TMP/want" "$TMP/got" || die "other instructions than by hand"
"$HWT" check "$TMP/perf.data" >/dev/null 2>&1 || die "check finds something: exit $?"
need perf
perf script -i "$TMP/perf.data" --itrace=i1i -F ip 2>/dev/null | tr -d ' ' >"$TMP/perf"
diff "$TMP/perf" "$TMP/got" || die "other instructions than perf"
echo "# $(wc -l <"$TMP/got") instructions as by hand and as perf"
