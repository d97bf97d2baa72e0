#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the installed OpenCSD gets wrong is never shown as certain, and nothing else is in doubt.
. tests/golden/common
need_captures
need python3
rc=0
for d in "$CAP"/arm/*/in "$CAP"/ete/*/in; do
	[ -f "$d/snapshot.ini" ] || continue
	case "$d" in
	*/fib-2/in) published "$CAP/arm/fib-files/trace2/cstrace.bin" 14624 || continue ;;
	esac
	"$HWT" list -q --jsonl --level range "$d" >"$TMP/ranges" 2>/dev/null
	case "$d" in
	# branches that OpenCSD 1.3.3 does not know: (holes, the branch)
	*/pauth_lr/in)		want="0x10275ec 0x102763c 0x102768c" ;;
	*/armv8_1m_branches/in)	want="0x1e0c4" ;;
	# walked on after a Q element, into the next function
	*/q_elem/in)		want="0x27008 0x270f0" ;;
	*)			want= ;;
	esac
	got=$(sed -n 's/.*"cause":"unknown-branch".*"addr":"\([^"]*\)".*/\1/p' "$TMP/ranges" | tr '\n' ' ')
	[ "$got" = "${want:+$want }" ] || { echo "$d: passed branches: $got, expected: $want"; rc=1; }
	# the kernel of juno_r1_1 patched its code after it was dumped: unconditional branches that were not taken
	case "$d" in
	*/juno_r1_1/in)
		grep -q '"cause":"bad-image"' "$TMP/ranges" && grep -q '"doubt":true' "$TMP/ranges" || { echo "$d: no doubt"; rc=1; } ;;
	*)
		if grep -q '"cause":"bad-image"' "$TMP/ranges" || { [ -z "$want" ] && grep -q '"doubt":true' "$TMP/ranges"; }; then
			echo "$d: doubt without a reason"
			rc=1
		fi ;;
	esac
done
# The list of OpenCSD 1.8.0, which knows the branches and waits for the address after a Q element: all that
# is left without doubt stands there, and what is missing here is no more than the ranges in doubt.
for d in pauth_lr q_elem; do
	"$HWT" list -q --jsonl --level range "$CAP/ete/$d/in" >"$TMP/ranges" 2>/dev/null
	python3 - "$CAP/ete/$d/expect.elements.tsv.gz" "$TMP/ranges" <<-'PY' || { echo "$d"; rc=1; }
	import gzip, json, sys
	theirs = []
	for line in gzip.open(sys.argv[1], "rt"):
	    w = line.rstrip("\n").split("\t")
	    if len(w) > 7 and w[2] == "range":
	        theirs.append((int(w[0]), int(w[3], 16), int(w[5]), w[7] == "E"))
	mine, doubt = [], 0
	for line in open(sys.argv[2]):
	    e = json.loads(line)
	    if e.get("src") == 0 and e["type"] == "range":
	        if e.get("doubt"):
	            doubt += 1
	        else:
	            mine.append((e["off"], int(e["first"], 16), e["n"], e["taken"]))
	it = iter(theirs)
	left = [r for r in mine if r not in it]     # in order
	if left or not doubt or len(theirs) - len(mine) > doubt:
	    sys.exit("%d ranges, %d in doubt, %d of 1.8.0; not there: %s" % (len(mine), doubt, len(theirs), left[:3]))
	PY
done
# the branch itself is the last instruction that is listed: whether it was taken is not known
"$HWT" list -q --jsonl "$CAP/arm/armv8_1m_branches/in" 2>/dev/null | tail -2 | tr '\n' ' ' >"$TMP/last"
grep -q '"addr":"0x1e0c4".*"doubt":true.*"cause":"unknown-branch"' "$TMP/last" || { cat "$TMP/last"; rc=1; }
# what is counted as known is what is listed
for d in ete/pauth_lr ete/q_elem arm/armv8_1m_branches; do
	n=$("$HWT" list -q --jsonl "$CAP/$d/in" 2>/dev/null | grep -c '"type":"insn"')
	m=$("$HWT" check --jsonl "$CAP/$d/in" 2>/dev/null | sed -n 's/.*"insns":\([0-9]*\).*/\1/p' | awk '{ s += $1 } END { print s }')
	[ "$n" = "$m" ] || { echo "$d: $n instructions listed, $m counted"; rc=1; }
done
# 9,329 and 9,272 instructions that never ran are in no function's count
n=$("$HWT" calls --summary --insns --jsonl "$CAP/ete/q_elem/in" 2>/dev/null | sed -n 's/.*"insns":\([0-9]*\).*/\1/p' | awk '{ s += $1 } END { print s }')
m=$("$HWT" check --jsonl "$CAP/ete/q_elem/in" 2>/dev/null | sed -n 's/.*"insns":\([0-9]*\).*/\1/p' | awk '{ s += $1 } END { print s }')
[ "$n" = "$m" ] || { echo "q_elem: calls counts $n instructions, check $m"; rc=1; }
exit $rc
