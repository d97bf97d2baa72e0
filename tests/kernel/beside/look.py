# SPDX-License-Identifier: BSD-2-Clause
# What beside/guest.c recorded, as "timeline --jsonl" has it, against what tests/golden/record/dirty.c does.
import json, re, sys
N = 200
def read(name):
    return [j for j in map(json.loads, open(f'{sys.argv[1]}/{name}')) if j['type'] == 'kernel']
def text(j, f):
    m = re.search(rf'(?:^| ){re.escape(f)}=("[^"]*"|\S+)', j['fields'])
    return m and m[1].strip('"')
bad = []
def renames(ev):
    return [j for j in ev if j['name'] == 'dirty:task:task_rename' and re.fullmatch(r'n\d+', text(j, 'newcomm'))]
for who in ('module', 'tracefs'):
    ev = read(who)
    ren = renames(ev)
    tid = ren[0]['tid'] if ren else 0
    mine = [j for j in ev if j.get('tid') == tid]
    if [text(j, 'newcomm') for j in ren] != [f'n{i}' for i in range(N)] or {j['tid'] for j in ren} != {tid} or {j['pid'] for j in ren} != {tid}:
        bad.append(f'{who}: names: {len(ren)}')
    sig = [int(text(j, 'sig')) for j in mine if j['name'] == 'dirty:signal:signal_generate' and int(text(j, 'pid')) == tid]
    if sig != [[10, 12, 28][i % 3] for i in range(N // 10)]:
        bad.append(f'{who}: signals: {sig[:5]}')
    # the two streams have one order, also where their clocks are two: a name changes between entry and return of its call
    order = [j for j in mine if j['name'] in ('syscall.enter', 'syscall.exit') or j in ren]
    while order and order[0]['name'] != 'syscall.enter':
        order.pop(0)
    if [j['name'] for j in order] != ['syscall.enter', 'dirty:task:task_rename', 'syscall.exit'] * N:
        bad.append(f'{who}: order: {[j["name"] for j in order][:7]}')
    wide = [j['time']['hi'] - j['time']['lo'] for j in ren if 'hi' in j['time']]
    if len(wide) != len(ren):
        bad.append(f'{who}: a time without end')
    else:
        print(f'# {who}: {len(ren)} names inside of their calls, {len(sig)} signals; times within {max(wide, default=0)} ns')
if [text(j, 'newcomm') for j in renames(read('some'))] != [f'n{i}' for i in range(10, 20)]:
    bad.append('a condition on a text')

# a name is in context from the return of its call to the entry of the next one
want = [x for i in range(10, 20) for x in (('syscall.exit', f'n{i}'), ('syscall.enter', f'n{i}'))]
both = []
for f in ('ctx-some', 'ctx-offline'):
    got = [(j['values']['nr'], j['name'], text(j, 'ctx.comm')) for j in read(f) if j['name'].startswith('syscall.')]
    both.append(got)
    # prctl of x86-64 and arm64
    if [g[1:] for g in got if g[0] in (157, 167)] != want:
        bad.append(f'{f}: {len(got)} {got[:4]}')
if both[0] != both[1]:
    bad.append(f'context: {len(both[0])} in the kernel, {len(both[1])} offline')
print(f'# {len(both[0])} records by context, the same in the kernel and offline')

# one run, three providers: the program from its exec to its exit
SOLID = ('syscall.enter', 'syscall.exit', 'sched.switch', 'sched.exec', 'sched.fork', 'sched.exit')
class Run:
    def __init__(self, who):
        ev = read(who)
        start = [j for j in ev if j['name'] == 'sched.exec' and text(j, 'path') == '/bin/prog']
        if len(start) != 1:
            sys.exit(f'{who}: {len(start)} programs')
        life = [j for j in ev if j.get('tid') == start[0]['tid'] and j['name'] != 'stream.lost']
        mine = life[life.index(start[0]):]
        end = [i for i, j in enumerate(mine) if j['name'] == 'sched.exit']
        if len(end) != 1:
            sys.exit(f'{who}: {len(end)} ends')
        mine = mine[:end[0] + 1]
        self.solid = [j for j in mine if j['name'] in SOLID]
        at = [i for i, j in enumerate(mine) if j['name'] in SOLID]
        # An interrupt may come when one of the two has seen an event and the other has not: what interrupts tell is compared by itself,
        # and of what stands next to exec or exit the other one may have it outside.
        self.all, self.core = ([[j for j in part if j['name'] in names] for names in (('softirq.entry', 'softirq.exit'), ('sched.wakeup',))]
                               for part in (life, mine[at[1]:at[-2]]))
runs = [Run(who) for who in ('both-module', 'both-tracefs', 'both-perf')]
only, values = set(), 0
# what is wrong of events x of the module and y of another, one to one; notes what only one of them can tell
def differ(other, x, y):
    global values
    wrong = []
    for x, y in zip(x, y):
        for k in x['values'].keys() | y['values'].keys():
            if (k in x['values']) != (k in y['values']):
                only.add(f"{'module' if k in x['values'] else other} alone: {x['name']}.{k}")
            elif x['values'][k] != y['values'][k]:
                wrong.append(f"{x['name']}.{k}: {x['values'][k]} {y['values'][k]}")
            else:
                values += 1
    return wrong
names = lambda ev: [j['name'] for j in ev]
for other, r in (('tracefs', runs[1]), ('perf', runs[2])):
    only, values = set(), 0
    a, b = runs[0].solid, r.solid
    if names(a) != names(b):
        i = next((i for i, (x, y) in enumerate(zip(a, b)) if x['name'] != y['name']), min(len(a), len(b)))
        bad.append(f'{other}: {len(b)} events of {len(a)}, the first that differs: {i}, {names(a[i - 2:i + 2])}, {names(b[i - 2:i + 2])}')
        a, b = a[:i], b[:i]
    bad += differ(other, a, b)
    n = len(a)
    for mine, its in zip(zip(runs[0].core, runs[0].all), zip(r.core, r.all)):
        for core, all_ in ((mine[0], its[1]), (its[0], mine[1])):
            fits = [i for i in range(len(all_) - len(core) + 1) if names(all_[i:i + len(core)]) == names(core)]
            wrong = min((differ(other, core, all_[i:]) for i in fits), key=len, default=[f'{len(core)} events are not in its {len(all_)}'])
            bad += [f'{other}, of interrupts: {w}' for w in wrong]
        n += len(core)
    print(f'# module and {other} of one run: {n} events, {values} values the same' + ''.join(f'; {k}' for k in sorted(only)))
    if n < 2 * N or values < 8 * N:
        bad.append('too few')
for s in bad[:8]:
    print(s)
sys.exit(bool(bad))
