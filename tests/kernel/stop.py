# SPDX-License-Identifier: BSD-2-Clause
"""
The power of a guest that records (stop.c) is cut: what its disk holds then is made of the log of its writes (boot.sh).

stop.py watch OUT N SEED: beside the guest. Of N random instants keeps what stood on the console and how many writes there were.
stop.py look OUT HWTRACE TMP: afterwards. Of each instant: the disk as it would be, of three kinds in turn: all writes arrived; none since the
last flush; any of their blocks. Its file system is mended as after any power cut, and the capture read.

Truths: the capture that came to its end in the same run, whose calls the guest counted; what the guest's kernel said was on the disk.
"""
import json
import os
import random
import re
import struct
import subprocess
import sys
import time

FLUSH, FUA, DISCARD = 1, 2, 4		# of a log entry (Linux' dm-log-writes)
BLOCK = 4096				# a disk writes one whole, or not at all
HEADER, CONTENT, EVENTS = 96, 40, 80	# struct hwt_ctf_packet: its bytes; where content_size and events are


def read(name, mode="rb"):
    with open(name, mode) as f:
        return f.read()


def written(out):
    head = b""
    with open(out + "/writes", "rb") as f:
        head = f.read(28)
    return struct.unpack("<QQQI", head)[2] if len(head) == 28 else 0


def watch(out, n, seed):
    """Each state that was seen from the beginning of the recording to its end is an instant; @n of them are taken."""
    seen, end = [], time.time() + 900
    while not seen or b"\nguest: done" not in text:
        if time.time() > end:
            sys.exit("the guest does not come to its end")
        # in this order: what the console tells is in the log
        raw = read(out + "/console") if os.path.exists(out + "/console") else b""
        text, now = raw.replace(b"\r", b""), (len(raw), written(out) if raw else 0)
        if b"\nrecording" in text and (not seen or seen[-1] != now):
            seen.append(now)
        time.sleep(0.01)
    with open(out + "/instants", "w") as f:
        for console, writes in sorted(random.Random(seed).sample(seen, min(n, len(seen)))):
            print(console, writes, file=f)


class Log:
    """Entries of the log: (flags, offset on the disk, bytes)."""

    def __init__(self, name):
        self.f = open(name, "rb")
        magic, version, self.n, self.sector = struct.unpack("<QQQI", self.f.read(28))
        if magic != 0x6A736677736872 or version != 1:
            sys.exit("no log of writes")
        self.f.seek(self.sector)

    def __iter__(self):
        for _ in range(self.n):
            h = self.f.read(self.sector)
            sector, count, flags, _ = struct.unpack("<QQQQ", h[:32])
            data = b"" if flags & DISCARD else self.f.read(count * self.sector)
            yield flags, sector * self.sector, bytes(count * self.sector) if flags & DISCARD else data


class Disk:
    def __init__(self, image, log):
        self.safe = bytearray(image)	# what can not be lost any more
        self.open = []			# writes since the last flush
        self.log, self.at = iter(log), 0

    def to(self, n):
        while self.at < n:
            flags, off, data = next(self.log)
            self.at += 1
            if flags & FLUSH:
                for o, d, _ in self.open:
                    self.safe[o:o + len(d)] = d
                self.open = []
            if data:
                self.open.append((off, data, flags & FUA))

    def cut(self, kind, rnd):
        disk = bytearray(self.safe)
        for off, data, sure in self.open:
            for i in range(0, len(data), BLOCK):
                piece = data[i:i + BLOCK]
                if sure or kind == 0 or (kind == 2 and rnd.random() < 0.5):
                    disk[off + i:off + i + len(piece)] = piece
        return disk


def fetch(image, to):
    """The files on the disk, as after any power cut. False: nothing had begun."""
    p = subprocess.run(["e2fsck", "-fp", image], capture_output=True, text=True)
    if p.returncode > 1:
        sys.exit(f"e2fsck: {p.stdout}{p.stderr}")
    os.mkdir(to)
    subprocess.run(["debugfs", "-R", f"rdump /stop.hwt {to}", image], capture_output=True, check=True)
    return os.path.exists(to + "/stop.hwt")


def events(tool, capture):
    """Of each CPU its events without their times, and these; what the tool said."""
    p = subprocess.run([tool, "list", "--jsonl", capture], capture_output=True, text=True)
    v, start = {}, 0
    for line in p.stdout.splitlines():
        if '"type":"header"' in line:
            start = json.loads(line).get("time_start", 0)
        m = re.search(r'"cpu":(\d+),.*?("time":\{"lo":(-?\d+),"hi":(-?\d+)\})', line)
        if m:
            # the idle threads have one number and a name for each CPU: which one is told depends on the other CPU's records
            line = re.sub("swapper/[0-9]+", "swapper", line)
            v.setdefault(int(m[1]), []).append((line.replace(m[2], ""), start + int(m[3]), start + int(m[4])))
    return v, p.stderr, p.returncode


def rate(tool, capture):
    """How well the counter's rate is known, in parts, and its place on the base clock, in ns, as the capture says itself: of two
    captures the times of the same ticks differ by that much of the time since the start, and by that much."""
    p = subprocess.run([tool, "info", "--jsonl", capture], capture_output=True, text=True)
    m = re.search(r'"map":"counter".*"rate_ppb":(\d+),"off":(\d+)', p.stdout)
    return (int(m[1]) / 1e9, int(m[2])) if m else (0, 0)


