#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The demo capture against what the program really ran (single steps), and against perf's own decoder.
. tests/golden/common
d=fixtures/captures/demo
addrs() { sed -n 's/.*"type":"insn".*"addr":"0x\([0-9a-f]*\)".*/\1/p'; }
"$HWT" list --jsonl --sysroot "$d/in" "$d/in/perf.data" >"$TMP/l" 2>/dev/null || die "list: exit $?"
# all before the hole and all after it: instructions 150 to 190 are lost, and those whose branches were not sent yet
addrs <"$TMP/l" >"$TMP/got"
sed -n '/"type":"gap"/q;p' "$TMP/l" | addrs >"$TMP/before"
n=$(wc -l <"$TMP/before")
[ "$n" -gt 100 ] && [ "$n" -le 150 ] || die "$n instructions before the hole"
head -n "$n" "$d/expect.addrs" | diff - "$TMP/before" >"$TMP/diff" || die "before the hole: $(head -n 3 "$TMP/diff")"
tail -n +"$((n + 1))" "$TMP/got" >"$TMP/after"
tail -n +191 "$d/expect.addrs" | diff - "$TMP/after" >"$TMP/diff" || die "after the hole: $(head -n 3 "$TMP/diff")"
[ "$(grep -c '"type":"gap"' "$TMP/l")" = 1 ] || die "not exactly one hole"
grep -q '"cause":"overflow"' "$TMP/l" || die "the hole is no overflow"
# text says that it leaves out what the kernel recorded outside the trace; with -v nothing is left out
"$HWT" list --sysroot "$d/in" "$d/in/perf.data" 2>/dev/null | grep -q '^== left out: 1 kernel event outside' || die "list does not say what it leaves out"
"$HWT" list -v --sysroot "$d/in" "$d/in/perf.data" 2>/dev/null | grep -q 'left out' && die "list -v leaves something out"
# the same, made again without a hole, by perf
"$O/tests/tools/mkdemo" "$PWD/$d/in/demo" "$d/expect.addrs" "$TMP/perf.data" || die "mkdemo"
"$HWT" list --jsonl "$TMP/perf.data" 2>/dev/null | addrs | diff "$d/expect.addrs" - >"$TMP/diff" ||
	die "without a hole: $(head -n 3 "$TMP/diff")"
if command -v perf >/dev/null; then
	perf script -i "$TMP/perf.data" --itrace=i0ns -F ip 2>/dev/null | tr -d ' ' | diff "$d/expect.addrs" - >"$TMP/diff" ||
		die "perf: $(head -n 3 "$TMP/diff")"
	echo "# perf: $(wc -l <"$d/expect.addrs") instructions as single steps"
fi
# the packets are what the model writes today
"$O/tests/tools/mkdemo" -lose 150:190 -name /demo "$d/in/demo" "$d/expect.addrs" "$TMP/again" && cmp "$TMP/again" "$d/in/perf.data" ||
	die "cmd does not give in/perf.data again"
HWTRACE=$HWT sh fixtures/demo.sh >"$TMP/demo" 2>&1 || die "demo.sh: exit $?"
# on the machine itself, unless it forbids ptrace
if "$O/tests/tools/step" "$d/in/demo" >/dev/null 2>&1; then
	grep -q 'instructions of 1 thread.*simulated trace' "$TMP/demo" && grep -q '^no findings' "$TMP/demo" || die "demo does not record: $(cat "$TMP/demo")"
fi
for w in 'fib' 'checksum' 'hole: overflow' 'decoded 100'; do
	grep -q "$w" "$TMP/demo" || die "demo does not show \"$w\""
done
echo "# $(wc -l <"$TMP/got") instructions around one hole"
