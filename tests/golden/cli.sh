#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The tool from outside: help, errors, exit codes, output files, JSON. The trace is assembled by hand, so what ran is known.
. tests/golden/common
need python3
tool=$(realpath "$HWT")

# run EXPECTED_CODE ARG...: standard output in $TMP/out, standard error in $TMP/err
run() {
	want=$1
	shift
	"$HWT" "$@" >"$TMP/out" 2>"$TMP/err"
	rc=$?
	[ "$rc" = "$want" ] || die "hwtrace $*: exit $rc, not $want: $(tail -n 3 "$TMP/err")"
}
says() {
	grep -qF -e "$1" "$TMP/err" || die "standard error lacks \"$1\": $(cat "$TMP/err")"
}
prints() {
	grep -qF -e "$1" "$TMP/out" || die "standard output lacks \"$1\": $(head -n 20 "$TMP/out")"
}

# help and errors
run 0
prints "hwtrace info FILE"
for c in info packets list calls check help version completion; do
	run 0 help $c
	cp "$TMP/out" "$TMP/help"
	run 0 $c --help
	cmp "$TMP/help" "$TMP/out" || die "$c --help is not help $c"
	prints "Examples:"
	prints "Exit codes:"
	awk 'length($0) > 100 { print FILENAME ": " $0; n = 1 } END { exit n }' "$TMP/out" || die "help $c is too wide"
done
ids=$(sed -n 's/^ERR(\([0-9]*\),.*/\1/p' hwtrace/base/errors.def)
run 0 help errors
[ "$(wc -l <"$TMP/out")" = "$(echo "$ids" | wc -l)" ] || die "help errors lists $(wc -l <"$TMP/out") ids"
for id in $ids; do
	run 0 help "$(printf 'E%03d' "$id")"
	[ "$(grep -c '^cause: .\|^try:   .' "$TMP/out")" = 2 ] || die "E$id: no cause or hint"
done
run 0 help 14
prints "E014: code is missing"
for bad in "help E999" "help nothing" "help a b" "lst" "list" "list a b" "list a --no-such" "info a --lines" "version x" \
	"completion" "completion tcsh" "list a --time 1" "list a --cpu x" "--no-such" "list --limit"; do
	# shellcheck disable=SC2086
	run 2 $bad
	[ ! -s "$TMP/out" ] || die "hwtrace $bad: standard output is not empty"
	says "hwtrace: "
done
run 2 lsit
says "try: hwtrace list"
run 2 list x --elff y
says "did you mean --elf?"
run 3 list "$TMP/missing"
says "hwtrace: $TMP/missing: "
says "[E001]"
says "try: "
: >"$TMP/empty"
run 3 check "$TMP/empty"
says "[E005]"
run 0 version
cp "$TMP/out" "$TMP/help"
run 0 --version
cmp "$TMP/help" "$TMP/out" || die "--version is not version"
run 0 --help
prints "hwtrace info FILE"
run 0 version --build
prints "OpenCSD "

# a selection that leaves nothing to look at is no clean bill
run 2 check --cpu 7 fixtures/captures/demo/in/perf.data
says "no CPU 7 in this capture; it has 0"

# code: _start calls f; f returns; an indirect jump leaves
cat >"$TMP/a.s" <<'S'
	.globl _start, f
	.type f, @function
	.type _start, @function
_start:	call f
	nop
	jmp *%rax
	.size _start, . - _start
f:	nop
	ret
	.size f, . - f
