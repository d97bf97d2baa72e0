#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Selections, a cut file and an interruption, on captures of others: each against the whole listing.
. tests/golden/common
need_captures
need python3
python3 - "$HWT" "$CAP" "$TMP" <<'PY' || exit 1
import json, os, signal, subprocess, sys
hwt, cap, tmp = sys.argv[1:]
def run(want, *args):
    p = subprocess.run([hwt, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode != want:
        sys.exit("%s: exit %d, not %d: %s" % (args, p.returncode, want, p.stderr.decode()[-300:]))
    return p.stdout.decode(), p.stderr.decode()
def rows(*args, want=0):
    return [json.loads(l) for l in run(want, *args, "--jsonl")[0].splitlines()]

# a recording cut inside its trace: what is before the cut is as in the whole, and the exit code tells
perf = cap + "/pt/skylake-kernel/in/perf.data"
cut = tmp + "/cut.data"
open(cut, "wb").write(open(perf, "rb").read(100000))
whole = [r for r in rows("packets", perf) if r["type"] == "packet"]
out, err = run(3, "packets", "--jsonl", cut)
part = [r for r in map(json.loads, out.splitlines()) if r["type"] == "packet"]
for src in (0, 1):
    a = [r for r in whole if r["src"] == src]
    b = [r for r in part if r["src"] == src and not r.get("bad")]
    assert b and a[:len(b)] == b, "packets before the cut differ"
assert len(part) < len(whole) and "cut.data+0x" in err and "try: " in err, err
run(3, "check", cut)
run(3, "info", cut)

# one CPU, and a window of time: the same lines as in the whole listing, those and no others
lldb = cap + "/pt/lldb-cpus/in/trace.json"
whole = rows("list", "--level", "range", lldb)
some = rows("list", "--level", "range", "--cpu", "45", lldb)
assert some[1:] == [r for r in whole[1:] if r["src"] == 0], "--cpu 45"
ranges = [r for r in whole if r["type"] == "range" and "time" in r]
times = sorted({r["time"]["lo"] for r in ranges})
lo, hi = times[1], times[len(times) // 3]
def inside(r):
    t = r.get("time")
    return t is None or (t["lo"] <= hi and t.get("hi", hi) >= lo)
some = [r for r in rows("list", "--level", "range", "--time", "%dns..%dns" % (lo, hi), lldb) if r["type"] == "range"]
want = [r for r in whole if r["type"] == "range" and inside(r)]
assert some == want and 0 < len(some) < len(ranges), "--time: %d ranges, not %d" % (len(some), len(want))
end = max(r["time"]["lo"] for r in whole if "time" in r)
pct = [r for r in rows("list", "--level", "range", "--time", "0%..100%", lldb) if r["type"] == "range"]
assert len(pct) == len([r for r in whole if r["type"] == "range"]), "--time 0%..100%"
tid = ranges[0]["tid"]
some = [r for r in rows("list", "--level", "range", "--tid", str(tid), lldb) if r["type"] == "range"]
assert some == [r for r in whole if r["type"] == "range" and r.get("tid") in (tid, None)], "--tid"

# interrupted while the reader is slow: whole lines, the code, and the quality line
r5f = cap + "/arm/r5f-freertos/in"
p = subprocess.Popen([hwt, "list", "--jsonl", "--level", "range", r5f], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
head = os.read(p.stdout.fileno(), 1000)
p.send_signal(signal.SIGINT)
out, err = p.communicate()
lines = (head + out).decode().split("\n")
assert p.returncode == 130 and lines[-1] == "", "SIGINT: exit %d" % p.returncode
n = len([json.loads(l) for l in lines[:-1]])
assert n < 200000 and b"interrupted" in err, "SIGINT: %d lines" % n
print("# %d packets before the cut, %d of %d ranges in a window" % (len(part), len(want), len(ranges)))
PY
