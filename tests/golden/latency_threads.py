# SPDX-License-Identifier: BSD-2-Clause
"""Calls of threads: each is of its thread, parts hold the whole, and the two that wait do so as long as the program says, in the call that it made.
latency_threads.py TOOL CAPTURE SAID"""
import json
import subprocess
import sys

tool, capture, said = sys.argv[1:4]
PARTS = ('on-cpu', 'preempted', 'blocked', 'ready', 'irq', 'softirq', 'off-cpu', 'unknown')
NAP = 60000000


def ask(*args):
    out = subprocess.run([tool, *args, '-q', '--jsonl', '--abs', capture], stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


waits = {w: (int(tid), int(ns)) for w, tid, ns in (line.split() for line in open(said))}
assert waits['sleep'][1] >= NAP, waits
objs = ask('latency', '--from', 'job')
pairs = [o for o in objs if o['type'] == 'pair']
tasks = {o['tid']: o for o in objs if o['type'] == 'task'}
assert len(pairs) == 36 and len(tasks) == 3, (len(pairs), tasks)
for tid, t in tasks.items():
    mine = [p for p in pairs if p['tid'] == tid]
    assert len(mine) == 12 and t['pairs'] == sum(not p['tainted'] for p in mine), (tid, t)
    # they follow each other
    assert all(a['to']['lo'] <= b['from'].get('hi', 1 << 64) for a, b in zip(mine, mine[1:])), tid
assert sum(o['pairs'] for o in objs if o['type'] == 'cpu') == sum(t['pairs'] for t in tasks.values())
for p in pairs:
    lo, hi = (sum(p[k][e] for k in PARTS if k in p) for e in ('lo', 'hi'))
    assert lo <= p['took']['hi'] and p['took']['lo'] <= hi, (p, lo, hi)
for what, call in (('sleep', 'clock_nanosleep'), ('lock', 'futex')):
    tid, ns = waits[what]
    p = max((p for p in pairs if p['tid'] == tid), key=lambda p: p['blocked']['hi'] if 'blocked' in p else 0)
    # what a program measures has more in it than the wait; what the kernel tells of a wait has no more than all of it
    assert p['took']['hi'] >= ns, (what, ns, p)
    away = sum(p[k]['hi'] for k in PARTS[1:] if k in p)
    assert away >= (NAP if what == 'sleep' else 0) and p['blocked']['lo'] <= ns, (what, ns, p)
    assert what == 'lock' or p['blocked']['hi'] >= NAP * 9 // 10, (what, ns, p)
    number = p['number']
    why = ask('why', '--from', 'job', '--call', str(number))
    this = [o for o in why if o['type'] == 'this'][0]
    assert this['tid'] == tid and this['took'] == p['took'], (this, p)
    blocked = [o for o in why if o['type'] == 'part' and o['what'] == 'blocked'][0]
    assert blocked.get('by') == call and blocked['this'] == p['blocked'], (what, blocked, p)
print('# sleep: %d ns by the program, lock: %d ns' % (waits['sleep'][1], waits['lock'][1]))
