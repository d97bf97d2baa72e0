#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Captures written again as native ones: the same listings as of the original, which is taken away before; the files are what the manual
# page says (a reader of its own), and babeltrace2 opens kernel/ and finds the same records.
. tests/golden/common
need python3
rows() { grep -vE '"type":"(header|task|map|record|sched\.switch|clock\.sync)"'; }
# A switch of perf has two records and one of ours one: where perf's listing names nobody between the two, ours names the task before.
# "calls" tells such changes as well, and orders by task what is open at the end.
nobody() {	# WHAT WANT GOT
	python3 - "$@" <<'PY'
import json, sys
want, got = ([json.loads(l) for l in open(f)] for f in sys.argv[2:])
bare = lambda e: {k: v for k, v in e.items() if k not in ("pid", "tid")}
if sys.argv[1] == "calls":
    want, got = (sorted(json.dumps(bare(e)) for e in v if e["type"] != "switch") for v in (want, got))
    sys.exit(want != got)
if len(want) != len(got):
    sys.exit("%d events, not %d" % (len(got), len(want)))
other = [(w, g) for w, g in zip(want, got) if w != g]
for w, g in other:
    if "tid" in w or w != bare(g):
        sys.exit("%s here, %s there" % (g, w))
print("# %s: %d of %d events are nobody's by perf's records" % (sys.argv[1], len(other), len(want)))
PY
}
n=0
# name, its folder, the capture in it, how differences are judged
same() {
	rm -rf "$TMP/c" "$TMP/c.hwt"
	cp -rL "$2" "$TMP/c" && chmod -R u+w "$TMP/c"
	"$O/tests/tools/mknative" "$TMP/c$3" "$TMP/c.hwt" "$TMP/c" || die "$1: not converted"
	for what in "list --level insn" "list --level events" calls packets; do
		"$HWT" $what --jsonl --sysroot "$TMP/c" "$TMP/c$3" 2>/dev/null | rows >"$TMP/want.$(echo $what | tr -d ' -')"
	done
	rm -rf "$TMP/c"
	for what in "list --level insn" "list --level events" calls packets; do
		"$HWT" $what --jsonl "$TMP/c.hwt" 2>/dev/null | rows >"$TMP/got"
		w=$TMP/want.$(echo $what | tr -d ' -')
		cmp -s "$w" "$TMP/got" || { [ -n "${4:-}" ] && "$4" "$what" "$w" "$TMP/got"; } || die "$1: another $what"
	done
	[ -s "$TMP/got" ] || die "$1: nothing was listed"
	"$HWT" packets --as native --jsonl "$TMP/c.hwt/hwtrace.ini" 2>/dev/null | rows | cmp - "$TMP/got" || die "$1: another by --as native"
	python3 tests/golden/native.py "$TMP/c.hwt" >"$TMP/py" || die "$1: not what the manual page says"
	if command -v babeltrace2 >/dev/null; then
		babeltrace2 "$TMP/c.hwt/kernel" >"$TMP/bt" || die "$1: babeltrace2 exit $?"
		bt=$(wc -l <"$TMP/bt")
		py=$(sed -n 's/.*"events": \([0-9]*\)}/\1/p' "$TMP/py" | awk '{ n += $1 } END { print n + 0 }')
		us=$("$HWT" info "$TMP/c.hwt" | sed -n 's/^kernel events *//p' | tr -d ' ')
		[ "$bt" = "$py" ] && [ "$bt" = "${us:-0}" ] || die "$1: $bt records for babeltrace2, $py for python, ${us:-0} here"
	fi
	n=$((n + 1))
}

