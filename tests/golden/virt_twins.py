#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One workload, recorded at once by perf, by trace-cmd and by an instance of tracefs, on the same clock; and whether all
give the same virtual events.

usage: virt_twins.py record DIR       makes DIR/perf.data, DIR/trace.dat and DIR/tracefs; exit 77 with the reason if it can not be
       virt_twins.py compare OTHER TRACEFS   listings of tests/tools/kernel_events
       virt_twins.py names OTHER TRACEFS     text of timelines: tasks have the same names at each event
       virt_twins.py findings CHECK LISTING TURNS   "check --jsonl" of a recording, its events, and what "record" wrote to DIR/turns
       virt_twins.py sections EVENTS.DEF     the table below is whole
"""
import bisect
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = next((p for p in ('/sys/kernel/tracing', '/sys/kernel/debug/tracing') if os.path.isdir(p + '/instances')), None)
EVENTS = '''sched:sched_switch sched:sched_waking sched:sched_wakeup sched:sched_wakeup_new sched:sched_migrate_task
sched:sched_process_fork sched:sched_process_exec sched:sched_process_exit sched:sched_process_free task:task_newtask
task:task_rename signal:signal_generate signal:signal_deliver irq:irq_handler_entry irq:irq_handler_exit
irq:softirq_raise irq:softirq_entry irq:softirq_exit irq_vectors:local_timer_entry irq_vectors:local_timer_exit
irq_vectors:reschedule_entry irq_vectors:reschedule_exit irq_vectors:call_function_entry irq_vectors:call_function_exit
irq_vectors:call_function_single_entry irq_vectors:call_function_single_exit timer:timer_start timer:timer_cancel
timer:timer_expire_entry timer:timer_expire_exit timer:hrtimer_start timer:hrtimer_cancel timer:hrtimer_expire_entry
timer:hrtimer_expire_exit workqueue:workqueue_queue_work workqueue:workqueue_execute_start
workqueue:workqueue_execute_end raw_syscalls:sys_enter raw_syscalls:sys_exit exceptions:page_fault_user
exceptions:page_fault_kernel power:cpu_idle power:cpu_frequency power:suspend_resume net:net_dev_queue net:net_dev_xmit
net:netif_receive_skb napi:napi_poll skb:kfree_skb block:block_rq_insert block:block_rq_issue block:block_rq_requeue
block:block_rq_complete block:block_bio_queue ipi:ipi_send_cpu ipi:ipi_send_cpumask sched:sched_pi_setprio
module:module_load module:module_free'''.split()
# What must be the same from all providers here; or why there is only one, and where the section is tested.
SECTIONS = {
    'sched': 'switch waking wakeup wakeup_new migrate fork exec exit comm free signal_send signal_deliver',
    'irq': 'entry exit',
    'softirq': 'raise entry exit work_queue work_start work_end',
    'syscall': 'enter exit',
    'block': 'queue issue complete',
    'net': 'rx tx xmit',
    'mm': 'fault',
    'timer': 'start cancel expire done hr_start hr_expire hr_done',
    'stream': ['losses are those of each recorder: ftrace_live.sh, and the unit tests of the readers'],
    'text': ['perf alone tells of code that is made or patched; this kernel may load no modules: unit tests of the readers'],
    'power': ['a virtual machine may have no idle states, speeds and sleep to tell: ctf_events.sh, ftrace.sh'],
    'user': ['only the kernel module carries marks of programs: perf can not record what is written to trace_marker'],
    'state': ['the kernel module alone tells what there is when a recording begins: held against /proc in guests (tests/kernel)'],
    'clock': ['native captures alone tie clocks by events, the others in headers: unit tests of hwtrace/source'],
}
# perf records before and after this; tracefs from its first to its last line, trace-cmd a little longer
WORK = r'''echo 1 >"$5/tracing_on"; echo 1 >"$2/tracing_on"; i=0; while [ $i -lt 4 ]; do ls / >/dev/null; sleep 0.01; i=$((i + 1)); done; (sleep 0.03 & kill $!; wait) 2>/dev/null
dd if=/dev/zero of="$3" bs=64k count=4 oflag=direct 2>/dev/null; taskset -c 0 sleep 0.01; taskset -c "$4" sleep 0.01
python3 -S -c '
import os, signal, socket, time
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(("127.0.0.1", 0))
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(20): b.sendto(b"x" * 100, a.getsockname()); a.recv(200)
signal.signal(signal.SIGUSR1, lambda *x: None)
for i in range(5): os.kill(os.getpid(), signal.SIGUSR1); os.sched_setaffinity(0, {i % os.cpu_count()}); time.sleep(0.001)
'; echo 0 >"$2/tracing_on"; echo 0 >"$5/tracing_on"'''


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def skip(why):
    print(why)
    sys.exit(77)


def copy_text(src, dst):
    os.makedirs(os.path.dirname(dst), exist_ok=True)
    with open(src, 'rb') as f, open(dst, 'wb') as g:
        g.write(f.read())


def save(inst, out, events):
    """What a reader needs: how pages and events are laid out, and the pages."""
    copy_text(inst + '/events/header_page', out + '/events/header_page')
    copy_text(inst + '/trace_clock', out + '/trace_clock')
    for e in events:
        p = '/events/' + e.replace(':', '/') + '/format'
        copy_text(inst + p, out + p)
    for cpu in os.listdir(inst + '/per_cpu'):
        fd = os.open(f'{inst}/per_cpu/{cpu}/trace_pipe_raw', os.O_RDONLY | os.O_NONBLOCK)
        os.makedirs(f'{out}/per_cpu/{cpu}')
        with open(f'{out}/per_cpu/{cpu}/trace_pipe_raw', 'wb') as g:
            while True:
                try:
                    b = os.read(fd, os.sysconf('SC_PAGESIZE'))
                except BlockingIOError:
                    break
                if not b:
                    break
                g.write(b)
        os.close(fd)
    text = {}
    for cpu in os.listdir(inst + '/per_cpu'):
        with open(f'{inst}/per_cpu/{cpu}/stats') as f:
            text[cpu] = f.read()
    return any(re.search(r'^(overrun|commit overrun|dropped events): [1-9]', t, re.M) for t in text.values())


def block_device(out):
    """A file behind a block device of its own, to give back; or one that is written past the cache."""
    path = out + '/file'
    with open(path, 'wb') as f:
        f.truncate(1 << 20)
    p = subprocess.run(['losetup', '-f', '--show', path], capture_output=True, text=True)
    return (p.stdout.strip(), p.stdout.strip()) if p.returncode == 0 else (path, None)


# What trace-cmd can not write in some machines, the function tracer's files, it finds harmless ones for: see ftrace_live.sh.
NAMESPACE = ''': >"$0/null"; echo 1 >"$0/one"; mount --bind "$0/one" /proc/sys/kernel/ftrace_enabled
for d in "$1" "$1/instances/$2"; do for f in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid; do
mount --bind "$0/null" "$d/$f"; done; done 2>/dev/null; shift 2; exec "$@"'''


def trace_cmd(out, args):
    """What runs a command under trace-cmd, in an instance of its own."""
    name = f'hwtrace-cmd-{os.getpid()}'
    if not shutil.which('trace-cmd'):
        return []
    os.mkdir(f'{ROOT}/instances/{name}')
    return ['unshare', '-m', 'sh', '-c', NAMESPACE, out, ROOT, name, 'trace-cmd', 'record', '-q', '-o', out + '/trace.dat', '-B', name,
            '-C', 'mono', '-b', '16384', *args, 'sh', '-c', 'echo 0 >"$0/tracing_on"; exec "$@"', f'{ROOT}/instances/{name}']


def record(out):
    if os.geteuid() or not ROOT:
        skip('not root, or no tracefs')
    inst = f'{ROOT}/instances/hwtrace-twins-{os.getpid()}'
    try:
        os.mkdir(inst)
    except OSError as e:
        skip(f'no instance of tracefs: {e}')
    lost, loop, turns = False, None, None
    try:
        write(inst + '/tracing_on', '0')
        write(inst + '/trace_clock', 'mono')
        write(inst + '/buffer_size_kb', '16384')
        events = [e for e in EVENTS if os.path.isdir(f'{inst}/events/' + e.replace(':', '/'))]
        for e in events:
            write(f'{inst}/events/' + e.replace(':', '/') + '/enable', '1')
        args = [a for e in events for a in ('-e', e)]
        file, loop = block_device(out)
        work = ['sh', '-c', WORK, 'sh', out, inst, file, str(max(os.sched_getaffinity(0)))]
        perf = ['perf', 'record', '-q', '-N', '-B', '-k', 'mono', '-m', '2048', '-a', '-o', out + '/perf.data', *args, '--', *work]
        around = trace_cmd(out, args)
        turns = Turns()
        turns.sample()
        turns.start()
        p = subprocess.run([*around, *perf, *(around[-1:] or [inst])], capture_output=True, text=True)
        if around and not os.path.exists(out + '/trace.dat'):
            print('# trace-cmd can not record here: ' + p.stderr.strip().split('\n')[-1].strip())
            write(inst + '/trace', '')
            p = subprocess.run([*perf, inst], capture_output=True, text=True)
        if p.returncode:
            skip('perf can not record these events: ' + p.stderr.strip().split('\n')[-1])
        lost = save(inst, out + '/tracefs', events)
    finally:
        if turns:
            turns.save(out + '/turns')
        if loop:
            subprocess.run(['losetup', '-d', loop])
        write(inst + '/events/enable', '0')
        for name in (inst, f'{ROOT}/instances/hwtrace-cmd-{os.getpid()}'):
            for _ in range(50):
                try:
                    os.rmdir(name)
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.1)
    if lost:
        skip('the machine is too busy: tracefs lost events')


# what tracefs alone does not tell: processes, and what depends on the architecture
APART = ('_pid', 'access', 'abi')
FIELD = re.compile(r'([a-z_0-9]+)=("(?:[^"\\]|\\.)*"|\S+)')


def load(path, skip_tids):
    """(name, cpu) -> [(time, tid, fields, fields that stand apart)]"""
    out = {}
    with open(path, errors='replace') as f:
        for line in f:
            t, cpu, who, name, rest = (line.rstrip('\n') + ' ').split(' ', 4)
            if name == 'stream.lost':
                skip(f'the machine is too busy: {path} lost events')
            tid = int(who.split('/')[1])
            if name.startswith('dirty:') or name == 'mm.map' or tid in skip_tids:
                continue
            f = dict(FIELD.findall(rest))
            pids = {k: v for k, v in f.items() if k.endswith(APART)}
            pids[''] = who.split('/')[0]
            f = tuple(sorted((k, v) for k, v in f.items() if not k.endswith(APART)))
            seq = out.setdefault((name, int(cpu)), [])
            x = (int(t), tid, f, pids)
            # now and then perf writes a record twice, at two places of the file; "perf script" shows both
            if not seq or seq[-1] != x:
                seq.append(x)
    return out


NEAR = 1000000      # ns between the stamps of both


def pair(few, many):
    """Pairs of equal events in order; those of the first that have none; those of the second between the pairs"""
    a, b = [x[1:3] for x in few], [x[1:3] for x in many]
    for i in range(len(b) - len(a) + 1):
        if b[i] == a[0] and b[i:i + len(a)] == a:
            return list(zip(few, many[i:])), [], []
    pairs, alone, over, j, last = [], [], [], 0, None
    for x in few:
        while j < len(many) and many[j][0] < x[0] - NEAR:
            j += 1
        k = next((k for k in range(max(j, 0 if last is None else last + 1), len(many))
                  if many[k][0] > x[0] + NEAR or many[k][1:3] == x[1:3]), len(many))
        if k == len(many) or many[k][1:3] != x[1:3]:
            alone.append(x)
            continue
        over += many[last + 1:k] if last is not None else []
        pairs.append((x, many[k]))
        last = k
    return pairs, alone, over


def hidden_tasks():
    """Machines that are sandboxes of others may hide the threads of process 1 from every tracer."""
    return {int(t) for t in os.listdir('/proc/1/task')}


class Turns(threading.Thread):
    """How often the threads of process 1 have got a CPU, by the scheduler's own count, every 5 ms: lines "from to turns" of DIR/turns."""

    def __init__(self):
        super().__init__()
        self.over = threading.Event()
        self.samples, self.fds, self.had = [], {}, {}

    def count(self):
        # a thread that ends keeps its turns: else they would hide one that another had meanwhile
        for tid in hidden_tasks():
            try:
                if tid not in self.fds:
                    self.fds[tid] = os.open(f'/proc/1/task/{tid}/schedstat', os.O_RDONLY)
                self.had[tid] = int(os.pread(self.fds[tid], 100, 0).split()[2])
            except (OSError, IndexError):       # it has ended, or the kernel does not count
                pass
        return sum(self.had.values())

    def sample(self):
        t = time.monotonic_ns()
        n = self.count()
        self.samples.append((t, time.monotonic_ns(), n))

    def run(self):
        while not self.over.wait(0.005):
            self.sample()

    def save(self, path):
        self.over.set()
        self.join()
        self.sample()
        write(path, ''.join(f'{a[0]} {b[1]} {b[2] - a[2]}\n' for a, b in zip(self.samples, self.samples[1:])))


