#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Stream files as uapi.h lays them out are CTF: babeltrace2 reads every event, field, value, time and loss that were written.
# mkevents fills the structs by their members and uses nothing of the library but the metadata.
. tests/golden/common
need babeltrace2
make -s "O=$O" "$O/tests/tools/mkevents" >"$TMP/make" 2>&1 || die "mkevents: $(tail -n 5 "$TMP/make")"
events=$(grep -c '^HWT_EVENT(' include/hwtrace/events.def)

for seed in 1 2 3 4; do
	mkdir "$TMP/k$seed"
	"$O/tests/tools/mkevents" "$TMP/k$seed" $seed 5000 >"$TMP/want" || die "mkevents $seed: exit $?"
	babeltrace2 --clock-cycles --no-delta "$TMP/k$seed" >"$TMP/got" 2>"$TMP/err" || die "babeltrace2: $(head -n 3 "$TMP/err")"
	# of the packet context only cpu_id belongs to each event
	sed 's/, flags = 0x[0-9A-F]*, events = [0-9]*, crc = 0x[0-9A-F]*, produced = [0-9]* }/ }/' "$TMP/got" >"$TMP/seen"
	cmp "$TMP/seen" "$TMP/want" || die "seed $seed: $(diff "$TMP/seen" "$TMP/want" | head -n 4)"
	[ "$(sed 's/^[^ ]* \([^ ]*\): .*/\1/' "$TMP/seen" | sort -u | wc -l)" = "$events" ] || die "not all $events events are in it"
	[ "$(grep -c 'Tracer discarded 7 events\|Tracer discarded 8 events' "$TMP/err")" = 2 ] || die "losses: $(cat "$TMP/err")"
	! grep -v 'Tracer discarded' "$TMP/err" | grep . || die "babeltrace2 has something to say"
done
# what the trace says of itself
babeltrace2 -c sink.text.details "$TMP/k4" >"$TMP/details" 2>/dev/null
for say in 'label: a "model"' "hwtrace_abi: $(sed -n 's/^#define HWT_ABI_VERSION //p' include/hwtrace/events.def)" 'Frequency (Hz): 2,445,434,000' \
	'Precision (cycles): 2' 'Offset (s): 1,700,000,000' 'Offset (cycles): 12,345' 'Origin is Unix epoch: Yes'; do
	grep -qF -e "$say" "$TMP/details" || die "details lack \"$say\""
done
# the clock: 1700000000 s and 12345 ticks of 2445434000 Hz before tick 0; babeltrace2 cuts offset and value to ns one by one
first=$(head -n 1 "$TMP/want" | sed 's/^\[0*\([0-9]*\).*/\1/')
ns=$((first * 1000000000 / 2445434000 + 12345 * 1000000000 / 2445434000))
babeltrace2 --clock-seconds --no-delta "$TMP/k4" >"$TMP/got" 2>/dev/null
head -n 1 "$TMP/got" | grep -qF "[1700000000.$(printf '%09d' $ns)]" ||
	die "time of tick $first is not 1700000000.$(printf '%09d' $ns)"
