#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Captures of LLDB, with what libipt's own tool lists of them: same instructions, same order.
. tests/golden/common
need_captures
d=$CAP/pt/lldb-thread
zcat "$d/expect.insn.txt.gz" | sed -n 's/^0*\([0-9a-f]*\)  .*/0x\1/p' >"$TMP/want"
addrs() { sed -n 's/.*"type":"insn".*"addr":"\(0x[0-9a-f]*\)".*/\1/p'; }
"$HWT" list --jsonl --pt "$d/in/3842849.trace" --cpu 6/79/1 --elf "$d/in/a.out" >"$TMP/l" || die "raw list: exit $?"
addrs <"$TMP/l" >"$TMP/got"
[ "$(wc -l <"$TMP/got")" = 21 ] || die "raw: $(wc -l <"$TMP/got") instructions, not 21"
diff "$TMP/want" "$TMP/got" || die "raw: other instructions than libipt"
"$HWT" list --jsonl "$d/in/trace.json" | addrs | diff "$TMP/want" - || die "bundle: other instructions than libipt"
d=$CAP/pt/lldb-cpus
"$HWT" list --jsonl "$d/in/trace.json" >"$TMP/l" || die "lldb-cpus: exit $?"
for cpu in 45:61825 51:19521; do
	n=${cpu#*:} cpu=${cpu%:*}
	zcat "$d/expect.cpu$cpu.insn.txt.gz" | sed -n 's/^0*\([0-9a-f]*\)  .*/0x\1/p' >"$TMP/want"
	grep "\"type\":\"insn\",.*\"cpu\":$cpu[,}]" "$TMP/l" | addrs >"$TMP/got"
	[ "$(wc -l <"$TMP/want")" = "$n" ] || die "cpu $cpu: $(wc -l <"$TMP/want") instructions expected, not $n"
	# where code is missing libipt's tool gives up all to the next PSB; what we find behind is between these two parts
	k=$(zcat "$d/expect.cpu$cpu.insn.txt.gz" | awk 'BEGIN { k = -1 } /^\[.*no memory mapped/ { k = n + 0 } !/^\[/ { n++ } END { print k < 0 ? n : k }')
	head -n "$k" "$TMP/want" | cmp - "$TMP/got" 2>"$TMP/err" || grep -q EOF "$TMP/err" || die "cpu $cpu: $(cat "$TMP/err")"
	tail -n "$((n - k))" "$TMP/want" >"$TMP/tail"
	tail -n "$((n - k))" "$TMP/got" | cmp "$TMP/tail" - || die "cpu $cpu: other instructions than libipt behind the hole"
	[ "$k" != "$n" ] || [ "$(wc -l <"$TMP/got")" = "$n" ] || die "cpu $cpu: $(wc -l <"$TMP/got") instructions, not $n"
done
# the only threads that may own instructions are those of the process
tids=$(sed -n 's/.*"type":"insn".*"tid":\([0-9]*\).*/\1/p' "$TMP/l" | sort -u | tr '\n' ' ')
for t in $tids; do
	case " 3497234 3497496 3497497 " in *" $t "*) ;; *) die "instructions of thread $t" ;; esac
done
[ -n "$tids" ] || die "no instruction has a thread"
echo "# 21 + 61825 + 19521 instructions as libipt, threads $tids"
