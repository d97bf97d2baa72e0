# SPDX-License-Identifier: BSD-2-Clause
# Faults put into traces of programs that ran under QEMU: FAULTS of them on each architecture, and the same again of each
# SEEDS (tests/oracle/fault). LOG takes the tables.
. tests/golden/common
P=$O/tests/oracle
[ -x "$P/fault/fault" ] && [ -e "$P/plugin.so" ] ||
	make --no-print-directory O="$O" "$P/fault/fault" "$P/plugin.so" || die "not built"
# thousands of small captures are written: in memory if there is such a place
[ -d /dev/shm ] && [ -w /dev/shm ] && SHM=$(mktemp -d /dev/shm/hwtrace.XXXXXX) || SHM=$TMP
trap 'kill ${pid_x86_64:-} ${pid_aarch64:-} 2>/dev/null; rm -rf "$TMP" "$SHM"' EXIT
# ARCH: except, from the middle on; with SEEDS also signals, of which no two recordings are alike: their ticks are those of the machine
plugin=$(realpath "$P/plugin.so" 2>/dev/null)
record() {
	cross=
	[ "$(uname -m)" = "$1" ] || cross=$1-linux-gnu-
	command -v "qemu-$1" >/dev/null || { echo "# left out: qemu-$1 is not installed"; return; }
	"${cross}g++" -O2 -static -o "$TMP/except.$1" tests/oracle/progs/except.cc 2>"$TMP/err" &&
		"${cross}gcc" -O2 -static -o "$TMP/signals.$1" tests/oracle/progs/signals.c 2>"$TMP/err" ||
		{ echo "# left out: $1: $(tail -n 1 "$TMP/err")"; return; }
	for p in except ${SEEDS:+signals}; do
		max=12000
		[ $p = signals ] && max=4000	# mostly loops: much runs and little is traced
		# names and environment lie on the stack: with others libc takes other turns, and no two runs have the same traces
		(cd "$TMP" && env -i "$(command -v "qemu-$1")" -plugin "$plugin,out=$p.$1.rec,skip=8000,max=$max" "./$p.$1") >/dev/null 2>"$TMP/err" ||
			{ echo "# left out: $p.$1: $(tail -n 1 "$TMP/err")"; rm -f "$TMP/$p.$1.rec"; }
	done
}
for arch in x86_64 aarch64; do
	record $arch
done
ls "$TMP"/*.rec >/dev/null 2>&1 || { echo "nothing could be recorded"; exit 77; }
bad=
for seed in ${SEEDS:-1}; do
	for arch in x86_64 aarch64; do
		set -- $(ls "$TMP"/*.$arch.rec 2>/dev/null)
		[ $# = 0 ] && continue
		nice "$P/fault/fault" -v -s "$seed" -n "${FAULTS:-5200}" -d "$SHM/$arch.hwt" "$@" >"$TMP/log.$arch" 2>&1 &
		eval "pid_$arch=\$!"
	done
	for arch in x86_64 aarch64; do
		eval "pid=\${pid_$arch:-}"
		[ -z "$pid" ] && continue
		wait "$pid"
		rc=$?
		eval "pid_$arch="
		[ -n "${LOG:-}" ] && grep -v '^retcomp=\|^packets=' "$TMP/log.$arch" >>"$LOG"
		grep '^sum' "$TMP/log.$arch" | sed "s/^sum/# $arch, seed $seed/"
		[ $rc -gt 1 ] && die "$arch: ended with $rc: $(tail -n 3 "$TMP/log.$arch")"
		[ $rc = 0 ] || { bad=$arch; grep -v '^retcomp=\|^packets=' "$TMP/log.$arch" | tail -n 80; }
	done
	[ -z "$bad" ] || die "$bad: not as promised"
done
