#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# Anchors: a program whose source says which function makes which system call. In the timeline each record of this machine's kernel stands
# between the instruction that made it and what came after it; with holes in the trace no time is another than without.
. tests/golden/common
need python3
case "$(uname -m)" in x86_64) ;; *) echo "the test program is for x86-64"; exit 77 ;; esac
need gcc
gcc -nostdlib -static -o "$TMP/prog" tests/golden/anchors_prog.S 2>"$TMP/err" || die "prog: $(cat "$TMP/err")"
for opt in "--cyc" "--mtc 12" ""; do
	rm -rf "$TMP/c.hwt"
	# shellcheck disable=SC2086
	"$HWT" record --model $opt -o "$TMP/c.hwt" "$TMP/prog" 2>"$TMP/err" || { echo "ptrace is not permitted here: $(cat "$TMP/err")"; exit 77; }
	"$HWT" timeline --level range --jsonl "$TMP/c.hwt" >"$TMP/whole" 2>"$TMP/err"
	grep -q '"name":"syscall.enter"' "$TMP/whole" || { echo "no events of this machine's kernel: not permitted here"; exit 77; }
	grep -q ' 401 of 401 system calls tied' "$TMP/err" || die "record --model $opt: $(cat "$TMP/err")"
	python3 tests/golden/anchors.py whole "$TMP/whole" || die "record --model $opt"
	for seed in 1 2 3; do
		rm -rf "$TMP/d.hwt"
		cp -r "$TMP/c.hwt" "$TMP/d.hwt"
		python3 tests/golden/anchors.py damage $seed "$TMP"/d.hwt/hw/* || die "no trace to damage"
		"$HWT" timeline --level range --jsonl "$TMP/d.hwt" >"$TMP/holes" 2>"$TMP/err"
		python3 tests/golden/anchors.py holes "$TMP/whole" "$TMP/holes" || die "record --model $opt, damaged by $seed: $(cat "$TMP/err")"
		sed -n 's/.*, \([0-9]* of [0-9]* system calls tied\).*/# with holes: \1/p' "$TMP/err"
	done
done
