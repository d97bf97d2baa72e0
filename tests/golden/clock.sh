#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# Clocks from outside. A program that is recorded here has the conversion of the TSC in its capture and readings of both clocks: without
# the conversion, the map fitted to the readings must hold each time of the exact one. A dump whose timestamps do not run is told.
. tests/golden/common
need python3

rc=0
"$HWT" record --model --no-kernel -o "$TMP/a.hwt" -- /bin/true >/dev/null 2>"$TMP/err" || rc=$?
if [ $rc != 0 ]; then
	grep -q 'E173\|E172' "$TMP/err" || die "record: exit $rc: $(cat "$TMP/err")"
	echo "# programs can not be recorded here: $(head -n 1 "$TMP/err")"
else
	"$HWT" info "$TMP/a.hwt" >"$TMP/info" || die "info: exit $?"
	grep -q '^clock map  *exact, .* to monotonic; [0-9]* pairs' "$TMP/info" || die "$(cat "$TMP/info")"
	grep -q '^clock_error' "$TMP/info" && die "two statements of one clock: $(cat "$TMP/info")"
	"$HWT" check "$TMP/a.hwt" >"$TMP/check" 2>/dev/null || die "check finds something: $(cat "$TMP/check")"
	cp -r "$TMP/a.hwt" "$TMP/b.hwt"
	python3 - "$TMP/b.hwt/hwtrace.ini" <<'P' || die "hwtrace.ini"
import re, sys
s = open(sys.argv[1], errors="surrogateescape").read()
a = s.index("[clock]")
b = s.index("crc=", a)
e = s.index("\n", b) + 1
clock = "".join(l for l in s[a:b].splitlines(True) if not re.match("mult|shift|zero", l))
open(sys.argv[1], "w", errors="surrogateescape").write(s[:a] + clock + s[e:])
P
	"$HWT" info "$TMP/b.hwt" >"$TMP/info" || die "info: exit $?"
	grep -q '^clock map  *fitted, .* to monotonic, [0-9]* pairs' "$TMP/info" || die "$(cat "$TMP/info")"
	for k in a b; do
		"$HWT" list --jsonl --level range "$TMP/$k.hwt" >"$TMP/$k" 2>/dev/null || die "list $k: exit $?"
	done
	python3 - "$TMP/a" "$TMP/b" "$TMP/a.hwt/hwtrace.ini" <<'P' || die "other times than the exact ones"
import json, re, sys
def rows(name):
    out = [json.loads(l) for l in open(name)]
    start = out[0]["time_start"]
    return [(r["type"], r.get("off"), start + r["time"]["lo"], start + r["time"]["hi"] if "hi" in r["time"] else None) for r in out if "time" in r]
a, b = rows(sys.argv[1]), rows(sys.argv[2])
err = int(re.search(r"clock_error=(\d+)", open(sys.argv[3], errors="surrogateescape").read())[1])
assert len(a) == len(b) > 100, (len(a), len(b))
wide = []
for x, y in zip(a, b):
    assert x[:2] == y[:2], (x, y)
    assert y[2] <= x[2] + err, ("too late", x, y)
    assert y[3] is None or x[3] is None or x[3] <= y[3] + err, ("too early", x, y)
    if x[3] is not None and y[3] is not None:
        wide.append((y[3] - y[2]) - (x[3] - x[2]))
wide.sort()
print("# %d times of a recorded program are in those of the fitted clock, which are wider by %d ns (median)" % (len(a), wide[len(wide) // 2]))
P
	# both clocks are read at the start, at the end and once a second or oftener, while nothing runs too
	echo '#include <unistd.h>
int main(void) { usleep(2200000); return 0; }' >"$TMP/rest.c"
	if gcc -static -o "$TMP/rest" "$TMP/rest.c" 2>/dev/null; then
		for k in --no-kernel ""; do
			rm -rf "$TMP/c.hwt"
			# shellcheck disable=SC2086
			"$HWT" record --model $k -o "$TMP/c.hwt" -- "$TMP/rest" >/dev/null 2>"$TMP/err" || die "rest: $(cat "$TMP/err")"
			clean "$TMP/c.hwt"
			"$HWT" list --jsonl --level events "$TMP/c.hwt" 2>/dev/null | python3 -c '
import json, sys
v = [e["time"]["lo"] for e in map(json.loads, sys.stdin) if e["type"] == "clock.sync"]
assert v == sorted(v) and v[-1] - v[0] > 2200000000, v
assert len(v) >= 2 + (v[-1] - v[0]) // 1000000000, v
print("# %d readings of both clocks in %.1f s" % (len(v), (v[-1] - v[0]) / 1e9))' || die "readings of rest"
		done
	else
		echo "# left out: programs can not be built here"
	fi
fi

if d=$CAP/arm/stm_only/in && [ -d "$d" ]; then
	rc=0
	"$HWT" check "$d" >"$TMP/out" 2>/dev/null || rc=$?
	[ $rc = 1 ] || die "stm_only: exit $rc"
	grep -q '^  timestamps  *2508 of id 0x20, all are 0: .*\[E244\]' "$TMP/out" || die "$(cat "$TMP/out")"
	"$HWT" check --jsonl "$d" 2>/dev/null | grep -q '"type":"timestamps".*"count":2508,"zero":2508,.*"id":"E244"' || die "stm_only: JSON"
	echo "# stm_only: 2508 timestamps, all zero"
fi
