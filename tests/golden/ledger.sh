#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# "packets" and "check" count the same bytes and holes of a CoreSight capture; check's holes about code are its own.
. tests/golden/common
need_captures
need python3
rc=0 n=0
for d in "$CAP"/arm/*/in "$CAP"/ete/*/in; do
	[ -f "$d/snapshot.ini" ] || continue
	case "$d" in
	*/fib-2/in) published "$CAP/arm/fib-files/trace2/cstrace.bin" 14624 || continue ;;
	esac
	a=$("$HWT" packets "$d" 2>&1 >/dev/null | sed -n 's/^decoded.* \([0-9]*\) holes\{0,1\} (\([0-9]*\) bytes\{0,1\} skipped, \([0-9]*\) lost)/\1 \2 \3/p')
	b=$("$HWT" check --jsonl "$d" 2>/dev/null | python3 -c '
import json, sys
code = "no-image bad-image no-path no-return unknown-branch no-progress library".split()
v = [x for x in map(json.loads, sys.stdin) if x["type"] == "holes" and x["cause"] not in code]
print(*(sum(x[k] for x in v) for k in ("count", "bytes", "lost")))')
	[ -n "$a" ] && [ "$a" = "$b" ] || { echo "$d: packets: $a, check: $b"; rc=1; }
	n=$((n + 1))
done
echo "# $n captures"
# each overflow that is counted has its line
"$HWT" packets "$CAP/arm/juno-uname-002/in" >"$TMP/p" 2>"$TMP/e" || exit 1
l=$(grep -c 'I_OVERFLOW .*(a hole: overflow \[E010\])$' "$TMP/p")
[ "$l" = 43 ] && grep -q ' 43 holes' "$TMP/e" || { echo "juno-uname-002: $l overflow packets, 43 in the peer's list: $(cat "$TMP/e")"; rc=1; }
# a ring that wrapped begins in the middle of somebody's bytes: no id is unknown
"$HWT" check --jsonl "$CAP/arm/TC2/in" 2>/dev/null | grep -q '"reserved-id"' && { echo "TC2: all ids are known"; rc=1; }
# the id that nobody described has a name, and its bytes are in 256 places
"$HWT" list --jsonl --level events "$CAP/arm/r5f-freertos/in" 2>/dev/null |
	grep -q '"reserved-id","bytes":256,.*"places":256,"id":"E024","trace_id":111' || { echo "r5f: id 0x6f"; rc=1; }
# of the first hole of each cause "check" tells the time that "list" has for it
timed() {
	"$HWT" check --jsonl "$@" 2>/dev/null >"$TMP/c"
	"$HWT" list --level events --jsonl "$@" 2>/dev/null >"$TMP/l"
	python3 - "$TMP/c" "$TMP/l" <<'E' || { echo "$*: times of holes"; rc=1; }
import json, sys
holes, events = ([json.loads(x) for x in open(f)] for f in sys.argv[1:])
first = {}
for e in events:
    if e["type"] == "gap":
        first.setdefault((e["src"], e["cause"]), e)
timed = 0
for h in holes:
    if h["type"] != "holes":
        continue
    e = first[h["src"], h["cause"]]
    if any(h.get(k) != e.get(k) for k in ("off", "time", "ticks", "clock")):
        sys.exit("check: %s\nlist: %s" % (h, e))
    timed += "time" in h or "ticks" in h
sys.exit(0 if timed else "no hole has a time")
E
}
timed --sysroot fixtures/captures/demo/in fixtures/captures/demo/in/perf.data
timed "$CAP/pt/lldb-cpus/in/trace.json"
timed "$CAP/arm/TC2/in"
timed "$CAP/arm/stm-issue-27/in"
# in words, with the unit that the lines of "list" have
"$HWT" check --sysroot fixtures/captures/demo/in fixtures/captures/demo/in/perf.data 2>/dev/null |
	grep -q ' first at 0x6c, time 0.000000384+192 \[E010\]$' || { echo "demo: no time of the hole"; rc=1; }
"$HWT" check "$CAP/arm/TC2/in" 2>/dev/null |
	awk '/^== times in cs are ticks/ { u = NR } /no-image .*, time \+[0-9]* cs\+/ { t = NR } END { exit !(u && t > u) }' ||
	{ echo "TC2: no time of the hole"; rc=1; }
exit $rc
