#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Damages captures in every way (tests/tools/damage.c says which, and what must hold), in the sanitized build: all offsets of files up to
# 2 KiB, 500 seeded ones of larger files.
# LONG=1 (make damage-long): all offsets of all files, 512 at a time. What is done is kept in $O/damage-long, so that it can be stopped and
# goes on; take that folder away to begin anew. ONLY=WORD: inputs with this word in their options. JOBS: how many at a time.
. tests/golden/common
need python3
SAN_O=${SAN_O:-$O/san}
D=$SAN_O/tests/tools/damage
[ -x "$D" ] || { echo "$D is not built (make O=$SAN_O SAN=address,undefined san-bins)"; exit 77; }
LONG=${LONG:-}
# a variant allocates much and lives for a millisecond: long stacks and a long quarantine take half of the time
ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=2:quarantine_size_mb=16}
STATE=
[ -z "$LONG" ] || { STATE=$O/damage-long; mkdir -p "$STATE"; }
export ASAN_OPTIONS D STATE TMP
seed=1

# run FILE OPTIONS...: FILE is what is damaged, and the options name it. One line of the list for each run of the tool.
run() {
	file=$1
	shift
	case "$*" in *"${ONLY:-}"*) ;; *) return ;; esac
	seed=$((seed + 1))
	if [ -z "$LONG" ]; then
		echo "$seed -n 500 -seed $seed $*" >>"$TMP/list"
		return
	fi
	key=$(printf '%s' "$*" | sed "s|$TMP||g" | cksum | cut -d' ' -f1)
	size=$(stat -Lc %s "$file") lo=0
	while [ $lo -lt "$size" ]; do
		echo "$key.$lo -full -at $lo-$((lo + 512)) $*" >>"$TMP/list"
		lo=$((lo + 512))
	done
}

# The same where a variant takes long: a part of the trace stands for the whole, but for each 100th variant.
part() {
	file=$1
	shift
	if [ -n "$LONG" ]; then run "$file" -part 500 "$@"; else run "$file" -part 100 "$@"; fi
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
for f in "$TMP"/pt/*; do
	case ${f##*/} in
	# damage can repair what is bad in these; the first byte of a cut CYC (erratum SKD007) is a whole one if the cut is there
	bad* | skd007*) run "$f" -as pt -config "$TMP/pt.conf" "$f" ;;
	*) run "$f" -trace -as pt -config "$TMP/pt.conf" "$f" ;;
	esac
done
for f in "$TMP"/etm/*; do run "$f" -trace -as cs -config "$TMP/none.conf" "$f"; done
for f in "$TMP"/fmt/*; do
	case $f in
	# frames that a sync word put out of place are followed, and the word is named
	*MISALIGN) run "$f" -as cs -config "$TMP/memory.conf" "$f" ;;
	*) run "$f" -trace -as cs -config "$TMP/memory.conf" "$f" ;;
	esac
	# before the first sync word the place of frames is not known: damage to it reaches back
	run "$f" -as cs -config "$TMP/tpiu.conf" "$f"
done
for f in tests/fuzz/corpus/perf/*; do
	case $f in
	*/pd-*) run "$f" "$f" ;;
	*/pipe*) run "$f" -pipe "$f" ;;
	*) run "$f" -declared "$f" ;;
	esac
done
f=fixtures/captures/demo/in/perf.data
# in parts: damage to trace is held against other blocks
part $f -declared -sysroot fixtures/captures/demo/in $f
# native captures: each of their files, kernel/metadata apart, which is for others
for x in demo/in/perf.data etm/in; do
	in=fixtures/captures/$x
	x=${x%%/*}.hwt
	"$O/tests/tools/mknative" "$in" "$TMP/$x" "fixtures/captures/${x%.hwt}/in" || die "mknative $x"
	for f in $(cd "$TMP/$x" && find hw kernel images hwtrace.ini -type f ! -name metadata | sort); do
		case $f in
		hw/* | kernel/*) part "$TMP/$x/$f" -declared "$TMP/$x" "$f" ;;
		*) part "$TMP/$x/$f" "$TMP/$x" "$f" ;;
		esac
	done
done
# code that a trace needs is damaged too
for f in tests/fuzz/corpus/elf/*; do
	d=$TMP/elf.${f##*/}
	mkdir "$d" && cp "$f" "$d/e" && cp "$TMP/pt/ipc-all" "$d/t"
	cat >"$d/trace.json" <<-'JSON'
		{"type":"intel-pt","cpuInfo":{"vendor":"GenuineIntel","family":6,"model":79,"stepping":1},"processes":[{"pid":1,
		"triple":"x86_64-*-linux","threads":[{"tid":1,"iptTrace":"t"}],"modules":[{"file":"e","systemPath":"e","loadAddress":4194304}]}]}
	JSON
	run "$f" -open trace.json "$d" e
