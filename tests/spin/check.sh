#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The model of the kernel module's ring: all its states hold, and each thing done wrong on purpose is found.
# usage: tests/spin/check.sh (from the top; needs spin and a C compiler; minutes)
command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }
top=$PWD
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT INT TERM
cd "$tmp" || exit 2

# name, then what the model is made with: rc 0 if all states hold, 1 if an assertion does not
model() {
	spin "$@" -a "$top/tests/spin/ring.pml" >spin.out 2>&1 && "${CC:-cc}" -O1 -w -DSAFETY -DNOREDUCE -DCOLLAPSE -DMEMLIM=3000 -o pan pan.c ||
		{ cat spin.out; exit 2; }
	./pan -m100000 >pan.out 2>&1
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
	grep -q 'Search not completed\|out of memory\|max search depth' pan.out && ! grep -q 'assertion violated' pan.out && return 2
	grep -q 'assertion violated' pan.out && return 1
	grep -q 'errors: 0$' pan.out || return 2
}

bad=0
holds() {
	model "$@"
	rc=$?
	[ $rc = 0 ] || { echo "$*: $(head -n 3 pan.out | tr '\n' ' ')"; bad=1; return; }
	echo "# $*: $states states hold"
}
found() {
	model "$@"
	rc=$?
	[ $rc = 1 ] || { echo "$*: not found ($rc)"; bad=1; return; }
	echo "# $*: $(sed -n 's/^pan:[0-9]*: \(assertion violated.*\) (at.*/\1/p' pan.out | head -n 1)"
}

for mode in 0 1; do
	# three deep, nobody reads until the end; two deep with a reader
	holds -DOVERWRITE=$mode -DTASK=1 -DIRQ=1 -DNMI=1 -DREADS=0
	holds -DOVERWRITE=$mode -DTASK=1 -DIRQ=1 -DNMI=0 -DREADS=2
	holds -DOVERWRITE=$mode -DTASK=2 -DIRQ=1 -DNMI=0 -DREADS=1 -DSTART=5
done
for bug in 1 3 5 6 8 9; do
	found -DBUG=$bug -DOVERWRITE=0 -DTASK=1 -DIRQ=2 -DNMI=1 -DREADS=1
done
found -DBUG=11 -DOVERWRITE=0 -DTASK=2 -DIRQ=2 -DNMI=0 -DREADS=1
found -DBUG=12 -DOVERWRITE=0 -DTASK=2 -DIRQ=2 -DNMI=0 -DREADS=1
found -DBUG=2 -DOVERWRITE=0 -DTASK=1 -DIRQ=1 -DNMI=0 -DREADS=0
for bug in 4 7 10; do
	found -DBUG=$bug -DOVERWRITE=1 -DTASK=2 -DIRQ=2 -DNMI=0 -DREADS=2
done
exit $bad
