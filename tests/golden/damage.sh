#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Damages captures in every way (tests/tools/damage.c says which, and what must hold), each in one process of the sanitized build.
# RULE=1 (make check-damage): all offsets of files up to 2 KiB, 500 seeded ones of larger files, also where that takes long.
# LONG=1 (make damage-long): all offsets of files up to 16 KiB, 40 times as many of larger ones.
. tests/golden/common
need python3
SAN_O=${SAN_O:-$O/san}
D=$SAN_O/tests/tools/damage
[ -x "$D" ] || { echo "$D is not built (make O=$SAN_O SAN=address,undefined san-bins)"; exit 77; }
LONG=${LONG:-}
seed=1 sum=0 bad=0

# run COUNT OPTIONS...: all offsets up to 2 KiB, else COUNT seeded ones. Counts are so chosen that all runs of "make check" together
# take about a minute: an input whose variant takes 10 ms gets tens, one whose variant takes 50 us gets the 500 of the rule.
run() {
	n=$1
	shift
	[ -z "${RULE:-}" ] || n=500
	if [ -n "$LONG" ]; then
		n=$((n * 40))
		[ $n -ge 16384 ] || n=16384
		[ -z "${LARGE:-}" ] || n=$LARGE
	fi
	start=$(date +%s)
	"$D" -n $n -seed $seed "$@" >"$TMP/out" 2>"$TMP/err" || { bad=$((bad + 1)); echo "FAIL $*"; grep -v '^Suppr\|^  *[0-9a-z]* *[0-9a-z]* *ocsd\|^--*$' "$TMP/err" | head -n 30; }
	seed=$((seed + 1))
	v=$(sed -n 's/.* \([0-9]*\) variants.*/\1/p' "$TMP/out")
	sum=$((sum + ${v:-0}))
	[ -z "${VERBOSE:-}${RULE:-}$LONG" ] || echo "$(($(date +%s) - start)) s $*: $(cat "$TMP/out")"
}

# The same where a variant takes long, because of the code that comes with it: COUNT offsets of small files too.
some() {
	if [ -n "$LONG${RULE:-}" ]; then run "$@"; else n=$1; shift; run "$n" -few "$@"; fi
}

# inputs of our own: packets of fixtures/ and of damage.vectors with code that fits them
python3 - "$TMP" <<'PY' || exit 1
import glob, os, struct, sys
tmp = sys.argv[1]
def save(name, b):
    os.makedirs(os.path.dirname(tmp + "/" + name), exist_ok=True)
    open(tmp + "/" + name, "wb").write(b)
for path in glob.glob("fixtures/packets/pt/*.txt"):
    rows = [l.split("\t")[0] for l in open(path) if l.strip() and l[0] not in "#@"]
    save("pt/" + os.path.basename(path)[:-4], bytes.fromhex("".join(rows)))
for line in open("tests/golden/damage.vectors"):
    name, hexa = line.split()
    save(("etm/" if name[:3] == "ETM" else "fmt/") + name, bytes.fromhex(hexa))
# something of everything: conditional branches, a jump, a call, a return, indirect ones, a system call, a loop
save("code.x86", bytes.fromhex("75027502eb10" + "90" * 8 + "e803000000c390907505ffe0ffd0c30f0548cfebfe" + "90" * 64))
a64 = struct.pack("<8I", 0x54000040, 0xd503201f, 0x94000002, 0xd65f03c0, 0xb4000040, 0xd4000001, 0xd63f0000, 0x17fffff9)
save("code.a64", a64 * 0x1000)
save("pt.conf", b"cpu=6/94/3\nmtc_freq=3\nnom_freq=24\ncpuid_0x15_eax=2\ncpuid_0x15_ebx=250\n"
     b"dump=code.x86@0x401000\ndump=code.x86@0x70000015\ndump=code.x86@0xffffffff81e00000\n")
source = (b"dump=code.a64@0xffffff8008080000\n[source]\nproto=ETM4\ncore=Cortex-A57\ncpu=0\ntrace_id=0x10\nTRCCONFIGR=0x811\n"
          b"TRCIDR0=0x28000ea1\nTRCIDR1=0x4100f403\nTRCIDR2=0x488\n")
for name in ("none", "memory", "tpiu"):
    save(name + ".conf", b"framing=" + name.encode() + b"\n" + source)
