#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Function names of a bare-metal board, and four recordings of one program that must show the same edges inside "fib".
. tests/golden/common
need_captures
need python3
"$HWT" calls --jsonl "$CAP/arm/r5f-freertos/in" --elf "$CAP/arm/r5f-freertos/in/freertos.out" >"$TMP/r5f" || die "r5f: exit $?"
n=$(sed -n 's/.*"type":"call".*"sym":"\([A-Za-z_][A-Za-z0-9_]*\).*/\1/p' "$TMP/r5f" | sort -u | wc -l)
[ "$n" -ge 5 ] || die "r5f: $n function names"
# names against the ELF's own symbol table, as nm reads it
nm "$CAP/arm/r5f-freertos/in/freertos.out" | awk '{print $NF}' | sort -u >"$TMP/nm"
sed -n 's/.*"type":"call".*"sym":"\([A-Za-z_][A-Za-z0-9_]*\)".*/\1/p' "$TMP/r5f" | sort -u | comm -23 - "$TMP/nm" >"$TMP/odd"
[ ! -s "$TMP/odd" ] || die "r5f: names that are not in the ELF: $(head -n 3 "$TMP/odd")"
recordings=0
for i in 1 2 3 4; do
	d=$CAP/arm/fib-$i/in
	[ $i != 2 ] || published "$CAP/arm/fib-files/trace2/cstrace.bin" 14624 || continue
	"$HWT" list --jsonl --level range "$d" >"$TMP/f$i" || die "fib-$i: exit $?"
	python3 - "$TMP/f$i" "$d" >"$TMP/e$i" <<'PY' || exit 1
import json, re, sys
m = re.search(r"file=\S*/fib\s+address=(0x[0-9a-f]+)\s+offset=0x0\s+length=(0x[0-9a-f]+)", open(sys.argv[2] + "/cpu_0.ini").read())
lo = int(m[1], 16)		# where the program lies: addresses are randomised
hi = lo + int(m[2], 16)
edges, prev = set(), None
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["type"] == "range":
        first, last = int(e["first"], 16), int(e["last"], 16)
        if prev is not None and lo <= prev < hi and lo <= first < hi:
            edges.add((prev - lo, first - lo))
        prev = last
    elif e["type"] in ("gap", "on", "exception"):
        prev = None
for a, b in sorted(edges):
    print("%x->%x" % (a, b))
PY
	cmp "$TMP/e1" "$TMP/e$i" || die "fib-$i: other edges than fib-1"
	recordings=$((recordings + 1))
done
[ "$(wc -l <"$TMP/e1")" = 22 ] || die "$(wc -l <"$TMP/e1") edges inside the program, not 22"
"$HWT" calls "$CAP/arm/fib-1/in" >"$TMP/c" || die "calls fib-1: exit $?"
grep -q 'main' "$TMP/c" || die "calls does not name main of fib"
echo "# $n functions of the board, 22 edges inside fib in $recordings recordings"
