# SPDX-License-Identifier: BSD-2-Clause
# syscalls.py LIST PERF: system calls of each thread three ways: syscall instructions that ran and records, both of our capture
# (list --jsonl), and what the kernel told perf at the same time (perf script -F tid,event,trace).
import collections, json, re, sys

RESTARTS = {-512, -513, -514, -516}	# ERESTARTSYS ...: the kernel goes back to the instruction, or to restart_syscall
RESTART_SYSCALL = 219
# these begin once and do not come back: exit, exit_group, and execve as seen by its caller's thread
GONE = {60, 231}

insn, enter, leave = (collections.defaultdict(list) for _ in range(3))
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["type"] == "insn" and e["text"].split()[0] == "syscall":
        insn[e["tid"]].append(e["time"])
    elif e["type"] == "record" and e["name"] in ("syscall.enter", "syscall.exit"):
        f = dict(w.split("=", 1) for w in e["fields"].split())
        (enter if e["name"] == "syscall.enter" else leave)[e["tid"]].append((int(f["nr"]), int(f.get("ret", 0)), e["time"]))
kernel = collections.defaultdict(list)	# (nr, ret) of each call, ret None: it did not come back
for line in open(sys.argv[2]):
    m = re.match(r"\s*(\d+)\s+raw_syscalls:sys_(enter|exit):\s+NR (-?\d+) (?:= (-?\d+))?", line)
    if not m or int(m[1]) not in enter:
        continue
    calls = kernel[int(m[1])]
    if m[2] == "enter":
        calls.append((int(m[3]), None))
    elif calls and calls[-1][0] == int(m[3]):
        calls[-1] = (calls[-1][0], int(m[4]))

bad = []
# Is @mine the end of @theirs? Calls that the stepping made the kernel begin again are told once: those may be left out.
def fits(mine, theirs):
    reach = {len(mine)}		# how many of mine are not matched yet
    for nr, ret in reversed(theirs):
        now = set()
        for k in reach:
            if k and mine[k - 1][0] == nr and mine[k - 1][1] in (None, ret):
                now.add(k - 1)
            if not k or ret in RESTARTS or nr == RESTART_SYSCALL:
                now.add(k)
        reach = now
        if not reach:
            return False
    return 0 in reach

calls = 0
for tid in sorted(enter):
    ends = collections.deque(leave[tid])
    mine = []
    for nr, _, t in enter[tid]:
        # the exit of execve, and of the clone that made this thread, is before the first call that we saw
        while ends and ends[0][2]["hi"] < t["lo"]:
            ends.popleft()
        mine.append((nr, ends.popleft()[1] if ends and ends[0][0] == nr and nr not in GONE else None))
    if not fits(mine, kernel[tid]):
        bad.append("thread %d: ours %s, the kernel's %s" % (tid, mine, kernel[tid]))
    if len(insn[tid]) != len(mine):
        bad.append("thread %d: %d syscall instructions, %d records" % (tid, len(insn[tid]), len(mine)))
        continue
    for k, (i, (nr, _, t)) in enumerate(zip(insn[tid], enter[tid])):
        # the kernel is entered after the instruction began and before the next one of the thread can be over
        if i["lo"] > t["hi"] or (k + 1 < len(insn[tid]) and insn[tid][k + 1].get("hi", 1 << 63) < t["lo"]):
            bad.append("thread %d: call %d of nr %d at %s, instruction %s" % (tid, k, nr, t, i))
    calls += len(mine)
print("\n".join(bad) if bad else "%d calls of %d threads" % (calls, len(enter)))
sys.exit(1 if bad or not calls else 0)
