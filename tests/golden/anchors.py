# SPDX-License-Identifier: BSD-2-Clause
# Called by anchors.sh.
import json
import random
import struct
import sys


def fail(*what):
    print(*what)
    sys.exit(1)


def rows(path):
    return [json.loads(x) for x in open(path)][1:]


def whole(path):
    """Each call stands behind the instruction that the source names, and before what follows it."""
    tl = [o for o in rows(path) if o["type"] != "kernel" or o["name"].startswith("syscall.")]
    tid = next(o["tid"] for o in tl if o["type"] == "range")
    tl = [o for o in tl if o.get("tid") == tid]
    x, want = 0xace1, []
    for _ in range(400):
        want.append(110 if x & 1 else 102)
        x = x >> 1 ^ (0xb400 if x & 1 else 0)
    first = next(i for i, o in enumerate(tl) if o["type"] == "range")
    calls = [i for i, o in enumerate(tl) if i > first and o.get("name") == "syscall.enter"]
    got = [tl[i]["values"]["nr"] for i in calls]
    if got != want + [60]:
        fail("calls:", len(got), got[:10], want[:10])
    for n, i in enumerate(calls[:-1]):
        before = next(o for o in reversed(tl[:i]) if o["type"] == "range")
        after = next(o for o in tl[i:] if o["type"] == "range")
        name = "parent" if want[n] == 110 else "user"
        if before["kind"] != "far-call" or before["sym"] != name or after["sym"] != name or after["kind"] != "return":
            fail("call", n, want[n], "stands between", before, after)
        if before["time"]["hi"] > tl[i]["time"]["lo"] or after["time"]["lo"] < tl[i]["time"]["hi"]:
            fail("call", n, tl[i]["time"], "but", before["time"], after["time"])


def crc32c(data):
    c = 0xffffffff
    for x in data:
        c ^= x
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    return c ^ 0xffffffff


def damage(seed, paths):
    """Three stretches of trace become zeroes, with checksums that fit: hwtrace-capture(5) has the layout."""
    r = random.Random(int(seed))
    p = next(p for p in paths if p.endswith(".bin"))
    data, idx = bytearray(open(p, "rb").read()), bytearray(open(p[:-3] + "idx", "rb").read())
    for _ in range(3):
        at = r.randrange(512, len(data) - 256)
        data[at:at + 200] = bytes(200)
    for e in range(0, len(idx), 64):
        off, size = struct.unpack_from("<QQ", idx, e)
        struct.pack_into("<I", idx, e + 56, crc32c(data[off:off + size]))
        struct.pack_into("<I", idx, e + 60, crc32c(idx[e:e + 60]))
    open(p, "wb").write(data)
    open(p[:-3] + "idx", "wb").write(idx)


def holes(a, b):
    """What is in both has times that meet: the truth is in each of them."""
    key = lambda o: (o["type"], o["src"], o["off"], o.get("first"), o.get("addr"))
    all_of = {}
    for o in rows(a):
        if o["type"] in ("range", "off", "on") and "time" in o:
            all_of.setdefault(key(o), []).append(o["time"])
    n = 0
    for o in rows(b):
        if o["type"] not in ("range", "off", "on") or "time" not in o:
            continue
        # the same packet may tell of the same instructions many times
        v = all_of.get(key(o), [])
        if not v:
            continue
        n += 1
        if not any(t["lo"] <= o["time"].get("hi", 1 << 64) and o["time"]["lo"] <= t.get("hi", 1 << 64) for t in v):
            fail("at", o["off"], o["time"], "but", v)
    if n < 100:
        fail("only", n, "events are in both")


def unmap(path):
    """The clock map is gone: one is fitted to the readings of both clocks. A section without a checksum was edited by hand."""
    s = open(path).read()
    i = s.index("[clock]")
    j = s.index("crc=", i)
    keep = [x for x in s[i:j].splitlines(True) if x.split("=")[0] not in ("mult", "shift", "zero")]
    open(path, "w").write(s[:i] + "".join(keep) + s[s.index("\n", j) + 1:])


def same_order(a, b):
    """Both tell the same events in the same order."""
    key = lambda o: (o["type"], o["src"], o["off"], o.get("first"), o.get("number"))
    x, y = [key(o) for o in rows(a)], [key(o) for o in rows(b)]
    for i, (p, q) in enumerate(zip(x, y)):
        if p != q:
            fail("event", i, p, "but", q)
    if len(x) != len(y) or len(x) < 400:
        fail(len(x), "and", len(y), "events")


if __name__ == "__main__":
    what, args = sys.argv[1], sys.argv[2:]
    if what == "damage":
        damage(args[0], args[1:])
    elif what == "unmap":
        unmap(*args)
    else:
        {"whole": whole, "holes": holes, "order": same_order}[what](*args)
