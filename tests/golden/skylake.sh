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
