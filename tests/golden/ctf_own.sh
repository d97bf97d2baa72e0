#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Kernel records of our own captures, read by the reader that needs no library and through libbabeltrace2: the same records,
# with their numbers, and times that babeltrace2 makes of the ticks. mkevents writes all events with random values.
. tests/golden/common
make -s "O=$O" "$O/tests/tools/kevents" "$O/tests/tools/mkevents" >"$TMP/make" 2>&1 || die "tools: $(tail -n 5 "$TMP/make")"
KEV=$O/tests/tools/kevents
events=$(grep -c '^HWT_EVENT(' include/hwtrace/events.def)

for seed in 1 2 3; do
	k=$TMP/k$seed.hwt/kernel
	mkdir -p "$k" "$TMP/k$seed.hwt/hw"
	"$O/tests/tools/mkevents" "$k" $seed 5000 >"$TMP/want" || die "mkevents $seed: exit $?"
	"$KEV" -k "$TMP/k$seed.hwt" >"$TMP/native" || die "native: exit $?"
	# the folder alone
	"$KEV" -k --as native "$k" | cmp - "$TMP/native" || die "seed $seed: the folder alone is another one"
	"$KEV" -k --as ctf "$k" >"$TMP/ctf" 2>"$TMP/err" || { grep -q E125 "$TMP/err" && { echo "built without libbabeltrace2"; exit 77; }
		die "ctf: $(cat "$TMP/err")"; }
	[ "$(grep -c . "$TMP/native")" = 5001 ] || die "seed $seed: $(grep -c . "$TMP/native") lines"
	[ "$(sed 's/.* hit=[0-9]* \([^ ]*\):.*/\1/' "$TMP/native" | sort -u | wc -l)" = $((events + 1)) ] || die "not all $events events"
	# the file's number differs: one reader counts other files, too
	for r in native ctf; do
		sed 's/^[^ ]* \([^ ]* [^ ]* [^ ]*\) [^ ]* /\1 /' "$TMP/$r" >"$TMP/$r.rest"
	done
	cmp "$TMP/native.rest" "$TMP/ctf.rest" || die "seed $seed: $(diff "$TMP/native.rest" "$TMP/ctf.rest" | head -n 4)"
	# 1700000000 s and 12345 ticks of 2445434000 Hz before tick 0 (ctf_events.sh); precision is 2 ticks, which are 1 ns,
	# and offset and ticks are cut to ns one by one
	paste -d' ' "$TMP/native" "$TMP/ctf" | python3 -c '
import sys
for line in sys.stdin:
    if line.startswith("end"): continue
    tick = int(line.split(" ", 1)[0])
    want = 1700000000 * 10**9 + tick * 10**9 // 2445434000 + 12345 * 10**9 // 2445434000
    if " %d+4 " % (want - 1) not in line: sys.exit("tick %d is not %d: %s" % (tick, want, line))' || die "seed $seed: times"
done

# a packet of CPU 0 that is missing, there twice, or behind the next one: said with its number, and no record is there twice
packets() {	# how, what is said, how often packets are wrong
	rm -rf "$TMP/p.hwt"
	cp -r "$TMP/k1.hwt" "$TMP/p.hwt"
	python3 - "$TMP/p.hwt/kernel/cpu0" "$1" <<'P' || die "$1: no packets"
import struct, sys
d, p, at = open(sys.argv[1], "rb").read(), [], 0
while at < len(d):
    size = struct.unpack_from("<Q", d, at + 0x30)[0] // 8
    p.append(d[at:at + size])
    at += size
assert len(p) > 4, len(p)
if sys.argv[2] == "missing": del p[2]
if sys.argv[2] == "twice": p.insert(3, p[2])
if sys.argv[2] == "swapped": p[2], p[3] = p[3], p[2]
open(sys.argv[1], "wb").write(b"".join(p))
P
	"$HWT" info -v "$TMP/p.hwt" >"$TMP/out" 2>&1
	grep -q "cpu0.*: $2 \[E144\]" "$TMP/out" || die "$1: not told: $(grep E144 "$TMP/out" | head -n 4)"
	[ "$(grep -c 'cpu0.*packets\{0,1\} .*packet: .*E144' "$TMP/out")" = "$3" ] || die "$1: told as $(grep E144 "$TMP/out" | head -n 4)"
	"$KEV" -k "$TMP/p.hwt" 2>/dev/null | grep -v 'stream.lost' >"$TMP/ours"
	[ "$(sort "$TMP/ours" | uniq -d | wc -l)" = 0 ] || die "$1: records are there twice"
}
packets missing 'packets are missing before packet: 3' 1
# how many records that one had, counted by their sizes
n=$(python3 - "$TMP/k1.hwt/kernel/cpu0" <<'P'
import struct, sys
d, at, n = open(sys.argv[1], "rb").read(), 0, 0
for i in range(2): at += struct.unpack_from("<Q", d, at + 0x30)[0] // 8
end, at = at + struct.unpack_from("<Q", d, at + 0x28)[0] // 8, at + 96
while at < end: at, n = at + struct.unpack_from("<H", d, at + 10)[0], n + 1
print(n)
P
)
grep -q "cpu0.*: records in packets that are missing before this one: $n \[E144\]" "$TMP/out" || die "of $n missing records: $(grep E144 "$TMP/out")"
"$KEV" -k "$TMP/p.hwt" | grep "stream.lost: count=$n cause=overwritten event=0" >"$TMP/ours"
[ "$(wc -l <"$TMP/ours")" = 1 ] || die "the hole of $n records: $("$KEV" -k "$TMP/p.hwt" | grep 'cause=overwritten')"
# the same of a flight recorder, whose oldest packets are gone, and without the number, as in older captures
cut() {	# "begin": without packets 0 and 1; "short": headers without the last 8 bytes
	rm -rf "$TMP/p.hwt"
	cp -r "$TMP/k1.hwt" "$TMP/p.hwt"
	python3 - "$TMP/p.hwt/kernel/cpu0" "$1" <<'P'
import struct, sys
d, p, at = open(sys.argv[1], "rb").read(), [], 0
while at < len(d):
    size = struct.unpack_from("<Q", d, at + 0x30)[0] // 8
    p.append(bytearray(d[at:at + size]))
    at += size
if sys.argv[2] == "begin":
    print(sum(struct.unpack_from("<I", x, 0x50)[0] for x in p[:2]))
    p = p[2:]
else:
    for x in p:
        content, size = struct.unpack_from("<QQ", x, 0x28)
        struct.pack_into("<QQ", x, 0x28, content - 64, size - 64)
        x[0x4c] &= ~2
        del x[0x58:0x60]
open(sys.argv[1], "wb").write(b"".join(p))
P
}
n=$(cut begin)
"$HWT" info -v "$TMP/p.hwt" >"$TMP/out" 2>&1
grep -q "cpu0.*: records in packets that are missing before this one: $n \[E144\]" "$TMP/out" || die "of $n records before the first: $(grep E144 "$TMP/out")"
cut short
"$KEV" -k "$TMP/p.hwt" >"$TMP/ours"
"$KEV" -k "$TMP/k1.hwt" | cmp - "$TMP/ours" || die "short headers: other records"
packets twice 'a packet is there twice, or behind later ones: packet: 2' 1
packets swapped 'a packet is there twice, or behind later ones: packet: 2' 2
exit 0
