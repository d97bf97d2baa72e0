#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The meaning that fixtures/packets/pt gives to bytes against perf's packet dump of the same bytes, field by field. The unit tests hold
# the decoder to the fixtures; perf also knows the kinds that libipt 2.0.5 does not (BBP, BIP, BEP, CFE, EVD, HW bit of PWRE).
. tests/golden/common
need python3
need perf
cat >"$TMP/t.py" <<'PY'
import glob, re, struct, subprocess, sys

# A perf.data file: header, one attribute (type 8), AUXTRACE_INFO for Intel PT, AUXTRACE with the bytes.
def container(b):
    rec = struct.pack("<IHHQ", 70, 0, 16 + 18 * 8, 1) + bytes(18 * 8)
    rec += struct.pack("<IHHQQQIIII", 71, 0, 48, len(b), 0, 0, 0, 1, 0, 0) + b
    attr = struct.pack("<IIQQQQQ", 8, 128, 0, 1, 0x10087, 0, 1 << 18) + bytes(128 - 48) + struct.pack("<QQ", 0, 0)
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, len(attr), 104, len(attr), 104 + len(attr), len(rec), 0, 0)
    return head + bytes(104 - len(head)) + attr + rec

def perf(b, tmp):
    open(tmp + "/x.data", "wb").write(container(b))
    out = subprocess.run(["perf", "script", "-D", "-i", tmp + "/x.data"], capture_output=True, text=True).stdout
    rows = {}
    for m in re.finditer(r"^\.  ([0-9a-f]{8}):  ((?:[0-9a-f]{2} )+) *(\S.*)$", out[out.index("Processor Trace data"):], re.M):
        rows[int(m[1], 16)] = (len(m[2].split()), m[3])
    return rows

num = lambda s: int(s, 16)
def ip(name):
    def f(t, raw):
        w = (raw[0] >> 5, [0, 2, 4, 6, 6, 0, 8][raw[0] >> 5])
        v = int.from_bytes(raw[1:], "little")
        return name + (" no ip" if w[1] == 0 else " 0x%x" % v), w[0] == num(t[0].rstrip(":"))
    return f

# name -> function of (words of the fixture, bytes): perf's text, and whether the rest of the words agrees with the bytes
rules = {
    "pad": lambda t, r: "PAD", "psb": lambda t, r: "PSB", "psbend": lambda t, r: "PSBEND", "ovf": lambda t, r: "OVF",
    "stop": lambda t, r: "TraceSTOP",
    "tnt.8": lambda t, r: "TNT %s (%d)" % (t[0].replace("!", "T").replace(".", "N"), len(t[0])),
    "tnt.64": lambda t, r: "TNT %s (%d)" % (t[0].replace("!", "T").replace(".", "N"), len(t[0])),
    "fup": ip("FUP"), "tip": ip("TIP"), "tip.pge": ip("TIP.PGE"), "tip.pgd": ip("TIP.PGD"),
    "mode.exec": lambda t, r: "MODE.Exec IF:%d %d" % ("if" in t, 64 if "cs.l" in " ".join(t) else 32 if "cs.d" in t else 16),
    "mode.tsx": lambda t, r: "MODE.TSX TXAbort:%d InTX:%d" % ("abrt" in t, "intx" in t),
    "pip": lambda t, r: "PIP 0x%x (NR=%d)" % (num(t[0].rstrip(",")) >> 5, "nr" in t),
    "vmcs": lambda t, r: "VMCS 0x%x" % (num(t[0]) >> 12),
    "cbr": lambda t, r: "CBR 0x%s" % t[0], "tsc": lambda t, r: "TSC 0x%s" % t[0], "mtc": lambda t, r: "MTC 0x%s" % t[0],
    "cyc": lambda t, r: "CYC 0x%s" % t[0], "mnt": lambda t, r: "MNT 0x%s" % t[0],
    "tma": lambda t, r: "TMA CTC 0x%s FC 0x%s" % (t[0].rstrip(","), t[1]),
    "ptw": lambda t, r: "PTWRITE 0x%s IP:%d" % (t[1].rstrip(","), "ip" in t),
    "exstop": lambda t, r: "EXSTOP IP:%d" % ("ip" in t), "bep": lambda t, r: "BEP IP:%d" % ("ip" in t),
    "mwait": lambda t, r: "MWAIT 0x%x Hints 0x%x Extensions 0x%x" % (num(t[0].rstrip(",")) | num(t[1]) << 32,
                                                                    num(t[0].rstrip(",")), num(t[1])),
    "pwre": lambda t, r: "PWRE 0x%x HW:%d CState:%d Sub-CState:%d" % ((int.from_bytes(r[2:], "little"), "hw" in t) + tuple(
        (int(x) - 1) & 15 for x in t[0].rstrip(",")[1:].split("."))),
    "pwrx": lambda t, r: "PWRX 0x%x Last CState:%d Deepest CState:%d Wake Reason 0x%x" % (
        int.from_bytes(r[2:], "little"), num(t[1].rstrip(",")[1:]), num(t[3].rstrip(",")[1:]),
        sum(bit for word, bit in (("interrupt", 1), ("timer", 2), ("store", 4), ("hardware", 8)) if word in " ".join(t[4:]))),
    "bbp": lambda t, r: "BBP SZ %s Type 0x%s" % (t[2], t[1].rstrip(",")),
    "bip": lambda t, r: "BIP ID 0x%02x Value 0x%s" % (num(t[0].rstrip(":")), t[1]),
    "cfe": lambda t, r: "CFE IP:%d Type 0x%02x Vector 0x%s" % ("ip" in t, num(t[1].rstrip(",")), t[3].rstrip(",")),
    "evd": lambda t, r: "EVD Type 0x%02x Payload 0x%s" % (num(t[1].rstrip(":")), t[2]),
}

def fixture(path):
    for line in open(path):
        f = line.rstrip("\n").split("\t")
        if len(f) > 1 and line[0] not in "#@":
            yield bytes.fromhex(f[0].replace(" ", "")), f[1], f[2].split() if len(f) > 2 else []

count, kinds = 0, set()
for path in sorted(glob.glob("fixtures/packets/pt/*.txt")):
    rows = list(fixture(path))
    theirs = perf(b"".join(r[0] for r in rows), sys.argv[1])
    off = 0
    for raw, name, words in rows:
        if name == "bad":
            break               # perf looks for the next packet in its own way
        size, text = theirs.get(off, (0, "nothing here"))
        if text == "Bad packet!" and (name == "trig" or raw in (b"\x99\x03", b"\x99\x23")):
            off += len(raw)     # TRIG is younger than perf 6.1; it refuses modes that can not be, libipt and we tell them
            continue
        want = rules[name](words, raw)
        ok = True
        if isinstance(want, tuple):
            want, ok = want
        if text.startswith("PAD"):
            size = 1            # perf joins PADs
        if size != len(raw) or text.split("  ")[0] != want or not ok:
            sys.exit("%s at %d: perf says %s (%d bytes), fixture %s %s" % (path, off, text, size, name, " ".join(words)))
        off += len(raw)
        count += 1
        kinds.add(name)
missing = set(rules) - kinds
if missing:
    sys.exit("not covered: %s" % sorted(missing))
print("# %d packets, %d kinds as perf dumps them" % (count, len(kinds)))
PY
python3 "$TMP/t.py" "$TMP" || exit 1
