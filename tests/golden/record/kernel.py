# SPDX-License-Identifier: BSD-2-Clause
# kernel.py SAID [TIMELINE]: what the program of record_kernel.sh said, against the kernel events of its capture (JSON lines).
import json, sys
said = {w[0]: [int(x) for x in w[1:]] for w in (line.split() for line in open(sys.argv[1])) if len(w) == 6}
events = [j for j in map(json.loads, open(sys.argv[2])) if j.get('type') == 'kernel']
for e in events:
    e['values'] = {k: int(v, 16) if str(v).startswith('0x') else v for k, v in e['values'].items()}
bad = []
for who, (pid, tid, first, n, ppid) in said.items():
    mine = [e for e in events if e.get('tid') == tid]
    # one more for printf(), whose registers are what the last one left
    enter = [e for e in mine if e['name'] == 'syscall.enter' and e['values']['nr'] in (110, 173)][:n]
    if [e['values']['arg0'] for e in enter] != list(range(first, first + n)):
        bad.append(f'{who}: {len(enter)} calls, not {n} in order')
    if any(e['pid'] != pid or [e['values'][f'arg{k}'] for k in range(1, 6)] != [2, 3, 4, 5, 6] for e in enter):
        bad.append(f'{who}: process or arguments')
    # each is answered before the next one
    seq = [e['name'] for e in mine if e['name'] in ('syscall.enter', 'syscall.exit') and e['values']['nr'] in (110, 173)]
    if seq[:2 * n] != ['syscall.enter', 'syscall.exit'] * n:
        bad.append(f'{who}: enter and exit do not alternate')
    ret = {e['values']['ret'] for e in mine if e['name'] == 'syscall.exit' and e['values']['nr'] in (110, 173)}
    if ret != {ppid}:
        bad.append(f'{who}: results {ret}, not {ppid}')
names = {}
for e in events:
    names.setdefault(e['name'], []).append(e)
main, child, thread = said['main'], said['child'], said['thread']
forks = [(e['values']['parent_tid'], e['values']['child_pid'], e['values']['child_tid']) for e in names.get('sched.fork', [])]
if (main[1], child[0], child[1]) not in forks or (main[1], thread[0], thread[1]) not in forks:
    bad.append(f'forks: {forks}')
ends = {e['values']['task_tid'] for e in names.get('sched.exit', [])}
if not {main[1], child[1], thread[1]} <= ends:
    bad.append(f'ends: {ends}')
if [e['values']['path'].split('/')[-1] for e in names.get('sched.exec', [])] != ['prog']:
    bad.append('exec')
last = {}
for e in events:
    if e['time']['lo'] < last.get(e['cpu'], 0):
        bad.append('times go back')
    last[e['cpu']] = e['time']['lo']
print(f'# {len(events)} kernel events, {sum(v[3] for v in said.values())} calls as the program says')
for b in bad[:5]:
    print(b)
sys.exit(bool(bad))
