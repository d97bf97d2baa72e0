#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# perf.data of a Skylake machine: every packet of both AUX streams as libipt's ptdump lists it (offset, kind, payload).
. tests/golden/common
need_captures
need python3
d=$CAP/pt/skylake-kernel
"$HWT" packets --jsonl "$d/in/perf.data" >"$TMP/l" || die "exit $?"
python3 - "$TMP/l" "$d" <<'PY' || exit 1
import gzip, json, sys
rows = {}
for line in open(sys.argv[1]):
    e = json.loads(line)
    if "pkt" in e:
        rows.setdefault(e["src"], []).append((int(e["off"]), e["pkt"], e.get("payload", "").split()))
for src, name in ((0, "aux0"), (1, "aux3")):
    want = []
    for line in gzip.open("%s/expect.%s.packets.txt.gz" % (sys.argv[2], name), "rt"):
        f = line.split()
        want.append((int(f[0], 16), f[1], f[2:]))
    got = rows.get(src, [])
    for k, (a, b) in enumerate(zip(want, got)):
        if a != b:
            sys.exit("%s packet %d: libipt %s, ours %s" % (name, k, a, b))
    if len(want) != len(got):
        sys.exit("%s: libipt has %d packets, we have %d" % (name, len(want), len(got)))
    print("# %s: %d packets" % (name, len(want)))
PY
"$HWT" info --jsonl "$CAP/pt/skylake-kernel/in/perf.data" 2>/dev/null | grep '"value":""' && die "info: a fact without value"
# a line for each of 55 modules would hide what is missing of the program
f="$CAP/pt/skylake-kernel/in/perf.data"
"$HWT" info "$f" >"$TMP/info" 2>/dev/null
[ "$(grep -c ' MISSING$' "$TMP/info")" = 8 ] && grep -q ' /usr/bin/coreutils MISSING$' "$TMP/info" &&
	tail -n 1 "$TMP/info" | grep -q '^  and 58 more MISSING, 55 of them modules of the kernel ' || die "info: $(tail -n 12 "$TMP/info")"
"$HWT" info -v "$f" >"$TMP/info" 2>/dev/null
[ "$(grep -c ' MISSING$' "$TMP/info")" = 66 ] || die "info -v: $(tail -n 12 "$TMP/info")"
exit 0
# text shows the last of several address spaces that nothing is known to run in, and says how many: together as many as there are
"$HWT" list -v "$d/in/perf.data" 2>/dev/null | grep -c 'address space 0x' >"$TMP/all"
"$HWT" list "$d/in/perf.data" 2>"$TMP/err" | sed -n 's/.*address space 0x[0-9a-f]*\( (the last of \([0-9]*\),.*\)\{0,1\}$/\2/p' |
	awk '{ n += $1 ? $1 : 1 } END { print n; print NR >"/dev/stderr" }' >"$TMP/folded" 2>"$TMP/lines"
cmp -s "$TMP/all" "$TMP/folded" && [ "$(cat "$TMP/lines")" -lt "$(($(cat "$TMP/all") / 2))" ] || die "address spaces: $(cat "$TMP/all" "$TMP/folded" "$TMP/lines")"
grep -q '^try: hwtrace info .*code that is missing' "$TMP/err" || die "what to do about code that is missing: $(cat "$TMP/err")"
