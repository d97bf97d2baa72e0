#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# CTF with fields of all classes, in streams of two kinds: what mkctf wrote is what is read, with its times, doubts and losses.
# babeltrace2 counts the same events and losses. Metadata in packets, and a trace in several folders, change nothing.
. tests/golden/common
make -s "O=$O" "$O/tests/tools/kevents" "$O/tests/tools/mkctf" >"$TMP/make" 2>&1 || die "tools: $(tail -n 5 "$TMP/make")"
KEV=$O/tests/tools/kevents

n=3000
for run in 1 2:be 3 4:be; do
	d=$TMP/t$run
	mkdir "$d"
	# shellcheck disable=SC2086
	"$O/tests/tools/mkctf" "$d" $(echo "$run" | sed "s/:/ $n /; /be/!s/\$/ $n/") >"$TMP/want" || die "mkctf $run: exit $?"
	"$KEV" "$d" >"$TMP/got" 2>"$TMP/err" || { grep -q E125 "$TMP/err" && { echo "built without libbabeltrace2"; exit 77; }
		die "$run: $(cat "$TMP/err")"; }
	cmp "$TMP/got" "$TMP/want" || die "$run: $(diff "$TMP/got" "$TMP/want" | head -n 6)"
	[ "$(grep -vc 'stream.lost\|^end ' "$TMP/got")" = $n ] || die "$run: not $n events"
	if command -v babeltrace2 >/dev/null; then
		babeltrace2 "$d" 2>"$TMP/err" | wc -l | grep -qx $n || die "$run: babeltrace2 has other events"
		his=$(grep -o 'discarded [0-9]* event' "$TMP/err" | awk '{ n += $2 } END { print n + 0 }')
		ours=$(sed -n 's/.*stream.lost: count=\([0-9]*\) .*/\1/p' "$TMP/got" | awk '{ n += $1 } END { print n + 0 }')
		[ "$his" = "$ours" ] && [ "$ours" -gt 0 ] || die "$run: $ours events lost, babeltrace2 has $his"
	fi
done

# CTF 1.8.3 section 7.1: the same text in packets of several sizes
mkdir "$TMP/packets"
cp "$d"/chan* "$TMP/packets"
python3 - "$d/metadata" "$TMP/packets/metadata" <<'EOF' || die "metadata packets"
import struct, sys
text = open(sys.argv[1], "rb").read()
out, at, size = b"", 0, 100
while at < len(text):
    part = text[at:at + size]
    # magic, uuid, checksum, content and packet size in bits, no compression, encryption or checksum, version 1.8; big endian
    head = struct.pack(">I16sIIIBBBBB", 0x75d11d57, bytes(range(1, 17)), 0, (37 + len(part)) * 8, (37 + size + 8) * 8, 0, 0, 0, 1, 8)
    out += head + part + bytes(size + 8 - len(part))
    at += size
    size = size * 3 % 5000 + 50
open(sys.argv[2], "wb").write(out)
EOF
"$KEV" "$TMP/packets" >"$TMP/got" || die "metadata in packets: exit $?"
cmp "$TMP/got" "$TMP/want" || die "metadata in packets: $(diff "$TMP/got" "$TMP/want" | head -n 4)"

# one trace in two folders, a third one that can not be read beside them
mkdir -p "$TMP/parts/a/kernel" "$TMP/parts/b/kernel" "$TMP/parts/c"
cp "$d/metadata" "$TMP/parts/a/kernel"
cp "$d/metadata" "$TMP/parts/b/kernel"
cp "$d"/chan0_0 "$d"/chan0_1 "$TMP/parts/a/kernel"
cp "$d"/chan0_2 "$d"/chan1_3 "$TMP/parts/b/kernel"
echo '/* CTF 1.8 */ trace {' >"$TMP/parts/c/metadata"
"$KEV" "$TMP/parts" >"$TMP/got" || die "parts: exit $?"
cmp "$TMP/got" "$TMP/want" || die "parts: $(diff "$TMP/got" "$TMP/want" | head -n 4)"
"$HWT" info "$TMP/parts" >"$TMP/out" 2>"$TMP/err"
rc=$?
[ $rc = 3 ] && grep -q 'c/metadata.*E200' "$TMP/err" || die "a part that can not be read: exit $rc, $(cat "$TMP/err")"
grep -q '^number  *7$' "$TMP/out" || die "env is not told: $(cat "$TMP/out")"

# a stream that is cut ends alone: the others have all of theirs
mkdir "$TMP/cut"
cp "$d"/* "$TMP/cut"
head -c 70000 "$d/chan0_1" >"$TMP/cut/chan0_1"
"$KEV" "$TMP/cut" >"$TMP/got" 2>"$TMP/err"
if ! grep -q 'Invalid packet size' "$TMP/err"; then
	for s in 0 2 3; do
		[ "$(grep -c "^[^ ]* [^ ]* [^ ]* [^ ]* $s " "$TMP/got")" = "$(grep -c "^[^ ]* [^ ]* [^ ]* [^ ]* $s " "$TMP/want")" ] || die "cut: stream $s"
	done
fi
exit 0
