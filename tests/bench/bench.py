# SPDX-License-Identifier: BSD-2-Clause
"""usage: bench.py BUILD_DIR CAPTURES PAIRS

Runs us and a peer in turn on the same input and prints the median and range of the ratio of CPU time (user + system)
and of peak resident memory. A ratio below 1 means that we need less. Figures are of this machine and this run. Before
a ratio is taken, the counts of both sides are compared: who does less work is not faster.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

O, CAP, PAIRS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
HWT = os.path.join(O, "hwtrace")
BARE = os.path.join(O, "tests/bench/bare")
MEASURE = os.path.join(O, "tests/bench/measure")
TOOLS = os.path.join(O, "tests/tools")
ENV = dict(os.environ, NO_COLOR="1", LC_ALL="C")
TIMES = 16          # longer traces, for memory


def run(cmd, out=None):
    """CPU seconds and peak KiB. @out: the command's own output file, made anew (trc_pkt_lister appends)."""
    if out and os.path.exists(out):
        os.unlink(out)
    r = subprocess.run([MEASURE, out or os.devnull] + cmd, stdout=subprocess.PIPE, env=ENV, text=True, check=True).stdout.split()
    if r[0] not in ("0", "1"):
        sys.exit("%s: exit %s" % (" ".join(cmd), r[0]))
    return float(r[1]), int(r[2])


def lines(cmd):
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=ENV, text=True)
    yield from p.stdout
    p.wait()


def same(what, ours, theirs):
    if ours != theirs:
        sys.exit("%s: %d here, %d there: not the same work" % (what, ours, theirs))
    print("  both sides: %d %s" % (ours, what), flush=True)


def ratio(name, ours, peer, goal, our_out=None, peer_out=None):
    cpu, mem, secs = [], [], []
    for _ in range(PAIRS):
        a, b = run(ours, our_out), run(peer, peer_out)
        cpu.append(a[0] / max(b[0], 1e-3))
        mem.append(a[1] / b[1])
        secs.append((a[0], b[0]))
    print("%s: cpu %.2f (%.2f..%.2f), peak memory %.2f (%.2f..%.2f); about %.2f s and %.2f s; goal: %s" %
          (name, statistics.median(cpu), min(cpu), max(cpu), statistics.median(mem), min(mem), max(mem),
           statistics.median(s[0] for s in secs), statistics.median(s[1] for s in secs), goal), flush=True)


def longer(name, cmd, long):
    a, b = run(cmd), run(long)
    print("%s, %d times the trace: peak memory %.2f times (%d to %d KiB), cpu %.1f times; goal: flat memory" %
          (name, TIMES, b[1] / a[1], a[1], b[1], b[0] / a[0]), flush=True)


def our_insns(cmd):
    return sum(r["insns"] for r in map(json.loads, lines(cmd + ["--jsonl"])) if r["type"] == "ledger")


def bare_insns(cmd):
    return int(next(lines(cmd)).split()[0])


def count(word, cmd):
    return sum(word in s for s in lines(cmd))


