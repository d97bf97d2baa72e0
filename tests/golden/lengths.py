# SPDX-License-Identifier: BSD-2-Clause
"""latency and why against what ran: every pair of two points of a recording is known, with its ticks.
lengths.py TOOL LENGTH RECORDING PROGRAM CAPTURE.hwt NAME=ADDR..."""
import glob
import json
import subprocess
import sys

tool, maker, rec, prog, cap = sys.argv[1:6]
funcs = dict(a.split('=') for a in sys.argv[6:])
funcs = {n: int(a, 16) for n, a in funcs.items()}
TID = 1000      # of the first thread
PLANT = 60000   # ticks
nothing = {}    # of each thread of the capture: events before which an overflow lost nothing, which the tool can not know


def make(time, overflows, seed, slow=None):
    """The capture; visits of each thread as (event, run, tick, 'enter' or 'leave', function, event of the call), its holes, where proof ends."""
    cmd = [maker, '-d', cap, '-p', prog, '-t', time, '-o', str(overflows), '-s', str(seed)] + (['-w', '%d:%d:%d' % slow] if slow else [])
    text = subprocess.run(cmd + [rec] + ['%x' % a for a in funcs.values()], stdout=subprocess.PIPE, check=True, text=True).stdout
    visits, holes = {}, {}
    nothing.clear()
    for f in map(str.split, text.splitlines()):
        t = int(f[1])
        visits.setdefault(t, [])
        holes.setdefault(t, [])
        nothing.setdefault(t, [])
        if f[0] == 'hole' and f[2] == f[3]:
            nothing[t].append(int(f[2]))
        if f[0] == 'hole':
            holes[t].append(tuple(map(int, f[2:5])))
        elif f[0] == 'end':
            holes[t].append((int(f[2]), int(f[2]), int(f[3])))
        else:
            visits[t].append((int(f[2]), int(f[3]), int(f[4]), f[0], int(f[5], 16), int(f[6])))
    return visits, holes


def truth(visits, begin, end):
    """Pairs of visits, in the order of their ends: a function's entry with its return, else the last begin before the end."""
    out, stack, last = [], [], None
    nest = begin[0] == 'enter' and end[0] == 'leave' and begin[1] == end[1]
    for v in visits:
        if (v[3], v[4]) == end:
            if nest and stack:
                out.append((stack.pop(), v))
            elif not nest and last:
                out.append((last, v))
                last = None
        if (v[3], v[4]) == begin:
            stack.append(v)
            last = v
    return out


def state(pair, holes):
    """Whether a hole lies in a pair, or it has an end that nothing proves any more."""
    a, b = pair[0][0], pair[1][0]
    if any(lo <= b and hi > a and hi > lo for lo, hi, _ in holes):
        return 'touched'
    if any(first <= x < lo for lo, _, first in holes for x in (a, b)):
        return 'unproven'
    # which frame a return leaves is known by its call alone
    if any(lo <= v[0] and hi > v[5] and hi > lo for lo, hi, _ in holes for v in pair):
        return 'unproven'
    return 'clear'


def holds(i, x):
    return i is None or i['lo'] <= x <= i.get('hi', 1 << 64)


def is_of(o, pair):
    a, b = pair[0][2], pair[1][2]
    return holds(o.get('from'), a) and holds(o.get('to'), b) and holds(o.get('took'), b - a)


def ask(*args):
    r = subprocess.run([tool, *args, '-q', '--jsonl', '--abs', cap], stdout=subprocess.PIPE, check=False, text=True)
    assert r.returncode == 0, (args, r.returncode)
    return [json.loads(line) for line in r.stdout.splitlines()]


def point(p):
    name = [n for n, a in funcs.items() if a == p[1]][0]
    return name + (':exit' if p[0] == 'leave' else ':entry')


def meets(o, gap):
    a, b = o.get('from', {}), o.get('to', {})
    g = gap.get('time', {})
    return a.get('lo', 0) <= g.get('hi', 1 << 64) and g.get('lo', 0) <= b.get('hi', 1 << 64)


count = {'bounds': 0, 'clear': 0, 'touched': 0, 'unproven': 0, 'marked': 0, 'lost calls': 0, 'causes': 0, 'certain': 0, 'numbers': 0, 'widths': []}


