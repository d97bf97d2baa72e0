# SPDX-License-Identifier: BSD-2-Clause
"""stdin: timeline --jsonl of a recording by steps. A thread's own records come between a switch to
it and the next switch, and who leaves is who came in: prints what does not."""
import json
import sys

OWN = ("syscall.enter", "syscall.exit", "sched.signal_deliver", "sched.fork", "sched.exit")
on, known, bad, switches, own, out = -1, False, 0, 0, 0, 0
for line in sys.stdin:
    e = json.loads(line)
    name = e.get("name") or e["type"]
    if name == "sched.switch":
        text = e.get("fields") or ""
        f = dict(w.split("=", 1) for w in text.split() if "=" in w)
        prev = int(e.get("prev_tid", f.get("prev_tid", -1)))
        if known and prev not in (-1, on):
            bad += 1
            print(on, "came in last:", line.strip())
        on, known = int(e.get("next_tid", f.get("next_tid", -1))), True
        switches += 1
        out += on == -1
    elif name in OWN:
        own += 1
        if known and e["tid"] != on:
            bad += 1
            print(on, "is on the CPU:", line.strip())
        if name == "sched.exit":
            known = False
print("#", switches, "switches,", own, "records of threads,", out, "times all wait,", bad, "wrong")
sys.exit(bad > 0 or not switches or not own)
