#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every switch of the kernel's records stands in the timeline at its time and has its place among the packets of its CPU, and the threads of flow
# are those that the records and the address spaces (PIP) tell. Records as perf dumps them, or read from the raw file; what disagrees is listed.
. tests/golden/common
need_captures
need python3
d=$CAP/pt/skylake-kernel
for c in "$d/in/perf.data" "$CAP/pt/lldb-cpus/in/trace.json"; do
	"$HWT" packets --jsonl "$c" >"$TMP/packets" 2>/dev/null || die "packets $c: exit $?"
	"$HWT" timeline --level range --jsonl "$c" >"$TMP/tl" 2>/dev/null || die "timeline $c: exit $?"
	python3 tests/golden/switches.py "$c" "$d/expect.perf-dump.txt.gz" "$TMP/packets" "$TMP/tl" "$@" || die "$c"
done
