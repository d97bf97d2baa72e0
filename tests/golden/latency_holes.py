# SPDX-License-Identifier: BSD-2-Clause
"""A trace with bytes damaged in it: each pair that is not called tainted is one of the intact trace, and why ends in good order.
latency_holes.py TOOL CAPTURE.hwt COPY.hwt POINT"""
import glob
import json
import shutil
import subprocess
import sys

tool, intact, copy, point = sys.argv[1:5]


def pairs(path):
    out = subprocess.run([tool, 'latency', '--jsonl', '-q', '--from', point, path], stdout=subprocess.PIPE, check=True).stdout
    objs = [json.loads(line) for line in out.splitlines()]
    return [o for o in objs if o['type'] == 'pair'], [o for o in objs if o['type'] == 'latency'][0]


def meets(a, b):
    return a['lo'] <= b.get('hi', 1 << 64) and b['lo'] <= a.get('hi', 1 << 64)


want, _ = pairs(intact)
# where its calls are: a slow machine has most of its trace elsewhere
calls = subprocess.run([tool, 'calls', '--jsonl', '-q', intact], stdout=subprocess.PIPE, check=True).stdout
offs = [o['off'] for o in map(json.loads, calls.splitlines()) if o.get('sym') == point]
tainted = holes = 0
for k in range(12):
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(intact, copy)
    name = max(glob.glob(copy + '/hw/*.bin'))
    data = bytearray(open(name, 'rb').read())
    at = offs[0] + (offs[-1] - offs[0]) * k // 12
    data[at:at + 48] = bytes((i * 37 + k * 11) & 0xff for i in range(48))
    open(name, 'wb').write(data)
    got, sum_ = pairs(copy)
    used = set()
    for p in got:
        if p['tainted']:
            continue
        hits = [i for i, w in enumerate(want) if i not in used and meets(p['from'], w['from']) and meets(p['to'], w['to'])]
        assert hits, ('no such pair in the intact trace', k, p)
        used.add(hits[0])
    tainted += sum_['tainted']
    holes += len(used) < len(want)
    for call in [p['number'] for p in got if p['tainted']][:1] or [1]:
        r = subprocess.run([tool, 'why', '--jsonl', '-q', '--from', point, '--call', str(call), copy], stdout=subprocess.PIPE)
        assert r.returncode in (0, 2), (call, r)
assert holes, (len(want), tainted)
