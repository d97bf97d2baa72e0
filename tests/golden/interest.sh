#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Who wants calls gets no event for each range: the flow stream's own count at that level against calls and returns counted by others.
# Intel PT: the single steps of the demo, named by objdump. ETM: E atoms of "b+link" and "ret" in OpenCSD's listing.
. tests/golden/common
need python3
need objdump
d=fixtures/captures/demo
"$O/tests/tools/mkdemo" "$PWD/$d/in/demo" "$d/expect.addrs" "$TMP/perf.data" || die "mkdemo"
"$O/tests/tools/interest" "$TMP/perf.data" >"$TMP/pt" || die "interest: exit $?"
objdump -d --no-show-raw-insn "$d/in/demo" >"$TMP/code"
cat >"$TMP/t.py" <<'PY'
import collections, re, sys

def levels(path):
    got = collections.defaultdict(collections.Counter)
    for level, name, n in (s.split() for s in open(path)):
        got[level][name] = int(n)
    return got

def check(what, got, calls, returns, other):
    c = got["calls"]
    # a jump into another function is a call of its own kind, told apart
    edges = c["call"] - c["tail"]
    print("# %s: %d ranges walked, %d events = %d calls + %d tail calls + %d returns + %d holes + %d of trace on/off, exceptions, contexts" % (
        what, c["ranges"], c["events"], edges, c["tail"], c["return"], c["gap"], other))
    if edges not in calls or c["return"] not in returns:
        sys.exit("%s: %d calls, expected %s; %d returns, expected %s" % (what, edges, calls, c["return"], returns))
    if c["events"] != c["call"] + c["return"] + c["gap"] + other:
        sys.exit("%s: %s" % (what, dict(c)))
    if got["holes"]["events"] != got["holes"]["gap"] or got["ranges"]["range"] != c["ranges"]:
        sys.exit("%s: levels differ: %s" % (what, dict(got)))

if sys.argv[1] == "pt":
    ops = {int(m[1], 16): m[2] for m in re.finditer(r"^ *([0-9a-f]+):\s+(\w+)", open(sys.argv[3]).read(), re.M)}
    ran = collections.Counter(ops[int(s, 16)] for s in open(sys.argv[4]))
    near, far, ret = ran["call"], ran["syscall"], ran["ret"] + ran["retq"]
    # tracing goes off at a system call and on behind it, where the program still lives
    check("Intel PT", levels(sys.argv[2]), [near + far], [ret], 2 * far)
else:
    n = collections.Counter()
    for s in open(sys.argv[3], errors="replace"):
        m = re.search(r"OCSD_GEN_TRC_ELEM_(\w+)\((.*)", s)
        if m:
            n[m[1]] += 1
            if " E " in m[2]:
                n["link"] += "b+link" in m[2]
                n["ret"] += bool(re.search(r"\bret\b", m[2]))
                n["ijump"] += bool(re.search(r" iBR *(<cond>)?\)", m[2]))
    got = levels(sys.argv[2])
    others = sum(n[k] for k in ("TRACE_ON", "EO_TRACE", "EXCEPTION", "EXCEPTION_RET", "PE_CONTEXT"))
    # system calls and returns from exceptions have no name in the listing
    check(sys.argv[4], got, range(n["link"], n["link"] + n["EXCEPTION"] + 1), range(n["ret"], n["ret"] + n["ijump"] + 1), others)
PY
python3 "$TMP/t.py" pt "$TMP/pt" "$TMP/code" "$d/expect.addrs" || exit 1
need_captures
need trc_pkt_lister
for c in r5f-freertos fib-1; do
	rm -f "$TMP/ppl"
	trc_pkt_lister -ss_dir "$CAP/arm/$c/in" -decode_only -logfilename "$TMP/ppl" >/dev/null 2>&1
	"$O/tests/tools/interest" "$CAP/arm/$c/in" >"$TMP/etm" || die "interest: exit $?"
	python3 "$TMP/t.py" etm "$TMP/etm" "$TMP/ppl" "$c" || exit 1
done
