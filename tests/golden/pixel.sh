#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# perf.data of simpleperf on two phones, ETMv4 in frames and ETE from a TRBE: a program whose main loop runs 100 times.
# The truth is the program: its only loop ends at 100, and nothing else of it runs more than once.
. tests/golden/common
need_captures
mkdir -p "$TMP/dest/data/local/tmp"
cp "$CAP/arm/pixel/in/etm_test_loop" "$TMP/dest/data/local/tmp/" || exit 1
for f in perf_etm perf_with_unformatted_trace; do
	"$HWT" list --level range --sysroot "$TMP/dest" "$CAP/arm/pixel/in/$f.data" >"$TMP/l" || die "$f: exit $?"
	# the body is 0x1074..0x1080; the head is entered at 0x1054 once and at 0x105c 100 times
	for want in 1074-1080:100 105c-106c:100 1054-106c:1 108c-10a0:1 10a4-10b0:1; do
		lo=${want%%-*} hi=${want#*-} n=${want#*:}
		hi=${hi%:*}
		got=$(grep -c "[0-9a-f]*${lo#1}-[0-9a-f]*${hi#1} " "$TMP/l")
		[ "$got" = "$n" ] || die "$f: $lo-$hi ran $got times, not $n"
	done
	"$HWT" check --sysroot "$TMP/dest" "$CAP/arm/pixel/in/$f.data" >/dev/null 2>&1 || die "$f: check: exit $?"
done
# without its code every packet is understood and no flow is known: that is loss too
"$HWT" check "$CAP/arm/pixel/in/perf_etm.data" --max-loss 99 >/dev/null 2>"$TMP/q"
[ $? = 4 ] || die "no code: --max-loss 99 is not exceeded"
grep -q "decoded 100.0 % of 384 bytes, flow known for 0.0 %" "$TMP/q" || die "no code: $(grep decoded "$TMP/q")"
"$HWT" check "$CAP/arm/pixel/in/perf_etm.data" --sysroot "$TMP/dest" --max-loss 0 >/dev/null 2>"$TMP/q" || die "--max-loss 0: exit $?"
grep -q "flow known" "$TMP/q" && die "all is known: $(cat "$TMP/q")"
echo "# 100 iterations, on ETMv4 and on ETE"
