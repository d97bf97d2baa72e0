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
    # what is told in another event, or says nothing new, is less; nothing is more
    c = got["calls"]
    for name, elem in (("on", "TRACE_ON"), ("off", "EO_TRACE"), ("exception", "EXCEPTION"), ("eret", "EXCEPTION_RET"), ("aspace", "PE_CONTEXT")):
        if c[name] > n[elem]:
            sys.exit("%s: %d %s, and %d in the listing" % (sys.argv[4], c[name], name, n[elem]))
    others = sum(c[k] for k in ("on", "off", "exception", "eret", "aspace"))
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
# From one function to another: where the walk comes to one of the two, as OpenCSD's listing counts them, and nothing else of what ran.
d=$CAP/arm/r5f-freertos/in
"$O/tests/tools/interest" "$d" "$d/freertos.out" malloc free >"$TMP/points" || die "interest: points: exit $?"
"$HWT" calls --summary --jsonl "$d" --elf "$d/freertos.out" 2>/dev/null | sed -n 's/.*"addr":"0x\([0-9a-f]*\)","sym":"\(malloc\|free\)".*/\1/p' >"$TMP/addrs"
trc_pkt_lister -ss_dir "$d" -decode -logfilename "$TMP/ppl" >/dev/null 2>&1
visits=$(grep -c "exec range=0x0*\($(paste -sd'|' "$TMP/addrs" | sed 's/|/\\|/g')\):" "$TMP/ppl")
awk -v visits="$visits" '{ n[$2] = $3 } END {
	other = n["on"] + n["off"] + n["gap"] + n["aspace"] + n["exception"] + n["eret"]
	printf "# from malloc to free: %d ranges walked, %d events = %d visits + %d of trace on/off, exceptions, contexts, holes\n", n["ranges"], n["events"], n["call"], other
	exit n["call"] != visits || n["events"] != visits + n["return"] + other || n["return"] > 2 || n["events"] * 100 > n["ranges"]
}' "$TMP/points" || die "points: $visits visits by the listing; $(cat "$TMP/points")"
# No more events than calls, returns and holes that "calls" shows, for every capture. A call that is open at the end of the trace is left
# there; of the holes "calls" joins some, so they are counted as check names them. Where the kernel told of switches these are lines too.
bound() {	# name input [elf]
	"$O/tests/tools/interest" "$2" ${3:+"$3"} >"$TMP/n" || die "$1: interest: exit $?"
	"$HWT" calls --jsonl "$2" ${3:+--elf "$3"} >"$TMP/c" 2>/dev/null || die "$1: calls: exit $?"
	# a halt for a debugger calls nothing, so it is no line of "calls"
	"$HWT" list --level events --jsonl "$2" ${3:+--elf "$3"} 2>/dev/null | grep '"name":"debug halt"' >>"$TMP/c"
	awk -v name="$1" '
	FILENAME == ARGV[1] { if ($1 == "calls") n[$2] = $3; if ($1 == "holes" && $2 == "gap") holes = $3; next }
	match($0, /"type":"[a-z.-]*"/) { l[substr($0, RSTART + 8, RLENGTH - 9)]++ }
	END {
		calls = l["call"] + 0; returns = l["return"] + l["open"]; untraced = l["untraced"] + 0; switches = l["switch"] + 0; halts = l["exception"] + 0
		sum = calls + returns + holes + untraced + switches + halts
		printf "# %s: %d events (%d contexts) <= %d = %d calls + %d returns + %d holes", name, n["events"], n["aspace"],
			sum, calls, returns, holes + untraced
		if (halts) printf " + %d halts", halts
		if (switches) printf " + %d switches", switches
		print n["events"] <= sum ? "" : ": NO"
		exit n["events"] > sum
	}' "$TMP/n" "$TMP/c" || die "$1: more events than calls, returns and holes"
}
for d in "$CAP"/arm/*/in "$CAP"/ete/*/in; do
	c=${d%/in}
	c=${c##*/}
	case $c in
	fib-2) published "$CAP/arm/fib-files/trace2/cstrace.bin" 14624 || continue ;;
	esac
	[ ! -f "$d/snapshot.ini" ] || bound "$c" "$d"
done
for f in perf_etm perf_with_unformatted_trace perf_kernel; do bound $f "$CAP/arm/pixel/in/$f.data"; done
for f in lldb-cpus lldb-thread; do bound $f "$CAP/pt/$f/in/trace.json"; done
bound skylake-kernel "$CAP/pt/skylake-kernel/in/perf.data"
bound demo "$TMP/perf.data"
