#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Little input that asks for much work: it must end, in a time that goes with the input.
. tests/golden/common

# ETMv4, 100 times an address and an atom; from there 128 MiB of zeros up to the end of a memory dump, with no branch in it
truncate -s 128M "$TMP/zeros"
cat >"$TMP/conf" <<C
framing=none
dump=zeros@0x400000
[source]
proto=ETM4
trace_id=0x10
cpu=0
core=Cortex-A57
TRCCONFIGR=0x1
TRCTRACEIDR=0x10
TRCIDR0=0x28000ea1
TRCIDR1=0x4100f403
TRCIDR2=0x488
TRCIDR8=0x0
C
{
	printf '\000\000\000\000\000\000\000\000\000\000\000\200\001\001\000\004\205\065\000\100\000\000\000\000\000\060'
	i=0
	while [ $i -lt 100 ]; do
		printf '\235\000\020\100\000\000\000\000\000\367'
		i=$((i + 1))
	done
} >"$TMP/t.bin"
rc=0
timeout 45 "$HWT" check --cs "$TMP/t.bin" --config "$TMP/conf" >"$TMP/out" 2>"$TMP/err" || rc=$?
[ $rc = 1 ] || die "exit $rc, not 1: $(cat "$TMP/out" "$TMP/err")"
grep -q "no-image .* 100 holes" "$TMP/out" || die "$(cat "$TMP/out")"
echo "# 100 atoms in code without a branch"
