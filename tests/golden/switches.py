# SPDX-License-Identifier: BSD-2-Clause
# usage: switches.py CAPTURE PERF_DUMP PACKETS TIMELINE [-v]; called by switches.sh
#
# A switch has two records: "out", made when its thread goes, and "in", made when the next one is about to run. Between the two either may be
# what a trace unit sees: who is right there can only be told by an address space.
import collections
import gzip
import json
import os
import re
import struct
import sys

CAPTURE, DUMP, PACKETS, TIMELINE = sys.argv[1:5]
VERBOSE = "-v" in sys.argv
NEVER = 1 << 63
Switch = collections.namedtuple("Switch", "out into prev next")


def fail(*what):
    print(*what)
    sys.exit(1)


def dumped():
    """perf's dump: CPU to records (time, is out, own thread, the other one); the clock."""
    recs, conv, head = {}, {}, None
    for line in gzip.open(DUMP, "rt", errors="replace"):
        m = re.match(r"\.\.\. Time (Shift|Muliplier|Zero) +(\d+)", line)
        if m:
            conv[m.group(1)] = int(m.group(2))
        m = re.match(r"(\d+) (\d+) 0x\w+ \[0x\w+\]: PERF_RECORD_SWITCH_CPU_WIDE (OUT|IN) .*:\s*(\d+)/(\d+)", line)
        if m:
            cpu, t, way, _, other = m.groups()
            recs.setdefault(int(cpu), []).append((int(t), way == "OUT", None, int(other)))
    return recs, (conv["Shift"], conv["Muliplier"], conv["Zero"])


def raw():
    """The records beside an LLDB bundle: 8 bytes header, the other thread, then thread and time."""
    d, recs = json.load(open(CAPTURE)), {}
    for c in d["cpus"]:
        p = open(os.path.join(os.path.dirname(CAPTURE), c["contextSwitchTrace"]), "rb").read()
        while len(p) >= 8:
            kind, misc, size = struct.unpack_from("<IHH", p)
            if size < 8 or size > len(p):
                break
            if kind == 15 and size >= 32:       # PERF_RECORD_SWITCH_CPU_WIDE
                other, _, tid, t = struct.unpack_from("<4xI4xIQ", p, 8)[0], 0, *struct.unpack_from("<4xIQ", p, 16)
                recs.setdefault(c["id"], []).append((t, bool(misc & 1 << 13), tid, other))
            p = p[size:]
    t = d["tscPerfZeroConversion"]
    return recs, (t["timeShift"], t["timeMult"], t["timeZero"])


def pairs(recs):
    """Records to switches; one half may lie outside of the recording."""
    out = []
    for i, (t, is_out, tid, other) in enumerate(recs):
        if is_out:
            into = recs[i + 1][0] if i + 1 < len(recs) and not recs[i + 1][1] else NEVER
            prev = recs[i + 1][3] if into != NEVER else tid
            out.append(Switch(t, into, prev, other))
        elif not i or not recs[i - 1][1]:
            out.append(Switch(0, t, other, tid))
    return out


def runs_of(sw):
    """(thread, certainly from, certainly until, perhaps from, perhaps until)"""
    v = []
    for i, s in enumerate(sw):
        end = sw[i + 1] if i + 1 < len(sw) else Switch(NEVER, NEVER, None, None)
        v.append((s.next, s.into, end.out, s.out, end.into))
    if sw:
        v.insert(0, (sw[0].prev, 0, sw[0].out, 0, sw[0].into))
    return v


def attributed(runs, tid, lo, hi):
    """"run": may lie wholly where the thread certainly runs; "window": only between two records; or None"""
    if any(r[0] == tid and lo <= r[2] and hi >= r[1] for r in runs):
        return "run"
    return "window" if any(r[0] == tid and lo <= r[4] and hi >= r[3] for r in runs) else None


recs, (shift, mult, zero) = raw() if CAPTURE.endswith(".json") else dumped()


def ns(tsc):
    return (zero + (tsc >> shift) * mult + ((tsc & (1 << shift) - 1) * mult >> shift)) & (1 << 64) - 1


head = json.loads(open(TIMELINE).readline())
tl = [json.loads(x) for x in open(TIMELINE)][1:]
for o in tl:
    if "time" in o:
        o["lo"] = o["time"]["lo"] + head["time_start"]
        o["hi"] = o["time"].get("hi", NEVER) + head["time_start"]
packets, cpu_of = {}, {}
for line in open(PACKETS):
    e = json.loads(line)
    if "pkt" in e:
        packets.setdefault(e["src"], []).append(e)
for o in tl:
    if o["type"] not in ("kernel", "sched.switch") and "cpu" in o:
        cpu_of[o["src"]] = o["cpu"]