def compare(what, printed, pairs, holes, gaps, strict):
    """Each untainted pair is a true one, in order, one to one; none of those outside of holes is left out."""
    def marks(reach):
        """A marked one may be none: any number of them passes."""
        out = set()
        for n in reach:
            out.add(n)
            while n < len(printed) and printed[n]['tainted']:
                n += 1
                out.add(n)
        return out

    reach = marks({0})      # how many of @printed can be explained so far
    for p in pairs:
        s = state(p, holes)
        count[s] += 1
        if s == 'touched':
            continue
        empty = any(p[0][0] <= at <= p[1][0] for at in nothing[what[1]])
        fits = {n + 1 for n in reach if n < len(printed) and is_of(printed[n], p) and
                # no switches are recorded: a hole of the other CPU may be one of this task
                (not printed[n]['tainted'] or empty or any(meets(printed[n], g) for g in gaps))}
        new = marks(fits if s == 'clear' and strict else fits | reach)
        assert new, (what, 'missing or not in its interval', p, printed[min(reach):max(reach) + 2])
        reach = new
    assert len(printed) in reach, (what, 'invented', max(reach), len(printed), printed[max(reach):][:2])
    sure = [o for o in printed if not o['tainted']]
    # of one that is marked the upper bound holds, of whichever call it is that begins there
    for o in printed:
        begun = [p[1][2] - p[0][2] for p in pairs if holds(o.get('from'), p[0][2])]
        if o['tainted'] and begun:
            assert min(begun) <= o['took'].get('hi', 1 << 64), (what, 'longer than at most', o, begun)
            count['bounds'] += 1
    count['marked'] += len(printed) - len(sure)
    count['widths'] += [o['took']['hi'] - o['took']['lo'] for o in sure if 'hi' in o.get('took', {})]


def latency(what, visits, holes, strict=True):
    gaps = [o for o in ask('timeline') if o['type'] == 'gap']
    work, leaf, fact, chain = (funcs[n] for n in ('work', 'leaf', 'fact', 'chain'))
    for begin, end in ((('enter', work), ('leave', work)), (('enter', fact), ('leave', fact)), (('enter', leaf), ('leave', leaf)),
                       (('enter', work), ('enter', fact)), (('enter', leaf), ('leave', work)), (('leave', leaf), ('enter', fact)),
                       (('enter', chain), ('leave', chain)), (('leave', chain), ('enter', work))):
        objs = [o for o in ask('latency', '--from', point(begin), '--to', point(end)) if o['type'] == 'pair']
        if begin[0] == 'enter' and what[1] in (700, 'damaged'):
            numbers(what, point(begin), point(end), objs)
        for t, v in visits.items():
            mine = [o for o in objs if o.get('tid') == TID + t]
            compare((what, t, point(begin), point(end)), mine, truth(v, begin, end), holes[t],
                    [g for g in gaps if g.get('tid') != TID + t], strict)


