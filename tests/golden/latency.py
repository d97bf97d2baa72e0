# SPDX-License-Identifier: BSD-2-Clause
"""Pairs of events and where their time went, from the lines of perf script alone; held against
hwtrace latency --jsonl. Arguments: perf's lines, then for each run its kind and our output."""
import collections
import json
import re
import sys

LINE = re.compile(r'^\s*(.+?)\s+(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(?:(\S+):\s+(.*)|PERF_RECORD_(?:FORK|EXIT)\(.*)$')


def events(path):
    out, run = [], {}
    for text in open(path, errors='replace'):
        m = LINE.match(text)
        if not m or int(m[4]) == 0:
            continue
        # tasks that begin and end are told of, too, by who runs
        cpu, tid, name = int(m[3]), int(m[2]), m[6] or 'task'
        if tid < 0:	# a task that has exited, and runs to its last switch
            tid = run.get(cpu, 0)
        run[cpu] = next_of(m[7]) if name == 'sched:sched_switch' else tid
        out.append((int(m[4]) * 10**9 + int(m[5]), cpu, tid, name, m[7] or ''))
    return out


def field(text, name):
    m = re.search(r'\b%s=(\S+)' % name, text)
    return m[1] if m else None


class Machine:
    """Who runs, and what each task does."""

    def __init__(self):
        self.state = collections.defaultdict(lambda: 'unknown')
        self.cpu = {}
        self.irq = collections.Counter()
        self.soft = collections.Counter()

    def part(self, tid):
        if self.state[tid] not in ('on-cpu', 'unknown') or tid not in self.cpu:
            return self.state[tid]
        cpu = self.cpu[tid]
        return 'irq' if self.irq[cpu] else 'softirq' if self.soft[cpu] else self.state[tid]

    def event(self, cpu, tid, name, text):
        if name == 'sched:sched_switch':
            prev, nxt = re.search(r'prev_pid=(\d+)', text), re.search(r'next_pid=(\d+)', text)
            if not prev:
                prev = re.search(r':(\d+) \[\d+\] (\S+) ==>', text)
                nxt = re.search(r'==> .*:(\d+) \[\d+\]', text)
                state = prev[2]
            else:
                state = field(text, 'prev_state')
            prev, nxt = int(prev[1]), int(nxt[1])
            self.irq[cpu] = self.soft[cpu] = 0
            self.state[prev] = 'preempted' if state[0] == 'R' else 'blocked'
            self.state[nxt] = 'on-cpu'
            self.cpu[nxt] = cpu
            return
        # it runs now; when it leaves is told only if a switch told that it came
        if self.state[tid] != 'on-cpu' or self.cpu.get(tid) != cpu:
            self.state[tid] = 'unknown'
        self.cpu[tid] = cpu
        if name == 'irq:irq_handler_entry':
            self.irq[cpu] += 1
        elif name == 'irq:irq_handler_exit':
            self.irq[cpu] = max(0, self.irq[cpu] - 1)
        elif name == 'irq:softirq_entry':
            self.soft[cpu] += 1
        elif name == 'irq:softirq_exit':
            self.soft[cpu] = max(0, self.soft[cpu] - 1)
        elif name.startswith('sched:sched_wak'):
            woken = int(field(text, 'pid') or re.search(r':(\d+) \[', text)[1])
            if self.state[woken] in ('blocked', 'unknown'):
                self.state[woken] = 'ready'


def doubts(evs):
    """Tasks about which a switch is missing, each with the times between: some machines hide threads from every tracer, so that one
    is seen to run where another one came last."""
    run, seen, out = {}, {}, collections.defaultdict(list)

    def doubt(tid):
        if tid and not (out[tid] and out[tid][-1][1] is None):
            out[tid].append([seen.get(tid, 0), None])

    for time, cpu, tid, name, text in evs:
        if cpu in run and run[cpu] != tid:
            doubt(run[cpu])
            doubt(tid)
        run[cpu] = tid
        seen[tid] = time
        if name == 'sched:sched_switch':
            run[cpu] = next_of(text)
            seen[run[cpu]] = time
            if out[run[cpu]] and out[run[cpu]][-1][1] is None:
                out[run[cpu]][-1][1] = time
    return out


def doubtful(spans, begin, end):
    return any(lo <= end and (hi is None or begin <= hi) for lo, hi in spans)


def next_of(text):
    m = re.search(r'next_pid=(\d+)|==> .*:(\d+) \[', text)
    return int(m[1] or m[2])


