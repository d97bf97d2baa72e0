# SPDX-License-Identifier: BSD-2-Clause
"""twin.py OURS TRACE: OURS is what babeltrace2 prints of the module's stream files, TRACE the function
tracer's text of a part of the same run. On each CPU, for each kind of event, what the tracer has must
be a stretch of what the module has, value by value. With one clock for both (x86) each pair must also
lie close together."""
import re
import sys
from collections import defaultdict

STATES = {"R": (0, None), "R+": (0, 1), "S": (1, 0), "D": (2, 0), "T": (3, 0), "t": (4, 0), "X": (5, 0), "Z": (6, 0),
          "P": (7, 0), "I": (8, 0)}
SOFTIRQS = re.compile(r"vec=(\d+)")
HEAD = re.compile(r"^ *(.+)-(\d+) +\[(\d+)\] (\S+) +([\d.]+): (\w+): (.*)$")


def number(s):
    return int(s, 0)


def theirs_switch(t):
    m = re.match(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(\d+) prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=(\d+)", t)
    state, preempted = STATES[m[4]]
    return (m[1], int(m[2]), int(m[3]), state, preempted, m[5], int(m[6]), int(m[7]))


def theirs_wake(t):
    m = re.match(r"comm=(.*) pid=(\d+) prio=(\d+) target_cpu=(\d+)", t)
    return (m[1], int(m[2]), int(m[3]), int(m[4]))


def theirs_migrate(t):
    m = re.match(r"comm=(.*) pid=(\d+) prio=(\d+) orig_cpu=(\d+) dest_cpu=(\d+)", t)
    return (m[1], int(m[2]), int(m[4]), int(m[5]))


def theirs_fork(t):
    m = re.match(r"comm=(.*) pid=(\d+) child_comm=(.*) child_pid=(\d+)", t)
    return (int(m[2]), m[3], int(m[4]))


def theirs_exec(t):
    m = re.match(r"filename=(.*) pid=(\d+) old_pid=(\d+)", t)
    return (m[1], int(m[2]), int(m[3]))


def theirs_exit(t):
    m = re.match(r"comm=(.*) pid=(\d+) prio=(\d+)", t)
    return (m[1], int(m[2]), int(m[3]))


def theirs_enter(t):
    m = re.match(r"NR (-?\d+) \((.*)\)", t)
    return (int(m[1]),) + tuple(int(a, 16) for a in m[2].split(", "))


def theirs_leave(t):
    m = re.match(r"NR (-?\d+) = (-?\d+)", t)
    return None if m[1] == "-1" else (int(m[1]), int(m[2]))


def theirs_irq(t):
    m = re.match(r"irq=(\d+) name=(.*)", t)
    return (int(m[1]), m[2][:15])


def theirs_irq_end(t):
    m = re.match(r"irq=(\d+) ret=(\w+)", t)
    return (int(m[1]), {"unhandled": 0, "handled": 1}[m[2]])


def theirs_softirq(t):
    return (int(SOFTIRQS.match(t)[1]),)


def theirs_block(t):
    m = re.match(r"(\d+),(\d+) (\w+) (?:(\d+) )?\(.*?\) (\d+) \+ (\d+)", t)
    return (int(m[1]) << 20 | int(m[2]), int(m[5]), int(m[6]) * 512)


def theirs_rx(t):
    m = re.match(r"dev=(\S+) skbaddr=\S+ len=(\d+)", t)
    return (m[1], int(m[2]))


def fields(*names):
    return lambda f: tuple(f[n] for n in names)


def ours_switch(f):
    known = f["preempted"] if f["preempted"] < 2 else None
    return (f["prev_comm"], f["prev_tid"], f["prev_prio"], f["prev_state"], known, f["next_comm"], f["next_tid"], f["next_prio"])


def ours_irq(f):
    return (f["irq"], f["name"]) if f["kind"] == 0 else None


def ours_irq_end(f):
    # the tracer says "handled", too, where a thread is to handle it, as all are in a real-time kernel
    return (f["irq"], min(f["result"], 1)) if f["kind"] == 0 else None


WAKE = fields("comm", "wake_tid", "prio", "target_cpu")
VEC = fields("vec")
KINDS = {
    "sched_switch": (theirs_switch, "sched.switch", ours_switch),
    "sched_waking": (theirs_wake, "sched.waking", WAKE),
    "sched_wakeup": (theirs_wake, "sched.wakeup", WAKE),
    "sched_migrate_task": (theirs_migrate, "sched.migrate", fields("comm", "task_tid", "from_cpu", "to_cpu")),
    "sched_process_fork": (theirs_fork, "sched.fork", fields("parent_tid", "comm", "child_tid")),
    "sched_process_exec": (theirs_exec, "sched.exec", fields("path", "task_tid", "old_tid")),
    "sched_process_exit": (theirs_exit, "sched.exit", fields("comm", "task_tid", "prio")),
    "sys_enter": (theirs_enter, "syscall.enter", fields("nr", "arg0", "arg1", "arg2", "arg3", "arg4", "arg5")),
    "sys_exit": (theirs_leave, "syscall.exit", fields("nr", "ret")),
    "irq_handler_entry": (theirs_irq, "irq.entry", ours_irq),
    "irq_handler_exit": (theirs_irq_end, "irq.exit", ours_irq_end),
    "softirq_raise": (theirs_softirq, "softirq.raise", VEC),
    "softirq_entry": (theirs_softirq, "softirq.entry", VEC),
    "softirq_exit": (theirs_softirq, "softirq.exit", VEC),
    "block_rq_issue": (theirs_block, "block.issue", fields("dev", "sector", "bytes")),
    "block_rq_complete": (theirs_block, "block.complete", fields("dev", "sector", "bytes")),
    "netif_receive_skb": (theirs_rx, "net.rx", fields("dev", "bytes")),
}
OURS = re.compile(r"^\[0*(\d+)\] \(\S+\) \S+ ([\w.]+): \{ cpu_id = (\d+).*?\}, \{(.*?)\}, \{ (.*) \}$")
FIELD = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|-?\w+)')


