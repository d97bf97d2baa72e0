#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# No machine here has Intel PT or CoreSight, so the recorder of `record -e` is fed by what perf recorded elsewhere: tests/tools/hwreplay
# writes the kernel's records and the trace of a perf.data into rings in memory, small ones and by several interleavings, and the capture
# that comes out is held against the original: each packet, hole and time, each instruction, each switch and task. What ran is known of
# the exported captures of the software trace unit: the listing of the file that the steps wrote.
. tests/golden/common
PLAY=$O/tests/tools/hwreplay
# the owner may be told by more records of the kernel, buffers come in the order of their first byte
plain() { grep -vE '"type":"(header|task|map|record|sched.switch|clock.sync|summary)"' | sed -E 's/"(src|off|buf|pid|tid)":[0-9-]+,?//g' | sort; }
events() { "$O/tests/tools/kernel_events" "$1" 2>/dev/null | sed 's/ preempted=[a-z]*//' | grep -E ' (sched\.|mm\.|stream\.)' | grep -v ' dirty:' | sort; }
n=0 bytes=0 k=0
# NAME PERF.DATA AUX DATA [OPTION...]: rings of these sizes, two interleavings
same() {
	name=$1 f=$2 aux=$3 data=$4
	shift 4
	"$HWT" list --jsonl "$@" "$f" 2>/dev/null | plain >"$TMP/list"
	"$HWT" packets --jsonl "$f" 2>/dev/null | plain >"$TMP/packets"
	events "$f" >"$TMP/events"
	[ -s "$TMP/packets" ] || die "$name: no packet"
	for seed in 1 2; do
		rm -rf "$TMP/r.hwt"
		sum=$("$PLAY" "$f" "$TMP/r.hwt" $seed "$aux" "$data") || die "$name: not replayed"
		"$HWT" list --jsonl "$@" "$TMP/r.hwt" 2>/dev/null | plain | cmp - "$TMP/list" || die "$name, $seed: another listing"
		"$HWT" packets --jsonl "$TMP/r.hwt" 2>/dev/null | plain | cmp - "$TMP/packets" || die "$name, $seed: other packets"
		[ -n "$no_events" ] || events "$TMP/r.hwt" | cmp - "$TMP/events" || die "$name, $seed: other events"
		n=$((n + 1))
	done
	bytes=$((bytes + $(echo "$sum" | sed 's/trace \([0-9]*\) .*/\1/')))
}
d=fixtures/captures/demo/in
no_events=1	# those of the tool itself are in the original
same demo $d/perf.data 4096 4096 --sysroot $d
# what single steps saw
if "$HWT" record --model -q --no-kernel --limit 12000 -o "$TMP/t.hwt" -- /bin/ls / >/dev/null 2>"$TMP/err"; then
	"$HWT" export --to perf -o "$TMP/t.perf" --images "$TMP/img" "$TMP/t.hwt" 2>/dev/null || die "export: exit $?"
	same ls "$TMP/t.perf" 1048576 8192 --sysroot "$TMP/img"
	insns() { "$HWT" list --jsonl "$@" 2>/dev/null | sed -n 's/.*"type":"insn".*"addr":"\(0x[0-9a-f]*\)".*/\1/p' | sort; }
	insns "$TMP/t.hwt" >"$TMP/truth"
	insns --sysroot "$TMP/img" "$TMP/r.hwt" | cmp - "$TMP/truth" && [ "$(wc -l <"$TMP/truth")" -gt 10000 ] || die "ls: not what ran"
else
	echo "# left out: programs can not be stepped here: $(head -n 1 "$TMP/err")"
fi
if [ -d "$CAP" ]; then
	no_events=
	same skylake "$CAP/pt/skylake-kernel/in/perf.data" 131072 4096
	# a flight recorder: the newest bytes of each CPU, and the records that were kept beside
	rm -rf "$TMP/s.hwt"
	"$PLAY" "$CAP/pt/skylake-kernel/in/perf.data" "$TMP/s.hwt" 1 16384 4096 snapshot >/dev/null || die "snapshot: not replayed"
	for b in "$TMP"/s.hwt/hw/*.bin; do
		[ "$(stat -c %s "$b")" -le 16384 ] && tail -c "$(stat -c %s "$b")" "$TMP"/r.hwt/hw/*_"${b##*/*_cpu_}" 2>/dev/null | cmp - "$b" ||
			die "snapshot: $b has not the newest bytes"
		k=$((k + $(stat -c %s "$b")))
	done
	[ $k = $((16384 + 12240)) ] || die "snapshot: $k bytes"
	events "$TMP/s.hwt" | cmp - "$TMP/events" || die "snapshot: other events"
	no_events=1	# on CLOCK_MONOTONIC, without a conversion
	same pixel "$CAP/arm/pixel/in/perf_etm.data" 4096 4096
	same pixel-kernel "$CAP/arm/pixel/in/perf_kernel.data" 32768 4096
	same pixel-raw "$CAP/arm/pixel/in/perf_with_unformatted_trace.data" 4096 4096
else
	echo "# left out: captures of others are not here (HWT_CAPTURES=$CAP)"
fi
echo "# $n replays, $bytes bytes of trace"