PY
cp tests/fuzz/corpus/elf/* "$TMP" 2>/dev/null
for f in "$TMP"/pt/*; do
	case ${f##*/} in
	# damage can repair what is bad in these; the first byte of a cut CYC (erratum SKD007) is a whole one if the cut is there
	bad* | skd007*) run 500 -as pt -config "$TMP/pt.conf" "$f" ;;
	*) run 500 -trace -as pt -config "$TMP/pt.conf" "$f" ;;
	esac
done
for f in "$TMP"/etm/*; do run 500 -trace -as cs -config "$TMP/none.conf" "$f"; done
for f in "$TMP"/fmt/*; do
	case $f in
	# frames that a sync word put out of place are followed, and the word is named
	*MISALIGN) run 500 -as cs -config "$TMP/memory.conf" "$f" ;;
	*) run 500 -trace -as cs -config "$TMP/memory.conf" "$f" ;;
	esac
	# before the first sync word the place of frames is not known: damage to it reaches back
	run 500 -as cs -config "$TMP/tpiu.conf" "$f"
done
for f in tests/fuzz/corpus/perf/*; do
	case $f in
	*/pd-*) run 500 "$f" ;;
	*/pipe*) run 500 -pipe "$f" ;;
	*) run 500 -declared "$f" ;;
	esac
done
run 500 -declared -sysroot fixtures/captures/demo/in fixtures/captures/demo/in/perf.data
# code that a trace needs is damaged too
for f in tests/fuzz/corpus/elf/*; do
	mkdir "$TMP/elf" && cp "$f" "$TMP/elf/e" && cp "$TMP/pt/ipc-all" "$TMP/elf/t"
	cat >"$TMP/elf/trace.json" <<-'JSON'
		{"type":"intel-pt","cpuInfo":{"vendor":"GenuineIntel","family":6,"model":79,"stepping":1},"processes":[{"pid":1,
		"triple":"x86_64-*-linux","threads":[{"tid":1,"iptTrace":"t"}],"modules":[{"file":"e","systemPath":"e","loadAddress":4194304}]}]}
	JSON
	run 100 -open trace.json "$TMP/elf" e
	rm -r "$TMP/elf"
done
if [ -d "$CAP" ]; then
	d=$CAP/pt/lldb-thread/in
	run 500 -trace -open trace.json "$d" 3842849.trace
	run 500 -trace -as pt -cpu 6/79/1 -elf "$d/a.out" "$d/3842849.trace"
	run 500 -declared -at 0-532 -open trace.json "$d" trace.json	# without its last line feed
	some 200 -open trace.json "$d" a.out
	d=$CAP/pt/lldb-cpus/in
	some 20 -trace -open trace.json "$d" cores/45.intelpt_trace
	some 20 -trace -open trace.json "$d" cores/51.intelpt_trace
	some 10 -open trace.json "$d" cores/45.perf_context_switch_trace
	some 30 -declared -at 0-979 -open trace.json "$d" trace.json
	some 8 -declared "$CAP/pt/skylake-kernel/in/perf.data"
	run 60 -trace "$CAP/arm/a57_single_step/in" CSTMC_TRACE_FIFO.bin
	some 4 -trace "$CAP/arm/a55-test-tpiu/in" DSTREAM_0.bin
	some 10 -trace "$CAP/arm/stm_only/in" cstraceitm.bin
	some 30 -declared "$CAP/arm/pixel/in/perf_etm.data"
	some 30 -declared "$CAP/arm/pixel/in/perf_with_unformatted_trace.data"
	some 6 -declared "$CAP/arm/pixel/in/perf_kernel.data"
	for t in ete-wfet:session1 q_elem:session1 q_elem:session2 pauth_lr:session1 pauth_lr:session2 pauth_lr:session3 \
		ete_spec_1:session1 ts_marker:session1 002-ack_test_scr:session1 ete_mem:session1 src_addr:session1; do
		[ -f "$CAP/ete/${t%:*}/in/${t#*:}.bin" ] && some 12 -trace "$CAP/ete/${t%:*}/in" "${t#*:}.bin"
	done
	# fib-1 names files outside of its folder
	mkdir -p "$TMP/fib/fib-1" && cp -r "$CAP/arm/fib-1/in" "$TMP/fib/fib-1" && cp -r "$CAP/arm/fib-files" "$TMP/fib" && chmod -R u+w "$TMP/fib"
	some 20 -trace -open fib-1/in "$TMP/fib" fib-files/trace1/cstrace.bin
	for i in snapshot trace device_1 cpu_0; do some 5 -open fib-1/in "$TMP/fib" fib-1/in/$i.ini; done
fi
[ $bad = 0 ] || exit 1
echo "# $sum variants"
