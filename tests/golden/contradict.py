# SPDX-License-Identifier: BSD-2-Clause
"""contradict.py DIR: native captures by hand, each with one thing in it that can not be. By hwtrace-capture(5) and uapi.h alone."""
import os
import struct
import sys

SWITCH, WAKING, ENTER, EXIT, SYNC = 0x101, 0x102, 0x401, 0x402, 0xC01


def crc32c(b):
    c = 0xFFFFFFFF
    for x in b:
        c ^= x
        for _ in range(8):
            c = (c >> 1) ^ (0x82F63B78 if c & 1 else 0)
    return c ^ 0xFFFFFFFF


def rec(time, kind, body, tid=-1, hit=None):
    body += bytes(-len(body) % 8)
    return struct.pack("<QHHHHQii", time, kind, 32 + len(body), 2, 1 if hit else 0, hit or 0, tid, tid) + body


def name(tid):
    return b"t%d" % tid + bytes(16 - len(b"t%d" % tid))


def switch(t, a, b, hit):
    return rec(t, SWITCH, struct.pack("<iiiiiiIIQ", a, a, b, b, 120, 120, 1 if a else 0, 0, (1 << 64) - 1) + name(a) + name(b), a, hit)


def waking(t, by, tid, cpu, hit):
    return rec(t, WAKING, struct.pack("<iiiI", tid, tid, 120, cpu) + name(tid), by, hit)


def sync(tick, ns, width=10):
    return rec(tick + width, SYNC, struct.pack("<QQII", tick, ns, width, 1))


def time_of(r):
    return struct.unpack_from("<Q", r)[0]


def shifted(records, by):
    return [struct.pack("<Q", time_of(r) + by) + r[8:] for r in records]


def packet(records, cpu, seq, lost=0):
    body = b"".join(records)
    bits = (88 + len(body)) * 8
    return struct.pack("<I16sIQQQQQQIIII", 0xC1FC1FC1, bytes(16), 0, time_of(records[0]), time_of(records[-1]), bits, bits, lost, seq, cpu, 0, len(records), 0) + body


def capture(path, cpus, mult=1, hz=10**9, extra=""):
    os.makedirs(path + "/kernel")
    os.makedirs(path + "/hw")
    text = "[hwtrace]\nversion=1\n[capture]\narch=x86_64\n" + extra
    text += "[clock]\ncounter=tsc\nbase=CLOCK_MONOTONIC\nfrequency=%d\nmult=%d\nshift=%d\nzero=0\n" % (hz, mult << 20, 20 if mult else 0)
    last = "[end]\n"
    for cpu, packets in cpus.items():
        with open("%s/kernel/cpu%d" % (path, cpu), "wb") as f:
            f.write(b"".join(packets))
        last += "file=%d kernel/cpu%d\n" % (os.path.getsize("%s/kernel/cpu%d" % (path, cpu)), cpu)
    last += "closed=1\n"
    with open(path + "/hwtrace.ini", "w") as f:
        f.write(text + last + "crc=0x%08x\n" % crc32c(last.encode()))


def work(turns=200):
    """Task 5 of CPU 0 wakes task 6 of CPU 1, each 1 ms, and the other way round; each 50th tick of the clock is known."""
    a, b = [], []
    for i in range(turns):
        t = 1000000 * (i + 1)
        a += [switch(t, 0, 5, 2 * i + 1), rec(t + 500, ENTER, struct.pack("<II6Q", 1, 0, 0, 0, 0, 0, 0, 0), 5, i + 1),
              rec(t + 900, EXIT, struct.pack("<IIq", 1, 0, 9), 5, i + 1), waking(t + 1000, 5, 6, 1, i + 1), switch(t + 300000, 5, 0, 2 * i + 2)]
        b += [switch(t + 2000, 0, 6, 2 * i + 1), waking(t + 500000, 6, 5, 0, i + 1), switch(t + 501000, 6, 0, 2 * i + 2)]
    return a, b


def mixed(*lists):
    return sorted(sum(lists, []), key=time_of)


def readings(clock):
    return [sync(1500000 + 10000000 * i, clock(1500000 + 10000000 * i)) for i in range(20)]


def main(d):
    a, b = work()
    one = {1: [packet(b, 1, 0)]}
    enter = next(i for i, r in enumerate(a) if i > 500 and struct.unpack_from("<H", r, 8)[0] == ENTER)

    def hit(n):
        return [r if i != enter else r[:16] + struct.pack("<Q", n) + r[24:] for i, r in enumerate(a)]

    n = struct.unpack_from("<Q", a[enter], 16)[0]
    capture(d + "/good", {0: [packet(a, 0, 0)], **one})
    capture(d + "/twice", {0: [packet(hit(n - 1), 0, 0)], **one})
    capture(d + "/missing", {0: [packet(a[:enter] + a[enter + 1:], 0, 0)], **one})
    capture(d + "/filtered", {0: [packet(a[:enter] + a[enter + 1:], 0, 0)], **one}, extra="scope=events that a filter lets through\n")
    capture(d + "/packet-twice", {0: [packet(a[:500], 0, 0), packet(a[:500], 0, 0), packet(a[500:], 0, 1)], **one})
    capture(d + "/packet-missing", {0: [packet(a[:502], 0, 0), packet(a[603:], 0, 2)], **one})
    capture(d + "/fewer-lost", {0: [packet(a[:500], 0, 0, 7), packet(a[500:], 0, 1, 3)], **one})
    capture(d + "/order", {0: [packet(a[:700] + [a[701], a[700]] + a[702:], 0, 0)], **one})
    capture(d + "/anew", {0: [packet(shifted(a[:500], 10**9), 0, 0), packet(a[500:], 0, 1)], 1: [packet(shifted(b, 10**9), 1, 0)]})
    capture(d + "/skew", {0: [packet(a, 0, 0)], 1: [packet(shifted(b, -10000), 1, 0)]})
    capture(d + "/no-map", {0: [packet(a, 0, 0)], **one}, 0, 0)
    capture(d + "/map", {0: [packet(mixed(a, readings(lambda c: c + 50000)), 0, 0)], **one})
    capture(d + "/frequency", {0: [packet(mixed(a, readings(lambda c: 2 * c)), 0, 0)], **one}, 0)
    capture(d + "/step", {0: [packet(mixed(a, readings(lambda c: c + (100 if c < 95000000 else 7000100))), 0, 0)], **one}, 0)
    odd = readings(lambda c: c + 100)
    capture(d + "/reading", {0: [packet(mixed(a, odd, [sync(time_of(odd[7]) - 10, 190000000)]), 0, 0)], **one}, 0)


main(sys.argv[1])
