#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs alone: it records this machine.
# Arguments of system calls: the table against the event formats of the kernel that runs here, and what is shown of a program against
# the kernel's own text of the same calls.
. tests/golden/common
need python3
T=/sys/kernel/tracing
[ -r $T/events/syscalls/sys_enter_read/format ] || { echo "no formats of system calls at $T"; exit 77; }
# sorted, as they are looked up by halves
sed -n 's/^SYSCALL_ARGS(\([a-z0-9_]*\).*/\1/p' hwtrace/filter/syscall_args.def >"$TMP/names"
LC_ALL=C sort -c "$TMP/names" || die "the table is not sorted"
sh hwtrace/filter/syscall_args.sh >"$TMP/here" || die "syscall_args.sh"
python3 tests/golden/syscall_args.py "$TMP/here" "$(uname -m)" || die "arguments of this kernel"
# what is shown
"$HWT" list-events --jsonl sched.switch | grep -q '"name":"tracefs","here":true' || { echo "tracefs can not be used"; exit 77; }
case "$(uname -m)" in x86_64|aarch64) ;; *) echo "no table of this machine's calls"; exit 77 ;; esac
printf 'x%.0s' 1 2 3 >"$TMP/in"
"$HWT" record -q -k 'syscall.*' -o "$TMP/c.hwt" --provider tracefs -- dd if="$TMP/in" of="$TMP/out" bs=4321 count=1 2>"$TMP/err" || die "dd: $(cat "$TMP/err")"
"$HWT" timeline -q --filter 'syscall.enter' "$TMP/c.hwt" >"$TMP/text"
grep -q 'syscall.enter: read fd=0 buf=0x[0-9a-f]* count=4321$' "$TMP/text" && grep -q 'syscall.enter: write fd=1 buf=0x[0-9a-f]* count=3$' "$TMP/text" &&
	grep -q 'syscall.enter: openat dfd=-100 filename=0x[0-9a-f]* flags=0x[0-9a-f]* mode=0x' "$TMP/text" || die "arguments are not named: $(grep 'read\|write' "$TMP/text" | head -n 3)"
"$HWT" timeline -q --filter 'syscall.enter' --jsonl "$TMP/c.hwt" | grep -q '"call":"write".*"args":"fd=1 buf=0x[0-9a-f]* count=3"' || die "args in JSON"
echo "# $(wc -l <"$TMP/text") calls of dd"
exit 0
