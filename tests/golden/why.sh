#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# why on causes that were planted: by a program that says how long it lost its CPU and slept, in events of the kernel alone; and in a
# trace, by a program whose source says which call runs more than the others. More of them, simulated: tests/unit/correlate/analysis/test_why.c
. tests/golden/common
need python3
need gcc
case "$(uname -m)" in x86_64|aarch64) ;; *) echo "programs can not be stepped here"; exit 77 ;; esac
gcc -g -O1 -static -fno-inline -o "$TMP/prog" tests/golden/latency_points.c || die "no program"
"$HWT" record --model --no-kernel --cyc -o "$TMP/c.hwt" "$TMP/prog" 2>"$TMP/err" || { echo "ptrace is not permitted here: $(tail -n 2 "$TMP/err")"; exit 77; }
# each fourth call of work() takes another path
"$HWT" why --jsonl --from work --call 5 "$TMP/c.hwt" >"$TMP/out" 2>"$TMP/err" || die "why: $(cat "$TMP/err")"
grep -q '"type":"why".*"all":20,"paths":2,"alike":15,"same_path":5,' "$TMP/out" || die "paths: $(tail -n 1 "$TMP/out")"
grep -q '"what":"extra path".*"sym":"\(leaf\|work\)"' "$TMP/out" || die "extra path: $(grep extra "$TMP/out")"
python3 tests/golden/why.py "$TMP/out" - || die "parts of a path"
"$HWT" why --jsonl --from work --call 6 "$TMP/c.hwt" >"$TMP/out" 2>/dev/null || die "why of a typical one"
python3 tests/golden/why.py "$TMP/out" - || die "parts of a typical one"
grep -q '"what":"extra path","more":{"lo":0,"hi":0}' "$TMP/out" || die "a typical one has an extra path"
"$HWT" why --from work "$TMP/c.hwt" >"$TMP/text" 2>/dev/null || die "text"
grep -q '^  .*rest: ' "$TMP/text" || die "no rest: $(cat "$TMP/text")"
"$HWT" why --from work --call 99 "$TMP/c.hwt" >/dev/null 2>"$TMP/err"
[ $? = 2 ] || die "--call 99"
grep -q E168 "$TMP/err" || die "--call 99: $(cat "$TMP/err")"

# page faults, as often as the kernel counted them for the program: by its records in a trace, and in its records alone
gcc -g -O1 -static -fno-inline -o "$TMP/fault" tests/golden/why_fault.c || die "no program"
faults() {	# FILE, what recorded it
	"$HWT" why -q --jsonl --from syscall.exit:getppid --to syscall.enter:getuid --call 8 "$1" >"$TMP/out" || die "why: faults, $2"
	python3 tests/golden/why.py "$TMP/out" - || die "parts with faults, $2"
	read -r fresh other <"$TMP/said"
	[ "$fresh" -ge 8 ] || die "the program had $fresh faults"
	grep -q '"what":"fault".*"times":'"$fresh"',"typical_times":'"$other"'[,}]' "$TMP/out" || die "$2: $fresh faults are not told: $(grep '"what":"fault"' "$TMP/out")"
}
rm -rf "$TMP/c.hwt"
"$HWT" record --model --cyc -o "$TMP/c.hwt" "$TMP/fault" >"$TMP/said" 2>"$TMP/err" || die "record: $(cat "$TMP/err")"
if "$HWT" timeline --jsonl --filter mm.fault "$TMP/c.hwt" 2>/dev/null | grep -q mm.fault && ! "$HWT" info "$TMP/c.hwt" 2>&1 | grep -q E046; then
	faults "$TMP/c.hwt" "trace"
	grep -q '"what":"fault".*"sym":"touch"' "$TMP/out" || die "no place of faults: $(grep '"what":"fault"' "$TMP/out")"
	"$HWT" timeline --filter mm.fault "$TMP/c.hwt" 2>/dev/null | grep -q 'mm.fault: .* ip=0x.*, in touch+0x' || die "timeline: no place of faults"
	# with the first and with the last instructions of a call: as often as its source says, however wide the times are
	cat >"$TMP/edge.c" <<'END'