def intel_pt(tmp):
    at = lambda n: os.path.join(tmp, n)
    perf = shutil.which("perf")
    subprocess.check_call(["gcc", "-O1", "-fno-pie", "-no-pie", "-static", "-Wl,--build-id=sha1", "-o", at("prog"),
                           "tests/bench/prog/work.c"])
    with open(at("addrs"), "wb") as f:
        if subprocess.call([TOOLS + "/step", at("prog")], stdout=f, stderr=subprocess.DEVNULL) == 77:
            print("skip: ptrace is not permitted here")
            return
    for n in (3, 50, 400, 50 * TIMES):
        subprocess.check_call([TOOLS + "/mkdemo", "-psb", "20000", "-repeat", str(n), "-raw", at("pt.%d" % n),
                               at("prog"), at("addrs"), at("perf.%d" % n)])
    pt = lambda verb, n: [HWT] + verb + ["--pt", at("pt.%d" % n), "--elf", at("prog")]
    pd = lambda verb, n: [HWT] + verb + [at("perf.%d" % n)]
    one = our_insns(pt(["check"], 3)) // 3
    print("Intel PT: a program with a libc, single-stepped; %d instructions, %d bytes of trace, repeated. The packets are "
          "made by a model, not by hardware." % (one, os.path.getsize(at("pt.3")) // 3))
    bare = [BARE, "ipt", at("pt.400"), at("prog")]
    same("instructions", our_insns(pt(["check"], 400)), bare_insns(bare))
    ratio("check / bare libipt block loop", pt(["check"], 400), bare, "at most 1.3")
    ratio("check of perf.data / bare libipt block loop", pd(["check"], 400), bare, "at most 1.3")
    if perf:
        script = [perf, "script", "-i", at("perf.3"), "--itrace=i1i", "-F", "comm,tid,cpu,time,ip,sym,symoff"]
        same("instructions", count('"type":"insn"', pd(["list", "--jsonl"], 3)), count("", script))
        ratio("list / perf script --itrace=i1i (no text of instructions there)", pd(["list"], 3), script, "none",
              at("out"), at("out"))
        script = [perf, "script", "-i", at("perf.50"), "--itrace=b", "-F", "comm,tid,cpu,time,ip,sym,symoff,addr,flags"]
        print("  perf script prints %d taken branches: thread, CPU, time, from, to, both symbols, kind. We print %d ranges of\n"
              "  instructions, which end at branches not taken, too: time, CPU, thread, first, last, symbol, count, kind." %
              (count("=>", script), count('"type":"range"', pd(["list", "--level", "range", "--jsonl"], 50))))
        ratio("list --level range / perf script", pd(["list", "--level", "range"], 50), script, "at most 1",
              at("out"), at("out"))
    else:
        print("skip: perf is not installed")
    for verb in ["check"], ["list", "--level", "range"], ["calls"], ["timeline"], ["packets"]:
        longer(" ".join(verb), pd(verb, 50), pd(verb, 50 * TIMES))


def repeat(name, trace, to, n, extra=()):
    """A snapshot with its trace @n times. The lister takes files only that lie beside the snapshot."""
    d = os.path.join(CAP, "arm", name, "in")
    os.mkdir(to)
    for f in os.listdir(d) + list(extra):
        src = os.path.join(d, f)
        data = open(src, "rb").read()
        if f.endswith(".ini"):
            data = re.sub(rb"(?m)^(file=).*/", rb"\1", data)
        f = os.path.basename(f)
        with open(os.path.join(to, f), "wb") as out:
            out.write(data * n if f == trace else data)
    return os.path.getsize(os.path.join(to, trace)) // n


def lister(tmp, d):
    ppl = os.path.join(tmp, "ppl")
    ours, cmd = [HWT, "list", "--level", "range", d], ["trc_pkt_lister", "-ss_dir", d, "-decode", "-logfilename", ppl]
    run(cmd, ppl)
    same("ranges", count('"type":"range"', ours + ["--jsonl"]), sum("INSTR_RANGE" in s for s in open(ppl)))
    ratio("list --level range / trc_pkt_lister -decode", ours, cmd, "at most 0.33", os.path.join(tmp, "out"), ppl)


def coresight(tmp):
    at = lambda n: os.path.join(tmp, n)
    if not os.path.isdir(os.path.join(CAP, "arm/fib-files")):
        print("skip: captures of others are not here (HWT_CAPTURES)")
        return
    files = ["../../fib-files/" + f for f in ("trace1/cstrace.bin", "fib", "ld-2.31.so", "libc-2.31.so")]
    for n in (50, 100, 400, 50 * TIMES):
        size = repeat("fib-1", "cstrace.bin", at("cs%d" % n), n, files)
    print("ETMv4: a real capture of %d bytes (arm/fib-1), repeated" % size)
    bare = [BARE, "ocsd", at("cs400/cstrace.bin"), "0x41", "0x10", "0x28000ea1", "0x4100f403", "0x488", "0x0",
            at("cs400/fib"), "0xaaaadd370000", at("cs400/ld-2.31.so"), "0xffff9d470000", at("cs400/libc-2.31.so"), "0xffff9d2fd000"]
    same("instructions", our_insns([HWT, "check", at("cs400")]), bare_insns(bare))
    ratio("check / bare OpenCSD C API loop", [HWT, "check", at("cs400")], bare, "at most 1.3")
    if shutil.which("trc_pkt_lister"):
        lister(tmp, at("cs100"))
        size = repeat("juno-uname-002", "trace.bin", at("juno"), 20)
        print("ETMv4, six cores in one sink, kernel code missing: a real capture of %d bytes (arm/juno-uname-002), repeated" % size)
        lister(tmp, at("juno"))
    else:
        print("skip: trc_pkt_lister is not installed")
    for verb in ["check"], ["list", "--level", "range"], ["calls"], ["timeline"], ["packets"]:
        longer(" ".join(verb), [HWT] + verb + [at("cs50")], [HWT] + verb + [at("cs%d" % (50 * TIMES))])


def merging():
    exe, few, many = os.path.join(O, "tests/bench/merge"), "10000000", "100000000"
    print("Merge: 8 streams of made-up events in order of time, flow and kernel records mixed; the peer is a plain heap of 8 heads "
          "over the same structs. Making the events is part of all.")
    n, order, ours = next(lines([exe, "merge", many])).split()
    m, peer_order, theirs = next(lines([exe, "heap", many])).split()
    if order != peer_order:
        sys.exit("merge: another order than the peer's")
    same("events in the same order", int(n), int(m))
    small = next(lines([exe, "merge", few])).split()
    print("  comparisons: %.3f an event, %.3f of ten times fewer events; the heap's %.3f" %
          (int(ours) / int(n), int(small[2]) / int(small[0]), int(theirs) / int(m)))
    ratio("merge / plain heap", [exe, "merge", many], [exe, "heap", many], "at most 3")
    ratio("clock map and merge / plain heap", [exe, "clock", many], [exe, "heap", many], "at most 3")
    ratio("making the events alone / plain heap", [exe, "none", many], [exe, "heap", many], "none")
    a, b = run([exe, "clock", few]), run([exe, "clock", many])
    print("clock map and merge, 10 times the events: peak memory %.2f times (%d to %d KiB), cpu %.1f times; goal: flat memory" %
          (b[1] / a[1], a[1], b[1], b[0] / a[0]), flush=True)


def main():
    print(next(lines([HWT, "version"])).strip() + "; peers: " + "; ".join(
        next(lines(c)).strip() for c in ([BARE, "version"], ["perf", "--version"]) if shutil.which(c[0])))
    merging()
    with tempfile.TemporaryDirectory() as tmp:
        intel_pt(tmp)
    with tempfile.TemporaryDirectory() as tmp:
        coresight(tmp)


main()
