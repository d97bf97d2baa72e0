#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# clock.py PEER: clock.rate records, as babeltrace2 --clock-cycles shows them, against what follows exactly from the clock.sync records.
import re
import sys
from fractions import Fraction

LINE = re.compile(r'clock\.(sync|rate|freq): .*cpu_id = (\d+).*\{ ([^{}]*) \}$')
syncs, last, rates, hz = {}, {}, [], None
for line in open(sys.argv[1]):
    m = LINE.search(line)
    if not m:
        continue
    what, cpu = m.group(1), int(m.group(2))
    f = {k: int(v, 0) for k, v in re.findall(r'(\w+) = (?:\( [^)]*: container = )?(-?[0-9A-Fa-fx]+)', m.group(3))}
    if what == 'freq':
        hz = f['hz']
    elif what == 'sync':
        syncs[f['clock'], f['counter']] = f
        last[cpu, f['clock']] = f
    else:
        rates.append((f, last[cpu, f['clock']]))
bad = []
clocks = set()
for f, now in rates:
    was = syncs.get((f['clock'], now['counter'] - f['interval']))
    if not was:
        bad.append('no reading begins %s' % f)
        continue
    clocks.add(f['clock'])
    exact = Fraction((now['counter'] - was['counter']) * 10**9, now['value'] - was['value'])
    drift = (exact - hz) / hz * 10**9
    # the counter was anywhere in the widths, the clock in its nanosecond
    least = Fraction(was['width'] + now['width']) / f['interval'] * 10**9
    if not (0 <= exact * 1000 - f['rate'] < 1 and abs(drift - f['drift']) <= Fraction(10**9, hz * 1000) + 1 and
            f['error'] >= least and f['width'] == now['width']):
        bad.append('%s, %f Hz, drift %f, error from %f' % (f, exact, drift, least))
print('# %d rates of %d clocks, as from their readings' % (len(rates), len(clocks)))
if bad or len(clocks) < 3 or len(rates) < 9:
    sys.exit('\n'.join(bad[:5]) or 'that are few')
