#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# CTF of LTTng: events, fields, order and times are those of babeltrace2; broken traces end with file, place, cause and what to try.
. tests/golden/common
need_captures
need babeltrace2
make -s "O=$O" "$O/tests/tools/kevents" >"$TMP/make" 2>&1 || die "kevents: $(tail -n 5 "$TMP/make")"
KEV=$O/tests/tools/kevents
LTTNG=$CAP/kernel/lttng
"$HWT" info "$LTTNG/succeed/2packets" >"$TMP/out" 2>&1
! grep -q '^tasks ' "$TMP/out" || die "info: a number of tasks that nobody counted"
grep -q E125 "$TMP/out" && { echo "built without libbabeltrace2"; exit 77; }

compare() {	# trace, events, fields
	"$KEV" "$1" >"$TMP/ours" || die "$1: kevents: exit $?"
	tail -n 1 "$TMP/ours" | grep -qx 'end 0' || die "$1: $(tail -n 1 "$TMP/ours")"
	babeltrace2 --clock-seconds --names=all --fields=all "$1" >"$TMP/peer" 2>"$TMP/err" || die "babeltrace2 $1: $(head -n 3 "$TMP/err")"
	python3 tests/golden/ctf_peer.py "$TMP/ours" "$TMP/peer" >"$TMP/sum" 2>&1 || die "$1: $(tail -n 5 "$TMP/sum")"
	[ "$(cat "$TMP/sum")" = "$2 events, $3 fields, 0 of one instant in another order" ] || die "$1: $(cat "$TMP/sum")"
}
compare "$LTTNG/succeed/2packets" 2 6
compare "$LTTNG/succeed/lttng-tracefile-rotation" 12305 75859
compare "$LTTNG/succeed/multi-domains" 4272 123056
"$HWT" info "$LTTNG/succeed/multi-domains" 2>/dev/null | sed -n 's/^\(domain\|tracer_name\|hostname\)  *//p' | sort >"$TMP/domains"
cat "$LTTNG"/succeed/multi-domains/*/metadata | tr -d '\0' | sed -n 's/^[[:space:]]*\(domain\|tracer_name\|hostname\) = "\(.*\)";$/\2/p' | sort -u >"$TMP/want"
[ "$(wc -l <"$TMP/want")" -ge 4 ] && cmp "$TMP/domains" "$TMP/want" || die "info: not each domain: $(cat "$TMP/domains")"
# one of its traces alone, named by its directory or by its metadata
compare "$LTTNG/succeed/multi-domains/kernel" 272 115056
"$KEV" "$LTTNG/succeed/multi-domains/kernel/metadata" >"$TMP/by_file" && cmp "$TMP/by_file" "$TMP/ours" || die "by metadata: another trace"
# what was lost, and between which instants, is babeltrace2's
grep 'stream.lost' "$TMP/ours" | grep -q 'count=728 ' || die "losses: $(grep stream.lost "$TMP/ours")"
[ "$(grep -o 'discarded [0-9]* events' "$TMP/err" | awk '{ n += $2 } END { print n }')" = 728 ] || die "losses of babeltrace2: $(cat "$TMP/err")"

# CPUs and threads can be chosen: as many events of a CPU as babeltrace2 has, and those of a thread that its switches name
rot=$LTTNG/succeed/lttng-tracefile-rotation
for cpu in 0 1 2 3; do
	his=$(babeltrace2 --fields=all "$rot" 2>/dev/null | grep -c "{ cpu_id = $cpu }")
	"$HWT" timeline --cpu $cpu --jsonl "$rot" >"$TMP/out" 2>/dev/null || die "--cpu $cpu: exit $?"
	[ "$(grep -c "\"cpu\":$cpu,.*\"number\":" "$TMP/out")" = "$his" ] && [ "$(grep -c '"number":' "$TMP/out")" = "$his" ] ||
		die "--cpu $cpu: $(grep -c '"number":' "$TMP/out") events, babeltrace2 has $his"
done
"$HWT" timeline --tid 31407 "$rot" 2>/dev/null | grep -q 'sched.switch: .*next_tid=31407' || die "--tid: no events"

fails() {	# trace, exit code, events, text of the error
	"$HWT" info "$LTTNG/fail/$1" >"$TMP/out" 2>"$TMP/err"
	rc=$?
	[ $rc = "$2" ] || die "fail/$1: exit $rc, not $2: $(cat "$TMP/err")"
	grep -qF -e "$4" "$TMP/err" || die "fail/$1: $(cat "$TMP/err") lacks $4"
	grep -q "^hwtrace: $LTTNG/fail/$1.*: .*\[E[0-9]*\]\$" "$TMP/err" || die "fail/$1: no file or id: $(cat "$TMP/err")"
	grep -q '^try: ' "$TMP/err" || die "fail/$1: nothing to try: $(cat "$TMP/err")"
	# what is readable before the fault is what babeltrace2 gives
	babeltrace2 "$LTTNG/fail/$1" >"$TMP/peer" 2>/dev/null && die "fail/$1: babeltrace2 reads it"
	[ "$(wc -l <"$TMP/peer")" = "$3" ] || die "fail/$1: babeltrace2 gives $(wc -l <"$TMP/peer") events"
	"$KEV" "$LTTNG/fail/$1" >"$TMP/ours" 2>/dev/null
	[ "$(grep -vc 'gap damaged$\|^end ' "$TMP/ours")" = "$3" ] || die "fail/$1: events $(cat "$TMP/ours")"
}
fails fail1 3 0 "fail1/metadata+0x1da: line 15: Invalid trace's \`minor\` attribute"
fails fail2 3 0 'fail2/metadata+0xe5: line 9: syntax error'
fails integer-range 3 0 'integer-range/metadata+0xc4: line 7: '
fails invalid-packet-size 3 0 'packet-size-bytes=4096, file-size=2533 [E201]'
fails invalid-sequence-length-field-class 3 0 'length field class is not an unsigned integer'
fails invalid-variant-selector-field-class 3 0 'tag field class is not an enumeration'
fails lttng-modules-2.0-pre1 3 0 'lttng-modules-2.0-pre1/metadata: Invalid metadata packet version'
fails metadata-syntax-error 3 0 'metadata-syntax-error/metadata+0xf: line 3: syntax error'
fails packet-based-metadata 3 0 'packet-based-metadata/metadata: Invalid metadata packet version'
fails smalltrace 3 0 'smalltrace/metadata+0xbf: line 6: '
fails valid-events-then-invalid-events 3 2 'trace/dummystream: No event class with ID'
grep -q 'gap damaged$' "$TMP/ours" || die "no hole where events can not be read: $(cat "$TMP/ours")"
# files are named as the user named the trace, however he did
cp -r "$LTTNG/fail/valid-events-then-invalid-events" "$TMP/bad" && mkdir "$TMP/x" && ln -s bad "$TMP/link" || exit 1
for dir in "$TMP/./x/../link" "$TMP//bad" "$(realpath --relative-to=. "$TMP/bad")"; do
	"$HWT" info "$dir" 2>&1 >/dev/null | grep -qF "hwtrace: $dir/trace/dummystream: " || die "$dir: not named so"
done
exit 0
