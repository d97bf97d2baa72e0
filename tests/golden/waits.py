# SPDX-License-Identifier: BSD-2-Clause
"""waits.py waits SAID WHY: what waits.c said of its four rounds and WHY1 to WHY4, why --jsonl of each. A line
on stdout: the machine was too busy for one of them.
waits.py scope SOME ALL N: latency --jsonl of a recording of some tasks and of one of all, made at the same
time, from which N switches are missing."""
import collections
import json
import sys

MS = 1000000


def read(path):
    return [json.loads(line) for line in open(path)]


def waits(objs):
    """Each wait with who ended it and who ran meanwhile."""
    out = []
    for o in objs:
        if o['type'] == 'wait':
            out.append((o, [], []))
        elif o['type'] == 'waker':
            out[-1][1].append(o)
        elif o['type'] == 'turn':
            out[-1][2].append(o)
    return out


def longest(ws, what):
    ws = [w for w in ws if w[0]['what'] == what]
    return max(ws, key=lambda w: w[0]['took']['hi']) if ws else None


def part(o, *names):
    return sum(o[n]['lo'] for n in names if n in o), sum(o[n]['hi'] for n in names if n in o)


def sleeper(link, slept):
    """It slept, and was not blocked longer than it measured; False: much of it was before."""
    lo, hi = part(link, 'blocked', 'off-cpu')
    assert lo <= slept, (link, slept)
    return hi * 2 >= slept


def rounds(said, why):
    lock, pipe, hog, chain = [line.split() for line in open(said)]
    w = longest(waits(read(why + '1')), 'blocked')
    if not w or w[0]['took']['hi'] < 30 * MS:
        return 'the lock was free again'
    first, second = w[1][0], w[1][1]
    assert w[0]['certain'] and first['certain'], w
    assert first['tid'] == int(lock[1]) and first['comm'] == 'holder', w
    assert second['how'] in ('irq', 'softirq'), w
    if not sleeper(first, int(lock[2])):
        return 'the holder slept before'
    ws = waits(read(why + '2'))
    w = longest(ws, 'blocked')
    if not w or w[0]['took']['hi'] < 10 * MS:
        return 'the writer was done'
    assert w[1][0]['tid'] == int(pipe[1]), w
    # what it ran before the reader waited is told as a turn; it also ran for its calls
    ran = part(w[1][0], 'on-cpu')
    turns = [t['took'] for x in ws for t in x[2] if t.get('tid') == int(pipe[1])]
    assert ran[0] <= int(pipe[2]) + 5 * MS, (w, pipe)
    if (ran[1] + sum(t['hi'] for t in turns)) * 4 < int(pipe[2]) * 3:
        return 'the writer ran before'
    w = longest(waits(read(why + '3')), 'preempted')
    if not w:
        return 'the hog ran elsewhere'
    turn = [t for t in w[2] if t.get('tid') == int(hog[1])][0]
    assert turn['comm'] == 'hog', w
    # it also came and left
    assert turn['took']['lo'] <= int(hog[2]) + 2 * MS and turn['took']['hi'] >= int(hog[2]) * 9 // 10, (w, hog)
    w = longest(waits(read(why + '4')), 'blocked')
    if not w or w[0]['took']['hi'] < 30 * MS:
        return 'the lock was free again'
    assert [x['tid'] for x in w[1][:2]] == [int(chain[1]), int(chain[2])], (w, chain)
    assert [x['comm'] for x in w[1][:2]] == ['middle', 'far'], w
    assert w[1][2]['how'] in ('irq', 'softirq'), w
    return '' if sleeper(w[1][1], int(chain[3])) else 'the last one slept before'


def scope(some, alls, missing):
    total = [o for o in some if o['type'] == 'latency'][0]
    assert total['scope'] == 'some tasks' and total['scope_stated'] and total['scope_tasks'] >= 1, total
    have = collections.defaultdict(list)
    for o in alls:
        if o['type'] == 'pair' and not o['tainted'] and 'took' in o:
            have[o['tid']].append(o['took'])
    certain = outside = 0
    alone = []
    for o in some:
        if o['type'] != 'pair':
            continue
        outside += o.get('outside', False)
        if o['tainted']:
            continue
        certain += 1
        # two counters' readings of one event differ by what lies between two tracers
        near = [t for t in have[o['tid']] if t['lo'] - 50000 <= o['took']['hi'] and o['took']['lo'] <= t['hi'] + 50000]
        if not near:
            alone.append(o)
    assert len(alone) <= missing, ('not in the other recording', alone)
    assert certain >= 10, total
    assert outside == total.get('outside', 0)


if sys.argv[1] == 'waits':
    print(rounds(sys.argv[2], sys.argv[3]), end='')
else:
    scope(read(sys.argv[2]), read(sys.argv[3]), int(sys.argv[4]))
