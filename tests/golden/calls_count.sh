#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A board's function calls, counted, against how often OpenCSD's own lister sees a range begin at each function's first instruction.
. tests/golden/common
need_captures
need trc_pkt_lister
need python3
d=$CAP/arm/r5f-freertos/in
"$HWT" calls --summary --insns --jsonl "$d" --elf "$d/freertos.out" >"$TMP/l" 2>/dev/null || die "exit $?"
trc_pkt_lister -ss_dir "$d" -decode -logfilename "$TMP/ppl" >/dev/null 2>&1
python3 - "$TMP/l" "$TMP/ppl" <<'PY' || exit 1
import collections, json, re, sys
# a range where tracing starts was not called: its function is running, and its leave has no entry
begin, starts, on, insns = collections.Counter(), 0, False, 0
for line in open(sys.argv[2], errors="replace"):
    m = re.search(r"exec range=0x([0-9a-f]+):", line)
    if m and on:
        starts += 1
    elif m:
        begin[int(m[1], 16)] += 1
    m = re.search(r"num_i\((\d+)\)", line)
    insns += int(m[1]) if m else 0
    on = "ELEM_TRACE_ON" in line or (on and "exec range" not in line)
rows = [r for r in map(json.loads, open(sys.argv[1])) if r["type"] == "function" and "sym" in r]
for r in rows:
    if r["calls"] and r["calls"] != begin[int(r["addr"], 16)]:
        sys.exit("%s: %d calls, %d ranges begin there" % (r["sym"], r["calls"], begin[int(r["addr"], 16)]))
# each entry, and each function found running, has one end; where tracing starts one is found running
odd = [r["sym"] for r in rows if r["calls"] + r["running"] != r["leaves"] + r["lost"] + r["open"]]
if odd:
    sys.exit("not balanced: %s" % odd)
if sum(r["running"] for r in rows) != starts:
    sys.exit("%d functions found running, tracing starts %d times" % (sum(r["running"] for r in rows), starts))
# a trace without holes inside leaves what it enters: all but those open where it ends, a chain that begins with what ran first
lost = [r["sym"] for r in rows if r["unwound"] or not 0 <= r["lost"] + r["open"] <= 1]
if lost or sum(r["lost"] + r["open"] for r in rows) > 4:
    sys.exit("not left: %s" % lost)
all_ = sum(r["insns"] for r in map(json.loads, open(sys.argv[1])) if r["type"] == "function")
if all_ != insns:
    sys.exit("%d instructions in all functions, not %d" % (all_, insns))
print("# %d functions, %d calls" % (len(rows), sum(r["calls"] for r in rows)))
PY
