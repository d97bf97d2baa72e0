# SPDX-License-Identifier: BSD-2-Clause
"""A call tree must nest: FILE [FUNC...] [CALLER>CALLEE...]; FUNC was found running, CALLER called CALLEE."""
import json, sys
want, open_ = sys.argv[2:], {}
n = {"call": 0, "return": 0, "open": 0, "untraced": 0, "resume": 0}
parents, running = set(), []
for line in open(sys.argv[1]):
    e = json.loads(line)
    t = e["type"]
    if t in n:
        n[t] += 1
    if t not in ("call", "return", "open"):
        continue
    st = open_.setdefault((e.get("src"), e.get("tid"), None if "tid" in e else e.get("cpu")), [])
    if t != "call":
        c = st.pop()
        if (c["depth"], c.get("func")) != (e["depth"], e.get("func")):
            sys.exit("not the end of %s: %s" % (c, line))
        continue
    if st and e["depth"] != st[-1]["depth"] + 1:
        sys.exit("depth %d in %d: %s" % (e["depth"], st[-1]["depth"], line))
    if e["inferred"] != (e["why"] in ("running", "again")):
        sys.exit("inferred: %s" % line)
    if e["why"] == "call":
        parents.add((st[-1].get("sym") if st else None, e.get("sym")))
    if e["why"] == "running":
        running.append(e.get("sym"))
    st.append(e)
left = [s for s in open_.values() if s]
if left or n["call"] != n["return"] + n["open"]:
    sys.exit("%s: %d stacks not empty" % (n, len(left)))
for w in want:
    a, op, b = w.partition(">")
    if op and (a, b) not in parents or not op and w not in running:
        sys.exit("no %s: %s %s" % (w, parents, running))
print("# %s: %s" % (sys.argv[1].rsplit("/", 1)[-1], n))
