# SPDX-License-Identifier: BSD-2-Clause
# Called by timeline.sh: compares the merged stream with what the single ones are.
import json
import re
import subprocess
import sys


def rows(path):
    return [json.loads(x) for x in open(path, errors="replace")][1:]


def fail(*what):
    print(*what)
    sys.exit(1)


NEVER = 1 << 64


def text(o):
    return json.dumps(o, sort_keys=True)


# what the kernel tells; list has it beside each buffer, from another reader
SIDE = {"kernel", "record", "map", "task", "clock.sync", "sched.switch"}


def order(tl):
    """No CPU goes back, in any clock."""
    last = {}
    for o in tl:
        for clock in ("time", "ticks"):
            if clock in o:
                k = o.get("cpu"), clock, o.get("clock")
                if o[clock]["lo"] < last.get(k, o[clock]["lo"]):
                    fail("CPU goes back:", last[k], o)
                last[k] = o[clock]["lo"]


def streams(v):
    """Objects of each buffer and CPU, in order; those of no CPU by themselves."""
    out = {}
    for o in v:
        if o["type"] not in SIDE:
            out.setdefault((o["src"], o.get("cpu")), []).append(o)
    return out


def same(x, y):
    """The timeline may know a time closer: by anchors, and as CPUs that share a buffer share a window for bounds in list."""
    for t in ("time", "ticks", "enter"):
        if t in x and t in y and y[t]["lo"] >= x[t]["lo"] and y[t].get("hi", NEVER) <= x[t].get("hi", NEVER):
            y = dict(y, **{t: x[t]})
    if x.get("isa") == "t32" and "text" in y:
        # capstone remembers an IT instruction, and names the condition of what it is asked for next
        y = dict(y, text=x["text"])
    return text(x) == text(y)


def merged(a, b):
    l, t = streams(a), streams(b)
    if l.keys() != t.keys():
        fail("streams differ:", sorted(map(str, l)), sorted(map(str, t)))
    for k in l:
        i = next((i for i, (x, y) in enumerate(zip(l[k], t[k])) if not same(x, y)), min(len(l[k]), len(t[k])))
        if i < max(len(l[k]), len(t[k])):
            fail("buffer", k, "of", len(l[k]), "and", len(t[k]), "events, at", i, l[k][i:i + 1], t[k][i:i + 1])
    order(b)
    numbers = [o["number"] for o in b if o["type"] == "kernel"]
    if numbers != sorted(set(numbers)):
        fail("numbers do not rise")


def calls(a, b):
    """Entries and ends are those of each buffer by itself; holes in a row are counted together there.
    A thread in the buffers of several CPUs has one stack here, and one in each there: what is only inferred may differ."""
    where = {}
    for o in a:
        if "tid" in o and "src" in o:
            where.setdefault(o["tid"], set()).add(o["src"])

    def pick(v):
        return streams([o for o in v if o["type"] in ("call", "return", "open", "untraced", "resume") and
                        not (o.get("inferred") and len(where.get(o.get("tid"), ())) > 1)])
    l, t = pick(a), pick(b)
    if l.keys() != t.keys() or any(len(l[k]) != len(t[k]) or not all(map(same, l[k], t[k])) for k in l):
        fail("calls differ")
    def holes(v):
        return sum(o.get("count", 1) for o in v if o["type"] == "gap")
    if holes(a) != holes(b):
        fail("holes:", holes(a), "and", holes(b))
    order(b)


