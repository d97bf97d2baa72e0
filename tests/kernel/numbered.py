# SPDX-License-Identifier: BSD-2-Clause
# numbered.py DIR: getppid calls of the guest, numbered 0 to 999 again and again, in DIR/killed-*, snap-* and event-*: lists of
# captures that were killed at some instant, and of snapshots. Of each thread none may be missing between the first and the last one.
import glob, json, os, re, sys
bad, calls, empty, held = [], 0, 0, {}
for f in sorted(glob.glob(sys.argv[1] + '/*-*.hwt')):
    name = os.path.basename(f)
    threads = {}
    for j in map(json.loads, open(f)):
        m = re.search(r'arg5=0x([0-9a-f]+)', j.get('fields', ''))
        if j.get('name') == 'syscall.enter' and m and re.search(r'arg0=0x1 arg1=0x2 arg2=0x3 arg3=0x4', j['fields']):
            # a thread's calls are on several CPUs
            threads.setdefault(j['tid'], []).append((j['time']['lo'] if 'time' in j else j['ticks']['lo'], int(m[1], 16)))
    for tid, v in threads.items():
        v = [n for _, n in sorted(v) if n < 1000]
        calls += len(v)
        if any(b != (a + 1) % 1000 for a, b in zip(v, v[1:])):
            bad.append(f'{name}: a call is missing or out of order')
    held[name] = sum(map(len, threads.values()))
    empty += not threads
killed = [n for n in held if n.startswith('killed')]
if sum(held[n] > 0 for n in killed) < 8:
    bad.append(f'calls in few of {len(killed)}')
for n in ('snap-1.hwt', 'snap-2.hwt', 'snap-3.hwt', 'event-1.hwt', 'event-2.hwt'):
    if held.get(n, 0) < 100 and n != 'event-2.hwt':
        bad.append(f'{n}: {held.get(n)} calls')
if not any('arg5=0x7a69' in line for line in open(sys.argv[1] + '/event-1.hwt')):
    bad.append('the event of the snapshot is not in it')
print(f'# {calls} numbered calls in {len(killed)} captures that were killed ({empty} empty) and {len(held) - len(killed)} snapshots')
for b in bad[:5]:
    print(b)
sys.exit(bool(bad))