#include <sys/mman.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) void first(volatile char *p) { *p = 1; for (int i = 0; i < 30; i++) sink += i; }
__attribute__((noinline)) void last(volatile char *p, int k)
{
	for (int i = 0; i < 30; i++)
		sink += i;
	if (k == 5)
		*p = 1;
	sink++;
}
int main(void)
{
	char *p = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || madvise(p, 1 << 16, MADV_NOHUGEPAGE))
		return 1;
	*p = 1;
	for (int k = 0; k < 9; k++) {
		first(k == 4 ? p + 0x4000 : p);
		last(p + 0x8000, k);
		getppid();
	}
	return 0;
}
END
	gcc -g -O1 -static -o "$TMP/edge" "$TMP/edge.c" || die "no program"
	for cyc in "" --cyc; do
		rm -rf "$TMP/e.hwt"
		# shellcheck disable=SC2086
		"$HWT" record --model $cyc -o "$TMP/e.hwt" "$TMP/edge" 2>"$TMP/err" || die "record: $(cat "$TMP/err")"
		"$HWT" info "$TMP/e.hwt" 2>&1 | grep -q E046 && { echo "# events of the kernel were lost"; continue; }
		for f in first:4:0 first:5:1 first:6:0 last:5:0 last:6:1 last:7:0; do
			call=${f#*:}
			"$HWT" why -q --jsonl --from "${f%%:*}" --call "${call%:*}" "$TMP/e.hwt" >"$TMP/out" || die "why $f"
			grep -q '"what":"fault".*"times":'"${call#*:}"',' "$TMP/out" || die "a fault at the edge, $cyc $f: $(grep '"what":"fault"' "$TMP/out")"
			python3 tests/golden/why.py "$TMP/out" - || die "parts with a fault at the edge, $f"
		done
	done
else
	echo "# no page faults of this machine's kernel"
fi

need perf
if perf record -q -e raw_syscalls:sys_enter,raw_syscalls:sys_exit,exceptions:page_fault_user -o "$TMP/f.data" -- "$TMP/fault" >"$TMP/said" 2>"$TMP/err"; then
	faults "$TMP/f.data" "perf"
else
	echo "# no page faults by perf: $(tail -n 1 "$TMP/err")"
fi
gcc -O1 -D_GNU_SOURCE -o "$TMP/why" tests/golden/why.c -lpthread || die "no program"
# The program and perf read one clock. A cause is the largest if it took most of its round: on a busy machine it is tried again.
for try in 1 2 3 4 5 6 7 8; do
	perf record -q -k CLOCK_MONOTONIC -m 16M -e sched:sched_switch,sched:sched_waking,irq:irq_handler_entry,irq:irq_handler_exit \
		-e irq:softirq_entry,irq:softirq_exit,raw_syscalls:sys_enter,raw_syscalls:sys_exit -a -o "$TMP/w.data" -- "$TMP/why" >"$TMP/said" 2>"$TMP/err" || \
		{ echo "a trace was explained; perf can not record events of the kernel here: $(tail -n 1 "$TMP/err")"; exit 77; }
	busy=$(awk '$1 == "preempted" && $2 * 2 <= $3 || $1 == "blocked" && ($2 - 90000000) * 2 >= 90000000 { print }' "$TMP/said")
	"$HWT" info "$TMP/w.data" 2>&1 | grep -q 'E046' && busy="perf lost events"
	[ -n "$busy" ] || break
done
[ -z "$busy" ] || die "each time: $busy"
"$HWT" latency -q --jsonl --from syscall.exit:getppid --to syscall.enter:getuid "$TMP/w.data" | grep '"type":"pair"' >"$TMP/pairs"
tid=$(sed -n 's/.*"tid":\([0-9]*\).*/\1/p' "$TMP/pairs" | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
for cause in preempted blocked; do
	at=$([ $cause = preempted ] && echo 18 || echo 24)
	call=$(grep "\"tid\":$tid," "$TMP/pairs" | sed -n "${at}s/.*\"number\":\([0-9]*\).*/\1/p")
	"$HWT" why -q --jsonl --from syscall.exit:getppid --to syscall.enter:getuid --call "$call" "$TMP/w.data" >"$TMP/out" || die "why $cause"
	# what was said: by which CPU time, if it is a sleep, and the round
	# shellcheck disable=SC2046
	python3 tests/golden/why.py "$TMP/out" $(grep "^$cause " "$TMP/said") || die "$cause: $(cat "$TMP/said")"
done
