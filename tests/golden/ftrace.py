#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares "hwtrace list" of a trace.dat with "trace-cmd report" of the same file: every event, in order, with
time, CPU, task and fields; what trace_printk() said; where events were lost and how many.

usage: ftrace.py HWTRACE FILE [REPORT-FILE] [-- option of trace-cmd report...]
"""
import json
import re
import subprocess
import sys

LINE = re.compile(r'^(?:(?P<buf>[^ :]+):)? *(?P<comm>.*)-(?P<tid>\d+) +\[(?P<cpu>\d+)\] *(?P<time>[\d.]+): '
                  r'(?P<event>[^ :]+): *(?P<rest>.*)$')
LOST = re.compile(r'^(?:[^ :]+:)? *CPU:(\d+) \[(?:(\d+) )?EVENTS DROPPED\]')


def lines(cmd):
    p = subprocess.run(cmd, capture_output=True)
    if p.returncode:
        sys.exit(f"{cmd}: {p.returncode} {p.stderr.decode(errors='replace')}")
    return p.stdout.decode('utf-8', 'replace').splitlines()


def report(file, options):
    """(time in ns or ticks, cpu, tid, event, rest), or ("lost", cpu, number)"""
    out = []
    for s in lines(['trace-cmd', 'report', '-t', *options, file]):
        m = LINE.match(s)
        if m:
            t = m['time']
            ns = int(t.replace('.', '')) if '.' in t and len(t.split('.')[1]) == 9 else int(t)
            out.append([ns, int(m['cpu']), int(m['tid']), m['event'], m['rest']])
        elif LOST.match(s):
            m = LOST.match(s)
            out.append(['lost', int(m[1]), int(m[2]) if m[2] else None])
        elif out and out[-1][0] != 'lost':
            out[-1][4] += '\n' + s      # an event that prints several lines
    return out


def ours(hwt, file):
    out, start = [], 0
    for s in lines([hwt, 'list', '-q', '--jsonl', file]):
        j = json.loads(s)
        if j['type'] == 'header':
            start = j.get('time_start', 0)
        if j['type'] != 'record':
            continue
        t = j['time']['lo'] + start if 'time' in j else j['ticks']['lo'] if 'ticks' in j else None
        name = j['name']
        if name == 'stream.lost':
            m = re.search(r'count=(\d+)', j['fields'])
            out.append(['lost', j['cpu'], int(m[1]) if m else None])
        else:
            out.append([t, j['cpu'], j['tid'], name.split(':', 1)[1], j.get('fields', '')])
    return out


def fields(s):
    s = re.sub(r' text=".*"$', '', s, flags=re.S)
    return [p.split('=', 1) for p in re.split(r' (?=[A-Za-z_][A-Za-z_0-9]*=)', s.strip()) if '=' in p]


def value(s):
    s = s.strip().replace('(nil)', '0')
    m = re.match(r'^ARRAY\[(.*)\]$', s)
    if m:
        return ''.join(f'{int(b, 16):02x}' for b in m[1].split(',') if b.strip())
    try:
        n = int(s, 10) if re.fullmatch(r'-?\d+', s) else int(s, 0)
    except ValueError:
        return re.sub(r'[^ -~]', '.', s)
    return n & (1 << 64) - 1 if n >= 0 else n


def symbols():
    """Addresses of each name of the running kernel; the peer shows some pointers by them."""
    if not symbols.at:
        with open('/proc/kallsyms') as f:
            for s in f:
                p = s.split()
                symbols.at.setdefault(p[2], set()).add(int(p[0], 16))
    return symbols.at


symbols.at = {}


def same(a, b):
    if a.strip().startswith('ARRAY['):
        return value(a) == b
    shown, a, b = a.strip(), value(a), value(b)
    if a == b:
        return True
    # the peer shows some numbers as their print format does: octal, hexadecimal without 0x, unsigned
    if isinstance(b, int) and b >= 0 and shown in (f'{b:o}', f'{b:x}'):
        return True
    if isinstance(a, str) and isinstance(b, int) and b >> 63:
        name, _, off = a.strip().partition('+')
        return b - int(off or '0', 0) in symbols().get(name, ())
    if isinstance(a, int) and isinstance(b, int):
        return any((a - b) % (1 << bits) == 0 for bits in (8, 16, 32, 64))
    return False


def main():
    args, options = sys.argv[1:], []
    if '--' in args:
        i = args.index('--')
        args, options = args[:i], args[i + 1:]
    hwt, file = args[0], args[1]
    want, said = report(file, ['-R', *options]), report(file, options)
    got = ours(hwt, file)
    several = any(LINE.match(s)['buf'] for s in lines(['trace-cmd', 'report', file]) if LINE.match(s))
    bad = nfields = texts = 0

    def wrong(i, why):
        nonlocal bad
        bad += 1
        if bad <= 3:
            print(f'{file}: event {i}: {why}\n  peer {want[i]}\n  ours {got[i]}')

    if len(want) != len(got) or len(said) != len(want):
        print(f'{file}: {len(want)} events and losses in the report ({len(said)}), {len(got)} in ours')
        return 1
    # a loss has no instant: the peer prints it with the record behind it, we where it can have begun
    for cpu in {x[1] for x in want}:
        a = [x[:4] for x in want if x[1] == cpu]
        b = [x[:4] for x in got if x[1] == cpu]
        if several:     # between records of other buffers: only how many, and their order
            a, b = [[x for x in v if x[0] == 'lost'] for v in (a, b)]
        for x, y in zip(a, b):
            if ('lost' in (x[0], y[0])) and x != y:
                print(f'{file}: cpu {cpu}: loss {x} is not {y}')
                bad += 1
    losses = sum(1 for x in got if x[0] == 'lost')
    want, got, said = [[x for x in v if x[0] != 'lost'] for v in (want, got, said)]
    for i, (w, g) in enumerate(zip(want, got)):
        if (w[1:4] if g[0] is None else w[:4]) != (g[1:4] if g[0] is None else g[:4]):
            wrong(i, 'another event, time, CPU or task')
            continue
        a, b = fields(w[4]), fields(g[4])
        if 'text="' in g[4]:
            texts += 1
            text = re.search(r' text="(.*)"$', g[4], re.S)[1]
            peer = re.sub(r'[^ -~]', '.', said[i][4].split(': ', 1)[1].rstrip())
            if text.rstrip() != peer:
                wrong(i, f'"{text}" is not "{peer}"')
            a, b = [x for x in a if x[0] != 'buf'], [x for x in b if x[0] != 'buf']
        if [x[0] for x in a] != [x[0] for x in b]:
            wrong(i, 'other fields')
            continue
        for x, y in zip(a, b):
            nfields += 1
            if not same(x[1], y[1]):
                wrong(i, f'field {x[0]}: {x[1]!r} is not {y[1]!r}')
    print(f'{len(got)} events, {nfields} fields, {texts} texts, {losses} losses: {bad} differ')
    return bad > 0


sys.exit(main())