def numbers(what, begin, end, pairs):
    """What why explains by a number of latency is that one: the last one that a hole touches, and the one behind."""
    last = max((o['number'] for o in pairs if o['tainted'] and 'lo' in o.get('took', {})), default=len(pairs) // 2)
    for o in pairs[last - 1:last + 1]:
        this = [x for x in ask('why', '--from', begin, '--to', end, '--call', str(o['number'])) if x['type'] == 'this'][0]
        assert all(this.get(k) == o.get(k) for k in ('number', 'tid', 'from', 'to', 'took', 'tainted')), (what, begin, end, o, this)
        count['numbers'] += 1


def damage(seed):
    """Bytes of one thread's trace that were lost on the way."""
    name = max(glob.glob(cap + '/hw/*.bin'))
    data = bytearray(open(name, 'rb').read())
    at = len(data) * (3 + seed % 10) // 16
    data[at:at + 48] = bytes((i * 37 + seed * 11) & 0xff for i in range(48))
    open(name, 'wb').write(data)


def why(what, cause, visits, least, sure, begun=None):
    """The longest one (what began at tick @begun) is explained by @cause, for certain if @sure; all amounts hold the true ones.
    False if its end is not known."""
    work = funcs['work']
    rank = []
    if cause == 'hole':     # it has no rank: all others stand before it, and it is told of
        mine = [o for o in ask('latency', '--from', 'work') if o['type'] == 'pair' and o['tainted'] and o['tid'] == what[1] + TID and
                holds(o['from'], begun) and least <= o['took'].get('hi', 0)]
        if not mine:
            return False    # its return is not known for one behind the hole
        best = [o for o in ask('why', '--from', 'work') if o['type'] in ('this', 'why')]
        assert not best[0]['tainted'] and best[1]['tainted'] and best[1].get('tainted_most', 1 << 64) >= least, (what, best)
        rank = ['--call', str(mine[0]['number'])]
    objs = ask('why', '--from', 'work', *rank)
    parts = {o['what']: o for o in objs if o['type'] == 'part'}
    one = {o['type']: o for o in objs if o['type'] in ('this', 'typical')}
    end = [o for o in objs if o['type'] == 'why'][0]
    pairs = {t: truth(v, ('enter', work), ('leave', work)) for t, v in visits.items()}
    length = {k: [p[1][2] - p[0][2] for p in pairs[o['tid'] - TID] if is_of(o, p)] for k, o in one.items()}
    assert length['this'] and length['typical'], (what, one)
    if cause == 'hole' and max(length['this']) < least:
        return False
    assert max(length['this']) >= least, (what, one, length)
    diffs = [a - b for a in length['this'] if a >= least for b in length['typical']]
    assert any(holds(end['more'], d) for d in diffs), (what, end, diffs)
    # what is added up holds the truth, too
    lo, hi = (sum(p['more'].get(k) for p in parts.values()) for k in ('lo', 'hi'))
    assert any(lo <= d <= hi for d in diffs), (what, lo, hi, diffs)
    # six branches of one packet have one instant: if they are of two parts, both hold the truth, but none is certain to have it
    best = parts[cause]
    wrong = [p for p in parts.values() if p is not best and p['more']['lo'] > least // 10]
    assert not wrong, (what, wrong, best, one['this'])
    assert best['more']['hi'] >= least and best['more']['lo'] <= max(diffs) + max(length['typical']), (what, best, diffs)
    assert not sure or best['more']['lo'] > least // 2, (what, 'not certain', best)
    count['certain'] += best['more']['lo'] > least // 2
    count['causes'] += 1
    if cause == 'same path':
        assert any(holds(best['more'], d) for d in diffs), (what, best, diffs)
    return True


def calls_of(visits, name):
    return truth(visits, ('enter', funcs[name]), ('leave', funcs[name]))


def causes(time, seed):
    for t in 0, 1:
        visits, _ = make(time, 0, seed)
        calls = calls_of(visits[t], 'work')
        # a call as all others, slower in the recursion; in the second leaf() of one in eight, where its loop begins and in the middle
        for n, cause, name, k, at in ((101, 'same path', 'fact', 0, 2), (96, 'extra path', 'leaf', 1, 2), (96, 'extra path', 'leaf', 1, 40)):
            inner = [c for c in calls_of(visits[t], name) if calls[n][0][0] < c[0][0] and c[1][0] < calls[n][1][0]]
            run = (inner[-1] if name == 'fact' else inner[k])[0][1] + at
            slow, _ = make(time, 0, seed, (t, run, PLANT))
            why((time, t, cause), cause, slow, PLANT, name == 'fact' or at == 40)
        visits, holes = make(time, 700, seed)
        tried = 0
        for c in calls_of(visits[t], 'work'):
            inside = [h for h in holes[t] if c[0][0] < h[2] and h[1] < c[1][0] and h[1] - h[0] > 4]
            if not inside or sum(h[0] < c[1][0] and h[1] > c[0][0] for h in holes[t]) > 1:
                continue
            # only RUNs stand between: no system call is made in work()
            run = c[0][1] + (inside[0][0] + inside[0][1]) // 2 - c[0][0]
            slow, same = make(time, 700, seed, (t, run, PLANT))
            if same[t] != holes[t]:     # later packets, other overflows
                continue
            begun = [p[0][2] for p in calls_of(slow[t], 'work') if p[0][0] == c[0][0]][0]
            count['lost calls'] += why((time, t, 'hole'), 'hole', slow, PLANT, False, begun)
            tried += 1
            if tried == 2:
                break


for time in 'tsc+mtc+cyc', 'tsc+mtc', 'tsc+cyc', 'tsc':
    count['widths'] = []
    for seed in 1, 2:
        for overflows in 0, 2500, 700:
            visits, holes = make(time, overflows, seed)
            latency((time, overflows, seed), visits, holes)
        make(time, 0, seed)
        damage(seed)
        latency((time, 'damaged', seed), visits, {t: [] for t in visits}, False)
    count['widths'].sort()
    print('# %s: median width %d ns' % (time, count['widths'][len(count['widths']) // 2]))
    if time != 'tsc':   # its intervals are as wide as what is planted
        causes(time + '+flush', 3)
print('# %(clear)d pairs outside of holes, %(touched)d touch one, %(unproven)d with an end that nothing proves; %(marked)d marked, '
      '%(bounds)d of them begin where one did and have its bound; %(causes)d causes, %(certain)d certain, %(lost calls)d of them lost trace, '
      '%(numbers)d by their numbers' % count)
assert count['clear'] > 50000 and count['touched'] > 500 and count['marked'] > 100, {k: v for k, v in count.items() if k != 'widths'}
assert count['numbers'] > 100, count
assert count['lost calls'] * 2 > count['causes'] - 18, count
