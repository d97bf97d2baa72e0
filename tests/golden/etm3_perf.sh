#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ETMv3 and PTM in a perf.data of each header version, in frames and bare: the flow of the same bytes in a snapshot, which is
# compared with OpenCSD elsewhere (elems.sh). perf itself lists these units' packets, but has no flow of them to compare.
. tests/golden/common
need_captures
need python3
# who ran and when is told otherwise in both, and a bare buffer in a perf.data has no trace id
flow() {
	"$HWT" list --level range --jsonl "$@" 2>"$TMP/err" |
		grep -E '^\{"type":"(range|gap|exception|eret|cycles|timestamp|on|off)"' |
		sed -E 's/"(cpu|pid|tid|sym_off|trace_id)":[0-9]+//g; s/"(time|ticks)":\{[^}]*\}//g; s/"(sym|clock)":"[^"]*"//g; s/,+/,/g; s/,\}/}/'
}
same() {	# NAME SNAPSHOT
	flow "$2" >"$TMP/want"
	[ "$(grep -c '"range"' "$TMP/want")" -gt 1000 ] || die "$1: no flow in the snapshot"
	for v in 0 1 2; do
		# how a header is read shows at once: all of the trace for one of them
		flow $([ $v = 2 ] || echo --limit 20000) "$TMP/$1.$v" >"$TMP/got"
		n=$(wc -l <"$TMP/got")
		[ "$n" -gt 1000 ] && { [ $v != 2 ] || [ "$n" = "$(wc -l <"$TMP/want")" ]; } || die "$1, header version $v: $n events: $(cat "$TMP/err")"
		head -n "$n" "$TMP/want" | diff - "$TMP/got" >"$TMP/diff" || die "$1, header version $v: $(cat "$TMP/err"; head -n 6 "$TMP/diff")"
	done
	n=$(wc -l <"$TMP/want")
	echo "# $1: $n events as in the snapshot"
}
d=$CAP/arm/tc2-ptm-rstk-t32/in
python3 tests/golden/etm3_perf.py "$d/PTM_0_2.bin" "$TMP/ptm" 0x20000400,2,0x34C01AC2,0x411CF312 bare \
	"$d/mem_Cortex-A15_0_0_VECTORS.bin@0x80000000,0,0" "$d/mem_Cortex-A15_0_1_RO_CODE.bin@0x80000278,0,0" || die "ptm"
same ptm "$d"
d=$CAP/arm/r5f-freertos/in
python3 tests/golden/etm3_perf.py "$d/freertos.data" "$TMP/etm3" 0xc40,0x10,0x9ba,0x4104f230 frames \
	"$d/freertos.out@0,0x38,0x40" "$d/freertos.out@0x70099000,0x80,0x16e98" || die "etm3"
same etm3 "$d"