# every switch that babeltrace2 tells of this capture, with its time by [clock], and ours
switches() {
	python3 - "$HWT" "$1" <<'PY' || exit 1
import json, re, subprocess, sys
hwt, cap = sys.argv[1:]
run = lambda *a: subprocess.run(a, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode().splitlines()
clock = dict(l.split("=", 1) for l in re.search(r"\[clock\]\n(.*?)crc=", open(cap + "/hwtrace.ini").read(), re.S)[1].splitlines())
mult, shift, zero = (int(clock[k]) for k in ("mult", "shift", "zero"))
rows = [json.loads(l) for l in run(hwt, "list", "--jsonl", "--level", "events", cap)]
start = rows[0]["time_start"]
ours = sorted((r["time"]["lo"] + start, r["cpu"], r.get("prev_tid", -1), r["next_tid"], r["preempt"])
              for r in rows if r["type"] == "sched.switch")
theirs = []
for line in run("babeltrace2", "--clock-cycles", cap + "/kernel"):
    if "sched.switch:" in line:
        f = {k: int(v) for k, v in re.findall(r"(cpu_id|prev_tid|next_tid|preempted) = (-?\d+)", line)}
        ticks = int(line[1:line.index("]")])
        theirs.append((zero + (ticks * mult >> shift) & (1 << 64) - 1, f["cpu_id"], f["prev_tid"], f["next_tid"], f["preempted"] == 1))
assert ours and ours == sorted(theirs), "%s here, %s there" % next((a, b) for a, b in zip(ours + [0], sorted(theirs) + [0]) if a != b)
print("# %d switches are as babeltrace2 has them" % len(ours))
PY
}
same demo fixtures/captures/demo/in /perf.data
same etm fixtures/captures/etm/in ""
# without its description: that is said first, and not that a protocol has no decoder; it may be of a software trace unit
cp -r "$TMP/c.hwt" "$TMP/bare.hwt" && rm "$TMP/bare.hwt/hwtrace.ini"
"$HWT" check "$TMP/bare.hwt" >"$TMP/bare" 2>&1
grep '^hwtrace:' "$TMP/bare" | head -n 1 | grep -q 'hwtrace.ini does not describe' || die "bare: $(cat "$TMP/bare")"
grep -q 'the recorder is not known, it may be simulation$' "$TMP/bare" || die "bare: $(cat "$TMP/bare")"
# what is wrong beside the trace is in the output of check too; a file that is missing is 3, a damaged one 1
set -- "$TMP"/c.hwt/images/*
cp -r "$TMP/c.hwt" "$TMP/less.hwt" && rm "$TMP/less.hwt/images/${1##*/}"
cp -r "$TMP/c.hwt" "$TMP/hurt.hwt" && chmod u+w "$TMP/hurt.hwt/images/${1##*/}" &&
	printf 'XXXX' | dd of="$TMP/hurt.hwt/images/${1##*/}" bs=1 seek=100 conv=notrunc 2>/dev/null
for w in less:3 hurt:1; do
	"$HWT" check "$TMP/${w%:*}.hwt" >"$TMP/out" 2>/dev/null
	[ $? = "${w#*:}" ] || die "$w: another exit code"
	grep -q "^note: .*${1##*/}.*E145" "$TMP/out" && tail -n 1 "$TMP/out" | grep -q '^findings: see above$' || die "$w: $(cat "$TMP/out")"
done
if [ -d "$CAP" ]; then
	same lldb-thread "$CAP/pt/lldb-thread/in" /trace.json
	same lldb-cpus "$CAP/pt/lldb-cpus/in" /trace.json
	! command -v babeltrace2 >/dev/null || switches "$TMP/c.hwt"
	same skylake "$CAP/pt/skylake-kernel/in" /perf.data nobody
	same a57 "$CAP/arm/a57_single_step/in" ""
	same ptm "$CAP/arm/tc2-ptm-rstk-t32/in" ""
	same stm "$CAP/arm/stm_only/in" ""
	same ete "$CAP/ete/q_elem/in" ""
fi
# a power cut may leave a file with the length of what was appended, and zeroes there: as if that had not been appended
cp -r "$TMP/c.hwt" "$TMP/zero.hwt"
head -c 200 /dev/zero >>"$TMP/zero.hwt/hwtrace.ini"
"$HWT" info "$TMP/c.hwt" 2>&1 | grep -v '^\(path\|size\)' >"$TMP/whole"
"$HWT" info "$TMP/zero.hwt" 2>&1 | sed 's/zero\.hwt/c.hwt/' | grep -v '^\(path\|size\)' | cmp - "$TMP/whole" || die "zeroes at the end of hwtrace.ini"
echo "# $n captures written as native ones are listed alike"
