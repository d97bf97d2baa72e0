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
"$HWT" list --jsonl --resync packet "$d/in/trace.json" >"$TMP/more" || die "lldb-cpus, resync at packets: exit $?"
of_cpu() { grep "\"type\":\"insn\",.*\"cpu\":$1[,}]" "$2" | addrs; }
for cpu in 45:61825 51:19521; do
	n=${cpu#*:} cpu=${cpu%:*}
	zcat "$d/expect.cpu$cpu.insn.txt.gz" | sed -n 's/^0*\([0-9a-f]*\)  .*/0x\1/p' >"$TMP/want"
	[ "$(wc -l <"$TMP/want")" = "$n" ] || die "cpu $cpu: $(wc -l <"$TMP/want") instructions expected, not $n"
	of_cpu $cpu "$TMP/l" >"$TMP/got"
	cmp "$TMP/want" "$TMP/got" || die "cpu $cpu: other instructions than libipt"
	# with --resync packet, what is found in the middle of a PSB period lies between these two parts
	k=$(zcat "$d/expect.cpu$cpu.insn.txt.gz" | awk 'BEGIN { k = -1 } /^\[.*no memory mapped/ { k = n + 0 } !/^\[/ { n++ } END { print k < 0 ? n : k }')
	of_cpu $cpu "$TMP/more" >"$TMP/got"
	head -n "$k" "$TMP/want" >"$TMP/head"
	head -n "$k" "$TMP/got" | cmp "$TMP/head" - || die "cpu $cpu: other instructions than libipt before the hole"
	tail -n "$((n - k))" "$TMP/want" >"$TMP/tail"
	tail -n "$((n - k))" "$TMP/got" | cmp "$TMP/tail" - || die "cpu $cpu: other instructions than libipt behind the hole"
	if [ "$k" = "$n" ]; then
		cmp "$TMP/want" "$TMP/got" || die "cpu $cpu: --resync packet found what is not there"
	else
		[ "$(wc -l <"$TMP/got")" = 50003 ] || die "cpu $cpu: $(wc -l <"$TMP/got") instructions with --resync packet, not 50003"
	fi
done
# a hole where libipt's tool reports an error, and with the same code, named by its number in pt_error_code
for cpu in 45 51; do
	zcat "$d/expect.cpu$cpu.insn.txt.gz" | grep -c '^\[.*: error: ' >"$TMP/errors"
	grep "\"type\":\"gap\",.*\"cpu\":$cpu,.*\"code\":" "$TMP/l" | wc -l | cmp -s "$TMP/errors" - ||
		die "cpu $cpu: not as many holes as libipt has errors"
done
# the last byte of each is a good packet, but a branch while tracing is off: what stood before it is missing
for cpu in 45 51; do
	[ "$(grep "\"type\":\"gap\",.*\"cpu\":$cpu,.*\"cause\":\"break\",\"bytes\":1," "$TMP/l" | wc -l)" = 1 ] ||
		die "cpu $cpu: the branch at the end is not called a break"
done
# check, list and packets count the same holes and bytes
gaps() { sed -n 's/.*"type":"gap",.*"cause":"\([^"]*\)","bytes":\([0-9]*\).*/\1 \2/p' | awk '{ n[$1]++; b[$1] += $2 } END { for (c in n) print c, n[c], b[c] }' | sort; }
gaps <"$TMP/l" >"$TMP/want"
"$HWT" check --jsonl "$d/in/trace.json" | sed -n 's/.*"type":"holes",.*"cause":"\([^"]*\)","count":\([0-9]*\),"bytes":\([0-9]*\).*/\1 \2 \3/p' |
	awk '{ n[$1] += $2; b[$1] += $3 } END { for (c in n) print c, n[c], b[c] }' | sort | diff "$TMP/want" - || die "check and list differ in holes"
"$HWT" packets --jsonl --pt "$CAP/pt/lldb-thread/in/3842849.trace" >"$TMP/p"
grep -q '"bad":true' "$TMP/p" && die "packets: zeros before the first PSB are a hole, for check they are none"
# the number of the library's error has its words, as pt_errstr(3) of libipt gives them
"$HWT" list "$d/in/trace.json" 2>/dev/null | grep -q 'hole: no-image.*, code 13 (no memory mapped at this address), ' || die "no words for an error code"
# each switch is a numbered event of the kernel that a filter knows, as often as list has it
want=$("$HWT" list -q --jsonl "$d/in/trace.json" | grep -c '"type":"sched.switch"')
[ "$want" = 151 ] && [ "$("$HWT" timeline -q --jsonl --filter sched.switch "$d/in/trace.json" | grep -c '"name":"sched.switch"')" = "$want" ] || die "switches are no events of timeline"
"$HWT" timeline -q --filter 'sched.switch where next_tid == 3497497' "$d/in/trace.json" >"$TMP/sw" || die "timeline --filter"
[ -s "$TMP/sw" ] && ! grep -v ' #[0-9]* sched.switch: .* next_tid=3497497' "$TMP/sw" || die "timeline --filter: $(head -n 3 "$TMP/sw")"
# the only threads that may own instructions are those of the process
tids=$(sed -n 's/.*"type":"insn".*"tid":\([0-9]*\).*/\1/p' "$TMP/l" | sort -u | tr '\n' ' ')
for t in $tids; do
	case " 3497234 3497496 3497497 " in *" $t "*) ;; *) die "instructions of thread $t" ;; esac
done
[ -n "$tids" ] || die "no instruction has a thread"
echo "# 21 + 61825 + 19521 instructions as libipt, 50003 with --resync packet, threads $tids"