def calls(v):
    """Numbers of the calls of each CPU's thread, in order."""
    n = {}
    for lines in v.values():
        for line, lo, _ in lines:
            m = re.search(r"arg0=0x1 arg1=0x2 arg2=0x3 arg3=0x4 arg4=0x([01]) arg5=0x([0-9a-f]+)", line)
            if m:
                n.setdefault(int(m[1]), []).append(int(m[2], 16))
    return n


def in_packets(data, size):
    """Records in the packets of a stream file that end before @size."""
    n = at = 0
    while at + HEADER <= size:
        bits, = struct.unpack_from("<Q", data, at + CONTENT)
        if at + bits // 8 > size:
            break
        n += struct.unpack_from("<I", data, at + EVENTS)[0]
        at += bits // 8
    return n


def compare(i, got, truth, synced, final, known):
    """What is wrong with one capture; how many events it lacks of those told to be on the disk, and in all."""
    begin = min((w[0][1] for w in truth.values()), default=0)
    for cpu, v in got.items():
        whole = truth.get(cpu, [])
        if [e[0] for e in v] != [e[0] for e in whole[:len(v)]]:
            sys.exit(f"instant {i}: events of CPU {cpu} are not the first ones of the recording")
        for e, w in zip(v, whole):
            room = 1 + sum((w[2] - begin) * parts + off for parts, off in known)	# ns; 1: what rounding leaves
            if e[1] > w[2] + room or w[1] > e[2] + room:
                sys.exit(f"instant {i}: CPU {cpu}: time {e[1:]} is {w[1:]}: {e[0]}")
    for cpu in truth:
        sure = in_packets(final[cpu], synced.get(f"kernel/cpu{cpu}", 0))
        if len(got.get(cpu, [])) < sure:
            sys.exit(f"instant {i}: {len(got.get(cpu, []))} events of CPU {cpu}, {sure} were on the disk")


def look(out, tool, tmp):
    instants = [tuple(map(int, line.split())) for line in read(out + "/instants", "r").splitlines()]
    raw = read(out + "/console")
    console = raw.replace(b"\r", b"")
    if not fetch(out + "/out.img", tmp + "/end"):
        sys.exit("nothing was recorded")
    end = tmp + "/end/stop.hwt"
    truth, said, rc = events(tool, end)
    if rc or "E140" in said:
        sys.exit(f"the whole capture: {said}")
    known = rate(tool, end)
    # what the program knows of its calls: none is missing between the first that is recorded and the last that was made
    made = {int(a): int(b) for a, b in re.findall(rb"calls (\d) (\d+)\n", console)}
    for cpu, n in calls(truth).items():
        if n != list(range(n[0], n[0] + len(n))) or n[-1] != made[cpu] - 1:
            sys.exit(f"the whole capture: calls {n[0]} to {n[-1]} of {made[cpu]} of CPU {cpu}")
    final = {cpu: read(f"{end}/kernel/cpu{cpu}") for cpu in truth}
    disk, rnd = Disk(read(out + "/first.img"), Log(out + "/writes")), random.Random(1)
    sums, lacks, none = [0, 0, 0], [], 0
    for i, (at, n) in enumerate(instants):
        kind = i % 3
        told = {m[0].decode(): int(m[1]) for m in re.findall(rb"synced stop.hwt/(\S+) (\d+)\r?\n", raw[:at])}
        disk.to(n)
        image, to = tmp + "/cut.img", tmp + "/cut"
        with open(image, "wb") as f:
            f.write(disk.cut(kind, rnd))
        found = fetch(image, to)
        for name, size in told.items():
            now = os.path.getsize(f"{to}/stop.hwt/{name}") if os.path.exists(f"{to}/stop.hwt/{name}") else -1
            if now < size:
                sys.exit(f"instant {i}: {name} has {now} bytes, {size} were on the disk")
        if not told.get("hwtrace.ini") and (not found or not os.path.exists(to + "/stop.hwt/hwtrace.ini") or
                                            not os.path.getsize(to + "/stop.hwt/hwtrace.ini")):
            none += 1
        else:
            got, said, rc = events(tool, to + "/stop.hwt")
            ended = read(to + "/stop.hwt/hwtrace.ini") == read(end + "/hwtrace.ini")
            if told.get("kernel/metadata") and not ended and "E140" not in said and "ends in a section" not in said:
                sys.exit(f"instant {i}: it does not say that it is no whole capture: {said}")
            compare(i, got, truth, told, final, (known, rate(tool, to + "/stop.hwt")))
            sums[kind] += 1
            lacks.append(sum(map(len, got.values())))
        subprocess.run(["rm", "-rf", to, image], check=True)
    rounds = len(re.findall(rb"synced stop.hwt/hwtrace.ini ", console))
    print(f"# {len(instants)} power cuts while {sum(map(len, truth.values()))} events were recorded, {rounds} times onto the disk: "
          f"{sums[0]} with all writes, {sums[1]} without those since the last flush, {sums[2]} with any of them, {none} before it had begun; "
          f"0 wrong events, none missing that was on the disk; from {min(lacks)} to {max(lacks)} events")
    if sum(sums) < len(instants) // 2 or max(lacks) < sum(map(len, truth.values())) // 3:
        sys.exit("too few captures have any")


if sys.argv[1] == "watch":
    watch(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    look(*sys.argv[2:5])
