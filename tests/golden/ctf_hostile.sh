#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# CTF that no tracer writes: each ends by itself, with what can be read and an error that has file, id and advice, whatever becomes of
# the library. What babeltrace2 reads of it, or refuses, is no truth here: it ends by signals.
. tests/golden/common
make -s "O=$O" "$O/tests/tools/kevents" "$O/tests/tools/mkctf" >"$TMP/make" 2>&1 || die "tools: $(tail -n 5 "$TMP/make")"
KEV=$O/tests/tools/kevents
mkdir "$TMP/t"
python3 tests/golden/ctf_hostile.py "$TMP/t" || die "ctf_hostile.py: exit $?"
"$HWT" info "$TMP/t/plain" 2>&1 | grep -q E125 && { echo "built without libbabeltrace2"; exit 77; }

# exit 0 or 3, never a signal; an error that is one line with its place and id, and what to try
ends() {
	timeout 300 "$HWT" info "$1" >"$TMP/out" 2>"$TMP/err"
	rc=$?
	[ $rc = 0 ] || [ $rc = 3 ] || die "$1: exit $rc: $(tail -n 3 "$TMP/err")"
	[ $rc = 0 ] || grep -q "^hwtrace: $1.*: .*\[E\(126\|20[0-4]\)\]\$" "$TMP/err" || die "$1: $(cat "$TMP/err")"
	[ $rc = 0 ] || grep -q '^try: ' "$TMP/err" || die "$1: nothing to try"
	timeout 300 "$KEV" "$1" >"$TMP/events" 2>"$TMP/kerr"
	krc=$?
	[ $krc -le 1 ] || die "$1: kevents: exit $krc"
	[ $krc = 1 ] || [ "$(tail -n 1 "$TMP/events")" = 'end 0' ] || die "$1: $(tail -n 1 "$TMP/events" | cut -c1-200)"
}
says() {	# trace, exit code, events (-: any number), id or text
	ends "$TMP/t/$1"
	[ $rc = "$2" ] || die "$1: exit $rc, not $2"
	[ "$3" = - ] || [ "$(grep -c ': ' "$TMP/events")" = "$3" ] || die "$1: $(grep -c ': ' "$TMP/events") events, not $3"
	[ -z "$4" ] || grep -qF -e "$4" "$TMP/err" || die "$1: $(cat "$TMP/err") lacks $4"
}
for t in "$TMP"/t/*; do
	ends "$t"
done
says plain 0 32 ''
says nest40 0 32 ''
grep -q 'e: \.\.\.$' "$TMP/events" || die "nest40: fields that are left out are not told"
says long_text 0 1 ''
[ "$(head -n 1 "$TMP/events" | tr -dc a | wc -c)" = 262144 ] && head -n 1 "$TMP/events" | grep -q '" \.\.\.$' || die "long_text: no cut"
says array_2g 3 0 E126
says enum_backwards 3 0 "upper bound is less than lower bound"
says packet_sizes_0 3 0 E126
says no_header 3 - E204
says nest100000 3 0 'line 8: memory exhausted'
says variant_other 3 0 E201
grep -q 'gap damaged' "$TMP/events" || die "variant_other: no hole"
says clock_offset 3 7 E201
# what is there is shown where it stands, and said to be wrong
says packet_backwards 0 - 'packet 2 begins at 3 ns, and the one before it ends at 5: there twice, or not in order [E203]'
says packet_backwards 0 - 'the count of lost events goes back: packets are not in order [E203]'
says packet_twice 0 4 'packet 3 begins at 6 ns, and the one before it ends at 8: there twice, or not in order [E203]'
says packet_swapped 0 - 'packet 3 begins at 6 ns, and the one before it ends at 12: there twice, or not in order [E203]'
says packet_swapped 0 - 'numbers of packets go back: there twice, or not in order [E203]'
grep -q '[0-9]\{19,\}' "$TMP/events" "$TMP/err" && die "a count that goes back is told as a number"

# a good trace with bytes changed: the description, then the streams
mkdir "$TMP/good"
"$O/tests/tools/mkctf" "$TMP/good" 1 300 >"$TMP/want" || die "mkctf: exit $?"
python3 - "$TMP" "${MUTATIONS:-24}" <<'EOF' || die "mutations: exit $?"
import os, random, shutil, sys
top, n = sys.argv[1], int(sys.argv[2])
random.seed(1)
for i in range(n):
    to = os.path.join(top, "m%d" % i)
    shutil.copytree(os.path.join(top, "good"), to)
    name = "metadata" if i % 2 else random.choice(sorted(x for x in os.listdir(to) if x != "metadata"))
    data = bytearray(open(os.path.join(to, name), "rb").read())
    if name != "metadata":
        data = data[:65536 * 2]
    for _ in range(random.choice((1, 1, 3, 20))):
        at = random.randrange(min(len(data), 3000))
        how = random.randrange(4)
        if how == 0:
            data[at] ^= 1 << random.randrange(8)
        elif how == 1:
            data[at:at + 1] = b""
        elif how == 2:
            data[at:at + 1] = bytes([random.choice(b"019;{}<>-\xff\x00")])
        else:
            data[at:at] = data[at:at + random.randrange(40)]
    open(os.path.join(to, name), "wb").write(data)
EOF
for t in "$TMP"/m[0-9]*; do
	ends "$t"
done
exit 0
