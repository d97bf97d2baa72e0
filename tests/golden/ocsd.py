# SPDX-License-Identifier: BSD-2-Clause
"""Compares "hwtrace list --jsonl --level range" with the listing of OpenCSD's own tool, element by element.

usage: ocsd.py HWTRACE SNAPSHOT_DIR [BUFFER...]
Ranges, instruction sets, taken or not, exceptions, exception returns, cycle counts and timestamps must be the same in
the same order for each buffer and trace id. OpenCSD prints a cycle count inside a range, context or timestamp; we give
it as an event of its own just before it, with the same value.
"""
import json
import re
import subprocess
import sys
import tempfile
import os

ISA = {"A32": "a32", "T32": "t32", "A64": "a64"}


def peer(snapshot, buf):
    with tempfile.NamedTemporaryFile(suffix=".ppl") as log:
        cmd = ["trc_pkt_lister", "-ss_dir", snapshot, "-decode", "-logfilename", log.name]
        if buf:
            cmd += ["-src_name", buf]
        subprocess.run(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        out = []
        for line in open(log.name, errors="replace"):
            m = re.match(r"Idx:(\d+); ID:([0-9a-f]+); OCSD_GEN_TRC_ELEM_(\w+)\((.*)", line)
            if not m:
                continue
            off, tid, kind, rest = int(m[1]), int(m[2], 16), m[3], m[4]
            cc = re.search(r"\[CC=(\d+)\]", rest)
            if cc:
                out.append((off, tid, "cycles", int(cc[1])))
            if kind == "INSTR_RANGE":
                r = re.match(r"exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\) last_sz\((\d+)\) "
                             r"\(ISA=(\w+)\) ([EN])", rest)
                out.append((off, tid, "range", int(r[1], 16), int(r[2], 16) - int(r[4]), int(r[3]),
                            ISA.get(r[5], r[5]), r[6] == "E"))
            elif kind == "EXCEPTION":
                r = re.match(r"pref ret addr:0x([0-9a-f]+)(?:.*?); excep num \(0x([0-9a-f]+)\)", rest)
                out.append((off, tid, "exception", int(r[2], 16) if r else rest))
            elif kind == "EXCEPTION_RET":
                out.append((off, tid, "eret"))
            elif kind == "TIMESTAMP":
                r = re.search(r"TS=0x([0-9a-f]+)", rest)
                out.append((off, tid, "timestamp", int(r[1], 16)))
            elif kind == "ADDR_NACC":
                out.append((off, tid, "no-image"))
        return out


def ours(tool, snapshot):
    p = subprocess.run([tool, "list", "--jsonl", "--level", "range", snapshot], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False)
    if p.returncode not in (0, 3):
        sys.exit("%s: exit %d: %s" % (snapshot, p.returncode, p.stderr.decode()[-500:]))
    bufs = {}
    for line in p.stdout.decode().splitlines():
        e = json.loads(line)
        t = e["type"]
        if "src" not in e:
            continue
        o = bufs.setdefault(e["src"], [])
        key = (e["off"], e.get("trace_id", 0))
        if t == "range":
            o.append(key + ("range", int(e["first"], 16), int(e["last"], 16), e["n"], e["isa"], e["taken"]))
        elif t == "exception":
            o.append(key + ("exception", e["number"]))
        elif t == "eret":
            o.append(key + ("eret",))
        elif t in ("cycles", "timestamp"):
            o.append(key + (t, e["value"]))
        elif t == "gap" and e["cause"] == "no-image":
            o.append(key + ("no-image",))
    return bufs


def main():
    tool, snapshot, names = sys.argv[1], sys.argv[2], sys.argv[3:] or [None]
    bufs = ours(tool, snapshot)
    bad = total = 0
    for i, name in enumerate(names):
        theirs, mine = peer(snapshot, name), bufs.get(i, [])
        total += len(theirs)
        if theirs == mine:
            continue
        bad += 1
        k = next((k for k, (a, b) in enumerate(zip(theirs, mine)) if a != b), min(len(theirs), len(mine)))
        print("%s buffer %s: %d elements of OpenCSD, %d of ours, first difference at %d:" %
              (snapshot, name or "first", len(theirs), len(mine), k))
        for what, v in (("OpenCSD", theirs), ("ours", mine)):
            print("  %s: %s" % (what, v[max(0, k - 1):k + 3]))
    print("# %s: %d elements, %d buffers" % (os.path.basename(os.path.dirname(snapshot)), total, len(names)))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