def turn_between(turns, lo, hi):
    return any(n and a <= hi and lo <= b for a, b, n in turns)


def findings(path, listing, turns):
    """Of "check --jsonl": none, but where a hidden thread had a turn: there records are missing indeed. It was on the CPU between the
    record that does not fit and the one before, and the kernel counted its turn then; and no turn explains two. What perf has read
    twice is there twice."""
    turns = [tuple(map(int, line.split())) for line in open(turns)]
    at, twice, places = {}, 0, set()
    for line in open(listing, errors='replace'):
        t, cpu = line.split(' ', 2)[:2]
        at.setdefault(int(cpu), []).append(int(t))
    for line in open(path):
        j = json.loads(line)
        if j['type'] == 'header':
            start = j['time_start']
        if j['type'] == 'contract':
            total = j
        if j['type'] != 'finding':
            continue
        # of one that comes and goes unseen, the neighbours do not fit
        if j['rule'] in ('switch', 'runs'):
            t = start + j['time']
            v = at[j['cpu']]
            k = bisect.bisect_left(v, t)
            if k == len(v) or v[k] != t:
                sys.exit(f'contracts: no record is where a finding is: {j}')
            if not turn_between(turns, v[k - 1] if k else 0, t):
                near = [(a, b, n) for a, b, n in turns if n and a <= t + 10 ** 8 and b >= t - 10 ** 8]
                sys.exit(f'contracts: no hidden thread had a turn here: {j}; records before it at {v[max(k - 4, 0):k]}; turns near: {near}')
            places.add((j['cpu'], t))
        elif j['rule'] == 'twice' and 'perf' in path:
            twice += 1
        else:
            sys.exit(f'contracts: {j}')
    if total['losses'] or total['rules_off']:
        sys.exit(f'contracts: {total}')
    n = sum(t[2] for t in turns)
    if len(places) > n:
        sys.exit(f'contracts: {len(places)} switches are missing, hidden threads had {n} turns')
    print(f"# {path.split('/')[-1][:-6]}: {total['checks']} checks of {total['records']} records, no finding"
          + (f'; but the switches of threads that are hidden from tracers are missed, at {len(places)} of {n} turns of theirs'
             if places else '')
          + (f'; the same records at two places of the file {twice} times' if twice else ''))


