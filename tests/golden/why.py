# SPDX-License-Identifier: BSD-2-Clause
"""What why --jsonl says: parts that add up, the largest, and what it must be.
why.py FILE -; or what the program of why.c measured with the clock of the events, ns:
why.py FILE preempted OTHER ROUND: another task ran for OTHER at least, and the round took ROUND at most;
why.py FILE blocked SLEEP CPU ROUND: the task slept in SLEEP, and was on a CPU for CPU at most."""
import json
import sys

objs = [json.loads(line) for line in open(sys.argv[1])]
why = [o for o in objs if o['type'] == 'why'][0]
parts = [o for o in objs if o['type'] == 'part']
assert len(parts) == 14, parts
lo, hi = sum(p['more']['lo'] for p in parts), sum(p['more']['hi'] for p in parts)
# both hold the true difference
assert lo <= why['more']['hi'] and why['more']['lo'] <= hi, (lo, hi, why)
for which in ('this', 'typical'):
    took = [o for o in objs if o['type'] == which][0]['took']
    assert sum(p[which]['lo'] for p in parts) <= took['hi'] and \
        took['hi'] <= sum(p[which]['hi'] for p in parts), (which, took)
what = sys.argv[2]
best = max(parts, key=lambda p: max(p['more']['lo'], -p['more']['hi'], 0))
if what != '-':
    assert best['what'] == what, (what, best)
said = [int(x) for x in sys.argv[3:]]
part = {p['what']: p['this'] for p in parts}
if what == 'preempted':
    # all the time that the other had its CPU, and no more than there was
    assert part['preempted']['hi'] >= said[0] and part['preempted']['lo'] <= said[1], (part, said)
    assert best.get('by') == 'hog', best
elif what == 'blocked':
    # all but the sleep is being ready, being made to leave, and interrupts, which may not count as CPU time
    other = sum(part[k]['hi'] for k in ('ready', 'preempted', 'irq', 'softirq', 'off-cpu'))
    assert part['blocked']['lo'] <= said[0] and part['blocked']['hi'] + other >= said[0] - said[1], (part, said)
