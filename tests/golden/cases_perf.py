# SPDX-License-Identifier: BSD-2-Clause
# perf.data files that are too large or too many for a fixture, through the tool. Usage: cases_perf.py TOOL SCRATCH_DIR
# Records are written here from the layout in the kernel's and perf's documentation; each check names its case.
import json, os, re, resource, struct, subprocess, sys

tool, tmp = sys.argv[1:3]
path = os.path.join(tmp, "perf.data")
HEAD = next(l for l in open("fixtures/cases/perf.hex") if l.startswith("pd-aux-gap\t"))
bad = 0


def runs(text):
    out = b""
    for t in text.split():
        out += bytes.fromhex(t[:2]) * int(t[3:]) if "*" in t else bytes.fromhex(t)
    return out


GAP = runs(HEAD.split("\t")[1])
INFO = GAP[248:248 + 160]		# AUXTRACE_INFO of Intel PT
ID = struct.pack("<IIQIIQ", 1, 1, 1000, 0, 0, 1)	# pid, tid, time, cpu, res, id: as the files' attribute says


def rec(kind, body, misc=0, size=None):
    return struct.pack("<IHH", kind, misc, 8 + len(body) if size is None else size) + body


def text(s):
    b = s.encode() + b"\0"
    return b + b"\0" * (-len(b) % 8)


def comm(name, tid=1):
    return rec(3, struct.pack("<II", tid, tid) + text(name) + ID)


def mmap2(addr, size, name):
    return rec(10, struct.pack("<IIQQQIIQQII", 1, 1, addr, size, 0, 8, 1, 42, 0, 5, 2) + text(name) + ID, 2)


def aux(off, size, flags=0):
    return rec(11, struct.pack("<QQQ", off, size, flags) + ID)


def auxtrace(off, size):
    return rec(71, struct.pack("<QQQIIII", size, off, 0, 0, 0xffffffff, 0, 0))


PT = bytes.fromhex("0282" * 8 + "99010223" + "71001040000000" + "01")	# PSB group, on at 401000, off
TRACE = INFO + aux(0, len(PT)) + auxtrace(0, len(PT)) + PT


def write(data, extra=0, sample_type=0x10087, branches=0):
    """A file whose data section is @data and @extra bytes that are not written here."""
    head = bytearray(GAP[:248])
    struct.pack_into("<Q", head, 104 + 72, branches)	# branch_sample_type
    struct.pack_into("<Q", head, 48, len(data) + extra)
    struct.pack_into("<Q", head, 104 + 24, sample_type)
    with open(path, "wb") as f:
        f.write(bytes(head) + data)


def run(*args, limits=()):
    def set_limits():
        for what, n in limits:
            resource.setrlimit(what, (n, n))
    p = subprocess.run([tool] + list(args), capture_output=True, preexec_fn=set_limits, timeout=100)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def check(ok, case, *what):
    global bad
    if not ok:
        bad += 1
        print(case + ": " + " ".join(str(w) for w in what))


def listed():
    rc, out, err = run("list", "--jsonl", path)
    return rc, [json.loads(l) for l in out.splitlines()], err


# I03: cut anywhere, the tool says so, with the place (a unit test does every byte)
n = 0
for cut in range(0, len(GAP), 7):
    with open(path, "wb") as f:
        f.write(GAP[:cut])
    rc, out, err = run("check", path)
    check(rc == 3 and "hwtrace: " + path in err and "try: " in err, "I03", "cut at", cut, "exit", rc, err)
    if cut >= 8:
        check(path + "+0x" in err + out and "the file is damaged" not in err, "I03", "cut at", cut, "no offset:", err)
    n += 1

# I09: the same map 10^5 times, with little stack and memory
write(comm("a") + mmap2(0x400000, 0x1000, "/bin/a") * 100000)
rc, out, err = run("info", path, limits=((resource.RLIMIT_STACK, 256 << 10), (resource.RLIMIT_AS, 512 << 20))
                   if "san" not in tool else ())
check(rc == 0 and "code: 1 map," in out, "I09", rc, out[-300:], err)
check("kernel events     100\u202f001" in out or "100 001" in out or "100001" in out, "I09 events", out)

