# SPDX-License-Identifier: BSD-2-Clause
# Runs the inputs of tests/cases.md through the tool; see tests/golden/cases.sh.
# Usage: cases.py TOOL SCRATCH_DIR FIXTURES [--show]
#
# FIXTURES/*.txt, one case after the other:
#
#   case NAME            title; the trace is NAME of a bytes file, or what "pt" names
#   pt FIXTURE           Intel PT: bytes of fixtures/packets/pt/FIXTURE.txt, whose rows "packets" must print
#   raw pt|cs XX*N ...   the trace itself; PSB, OFF and H are PSB groups, see WORDS
#   bytes FILE NAME      bytes of NAME in fixtures/cases/FILE.hex
#   then KIND NAME       appends the bytes of another one; "then hex XX*N ..." appends bytes
#   poke OFF XX*N ...    changes bytes
#   cut N                keeps N bytes only
#   with OPTIONS         options of the tool
#   config LINE          one line of the --config text
#   etm framing=F [K=V]  the --config text of an ETMv4, and code for it
#   code ADDR HEX        memory, as dump= of the --config text
#   file NAME TEXT       a text file; "with --option %NAME" gives it to the tool, or the one of that name in elf.hex
#   COMMAND EXIT         runs the command; the lines up to the next keyword are what it must do:
#       -TEXT            prints this line: the short form of a JSON line for list, else a line that contains TEXT
#       ?TEXT            list: this line is there, whatever else is
#       !TEXT            standard error has TEXT; of check, its output may have it instead
#       ~TEXT            neither output has TEXT
#
# The JSON lines of "list" must be exactly the "-" lines given, if there is one. Exit code 0 or 1 without "!" lines means
# that nothing but the quality line stands on standard error.
import json, os, re, subprocess, sys

SKIP = {"type", "src", "cpu", "pid", "tid", "v", "isa", "id", "code", "clock", "name_len"}


# PSB; MODE.Exec 64-bit; PSBEND, and the same with FUP 401000
WORDS = {"PSB": "0282" * 8, "OFF": "0282" * 8 + "99010223", "H": "0282" * 8 + "99017d0010400000000223"}


def runs(text):
    out = b""
    for t in text.split():
        t = WORDS.get(t, t)
        m = re.fullmatch(r"([0-9a-f]{2})\*(\d+)", t)
        out += bytes.fromhex(m[1]) * int(m[2]) if m else bytes.fromhex(t)
    return out


def hexfile(path):
    rows = (l.rstrip("\n").split("\t") for l in open(path) if l[0] not in "#\n")
    return {n: runs(h) for n, h in rows}


def ptfile(path):
    """Bytes, and the packets that the fixture says they are."""
    data, rows = b"", []
    for l in open(path):
        if l[0] in "#@\n":
            continue
        f = l.rstrip("\n").split("\t") + [""]
        rows.append((len(data), f[1], f[2] if len(f) > 2 else ""))
        data += bytes.fromhex(f[0].replace(" ", ""))
    return data, rows


def short(r):
    """A JSON line as one short line of text."""
    t, off = r["type"], r.get("off")
    time = ""
    if "time" in r:
        time = " @%s..%s" % (r["time"]["lo"], r["time"].get("hi", ""))
    elif "ticks" in r:
        time = " @%s..%st" % (r["ticks"]["lo"], r["ticks"].get("hi", ""))
    if t == "gap":
        s = "gap %s %d+%d" % (r["cause"], off, r["bytes"])
        if r.get("lost"):
            s += " lost %d" % r["lost"]
        return s + (" at " + r["addr"][2:] if "addr" in r else "") + time
    if t in ("range", "nopath"):
        s = "%s%s-%s" % ("" if t == "range" else "nopath ", r["first"][2:], r["last"][2:])
        s += " %s %s" % (r.get("n", "-"), r.get("kind", "-"))
        return s + (" taken" if r.get("taken") else "") + time
    rest = []
    for k, v in r.items():
        if (k in SKIP and (t, k) != ("aspace", "id")) or k in ("off", "time", "ticks", "trace_id") or v is False:
            continue
        rest.append("%s=%s" % (k, v[2:] if isinstance(v, str) and v.startswith("0x") else v))
    return " ".join([t] + rest) + time


