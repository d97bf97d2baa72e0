# SPDX-License-Identifier: BSD-2-Clause
# CoreSight that is a model, in a guest with Debian's kernel 6.12 for aarch64: driven by Linux's own drivers, then by the module.
kernel=aarch64-6.12
. tests/kernel/common
need dtc
build
here=tests/kernel/coresight guest=$out/coresight
sh $here/boot.sh "$images/$kernel" "$out/build/hwtrace.ko" "$guest" >"$TMP/boot" 2>&1 || last "$TMP/boot" "no guest"
log=$guest/log access=$guest/access
ended "$log"
[ "$(grep -c '^ok: ' "$log")" -ge 5 ] || last "$log" "cases are missing"
# the models have ended switched off
[ "$(grep -c '^END .* off$' "$access")" = 6 ] || { grep '^END' "$access"; die "a unit is left on"; }
# each capture of Linux is what the guest has read
n=0
for f in etr0-plain etb0-plain etr0-0x1870 etb0-0x1870; do
	cmp "$guest/bytes-$n" "$guest/tree/linux-$f" || die "Linux reads other bytes than came"
	n=$((n + 1))
done
[ -s "$guest/bytes-0" ] && [ -s "$guest/bytes-3" ] || die "nothing was traced"
# a session of the module has many, one after the other: those between two marks
session() {	# MARK SINK FILE
	awk -v mark="$1" -v sink="$2" '/^MARK/ { m++ } m == mark && $1 == "CAPTURE" && $3 == sink { print $2 }' "$access" >"$TMP/list"
	sed "s|.*|$guest/bytes-&|" "$TMP/list" | xargs cat >"$TMP/came"
	cmp "$TMP/came" "$guest/tree/$3" || die "the module has other bytes in $3 than came"
	[ "$(wc -l <"$TMP/list")" -ge 4 ] && [ -s "$TMP/came" ] || die "too little in $3"
	echo "# $3: $(wc -c <"$TMP/came") bytes of $(wc -l <"$TMP/list") captures, as they came"
}
session 1 etr ours-0
session 1 etb ours-1
session 2 etr cpu-0
session 2 etb cpu-1
# the third sleeps with the machine, and its owner is killed: claimed, on, off, given back, twice
awk '/^MARK/ { m++ } m == 3 && /^W etm0 0x(004|fa0|fa4) / { print $3, $4 }' "$access" >"$TMP/slept"
for i in 1 2; do printf '0xfa0 00000002\n0x004 00000001\n0x004 00000000\n0xfa4 00000002\n'; done | diff - "$TMP/slept" || die "a machine that sleeps"
# Linux breaks rules that are known, all of them; the module none
awk '/^MARK/ { exit } /^BROKEN/ { sub(/^BROKEN ... /, ""); print }' "$access" | sort | uniq -c | sed 's/^ *//' >"$TMP/broken"
grep -v '^#' $here/upstream | sed 's/: .*//' | sort >"$TMP/known"
sed 's/^[0-9]* //' "$TMP/broken" | diff - "$TMP/known" || die "rules that Linux's drivers break are others than in $here/upstream"
! awk '/^MARK/ { m = 1 } m && /^BROKEN/' "$access" | grep . || die "the module breaks rules"
python3 $here/sequence.py "$access" $here/differences || die "the two sequences differ otherwise than in $here/differences"
echo "# Linux's etm4x and tmc, and the module, on the models: $(sed -n 's/^END \(.*\) accesses/\1/p' "$access") accesses"
sed 's/^/# broken by Linux: /' "$TMP/broken"