# I10: LOST in the middle; what follows is read, the number is told
write(comm("before") + rec(2, struct.pack("<QQ", 1, 7) + ID) + comm("after") + TRACE)
rc, rows, err = listed()
names = [r.get("comm") or r.get("fields", "") for r in rows if r["type"] not in ("header", "gap")]
check(rc == 0 and "[E046]" in err and "7" in err, "I10", rc, err)
check(any("before" in x for x in names) and any("after" in x for x in names), "I10", rows)
write(comm("before") + rec(2, struct.pack("<QQ", 1, 7) + ID) + comm("after"))
for cmd in ("list", "timeline", "check"):
    for opts in ([], ["--max-loss", "0"], ["--strict"]):
        rc, out, err = run(cmd, *opts, path)
        want = 4 if "--strict" in opts else cmd == "check"
        check(rc == want, "I10", cmd, opts, "exit", rc, "want", want, err)
LOST = b"".join(rec(2, struct.pack("<QQ", 1, n) + ID) for n in range(1, 41))
write(comm("a") + LOST + b"".join(rec(13, struct.pack("<Q", 30) + b"\0" * len(ID)) for k in range(20)) + comm("z"))
for cmd in ("list", "timeline", "check", "info"):
    rc, out, err = run(cmd, path)
    check("820 records lost on CPU 0, in 40 places" in out + err and "600 samples lost" in out + err and
          (out + err).count("records lost") == 1, "I10 sums", cmd, out, err)
# what is lost elsewhere is no matter of the first line; all of it, with what perf can do about it, is where all is read
write(comm("a") * 9 + LOST + comm("z"))
rc, out, err = run("list", "--limit", "2", path)
check(rc == 0 and "E046" not in err and out.count("\n") == 2, "limit", rc, out, err)
rc, out, err = run("list", path)
check("E046" in err and "try: perf record -m 16M" in err and "lttng" not in err, "lost", err)
write(comm("a"))
rc, out, err = run("check", path)
check(rc == 0 and "kernel events: 1 record" in out and "E049" not in err, "no need of trace", rc, out, err)
# between: the second event is of the thread of the first; without trace nothing can be told, which is not 0 instructions
ID2 = struct.pack("<IIQIIQ", 2, 2, 1000, 0, 0, 1)
write(comm("a") + rec(3, struct.pack("<II", 2, 2) + text("b") + ID2) + comm("c"))
rc, out, err = run("between", path, "sched.comm", "sched.comm")
check(rc == 3 and "#1 " in out and "#3 " in out and "instructions" not in out and "no hardware trace for between" in err, "between", rc, out, err)
rc, out, err = run("between", "--cpu", "0", path, "sched.comm", "sched.comm")
check("#1 " in out and "#2 " in out, "between --cpu", rc, out, err)
# the count of check and timeline is one, and that of the file says what it is
timed = rec(5, struct.pack("<QQQ", 1000, 1, 1) + ID)	# THROTTLE
write(comm("a") + timed * 3 + comm("b") + rec(13, struct.pack("<Q", 3) + b"\0" * len(ID)))
rc, out, err = run("check", path)
m = re.search("kernel events: (\\d+) records = (\\d+) of the kernel \\+ (\\d+) of this capture only, named dirty:, of (\\d+) in the file", out)
rc, tl, err = run("timeline", path)
check(m and int(m[1]) == int(m[2]) + int(m[3]) and m[1] + " kernel events" in err and int(m[4]) > int(m[1]), "counts", out, err)
rc, info, err = run("info", path)
check(m and m[4] + " records in the file" in info, "counts", info)

# I11: the largest record that there is, of a kind that nobody knows; then a known one
write(rec(200, b"\xaa" * 65520) + comm("after") + TRACE)
rc, rows, err = listed()
check(rc == 0 and any("after" in json.dumps(r) for r in rows), "I11", rc, rows, err)
write(comm("before") + rec(200, b"\xaa" * 600, size=65535))
rc, rows, err = listed()
check(rc == 3 and "[E034]" in err, "I11", "a record that runs past the end:", rc, err)

# I12: a branch stack with its hardware index or without, the attribute right or wrong about it: fields before it and the records
# behind are what was written. 0x20000 in the attribute says that the index stands between number and entries.
def sample(indexed):
    raw = struct.pack("<I", 12) + b"\x07\0\0\0" + b"raw data"
    stack = struct.pack("<Q", 2) + (struct.pack("<Q", 5) if indexed else b"") + struct.pack("<QQQ", 0x401000, 0x401100, 1) * 2
    return rec(9, struct.pack("<QQIIQIIQ", 1, 0x401234, 1, 1, 1500, 0, 0, 77) + raw + stack)


for indexed in (False, True):
    for says in (0x8, 0x20008):
        write(comm("before") + sample(indexed) + comm("after") + TRACE, sample_type=0x10d87, branches=says)
        rc, rows, err = listed()
        mine = [r for r in rows if "sample" in r.get("name", "")]
        check(rc == 0 and not err.count("hwtrace:") and len(mine) == 1, "I12", indexed, hex(says), rc, rows, err)
        fields = json.dumps(mine)
        check("0x401234" in fields and "77" in fields and mine[0]["tid"] == 1, "I12", fields)
        check(any("after" in json.dumps(r) for r in rows) and any(r["type"] == "on" for r in rows), "I12", rows)

