# SPDX-License-Identifier: BSD-2-Clause
"""Compares our events of a CoreSight snapshot with the listing of OpenCSD's own tool, every element.

usage: elems.py OCSD_ELEMS SNAPSHOT_DIR
What OpenCSD lists and we say otherwise, on purpose:
- NO_SYNC at the start: a hole only if bytes were skipped; our holes carry bytes and are left out here, as are
  contradictions of trace and code, which OpenCSD 1.3.3 does not look for.
- EO_TRACE of a source that never was on.
- a range's cycle count: an event of its own before the range.
- after a fatal error the lister stops; we count the bytes, start afresh and go on.
- code that is missing behind a branch that OpenCSD walked past: it is not where the flow is.
- triggers and reserved ids of the formatter: the library drops them.
- an ETMv3 packet that the end of the trace cuts: the library makes a good one of the bytes that are there.
Not compared: arm/armv8_1m_branches (OpenCSD 1.3.3 does not know the core's name and decodes nothing).
"""
import gzip
import os
import re
import subprocess
import sys
import tempfile

class Elements(list):
    fatal = False   # the lister stopped at an error; we go on


def peer(snapshot, buf, extra):
    with tempfile.NamedTemporaryFile(suffix=".ppl") as log:
        cmd = ["trc_pkt_lister", "-ss_dir", snapshot, "-decode", "-logfilename", log.name] + extra
        if buf:
            cmd += ["-src_name", buf]
        subprocess.run(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        lines = open(log.name, errors="replace").read().splitlines()
    out, seen = Elements(), set()
    # one unit of PTM is enough to have no ETMv4 in the snapshots at hand
    etm4 = not any("Protocol printer PTM" in line for line in lines)
    out.fatal = any("Data Path fatal error" in line for line in lines)
    for line in lines:
        m = re.search(r"Idx:(\d+); ID:([0-9a-f]+); (?:\[.*?\];\t)?(\w.*)", line)
        if not m:
            continue
        off, tid, rest = int(m[1]), m[2], m[3]
        if not rest.startswith("OCSD_GEN_TRC_ELEM_"):
            continue
        kind, _, rest = rest[len("OCSD_GEN_TRC_ELEM_"):].partition("(")
        if kind == "TRACE_ON":
            seen.add(tid)
        # the count inside of an ETMv4 timestamp begins where the next cycle count does: no step (IHI 0064)
        own = "0"
        if kind == "TIMESTAMP" and etm4:
            own = (re.findall(r"\[CC=(\d+)\]", rest) + ["0"])[0]
            rest = re.sub(r"\[CC=\d+\]", "", rest)
        out += element(off, tid, kind, rest + " own " + own if kind == "TIMESTAMP" else rest, seen)
    return out


def element(off, tid, kind, rest, seen):
    at = "%d %s " % (off, tid.lstrip("0") or "0")
    cc = re.search(r"\[CC=(\d+)\]", rest)
    out = []
    if cc:
        out.append(at + "cycles " + cc[1])
    if kind in ("INSTR_RANGE", "I_RANGE_NOPATH"):
        r = re.match(r"exec range=0x(\w+):\[0x(\w+)\] num_i\((\d+)\) last_sz\((\d+)\) \(ISA=(\w+)\) ([EN]) (.*)", rest)
        if kind == "I_RANGE_NOPATH":
            r = re.match(r"first 0x(\w+):\[next 0x(\w+)\] num_i\((\d+)\)", rest)
            return out + [at + "nopath %s %s %s" % (r[1], r[2], r[3])]
        out.append(at + "range %s %s %s %s %s %s %s" % (r[1], r[2], r[3], r[4], r[5], r[6], words(r[7])))
    elif kind == "TRACE_ON":
        out.append(at + ("on debug" if "debug" in rest else "on"))
    elif kind == "EO_TRACE":
        if tid in seen:
            out.append(at + "off")
            seen.discard(tid)
    elif kind == "PE_CONTEXT":
        s = at + "context"
        m = re.search(r"EL(\d)", rest)
        s += " EL" + m[1] if m else ""
        sec = re.match(r"\(ISA=\w+\) (?:EL\d)?(Root|Realm|[NS])", rest)
        s += " " + {"N": "N", "S": "S", "Root": "T", "Realm": "R"}[sec[1]]
        s += " 64" if "64-bit" in rest else " 32"
        for name, key in (("vmid", "VMID"), ("ctxt", "CTXTID")):
            m = re.search(key + r"=0x(\w+)", rest)
            s += " %s %s" % (name, m[1]) if m else ""
        out.append(s)
    elif kind == "EXCEPTION":
        m = re.search(r"pref ret addr:0x(\w+)", rest)
        n = re.search(r"excep num \(0x(\w+)\)", rest)
        out.append(at + "exception %x" % int(n[1], 16) + (" from " + m[1] if m else "") if n else at + "exception ?" + rest)
    elif kind == "EXCEPTION_RET":
        out.append(at + "eret")
    elif kind == "TIMESTAMP":
        out.append(at + "timestamp %x %s" % (int(re.search(r"TS=0x(\w+)", rest)[1], 16), rest.split()[-1]))
    elif kind == "CYCLE_COUNT":
        pass
    elif kind == "ADDR_NACC":
        out.append(at + "gap no-image 0 at %x" % int(re.search(r"0x(\w+)", rest)[1], 16))
    elif kind == "ADDR_UNKNOWN":
        out.append(at + "gap no-path 0")
    elif kind == "EVENT":
        m = re.search(r"Numbered:(\d+)", rest)
        out.append(at + ("trigger 0 %x" % int(m[1]) if m else "trigger 1 0"))
    elif kind == "SYNC_MARKER":
        out.append(at + "trigger 3 %x" % int(re.search(r"0x(\w+)", rest)[1], 16))
    elif kind == "MEMTRANS":
        n = [k for k, w in enumerate(("Init", "Start", "Commit", "Fail")) if w in rest]
        out.append(at + "tx %d %d" % ({0: 0, 1: 0, 2: 1, 3: 2}[n[0]], n[0]))
    elif kind == "SWTRACE":
        ts = re.search(r"TS=0x(\w+)", rest)
        if ts:
            out.append(at + "timestamp %x 0" % int(ts[1], 16))
        out.append(at + "software")
    elif kind == "NO_SYNC":
        pass
    else:
        out.append(at + kind + " " + rest)
    return out


def words(s):
    """Kind of the last instruction: letters of OpenCSD's listing."""
    s = s.rstrip(") ")
    s = re.sub(r"\[CC=.*?\];?", "", s).strip()
    return s


def ours(tool, snapshot, index, extra):
    p = subprocess.run([tool, snapshot, str(index)] + extra, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if p.returncode:
        sys.exit("%s: %s" % (snapshot, p.stderr.decode()))
    return p.stdout.decode().splitlines()


# enum hwt_insn_kind as OpenCSD names the last instruction
WORDS = {0: ("---", ""), 1: ("BR", "b+link"), 2: ("iBR", "b+link"), 3: ("iBR", "ret"), 4: ("BR", ""), 5: ("iBR", ""),
         6: ("BR", ""), 8: ("iBR", "eret"), 11: ("bar", "")}


def same_kind(theirs, mine):
    """The words of a range against its kind and condition."""
    kind, cond = int(mine.split()[0]), "cond" in mine
    w = theirs.split()
    if ("<cond>" in theirs) != cond:
        return False
    first = w[0] if w else "---"
    if kind == 11:
        return first in ("ISB", "DSB.DMB", "WFI.WFE")
    if kind in (0, 7):  # SVC, HVC and SMC have no word there
        return first in ("---", "TSTART")
    want = WORDS[kind][0]
    if first != want:
        return False
    sub = WORDS[kind][1]
    if kind in (1, 2):
        return "b+link" in theirs
    if kind == 3:
        return "ret" in theirs and "eret" not in theirs
    if kind == 8:
        return "link" not in theirs and ("eret" in theirs or "ret" not in theirs)  # A32 and T32 have no word
    return "link" not in theirs and "ret" not in theirs and sub == ""


def same_place(a, b, framed):
    """OpenCSD's number of a run after two id bytes in a row is that of the first one; ours of the second."""
    return a == b or (framed and abs(a - b) < 16)


def match(a, b, framed):
    """@a is OpenCSD's, @b ours."""
    if a == b:
        return True
    x, y = a.split(" "), b.split(" ")
    if x[1:3] != y[1:3] or not same_place(int(x[0]), int(y[0]), framed):
        return False
    if x[3:] == y[3:]:
        return True
    if x[2] == "range":
        return x[3:9] == y[3:9] and same_kind(" ".join(x[9:]), " ".join(y[9:]))
    if x[2] == "gap":
        return x[3] == y[3] and (x[3] == "no-path" or x[6:7] == y[6:7])
    if x[2] == "nopath":
        return x[3] == y[3] and x[5] == y[5]
    if x[2] == "timestamp":
        return int(x[3], 16) == int(y[3], 16) and x[4] == y[4]
    if x[2] == "context":
        return [int(v, 16) if len(v) > 3 or v.isdigit() else v for v in x[3:]] == \
               [int(v, 16) if len(v) > 3 or v.isdigit() else v for v in y[3:]] or norm(x) == norm(y)
    return False


def norm(w):
    return [v.lstrip("0") or "0" for v in w]


def interesting(line):
    w = line.split()
    if w[2] == "gap":
        return w[3] == "no-image" or (w[3] == "no-path" and w[6] == "ffffffffffffffff")
    return True


def compare(tool, snapshot, index, name, form):
    theirs = peer(snapshot, name, ["-dstream_format"] if form == "dstream_coresight" else [])
    mine, lost = [], set()
    before, doubt, said = [], set(), False  # trace ids in doubt before each element; now; the next range is
    for line in ours(tool, snapshot, index, []):
        if " gap unknown-branch " in line:
            lost.add(line.split()[0])
        tid, what = line.split()[1:3]
        now = frozenset(doubt)
        if " gap bad-image " in line:
            doubt.add(tid)
        elif what == "range" and not said:
            doubt.discard(tid)
        said = line.endswith(" gap doubt")
        if not interesting(line) or line.split()[1] == "7d":    # the lister drops the formatter's triggers
            continue
        if form == "dstream_coresight":     # OpenCSD does not count the probe's own 8 bytes of each 512
            off, _, rest = line.partition(" ")
            line = "%d %s" % (int(off) - int(off) // 512 * 8, rest)
        before.append(now)
        mine.append(re.sub(r"^(\d+ \w+) (mark|freq) .*", r"\1 software", line))
    theirs[:] = [a for a in theirs if " gap no-image " not in a or a.split()[0] not in lost]
    # Where the trace says that an unconditional branch was not taken (juno_r1_1: the kernel patched its code after the
    # dump was made), nobody knows where the flow is until the next address: OpenCSD goes on telling that code is
    # missing at places where it never was. We told the hole before, and say no
    # more. Left out only where our listing is in doubt.
    before.append(frozenset(doubt))
    k = 0
    while k < len(theirs) and k < len(before):
        if " gap no-image " in theirs[k] and theirs[k].split()[1] in before[k] and \
           (k == len(mine) or not match(theirs[k], mine[k], form != "source_data")):
            del theirs[k]
        else:
            k += 1
    for k, (a, b) in enumerate(zip(theirs, mine)):
        if not match(a, b, form != "source_data"):
            print("%s buffer %s: element %d of %d:" % (snapshot, name, k, len(theirs)))
            print("  OpenCSD: %s" % theirs[max(0, k - 1):k + 4])
            print("  ours:    %s" % mine[max(0, k - 1):k + 4])
            return -1
    if len(theirs) > len(mine) or (len(theirs) < len(mine) and not theirs.fatal):
        print("%s buffer %s: %d elements of OpenCSD, %d of ours: %s" %
              (snapshot, name, len(theirs), len(mine), (theirs[len(mine):] or mine[len(theirs):])[:3]))
        return -1
    return len(theirs)


def cut(a, b):
    """OpenCSD's readers show bytes past the end of a piece while they are not synchronised: STM some, PTM all or some of
    a run that began in an earlier piece, which are then left out here."""
    n = len(b[2])
    if a[3] == b[3] == "NOTSYNC" and a[:2] == b[:2] and a[2][:n] == b[2] and not n:
        return True
    return a[3] == "NOTSYNC" and n <= len(a[2]) <= n + 3 and a[2][:n] == b[2]


def packets(tool, snapshot, index, name, form):
    """Each packet of the lister: place, id, bytes, type."""
    with tempfile.NamedTemporaryFile(suffix=".ppl") as log:
        cmd = ["trc_pkt_lister", "-ss_dir", snapshot, "-decode", "-logfilename", log.name, "-src_name", name]
        subprocess.run(cmd + (["-dstream_format"] if form == "dstream_coresight" else []), stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        lines = open(log.name, errors="replace").read().splitlines()
    theirs = []
    for line in lines:
        m = re.search(r"Idx:(\d+); ID:([0-9a-f]+); (?:\[(.*?)\];)?\t(\w+)", line)
        if m:
            theirs.append((int(m[1]), int(m[2], 16), (m[3] or "").replace("0x", "").split(), m[4]))
    mine = []
    for line in ours(tool, snapshot, index, ["-p"]):
        off, tid, pkt, raw = line.split("\t")[:4]
        if pkt in ("NO_FRAME", "NO_SOURCE", "NO_DECODER", "TRIGGER"):
            continue
        off = int(off)
        if form == "dstream_coresight":
            off -= off // 512 * 8
        mine.append((off, int(tid, 16), raw.split(), pkt))
    for tid in {b[1] for b in mine}:
        k = max(i for i, b in enumerate(mine) if b[1] == tid)
        # bit 7 of the last byte of an address says that one more follows
        if k < len(theirs) and mine[k][3] == "INCOMPLETE_EOT." and theirs[k][3] == "BRANCH_ADDRESS" and int(mine[k][2][-1], 16) & 0x80:
            mine[k] = mine[k][:3] + (theirs[k][3],)
    for k, (a, b) in enumerate(zip(theirs, mine)):
        if not same_place(a[0], b[0], form != "source_data") or (a[2][:32] != b[2] and not cut(a, b)) or a[3] != b[3] or \
           (a[1] != b[1] and form != "source_data"):
            print("%s buffer %s: packet %d of %d: OpenCSD %s, ours %s" % (snapshot, name, k, len(theirs), a, b))
            return -1
    fatal = any("Data Path fatal error" in line for line in lines)
    if len(theirs) > len(mine) or (len(theirs) < len(mine) and not fatal):
        print("%s buffer %s: %d packets of OpenCSD, %d of ours" % (snapshot, name, len(theirs), len(mine)))
        return -1
    return len(theirs)


# Where the published list of OpenCSD 1.8.0 is not what 1.3.3, and so we, give: (ranges there, ranges here, why)
NEWER = {
    "pauth_lr": (92, 92, "1.3.3 does not know RETAASPPC and RETABSPPC as branches and walks past one"),
    "q_elem": (376, 378, "1.3.3 walks on through code after a Q element where 1.8.0 waits for the next address"),
}


def newer(tool, snapshot, folder):
    """Ranges and number of packets against the list published by 1.8.0: the input is what it should be."""
    ranges, here = [], []
    expect = os.path.join(snapshot, "..", "expect.%s.tsv.gz")
    for line in gzip.open(expect % "elements", "rt"):
        w = line.rstrip("\n").split("\t")
        if len(w) > 7 and w[2] == "range":
            ranges.append((int(w[1], 16), int(w[3], 16), int(w[4], 16), int(w[5]), w[6], w[7]))
    for line in ours(tool, snapshot, 0, []):
        w = line.split()
        if w[2] == "range":
            here.append((int(w[1], 16), int(w[3], 16), int(w[4], 16), int(w[5]), w[7], w[8]))
    n = sum(1 for line in gzip.open(expect % "packets", "rt") if line.strip())
    m = sum(1 for _ in ours(tool, snapshot, 0, ["-p"]) if not re.search(r"\tNO_|\tTRIGGER", _))
    told = NEWER.get(folder)
    if told:
        same = (len(ranges), len(here)) == told[:2]
    else:
        same = ranges == here
    if not same:
        k = next((k for k, (a, b) in enumerate(zip(ranges, here)) if a != b), min(len(ranges), len(here)))
        print("%s: %d ranges by 1.8.0, %d by us, first difference at %d: %s, %s" %
              (folder, len(ranges), len(here), k, ranges[k:k + 2], here[k:k + 2]))
    if n > 1 and n != m and folder != "itm_only_raw":
        print("%s: %d packets by 1.8.0, %d by us" % (folder, n, m))
        same = False
    return not same


def main():
    tool, snapshot = sys.argv[1:3]
    ini = open(snapshot + "/trace.ini").read()
    forms = dict(zip(re.findall(r"^name *= *(\S+)", ini, re.M), re.findall(r"^format *= *(\w+)", ini, re.M)))
    bad = elements = listed = 0
    folder = snapshot.rstrip("/").split("/")[-2]
    bad |= newer(tool, snapshot, folder)
    for index, name in enumerate(ours(tool, snapshot, 0, ["-l"])):
        n = compare(tool, snapshot, index, name, forms.get(name))
        m = packets(tool, snapshot, index, name, forms.get(name))
        bad |= n < 0 or m < 0
        elements += max(n, 0)
        listed += max(m, 0)
    print("# %s: %d elements, %d packets" % (folder, elements, listed))
    return bad


if __name__ == "__main__":
    sys.exit(main())