def compare(other, tracefs):
    hidden = hidden_tasks()
    p, t = load(other, hidden), load(tracefs, hidden)
    n = pids = 0
    odd, seen = [], set()
    for key, v in sorted(t.items()):
        pairs, alone, over = pair(v, p.get(key, []))
        for x, y in pairs:
            for k in x[3].keys() & y[3].keys():
                if '-1' in (x[3][k], y[3][k]):
                    continue
                pids += 1
                if x[3][k] != y[3][k]:
                    sys.exit(f'{key}: {k} of tracefs {x} and {other} {y}')
        n += len(pairs)
        odd += [(key, 'tracefs', x) for x in alone] + [(key, other, x) for x in over]
        if pairs:
            seen.add(key[0])
    # a task may be interrupted or moved to another CPU between the two stamps
    if len(odd) > 2 + n // 10000:
        sys.exit(f'{n} events are the same, {len(odd)} are not: ' + '\n  '.join(map(str, odd[:6])))
    for section, need in SECTIONS.items():
        for kind in need.split() if isinstance(need, str) else []:
            if f'{section}.{kind}' not in seen and (kind != 'migrate' or os.cpu_count() > 1):
                sys.exit(f'no {section}.{kind} was recorded by both')
    print(f'# {n} virtual events of {len(seen)} kinds are the same from {other.split("/")[-1][:-4]} and tracefs, and {pids} processes;'
          f' {len(odd)} have no twin')


