#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# sequence.py ACCESS DIFFERENCES: what Linux's drivers write to the first trace unit and its controller, from claim to start and from there to the
# end, beside what the module writes for the same wish. Each difference must be in DIFFERENCES, with its reason, and each of those must be seen.
import re
import sys

CONTROL = {'etm': {0xfa0: 'claim', 0x300: 'oslock', 0x310: 'power', 0x004: 'enable', 0xfa4: 'unclaim'},
           'tmc': {0xfa0: 'claim', 0x020: 'enable', 0xfa4: 'unclaim'}}
BUFFER = {0x004, 0x118, 0x11c, 0x014, 0x018, 0x038, 0x03c}     # where it lies, how long it is

phases = [[]]
for line in open(sys.argv[1]):
    if line.startswith('MARK'):
        phases.append([])
    m = re.match(r'W (etm0|tmc0) 0x(\w+) (\w+)', line)
    if m:
        phases[-1].append((m[1][:3], int(m[2], 16), int(m[3], 16)))

def first(phase, unit):
    """Configuration, order of control words up to the start, and words from there to the end: of the first run."""
    config, order, after, on = {}, [], [], False
    writes = [(r, v) for u, r, v in phase if u == unit and r != 0xfb0]
    # what finding the unit does is not of a run
    start = next(i for i, (r, v) in enumerate(writes) if r == 0xfa0)
    start -= unit == 'etm' and start > 0 and writes[start - 1][0] in (0x300, 0x310)
    for r, v in writes[start:]:
        name = CONTROL[unit].get(r)
        if on:
            after.append('%s=%x' % (name or '%03x' % r, v))
            if name == 'enable' and v == 0:
                break
        elif name:
            order.append('%s=%x' % (name, v))
            on = name == 'enable' and v == 1
        else:
            if not order or order[-1] != 'config':
                order.append('config')
            config[r] = v
    return config, ' '.join(order), ' '.join(after)

found = set()
for unit in ('etm', 'tmc'):
    linux, ours = first(phases[0], unit), first(phases[1], unit)
    for r in sorted(set(linux[0]) | set(ours[0])):
        a, b = (('%x' % c[0][r]) if r in c[0] else '-' for c in (linux, ours))
        if unit == 'tmc' and r in BUFFER:
            a, b = (x if x == '-' else 'buffer' for x in (a, b))
        if a != b:
            found.add('%s %03x: %s, %s' % (unit, r, a, b))
    for what, i in (('start', 1), ('stop', 2)):
        if linux[i] != ours[i]:
            found.add('%s %s: %s, %s' % (unit, what, linux[i], ours[i]))
    print('# %s: %d registers written by Linux, %d by the module' % (unit, len(linux[0]), len(ours[0])))
known = {l.split(' -- ')[0] for l in open(sys.argv[2]) if l.strip() and not l.startswith('#')}
for d in sorted(found - known):
    print('not explained: ' + d)
for d in sorted(known - found):
    print('not seen: ' + d)
print('# %d differences, each with its reason' % len(found))
sys.exit(found != known)
