# SPDX-License-Identifier: BSD-2-Clause
# Trace units that lead through a funnel and a replicator, in a guest with Debian's kernel 6.12 for aarch64 whose CoreSight is a model: Linux's
# own drivers, which say whether the models of both are right, then the module. Trace that comes to a closed port is lost, and a broken rule.
kernel=aarch64-6.12
. tests/kernel/common
need dtc
build
here=tests/kernel/coresight guest=$out/way
INIT=$here/init-way NODES=$here/nodes-way.dts PLUGIN=way=on sh $here/boot.sh "$images/$kernel" "$out/build/hwtrace.ko" "$guest" >"$TMP/boot" 2>&1 ||
	last "$TMP/boot" "no guest"
log=$guest/log access=$guest/access
ended "$log"
[ "$(grep -c '^ok: ' "$log")" -ge 5 ] || last "$log" "cases are missing"
[ "$(grep -c '^END .* off$' "$access")" = 6 ] || { grep '^END' "$access"; die "a unit is left on"; }
# Linux reads what came, of both units through the one controller. Where an ETB went over its end Linux puts a barrier in place of 16 bytes,
# for something may be lost; here it only had begun in its middle
skip=0
for sink in etr0 etb0; do
	n=$(awk -v s="${sink%0}" '/^MARK/ { exit } $1 == "CAPTURE" && $3 == s && $4 > 0 { print $2; exit }' "$access")
	[ -n "$n" ] && cmp -i "$skip" "$guest/bytes-$n" "$guest/tree/linux-$sink" || die "Linux reads other bytes than came ($sink)"
	skip=16
done
# and so does the module
session() {	# MARK FILE
	awk -v mark="$1" '/^MARK/ { m++ } m == mark && $1 == "CAPTURE" && $3 == "etr" { print $2 }' "$access" >"$TMP/list"
	sed "s|.*|$guest/bytes-&|" "$TMP/list" | xargs cat >"$TMP/came"
	cmp "$TMP/came" "$guest/tree/$2" || die "the module has other bytes in $2 than came"
	[ "$(wc -l <"$TMP/list")" -ge 4 ] && [ -s "$TMP/came" ] || die "too little in $2"
	echo "# $2: $(wc -c <"$TMP/came") bytes of $(wc -l <"$TMP/list") captures, as they came"
}
session 1 ours-0
session 2 cpu-0
# claimed, the port of each unit opened before it is switched on and closed behind it, given back as it was found: as Linux left it
awk '/^MARK/ { m++ } m == 1 && /^W / { if ($2 == "funnel" && ($3 == "0x000" || $3 == "0xfa0" || $3 == "0xfa4")) print $2, $3, $4
	if ($2 == "replicator" && ($3 == "0x000" || $3 == "0xfa0" || $3 == "0xfa4")) print $2, $3, $4 }' "$access" >"$TMP/way"
sed 's/^/# /' >"$TMP/want" <<'END'
funnel 0xfa0 00000002
funnel 0x000 00000700
replicator 0xfa0 00000002
replicator 0x000 000000ff
replicator 0x000 00000000
funnel 0x000 00000701
funnel 0x000 00000703
funnel 0x000 00000702
funnel 0x000 00000700
replicator 0x000 000000ff
funnel 0x000 00000700
funnel 0x000 00000700
funnel 0xfa4 00000002
replicator 0x000 000000ff
replicator 0xfa4 00000002
END
sed 's/^/# /' "$TMP/way" | diff "$TMP/want" - || die "another order on the way"
# Linux closes ports before it has flushed the controller, once for each unit and capture; the model keeps a few bytes there
[ "$(awk '/^MARK/ { exit } /^BROKEN LNK/' "$access" | sort | uniq -c | sed 's/^ *//')" = "4 BROKEN LNK 0x000 a port is closed when all trace has left it" ] ||
	die "Linux breaks other rules of funnels"
! awk '/^MARK/ { m = 1 } m && /^BROKEN/' "$access" | grep . || die "the module breaks rules"
# a machine that sleeps: all is given back before, and taken again
[ "$(awk '/^MARK/ { m++ } m == 3 && /^W funnel 0xfa[04]/' "$access" | wc -l)" = 4 ] || die "a machine that sleeps"
echo "# $(sed -n 's/^END \(.*\) accesses/\1/p' "$access") accesses"
