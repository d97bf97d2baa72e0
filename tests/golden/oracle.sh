# SPDX-License-Identifier: BSD-2-Clause
# Programs that ran under QEMU, their traces by the software trace units under all pairs of options, decoded and compared
# instruction for instruction (tests/oracle). BLOCKS: of each thread; SEEDS: of options and times.
. tests/golden/common
need qemu-x86_64
P=$O/tests/oracle
[ -x "$P/oracle" ] && [ -e "$P/plugin.so" ] || make --no-print-directory O="$O" "$P/oracle" "$P/plugin.so" || die "not built"
SYSROOT=${SYSROOT:-build/aarch64-linux-gnu-sysroot}
[ -e "$SYSROOT/.done" ] || sh tests/arm64-sysroot.sh "$SYSROOT" >"$TMP/sysroot" 2>&1 ||
	echo "# left out: arm64 packages: $(tail -n 1 "$TMP/sysroot")"
[ -e "$SYSROOT/.done" ] || SYSROOT=/nonexistent
export SYSROOT
PLUGIN=$P/plugin.so sh tests/oracle/record.sh "$TMP/rec" "${BLOCKS:-100000}" | sed 's/^left out/# left out/'
# the options of the rows that were decoded, of which each pair of values is in one
pairs() {
	grep '^ok ' "$1" | grep -oE '[a-z]+=.*: ' | tr -d : | sort -u | awk '
	{ for (i = 1; i <= NF; i++) { v[$i] = 1; for (k = 1; k <= NF; k++) p[$i, $k] = 1 } }
	END {
		for (a in v) for (b in v) if (substr(a, 1, index(a, "=")) != substr(b, 1, index(b, "=")) && !((a, b) in p)) { print "no row has " a " " b; bad = 1 }
		if (bad || !NR) exit 1
		for (a in v) { i = index(a, "="); o[substr(a, 1, i)] = o[substr(a, 1, i)] (o[substr(a, 1, i)] ? "|" : "") substr(a, i + 1) }
		printf "%d rows, all pairs of", NR
		for (a in o) printf " %s%s", a, o[a]
		print ""
	}'
}
ls "$TMP"/rec/*.rec >/dev/null 2>&1 || { echo "nothing could be recorded"; exit 77; }
for seed in ${SEEDS:-1}; do
	for arch in x86_64 aarch64 arm; do
		set -- $(ls "$TMP"/rec/*.$arch.rec 2>/dev/null)
		[ $# = 0 ] && continue
		nice "$P/oracle" -s "$seed" -a 40000 -d "$TMP/o.hwt" "$@" >"$TMP/log.$arch" 2>&1
		rc=$?
		[ -n "${LOG:-}" ] && cat "$TMP/log.$arch" >>"$LOG"
		grep -E '^(FAIL|oracle:)' "$TMP/log.$arch"
		grep '^sum\|^median' "$TMP/log.$arch" | sed "s/^/# $arch: /"
		cat "$TMP/log.$arch" >>"$TMP/all"
		[ $rc = 0 ] || die "$arch: the trace does not decode to what ran"
		pairs "$TMP/log.$arch" >"$TMP/pairs" || die "$arch: $(cat "$TMP/pairs")"
		sed "s/^/# $arch: /" "$TMP/pairs"
	done
done
# every form of packet is in some trace
grep -q '^used: pt' "$TMP/all" || grep -q '^used: etm4' "$TMP/all" || die "no counts"
for f in $(grep '^unused' "$TMP/all" | cut -d' ' -f2- | sed 's/ 0$//; s/ /_/g' | sort -u); do
	f=$(echo "$f" | sed 's/_/ /g')
	grep -q "^used: $f " "$TMP/all" || die "in no trace: $f"
done