class Case:
    def __init__(self, name):
        self.name, self.data, self.rows = name, None, None
        self.opts, self.config, self.runs, self.proto = [], [], [], None
        self.files = {}


    def code(self, addr, data):
        """Before the sections; what comes later wins."""
        self.config.insert(sum(isinstance(c, tuple) for c in self.config), ("code", addr, data))

    def etm(self, arg):
        """The ETMv4 of the vectors: ARMv8-A, with cycle counts and timestamps; code that needs an atom at each b.ne."""
        v = {"proto": "ETM4", "TRCCONFIGR": "0x811", "TRCIDR0": "0x28000ea1", "TRCIDR1": "0x4100f403",
             "TRCIDR2": "0x20001088"}
        v.update(a.split("=") for a in arg.split())
        for at in () if v.pop("code", "") else (0xffffff8008080000, 0xffffff8008090000):
            self.code(at, bytes.fromhex("1f2003d521000054") * 8)
        self.config += ["framing=" + v.pop("framing"), "[source]", "trace_id=0x10", "cpu=2", "core=ARMv8-A"]
        self.config += ["proto=" + v.pop("proto")] + ["%s=%s" % i for i in v.items()]


def parse(path):
    cases, cur = [], None
    for n, l in enumerate(open(path), 1):
        l = l.rstrip("\n")
        if not l or l[0] == "#":
            continue
        if l[0] in "\t ":
            cur.runs[-1][2].append(l.strip())
            continue
        key, _, arg = l.partition(" ")
        if key == "case":
            cur = Case(arg)
            cases.append(cur)
        elif key == "pt":
            cur.data, cur.rows = ptfile("fixtures/packets/pt/%s.txt" % arg)
            cur.proto = "--pt"
        elif key == "bytes":
            f, name = arg.split()
            cur.data = hexfile("fixtures/cases/%s.hex" % f)[name]
            cur.proto = {"coresight": "--cs", "pt": "--pt"}.get(f)
        elif key == "then":
            kind, _, name = arg.partition(" ")
            cur.rows = None
            if kind == "hex":
                cur.data += runs(name)
            elif kind == "pt":
                cur.data += ptfile("fixtures/packets/pt/%s.txt" % name)[0]
            else:
                cur.data += hexfile("fixtures/cases/%s.hex" % kind)[name]
        elif key == "raw":
            kind, _, text = arg.partition(" ")
            cur.proto = "--" + kind if kind != "file" else None
            cur.data = text.replace("\\n", "\n").encode() if kind == "file" else runs(text)
        elif key == "poke":
            off, b = int(arg.split()[0], 16), runs(arg.split(" ", 1)[1])
            cur.data = cur.data[:off] + b + cur.data[off + len(b):]
        elif key == "cut":
            cur.data, cur.rows = cur.data[:int(arg)], None
        elif key == "with":
            cur.opts += arg.split()
        elif key == "file":
            name, _, text = arg.partition(" ")
            cur.files[name] = text.replace("\\n", "\n").encode()
        elif key == "config":
            cur.config.append(arg)
        elif key == "etm":
            cur.etm(arg)
        elif key == "code":
            addr, code = arg.split(" ", 1)
            cur.code(int(addr, 16), runs(code))
        elif key in ("list", "packets", "check", "info", "calls"):
            a = arg.split()
            cur.runs.append((key, a, []))
        else:
            sys.exit("%s:%d: %s?" % (path, n, key))
    return cases


def run(tool, tmp, c, cmd, opts):
    base = os.path.join(tmp, "case")
    with open(base, "wb") as f:
        f.write(c.data)
    text, k = "", 0
    for l in c.config:
        if isinstance(l, tuple):
            with open("%s.%d" % (base, k), "wb") as f:
                f.write(l[2])
            l, k = "dump=%s.%d@%#x" % (base, k, l[1]), k + 1
        text += l + "\n"
    args = [tool, cmd] + ([c.proto] if c.proto else []) + [base]
    if text:
        with open(base + ".ini", "w") as f:
            f.write(text)
        args += ["--config", base + ".ini"]
    for o in c.opts + opts:
        if o[0] == "%":
            with open(os.path.join(tmp, o[1:]), "wb") as f:
                f.write(c.files.get(o[1:]) or hexfile("fixtures/cases/elf.hex")[o[1:]])
            o = os.path.join(tmp, o[1:])
        args.append(o)
    env = dict(os.environ, LSAN_OPTIONS="print_suppressions=0")
    p = subprocess.run(args, capture_output=True, timeout=60, env=env)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def ledger(c, out):
    """bytes in = decoded + skipped in each line of the check, and no more bytes than there are."""
    for m in re.finditer(r": ([\d ]+) bytes = ([\d ]+) decoded \+ ([\d ]+) skipped", out):
        a, b, s = (int(x.replace(" ", "")) for x in m.groups())
        if a != b + s or a > len(c.data):
            return "the ledger does not balance: " + m[0]