def names(other, tracefs):
    """The names that tasks have when they call the kernel, fault and end, in order of time."""
    def read(path):
        out = {}
        for line in open(path, errors='replace'):
            m = re.match(r'\s*[\d.]+\s+\[\d+\]\s+(\d+)/(\S.*?)\s+-- #\d+ (\S+): (.*)', line)
            if m:
                # arguments of a call are named where the machine's architecture is known, which saved pages do not tell
                text = '' if m[3] == 'syscall.enter' else \
                    ' '.join(sorted(k + '=' + v for k, v in FIELD.findall(m[4]) if not k.endswith(APART)))
                out.setdefault((m[1], m[3], text), []).append(m[2])
        return out
    p, t = read(other), read(tracefs)
    n, tasks = 0, {}
    for key, v in t.items():
        w = p.get(key, [])
        if len(w) < len(v):     # between the two stamps the recording began or ended
            continue
        n += len(v)
        tasks.setdefault(key[0], set()).update(v)
        # of a task that was there before and after both, the other one may have more at either end
        if not any(w[i:i + len(v)] == v for i in range(len(w) - len(v) + 1)):
            sys.exit(f'{key}: {v} in tracefs, {w} in {other}')
    more = sum(len(v) > 1 for v in tasks.values())
    if n < 20 or more < 5:
        sys.exit(f'{n} names of {len(tasks)} tasks, {more} with more than one')
    print(f'# at {n} events of {len(tasks)} tasks their names are the same; {more} tasks had more than one')


def sections(path):
    every = set(re.findall(r'^HWT_SECTION\((\w+),', open(path).read(), re.M))
    if every != set(SECTIONS):
        sys.exit(f'sections without a row: {every ^ set(SECTIONS)}')
    for name, row in SECTIONS.items():
        if not isinstance(row, str):
            print(f'# {name}: {row[0]}')


{'record': record, 'findings': findings, 'compare': compare, 'names': names, 'sections': sections}[sys.argv[1]](*sys.argv[2:])