S
if [ "$(uname -m)" = x86_64 ]; then as=as ld=ld; else as=x86_64-linux-gnu-as ld=x86_64-linux-gnu-ld; fi
need $as
$as -o "$TMP/a.o" "$TMP/a.s" && $ld -Ttext=0x401000 -o "$TMP/a.out" "$TMP/a.o" || die "as or ld"
# PSB, MODE.Exec 64, PSBEND, TIP.PGE 401000, TNT taken (the compressed return), TIP.PGD without address
psb='\002\202\002\202\002\202\002\202\002\202\002\202\002\202\002\202'
printf "$psb"'\231\001\002\043\161\000\020\100\000\000\000\006\001' >"$TMP/good.pt"
# the same, and an extended opcode that SDM volume 3 does not define
{ cat "$TMP/good.pt"; printf '\002\377\002\377'; } >"$TMP/bad.pt"
pt() {
	want=$1 verb=$2 file=$3
	shift 3
	run "$want" "$verb" --pt "$TMP/$file" --cpu 6/79/1 --elf "$TMP/a.out" "$@"
}
pt 0 list good.pt --jsonl
python3 - "$TMP/out" <<'PY' || exit 1
import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
assert rows[0]["type"] == "header" and rows[0]["v"] == 1, rows[0]
got = [int(r["addr"], 16) for r in rows if r["type"] == "insn"]
want = [0x401000, 0x401008, 0x401009, 0x401005, 0x401006]
assert got == want, [hex(a) for a in got]
syms = [(r["sym"], r["sym_off"]) for r in rows if r["type"] == "insn"]
assert syms == [("_start", 0), ("f", 0), ("f", 1), ("_start", 5), ("_start", 6)], syms
text = [r["text"].split()[0] for r in rows if r["type"] == "insn"]
assert [t.rstrip("q") for t in text] == ["call", "nop", "ret", "nop", "jmp"], text
PY
says "decoded 100.0 % of 29 bytes, 0 holes"
pt 0 list good.pt --level range
[ "$(grep -c '40100' "$TMP/out")" -ge 3 ] || die "ranges: $(cat "$TMP/out")"
pt 0 list good.pt --sym f
grep -q ' 401008 f' "$TMP/out" || die "--sym f lacks f"
grep -q ' 401005 ' "$TMP/out" && die "--sym f has more than f"
pt 2 list good.pt --sym nothing
says "no function has this name"
pt 0 list good.pt --limit 2
[ "$(wc -l <"$TMP/out")" = 2 ] || die "--limit 2: $(wc -l <"$TMP/out") lines"
says "stopped at --limit"
pt 2 list good.pt --time 1ms..2ms
says "has no times"
pt 0 calls good.pt
prints "f()"
pt 0 calls good.pt --summary
grep -Eq '^ +1 +0 +1 +0 +0 +0 +1  f' "$TMP/out" || die "summary: $(cat "$TMP/out")"
pt 0 calls good.pt --sym f --json
python3 -c 'import json,sys; v=json.load(open(sys.argv[1])); assert [r["sym"] for r in v if r["type"]=="call"]==["f"], v' "$TMP/out" || die "calls --json"
pt 0 packets good.pt
[ "$(grep -c . "$TMP/out")" = 6 ] || die "packets: $(cat "$TMP/out")"
pt 0 check good.pt
prints "no findings"
[ "$(wc -c <"$TMP/err")" -lt 80 ] || die "check of a good trace says: $(cat "$TMP/err")"

# damage: a finding, loss, and still the instructions before it
pt 0 list bad.pt --jsonl
[ "$(grep -c '"type":"insn"' "$TMP/out")" = 5 ] || die "damage: $(grep -c '"type":"insn"' "$TMP/out") instructions"
grep -q '"type":"gap".*"id":"E012"' "$TMP/out" || die "damage: no gap"
pt 0 list bad.pt
prints "-- hole: bad-packet"
pt 1 check bad.pt
prints "[E012]"
prints "try: "
pt 4 check bad.pt --strict
pt 4 list bad.pt --max-loss 1
pt 0 list bad.pt --max-loss 50
pt 1 check bad.pt --json
python3 - "$TMP/out" <<'PY' || exit 1
import json, sys
v = json.load(open(sys.argv[1]))
l = [r for r in v if r["type"] == "ledger"]
assert len(l) == 1 and l[0]["bytes"] == 33 == l[0]["decoded"] + l[0]["skipped"] and l[0]["balanced"], l
h = [r for r in v if r["type"] == "holes"]
assert sum(x["bytes"] for x in h) == l[0]["skipped"] and sum(x["count"] for x in h) == l[0]["holes"], h
PY
pt 0 packets bad.pt
prints "BAD"
pt 0 list bad.pt -q
[ ! -s "$TMP/err" ] || die "-q still says: $(cat "$TMP/err")"

