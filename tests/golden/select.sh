#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Selections: ids that a capture does not have are errors, and what is counted is what was selected.
. tests/golden/common
need python3
run() {	# expected code, then arguments
	want=$1
	shift
	rc=0
	"$HWT" "$@" >"$TMP/out" 2>"$TMP/err" || rc=$?
	[ "$rc" = "$want" ] || die "hwtrace $*: exit $rc, not $want: $(tail -n 3 "$TMP/err")"
}
says() {
	grep -qF -e "$1" "$TMP/err" || die "standard error lacks \"$1\": $(cat "$TMP/err")"
}

# bare metal: no CPU that is not configured, no threads; a pattern that matches nothing
etm=fixtures/captures/etm/in
for c in list calls check packets info; do
	run 2 $c --cpu 77 $etm
	says "no CPU 77 in this capture; it has 0"
	[ ! -s "$TMP/out" ] || die "$c --cpu 77 prints"
done
for c in list calls; do
	run 2 $c --tid 5 $etm
	says "this capture has no thread ids"
	run 2 $c --sym 'no_such_*' $etm
	says "no function has this name"
done
# a filter that is wrong: what to look up, and nothing about the capture
for f in no.such "sched.switch where foo < 3" "sched.switch were x"; do
	run 2 timeline --filter "$f" fixtures/captures/demo/in/perf.data
	says '"hwtrace help events"'
	[ "$(wc -l <"$TMP/err")" = 2 ] || die "timeline --filter '$f': $(cat "$TMP/err")"
done
# a file with its address, as the hint for a missing one says: the same as with the recorded path; what is not used is told
demo=fixtures/captures/demo/in
run 0 list --level range --jsonl --sysroot $demo $demo/perf.data
cp "$TMP/out" "$TMP/want"
run 0 list --level range --jsonl --elf $demo/demo@0x400000 $demo/perf.data
cmp "$TMP/want" "$TMP/out" || die "--elf FILE@ADDR: not the same as --sysroot"
! grep -q 'E093\|E102' "$TMP/err" || die "--elf FILE@ADDR: $(cat "$TMP/err")"
run 0 list --sysroot $demo --elf $demo/demo@0x401000 $demo/perf.data
says "demo: not used at 0x401000: another part of /demo was recorded there [E102]"
says "try: "
need_captures

run 0 list "$CAP/arm/itm_only_raw/in"
grep -q 'no-decoder.*E025' "$TMP/out" || die "ITM: $(cat "$TMP/out")"
run 0 help E025
grep -q ITM "$TMP/out" || die "E025 does not speak of ITM"
# a clock without frequency: said before its first use, and --ns does not change it silently
run 0 list --ns --limit 3 "$CAP/arm/TC2/in"
says "--ns has no effect"
grep -q '^== times in cs are ticks of the CoreSight timestamp' "$TMP/out" || die "ticks: $(cat "$TMP/out")"
pt=$CAP/pt/skylake-kernel/in/perf.data
# a file of the right name and another build, one of no use, and one that the trace runs through
cp /bin/true "$TMP/coreutils"
cp /bin/true "$TMP/unrelated"
run 1 check --elf "$TMP/coreutils" --elf "$TMP/unrelated" "$pt"
grep -q "^note: .*coreutils: this is not the binary that ran: recorded build-id .*\[E091\]" "$TMP/out" || die "$(cat "$TMP/out")"
grep -q "E091" "$TMP/err" && die "a note is told twice: $(cat "$TMP/err")"
says "unrelated was not used"
run 1 check --elf "$TMP/unrelated@0x7f0000000000" "$pt"
says "unrelated was not used"
lldb=$CAP/pt/lldb-cpus/in
run 1 check --elf "$lldb/modules/m.out" "$lldb/trace.json"
grep -q "was not used" "$TMP/err" && die "a file that is used: $(cat "$TMP/err")"
run 1 check --elf "$TMP/unrelated" "$lldb/trace.json"
says "unrelated was not used"
run 2 check --cpu 77 "$pt"
says "no CPU 77 in this capture; it has 0, 3"
run 2 list --tid 99999 "$pt"
says "no thread 99999 in this capture; it has "
# the first hole of CPU 0 is behind the first line, although flow has met it by then
run 0 list --limit 1 --cpu 0 "$pt"
says "shown until here: 0 holes"
run 0 list --limit 1 --cpu 0 --strict "$pt"
run 4 list --cpu 0 --strict "$pt"
# a whole buffer of units of several CPUs
run 1 check --cpu 1 "$CAP/arm/TC2/in"
grep -q "whole buffer, all CPUs" "$TMP/out" || die "check --cpu of a shared buffer: $(cat "$TMP/out")"

python3 - "$HWT" "$CAP" <<'PY' || exit 1
import json, subprocess, sys
hwt, cap = sys.argv[1:]
def rows(*args):
    p = subprocess.run([hwt, *args, "--jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return [json.loads(l) for l in p.stdout.splitlines()], p.stderr.decode()
lldb = cap + "/pt/lldb-cpus/in/trace.json"
for f in (lldb, cap + "/pt/skylake-kernel/in/perf.data"):
    all, _ = rows("list", "--level", "range", f)
    # the kernel's record of a switch, once: its time is exact
    sw = [(r["cpu"], r["prev_tid"], r["next_tid"], r["time"]["lo"]) for r in all if r["type"] == "sched.switch"]
    assert sw and len(set(sw)) == len(sw), "a switch twice"
    assert all and not [r for r in all if r["type"] == "sched.switch" and r["time"]["hi"] != r["time"]["lo"]]
    pairs = {}
    for c, p, n, t in sw:
        assert pairs.get(c) != (p, n), "switch %d -> %d of CPU %d twice in a row" % (p, n, c)
        pairs[c] = (p, n)
    # one thread: nothing that is known to be of others, and all that is its own
    for tid in {r["tid"] for r in all if r.get("tid")}:
        some, err = rows("list", "--level", "range", "--tid", str(tid), f)
        for r in some[1:]:
            if r["type"] == "sched.switch":
                assert tid in (r["prev_tid"], r["next_tid"]), r
            elif r["type"] != "gap":
                assert tid in (r.get("tid", tid), r.get("pid", tid)), r
        own = lambda v: [r for r in v if r["type"] == "range" and r.get("tid") == tid]
        assert own(some) == own(all), "--tid %d loses ranges" % tid
        n = len([r for r in some if r["type"] == "gap"])
        assert "shown: %d hole" % n in err, (tid, n, err)
        # a hole of another thread stays only if this one may have begun in it
        for i, r in enumerate(some):
            if r["type"] == "gap" and r.get("tid", tid) != tid and i + 1 < len(some):
                later = [s for s in some[i + 1:] if s["type"] != "gap" and s.get("cpu") == r["cpu"]]
                assert not later or later[0]["type"] == "sched.switch" or later[0].get("tid") == tid, (r, later[:1])
print("# switches once, threads alone")
PY
