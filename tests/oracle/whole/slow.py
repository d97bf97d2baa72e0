# SPDX-License-Identifier: BSD-2-Clause
# slow.py TOOL ARCH ROOT CAPTURE TRUTH: what latency says of all requests of serve.c, and what why says of the slow ones, against TRUTH, the lines
# of `whole -t`. Times of truth are ticks, and those of the capture, too. Exit 1: something is wrong; 2: nothing is, but a busy machine did not let
# happen what was to be shown.
import json, subprocess, sys

tool, arch, root, cap, truth = sys.argv[1:]
# what the kernel calls the interrupt of its timer
timer = {"x86_64": "local_timer", "aarch64": "arch_timer"}[arch]
true = [json.loads(s) for s in open(truth) if s.startswith("{")]
bad, absent = 0, []


def complain(what):
    global bad
    bad += 1
    print("FAIL " + what)


def run(*args):
    p = subprocess.run([tool, *args, "-q", "--from", "request", "--jsonl", "--cpu", "0", "--sysroot", root, "--kcore", cap + ".kcore", cap], capture_output=True, text=True)
    if p.returncode:
        sys.exit("FAIL %s: exit %d: %s" % (args[0], p.returncode, p.stderr))
    return [json.loads(s) for s in p.stdout.splitlines()]


def holds(iv, lo, hi):
    return iv["lo"] <= hi and (iv["hi"] is None or iv["hi"] >= lo)


# every request is a pair, with the true length, and the true time on no CPU
pairs = {r["number"]: r for r in run("latency", "--worst", str(len(true))) if r["type"] == "pair"}
if sorted(pairs) != [t["number"] for t in true]:
    complain("latency has the requests %s" % sorted(pairs))
for t in true:
    p = pairs.get(t["number"])
    if not p:
        continue
    took = (t["to"][0] - t["from"][1], t["to"][1] - t["from"][0])
    if not holds(p["took"], *took):
        complain("request %d took %d to %d, latency says %s" % (t["number"], *took, p["took"]))
    off = {k: sum(p[n][k] for n in ("preempted", "blocked", "ready", "off-cpu")) for k in ("lo", "hi")}
    if not holds(off, t["preempted"], t["preempted"]) or off["hi"] < t["others"]:
        complain("request %d was on no CPU for %d, latency says %s" % (t["number"], t["preempted"], off))
    if not holds(p["irq"], t["irq"], t["irq"]):
        complain("request %d had interrupts for %d, latency says %s" % (t["number"], t["irq"], p["irq"]))


def why(number):
    rows = run("why", "--call", str(number))
    parts = {r["what"]: r for r in rows if r["type"] == "part"}
    # nothing is left that no part explains
    if parts["rest"]["more"] != {"lo": 0, "hi": 0} or parts["unknown"]["more"] != {"lo": 0, "hi": 0}:
        complain("why of request %d: not all is explained" % number)
    return parts, true[number - 1]


def tell(number, what, part, amount):
    print("# request %d, %s: %s, true are %d ticks in %d" % (number, what, "%d to %d" % (part["this"]["lo"], part["this"]["hi"]), amount,
          true[number - 1]["to"][0] - true[number - 1]["from"][1]))


# a longer path: the instructions of the function that it alone ran, less what interrupted them
p, t = why(5)
part = p["extra path"]
tell(5, "longer", part, t["extra"])
if part.get("sym") != "extra" and part["this"]["hi"] > t["extra"]:
    absent.append("request 5: another path was longer yet")
elif part.get("sym") != "extra" or not holds(part["this"], t["extra"] * 98 // 100, t["extra"] * 102 // 100):
    complain("why of the longer request: %s, true %d" % (part, t["extra"]))
# another thread of a higher priority
p, t = why(8)
part = p["preempted"]
tell(8, "preempted", part, t["preempted"])
if part.get("by") != "serve" or not holds(part["this"], t["preempted"], t["preempted"]) or part["this"]["hi"] < t["others"]:
    complain("why of the preempted request: %s, true %d" % (part, t["preempted"]))
# page faults; interrupts in them are told as such
p, t = why(11)
part, irqs = p["fault"], p["irq"]["this"]["hi"] + p["softirq"]["this"]["hi"] + p["preempted"]["this"]["hi"]
tell(11, "faults", part, t["fault"])
if part["times"] != t["faults"] or part.get("sym") != "request" or not holds(part["this"], t["fault"] - irqs, t["fault"]):
    complain("why of the request with faults: %s, true %d times, %d" % (part, t["faults"], t["fault"]))
# timers; when they come depends on the machine that emulates
p, t = why(14)
part = p["irq"]
tell(14, "interrupts", part, t["trap"])
if not t["irqs"]:
    absent.append("request 14 was not interrupted")
elif part.get("by") != timer or not holds(part["this"], t["irq"], max(t["trap"], t["irq"])):
    complain("why of the request with interrupts: %s, true %d to %d" % (part, t["irq"], t["trap"]))
for a in absent:
    print("# not shown: " + a)
sys.exit(1 if bad else 2 if absent else 0)