def prev_of(text):
    m = re.search(r'prev_pid=(\d+)|:(\d+) \[\d+\] \S+ ==>', text)
    return int(m[1] or m[2])


def ends(kind, tid, name, text):
    """(key that begins, key that ends) of an event."""
    if kind == 'wakeup':
        if name == 'sched:sched_wakeup':
            return int(field(text, 'pid') or re.search(r':(\d+) \[', text)[1]), None
        if name == 'sched:sched_switch':
            return None, next_of(text)
    elif kind == 'syscall':
        if name == 'raw_syscalls:sys_enter':
            return tid, None
        # sigreturn has no end of its own: what is told there is -1 as a number of no call
        if name == 'raw_syscalls:sys_exit' and not text.startswith('NR -1 '):
            return None, tid
    return None, None


def truth(evs, kind):
    m, open_, out = Machine(), {}, []
    for time, cpu, tid, name, text in evs:
        for key, o in open_.items():
            o['parts'][m.part(key)] += time - o['since']
            o['since'] = time
        m.event(cpu, tid, name, text)
        # who leaves had come, and no switch told it: when it did is not known
        if kind == 'wakeup' and name == 'sched:sched_switch':
            open_.pop(prev_of(text), None)
        begin, end = ends(kind, tid, name, text)
        if end in open_ and end:
            o = open_.pop(end)
            out.append((end, time - o['from'], {k: v for k, v in o['parts'].items() if v}, o['from'], time))
        if begin:
            open_[begin] = {'from': time, 'since': time, 'parts': collections.Counter()}
    return out


def ours(path):
    out, last = [], None
    for text in open(path):
        o = json.loads(text)
        if o['type'] == 'latency':
            last = o
        if o['type'] != 'pair':
            continue
        parts = {}
        for k in ('on-cpu', 'preempted', 'blocked', 'ready', 'irq', 'softirq', 'off-cpu', 'unknown'):
            if k in o:
                parts[k] = (o[k]['lo'], o[k]['hi'])
        assert o['took']['lo'] == o['took']['hi'], o
        assert sum(v[0] for v in parts.values()) <= o['took']['lo'] <= \
            sum(v[1] for v in parts.values()), o
        out.append((o['tid'], o['took']['lo'], parts))
    return out, last


def nearest_rank(v, permille):
    return sorted(v)[max(1, -(-len(v) * permille // 1000)) - 1]


evs = events(sys.argv[1])
unseen = doubts(evs)
bad = 0
for kind, path in zip(sys.argv[2::2], sys.argv[3::2]):
    want, (got, last) = truth(evs, kind), ours(path)
    inexact = 0
    left = inexact = 0
    lists = collections.defaultdict(lambda: ([], []))	# the order of each task stays
    for i, v in enumerate((want, got)):
        for p in v:
            lists[p[0]][i].append(p)
    for tid, (ws, gs) in sorted(lists.items()):
        spans = unseen[tid]
        if len(ws) != len(gs):
            if spans:
                left += len(ws)
            else:
                print('%s: %d pairs of task %d of perf script, %d of ours' % (kind, len(ws), tid, len(gs)))
                bad += 1
            continue
        for w, g in zip(ws, gs):
            # an interval only where no switch tells when a task began to run
            inexact += any(v[0] != v[1] for v in g[2].values())
            hidden = doubtful(spans, w[3], w[4])
            left += hidden
            if w[:2] != g[:2] or not hidden and (set(w[2]) - set(g[2]) or
                    any(not v[0] <= w[2].get(k, 0) <= v[1] for k, v in g[2].items())):
                print('%s: %s, not %s' % (kind, g, w))
                bad += 1
    print('%s: %d pairs of perf script, %d with intervals; parts of %d are not held, for a switch is missing' % (
        kind, len(want), inexact, left))
    if len(want) - left - inexact < 20:
        print('%s: too few pairs are held' % kind)
        bad += 1
    took = [p[1] for p in want]
    for name, permille in (('min', 0), ('p50', 500), ('p90', 900), ('p99', 990), ('max', 1000)):
        t = nearest_rank(took, permille)
        if not last[name]['lo'] <= t <= last[name]['hi'] or \
                last[name]['hi'] - last[name]['lo'] > t / 32 + 1:
            print('%s: %s is %d, not in %s' % (kind, name, t, last[name]))
            bad += 1
sys.exit(bad > 0)
