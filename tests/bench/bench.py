# SPDX-License-Identifier: BSD-2-Clause
"""usage: bench.py BUILD_DIR CAPTURES PAIRS

Runs us and a peer in turn on the same input and prints the median and range of the ratio of CPU time (user + system)
and of peak resident memory. A ratio below 1 means that we need less. Figures are of this machine and this run.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

O, CAP, PAIRS = sys.argv[1], sys.argv[2], int(sys.argv[3])
HWT = os.path.join(O, "hwtrace")
BARE = os.path.join(O, "tests/bench/bare")
TOOLS = os.path.join(O, "tests/tools")
ENV = dict(os.environ, NO_COLOR="1", LC_ALL="C")


def run(cmd, out=None):
    with open(out or os.devnull, "wb") as f:
        p = subprocess.Popen(cmd, stdout=f, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=ENV)
        _, status, ru = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode not in (0, 1):
        sys.exit("%s: exit %d" % (" ".join(cmd), p.returncode))
    return ru.ru_utime + ru.ru_stime, ru.ru_maxrss


def ratio(name, ours, peer, goal, out=None):
    cpu, mem = [], []
    for _ in range(PAIRS):
        a, b = run(ours, out and out + ".ours"), run(peer, out and out + ".peer")
        cpu.append(a[0] / max(b[0], 1e-3))
        mem.append(a[1] / b[1])
    print("%-44s cpu %.2f (%.2f..%.2f)  peak memory %.2f  goal: %s" %
          (name, statistics.median(cpu), min(cpu), max(cpu), statistics.median(mem), goal), flush=True)


def main():
    perf = shutil.which("perf")
    with tempfile.TemporaryDirectory() as tmp:
        at = lambda n: os.path.join(tmp, n)
        # Intel PT: our own program, recursing deeper, stepped for the truth, its trace repeated
        subprocess.check_call(["gcc", "-O1", "-DSEED=19", "-foptimize-sibling-calls", "-fno-stack-protector",
                               "-fcf-protection=none", "-fno-pie", "-no-pie", "-static", "-nostdlib",
                               "-Wl,--build-id=sha1", "-o", at("prog"), "fixtures/captures/demo/demo.c"])
        with open(at("addrs"), "wb") as f:
            subprocess.check_call([TOOLS + "/step", at("prog")], stdout=f, stderr=subprocess.DEVNULL)
        insns = sum(1 for _ in open(at("addrs")))
        for n in (300, 4800):
            subprocess.check_call([TOOLS + "/mkdemo", "-plain", "-repeat", str(n), "-raw", at("pt.%d" % n),
                                   at("prog"), at("addrs"), at("perf.%d" % n)])
        print("Intel PT: %d instructions, %d bytes of trace (made by a model, not by hardware)" %
              (insns * 300, os.path.getsize(at("pt.300"))))
        pt = lambda verb, n=300: [HWT] + verb + ["--pt", at("pt.%d" % n), "--elf", at("prog")]
        ratio("check / bare libipt block loop", pt(["check"]), [BARE, "ipt", at("pt.300"), at("prog")], "at most 1.3")
        if perf:
            ratio("list --level range / perf script", [HWT, "list", "--level", "range", at("perf.300")],
                  [perf, "script", "-i", at("perf.300"), "--itrace=b", "-F", "comm,tid,cpu,time,ip,sym,addr"],
                  "not above 1", at("list"))
        else:
            print("skip: perf is not installed")
        a, b = run(pt(["check"])), run(pt(["check"], 4800))
        print("check, 16 times the Intel PT trace: peak memory %.2f times (%d to %d KiB)" % (b[1] / a[1], a[1], b[1]))
        # CoreSight: a real capture, repeated
        fib = os.path.abspath(os.path.join(CAP, "arm/fib-files"))
        if not os.path.isdir(fib):
            print("skip: captures of others are not here (HWT_CAPTURES)")
            return
        trace = open(fib + "/trace1/cstrace.bin", "rb").read()
        for n in (300, 4800):
            d = at("cs%d" % n)
            shutil.copytree(os.path.join(CAP, "arm/fib-1/in"), d)
            os.chmod(d, 0o755)
            for name in os.listdir(d):
                p = os.path.join(d, name)
                os.chmod(p, 0o644)
                text = open(p).read().replace("../../fib-files/trace1/cstrace.bin", "cstrace.bin")
                open(p, "w").write(text.replace("../../fib-files", fib))
            open(d + "/cstrace.bin", "wb").write(trace * n)
        print("ETMv4: a real capture of %d bytes, 60 times" % len(trace))
        dumps = [fib + "/fib", "0xaaaadd370000", fib + "/ld-2.31.so", "0xffff9d470000",
                 fib + "/libc-2.31.so", "0xffff9d2fd000"]
        regs = ["0x41", "0x10", "0x28000ea1", "0x4100f403", "0x488", "0x0"]
        ratio("check / bare OpenCSD C API loop", [HWT, "check", at("cs60")],
              [BARE, "ocsd", at("cs60/cstrace.bin")] + regs + dumps, "at most 1.3")
        if shutil.which("trc_pkt_lister"):
            ratio("list --level range / trc_pkt_lister -decode", [HWT, "list", "--level", "range", at("cs60")],
                  ["trc_pkt_lister", "-ss_dir", at("cs60"), "-decode", "-logfilename", at("ppl")],
                  "at most 0.33", at("cslist"))
        a, b = run([HWT, "check", at("cs60")]), run([HWT, "check", at("cs960")])
        print("check, 16 times the ETMv4 trace: peak memory %.2f times (%d to %d KiB)" % (b[1] / a[1], a[1], b[1]))


main()