def between(hwt, cap, tl):
    """From the exit of the k-th call to the entry of the next: the source says what runs there."""
    enter = [o["number"] for o in tl if o.get("name") == "syscall.enter" and o["values"]["nr"] == 110]
    leave = [o["number"] for o in tl if o.get("name") == "syscall.exit" and o["values"]["nr"] == 110]
    if len(enter) != 6 or len(leave) != 6:
        fail("calls recorded:", len(enter), len(leave))
    total = sure = 0
    for k in range(5):
        v = subprocess.run([hwt, "between", "--jsonl", cap, str(leave[k]), str(enter[k + 1])],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
        v = [json.loads(x) for x in v.splitlines()][1:]
        if v[0]["number"] != leave[k] or v[-2]["number"] != enter[k + 1] or v[-1]["type"] != "between":
            fail("not the two events:", v[0], v[-2], v[-1])
        truth = 3 + 2 + 20 * (k + 2) + 2
        s = v[-1]
        insns = [o for o in v if o["type"] == "insn"]
        if s["certain"] != sum(o["certain"] for o in insns) or s["certain"] + s["possible"] != len(insns):
            fail("sum:", s, len(insns))
        if not s["certain"] <= truth <= s["certain"] + s["possible"]:
            fail("from call", k + 1, ":", truth, "instructions ran,", s)
        # what is certain is a piece of what ran: it begins behind one call and ends with the next
        at = [o["text"].split()[0] for o in insns if o["certain"]]
        if at.count("syscall") > 1 or ("syscall" in at and at[-1] != "syscall"):
            fail("certain, but of another call:", at)
        total += truth
        sure += s["certain"]
    print("# between: %d of %d instructions are certain" % (sure, total))


def select(hwt, cap, tl):
    """A selection shows what the whole has of it."""
    def run(*args):
        v = subprocess.run([hwt, "timeline", "--jsonl", *args, cap], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if v.returncode:
            fail("timeline", args, ": exit", v.returncode)
        return [json.loads(x) for x in v.stdout.splitlines()][1:]
    def kernel(v):
        return [o["number"] for o in v if o["type"] == "kernel"]
    side = [o for o in tl if o["type"] == "kernel"]
    tid = next(o["tid"] for o in tl if o["type"] == "call")
    cpu = next(o["cpu"] for o in tl if o["type"] == "call")
    about = [o["number"] for o in side if tid in (o.get("tid"), o.get("pid")) or
             tid in [v for k, v in o.get("values", {}).items() if k.endswith("tid") or k.endswith("pid")]]
    if kernel(run("--tid", str(tid))) != about or len(about) < 12:
        fail("--tid: not the events by and about it", len(about))
    if kernel(run("--cpu", str(cpu))) != [o["number"] for o in side if o["cpu"] == cpu]:
        fail("--cpu: other events")
    lo, hi = (side[len(side) * k // 4]["time"]["lo"] for k in (1, 3))
    if kernel(run("--time", "%dns..%dns" % (lo, hi))) != [o["number"] for o in side if lo <= o["time"]["lo"] <= hi]:
        fail("--time: other events")
    if kernel(run("--filter", "syscall.enter")) != [o["number"] for o in side if o["name"] == "syscall.enter"]:
        fail("--filter: other events")
    if [o["type"] for o in run("--filter", "syscall.enter") if o["type"] not in ("header", "kernel")]:
        fail("--filter: more than kernel events")
    both = run("--filter", "syscall.enter", "--level", "calls")
    if [o for o in both if o["type"] != "kernel"] != [o for o in tl if o["type"] != "kernel"]:
        fail("--filter --level: other trace")
    if kernel(both) != kernel(run("--filter", "syscall.enter")):
        fail("--filter --level: other events")
    if run("--limit", "7") != tl[:7]:
        fail("--limit: other lines")
    calls = [o for o in run("--sym", "_start") if o["type"] == "call"]
    if calls != [o for o in tl if o["type"] == "call" and o.get("sym") == "_start"] or not calls:
        fail("--sym: other calls")


def one_to_one(tl):
    """Each system call instruction has its record, and its end but for exit; the first end is that of execve."""
    nr = [110] * 6 + [60]
    v = [(i, o) for i, o in enumerate(tl) if o["type"] == "insn" or o.get("name", "").startswith("syscall.")]
    v = [("insn" if o["type"] == "insn" else o["name"], o) for i, o in v if o["type"] != "insn" or o["kind"] == "far-call"]
    kinds = [k for k, o in v]
    if kinds.count("insn") != 7 or [o["values"]["nr"] for k, o in v if k == "syscall.enter"] != nr:
        fail("calls:", kinds)
    if [o["values"]["nr"] for k, o in v if k == "syscall.exit"] != [59] + nr[:-1]:
        fail("ends of calls:", kinds)
    # the record is written behind the instruction, whatever is known of the time between
    if kinds != ["syscall.exit"] + ["insn", "syscall.enter", "syscall.exit"] * 6 + ["insn", "syscall.enter"]:
        fail("order of calls and records:", kinds)


def comms(perf, path):
    """The name of each sample's task as perf script has it then, which is not that of an exec behind it."""
    want, got = {}, {}
    for line in open(perf):
        m = re.match(r"\s*(.+?) +(-?\d+) +(\d+)\.(\d{9}): *$", line)
        if not m:
            fail("perf script:", line)
        if int(m[2]) > 0 and not m[1].startswith(":"):      # a task without a name, and the idle one
            want.setdefault((m[3] + "." + m[4], m[2]), set()).add(m[1])
    for line in open(path):
        m = re.match(r" *(\d+\.\d{9}) +\[\d+\] +(\d+)/?(.*?) +-- #\d+ (?:sched\.(?:switch|wak)|softirq\.)", line)
        if m:
            got.setdefault((m[1].lstrip("0"), m[2]), set()).add(m[3])
    wrong = [(k, v, got.get(k)) for k, v in want.items() if got.get(k) != v]
    if wrong:
        fail(len(wrong), "of", len(want), "names differ:", wrong[:3])
    if len(set.union(*want.values())) < 3:
        fail("only names", set.union(*want.values()))


def names(header, path):
    """System calls are called what the system's header calls their numbers."""
    table = {int(n): name for name, n in (line.split() for line in open(header))}
    calls = [o for o in rows(path) if o.get("name") in ("syscall.enter", "syscall.exit")]
    for o in calls:
        if o.get("call") != table[o["values"]["nr"]]:
            fail("not", table[o["values"]["nr"]], o)
    if len(calls) < 4:
        fail("only", len(calls), "system calls")


def script(perf, path):
    """The samples that perf script prints: CPU, time, thread, kind, and what it is about."""
    names = {"sched:sched_switch": "sched.switch", "sched:sched_wakeup": "sched.wakeup", "sched:sched_waking": "sched.waking",
             "irq:softirq_entry": "softirq.entry", "irq:softirq_exit": "softirq.exit"}
    want, got = [], []
    for line in open(perf):
        m = re.match(r"\s*(-?\d+) \[(\d+)\] +(\d+)\.(\d{9}): +(\S+):(?: (.*))?$", line)
        if not m:
            fail("perf script:", line)
        tid, cpu, s, ns, name, rest = m.groups()
        if tid == "-1":     # of a task that is gone already, the id that the event itself has
            tid = re.search(r"prev_pid=(\d+)", rest).group(1)
        about = re.search(r"next_pid=(\d+)|\bpid=(\d+)|vec=(\d+)", rest or "")
        want.append((int(s) * 10**9 + int(ns), int(cpu), names[name], int(tid), int(next(filter(None, about.groups())))))
    start = json.loads(open(path).readline())["time_start"]
    vecs = "hi timer net_tx net_rx block irq_poll tasklet sched hrtimer rcu".split()
    for o in rows(path):
        if o["type"] == "kernel" and o["name"] in names.values():
            v, f = o["values"], dict(x.split("=", 1) for x in o["fields"].split() if "=" in x)
            about = v.get("next_tid", v.get("wake_tid"))
            if about is None:
                about = vecs.index(f["vec"])
            if o["time"]["lo"] != o["time"]["hi"]:
                fail("not an instant:", o)
            got.append((o["time"]["lo"] + start, o["cpu"], o["name"], o.get("tid", -1), about))
    if [x[0] for x in got] != sorted(x[0] for x in got):
        fail("not in order of time")
    if sorted(want) != sorted(got):
        fail(len(want), "samples,", len(got), "events:", sorted(set(want) - set(got))[:2], sorted(set(got) - set(want))[:2])
    if len(got) < 50:
        fail("only", len(got), "events")
    print("# kernel events: %d, as perf script has them" % len(got))


mode = sys.argv[1]
if mode == "between":
    between(sys.argv[2], sys.argv[3], rows(sys.argv[4]))
elif mode == "calls_of_prog":
    one_to_one(rows(sys.argv[2]))
elif mode == "select":
    select(sys.argv[2], sys.argv[3], rows(sys.argv[4]))
elif mode == "names":
    names(sys.argv[2], sys.argv[3])
elif mode == "comms":
    comms(sys.argv[2], sys.argv[3])
elif mode == "script":
    script(sys.argv[2], sys.argv[3])
else:
    {"merged": merged, "calls": calls}[mode](rows(sys.argv[2]), rows(sys.argv[3]))