def one(tool, tmp, c, show):
    bad = []
    if not c.runs:
        c.runs = [("packets", ["0"], []), ("list", ["0"], []), ("check", ["0"], [])]
    for cmd, a, lines in c.runs:
        opts = a[1:]
        if cmd == "list":
            opts = ["--jsonl"] + opts if "--level" in opts else ["--jsonl", "--level", "range"] + opts
        rc, out, err = run(tool, tmp, c, cmd, opts)
        got = out.splitlines()
        if cmd == "list":
            got = [short(json.loads(l)) for l in got[1:]]
        if show:
            print("%s %d" % (" ".join([cmd] + a[:0]), rc) + "".join(" " + o for o in a[1:]))
            for g in got:
                print("\t-" + g)
            for e in err.splitlines():
                if not re.match(r"decoded|try:", e):
                    print("\t!" + re.sub(r".*/case", "", e))
            continue
        where = "%s: %s: " % (c.name, cmd)
        if rc != int(a[0]):
            bad.append(where + "exit %d, not %s: %s" % (rc, a[0], err))
        want = [l[1:] for l in lines if l[0] == "-"]
        if cmd == "list" and want and got != want and want != ["nothing"]:
            bad.append(where + "\n  wanted\n    %s\n  got\n    %s" % ("\n    ".join(want), "\n    ".join(got)))
        if cmd == "list" and want == ["nothing"] and got:
            bad.append(where + "not empty: %s" % got)
        if cmd != "list":
            for w in want:
                if not any(w in " ".join(g.split()) for g in got):
                    bad.append(where + "no line with \"%s\":\n    %s" % (w, "\n    ".join(got)))
        for l in lines:
            if l[0] == "?" and l[1:] not in got:
                bad.append(where + "no line \"%s\": %s" % (l[1:], got))
        words = [l[1:] for l in lines if l[0] == "!"]
        for w in words:
            # check's notes are lines of its output
            if w not in err and not (cmd == "check" and w in " ".join(out.split())):
                bad.append(where + "standard error lacks \"%s\": %s" % (w, err))
        for l in lines:
            if l[0] == "~" and (l[1:] in out or l[1:] in err):
                bad.append(where + "says \"%s\"" % l[1:])
        extra = [e for e in err.splitlines() if not e.startswith("decoded ")]
        if not words and rc in (0, 1) and extra:
            bad.append(where + "says more: %s" % extra)
        # whoever is told of an error is told what to try
        if "hwtrace: " in err and "try: " not in err:
            bad.append(where + "no try: line: %s" % err)
        if cmd == "check" and ledger(c, out):
            bad.append(where + ledger(c, out))
        if cmd == "packets" and c.rows and "-" not in [l[0] for l in lines]:
            bad += packets(c, run(tool, tmp, c, cmd, ["--jsonl"] + opts)[1], where)
    return bad


def packets(c, out, where):
    """The rows of the packet fixture, at their offsets."""
    seen = [(p["off"], p["pkt"], p["payload"]) for p in map(json.loads, out.splitlines()[1:])]
    want = []
    for off, kind, text in c.rows:
        want.append((off, kind, text))
    if [s[:2] for s in seen] != [w[:2] for w in want]:
        return [where + "packets %s, not %s" % (seen, want)]
    return [where + "%s, not %s" % (s, w) for s, w in zip(seen, want)
            if s[1] != "bad" and s[2].split() != w[2].split()]


def main():
    tool, tmp = sys.argv[1:3]
    show = "--show" in sys.argv
    files = [a for a in sys.argv[3:] if a != "--show"]
    bad, n, names = [], 0, set()
    for path in files:
        for c in parse(path):
            n += 1
            if c.name in names:
                bad.append(c.name + " stands twice")
            names.add(c.name)
            if show:
                print("case", c.name)
            bad += one(tool, tmp, c, show)
    for b in bad:
        print(b)
    # every input is used
    if not show:
        print("# %d cases" % n)
    return 1 if bad else 0


sys.exit(main())
