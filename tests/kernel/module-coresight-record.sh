# SPDX-License-Identifier: BSD-2-Clause
# record -e cs_etm in a guest with Debian's kernel 6.12 for aarch64, whose CoreSight is a model: the library's recorder, Linux' perf with its
# ring of trace, etm4x and tmc; then the kernel module. What a unit gives is the same few packets again and again: each byte that the model gave
# must be in the captures, in order, and each packet be read, and the forks, execs and exits of programs whose number is known. And what doctor
# says where units are driven.
kernel=aarch64-6.12
. tests/kernel/common
need dtc
build
here=tests/kernel/coresight
mkdir -p "$TMP/bin"
c="aarch64-linux-gnu-gcc -std=gnu11 -O1 -Wall -Wextra -Wno-unused-parameter -Wno-format-truncation -static -pthread -ffunction-sections -Wl,--gc-sections -D_GNU_SOURCE -Iinclude -I."
r=hwtrace/capture
# of the library what this recorder needs: kernel events and ELF files need libraries that are not there
$c -o "$TMP/bin/record" $here/record.c $r/kopen.c $r/krecord.c \
	$r/kown.c $r/kstate.c $r/hw*.c $r/perf_open.c $r/perf_ring.c $r/pmu.c $r/device.c $r/module.c $r/proc.c $r/ticks.c $r/native.c $r/native_*.c \
	hwtrace/source/native_fmt.c hwtrace/source/file.c hwtrace/source/perf_side.c hwtrace/source/perf_attr.c hwtrace/virt/*.c hwtrace/events/*.c \
	hwtrace/filter/*.c hwtrace/base/*.c hwtrace/time/*.c || die "the recorder does not build"
$c -o "$TMP/bin/doctor" tests/kernel/doctor/doctor.c $r/doctor*.c $r/hwhold.c hwtrace/base/diag.c || die "doctor does not build"
PLUGIN=trace=on INIT=$here/init-record PROGRAM=$TMP/bin/. sh $here/boot.sh "$images/$kernel" "$out/build/hwtrace.ko" "$out/record" >"$TMP/boot" 2>&1 || last "$TMP/boot" "no guest"
log=$out/record/log tree=$out/record/tree
ended "$log"
grep -q '^item|driven|CoreSight|yes|2 ETMs, 1 ETR, 1 ETB|.*not on hardware|.*|hwtrace record -e cs_etm/@tmc_etr0/u' "$log" || { grep CoreSight "$log"; die "doctor"; }
[ "$(grep -c '^record: 0 ' "$log")" = 6 ] && [ "$(grep -c 'CPU [01] is not traced' "$log")" = 6 ] && grep -q '^killed: 137' "$log" || { grep -E 'record|note' "$log"; die "not recorded"; }
# what the model gave, capture by capture of each sink, is what is in the buffers, from the first byte to the last
for sink in etr etb; do
	awk -v s=$sink '/^MARK/ { exit } $1 == "CAPTURE" && $3 == s { print $2 }' "$out/record/access" | while read -r i; do cat "$out/record/bytes-$i"; done >"$TMP/$sink"
done
for r in full small snap-1 all killed; do cat "$tree/$r".hwt/hw/*.bin; done >"$TMP/etr.got"
# of the one that was killed the last ones are missing
cmp -n "$(stat -c %s "$TMP/etr.got")" "$TMP/etr.got" "$TMP/etr" || die "not the bytes of the ETR"
[ $(($(stat -c %s "$TMP/etr") - $(stat -c %s "$TMP/etr.got"))) -lt 200000 ] && [ "$(stat -c %s "$TMP/etr.got")" -le "$(stat -c %s "$TMP/etr")" ] || die "too few bytes of the ETR"
[ "$(stat -c %s "$tree"/killed.hwt/hw/0_cpu_0.bin)" -gt 0 ] && "$HWT" info "$tree/killed.hwt" 2>&1 | grep -q 'did not come to its end' || die "killed"
[ "$(grep -c '^END .* off$' "$out/record/access")" = 6 ] || { grep '^END' "$out/record/access"; die "a unit is left on"; }
cmp "$tree"/etb.hwt/hw/*.bin "$TMP/etb" || die "not the bytes of the ETB"
# more than its ring of 64 KiB holds
[ "$(stat -c %s "$tree"/small.hwt/hw/0_cpu_0.bin)" -gt 65536 ] || die "the ring was not full"
# by the module: each controller's bytes are one buffer, and what they mean is read
n=0
for sink in etr etb; do
	awk -v s=$sink '/^MARK/ { m++ } m == 1 && $1 == "CAPTURE" && $3 == s { print $2 }' "$out/record/access" | while read -r i; do cat "$out/record/bytes-$i"; done >"$TMP/$sink"
	cmp "$TMP/$sink" "$tree"/mod.hwt/hw/${n}_cpu_$n.bin && [ -s "$TMP/$sink" ] || die "by the module: not the bytes of $sink"
	n=$((n + 1))
done
grep -q '^record: 0 : .* code 4 ' "$log" || die "by the module: the program's exit code"
"$HWT" info "$tree/mod.hwt" | grep -q 'module' || die "by the module: info"
pieces=$(($(cat "$TMP/etr" "$TMP/etb" | wc -c) / 32))
"$HWT" packets -q "$tree/mod.hwt" >"$TMP/packets" || die "by the module: packets"
grep -o 'I_[A-Z0-9_]*' "$TMP/packets" | sort | uniq -c >"$TMP/kinds"
sed 's/^/# by the module: /' "$TMP/kinds"
for k in "I_ASYNC 1" "I_TRACE_INFO 1" "I_TRACE_ON 1" "I_ADDR_CTXT_L_64IS0 1" "I_ATOM_F1 3"; do
	awk -v k="${k% *}" -v n=$((pieces * ${k#* })) '$2 == k { f = $1 } END { exit f != n }' "$TMP/kinds" || die "by the module: not $((pieces * ${k#* })) ${k% *}"
done
[ "$(wc -l <"$TMP/kinds")" = 5 ] || die "by the module: other packets"
! grep -q BAD "$TMP/packets" || die "by the module: bad packets"
echo "# by the module: $pieces pieces of trace of two units"
awk '/^MARK/ { m = 1 } m && /^BROKEN/' "$out/record/access" | grep . && die "the module breaks rules"
grep -c '^record: -' "$log" | grep -qx 2 && grep -q 'a sink can not be chosen' "$log" && grep -q 'threshold; the nearest is 4' "$log" || { grep '^record' "$log"; die "refusals"; }
# NAME FORKS: the shell runs its programs without exec
tells() {
	"$HWT" timeline --jsonl -q "$tree/$1.hwt" >"$TMP/t" 2>/dev/null
	for k in "fork $2" "exec 1" "exit $(($2 + 1))"; do
		[ "$(grep -c "\"name\":\"sched.${k% *}\"" "$TMP/t")" = "${k#* }" ] || die "$1: not ${k#* } sched.${k% *}"
	done
	"$HWT" check "$tree/$1.hwt" 2>/dev/null | grep -q 'kernel events: .* all hold' || die "$1: kernel events"
}
tells full 3
tells small 200
tells etb 0
tells snap-1 0
"$HWT" check "$tree/all.hwt" 2>/dev/null | grep -q 'kernel events: .* all hold' || die "all: kernel events"
"$HWT" timeline --jsonl -q "$tree/all.hwt" 2>/dev/null | grep -c '"name":"sched.switch".*"prev_tid":0,' | grep -qv '^0$' || die "all: no switch of others"
"$HWT" info "$tree/full.hwt" | grep -q 'clock map *exact, from cntvct' || die "no clock"
grep -q '^record: 0 : .* code 3 ' "$log" || die "the program's exit code"
echo "# Linux' perf, etm4x and tmc on the models: $(stat -c %s "$TMP/etr" "$TMP/etb" | paste -sd+ | sed 's/+/ and /') bytes of two sinks as they came"