placed, reasons, cr3s = collections.Counter(), collections.Counter(), {}
listed = []
for src, pkts in sorted(packets.items()):
    cpu = cpu_of[src]
    sw = pairs(recs[cpu])
    runs = runs_of(sw)

    # 1. the timeline has each switch once, at the time of its first record
    ours = [(o["lo"], o["next_tid"] if o["type"] == "sched.switch" else o["values"]["next_tid"]) for o in tl
            if o.get("cpu") == cpu and (o["type"] == "sched.switch" or o.get("name") == "sched.switch")]
    marks = [(ns(int(p["payload"].split("tsc ")[1], 16)), i) for i, p in enumerate(pkts) if "tsc " in p.get("payload", "")]
    first, last = marks[0][0], marks[-1][0]
    want = [(s.out or s.into, s.next) for s in sw]
    if head["format"] == "lldb":
        # only flow tells them, so only where it has a time: the others are counted
        lo = min(t for t, _ in ours)
        placed["before the first time of the trace"] += sum(t < lo for t, _ in want)
        placed["behind the last time of the trace"] += sum(t > last and (t, n) not in ours for t, n in want)
        want = [(t, n) for t, n in want if t >= lo and (t <= last or (t, n) in ours)]
    if want != ours:
        fail("CPU", cpu, ":", len(want), "switches recorded,", len(ours), "in the timeline:",
             [x for x in want if x not in ours][:2], [x for x in ours if x not in want][:2])

    # 2. each has a place among the packets: between two that have a time
    on = []
    state = False
    for p in pkts:
        state = p["pkt"] == "tip.pge" or (state and p["pkt"] != "tip.pgd") or (p["pkt"] == "fup" and state)
        on.append(state)
    for t, _ in want:
        k = max([i for m, i in marks if m <= t], default=None)
        if k is None:
            placed["before the first time of the trace"] += 1
        elif t > last:
            placed["behind the last time of the trace"] += 1
        else:
            placed["while tracing" if on[k] else "while tracing is off"] += 1

    # 3. address spaces: who runs at each PIP; both halves of a task (KPTI: bit 12, PCID: bit 11) are one
    before = 0
    for i, p in enumerate(pkts):
        if "tsc " in p.get("payload", ""):
            before = ns(int(p["payload"].split("tsc ")[1], 16))
        if p["pkt"] != "pip":
            continue
        behind = next((m for m, k in marks if k > i), NEVER)
        base = int(p["payload"].split("cr3 ")[1], 16) & ~0x1fff
        # PSB+ comes with the time behind it
        for tid in {r[0] for r in runs}:
            if attributed(runs, tid, before or first, behind):
                cr3s.setdefault(base, collections.Counter())[tid] += 1
        cr3s.setdefault(base, collections.Counter())["all"] += 1

    # 4. threads of flow
    for o in tl:
        if o.get("src") != src or o["type"] in ("kernel", "sched.switch") or "tid" not in o:
            continue
        if "lo" not in o:
            reasons["no time is known"] += 1
            continue
        how = attributed(runs, o["tid"], o["lo"], o["hi"])
        if how == "run":
            reasons["agrees"] += 1
            continue
        text = "CPU %d, %s at %d..%d, thread %d" % (cpu, o["type"], o["lo"], o["hi"], o["tid"])
        if how != "window":
            fail("not explained:", text)
        reasons["between the two records of a switch: either thread"] += 1
        listed.append(text)

# one address space, one process: the thread that could run at all of its PIPs
owner = {}
for base, n in cr3s.items():
    whole = [t for t in n if t != "all" and n[t] == n["all"]]
    if not whole:
        fail("no thread could run at all %d PIP of address space 0x%x: %s" % (n["all"], base, n))
    owner[base] = whole
    print("# address space 0x%x: %d PIP, of thread %s" % (base, n["all"], " or ".join(map(str, sorted(whole)))))
windows = {}
for src, cpu in cpu_of.items():
    windows[src] = [(s.out, s.into) for s in pairs(recs[cpu])]
for o in tl:
    if o["type"] != "aspace" or "id" not in o:
        continue
    text = "CPU %d, address space %s at %d..%d" % (o["cpu"], o["id"], o["lo"], o["hi"])
    if "tid" in o:
        if o["tid"] not in owner[int(o["id"], 16) & ~0x1fff]:
            fail("address space of another thread:", text, "thread", o["tid"])
        continue
    # told for the first time between the two records, and it may be either thread's
    if not any(o["lo"] <= into and o["hi"] >= out for out, into in windows[o["src"]]):
        fail("nobody's, but not between the two records of a switch:", text)
    reasons["address space first told between the two records of a switch: nobody is known"] += 1
    listed.append(text + ", nobody is known")
if not reasons["agrees"]:
    fail("nothing was compared")
for what, n in (("switches", placed), ("threads of flow", reasons)):
    print("# %s of %s: %s" % (what, head["format"], "; ".join("%d %s" % (k, w) for w, k in n.most_common())))
if VERBOSE:
    print("\n".join(listed))