# output files
pt 0 list good.pt -o "$TMP/l"
[ ! -s "$TMP/out" ] || die "-o FILE and standard output"
[ "$(wc -l <"$TMP/l")" -ge 5 ] || die "-o FILE is short"
cp "$TMP/l" "$TMP/l1"
pt 2 info good.pt -o "$TMP/l"
says "or -f"
cmp "$TMP/l" "$TMP/l1" || die "-o changed a file that it may not overwrite"
pt 0 list good.pt -f -o "$TMP/l"
cmp "$TMP/l" "$TMP/l1" || die "-f -o"
pt 2 list good.pt -f -o "$TMP/good.pt"
says "is the input"
[ "$(wc -c <"$TMP/good.pt")" = 29 ] || die "the input was overwritten"
for f in a.out s/cstrace.bin s/a64 s/etm_0.ini; do
	[ -d "$TMP/s" ] || cp -r fixtures/captures/etm/in "$TMP/s"
	cksum <"$TMP/$f" >"$TMP/sum"
	case $f in
	a.out) pt 2 list good.pt -f -o "$TMP/$f" ;;
	*) run 2 list -f -o "$TMP/$f" "$TMP/s" ;;
	esac
	says "is the input"
	[ "$(cksum <"$TMP/$f")" = "$(cat "$TMP/sum")" ] || die "$f was overwritten"
done
pt 0 list good.pt -o -
[ -s "$TMP/out" ] || die "-o -"
pt 0 list good.pt -o /dev/null
if [ -w /dev/full ]; then
	pt 5 list good.pt -o /dev/full
	says "No space left"
fi
pt 0 list good.pt -C always
grep -q "$(printf '\033')" "$TMP/out" || die "-C always"
NO_COLOR=1 pt 0 list good.pt
grep -q "$(printf '\033')" "$TMP/out" && die "colours in a file"

# a file that becomes shorter while it is read: what was before stays, in whole lines
{ cat "$TMP/good.pt"; head -c 3000000 /dev/zero; } >"$TMP/short.pt"
{ rc=0; "$HWT" packets --pt "$TMP/short.pt" --cpu 6/79/1 2>"$TMP/err" || rc=$?; echo "rc $rc" >"$TMP/rc"; } | {
	head -n 5
	truncate -s 4096 "$TMP/short.pt"
	cat
} >"$TMP/out"
[ "$(cat "$TMP/rc")" = "rc 3" ] || die "input that becomes shorter: $(cat "$TMP/rc" "$TMP/err")"
says "short.pt: became shorter while it was read [E004]"
[ "$(tail -c 1 "$TMP/out" | wc -l)" = 1 ] || die "input that becomes shorter: half a line"
# interrupted while the input is opened, which takes minutes here
truncate -s 200G "$TMP/long.pt"
"$HWT" info --pt "$TMP/long.pt" --cpu 6/79/1 >"$TMP/out" 2>"$TMP/err" &
sleep 0.3
kill -TERM $!
rc=0
wait $! || rc=$?
[ $rc = 130 ] || die "interrupted while opening: exit $rc"
rm "$TMP/long.pt"

# on a terminal: pager, colours; a reader that goes away ends the tool quietly
python3 - "$tool" "$TMP" <<'PY' || exit 1
import os, pty, subprocess, sys
tool, tmp = sys.argv[1:]
cmd = [tool, "list", "--pt", tmp + "/good.pt", "--cpu", "6/79/1", "--elf", tmp + "/a.out"]
def term(env, extra=()):
    master, slave = pty.openpty()
    p = subprocess.Popen(cmd + list(extra), stdin=slave, stdout=slave, stderr=subprocess.PIPE,
                         env=dict(os.environ, TERM="xterm", **env))
    os.close(slave)
    out = b""
    while True:
        try:
            d = os.read(master, 4096)
        except OSError:
            break
        if not d:
            break
        out += d
    return p.wait(), out, p.stderr.read()