def read_ours(path):
    by_name = {v[1]: (k, v[2]) for k, v in KINDS.items()}
    out = defaultdict(list)
    for line in open(path, errors="replace"):
        m = OURS.match(line)
        if not m or m[2] not in by_name:
            continue
        kind, get = by_name[m[2]]
        context = dict(FIELD.findall(m[4]))
        f = {k: v[1:-1] if v[0] == '"' else number(v) for k, v in FIELD.findall(m[5])}
        key = get(f)
        if key is not None:
            out[int(m[3]), kind].append((int(context["tid"]), key, int(m[1])))
    return out


def read_theirs(path):
    out = defaultdict(list)
    for line in open(path, errors="replace"):
        if line.startswith("#"):
            if "entries-in-buffer" in line:
                a, b = re.search(r"(\d+)/(\d+)", line).groups()
                if a != b:
                    sys.exit("the tracer lost events")
            continue
        m = HEAD.match(line.rstrip("\n"))
        if not m or m[6] not in KINDS:
            sys.exit("not understood: " + line)
        key = KINDS[m[6]][0](m[7])
        if key is not None:
            tick = int(m[5]) if "." not in m[5] else None
            out[int(m[3]), m[6]].append((int(m[2]), key, tick))
    return out


def same(a, b):
    # what one of both does not know is no difference
    return a[0] == b[0] and all(x == y or x is None or y is None for x, y in zip(a[1], b[1]))


def find(ours, theirs):
    """Where the stretch begins; else the longest beginning that fits, as a negative number of it."""
    best = 0
    for at in range(len(ours) - len(theirs) + 1):
        n = 0
        while n < len(theirs) and same(ours[at + n], theirs[n]):
            n += 1
        if n == len(theirs):
            return at, n
        best = max(best, n)
    return None, best


def main():
    ours, theirs = read_ours(sys.argv[1]), read_theirs(sys.argv[2])
    bad = total = 0
    apart = []
    for where, t in sorted(theirs.items()):
        at, n = find(ours[where], t)
        total += len(t)
        if at is None:
            bad += 1
            print("%s: of %d of the tracer and %d of ours %d fit, then %s" % (where, len(t), len(ours[where]), n, t[n:n + 1]))
            continue
        apart += [b[2] - a[2] for a, b in zip(t, ours[where][at:]) if a[2] is not None]
    if total < 1000:
        sys.exit("only %d events to compare" % total)
    print("# %d events of %d kinds on %d CPUs as the function tracer has them" %
          (total, len({w[1] for w in theirs}), len({w[0] for w in theirs})))
    if apart:
        apart.sort()
        print("# stamped %d ticks after it (median)" % apart[len(apart) // 2])
        if apart[0] < -10**7 or apart[len(apart) // 2] > 10**7:
            sys.exit("stamps are far apart: %d to %d" % (apart[0], apart[-1]))
    sys.exit(bad > 0)


main()
