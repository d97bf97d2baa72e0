#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Standard input, a pipe and a file read the same. The first line of output names the input.
. tests/golden/common
same() {	# options before the name, then the file
	f=$1
	shift
	"$HWT" list --jsonl "$@" "$f" >"$TMP/want" 2>"$TMP/err"
	want=$?
	[ -s "$TMP/want" ] || die "$f: nothing: $(cat "$TMP/err")"
	for how in file pipe; do
		if [ $how = file ]; then "$HWT" list --jsonl "$@" - <"$f" >"$TMP/got" 2>"$TMP/err"
		else cat "$f" | "$HWT" list --jsonl "$@" - >"$TMP/got" 2>"$TMP/err"; fi
		got=$?
		[ $got = $want ] || die "$f: exit $got by $how, not $want: $(cat "$TMP/err")"
		sed 1d "$TMP/want" >"$TMP/a"
		sed 1d "$TMP/got" | cmp - "$TMP/a" || die "$f: other lines by $how"
	done
	n=$((n + $(wc -l <"$TMP/a")))
}
n=0
same fixtures/captures/demo/in/perf.data --sysroot fixtures/captures/demo/in
same tests/fuzz/corpus/perf/pipe
same tests/fuzz/corpus/perf/zstd
head -c 1000 fixtures/captures/demo/in/perf.data >"$TMP/cut"
same "$TMP/cut" --sysroot fixtures/captures/demo/in
if [ -d "$CAP" ]; then
	same "$CAP/pt/lldb-thread/in/3842849.trace" --as pt --cpu 6/79/1 --elf "$CAP/pt/lldb-thread/in/a.out"
	same "$CAP/pt/skylake-kernel/in/perf.data" --level range
	same "$CAP/arm/pixel/in/perf_etm.data" --level range
fi
# the size of what a pipe brought is told
f=tests/fuzz/corpus/perf/pipe
cat $f | "$HWT" info - 2>/dev/null | grep -q "^spooled *$(stat -c %s $f) bytes" || die "info: no size of what was spooled"
"$HWT" info $f 2>/dev/null | grep -q spooled && die "info: a file is not spooled"
echo "# $n lines"