rc, out, err = term({"PAGER": "tr a-z A-Z"})
assert rc == 0 and b"_START" in out and b"decoded 100.0" in err, (rc, out, err)
rc, out, err = term({"PAGER": "tr a-z A-Z"}, ["--no-pager"])
assert rc == 0 and b"\x1b[" in out and b"_start" in out, (rc, out)
rc, out, err = term({"NO_COLOR": "1", "PAGER": "cat"})
assert rc == 0 and b"\x1b[" not in out, out
p = subprocess.Popen(" ".join(cmd) + " | true", shell=True, stderr=subprocess.PIPE)
assert b"roken pipe" not in p.communicate()[1]
PY
# what is said in words
run 0 help times
for w in "ticks of the CoreSight timestamp" "no later bound" "--time A..B"; do prints "$w"; done
run 0 help holes
for w in $(grep -o '\[HWT_GAP_[A-Z_]*\] = { "[a-z-]*' hwtrace/base/err.c | sed 's/.*"//' | grep -vx none); do prints "$w"; done
[ "$(grep -c '(E0[0-9][0-9])$' "$TMP/out")" -ge 17 ] || die "help holes: $(cat "$TMP/out")"
run 0 list --help
tr -s ' \n' ' ' <"$TMP/out" >"$TMP/help"
grep -qF "content: perf, snapshot, lldb, native, ctf, ftrace, pt, cs" "$TMP/help" || die "--as: no list of formats"
grep -qF "a recorded /usr/bin/ls is DIR/usr/bin/ls" "$TMP/help" || die "--sysroot: what lies below it"
[ "$(make -s help | grep -c '^make ')" -ge 10 ] || die "make help"
run 2 list --json --jsonl x
says "--json and --jsonl: one of them"
run 2 list --time 1h..2h x
says "try: --time A..B"
run 2 list --time +1240cs.. x
says "frequency is not known"
# seconds need no unit; ticks are told as such
perf=fixtures/captures/demo/in/perf.data
run 0 list --time 0.5us..0.9us --jsonl "$perf"
cp "$TMP/out" "$TMP/window"
run 0 list --time 0.0000005..0.0000009 --jsonl "$perf"
cmp "$TMP/window" "$TMP/out" || die "--time in seconds is another window"
grep -q '""' "$TMP/out" && die "what is not known is an empty string: $(grep '""' "$TMP/out")"
run 0 info --jsonl "$perf"
grep -q '""' "$TMP/out" && die "what is not known is an empty string: $(grep '""' "$TMP/out")"
grep '"file_off"' "$TMP/out" | grep -qv '"file_off":"0x' && die "file_off is a number"
run 0 packets --pt "$TMP/good.pt"
grep -q ' $' "$TMP/out" && die "blanks at the end of a line"
grep -q '  3: 0000000000401000$\|  [126]: .*401000$' "$TMP/out" || die "packets: $(cat "$TMP/out")"
printf '\031\100\102\017\000\000\000\000' >"$TMP/tsc"
{ printf "$psb"; cat "$TMP/tsc"; } >"$TMP/tsc.pt"
run 0 packets --pt "$TMP/tsc.pt"
grep -q 'tsc  *f4240$' "$TMP/out" || die "TSC twice: $(cat "$TMP/out")"
run 0 packets --pt "$TMP/tsc.pt" --jsonl
prints '"payload":"f4240 tsc 00000000000f4240"'
# what is no capture
run 3 list "$TMP/a.out"
says "this is a program, not a capture: give it with --elf [E006]"
run 3 list fixtures/captures/etm
says "its folder in/ is one (snapshot): name that [E002]"
mkdir "$TMP/none"
run 3 info "$TMP/none"
for w in snapshot.ini trace.json "data (perf"; do says "$w"; done
# a raw dump that gives the trace id needs no register for it, and the page has every key of both kinds
printf 'framing=none\n[source]\nproto=ETM3\ntrace_id=0x10\nETMCR=0\nETMCCER=0\nETMIDR=0x4100f240\ncore=Cortex-A9\n' >"$TMP/cs.ini"
run 0 info --cs "$TMP/good.pt" --config "$TMP/cs.ini"
grep -q ETMTRACEIDR "$TMP/err" && die "trace_id= is not enough: $(cat "$TMP/err")"
sed -i '/ETMIDR/d' "$TMP/cs.ini"
run 0 info --cs "$TMP/good.pt" --config "$TMP/cs.ini"
says "[source] in a --config file"
run 0 help E085
prints "hwtrace-raw(5)"
for k in $(sed -n 's/^\t\[K_[A-Z]*\] = { "\([a-z_0-9]*\)".*/\1/p' hwtrace/source/raw.c) framing proto trace_id core \
	$(sed -n '/^} regs/,/^};/s/{ "\([A-Z0-9]*\)"/\n=\1\n/gp' hwtrace/source/cs_unit.c | sed -n 's/^=//p' | grep -v 'TRCIDR\(9\|1[0-2]\)\|_'); do
	grep -q "$k" cli/man/hwtrace-raw.5 || die "hwtrace-raw(5) lacks $k"
done
echo "# $(echo "$ids" | wc -l) error ids, 8 commands"
