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
out, err = run(1, "check", perf)
assert "kernel code is missing at ffffffffb960d302" in err and "--kcore" in err, err
# what is missing is missing behind what is there
gap = [r for r in rows("list", "--level", "events", "--cpu", "3", cut, want=3) if r.get("cause") == "aux-missing"]
assert len(gap) == 1 and gap[0]["off"] == 69352 and gap[0]["lost"] == 68376, gap
# a hole lies at or after what is known before it, and begins before the events of the kernel in it
all = rows("list", "--level", "range", "--cpu", "3", perf)
reached = 0
for r in all[1:]:
    if "time" not in r or r["type"] in ("map", "task", "record"):
        continue
    assert r["time"]["lo"] >= reached, "time goes back: %s" % r
    reached = r["time"]["lo"]
first = next(i for i, r in enumerate(all) if r["type"] == "gap")
# TSC packet at 0x36 of the buffer, in the clock of the recording
assert all[first]["off"] == 0x60 and all[first]["time"]["lo"] == 997733, all[first]
assert all[first]["time"]["hi"] > all[first]["time"]["lo"]
inside = [r for r in all if r["type"] == "sched.switch" and all[first]["time"]["lo"] < r["time"]["lo"] < all[first]["time"]["hi"]]
assert inside and all.index(inside[0]) > first, "events of the kernel inside a hole stand before it"
# records that were made up before the recording have no time
assert not [r for r in all if r.get("time", {}).get("lo", 0) < 0], "a time before the start"
text = run(0, "list", "--level", "events", "-v", "--cpu", "3", perf)[0]
assert not [l for l in text.splitlines() if l.strip().startswith("-6")], "a time before the start"

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
# percent are of the trace: these recordings began long before
for f in (lldb, cap + "/pt/skylake-kernel/in/perf.data"):
    hw = [r["time"]["lo"] for r in rows("list", "--level", "events", f) if "time" in r and r["type"] in ("on", "off", "gap", "aspace", "exception")]
    first, last = min(hw), max(hw)
    assert first > 0, "the trace begins with the recording: another capture is needed"
    for pct in (25, 50):
        named = rows("list", "--level", "events", "--time", "%dns..%dns" % (first, first + (last - first) * pct // 100), f)
        piece = rows("list", "--level", "events", "--time", "%f%%..%d%%" % (0.0001 if pct == 25 else 0, pct), f)
        trace = [[r for r in v if r["type"] in ("on", "off", "gap", "aspace", "exception")] for v in (named, piece)]
        assert trace[0] == trace[1], "%s: --time ..%d%%: %d lines, not %d" % (f, pct, len(trace[1]), len(trace[0]))
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
