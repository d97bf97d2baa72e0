#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A second opinion on the oracle's traces, whose truth is what ran under QEMU: perf and libipt of Intel PT, OpenCSD's lister of
# ETMv4 (tests/oracle/opinion). BLOCKS: of each thread. opinion_steps.sh has perf's of single steps of this machine.
. tests/golden/common
need qemu-x86_64
need perf
need trc_pkt_lister
P=$O/tests/oracle
B=$P/opinion/opinion
env -u SYSROOT make --no-print-directory -s O="$O" "$B" "$P/plugin.so" >&2 || die "not built"
case $HWT in /*) tool=$HWT ;; *) tool=$PWD/$HWT ;; esac
HOME=$TMP		# perf's cache of files by build-id is there
SYSROOT=${SYSROOT:-build/aarch64-linux-gnu-sysroot}
[ -e "$SYSROOT/.done" ] || SYSROOT=/nonexistent
export HOME SYSROOT
blocks=${BLOCKS:-8000}
[ -n "${LONG:-}" ] && blocks=100000
PLUGIN=$P/plugin.so sh tests/oracle/record.sh "$TMP/rec" "$blocks" | sed 's/^left out/# left out/'
opinion() {
	# a FAIL names program, options and decoder
	nice "$B" -s 1 -a 40000 -d "$TMP" -t "$tool" "$@" >"$TMP/log" 2>&1
	rc=$?
	sed -n 's/^none /# left out: /p; s/^sum: /# /p; /^FAIL/p; /^opinion:/p' "$TMP/log"
	[ $rc = 0 ] || die "another decoder has other instructions"
}
n=0
for arch in x86_64 aarch64 arm; do
	set -- $(ls "$TMP"/rec/*.$arch.rec 2>/dev/null)
	n=$((n + $#))
	[ $# = 0 ] || { echo "# $arch: $# programs"; opinion "$@"; }
done
[ $n -gt 0 ] || { echo "nothing could be recorded"; exit 77; }
# A handler that returns into a recursion: its RET takes an entry from the unit's stack that belongs to a call. perf takes it, too; libipt
# only takes one for a compressed RET, and goes to a place that did not run. It is left out where returns are compressed.
gcc -O1 -static -pthread -o "$TMP/prog" tests/golden/record/prog.c 2>"$TMP/err" || { echo "# left out: the recorder's program is for x86-64"; exit 0; }
qemu-x86_64 -plugin "$P/plugin.so,out=$TMP/deep.rec,max=20000" "$TMP/prog" signals >/dev/null 2>"$TMP/err" || die "deep: $(cat "$TMP/err")"
echo "# handlers that return into a recursion"
opinion -l "$TMP/deep.rec"
exit 0
