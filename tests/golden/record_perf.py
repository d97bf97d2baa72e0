# SPDX-License-Identifier: BSD-2-Clause
# Two recordings of the machine that ran at the same time, by different providers: what happened on each CPU while both recorded is the same, in
# the same order, with the same values. Context is compared by CPU: an interrupt may come between what the two see of one event.
import json, sys
def read(f):
    return [j for j in map(json.loads, open(f)) if j['type'] == 'kernel']
a, b = (read(f) for f in sys.argv[1:3])
tid = int(open(sys.argv[3]).read())
kinds = {}
for who, ev in (('a', a), ('b', b)):
    mine = [j for j in ev if j.get('tid') == tid or tid in (j['values'].get('prev_tid'), j['values'].get('next_tid'), j['values'].get('child_tid'))]
    start = next(i for i, j in enumerate(mine) if j['name'] == 'sched.exec')
    end = next(i for i, j in enumerate(mine) if j['name'] == 'sched.exit' and j.get('tid') == tid)
    for j in mine[start:end + 1]:
        if j['name'] != 'stream.lost':
            kinds.setdefault(j['name'].split('.')[0] if j['name'] != 'sched.wakeup' else 'wakeup', {}).setdefault(who, []).append(j)
bad, n, only = [], 0, set()
for kind, d in kinds.items():
    x, y = d.get('a', []), d.get('b', [])
    if [j['name'] for j in x] != [j['name'] for j in y]:
        bad.append(f'{kind}: {len(x)} and {len(y)}')
    for p, q in zip(x, y):
        for k in p['values'].keys() | q['values'].keys():
            v, w = p['values'].get(k), q['values'].get(k)
            if v is None or w is None:
                only.add(f"{'second' if v is None else 'first'} alone: {p['name']}.{k}")
            elif v != w:
                bad.append(f"{p['name']}.{k}: {v} {w}")
            n += 1
print(f"# {sum(len(d.get('a', [])) for d in kinds.values())} events, {n} values" + ''.join(f'; {s}' for s in sorted(only)))
for s in bad[:5]:
    print(s)
sys.exit(bool(bad) or n < 2000)
