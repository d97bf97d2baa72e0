#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Names of memory dumps that are ELF files, and a call tree of user code whose depth is right at the end.
. tests/golden/common
need_captures
need python3
need nm
r5f=$CAP/arm/r5f-freertos/in
fib=$CAP/arm/fib-1/in
"$HWT" calls --jsonl "$r5f" 2>/dev/null >"$TMP/r5f" || die "r5f: exit $?"
nm "$r5f/freertos.out" | awk '{print $NF}' | sort -u >"$TMP/nm"
sed -n 's/.*"type":"call".*"sym":"\([A-Za-z_][A-Za-z0-9_]*\)".*/\1/p' "$TMP/r5f" | sort -u >"$TMP/names"
[ "$(wc -l <"$TMP/names")" -ge 20 ] || die "r5f: $(wc -l <"$TMP/names") names without --elf"
comm -23 "$TMP/names" "$TMP/nm" >"$TMP/odd"
[ ! -s "$TMP/odd" ] || die "r5f: names that are not in the ELF: $(head -n 3 "$TMP/odd")"

# plain binaries in place of the ELF file: no names, and with --elf the same as before
mkdir "$TMP/plain"
cp "$r5f"/* "$TMP/plain"
chmod u+w "$TMP/plain"/*
mv "$TMP/plain/freertos.out" "$TMP/names.elf"
python3 - "$r5f/freertos.out" "$TMP/plain" <<'PY' || exit 1
import glob, re, sys
elf = open(sys.argv[1], "rb").read()
for path in glob.glob(sys.argv[2] + "/*.ini"):
    text = open(path).read()
    def cut(m):
        off, size = int(m[3], 16), int(m[4], 16)
        name = "part%x.bin" % off
        open(sys.argv[2] + "/" + name, "wb").write(elf[off:off + size])
        return "file=%s%saddress=%s\n" % (name, m[1], m[2])
    new = re.sub(r"file=freertos\.out(\s+)address=(\w+)\s+offset=(\w+)\s+length=(\w+)\s", cut, text)
    if new != text:
        open(path, "w").write(new)
PY
"$HWT" calls --jsonl "$TMP/plain" 2>/dev/null >"$TMP/none" || die "plain: exit $?"
! grep -q '"sym"' "$TMP/none" || die "names without a symbol table"
"$HWT" calls --jsonl "$TMP/plain" --elf "$TMP/names.elf" 2>/dev/null >"$TMP/elf" || die "plain, --elf: exit $?"
sed 1d "$TMP/r5f" >"$TMP/a"
sed 1d "$TMP/elf" | cmp - "$TMP/a" || die "--elf names other functions than the dump's own file"

# every exception but the last is left, and what the C library calls one after the other is equally deep
"$HWT" calls --jsonl "$fib" 2>/dev/null >"$TMP/fib" || die "fib-1: exit $?"
python3 - "$TMP/fib" <<'PY' || exit 1
import json, sys
open_, depth, n = [], {}, 0
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["type"] not in ("call", "return"):
        continue
    if e["type"] == "call":
        depth.setdefault(e.get("sym"), e["depth"])
        n += e["why"] in ("interrupt", "syscall")
        if e["why"] in ("interrupt", "syscall"):
            open_.append(e["depth"])
    elif open_ and open_[-1] == e["depth"] and e.get("func") is None:
        open_.pop()
if n < 40 or len(open_) != 1:
    sys.exit("%d exceptions, %d open at the end" % (n, len(open_)))
if not depth["__libc_csu_init"] == depth["main"] == depth["exit"] == depth["__libc_start_main"] + 1:
    sys.exit("depths %s" % depth)
PY
"$HWT" calls --sym main "$fib" 2>/dev/null | grep -q 'main()' || die "--sym main"
# times are told from the first timestamp on, whatever is selected
"$HWT" calls "$fib" 2>/dev/null | grep -m1 'cs+' | grep -q '^ *+0 cs+' || die "the first time is not zero"
t=$("$HWT" calls "$fib" 2>/dev/null | grep 'main()' | awk '{print $1}')
[ "$("$HWT" calls --sym main "$fib" 2>/dev/null | grep 'main()' | awk '{print $1}')" = "$t" ] || die "other times with --sym"
abs=$("$HWT" calls --abs "$fib" 2>/dev/null | grep 'main()' | awk '{print $1}')
base=$("$HWT" calls --abs "$fib" 2>/dev/null | grep -m1 'cs+' | awk '{print $1}')
[ $((abs - base)) = "${t#+}" ] || die "--abs: $abs is not $base $t"
# who needs no code looks for none; who does says once what is missing
pt=$CAP/pt/skylake-kernel/in/perf.data
"$HWT" packets --limit 1 "$pt" 2>"$TMP/err" >/dev/null
! grep -q E093 "$TMP/err" || die "packets looks for code"
"$HWT" calls "$pt" 2>"$TMP/err" >/dev/null
[ "$(grep -c 'code file not found' "$TMP/err")" -le 3 ] && [ "$(grep '^try:' "$TMP/err" | grep -vc '^try: hwtrace info ')" = "$(grep -o '\[E[0-9]*\]' "$TMP/err" | sort -u | wc -l)" ] ||
	die "notes: $(cat "$TMP/err")"
[ "$("$HWT" calls -v "$pt" 2>&1 >/dev/null | grep -c 'code file not found')" -gt 3 ] || die "-v hides notes"
echo "# $(wc -l <"$TMP/names") names of the board, main at $t cs"