done
# trace DIR FILE [OPTIONS]: the trace of a snapshot
trace() {
	d=$1 f=$2
	shift 2
	[ ! -f "$d/$f" ] || part "$d/$f" "${@:--trace}" "$d" "$f"
}
if [ -d "$CAP" ]; then
	d=$CAP/pt/lldb-thread/in
	run "$d/3842849.trace" -trace -open trace.json "$d" 3842849.trace
	run "$d/3842849.trace" -trace -as pt -cpu 6/79/1 -elf "$d/a.out" "$d/3842849.trace"
	# without its last line feed
	head -c 532 "$d/trace.json" >"$TMP/lldb-thread.json"
	run "$TMP/lldb-thread.json" -declared -at 0-532 -open trace.json "$d" trace.json
	run "$d/a.out" -open trace.json "$d" a.out
	trace "$CAP/arm/a57_single_step/in" CSTMC_TRACE_FIFO.bin
	for t in ete-wfet:session1 q_elem:session1 q_elem:session2 pauth_lr:session1 pauth_lr:session2 pauth_lr:session3 \
		ete_spec_1:session1 ts_marker:session1 002-ack_test_scr:session1 ete_mem:session1 src_addr:session1 \
		maxspec0_commopt1:session1 trace_file_vmid:session1 tme_test:session1; do
		trace "$CAP/ete/${t%:*}/in" "${t#*:}.bin"
	done
	# fib-1 names files outside of its folder
	d=$TMP/fib
	mkdir -p "$d/fib-1" && cp -r "$CAP/arm/fib-1/in" "$d/fib-1" && cp -r "$CAP/arm/fib-files" "$d" && chmod -R u+w "$d"
	for i in snapshot trace device_1 cpu_0; do part "$d/fib-1/in/$i.ini" -open fib-1/in "$d" fib-1/in/$i.ini; done
	part "$d/fib-files/trace1/cstrace.bin" -trace -open fib-1/in "$d" fib-files/trace1/cstrace.bin
	d=$CAP/pt/lldb-cpus/in
	head -c 979 "$d/trace.json" >"$TMP/lldb-cpus.json"
	part "$TMP/lldb-cpus.json" -declared -at 0-979 -open trace.json "$d" trace.json
	for f in cores/45.perf_context_switch_trace; do part "$d/$f" -open trace.json "$d" $f; done
	for f in 45 51; do part "$d/cores/$f.intelpt_trace" -trace -open trace.json "$d" cores/$f.intelpt_trace; done
	for f in perf_etm perf_with_unformatted_trace; do part "$CAP/arm/pixel/in/$f.data" -declared "$CAP/arm/pixel/in/$f.data"; done
	trace "$CAP/arm/stm_only/in" cstraceitm.bin
	trace "$CAP/arm/tc2-ptm-rstk-t32/in" PTM_0_2.bin
	trace "$CAP/arm/TC2/in" cstrace.bin
	trace "$CAP/arm/r5f-freertos/in" freertos.data
	trace "$CAP/arm/a55-test-tpiu/in" DSTREAM_0.bin -probe
	part "$CAP/pt/skylake-kernel/in/perf.data" -declared "$CAP/pt/skylake-kernel/in/perf.data"
	part "$CAP/arm/pixel/in/perf_kernel.data" -declared "$CAP/arm/pixel/in/perf_kernel.data"
	trace "$CAP/arm/juno-uname-002/in" trace.bin
	# places that once failed: a packet that only damage makes, a cycle count, was told with each timestamp behind it; where the
	# cut source is not synchronised there is no packet that is cut; a packet without atoms (ETMv3) walked what was in the library's memory
	if [ -z "$LONG" ]; then
		run "$TMP/fib/fib-files/trace1/cstrace.bin" -at 1232-1233 -trace -open fib-1/in "$TMP/fib" fib-files/trace1/cstrace.bin
		run "$CAP/arm/TC2/in/cstrace.bin" -at 5728-5729 -trace "$CAP/arm/TC2/in" cstrace.bin
		run "$CAP/arm/r5f-freertos/in/freertos.data" -at 9204-9205 -part 1 -trace "$CAP/arm/r5f-freertos/in" freertos.data
	fi
fi
mkdir "$TMP/done"
xargs -P "${JOBS:-$(nproc)}" -L 1 sh tests/tools/damage_run.sh <"$TMP/list"
cat "$TMP"/done/* | awk -v want="$(wc -l <"$TMP/list")" '
{ for (i = 2; i <= NF; i++) if ($i ~ /^variants/) n += $(i - 1)
	offsets += $1; fail += $(NF - 1) }
END { printf "# %d offsets, %d variants", offsets, n
	if (NR != want || fail) { printf ": %d of %d runs did not end well", want - NR, want; bad = 1 }
	print ""; exit bad }'
