#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# record -e where there is no trace hardware: what is missing is named, kernel events are recorded nevertheless, which is exit 4, and only if
# nothing could be is it exit 5. Units that other machines have are laid over this machine's list of them, so that the system itself refuses them.
. tests/golden/common
cd_hwt() { case $HWT in /*) ;; *) HWT=$PWD/$HWT ;; esac; }
cd_hwt
cd "$TMP" || exit 1
n=0
# EXIT WORDS OPTION...: fails so, and leaves no capture
fails() {
	want=$1 words=$2
	shift 2
	rm -rf x.hwt
	$in "$HWT" record -o x.hwt "$@" >out 2>err
	rc=$?
	[ $rc = "$want" ] && grep -q -e "$words" err && [ ! -e x.hwt ] || die "$*: exit $rc: $(cat err)"
	n=$((n + 1))
}
in=
if [ -e /sys/bus/event_source/devices/intel_pt ] || [ -e /sys/bus/event_source/devices/cs_etm ]; then
	echo "this machine has a trace unit: see what record -e makes of it"
	exit 77
fi
fails 5 'no unit intel_pt.*E185' -e intel_pt -- true
grep -q '^try: hwtrace doctor tells .* -e model' err || die "no next step: $(cat err)"
fails 5 'no unit cs_etm.*E185' -e cs_etm/@tmc_etr0/u -a --time 1
fails 5 'whole machine only.*E185' -e intel_pt//u --via module -- true
fails 5 'drives intel_pt and cs_etm.*E185' -e uncore//u --via module -a -- true
fails 2 'a sink can not be chosen' -e cs_etm/@tmc_etr0/u --via module -a -- true
fails 2 'has no option preset' -e cs_etm/preset=1/u --via module -a -- true
fails 2 '"exclude" before it.*E187' -e cs_etm --addr-filter 'tracestop 1/1' --via module -a -- true
[ -e /dev/hwtrace ] || fails 5 '/dev/hwtrace: No such file.*E182' -e cs_etm/cycacc,cc_threshold=16,ts_every=100,sync=12/u --addr-filter 'exclude 0x1000/4096' \
	--via module -a -- true
fails 2 'only ADDRESS/SIZE.*E187' -e intel_pt --addr-filter main@/bin/true --via module -a -- true
fails 2 'up to 4 address filters.*E187' -e intel_pt --addr-filter 1/1 --addr-filter 2/1 --addr-filter 3/1 --addr-filter 4/1 --addr-filter 5/1 \
	--via module -a -- true
[ -e /dev/hwtrace ] || fails 5 '/dev/hwtrace: No such file.*E182' -e intel_pt/cyc,psb_period=3/u --addr-filter 0x1000/4096 --via module -a -- true
fails 2 'names no trace unit' -e /cyc/ -- true
fails 2 'one trace unit' -e intel_pt -e cs_etm -- true
fails 2 'not both' -e intel_pt --model -- true
fails 2 'not both' -e model -k 'sched.*' -- true
fails 2 'are for -e' -k 'sched.*' --addr-filter main -- true
fails 2 'are for -k' -e intel_pt --size 8 -- true
fails 2 'are for -k and -e' --model --snapshot -- true
fails 2 'are for -e model' -e intel_pt --from main -- true
fails 2 'trace-size' -e intel_pt --trace-size 0 -- true
fails 2 'what is to be recorded' -- true
# both names of the software unit
if "$HWT" record --model -q --no-kernel --limit 2000 -o m.hwt -- /bin/true 2>err; then
	"$HWT" record -e model -q --no-kernel --limit 2000 -o m2.hwt -- /bin/true 2>err || die "-e model: $(cat err)"
	for i in m m2; do "$HWT" info $i.hwt 2>/dev/null | grep -E '^(simulation|recorder)' >$i; done
	cmp m m2 && [ -s m ] || die "-e model is not --model"
fi
events() { "$HWT" timeline --jsonl -q "$1" 2>/dev/null | grep -c '"sched\.\(switch\|exec\)"'; }
kernel=
if "$HWT" record -q -k sched.exec -o k.hwt -- true 2>err; then
	kernel=1
	"$HWT" record -k 'sched.*' -e intel_pt//u -o b.hwt -- true 2>err
	[ $? = 4 ] || die "-k and -e: not exit 4: $(cat err)"
	grep -q 'recorded in part: no trace of intel_pt' err || die "-k and -e: $(cat err)"
	grep -q 'no trace, only kernel events: perf has no unit intel_pt' err && [ "$(events b.hwt)" -gt 0 ] || die "-k and -e: $(cat err)"
	"$HWT" record -k 'sched.*' -e cs_etm --snapshot -a --time 1 -o s.hwt 2>err
	[ $? = 4 ] || die "snapshot: not exit 4: $(cat err)"
	grep -q 'no trace' err && [ "$(events s-1.hwt)" -gt 0 ] || die "snapshot: $(cat err)"
	# of a kernel event that nobody can give: who could, and why not
	fails 2 'E183' -k dirty:no:such -- true
	grep -q "^try: hwtrace list-events 'dirty:" err || die "no next step: $(cat err)"
	# what is wrong with what was asked for is not made good by the other
	fails 2 'names no trace unit' -k 'sched.*' -e ..// -- true
else
	echo "# left out: kernel events can not be recorded here: $(head -n 1 err)"
fi
# units of others: their folders in place of this machine's, in a mount namespace of our own
if unshare -m true 2>/dev/null; then
	f() { mkdir -p "d/${1%/*}" && printf '%s\n' "$2" >"d/$1"; }
	for t in pt:0 cyc:1 mtc:9 tsc:10 branch:13 mtc_period:14-17 psb_period:24-27; do f "intel_pt/format/${t%:*}" "config:${t#*:}"; done
	f intel_pt/type 4000
	f intel_pt/caps/mtc 1
	f intel_pt/caps/mtc_periods 249
	f intel_pt/nr_addr_filters 2
	f cs_etm/type 4001
	f cs_etm/format/sinkid config2:0-31
	f cs_etm/cpu0/trcidr/trcidr0 0x28000ea1
	cat >in <<'SH'
mount --bind d /sys/bus/event_source/devices && exec "$@"
SH
	in="unshare -m sh in"
	fails 5 "driver has no such unit" -e intel_pt//u -- true
	fails 5 "driver has no such unit" -e cs_etm//u -a --time 1
	fails 2 'can be 0, 3, 6, 9' -e intel_pt/mtc_period=1/ -- true
	fails 2 'no cycle counts' -e intel_pt/cyc/ -- true
	fails 2 'no sink tmc_etr7' -e cs_etm/@tmc_etr7/ -- true
	fails 2 'no function nothing_of_it' -e intel_pt//u --addr-filter 'nothing_of_it@/bin/sh' -- true
	fails 2 'not there' -e intel_pt//u --addr-filter 'main@/nowhere' -- true
	rm -r d/cs_etm/cpu0
	fails 5 "no CPU's ETMv4 or ETE" -e cs_etm//u -- true
	# a unit that the system opens, but that has no ring for trace: a software event that counts nothing
	rm -r d/intel_pt/format
	f intel_pt/type 1
	f intel_pt/format/none config1:0
	fails 5 'perf' -e intel_pt/config=9/u -- true
	if [ -n "$kernel" ]; then
		$in "$HWT" record -k 'sched.*' -e intel_pt/config=9/u -o late.hwt -- true 2>err
		[ $? = 4 ] || die "late: not exit 4: $(cat err)"
		grep -q 'no trace: ' err && [ "$(events late.hwt)" -gt 0 ] || die "late: $(cat err)"
	fi
else
	echo "# left out: no mount namespace can be had here"
fi
echo "# $n refusals"