# I16: a branch stack of 2^60 entries; a fork of nobody known
write(rec(9, struct.pack("<QQIIQIIQ", 1, 0x401000, 1, 1, 1000, 0, 0, 1 << 60)) + comm("after") + TRACE, sample_type=0x10887)
rc, rows, err = listed()
check(rc == 0 and any("after" in json.dumps(r) for r in rows), "I16", "branch stack:", rc, rows, err)
write(rec(7, struct.pack("<IIIIQ", 77, 66, 77, 66, 1000) + ID) + comm("after", 77) + TRACE)
rc, rows, err = listed()
check(rc == 0 and any("after" in json.dumps(r) for r in rows), "I16", "fork:", rc, rows, err)

# G11: set up for trace, and none in it
write(INFO)
rc, out, err = run("list", path)
check("[E049]" in err, "G11", rc, err)
rc, out, err = run("check", path)
check(rc == 1 and "[E049]" in out and "[E049]" not in err, "G11", rc, out, err)

# nothing of the trace that was declared is there: not all of nothing was decoded
write(INFO + aux(0, 100, 1))
rc, out, err = run("check", path)
check(rc == 1 and "no trace bytes, 1 hole (0 bytes skipped, 100 lost)" in err, "no bytes", rc, out, err)
# recorded without trace: the reason why nothing is listed, and no noise where the kernel's events are
write(b"")
rc, out, err = run("list", path)
check(rc == 0 and "no hardware trace for list" in err and "try: record with" in err, "no trace", rc, out, err)
write(comm("a"))
rc, out, err = run("list", path)
check(rc == 0 and " -- sched.comm: " in out and "E049" not in err and "kernel events are all" in err and "try: hwtrace timeline" in err, "kernel events only", rc, out, err)
for cmd in (["calls"], ["calls", "--summary"], ["packets"], ["latency", "--from", "0x1000", "--to", "0x1004"],
            ["why", "--from", "0x1000", "--to", "0x1004"]):
    rc, out, err = run(*cmd, path)
    check(rc == 3 and not out and "only 1 kernel event [E049]" in err and err.count("E049") == 1 and "try: hwtrace timeline " + path in err,
          "no trace for", cmd, rc, out, err)
rc, out, err = run("calls", "--jsonl", path)
check(rc == 3 and [json.loads(l)["type"] for l in out.splitlines()] == ["header"], "no calls", rc, out, err)
rc, out, err = run("timeline", path)
check(rc == 0 and err == "no hardware trace; 1 kernel event\n", "timeline of kernel events", rc, out, err)
# names that are hidden are told and are no finding; a list that can not be read is one
names = os.path.join(tmp, "kallsyms")
for body, want in (("0000000000000000 T _text\n0000000000000000 T _etext\n", 0), ("ffffffff81000000 T _text\nnonsense\n", 1)):
    with open(names, "w") as f:
        f.write(body)
    rc, out, err = run("check", "--kallsyms", names, path)
    last = out.splitlines()[-1]
    check(rc == want and "note: " + names in out and last == ("findings: see above" if want else "no findings"), "names", rc, out)
os.unlink(names)

# I13: more than 2 GiB of AUX, nearly all of it a hole of the file; the packets lie at the end
size = 0x80000008
tail = PT
data = INFO + aux(0, size) + auxtrace(0, size)
write(data, size)
try:
    with open(path, "r+b") as f:
        f.seek(248 + len(data) + size - len(tail))
        f.write(tail)
    rc, out, err = run("info", path)
    check(rc == 0 and "2 GiB in 1 span" in out, "I13", rc, out, err)
    rc, rows, err = listed()
    on = [r for r in rows if r["type"] == "on"]
    first = size - len(tail)
    check(rc == 0 and len(on) == 1 and on[0]["addr"] == "0x401000" and first <= on[0]["off"] <= size, "I13", rc, rows[:5], err)
    hole = [r for r in rows if r["type"] == "gap" and r["cause"] == "no-sync"]
    check(len(hole) <= 1 and all(h["off"] + h["bytes"] <= first for h in hole), "I13", hole)
except OSError as e:
    print("# I13 left out: no sparse file of 2 GiB in %s (%s)" % (tmp, e))
os.unlink(path)
print("# %d cuts, 10 cases" % n)
sys.exit(1 if bad else 0)
